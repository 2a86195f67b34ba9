//! Names that carry their content's hash, so that a browser may keep a file for ever.
//!
//! A template refers to another file as `{{plain-name}}`; the reference becomes that file's
//! hashed name. index.html alone keeps its name: it is where a browser starts, and is never kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Result, bail};
use sha2::{Digest as _, Sha256};

/// The one file whose name is not hashed.
pub(crate) const INDEX: &str = "index.html";

/// Hex digits of the hash in a name; 64 bits are plenty for one page's files.
const HASH_DIGITS: usize = 16;

/// A file of the page before it has its final name.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Text that may refer to other files as `{{plain-name}}`.
    Template(String),
    /// Bytes that are taken as they are.
    Finished(Vec<u8>),
}

/// Resolves all references; the result is by final name.
pub(crate) fn assemble(mut sources: BTreeMap<String, Source>) -> Result<BTreeMap<String, Vec<u8>>> {
    if !sources.contains_key(INDEX) {
        bail!("the page has no {INDEX}: put one into assets/");
    }
    let known: Vec<String> = sources.keys().cloned().collect();
    let mut final_names = BTreeMap::new();
    let mut files = BTreeMap::new();
    // Each round finishes the files that refer only to finished ones, so at most one round a file.
    while !sources.is_empty() {
        let mut waiting = BTreeMap::new();
        for (name, source) in std::mem::take(&mut sources) {
            let bytes = match &source {
                Source::Finished(bytes) => bytes.clone(),
                Source::Template(text) => match resolve(text, &final_names) {
                    Ok(text) => text.into_bytes(),
                    Err(missing) if known.contains(&missing) => {
                        waiting.insert(name, (source, missing));
                        continue;
                    }
                    Err(missing) => bail!(
                        "assets/{name} refers to {{{{{missing}}}}}, which the page has not; it has {}",
                        known.join(", ")
                    ),
                },
            };
            let final_name = hashed(&name, &bytes);
            files.insert(final_name.clone(), bytes);
            final_names.insert(name, final_name);
        }
        sources = waiting
            .iter()
            .map(|(name, (source, _))| (name.clone(), source.clone()))
            .collect();
        let stuck = waiting
            .values()
            .all(|(_, missing)| waiting.contains_key(missing));
        if stuck && let Some((name, (_, missing))) = waiting.first_key_value() {
            bail!("assets/{name} and {missing} refer to each other, so neither can have its name");
        }
    }
    Ok(files)
}

/// The text with every `{{name}}` replaced, or the first name that is not in the table.
fn resolve(text: &str, final_names: &BTreeMap<String, String>) -> Result<String, String> {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        resolved.push_str(before);
        match after.split_once("}}") {
            Some((name, behind)) if is_plain_name(name) => {
                resolved.push_str(final_names.get(name).ok_or_else(|| name.to_owned())?);
                rest = behind;
            }
            _ => {
                resolved.push_str("{{");
                rest = after;
            }
        }
    }
    resolved.push_str(rest);
    Ok(resolved)
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// `styles.css` is `styles-HASH.css`; the glue's wasm keeps wasm-bindgen's ending: `frontend-HASH_bg.wasm`.
fn hashed(name: &str, bytes: &[u8]) -> String {
    if name == INDEX {
        return name.to_owned();
    }
    let stem = name
        .strip_suffix("_bg.wasm")
        .or_else(|| name.rsplit_once('.').map(|(stem, _)| stem))
        .unwrap_or(name);
    let hash = hex(&Sha256::digest(bytes));
    format!("{stem}-{}{}", &hash[..HASH_DIGITS], &name[stem.len()..])
}

/// Bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Source {
        Source::Template(text.to_owned())
    }

    fn page(files: &[(&str, Source)]) -> Result<BTreeMap<String, Vec<u8>>> {
        assemble(
            files
                .iter()
                .map(|(name, source)| ((*name).to_owned(), source.clone()))
                .collect(),
        )
    }

    fn listed(files: &BTreeMap<String, Vec<u8>>) -> String {
        files
            .iter()
            .map(|(name, bytes)| format!("{name}: {}\n", String::from_utf8_lossy(bytes)))
            .collect()
    }

    #[test]
    fn references_become_hashed_names_through_several_files() {
        let files = page(&[
            ("index.html", template("<script src=/{{boot.js}}>")),
            ("boot.js", template("init('./{{frontend_bg.wasm}}')")),
            (
                "frontend_bg.wasm",
                Source::Finished(b"wasm {{boot.js}}".to_vec()),
            ),
        ])
        .unwrap();
        insta::assert_snapshot!(listed(&files), @r"
        boot-131b3de39912fa2e.js: init('./frontend-f2a2d5e5065339bf_bg.wasm')
        frontend-f2a2d5e5065339bf_bg.wasm: wasm {{boot.js}}
        index.html: <script src=/boot-131b3de39912fa2e.js>
        ");
    }

    #[test]
    fn a_name_changes_with_the_content_behind_it_and_only_then() {
        let boot = |wasm: &str| {
            let files = page(&[
                ("index.html", template("{{boot.js}}")),
                ("boot.js", template("{{frontend_bg.wasm}}")),
                ("frontend_bg.wasm", Source::Finished(wasm.into())),
            ])
            .unwrap();
            String::from_utf8(files["index.html"].clone()).unwrap()
        };
        assert_eq!(boot("one"), boot("one"));
        assert_ne!(boot("one"), boot("two"));
    }

    #[test]
    fn an_unknown_reference_is_named_with_what_there_is() {
        let error = page(&[
            ("index.html", template("{{style.css}}")),
            ("styles.css", template("")),
        ])
        .unwrap_err();
        insta::assert_snapshot!(error, @"assets/index.html refers to {{style.css}}, which the page has not; it has index.html, styles.css");
    }

    #[test]
    fn files_that_refer_to_each_other_are_an_error() {
        let error = page(&[
            ("index.html", template("")),
            ("a.js", template("{{b.js}}")),
            ("b.js", template("{{a.js}}")),
        ])
        .unwrap_err();
        insta::assert_snapshot!(error, @"assets/a.js and b.js refer to each other, so neither can have its name");
    }

    #[test]
    fn a_page_without_an_index_is_an_error() {
        assert!(page(&[("styles.css", template(""))]).is_err());
    }

    #[test]
    fn braces_that_are_no_reference_stay() {
        let files = page(&[("index.html", template("{{ x }} {{a b}} {{"))]).unwrap();
        assert_eq!(files["index.html"], b"{{ x }} {{a b}} {{");
    }
}
