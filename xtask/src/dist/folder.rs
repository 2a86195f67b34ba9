//! The folder of a release: its files and their checksums.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use walkdir::WalkDir;

use super::image::Files;
use crate::page::sha256;

/// The file of checksums, which `sha256sum --check` reads.
const CHECKSUMS: &str = "SHA256SUMS";

/// Adds the file of checksums of all files.
pub(super) fn add_checksums(files: &mut Files) {
    let mut lines = String::new();
    for (name, bytes) in &*files {
        let _ = writeln!(lines, "{}  {name}", sha256(bytes));
    }
    files.insert(CHECKSUMS.to_owned(), lines.into_bytes());
}

/// Makes the folder hold these files and nothing else. Only a folder that is empty or has a file of checksums is emptied.
pub(super) fn write(folder: &Path, files: &Files) -> Result<()> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(is_empty) => {
            ensure!(
                is_empty || folder.join(CHECKSUMS).is_file(),
                "{} holds other files: name an empty folder",
                folder.display()
            );
            fs::remove_dir_all(folder).with_context(|| format!("emptying {}", folder.display()))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("reading {}", folder.display())),
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        let above = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(above)
            .and_then(|()| fs::write(&path, bytes))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Reads the files of a folder. It is an error if one differs from its checksum, or a file lacks its checksum or itself.
pub(super) fn read(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.with_context(|| format!("reading {}", folder.display()))?;
        if entry.file_type().is_file() {
            let path = entry.path();
            let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            files.insert(name, bytes);
        }
    }
    let list = files.get(CHECKSUMS);
    let list = list.with_context(|| format!("{} has no {CHECKSUMS}", folder.display()))?;
    let list = String::from_utf8_lossy(list).into_owned();
    let mut listed = Vec::new();
    for line in list.lines() {
        let pair = line.split_once("  ");
        let (sum, name) = pair.with_context(|| format!("{line:?} is no checksum"))?;
        let path = folder.join(name);
        let bytes = files
            .get(name)
            .with_context(|| format!("{} is missing", path.display()))?;
        ensure!(
            sha256(bytes) == sum,
            "{} has another checksum",
            path.display()
        );
        listed.push(name.to_owned());
    }
    let extra = files
        .keys()
        .find(|name| *name != CHECKSUMS && !listed.contains(name));
    if let Some(extra) = extra {
        anyhow::bail!("{} has no checksum", folder.join(extra).display());
    }
    Ok(files)
}
