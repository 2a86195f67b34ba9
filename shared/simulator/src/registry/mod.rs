//! The rules of writing: create, update, patch and delete as every client, and every controller in the world, does them.
//!
//! The apiserver writes by them for its clients, and the workload for its controllers.

mod deletion;
mod types;
mod writing;

pub(crate) use deletion::{DeleteOptions, Deleted};
pub(crate) use types::{misfit, not_registered};
pub(crate) use writing::{Place, Registry};
