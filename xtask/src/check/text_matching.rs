//! Decisions rest on types, not on text: where the crates that judge and draw compare text with a literal, and how often
//! each file may.
//!
//! What compares is a method such as `contains` with a literal, `==` or `!=` with one, an arm of a `match` and a
//! `matches!`. Tests are left out.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::boundaries::rust_files;
use super::rooms::without_tests;
use crate::project::Project;
use crate::violation::Violation;

/// The crates in which it is checked.
const CRATES: [&str; 9] = [
    "shared/diagnosis",
    "shared/export",
    "shared/journal",
    "shared/log",
    "shared/model",
    "shared/recording",
    "shared/replay",
    "shared/search",
    "shared/timeline",
];

/// Methods that look for a text in another.
const METHODS: [&str; 8] = [
    "contains",
    "ends_with",
    "eq_ignore_ascii_case",
    "find",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// How often a file may compare text, and why.
const ALLOWED: &[(&str, usize, &str)] = &[
    (
        "shared/diagnosis/src/attribution/facts.rs",
        3,
        "names resources: events, custom resource definitions",
    ),
    (
        "shared/diagnosis/src/audit/reads.rs",
        2,
        "reads field selectors and paths of the API",
    ),
    (
        "shared/diagnosis/src/findings/clients/line.rs",
        2,
        "reads paths of the API",
    ),
    (
        "shared/diagnosis/src/findings/requests/unreadable.rs",
        1,
        "names a resource: secrets",
    ),
    (
        "shared/diagnosis/src/findings/streams/bookmarks.rs",
        2,
        "names resources: events of both groups",
    ),
    (
        "shared/diagnosis/src/server_words.rs",
        9,
        "a server's own words",
    ),
    (
        "shared/model/src/belief.rs",
        5,
        "reads the fields of what a client reports",
    ),
    (
        "shared/model/src/fold/apply.rs",
        1,
        "reads one option of a query, in what a page downloads first",
    ),
    (
        "shared/model/src/id.rs",
        4,
        "reads names of groups, resourceVersions and watches",
    ),
    (
        "shared/model/src/json_reader.rs",
        1,
        "reads escapes of JSON",
    ),
    (
        "shared/model/src/options.rs",
        15,
        "reads queries of lists and watches",
    ),
    (
        "shared/model/src/row.rs",
        3,
        "decodes the record's own vocabulary",
    ),
    (
        "shared/timeline/src/findings.rs",
        3,
        "reads what a page kept of muted findings",
    ),
    ("shared/timeline/src/format.rs", 1, "knows how a noun ends"),
    (
        "shared/timeline/src/lanes/filter.rs",
        4,
        "reads a filter that a person wrote",
    ),
    (
        "shared/timeline/src/lanes/sections.rs",
        6,
        "names the kinds that own other kinds",
    ),
    (
        "shared/timeline/src/lanes/setup.rs",
        2,
        "reads words of a link",
    ),
    (
        "shared/timeline/src/levels/level.rs",
        1,
        "reads paths of the API",
    ),
    (
        "shared/timeline/src/phrases.rs",
        2,
        "names protocols of ALPN",
    ),
    (
        "shared/timeline/src/store/lanes.rs",
        1,
        "reads the key of a lane",
    ),
];

/// Files that compare text more often than they may, or less.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let mut found = BTreeMap::new();
    for folder in CRATES {
        let source = project.root.join(folder).join("src");
        for file in rust_files(&source)? {
            let lines = comparisons(&file.text)
                .with_context(|| format!("scanning {}", source.join(&file.path).display()))?;
            found.insert(format!("{folder}/src/{}", file.path), lines);
        }
    }
    Ok(judge(&found, ALLOWED))
}

fn judge(found: &BTreeMap<String, Vec<usize>>, allowed: &[(&str, usize, &str)]) -> Vec<Violation> {
    let mut broken = Vec::new();
    for (path, lines) in found {
        let may = allowed.iter().find(|(known, ..)| known == path);
        let may = may.map_or(0, |(_, may, _)| *may);
        if lines.len() > may {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            broken.push(Violation {
                place: format!("{path}:{}", lines.join(",")),
                problem: format!("compares text {} times, and may {may} times", lines.len()),
                remedy: "decide by a type: read the text once, where it comes from".to_owned(),
            });
        }
    }
    for (path, may, _) in allowed {
        let times = found.get(*path).map_or(0, Vec::len);
        if times < *may {
            broken.push(Violation {
                place: (*path).to_owned(),
                problem: format!("compares text {times} times, and may {may} times"),
                remedy: "make ALLOWED in xtask/src/check/text_matching.rs as small".to_owned(),
            });
        }
    }
    broken
}

/// The lines on which a file compares text with a literal.
fn comparisons(source: &str) -> Result<Vec<usize>> {
    let tokens: TokenStream = source
        .parse()
        .map_err(|error| anyhow!("not Rust: {error}"))?;
    let (code, _) = without_tests(tokens);
    let mut lines = Vec::new();
    walk(code, &mut lines);
    lines.sort_unstable();
    Ok(lines)
}

fn walk(tokens: TokenStream, lines: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (place, token) in tokens.iter().enumerate() {
        let before = |back: usize| place.checked_sub(back).map(|place| &tokens[place]);
        let after = |on: usize| tokens.get(place + on);
        match token {
            TokenTree::Literal(_) if is_text(token) => {
                let is_compared = is_comparison(before(2), before(1))
                    || is_comparison(after(1), after(2))
                    || is_arm(after(1), after(2));
                if is_compared {
                    lines.push(token.span().start().line);
                }
            }
            TokenTree::Group(group) => {
                let is_method = group.delimiter() == Delimiter::Parenthesis
                    && is_punct(before(2), '.')
                    && METHODS.iter().any(|method| is_word(before(1), method));
                let is_matches = is_punct(before(1), '!') && is_word(before(2), "matches");
                // A pattern of several parts, such as `("a", _) =>`.
                let is_pattern =
                    group.delimiter() == Delimiter::Parenthesis && is_arrow(after(1), after(2));
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                if is_method && inner.first().is_some_and(is_text) {
                    lines.push(group.span_open().start().line);
                } else if is_matches || is_pattern {
                    lines.extend(texts(group.stream()));
                    continue;
                }
                walk(group.stream(), lines);
            }
            _ => {}
        }
    }
}

/// The lines of all literals of text in a pattern.
fn texts(tokens: TokenStream) -> Vec<usize> {
    let mut lines = Vec::new();
    for token in tokens {
        match &token {
            TokenTree::Group(group) => lines.extend(texts(group.stream())),
            token if is_text(token) => lines.push(token.span().start().line),
            _ => {}
        }
    }
    lines
}

fn is_text(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Literal(literal) if literal.to_string().starts_with(['"', 'r']))
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_word(token: Option<&TokenTree>, wanted: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == wanted)
}

/// `==` or `!=`.
fn is_comparison(first: Option<&TokenTree>, second: Option<&TokenTree>) -> bool {
    (is_punct(first, '=') || is_punct(first, '!')) && is_punct(second, '=')
}

fn is_arrow(first: Option<&TokenTree>, second: Option<&TokenTree>) -> bool {
    is_punct(first, '=') && is_punct(second, '>')
}

/// What follows a pattern of a `match`: the arrow, another pattern, or a condition.
fn is_arm(first: Option<&TokenTree>, second: Option<&TokenTree>) -> bool {
    let is_other = is_punct(first, '|') && !is_punct(second, '|');
    is_arrow(first, second) || is_other || is_word(first, "if")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<usize> {
        comparisons(source).unwrap()
    }

    #[test]
    fn each_way_to_compare_text_is_found() {
        for source in [
            r#"fn f() { s.contains("a"); }"#,
            r#"fn f() { s.strip_prefix(r"a").is_some(); }"#,
            r#"fn f() { if s == "a" {} }"#,
            r#"fn f() { if "a" != s {} }"#,
            r#"fn f() { match s { "a" => 1, _ => 2 } }"#,
            r#"fn f() { match s { Some("a") => 1, _ => 2 } }"#,
            r#"fn f() { match s { "a" if is => 1, _ => 2 } }"#,
            r#"fn f() { match s { ("a", _) => 1, _ => 2 } }"#,
            r#"fn f() { matches!(s, Some("a")); }"#,
        ] {
            assert_eq!(lines(source), [1], "{source}");
        }
        assert_eq!(
            lines("fn f() { match s {\n\"a\"\n| \"b\" => 1, _ => 2 } }"),
            [2, 3]
        );
    }

    #[test]
    fn what_only_writes_text_is_none() {
        for source in [
            r#"fn f() { match x { X::A => "a", X::B => "b" } }"#,
            r#"fn f() { s.push_str("a"); format!("a {b}"); }"#,
            r#"fn f() { s.contains(','); s.split_once('/'); s.contains(&a); }"#,
            r#"const A: &str = "a";"#,
            r#"fn f() { if x || y == 1 {} }"#,
            "#[cfg(test)]\nmod tests { fn f() { assert!(s == \"a\"); } }",
        ] {
            assert_eq!(lines(source), [0; 0], "{source}");
        }
    }

    #[test]
    fn a_file_compares_text_as_often_as_it_may_and_no_more() {
        let found = BTreeMap::from([
            ("a.rs".to_owned(), vec![3, 9]),
            ("b.rs".to_owned(), vec![1]),
            ("c.rs".to_owned(), vec![]),
        ]);
        let allowed = [("a.rs", 1, "reads names"), ("b.rs", 1, ""), ("c.rs", 2, "")];
        let broken: String = judge(&found, &allowed)
            .iter()
            .map(|violation| format!("{violation}\n"))
            .collect();
        insta::assert_snapshot!(broken, @"
    a.rs:3,9: compares text 2 times, and may 1 times; decide by a type: read the text once, where it comes from
    c.rs: compares text 0 times, and may 2 times; make ALLOWED in xtask/src/check/text_matching.rs as small
    ");
    }
}
