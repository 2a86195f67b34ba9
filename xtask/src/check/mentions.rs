//! The paths that a source file mentions: `use` trees, written out, and paths in expressions.
//!
//! It reads tokens, so comments, strings and attributes' texts do not count, and paths inside macro calls do. It does
//! not resolve names: a renamed import counts where it is imported.

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path of at least two segments, or the one segment after `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The segments as written: `std::time::Instant`. A glob is `*`.
    pub(crate) path: Vec<String>,
    /// The line on which the path ends.
    pub(crate) line: usize,
}

impl Mention {
    /// Returns the path as Rust writes it.
    pub(crate) fn text(&self) -> String {
        self.path.join("::")
    }

    /// Whether the mention reaches the item. It does if it names the item or something in it, or imports everything
    /// around it.
    /// So does an import of the module around it, since later uses of the item would not be found.
    pub(crate) fn reaches(&self, item: &str) -> bool {
        let item: Vec<&str> = item.split("::").collect();
        let path = match self.path.split_last() {
            Some((last, before)) if last == "*" || last == "self" => before,
            _ => &self.path[..],
        };
        let shared = path.len().min(item.len());
        path[..shared] == item[..shared] && !(path.len() == 1 && item.len() > 1)
    }
}

/// Returns all mentions in the text of a source file, in order.
pub(crate) fn mentions(source: &str) -> Result<Vec<Mention>> {
    let tokens: TokenStream = source
        .parse()
        .map_err(|error| anyhow!("not Rust: {error}"))?;
    Ok(of_tokens(tokens))
}

/// Returns all mentions in tokens, in order.
pub(crate) fn of_tokens(tokens: TokenStream) -> Vec<Mention> {
    let mut found = Vec::new();
    walk(tokens, &[], &mut found);
    found
}

/// Collects the paths of one level of tokens; `prefix` is the path before a `use` group.
fn walk(tokens: TokenStream, prefix: &[String], found: &mut Vec<Mention>) {
    let mut path = OpenPath::default();
    let mut colons = 0;
    for token in tokens {
        let joined = colons == 2;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                if !joined || path.segments.is_empty() {
                    let after_use = path.segments == ["use"];
                    path.close(prefix, found);
                    path.after_use = after_use;
                }
                path.segments.push(name);
                path.line = ident.span().start().line;
            }
            TokenTree::Punct(punct)
                if punct.as_char() == '*' && (joined || path.is_first_in_group(prefix)) =>
            {
                path.segments.push("*".to_owned());
                path.line = punct.span().start().line;
                path.close(prefix, found);
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && joined => {
                let inner: Vec<String> = prefix.iter().chain(&path.segments).cloned().collect();
                path = OpenPath::default();
                walk(group.stream(), &inner, found);
            }
            TokenTree::Group(group) => {
                path.close(prefix, found);
                walk(group.stream(), &[], found);
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => path.close(prefix, found),
        }
        colons = 0;
    }
    path.close(prefix, found);
}

/// The path that is being read.
#[derive(Default)]
struct OpenPath {
    segments: Vec<String>,
    line: usize,
    after_use: bool,
}

impl OpenPath {
    /// Whether the next token is the first of a `use` group. Only such a group has a prefix, so a star there is a glob.
    fn is_first_in_group(&self, prefix: &[String]) -> bool {
        self.segments.is_empty() && !prefix.is_empty()
    }

    fn close(&mut self, prefix: &[String], found: &mut Vec<Mention>) {
        let OpenPath {
            segments,
            line,
            after_use,
        } = std::mem::take(self);
        let whole = prefix.len() + segments.len() > 1 || after_use;
        if !segments.is_empty() && whole {
            found.push(Mention {
                path: prefix.iter().cloned().chain(segments).collect(),
                line,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(source: &str) -> Vec<String> {
        mentions(source)
            .unwrap()
            .iter()
            .map(Mention::text)
            .collect()
    }

    #[test]
    fn use_trees_are_written_out() {
        assert_eq!(
            paths("use std::{fs, time::{Duration, Instant as Now}, io::{self, *}};"),
            [
                "std::fs",
                "std::time::Duration",
                "std::time::Instant",
                "std::time::as",
                "std::time::Now",
                "std::io::self",
                "std::io::*",
            ]
        );
    }

    #[test]
    fn an_import_of_a_whole_crate_counts() {
        assert_eq!(
            paths("use kube; let kube = 1; use axum as web;"),
            ["kube", "axum"]
        );
    }

    #[test]
    fn paths_in_expressions_types_and_macros_count() {
        assert_eq!(
            paths(
                "fn f(x: ::std::net::IpAddr) { assert!(std::fs::read(x.y).is_ok()); v::<a::B>() }"
            ),
            ["std::net::IpAddr", "std::fs::read", "a::B"]
        );
    }

    #[test]
    fn comments_strings_and_attributes_texts_do_not_count() {
        assert_eq!(
            paths("/// std::fs::read\n// std::net\nfn f() { let s = \"std::fs::read\"; }"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let found = mentions("\n\nuse std::{\n    fs,\n};").unwrap();
        assert_eq!((found.len(), found[0].line), (1, 4));
    }

    #[test]
    fn a_mention_reaches_an_item_by_its_name_its_parts_its_module_and_a_glob() {
        let reaches = |source: &str| {
            mentions(source)
                .unwrap()
                .iter()
                .any(|mention| mention.reaches("std::time::Instant"))
        };
        assert!(reaches("use std::time::Instant;"));
        assert!(reaches("let t = std::time::Instant::now();"));
        assert!(reaches("use std::time::{self, Duration};"));
        assert!(reaches("use std::time;"));
        assert!(reaches("use std::time::*;"));
        assert!(!reaches("use std::time::Duration;"));
        assert!(!reaches("use std;"));
        assert!(!reaches("use std::fs;"));
    }
}
