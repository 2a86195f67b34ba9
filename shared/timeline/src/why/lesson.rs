//! Which lesson teaches which finding.

use watchscope_model::Row;

/// A lesson that teaches a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taught {
    /// The lesson's name in links, in lower-case letters.
    pub lesson: &'static str,
    /// The lesson's short title, as a link to it shows it.
    pub title: &'static str,
}

/// Returns the lesson that plays a finding's failure; `None` if no lesson does. Each row of the catalogue has at most
/// one lesson.
#[must_use]
pub fn taught(row: Row) -> Option<Taught> {
    let (lesson, title) = match row {
        Row::F01 => ("ghost", "Watches ghost you"),
        Row::F02 | Row::F03 => ("three-tries", "Return, continue, sleep"),
        Row::F10 | Row::F12 | Row::F13 | Row::F34 | Row::F48 => {
            ("quiet", "Nothing new, yet expired")
        }
        Row::F08 | Row::F09 | Row::F38 | Row::F47 => ("who-hung-up", "Five ends, one channel"),
        Row::F04 | Row::F44 => ("silent", "Open, and dead"),
        Row::F06 | Row::F07 | Row::F16 | Row::F17 | Row::F18 => ("herd", "All at once"),
        Row::F11 => ("expired", "410 and relist"),
        Row::F19 => ("away", "Away"),
        Row::F22 | Row::F31 | Row::F32 | Row::F33 => ("stale", "Two servers, two times"),
        Row::F21 | Row::F23 | Row::F29 => ("back-in-time", "The 1.9.2 bug"),
        Row::F20 | Row::F25 => ("starved", "A hundred readers, one pipe"),
        Row::F24 | Row::F28 => ("poisoned", "A cure that stopped curing"),
        _ => return None,
    };
    Some(Taught { lesson, title })
}
