//! One process with many watches without a resourceVersion (F20), and clients of one server.

use watchscope_simulator::{
    ClientPhase, Config, Fault, Program, Request, ServerId, Version, WatchDeployment,
};

use crate::stage::{Stage, maps};

const MANY: Program = Program::ManyWatches { watches: 20 };

#[test]
fn many_watches_open_without_a_version_and_again_5_s_after_an_end() {
    let mut stage = Stage::quiet();
    stage.create("a");
    let client = stage.start(&MANY);
    stage.run_secs(2);
    assert_eq!(stage.asked(), ["watch"; 20]);
    let report = stage.report(client);
    // The root certificates and a.
    assert_eq!((report.phase, report.handled), (ClientPhase::Watching, 40));
    assert_eq!(stage.world.client_connections(client).len(), 1);
    assert!(stage.world.client_beliefs(client).is_empty());
    stage.close_streams();
    stage.run_secs(4);
    assert_eq!(stage.report(client).phase, ClientPhase::Sleeping);
    assert_eq!(stage.asked(), [""; 0]);
    stage.run_secs(2);
    assert_eq!(stage.asked(), ["watch"; 20]);
    stage.write("a", 1);
    stage.run_secs(1);
    assert_eq!(stage.report(client).handled, 100);
}

#[test]
fn a_process_of_many_watches_runs_the_program_whose_loop_it_repeats() {
    let one = Program::WatchDeployment(WatchDeployment::Final);
    assert_eq!((MANY.name(), MANY.version()), (one.name(), one.version()));
}

#[test]
fn a_client_of_one_server_stays_with_it_past_the_load_balancer() {
    let mut config = Config::empty();
    let own: Version = "1.30".parse().unwrap();
    config.servers = vec![Version::DEFAULT, own, Version::DEFAULT];
    let mut stage = Stage::new(config, 7);
    let second = ServerId(1);
    let client = stage
        .world
        .start_client_at(second, "client", &MANY, &maps());
    let is_at = |stage: &Stage| {
        let connections = stage.world.client_connections(client);
        connections
            .iter()
            .map(|connection| stage.world.version_at(*connection))
            .collect::<Vec<_>>()
    };
    for _ in 0..4 {
        stage.run_secs(2);
        assert_eq!(is_at(&stage), [Some(own)]);
        stage.reset_connections();
        stage.run_secs(6);
    }
    // It is refused while its server is gone, although others are there.
    let ended = Fault::Shutdown {
        server: second,
        delay: std::time::Duration::ZERO,
        grace: std::time::Duration::ZERO,
        sends_retry_after: false,
    };
    stage.world.inject(ended.clone());
    stage.run_secs(90);
    assert_eq!(stage.report(client).phase, ClientPhase::Sleeping);
    let answer = stage.world.call(&Request::get("/api/v1/configmaps"));
    assert_eq!(answer.head.status, 200);
    stage.world.lift(&ended);
    stage.run_secs(10);
    assert_eq!(stage.report(client).phase, ClientPhase::Watching);
}
