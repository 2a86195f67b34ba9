//! Writes the finished page: every file with its .gz beside it, index.html last. Files of an older page are
//! removed.
//!
//! A file that is already right is not written, so an unchanged page does not rebuild the backend.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::num::NonZeroU64;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

use super::names::{INDEX, SINGLE};

/// The file through which Git keeps the folder. If a path that cargo watches did not exist, cargo would rebuild the
/// backend each time.
pub(crate) const KEPT: &str = ".gitignore";

/// The number of zopfli's rounds; more rounds give smaller files.
const ROUNDS: NonZeroU64 = NonZeroU64::new(5).expect("five is not zero");

/// Files above this size in bytes are compressed quickly. They are modules that were not optimised, and zopfli would
/// take minutes for them.
const LONG_BYTES: usize = 4 << 20;

/// The result of writing the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The sum of all files' bytes under gzip.
    pub(crate) gzip_bytes: usize,
    /// Whether any file of the folder was written or removed.
    pub(crate) changed: bool,
}

/// Makes the folder hold this page and nothing else.
pub(crate) fn write(folder: &Path, page: &BTreeMap<String, Vec<u8>>) -> Result<Written> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let mut written = Written {
        gzip_bytes: 0,
        changed: false,
    };
    let mut names = vec![KEPT.to_owned()];
    // index.html comes last: a reader of it finds the files that it names.
    let (index, others): (Vec<_>, Vec<_>) = page.iter().partition(|(name, _)| *name == INDEX);
    for (name, bytes) in others.into_iter().chain(index) {
        let gz = format!("{name}.gz");
        let up_to_date = fs::read(folder.join(name)).is_ok_and(|old| old == *bytes)
            && folder.join(&gz).is_file();
        if !up_to_date {
            // The template holds base64 of deflated bytes, which more effort does not make smaller.
            let is_hurried = bytes.len() > LONG_BYTES || *name == SINGLE;
            replace(&folder.join(&gz), &gzip(bytes, is_hurried)?)?;
            replace(&folder.join(name), bytes)?;
            written.changed = true;
        }
        written.gzip_bytes += usize::try_from(folder.join(&gz).metadata()?.len())?;
        names.extend([name.clone(), gz]);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stale = path
            .file_name()
            .is_none_or(|name| !names.iter().any(|kept| name == kept.as_str()));
        if stale && path.is_file() {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
            written.changed = true;
        }
    }
    Ok(written)
}

/// Writes a file beside the path and renames it, so that a reader sees the old file or the new one.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    fs::write(beside, bytes)
        .and_then(|()| fs::rename(beside, path))
        .with_context(|| format!("writing {}", path.display()))
}

/// Compresses with the smallest gzip there is, 5 % less than `gzip -9`: a file is written once and sent often.
fn gzip(bytes: &[u8], is_hurried: bool) -> Result<Vec<u8>> {
    if is_hurried {
        quick_gzip(bytes)
    } else {
        smallest_gzip(bytes)
    }
}

/// Returns the bytes in a gzip that is made quickly. Its header has neither a name nor a time.
pub(crate) fn quick_gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Returns the bytes in the smallest gzip.
pub(crate) fn smallest_gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    smallest(bytes, zopfli::Format::Gzip)
}

/// Returns the bytes in raw deflate (RFC 1951).
pub(super) fn deflated(bytes: &[u8]) -> Result<Vec<u8>> {
    if bytes.len() > LONG_BYTES {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes)?;
        return Ok(encoder.finish()?);
    }
    smallest(bytes, zopfli::Format::Deflate)
}

fn smallest(bytes: &[u8], format: zopfli::Format) -> Result<Vec<u8>> {
    // Ten rounds more would take two thirds longer and save 18 of 93,044 bytes.
    let options = zopfli::Options {
        iteration_count: ROUNDS,
        ..zopfli::Options::default()
    };
    let mut compressed = Vec::new();
    zopfli::compress(options, format, bytes, &mut compressed)?;
    Ok(compressed)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn page(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn each_file_has_its_compressed_form_and_old_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(KEPT), "*").unwrap();
        write(folder.path(), &page(&[(INDEX, "old"), ("a-1.js", "1")])).unwrap();
        let written = write(folder.path(), &page(&[(INDEX, "new"), ("a-2.js", "2")])).unwrap();
        assert!(written.changed);
        assert_eq!(
            names(folder.path()),
            [
                ".gitignore",
                "a-2.js",
                "a-2.js.gz",
                "index.html",
                "index.html.gz"
            ]
        );
        assert_reads(folder.path(), INDEX, "new");
    }

    #[test]
    fn a_long_file_has_its_compressed_form_too() {
        let folder = tempfile::tempdir().unwrap();
        let long = "0123456789abcdef".repeat(LONG_BYTES / 16 + 1);
        write(folder.path(), &page(&[("a.wasm", &long)])).unwrap();
        assert_reads(folder.path(), "a.wasm", &long);
    }

    /// Checks that the compressed form decompresses to the file's text.
    fn assert_reads(folder: &Path, name: &str, expected: &str) {
        let compressed = fs::File::open(folder.join(format!("{name}.gz"))).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(compressed)
            .read_to_string(&mut text)
            .unwrap();
        assert!(text == expected, "{name}.gz");
    }

    #[test]
    fn writing_the_same_page_again_changes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let page = page(&[(INDEX, "text"), ("a-1.js", "1")]);
        let first = write(folder.path(), &page).unwrap();
        let modified = || {
            folder
                .path()
                .join(INDEX)
                .metadata()
                .unwrap()
                .modified()
                .unwrap()
        };
        let before = modified();
        let second = write(folder.path(), &page).unwrap();
        assert!(first.changed && !second.changed);
        assert_eq!(first.gzip_bytes, second.gzip_bytes);
        assert_eq!(before, modified());
    }
}
