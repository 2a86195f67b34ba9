//! Tables of the rows of ends: their cause, their subject, and the rows that look like them.

use watchscope_model::Row;
use watchscope_model::vocabulary::Certainty;

use crate::attribution::{DRAIN_US, TOGETHER_US};
use crate::findings::draft::Subject;
use crate::findings::place::Place;

/// Time in µs within which initial events of a resource that were cut short may have one cause. Each watch requests its
/// initial events again after a backoff of 60 s at most (docs/semantics/clients.md#reflector).
const CUT_SHORT_US: i64 = 60_000_000;

/// Returns whether a server has no history after an end of this row. After such an end, the 410 that follows is no
/// failure of its own.
pub(super) fn leaves_no_history(row: Row) -> bool {
    matches!(row, Row::F06 | Row::F07 | Row::F16 | Row::F17)
}

/// Returns the time in µs within which ends of this row may have one cause.
pub(super) fn together_us(row: Row) -> i64 {
    match row {
        Row::F07 => DRAIN_US,
        Row::F37 => CUT_SHORT_US,
        _ => TOGETHER_US,
    }
}

/// Returns the subject that watches share whose streams ended for this row; `None` if the row has no shared findings.
pub(super) fn reach(row: Row, place: &Place) -> Option<Subject> {
    match row {
        Row::F04 | Row::F08 | Row::F09 | Row::F47 => place.connection(),
        Row::F16 | Row::F17 | Row::F37 | Row::F38 => Some(place.type_there()),
        Row::F06 | Row::F07 => place.server(),
        _ => None,
    }
}

/// Returns whether the row means that a stream ended because its server's watch cache begins anew.
pub(super) fn is_rebuilding(row: Row) -> bool {
    matches!(row, Row::F16 | Row::F17)
}

pub(super) fn is_history_gone(row: Row) -> bool {
    matches!(row, Row::F11 | Row::F12)
}

/// Returns the rows that look like the row of an attribution; `None` if the attribution is only a guess
/// (docs/semantics/streams.md#never-certain) and so no finding.
pub(super) fn alike(row: Row, certainty: Certainty) -> Option<&'static [Row]> {
    let is_suspected = certainty == Certainty::Suspected;
    Some(match row {
        Row::F06 => &[Row::F07],
        Row::F11 if is_suspected => &[Row::F12],
        Row::F17 if is_suspected => &[Row::F16],
        Row::F24 => &[Row::F25, Row::F26, Row::F27],
        Row::F37 if !is_suspected => &[Row::F36],
        Row::F16 | Row::F36 if !is_suspected => &[],
        Row::F04
        | Row::F07
        | Row::F08
        | Row::F09
        | Row::F11
        | Row::F12
        | Row::F17
        | Row::F38
        | Row::F39
        | Row::F47 => &[],
        _ => return None,
    })
}
