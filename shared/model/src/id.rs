//! The ids in a log: names of logs, records, watches and connections, objects, and their versions.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// A text of a record. A text is shared, so a name that comes a thousand times can be held once. Nothing here bounds
/// its length; the code that makes the text must.
pub type Text = Arc<str>;

macro_rules! number_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(
            /// The number as the JSON form shows it.
            pub u64,
        );

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }
    )*};
}

number_ids! {
    /// A record's number in its epoch. It begins at 1 and rises by 1 without holes; 0 means before the first record.
    Seq;
    /// The number of one TCP or TLS connection. Writers count connections from 1; the number is unique in its epoch.
    ConnectionId;
    /// The number of one HTTP request of a watch, or of watchscope's own requests about a watch ([`Aside`]). Writers
    /// count requests from 1; the number is unique in its epoch.
    RequestId;
    /// The number of the body of one watch response. Writers count streams from 1; the number is unique in its epoch.
    StreamId;
}

impl Seq {
    /// Returns the next seq. The result saturates at [`u64::MAX`], because a hostile file may hold the largest seq.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(
            /// The name itself.
            pub Text,
        );

        impl $name {
            /// The name as a string slice.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self(name.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    )*};
}

text_ids! {
    /// The name of a log, one per cluster. A server takes the name of its kubeconfig context or cluster, and replaces
    /// all characters but ASCII letters and digits with `-`. Without a cluster it takes `kubeconfig`. A file may hold
    /// any text.
    LogId;
    /// The name of one run of a log's writer. A server draws 16 random hexadecimal digits. A file may hold any text.
    EpochId;
    /// The name of a watch: `NAMESPACE/RESOURCE[.GROUP][?SELECTOR][#N]`, with `*` for all namespaces and `-` for
    /// cluster-scoped resources. `SELECTOR` is the label selector, the field selector, or both joined by `&`. `#2`
    /// marks the second watch whose name is otherwise the same. A further `#s`, `#w` or `#a` at the end marks
    /// watchscope's own requests about the watch ([`Aside`]).
    WatchName;
}

/// The purpose of watchscope's own requests about a watch. watchscope's own requests are logged under a name of their
/// own, so that the load that watchscope causes is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    /// A side watch, which checks whether the cluster has events that the watch does not deliver
    /// (docs/semantics/clients.md#probe-silence).
    Side,
    /// A witness: the same watch opened once more. The events of the watch and its witness are compared
    /// (docs/semantics/checks.md#witness).
    Witness,
    /// Reads of the audit, which check whether the watch holds the true objects (docs/semantics/checks.md#procedure).
    Audit,
}

/// The namespaces that a watch covers, as its name states them ([`WatchName::extent`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent<'a> {
    /// All namespaces.
    All,
    /// No namespace: the watch's objects are cluster-scoped.
    Cluster,
    /// One namespace, by its name.
    One(&'a str),
}

impl Aside {
    fn suffix(self) -> &'static str {
        match self {
            Self::Side => "#s",
            Self::Witness => "#w",
            Self::Audit => "#a",
        }
    }
}

impl WatchName {
    /// Builds the name of the `ordinal`-th watch of a resource, counted from 1.
    ///
    /// `namespace` is `*` for all namespaces and `-` for cluster-scoped resources; an empty `group` is core. The
    /// selectors are joined by `&`, the label selector first; `None` adds nothing. The ordinals 0 and 1 add nothing to
    /// the name. No part is checked, escaped or cut.
    #[must_use]
    pub fn new(
        namespace: &str,
        resource: &str,
        group: &str,
        label_selector: Option<&str>,
        field_selector: Option<&str>,
        ordinal: u32,
    ) -> Self {
        let mut name = format!("{namespace}/{resource}");
        if !group.is_empty() {
            name.push('.');
            name.push_str(group);
        }
        let mut separator = '?';
        for selector in [label_selector, field_selector].into_iter().flatten() {
            name.push(separator);
            name.push_str(selector);
            separator = '&';
        }
        if ordinal > 1 {
            name.push_str(&format!("#{ordinal}"));
        }
        Self(name.into())
    }

    /// Returns the name under which watchscope logs its own requests about this watch: this name, then `#s`, `#w` or
    /// `#a`.
    #[must_use]
    pub fn aside(&self, aside: Aside) -> Self {
        Self(format!("{self}{}", aside.suffix()).into())
    }

    /// Whether this is the name of watchscope's own requests about a watch: it ends with `#s`, `#w` or `#a`.
    #[must_use]
    pub fn is_aside(&self) -> bool {
        self.as_aside().is_some()
    }

    /// The purpose of watchscope's own requests with this name; `None` for the name of a watch.
    #[must_use]
    pub fn as_aside(&self) -> Option<Aside> {
        [Aside::Side, Aside::Witness, Aside::Audit]
            .into_iter()
            .find(|aside| self.0.ends_with(aside.suffix()))
    }

    /// The watch that watchscope's own requests with this name are about; `None` for the name of a watch.
    #[must_use]
    pub fn about(&self) -> Option<Self> {
        let about = self.0.strip_suffix(self.as_aside()?.suffix())?;
        Some(Self(about.into()))
    }

    /// The name without its ordinal, and the ordinal. A name without `#`, or whose text after the last `#` is no number
    /// of 32 bits, is returned whole, with 1. For the name of watchscope's own requests, name and ordinal are those of
    /// the watch that the requests are about.
    #[must_use]
    pub fn what_and_ordinal(&self) -> (&str, u32) {
        let name = self
            .as_aside()
            .and_then(|aside| self.0.strip_suffix(aside.suffix()))
            .unwrap_or(&self.0);
        name.rsplit_once('#')
            .and_then(|(what, ordinal)| Some((what, ordinal.parse().ok()?)))
            .unwrap_or((name, 1))
    }

    /// The part before the first slash: a namespace, `*` or `-`; the whole name if it has no slash.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.0
            .split_once('/')
            .map_or(&*self.0, |(namespace, _)| namespace)
    }

    /// The namespaces that the watch covers, by the part before the first slash. `*` is all, `-` is none, and any other
    /// text is one namespace. Without a slash, the whole name counts as that part.
    #[must_use]
    pub fn extent(&self) -> Extent<'_> {
        match self.namespace() {
            "*" => Extent::All,
            "-" => Extent::Cluster,
            namespace => Extent::One(namespace),
        }
    }

    /// The part after the first slash: resource, group, selectors, ordinal and the mark of an [`Aside`]; empty without
    /// a slash.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, resource)| resource)
    }
}

/// Whether an API group has a name of Kubernetes itself: empty (core), without a dot (`apps`), or ending with
/// `.k8s.io`. A CRD of other authors needs an approval for a group that ends with `.k8s.io` (KEP-2337).
#[must_use]
pub fn is_built_in_group(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// A resourceVersion as the server wrote it.
///
/// Before Kubernetes 1.35 a resourceVersion is opaque by contract. Since KEP-5504 it is a positive decimal integer of
/// at most 128 bits, comparable within one resource type (docs/semantics/lists-and-watches.md#resource-version).
///
/// KEP-5504 holds for objects that the kube-apiserver keeps in etcd. An aggregated apiserver may number its objects in
/// any order ([`ResourceVersion::unordered`]). The server's text is kept exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ResourceVersion {
    /// A decimal number without leading zeros that fits 64 bits, 0 included; nearly all versions.
    Number(u64),
    /// Any other text, unchanged: it may be empty. A number that is only compared for equality is kept as text, too.
    Other(Text),
}

impl ResourceVersion {
    /// Reads a resourceVersion whose numbers have an order. It accepts every text, and [`fmt::Display`] returns exactly
    /// that text again.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let canonical = !text.is_empty()
            && text.len() <= 20
            && text.bytes().all(|b| b.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'));
        match text.parse() {
            Ok(number) if canonical => Self::Number(number),
            _ => Self::Other(text.into()),
        }
    }

    /// Returns the same version without an order, for an apiserver whose numbers have no order. The returned version
    /// equals only versions that are also without an order and have the same text. A number of more than 64 bits stays
    /// as it is, with its order.
    #[must_use]
    pub fn unordered(&self) -> Self {
        match self {
            Self::Number(number) => Self::Other(number.to_string().into()),
            Self::Other(text) => Self::Other(text.clone()),
        }
    }

    /// Whether the version has an order, so that [`ResourceVersion::compare`] gives a result with other ordered
    /// versions.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.compare(self).is_some()
    }

    /// Whether a watch can begin at this version. A watch cannot begin at an empty text, or at 0 with or without an
    /// order, also written as `00`. 0 means any version (docs/semantics/lists-and-watches.md#resource-version).
    /// Aggregated servers without versions return an empty text or 0.
    #[must_use]
    pub fn is_position(&self) -> bool {
        match self {
            Self::Number(number) => *number != 0,
            Self::Other(text) => !text.is_empty() && text.parse() != Ok(0_u64),
        }
    }

    /// The version as a number; `None` for a text, for a number of more than 64 bits, and for a number without an
    /// order.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Other(_) => None,
        }
    }

    /// Compares by age: the lower version is the older one. The order is defined if both versions are decimals without
    /// leading zeros of at most 128 bits (KEP-5504). The result is `None` otherwise, and for a number without an order
    /// ([`ResourceVersion::unordered`]).
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Some(a.cmp(b)),
            _ => Some(self.wide()?.cmp(&other.wide()?)),
        }
    }

    /// Whether this version is later than `other`; false if the two are equal or cannot be compared.
    #[must_use]
    pub fn is_after(&self, other: &Self) -> bool {
        self.compare(other) == Some(Ordering::Greater)
    }

    fn wide(&self) -> Option<u128> {
        match self {
            Self::Number(number) => Some(u128::from(*number)),
            Self::Other(text) => {
                let decimal = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
                let number = if decimal { text.parse().ok() } else { None };
                // A smaller number is stored as text only because it has no order.
                number.filter(|number| *number > u128::from(u64::MAX))
            }
        }
    }
}

impl From<u64> for ResourceVersion {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Serialize for ResourceVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An object's uid. A lower-case hyphenated UUID takes 16 bytes; any other text is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Uid {
    /// The UUID's bytes, in the order of its text.
    Uuid([u8; 16]),
    /// Any other text, unchanged; empty if the uid is unknown.
    Other(Text),
}

impl Uid {
    /// Reads a uid. Every text becomes exactly one variant, and [`fmt::Display`] returns exactly that text again.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        uuid_bytes(text.as_bytes()).map_or_else(|| Self::Other(text.into()), Self::Uuid)
    }

    /// Whether the uid is unknown, because the server sent none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Other(text) if text.is_empty())
    }

    /// Whether `text` is exactly this uid: the letters' case counts. The comparison allocates nothing.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        match self {
            Self::Uuid(bytes) => uuid_bytes(text.as_bytes()) == Some(*bytes),
            Self::Other(other) => **other == *text,
        }
    }
}

/// Reads a UUID with lower-case letters. It reads all digits before it judges any. A branch for each digit would take
/// the wrong way about every second time, because digits and letters alternate at random.
fn uuid_bytes(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut digits = [0; 32];
    digits[..8].copy_from_slice(&text[..8]);
    digits[8..12].copy_from_slice(&text[9..13]);
    digits[12..16].copy_from_slice(&text[14..18]);
    digits[16..20].copy_from_slice(&text[19..23]);
    digits[20..].copy_from_slice(&text[24..]);
    let hyphens = [text[8], text[13], text[18], text[23]];
    let (mut bytes, mut are_digits) = ([0; 16], hyphens == [b'-'; 4]);
    for (byte, digits) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        let [(high, is_high), (low, is_low)] = digits.map(nibble);
        *byte = high << 4 | low;
        are_digits &= is_high & is_low;
    }
    are_digits.then_some(bytes)
}

/// The value of a hexadecimal digit, and whether the byte is one.
fn nibble(digit: u8) -> (u8, bool) {
    let (number, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
    let value = if number < 10 {
        number
    } else {
        letter.wrapping_add(10)
    };
    (value & 0xf, (number < 10) | (letter < 6))
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        match self {
            Self::Uuid(bytes) => {
                let (mut text, mut end) = ([b'-'; 36], 0);
                for (position, byte) in bytes.iter().enumerate() {
                    if matches!(position, 4 | 6 | 8 | 10) {
                        end += 1;
                    }
                    text[end] = DIGITS[usize::from(byte >> 4)];
                    text[end + 1] = DIGITS[usize::from(byte & 0xf)];
                    end += 2;
                }
                f.write_str(std::str::from_utf8(&text).unwrap_or_default())
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Serialize for Uid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One object from its creation to its deletion: its namespace, name and uid. Records share it behind an [`Arc`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// The object's namespace; `None` for a cluster-scoped object.
    pub namespace: Option<Text>,
    /// The object's name; not empty in an object of a cluster.
    pub name: Text,
    /// The object's uid, which distinguishes it from a later object of the same name; empty if the server sent none.
    pub uid: Uid,
}

/// The controller of an object, as an owner reference names it. Records share one copy.
///
/// A controller is kept and written like an object whose namespace is the kind. An owner reference has no namespace, so
/// it does not state whether the controller is cluster-scoped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub(crate) Arc<Object>);

impl Owner {
    /// A controller with this kind, name and uid.
    #[must_use]
    pub fn new(kind: Text, name: Text, uid: Uid) -> Self {
        Self(Arc::new(Object {
            namespace: Some(kind),
            name,
            uid,
        }))
    }

    /// The controller's kind, such as `ReplicaSet`; empty if the reference, or a damaged file, states none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.namespace.as_deref().unwrap_or_default()
    }

    /// The controller's name; empty if the reference has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The controller's uid; empty if the reference has none.
    #[must_use]
    pub fn uid(&self) -> &Uid {
        &self.0.uid
    }
}

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("kind", self.kind())?;
        map.serialize_entry("name", self.name())?;
        map.serialize_entry("uid", self.uid())?;
        map.end()
    }
}

/// The key of an object in a watch. Keys are equal, ordered and hashed by namespace, then name; the uid is ignored.
/// Cluster-scoped objects come first.
#[derive(Clone, Debug)]
pub struct Place(
    /// The present object with this namespace and name.
    pub Arc<Object>,
);

impl Place {
    fn key(&self) -> (Option<&str>, &str) {
        (self.0.namespace.as_deref(), &self.0.name)
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.key() == other.key()
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_watch_cannot_begin_at_an_empty_version_or_at_zero_with_or_without_an_order() {
        for (text, is_position) in [("", false), ("0", false), ("1", true), ("x", true)] {
            let version = ResourceVersion::parse(text);
            assert_eq!(version.is_position(), is_position, "{text:?}");
            assert_eq!(version.unordered().is_position(), is_position, "{text:?}");
        }
    }

    #[test]
    fn watch_names_follow_the_design() {
        let name = |ns, res, group, label, field, n| {
            WatchName::new(ns, res, group, label, field, n).to_string()
        };
        assert_eq!(name("shop", "pods", "", None, None, 1), "shop/pods");
        assert_eq!(
            name("*", "deployments", "apps", Some("app=cart"), None, 2),
            "*/deployments.apps?app=cart#2"
        );
        assert_eq!(
            name("-", "nodes", "", Some("a=b"), Some("metadata.name=x"), 1),
            "-/nodes?a=b&metadata.name=x"
        );
    }

    #[test]
    fn resource_versions_compare_as_decimals_of_any_length_and_otherwise_not_at_all() {
        let compare =
            |a: &str, b: &str| ResourceVersion::parse(a).compare(&ResourceVersion::parse(b));
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(
            compare("340282366920938463463374607431768211455", "9"),
            Some(Ordering::Greater)
        );
        assert_eq!(compare("007", "9"), None);
        assert_eq!(compare("abc", "9"), None);
    }

    #[test]
    fn numbers_without_an_order_are_only_equal_or_not() {
        let of = |text: &str| ResourceVersion::parse(text).unordered();
        assert_eq!(of("9"), of("9"));
        assert_ne!(of("9"), of("10"));
        assert_eq!((of("9").compare(&of("10")), of("9").number()), (None, None));
        assert_eq!(of("9").to_string(), "9");
        assert_eq!(of("x1"), ResourceVersion::parse("x1"));
        let is_ordered = |version: ResourceVersion| version.is_ordered();
        assert!(is_ordered(9.into()) && !is_ordered(of("9")) && !is_ordered(of("x1")));
    }

    #[test]
    fn a_place_ignores_the_uid() {
        let object = |uid: &str| {
            Place(Arc::new(Object {
                namespace: Some("a".into()),
                name: "b".into(),
                uid: Uid::parse(uid),
            }))
        };
        assert_eq!(object("1"), object("2"));
    }

    proptest! {
        #[test]
        fn every_resource_version_text_comes_back(text in "[0-9a-z]{0,24}") {
            prop_assert_eq!(ResourceVersion::parse(&text).to_string(), text);
        }

        #[test]
        fn every_uid_text_comes_back(text in "([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})|[0-9a-fA-F-]{0,40}") {
            prop_assert_eq!(Uid::parse(&text).to_string(), text.clone());
            prop_assert!(Uid::parse(&text).is(&text));
        }
    }
}
