//! Counts of a crowd: what client programs ask of each server, and how their requests end, as bare facts without names.
//!
//! A crowd ([`World::start_crowd`]) is a number of client programs that report nothing, so that hundreds of them cost
//! little; only this tally knows them. It counts the other client programs of the world, too.
//!
//! The world makes these records only after [`World::tell_tally`]. They are no part of the log: nothing that judges a
//! cluster reads them.

use std::collections::VecDeque;

use watchscope_model::tree::BTreeMap;

use super::World;
use crate::client::wire::{EventType, Frames};
use crate::message::{Arrival, ConnectionId, Request, RequestId, ServerId};
use crate::time::Time;

/// The most records that may wait for the driver; a further one drops the oldest. This bounds the memory of a world
/// whose driver takes no records. The number has no source.
const WAITING_MOST: usize = 1 << 14;
/// The first bytes of a frame that holds an ERROR event. The simulated servers write the type first, as real ones do.
const ERROR_FRAME: &[u8] = br#"{"type":"ERROR""#;

/// One thing that a client program did, or that happened to one of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TallyRecord {
    /// When the client sent or received it, in virtual time.
    pub at: Time,
    /// The server that the client's connection leads to. Under [`Fault::BalanceRequests`](crate::Fault::BalanceRequests)
    /// it is the server that answers the request.
    pub server: ServerId,
    /// What it is.
    pub tallied: Tallied,
}

/// The kinds of [`TallyRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tallied {
    /// The client asked for something other than a watch: a list.
    Listed,
    /// The client asked for a watch.
    Watched,
    /// A watch that was answered 200 is over, in order or not, and the client did not end it.
    Ended,
    /// An ERROR event came in a watch, with this code. A client that gives the watch up then has no [`Tallied::Ended`]
    /// of it.
    Failed(u16),
    /// A request was answered with this status, other than 200.
    Refused(u16),
}

/// A request that is under way.
#[derive(Debug)]
struct Open {
    connection: ConnectionId,
    server: ServerId,
    is_watch: bool,
    status: u16,
}

/// The records that wait for the driver, and the open requests.
///
/// Bounded: of more than 16,384 records the oldest are dropped. The tally has one [`Open`] for each open request, and
/// for each request that was open when its client was stopped ([`World::stop_client`]).
#[derive(Debug, Default)]
pub(super) struct Tally {
    waiting: VecDeque<TallyRecord>,
    open: BTreeMap<RequestId, Open>,
}

impl Tally {
    pub(super) fn sent(
        &mut self,
        at: Time,
        (id, connection, server): (RequestId, ConnectionId, ServerId),
        request: &Request,
    ) {
        let mut parameters = request.query.split('&');
        let is_watch = parameters.any(|parameter| matches!(parameter, "watch=true" | "watch=1"));
        let open = Open {
            connection,
            server,
            is_watch,
            status: 0,
        };
        self.open.insert(id, open);
        let tallied = if is_watch {
            Tallied::Watched
        } else {
            Tallied::Listed
        };
        self.push(at, server, tallied);
    }

    /// Notes that the client gave a response up.
    pub(super) fn cancelled(&mut self, id: RequestId) {
        self.open.remove(&id);
    }

    /// Notes that the client closed a connection.
    pub(super) fn closed(&mut self, connection: ConnectionId) {
        self.open.retain(|_, open| open.connection != connection);
    }

    /// Records what a delivery brought to a client.
    pub(super) fn take(&mut self, at: Time, connection: ConnectionId, arrival: &Arrival) {
        match arrival {
            Arrival::Connected | Arrival::GoAway => {}
            Arrival::Refused => self.closed(connection),
            Arrival::Closed(_) => {
                let lost = self.open.values();
                let lost = lost.filter(|open| open.connection == connection && open.is_watching());
                let servers: Vec<ServerId> = lost.map(|open| open.server).collect();
                self.closed(connection);
                for server in servers {
                    self.push(at, server, Tallied::Ended);
                }
            }
            Arrival::Head { request, head } => {
                let Some(open) = self.open.get_mut(request) else {
                    return;
                };
                open.status = head.status;
                let server = open.server;
                if head.status != 200 {
                    self.push(at, server, Tallied::Refused(head.status));
                }
            }
            Arrival::Chunk { request, bytes } => {
                let open = self.open.get(request).filter(|open| open.is_watching());
                let Some(server) = open.map(|open| open.server) else {
                    return;
                };
                if !bytes.starts_with(ERROR_FRAME) {
                    return;
                }
                let frames = Frames::default().take(bytes).unwrap_or_default();
                for frame in frames {
                    if frame.event == EventType::Error {
                        self.push(at, server, Tallied::Failed(frame.object.code));
                    }
                }
            }
            Arrival::End { request } | Arrival::Reset { request, .. } => {
                let over = self.open.remove(request);
                if let Some(over) = over.filter(Open::is_watching) {
                    self.push(at, over.server, Tallied::Ended);
                }
            }
        }
    }

    fn push(&mut self, at: Time, server: ServerId, tallied: Tallied) {
        if self.waiting.len() >= WAITING_MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(TallyRecord {
            at,
            server,
            tallied,
        });
    }
}

impl Open {
    fn is_watching(&self) -> bool {
        self.is_watch && self.status == 200
    }
}

/// The functions of a world that concern the tally.
impl World {
    /// Makes the world count what client programs ask for from now on, and how it ends. [`World::next_tallied`] takes
    /// the records. A second call does nothing.
    pub fn tell_tally(&mut self) {
        self.clients.tally.get_or_insert_default();
    }

    /// Takes the oldest waiting record; `None` if no record waits, or before [`World::tell_tally`]. At most 16,384
    /// records wait: further ones drop the oldest.
    pub fn next_tallied(&mut self) -> Option<TallyRecord> {
        self.clients.tally.as_mut()?.waiting.pop_front()
    }
}
