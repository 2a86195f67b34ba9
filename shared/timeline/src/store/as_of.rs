//! The knowledge at a moment of the log: the fold of all records up to it.

use watchscope_model::{Layers, Seq, State, Time};

use super::cache::Store;
use super::chapter::Chapter;
use super::coverage::Coverage;
use super::epoch::Epoch;
use crate::id::RecordId;

/// Why the knowledge at a moment is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The server has the records, and they are not loaded yet.
    NotLoaded,
    /// watchscope did not run, or the moment is before all that is known, or after both now and the last record.
    NotWatched,
    /// The records are gone (expired, dropped for lack of room, or lost), or they cannot be read.
    NotKept,
}

/// The knowledge at a moment of the log: the fold of all records up to it, with those of the moment itself.
#[derive(Clone, Debug)]
pub struct AsOf {
    /// The requested moment.
    pub at: Time,
    /// The last record that the fold counts. Its `seq` is 0 if the run had no record yet.
    pub record: RecordId,
    state: State,
    layers: Layers,
}

impl AsOf {
    /// Returns the fold of all records up to that moment, with those of the moment itself.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the fold of the inside; empty for a real cluster.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Returns the input for functions that read a store as of the moment. `store` is the one that returned this.
    #[must_use]
    pub fn known<'a>(&'a self, store: &'a Store) -> Known<'a> {
        Known {
            store,
            state: Some(&self.state),
            epoch: self.record.epoch,
            until: self.record.seq,
            at: self.at,
        }
    }
}

/// A store, and the last record that counts: all that is loaded, or as of a moment.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub(crate) store: &'a Store,
    /// The fold up to there; `None` before the first snapshot.
    pub(crate) state: Option<&'a State>,
    /// The run of the fold.
    pub(crate) epoch: u32,
    /// The last record of that run that counts.
    pub(crate) until: Seq,
    /// The time of that moment: the pen's time, or the requested moment.
    pub at: Time,
}

impl<'a> Known<'a> {
    /// Returns all that is loaded, as of the live head; without a fold before the first snapshot. `now` is the pen's
    /// time.
    #[must_use]
    pub fn now(store: &'a Store, now: Time) -> Self {
        Self {
            store,
            state: store.state(),
            epoch: store.newest_epoch().unwrap_or(0),
            until: Seq(u64::MAX),
            at: now,
        }
    }

    /// Returns the runs that count, the oldest first.
    pub(crate) fn epochs(&self) -> &'a [Epoch] {
        let epochs = self.store.epochs();
        let mut runs = epochs.iter();
        let last = runs.position(|epoch| epoch.number() == self.epoch);
        &epochs[..last.map_or(0, |last| last + 1)]
    }

    /// Returns the last record of a run that counts.
    pub(crate) fn until_in(&self, epoch: &Epoch) -> Seq {
        if epoch.number() == self.epoch {
            self.until
        } else {
            Seq(u64::MAX)
        }
    }
}

impl Store {
    /// Returns the knowledge at a moment, with the records of that moment. If two runs overlap, the later one that is
    /// loaded there counts. Reads at most one chapter. `now` is the pen's time.
    ///
    /// # Errors
    /// Returns why the knowledge at that moment is unknown. [`Unknown::NotLoaded`]: the server has the records.
    /// [`Unknown::NotKept`]: they are gone or cannot be read. [`Unknown::NotWatched`]: it lies in a seam, before all
    /// that is known, or after both `now` and the last record. On the border of two stretches the later one decides.
    pub fn as_of(&self, at: Time, now: Time) -> Result<AsOf, Unknown> {
        let stretches = self.coverage(now);
        let stretch = stretches
            .iter()
            .rfind(|stretch| stretch.from <= at && at <= stretch.to);
        match stretch.map(|stretch| stretch.coverage) {
            Some(Coverage::Loaded) => {}
            Some(Coverage::NotLoaded) => return Err(Unknown::NotLoaded),
            Some(Coverage::Expired | Coverage::Dropped | Coverage::Lost) => {
                return Err(Unknown::NotKept);
            }
            Some(Coverage::Seam) | None => return Err(Unknown::NotWatched),
        }
        let mut epochs = self.epochs().iter().rev();
        let found = epochs.find_map(|epoch| {
            let mut chapters = epoch.chapters.iter().rev();
            let chapter = chapters.find(|chapter| chapter.from <= at)?;
            // A run may have ended by then because a clock was set back.
            let reaches = at <= chapter.to || epoch.live.is_some();
            reaches.then_some((epoch, chapter))
        });
        let (epoch, chapter): (&Epoch, &Chapter) = found.ok_or(Unknown::NotLoaded)?;
        let fold = chapter.fold_while(|entry, _| entry.at() <= at);
        let (state, layers) = fold.ok_or(Unknown::NotKept)?;
        Ok(AsOf {
            at,
            record: RecordId {
                epoch: epoch.number(),
                seq: state.seq,
            },
            state,
            layers,
        })
    }
}
