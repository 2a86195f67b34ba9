//! Records of the lists, events, refusals and ends that client programs receive on the wire.
//!
//! The world makes these records only after [`World::tell_received`]. They are no part of the log: nothing that judges
//! a cluster reads them.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::ChangeType;

use super::World;
use crate::client::ChannelEnd;
use crate::client::wire::{EventType, Frame, Frames, List, Refusal};
use crate::message::{Arrival, ConnectionId, Cut, Request, RequestId};
use crate::time::Time;

/// The most received records that may wait for the driver; a further one drops the oldest, which is counted. This
/// bounds the memory of a world whose driver takes no records. The number has no source.
const WAITING_MOST: usize = 1 << 14;
/// The most bytes of a response's body that are kept until the body is whole. Of a larger body only the status is
/// recorded. This bounds the memory of each open request. The number has no source.
const BODY_BYTES_MOST: usize = 1 << 20;

/// A record of one thing that a client program received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedRecord {
    /// When the client received it, in virtual time.
    pub at: Time,
    /// The client's name, as [`World::start_client`] got it.
    pub client: Arc<str>,
    /// The list, event, refusal or end that the client received.
    pub received: Received,
}

/// Something that a client program can receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The client's connection was refused while a request waited for it.
    ConnectionRefused,
    /// A list, or one page of a list.
    List {
        /// The list's resourceVersion.
        resource_version: String,
        /// The names of the items on this page of the list, in the list's order. The body's bound of 1 MiB bounds them.
        names: Vec<String>,
    },
    /// An answer with a status other than 200, of at most 1 MiB; also the 201 of a created binding.
    Refusal {
        /// The HTTP status.
        status: u16,
        /// The message of the Status in the body, which may be empty. If the body is no Status, `message` is the body's
        /// text without white space around it.
        message: String,
    },
    /// An answer with status 200 that is not a list, or any answer whose body is over 1 MiB.
    Answer {
        /// The HTTP status.
        status: u16,
    },
    /// An ADDED, MODIFIED or DELETED event in a watch.
    Change {
        /// The event's type.
        change: ChangeType,
        /// The object's name.
        name: String,
        /// The object's resourceVersion.
        resource_version: String,
    },
    /// A bookmark in a watch, including the bookmark that ends initial events.
    Bookmark {
        /// The bookmark's resourceVersion.
        resource_version: String,
    },
    /// An ERROR event in a watch.
    Error {
        /// The code of the Status in the ERROR event, such as 410; 0 if the event has no code.
        code: u16,
        /// The message of the Status in the ERROR event; empty if the Status has no message.
        message: String,
    },
    /// Bytes of a watch that are not a frame, over 4 MiB of a frame without its end, or a frame of an unknown type. If
    /// the bytes are no frame, earlier frames of the same chunk are not recorded.
    Undecodable,
    /// The orderly end of a watch's body.
    End,
    /// The server gave a response up (HTTP/2 RST_STREAM).
    Reset,
    /// The connection is gone while a response was open on it.
    Closed(Cut),
    /// The result channel of a Go program's watch is closed. It is no message on the wire: client-go passes on to the
    /// program what it makes of the end. A watch that the program stops itself has no such record.
    ChannelClosed(ChannelEnd),
}

/// A response that a client waits for or reads.
#[derive(Debug)]
struct Answer {
    connection: ConnectionId,
    is_watch: bool,
    status: u16,
    frames: Frames,
    body: Vec<u8>,
    is_too_long: bool,
}

/// The received records that wait for the driver, and the open responses.
///
/// Bounded: of more than 16,384 records the oldest are dropped and counted. Of a body over 1 MiB only the status is
/// recorded. The transcript has one [`Answer`] for each open request, and for each request that was open when its
/// client was stopped ([`World::stop_client`]).
#[derive(Debug, Default)]
pub(super) struct Transcript {
    waiting: VecDeque<ReceivedRecord>,
    dropped: u64,
    answers: BTreeMap<RequestId, Answer>,
}

impl Transcript {
    pub(super) fn sent(&mut self, id: RequestId, connection: ConnectionId, request: &Request) {
        let mut parameters = request.query.split('&');
        let answer = Answer {
            connection,
            is_watch: parameters.any(|parameter| matches!(parameter, "watch=true" | "watch=1")),
            status: 0,
            frames: Frames::default(),
            body: Vec::new(),
            is_too_long: false,
        };
        self.answers.insert(id, answer);
    }

    /// Notes that the client gave a response up.
    pub(super) fn cancelled(&mut self, id: RequestId) {
        self.answers.remove(&id);
    }

    /// Notes that the client closed a connection.
    pub(super) fn closed(&mut self, connection: ConnectionId) {
        self.answers
            .retain(|_, answer| answer.connection != connection);
    }

    /// Records what a delivery brought to a client.
    pub(super) fn take(
        &mut self,
        at: Time,
        client: &Arc<str>,
        connection: ConnectionId,
        arrival: &Arrival,
    ) {
        for received in self.read(connection, arrival) {
            self.push(at, client, received);
        }
    }

    /// Records something that a client received.
    pub(super) fn push(&mut self, at: Time, client: &Arc<str>, received: Received) {
        if self.waiting.len() >= WAITING_MOST {
            self.waiting.pop_front();
            self.dropped += 1;
        }
        self.waiting.push_back(ReceivedRecord {
            at,
            client: Arc::clone(client),
            received,
        });
    }

    fn read(&mut self, connection: ConnectionId, arrival: &Arrival) -> Vec<Received> {
        match arrival {
            Arrival::Connected | Arrival::GoAway => Vec::new(),
            Arrival::Refused => self.lose(connection, Received::ConnectionRefused),
            Arrival::Closed(cut) => self.lose(connection, Received::Closed(*cut)),
            Arrival::Head { request, head } => {
                if let Some(answer) = self.answers.get_mut(request) {
                    answer.status = head.status;
                }
                Vec::new()
            }
            Arrival::Chunk { request, bytes } => match self.answers.get_mut(request) {
                Some(answer) => answer.read(bytes),
                None => Vec::new(),
            },
            Arrival::End { request } => {
                let answer = self.answers.remove(request);
                answer.map(Answer::end).into_iter().collect()
            }
            Arrival::Reset { request, .. } => {
                let answer = self.answers.remove(request);
                answer.map(|_| Received::Reset).into_iter().collect()
            }
        }
    }

    /// Records that a connection is gone: once, if a response was open on the connection.
    fn lose(&mut self, connection: ConnectionId, received: Received) -> Vec<Received> {
        let before = self.answers.len();
        self.closed(connection);
        if self.answers.len() < before {
            vec![received]
        } else {
            Vec::new()
        }
    }
}

impl Answer {
    fn read(&mut self, bytes: &[u8]) -> Vec<Received> {
        if self.is_watch && self.status == 200 {
            return match self.frames.take(bytes) {
                Ok(frames) => frames.into_iter().map(of_frame).collect(),
                Err(_) => vec![Received::Undecodable],
            };
        }
        if self.body.len() + bytes.len() > BODY_BYTES_MOST {
            (self.is_too_long, self.body) = (true, Vec::new());
        }
        if !self.is_too_long {
            self.body.extend_from_slice(bytes);
        }
        Vec::new()
    }

    fn end(self) -> Received {
        let status = self.status;
        if self.is_watch && status == 200 {
            return Received::End;
        }
        if self.is_too_long {
            return Received::Answer { status };
        }
        if status != 200 {
            let message = Refusal::of_answer(status, &self.body).message;
            return Received::Refusal { status, message };
        }
        match List::parse(&self.body) {
            Ok(List {
                metadata,
                items: Some(items),
                ..
            }) => Received::List {
                resource_version: metadata.resource_version,
                names: items.into_iter().map(|item| item.metadata.name).collect(),
            },
            _ => Received::Answer { status },
        }
    }
}

fn of_frame(frame: Frame) -> Received {
    let object = frame.object;
    let change = match frame.event {
        EventType::Added => ChangeType::Added,
        EventType::Modified => ChangeType::Modified,
        EventType::Deleted => ChangeType::Deleted,
        EventType::Bookmark => {
            return Received::Bookmark {
                resource_version: object.metadata.resource_version,
            };
        }
        EventType::Error => {
            return Received::Error {
                code: object.code,
                message: object.message,
            };
        }
        EventType::Other => return Received::Undecodable,
    };
    Received::Change {
        change,
        name: object.metadata.name,
        resource_version: object.metadata.resource_version,
    }
}

/// The functions of a world that concern what client programs receive.
impl World {
    /// Makes the world record what the client programs receive for requests that they send from now on.
    /// [`World::next_received`] takes the records. A second call does nothing.
    pub fn tell_received(&mut self) {
        self.clients.transcript.get_or_insert_default();
    }

    /// Takes the oldest waiting received record; `None` if no record waits, or before [`World::tell_received`]. At most
    /// 16,384 records wait: further ones drop the oldest; see [`World::dropped_received`].
    pub fn next_received(&mut self) -> Option<ReceivedRecord> {
        self.clients.transcript.as_mut()?.waiting.pop_front()
    }

    /// Returns the number of received records that were dropped because the driver did not take them in time; 0 before
    /// [`World::tell_received`].
    pub fn dropped_received(&self) -> u64 {
        let transcript = self.clients.transcript.as_ref();
        transcript.map_or(0, |transcript| transcript.dropped)
    }
}
