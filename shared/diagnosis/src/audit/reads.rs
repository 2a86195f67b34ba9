//! What is asked, how it is spelt, and what each read can reveal (semantics 4.3).

use std::fmt::Write as _;

use watchscope_model::event::RequestSent;
use watchscope_model::request::percent_encode;
use watchscope_model::{Object, ResourceVersion, Text};

/// `limit` of a page.
pub const PAGE: usize = 500;

/// Minor and patch of a server's version, 1.x; `None` if it is not known. What is not known is taken for the newest: it
/// has the most caches.
pub(super) type Server = Option<(u64, u64)>;

/// Whether a list at an exact version is etcd's: since 1.34 snapshots of the watch cache serve it.
pub(super) fn exact_lists_are_etcds(server: Server) -> bool {
    server.is_some_and(|(minor, _)| minor < 34)
}

/// Whether a list without a resourceVersion is etcd's: since 1.31 the watch cache serves it, once it is fresh.
pub(super) fn newest_lists_are_etcds(server: Server) -> bool {
    server.is_some_and(|(minor, _)| minor < 31)
}

/// Whether a list of one name at an exact version is of it though it says the newest, and is refused with 500 where that
/// version is compacted: so do 1.19 to 1.23, which put the header of etcd's answer into it. That has to be so of all that
/// may answer: before 1.19 such a list is of the newest version.
pub(super) fn one_name_says_newest(oldest: Server, newest: Server) -> bool {
    let is_19_to_23 = |server: Server| server.is_some_and(|(minor, _)| (19..24).contains(&minor));
    is_19_to_23(oldest) && is_19_to_23(newest)
}

/// Whether `resourceVersionMatch` is known (1.19). Before, a limit makes a list be of exactly its version.
fn knows_match(server: Server) -> bool {
    server.is_none_or(|(minor, _)| minor >= 19)
}

/// Where and of what a watch reads: exactly as it does itself, so that no scopes are compared that differ (F42).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// The collection's path.
    path: Text,
    /// `labelSelector=…` and `fieldSelector=…`, percent-encoded.
    labels: Option<String>,
    fields: Option<String>,
}

impl Scope {
    /// The scope of a list or watch.
    pub(super) fn of(sent: &RequestSent) -> Option<Self> {
        if !matches!(&*sent.verb, "list" | "watch") {
            return None;
        }
        let query = sent.query.as_deref().unwrap_or("");
        let parameter = |name: &str| {
            let is = |pair: &&str| pair.split_once('=').is_some_and(|(key, _)| key == name);
            query.split('&').find(is).map(str::to_owned)
        };
        Some(Self {
            path: sent.path.clone(),
            labels: parameter("labelSelector"),
            fields: parameter("fieldSelector"),
        })
    }

    /// Whether all objects of the collection are in it.
    pub(super) fn is_all(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    /// Whether only one name is in it.
    pub(super) fn is_one_name(&self) -> bool {
        let fields = self.fields.as_deref();
        fields.is_some_and(|fields| fields.contains("metadata.name%3D"))
    }

    /// A list at exactly a version.
    pub(super) fn exact(
        &self,
        server: Server,
        at: &ResourceVersion,
        token: Option<&str>,
    ) -> (String, String) {
        let mut query = format!("limit={PAGE}");
        match token {
            Some(token) => {
                query.push_str("&continue=");
                percent_encode(token, &mut query);
            }
            None => {
                query.push_str("&resourceVersion=");
                percent_encode(&at.to_string(), &mut query);
                if knows_match(server) {
                    query.push_str("&resourceVersionMatch=Exact");
                }
            }
        }
        self.select(&mut query);
        (self.path.to_string(), query)
    }

    /// The first page of what is there now.
    pub(super) fn newest(&self) -> (String, String) {
        let mut query = format!("limit={PAGE}");
        self.select(&mut query);
        (self.path.to_string(), query)
    }

    /// All events since a version, from the start of a second watch.
    pub(super) fn since(&self, at: &ResourceVersion) -> (String, String) {
        let mut query =
            "watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=".to_owned();
        percent_encode(&at.to_string(), &mut query);
        self.select(&mut query);
        (self.path.to_string(), query)
    }

    /// How far the server's cache is: nothing has this name, so nothing is listed.
    pub(super) fn any(&self) -> (String, String) {
        let query =
            "resourceVersion=0&fieldSelector=metadata.name%3Dwatchscope-asks-how-far-you-are";
        (self.path.to_string(), query.to_owned())
    }

    /// One object, as it is in etcd now.
    pub(super) fn get(&self, object: &Object) -> String {
        let mut path = self.path_of(object);
        path.push('/');
        percent_encode(&object.name, &mut path);
        path
    }

    /// One object at exactly a version: a list of one name is no list to the watch cache, so it is etcd's in all
    /// versions.
    pub(super) fn one(
        &self,
        server: Server,
        at: &ResourceVersion,
        object: &Object,
    ) -> (String, String) {
        let mut query = exactly(server, at);
        if let Some(labels) = &self.labels {
            // Writing to a String does not fail.
            let _ = write!(query, "&{labels}");
        }
        match &self.fields {
            Some(fields) => {
                let _ = write!(query, "&{fields}%2C");
            }
            None => query.push_str("&fieldSelector="),
        }
        (self.path_of(object), name(object, query))
    }

    /// The same whether the selectors match it or not: whether it was there at all.
    pub(super) fn named(
        &self,
        server: Server,
        at: &ResourceVersion,
        object: &Object,
    ) -> (String, String) {
        let query = exactly(server, at) + "&fieldSelector=";
        (self.path_of(object), name(object, query))
    }

    /// The path of the collection that an object is in: that of its namespace, also where all are watched.
    fn path_of(&self, object: &Object) -> String {
        let path = &*self.path;
        let (before, resource) = path.rsplit_once('/').unwrap_or(("", path));
        match &object.namespace {
            Some(namespace) if !path.contains("/namespaces/") => {
                let mut path = format!("{before}/namespaces/");
                percent_encode(namespace, &mut path);
                path.push('/');
                path.push_str(resource);
                path
            }
            _ => path.to_owned(),
        }
    }

    fn select(&self, query: &mut String) {
        for selector in [&self.labels, &self.fields].into_iter().flatten() {
            let _ = write!(query, "&{selector}");
        }
    }
}

/// The query of one object at exactly a version, up to its name.
fn exactly(server: Server, at: &ResourceVersion) -> String {
    let mut query = "resourceVersion=".to_owned();
    percent_encode(&at.to_string(), &mut query);
    query.push_str(if knows_match(server) {
        "&resourceVersionMatch=Exact"
    } else {
        "&limit=1"
    });
    query
}

/// A query whose field selector ends with an object's name.
fn name(object: &Object, mut query: String) -> String {
    query.push_str("metadata.name%3D");
    // Names of roles may have what a field selector has a meaning for.
    let mut name = String::with_capacity(object.name.len());
    for c in object.name.chars() {
        if matches!(c, '\\' | ',' | '=') {
            name.push('\\');
        }
        name.push(c);
    }
    percent_encode(&name, &mut query);
    query
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchscope_model::{ConnectionId, RequestId, Uid};

    fn scope(path: &str, query: &str) -> Scope {
        let sent = RequestSent {
            watch: "*/pods".into(),
            request: RequestId(1),
            connection: ConnectionId(1),
            verb: "watch".into(),
            path: path.into(),
            query: Some(query.into()),
        };
        Scope::of(&sent).unwrap()
    }

    #[test]
    fn reads_are_of_the_very_scope_that_is_watched() {
        let query = "watch=true&timeoutSeconds=300&resourceVersion=603&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1";
        let scope = scope("/api/v1/pods", query);
        let object = Object {
            namespace: Some("shop".into()),
            name: "a:b".into(),
            uid: Uid::parse("u"),
        };
        let of_odd_name = Object {
            name: r"a,b=c\d".into(),
            ..object.clone()
        };
        let line = |(path, query): (String, String)| format!("{path}?{query}");
        let told = [
            line(scope.exact(Some((30, 0)), &603.into(), None)),
            line(scope.exact(Some((18, 0)), &603.into(), None)),
            line(scope.exact(None, &603.into(), Some("a=="))),
            line(scope.newest()),
            scope.get(&object),
            line(scope.one(Some((30, 0)), &603.into(), &object)),
            line(scope.one(Some((18, 0)), &603.into(), &object)),
            line(scope.named(Some((30, 0)), &603.into(), &object)),
            line(scope.named(Some((30, 0)), &603.into(), &of_odd_name)),
        ];
        insta::assert_snapshot!(told.join("\n"), @r"
        /api/v1/pods?limit=500&resourceVersion=603&resourceVersionMatch=Exact&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/pods?limit=500&resourceVersion=603&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/pods?limit=500&continue=a%3D%3D&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/pods?limit=500&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/namespaces/shop/pods/a%3Ab
        /api/v1/namespaces/shop/pods?resourceVersion=603&resourceVersionMatch=Exact&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1%2Cmetadata.name%3Da%3Ab
        /api/v1/namespaces/shop/pods?resourceVersion=603&limit=1&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1%2Cmetadata.name%3Da%3Ab
        /api/v1/namespaces/shop/pods?resourceVersion=603&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da%3Ab
        /api/v1/namespaces/shop/pods?resourceVersion=603&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da%5C%2Cb%5C%3Dc%5C%5Cd
        ");
    }

    #[test]
    fn what_a_read_reveals_depends_on_the_version() {
        let reveals = |server| {
            (
                newest_lists_are_etcds(server),
                exact_lists_are_etcds(server),
            )
        };
        let told = [
            Some((14, 0)),
            Some((30, 9)),
            Some((31, 0)),
            Some((33, 0)),
            Some((34, 0)),
            None,
        ]
        .map(reveals);
        let (both, exact, neither) = ((true, true), (false, true), (false, false));
        assert_eq!(told, [both, both, exact, exact, neither, neither]);
    }
}
