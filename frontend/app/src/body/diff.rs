//! The differences between two versions of an object, by path.

use super::json::{Json, lines, parse};
use watchscope_model::tree;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path of the value: `spec.containers[0].image`.
    pub path: String,
    /// The value before; `None` if there was none.
    pub before: Option<String>,
    /// The value now; `None` if there is none.
    pub after: Option<String>,
    /// Whether every write changes it (`resourceVersion`, `managedFields`): shown last and dimmed.
    pub bookkeeping: bool,
}

/// The most differences that are listed; further ones are only counted.
pub const MAX_DIFFERENCES: usize = 500;

/// Returns the differences between two bodies, in the order of the later one, then the removed values; bookkeeping
/// comes last. `None` if a body is not JSON.
#[must_use]
pub fn differences(before: &str, after: &str) -> Option<Vec<Difference>> {
    let (before, after) = (parse(before)?, parse(after)?);
    let mut found = Vec::new();
    compare(&before, &after, String::new(), &mut found);
    found.retain(|difference| !is_of_a_list(difference));
    tree::sort_by_key(&mut found, |difference| difference.bookkeeping);
    Some(found)
}

/// Whether the difference comes from a list: items of a list lack `kind` and `apiVersion`, which stand in the list.
fn is_of_a_list(difference: &Difference) -> bool {
    matches!(difference.path.as_str(), "kind" | "apiVersion")
        && (difference.before.is_none() || difference.after.is_none())
}

fn compare(before: &Json<'_>, after: &Json<'_>, path: String, found: &mut Vec<Difference>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Json::Object(was), Json::Object(is)) => {
            for (key, member) in is {
                let path = join(&path, key);
                match value_of(was, key) {
                    Some(earlier) => compare(earlier, member, path, found),
                    None => found.push(difference(path, None, Some(member))),
                }
            }
            for (key, member) in was {
                if value_of(is, key).is_none() {
                    found.push(difference(join(&path, key), Some(member), None));
                }
            }
        }
        (Json::Array(was), Json::Array(is)) if !path.ends_with("managedFields") => {
            compare_lists(was, is, &path, found);
        }
        _ => found.push(difference(path, Some(before), Some(after))),
    }
}

/// Compares two lists. Items with a `name`, `type` or `uid` are matched by it, as Kubernetes merges them; others by
/// their place.
fn compare_lists(was: &[Json<'_>], is: &[Json<'_>], path: &str, found: &mut Vec<Difference>) {
    let key = ["\"name\"", "\"type\"", "\"uid\""].into_iter().find(|key| {
        let keyed = |items: &[Json<'_>]| {
            let mut ids: Vec<_> = items.iter().filter_map(|item| scalar(item, key)).collect();
            let all = ids.len() == items.len();
            tree::sort(&mut ids);
            ids.dedup();
            all && ids.len() == items.len()
        };
        keyed(was) && keyed(is)
    });
    let Some(key) = key else {
        for place in 0..was.len().max(is.len()) {
            let path = format!("{path}[{place}]");
            match (was.get(place), is.get(place)) {
                (Some(before), Some(after)) => compare(before, after, path, found),
                (before, after) => found.push(difference(path, before, after)),
            }
        }
        return;
    };
    let item_path = |item: &Json<'_>| {
        let id = scalar(item, key).unwrap_or_default();
        format!("{path}[{}={}]", key.trim_matches('"'), id.trim_matches('"'))
    };
    let same = |items: &[Json<'_>], item: &Json<'_>| {
        items
            .iter()
            .position(|other| scalar(other, key) == scalar(item, key))
    };
    for item in is {
        match same(was, item) {
            Some(place) => compare(&was[place], item, item_path(item), found),
            None => found.push(difference(item_path(item), None, Some(item))),
        }
    }
    for item in was {
        if same(is, item).is_none() {
            found.push(difference(item_path(item), Some(item), None));
        }
    }
}

fn value_of<'a, 'j>(members: &'a [(&str, Json<'j>)], key: &str) -> Option<&'a Json<'j>> {
    members
        .iter()
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value)
}

fn scalar<'j>(item: &Json<'j>, key: &str) -> Option<&'j str> {
    match item {
        Json::Object(members) => match value_of(members, key)? {
            Json::Scalar(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn join(path: &str, key: &str) -> String {
    let name = key.trim_matches('"');
    let plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    match (plain, path.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{key}]"),
    }
}

fn difference(path: String, before: Option<&Json<'_>>, after: Option<&Json<'_>>) -> Difference {
    let bookkeeping =
        path == "metadata.resourceVersion" || path.starts_with("metadata.managedFields");
    let text = |value: &Json<'_>| {
        lines(value)
            .iter()
            .map(|line| line.trim_start())
            .collect::<Vec<_>>()
            .join(" ")
    };
    Difference {
        path,
        before: before.map(text),
        after: after.map(text),
        bookkeeping,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences_text(before: &str, after: &str) -> String {
        differences(before, after)
            .unwrap()
            .iter()
            .map(|difference| {
                let or = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".into());
                format!(
                    "{}: {} → {}",
                    difference.path,
                    or(&difference.before),
                    or(&difference.after)
                )
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn changes_additions_and_removals_have_paths_and_bookkeeping_comes_last() {
        let before = r#"{"metadata":{"resourceVersion":"1","labels":{"app.kubernetes.io/name":"a"}},"spec":{"replicas":1,"paused":true}}"#;
        let after = r#"{"metadata":{"resourceVersion":"2","labels":{"app.kubernetes.io/name":"b"}},"spec":{"replicas":2,"strategy":{"type":"Recreate"}}}"#;
        insta::assert_snapshot!(differences_text(before, after), @r#"
        metadata.labels["app.kubernetes.io/name"]: "a" → "b"
        spec.replicas: 1 → 2
        spec.strategy: nothing → { "type": "Recreate" }
        spec.paused: true → nothing
        metadata.resourceVersion: "1" → "2"
        "#);
    }

    #[test]
    fn objects_of_a_list_and_of_a_watch_do_not_differ_by_kind() {
        let (listed, watched) = (r#"{"a":1}"#, r#"{"kind":"Pod","apiVersion":"v1","a":2}"#);
        assert_eq!(differences_text(listed, watched), "a: 1 → 2");
        assert_eq!(differences_text(watched, listed), "a: 2 → 1");
        let other = r#"{"kind":"Job","apiVersion":"v1","a":2}"#;
        assert_eq!(differences_text(watched, other), r#"kind: "Pod" → "Job""#);
    }

    #[test]
    fn list_items_are_matched_by_name_or_type_and_else_by_place() {
        let before = r#"{"conditions":[{"type":"Ready","status":"False"},{"type":"Old","status":"True"}],"args":["a","b"]}"#;
        let after = r#"{"conditions":[{"type":"Scheduled","status":"True"},{"type":"Ready","status":"True"}],"args":["a","c","d"]}"#;
        insta::assert_snapshot!(differences_text(before, after), @r#"
        conditions[type=Scheduled]: nothing → { "type": "Scheduled", "status": "True" }
        conditions[type=Ready].status: "False" → "True"
        conditions[type=Old]: { "type": "Old", "status": "True" } → nothing
        args[1]: "b" → "c"
        args[2]: nothing → "d"
        "#);
    }

    #[test]
    fn equal_bodies_have_no_difference_and_a_text_that_is_no_json_has_no_comparison() {
        assert_eq!(differences("{\"a\": 1}", "{\"a\":1}"), Some(Vec::new()));
        assert_eq!(differences("{", "{}"), None);
    }
}
