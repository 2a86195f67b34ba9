//! A reply to a request, whose parts wait for the network to take them.

use std::collections::VecDeque;

use bytes::Bytes;

use super::backlog::Backlog;
use super::watcher::Watcher;
use crate::etcd::WatcherId;
use crate::message::Head;

/// The reply to one request.
///
/// Bounded: a whole answer by its own size, the reply of a watch by its [`Backlog`].
#[derive(Debug, Default)]
pub(crate) struct Reply {
    head: Option<Head>,
    body: VecDeque<Bytes>,
    ended: bool,
    held: bool,
    /// Whether the reply is already in the server's list of replies with something new for the network.
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
    /// The events come from the watch cache of the watch's resource.
    Cache,
    /// The events come from a watch of etcd for this client alone.
    Etcd(WatcherId),
    /// No events come: the resource's storage was rebuilt while the watch was open (F17 before 1.15). Or a direct watch
    /// waits for etcd's leader before its first events.
    Stranded,
}

/// A part of a reply that the network takes.
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

    /// Marks the reply's end: no part follows the waiting ones.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Ends the reply's watch and returns the watch; `None` if the reply has no open watch. The waiting parts are still
    /// sent.
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

    /// Returns whether this is the reply of a watch, open or ended.
    pub(crate) fn is_watch(&self) -> bool {
        self.was_watch
    }

    /// Takes the next part of head or plain body; takes a chunk of the body only if there is `room`. `None` if no part
    /// may be sent now.
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

    /// Returns whether the next part has to come from the backlog of an open watch.
    pub(super) fn awaits_backlog(&self) -> bool {
        self.head.is_none() && !self.held && self.body.is_empty() && self.watch.is_some()
    }
}
