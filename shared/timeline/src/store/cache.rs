//! The store as a cache: all that the page holds of a log, within a budget of bytes. Beyond that budget chapters are
//! dropped.

use watchscope_model::fold::Moment;
use watchscope_model::{Seq, Time};

use super::encoded::KeepOutside;
use super::epoch::Epoch;
use super::names::Names;
use super::notes::KnownNotes;
use crate::levels::LayerNames;
use crate::record_run::RecordRun;

/// Default for the bytes that the page may hold of logs: 384 MiB. Beyond the budget chapters are dropped, the oldest
/// first. The newest live chapter stays, and so do chapters in view within two fifths of the budget. The budget holds
/// ten million change records and more. A record takes 15.2 B encoded (docs/benchmarks.md, record-bytes), and at most
/// 14 B in traces, so ten million take 280 MiB. The 14 B are the WebAssembly memory that `mark_run.rs` states for each
/// record of ten million.
pub const DEFAULT_BUDGET_BYTES: usize = 384 << 20;
/// Encoded bytes after which the live log is cut into a new chapter: 1 MiB, or 1/128 of a budget below 128 MiB. So the
/// oldest part of the live log can be dropped alone. 1 MiB is the server's number: the server closes a chapter that
/// exceeds both 1 MiB and its opening (`shared/log/src/sealer.rs`).
const CHAPTER_BYTES: usize = 1 << 20;
/// Share of the budget, in fifths, that the encoded bytes in view may take: two. Beyond this share no more chapters are
/// requested, and chapters in view may be dropped. The traces of chapters take less than the encoded bytes,
/// so both together take at most four fifths of the budget.
const SHOWN_FIFTHS: usize = 2;
/// Divisor of the budget: the size is checked again after each 1/128 of it that was read, because a check looks at all
/// traces. For a small budget, 1/128 of it is also the size at which the live log is cut. The number has no source.
const WEIGH_SHARE: usize = 128;

/// All that the page holds of a log: chapters, traces, names and notes. Above its budget of bytes it drops chapters, as
/// [`Store::new`] says. The budget counts only chapters and traces. Names grow with the watches, objects, servers and
/// layers met, and never shrink. `watchscope_model::Notes` bounds the notes. The store's lists of chapters are as long
/// as the server's.
#[derive(Debug)]
pub struct Store {
    /// The epochs, the oldest first. The last epoch is the live one, if there is a live one.
    pub(super) epochs: Vec<Epoch>,
    pub(super) names: Names,
    pub(super) layer_names: LayerNames,
    /// Notes that persons wrote.
    pub(super) notes: KnownNotes,
    pub(super) budget_bytes: usize,
    /// The function that keeps the bytes of finished chapters outside; `None` if they stay in the store's memory.
    pub(super) outside: Option<KeepOutside>,
    /// Encoded bytes after which the live log is cut.
    pub(super) chapter_bytes: usize,
    /// Bytes read since the size was last checked.
    pub(super) unweighed_bytes: usize,
    /// The stretch of time in view; `None` if the page has named none.
    pub(super) looks_at: Option<(Time, Time)>,
    pub(super) version: u64,
    /// A number that rises whenever trouble may have changed.
    pub(super) trouble_version: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_BUDGET_BYTES)
    }
}

impl Store {
    /// Returns an empty store that holds about `budget_bytes` of chapters and traces. Above this budget, chapters are
    /// dropped, the oldest first. The newest chapter of the live epoch is never dropped. Chapters in view
    /// ([`Store::look_at`]) are not dropped while their encoded bytes are at most two fifths of the budget. So the
    /// store may exceed the budget. The store's size is checked after each 1/128 of the budget that was read from
    /// segments and chapters.
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

    /// Keeps encoded bytes outside of the store's memory from now on. A chapter of the past is kept outside when it is
    /// read. A chapter of the live log is kept outside when the log is cut after it. The last live chapter, and a live
    /// chapter that ended at a new snapshot, stay in the store's memory. All these bytes count in the budget.
    pub fn keep_outside(&mut self, keep: KeepOutside) {
        self.outside = Some(keep);
    }

    /// Returns a number that rises whenever a change of the store may change the picture; notes have a number of their
    /// own ([`Store::notes_version`]).
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns a number that rises whenever a change of the store may have changed its trouble. It also rises with each
    /// change that does more than append live records (a snapshot, a chapter of the past, a catalogue, a drop). The
    /// number stays the same while live records change only objects. It also stays the same when a wait becomes trouble
    /// because it lasts over 5 s; [`Troubles::is_behind`](crate::troubles::Troubles::is_behind) notices that, too.
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

    /// Drops chapters out of view, the oldest first, while the store is over its budget. The newest live chapter, and
    /// chapters in view within their two fifths, are not dropped, so the store may exceed the budget.
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

    /// Returns the most encoded bytes that chapters in view may take: two fifths of the budget.
    pub(super) fn most_shown_bytes(&self) -> usize {
        self.budget_bytes / 5 * SHOWN_FIFTHS
    }

    /// Drops the oldest chapter that may be dropped. Returns whether there was one: neither the newest live chapter nor
    /// a kept chapter in view.
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
