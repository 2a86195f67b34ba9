//! The rules for create, update, patch and delete, which are the same for every client and every controller in the
//! world.
//!
//! The apiserver writes through these rules for its clients, and the workload for the cluster's controllers.

mod deletion;
mod types;
mod writing;

pub(crate) use deletion::{DeleteOptions, Deleted};
pub(crate) use types::{misfit, not_registered};
pub(crate) use writing::{Place, Registry};
