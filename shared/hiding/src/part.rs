//! What can be hidden, and what of it is.

use serde::{Deserialize, Serialize};

/// Something that can be hidden. The order is that in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HiddenPart {
    /// Names of objects that are no namespaces and no nodes, and of client programs.
    Names,
    /// Names of namespaces.
    Namespaces,
    /// Keys and values in label selectors, but for keys of Kubernetes itself.
    Labels,
    /// Uids, of objects and of the cluster.
    Uids,
    /// Addresses of servers.
    Addresses,
    /// Names of nodes.
    Nodes,
    /// The cluster's name, and that of the log.
    Cluster,
    /// Bodies of objects. They go with any other part too, since a body may name anything.
    Bodies,
    /// Something of a later version.
    #[serde(other)]
    Later,
}

impl HiddenPart {
    /// All that this build can hide.
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

    /// What is hidden, in a word or two.
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

/// Which parts are hidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u16);

impl Parts {
    /// Whether one is among them.
    #[must_use]
    pub const fn has(self, part: HiddenPart) -> bool {
        self.0 & 1 << part as u16 != 0
    }

    /// With one more.
    #[must_use]
    pub const fn with(self, part: HiddenPart) -> Self {
        Self(self.0 | 1 << part as u16)
    }

    /// Whether both have one in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a text may be changed: a part other than bodies is hidden.
    #[must_use]
    pub const fn changes_texts(self) -> bool {
        self.0 & !(1 << HiddenPart::Bodies as u16) != 0
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = HiddenPart> {
        let all = HiddenPart::ALL.into_iter();
        all.filter(move |&part| self.has(part))
    }

    /// What is not hidden, each in a few words; never empty.
    #[must_use]
    pub fn not_hidden(self) -> Vec<&'static str> {
        let kept = HiddenPart::ALL.into_iter();
        // Bodies leave with nothing that has something hidden, and with most forms not at all.
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
    fn what_is_not_hidden_is_never_nothing() {
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
