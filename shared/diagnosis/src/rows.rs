//! How severe a finding of each row of the failure catalogue is until its outcome is known.

use watchscope_model::vocabulary::Severity;

/// The usual severity of a row. A finding is judged by what followed: a divergence is proven, an error lasts until somebody
/// acts, a warning took a list or over 60 s of blindness to end, or may end by itself, and a note was resumed or ordinary.
#[must_use]
pub fn severity(code: &str) -> Severity {
    match code {
        "F05" | "F06" | "F07" | "F08" | "F09" | "F17" | "F28" | "F34" | "F43" | "F46" | "F47"
        | "F49" => Severity::Note,
        "F01" | "F02" | "F03" | "F23" | "F24" | "F25" | "F26" | "F27" | "F30" | "F32" | "F33"
        | "F35" | "F38" | "F40" | "F41" | "F42" | "F45" | "F48" => Severity::Error,
        _ => Severity::Warning,
    }
}
