//! The choice of the seconds and lanes in a row's picture.
//!
//! One rule based on the finding applies to all rows. The seconds begin with the first deed to the cluster shortly
//! before the failure. They end when the failure is found and, if that comes soon, healed. The lanes are those of the
//! watches and the client that the finding concerns, with the objects that change in these seconds. If only reads show
//! the failure, the layers beneath are shown too. [`ODD`] has the rows with exceptions.

use std::collections::BTreeSet;
use std::time::Duration;

use watchscope_model::event::Finding;
use watchscope_model::time::SECOND_US;
use watchscope_model::vocabulary::{Origin, Standing};
use watchscope_model::{Event, Record, Text, Time, WatchName};
use watchscope_scenarios::catalogue::Row;
use watchscope_scenarios::catalogue::finds::Finds;
use watchscope_scenarios::{Deed, Run};
use watchscope_timeline::{LaneId, Rows, Store};

use super::super::{findings_of, names};

/// A deed to the cluster belongs to the failure if it is at most this long before it, in microseconds.
const BEFORE_US: i64 = 10 * SECOND_US;
/// A watch is shown recovering if it recovers within this time after the finding, in microseconds.
const HEALS_US: i64 = 20 * SECOND_US;
/// The time by which the clients of a row have started.
const STARTED: Duration = Duration::from_millis(1_500);
/// The least time that is shown before and behind, in microseconds.
const MARGIN_US: i64 = 3 * SECOND_US;
/// The time until everything is listed and watched, in microseconds.
const BEGINS_US: i64 = 2 * SECOND_US;
/// The least room behind a finding for its name, in percent of the time before it.
const NAMED_PERCENT: i64 = 55;

/// An exception from the rule for a row.
struct Odd {
    code: &'static str,
    /// The seconds of the story.
    between_s: Option<(u32, u32)>,
    /// A client whose lanes are shown.
    client: Option<&'static str>,
    /// The layers that are shown.
    inside: Option<Inside>,
}

/// Layers of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    /// etcd.
    Etcd,
    /// etcd, and the watch caches of the watched types.
    Caches,
}

const fn odd(code: &'static str) -> Odd {
    Odd {
        code,
        between_s: None,
        client: None,
        inside: None,
    }
}

impl Odd {
    const fn between(self, from_s: u32, to_s: u32) -> Self {
        Self {
            between_s: Some((from_s, to_s)),
            ..self
        }
    }

    const fn client(self, name: &'static str) -> Self {
        Self {
            client: Some(name),
            ..self
        }
    }

    const fn inside(self, inside: Inside) -> Self {
        Self {
            inside: Some(inside),
            ..self
        }
    }
}

const ODD: &[Odd] = &[
    odd("F14").inside(Inside::Caches),
    odd("F20").between(0, 12).inside(Inside::Caches),
    odd("F04").inside(Inside::Caches),
    odd("F22").inside(Inside::Caches),
    // The deletion is lost long before a read shows it.
    odd("F24").between(2, 81).client("informer"),
    odd("F25").between(2, 81).client("informer"),
    odd("F26").client("informer"),
    odd("F27").client("informer"),
    // The list that shows it comes 1 s after the 410 that requires it, and both need room.
    odd("F28").between(4, 17),
    odd("F32").client("waiting"),
    // Events have no watch cache.
    odd("F34").inside(Inside::Etcd),
    odd("F36").between(4, 45).inside(Inside::Caches),
    // The proxy releases what it held.
    odd("F44").between(0, 46),
    // Two periods of the resync.
    odd("F46").between(0, 46),
];

/// The part of a story that is drawn.
#[derive(Debug)]
pub(super) struct Shot {
    pub(super) from: Time,
    pub(super) to: Time,
    watches: BTreeSet<WatchName>,
    /// Objects by their names.
    objects: BTreeSet<String>,
    /// The client program whose lanes are shown.
    client: Option<String>,
    inside: Option<Inside>,
    /// The resource whose caches are shown.
    resource: String,
    /// The subject of the row's finding: other findings are not shown.
    subject: Option<Text>,
    /// The code of the finding, if there is one.
    pub(super) code: Option<Text>,
}

impl Shot {
    pub(super) fn of(row: &Row, finds: &Finds, run: &Run, began: Time) -> Self {
        let odd = ODD.iter().find(|odd| odd.code == row.code);
        let found = findings_of(run, began)
            .into_iter()
            .map(|(_, finding)| finding);
        let found = found
            .filter(|finding| finding.state == Standing::Raised)
            .find(|finding| {
                finding.row().is_some_and(|row| finds.family.contains(&row))
                    && names(finding, finds)
            });
        let evidence: Vec<&Record> = found
            .iter()
            .flat_map(|finding| &finding.evidence)
            .filter_map(|seq| run.records().get(seq.0 as usize - 1))
            .collect();
        let watches = watches(found, &evidence, run);
        let (from, to) = match odd.and_then(|odd| odd.between_s) {
            Some((from_s, to_s)) => {
                let at = |secs: u32| began.plus_micros(i64::from(secs) * SECOND_US);
                (at(from_s), at(to_s))
            }
            None => seconds(row, finds, found, &watches, run, began),
        };
        let (from, to) = (from.max(began), to.min(run.now()));
        let objects = objects(row, run, &watches, began, (from, to));
        let client = found.and_then(|finding| finding.client.as_deref());
        let inside = finds.is_audited.then_some(Inside::Caches);
        Self {
            from,
            to,
            watches,
            objects,
            client: odd.and_then(|odd| odd.client).or(client).map(str::to_owned),
            inside: odd.and_then(|odd| odd.inside).or(inside),
            resource: row.scope.resource.clone(),
            subject: found.map(|found| found.subject().unwrap_or_default()),
            code: found.map(|found| found.code.clone()),
        }
    }

    /// Returns whether a finding has the subject of the row's finding.
    pub(super) fn shows(&self, finding: &Finding) -> bool {
        let subject = finding.subject().unwrap_or_default();
        Some(subject) == self.subject
    }

    /// Returns the rows that are shown, without rows under or between them.
    pub(super) fn chosen(&self, store: &Store, all: Rows) -> Rows {
        let mut chosen = Rows::default();
        let layer = |lane| match lane {
            LaneId::Layer(layer) => store.layer_name(layer),
            _ => None,
        };
        let names = all.rows.iter().filter_map(|row| layer(row.id));
        let servers = names.filter(|name| is_server(name)).count();
        for mut row in all.rows {
            let (watch, object) = store.lane_names(row.id);
            let is_shown = match row.id {
                LaneId::Findings | LaneId::Connection(_) => true,
                LaneId::OwnRequests | LaneId::Quiet => false,
                LaneId::Layer(_) => {
                    layer(row.id).is_some_and(|name| self.shows_layer(name, servers))
                }
                LaneId::Object(..) => watch.zip(object).is_some_and(|(watch, object)| {
                    self.watches.contains(watch) && self.objects.contains(&*object.name)
                }),
                LaneId::Watch(_) | LaneId::Version(_) | LaneId::More(_) | LaneId::Gone(_) => {
                    watch.is_some_and(|watch| self.watches.contains(watch))
                }
            };
            if is_shown {
                row.y = chosen.height;
                chosen.height = row.bottom();
                // The count is of the loaded objects, not of those shown.
                row.count = None;
                chosen.rows.push(row);
            }
        }
        chosen
    }

    /// Returns whether a layer is shown. Its server is named only if there are several.
    fn shows_layer(&self, name: &str, servers: usize) -> bool {
        let (what, rest) = name.split_once(' ').unwrap_or((name, ""));
        let has_caches = self.inside == Some(Inside::Caches);
        match what {
            "inside" => self.client.is_some() || self.inside.is_some(),
            "etcd" => self.inside.is_some(),
            "apiserver" if is_server(name) => has_caches && servers > 1,
            "apiserver" => has_caches && rest.ends_with(&format!(" {}", self.resource)),
            "stream" => {
                has_caches
                    && self.client.as_ref().is_some_and(|client| {
                        rest.ends_with(&format!(" {} {client}", self.resource))
                    })
            }
            // A client, or its connections.
            _ => Some(rest) == self.client.as_deref(),
        }
    }
}

/// Returns whether a layer is a server, and not one of its caches.
fn is_server(name: &str) -> bool {
    let server = name.strip_prefix("apiserver ");
    server.is_some_and(|server| !server.contains(' '))
}

/// Returns the watches that a finding concerns and those in its evidence; all watches if it concerns none.
fn watches(found: Option<&Finding>, evidence: &[&Record], run: &Run) -> BTreeSet<WatchName> {
    let all = run
        .records()
        .iter()
        .filter_map(|record| match &record.event {
            Event::WatchStarted(started) => Some(&started.watch),
            _ => None,
        });
    let all: BTreeSet<WatchName> = all.cloned().collect();
    let own = found.and_then(|finding| finding.watch.as_ref());
    let named = found.into_iter().flat_map(|finding| &finding.names);
    let own = own.into_iter().chain(named);
    let own = own.chain(evidence.iter().filter_map(|record| record.event.watch()));
    let own: BTreeSet<WatchName> = own.filter(|name| all.contains(*name)).cloned().collect();
    if own.is_empty() { all } else { own }
}

/// Returns the seconds of the picture.
fn seconds(
    row: &Row,
    finds: &Finds,
    found: Option<&Finding>,
    watches: &BTreeSet<WatchName>,
    run: &Run,
    began: Time,
) -> (Time, Time) {
    let of_watch = |record: &&Record| {
        let watch = record.event.watch();
        watch.is_some_and(|watch| watches.contains(watch))
    };
    let of_watch = || run.records().iter().filter(of_watch);
    let raised = found.and_then(|found| {
        let mut records = run.records().iter();
        records.find(|record| matches!(&record.event, Event::Finding(other) if other == found))
    });
    // Without a finding, the picture is about the end of a stream, or about its events.
    let end = || of_watch().find(|record| matches!(record.event, Event::StreamEnded(_)));
    let change = || {
        let is_live = |record: &&Record| matches!(&record.event, Event::Change(change) if change.origin == Origin::Live);
        of_watch().find(is_live)
    };
    let found_at = raised.or_else(end).or_else(change);
    let found_at = found_at.map_or(began, |record| record.at);
    let struck = began.plus_micros(finds.strikes_s as i64 * SECOND_US);
    let struck = if found.is_some() {
        struck.min(found_at)
    } else {
        found_at
    };
    let deeds = row.story.acts.iter();
    let deeds = deeds.filter(|act| act.at >= STARTED && !act.deeds.is_empty());
    let mut deeds = deeds.map(|act| began.plus_micros(act.at.as_micros() as i64));
    let first_deed = deeds.find(|at| (0..=BEFORE_US).contains(&struck.micros_since(*at)));
    let since = found.and_then(|finding| finding.since).unwrap_or(found_at);
    let first = first_deed.unwrap_or(struck).min(struck).min(since);
    // Until the finding is cleared, or until the open gap closes.
    let is_over = |record: &&Record| match &record.event {
        Event::Finding(other) => {
            let key = found.map(Finding::key);
            other.state == Standing::Cleared && Some(other.key()) == key
        }
        Event::Gap(gap) => {
            let began = run.records().get(gap.since.0 as usize - 1);
            let is_open = began.is_some_and(|began| began.at <= found_at);
            is_open && record.at > found_at && watches.contains(&gap.watch)
        }
        _ => false,
    };
    let soon = run.records().iter().filter(is_over);
    let mut soon = soon.filter(|record| record.at.micros_since(found_at) <= HEALS_US);
    let last = soon.next_back().map_or(found_at, |record| record.at);
    let span_us = last.micros_since(first);
    let from = first.plus_micros(-MARGIN_US.max(span_us / 5));
    // The common beginning of all stories is shown completely or not at all.
    let from = if from.micros_since(began) < BEGINS_US {
        began
    } else {
        from
    };
    let named = found_at.plus_micros(found_at.micros_since(from) * NAMED_PERCENT / 100);
    let to = last.plus_micros(MARGIN_US.max(span_us / 8)).max(named);
    (from, to)
}

/// Returns the objects that the watches receive, or that the story writes, in these seconds.
fn objects(
    row: &Row,
    run: &Run,
    watches: &BTreeSet<WatchName>,
    began: Time,
    (from, to): (Time, Time),
) -> BTreeSet<String> {
    let shown = |at: &Time| (from..=to).contains(at);
    let records = run.records().iter().filter(|record| shown(&record.at));
    let received = records.filter_map(|record| match &record.event {
        Event::Change(change) if !matches!(change.origin, Origin::List | Origin::Initial) => {
            Some((&change.watch, &change.object))
        }
        Event::Verdict(verdict) => Some((&verdict.watch, &verdict.object)),
        _ => None,
    });
    let received = received.filter(|(watch, _)| watches.contains(*watch));
    let received = received.map(|(_, object)| object.name.to_string());
    let acts = row.story.acts.iter();
    let acts = acts
        .filter(|act| act.at >= STARTED && shown(&began.plus_micros(act.at.as_micros() as i64)));
    let written = acts
        .flat_map(|act| &act.deeds)
        .filter_map(|deed| match deed {
            Deed::Call(request) => Some(request.path.rsplit('/').next()?.to_owned()),
            _ => None,
        });
    received.chain(written).collect()
}
