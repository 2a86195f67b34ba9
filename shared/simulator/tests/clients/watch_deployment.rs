//! client-go watch pitfalls (docs/semantics/cases.md#watch-pitfalls).

use std::time::Duration;

use watchscope_simulator::{ClientPhase, Config, Edit, Program, WatchDeployment};

use crate::stage::Stage;

const V1: Program = Program::WatchDeployment(WatchDeployment::V1);
const V2: Program = Program::WatchDeployment(WatchDeployment::V2);
const FINAL: Program = Program::WatchDeployment(WatchDeployment::Final);

#[test]
fn the_first_version_returns_at_a_reset_and_is_silent_for_ever() {
    let mut stage = Stage::quiet();
    stage.create("a");
    let client = stage.start(&V1);
    stage.run_secs(2);
    stage.reset_connections();
    stage.run_secs(1);
    stage.delete("a");
    stage.run_secs(3600);
    assert_eq!(stage.compare(client).ghosts.len(), 1);
    insta::assert_snapshot!(stage.lines(), @r#"
    0.000 started watch-deployment v1
    0.000 GET /api/v1/namespaces/default/configmaps?watch=true
    0.000 connecting iterations=0 handled=0 knows -: []
    0.001 watching iterations=0 handled=0
    0.100 watching iterations=2 handled=2 knows -: [a@14 kube-root-ca.crt@9]
    2.000 returned iterations=2 handled=2
    "#);
}

#[test]
fn the_second_version_logs_without_end() {
    let mut stage = Stage::quiet();
    let client = stage.start(&V2);
    stage.run_secs(2);
    stage.reset_connections();
    stage.run_secs(10);
    let report = stage.report(client);
    assert_eq!(report.phase, ClientPhase::Spinning);
    assert!(report.iterations > 900_000, "{report:?}");
    assert_eq!(stage.asked(), ["watch"], "it never watches again");
}

#[test]
fn the_last_version_replays_everything_after_each_end_and_misses_what_was_deleted_while_it_slept() {
    let mut stage = Stage::quiet();
    stage.create("a");
    stage.create("b");
    let client = stage.start(&FINAL);
    stage.run_secs(2);
    stage.close_streams();
    stage.run_secs(1);
    stage.delete("a");
    stage.write("b", 1);
    stage.run_secs(10);
    let ghosts = stage.compare(client).ghosts;
    assert_eq!(ghosts, [("default".to_owned(), "a".to_owned())]);
    insta::assert_snapshot!(stage.lines(), @r#"
    0.000 started watch-deployment final
    0.000 GET /api/v1/namespaces/default/configmaps?watch=true
    0.000 connecting iterations=0 handled=0 knows -: []
    0.001 watching iterations=0 handled=0
    0.100 watching iterations=3 handled=3 knows -: [a@14 b@15 kube-root-ca.crt@9]
    2.000 sleeping iterations=3 handled=3
    7.000 GET /api/v1/namespaces/default/configmaps?watch=true
    7.000 connecting iterations=3 handled=3
    7.001 watching iterations=3 handled=3
    7.100 watching iterations=5 handled=5 knows -: [a@14 b@17 kube-root-ca.crt@9]
    "#);
}

/// Ends the streams, and deletes an object 1 s later. Returns what the client sent afterwards, and its ghosts.
fn deleted_in_the_gap(edit: Edit) -> (Vec<String>, usize) {
    let mut stage = Stage::quiet();
    stage.create("a");
    stage.create("b");
    let client = stage.start(&Program::WatchDeployment(WatchDeployment::Edited(edit)));
    stage.run_secs(2);
    stage.close_streams();
    stage.run_secs(1);
    stage.delete("a");
    stage.run_secs(10);
    let lines = stage.lines();
    let asked = lines.lines().filter(|line| line.contains("GET")).skip(1);
    let asked = asked.map(|line| line.trim_start().to_owned()).collect();
    (asked, stage.compare(client).ghosts.len())
}

#[test]
fn of_three_changed_lines_only_the_resume_hears_of_a_deletion_in_the_gap() {
    // The last event of the first stream was kube-root-ca.crt, the last by name (F21).
    let (asked, ghosts) = deleted_in_the_gap(Edit::Resumes);
    assert_eq!(ghosts, 0);
    assert_eq!(
        asked,
        ["7.000 GET /api/v1/namespaces/default/configmaps?resourceVersion=9&watch=true"]
    );
    let (asked, ghosts) = deleted_in_the_gap(Edit::ShortTimer);
    assert_eq!((asked.len(), ghosts), (1, 1));
    // It is back before the deletion, and would miss one in its 0.1 s.
    let (asked, ghosts) = deleted_in_the_gap(Edit::ShortSleep);
    assert_eq!(
        (asked, ghosts),
        (
            vec!["2.100 GET /api/v1/namespaces/default/configmaps?watch=true".to_owned()],
            0
        )
    );
}

#[test]
fn the_idle_timer_is_reset_by_each_event_and_fires_after_half_an_hour_of_silence() {
    let mut config = Config::empty();
    // Longer than the program's idle timer, so that the server does not end the watch first.
    config.apiserver.watch_lifetime = (Duration::from_secs(90_000), Duration::from_secs(90_001));
    let mut stage = Stage::new(config, 7);
    stage.create("a");
    let client = stage.start(&FINAL);
    for n in 1..=4 {
        stage.run_secs(20 * 60);
        stage.write("a", n);
    }
    assert_eq!(
        stage.asked(),
        ["watch"],
        "an event each 20 minutes keeps the watch"
    );
    stage.run_secs(30 * 60 - 1);
    assert_eq!(stage.report(client).phase, ClientPhase::Watching);
    stage.run_secs(2);
    assert_eq!(stage.report(client).phase, ClientPhase::Sleeping);
    stage.run_secs(5);
    assert_eq!(stage.report(client).phase, ClientPhase::Watching);
    assert_eq!(stage.asked(), ["watch"]);
}

#[test]
fn the_server_ends_its_watches_after_half_an_hour_to_an_hour_when_they_ask_for_nothing() {
    let mut stage = Stage::quiet();
    stage.create("a");
    stage.start(&FINAL);
    for n in 1..=24 {
        stage.run_secs(10 * 60);
        stage.write("a", n);
    }
    let watches = stage.asked().len();
    assert!(
        (5..=8).contains(&watches),
        "{watches} watches in four hours"
    );
}
