//! A message in transit, whole or in pieces.

use bytes::Bytes;
use watchscope_model::Seq;
use watchscope_model::wire::{self, MAX_MESSAGE_BYTES, PIECE_BYTES, Piece};

use crate::ring::Ring;

/// A message that is sent whole, or in numbered pieces if it is larger than [`MAX_MESSAGE_BYTES`].
///
/// A transfer does not hold its chapter: each piece is read from the ring when it is sent. A viewer that never takes
/// the pieces therefore keeps no chapter in memory. All readers that send an encoded message share it.
#[derive(Debug)]
pub(super) struct Transfer {
    source: Source,
    number: u64,
    index: u32,
    count: u32,
    /// The index of the part that is sent next, and the bytes of it that were sent.
    part: usize,
    part_at: usize,
}

#[derive(Debug)]
enum Source {
    Message(Bytes),
    Chapter {
        header: Vec<u8>,
        first: Seq,
        segments: usize,
    },
}

/// The ring no longer holds the chapter that was being sent.
#[derive(Debug)]
pub(super) struct Dropped;

impl Source {
    /// Returns the part of the message with the index `part`; `None` after the last part. All parts together are the
    /// message. It fails if the ring no longer holds the chapter.
    fn part<'a>(&'a self, ring: &'a Ring, part: usize) -> Result<Option<&'a [u8]>, Dropped> {
        match self {
            Self::Message(message) => Ok((part == 0).then_some(message)),
            Self::Chapter {
                header,
                first,
                segments,
            } => {
                if part == 0 {
                    return Ok(Some(header));
                }
                let chapter = ring
                    .chapter(*first)
                    .filter(|chapter| chapter.first == *first)
                    .ok_or(Dropped)?;
                Ok(match part {
                    1 => Some(&chapter.opening),
                    part if part - 2 < *segments => chapter
                        .segments
                        .get(part - 2)
                        .map(|segment| segment.frame()),
                    _ => None,
                })
            }
        }
    }

    fn bytes(&self, ring: &Ring) -> Result<usize, Dropped> {
        let (mut bytes, mut number) = (0, 0);
        while let Some(part) = self.part(ring, number)? {
            bytes += part.len();
            number += 1;
        }
        Ok(bytes)
    }
}

impl Transfer {
    /// A transfer of a message that is already encoded.
    pub(super) fn message(message: Bytes, number: u64) -> Self {
        let count = pieces(message.len());
        Self::new(Source::Message(message), number, count)
    }

    /// A transfer of the chapter that holds the record before `before`, cut after that record's segment; `None` if the
    /// ring lacks the chapter.
    pub(super) fn chapter(ring: &Ring, before: Seq, number: u64) -> Option<Self> {
        let chapter = ring.chapter(Seq(before.0.checked_sub(1)?))?;
        let header = wire::Chapter {
            log: ring.log().clone(),
            first: chapter.first,
            before,
        };
        let source = Source::Chapter {
            header: wire::encode_server(&header.into(), &[]),
            first: chapter.first,
            segments: chapter.segments_before(before),
        };
        let count = pieces(source.bytes(ring).ok()?);
        Some(Self::new(source, number, count))
    }

    fn new(source: Source, number: u64, count: u32) -> Self {
        Self {
            source,
            number,
            index: 0,
            count,
            part: 0,
            part_at: 0,
        }
    }

    /// An upper bound of the size of the next message in bytes.
    pub(super) fn next_bytes(&self) -> usize {
        match &self.source {
            Source::Message(message) if self.count == 1 => message.len(),
            _ => MAX_MESSAGE_BYTES,
        }
    }

    /// Returns the next message, and whether it is the transfer's last. It fails if the ring no longer holds the
    /// chapter.
    pub(super) fn next(&mut self, ring: &Ring) -> Result<(Bytes, bool), Dropped> {
        if let Source::Message(message) = &self.source
            && self.count == 1
        {
            return Ok((message.clone(), true));
        }
        let limit = if self.count == 1 {
            MAX_MESSAGE_BYTES
        } else {
            PIECE_BYTES
        };
        let data = self.take(ring, limit)?;
        if self.count == 1 {
            return Ok((data.into(), true));
        }
        let piece = Piece {
            transfer: self.number,
            index: self.index,
            count: self.count,
        };
        self.index += 1;
        let message = wire::encode_server(&piece.into(), &[&data]);
        Ok((message.into(), self.index == self.count))
    }

    /// Takes the next `limit` bytes, or all that are left if there are fewer. It fails if the ring no longer holds the
    /// chapter.
    fn take(&mut self, ring: &Ring, limit: usize) -> Result<Vec<u8>, Dropped> {
        let mut data = Vec::with_capacity(limit);
        while data.len() < limit
            && let Some(part) = self.source.part(ring, self.part)?
        {
            let rest = &part[self.part_at..];
            let taken = rest.len().min(limit - data.len());
            data.extend_from_slice(&rest[..taken]);
            if taken == rest.len() {
                (self.part, self.part_at) = (self.part + 1, 0);
            } else {
                self.part_at += taken;
            }
        }
        Ok(data)
    }
}

/// The number of messages in which `bytes` bytes are sent.
fn pieces(bytes: usize) -> u32 {
    if bytes <= MAX_MESSAGE_BYTES {
        1
    } else {
        u32::try_from(bytes.div_ceil(PIECE_BYTES)).unwrap_or(u32::MAX)
    }
}
