//! A crowd of clients that report nothing, and the tally that counts them.

use std::time::Duration;

use watchscope_model::tree::BTreeMap;
use watchscope_simulator::{ClientGo, Cut, Fault, Program, ServerId, Target, Throttle};

use crate::stage::{Stage, maps};

fn reflector() -> Program {
    Program::Reflector {
        version: ClientGo::minor(27),
    }
}

/// Returns how many records of each kind the world has counted since the last call.
fn counted(stage: &mut Stage) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(record) = stage.world.next_tallied() {
        assert_eq!(record.server, ServerId(0));
        *counts.entry(format!("{:?}", record.tallied)).or_default() += 1;
    }
    let counts = counts.iter();
    let words: Vec<String> = counts
        .map(|(what, count)| format!("{what} {count}"))
        .collect();
    words.join(", ")
}

fn crowd(count: u16) -> Stage {
    let mut stage = Stage::quiet();
    stage.create("a");
    stage.world.tell_received();
    stage.world.tell_tally();
    stage.world.tell_inside();
    let ids = stage
        .world
        .start_crowd("crowd", &reflector(), &maps(), count);
    assert_eq!(ids.len(), usize::from(count));
    stage.run_secs(5);
    stage
}

#[test]
fn a_crowd_is_counted_and_reports_nothing() {
    let mut stage = crowd(30);
    assert_eq!(counted(&mut stage), "Listed 30, Watched 30");
    stage.write("a", 1);
    stage.run_secs(5);
    assert_eq!(counted(&mut stage), "");
    assert_eq!(
        (stage.records.len(), stage.world.next_received()),
        (0, None)
    );
    stage.close_streams();
    stage.run_secs(5);
    assert_eq!(counted(&mut stage), "Ended 30, Watched 30");
    stage.reset_connections();
    stage.run_secs(5);
    let inside = std::iter::from_fn(|| stage.world.next_inside_record());
    let inside: Vec<String> = inside.map(|record| format!("{record:?}")).collect();
    assert!(!inside.is_empty());
    let named = inside.iter().filter(|record| record.contains("crowd"));
    assert_eq!(named.count(), 0);
}

#[test]
fn another_client_is_counted_with_the_crowd_and_still_reports() {
    let mut stage = crowd(9);
    counted(&mut stage);
    stage.start(&reflector());
    stage.run_secs(5);
    assert!(!stage.records.is_empty());
    assert_eq!(counted(&mut stage), "Listed 1, Watched 1");
    stage.world.inject(Fault::Cut {
        target: Target::All,
        cut: Cut::Eof,
    });
    stage.run_secs(5);
    assert_eq!(counted(&mut stage), "Ended 10, Watched 10");
}

#[test]
fn errors_in_a_stream_and_refusals_are_counted() {
    let mut stage = crowd(4);
    counted(&mut stage);
    stage.world.inject(Fault::Expire { resource: None });
    stage.close_streams();
    // One write makes what the clients know too old.
    stage.write("a", 1);
    stage.run_secs(5);
    // A reflector gives the watch with the ERROR up, so its end does not count.
    assert_eq!(
        counted(&mut stage),
        "Ended 4, Failed(410) 4, Listed 4, Watched 8"
    );
    stage.world.inject(Fault::TooManyRequests {
        resource: None,
        throttle: Throttle::PriorityAndFairness,
        retry_after_secs: 30,
    });
    stage.close_streams();
    stage.run(Duration::from_secs(1));
    assert_eq!(counted(&mut stage), "Ended 4, Refused(429) 4, Watched 4");
}

#[test]
fn nothing_is_counted_before_it_is_asked_for() {
    let mut stage = Stage::quiet();
    stage.world.start_crowd("crowd", &reflector(), &maps(), 2);
    stage.run_secs(5);
    assert_eq!(stage.world.next_tallied(), None);
}
