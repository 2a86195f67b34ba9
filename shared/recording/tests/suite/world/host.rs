//! A host that holds files in memory and deflates with flate2.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use watchscope_recording::{
    Bodies, Chapter, ChapterEntry, Contents, Damage, Input, Piece, ReadBodies, ReadChapter,
    ReadError, Scan, Step,
};

pub fn deflate(raw: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

/// Inflates, and stops one byte behind the stated length.
pub fn inflate(bytes: &[u8], raw_bytes: u32) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    let limit = u64::from(raw_bytes) + 1;
    DeflateDecoder::new(bytes)
        .take(limit)
        .read_to_end(&mut raw)
        .ok()?;
    Some(raw)
}

/// Drives a machine over a file.
fn drive<T, E>(
    file: &[u8],
    mut step: impl FnMut(Input) -> Result<Step<T>, E>,
) -> Result<(T, usize), E> {
    let (mut input, mut steps) = (Input::Begin, 0);
    loop {
        steps += 1;
        match step(input)? {
            Step::Read { offset, len } => {
                let offset = usize::try_from(offset).unwrap();
                input = Input::Bytes(file[offset..offset + len].to_vec());
            }
            Step::Inflate { bytes, raw_bytes } => {
                input = Input::Inflated(inflate(&bytes, raw_bytes));
            }
            Step::Done(result) => return Ok((result, steps)),
        }
    }
}

pub fn open(file: &[u8]) -> Result<Contents, ReadError> {
    Ok(open_counted(file)?.0)
}

/// Like `open`, but returns the number of steps too.
pub fn open_counted(file: &[u8]) -> Result<(Contents, usize), ReadError> {
    let mut scan = Scan::new(file.len() as u64);
    drive(file, |input| scan.step(input))
}

pub fn chapter(file: &[u8], entry: &ChapterEntry) -> Result<Chapter, Damage> {
    let mut machine = ReadChapter::new(entry);
    Ok(drive(file, |input| machine.step(input))?.0)
}

pub fn bodies(file: &[u8], place: watchscope_recording::BlockPlace) -> Result<Bodies, Damage> {
    let mut machine = ReadBodies::new(place);
    Ok(drive(file, |input| machine.step(input))?.0)
}

/// Builds a new file from its pieces.
pub fn build(pieces: &[Piece], sources: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bytes(new) => bytes.extend(new),
            Piece::Copy {
                source,
                offset,
                len,
            } => {
                let (offset, len) = (*offset as usize, *len as usize);
                bytes.extend(&sources[*source][offset..offset + len]);
            }
        }
    }
    bytes
}
