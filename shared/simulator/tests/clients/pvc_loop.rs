//! Watches ghost you (docs/semantics/cases.md#ghost-you).

use std::time::Duration;

use watchscope_simulator::{ClientPhase, Cut, Fault, Program, Target};

use crate::stage::Stage;

const BROKEN: Program = Program::PvcLoop { fixed: false };
const FIXED: Program = Program::PvcLoop { fixed: true };

#[test]
fn the_broken_loop_reads_a_dead_stream_until_its_deadline() {
    let mut stage = Stage::quiet();
    stage.create("claim");
    let client = stage.start(&BROKEN);
    stage.run_secs(4);
    stage.close_streams();
    stage.run_secs(1);
    stage.delete("claim");
    stage.run_secs(10);
    let report = stage.report(client);
    assert_eq!(report.phase, ClientPhase::Spinning);
    assert!(report.iterations > 1_000_000, "{report:?}");
    assert_eq!(stage.compare(client).ghosts.len(), 1);
    stage.run_secs(20);
    let text = stage.lines();
    let spinning = text.matches("spinning").count();
    assert!(
        (20..=30).contains(&spinning),
        "a report a second, not one an iteration: {spinning}"
    );
    let (first, last) = (text.lines().take(5), text.lines().last());
    insta::assert_snapshot!(first.chain(last).collect::<Vec<_>>().join("\n"), @r#"
     0.000 started e2e-pvc-loop broken
     0.000 GET /api/v1/namespaces/default/configmaps?watch=true
     0.000 connecting iterations=0 handled=0 knows -: []
     0.001 watching iterations=0 handled=0
     0.100 watching iterations=2 handled=2 knows -: [claim@14 kube-root-ca.crt@9]
    30.000 failed iterations=2599963 handled=2599963
    "#);
}

#[test]
fn the_fixed_loop_fails_at_the_close_and_does_not_watch_again() {
    for raw_end in ["closed", "reset", "torn"] {
        let mut stage = Stage::quiet();
        stage.create("claim");
        let client = stage.start(&FIXED);
        stage.run_secs(4);
        match raw_end {
            "closed" => stage.close_streams(),
            "reset" => stage.reset_connections(),
            _ => {
                stage.world.inject(Fault::TearFrame {
                    target: Target::All,
                    cut: Cut::Eof,
                });
                stage.write("claim", 1);
            }
        }
        stage.run_secs(60);
        assert_eq!(stage.report(client).phase, ClientPhase::Failed, "{raw_end}");
        assert_eq!(stage.asked(), ["watch"], "{raw_end}");
    }
}

#[test]
fn either_loop_passes_when_the_claim_is_deleted_and_fails_if_nothing_happens() {
    for program in [BROKEN, FIXED] {
        let mut stage = Stage::quiet();
        stage.create("claim");
        let client = stage.start(&program);
        stage.run_secs(4);
        stage.delete("claim");
        stage.run_secs(1);
        assert_eq!(stage.report(client).phase, ClientPhase::Done);

        let other = stage.start(&program);
        stage.run(Duration::from_millis(29_900));
        assert_eq!(stage.report(other).phase, ClientPhase::Watching);
        stage.run(Duration::from_millis(200));
        assert_eq!(stage.report(other).phase, ClientPhase::Failed);
    }
}

#[test]
fn a_day_of_spinning_fills_no_queue() {
    let mut stage = Stage::quiet();
    let program = Program::WatchDeployment(watchscope_simulator::WatchDeployment::V2);
    let client = stage.start(&program);
    stage.run_secs(2);
    stage.close_streams();
    stage.run_secs(86_400);
    assert!(stage.report(client).iterations >= 86_399 * 100_000);
    assert!(
        stage.records.len() < 86_400 + 10,
        "{} records",
        stage.records.len()
    );
}
