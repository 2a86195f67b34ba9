//! Everything that can be made to go wrong, as one enum. A fault is switched on and off while the world runs.
//!
//! A fault is a moment or a state. A moment ([`Fault::is_momentary`]) happens at
//! [`World::inject`](crate::World::inject) and is over. A state lasts until [`World::lift`](crate::World::lift) is
//! called with an equal value.
//! A front that serves the world over sockets needs to know no fault: the deliveries show each as its documentation
//! says.

use std::time::Duration;

use crate::defect::Defect;
use crate::message::{ConnectionId, Cut, ServerId};

/// The connections, or the watches on them, that a fault strikes. A target that matches nothing is no error. A moment
/// strikes those that match then; a state strikes those that match while it lasts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// All connections and all watches.
    All,
    /// One connection, and the watches on it.
    Connection(ConnectionId),
    /// Watches of one served resource, and the connections that carry such a watch: `pods`, `deployments.apps`.
    Resource(String),
    /// Connections of clients whose User-Agent begins with this, and the watches on them. An empty text matches all
    /// connections. A connection has the User-Agent of the first request that was sent over it and has one.
    UserAgent(String),
    /// Connections to one server, and the watches that it serves.
    Server(ServerId),
}

/// The emitters of 429, which differ in body and headers (docs/semantics/requests.md#too-many-requests).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Throttle {
    /// The max-inflight filter: text body, Retry-After 1; watches are exempt, as long-running requests are.
    MaxInFlight,
    /// Priority and fairness: text body, Retry-After as given, watches too.
    PriorityAndFairness,
    /// A watch cache that is not ready: JSON Status, Retry-After as given (docs/semantics/requests.md#not-ready). All
    /// requests to the collection of a cached resource get it, and only since 1.31. A real server refuses only reads
    /// there; this refuses writes too. Servers up to 1.30 let such requests wait, so there this does nothing.
    CacheNotReady,
    /// An apiserver shutting down (docs/semantics/requests.md#shutting-down): text body, Retry-After 5 and
    /// `Connection: close`; watches too. Real servers have it since 1.23 behind a flag, this one at every version.
    Shutdown,
    /// A consistent list whose cache did not catch up within `fresh_wait` (3 s by default): 429 instead of a read from
    /// etcd (docs/semantics/requests.md#stale-list, alpha in 1.37). JSON Status, Retry-After 1. It strikes lists of all
    /// resources.
    StaleCache,
}

/// Rights to a resource: groups of RBAC's verbs. A request needs the right to read if its method is GET or HEAD, else
/// the right to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// get, list, watch.
    Read,
    /// create, update, patch, delete, deletecollection.
    Write,
    /// All of these verbs.
    All,
}

impl Rights {
    /// Whether a request with this method needs one of these rights.
    pub(crate) fn cover(self, method: &str) -> bool {
        let reads = matches!(method, "GET" | "HEAD");
        match self {
            Rights::Read => reads,
            Rights::Write => !reads,
            Rights::All => true,
        }
    }
}

/// Something that goes wrong: a moment or a state.
///
/// Resources are named `pods` or `deployments.apps`. A fault whose resource or server does not exist strikes nothing.
/// Several states of one variant may be on. If only one of them can act on a thing, it is the lowest by [`Ord`], unless
/// the variant says otherwise. The variants from [`Fault::SilentExpiry`] on strike watches only where a watch cache
/// serves them, so none of `events`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Matching connections are cut now (F08 with [`Cut::Reset`], F06 with [`Cut::Eof`]). A moment.
    ///
    /// World: the server drops the requests, the client gets `Closed`. Bytes under way to the client are lost with
    /// [`Cut::Reset`], and arrive with [`Cut::Eof`] unless a stall holds them. Socket: on `Closed(Reset)` set SO_LINGER
    /// to zero and close; on `Closed(Eof)` shut down and close, without ending the body.
    Cut {
        /// Which connections.
        target: Target,
        /// How they are cut.
        cut: Cut,
    },
    /// Matching watches end in order now, long before their deadline (F10; F16 without the 429). A moment.
    ///
    /// World: buffered bytes are delivered, then `End`. Socket: end the body, keep the connection.
    CloseStreams {
        /// Which watches.
        target: Target,
    },
    /// The server gives matching watches up, and their connections go on (HTTP/2 RST_STREAM). A moment.
    ///
    /// World: the server drops the request, the client gets `Reset`. Socket: RST_STREAM. HTTP/1.1 has no word for it:
    /// the connection closes without ending the body, as Go's server does it.
    ResetStreams {
        /// Which watches.
        target: Target,
        /// The error code (RFC 9113 section 7).
        code: u32,
    },
    /// New connections are refused. A state; open connections go on.
    ///
    /// World: `connect` is answered by `Refused`. Socket: the listening socket is closed while this lasts.
    Refuse,
    /// Matching requests are answered 429 (F15). A state; open watches go on.
    ///
    /// World and socket: an ordinary answer with its headers.
    TooManyRequests {
        /// The resource whose requests are refused (`pods`, `deployments.apps`); `None`: every request.
        resource: Option<String>,
        /// Which of the emitters answers.
        throttle: Throttle,
        /// Seconds of Retry-After; ignored where the emitter fixes them.
        retry_after_secs: u32,
    },
    /// The watch caches lose their history and keep none while this lasts (F11). A state; open watches go on.
    ///
    /// World: a watch from a resourceVersion below the loss gets 200 and an in-band 410. If a resource without a watch
    /// cache is struck, etcd is compacted once, so all its history is gone (F12). A cache that a new process or
    /// definition makes meanwhile keeps history. Socket: nothing special.
    Expire {
        /// One resource; `None`: all.
        resource: Option<String>,
    },
    /// Nothing passes on matching connections, in either direction, and no side learns of it (F04). A state.
    ///
    /// World: requests and deliveries are held until the fault is lifted. The server fills its buffers and gives up. A
    /// cut still reaches the client, and what was held for it is lost. New connections still open, except where the
    /// target is [`Target::All`], their server or an empty User-Agent: there connecting hangs too. So it does with
    /// their User-Agent if a request is sent before they are open. Socket: nothing special, no bytes come.
    Stall {
        /// Which connections.
        target: Target,
    },
    /// Bytes from matching clients are lost on their way, and bytes from the server arrive (one half of F04). A state.
    ///
    /// World: requests are held until the fault is lifted, as TCP would send them again. Traffic to the client goes on.
    /// Connecting hangs as under [`Fault::Stall`]. Socket: nothing special, requests stay without an answer.
    LoseRequests {
        /// Which connections.
        target: Target,
    },
    /// Bytes from servers are lost on their way, and bytes from clients arrive (the other half of F04). A state.
    ///
    /// World: the server fills its buffers and gives up; the client hears nothing. Connecting hangs as under
    /// [`Fault::Stall`]. Socket: no bytes come.
    LoseAnswers {
        /// Which connections.
        target: Target,
    },
    /// Servers send GOAWAY on matching connections (F09). A moment.
    ///
    /// World: [`Arrival::GoAway`](crate::Arrival::GoAway). Open requests go on, and when they are over the server
    /// closes. With a cut it does not wait. Socket: GOAWAY. HTTP/1.1 has none: there the connection closes after its
    /// answer.
    GoAway {
        /// Which connections.
        target: Target,
        /// How the connection is cut right after the GOAWAY, as some load balancers do; `None`: it is not.
        cut: Option<Cut>,
    },
    /// A proxy keeps what servers send until it has `bytes` of a response, or its end (F44). Then it passes all of that
    /// on, and begins to fill again. A GOAWAY or a cut makes it pass all responses of the connection on. A state.
    ///
    /// World: heads and chunks come late and together. Socket: the same.
    Buffer {
        /// Which connections.
        target: Target,
        /// Bytes of body that fill the buffer of one response; at 0 nothing is kept.
        bytes: usize,
    },
    /// At most `streams` requests are answered at a time over a connection (F50). A state.
    ///
    /// World: further requests wait, without a word, until others are over. Socket: the same. HTTP/1.1 has one request
    /// at a time anyway.
    CapStreams {
        /// Which connections.
        target: Target,
        /// The most requests of one connection that are answered at a time; at 0 all wait.
        streams: usize,
    },
    /// A middlebox forgets connections over which nothing passed for `after` (F04, F08). A state.
    ///
    /// World: it strikes all connections. They are reset if `says_so` is set; else nothing passes any more, in either
    /// direction, even after the fault is lifted. Idle time before the fault does not count. Of several such faults
    /// only the one with the shortest time acts. Socket: the same.
    KillIdle {
        /// How long a connection is idle before it is forgotten. A ping counts as traffic.
        after: Duration,
        /// Whether both sides get a reset.
        says_so: bool,
    },
    /// The tokens of matching clients are no longer valid (F40). A state; open watches go on.
    ///
    /// World and socket: 401.
    ExpireTokens {
        /// Whose tokens.
        target: Target,
    },
    /// Matching clients may no longer read or write a resource (F41). A state; open watches go on.
    ///
    /// World and socket: 403.
    RevokeAccess {
        /// The clients that lose the rights.
        target: Target,
        /// The resource: `pods`, `deployments.apps`; its subresources too.
        resource: String,
        /// The rights that they lose.
        rights: Rights,
    },
    /// The next frame of each matching watch is torn in the middle and its connection cut (F47). A moment, whose effect
    /// comes with the watch's next frame.
    ///
    /// World: a `Chunk` with half a frame, then `Closed`. Socket: write the chunk, then as for [`Fault::Cut`].
    TearFrame {
        /// Which watches.
        target: Target,
        /// How the connection is cut after it.
        cut: Cut,
    },
    /// An apiserver gets SIGTERM and stops in order (F07). A state: when it is lifted, another process takes its place,
    /// with empty caches. For a server that stops already, a further one does nothing; the first that is lifted brings
    /// the next process.
    ///
    /// World: `/readyz` fails at once. After the delay the server takes no new request: it answers 503, or 429 with
    /// `Connection: close` where it sends Retry-After. It still answers health checks. With neither a grace period nor
    /// Retry-After it also begins watches. Open watches end one after the other. Connections get GOAWAY and close when
    /// their requests are over, at the latest about a minute after. Socket: the same; the listening socket closes once
    /// no server in the world listens.
    Shutdown {
        /// Which server.
        server: ServerId,
        /// `--shutdown-delay-duration`: how long the server still serves while it is not ready.
        delay: Duration,
        /// `--shutdown-watch-termination-grace-period`: how long it ends watches one by one. At zero, watches are cut
        /// at the end.
        grace: Duration,
        /// `--shutdown-send-retry-after`: whether it listens until it is drained, and answers 429.
        sends_retry_after: bool,
    },
    /// The load balancer gives no new connections to a server (F14, F22, F31). A state; open connections go on.
    ///
    /// World: clients that dial again reach the other servers; with no server left they are refused. Socket: the same,
    /// since the world chooses the server of a connection.
    OutOfRotation {
        /// Which server.
        server: ServerId,
    },
    /// The load balancer forwards each request on its own instead of each connection (F14, F31). A state.
    ///
    /// World: requests of one connection go to the servers in turn, beginning with its own. Socket: nothing special.
    BalanceRequests,
    /// Every packet between clients and servers takes longer. A state; different ones add up.
    ///
    /// World: requests and deliveries come later, in order. Socket: nothing special.
    Delay {
        /// The additional delay, one way.
        by: Duration,
    },

    /// etcd has one of its known defects. A state; each defect says what else has to happen for it to show.
    ///
    /// World: etcd's watches misbehave. Socket: nothing special, as for all faults of etcd.
    EtcdDefect(Defect),
    /// etcd has no leader (cases 1 and 3). A state.
    ///
    /// World: writes wait for at most 34 s, and reads that only etcd can answer for at most 60 s; caches still answer.
    /// A watch of etcd that begins gets an error in its stream. A running one gets it after three election timeouts,
    /// since 1.19 (docs/semantics/servers.md#leader-loss). From 1.19 to 1.24 every watch cache then lists again and its
    /// watches end (F16); since 1.25 the cache retries for 30 s (docs/semantics/servers.md#cache-retry).
    NoLeader,
    /// The member of etcd that a server talks to is cut off from the others. A state. When it is lifted, the member
    /// gets the leader's snapshot.
    ///
    /// World: the same as [`Fault::NoLeader`], for one server. Writes go on elsewhere, and its caches do not get them
    /// before the fault is lifted.
    PartitionMember {
        /// Whose member.
        server: ServerId,
    },
    /// The member of etcd that a server talks to does not apply writes (etcd#13766, #14685, fixed in 3.5.3 and 3.5.6).
    /// A state; what was missed stays missed. Of more than 100,000 missed writes the oldest count as applied.
    ///
    /// World: reads and watches of that server lack the writes, at equal resourceVersions.
    MissWrites {
        /// Whose member.
        server: ServerId,
    },
    /// etcd stops and starts again at once. A moment.
    ///
    /// World: its streams break and open again where they were. Nobody notices it, except through defects, or because
    /// the compaction took the history.
    RestartEtcd {
        /// Whether it crashed while it compacted all its history.
        during_compaction: bool,
    },
    /// etcd drops its history up to now (F12). A moment.
    CompactEtcd,
    /// etcd's state is saved, in place of an earlier snapshot. A moment.
    TakeSnapshot,
    /// etcd is restored from the last [`Fault::TakeSnapshot`]; if there is none, it is empty then (F33). A moment.
    ///
    /// World: revisions go back. The apiservers are not restarted, so their caches keep their contents. Without `bump`
    /// their watches wait until the revisions come again (F32). With a `bump` that raises the revision above theirs
    /// they get 410 and list again; with a lower one they wait, too.
    RestoreSnapshot {
        /// How far the revision is raised above the snapshot's, and all history below marked as compacted
        /// (`--bump-revision --mark-compacted`); `None`: neither. The sum must fit into 64 bits; a greater one panics
        /// in debug builds and wraps in others.
        bump: Option<u64>,
    },
    /// etcd needs `per_response` to send each response on its watch streams, so that their channels fill up (F20, F24).
    /// A state. Of several the most specific acts: one with server and resource, then server, then resource. Of two
    /// with equal server and resource the later acts, and lifting either ends both.
    SlowEtcdStreams {
        /// One server; `None`: all.
        server: Option<ServerId>,
        /// One resource; `None`: all.
        resource: Option<String>,
        /// How long etcd takes to send one response.
        per_response: Duration,
    },
    /// etcd's responses reach a server later (F31). A state; different ones for one server add up.
    ///
    /// World: that server's caches lag behind, and its lists with `resourceVersion=0` are old (F22).
    Lag {
        /// Which server.
        server: ServerId,
        /// The additional delay.
        by: Duration,
    },
    /// etcd's responses do not reach a server while this lasts (F14, F22, F32). A state.
    ///
    /// World: that server's caches stand still, and catch up when the fault is lifted. Above 200,000 responses held for
    /// one stream, they are dropped and the stream breaks.
    FreezeCaches {
        /// Which server.
        server: ServerId,
        /// One resource; `None`: all.
        resource: Option<String>,
    },
    /// The reflector of matching watch caches fails (F16). A moment.
    ///
    /// World: until the cache has listed again, reads that need it get 429, and before 1.31 they wait; the others are
    /// read from etcd. A second later the open watches that it serves end without an ERROR
    /// (docs/semantics/servers.md#cache-start).
    Reinitialise {
        /// One server; `None`: all.
        server: Option<ServerId>,
        /// One resource; `None`: all.
        resource: Option<String>,
    },
    /// A watch that starts below the history gets 200 and the end of the body, and no ERROR (F10). A state.
    SilentExpiry {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// A watch that starts below the history gets HTTP status 410 instead of 200 and an ERROR (F13). A state.
    GoneAsStatus {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// No bookmarks are sent, except the one that ends initial events (F34). A state.
    NoBookmarks {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Bookmarks carry etcd's revision, though the watch cache has not come so far (F35; k/k#122805). The one that ends
    /// initial events is right. A state.
    BookmarksAhead {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// The bookmark that ends the initial events is not sent (F35). A state.
    NoEndBookmark {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Initial events come in no order, as before 1.32 (F21). A state.
    UnsortedInitial {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// A watch that starts at a resourceVersion misses the first event above it (F45; k/k#116122). If the cache has
    /// none yet, it misses one only at the revision right behind the cache's. A state.
    StartRace {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Watches deliver each live event twice (F29), but not initial or replayed ones. A state.
    RepeatEvents {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// Watches deliver live events in pairs, the two of each pair in the wrong order (F30). Initial and replayed ones
    /// keep their order. A state; when it is lifted, an event that waits for its pair is delivered.
    SwapEvents {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
    /// The watch cache cannot read an object from etcd (F38): its reflector fails at each change of the object. A
    /// state.
    CorruptObject {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// Its name, in any namespace.
        name: String,
    },
    /// An object cannot be converted to the requested version (F38). Reads and lists with it are answered 500; watches
    /// get an ERROR 500 at a change of it, or where they begin with it. A state. Of several with one resource, only the
    /// first name in the alphabet strikes reads, lists and the begin of watches.
    CannotConvert {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// Its name, in any namespace.
        name: String,
    },
    /// Live events, except those of a deletion in etcd, carry an object of another kind than requested, as from a
    /// server that answers with Tables (F39). Their type is that of the write. Servers without Tables
    /// ([`Answers::OBJECTS`](crate::Answers::OBJECTS)) send the object itself. A state.
    WrongKind {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
}

impl Fault {
    /// Returns whether the fault happens at once and is over, so that there is nothing to lift; also for
    /// [`Fault::TearFrame`], whose effect comes later. `false`: it is a state.
    pub fn is_momentary(&self) -> bool {
        matches!(
            self,
            Fault::Cut { .. }
                | Fault::GoAway { .. }
                | Fault::CloseStreams { .. }
                | Fault::ResetStreams { .. }
                | Fault::TearFrame { .. }
                | Fault::RestartEtcd { .. }
                | Fault::CompactEtcd
                | Fault::TakeSnapshot
                | Fault::RestoreSnapshot { .. }
                | Fault::Reinitialise { .. }
        )
    }

    /// Whether a fault of servers or caches strikes the cache of resource `qualified` at `server`.
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
