//! Marks of a watch in columns: their kind, time and resourceVersion.

use watchscope_model::event::Change;
use watchscope_model::fold::STEPS_KEPT;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::{Seq, Time};

use crate::glyph::Glyph;

/// The kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum MarkKind {
    Added,
    AddedByList,
    Modified,
    ModifiedByList,
    Status,
    StatusByList,
    Deleted,
    DeletedInferred,
    Bookmark,
    InitialEnd,
    List,
}

impl MarkKind {
    /// Returns the mark of a change; `status_only` comes from the fold.
    pub(crate) fn of(change: &Change, status_only: bool) -> Self {
        let listed = change.origin != Origin::Live;
        match (change.change, listed) {
            (ChangeType::Added, false) => Self::Added,
            (ChangeType::Added, true) => Self::AddedByList,
            (ChangeType::Deleted, false) => Self::Deleted,
            (ChangeType::Deleted, true) => Self::DeletedInferred,
            (_, false) if status_only => Self::Status,
            (_, true) if status_only => Self::StatusByList,
            (_, false) => Self::Modified,
            (_, true) => Self::ModifiedByList,
        }
    }

    /// Returns its glyph.
    pub(crate) fn glyph(self) -> Glyph {
        match self {
            Self::Added => Glyph::Added,
            Self::AddedByList => Glyph::AddedByList,
            Self::Modified => Glyph::Modified,
            Self::ModifiedByList => Glyph::ModifiedByList,
            Self::Status => Glyph::Status,
            Self::StatusByList => Glyph::StatusByList,
            Self::Deleted => Glyph::Deleted,
            Self::DeletedInferred => Glyph::DeletedInferred,
            Self::Bookmark => Glyph::Bookmark,
            Self::InitialEnd => Glyph::InitialEnd,
            Self::List => Glyph::Relist,
        }
    }

    /// Returns 0, 1 or 2 for added, modified and deleted; `None` if it is no change.
    pub(crate) fn class(self) -> Option<usize> {
        match self {
            Self::Added | Self::AddedByList => Some(0),
            Self::Modified | Self::ModifiedByList | Self::Status | Self::StatusByList => Some(1),
            Self::Deleted | Self::DeletedInferred => Some(2),
            Self::Bookmark | Self::InitialEnd | Self::List => None,
        }
    }

    /// Whether it is a change that came by a list.
    pub(crate) fn is_by_list(self) -> bool {
        matches!(
            self,
            Self::AddedByList | Self::ModifiedByList | Self::StatusByList | Self::DeletedInferred
        )
    }

    /// Whether it moves the watch's resourceVersion.
    pub(crate) fn moves_version(self) -> bool {
        !self.is_by_list()
    }
}

/// The version of a mark whose resourceVersion is not a number.
pub(crate) const NO_VERSION: u64 = u64::MAX;

/// Most distance in µs of a time from the trace's first mark: four years, half of the range of two columns with 48 bits.
/// A farther time is stored at that distance.
const AT_REACH: i64 = 1 << 47;
/// Most distance of a version from the trace's first: half of the range of a column with 32 bits. Farther versions are
/// stored in `far`.
const VERSION_REACH: u64 = 1 << 31;
/// Marks a version that is stored in `far`, or is not a number.
const FAR: u32 = u32::MAX;

/// Marks by rising seq, in columns: 15 bytes for each mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Marks {
    /// µs after the base's time: the lower 32 bits, and the 16 bits above them.
    at_low: Vec<u32>,
    at_high: Vec<u16>,
    seq: Vec<u32>,
    kind: Vec<MarkKind>,
    /// Difference from the base's version.
    version: Vec<u32>,
    /// Seqs and versions of the marks whose version is too far from the base, by rising seq.
    far: Vec<(u32, u64)>,
    /// The time and version from which the columns count; `None` before the first mark.
    base: Option<(i64, u64)>,
}

impl Marks {
    pub(crate) fn len(&self) -> usize {
        self.seq.len()
    }

    /// Appends a mark; its seq must be above all others.
    pub(crate) fn push(&mut self, seq: Seq, at: Time, kind: MarkKind, version: u64) {
        let (at_base, version_base) = *self.base.get_or_insert((
            at.0.saturating_sub(AT_REACH),
            version.saturating_sub(VERSION_REACH),
        ));
        let offset = at.0.saturating_sub(at_base).clamp(0, 2 * AT_REACH - 1);
        let version_offset = version.wrapping_sub(version_base);
        // An epoch with over 4,294,967,295 records would fill the page's memory first.
        let seq = u32::try_from(seq.0).unwrap_or(u32::MAX);
        let version_offset = match u32::try_from(version_offset) {
            Ok(offset) if offset != FAR && version != NO_VERSION => offset,
            _ => {
                if version != NO_VERSION {
                    self.far.push((seq, version));
                }
                FAR
            }
        };
        push(&mut self.at_low, offset as u32);
        push(&mut self.at_high, (offset >> 32) as u16);
        push(&mut self.seq, seq);
        push(&mut self.kind, kind);
        push(&mut self.version, version_offset);
    }

    #[inline]
    pub(crate) fn at(&self, place: usize) -> Time {
        let offset = i64::from(self.at_low[..][place]) | i64::from(self.at_high[..][place]) << 32;
        Time(self.base.map_or(0, |base| base.0) + offset)
    }

    #[inline]
    pub(crate) fn seq(&self, place: usize) -> Seq {
        Seq(u64::from(self.seq[..][place]))
    }

    #[inline]
    pub(crate) fn kind(&self, place: usize) -> MarkKind {
        self.kind[..][place]
    }

    /// Returns its resourceVersion as a number, or [`NO_VERSION`].
    #[inline]
    pub(crate) fn version(&self, place: usize) -> u64 {
        match self.version[..][place] {
            FAR => {
                let seq = self.seq[place];
                let far = self.far.binary_search_by_key(&seq, |far| far.0);
                far.map_or(NO_VERSION, |far| self.far[far].1)
            }
            offset => {
                let base = self.base.map_or(0, |base| base.1);
                base.wrapping_add(u64::from(offset))
            }
        }
    }

    /// Returns the index of the first mark with at least this seq.
    pub(crate) fn place_of(&self, seq: Seq) -> usize {
        self.seq.partition_point(|&other| u64::from(other) < seq.0)
    }

    /// Returns the index of the first mark at or after a time.
    pub(crate) fn place_at(&self, at: Time) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            if self.at(middle) < at {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Whether the versions have no order. The versions of a resource are all of one kind, so the first one decides.
    pub(crate) fn are_opaque(&self) -> bool {
        self.len() > 0 && self.version(0) == NO_VERSION
    }

    /// Returns the resourceVersion that a mark moved its watch to, if it did and it is a number.
    pub(crate) fn moved_to(&self, place: usize) -> Option<u64> {
        if place >= self.len() || !self.kind(place).moves_version() {
            return None;
        }
        Some(self.version(place)).filter(|&version| version != NO_VERSION)
    }

    /// Returns when the resourceVersion last moved before a mark, and its value.
    pub(crate) fn moved_before(&self, place: usize) -> Option<(Time, u64)> {
        let before = (0..place.min(self.len())).rev();
        before
            .filter_map(|place| Some((self.at(place), self.moved_to(place)?)))
            .next()
    }

    /// Returns how many of the upward steps by which the fold judges a jump are known before a mark, and the largest.
    pub(crate) fn steps_before(&self, place: usize) -> (u64, u64) {
        let (mut count, mut largest) = (0, 0);
        let mut values = (0..place.min(self.len()))
            .rev()
            .filter_map(|place| self.moved_to(place));
        let mut after = values.next();
        while let (Some(to), Some(from)) = (after, values.next())
            && count < STEPS_KEPT as u64
        {
            if to > from {
                (count, largest) = (count + 1, largest.max(to - from));
            }
            after = Some(from);
        }
        (count, largest)
    }

    /// Inserts a run of marks where its seqs belong; returns the index.
    pub(crate) fn insert(&mut self, other: &Self) -> usize {
        let Some(&first) = other.seq.first() else {
            return self.len();
        };
        let place = self.place_of(Seq(u64::from(first)));
        // The two bases may differ.
        let mut run = Self {
            base: self.base,
            ..Self::default()
        };
        for mark in 0..other.len() {
            run.push(
                other.seq(mark),
                other.at(mark),
                other.kind(mark),
                other.version(mark),
            );
        }
        self.base = run.base;
        self.at_low.splice(place..place, run.at_low);
        self.at_high.splice(place..place, run.at_high);
        self.seq.splice(place..place, run.seq);
        self.kind.splice(place..place, run.kind);
        self.version.splice(place..place, run.version);
        let far = self.far.partition_point(|far| far.0 < first);
        self.far.splice(far..far, run.far);
        place
    }

    /// Forgets the first `count` marks.
    pub(crate) fn forget(&mut self, count: usize) {
        if let Some(last) = count.checked_sub(1) {
            let last = self.seq[last];
            let gone = self.far.partition_point(|far| far.0 <= last);
            self.far.drain(..gone);
        }
        self.at_low.drain(..count);
        self.at_high.drain(..count);
        self.seq.drain(..count);
        self.kind.drain(..count);
        self.version.drain(..count);
    }

    /// Estimates its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.at_low.capacity() * 4
            + self.at_high.capacity() * 2
            + self.seq.capacity() * 4
            + self.kind.capacity()
            + self.version.capacity() * 4
            + self.far.capacity() * 16
    }
}

/// Appends to a column.
pub(crate) fn push<T>(column: &mut Vec<T>, value: T) {
    make_space(column, 1);
    column.push(value);
}

/// Makes space for `more` values. A column grows by an eighth, because doubling would leave up to half of it unused.
pub(crate) fn make_space<T>(column: &mut Vec<T>, more: usize) {
    if column.capacity() - column.len() < more {
        column.reserve_exact(more.max(column.len() / 8 + 4));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Mark = (u64, i64, u64);

    fn marks(list: &[Mark]) -> Marks {
        let mut marks = Marks::default();
        for &(seq, at, version) in list {
            marks.push(Seq(seq), Time(at), MarkKind::Modified, version);
        }
        marks
    }

    fn read(marks: &Marks) -> Vec<Mark> {
        let one = |place| {
            let (seq, at) = (marks.seq(place), marks.at(place));
            (seq.0, at.0, marks.version(place))
        };
        (0..marks.len()).map(one).collect()
    }

    /// Returns marks with rising seqs from `first` on.
    fn list(first: u64) -> impl Strategy<Value = Vec<Mark>> {
        let version = prop_oneof![
            1_000..2_000_u64,
            Just(NO_VERSION),
            Just(0),
            any::<u64>(),
            5_000_000_000..5_000_000_100_u64
        ];
        let mark = (1_790_000_000_000_000..1_790_900_000_000_000_i64, version);
        prop::collection::vec(mark, 0..40).prop_map(move |marks| {
            let numbered = (first..).zip(marks);
            numbered
                .map(|(seq, (at, version))| (seq, at, version))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn marks_read_back_as_they_were_pushed_whatever_their_versions(list in list(1)) {
            prop_assert_eq!(read(&marks(&list)), list);
        }

        #[test]
        fn a_run_goes_where_its_seqs_belong_and_the_oldest_can_be_forgotten(
            before in list(1), run in list(100), after in list(200), share in 0..100_usize,
        ) {
            let mut all = marks(&[before.clone(), after.clone()].concat());
            prop_assert_eq!(all.insert(&marks(&run)), if run.is_empty() { all.len() } else { before.len() });
            let mut wanted = [before, run, after].concat();
            prop_assert_eq!(read(&all), wanted.clone());
            let count = wanted.len() * share / 100;
            all.forget(count);
            wanted.drain(..count);
            prop_assert_eq!(read(&all), wanted);
        }
    }
}
