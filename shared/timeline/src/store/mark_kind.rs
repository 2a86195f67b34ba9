//! The kinds of a watch's marks.

use watchscope_model::event::Change;
use watchscope_model::vocabulary::{ChangeType, Origin};

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

/// All kinds, in the order of their numbers.
const ALL: [MarkKind; 11] = [
    MarkKind::Added,
    MarkKind::AddedByList,
    MarkKind::Modified,
    MarkKind::ModifiedByList,
    MarkKind::Status,
    MarkKind::StatusByList,
    MarkKind::Deleted,
    MarkKind::DeletedInferred,
    MarkKind::Bookmark,
    MarkKind::InitialEnd,
    MarkKind::List,
];

impl MarkKind {
    /// Returns the number of the kind, which fits into four bits.
    #[inline]
    pub(super) fn number(self) -> u8 {
        self as u8
    }

    /// Returns the kind with a number. For a number that no kind has, it returns the last kind.
    #[inline]
    pub(super) fn from_number(number: u8) -> Self {
        let place = usize::from(number).min(ALL.len() - 1);
        ALL[place]
    }

    /// Returns the kind of a change's mark; `status_only` comes from the fold.
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

    /// Returns the glyph of the kind.
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

    /// Returns 0, 1 or 2 for added, modified and deleted; `None` if the kind is no change of an object.
    pub(crate) fn class(self) -> Option<usize> {
        match self {
            Self::Added | Self::AddedByList => Some(0),
            Self::Modified | Self::ModifiedByList | Self::Status | Self::StatusByList => Some(1),
            Self::Deleted | Self::DeletedInferred => Some(2),
            Self::Bookmark | Self::InitialEnd | Self::List => None,
        }
    }

    /// Whether the kind is a change that came by a list.
    pub(crate) fn is_by_list(self) -> bool {
        matches!(
            self,
            Self::AddedByList | Self::ModifiedByList | Self::StatusByList | Self::DeletedInferred
        )
    }

    /// Whether the kind is a bookmark or the end of initial events.
    pub(crate) fn is_bookmark(self) -> bool {
        matches!(self, Self::Bookmark | Self::InitialEnd)
    }

    /// Whether a mark of the kind moves the watch's resourceVersion.
    pub(crate) fn moves_version(self) -> bool {
        !self.is_by_list()
    }
}

/// The value that stands for the version of a mark whose resourceVersion is not a number. A row of a table without a
/// version has it, too.
pub(crate) const NO_VERSION: u64 = u64::MAX;
