//! The connections of one cluster's watches, or of those pinned to one apiserver. As in client-go, all share one HTTP/2
//! connection while it takes more requests; else each has one of its own.
//!
//! If a dial is under way, other watches that need a connection wait for it and share its outcome. They share its failure
//! too, since their own dials would fail alike. If the server speaks only HTTP/1.1, or HTTP/2 is ruled out, each watch dials
//! for itself.
//!
//! A shared connection has a keeper. This task logs a GOAWAY before the ends of the streams that it ends, and the end of the
//! connection after them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::task::JoinSet;
use watchscope_model::event::{ConnectionClosed, ConnectionGoaway, ConnectionOpened, Event};
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, Text, Time, WatchName};

use super::limiter::SideWatchLimiter;
use super::message::cause_of;
use crate::cluster::{Cluster, Session};
use crate::log::LogHandle;
use crate::transport::{Connection, ConnectionFacts, Connector, DialError, Happening, Listener};

/// Most dials in a row for one watch when each new connection is full at once. Servers allow at least 100 streams, so one
/// more connection is normally enough.
const TRIES: usize = 4;

/// The outcome of a request for a connection.
pub(crate) enum Dialled {
    /// A connection, or a share of one. An unshared connection is not in the log yet.
    Connected(Arc<Session>, ConnectionId, Box<Connection>),
    /// There is no connection.
    Not(NoConnection),
}

/// Why there is no connection.
pub(crate) enum NoConnection {
    /// The dial failed.
    Failed(Arc<Session>, Arc<DialError>),
    /// There are no credentials. The sentence says which were tried and what failed.
    NoCredentials(String),
}

/// The connections of one cluster's watches, or of those pinned to one apiserver. Bounded: at most one for each watch, and
/// one more.
pub(crate) struct Connections {
    cluster: Arc<Cluster>,
    /// The only apiserver that they lead to; none for any that the cluster's address leads to.
    server: Option<SocketAddr>,
    log: LogHandle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Connections of the session in use that may take more requests.
    open: Vec<Open>,
    /// The dial that other watches wait for, and the generation of its session.
    dial: Option<(u64, Dial)>,
    /// The generation of the session whose last dial met HTTP/1.1. With it no watch waits for another's dial.
    separate: Option<u64>,
    /// The limiter of side watches of each shared connection, while its keeper runs.
    limiters: BTreeMap<ConnectionId, SideWatchLimiter>,
    keepers: JoinSet<()>,
}

struct Open {
    generation: u64,
    id: ConnectionId,
    connection: Connection,
}

type Dial = Shared<BoxFuture<'static, Outcome>>;

/// The outcome of a dial that several watches wait for.
#[derive(Clone)]
enum Outcome {
    /// A connection to share, which is in `open` now.
    Shared,
    /// A connection that the first watch to take it gets.
    Separate(Arc<Mutex<Option<Connection>>>),
    Failed(Arc<DialError>),
}

impl Connections {
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        server: Option<SocketAddr>,
        log: LogHandle,
    ) -> Arc<Self> {
        Arc::new(Self {
            cluster,
            server,
            log,
            state: Mutex::default(),
        })
    }

    /// Returns a connection for a watch. `used` is the session that it used before; `reload` states that this session
    /// failed.
    pub(crate) async fn get(self: Arc<Self>, used: Option<Arc<Session>>, reload: bool) -> Dialled {
        let session = match self.session(used, reload).await {
            Ok(session) => session,
            Err(none) => return Dialled::Not(none),
        };
        if !session.connector().may_share() {
            return self.separate(session).await;
        }
        for _ in 0..TRIES {
            let dial = match self.find(&session) {
                Found::Share(id, connection) => {
                    return Dialled::Connected(session, id, Box::new(connection));
                }
                Found::Separate => break,
                Found::Dial(dial) => dial,
            };
            match dial.await {
                Outcome::Shared => {}
                Outcome::Separate(one) => {
                    let taken = one.lock().unwrap_or_else(PoisonError::into_inner).take();
                    if let Some(connection) = taken {
                        let id = self.log.ids().connection();
                        return Dialled::Connected(session, id, Box::new(connection));
                    }
                }
                Outcome::Failed(error) => {
                    return Dialled::Not(NoConnection::Failed(session, error));
                }
            }
        }
        self.separate(session).await
    }

    /// Dials a connection that no other watch shares, for a side watch.
    pub(crate) async fn apart(
        self: Arc<Self>,
        used: Option<Arc<Session>>,
        reload: bool,
    ) -> Dialled {
        match self.session(used, reload).await {
            Ok(session) => self.separate(session).await,
            Err(none) => Dialled::Not(none),
        }
    }

    /// Like [`Self::apart`], but does not log the connection. [`Self::name`] logs it if it is shared.
    ///
    /// # Errors
    /// The reason why there is no connection.
    pub(crate) async fn dial_unlogged(
        &self,
        used: Option<Arc<Session>>,
        reload: bool,
    ) -> Result<(Arc<Session>, Connection), NoConnection> {
        let session = self.session(used, reload).await?;
        self.dial(session).await
    }

    async fn dial(
        &self,
        session: Arc<Session>,
    ) -> Result<(Arc<Session>, Connection), NoConnection> {
        match self.connector(&session).open().await {
            Ok(connection) => Ok((session, connection)),
            Err(error) => Err(NoConnection::Failed(session, Arc::new(error))),
        }
    }

    /// Gives a connection its id. A shared connection is logged, with the version that its server reports.
    pub(crate) async fn name(
        &self,
        connection: &mut Connection,
        version: Option<Text>,
    ) -> ConnectionId {
        match connection.listen() {
            Some(listener) => self.keep(connection.facts(), version, listener, None).await,
            None => self.log.ids().connection(),
        }
    }

    /// Whether a watch may send another request over the connection that this session opened.
    pub(crate) fn may_ask_again(&self, session: &Session) -> bool {
        self.cluster.is_in_use(session)
    }

    /// Lets a watch open a side watch, which shows whether its shared connection is dead.
    ///
    /// # Errors
    /// The time to try again, if other watches come first.
    pub(crate) fn look(&self, shared: ConnectionId, watch: &WatchName) -> Result<(), Time> {
        let now = self.log.now();
        match self.state().limiters.get_mut(&shared) {
            Some(limiter) => limiter.ask(watch, now),
            // The connection has ended, and its streams are about to end.
            None => Ok(()),
        }
    }

    /// Closes all connections. Returns when their ends are in the log. Call it after all watches have stopped.
    pub(crate) async fn close(&self) {
        let State {
            open, mut keepers, ..
        } = std::mem::take(&mut *self.state());
        drop(open);
        while keepers.join_next().await.is_some() {}
    }

    async fn session(
        &self,
        used: Option<Arc<Session>>,
        reload: bool,
    ) -> Result<Arc<Session>, NoConnection> {
        let session = match used {
            Some(used) if reload => self.cluster.renew(&used).await,
            _ => self.cluster.session().await,
        };
        session.map_err(|error| NoConnection::NoCredentials(error.to_string()))
    }

    fn connector(&self, session: &Session) -> Connector {
        let connector = session.connector();
        match self.server {
            Some(server) => connector.pinned(server),
            None => connector.clone(),
        }
    }

    /// Returns a share of an open connection, or the dial to wait for.
    fn find(self: &Arc<Self>, session: &Arc<Session>) -> Found {
        let generation = session.generation();
        let mut state = self.state();
        // Streams on connections of older sessions continue by their own shares.
        state.open.retain(|open| open.generation == generation);
        for open in &state.open {
            if let Some(share) = open.connection.share() {
                return Found::Share(open.id, share);
            }
        }
        if state.separate == Some(generation) {
            return Found::Separate;
        }
        match &state.dial {
            Some((of, dial)) if *of == generation => Found::Dial(dial.clone()),
            _ => {
                let connector = self.connector(session);
                let dial = dial(Arc::downgrade(self), connector, generation)
                    .boxed()
                    .shared();
                state.dial = Some((generation, dial.clone()));
                Found::Dial(dial)
            }
        }
    }

    /// Dials a connection that watches do not share.
    async fn separate(&self, session: Arc<Session>) -> Dialled {
        match self.dial(session).await {
            Err(none) => Dialled::Not(none),
            Ok((session, mut connection)) => {
                let id = self.name(&mut connection, None).await;
                Dialled::Connected(session, id, Box::new(connection))
            }
        }
    }

    /// Logs an HTTP/2 connection and starts its keeper. `pool` is the pool in whose `open` it is.
    async fn keep(
        &self,
        facts: &ConnectionFacts,
        version: Option<Text>,
        listener: Listener,
        pool: Option<Weak<Self>>,
    ) -> ConnectionId {
        let id = self.log.ids().connection();
        let log = self.log.clone();
        // If the log is closed, the process and its watches are ending.
        let _ = log.append(Event::from(opened(id, facts, version))).await;
        let mut state = self.state();
        while state.keepers.try_join_next().is_some() {}
        if pool.is_some() {
            state.limiters.insert(id, SideWatchLimiter::default());
        }
        state.keepers.spawn(keep(id, listener, log, pool));
        id
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Found {
    Share(ConnectionId, Connection),
    Separate,
    Dial(Dial),
}

/// Dials a connection for all watches that wait for it.
async fn dial(pool: Weak<Connections>, connector: Connector, generation: u64) -> Outcome {
    let opened = connector.open().await;
    let Some(pool) = pool.upgrade() else {
        let none = Arc::new(Mutex::new(opened.ok()));
        return Outcome::Separate(none);
    };
    let outcome = match opened {
        Err(error) => Outcome::Failed(Arc::new(error)),
        Ok(mut connection) => match connection.listen() {
            None => {
                pool.state().separate = Some(generation);
                Outcome::Separate(Arc::new(Mutex::new(Some(connection))))
            }
            Some(listener) => {
                let weak = Arc::downgrade(&pool);
                let id = pool
                    .keep(connection.facts(), None, listener, Some(weak))
                    .await;
                pool.state().open.push(Open {
                    generation,
                    id,
                    connection,
                });
                Outcome::Shared
            }
        },
    };
    let mut state = pool.state();
    if state.dial.as_ref().is_some_and(|(of, _)| *of == generation) {
        state.dial = None;
    }
    outcome
}

/// Logs what happens to a connection until its end.
async fn keep(
    id: ConnectionId,
    mut listener: Listener,
    log: LogHandle,
    pool: Option<Weak<Connections>>,
) {
    loop {
        let happening = listener.next().await;
        // After a GOAWAY or an end, the pool gives out no more shares.
        if let Some(pool) = pool.as_ref().and_then(Weak::upgrade) {
            pool.state().open.retain(|open| open.id != id);
        }
        match happening {
            Happening::GoAway { last_stream, code } => {
                let event = ConnectionGoaway {
                    connection: id,
                    last_stream: last_stream.into(),
                    code: code.into(),
                };
                let _ = log.append(Event::from(event)).await;
            }
            Happening::Over(end) => {
                // The streams' ends are logged first.
                listener.all_left().await;
                if let Some(pool) = pool.as_ref().and_then(Weak::upgrade) {
                    pool.state().limiters.remove(&id);
                }
                let event = ConnectionClosed {
                    connection: id,
                    cause: end.as_ref().map_or(Cause::Cancelled, cause_of),
                    ping_ms: listener
                        .slowest_ping()
                        .map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
                };
                let _ = log.append(Event::from(event)).await;
                return;
            }
        }
    }
}

/// The event of a connection that was opened, with the version that its server reports.
pub(crate) fn opened(
    connection: ConnectionId,
    facts: &ConnectionFacts,
    version: Option<Text>,
) -> ConnectionOpened {
    ConnectionOpened {
        connection,
        server: facts.server.as_str().into(),
        remote: facts.remote.to_string().into(),
        alpn: facts.alpn.as_deref().map(Into::into),
        tls: facts
            .tls
            .as_ref()
            .map(|tls| format!("{} {}", tls.version, tls.cipher).into()),
        version,
    }
}

#[cfg(test)]
mod tests {
    use watchscope_model::Entry;

    use super::*;
    use crate::log::{LogConfig, Read, Since};
    use crate::transport::tests::http2::of_a_server_slow_to_answer_pings;

    #[tokio::test]
    async fn the_end_of_a_connection_carries_its_slowest_answer_to_a_ping() {
        let listener = of_a_server_slow_to_answer_pings().await;
        let log = LogHandle::open(LogConfig::new("demo".into())).unwrap();
        let mut reader = log.reader(Since::First);
        keep(ConnectionId(1), listener, log.clone(), None).await;
        log.close().await;
        let mut events = Vec::new();
        while let Some(read) = reader.next().await {
            if let Read::Entries(entries) = read {
                let records = entries.iter().filter_map(Entry::record);
                events.extend(records.map(|record| record.event.clone()));
            }
        }
        let [Event::ConnectionClosed(closed)] = &events[..] else {
            panic!("{events:?}");
        };
        let ping_ms = closed.ping_ms.unwrap();
        assert!((200..300).contains(&ping_ms), "{ping_ms}");
    }
}
