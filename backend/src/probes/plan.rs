//! From the words a person gave to the watches that are wanted.

use crate::cluster::{Catalog, ResolveError, Resource};

/// What is watched when nothing is named.
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
    /// Names as typed; empty: [`DEFAULT_RESOURCES`].
    pub resources: Vec<String>,
    /// Everything the cluster serves, except Secrets.
    pub is_everything: bool,
    /// The namespace asked for; absent: the context's.
    pub namespace: Option<String>,
    /// All namespaces.
    pub is_all_namespaces: bool,
}

/// One watch that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The resource.
    pub resource: Resource,
    /// The namespace; absent for all and for resources without namespaces.
    pub namespace: Option<String>,
    /// How the namespace is written in the watch's name: itself, `*` or `-`.
    pub namespace_name: String,
}

/// What can be watched now, and what cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Watches to start, each resource once, in the order asked for.
    pub watches: Vec<Planned>,
    /// Names that stand for nothing (now).
    pub unresolved: Vec<ResolveError>,
}

impl Wishes {
    /// The watches wanted of a cluster with this catalog, in a context with this namespace.
    pub fn plan(&self, catalog: &Catalog, context_namespace: &str) -> Plan {
        let mut plan = Plan::default();
        if self.is_everything {
            for resource in catalog.watchable() {
                let is_secret = resource.group.is_empty() && resource.plural == "secrets";
                // The same objects as core events, under a second name.
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

    /// The watch of a name that discovery does not know (yet): `widgets` or `widgets.example.com`.
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

/// What every cluster of the last years serves, for as long as discovery cannot be reached: so that the default lanes
/// are there from the start and say what is being tried.
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
    fn a_resource_asked_for_twice_is_watched_once_and_an_unknown_one_is_told() {
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
