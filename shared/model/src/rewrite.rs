//! What each text of a record names, and how all texts of a record are rewritten: what hiding rests on.
//!
//! The macros that define records and folds ask each text field for its [`TextClass`] (`name: Text as Name`). A text
//! without a class is no [`Rewrite`], so that a record with such a field does not compile:
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

/// What a text is, or names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextClass {
    /// A word of Kubernetes, of a protocol or of ours, or a version: it names nothing of a cluster.
    Fixed,
    /// An API group; empty for core.
    Group,
    /// A resource, with or without its API group: `pods`, `widgets.example.com`.
    Resource,
    /// The name of an object that is no namespace and no node, or of a client program.
    Name,
    /// The name of a namespace.
    Namespace,
    /// The name of a node.
    Node,
    /// The name of a cluster.
    Cluster,
    /// A uid.
    Uid,
    /// A URL, or a host with or without a port.
    Address,
    /// A label selector.
    LabelSelector,
    /// A field selector.
    FieldSelector,
    /// The path of a request.
    Path,
    /// The query of a request.
    Query,
    /// A request as `VERB PATH?QUERY`.
    Request,
    /// What a client program believes, as JSON (see [`crate::belief`]).
    Belief,
    /// Words of a server, of a network or of a library; they may name anything.
    Free,
    /// A sentence of ours, with names and numbers in it.
    Ours,
    /// A person's words, or a narrator's.
    Said,
}

/// Rewrites texts. Each answer is the text's new form; `None`: it stays as it is.
pub trait Rewriter {
    /// A text of a class.
    fn text(&mut self, class: TextClass, text: &str) -> Option<Text>;

    /// The name of a watch. What follows in the same record, or in the fold of that watch, is about it.
    fn watch(&mut self, name: &WatchName) -> Option<WatchName>;

    /// An object of the watch, or of the resource, that came last.
    fn object(&mut self, object: &Arc<Object>) -> Option<Arc<Object>>;

    /// The controller of an object.
    fn owner(&mut self, owner: &Owner) -> Option<Owner>;

    /// The name of a log.
    fn log(&mut self, log: &LogId) -> Option<LogId>;

    /// HTTP headers.
    fn headers(&mut self, headers: &mut Headers);
}

/// What texts there are in it is known from its type.
pub trait Rewrite {
    /// Rewrites all of them.
    fn rewrite(&mut self, with: &mut dyn Rewriter);
}

/// It is text, and what kind of is known from where it stands.
pub trait RewriteAs {
    /// Rewrites it.
    fn rewrite_as(&mut self, class: TextClass, with: &mut dyn Rewriter);
}

/// How the macro of records rewrites a field: by its class if it states one, else by its type.
macro_rules! rewrite_field {
    ($field:expr, $with:expr) => {
        $crate::rewrite::Rewrite::rewrite($field, $with)
    };
    ($field:expr, $with:expr, $class:ident) => {
        $crate::rewrite::RewriteAs::rewrite_as($field, $crate::rewrite::TextClass::$class, $with)
    };
}
pub(crate) use rewrite_field;

/// Defines structs of records and folds: as `fields!`, and each field that is text gives its class (`as Name`).
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

/// Its keys are texts of the class.
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

/// A key that is no text of a class.
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
