//! Decides when to acknowledge bytes to the server.

use watchscope_model::wire::{ACKNOWLEDGE_BYTES, ACKNOWLEDGE_MS};

/// Counts the bytes of a connection's messages. They are acknowledged after 256 KiB, or 250 ms after the first byte
/// that is not acknowledged, whichever comes first.
#[derive(Clone, Debug, Default)]
pub struct Acknowledger {
    taken: u64,
    acknowledged: u64,
    due_ms: Option<u64>,
}

impl Acknowledger {
    /// Counts a message of `bytes`; returns the total to acknowledge, if it is time.
    pub fn take(&mut self, bytes: u64, now_ms: u64) -> Option<u64> {
        self.taken += bytes;
        self.due_ms.get_or_insert(now_ms + ACKNOWLEDGE_MS);
        self.due(now_ms)
    }

    /// Returns the total to acknowledge, if it is time.
    pub fn due(&mut self, now_ms: u64) -> Option<u64> {
        let late = self.due_ms.is_some_and(|due| now_ms >= due);
        let many = self.taken - self.acknowledged >= ACKNOWLEDGE_BYTES;
        if !(late || many) {
            return None;
        }
        self.acknowledged = self.taken;
        self.due_ms = None;
        Some(self.taken)
    }

    /// Returns when [`due`](Self::due) must be called next.
    #[must_use]
    pub fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_data_is_acknowledged_after_a_quarter_second_and_much_at_once() {
        let mut acknowledger = Acknowledger::default();
        assert_eq!(acknowledger.take(100, 1_000), None);
        assert_eq!(acknowledger.take(100, 1_200), None);
        assert_eq!(acknowledger.due_ms(), Some(1_250));
        assert_eq!(acknowledger.due(1_250), Some(200));
        assert_eq!(
            (acknowledger.due(9_999), acknowledger.due_ms()),
            (None, None)
        );
        assert_eq!(
            acknowledger.take(ACKNOWLEDGE_BYTES, 10_000),
            Some(200 + ACKNOWLEDGE_BYTES)
        );
    }
}
