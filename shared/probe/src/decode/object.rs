//! An object → who and at which version it is, who wrote it last, and which values must go.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::DecodeError;
use super::value::{Cuts, Follow, Key, Skip};
use crate::redact::{LAST_APPLIED, Rule, copy_without, rule_for};

/// What the machine needs of an object, borrowed from its text.
#[derive(Debug, Default)]
pub(crate) struct ObjectHead<'a> {
    /// `kind`; items of a list have none.
    pub(crate) kind: Option<Cow<'a, str>>,
    /// `metadata.namespace`.
    pub(crate) namespace: Option<Cow<'a, str>>,
    /// `metadata.name`.
    pub(crate) name: Option<Cow<'a, str>>,
    /// `metadata.uid`.
    pub(crate) uid: Option<Cow<'a, str>>,
    /// `metadata.resourceVersion`.
    pub(crate) resource_version: Option<Cow<'a, str>>,
    /// `metadata.generation`.
    pub(crate) generation: Option<u64>,
    /// Who wrote it last.
    pub(crate) writer: Writer<'a>,
    /// Whether `k8s.io/initial-events-end` is `true` (bookmarks).
    pub(crate) initial_events_end: bool,
}

/// Who wrote an object last, by the newest `managedFields` entry; times there are whole seconds.
#[derive(Debug, Default)]
pub(crate) struct Writer<'a> {
    time: Cow<'a, str>,
    manager: Agreed<'a>,
    subresource: Agreed<'a>,
}

impl Writer<'_> {
    /// The manager; `None` if entries of the newest second disagree.
    pub(crate) fn manager(&self) -> Option<&str> {
        self.manager.get()
    }

    /// The subresource it wrote through; `None` if the object itself, or if entries of the newest second disagree.
    pub(crate) fn subresource(&self) -> Option<&str> {
        self.subresource.get()
    }
}

/// A text that several entries should agree on.
#[derive(Debug, Default, PartialEq)]
enum Agreed<'a> {
    #[default]
    Nothing,
    On(Cow<'a, str>),
    Not,
}

impl<'a> Agreed<'a> {
    fn of(text: Option<Cow<'a, str>>) -> Self {
        match text {
            Some(text) if !text.is_empty() => Self::On(text),
            _ => Self::Nothing,
        }
    }

    fn get(&self) -> Option<&str> {
        match self {
            Self::On(text) => Some(text),
            Self::Nothing | Self::Not => None,
        }
    }

    fn join(&mut self, other: Self) {
        if *self != other {
            *self = Self::Not;
        }
    }
}

/// Reads objects of one watch. Keeps the list of spans between objects, so that reading allocates nothing.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The kind asked for.
    kind: String,
    rule: &'static Rule,
    cuts: Vec<Range<usize>>,
    /// Whether the last object's body may be copied.
    may_copy: bool,
}

impl Decoder {
    /// A decoder for a resource whose objects are of `kind`.
    pub(crate) fn new(group: &str, kind: &str, redact_configmaps: bool) -> Self {
        Self {
            kind: kind.to_owned(),
            rule: rule_for(group, kind, redact_configmaps),
            cuts: Vec::new(),
            may_copy: false,
        }
    }

    /// The kind asked for.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Reads an object. If a part that has to be redacted is not of the shape the rules know, the rest is read all
    /// the same and the body withheld.
    pub(crate) fn object<'a>(&mut self, raw: &'a str) -> Result<ObjectHead<'a>, DecodeError> {
        match self.read(raw, self.rule) {
            Ok(head) => {
                self.may_copy = true;
                Ok(head)
            }
            Err(error) if error.is_data() => {
                // Read again without looking at more than the head.
                self.may_copy = false;
                self.read(raw, &Rule::At(&[]))
                    .map_err(|error| DecodeError::json("object", &error))
            }
            Err(error) => {
                self.may_copy = false;
                Err(DecodeError::json("object", &error))
            }
        }
    }

    /// Appends the body of the object read last, redacted. `None` if it has to be withheld.
    pub(crate) fn copy_body(&self, raw: &str, out: &mut Vec<u8>) -> Option<Range<usize>> {
        if !self.may_copy {
            return None;
        }
        let start = out.len();
        copy_without(raw, &self.cuts, out);
        Some(start..out.len())
    }

    /// Whether `kind` is what was asked for; metadata-only objects are of a kind of their own.
    pub(crate) fn check_kind(&self, kind: Option<&str>) -> Result<(), DecodeError> {
        match kind {
            Some("PartialObjectMetadata") => Ok(()),
            Some(kind) if kind == self.kind => Ok(()),
            other => Err(DecodeError::Kind {
                found: super::shortened(other.unwrap_or("(none)")),
                expected: self.kind.clone(),
            }),
        }
    }

    fn read<'a>(
        &mut self,
        raw: &'a str,
        rule: &'static Rule,
    ) -> Result<ObjectHead<'a>, serde_json::Error> {
        self.cuts.clear();
        let mut head = ObjectHead::default();
        let mut deserializer = serde_json::Deserializer::from_str(raw);
        ObjectSeed {
            rule,
            cuts: &mut Cuts::new(raw, &mut self.cuts),
            head: &mut head,
        }
        .deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(head)
    }
}

struct ObjectSeed<'c, 'a, 'h, 'de> {
    rule: &'static Rule,
    cuts: &'c mut Cuts<'a>,
    head: &'h mut ObjectHead<'de>,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_, '_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, '_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { rule, cuts, head } = self;
        while let Some(key) = map.next_key_seed(Key)? {
            match (&*key, rule) {
                ("kind", _) => head.kind = map.next_value_seed(OptionalText)?,
                ("metadata", _) => map.next_value_seed(MetadataSeed { cuts, head })?,
                (key, Rule::At(places)) => {
                    match places.iter().find(|(name, _)| *name == key) {
                        Some((_, rule)) => map.next_value_seed(Follow { rule, cuts })?,
                        None => map.next_value_seed(Skip)?,
                    };
                }
                (_, rule) => map.next_value_seed(Follow { rule, cuts })?,
            }
        }
        Ok(())
    }
}

struct MetadataSeed<'c, 'a, 'h, 'de> {
    cuts: &'c mut Cuts<'a>,
    head: &'h mut ObjectHead<'de>,
}

impl<'de> DeserializeSeed<'de> for MetadataSeed<'_, '_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MetadataSeed<'_, '_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("object metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { cuts, head } = self;
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                "name" => head.name = map.next_value_seed(OptionalText)?,
                "namespace" => head.namespace = map.next_value_seed(OptionalText)?,
                "uid" => head.uid = map.next_value_seed(OptionalText)?,
                "resourceVersion" => {
                    head.resource_version = map.next_value_seed(OptionalText)?;
                }
                "generation" => head.generation = map.next_value()?,
                "annotations" => map.next_value_seed(AnnotationsSeed { cuts, head })?,
                "managedFields" => {
                    map.next_value_seed(ManagedFieldsSeed {
                        writer: &mut head.writer,
                    })?;
                }
                _ => map.next_value_seed(Skip)?,
            }
        }
        Ok(())
    }
}

/// Annotations: the last-applied one goes; a bookmark's end mark is read.
struct AnnotationsSeed<'c, 'a, 'h, 'de> {
    cuts: &'c mut Cuts<'a>,
    head: &'h mut ObjectHead<'de>,
}

impl<'de> DeserializeSeed<'de> for AnnotationsSeed<'_, '_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnnotationsSeed<'_, '_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("annotations")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { cuts, head } = self;
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                LAST_APPLIED => map.next_value_seed(Follow {
                    rule: &Rule::Cut,
                    cuts,
                })?,
                // KEP-3157.
                "k8s.io/initial-events-end" => {
                    let value = map.next_value_seed(OptionalText)?;
                    head.initial_events_end = value.as_deref() == Some("true");
                }
                _ => map.next_value_seed(Skip)?,
            }
        }
        Ok(())
    }
}

struct ManagedFieldsSeed<'w, 'de> {
    writer: &'w mut Writer<'de>,
}

impl<'de> DeserializeSeed<'de> for ManagedFieldsSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ManagedFieldsSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managedFields")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(entry) = seq.next_element::<ManagedFieldsEntry<'de>>()? {
            let Some(time) = entry.time else { continue };
            let manager = Agreed::of(entry.manager);
            let subresource = Agreed::of(entry.subresource);
            // RFC 3339 in UTC with whole seconds: the order of the texts is the order of the times.
            match time.cmp(&self.writer.time) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    self.writer.manager.join(manager);
                    self.writer.subresource.join(subresource);
                }
                std::cmp::Ordering::Greater => {
                    *self.writer = Writer {
                        time,
                        manager,
                        subresource,
                    };
                }
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct ManagedFieldsEntry<'a> {
    #[serde(borrow, default)]
    manager: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    subresource: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
}

/// A string, or null as nothing; borrowed unless it has escapes.
struct OptionalText;

impl<'de> DeserializeSeed<'de> for OptionalText {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OptionalText {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }
}
