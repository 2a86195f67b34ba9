//! Findings about client programs, from what they ask, do and believe (client records; docs/findings).
//!
//! The records are those of a simulated or a tapped program. What a client's streams deliver to it is not judged here.

mod beliefs;
mod line;
mod lists;
mod records;
mod spins;
mod state;

pub(super) use self::state::Clients;
pub use self::state::MAX_CLIENTS;
