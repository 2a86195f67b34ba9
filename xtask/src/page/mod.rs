//! Builds the page into dist/, where the backend's build embeds it. The page is `frontend/app` and its workers compiled
//! to wasm, their JavaScript glue, and the files of assets/. Names carry a hash of the content.
//!
//! ```text
//! frontend/app ─► cargo (wasm32) ─► parts.rs ─┬─► wasm-bindgen ─► glue.rs ─► frontend.js, frontend_bg.wasm ─┐
//!                                             └─► frontend_second.wasm, …third.wasm, …export.wasm … ───────┤
//! frontend/lesson-worker ─► cargo (wasm32) ─► wasm-bindgen ─► glue.rs ─► lesson.js, lesson_bg.wasm ────────┤
//! frontend/recording-worker ─► the same ─► recording.js, recording_bg.wasm ────────────────────────────────┤
//! frontend/unpacker ─► the same ─► for the page in one file alone ─────────────────────────────────────────┤
//! assets/index.html with boot.js and styles.css in it; panels.css, findings.json … ────────────────────────┤
//! shared/scenarios/src/lessons/texts/*.json ─► lesson_texts.rs ────────────────────────────────────────────┤
//! docs/findings/F01.svg … ─────────────────────────────────────────────────────────────────────────────────┴─► names.rs ─► dist.rs
//! ```
//! `single.rs` makes one more file of these, single.html: the whole page in one file, as the template of an export.
//! wasm-bindgen runs in this process, so its version always fits (cargo resolves one for both).
//! Scripts and styles lose comments and indentation. wasm-opt is not used: it saved 3 %, and two of four settings broke
//! the page without an error.

mod bundle;
mod dist;
mod glue;
mod lesson_texts;
mod names;
mod order;
mod packed;
mod parts;
mod sections;
#[path = "../../../shared/export/src/seven_bits.rs"]
mod seven_bits;
mod single;
mod uncut;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

pub(crate) use self::dist::{KEPT, quick_gzip, smallest_gzip};
pub(crate) use self::names::{hex, sha256};

use crate::project::{PAGE as APP, Project};
use crate::setup::{Installs, targets};
use crate::shell;
use crate::source_paths::{self, RUSTFLAGS};

/// The modules beside the page: their packages, and the stem of each one's files.
const MODULES: [(&str, &str); 3] = [
    ("watchscope-lesson-worker", "lesson"),
    ("watchscope-recording-worker", "recording"),
    ("watchscope-unpacker", "unpacker"),
];
/// With this flag Leptos has one type for all elements, instead of one for each shape of a view; the page gets 4 %
/// smaller. All builds for wasm32 have the flag, so that they share compiled crates.
const FLAGS: [&str; 2] = ["--cfg", "erase_components"];
const DIGESTS: &str = "watchscope-story-digests";
/// If this variable is set, the page keeps the names of its functions, for a profile; it is then far larger.
const KEEP_NAMES: &str = "WATCHSCOPE_PAGE_NAMES";

/// The profile that compiles the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageProfile {
    /// Quick to build, with names in stack traces.
    Dev,
    /// Optimised for size.
    Release,
}

/// Returns all packages that are compiled into the page.
pub(crate) fn packages() -> Vec<&'static str> {
    let modules = MODULES.iter().map(|(package, _)| *package);
    modules.chain([APP]).collect()
}

/// Compiles the page and writes it into dist/.
pub(crate) fn build(project: &Project, installs: Installs, profile: PageProfile) -> Result<()> {
    targets::ensure(project, installs, targets::WASM)?;
    let cargo_profile = match profile {
        PageProfile::Dev => "dev",
        PageProfile::Release => "wasm-release",
    };
    shell::step("building the page", || {
        // The cut into parts follows relocations. Only the last step gets the flag, so that `cargo check` and other
        // builds for wasm32 share what is compiled before it.
        let flags = source_paths::rustflags(project, &FLAGS);
        shell::run(project.cargo("rustc").env(RUSTFLAGS, flags).args([
            "--package",
            APP,
            "--bin",
            APP,
            "--target",
            targets::WASM,
            "--profile",
            cargo_profile,
            "--",
            "-Clink-arg=--emit-relocs",
        ]))
    })?;
    // A call for each module: none gets a feature that another wants of a shared crate.
    for (package, name) in MODULES {
        shell::step(&format!("building the module {name}"), || {
            shell::run(&mut module(project, package, cargo_profile))
        })?;
    }
    let folder = match profile {
        PageProfile::Dev => "debug",
        PageProfile::Release => "wasm-release",
    };
    let folder = project.target().join(targets::WASM).join(folder);
    shell::step("putting the page into dist/", || {
        let mut files = assets(&project.root.join("assets"))?;
        files.extend(pictures(&project.root.join("docs/findings"))?);
        let texts = project.root.join("shared/scenarios/src/lessons/texts");
        files.extend(lesson_texts::files(&texts)?);
        if profile == PageProfile::Release {
            shorten(&mut files)?;
        }
        let module = folder.join(format!("{APP}.wasm"));
        let parts = parts::cut(&module, &folder.join("page-parts"), keeps_names(profile))?;
        files.extend(bind(parts, profile)?);
        let uncut = uncut::uncut(&module, &folder.join("page-parts/uncut"))?;
        let whole = bind_uncut(&uncut, profile)?;
        for (package, name) in MODULES {
            let (script, module) = bind_alone(&folder, package, name, profile)?;
            let script = names::Source::Finished(script.into());
            files.insert(format!("{name}.js"), script);
            let module = names::Source::Finished(module);
            files.insert(format!("{name}_bg.wasm"), module);
        }
        single::add(&mut files, &whole, &folder.join("page-parts"))?;
        let page = names::assemble(files)?;
        let written = dist::write(&project.dist(), &page)?;
        eprintln!(
            "  {} files, {:.1} kB gzip in all, {}",
            page.len(),
            written.gzip_bytes as f64 / 1000.0,
            if written.changed {
                "changed"
            } else {
                "as before"
            }
        );
        Ok(())
    })
}

/// Compiles the stories' digests with the workers' flags into a folder, and returns the folder. They are no part of the
/// page.
pub(crate) fn build_digests(project: &Project, installs: Installs) -> Result<PathBuf> {
    targets::ensure(project, installs, targets::WASM)?;
    shell::step("building the stories for the browser", || {
        shell::run(&mut module(project, DIGESTS, "wasm-release"))?;
        let built = project.target().join(targets::WASM).join("wasm-release");
        let (script, module) = bind_alone(&built, DIGESTS, "digests", PageProfile::Release)?;
        let folder = built.join("story-digests");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("digests.js"), script)?;
        fs::write(folder.join("digests_bg.wasm"), module)?;
        Ok(folder)
    })
}

/// Returns the command that compiles a module that stands alone.
fn module(project: &Project, package: &str, cargo_profile: &str) -> Command {
    let mut command = project.cargo("build");
    command.env(RUSTFLAGS, source_paths::rustflags(project, &FLAGS));
    command.args(["--package", package, "--lib", "--target", targets::WASM]);
    command.args(["--profile", cargo_profile]);
    command
}

/// Removes comments and indentation from scripts and styles.
fn shorten(files: &mut BTreeMap<String, names::Source>) -> Result<()> {
    for (name, source) in files {
        if let names::Source::Template(text) = source
            && [".js", ".css"].iter().any(|end| name.ends_with(end))
        {
            *text = glue::Names::default().shorten(text)?;
        }
    }
    Ok(())
}

/// Whether functions keep their names, for stack traces and profiles.
fn keeps_names(profile: PageProfile) -> bool {
    profile == PageProfile::Dev || std::env::var_os(KEEP_NAMES).is_some()
}

/// Returns the JavaScript glue and the parts that it loads.
fn bind(parts: parts::Parts, profile: PageProfile) -> Result<BTreeMap<String, names::Source>> {
    let mut bindgen = bindgen(&parts.first, "frontend", profile)?;
    // The late parts link to these exports.
    bindgen.keep_lld_exports(true);
    let (script, mut first) = glue_of(bindgen, profile, |glue| parts::join(glue, &parts.late))?;
    if !keeps_names(profile) {
        first = order::by_likeness(&sections::without_custom_sections(&first)?)?;
    }
    let mut files = BTreeMap::from([
        // The glue names the files of the late parts, so it is a template.
        ("frontend.js".to_owned(), names::Source::Template(script)),
        (
            "frontend_bg.wasm".to_owned(),
            names::Source::Finished(first),
        ),
    ]);
    let late = parts.late.into_iter();
    files.extend(late.map(|part| (part.file_name(), names::Source::Finished(part.bytes))));
    Ok(files)
}

/// Returns the glue and the module of the page in one file.
fn bind_uncut(uncut: &uncut::Uncut, profile: PageProfile) -> Result<single::Whole> {
    let mut bindgen = bindgen(&uncut.module, "frontend", profile)?;
    // The function table is among these exports.
    bindgen.keep_lld_exports(true);
    let (script, mut module) = glue_of(bindgen, profile, |glue| uncut.join(glue))?;
    if !keeps_names(profile) {
        module = order::by_likeness(&sections::without_custom_sections(&module)?)?;
    }
    Ok(single::Whole { script, module })
}

/// Returns the glue of a module that stands alone, and the module.
fn bind_alone(
    folder: &Path,
    package: &str,
    name: &str,
    profile: PageProfile,
) -> Result<(String, Vec<u8>)> {
    let module = folder.join(format!("{}.wasm", package.replace('-', "_")));
    let bindgen = bindgen(&module, name, profile)?;
    glue_of(bindgen, profile, |glue| Ok(glue.to_owned()))
}

fn bindgen(module: &Path, name: &str, profile: PageProfile) -> Result<Bindgen> {
    let release = profile == PageProfile::Release;
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .out_name(name)
        .web(true)?
        .typescript(false)
        .debug(!release)
        .remove_name_section(!keeps_names(profile))
        .remove_producers_section(release);
    Ok(bindgen)
}

/// Returns a module's JavaScript, with what `join` adds to it, and the module that fits it.
fn glue_of(
    mut bindgen: Bindgen,
    profile: PageProfile,
    join: impl FnOnce(&str) -> Result<String>,
) -> Result<(String, Vec<u8>)> {
    let mut output = bindgen
        .generate_output()
        .context("making the JavaScript of a module")?;
    // `js()` does not hold these scripts, so the page would load without them and fail later. Every crate with bindings
    // is listed; those without JavaScript of their own have an empty list.
    let foreign: Vec<&String> = output
        .snippets()
        .iter()
        .filter(|(_, inline)| !inline.is_empty())
        .map(|(name, _)| name)
        .chain(output.local_modules().keys())
        .collect();
    ensure!(
        foreign.is_empty(),
        "crates of the page bring JavaScript of their own ({foreign:?}), which the page build does not carry: do without it"
    );
    let mut script = join(&glue::without_unused_classes(output.js())?)?;
    if profile == PageProfile::Release {
        let mut names = glue::Names::of_glue();
        for import in output.wasm_mut().imports.iter_mut() {
            import.name = names.of(&import.name);
        }
        for export in output.wasm_mut().exports.iter_mut() {
            export.name = names.of_export(&export.name);
        }
        script = names.shorten(&script)?;
    }
    Ok((script, output.wasm_mut().emit_wasm()))
}

/// Returns the pictures of the failures, which findings.json refers to.
fn pictures(folder: &Path) -> Result<BTreeMap<String, names::Source>> {
    let mut files = assets(folder)?;
    files.retain(|name, _| name.ends_with(".svg"));
    Ok(files)
}

/// Returns the files of assets/ that belong to the page. Folders and files of other kinds are left out.
fn assets(folder: &Path) -> Result<BTreeMap<String, names::Source>> {
    const TEXT: [&str; 6] = ["css", "html", "js", "json", "svg", "webmanifest"];
    const BINARY: [&str; 4] = ["ico", "png", "wasm", "woff2"];
    let mut files = BTreeMap::new();
    let entries = fs::read_dir(folder)
        .with_context(|| format!("reading the page's files in {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let (Some(name), Some(extension)) = (
            path.file_name().and_then(|name| name.to_str()),
            path.extension().and_then(|extension| extension.to_str()),
        ) else {
            continue;
        };
        let read = || fs::read(&path).with_context(|| format!("reading {}", path.display()));
        let source = if TEXT.contains(&extension) {
            let text = String::from_utf8(read()?)
                .with_context(|| format!("{} is not UTF-8", path.display()))?;
            names::Source::Template(text)
        } else if BINARY.contains(&extension) {
            names::Source::Finished(read()?)
        } else {
            continue;
        };
        files.insert(name.to_owned(), source);
    }
    Ok(files)
}
