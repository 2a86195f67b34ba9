//! The hash of a recording that exports name as their source.

use std::io;
use std::path::PathBuf;

use watchscope_export::{SourceHash, is_hashed};

use super::joined::Joined;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// Returns the SHA-256 of the one ended file that `paths` name, in hex digits. `None` for a folder, for several files, for
/// a file that is still being written, and for one of over 256 MiB.
///
/// # Errors
/// The disk's error.
pub fn source_of(paths: &[PathBuf], joined: &Joined) -> io::Result<Option<String>> {
    let (Some(file), [path]) = (joined.files().first(), paths) else {
        return Ok(None);
    };
    let contents = file.contents();
    if path.is_dir() || !is_hashed(contents.is_ended(), contents.size) {
        return Ok(None);
    }
    let mut hash = SourceHash::default();
    let (mut piece, mut at) = (vec![0; PIECE_BYTES], 0);
    loop {
        let read = file.file().read_at(&mut piece, at)?;
        if read == 0 {
            return Ok(Some(hash.finish()));
        }
        hash.add(&piece[..read]);
        at += read as u64;
    }
}
