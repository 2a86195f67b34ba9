//! A simulated apiserver. It takes requests, keeps a watch cache per resource, and fills replies that the network
//! carries to clients.
//!
//! ```text
//!  request ─► life, access, throttle ─► route ─► read / write ─► Reply (head, body, end) ─► network
//!  etcd ─► upstream ─► cacher: cache, dispatcher ─► each watch's backlog ─► Reply ─► network
//! ```
//!
//! An apiserver asks to be woken with an [`Alarm`], which the world hands back when the alarm is due.

mod about;
mod access;
mod alarm;
mod answer;
pub(crate) mod answers;
mod backlog;
mod body;
mod cache;
mod cacher;
mod caching;
mod context;
mod continue_token;
mod discovery;
mod dispatch;
mod dispatcher;
mod etcd_client;
mod handle;
mod negotiate;
mod options;
mod patience;
mod pending;
mod read;
mod reply;
mod request;
mod route;
mod server;
mod stopping;
mod throttle;
mod upstream;
mod watch;
mod watcher;
mod write;

pub(crate) use access::Denial;
pub(crate) use alarm::Alarm;
pub(crate) use context::Context;
pub(crate) use reply::Part;
pub(crate) use server::{Apiserver, Life};
pub(crate) use watch::Sending;
