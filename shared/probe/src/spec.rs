//! The specification of a watch, the settings of a probe, and the requests made from them.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use watchscope_model::event::WatchStarted;
use watchscope_model::options::{ListOptions, VersionMatch};
use watchscope_model::request::{
    ACCEPT_METADATA, ACCEPT_METADATA_LIST, ACCEPT_WHOLE, collection_path,
};
use watchscope_model::{ResourceVersion, Text, WatchName};

use crate::port::{Get, Served};

/// The specification of a watch: which objects it shows, from which server, and its name in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSpec {
    /// The name of the watch in the log, as [`WatchName::new`] builds it. No two watches of a log share a name.
    pub name: WatchName,
    /// The API group (`apps`); empty for core.
    pub group: Text,
    /// The resource in lower case, plural, without its group: `deployments`.
    pub resource: Text,
    /// The API version and kind; `None` until discovery lists the resource.
    pub served: Option<Served>,
    /// The namespace; `None` for all namespaces and for cluster-scoped resources.
    pub namespace: Option<Text>,
    /// The label selector as Kubernetes writes it, not percent-encoded; `None` if all labels match.
    pub label_selector: Option<Text>,
    /// The field selector as Kubernetes writes it, not percent-encoded; `None` if all fields match.
    pub field_selector: Option<Text>,
    /// The address (`host:port`) of the apiserver that the watch is pinned to; `None` if it is not pinned. The driver
    /// dials this address; the probe only records it.
    pub server: Option<Text>,
}

/// The settings of a probe. The defaults are those with which watchscope watches a real cluster, unless its command
/// line says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeConfig {
    /// Whether to request metadata only (`PartialObjectMetadata`; docs/semantics/requests.md#forms). If a server sends
    /// a whole object nevertheless, it is read and redacted. Default: false, whole objects.
    pub metadata_only: bool,
    /// Whether to request initial events by watch-list (KEP-3157) instead of a paged list
    /// (docs/semantics/lists-and-watches.md#watch-list). If a server refuses the form of the request, as with 422, the
    /// probe lists from then on. It also lists if initial events have not ended 10 s after the first live event, or
    /// after the last bytes before one. The probe also lists after two watch-list streams in a row that the server or
    /// the network ended before their initial events had ended. The same holds if deferred initial events exceed
    /// `page_limit`. Default: false.
    pub watch_list: bool,
    /// The range of `timeoutSeconds` of a watch, in seconds, both ends included; the value for each request is drawn
    /// evenly. If the range's end is below its start, each value is the start. The default is client-go's 300 to 600
    /// (docs/semantics/servers.md#client-timeout).
    pub watch_timeout_s: RangeInclusive<u32>,
    /// The `limit` of a list page, in items; 0 counts as 1. The default is client-go's 500
    /// (docs/semantics/clients.md#reflector-list). A list whose page exceeded `page_limit` goes on with an eighth; one
    /// whose continue tokens expired twice goes on without a limit.
    pub page_size: u32,
    /// The longest line of a stream that is decoded, in bytes without its line feed. A longer line is discarded and
    /// counted as lost; the probe ends the stream, and reads the whole state again by list or watch-list. The default
    /// is 8 MiB, far above the 1.5 MiB of etcd's default limit on a request (`--max-request-bytes`). The number has no
    /// other source.
    pub line_limit: usize,
    /// The longest list page that is decoded, in bytes. A longer page is given up and counted as lost. The list begins
    /// again with pages of an eighth of the items, at least one. The limit also bounds the initial events that are
    /// deferred until their end bookmark; above it the probe lists from then on. The default is 256 MiB. The number has
    /// no source.
    pub page_limit: usize,
    /// Whether to redact the values of ConfigMaps, too. Values of Secrets are always redacted. Default: false.
    pub redact_configmaps: bool,
    /// Whether changes carry their object's redacted body. If false, the events are the same, and no body is copied.
    /// Default: true.
    pub with_bodies: bool,
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self {
            metadata_only: false,
            watch_list: false,
            watch_timeout_s: 300..=600,
            page_size: 500,
            line_limit: 8 << 20,
            page_limit: 256 << 20,
            redact_configmaps: false,
            with_bodies: true,
        }
    }
}

/// The state that a list (or a watch-list) requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness<'a> {
    /// The most recent state: resourceVersion is unset.
    MostRecent,
    /// A state not older than this version (`resourceVersionMatch=NotOlderThan`).
    NotOlderThan(&'a ResourceVersion),
}

impl Freshness<'_> {
    /// Adds this freshness to the options of a request.
    fn ask(self, options: &mut ListOptions<'_>) {
        if let Self::NotOlderThan(version) = self {
            options.version = Some(version.to_string().into());
            options.version_match = Some(VersionMatch::NotOlderThan);
        }
    }
}

impl WatchSpec {
    /// Returns the first watch of a resource (`pods`, `deployments.apps`), served in v1 with this kind by the cluster's
    /// own apiserver. The watch has no selectors and is not pinned. `namespace` is `*` for all namespaces and `-` for
    /// cluster-scoped resources, as in [`WatchName::new`].
    #[must_use]
    pub fn of(namespace: &str, resource: &str, kind: &str) -> Self {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        Self {
            name: WatchName::new(namespace, plural, group, None, None, 1),
            group: group.into(),
            resource: plural.into(),
            served: Some(Served {
                version: "v1".into(),
                kind: kind.into(),
                is_aggregated: false,
            }),
            namespace: (!matches!(namespace, "*" | "-")).then(|| namespace.into()),
            label_selector: None,
            field_selector: None,
            server: None,
        }
    }

    /// Whether an aggregated apiserver serves the resource.
    pub(crate) fn is_aggregated(&self) -> bool {
        self.served
            .as_ref()
            .is_some_and(|served| served.is_aggregated)
    }

    /// The event that starts the watch.
    pub(crate) fn started(&self) -> WatchStarted {
        WatchStarted {
            watch: self.name.clone(),
            group: self.group.clone(),
            version: self
                .served
                .as_ref()
                .map_or_else(|| "".into(), |served| served.version.clone()),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            server: self.server.clone(),
            aggregated: self.is_aggregated().then_some(true),
        }
    }

    /// The path of the collection in an API version.
    fn path(&self, version: &str) -> Text {
        let namespace = self.namespace.as_deref();
        collection_path(&self.group, version, namespace, &self.resource).into()
    }

    /// The options of a watch.
    fn watch_options(&self, timeout_s: u32) -> ListOptions<'_> {
        ListOptions {
            watch: true,
            bookmarks: true,
            timeout_s: Some(timeout_s.into()),
            ..self.options()
        }
    }

    /// The options with the selectors alone.
    fn options(&self) -> ListOptions<'_> {
        ListOptions {
            label_selector: self.label_selector.as_deref().map(Cow::Borrowed),
            field_selector: self.field_selector.as_deref().map(Cow::Borrowed),
            ..ListOptions::default()
        }
    }

    /// The request for a page of a list. With a continue token the server allows no other constraint.
    pub(crate) fn list(
        &self,
        config: &ProbeConfig,
        version: &str,
        limit: Option<u32>,
        freshness: Freshness<'_>,
        token: Option<&str>,
    ) -> Get {
        let mut options = ListOptions {
            limit: limit.map(u64::from),
            ..self.options()
        };
        match token {
            Some(token) => options.continues = Some(token.into()),
            None => freshness.ask(&mut options),
        }
        let mut query = options.query();
        if query.is_empty() {
            // A GET always has a query, so a driver has one way to build its target; this query has no effect.
            query.push_str("limit=0");
        }
        Get {
            path: self.path(version),
            query,
            accept: accept(config, Shape::List),
        }
    }

    /// The request for a watch from a resourceVersion, or, if `from` is `None`, from any state.
    pub(crate) fn watch(
        &self,
        config: &ProbeConfig,
        version: &str,
        from: Option<&ResourceVersion>,
        timeout_s: u32,
    ) -> Get {
        let options = ListOptions {
            version: from.map(|from| from.to_string().into()),
            ..self.watch_options(timeout_s)
        };
        Get {
            path: self.path(version),
            query: options.query(),
            accept: accept(config, Shape::Object),
        }
    }

    /// The request for a watch that begins with the whole state as ADDED events, and a bookmark after those (KEP-3157).
    pub(crate) fn watch_list(
        &self,
        config: &ProbeConfig,
        version: &str,
        freshness: Freshness<'_>,
        timeout_s: u32,
    ) -> Get {
        let mut options = ListOptions {
            initial_events: true,
            ..self.watch_options(timeout_s)
        };
        freshness.ask(&mut options);
        // A stream with initial events must state how it relates to a version, even without one.
        options.version_match = Some(VersionMatch::NotOlderThan);
        Get {
            path: self.path(version),
            query: options.query(),
            accept: accept(config, Shape::Object),
        }
    }
}

enum Shape {
    List,
    Object,
}

/// The value of the Accept header. Some servers send whole objects although metadata was requested; such objects are
/// decoded and redacted nevertheless.
fn accept(config: &ProbeConfig, shape: Shape) -> &'static str {
    match (config.metadata_only, shape) {
        (false, _) => ACCEPT_WHOLE,
        (true, Shape::Object) => ACCEPT_METADATA,
        (true, Shape::List) => ACCEPT_METADATA_LIST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn spec() -> WatchSpec {
        WatchSpec {
            name: "shop/deployments.apps?app=cart".into(),
            group: "apps".into(),
            resource: "deployments".into(),
            served: None,
            namespace: Some("shop".into()),
            label_selector: Some("app in (cart,pay)".into()),
            field_selector: None,
            server: None,
        }
    }

    fn line(get: &Get) -> String {
        format!("{}?{}", get.path, get.query)
    }

    #[test]
    fn requests_are_spelt_as_servers_read_them() {
        let (spec, config) = (spec(), ProbeConfig::default());
        let at = ResourceVersion::from(603);
        assert_snapshot!(line(&spec.list(&config, "v1", Some(500), Freshness::MostRecent, None)),
            @"/apis/apps/v1/namespaces/shop/deployments?limit=500&labelSelector=app%20in%20%28cart%2Cpay%29");
        assert_snapshot!(line(&spec.list(&config, "v1", Some(500), Freshness::NotOlderThan(&at), None)),
            @"/apis/apps/v1/namespaces/shop/deployments?limit=500&resourceVersion=603&resourceVersionMatch=NotOlderThan&labelSelector=app%20in%20%28cart%2Cpay%29");
        assert_snapshot!(line(&spec.list(&config, "v1", Some(500), Freshness::NotOlderThan(&at), Some("a=="))),
            @"/apis/apps/v1/namespaces/shop/deployments?limit=500&continue=a%3D%3D&labelSelector=app%20in%20%28cart%2Cpay%29");
        assert_snapshot!(line(&spec.watch(&config, "v1", Some(&at), 421)),
            @"/apis/apps/v1/namespaces/shop/deployments?watch=true&allowWatchBookmarks=true&timeoutSeconds=421&resourceVersion=603&labelSelector=app%20in%20%28cart%2Cpay%29");
        assert_snapshot!(line(&spec.watch_list(&config, "v1", Freshness::MostRecent, 421)),
            @"/apis/apps/v1/namespaces/shop/deployments?watch=true&allowWatchBookmarks=true&timeoutSeconds=421&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&labelSelector=app%20in%20%28cart%2Cpay%29");
    }

    #[test]
    fn core_resources_live_under_api() {
        let nodes = WatchSpec {
            name: "-/nodes".into(),
            group: "".into(),
            resource: "nodes".into(),
            namespace: None,
            label_selector: None,
            ..spec()
        };
        assert_eq!(&*nodes.path("v1"), "/api/v1/nodes");
    }
}
