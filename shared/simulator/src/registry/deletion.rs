//! Deletes objects, or marks them as terminating if a grace period or finalizers hold them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::writing::{Place, Registry};
use crate::json::{items, number, set, text};
use crate::kinds::ResourceType;
use crate::kubectl::defaults;
use crate::object::{ChangeKind, Object};
use crate::schema::tidy;
use crate::status::{ApiError, conflict};

/// The options of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_secs: Option<u64>,
    /// The propagation policy: `Orphan` keeps dependents, `Foreground` waits for them. With any other value dependents
    /// are garbage-collected after the object.
    pub(crate) propagation: String,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    /// Returns the options of a deletion at once, without a grace period.
    pub(crate) fn now() -> DeleteOptions {
        DeleteOptions {
            grace_secs: Some(0),
            ..DeleteOptions::default()
        }
    }

    pub(crate) fn parse(body: &Value) -> DeleteOptions {
        let precondition = |key: &str| match text(body, &["preconditions", key]) {
            "" => None,
            wanted => Some(wanted.to_owned()),
        };
        DeleteOptions {
            grace_secs: body["gracePeriodSeconds"].as_u64(),
            propagation: match body["orphanDependents"] {
                Value::Bool(true) => "Orphan".to_owned(),
                _ => text(body, &["propagationPolicy"]).to_owned(),
            },
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        }
    }
}

/// The result of a deletion.
#[derive(Clone, Debug)]
pub(crate) enum Deleted {
    /// The object is gone.
    Gone(Arc<Object>),
    /// The object is terminating: a grace period or finalizers hold it.
    Terminating(Arc<Object>),
}

impl Registry<'_> {
    pub(crate) fn delete(
        &mut self,
        place: Place<'_>,
        options: &DeleteOptions,
    ) -> Result<Deleted, ApiError> {
        let kind = self.kinds.get(place.resource);
        let old = Arc::clone(self.get(place)?);
        if let Some(uid) = &options.uid
            && uid != old.uid()
        {
            return Err(self.uid_conflict(kind, &old, uid));
        }
        let before = old.decode();
        let version = text(&before, &["metadata", "resourceVersion"]);
        if let Some(wanted) = &options.resource_version
            && wanted != version
        {
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
                 ({version}). The object might have been modified"
            );
            return Err(conflict("", &kind.kind, place.name, &why));
        }
        let mut new = before.clone();
        let grace = self.grace_secs(kind, &before, options);
        match options.propagation.as_str() {
            "Orphan" => self.add_finalizer(&mut new, "orphan"),
            "Foreground" => self.add_finalizer(&mut new, "foregroundDeletion"),
            _ => {}
        }
        if kind.kind == "CustomResourceDefinition" {
            // The definition stays until its objects are gone.
            self.add_finalizer(&mut new, defaults::DEFINITION_FINALIZER);
        }
        let is_namespace =
            kind.kind == "Namespace" && !items(&new, &["spec", "finalizers"]).is_empty();
        let held =
            grace > 0 || is_namespace || !items(&new, &["metadata", "finalizers"]).is_empty();
        let key = kind.key(place.namespace, place.name);
        if !held && kind.kind != "Pod" {
            return Ok(Deleted::Gone(self.erase(place.resource, &key, &old)));
        }
        let until = self.wall.seconds(self.now + Duration::from_secs(grace));
        // Namespaces and definitions have no grace period: a second deletion changes nothing.
        let held_longer = number(&new, &["metadata", "deletionGracePeriodSeconds"])
            .is_some_and(|held| held > i64::try_from(grace).unwrap_or(i64::MAX));
        if !old.is_terminating() || held_longer {
            set(&mut new, &["metadata", "deletionTimestamp"], json!(until));
            if is_namespace || kind.kind == "CustomResourceDefinition" {
                // Namespaces and definitions end by their own rules, without a grace period.
            } else {
                set(
                    &mut new,
                    &["metadata", "deletionGracePeriodSeconds"],
                    json!(grace),
                );
            }
            if kind.kind == "CustomResourceDefinition" {
                defaults::terminate_definition(&mut new, &until);
            } else if kind.has_generation
                && let Some(generation) = number(&new, &["metadata", "generation"])
            {
                set(&mut new, &["metadata", "generation"], json!(generation + 1));
            }
            if is_namespace {
                set(&mut new, &["status", "phase"], json!("Terminating"));
            }
        }
        if new == before {
            return Ok(Deleted::Terminating(old));
        }
        tidy(&mut new, kind);
        if !held {
            // Nothing waits for this pod. The answer shows how it ended; watches get its last stored state.
            let erased = self.erase(place.resource, &key, &old);
            let version = erased.revision().to_string();
            set(&mut new, &["metadata", "resourceVersion"], json!(version));
            return Ok(Deleted::Gone(Arc::new(Object::new(
                new,
                ChangeKind::Deleted,
            ))));
        }
        Ok(Deleted::Terminating(self.put(
            place.resource,
            &key,
            new,
            ChangeKind::Modified,
        )))
    }

    /// Returns the grace period of a deletion, in seconds: 0 for a pod that has no node or has ended, and for any
    /// object but a pod.
    fn grace_secs(&self, kind: &ResourceType, object: &Value, options: &DeleteOptions) -> u64 {
        let unscheduled = text(object, &["spec", "nodeName"]).is_empty();
        let ended = matches!(text(object, &["status", "phase"]), "Succeeded" | "Failed");
        if kind.kind != "Pod" || unscheduled || ended {
            return 0;
        }
        let default = number(object, &["spec", "terminationGracePeriodSeconds"])
            .and_then(|secs| u64::try_from(secs).ok())
            .unwrap_or(30);
        options.grace_secs.unwrap_or(default)
    }

    fn add_finalizer(&self, object: &mut Value, finalizer: &str) {
        let mut all = items(object, &["metadata", "finalizers"]).to_vec();
        if !all.iter().any(|f| f == finalizer) {
            all.push(json!(finalizer));
            set(object, &["metadata", "finalizers"], json!(all));
        }
    }

    fn uid_conflict(&self, kind: &ResourceType, old: &Object, wanted: &str) -> ApiError {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            old.uid()
        );
        conflict("", &kind.kind, old.name(), &why)
    }
}
