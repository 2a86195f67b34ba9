//! The cluster that lives by itself, and its answers about itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use watchscope_simulator::{ChangeKind, Config, Fault, Load, Request, Version};

use crate::rig::{Rig, version};

fn living() -> Rig {
    let mut config = Config::default();
    config.etcd.keep_journal = true;
    Rig::new(config)
}

/// A cluster with nodes and controllers, in which only stories act.
fn still() -> Rig {
    let mut config = Config::empty();
    config.workload.nodes = 2;
    config.etcd.keep_journal = true;
    let mut rig = Rig::new(config);
    rig.run_secs(1);
    rig
}

fn deployment(image: &str, replicas: u64) -> Value {
    json!({"metadata": {"name": "web"}, "spec": {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}},
    }})
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// A pod's state in one line: phase, waiting, ready, terminating.
fn stage(pod: &Value) -> String {
    let status = &pod["status"];
    let container = &status["containerStatuses"][0];
    let waiting = container["state"]["waiting"]["reason"].as_str();
    let mut stage = waiting
        .or(status["phase"].as_str())
        .unwrap_or("-")
        .to_owned();
    if pod["spec"]["nodeName"].is_string() && container.is_null() {
        stage = "Scheduled".to_owned();
    }
    if container["ready"] == true {
        stage = "Ready".to_owned();
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        stage.push_str("+terminating");
    }
    stage
}

#[test]
fn a_load_keeps_its_objects_and_makes_its_writes_after_the_warm_up() {
    let mut config = Config::default();
    config.workload.load = Some(Load {
        namespace: "busy".to_owned(),
        objects: 50,
        per_second: 200,
    });
    let mut rig = Rig::new(config);
    let (status, list) = rig.get("/api/v1/namespaces/busy/configmaps");
    assert_eq!((status, list["items"].as_array().unwrap().len()), (200, 50));
    let begun = version(&list);
    rig.run_secs(10);
    let (_, list) = rig.get("/api/v1/namespaces/busy/configmaps");
    let living = list["items"].as_array().unwrap().len();
    assert!((35..=50).contains(&living), "{living}");
    // Rounds are up to 5 % early or late; the cluster writes a few objects of its own.
    let writes = version(&list) - begun;
    assert!((1_800..=2_200).contains(&writes), "{writes}");
}

#[test]
fn a_pod_goes_through_every_stage_from_pending_to_gone() {
    let mut rig = still();
    rig.create(DEPLOYMENTS, &deployment("i:1", 1));
    rig.run_secs(20);
    rig.delete(&format!("{DEPLOYMENTS}/web"));
    rig.run_secs(20);
    let stages: Vec<String> = rig
        .world
        .truth()
        .history_of("pods")
        .iter()
        .map(|change| format!("{} {}", change.kind.as_str(), stage(change.object.value())))
        .collect();
    insta::assert_snapshot!(stages.join("\n"), @r"
    ADDED Pending
    MODIFIED Scheduled
    MODIFIED ContainerCreating
    MODIFIED Running
    MODIFIED Ready
    MODIFIED Ready+terminating
    MODIFIED Running+terminating
    DELETED Running+terminating
    ");
    for resource in ["deployments.apps", "replicasets.apps", "pods"] {
        assert!(
            rig.world.truth().objects(resource, "").is_empty(),
            "{resource} are collected"
        );
    }
}

#[test]
fn a_rollout_replaces_every_pod_and_never_falls_below_its_limit() {
    let mut rig = still();
    rig.create(DEPLOYMENTS, &deployment("i:1", 4));
    rig.run_secs(20);
    let before = rig.world.truth().revision();
    rig.merge(&format!("{DEPLOYMENTS}/web"), &deployment("i:2", 4));
    rig.run_secs(60);
    let mut ready: BTreeMap<String, bool> = BTreeMap::new();
    let mut fewest = usize::MAX;
    let mut most = 0;
    for change in rig.world.truth().history_of("pods") {
        let terminating = change.object.is_terminating();
        match change.kind {
            ChangeKind::Deleted => ready.remove(change.object.name()),
            _ => ready.insert(
                change.object.name().to_owned(),
                stage(change.object.value()) == "Ready" && !terminating,
            ),
        };
        if change.revision > before {
            fewest = fewest.min(ready.values().filter(|r| **r).count());
            most = most.max(ready.len());
        }
    }
    assert!(fewest >= 3, "25 % of four may be missing: {fewest}");
    assert!(
        most <= 4 + 1 + 4,
        "one more at a time, and those that end: {most}"
    );
    let truth = rig.world.truth();
    let pods = truth.objects("pods", "default");
    assert_eq!(pods.len(), 4);
    assert!(
        pods.iter()
            .all(|p| p.value()["spec"]["containers"][0]["image"] == "i:2")
    );
    let deployments = truth.objects("deployments.apps", "");
    let status = &deployments[0].value()["status"];
    assert_eq!(status["updatedReplicas"], 4);
    assert_eq!(status["availableReplicas"], 4);
    assert_eq!(status["observedGeneration"], 2);
    let sets = truth.objects("replicasets.apps", "");
    let mut sizes: Vec<i64> = sets
        .iter()
        .map(|s| s.value()["spec"]["replicas"].as_i64().unwrap())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 4], "the old one is kept, empty");
}

#[test]
fn a_rollback_uses_the_old_replicaset_again() {
    let mut rig = still();
    rig.create(DEPLOYMENTS, &deployment("i:1", 2));
    rig.run_secs(20);
    rig.merge(&format!("{DEPLOYMENTS}/web"), &deployment("i:2", 2));
    rig.run_secs(40);
    rig.merge(&format!("{DEPLOYMENTS}/web"), &deployment("i:1", 2));
    rig.run_secs(40);
    let truth = rig.world.truth();
    let sets = truth.objects("replicasets.apps", "");
    assert_eq!(sets.len(), 2);
    let revision =
        |o: &Value| o["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone();
    let current = sets
        .iter()
        .find(|s| s.value()["spec"]["replicas"] == 2)
        .unwrap();
    assert_eq!(revision(current.value()), "3");
    assert_eq!(
        revision(truth.objects("deployments.apps", "")[0].value()),
        "3"
    );
}

#[test]
fn an_absurd_size_is_cut_to_one_that_can_be_simulated() {
    let mut rig = still();
    let mut absurd = deployment("i:1", 1);
    absurd["spec"]["replicas"] = json!(i64::MAX);
    rig.create(DEPLOYMENTS, &absurd);
    rig.run_secs(60);
    let status = rig.get(&format!("{DEPLOYMENTS}/web")).1["status"].clone();
    assert_eq!(status["availableReplicas"], 1000);
}

#[test]
fn without_nodes_a_pod_stays_pending_and_says_why() {
    let mut rig = Rig::quiet();
    rig.create(DEPLOYMENTS, &deployment("i:1", 1));
    rig.run_secs(20);
    let pods = rig.world.truth().objects("pods", "");
    assert_eq!(pods[0].value()["status"]["phase"], "Pending");
    assert_eq!(
        pods[0].value()["status"]["conditions"][0]["reason"],
        "Unschedulable"
    );
}

#[test]
fn orphaned_pods_live_on_and_foreground_deletion_waits_for_them() {
    let mut rig = still();
    rig.create(DEPLOYMENTS, &deployment("i:1", 2));
    rig.run_secs(20);
    let set = rig.world.truth().objects("replicasets.apps", "")[0]
        .name()
        .to_owned();
    let foreground = json!({"propagationPolicy": "Foreground"});
    let request = Request::new("DELETE", &format!("{DEPLOYMENTS}/web")).json(&foreground);
    assert_eq!(rig.world.call(&request).head.status, 200);
    let orphan = json!({"propagationPolicy": "Orphan"});
    let target = format!("/apis/apps/v1/namespaces/default/replicasets/{set}");
    rig.world
        .call(&Request::new("DELETE", &target).json(&orphan));
    rig.run_secs(20);
    let truth = rig.world.truth();
    assert!(truth.objects("deployments.apps", "").is_empty());
    assert!(truth.objects("replicasets.apps", "").is_empty());
    let pods = truth.objects("pods", "");
    assert_eq!(pods.len(), 2);
    assert_eq!(pods[0].value()["metadata"].get("ownerReferences"), None);
}

#[test]
fn a_job_runs_its_pods_to_the_end() {
    let mut rig = still();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let body = json!({"metadata": {"name": "report"}, "spec": {"completions": 2, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    rig.create(jobs, &body);
    rig.run_secs(60);
    let job = rig.get(&format!("{jobs}/report")).1;
    assert_eq!(job["status"]["succeeded"], 2);
    assert_eq!(job["status"]["conditions"][0]["type"], "Complete");
    let phases: BTreeSet<String> = rig
        .world
        .truth()
        .objects("pods", "")
        .iter()
        .map(|p| p.value()["status"]["phase"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(phases, BTreeSet::from(["Succeeded".to_owned()]));
}

#[test]
fn a_service_has_its_ready_pods_as_endpoints() {
    let mut rig = still();
    let services = "/api/v1/namespaces/default/services";
    let body = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    rig.create(services, &body);
    rig.create(DEPLOYMENTS, &deployment("i:1", 2));
    rig.run_secs(20);
    let addresses = |rig: &Rig| {
        let endpoints = rig.world.truth().objects("endpoints", "");
        let subset = &endpoints[0].value()["subsets"][0];
        subset["addresses"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(addresses(&rig), 2);
    rig.merge(
        &format!("{DEPLOYMENTS}/web"),
        &json!({"spec": {"replicas": 1}}),
    );
    rig.run_secs(20);
    assert_eq!(addresses(&rig), 1);
}

#[test]
fn the_default_cluster_lives_as_configured() {
    let mut rig = living();
    let from = rig.world.now();
    let start = rig.world.truth().revision();
    rig.run_secs(300);
    let truth = rig.world.truth();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for change in truth.history().iter().filter(|c| c.revision > start) {
        *counts
            .entry(truth.resource_of(change).qualified())
            .or_default() += 1;
    }
    let count = |resource: &str| counts.get(resource).copied().unwrap_or(0);
    assert_eq!(from.as_micros(), 600_000_000);
    // Every 10 s: the leases of three nodes, and two of the control plane.
    assert!(
        (140..=160).contains(&count("leases.coordination.k8s.io")),
        "{counts:?}"
    );
    assert!((60..=120).contains(&count("configmaps")), "{counts:?}");
    for resource in [
        "pods",
        "deployments.apps",
        "replicasets.apps",
        "events",
        "endpoints",
    ] {
        assert!(count(resource) > 20, "{resource}: {counts:?}");
    }
    for resource in ["jobs.batch", "promotions.shop.example.com", "nodes"] {
        assert!(count(resource) >= 2, "{resource}: {counts:?}");
    }
    for resource in ["services", "secrets", "namespaces"] {
        assert_eq!(count(resource), 0, "{resource} are quiet");
    }
    let web = truth.objects("deployments.apps", "shop");
    assert_eq!(web.len(), 3);
}

#[test]
fn objects_show_the_managers_that_real_ones_have() {
    let rig = living();
    let truth = rig.world.truth();
    let managers = |resource: &str, namespace: &str| {
        let object = truth.objects(resource, namespace).remove(0);
        let entries = object.value()["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .clone();
        let managers: Vec<String> = entries
            .iter()
            .map(|e| {
                let name = e["manager"].as_str().unwrap();
                match e["subresource"].as_str() {
                    Some(subresource) => format!("{name}/{subresource}"),
                    None => name.to_owned(),
                }
            })
            .collect::<BTreeSet<String>>()
            .into_iter()
            .collect();
        managers.join(" ")
    };
    assert_eq!(
        managers("pods", "kube-system"),
        "kube-controller-manager kubelet/status"
    );
    assert_eq!(
        managers("deployments.apps", "shop"),
        "kube-controller-manager kube-controller-manager/scale kube-controller-manager/status kubectl-client-side-apply"
    );
    assert_eq!(
        managers("leases.coordination.k8s.io", "kube-node-lease"),
        "kubelet"
    );
    assert_eq!(
        managers("promotions.shop.example.com", "shop"),
        "kubectl-client-side-apply promotion-controller/status"
    );
}

#[test]
fn history_and_memory_stay_bounded_over_a_day() {
    let mut config = Config::default();
    config.workload.rollout_every = Some(Duration::from_secs(300));
    let mut rig = Rig::new(config);
    rig.run_secs(6 * 3600);
    let truth = rig.world.truth();
    let kept = truth.history().len();
    let objects: usize = [
        "pods",
        "replicasets.apps",
        "configmaps",
        "jobs.batch",
        "events",
    ]
    .iter()
    .map(|r| truth.objects(r, "").len())
    .sum();
    assert!(
        truth.revision() - truth.compacted() < 6000,
        "{} to {}",
        truth.compacted(),
        truth.revision()
    );
    assert!(kept < 6000, "{kept} changes kept");
    assert!(objects < 6000, "{objects} objects");
}

#[test]
fn discovery_is_served_in_both_forms() {
    let mut rig = living();
    let (status, version) = rig.get("/version");
    assert_eq!((status, &version["gitVersion"]), (200, &json!("v1.36.3")));
    for path in ["/healthz", "/livez", "/readyz"] {
        let response = rig.ask(Request::get(path));
        assert_eq!(
            (response.head.status, &response.body[..]),
            (200, &b"ok"[..])
        );
    }
    assert_eq!(rig.get("/api").1["versions"], json!(["v1"]));
    let legacy: BTreeSet<String> = ["/api/v1", "/apis/apps/v1", "/apis/shop.example.com/v1"]
        .iter()
        .flat_map(|path| rig.get(path).1["resources"].as_array().unwrap().clone())
        .map(|r| r["name"].as_str().unwrap().to_owned())
        .filter(|name| !name.contains('/'))
        .collect();
    assert!(
        legacy.contains("pods") && legacy.contains("deployments") && legacy.contains("promotions")
    );
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let response = rig.ask(Request::get("/apis").header("accept", accept));
    let content_type = response
        .head
        .headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .unwrap();
    assert_eq!(content_type.1, accept);
    assert!(
        response
            .json()
            .to_string()
            .contains("\"resource\":\"promotions\"")
    );
    assert_eq!(rig.get("/apis/nope").0, 404);
    assert_eq!(
        rig.get("/apis/apps").1["preferredVersion"]["groupVersion"],
        "apps/v1"
    );
    let paths = rig.get("/openapi/v3").1["paths"].clone();
    assert!(paths["apis/shop.example.com/v1"]["serverRelativeURL"].is_string());
    assert_eq!(rig.get("/openapi/v3/apis/shop.example.com/v1").0, 200);
    assert_eq!(rig.get("/openapi/v2").0, 501);
}

/// Sends a request while etcd has no leader, and returns its answer after `secs` seconds.
fn without_leader(version: Version, target: &str, secs: u64) -> String {
    let mut config = Config::empty();
    config.servers = vec![version];
    let mut rig = Rig::new(config);
    rig.config_map("a");
    rig.run_secs(20);
    rig.world.inject(Fault::NoLeader);
    rig.run_secs(2);
    let id = rig.open(target);
    rig.run_secs(secs);
    match rig.replies.get(&id).filter(|reply| reply.head.is_some()) {
        None => "nothing".to_owned(),
        Some(reply) => {
            let rest = match reply.lines().last() {
                Some(line) => format!(", then {line}"),
                None => String::new(),
            };
            format!("{}{rest}", reply.status())
        }
    }
}

#[test]
fn without_a_leader_caches_answer_etcd_does_not_and_watches_of_etcd_get_an_error() {
    let newest = Version::DEFAULT;
    let maps = "/api/v1/namespaces/default/configmaps";
    let events = "/api/v1/namespaces/default/events";
    // As measured at 1.36.3, over an etcd of three members, two of them killed.
    for (query, expected) in [
        ("", "nothing"),
        ("?limit=1", "nothing"),
        ("/a", "nothing"),
        ("/a?resourceVersion=0", "200"),
        ("?resourceVersion=0", "200"),
        ("?resourceVersion=9", "200"),
        ("?resourceVersion=9&limit=1", "200"),
        ("?resourceVersion=9&resourceVersionMatch=Exact", "200"),
        ("?watch=1", "nothing"),
        (
            "?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            "nothing",
        ),
        ("?watch=1&resourceVersion=9", "200"),
    ] {
        let said = without_leader(newest, &format!("{maps}{query}"), 20);
        assert!(said.starts_with(expected), "{query}: {said}");
    }
    let refused = "200, then ERROR 500 Internal error occurred: etcdserver: no leader";
    for (query, secs, expected) in [
        ("", 20, "nothing"),
        ("?resourceVersion=0", 20, "nothing"),
        ("?watch=1&resourceVersion=9", 1, refused),
        ("?watch=1&resourceVersion=0", 1, "200"),
        ("?watch=1&resourceVersion=0", 4, refused),
        ("?watch=1", 4, refused),
    ] {
        let said = without_leader(newest, &format!("{events}{query}"), secs);
        assert_eq!(said, expected, "{query} after {secs} s");
    }
    assert!(without_leader(newest, maps, 59).starts_with("nothing"));
    assert!(without_leader(newest, maps, 61).starts_with("504"));
    // Before snapshots, etcd serves an exact list.
    let exact = format!("{maps}?resourceVersion=9&resourceVersionMatch=Exact");
    let older = Version::new(33, 0).unwrap();
    assert_eq!(without_leader(older, &exact, 20), "nothing");
    // So it does a watch without a resourceVersion, in versions that send it to etcd.
    let straight = Version::new(27, 0).unwrap();
    assert_eq!(
        without_leader(straight, &format!("{maps}?watch=1"), 4),
        refused
    );
}

#[test]
fn a_watch_of_etcd_that_waits_for_a_leader_gets_its_state_from_the_next() {
    let mut rig = Rig::quiet();
    rig.world.inject(Fault::NoLeader);
    rig.run_secs(1);
    let id = rig.open("/api/v1/namespaces/default/events?watch=1");
    rig.run_secs(1);
    rig.world.lift(&Fault::NoLeader);
    rig.run_secs(1);
    let event = serde_json::json!({
        "metadata": {"name": "e"}, "reason": "R", "message": "M", "type": "Normal",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    });
    rig.create("/api/v1/namespaces/default/events", &event);
    rig.run_secs(1);
    assert!(rig.lines(id).iter().any(|line| line.starts_with("ADDED e")));
    assert_eq!(rig.reply(id).ended_at, None);
}
