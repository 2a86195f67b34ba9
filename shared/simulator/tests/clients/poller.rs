//! The poller (watch versus poll, docs/semantics/cases.md#life-of-an-event).

use std::time::Duration;

use watchscope_simulator::{
    Config, Cut, Fault, Flow, Pause, Program, Request, Target, Time, World,
};

use crate::stage::{Stage, maps};

const EVERY_5_S: Program = Program::Poller {
    every: Duration::from_secs(5),
};

#[test]
fn a_poller_asks_at_every_interval_and_is_late_by_up_to_one() {
    let mut stage = Stage::quiet();
    stage.create("a");
    stage.run_secs(1);
    let client = stage.start(&EVERY_5_S);
    stage.run_secs(1);
    stage.write("a", 1);
    stage.create("b");
    stage.run_secs(1);
    assert_eq!(
        stage.compare(client).missing.len(),
        1,
        "it does not know yet"
    );
    stage.run_secs(10);
    assert!(stage.compare(client).agrees());
    insta::assert_snapshot!(stage.lines(), @r#"
     1.000 started poller -
     1.000 GET /api/v1/namespaces/default/configmaps
     1.000 listing iterations=1 handled=0 knows -: []
     1.001 sleeping iterations=1 handled=2 knows 14: [a@14 kube-root-ca.crt@9]
     6.001 GET /api/v1/namespaces/default/configmaps
     6.001 listing iterations=2 handled=2
     6.002 sleeping iterations=2 handled=4 knows 16: [a@15 b@16 kube-root-ca.crt@9]
    11.002 GET /api/v1/namespaces/default/configmaps
    11.002 listing iterations=3 handled=4
    11.002 sleeping iterations=3 handled=4
    "#);
}

#[test]
fn a_poller_outlives_a_reset_and_a_refusal() {
    let mut stage = Stage::quiet();
    stage.create("a");
    let client = stage.start(&EVERY_5_S);
    stage.run_secs(3);
    stage.world.inject(Fault::Refuse);
    stage.world.inject(Fault::Cut {
        target: Target::UserAgent("client ".to_owned()),
        cut: Cut::Reset,
    });
    stage.delete("a");
    stage.run_secs(10);
    assert_eq!(stage.compare(client).ghosts.len(), 1);
    stage.world.lift(&Fault::Refuse);
    stage.run_secs(10);
    assert!(stage.compare(client).agrees());
}

#[test]
fn clients_of_the_world_and_of_the_driver_get_no_deliveries_of_each_other() {
    let mut world = World::new(Config::empty(), 1);
    let client = world.start_client("client", &EVERY_5_S, &maps());
    let connection = world.connect(Flow::Immediate);
    world.send(connection, Request::get("/version"));
    let mut heard = 0;
    while world.run_until(Time::from_secs(60)) == Pause::Deliveries {
        while let Some(delivery) = world.next_delivery() {
            assert_eq!(delivery.connection, connection);
            heard += 1;
        }
    }
    assert_eq!(heard, 4, "connected, head, body, end");
    assert!(world.client_report(client).unwrap().iterations >= 11);
    world.stop_client(client);
    assert_eq!(world.client_report(client), None);
}

#[test]
fn a_seed_gives_the_same_client_records_again() {
    let records = |seed| {
        let mut stage = Stage::new(Config::default(), seed);
        stage.start(&EVERY_5_S);
        stage.run_secs(60);
        stage.lines()
    };
    assert_eq!(records(3), records(3));
}
