//! Everything that can be made to go wrong, as one enum: values that are switched on and off while the world runs.
//!
//! A fault is either a moment ([`Fault::is_momentary`]: it happens at [`World::inject`](crate::World::inject) and
//! is over) or a state, which lasts until [`World::lift`](crate::World::lift) is called with an equal value.
//! A front that serves the world over sockets needs to know no fault: each shows itself in the deliveries as said here.

use std::time::Duration;

use crate::message::{ConnectionId, Cut};

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
}

/// The emitters of 429, which differ in body and headers (semantics 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Throttle {
    /// The max-inflight filter: text body, Retry-After 1; watches are exempt, as long-running requests are.
    MaxInFlight,
    /// Priority and fairness: text body, Retry-After as given, watches too.
    PriorityAndFairness,
    /// A watch cache that is not ready: JSON Status; only lists and watches of cached resources.
    CacheNotReady,
    /// An apiserver shutting down: text body, Retry-After 5 and `Connection: close`.
    Shutdown,
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
    /// New connections are refused. A state; open connections go on.
    ///
    /// World: `connect` is answered by `Refused`. Socket: close the listening socket, or on `Refused` reset the
    /// accepted connection.
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
    /// Every packet between clients and server takes this much longer. A state.
    ///
    /// World: requests and deliveries come later, in order. Socket: nothing special.
    Delay {
        /// By how much.
        by: Duration,
    },
}

impl Fault {
    /// Whether it happens at once and is over, so that there is nothing to lift.
    pub fn is_momentary(&self) -> bool {
        match self {
            Fault::Cut { .. } | Fault::CloseStreams { .. } | Fault::TearFrame { .. } => true,
            Fault::Refuse
            | Fault::TooManyRequests { .. }
            | Fault::Expire { .. }
            | Fault::Stall { .. }
            | Fault::Delay { .. } => false,
        }
    }
}
