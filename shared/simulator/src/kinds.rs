//! The resource types of the apiservers: the built-in types, and types that CustomResourceDefinitions add.

use serde_json::Value;

use crate::json::{at, items, text};
use crate::names::lowercase;

/// The id of a resource type of a world: its index among at most 65,536 types. A world never gives the id to another
/// type. A CustomResourceDefinition beyond this bound is not served; debug builds may panic from 65,535 types on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub(crate) u16);

/// A resource type. Its lists are in the order of the built-in table, or of the CustomResourceDefinition; duplicates in
/// a CustomResourceDefinition are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceType {
    /// API group; empty for the core group.
    pub group: String,
    /// Version of the API group that the simulator models: `v1`. For a custom resource this is the storage version.
    pub version: String,
    /// Further versions that the type's CustomResourceDefinition serves, in the definition's order. The simulator
    /// answers 501 to requests for these versions. Empty for a built-in type, and once the CustomResourceDefinition is
    /// gone.
    pub also_served: Vec<String>,
    /// Plural name, as in URL paths: `pods`.
    pub plural: String,
    /// Singular name: `pod`.
    pub singular: String,
    /// Kind of the objects: `Pod`.
    pub kind: String,
    /// Short names that kubectl accepts (`po`); empty if the type has none.
    pub short_names: Vec<String>,
    /// Categories of resources for kubectl, such as `all`; empty if the type is in no category.
    pub categories: Vec<String>,
    /// Whether objects of the type live in namespaces.
    pub namespaced: bool,
    /// Whether the type has a status subresource.
    pub has_status: bool,
    /// Whether objects have a `metadata.generation`. The generation begins at 1. Each write of more than metadata and
    /// status raises the generation by one. A deletion that finalizers or a grace period delay also raises it by one,
    /// except that of a CustomResourceDefinition.
    pub has_generation: bool,
    /// Whether a watch cache serves the type. `events` have no watch cache, so etcd serves them at every version
    /// (docs/semantics/lists-and-watches.md#uncached).
    pub cached: bool,
    /// Whether a DELETE that removes the object at once is answered with the object instead of a Status. If finalizers
    /// or a grace period keep the object, the answer is always the object.
    pub delete_returns_object: bool,
    /// Field selectors besides `metadata.name` and `metadata.namespace`: each selector's label, and the keys of the
    /// path to the selected value. Empty if the type has no others.
    pub fields: Vec<(String, Vec<String>)>,
    /// How the Table form of the type's objects is made.
    pub printer: Printer,
    /// Whether requests for the type are answered; `false` once its CustomResourceDefinition is gone, or if the
    /// definition does not serve its storage version.
    pub served: bool,
    /// Prefix of the type's keys in etcd, with a slash at the prefix's end: `/registry/pods/`.
    pub prefix: String,
}

/// How a resource type's Table is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Printer {
    /// The simulator's code for this built-in kind makes the Table.
    BuiltIn,
    /// The CustomResourceDefinition's additionalPrinterColumns make the Table, in their order; without any, the one
    /// column `Age`. The first column of the Table, the name, is not in this list.
    Columns(Vec<CustomColumn>),
}

/// A column of a custom resource's Table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomColumn {
    /// Header of the column.
    pub name: String,
    /// OpenAPI type of the column's values: `string`, `integer`, `number`, `boolean`, `date`. The text is that of the
    /// CustomResourceDefinition, unchecked.
    pub kind: String,
    /// At 0 and below the column is always shown; above 0 only with `-o wide`. A column without a priority in the
    /// definition has 0.
    pub priority: i64,
    /// The keys of the column's JSON path, which is split at its dots: `.spec.size` gives `spec` and `size`. A path
    /// with anything but keys finds no value.
    pub path: Vec<String>,
}

impl ResourceType {
    /// Returns the API group and version, or the version alone in the core group: `apps/v1`, `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns the resource with its API group, or the resource alone in the core group: `deployments.apps`, `pods`.
    pub fn qualified(&self) -> String {
        crate::names::qualified(&self.group, &self.plural)
    }

    /// Returns whether the type has a scale subresource.
    pub(crate) fn has_scale(&self) -> bool {
        self.group == "apps" && matches!(self.kind.as_str(), "Deployment" | "ReplicaSet")
    }

    /// Returns the etcd key of an object of this type.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> String {
        if self.namespaced {
            format!("{}{namespace}/{name}", self.prefix)
        } else {
            format!("{}{name}", self.prefix)
        }
    }

    /// Returns the prefix of the etcd keys in one namespace, or in all namespaces if `namespace` is empty.
    pub(crate) fn scope_prefix(&self, namespace: &str) -> String {
        if self.namespaced && !namespace.is_empty() {
            format!("{}{namespace}/", self.prefix)
        } else {
            self.prefix.clone()
        }
    }
}

/// All resource types of a world.
#[derive(Debug)]
pub(crate) struct Kinds {
    types: Vec<ResourceType>,
}

impl Kinds {
    pub(crate) fn built_in() -> Kinds {
        Kinds {
            types: BUILT_IN.iter().map(BuiltIn::resource_type).collect(),
        }
    }

    pub(crate) fn get(&self, id: ResourceId) -> &ResourceType {
        &self.types[usize::from(id.0)]
    }

    /// Returns the served type with this group, version and plural name; `None` if there is none.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<ResourceId> {
        self.position(|t| {
            t.served && t.group == group && t.version == version && t.plural == plural
        })
    }

    /// Returns the served type with a name such as `pods` or `deployments.apps`; `None` if there is none. Of several
    /// versions the first counts.
    pub(crate) fn named(&self, qualified: &str) -> Option<ResourceId> {
        let (plural, group) = qualified.split_once('.').unwrap_or((qualified, ""));
        self.position(|t| t.served && t.plural == plural && t.group == group)
    }

    pub(crate) fn served(&self) -> impl Iterator<Item = (ResourceId, &ResourceType)> {
        self.all().filter(|(_, t)| t.served)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (ResourceId, &ResourceType)> {
        (0u16..).map(ResourceId).zip(&self.types)
    }

    /// Adds or replaces the type that a CustomResourceDefinition defines, in its storage version. Returns `None` if the
    /// CustomResourceDefinition has no names or no storage version, or if it is new and the world has 65,536 types.
    pub(crate) fn add_custom(&mut self, definition: &Value) -> Option<ResourceId> {
        let custom = custom_type(definition)?;
        if let Some(known) =
            self.position(|t| t.prefix == custom.prefix && t.version == custom.version)
        {
            self.types[usize::from(known.0)] = custom;
            return Some(known);
        }
        let id = ResourceId(u16::try_from(self.types.len()).ok()?);
        self.types.push(custom);
        Some(id)
    }

    pub(crate) fn stop_serving(&mut self, id: ResourceId) {
        let stopped = &mut self.types[usize::from(id.0)];
        stopped.served = false;
        stopped.also_served = Vec::new();
    }

    fn position(&self, wanted: impl Fn(&ResourceType) -> bool) -> Option<ResourceId> {
        self.all().find(|(_, t)| wanted(t)).map(|(id, _)| id)
    }
}

/// Returns the type that a CustomResourceDefinition defines; `None` if the definition has no names or no storage
/// version.
fn custom_type(definition: &Value) -> Option<ResourceType> {
    let group = text(definition, &["spec", "group"]);
    let names = at(definition, &["spec", "names"])?;
    let version = items(definition, &["spec", "versions"])
        .iter()
        .find(|v| v["storage"] == true)?;
    let others = items(definition, &["spec", "versions"]).iter();
    let others = others.filter(|v| v["storage"] != true && v["served"] == true);
    let also_served = others.map(|v| text(v, &["name"]).to_owned()).collect();
    let plural = text(names, &["plural"]);
    let strings = |key: &str| -> Vec<String> {
        items(names, &[key])
            .iter()
            .filter_map(|s| s.as_str().map(str::to_owned))
            .collect()
    };
    let path = |json_path: &str| -> Vec<String> {
        json_path
            .trim_start_matches('.')
            .split('.')
            .map(str::to_owned)
            .collect()
    };
    let mut columns: Vec<CustomColumn> = items(version, &["additionalPrinterColumns"])
        .iter()
        .map(|c| CustomColumn {
            name: text(c, &["name"]).to_owned(),
            kind: text(c, &["type"]).to_owned(),
            priority: c["priority"].as_i64().unwrap_or(0),
            path: path(text(c, &["jsonPath"])),
        })
        .collect();
    if columns.is_empty() {
        columns.push(CustomColumn {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            priority: 0,
            path: path(".metadata.creationTimestamp"),
        });
    }
    let fields = items(version, &["selectableFields"])
        .iter()
        .map(|f| path(text(f, &["jsonPath"])))
        .map(|p| (p.join("."), p))
        .collect();
    let kind = text(names, &["kind"]).to_owned();
    let singular = match text(names, &["singular"]) {
        "" => lowercase(&kind),
        given => given.to_owned(),
    };
    Some(ResourceType {
        group: group.to_owned(),
        version: text(version, &["name"]).to_owned(),
        also_served,
        plural: plural.to_owned(),
        singular,
        kind,
        short_names: strings("shortNames"),
        categories: strings("categories"),
        namespaced: text(definition, &["spec", "scope"]) == "Namespaced",
        has_status: at(version, &["subresources", "status"]).is_some(),
        has_generation: true,
        cached: true,
        delete_returns_object: false,
        fields,
        printer: Printer::Columns(columns),
        served: version["served"] == true,
        prefix: format!("/registry/{group}/{plural}/"),
    })
}

struct BuiltIn {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    flags: &'static [Flag],
    fields: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flag {
    ClusterScoped,
    Status,
    Generation,
    Uncached,
    DeleteReturnsObject,
    All,
}

impl BuiltIn {
    fn resource_type(&self) -> ResourceType {
        let has = |flag| self.flags.contains(&flag);
        let prefix = match self.plural {
            "customresourcedefinitions" => format!("/registry/{}/{}/", self.group, self.plural),
            plural => format!("/registry/{plural}/"),
        };
        ResourceType {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            also_served: Vec::new(),
            plural: self.plural.to_owned(),
            singular: lowercase(self.kind),
            kind: self.kind.to_owned(),
            short_names: self.short_names.iter().map(|&s| s.to_owned()).collect(),
            categories: if has(Flag::All) {
                vec!["all".to_owned()]
            } else {
                Vec::new()
            },
            namespaced: !has(Flag::ClusterScoped),
            has_status: has(Flag::Status),
            has_generation: has(Flag::Generation),
            cached: !has(Flag::Uncached),
            delete_returns_object: has(Flag::DeleteReturnsObject),
            fields: self.fields.iter().map(|&label| field(label)).collect(),
            printer: Printer::BuiltIn,
            served: true,
            prefix,
        }
    }
}

/// Returns a field selector's label and the path of the selected value, which with few exceptions is the label itself.
fn field(label: &str) -> (String, Vec<String>) {
    let path = match label {
        "status.successful" => "status.succeeded",
        "source" => "source.component",
        other => other,
    };
    (
        label.to_owned(),
        path.split('.').map(str::to_owned).collect(),
    )
}

/// The built-in types that the simulator has, as they are in Kubernetes 1.36. Field selectors are from each type's
/// `ToSelectableFields` and label conversions.
const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        group: "",
        version: "v1",
        plural: "pods",
        kind: "Pod",
        short_names: &["po"],
        flags: &[
            Flag::Status,
            Flag::Generation,
            Flag::DeleteReturnsObject,
            Flag::All,
        ],
        fields: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "services",
        kind: "Service",
        short_names: &["svc"],
        flags: &[Flag::Status, Flag::DeleteReturnsObject, Flag::All],
        fields: &["spec.clusterIP", "spec.type"],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "configmaps",
        kind: "ConfigMap",
        short_names: &["cm"],
        flags: &[],
        fields: &[],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "secrets",
        kind: "Secret",
        short_names: &[],
        flags: &[],
        fields: &["type"],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "nodes",
        kind: "Node",
        short_names: &["no"],
        flags: &[Flag::ClusterScoped, Flag::Status],
        fields: &["spec.unschedulable"],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "namespaces",
        kind: "Namespace",
        short_names: &["ns"],
        flags: &[Flag::ClusterScoped, Flag::Status, Flag::DeleteReturnsObject],
        fields: &["status.phase"],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "events",
        kind: "Event",
        short_names: &["ev"],
        flags: &[Flag::Uncached],
        fields: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "serviceaccounts",
        kind: "ServiceAccount",
        short_names: &["sa"],
        flags: &[Flag::DeleteReturnsObject],
        fields: &[],
    },
    BuiltIn {
        group: "",
        version: "v1",
        plural: "endpoints",
        kind: "Endpoints",
        short_names: &["ep"],
        flags: &[],
        fields: &[],
    },
    BuiltIn {
        group: "apps",
        version: "v1",
        plural: "deployments",
        kind: "Deployment",
        short_names: &["deploy"],
        flags: &[Flag::Status, Flag::Generation, Flag::All],
        fields: &[],
    },
    BuiltIn {
        group: "apps",
        version: "v1",
        plural: "replicasets",
        kind: "ReplicaSet",
        short_names: &["rs"],
        flags: &[Flag::Status, Flag::Generation, Flag::All],
        fields: &["status.replicas"],
    },
    BuiltIn {
        group: "batch",
        version: "v1",
        plural: "jobs",
        kind: "Job",
        short_names: &[],
        flags: &[Flag::Status, Flag::Generation, Flag::All],
        fields: &["status.successful"],
    },
    BuiltIn {
        group: "coordination.k8s.io",
        version: "v1",
        plural: "leases",
        kind: "Lease",
        short_names: &[],
        flags: &[],
        fields: &[],
    },
    BuiltIn {
        group: "apiextensions.k8s.io",
        version: "v1",
        plural: "customresourcedefinitions",
        kind: "CustomResourceDefinition",
        short_names: &["crd", "crds"],
        flags: &[Flag::ClusterScoped, Flag::Status, Flag::Generation],
        fields: &[],
    },
];

/// Returns a kind as Go's messages name its type: `core.ConfigMap`.
pub(crate) fn go_type(kind: &ResourceType) -> String {
    let package = match kind.group.split('.').next() {
        None | Some("") => "core",
        Some(first) => first,
    };
    format!("{package}.{}", kind.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn built_in_types_are_found_by_their_paths_and_names() {
        let kinds = Kinds::built_in();
        let deployments = kinds.find("apps", "v1", "deployments").unwrap();
        assert_eq!(kinds.named("deployments.apps"), Some(deployments));
        assert_eq!(
            kinds.get(deployments).key("shop", "web"),
            "/registry/deployments/shop/web"
        );
        let nodes = kinds.named("nodes").unwrap();
        assert_eq!(kinds.get(nodes).key("", "n1"), "/registry/nodes/n1");
        assert_eq!(kinds.find("apps", "v2", "deployments"), None);
    }

    #[test]
    fn a_definition_becomes_a_type_until_it_is_gone() {
        let mut kinds = Kinds::built_in();
        let definition = json!({"spec": {
            "group": "shop.example.com", "scope": "Namespaced",
            "names": {"plural": "orders", "kind": "Order", "shortNames": ["ord"]},
            "versions": [
                {"name": "v1alpha1", "served": true, "storage": false},
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                 "additionalPrinterColumns": [{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}]},
            ],
        }});
        let orders = kinds.add_custom(&definition).unwrap();
        let custom = kinds.get(orders).clone();
        assert_eq!(
            (custom.singular.as_str(), custom.version.as_str()),
            ("order", "v1")
        );
        assert!(custom.has_status);
        assert_eq!(custom.also_served, ["v1alpha1"]);
        let Printer::Columns(columns) = custom.printer else {
            panic!("a custom type prints by its columns");
        };
        assert_eq!(columns[0].path, ["status", "phase"]);
        kinds.stop_serving(orders);
        assert_eq!(kinds.named("orders.shop.example.com"), None);
        assert_eq!(
            kinds.add_custom(&definition),
            Some(orders),
            "the same definition takes its old place"
        );
    }
}
