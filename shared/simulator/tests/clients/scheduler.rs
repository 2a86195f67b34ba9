//! The mini scheduler (docs/semantics/cases.md#life-of-an-event).

use serde_json::{Value, json};
use watchscope_simulator::{ClientGo, ClientId, Config, Fault, Program, Request, WorkloadConfig};

use crate::stage::Stage;

const PODS: &str = "/api/v1/namespaces/default/pods";

fn begun(minor: u8) -> (Stage, ClientId) {
    let config = Config {
        workload: WorkloadConfig {
            nodes: 2,
            ..WorkloadConfig::none()
        },
        ..Config::empty()
    };
    let mut stage = Stage::new(config, 7);
    let client = stage.start(&Program::MiniScheduler {
        version: ClientGo::minor(minor),
    });
    stage.run_secs(2);
    (stage, client)
}

fn pod(stage: &mut Stage, name: &str, scheduler: &str) {
    let body = json!({
        "metadata": {"name": name},
        "spec": {"schedulerName": scheduler, "containers": [{"name": "main", "image": "nginx"}]},
    });
    stage.call(Request::new("POST", PODS).json(&body), 201);
}

/// The number of objects that each of its parts holds: nodes, pods, cache, queue.
fn holds(stage: &Stage, client: ClientId) -> [usize; 4] {
    let beliefs = stage.world.client_beliefs(client);
    let sizes: Vec<usize> = beliefs.iter().map(|belief| belief.objects.len()).collect();
    sizes.try_into().unwrap()
}

fn agrees(stage: &Stage, client: ClientId) -> bool {
    stage
        .world
        .compare_client(client)
        .iter()
        .all(|c| c.agrees())
}

fn node_of(stage: &mut Stage, name: &str) -> String {
    let pod = stage.call(Request::get(&format!("{PODS}/{name}")), 200);
    pod["spec"]["nodeName"].as_str().unwrap_or("").to_owned()
}

#[test]
fn a_pod_leaves_the_queue_and_enters_the_cache_by_one_event() {
    for minor in [9, 32, 36] {
        let (mut stage, client) = begun(minor);
        stage.world.inject(Fault::Delay {
            by: std::time::Duration::from_secs(2),
        });
        pod(&mut stage, "web", "mini-scheduler");
        stage.run_secs(3);
        assert_eq!(
            holds(&stage, client),
            [2, 1, 0, 1],
            "1.{minor}: it heard of the pod"
        );
        stage.run_secs(10);
        assert_eq!(
            holds(&stage, client),
            [2, 1, 1, 0],
            "1.{minor}: it bound the pod"
        );
        assert!(!node_of(&mut stage, "web").is_empty());
        assert!(agrees(&stage, client), "1.{minor}");
    }
}

#[test]
fn it_binds_each_pod_of_its_own_to_the_node_with_the_fewest() {
    let (mut stage, client) = begun(36);
    for n in 0..6 {
        pod(&mut stage, &format!("web-{n}"), "mini-scheduler");
    }
    pod(&mut stage, "other", "default-scheduler");
    pod(&mut stage, "nobodys", "no-scheduler");
    stage.run_secs(10);
    let mut on = std::collections::BTreeMap::<String, usize>::new();
    for n in 0..6 {
        *on.entry(node_of(&mut stage, &format!("web-{n}")))
            .or_default() += 1;
    }
    assert!(
        on.len() == 2 && on.values().all(|count| (2..=4).contains(count)),
        "{on:?}"
    );
    assert_eq!(node_of(&mut stage, "nobodys"), "");
    assert_eq!(holds(&stage, client), [2, 8, 7, 0]);
    assert_eq!(stage.report(client).iterations, 6);
    assert!(agrees(&stage, client));
}

#[test]
fn nobody_is_bound_twice() {
    let (mut stage, _) = begun(36);
    pod(&mut stage, "web", "mini-scheduler");
    stage.run_secs(5);
    let node = node_of(&mut stage, "web");
    let body =
        json!({"kind": "Binding", "metadata": {"name": "web"}, "target": {"name": "node-9"}});
    let path = format!("{PODS}/web/binding");
    let answer: Value = stage.call(Request::new("POST", &path).json(&body), 409);
    assert_eq!(
        answer["message"],
        format!(
            "Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to node {node:?}"
        )
    );
    stage.call(Request::get(&path), 405);
    assert_eq!(node_of(&mut stage, "web"), node);
}

#[test]
fn it_is_right_again_after_resets_an_expiry_and_deletions_that_it_missed() {
    for minor in [9, 20, 32, 34, 36] {
        let (mut stage, client) = begun(minor);
        for n in 0..5 {
            pod(&mut stage, &format!("web-{n}"), "mini-scheduler");
        }
        stage.run_secs(5);
        stage.world.inject(Fault::Refuse);
        stage.reset_connections();
        stage.call(
            Request::new("DELETE", &format!("{PODS}/web-0?gracePeriodSeconds=0")),
            200,
        );
        pod(&mut stage, "late", "mini-scheduler");
        stage.run_secs(3);
        stage.world.inject(Fault::Expire { resource: None });
        stage.world.lift(&Fault::Refuse);
        stage.run_secs(60);
        assert!(
            agrees(&stage, client),
            "1.{minor}: {:?}",
            stage.world.compare_client(client)
        );
        assert!(!node_of(&mut stage, "late").is_empty(), "1.{minor}");
    }
}
