//! The memory of the requests of each watch, and what failing watches share.

use std::collections::VecDeque;

use watchscope_model::fold::Moment;
use watchscope_model::tree::BTreeMap;
use watchscope_model::{ConnectionId, RequestId, Row, Seq, State, Text, Time, WatchName};

use crate::attribution::{REVISED_US, TOGETHER_US};
use crate::findings::draft::{Shared, Subject};
use crate::findings::place::Place;
use crate::findings::timers::{Timer, Timers};

/// Time in µs after which a watch request without an answer counts as held up on its way (F44, F50). kube-apiserver
/// sends the headers at once (docs/semantics/requests.md#late-headers). The number has no source: it is over three
/// times as long as a read waits for its cache (docs/semantics/servers.md#fresh-wait).
pub(super) const NO_ANSWER_US: i64 = 10_000_000;
/// Number of refusals with 429 because of load by one server within [`STORM_US`] from which on they are a storm (F15).
/// One watch alone does not reach this number, because it backs off: its first four delays take 12 s or more
/// (docs/semantics/clients.md#reflector). A watch cache that is not ready must refuse as many requests in a row. It is
/// also the most records of evidence that a [`Streak`] keeps; a further record replaces the oldest.
pub(super) const STORM: usize = 5;
/// Time in µs within which [`STORM`] refusals are a storm (F15). It is shorter than the 12 s that [`STORM`] refusals of
/// one watch take, so a storm hits several watches. The number has no other source.
pub(super) const STORM_US: i64 = 10_000_000;
/// Time in µs within which three lists that each follow a 410 and make no progress are a livelock (F14). The delays
/// between the first three such lists are 9.6 s at most (docs/semantics/clients.md#reflector). The rest of the time is
/// for lists of many pages, and has no source. Livelocks of several watches within this time may also be one finding.
pub(super) const LISTS_AFTER_EXPIRY_US: i64 = 60_000_000;
/// Number of streams over one connection from which on the connection may be at the other side's limit (F50). RFC 9113
/// recommends a limit of 100 or more.
pub(super) const MANY_STREAMS: usize = 100;
/// Number of refusals in a row from which on a refusal counts as lasting; a single refusal may be an error. After a
/// reported leak (F41), a single 403 counts as lasting. The number has no source.
pub(super) const SURE: u64 = 2;

/// The memory of one watch's requests.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestState {
    pub(super) open: Option<OpenRequest>,
    /// Where the watch's last request went: connection, server and resource; `None` if that is unknown.
    pub(super) place: Option<Place>,
    pub(super) asks_bookmarks: bool,
    /// The watch's right to list. RBAC has a verb for each right (docs/semantics/requests.md#rights).
    pub(super) list: Right,
    /// The watch's right to watch.
    pub(super) watch: Right,
    /// Refusals of the audit's list while the watch's stream goes on (F41); `None` if there are none.
    pub(super) leak: Option<Leak>,
    /// The number of times in a row that the server did not know the watch's credentials (401).
    pub(super) unknown: u64,
    /// The first of the answers in a row that the watch's resource is not found (404); `None` if there are none.
    pub(super) not_found: Option<Moment>,
    /// The watch's refusals in a row with 429.
    pub(super) throttled: Streak,
    /// The watch's answers in a row that the server's watch cache of the resource is not ready; `None` if there are
    /// none.
    pub(super) unready: Option<Unready>,
    /// Failures of lists in a row because the server cannot read or convert an object.
    pub(super) list_failures: Streak,
    /// Streams in a row that ended with an ERROR because the server cannot read or convert an object. Successful lists
    /// in between do not end the row.
    pub(super) stream_failures: Streak,
    /// Consecutive failed lists of Secrets whose reason was redacted.
    pub(super) secret_failures: Streak,
    /// The last lists of the watch that followed a 410.
    pub(super) lists_after_expiry: VecDeque<ListAfterExpiry>,
    /// The connection of the watch's open stream; `None` without one, or if it was opened before the fold.
    pub(super) stream_connection: Option<ConnectionId>,
    /// The slot on a connection that the watch's last stream freed when it ended; `None` if it freed none.
    pub(super) freed: Option<Freed>,
    /// The audit's last list for the watch, if it has no answer yet.
    pub(super) audit_list: Option<RequestId>,
    /// When the watch's last stream ended; `None` once the next stream begins.
    pub(super) ended_at: Option<Time>,
    /// Whether the watch got a 410 since its last list.
    pub(super) is_expired: bool,
    /// Deletions that a list showed and no event reported.
    pub(super) unseen_deletions: Vec<Seq>,
    pub(super) lists: u64,
}

impl RequestState {
    pub(super) fn right(&mut self, is_watch: bool) -> &mut Right {
        if is_watch {
            &mut self.watch
        } else {
            &mut self.list
        }
    }

    /// Returns whether the server ever answered the watch with 200.
    pub(super) fn had_success(&self) -> bool {
        self.list.was_had || self.watch.was_had
    }

    /// Returns whether the watch lost a right that it had.
    pub(super) fn lacks_right(&self) -> bool {
        let is_lost = |right: &Right| right.refused >= SURE;
        self.leak.is_some() || is_lost(&self.list) || is_lost(&self.watch)
    }
}

/// A server that answers 429 because its watch cache of the resource is not ready.
#[derive(Clone, Debug)]
pub(super) struct Unready {
    /// The address of the server that answered last.
    pub(super) server: Text,
    pub(super) since: Time,
    /// The number of answers in a row that the watch cache is not ready.
    pub(super) times: u64,
}

/// A list that follows a 410.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListAfterExpiry {
    pub(super) seq: Seq,
    pub(super) at: Time,
    pub(super) version: u64,
}

/// A right to list or to watch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Right {
    /// Whether the server ever granted the right.
    pub(super) was_had: bool,
    /// The number of refusals in a row since the right was last granted.
    pub(super) refused: u64,
}

/// The slot on a connection that a stream freed when it ended at its timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    pub(super) connection: ConnectionId,
    /// When the stream began.
    pub(super) since: Time,
    /// When the stream ended.
    pub(super) at: Time,
}

/// Refusals of the audit's list while the watch's stream goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leak {
    pub(super) since: Moment,
    /// Whether the second refusal in a row was reported as a finding.
    pub(super) is_reported: bool,
}

/// A failure that came several times in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Streak {
    pub(super) times: u64,
    pub(super) since: Time,
    /// The records of the latest failures, at most [`STORM`].
    pub(super) evidence: Vec<Seq>,
}

impl Streak {
    pub(super) fn add(&mut self, record: Moment) {
        if self.times == 0 {
            self.since = record.at;
        }
        self.times += 1;
        if self.evidence.len() == STORM {
            self.evidence.remove(0);
        }
        self.evidence.push(record.seq);
    }
}

/// A request that has no answer.
#[derive(Clone, Debug)]
pub(super) struct OpenRequest {
    pub(super) request: RequestId,
    pub(super) seq: Seq,
    pub(super) at: Time,
    pub(super) is_watch: bool,
    pub(super) connection: ConnectionId,
    /// Whether an aggregated apiserver answers the request. Such a server may send its headers only with the first
    /// event (docs/semantics/requests.md#late-headers).
    pub(super) is_aggregated: bool,
    /// When a missing answer is reported.
    pub(super) due: Time,
    pub(super) is_reported: bool,
}

impl OpenRequest {
    /// Stops waiting for the answer to the request.
    pub(super) fn stop_waiting(&self, watch: &WatchName, timers: &mut Timers) {
        timers.unset(self.due, Timer::Answer(watch.clone()));
    }
}

/// The requests of each watch, and the last 429s of each server, at most [`STORM`]. The audit's requests about a watch
/// are not followed, except for one list for each watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    pub(super) watches: BTreeMap<WatchName, RequestState>,
    pub(super) throttles: BTreeMap<Text, VecDeque<Moment>>,
}

impl Requests {
    /// Returns what is known of requests from a fold.
    pub(crate) fn since(fold: &State) -> Self {
        let had = |was_had| Right {
            was_had,
            refused: 0,
        };
        let watches = fold.watches.iter().map(|(name, watch)| {
            let state = RequestState {
                place: Place::of(name, fold),
                list: had(watch.list.is_some()),
                watch: had(watch.stream.is_some()),
                lists: u64::from(watch.list.is_some()),
                ..RequestState::default()
            };
            (name.clone(), state)
        });
        Self {
            watches: watches.collect(),
            throttles: BTreeMap::new(),
        }
    }

    /// Forgets a stopped watch.
    pub(crate) fn forget(&mut self, watch: &WatchName, timers: &mut Timers) {
        let open = self.watches.remove(watch).and_then(|state| state.open);
        if let Some(open) = open {
            open.stop_waiting(watch, timers);
        }
    }

    /// Returns what the watch shares with other watches that may fail from the same cause. If there may be such
    /// watches, the finding waits for them. `None` if the row has no shared finding. Also `None` if the connection or
    /// server that watches would share is unknown, or where the watch's requests go at all.
    pub(super) fn shared(&self, row: Row, watch: &WatchName, now: Time) -> Option<Shared> {
        let place = self.watches.get(watch)?.place.as_ref()?;
        let subject = reach(row, place)?;
        // A watch that got its answer has no part in a silence.
        let may_have_it = |state: &RequestState| {
            let open = state.open.as_ref();
            let is_silent = open.is_some_and(|open| open.is_watch && !open.is_reported);
            is_silent || !matches!(row, Row::F44 | Row::F50)
        };
        let mut others = self.watches.iter().filter(|(other, _)| *other != watch);
        let has_others = others.any(|(_, state)| {
            let place = state.place.as_ref().filter(|_| may_have_it(state));
            place.and_then(|place| reach(row, place)).as_ref() == Some(&subject)
        });
        Some(Shared {
            subject,
            summary: shared_sentence(row, place),
            together_us: if row == Row::F14 {
                LISTS_AFTER_EXPIRY_US
            } else {
                REVISED_US
            },
            // A failure that lasts shows at each watch's next request.
            waits_until: has_others.then(|| {
                let lasts = matches!(row, Row::F18 | Row::F38 | Row::F40 | Row::F41);
                now.plus_micros(if lasts { REVISED_US } else { TOGETHER_US })
            }),
        })
    }
}

/// Returns the subject that watches share which fail with this row from one cause; `None` if the row has no shared
/// findings.
fn reach(row: Row, place: &Place) -> Option<Subject> {
    match row {
        Row::F50 => place.connection(),
        Row::F14 | Row::F18 | Row::F38 | Row::F41 => Some(place.type_there()),
        Row::F13 | Row::F44 => place.server(),
        Row::F40 => Some(Subject::Cluster),
        _ => None,
    }
}

/// Returns the sentence of a finding about several watches.
fn shared_sentence(row: Row, place: &Place) -> String {
    let (server, what) = (place.server_words(), place.type_words());
    match row {
        Row::F13 => format!(
            "With HTTP status 410 {server} said that history is gone. Other servers answer 200 and say it in the \
             stream."
        ),
        Row::F14 => format!(
            "Lists of {what} by {server} repeatedly had no version from which its watches can resume."
        ),
        Row::F18 => format!("{what} was served by {server} before, and is not found now (404)."),
        Row::F38 => format!(
            "An object of {what} cannot be read or converted, so {server} returns nothing of its type."
        ),
        Row::F40 => {
            "The cluster answered before, and does not know the credentials now (401).".to_owned()
        }
        Row::F41 => format!("{what} was allowed at {server} before, and is forbidden now (403)."),
        Row::F50 => format!(
            "Watch requests over a connection to {server} had no answer for {} s. It carries at least {MANY_STREAMS} \
             streams.",
            NO_ANSWER_US / 1_000_000
        ),
        _ => format!(
            "Watch requests to {server} had no answer for {} s; a server sends its headers at once.",
            NO_ANSWER_US / 1_000_000
        ),
    }
}
