//! A run of neighbouring marks of a watch: blocks of packed marks, and sums over blocks and groups of marks.
//!
//! ```text
//!   marks    |||||||||||||||||||||||||||||||||||…
//!   blocks   [   64   ][   64   ][   64   ]…       packed, with sums of 64 marks
//!   groups   [            1,024            ]…      sums of 16 blocks
//! ```
//! A picture of millions of marks adds up groups and blocks, and reads single marks only at the edges of its columns.
//! `mark_block.rs` packs a block. Ten million records of five watches took 14 bytes of WebAssembly memory each, with
//! all that belongs to them (23 before packing).

use std::ops::Range;

use watchscope_model::{Seq, Time};

use super::grow::push;
use super::mark_block::{BLOCK, Base, Block, Column, FAR, Numbers};
use super::mark_kind::{MarkKind, NO_VERSION};
use super::mark_sums::Sums;

/// Most marks that are appended to a run; the next mark begins another run. A cut packs all marks of its run anew, so
/// the bound limits the work of a cut. The number has no source.
pub(super) const MOST_MARKS: usize = 16_384;
/// The number of marks that a group sums up: those of 16 blocks. The number has no source.
const GROUP: usize = 16 * BLOCK;
/// Distance from the base of a run up to its first mark, in µs for times and in numbers for versions. A version below
/// this number has the base 0. The distance is half of the range of 32 bits. A mark whose time does not fit (about 36
/// minutes before or after the first mark) begins another run. A version that does not fit is stored in `far`.
const REACH: u64 = 1 << 31;

/// Neighbouring marks by rising seq. A run in use has at least one mark.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkRun {
    blocks: Vec<Block>,
    /// The columns of the blocks, block after block.
    bytes: Vec<u8>,
    /// The marks after the last block: at most 63.
    tail: Vec<Numbers>,
    /// Seqs and versions of the marks whose version is too far from the base, by rising seq.
    far: Vec<(u32, u64)>,
    /// The time and version from which the numbers count; zeroes before the first mark.
    base: Base,
    groups: Vec<Sums>,
}

/// A stretch of time to which marks are still added.
pub(super) struct OpenStretch {
    /// The time of its first mark.
    pub(super) first: Time,
    /// The end of the stretch, which is not part of it.
    pub(super) end: Time,
    pub(super) sums: Sums,
}

impl MarkRun {
    pub(super) fn len(&self) -> usize {
        self.blocks.len() * BLOCK + self.tail.len()
    }

    /// Appends a mark; its seq must be above all others. Returns whether the mark fitted: it does not if its time is
    /// too far away, or the run is full. An empty run takes any mark.
    pub(super) fn push(&mut self, seq: Seq, at: Time, kind: MarkKind, version: u64) -> bool {
        if self.len() == 0 {
            self.base = (
                at.0.saturating_sub_unsigned(REACH),
                version.saturating_sub(REACH),
            );
        }
        let (at_base, version_base) = self.base;
        let Some(offset) = at.0.checked_sub(at_base) else {
            return false;
        };
        let Some(offset) = u32::try_from(offset)
            .ok()
            .filter(|_| self.len() < MOST_MARKS)
        else {
            return false;
        };
        // An epoch with over 4,294,967,295 records would fill the page's memory first.
        let number = u32::try_from(seq.0).unwrap_or(u32::MAX);
        let version_offset = match u32::try_from(version.wrapping_sub(version_base)) {
            Ok(offset) if offset != FAR && version != NO_VERSION => offset,
            _ => {
                if version != NO_VERSION {
                    self.far.push((number, version));
                }
                FAR
            }
        };
        if self.len().is_multiple_of(GROUP) {
            push(&mut self.groups, Sums::default());
        }
        if let Some(last) = self.groups.last_mut() {
            last.add(at, kind, version);
        }
        self.tail
            .push([offset, number, version_offset, u32::from(kind.number())]);
        if self.tail.len() == BLOCK {
            let mut sums = Sums::default();
            self.sum(self.len() - BLOCK..self.len(), &mut sums);
            let block = Block::pack(&self.tail, &mut self.bytes, &sums, self.base);
            push(&mut self.blocks, block);
            self.tail.clear();
        }
        true
    }

    /// Returns a number of a mark.
    #[inline]
    fn number(&self, column: Column, place: usize) -> u32 {
        match self.blocks.get(place / BLOCK) {
            Some(block) => block.number(&self.bytes, column, place % BLOCK),
            None => self.tail[place - self.blocks.len() * BLOCK][column as usize],
        }
    }

    /// Returns a number of each of these marks, which lie in one block or in the tail.
    fn numbers<'a>(
        &self,
        column: Column,
        places: &Range<usize>,
        numbers: &'a mut [u32; BLOCK],
    ) -> &'a [u32] {
        let at = places.start / BLOCK;
        let within = places.start - at * BLOCK..places.end - at * BLOCK;
        match self.blocks.get(at) {
            Some(block) => block.numbers(&self.bytes, column, within, numbers),
            None => {
                let numbers = &mut numbers[..within.len()];
                for (number, mark) in numbers.iter_mut().zip(&self.tail[within]) {
                    *number = mark[column as usize];
                }
                numbers
            }
        }
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> Time {
        Time(self.base.0 + i64::from(self.number(Column::At, place)))
    }

    #[inline]
    pub(super) fn seq(&self, place: usize) -> Seq {
        Seq(u64::from(self.number(Column::Seq, place)))
    }

    #[inline]
    pub(super) fn kind(&self, place: usize) -> MarkKind {
        MarkKind::from_number(self.number(Column::Kind, place) as u8)
    }

    /// Returns the resourceVersion of a mark as a number, or [`NO_VERSION`].
    #[inline]
    pub(super) fn version(&self, place: usize) -> u64 {
        match self.number(Column::Version, place) {
            FAR => {
                let seq = self.number(Column::Seq, place);
                let far = self.far.binary_search_by_key(&seq, |far| far.0);
                far.map_or(NO_VERSION, |far| self.far[far].1)
            }
            offset => self.base.1.wrapping_add(u64::from(offset)),
        }
    }

    /// Returns the index of the first mark with at least this seq.
    pub(super) fn place_of(&self, seq: Seq) -> usize {
        self.partition_point(|place| self.seq(place) < seq)
    }

    /// Returns the index of the first mark at or after a time.
    pub(super) fn place_at(&self, at: Time) -> usize {
        self.partition_point(|place| self.at(place) < at)
    }

    /// Returns the index of the first mark for which `is_before` is false; it is true for all marks before that one.
    fn partition_point(&self, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if is_before(middle) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Adds the marks at `places` to the stretches of time that hold them, as [`super::marks::Marks::sum_by`] does.
    /// `open` is the stretch of the last mark before, and of the last mark afterwards.
    pub(super) fn sum_by(
        &self,
        places: Range<usize>,
        open: &mut Option<OpenStretch>,
        end_of: &mut dyn FnMut(Time) -> Time,
        take: &mut dyn FnMut(Time, &Sums),
    ) {
        let mut place = places.start;
        while place < places.end {
            // What the stretch takes whole need not be read.
            if let Some(open) = open
                && let Some((sums, size)) = self.whole(place, places.end, open.end)
            {
                open.sums.join(&sums);
                place += size;
                continue;
            }
            let stop = places.end.min((place / BLOCK + 1) * BLOCK);
            self.sum_each(place..stop, open, end_of, take);
            place = stop;
        }
    }

    /// Returns the sums of the largest group or block that begins at a mark, and the number of its marks. It ends at or
    /// before index `to`, and its last mark is before the time `end`. `None` if there is none, or if the block does not
    /// know its versions.
    fn whole(&self, place: usize, to: usize, end: Time) -> Option<(Sums, usize)> {
        let is_whole = |size: usize| {
            place.is_multiple_of(size) && place + size <= to && self.at(place + size - 1) < end
        };
        if is_whole(GROUP) {
            return Some((self.groups[place / GROUP], GROUP));
        }
        let block = self.blocks.get(place / BLOCK)?;
        is_whole(BLOCK)
            .then(|| block.sums(self.base))?
            .zip(Some(BLOCK))
    }

    /// Adds single marks of one block to the stretches of time that hold them. The columns of the block are read at
    /// once, because the edges of a picture's columns are most of its work.
    fn sum_each(
        &self,
        places: Range<usize>,
        open: &mut Option<OpenStretch>,
        end_of: &mut dyn FnMut(Time) -> Time,
        take: &mut dyn FnMut(Time, &Sums),
    ) {
        let [mut ats, mut offsets, mut kinds] = [[0; BLOCK]; 3];
        let ats = self.numbers(Column::At, &places, &mut ats);
        let offsets = self.numbers(Column::Version, &places, &mut offsets);
        let kinds = self.numbers(Column::Kind, &places, &mut kinds);
        for (place, ((&at, &offset), &kind)) in places.zip(ats.iter().zip(offsets).zip(kinds)) {
            let at = Time(self.base.0 + i64::from(at));
            let kind = MarkKind::from_number(kind as u8);
            let version = match offset {
                FAR => self.version(place),
                offset => self.base.1.wrapping_add(u64::from(offset)),
            };
            let stretch = match open {
                Some(open) if at < open.end => open,
                _ => {
                    if let Some(open) = open {
                        take(open.first, &open.sums);
                    }
                    open.insert(OpenStretch {
                        first: at,
                        // A mark is in a stretch of its own if none could be made.
                        end: end_of(at).max(at.plus_micros(1)),
                        sums: Sums::default(),
                    })
                }
            };
            stretch.sums.add(at, kind, version);
        }
    }

    /// Adds the marks at `places` to `sums`.
    pub(super) fn sum(&self, places: Range<usize>, sums: &mut Sums) {
        let mut open = Some(OpenStretch {
            first: Time::default(),
            end: Time(i64::MAX),
            sums: *sums,
        });
        self.sum_by(places, &mut open, &mut |_| Time(i64::MAX), &mut |_, _| {});
        if let Some(open) = open {
            *sums = open.sums;
        }
    }

    /// Returns the index of the first bookmark or end of initial events from `from` on, before `to`.
    pub(super) fn next_bookmark(&self, from: usize, to: usize) -> Option<usize> {
        let mut place = from;
        while place < to {
            let group = self.groups.get(place / GROUP);
            let block = self.blocks.get(place / BLOCK);
            if place.is_multiple_of(GROUP) && group.is_some_and(|group| group.bookmarks == 0) {
                place += GROUP;
            } else if place.is_multiple_of(BLOCK) && block.is_some_and(|block| block.bookmarks == 0)
            {
                place += BLOCK;
            } else if self.kind(place).is_bookmark() {
                return Some(place);
            } else {
                place += 1;
            }
        }
        None
    }

    /// Removes the marks from index `place` on, and returns them.
    pub(super) fn split_off(&mut self, place: usize) -> Self {
        let copied = |from: usize, to: usize| {
            let mut run = Self::default();
            for place in from..to {
                run.push(
                    self.seq(place),
                    self.at(place),
                    self.kind(place),
                    self.version(place),
                );
            }
            run.shrink();
            run
        };
        let (before, behind) = (copied(0, place), copied(place, self.len()));
        *self = before;
        behind
    }

    /// Gives back the memory that no mark uses.
    pub(super) fn shrink(&mut self) {
        self.blocks.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.tail.shrink_to_fit();
        self.far.shrink_to_fit();
        self.groups.shrink_to_fit();
    }

    /// Estimates the run's size in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.blocks.capacity() * size_of::<Block>()
            + self.bytes.capacity()
            + self.tail.capacity() * size_of::<Numbers>()
            + self.far.capacity() * 16
            + self.groups.capacity() * size_of::<Sums>()
    }
}
