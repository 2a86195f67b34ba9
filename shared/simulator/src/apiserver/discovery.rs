//! Answers about the apiserver's API: versions, groups and resources, in the legacy and the aggregated form. The module
//! also has the part of OpenAPI v3 that kubectl needs to leave validation to the server.

use serde_json::{Map, Value, json};
use watchscope_model::tree::BTreeMap;

use crate::kinds::{Kinds, Printer, ResourceType};

/// The verbs of built-in types, in the order in which discovery of 1.36 lists them.
const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// The verbs of custom types, in the order in which discovery of 1.36 lists them.
const CUSTOM_VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
/// The verbs of the status and scale subresources, in the order in which discovery of 1.36 lists them.
const STATUS_VERBS: &[&str] = &["get", "patch", "update"];

pub(crate) fn version(git_version: &str) -> Value {
    let mut parts = git_version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let before = minor
        .parse::<u32>()
        .map(|minor| minor.saturating_sub(1).to_string());
    json!({
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": before.unwrap_or_default(),
        "gitVersion": git_version,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "watchscope/simulator",
    })
}

/// Returns the answer to `/api`.
pub(crate) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    })
}

/// Returns the answer to `/apis`.
pub(crate) fn groups(kinds: &Kinds) -> Value {
    let groups: Vec<Value> = by_group(kinds)
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| group_entry(group, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns the answer to `/apis/G`; `None` if no type of the group is served.
pub(crate) fn group(kinds: &Kinds, group: &str) -> Option<Value> {
    let all = by_group(kinds);
    let versions = all.get(group)?;
    let mut entry = json!({"kind": "APIGroup", "apiVersion": "v1"});
    if let (Some(entry), Value::Object(rest)) =
        (entry.as_object_mut(), group_entry(group, versions))
    {
        entry.extend(rest);
    }
    Some(entry)
}

/// Returns the answer to `/api/v1` or `/apis/G/V`; `None` if no type of the group version is served.
pub(crate) fn resources(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let mut all = Vec::new();
    for (_, kind) in kinds
        .served()
        .filter(|(_, k)| k.group == group && k.version == version)
    {
        let mut entry = json!({
            "name": kind.plural,
            "singularName": kind.singular,
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": verbs(kind),
        });
        if !kind.short_names.is_empty() {
            entry["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            entry["categories"] = json!(kind.categories);
        }
        all.push(entry);
        if kind.has_scale() {
            all.push(json!({
                "name": format!("{}/scale", kind.plural),
                "singularName": "",
                "namespaced": kind.namespaced,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": STATUS_VERBS,
            }));
        }
        if kind.has_status {
            all.push(json!({
                "name": format!("{}/status", kind.plural),
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": kind.kind,
                "verbs": STATUS_VERBS,
            }));
        }
    }
    if all.is_empty() {
        return None;
    }
    let mut list = json!({"kind": "APIResourceList"});
    if !group.is_empty() {
        list["apiVersion"] = json!("v1");
    }
    list["groupVersion"] = json!(group_version(group, version));
    list["resources"] = json!(all);
    Some(list)
}

/// Returns the answer to `/api` (`core`) or `/apis` in the aggregated form of apidiscovery.k8s.io.
pub(crate) fn aggregated(kinds: &Kinds, core: bool, version: &str) -> Value {
    let groups: Vec<Value> = by_group(kinds)
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let resources: Vec<Value> = kinds
                        .served()
                        .filter(|(_, k)| k.group == *group && k.version == *version)
                        .map(|(_, kind)| aggregated_resource(kind))
                        .collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if group.is_empty() {
                json!({"creationTimestamp": null})
            } else {
                json!({"name": group, "creationTimestamp": null})
            };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": groups,
    })
}

/// Returns the answer to `/openapi/v3`.
pub(crate) fn openapi_index(kinds: &Kinds) -> Value {
    let mut paths = Map::new();
    for (group, versions) in by_group(kinds) {
        for version in versions {
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            let url = format!("/openapi/v3/{path}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// Returns the answer to `/openapi/v3/api/v1` or `/openapi/v3/apis/G/V`: the PATCH of each type, with its parameters.
/// `None` if no type of the group version is served.
///
/// kubectl checks in this answer whether a type's PATCH has the parameter `fieldValidation`. If the PATCH has it,
/// kubectl leaves validation to the server.
pub(crate) fn openapi(
    kinds: &Kinds,
    group: &str,
    version: &str,
    git_version: &str,
) -> Option<Value> {
    let mut paths = Map::new();
    for (_, kind) in kinds
        .served()
        .filter(|(_, k)| k.group == group && k.version == version)
    {
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let path = if kind.namespaced {
            format!("{root}/namespaces/{{namespace}}/{}/{{name}}", kind.plural)
        } else {
            format!("{root}/{}/{{name}}", kind.plural)
        };
        paths.insert(path, json!({"patch": patch_operation(kind)}));
    }
    if paths.is_empty() {
        return None;
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": git_version},
        "paths": paths,
        "components": {},
    }))
}

fn patch_operation(kind: &ResourceType) -> Value {
    let parameter = |name: &str, value_type: &str| json!({"name": name, "in": "query", "schema": {"type": value_type, "uniqueItems": true}});
    json!({
        "tags": [],
        "operationId": format!("patch{}", kind.kind),
        "parameters": [
            parameter("fieldManager", "string"),
            parameter("fieldValidation", "string"),
        ],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": kind.group, "version": kind.version, "kind": kind.kind,
        },
    })
}

fn aggregated_resource(kind: &ResourceType) -> Value {
    let response_kind = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    let mut entry = json!({
        "resource": kind.plural,
        "responseKind": response_kind,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": verbs(kind),
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        entry["categories"] = json!(kind.categories);
    }
    let mut subresources = Vec::new();
    if kind.has_scale() {
        subresources.push(json!({
            "subresource": "scale",
            "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
            "verbs": STATUS_VERBS,
        }));
    }
    if kind.has_status {
        subresources.push(json!({
            "subresource": "status",
            "responseKind": response_kind,
            "verbs": STATUS_VERBS,
        }));
    }
    if !subresources.is_empty() {
        entry["subresources"] = json!(subresources);
    }
    entry
}

fn verbs(kind: &ResourceType) -> &'static [&'static str] {
    match kind.printer {
        Printer::BuiltIn => VERBS,
        Printer::Columns(_) => CUSTOM_VERBS,
    }
}

fn by_group(kinds: &Kinds) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, kind) in kinds.served() {
        let versions = groups.entry(&kind.group).or_default();
        if !versions.contains(&kind.version.as_str()) {
            versions.push(&kind.version);
        }
    }
    groups
}

fn group_entry(group: &str, versions: &[&str]) -> Value {
    let entry =
        |version: &&str| json!({"groupVersion": group_version(group, version), "version": version});
    json!({
        "name": group,
        "versions": versions.iter().map(entry).collect::<Vec<Value>>(),
        "preferredVersion": versions.first().map(entry),
    })
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_discovery_name_the_same_resources() {
        let kinds = Kinds::built_in();
        let legacy = resources(&kinds, "apps", "v1").unwrap();
        let plain: Vec<&str> = legacy["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            plain,
            [
                "deployments",
                "deployments/scale",
                "deployments/status",
                "replicasets",
                "replicasets/scale",
                "replicasets/status"
            ]
        );
        let aggregated = aggregated(&kinds, false, "v2");
        let apps = &aggregated["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|g| g["metadata"]["name"] == "apps")
            .unwrap()["versions"][0];
        assert_eq!(apps["resources"][0]["resource"], "deployments");
        assert_eq!(
            apps["resources"][0]["subresources"][1]["subresource"],
            "status"
        );
        assert_eq!(resources(&kinds, "apps", "v9"), None);
    }

    #[test]
    fn openapi_offers_field_validation_for_every_kind() {
        let kinds = Kinds::built_in();
        let document = openapi(&kinds, "", "v1", "v1.36.3").unwrap();
        let operation =
            &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
        assert_eq!(
            operation["x-kubernetes-group-version-kind"]["kind"],
            "ConfigMap"
        );
        assert_eq!(operation["parameters"][1]["name"], "fieldValidation");
        assert_eq!(
            openapi_index(&kinds)["paths"]["apis/apps/v1"]["serverRelativeURL"],
            "/openapi/v3/apis/apps/v1"
        );
    }
}
