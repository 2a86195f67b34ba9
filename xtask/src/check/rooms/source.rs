//! Which file of a crate uses which, from the paths in their tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::check::boundaries::rust_files;
use crate::check::mentions::{self, Mention};

/// The most re-exports that are followed from a path to its file. A longer chain counts for the file reached by then.
const MOST_STEPS: usize = 8;

/// The files of a crate without its tests, and the paths that they mention.
pub(super) struct Sources {
    /// The crate's name in paths.
    name: String,
    files: BTreeMap<String, File>,
    /// The file of each module, by the module's path.
    modules: BTreeMap<Vec<String>, String>,
}

struct File {
    module: Vec<String>,
    /// The paths that its code mentions.
    mentions: Vec<Mention>,
    /// The names that it re-exports, each with its path.
    reexports: Vec<(String, Vec<String>)>,
}

impl Sources {
    /// Reads all files below a crate's folder of sources.
    pub(super) fn read(folder: &Path, name: &str) -> Result<Self> {
        let mut texts = Vec::new();
        for file in rust_files(folder)? {
            texts.push((file.path, file.text));
        }
        Self::of(&texts, name)
    }

    /// Parses files, given by their paths below src/ and their texts.
    pub(super) fn of(texts: &[(String, String)], name: &str) -> Result<Self> {
        let mut files = BTreeMap::new();
        let mut modules = BTreeMap::new();
        for (path, text) in texts.iter().filter(|(path, _)| !is_of_tests(path)) {
            let module = module_of(path);
            let file = File::of(module.clone(), text).with_context(|| format!("in {path}"))?;
            // A library and a program of one crate have the same root module; the library's is meant.
            if path != "main.rs" {
                modules.insert(module, path.clone());
            }
            files.insert(path.clone(), file);
        }
        Ok(Self {
            name: name.replace('-', "_"),
            files,
            modules,
        })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the other files that a file uses, each with the first line that uses it.
    pub(super) fn arrows(&self, file: &str) -> Vec<(&str, usize)> {
        let mut arrows = BTreeMap::new();
        let Some(from) = self.files.get(file) else {
            return Vec::new();
        };
        let names = self.imported(from);
        for mention in &from.mentions {
            let target = self
                .absolute(from, &mention.path, &names)
                .and_then(|path| self.file_of(path));
            if let Some(target) = target.filter(|target| *target != file) {
                let line = arrows.entry(target).or_insert(mention.line);
                *line = (*line).min(mention.line);
            }
        }
        arrows.into_iter().collect()
    }

    /// Returns the modules that a file imports by name, each name with its path.
    fn imported(&self, from: &File) -> BTreeMap<String, Vec<String>> {
        let none = BTreeMap::new();
        let paths = from.mentions.iter().filter_map(|mention| {
            let path = self.absolute(from, &mention.path, &none)?;
            let path = match path.split_last() {
                Some((last, before)) if last == "self" => before.to_vec(),
                _ => path,
            };
            let is_module = self.modules.contains_key(&path);
            Some((path.last()?.clone(), path)).filter(|_| is_module)
        });
        paths.collect()
    }

    /// Returns a path from the crate's root; `None` for a path that leaves the crate.
    fn absolute(
        &self,
        from: &File,
        path: &[String],
        names: &BTreeMap<String, Vec<String>>,
    ) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let with = |base: &[String]| Some(base.iter().chain(rest).cloned().collect());
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => with(&from.module),
            "super" => {
                let (_, parent) = from.module.split_last()?;
                let mut base = parent.to_vec();
                let mut rest = rest;
                while let Some((next, after)) = rest.split_first()
                    && next == "super"
                {
                    base.pop()?;
                    rest = after;
                }
                base.extend(rest.iter().cloned());
                Some(base)
            }
            first if first == self.name => Some(rest.to_vec()),
            _ => {
                let mut child = from.module.clone();
                child.extend(path.iter().cloned());
                if self.modules.contains_key(&child[..=from.module.len()]) {
                    return Some(child);
                }
                names.get(first).and_then(|base| with(base))
            }
        }
    }

    /// Returns the file that has the named item, following re-exports.
    fn file_of(&self, mut path: Vec<String>) -> Option<&str> {
        let mut file = None;
        for _ in 0..MOST_STEPS {
            let (module, item) = (0..=path.len()).rev().find_map(|length| {
                let (module, rest) = path.split_at(length);
                let file = self.modules.get(module)?;
                Some((file, rest.first().cloned()))
            })?;
            file = Some(module.as_str());
            let Some(item) = item else {
                break;
            };
            let known = self.files.get(module)?;
            let given = known.reexports.iter().find(|(name, _)| *name == item);
            let Some((_, given)) = given else {
                break;
            };
            let Some(next) = self.absolute(known, given, &BTreeMap::new()) else {
                break;
            };
            if next == path {
                break;
            }
            path = next;
        }
        file
    }
}

impl File {
    fn of(module: Vec<String>, text: &str) -> Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|error| anyhow!("not Rust: {error}"))?;
        let (code, given) = without_tests(tokens);
        let mut words = BTreeSet::new();
        idents(code.clone(), &mut words);
        let mut mentions = mentions::of_tokens(code);
        let mut reexports = Vec::new();
        for mention in mentions::of_tokens(given) {
            let Some(name) = mention.path.last().cloned() else {
                continue;
            };
            // A re-export that the module also uses itself counts as a use.
            if words.contains(&name) {
                mentions.push(mention.clone());
            }
            reexports.push((name, mention.path));
        }
        Ok(Self {
            module,
            mentions,
            reexports,
        })
    }
}

fn idents(tokens: TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                words.insert(ident.to_string());
            }
            TokenTree::Group(group) => idents(group.stream(), words),
            _ => {}
        }
    }
}

/// Splits the items of a file, without those for tests, into its code and its re-exports.
pub(in crate::check) fn without_tests(tokens: TokenStream) -> (TokenStream, TokenStream) {
    let (mut code, mut given) = (Vec::new(), Vec::new());
    let mut item: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let ends = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_use(&item),
            _ => false,
        };
        item.push(token);
        if ends {
            let item = std::mem::take(&mut item);
            if is_for_tests(&item) {
                continue;
            }
            let is_given = is_use(&item) && is_public(&item);
            if is_given { &mut given } else { &mut code }.extend(item);
        }
    }
    code.extend(item);
    (code.into_iter().collect(), given.into_iter().collect())
}

fn is_use(item: &[TokenTree]) -> bool {
    let is = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "use");
    item.iter().any(is)
}

fn is_public(item: &[TokenTree]) -> bool {
    let is = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "pub");
    item.iter().any(is)
}

fn is_for_tests(item: &[TokenTree]) -> bool {
    item.iter().any(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            group.stream().to_string().replace(' ', "") == "cfg(test)"
        }
        _ => false,
    })
}

/// Whether a file holds only tests.
fn is_of_tests(path: &str) -> bool {
    path.split('/').any(|part| part == "tests") || path.ends_with("tests.rs")
}

/// Returns a file's module: `store/trace.rs` is `store::trace`.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs");
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    let is_root = |name: &str| matches!(name, "lib" | "main");
    match parts.last().map(String::as_str) {
        Some("mod") => {
            parts.pop();
        }
        Some(name) if parts.len() == 1 && is_root(name) => parts.clear(),
        _ => {}
    }
    parts
}
