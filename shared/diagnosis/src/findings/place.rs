//! Where a watch's requests go: connection, server and resource.

use watchscope_model::{ConnectionId, State, Text, WatchName};

use super::draft::Subject;

/// Where a watch's requests go: connection and server, and the resource that it watches.
#[derive(Clone, Debug)]
pub(super) struct Place {
    connection: Option<ConnectionId>,
    /// The address of the server that the connection reached; `None` if it is unknown.
    server: Option<Text>,
    group: Text,
    resource: Text,
}

impl Place {
    /// Returns where a watch's last request went; `None` for the audit's requests about a watch.
    pub(super) fn of(name: &WatchName, state: &State) -> Option<Self> {
        let watch = state.watches.get(name).filter(|_| !name.is_aside())?;
        let connection = watch.connection.and_then(|id| state.connections.get(&id));
        Some(Self {
            connection: watch.connection,
            server: connection
                .map(|connection| connection.remote.clone())
                .or_else(|| watch.server.clone()),
            group: watch.group.clone(),
            resource: watch.resource.clone(),
        })
    }

    /// Like `of`, for a request over the given connection.
    pub(super) fn over(name: &WatchName, connection: ConnectionId, state: &State) -> Option<Self> {
        let place = Self::of(name, state)?;
        let opened = state.connections.get(&connection);
        Some(Self {
            connection: Some(connection),
            server: opened.map(|opened| opened.remote.clone()).or(place.server),
            ..place
        })
    }

    pub(super) fn connection(&self) -> Option<Subject> {
        let connection = self.connection?;
        Some(Subject::Connection(connection, self.server.clone()))
    }

    pub(super) fn server(&self) -> Option<Subject> {
        self.server.clone().map(Subject::Server)
    }

    /// Returns the address of the server that the connection reached; `None` if it is unknown.
    pub(super) fn address(&self) -> Option<&Text> {
        self.server.as_ref()
    }

    pub(super) fn type_there(&self) -> Subject {
        Subject::Type {
            group: self.group.clone(),
            resource: self.resource.clone(),
            server: self.server.clone(),
        }
    }

    /// Returns words for the server, `the server 10.0.0.1:6443`.
    pub(super) fn server_words(&self) -> String {
        let server = self.server.as_ref();
        server.map_or_else(|| "the server".to_owned(), |it| format!("the server {it}"))
    }

    /// Returns the resource with its group, `widgets.example.com`.
    pub(super) fn type_words(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_string()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}
