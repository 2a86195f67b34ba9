//! The server's list of chapters, loaded or not, and the order of epochs.

use watchscope_model::fold::Moment;
use watchscope_model::summary::TroubleKind;
use watchscope_model::wire::{Availability, CatalogueEntry};
use watchscope_model::{EpochId, LogId, Seq, Time, tree};

use super::cache::Store;
use super::chapter::Chapter;
use super::epoch::Epoch;

/// The order number of the epoch that is being written, as a server sends it; all other order numbers are less. Epochs
/// that were live before have the numbers just below, until a server sends their own.
const LIVE: u64 = u64::MAX;

impl Store {
    /// Makes the epoch of a head snapshot the live one, and returns its index. What is open in the previous live epoch
    /// ends at the seam.
    pub(super) fn go_live(&mut self, known: Option<usize>, log: LogId, id: EpochId) -> usize {
        let last = self.epochs.len().checked_sub(1);
        if known.is_some() && known == last {
            return last.unwrap_or(0);
        }
        if let Some(old) = self.epochs.last_mut() {
            old.end_live();
        }
        let epoch = match known {
            Some(place) => self.epochs.remove(place),
            None => Epoch::new(log, id, self.next_number(), LIVE),
        };
        // The other runs stay before it, in their order, until the server sends their places.
        for other in &mut self.epochs {
            if other.order > LIVE / 2 {
                other.order -= 1;
            }
            // Another server may not have them; it lists those that it has.
            for entry in &mut other.catalogue {
                if entry.availability == Availability::Kept {
                    entry.availability = Availability::Expired;
                }
            }
        }
        self.epochs.push(Epoch {
            order: LIVE,
            ..epoch
        });
        self.epochs.len() - 1
    }

    fn next_number(&self) -> u32 {
        let numbers = self.epochs.iter().map(|epoch| epoch.number + 1);
        numbers.max().unwrap_or(0)
    }

    /// Reads the list of an epoch's chapters that the server sent (message `Catalogue`), whole or in part. An entry
    /// replaces a known entry with the same first record; a merged entry replaces all known entries that begin within
    /// it. An epoch that the store does not know is added. `order` is the epoch's rank among the epochs: the oldest has
    /// the least. `entries` may come in any order; without entries, a known epoch only gets its `order`. The store
    /// keeps each entry that the server lists, also of expired chapters; nothing else bounds their number.
    pub fn list(&mut self, log: &LogId, id: &EpochId, order: u64, entries: Vec<CatalogueEntry>) {
        self.version += 1;
        self.trouble_version += 1;
        let place = self.epochs.iter().position(|epoch| epoch.id == *id);
        let place = place.unwrap_or_else(|| {
            let epoch = Epoch::new(log.clone(), id.clone(), self.next_number(), order);
            // There is a live run, because the catalogue comes after the first head.
            self.epochs.insert(0, epoch);
            0
        });
        let epoch = &mut self.epochs[place];
        epoch.order = order;
        entries.into_iter().for_each(|entry| epoch.list(entry));
        // A chapter that was dropped here and is kept there can be loaded again.
        if epoch.dropped.is_some_and(|last| epoch.is_kept(last.seq)) {
            epoch.dropped = None;
        }
        tree::sort_by_key(&mut self.epochs, |epoch| epoch.order);
        self.compare_over_seams();
    }

    /// Marks the listed chapter that holds the record `last` as expired at the server (message `Expired`); a merged
    /// entry is marked as a whole. If no listed chapter holds it, all unlisted records up to and including `last` count
    /// as expired. Loaded records stay. Does nothing for an unknown epoch.
    pub fn expired(&mut self, epoch: &EpochId, last: Seq) {
        self.mark(epoch, last, Availability::Expired);
    }

    /// Marks the listed chapter that holds a record as unreadable at the server (message `NotRead`); a merged entry is
    /// marked as a whole. The marked chapter counts as [`Coverage::Lost`](super::Coverage::Lost). If no listed chapter
    /// holds the record, all unlisted records up to and including it count as expired. Loaded records stay. Does
    /// nothing for an unknown epoch.
    pub fn not_read(&mut self, epoch: &EpochId, seq: Seq) {
        self.mark(epoch, seq, Availability::Lost);
    }

    fn mark(&mut self, epoch: &EpochId, last: Seq, availability: Availability) {
        let Some(epoch) = self.epochs.iter_mut().find(|other| other.id == *epoch) else {
            return;
        };
        self.version += 1;
        self.trouble_version += 1;
        let mut entries = epoch.catalogue.iter_mut();
        let entry = entries.find(|entry| entry.summary.first <= last && last <= entry.summary.last);
        if let Some(entry) = entry {
            entry.availability = availability;
            return;
        }
        let first = last.next();
        if epoch.ring_first.is_none_or(|known| known.seq < first) {
            // This time is approximate; the next heartbeat brings the exact one.
            let at = epoch
                .chapters
                .iter()
                .find(|chapter| chapter.last >= first)
                .map_or(Time(0), |chapter| chapter.from);
            let at = epoch.ring_first.map_or(at, |known| known.at.max(at));
            epoch.ring_first = Some(Moment { seq: first, at });
        }
    }

    /// Sets the stretch of time in view, edges included, in place of an earlier one; before the first call, nothing is
    /// in view. Chapters in view are not dropped while their encoded bytes are at most two fifths of the budget.
    pub fn look_at(&mut self, from: Time, to: Time) {
        self.looks_at = Some((from, to));
    }
}

impl Chapter {
    /// Whether the chapter reaches into a stretch of time.
    pub(super) fn is_within(&self, (from, to): (Time, Time)) -> bool {
        self.from <= to && from <= self.to
    }
}

impl Epoch {
    /// Returns the listed chapter that holds a record; `None` if no listed chapter does.
    fn listed(&self, seq: Seq) -> Option<&CatalogueEntry> {
        let behind = self
            .catalogue
            .partition_point(|entry| entry.summary.first <= seq);
        let entry = self.catalogue.get(behind.checked_sub(1)?)?;
        (seq <= entry.summary.last).then_some(entry)
    }

    /// Whether the server has the chapter of a record.
    pub(super) fn is_kept(&self, seq: Seq) -> bool {
        let listed = self.listed(seq);
        listed.is_some_and(|entry| entry.availability == Availability::Kept)
    }

    /// Returns the chapters that the server listed, by their first records; may be empty.
    pub(crate) fn catalogue(&self) -> &[CatalogueEntry] {
        &self.catalogue
    }

    /// Whether a listed chapter holds a record.
    pub(crate) fn lists(&self, seq: Seq) -> bool {
        self.listed(seq).is_some()
    }

    /// Returns begin and end of the gaps with lost events that begin in listed chapters which are not loaded, by
    /// chapter.
    pub(crate) fn listed_losses(&self) -> impl Iterator<Item = (Time, Time)> {
        let unloaded = self.catalogue.iter().filter(|entry| {
            let summary = &entry.summary;
            !self.has_all(summary.first, summary.last)
        });
        let troubles = unloaded.flat_map(|entry| &entry.summary.troubles);
        let lost = troubles.filter(|of| of.kind == TroubleKind::LostGap && !self.holds(of.start));
        lost.map(|of| (of.start, of.end()))
    }

    fn list(&mut self, entry: CatalogueEntry) {
        let (first, last) = (entry.summary.first, entry.summary.last);
        if entry.is_merged {
            self.catalogue
                .retain(|known| known.summary.first < first || known.summary.first > last);
        }
        let place = self
            .catalogue
            .partition_point(|known| known.summary.first < first);
        match self.catalogue.get_mut(place) {
            Some(known) if known.summary.first == first => *known = entry,
            _ => self.catalogue.insert(place, entry),
        }
    }
}
