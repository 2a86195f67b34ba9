//! Which lanes are exported.

use std::collections::BTreeSet;

use thiserror::Error;
use watchscope_model::WatchName;
use watchscope_model::codec::DecodeError;
use watchscope_recording::ExcerptError;

use crate::taken::Taken;

/// Which watches a person wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedLanes {
    /// All.
    All,
    /// Those that a finding of the range concerns.
    WithFindings,
    /// Those of these names.
    Named(BTreeSet<WatchName>),
}

/// Why lanes cannot be exported.
#[derive(Debug, Error)]
pub enum LanesError {
    /// No finding concerns a watch.
    #[error("no finding of the range concerns a watch")]
    NoFinding,
    /// There is no such watch.
    #[error("no watch of the range is called {name}")]
    Unknown {
        /// What was asked for.
        name: WatchName,
        /// Those that there are.
        known: BTreeSet<WatchName>,
    },
    /// None of the lanes has a record in the range.
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
    /// What is taken of them.
    ///
    /// # Errors
    /// If there is no such lane, or it has no record.
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
