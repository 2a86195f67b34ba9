//! Random scripts, and the properties that always hold for the probe's records of them.
//!
//! After 300 steps of trouble the world is calm, and the probe must know the truth. The oracles: events are ordered,
//! unique and resumable, so no write is missing outside a gap. Progress never goes down. The log's fold and the probe
//! hold the same objects. A failing seed is printed.

use std::collections::{BTreeMap, BTreeSet};

use watchscope_model::StreamId;
use watchscope_model::event::Event;
use watchscope_model::vocabulary::{ChangeType, Origin};

use crate::cases::cases;
use crate::world::{WATCH, World};

/// Asserts every property of a log whose world has become calm.
fn check(world: &World) {
    let truth: BTreeSet<(String, String, u64)> = world
        .server
        .objects
        .iter()
        .map(|(name, (uid, version))| (name.clone(), uid.clone(), *version))
        .collect();
    let probe = world.probe.as_ref().unwrap();
    let held: BTreeSet<(String, String, u64)> = probe
        .held()
        .map(|(object, version)| {
            (
                object.name.to_string(),
                object.uid.to_string(),
                version.number().unwrap(),
            )
        })
        .collect();
    let folded: BTreeSet<(String, String, u64)> = world.fold.watches[&WATCH.into()]
        .objects
        .sorted()
        .iter()
        .map(|held| {
            (
                held.object.name.to_string(),
                held.object.uid.to_string(),
                held.resource_version.number().unwrap(),
            )
        })
        .collect();
    assert_eq!(held, truth, "the probe holds the truth");
    assert_eq!(folded, truth, "the log holds the truth");
    assert!(
        world.fold.watches[&WATCH.into()].gap.is_none(),
        "every gap closed"
    );

    let mut live = BTreeSet::new();
    let mut last_of_stream = BTreeMap::new();
    let mut excused: Vec<(u64, u64)> = Vec::new();
    let mut first_list = None;
    let mut phase = None;
    let mut open_requests = BTreeSet::new();
    let mut documents: BTreeMap<StreamId, u64> = BTreeMap::new();
    for event in &world.log {
        match event {
            Event::Change(change) if change.origin == Origin::Live => {
                let version = change.resource_version.number().unwrap();
                let stream = change.stream.unwrap();
                let last = last_of_stream.insert(stream, version);
                assert!(last < Some(version), "ordered within a stream");
                assert!(
                    live.insert((version, change.change, change.object.uid.to_string())),
                    "unique"
                );
                *documents.entry(stream).or_default() += 1;
            }
            Event::Bookmark(event) => *documents.entry(event.stream).or_default() += 1,
            Event::StreamError(event) => *documents.entry(event.stream).or_default() += 1,
            Event::StreamEnded(event) => {
                let counted = documents.get(&event.stream).copied().unwrap_or(0);
                // Initial events that change nothing are read but are not changes.
                assert!(event.events >= counted, "every document is counted");
            }
            Event::ListComplete(event) => {
                let version = event.resource_version.number().unwrap();
                first_list.get_or_insert(version);
            }
            Event::Gap(gap) => {
                let began = usize::try_from(gap.since.0).unwrap().checked_sub(1);
                assert!(
                    matches!(
                        began.map(|began| &world.log[began]),
                        Some(
                            Event::StreamEnded(_)
                                | Event::RequestAnswered(_)
                                | Event::WatchPhase(_)
                        )
                    ),
                    "a gap began with an end"
                );
                if !gap.resumed {
                    excused.push((
                        gap.from.as_ref().map_or(0, |from| from.number().unwrap()),
                        gap.to.as_ref().unwrap().number().unwrap(),
                    ));
                }
            }
            Event::WatchPhase(event) => {
                assert_eq!(event.from, phase, "phases follow each other");
                phase = Some(event.to);
            }
            Event::RequestSent(event) => {
                assert!(open_requests.insert(event.request));
            }
            Event::RequestAnswered(event) => {
                assert!(open_requests.remove(&event.request), "answered once");
            }
            _ => {}
        }
    }
    // Resumable: each write after the first list came live, or lies in a gap that was not resumed.
    for write in &world.server.history {
        let change = match write.change {
            "ADDED" => ChangeType::Added,
            "MODIFIED" => ChangeType::Modified,
            _ => ChangeType::Deleted,
        };
        let is_excused = excused
            .iter()
            .any(|&(from, to)| from < write.version && write.version <= to);
        let came = live.contains(&(write.version, change, write.uid.clone()));
        assert!(
            came || is_excused || write.version <= first_list.unwrap(),
            "{write:?} is missing outside a gap"
        );
    }
}

/// The words of a log's phases and ends.
fn words(log: &[Event]) -> impl Iterator<Item = &'static str> {
    log.iter().filter_map(|event| match event {
        Event::WatchPhase(event) => Some(event.reason.word()),
        Event::StreamEnded(event) => Some(event.cause.word()),
        _ => None,
    })
}

#[test]
fn after_any_trouble_the_log_is_ordered_unique_and_resumable_and_ends_at_the_truth() {
    let mut seen = BTreeSet::new();
    for seed in 0..u64::from(cases(1_500)) {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..300 {
                world.trouble();
            }
            world.calm();
            check(&world);
            words(&world.log).collect::<Vec<_>>()
        });
        seen.extend(outcome.unwrap_or_else(|_| panic!("seed {seed}")));
    }
    // The scripts reached the cases that they were written for.
    for word in "end eof eof-in-frame tcp-reset tls idle-timeout decode error-event broken expired idle forbidden \
                 initial-events-end not-found resume server-error short-stream too-many-requests unauthorized \
                 unreachable watch-list-refused"
        .split_whitespace()
    {
        assert!(seen.contains(word), "no script reached {word}: {seen:?}");
    }
}
