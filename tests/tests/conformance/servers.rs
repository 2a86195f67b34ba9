//! What a server says about itself, how namespaces end, and compacted history.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::eventually;

use super::dialogue::{Dialogue, config_map};
use super::exchanges;
use super::side::Who;
use super::wire::Ask;

exchanges![
    the_server_says_which_versions_it_serves,
    the_server_says_which_resources_a_group_has,
    paths_that_lead_nowhere_are_not_found,
    a_server_reports_that_it_is_healthy,
    a_namespace_is_made_and_labelled,
    a_namespace_ends_once_it_is_empty,
    nothing_is_created_in_a_namespace_that_ends,
    a_compacted_version_of_events_is_expired,
    a_continued_list_of_a_compacted_version_can_go_on_inconsistently,
    a_watch_from_before_the_cache_began_is_expired,
    a_list_from_before_the_cache_began_is_read_from_etcd,
    an_unknown_user_is_unauthorized,
    a_user_without_rights_is_forbidden_to_read,
    a_user_without_rights_is_forbidden_to_write,
    // This one is last: the real server writes a status into its flow schemas some time later.
    requests_without_a_share_are_refused,
];

async fn the_server_says_which_versions_it_serves(d: &mut Dialogue<'_>) -> Result<()> {
    d.get("/version").await?;
    d.get("/api").await?;
    d.get("/apis/apps").await?;
    d.get("/apis/apiextensions.k8s.io").await?;
    d.get("/apis/batch").await?;
    d.get("/apis/nowhere.test").await?;
    Ok(())
}

async fn the_server_says_which_resources_a_group_has(d: &mut Dialogue<'_>) -> Result<()> {
    d.get("/apis/apiextensions.k8s.io/v1").await?;
    d.get("/apis/apps/v1").await?;
    d.get("/api/v1").await?;
    d.get("/apis/apps/v9").await?;
    Ok(())
}

async fn paths_that_lead_nowhere_are_not_found(d: &mut Dialogue<'_>) -> Result<()> {
    for path in [
        "/nowhere",
        "/api/v2",
        "/api/v1/widgets",
        "/apis/apps/v1/widgets",
        "/apis/nowhere.test/v1/widgets",
        "/api/v1/namespaces/default/widgets/a",
        "/api/v1/namespaces/default/pods/a/nothing",
        "/api/v1/namespaces/default/configmaps/a/b/c",
    ] {
        d.get(path).await?;
    }
    Ok(())
}

async fn a_server_reports_that_it_is_healthy(d: &mut Dialogue<'_>) -> Result<()> {
    for path in ["/healthz", "/livez", "/readyz"] {
        d.get(path).await?;
    }
    Ok(())
}

async fn a_namespace_is_made_and_labelled(d: &mut Dialogue<'_>) -> Result<()> {
    let name = format!("{}-b", d.namespace);
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"a": "b"}}});
    let mut made = d.post("/api/v1/namespaces", &object).await?.body;
    made["metadata"]["labels"] = json!({"c": "d"});
    d.put(format!("/api/v1/namespaces/{name}"), &made).await?;
    d.merge(
        format!("/api/v1/namespaces/{name}"),
        &json!({"spec": {"finalizers": []}}),
    )
    .await?;
    d.get(format!("/api/v1/namespaces/{name}/status")).await?;
    d.delete("/api/v1/namespaces").await?;
    Ok(())
}

/// Plays the namespace controller: deletes the objects in the namespace, then finalizes it.
async fn a_namespace_ends_once_it_is_empty(d: &mut Dialogue<'_>) -> Result<()> {
    let name = format!("{}-b", d.namespace);
    let place = format!("/api/v1/namespaces/{name}");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let version = d
        .prepare(Ask::new("POST", "/api/v1/namespaces").json(&object))
        .await?
        .version()?;
    let inside = format!("{place}/configmaps");
    d.prepare(Ask::new("POST", inside.clone()).json(&config_map("a")))
        .await?;
    let target = format!(
        "/api/v1/namespaces?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3D{name}"
    );
    let mut watch = d.watch(target).await?;
    d.delete(place.clone()).await?;
    d.get(format!("{inside}/a")).await?;
    d.delete(place.clone()).await?;
    d.prepare(Ask::new("DELETE", inside)).await?;
    let mut ending = d.get(place.clone()).await?.body;
    ending["spec"] = json!({});
    d.put(format!("{place}/finalize"), &ending).await?;
    d.get(place).await?;
    d.frames(&mut watch, 2).await?;
    Ok(())
}

async fn nothing_is_created_in_a_namespace_that_ends(d: &mut Dialogue<'_>) -> Result<()> {
    let name = format!("{}-b", d.namespace);
    let place = format!("/api/v1/namespaces/{name}");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    d.prepare(Ask::new("POST", "/api/v1/namespaces").json(&object))
        .await?;
    d.prepare(Ask::new("POST", format!("{place}/configmaps")).json(&config_map("a")))
        .await?;
    d.prepare(Ask::new("DELETE", place.clone())).await?;
    d.post(format!("{place}/configmaps"), &config_map("b"))
        .await?;
    d.merge(
        format!("{place}/configmaps/a"),
        &json!({"data": {"n": "2"}}),
    )
    .await?;
    d.put(format!("{place}/finalize"), &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}})).await?;
    Ok(())
}

fn event(d: &Dialogue<'_>, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "reason": "R", "message": "M", "type": "Normal",
        "involvedObject": {"kind": "Pod", "namespace": d.namespace, "name": "p"},
    })
}

async fn a_compacted_version_of_events_is_expired(d: &mut Dialogue<'_>) -> Result<()> {
    let target = d.core("events");
    let version = d
        .prepare(Ask::new("POST", target.clone()).json(&event(d, "a")))
        .await?
        .version()?;
    d.prepare(Ask::new("POST", target.clone()).json(&event(d, "b")))
        .await?;
    d.prepare(Ask::new("POST", target).json(&event(d, "c")))
        .await?;
    d.side.compact().await?;
    d.get(d.core(&format!(
        "events?resourceVersion={version}&resourceVersionMatch=Exact"
    )))
    .await?;
    d.get(d.core(&format!("events?resourceVersion={version}&limit=1")))
        .await?;
    d.get(d.core(&format!("events?resourceVersion={version}")))
        .await?;
    let mut watch = d
        .watch(d.core(&format!("events?watch=1&resourceVersion={version}")))
        .await?;
    d.read_to_end(&mut watch).await
}

async fn a_continued_list_of_a_compacted_version_can_go_on_inconsistently(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    for name in ["a", "b", "c"] {
        let target = d.core("events");
        d.prepare(Ask::new("POST", target).json(&event(d, name)))
            .await?;
    }
    let first = d.get(d.core("events?limit=1")).await?;
    let token = first.text("/metadata/continue")?;
    let target = d.core("events");
    d.prepare(Ask::new("POST", target).json(&event(d, "bb")))
        .await?;
    d.side.compact().await?;
    let refused = d
        .get(d.core(&format!("events?limit=1&continue={token}")))
        .await?;
    let token = refused.text("/metadata/continue")?;
    d.get(d.core(&format!("events?limit=2&continue={token}")))
        .await?;
    Ok(())
}

async fn a_watch_from_before_the_cache_began_is_expired(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    d.touch("a", "2").await?;
    d.touch("a", "3").await?;
    d.side.forget_history().await?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&resourceVersion={version}")))
        .await?;
    d.read_to_end(&mut watch).await?;
    let target = format!(
        "configmaps?watch=1&resourceVersion={version}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
    );
    let mut watch = d.watch(d.core(&target)).await?;
    d.frames(&mut watch, 2).await?;
    Ok(())
}

async fn a_list_from_before_the_cache_began_is_read_from_etcd(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    d.config_map("b").await?;
    d.touch("a", "2").await?;
    d.side.forget_history().await?;
    let exact = format!("resourceVersion={version}&resourceVersionMatch=Exact");
    d.get(d.core(&format!("configmaps?{exact}"))).await?;
    d.get(d.core(&format!("configmaps?resourceVersion={version}")))
        .await?;
    d.side.compact().await?;
    d.side.forget_history().await?;
    d.get(d.core(&format!("configmaps?{exact}"))).await?;
    Ok(())
}

async fn an_unknown_user_is_unauthorized(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for target in [
        "configmaps",
        "configmaps/a",
        "configmaps?watch=1&resourceVersion=0",
        "configmaps/none",
    ] {
        d.ask_as(Who::Stranger, Ask::new("GET", d.core(target)))
            .await?;
    }
    d.ask_as(Who::Stranger, Ask::new("GET", "/api/v1/widgets"))
        .await?;
    d.ask_as(Who::Stranger, Ask::new("DELETE", d.core("configmaps/a")))
        .await?;
    let create = Ask::new("POST", d.core("configmaps")).json(&config_map("b"));
    d.ask_as(Who::Stranger, create).await?;
    Ok(())
}

async fn a_user_without_rights_is_forbidden_to_read(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for target in [
        "configmaps",
        "configmaps?limit=1&resourceVersion=0",
        "configmaps/a",
        "configmaps/none",
        "configmaps?watch=1&resourceVersion=0",
        "configmaps?fieldSelector=metadata.name%3Da",
    ] {
        d.ask_as(Who::WithoutRights, Ask::new("GET", d.core(target)))
            .await?;
    }
    d.ask_as(Who::WithoutRights, Ask::new("GET", "/api/v1/configmaps"))
        .await?;
    d.ask_as(
        Who::WithoutRights,
        Ask::new("GET", "/api/v1/configmaps?watch=1"),
    )
    .await?;
    Ok(())
}

async fn a_user_without_rights_is_forbidden_to_write(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let map = |name: &str| json!({"metadata": {"name": name}, "data": {"n": "1"}});
    let patch = |kind: &str, target: &str| {
        Ask::new("PATCH", d.core(target)).body(kind, json!({"data": {"n": "1"}}).to_string())
    };
    let asks = [
        Ask::new("POST", d.core("configmaps")).json(&map("b")),
        Ask::new("PUT", d.core("configmaps/a")).json(&map("a")),
        patch("application/merge-patch+json", "configmaps/a"),
        patch("application/merge-patch+json", "configmaps/none"),
        Ask::new("DELETE", d.core("configmaps/a")),
        Ask::new("DELETE", d.core("configmaps/none")),
        Ask::new("DELETE", d.core("configmaps")),
    ];
    for ask in asks {
        d.ask_as(Who::WithoutRights, ask).await?;
    }
    Ok(())
}

async fn requests_without_a_share_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    d.side.starve().await?;
    let list = Ask::new("GET", d.core("configmaps"));
    let busy = d.core("configmaps");
    let mut held = None;
    eventually("there is no share", Duration::from_secs(30), async || {
        held = Some(d.side.hold(&busy).await?);
        let answer = d.ask_as(Who::Ordinary, list.clone()).await?;
        d.steps.pop();
        ensure!(answer.status == 429, "{}", answer.status);
        Ok(())
    })
    .await?;
    d.ask_as(Who::Ordinary, list).await?;
    let watch = Ask::new("GET", d.core("configmaps?watch=1&resourceVersion=0"));
    d.ask_as(Who::Ordinary, watch).await?;
    let create = Ask::new("POST", d.core("configmaps")).json(&config_map("a"));
    d.ask_as(Who::Ordinary, create).await?;
    drop(held);
    // A real server names more seconds after a second of many refusals, so the number depends on when the requests came
    // (docs/semantics/requests.md#too-many-requests).
    for (name, value) in d.steps.iter_mut().flat_map(|step| &mut step.head.headers) {
        let is_usual = value
            .parse()
            .is_ok_and(|secs: u32| (1..=32).contains(&secs));
        if name == "retry-after" && is_usual {
            *value = "1 to 32".to_owned();
        }
    }
    Ok(())
}
