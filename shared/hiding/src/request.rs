//! Splits the paths of requests into segments.

use crate::part::HiddenPart;

/// The kind of a path segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// A word of the API, an API version, a resource or a subresource, which stays.
    Fixed,
    /// An API group.
    Group,
    /// A name that belongs to this part.
    Names(HiddenPart),
    /// A segment of the server's address, before the start of the API's path.
    Address,
}

/// Returns the part that the names of a resource's objects belong to: those of `nodes` name nodes, those of
/// `namespaces` namespaces.
pub(crate) fn named_by(resource: &str) -> HiddenPart {
    match resource {
        "namespaces" => HiddenPart::Namespaces,
        "nodes" => HiddenPart::Nodes,
        _ => HiddenPart::Names,
    }
}

/// Calls `each` with every segment of a path and its kind, in order.
pub(crate) fn segments<'a>(path: &'a str, mut each: impl FnMut(Segment, &'a str)) {
    let all: Vec<&str> = path.split('/').collect();
    let root = all.iter().position(|word| matches!(*word, "api" | "apis"));
    let Some(root) = root else {
        // The path is not one of the API, so nothing is known of its segments.
        return all.iter().for_each(|word| each(Segment::Address, word));
    };
    let (before, api) = all.split_at(root);
    before.iter().for_each(|word| each(Segment::Address, word));
    // `api/VERSION`, `apis/GROUP/VERSION`.
    let has_group = api[0] == "apis";
    let (head, rest) = api.split_at(api.len().min(2 + usize::from(has_group)));
    for (place, word) in head.iter().enumerate() {
        let is_group = has_group && place == 1;
        each(
            if is_group {
                Segment::Group
            } else {
                Segment::Fixed
            },
            word,
        );
    }
    let scoped = match rest {
        ["namespaces", namespace, _, ..] => {
            each(Segment::Fixed, rest[0]);
            each(Segment::Names(HiddenPart::Namespaces), namespace);
            &rest[2..]
        }
        rest => rest,
    };
    for (place, word) in scoped.iter().enumerate() {
        each(
            match place {
                1 => Segment::Names(named_by(scoped[0])),
                _ => Segment::Fixed,
            },
            word,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_a_path_are_found() {
        let names = |path: &'static str| {
            let mut found = Vec::new();
            segments(path, |segment, word| {
                if !matches!(segment, Segment::Fixed | Segment::Group) {
                    found.push((segment, word));
                }
            });
            found
        };
        let named = |part, word| (Segment::Names(part), word);
        assert_eq!(
            names("/api/v1/namespaces/shop/pods/cart/status"),
            [
                (Segment::Address, ""),
                named(HiddenPart::Namespaces, "shop"),
                named(HiddenPart::Names, "cart")
            ]
        );
        assert_eq!(
            names("/k8s/c-1/apis/apps/v1/deployments/cart")[1..],
            [
                (Segment::Address, "k8s"),
                (Segment::Address, "c-1"),
                named(HiddenPart::Names, "cart")
            ]
        );
        assert_eq!(
            names("/api/v1/namespaces/shop")[1..],
            [named(HiddenPart::Namespaces, "shop")]
        );
        assert_eq!(
            names("/api/v1/nodes/n1")[1..],
            [named(HiddenPart::Nodes, "n1")]
        );
        assert_eq!(names("/version").len(), 2);
        assert_eq!(names("/apis").len(), 1);
    }
}
