//! Paths: what a request is about.

use percent_encoding::percent_decode_str;

use crate::kinds::{Kinds, ResourceId};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/version`
    Version,
    /// `/healthz`, `/livez`, `/readyz`
    Health,
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/G`
    Group(String),
    /// `/api/v1`, `/apis/G/V`: group and version
    GroupVersion(String, String),
    /// `/openapi/v3`
    OpenApi,
    /// `/openapi/v3/api/v1`, `/openapi/v3/apis/G/V`: group and version
    OpenApiOf(String, String),
    /// Objects.
    Resource(Target),
    /// Objects below `/watch/`, the older way to say that they are to be watched.
    Watch(Target),
    /// Something that a real server has and this one does not model: `pods/log`, `cronjobs`.
    NotModelled(String),
    /// A resource that a served group does not have.
    UnknownResource,
    /// Nothing that is served.
    Unknown,
}

/// The objects, object or subresource a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) resource: ResourceId,
    /// Empty for all namespaces and for cluster-scoped types.
    pub(crate) namespace: String,
    /// Empty for a collection.
    pub(crate) name: String,
    /// `status`, `scale`, `finalize`, or empty.
    pub(crate) subresource: String,
}

impl Route {
    pub(crate) fn parse(path: &str, kinds: &Kinds) -> Route {
        let Some(parts) = path.strip_prefix('/').and_then(decoded_parts) else {
            return Route::Unknown;
        };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["version"] => Route::Version,
            ["healthz" | "livez" | "readyz", ..] => Route::Health,
            ["api"] => Route::Core,
            ["apis"] => Route::Groups,
            ["apis", group] => Route::Group((*group).to_owned()),
            ["api", version] => Route::GroupVersion(String::new(), (*version).to_owned()),
            ["apis", group, version] => {
                Route::GroupVersion((*group).to_owned(), (*version).to_owned())
            }
            ["openapi", "v3"] => Route::OpenApi,
            ["openapi", "v3", "api", version] => {
                Route::OpenApiOf(String::new(), (*version).to_owned())
            }
            ["openapi", "v3", "apis", group, version] => {
                Route::OpenApiOf((*group).to_owned(), (*version).to_owned())
            }
            ["metrics"] => Route::NotModelled("metrics".to_owned()),
            ["api", version, "watch", rest @ ..] => watch("", version, rest, kinds),
            ["apis", group, version, "watch", rest @ ..] => watch(group, version, rest, kinds),
            ["api", version, rest @ ..] => target("", version, rest, kinds)
                .or_else(|| not_modelled("", version, rest))
                .unwrap_or(Route::UnknownResource),
            ["apis", group, version, rest @ ..] => match target(group, version, rest, kinds)
                .or_else(|| not_modelled(group, version, rest))
            {
                Some(found) => found,
                None if kinds.served().any(|(_, kind)| kind.group == *group) => {
                    Route::UnknownResource
                }
                None => Route::Unknown,
            },
            _ => Route::Unknown,
        }
    }
}

fn watch(group: &str, version: &str, rest: &[&str], kinds: &Kinds) -> Route {
    match target(group, version, rest, kinds) {
        Some(Route::Resource(target)) if target.subresource.is_empty() => Route::Watch(target),
        _ => Route::UnknownResource,
    }
}

/// The objects that the path below a group and version names, if they are served.
fn target(group: &str, version: &str, rest: &[&str], kinds: &Kinds) -> Option<Route> {
    let (namespace, plural, name, subresource) = match *rest {
        ["namespaces", name, subresource @ ("status" | "finalize")] if group.is_empty() => {
            ("", "namespaces", name, subresource)
        }
        ["namespaces", namespace, plural] => (namespace, plural, "", ""),
        ["namespaces", namespace, plural, name] => (namespace, plural, name, ""),
        ["namespaces", namespace, plural, name, subresource] => {
            (namespace, plural, name, subresource)
        }
        [plural] => ("", plural, "", ""),
        [plural, name] => ("", plural, name, ""),
        [plural, name, subresource] => ("", plural, name, subresource),
        _ => return None,
    };
    let resource = kinds.find(group, version, plural)?;
    let kind = kinds.get(resource);
    let scope_fits = if kind.namespaced {
        !namespace.is_empty() || name.is_empty()
    } else {
        namespace.is_empty()
    };
    let subresource_fits = match subresource {
        "" => true,
        "status" => kind.has_status,
        "scale" => kind.has_scale(),
        "binding" => kind.qualified() == "pods",
        "finalize" => kind.kind == "Namespace",
        _ => false,
    };
    if !scope_fits || !subresource_fits {
        return None;
    }
    Some(Route::Resource(Target {
        resource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
    }))
}

/// Resources and subresources of Kubernetes 1.36 that are not modelled, by group and version.
const NOT_MODELLED: &[(&str, &str, &[&str])] = &[
    (
        "",
        "v1",
        &[
            "limitranges",
            "nodes/proxy",
            "persistentvolumes",
            "pods/attach",
            "pods/ephemeralcontainers",
            "pods/eviction",
            "pods/exec",
            "pods/log",
            "pods/portforward",
            "pods/proxy",
            "pods/resize",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
            "services/proxy",
            "serviceaccounts/token",
        ],
    ),
    (
        "apps",
        "v1",
        &["controllerrevisions", "daemonsets", "statefulsets"],
    ),
    (
        "authentication.k8s.io",
        "v1",
        &["selfsubjectreviews", "tokenreviews"],
    ),
    (
        "authorization.k8s.io",
        "v1",
        &[
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        ],
    ),
    ("autoscaling", "v2", &["horizontalpodautoscalers"]),
    ("batch", "v1", &["cronjobs"]),
    ("networking.k8s.io", "v1", &["ingresses", "networkpolicies"]),
    ("policy", "v1", &["poddisruptionbudgets"]),
    (
        "rbac.authorization.k8s.io",
        "v1",
        &[
            "clusterrolebindings",
            "clusterroles",
            "rolebindings",
            "roles",
        ],
    ),
    ("storage.k8s.io", "v1", &["storageclasses"]),
];

/// What the path below a group and version names, if a real server has it and this one has not.
fn not_modelled(group: &str, version: &str, rest: &[&str]) -> Option<Route> {
    let (plural, subresource) = match *rest {
        ["namespaces", _, plural] | ["namespaces", _, plural, _] | [plural] | [plural, _] => {
            (plural, "")
        }
        // What follows `proxy` is the proxied server's path.
        ["namespaces", _, plural, _, subresource, ..] | [plural, _, subresource, ..] => {
            (plural, subresource)
        }
        [] => return None,
    };
    let whole = format!("{plural}/{subresource}");
    let listed = NOT_MODELLED
        .iter()
        .filter(|(g, v, _)| (*g, *v) == (group, version))
        .flat_map(|(_, _, names)| *names)
        .any(|name| *name == plural || *name == whole);
    let what = whole.trim_end_matches('/').to_owned();
    listed.then_some(Route::NotModelled(what))
}

/// The parts between slashes, percent-decoded; `None` if they are not text. A slash at the end is ignored.
fn decoded_parts(path: &str) -> Option<Vec<String>> {
    path.strip_suffix('/')
        .unwrap_or(path)
        .split('/')
        .map(|part| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> String {
        let kinds = Kinds::built_in();
        match Route::parse(path, &kinds) {
            Route::Resource(t) => {
                let kind = kinds.get(t.resource);
                format!(
                    "{} ns={} name={} sub={}",
                    kind.qualified(),
                    t.namespace,
                    t.name,
                    t.subresource
                )
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn paths_name_collections_objects_and_subresources() {
        let shown: Vec<String> = [
            "/api/v1/pods",
            "/api/v1/namespaces/shop/pods/web%2D1",
            "/apis/apps/v1/namespaces/shop/deployments/web/status",
            "/api/v1/namespaces/shop",
            "/api/v1/namespaces/shop/status",
            "/api/v1/namespaces",
            "/api/v1/nodes/n1/",
        ]
        .map(told)
        .into();
        insta::assert_snapshot!(shown.join("\n"), @r"
        pods ns= name= sub=
        pods ns=shop name=web-1 sub=
        deployments.apps ns=shop name=web sub=status
        namespaces ns= name=shop sub=
        namespaces ns= name=shop sub=status
        namespaces ns= name= sub=
        nodes ns= name=n1 sub=
        ");
    }

    #[test]
    fn what_is_not_served_is_unknown() {
        for path in ["", "/", "/nowhere", "/apis/nope/v1/widgets", "/api/v1/%ff"] {
            assert_eq!(told(path), "Unknown", "{path}");
        }
        for path in [
            "/api/v1/widgets",
            "/apis/apps/v2/deployments",
            "/api/v1/pods/web",
            "/api/v1/namespaces/shop/nodes",
            "/api/v1/namespaces/shop/configmaps/a/status",
            "/api/v1/namespaces/shop/pods/a/nothing",
            "/api/v1/pods%zz",
        ] {
            assert_eq!(told(path), "UnknownResource", "{path}");
        }
    }

    #[test]
    fn what_a_real_server_has_beyond_the_model_is_told_apart() {
        let shown: Vec<String> = [
            "/metrics",
            "/api/v1/persistentvolumes",
            "/apis/batch/v1/namespaces/shop/cronjobs/a",
            "/api/v1/namespaces/shop/pods/web/log",
            "/api/v1/namespaces/shop/services/web/proxy/index.html",
            "/api/v1/namespaces/shop/pods/web/nothing",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis/apps/v1/namespaces/shop/statefulsets/db/scale",
        ]
        .map(told)
        .into();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        NotModelled("metrics")
        NotModelled("persistentvolumes")
        NotModelled("cronjobs")
        NotModelled("pods/log")
        NotModelled("services/proxy")
        UnknownResource
        NotModelled("selfsubjectaccessreviews")
        NotModelled("statefulsets/scale")
        "#);
    }
}
