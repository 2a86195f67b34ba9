//! The life of the cluster: its controllers, which react to writes, and its standing activities.
//!
//! The workload writes through the apiserver's registry, under the names of real controllers' field managers. The
//! workload learns of a write after a delay like that of the watch caches. It reads etcd's present state, like a
//! controller whose informer is up to date.

mod activity;
mod context;
mod controllers;
mod definitions;
mod deployments;
mod garbage;
mod install;
mod jobs;
mod load;
mod pods;
mod recorder;
mod services;
mod state;
mod task;

pub(crate) use context::{Context, Definition};
pub use state::Controllers;
pub(crate) use state::Workload;
pub(crate) use task::Task;
