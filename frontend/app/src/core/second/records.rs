//! Live records, from the connection into the store.

use watchscope_model::wire::{Catalogue, catalogue_entries};
use watchscope_timeline::Store;
use watchscope_timeline::store::StoreError;

use crate::core::model::Model;
use crate::source::connection::Input;

impl Model {
    /// Takes in a part of the catalogue.
    ///
    /// # Errors
    /// If the bytes are no entries.
    pub fn take_catalogue(&mut self, header: &Catalogue, entries: &[u8]) -> Result<(), StoreError> {
        let entries = catalogue_entries(entries)?;
        self.store
            .list(&header.log, &header.epoch, header.order, entries);
        Ok(())
    }

    /// Takes in a segment; returns what the connection is to know of it.
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

    /// Lets go of all records: the log has begun again.
    pub fn forget(&mut self) {
        self.store = Store::default();
        self.lanes.forget();
        self.redraw();
    }
}
