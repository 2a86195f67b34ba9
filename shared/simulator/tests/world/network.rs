//! The network between clients and servers: load balancers, proxies, middleboxes, and access control.

use std::time::Duration;

use watchscope_simulator::{
    Config, Cut, Fault, Flow, Request, RequestId, Rights, ServerId, Target,
};

use crate::rig::{Rig, version};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn of_watcher() -> Target {
    Target::UserAgent("watcher/".to_owned())
}

/// A cluster with the configmap a, and a watch of it that has begun.
fn watched() -> (Rig, RequestId, u64) {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    let a = version(&rig.config_map("a"));
    rig.run_secs(1);
    let watch = open(&mut rig, a);
    rig.run_secs(1);
    (rig, watch, a)
}

fn open(rig: &mut Rig, version: u64) -> RequestId {
    let connection = rig.connect();
    let request = Request::get(&format!("{MAPS}?watch=1&resourceVersion={version}"));
    rig.send(connection, request.header("user-agent", "watcher/1"))
}

fn of_two_servers() -> Rig {
    let mut config = Config::empty();
    config.servers = vec!["1.30.0".parse().unwrap(), "1.29.3".parse().unwrap()];
    Rig::new(config)
}

/// The versions that answer this many connections, one after the other.
fn answering(rig: &mut Rig, connections: usize) -> Vec<String> {
    let version = |rig: &mut Rig| {
        rig.get("/version").1["gitVersion"]
            .as_str()
            .map(str::to_owned)
    };
    (0..connections).filter_map(|_| version(rig)).collect()
}

#[test]
fn the_balancer_gives_connections_in_turn_to_the_servers_in_rotation() {
    let mut rig = of_two_servers();
    assert_eq!(answering(&mut rig, 3), ["v1.30.0", "v1.29.3", "v1.30.0"]);
    let out = Fault::OutOfRotation {
        server: ServerId(1),
    };
    rig.world.inject(out.clone());
    assert_eq!(answering(&mut rig, 2), ["v1.30.0", "v1.30.0"]);
    rig.world.inject(Fault::OutOfRotation {
        server: ServerId(0),
    });
    let connection = rig.connect();
    rig.run_secs(1);
    assert_eq!(rig.refused, [connection], "nobody is left");
    rig.world.lift(&out);
    assert_eq!(answering(&mut rig, 1), ["v1.29.3"]);
}

#[test]
fn a_balancer_of_requests_sends_a_client_to_one_server_after_the_other() {
    let mut rig = of_two_servers();
    rig.world.inject(Fault::BalanceRequests);
    let connection = rig.connect();
    let mut answered = Vec::new();
    for _ in 0..4 {
        let id = rig.send(connection, Request::get("/version"));
        rig.run_secs(1);
        let body: serde_json::Value = serde_json::from_slice(&rig.reply(id).body()).unwrap();
        answered.push(body["gitVersion"].as_str().unwrap().to_owned());
    }
    assert_eq!(answered, ["v1.30.0", "v1.29.3", "v1.30.0", "v1.29.3"]);
}

#[test]
fn a_connection_with_a_goaway_closes_when_its_open_requests_are_over() {
    let (mut rig, watch, a) = watched();
    rig.world.inject(Fault::GoAway {
        target: of_watcher(),
        cut: None,
    });
    rig.write("a", 1);
    rig.run_secs(1);
    assert_eq!(rig.going_away.len(), 1);
    assert!(rig.closed.is_empty());
    assert_eq!(rig.lines(watch), [format!("MODIFIED a {}", a + 1)]);
    rig.world.inject(Fault::CloseStreams {
        target: Target::All,
    });
    rig.run_secs(1);
    assert!(rig.reply(watch).ended_at.is_some());
    let cuts: Vec<Cut> = rig.closed.values().map(|(_, cut)| *cut).collect();
    assert_eq!(cuts, [Cut::Eof]);
}

#[test]
fn some_balancers_cut_right_after_the_goaway() {
    let (mut rig, watch, _) = watched();
    rig.world.inject(Fault::GoAway {
        target: of_watcher(),
        cut: Some(Cut::Reset),
    });
    rig.run_secs(1);
    assert_eq!((rig.going_away.len(), rig.closed.len()), (1, 1));
    assert!(rig.reply(watch).ended_at.is_none());
}

#[test]
fn traffic_lost_in_one_direction_still_passes_in_the_other() {
    let (mut rig, watch, a) = watched();
    let up = Fault::LoseRequests {
        target: of_watcher(),
    };
    rig.world.inject(up.clone());
    rig.write("a", 1);
    let unheard = open(&mut rig, a);
    rig.run_secs(5);
    assert_eq!(rig.lines(watch), [format!("MODIFIED a {}", a + 1)]);
    assert!(!rig.replies.contains_key(&unheard), "nobody has heard it");
    rig.world.lift(&up);
    rig.run_secs(1);
    assert_eq!(rig.lines(unheard), [format!("MODIFIED a {}", a + 1)]);
    let down = Fault::LoseAnswers {
        target: of_watcher(),
    };
    rig.world.inject(down.clone());
    rig.write("a", 2);
    rig.run_secs(5);
    assert_eq!(rig.lines(watch).len(), 1);
    rig.world.lift(&down);
    rig.run_secs(1);
    assert_eq!(rig.lines(watch).len(), 2);
}

#[test]
fn a_proxy_that_buffers_passes_on_full_buffers_and_whole_answers() {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    let a = version(&rig.config_map("a"));
    rig.run_secs(1);
    let proxy = Fault::Buffer {
        target: Target::All,
        bytes: 2000,
    };
    rig.world.inject(proxy.clone());
    assert_eq!(rig.get("/version").0, 200, "a whole answer is not kept");
    let watch = open(&mut rig, a);
    rig.write("a", 1);
    rig.run_secs(5);
    assert!(!rig.replies.contains_key(&watch), "not even its head");
    for n in 2..=9 {
        rig.write("a", n);
    }
    rig.run_secs(1);
    let passed = rig.lines(watch).len();
    assert!((3..9).contains(&passed), "{passed} of 9 filled buffers");
    let times: std::collections::BTreeSet<_> = rig
        .reply(watch)
        .frames()
        .iter()
        .map(|(at, _)| *at)
        .collect();
    assert!(times.len() < passed, "they come together");
    rig.world.lift(&proxy);
    rig.run_secs(1);
    assert_eq!(rig.lines(watch).len(), 9);
}

#[test]
fn beyond_the_cap_requests_wait_for_others_to_end() {
    let mut rig = Rig::quiet();
    let cap = Fault::CapStreams {
        target: Target::All,
        streams: 2,
    };
    rig.world.inject(cap.clone());
    let connection = rig.world.connect(Flow::Immediate);
    let watch = Request::get(&format!("{MAPS}?watch=1&resourceVersion=0"));
    let ids: Vec<RequestId> = (0..4)
        .map(|_| rig.send(connection, watch.clone()))
        .collect();
    rig.run_secs(5);
    let answered = |rig: &Rig| {
        ids.iter()
            .map(|id| rig.replies.contains_key(id))
            .collect::<Vec<_>>()
    };
    assert_eq!(answered(&rig), [true, true, false, false]);
    rig.world.cancel(ids[0]);
    rig.run_secs(1);
    assert_eq!(answered(&rig), [true, true, true, false]);
    rig.world.lift(&cap);
    rig.run_secs(1);
    assert_eq!(answered(&rig), [true; 4]);
}

#[test]
fn idle_connections_are_forgotten_with_or_without_a_word() {
    for says_so in [true, false] {
        let (mut rig, watch, _) = watched();
        rig.world.inject(Fault::KillIdle {
            after: Duration::from_secs(10),
            says_so,
        });
        for n in 1..=3 {
            rig.write("a", n);
            rig.run_secs(8);
        }
        assert_eq!(rig.lines(watch).len(), 3, "it was not idle");
        rig.run_secs(12);
        let cuts: Vec<Cut> = rig.closed.values().map(|(_, cut)| *cut).collect();
        let expected: &[Cut] = if says_so { &[Cut::Reset] } else { &[] };
        assert_eq!(cuts, expected);
        rig.write("a", 4);
        rig.run_secs(5);
        assert_eq!(rig.lines(watch).len(), 3, "nothing passes any more");
    }
}

#[test]
fn a_request_that_is_not_modelled_is_501_and_counted() {
    let mut rig = Rig::quiet();
    let (status, body) = rig.get("/api/v1/namespaces/default/pods/web/log");
    insta::assert_snapshot!(format!("{status} {}", body["message"]), @r#"501 "watchscope's simulated apiserver does not model pods/log""#);
    rig.get("/api/v1/namespaces/default/pods/web");
    assert_eq!(rig.world.unmodelled(), 1);
    insta::assert_snapshot!(rig.world.take_unmodelled().join("\n"), @"GET /api/v1/namespaces/default/pods/web/log: watchscope's simulated apiserver does not model pods/log");
    assert!(rig.world.take_unmodelled().is_empty());
}

#[test]
fn tokens_and_rights_are_checked_when_a_request_begins() {
    let (mut rig, watch, a) = watched();
    let revoked = Fault::RevokeAccess {
        target: of_watcher(),
        resource: "configmaps".to_owned(),
        rights: Rights::Read,
    };
    rig.world.inject(revoked.clone());
    rig.write("a", 1);
    let refused = open(&mut rig, a);
    rig.run_secs(1);
    assert_eq!(rig.lines(watch).len(), 1, "the open watch goes on");
    let body = String::from_utf8(rig.reply(refused).body()).unwrap();
    insta::assert_snapshot!(body, @r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps is forbidden: User \"system:serviceaccount:default:watcher\" cannot watch resource \"configmaps\" in API group \"\" in the namespace \"default\"","reason":"Forbidden","details":{"kind":"configmaps"},"code":403}"#);
    assert_eq!(rig.get(MAPS).0, 200, "others may");
    rig.world.lift(&revoked);
    rig.world.inject(Fault::ExpireTokens {
        target: of_watcher(),
    });
    let refused = open(&mut rig, a);
    rig.run_secs(1);
    let body = String::from_utf8(rig.reply(refused).body()).unwrap();
    insta::assert_snapshot!(body, @r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#);
}

/// Status and first line of a refusal.
fn refused(rig: &mut Rig, request: Request) -> String {
    let answer = rig.ask(request.header("user-agent", "watcher/1"));
    let body = answer.json();
    let message = body["message"].as_str().unwrap_or_default();
    format!("{} {message}", answer.head.status)
}

#[test]
fn rights_to_read_and_to_write_are_revoked_apart() {
    let mut rig = Rig::quiet();
    rig.config_map("a");
    let revoked = |rights| Fault::RevokeAccess {
        target: of_watcher(),
        resource: "configmaps".to_owned(),
        rights,
    };
    let one = format!("{MAPS}/a");
    let named = serde_json::json!({"metadata": {"name": "b"}});
    let asked = [
        Request::get(&one),
        Request::get(MAPS),
        Request::new("POST", MAPS).json(&named),
        Request::new("PUT", &one).json(&named),
        Request::new("PATCH", &one).json(&named),
        Request::new("DELETE", &one),
        Request::new("DELETE", MAPS),
    ];
    rig.world.inject(revoked(Rights::Write));
    let lines: Vec<String> = asked.iter().map(|r| refused(&mut rig, r.clone())).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    200 
    200 
    403 configmaps is forbidden: User "system:serviceaccount:default:watcher" cannot create resource "configmaps" in API group "" in the namespace "default"
    403 configmaps "a" is forbidden: User "system:serviceaccount:default:watcher" cannot update resource "configmaps" in API group "" in the namespace "default"
    403 configmaps "a" is forbidden: User "system:serviceaccount:default:watcher" cannot patch resource "configmaps" in API group "" in the namespace "default"
    403 configmaps "a" is forbidden: User "system:serviceaccount:default:watcher" cannot delete resource "configmaps" in API group "" in the namespace "default"
    403 configmaps is forbidden: User "system:serviceaccount:default:watcher" cannot deletecollection resource "configmaps" in API group "" in the namespace "default"
    "#);
    rig.world.lift(&revoked(Rights::Write));

    rig.world.inject(revoked(Rights::All));
    let all = asked.map(|request| refused(&mut rig, request));
    assert!(all.iter().all(|line| line.starts_with("403 ")), "{all:#?}");
    let lesser = Fault::RevokeAccess {
        target: of_watcher(),
        resource: "pods".to_owned(),
        rights: Rights::Write,
    };
    rig.world.inject(lesser);
    let bind = Request::new("POST", "/api/v1/namespaces/default/pods/p/binding").json(&named);
    insta::assert_snapshot!(refused(&mut rig, bind), @r#"403 pods "p" is forbidden: User "system:serviceaccount:default:watcher" cannot create resource "pods/binding" in API group "" in the namespace "default""#);
}
