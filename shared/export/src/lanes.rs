//! The choice of lanes to export.

use std::collections::BTreeSet;

use thiserror::Error;
use watchscope_model::WatchName;
use watchscope_model::codec::DecodeError;
use watchscope_recording::ExcerptError;

use crate::taken::Taken;

/// The watches that a person wants to export. Records about no watch and no client are always exported, too. Records of
/// client programs, and inside records, are exported only with all watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedLanes {
    /// All watches: nothing is left out.
    All,
    /// The watches that a finding of the range names. A finding that was open at the begin of a run counts. A finding
    /// about many watches names only some of them ([`Finding::names`](watchscope_model::event::Finding::names)).
    WithFindings,
    /// The watches with these names; with an empty set, only records about no watch and no client.
    Named(BTreeSet<WatchName>),
}

/// Why lanes cannot be exported.
#[derive(Debug, Error)]
pub enum LanesError {
    /// No finding of the range names a watch of the range.
    #[error("no finding of the range concerns a watch")]
    NoFinding,
    /// The range has no watch of a wanted name. Of several such names the error has the first in the order of names.
    #[error("no watch of the range is called {name}")]
    Unknown {
        /// The wanted name that no watch of the range has.
        name: WatchName,
        /// The names of the range's watches, sorted; the set may be empty.
        known: BTreeSet<WatchName>,
    },
    /// The range has no record. Records that the lanes leave out count as records.
    #[error("the lanes have no record in the range")]
    Empty,
    /// A frame cannot be read.
    #[error(transparent)]
    Frame(#[from] DecodeError),
    /// The chapters cannot be read as those of one log.
    #[error(transparent)]
    Excerpt(#[from] ExcerptError),
}

impl WantedLanes {
    /// Narrows an export to these lanes. [`WantedLanes::All`] returns the export unchanged, and without an error.
    ///
    /// # Errors
    /// If no finding names a watch, or if a named watch is not in the range. It also fails if the range has no record,
    /// if a frame cannot be read, or if the chapters cannot be read as those of one log.
    pub fn of(self, taken: Taken) -> Result<Taken, LanesError> {
        let watches = match self {
            Self::All => return Ok(taken),
            Self::WithFindings => {
                let with = taken.watches_with_findings()?;
                if with.is_empty() {
                    return Err(LanesError::NoFinding);
                }
                with
            }
            Self::Named(names) => {
                let known = taken.watches();
                if let Some(name) = names.iter().find(|name| !known.contains(*name)) {
                    return Err(LanesError::Unknown {
                        name: name.clone(),
                        known,
                    });
                }
                names
            }
        };
        taken.only(watches)?.ok_or(LanesError::Empty)
    }
}
