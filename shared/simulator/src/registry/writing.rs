//! Creates, updates and patches objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::types::check_type;
use crate::etcd::Etcd;
use crate::json::{at, items, number, remove, set, text};
use crate::kinds::{Kinds, Printer, ResourceId, ResourceType};
use crate::kubectl::defaults;
use crate::kubectl::managed_fields::record;
use crate::manager::Manager;
use crate::object::{ChangeKind, Object};
use crate::random::Random;
use crate::schema::tidy;
use crate::status::{
    ApiError, FieldError, already_exists, bad_request, conflict, forbidden, invalid, not_found,
    server_error,
};
use crate::time::{Time, Wall};

/// The parts of the world that a write uses. A function of the registry refuses a write with an [`ApiError`] as a real
/// server does. Most refusals are 404 without the object or its namespace, 400 or 422 for an invalid object, and 409
/// for a conflict.
pub(crate) struct Registry<'a> {
    pub(crate) etcd: &'a mut Etcd,
    pub(crate) kinds: &'a Kinds,
    pub(crate) random: &'a mut Random,
    pub(crate) wall: Wall,
    pub(crate) now: Time,
    /// Whether to answer as if the object were written, and to write nothing.
    pub(crate) dry_run: bool,
}

/// The resource, namespace and name of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) resource: ResourceId,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

/// The server's words for a write whose resourceVersion is not the object's (409; `OptimisticLockErrorMsg` of apiserver
/// `registry/generic/registry/store.go`, 1.36).
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
        check_type(&mut body, kind, self.kinds)?;
        if !matches!(text(&body, &["metadata", "resourceVersion"]), "" | "0") {
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
            "resourceVersion",
            "selfLink",
        ] {
            remove(&mut body, &["metadata", key]);
        }
        defaults::fill(&mut body, kind);
        tidy(&mut body, kind);
        // Managed fields are recorded before anything is added that the client did not send, as in the apiserver.
        let time = self.wall.seconds(self.now);
        record(None, &mut body, manager, kind, &time);
        let uid = self.random.uuid();
        defaults::begin(&mut body, kind, &uid, self.random);
        defaults::fill(&mut body, kind);
        match kind.kind.as_str() {
            "Pod" => {
                let account = format!("/registry/serviceaccounts/{namespace}/default");
                defaults::admit_pod(&mut body, self.etcd.get(&account).is_some());
            }
            "Node" => defaults::admit_node(&mut body),
            _ => {}
        }
        self.validate(None, &body, kind, &name)?;
        let key = kind.key(namespace, &name);
        if self.etcd.get(&key).is_some() {
            return Err(already_exists(&kind.group, &kind.plural, &name));
        }
        set(&mut body, &["metadata", "uid"], json!(uid));
        set(&mut body, &["metadata", "creationTimestamp"], json!(time));
        if kind.has_generation {
            set(&mut body, &["metadata", "generation"], json!(1));
        }
        tidy(&mut body, kind);
        Ok(self.put(resource, &key, body, ChangeKind::Added))
    }

    /// Replaces an object, or only its status if the manager writes through the status subresource.
    pub(crate) fn update(
        &mut self,
        place: Place<'_>,
        body: Value,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let old = Arc::clone(self.get(place)?);
        let uid = text(&body, &["metadata", "uid"]);
        if !uid.is_empty() && uid != old.uid() {
            let kind = self.kinds.get(place.resource);
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
                 failed: UID in precondition: {uid}, UID in object meta: {}",
                kind.key(place.namespace, place.name),
                old.uid()
            );
            return Err(conflict(&kind.group, &kind.plural, place.name, &why));
        }
        let before = old.decode();
        self.update_from(place, &old, &before, body, manager)
    }

    /// Replaces an object that was already read, as for a patch.
    pub(crate) fn update_from(
        &mut self,
        place: Place<'_>,
        old: &Arc<Object>,
        before: &Value,
        mut body: Value,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = self.kinds.get(place.resource);
        check_type(&mut body, kind, self.kinds)?;
        match text(&body, &["metadata", "name"]) {
            name if name == place.name => {}
            "" => {
                return Err(bad_request(format!(
                    "the name of the object ({} based on URL) was undeterminable: name must be provided",
                    place.name
                )));
            }
            name => {
                return Err(bad_request(format!(
                    "the name of the object ({name}) does not match the name on the URL ({})",
                    place.name
                )));
            }
        }
        self.enter_namespace_of(&mut body, kind, place.namespace)?;
        let version = text(&body, &["metadata", "resourceVersion"]);
        let unconditional = is_unconditional(version);
        if unconditional && matches!(kind.printer, Printer::Columns(_)) {
            let error = FieldError {
                field: "metadata.resourceVersion".to_owned(),
                kind: "FieldValueInvalid",
                body: "Invalid value: 0: must be specified for an update".to_owned(),
            };
            return Err(invalid(&kind.group, &kind.plural, place.name, &[error]));
        }
        refuse_stale(kind, place, version, before)?;
        self.replace(place, old, before, body, manager)
    }

    /// Sets the replicas of an object to the number in a Scale.
    pub(crate) fn scale(
        &mut self,
        place: Place<'_>,
        scale: &Value,
        manager: &Manager,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = self.kinds.get(place.resource);
        let old = Arc::clone(self.get(place)?);
        let replicas = number(scale, &["spec", "replicas"]).unwrap_or(0);
        if replicas < 0 {
            let error = FieldError {
                field: "spec.replicas".to_owned(),
                kind: "FieldValueInvalid",
                body: format!("Invalid value: {replicas}: must be greater than or equal to 0"),
            };
            return Err(invalid("autoscaling", "Scale", place.name, &[error]));
        }
        let version = text(scale, &["metadata", "resourceVersion"]);
        refuse_stale(kind, place, version, old.value())?;
        let before = old.decode();
        let mut new = before.clone();
        set(&mut new, &["spec", "replicas"], json!(replicas));
        self.replace(place, &old, &before, new, manager)
    }

    /// Sets a namespace's finalizers. A terminating namespace without finalizers is removed.
    pub(crate) fn finalize(
        &mut self,
        place: Place<'_>,
        body: &Value,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = self.kinds.get(place.resource);
        let old = Arc::clone(self.get(place)?);
        let version = text(body, &["metadata", "resourceVersion"]);
        refuse_stale(kind, place, version, old.value())?;
        let left = at(body, &["spec", "finalizers"])
            .cloned()
            .unwrap_or(json!([]));
        let gone = left.as_array().is_none_or(Vec::is_empty) && old.is_terminating();
        let before = old.decode();
        let mut new = before.clone();
        set(&mut new, &["spec", "finalizers"], left);
        tidy(&mut new, kind);
        let key = kind.key(place.namespace, place.name);
        if gone {
            self.erase(place.resource, &key, &old);
            return Ok(Arc::new(Object::new(new, ChangeKind::Modified)));
        }
        if new == before {
            return Ok(old);
        }
        Ok(self.put(place.resource, &key, new, ChangeKind::Modified))
    }

    /// Writes an object and returns it. A dry run only returns the object, with its present resourceVersion.
    pub(super) fn put(
        &mut self,
        resource: ResourceId,
        key: &str,
        mut value: Value,
        kind: ChangeKind,
    ) -> Arc<Object> {
        if !self.dry_run {
            return self.etcd.put(resource, key, value, self.now);
        }
        if text(&value, &["metadata", "resourceVersion"]) == "0" {
            remove(&mut value, &["metadata", "resourceVersion"]);
        }
        Arc::new(Object::new(value, kind))
    }

    /// Deletes an object. Watches deliver its last stored state.
    pub(super) fn erase(
        &mut self,
        resource: ResourceId,
        key: &str,
        last: &Arc<Object>,
    ) -> Arc<Object> {
        if self.dry_run {
            return Arc::clone(last);
        }
        self.etcd.delete(resource, key, last.decode(), self.now)
    }

    /// Changes an object in place, like a controller that has just read the object.
    pub(crate) fn modify(
        &mut self,
        place: Place<'_>,
        manager: &Manager,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Object>, ApiError> {
        let old = Arc::clone(self.get(place)?);
        let before = old.tree();
        let mut new = before.clone().into_owned();
        change(&mut new);
        if new == *before {
            // A controller often finds that nothing needs to change.
            return Ok(Arc::clone(&old));
        }
        self.replace(place, &old, &before, new, manager)
    }

    /// Sets `spec.nodeName` and the pod's condition PodScheduled, as the binding subresource does. This write records
    /// no field manager.
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
        let kind = self.kinds.get(place.resource);
        tidy(&mut new, kind);
        let key = kind.key(place.namespace, place.name);
        Ok(self.put(place.resource, &key, new, ChangeKind::Modified))
    }

    /// Removes a namespace whose content is gone, as the namespace's finalize subresource does.
    pub(crate) fn finalize_namespace(&mut self, place: Place<'_>) -> Result<Arc<Object>, ApiError> {
        self.finalize(place, &json!({}))
    }

    /// Writes `new` over `old`, and keeps the fields that writers may not change. If nothing changes, the function
    /// writes nothing.
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
            with_status(without_status(before), remove(&mut new, &["status"]))
        } else if kind.has_status {
            with_status(new, before.get("status").cloned())
        } else {
            new
        };
        defaults::fill(&mut new, kind);
        if kind.kind == "Namespace" {
            // Only the finalize subresource changes these.
            let kept = at(before, &["spec", "finalizers"]).cloned();
            set(&mut new, &["spec", "finalizers"], kept.unwrap_or_default());
        }
        let forgets_managers = new["metadata"]["managedFields"] == json!([])
            || new["metadata"]["managedFields"] == json!([{}]);
        let renamed = defaults::identity_errors(before, &new);
        if !renamed.is_empty() {
            return Err(invalid(&kind.group, &kind.kind, place.name, &renamed));
        }
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
                Some(kept) if new["metadata"].get(key) == Some(kept) => {}
                Some(kept) => set(&mut new, &["metadata", key], kept.clone()),
                None => {
                    remove(&mut new, &["metadata", key]);
                }
            }
        }
        if forgets_managers {
            remove(&mut new, &["metadata", "managedFields"]);
        }
        tidy(&mut new, kind);
        if &new == before {
            return Ok(Arc::clone(old));
        }
        self.validate(Some(before), &new, kind, place.name)?;
        if kind.has_generation && differs_in_spec(before, &new) {
            let generation = number(before, &["metadata", "generation"]).unwrap_or(0);
            set(&mut new, &["metadata", "generation"], json!(generation + 1));
        }
        let time = self.wall.seconds(self.now);
        record(Some(before), &mut new, manager, kind, &time);
        tidy(&mut new, kind);
        let key = kind.key(place.namespace, place.name);
        let released = old.is_terminating()
            && items(&new, &["metadata", "finalizers"]).is_empty()
            && items(&new, &["spec", "finalizers"]).is_empty()
            && number(&new, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) == 0;
        if released {
            self.erase(place.resource, &key, old);
            return Ok(Arc::new(Object::new(new, ChangeKind::Modified)));
        }
        Ok(self.put(place.resource, &key, new, ChangeKind::Modified))
    }

    fn validate(
        &self,
        before: Option<&Value>,
        value: &Value,
        kind: &ResourceType,
        name: &str,
    ) -> Result<(), ApiError> {
        let mut errors = Vec::new();
        if let Some(before) = before {
            errors = defaults::update_errors(before, value, kind);
        }
        errors.extend(defaults::errors(value, kind));
        if errors.is_empty() {
            Ok(())
        } else {
            Err(invalid(&kind.group, &kind.kind, name, &errors))
        }
    }

    /// Sets a new object's namespace. A namespace that does not exist is refused with 404, a terminating one with 403,
    /// another one than the path's with 400.
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
            let mut refusal = forbidden(&kind.group, &kind.plural, name, &why);
            if let Some(details) = &mut refusal.details {
                details["causes"] = json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {namespace} is being terminated"),
                    "field": "metadata.namespace",
                }]);
            }
            return Err(refusal);
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
}

/// Returns whether a write names no resourceVersion, or 0, so that the write replaces the object at any
/// resourceVersion.
fn is_unconditional(version: &str) -> bool {
    matches!(version, "" | "0")
}

/// Refuses with 409 a write that names another resourceVersion than that of the stored object.
fn refuse_stale(
    kind: &ResourceType,
    place: Place<'_>,
    version: &str,
    held: &Value,
) -> Result<(), ApiError> {
    if is_unconditional(version) || version == text(held, &["metadata", "resourceVersion"]) {
        return Ok(());
    }
    Err(conflict(
        &kind.group,
        &kind.plural,
        place.name,
        MODIFIED_MEANWHILE,
    ))
}

/// Returns a copy of `object` without its status.
fn without_status(object: &Value) -> Value {
    let Value::Object(fields) = object else {
        return object.clone();
    };
    let kept = fields.iter().filter(|(key, _)| *key != "status");
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Returns `object` with another status.
fn with_status(mut object: Value, status: Option<Value>) -> Value {
    match status {
        Some(status) => set(&mut object, &["status"], status),
        None => {
            remove(&mut object, &["status"]);
        }
    }
    object
}

/// Returns whether anything except metadata and status differs. `metadata.generation` counts such changes.
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
