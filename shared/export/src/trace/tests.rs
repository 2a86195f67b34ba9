//! Tests of the Perfetto trace, which they read back packet by packet.

#[path = "../../../timeline/tests/suite/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use common::random::random_log;
use common::{Log, at, object};
use prost::Message as _;
use watchscope_model::event::{Bookmark, Change, Note};
use watchscope_model::id::StreamId;
use watchscope_model::vocabulary::{
    Author, Cause, ChangeType, Origin, Phase, PhaseReason, Severity, Standing,
};
use watchscope_model::{ResourceVersion, Time, WatchName};
use watchscope_recording::{Excerpt, Lanes, Stretch};

use super::proto::{COUNTER, INSTANT, SLICE_BEGIN, SLICE_END, Trace};
use super::{MOST_OBJECTS, trace, trace_with};
use crate::taken::Taken;

/// Returns the export of chapters; each chapter is given as a log and a range of indices of its records.
fn taken_of(chapters: &[(&Log, usize, usize)], from: Time, to: Time) -> Taken {
    let excerpt = Excerpt::new(Stretch::Times { from, to }, Lanes::All, "0.1.0", 2);
    let chapters = chapters.iter();
    let runs = excerpt.runs(chapters.map(|(log, first, last)| log.chapter(*first, *last)));
    Taken::new(from, to, runs.unwrap()).unwrap()
}

fn taken(logs: &[&Log]) -> Taken {
    let whole: Vec<(&Log, usize, usize)> = logs
        .iter()
        .map(|log| (*log, 0, log.records.len()))
        .collect();
    taken_of(&whole, at(0.0), at(1e6))
}

/// Lists the events on tracks whose names begin with one of `tracks`. A line has sequence, seconds, track and event.
fn events(bytes: &[u8], tracks: &[&str]) -> String {
    let trace = Trace::decode(bytes).unwrap();
    let mut names = BTreeMap::new();
    let mut out = String::new();
    for packet in trace.packet {
        if let Some(track) = packet.track_descriptor {
            names.insert(track.uuid.unwrap(), track.name.unwrap());
        }
        let Some(event) = packet.track_event else {
            continue;
        };
        let track = &names[&event.track_uuid.unwrap()];
        if !tracks.iter().any(|begin| track.starts_with(*begin)) {
            continue;
        }
        let what = match event.r#type {
            Some(SLICE_BEGIN) => "begin",
            Some(SLICE_END) => "end",
            Some(INSTANT) => "instant",
            Some(COUNTER) => "value",
            _ => panic!("{event:?}"),
        };
        let nanos = packet.timestamp.unwrap() - common::START.0.unsigned_abs() * 1_000;
        let sequence = packet.trusted_packet_sequence_id.unwrap();
        out += &format!("{sequence} {:.1} {track}: {what}", nanos as f64 / 1e9);
        for text in event.name.iter() {
            out += &format!(" {text}");
        }
        for value in event.counter_value.iter() {
            out += &format!(" {value}");
        }
        for says in event.debug_annotations {
            let name = says.name.unwrap();
            if let Some(text) = says.string_value {
                out += &format!(" {name}={text:?}");
            } else if let Some(number) = says.uint_value {
                out += &format!(" {name}={number}");
            } else {
                out += &format!(" {name}={}", says.bool_value.unwrap());
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn slices_open_at_a_seam_or_at_the_end_say_that_their_end_is_unknown() {
    let first = Log::steady("a", 0.0, 2);
    let mut second = Log::new("b");
    second.opened(60.0, "shop/pods", 1, &["cart-0"], 200);
    second.end(65.0, "shop/pods", 10, Cause::TcpReset);
    second.gap(66.0, "shop/pods", true, Some(0));
    second.open(66.0, "shop/pods", 11, 9, 200);
    second.end(67.0, "shop/pods", 11, Cause::End);
    second.finding(
        68.0,
        "F08",
        Severity::Note,
        Standing::Raised,
        "shop/pods",
        "It was reset.",
    );
    let bytes = trace(&taken(&[&first, &second])).unwrap();
    let slices = ["streams", "gaps", "lists", "findings"];
    insta::assert_snapshot!(events(&bytes, &slices), @r#"
    1 0.0 lists: begin list since_record=2
    1 0.1 lists: end end_record=7 end_words="The list is complete: 1 item at resourceVersion 100. Against what was held: 1 new, 0 changed, 0 gone." items=1 resourceVersion="100"
    1 0.1 streams: begin stream 10 record=10 words="Stream 10 opened from resourceVersion 100." from="100"
    1 2.0 streams: end end="not known: watchscope stopped here"
    2 60.0 lists: begin list since_record=2
    2 60.1 lists: end end_record=7 end_words="The list is complete: 1 item at resourceVersion 200. Against what was held: 1 new, 0 changed, 0 gone." items=1 resourceVersion="200"
    2 60.1 streams: begin stream 10 record=10 words="Stream 10 opened from resourceVersion 200." from="200"
    2 65.0 streams: end end_record=12 end_words="Stream 10 ended (reset by peer) after 4.8 s and 1 event." cause="tcp-reset" events=1 bytes=100
    2 65.0 gaps: begin gap since_record=12 reason="tcp-reset"
    2 66.0 gaps: end end_record=13 end_words="The gap closed: the watch resumed where it stopped, and nothing is lost." resumed=true lost=0
    2 66.0 streams: begin stream 11 record=14 words="Stream 11 opened from resourceVersion 200." from="200"
    2 67.0 streams: end end_record=16 end_words="Stream 11 ended after 1 s and 1 event." cause="end" events=1 bytes=100
    2 67.0 gaps: begin gap since_record=16 reason="end"
    2 68.0 findings: begin F08 F08 name record=17 severity="note" certainty="likely" words="It was reset."
    2 68.0 gaps: end end="open at the end of the range"
    2 68.0 findings: end end="open at the end of the range"
    "#);
}

#[test]
fn a_list_of_a_stream_lasts_from_its_request_and_a_broken_one_says_so() {
    let mut log = Log::new("a");
    log.watch(0.0, "shop/pods");
    for second in [1.0, 11.0] {
        let (id, query) = (second as u64, "watch=true&sendInitialEvents=true");
        log.request(second, "shop/pods", id, 1, "watch", query);
        log.open(second + 1.0, "shop/pods", id, id, 0);
        if id == 1 {
            log.end(5.0, "shop/pods", id, Cause::TcpReset);
            let (waiting, reason) = (Phase::Waiting, PhaseReason::Broken);
            log.phase(5.0, "shop/pods", waiting, reason, Some(1_000));
        }
    }
    log.list(14.0, "shop/pods", 100, 1, (1, 0, 0));
    // A list without a begin has no length.
    log.list(15.0, "shop/pods", 101, 1, (0, 0, 0));
    let bytes = trace(&taken(&[&log])).unwrap();
    insta::assert_snapshot!(events(&bytes, &["lists"]), @r#"
    1 1.0 lists: begin list since_record=2
    1 5.0 lists: end end="it did not become complete"
    1 11.0 lists: begin list since_record=7
    1 14.0 lists: end end_record=10 end_words="The list is complete: 1 item at resourceVersion 100. Against what was held: 1 new, 0 changed, 0 gone." items=1 resourceVersion="100"
    1 15.0 lists: begin list began="not known"
    1 15.0 lists: end end_record=11 end_words="The list is complete: 1 item at resourceVersion 101. Against what was held: 0 new, 0 changed, 0 gone." items=1 resourceVersion="101"
    "#);
}

#[test]
fn a_slice_from_before_the_range_begins_with_it_and_states_its_true_begin() {
    let log = Log::steady("a", 0.0, 9);
    let taken = taken_of(&[(&log, 0, log.records.len())], at(5.0), at(7.0));
    let bytes = trace(&taken).unwrap();
    insta::assert_snapshot!(events(&bytes, &["streams"]), @r#"
    1 5.0 streams: begin stream 10 since_record=10 began="2026-11-19T09:31:00.150000Z"
    1 7.0 streams: end end="open at the end of the range"
    "#);
}

#[test]
fn slices_are_closed_where_records_are_missing() {
    let log = Log::steady("a", 0.0, 9);
    let end = log.records.len();
    let taken = taken_of(
        &[(&log, 0, end - 6), (&log, end - 3, end)],
        at(0.0),
        at(20.0),
    );
    let bytes = trace(&taken).unwrap();
    insta::assert_snapshot!(events(&bytes, &["streams"]), @r#"
    1 0.1 streams: begin stream 10 record=10 words="Stream 10 opened from resourceVersion 100." from="100"
    1 3.0 streams: end end="not known: records are missing from here on"
    1 7.0 streams: begin stream 10 since_record=10 began="2026-11-19T09:31:00.150000Z"
    1 9.0 streams: end end="open at the end of the range"
    "#);
}

#[test]
fn a_version_without_a_value_is_counted_and_none_overflows() {
    let mut log = Log::steady("a", 0.0, 1);
    let versions = [
        ResourceVersion::parse("abc"),
        ResourceVersion::Number(u64::MAX),
        ResourceVersion::Number(1 << 63),
        ResourceVersion::Number((1 << 63) - 1),
    ];
    for (second, resource_version) in versions.into_iter().enumerate() {
        log.push(
            2.0 + second as f64,
            Bookmark {
                watch: WatchName::from("shop/pods"),
                stream: StreamId(1),
                resource_version,
                initial_events_end: None,
            },
        );
    }
    let bytes = trace(&taken(&[&log])).unwrap();
    let shown = events(&bytes, &["resourceVersion", "shop/pods"]);
    let said = [": value", "without a value"];
    let values: Vec<&str> = shown
        .lines()
        .filter(|line| said.iter().any(|said| line.contains(said)))
        .collect();
    insta::assert_snapshot!(values.join("\n"), @r#"
    1 0.1 resourceVersion: value 100
    1 1.0 resourceVersion: value 101
    1 5.0 resourceVersion: value 9223372036854775807
    1 5.0 shop/pods: instant resourceVersions without a value count=3
    "#);
}

#[test]
fn hostile_names_are_valid_cut_and_distinct() {
    let mut log = Log::steady("a", 0.0, 1);
    let long = "é".repeat(5_000);
    let names = ["\u{202e}\0<b>", &long, &format!("{long}x")];
    for name in names {
        let change = Change {
            watch: WatchName::from("shop/pods"),
            stream: Some(StreamId(1)),
            change: ChangeType::Added,
            origin: Origin::Live,
            object: object(name, 7),
            resource_version: 300.into(),
            generation: None,
            manager: Some(long.as_str().into()),
            subresource: None,
            bytes: None,
            stray: None,
            owner: None,
        };
        log.push(3.0, change);
    }
    log.push(4.0, Note::new(Author::Story, long.clone()));
    let bytes = trace(&taken(&[&log])).unwrap();
    assert!(bytes.len() < 40_000, "{}", bytes.len());
    let trace = Trace::decode(&*bytes).unwrap();
    let tracks = trace
        .packet
        .into_iter()
        .filter_map(|packet| packet.track_descriptor);
    let names: Vec<String> = tracks.filter_map(|track| track.name).collect();
    assert!(names.iter().all(|name| name.chars().count() <= 201));
    let cut = format!("shop/{}…", "é".repeat(195));
    let alike = names.iter().filter(|name| **name == cut).count();
    assert_eq!(alike, 2, "each has a track: {names:?}");
    assert!(names.contains(&"shop/\u{202e}\0<b>".to_owned()));
}

#[test]
fn objects_past_the_bound_share_a_track_and_are_counted() {
    let mut log = Log::new("a");
    log.opened(0.0, "shop/pods", 1, &["cart-0", "cart-1"], 100);
    let (kind, origin) = (ChangeType::Added, Origin::Live);
    log.change(2.0, "shop/pods", kind, origin, "cart-2", 103);
    let kind = ChangeType::Modified;
    log.change(3.0, "shop/pods", kind, origin, "cart-0", 104);
    let bytes = trace_with(&taken(&[&log]), 2).unwrap();
    let objects = ["shop/cart", "other objects"];
    insta::assert_snapshot!(events(&bytes, &objects), @r#"
    1 0.1 shop/cart-0: instant ADDED record=6 origin="list" resourceVersion="50" uid="uid-1" manager="kubelet"
    1 0.1 shop/cart-1: instant ADDED record=7 origin="list" resourceVersion="51" uid="uid-1" manager="kubelet"
    1 2.0 other objects: instant ADDED record=13 origin="live" resourceVersion="103" uid="uid-1" manager="kubelet" watch="shop/pods" object="shop/cart-2"
    1 3.0 shop/cart-0: instant MODIFIED record=14 origin="live" resourceVersion="104" uid="uid-1" manager="kubelet"
    1 3.0 other objects: instant events of objects without a track count=1
    "#);
    let all = trace_with(&taken(&[&log]), MOST_OBJECTS).unwrap();
    assert_eq!(events(&all, &["other objects"]), "");
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let (one, two) = (random_log(3, 400), random_log(3, 400));
    assert_eq!(
        trace(&taken(&[&one])).unwrap(),
        trace(&taken(&[&two])).unwrap()
    );
}

#[test]
fn a_run_whose_wall_clock_was_set_back_closes_its_slices_in_its_own_time() {
    let (first, second) = (Log::steady("a", 60.0, 3), Log::steady("b", 0.0, 3));
    let bytes = trace(&taken(&[&first, &second])).unwrap();
    insta::assert_snapshot!(events(&bytes, &["streams"]), @r#"
    1 60.1 streams: begin stream 10 record=10 words="Stream 10 opened from resourceVersion 100." from="100"
    1 63.0 streams: end end="not known: watchscope stopped here"
    2 0.1 streams: begin stream 10 record=10 words="Stream 10 opened from resourceVersion 100." from="100"
    2 3.0 streams: end end="open at the end of the range"
    "#);
}
