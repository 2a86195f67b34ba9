//! The state of each client program, and the objects that are proven to be deleted.

use std::collections::VecDeque;

use watchscope_model::belief::Belief;
use watchscope_model::event::ClientStarted;
use watchscope_model::fold::Moment;
use watchscope_model::tree::{self, BTreeMap, BTreeSet};
use watchscope_model::vocabulary::{Certainty, ClientPhase, ClientProgram};
use watchscope_model::{RequestId, Row, Seq, Text, Time, Uid};

use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::timers::{Timer, Timers};

/// Most client programs that findings follow: the first that start. Records of further programs are skipped; a followed
/// program is never forgotten. When a log is judged again, the starts of at most as many programs are remembered. The
/// limit bounds the memory. The number has no source: stories have far fewer clients.
pub const MAX_CLIENTS: usize = 1_024;
/// Time in µs after which a client that waits for the answer to a watch, or for more initial events, is stuck (F35,
/// F44, F50). kube-apiserver sends the headers at once (docs/semantics/requests.md#late-headers). The time is that for
/// watchscope's own requests, `NO_ANSWER_US`.
pub(super) const STUCK_US: i64 = 10_000_000;
/// Number of clients watching without a resourceVersion from which on they are a load for a server that reads etcd for
/// each (F20; docs/semantics/lists-and-watches.md#watch-without-version). The finding is cleared when fewer than half
/// of this number are left. It is also the most paths and the most scopes that are remembered of one client; a further
/// path or scope is skipped. The number has no source.
pub(super) const CROWD: usize = 20;
/// Number of a client's last watches that began right after a list, and from which on these lists may be a circle
/// (F14). It is that for watchscope's own watches (`LISTS_AFTER_EXPIRY`). It is also the most requests for initial
/// events that are kept as evidence (F37); a further one replaces the oldest.
pub(super) const CIRCLE: usize = 3;
/// Most objects of a client that are compared with deleted objects (F19): the first that its report names. A client's
/// record names at most 64 objects of each resource (`NAMED_MOST` of the simulator). The number has no other source.
pub(super) const NAMED: usize = 64;
/// Most deletions, most GETs answered with 404, and most GETs without an answer that are remembered. A further one
/// replaces the oldest of its kind, which from then on proves no ghost. The limit bounds the memory. The number has no
/// source.
const GONE: usize = 1_024;
/// Time in µs after a deletion above which a held object is a ghost (F19). Within this time the client may not have
/// handled the deletion yet. The number has no source: a client's reports come 0.1 s apart, or 1 s if it spins.
pub(super) const GHOST_US: i64 = 2_000_000;

/// The state of one client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// The kind of the client's program.
    program: ClientProgram,
    /// The client's phase, in the client's own word.
    pub(super) phase: Text,
    pub(super) phase_since: Time,
    pub(super) phase_seq: Seq,
    pub(super) iterations: u64,
    pub(super) handled: u64,
    pub(super) reported_at: Time,
    /// The client's last request; `None` before the first.
    pub(super) last_request: Option<LastRequest>,
    pub(super) watched_paths: BTreeSet<String>,
    /// The scope that the client watches, by resource.
    pub(super) scopes: BTreeMap<String, String>,
    pub(super) compared: Option<Compared>,
    /// The client's requests for initial events that did not end.
    pub(super) unfinished: Vec<Seq>,
    /// Whether the client has begun to read initial events since its last request.
    pub(super) is_syncing: bool,
    /// The client's list that no report of held objects has followed yet; `None` if there is none. A report in the
    /// phase `listing` does not count. Of a list of several pages it is the first page.
    pub(super) listed: Option<Listed>,
    /// The versions from which the client watched after its last lists.
    pub(super) circle: VecDeque<WatchedFrom>,
    pub(super) belief: Vec<Belief>,
    /// The first [`NAMED`] objects that the client reports to hold.
    pub(super) named: Vec<Named>,
    /// Whether the client watched again without a resourceVersion, and no ghost that it holds is proven yet.
    pub(super) may_hold_ghosts: bool,
    pub(super) believed_at: Time,
    /// The number of events that the client handled in reports in which its held objects changed.
    pub(super) changed: u64,
    pub(super) most_objects: u64,
    pub(super) timer: Option<Time>,
}

/// A client's request.
#[derive(Clone, Debug)]
pub(super) struct LastRequest {
    pub(super) seq: Seq,
    pub(super) at: Time,
    /// The resourceVersion of the request; `None` if it has none, or one that is not a number.
    pub(super) version: Option<u64>,
    pub(super) is_watch: bool,
    /// Whether the request is a watch without a resourceVersion to begin from and without a bookmark at the end of the
    /// initial state.
    pub(super) is_versionless: bool,
}

/// A list of another scope than the client watches.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    pub(super) seq: Seq,
    pub(super) watched: String,
    pub(super) listed: String,
}

/// A list that a client made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub(super) seq: Seq,
    pub(super) at: Time,
    /// Whether the list asked for the newest state.
    pub(super) is_of_newest: bool,
}

/// A watch that a client began after a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedFrom {
    pub(super) seq: Seq,
    pub(super) at: Time,
    pub(super) version: u64,
}

/// An object that a client reports to hold.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) resource: String,
    /// The object's `NAMESPACE/NAME`, or its name alone.
    pub(super) key: String,
    pub(super) uid: Uid,
    /// When the client first reported the object.
    pub(super) since: Time,
}

/// Objects that are proven to be deleted. Each list holds at most [`GONE`].
#[derive(Clone, Debug, Default)]
pub(super) struct GoneObjects {
    /// Objects whose DELETED was delivered to a watch without a selector.
    pub(super) deleted: VecDeque<(Uid, Moment)>,
    /// Resource and key of each object whose GET was answered with 404.
    pub(super) missing: VecDeque<(String, String, Moment)>,
    /// GETs of the audit that have no answer yet.
    pub(super) asked: VecDeque<(RequestId, String, String)>,
}

/// Client programs by name, at most [`MAX_CLIENTS`], and the objects that are proven to be deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    pub(super) clients: BTreeMap<Text, Client>,
    pub(super) gone: GoneObjects,
}

impl Clients {
    /// Begins to follow a client, or begins anew.
    pub(crate) fn started(&mut self, event: &ClientStarted, record: Moment) {
        if self.clients.len() >= MAX_CLIENTS && !self.clients.contains_key(&event.client) {
            return;
        }
        let client = Client {
            program: event.program(),
            phase: "".into(),
            phase_since: record.at,
            phase_seq: record.seq,
            iterations: 0,
            handled: 0,
            reported_at: record.at,
            last_request: None,
            watched_paths: BTreeSet::new(),
            scopes: BTreeMap::new(),
            compared: None,
            unfinished: Vec::new(),
            is_syncing: false,
            listed: None,
            circle: VecDeque::new(),
            belief: Vec::new(),
            named: Vec::new(),
            may_hold_ghosts: false,
            believed_at: record.at,
            changed: 0,
            most_objects: 0,
            timer: None,
        };
        self.clients.insert(event.client.clone(), client);
    }
}

impl GoneObjects {
    /// Returns the record that proves that an object was deleted more than [`GHOST_US`] ago; `None` if none does.
    pub(super) fn proves(&self, named: &Named, now: Time) -> Option<Seq> {
        let is_old = |proof: Moment| now.micros_since(proof.at) > GHOST_US;
        let mut deleted = self.deleted.iter();
        let deleted = deleted.find(|(uid, proof)| *uid == named.uid && is_old(*proof));
        // A name that was missing before the client held the object may have been used again.
        let is_it = |(resource, key, proof): &&(String, String, Moment)| {
            *resource == named.resource
                && *key == named.key
                && proof.at >= named.since
                && is_old(*proof)
        };
        let missing = || self.missing.iter().find(is_it).map(|(.., proof)| proof.seq);
        deleted.map(|(_, proof)| proof.seq).or_else(missing)
    }
}

impl Client {
    /// Returns whether the client is an informer, whose iterations are those of its handler.
    pub(super) fn is_informer(&self) -> bool {
        self.program == ClientProgram::Informer
    }

    /// Returns the client's phase.
    pub(super) fn does(&self) -> ClientPhase {
        ClientPhase::of(&self.phase)
    }

    /// Sets the client's timer, in place of the one set before.
    pub(super) fn wait(&mut self, name: Text, at: Time, timers: &mut Timers) {
        if let Some(old) = self.timer.replace(at) {
            timers.unset(old, Timer::Client(name.clone()));
        }
        timers.set(at, Timer::Client(name));
    }
}

pub(super) fn found(
    row: Row,
    alike: &'static [Row],
    certainty: Certainty,
    subject: &Subject,
    mut evidence: Vec<Seq>,
    since: Time,
    summary: String,
) -> FindingDraft {
    tree::sort(&mut evidence);
    evidence.dedup();
    FindingDraft::of(row, certainty, subject.clone(), evidence, since, summary).alike(alike)
}

pub(super) fn remember<T>(list: &mut VecDeque<T>, thing: T) {
    if list.len() == GONE {
        list.pop_front();
    }
    list.push_back(thing);
}
