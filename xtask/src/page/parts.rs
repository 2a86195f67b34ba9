//! The page's module cut in two: what the first paint needs, and what is loaded after it.
//!
//! `wasm_split_cli_support` follows the linker's relocations from each `#[wasm_split]` function: what only that
//! function reaches goes into a second module, which shares the first one's memory and function table. The cut comes
//! before wasm-bindgen, which sees the first module alone. The few lines of JavaScript that load the second module
//! (`second.js`) become part of the glue, so that they cost no file of their own and nothing refers in a circle.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use wasm_split_cli_support::{Options, transform};
use wasmparser::{Parser, Payload};

use super::order;

/// The second part's name, as in the page's `#[wasm_split(second, …)]`.
const SECOND: &str = "second";

/// What the first part's import that loads a part is called, but for the part's name.
const LOADING: &str = "__wasm_split_load_";

/// The second part's file among the page's.
pub(super) const SECOND_FILE: &str = "frontend_second.wasm";

/// What loads the second part.
const LOADER: &str = include_str!("second.js");

/// What the cut makes of a module.
pub(super) struct Parts {
    /// The first part, for wasm-bindgen.
    pub(super) first: PathBuf,
    /// The second part, finished.
    pub(super) second: Vec<u8>,
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
        second = order::by_likeness(&without_custom_sections(&second)?)?;
    }
    let theirs = String::from_utf8(read(&folder.join("__wasm_split.js"))?)?;
    is_like_ours(&theirs)?;
    Ok(Parts { first, second })
}

/// Whether the loader that the cut wrote asks for no more than [`LOADER`] gives.
fn is_like_ours(theirs: &str) -> Result<()> {
    for line in [
        // One module with imports of its own, and all of them are exports of the first part.
        "sharedImports = { __wasm_split: {  } };".to_owned(),
        format!("export const {LOADING}{SECOND} = wrapAsyncCb(makeLoad(() => {{"),
        format!("const src = fetch(new URL(\"./split_{SECOND}.wasm\", import.meta.url));"),
        // It waits for no other module.
        ", []));".to_owned(),
    ] {
        ensure!(
            theirs.contains(&line),
            "the cut's loader has no line `{line}`, so second.js may not do what it does:\n{theirs}"
        );
    }
    Ok(())
}

/// wasm-bindgen's glue with the loader in it.
pub(super) fn join(glue: &str) -> Result<String> {
    let (mut script, names) = without_imports(glue, " from \"./__wasm_split.js\"");
    let [name] = &names[..] else {
        bail!("the glue imports the loader of the second part as {names:?}, not once");
    };
    script.push_str(LOADER);
    script.push_str(&format!(
        "const {name} = {{ {LOADING}{SECOND}: loadSecondPart }};\n"
    ));
    Ok(script)
}

/// The glue without the lines that import the loader, and the names that it gives the loader.
fn without_imports(glue: &str, from: &str) -> (String, Vec<String>) {
    let mut imported_as = Vec::new();
    let mut script = String::with_capacity(glue.len() + LOADER.len());
    for line in glue.lines() {
        let import = line
            .strip_prefix("import * as ")
            .and_then(|rest| rest.strip_suffix(from));
        match import {
            Some(name) => imported_as.push(name.to_owned()),
            None => {
                script.push_str(line);
                script.push('\n');
            }
        }
    }
    (script, imported_as)
}

/// The module from which an uncut page imports what the cut would put in place: the loader, and the second part's one
/// function.
const UNCUT: &str = "__wasm_split_placeholder__";
/// How the names of the second part's function begin, as it is imported and as it is exported.
const IMPORTED: &str = "__wasm_split_00second00_import_";
const EXPORTED: &str = "__wasm_split_00second00_export_";
/// The table of functions.
const FUNCTIONS: &str = "__indirect_function_table";

/// A module that is not cut, and what its second part's function is called, behind [`IMPORTED`].
pub(super) struct Uncut {
    /// For wasm-bindgen.
    pub(super) module: PathBuf,
    function: String,
}

/// The module that [`cut`] takes, as it is but for its unused exports.
pub(super) fn uncut(module: &Path, folder: &Path) -> Result<Uncut> {
    let input = fs::read(module).with_context(|| format!("reading {}", module.display()))?;
    let input = with_table(&without_unused_exports(&input)?)?;
    let mut function = None;
    for payload in Parser::new(0).parse_all(&input) {
        if let Payload::ImportSection(imports) = payload.context("reading the page's module")? {
            for import in imports.into_imports() {
                let import = import?;
                if import.module != UNCUT || import.name == format!("{LOADING}{SECOND}") {
                    continue;
                }
                let name = import.name.strip_prefix(IMPORTED);
                let name = name.with_context(|| format!("the page imports {}", import.name))?;
                let before = function.replace(name.to_owned());
                ensure!(
                    before.is_none(),
                    "the second part is more than one function"
                );
            }
        }
    }
    let function = function.context("the page imports nothing of its second part")?;
    let module = folder.join("uncut.wasm");
    fs::write(&module, input).with_context(|| format!("writing {}", module.display()))?;
    Ok(Uncut { module, function })
}

impl Uncut {
    /// wasm-bindgen's glue, in which the second part is there as soon as it is asked for.
    pub(super) fn join(&self, glue: &str) -> Result<String> {
        let (mut script, names) = without_imports(glue, &format!(" from \"{UNCUT}\""));
        ensure!(!names.is_empty(), "the glue imports nothing from {UNCUT}");
        let function = &self.function;
        script.push_str(&format!(
            "const uncut = {{\n\
             {LOADING}{SECOND}: async (tell, told) => {{\n\
             await undefined;\n\
             wasm.{FUNCTIONS}.get(tell)(told, true);\n\
             }},\n\
             {IMPORTED}{function}: (...given) => wasm.{EXPORTED}{function}(...given),\n\
             }};\n"
        ));
        // Once for each that it imports.
        for name in names {
            script.push_str(&format!("const {name} = uncut;\n"));
        }
        Ok(script)
    }
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
pub(super) fn without_custom_sections(module: &[u8]) -> Result<Vec<u8>> {
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

/// A module that exports its function table too, under the name that the cut gives it.
fn with_table(module: &[u8]) -> Result<Vec<u8>> {
    const TABLE: u8 = 1;
    let (header, sections) = sections(module)?;
    let mut made = header.to_vec();
    for section in &sections {
        if section.id == EXPORTS {
            let (count, at) = varint(section.content, 0)?;
            let mut exports = Vec::new();
            push_varint(&mut exports, count + 1);
            exports.extend_from_slice(&section.content[at..]);
            push_varint(&mut exports, FUNCTIONS.len());
            exports.extend_from_slice(FUNCTIONS.as_bytes());
            // A module of ours has one table.
            exports.extend_from_slice(&[TABLE, 0]);
            made.push(EXPORTS);
            push_varint(&mut made, exports.len());
            made.extend_from_slice(&exports);
        } else {
            made.extend_from_slice(section.whole);
        }
    }
    Ok(made)
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
    fn the_loader_becomes_part_of_the_glue_under_the_name_that_the_glue_imports() {
        let glue = "import * as import1 from \"./__wasm_split.js\"\nlet wasm;\n";
        let script = join(glue).unwrap();
        assert_eq!(
            script.strip_prefix("let wasm;\n").unwrap(),
            format!("{LOADER}const import1 = {{ __wasm_split_load_second: loadSecondPart }};\n")
        );
        assert!(join("let wasm;").is_err());
        assert!(LOADER.contains(&format!("{{{{{SECOND_FILE}}}}}")));
    }

    #[test]
    fn a_cut_whose_loader_does_more_than_ours_is_refused() {
        let theirs = "sharedImports = { __wasm_split: {  } };
            export const __wasm_split_load_second = wrapAsyncCb(makeLoad(() => {
            const src = fetch(new URL(\"./split_second.wasm\", import.meta.url));
            }
            , []));";
        is_like_ours(theirs).unwrap();
        assert!(is_like_ours(&theirs.replace(", []", ", [__chunk_0]")).is_err());
        assert!(is_like_ours(&theirs.replace("{  }", "{  }, env: {  }")).is_err());
    }

    #[test]
    fn an_uncut_page_has_its_second_part_at_once() {
        let uncut = Uncut {
            module: PathBuf::new(),
            function: "1f_second_part".to_owned(),
        };
        let import = |name: &str| format!("import * as {name} from \"{UNCUT}\"\n");
        let glue = format!("{}{}let wasm;\n", import("import1"), import("import2"));
        insta::assert_snapshot!(uncut.join(&glue).unwrap(), @r"
        let wasm;
        const uncut = {
        __wasm_split_load_second: async (tell, told) => {
        await undefined;
        wasm.__indirect_function_table.get(tell)(told, true);
        },
        __wasm_split_00second00_import_1f_second_part: (...given) => wasm.__wasm_split_00second00_export_1f_second_part(...given),
        };
        const import1 = uncut;
        const import2 = uncut;
        ");
        assert!(uncut.join("let wasm;").is_err());
    }

    #[test]
    fn the_table_of_functions_is_exported_behind_what_is_already() {
        let module = |exports: &[u8]| {
            let section = [&[7, exports.len() as u8], exports].concat();
            [&b"\0asm\x01\0\0\0"[..], &section].concat()
        };
        let one = [4, b'm', b'a', b'i', b'n', 0, 3];
        let table = [&[25], FUNCTIONS.as_bytes(), &[1, 0]].concat();
        assert_eq!(
            with_table(&module(&[&[1], &one[..]].concat())).unwrap(),
            module(&[&[2], &one[..], &table].concat())
        );
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
