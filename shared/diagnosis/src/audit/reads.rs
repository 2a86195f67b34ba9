//! The requests of the audit: the URL of each, and what each can reveal (docs/semantics/checks.md#reads).

use std::borrow::Cow;

use watchscope_model::event::RequestSent;
use watchscope_model::options::{ListOptions, VersionMatch};
use watchscope_model::request::percent_encode;
use watchscope_model::vocabulary::Verb;
use watchscope_model::{Object, ResourceVersion, Text};

use crate::versions::ServerVersion;

/// The `limit` of a page of a list, in objects: that of client-go (docs/semantics/clients.md#reflector-list). A longer
/// list has several pages.
pub const PAGE: usize = 500;

/// Returns whether etcd answers a list at an exact version. Since 1.34 snapshots of the watch cache may answer such a
/// list.
pub(super) fn exact_lists_are_etcds(server: ServerVersion) -> bool {
    server.is_some_and(|(minor, _)| minor < 34)
}

/// Returns whether etcd answers a list without a resourceVersion. Since 1.31 the watch cache answers such a list, once
/// the cache is fresh.
pub(super) fn newest_lists_are_etcds(server: ServerVersion) -> bool {
    server.is_some_and(|(minor, _)| minor < 31)
}

/// Returns whether the answer to a list of one name at an exact version names the newest version instead. Servers of
/// 1.19 to 1.23 do this (docs/semantics/lists-and-watches.md#exact-one-name): they take the version from the header of
/// etcd's answer. These servers refuse such a list with 500 if the exact version is compacted. All servers that may
/// answer must be of these versions: before 1.19 such a list shows the newest state.
pub(super) fn one_name_says_newest(oldest: ServerVersion, newest: ServerVersion) -> bool {
    let is_19_to_23 =
        |server: ServerVersion| server.is_some_and(|(minor, _)| (19..24).contains(&minor));
    is_19_to_23(oldest) && is_19_to_23(newest)
}

/// Returns whether the server knows `resourceVersionMatch` (1.19). In earlier versions, a `limit` makes a list show
/// exactly the state at its resourceVersion.
fn knows_match(server: ServerVersion) -> bool {
    server.is_none_or(|(minor, _)| minor >= 19)
}

/// The scope of a watch: path and selectors. The audit reads the same scope, because to compare different scopes is an
/// error (F42).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// The collection's path.
    path: Text,
    label_selector: Option<String>,
    field_selector: Option<String>,
}

impl Scope {
    /// Returns the scope of a list or watch request; `None` for other requests.
    pub(super) fn of(sent: &RequestSent) -> Option<Self> {
        if !matches!(sent.verb(), Verb::List | Verb::Watch) {
            return None;
        }
        let options = sent.options();
        Some(Self {
            path: sent.path.clone(),
            label_selector: options.label_selector.map(Cow::into_owned),
            field_selector: options.field_selector.map(Cow::into_owned),
        })
    }

    /// Returns whether the scope covers all objects of its collection.
    pub(super) fn is_all(&self) -> bool {
        self.label_selector.is_none() && self.field_selector.is_none()
    }

    /// Returns whether the scope covers one object name only.
    pub(super) fn is_one_name(&self) -> bool {
        let fields = self.field_selector.as_deref();
        fields.is_some_and(|fields| fields.contains("metadata.name="))
    }

    /// Returns path and query of a list at exactly a resourceVersion; `token` continues an earlier page.
    pub(super) fn exact(
        &self,
        server: ServerVersion,
        at: &ResourceVersion,
        token: Option<&str>,
    ) -> (String, String) {
        let options = ListOptions {
            limit: Some(PAGE as u64),
            ..self.options()
        };
        let options = match token {
            Some(token) => ListOptions {
                continues: Some(token.into()),
                ..options
            },
            None => ListOptions {
                version: Some(at.to_string().into()),
                version_match: knows_match(server).then_some(VersionMatch::Exact),
                ..options
            },
        };
        (self.path.to_string(), options.query())
    }

    /// Returns path and query of the first page of the newest list.
    pub(super) fn newest(&self) -> (String, String) {
        let options = ListOptions {
            limit: Some(PAGE as u64),
            ..self.options()
        };
        (self.path.to_string(), options.query())
    }

    /// Returns path and query of a second watch, with all events since a resourceVersion.
    pub(super) fn since(&self, at: &ResourceVersion) -> (String, String) {
        let options = ListOptions {
            watch: true,
            bookmarks: true,
            timeout_s: Some(1),
            version: Some(at.to_string().into()),
            ..self.options()
        };
        (self.path.to_string(), options.query())
    }

    /// Returns path and query of a list that shows the version that the server's watch cache has reached. The list asks
    /// for a name that no object has, so it has no items.
    pub(super) fn any(&self) -> (String, String) {
        let options = ListOptions {
            version: Some("0".into()),
            field_selector: Some("metadata.name=watchscope-asks-how-far-you-are".into()),
            ..ListOptions::default()
        };
        (self.path.to_string(), options.query())
    }

    /// Returns the path of a GET of one object, which reads the object's newest state from etcd.
    pub(super) fn get(&self, object: &Object) -> String {
        let mut path = self.path_of(object);
        path.push('/');
        percent_encode(&object.name, &mut path);
        path
    }

    /// Returns path and query of a list of one object at exactly a resourceVersion. In all versions etcd answers such a
    /// list, because the watch cache does not answer lists of one name.
    pub(super) fn one(
        &self,
        server: ServerVersion,
        at: &ResourceVersion,
        object: &Object,
    ) -> (String, String) {
        let name = name_selector(object);
        let fields = match &self.field_selector {
            Some(fields) => format!("{fields},{name}"),
            None => name,
        };
        let options = ListOptions {
            field_selector: Some(fields.into()),
            ..exactly(server, at)
        };
        let options = ListOptions {
            label_selector: self.options().label_selector,
            ..options
        };
        (self.path_of(object), options.query())
    }

    /// Like `one`, but the list also has the object if the scope's selectors do not match it.
    pub(super) fn named(
        &self,
        server: ServerVersion,
        at: &ResourceVersion,
        object: &Object,
    ) -> (String, String) {
        let options = ListOptions {
            field_selector: Some(name_selector(object).into()),
            ..exactly(server, at)
        };
        (self.path_of(object), options.query())
    }

    /// Returns the path of an object's collection: that in its namespace, even if the watch is of all namespaces.
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

    /// Returns list options with the scope's selectors and nothing else.
    fn options(&self) -> ListOptions<'_> {
        ListOptions {
            label_selector: self.label_selector.as_deref().map(Cow::Borrowed),
            field_selector: self.field_selector.as_deref().map(Cow::Borrowed),
            ..ListOptions::default()
        }
    }
}

/// Returns the options of a list of one object at exactly a version.
fn exactly(server: ServerVersion, at: &ResourceVersion) -> ListOptions<'static> {
    let knows_match = knows_match(server);
    ListOptions {
        version: Some(at.to_string().into()),
        version_match: knows_match.then_some(VersionMatch::Exact),
        limit: (!knows_match).then_some(1),
        ..ListOptions::default()
    }
}

/// Returns the field selector of an object's name.
fn name_selector(object: &Object) -> String {
    let mut selector = "metadata.name=".to_owned();
    // Names of roles may contain characters that a field selector gives a meaning.
    for c in object.name.chars() {
        if matches!(c, '\\' | ',' | '=') {
            selector.push('\\');
        }
        selector.push(c);
    }
    selector
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
    fn reads_have_the_scope_of_their_watch() {
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
        let lines = [
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
        insta::assert_snapshot!(lines.join("\n"), @r"
        /api/v1/pods?limit=500&resourceVersion=603&resourceVersionMatch=Exact&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/pods?limit=500&resourceVersion=603&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/pods?limit=500&continue=a%3D%3D&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/pods?limit=500&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1
        /api/v1/namespaces/shop/pods/a%3Ab
        /api/v1/namespaces/shop/pods?resourceVersion=603&resourceVersionMatch=Exact&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1%2Cmetadata.name%3Da%3Ab
        /api/v1/namespaces/shop/pods?limit=1&resourceVersion=603&labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1%2Cmetadata.name%3Da%3Ab
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
        let lines = [
            Some((14, 0)),
            Some((30, 9)),
            Some((31, 0)),
            Some((33, 0)),
            Some((34, 0)),
            None,
        ]
        .map(reveals);
        let (both, exact, neither) = ((true, true), (false, true), (false, false));
        assert_eq!(lines, [both, both, exact, exact, neither, neither]);
    }
}
