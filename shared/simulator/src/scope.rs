//! The objects that a client lists or watches: a resource, a namespace, selectors.

use watchscope_model::tree;

use crate::message::Request;

/// A collection of the Kubernetes API, or the part of a collection that selectors match. The fields are not checked and
/// not percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// API group; empty for the core group.
    pub group: String,
    /// Version of the API group, such as `v1`.
    pub version: String,
    /// Resource, in the plural: `pods`.
    pub resource: String,
    /// Kind of the resource's objects: `Pod`.
    pub kind: String,
    /// Namespace; empty for all namespaces, and for a resource without namespaces.
    pub namespace: String,
    /// Label selector, as Kubernetes writes it (`app in (a,b)`); empty for no selector.
    pub label_selector: String,
    /// Field selector, as Kubernetes writes it (`spec.nodeName=node-1`); empty for no selector.
    pub field_selector: String,
}

impl Scope {
    /// Returns the scope of a resource of `api_version`, such as `v1` (the core group) or `apps/v1`: in all namespaces,
    /// without selectors.
    pub fn new(api_version: &str, resource: &str, kind: &str) -> Scope {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Scope {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            kind: kind.to_owned(),
            namespace: String::new(),
            label_selector: String::new(),
            field_selector: String::new(),
        }
    }

    /// Returns the scope limited to one namespace; an empty `namespace` means all namespaces.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Scope {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// Returns the scope with this label selector in place of its present one; an empty selector means none.
    #[must_use]
    pub fn with_labels(mut self, selector: &str) -> Scope {
        selector.clone_into(&mut self.label_selector);
        self
    }

    /// Returns the scope with this field selector in place of its present one; an empty selector means none.
    #[must_use]
    pub fn with_fields(mut self, selector: &str) -> Scope {
        selector.clone_into(&mut self.field_selector);
        self
    }

    /// Returns the resource with its API group, or the resource alone in the core group: `deployments.apps`, `pods`.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    /// Returns the API group and version, or the version alone in the core group: `apps/v1`, `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns a GET of the collection with these parameters and the selectors, in the order of Go's
    /// `url.Values.Encode`. Parameters with an empty value are left out.
    pub(crate) fn get(&self, parameters: &[(&str, &str)]) -> Request {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if !self.namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(&self.namespace);
        }
        path.push('/');
        path.push_str(&self.resource);
        let mut all = parameters.to_vec();
        all.push(("fieldSelector", &self.field_selector));
        all.push(("labelSelector", &self.label_selector));
        all.retain(|(_, value)| !value.is_empty());
        tree::sort(&mut all);
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(all);
        Request {
            method: "GET".to_owned(),
            path,
            query: query.finish(),
            ..Request::default()
        }
        .header("accept", "application/json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_asked_for_as_go_asks() {
        let shop = Scope::new("apps/v1", "deployments", "Deployment")
            .in_namespace("shop")
            .with_labels("app in (a,b)");
        let request = shop.get(&[("watch", "true"), ("resourceVersion", "")]);
        assert_eq!(
            format!("{}?{}", request.path, request.query),
            "/apis/apps/v1/namespaces/shop/deployments?labelSelector=app+in+%28a%2Cb%29&watch=true"
        );
        assert_eq!(shop.qualified(), "deployments.apps");
        assert_eq!(
            Scope::new("v1", "nodes", "Node").get(&[]).path,
            "/api/v1/nodes"
        );
    }
}
