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

/// Most client programs that findings follow: the first ones that start. Records of further ones are skipped; none of
/// the followed ones is forgotten. It bounds the memory. The number has no source: stories have far fewer clients.
pub const MAX_CLIENTS: usize = 1_024;
/// Time in µs after which a client that waits for the answer to a watch, or for more initial events, is stuck (F35,
/// F44, F50). kube-apiserver sends the headers at once (docs/semantics/requests.md#late-headers). It is that of
/// watchscope's own requests, `NO_ANSWER_US`.
pub(super) const STUCK_US: i64 = 10_000_000;
/// Number of clients watching without a resourceVersion that weigh on a server which reads etcd for each (F20;
/// docs/semantics/lists-and-watches.md#watch-without-version). It also bounds the paths and the scopes that are
/// remembered of one client; a further one is skipped. The number has no source.
pub(super) const CROWD: usize = 20;
/// Number of lists in a row without progress that are a circle (F14), as for watchscope's own watches
/// (`LISTS_AFTER_EXPIRY`). The same number of initial-event streams in a row is kept as evidence.
pub(super) const CIRCLE: usize = 3;
/// Most objects of a client that are compared with the deleted ones (F19); the first ones are taken. A client's record
/// names at most as many of each resource (`NAMED_MOST` of the simulator).
pub(super) const NAMED: usize = 64;
/// Most deletions, and most GETs without an object, that are remembered. A further one replaces the oldest, and then
/// proves no ghost. It bounds the memory. The number has no source.
const GONE: usize = 1_024;
/// Time in µs after a deletion from which a held object is a ghost (F19). Within it the client may not have handled the
/// deletion yet. The number has no source: a client's reports come 0.1 s apart, or 1 s if it spins.
pub(super) const GHOST_US: i64 = 2_000_000;

/// The state of one client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// Its program.
    program: ClientProgram,
    /// Its phase, in its own word.
    pub(super) phase: Text,
    pub(super) phase_since: Time,
    pub(super) phase_seq: Seq,
    pub(super) iterations: u64,
    pub(super) handled: u64,
    pub(super) reported_at: Time,
    /// Its last request.
    pub(super) last_request: Option<LastRequest>,
    pub(super) watched_paths: BTreeSet<String>,
    /// The scope that it watches, by resource.
    pub(super) scopes: BTreeMap<String, String>,
    pub(super) compared: Option<Compared>,
    /// The requests for initial events that did not end.
    pub(super) unfinished: Vec<Seq>,
    /// Whether it has begun to read initial events since its last request.
    pub(super) is_syncing: bool,
    /// Its list since its last report.
    pub(super) listed: Option<Listed>,
    /// The versions from which it watched after its last lists.
    pub(super) circle: VecDeque<WatchedFrom>,
    pub(super) belief: Vec<Belief>,
    /// The first [`NAMED`] objects that its belief names.
    pub(super) named: Vec<Named>,
    /// Whether it watched again without a resourceVersion and no ghost of it is proven yet.
    pub(super) may_hold_ghosts: bool,
    pub(super) believed_at: Time,
    /// The number of events that it handled while its belief changed.
    pub(super) changed: u64,
    pub(super) most_objects: u64,
    pub(super) timer: Option<Time>,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct LastRequest {
    pub(super) seq: Seq,
    pub(super) at: Time,
    /// The resourceVersion from which it asks; `None` if unset.
    pub(super) version: Option<u64>,
    pub(super) is_watch: bool,
    /// Whether it watches without a version to begin from and without a bookmark at the end of the initial state.
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
    /// Whether it asked for the newest state.
    pub(super) is_of_newest: bool,
}

/// A watch that a client began after a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedFrom {
    pub(super) seq: Seq,
    pub(super) at: Time,
    pub(super) version: u64,
}

/// An object that a client's belief names.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) resource: String,
    /// `NAMESPACE/NAME`, or a name alone.
    pub(super) key: String,
    pub(super) uid: Uid,
    /// When the client first reported it.
    pub(super) since: Time,
}

/// Objects that are proven to be deleted. Each list holds at most [`GONE`].
#[derive(Clone, Debug, Default)]
pub(super) struct GoneObjects {
    /// Objects whose DELETED came to a watch without a selector.
    pub(super) deleted: VecDeque<(Uid, Moment)>,
    /// Resources and keys whose GET was answered with 404.
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
    /// Returns the record that proves an object to be deleted for longer than [`GHOST_US`].
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
    /// Returns whether its iterations are those of its handler.
    pub(super) fn is_informer(&self) -> bool {
        self.program == ClientProgram::Informer
    }

    /// Returns its phase.
    pub(super) fn does(&self) -> ClientPhase {
        ClientPhase::of(&self.phase)
    }

    /// Sets its timer, in place of the last one.
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
