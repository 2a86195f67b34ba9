//! Records of the inside: they read back as written, fold the same from every cut, and change nothing for readers that
//! skip them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../cases.rs"]
mod cases;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cases::cases;
use insta::assert_snapshot;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use watchscope_model::chapter::{ChapterReader, ChapterWriter, Fold};
use watchscope_model::codec::{FORMAT_VERSION, FrameKind, split_frame};
use watchscope_model::event::{Change, ClientReport, ClientRequest, ClientStarted, Clock};
use watchscope_model::inside::{
    InsideCache, InsideConnection, InsideEtcd, InsideHeld, InsideServer, InsideWatcher,
    InsideWatcherEnded, InsideWrite,
};
use watchscope_model::json::to_line;
use watchscope_model::vocabulary::{CachePhase, ChangeType, Origin, Way};
use watchscope_model::{
    Entry, Event, Inside, InsideRecord, Layers, Object, Record, Seq, State, Text, Time, Uid,
};

/// When every test's log begins.
const START: Time = Time(1_763_715_600_000_000);

fn object() -> impl Strategy<Value = Arc<Object>> {
    ("web-[0-9]", 0u8..3).prop_map(|(name, uid)| {
        Arc::new(Object {
            namespace: Some("shop".into()),
            name: name.into(),
            uid: Uid::Uuid([uid; 16]),
        })
    })
}

fn resource() -> impl Strategy<Value = Text> {
    prop::sample::select(vec!["pods", "deployments.apps"]).prop_map(Text::from)
}

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn inside() -> impl Strategy<Value = Inside> {
    let (revision, small) = (1u64..u64::MAX, 0u64..4);
    prop_oneof![
        1 => (revision.clone(), any::<u64>(), any::<bool>()).prop_map(|(revision, compacted, has_leader)| {
            InsideEtcd { revision, compacted, has_leader }.into()
        }),
        3 => (resource(), word(ChangeType::ALL), object(), revision.clone()).prop_map(
            |(resource, change, object, revision)| InsideWrite { resource, change, object, revision }.into()
        ),
        1 => (small.clone(), any::<bool>()).prop_map(|(server, is_serving)| {
            InsideServer { server, version: "v1.36.0".into(), is_serving }.into()
        }),
        2 => (small.clone(), resource(), word(CachePhase::ALL), 0u64..9, any::<u64>()).prop_map(
            |(server, resource, phase, revision, oldest)| {
                InsideCache { server, resource, phase, revision, oldest, events: 3, capacity: 100 }.into()
            }
        ),
        3 => (small.clone(), resource(), object(), prop::option::of(revision)).prop_map(
            |(server, resource, object, revision)| InsideHeld { server, resource, object, revision }.into()
        ),
        2 => (small.clone(), small.clone(), resource(), any::<u64>(), any::<bool>(), any::<Option<bool>>()).prop_map(
            |(watcher, server, resource, waiting, is_blocking, from_etcd)| InsideWatcher {
                server, watcher, connection: 7, client: "informer".into(), resource, waiting, slots: 20, is_blocking, from_etcd,
            }.into()
        ),
        1 => small.clone().prop_map(|watcher| InsideWatcherEnded { watcher }.into()),
        1 => (small.clone(), prop::option::of(Just(Text::from("naive"))), word(Way::ALL), small).prop_map(
            |(connection, client, way, streams)| InsideConnection { connection, client, server: 0, way, streams }.into()
        ),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let client = || prop::sample::select(vec!["naive", "informer"]).prop_map(Text::from);
    prop_oneof![
        3 => (object(), any::<u64>()).prop_map(|(object, version)| Change {
            watch: "shop/pods".into(), stream: None, change: ChangeType::Added, origin: Origin::Live, object,
            resource_version: version.into(), generation: None, manager: None, subresource: None, bytes: None, stray: None, owner: None }.into()),
        1 => (any::<i64>(), any::<Option<u64>>())
            .prop_map(|(off_ms, paused_ms)| Clock { off_ms, paused_ms }.into()),
        1 => client().prop_map(|client| ClientStarted { client, program: "informer".into(), version: None }.into()),
        1 => client().prop_map(|client| ClientRequest { client, request: "GET /api/v1/pods".to_owned() }.into()),
        2 => (client(), prop::sample::select(vec!["listing", "watching"]), any::<u64>(), prop::option::of(any::<String>()))
            .prop_map(|(client, phase, handled, belief)| ClientReport {
                client, phase: phase.into(), iterations: 1, handled, belief,
            }.into()),
    ]
}

fn log() -> impl Strategy<Value = Vec<Entry>> {
    let entry =
        prop_oneof![2 => event().prop_map(Ok), 3 => inside().prop_map(Err::<Event, Inside>)];
    prop::collection::vec((entry, 0i64..50_000), 1..80).prop_map(|entries| {
        let mut at = START;
        (1..)
            .map(Seq)
            .zip(entries)
            .map(|(seq, (entry, later))| {
                at = at.plus_micros(later);
                match entry {
                    Ok(event) => Entry::Record(Record { seq, at, event }),
                    Err(inside) => Entry::Inside(InsideRecord { seq, at, inside }),
                }
            })
            .collect()
    })
}

fn fold(entries: &[Entry]) -> (State, Layers) {
    let (mut state, mut layers) = (State::default(), Layers::default());
    for entry in entries {
        match entry {
            Entry::Record(record) => state.apply(record),
            Entry::Inside(record) => state.pass(record.seq, record.at),
        }
        layers.apply(entry);
    }
    (state, layers)
}

/// Encodes the opening after `before`, and the segments of `entries` with `run` entries each.
fn chapter(before: &[Entry], entries: &[Entry], run: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (state, layers) = fold(before);
    let fold = Fold::new(&state, &layers);
    let (mut writer, opening) = ChapterWriter::open("log".into(), "epoch".into(), fold);
    let segments = entries.chunks(run).map(|run| {
        for entry in run {
            match entry {
                Entry::Record(record) => writer.push(record),
                Entry::Inside(record) => writer.push_inside(record),
            }
        }
        writer.seal().unwrap()
    });
    let segments = segments.collect();
    (opening, segments)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(96)))]

    #[test]
    fn they_decode_to_the_written_records_and_fold_the_same_from_every_cut(entries in log(), run in 1usize..20) {
        let whole = fold(&entries);
        for cut in 0..=entries.len() {
            let (before, after) = entries.split_at(cut);
            let (opening, segments) = chapter(before, after, run);
            let (mut reader, opening) = ChapterReader::open(&opening).unwrap();
            let mut layers = reader.layers(&opening.state, &opening.layers).unwrap();
            let mut state = opening.state;
            prop_assert_eq!((&state, &layers), (&fold(before).0, &fold(before).1));
            let mut decoded = Vec::new();
            for segment in segments {
                decoded.extend(reader.entries(&segment).unwrap().into_iter().flatten());
            }
            prop_assert_eq!(&decoded, after);
            for entry in &decoded {
                layers.apply(entry);
                match entry {
                    Entry::Record(record) => state.apply(record),
                    Entry::Inside(record) => state.pass(record.seq, record.at),
                }
            }
            prop_assert_eq!((&state, &layers), (&whole.0, &whole.1));
        }
    }

    #[test]
    fn a_reader_that_skips_them_reads_the_same_records_at_the_same_places(entries in log(), run in 1usize..20) {
        let (opening, segments) = chapter(&[], &entries, run);
        let (mut reader, _) = ChapterReader::open(&opening).unwrap();
        let mut decoded = Vec::new();
        for segment in segments {
            decoded.extend(reader.segment(&segment).unwrap());
        }
        let expected: Vec<Option<Record>> = entries.iter().map(|entry| entry.record().cloned()).collect();
        prop_assert_eq!(decoded, expected);
    }

    #[test]
    fn damaged_layers_are_refused_without_a_panic(entries in log(), cut in any::<prop::sample::Index>(), value in any::<u8>()) {
        let (opening, _) = chapter(&entries, &[], 1);
        let (reader, opening) = ChapterReader::open(&opening).unwrap();
        let mut bytes = opening.layers.clone();
        if !bytes.is_empty() {
            let at = cut.index(bytes.len());
            bytes[at] = value;
            let _ = reader.layers(&opening.state, &bytes);
            bytes.truncate(at);
            let _ = reader.layers(&opening.state, &bytes);
        }
    }
}

#[test]
fn the_bytes_of_a_log_without_an_inside_are_unchanged() {
    let state = State {
        seq: Seq(7),
        at: START,
        ..State::default()
    };
    let layers = Layers::default();
    let with = ChapterWriter::open("log".into(), "epoch".into(), Fold::new(&state, &layers)).1;
    let without = ChapterWriter::open("log".into(), "epoch".into(), &state).1;
    assert_eq!(with, without);
    let (frame, rest) = split_frame(&with).unwrap();
    assert!(rest.is_empty() && !frame.payload.is_empty());
}

#[test]
fn kind_numbers_of_the_inside_and_of_events_differ() {
    for (number, name) in Inside::KINDS {
        assert!(*number >= 64 && name.starts_with("inside."), "{name}");
        assert!(
            Event::KINDS
                .iter()
                .all(|known| known.0 != *number && known.1 != *name)
        );
    }
}

#[test]
fn the_json_form_is_the_one_of_all_records() {
    let line = |inside: Inside| {
        to_line(&Entry::Inside(InsideRecord {
            seq: Seq(7),
            at: START,
            inside,
        }))
    };
    let object = Arc::new(Object {
        namespace: Some("shop".into()),
        name: "web-0".into(),
        uid: Uid::parse("u1"),
    });
    let write = InsideWrite {
        resource: "pods".into(),
        change: ChangeType::Modified,
        object: object.clone(),
        revision: 603,
    };
    assert_snapshot!(line(write.into()), @r#"{"type":"inside.write","seq":7,"at":"2025-11-21T09:00:00.000000Z","resource":"pods","change":"MODIFIED","namespace":"shop","name":"web-0","uid":"u1","revision":603}"#);
    let held = InsideHeld {
        server: 1,
        resource: "pods".into(),
        object,
        revision: None,
    };
    assert_snapshot!(line(held.into()), @r#"{"type":"inside.held","seq":7,"at":"2025-11-21T09:00:00.000000Z","server":1,"resource":"pods","namespace":"shop","name":"web-0","uid":"u1"}"#);
    let cache = InsideCache {
        server: 1,
        resource: "pods".into(),
        phase: CachePhase::Ready,
        revision: 604,
        oldest: 519,
        events: 85,
        capacity: 100,
    };
    assert_snapshot!(line(cache.into()), @r#"{"type":"inside.cache","seq":7,"at":"2025-11-21T09:00:00.000000Z","server":1,"resource":"pods","phase":"ready","revision":604,"oldest":519,"events":85,"capacity":100}"#);
}

/// The kinds among `entries` that only a simulated world records.
fn kinds(entries: &[Entry]) -> BTreeSet<&'static str> {
    let names = Event::KINDS.iter().chain(Inside::KINDS);
    let by_number: BTreeMap<_, _> = names.copied().collect();
    let number = |entry: &Entry| match entry {
        Entry::Record(record) => record.event.kind(),
        Entry::Inside(record) => record.inside.kind(),
    };
    let names = entries.iter().map(|entry| by_number[&number(entry)]);
    names.filter(|name| is_of_a_world(name)).collect()
}

fn is_of_a_world(kind: &str) -> bool {
    kind.starts_with("inside.") || kind.starts_with("client.")
}

/// Writes a chapter with entries of every such kind, and the opening of the next.
fn write_fixture(path: &str) {
    let mut runner = TestRunner::deterministic();
    let logs = (0..2_000).map(|_| log().new_tree(&mut runner).unwrap().current());
    let most = logs.max_by_key(|entries| kinds(entries).len()).unwrap();
    let (opening, segments) = chapter(&[], &most, 16);
    let (next, _) = chapter(&most, &[], 1);
    let bytes = [opening, segments.concat(), next].concat();
    let lines: Vec<String> = most.iter().map(to_line).collect();
    std::fs::write(format!("{path}.jsonl"), lines.join("\n") + "\n").unwrap();
    std::fs::write(format!("{path}.chapter"), bytes).unwrap();
}

#[test]
fn a_file_of_every_format_version_that_has_an_inside_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    if std::env::var_os("WATCHSCOPE_WRITE_FIXTURES").is_some() {
        write_fixture(&format!("{folder}/version-{FORMAT_VERSION}-inside"));
    }
    // Format 1 had no inside.
    for version in 2..=FORMAT_VERSION {
        let path = format!("{folder}/version-{version}-inside");
        let bytes = std::fs::read(format!("{path}.chapter")).unwrap();
        let (mut rest, mut reader) = (&bytes[..], None);
        let (mut entries, mut next) = (Vec::new(), None);
        while !rest.is_empty() {
            let (frame, behind) = split_frame(rest).unwrap();
            let whole = &rest[..rest.len() - behind.len()];
            rest = behind;
            if frame.kind == FrameKind::Head {
                let (opened, opening) = ChapterReader::open(whole).unwrap();
                let layers = opened.layers(&opening.state, &opening.layers).unwrap();
                next = Some((opening.state, layers));
                reader = Some(opened);
            } else {
                let known = reader.as_mut().unwrap().entries(whole).unwrap();
                entries.extend(known.into_iter().flatten());
            }
        }
        let lines: Vec<String> = entries.iter().map(to_line).collect();
        let expected = std::fs::read_to_string(format!("{path}.jsonl")).unwrap();
        assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{version}");
        assert_eq!(next, Some(fold(&entries)), "{version}: the next opening");
        let all = Event::KINDS
            .iter()
            .chain(Inside::KINDS)
            .map(|(_, name)| *name);
        let all = all.filter(|name| is_of_a_world(name));
        assert_eq!(kinds(&entries), all.collect::<BTreeSet<_>>(), "{version}");
    }
}
