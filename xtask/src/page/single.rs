//! Builds the page in one file: a template that an export puts a recording into. The result opens from a disk.
//!
//! ```text
//!   frontend/app, not cut ─► wasm-bindgen ─┬─► packed.rs, 7 bits ──► elements that do nothing ─┐
//!   recording worker, its module, findings ┘                                                  ├─► names.rs ─► single.html
//!   boot.js, open.js, glue … ─► bundle.rs ─► one script, allowed by its hash ─────────────────┘
//! ```
//! assets/single.html says where each piece stands; shared/export/src/html.rs fills in title, view and recording.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::bundle::{Bundle, bundle};
use super::dist::deflated;
use super::names::{INDEX, Source};
use super::packed::packed;
use super::seven_bits::seven_bits;

/// The files of assets/ that only this file uses.
const OWN: [&str; 4] = [
    "single.js",
    "single-export.js",
    "single-worker.js",
    "single.css",
];
/// Modules that boot.js loads and this file lacks: lessons.
const ABSENT: [&str; 1] = ["lessons.js"];
/// The dialogs, whose worker this file lacks, and the scripts that replace them. assets/single.css hides the buttons of
/// missing dialogs; their keys show nothing.
const DIALOGS: [(&str, &str); 2] = [
    ("charts-dialog.js", NO_DIALOG),
    ("export-dialog.js", SAVES_ONLY),
];
const NO_DIALOG: &str = "export const show = () => {};\n";
const SAVES_ONLY: &str = include_str!("../../../assets/single-export.js");

/// The uncut module of the page, with the glue that fits it.
pub(super) struct Whole {
    pub(super) script: String,
    pub(super) module: Vec<u8>,
}

/// The files of the module that unpacks the others. Only this page has them.
const UNPACKER: [&str; 2] = ["unpacker.js", "unpacker_bg.wasm"];

/// Adds the sources that assets/single.html is made of, and removes those that nothing else uses. Compressed bytes are
/// kept in `folder`, since compressing takes long.
pub(super) fn add(
    files: &mut BTreeMap<String, Source>,
    whole: &Whole,
    folder: &Path,
) -> Result<()> {
    let mut scripts: BTreeMap<String, String> = files
        .iter()
        .filter_map(|(name, source)| match source {
            Source::Template(text) if name.ends_with(".js") => Some((name.clone(), text.clone())),
            Source::Finished(text) if name.ends_with(".js") => {
                Some((name.clone(), String::from_utf8(text.clone()).ok()?))
            }
            _ => None,
        })
        .collect();
    scripts.insert("frontend.js".to_owned(), whole.script.clone());
    for (dialog, script) in DIALOGS {
        scripts.insert(dialog.to_owned(), script.to_owned());
    }
    let script = page_script(&scripts)?;
    let worker = worker_script(&scripts)?;
    let panels = [text(files, "panels.css")?, text(files, "single.css")?].concat();
    let body = body(text(files, INDEX)?)?.to_owned();
    let icon = format!(
        "data:image/svg+xml;base64,{}",
        STANDARD.encode(text(files, "icon.svg")?)
    );
    let findings = findings(files)?;
    let module = |name: &str| match files.get(name) {
        Some(Source::Finished(module)) => Ok(module.clone()),
        _ => anyhow::bail!("there is no module {name}"),
    };
    let [_, unpacker] = UNPACKER;
    let parts = [
        ("frontend_bg.wasm", whole.module.clone()),
        ("recording_bg.wasm", module("recording_bg.wasm")?),
        ("recording-worker.js", worker.into_bytes()),
        ("panels.css", panels.into_bytes()),
        ("findings.json", findings.into_bytes()),
    ];
    let sources = [
        ("single-page.js", script),
        ("single-body.html", body),
        ("single-icon", icon),
        (
            "single-unpacker",
            inert(folder, "unpacker", &module(unpacker)?, deflated)?,
        ),
        (
            "single-parts",
            inert(folder, "parts", &joined(&parts)?, packed)?,
        ),
    ];
    for name in OWN.into_iter().chain(UNPACKER) {
        files.remove(name);
    }
    for (name, text) in sources {
        files.insert(name.to_owned(), Source::Finished(text.into_bytes()));
    }
    Ok(())
}

/// Returns the one script of the file.
fn page_script(scripts: &BTreeMap<String, String>) -> Result<String> {
    let Bundle { modules, entries } = bundle(["single.js", "boot.js"], scripts, &ABSENT)?;
    let [begin, boot] = entries;
    let script = format!("{modules}{begin}if (isOpened) {{\n{boot}}}\n");
    for end in ["</script", "<!--"] {
        ensure!(
            !script.contains(end),
            "the script holds {end}, which ends a script in a document"
        );
    }
    Ok(script)
}

/// Returns the program of a recording's worker.
fn worker_script(scripts: &BTreeMap<String, String>) -> Result<String> {
    let Bundle { modules, entries } = bundle(["recording-worker.js"], scripts, &[])?;
    let own = scripts.get("single-worker.js");
    let own = own.context("assets/ has no single-worker.js")?;
    let [worker] = entries;
    Ok(format!("{own}{modules}{worker}"))
}

fn text<'a>(files: &'a BTreeMap<String, Source>, name: &str) -> Result<&'a str> {
    match files.get(name) {
        Some(Source::Template(text)) => Ok(text),
        _ => anyhow::bail!("assets/ has no {name}"),
    }
}

/// Returns the part of index.html that is the page itself.
fn body(index: &str) -> Result<&str> {
    let at = index.find("<div class=\"page\">");
    let body = at.and_then(|at| index[at..].split_once("</body>"));
    let (body, _) = body.context("index.html has no <div class=\"page\">")?;
    Ok(body.trim_end())
}

/// Returns the texts of the failures and their pictures as JSON; together they deflate best.
fn findings(files: &BTreeMap<String, Source>) -> Result<String> {
    let texts = text(files, "findings.json")?;
    let mut pictures = Map::new();
    for (name, source) in files {
        if let Source::Template(picture) = source
            && texts.contains(&format!("{{{{{name}}}}}"))
        {
            pictures.insert(name.clone(), Value::from(picture.as_str()));
        }
    }
    let texts = texts.replace("{{", "").replace("}}", "");
    let texts: Value = serde_json::from_str(&texts).context("findings.json")?;
    Ok(serde_json::json!({ "texts": texts, "pictures": pictures }).to_string())
}

/// Returns parts as one run of bytes: a line of JSON with the name and the length of each, then their bytes. Packed
/// together they are 40 kB shorter than alone.
fn joined(parts: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    let table: Vec<(&str, usize)> = parts
        .iter()
        .map(|(name, bytes)| (*name, bytes.len()))
        .collect();
    let mut all = serde_json::to_vec(&table)?;
    all.push(b'\n');
    for (_, bytes) in parts {
        all.extend_from_slice(bytes);
    }
    Ok(all)
}

/// Returns the bytes compressed by `compress`, as characters of seven bits. The compressed bytes are kept under `name`,
/// with a hash of their source.
fn inert(
    folder: &Path,
    name: &str,
    bytes: &[u8],
    compress: impl Fn(&[u8]) -> Result<Vec<u8>>,
) -> Result<String> {
    let path = folder.join(format!("single-{name}.compressed"));
    let hash = Sha256::digest(bytes);
    let kept = fs::read(&path).unwrap_or_default();
    let compressed = match kept.strip_prefix(&hash[..]) {
        Some(kept) => kept.to_vec(),
        None => {
            let made = compress(bytes)?;
            fs::write(&path, [&hash[..], &made].concat())
                .with_context(|| format!("writing {}", path.display()))?;
            made
        }
    };
    Ok(seven_bits(&compressed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> BTreeMap<String, Source> {
        let texts = r#"{"F01":["{{F01.svg}}",[["What it is","a \"thing\""]]]}"#;
        [
            ("findings.json", texts),
            ("F01.svg", "<svg id=\"a\"/>"),
            ("icon.svg", "<svg/>"),
        ]
        .map(|(name, text)| (name.to_owned(), Source::Template(text.to_owned())))
        .into()
    }

    #[test]
    fn findings_hold_their_texts_and_the_pictures_that_the_texts_name() {
        insta::assert_snapshot!(findings(&files()).unwrap(), @r#"{"texts":{"F01":["F01.svg",[["What it is","a \"thing\""]]]},"pictures":{"F01.svg":"<svg id=\"a\"/>"}}"#);
    }

    #[test]
    fn the_body_is_the_page_element_of_index_html() {
        let index = "<body>\n<noscript>no</noscript>\n<div class=\"page\">\n<p></p>\n</div>\n</body>\n</html>";
        assert_eq!(
            body(index).unwrap(),
            "<div class=\"page\">\n<p></p>\n</div>"
        );
        assert!(body("<body></body>").is_err());
    }

    #[test]
    fn compressed_bytes_are_kept_until_their_source_changes() {
        let folder = tempfile::tempdir().unwrap();
        let inert = |bytes: &[u8]| inert(folder.path(), "a", bytes, deflated).unwrap();
        let one = inert(b"one");
        assert_eq!(inert(b"one"), one);
        assert_ne!(inert(b"two"), one);
        assert_eq!(inert(b"one"), one);
    }

    #[test]
    fn joined_parts_stand_behind_a_line_with_their_names_and_lengths() {
        let parts = [("a.wasm", b"\0asm".to_vec()), ("b.css", b"p{}\n".to_vec())];
        let all = joined(&parts).unwrap();
        assert_eq!(all, b"[[\"a.wasm\",4],[\"b.css\",4]]\n\0asmp{}\n");
    }
}
