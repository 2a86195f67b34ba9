//! The viewer's commands that concern all lanes: grouping, sorting, folding, pins, hidden lanes.

use super::setup::{Folding, Grouping, Setup, Sorting};
use super::tree::Lanes;
use crate::id::{LaneId, WatchId};
use crate::store::Store;

/// The outcome of a pin, or of hiding a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The lane is pinned, or hidden, now.
    Done,
    /// The lane was pinned before the command, and is not pinned now.
    Undone,
    /// The lane belongs to no watch, so it cannot be pinned or hidden.
    Impossible,
    /// Refused: as many lanes are pinned or hidden as may be, or [`Setup`] refuses the lane's key.
    Full,
}

impl Lanes {
    /// Returns the viewer's wishes for all lanes; the default ones if none were set.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Replaces all present wishes by those of a link, or by those that a page stored.
    pub fn set_setup(&mut self, setup: Setup) {
        self.setup = setup;
        self.resolved = None;
    }

    /// Sets the grouping of the lanes; the next rows show it.
    pub fn group_by(&mut self, grouping: Grouping) {
        self.setup.grouping = grouping;
    }

    /// Sets the sorting of the lanes; the next rows show it.
    pub fn sort_by(&mut self, sorting: Sorting) {
        self.setup.sorting = sorting;
    }

    /// Makes all watches strips, also those that the viewer opened. If all are folded so already, and the viewer has
    /// opened or closed no watch since, watches open by themselves again instead. In both cases the rows of gone
    /// objects and of quiet watches close. With [`Lanes::shows_all`] the call opens all watches instead.
    pub fn collapse_all(&mut self) {
        let is_again = self.setup.folding == Folding::Strips && self.choices.is_empty();
        self.setup.folding = if is_again {
            Folding::ByItself
        } else {
            Folding::Strips
        };
        self.choices = Default::default();
        self.quiet_is_open = false;
        self.gone_open.clear();
    }

    /// Opens the watches with trouble, except those that the viewer closed, from the next rows on. Other watches stay
    /// as they are ([`Folding::Trouble`]). A second call in a row changes nothing.
    pub fn open_trouble(&mut self) {
        self.setup.folding = Folding::Trouble;
    }

    /// Pins a lane below the lanes already pinned, or unpins it if it is pinned; returns which of the two happened, or
    /// why neither did. A lane of a watch's resourceVersion, or of objects without rows, stands for the watch.
    pub fn toggle_pin(&mut self, store: &Store, lane: LaneId) -> Deed {
        let Some(key) = key_of(store, lane) else {
            return Deed::Impossible;
        };
        self.resolved = None;
        if self.setup.unpin(&key) {
            return Deed::Undone;
        }
        match self.setup.pin(&key) {
            true => Deed::Done,
            false => Deed::Full,
        }
    }

    /// Hides a lane, and unpins it; returns whether that was possible. A lane that is hidden already stays hidden, with
    /// [`Deed::Done`]. A lane of a watch's resourceVersion, or of objects without rows, stands for the watch.
    pub fn hide(&mut self, store: &Store, lane: LaneId) -> Deed {
        let Some(key) = key_of(store, lane) else {
            return Deed::Impossible;
        };
        self.resolved = None;
        match self.setup.hide(&key) {
            true => Deed::Done,
            false => Deed::Full,
        }
    }

    /// Shows a hidden lane again, by its key. Does nothing if the lane is not hidden.
    pub fn show_hidden(&mut self, key: &str) {
        self.setup.show(key);
        self.resolved = None;
    }

    /// Shows all hidden lanes again.
    pub fn show_all_hidden(&mut self) {
        self.setup.show_all();
        self.resolved = None;
    }

    /// Moves a pinned lane down by `by` positions among the pinned lanes, or up if `by` is negative. The lane stops at
    /// the first or the last position. Pinned lanes that the store does not know count as positions, too. Returns
    /// whether the order has changed; `false` for a lane that is not pinned.
    pub fn move_pin(&mut self, store: &Store, lane: LaneId, by: i32) -> bool {
        let Some(key) = key_of(store, lane) else {
            return false;
        };
        let place = self.setup.pinned.iter().position(|pinned| *pinned == key);
        let to = place.map(|place| place.saturating_add_signed(by as isize));
        self.resolved = None;
        to.is_some_and(|to| self.setup.move_pin(&key, to))
    }

    /// Moves a pinned lane to the position of another pinned lane; the lanes between the two move by one position.
    /// Returns whether the order has changed; `false` if one of the two is not pinned.
    pub fn move_pin_to(&mut self, store: &Store, lane: LaneId, other: LaneId) -> bool {
        let (Some(key), Some(other)) = (key_of(store, lane), key_of(store, other)) else {
            return false;
        };
        let to = self.setup.pinned.iter().position(|pinned| *pinned == other);
        self.resolved = None;
        to.is_some_and(|to| self.setup.move_pin(&key, to))
    }

    /// Shows the gone objects of a watch ([`RowKind::Gone`](super::RowKind::Gone)) if `is_open`; otherwise folds them
    /// into one row.
    pub fn set_gone_open(&mut self, watch: WatchId, is_open: bool) {
        self.gone_open.retain(|&other| other != watch);
        if is_open {
            self.gone_open.push(watch);
        }
    }

    /// Shows the gone objects of a watch if they are folded, and folds them if they are shown.
    pub fn toggle_gone(&mut self, watch: WatchId) {
        let is_open = self.gone_open.contains(&watch);
        self.set_gone_open(watch, !is_open);
    }
}

/// Returns the key by which a lane is pinned or hidden; `None` for a lane of no watch.
fn key_of(store: &Store, lane: LaneId) -> Option<String> {
    match lane {
        LaneId::Object(..) => Some(store.lane_key(lane)),
        lane => Some(store.lane_key(LaneId::Watch(lane.watch()?))),
    }
}
