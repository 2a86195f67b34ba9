//! client-go's reflector, column by column of table 2.2.

use std::time::Duration;

use watchscope_simulator::{ClientGo, ClientPhase, Fault, Program, Request, Scope, Throttle};

use crate::stage::Stage;

/// The versions at which something changes.
const VERSIONS: [u8; 9] = [9, 15, 16, 18, 20, 22, 28, 35, 36];

fn reflector(minor: u8) -> Program {
    Program::Reflector {
        version: ClientGo::minor(minor),
    }
}

/// What each version asks in a story, versions that ask alike together.
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

/// So begun, the reflector watches and holds a.
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
fn after_410_old_versions_go_back_to_any_state_and_newer_ones_ask_for_what_they_knew() {
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
        // A refused watch is tried again as often as the backoff has it.
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

#[test]
fn a_refused_watch_is_opened_again_later_from_the_same_version() {
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
    1.9 1.15
      watch rv=14
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
fn a_client_that_pings_leaves_a_dead_connection_after_45_s_and_an_older_one_after_minutes() {
    let mut seen = Vec::new();
    for minor in [19, 20, 36] {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, &reflector(minor));
        stage.asked();
        stage.stall_open_connections(client);
        stage.delete("a");
        let mut secs = 0;
        while !stage.compare(client).agrees() && secs < 1000 {
            stage.run_secs(5);
            secs += 5;
        }
        seen.push(format!(
            "1.{minor}: right again after {secs} s: {:?}",
            stage.asked()
        ));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    1.19: right again after 300 s: ["watch rv=14 bookmarks"]
    1.20: right again after 45 s: ["list rv=14", "watch rv=15 bookmarks"]
    1.36: right again after 45 s: ["watch rv=14 bookmarks NotOlderThan initial"]
    "#);
}

/// Events have no watch cache, so their lists come in pages even from resourceVersion 0.
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
fn a_list_that_expires_between_its_pages_is_asked_for_whole() {
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
