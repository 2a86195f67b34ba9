//! The promises of the codec, checked over random logs: identity, cuts, chapters alone, hostile bytes, old versions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../allocations.rs"]
mod allocations;
#[path = "../../cases.rs"]
mod cases;

use std::sync::Arc;

use allocations::peak_of;
use cases::cases;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestCaseError;
use watchscope_model::chapter::{ChapterReader, ChapterWriter, decode_chapter};
use watchscope_model::codec::FORMAT_VERSION;
use watchscope_model::event::{
    Attribution, Bookmark, Change, Clock, ClusterConnected, ConnectionClosed, ConnectionOpened,
    Finding, Gap, ListComplete, ListPage, Loss, Note, NoteKey, RequestAnswered, RequestSent,
    StreamEnded, StreamError, StreamOpened, WatchPhase, WatchStarted, WatchStopped,
};
use watchscope_model::field::Headers;
use watchscope_model::id::Owner;
use watchscope_model::vocabulary::{
    Author, Cause, Certainty, ChangeType, ErrorText, FrameLoss, LossPlace, Origin, Phase,
    PhaseReason, Severity, Standing,
};
use watchscope_model::{
    ConnectionId, Event, Object, Record, RequestId, ResourceVersion, Seq, State, StreamId, Text,
    Time, Uid, WatchName,
};

fn watch() -> impl Strategy<Value = WatchName> {
    prop::sample::select(vec!["shop/pods", "shop/configmaps", "-/nodes"]).prop_map(WatchName::from)
}

fn version() -> impl Strategy<Value = ResourceVersion> {
    prop_oneof![
        8 => (1_000u64..5_000).prop_map(ResourceVersion::Number),
        1 => any::<u64>().prop_map(ResourceVersion::Number),
        1 => "[a-z0-9]{0,30}".prop_map(|text| ResourceVersion::parse(&text)),
        1 => (1_000u64..5_000).prop_map(|number| ResourceVersion::from(number).unordered()),
    ]
}

fn uid() -> impl Strategy<Value = Uid> {
    prop_oneof![
        any::<[u8; 16]>().prop_map(Uid::Uuid),
        (0u8..4).prop_map(|uid| Uid::Uuid([uid; 16])),
        "[a-z]{0,5}".prop_map(|text| Uid::parse(&text)),
    ]
}

fn object() -> impl Strategy<Value = Arc<Object>> {
    (prop::option::of("[ab]"), "web-[0-9]{1,2}", uid()).prop_map(|(namespace, name, uid)| {
        Arc::new(Object {
            namespace: namespace.map(Text::from),
            name: name.into(),
            uid,
        })
    })
}

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn text() -> impl Strategy<Value = Text> {
    "\\PC{0,12}".prop_map(Text::from)
}

/// A finding with one of few codes and subjects, so that some findings are raised again and cleared.
fn finding() -> impl Strategy<Value = Event> {
    let subject = (
        prop::option::of(watch()),
        prop::option::of(word(&["s:1", "s:2"])),
        prop::option::of(word(&["informer", "v1"])),
    );
    let stated = (
        word(&["F08", "F44"]),
        prop::collection::vec(word(&["F50", "F04"]).prop_map(Text::from), 0..3),
        word(Severity::ALL),
        word(Standing::ALL),
        word(Certainty::ALL),
        prop::collection::vec(any::<u64>().prop_map(Seq), 1..5),
        any::<String>(),
    );
    let counted = (
        prop::option::of(any::<u64>()),
        prop::option::of(any::<i64>().prop_map(Time)),
        prop::option::of(word(Severity::ALL)),
    );
    let shared = (
        prop::option::of((0_u64..2).prop_map(ConnectionId)),
        prop::option::of(word(&["", "apps"])),
        prop::option::of(word(&["pods", "widgets"])),
        prop::array::uniform3(prop::option::of(any::<u64>())),
        prop::collection::vec(watch(), 0..3),
    );
    (subject, stated, counted, shared).prop_map(|(subject, stated, counted, shared)| {
        let (watch, server, client) = subject;
        let (code, candidates, severity, state, certainty, evidence, summary) = stated;
        let (count, since, worst) = counted;
        let (connection, group, resource, [watches, resumed, relisted], names) = shared;
        Finding {
            code: code.into(),
            candidates,
            name: "a name".into(),
            severity,
            state,
            certainty,
            watch,
            server: server.map(Text::from),
            evidence,
            summary,
            client: client.map(Text::from),
            count,
            since,
            worst,
            connection,
            group: group.map(Text::from),
            resource: resource.map(Text::from),
            watches,
            resumed,
            relisted,
            names,
        }
        .into()
    })
}

fn event() -> impl Strategy<Value = Event> {
    let change = (
        watch(),
        prop::option::of(any::<u64>().prop_map(StreamId)),
        word(ChangeType::ALL),
        word(Origin::ALL),
        object(),
        version(),
        prop::option::of(any::<u64>()),
        prop::option::of(text()),
        prop::option::of(text()),
        (
            prop::option::of(any::<u64>()),
            prop::option::of(any::<bool>()),
            prop::option::of((text(), text(), uid())),
        ),
    )
        .prop_map(
            |(
                watch,
                stream,
                change,
                origin,
                object,
                resource_version,
                generation,
                manager,
                subresource,
                (bytes, stray, owner),
            )| {
                Change {
                    watch,
                    stream,
                    change,
                    origin,
                    object,
                    resource_version,
                    generation,
                    manager,
                    subresource,
                    bytes,
                    stray,
                    owner: owner.map(|(kind, name, uid)| Owner::new(kind, name, uid)),
                }
                .into()
            },
        );
    let small = any::<u16>().prop_map(u64::from).boxed();
    prop_oneof![
        8 => change,
        1 => (text(), text(), text(), prop::option::of(text())).prop_map(|(cluster, server, version, uid)| ClusterConnected { cluster, server, version, uid }.into()),
        1 => (small.clone(), text(), text(), prop::option::of(text()), prop::option::of(text())).prop_map(|(id, server, remote, alpn, version)| {
            ConnectionOpened { connection: ConnectionId(id % 4), server, remote, alpn, tls: None, version }.into()
        }),
        1 => (small.clone(), word(Cause::ALL), prop::option::of(small.clone())).prop_map(|(id, cause, ping_ms)| ConnectionClosed { connection: ConnectionId(id % 4), cause, ping_ms }.into()),
        2 => (watch(), text(), prop::option::of(text()), any::<Option<bool>>()).prop_map(|(watch, group, namespace, aggregated)| WatchStarted {
            watch, group, version: "v1".into(), resource: "pods".into(), server: namespace.clone(), namespace, label_selector: None, field_selector: None,
            aggregated,
        }.into()),
        2 => (watch(), prop::option::of(word(Phase::ALL)), word(Phase::ALL), word(PhaseReason::ALL), prop::option::of(any::<u64>()), prop::option::of(any::<String>()))
            .prop_map(|(watch, from, to, reason, delay_ms, error)| WatchPhase { watch, from, to, reason, delay_ms, error }.into()),
        1 => watch().prop_map(|watch| WatchStopped { watch, reason: PhaseReason::StopRequested }.into()),
        2 => (watch(), small.clone(), small.clone()).prop_map(|(watch, request, seconds)| RequestSent {
            watch, request: RequestId(request), connection: ConnectionId(request % 4), verb: "watch".into(),
            path: "/api/v1/pods".into(), query: Some(format!("watch=1&timeoutSeconds={seconds}")),
        }.into()),
        1 => (watch(), small.clone(), prop::option::of(any::<u16>()), text(), prop::option::of(any::<String>())).prop_map(|(watch, request, status, value, error)| {
            RequestAnswered { watch, request: RequestId(request), status, headers: Headers(vec![("audit-id".into(), value)]), retry_after_ms: None, error_text: error.as_ref().map(|_| ErrorText::Reason), error }.into()
        }),
        1 => (watch(), version(), small.clone(), prop::option::of((object(), version()))).prop_map(|(watch, resource_version, items, lower)| {
            let (object, listed) = lower.unzip();
            ListPage { watch, request: RequestId(1), resource_version, items, remaining: None, object, listed }.into()
        }),
        1 => (watch(), version(), small.clone()).prop_map(|(watch, resource_version, items)| ListComplete {
            watch, resource_version, items, added: 0, changed: 1, removed: 2 }.into()),
        2 => (watch(), small.clone(), small.clone(), prop::option::of(version()), prop::option::of(any::<u64>())).prop_map(|(watch, stream, request, resource_version, http2_stream)| StreamOpened {
            watch, stream: StreamId(stream), request: RequestId(request), resource_version, http2_stream }.into()),
        2 => (watch(), small.clone(), word(Cause::ALL), any::<Option<u32>>(), any::<Option<u64>>()).prop_map(|(watch, stream, cause, reset_code, unread_ms)| StreamEnded {
            watch, stream: StreamId(stream), cause, age_ms: 5, events: 6, bytes: 7, reset_code, unread_ms }.into()),
        2 => (watch(), small.clone(), version(), prop::option::of(any::<bool>())).prop_map(|(watch, stream, resource_version, initial_events_end)| Bookmark {
            watch, stream: StreamId(stream), resource_version, initial_events_end }.into()),
        1 => (watch(), small.clone(), any::<String>()).prop_map(|(watch, stream, message)| StreamError {
            watch, stream: StreamId(stream), code: 410, reason: Some("Expired".into()), message: Some(message) }.into()),
        1 => (watch(), prop::option::of(version()), word(Cause::ALL), any::<bool>()).prop_map(|(watch, from, reason, resumed)| Gap {
            watch, since: Seq(0), from, to: None, reason, resumed, lost: resumed.then_some(0) }.into()),
        1 => (any::<u32>(), prop::option::of(watch())).prop_map(|(count, watch)| Loss {
            place: LossPlace::Frame, count: count.into(), from_seq: None, to_seq: None, watch, bytes: Some(9), reason: None, what: Some(FrameLoss::TooLong) }.into()),
        1 => (any::<i64>(), any::<Option<u64>>())
            .prop_map(|(off_ms, paused_ms)| Clock { off_ms, paused_ms }.into()),
        1 => (watch(), any::<u64>(), prop::collection::vec(any::<u64>().prop_map(Seq), 0..5)).prop_map(|(watch, stream, evidence)| Attribution {
            watch, stream: StreamId(stream), code: "F08".into(), certainty: Certainty::Likely, evidence }.into()),
        3 => finding(),
        1 => (any::<String>(), any::<Option<bool>>()).prop_map(|(text, over)| {
            Note { over, ..Note::new(Author::Story, text) }.into()
        }),
        1 => (any::<String>(), prop::option::of(watch()), prop::option::of(object()), any::<Option<i64>>(), any::<Option<i64>>(), any::<Option<u64>>())
            .prop_map(|(text, watch, object, from, to, replaces)| Note {
                watch, object, from: from.map(Time), to: to.map(Time),
                replaces: replaces.map(|seq| NoteKey { log: "demo".into(), epoch: "e0".into(), seq: Seq(seq) }),
                ..Note::new(Author::Person, text)
            }.into()),
    ]
}

fn log() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec((event(), 0i64..50_000), 1..120).prop_map(|events| {
        let mut state = State::default();
        let mut at = Time(1_763_715_600_000_000);
        (1..)
            .zip(events)
            .map(|(seq, (mut event, later))| {
                at = at.plus_micros(later);
                state.complete(&mut event);
                let record = Record {
                    seq: Seq(seq),
                    at,
                    event,
                };
                state.apply(&record);
                record
            })
            .collect()
    })
}

fn folded(records: &[Record]) -> State {
    let mut state = State::default();
    records.iter().for_each(|record| state.apply(record));
    state
}

/// Changes of few objects, with few controllers or none. Some controllers are controlled objects themselves.
fn owned_changes() -> impl Strategy<Value = Vec<Record>> {
    let place = || {
        (
            word(&["a", "ReplicaSet"]),
            word(&["web-1", "web-2"]),
            0u8..2,
        )
    };
    let change = (place(), prop::option::of(place()), any::<u16>(), 0u8..8);
    prop::collection::vec(change, 1..120).prop_map(|changes| {
        (1..)
            .zip(changes)
            .map(|(seq, ((namespace, name, uid), owner, version, draw))| {
                let change = Change {
                    watch: "shop/pods".into(),
                    stream: None,
                    change: if draw == 0 {
                        ChangeType::Deleted
                    } else {
                        ChangeType::Modified
                    },
                    origin: Origin::Live,
                    object: Arc::new(Object {
                        namespace: Some(namespace.into()),
                        name: name.into(),
                        uid: Uid::Uuid([uid; 16]),
                    }),
                    resource_version: u64::from(version).into(),
                    generation: None,
                    manager: None,
                    subresource: None,
                    bytes: None,
                    stray: (draw == 1).then_some(true),
                    owner: owner.map(|(kind, name, uid)| {
                        Owner::new(kind.into(), name.into(), Uid::Uuid([uid; 16]))
                    }),
                };
                Record {
                    seq: Seq(seq),
                    at: Time(1_763_715_600_000_000 + seq as i64),
                    event: change.into(),
                }
            })
            .collect()
    })
}

/// Encodes `records` as one chapter after `before`, and seals after every `run` records.
fn chapter(before: &State, records: &[Record], run: usize) -> Vec<u8> {
    let (mut writer, mut bytes) = ChapterWriter::open("log".into(), "epoch".into(), before);
    for run in records.chunks(run) {
        run.iter().for_each(|record| writer.push(record));
        bytes.extend(writer.seal().unwrap());
    }
    bytes
}

/// Writes chapters, and reads them as each kind of reader does: live, joining late, skipping, and each chapter alone.
fn reads_back_for_every_reader(
    records: &[Record],
    run: usize,
    runs: usize,
    join: usize,
) -> Result<(), TestCaseError> {
    let (mut writer, opening) =
        ChapterWriter::open("log".into(), "epoch".into(), &State::default());
    let (mut live, _) = ChapterReader::open(&opening).unwrap();
    let (mut skipping, _) = ChapterReader::open(&opening).unwrap();
    let mut late = None;
    let (mut state, mut chapters) = (State::default(), vec![(opening, Vec::new())]);
    for (number, records) in records.chunks(run).enumerate() {
        if number == join {
            late = Some(
                ChapterReader::open(&writer.head_snapshot(&state))
                    .unwrap()
                    .0,
            );
        }
        for record in records {
            writer.push(record);
            state.apply(record);
        }
        let segment = writer.seal().unwrap();
        let decoded: Option<Vec<Record>> = live.segment(&segment).unwrap().into_iter().collect();
        prop_assert_eq!(decoded.as_deref(), Some(records));
        if let Some(late) = &mut late {
            let decoded: Option<Vec<Record>> =
                late.segment(&segment).unwrap().into_iter().collect();
            prop_assert_eq!(decoded.as_deref(), Some(records));
        }
        if number % 3 == 0 {
            skipping.skip(&segment).unwrap();
        } else {
            let decoded: Option<Vec<Record>> =
                skipping.segment(&segment).unwrap().into_iter().collect();
            prop_assert_eq!(decoded.as_deref(), Some(records));
        }
        let (bytes, folded) = chapters.last_mut().unwrap();
        bytes.extend(segment);
        folded.extend_from_slice(records);
        if (number + 1) % runs == 0 {
            chapters.push((writer.open_next(&state), Vec::new()));
        }
    }
    let mut state = State::default();
    for (bytes, folded) in chapters {
        let (opening, decoded) = decode_chapter(&bytes).unwrap();
        prop_assert_eq!(&opening.state, &state);
        prop_assert_eq!(&decoded, &folded);
        decoded.iter().for_each(|record| state.apply(record));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(96)))]

    #[test]
    fn a_chapter_decodes_to_the_written_records(records in log(), run in 1usize..40) {
        let (opening, decoded) = decode_chapter(&chapter(&State::default(), &records, run)).unwrap();
        prop_assert_eq!(opening.state, State::default());
        prop_assert_eq!(decoded, records);
    }

    #[test]
    fn the_fold_of_a_snapshot_and_the_rest_equals_the_fold_from_the_start_at_every_cut(records in log()) {
        let whole = folded(&records);
        for cut in 0..=records.len() {
            let (before, after) = records.split_at(cut);
            let (opening, decoded) = decode_chapter(&chapter(&folded(before), after, 7)).unwrap();
            prop_assert_eq!(&opening.state, &folded(before));
            let mut state = opening.state;
            decoded.iter().for_each(|record| state.apply(record));
            prop_assert_eq!(&state, &whole);
        }
    }

    #[test]
    fn a_reader_that_joins_between_two_segments_reads_on(records in log(), at in 0usize..120) {
        let at = at.min(records.len());
        let (mut writer, _) = ChapterWriter::open("log".into(), "epoch".into(), &State::default());
        records[..at].iter().for_each(|record| writer.push(record));
        writer.seal();
        let state = folded(&records[..at]);
        let (mut reader, opening) = ChapterReader::open(&writer.head_snapshot(&state)).unwrap();
        prop_assert_eq!(&opening.state, &state);
        records[at..].iter().for_each(|record| writer.push(record));
        if let Some(segment) = writer.seal() {
            let decoded: Option<Vec<Record>> = reader.segment(&segment).unwrap().into_iter().collect();
            prop_assert_eq!(decoded.as_deref(), Some(&records[at..]));
        }
    }

    #[test]
    fn a_live_reader_needs_only_its_first_opening_and_each_chapter_alone_decodes_and_folds(
        records in log(), run in 1usize..20, runs in 1usize..5, join in 0usize..20,
    ) {
        reads_back_for_every_reader(&records, run, runs, join)?;
    }

    #[test]
    fn changes_read_back_with_controllers_in_any_order(
        records in owned_changes(), run in 1usize..20, runs in 1usize..5, join in 0usize..20, cut in 0usize..120,
    ) {
        reads_back_for_every_reader(&records, run, runs, join)?;
        // An extract begins like this: after a snapshot that defines objects without their controllers.
        let (before, after) = records.split_at(cut.min(records.len() - 1));
        let (opening, decoded) = decode_chapter(&chapter(&folded(before), after, run)).unwrap();
        prop_assert_eq!(opening.state, folded(before));
        prop_assert_eq!(decoded, after);
    }

    #[test]
    fn the_same_state_has_the_same_bytes_for_any_history(records in log()) {
        let state = folded(&records);
        let (opening, _) = decode_chapter(&chapter(&state, &[], 1)).unwrap();
        prop_assert_eq!(chapter(&opening.state, &[], 1), chapter(&state, &[], 1));
    }

    #[test]
    fn damaged_chapters_are_refused_without_a_panic_and_within_the_memory_bound(
        records in log(), cut in any::<prop::sample::Index>(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = chapter(&folded(&records[..records.len() / 2]), &records[records.len() / 2..], 9);
        bytes.truncate(cut.index(bytes.len()) + 1);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let (_, peak) = peak_of(|| decode_chapter(&bytes));
        prop_assert!(peak <= bytes.len() * 16 + (1 << 20), "{} bytes took {peak}", bytes.len());
    }

    #[test]
    fn hostile_payloads_with_a_right_checksum_stay_within_the_memory_bound(
        payload in prop::collection::vec(any::<u8>(), 0..4_000), small in any::<bool>(), kind in prop::sample::select(vec![b'H', b'S']), version in 1..=FORMAT_VERSION,
    ) {
        let payload: Vec<u8> = if small { payload.iter().map(|byte| byte % 4).collect() } else { payload };
        let mut bytes = vec![kind, version];
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(crc32fast::hash(&payload).to_le_bytes());
        bytes.extend(&payload);
        let mut input = if kind == b'S' { chapter(&State::default(), &[], 1) } else { Vec::new() };
        input.extend(&bytes);
        let (_, peak) = peak_of(|| decode_chapter(&input));
        prop_assert!(peak <= input.len() * 16 + (1 << 20), "{} bytes took {peak}", input.len());
    }
}

/// A change that a later version may make to a record without a new format version.
#[derive(Clone, Copy, Debug)]
enum Later {
    /// No change.
    Same,
    /// New fields at the end, a resourceVersion among them.
    Grown,
    /// A kind that this build does not know. It never replaces a `change`, which every reader knows.
    Unknown,
}

/// Rewrites a segment that defines nothing, as a later version would write it.
fn as_a_later_version(segment: &[u8], later: &[Later]) -> Vec<u8> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    fn push(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }
    let mut rest = &segment[10..];
    let mut payload = Vec::new();
    // The head is first seq, count and base time, then the counts of defined texts, objects and patterns, all 0.
    let head: Vec<u64> = (0..6).map(|_| number(&mut rest)).collect();
    assert_eq!(head[3..], [0, 0, 0]);
    head.iter().for_each(|value| push(*value, &mut payload));
    for later in later {
        let (time, kind, length) = (number(&mut rest), number(&mut rest), number(&mut rest));
        let (fields, after) = rest.split_at(length as usize);
        rest = after;
        let grown: &[u8] = match later {
            Later::Same => &[],
            // A writer with a new field writes each absent field before it as a zero. Here are more zeros than any
            // event has fields.
            Later::Grown | Later::Unknown => &[
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x8a, 0xf4, 0x12, 0xff, 3,
            ],
        };
        push(time, &mut payload);
        push(
            if matches!(later, Later::Unknown) {
                900
            } else {
                kind
            },
            &mut payload,
        );
        push(length + grown.len() as u64, &mut payload);
        payload.extend_from_slice(fields);
        payload.extend_from_slice(grown);
    }
    assert!(rest.is_empty());
    let mut bytes = segment[..2].to_vec();
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(96)))]

    #[test]
    fn what_a_later_version_appends_does_not_change_the_known_part(
        records in log(), later in prop::collection::vec(prop::sample::select(vec![Later::Same, Later::Grown, Later::Unknown]), 120),
    ) {
        let (mut writer, opening) = ChapterWriter::open("log".into(), "epoch".into(), &State::default());
        let (mut reader, _) = ChapterReader::open(&opening).unwrap();
        records.iter().for_each(|record| writer.push(record));
        reader.segment(&writer.seal().unwrap()).unwrap();
        // The same records again: this segment defines nothing, because the first one defined all entries.
        let end = records.len() as u64;
        let again: Vec<Record> = records
            .iter()
            .map(|record| Record { seq: Seq(record.seq.0 + end), ..record.clone() })
            .collect();
        again.iter().for_each(|record| writer.push(record));
        let later: Vec<Later> = again
            .iter()
            .zip(later)
            .map(|(record, later)| match (&record.event, later) {
                (Event::Change(_), Later::Unknown) => Later::Grown,
                (_, later) => later,
            })
            .collect();
        let segment = as_a_later_version(&writer.seal().unwrap(), &later);
        let expected: Vec<Option<Record>> = again
            .into_iter()
            .zip(&later)
            .map(|(record, later)| (!matches!(later, Later::Unknown)).then_some(record))
            .collect();
        let decoded = reader.segment(&segment).unwrap();
        prop_assert_eq!(reader.next_seq(), Seq(2 * end + 1), "a skipped record takes its seq");
        prop_assert_eq!(decoded, expected);
    }
}

/// One record of every kind, the same in every run.
fn every_kind() -> Vec<Record> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = event();
    let mut found: Vec<Event> = Vec::new();
    for _ in 0..2_000 {
        let event = strategy.new_tree(&mut runner).unwrap().current();
        if found.iter().all(|other| other.kind() != event.kind()) {
            found.push(event);
        }
    }
    found.sort_by_key(Event::kind);
    (1..)
        .zip(found)
        .map(|(seq, event)| Record {
            seq: Seq(seq),
            at: Time(1_763_715_600_000_000 + seq as i64 * 1_500),
            event,
        })
        .collect()
}

/// The JSON form of a file: the opening's state, then the records.
fn lines_of(chapter: &[u8]) -> Vec<String> {
    let (opening, records) = decode_chapter(chapter).unwrap();
    let mut lines = Vec::new();
    opening.state.json_lines(&mut lines);
    let mut lines: Vec<String> = String::from_utf8(lines)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    lines.extend(records.iter().map(watchscope_model::json::to_line));
    lines
}

#[test]
fn a_file_of_every_format_version_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    if std::env::var_os("WATCHSCOPE_WRITE_FIXTURES").is_some() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let before = (0..20)
            .map(|_| folded(&log().new_tree(&mut runner).unwrap().current()))
            .max_by_key(|state| {
                state
                    .watches
                    .values()
                    .map(|watch| watch.objects.len())
                    .sum::<usize>()
            })
            .unwrap();
        let owned = (0..20)
            .map(|_| owned_changes().new_tree(&mut runner).unwrap().current())
            .find(|changes| changes.len() >= 40)
            .unwrap();
        let records: Vec<Record> = every_kind()
            .into_iter()
            .chain(owned)
            .zip(before.seq.0 + 1..)
            .map(|(record, seq)| Record {
                seq: Seq(seq),
                at: Time(1_763_715_610_000_000 + seq as i64 * 1_500),
                ..record
            })
            .collect();
        let bytes = chapter(&before, &records, 5);
        let path = format!("{folder}/version-{FORMAT_VERSION}");
        std::fs::write(format!("{path}.jsonl"), lines_of(&bytes).join("\n") + "\n").unwrap();
        std::fs::write(format!("{path}.chapter"), bytes).unwrap();
    }
    for version in 1..=FORMAT_VERSION {
        let path = format!("{folder}/version-{version}");
        let lines = lines_of(&std::fs::read(format!("{path}.chapter")).unwrap());
        let expected = std::fs::read_to_string(format!("{path}.jsonl")).unwrap();
        assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{version}");
    }
}
