//! The syntax of names, labels and label values, and the words with which apimachinery refuses invalid ones.

/// apimachinery's words for a label key whose name part is not allowed (`pkg/api/validate/content` of 1.36).
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// apimachinery's words for a name that is no DNS subdomain (in the package of [`QUALIFIED`]).
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// apimachinery's words for a name that is no DNS label (in the package of [`QUALIFIED`]).
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// apimachinery's words for a value of a label that is not allowed (in the package of [`QUALIFIED`]).
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Returns whether a text matches `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`.
fn is_qualified(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(inner)
}

/// Returns whether a text matches `[a-z0-9]([-a-z0-9]*[a-z0-9])?`.
fn is_label(text: &str) -> bool {
    let good = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(good)
        && bytes.last().is_some_and(good)
        && bytes.iter().all(|b| good(b) || *b == b'-')
}

/// Returns a resource as error messages name it: `pods`, `deployments.apps`.
pub(crate) fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

/// Lowercases ASCII letters; names of kinds and resources are ASCII. Unicode's tables would add 3 kB to a worker's
/// WebAssembly module.
pub(crate) fn lowercase(text: &str) -> String {
    text.to_ascii_lowercase()
}

/// Returns the error if a text cannot be the key of a label or annotation; `None` if it can.
pub(crate) fn label_key_error(key: &str) -> Option<String> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            return Some(format!(
                "a qualified {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                QUALIFIED.replacen("name part", "name", 1)
            ));
        }
        Some(("", _)) => return Some("prefix part must be non-empty".to_owned()),
        Some((prefix, name)) => {
            if let Some(why) = subdomain_error(prefix) {
                return Some(format!("prefix part {why}"));
            }
            name
        }
    };
    if name.is_empty() {
        Some("name part must be non-empty".to_owned())
    } else if name.len() > 63 {
        Some("name part must be no more than 63 bytes".to_owned())
    } else if !is_qualified(name) {
        Some(QUALIFIED.to_owned())
    } else {
        None
    }
}

/// Returns the error if a text cannot be the value of a label; `None` if it can.
pub(crate) fn label_value_error(value: &str) -> Option<&'static str> {
    if value.len() > 63 {
        Some("must be no more than 63 bytes")
    } else if !value.is_empty() && !is_qualified(value) {
        Some(VALUE)
    } else {
        None
    }
}

/// Returns the error if a text is not a DNS subdomain, as most names of objects are; `None` if it is.
pub(crate) fn subdomain_error(name: &str) -> Option<&'static str> {
    if name.len() > 253 {
        Some("must be no more than 253 bytes")
    } else if !name.split('.').all(is_label) {
        Some(SUBDOMAIN)
    } else {
        None
    }
}

/// Returns the error if a text is not a DNS label, as names of namespaces are; `None` if it is.
pub(crate) fn label_error(name: &str) -> Option<&'static str> {
    if name.contains('.') {
        Some("must not contain dots")
    } else if name.len() > 63 {
        Some("must be no more than 63 bytes")
    } else if !is_label(name) {
        Some(LABEL)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_names() {
        for good in ["a", "web-1", "orders.shop.example.com", "0"] {
            assert_eq!(subdomain_error(good), None, "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", &"a".repeat(254)] {
            assert!(subdomain_error(bad).is_some(), "{bad}");
        }
        assert!(label_error("a.b").is_some() && label_error("Bad").is_some());
    }

    #[test]
    fn label_keys_may_have_a_prefix() {
        for good in ["a", "app.kubernetes.io/name", "A_b.c"] {
            assert_eq!(label_key_error(good), None, "{good}");
        }
        for bad in ["", "/a", "a/", "A/a", "a/b/c", "-a", &"a".repeat(64)] {
            assert!(label_key_error(bad).is_some(), "{bad}");
        }
        assert_eq!(label_value_error(""), None);
        assert!(label_value_error("-b").is_some());
    }
}
