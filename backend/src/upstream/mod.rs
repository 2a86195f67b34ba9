//! The ways to a cluster's apiservers: which servers there are, connections to each, and their messages.
//!
//! `probes` and `audit` send their requests over these. A shared connection is logged here; one that is not shared, and
//! all requests, are logged by their users. Deliberately absent: what is requested, and what answers mean.

pub(crate) mod connections;
mod limiter;
pub(crate) mod message;
pub(crate) mod servers;

pub use self::servers::{Servers, ServersError};
