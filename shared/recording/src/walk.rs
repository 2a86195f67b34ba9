//! Finds the blocks of a file header by header, and continues after damage.

use crate::block::{BlockPlace, Header};
use crate::chapter::{BEFORE_SUMMARY_BYTES, KEY_BYTES, prefix_bytes, split_chapter, split_key};
use crate::contents::Cut;
use crate::error::{Damage, DamageKind};
use crate::format::{BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, MAX_BLOCKS, Tag};
use crate::index::Found;
use crate::window::{Missing, Window};

/// The most bytes of one read that searches for a header after damage. If these bytes have no header, the next read
/// continues the search. With this bound a scan of a damaged file holds few bytes. The number has no source.
const SEARCH_BYTES: usize = 256 << 10;

/// The position of the walk in the file, and the blocks and the damage that it found.
#[derive(Debug)]
pub(crate) struct Walk {
    offset: u64,
    number: u32,
    /// The byte at which the search for a header after damage continues; `None` while no search is under way.
    searched_to: Option<u64>,
    pub(crate) found: Vec<Found>,
    pub(crate) damaged: Vec<Damage>,
    pub(crate) cut: Option<Cut>,
}

impl Walk {
    pub(crate) fn new() -> Self {
        Self {
            offset: FILE_HEADER_BYTES as u64,
            number: 0,
            searched_to: None,
            found: Vec::new(),
            damaged: Vec::new(),
            cut: None,
        }
    }

    /// Continues as far as the bytes in the window reach; returns `Ok` at the file's end. The error is a request for
    /// bytes.
    pub(crate) fn go_on(&mut self, window: &Window) -> Result<(), Missing> {
        while self.offset < window.size() {
            if let Some(from) = self.searched_to {
                self.search(window, from)?;
                continue;
            }
            let left = window.size() - self.offset;
            if left < BLOCK_HEADER_BYTES as u64 {
                self.cut(window);
                break;
            }
            if self.number as usize >= MAX_BLOCKS {
                self.damage(self.number, self.offset, DamageKind::TooManyBlocks);
                self.offset = window.size();
                break;
            }
            let Some(header) = Header::read(window.get(self.offset, BLOCK_HEADER_BYTES)?) else {
                self.searched_to = Some(self.offset + 1);
                continue;
            };
            let place = BlockPlace {
                number: self.number,
                offset: self.offset,
                header,
                first: None,
            };
            if place.end() > window.size() {
                self.cut(window);
                break;
            }
            self.take(place, window)?;
            self.number += 1;
            self.offset = place.end();
        }
        Ok(())
    }

    fn cut(&mut self, window: &Window) {
        self.cut = Some(Cut {
            block: self.number,
            offset: self.offset,
        });
        self.offset = window.size();
    }

    /// Searches for the next header from a byte on. The error is a request for bytes.
    fn search(&mut self, window: &Window, from: u64) -> Result<(), Missing> {
        let left = usize::try_from(window.size() - from).unwrap_or(usize::MAX);
        let mut next = None;
        if left >= BLOCK_HEADER_BYTES {
            let bytes = match window.from(from) {
                bytes if bytes.len() >= BLOCK_HEADER_BYTES => bytes,
                _ => window.get(from, left.min(SEARCH_BYTES))?,
            };
            let places = 0..=bytes.len() - BLOCK_HEADER_BYTES;
            let searched = places.end() + 1;
            next = places
                .into_iter()
                .find(|&place| Header::read(&bytes[place..]).is_some())
                .map(|place| from + place as u64);
            if next.is_none() && bytes.len() < left {
                self.searched_to = Some(from + searched as u64);
                return Ok(());
            }
        }
        let end = next.unwrap_or(window.size());
        self.damage(
            self.number,
            self.offset,
            DamageKind::Skipped {
                bytes: end - self.offset,
            },
        );
        self.number += 1;
        self.offset = end;
        self.searched_to = None;
        Ok(())
    }

    fn damage(&mut self, block: u32, offset: u64, kind: DamageKind) {
        self.damaged.push(Damage {
            block,
            offset,
            kind,
        });
    }

    /// Reads the first seq and the summary of a block, if the block has them. The error is a request for bytes.
    fn take(&mut self, place: BlockPlace, window: &Window) -> Result<(), Missing> {
        let stored = place.header.stored_bytes as usize;
        let payload_at = place.offset + BLOCK_HEADER_BYTES as u64;
        let payload = |len: usize| window.get(payload_at, len.min(stored));
        let read = match place.header.tag {
            Tag::Chapter => {
                let begin = payload(BEFORE_SUMMARY_BYTES)?;
                match prefix_bytes(begin) {
                    Ok(length) => {
                        split_chapter(payload(length)?).and_then(|(first, summary, _)| {
                            if summary.first == first {
                                Ok((Some(first), Some(summary)))
                            } else {
                                Err(DamageKind::Payload("its summary is of another chapter"))
                            }
                        })
                    }
                    Err(kind) => Err(kind),
                }
            }
            tag if tag.has_key() => {
                split_key(payload(KEY_BYTES)?).map(|(first, _)| (Some(first), None))
            }
            _ => Ok((None, None)),
        };
        let (first, summary) = read.unwrap_or_else(|kind| {
            self.damage(place.number, place.offset, kind);
            (None, None)
        });
        self.found.push(Found {
            place: BlockPlace { first, ..place },
            summary,
        });
        Ok(())
    }
}
