//! Completes objects of each kind of the workload on both servers, and sends wrong ones that both refuse.

use anyhow::Result;
use serde_json::{Value, json};

use super::dialogue::Dialogue;
use super::exchanges;

exchanges![
    a_pod_is_completed,
    a_pod_must_have_containers,
    a_deployment_is_completed,
    a_deployment_must_select_its_pods,
    a_replica_set_is_completed,
    a_job_is_completed,
    a_service_is_completed,
    a_service_must_have_ports,
    a_secret_is_completed,
    a_lease_an_event_and_an_account_are_completed,
    endpoints_come_with_a_warning,
    a_node_is_completed,
];

async fn made(d: &mut Dialogue<'_>, target: String, body: Value) -> Result<()> {
    d.post(target, &body).await?;
    Ok(())
}

async fn a_pod_is_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.core("pods");
    made(d, target, json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"b": "1", "a": "2"}},
        "spec": {
            "containers": [{
                "image": "registry.test/web:1", "name": "main", "ports": [{"containerPort": 80}],
                "env": [{"name": "A", "value": "1"}, {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "settings"}}],
        },
    })).await
}

async fn a_pod_must_have_containers(d: &mut Dialogue<'_>) -> Result<()> {
    for spec in [
        json!({}),
        json!({"containers": []}),
        json!({"containers": [{"name": "a"}]}),
        json!({"containers": [{"image": "i"}]}),
        json!({"containers": [{"name": "Bad_Name", "image": "i"}]}),
    ] {
        let target = d.core("pods");
        made(
            d,
            target,
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}),
        )
        .await?;
    }
    Ok(())
}

fn template(labels: Value) -> Value {
    json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "registry.test/web:1"}]}})
}

async fn a_deployment_is_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.group("apps/v1", "deployments");
    made(d, target, json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template(json!({"app": "web"}))},
    })).await?;
    let target = d.group("apps/v1", "deployments");
    made(d, target, json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "again"},
        "spec": {"strategy": {"type": "Recreate"}, "replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template(json!({"app": "web"}))},
    })).await
}

async fn a_deployment_must_select_its_pods(d: &mut Dialogue<'_>) -> Result<()> {
    for spec in [
        json!({"selector": {"matchLabels": {"app": "web"}}, "template": template(json!({"app": "api"}))}),
        json!({"template": template(json!({"app": "api"}))}),
        json!({"replicas": -1, "selector": {"matchLabels": {"app": "web"}}, "template": template(json!({"app": "web"}))}),
        json!({"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}}}),
    ] {
        let target = d.group("apps/v1", "deployments");
        made(d, target, json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})).await?;
    }
    Ok(())
}

async fn a_replica_set_is_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.group("apps/v1", "replicasets");
    made(d, target, json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template(json!({"app": "web"}))},
    })).await
}

async fn a_job_is_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let mut pods = template(json!({}));
    pods["spec"]["restartPolicy"] = json!("Never");
    let target = d.group("batch/v1", "jobs");
    made(d, target, json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": pods}})).await
}

async fn a_service_is_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.core("services");
    made(
        d,
        target,
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"clusterIP": "10.0.0.77", "selector": {"app": "web"}, "ports": [{"port": 80}]},
        }),
    )
    .await?;
    let target = d.core("services");
    made(d, target, json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "headless"},
        "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]},
    })).await?;
    d.delete(d.core("services/web")).await?;
    Ok(())
}

async fn a_service_must_have_ports(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.core("services");
    made(d, target, json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"clusterIP": "10.0.0.78"}})).await
}

async fn a_secret_is_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.core("secrets");
    made(d, target, json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "eA=="}, "stringData": {"b": "y"},
    })).await
}

async fn a_lease_an_event_and_an_account_are_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.group("coordination.k8s.io/v1", "leases");
    made(d, target, json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000001Z"},
    })).await?;
    let target = d.core("events");
    let namespace = d.namespace.clone();
    made(d, target, json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal", "reason": "R", "message": "M",
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "source": {"component": "test"}, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1,
    })).await?;
    let target = d.core("serviceaccounts");
    made(
        d,
        target,
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}),
    )
    .await
}

async fn endpoints_come_with_a_warning(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.core("endpoints");
    made(d, target, json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web"},
        "subsets": [{"addresses": [{"ip": "10.1.1.2"}, {"ip": "10.1.1.1"}], "ports": [{"port": 80}]}],
    })).await?;
    d.get(d.core("endpoints/web")).await?;
    Ok(())
}

async fn a_node_is_completed(d: &mut Dialogue<'_>) -> Result<()> {
    let name = format!("node-{}", d.namespace);
    made(d, "/api/v1/nodes".to_owned(), json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"podCIDR": "10.9.0.0/24"}})).await?;
    d.delete(format!("/api/v1/nodes/{name}")).await?;
    Ok(())
}
