//! The store as a cache: all the page holds of a log, within a budget of bytes, and what is let go when that is exceeded.

use watchscope_model::Time;
use watchscope_model::fold::Moment;

use super::epoch::Epoch;
use super::names::Names;
use super::notes::KnownNotes;
use crate::levels::LayerNames;

/// Bytes the page may hold of logs, unless told otherwise.
pub const DEFAULT_BUDGET_BYTES: usize = 384 << 20;
/// The live log is cut after at most so many encoded bytes.
const CHAPTER_BYTES: usize = 1 << 20;
/// No more is asked for once the encoded bytes in view are this part of the budget: what is drawn from them takes about as
/// much again.
pub(super) const SHOWN_SHARE: usize = 3;
/// The budget is looked at each time this share of it was taken in.
const WEIGH_SHARE: usize = 128;

/// All the page holds of a log.
#[derive(Debug)]
pub struct Store {
    /// The oldest first; the last is the live one, once there is one.
    pub(super) epochs: Vec<Epoch>,
    pub(super) names: Names,
    pub(super) layer_names: LayerNames,
    /// Notes of persons.
    pub(super) notes: KnownNotes,
    pub(super) budget_bytes: usize,
    /// The live log is cut after so many encoded bytes.
    pub(super) chapter_bytes: usize,
    /// Bytes taken in since the budget was last looked at.
    pub(super) unweighed_bytes: usize,
    /// The stretch of time that is looked at.
    pub(super) looks_at: Option<(Time, Time)>,
    pub(super) version: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_BUDGET_BYTES)
    }
}

impl Store {
    /// An empty store that holds at most about `budget_bytes`.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            epochs: Vec::new(),
            names: Names::default(),
            layer_names: LayerNames::default(),
            notes: KnownNotes::default(),
            budget_bytes,
            chapter_bytes: (budget_bytes / WEIGH_SHARE).min(CHAPTER_BYTES),
            unweighed_bytes: 0,
            looks_at: None,
            version: 0,
        }
    }

    /// Changes whenever the picture may.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// About how many bytes are held, encoded chapters included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.epochs.iter().map(Epoch::bytes).sum()
    }

    /// Lets go of chapters while more than the budget is held: first of those of earlier runs that are not looked at, which
    /// can be loaded again, then of the oldest. The newest stays, and so does what is looked at: with that up to a third more
    /// than the budget may be held.
    pub(super) fn make_room(&mut self, taken_bytes: usize) {
        self.unweighed_bytes += taken_bytes;
        if self.unweighed_bytes < self.budget_bytes / WEIGH_SHARE {
            return;
        }
        self.unweighed_bytes = 0;
        while self.bytes() > self.budget_bytes {
            if !self.unload() && !self.drop_oldest() {
                return;
            }
        }
    }

    /// Drops the oldest chapter that may go; returns whether there was one beside the newest.
    pub(super) fn drop_oldest(&mut self) -> bool {
        // What a person looks at stays, as long as it is a small part.
        let stays = self
            .looks_at
            .filter(|&(from, to)| self.shown_bytes(from, to) <= self.budget_bytes / SHOWN_SHARE);
        let can_go = |epoch: &&mut Epoch| {
            let is_newest = epoch.live.is_some() && epoch.chapters.len() == 1;
            let oldest = epoch.chapters.first().filter(|_| !is_newest);
            oldest.is_some_and(|chapter| !stays.is_some_and(|at| chapter.is_within(at)))
        };
        let Some(epoch) = self.epochs.iter_mut().find(can_go) else {
            return false;
        };
        let oldest = epoch.chapters.remove(0);
        epoch.trace.forget(oldest.last, oldest.to);
        epoch.layer_trace.forget(oldest.last);
        // What the server still has is loaded again when it is looked at.
        if !epoch.is_kept(oldest.last) {
            let dropped = Moment {
                seq: oldest.last,
                at: oldest.to,
            };
            epoch.dropped = epoch.dropped.max(Some(dropped));
        }
        self.let_notes_go();
        true
    }
}
