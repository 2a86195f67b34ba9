//! Refuses citations that lead nowhere. A link of a Markdown page, or a path that it names in code style, needs a file
//! that exists. A citation of docs/semantics needs a page and an anchor that exist.
//!
//! Pages of docs/semantics are cited by path and anchor (`docs/semantics/streams.md#rule-reset`). An anchor is an
//! `<a id="…">` of the page, not the slug of a heading, so headings can be reworded.
//! Section numbers are refused, since they change with every page that is added. So are pages that are not in the
//! repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::texts::{self, Joined, TextFile};
use crate::project::Project;
use crate::violation::Violation;

/// The folder of the pages that are cited.
const PAGES: &str = "docs/semantics";

/// Folders and files of the root that are read. This crate is not among them: its rules and tests name what is refused.
const READ: [&str; 11] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "README.md",
    "assets",
    "backend",
    "docs",
    "frontend",
    "shared",
    "tests",
];

/// Folders of the root. A path in code style that begins with one of them is a path of the project.
const FOLDERS: [&str; 7] = [
    "assets", "backend", "deploy", "docs", "frontend", "shared", "xtask",
];

/// Endings of the files that are searched for citations.
const WITH_CITATIONS: [&str; 6] = ["css", "html", "js", "md", "rs", "toml"];

/// Pages that are not in the repository.
const OUTSIDE: [&str; 4] = ["design.md", "house.md", "look.md", "watch-semantics.md"];

/// Returns citations that lead nowhere, and citations in a refused form.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let files = texts::read(&project.root, &READ, &WITH_CITATIONS)?;
    let mut anchors = Anchors::new(&project.root);
    let mut broken = Vec::new();
    for file in &files {
        if file.path.starts_with(PAGES) {
            broken.extend(repeated_anchors(file));
        }
        for citation in citations(file) {
            broken.extend(anchors.check(&citation)?);
        }
        for (line, words) in old_forms(&file.text) {
            broken.push(Violation {
                place: format!("{}:{line}", file.path),
                problem: format!("cites {words:?}"),
                remedy: format!("name a page of {PAGES} and its anchor, as its README says"),
            });
        }
    }
    Ok(broken)
}

/// A reference to a page.
#[derive(Debug, PartialEq, Eq)]
struct Citation {
    /// The file and line of the reference.
    place: String,
    /// The page, from the root of the project.
    page: String,
    anchor: Option<String>,
    /// Whether an anchor is required: a comment cites one fact, so a page alone is not enough.
    needs_anchor: bool,
}

/// Returns the citations in a file: paths of docs/semantics, and in a Markdown page also links and paths in code style.
fn citations(file: &TextFile) -> Vec<Citation> {
    let is_markdown = file.path.ends_with(".md");
    let mut found = Vec::new();
    for (line, text) in file.text.lines().enumerate() {
        let place = format!("{}:{}", file.path, line + 1);
        if is_markdown {
            let links = text.split("](").skip(1);
            let targets = links.filter_map(|rest| rest.split_once(')'));
            found.extend(targets.filter_map(|(target, _)| link(file, &place, target)));
            if !file.path.starts_with(PAGES) {
                found.extend(named_paths(text).map(|page| Citation {
                    place: place.clone(),
                    page: page.to_owned(),
                    anchor: None,
                    needs_anchor: false,
                }));
            }
        }
        for (at, _) in text.match_indices(PAGES) {
            let rest = &text[at + PAGES.len()..];
            let Some(rest) = rest.strip_prefix('/') else {
                continue;
            };
            let end = rest.find(|c: char| !is_of_path(c)).unwrap_or(rest.len());
            let name = rest[..end].trim_end_matches('.');
            let (name, anchor) = match name.split_once('#') {
                Some((name, anchor)) => (name, Some(anchor.to_owned())),
                None => (name, None),
            };
            if name.is_empty() {
                continue;
            }
            found.push(Citation {
                place: place.clone(),
                page: format!("{PAGES}/{name}"),
                anchor,
                needs_anchor: !is_markdown,
            });
        }
    }
    found
}

fn is_of_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '#')
}

/// Returns the file that a link of a Markdown page leads to; `None` if it leads out of the project.
fn link(file: &TextFile, place: &str, target: &str) -> Option<Citation> {
    if target.contains("://") || target.starts_with("mailto:") || target.contains(' ') {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (target, None),
    };
    let page = if path.is_empty() {
        file.path.clone()
    } else {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        resolved(folder, path)
    };
    Some(Citation {
        place: place.to_owned(),
        page,
        anchor,
        needs_anchor: false,
    })
}

/// Returns the project's paths that a line names in code style, such as `shared/log/src/lib.rs`. Pages of
/// docs/semantics name paths of other projects like this, so they are not searched.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let spans = line.split('`').skip(1).step_by(2);
    spans.filter(|span| {
        let is_ours = FOLDERS.iter().any(|folder| {
            let below = span.strip_prefix(folder);
            below.is_some_and(|below| below.starts_with('/'))
        });
        is_ours && span.chars().all(|c| c == '/' || is_of_path(c) && c != '#')
    })
}

/// Returns the path from the root of `path` below a folder, with `..` resolved.
fn resolved(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of pages; each page is read once.
struct Anchors<'a> {
    root: &'a Path,
    /// Anchors by page; `None` if there is no such file.
    known: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl<'a> Anchors<'a> {
    fn new(root: &'a Path) -> Self {
        Self {
            root,
            known: BTreeMap::new(),
        }
    }

    fn check(&mut self, citation: &Citation) -> Result<Option<Violation>> {
        let Citation {
            place,
            page,
            anchor,
            needs_anchor,
        } = citation;
        let violation = |problem: String, remedy: &str| {
            Ok(Some(Violation {
                place: place.clone(),
                problem,
                remedy: remedy.to_owned(),
            }))
        };
        let Some(anchors) = self.of(page)? else {
            return violation(
                format!("cites {page}, which does not exist"),
                "mend the path",
            );
        };
        match anchor {
            Some(anchor) if !anchors.contains(anchor) => violation(
                format!("cites {page}#{anchor}, and that page has no such anchor"),
                "name one that it has, or give it one",
            ),
            None if *needs_anchor => violation(
                format!("cites {page} without an anchor"),
                "name the anchor of what is cited",
            ),
            _ => Ok(None),
        }
    }

    /// Returns the anchors of a page; `None` if the page does not exist.
    fn of(&mut self, page: &str) -> Result<Option<&BTreeSet<String>>> {
        if !self.known.contains_key(page) {
            let anchors = self.read(page)?;
            self.known.insert(page.to_owned(), anchors);
        }
        Ok(self.known.get(page).and_then(Option::as_ref))
    }

    fn read(&self, page: &str) -> Result<Option<BTreeSet<String>>> {
        let path = self.root.join(page);
        if !path.exists() {
            return Ok(None);
        }
        if !page.ends_with(".md") {
            return Ok(Some(BTreeSet::new()));
        }
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut anchors: BTreeSet<String> = ids(&text).map(|(_, id)| id.to_owned()).collect();
        if !page.starts_with(PAGES) {
            anchors.extend(slugs(&text));
        }
        Ok(Some(anchors))
    }
}

/// Returns the explicit anchors of a page, each with its line.
fn ids(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(line, text)| {
        let rest = text.split("<a id=\"").skip(1);
        rest.filter_map(move |rest| Some((line + 1, rest.split_once('"')?.0)))
    })
}

/// Returns the slugs of a page's headings.
fn slugs(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|heading| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Returns a violation for each anchor that a page has more than once.
fn repeated_anchors(file: &TextFile) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let repeated = ids(&file.text).filter(|(_, id)| !seen.insert(*id));
    repeated
        .map(|(line, id)| Violation {
            place: format!("{}:{line}", file.path),
            problem: format!("has the anchor {id:?} twice"),
            remedy: "name each by its content".to_owned(),
        })
        .collect()
}

/// A word of a sentence.
#[derive(Clone, Copy)]
struct Word<'a> {
    at: usize,
    /// The word with the punctuation around it.
    raw: &'a str,
    bare: &'a str,
}

/// Finds citations by number, and of pages outside the repository. Returns the line of each, and its words.
fn old_forms(text: &str) -> Vec<(usize, String)> {
    let joined = Joined::new(text);
    let words = words_of(&joined.text);
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let before = |back: usize| place.checked_sub(back).map(|place| words[place].bare);
        let after = |on: usize| words.get(place + on).map_or("", |word| word.bare);
        let is_semantics = word.bare.eq_ignore_ascii_case("semantics");
        let names_part = ["section", "sections", "table", "reference"].contains(&after(1));
        let is_section = ["section", "sections", "table"].contains(&word.bare)
            && is_section_number(after(1))
            && !(1..=4).any(|back| before(back).is_some_and(|word| word.contains("RFC")));
        let is_rule = is_section_number(word.bare) && after(1).starts_with("rule");
        let is_check = is_check_number(word.bare)
            && (word.raw.starts_with('(')
                || word.raw.contains(')')
                || after(1) == "to" && is_check_number(after(2)));
        let is_bracketed = word.raw.starts_with('(')
            && (word.raw.contains(')') || word.raw.ends_with(':'))
            && is_number_of_pages_then(word.bare);
        let is_numbered =
            is_semantics && (names_part || after(1).starts_with(|c: char| c.is_ascii_digit()));
        let is_named = is_semantics && before(1) == Some("the") && before(2) == Some("of");
        let length = if is_numbered || is_section || is_rule {
            2
        } else if is_check || is_bracketed || is_named || OUTSIDE.contains(&word.bare) {
            1
        } else {
            continue;
        };
        let words: Vec<&str> = words[place..].iter().take(length).map(|w| w.raw).collect();
        found.push((joined.line(word.at), words.join(" ")));
    }
    // One hit per line is enough to find the place.
    found.dedup_by_key(|(line, _)| *line);
    found
}

fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut next = 0;
    let pieces = text.split_inclusive(char::is_whitespace).map(|piece| {
        let at = next;
        next += piece.len();
        let raw = piece.trim_end();
        Word {
            at,
            raw,
            bare: raw.trim_matches(|c: char| !c.is_alphanumeric()),
        }
    });
    pieces.filter(|word| !word.raw.is_empty()).collect()
}

/// Whether a word is a section's number such as 3.3: the first part from 1 to 8, the second from 1 to 10.
fn is_section_number(word: &str) -> bool {
    let number = |part: &str| part.parse::<u8>().unwrap_or(0);
    word.split_once('.').is_some_and(|(first, second)| {
        (1..=8).contains(&number(first)) && (1..=10).contains(&number(second))
    })
}

/// Whether a word is the number of a check, such as C5.
fn is_check_number(word: &str) -> bool {
    matches!(word.as_bytes(), [b'C', b'1'..=b'9'])
}

/// Whether a word is the number of a section of the former pages, and not one of the Kubernetes versions that this
/// project mentions.
fn is_number_of_pages_then(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        [b'1', b'.', b'1'..=b'8'] | [b'2', b'.', b'1'..=b'6']
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn cited(path: &str, text: &str) -> Vec<String> {
        let found = citations(&file(path, text));
        let found = found.into_iter();
        found
            .map(|it| match it.anchor {
                Some(anchor) => format!("{} {}#{anchor}", it.place, it.page),
                None => format!("{} {}", it.place, it.page),
            })
            .collect()
    }

    fn old(text: &str) -> Vec<(usize, String)> {
        old_forms(text)
    }

    #[test]
    fn comments_cite_by_path_and_pages_by_links_too() {
        assert_eq!(
            cited(
                "shared/a.rs",
                "/// Resets (docs/semantics/streams.md#rule-reset).\n/// [not](a.md) docs/semantics/\n"
            ),
            ["shared/a.rs:1 docs/semantics/streams.md#rule-reset"]
        );
        assert_eq!(
            cited(
                "docs/semantics/streams.md",
                "[a](#b), [c](../findings/F01.md) and [d](requests.md#e)\n[web](https://example.com/x.md#y)"
            ),
            [
                "docs/semantics/streams.md:1 docs/semantics/streams.md#b",
                "docs/semantics/streams.md:1 docs/findings/F01.md",
                "docs/semantics/streams.md:1 docs/semantics/requests.md#e",
            ]
        );
    }

    #[test]
    fn a_page_or_an_anchor_that_does_not_exist_is_found() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join(PAGES))?;
        let page = "<a id=\"one\"></a>\n\n## Of two\n";
        fs::write(folder.path().join(PAGES).join("a.md"), page)?;
        fs::write(
            folder.path().join("README.md"),
            "# The `first`, so to speak\n",
        )?;
        let mut anchors = Anchors::new(folder.path());
        let mut said = |path: &str, text: &str| -> Result<String> {
            let mut lines = Vec::new();
            for citation in citations(&file(path, text)) {
                lines.extend(anchors.check(&citation)?.map(|it| it.to_string()));
            }
            Ok(lines.join("\n"))
        };
        let text = "// docs/semantics/a.md#one, docs/semantics/a.md#of-two, docs/semantics/a.md,\n\
                    // docs/semantics/b.md#one.";
        insta::assert_snapshot!(said("x.rs", text)?, @"
        x.rs:1: cites docs/semantics/a.md#of-two, and that page has no such anchor; name one that it has, or give it one
        x.rs:1: cites docs/semantics/a.md without an anchor; name the anchor of what is cited
        x.rs:2: cites docs/semantics/b.md, which does not exist; mend the path
        ");
        let text =
            "[a](docs/semantics/a.md) [b](README.md#the-first-so-to-speak) [c](#gone) [d](no.png)";
        insta::assert_snapshot!(said("README.md", text)?, @"
        README.md:1: cites README.md#gone, and that page has no such anchor; name one that it has, or give it one
        README.md:1: cites no.png, which does not exist; mend the path
        ");
        Ok(())
    }

    #[test]
    fn a_path_in_code_style_is_cited_where_it_is_the_projects() {
        let line = "see `shared/log/src/lib.rs`, `backend/`, `/metrics`, `demo/tests.rs`, `shared/{a,b}`, `cargo xtask`";
        assert_eq!(
            cited("ARCHITECTURE.md", line),
            [
                "ARCHITECTURE.md:1 shared/log/src/lib.rs",
                "ARCHITECTURE.md:1 backend/"
            ]
        );
        assert_eq!(cited("docs/semantics/a.md", line), [] as [&str; 0]);
    }

    #[test]
    fn an_anchor_stands_once_in_its_page() {
        let page = "<a id=\"a\"></a>\n| <a id=\"b\"></a>x | <a id=\"a\"></a>y |\n";
        let twice = repeated_anchors(&file("docs/semantics/a.md", page));
        let twice: Vec<String> = twice.iter().map(Violation::to_string).collect();
        assert_eq!(
            twice,
            ["docs/semantics/a.md:2: has the anchor \"a\" twice; name each by its content"]
        );
    }

    #[test]
    fn numbers_of_sections_are_refused_also_across_lines_of_a_comment() {
        for text in [
            "the rules of section 3.3",
            "(table 1.6)",
            "semantics 4.2 says",
            "(semantics, table 2.2)",
            "the semantics reference",
            "3.3 of the semantics.",
            "/// as in 1.9\n/// rule 4",
            "a lifecycle (C5)",
            "(C6 of it)",
            "checks C1 to C8",
            "a bookmark (1.5).",
            "one period (1.7: 5 min)",
            "look.md, section 2",
        ] {
            assert_eq!(old(text).len(), 1, "{text}: {:?}", old(text));
        }
        assert_eq!(
            old("fn f() {}\n/// See section\n/// 3.3."),
            [(2, "section 3.3.".to_owned())]
        );
    }

    #[test]
    fn other_standards_versions_and_the_word_itself_are_not_refused() {
        for text in [
            "RFC 9113, section 7.4",
            "(RFC 6455\n// section 7.4)",
            "since (1.19), and 3.5.13",
            "the semantics of a list",
            "docs/semantics/streams.md#rule-reset",
            "struct C1; let a = (1.5, 2.5);",
            "1.27 rules",
        ] {
            assert_eq!(old(text), [], "{text}");
        }
    }
}
