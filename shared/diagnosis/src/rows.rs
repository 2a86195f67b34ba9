//! How bad each row of the failure catalogue is, by its own.

use watchscope_model::vocabulary::Severity;

/// The severity of a row's finding. A single thing that heals by itself is a note; what costs history, work or time a
/// warning; what stays wrong until somebody acts an error; what parts a watch from the truth a divergence.
#[must_use]
pub fn severity(code: &str) -> Severity {
    match code {
        "F05" | "F06" | "F07" | "F08" | "F09" | "F17" | "F28" | "F34" | "F43" | "F46" | "F47"
        | "F49" => Severity::Note,
        "F01" | "F02" | "F03" | "F04" | "F23" | "F30" | "F32" | "F33" | "F35" | "F38" | "F40"
        | "F41" | "F42" | "F48" => Severity::Error,
        "F24" | "F25" | "F26" | "F27" | "F45" => Severity::Divergence,
        _ => Severity::Warning,
    }
}
