//! The knowledge at a moment of the log: the fold of all records up to that moment.

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
    /// watchscope did not run at the moment, or the moment is before all that is known, or after both now and the last
    /// record.
    NotWatched,
    /// The records are gone (expired, dropped for lack of room, or lost), or they cannot be read.
    NotKept,
}

/// The knowledge at a moment of the log: the fold of all records up to that moment, itself included.
#[derive(Clone, Debug)]
pub struct AsOf {
    /// The requested moment.
    pub at: Time,
    /// The last record that the fold counts. The `seq` of this record is 0 if the epoch had no record yet.
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

    /// Returns the fold of all inside records up to that moment; empty for a real cluster.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Returns the input for functions that read a store as of the moment. `store` is the store that returned this
    /// value.
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

/// A store, with the records that count: all that are loaded, or those up to a moment.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub(crate) store: &'a Store,
    /// The fold up to the last record that counts; `None` before the first snapshot.
    pub(crate) state: Option<&'a State>,
    /// The number of the fold's epoch.
    pub(crate) epoch: u32,
    /// The last record that counts in the fold's epoch.
    pub(crate) until: Seq,
    /// The moment that the knowledge is of: now, or the requested moment.
    pub at: Time,
}

impl<'a> Known<'a> {
    /// Returns all that is loaded, as of the live head; before the first snapshot the result has no fold. `now` is the
    /// present on the log's clock.
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

    /// Returns the epochs that count, the oldest first: those up to the fold's epoch.
    pub(crate) fn epochs(&self) -> &'a [Epoch] {
        let epochs = self.store.epochs();
        let mut runs = epochs.iter();
        let last = runs.position(|epoch| epoch.number() == self.epoch);
        &epochs[..last.map_or(0, |last| last + 1)]
    }

    /// Returns the last record that counts in an epoch.
    pub(crate) fn until_in(&self, epoch: &Epoch) -> Seq {
        if epoch.number() == self.epoch {
            self.until
        } else {
            Seq(u64::MAX)
        }
    }
}

impl Store {
    /// Returns the knowledge at a moment, with the records of that moment. If two epochs overlap in time, the later one
    /// that is loaded at the moment counts. Reads at most one chapter. `now` is the present on the log's clock.
    ///
    /// # Errors
    /// Returns why the knowledge at that moment is unknown. [`Unknown::NotLoaded`]: the server has the records.
    /// [`Unknown::NotKept`]: the records are gone or cannot be read. [`Unknown::NotWatched`]: the moment lies in a
    /// seam, before all that is known, or after both `now` and the last record. On the border of two stretches of
    /// coverage, the later stretch decides.
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
