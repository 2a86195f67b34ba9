//! The machine that reads one chapter's frames: from the closed chapter, else from what was written while it was open.

use watchscope_model::chapter::ChapterReader;

use crate::block::BlockPlace;
use crate::body::inflated;
use crate::chapter::{Frames, split_key, split_summary};
use crate::contents::ChapterEntry;
use crate::error::{Damage, DamageKind};
use crate::machine::{Input, Step};

/// Bytes that are read at once of blocks which lie one behind the other.
const READ_BYTES: u64 = 1 << 20;
/// The most bytes that a chapter's frames are read with.
const MAX_FRAMES_BYTES: usize = 256 << 20;

/// A chapter that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Chapter {
    /// Its frames: a head and the segments that follow it without a hole.
    pub frames: Frames,
    /// What of it could not be read: the closed chapter, so that this is what was written while it was open; or segments,
    /// so that it ends before them.
    pub damaged: Vec<Damage>,
}

/// Reads a chapter.
///
/// Holds its blocks and what they inflate to: at most 130 MiB of a closed chapter, at most 256 MiB of another.
#[derive(Debug)]
pub struct ReadChapter {
    closed: Option<BlockPlace>,
    opening: Option<BlockPlace>,
    segments: Vec<BlockPlace>,
    /// How many of opening and segments are taken in, and how many are asked for.
    taken: usize,
    asked: usize,
    bytes: Vec<u8>,
    damaged: Vec<Damage>,
}

impl ReadChapter {
    /// Of a chapter that [`Contents`](crate::Contents) lists.
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

    /// Takes in what was asked for; returns what to do next.
    ///
    /// # Errors
    /// If nothing of the chapter can be read.
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

    /// The closed chapter is damaged: what was written while it was open may still be there.
    fn fall_back(&mut self, place: BlockPlace, kind: DamageKind) -> Result<Step<Chapter>, Damage> {
        let damage = place.damage(kind);
        self.closed = None;
        if self.opening.is_none() {
            return Err(damage);
        }
        self.damaged.push(damage);
        self.ask()
    }

    /// The opening's block and those of the segments.
    fn place(&self, number: usize) -> Option<BlockPlace> {
        match number.checked_sub(1) {
            None => self.opening,
            Some(number) => self.segments.get(number).copied(),
        }
    }

    /// Asks for the blocks that come next, as far as they lie one behind the other.
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

    /// Takes in the blocks that were asked for, up to one that is damaged.
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

    /// All blocks are taken in: what follows without a hole is the chapter.
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
        // A block between was lost: what follows the hole cannot be read from this opening.
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

fn deflated(place: BlockPlace, block: &[u8]) -> Result<Vec<u8>, DamageKind> {
    let (_, _, deflated) = split_summary(place.payload(block)?)?;
    Ok(deflated.to_vec())
}
