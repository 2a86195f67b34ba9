//! A reply on its way: what waits for the network to take it.

use std::collections::VecDeque;

use bytes::Bytes;

use super::backlog::Backlog;
use super::watcher::Watcher;
use crate::etcd::WatcherId;
use crate::message::Head;

/// A reply to one request.
///
/// Bounded: a whole answer by what it answers; a watch by its [`Backlog`].
#[derive(Debug, Default)]
pub(crate) struct Reply {
    head: Option<Head>,
    body: VecDeque<Bytes>,
    ended: bool,
    held: bool,
    /// Whether the network knows that something is new.
    pub(super) is_dirty: bool,
    pub(super) watch: Option<Box<OpenWatch>>,
    was_watch: bool,
}

/// A watch that runs.
#[derive(Debug)]
pub(super) struct OpenWatch {
    pub(super) watcher: Watcher,
    pub(super) backlog: Backlog,
    pub(super) source: Source,
}

/// Where a watch has its events from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The watch cache of its resource.
    Cache,
    /// A watch of etcd for it alone.
    Etcd(WatcherId),
    /// Nowhere any more: its storage was rebuilt under it (F17 before 1.15).
    Stranded,
}

/// The next thing a reply has for the network.
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

    /// Nothing comes after what waits.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Ends a watch; with `frames` behind what waits.
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

    /// Whether it is the reply of a watch.
    pub(crate) fn is_watch(&self) -> bool {
        self.was_watch
    }

    /// Takes what waits of head and plain body; chunks only if there is room for them.
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

    /// Whether a running watch's backlog is next.
    pub(super) fn awaits_backlog(&self) -> bool {
        self.head.is_none() && !self.held && self.body.is_empty() && self.watch.is_some()
    }
}
