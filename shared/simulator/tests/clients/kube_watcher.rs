//! kube-rs' watcher, row by row of docs/semantics/clients.md#kube-rs.

use std::time::Duration;

use watchscope_simulator::{
    ClientId, ClientPhase, Cut, Fault, KubeList, KubeRs, KubeWatcher, Program, Request, Target,
};

use crate::stage::Stage;

fn begun(stage: &mut Stage, how: KubeWatcher) -> ClientId {
    stage.create("a");
    stage.run_secs(1);
    let client = stage.start(&Program::KubeWatcher(how));
    stage.run_secs(2);
    assert_eq!(stage.report(client).phase, ClientPhase::Watching);
    assert!(stage.compare(client).agrees());
    client
}

fn default() -> KubeWatcher {
    KubeWatcher::default()
}

fn streaming(version: KubeRs) -> KubeWatcher {
    KubeWatcher {
        version,
        list: KubeList::Streaming,
        ..default()
    }
}

#[test]
fn its_first_state_is_the_most_recent_or_any_or_streamed_from_the_literal_0() {
    let mut asked = Vec::new();
    for list in [KubeList::MostRecent, KubeList::Any, KubeList::Streaming] {
        let mut stage = Stage::quiet();
        begun(&mut stage, KubeWatcher { list, ..default() });
        asked.push(format!("{list:?}: {}", stage.asked().join(", ")));
    }
    insta::assert_snapshot!(asked.join("\n"), @r#"
    MostRecent: list limit=500, watch rv=14 bookmarks
    Any: list rv=0 NotOlderThan, watch rv=14 bookmarks
    Streaming: watch rv=0 bookmarks NotOlderThan initial
    "#);
}

#[test]
fn without_bookmarks_it_asks_for_none_and_stands_at_its_last_event() {
    let mut seen = Vec::new();
    for bookmarks in [true, false] {
        let mut stage = Stage::quiet();
        let how = KubeWatcher {
            bookmarks,
            ..default()
        };
        let client = begun(&mut stage, how);
        let knows = |stage: &Stage| {
            stage.world.client_beliefs(client)[0]
                .resource_version
                .clone()
        };
        let began = knows(&stage);
        // Others write, and bookmarks come every minute.
        stage.run_secs(30);
        stage.world.call(
            &Request::new("POST", "/api/v1/namespaces").json(&serde_json::json!({
                "metadata": {"name": "other"},
            })),
        );
        stage.run_secs(60);
        let moved = knows(&stage) != began;
        seen.push((stage.asked().join(", "), moved));
    }
    assert_eq!(
        seen,
        [
            ("list limit=500, watch rv=14 bookmarks".to_owned(), true),
            ("list limit=500, watch rv=14".to_owned(), false),
        ]
    );
}

#[test]
fn a_clean_end_is_resumed_at_once_and_so_is_an_end_of_file_but_a_reset_waits() {
    let mut seen = Vec::new();
    for end in ["end", "eof", "reset"] {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, default());
        stage.asked();
        let target = Target::All;
        match end {
            "end" => stage.close_streams(),
            "eof" => stage.world.inject(Fault::Cut {
                target,
                cut: Cut::Eof,
            }),
            _ => stage.reset_connections(),
        }
        stage.delete("a");
        stage.run(Duration::from_millis(100));
        let phase = stage.report(client).phase;
        let asked = stage.asked().join(", ");
        stage.run_secs(3);
        assert!(stage.compare(client).agrees());
        seen.push(format!(
            "{end}: {phase} [{asked}] later [{}]",
            stage.asked().join(", ")
        ));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    end: watching [watch rv=14 bookmarks] later []
    eof: watching [watch rv=14 bookmarks] later []
    reset: backoff [] later [watch rv=14 bookmarks]
    "#);
}

#[test]
fn a_server_that_answers_200_and_closes_makes_it_spin() {
    let mut stage = Stage::quiet();
    let client = begun(&mut stage, default());
    stage.asked();
    for _ in 0..500 {
        stage.close_streams();
        stage.run(Duration::from_millis(2));
    }
    let watches = stage.asked().len();
    assert!(watches > 300, "{watches} watches in a second");
    assert!(stage.compare(client).agrees());
}

#[test]
fn a_410_starts_it_over_and_any_may_go_back_in_time() {
    let mut seen = Vec::new();
    for list in [KubeList::MostRecent, KubeList::Any, KubeList::Streaming] {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, KubeWatcher { list, ..default() });
        stage.asked();
        stage.world.inject(Fault::Refuse);
        stage.reset_connections();
        stage.delete("a");
        stage.run_secs(1);
        stage.world.inject(Fault::Expire { resource: None });
        stage.world.lift(&Fault::Refuse);
        stage.run_secs(10);
        assert!(stage.compare(client).agrees());
        let mut asked = stage.asked();
        asked.dedup();
        seen.push(format!("{list:?}: {}", asked.join(", ")));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    MostRecent: watch rv=14 bookmarks, list limit=500, watch rv=15 bookmarks
    Any: watch rv=14 bookmarks, list rv=0 NotOlderThan, watch rv=15 bookmarks
    Streaming: watch rv=14 bookmarks, watch rv=0 bookmarks NotOlderThan initial
    "#);
}

#[test]
fn a_flattened_stream_never_yields_a_deletion() {
    let mut stage = Stage::quiet();
    let how = KubeWatcher {
        flattened: true,
        ..default()
    };
    let client = begun(&mut stage, how);
    stage.delete("a");
    stage.run_secs(1);
    assert_eq!(stage.compare(client).ghosts.len(), 1);
}

#[test]
fn before_3_a_resumed_streaming_list_requests_everything_again_and_keeps_deleted_objects() {
    let mut seen = Vec::new();
    for version in [KubeRs::V2, KubeRs::V3, KubeRs::V4] {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, streaming(version));
        stage.write("a", 1);
        stage.run_secs(1);
        stage.asked();
        stage.world.inject(Fault::Refuse);
        stage.reset_connections();
        stage.delete("a");
        stage.run_secs(1);
        stage.world.lift(&Fault::Refuse);
        stage.run_secs(5);
        let ghosts = stage.compare(client).ghosts.len();
        seen.push(format!(
            "{version:?}: {}, {ghosts} ghosts",
            stage.asked().join(", ")
        ));
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    V2: watch rv=15 bookmarks NotOlderThan initial, watch rv=15 bookmarks NotOlderThan initial, 1 ghosts
    V3: watch rv=15 bookmarks, 0 ghosts
    V4: watch rv=15 bookmarks, 0 ghosts
    "#);
}

#[test]
fn a_backoff_is_there_only_if_it_was_added_and_grows_only_where_nothing_succeeds_between() {
    let mut seen = Vec::new();
    for (what, how) in [
        (
            "none",
            KubeWatcher {
                backoff: false,
                ..default()
            },
        ),
        ("watch", default()),
        (
            "without jitter",
            KubeWatcher {
                version: KubeRs::V2,
                ..default()
            },
        ),
    ] {
        let mut stage = Stage::quiet();
        begun(&mut stage, how);
        stage.asked();
        stage.world.inject(Fault::Refuse);
        stage.reset_connections();
        stage.run_secs(10);
        let watches = stage.asked().len();
        let mut fresh = Stage::quiet();
        fresh.world.inject(Fault::Refuse);
        fresh.start(&Program::KubeWatcher(how));
        fresh.run_secs(10);
        let lists = fresh.asked().len();
        seen.push(match watches {
            0..100 => format!("{what}: {watches} watches, {lists} lists in 10 s"),
            _ => format!("{what}: watches and lists without end {}", lists > 1000),
        });
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    none: watches and lists without end true
    watch: 3 watches, 9 lists in 10 s
    without jitter: 3 watches, 13 lists in 10 s
    "#);
}

#[test]
fn silence_is_noticed_after_295_s() {
    for version in [KubeRs::V2, KubeRs::V3, KubeRs::V4] {
        let mut stage = Stage::quiet();
        let client = begun(
            &mut stage,
            KubeWatcher {
                version,
                ..default()
            },
        );
        stage.stall_open_connections(client);
        stage.delete("a");
        stage.run_secs(280);
        assert_eq!(stage.compare(client).ghosts.len(), 1, "{version:?}");
        stage.run_secs(20);
        assert!(stage.compare(client).agrees(), "{version:?}");
    }
}

#[test]
fn a_watch_with_a_shorter_timeout_is_given_up_earlier() {
    let mut stage = Stage::quiet();
    let how = KubeWatcher {
        timeout_s: 85,
        ..default()
    };
    let client = begun(&mut stage, how);
    stage.stall_open_connections(client);
    stage.delete("a");
    stage.run_secs(80);
    assert_eq!(stage.compare(client).ghosts.len(), 1);
    stage.run_secs(15);
    assert!(stage.compare(client).agrees());
}

#[test]
fn a_torn_last_frame_is_dropped_and_the_watch_resumed() {
    let mut stage = Stage::quiet();
    let client = begun(&mut stage, default());
    stage.asked();
    stage.world.inject(Fault::TearFrame {
        target: Target::All,
        cut: Cut::Eof,
    });
    stage.delete("a");
    stage.run_secs(1);
    assert!(stage.compare(client).agrees());
    assert_eq!(stage.asked(), ["watch rv=14 bookmarks"]);
}
