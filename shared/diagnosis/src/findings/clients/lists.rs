//! Findings about lists of client programs: lists that are too old (F22, F33), and lists in circles (F14). Also
//! findings about many watches without a resourceVersion (F20).

use watchscope_model::event::ClientRequest;
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, ClientPhase};
use watchscope_model::{Row, State, Text};

use super::state::{CIRCLE, CROWD, Client, Clients, Listed, WatchedFrom, found};
use crate::findings::draft::{Lasts, Subject};
use crate::findings::registry::FindingRegistry;
use crate::findings::streams::Streams;
use crate::text::seconds;
use crate::versions::server_version;

/// Lead in µs above which a watch of watchscope proves a client's list too old (F22). The watch must have delivered a
/// higher version more than this time before the client's request. It is also the least age of a client's report of its
/// objects from which on handled updates are a resync (F46). The number has no source: it covers the time that requests
/// and events take.
pub(super) const OLDER_US: i64 = 1_000_000;
/// The longest time in µs from the first to the last of [`CIRCLE`] watches of a client, each right after a list. These
/// lists are a circle (F14) if the last watch starts from no later version than the first. The time is as long as
/// `LISTS_AFTER_EXPIRY_US`, which is for watchscope's own watches. The number has no other source.
const CIRCLE_US: i64 = 60_000_000;

impl Clients {
    /// Raises F20: many clients watch without a resourceVersion.
    pub(super) fn crowd(&self, before: &State, record: Moment, registry: &mut FindingRegistry) {
        if registry.stands(Row::F20, Subject::Cluster) || !may_ask_etcd(before) {
            return;
        }
        let crowd = self.versionless();
        if crowd.len() < CROWD {
            return;
        }
        let evidence = crowd
            .iter()
            .filter_map(|client| Some(client.last_request.as_ref()?.seq))
            .collect();
        let mut found = found(
            Row::F20,
            &[],
            Certainty::Suspected,
            &Subject::Cluster,
            evidence,
            record.at,
            format!(
                "{} clients watch without a resourceVersion: a server of 1.27 to 1.29 opens a watch of etcd for each.",
                crowd.len()
            ),
        );
        found.lasts = Lasts::UntilCleared;
        registry.raise(found, record.at);
    }

    /// Clears F20, if fewer than half of [`CROWD`] such clients are left.
    pub(super) fn dissolve(&self, record: Moment, registry: &mut FindingRegistry) {
        if !registry.stands(Row::F20, Subject::Cluster) {
            return;
        }
        let left = self.versionless().len();
        if left < CROWD / 2 {
            let why = format!("Only {left} clients still watch without a resourceVersion.");
            registry.clear(Row::F20, Subject::Cluster, record.seq, &why);
        }
    }

    /// Returns the clients that watch without a resourceVersion.
    fn versionless(&self) -> Vec<&Client> {
        let open = |client: &&Client| {
            client
                .last_request
                .as_ref()
                .is_some_and(|asked| asked.is_versionless && asked.version.is_none())
                && !matches!(
                    client.does(),
                    ClientPhase::Returned
                        | ClientPhase::Failed
                        | ClientPhase::Done
                        | ClientPhase::Spinning
                        | ClientPhase::Sleeping
                        | ClientPhase::Backoff
                )
        };
        self.clients.values().filter(open).collect()
    }
}

/// Raises F22: a list is older than what a watch of watchscope had delivered before the request. No server may answer a
/// request for the newest state with an older one, unless etcd itself went back (F33).
pub(super) fn stale(
    client: &Client,
    listed: Listed,
    name: &Text,
    before: &State,
    streams: &Streams,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    for belief in &client.belief {
        let Some(revision) = belief.revision.filter(|revision| *revision > 0) else {
            continue;
        };
        let is_of = |watch: &watchscope_model::fold::Watch| {
            if watch.group.is_empty() {
                *watch.resource == *belief.resource
            } else {
                *belief.resource == *format!("{}.{}", watch.resource, watch.group)
            }
        };
        let mut watches = before.watches.iter().filter(|(_, watch)| is_of(watch));
        let beyond = watches.find_map(|(watch, _)| {
            let version = streams.was_beyond(watch, revision, listed.at.plus_micros(-OLDER_US))?;
            Some((watch, version))
        });
        if let Some((watch, version)) = beyond {
            let (row, alike, certainty): (_, &'static [Row], _) = if listed.is_of_newest {
                (Row::F33, &[Row::F22, Row::F32], Certainty::Suspected)
            } else {
                (Row::F22, &[Row::F31, Row::F33], Certainty::Definite)
            };
            registry.raise(
                found(
                    row,
                    alike,
                    certainty,
                    &Subject::Client(name.clone()),
                    vec![listed.seq, record.seq],
                    listed.at,
                    format!(
                        "{name} listed {} and got the state at {revision}, though {watch} had delivered {version} \
                         before the request.",
                        belief.resource
                    ),
                ),
                record.at,
            );
        }
    }
}

/// Raises F14: a client's lists make no progress, and each is followed by a watch that does not last.
pub(super) fn circle(
    client: &mut Client,
    version: u64,
    event: &ClientRequest,
    record: Moment,
    registry: &mut FindingRegistry,
    subject: &Subject,
) {
    if client.circle.len() == CIRCLE {
        client.circle.pop_front();
    }
    client.circle.push_back(WatchedFrom {
        seq: record.seq,
        at: record.at,
        version,
    });
    let Some(first) = client.circle.front().copied() else {
        return;
    };
    let began = first.at;
    let is_quick = record.at.micros_since(began) <= CIRCLE_US;
    if client.circle.len() < CIRCLE || !is_quick || version > first.version {
        return;
    }
    let evidence = client.circle.iter().map(|watched| watched.seq).collect();
    let summary = format!(
        "{} listed {CIRCLE} times in {}. No list went beyond {version}, and no watch from there lasted.",
        event.client,
        seconds(record.at.millis_since(began))
    );
    let found = found(
        Row::F14,
        &[Row::F10, Row::F11],
        Certainty::Suspected,
        subject,
        evidence,
        began,
        summary,
    );
    registry.raise(found, record.at);
}

/// Returns whether the servers may open a watch in etcd for each watch without a resourceVersion
/// (docs/semantics/lists-and-watches.md#watch-without-version). A server of unknown version counts as one that may.
fn may_ask_etcd(state: &State) -> bool {
    match server_version(state) {
        None => true,
        Some((27, patch)) => patch <= 12,
        Some((28, patch)) => patch <= 8,
        Some((29, patch)) => patch <= 3,
        Some(_) => false,
    }
}
