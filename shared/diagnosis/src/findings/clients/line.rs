//! Parses a client's request `GET PATH?QUERY`.

use watchscope_model::options::{ListOptions, read_get};

/// A client's request, parsed.
pub(super) struct RequestLine<'a> {
    pub(super) path: &'a str,
    pub(super) options: ListOptions<'a>,
}

impl<'a> RequestLine<'a> {
    /// Parses `GET PATH?QUERY`; returns `None` for anything else.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (path, options) = read_get(text)?;
        Some(Self { path, options })
    }

    /// Returns path and selectors of the request as one text.
    pub(super) fn scope(&self) -> String {
        let selectors = ListOptions {
            label_selector: self.options.label_selector.clone(),
            field_selector: self.options.field_selector.clone(),
            ..ListOptions::default()
        };
        let query = selectors.query();
        let joint = if query.is_empty() { "" } else { "?" };
        format!("{}{joint}{query}", self.path)
    }

    /// Returns the resource as a client's report names it: `configmaps`, `deployments.apps`.
    pub(super) fn resource(&self) -> String {
        let mut parts = self.path.trim_matches('/').split('/');
        let group = match parts.next() {
            Some("apis") => parts.next().unwrap_or(""),
            _ => "",
        };
        let plural = self.path.rsplit('/').next().unwrap_or("");
        if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{group}")
        }
    }
}

/// Returns the resource and key of the object at a path of the API; `None` for a path of no single object.
pub(super) fn read_path(path: &str) -> Option<(String, String)> {
    let mut parts = path.trim_matches('/').split('/');
    let group = match parts.next()? {
        "apis" => parts.next()?,
        _ => "",
    };
    let rest: Vec<&str> = parts.skip(1).collect();
    let (plural, key) = match rest.as_slice() {
        [plural, name] => (*plural, (*name).to_owned()),
        ["namespaces", namespace, plural, name] => (*plural, format!("{namespace}/{name}")),
        _ => return None,
    };
    let resource = if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    };
    Some((resource, key))
}
