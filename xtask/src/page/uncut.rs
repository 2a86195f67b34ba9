//! Prepares the page's module for the page in one file, which loads no part later. Only what that page lacks is cut off.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use wasm_split_cli_support::{Options, transform};
use wasmparser::{Parser, Payload};

use super::parts::{LATE, LOADING, LatePart, without_imports};
use super::sections::{FUNCTIONS, without_unused_exports};

/// The name of the module from which an uncut page imports the loaders of the late parts, and the one function of each
/// part. A cut would put them in place.
const UNCUT: &str = "__wasm_split_placeholder__";

/// The beginnings of names by which a cut knows a part's function, and what stands in their place where it must not.
/// Both are equally long, so a module with the other has all its bytes in their places.
const CUT: &str = "__wasm_split_00";
const KEPT: &str = "__wasm_whole_00";

/// A module that has all parts but those that the page in one file lacks.
pub(super) struct Uncut {
    /// The path of the module, for wasm-bindgen.
    pub(super) module: PathBuf,
    /// Each late part's name, with the ending of its function's name in imports and exports.
    functions: Vec<(&'static str, String)>,
}

/// Returns the beginning of the name under which a late part's function is imported.
fn imported(part: &str) -> String {
    format!("{KEPT}{part}00_import_")
}

/// Returns the beginning of the name under which a late part's function is exported.
fn exported(part: &str) -> String {
    format!("{KEPT}{part}00_export_")
}

/// Returns the late parts that the page in one file has.
fn kept() -> impl Iterator<Item = &'static LatePart> {
    LATE.iter().filter(|part| part.is_in_one_file)
}

/// Prepares the module that a cut takes: cuts off the parts that the page in one file lacks, and removes unused exports.
/// Intermediate files go into `folder`.
pub(super) fn uncut(module: &Path, folder: &Path) -> Result<Uncut> {
    let input = fs::read(module).with_context(|| format!("reading {}", module.display()))?;
    let mut input = without_unused_exports(&input)?;
    for part in kept() {
        let name = |begin: &str| format!("{begin}{}00", part.name).into_bytes();
        replace(&mut input, &name(CUT), &name(KEPT));
    }
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let module = folder.join("uncut.wasm");
    let mut options = Options::new(&input);
    options.output_dir = folder;
    options.main_out_path = &module;
    options.link_name = UNCUT;
    transform(options)
        .map_err(|error| anyhow!("{error:#}"))
        .with_context(|| format!("cutting {}", module.display()))?;
    let input = fs::read(&module).with_context(|| format!("reading {}", module.display()))?;
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(&input) {
        if let Payload::ImportSection(imports) = payload.context("reading the page's module")? {
            for import in imports.into_imports() {
                let import = import?;
                if import.module == UNCUT && !import.name.starts_with(LOADING) {
                    names.push(import.name.to_owned());
                }
            }
        }
    }
    let functions = functions(&names)?;
    Ok(Uncut { module, functions })
}

/// Replaces each run of bytes by another one of the same length.
fn replace(within: &mut [u8], old: &[u8], new: &[u8]) {
    for at in 0..within.len().saturating_sub(old.len()) {
        if within[at..].starts_with(old) {
            within[at..at + new.len()].copy_from_slice(new);
        }
    }
}

/// Finds the one function of each late part among the names that the page imports.
fn functions(names: &[String]) -> Result<Vec<(&'static str, String)>> {
    let mut functions = Vec::new();
    for part in kept() {
        let own = names
            .iter()
            .filter_map(|name| name.strip_prefix(&imported(part.name)));
        let own: Vec<&str> = own.collect();
        ensure!(
            own.len() == 1,
            "the {} part is one function, and the page imports {own:?} of it",
            part.name
        );
        functions.extend(own.into_iter().map(|name| (part.name, name.to_owned())));
    }
    ensure!(
        functions.len() == names.len(),
        "the page imports of parts that it has not: {names:?}"
    );
    Ok(functions)
}

impl Uncut {
    /// Returns wasm-bindgen's glue with each late part available at once.
    pub(super) fn join(&self, glue: &str) -> Result<String> {
        let (mut script, names) = without_imports(glue, UNCUT);
        ensure!(!names.is_empty(), "the glue imports nothing from {UNCUT}");
        script.push_str(&format!(
            "const loadPart = async (tell, told) => {{\n\
             await undefined;\n\
             wasm.{FUNCTIONS}.get(tell)(told, true);\n\
             }};\n\
             const lackPart = (tell, told) => wasm.{FUNCTIONS}.get(tell)(told, false);\n\
             const uncut = {{\n"
        ));
        for part in LATE.iter().filter(|part| !part.is_in_one_file) {
            script.push_str(&format!("{LOADING}{}: lackPart,\n", part.name));
        }
        for (part, function) in &self.functions {
            let (imported, exported) = (imported(part), exported(part));
            script.push_str(&format!(
                "{LOADING}{part}: loadPart,\n\
                 {imported}{function}: (...given) => wasm.{exported}{function}(...given),\n"
            ));
        }
        script.push_str("};\n");
        // The glue imports it once under each of these names.
        for name in names {
            script.push_str(&format!("const {name} = uncut;\n"));
        }
        Ok(script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uncut_page_has_its_late_parts_at_the_start() {
        let uncut = Uncut {
            module: PathBuf::new(),
            functions: vec![("second", "1f_second_part".to_owned())],
        };
        let import = |name: &str| format!("import * as {name} from \"{UNCUT}\"\n");
        let glue = format!("{}{}let wasm;\n", import("import1"), import("import2"));
        insta::assert_snapshot!(uncut.join(&glue).unwrap(), @r"
        let wasm;
        const loadPart = async (tell, told) => {
        await undefined;
        wasm.__indirect_function_table.get(tell)(told, true);
        };
        const lackPart = (tell, told) => wasm.__indirect_function_table.get(tell)(told, false);
        const uncut = {
        __wasm_split_load_export: lackPart,
        __wasm_split_load_second: loadPart,
        __wasm_whole_00second00_import_1f_second_part: (...given) => wasm.__wasm_whole_00second00_export_1f_second_part(...given),
        };
        const import1 = uncut;
        const import2 = uncut;
        ");
        assert!(uncut.join("let wasm;").is_err());
    }

    #[test]
    fn each_late_part_is_one_function() {
        let names = |parts: &[&str]| -> Vec<String> {
            let names = parts.iter().map(|part| format!("{}1f_it", imported(part)));
            names.collect()
        };
        let whole = names(&["second", "third"]);
        let of = |part| (part, "1f_it".to_owned());
        assert_eq!(functions(&whole).unwrap(), [of("second"), of("third")]);
        for wrong in [
            &["second"][..],
            &["second", "third", "third"],
            &["second", "third", "export"],
        ] {
            assert!(functions(&names(wrong)).is_err(), "{wrong:?}");
        }
    }
}
