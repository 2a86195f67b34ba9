//! Kubernetes versions of servers, and which of these servers may answer: a cluster that is being upgraded has two
//! versions at a time.

use watchscope_model::tree::BTreeMap;
use watchscope_model::{ConnectionId, Event, State};

/// Minor and patch of a server's version, 1.x; `None` if it is unknown.
///
/// An unknown version counts as the newest one, which answers the most reads from watch caches.
pub(crate) type ServerVersion = Option<(u64, u64)>;

/// Returns the servers' version as the cluster reported it; `None` if it is unknown.
pub(crate) fn server_version(state: &State) -> ServerVersion {
    minor_and_patch(&state.cluster.as_ref()?.version)
}

/// Returns minor and patch of a `gitVersion`, 1.x; `None` if the text is no such version.
fn minor_and_patch(version: &str) -> ServerVersion {
    let mut numbers = version
        .trim_start_matches('v')
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    match (next(), next(), next()) {
        (Some(1), Some(minor), patch) => Some((minor, patch.unwrap_or(0))),
        _ => None,
    }
}

/// The versions that servers reported. A server process has one version during its life, and no connection outlives its
/// process. So the version reported over a connection holds for all answers over it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    /// The reported version of each open connection. Only the audit's own connections report a version, at most two for
    /// each server.
    reported: BTreeMap<ConnectionId, (u64, u64)>,
    /// The oldest and the newest version that any server reported; `None` before the first.
    seen: Option<[(u64, u64); 2]>,
}

impl Versions {
    /// Takes the next event of the log.
    pub(crate) fn observe(&mut self, event: &Event) {
        let reported = match event {
            Event::ClusterConnected(event) => minor_and_patch(&event.version),
            Event::ConnectionOpened(event) => {
                let reported = event.version.as_deref().and_then(minor_and_patch);
                if let Some(reported) = reported {
                    self.reported.insert(event.connection, reported);
                }
                reported
            }
            Event::ConnectionClosed(event) => {
                self.reported.remove(&event.connection);
                None
            }
            _ => None,
        };
        if let Some(reported) = reported {
            let [oldest, newest] = self.seen.unwrap_or([reported; 2]);
            self.seen = Some([oldest.min(reported), newest.max(reported)]);
        }
    }

    /// Returns the version that the server reported over a connection; `None` if it reported none.
    pub(crate) fn at(&self, connection: ConnectionId) -> ServerVersion {
        self.reported.get(&connection).copied()
    }

    /// Returns the oldest version that any server reported; `None` if none did.
    pub(crate) fn oldest(&self) -> ServerVersion {
        self.seen.map(|[oldest, _]| oldest)
    }

    /// Returns the newest version that any server reported; `None` if none did.
    pub(crate) fn newest(&self) -> ServerVersion {
        self.seen.map(|[_, newest]| newest)
    }
}
