//! Hostile requests: whatever is sent, the world answers and lives on.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use watchscope_simulator::{Config, Request, World};

use crate::rig::cases;

/// Valid objects, and the collections in which they are created.
fn good() -> Vec<(&'static str, Value)> {
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}});
    vec![
        (
            "/apis/apps/v1/namespaces/default/deployments",
            json!({"metadata": {"name": "a"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}},
                "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "10%"}}, "template": template}}),
        ),
        (
            "/apis/apps/v1/namespaces/default/replicasets",
            json!({"metadata": {"name": "a"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}},
                "template": template}, "status": {"replicas": 3}}),
        ),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            json!({"metadata": {"name": "a"}, "spec": {"completions": 2, "parallelism": 1, "template": template}}),
        ),
        (
            "/api/v1/namespaces/default/pods",
            json!({"metadata": {"name": "a", "finalizers": [], "ownerReferences": [{"kind": "Job", "name": "a", "uid": "u"}]},
                "spec": template["spec"].clone(), "status": {"conditions": [{"type": "Ready"}], "containerStatuses": []}}),
        ),
        (
            "/api/v1/namespaces/default/services",
            json!({"metadata": {"name": "a"}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}}),
        ),
        (
            "/api/v1/namespaces/default/secrets",
            json!({"metadata": {"name": "a", "annotations": {"x": "y"}}, "stringData": {"k": "v"}, "data": {"l": "dg=="}}),
        ),
        (
            "/api/v1/nodes",
            json!({"metadata": {"name": "node-1", "labels": {"node-role.kubernetes.io/x": ""}}, "spec": {"unschedulable": false},
                "status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"address": "1"}]}}),
        ),
        (
            "/api/v1/namespaces",
            json!({"metadata": {"name": "default"}, "spec": {"finalizers": ["kubernetes"]}}),
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            json!({"metadata": {"name": "things.x.io"}, "spec": {"group": "x.io", "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
                "additionalPrinterColumns": [{"name": "A", "type": "date", "jsonPath": ".spec.a"}]}]}}),
        ),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, 1, "x", {}])),
        Just(json!({"a": {"b": []}})),
        Just(json!("")),
        Just(json!("\u{e9}\u{1f600}/..,=(\\")),
        Just(json!("99999999999999999999%")),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(i64::MAX)),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!(1.5e300)),
    ]
}

/// Puts `with` into `value`, at the place where `path` ends.
fn corrupt(value: &mut Value, path: &[usize], with: &Value) {
    let Some((step, rest)) = path.split_first() else {
        *value = with.clone();
        return;
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            let n = step % map.len();
            if let Some((_, inner)) = map.iter_mut().nth(n) {
                corrupt(inner, rest, with);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let n = step % list.len();
            corrupt(&mut list[n], rest, with);
        }
        _ => *value = with.clone(),
    }
}

#[derive(Clone, Debug)]
struct Attack {
    which: usize,
    path: Vec<usize>,
    with: Value,
    method: &'static str,
    suffix: &'static str,
    query: String,
    accept: &'static str,
    content_type: &'static str,
}

fn attack() -> impl Strategy<Value = Attack> {
    let method = prop_oneof![
        4 => Just("POST"),
        2 => Just("PUT"),
        3 => Just("PATCH"),
        1 => Just("DELETE"),
        1 => Just("GET"),
        1 => Just("BREW"),
    ];
    let suffix = prop_oneof![
        Just(""),
        Just("/a"),
        Just("/a/status"),
        Just("/node-1/status"),
        Just("/%2e%2e/%ff"),
        Just("/default"),
        Just("/things.x.io"),
    ];
    let query = prop_oneof![
        4 => Just(String::new()),
        1 => "[a-zA-Z]{0,12}=[ -~]{0,12}",
        1 => "(labelSelector|fieldSelector|continue|resourceVersion|limit|fieldManager)=[ -~]{0,16}",
        1 => Just(format!("resourceVersion={}&limit=1", u64::MAX)),
        1 => Just("watch=1&timeoutSeconds=18446744073709551615".to_owned()),
    ];
    let accept = prop_oneof![
        Just("application/json"),
        Just("application/json;as=Table;g=meta.k8s.io;v=v1"),
        Just("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        Just(";;,,="),
    ];
    let content_type = prop_oneof![
        3 => Just("application/json"),
        3 => Just("application/merge-patch+json"),
        1 => Just("application/json-patch+json"),
    ];
    (
        0..9usize,
        prop::collection::vec(0..6usize, 0..7),
        anything(),
        method,
        suffix,
        query,
        accept,
        content_type,
    )
        .prop_map(
            |(which, path, with, method, suffix, query, accept, content_type)| Attack {
                which,
                path,
                with,
                method,
                suffix,
                query,
                accept,
                content_type,
            },
        )
}

fn request(attack: &Attack) -> Request {
    let (collection, mut body) = good().swap_remove(attack.which);
    corrupt(&mut body, &attack.path, &attack.with);
    let content_type = if attack.method == "PATCH" || attack.content_type == "application/json" {
        attack.content_type
    } else {
        "application/json"
    };
    let mut request = Request::new(attack.method, &format!("{collection}{}", attack.suffix))
        .header("content-type", content_type)
        .header("accept", attack.accept);
    request.query.clone_from(&attack.query);
    request.body = body.to_string().into();
    request
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn no_request_brings_the_world_down(attacks in prop::collection::vec(attack(), 1..25)) {
        let mut config = Config::empty();
        config.workload.nodes = 2;
        config.workload.leases = true;
        let mut world = World::new(config, 3);
        world.run_until(world.now() + Duration::from_secs(1));
        for (collection, body) in good() {
            world.call(&Request::new("POST", collection).json(&body));
        }
        for attack in &attacks {
            let response = world.call(&request(attack));
            prop_assert!((200..600).contains(&response.head.status));
            if response.head.status >= 400 {
                let message = response.json()["message"].as_str().map(str::len);
                prop_assert!(message > Some(0) || !response.body.is_empty(), "a refusal says why");
            }
            world.run_until(world.now() + Duration::from_millis(300));
        }
        world.run_until(world.now() + Duration::from_secs(320));
        let alive = world.call(&Request::get("/api/v1/pods"));
        prop_assert_eq!(alive.head.status, 200);
        for accept in ["application/json;as=Table;g=meta.k8s.io;v=v1", "application/json"] {
            for (collection, _) in good() {
                let list = world.call(&Request::get(collection).header("accept", accept));
                prop_assert_eq!(list.head.status, 200);
                prop_assert!(list.json().is_object());
            }
        }
    }
}
