//! What the apiserver adds to and asks of the objects it stores, kind by kind.

use serde_json::{Value, json};

use super::status::FieldError;
use crate::kinds::ResourceType;
use crate::object::{at, items, items_mut, number, remove, set, set_default, text};
use crate::random::Random;

/// Prepares a new object: what clients may not set is taken away, what is set once is set.
pub(crate) fn begin(value: &mut Value, kind: &ResourceType, random: &mut Random) {
    if kind.has_status && kind.kind != "Node" {
        remove(value, &["status"]);
    }
    let status = match kind.kind.as_str() {
        "Pod" => json!({"phase": "Pending", "qosClass": "BestEffort"}),
        "Deployment" | "Job" => json!({}),
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
            let finalizer = json!(["customresourcecleanup.apiextensions.k8s.io"]);
            set(value, &["metadata", "finalizers"], finalizer);
            json!({"conditions": [], "storedVersions": stored_versions(value)})
        }
        _ => return,
    };
    set(value, &["status"], status);
}

/// Fills in what an object leaves out, new or changed, as the defaulting of its kind does.
pub(crate) fn fill(value: &mut Value, kind: &ResourceType) {
    let mut defaults = |defaults: &[(&str, Value)]| {
        for (key, default) in defaults {
            set_default(value, &["spec", key], default.clone());
        }
    };
    match kind.kind.as_str() {
        "Pod" => {
            defaults(&[("serviceAccountName", json!("default"))]);
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
            ]);
            pod_spec(value, &["spec", "template", "spec"]);
        }
        "Service" => {
            defaults(&[
                ("type", json!("ClusterIP")),
                ("sessionAffinity", json!("None")),
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
        "CustomResourceDefinition" => {
            let kind = text(value, &["spec", "names", "kind"]).to_owned();
            set_default(
                value,
                &["spec", "names", "singular"],
                json!(kind.to_lowercase()),
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

/// What is wrong with an object to be stored.
pub(crate) fn errors(value: &Value, kind: &ResourceType) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(value, &["metadata", "name"]);
    if !is_dns_subdomain(name) {
        errors.push(FieldError::invalid(
            "metadata.name",
            name,
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ));
    }
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
                errors.push(FieldError::invalid(
                    "spec.replicas",
                    &replicas.to_string(),
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

/// A DNS subdomain name (RFC 1123), at most 253 bytes.
fn is_dns_subdomain(name: &str) -> bool {
    let label = |label: &str| {
        let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|b| good(*b))
            && bytes.last().is_some_and(|b| good(*b))
            && bytes.iter().all(|b| good(*b) || *b == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
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
        set_default(container, &["imagePullPolicy"], json!("IfNotPresent"));
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
    }
    set(value, path, spec);
}

fn allocate_cluster_ip(value: &mut Value, random: &mut Random) {
    if at(value, &["spec", "clusterIP"]).is_none() {
        let ip = format!(
            "10.96.{}.{}",
            random.between(0, 255),
            random.between(1, 254)
        );
        set(value, &["spec", "clusterIPs"], json!([ip.clone()]));
        set(value, &["spec", "clusterIP"], json!(ip));
    }
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
    }
}

fn template_containers(value: &Value, errors: &mut Vec<FieldError>) {
    let path = ["spec", "template", "spec", "containers"];
    containers(value, &path, "spec.template.spec.containers", errors);
}

fn selector_matches_template(value: &Value, errors: &mut Vec<FieldError>) {
    let Some(wanted) = at(value, &["spec", "selector", "matchLabels"]).and_then(Value::as_object)
    else {
        errors.push(FieldError::required("spec.selector", ""));
        return;
    };
    let labels = at(value, &["spec", "template", "metadata", "labels"]);
    let matches = wanted
        .iter()
        .all(|(key, value)| labels.and_then(|l| l.get(key)) == Some(value));
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
    for (field, found) in [
        ("spec.group", group),
        ("spec.names.plural", plural),
        ("spec.names.kind", text(value, &["spec", "names", "kind"])),
    ] {
        if found.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
    }
    let wanted = format!("{plural}.{group}");
    let name = text(value, &["metadata", "name"]);
    if name != wanted {
        errors.push(FieldError::invalid(
            "metadata.name",
            name,
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    if !matches!(text(value, &["spec", "scope"]), "Namespaced" | "Cluster") {
        errors.push(FieldError::not_supported(
            "spec.scope",
            text(value, &["spec", "scope"]),
            &["Cluster", "Namespaced"],
        ));
    }
    if stored_versions(value).len() != 1 {
        errors.push(FieldError {
            field: "spec.versions".to_owned(),
            kind: "FieldValueInvalid",
            body: "Invalid value: must have exactly one version marked as storage version"
                .to_owned(),
        });
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
    fn names_are_dns_subdomains() {
        for good in ["a", "web-1", "orders.shop.example.com", "0"] {
            assert!(is_dns_subdomain(good), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", &"a".repeat(254)] {
            assert!(!is_dns_subdomain(bad), "{bad}");
        }
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
