//! The resources that a cluster serves, and the resolution of names as kubectl does it.

use std::fmt;

use watchscope_model::id::is_built_in_group;

/// The most names that an error suggests.
const MAX_SUGGESTIONS: usize = 3;

/// One resource in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// The plural name, as in URLs.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// The kind of its objects.
    pub kind: String,
    /// The short names.
    pub short_names: Vec<String>,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
    /// The verbs that it supports.
    pub verbs: Vec<String>,
    /// Whether another apiserver serves it through the cluster's, as far as that can be known.
    pub is_aggregated: bool,
}

impl Resource {
    /// Whether it can be listed and watched.
    pub fn is_watchable(&self) -> bool {
        let has = |wanted: &str| self.verbs.iter().any(|verb| verb == wanted);
        has("list") && has("watch")
    }

    /// The full name: `deployments.apps`, or `pods` in the core group.
    pub fn full_name(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The group and version: `apps/v1`, or `v1` in the core group.
    pub fn group_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// The path of its collection, in one namespace or in all. A resource without namespaces has one path.
    pub fn collection_path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() {
            "/api"
        } else {
            "/apis"
        };
        let namespace = namespace
            .filter(|_| self.is_namespaced)
            .map(|name| format!("namespaces/{name}/"));
        format!(
            "{root}/{}/{}{}",
            self.group_version(),
            namespace.unwrap_or_default(),
            self.plural
        )
    }
}

/// A part of the API that discovery could not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryFailure {
    /// The part.
    pub part: ApiPart,
    /// The reason.
    pub reason: String,
}

/// A part of the API that discovery asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiPart {
    /// Everything below `/api`.
    CoreGroup,
    /// Everything below `/apis`.
    NamedGroups,
    /// One version of one group.
    Version {
        /// API group; empty for the core group.
        group: String,
        /// Version in the group.
        version: String,
    },
}

impl ApiPart {
    /// Whether the resource would be found in this part.
    pub(super) fn holds(&self, resource: &Resource) -> bool {
        match self {
            Self::CoreGroup => resource.group.is_empty(),
            Self::NamedGroups => !resource.group.is_empty(),
            Self::Version { group, version } => {
                (group, version) == (&resource.group, &resource.version)
            }
        }
    }
}

impl fmt::Display for DiscoveryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            ApiPart::CoreGroup => f.write_str("the core group")?,
            ApiPart::NamedGroups => f.write_str("all groups but the core group")?,
            ApiPart::Version { group, version } => f.write_str(&group_version(group, version))?,
        }
        write!(f, " ({})", self.reason)
    }
}

/// The resources that a cluster serves, in discovery's order: core first, then groups by the server's priority. In each
/// group the preferred version comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// All resources, including those that cannot be watched.
    pub resources: Vec<Resource>,
    /// The parts of the API that are not known.
    pub failures: Vec<DiscoveryFailure>,
}

/// Why a name does not resolve to a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// No resource has this name.
    #[error(
        "the server has no resource {name}{}{}",
        suggestion_text(nearest),
        failure_text(failures)
    )]
    Unknown {
        /// The name.
        name: String,
        /// Names close to it.
        nearest: Vec<String>,
        /// The parts of the API that may hide it. If there are none, the resource does not exist now.
        failures: Vec<DiscoveryFailure>,
    },
    /// Several groups have the name, and none takes precedence.
    #[error("{name} may be {}; say which", candidates.join(" or "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The full names of the resources.
        candidates: Vec<String>,
    },
    /// The resource exists, but cannot be listed and watched.
    #[error("{name} cannot be watched: the server offers only {} for it", verbs.join(", "))]
    NotWatchable {
        /// The full name.
        name: String,
        /// The verbs that the server offers.
        verbs: Vec<String>,
    },
}

impl ResolveError {
    /// Whether the name may become known without a change of the cluster, because a part of discovery did not answer.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Unknown { failures, .. } if !failures.is_empty())
    }
}

impl Catalog {
    /// Returns the resources that can be watched, each once, in its preferred version.
    pub fn watchable(&self) -> impl Iterator<Item = &Resource> {
        self.resources
            .iter()
            .enumerate()
            .filter_map(|(index, resource)| {
                let is_same = |other: &Resource| {
                    other.group == resource.group
                        && other.plural == resource.plural
                        && other.is_watchable()
                };
                (resource.is_watchable() && !self.resources[..index].iter().any(is_same))
                    .then_some(resource)
            })
    }

    /// Finds a resource by kubectl's rules: `pods`, `pod`, `po`, `Pod`, `deployments.apps`, `deploy.apps`,
    /// `deployments.v1.apps`, `pods.v1.`. Case does not matter, and a group may be abbreviated. If several groups have the
    /// name, a built-in group that comes first wins, as for kubectl. Otherwise the name is ambiguous, where kubectl would
    /// silently take the first.
    pub fn resolve(&self, name: &str) -> Result<&Resource, ResolveError> {
        let lower = name.to_ascii_lowercase();
        let mut unwatchable = None;
        for wanted in Wanted::readings(&lower) {
            for is_named in [has_plural, has_singular_or_kind, has_short_name] {
                let mut found: Vec<&Resource> = Vec::new();
                for resource in &self.resources {
                    if !is_named(resource, wanted.resource) || !wanted.has_group_version(resource) {
                        continue;
                    }
                    if !resource.is_watchable() {
                        unwatchable.get_or_insert(resource);
                    } else if !found.iter().any(|other| other.group == resource.group) {
                        found.push(resource);
                    }
                }
                // A group that is written out takes precedence over an abbreviated one.
                if let Some(exact) = found
                    .iter()
                    .find(|resource| wanted.group == Some(resource.group.as_str()))
                {
                    return Ok(exact);
                }
                match found.as_slice() {
                    [] => {}
                    [one] => return Ok(one),
                    [first, ..] if is_built_in_group(&first.group) => return Ok(first),
                    several => {
                        let candidates = several
                            .iter()
                            .map(|resource| resource.full_name())
                            .collect();
                        return Err(ResolveError::Ambiguous {
                            name: name.to_owned(),
                            candidates,
                        });
                    }
                }
            }
        }
        if let Some(resource) = unwatchable {
            return Err(ResolveError::NotWatchable {
                name: resource.full_name(),
                verbs: resource.verbs.clone(),
            });
        }
        Err(ResolveError::Unknown {
            name: name.to_owned(),
            nearest: self.nearest(&lower),
            failures: self.failures_that_may_hide(&lower),
        })
    }

    fn nearest(&self, lower: &str) -> Vec<String> {
        let wanted = lower.split('.').next().unwrap_or_default();
        let allowed = (wanted.chars().count() / 3).clamp(1, 3);
        let mut scored: Vec<(usize, String)> = Vec::new();
        for resource in self.watchable() {
            let long_short_names = resource.short_names.iter().filter(|name| name.len() > 2);
            let kind = resource.kind.to_ascii_lowercase();
            let distance = [&resource.plural, &resource.singular, &kind]
                .into_iter()
                .chain(long_short_names)
                .map(|known| strsim::osa_distance(wanted, known))
                .min();
            if let Some(distance) = distance.filter(|distance| *distance <= allowed) {
                scored.push((distance, resource.full_name()));
            }
        }
        scored.sort_by_key(|(distance, _)| *distance);
        scored
            .into_iter()
            .map(|(_, name)| name)
            .take(MAX_SUGGESTIONS)
            .collect()
    }

    fn failures_that_may_hide(&self, lower: &str) -> Vec<DiscoveryFailure> {
        let readings = Wanted::readings(lower);
        let may_hide = |failure: &&DiscoveryFailure| {
            readings
                .iter()
                .any(|wanted| wanted.may_be_in(&failure.part))
        };
        self.failures.iter().filter(may_hide).cloned().collect()
    }
}

/// One interpretation of a name.
struct Wanted<'a> {
    resource: &'a str,
    version: Option<&'a str>,
    group: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// Interprets `a.b.c` as resource, version and group first, then as resource and group.
    fn readings(name: &'a str) -> Vec<Self> {
        let Some((resource, rest)) = name.split_once('.') else {
            return vec![Self {
                resource: name,
                version: None,
                group: None,
            }];
        };
        let mut readings = Vec::new();
        if let Some((version, group)) = rest.split_once('.') {
            readings.push(Self {
                resource,
                version: Some(version),
                group: Some(group),
            });
        }
        // `pods.v1.` has only one interpretation, since no group ends with a dot.
        if !rest.ends_with('.') {
            readings.push(Self {
                resource,
                version: None,
                group: Some(rest),
            });
        }
        readings
    }

    fn has_group_version(&self, resource: &Resource) -> bool {
        self.has_group(&resource.group)
            && self
                .version
                .is_none_or(|version| resource.version == version)
    }

    fn has_group(&self, group: &str) -> bool {
        match self.group {
            None => true,
            Some("") => group.is_empty(),
            Some(wanted) => group.starts_with(wanted),
        }
    }

    fn may_be_in(&self, part: &ApiPart) -> bool {
        match part {
            ApiPart::CoreGroup => self.has_group(""),
            ApiPart::NamedGroups => self.group != Some(""),
            ApiPart::Version { group, version } => {
                self.has_group(group) && self.version.is_none_or(|wanted| wanted == version)
            }
        }
    }
}

fn has_plural(resource: &Resource, name: &str) -> bool {
    resource.plural == name
}

fn has_singular_or_kind(resource: &Resource, name: &str) -> bool {
    resource.singular == name || resource.kind.eq_ignore_ascii_case(name)
}

fn has_short_name(resource: &Resource, name: &str) -> bool {
    resource.short_names.iter().any(|short| short == name)
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

fn suggestion_text(nearest: &[String]) -> String {
    if nearest.is_empty() {
        "; `kubectl api-resources` lists those it has".to_owned()
    } else {
        format!("; did you mean {}?", nearest.join(", "))
    }
}

fn failure_text(failures: &[DiscoveryFailure]) -> String {
    if failures.is_empty() {
        return String::new();
    }
    let names: Vec<_> = failures
        .iter()
        .take(MAX_SUGGESTIONS)
        .map(ToString::to_string)
        .collect();
    format!(" (discovery is incomplete, without {})", names.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resource(
        group: &str,
        version: &str,
        plural: &str,
        kind: &str,
        short_names: &[&str],
    ) -> Resource {
        Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_ascii_lowercase(),
            kind: kind.to_owned(),
            short_names: short_names.iter().map(|name| (*name).to_owned()).collect(),
            is_namespaced: true,
            verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
            is_aggregated: false,
        }
    }

    fn catalog() -> Catalog {
        let mut bindings = resource("", "v1", "bindings", "Binding", &[]);
        bindings.verbs = vec!["create".to_owned()];
        let mut node_metrics = resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", &[]);
        node_metrics.verbs = vec!["get".to_owned(), "list".to_owned()];
        let mut nodes = resource("", "v1", "nodes", "Node", &["no"]);
        nodes.is_namespaced = false;
        Catalog {
            resources: vec![
                bindings,
                resource("", "v1", "pods", "Pod", &["po"]),
                nodes,
                resource("", "v1", "events", "Event", &["ev"]),
                resource("apps", "v1", "deployments", "Deployment", &["deploy"]),
                resource("apps", "v1beta1", "deployments", "Deployment", &["deploy"]),
                resource("events.k8s.io", "v1", "events", "Event", &["ev"]),
                node_metrics,
                resource(
                    "cert-manager.io",
                    "v1",
                    "certificates",
                    "Certificate",
                    &["cert"],
                ),
                resource(
                    "networking.internal.knative.dev",
                    "v1alpha1",
                    "certificates",
                    "Certificate",
                    &["kcert"],
                ),
                resource("example.com", "v1", "po", "Po", &[]),
            ],
            failures: Vec::new(),
        }
    }

    fn check(name: &str, expected: &str) {
        let catalog = catalog();
        let found = match catalog.resolve(name) {
            Ok(resource) => format!("{}/{}", resource.group_version(), resource.plural),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn names_are_resolved_as_kubectl_does() {
        check("pods", "v1/pods");
        check("pod", "v1/pods");
        check("Pod", "v1/pods");
        check("pods.v1.", "v1/pods");
        check("deploy", "apps/v1/deployments");
        check("deployments.apps", "apps/v1/deployments");
        check("deploy.apps", "apps/v1/deployments");
        check("deployments.v1beta1.apps", "apps/v1beta1/deployments");
        check("events", "v1/events");
        check("ev.events.k8s.io", "events.k8s.io/v1/events");
        check("events.events", "events.k8s.io/v1/events");
        check("nodes", "v1/nodes");
        check(
            "certificates.cert-manager.io",
            "cert-manager.io/v1/certificates",
        );
        check(
            "certificates.v1alpha1.networking.internal.knative.dev",
            "networking.internal.knative.dev/v1alpha1/certificates",
        );
        check(
            "kcert",
            "networking.internal.knative.dev/v1alpha1/certificates",
        );
        // A resource's own name takes precedence over another's short name.
        check("po", "example.com/v1/po");
    }

    #[test]
    fn an_unknown_or_ambiguous_name_is_refused_with_advice() {
        check(
            "podz",
            "the server has no resource podz; did you mean pods?",
        );
        check(
            "deploymnets.apps",
            "the server has no resource deploymnets.apps; did you mean deployments.apps?",
        );
        check(
            "pods.v2.",
            "the server has no resource pods.v2.; did you mean pods?",
        );
        check(
            "gizmo",
            "the server has no resource gizmo; `kubectl api-resources` lists those it has",
        );
        check(
            "certificates",
            "certificates may be certificates.cert-manager.io or \
             certificates.networking.internal.knative.dev; say which",
        );
        check(
            "bindings",
            "bindings cannot be watched: the server offers only create for it",
        );
        check(
            "nodes.metrics.k8s.io",
            "nodes.metrics.k8s.io cannot be watched: the server offers only get, list for it",
        );
        check(
            "",
            "the server has no resource ; `kubectl api-resources` lists those it has",
        );
        check(
            "....",
            "the server has no resource ....; `kubectl api-resources` lists those it has",
        );
    }

    #[test]
    fn a_name_that_an_unanswered_group_may_hide_is_undecided() {
        let mut catalog = catalog();
        let group = "custom.metrics.k8s.io".to_owned();
        catalog.failures.push(DiscoveryFailure {
            part: ApiPart::Version {
                group,
                version: "v1beta1".to_owned(),
            },
            reason: "503 Service Unavailable".to_owned(),
        });
        let error = catalog.resolve("gizmo").unwrap_err();
        assert!(error.is_undecided());
        assert_eq!(
            error.to_string(),
            "the server has no resource gizmo; `kubectl api-resources` lists those it has \
             (discovery is incomplete, without custom.metrics.k8s.io/v1beta1 (503 Service Unavailable))"
        );
        assert!(
            catalog
                .resolve("gizmo.custom.metrics.k8s.io")
                .unwrap_err()
                .is_undecided()
        );
        assert!(!catalog.resolve("gizmo.apps").unwrap_err().is_undecided());
        assert!(
            !catalog
                .resolve("gizmo.v2.custom.metrics.k8s.io")
                .unwrap_err()
                .is_undecided()
        );
        assert!(catalog.resolve("pods").is_ok());
        for (part, name, is_undecided) in [
            (ApiPart::CoreGroup, "gizmo", true),
            (ApiPart::CoreGroup, "gizmo.v1.", true),
            (ApiPart::CoreGroup, "gizmo.apps", false),
            (ApiPart::NamedGroups, "gizmo", true),
            (ApiPart::NamedGroups, "gizmo.apps", true),
            (ApiPart::NamedGroups, "gizmo.v1.", false),
        ] {
            catalog.failures = vec![DiscoveryFailure {
                part,
                reason: "403 Forbidden".to_owned(),
            }];
            assert_eq!(
                catalog.resolve(name).unwrap_err().is_undecided(),
                is_undecided,
                "{name}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_name_is_resolved_or_refused(name in "[a-z.*/\\PC]{0,40}") {
            let catalog = catalog();
            match catalog.resolve(&name) {
                Ok(resource) => prop_assert!(resource.is_watchable()),
                Err(error) => prop_assert!(error.to_string().contains(&name)),
            }
        }
    }

    #[test]
    fn watchable_resources_come_once_and_in_the_preferred_version() {
        let catalog = catalog();
        let names: Vec<_> = catalog
            .watchable()
            .map(|resource| format!("{} {}", resource.full_name(), resource.version))
            .collect();
        assert_eq!(
            names,
            [
                "pods v1",
                "nodes v1",
                "events v1",
                "deployments.apps v1",
                "events.events.k8s.io v1",
                "certificates.cert-manager.io v1",
                "certificates.networking.internal.knative.dev v1alpha1",
                "po.example.com v1",
            ]
        );
    }

    #[test]
    fn a_collection_has_one_path_in_a_namespace_and_one_in_all() {
        let catalog = catalog();
        let path = |name, namespace| catalog.resolve(name).unwrap().collection_path(namespace);
        assert_eq!(path("pods", Some("shop")), "/api/v1/namespaces/shop/pods");
        assert_eq!(path("pods", None), "/api/v1/pods");
        assert_eq!(path("nodes", Some("shop")), "/api/v1/nodes");
        assert_eq!(
            path("deploy", Some("shop")),
            "/apis/apps/v1/namespaces/shop/deployments"
        );
    }
}
