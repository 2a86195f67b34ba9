//! The forms of an answer: whole objects, metadata only, Tables; and forms that the server cannot give.

use anyhow::Result;
use serde_json::json;

use super::dialogue::Dialogue;
use super::exchanges;
use super::wire::Ask;

exchanges![
    one_object_comes_as_metadata,
    a_list_comes_as_metadata_in_pages,
    a_watch_comes_as_metadata,
    a_list_comes_as_a_table,
    a_table_holds_as_much_of_its_objects_as_asked,
    one_object_comes_as_a_table,
    a_watch_comes_as_tables,
    pods_come_as_a_table,
    deployments_come_as_a_table,
    services_come_as_a_table,
    namespaces_come_as_a_table,
    an_empty_list_comes_as_a_table,
    a_written_object_comes_in_the_requested_form,
    forms_that_cannot_be_had_are_refused,
    the_first_form_that_the_server_has_is_used,
];

const ONE: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

async fn asked(d: &mut Dialogue<'_>, target: String, accept: &str) -> Result<()> {
    d.ask(Ask::new("GET", target).header("accept", accept))
        .await?;
    Ok(())
}

async fn one_object_comes_as_metadata(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let target = d.core("configmaps/a");
    asked(d, target, ONE).await?;
    let target = d.core("configmaps/gone");
    asked(d, target, ONE).await
}

async fn a_list_comes_as_metadata_in_pages(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.config_map("b").await?;
    let target = d.core("configmaps?limit=1");
    let first = d
        .ask(Ask::new("GET", target).header("accept", LIST))
        .await?;
    let token = first.text("/metadata/continue")?;
    let target = d.core(&format!("configmaps?limit=1&continue={token}"));
    asked(d, target, LIST).await
}

async fn a_watch_comes_as_metadata(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    d.touch("a", "2").await?;
    d.remove("a").await?;
    let target = d.core(&format!("configmaps?watch=1&resourceVersion={version}"));
    let mut watch = d
        .watch_with(Ask::new("GET", target).header("accept", ONE))
        .await?;
    d.frames(&mut watch, 2).await?;
    let target = d.core("configmaps?watch=1&allowWatchBookmarks=true");
    let mut watch = d
        .watch_with(Ask::new("GET", target).header("accept", ONE))
        .await?;
    d.frames(&mut watch, 1).await?;
    let target = d.core("configmaps?watch=1&resourceVersion=1");
    let mut watch = d
        .watch_with(Ask::new("GET", target).header("accept", ONE))
        .await?;
    d.next(&mut watch).await?;
    Ok(())
}

async fn a_list_comes_as_a_table(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.config_map("b").await?;
    let target = d.core("configmaps");
    asked(d, target, TABLE).await?;
    let target = d.core("configmaps?limit=1");
    asked(d, target, TABLE).await
}

async fn a_table_holds_as_much_of_its_objects_as_asked(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for include in ["None", "Object", "Metadata", "Everything"] {
        let target = d.core(&format!("configmaps?includeObject={include}"));
        asked(d, target, TABLE).await?;
    }
    Ok(())
}

async fn one_object_comes_as_a_table(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let target = d.core("configmaps/a");
    asked(d, target, TABLE).await
}

async fn a_watch_comes_as_tables(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    d.touch("a", "2").await?;
    d.remove("a").await?;
    let target = d.core(&format!("configmaps?watch=1&resourceVersion={version}"));
    let mut watch = d
        .watch_with(Ask::new("GET", target).header("accept", TABLE))
        .await?;
    d.frames(&mut watch, 2).await?;
    let target = d.core("configmaps?watch=1&allowWatchBookmarks=true");
    let mut watch = d
        .watch_with(Ask::new("GET", target).header("accept", TABLE))
        .await?;
    d.frames(&mut watch, 1).await?;
    Ok(())
}

async fn pods_come_as_a_table(d: &mut Dialogue<'_>) -> Result<()> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]},
    });
    let target = d.core("pods");
    d.prepare(Ask::new("POST", target).json(&pod)).await?;
    let target = d.core("pods");
    asked(d, target, TABLE).await?;
    let status = json!({"status": {
        "phase": "Running", "podIP": "10.1.1.1", "podIPs": [{"ip": "10.1.1.1"}],
        "containerStatuses": [
            {"name": "a", "ready": true, "restartCount": 2, "image": "i", "imageID": "x", "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}},
             "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2020-01-01T00:00:00Z"}}},
            {"name": "b", "ready": false, "restartCount": 0, "image": "i", "imageID": "x", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ],
    }});
    d.merge(d.core("pods/p/status"), &status).await?;
    let target = d.core("pods");
    asked(d, target, TABLE).await
}

async fn deployments_come_as_a_table(d: &mut Dialogue<'_>) -> Result<()> {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web", "tier": "x"}}, "template": {
            "metadata": {"labels": {"app": "web", "tier": "x"}}, "spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]},
        }},
    });
    let target = d.group("apps/v1", "deployments");
    d.prepare(Ask::new("POST", target.clone()).json(&deployment))
        .await?;
    asked(d, target, TABLE).await
}

async fn services_come_as_a_table(d: &mut Dialogue<'_>) -> Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81, "protocol": "UDP"}]},
    });
    let target = d.core("services");
    d.prepare(Ask::new("POST", target.clone()).json(&service))
        .await?;
    asked(d, target, TABLE).await
}

async fn namespaces_come_as_a_table(d: &mut Dialogue<'_>) -> Result<()> {
    let target = format!(
        "/api/v1/namespaces?fieldSelector=metadata.name%3D{}",
        d.namespace
    );
    asked(d, target, TABLE).await
}

async fn an_empty_list_comes_as_a_table(d: &mut Dialogue<'_>) -> Result<()> {
    for resource in [
        "configmaps",
        "secrets",
        "serviceaccounts",
        "endpoints",
        "events",
    ] {
        let target = d.core(resource);
        asked(d, target, TABLE).await?;
    }
    for (group, resource) in [
        ("apps/v1", "replicasets"),
        ("batch/v1", "jobs"),
        ("coordination.k8s.io/v1", "leases"),
    ] {
        let target = d.group(group, resource);
        asked(d, target, TABLE).await?;
    }
    let target = "/api/v1/nodes".to_owned();
    asked(d, target, TABLE).await?;
    asked(
        d,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
        TABLE,
    )
    .await
}

async fn a_written_object_comes_in_the_requested_form(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.core("configmaps");
    let body = super::dialogue::config_map("a");
    d.ask(Ask::new("POST", target).json(&body).header("accept", ONE))
        .await?;
    let target = d.core("configmaps/a");
    let patch = json!({"data": {"n": "2"}});
    d.ask(
        Ask::new("PATCH", target.clone())
            .body("application/merge-patch+json", patch)
            .header("accept", TABLE),
    )
    .await?;
    d.ask(Ask::new("DELETE", target).header("accept", ONE))
        .await?;
    Ok(())
}

async fn forms_that_cannot_be_had_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for accept in [
        "text/html",
        "application/json;as=Table;g=meta.k8s.io;v=v9",
        "application/json;as=Chair;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    ] {
        let target = d.core("configmaps/a");
        asked(d, target, accept).await?;
    }
    let target = d.core("configmaps");
    asked(d, target, ONE).await?;
    let target = d.core("configmaps?watch=1&timeoutSeconds=1");
    asked(d, target, "text/html").await
}

async fn the_first_form_that_the_server_has_is_used(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for accept in [
        "text/html,application/json",
        "*/*",
        "application/*",
        "",
        "application/json;as=Table;g=meta.k8s.io;v=v9,application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
        "application/json;as=Chair;g=meta.k8s.io;v=v1,application/json",
    ] {
        let target = d.core("configmaps/a");
        asked(d, target, accept).await?;
    }
    Ok(())
}
