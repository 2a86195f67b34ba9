//! client-go's reflector, column by column of docs/semantics/clients.md#reflector-versions.

use std::time::Duration;

use watchscope_simulator::{
    ClientGo, ClientPhase, Config, Fault, Program, Request, Scope, ServerId, Target, Throttle,
    Version,
};

use crate::stage::Stage;

/// The versions at which something changes.
const VERSIONS: [u8; 9] = [9, 15, 16, 18, 20, 22, 28, 35, 36];

fn reflector(minor: u8) -> Program {
    Program::Reflector {
        version: ClientGo::minor(minor),
    }
}

/// The reflector of a version with its patch.
fn reflector_of(version: &str) -> Program {
    Program::Reflector {
        version: version.parse().expect("a version"),
    }
}

/// The requests of each version in a story; versions with equal requests are grouped.
fn by_version(story: impl Fn(&mut Stage, &Program) -> Vec<String>) -> String {
    let mut groups: Vec<(String, String)> = Vec::new();
    for minor in VERSIONS {
        let asked = story(&mut Stage::quiet(), &reflector(minor)).join("\n  ");
        match groups.last_mut() {
            Some((versions, last)) if *last == asked => versions.push_str(&format!(" 1.{minor}")),
            _ => groups.push((format!("1.{minor}"), asked)),
        }
    }
    let lines = groups
        .iter()
        .map(|(versions, asked)| format!("{versions}\n  {asked}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Starts the reflector so that it watches and holds a.
fn begun(stage: &mut Stage, program: &Program) -> watchscope_simulator::ClientId {
    stage.create("a");
    stage.run_secs(1);
    let client = stage.start(program);
    stage.run_secs(2);
    assert_eq!(
        stage.world.client_report(client).unwrap().phase,
        ClientPhase::Watching
    );
    assert!(stage.compare(client).agrees());
    client
}

#[test]
fn it_begins_with_a_list_from_the_cache_and_since_1_35_with_a_watch_list() {
    let asked = by_version(|stage, program| {
        begun(stage, program);
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      list rv=0
      watch rv=14
    1.15
      list rv=0 limit=500
      watch rv=14
    1.16 1.18 1.20 1.22 1.28
      list rv=0 limit=500
      watch rv=14 bookmarks
    1.35 1.36
      watch bookmarks NotOlderThan initial
    "#);
}

#[test]
fn a_clean_end_is_resumed_at_once_from_the_last_event_without_a_list() {
    let asked = by_version(|stage, program| {
        let client = begun(stage, program);
        stage.write("a", 1);
        stage.run_secs(1);
        stage.asked();
        stage.close_streams();
        stage.delete("a");
        stage.run_secs(1);
        assert!(stage.compare(client).agrees());
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r#"
    1.9 1.15
      watch rv=15
    1.16 1.18 1.20 1.22 1.28 1.35 1.36
      watch rv=15 bookmarks
    "#);
}

#[test]
fn an_end_within_a_second_without_events_is_an_error_and_costs_a_list() {
    let asked = by_version(|stage, program| {
        let client = begun(stage, program);
        stage.asked();
        stage.close_streams();
        stage.run(Duration::from_millis(500));
        stage.close_streams();
        stage.run_secs(3);
        assert!(stage.compare(client).agrees());
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      watch rv=14
      list rv=0
      watch rv=14
    1.15
      watch rv=14
      list rv=0 limit=500
      watch rv=14
    1.16
      watch rv=14 bookmarks
      list rv=0 limit=500
      watch rv=14 bookmarks
    1.18 1.20 1.22 1.28
      watch rv=14 bookmarks
      list rv=14
      watch rv=14 bookmarks
    1.35 1.36
      watch rv=14 bookmarks
      watch rv=14 bookmarks NotOlderThan initial
    "#);
}

#[test]
fn after_410_old_versions_go_back_to_any_state_and_newer_ones_request_at_least_what_they_knew() {
    let asked = by_version(|stage, program| {
        let client = begun(stage, program);
        stage.asked();
        let refuse = Fault::Refuse;
        stage.world.inject(refuse.clone());
        stage.reset_connections();
        stage.delete("a");
        stage.create("b");
        stage.run_secs(1);
        stage.world.inject(Fault::Expire { resource: None });
        stage.world.lift(&refuse);
        stage.run_secs(10);
        assert!(stage.compare(client).agrees());
        let mut asked = stage.asked();
        // The reflector tries a refused watch again at each delay of its backoff.
        asked.dedup();
        asked
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      watch rv=14
      list rv=0
      watch rv=16
    1.15
      watch rv=14
      list rv=0 limit=500
      watch rv=16
    1.16
      watch rv=14 bookmarks
      list rv=0 limit=500
      watch rv=16 bookmarks
    1.18 1.20 1.22 1.28
      watch rv=14 bookmarks
      list rv=14
      watch rv=16 bookmarks
    1.35 1.36
      watch rv=14 bookmarks
      watch rv=14 bookmarks NotOlderThan initial
    "#);
}

/// Up to 1.15 the intention was to wait a second and watch again. But the check for a refused connection never matched.
#[test]
fn a_refused_watch_costs_a_list_up_to_1_15_and_is_opened_again_from_the_same_version_since_1_16() {
    let asked = by_version(|stage, program| {
        let client = begun(stage, program);
        stage.asked();
        stage.world.inject(Fault::Refuse);
        stage.reset_connections();
        stage.run_secs(10);
        let report = stage.world.client_report(client).unwrap();
        assert_eq!(report.phase, ClientPhase::Backoff);
        let asked = stage.asked();
        let times = asked.len();
        let mut asked = asked;
        asked.dedup();
        asked.push(format!("{times} times in 10 s"));
        asked
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      watch rv=14
      list rv=0
      10 times in 10 s
    1.15
      watch rv=14
      list rv=0 limit=500
      10 times in 10 s
    1.16 1.18
      watch rv=14 bookmarks
      10 times in 10 s
    1.20 1.22 1.28 1.35 1.36
      watch rv=14 bookmarks
      4 times in 10 s
    "#);
}

#[test]
fn a_throttled_watch_costs_a_list_before_1_22_and_only_time_since() {
    let asked = by_version(|stage, program| {
        let client = begun(stage, program);
        stage.asked();
        let throttled = Fault::TooManyRequests {
            resource: None,
            throttle: Throttle::PriorityAndFairness,
            retry_after_secs: 2,
        };
        stage.world.inject(throttled.clone());
        stage.close_streams();
        stage.run_secs(5);
        stage.world.lift(&throttled);
        stage.write("a", 7);
        stage.run_secs(35);
        assert!(stage.compare(client).agrees());
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      watch rv=14
      list rv=0
      list rv=0
      list rv=0
      watch rv=15
    1.15
      watch rv=14
      list rv=0 limit=500
      list rv=0 limit=500
      list rv=0 limit=500
      watch rv=15
    1.16
      watch rv=14 bookmarks
      list rv=0 limit=500
      list rv=0 limit=500
      list rv=0 limit=500
      watch rv=15 bookmarks
    1.18 1.20
      watch rv=14 bookmarks
      list rv=14
      list rv=14
      list rv=14
      watch rv=15 bookmarks
    1.22 1.28 1.35 1.36
      watch rv=14 bookmarks
      watch rv=14 bookmarks
      watch rv=14 bookmarks
      watch rv=14 bookmarks
    "#);
}

#[test]
fn a_client_that_pings_leaves_a_dead_connection_after_45_s_and_one_before_1_18_18_or_1_19_5_after_minutes()
 {
    let mut seen = Vec::new();
    for version in ["1.18.17", "1.18.18", "1.19.4", "1.19.5", "1.20.0", "1.36"] {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, &reflector_of(version));
        stage.asked();
        stage.stall_open_connections(client);
        stage.delete("a");
        let mut secs = 0;
        while !stage.compare(client).agrees() && secs < 1000 {
            stage.run_secs(5);
            secs += 5;
        }
        seen.push(format!(
            "{version}: right again after {secs} s: {:?}",
            stage.asked()
        ));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    1.18.17: right again after 300 s: ["watch rv=14 bookmarks"]
    1.18.18: right again after 45 s: ["list rv=14", "watch rv=15 bookmarks"]
    1.19.4: right again after 300 s: ["watch rv=14 bookmarks"]
    1.19.5: right again after 45 s: ["list rv=14", "watch rv=15 bookmarks"]
    1.20.0: right again after 45 s: ["list rv=14", "watch rv=15 bookmarks"]
    1.36: right again after 45 s: ["watch rv=14 bookmarks NotOlderThan initial"]
    "#);
}

/// `IsProbableEOF` does not cover a stream that the server resets (`stream error: …; INTERNAL_ERROR`). So the
/// StreamWatcher makes an ERROR 500 of it, and a reflector lists. The same holds for a lost ping.
#[test]
fn a_reset_stream_costs_a_list_since_1_15_and_is_resumed_by_older_ones() {
    let asked = by_version(|stage, program| {
        let client = begun(stage, program);
        stage.asked();
        stage.world.inject(Fault::ResetStreams {
            target: Target::All,
            code: 2,
        });
        stage.delete("a");
        stage.run_secs(3);
        assert!(stage.compare(client).agrees());
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r"
    1.9
      watch rv=14
    1.15
      list rv=0 limit=500
      watch rv=15
    1.16
      list rv=0 limit=500
      watch rv=15 bookmarks
    1.18 1.20 1.22 1.28
      list rv=14
      watch rv=15 bookmarks
    1.35 1.36
      watch rv=14 bookmarks NotOlderThan initial
    ");
}

/// The kernel gives an idle connection up after 300 s. Timeouts are hidden only since these patch releases.
#[test]
fn a_timeout_costs_a_list_from_1_15_0_to_1_15_11_and_is_resumed_before_and_since() {
    let mut seen = Vec::new();
    for version in ["1.14", "1.15.11", "1.15.12", "1.18.1", "1.18.2"] {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, &reflector_of(version));
        stage.asked();
        stage.stall_open_connections(client);
        stage.run_secs(310);
        seen.push(format!("{version}: {:?}", stage.asked()));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    1.14: ["watch rv=14"]
    1.15.11: ["list rv=0 limit=500", "watch rv=14"]
    1.15.12: ["watch rv=14"]
    1.18.1: ["list rv=14", "watch rv=14 bookmarks"]
    1.18.2: ["watch rv=14 bookmarks"]
    "#);
}

/// client-go sets no deadline of its own from `timeoutSeconds`. Over a connection that is dead in both directions, the
/// end of the watch's lifetime goes unheard. With data under way the kernel gives up after 924 s, long after the
/// requested 5 to 10 min.
#[test]
fn the_lifetime_of_a_watch_goes_unheard_on_a_dead_connection() {
    let mut stage = Stage::quiet();
    begun(&mut stage, &reflector(19));
    stage.asked();
    stage.close_streams();
    while stage.asked().is_empty() {
        stage.run(Duration::from_micros(50));
    }
    // The reflector has watched again, and the answer never comes: its request stays under way.
    stage.world.inject(Fault::LoseAnswers {
        target: Target::All,
    });
    let mut secs = 0;
    while stage.asked().is_empty() && secs < 2000 {
        stage.run_secs(1);
        secs += 1;
    }
    assert_eq!(secs, 924);
}

/// Two servers, the second of them lagging; the reflector knows a version that only the first has reached.
fn ahead_of_its_server(program: &Program) -> Stage {
    let mut config = Config::empty();
    config.servers = vec![Version::DEFAULT; 2];
    let mut stage = Stage::new(config, 7);
    let out = |n| Fault::OutOfRotation {
        server: ServerId(n),
    };
    stage.world.inject(out(1));
    let client = begun(&mut stage, program);
    stage.world.inject(Fault::Lag {
        server: ServerId(1),
        by: Duration::from_secs(600),
    });
    stage.write("a", 1);
    stage.run_secs(1);
    assert!(stage.compare(client).agrees());
    stage.world.lift(&out(1));
    stage.world.inject(out(0));
    stage.asked();
    // The resume reaches the second server. There a reset of its stream costs a list.
    stage.reset_connections();
    stage.run_secs(2);
    stage.world.inject(Fault::ResetStreams {
        target: Target::All,
        code: 2,
    });
    stage
}

/// A 504 "Too large resource version" carries Retry-After 1. So the REST layer repeats the request ten times, each with
/// a wait of 3 s at the server, before the reflector learns of it.
#[test]
fn a_too_large_version_is_repeated_for_40_s_by_the_rest_layer_and_then_listed_unset_since_1_18_6() {
    let mut seen = Vec::new();
    for version in ["1.18.5", "1.18.6", "1.19.0", "1.34", "1.35"] {
        let mut stage = ahead_of_its_server(&reflector_of(version));
        stage.run_secs(1);
        let mut requests: Vec<(u64, String)> = Vec::new();
        for secs in 1..100 {
            stage.run_secs(1);
            requests.extend(stage.asked().into_iter().map(|asked| (secs, asked)));
        }
        let mut lines: Vec<String> = Vec::new();
        for same in requests.chunk_by(|(_, one), (_, other)| one == other) {
            let (from, until) = (same[0].0, same[same.len() - 1].0);
            lines.push(format!(
                "{} from {from} to {until} s: {}",
                same.len(),
                same[0].1
            ));
        }
        seen.push(format!("{version}\n  {}", lines.join("\n  ")));
    }
    insta::assert_snapshot!(seen.join("\n"), @r"
    1.18.5
      1 from 1 to 1 s: watch rv=15 bookmarks
      24 from 1 to 98 s: list rv=15
    1.18.6
      1 from 1 to 1 s: watch rv=15 bookmarks
      11 from 1 to 41 s: list rv=15
      1 from 44 to 44 s: list
      1 from 47 to 47 s: watch rv=15 bookmarks
    1.19.0
      1 from 1 to 1 s: watch rv=15 bookmarks
      11 from 1 to 41 s: list rv=15
      1 from 44 to 44 s: list
      1 from 47 to 47 s: watch rv=15 bookmarks
    1.34
      1 from 1 to 1 s: watch rv=15 bookmarks
      11 from 1 to 41 s: list rv=15
      1 from 44 to 44 s: list
      1 from 47 to 47 s: watch rv=15 bookmarks
    1.35
      1 from 1 to 1 s: watch rv=15 bookmarks
      1 from 1 to 1 s: watch rv=15 bookmarks NotOlderThan initial
      32 from 4 to 97 s: watch bookmarks NotOlderThan initial
    ");
}

/// Starts a program over 600 Events. They have no watch cache, so their lists come in pages even at resourceVersion 0.
fn of_many_events(stage: &mut Stage, program: &Program) -> watchscope_simulator::ClientId {
    let path = "/api/v1/namespaces/default/events";
    for n in 0..600 {
        let body = serde_json::json!({
            "metadata": {"name": format!("event-{n:03}")},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
            "reason": "Test", "message": "m", "type": "Normal",
        });
        stage.call(Request::new("POST", path).json(&body), 201);
    }
    let scope = Scope::new("v1", "events", "Event").in_namespace("default");
    stage.world.start_client("client", program, &scope)
}

#[test]
fn lists_come_in_pages_since_1_15_and_stay_so_where_there_is_no_cache() {
    let asked = by_version(|stage, program| {
        let client = of_many_events(stage, program);
        stage.run_secs(2);
        assert!(stage.compare(client).agrees());
        for _ in 0..2 {
            stage.close_streams();
            stage.run(Duration::from_millis(300));
        }
        stage.run_secs(5);
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      list rv=0
      watch rv=613
      watch rv=613
      list rv=0
      watch rv=613
    1.15
      list rv=0 limit=500
      list continue limit=500
      watch rv=613
      watch rv=613
      list rv=0 limit=500
      list continue limit=500
      watch rv=613
    1.16
      list rv=0 limit=500
      list continue limit=500
      watch rv=613 bookmarks
      watch rv=613 bookmarks
      list rv=0 limit=500
      list continue limit=500
      watch rv=613 bookmarks
    1.18 1.20 1.22 1.28
      list rv=0 limit=500
      list continue limit=500
      watch rv=613 bookmarks
      watch rv=613 bookmarks
      list rv=613 limit=500
      list continue limit=500
      watch rv=613 bookmarks
    1.35 1.36
      watch bookmarks NotOlderThan initial
      watch rv=613 bookmarks
      watch rv=613 bookmarks NotOlderThan initial
    "#);
}

#[test]
fn a_list_that_expires_between_its_pages_is_requested_whole() {
    let asked = by_version(|stage, program| {
        if *program == reflector(35) || *program == reflector(36) {
            return vec!["streams its first state".to_owned()];
        }
        let slow = Fault::Delay {
            by: Duration::from_secs(1),
        };
        stage.world.inject(slow.clone());
        let client = of_many_events(stage, program);
        stage.run(Duration::from_millis(2500));
        stage.create("a");
        let expired = Fault::Expire { resource: None };
        stage.world.inject(expired.clone());
        stage.run_secs(1);
        stage.world.lift(&slow);
        stage.world.lift(&expired);
        stage.run_secs(20);
        assert!(stage.compare(client).agrees());
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      list rv=0
      watch rv=613
    1.15
      list rv=0 limit=500
      list continue limit=500
      list rv=0
      watch rv=614
    1.16 1.18 1.20 1.22 1.28
      list rv=0 limit=500
      list continue limit=500
      list rv=0
      watch rv=614 bookmarks
    1.35 1.36
      streams its first state
    "#);
}

#[test]
fn a_watch_cut_before_its_answer_is_empty_before_1_22_and_tried_again_since() {
    let asked = by_version(|stage, program| {
        let client = begun(stage, program);
        stage.asked();
        let slow = Fault::Delay {
            by: Duration::from_secs(2),
        };
        stage.close_streams();
        stage.world.inject(slow.clone());
        stage.run(Duration::from_millis(300));
        stage.world.lift(&slow);
        stage.reset_connections();
        stage.run_secs(10);
        assert!(stage.compare(client).agrees());
        stage.asked()
    });
    insta::assert_snapshot!(asked, @r#"
    1.9
      watch rv=14
      list rv=0
      watch rv=14
    1.15
      watch rv=14
      list rv=0 limit=500
      watch rv=14
    1.16
      watch rv=14 bookmarks
      list rv=0 limit=500
      watch rv=14 bookmarks
    1.18 1.20
      watch rv=14 bookmarks
      list rv=14
      watch rv=14 bookmarks
    1.22 1.28 1.35 1.36
      watch rv=14 bookmarks
      watch rv=14 bookmarks
    "#);
}
