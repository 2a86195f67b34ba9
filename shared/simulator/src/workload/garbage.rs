//! Garbage collection by owner references, the finalizers of cascading deletion, and the end of namespaces.

use std::sync::Arc;

use serde_json::{Value, json};

use super::context::{CONTROLLER_MANAGER, Context, place};
use super::task::Name;
use crate::change::Change;
use crate::json::{items, set, text};
use crate::manager::Manager;
use crate::object::{ChangeKind, Object};
use crate::registry::DeleteOptions;

/// Whether all contents of a namespace, or all objects of a CustomResourceDefinition, are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emptied {
    Done,
    NotYet,
}

/// Collects the dependents of an object that is gone, or that waits for its dependents.
pub(super) fn observe(change: &Change, ctx: &mut Context<'_>) {
    let kind = ctx.kinds.get(change.resource);
    if matches!(kind.kind.as_str(), "Event" | "Lease" | "Endpoints") {
        return;
    }
    let resource = kind.qualified();
    let object = &change.object;
    if change.kind == ChangeKind::Deleted {
        if kind.kind != "Pod" {
            for (resource, dependent) in dependents(object, ctx) {
                ctx.delete(&resource, &Name::of(&dependent), &DeleteOptions::default());
            }
        }
        // An owner may have waited for this object.
        for owner in items(object.value(), &["metadata", "ownerReferences"]) {
            let name = Name::new(object.namespace(), text(owner, &["name"]));
            if let Some((resource, owner)) = find_owner(owner, &name, ctx) {
                finalize(&resource, &owner, ctx);
            }
        }
    } else if object.is_terminating() {
        finalize(&resource, object, ctx);
    }
}

/// Creates the ServiceAccount and the ConfigMap with the cluster's certificate in a new namespace.
pub(super) fn furnish_namespace(name: &Name, ctx: &mut Context<'_>) {
    let account = json!({"metadata": {"name": "default"}});
    ctx.create("serviceaccounts", &name.name, account, CONTROLLER_MANAGER);
    let certificate = json!({
        "metadata": {
            "name": "kube-root-ca.crt",
            "annotations": {"kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver."},
        },
        "data": {"ca.crt": ""},
    });
    ctx.create("configmaps", &name.name, certificate, CONTROLLER_MANAGER);
}

/// Deletes the contents of a terminating namespace, and the namespace once its contents are gone.
pub(super) fn empty_namespace(name: &Name, ctx: &mut Context<'_>) -> Emptied {
    if !ctx
        .get("namespaces", name)
        .is_some_and(|n| n.is_terminating())
    {
        return Emptied::Done;
    }
    let resources: Vec<String> = ctx
        .kinds
        .served()
        .filter(|(_, kind)| kind.namespaced)
        .map(|(_, kind)| kind.qualified())
        .collect();
    let mut left = 0;
    for resource in &resources {
        for object in ctx.list(resource, &name.name) {
            ctx.delete(resource, &Name::of(&object), &DeleteOptions::default());
        }
        left += ctx.list(resource, &name.name).len();
    }
    if left > 0 {
        return Emptied::NotYet;
    }
    if let Some(id) = ctx.kinds.named("namespaces") {
        // If it is already gone, nothing remains to do.
        let _ = ctx.registry().finalize_namespace(place(id, name));
    }
    Emptied::Done
}

/// Does what the cascading finalizers of a terminating object require, and then removes these finalizers.
fn finalize(resource: &str, object: &Object, ctx: &mut Context<'_>) {
    if !object.is_terminating() {
        return;
    }
    let finalizers = items(object.value(), &["metadata", "finalizers"]);
    let has = |wanted: &str| finalizers.iter().any(|f| f == wanted);
    if has("orphan") {
        for (resource, dependent) in dependents(object, ctx) {
            let manager = Manager::new(CONTROLLER_MANAGER);
            ctx.modify(&resource, &Name::of(&dependent), &manager, |value| {
                retain(value, "ownerReferences", |owner| {
                    owner["uid"] != object.uid()
                });
            });
        }
        remove_finalizer(resource, object, "orphan", ctx);
    } else if has("foregroundDeletion") {
        let waiting = dependents(object, ctx);
        for (resource, dependent) in &waiting {
            if !dependent.is_terminating() {
                let options = DeleteOptions {
                    propagation: "Foreground".to_owned(),
                    ..DeleteOptions::default()
                };
                ctx.delete(resource, &Name::of(dependent), &options);
            }
        }
        if dependents(object, ctx).is_empty() {
            remove_finalizer(resource, object, "foregroundDeletion", ctx);
        }
    }
}

fn remove_finalizer(resource: &str, object: &Object, finalizer: &str, ctx: &mut Context<'_>) {
    let manager = Manager::new(CONTROLLER_MANAGER);
    ctx.modify(resource, &Name::of(object), &manager, |value| {
        retain(value, "finalizers", |f| f != finalizer);
    });
}

fn retain(value: &mut Value, key: &str, keep: impl Fn(&Value) -> bool) {
    let mut list = items(value, &["metadata", key]).to_vec();
    list.retain(keep);
    set(value, &["metadata", key], json!(list));
}

/// Returns the objects in the owner's namespace that name `owner` as their owner, each with its resource. Event objects
/// are left out.
fn dependents(owner: &Object, ctx: &Context<'_>) -> Vec<(String, Arc<Object>)> {
    let kinds = ctx
        .kinds
        .served()
        .filter(|(_, kind)| kind.namespaced && kind.kind != "Event");
    kinds
        .flat_map(|(_, kind)| {
            let resource = kind.qualified();
            let owned = ctx.owned(&resource, owner);
            owned
                .into_iter()
                .map(move |object| (resource.clone(), object))
        })
        .collect()
}

/// Returns the object that an owner reference names, with its resource, if the object has the reference's uid; else
/// `None`.
fn find_owner(reference: &Value, name: &Name, ctx: &Context<'_>) -> Option<(String, Arc<Object>)> {
    let kind = text(reference, &["kind"]);
    let (_, kind) = ctx.kinds.served().find(|(_, k)| k.kind == kind)?;
    let resource = kind.qualified();
    let owner = ctx.get(&resource, name)?;
    (reference["uid"] == owner.uid()).then_some((resource, owner))
}
