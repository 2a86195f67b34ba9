//! The life of a CustomResourceDefinition, and of the objects that it defines.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::eventually;

use super::dialogue::Dialogue;
use super::exchanges;
use super::wire::Ask;

exchanges![
    a_definition_is_accepted_and_established,
    a_definition_that_is_none_is_refused,
    a_custom_object_is_made_read_and_listed,
    a_custom_object_is_replaced_only_with_its_version,
    a_custom_object_has_a_status_and_a_generation,
    custom_objects_are_watched,
    custom_objects_come_as_tables_and_metadata,
    a_custom_object_of_another_type_is_refused,
    an_edited_definition_ends_its_watches,
    a_deleted_definition_takes_its_objects_along,
];

const LONG: Duration = Duration::from_secs(30);
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition with one version that is served.
pub(super) struct Definition {
    group: String,
}

impl Definition {
    fn of(d: &Dialogue<'_>, tag: &str) -> Self {
        Self {
            group: format!("{tag}.{}.test", d.namespace),
        }
    }

    fn name(&self) -> String {
        format!("widgets.{}", self.group)
    }

    fn body(&self) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name()},
            "spec": {
                "group": self.group, "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wg"]},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                        {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                }],
            },
        })
    }

    /// Returns the path of its objects in the exchange's namespace.
    pub(super) fn objects(&self, d: &Dialogue<'_>) -> String {
        d.group(&format!("{}/v1", self.group), "widgets")
    }

    pub(super) fn object(&self, name: &str) -> Value {
        json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "Widget",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"size": 1, "parts": [{"name": "b"}, {"name": "a"}], "colour": "red"},
        })
    }

    /// Deletes the definition and waits until it is gone.
    pub(super) async fn undefine(&self, d: &mut Dialogue<'_>) -> Result<()> {
        let target = format!("{DEFINITIONS}/{}", self.name());
        d.prepare(Ask::new("DELETE", target.clone())).await?;
        eventually("the definition is gone", LONG, async || {
            let answer = d.get(target.clone()).await?;
            d.steps.pop();
            ensure!(answer.status == 404, "{}", answer.body);
            Ok(())
        })
        .await
    }

    /// Waits until the definition's objects are served.
    async fn served(&self, d: &mut Dialogue<'_>) -> Result<()> {
        let target = self.objects(d);
        eventually("the objects are served", LONG, async || {
            let answer = d.get(target.clone()).await?;
            d.steps.pop();
            ensure!(answer.status == 200, "{}", answer.body);
            Ok(())
        })
        .await
    }
}

/// Creates a definition without recording it, and waits until its objects are served.
pub(super) async fn define(d: &mut Dialogue<'_>, tag: &str) -> Result<Definition> {
    let definition = Definition::of(d, tag);
    d.prepare(Ask::new("POST", DEFINITIONS).json(&definition.body()))
        .await?;
    definition.served(d).await?;
    Ok(definition)
}

async fn a_definition_is_accepted_and_established(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = Definition::of(d, "life");
    d.post(DEFINITIONS, &definition.body()).await?;
    definition.served(d).await?;
    d.get(format!("{DEFINITIONS}/{}", definition.name()))
        .await?;
    d.post(DEFINITIONS, &definition.body()).await?;
    d.get(format!("/apis/{}", definition.group)).await?;
    d.get(format!("/apis/{}/v1", definition.group)).await?;
    d.get(format!("/apis/{}/v2", definition.group)).await?;
    definition.undefine(d).await?;
    Ok(())
}

async fn a_definition_that_is_none_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = Definition::of(d, "bad");
    let changed = |change: fn(&mut Value)| {
        let mut body = definition.body();
        change(&mut body);
        body
    };
    for body in [
        changed(|b| b["metadata"]["name"] = json!("gadgets.test")),
        changed(|b| b["spec"]["scope"] = json!("Everywhere")),
        changed(|b| b["spec"]["versions"][0]["storage"] = json!(false)),
        changed(|b| b["spec"]["versions"] = json!([])),
        changed(|b| b["spec"]["names"] = json!({})),
    ] {
        d.post(DEFINITIONS, &body).await?;
    }
    Ok(())
}

async fn a_custom_object_is_made_read_and_listed(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "objects").await?;
    let target = definition.objects(d);
    d.get(target.clone()).await?;
    d.post(target.clone(), &definition.object("a")).await?;
    d.post(target.clone(), &definition.object("a")).await?;
    d.post(target.clone(), &definition.object("b")).await?;
    d.get(format!("{target}/a")).await?;
    d.get(format!("{target}/gone")).await?;
    d.get(target.clone()).await?;
    let first = d.get(format!("{target}?limit=1")).await?;
    let token = first.text("/metadata/continue")?;
    d.get(format!("{target}?limit=1&continue={token}")).await?;
    d.get(format!("{target}?fieldSelector=metadata.name%3Db"))
        .await?;
    d.get(format!("{target}?fieldSelector=spec.size%3D1"))
        .await?;
    d.merge(format!("{target}/a"), &json!({"spec": {"size": 2, "colour": null}, "extra": {"z": 1, "a": [1, {"y": 1, "b": 2}]}})).await?;
    d.delete(format!("{target}/a")).await?;
    d.delete(target).await?;
    definition.undefine(d).await
}

async fn a_custom_object_is_replaced_only_with_its_version(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "replaced").await?;
    let target = definition.objects(d);
    let mut made = d.post(target.clone(), &definition.object("a")).await?.body;
    d.put(format!("{target}/a"), &definition.object("a"))
        .await?;
    made["spec"]["size"] = json!(3);
    d.put(format!("{target}/a"), &made).await?;
    d.put(format!("{target}/a"), &made).await?;
    d.put(format!("{target}/gone"), &definition.object("gone"))
        .await?;
    definition.undefine(d).await
}

async fn a_custom_object_has_a_status_and_a_generation(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "status").await?;
    let target = definition.objects(d);
    let mut object = definition.object("a");
    object["status"] = json!({"phase": "Lost"});
    d.post(target.clone(), &object).await?;
    d.merge(
        format!("{target}/a/status"),
        &json!({"status": {"phase": "Ready"}, "spec": {"size": 9}}),
    )
    .await?;
    d.merge(
        format!("{target}/a"),
        &json!({"status": {"phase": "Lost"}, "spec": {"size": 2}}),
    )
    .await?;
    d.merge(
        format!("{target}/a"),
        &json!({"metadata": {"labels": {"app": "z"}}}),
    )
    .await?;
    d.get(format!("{target}/a/status")).await?;
    definition.undefine(d).await
}

async fn custom_objects_are_watched(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "watched").await?;
    let target = definition.objects(d);
    let version = d
        .post(target.clone(), &definition.object("a"))
        .await?
        .version()?;
    let mut watch = d
        .watch(format!("{target}?watch=1&resourceVersion={version}"))
        .await?;
    d.merge(format!("{target}/a"), &json!({"spec": {"size": 2}}))
        .await?;
    d.delete(format!("{target}/a")).await?;
    d.frames(&mut watch, 2).await?;
    d.post(target.clone(), &definition.object("b")).await?;
    let mut watch = d
        .watch(format!("{target}?watch=1&allowWatchBookmarks=true"))
        .await?;
    d.frames(&mut watch, 2).await?;
    definition.undefine(d).await
}

async fn custom_objects_come_as_tables_and_metadata(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "forms").await?;
    let target = definition.objects(d);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    d.ask(Ask::new("GET", target.clone()).header("accept", table))
        .await?;
    let version = d
        .post(target.clone(), &definition.object("a"))
        .await?
        .version()?;
    d.ask(Ask::new("GET", target.clone()).header("accept", table))
        .await?;
    d.ask(Ask::new("GET", target.clone()).header("accept", metadata))
        .await?;
    let one = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    d.ask(Ask::new("GET", format!("{target}/a")).header("accept", one))
        .await?;
    d.merge(format!("{target}/a"), &json!({"spec": {"size": 2}}))
        .await?;
    let watch = Ask::new("GET", format!("{target}?watch=1&resourceVersion={version}"));
    let mut watch = d.watch_with(watch.header("accept", one)).await?;
    d.frames(&mut watch, 1).await?;
    definition.undefine(d).await
}

async fn a_custom_object_of_another_type_is_refused(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "other").await?;
    let target = definition.objects(d);
    let mut object = definition.object("a");
    object["kind"] = json!("Gadget");
    d.post(target.clone(), &object).await?;
    let mut object = definition.object("a");
    object["apiVersion"] = json!("v1");
    d.post(target.clone(), &object).await?;
    let mut object = definition.object("Upper");
    d.post(target.clone(), &object).await?;
    object["metadata"]["name"] = json!("a");
    object["metadata"]["resourceVersion"] = json!("5");
    d.post(target, &object).await?;
    definition.undefine(d).await
}

async fn an_edited_definition_ends_its_watches(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "edited").await?;
    let target = definition.objects(d);
    let version = d
        .post(target.clone(), &definition.object("a"))
        .await?
        .version()?;
    let mut watch = d
        .watch(format!("{target}?watch=1&resourceVersion={version}"))
        .await?;
    let patch = json!([{"op": "add", "path": "/spec/versions/0/additionalPrinterColumns/-",
        "value": {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"}}]);
    let place = format!("{DEFINITIONS}/{}", definition.name());
    d.prepare(Ask::new("PATCH", place).body("application/json-patch+json", patch))
        .await?;
    d.read_to_end(&mut watch).await?;
    definition.served(d).await?;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    eventually("the new column is there", LONG, async || {
        let answer = d
            .ask(Ask::new("GET", target.clone()).header("accept", table))
            .await?;
        d.steps.pop();
        ensure!(
            answer.body["columnDefinitions"]
                .as_array()
                .is_some_and(|c| c.len() == 5)
        );
        Ok(())
    })
    .await?;
    d.ask(Ask::new("GET", target).header("accept", table))
        .await?;
    definition.undefine(d).await
}

async fn a_deleted_definition_takes_its_objects_along(d: &mut Dialogue<'_>) -> Result<()> {
    let definition = define(d, "deleted").await?;
    let target = definition.objects(d);
    let version = d
        .post(target.clone(), &definition.object("a"))
        .await?
        .version()?;
    let mut watch = d
        .watch(format!("{target}?watch=1&resourceVersion={version}"))
        .await?;
    let place = format!("{DEFINITIONS}/{}", definition.name());
    d.delete(place.clone()).await?;
    d.read_to_end(&mut watch).await?;
    eventually("the definition is gone", LONG, async || {
        let answer = d.get(place.clone()).await?;
        d.steps.pop();
        ensure!(answer.status == 404);
        let answer = d.get(target.clone()).await?;
        d.steps.pop();
        ensure!(answer.status == 404);
        Ok(())
    })
    .await?;
    d.get(target.clone()).await?;
    d.get(format!("{target}?watch=1&resourceVersion={version}"))
        .await?;
    Ok(())
}
