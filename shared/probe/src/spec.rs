//! What to watch and how: the specification of a watch, a probe's settings, and the requests made of them.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use watchscope_model::event::WatchStarted;
use watchscope_model::options::{ListOptions, VersionMatch};
use watchscope_model::request::{
    ACCEPT_METADATA, ACCEPT_METADATA_LIST, ACCEPT_WHOLE, collection_path,
};
use watchscope_model::{ResourceVersion, Text, WatchName};

use crate::port::{Get, Served};

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSpec {
    /// The name of the watch in the log.
    pub name: WatchName,
    /// API group; empty for core.
    pub group: Text,
    /// Resource, plural.
    pub resource: Text,
    /// API version and kind; absent until discovery has found the resource.
    pub served: Option<Served>,
    /// Namespace; absent for all namespaces and for cluster-scoped resources.
    pub namespace: Option<Text>,
    /// Label selector.
    pub label_selector: Option<Text>,
    /// Field selector.
    pub field_selector: Option<Text>,
    /// The address of the apiserver it is pinned to, if it is.
    pub server: Option<Text>,
}

/// How to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeConfig {
    /// Ask for metadata only (`PartialObjectMetadata`).
    pub metadata_only: bool,
    /// Ask for initial events by watch-list (KEP-3157) instead of a paged list.
    pub watch_list: bool,
    /// `timeoutSeconds` of a watch is drawn from this range; client-go draws from 300 to 600.
    pub watch_timeout_s: RangeInclusive<u32>,
    /// `limit` of a list page.
    pub page_size: u32,
    /// Longest line of a stream that is decoded; a longer one is discarded and counted. etcd's limit on an object is
    /// 1.5 MiB by default.
    pub line_limit: usize,
    /// Longest list page that is decoded; a longer one is given up, and the list begun again with smaller pages.
    pub page_limit: usize,
    /// Replace the values of ConfigMaps too.
    pub redact_configmaps: bool,
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
        }
    }
}

/// Which state a list (or a watch-list) asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness<'a> {
    /// The most recent: resourceVersion unset.
    MostRecent,
    /// At least this one (`resourceVersionMatch=NotOlderThan`).
    NotOlderThan(&'a ResourceVersion),
}

impl Freshness<'_> {
    /// Asks for it.
    fn ask(self, options: &mut ListOptions<'_>) {
        if let Self::NotOlderThan(version) = self {
            options.version = Some(version.to_string().into());
            options.version_match = Some(VersionMatch::NotOlderThan);
        }
    }
}

impl WatchSpec {
    /// The first watch of a resource (`deployments.apps`), served in v1 as this kind, without selectors; `namespace` as
    /// in [`WatchName::new`].
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

    /// Whether another apiserver serves it.
    pub(crate) fn is_aggregated(&self) -> bool {
        self.served
            .as_ref()
            .is_some_and(|served| served.is_aggregated)
    }

    /// The event that opens the watch.
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

    /// The collection's path in an API version.
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

    /// Options with the selectors, and nothing else.
    fn options(&self) -> ListOptions<'_> {
        ListOptions {
            label_selector: self.label_selector.as_deref().map(Cow::Borrowed),
            field_selector: self.field_selector.as_deref().map(Cow::Borrowed),
            ..ListOptions::default()
        }
    }

    /// A page of a list; with a continue token the server allows no other constraint.
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
            // A GET always has a query, so that a driver has one way to build its target; this one says nothing.
            query.push_str("limit=0");
        }
        Get {
            path: self.path(version),
            query,
            accept: accept(config, Shape::List),
        }
    }

    /// A watch from a resourceVersion, or from "any state" if there is none.
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

    /// A watch that begins with the state as ADDED events and a bookmark after them (KEP-3157).
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
        // A stream with initial events has to say how it stands to a version, also where it asks for none.
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

/// Whole objects that come where metadata was asked for are decoded and redacted all the same.
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
    fn requests_are_spelt_as_the_server_reads_them() {
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
