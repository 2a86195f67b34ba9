//! `package`: packs the program's crates together, with the page in the program's own. Nothing is uploaded.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::Package;
use flate2::read::GzDecoder;
use toml::{Table, Value};

use crate::page::{self, PageProfile};
use crate::project::Project;
use crate::setup::Installs;
use crate::{build, shell};

/// The package with the program, which has the page in it.
const PROGRAM: &str = "watchscope-binary";
/// The field of a package in Cargo.lock that says where the package comes from, and that of its checksum.
const FROM_A_REGISTRY: [&str; 2] = ["source", "checksum"];

/// Builds the page, packs it with all crates of the program, and prints the paths of the packages. The arguments go to
/// `cargo package`, which refuses a checkout with changes unless `--allow-dirty` is among them.
pub(crate) fn package(project: &Project, installs: Installs, arguments: &[String]) -> Result<()> {
    page::build(project, installs, PageProfile::Release)?;
    for package in pack(project, arguments)? {
        println!("{}", package.display());
    }
    Ok(())
}

/// Packs the crates with the page that lies in dist/, and returns the paths of the packages.
fn pack(project: &Project, arguments: &[String]) -> Result<Vec<PathBuf>> {
    let packages = published(project);
    let mut command = project.cargo_on("package", packages.iter().map(|package| &**package.name));
    // Without --offline cargo would read the registry's index anew for each of the packages. All that they need is here:
    // the page was built from it.
    command.args(["--no-verify", "--offline"]).args(arguments);
    let page = CarriedPage::put(project)?;
    let packed = shell::step("packing the crates", || shell::run(&mut command));
    page.take_away()?;
    packed?;
    let folder = project.target().join("package");
    let names = packages.iter().map(|package| folder_of(package) + ".crate");
    Ok(names.map(|name| folder.join(name)).collect())
}

/// Returns the packages that could be published: the program, its library, and the shared crates.
fn published(project: &Project) -> Vec<&Package> {
    let all = project.metadata.workspace_packages();
    let may_be = |package: &&Package| package.publish.as_ref().is_none_or(|to| !to.is_empty());
    all.into_iter().filter(may_be).collect()
}

/// Returns the folder in a package, which names the package and its version.
fn folder_of(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

/// The page in the folder of the program's package, where `binary/build.rs` looks first. It lies there only while cargo packs,
/// so that no other build takes it for the page of dist/.
struct CarriedPage {
    folder: PathBuf,
}

impl CarriedPage {
    /// Copies what the program embeds: the compressed form of each file.
    fn put(project: &Project) -> Result<Self> {
        let page = Self {
            folder: build::carried_page(project),
        };
        page.take_away()?;
        let dist = project.dist();
        let entries = fs::read_dir(&dist).with_context(|| format!("reading {}", dist.display()))?;
        let mut count = 0;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "gz") {
                let name = path.file_name().context("a file has a name")?;
                fs::copy(&path, page.folder.join(name))
                    .with_context(|| format!("copying {}", path.display()))?;
                count += 1;
            }
        }
        ensure!(count > 0, "{} holds no page", dist.display());
        Ok(page)
    }

    fn take_away(&self) -> Result<()> {
        build::clear(&self.folder)
    }
}

/// Installs the program from the packages as a person would who has no checkout, into a folder in target/, and returns the
/// program's path. The packages are unpacked outside the checkout. They are in no registry, so cargo takes each of ours from
/// its folder.
pub(crate) fn install_elsewhere(project: &Project) -> Result<PathBuf> {
    let packages = pack(project, &["--allow-dirty".to_owned()])?;
    let outside = tempfile::tempdir().context("making a folder outside the checkout")?;
    let outside = outside.path();
    let mut program = None;
    let mut patches = Vec::new();
    for (package, path) in published(project).iter().zip(packages) {
        unpack(&path, outside)?;
        let folder = outside.join(folder_of(package));
        if package.name.as_str() == PROGRAM {
            program = Some(folder);
        } else {
            patches.push((package.name.to_string(), folder));
        }
    }
    let program = program.with_context(|| format!("{PROGRAM} is packed"))?;
    let lock = program.join("Cargo.lock");
    let text = fs::read_to_string(&lock).with_context(|| format!("reading {}", lock.display()))?;
    fs::write(&lock, with_folders(&text, &patches)?)?;

    let root = project.target().join("packaged");
    let mut command = crate::project::cargo(outside, "install");
    command.args(["--debug", "--locked", "--offline", "--force", "--path"]);
    command.arg(&program).arg("--root").arg(&root);
    command.arg("--target-dir").arg(root.join("target"));
    for (name, folder) in &patches {
        command.arg("--config").arg(patch(name, folder));
    }
    // This one names a script by its path in the checkout.
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    shell::step("installing watchscope from its packages", || {
        shell::run(&mut command)
    })?;
    Ok(build::program_in(root.join("bin")))
}

fn unpack(package: &Path, folder: &Path) -> Result<()> {
    let file = File::open(package).with_context(|| format!("opening {}", package.display()))?;
    tar::Archive::new(GzDecoder::new(file))
        .unpack(folder)
        .with_context(|| format!("unpacking {}", package.display()))
}

/// Returns cargo's option that takes a package from a folder.
fn patch(name: &str, folder: &Path) -> OsString {
    let folder = Value::from(folder.to_string_lossy().into_owned());
    format!("patch.crates-io.{name}.path={folder}").into()
}

/// Returns a Cargo.lock in which these packages come from folders: no registry and no checksum. All others stay as locked.
fn with_folders(lock: &str, patches: &[(String, PathBuf)]) -> Result<String> {
    let mut lock: Table = lock.parse().context("reading a Cargo.lock")?;
    let packages = lock.get_mut("package").and_then(Value::as_array_mut);
    for package in packages.context("a Cargo.lock lists packages")? {
        let package = package.as_table_mut().context("a package is a table")?;
        let name = package.get("name").and_then(Value::as_str);
        if patches.iter().any(|(ours, _)| name == Some(ours)) {
            for field in FROM_A_REGISTRY {
                package.remove(field);
            }
        }
    }
    Ok(toml::to_string(&lock)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_packages_come_from_folders() -> Result<()> {
        let lock = "version = 4\n[[package]]\nname = \"ours\"\nversion = \"1.0.0\"\nsource = \"registry\"\nchecksum = \"12\"\n[[package]]\nname = \"theirs\"\nversion = \"2.0.0\"\nsource = \"registry\"\nchecksum = \"34\"\n";
        let patches = [("ours".to_owned(), PathBuf::from("/a \"b\""))];
        insta::assert_snapshot!(with_folders(lock, &patches)?, @r#"
        version = 4

        [[package]]
        name = "ours"
        version = "1.0.0"

        [[package]]
        checksum = "34"
        name = "theirs"
        source = "registry"
        version = "2.0.0"
        "#);
        Ok(())
    }

    #[test]
    fn the_program_its_library_and_the_shared_crates_are_packed() -> Result<()> {
        let project = Project::open()?;
        let packed: Vec<&str> = published(&project)
            .iter()
            .map(|p| p.name.as_str())
            .collect();
        assert!(packed.contains(&PROGRAM) && packed.contains(&"watchscope"));
        let needed = |package: &Package| {
            let ours = package
                .dependencies
                .iter()
                .filter(|needed| needed.path.is_some());
            ours.map(|needed| (needed.name.clone(), needed.req.to_string()))
                .collect::<Vec<_>>()
        };
        for package in published(&project) {
            for (name, version) in needed(package) {
                // A package that is not packed may only be needed for tests, which a package does without.
                assert_eq!(
                    packed.contains(&name.as_str()),
                    version != "*",
                    "{} needs {name} {version}",
                    package.name
                );
            }
        }
        Ok(())
    }
}
