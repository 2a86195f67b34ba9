//! The audit's reads of apiservers. The planner in the log's writer asks for them; its answers go back there.
//!
//! ```text
//!   writer: records ─► Auditor ─► Read ──channel──► Readers ──► Reader, one for each server ──GET──► apiserver
//!             ▲                                                   │
//!             └───────── request.sent, request.answered, Reply ───┘
//! ```
//!
//! Each server has one read at a time, so that a server that hangs delays no reads of others. The reads use connections and
//! a user agent of their own, and the log has them under the watch's name with `#a`. The planner decides what is read, when,
//! and what the answer means.

mod reader;

use std::collections::BTreeMap;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use watchscope_diagnosis::audit::Read;
use watchscope_model::vocabulary::Verb;

use self::reader::{Reader, asked};
use crate::log::LogHandle;
use crate::upstream::servers::Pools;

/// The dispatcher of reads: it passes each read to the reader of its server. A server has up to two readers, one for reads
/// and one for second watches.
pub(crate) struct Readers {
    reads: mpsc::Receiver<Read>,
    pools: Pools,
    log: LogHandle,
}

impl Readers {
    pub(crate) fn new(reads: mpsc::Receiver<Read>, pools: Pools, log: LogHandle) -> Self {
        Self { reads, pools, log }
    }

    /// Dispatches reads until `stop` is set or the log is closed.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut readers = BTreeMap::new();
        let mut running = JoinSet::new();
        while let Some(read) = asked(&mut self.reads, &mut stop).await {
            // A second watch takes longer, and must use another connection than the watch that it is compared with.
            let reader = (read.server.clone(), read.verb == Verb::Watch);
            let reads = readers.entry(reader).or_insert_with(|| {
                let (asks, reads) = mpsc::channel(1);
                let reader = Reader::new(reads, self.pools.clone(), self.log.clone());
                running.spawn(reader.run(stop.clone()));
                asks
            });
            // The channel has room: a server gets no new read before its reader has answered. An error means that the reader
            // stopped.
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
