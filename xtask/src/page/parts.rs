//! Cuts the page's module into parts. The first part is for the first paint. Others are loaded after it, or once a
//! person opens a panel.
//!
//! `wasm_split_cli_support` follows the linker's relocations from each `#[wasm_split]` function. Code that only this
//! function reaches goes into a module of its own, which shares the first one's memory and function table. Code that
//! two of them reach and the first part does not goes into one more module.
//! The cut comes before wasm-bindgen, which sees only the first module. The few lines of JavaScript that load the other
//! modules (`late-parts.js`) become part of the glue. So they cost no file, and no files refer to each other in a
//! circle.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use wasm_split_cli_support::{Options, transform};

use super::order;
use super::sections::{without_custom_sections, without_unused_exports};

/// A part of the page that is loaded late: its name in `#[wasm_split(…)]`, and the function that loads it.
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

/// The name that the page has for the module that both late parts reach.
const SHARED: &str = "shared";
/// The beginning of the name of the first part's import that loads a part; the part's name follows.
pub(super) const LOADING: &str = "__wasm_split_load_";
/// The script that loads the late parts.
const LOADER: &str = include_str!("late-parts.js");

/// The modules that a cut makes.
pub(super) struct Parts {
    /// The path of the first part, for wasm-bindgen.
    pub(super) first: PathBuf,
    /// The other modules by their file names, finished.
    pub(super) late: Vec<(String, Vec<u8>)>,
}

/// Cuts a module that was linked with `--emit-relocs`. Intermediate files go into `folder`.
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

/// Returns the name of a late part's file.
fn file_name(part: &str) -> String {
    format!("frontend_{part}.wasm")
}

/// Checks that the loader that the cut wrote needs no more than [`LOADER`] does.
fn is_like_ours(theirs: &str, shared: &str) -> Result<()> {
    let mut lines = vec![
        // The late modules have no imports of their own beyond the first part's exports.
        "sharedImports = { __wasm_split: {  } };".to_owned(),
        format!("const __{shared} = makeLoad(() => {{"),
        format!("const src = fetch(new URL(\"./{shared}.wasm\", import.meta.url));"),
        // The shared module waits for no other module.
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

/// Returns wasm-bindgen's glue with the loader in it.
pub(super) fn join(glue: &str) -> Result<String> {
    let (mut script, names) = without_imports(glue, "./__wasm_split.js");
    ensure!(
        !names.is_empty(),
        "the glue does not import the loader of the late parts"
    );
    script.push_str(LOADER);
    let loaders = LATE.map(|part| format!("{LOADING}{}: {}", part.name, part.loader));
    let loaders = loaders.join(", ");
    // The glue imports the loader once under each of these names.
    for name in names {
        script.push_str(&format!("const {name} = {{ {loaders} }};\n"));
    }
    Ok(script)
}

/// Returns the glue without the lines that import all of a module, and the names that these lines give the module.
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
    fn the_loader_joins_the_glue_under_the_names_that_the_glue_imports() {
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
    fn a_cut_whose_loader_needs_more_than_ours_is_refused() {
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
