//! Live records, from the connection into the store.

use super::super::engine::{Engine, local_now};
use crate::source::connection::Input;

impl Engine {
    /// Takes in a segment; returns what the connection is to know of it.
    pub(in super::super) fn take_segment(&mut self, frame: &[u8]) -> Option<Input<'static>> {
        if let Err(error) = self.store.segment(frame) {
            return Some(Input::Undecodable(error.to_string()));
        }
        if let Some(at) = self.store.head_at() {
            self.clock.set(at, local_now());
            self.lag_ms = Some(self.now().millis_since(at));
        }
        None
    }
}
