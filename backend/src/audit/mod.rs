//! The audit's reads: what the planner in the log's writer asks for, over connections of its own, and back.
//!
//! ```text
//!   writer: records ─► Auditor ─► Read ──channel──► Readers ──► Reader, one for each server ──GET──► apiserver
//!             ▲                                                   │
//!             └───────── request.sent, request.answered, Reply ───┘
//! ```
//!
//! One read at a time of each server, so that one that hangs holds up no other's, with its own user agent, each in the
//! log under the watch's name with `#a`. What is asked, when, and what it means is the planner's.

mod reader;

use std::collections::BTreeMap;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use watchscope_diagnosis::audit::Read;
use watchscope_model::vocabulary::Verb;

use self::reader::{Reader, asked};
use crate::log::LogHandle;
use crate::upstream::servers::Pools;

/// Gives each read to its server's reader. Holds two for each server there was: for reads, and for second watches.
pub(crate) struct Readers {
    reads: mpsc::Receiver<Read>,
    pools: Pools,
    log: LogHandle,
}

impl Readers {
    pub(crate) fn new(reads: mpsc::Receiver<Read>, pools: Pools, log: LogHandle) -> Self {
        Self { reads, pools, log }
    }

    /// Has reads carried out until stopped, or until nobody asks any more.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut readers = BTreeMap::new();
        let mut running = JoinSet::new();
        while let Some(read) = asked(&mut self.reads, &mut stop).await {
            // A second watch takes a while, and is to be on another connection than what it is held against.
            let reader = (read.server.clone(), read.verb == Verb::Watch);
            let reads = readers.entry(reader).or_insert_with(|| {
                let (asks, reads) = mpsc::channel(1);
                let reader = Reader::new(reads, self.pools.clone(), self.log.clone());
                running.spawn(reader.run(stop.clone()));
                asks
            });
            // There is room: a server is not asked again before its reader has answered. An error means that it stopped.
            if reads.send(read).await.is_err() {
                break;
            }
        }
        drop(readers);
        while running.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests;
