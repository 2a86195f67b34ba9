//! Puts a hash of the content into the name of each file. A browser may then keep the file as long as it likes.
//!
//! A template refers to another file in three forms:
//! * `{{plain-name}}` becomes that file's hashed name.
//! * `{{=name}}` becomes its content.
//! * `{{#name}}` becomes the hash by which a content security policy allows that content.
//!
//! A file that others use only by content or hash is not written by itself. index.html keeps its name: a browser starts
//! there, and never keeps it. So does single.html, which `watchscope export` and the page request by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The file at which a browser starts. Its name is not hashed.
pub(crate) const INDEX: &str = "index.html";

/// The template of a page in one file (`single.rs`). Its name is not hashed.
pub(super) const SINGLE: &str = "single.html";

/// The hex digits of the hash in a name; 64 bits are plenty for the files of one page.
const HASH_DIGITS: usize = 16;

/// A file of the page before it has its final name.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Text that may refer to other files as `{{plain-name}}`.
    Template(String),
    /// Bytes that are taken as they are.
    Finished(Vec<u8>),
}

/// A file that has its final name.
struct Finished {
    name: String,
    bytes: Vec<u8>,
}

/// Resolves all references. Returns the files by final name.
pub(crate) fn assemble(mut sources: BTreeMap<String, Source>) -> Result<BTreeMap<String, Vec<u8>>> {
    if !sources.contains_key(INDEX) {
        bail!("the page has no {INDEX}: put one into assets/");
    }
    let known: Vec<String> = sources.keys().cloned().collect();
    let only_within = only_within(&sources);
    let mut finished = BTreeMap::new();
    // Each round finishes the files that refer only to finished ones, so there is at most one round a file.
    while !sources.is_empty() {
        let mut waiting = BTreeMap::new();
        for (name, source) in std::mem::take(&mut sources) {
            let bytes = match &source {
                Source::Finished(bytes) => bytes.clone(),
                Source::Template(text) => match resolve(text, &finished) {
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
            let file = Finished {
                name: hashed(&name, &bytes),
                bytes,
            };
            finished.insert(name, file);
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
    let files = finished
        .into_iter()
        .filter(|(name, _)| !only_within.contains(name));
    Ok(files.map(|(_, file)| (file.name, file.bytes)).collect())
}

/// The kind of a reference, by the mark before the name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Name,
    Content,
    Hash,
}

/// Returns the text's references, each with the text before it, and the text behind the last.
fn references(text: &str) -> (Vec<(&str, Wanted, &str)>, &str) {
    let mut references = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest[from..].find("{{").map(|at| at + from) {
        let inside = &rest[at + 2..];
        let (wanted, inside) = match inside.as_bytes().first() {
            Some(b'=') => (Wanted::Content, &inside[1..]),
            Some(b'#') => (Wanted::Hash, &inside[1..]),
            _ => (Wanted::Name, inside),
        };
        match inside.split_once("}}") {
            Some((name, behind)) if is_plain_name(name) => {
                references.push((&rest[..at], wanted, name));
                (rest, from) = (behind, 0);
            }
            _ => from = at + 2,
        }
    }
    (references, rest)
}

/// Returns the files that others refer to by content or hash and none by name.
fn only_within(sources: &BTreeMap<String, Source>) -> BTreeSet<String> {
    let (mut within, mut named) = (BTreeSet::new(), BTreeSet::new());
    for source in sources.values() {
        if let Source::Template(text) = source {
            for (_, wanted, name) in references(text).0 {
                match wanted {
                    Wanted::Name => named.insert(name.to_owned()),
                    Wanted::Content | Wanted::Hash => within.insert(name.to_owned()),
                };
            }
        }
    }
    &within - &named
}

/// Returns the text with every reference replaced, or the first name that is not in the table.
fn resolve(text: &str, finished: &BTreeMap<String, Finished>) -> Result<String, String> {
    let mut resolved = String::with_capacity(text.len());
    let (references, tail) = references(text);
    for (before, wanted, name) in references {
        resolved.push_str(before);
        let file = finished.get(name).ok_or_else(|| name.to_owned())?;
        match wanted {
            Wanted::Name => resolved.push_str(&file.name),
            Wanted::Content => resolved.push_str(&String::from_utf8_lossy(&file.bytes)),
            Wanted::Hash => {
                resolved.push_str("'sha256-");
                STANDARD.encode_string(Sha256::digest(&file.bytes), &mut resolved);
                resolved.push('\'');
            }
        }
    }
    resolved.push_str(tail);
    Ok(resolved)
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Returns a name with its hash: `styles.css` becomes `styles-HASH.css`. The glue's wasm keeps wasm-bindgen's ending:
/// `frontend-HASH_bg.wasm`.
fn hashed(name: &str, bytes: &[u8]) -> String {
    if [INDEX, SINGLE].contains(&name) {
        return name.to_owned();
    }
    let stem = name
        .strip_suffix("_bg.wasm")
        .or_else(|| name.rsplit_once('.').map(|(stem, _)| stem))
        .unwrap_or(name);
    let hash = sha256(bytes);
    format!("{stem}-{}{}", &hash[..HASH_DIGITS], &name[stem.len()..])
}

/// Returns the SHA-256 of bytes in lower-case hex digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns bytes as lower-case hex digits.
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
    fn a_file_included_by_content_gets_its_policy_hash_and_is_not_written_by_itself() {
        let files = page(&[
            (
                "index.html",
                template("{{#a.js}} {{#b.js}} {{=a.js}} {{=b.js}}"),
            ),
            ("a.js", template("import('./{{b.js}}')")),
            ("b.js", template("alert()")),
        ])
        .unwrap();
        insta::assert_snapshot!(listed(&files), @r"
        b-4bc4bf54d997b94b.js: alert()
        index.html: 'sha256-8nAw7r2yoM26XNxpBtkfyNLu5zJjnu2MGrTLTI3Xmi0=' 'sha256-S8S/VNmXuUuoIR6OhqBqwIiIkuCxXq31hCCHAHnicV8=' import('./b-4bc4bf54d997b94b.js') alert()
        ");
    }

    #[test]
    fn a_name_changes_only_with_the_content_behind_it() {
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
    fn an_unknown_reference_is_reported_with_the_known_files() {
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
    fn braces_that_form_no_reference_stay() {
        let files = page(&[("index.html", template("{{ x }} {{a b}} {{"))]).unwrap();
        assert_eq!(files["index.html"], b"{{ x }} {{a b}} {{");
    }
}
