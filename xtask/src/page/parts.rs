//! Cuts the page's module into parts. The first part is for the first paint. Others are loaded after it, once a person
//! opens a panel, or in a worker that makes exports.
//!
//! `wasm_split_cli_support` follows the linker's relocations from each `#[wasm_split]` function. Code that only this
//! function reaches goes into a module of its own, which shares the first one's memory and function table. Code that
//! several of them reach and the first part does not goes into modules that they share: one for each set of parts.
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
    /// Whether the page in one file has it.
    pub(super) is_in_one_file: bool,
}

/// The name of the part that is loaded before all other late ones.
const SECOND: &str = "second";

pub(super) const LATE: [LatePart; 3] = [
    LatePart {
        name: SECOND,
        loader: "secondPart",
        is_in_one_file: true,
    },
    LatePart {
        name: "third",
        loader: "part(\"third\")",
        is_in_one_file: true,
    },
    LatePart {
        name: "export",
        loader: "part(\"export\")",
        is_in_one_file: false,
    },
];

/// The beginning of the name of the first part's import that loads a part; the part's name follows.
pub(super) const LOADING: &str = "__wasm_split_load_";
/// The script that loads the late parts.
const LOADER: &str = include_str!("late-parts.js");

/// The modules that a cut makes.
pub(super) struct Parts {
    /// The path of the first part, for wasm-bindgen.
    pub(super) first: PathBuf,
    /// The other modules, finished.
    pub(super) late: Vec<LateModule>,
}

/// A module that is loaded late.
pub(super) struct LateModule {
    /// The names of the parts that need it.
    of: Vec<String>,
    pub(super) bytes: Vec<u8>,
}

impl LateModule {
    /// Returns the name of the module's file.
    pub(super) fn file_name(&self) -> String {
        format!("frontend_{}.wasm", self.of.join("_"))
    }
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
    let theirs = String::from_utf8(read(&folder.join("__wasm_split.js"))?)?;
    let mut late = Vec::new();
    let mut stems = Vec::new();
    for path in &made.split_modules {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.context("the cut names its files in UTF-8")?;
        let of = parts_of(stem, &theirs)?;
        let mut bytes = read(path)?;
        if !keeps_names {
            bytes = order::by_likeness(&without_custom_sections(&bytes)?)?;
        }
        stems.push((stem, of.clone()));
        late.push(LateModule { of, bytes });
    }
    is_like_ours(&theirs, &stems)?;
    Ok(Parts { first, late })
}

/// Returns the names of the parts that need a module of the cut, by the name of its file.
fn parts_of(stem: &str, theirs: &str) -> Result<Vec<String>> {
    if let Some(name) = stem.strip_prefix("split_") {
        return Ok(vec![name.to_owned()]);
    }
    // A comment before a shared module's loader lists the parts.
    let (before, _) = theirs
        .split_once(&format!("\nconst __{stem} = "))
        .with_context(|| format!("the cut's loader does not load {stem}"))?;
    let comment = before.rsplit('\n').next().unwrap_or_default();
    let names = comment
        .strip_prefix("/* ")
        .and_then(|rest| rest.strip_suffix(" */"));
    let names = names.with_context(|| format!("the cut's loader does not say whose {stem} is"))?;
    Ok(names.split(", ").map(str::to_owned).collect())
}

/// Checks that the loader that the cut wrote needs no more than [`LOADER`] does. Each module has its file's name and
/// the parts that need it.
fn is_like_ours(theirs: &str, modules: &[(&str, Vec<String>)]) -> Result<()> {
    let shared = || {
        modules
            .iter()
            .filter(|(stem, _)| !stem.starts_with("split_"))
    };
    // The late modules have no imports of their own beyond the first part's exports.
    let mut lines = vec!["sharedImports = { __wasm_split: {  } };".to_owned()];
    for (stem, _) in shared() {
        // A shared module waits for no other module.
        lines.push(format!("const __{stem} = makeLoad(() => {{\n    const src = fetch(new URL(\"./{stem}.wasm\", import.meta.url));"));
    }
    for LatePart { name, .. } in LATE {
        lines.push(format!("export const {LOADING}{name} = wrapAsyncCb(makeLoad(() => {{\n    const src = fetch(new URL(\"./split_{name}.wasm\", import.meta.url));"));
        let needed = shared().filter(|(_, of)| of.iter().any(|part| part == name));
        let needed: Vec<String> = needed.map(|(stem, _)| format!("__{stem}")).collect();
        lines.push(format!("}}\n, [{}]));", needed.join(", ")));
    }
    for line in lines {
        ensure!(
            theirs.contains(&line),
            "the cut's loader has no line `{line}`, so late-parts.js may not do what it does:\n{theirs}"
        );
    }
    let waits = theirs.matches("}\n, []);").count();
    ensure!(
        waits == shared().count(),
        "a shared module waits for another one, which late-parts.js does not:\n{theirs}"
    );
    Ok(())
}

/// Returns wasm-bindgen's glue with the loader of these modules in it.
pub(super) fn join(glue: &str, late: &[LateModule]) -> Result<String> {
    let (mut script, names) = without_imports(glue, "./__wasm_split.js");
    ensure!(
        !names.is_empty(),
        "the glue does not import the loader of the late parts"
    );
    script.push_str(LOADER);
    script.push_str("const modules = {\n");
    for LatePart { name, .. } in LATE {
        // The second part is loaded before the others, so they add only what it lacks.
        let is_of = |module: &LateModule, part: &str| module.of.iter().any(|of| of == part);
        let of_part = late
            .iter()
            .filter(|module| is_of(module, name) && (name == SECOND || !is_of(module, SECOND)));
        let files = of_part.map(|module| format!("\"./{{{{{}}}}}\"", module.file_name()));
        let files: Vec<String> = files.collect();
        script.push_str(&format!("{name}: [{}],\n", files.join(", ")));
    }
    script.push_str("};\n");
    let loaders = LATE.map(|part| format!("{LOADING}{}: {}", part.name, part.loader));
    script.push_str(&format!("const loaders = {{ {} }};\n", loaders.join(", ")));
    // The glue imports the loader once under each of these names.
    for name in names {
        script.push_str(&format!("const {name} = loaders;\n"));
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

    fn module(of: &[&str]) -> LateModule {
        LateModule {
            of: of.iter().map(|part| (*part).to_owned()).collect(),
            bytes: Vec::new(),
        }
    }

    #[test]
    fn the_loader_joins_the_glue_under_the_names_that_the_glue_imports() {
        let import = |name: &str| format!("import * as {name} from \"./__wasm_split.js\"\n");
        let glue = format!("{}{}let wasm;\n", import("import1"), import("import2"));
        let late = [
            module(&["second"]),
            module(&["export", "second"]),
            module(&["export", "third"]),
            module(&["third"]),
            module(&["export"]),
        ];
        let script = join(&glue, &late).unwrap();
        let script = script.strip_prefix("let wasm;\n").unwrap();
        insta::assert_snapshot!(script.strip_prefix(LOADER).unwrap(), @r#"
        const modules = {
        second: ["./{{frontend_second.wasm}}", "./{{frontend_export_second.wasm}}"],
        third: ["./{{frontend_export_third.wasm}}", "./{{frontend_third.wasm}}"],
        export: ["./{{frontend_export_third.wasm}}", "./{{frontend_export.wasm}}"],
        };
        const loaders = { __wasm_split_load_second: secondPart, __wasm_split_load_third: part("third"), __wasm_split_load_export: part("export") };
        const import1 = loaders;
        const import2 = loaders;
        "#);
        assert!(join("let wasm;", &late).is_err());
    }

    #[test]
    fn a_cut_whose_loader_needs_more_than_ours_is_refused() {
        let load = |name: &str| {
            format!("    const src = fetch(new URL(\"./{name}.wasm\", import.meta.url));\n}}\n")
        };
        let late = LATE.map(|LatePart { name, .. }| {
            let load = load(&format!("split_{name}"));
            format!(
                "export const __wasm_split_load_{name} = wrapAsyncCb(makeLoad(() => {{\n{load}, [__chunk_1]));\n"
            )
        });
        let theirs = format!(
            "sharedImports = {{ __wasm_split: {{  }} }};\n/* export, second, third */\nconst __chunk_1 = makeLoad(() => {{\n{}, []);\n{}",
            load("chunk_1"),
            late.concat(),
        );
        let all = parts_of("chunk_1", &theirs).unwrap();
        assert_eq!(all, ["export", "second", "third"]);
        let check = |theirs: &str| is_like_ours(theirs, &[("chunk_1", all.clone())]);
        check(&theirs).unwrap();
        assert!(check(&theirs.replace("[__chunk_1]", "[__chunk_1, __chunk_2]")).is_err());
        assert!(check(&theirs.replace(", []);", ", [__chunk_2]);")).is_err());
        assert!(check(&theirs.replace("{  }", "{  }, env: {  }")).is_err());
        assert!(is_like_ours(&theirs, &[("chunk_2", all.clone())]).is_err());
        assert!(parts_of("chunk_2", &theirs).is_err());
    }
}
