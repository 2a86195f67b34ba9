//! Discovery in both forms, complete and in part, and its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::harness::{Asked, Server};
use crate::cluster::{Catalog, ClientError, Discovery};

const NOW: Duration = Duration::ZERO;

fn aggregated_core() -> String {
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [{"metadata": {"creationTimestamp": null}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
            {"resource": "pods", "responseKind": {"group": "", "version": "", "kind": "Pod"}, "scope": "Namespaced",
             "singularResource": "pod", "verbs": ["get", "list", "watch"], "shortNames": ["po"], "categories": ["all"],
             "subresources": [{"subresource": "log", "verbs": ["get"]}]},
            {"resource": "bindings", "responseKind": {"group": "", "version": "", "kind": "Binding"}, "scope": "Namespaced",
             "singularResource": "binding", "verbs": ["create"]},
        ]}]}],
    })
    .to_string()
}

fn aggregated_group(
    name: &str,
    resource: &str,
    freshness: &str,
    with_resources: bool,
) -> serde_json::Value {
    let resources = json!([{"resource": resource, "responseKind": {"kind": "Some"}, "scope": "Cluster",
                            "singularResource": "", "verbs": ["list", "watch"]}]);
    json!({"metadata": {"name": name}, "versions": [
        {"version": "v1", "freshness": freshness, "resources": if with_resources { resources } else { json!([]) }},
    ]})
}

fn list_of(groups: &[serde_json::Value]) -> String {
    json!({"kind": "APIGroupDiscoveryList", "items": groups}).to_string()
}

fn names(catalog: &Catalog) -> Vec<String> {
    let of = |it: &crate::cluster::Resource| {
        format!("{} {} {}", it.group_version(), it.plural, it.singular)
    };
    catalog.resources.iter().map(of).collect()
}

fn failures(catalog: &Catalog) -> Vec<String> {
    catalog.failures.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn aggregated_discovery_takes_two_requests() {
    let server = Server::start(None, |asked| match asked.path.as_str() {
        "/api" => (200, aggregated_core()),
        _ => (
            200,
            list_of(&[aggregated_group("example.com", "gizmos", "Current", true)]),
        ),
    })
    .await;
    let catalog = Discovery::new(Arc::new(server.client()))
        .refresh(NOW)
        .await
        .unwrap();
    assert_eq!(
        names(&catalog),
        [
            "v1 pods pod",
            "v1 bindings binding",
            "example.com/v1 gizmos some"
        ]
    );
    assert!(catalog.failures.is_empty());
    let pods = catalog.resolve("po").unwrap();
    assert!(pods.is_namespaced && !catalog.resolve("gizmos").unwrap().is_namespaced);
    let asked = server.asked();
    assert_eq!(
        asked.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(),
        ["/api", "/apis"]
    );
    let accept = "accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                  application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json\r\n";
    assert!(asked[0].head.contains(accept), "{}", asked[0].head);
}

/// The APIServices of a cluster: group, and whether another apiserver serves it.
fn api_services(served: &[(&str, bool)]) -> String {
    let item = |&(group, by_another): &(&str, bool)| {
        let service = json!({"namespace": "reports", "name": "server", "port": 443});
        let service = if by_another { service } else { json!(null) };
        json!({"metadata": {"name": format!("v1.{group}")},
               "spec": {"service": service, "group": group, "version": "v1", "groupPriorityMinimum": 100}})
    };
    let items: Vec<_> = served.iter().map(item).collect();
    json!({"kind": "APIServiceList", "items": items}).to_string()
}

fn aggregated_names(catalog: &Catalog) -> Vec<&str> {
    let aggregated = catalog.resources.iter().filter(|it| it.is_aggregated);
    aggregated.map(|it| it.plural.as_str()).collect()
}

#[tokio::test]
async fn resources_of_another_apiserver_are_known_from_the_apiservices() {
    let round = Arc::new(AtomicUsize::new(0));
    let server = Server::start(None, {
        let round = Arc::clone(&round);
        move |asked| match asked.path.as_str() {
            "/api" => (200, aggregated_core()),
            "/apis" => {
                let group = |name, resource| aggregated_group(name, resource, "Current", true);
                let groups = [
                    group("apiregistration.k8s.io", "apiservices"),
                    group("example.com", "gizmos"),
                    group("reports.example.com", "reports"),
                    group("project.openshift.io", "projects"),
                ];
                (200, list_of(&groups))
            }
            "/apis/apiregistration.k8s.io/v1/apiservices" => match round.load(Ordering::Relaxed) {
                // The account may not read APIServices, at first and later.
                0 | 2 => (403, String::new()),
                1 => (
                    200,
                    api_services(&[
                        ("", false),
                        ("example.com", false),
                        ("reports.example.com", true),
                        ("project.openshift.io", true),
                    ]),
                ),
                // By now it is a custom resource.
                _ => (200, api_services(&[("reports.example.com", false)])),
            },
            other => panic!("{other}"),
        }
    })
    .await;
    let discovery = Discovery::new(Arc::new(server.client()));
    let mut seen = Vec::new();
    for index in 0..4 {
        round.store(index, Ordering::Relaxed);
        let catalog = discovery.refresh(NOW).await.unwrap();
        assert!(catalog.failures.is_empty());
        seen.push(aggregated_names(&catalog).join(" "));
    }
    assert_eq!(
        seen,
        [
            "projects",
            "reports projects",
            "reports projects",
            "projects"
        ]
    );
}

fn legacy(asked: &Asked) -> (u16, String) {
    let resource = |name: &str, kind: &str| {
        json!({"name": name, "singularName": "", "namespaced": true, "kind": kind,
               "verbs": ["get", "list", "watch"], "shortNames": []})
    };
    let list = |resources: &[serde_json::Value]| {
        (
            200,
            json!({"kind": "APIResourceList", "resources": resources}).to_string(),
        )
    };
    match asked.path.as_str() {
        "/api" => (
            200,
            json!({"kind": "APIVersions", "versions": ["v1"]}).to_string(),
        ),
        "/apis" => {
            let groups = json!([
                {"name": "apps", "versions": [{"groupVersion": "apps/v1beta1", "version": "v1beta1"},
                                              {"groupVersion": "apps/v1", "version": "v1"}],
                 "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}},
                {"name": "metrics.k8s.io", "versions": [{"groupVersion": "metrics.k8s.io/v1", "version": "v1"}]},
            ]);
            (
                200,
                json!({"kind": "APIGroupList", "groups": groups}).to_string(),
            )
        }
        "/api/v1" => list(&[resource("pods", "Pod"), resource("pods/log", "Pod")]),
        "/apis/apps/v1" | "/apis/apps/v1beta1" => list(&[resource("deployments", "Deployment")]),
        _ => (503, "error trying to reach service".to_owned()),
    }
}

#[tokio::test]
async fn legacy_discovery_asks_for_each_group_and_tolerates_one_that_fails() {
    let server = Server::start(None, legacy).await;
    let catalog = Discovery::new(Arc::new(server.client()))
        .refresh(NOW)
        .await
        .unwrap();
    assert_eq!(
        names(&catalog),
        [
            "v1 pods pod",
            "apps/v1 deployments deployment",
            "apps/v1beta1 deployments deployment"
        ],
        "preferred versions first, no subresources"
    );
    assert_eq!(
        failures(&catalog),
        ["metrics.k8s.io/v1 (503 Service Unavailable)"]
    );
    assert!(
        catalog
            .resolve("nodes.metrics.k8s.io")
            .unwrap_err()
            .is_undecided()
    );
    assert!(
        server.asked().iter().all(|asked| asked.connection == 1),
        "all requests use one connection"
    );
}

#[tokio::test]
async fn a_stale_group_is_reported_and_its_resources_are_kept() {
    let round = Arc::new(AtomicUsize::new(0));
    let server = Server::start(None, {
        let round = Arc::clone(&round);
        move |asked| match asked.path.as_str() {
            "/api" => (200, aggregated_core()),
            _ => {
                let groups = match round.load(Ordering::Relaxed) {
                    0 => vec![aggregated_group("example.com", "gizmos", "Current", true)],
                    1 => vec![aggregated_group("example.com", "gizmos", "Stale", false)],
                    2 => return (500, String::new()),
                    _ => vec![],
                };
                (200, list_of(&groups))
            }
        }
    })
    .await;
    let discovery = Discovery::new(Arc::new(server.client()));
    let mut seen = Vec::new();
    for index in 0..4 {
        round.store(index, Ordering::Relaxed);
        let catalog = discovery.refresh(NOW).await.unwrap();
        seen.push((
            catalog.resolve("gizmos").is_ok(),
            failures(&catalog).join(" "),
        ));
    }
    let stale = "example.com/v1 (the server that serves it does not answer)".to_owned();
    let broken = "all groups but the core group (500 Internal Server Error)".to_owned();
    assert_eq!(
        seen,
        [
            (true, String::new()),
            (true, stale),
            (true, broken),
            (false, String::new())
        ]
    );
}

#[tokio::test]
async fn a_custom_resource_installed_later_is_found_by_a_refresh() {
    let is_installed = Arc::new(AtomicUsize::new(0));
    let server = Server::start(None, {
        let is_installed = Arc::clone(&is_installed);
        move |asked| match (asked.path.as_str(), is_installed.load(Ordering::Relaxed)) {
            ("/api", _) => (200, aggregated_core()),
            (_, 0) => (200, list_of(&[])),
            _ => (
                200,
                list_of(&[aggregated_group("example.com", "gizmos", "Current", true)]),
            ),
        }
    })
    .await;
    let discovery = Discovery::new(Arc::new(server.client()));
    let error = discovery
        .refresh(NOW)
        .await
        .unwrap()
        .resolve("gizmos")
        .cloned()
        .unwrap_err();
    assert!(!error.is_undecided());
    is_installed.store(1, Ordering::Relaxed);
    let minute = Duration::from_secs(60);
    assert!(
        discovery
            .refresh(minute)
            .await
            .unwrap()
            .resolve("gizmos")
            .is_err(),
        "the kept catalogue is young enough"
    );
    assert_eq!(server.asked().len(), 2);
    assert!(
        discovery
            .refresh(NOW)
            .await
            .unwrap()
            .resolve("gizmos")
            .is_ok()
    );
}

#[tokio::test]
async fn one_round_of_requests_serves_all_callers_that_arrive_meanwhile() {
    let server = Server::start(None, legacy).await;
    let discovery = Discovery::new(Arc::new(server.client()));
    let minute = Duration::from_secs(60);
    let (left, right) = tokio::join!(discovery.refresh(minute), discovery.refresh(minute));
    assert!(Arc::ptr_eq(&left.unwrap(), &right.unwrap()));
    assert_eq!(
        server
            .asked()
            .iter()
            .filter(|asked| asked.path == "/api")
            .count(),
        1
    );
}

#[tokio::test]
async fn discovery_that_is_refused_completely_returns_the_servers_answer() {
    let server = Server::start(None, |_| {
        (
            403,
            json!({"kind": "Status", "message": "no discovery for you"}).to_string(),
        )
    })
    .await;
    let error = Discovery::new(Arc::new(server.client()))
        .refresh(NOW)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot ask the server what it serves: GET /api was answered 403 Forbidden: no discovery for you"
    );
}

#[tokio::test]
async fn an_answer_that_is_no_discovery_is_an_error() {
    for answer in ["", "[]", "{}", "<html>", "{\"items\": 3}"] {
        let server = Server::start(None, move |_| (200, answer.to_owned())).await;
        let error = Discovery::new(Arc::new(server.client()))
            .refresh(NOW)
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("the answer to GET /api is not understood: "),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_unreachable_server_is_a_network_error() {
    let server = Server::start(None, legacy).await;
    let client = server.client();
    drop(server);
    // The listener is dropped when its task is polled next.
    tokio::task::yield_now().await;
    let error = Discovery::new(Arc::new(client))
        .refresh(NOW)
        .await
        .unwrap_err();
    assert!(
        error.to_string().ends_with("refused the connection"),
        "{error}"
    );
}

#[tokio::test]
async fn an_idle_connection_that_was_closed_is_replaced() {
    let server = Server::start(None, |asked| {
        if asked.connection == 1 && asked.path == "/2" {
            (0, String::new())
        } else {
            (200, "{}".into())
        }
    })
    .await;
    let client = server.client();
    for path in ["/1", "/2", "/3"] {
        assert_eq!(
            client
                .get(path, "application/json", 10)
                .await
                .unwrap()
                .status,
            200
        );
    }
    let seen: Vec<_> = server
        .asked()
        .into_iter()
        .map(|asked| (asked.path, asked.connection))
        .collect();
    assert_eq!(
        seen,
        [
            ("/1".into(), 1),
            ("/2".into(), 1),
            ("/2".into(), 2),
            ("/3".into(), 2)
        ]
    );
}

#[tokio::test]
async fn the_version_is_read_and_an_answer_is_bounded() {
    let server = Server::start(None, |_| {
        (
            200,
            json!({"gitVersion": "v1.36.3", "platform": "linux/amd64"}).to_string(),
        )
    })
    .await;
    let client = server.client();
    let version = client.version().await.unwrap();
    assert_eq!(
        (version.git_version.as_str(), version.platform.as_str()),
        ("v1.36.3", "linux/amd64")
    );
    let error = client
        .get("/version", "application/json", 10)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Body { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "GET /version: the answer is larger than 10 bytes"
    );
}
