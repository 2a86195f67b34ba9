//! A client's HTTP connections: dials when it needs one, shares it between requests, tells each how it ended.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::Context;
use crate::message::{Arrival, ConnectionId, Cut, Request, RequestId};

/// Why a request got no (whole) answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The connection was refused: `ECONNREFUSED`.
    Refused,
    /// The connection was reset: `ECONNRESET`.
    Reset,
    /// The connection ended in the middle: `unexpected EOF`.
    Eof,
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got<'a> {
    Head {
        status: u16,
        headers: &'a [(String, String)],
    },
    Body(&'a Bytes),
    End,
    Failed(Failure),
}

/// A client's connections, one for all its requests as HTTP/2 has it.
#[derive(Debug, Default)]
pub(crate) struct Transport {
    connections: BTreeMap<ConnectionId, BTreeSet<RequestId>>,
}

impl Transport {
    /// Sends a request, over the connection there is or a new one.
    pub(crate) fn send(&mut self, request: Request, ctx: &mut Context<'_>) -> RequestId {
        let connection = match self.connections.last_key_value() {
            Some((connection, _)) => *connection,
            None => ctx.port.connect(),
        };
        let request = request.header("user-agent", ctx.user_agent);
        let id = ctx.port.send(connection, request);
        self.connections.entry(connection).or_default().insert(id);
        id
    }

    /// Gives a request up.
    pub(crate) fn cancel(&mut self, request: RequestId, ctx: &mut Context<'_>) {
        for requests in self.connections.values_mut() {
            if requests.remove(&request) {
                ctx.port.cancel(request);
            }
        }
    }

    /// What an arrival means, for each request it means something to.
    pub(crate) fn take<'a>(
        &mut self,
        connection: ConnectionId,
        arrival: &'a Arrival,
    ) -> Vec<(RequestId, Got<'a>)> {
        let Some(requests) = self.connections.get_mut(&connection) else {
            return Vec::new();
        };
        let (request, got) = match arrival {
            Arrival::Connected => return Vec::new(),
            Arrival::Refused => return self.lose(connection, Failure::Refused),
            Arrival::Closed(Cut::Reset) => return self.lose(connection, Failure::Reset),
            Arrival::Closed(Cut::Eof) => return self.lose(connection, Failure::Eof),
            Arrival::Head { request, head } => (
                request,
                Got::Head {
                    status: head.status,
                    headers: &head.headers,
                },
            ),
            Arrival::Chunk { request, bytes } => (request, Got::Body(bytes)),
            Arrival::End { request } => {
                if !requests.remove(request) {
                    return Vec::new();
                }
                return vec![(*request, Got::End)];
            }
        };
        if requests.contains(request) {
            vec![(*request, got)]
        } else {
            Vec::new()
        }
    }

    fn lose(
        &mut self,
        connection: ConnectionId,
        failure: Failure,
    ) -> Vec<(RequestId, Got<'static>)> {
        let requests = self.connections.remove(&connection).unwrap_or_default();
        requests
            .into_iter()
            .map(|request| (request, Got::Failed(failure)))
            .collect()
    }
}
