//! The defaults of each kind, and the checks of an object before it is stored.

use serde_json::{Value, json};

use crate::json::{at, items, items_mut, json_text, number, remove, set, set_default, text};
use crate::kinds::ResourceType;
use crate::names::{label_error, label_key_error, label_value_error, lowercase, subdomain_error};
use crate::random::Random;
use crate::status::FieldError;

/// Prepares a new object: removes fields that clients may not set, and sets the fields that are set only once.
pub(crate) fn begin(value: &mut Value, kind: &ResourceType, uid: &str, random: &mut Random) {
    if kind.has_status && kind.kind != "Node" {
        remove(value, &["status"]);
    }
    let status = match kind.kind.as_str() {
        "Pod" => json!({"phase": "Pending", "qosClass": quality_of_service(value)}),
        "Deployment" => json!({}),
        "Job" => {
            select_own_pods(value, uid);
            json!({})
        }
        "ReplicaSet" => json!({"replicas": 0}),
        "Service" => {
            allocate_cluster_ip(value, random);
            json!({"loadBalancer": {}})
        }
        "Namespace" => {
            set(value, &["spec", "finalizers"], json!(["kubernetes"]));
            json!({"phase": "Active"})
        }
        "CustomResourceDefinition" => {
            json!({
                "conditions": null,
                "acceptedNames": {"plural": "", "kind": ""},
                "storedVersions": stored_versions(value),
            })
        }
        _ => return,
    };
    set(value, &["status"], status);
}

/// Sets the defaults that a kind has for absent fields, in a new or a changed object.
pub(crate) fn fill(value: &mut Value, kind: &ResourceType) {
    let mut defaults = |defaults: &[(&str, Value)]| {
        for (key, default) in defaults {
            set_default(value, &["spec", key], default.clone());
        }
    };
    match kind.kind.as_str() {
        "Pod" => {
            defaults(&[("enableServiceLinks", json!(true))]);
            pod_spec(value, &["spec"]);
        }
        "Deployment" => {
            defaults(&[
                ("replicas", json!(1)),
                ("revisionHistoryLimit", json!(10)),
                ("progressDeadlineSeconds", json!(600)),
                (
                    "strategy",
                    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}),
                ),
            ]);
            pod_spec(value, &["spec", "template", "spec"]);
        }
        "ReplicaSet" => {
            defaults(&[("replicas", json!(1))]);
            pod_spec(value, &["spec", "template", "spec"]);
        }
        "Job" => {
            defaults(&[
                ("parallelism", json!(1)),
                ("completions", json!(1)),
                ("backoffLimit", json!(6)),
                ("completionMode", json!("NonIndexed")),
                ("suspend", json!(false)),
                ("manualSelector", json!(false)),
                ("podReplacementPolicy", json!("TerminatingOrFailed")),
            ]);
            pod_spec(value, &["spec", "template", "spec"]);
        }
        "Service" => {
            defaults(&[
                ("type", json!("ClusterIP")),
                ("sessionAffinity", json!("None")),
                ("internalTrafficPolicy", json!("Cluster")),
            ]);
            service_ports(value);
        }
        "Namespace" => {
            let name = json!(text(value, &["metadata", "name"]));
            set(
                value,
                &["metadata", "labels", "kubernetes.io/metadata.name"],
                name,
            );
        }
        "Secret" => secret(value),
        "Endpoints" => {
            for subset in items_mut(value, &["subsets"]) {
                for port in items_mut(subset, &["ports"]) {
                    set_default(port, &["protocol"], json!("TCP"));
                }
            }
        }
        "Node" => {
            let range = text(value, &["spec", "podCIDR"]).to_owned();
            if !range.is_empty() {
                set_default(value, &["spec", "podCIDRs"], json!([range]));
            }
        }
        "CustomResourceDefinition" => {
            let kind = text(value, &["spec", "names", "kind"]).to_owned();
            if kind.is_empty() {
                return;
            }
            set_default(
                value,
                &["spec", "names", "singular"],
                json!(kind.to_ascii_lowercase()),
            );
            set_default(
                value,
                &["spec", "names", "listKind"],
                json!(format!("{kind}List")),
            );
            set_default(value, &["spec", "conversion"], json!({"strategy": "None"}));
        }
        _ => {}
    }
}

/// Returns the errors of a write that changes an object's identity; two rules of apimachinery report each change.
pub(crate) fn identity_errors(before: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for key in ["uid", "deletionTimestamp"] {
        let given = text(new, &["metadata", key]);
        if !given.is_empty() && given != text(before, &["metadata", key]) {
            let field = format!("metadata.{key}");
            let error = FieldError::invalid(&field, given, "field is immutable");
            errors.extend([error.clone(), error]);
        }
    }
    let ending = at(before, &["metadata", "deletionTimestamp"]).is_some();
    let had = items(before, &["metadata", "finalizers"]);
    let added: Vec<String> = items(new, &["metadata", "finalizers"])
        .iter()
        .filter(|f| !had.contains(f))
        .map(json_text)
        .collect();
    if ending && !added.is_empty() {
        let error = FieldError::forbidden(
            "metadata.finalizers",
            &format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            ),
        );
        errors.extend([error.clone(), error]);
    }
    errors
}

/// Returns the errors of a write that changes an immutable field.
pub(crate) fn update_errors(before: &Value, new: &Value, kind: &ResourceType) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let differs = |path: &[&str]| at(before, path) != at(new, path);
    // Two rules check metadata when an object is changed, so each of its errors is listed twice.
    metadata(new, kind, &mut errors);
    match kind.kind.as_str() {
        "ConfigMap" | "Secret" if before["immutable"] == true => {
            let refused = "field is immutable when `immutable` is set";
            if new["immutable"] != true {
                errors.push(FieldError::forbidden("immutable", refused));
            }
            for field in ["data", "binaryData"] {
                if differs(&[field]) {
                    errors.push(FieldError::forbidden(field, refused));
                }
            }
        }
        "Deployment" | "ReplicaSet" | "Job" if differs(&["spec", "selector"]) => {
            errors.push(FieldError::invalid_value(
                "spec.selector",
                &new["spec"]["selector"],
                "field is immutable",
            ));
        }
        "Pod" if fixed_pod_spec(before) != fixed_pod_spec(new) => {
            errors.push(FieldError::forbidden(
                "spec",
                "pod updates may not change fields other than `spec.containers[*].image`,\
                 `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                 existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                 previously negative)",
            ));
        }
        _ => {}
    }
    errors
}

/// Returns the parts of a pod's spec that a write cannot change.
fn fixed_pod_spec(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    for list in ["containers", "initContainers"] {
        for container in items_mut(&mut spec, &[list]) {
            remove(container, &["image"]);
        }
    }
    for key in [
        "activeDeadlineSeconds",
        "tolerations",
        "terminationGracePeriodSeconds",
    ] {
        remove(&mut spec, &[key]);
    }
    spec
}

/// Returns the errors of an object that is about to be stored.
pub(crate) fn errors(value: &Value, kind: &ResourceType) -> Vec<FieldError> {
    let mut errors = Vec::new();
    metadata(value, kind, &mut errors);
    match kind.kind.as_str() {
        "Pod" => containers(
            value,
            &["spec", "containers"],
            "spec.containers",
            &mut errors,
        ),
        "Deployment" | "ReplicaSet" => {
            selector_matches_template(value, &mut errors);
            template_containers(value, &mut errors);
            if let Some(replicas) = number(value, &["spec", "replicas"])
                && replicas < 0
            {
                errors.push(FieldError::invalid_value(
                    "spec.replicas",
                    &json!(replicas),
                    "must be greater than or equal to 0",
                ));
            }
        }
        "Job" => template_containers(value, &mut errors),
        "Service"
            if items(value, &["spec", "ports"]).is_empty()
                && text(value, &["spec", "clusterIP"]) != "None" =>
        {
            errors.push(FieldError::required("spec.ports", ""));
        }
        "CustomResourceDefinition" => definition(value, &mut errors),
        _ => {}
    }
    errors
}

/// Checks the name and the labels of an object.
fn metadata(value: &Value, kind: &ResourceType, errors: &mut Vec<FieldError>) {
    let name = text(value, &["metadata", "name"]);
    let wrong = match kind.kind.as_str() {
        "Namespace" | "Service" => label_error(name),
        _ => subdomain_error(name),
    };
    if name.is_empty() {
        let why = "name or generateName is required";
        errors.push(FieldError::required("metadata.name", why));
    } else if let Some(why) = wrong {
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    let annotations = at(value, &["metadata", "annotations"]).and_then(Value::as_object);
    for (key, _) in annotations.into_iter().flatten() {
        if let Some(why) = label_key_error(&lowercase(key)) {
            errors.push(FieldError::invalid("metadata.annotations", key, &why));
        }
    }
    let labels = at(value, &["metadata", "labels"]).and_then(Value::as_object);
    for (key, label) in labels.into_iter().flatten() {
        if let Some(why) = label_key_error(key) {
            errors.push(FieldError::invalid("metadata.labels", key, &why));
        }
        let label = label.as_str().unwrap_or("");
        if let Some(why) = label_value_error(label) {
            errors.push(FieldError::invalid("metadata.labels", label, why));
        }
    }
}

fn pod_spec(value: &mut Value, path: &[&str]) {
    let Some(mut spec) = at(value, path).cloned() else {
        return;
    };
    set_default(&mut spec, &["restartPolicy"], json!("Always"));
    set_default(&mut spec, &["terminationGracePeriodSeconds"], json!(30));
    set_default(&mut spec, &["dnsPolicy"], json!("ClusterFirst"));
    set_default(&mut spec, &["schedulerName"], json!("default-scheduler"));
    set_default(&mut spec, &["securityContext"], json!({}));
    for container in items_mut(&mut spec, &["containers"]) {
        let policy = pull_policy(text(container, &["image"]));
        set_default(container, &["imagePullPolicy"], json!(policy));
        set_default(container, &["resources"], json!({}));
        set_default(
            container,
            &["terminationMessagePath"],
            json!("/dev/termination-log"),
        );
        set_default(container, &["terminationMessagePolicy"], json!("File"));
        for port in items_mut(container, &["ports"]) {
            set_default(port, &["protocol"], json!("TCP"));
        }
        for variable in items_mut(container, &["env"]) {
            if at(variable, &["valueFrom", "fieldRef"]).is_some() {
                set_default(
                    variable,
                    &["valueFrom", "fieldRef", "apiVersion"],
                    json!("v1"),
                );
            }
        }
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            if at(container, &[probe]).is_some() {
                probe_defaults(container, probe);
            }
        }
    }
    for volume in items_mut(&mut spec, &["volumes"]) {
        for source in ["configMap", "secret"] {
            if at(volume, &[source]).is_some() {
                set_default(volume, &[source, "defaultMode"], json!(420));
            }
        }
    }
    set(value, path, spec);
}

fn probe_defaults(container: &mut Value, probe: &str) {
    if at(container, &[probe, "httpGet"]).is_some() {
        set_default(container, &[probe, "httpGet", "path"], json!("/"));
        set_default(container, &[probe, "httpGet", "scheme"], json!("HTTP"));
    }
    for (key, default) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        set_default(container, &[probe, key], json!(default));
    }
}

/// Returns a pod's quality of service. Guaranteed: every container has limits of CPU and memory, and its requests are
/// absent or equal to the limits. Burstable: the pod is not Guaranteed, and any container has a limit or request of CPU
/// or memory. BestEffort: no container has one.
fn quality_of_service(pod: &Value) -> &'static str {
    let containers = items(pod, &["spec", "containers"]);
    let resources = |kind: &str, name: &str| -> Vec<Option<&Value>> {
        containers
            .iter()
            .map(|c| at(c, &["resources", kind, name]))
            .collect()
    };
    let names = ["cpu", "memory"];
    let guaranteed = names.iter().all(|name| {
        let (asked, given) = (resources("requests", name), resources("limits", name));
        given
            .iter()
            .zip(&asked)
            .all(|(given, asked)| given.is_some() && (asked.is_none() || asked == given))
    });
    let any = ["requests", "limits"].iter().any(|kind| {
        names
            .iter()
            .any(|name| resources(kind, name).iter().any(Option::is_some))
    });
    match (guaranteed && !containers.is_empty(), any) {
        (true, true) => "Guaranteed",
        (false, true) => "Burstable",
        _ => "BestEffort",
    }
}

/// Sets a job's selector and pod labels so that the job selects its pods by the job's uid.
fn select_own_pods(job: &mut Value, uid: &str) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let name = text(job, &["metadata", "name"]).to_owned();
    for place in [&["metadata"][..], &["spec", "template", "metadata"][..]] {
        for (key, label) in [
            ("batch.kubernetes.io/controller-uid", uid),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", uid),
            ("job-name", &name),
        ] {
            let path: Vec<&str> = place.iter().copied().chain(["labels", key]).collect();
            set(job, &path, json!(label));
        }
    }
    set(
        job,
        &["spec", "selector"],
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}),
    );
}

/// The finalizer that keeps a deleted CustomResourceDefinition until its objects are gone
/// (`CustomResourceCleanupFinalizer` of apiextensions v1).
pub(crate) const DEFINITION_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Adds the condition Terminating to a CustomResourceDefinition that is being deleted.
pub(crate) fn terminate_definition(value: &mut Value, time: &str) {
    let mut conditions = items(value, &["status", "conditions"]).to_vec();
    conditions.retain(|c| c["type"] != "Terminating");
    conditions.push(json!({
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": time,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }));
    set(value, &["status", "conditions"], json!(conditions));
}

/// Adds to a new node the fields that admission adds.
pub(crate) fn admit_node(value: &mut Value) {
    let mut taints = items(value, &["spec", "taints"]).to_vec();
    let key = "node.kubernetes.io/not-ready";
    let ready = items(value, &["status", "conditions"])
        .iter()
        .any(|c| c["type"] == "Ready" && c["status"] == "True");
    if !ready && !taints.iter().any(|t| t["key"] == key) {
        taints.push(json!({"key": key, "effect": "NoSchedule"}));
        set(value, &["spec", "taints"], json!(taints));
    }
}

/// Returns the default pull policy of an image: Always if the image's tag is `latest` or absent, else IfNotPresent.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once(['@', ':']) {
        Some((_, tag)) if tag != "latest" => "IfNotPresent",
        _ => "Always",
    }
}

/// Adds to a new pod the fields that admission adds. The pod gets a service account only if its namespace has the
/// default service account.
pub(crate) fn admit_pod(value: &mut Value, has_account: bool) {
    if has_account {
        set_default(value, &["spec", "serviceAccountName"], json!("default"));
        set_default(value, &["spec", "serviceAccount"], json!("default"));
    }
    set_default(value, &["spec", "priority"], json!(0));
    set_default(
        value,
        &["spec", "preemptionPolicy"],
        json!("PreemptLowerPriority"),
    );
    let mut tolerations = items(value, &["spec", "tolerations"]).to_vec();
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        if !tolerations.iter().any(|t| t["key"] == key) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
    set(value, &["spec", "tolerations"], json!(tolerations));
}

fn allocate_cluster_ip(value: &mut Value, random: &mut Random) {
    if at(value, &["spec", "clusterIP"]).is_some() {
        let ip = value["spec"]["clusterIP"].clone();
        set_default(value, &["spec", "clusterIPs"], json!([ip]));
    } else {
        let ip = format!(
            "10.96.{}.{}",
            random.between(0, 255),
            random.between(1, 254)
        );
        set(value, &["spec", "clusterIPs"], json!([ip.clone()]));
        set(value, &["spec", "clusterIP"], json!(ip));
    }
    // A headless service without a selector may have any IP family.
    let any_family =
        value["spec"]["clusterIP"] == "None" && at(value, &["spec", "selector"]).is_none();
    let (families, policy) = if any_family {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    set_default(value, &["spec", "ipFamilies"], families);
    set_default(value, &["spec", "ipFamilyPolicy"], json!(policy));
}

fn service_ports(value: &mut Value) {
    for port in items_mut(value, &["spec", "ports"]) {
        set_default(port, &["protocol"], json!("TCP"));
        let number = port["port"].clone();
        set_default(port, &["targetPort"], number);
    }
}

fn secret(value: &mut Value) {
    use base64::Engine as _;
    set_default(value, &["type"], json!("Opaque"));
    if let Some(Value::Object(strings)) = remove(value, &["stringData"]) {
        for (key, text) in strings {
            let encoded =
                base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or(""));
            set(value, &["data", &key], json!(encoded));
        }
    }
}

fn stored_versions(value: &Value) -> Vec<Value> {
    items(value, &["spec", "versions"])
        .iter()
        .filter(|v| v["storage"] == true)
        .map(|v| v["name"].clone())
        .collect()
}

fn containers(value: &Value, path: &[&str], field: &str, errors: &mut Vec<FieldError>) {
    let all = items(value, path);
    if all.is_empty() {
        errors.push(FieldError::required(field, ""));
    }
    for (i, container) in all.iter().enumerate() {
        for key in ["name", "image"] {
            if text(container, &[key]).is_empty() {
                errors.push(FieldError::required(&format!("{field}[{i}].{key}"), ""));
            }
        }
        let name = text(container, &["name"]);
        if !name.is_empty()
            && let Some(why) = label_error(name)
        {
            errors.push(FieldError::invalid(
                &format!("{field}[{i}].name"),
                name,
                why,
            ));
        }
    }
}

fn template_containers(value: &Value, errors: &mut Vec<FieldError>) {
    let path = ["spec", "template", "spec", "containers"];
    containers(value, &path, "spec.template.spec.containers", errors);
}

fn selector_matches_template(value: &Value, errors: &mut Vec<FieldError>) {
    let wanted = at(value, &["spec", "selector", "matchLabels"]).and_then(Value::as_object);
    if wanted.is_none() {
        errors.push(FieldError::required("spec.selector", ""));
    }
    let labels = at(value, &["spec", "template", "metadata", "labels"]);
    let matches = wanted.is_some_and(|wanted| {
        wanted
            .iter()
            .all(|(key, value)| labels.and_then(|l| l.get(key)) == Some(value))
    });
    if !matches {
        errors.push(FieldError {
            field: "spec.template.metadata.labels".to_owned(),
            kind: "FieldValueInvalid",
            body: format!(
                "Invalid value: {}: `selector` does not match template `labels`",
                labels.cloned().unwrap_or_default()
            ),
        });
    }
}

fn definition(value: &Value, errors: &mut Vec<FieldError>) {
    let group = text(value, &["spec", "group"]);
    let plural = text(value, &["spec", "names", "plural"]);
    let wanted = format!("{plural}.{group}");
    let name = text(value, &["metadata", "name"]);
    if name != wanted {
        errors.push(FieldError::invalid(
            "metadata.name",
            name,
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    }
    match text(value, &["spec", "scope"]) {
        "Namespaced" | "Cluster" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => errors.push(FieldError::not_supported(
            "spec.scope",
            other,
            &["Cluster", "Namespaced"],
        )),
    }
    if stored_versions(value).len() != 1 {
        errors.push(FieldError::invalid_value(
            "spec.versions",
            &value["spec"]["versions"],
            "must have exactly one version marked as storage version",
        ));
        errors.push(FieldError::invalid_value(
            "status.storedVersions",
            &Value::Null,
            "must have at least one stored version",
        ));
    }
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(value, &["spec", "names", key]).is_empty() {
            errors.push(FieldError::required(&format!("spec.names.{key}"), ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn kind(name: &str) -> ResourceType {
        let kinds = Kinds::built_in();
        kinds.get(kinds.named(name).unwrap()).clone()
    }

    #[test]
    fn string_data_of_a_secret_becomes_data() {
        let mut secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "x"}});
        fill(&mut secret, &kind("secrets"));
        assert_eq!(secret["data"]["password"], "eA==");
        assert_eq!(secret.get("stringData"), None);
        assert_eq!(secret["type"], "Opaque");
    }

    #[test]
    fn a_deployment_must_select_its_own_pods() {
        let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": -1,
            "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "api"}}}}});
        let fields: Vec<String> = errors(&deployment, &kind("deployments.apps"))
            .into_iter()
            .map(|e| e.field)
            .collect();
        assert_eq!(
            fields,
            [
                "spec.template.metadata.labels",
                "spec.template.spec.containers",
                "spec.replicas"
            ]
        );
    }
}
