//! Live records, from the connection into the store.

use watchscope_timeline::Store;

use crate::core::model::Model;
use crate::source::connection::Input;

impl Model {
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
