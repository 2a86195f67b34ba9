//! The connections to a cluster's apiservers: which servers there are, connections to each, and HTTP messages.
//!
//! `probes` and `audit` send their requests over these connections. This module logs shared connections. Its users log
//! unshared connections and all requests. It does not know what they request, or what an answer means.

pub(crate) mod connections;
mod limiter;
pub(crate) mod message;
pub(crate) mod servers;

pub use self::servers::{Servers, ServersError};
