//! Which versions of servers answer the audit: a cluster that is being upgraded has two at a time.

use watchscope_model::tree::BTreeMap;
use watchscope_model::{ConnectionId, Event};

use super::reads::Server;
use crate::findings::minor_and_patch;

/// What servers have said of their versions. A process has one version for as long as it lives, and no connection
/// outlives it, so what a server said over a connection is so of all it answers there.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    /// By open connection, of those whose server was asked: the audit's own, at most two for each server there was.
    said: BTreeMap<ConnectionId, (u64, u64)>,
    /// The oldest and the newest that any server said.
    seen: Option<[(u64, u64); 2]>,
}

impl Versions {
    pub(super) fn observe(&mut self, event: &Event) {
        let said = match event {
            Event::ClusterConnected(event) => minor_and_patch(&event.version),
            Event::ConnectionOpened(event) => {
                let said = event.version.as_deref().and_then(minor_and_patch);
                if let Some(said) = said {
                    self.said.insert(event.connection, said);
                }
                said
            }
            Event::ConnectionClosed(event) => {
                self.said.remove(&event.connection);
                None
            }
            _ => None,
        };
        if let Some(said) = said {
            let [oldest, newest] = self.seen.unwrap_or([said; 2]);
            self.seen = Some([oldest.min(said), newest.max(said)]);
        }
    }

    /// The version of the server that a connection leads to.
    pub(super) fn at(&self, connection: ConnectionId) -> Server {
        self.said.get(&connection).copied()
    }

    pub(super) fn oldest(&self) -> Server {
        self.seen.map(|[oldest, _]| oldest)
    }

    pub(super) fn newest(&self) -> Server {
        self.seen.map(|[_, newest]| newest)
    }
}
