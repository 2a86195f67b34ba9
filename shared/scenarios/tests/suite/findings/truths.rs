//! Tells whether the inside of a simulated cluster shows the failure that a finding reports.
//!
//! A drawn setup has watches beside a row's own. Chance decides what the row's faults do to them, so no line of the
//! catalogue can list it. A finding about such a watch is right only where the inside of the same run shows it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use watchscope_diagnosis::audit::Level;
use watchscope_model::event::{Finding, StreamOpened};
use watchscope_model::fold::Moment;
use watchscope_model::inside::{InsideCache, InsideWatcher};
use watchscope_model::vocabulary::{Cause, Way};
use watchscope_model::{Event, Inside, Layers, Record, Row, Seq, Time, WatchName};
use watchscope_probe::WatchSpec;
use watchscope_scenarios::{Act, Deed, Run, catalogue};
use watchscope_simulator::Request;

/// The first word of the probes' User-Agent.
const OURS: &str = "watchscope";
/// Time in µs before a stream's end in which its cache may have lost its history: what ends it comes over a network.
const BEFORE_US: i64 = 1_000_000;

/// Returns whether the inside of the run shows what its finding about a watch says. The run has inside records.
///
/// * F32: servers that are apart (F31) are a cause of it (docs/findings/F32.md). A watch that resumes on the server
///   that is behind gets 200 and silence until that server has come to its version
///   (docs/semantics/lists-and-watches.md#watch, docs/semantics/checks.md#servers).
/// * F16: a server that ends the streams of a type, whose cache has lost a history that had not run over, began that
///   cache anew (docs/semantics/streams.md#rule-cache-rebuilt). In a story of F33 that happens before etcd goes back.
/// * F31 with the candidate F04: the watch's connection is dead. Without a bookmark the probe doubts a silent stream
///   only after minutes (docs/semantics/clients.md#probe-silence). Until then the reads are the only sign of it.
///
/// Nothing else is accepted here.
pub(super) fn shows(run: &Run, finding: &Finding) -> bool {
    let is_it = |event: &Event| matches!(event, Event::Finding(other) if other == finding);
    let record = run.records().iter().find(|record| is_it(&record.event));
    let record = record.expect("inside records change no finding");
    let watch = finding.watch.as_ref();
    let Some(open) = watch.and_then(|watch| Open::at(run, watch, record.at)) else {
        return false;
    };
    let has_candidate = |row: Row| finding.candidates.iter().any(|it| **it == *row.code());
    match finding.row() {
        Some(Row::F32) => open.is_above_its_server(),
        Some(Row::F16) => began_anew(run, finding, record.at),
        Some(Row::F31) => has_candidate(Row::F04) && open.is_over_a_dead_connection(),
        _ => false,
    }
}

/// The stream of a watch at a time, as its server sees it.
struct Open<'a> {
    opened: &'a StreamOpened,
    served: &'a InsideWatcher,
    /// The state of the cluster's inside at that time.
    layers: Layers,
    /// The revisions of the writes of its type up to that time.
    writes: Vec<u64>,
}

impl<'a> Open<'a> {
    /// Finds the last stream that a watch opened before `at`.
    fn at(run: &'a Run, watch: &WatchName, at: Time) -> Option<Self> {
        let by_then = |record: &&Record| record.at <= at;
        let mut records = run.records().iter().rev().filter(by_then);
        let (opened, since) = records.find_map(|record| match &record.event {
            Event::StreamOpened(opened) if opened.watch == *watch => Some((opened, record.at)),
            _ => None,
        })?;
        // Its server knows the watch before the answer has come, and no other watch of the type began in between.
        let mut known = BTreeSet::new();
        let by_then = run.inside().iter().take_while(|(told, _)| *told <= since);
        let began = by_then.filter_map(|(_, inside)| match inside {
            Inside::InsideWatcher(told) => known.insert(told.watcher).then_some(told),
            _ => None,
        });
        let is_ours =
            |told: &&InsideWatcher| *told.client == *OURS && *told.resource == *resource(watch);
        let by_then = run.inside().iter().take_while(|(told, _)| *told <= at);
        let writes = by_then.filter_map(|(_, inside)| match inside {
            Inside::InsideWrite(write) if *write.resource == *resource(watch) => {
                Some(write.revision)
            }
            _ => None,
        });
        Some(Self {
            opened,
            writes: writes.collect(),
            served: began.filter(is_ours).last()?,
            layers: layers(run, at),
        })
    }

    /// Returns whether the cache of its server lacks a write of the type, and the stream was opened at or above that
    /// write. The version of a quiet type's cache alone may be low: it rises with the type's own writes.
    fn is_above_its_server(&self) -> bool {
        let server = self.layers.servers.get(&self.served.server);
        let cache = server.and_then(|server| server.caches.get(&self.served.resource));
        let from = self.opened.resource_version.as_ref();
        let from = from.and_then(|version| version.number());
        let (Some(cache), Some(from)) = (cache, from) else {
            return false;
        };
        let lacks = |write: &u64| (cache.revision + 1..=from).contains(write);
        self.writes.iter().any(lacks)
    }

    /// Returns whether nothing passes over its connection.
    fn is_over_a_dead_connection(&self) -> bool {
        let connection = self.layers.connections.get(&self.served.connection);
        connection.is_some_and(|connection| connection.told.way == Way::Stalled)
    }
}

/// Returns whether the server ended a watch's stream in order, and its cache of the type lost a history that had not run
/// over. The finding is of `at`.
fn began_anew(run: &Run, finding: &Finding, at: Time) -> bool {
    let (Some(watch), Some(since)) = (&finding.watch, finding.since) else {
        return false;
    };
    let is_end = |record: &&Record| {
        let ended = matches!(&record.event, Event::StreamEnded(ended) if ended.watch == *watch && ended.cause == Cause::End);
        ended && finding.evidence.contains(&record.seq)
    };
    let Some(open) = Open::at(run, watch, since) else {
        return false;
    };
    let looks = run
        .inside()
        .iter()
        .filter_map(|(told, inside)| match inside {
            Inside::InsideCache(look)
                if look.server == open.served.server && look.resource == open.served.resource =>
            {
                Some((*told, look))
            }
            _ => None,
        });
    let looks: Vec<(Time, &InsideCache)> = looks.collect();
    let from = since.plus_micros(-BEFORE_US);
    let is_lost = |pair: &[(Time, &InsideCache)]| {
        let [(_, before), (told, after)] = *pair else {
            return false;
        };
        let has_run_over = before.events >= before.capacity;
        let is_empty = after.events == 0 && after.oldest > before.oldest;
        (from..=at).contains(&told) && is_empty && !has_run_over
    };
    run.records().iter().any(|record| is_end(&record)) && looks.windows(2).any(is_lost)
}

/// Returns the state of the cluster's inside at a time.
fn layers(run: &Run, at: Time) -> Layers {
    let mut layers = Layers::default();
    for (told, inside) in run.inside().iter().take_while(|(told, _)| *told <= at) {
        let now = Moment {
            seq: Seq(0),
            at: *told,
        };
        layers.apply_inside(inside, now);
    }
    layers
}

/// Returns the resource of a watch, with its group.
fn resource(watch: &WatchName) -> &str {
    let (what, _) = watch.what_and_ordinal();
    let (_, resource) = what.split_once('/').expect("a namespace and a resource");
    resource
}

/// Plays a row's story beside a watch of services, and one service is written at 4.5 s. Returns what a
/// question says of its stream at these seconds.
fn asked(row: Row, seconds: [u64; 3], question: impl Fn(&Open<'_>) -> bool) -> [bool; 3] {
    let mut rows = catalogue::rows().into_iter();
    let mut row = rows.find(|it| it.row == row).expect("each row has a story");
    let body = json!({
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}},
    });
    let written = Request::new("POST", "/api/v1/namespaces/default/services").json(&body);
    row.story.acts.push(Act {
        at: Duration::from_millis(4_500),
        deeds: vec![Deed::Call(written)],
        says: None,
    });
    row.story.acts.sort_by_key(|act| act.at);
    let services = WatchSpec::of("default", "services", "Service");
    let began = Run::of_story(row.story.clone(), 7).now();
    // Connections go to two servers in turn: the row's to the first, that of secrets to the second.
    let beside = [
        WatchSpec::of("default", "secrets", "Secret"),
        services.clone(),
    ];
    let run = row.run_audited(7, &beside, true, Level::Off);
    seconds.map(|second| {
        let at = began.plus_millis(second * 1_000);
        let open = Open::at(&run, &services.name, at);
        question(&open.expect("it has opened a stream by then"))
    })
}

#[test]
fn a_watch_is_above_its_server_until_that_has_caught_up() {
    let above = asked(Row::F31, [5, 10, 20], |open| open.is_above_its_server());
    assert_eq!(above, [false, true, false]);
    let above = asked(Row::F04, [5, 100, 170], |open| open.is_above_its_server());
    assert_eq!(above, [false; 3]);
}

#[test]
fn a_connection_is_dead_until_the_watch_has_another_one() {
    let dead = asked(Row::F04, [60, 100, 170], |open| {
        open.is_over_a_dead_connection()
    });
    assert_eq!(dead, [false, true, false]);
    let dead = asked(Row::F31, [5, 10, 20], |open| {
        open.is_over_a_dead_connection()
    });
    assert_eq!(dead, [false; 3]);
}
