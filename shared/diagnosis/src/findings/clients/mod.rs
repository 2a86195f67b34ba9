//! Findings about client programs, from their requests, iterations and held objects (client records; docs/findings).
//!
//! The records are those of a simulated or a tapped program. This module does not judge the events of a client's
//! streams.

mod beliefs;
mod line;
mod lists;
mod records;
mod spins;
mod state;

pub(super) use self::state::Clients;
pub use self::state::MAX_CLIENTS;
