//! Client programs in scripted worlds: their requests, actions, counts and beliefs.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod auditor;
mod channel;
mod controller;
mod crowd;
mod kube_watcher;
mod many_watches;
mod poller;
mod properties;
mod pvc_loop;
mod reflector;
mod retry_watcher;
mod scheduler;
mod servers;
mod stage;
mod watch_deployment;
