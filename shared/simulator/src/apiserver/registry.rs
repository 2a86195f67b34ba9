//! The rules of writing: create, update, patch and delete as every client, and every controller in the world, does them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::defaults;
use super::managed_fields::{Manager, record};
use super::patch::Patch;
use super::status::{
    ApiError, FieldError, already_exists, bad_request, conflict, forbidden, invalid, not_found,
    server_error,
};
use crate::etcd::Etcd;
use crate::kinds::{Kinds, ResourceId, ResourceType};
use crate::object::{Object, at, items, number, remove, set, text};
use crate::random::Random;
use crate::time::{Time, Wall};

/// What a write needs of the world.
pub(crate) struct Registry<'a> {
    pub(crate) etcd: &'a mut Etcd,
    pub(crate) kinds: &'a Kinds,
    pub(crate) random: &'a mut Random,
    pub(crate) wall: Wall,
    pub(crate) now: Time,
}

/// How an object is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_secs: Option<u64>,
    /// `Orphan` keeps dependents, `Foreground` waits for them; anything else lets them be collected after.
    pub(crate) propagation: String,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    /// At once: without grace period.
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

/// What a delete did.
#[derive(Clone, Debug)]
pub(crate) enum Deleted {
    /// The object is gone.
    Gone(Arc<Object>),
    /// It is terminating: a grace period or finalizers hold it.
    Terminating(Arc<Object>),
}

/// Where an object is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) resource: ResourceId,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

const MODIFIED_MEANWHILE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl Registry<'_> {
    pub(crate) fn get(&self, place: Place<'_>) -> Result<&Arc<Object>, ApiError> {
        let kind = self.kinds.get(place.resource);
        self.etcd
            .get(&kind.key(place.namespace, place.name))
            .ok_or_else(|| not_found(&kind.group, &kind.plural, place.name))
    }

    pub(crate) fn create(
        &mut self,
        resource: ResourceId,
        namespace: &str,
        mut body: Value,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = self.kinds.get(resource);
        check_type(&mut body, kind)?;
        if !text(&body, &["metadata", "resourceVersion"]).is_empty() {
            let refused = "resourceVersion should not be set on objects to be created";
            return Err(server_error(refused));
        }
        self.enter_namespace(&mut body, kind, namespace)?;
        let generate = text(&body, &["metadata", "generateName"]).to_owned();
        if text(&body, &["metadata", "name"]).is_empty() && !generate.is_empty() {
            let name = format!("{generate}{}", self.random.name_suffix(5));
            set(&mut body, &["metadata", "name"], json!(name));
        }
        let name = text(&body, &["metadata", "name"]).to_owned();
        if name.is_empty() {
            let error = FieldError::required("metadata.name", "name or generateName is required");
            return Err(invalid(&kind.group, &kind.kind, "", &[error]));
        }
        for key in [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "generation",
            "managedFields",
            "selfLink",
        ] {
            remove(&mut body, &["metadata", key]);
        }
        defaults::begin(&mut body, kind, self.random);
        defaults::fill(&mut body, kind);
        self.validate(&body, kind, &name)?;
        let key = kind.key(namespace, &name);
        if self.etcd.get(&key).is_some() {
            return Err(already_exists(&kind.group, &kind.plural, &name));
        }
        set(&mut body, &["metadata", "uid"], json!(self.random.uuid()));
        let time = self.wall.seconds(self.now);
        set(&mut body, &["metadata", "creationTimestamp"], json!(time));
        if kind.has_generation {
            set(&mut body, &["metadata", "generation"], json!(1));
        }
        record(None, &mut body, manager, kind.has_status, &time);
        Ok(self.etcd.put(resource, &key, body, self.now))
    }

    /// Replaces an object, or its status when the manager writes through that subresource.
    pub(crate) fn update(
        &mut self,
        place: Place<'_>,
        body: Value,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let old = Arc::clone(self.get(place)?);
        let before = old.decode();
        self.update_from(place, &old, &before, body, manager)
    }

    /// The same of an object that is read already.
    fn update_from(
        &mut self,
        place: Place<'_>,
        old: &Arc<Object>,
        before: &Value,
        mut body: Value,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = self.kinds.get(place.resource);
        check_type(&mut body, kind)?;
        match text(&body, &["metadata", "name"]) {
            name if name == place.name => {}
            name => {
                return Err(bad_request(format!(
                    "the name of the object ({name}) does not match the name on the URL ({})",
                    place.name
                )));
            }
        }
        self.enter_namespace_of(&mut body, kind, place.namespace)?;
        let version = text(&body, &["metadata", "resourceVersion"]);
        let unconditional = version.is_empty() || version == "0";
        if unconditional && matches!(kind.printer, crate::kinds::Printer::Columns(_)) {
            let error = FieldError {
                field: "metadata.resourceVersion".to_owned(),
                kind: "FieldValueInvalid",
                body: "Invalid value: 0: must be specified for an update".to_owned(),
            };
            return Err(invalid(&kind.group, &kind.plural, place.name, &[error]));
        }
        if !unconditional && version != text(before, &["metadata", "resourceVersion"]) {
            return Err(conflict(
                &kind.group,
                &kind.plural,
                place.name,
                MODIFIED_MEANWHILE,
            ));
        }
        match text(&body, &["metadata", "uid"]) {
            "" => {}
            uid if uid == old.uid() => {}
            uid => return Err(self.uid_conflict(kind, old, uid)),
        }
        self.replace(place, old, before, body, manager)
    }

    pub(crate) fn patch(
        &mut self,
        place: Place<'_>,
        patch: &Patch,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let old = Arc::clone(self.get(place)?);
        let before = old.decode();
        let patched = patch.apply(&before)?;
        self.update_from(place, &old, &before, patched, manager)
    }

    /// Changes an object in place, as a controller does that has it fresh.
    pub(crate) fn modify(
        &mut self,
        place: Place<'_>,
        manager: &Manager,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Object>, ApiError> {
        let old = Arc::clone(self.get(place)?);
        let before = old.decode();
        let mut new = before.clone();
        change(&mut new);
        self.replace(place, &old, &before, new, manager)
    }

    /// Sets `spec.nodeName` and the condition that says so, as the binding subresource does; no manager is noted.
    pub(crate) fn bind(&mut self, place: Place<'_>, node: &str) -> Result<Arc<Object>, ApiError> {
        let old = Arc::clone(self.get(place)?);
        let mut new = old.decode();
        set(&mut new, &["spec", "nodeName"], json!(node));
        let condition = json!([{
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": null,
            "lastTransitionTime": self.wall.seconds(self.now),
        }]);
        set(&mut new, &["status", "conditions"], condition);
        let key = self
            .kinds
            .get(place.resource)
            .key(place.namespace, place.name);
        Ok(self.etcd.put(place.resource, &key, new, self.now))
    }

    /// Removes a namespace whose content is gone, as its finalize subresource does.
    pub(crate) fn finalize_namespace(&mut self, place: Place<'_>) -> Result<Arc<Object>, ApiError> {
        let old = Arc::clone(self.get(place)?);
        let mut last = old.decode();
        set(&mut last, &["spec", "finalizers"], json!([]));
        let key = self
            .kinds
            .get(place.resource)
            .key(place.namespace, place.name);
        Ok(self.etcd.delete(place.resource, &key, last, self.now))
    }

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
                "Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {version}"
            );
            return Err(conflict(&kind.group, &kind.plural, place.name, &why));
        }
        let mut new = before.clone();
        let grace = self.grace_secs(kind, &before, options);
        match options.propagation.as_str() {
            "Orphan" => self.add_finalizer(&mut new, "orphan"),
            "Foreground" => self.add_finalizer(&mut new, "foregroundDeletion"),
            _ => {}
        }
        let is_namespace =
            kind.kind == "Namespace" && !items(&new, &["spec", "finalizers"]).is_empty();
        let held =
            grace > 0 || is_namespace || !items(&new, &["metadata", "finalizers"]).is_empty();
        let key = kind.key(place.namespace, place.name);
        if !held {
            return Ok(Deleted::Gone(self.etcd.delete(
                place.resource,
                &key,
                new,
                self.now,
            )));
        }
        let until = self.wall.seconds(self.now + Duration::from_secs(grace));
        let held_longer = number(&new, &["metadata", "deletionGracePeriodSeconds"])
            .is_none_or(|held| held > i64::try_from(grace).unwrap_or(i64::MAX));
        if !old.is_terminating() || held_longer {
            set(&mut new, &["metadata", "deletionTimestamp"], json!(until));
            set(
                &mut new,
                &["metadata", "deletionGracePeriodSeconds"],
                json!(grace),
            );
            if kind.has_generation
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
        Ok(Deleted::Terminating(self.etcd.put(
            place.resource,
            &key,
            new,
            self.now,
        )))
    }

    /// Writes `new` over `old`, keeping what writers may not change; nothing is written if nothing changes.
    fn replace(
        &mut self,
        place: Place<'_>,
        old: &Arc<Object>,
        before: &Value,
        mut new: Value,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = self.kinds.get(place.resource);
        let mut new = if manager.subresource == "status" {
            with_status(before.clone(), remove(&mut new, &["status"]))
        } else if kind.has_status {
            with_status(new, before.get("status").cloned())
        } else {
            new
        };
        defaults::fill(&mut new, kind);
        for key in [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "managedFields",
            "resourceVersion",
            "generateName",
        ] {
            match before["metadata"].get(key) {
                Some(kept) => set(&mut new, &["metadata", key], kept.clone()),
                None => {
                    remove(&mut new, &["metadata", key]);
                }
            }
        }
        if &new == before {
            return Ok(Arc::clone(old));
        }
        self.validate(&new, kind, place.name)?;
        if kind.has_generation && differs_in_spec(before, &new) {
            let generation = number(before, &["metadata", "generation"]).unwrap_or(0);
            set(&mut new, &["metadata", "generation"], json!(generation + 1));
        }
        let time = self.wall.seconds(self.now);
        record(Some(before), &mut new, manager, kind.has_status, &time);
        let key = kind.key(place.namespace, place.name);
        let released = old.is_terminating()
            && items(&new, &["metadata", "finalizers"]).is_empty()
            && items(&new, &["spec", "finalizers"]).is_empty()
            && number(&new, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) == 0;
        if released {
            return Ok(self.etcd.delete(place.resource, &key, new, self.now));
        }
        Ok(self.etcd.put(place.resource, &key, new, self.now))
    }

    fn validate(&self, value: &Value, kind: &ResourceType, name: &str) -> Result<(), ApiError> {
        let errors = defaults::errors(value, kind);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(invalid(&kind.group, &kind.kind, name, &errors))
        }
    }

    /// Puts a new object in its namespace, which must be there and stay.
    fn enter_namespace(
        &self,
        body: &mut Value,
        kind: &ResourceType,
        namespace: &str,
    ) -> Result<(), ApiError> {
        self.enter_namespace_of(body, kind, namespace)?;
        if !kind.namespaced {
            return Ok(());
        }
        let Some(present) = self.etcd.get(&format!("/registry/namespaces/{namespace}")) else {
            return Err(not_found("", "namespaces", namespace));
        };
        if present.is_terminating() {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let name = text(body, &["metadata", "name"]);
            return Err(forbidden(&kind.group, &kind.plural, name, &why));
        }
        Ok(())
    }

    fn enter_namespace_of(
        &self,
        body: &mut Value,
        kind: &ResourceType,
        namespace: &str,
    ) -> Result<(), ApiError> {
        if !kind.namespaced {
            remove(body, &["metadata", "namespace"]);
            return Ok(());
        }
        match text(body, &["metadata", "namespace"]) {
            "" => set(body, &["metadata", "namespace"], json!(namespace)),
            given if given == namespace => {}
            _ => {
                return Err(bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
        }
        Ok(())
    }

    /// Seconds a pod is given to stop: none if it never ran or has ended.
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

/// The object must be of the type of the path; what it leaves out is filled in.
fn check_type(body: &mut Value, kind: &ResourceType) -> Result<(), ApiError> {
    if !body.is_object() || body.get("metadata").is_some_and(|m| !m.is_object()) {
        return Err(bad_request(format!(
            "the object provided is unrecognized (must be of type {}): not a JSON object with metadata",
            kind.kind
        )));
    }
    let api_version = kind.api_version();
    match text(body, &["apiVersion"]) {
        "" => set(body, &["apiVersion"], json!(api_version)),
        given if given == api_version => {}
        given => {
            return Err(bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: no kind {:?} is registered for version {given:?}",
                kind.kind, kind.version, kind.kind, kind.kind
            )));
        }
    }
    match text(body, &["kind"]) {
        "" => set(body, &["kind"], json!(kind.kind)),
        given if given == kind.kind => {}
        given => {
            return Err(bad_request(format!(
                "{given} in version {:?} cannot be handled as a {}: converting (v1.{given}) to ({}): unknown conversion",
                kind.version, kind.kind, kind.kind
            )));
        }
    }
    if at(body, &["metadata"]).is_none() {
        set(body, &["metadata"], json!({}));
    }
    Ok(())
}

/// `object` with another status.
fn with_status(mut object: Value, status: Option<Value>) -> Value {
    match status {
        Some(status) => set(&mut object, &["status"], status),
        None => {
            remove(&mut object, &["status"]);
        }
    }
    object
}

/// Whether anything but metadata and status differs: what `generation` counts.
fn differs_in_spec(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return true;
    };
    let counted = |key: &&String| !matches!(key.as_str(), "metadata" | "status");
    old.keys()
        .chain(new.keys())
        .filter(counted)
        .any(|key| old.get(key) != new.get(key))
}
