//! The informer pipeline and the controller behind it (docs/semantics/clients.md#informer).

use std::time::Duration;

use watchscope_simulator::{ClientGo, ClientId, Controller, Fault, Program};

use crate::stage::Stage;

/// Versions with different queues; the last two get their first list as a watch-list.
const VERSIONS: [u8; 5] = [9, 32, 34, 35, 36];

fn controller(minor: u8) -> Controller {
    Controller {
        version: ClientGo::minor(minor),
        ..Controller::default()
    }
}

fn begun(stage: &mut Stage, how: Controller) -> ClientId {
    stage.create("a");
    stage.create("b");
    stage.run_secs(1);
    let client = stage.start(&Program::Controller(how));
    stage.run_secs(2);
    assert!(stage.compare(client).agrees());
    client
}

#[test]
fn handlers_get_every_change_once_and_the_worker_works_on_each_key() {
    for minor in VERSIONS {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, controller(minor));
        let first = stage.report(client);
        assert_eq!(
            (first.handled, first.iterations),
            (3, 3),
            "1.{minor}: a, b and the root CA"
        );
        stage.write("a", 1);
        stage.delete("b");
        stage.run_secs(1);
        let report = stage.report(client);
        assert_eq!((report.handled, report.iterations), (5, 5), "1.{minor}");
        assert!(stage.compare(client).agrees());
    }
}

#[test]
fn a_burst_on_one_object_is_worked_on_fewer_times_than_it_has_events() {
    for minor in VERSIONS {
        let mut stage = Stage::quiet();
        let how = Controller {
            work: Duration::from_millis(200),
            ..controller(minor)
        };
        let client = begun(&mut stage, how);
        let before = stage.report(client);
        for n in 1..=20 {
            stage.write("a", n);
            stage.run(Duration::from_millis(10));
        }
        stage.run_secs(2);
        let after = stage.report(client);
        assert_eq!(
            after.handled - before.handled,
            20,
            "1.{minor}: every event reaches the handlers"
        );
        let worked = after.iterations - before.iterations;
        assert!(
            (2..=3).contains(&worked),
            "1.{minor}: worked on {worked} times"
        );
    }
}

#[test]
fn deletions_that_it_missed_are_inferred_from_the_list() {
    for minor in VERSIONS {
        let mut stage = Stage::quiet();
        let client = begun(&mut stage, controller(minor));
        let before = stage.report(client).handled;
        stage.world.inject(Fault::Refuse);
        stage.reset_connections();
        stage.delete("a");
        stage.run_secs(1);
        stage.world.inject(Fault::Expire { resource: None });
        stage.world.lift(&Fault::Refuse);
        stage.run_secs(10);
        assert!(stage.compare(client).agrees(), "1.{minor}");
        let calls = stage.report(client).handled - before;
        assert_eq!(
            calls, 3,
            "1.{minor}: a deletion, and two updates that are none"
        );
    }
}

#[test]
fn a_resync_calls_the_update_handler_without_any_event_on_the_wire() {
    for minor in VERSIONS {
        let mut worked = Vec::new();
        for skips_equal_versions in [true, false] {
            let mut stage = Stage::quiet();
            let how = Controller {
                resync: Some(Duration::from_secs(30)),
                skips_equal_versions,
                ..controller(minor)
            };
            let client = begun(&mut stage, how);
            stage.asked();
            stage.run_secs(65);
            assert!(stage.asked().is_empty(), "the server is not asked");
            let report = stage.report(client);
            assert_eq!(report.handled, 3 + 2 * 3, "1.{minor}");
            worked.push(report.iterations);
        }
        assert_eq!(
            worked,
            [3, 9],
            "1.{minor}: who mistakes it for a change works three times"
        );
    }
}

#[test]
fn a_key_that_fails_comes_back_after_5_10_and_20_ms() {
    let mut stage = Stage::quiet();
    let how = Controller {
        failures: 3,
        ..controller(36)
    };
    let client = begun(&mut stage, how);
    let before = stage.report(client).iterations;
    assert_eq!(before, 3 * 4);
    stage.write("a", 1);
    stage.run(Duration::from_millis(20));
    assert_eq!(
        stage.report(client).iterations - before,
        3,
        "begun, after 5 and after 10 ms more"
    );
    stage.run_secs(1);
    assert_eq!(stage.report(client).iterations - before, 4);
}
