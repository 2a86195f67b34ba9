//! What the machines of recordings ask of a host with a disk: ranges of a file, deflating and inflating.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use watchscope_recording::{Input, Step};

/// Runs a machine to its end over a file.
pub(super) fn drive<T, E>(
    file: &File,
    mut step: impl FnMut(Input) -> Result<Step<T>, E>,
) -> io::Result<Result<T, E>> {
    let mut input = Input::Begin;
    loop {
        input = match step(input) {
            Ok(Step::Read { offset, len }) => Input::Bytes(range(file, offset, len)?),
            Ok(Step::Inflate { bytes, raw_bytes }) => Input::Inflated(inflated(&bytes, raw_bytes)),
            Ok(Step::Done(done)) => return Ok(Ok(done)),
            Err(error) => return Ok(Err(error)),
        };
    }
}

/// Bytes of a file; fewer, if it has become shorter.
pub(super) fn range(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let mut filled = 0;
    while filled < len {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Deflates (RFC 1951).
pub(super) fn deflated(raw: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(raw)
        .and_then(|()| encoder.finish())
        .expect("writing to memory does not fail")
}

/// Inflates, and stops one byte behind the stated length: a file from a stranger may say less than it holds.
fn inflated(bytes: &[u8], raw_bytes: u32) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    let limit = u64::from(raw_bytes) + 1;
    let mut decoder = DeflateDecoder::new(bytes).take(limit);
    decoder.read_to_end(&mut raw).ok()?;
    Some(raw)
}
