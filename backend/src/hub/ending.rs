//! The end of a hub: why all viewers must leave, and when each may return.

use watchscope_log::Parting;
use watchscope_model::Text;

/// The range of waits, in ms, before a viewer may return. Each viewer gets a wait of its own.
pub(super) const RETRY_MS: std::ops::Range<u64> = 500..2_500;

/// Why all viewers are disconnected.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) reason: Text,
    pub(super) may_return: bool,
}

impl Ending {
    /// The goodbye for viewer `number`.
    pub(super) fn parting(&self, number: u64) -> Parting {
        // A fixed stride spreads viewers that came one after another over the whole range.
        let spread = number.wrapping_mul(761) % (RETRY_MS.end - RETRY_MS.start);
        Parting {
            reason: self.reason.clone(),
            retry_after_ms: self.may_return.then_some(RETRY_MS.start + spread),
        }
    }
}
