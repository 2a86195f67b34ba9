//! The hash of the closed recording file that an export was made of. A picture's caption names this hash.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The most bytes of a file that is hashed. The picture of a larger file names no hash, whether a host or a page draws
/// it. A page has to read and hash the whole file before it can draw the picture. The number has no source.
const MOST_BYTES: u64 = 256 << 20;

/// Returns whether an export of a file computes the file's hash: the file is closed, and it has at most 256 MiB.
/// `is_closed` is true if the file's writer ended it; `bytes` is the file's length.
#[must_use]
pub fn is_hashed(is_closed: bool, bytes: u64) -> bool {
    is_closed && bytes <= MOST_BYTES
}

/// The SHA-256 of a file, computed from the file's bytes in order, in a fixed amount of memory.
#[derive(Clone, Debug, Default)]
pub struct SourceHash(Sha256);

impl SourceHash {
    /// Adds the next bytes of the file to the hash, in pieces of any length.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash in 64 hex digits, in lower case. Without any added byte, the hash is that of an empty file.
    #[must_use]
    pub fn finish(self) -> String {
        let mut text = String::new();
        for byte in self.0.finalize() {
            // Writing to a String does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_all_bytes_in_order() {
        let mut hash = SourceHash::default();
        hash.add(b"a");
        hash.add(b"bc");
        insta::assert_snapshot!(hash.finish(), @"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn only_closed_files_of_at_most_256_mib_are_hashed() {
        assert!(is_hashed(true, MOST_BYTES) && !is_hashed(true, MOST_BYTES + 1));
        assert!(!is_hashed(false, 1));
    }
}
