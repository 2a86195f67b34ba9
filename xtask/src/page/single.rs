//! Builds the page in one file: a template that an export puts a recording into. The result opens from a disk.
//!
//! ```text
//!   frontend/app, not cut ─► wasm-bindgen ─┬─► deflated, 7 bits ──► elements that do nothing ─┐
//!   recording worker, its module, findings ┘                                                 ├─► names.rs ─► single.html
//!   boot.js, open.js, glue … ─► bundle.rs ─► one script, allowed by its hash ────────────────┘
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

use super::bundle::bundle;
use super::dist::deflated;
use super::names::{INDEX, Source};
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

/// Adds the sources that assets/single.html is made of, and removes those that nothing else uses. Deflated bytes are
/// kept in `folder`, since deflating takes long.
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
    let recording = match files.get("recording_bg.wasm") {
        Some(Source::Finished(module)) => module.clone(),
        _ => anyhow::bail!("there is no module of the recording's worker"),
    };
    let inert = |name: &str, bytes: &[u8]| inert(folder, name, bytes);
    let sources = [
        ("single-page.js", script),
        ("single-body.html", body),
        ("single-icon", icon),
        ("single-frontend", inert("frontend", &whole.module)?),
        ("single-recording", inert("recording", &recording)?),
        ("single-panels", inert("panels", panels.as_bytes())?),
        ("single-worker", inert("worker", worker.as_bytes())?),
        ("single-findings", inert("findings", findings.as_bytes())?),
    ];
    for name in OWN {
        files.remove(name);
    }
    for (name, text) in sources {
        files.insert(name.to_owned(), Source::Finished(text.into_bytes()));
    }
    Ok(())
}

/// Returns the one script of the file.
fn page_script(scripts: &BTreeMap<String, String>) -> Result<String> {
    let begin = bundle("single.js", scripts, &[])?;
    let boot = bundle("boot.js", scripts, &ABSENT)?;
    // The modules that boot.js reaches include all that single.js needs.
    let script = format!(
        "{}{}if (isOpened) {{\n{}}}\n",
        boot.modules, begin.entry, boot.entry
    );
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
    let worker = bundle("recording-worker.js", scripts, &[])?;
    let own = scripts.get("single-worker.js");
    let own = own.context("assets/ has no single-worker.js")?;
    Ok(format!("{own}{}{}", worker.modules, worker.entry))
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

/// Returns the bytes deflated, as characters of seven bits. The deflated bytes are kept under `name`, with a hash of their
/// source.
fn inert(folder: &Path, name: &str, bytes: &[u8]) -> Result<String> {
    let path = folder.join(format!("single-{name}.deflated"));
    let hash = Sha256::digest(bytes);
    let kept = fs::read(&path).unwrap_or_default();
    let deflated = match kept.strip_prefix(&hash[..]) {
        Some(kept) => kept.to_vec(),
        None => {
            let made = deflated(bytes)?;
            fs::write(&path, [&hash[..], &made].concat())
                .with_context(|| format!("writing {}", path.display()))?;
            made
        }
    };
    Ok(seven_bits(&deflated))
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
    fn deflated_bytes_are_kept_until_their_source_changes() {
        let folder = tempfile::tempdir().unwrap();
        let one = inert(folder.path(), "a", b"one").unwrap();
        assert_eq!(inert(folder.path(), "a", b"one").unwrap(), one);
        assert_ne!(inert(folder.path(), "a", b"two").unwrap(), one);
        assert_eq!(inert(folder.path(), "a", b"one").unwrap(), one);
    }
}
