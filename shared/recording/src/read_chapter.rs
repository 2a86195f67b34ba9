//! The machine that reads one chapter's frames: from its `C` block, or else from its `O` and `S` blocks.

use watchscope_model::chapter::ChapterReader;

use crate::block::BlockPlace;
use crate::body::inflated;
use crate::chapter::{Frames, split_key, split_summary};
use crate::contents::ChapterEntry;
use crate::error::{Damage, DamageKind};
use crate::machine::{Input, Step};

/// The most bytes in one read of several adjacent blocks. A larger block is read alone. With this size a host answers
/// few requests, and holds little beside the frames. The number has no source.
const READ_BYTES: u64 = 1 << 20;
/// The most bytes of frames that are read of a chapter in `O` and `S` blocks. The first block that exceeds this number
/// is reported as damage, and the chapter ends before that block. A block has at most 64 MiB, and so has an opening.
/// The log closes a chapter when its segments exceed both 1 MiB and its opening, so both together take about 128 MiB at
/// most. The number has no source: it is twice that.
const MAX_FRAMES_BYTES: usize = 256 << 20;

/// A chapter that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Chapter {
    /// The chapter's frames: a head frame, and the segment frames after it. Segments from `S` blocks follow each other
    /// without a hole; for a `C` block this is not checked.
    pub frames: Frames,
    /// The chapter's damaged blocks; empty if there are none. If the `C` block is damaged, its damage comes first, and
    /// the frames come from the `O` and `S` blocks. If an `S` block is damaged, the frames end before that block. The
    /// frames also end before a segment that does not follow, or whose definitions cannot be decoded; the damage then
    /// names the `O` block.
    pub damaged: Vec<Damage>,
}

/// The machine that reads a chapter.
///
/// For a chapter in a closed block (`C`), one step holds the block and a copy of its deflated part, about 130 MiB at
/// most. A later step holds the inflated bytes, at most 64 MiB. For a chapter in `O` and `S` blocks it holds at most
/// 256 MiB of frames, and one read of at most 66 MiB. The first block that exceeds the 256 MiB is reported as damage,
/// and the chapter ends before that block.
#[derive(Debug)]
pub struct ReadChapter {
    closed: Option<BlockPlace>,
    opening: Option<BlockPlace>,
    segments: Vec<BlockPlace>,
    /// The number of blocks that are taken in, the opening counted as the first.
    taken: usize,
    asked: usize,
    bytes: Vec<u8>,
    damaged: Vec<Damage>,
}

impl ReadChapter {
    /// Makes a machine for a chapter that [`Contents`](crate::Contents) lists. The machine reads no bodies.
    #[must_use]
    pub fn new(entry: &ChapterEntry) -> Self {
        Self {
            closed: entry.closed,
            opening: entry.opening,
            segments: entry.segments.clone(),
            taken: 0,
            asked: 0,
            bytes: Vec::new(),
            damaged: Vec::new(),
        }
    }

    /// Takes in the answer to the last step, and returns the next step. The first input is [`Input::Begin`].
    ///
    /// # Errors
    /// The damage, if no frame of the chapter can be read. The returned damage is that of the chapter's `O` block, or
    /// of its `C` block if it has no `O` block. A chapter with neither block gives a damage of block 0. An `S` block
    /// with the right checksum whose bytes are no segment frames fails the whole chapter; that damage names the `O`
    /// block.
    pub fn step(&mut self, input: Input) -> Result<Step<Chapter>, Damage> {
        match (self.closed, input) {
            (Some(place), Input::Begin) => Ok(read(place.offset, place.len())),
            (Some(place), Input::Bytes(block)) => match deflated(place, &block) {
                Ok(bytes) => Ok(Step::Inflate {
                    bytes,
                    raw_bytes: place.header.raw_bytes,
                }),
                Err(kind) => self.fall_back(place, kind),
            },
            (Some(place), Input::Inflated(raw)) => {
                match inflated(raw, place).and_then(Frames::of) {
                    Ok(frames) => Ok(self.done(frames)),
                    Err(kind) => self.fall_back(place, kind),
                }
            }
            (None, Input::Bytes(bytes)) => {
                self.take(&bytes)?;
                self.ask()
            }
            (None, _) => self.ask(),
        }
    }

    /// Continues with the chapter's `O` and `S` blocks, which may still be in the file, because its `C` block is
    /// damaged. It fails with that damage if there is no `O` block.
    fn fall_back(&mut self, place: BlockPlace, kind: DamageKind) -> Result<Step<Chapter>, Damage> {
        let damage = place.damage(kind);
        self.closed = None;
        if self.opening.is_none() {
            return Err(damage);
        }
        self.damaged.push(damage);
        self.ask()
    }

    /// Returns the opening's block for the number 0, or a segments block for a number from 1 on.
    fn place(&self, number: usize) -> Option<BlockPlace> {
        match number.checked_sub(1) {
            None => self.opening,
            Some(number) => self.segments.get(number).copied(),
        }
    }

    /// Requests the next block, and the blocks after it that are adjacent and within [`READ_BYTES`]. After the last
    /// block it returns the chapter, and fails as [`Self::finish`] does.
    fn ask(&mut self) -> Result<Step<Chapter>, Damage> {
        let Some(first) = self.place(self.taken) else {
            return self.finish();
        };
        let mut end = first.end();
        self.asked = 1;
        while let Some(next) = self.place(self.taken + self.asked)
            && next.offset == end
            && next.end() - first.offset <= READ_BYTES
        {
            end = next.end();
            self.asked += 1;
        }
        Ok(read(first.offset, end - first.offset))
    }

    /// Takes in the requested blocks before the first damaged one. It fails if the opening is damaged.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let mut rest = bytes;
        for _ in 0..self.asked {
            let number = self.taken;
            let Some(place) = self.place(number) else {
                break;
            };
            let length = (place.len() as usize).min(rest.len());
            let (block, after) = rest.split_at(length);
            let frames = place
                .payload(block)
                .and_then(split_key)
                .and_then(|(_, frames)| {
                    if self.bytes.len() + frames.len() > MAX_FRAMES_BYTES {
                        Err(DamageKind::Payload("its chapter is too long to be read"))
                    } else {
                        Ok(frames)
                    }
                });
            match frames {
                Ok(frames) => self.bytes.extend_from_slice(frames),
                Err(kind) if number == 0 => return Err(place.damage(kind)),
                Err(kind) => {
                    self.damaged.push(place.damage(kind));
                    self.segments.truncate(number - 1);
                    break;
                }
            }
            self.taken += 1;
            rest = after;
        }
        Ok(())
    }

    /// Ends the chapter before the first segment that does not follow, once all blocks are taken in. It fails if there
    /// is no opening, or if the bytes are no frames.
    fn finish(&mut self) -> Result<Step<Chapter>, Damage> {
        let bytes = std::mem::take(&mut self.bytes);
        let Some(opening) = self.opening else {
            let nothing = DamageKind::Payload("its chapter has no opening");
            return Err(Damage {
                block: 0,
                offset: 0,
                kind: nothing,
            });
        };
        let read = Frames::of(bytes).and_then(|frames| {
            let (mut reader, _) = ChapterReader::open(frames.head())?;
            let broken = frames
                .segments()
                .enumerate()
                .find_map(|(number, segment)| Some((number, reader.skip(segment).err()?)));
            Ok((frames, broken))
        });
        let (mut frames, broken) = read.map_err(|kind| opening.damage(kind))?;
        // A block in between is lost: this opening does not define what the segments behind it use.
        if let Some((number, error)) = broken {
            frames.keep_segments(number);
            self.damaged.push(opening.damage(error.into()));
        }
        Ok(self.done(frames))
    }

    fn done(&mut self, frames: Frames) -> Step<Chapter> {
        Step::Done(Chapter {
            frames,
            damaged: std::mem::take(&mut self.damaged),
        })
    }
}

fn read<T>(offset: u64, len: u64) -> Step<T> {
    Step::Read {
        offset,
        len: usize::try_from(len).unwrap_or(usize::MAX),
    }
}

/// Returns the deflated part of a closed block (`C`). It fails if the block or its summary is damaged.
fn deflated(place: BlockPlace, block: &[u8]) -> Result<Vec<u8>, DamageKind> {
    let (_, _, deflated) = split_summary(place.payload(block)?)?;
    Ok(deflated.to_vec())
}
