//! Marks of a watch in columns: what came, when, and at which resourceVersion.

use watchscope_model::event::Change;
use watchscope_model::fold::STEPS_KEPT;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::{Seq, Time};

use crate::glyph::Glyph;

/// What a mark is.
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
    /// The mark of a change; `status_only` by the fold.
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

    /// How it is drawn.
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

    /// Added, modified, deleted as 0, 1, 2; nothing for what is no change.
    pub(crate) fn class(self) -> Option<usize> {
        match self {
            Self::Added | Self::AddedByList => Some(0),
            Self::Modified | Self::ModifiedByList | Self::Status | Self::StatusByList => Some(1),
            Self::Deleted | Self::DeletedInferred => Some(2),
            Self::Bookmark | Self::InitialEnd | Self::List => None,
        }
    }

    /// Whether it moves the watch's resourceVersion.
    pub(crate) fn moves_version(self) -> bool {
        !matches!(
            self,
            Self::AddedByList | Self::ModifiedByList | Self::StatusByList | Self::DeletedInferred
        )
    }
}

/// The object column of a mark that is of no object.
pub(crate) const NO_OBJECT: u32 = u32::MAX;
/// The version column of a mark whose resourceVersion is no number.
pub(crate) const NO_VERSION: u64 = u64::MAX;

/// Marks in the order of their seqs, in columns: 25 bytes a mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Marks {
    pub(crate) at: Vec<i64>,
    seq: Vec<u32>,
    pub(crate) kind: Vec<MarkKind>,
    pub(crate) object: Vec<u32>,
    pub(crate) version: Vec<u64>,
}

impl Marks {
    pub(crate) fn len(&self) -> usize {
        self.at.len()
    }

    /// Appends a mark; its seq is above all others.
    pub(crate) fn push(&mut self, seq: Seq, at: Time, kind: MarkKind, object: u32, version: u64) {
        self.at.push(at.0);
        // An epoch of over four thousand million records ends a page's memory long before its numbers do.
        self.seq.push(u32::try_from(seq.0).unwrap_or(u32::MAX));
        self.kind.push(kind);
        self.object.push(object);
        self.version.push(version);
    }

    pub(crate) fn seq(&self, place: usize) -> Seq {
        Seq(u64::from(self.seq[place]))
    }

    /// The place of the first mark with at least this seq.
    pub(crate) fn place_of(&self, seq: Seq) -> usize {
        self.seq.partition_point(|&other| u64::from(other) < seq.0)
    }

    /// The place of the first mark at or after a time.
    pub(crate) fn place_at(&self, at: Time) -> usize {
        self.at.partition_point(|&other| other < at.0)
    }

    /// The resourceVersion a mark moved its watch to, if it did and it is a number.
    pub(crate) fn moved_to(&self, place: usize) -> Option<u64> {
        let version = *self.version.get(place)?;
        (version != NO_VERSION && self.kind[place].moves_version()).then_some(version)
    }

    /// When the resourceVersion moved last before a mark, and where to.
    pub(crate) fn moved_before(&self, place: usize) -> Option<(Time, u64)> {
        let before = (0..place.min(self.len())).rev();
        before
            .filter_map(|place| Some((Time(self.at[place]), self.moved_to(place)?)))
            .next()
    }

    /// How many steps up, of the last the fold judges a jump by, are known before a mark, and the largest.
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

    /// Whether no mark lies between two times.
    pub(crate) fn is_empty_between(&self, left: Time, right: Time) -> bool {
        self.at
            .get(self.place_at(left))
            .is_none_or(|&at| at > right.0)
    }

    /// Puts a run of marks where its seqs belong; returns the place.
    pub(crate) fn insert(&mut self, other: Self) -> usize {
        let Some(&first) = other.seq.first() else {
            return self.len();
        };
        let place = self.place_of(Seq(u64::from(first)));
        self.at.splice(place..place, other.at);
        self.seq.splice(place..place, other.seq);
        self.kind.splice(place..place, other.kind);
        self.object.splice(place..place, other.object);
        self.version.splice(place..place, other.version);
        place
    }

    /// Forgets the first `count` marks.
    pub(crate) fn forget(&mut self, count: usize) {
        self.at.drain(..count);
        self.seq.drain(..count);
        self.kind.drain(..count);
        self.object.drain(..count);
        self.version.drain(..count);
    }
}
