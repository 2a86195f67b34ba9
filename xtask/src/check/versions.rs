//! Checks that the pinned toolchain, the stated minimum and the manifests of all crates agree, and that a library
//! behaves the same in every build.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};
use toml::Table;

use crate::project::Project;
use crate::violation::Violation;

/// Features that change the behaviour of a library, rather than only add to it.
const BEHAVIOUR: &[(&str, &[&str])] = &[(
    "serde_json",
    &["arbitrary_precision", "float_roundtrip", "preserve_order"],
)];

/// Returns every disagreement in the checkout.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let read = |path: &std::path::Path| -> Result<Table> {
        fs::read_to_string(path)
            .with_context(|| format!("reading {}", path.display()))?
            .parse()
            .with_context(|| format!("in {}", path.display()))
    };
    let toolchain = read(&project.root.join("rust-toolchain.toml"))?;
    let workspace = read(&project.root.join("Cargo.toml"))?;
    let mut broken: Vec<Violation> = toolchain_fits(&toolchain, &workspace).into_iter().collect();
    let resolve = project
        .metadata
        .resolve
        .as_ref()
        .context("`cargo metadata` resolved no dependency graph")?;
    for (library, features) in BEHAVIOUR {
        let unified: BTreeSet<&str> = project
            .metadata
            .packages
            .iter()
            .filter(|package| package.name.as_str() == *library)
            .filter_map(|package| resolve.nodes.iter().find(|node| node.id == package.id))
            .flat_map(|node| node.features.iter().map(|feature| feature.as_str()))
            .filter(|feature| features.contains(feature))
            .collect();
        broken.extend(same_in_every_build(library, &unified, &workspace));
    }
    for package in project.metadata.workspace_packages() {
        let manifest = read(package.manifest_path.as_std_path())?;
        broken.extend(inherits(package.name.as_str(), &manifest));
    }
    Ok(broken)
}

/// Checks that `rust-version` is the pinned channel: no older release ever compiles this code, so none is promised.
fn toolchain_fits(toolchain: &Table, workspace: &Table) -> Option<Violation> {
    let text = |table: &Table, keys: &[&str]| {
        let (last, tables) = keys.split_last()?;
        let mut table = table;
        for key in tables {
            table = table.get(*key)?.as_table()?;
        }
        Some(table.get(*last)?.as_str()?.to_owned())
    };
    let nothing = || "nothing".to_owned();
    let channel = text(toolchain, &["toolchain", "channel"]).unwrap_or_else(nothing);
    let promised =
        text(workspace, &["workspace", "package", "rust-version"]).unwrap_or_else(nothing);
    let agree = channel
        .strip_prefix(promised.as_str())
        .is_some_and(|patch| patch.is_empty() || patch.starts_with('.'));
    (!agree).then(|| Violation {
        place: "Cargo.toml".to_owned(),
        problem: format!(
            "promises rust-version {promised}, but rust-toolchain.toml pins {channel}"
        ),
        remedy: "set both to the same release".to_owned(),
    })
}

/// Checks that a library has the same features in every build. Cargo gives a library the features that all crates of
/// one build want. A feature that only a crate of tests wants would make the tests another program than the binary.
fn same_in_every_build(
    library: &str,
    unified: &BTreeSet<&str>,
    workspace: &Table,
) -> Option<Violation> {
    let declared: BTreeSet<&str> = workspace
        .get("workspace")
        .and_then(|table| {
            table
                .get("dependencies")?
                .get(library)?
                .get("features")?
                .as_array()
        })
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_str)
        .collect();
    let only_sometimes: Vec<&str> = unified.difference(&declared).copied().collect();
    (!only_sometimes.is_empty()).then(|| Violation {
        place: "Cargo.toml".to_owned(),
        problem: format!(
            "{library} has {} in builds of the whole workspace only",
            only_sometimes.join(", ")
        ),
        remedy: "declare it in [workspace.dependencies], for every build".to_owned(),
    })
}

/// Checks what every crate must take from the workspace, so that each value is set in one place.
fn inherits(name: &str, manifest: &Table) -> Vec<Violation> {
    let from_workspace = |table: &str, key: Option<&str>| {
        let value = manifest.get(table);
        let value = key.map_or(value, |key| value.and_then(|table| table.get(key)));
        value
            .and_then(|value| value.get("workspace"))
            .and_then(toml::Value::as_bool)
            == Some(true)
    };
    [
        ("lints", None, "[lints] workspace = true"),
        (
            "package",
            Some("rust-version"),
            "rust-version.workspace = true",
        ),
        ("package", Some("license"), "license.workspace = true"),
        ("package", Some("edition"), "edition.workspace = true"),
    ]
    .into_iter()
    .filter(|(table, key, _)| !from_workspace(table, *key))
    .map(|(_, _, line)| Violation {
        place: name.to_owned(),
        problem: "departs from the workspace".to_owned(),
        remedy: format!("put `{line}` into its Cargo.toml"),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(channel: &str, promised: &str) -> Option<String> {
        let toolchain = format!("[toolchain]\nchannel = \"{channel}\"")
            .parse()
            .unwrap();
        let workspace = format!("[workspace.package]\nrust-version = \"{promised}\"")
            .parse()
            .unwrap();
        toolchain_fits(&toolchain, &workspace).map(|violation| violation.to_string())
    }

    #[test]
    fn the_promise_is_the_pinned_release() {
        assert_eq!(fits("1.95.0", "1.95"), None);
        assert_eq!(fits("1.95.0", "1.95.0"), None);
        insta::assert_snapshot!(fits("1.95.0", "1.9").unwrap(), @"Cargo.toml: promises rust-version 1.9, but rust-toolchain.toml pins 1.95.0; set both to the same release");
        assert!(fits("1.96.0", "1.95").is_some());
    }

    #[test]
    fn a_feature_that_only_the_tests_have_is_named() {
        let judge = |features: &str| {
            let workspace = format!("[workspace.dependencies.serde_json]\nfeatures = [{features}]");
            let unified = ["preserve_order"].into();
            same_in_every_build("serde_json", &unified, &workspace.parse().unwrap())
                .map(|violation| violation.to_string())
        };
        assert_eq!(judge(r#""std", "preserve_order""#), None);
        insta::assert_snapshot!(judge(r#""std""#).unwrap(), @"Cargo.toml: serde_json has preserve_order in builds of the whole workspace only; declare it in [workspace.dependencies], for every build");
    }

    #[test]
    fn a_crate_with_lints_of_its_own_is_named() {
        let manifest = "[package]\nrust-version.workspace = true\nlicense.workspace = true\nedition = \"2021\"\n[lints.rust]\nunsafe_code = \"allow\"";
        let broken: Vec<String> = inherits("thing", &manifest.parse().unwrap())
            .iter()
            .map(Violation::to_string)
            .collect();
        insta::assert_snapshot!(broken.join("\n"), @r"
        thing: departs from the workspace; put `[lints] workspace = true` into its Cargo.toml
        thing: departs from the workspace; put `edition.workspace = true` into its Cargo.toml
        ");
    }
}
