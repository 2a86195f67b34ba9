//! Each fault, as a client sees it.

use std::time::Duration;

use watchscope_simulator::{
    Config, Cut, Defect, Fault, Flow, Request, RequestId, Target, Throttle,
};

use crate::rig::{Rig, version};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A cluster with the configmap a, and a watch of it that has begun.
fn watched() -> (Rig, RequestId, u64) {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    let a = version(&rig.config_map("a"));
    rig.run_secs(1);
    let connection = rig.connect();
    let request = Request::get(&watch_from(a)).header("user-agent", "watcher/1");
    let watch = rig.send(connection, request);
    rig.run_secs(1);
    (rig, watch, a)
}

fn watch_from(version: u64) -> String {
    format!("{MAPS}?watch=1&resourceVersion={version}")
}

#[test]
fn a_reset_cuts_matching_connections_and_loses_the_bytes_under_way() {
    let (mut rig, watch, a) = watched();
    let other = rig.open("/api/v1/pods?watch=1&resourceVersion=0");
    rig.run_secs(1);
    rig.write("a", 1);
    // The event is still between etcd and the client.
    rig.world.inject(Fault::Cut {
        target: Target::UserAgent("watcher/".to_owned()),
        cut: Cut::Reset,
    });
    rig.run_secs(1);
    assert_eq!(rig.closed.len(), 1);
    assert!(rig.closed.values().all(|(_, cut)| *cut == Cut::Reset));
    assert!(rig.lines(watch).is_empty());
    assert!(rig.reply(other).ended_at.is_none());
    assert!(
        rig.world.active_faults().next().is_none(),
        "a moment is not a state"
    );
    let again = rig.open(&watch_from(a));
    rig.run_secs(1);
    assert_eq!(
        rig.lines(again),
        [format!("MODIFIED a {}", a + 1)],
        "nothing is lost to who resumes"
    );
}

#[test]
fn an_eof_lets_the_bytes_under_way_through() {
    let (mut rig, watch, a) = watched();
    rig.write("a", 1);
    while rig.lines(watch).is_empty() && rig.closed.is_empty() {
        let next = rig.world.next_event_at().unwrap();
        rig.world.run_until(next);
        if rig.world.next_event_at().is_some_and(|at| at > next) {
            // The frame is on its way down.
            rig.world.inject(Fault::Cut {
                target: Target::Resource("configmaps".to_owned()),
                cut: Cut::Eof,
            });
            break;
        }
    }
    rig.run_secs(1);
    assert!(rig.closed.values().any(|(_, cut)| *cut == Cut::Eof));
    assert!(rig.reply(watch).ended_at.is_none(), "the body has no end");
    assert!(
        rig.lines(watch).len() <= 1,
        "{:?} after {a}",
        rig.lines(watch)
    );
}

#[test]
fn closed_streams_end_in_order_and_keep_their_connection() {
    let (mut rig, watch, _) = watched();
    let pods = rig.open("/api/v1/pods?watch=1&resourceVersion=0");
    rig.run_secs(1);
    rig.world.inject(Fault::CloseStreams {
        target: Target::Resource("configmaps".to_owned()),
    });
    rig.run_secs(1);
    assert!(rig.reply(watch).ended_at.is_some());
    assert!(rig.reply(pods).ended_at.is_none());
    assert!(rig.closed.is_empty());
}

#[test]
fn an_orderly_end_in_a_pause_between_first_events_still_sends_all_of_them() {
    let (mut rig, _, _) = watched();
    for n in 0..250 {
        rig.config_map(&format!("many-{n:03}"));
    }
    rig.run_secs(1);
    let watch = rig.open("/api/v1/configmaps?watch=1&resourceVersion=0");
    let begun = (0..10_000).any(|_| {
        rig.run(Duration::from_micros(20));
        (100..250).contains(&rig.lines(watch).len())
    });
    assert!(begun, "the first events come with pauses");
    rig.world.inject(Fault::CloseStreams {
        target: Target::Resource("configmaps".to_owned()),
    });
    rig.run_secs(1);
    assert!(rig.reply(watch).ended_at.is_some());
    let first = rig.lines(watch);
    let many = first.iter().filter(|line| line.starts_with("ADDED many-"));
    assert_eq!(many.count(), 250);
}

#[test]
fn refused_connections_leave_the_open_ones_alone() {
    let (mut rig, watch, a) = watched();
    rig.world.inject(Fault::Refuse);
    let connection = rig.connect();
    let lost = rig.send(connection, Request::get("/version"));
    rig.run_secs(1);
    assert_eq!(rig.refused, [connection]);
    assert!(!rig.replies.contains_key(&lost));
    rig.write("a", 1);
    rig.run_secs(1);
    assert_eq!(rig.lines(watch), [format!("MODIFIED a {}", a + 1)]);
    rig.world.lift(&Fault::Refuse);
    assert_eq!(rig.get("/version").0, 200);
}

#[test]
fn each_emitter_of_429_has_its_own_words() {
    let (mut rig, watch, a) = watched();
    let mut lines = Vec::new();
    for throttle in [
        Throttle::MaxInFlight,
        Throttle::PriorityAndFairness,
        Throttle::CacheNotReady,
        Throttle::Shutdown,
    ] {
        let fault = Fault::TooManyRequests {
            resource: Some("configmaps".to_owned()),
            throttle,
            retry_after_secs: 3,
        };
        rig.world.inject(fault.clone());
        for target in [
            MAPS.to_owned(),
            watch_from(a),
            format!("{MAPS}/a"),
            "/api/v1/pods".to_owned(),
        ] {
            let id = rig.open(&target);
            rig.run_secs(1);
            let reply = rig.reply(id);
            let headers = &reply.head.as_ref().unwrap().headers;
            let header = |name: &str| {
                let found = headers.iter().find(|(header, _)| header == name);
                found.map_or("-", |(_, value)| value.as_str())
            };
            let text = String::from_utf8(reply.body()).unwrap();
            let what = if reply.status() == 429 {
                text.trim()
            } else {
                ""
            };
            lines.push(format!(
                "{throttle:?} {} {} retry={} connection={} {what}",
                target
                    .split('?')
                    .next_back()
                    .unwrap()
                    .split('/')
                    .next_back()
                    .unwrap(),
                reply.status(),
                header("retry-after"),
                header("connection"),
            ));
        }
        rig.world.lift(&fault);
    }
    let lines: Vec<String> = lines
        .into_iter()
        .map(|l| l.replace(&a.to_string(), "A"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    MaxInFlight configmaps 429 retry=1 connection=- Too many requests, please try again later.
    MaxInFlight watch=1&resourceVersion=A 200 retry=- connection=- 
    MaxInFlight a 429 retry=1 connection=- Too many requests, please try again later.
    MaxInFlight pods 200 retry=- connection=- 
    PriorityAndFairness configmaps 429 retry=3 connection=- Too many requests, please try again later.
    PriorityAndFairness watch=1&resourceVersion=A 429 retry=3 connection=- Too many requests, please try again later.
    PriorityAndFairness a 429 retry=3 connection=- Too many requests, please try again later.
    PriorityAndFairness pods 200 retry=- connection=- 
    CacheNotReady configmaps 429 retry=3 connection=- {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"storage is (re)initializing","reason":"TooManyRequests","details":{"retryAfterSeconds":3},"code":429}
    CacheNotReady watch=1&resourceVersion=A 429 retry=3 connection=- {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"storage is (re)initializing","reason":"TooManyRequests","details":{"retryAfterSeconds":3},"code":429}
    CacheNotReady a 200 retry=- connection=- 
    CacheNotReady pods 200 retry=- connection=- 
    Shutdown configmaps 429 retry=5 connection=close The apiserver is shutting down, please try again later.
    Shutdown watch=1&resourceVersion=A 429 retry=5 connection=close The apiserver is shutting down, please try again later.
    Shutdown a 429 retry=5 connection=close The apiserver is shutting down, please try again later.
    Shutdown pods 200 retry=- connection=-
    "#);
    assert!(rig.reply(watch).ended_at.is_none(), "open watches go on");
    assert_eq!(rig.get(MAPS).0, 200, "a lifted fault is off");
}

/// 429 "(re)initializing" exists since 1.31; up to 1.30 a request waits until the cache is ready.
#[test]
fn a_cache_that_is_not_ready_refuses_since_1_31_and_lets_requests_wait_before() {
    let answers = |server: &str| {
        let mut config = Config::empty();
        config.servers = vec![server.parse().expect("a version")];
        let mut rig = Rig::new(config);
        rig.run_secs(1);
        let a = version(&rig.config_map("a"));
        rig.run_secs(1);
        rig.world.inject(Fault::Reinitialise {
            server: None,
            resource: Some("configmaps".to_owned()),
        });
        rig.world.inject(Fault::NoLeader);
        rig.run_secs(2);
        // Up to 1.30, etcd itself answers reads of any version.
        let list = format!("{MAPS}?resourceVersion={a}");
        let watch = format!("{list}&watch=1");
        let waiting = [list, watch].map(|target| rig.open(&target));
        rig.run_secs(5);
        let answered = waiting.map(|id| rig.replies.get(&id).map(crate::rig::Reply::status));
        rig.world.lift(&Fault::NoLeader);
        rig.run_secs(10);
        let in_the_end = waiting.map(|id| rig.reply(id).status());
        (answered, in_the_end)
    };
    assert_eq!(answers("1.30.9"), ([None, None], [200, 200]));
    assert_eq!(answers("1.31.0"), ([Some(429), Some(429)], [429, 429]));
    // The fault does not make an older server answer so.
    let fault = Fault::TooManyRequests {
        resource: None,
        throttle: Throttle::CacheNotReady,
        retry_after_secs: 3,
    };
    let status = |server: &str| {
        let mut config = Config::empty();
        config.servers = vec![server.parse().expect("a version")];
        let mut rig = Rig::new(config);
        rig.world.inject(fault.clone());
        rig.get(MAPS).0
    };
    assert_eq!(["1.30.9", "1.31.0"].map(status), [200, 429]);
}

#[test]
fn an_expired_cache_answers_410_to_a_watch_that_missed_events() {
    let (mut rig, watch, a) = watched();
    let fault = Fault::Expire {
        resource: Some("configmaps".to_owned()),
    };
    rig.world.inject(fault.clone());
    rig.write("a", 1);
    rig.run_secs(1);
    assert_eq!(
        rig.lines(watch),
        [format!("MODIFIED a {}", a + 1)],
        "the open watch misses nothing"
    );
    let behind = rig.open(&watch_from(a));
    let level = rig.open(&watch_from(a + 1));
    rig.run_secs(1);
    assert_eq!(
        rig.lines(behind),
        [format!(
            "ERROR 410 too old resource version: {a} ({})",
            a + 1
        )]
    );
    assert!(rig.lines(level).is_empty());
    rig.world.lift(&fault);
    rig.write("a", 2);
    rig.run_secs(1);
    let resumed = rig.open(&watch_from(a + 1));
    rig.run_secs(1);
    assert_eq!(
        rig.lines(resumed),
        [format!("MODIFIED a {}", a + 2)],
        "history is kept again"
    );
}

#[test]
fn expiring_everything_compacts_etcd_under_the_events() {
    let (mut rig, _, _) = watched();
    rig.world.inject(Fault::Expire { resource: None });
    assert_eq!(rig.world.truth().compacted(), rig.world.truth().revision());
    let watch = rig.open("/api/v1/events?watch=1&resourceVersion=2");
    rig.run_secs(1);
    assert_eq!(
        rig.lines(watch),
        ["ERROR 410 The resourceVersion for the provided watch is too old."]
    );
}

#[test]
fn a_stalled_connection_is_silent_and_then_catches_up() {
    let (mut rig, watch, a) = watched();
    let fault = Fault::Stall {
        target: Target::UserAgent("watcher/".to_owned()),
    };
    rig.world.inject(fault.clone());
    rig.write("a", 1);
    rig.write("a", 2);
    rig.run_secs(30);
    assert!(rig.lines(watch).is_empty());
    assert!(rig.closed.is_empty(), "nothing says that it is dead");
    assert_eq!(rig.get("/version").0, 200, "other connections go on");
    rig.world.lift(&fault);
    rig.run_secs(1);
    assert_eq!(
        rig.lines(watch),
        [
            format!("MODIFIED a {}", a + 1),
            format!("MODIFIED a {}", a + 2)
        ]
    );
}

#[test]
fn messages_held_by_a_stall_stay_ahead_of_those_held_by_a_delay() {
    let (mut rig, watch, a) = watched();
    let stall = Fault::Stall {
        target: Target::All,
    };
    let delay = Fault::Delay {
        by: Duration::from_secs(3),
    };
    rig.world.inject(stall.clone());
    rig.write("a", 1);
    rig.run_secs(1);
    rig.world.inject(delay.clone());
    rig.write("a", 2);
    rig.run_secs(1);
    rig.world.lift(&stall);
    rig.world.lift(&delay);
    rig.write("a", 3);
    rig.run_secs(5);
    let expected: Vec<String> = (1..=3).map(|n| format!("MODIFIED a {}", a + n)).collect();
    assert_eq!(rig.lines(watch), expected);
}

#[test]
fn a_stall_of_everything_hangs_new_connections_too() {
    let (mut rig, _, _) = watched();
    let fault = Fault::Stall {
        target: Target::All,
    };
    rig.world.inject(fault.clone());
    let connection = rig.connect();
    let id = rig.send(connection, Request::get("/version"));
    rig.run_secs(60);
    assert!(!rig.connected.contains_key(&connection) && !rig.replies.contains_key(&id));
    rig.world.lift(&fault);
    rig.run_secs(1);
    assert_eq!(rig.reply(id).status(), 200);
}

#[test]
fn a_stalled_watch_is_given_up_by_the_server_when_its_buffers_are_full() {
    let (mut rig, watch, _) = watched();
    let fault = Fault::Stall {
        target: Target::All,
    };
    rig.world.inject(fault.clone());
    for n in 0..1500 {
        rig.write("a", n);
        rig.run(Duration::from_millis(10));
    }
    rig.world.lift(&fault);
    rig.run_secs(5);
    let reply = rig.reply(watch);
    assert!(
        reply.ended_at.is_some(),
        "after {} frames",
        reply.chunks.len()
    );
    assert!(reply.chunks.len() < 1500);
}

#[test]
fn a_torn_frame_is_half_a_frame_and_a_cut() {
    let (mut rig, watch, _) = watched();
    rig.world.inject(Fault::TearFrame {
        target: Target::All,
        cut: Cut::Reset,
    });
    rig.run_secs(10);
    assert!(rig.closed.is_empty(), "it waits for a frame to tear");
    rig.write("a", 1);
    rig.run_secs(1);
    let reply = rig.reply(watch);
    let body = String::from_utf8(reply.body()).unwrap();
    assert!(
        body.starts_with("{\"type\":\"MODIFIED\"") && !body.ends_with('\n'),
        "{body}"
    );
    assert!(rig.closed.values().all(|(_, cut)| *cut == Cut::Reset) && rig.closed.len() == 1);
    assert!(reply.ended_at.is_none());
}

#[test]
fn a_garbled_frame_is_no_json_and_the_response_goes_on() {
    let (mut rig, watch, a) = watched();
    rig.world.inject(Fault::GarbleFrame {
        target: Target::All,
    });
    rig.run_secs(10);
    rig.write("a", 1);
    rig.write("a", 2);
    rig.run_secs(1);
    let reply = rig.reply(watch);
    let body = String::from_utf8(reply.body()).unwrap();
    let lines: Vec<&str> = body.lines().collect();
    let [garbled, next] = lines[..] else {
        panic!("{body}");
    };
    assert!(garbled.starts_with("<\"type\":\"MODIFIED\""), "{garbled}");
    assert!(next.contains(&format!("\"resourceVersion\":\"{}\"", a + 2)));
    assert!(reply.ended_at.is_none() && rig.closed.is_empty());
}

#[test]
fn a_delay_makes_everything_later_and_keeps_its_order() {
    let (mut rig, watch, a) = watched();
    let fault = Fault::Delay {
        by: Duration::from_secs(2),
    };
    rig.world.inject(fault.clone());
    let at = rig.world.now();
    rig.write("a", 1);
    rig.run(Duration::from_millis(100));
    rig.world.lift(&fault);
    rig.write("a", 2);
    rig.run_secs(3);
    let frames = rig.reply(watch).frames();
    assert_eq!(
        rig.lines(watch),
        [
            format!("MODIFIED a {}", a + 1),
            format!("MODIFIED a {}", a + 2)
        ]
    );
    assert!(
        frames
            .iter()
            .all(|(came, _)| came.since(at) >= Duration::from_secs(2))
    );
}

#[test]
fn a_credit_connection_that_nobody_reads_holds_a_list_at_its_window() {
    let mut rig = Rig::quiet();
    for i in 0..2000 {
        rig.config_map(&format!("map-{i:04}"));
    }
    let connection = rig.world.connect(Flow::Credit);
    let id = rig.send(connection, Request::get("/api/v1/configmaps"));
    rig.run_secs(5);
    let held = rig.reply(id).body().len();
    assert!(rig.reply(id).ended_at.is_none());
    assert!((256 * 1024..400 * 1024).contains(&held), "{held}");
    rig.world.consume(id, held);
    rig.run_secs(5);
    assert!(rig.reply(id).body().len() > held);
}

#[test]
fn a_release_of_etcd_gets_only_the_defects_it_had() {
    let gap = Fault::EtcdDefect(Defect::GapUnderStarvation);
    let on = |version: &str| {
        let mut config = Config::empty();
        config.etcd.version = Some(version.parse().unwrap());
        let mut rig = Rig::new(config);
        rig.world.inject(gap.clone());
        rig.world.active_faults().count()
    };
    assert_eq!(on("3.5.12"), 1);
    assert_eq!(on("3.5.13"), 0);
}
