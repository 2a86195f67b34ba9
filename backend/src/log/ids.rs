//! Ids of connections, requests and streams, unique within the epoch.

use std::sync::atomic::{AtomicU64, Ordering};

use watchscope_model::{ConnectionId, RequestId, StreamId};

/// A source of ids, which begin at 1.
#[derive(Debug, Default)]
pub struct Ids {
    connections: AtomicU64,
    requests: AtomicU64,
    streams: AtomicU64,
}

impl Ids {
    /// Returns a new connection id.
    pub fn connection(&self) -> ConnectionId {
        ConnectionId(next(&self.connections))
    }

    /// Returns a new request id.
    pub fn request(&self) -> RequestId {
        RequestId(next(&self.requests))
    }

    /// Returns a new stream id.
    pub fn stream(&self) -> StreamId {
        StreamId(next(&self.streams))
    }
}

fn next(last: &AtomicU64) -> u64 {
    last.fetch_add(1, Ordering::Relaxed) + 1
}
