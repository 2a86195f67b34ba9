//! Creating, replacing, patching and deleting: answers, conflicts, preconditions and refusals.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::dialogue::{Dialogue, config_map};
use super::exchanges;
use super::wire::Ask;

exchanges![
    a_created_object_comes_back_whole,
    an_existing_object_cannot_be_created_again,
    an_invalid_name_is_refused,
    an_object_must_have_a_name,
    an_object_of_another_namespace_is_refused,
    nothing_is_created_in_a_namespace_that_is_not_there,
    a_new_object_may_not_have_a_version,
    an_object_of_another_kind_is_refused,
    a_body_that_is_no_object_is_refused,
    a_body_of_another_content_type_is_refused,
    an_unknown_field_is_dropped_warned_of_or_refused,
    a_value_of_the_wrong_type_is_refused,
    a_replaced_object_has_a_new_version,
    a_replacement_of_an_old_version_conflicts,
    a_replacement_without_a_version_wins,
    a_replacement_must_fit_its_url,
    a_replacement_of_another_uid_conflicts,
    a_missing_object_cannot_be_replaced,
    a_merge_patch_sets_and_removes,
    a_merge_patch_with_an_old_version_conflicts,
    a_json_patch_changes_what_it_names,
    a_json_patch_that_does_not_fit_is_refused,
    invalid_patches_are_refused,
    a_patch_may_not_change_the_identity_of_an_object,
    a_missing_object_cannot_be_patched,
    a_strategic_merge_patch_merges_lists_by_their_keys,
    a_strategic_merge_patch_of_a_custom_type_is_refused,
    a_delete_answers_with_a_status,
    a_delete_of_a_missing_object_is_not_found,
    delete_preconditions_are_kept,
    a_foreground_delete_waits_for_its_finalizer,
    an_orphaning_delete_waits_for_its_finalizer,
    malformed_delete_options_are_refused,
    a_collection_is_deleted_by_its_selector,
    a_dry_run_answers_and_writes_nothing,
    an_immutable_object_stays_as_it_is,
    a_generation_counts_changes_of_the_spec,
    the_status_is_written_through_its_subresource_only,
    the_scale_subresource_reads_and_sets_the_replicas,
    a_scale_that_conflicts_is_refused,
    managed_fields_name_each_manager_once,
    a_method_that_is_not_allowed_is_refused,
];

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "registry.test/web:1"}]},
    })
}

fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "registry.test/web:1"}]},
            },
        },
    })
}

async fn a_created_object_comes_back_whole(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = config_map("a");
    object["metadata"]["annotations"] = json!({"watchscope.test/note": "<a> & b"});
    object["binaryData"] = json!({"raw": "AAEC"});
    d.post(d.core("configmaps"), &object).await?;
    d.get(d.core("configmaps/a")).await?;
    Ok(())
}

async fn an_existing_object_cannot_be_created_again(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.post(d.core("configmaps"), &config_map("a")).await?;
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    Ok(())
}

async fn an_invalid_name_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for name in [
        "Upper",
        "under_score",
        "-dash",
        "a..b",
        "per%cent",
        ".",
        "a/b",
    ] {
        d.post(d.core("configmaps"), &config_map(name)).await?;
    }
    let mut object = config_map("labelled");
    // One at a time: a real server checks labels in any order.
    for labels in [json!({"-key": "good"}), json!({"key": "not good!"})] {
        object["metadata"]["labels"] = labels;
        d.post(d.core("configmaps"), &object).await?;
    }
    d.post(
        d.core("services"),
        &json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "1st"},
            "spec": {"clusterIP": "None", "ports": [{"port": 80}]},
        }),
    )
    .await?;
    d.post(
        "/api/v1/namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}}),
    )
    .await?;
    Ok(())
}

async fn an_object_must_have_a_name(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(
        d.core("configmaps"),
        &json!({"apiVersion": "v1", "kind": "ConfigMap"}),
    )
    .await?;
    d.post(
        d.core("configmaps"),
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),
    )
    .await?;
    Ok(())
}

async fn an_object_of_another_namespace_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = config_map("a");
    object["metadata"]["namespace"] = json!("default");
    d.post(d.core("configmaps"), &object).await?;
    d.config_map("a").await?;
    d.put(d.core("configmaps/a"), &object).await?;
    d.merge(
        d.core("configmaps/a"),
        &json!({"metadata": {"namespace": "default"}}),
    )
    .await?;
    Ok(())
}

async fn nothing_is_created_in_a_namespace_that_is_not_there(d: &mut Dialogue<'_>) -> Result<()> {
    d.post("/api/v1/namespaces/nowhere/configmaps", &config_map("a"))
        .await?;
    d.post("/api/v1/namespaces/nowhere/pods", &pod("a")).await?;
    d.get("/api/v1/namespaces/nowhere/configmaps/a").await?;
    d.post("/api/v1/configmaps", &config_map("a")).await?;
    Ok(())
}

async fn a_new_object_may_not_have_a_version(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = config_map("a");
    object["metadata"]["resourceVersion"] = json!("1");
    d.post(d.core("configmaps"), &object).await?;
    object["metadata"]["resourceVersion"] = json!("0");
    d.post(d.core("configmaps"), &object).await?;
    Ok(())
}

async fn an_object_of_another_kind_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for (version, kind) in [
        ("v1", "Secret"),
        ("v1", "Gadget"),
        ("v2", "ConfigMap"),
        ("apps/v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("", "ConfigMap"),
        ("v1", ""),
        ("", ""),
    ] {
        let mut object = config_map("a");
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        if let Some(map) = object.as_object_mut() {
            map.retain(|key, value| key != "data" && value != "");
        }
        d.post(d.core("configmaps"), &object).await?;
        if let Ok(answer) = d.get(d.core("configmaps/a")).await
            && answer.status == 200
        {
            d.remove("a").await?;
        }
    }
    Ok(())
}

async fn a_body_that_is_no_object_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for body in ["", "{", "[]", "\"text\"", "null", "{\"metadata\": 5}", "{}"] {
        let target = d.core("configmaps");
        d.ask(Ask::new("POST", target).body("application/json", body))
            .await?;
    }
    Ok(())
}

async fn a_body_of_another_content_type_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for content_type in [
        "text/plain",
        "application/xml",
        "application/vnd.kubernetes.protobuf;type=x",
    ] {
        let target = d.core("configmaps");
        d.ask(Ask::new("POST", target).body(content_type, config_map("a")))
            .await?;
    }
    Ok(())
}

async fn an_unknown_field_is_dropped_warned_of_or_refused(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = pod("p");
    object["spec"]["colour"] = json!("red");
    object["spec"]["containers"][0]["taste"] = json!("sweet");
    object["extra"] = json!(1);
    for validation in ["Strict", "Warn", "Ignore", "Perhaps"] {
        let target = d.core(&format!("pods?fieldValidation={validation}"));
        object["metadata"]["name"] = json!(validation.to_lowercase());
        d.post(target, &object).await?;
    }
    d.merge(
        d.core("pods/warn?fieldValidation=Strict"),
        &json!({"spec": {"colour": "red"}}),
    )
    .await?;
    Ok(())
}

async fn a_value_of_the_wrong_type_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = config_map("a");
    object["data"] = json!({"n": 1});
    d.post(d.core("configmaps"), &object).await?;
    object["data"] = json!("text");
    d.post(d.core("configmaps"), &object).await?;
    let mut object = deployment("web");
    object["spec"]["replicas"] = json!("two");
    d.post(d.group("apps/v1", "deployments"), &object).await?;
    Ok(())
}

async fn a_replaced_object_has_a_new_version(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = d.config_map("a").await?.body;
    object["data"] = json!({"n": "2", "m": "new"});
    object["metadata"]["labels"] = json!({"app": "b", "z": "1", "c": "2"});
    d.put(d.core("configmaps/a"), &object).await?;
    d.get(d.core("configmaps/a")).await?;
    Ok(())
}

async fn a_replacement_of_an_old_version_conflicts(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = d.config_map("a").await?.body;
    d.touch("a", "2").await?;
    object["data"] = json!({"n": "3"});
    let answer = d.put(d.core("configmaps/a"), &object).await?;
    ensure!(answer.status == 409);
    let mut web = d
        .post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?
        .body;
    web["metadata"]["resourceVersion"] = json!("1");
    web["spec"]["replicas"] = json!(3);
    d.put(d.group("apps/v1", "deployments/web"), &web).await?;
    Ok(())
}

async fn a_replacement_without_a_version_wins(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.touch("a", "2").await?;
    let mut object = config_map("a");
    object["data"] = json!({"n": "3"});
    d.put(d.core("configmaps/a"), &object).await?;
    object["metadata"]["resourceVersion"] = json!("0");
    object["data"] = json!({"n": "4"});
    d.put(d.core("configmaps/a"), &object).await?;
    Ok(())
}

async fn a_replacement_must_fit_its_url(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.put(d.core("configmaps/a"), &config_map("b")).await?;
    d.put(
        d.core("configmaps/a"),
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),
    )
    .await?;
    Ok(())
}

async fn a_replacement_of_another_uid_conflicts(d: &mut Dialogue<'_>) -> Result<()> {
    let old = d.config_map("a").await?.body;
    d.remove("a").await?;
    d.config_map("a").await?;
    let mut object = config_map("a");
    object["metadata"]["uid"] = old["metadata"]["uid"].clone();
    d.put(d.core("configmaps/a"), &object).await?;
    d.merge(
        d.core("configmaps/a"),
        &json!({"metadata": {"uid": old["metadata"]["uid"]}}),
    )
    .await?;
    Ok(())
}

async fn a_missing_object_cannot_be_replaced(d: &mut Dialogue<'_>) -> Result<()> {
    d.put(d.core("configmaps/gone"), &config_map("gone"))
        .await?;
    let mut object = config_map("gone");
    object["metadata"]["resourceVersion"] = json!("5");
    d.put(d.core("configmaps/gone"), &object).await?;
    d.put(d.group("apps/v1", "deployments/gone"), &deployment("gone"))
        .await?;
    Ok(())
}

async fn a_merge_patch_sets_and_removes(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let patch =
        json!({"data": {"n": null, "m": "1"}, "metadata": {"labels": {"app": null, "tier": "x"}}});
    d.merge(d.core("configmaps/a"), &patch).await?;
    d.merge(d.core("configmaps/a"), &json!({})).await?;
    d.merge(d.core("configmaps/a"), &json!({"data": null}))
        .await?;
    Ok(())
}

async fn a_merge_patch_with_an_old_version_conflicts(d: &mut Dialogue<'_>) -> Result<()> {
    let old = d.config_map("a").await?.version()?;
    d.touch("a", "2").await?;
    let patch = json!({"metadata": {"resourceVersion": old}, "data": {"n": "3"}});
    d.merge(d.core("configmaps/a"), &patch).await?;
    Ok(())
}

async fn json_patch(d: &mut Dialogue<'_>, target: String, patch: Value) -> Result<()> {
    d.ask(Ask::new("PATCH", target).body("application/json-patch+json", patch))
        .await?;
    Ok(())
}

async fn a_json_patch_changes_what_it_names(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let target = d.core("configmaps/a");
    let patch = json!([
        {"op": "test", "path": "/data/n", "value": "1"},
        {"op": "replace", "path": "/data/n", "value": "2"},
        {"op": "add", "path": "/metadata/annotations", "value": {"a_b": "1"}},
        {"op": "add", "path": "/metadata/annotations/a.test~1c", "value": "2"},
        {"op": "copy", "from": "/data/n", "path": "/data/m"},
        {"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/moved"},
        {"op": "remove", "path": "/data/n"},
    ]);
    json_patch(d, target, patch).await
}

async fn a_json_patch_that_does_not_fit_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let target = d.core("configmaps/a");
    json_patch(
        d,
        target.clone(),
        json!([{"op": "test", "path": "/data/n", "value": "9"}]),
    )
    .await?;
    json_patch(
        d,
        target.clone(),
        json!([{"op": "remove", "path": "/data/x"}]),
    )
    .await?;
    json_patch(
        d,
        target.clone(),
        json!([{"op": "replace", "path": "/spec/x", "value": 1}]),
    )
    .await?;
    json_patch(
        d,
        target.clone(),
        json!([{"op": "turn", "path": "/data/n"}]),
    )
    .await?;
    json_patch(
        d,
        target,
        json!([{"op": "add", "path": "/data/n", "value": 5}]),
    )
    .await
}

async fn invalid_patches_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for (content_type, body) in [
        ("application/merge-patch+json", "{"),
        ("application/merge-patch+json", "[1]"),
        ("application/merge-patch+json", "\"text\""),
        ("application/json-patch+json", "{}"),
        ("application/json-patch+json", "nonsense"),
        ("application/strategic-merge-patch+json", "{"),
        ("application/json", "{}"),
        ("text/plain", "{}"),
    ] {
        let target = d.core("configmaps/a");
        d.ask(Ask::new("PATCH", target).body(content_type, body))
            .await?;
    }
    Ok(())
}

async fn a_patch_may_not_change_the_identity_of_an_object(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for patch in [
        json!({"metadata": {"name": "b"}}),
        json!({"kind": "Secret", "data": null}),
        json!({"apiVersion": "v2"}),
        json!({"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}),
        json!({"metadata": {"generation": 7}}),
        json!({"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}}),
        json!({"metadata": {"managedFields": []}}),
    ] {
        d.merge(d.core("configmaps/a"), &patch).await?;
    }
    Ok(())
}

async fn a_missing_object_cannot_be_patched(d: &mut Dialogue<'_>) -> Result<()> {
    d.merge(d.core("configmaps/gone"), &json!({"data": {"n": "1"}}))
        .await?;
    let target = d.core("configmaps/gone");
    json_patch(
        d,
        target,
        json!([{"op": "add", "path": "/data", "value": {}}]),
    )
    .await
}

async fn a_strategic_merge_patch_merges_lists_by_their_keys(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    for patch in [
        json!({"spec": {"template": {"spec": {"containers": [
            {"name": "main", "image": "registry.test/web:2", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        ]}}}}),
        json!({"spec": {"template": {"spec": {"containers": [
            {"name": "main", "env": [{"name": "B", "value": "3"}], "ports": [{"containerPort": 80}]},
            {"name": "side", "image": "registry.test/side:1"},
        ]}}}}),
        json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
            "containers": [{"name": "side", "image": "registry.test/side:2"}, {"name": "main", "env": [{"name": "A", "$patch": "delete"}]}],
        }}}}),
        json!({"metadata": {"labels": {"tier": "x"}, "finalizers": ["watchscope.test/a"]}}),
        json!({"metadata": {"finalizers": ["watchscope.test/b"]}}),
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["watchscope.test/a"], "labels": null}}),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null}}}),
        json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}),
        json!({"spec": {"template": {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "registry.test/only:1"}]}}}}),
        json!({"spec": {"template": {"spec": {"containers": [{"image": "nameless"}]}}}}),
    ] {
        let target = d.group("apps/v1", "deployments/web");
        d.ask(Ask::new("PATCH", target).body("application/strategic-merge-patch+json", patch))
            .await?;
    }
    d.config_map("a").await?;
    let target = d.core("configmaps/a");
    d.ask(Ask::new("PATCH", target).body(
        "application/strategic-merge-patch+json",
        json!({"data": {"m": "1", "n": null}}),
    ))
    .await?;
    Ok(())
}

async fn a_strategic_merge_patch_of_a_custom_type_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = super::definitions::define(d, "strategic").await?;
    let target = definition.objects(d);
    d.post(target.clone(), &definition.object("a")).await?;
    let patch = json!({"spec": {"size": 2}});
    d.ask(
        Ask::new("PATCH", format!("{target}/a"))
            .body("application/strategic-merge-patch+json", patch),
    )
    .await?;
    definition.undefine(d).await
}

async fn a_delete_answers_with_a_status(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.delete(d.core("configmaps/a")).await?;
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    d.delete(d.group("apps/v1", "deployments/web")).await?;
    d.post(d.core("pods"), &pod("p")).await?;
    d.delete(d.core("pods/p")).await?;
    Ok(())
}

async fn a_delete_of_a_missing_object_is_not_found(d: &mut Dialogue<'_>) -> Result<()> {
    d.delete(d.core("configmaps/gone")).await?;
    d.delete(d.group("apps/v1", "deployments/gone")).await?;
    Ok(())
}

fn deleting(target: String, options: &Value) -> Ask {
    Ask::new("DELETE", target).json(options)
}

async fn delete_preconditions_are_kept(d: &mut Dialogue<'_>) -> Result<()> {
    let made = d.config_map("a").await?;
    let (uid, old) = (made.text("/metadata/uid")?, made.version()?);
    let new = d.touch("a", "2").await?.version()?;
    let target = d.core("configmaps/a");
    let precondition =
        |value: Value| json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": value});
    let wrong = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    d.ask(deleting(
        target.clone(),
        &precondition(json!({"uid": wrong})),
    ))
    .await?;
    d.ask(deleting(
        target.clone(),
        &precondition(json!({"resourceVersion": old})),
    ))
    .await?;
    d.ask(deleting(
        target,
        &precondition(json!({"uid": uid, "resourceVersion": new})),
    ))
    .await?;
    Ok(())
}

async fn a_foreground_delete_waits_for_its_finalizer(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.delete(d.core("configmaps/a?propagationPolicy=Foreground"))
        .await?;
    d.get(d.core("configmaps/a")).await?;
    d.merge(
        d.core("configmaps/a"),
        &json!({"metadata": {"finalizers": []}}),
    )
    .await?;
    d.get(d.core("configmaps/a")).await?;
    Ok(())
}

async fn an_orphaning_delete_waits_for_its_finalizer(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    let target = d.group("apps/v1", "deployments/web");
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"});
    d.ask(deleting(target.clone(), &options)).await?;
    d.merge(
        target.clone(),
        &json!({"metadata": {"finalizers": ["watchscope.test/another"]}}),
    )
    .await?;
    d.merge(target, &json!({"metadata": {"finalizers": null}}))
        .await?;
    Ok(())
}

async fn malformed_delete_options_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let target = d.core("configmaps/a");
    for options in [
        json!({"propagationPolicy": "Sideways"}),
        json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
        json!({"gracePeriodSeconds": "soon"}),
        json!({"kind": "ConfigMap", "apiVersion": "v1"}),
        json!({"dryRun": ["Some"]}),
    ] {
        d.ask(deleting(target.clone(), &options)).await?;
    }
    d.delete(d.core("configmaps/a?gracePeriodSeconds=soon"))
        .await?;
    d.delete(d.core("configmaps/a?propagationPolicy=Sideways"))
        .await?;
    d.ask(Ask::new("DELETE", target).body("application/json", "{"))
        .await?;
    Ok(())
}

async fn a_collection_is_deleted_by_its_selector(d: &mut Dialogue<'_>) -> Result<()> {
    for name in ["a", "b", "c"] {
        d.config_map(name).await?;
    }
    d.delete(d.core("configmaps?labelSelector=app%20in%20(a,c)"))
        .await?;
    d.get(d.core("configmaps")).await?;
    d.delete(d.core("configmaps")).await?;
    d.delete(d.core("configmaps")).await?;
    Ok(())
}

async fn a_dry_run_answers_and_writes_nothing(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(d.core("configmaps?dryRun=All"), &config_map("new"))
        .await?;
    d.get(d.core("configmaps/new")).await?;
    d.config_map("a").await?;
    d.merge(
        d.core("configmaps/a?dryRun=All"),
        &json!({"data": {"n": "2"}}),
    )
    .await?;
    let mut object = config_map("a");
    object["data"] = json!({"n": "3"});
    d.put(d.core("configmaps/a?dryRun=All"), &object).await?;
    d.delete(d.core("configmaps/a?dryRun=All")).await?;
    d.get(d.core("configmaps/a")).await?;
    d.post(d.core("configmaps?dryRun=Some"), &config_map("new"))
        .await?;
    d.post(d.core("configmaps?dryRun=All"), &config_map("a"))
        .await?;
    Ok(())
}

async fn an_immutable_object_stays_as_it_is(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = config_map("a");
    object["immutable"] = json!(true);
    d.post(d.core("configmaps"), &object).await?;
    d.merge(d.core("configmaps/a"), &json!({"data": {"n": "2"}}))
        .await?;
    d.merge(d.core("configmaps/a"), &json!({"immutable": false}))
        .await?;
    d.merge(
        d.core("configmaps/a"),
        &json!({"metadata": {"labels": {"app": "b"}}}),
    )
    .await?;
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    let patch = json!({"spec": {"selector": {"matchLabels": {"app": "other"}}, "template": {"metadata": {"labels": {"app": "other"}}}}});
    d.merge(d.group("apps/v1", "deployments/web"), &patch)
        .await?;
    d.post(d.core("pods"), &pod("p")).await?;
    d.merge(
        d.core("pods/p"),
        &json!({"spec": {"nodeName": "n", "hostNetwork": true}}),
    )
    .await?;
    Ok(())
}

async fn a_generation_counts_changes_of_the_spec(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    let target = d.group("apps/v1", "deployments/web");
    d.merge(target.clone(), &json!({"metadata": {"labels": {"a": "b"}}}))
        .await?;
    d.merge(target.clone(), &json!({"spec": {"replicas": 3}}))
        .await?;
    d.merge(
        format!("{target}/status"),
        &json!({"status": {"observedGeneration": 2}}),
    )
    .await?;
    d.get(target).await?;
    Ok(())
}

async fn the_status_is_written_through_its_subresource_only(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = deployment("web");
    object["status"] = json!({"replicas": 9});
    d.post(d.group("apps/v1", "deployments"), &object).await?;
    let target = d.group("apps/v1", "deployments/web");
    d.merge(target.clone(), &json!({"status": {"replicas": 8}}))
        .await?;
    let patch = json!({"status": {"replicas": 2, "unavailableReplicas": 2}, "spec": {"replicas": 7}, "metadata": {"labels": {"x": "y"}}});
    d.merge(format!("{target}/status"), &patch).await?;
    d.get(format!("{target}/status")).await?;
    d.get(d.core("configmaps/a/status")).await?;
    Ok(())
}

async fn the_scale_subresource_reads_and_sets_the_replicas(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    let target = d.group("apps/v1", "deployments/web/scale");
    let mut scale = d.get(target.clone()).await?.body;
    scale["spec"]["replicas"] = json!(5);
    d.put(target.clone(), &scale).await?;
    d.merge(target.clone(), &json!({"spec": {"replicas": 1}}))
        .await?;
    d.merge(target, &json!({"spec": {"replicas": -1}})).await?;
    d.get(d.group("apps/v1", "deployments/web")).await?;
    d.get(d.group("apps/v1", "deployments/gone/scale")).await?;
    Ok(())
}

async fn a_scale_that_conflicts_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(d.group("apps/v1", "deployments"), &deployment("web"))
        .await?;
    let target = d.group("apps/v1", "deployments/web/scale");
    let mut scale = d.get(target.clone()).await?.body;
    d.merge(target.clone(), &json!({"spec": {"replicas": 3}}))
        .await?;
    scale["spec"]["replicas"] = json!(5);
    d.put(target, &scale).await?;
    Ok(())
}

async fn managed_fields_name_each_manager_once(d: &mut Dialogue<'_>) -> Result<()> {
    d.post(
        d.group("apps/v1", "deployments?fieldManager=one"),
        &deployment("web"),
    )
    .await?;
    let target = d.group("apps/v1", "deployments/web");
    d.merge(
        format!("{target}?fieldManager=two"),
        &json!({"spec": {"replicas": 3}, "metadata": {"labels": {"a": "b"}}}),
    )
    .await?;
    let status = json!({"status": {"replicas": 3, "conditions": [{"type": "Available", "status": "True", "reason": "R", "message": "M"}]}});
    d.merge(format!("{target}/status?fieldManager=two"), &status)
        .await?;
    d.merge(
        format!("{target}?fieldManager=one"),
        &json!({"spec": {"replicas": 4}}),
    )
    .await?;
    d.merge(
        format!("{target}?fieldManager=two"),
        &json!({"metadata": {"labels": null}}),
    )
    .await?;
    d.merge(
        format!("{target}/scale?fieldManager=three"),
        &json!({"spec": {"replicas": 5}}),
    )
    .await?;
    d.get(target).await?;
    Ok(())
}

async fn a_method_that_is_not_allowed_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.post(d.core("configmaps/a"), &config_map("a")).await?;
    d.put(d.core("configmaps"), &config_map("a")).await?;
    d.merge(d.core("configmaps"), &json!({})).await?;
    d.post("/api/v1", &json!({})).await?;
    d.delete("/apis/apps").await?;
    d.delete("/version").await?;
    let target = d.core("configmaps/a");
    d.ask(Ask::new("HEAD", target.clone())).await?;
    d.ask(Ask::new("OPTIONS", target.clone())).await?;
    d.ask(Ask::new("BREW", target)).await?;
    Ok(())
}
