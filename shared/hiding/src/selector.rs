//! Rewrites selectors word by word.

use crate::part::HiddenPart;

/// Rewrites the words of a label selector: `app=cart,tier in (web,db),!canary`. Operators, and keys with a prefix of
/// Kubernetes itself, stay.
pub(crate) fn labels(selector: &str, mut word: impl FnMut(&str, &mut String)) -> String {
    let mut out = String::with_capacity(selector.len());
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let mut rest = selector;
    while !rest.is_empty() {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (found, behind) = rest.split_at(length);
        if is_operator(found, &out, behind) || is_of_kubernetes(found) {
            out.push_str(found);
        } else if !found.is_empty() {
            word(found, &mut out);
        }
        let next = behind.find(is_word).unwrap_or(behind.len());
        out.push_str(&behind[..next]);
        rest = &behind[next..];
    }
    out
}

/// Whether a word is `in` or `notin` between a key and a bracket.
fn is_operator(word: &str, before: &str, behind: &str) -> bool {
    /// The operators of a label selector that are words ("Labels and Selectors" in Kubernetes' documentation).
    const OPERATORS: [&str; 2] = ["in", "notin"];
    OPERATORS.contains(&word) && before.ends_with(' ') && behind.trim_start().starts_with('(')
}

/// Whether a key has a prefix of Kubernetes: `app.kubernetes.io/name`.
fn is_of_kubernetes(word: &str) -> bool {
    /// The domains of prefixes that Kubernetes reserves for itself ("Labels and Selectors" in its documentation).
    const DOMAINS: [&str; 2] = ["kubernetes.io", "k8s.io"];
    let Some((prefix, _)) = word.split_once('/') else {
        return false;
    };
    DOMAINS.iter().any(|domain| {
        let rest = prefix.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Rewrites the values of a field selector: `metadata.name=cart,spec.nodeName!=n1`. Keys stay. `value` gets the part
/// that a value names, or `None` if that part is not known.
pub(crate) fn fields(
    selector: &str,
    mut value: impl FnMut(Option<HiddenPart>, &str, &mut String),
) -> String {
    let mut out = String::with_capacity(selector.len());
    for (place, requirement) in requirements(selector).enumerate() {
        if place > 0 {
            out.push(',');
        }
        let Some(at) = requirement.find('=') else {
            value(None, requirement, &mut out);
            continue;
        };
        let value_at = at + 1 + usize::from(requirement[at + 1..].starts_with('='));
        let (key, text) = requirement.split_at(value_at);
        out.push_str(key);
        if !text.is_empty() {
            value(names(key.trim_end_matches(['=', '!'])), text, &mut out);
        }
    }
    out
}

/// Returns the requirements of a selector: the texts between commas that have no backslash before them.
fn requirements(selector: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    selector.split(move |c| {
        let is_end = c == ',' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })
}

/// Returns the part that the values of a field name, by the API's documentation of field selectors; `None` if they may
/// name anything.
fn names(key: &str) -> Option<HiddenPart> {
    /// The keys of field selectors ("Field Selectors" in Kubernetes' documentation) whose values name a part. Values
    /// of other keys may name anything.
    const KEYS: [(&str, HiddenPart); 7] = [
        ("metadata.name", HiddenPart::Names),
        ("metadata.namespace", HiddenPart::Namespaces),
        ("spec.nodeName", HiddenPart::Nodes),
        ("involvedObject.name", HiddenPart::Names),
        ("involvedObject.namespace", HiddenPart::Namespaces),
        ("involvedObject.uid", HiddenPart::Uids),
        ("spec.serviceAccountName", HiddenPart::Names),
    ];
    let found = KEYS.iter().find(|(known, _)| *known == key);
    found.map(|(_, part)| *part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(word: &str, out: &mut String) {
        out.push('<');
        out.push_str(word);
        out.push('>');
    }

    #[test]
    fn the_words_of_labels_are_found_and_those_of_kubernetes_stay() {
        let marks = |text| labels(text, marked);
        assert_eq!(marks("app=cart,!canary"), "<app>=<cart>,!<canary>");
        assert_eq!(marks("tier in (web, db)"), "<tier> in (<web>, <db>)");
        assert_eq!(marks("in notin (in)"), "<in> notin (<in>)");
        assert_eq!(
            marks("app.kubernetes.io/name=shop"),
            "app.kubernetes.io/name=<shop>"
        );
        assert_eq!(marks("evilkubernetes.io/name"), "<evilkubernetes.io/name>");
        assert_eq!(marks(""), "");
    }

    #[test]
    fn the_key_of_a_field_decides_what_its_value_names() {
        let marks = |text| {
            fields(text, |part, value, out| {
                marked(
                    &format!("{}:{value}", part.map_or("?", HiddenPart::words)),
                    out,
                );
            })
        };
        assert_eq!(
            marks("metadata.name=cart,spec.nodeName!=n1,status.phase==Running"),
            "metadata.name=<names:cart>,spec.nodeName!=<nodes:n1>,status.phase==<?:Running>"
        );
        assert_eq!(
            marks(r"metadata.name=a\,b,x"),
            r"metadata.name=<names:a\,b>,<?:x>"
        );
    }
}
