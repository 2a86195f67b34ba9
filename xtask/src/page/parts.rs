//! The page's module cut in two: what the first paint needs, and what is loaded after it.
//!
//! `wasm_split_cli_support` follows the linker's relocations from each `#[wasm_split]` function: what only that
//! function reaches goes into a second module, which shares the first one's memory and function table. The cut comes
//! before wasm-bindgen, which sees the first module alone. The few lines of JavaScript that load the second module
//! become part of the glue, so that they cost no file of their own and nothing refers in a circle.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use wasm_split_cli_support::{Options, transform};

/// The second part's name, as in the page's `#[wasm_split(second, …)]`.
const SECOND: &str = "second";

/// The second part's file among the page's.
pub(super) const SECOND_FILE: &str = "frontend_second.wasm";

/// What the cut makes of a module.
pub(super) struct Parts {
    /// The first part, for wasm-bindgen.
    pub(super) first: PathBuf,
    /// The second part, finished.
    pub(super) second: Vec<u8>,
    /// A JavaScript module with a function that loads the second part.
    pub(super) loader: String,
}

/// Exports that nobody calls, by a part of their names: classes of wasm-streams, which comes with Leptos' server
/// functions. As roots of the first part they would keep a tenth of it.
const UNUSED_EXPORTS: [&str; 2] = ["intounderlying", "__wbg_jspi_task"];

/// Cuts a module that was linked with `--emit-relocs`; what is in between lies in `folder`.
pub(super) fn cut(module: &Path, folder: &Path, keeps_names: bool) -> Result<Parts> {
    let input = fs::read(module).with_context(|| format!("reading {}", module.display()))?;
    let input = without_unused_exports(&input)?;
    let first = folder.join("first.wasm");
    let mut options = Options::new(&input);
    options.output_dir = folder;
    options.main_out_path = &first;
    let made = transform(options)
        .map_err(|error| anyhow!("{error:#}"))
        .with_context(|| format!("cutting {}", module.display()))?;
    let [second] = &made.split_modules[..] else {
        bail!(
            "the page is built of two parts, and the cut gave {:?}",
            made.split_modules
        );
    };
    let read = |path: &Path| fs::read(path).with_context(|| format!("reading {}", path.display()));
    let mut second = read(second)?;
    if !keeps_names {
        second = without_custom_sections(&second)?;
    }
    Ok(Parts {
        second,
        loader: String::from_utf8(read(&folder.join("__wasm_split.js"))?)?,
        first,
    })
}

/// wasm-bindgen's glue with the loader in it.
pub(super) fn join(glue: &str, loader: &str) -> Result<String> {
    let mut imported_as = None;
    let mut script = String::with_capacity(glue.len() + loader.len());
    for line in glue.lines() {
        let import = line
            .strip_prefix("import * as ")
            .and_then(|rest| rest.strip_suffix(" from \"./__wasm_split.js\""));
        match import {
            Some(name) => imported_as = Some(name.to_owned()),
            None => {
                script.push_str(line);
                script.push('\n');
            }
        }
    }
    let name = imported_as.context("the glue does not import the loader of the second part")?;
    let file = format!("\"./split_{SECOND}.wasm\"");
    ensure!(
        loader.matches(&file).count() == 1,
        "the loader does not load {file}"
    );
    for line in loader.lines() {
        if line.starts_with("import { initSync } from ") {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        script.push_str(&line.replace(&file, &format!("\"./{{{{{SECOND_FILE}}}}}\"")));
        script.push('\n');
    }
    let function = format!("__wasm_split_load_{SECOND}");
    script.push_str(&format!("const {name} = {{ {function} }};\n"));
    Ok(script)
}

/// A section of a module.
struct Section<'a> {
    id: u8,
    /// With its id and length.
    whole: &'a [u8],
    content: &'a [u8],
}

const HEADER_BYTES: usize = 8;
const CUSTOM: u8 = 0;
const EXPORTS: u8 = 7;

/// A module's header and its sections.
fn sections(module: &[u8]) -> Result<(&[u8], Vec<Section<'_>>)> {
    let header = module
        .get(..HEADER_BYTES)
        .context("a module begins with eight bytes")?;
    let mut sections = Vec::new();
    let mut at = HEADER_BYTES;
    while let Some(&id) = module.get(at) {
        let (length, from) = varint(module, at + 1)?;
        let end = from + length;
        let content = module
            .get(from..end)
            .context("a section is longer than its module")?;
        let whole = &module[at..end];
        sections.push(Section { id, whole, content });
        at = end;
    }
    Ok((header, sections))
}

/// A module without its names and other sections for tools.
fn without_custom_sections(module: &[u8]) -> Result<Vec<u8>> {
    let (header, sections) = sections(module)?;
    let kept = sections.iter().filter(|section| section.id != CUSTOM);
    let parts: Vec<&[u8]> = kept.map(|section| section.whole).collect();
    Ok([header, &parts.concat()].concat())
}

/// A module without [`UNUSED_EXPORTS`].
fn without_unused_exports(module: &[u8]) -> Result<Vec<u8>> {
    let (header, sections) = sections(module)?;
    let mut kept = header.to_vec();
    for section in &sections {
        if section.id == EXPORTS {
            let exports = used_exports(section.content)?;
            kept.push(EXPORTS);
            push_varint(&mut kept, exports.len());
            kept.extend_from_slice(&exports);
        } else {
            kept.extend_from_slice(section.whole);
        }
    }
    Ok(kept)
}

/// The content of an export section without [`UNUSED_EXPORTS`].
fn used_exports(content: &[u8]) -> Result<Vec<u8>> {
    let (count, mut at) = varint(content, 0)?;
    let (mut used, mut exports) = (0, Vec::new());
    for _ in 0..count {
        let (length, from) = varint(content, at)?;
        let name = content
            .get(from..from + length)
            .context("a name is longer than its section")?;
        let name = str::from_utf8(name)?;
        // A kind, then a number.
        let (_, end) = varint(content, from + length + 1)?;
        if !UNUSED_EXPORTS.iter().any(|unused| name.contains(unused)) {
            used += 1;
            exports.extend_from_slice(&content[at..end]);
        }
        at = end;
    }
    let mut content = Vec::new();
    push_varint(&mut content, used);
    content.extend_from_slice(&exports);
    Ok(content)
}

fn push_varint(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A LEB128 number of up to 32 bits, and where it ends.
fn varint(bytes: &[u8], mut at: usize) -> Result<(usize, usize)> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(at).context("a number is cut off")?;
        at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((value, at));
        }
    }
    bail!("a number has more than 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_becomes_part_of_the_glue_and_names_the_file_of_the_second_part() {
        let glue = "import * as import1 from \"./__wasm_split.js\"\nfunction initSync() {}\nexport { initSync };\n";
        let loader = "import { initSync } from \"./main.js\";\n\nexport const __wasm_split_load_second = load(\"./split_second.wasm\");\n";
        insta::assert_snapshot!(join(glue, loader).unwrap(), @r#"
        function initSync() {}
        export { initSync };

        const __wasm_split_load_second = load("./{{frontend_second.wasm}}");
        const import1 = { __wasm_split_load_second };
        "#);
        assert!(join("", loader).is_err());
        assert!(join(glue, "").is_err());
    }

    #[test]
    fn sections_for_tools_are_left_out_and_the_others_stay() {
        let header = *b"\0asm\x01\0\0\0";
        let (types, names) = ([1, 2, 7, 7], [0, 3, 1, b'n', 9]);
        let module = [&header[..], &names, &types, &names].concat();
        assert_eq!(
            without_custom_sections(&module).unwrap(),
            [&header[..], &types].concat()
        );
        assert!(without_custom_sections(&module[..module.len() - 1]).is_err());
        assert!(without_custom_sections(&[]).is_err());
    }

    #[test]
    fn exports_that_nobody_calls_are_left_out() {
        let export =
            |name: &str, number: u8| [&[name.len() as u8], name.as_bytes(), &[0, number]].concat();
        let (used, unused) = (export("main", 4), export("intounderlyingsink_close_58", 5));
        let content = [&[2], &unused[..], &used[..]].concat();
        let module = |content: &[u8]| {
            let section = [&[7, content.len() as u8], content].concat();
            [&b"\0asm\x01\0\0\0"[..], &[1, 2, 7, 7], &section].concat()
        };
        let kept = [&[1], &used[..]].concat();
        assert_eq!(
            without_unused_exports(&module(&content)).unwrap(),
            module(&kept)
        );
    }
}
