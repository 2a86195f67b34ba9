//! Requests that write: from bodies and parameters to the registry's rules, and back to answers.

use serde_json::{Value, json};

use super::managed_fields::Manager;
use super::negotiate::{Representation, json_body};
use super::options::{ListOptions, Query};
use super::patch::Patch;
use super::read::registry;
use super::registry::{DeleteOptions, Deleted, Place};
use super::route::Target;
use super::selector::Selector;
use super::status::{ApiError, bad_request, conflict};
use super::{Answer, Context, Outcome, object_body};
use crate::message::Request;
use crate::object::text;

pub(super) fn create(
    request: &Request,
    query: &Query,
    target: &Target,
    form: Representation,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    json_body(request)?;
    let body = parse(request, &ctx.kinds.get(target.resource).kind)?;
    refuse_dry_run(query)?;
    let manager = manager(request, query, target);
    let object = registry(ctx).create(target.resource, &target.namespace, body, &manager)?;
    let body = object_body(&object, form, target, ctx);
    Ok(Outcome::Committed(Answer::bytes(
        201,
        "application/json",
        body,
    )))
}

/// Binds a pod to a node, once.
pub(super) fn bind(
    request: &Request,
    query: &Query,
    target: &Target,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    json_body(request)?;
    let body = parse(request, "Binding")?;
    refuse_dry_run(query)?;
    let node = text(&body, &["target", "name"]);
    let place = target.place();
    let now_on = {
        let registry = registry(ctx);
        let pod = registry.get(place)?;
        text(pod.value(), &["spec", "nodeName"]).to_owned()
    };
    if !now_on.is_empty() {
        let why = format!("pod {} is already assigned to node {now_on:?}", target.name);
        return Err(conflict("", "pods/binding", &target.name, &why));
    }
    registry(ctx).bind(place, node)?;
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    });
    Ok(Outcome::Committed(Answer::json(201, &status)))
}

pub(super) fn replace(
    request: &Request,
    query: &Query,
    target: &Target,
    form: Representation,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    json_body(request)?;
    let body = parse(request, &ctx.kinds.get(target.resource).kind)?;
    refuse_dry_run(query)?;
    let manager = manager(request, query, target);
    let object = registry(ctx).update(target.place(), body, &manager)?;
    let body = object_body(&object, form, target, ctx);
    Ok(Outcome::Committed(Answer::bytes(
        200,
        "application/json",
        body,
    )))
}

pub(super) fn patch(
    request: &Request,
    query: &Query,
    target: &Target,
    form: Representation,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    let patch = Patch::parse(
        request.header_value("content-type").unwrap_or(""),
        &request.body,
    )?;
    refuse_dry_run(query)?;
    let manager = manager(request, query, target);
    let object = registry(ctx).patch(target.place(), &patch, &manager)?;
    let body = object_body(&object, form, target, ctx);
    Ok(Outcome::Committed(Answer::bytes(
        200,
        "application/json",
        body,
    )))
}

pub(super) fn delete(
    request: &Request,
    query: &Query,
    target: &Target,
    form: Representation,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    let options = delete_options(request, query)?;
    let returns_object = ctx.kinds.get(target.resource).delete_returns_object;
    let deleted = registry(ctx).delete(target.place(), &options)?;
    let body = match deleted {
        Deleted::Terminating(object) => object_body(&object, form, target, ctx),
        Deleted::Gone(object) if returns_object => object_body(&object, form, target, ctx),
        Deleted::Gone(object) => {
            let kind = ctx.kinds.get(target.resource);
            let mut details =
                json!({"name": object.name(), "kind": kind.plural, "uid": object.uid()});
            if !kind.group.is_empty() {
                details["group"] = json!(kind.group);
            }
            let status = json!({
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": details,
            });
            crate::object::encode(&status)
        }
    };
    Ok(Outcome::Committed(Answer::bytes(
        200,
        "application/json",
        body,
    )))
}

/// Deletes each object of a collection that the selectors match; answers with the list of them.
pub(super) fn delete_collection(
    request: &Request,
    query: &Query,
    target: &Target,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    let options = delete_options(request, query)?;
    let list = ListOptions::parse(query, ctx.version)?;
    let kind = ctx.kinds.get(target.resource).clone();
    let selector = Selector::parse(&list.label_selector, &list.field_selector, &kind)?;
    let prefix = kind.scope_prefix(&target.namespace);
    let revision = ctx.etcd.revision();
    let mut matching = Vec::new();
    if let Ok(found) = ctx.etcd.range(&prefix, "", revision) {
        matching.extend(
            found
                .map(|(_, o)| std::sync::Arc::clone(o))
                .filter(|o| selector.matches(o)),
        );
    }
    for object in &matching {
        let place = Place {
            resource: target.resource,
            namespace: object.namespace(),
            name: object.name(),
        };
        registry(ctx).delete(place, &options)?;
    }
    let items: Vec<&Value> = matching.iter().map(|o| o.value()).collect();
    let body = json!({
        "kind": format!("{}List", kind.kind),
        "apiVersion": kind.api_version(),
        "metadata": {"resourceVersion": ctx.etcd.revision().to_string()},
        "items": items,
    });
    Ok(Outcome::Committed(Answer::json(200, &body)))
}

fn parse(request: &Request, kind: &str) -> Result<Value, ApiError> {
    serde_json::from_slice(&request.body).map_err(|e| {
        bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
             error: {e}"
        ))
    })
}

fn delete_options(request: &Request, query: &Query) -> Result<DeleteOptions, ApiError> {
    refuse_dry_run(query)?;
    if request.body.is_empty() {
        let body = json!({
            "gracePeriodSeconds": query.get("gracePeriodSeconds").and_then(|s| s.parse::<u64>().ok()),
            "propagationPolicy": query.get("propagationPolicy"),
        });
        return Ok(DeleteOptions::parse(&body));
    }
    json_body(request)?;
    let body = parse(request, "DeleteOptions")?;
    if body["dryRun"].as_array().is_some_and(|d| !d.is_empty()) {
        return Err(no_dry_run());
    }
    Ok(DeleteOptions::parse(&body))
}

/// A write that is asked to be only tried must not be done.
fn refuse_dry_run(query: &Query) -> Result<(), ApiError> {
    match query.get("dryRun") {
        None | Some("") => Ok(()),
        Some(_) => Err(no_dry_run()),
    }
}

fn no_dry_run() -> ApiError {
    bad_request("dryRun: this is a simulated apiserver, which has no dry run")
}

/// `fieldManager`, else the beginning of the User-Agent, as the apiserver names managers.
fn manager(request: &Request, query: &Query, target: &Target) -> Manager {
    let agent = request.header_value("user-agent").unwrap_or("");
    let name = match query.get("fieldManager") {
        Some(given) if !given.is_empty() => given,
        _ => agent.split('/').next().unwrap_or(""),
    };
    Manager {
        name: if name.is_empty() { "unknown" } else { name }.to_owned(),
        subresource: target.subresource.clone(),
    }
}
