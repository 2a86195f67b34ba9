//! The end of a hub: why all viewers leave, and when each may come back.

use watchscope_log::Parting;
use watchscope_model::Text;

/// A viewer that may come back does so after this many milliseconds, each after a time of its own.
pub(super) const RETRY_MS: std::ops::Range<u64> = 500..2_500;

/// Why all viewers are sent away.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) reason: Text,
    pub(super) may_return: bool,
}

impl Ending {
    /// The goodbye to the `number`-th viewer.
    pub(super) fn parting(&self, number: u64) -> Parting {
        // A fixed stride spreads viewers that came one after another over the whole range.
        let spread = number.wrapping_mul(761) % (RETRY_MS.end - RETRY_MS.start);
        Parting {
            reason: self.reason.clone(),
            retry_after_ms: self.may_return.then_some(RETRY_MS.start + spread),
        }
    }
}
