//! The class of each text in a record, and the rewriting of all texts; the hiding of names in exports uses them.
//!
//! The macros that define records and folds require a [`TextClass`] for each text field (`name: Text as Name`). A text
//! without a class does not implement [`Rewrite`], so a record with such a field does not compile:
//!
//! ```compile_fail
//! fn is_rewritten<T: watchscope_model::rewrite::Rewrite>() {}
//! is_rewritten::<watchscope_model::Text>();
//! ```

use std::sync::Arc;

use crate::field::Headers;
use crate::id::{
    ConnectionId, EpochId, LogId, Object, Owner, RequestId, ResourceVersion, Seq, StreamId, Text,
    Uid, WatchName,
};
use crate::map::Map;
use crate::time::Time;
use crate::vocabulary as words;

/// The class of a text: the kind of text, or the kind of thing that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextClass {
    /// A word of Kubernetes, of a protocol or of watchscope, or a version. A text of this class names nothing in a
    /// cluster.
    Fixed,
    /// An API group; empty for core.
    Group,
    /// A resource in the plural, with or without its API group: `pods`, `widgets.example.com`.
    Resource,
    /// The name of an object other than a namespace or node, or of a client program.
    Name,
    /// The name of a namespace.
    Namespace,
    /// The name of a node.
    Node,
    /// The name of a cluster.
    Cluster,
    /// A uid, as text.
    Uid,
    /// A URL, or a host with or without a port.
    Address,
    /// A label selector.
    LabelSelector,
    /// A field selector.
    FieldSelector,
    /// The path of a request, percent-encoded.
    Path,
    /// The query of a request without its `?`, percent-encoded.
    Query,
    /// A request as `METHOD PATH?QUERY`, or `METHOD PATH` without a query.
    Request,
    /// The belief of a client program, as JSON (see [`crate::belief`]).
    Belief,
    /// Words of a server, of a client, of a network or of a library. Such words may name anything.
    Free,
    /// A sentence of watchscope that may contain names and numbers.
    Ours,
    /// Words of a person or of a story's narrator.
    Said,
}

/// A rewriter of the texts of records and folds. Each method but [`Rewriter::headers`] returns the new form, or `None`
/// to keep the text as it is. The fields of a record come in the order of their declaration.
pub trait Rewriter {
    /// Rewrites a text of a class.
    fn text(&mut self, class: TextClass, text: &str) -> Option<Text>;

    /// Rewrites the name of a watch. Later texts of the same record, or of that watch's fold, belong to this watch.
    fn watch(&mut self, name: &WatchName) -> Option<WatchName>;

    /// Rewrites an object: namespace, name and uid. The object belongs to the watch or resource that was rewritten
    /// last.
    fn object(&mut self, object: &Arc<Object>) -> Option<Arc<Object>>;

    /// Rewrites the controller of an object: kind, name and uid.
    fn owner(&mut self, owner: &Owner) -> Option<Owner>;

    /// Rewrites the name of a log.
    fn log(&mut self, log: &LogId) -> Option<LogId>;

    /// Rewrites HTTP headers in place; it may change, add or remove any header.
    fn headers(&mut self, headers: &mut Headers);
}

/// A value whose type determines the classes of its texts.
pub trait Rewrite {
    /// Rewrites the value's texts, in the order of its fields; epochs and resourceVersions stay. If two keys of a map,
    /// or the names of two held objects, become equal, the later entry replaces the earlier.
    fn rewrite(&mut self, with: &mut dyn Rewriter);
}

/// A text whose class the field around it determines.
pub trait RewriteAs {
    /// Rewrites a text as a text of `class`; rewrites each text of a list, and each key of a map. A map's values are
    /// rewritten by their types. If two keys become equal, the later entry stays. `None` stays `None`.
    fn rewrite_as(&mut self, class: TextClass, with: &mut dyn Rewriter);
}

/// Rewrites a field of a record: by its class if the field states a class, else by its type.
macro_rules! rewrite_field {
    ($field:expr, $with:expr) => {
        $crate::rewrite::Rewrite::rewrite($field, $with)
    };
    ($field:expr, $with:expr, $class:ident) => {
        $crate::rewrite::RewriteAs::rewrite_as($field, $crate::rewrite::TextClass::$class, $with)
    };
}
pub(crate) use rewrite_field;

/// Defines structs of records and folds like `fields!`; each text field also states its class (`as Name`).
macro_rules! classed_fields {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident $($json:literal)? : $type:ty $(as $class:ident)?,)* })*) => {
        $crate::field::fields! {$(
            $(#[$meta])*
            struct $name { $($(#[$field_meta])* $field $($json)? : $type,)* }
        )*}

        $(impl $crate::rewrite::Rewrite for $name {
            #[allow(unused_variables)]
            fn rewrite(&mut self, with: &mut dyn $crate::rewrite::Rewriter) {
                $($crate::rewrite::rewrite_field!(&mut self.$field, with $(, $class)?);)*
            }
        })*
    };
}
pub(crate) use classed_fields;

impl RewriteAs for Text {
    fn rewrite_as(&mut self, class: TextClass, with: &mut dyn Rewriter) {
        if let Some(text) = with.text(class, self) {
            *self = text;
        }
    }
}

impl RewriteAs for String {
    fn rewrite_as(&mut self, class: TextClass, with: &mut dyn Rewriter) {
        if let Some(text) = with.text(class, self) {
            text.as_ref().clone_into(self);
        }
    }
}

impl<T: RewriteAs> RewriteAs for Option<T> {
    fn rewrite_as(&mut self, class: TextClass, with: &mut dyn Rewriter) {
        if let Some(text) = self {
            text.rewrite_as(class, with);
        }
    }
}

impl<T: RewriteAs> RewriteAs for Vec<T> {
    fn rewrite_as(&mut self, class: TextClass, with: &mut dyn Rewriter) {
        self.iter_mut()
            .for_each(|text| text.rewrite_as(class, with));
    }
}

/// The map's keys are rewritten as texts of the class.
impl<V: Rewrite> RewriteAs for Map<Text, V> {
    fn rewrite_as(&mut self, class: TextClass, with: &mut dyn Rewriter) {
        self.rekey(|mut key, value| {
            key.rewrite_as(class, with);
            value.rewrite(with);
            key
        });
    }
}

macro_rules! without_text {
    ($($type:ty),* $(,)?) => {$(
        impl Rewrite for $type {
            fn rewrite(&mut self, _with: &mut dyn Rewriter) {}
        }
    )*};
}

without_text!(
    bool,
    u16,
    u32,
    u64,
    i64,
    Seq,
    Time,
    ConnectionId,
    RequestId,
    StreamId,
    EpochId,
    ResourceVersion,
    words::Cause,
    words::Phase,
    words::PhaseReason,
    words::ChangeType,
    words::Origin,
    words::AuditReason,
    words::Authority,
    words::FrameLoss,
    words::ErrorText,
    words::LossPlace,
    words::Certainty,
    words::Severity,
    words::Standing,
    words::Divergence,
    words::CachePhase,
    words::Way,
    words::Author,
    words::DiskTrouble,
);

impl Rewrite for WatchName {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        if let Some(name) = with.watch(self) {
            *self = name;
        }
    }
}

impl Rewrite for LogId {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        if let Some(log) = with.log(self) {
            *self = log;
        }
    }
}

impl Rewrite for Arc<Object> {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        if let Some(object) = with.object(self) {
            *self = object;
        }
    }
}

impl Rewrite for Owner {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        if let Some(owner) = with.owner(self) {
            *self = owner;
        }
    }
}

impl Rewrite for Headers {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        with.headers(self);
    }
}

impl Rewrite for Uid {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        if let Some(uid) = with.text(TextClass::Uid, &self.to_string()) {
            *self = Self::parse(&uid);
        }
    }
}

impl<T: Rewrite> Rewrite for Option<T> {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        if let Some(value) = self {
            value.rewrite(with);
        }
    }
}

impl<T: Rewrite> Rewrite for Vec<T> {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        self.iter_mut().for_each(|value| value.rewrite(with));
    }
}

/// A key that is not a text of a class.
trait Key: Ord {}
impl Key for u64 {}
impl Key for ConnectionId {}
impl Key for WatchName {}

#[allow(private_bounds, reason = "which keys there are is no promise")]
impl<K: Key + Rewrite, V: Rewrite> Rewrite for Map<K, V> {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        self.rekey(|mut key, value| {
            key.rewrite(with);
            value.rewrite(with);
            key
        });
    }
}
