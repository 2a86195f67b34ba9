//! The fields that many changes share, so that a chapter's dictionary holds them once.

use indexmap::Equivalent;

use crate::id::{StreamId, Text, WatchName};
use crate::vocabulary::{ChangeType, Origin};

/// The fields of a `change` that form a pattern, because they rarely differ from change to change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    pub(crate) watch: WatchName,
    pub(crate) stream: Option<StreamId>,
    pub(crate) change: ChangeType,
    pub(crate) origin: Origin,
    pub(crate) manager: Option<Text>,
    pub(crate) subresource: Option<Text>,
}

/// The borrowed fields of a pattern, for a look-up without an allocation. The hash is that of the [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternParts<'a> {
    pub(crate) watch: &'a WatchName,
    pub(crate) stream: Option<StreamId>,
    pub(crate) change: ChangeType,
    pub(crate) origin: Origin,
    pub(crate) manager: Option<&'a Text>,
    pub(crate) subresource: Option<&'a Text>,
}

impl Pattern {
    pub(crate) fn parts(&self) -> PatternParts<'_> {
        PatternParts {
            watch: &self.watch,
            stream: self.stream,
            change: self.change,
            origin: self.origin,
            manager: self.manager.as_ref(),
            subresource: self.subresource.as_ref(),
        }
    }
}

impl From<PatternParts<'_>> for Pattern {
    fn from(parts: PatternParts<'_>) -> Self {
        Self {
            watch: parts.watch.clone(),
            stream: parts.stream,
            change: parts.change,
            origin: parts.origin,
            manager: parts.manager.cloned(),
            subresource: parts.subresource.cloned(),
        }
    }
}

impl Equivalent<Pattern> for PatternParts<'_> {
    fn equivalent(&self, key: &Pattern) -> bool {
        *self == key.parts()
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use rustc_hash::FxBuildHasher;

    use super::*;

    #[test]
    fn a_pattern_and_its_parts_hash_the_same() {
        let whole = Pattern {
            watch: "shop/pods".into(),
            stream: Some(StreamId(7)),
            change: ChangeType::Modified,
            origin: Origin::Live,
            manager: Some("kubelet".into()),
            subresource: None,
        };
        let hasher = FxBuildHasher;
        assert_eq!(hasher.hash_one(&whole), hasher.hash_one(whole.parts()));
        assert!(whole.parts().equivalent(&whole));
        assert_eq!(Pattern::from(whole.parts()), whole);
    }
}
