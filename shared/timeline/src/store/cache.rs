//! The store as a cache: all that the page holds of a log, within a budget of bytes. Beyond it chapters are dropped.

use watchscope_model::fold::Moment;
use watchscope_model::{Seq, Time};

use super::encoded::KeepOutside;
use super::epoch::Epoch;
use super::names::Names;
use super::notes::KnownNotes;
use crate::levels::LayerNames;
use crate::record_run::RecordRun;

/// Default for the bytes that the page may hold of logs: 384 MiB. Beyond it chapters are dropped. It holds ten
/// million change records: at 15.2 B encoded (docs/benchmarks.md, record-bytes) and 19 B in traces, they take 326 MiB.
pub const DEFAULT_BUDGET_BYTES: usize = 384 << 20;
/// Most encoded bytes after which the live log is cut: 1 MiB, or 1/128 of a budget below 128 MiB. So its oldest part
/// can be dropped alone. The server seals its chapters at 1 MiB, too (`shared/log/src/sealer.rs`).
const CHAPTER_BYTES: usize = 1 << 20;
/// Share of the budget, in fifths, that the encoded bytes in view may take: two. Beyond it nothing more is requested,
/// and they may be dropped. Their traces take about five quarters of as much.
const SHOWN_FIFTHS: usize = 2;
/// Divisor of the budget: the size is checked again after each 1/128 of it that was read, because a check looks at all
/// traces. A small budget cuts the live log by it, too. The number has no source.
const WEIGH_SHARE: usize = 128;

/// All that the page holds of a log: chapters, traces, names and notes. Above its budget of bytes it drops chapters,
/// as [`Store::new`] says. The budget does not count the rest. Names grow with the watches, objects, servers and layers
/// met, and never shrink. `watchscope_model::Notes` bounds the notes. Nothing bounds the lists of chapters but the
/// server's.
#[derive(Debug)]
pub struct Store {
    /// The oldest first. The last one is live, once there is a live one.
    pub(super) epochs: Vec<Epoch>,
    pub(super) names: Names,
    pub(super) layer_names: LayerNames,
    /// Notes of persons.
    pub(super) notes: KnownNotes,
    pub(super) budget_bytes: usize,
    /// Where the bytes of chapters go that do not change any more; `None` if they stay here.
    pub(super) outside: Option<KeepOutside>,
    /// Encoded bytes after which the live log is cut.
    pub(super) chapter_bytes: usize,
    /// Bytes read since the size was last checked.
    pub(super) unweighed_bytes: usize,
    /// The stretch of time in view.
    pub(super) looks_at: Option<(Time, Time)>,
    pub(super) version: u64,
    /// A number that changes whenever trouble may have changed.
    pub(super) trouble_version: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_BUDGET_BYTES)
    }
}

impl Store {
    /// Returns an empty store that holds about `budget_bytes` of chapters and traces. Above it, chapters are dropped,
    /// the oldest first. The newest chapter of the live run stays. While the encoded bytes of the chapters in view
    /// ([`Store::look_at`]) are at most two fifths of the budget, these stay too. The store may then exceed the budget.
    /// Its size is checked after each 1/128 of the budget that was read from segments and chapters.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            epochs: Vec::new(),
            names: Names::default(),
            layer_names: LayerNames::default(),
            notes: KnownNotes::default(),
            budget_bytes,
            outside: None,
            chapter_bytes: (budget_bytes / WEIGH_SHARE).min(CHAPTER_BYTES),
            unweighed_bytes: 0,
            looks_at: None,
            version: 0,
            trouble_version: 0,
        }
    }

    /// Has the bytes of chapters that come from now on kept outside; they count in the budget as before.
    pub fn keep_outside(&mut self, keep: KeepOutside) {
        self.outside = Some(keep);
    }

    /// Returns a number that rises whenever the picture may change; notes have a number of their own
    /// ([`Store::notes_version`]).
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns a number that rises whenever trouble may have changed. It stays while only objects change.
    #[must_use]
    pub fn trouble_version(&self) -> u64 {
        self.trouble_version
    }

    /// Estimates the bytes held: encoded chapters, the folds at cuts of the live log, and traces. Names, notes and the
    /// fold at the head do not count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.epochs.iter().map(Epoch::bytes).sum()
    }

    /// Drops chapters out of view, the oldest first, while the store is over its budget. The newest live chapter and
    /// those in view stay, so the store may exceed the budget.
    pub(super) fn make_room(&mut self, taken_bytes: usize) {
        self.unweighed_bytes += taken_bytes;
        if self.unweighed_bytes < self.budget_bytes / WEIGH_SHARE {
            return;
        }
        self.unweighed_bytes = 0;
        while self.bytes() > self.budget_bytes && self.drop_oldest() {
            self.trouble_version += 1;
        }
    }

    /// Returns how many encoded bytes may be in view.
    pub(super) fn most_shown_bytes(&self) -> usize {
        self.budget_bytes / 5 * SHOWN_FIFTHS
    }

    /// Drops the oldest chapter that may go. Returns whether there was one beside the newest and those in view.
    pub(super) fn drop_oldest(&mut self) -> bool {
        // Chapters in view stay if they take at most two fifths of the budget.
        let stays = self
            .looks_at
            .filter(|&(from, to)| self.shown_bytes(from, to) <= self.most_shown_bytes());
        let found = (0..).zip(&self.epochs).find_map(|(run, epoch)| {
            let without_newest = epoch.chapters.len() - usize::from(epoch.live.is_some());
            let mut chapters = epoch.chapters[..without_newest].iter();
            let place =
                chapters.position(|chapter| !stays.is_some_and(|at| chapter.is_within(at)))?;
            Some((run, place))
        });
        let Some((run, place)) = found else {
            return false;
        };
        let epoch: &mut Epoch = &mut self.epochs[run];
        let oldest = epoch.chapters.remove(place);
        let is_first = place == 0;
        // The records between two loaded chapters are forgotten as one run, so that no stretch within it stays.
        let before = place
            .checked_sub(1)
            .map(|before| epoch.chapters[before].last);
        let after = epoch.chapters.get(place);
        let after = after.map(|after| (Seq(after.first.0.saturating_sub(1)), after.from));
        let (last, to) = after.unwrap_or((oldest.last, oldest.to));
        let forgotten = RecordRun {
            first: before.map_or(Seq(0), Seq::next),
            last,
            to,
        };
        epoch.trace.forget(forgotten);
        epoch.layer_trace.forget(forgotten);
        // Chapters that the server still has are loaded again when they come into view.
        if is_first && !epoch.is_kept(oldest.last) {
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
