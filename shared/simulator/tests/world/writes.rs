//! Writes: create, replace, patch, delete, and their refusals; definitions and their resources.

use serde_json::{Value, json};
use watchscope_simulator::Request;

use crate::rig::Rig;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn rig() -> Rig {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    rig
}

/// Status and message of a refused request.
fn refused(rig: &mut Rig, method: &str, target: &str, body: &Value) -> String {
    let response = rig.ask(Request::new(method, target).json(body));
    let status = response.json();
    format!(
        "{} {} {}",
        response.head.status,
        status["reason"].as_str().unwrap_or("-"),
        status["message"].as_str().unwrap_or("-")
    )
}

#[test]
fn creating_fills_in_what_the_server_knows() {
    let mut rig = rig();
    let body = json!({"metadata": {"generateName": "a-"}, "data": {"x": "1"}});
    let request = Request::new("POST", &format!("{MAPS}?fieldManager=kubectl-create")).json(&body);
    let response = rig.ask(request);
    assert_eq!(response.head.status, 201);
    let object = response.json();
    let metadata = &object["metadata"];
    assert_eq!(metadata["name"].as_str().unwrap().len(), "a-".len() + 5);
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!(metadata["creationTimestamp"], "2026-11-21T09:00:01Z");
    assert_eq!(metadata.get("generation"), None, "configmaps have none");
    let manager = &metadata["managedFields"][0];
    assert_eq!(manager["manager"], "kubectl-create");
    assert_eq!(
        manager["fieldsV1"],
        json!({"f:data": {".": {}, "f:x": {}}, "f:metadata": {"f:generateName": {}}})
    );
}

#[test]
fn the_manager_is_named_after_the_user_agent_unless_the_request_names_one() {
    let mut rig = rig();
    let request = Request::new("POST", MAPS)
        .json(&json!({"metadata": {"name": "a"}}))
        .header("User-Agent", "flux/2.1 (linux)");
    rig.ask(request);
    let patch = Request::new("PATCH", &format!("{MAPS}/a"))
        .header("user-agent", "flux/2.1")
        .header("content-type", "application/merge-patch+json");
    let patch = Request {
        body: r#"{"data":{"x":"1"}}"#.into(),
        ..patch
    };
    let object = rig.ask(patch).json();
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "flux");
}

#[test]
fn writes_are_refused_in_the_servers_words() {
    let mut rig = rig();
    let a = rig.config_map("a");
    let mut lines = Vec::new();
    let mut case = |method: &str, target: &str, body: Value| {
        lines.push(refused(&mut rig, method, target, &body));
    };
    case("POST", MAPS, json!({"metadata": {"name": "a"}}));
    case(
        "POST",
        MAPS,
        json!({"metadata": {"name": "b", "resourceVersion": "5"}}),
    );
    case("POST", MAPS, json!({"data": {}}));
    case(
        "POST",
        MAPS,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}),
    );
    case(
        "POST",
        MAPS,
        json!({"apiVersion": "apps/v1", "kind": "ConfigMap", "metadata": {"name": "b"}}),
    );
    case(
        "POST",
        "/api/v1/namespaces/nope/configmaps",
        json!({"metadata": {"name": "b"}}),
    );
    case(
        "POST",
        MAPS,
        json!({"metadata": {"name": "b", "namespace": "other"}}),
    );
    case(
        "POST",
        "/api/v1/configmaps",
        json!({"metadata": {"name": "b"}}),
    );
    case("POST", MAPS, json!([1]));
    case(
        "PUT",
        &format!("{MAPS}/a"),
        json!({"metadata": {"name": "a", "resourceVersion": "1"}}),
    );
    case(
        "PUT",
        &format!("{MAPS}/a"),
        json!({"metadata": {"name": "zz"}}),
    );
    case(
        "PUT",
        &format!("{MAPS}/zz"),
        json!({"metadata": {"name": "zz"}}),
    );
    case("PUT", MAPS, json!({}));
    case("DELETE", &format!("{MAPS}/zz"), json!({}));
    case(
        "DELETE",
        &format!("{MAPS}/a"),
        json!({"preconditions": {"uid": "x"}}),
    );
    case(
        "POST",
        &format!("{MAPS}?dryRun=Some"),
        json!({"metadata": {"name": "b"}}),
    );
    case("GET", "/api/v1/widgets", json!({}));
    let uid = a["metadata"]["uid"].as_str().unwrap();
    let text = lines.join("\n").replace(uid, "UID");
    insta::assert_snapshot!(text, @r#"
    409 AlreadyExists configmaps "a" already exists
    500 - resourceVersion should not be set on objects to be created
    422 Invalid ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required
    400 BadRequest Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion
    400 BadRequest ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"
    404 NotFound namespaces "nope" not found
    400 BadRequest the namespace of the provided object does not match the namespace sent on the request
    405 MethodNotAllowed the server does not allow this method on the requested resource
    400 BadRequest the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b315d)
    409 Conflict Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
    400 BadRequest the name of the object (zz) does not match the name on the URL (a)
    404 NotFound configmaps "zz" not found
    405 MethodNotAllowed the server does not allow this method on the requested resource
    404 NotFound configmaps "zz" not found
    409 Conflict Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in record (UID). The object might have been deleted and then recreated
    422 Invalid CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"
    404 NotFound the server could not find the requested resource
    "#);
    assert_eq!(
        rig.get(&format!("{MAPS}/b")).0,
        404,
        "nothing of it was done"
    );
}

#[test]
fn bodies_that_are_not_json_are_501_and_name_the_form_to_send() {
    let mut rig = rig();
    let body = || json!({"metadata": {"name": "b"}}).to_string();
    let send = |rig: &mut Rig, method: &str, target: &str, content_type: &str| {
        let request = Request::new(method, target).header("content-type", content_type);
        let response = rig.ask(Request {
            body: body().into(),
            ..request
        });
        (
            response.head.status,
            response.json()["message"].as_str().unwrap_or("").to_owned(),
        )
    };
    let (status, message) = send(
        &mut rig,
        "POST",
        MAPS,
        "application/vnd.kubernetes.protobuf",
    );
    assert_eq!(status, 501);
    assert!(message.contains("send application/json"), "{message}");
    rig.config_map("a");
    let apply = "application/apply-patch+yaml";
    let (status, message) = send(&mut rig, "PATCH", &format!("{MAPS}/a"), apply);
    assert_eq!(status, 501);
    assert!(message.contains("server-side apply"), "{message}");
    assert_eq!(rig.world.unmodelled(), 2);
}

#[test]
fn replacing_with_the_right_version_or_none_succeeds() {
    let mut rig = rig();
    let a = rig.config_map("a");
    let version = a["metadata"]["resourceVersion"].clone();
    let target = format!("{MAPS}/a");
    let put = |rig: &mut Rig, body: &Value| rig.ask(Request::new("PUT", &target).json(body));
    let body = json!({"metadata": {"name": "a", "resourceVersion": version}, "data": {"n": "1"}});
    let first = put(&mut rig, &body);
    assert_eq!(first.head.status, 200);
    assert_eq!(
        put(&mut rig, &body).head.status,
        409,
        "that version is spent"
    );
    let unconditional = json!({"metadata": {"name": "a"}, "data": {"n": "2"}});
    let second = put(&mut rig, &unconditional).json();
    assert_eq!(second["metadata"]["uid"], a["metadata"]["uid"]);
    assert_eq!(
        second["metadata"]["creationTimestamp"],
        a["metadata"]["creationTimestamp"]
    );
    let third = put(&mut rig, &unconditional).json();
    assert_eq!(third, second, "what changes nothing is not written");
}

#[test]
fn generation_counts_changes_of_the_spec() {
    let mut rig = rig();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let body = json!({"metadata": {"name": "web"}, "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    let generation = |object: &Value| object["metadata"]["generation"].as_i64().unwrap();
    let target = format!("{deployments}/web");
    assert_eq!(generation(&rig.create(deployments, &body)), 1);
    let labelled = rig.merge(&target, &json!({"metadata": {"labels": {"x": "y"}}}));
    assert_eq!(generation(&labelled), 1);
    let scaled = rig.merge(
        &target,
        &json!({"spec": {"replicas": 2}, "status": {"replicas": 99}}),
    );
    assert_eq!(generation(&scaled), 2);
    assert_ne!(
        scaled["status"]["replicas"], 99,
        "status is written through its subresource only"
    );
    let status = rig.merge(
        &format!("{target}/status"),
        &json!({"spec": {"replicas": 7}, "status": {"replicas": 1}}),
    );
    assert_eq!(generation(&status), 2);
    assert_eq!(
        (&status["spec"]["replicas"], &status["status"]["replicas"]),
        (&json!(2), &json!(1))
    );
    let managers = status["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(managers.last().unwrap()["subresource"], "status");
}

#[test]
fn json_patches_test_before_they_change() {
    let mut rig = rig();
    rig.config_map("a");
    let patch = |rig: &mut Rig, body: &'static str| {
        let request = Request::new("PATCH", &format!("{MAPS}/a"))
            .header("content-type", "application/json-patch+json");
        let response = rig.ask(Request {
            body: body.into(),
            ..request
        });
        (response.head.status, response.json()["data"].clone())
    };
    let good =
        r#"[{"op":"test","path":"/data/n","value":"0"},{"op":"add","path":"/data/m","value":"1"}]"#;
    assert_eq!(patch(&mut rig, good), (200, json!({"n": "0", "m": "1"})));
    let bad = r#"[{"op":"test","path":"/data/n","value":"9"},{"op":"remove","path":"/data/n"}]"#;
    assert_eq!(patch(&mut rig, bad).0, 422);
    assert_eq!(patch(&mut rig, "{").0, 400);
}

#[test]
fn a_deletion_is_answered_as_its_kind_requires() {
    let mut rig = rig();
    let uid = rig.config_map("a")["metadata"]["uid"].clone();
    let status = rig.delete(&format!("{MAPS}/a"));
    assert_eq!(status["status"], "Success");
    assert_eq!(
        status["details"],
        json!({"name": "a", "kind": "configmaps", "uid": uid})
    );
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    assert_eq!(rig.delete(account)["kind"], "ServiceAccount");
}

#[test]
fn finalizers_hold_an_object_until_they_are_gone() {
    let mut rig = rig();
    rig.create(
        MAPS,
        &json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}),
    );
    let target = format!("{MAPS}/a");
    let terminating = rig.delete(&target);
    assert_eq!(
        terminating["metadata"]["deletionTimestamp"],
        "2026-11-21T09:00:01Z"
    );
    let again = rig.delete(&target);
    assert_eq!(
        again["metadata"]["resourceVersion"],
        terminating["metadata"]["resourceVersion"]
    );
    rig.merge(&target, &json!({"metadata": {"finalizers": null}}));
    assert_eq!(rig.get(&target).0, 404);
    let history = rig.world.truth().history_of("configmaps");
    let last = history.last().unwrap();
    assert_eq!((last.kind.as_str(), last.object.name()), ("DELETED", "a"));
}

#[test]
fn a_terminating_namespace_that_is_deleted_again_stays_as_it_is() {
    let mut rig = rig();
    rig.create("/api/v1/namespaces", &json!({"metadata": {"name": "team"}}));
    rig.create(
        "/api/v1/namespaces/team/configmaps",
        &json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}),
    );
    rig.delete("/api/v1/namespaces/team");
    rig.run_secs(3);
    let held = rig.get("/api/v1/namespaces/team").1;
    assert_eq!(held["status"]["phase"], "Terminating");
    rig.run_secs(3);
    assert_eq!(rig.delete("/api/v1/namespaces/team"), held);
}

#[test]
fn a_collection_is_deleted_by_selector() {
    let mut rig = rig();
    for (name, tier) in [("a", "x"), ("b", "y"), ("c", "x")] {
        rig.create(
            MAPS,
            &json!({"metadata": {"name": name, "labels": {"tier": tier}}}),
        );
    }
    rig.delete(&format!("{MAPS}?labelSelector=tier%3Dx"));
    let left = rig.world.truth().objects("configmaps", "default");
    let names: Vec<&str> = left.iter().map(|o| o.name()).collect();
    assert_eq!(names, ["b", "kube-root-ca.crt"]);
}

#[test]
fn a_deleted_namespace_takes_its_content_along() {
    let mut rig = rig();
    rig.create("/api/v1/namespaces", &json!({"metadata": {"name": "team"}}));
    rig.run_secs(1);
    rig.create(
        "/api/v1/namespaces/team/configmaps",
        &json!({"metadata": {"name": "a"}}),
    );
    let terminating = rig.delete("/api/v1/namespaces/team");
    assert_eq!(terminating["status"]["phase"], "Terminating");
    let late = json!({"metadata": {"name": "b"}});
    let refusal = refused(
        &mut rig,
        "POST",
        "/api/v1/namespaces/team/configmaps",
        &late,
    );
    assert_eq!(
        refusal,
        "403 Forbidden configmaps \"b\" is forbidden: unable to create new content in namespace team because it is \
         being terminated"
    );
    rig.run_secs(5);
    assert_eq!(rig.get("/api/v1/namespaces/team").0, 404);
    assert!(rig.world.truth().objects("configmaps", "team").is_empty());
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ORDERS: &str = "/apis/shop.example.com/v1/namespaces/default/orders";

fn definition() -> Value {
    json!({"metadata": {"name": "orders.shop.example.com"}, "spec": {
        "group": "shop.example.com",
        "scope": "Namespaced",
        "names": {"plural": "orders", "kind": "Order", "shortNames": ["ord"]},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "Total", "type": "integer", "jsonPath": ".spec.total"}]}],
    }})
}

#[test]
fn a_definition_makes_a_resource_that_works() {
    let mut rig = rig();
    assert_eq!(rig.get(ORDERS).0, 404);
    rig.create(DEFINITIONS, &definition());
    rig.run_secs(1);
    let conditions = rig.get(&format!("{DEFINITIONS}/orders.shop.example.com")).1;
    assert_eq!(conditions["status"]["conditions"][1]["type"], "Established");
    let groups = rig.get("/apis").1.to_string();
    assert!(groups.contains("shop.example.com/v1"), "{groups}");
    let empty = rig.get(ORDERS).1;
    let start = empty["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = rig.open(&format!("{ORDERS}?watch=1&resourceVersion={start}"));
    rig.run_secs(1);
    let order = rig.create(
        ORDERS,
        &json!({"metadata": {"name": "first"}, "spec": {"total": 5}}),
    );
    assert_eq!(
        (&order["kind"], &order["metadata"]["generation"]),
        (&json!("Order"), &json!(1))
    );
    rig.merge(
        &format!("{ORDERS}/first/status"),
        &json!({"status": {"paid": true}}),
    );
    rig.run_secs(1);
    let kinds: Vec<String> = rig
        .lines(watch)
        .iter()
        .map(|l| l[..l.find(' ').unwrap()].to_owned())
        .collect();
    assert_eq!(kinds, ["ADDED", "MODIFIED"]);
    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let table = rig
        .ask(Request::get(ORDERS).header("accept", accept))
        .json();
    assert_eq!(table["rows"][0]["cells"], json!(["first", 5]));
    assert_eq!(
        rig.get(ORDERS).1["items"][0]["kind"],
        "Order",
        "items of custom lists have their kind"
    );
    let unconditional = json!({"metadata": {"name": "first"}, "spec": {"total": 6}});
    let refusal = refused(&mut rig, "PUT", &format!("{ORDERS}/first"), &unconditional);
    assert!(
        refusal.contains(
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        ),
        "{refusal}"
    );
}

#[test]
fn changing_a_definition_ends_its_watches_and_its_history() {
    let mut rig = rig();
    rig.create(DEFINITIONS, &definition());
    rig.run_secs(1);
    let order = rig.create(
        ORDERS,
        &json!({"metadata": {"name": "first"}, "spec": {"total": 5}}),
    );
    rig.run_secs(1);
    let start = order["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = rig.open(&format!("{ORDERS}?watch=1&resourceVersion={start}"));
    rig.run_secs(1);
    let patch = json!({"spec": {"names": {"shortNames": ["o"]}}});
    rig.merge(&format!("{DEFINITIONS}/orders.shop.example.com"), &patch);
    rig.run_secs(1);
    assert!(rig.reply(watch).ended_at.is_some());
    let again = rig.open(&format!("{ORDERS}?watch=1&resourceVersion={start}"));
    rig.run_secs(1);
    assert!(
        rig.lines(again)[0].starts_with("ERROR 410 too old resource version"),
        "{:?}",
        rig.lines(again)
    );
    assert_eq!(rig.get(ORDERS).1["items"].as_array().unwrap().len(), 1);
}

#[test]
fn deleting_a_definition_deletes_its_objects_then_ends_then_404s() {
    let mut rig = rig();
    rig.create(DEFINITIONS, &definition());
    rig.run_secs(1);
    let order = rig.create(
        ORDERS,
        &json!({"metadata": {"name": "first"}, "spec": {"total": 5}}),
    );
    let start = order["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = rig.open(&format!("{ORDERS}?watch=1&resourceVersion={start}"));
    rig.run_secs(1);
    rig.delete(&format!("{DEFINITIONS}/orders.shop.example.com"));
    rig.run_secs(2);
    assert!(
        rig.lines(watch)[0].starts_with("DELETED first"),
        "{:?}",
        rig.lines(watch)
    );
    assert!(rig.reply(watch).ended_at.is_some());
    assert_eq!(rig.get(ORDERS).0, 404);
    assert_eq!(
        rig.get(&format!("{DEFINITIONS}/orders.shop.example.com")).0,
        404
    );
    rig.create(DEFINITIONS, &definition());
    rig.run_secs(1);
    assert_eq!(
        rig.get(ORDERS).1["items"],
        json!([]),
        "it can be installed anew"
    );
}
