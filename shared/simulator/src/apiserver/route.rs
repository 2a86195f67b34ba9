//! URL paths, and what each path names.

use percent_encoding::percent_decode_str;

use crate::kinds::{Kinds, ResourceId};

/// A parsed URL path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The path `/version`.
    Version,
    /// The paths `/healthz`, `/livez` and `/readyz`, and below each of them `etcd`, `log` and `ping`.
    Health,
    /// The path `/api`.
    Core,
    /// The path `/apis`.
    Groups,
    /// A path `/apis/G` of the API group G.
    Group(String),
    /// A path `/api/V` or `/apis/G/V`: group and version, served or not; the group is empty for `/api/V`.
    GroupVersion(String, String),
    /// The path `/openapi/v3`.
    OpenApi,
    /// A path `/openapi/v3/api/V` or `/openapi/v3/apis/G/V`: group and version, served or not; the group is empty for
    /// `api`.
    OpenApiOf(String, String),
    /// The path of a collection, an object or a subresource.
    Resource(Target),
    /// The path of a collection or an object below `/watch/`, the older form of a watch.
    Watch(Target),
    /// A path that a real server has and the simulator does not model: `pods/log`, `cronjobs`.
    NotModelled(String),
    /// The path of a resource that a served group does not have.
    UnknownResource,
    /// A path that is not served.
    Unknown,
}

/// The collection, object or subresource that a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) resource: ResourceId,
    /// The namespace; empty for all namespaces, and for cluster-scoped types.
    pub(crate) namespace: String,
    /// The name of the object; empty for a collection.
    pub(crate) name: String,
    /// The subresource: `status`, `scale`, `finalize`, `binding`, or empty for the object itself.
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
            ["healthz" | "livez" | "readyz"] => Route::Health,
            ["healthz" | "livez" | "readyz", "etcd" | "log" | "ping"] => Route::Health,
            ["healthz" | "livez" | "readyz", ..] => {
                Route::NotModelled("that check of its health".to_owned())
            }
            ["api"] => Route::Core,
            ["apis"] => Route::Groups,
            ["apis", group] => group_not_modelled(group, None, kinds)
                .unwrap_or_else(|| Route::Group((*group).to_owned())),
            ["api", version] => Route::GroupVersion(String::new(), (*version).to_owned()),
            ["apis", group, version] => group_not_modelled(group, Some(version), kinds)
                .unwrap_or_else(|| Route::GroupVersion((*group).to_owned(), (*version).to_owned())),
            ["openapi", "v3"] => Route::OpenApi,
            ["openapi", "v3", "api", version] => {
                Route::OpenApiOf(String::new(), (*version).to_owned())
            }
            ["openapi", "v3", "apis", group, version] => {
                group_not_modelled(group, Some(version), kinds)
                    .unwrap_or_else(|| Route::OpenApiOf((*group).to_owned(), (*version).to_owned()))
            }
            [] | [""] => Route::NotModelled("the list of all paths".to_owned()),
            ["metrics" | "flagz" | "statusz"]
            | ["metrics", "slis"]
            | ["openapi", "v2"]
            | ["openid", "v1", "jwks"]
            | [".well-known", "openid-configuration"]
            | ["debug", "pprof", ..] => Route::NotModelled(parts.join("/")),
            ["api", version, "watch", rest @ ..] => watch("", version, rest, kinds),
            ["apis", group, version, "watch", rest @ ..] => watch(group, version, rest, kinds),
            ["api", version, rest @ ..] => target("", version, rest, kinds)
                .or_else(|| not_modelled("", version, rest, kinds))
                .unwrap_or(Route::UnknownResource),
            ["apis", group, version, rest @ ..] => match target(group, version, rest, kinds)
                .or_else(|| not_modelled(group, version, rest, kinds))
            {
                Some(found) => found,
                None if is_group(group) || kinds.served().any(|(_, k)| k.group == *group) => {
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
        Some(_) => Route::UnknownResource,
        None => not_modelled(group, version, rest, kinds).unwrap_or(Route::UnknownResource),
    }
}

/// The parts of a path below a group and version, served or not.
struct Place<'a> {
    namespace: &'a str,
    plural: &'a str,
    name: &'a str,
    subresource: &'a str,
}

impl Place<'_> {
    /// Returns whether the path fits a namespaced type (`namespaced`), or a cluster-scoped one.
    fn fits(&self, namespaced: bool) -> bool {
        if namespaced {
            !self.namespace.is_empty() || self.name.is_empty()
        } else {
            self.namespace.is_empty()
        }
    }
}

fn place<'a>(group: &str, rest: &[&'a str]) -> Option<Place<'a>> {
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
    Some(Place {
        namespace,
        plural,
        name,
        subresource,
    })
}

/// Returns the served collection, object or subresource that a path below a group and version names; `None` if it names
/// none.
fn target(group: &str, version: &str, rest: &[&str], kinds: &Kinds) -> Option<Route> {
    let place = place(group, rest)?;
    let resource = kinds.find(group, version, place.plural)?;
    let kind = kinds.get(resource);
    let subresource_fits = match place.subresource {
        "" => true,
        "status" => kind.has_status,
        "scale" => kind.has_scale(),
        "binding" => kind.qualified() == "pods",
        "finalize" => kind.kind == "Namespace",
        _ => false,
    };
    if !place.fits(kind.namespaced) || !subresource_fits {
        return None;
    }
    Some(Route::Resource(Target {
        resource,
        namespace: place.namespace.to_owned(),
        name: place.name.to_owned(),
        subresource: place.subresource.to_owned(),
    }))
}

/// The resources of Kubernetes 1.36, one per line: group and version, scope, plural name, subresources. A request for a
/// resource of this list that the simulator does not model gets 501 instead of 404.
const SERVED: &str = include_str!("served.txt");

/// A resource of Kubernetes 1.36.
struct Served {
    group: &'static str,
    version: &'static str,
    namespaced: bool,
    plural: &'static str,
    subresources: std::str::SplitAsciiWhitespace<'static>,
}

fn served() -> impl Iterator<Item = Served> {
    SERVED.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let group_version = words.next()?;
        let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
        Some(Served {
            group,
            version,
            namespaced: words.next()? == "namespaced",
            plural: words.next()?,
            subresources: words,
        })
    })
}

/// Returns whether a real server has an API group, modelled or not.
pub(crate) fn is_group(group: &str) -> bool {
    served().any(|s| s.group == group)
}

/// Returns the route of an API group or group version that a real server has and the simulator does not model; `None`
/// for any other.
fn group_not_modelled(group: &str, version: Option<&str>, kinds: &Kinds) -> Option<Route> {
    let is_it = |g: &str, v: &str| g == group && version.is_none_or(|wanted| v == wanted);
    if kinds.served().any(|(_, k)| is_it(&k.group, &k.version)) {
        return None;
    }
    let is_real = served().any(|s| is_it(s.group, s.version));
    let is_custom = || {
        let mut types = kinds.all();
        types.any(|(_, k)| k.also_served.iter().any(|v| is_it(&k.group, v)))
    };
    (is_real || is_custom()).then(|| {
        let version = version.map(|version| format!("/{version}"));
        Route::NotModelled(format!("the group {group}{}", version.unwrap_or_default()))
    })
}

/// Returns the route of a path below a group and version that a real server has and the simulator does not model.
/// `None` for any other.
fn not_modelled(group: &str, version: &str, rest: &[&str], kinds: &Kinds) -> Option<Route> {
    // The parts after `proxy` are the proxied server's path.
    let proxied = rest.iter().position(|part| *part == "proxy");
    let place = place(group, proxied.map_or(rest, |at| &rest[..=at]))?;
    let what = if place.subresource.is_empty() {
        place.plural.to_owned()
    } else {
        format!("{}/{}", place.plural, place.subresource)
    };
    let is_it = |s: &Served| (s.group, s.version, s.plural) == (group, version, place.plural);
    if let Some(mut real) = served().find(is_it) {
        let has =
            place.subresource.is_empty() || real.subresources.any(|name| name == place.subresource);
        return (place.fits(real.namespaced) && has).then_some(Route::NotModelled(what));
    }
    let mut custom = kinds.all().map(|(_, kind)| kind);
    let custom = custom.find(|kind| {
        let names = kind.group == group && kind.plural == place.plural;
        names && kind.also_served.iter().any(|other| other == version)
    })?;
    place.fits(custom.namespaced).then(|| {
        Route::NotModelled(format!(
            "{what} of {group}/{version}, which is not the stored version"
        ))
    })
}

/// Returns the parts of a path between slashes, percent-decoded; `None` if a part is not UTF-8. A slash at the path's
/// end is ignored.
fn decoded_parts(path: &str) -> Option<Vec<String>> {
    path.strip_suffix('/')
        .unwrap_or(path)
        .split('/')
        .map(|part| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn route_of(path: &str) -> String {
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
        .map(route_of)
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
    fn a_path_that_is_not_served_is_unknown() {
        for path in ["", "/nowhere", "/apis/nope/v1/widgets", "/api/v1/%ff"] {
            assert_eq!(route_of(path), "Unknown", "{path}");
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
            assert_eq!(route_of(path), "UnknownResource", "{path}");
        }
    }

    #[test]
    fn what_a_real_server_has_and_the_model_does_not_is_distinguished() {
        let shown: Vec<String> = [
            "/",
            "/metrics",
            "/openapi/v2",
            "/readyz/poststarthook/crd-informer-synced",
            "/api/v1/persistentvolumes",
            "/api/v1/namespaces/shop/persistentvolumes",
            "/api/v1/watch/namespaces/shop/limitranges",
            "/apis/batch/v1/namespaces/shop/cronjobs/a",
            "/api/v1/namespaces/shop/pods/web/log",
            "/api/v1/namespaces/shop/services/web/proxy/index.html",
            "/api/v1/namespaces/shop/pods/web/nothing",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis/apps/v1/namespaces/shop/statefulsets/db/scale",
            "/apis/apps/v1/namespaces/shop/statefulsets/db/nothing",
            "/apis/discovery.k8s.io",
            "/apis/discovery.k8s.io/v1",
            "/apis/discovery.k8s.io/v1/endpointslices",
            "/apis/discovery.k8s.io/v1/nothing",
            "/openapi/v3/apis/policy/v1",
            "/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers",
        ]
        .map(route_of)
        .into();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        NotModelled("the list of all paths")
        NotModelled("metrics")
        NotModelled("openapi/v2")
        NotModelled("that check of its health")
        NotModelled("persistentvolumes")
        UnknownResource
        NotModelled("limitranges")
        NotModelled("cronjobs")
        NotModelled("pods/log")
        NotModelled("services/proxy")
        UnknownResource
        NotModelled("selfsubjectaccessreviews")
        NotModelled("statefulsets/scale")
        UnknownResource
        NotModelled("the group discovery.k8s.io")
        NotModelled("the group discovery.k8s.io/v1")
        NotModelled("endpointslices")
        UnknownResource
        NotModelled("the group policy/v1")
        NotModelled("horizontalpodautoscalers")
        "#);
    }

    #[test]
    fn versions_of_a_definition_that_are_not_stored_are_not_modelled_until_it_is_gone() {
        let version =
            |name: &str, stored: bool| json!({"name": name, "served": true, "storage": stored});
        let mut kinds = Kinds::built_in();
        let definition = json!({"spec": {
            "group": "shop.example.com", "scope": "Namespaced",
            "names": {"plural": "orders", "kind": "Order"},
            "versions": [version("v1alpha1", false), version("v1", true)],
        }});
        let orders = kinds.add_custom(&definition).unwrap();
        let route_of = |kinds: &Kinds, rest: &str| {
            Route::parse(&format!("/apis/shop.example.com/{rest}"), kinds)
        };
        let other = "v1alpha1/namespaces/shop/orders/a";
        assert_eq!(
            route_of(&kinds, other),
            Route::NotModelled(
                "orders of shop.example.com/v1alpha1, which is not the stored version".to_owned()
            )
        );
        assert!(matches!(
            route_of(&kinds, "v1alpha1"),
            Route::NotModelled(_)
        ));
        assert!(matches!(route_of(&kinds, "v1/orders"), Route::Resource(_)));
        assert_eq!(route_of(&kinds, "v2/orders"), Route::UnknownResource);
        kinds.stop_serving(orders);
        assert_eq!(route_of(&kinds, other), Route::Unknown);
    }
}
