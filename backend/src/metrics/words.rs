//! The values of labels: words of closed lists, and `other` for any other word.

use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::Verb;
use watchscope_model::{Aside, WatchName};

use super::exposition::Label;

/// The word for everything beyond a bound.
pub(super) const OTHER: &str = "other";

/// The code of a finding or an attribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Code {
    Known(Attributed),
    /// A code that this build does not know.
    Other,
}

/// The label of an HTTP status, or of a Status object's code.
pub(super) type Status = &'static str;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    Watch,
    Side,
    Witness,
    Audit,
}

impl Code {
    pub(super) fn of(code: &str) -> Self {
        Attributed::of(code).map_or(Self::Other, Self::Known)
    }

    pub(super) fn label(self) -> Label {
        match self {
            Self::Known(known) => known.code().into(),
            Self::Other => OTHER.into(),
        }
    }
}

/// The label of a request's verb.
pub(super) fn verb_label(verb: Verb) -> &'static str {
    match verb {
        Verb::Unknown => OTHER,
        known => known.word(),
    }
}

impl Purpose {
    pub(super) fn of(watch: &WatchName) -> Self {
        match watch.as_aside() {
            None => Self::Watch,
            Some(Aside::Side) => Self::Side,
            Some(Aside::Witness) => Self::Witness,
            Some(Aside::Audit) => Self::Audit,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Side => "side",
            Self::Witness => "witness",
            Self::Audit => "audit",
        }
    }
}

/// Returns the label of a code: itself if apiservers use it and operators look for it, else its hundred, as `4xx`.
pub(super) fn status(code: u64) -> Status {
    match code {
        200 => "200",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        406 => "406",
        410 => "410",
        429 => "429",
        500 => "500",
        501 => "501",
        502 => "502",
        503 => "503",
        504 => "504",
        100..=199 => "1xx",
        201..=299 => "2xx",
        300..=399 => "3xx",
        402..=499 => "4xx",
        505..=599 => "5xx",
        _ => OTHER,
    }
}
