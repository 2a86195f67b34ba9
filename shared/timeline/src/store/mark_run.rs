//! A run of neighbouring marks of a watch: columns of values, and sums over blocks of marks.
//!
//! ```text
//!   marks    |||||||||||||||||||||||||||||||||||…
//!   blocks   [   64   ][   64   ][   64   ]…       sums of 64 marks
//!   groups   [            1,024            ]…      sums of 16 blocks
//! ```
//! A picture of millions of marks adds up groups and blocks, and reads single marks only at the edges of its columns.

use std::ops::Range;

use watchscope_model::{Seq, Time};

use super::grow::push;
use super::mark_kind::{MarkKind, NO_VERSION};

/// Most marks that are appended to a run; the next mark begins another run. A run is one piece of memory, so few bytes
/// are moved when a run is cut. The number has no source.
pub(super) const MOST_MARKS: usize = 16_384;
/// The number of marks that a block sums up. Smaller blocks would take more memory: blocks of 64 take about 1 byte for
/// each mark. The number has no other source.
const BLOCK: usize = 64;
/// The number of marks that a group sums up: those of 16 blocks. The number has no source.
const GROUP: usize = 16 * BLOCK;
/// Distance from the base of a run up to its first mark, in µs for times and in numbers for versions. A version below
/// this number has the base 0. The distance is half of the range of a column of 32 bits. A mark whose time does not fit
/// (about 36 minutes before or after the first mark) begins another run. A version that does not fit is stored in
/// `far`.
const REACH: u64 = 1 << 31;
/// The value in the column of versions for a version that is stored in `far`, or is not a number.
const FAR: u32 = u32::MAX;

/// Sums over neighbouring marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Changes that a stream delivered: added, modified, deleted.
    pub(crate) live: [u32; 3],
    /// Changes that came by a list: added, modified, deleted.
    pub(crate) listed: [u32; 3],
    /// Bookmarks, and ends of initial events.
    pub(crate) bookmarks: u32,
    /// The resourceVersions that the marks moved their watch to; `None` if no mark moved it, or if the versions are no
    /// numbers.
    pub(crate) versions: Option<Versions>,
}

/// The versions that neighbouring marks moved their watch to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    /// The time of the first mark that moved the watch's version.
    pub(crate) since: Time,
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) last: u64,
}

impl Sums {
    /// Returns how many changes there are of each kind: added, modified, deleted.
    pub(crate) fn changes(&self) -> [u32; 3] {
        [0, 1, 2].map(|class| self.live[class] + self.listed[class])
    }

    fn add(&mut self, at: Time, kind: MarkKind, version: u64) {
        self.count(kind);
        if kind.moves_version() && version != NO_VERSION {
            self.join_versions(Versions {
                since: at,
                least: version,
                most: version,
                last: version,
            });
        }
    }

    #[inline]
    fn count(&mut self, kind: MarkKind) {
        let counts = if kind.is_by_list() {
            &mut self.listed
        } else {
            &mut self.live
        };
        if let Some(class) = kind.class() {
            counts[class] += 1;
        }
        self.bookmarks += u32::from(matches!(kind, MarkKind::Bookmark | MarkKind::InitialEnd));
    }

    /// Adds the sums of the marks that follow.
    fn join(&mut self, after: &Self) {
        for class in 0..3 {
            self.live[class] += after.live[class];
            self.listed[class] += after.listed[class];
        }
        self.bookmarks += after.bookmarks;
        if let Some(versions) = after.versions {
            self.join_versions(versions);
        }
    }

    fn join_versions(&mut self, after: Versions) {
        self.versions = Some(self.versions.map_or(after, |before| Versions {
            since: before.since,
            least: before.least.min(after.least),
            most: before.most.max(after.most),
            last: after.last,
        }));
    }
}

/// Neighbouring marks by rising seq: 14 bytes for each. A run in use has at least one mark.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkRun {
    /// The time of each mark, in µs from the base's time.
    at: Vec<u32>,
    seq: Vec<u32>,
    kind: Vec<MarkKind>,
    /// The version of each mark, as the difference from the base's version.
    version: Vec<u32>,
    /// Seqs and versions of the marks whose version is too far from the base, by rising seq.
    far: Vec<(u32, u64)>,
    /// The time and version from which the columns count; zeroes before the first mark.
    base: (i64, u64),
    blocks: Vec<Sums>,
    groups: Vec<Sums>,
}

impl MarkRun {
    pub(super) fn len(&self) -> usize {
        self.seq.len()
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
        let place = self.len();
        push(&mut self.at, offset);
        push(&mut self.seq, number);
        push(&mut self.kind, kind);
        push(&mut self.version, version_offset);
        for (sums, size) in [(&mut self.blocks, BLOCK), (&mut self.groups, GROUP)] {
            if place.is_multiple_of(size) {
                push(sums, Sums::default());
            }
            if let Some(last) = sums.last_mut() {
                last.add(at, kind, version);
            }
        }
        true
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> Time {
        Time(self.base.0 + i64::from(self.at[..][place]))
    }

    #[inline]
    pub(super) fn seq(&self, place: usize) -> Seq {
        Seq(u64::from(self.seq[..][place]))
    }

    #[inline]
    pub(super) fn kind(&self, place: usize) -> MarkKind {
        self.kind[..][place]
    }

    /// Returns the resourceVersion of a mark as a number, or [`NO_VERSION`].
    #[inline]
    pub(super) fn version(&self, place: usize) -> u64 {
        match self.version[..][place] {
            FAR => {
                let seq = self.seq[place];
                let far = self.far.binary_search_by_key(&seq, |far| far.0);
                far.map_or(NO_VERSION, |far| self.far[far].1)
            }
            offset => self.base.1.wrapping_add(u64::from(offset)),
        }
    }

    /// Returns the index of the first mark with at least this seq.
    pub(super) fn place_of(&self, seq: Seq) -> usize {
        self.seq.partition_point(|&other| u64::from(other) < seq.0)
    }

    /// Returns the index of the first mark at or after a time.
    pub(super) fn place_at(&self, at: Time) -> usize {
        let offset = at.0.saturating_sub(self.base.0);
        self.at.partition_point(|&other| i64::from(other) < offset)
    }

    /// Adds the marks from index `from` on to `sums`, and stops before index `to` or before the first mark at or after
    /// the time `end`. Returns the index after the last added mark.
    pub(super) fn sum_until(&self, from: usize, to: usize, end: Time, sums: &mut Sums) -> usize {
        let mut place = from;
        while place < to {
            let whole = [(&self.groups, GROUP), (&self.blocks, BLOCK)]
                .into_iter()
                .find(|&(_, size)| {
                    place.is_multiple_of(size)
                        && place + size <= to
                        && self.at(place + size - 1) < end
                });
            if let Some((whole, size)) = whole {
                sums.join(&whole[place / size]);
                place += size;
            } else {
                let stop = to.min((place / BLOCK + 1) * BLOCK);
                let offset = end.0.saturating_sub(self.base.0);
                let earlier = self.at[place..stop].partition_point(|&at| i64::from(at) < offset);
                self.add_each(place..place + earlier, sums);
                place += earlier;
                if place < stop {
                    break;
                }
            }
        }
        place
    }

    /// Adds single marks to `sums`. The columns are read as slices and the versions are joined once, since the edges of
    /// a picture's columns are most of its work.
    fn add_each(&self, places: Range<usize>, sums: &mut Sums) {
        let offsets = &self.version[places.clone()];
        if offsets.contains(&FAR) {
            for place in places {
                sums.add(self.at(place), self.kind(place), self.version(place));
            }
            return;
        }
        let mut moved: Option<(usize, [u32; 3])> = None;
        for (place, (&kind, &offset)) in places.clone().zip(self.kind[places].iter().zip(offsets)) {
            sums.count(kind);
            if kind.moves_version() {
                let (_, [least, most, last]) = moved.get_or_insert((place, [offset; 3]));
                (*least, *most, *last) = ((*least).min(offset), (*most).max(offset), offset);
            }
        }
        if let Some((first, offsets)) = moved {
            let [least, most, last] =
                offsets.map(|offset| self.base.1.wrapping_add(u64::from(offset)));
            let since = self.at(first);
            sums.join_versions(Versions {
                since,
                least,
                most,
                last,
            });
        }
    }

    /// Returns the index of the first bookmark or end of initial events from `from` on, before `to`.
    pub(super) fn next_bookmark(&self, from: usize, to: usize) -> Option<usize> {
        let mut place = from;
        while place < to {
            let none = [(&self.groups, GROUP), (&self.blocks, BLOCK)]
                .into_iter()
                .find(|&(whole, size)| {
                    place.is_multiple_of(size) && whole[place / size].bookmarks == 0
                });
            if let Some((_, size)) = none {
                place += size;
            } else if matches!(self.kind(place), MarkKind::Bookmark | MarkKind::InitialEnd) {
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
        self.at.shrink_to_fit();
        self.seq.shrink_to_fit();
        self.kind.shrink_to_fit();
        self.version.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.groups.shrink_to_fit();
    }

    /// Estimates the run's size in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.at.capacity() * 4
            + self.seq.capacity() * 4
            + self.kind.capacity()
            + self.version.capacity() * 4
            + self.far.capacity() * 16
            + (self.blocks.capacity() + self.groups.capacity()) * size_of::<Sums>()
    }
}
