//! Takes live records from the connection into the store.

use watchscope_model::wire::{Catalogue, catalogue_entries};
use watchscope_timeline::Store;
use watchscope_timeline::store::StoreError;

use crate::core::model::Model;
use crate::source::connection::Input;

impl Model {
    /// Takes a part of the catalogue into the store.
    ///
    /// # Errors
    /// If the bytes are not entries of a catalogue.
    pub fn take_catalogue(&mut self, header: &Catalogue, entries: &[u8]) -> Result<(), StoreError> {
        let entries = catalogue_entries(entries)?;
        self.store
            .list(&header.log, &header.epoch, header.order, entries);
        Ok(())
    }

    /// Takes a segment into the store. Returns an input for the connection if the segment is undecodable.
    pub fn take_segment(&mut self, frame: &[u8]) -> Option<Input<'static>> {
        if let Err(error) = self.store.segment(frame) {
            return Some(Input::Undecodable(error.to_string()));
        }
        if let Some(at) = self.store.head_at() {
            self.link.clock.set(at, self.now.local);
            self.link.lag_ms = Some(self.now().millis_since(at));
        }
        None
    }

    /// Drops all records, because the log has begun again.
    pub fn forget(&mut self) {
        self.store = Store::default();
        if let Some(second) = self.second {
            self.store.keep_outside(second.keep);
        }
        self.panels.troubles = Default::default();
        self.lanes.forget();
        self.redraw();
    }
}
