//! `dist`: static programs for Linux in archives, their image, and what belongs to them.
//!
//! ```text
//! cargo (musl, profile dist) ─► architecture.rs ─┬─► archive.rs ─► watchscope-0.1.0-linux-amd64.tar.gz, …arm64… ─┬─► krew.rs ─► watchscope.yaml
//!                                                └─► image.rs ───► image/, watchscope-0.1.0-image.tar             │
//! cargo metadata ─► components.rs ─┬─► sbom.rs ──────► watchscope-0.1.0.cdx.json ────────────────────────────────┼─► SHA256SUMS
//!                                  └─► licences.rs ──► watchscope-0.1.0-licences.txt ────────────────────────────┘
//! ```
//! Two runs at one commit write the same bytes. All times are that of the commit, and files are sorted. No program has paths of
//! this machine in it.

mod architecture;
mod archive;
mod components;
mod folder;
mod image;
mod krew;
mod licences;
mod release;
mod sbom;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

pub(crate) use self::architecture::Architecture;
use self::architecture::Program;
use self::archive::{Effort, Entries, Entry};
use self::components::Components;
use self::image::Files;
use self::krew::Download;
use self::release::Release;
use crate::page::{self, PageProfile};
use crate::project::Project;
use crate::setup::{Installs, targets};
use crate::source_paths::{self, RUSTFLAGS};
use crate::{build, shell};

/// The package with the program.
const PROGRAM: &str = "watchscope-binary";
/// The program in one line: at most 50 letters, which krew shows.
const SUMMARY: &str = "An oscilloscope for Kubernetes watches";
/// The profile of Cargo.toml.
const PROFILE: &str = "dist";
/// The folder of the image's layout.
const IMAGE: &str = "image";
/// The manifest of krew, which has the plugin's name.
const KREW: &str = "watchscope.yaml";
/// Where archives would be downloaded from, if nobody says it. No such host can exist (RFC 2606).
const NOWHERE: &str = "https://downloads.invalid";

/// What a run of `dist` is to do.
pub(crate) struct Wanted {
    /// The folder that it fills; `None` is target/files.
    pub(crate) output: Option<PathBuf>,
    /// The address of a folder with the archives, for krew's manifest.
    pub(crate) url: Option<String>,
}

/// Builds the page and a program for each architecture, makes all files of them, checks these, and prints their folder.
pub(crate) fn dist(project: &Project, installs: Installs, wanted: &Wanted) -> Result<()> {
    for architecture in Architecture::ALL {
        targets::ensure(project, installs, &architecture.target())?;
    }
    page::build(project, installs, PageProfile::Release)?;
    let mut programs = BTreeMap::new();
    for architecture in Architecture::ALL {
        let path = program(project, architecture)?;
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        programs.insert(architecture, bytes);
    }
    let output = wanted.output.clone();
    let output = output.unwrap_or_else(|| project.target().join("files"));
    let url = wanted.url.as_deref().unwrap_or(NOWHERE);
    shell::step("making archives and image", || {
        for (architecture, bytes) in &programs {
            check_program(bytes, *architecture, true)?;
        }
        let files = files(project, &programs, url, Effort::Smallest)?;
        folder::write(&output, &files)?;
        check(&output)
    })?;
    for (architecture, bytes) in programs {
        eprintln!("  {architecture}: {:.1} MB", bytes.len() as f64 / 1e6);
    }
    println!("{}", output.display());
    Ok(())
}

/// Makes the files of one program that was built for the tests, and returns their folder. `None` on a machine that we build no
/// program for.
pub(crate) fn of_tests(project: &Project, program: &Path) -> Result<Option<PathBuf>> {
    let Some(architecture) = Architecture::of_this_machine() else {
        return Ok(None);
    };
    let output = project.target().join("files-of-tests");
    shell::step("making archives and image for the tests", || {
        let bytes = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
        check_program(&bytes, architecture, false)?;
        let programs = BTreeMap::from([(architecture, bytes)]);
        let files = files(project, &programs, NOWHERE, Effort::Quick)?;
        folder::write(&output, &files)?;
        check(&output)
    })?;
    Ok(Some(output))
}

/// Checks the files in a folder: checksums, and that archives and images hold programs for their own architectures.
pub(crate) fn check(output: &Path) -> Result<()> {
    let files = folder::read(output)?;
    let at = |name: &str| format!("{}/{name}", output.display());
    let in_image = |name: &String| {
        let name = name.strip_prefix(IMAGE)?;
        name.strip_prefix('/').map(str::to_owned)
    };
    let image: Files = files
        .iter()
        .filter_map(|(name, bytes)| Some((in_image(name)?, bytes.clone())))
        .collect();
    let in_images = image::check(&image).with_context(|| at(IMAGE))?;
    let mut in_archives = Vec::new();
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".tar.gz")) {
        let tar = archive::gunzip(bytes).with_context(|| at(name))?;
        let program = archive::find(&tar, "watchscope")?;
        let program = program.with_context(|| format!("{} holds no program", at(name)))?;
        let found = Program::read(&program)
            .with_context(|| at(name))?
            .architecture;
        ensure!(
            name.contains(&format!("-linux-{found}.")),
            "{} holds a program for {found}",
            at(name)
        );
        in_archives.push(found);
    }
    ensure!(
        !in_archives.is_empty() && in_images == in_archives,
        "{} has no archive for each image",
        output.display()
    );
    Ok(())
}

/// Builds the static program for an architecture, and returns its path.
fn program(project: &Project, architecture: Architecture) -> Result<PathBuf> {
    let target = architecture.target();
    build::clear(&build::carried_page(project))?;
    let mut command = project.cargo("build");
    command.args(["--locked", "--package", PROGRAM, "--profile", PROFILE]);
    command.args(["--target", &target]);
    command.env(RUSTFLAGS, source_paths::rustflags(project, &[]));
    command.envs(targets::cross_compiler(&target));
    let what = format!("building watchscope for {architecture}");
    shell::step(&what, || shell::run(&mut command))?;
    Ok(project
        .target()
        .join(target)
        .join(PROFILE)
        .join("watchscope"))
}

/// Checks that a program is for this architecture and, where it must be, static.
fn check_program(bytes: &[u8], architecture: Architecture, must_be_static: bool) -> Result<()> {
    let program =
        Program::read(bytes).with_context(|| format!("the program for {architecture}"))?;
    ensure!(
        program.architecture == architecture,
        "the program for {architecture} is one for {}",
        program.architecture
    );
    ensure!(
        program.is_static || !must_be_static,
        "the program for {architecture} is not static: it needs a loader of the system"
    );
    Ok(())
}

/// Returns all files of a release by their paths.
fn files(
    project: &Project,
    programs: &BTreeMap<Architecture, Vec<u8>>,
    url: &str,
    effort: Effort,
) -> Result<Files> {
    let components = components::all(project)?;
    let licence = project.root.join("LICENSE");
    let licence = fs::read(&licence).with_context(|| format!("reading {}", licence.display()))?;
    assembled(
        &Release::of(project)?,
        &components,
        &licence,
        programs,
        url,
        effort,
    )
}

fn assembled(
    release: &Release,
    components: &Components,
    licence: &[u8],
    programs: &BTreeMap<Architecture, Vec<u8>>,
    url: &str,
    effort: Effort,
) -> Result<Files> {
    let stem = format!("watchscope-{}", release.version);
    let licences = licences::file(components)?.into_bytes();
    let texts = [("LICENSE", licence), ("LICENCES-OF-PARTS.txt", &licences)];
    let mut files = Files::new();
    let mut downloads = Vec::new();
    for (architecture, program) in programs {
        let folder = format!("{stem}-linux-{architecture}");
        let program_path = format!("{folder}/watchscope");
        let entry = |bytes, is_program| Entry { bytes, is_program };
        let mut entries = Entries::from([(program_path.clone(), entry(program, true))]);
        entries.extend(texts.map(|(name, text)| (format!("{folder}/{name}"), entry(text, false))));
        let packed = archive::gzip(&archive::tar(&entries, release.time_s)?, effort)?;
        let name = format!("{folder}.tar.gz");
        downloads.push(Download {
            architecture: *architecture,
            url: format!("{}/{name}", url.trim_end_matches('/')),
            checksum: page::sha256(&packed),
            program: program_path,
        });
        files.insert(name, packed);
    }
    let image = image::layout(release, programs, &texts, effort)?;
    let entries: Entries<'_> = image
        .iter()
        .map(|(name, bytes)| {
            (
                name.clone(),
                Entry {
                    bytes,
                    is_program: false,
                },
            )
        })
        .collect();
    files.insert(
        format!("{stem}-image.tar"),
        archive::tar(&entries, release.time_s)?,
    );
    files.extend(
        image
            .into_iter()
            .map(|(name, bytes)| (format!("{IMAGE}/{name}"), bytes)),
    );
    files.insert(
        format!("{stem}.cdx.json"),
        sbom::cyclonedx(release, components)?,
    );
    files.insert(format!("{stem}-licences.txt"), licences);
    files.insert(
        KREW.to_owned(),
        krew::manifest(release, &downloads).into_bytes(),
    );
    folder::add_checksums(&mut files);
    Ok(files)
}

#[cfg(test)]
mod tests;
