//! CustomResourceDefinitions: created, established, served, changed, and removed.

use std::time::Duration;

use serde_json::json;
use watchscope_model::tree::BTreeMap;

use super::context::{Context, Definition};
use super::deployments::set_condition;
use super::garbage::Emptied;
use super::task::Name;
use crate::json::{items, number, set};
use crate::manager::Manager;
use crate::registry::DeleteOptions;

/// The resource of CustomResourceDefinitions, with its group.
const RESOURCE: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Time between two checks of whether the last object of a terminating CustomResourceDefinition is gone, so that the
/// definition is removed. The number has no source.
pub(super) const CLEAN_UP_PERIOD: Duration = Duration::from_millis(200);

/// Begins or ceases to serve the resource that a CustomResourceDefinition defines. A terminating definition is removed
/// once its objects are gone.
pub(super) fn reconcile(
    name: &Name,
    established: &mut BTreeMap<String, i64>,
    ctx: &mut Context<'_>,
) -> Emptied {
    let Some(definition) = ctx.get(RESOURCE, name) else {
        established.remove(&name.name);
        return Emptied::Done;
    };
    let manager = Manager::status("kube-apiserver");
    let now = ctx.timestamp();
    if definition.is_terminating() {
        let objects = ctx.list(&name.name, "");
        for object in &objects {
            ctx.delete(&name.name, &Name::of(object), &DeleteOptions::default());
        }
        if !objects.is_empty() {
            // Its objects are deleted first, so that their DELETED events reach the watches before those end.
            return Emptied::NotYet;
        }
        if let Some(resource) = ctx.kinds.named(&name.name) {
            ctx.definitions.push(Definition::Gone(resource));
        }
        established.remove(&name.name);
        if !items(definition.value(), &["metadata", "finalizers"]).is_empty() {
            ctx.modify(RESOURCE, name, &Manager::new("kube-apiserver"), |value| {
                set(value, &["metadata", "finalizers"], json!([]));
            });
        }
        return Emptied::Done;
    }
    let generation = number(definition.value(), &["metadata", "generation"]).unwrap_or(0);
    if established.insert(name.name.clone(), generation) == Some(generation) {
        return Emptied::Done;
    }
    ctx.definitions
        .push(Definition::Established(definition.decode()));
    let names = definition.value()["spec"]["names"].clone();
    ctx.modify(RESOURCE, name, &manager, |value| {
        set(value, &["status", "acceptedNames"], names);
        let accepted = "no conflicts found";
        set_condition(value, "NamesAccepted", true, "NoConflicts", accepted, &now);
        let message = "the initial names have been accepted";
        set_condition(
            value,
            "Established",
            true,
            "InitialNamesAccepted",
            message,
            &now,
        );
    });
    Emptied::Done
}
