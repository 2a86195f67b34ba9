//! Findings about client programs, from their requests, iterations and beliefs (client records; docs/findings).
//!
//! The records are those of a simulated or a tapped program. The events of a client's streams are not judged here.

mod beliefs;
mod line;
mod lists;
mod records;
mod spins;
mod state;

pub(super) use self::state::Clients;
pub use self::state::MAX_CLIENTS;
