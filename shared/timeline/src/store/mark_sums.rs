//! Sums over neighbouring marks.

use watchscope_model::Time;

use super::mark_kind::{MarkKind, NO_VERSION};

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
    /// The lowest version.
    pub(crate) least: u64,
    /// The highest version.
    pub(crate) most: u64,
    /// The version of the last mark that moved the watch's version.
    pub(crate) last: u64,
}

impl Sums {
    /// Returns how many changes there are of each kind: added, modified, deleted.
    pub(crate) fn changes(&self) -> [u32; 3] {
        [0, 1, 2].map(|class| self.live[class] + self.listed[class])
    }

    /// Adds a mark.
    pub(super) fn add(&mut self, at: Time, kind: MarkKind, version: u64) {
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

    /// Counts a mark, without its version.
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
        self.bookmarks += u32::from(kind.is_bookmark());
    }

    /// Adds the sums of the marks that follow.
    pub(super) fn join(&mut self, after: &Self) {
        for class in 0..3 {
            self.live[class] += after.live[class];
            self.listed[class] += after.listed[class];
        }
        self.bookmarks += after.bookmarks;
        if let Some(versions) = after.versions {
            self.join_versions(versions);
        }
    }

    /// Adds the versions of the marks that follow.
    fn join_versions(&mut self, after: Versions) {
        self.versions = Some(self.versions.map_or(after, |before| Versions {
            since: before.since,
            least: before.least.min(after.least),
            most: before.most.max(after.most),
            last: after.last,
        }));
    }
}
