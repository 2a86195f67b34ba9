//! The parts of a log that can be hidden, and sets of such parts.

use serde::{Deserialize, Serialize};

/// A part of a log that can be hidden. Lists of parts have this order. In JSON a part is the name of its variant in
/// camel case: `names`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HiddenPart {
    /// Names of objects other than namespaces and nodes, and of client programs.
    Names,
    /// Names of namespaces.
    Namespaces,
    /// Keys and values in label selectors, except keys with a prefix of Kubernetes (`kubernetes.io`, `k8s.io`).
    Labels,
    /// Uids of objects and of the cluster, and texts with the form of a UUID.
    Uids,
    /// Hosts of servers, as names or IP addresses; IP addresses in any text; and path segments before the API in a URL.
    Addresses,
    /// Names of nodes.
    Nodes,
    /// The name of the cluster, and the name of the log.
    Cluster,
    /// Bodies of objects. All bodies are left out if any part is hidden, because a body may name anything.
    Bodies,
    /// A part that only a later version knows: every unknown word for a part in a file is read as this. This build
    /// cannot hide such a part.
    #[serde(other)]
    Later,
}

impl HiddenPart {
    /// All parts that this build can hide, in order; [`HiddenPart::Later`] is not among them.
    pub const ALL: [Self; 8] = [
        Self::Names,
        Self::Namespaces,
        Self::Labels,
        Self::Uids,
        Self::Addresses,
        Self::Nodes,
        Self::Cluster,
        Self::Bodies,
    ];

    /// Returns the part as an English phrase of one to five words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Namespaces => "namespaces",
            Self::Labels => "labels",
            Self::Uids => "uids",
            Self::Addresses => "addresses",
            Self::Nodes => "nodes",
            Self::Cluster => "the cluster's name",
            Self::Bodies => "bodies",
            Self::Later => "something of a later version",
        }
    }
}

/// A set of parts. The set may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u16);

impl Parts {
    /// Returns whether a part is in the set.
    #[must_use]
    pub const fn has(self, part: HiddenPart) -> bool {
        self.0 & 1 << part as u16 != 0
    }

    /// Returns the set with one more part, or the same set if the part was in it already.
    #[must_use]
    pub const fn with(self, part: HiddenPart) -> Self {
        Self(self.0 | 1 << part as u16)
    }

    /// Whether the two sets have a part in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether hiding this set may change texts: a part other than bodies is in the set. [`HiddenPart::Later`]
    /// alone counts, too.
    #[must_use]
    pub const fn changes_texts(self) -> bool {
        self.0 & !(1 << HiddenPart::Bodies as u16) != 0
    }

    /// Iterates over the parts in the set, in the order of [`HiddenPart::ALL`]. The iterator leaves out
    /// [`HiddenPart::Later`].
    pub fn iter(self) -> impl Iterator<Item = HiddenPart> {
        let all = HiddenPart::ALL.into_iter();
        all.filter(move |&part| self.has(part))
    }

    /// Returns what is not hidden, each item as a phrase: first the parts that are not in the set, in their order, then
    /// what is never hidden. The list is never empty. Bodies are never in the list, not even for an empty set, because
    /// they are left out if anything is hidden.
    #[must_use]
    pub fn not_hidden(self) -> Vec<&'static str> {
        let kept = HiddenPart::ALL.into_iter();
        // Bodies are left out if anything is hidden, and most forms have none.
        let kept = kept.filter(|&part| part != HiddenPart::Bodies && !self.has(part));
        let mut list: Vec<&'static str> = kept.map(HiddenPart::words).collect();
        list.extend([
            "times",
            "counts and resourceVersions",
            "types of objects and their API groups, but for names in those",
            "versions of servers",
            "your own words in titles and notes, but for names that the log knows",
        ]);
        list
    }
}

impl FromIterator<HiddenPart> for Parts {
    fn from_iter<I: IntoIterator<Item = HiddenPart>>(parts: I) -> Self {
        parts.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_contents_that_are_not_hidden_is_never_empty() {
        let all: Parts = HiddenPart::ALL.into_iter().collect();
        assert!(!all.not_hidden().is_empty());
        assert!(
            Parts::default()
                .not_hidden()
                .contains(&"the cluster's name")
        );
        let one = Parts::default().with(HiddenPart::Bodies);
        assert!(!one.is_empty() && !one.changes_texts());
        assert_eq!(all.iter().count(), HiddenPart::ALL.len());
    }
}
