//! Decodes an object's identity, version and last writer, and finds the values to redact.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use super::DecodeError;
use super::value::{Cuts, FIELDS, cut, fields, follow, follow_at};
use crate::redact::{LAST_APPLIED, Rule, copy_without, rule_for};
use watchscope_model::json_reader::{JsonError, JsonErrorKind, Next, Reader};

/// An object as it came, with the parts that the machine needs.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    /// The object's JSON.
    pub(crate) raw: &'a str,
    /// The object's identity and metadata.
    pub(crate) head: ObjectHead<'a>,
    /// The offset of `raw` in the text that was read.
    start: usize,
    /// The range of the decoder's cuts that lie in this object; absent if its body must be withheld.
    cuts: Option<Range<usize>>,
}

impl Object<'_> {
    /// Whether the object's body must be withheld, because a part to redact has an unknown form.
    pub(crate) fn is_withheld(&self) -> bool {
        self.cuts.is_none()
    }
}

/// An object's identity and metadata, borrowed from its text.
#[derive(Debug, Default)]
pub(crate) struct ObjectHead<'a> {
    /// `kind`; absent in items of a list.
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
    /// The object's controller.
    pub(crate) owner: Option<OwnerHead<'a>>,
    /// `metadata.labels` as JSON.
    pub(crate) labels: Option<&'a str>,
    /// The field manager that wrote the object last.
    pub(crate) writer: Writer<'a>,
    /// Whether the annotation `k8s.io/initial-events-end` is `true`, as in the last bookmark of initial events.
    pub(crate) initial_events_end: bool,
}

/// The reference in `metadata.ownerReferences` with `controller: true`; the apiserver accepts at most one.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OwnerHead<'a> {
    pub(crate) kind: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
}

/// The last writer of an object, by the newest `managedFields` entry. Times in `managedFields` are whole seconds.
#[derive(Debug, Default)]
pub(crate) struct Writer<'a> {
    time: Cow<'a, str>,
    manager: Agreed<'a>,
    subresource: Agreed<'a>,
}

impl<'a> Writer<'a> {
    /// The manager; `None` if no entry names one, or if entries of the newest second name different managers.
    pub(crate) fn manager(&self) -> Option<&str> {
        self.manager.get()
    }

    /// The subresource of the write. `None` if the object itself was written, or if entries of the newest second name
    /// different subresources.
    pub(crate) fn subresource(&self) -> Option<&str> {
        self.subresource.get()
    }

    /// Adds another entry.
    fn join(&mut self, entry: Self) {
        // The times are RFC 3339 in UTC with whole seconds, so texts sort as times do.
        match entry.time.cmp(&self.time) {
            Ordering::Less => {}
            Ordering::Equal => {
                self.manager.join(entry.manager);
                self.subresource.join(entry.subresource);
            }
            Ordering::Greater => *self = entry,
        }
    }
}

/// A text that several entries may agree on.
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

/// Decodes a single object of any kind. It fails if the body is not UTF-8, not JSON, no object, or nested too deep. It
/// also fails if a field that is read has a wrong type.
pub(crate) fn decode_object<'a>(
    body: &'a [u8],
    decoder: &mut Decoder,
) -> Result<Object<'a>, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|error| DecodeError::Utf8(error.valid_up_to()))?;
    let mut reader = Reader::new(text);
    decoder.begin();
    let object = decoder.object(&mut reader)?;
    reader.end()?;
    Ok(object)
}

/// A reader of the objects of one watch. The decoder reuses its list of cuts from text to text, so reading an object
/// allocates nothing for it.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The kind of object that the watch requests.
    kind: String,
    rule: &'static Rule,
    /// The cuts in the objects of the text that was read last.
    cuts: Cuts,
}

impl Decoder {
    /// A decoder for a resource whose objects have the kind `kind`.
    pub(crate) fn new(group: &str, kind: &str, redact_configmaps: bool) -> Self {
        Self {
            kind: kind.to_owned(),
            rule: rule_for(group, kind, redact_configmaps),
            cuts: Vec::new(),
        }
    }

    /// The kind of object that the watch requests.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Begins a new text. Objects of the previous text can no longer be copied.
    pub(super) fn begin(&mut self) {
        self.cuts.clear();
    }

    /// Reads the next object. If a part to redact has a form that the rules do not know, the object is still read, and
    /// its body is withheld. It fails if the object is not JSON, or a field that is read has a wrong type.
    pub(super) fn object<'a>(&mut self, reader: &mut Reader<'a>) -> Result<Object<'a>, JsonError> {
        let start = reader.position();
        let first_cut = self.cuts.len();
        let again = reader.clone();
        let mut head = ObjectHead::default();
        let mut is_withheld = false;
        match read_object(reader, self.rule, &mut self.cuts, &mut head) {
            Ok(()) => {}
            Err(error) if error.kind == JsonErrorKind::Shape => {
                is_withheld = true;
                self.cuts.truncate(first_cut);
                *reader = again;
                head = ObjectHead::default();
                read_object(reader, &Rule::At(&[]), &mut self.cuts, &mut head)?;
            }
            Err(error) => return Err(error),
        }
        Ok(Object {
            raw: &reader.text()[start..reader.position_after()],
            head,
            start,
            cuts: (!is_withheld).then_some(first_cut..self.cuts.len()),
        })
    }

    /// Appends an object's redacted body; returns its range in `out`. `None` if the body must be withheld.
    pub(crate) fn copy_body(&self, object: &Object<'_>, out: &mut Vec<u8>) -> Option<Range<usize>> {
        let cuts = object.cuts.clone()?;
        let start = out.len();
        copy_without(object.raw, object.start, &self.cuts[cuts], out);
        Some(start..out.len())
    }

    /// Checks that `kind` is the requested one. `PartialObjectMetadata`, the kind of objects with metadata alone, is
    /// accepted, too. It fails for any other kind, and for `None`.
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
}

fn read_object<'a>(
    reader: &mut Reader<'a>,
    rule: &'static Rule,
    cuts: &mut Cuts,
    head: &mut ObjectHead<'a>,
) -> Result<(), JsonError> {
    reader.object(|reader, key| {
        match (&*key, rule) {
            ("kind", _) => head.kind = reader.optional_string()?,
            ("metadata", rule) => read_metadata(reader, rule, cuts, head)?,
            (key, Rule::At(places)) => follow_at(reader, places, key, cuts)?,
            (_, rule) => follow(reader, rule, cuts)?,
        }
        Ok(())
    })
}

fn read_metadata<'a>(
    reader: &mut Reader<'a>,
    rule: &'static Rule,
    cuts: &mut Cuts,
    head: &mut ObjectHead<'a>,
) -> Result<(), JsonError> {
    reader.object(|reader, key| {
        match &*key {
            "name" => head.name = reader.optional_string()?,
            "namespace" => head.namespace = reader.optional_string()?,
            "uid" => head.uid = reader.optional_string()?,
            "resourceVersion" => head.resource_version = reader.optional_string()?,
            "generation" => {
                let place = reader.skip()?;
                head.generation = reader.text()[place].parse().ok();
            }
            "annotations" => read_annotations(reader, cuts, head)?,
            "labels" => {
                let place = reader.skip()?;
                head.labels = Some(&reader.text()[place]);
            }
            "ownerReferences" => head.owner = read_owner(reader)?,
            "managedFields" => read_managed_fields(reader, rule, cuts, &mut head.writer)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })
}

/// Reads annotations: cuts the last-applied annotation, and reads the annotation that marks the end of initial events.
/// It fails if the value is neither an object nor null, or that mark is no text.
fn read_annotations<'a>(
    reader: &mut Reader<'a>,
    cuts: &mut Cuts,
    head: &mut ObjectHead<'a>,
) -> Result<(), JsonError> {
    if reader.peek()? == Next::Null {
        return reader.skip().map(|_| ());
    }
    reader.object(|reader, key| {
        match &*key {
            LAST_APPLIED => cut(reader, cuts)?,
            // KEP-3157; see docs/semantics/lists-and-watches.md#watch-list.
            "k8s.io/initial-events-end" => {
                head.initial_events_end = reader.optional_string()?.as_deref() == Some("true");
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })
}

/// Reads the controller among the owners; the last one, if there are several. Owners of an unknown form count as no
/// controller, because nothing depends on them. It fails only if the owners are not JSON, or nested too deep.
fn read_owner<'a>(reader: &mut Reader<'a>) -> Result<Option<OwnerHead<'a>>, JsonError> {
    let again = reader.clone();
    match read_controller(reader) {
        Err(error) if error.kind == JsonErrorKind::Shape => {
            *reader = again;
            reader.skip().map(|_| None)
        }
        found => found,
    }
}

fn read_controller<'a>(reader: &mut Reader<'a>) -> Result<Option<OwnerHead<'a>>, JsonError> {
    if reader.peek()? == Next::Null {
        return reader.skip().map(|_| None);
    }
    let mut found = None;
    reader.array(|reader| {
        let (mut owner, mut is_controller) = (OwnerHead::default(), false);
        reader.object(|reader, key| {
            match &*key {
                "kind" => owner.kind = reader.string()?,
                "name" => owner.name = reader.string()?,
                "uid" => owner.uid = reader.string()?,
                "controller" => {
                    let place = reader.skip()?;
                    is_controller = reader.text()[place].trim() == "true";
                }
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        if is_controller {
            found = Some(owner);
        }
        Ok(())
    })?;
    Ok(found)
}

fn read_managed_fields<'a>(
    reader: &mut Reader<'a>,
    rule: &'static Rule,
    cuts: &mut Cuts,
    writer: &mut Writer<'a>,
) -> Result<(), JsonError> {
    if reader.peek()? == Next::Null {
        return reader.skip().map(|_| ());
    }
    reader.array(|reader| {
        let (mut time, mut manager, mut subresource) = (None, None, None);
        reader.object(|reader, key| {
            match &*key {
                "manager" => manager = reader.optional_string()?,
                "subresource" => subresource = reader.optional_string()?,
                "time" => time = reader.optional_string()?,
                // For kinds with known rules, the field names quote no value that must be cut.
                FIELDS if matches!(rule, Rule::Walk) => fields(reader, cuts)?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        if let Some(time) = time {
            writer.join(Writer {
                time,
                manager: Agreed::of(manager),
                subresource: Agreed::of(subresource),
            });
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(entries: &str) -> (Option<String>, Option<String>) {
        let text = format!(r#"{{"metadata":{{"managedFields":{entries}}}}}"#);
        let mut decoder = Decoder::new("", "Pod", false);
        let object = decoder.object(&mut Reader::new(&text)).unwrap();
        let writer = &object.head.writer;
        (
            writer.manager().map(str::to_owned),
            writer.subresource().map(str::to_owned),
        )
    }

    #[test]
    fn the_owner_is_the_controlling_reference_and_owners_of_an_unknown_form_count_as_none() {
        let owner = |references: &str| {
            let text = format!(
                r#"{{"metadata":{{"ownerReferences":{references},"name":"a"}},"spec":{{}}}}"#
            );
            let mut decoder = Decoder::new("", "Pod", false);
            let object = decoder.object(&mut Reader::new(&text)).unwrap();
            assert_eq!(object.head.name.as_deref(), Some("a"));
            assert!(object.cuts.is_some(), "its body is kept");
            let owner = object.head.owner.as_ref();
            owner.map(|owner| format!("{} {} {}", owner.kind, owner.name, owner.uid))
        };
        let set = r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u1","controller":true}"#;
        let other = r#"{"apiVersion":"v1","kind":"Node","name":"n","uid":"u2","controller":false}"#;
        let neither = r#"{"kind":"Node","name":"n","uid":"u2"}"#;
        let controlled = Some("ReplicaSet web-1 u1".to_owned());
        assert_eq!(owner(&format!("[{set}]")), controlled);
        assert_eq!(owner(&format!("[{other},{set},{neither}]")), controlled);
        for none in [other, neither] {
            assert_eq!(owner(&format!("[{none}]")), None);
        }
        for strange in [
            "null",
            "[]",
            "{}",
            "7",
            "[7]",
            r#"[{"kind":7,"controller":true}]"#,
        ] {
            assert_eq!(owner(strange), None, "{strange}");
        }
    }

    #[test]
    fn the_writer_is_the_newest_entrys_unless_entries_of_its_second_disagree() {
        let pair = |manager: Option<&str>, subresource: Option<&str>| {
            (manager.map(str::to_owned), subresource.map(str::to_owned))
        };
        assert_eq!(
            writer(
                r#"[{"manager":"kubelet","time":"2026-01-01T00:00:02Z","subresource":"status"},{"manager":"kubectl","time":"2026-01-01T00:00:01Z"},{"manager":"timeless"}]"#
            ),
            pair(Some("kubelet"), Some("status"))
        );
        assert_eq!(
            writer(
                r#"[{"manager":"a","time":"2026-01-01T00:00:02Z","subresource":"status"},{"manager":"a","time":"2026-01-01T00:00:02Z"}]"#
            ),
            pair(Some("a"), None)
        );
        assert_eq!(
            writer(
                r#"[{"manager":"a","time":"2026-01-01T00:00:02Z"},{"manager":"b","time":"2026-01-01T00:00:02Z"}]"#
            ),
            pair(None, None)
        );
        assert_eq!(writer("null"), pair(None, None));
    }
}
