//! The connections of one cluster's watches, or of those pinned to one apiserver: one HTTP/2 connection for all while it
//! takes more requests, as client-go has it, else one for each.
//!
//! Watches that need a connection while a dial is under way wait for it and share its outcome, its failure too: they
//! would meet the same. Where the server speaks HTTP/1.1, or HTTP/2 is ruled out, each watch dials for itself.
//!
//! A shared connection has a keeper: a task that logs what happens to it, a GOAWAY before the ends of the streams that it
//! ends, and its own end after them.

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

/// Connections that are tried in a row because the ones before were full at once. Servers allow at least 100 streams,
/// so one more is what is needed.
const TRIES: usize = 4;

/// The outcome of a request for a connection.
pub(crate) enum Dialled {
    /// A connection, or a share of one. One that is not shared is not in the log yet.
    Connected(Arc<Session>, ConnectionId, Box<Connection>),
    /// None.
    Not(NoConnection),
}

/// Why there is no connection.
pub(crate) enum NoConnection {
    /// The dial failed.
    Failed(Arc<Session>, Arc<DialError>),
    /// There are no credentials to dial with; the sentence says what was tried and what came back.
    NoCredentials(String),
}

/// The connections of one cluster's watches, or of those pinned to one apiserver. Bounded: at most one for each watch, and
/// one more.
pub(crate) struct Connections {
    cluster: Arc<Cluster>,
    /// The only apiserver they lead to; absent: any that the cluster's address leads to.
    server: Option<SocketAddr>,
    log: LogHandle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those that may take more requests, of the session in use.
    open: Vec<Open>,
    /// The dial under way that others wait for, and its session's generation.
    dial: Option<(u64, Dial)>,
    /// The session's generation whose last dial met HTTP/1.1: nobody waits for another's dial.
    separate: Option<u64>,
    /// The limiter of side watches of each shared connection; while its keeper lives.
    limiters: BTreeMap<ConnectionId, SideWatchLimiter>,
    keepers: JoinSet<()>,
}

struct Open {
    generation: u64,
    id: ConnectionId,
    connection: Connection,
}

type Dial = Shared<BoxFuture<'static, Outcome>>;

/// What a dial that others wait for gave.
#[derive(Clone)]
enum Outcome {
    /// A connection to share; it is among the open ones.
    Shared,
    /// One for the first who takes it.
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

    /// A connection for a watch. `used` is the session it used before; with `reload` that has failed.
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

    /// A connection that no other watch gets a share of: for a second look at what the others show.
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

    /// Like [`Self::apart`], but does not log the connection; [`Self::name`] does, if it is shared.
    ///
    /// # Errors
    /// Why there is none.
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

    /// Gives a connection its id. Logs a shared one, with the version that its server reports.
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

    /// Lets a watch open a side watch, to find out whether its share of a connection is dead.
    ///
    /// # Errors
    /// If others come first: when to try again.
    pub(crate) fn look(&self, shared: ConnectionId, watch: &WatchName) -> Result<(), Time> {
        let now = self.log.now();
        match self.state().limiters.get_mut(&shared) {
            Some(limiter) => limiter.ask(watch, now),
            // The connection is over, and its streams are about to end.
            None => Ok(()),
        }
    }

    /// Lets go of all connections, and returns when their ends are in the log; after all watches have stopped.
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

    /// A share of what is open, or the dial to wait for.
    fn find(self: &Arc<Self>, session: &Arc<Session>) -> Found {
        let generation = session.generation();
        let mut state = self.state();
        // Streams on connections of older sessions live on by their own shares.
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

    /// Dials a connection that is not shared among watches.
    async fn separate(&self, session: Arc<Session>) -> Dialled {
        match self.dial(session).await {
            Err(none) => Dialled::Not(none),
            Ok((session, mut connection)) => {
                let id = self.name(&mut connection, None).await;
                Dialled::Connected(session, id, Box::new(connection))
            }
        }
    }

    /// Logs a connection with HTTP/2 and starts its keeper; `pool` has it among the open ones.
    async fn keep(
        &self,
        facts: &ConnectionFacts,
        version: Option<Text>,
        listener: Listener,
        pool: Option<Weak<Self>>,
    ) -> ConnectionId {
        let id = self.log.ids().connection();
        let log = self.log.clone();
        // A log that is closed ends the process, and the watches with it.
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

/// The dial whose outcome all waiting watches share.
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

/// Logs what happens to a connection, to its end.
async fn keep(
    id: ConnectionId,
    mut listener: Listener,
    log: LogHandle,
    pool: Option<Weak<Connections>>,
) {
    loop {
        let happening = listener.next().await;
        // The pool gives out no more shares of it.
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
                // The ends of its streams go first.
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

/// A connection as the log has it, with the version that its server reports.
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
    async fn the_slowest_answer_to_a_ping_is_told_with_the_end_of_its_connection() {
        let listener = of_a_server_slow_to_answer_pings().await;
        let log = LogHandle::open(LogConfig::new("demo".into())).unwrap();
        let mut reader = log.reader(Since::First);
        keep(ConnectionId(1), listener, log.clone(), None).await;
        log.close().await;
        let mut told = Vec::new();
        while let Some(read) = reader.next().await {
            if let Read::Entries(entries) = read {
                let records = entries.iter().filter_map(Entry::record);
                told.extend(records.map(|record| record.event.clone()));
            }
        }
        let [Event::ConnectionClosed(closed)] = &told[..] else {
            panic!("{told:?}");
        };
        let ping_ms = closed.ping_ms.unwrap();
        assert!((200..300).contains(&ping_ms), "{ping_ms}");
    }
}
