//! Watches: the cells of docs/semantics/lists-and-watches.md#watch, bookmarks, ends, selectors, forms, slow readers.

use std::time::Duration;

use serde_json::{Value, json};
use watchscope_simulator::{Config, Flow, Request, Time};

use crate::rig::{Rig, version};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A cluster with the configmaps a and b, in which nothing else happens, and the version of b.
fn two() -> (Rig, u64) {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    rig.config_map("a");
    let b = version(&rig.config_map("b"));
    rig.run_secs(1);
    (rig, b)
}

/// Lines of frames, with versions relative to `base`.
fn relative(lines: &[String], base: u64) -> String {
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            let words: Vec<String> = line
                .split(' ')
                .map(|word| match word.parse::<i64>() {
                    Ok(n) => format!("{:+}", n - i64::try_from(base).unwrap()),
                    Err(_) => word.to_owned(),
                })
                .collect();
            words.join(" ")
        })
        .collect();
    shown.join(", ")
}

#[test]
fn each_combination_of_version_and_initial_events_starts_where_it_should() {
    let (mut rig, b) = two();
    let cases = [
        "",
        "allowWatchBookmarks=true",
        "resourceVersion=0",
        "resourceVersion=0&allowWatchBookmarks=true",
        "resourceVersion=B",
        "resourceVersion=B&allowWatchBookmarks=true",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=B&allowWatchBookmarks=true",
        "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
        "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0",
        "resourceVersion=F",
    ];
    let watches: Vec<_> = cases
        .iter()
        .map(|case| {
            let query = case
                .replace("Version=B", &format!("Version={b}"))
                .replace("Version=F", &format!("Version={}", b + 2));
            rig.open(&format!("{MAPS}?watch=1&{query}"))
        })
        .collect();
    rig.run_secs(1);
    rig.write("a", 1);
    rig.write("b", 1);
    rig.write("a", 2);
    rig.run_secs(1);
    let lines: Vec<String> = cases
        .iter()
        .zip(&watches)
        .map(|(case, watch)| format!("{case}: {}", relative(&rig.lines(*watch), b)))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    : ADDED a -1, ADDED b +0, ADDED kube-root-ca.crt -6, MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    allowWatchBookmarks=true: ADDED a -1, ADDED b +0, ADDED kube-root-ca.crt -6, BOOKMARK +0 end of initial events, MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    resourceVersion=0: ADDED a -1, ADDED b +0, ADDED kube-root-ca.crt -6, MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    resourceVersion=0&allowWatchBookmarks=true: ADDED a -1, ADDED b +0, ADDED kube-root-ca.crt -6, BOOKMARK +0 end of initial events, MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    resourceVersion=B: MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    resourceVersion=B&allowWatchBookmarks=true: MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true: ADDED a -1, ADDED b +0, ADDED kube-root-ca.crt -6, BOOKMARK +0 end of initial events, MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=B&allowWatchBookmarks=true: ADDED a -1, ADDED b +0, ADDED kube-root-ca.crt -6, BOOKMARK +0 end of initial events, MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    sendInitialEvents=false&resourceVersionMatch=NotOlderThan: MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0: MODIFIED a +1, MODIFIED b +2, MODIFIED a +3
    resourceVersion=F: MODIFIED a +3
    ");
}

#[test]
fn an_old_version_is_200_and_an_in_band_410() {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    rig.config_map("a");
    for n in 0..300 {
        rig.write("a", n);
        rig.run_secs(1);
    }
    let watch = rig.open(&format!("{MAPS}?watch=1&resourceVersion=5"));
    rig.run_secs(1);
    let reply = rig.reply(watch);
    assert_eq!(reply.status(), 200);
    let frames = reply.frames();
    assert_eq!(frames.len(), 1);
    let (_, error) = &frames[0];
    assert_eq!(error["type"], "ERROR");
    assert_eq!(
        (&error["object"]["code"], &error["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    let message = error["object"]["message"].as_str().unwrap();
    let oldest: u64 = message
        .strip_prefix("too old resource version: 5 (")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap()
        .parse()
        .unwrap();
    assert!(reply.ended_at.is_some());
    // The version in the error is the oldest that still works.
    let below = rig.open(&format!("{MAPS}?watch=1&resourceVersion={}", oldest - 1));
    let at = rig.open(&format!("{MAPS}?watch=1&resourceVersion={oldest}"));
    rig.run_secs(1);
    assert!(rig.lines(below)[0].starts_with("ERROR 410"));
    assert_eq!(rig.lines(at)[0], format!("MODIFIED a {}", oldest + 1));
}

#[test]
fn a_watch_of_compacted_events_gets_a_410_in_etcds_words() {
    let mut rig = Rig::new(Config::default());
    let watch = rig.open("/api/v1/events?watch=1&resourceVersion=5");
    rig.run_secs(1);
    assert_eq!(
        rig.lines(watch),
        ["ERROR 410 The resourceVersion for the provided watch is too old."]
    );
}

#[test]
fn a_watch_list_from_the_future_gets_an_in_band_504() {
    let (mut rig, b) = two();
    let future = b + 100;
    let watch = rig.open(&format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={future}"
    ));
    rig.run_secs(4);
    assert_eq!(
        rig.lines(watch),
        [format!(
            "ERROR 504 Timeout: Too large resource version: {future}, current: {b}"
        )]
    );
}

#[test]
fn a_malformed_version_is_refused_before_the_stream() {
    let (mut rig, _) = two();
    let (status, error) = rig.get(&format!("{MAPS}?watch=1&resourceVersion=abc"));
    assert_eq!(status, 500);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("resourceVersion: Invalid value")
    );
}

#[test]
fn bookmarks_come_each_minute_and_before_the_deadline() {
    let (mut rig, b) = two();
    let opened = rig.world.now();
    let watch = rig.open(&format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=150&resourceVersion={b}"
    ));
    let without = rig.open(&format!(
        "{MAPS}?watch=1&timeoutSeconds=150&resourceVersion={b}"
    ));
    for _ in 0..160 {
        // Writes of other resources raise etcd's revision, and its progress notifications move the cache.
        rig.create(
            "/api/v1/namespaces",
            &json!({"metadata": {"generateName": "n-"}}),
        );
        rig.run_secs(1);
    }
    let reply = rig.reply(watch);
    let ages: Vec<f64> = reply
        .frames()
        .iter()
        .map(|(at, frame)| {
            assert_eq!(frame["type"], "BOOKMARK");
            at.since(opened).as_secs_f64()
        })
        .collect();
    assert_eq!(ages.len(), 3, "{ages:?}");
    assert!(
        (60.0..61.3).contains(&ages[0]) && (120.0..122.6).contains(&ages[1]),
        "{ages:?}"
    );
    assert!(
        (148.0..149.3).contains(&ages[2]),
        "two seconds before its end: {ages:?}"
    );
    let age = reply.ended_at.unwrap().since(opened).as_secs_f64();
    assert!((150.0..150.1).contains(&age), "{age}");
    let versions: Vec<u64> = reply
        .frames()
        .iter()
        .map(|(_, f)| version(&f["object"]))
        .collect();
    assert!(versions.is_sorted() && versions[0] > b, "{versions:?}");
    assert!(
        rig.lines(without).is_empty(),
        "nobody gets bookmarks who did not ask"
    );
}

#[test]
fn a_still_cluster_has_nothing_to_bookmark() {
    let (mut rig, b) = two();
    let watch = rig.open(&format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={b}"
    ));
    rig.run_secs(300);
    assert!(
        rig.lines(watch).is_empty(),
        "no bookmark at the version it started from"
    );
}

/// A cluster at a version, whose etcd sends progress at its default interval.
fn with_the_default_progress(version: &str) -> (Rig, u64) {
    let mut config = Config::empty();
    config.servers = vec![version.parse().expect("a version")];
    config.etcd.progress_notify_interval = Duration::from_secs(600);
    let mut rig = Rig::new(config);
    rig.run_secs(1);
    let map = rig.config_map("a");
    rig.run_secs(1);
    (rig, crate::rig::version(&map))
}

/// The events of a watch, each with its age in minutes. Meanwhile another type is written every 10 s.
fn events_by_the_minute(rig: &mut Rig, resource: &str, from: u64, minutes: u64) -> String {
    let opened = rig.world.now();
    let watch = rig.open(&format!(
        "/api/v1/namespaces/default/{resource}?watch=1&allowWatchBookmarks=true&timeoutSeconds=1750&resourceVersion={from}"
    ));
    for _ in 0..minutes * 6 {
        rig.write("a", 1);
        rig.write("a", 2);
        rig.run_secs(10);
    }
    let frames = rig.reply(watch).frames();
    let events = frames.iter().map(|(at, frame)| {
        let minute = at.since(opened).as_secs() / 60;
        format!("{minute} {}", frame["type"].as_str().unwrap())
    });
    events.collect::<Vec<_>>().join(", ")
}

/// On a quiet type, bookmarks move only as etcd's progress notifications do. Up to 1.30 a cache sends none before its
/// first event or notification (docs/semantics/lists-and-watches.md#bookmark-first).
#[test]
fn on_a_quiet_type_no_bookmark_comes_before_etcds_progress_notification_which_by_default_takes_10_minutes()
 {
    for version in ["1.30", "1.36"] {
        let (mut rig, from) = with_the_default_progress(version);
        let events = events_by_the_minute(&mut rig, "secrets", from, 13);
        assert_eq!(events, "10 BOOKMARK, 11 BOOKMARK, 12 BOOKMARK", "{version}");
    }
}

/// The counterpart: bookmarks move with the type's own events. At kubeadm's interval of 5 s, other types' writes move
/// them too.
#[test]
fn a_type_that_is_written_or_an_etcd_that_sends_progress_every_5_s_has_bookmarks_each_minute() {
    for version in ["1.30", "1.36"] {
        let (mut rig, from) = with_the_default_progress(version);
        let events = events_by_the_minute(&mut rig, "configmaps", from, 3);
        let bookmarks = events
            .split(", ")
            .filter(|event| event.ends_with("BOOKMARK"));
        assert_eq!(bookmarks.collect::<Vec<_>>(), ["1 BOOKMARK", "2 BOOKMARK"]);
    }
    let (mut rig, from) = two();
    let events = events_by_the_minute(&mut rig, "secrets", from, 3);
    assert_eq!(events, "1 BOOKMARK, 2 BOOKMARK");
}

/// A cache of 1.16 to 1.18 sends one bookmark, 2 s before the deadline; 1.15 sends none.
#[test]
fn before_1_19_a_bookmark_comes_only_before_the_deadline() {
    let ages = |server: &str| {
        let mut config = Config::empty();
        config.servers = vec![server.parse().expect("a version")];
        let mut rig = Rig::new(config);
        rig.run_secs(1);
        let from = version(&rig.config_map("a"));
        let opened = rig.world.now();
        let watch = rig.open(&format!(
            "{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=150&resourceVersion={from}"
        ));
        rig.write("a", 1);
        rig.run_secs(160);
        let frames = rig.reply(watch).frames();
        let bookmarks = frames.iter().filter(|(_, f)| f["type"] == "BOOKMARK");
        bookmarks
            .map(|(at, _)| at.since(opened).as_secs())
            .collect::<Vec<_>>()
    };
    assert_eq!(ages("1.15"), [0; 0]);
    for server in ["1.16", "1.18"] {
        assert!(matches!(ages(server)[..], [148 | 149]), "{server}");
    }
    assert!(matches!(ages("1.19")[..], [60 | 61, 120..=122, 148 | 149]));
}

#[test]
fn a_watch_without_timeout_lives_half_an_hour_to_an_hour() {
    let (mut rig, b) = two();
    let opened = rig.world.now();
    let watches: Vec<_> = (0..20)
        .map(|_| rig.open(&format!("{MAPS}?watch=1&resourceVersion={b}")))
        .collect();
    rig.run_secs(3700);
    let ages: Vec<u64> = watches
        .iter()
        .map(|w| rig.reply(*w).ended_at.unwrap().since(opened).as_secs())
        .collect();
    assert!(
        ages.iter().all(|age| (1800..=3600).contains(age)),
        "{ages:?}"
    );
    assert!(
        ages.iter().max().unwrap() - ages.iter().min().unwrap() > 600,
        "{ages:?}"
    );
}

#[test]
fn selectors_translate_the_events_of_objects_that_enter_and_leave() {
    let (mut rig, b) = two();
    let labelled = rig.open(&format!(
        "{MAPS}?watch=1&resourceVersion={b}&labelSelector=tier%3Dfront"
    ));
    let named = rig.open(&format!(
        "{MAPS}?watch=1&resourceVersion={b}&fieldSelector=metadata.name%3Da"
    ));
    rig.run_secs(1);
    let label = |rig: &mut Rig, name: &str, tier: Value| {
        rig.merge(
            &format!("{MAPS}/{name}"),
            &json!({"metadata": {"labels": {"tier": tier}}}),
        );
    };
    label(&mut rig, "a", json!("front"));
    label(&mut rig, "b", json!("back"));
    rig.write("a", 1);
    label(&mut rig, "a", json!("back"));
    rig.write("a", 2);
    label(&mut rig, "b", json!("front"));
    rig.delete(&format!("{MAPS}/b"));
    rig.run_secs(1);
    insta::assert_snapshot!(relative(&rig.lines(labelled), b), @"ADDED a +1, MODIFIED a +3, DELETED a +4, ADDED b +6, DELETED b +7");
    insta::assert_snapshot!(relative(&rig.lines(named), b), @"MODIFIED a +1, MODIFIED a +3, MODIFIED a +4, MODIFIED a +5");
    let left = &rig.reply(labelled).frames()[2].1["object"];
    assert_eq!(
        left["metadata"]["labels"]["tier"], "front",
        "as it was when it still matched"
    );
}

#[test]
fn a_deletion_carries_the_last_state_at_the_revision_of_the_deletion() {
    let (mut rig, b) = two();
    let watch = rig.open(&format!("{MAPS}?watch=1&resourceVersion={b}"));
    rig.run_secs(1);
    rig.delete(&format!("{MAPS}/a"));
    rig.run_secs(1);
    let frame = &rig.reply(watch).frames()[0].1;
    assert_eq!(frame["type"], "DELETED");
    assert_eq!(frame["object"]["data"]["n"], "0");
    assert_eq!(version(&frame["object"]), b + 1);
}

#[test]
fn metadata_and_table_watches_have_their_forms() {
    let (mut rig, b) = two();
    let target = format!("{MAPS}?watch=1&resourceVersion={b}");
    let connection = rig.connect();
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let metadata = rig.send(connection, Request::get(&target).header("accept", accept));
    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let table = rig.send(connection, Request::get(&target).header("accept", accept));
    rig.run_secs(1);
    rig.write("a", 1);
    rig.write("a", 2);
    rig.run_secs(1);
    let object = &rig.reply(metadata).frames()[0].1["object"];
    assert_eq!(
        (&object["kind"], object.get("data")),
        (&json!("PartialObjectMetadata"), None)
    );
    let frames = rig.reply(table).frames();
    assert_eq!(
        frames[0].1["object"]["columnDefinitions"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        frames[1].1["object"]["columnDefinitions"],
        json!(null),
        "only the first has headers"
    );
    assert_eq!(
        frames[1].1["object"]["rows"][0]["cells"],
        json!(["a", 1, "2s"])
    );
}

#[test]
fn events_of_one_change_share_their_bytes() {
    let (mut rig, b) = two();
    let connection = rig.connect();
    for _ in 0..2 {
        rig.send(
            connection,
            Request::get(&format!("{MAPS}?watch=1&resourceVersion={b}")),
        );
    }
    rig.run_secs(1);
    rig.take();
    rig.write("a", 1);
    let until = rig.world.now() + Duration::from_secs(1);
    let mut pointers = Vec::new();
    while rig.world.run_until(until) == watchscope_simulator::Pause::Deliveries {
        while let Some(delivery) = rig.world.next_delivery() {
            if let watchscope_simulator::Arrival::Chunk { bytes, .. } = delivery.arrival {
                pointers.push(bytes.as_ptr());
            }
        }
    }
    assert_eq!(pointers.len(), 2);
    assert_eq!(pointers[0], pointers[1]);
}

#[test]
fn a_reader_that_stops_reading_is_ended_and_can_resume() {
    let mut config = Config::empty();
    config.network.window_bytes = 4096;
    let mut rig = Rig::new(config);
    rig.run_secs(1);
    let start = version(&rig.config_map("a"));
    rig.run_secs(1);
    let slow = rig.world.connect(Flow::Credit);
    let target = format!("{MAPS}?watch=1&resourceVersion={start}");
    let watch = rig.send(slow, Request::get(&target));
    let reading = rig.open(&target);
    rig.run_secs(1);
    for n in 0..60 {
        rig.write("a", n + 1);
        rig.run(Duration::from_millis(5));
    }
    rig.run_secs(5);
    assert!(
        rig.reply(watch).ended_at.is_none(),
        "its end waits behind what it has not read"
    );
    assert_eq!(rig.lines(reading).len(), 60, "another watch is not held up");
    // The client reads again: it gets the buffered frames, then the end.
    for _ in 0..100 {
        let read: usize = rig.reply(watch).body().len();
        rig.world.consume(watch, read);
        rig.run(Duration::from_millis(5));
    }
    let reply = rig.reply(watch);
    assert!(reply.ended_at.is_some());
    let got = reply.lines();
    assert!(got.len() < 60 && got.len() >= 10, "{} events", got.len());
    let expected = rig.lines(reading);
    assert_eq!(
        got[..],
        expected[..got.len()],
        "in order and without a hole"
    );
    let last = version(&reply.frames().last().unwrap().1["object"]);
    let again = rig.open(&format!("{MAPS}?watch=1&resourceVersion={last}"));
    rig.run_secs(1);
    assert_eq!(rig.lines(again)[..], expected[got.len()..]);
}

#[test]
fn a_cancelled_or_closed_watch_delivers_nothing_more() {
    let (mut rig, b) = two();
    let target = format!("{MAPS}?watch=1&resourceVersion={b}");
    let connection = rig.connect();
    let cancelled = rig.send(connection, Request::get(&target));
    let kept = rig.send(connection, Request::get(&target));
    let other = rig.connect();
    let closed = rig.send(other, Request::get(&target));
    rig.run_secs(1);
    rig.world.cancel(cancelled);
    rig.world.close(other);
    rig.write("a", 1);
    rig.run_secs(1);
    assert_eq!(rig.lines(kept).len(), 1);
    assert!(rig.lines(cancelled).is_empty() && rig.lines(closed).is_empty());
    let lost = rig.world.send(other, Request::get("/version"));
    rig.run_secs(1);
    assert!(
        !rig.replies.contains_key(&lost),
        "what is sent on a closed connection is lost"
    );
}

#[test]
fn idle_worlds_have_nothing_to_do() {
    let (mut rig, _) = two();
    // etcd sends progress once more. Then only the compaction is left.
    rig.run_secs(10);
    assert_eq!(rig.world.next_event_at(), Some(Time::from_secs(300)));
}
