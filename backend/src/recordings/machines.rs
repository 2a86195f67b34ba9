//! The host of `watchscope_recording`'s machines: it reads ranges of a file for them, deflates and inflates.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use watchscope_recording::{Input, Piece, Step};

use super::disk::DiskFile;

/// The bytes that one copy step moves.
const COPY_BYTES: u64 = 1 << 20;

/// Runs a machine over a file until it is done.
pub(super) fn drive<T, E>(
    file: &dyn DiskFile,
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

/// Writes the pieces of a new file. Returns their bytes.
pub(super) fn write_pieces(
    pieces: &[Piece],
    sources: &[&dyn DiskFile],
    to: &mut dyn DiskFile,
) -> io::Result<u64> {
    let mut written = 0;
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => {
                to.append(bytes)?;
                written += bytes.len() as u64;
            }
            Piece::Copy {
                source,
                offset,
                len,
            } => {
                let mut done = 0;
                while done < *len {
                    let wanted = (len - done).min(COPY_BYTES) as usize;
                    let bytes = range(sources[*source], offset + done, wanted)?;
                    if bytes.len() < wanted {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    to.append(&bytes)?;
                    done += wanted as u64;
                }
                written += len;
            }
        }
    }
    Ok(written)
}

/// Reads a range of a file; it returns fewer bytes if the file is shorter.
fn range(file: &dyn DiskFile, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let filled = file.read_at(&mut bytes, offset)?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// Deflates (RFC 1951) at the level that recordings use.
#[must_use]
pub fn deflated(raw: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(raw)
        .and_then(|()| encoder.finish())
        .expect("writing to memory does not fail")
}

/// Inflates, and stops one byte after the stated length: a file from a stranger may hold more than it states.
fn inflated(bytes: &[u8], raw_bytes: u32) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    let limit = u64::from(raw_bytes) + 1;
    let mut decoder = DeflateDecoder::new(bytes).take(limit);
    decoder.read_to_end(&mut raw).ok()?;
    Some(raw)
}
