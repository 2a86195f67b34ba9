//! What goes to users: the program installed from packages, and the archive and image that are made of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tempfile::TempDir;
use watchscope_tests::page_weight::needed_first;
use watchscope_tests::{Missing, WatchscopeBinary, finish, or_skip, project_root};

use crate::browser::has_page;
use crate::http;

const LONG: Duration = Duration::from_secs(60);
const LABEL: &str = "org.opencontainers.image";

/// Returns the path that `cargo xtask test` gives in a variable.
fn given(variable: &str, what: &str, task: &str) -> Result<PathBuf, Missing> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.exists()).ok_or_else(|| Missing {
        what: format!("{what} in {variable}"),
        install: format!("it by running `{task}`"),
    })
}

/// Finds the program that was installed from packages outside the checkout.
fn installed() -> Result<WatchscopeBinary, Missing> {
    let task = "cargo xtask test --long";
    let path = given(
        "WATCHSCOPE_TEST_PACKAGED",
        "the program from packages",
        task,
    )?;
    Ok(WatchscopeBinary::at(&path))
}

/// Finds the folder that `cargo xtask dist` fills, here with a program of the development profile.
fn files() -> Result<PathBuf, Missing> {
    given(
        "WATCHSCOPE_TEST_FILES",
        "archive and image",
        "cargo xtask test",
    )
}

async fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    finish(command, b"", LONG).await?.success()
}

/// Returns the commit of the checkout; without Git there is none.
async fn commit() -> Result<Option<String>> {
    let said = run("git", &["rev-parse", "HEAD"], project_root()).await;
    Ok(said.ok().map(|said| said.trim().to_owned()))
}

/// Returns what a program says about its build.
async fn build_of(program: &WatchscopeBinary) -> Result<Value> {
    let said = program.with(&["version", "-o", "json"]).run(LONG).await?;
    Ok(serde_json::from_str(&said.success()?)?)
}

#[tokio::test]
#[ignore = "every dependency is compiled again for it: cargo xtask test --long"]
async fn a_program_installed_from_packages_has_the_page_and_names_its_commit() -> Result<()> {
    let program = or_skip!(installed());
    // No repository holds the unpacked folder, so the commit can only be that of `.cargo_vcs_info.json`.
    assert_eq!(
        build_of(&program).await?["commit"].as_str(),
        commit().await?.as_deref()
    );

    let (_watchscope, link) = program.with(&["demo"]).serve().await?;
    has_page(&link).await?;
    let document = http::get(link.origin(), "/", &[]).await?.body;
    for path in needed_first(&document) {
        let answer = http::get(link.origin(), &path, &[]).await?;
        assert_eq!(answer.status, 200, "{path}");
    }
    Ok(())
}

/// The image of a folder of files.
struct Image(PathBuf);

impl Image {
    fn read(&self, name: &str) -> Result<Value> {
        let path = self.0.join(name);
        let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    fn path_of(reference: &Value) -> Result<String> {
        let digest = reference["digest"].as_str().context("a digest")?;
        Ok(format!("blobs/{}", digest.replace(':', "/")))
    }

    /// Returns the part that a reference leads to.
    fn follow(&self, reference: &Value) -> Result<Value> {
        self.read(&Self::path_of(reference)?)
    }

    /// Returns the only image's manifest and configuration.
    fn only(&self) -> Result<(Value, Value)> {
        let all = self.follow(&self.read("index.json")?["manifests"][0])?;
        let reference = &all["manifests"][0];
        let manifest = self.follow(reference)?;
        let config = self.follow(&manifest["config"])?;
        assert_eq!(all["manifests"].as_array().map(Vec::len), Some(1));
        assert_eq!(reference["platform"]["os"], "linux");
        assert_eq!(
            reference["platform"]["architecture"],
            config["architecture"]
        );
        Ok((manifest, config))
    }
}

/// Unpacks an archive with the tool that users have, into a folder of its own.
async fn unpacked(archive: &Path) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let archive = archive.to_str().context("UTF-8")?;
    run("tar", &["-xzf", archive], folder.path()).await?;
    Ok(folder)
}

#[tokio::test]
async fn archive_and_image_have_the_program_with_checksums_labels_and_licences() -> Result<()> {
    let files = or_skip!(files());
    run("sha256sum", &["--check", "--strict", "SHA256SUMS"], &files).await?;
    let version = env!("CARGO_PKG_VERSION");
    let image = Image(files.join("image"));
    assert_eq!(image.read("oci-layout")?["imageLayoutVersion"], "1.0.0");
    let (manifest, config) = image.only()?;
    assert_eq!(config["os"], "linux");
    let run_as = &config["config"];
    assert_eq!(run_as["User"], "65532:65532");
    assert_eq!(run_as["Entrypoint"][0], "/usr/bin/watchscope");
    let label = |name: &str| run_as["Labels"][format!("{LABEL}.{name}")].as_str();
    assert_eq!(label("version"), Some(version));
    assert_eq!(label("revision"), commit().await?.as_deref());
    assert_eq!(label("licenses"), Some("Apache-2.0"));

    // The kubelet starts the program of the layer; other users unpack that of the archive.
    assert_eq!(manifest["layers"].as_array().map(Vec::len), Some(1));
    let layer = unpacked(&image.0.join(Image::path_of(&manifest["layers"][0])?)).await?;
    let architecture = config["architecture"].as_str().context("a name")?;
    let stem = format!("watchscope-{version}-linux-{architecture}");
    let archive = unpacked(&files.join(format!("{stem}.tar.gz"))).await?;
    for program in [
        layer.path().join("usr/bin/watchscope"),
        archive.path().join(&stem).join("watchscope"),
    ] {
        let build = build_of(&WatchscopeBinary::at(&program)).await?;
        assert_eq!(build["version"], version);
        assert_eq!(build["commit"].as_str(), label("revision"));
    }
    let licences = archive.path().join(stem).join("LICENCES-OF-PARTS.txt");
    let licences = fs::read_to_string(licences)?;
    assert_eq!(
        licences,
        fs::read_to_string(files.join(format!("watchscope-{version}-licences.txt")))?
    );
    for part in ["ring 0.", "musl: MIT", "SIL OPEN FONT LICENSE"] {
        assert!(licences.contains(part), "{part}");
    }
    Ok(())
}

#[tokio::test]
async fn krew_finds_the_archive_by_its_checksum_and_the_parts_are_listed() -> Result<()> {
    let files = or_skip!(files());
    let sums = fs::read_to_string(files.join("SHA256SUMS"))?;
    let archives: Vec<(&str, &str)> = sums
        .lines()
        .filter_map(|line| line.split_once("  "))
        .filter(|(_, name)| name.ends_with(".tar.gz"))
        .collect();
    let manifest = fs::read_to_string(files.join("watchscope.yaml"))?;
    assert_eq!(archives.len(), 1);
    for (sum, name) in archives {
        assert!(
            manifest.contains(sum) && manifest.contains(name),
            "{manifest}"
        );
    }

    let version = env!("CARGO_PKG_VERSION");
    let list = fs::read(files.join(format!("watchscope-{version}.cdx.json")))?;
    let list: Value = serde_json::from_slice(&list)?;
    let parts = list["components"].as_array().context("parts")?;
    let tokio = parts.iter().find(|part| part["name"] == "tokio");
    let tokio = tokio.context("tokio is a part")?;
    assert_eq!(tokio["licenses"][0]["expression"], "MIT");
    assert_eq!(tokio["hashes"][0]["alg"], "SHA-256");
    Ok(())
}
