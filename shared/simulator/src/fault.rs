//! Everything that can be made to go wrong, as one enum: values that are switched on and off while the world runs.
//!
//! A fault is either a moment ([`Fault::is_momentary`]: it happens at [`World::inject`](crate::World::inject) and
//! is over) or a state, which lasts until [`World::lift`](crate::World::lift) is called with an equal value.
//! A front that serves the world over sockets needs to know no fault: each shows itself in the deliveries as said here.

use std::time::Duration;

use crate::defect::Defect;
use crate::message::{ConnectionId, Cut, ServerId};

/// Which connections, or streams on them, a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// All of them.
    All,
    /// One connection.
    Connection(ConnectionId),
    /// Watches of one resource, and the connections that carry one: `pods`, `deployments.apps`.
    Resource(String),
    /// Connections of clients whose User-Agent begins so; a connection has one once a request came over it.
    UserAgent(String),
    /// Connections to one server.
    Server(ServerId),
}

/// The emitters of 429, which differ in body and headers (docs/semantics/requests.md#too-many-requests).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Throttle {
    /// The max-inflight filter: text body, Retry-After 1; watches are exempt, as long-running requests are.
    MaxInFlight,
    /// Priority and fairness: text body, Retry-After as given, watches too.
    PriorityAndFairness,
    /// A watch cache that is not ready: JSON Status; only lists and watches of cached resources, and only since 1.31.
    /// Servers up to 1.30 let such requests wait and never answer so: there it does nothing.
    CacheNotReady,
    /// An apiserver shutting down: text body, Retry-After 5 and `Connection: close`.
    Shutdown,
    /// A consistent list whose cache did not catch up within 3 s, instead of reading from etcd (alpha in 1.37): JSON
    /// Status, Retry-After 1.
    StaleCache,
}

/// Rights to a resource, as RBAC's verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// get, list, watch.
    Read,
    /// create, update, patch, delete, deletecollection.
    Write,
    /// All of them.
    All,
}

impl Rights {
    /// Whether a request of this method needs one of them.
    pub(crate) fn cover(self, method: &str) -> bool {
        let reads = matches!(method, "GET" | "HEAD");
        match self {
            Rights::Read => reads,
            Rights::Write => !reads,
            Rights::All => true,
        }
    }
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Matching connections are cut now (F08 with [`Cut::Reset`], F06 with [`Cut::Eof`]). A moment.
    ///
    /// World: bytes under way are lost, the server drops the requests, the client gets `Closed`.
    /// Socket: on `Closed(Reset)` set SO_LINGER to zero and close; on `Closed(Eof)` shut down and close,
    /// without ending the body.
    Cut {
        /// Which connections.
        target: Target,
        /// How.
        cut: Cut,
    },
    /// Matching watches end in order now, long before their deadline (F10, F16 without the 429). A moment.
    ///
    /// World: what is buffered is delivered, then `End`. Socket: end the body, keep the connection.
    CloseStreams {
        /// Which watches.
        target: Target,
    },
    /// Matching watches are given up by the server, and their connections go on (HTTP/2 RST_STREAM). A moment.
    ///
    /// World: the server drops the request, the client gets `Reset`. Socket: RST_STREAM; HTTP/1.1 has no word for it,
    /// and as Go's server does the connection is closed without ending the body.
    ResetStreams {
        /// Which watches.
        target: Target,
        /// Why (RFC 9113 section 7).
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
        /// Requests of this resource (`pods`, `deployments.apps`), or of any.
        resource: Option<String>,
        /// Which of the emitters answers.
        throttle: Throttle,
        /// The Retry-After it sends, where the emitter does not fix it.
        retry_after_secs: u32,
    },
    /// The watch caches lose their history and keep none while this lasts (F11). A state; open watches go on.
    ///
    /// World: a watch from a resourceVersion below the loss gets 200 and an in-band 410; resources without a watch
    /// cache lose etcd's history by compaction (F12). Socket: nothing special.
    Expire {
        /// One resource, or all.
        resource: Option<String>,
    },
    /// Nothing passes on matching connections, in either direction, and nothing says so (F04). A state.
    ///
    /// World: requests and deliveries are held until lifted; the server's side fills its buffers and gives up.
    /// Connecting still works unless the target is all, where it hangs too. Socket: nothing special, no bytes come.
    Stall {
        /// Which connections.
        target: Target,
    },
    /// What matching clients send is lost on its way, and what comes from the server arrives (one half of F04). A state.
    ///
    /// World: requests are held until lifted, as TCP would send them again; what is under way to the client goes on.
    /// Socket: nothing special, requests stay without answer.
    LoseRequests {
        /// Which connections.
        target: Target,
    },
    /// What servers send is lost on its way, and what clients send arrives (the other half of F04). A state.
    ///
    /// World: the server's side fills its buffers and gives up; the client hears nothing. Socket: no bytes come.
    LoseAnswers {
        /// Which connections.
        target: Target,
    },
    /// Matching connections are told to go away (F09). A moment.
    ///
    /// World: [`Arrival::GoAway`](crate::Arrival::GoAway); what is open goes on, and when it is over the server closes.
    /// With a cut it does not wait. Socket: GOAWAY; HTTP/1.1 has none, there the connection closes after its answer.
    GoAway {
        /// Which connections.
        target: Target,
        /// How the connection is cut behind it, as some load balancers do.
        cut: Option<Cut>,
    },
    /// A proxy keeps what servers send until it has this much of a response, or its end (F44). A state.
    ///
    /// World: heads and chunks come late and together. Socket: the same.
    Buffer {
        /// Which connections.
        target: Target,
        /// Bytes that fill the buffer of one response.
        bytes: usize,
    },
    /// At most `streams` requests are answered at a time over a connection (F50). A state.
    ///
    /// World: further ones wait, without a word, until others are over. Socket: the same; HTTP/1.1 has one at a time
    /// anyway.
    CapStreams {
        /// Which connections.
        target: Target,
        /// How many.
        streams: usize,
    },
    /// A middlebox forgets connections over which nothing passed for `after` (F04, F08). A state.
    ///
    /// World: they are reset if it `says_so`; else nothing passes any more, in either direction. Socket: the same.
    KillIdle {
        /// How long.
        after: Duration,
        /// Whether both sides are told.
        says_so: bool,
    },
    /// The tokens of matching clients are no longer valid (F40). A state; open watches go on.
    ///
    /// World and socket: 401.
    ExpireTokens {
        /// Whose.
        target: Target,
    },
    /// Matching clients may no longer read or write a resource (F41). A state; open watches go on.
    ///
    /// World and socket: 403.
    RevokeAccess {
        /// Whose.
        target: Target,
        /// To what: `pods`, `deployments.apps`; its subresources too.
        resource: String,
        /// What they may no longer do.
        rights: Rights,
    },
    /// The next frame of each matching watch is torn in the middle and its connection cut (F47). A moment, with an
    /// effect at the watch's next frame.
    ///
    /// World: a `Chunk` with half a frame, then `Closed`. Socket: write the chunk, then as for [`Fault::Cut`].
    TearFrame {
        /// Which watches.
        target: Target,
        /// How the connection is cut after it.
        cut: Cut,
    },
    /// An apiserver gets SIGTERM and stops in order (F07). A state: when it is lifted another process is
    /// in its place, with empty caches.
    ///
    /// World: `/readyz` fails at once, and after the delay no new request is taken: 503, or 429 and
    /// `Connection: close` where it sends Retry-After. Open watches end one after the other, and connections are told to
    /// go away and close when they are over, at the latest a minute after. Socket: the same; once nobody listens in the
    /// world the listening socket is closed.
    Shutdown {
        /// Which server.
        server: ServerId,
        /// `--shutdown-delay-duration`: how long it serves on, not ready.
        delay: Duration,
        /// `--shutdown-watch-termination-grace-period`: how long it ends watches; without, they are cut at the end.
        grace: Duration,
        /// `--shutdown-send-retry-after`: it listens until it is drained, and answers 429.
        sends_retry_after: bool,
    },
    /// The load balancer gives no new connections to a server (F14, F22, F31). A state; open connections go on.
    ///
    /// World: clients that dial again come to the others; with no server left they are refused. Socket: the same, since
    /// the world chooses the server of a connection.
    OutOfRotation {
        /// Which server.
        server: ServerId,
    },
    /// The load balancer forwards each request for itself instead of each connection (F14, F31). A state.
    ///
    /// World: requests of one connection go to the servers in turn, beginning with its own. Socket: nothing special.
    BalanceRequests,
    /// Every packet between clients and server takes this much longer. A state.
    ///
    /// World: requests and deliveries come later, in order. Socket: nothing special.
    Delay {
        /// By how much.
        by: Duration,
    },

    /// etcd has one of its known defects. A state; each defect says what else has to happen for it to show.
    ///
    /// World: etcd's watches misbehave. Socket: nothing special, as for all faults of etcd.
    EtcdDefect(Defect),
    /// etcd has no leader (cases 1 and 3). A state.
    ///
    /// World: writes wait for 34 s at most, and reads that etcd has to answer for 60 s; caches answer on. Watches of etcd
    /// that begin are told in band, and after three election timeouts those that run are: below 1.25 every watch cache
    /// lists again and its watches end (F16), since then it retries for 30 s.
    NoLeader,
    /// The member of etcd that a server talks to is cut off from the others. A state; when it is lifted the member gets
    /// the leader's snapshot.
    ///
    /// World: as [`Fault::NoLeader`], for one server.
    PartitionMember {
        /// Whose member.
        server: ServerId,
    },
    /// The member of etcd that a server talks to does not apply writes (etcd#13766, #14685, fixed in 3.5.3 and 3.5.6).
    /// A state; what was missed stays missed.
    ///
    /// World: reads and watches of that server do not have the writes, at equal resourceVersions.
    MissWrites {
        /// Whose member.
        server: ServerId,
    },
    /// etcd stops and starts again at once. A moment.
    ///
    /// World: its streams break and are opened anew from where they were, so that nobody notices but for defects.
    RestartEtcd {
        /// Whether it crashed while it compacted all its history.
        during_compaction: bool,
    },
    /// etcd drops its history up to now (F12). A moment.
    CompactEtcd,
    /// etcd's state is saved. A moment.
    TakeSnapshot,
    /// etcd is restored from the snapshot that was taken last, or as it began (F33). A moment.
    ///
    /// World: revisions go back. The apiservers are not restarted: their caches keep what they had, and their watches
    /// wait for revisions to come again (F32), or with a bump are told 410 and list again.
    RestoreSnapshot {
        /// By how much the revision is raised above the snapshot's (`--bump-revision --mark-compacted`).
        bump: Option<u64>,
    },
    /// Each response on etcd's watch streams takes so long to send, so that their channels fill up (F20, F24). A state.
    SlowEtcdStreams {
        /// Streams of one server, or of all.
        server: Option<ServerId>,
        /// Streams of one resource, or of all.
        resource: Option<String>,
        /// How long a response takes.
        per_response: Duration,
    },
    /// What etcd tells a server comes later (F31). A state.
    ///
    /// World: that server's caches lag behind, and its lists with `resourceVersion=0` are old (F22).
    Lag {
        /// Which server.
        server: ServerId,
        /// By how much.
        by: Duration,
    },
    /// What etcd tells a server does not come while this lasts (F14, F22, F32). A state.
    ///
    /// World: that server's caches stand still, and catch up when it is lifted.
    FreezeCaches {
        /// Which server.
        server: ServerId,
        /// One resource, or all.
        resource: Option<String>,
    },
    /// The reflector of matching watch caches fails (F16). A moment.
    ///
    /// World: 429 until it has listed again; a second later the open watches of the resource end without an ERROR.
    Reinitialise {
        /// One server, or all.
        server: Option<ServerId>,
        /// One resource, or all.
        resource: Option<String>,
    },
    /// A watch that is too old gets 200 and the end of the body, and no ERROR (F10). A state.
    SilentExpiry {
        /// Of this resource.
        resource: String,
    },
    /// A watch that is too old gets status 410 instead of 200 and an ERROR (F13). A state.
    GoneAsStatus {
        /// Of this resource.
        resource: String,
    },
    /// No bookmarks are sent (F34). A state.
    NoBookmarks {
        /// Of this resource.
        resource: String,
    },
    /// Bookmarks say etcd's revision, though the watch cache has not come so far (F35; k/k#122805). A state.
    BookmarksAhead {
        /// Of this resource.
        resource: String,
    },
    /// The bookmark that ends initial events is not sent (F35). A state.
    NoEndBookmark {
        /// Of this resource.
        resource: String,
    },
    /// Initial events come in no order, as they do before 1.32 (F21). A state.
    UnsortedInitial {
        /// Of this resource.
        resource: String,
    },
    /// A watch that starts after a version misses the first event behind it (F45; k/k#116122). A state.
    StartRace {
        /// Of this resource.
        resource: String,
    },
    /// Watches deliver each event twice (F29). A state.
    RepeatEvents {
        /// Of this resource.
        resource: String,
    },
    /// Watches deliver each two events in the wrong order (F30). A state.
    SwapEvents {
        /// Of this resource.
        resource: String,
    },
    /// An object cannot be read from etcd by the watch cache (F38): its reflector fails at each change of it. A state.
    CorruptObject {
        /// Of this resource.
        resource: String,
        /// Its name.
        name: String,
    },
    /// An object cannot be converted to the version clients ask for (F38): lists with it are answered 500, watches get
    /// an ERROR 500 at each change of it. A state.
    CannotConvert {
        /// Of this resource.
        resource: String,
        /// Its name.
        name: String,
    },
    /// Data events carry another kind than asked for, as from a server that answers with Tables (F39). A state.
    WrongKind {
        /// Of this resource.
        resource: String,
    },
}

impl Fault {
    /// Whether it happens at once and is over, so that there is nothing to lift.
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

    /// Whether a fault of servers or caches is meant for one server's cache of one resource.
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
