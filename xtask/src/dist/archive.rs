//! Archives with the same bytes each time: sorted, of one time, owned by user 0.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use tar::{EntryType, Header};

use crate::page;

/// A file in an archive.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) is_program: bool,
}

/// The files of an archive by their paths.
pub(super) type Entries<'a> = BTreeMap<String, Entry<'a>>;

/// Returns a tar archive of the files and of the folders above them. `modified_s` is the time of each, in seconds since 1970.
pub(super) fn tar(entries: &Entries<'_>, modified_s: u64) -> Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut folders = BTreeSet::new();
    for (path, entry) in entries {
        let above: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            if !folder.as_os_str().is_empty() && folders.insert(folder.to_owned()) {
                let mut header = header(EntryType::Directory, 0o755, modified_s);
                let name = format!("{}/", folder.display());
                builder.append_data(&mut header, name, &[][..])?;
            }
        }
        let mode = if entry.is_program { 0o755 } else { 0o644 };
        let mut header = header(EntryType::Regular, mode, modified_s);
        header.set_size(entry.bytes.len().try_into()?);
        builder
            .append_data(&mut header, path, entry.bytes)
            .with_context(|| format!("putting {path} into an archive"))?;
    }
    Ok(builder.into_inner()?)
}

fn header(kind: EntryType, mode: u32, modified_s: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(modified_s);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header
}

/// How hard gzip tries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    /// Seconds, for the tests.
    Quick,
    /// A minute for each program: 4 % fewer bytes than `gzip -9` writes.
    Smallest,
}

/// Compresses with gzip. Its header has neither a name nor a time.
pub(super) fn gzip(bytes: &[u8], effort: Effort) -> Result<Vec<u8>> {
    match effort {
        Effort::Quick => page::quick_gzip(bytes),
        Effort::Smallest => page::smallest_gzip(bytes),
    }
}

/// Returns what [`gzip`] compressed.
pub(super) fn gunzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

/// Returns the file in a tar archive whose path ends so; `None` if there is none.
pub(super) fn find(tar: &[u8], end: &str) -> Result<Option<Vec<u8>>> {
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() && entry.path()?.ends_with(end) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_each_folder_once_and_nothing_of_this_machine() -> Result<()> {
        let file = |bytes, is_program| Entry { bytes, is_program };
        let entries = Entries::from([
            ("usr/share/b.txt".to_owned(), file(b"text", false)),
            ("usr/bin/a".to_owned(), file(b"program", true)),
        ]);
        let made = tar(&entries, 1_000_000_000)?;
        let mut lines = Vec::new();
        for entry in tar::Archive::new(&made[..]).entries()? {
            let entry = entry?;
            let header = entry.header();
            lines.push(format!(
                "{:o} {}:{} {} {} {}",
                header.mode()?,
                header.uid()?,
                header.gid()?,
                header.size()?,
                header.mtime()?,
                entry.path()?.display()
            ));
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
        755 0:0 0 1000000000 usr/
        755 0:0 0 1000000000 usr/bin/
        755 0:0 7 1000000000 usr/bin/a
        755 0:0 0 1000000000 usr/share/
        644 0:0 4 1000000000 usr/share/b.txt
        ");
        assert_eq!(find(&made, "bin/a")?.as_deref(), Some(&b"program"[..]));
        assert_eq!(find(&made, "bin")?, None);
        for effort in [Effort::Quick, Effort::Smallest] {
            let packed = gzip(&made, effort)?;
            assert_eq!(gunzip(&packed)?, made);
            assert_eq!(packed[3..8], [0; 5], "no name and no time");
        }
        Ok(())
    }
}
