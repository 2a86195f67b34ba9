//! Flags of rustc by which a compiled program names its sources by the same paths on every machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use crate::project::Project;

/// The environment variable from which cargo takes flags of rustc. A build with `--target` uses them for what it compiles
/// for that target alone.
pub(crate) const RUSTFLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";
/// Stands between two flags of [`RUSTFLAGS`].
const BETWEEN: &str = "\u{1f}";

/// Returns these flags of rustc, and one for each folder with sources that has another path on another machine: this
/// checkout, its folder target, and each folder of unpacked crates. The value is for [`RUSTFLAGS`].
///
/// Without them a panic's place has the path of this machine, so the same commit gives other bytes elsewhere, and a page of
/// another weight.
pub(crate) fn rustflags(project: &Project, flags: &[&str]) -> OsString {
    let packages = project.metadata.packages.iter();
    let unpacked = packages.filter(|package| package.source.is_some());
    let unpacked = unpacked.filter_map(|package| package.manifest_path.parent()?.parent());
    let registries: BTreeSet<&Path> = unpacked.map(|folder| folder.as_std_path()).collect();
    let ours = [
        (project.target(), "/target"),
        (project.root.as_path(), "/watchscope"),
    ];
    let registries = registries.into_iter().map(|folder| (folder, "/crates"));
    let mut folders: Vec<(&Path, &str)> = registries.chain(ours).collect();
    // Of several that fit, rustc takes the last, so a folder in another one has to follow it.
    folders.sort_by_key(|(folder, _)| folder.components().count());

    let mut value = OsString::from(flags.join(BETWEEN));
    for (folder, shown) in folders {
        if !value.is_empty() {
            value.push(BETWEEN);
        }
        value.push("--remap-path-prefix=");
        value.push(folder);
        value.push("=");
        value.push(shown);
    }
    value
}
