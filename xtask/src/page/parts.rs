//! The page's module cut in parts: what the first paint needs, what is loaded after it, and what is loaded once a person
//! opens a panel.
//!
//! `wasm_split_cli_support` follows the linker's relocations from each `#[wasm_split]` function: what only that
//! function reaches goes into a module of its own, which shares the first one's memory and function table. What two of
//! them reach and the first part does not goes into one more module. The cut comes before wasm-bindgen, which sees the
//! first module alone. The few lines of JavaScript that load the other modules (`late-parts.js`) become part of the glue,
//! so that they cost no file of their own and nothing refers in a circle.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use wasm_split_cli_support::{Options, transform};

use super::order;
use super::sections::{without_custom_sections, without_unused_exports};

/// A part of the page that is loaded late: its name in `#[wasm_split(…)]`, and what loads it.
pub(super) struct LatePart {
    pub(super) name: &'static str,
    loader: &'static str,
}

pub(super) const LATE: [LatePart; 2] = [
    LatePart {
        name: "second",
        loader: "loadSecondPart",
    },
    LatePart {
        name: "third",
        loader: "loadThirdPart",
    },
];

/// What both late parts reach, by the name that the page has for it.
const SHARED: &str = "shared";
/// What the first part's import that loads a part is called, but for the part's name.
pub(super) const LOADING: &str = "__wasm_split_load_";
/// What loads the late parts.
const LOADER: &str = include_str!("late-parts.js");

/// What the cut makes of a module.
pub(super) struct Parts {
    /// The first part, for wasm-bindgen.
    pub(super) first: PathBuf,
    /// The other modules by their file names, finished.
    pub(super) late: Vec<(String, Vec<u8>)>,
}

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
    let read = |path: &Path| fs::read(path).with_context(|| format!("reading {}", path.display()));
    let mut late = Vec::new();
    let mut shared = None;
    for path in &made.split_modules {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.context("the cut names its files in UTF-8")?;
        let name = match stem.strip_prefix("split_") {
            Some(name) => name,
            None => {
                ensure!(
                    shared.replace(stem.to_owned()).is_none(),
                    "the cut gave more modules than the page loads: {:?}",
                    made.split_modules
                );
                SHARED
            }
        };
        let mut part = read(path)?;
        if !keeps_names {
            part = order::by_likeness(&without_custom_sections(&part)?)?;
        }
        late.push((file_name(name), part));
    }
    let shared = shared.context("the late parts of the page have nothing in common")?;
    let theirs = String::from_utf8(read(&folder.join("__wasm_split.js"))?)?;
    is_like_ours(&theirs, &shared)?;
    Ok(Parts { first, late })
}

/// The file of a late part among the page's.
fn file_name(part: &str) -> String {
    format!("frontend_{part}.wasm")
}

/// Whether the loader that the cut wrote asks for no more than [`LOADER`] gives.
fn is_like_ours(theirs: &str, shared: &str) -> Result<()> {
    let mut lines = vec![
        // Modules with imports of their own, and all of these are exports of the first part.
        "sharedImports = { __wasm_split: {  } };".to_owned(),
        format!("const __{shared} = makeLoad(() => {{"),
        format!("const src = fetch(new URL(\"./{shared}.wasm\", import.meta.url));"),
        // It waits for no other module.
        "}\n, []);".to_owned(),
    ];
    for LatePart { name, .. } in LATE {
        lines.extend([
            format!("export const {LOADING}{name} = wrapAsyncCb(makeLoad(() => {{"),
            format!("const src = fetch(new URL(\"./split_{name}.wasm\", import.meta.url));"),
        ]);
    }
    for line in lines {
        ensure!(
            theirs.contains(&line),
            "the cut's loader has no line `{line}`, so late-parts.js may not do what it does:\n{theirs}"
        );
    }
    let waits = format!("}}\n, [__{shared}]));");
    ensure!(
        theirs.matches(&waits).count() == LATE.len(),
        "each late part waits for {shared} and for nothing else, as late-parts.js has it:\n{theirs}"
    );
    Ok(())
}

/// wasm-bindgen's glue with the loader in it.
pub(super) fn join(glue: &str) -> Result<String> {
    let (mut script, names) = without_imports(glue, "./__wasm_split.js");
    ensure!(
        !names.is_empty(),
        "the glue does not import the loader of the late parts"
    );
    script.push_str(LOADER);
    let loaders = LATE.map(|part| format!("{LOADING}{}: {}", part.name, part.loader));
    let loaders = loaders.join(", ");
    // Once for each that it imports.
    for name in names {
        script.push_str(&format!("const {name} = {{ {loaders} }};\n"));
    }
    Ok(script)
}

/// The glue without the lines that import all of a module, and the names that it gives the module.
pub(super) fn without_imports(glue: &str, from: &str) -> (String, Vec<String>) {
    let end = format!(" from \"{from}\"");
    let mut imported_as = Vec::new();
    let mut script = String::with_capacity(glue.len() + LOADER.len());
    for line in glue.lines() {
        let import = line
            .strip_prefix("import * as ")
            .and_then(|rest| rest.strip_suffix(&end));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_becomes_part_of_the_glue_under_the_names_that_the_glue_imports() {
        let import = |name: &str| format!("import * as {name} from \"./__wasm_split.js\"\n");
        let glue = format!("{}{}let wasm;\n", import("import1"), import("import2"));
        let script = join(&glue).unwrap();
        let script = script.strip_prefix("let wasm;\n").unwrap();
        insta::assert_snapshot!(script.strip_prefix(LOADER).unwrap(), @r"
        const import1 = { __wasm_split_load_second: loadSecondPart, __wasm_split_load_third: loadThirdPart };
        const import2 = { __wasm_split_load_second: loadSecondPart, __wasm_split_load_third: loadThirdPart };
        ");
        assert!(join("let wasm;").is_err());
        let parts = LATE.map(|part| part.name);
        for name in parts.into_iter().chain([SHARED]) {
            let file = file_name(name);
            assert!(LOADER.contains(&format!("{{{{{file}}}}}")), "{file}");
        }
    }

    #[test]
    fn a_cut_whose_loader_does_more_than_ours_is_refused() {
        let load = |name: &str| {
            format!("const src = fetch(new URL(\"./{name}.wasm\", import.meta.url));\n}}\n")
        };
        let late = LATE.map(|LatePart { name, .. }| {
            let load = load(&format!("split_{name}"));
            format!(
                "export const __wasm_split_load_{name} = wrapAsyncCb(makeLoad(() => {{\n{load}, [__chunk_1]));\n"
            )
        });
        let theirs = format!(
            "sharedImports = {{ __wasm_split: {{  }} }};\nconst __chunk_1 = makeLoad(() => {{\n{}, []);\n{}",
            load("chunk_1"),
            late.concat(),
        );
        let check = |theirs: &str| is_like_ours(theirs, "chunk_1");
        check(&theirs).unwrap();
        assert!(check(&theirs.replace("[__chunk_1]", "[__chunk_1, __chunk_2]")).is_err());
        assert!(check(&theirs.replace("{  }", "{  }, env: {  }")).is_err());
        assert!(is_like_ours(&theirs, "chunk_2").is_err());
    }
}
