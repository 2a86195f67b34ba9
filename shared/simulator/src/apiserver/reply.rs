//! A reply that waits for the network to take its parts.

use std::collections::VecDeque;

use bytes::Bytes;

use super::backlog::Backlog;
use super::watcher::Watcher;
use crate::etcd::WatcherId;
use crate::message::Head;

/// The reply to one request.
///
/// Bounded: a whole answer by its own size, a watch by its [`Backlog`].
#[derive(Debug, Default)]
pub(crate) struct Reply {
    head: Option<Head>,
    body: VecDeque<Bytes>,
    ended: bool,
    held: bool,
    /// Whether it is already marked for the network.
    pub(super) is_dirty: bool,
    pub(super) watch: Option<Box<OpenWatch>>,
    was_watch: bool,
}

/// A watch that is open on the server's side.
#[derive(Debug)]
pub(super) struct OpenWatch {
    pub(super) watcher: Watcher,
    pub(super) backlog: Backlog,
    pub(super) source: Source,
}

/// Where the events of a watch come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The watch cache of its resource.
    Cache,
    /// A watch of etcd for this client alone.
    Etcd(WatcherId),
    /// Nowhere: its storage was rebuilt while it was open (F17 before 1.15).
    Stranded,
}

/// The next part of a reply for the network.
#[derive(Debug)]
pub(crate) enum Part {
    Head(Head),
    Chunk(Bytes),
    End,
}

impl Reply {
    pub(super) fn set_head(&mut self, status: u16, headers: Vec<(String, String)>) {
        self.head = Some(Head { status, headers });
    }

    pub(super) fn extend(&mut self, chunks: impl IntoIterator<Item = Bytes>) {
        self.body.extend(chunks);
    }

    pub(super) fn begin_watch(&mut self, watch: OpenWatch) {
        self.watch = Some(Box::new(watch));
        self.was_watch = true;
    }

    /// Marks the end: nothing follows the parts that wait.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Ends a watch and returns it. The parts that wait are still sent.
    pub(super) fn end_watch(&mut self) -> Option<OpenWatch> {
        let watch = self.watch.take()?;
        self.ended = true;
        Some(*watch)
    }

    pub(super) fn hold(&mut self) {
        self.held = true;
    }

    pub(super) fn release(&mut self) {
        self.held = false;
    }

    /// Whether it is the reply of a watch, or was.
    pub(crate) fn is_watch(&self) -> bool {
        self.was_watch
    }

    /// Takes the next part of head or plain body; a chunk only if there is `room`.
    pub(super) fn next_part(&mut self, room: bool) -> Option<Part> {
        if self.held {
            return None;
        }
        if let Some(head) = self.head.take() {
            return Some(Part::Head(head));
        }
        if self.body.is_empty() {
            return self.ended.then_some(Part::End);
        }
        if !room {
            return None;
        }
        self.body.pop_front().map(Part::Chunk)
    }

    /// Whether the next part is in a running watch's backlog.
    pub(super) fn awaits_backlog(&self) -> bool {
        self.head.is_none() && !self.held && self.body.is_empty() && self.watch.is_some()
    }
}
