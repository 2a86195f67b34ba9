//! Everything that can be made to go wrong in a simulated cluster, as one enum. A driver switches faults on and off
//! while the world runs.
//!
//! A fault is momentary or lasting. A momentary fault ([`Fault::is_momentary`]) happens at
//! [`World::inject`](crate::World::inject) and is over at once. A lasting fault stays on until
//! [`World::lift`](crate::World::lift) is called with an equal value.
//! A socket front, which serves the world over sockets, needs to know no fault. It acts on the world's deliveries, as
//! the documentation of each fault says.

use std::time::Duration;

use crate::defect::Defect;
use crate::message::{ConnectionId, Cut, ServerId};

/// The connections, or the watches on them, that a fault strikes. A target that matches nothing is no error. A
/// momentary fault strikes the connections that match when it happens. A lasting fault strikes each connection that
/// matches while the fault lasts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// All connections and all watches.
    All,
    /// One connection, and the watches on it.
    Connection(ConnectionId),
    /// Watches of one served resource, and the connections that carry such a watch: `pods`, `deployments.apps`.
    Resource(String),
    /// Connections of clients whose User-Agent begins with this text, and the watches on them. An empty text matches
    /// all connections. A connection's User-Agent is that of the first request sent over the connection that has one.
    UserAgent(String),
    /// Connections to one server, and the watches that it serves.
    Server(ServerId),
}

/// The emitters of 429, which differ in body and headers (docs/semantics/requests.md#too-many-requests).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Throttle {
    /// The max-inflight filter: text body, Retry-After 1 s. Watches are exempt, as all long-running requests are.
    MaxInFlight,
    /// API Priority and Fairness: text body, Retry-After as the fault gives it. It refuses watches, too.
    PriorityAndFairness,
    /// A watch cache that is not ready: JSON Status, Retry-After as the fault gives it
    /// (docs/semantics/requests.md#not-ready). Servers since 1.31 answer it to all requests for the collection of a
    /// cached resource. A real server refuses only reads of the collection; the simulated one refuses writes too. Real
    /// servers up to 1.30 let such requests wait, so this throttle does nothing at those versions.
    CacheNotReady,
    /// An apiserver shutting down (docs/semantics/requests.md#shutting-down): text body, Retry-After 5 s and
    /// `Connection: close`. This throttle refuses watches, too. Real servers have this refusal since 1.23 behind a
    /// flag, simulated ones at every version.
    Shutdown,
    /// A consistent list whose cache did not catch up within `fresh_wait` (3 s by default): 429 instead of a read from
    /// etcd (docs/semantics/requests.md#stale-list, alpha in 1.37). The answer has a JSON Status and Retry-After 1 s.
    /// This throttle strikes lists of all resources.
    StaleCache,
}

/// Rights to a resource: groups of RBAC's verbs. A request needs the right to read if its method is GET or HEAD, else
/// the right to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// The right to get, list and watch.
    Read,
    /// The right to create, update, patch, delete and deletecollection.
    Write,
    /// The rights of [`Rights::Read`] and [`Rights::Write`] together.
    All,
}

impl Rights {
    /// Returns whether a request with this HTTP method needs one of these rights.
    pub(crate) fn cover(self, method: &str) -> bool {
        let reads = matches!(method, "GET" | "HEAD");
        match self {
            Rights::Read => reads,
            Rights::Write => !reads,
            Rights::All => true,
        }
    }
}

/// Something that goes wrong: a momentary fault or a lasting one.
///
/// Resources are named `pods` or `deployments.apps`. A fault whose resource or server does not exist strikes nothing.
/// Several lasting faults of one variant may be on. Unless the variant says otherwise, what several of them cause lasts
/// until all of them are lifted. If only one of them can act on a request or connection, the lowest by [`Ord`] acts. Of
/// watches, the variants from [`Fault::SilentExpiry`] on strike only those that a watch cache serves, so none of
/// `events`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Matching connections are cut now (F08 with [`Cut::Reset`], F06 with [`Cut::Eof`]). This fault happens once, when
    /// it is injected.
    ///
    /// World: the server drops the requests, the client gets `Closed`. Bytes under way to the client are lost with
    /// [`Cut::Reset`], and arrive with [`Cut::Eof`] unless a stall holds them. On `Closed(Reset)` a socket front sets
    /// SO_LINGER to zero and closes. On `Closed(Eof)` a socket front shuts its socket down and closes it, without
    /// ending the body.
    Cut {
        /// The connections that the fault strikes.
        target: Target,
        /// How the connections are cut.
        cut: Cut,
    },
    /// Matching watches end now with an orderly end of the body, long before their timeout (F10; F16 without the 429).
    /// This fault happens once, when it is injected.
    ///
    /// World: buffered bytes are delivered, then `End`. A socket front ends the body and keeps the connection.
    CloseStreams {
        /// The watches that the fault strikes.
        target: Target,
    },
    /// The server gives matching watches up, and their connections stay open (HTTP/2 RST_STREAM). This fault happens
    /// once, when it is injected.
    ///
    /// World: the server drops the request, the client gets `Reset`. A socket front sends RST_STREAM. HTTP/1.1 has no
    /// such frame: the socket front closes the connection without ending the body, as Go's server does after a panic
    /// (`ErrAbortHandler` of `net/http`).
    ResetStreams {
        /// The watches that the fault strikes.
        target: Target,
        /// The error code of the RST_STREAM frame (RFC 9113 section 7).
        code: u32,
    },
    /// New connections are refused. This fault lasts until it is lifted; open connections go on.
    ///
    /// World: `connect` is answered by `Refused`. A socket front closes its listening socket while this fault lasts.
    Refuse,
    /// Matching requests are answered 429 (F15). This fault lasts until it is lifted; open watches go on.
    ///
    /// Clients get an ordinary response with its headers, from the world and over a socket.
    TooManyRequests {
        /// The resource whose requests are refused (`pods`, `deployments.apps`); `None`: requests of any resource, or
        /// of none. Requests that `throttle` exempts are not refused. Ignored for [`Throttle::StaleCache`].
        resource: Option<String>,
        /// Which part of an apiserver refuses the requests.
        throttle: Throttle,
        /// Seconds of Retry-After; ignored where `throttle` has a fixed Retry-After.
        retry_after_secs: u32,
    },
    /// The watch caches lose their history and keep none while this fault lasts (F11). This fault lasts until it is
    /// lifted; open watches go on.
    ///
    /// World: a watch from a resourceVersion older than the loss gets 200 and an ERROR event with 410. So does a watch
    /// from before the cache's last event since the loss. If a resource without a watch cache is struck, etcd is
    /// compacted once, so all of etcd's history is gone (F12). A cache that a new server process or a new CRD creates
    /// while this fault lasts keeps history. When one of several such faults is lifted, the others strike again. A
    /// socket front does nothing special.
    Expire {
        /// The one resource that is struck; `None`: all.
        resource: Option<String>,
    },
    /// Nothing passes on matching connections, in either direction, and neither side gets an error (F04). This fault
    /// lasts until it is lifted.
    ///
    /// World: requests and deliveries are held until the fault is lifted. The server fills its buffers, then ends the
    /// watches. A cut still reaches the client, and the deliveries held for that client are lost. New connections still
    /// open, unless the target is [`Target::All`], their server or an empty User-Agent: then connecting hangs too.
    /// Connecting also hangs under a matching User-Agent if the client sends a request before the connection is open. A
    /// socket front does nothing special; no bytes come.
    Stall {
        /// The connections that the fault strikes.
        target: Target,
    },
    /// Bytes from matching clients are lost on their way, and bytes from the server arrive (one half of F04). This
    /// fault lasts until it is lifted.
    ///
    /// World: requests are held until the fault is lifted, as TCP would send them again. Traffic to the client goes on.
    /// Connecting hangs as under [`Fault::Stall`]. A socket front does nothing special; requests stay without an
    /// answer.
    LoseRequests {
        /// The connections that the fault strikes.
        target: Target,
    },
    /// Bytes from servers are lost on their way, and bytes from clients arrive (the half of F04 opposite to
    /// [`Fault::LoseRequests`]). This fault lasts until it is lifted.
    ///
    /// World: deliveries are held until the fault is lifted; the client receives nothing before. The server fills its
    /// buffers, then ends the watches. Connecting hangs as under [`Fault::Stall`]. Over a socket no bytes come.
    LoseAnswers {
        /// The connections that the fault strikes.
        target: Target,
    },
    /// Servers send GOAWAY on matching connections (F09). This fault happens once, when it is injected.
    ///
    /// World: the client gets [`Arrival::GoAway`](crate::Arrival::GoAway). Open requests go on, and the server closes
    /// the connection when they are over. With a `cut` the server cuts the connection without waiting for open
    /// requests. A socket front sends GOAWAY. HTTP/1.1 has no GOAWAY: such a connection closes after its current
    /// response.
    GoAway {
        /// The connections that the fault strikes.
        target: Target,
        /// How the connection is cut right after the GOAWAY, as some load balancers do; `None`: it is not cut.
        cut: Option<Cut>,
    },
    /// A proxy keeps what servers send until it has `bytes` of a response, or the response's end (F44). A full proxy
    /// passes all kept bytes of the response on, and begins to fill again. A GOAWAY or a cut makes the proxy pass all
    /// responses of the connection on; after a [`Cut::Reset`] they are lost. When the fault is lifted, the proxy passes
    /// all kept bytes on. This fault lasts until it is lifted.
    ///
    /// World: heads and chunks come late and together. Over a socket, heads and chunks come late and together, too.
    Buffer {
        /// The connections that the fault strikes.
        target: Target,
        /// Bytes of body that fill the proxy's buffer of one response; at 0 the proxy keeps nothing.
        bytes: usize,
    },
    /// At most `streams` requests are answered at a time over a connection (F50). This fault lasts until it is lifted.
    ///
    /// World: further requests wait, without any response, until others are over. Requests that have reached the server
    /// when the fault begins go on, and count. Over a socket, further requests wait, too. HTTP/1.1 has one request at a
    /// time anyway.
    CapStreams {
        /// The connections that the fault strikes.
        target: Target,
        /// The most requests of one connection that are answered at a time; at 0 all requests wait.
        streams: usize,
    },
    /// A middlebox forgets connections over which nothing passed for `after` (F04, F08). This fault lasts until it is
    /// lifted.
    ///
    /// World: this fault strikes all connections. A forgotten connection is reset if `says_so` is set. If `says_so` is
    /// not set, nothing passes any more in either direction, even after the fault is lifted. Idle time before the fault
    /// does not count. Of several such faults only the one with the shortest time acts. A socket front shows the same.
    KillIdle {
        /// How long a connection is idle before it is forgotten. A ping counts as traffic.
        after: Duration,
        /// Whether both sides get a reset.
        says_so: bool,
    },
    /// The tokens of matching clients are no longer valid (F40). This fault lasts until it is lifted; open watches go
    /// on.
    ///
    /// Requests of matching clients are answered 401, in the world and over a socket.
    ExpireTokens {
        /// The clients whose tokens are invalid.
        target: Target,
    },
    /// Matching clients may no longer read or write a resource (F41). This fault lasts until it is lifted; open watches
    /// go on.
    ///
    /// Requests that need a lost right are answered 403, in the world and over a socket.
    RevokeAccess {
        /// The clients that lose the rights.
        target: Target,
        /// The resource: `pods`, `deployments.apps`; its subresources too.
        resource: String,
        /// The rights that they lose.
        rights: Rights,
    },
    /// The next frame of each matching watch is torn in the middle and its connection cut (F47). This fault is
    /// momentary, but its effect comes with the watch's next frame.
    ///
    /// World: the client gets a `Chunk` with half a frame, then `Closed`. A socket front writes the chunk, then acts as
    /// for [`Fault::Cut`].
    TearFrame {
        /// The watches that the fault strikes.
        target: Target,
        /// How the connection is cut after the half frame.
        cut: Cut,
    },
    /// The next frame of each matching watch arrives as bytes that are no JSON, as if a proxy had changed it (F38,
    /// docs/semantics/clients.md#read-errors). This fault is momentary, but its effect comes with the watch's next
    /// frame.
    ///
    /// World: the frame's first byte is changed; its length stays, and the response goes on. A socket front sends the
    /// same bytes.
    GarbleFrame {
        /// The watches that the fault strikes.
        target: Target,
    },
    /// An apiserver gets SIGTERM and shuts down gracefully (F07). This fault lasts; when it is lifted, a new process
    /// replaces the server, with empty caches. For a server that already shuts down, a further [`Fault::Shutdown`] does
    /// nothing. The first such fault of a server that is lifted starts the next process.
    ///
    /// World: `/readyz` fails at once. After `delay` the server takes no new request: it answers 503, or 429 with
    /// `Connection: close` if `sends_retry_after` is set. After `delay` the server still answers health checks. With
    /// neither `grace` nor `sends_retry_after` the server also begins new watches after `delay`. Within `grace` open
    /// watches end one after the other. Connections get GOAWAY and close when their requests are over. They close about
    /// a minute after `delay` at the latest, unless ending the watches takes longer. A socket front shows the same, and
    /// closes its listening socket once no server in the world listens.
    Shutdown {
        /// The server that the fault strikes.
        server: ServerId,
        /// `--shutdown-delay-duration`: how long the server still serves requests while `/readyz` already fails.
        delay: Duration,
        /// `--shutdown-watch-termination-grace-period`: the most time for which the server ends its watches one by one,
        /// at least 200 a second. At zero, the server cuts its watches when its shutdown ends.
        grace: Duration,
        /// `--shutdown-send-retry-after`: whether the server listens until its requests are over, and answers new
        /// requests 429.
        sends_retry_after: bool,
    },
    /// The load balancer gives no new connections to a server (F14, F22, F31). This fault lasts until it is lifted;
    /// open connections go on.
    ///
    /// World: clients that dial again reach the other servers; with no server left they are refused. A socket front
    /// shows the same, since the world chooses the server of a connection.
    OutOfRotation {
        /// The server that the fault strikes.
        server: ServerId,
    },
    /// The load balancer chooses a server for each request instead of for each connection (F14, F31). This fault lasts
    /// until it is lifted.
    ///
    /// World: requests of one connection go to the servers in turn, beginning with the connection's own server. A
    /// socket front does nothing special.
    BalanceRequests,
    /// Every packet between clients and servers takes longer. This fault lasts until it is lifted; delays of different
    /// length add up.
    ///
    /// World: requests and deliveries come later, still in order. A socket front does nothing special.
    Delay {
        /// The additional delay, one way.
        by: Duration,
    },

    /// etcd has one of its known defects. This fault lasts until it is lifted; the documentation of each defect says
    /// what else has to happen for it to show.
    ///
    /// World: etcd's watches misbehave. A socket front does nothing special, as for all faults of etcd.
    EtcdDefect(Defect),
    /// etcd has no leader. This fault lasts until it is lifted.
    ///
    /// World: writes wait for at most 34 s, and reads that only etcd can answer for at most 60 s; caches still answer.
    /// Since 1.19 a watch of etcd that begins without a leader gets an error in its stream. An open one gets the error
    /// after three election timeouts (docs/semantics/servers.md#leader-loss). Before 1.19 an open watch gets no error,
    /// and a new one from `0` or without a resourceVersion waits. From 1.19 to 1.24 every watch cache lists again after
    /// that error and its watches end (F16). Since 1.25 a watch cache retries its watch of etcd for 30 s
    /// (docs/semantics/servers.md#cache-retry).
    NoLeader,
    /// The member of etcd that a server talks to is cut off from the other members. This fault lasts until it is
    /// lifted. When this fault is lifted, the member gets the leader's snapshot.
    ///
    /// World: requests of this one server suffer as under [`Fault::NoLeader`]. Writes go on through other servers, and
    /// this server's caches do not get them before the fault is lifted.
    PartitionMember {
        /// The server whose member of etcd the fault strikes.
        server: ServerId,
    },
    /// The member of etcd that a server talks to does not apply writes (etcd#13766, #14685, fixed in 3.5.3 and 3.5.6).
    /// This fault lasts until it is lifted; writes that the member missed stay missed even then. Of more than 100,000
    /// missed writes the oldest count as applied.
    ///
    /// World: reads and watches of that server lack the writes, at equal resourceVersions.
    MissWrites {
        /// The server whose member of etcd the fault strikes.
        server: ServerId,
    },
    /// etcd stops and starts again at once. This fault happens once, when it is injected.
    ///
    /// World: etcd's watch streams break and resume from the same revisions. Clients notice nothing, except through
    /// defects, or because a compaction removed the history.
    RestartEtcd {
        /// Whether etcd crashed while it compacted all its history.
        during_compaction: bool,
    },
    /// etcd drops its history up to now (F12). This fault happens once, when it is injected.
    CompactEtcd,
    /// A snapshot of etcd's state is saved, in place of an earlier snapshot. This fault happens once, when it is
    /// injected.
    TakeSnapshot,
    /// etcd is restored from the last [`Fault::TakeSnapshot`]; without an earlier snapshot, etcd is empty afterwards
    /// (F33). This fault happens once, when it is injected.
    ///
    /// World: etcd's revision goes back. The apiservers are not restarted, so their caches keep their contents. Without
    /// `bump` the caches' watches of etcd wait until etcd reaches their revisions again (F32). With a `bump` that
    /// raises etcd's revision at least 2 above that of a cache, the cache gets 410 and lists again. With a smaller
    /// `bump` the cache waits.
    RestoreSnapshot {
        /// How far the revision is raised above the snapshot's, and all history below marked as compacted
        /// (`--bump-revision --mark-compacted`); `None`: neither. The raised revision must fit into 64 bits; a greater
        /// one panics in debug builds and wraps in others.
        bump: Option<u64>,
    },
    /// etcd needs `per_response` to send each response on its watch streams, so that their channels fill up (F20, F24).
    /// This fault lasts until it is lifted. Of several such faults the most specific acts: one with server and
    /// resource, then one with a server, then one with a resource. Of two such faults with equal server and resource
    /// the later acts, and lifting either ends both.
    SlowEtcdStreams {
        /// The one server that is struck; `None`: all.
        server: Option<ServerId>,
        /// The one resource that is struck; `None`: all.
        resource: Option<String>,
        /// How long etcd takes to send one response, besides the time for its bytes.
        per_response: Duration,
    },
    /// etcd's responses reach a server later (F31). This fault lasts until it is lifted; delays of different length for
    /// one server add up.
    ///
    /// World: the server's caches lag behind etcd, and its lists with `resourceVersion=0` are old (F22).
    Lag {
        /// The server that the fault strikes.
        server: ServerId,
        /// The additional delay of each of etcd's responses to the server.
        by: Duration,
    },
    /// etcd's responses do not reach a server while this fault lasts (F14, F22, F32). This fault lasts until it is
    /// lifted.
    ///
    /// World: the server's caches get no changes, and catch up when the fault is lifted. When over 200,000 responses
    /// are held for one stream of etcd, they are dropped, and the stream breaks when the fault is lifted.
    FreezeCaches {
        /// The server that the fault strikes.
        server: ServerId,
        /// The one resource that is struck; `None`: all.
        resource: Option<String>,
    },
    /// The reflector of matching watch caches fails (F16). This fault happens once, when it is injected.
    ///
    /// World: until the cache has listed again, reads that need the cache get 429, and before 1.31 they wait; other
    /// reads go to etcd. One second after the failure, the open watches that the cache serves end without an ERROR
    /// (docs/semantics/servers.md#cache-start).
    Reinitialise {
        /// The one server that is struck; `None`: all.
        server: Option<ServerId>,
        /// The one resource that is struck; `None`: all.
        resource: Option<String>,
    },
    /// A watch from a resourceVersion older than the cache's history gets 200 and the end of the body, and no ERROR
    /// (F10). This fault lasts until it is lifted.
    SilentExpiry {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// A watch from a resourceVersion older than the cache's history gets HTTP status 410 instead of 200 and an ERROR
    /// (F13). This fault lasts until it is lifted.
    GoneAsStatus {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// No bookmarks are sent, except the one that ends initial events (F34). This fault lasts until it is lifted.
    NoBookmarks {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Bookmarks carry etcd's revision, though the watch cache has not reached that revision (F35; k/k#122805). The
    /// bookmark that ends initial events is right. This fault lasts until it is lifted.
    BookmarksAhead {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// The bookmark that ends the initial events is not sent (F35). This fault lasts until it is lifted.
    NoEndBookmark {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Initial events come in no order, as before 1.32 (F21). This fault lasts until it is lifted.
    UnsortedInitial {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// A watch that starts at a resourceVersion misses the resource's first event above that resourceVersion (F45;
    /// k/k#116122). If the cache has no such event yet, the watch misses only an event at the revision one above the
    /// cache's. This fault lasts until it is lifted.
    StartRace {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Watches deliver each live event twice (F29), but not initial or replayed ones. This fault lasts until it is
    /// lifted.
    RepeatEvents {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Watches deliver live events in pairs, the two of each pair in the wrong order (F30). Initial and replayed events
    /// keep their order. This fault lasts until it is lifted; then an event that waits for the second of its pair is
    /// delivered.
    SwapEvents {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
    /// The watch cache cannot read an object from etcd (F38): its reflector fails at each change of the object. This
    /// fault lasts until it is lifted.
    CorruptObject {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
        /// The object's name, in any namespace.
        name: String,
    },
    /// An object cannot be converted to the requested version (F38). Reads of the object and lists that contain it are
    /// answered 500. A watch gets an ERROR 500 at a change of the object, or in place of initial or replayed events
    /// that contain it. This fault lasts until it is lifted. Of several such faults with one resource, only the first
    /// name in the alphabet strikes reads, lists and the start of watches.
    CannotConvert {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
        /// The object's name, in any namespace.
        name: String,
    },
    /// Live events, except those of a deletion in etcd, carry an object of another kind than requested, as from a
    /// server that answers with Tables (F39). The type of each event is that of its write in etcd. Servers without
    /// Tables ([`Answers::OBJECTS`](crate::Answers::OBJECTS)) send the object itself. This fault lasts until it is
    /// lifted.
    WrongKind {
        /// The resource that the fault strikes: `pods`, `deployments.apps`.
        resource: String,
    },
}

impl Fault {
    /// Returns whether the fault happens at once and is over, so that there is nothing to lift; also for
    /// [`Fault::TearFrame`] and [`Fault::GarbleFrame`], whose effect comes later. `false`: the fault lasts until it is lifted.
    pub fn is_momentary(&self) -> bool {
        matches!(
            self,
            Fault::Cut { .. }
                | Fault::GoAway { .. }
                | Fault::CloseStreams { .. }
                | Fault::ResetStreams { .. }
                | Fault::TearFrame { .. }
                | Fault::GarbleFrame { .. }
                | Fault::RestartEtcd { .. }
                | Fault::CompactEtcd
                | Fault::TakeSnapshot
                | Fault::RestoreSnapshot { .. }
                | Fault::Reinitialise { .. }
        )
    }

    /// Returns whether a fault of servers or caches strikes the cache of resource `qualified` at `server`.
    pub(crate) fn concerns(&self, server: ServerId, qualified: &str) -> bool {
        let here = |wanted: &Option<ServerId>| wanted.is_none_or(|wanted| wanted == server);
        let this = |wanted: &Option<String>| wanted.as_ref().is_none_or(|w| w == qualified);
        match self {
            Fault::FreezeCaches {
                server: wanted,
                resource,
            } => *wanted == server && this(resource),
            Fault::Lag { server: wanted, .. } => *wanted == server,
            Fault::SlowEtcdStreams {
                server, resource, ..
            }
            | Fault::Reinitialise { server, resource } => here(server) && this(resource),
            Fault::SilentExpiry { resource }
            | Fault::GoneAsStatus { resource }
            | Fault::NoBookmarks { resource }
            | Fault::BookmarksAhead { resource }
            | Fault::NoEndBookmark { resource }
            | Fault::UnsortedInitial { resource }
            | Fault::StartRace { resource }
            | Fault::RepeatEvents { resource }
            | Fault::SwapEvents { resource }
            | Fault::CorruptObject { resource, .. }
            | Fault::CannotConvert { resource, .. }
            | Fault::WrongKind { resource } => resource == qualified,
            _ => false,
        }
    }
}
