//! Numbers for connections, requests and streams, unique in the epoch.

use std::sync::atomic::{AtomicU64, Ordering};

use watchscope_model::{ConnectionId, RequestId, StreamId};

/// Hands out ids, from 1.
#[derive(Debug, Default)]
pub struct Ids {
    connections: AtomicU64,
    requests: AtomicU64,
    streams: AtomicU64,
}

impl Ids {
    /// The next connection's id.
    pub fn connection(&self) -> ConnectionId {
        ConnectionId(next(&self.connections))
    }

    /// The next request's id.
    pub fn request(&self) -> RequestId {
        RequestId(next(&self.requests))
    }

    /// The next stream's id.
    pub fn stream(&self) -> StreamId {
        StreamId(next(&self.streams))
    }
}

fn next(last: &AtomicU64) -> u64 {
    last.fetch_add(1, Ordering::Relaxed) + 1
}
