//! The shutdown of an apiserver after SIGTERM: what the server still does until its process is gone and a new one
//! replaces it (F07).
//!
//! ```text
//!  SIGTERM ── delay ──► no new requests ── watches end, open requests are answered ──► drained
//!   readyz fails          ├ plain: stops to listen at once, GOAWAY                        │
//!                         └ with Retry-After: 429 to all that come ──► stops to listen ◄──┘
//!                                   connections are over, or it takes too long ──► gone
//! ```
//!
//! Modelled after `RunWithContext` of kube-apiserver 1.36 (`pkg/server/genericapiserver.go`).

use std::time::Duration;

use super::{Event, World};
use crate::apiserver::Life;
use crate::message::{ConnectionId, Cut, RequestId, ServerId};
use crate::time::Time;

/// The longest time that a server waits for its open requests, except watches, after it ceased to take new ones
/// (docs/semantics/servers.md#request-timeout). A server that stopped listening when it ceased to take requests waits
/// until the same time for its connections (`ShutdownTimeout` of apiserver `pkg/server/config.go`, 1.36). Then its
/// process is gone and its connections are cut. A server that refuses with 429 waits [`LEAVING_DRAINED`] longer.
const LEAVING: Duration = Duration::from_secs(60);
/// The longest time that a server that refused with 429 waits for its connections (apiserver
/// `pkg/server/genericapiserver.go`, 1.36). The wait begins once all its requests are over, or [`LEAVING`] has passed.
/// After this time, or once no connection is left, the process is gone and its connections are cut.
const LEAVING_DRAINED: Duration = Duration::from_secs(2);
/// The least number of watches that a server ends per second in the grace period of its shutdown
/// (docs/semantics/servers.md#drain). If the grace period would be too short for all watches, the server ends them
/// faster.
const WATCHES_PER_SECOND: u32 = 200;
/// Time between two checks of whether the last request or connection is over. A server may therefore stop up to this
/// much later. The number has no source.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The state of a server's shutdown.
#[derive(Debug)]
pub(super) struct Stopping {
    /// When the server got SIGTERM; this time also identifies the shutdown among the server's shutdowns.
    pub(super) since: Time,
    grace: Duration,
    sends_retry_after: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The server is no longer ready, and still serves requests.
    Delaying,
    /// The server takes no new requests; `since` says since when, and `pace` is the time between the ends of two
    /// watches.
    Draining {
        since: Time,
        pace: Duration,
    },
    /// The server waits for its connections to close, at most until `until`.
    Leaving {
        until: Time,
    },
    Gone,
}

impl Stopping {
    /// Returns whether the server still accepts connections.
    fn is_listening(&self) -> bool {
        match self.phase {
            Phase::Delaying => true,
            Phase::Draining { .. } => self.sends_retry_after,
            Phase::Leaving { .. } | Phase::Gone => false,
        }
    }
}

impl World {
    /// Sends a server SIGTERM. Does nothing if the server already shuts down.
    pub(super) fn begin_shutdown(
        &mut self,
        server: ServerId,
        delay: Duration,
        grace: Duration,
        sends_retry_after: bool,
    ) {
        let Some(stops) = self.servers.get_mut(usize::from(server.0)) else {
            return;
        };
        if self.stopping.contains_key(&server) {
            return;
        }
        stops.life = Life::Unready;
        let since = self.now;
        self.stopping.insert(
            server,
            Stopping {
                since,
                grace,
                sends_retry_after,
                phase: Phase::Delaying,
            },
        );
        self.queue
            .schedule(since + delay, Event::Stopping(server, since));
    }

    /// Takes the next step of a server's shutdown.
    pub(super) fn go_on_stopping(&mut self, server: ServerId, since: Time) {
        let known = self.stopping.get(&server).filter(|s| s.since == since);
        let Some(phase) = known.map(|stopping| stopping.phase) else {
            return;
        };
        let next = match phase {
            Phase::Delaying => self.take_no_more(server),
            Phase::Draining { since, pace } => self.drain(server, since, pace),
            Phase::Leaving { until } => self.leave(server, until),
            Phase::Gone => None,
        };
        if let Some(wait) = next {
            let at = self.now + wait;
            self.queue.schedule(at, Event::Stopping(server, since));
        }
    }

    /// Starts a new process in place of a server that shuts down or is gone.
    pub(super) fn start_server(&mut self, server: ServerId) {
        if self.stopping.remove(&server).is_some() {
            self.end_process(server);
            self.with_server(server, |server, ctx| server.start(ctx));
        }
    }

    /// Returns whether a server has a process that accepts connections.
    pub(super) fn is_listening(&self, server: ServerId) -> bool {
        usize::from(server.0) < self.servers.len()
            && self
                .stopping
                .get(&server)
                .is_none_or(Stopping::is_listening)
    }

    /// Returns whether a server has a process.
    pub(super) fn is_there(&self, server: ServerId) -> bool {
        let found = self.servers.get(usize::from(server.0));
        found.is_some_and(|server| server.life != Life::Gone)
    }

    /// Returns whether a server is ready, so that a load balancer gives it connections.
    pub(super) fn is_ready(&self, server: ServerId) -> bool {
        !self.stopping.contains_key(&server)
    }

    /// Makes the server refuse new requests, since the shutdown's delay is over. Returns the time to the next step;
    /// `None` if the server does not shut down.
    fn take_no_more(&mut self, server: ServerId) -> Option<Duration> {
        let now = self.now;
        let watches = self.open_watches(server).count();
        let stopping = self.stopping.get_mut(&server)?;
        let watches = u32::try_from(watches).unwrap_or(u32::MAX).max(1);
        let least = Duration::from_secs(1) / WATCHES_PER_SECOND;
        let pace = least.min(stopping.grace / watches);
        stopping.phase = Phase::Draining { since: now, pace };
        let sends_retry_after = stopping.sends_retry_after;
        let life = Life::Refusing {
            sends_retry_after,
            // Without a grace period no filter counts watches, so new ones are still taken.
            watches: !stopping.grace.is_zero() || sends_retry_after,
        };
        if let Some(stops) = self.servers.get_mut(usize::from(server.0)) {
            stops.life = life;
        }
        if !sends_retry_after {
            self.dismiss(server);
        }
        Some(Duration::ZERO)
    }

    /// Ends the server's next watch while the grace period lasts. Afterwards, or when no watch is left, waits at most
    /// 60 s for open requests, then begins the next phase. Returns the time to the next step; `None` if the server does
    /// not shut down.
    fn drain(&mut self, server: ServerId, since: Time, pace: Duration) -> Option<Duration> {
        let stopping = self.stopping.get(&server)?;
        let has_grace = self.now.since(since) < stopping.grace;
        let sends_retry_after = stopping.sends_retry_after;
        let watch = self.open_watches(server).next();
        if has_grace && let Some(watch) = watch {
            self.with_server(server, |server, ctx| server.end_watch(watch, ctx));
            return Some(pace);
        }
        let stops = self.servers.get(usize::from(server.0))?;
        if stops.is_answering() && self.now.since(since) < LEAVING {
            return Some(LOOK_AGAIN);
        }
        let until = if sends_retry_after {
            self.now + LEAVING_DRAINED
        } else {
            since + LEAVING
        };
        self.stopping.get_mut(&server)?.phase = Phase::Leaving { until };
        if sends_retry_after {
            self.dismiss(server);
        }
        Some(Duration::ZERO)
    }

    /// Waits for the server's connections to close; ends the process when they are closed, or at `until`. Returns the
    /// time to the next step; `None` once the process has ended.
    fn leave(&mut self, server: ServerId, until: Time) -> Option<Duration> {
        let is_alone = self.connections_to(server).is_empty();
        if !is_alone && self.now < until {
            return Some(LOOK_AGAIN.min(until.since(self.now)));
        }
        self.stopping.get_mut(&server)?.phase = Phase::Gone;
        self.end_process(server);
        None
    }

    /// Sends GOAWAY on all connections of a server (`http.Server.Shutdown`); idle connections close at once.
    fn dismiss(&mut self, server: ServerId) {
        for connection in self.connections_to(server) {
            self.go_away(connection, None);
        }
    }

    /// Ends a server's process: the kernel closes the process's connections.
    fn end_process(&mut self, server: ServerId) {
        for connection in self.connections_to(server) {
            self.cut(connection, Cut::Eof);
        }
        self.with_server(server, |server, ctx| server.exit(ctx));
    }

    fn open_watches(&self, server: ServerId) -> impl Iterator<Item = RequestId> {
        let found = self.servers.get(usize::from(server.0));
        found.into_iter().flat_map(|server| server.watches())
    }

    /// The open connections to a server.
    fn connections_to(&self, server: ServerId) -> Vec<ConnectionId> {
        let all = self.network.connections();
        all.filter(|id| self.network.server(*id) == Some(server) && !self.network.is_cut(*id))
            .collect()
    }
}
