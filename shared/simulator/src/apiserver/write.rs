//! Requests that write: this module turns bodies and parameters into calls of the registry, and the registry's results
//! into answers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::{Answer, Outcome, deprecation, warning};
use super::body::{object_body, whole_list};
use super::context::Context;
use super::negotiate::{Representation, json_body};
use super::options::{ListOptions, Query};
use super::route::Target;
use crate::json::{self, go, items, text};
use crate::kinds::{Kinds, Printer, ResourceType};
use crate::kubectl::patch::Patch;
use crate::kubectl::scale;
use crate::manager::Manager;
use crate::message::Request;
use crate::object::Object;
use crate::registry::{DeleteOptions, Deleted, Place, Registry, misfit, not_registered};
use crate::schema::{Misfits, Struct, misfits, patched_order};
use crate::selector::Selector;
use crate::status::{ApiError, FieldError, bad_request, conflict, invalid, patched_into_none};

pub(super) fn create(
    request: &Request,
    query: &Query,
    target: &Target,
    form: Representation,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    json_body(request)?;
    let options = WriteOptions::parse(query, "CreateOptions")?;
    let kind = ctx.kinds.get(target.resource);
    let body = parse(request, &kind.kind)?;
    let warnings = options.judge(&body, kind)?;
    let manager = manager(request, query, target);
    let mut registry = registry(ctx);
    registry.dry_run = options.dry_run;
    let object = registry.create(target.resource, &target.namespace, body, &manager)?;
    Ok(committed(201, &object, form, target, warnings, ctx))
}

/// Binds a pod to a node; a pod can be bound only once, and a second binding is refused with 409.
pub(super) fn bind(
    request: &Request,
    query: &Query,
    target: &Target,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    json_body(request)?;
    let body = parse(request, "Binding")?;
    let options = WriteOptions::parse(query, "CreateOptions")?;
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
    let mut registry = registry(ctx);
    registry.dry_run = options.dry_run;
    registry.bind(place, node)?;
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
    let options = WriteOptions::parse(query, "UpdateOptions")?;
    let kind = ctx.kinds.get(target.resource);
    let body = parse(request, &kind.kind)?;
    let warnings = match target.subresource.as_str() {
        "scale" => Vec::new(),
        _ => options.judge(&body, kind)?,
    };
    let manager = manager(request, query, target);
    let mut registry = registry(ctx);
    registry.dry_run = options.dry_run;
    let object = match target.subresource.as_str() {
        "scale" => registry.scale(target.place(), &body, &manager)?,
        "finalize" => registry.finalize(target.place(), &body)?,
        _ => registry.update(target.place(), body, &manager)?,
    };
    Ok(committed(200, &object, form, target, warnings, ctx))
}

pub(super) fn patch(
    request: &Request,
    query: &Query,
    target: &Target,
    form: Representation,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    let kind = ctx.kinds.get(target.resource).clone();
    let content_type = request.header_value("content-type").unwrap_or("");
    let options = WriteOptions::parse(query, "PatchOptions")?;
    let patch = Patch::parse(content_type, &request.body, &kind)?;
    let manager = manager(request, query, target);
    let mut registry = registry(ctx);
    registry.dry_run = options.dry_run;
    let old = Arc::clone(registry.get(target.place())?);
    let (object, warnings) = if target.subresource == "scale" {
        let scale = patch.apply(&scale::of(&old), &kind)?;
        (
            registry.scale(target.place(), &scale, &manager)?,
            Vec::new(),
        )
    } else {
        let before = old.decode();
        let patched = patch.apply(&before, &kind)?;
        let warnings = options.judge_patched(&before, &patched, &kind, registry.kinds)?;
        let object = registry.update_from(target.place(), &old, &before, patched, &manager)?;
        (object, warnings)
    };
    Ok(committed(200, &object, form, target, warnings, ctx))
}

pub(super) fn delete(
    request: &Request,
    query: &Query,
    target: &Target,
    form: Representation,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    let (options, dry_run) = delete_options(request, query)?;
    let returns_object = ctx.kinds.get(target.resource).delete_returns_object;
    let mut registry = registry(ctx);
    registry.dry_run = dry_run;
    let deleted = registry.delete(target.place(), &options)?;
    let body = match deleted {
        Deleted::Terminating(object) => object_body(&object, form, target, ctx),
        Deleted::Gone(object) if returns_object => object_body(&object, form, target, ctx),
        Deleted::Gone(object) => {
            let kind = ctx.kinds.get(target.resource);
            let mut details = json!({"name": object.name()});
            if !kind.group.is_empty() {
                details["group"] = json!(kind.group);
            }
            details["kind"] = json!(kind.plural);
            details["uid"] = json!(object.uid());
            let status = json!({
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": details,
            });
            json::encode(&status)
        }
    };
    Ok(Outcome::Committed(Answer::bytes(
        200,
        "application/json",
        body,
    )))
}

/// Returns the answer to a write once it is committed, with the write's warnings.
fn committed(
    status: u16,
    object: &Arc<Object>,
    form: Representation,
    target: &Target,
    warnings: Vec<String>,
    ctx: &Context<'_>,
) -> Outcome {
    let body = match target.subresource.as_str() {
        "scale" => json::encode(&scale::of(object)),
        _ => object_body(object, form, target, ctx),
    };
    let mut answer = Answer::bytes(status, "application/json", body);
    answer
        .headers
        .extend(deprecation(ctx.kinds.get(target.resource)));
    answer.headers.extend(warnings.iter().map(|w| warning(w)));
    Outcome::Committed(answer)
}

/// The parameters of a write.
#[derive(Clone, Copy, Debug)]
struct WriteOptions {
    dry_run: bool,
    validation: FieldValidation,
}

/// How a write treats fields that its kind does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl WriteOptions {
    fn parse(query: &Query, kind: &str) -> Result<WriteOptions, ApiError> {
        let mut errors = Vec::new();
        let dry_run = match query.get("dryRun") {
            None | Some("") => false,
            Some("All") => true,
            Some(other) => {
                errors.push(not_all(other));
                false
            }
        };
        let validation = match query.get("fieldValidation") {
            None | Some("" | "Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let known = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", other, &known));
                FieldValidation::Warn
            }
        };
        if errors.is_empty() {
            Ok(WriteOptions {
                dry_run,
                validation,
            })
        } else {
            Err(invalid("meta.k8s.io", kind, "", &errors))
        }
    }

    /// Returns the warnings about a body, or the refusal of a body that does not fit its kind.
    fn judge(self, body: &Value, kind: &ResourceType) -> Result<Vec<String>, ApiError> {
        let cannot = |why: &str| {
            bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: {why}",
                kind.kind, kind.version, kind.kind
            ))
        };
        if !matches!(text(body, &["kind"]), given if given.is_empty() || given == kind.kind) {
            // The registry refuses a body of another kind.
            return Ok(Vec::new());
        }
        let found = misfits(body, kind);
        if let Some(why) = &found.wrong_type {
            return Err(cannot(why));
        }
        self.judge_unknown(&found, |errors| {
            cannot(&format!("strict decoding error: {errors}"))
        })
    }

    /// Returns the warnings about a patched object, or the refusal of the patch.
    fn judge_patched(
        self,
        before: &Value,
        patched: &Value,
        kind: &ResourceType,
        kinds: &Kinds,
    ) -> Result<Vec<String>, ApiError> {
        let refusal = |why: &str| patched_into_none(&patched_order(before, patched), why);
        let given = |key: &str| text(patched, &[key]);
        if matches!(kind.printer, Printer::BuiltIn)
            && (given("apiVersion") != kind.api_version() || given("kind") != kind.kind)
        {
            let why = misfit(given("apiVersion"), given("kind"), kind, kinds);
            return Err(refusal(&why));
        }
        let found = misfits(patched, kind);
        if let Some(why) = &found.wrong_type {
            return Err(refusal(why));
        }
        self.judge_unknown(&found, |errors| {
            refusal(&format!("strict decoding error: {errors}"))
        })
    }

    fn judge_unknown(
        self,
        found: &Misfits,
        refusal: impl Fn(&str) -> ApiError,
    ) -> Result<Vec<String>, ApiError> {
        let unknown: Vec<String> = found
            .unknown
            .iter()
            .map(|path| format!("unknown field {path:?}"))
            .collect();
        match self.validation {
            FieldValidation::Strict if !unknown.is_empty() => Err(refusal(&unknown.join(", "))),
            FieldValidation::Warn => Ok(unknown),
            FieldValidation::Ignore | FieldValidation::Strict => Ok(Vec::new()),
        }
    }
}

/// Deletes each object of a collection that the selectors match. Answers with the list of these objects. At the first
/// refusal it stops and returns that refusal.
pub(super) fn delete_collection(
    request: &Request,
    query: &Query,
    target: &Target,
    ctx: &mut Context<'_>,
) -> Result<Outcome, ApiError> {
    let (options, dry_run) = delete_options(request, query)?;
    let list = ListOptions::parse(query, ctx.version)?;
    let kind = ctx.kinds.get(target.resource).clone();
    let selector = Selector::parse(&list.label_selector, &list.field_selector, &kind)?;
    let prefix = kind.scope_prefix(&target.namespace);
    let revision = ctx.etcd.revision();
    let mut matching = Vec::new();
    if let Ok(found) = ctx.etcd.range(&prefix, "", revision) {
        matching.extend(
            found
                .map(|(_, o)| Arc::clone(o))
                .filter(|o| selector.matches(o)),
        );
    }
    for object in &matching {
        let place = Place {
            resource: target.resource,
            namespace: object.namespace(),
            name: object.name(),
        };
        let mut registry = registry(ctx);
        registry.dry_run = dry_run;
        registry.delete(place, &options)?;
    }
    let metadata = json!({"resourceVersion": revision.to_string()});
    let body = whole_list(&kind, metadata, &matching);
    Ok(Outcome::Committed(Answer::chunks(200, body)))
}

fn parse(request: &Request, kind: &str) -> Result<Value, ApiError> {
    let refused = |why: String| {
        bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
             error: {why} ({})",
            summary(&request.body)
        ))
    };
    let value = json::read(&request.body).map_err(refused)?;
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        other => Err(refused(format!(
            "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            go::kind_of(&other)
        ))),
    }
}

/// Returns the first bytes of a body for an error: as text if the body looks like JSON, else in hexadecimal.
fn summary(body: &[u8]) -> String {
    /// The most bytes of a body that an error shows; ` ...` replaces further bytes (`summarizeData` of apiserver
    /// `endpoints/handlers/rest.go`, 1.36).
    const MOST: usize = 30;
    let shown = &body[..body.len().min(MOST)];
    let text = match body.first() {
        None => return "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if body.len() > MOST {
        format!("{text} ...")
    } else {
        text
    }
}

/// Returns the options of a deletion, and whether the deletion is a dry run. A malformed body or number is refused with
/// 400, an invalid option with 422.
fn delete_options(request: &Request, query: &Query) -> Result<(DeleteOptions, bool), ApiError> {
    let body = if request.body.is_empty() {
        let grace = match query.get("gracePeriodSeconds") {
            None | Some("") => Value::Null,
            Some(text) => json!(text.parse::<i64>().map_err(|_| bad_request(format!(
                "strconv.ParseInt: parsing {text:?}: invalid syntax"
            )))?),
        };
        json!({
            "gracePeriodSeconds": grace,
            "propagationPolicy": query.get("propagationPolicy"),
            "dryRun": query.get("dryRun").filter(|d| !d.is_empty()).map(|d| [d]),
        })
    } else {
        json_body(request)?;
        let body = json::read(&request.body).map_err(|why| {
            bad_request(format!(
                "couldn't get version/kind; json parse error: {why}"
            ))
        })?;
        match text(&body, &["kind"]) {
            "" | "DeleteOptions" => {}
            other => {
                return Err(bad_request(not_registered(
                    text(&body, &["apiVersion"]),
                    other,
                )));
            }
        }
        if let Some(shape) = Struct::named("DeleteOptions")
            && let Some(why) = shape.misfits(&body).wrong_type
        {
            return Err(bad_request(why));
        }
        body
    };
    let errors = delete_option_errors(&body);
    if !errors.is_empty() {
        return Err(invalid("meta.k8s.io", "DeleteOptions", "", &errors));
    }
    let dry_run = body["dryRun"].as_array().is_some_and(|d| !d.is_empty());
    Ok((DeleteOptions::parse(&body), dry_run))
}

fn not_all(asked: &str) -> FieldError {
    FieldError {
        field: "dryRun".to_owned(),
        kind: "FieldValueNotSupported",
        body: format!("Unsupported value: [{asked:?}]: supported values: \"All\""),
    }
}

fn delete_option_errors(body: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = text(body, &["propagationPolicy"]);
    if !policy.is_empty() && body["orphanDependents"].is_boolean() {
        errors.push(FieldError {
            field: "propagationPolicy".to_owned(),
            kind: "FieldValueInvalid",
            body: format!(
                "Invalid value: {policy:?}: orphanDependents and deletionPropagation cannot be both set"
            ),
        });
    } else if !matches!(policy, "" | "Foreground" | "Background" | "Orphan") {
        errors.push(FieldError::not_supported(
            "propagationPolicy",
            policy,
            &["Foreground", "Background", "Orphan", "nil"],
        ));
    }
    for asked in items(body, &["dryRun"]).iter().filter_map(Value::as_str) {
        if asked != "All" {
            errors.push(not_all(asked));
        }
    }
    errors
}

/// Returns the field manager of a write: the parameter `fieldManager`, else the User-Agent up to its first slash, as in
/// the apiserver.
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

/// Returns a registry over the context, which does the request's writes.
fn registry<'a>(ctx: &'a mut Context<'_>) -> Registry<'a> {
    Registry {
        etcd: ctx.etcd,
        kinds: ctx.kinds,
        random: ctx.random,
        wall: ctx.wall,
        now: ctx.now,
        dry_run: false,
    }
}

impl Target {
    fn place(&self) -> Place<'_> {
        Place {
            resource: self.resource,
            namespace: &self.namespace,
            name: &self.name,
        }
    }
}
