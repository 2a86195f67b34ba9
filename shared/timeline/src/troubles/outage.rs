//! The stretches in which a watch waited or was refused.

use watchscope_model::Time;
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::Phase;

use crate::findings::LONG_WAIT_US;
use crate::store::{PhaseSpan, Span};

/// A stretch in which a watch waited or was refused, with the tries in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outage {
    /// The record with which the outage's first wait or refusal began.
    pub(super) start: Moment,
    /// The record that ended the outage's last wait or refusal; `None` while that lasts, or if the record is not
    /// loaded.
    pub(super) end: Option<Moment>,
    /// Until when the outage is known to last: `Time(i64::MAX)` while it is open.
    pub(super) until: Time,
    /// The begin of the first refusal, or without a refusal, of the first wait over 5 s; `None` if there is neither.
    pub(super) worst: Option<Moment>,
    /// Whether `worst` is a refusal.
    pub(super) is_refused: bool,
}

/// Returns the outages among a watch's phases, the oldest first: those with a refusal or a wait over 5 s. A stream
/// between two waits separates two outages. `due` becomes the time at which a wait that lasts now will exceed 5 s, if
/// that is earlier than `due`.
pub(super) fn outages(
    phases: &[Span<PhaseSpan>],
    now: Time,
    due: &mut Option<Time>,
) -> Vec<Outage> {
    let mut found: Vec<Outage> = Vec::new();
    let mut is_on = false;
    for span in phases {
        let phase = span.what.phase;
        match phase {
            Phase::Waiting | Phase::Refused => {}
            // The next try, which may fail too.
            Phase::Connecting | Phase::Listing => continue,
            _ => {
                is_on = false;
                continue;
            }
        }
        let until = span.end.map_or(span.until, |end| end.at);
        let is_refused = phase == Phase::Refused;
        let is_long = until.min(now).micros_since(span.start.at) > LONG_WAIT_US;
        if !is_refused && !is_long && span.is_open() {
            let then = span.start.at.plus_micros(LONG_WAIT_US + 1);
            *due = Some(due.map_or(then, |due| due.min(then)));
        }
        if !is_on {
            is_on = true;
            found.push(Outage {
                start: span.start,
                end: None,
                until,
                worst: None,
                is_refused: false,
            });
        }
        let Some(outage) = found.last_mut() else {
            continue;
        };
        (outage.end, outage.until) = (span.end, until);
        let is_worse = is_refused && !outage.is_refused;
        if is_worse || (is_long && outage.worst.is_none()) {
            outage.worst = Some(span.start);
            outage.is_refused |= is_refused;
        }
    }
    found.retain(|outage| outage.worst.is_some());
    found
}
