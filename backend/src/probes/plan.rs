//! The plan of watches: it resolves the words that a person gave into the wanted watches.

use crate::cluster::{Catalog, ResolveError, Resource};

/// The resources that are watched if none is named.
pub const DEFAULT_RESOURCES: [&str; 8] = [
    "pods",
    "deployments",
    "replicasets",
    "jobs",
    "services",
    "configmaps",
    "nodes",
    "events",
];

/// What a person wants to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Names as typed; if empty, [`DEFAULT_RESOURCES`].
    pub resources: Vec<String>,
    /// Whether every resource that the cluster serves is wanted, except Secrets.
    pub is_everything: bool,
    /// The requested namespace; none for the context's.
    pub namespace: Option<String>,
    /// Whether all namespaces are wanted.
    pub is_all_namespaces: bool,
}

/// One wanted watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The resource.
    pub resource: Resource,
    /// The namespace; none for all namespaces, and for resources without namespaces.
    pub namespace: Option<String>,
    /// The namespace in the watch's name: itself, `*` for all, or `-` for a resource without namespaces.
    pub namespace_name: String,
}

/// The watches that can be started now, and the names that cannot be resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The watches to start, in the requested order; each resource occurs once.
    pub watches: Vec<Planned>,
    /// The names that the cluster does not resolve now.
    pub unresolved: Vec<ResolveError>,
}

impl Wishes {
    /// Plans the watches of a cluster with this catalog, in a context with this namespace.
    pub fn plan(&self, catalog: &Catalog, context_namespace: &str) -> Plan {
        let mut plan = Plan::default();
        if self.is_everything {
            for resource in catalog.watchable() {
                let is_secret = resource.group.is_empty() && resource.plural == "secrets";
                // These are the same objects as core events, under a second name.
                let is_second_name =
                    resource.group == "events.k8s.io" && resource.plural == "events";
                if !is_secret && !is_second_name {
                    plan.add(self.planned(resource, context_namespace));
                }
            }
            return plan;
        }
        let defaults = DEFAULT_RESOURCES.map(str::to_owned);
        let names = if self.resources.is_empty() {
            &defaults[..]
        } else {
            &self.resources
        };
        for name in names {
            match catalog.resolve(name) {
                Ok(resource) => plan.add(self.planned(resource, context_namespace)),
                Err(error) => plan.unresolved.push(error),
            }
        }
        plan
    }

    /// The watch of a name that discovery does not know yet: `widgets` or `widgets.example.com`.
    pub fn not_found_yet(&self, name: &str, context_namespace: &str) -> Planned {
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        let resource = Resource {
            group: group.to_ascii_lowercase(),
            version: String::new(),
            plural: plural.to_ascii_lowercase(),
            singular: String::new(),
            kind: String::new(),
            short_names: Vec::new(),
            is_namespaced: true,
            verbs: Vec::new(),
            is_aggregated: false,
        };
        self.planned(&resource, context_namespace)
    }

    fn planned(&self, resource: &Resource, context_namespace: &str) -> Planned {
        let (namespace, namespace_name) = if !resource.is_namespaced {
            (None, "-".to_owned())
        } else if self.is_all_namespaces {
            (None, "*".to_owned())
        } else {
            let namespace = self
                .namespace
                .as_deref()
                .unwrap_or(context_namespace)
                .to_owned();
            (Some(namespace.clone()), namespace)
        };
        Planned {
            resource: resource.clone(),
            namespace,
            namespace_name,
        }
    }
}

impl Plan {
    fn add(&mut self, planned: Planned) {
        if !self.watches.contains(&planned) {
            self.watches.push(planned);
        }
    }
}

/// The resources that every recent cluster serves. They are used while discovery cannot be reached, so that the default
/// watches start at once and their lanes show what they try.
pub(super) fn builtin_catalog() -> Catalog {
    const BUILTIN: [(&str, &str, &str, &str, &str, bool); 16] = [
        ("", "v1", "pods", "Pod", "po", true),
        ("", "v1", "services", "Service", "svc", true),
        ("", "v1", "configmaps", "ConfigMap", "cm", true),
        ("", "v1", "nodes", "Node", "no", false),
        ("", "v1", "namespaces", "Namespace", "ns", false),
        ("", "v1", "events", "Event", "ev", true),
        ("", "v1", "endpoints", "Endpoints", "ep", true),
        (
            "",
            "v1",
            "persistentvolumeclaims",
            "PersistentVolumeClaim",
            "pvc",
            true,
        ),
        ("", "v1", "serviceaccounts", "ServiceAccount", "sa", true),
        ("apps", "v1", "deployments", "Deployment", "deploy", true),
        ("apps", "v1", "replicasets", "ReplicaSet", "rs", true),
        ("apps", "v1", "statefulsets", "StatefulSet", "sts", true),
        ("apps", "v1", "daemonsets", "DaemonSet", "ds", true),
        ("batch", "v1", "jobs", "Job", "", true),
        ("batch", "v1", "cronjobs", "CronJob", "cj", true),
        ("coordination.k8s.io", "v1", "leases", "Lease", "", true),
    ];
    let resource = |&(group, version, plural, kind, short, is_namespaced): &(
        &str,
        &str,
        &str,
        &str,
        &str,
        bool,
    )| {
        Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            kind: kind.to_owned(),
            short_names: if short.is_empty() {
                Vec::new()
            } else {
                vec![short.to_owned()]
            },
            is_namespaced,
            verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
            is_aggregated: false,
        }
    };
    Catalog {
        resources: BUILTIN.iter().map(resource).collect(),
        failures: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plan: &Plan) -> Vec<String> {
        plan.watches
            .iter()
            .map(|watch| format!("{}/{}", watch.namespace_name, watch.resource.full_name()))
            .collect()
    }

    #[test]
    fn the_default_resources_are_those_of_the_context_s_namespace() {
        let plan = Wishes::default().plan(&builtin_catalog(), "shop");
        assert_eq!(
            names(&plan),
            [
                "shop/pods",
                "shop/deployments.apps",
                "shop/replicasets.apps",
                "shop/jobs.batch",
                "shop/services",
                "shop/configmaps",
                "-/nodes",
                "shop/events",
            ]
        );
        assert!(plan.unresolved.is_empty());
    }

    #[test]
    fn a_resource_named_twice_is_watched_once_and_an_unknown_one_is_reported() {
        let wishes = Wishes {
            resources: ["po", "pods", "widgets"].map(str::to_owned).to_vec(),
            is_all_namespaces: true,
            ..Wishes::default()
        };
        let plan = wishes.plan(&builtin_catalog(), "shop");
        assert_eq!(names(&plan), ["*/pods"]);
        assert!(
            matches!(&plan.unresolved[..], [ResolveError::Unknown { name, .. }] if name == "widgets")
        );
    }

    #[test]
    fn everything_means_everything_but_secrets() {
        let mut catalog = builtin_catalog();
        let mut secrets = catalog.resources[0].clone();
        secrets.plural = "secrets".to_owned();
        catalog.resources.push(secrets);
        let wishes = Wishes {
            is_everything: true,
            ..Wishes::default()
        };
        let plan = wishes.plan(&catalog, "shop");
        assert_eq!(plan.watches.len(), 16);
    }
}
