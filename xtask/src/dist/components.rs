//! The parts that a program is made of: our crates, those of others in program and page, and the libraries of the target.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use toml::{Table, Value};

use super::architecture::Architecture;
use crate::page;
use crate::project::Project;
use crate::setup::targets;
use crate::shell;

/// The C library in static programs. Rust's own copy of it is linked.
const MUSL_LICENCE: &str = include_str!("musl.txt");

/// A part of the program.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub(super) name: String,
    /// `None` if it has none that we could know.
    pub(super) version: Option<String>,
    /// An SPDX expression.
    pub(super) licence: String,
    /// The SHA-256 of its package, for a crate of the registry.
    pub(super) checksum: Option<String>,
    /// Its texts of licences.
    pub(super) texts: Texts,
    /// The parts that it uses, by their references.
    pub(super) uses: BTreeSet<String>,
}

/// Where the texts of a part's licences are.
#[derive(Clone, Debug)]
pub(super) enum Texts {
    /// In the licence of the program: the part is ours.
    Ours,
    /// In files of this folder.
    In(PathBuf),
    /// Here.
    Known(&'static str),
    /// In SPDX's list.
    OfSpdx,
}

/// All parts by their references, which are package URLs (<https://github.com/package-url/purl-spec>).
pub(super) type Components = BTreeMap<String, Component>;

/// Returns the parts of program and page, for all architectures. Cargo resolves features for the whole workspace, so a few
/// crates may be listed that only a test has.
pub(super) fn all(project: &Project) -> Result<Components> {
    let checksums = checksums(project)?;
    let mut all = Components::new();
    let programs = Architecture::ALL.map(|one| (one.target(), vec![super::PROGRAM]));
    let page = (targets::WASM.to_owned(), page::packages());
    for (target, roots) in programs.into_iter().chain([page]) {
        let metadata = MetadataCommand::new()
            .manifest_path(project.root.join("Cargo.toml"))
            .other_options(["--locked", "--filter-platform", &target].map(str::to_owned))
            .exec()
            .with_context(|| format!("reading the packages for {target}"))?;
        for (id, uses) in reached(&metadata, &roots)? {
            let package = &metadata[&id];
            let component = all
                .entry(reference(package))
                .or_insert_with(|| component(package, &checksums));
            component
                .uses
                .extend(uses.iter().map(|id| reference(&metadata[id])));
        }
    }
    all.extend(of_the_target(project)?);
    Ok(all)
}

/// Returns the packages that are compiled into these, each with those that it uses. Macros and build scripts are not in the
/// program.
fn reached(metadata: &Metadata, roots: &[&str]) -> Result<BTreeMap<PackageId, Vec<PackageId>>> {
    let resolve = metadata
        .resolve
        .as_ref()
        .context("cargo resolves a graph")?;
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let packages = metadata.workspace_packages();
    let is_root = |package: &&&Package| roots.contains(&package.name.as_str());
    let mut waiting: Vec<PackageId> = packages
        .iter()
        .filter(is_root)
        .map(|package| package.id.clone())
        .collect();
    let mut reached = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        if reached.contains_key(&id) {
            continue;
        }
        let node = nodes.get(&id).context("each package is in the graph")?;
        let linked = node.deps.iter().filter(|needed| {
            let mut kinds = needed.dep_kinds.iter();
            kinds.any(|kind| kind.kind == DependencyKind::Normal)
                && !is_macro(&metadata[&needed.pkg])
        });
        let linked: Vec<PackageId> = linked.map(|needed| needed.pkg.clone()).collect();
        waiting.extend(linked.iter().cloned());
        reached.insert(id, linked);
    }
    Ok(reached)
}

fn is_macro(package: &Package) -> bool {
    package.targets.iter().any(|target| target.is_proc_macro())
}

fn reference(package: &Package) -> String {
    // A plus sign stands for a space in parts of a URL.
    let version = package.version.to_string().replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", package.name)
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Component {
    let version = package.version.to_string();
    let licence = package.license.as_deref().unwrap_or_default();
    let canonical = spdx::Expression::canonicalize(licence).ok().flatten();
    let key = (package.name.to_string(), version);
    let texts = match (&package.source, package.manifest_path.parent()) {
        (Some(_), Some(folder)) => Texts::In(folder.into()),
        _ => Texts::Ours,
    };
    Component {
        licence: canonical.unwrap_or_else(|| licence.to_owned()),
        checksum: checksums.get(&key).cloned(),
        texts,
        uses: BTreeSet::new(),
        name: key.0,
        version: Some(key.1),
    }
}

/// Returns the checksums of all packages in Cargo.lock, by name and version.
fn checksums(project: &Project) -> Result<BTreeMap<(String, String), String>> {
    let path = project.root.join("Cargo.lock");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let lock: Table = text
        .parse()
        .with_context(|| format!("in {}", path.display()))?;
    let packages = lock.get("package").and_then(Value::as_array);
    let of = |package: &Value| {
        let text = |field: &str| Some(package.get(field)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(of).collect())
}

/// Returns the libraries that come with the compiler.
fn of_the_target(project: &Project) -> Result<[(String, Component); 2]> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = shell::read(
        Command::new(rustc)
            .arg("--version")
            .current_dir(&project.root),
    )?;
    let version = said.split_whitespace().nth(1).map(str::to_owned);
    let library = |name: &str, version, licence: &str, texts| {
        let component = Component {
            name: name.to_owned(),
            version,
            licence: licence.to_owned(),
            checksum: None,
            texts,
            uses: BTreeSet::new(),
        };
        (format!("pkg:generic/{name}"), component)
    };
    Ok([
        library("rust-std", version, "MIT OR Apache-2.0", Texts::OfSpdx),
        library("musl", None, "MIT", Texts::Known(MUSL_LICENCE)),
    ])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a part of this name and licence.
    pub(crate) fn part(name: &str, licence: &str, texts: Texts) -> (String, Component) {
        let component = Component {
            name: name.to_owned(),
            version: Some("1.0.0".to_owned()),
            licence: licence.to_owned(),
            checksum: None,
            texts,
            uses: BTreeSet::new(),
        };
        (format!("pkg:cargo/{name}@1.0.0"), component)
    }

    #[test]
    fn program_and_page_are_listed_and_what_only_tests_and_builds_need_is_not() -> Result<()> {
        let all = all(&Project::open()?)?;
        let has = |name: &str| all.values().any(|one| one.name == name);
        for needed in ["watchscope", "ring", "tokio", "leptos", "web-sys", "musl"] {
            assert!(has(needed), "{needed}");
        }
        for absent in [
            "proptest",
            "thirtyfour",
            "cc",
            "serde_derive",
            "windows-sys",
            "xtask",
        ] {
            assert!(!has(absent), "{absent}");
        }
        for (reference, one) in &all {
            assert!(
                one.uses.iter().all(|used| all.contains_key(used)),
                "{reference}"
            );
            let from_registry = matches!(one.texts, Texts::In(_));
            assert_eq!(one.checksum.is_some(), from_registry, "{reference}");
            assert!(!one.licence.is_empty(), "{reference}");
        }
        Ok(())
    }
}
