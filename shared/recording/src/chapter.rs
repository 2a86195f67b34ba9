//! The payloads of a chapter's blocks (`O`, `S`, `C`), and the frames in them.
//!
//! ```text
//!   O   first seq (8 bytes), head frame
//!   S   first seq (8 bytes), segment frames
//!   C   first seq (8 bytes), length and CRC-32 of the summary (4 bytes each), summary, deflated: head and segment frames
//! ```

use std::ops::Range;

use watchscope_model::Seq;
use watchscope_model::codec::{DecodeError, FrameKind, checksum, split_frame};
use watchscope_model::summary::{MAX_SUMMARY_BYTES, Summary};

use crate::error::DamageKind;
use crate::fields::Cursor;

/// The number of bytes of a chapter's first seq, with which the payload of each of the chapter's blocks begins.
pub(crate) const KEY_BYTES: usize = 8;
/// The number of payload bytes of a closed block (`C`) before its summary: first seq, length and CRC-32 of the summary.
pub(crate) const BEFORE_SUMMARY_BYTES: usize = KEY_BYTES + 8;

/// The head frame and the segment frames of a chapter. The checksum of each frame is right. The segments need not
/// follow each other: [`ReadChapter`](crate::ReadChapter) checks this only for a chapter in `O` and `S` blocks, and
/// [`Frames::join`] never.
///
/// The source of the frames bounds their size: [`ReadChapter`](crate::ReadChapter) reads at most 256 MiB of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Where each frame begins and ends in `bytes`, the head first.
    places: Vec<Range<usize>>,
}

impl Frames {
    /// Splits `bytes` into a head frame and the segment frames after it. It fails if there are no bytes, or as
    /// [`Frames::join`] does.
    pub(crate) fn of(bytes: Vec<u8>) -> Result<Self, DamageKind> {
        if bytes.is_empty() {
            return Err(DamageKind::Payload("it holds no frames"));
        }
        Ok(Self::split(bytes)?)
    }

    /// Like [`Self::of`], but returns the decoder's error.
    pub(crate) fn split(bytes: Vec<u8>) -> Result<Self, DecodeError> {
        let mut places = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest)?;
            let expected = if places.is_empty() {
                FrameKind::Head
            } else {
                FrameKind::Segment
            };
            if frame.kind != expected {
                return Err(DecodeError::Tag(frame.bytes[0]));
            }
            let begin = bytes.len() - rest.len();
            places.push(begin..begin + frame.bytes.len());
            rest = after;
        }
        if places.is_empty() {
            // Returns the decoder's error about a missing head frame.
            split_frame(&bytes)?;
        }
        Ok(Self { bytes, places })
    }

    /// Joins a head frame and the segment frames that follow it, in order. It does not check that the segments follow
    /// each other.
    ///
    /// # Errors
    /// It fails if a frame is of the wrong kind, cut, damaged or of a later version, or if `head` is empty.
    pub fn join<'a>(
        head: &[u8],
        segments: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, DecodeError> {
        let mut bytes = head.to_vec();
        segments
            .into_iter()
            .for_each(|segment| bytes.extend_from_slice(segment));
        Self::split(bytes)
    }

    /// Returns the head frame: the chapter's opening snapshot. The head frame is never empty.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.bytes[self.places[0].clone()]
    }

    /// Iterates over the segment frames, in order; there may be none.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.places[1..]
            .iter()
            .map(|place| &self.bytes[place.clone()])
    }

    /// Keeps the first `count` segments.
    pub(crate) fn keep_segments(&mut self, count: usize) {
        self.places.truncate(count + 1);
        let end = self.places.last().map_or(0, |place| place.end);
        self.bytes.truncate(end);
    }

    /// Returns the bytes of all frames, one after the other, the head frame first.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the same bytes as [`bytes`](Self::bytes), by value and without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Splits a block's payload into the first seq of its chapter and the rest. It fails if the payload has under 8 bytes.
pub(crate) fn split_key(payload: &[u8]) -> Result<(Seq, &[u8]), DamageKind> {
    let mut cursor = Cursor::new(payload);
    let key = cursor.long()?;
    Ok((Seq(key), cursor.rest()))
}

/// Returns the part of a closed block's payload (`C`) that comes before the deflated part.
pub(crate) fn chapter_prefix(first: Seq, summary: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(BEFORE_SUMMARY_BYTES + summary.len());
    prefix.extend_from_slice(&first.0.to_le_bytes());
    prefix.extend_from_slice(&(summary.len() as u32).to_le_bytes());
    prefix.extend_from_slice(&checksum(&[summary]).to_le_bytes());
    prefix.extend_from_slice(summary);
    prefix
}

/// Returns how many payload bytes of a closed block (`C`) come before the deflated part. Only the first 16 bytes of the
/// payload are needed. It fails if there are too few bytes, or if the summary is over [`MAX_SUMMARY_BYTES`].
pub(crate) fn prefix_bytes(payload: &[u8]) -> Result<usize, DamageKind> {
    let mut cursor = Cursor::new(payload);
    cursor.long()?;
    let summary_bytes = cursor.word()? as usize;
    if summary_bytes > MAX_SUMMARY_BYTES {
        return Err(DamageKind::Payload("its summary is too long"));
    }
    Ok(BEFORE_SUMMARY_BYTES + summary_bytes)
}

/// Splits the payload of a closed block (`C`) into first seq, summary and deflated part. The summary's own checksum is
/// checked. It fails if that checksum is wrong, if the payload ends early, or if the summary is too long or cannot be
/// decoded.
pub(crate) fn split_chapter(payload: &[u8]) -> Result<(Seq, Summary, &[u8]), DamageKind> {
    let (key, summary, deflated) = split_summary(payload)?;
    Ok((key, Summary::decode(summary)?, deflated))
}

/// Like [`split_chapter`], but leaves the summary encoded.
pub(crate) fn split_summary(payload: &[u8]) -> Result<(Seq, &[u8], &[u8]), DamageKind> {
    let length = prefix_bytes(payload)? - BEFORE_SUMMARY_BYTES;
    let mut cursor = Cursor::new(payload);
    let (key, _, expected) = (cursor.long()?, cursor.word()?, cursor.word()?);
    let summary = cursor.take(length)?;
    let found = checksum(&[summary]);
    if expected != found {
        return Err(DamageKind::Checksum { expected, found });
    }
    Ok((Seq(key), summary, cursor.rest()))
}
