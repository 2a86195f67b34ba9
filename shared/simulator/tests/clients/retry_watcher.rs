//! client-go's RetryWatcher (docs/semantics/clients.md#retry-watcher).

use watchscope_simulator::{ClientGo, ClientPhase, Fault, Program};

use crate::stage::Stage;

const RETRY_WATCHER: Program = Program::RetryWatcher {
    version: ClientGo::LATEST,
};

#[test]
fn it_watches_again_from_the_last_version_a_second_after_it_began() {
    let mut stage = Stage::quiet();
    stage.create("a");
    let client = stage.start(&RETRY_WATCHER);
    stage.run_secs(3);
    stage.close_streams();
    stage.delete("a");
    stage.run_secs(2);
    for _ in 0..3 {
        stage.close_streams();
        stage.run(std::time::Duration::from_millis(400));
    }
    stage.run_secs(2);
    assert!(stage.compare(client).agrees());
    insta::assert_snapshot!(stage.lines(), @r#"
    0.000 started retry-watcher 1.36
    0.000 GET /api/v1/namespaces/default/configmaps
    0.000 listing iterations=0 handled=0 knows -: []
    0.001 GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=14&watch=true
    0.001 connecting iterations=1 handled=0 knows 14: [a@14 kube-root-ca.crt@9]
    0.001 watching iterations=1 handled=0
    3.000 GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=14&watch=true
    3.000 connecting iterations=2 handled=0
    3.001 watching iterations=2 handled=0
    3.100 watching iterations=2 handled=1 knows 15: [kube-root-ca.crt@9]
    5.000 GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=15&watch=true
    5.000 connecting iterations=3 handled=1
    5.000 watching iterations=3 handled=1
    5.400 backoff iterations=3 handled=1
    6.000 GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=15&watch=true
    6.000 connecting iterations=4 handled=1
    6.001 watching iterations=4 handled=1
    "#);
}

#[test]
fn an_in_band_410_ends_it_for_good() {
    let mut stage = Stage::quiet();
    stage.create("a");
    let client = stage.start(&RETRY_WATCHER);
    stage.run_secs(3);
    stage.world.inject(Fault::Refuse);
    stage.reset_connections();
    stage.delete("a");
    stage.run_secs(2);
    stage.world.inject(Fault::Expire { resource: None });
    stage.world.lift(&Fault::Refuse);
    stage.run_secs(600);
    assert_eq!(stage.report(client).phase, ClientPhase::Returned);
    assert_eq!(
        stage.compare(client).ghosts.len(),
        1,
        "nobody made up for the deletion"
    );
    let mut asked = stage.asked();
    asked.dedup();
    insta::assert_snapshot!(asked.join("\n"), @r#"
    list
    watch rv=14 bookmarks
    "#);
}

#[test]
fn a_refused_connection_is_tried_every_second_until_it_is_accepted() {
    let mut stage = Stage::quiet();
    stage.create("a");
    let client = stage.start(&RETRY_WATCHER);
    stage.run_secs(3);
    stage.asked();
    stage.world.inject(Fault::Refuse);
    stage.reset_connections();
    stage.delete("a");
    stage.run_secs(10);
    assert_eq!(stage.asked().len(), 10);
    stage.world.lift(&Fault::Refuse);
    stage.run_secs(2);
    assert!(stage.compare(client).agrees());
}
