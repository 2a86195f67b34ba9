//! The accept loop: how many connections there may be, how long each may take, and how each ends.
//!
//! ```text
//!  accept ──► stranger ──first request with a session──► admitted ──► … until it closes
//!               │ at most 256; then the next one replaces the oldest,    at most 2,000; one more gets 503
//!               │ silent ones first, but none before it had
//!               │ 100 ms for a request; until then the next one waits
//!               └► no header within 10 s, no byte taken for 10 s: gone
//! ```
//! So a flood of strangers costs a fixed number of sockets and never replaces a viewer. A newcomer that sends its request at
//! once is served before the flood pushes it out. A thousand viewers that reconnect at once are all accepted.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tower::ServiceExt as _;

use super::stream::{self, GuardedStream};

/// The most bytes of the request line and headers together; above it the answer is 431. The cookies of all programs on this
/// host are in it, whatever their port.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The most headers of one request; above it the answer is 431.
const MAX_HEADERS: usize = 64;
/// File descriptors reserved for the clusters, files and the rest of the process.
const RESERVED_FILES: usize = 256;
/// The wait if the system has no free file descriptor.
const NO_FILES_PAUSE: Duration = Duration::from_millis(50);

/// The bounds of one listener.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections that have shown no session yet.
    pub strangers: usize,
    /// The most connections that have shown a session.
    pub admitted: usize,
    /// The time that each stranger has for a request before it can be evicted.
    pub grace: Duration,
    /// The time for the head of each request, including the wait for it.
    pub header_deadline: Duration,
    /// The time in which the other side must take at least one byte of a write.
    pub write_deadline: Duration,
    /// The time for connections to end after the shutdown began.
    pub drain_deadline: Duration,
}

impl Limits {
    /// The usual bounds, within the files that this process may open. It first raises its own soft limit of open files.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::within(open_files())
    }

    /// The usual bounds if at most `files` files may be open.
    #[must_use]
    fn within(files: usize) -> Self {
        let sockets = files.saturating_sub(RESERVED_FILES).max(64);
        let strangers = (sockets / 4).min(256);
        Self {
            strangers,
            admitted: (sockets - strangers).min(2000),
            grace: Duration::from_millis(100),
            header_deadline: Duration::from_secs(10),
            write_deadline: Duration::from_secs(10),
            drain_deadline: Duration::from_secs(10),
        }
    }

    /// The bounds of a listener that admits nobody, such as that of the health checks.
    #[must_use]
    pub fn few() -> Self {
        Self {
            strangers: 64,
            admitted: 0,
            ..Self::within(0)
        }
    }
}

/// Raises the soft limit of open files to the hard one, and returns it.
fn open_files() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    // If the system refuses, the old limit stays.
    let files = if setrlimit(Resource::Nofile, limit).is_ok() {
        limit.maximum
    } else {
        before
    };
    files.map_or(usize::MAX, |files| {
        usize::try_from(files).unwrap_or(usize::MAX)
    })
}

/// Serves `router` on `listener` until `shutdown`. Then it accepts no more connections and lets requests and sockets end; it
/// returns at the drain deadline at the latest. The hub ends the sockets: its viewers close them.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    traffic: Arc<Traffic>,
    shutdown: impl Future<Output = ()>,
) {
    let stopping = watch::Sender::new(false);
    let seats = Arc::new(Seats::new(limits.admitted, traffic));
    let mut strangers = Strangers::new(limits.strangers, limits.grace);
    let mut conversations = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let room_at = strangers.room_at();
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = conversations.join_next() => {}
            () = seats.taken.notified(), if room_at.is_some() => {}
            () = sleep_until(room_at.unwrap_or_else(Instant::now)), if room_at.is_some() => {
                strangers.evict_one(&seats.traffic);
            }
            accepted = listener.accept(), if room_at.is_none() => match accepted {
                Ok((stream, _)) => {
                    seats.traffic.accepted.fetch_add(1, Ordering::Relaxed);
                    let connection = Arc::new(Connection::new(Arc::clone(&seats)));
                    strangers.welcome(&connection);
                    conversations.spawn(converse(stream, router.clone(), connection, limits, stopping.subscribe()));
                }
                Err(error) => recover(&error, &mut strangers, &seats.traffic).await,
            },
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let drained = async { while conversations.join_next().await.is_some() {} };
    if timeout(limits.drain_deadline, drained).await.is_err() {
        conversations.shutdown().await;
    }
}

/// Serves one connection from accept to close.
async fn converse(
    stream: TcpStream,
    router: Router,
    connection: Arc<Connection>,
    limits: Limits,
    mut stopping: watch::Receiver<bool>,
) {
    // A frame should leave when it is flushed. Without this it waits for the acknowledgement of the frame before.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let (stream, back) = GuardedStream::new(stream, limits.write_deadline);
    let asked = Arc::clone(&connection);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        asked.has_asked.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(Arc::clone(&asked));
        router.clone().oneshot(request)
    });
    let mut http = Box::pin(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_deadline)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_header_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades(),
    );
    let mut is_stopping = false;
    loop {
        tokio::select! {
            _ = http.as_mut() => break,
            () = connection.evicted.notified() => return,
            _ = stopping.wait_for(|stopping| *stopping), if !is_stopping => {
                is_stopping = true;
                http.as_mut().graceful_shutdown();
            }
        }
    }
    // This drops the stream of a connection that was not upgraded, which hyper still holds.
    drop(http);
    if let Ok(stream) = back.await {
        stream::linger(stream).await;
    }
}

/// Recovers from a failed accept. If there are no free file descriptors, the oldest stranger is evicted. Any other error
/// concerns that connection only.
async fn recover(error: &io::Error, strangers: &mut Strangers, traffic: &Traffic) {
    let errno = error
        .raw_os_error()
        .map(rustix::io::Errno::from_raw_os_error);
    if matches!(
        errno,
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE)
    ) {
        tracing::warn!(%error, "no room for another connection");
        strangers.evict_one(traffic);
        sleep(NO_FILES_PAUSE).await;
    }
}

/// The seats of connections with a session.
#[derive(Debug)]
struct Seats {
    free: Arc<Semaphore>,
    /// Notified when a stranger takes a seat, which makes room among the strangers.
    taken: Notify,
    traffic: Arc<Traffic>,
}

impl Seats {
    fn new(count: usize, traffic: Arc<Traffic>) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            taken: Notify::new(),
            traffic,
        }
    }
}

/// One connection, as the checks see it.
#[derive(Debug)]
pub(super) struct Connection {
    since: Instant,
    seats: Arc<Seats>,
    /// Taken with the first request that shows a session, and released when the connection ends.
    seat: OnceLock<OwnedSemaphorePermit>,
    has_asked: AtomicBool,
    evicted: Notify,
}

impl Connection {
    fn new(seats: Arc<Seats>) -> Self {
        Self {
            since: Instant::now(),
            seats,
            seat: OnceLock::new(),
            has_asked: AtomicBool::new(false),
            evicted: Notify::new(),
        }
    }

    /// Moves the connection from the strangers to the admitted ones.
    pub(super) fn admit(&self) -> Result<(), NoSeat> {
        // Requests of one connection come one after another, so the seat is taken once.
        if self.seat.get().is_none() {
            let permit = Arc::clone(&self.seats.free)
                .try_acquire_owned()
                .map_err(|_| NoSeat)?;
            let _ = self.seat.set(permit);
            self.seats.traffic.admitted.fetch_add(1, Ordering::Relaxed);
            self.seats.taken.notify_one();
        }
        Ok(())
    }

    fn is_admitted(&self) -> bool {
        self.seat.get().is_some()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_admitted() {
            self.seats.traffic.admitted.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Error: the most connections are already admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoSeat;

/// The strangers, oldest first. There are at most `most`; the next one waits until one has gone.
struct Strangers {
    waiting: VecDeque<Weak<Connection>>,
    most: usize,
    grace: Duration,
}

impl Strangers {
    fn new(most: usize, grace: Duration) -> Self {
        Self {
            waiting: VecDeque::new(),
            most,
            grace,
        }
    }

    /// Adds a stranger.
    fn welcome(&mut self, connection: &Arc<Connection>) {
        self.waiting.push_back(Arc::downgrade(connection));
    }

    /// Returns when a stranger may be evicted for the next one; none if there is room.
    fn room_at(&mut self) -> Option<Instant> {
        if self.waiting.len() < self.most {
            return None;
        }
        self.waiting.retain(|waiting| {
            waiting
                .upgrade()
                .is_some_and(|waiting| !waiting.is_admitted())
        });
        if self.waiting.len() < self.most {
            return None;
        }
        self.next_to_go()
            .map(|(_, connection)| connection.since + self.grace)
    }

    /// Evicts one stranger.
    fn evict_one(&mut self, traffic: &Traffic) {
        if let Some((index, connection)) = self.next_to_go() {
            self.waiting.remove(index);
            connection.evicted.notify_one();
            traffic.evicted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the oldest stranger without a request; if all have sent one, the oldest.
    fn next_to_go(&self) -> Option<(usize, Arc<Connection>)> {
        let mut strangers = self
            .waiting
            .iter()
            .enumerate()
            .filter_map(|(index, waiting)| Some((index, waiting.upgrade()?)));
        let mut oldest = None;
        strangers
            .find(|(index, connection)| {
                oldest.get_or_insert_with(|| (*index, Arc::clone(connection)));
                !connection.has_asked.load(Ordering::Relaxed)
            })
            .or(oldest)
    }
}

/// The counts of the listener, for `/metrics`.
#[derive(Debug, Default)]
pub struct Traffic {
    accepted: AtomicU64,
    evicted: AtomicU64,
    admitted: AtomicU64,
}

impl Traffic {
    /// Connections that were accepted.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections without a session that were closed to make room.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Connections with a session that are open now.
    #[must_use]
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(count: usize) -> Arc<Seats> {
        Arc::new(Seats::new(count, Arc::default()))
    }

    fn connection(seats: &Arc<Seats>) -> Arc<Connection> {
        Arc::new(Connection::new(Arc::clone(seats)))
    }

    #[test]
    fn the_bounds_leave_files_for_the_rest_of_the_process() {
        for (files, strangers, admitted) in [
            (0, 16, 48),
            (1024, 192, 576),
            (65_536, 256, 2000),
            (usize::MAX, 256, 2000),
        ] {
            let limits = Limits::within(files);
            assert_eq!(
                (limits.strangers, limits.admitted),
                (strangers, admitted),
                "{files}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_silent_stranger_goes_first_after_its_grace_and_an_admitted_one_never() {
        let seats = seats(1);
        let grace = Duration::from_millis(100);
        let mut strangers = Strangers::new(3, grace);
        let began = Instant::now();
        let [asked, viewer, silent] = std::array::from_fn(|_| connection(&seats));
        asked.has_asked.store(true, Ordering::Relaxed);
        for stranger in [&asked, &viewer, &silent] {
            assert_eq!(strangers.room_at(), None);
            strangers.welcome(stranger);
        }
        viewer.admit().unwrap();
        assert_eq!(strangers.room_at(), None, "the admitted one made room");
        tokio::time::advance(Duration::from_millis(40)).await;
        let late = connection(&seats);
        strangers.welcome(&late);
        assert_eq!(strangers.room_at(), Some(began + grace));
        strangers.evict_one(&seats.traffic);
        silent.evicted.notified().await;
        assert_eq!(strangers.room_at(), None);
        late.has_asked.store(true, Ordering::Relaxed);
        strangers.evict_one(&seats.traffic);
        asked.evicted.notified().await;
        assert_eq!(seats.traffic.evicted.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_seat_is_taken_once_and_given_back_at_the_end() {
        let seats = seats(1);
        let (first, second) = (connection(&seats), connection(&seats));
        assert_eq!((first.admit(), first.admit()), (Ok(()), Ok(())));
        assert_eq!((second.admit(), seats.traffic.admitted()), (Err(NoSeat), 1));
        drop(first);
        assert_eq!((second.admit(), seats.traffic.admitted()), (Ok(()), 1));
    }
}
