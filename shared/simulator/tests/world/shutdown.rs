//! An apiserver that stops, from SIGTERM to the next process in its place.

use std::time::Duration;

use watchscope_simulator::{ConnectionId, Cut, Fault, Request, RequestId, ServerId};

use crate::rig::Rig;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn shutdown(delay: u64, grace: u64, sends_retry_after: bool) -> Fault {
    Fault::Shutdown {
        server: ServerId(0),
        delay: Duration::from_secs(delay),
        grace: Duration::from_secs(grace),
        sends_retry_after,
    }
}

/// Opens `count` watches, each on its own connection.
fn watches(rig: &mut Rig, count: usize) -> Vec<(ConnectionId, RequestId)> {
    rig.config_map("a");
    let target = format!("{MAPS}?watch=1&resourceVersion=0");
    let opened = (0..count).map(|_| {
        let connection = rig.connect();
        let watch = rig.send(connection, Request::get(&target));
        (connection, watch)
    });
    let opened: Vec<_> = opened.collect();
    rig.run_secs(1);
    opened
}

/// An answer's status, the headers that matter for a refused client, and the body.
fn answer(rig: &Rig, id: RequestId) -> String {
    let reply = rig.reply(id);
    let headers = &reply.head.as_ref().unwrap().headers;
    let header = |name: &str| {
        let found = headers.iter().find(|(header, _)| header == name);
        found.map_or("-", |(_, value)| value.as_str())
    };
    format!(
        "{} retry={} connection={} {:?}",
        reply.status(),
        header("retry-after"),
        header("connection"),
        String::from_utf8(reply.body()).unwrap(),
    )
}

#[test]
fn a_server_is_not_ready_then_ends_its_watches_and_then_is_gone() {
    let mut rig = Rig::quiet();
    let (connection, watch) = watches(&mut rig, 1)[0];
    rig.world.inject(shutdown(3, 2, false));
    rig.run_secs(1);
    let ready = rig.open("/readyz");
    rig.run_secs(1);
    insta::assert_snapshot!(answer(&rig, ready), @r#"500 retry=- connection=- "[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n""#);
    assert_eq!(rig.get("/livez").0, 200);
    assert_eq!(rig.get(MAPS).0, 200, "it serves on");
    assert!(rig.reply(watch).ended_at.is_none());
    assert!(!rig.world.refuses_connections());

    rig.run_secs(3);
    assert!(rig.reply(watch).ended_at.is_some(), "in order");
    assert!(rig.going_away.contains(&connection));
    assert_eq!(rig.closed[&connection].1, Cut::Eof);
    let late = rig.connect();
    rig.run_secs(1);
    assert_eq!(rig.refused, [late]);
    assert!(rig.world.refuses_connections());

    rig.world.lift(&shutdown(3, 2, false));
    assert!(!rig.world.refuses_connections());
    rig.run_secs(1);
    assert_eq!(rig.get("/readyz").0, 200);
    assert_eq!(rig.get(MAPS).0, 200);
}

#[test]
fn without_a_grace_period_watches_go_on_for_a_minute_and_are_cut() {
    let mut rig = Rig::quiet();
    let (connection, watch) = watches(&mut rig, 1)[0];
    rig.world.inject(shutdown(0, 0, false));
    let idle = rig.send(connection, Request::get(MAPS));
    rig.run_secs(30);
    insta::assert_snapshot!(answer(&rig, idle), @r#"503 retry=1 connection=close "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"apiserver is shutting down\",\"reason\":\"ServiceUnavailable\",\"code\":503}\n\n""#);
    let before = rig.lines(watch).len();
    rig.write("a", 1);
    rig.run_secs(1);
    assert_eq!(rig.lines(watch).len(), before + 1, "it still gets events");
    rig.run_secs(30);
    assert_eq!(rig.closed[&connection].1, Cut::Eof);
    assert!(rig.reply(watch).ended_at.is_none(), "not in order");
}

#[test]
fn with_retry_after_it_listens_and_refuses_until_its_watches_have_ended_one_by_one() {
    let mut rig = Rig::quiet();
    let opened = watches(&mut rig, 40);
    rig.world.inject(shutdown(0, 10, true));
    rig.run(Duration::from_millis(100));
    let ended = |rig: &Rig| {
        let is_over =
            |(_, watch): &&(ConnectionId, RequestId)| rig.reply(*watch).ended_at.is_some();
        opened.iter().filter(is_over).count()
    };
    let half = ended(&rig);
    assert!(
        (10..30).contains(&half),
        "{half} of 40 after a tenth of a second"
    );
    let connection = rig.connect();
    let refused = rig.send(connection, Request::get(MAPS));
    let healthy = rig.open("/healthz");
    rig.run(Duration::from_millis(50));
    insta::assert_snapshot!(answer(&rig, refused), @r#"429 retry=5 connection=close "The apiserver is shutting down, please try again later.\n""#);
    assert_eq!(rig.closed[&connection].1, Cut::Eof);
    assert_eq!(
        rig.reply(healthy).status(),
        200,
        "probes are served to the last"
    );
    rig.run_secs(1);
    assert_eq!(ended(&rig), 40);
    assert!(rig.world.refuses_connections());
    rig.run_secs(3);
    for (connection, _) in &opened {
        assert_eq!(rig.closed[connection].1, Cut::Eof);
    }
}

/// Opens `count` watches. Returns how many of them have ended `wait` after a server began to drain them.
fn ended_after(count: usize, grace: u64, wait: Duration) -> usize {
    let mut rig = Rig::quiet();
    let opened = watches(&mut rig, count);
    rig.world.inject(shutdown(0, grace, true));
    rig.run(wait);
    let is_over = |(_, watch): &&(ConnectionId, RequestId)| rig.reply(*watch).ended_at.is_some();
    opened.iter().filter(is_over).count()
}

/// Watches end at max(200 a second, count / grace). So 200 watches end within a second, whatever the grace period. Only
/// more than 200 for each second of grace (12,000 at 60 s) end faster.
#[test]
fn watches_end_at_200_a_second_or_as_fast_as_the_grace_period_needs() {
    let second = Duration::from_millis(1010);
    assert_eq!(ended_after(200, 60, second), 200);
    let half = ended_after(200, 60, second / 2);
    assert!((95..=105).contains(&half), "{half}");
    let half = ended_after(600, 1, second / 2);
    assert!((290..=310).contains(&half), "{half}");
    assert_eq!(ended_after(600, 1, second), 600);
}

#[test]
fn of_two_servers_the_one_that_stops_gets_no_new_connections() {
    let mut config = watchscope_simulator::Config::empty();
    config.servers = vec![Default::default(); 2];
    let mut rig = Rig::new(config);
    rig.world.inject(shutdown(600, 0, false));
    for _ in 0..4 {
        assert_eq!(rig.get("/readyz").0, 200);
    }
}
