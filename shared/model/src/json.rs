//! The JSON form: one JSON object on each line, as in `-o jsonl`, `/api/records` and exported data.

use std::io::{Result as IoResult, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::event::{Event, Record};
use crate::id::{EpochId, LogId, Seq};
use crate::inside::{Entry, Inside, InsideRecord};
use crate::time::Time;

/// The JSON form of a record: `type`, `seq`, `at`, then the event's fields.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = LinePlace {
            seq: self.seq,
            at: self.at,
        };
        line(Some(place), &self.event, serializer)
    }
}

/// The same form as that of a [`Record`]; only `type` shows that the record is of the inside.
impl Serialize for InsideRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = LinePlace {
            seq: self.seq,
            at: self.at,
        };
        line(Some(place), &self.inside, serializer)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Record(record) => record.serialize(serializer),
            Self::Inside(record) => record.serialize(serializer),
        }
    }
}

/// The JSON form of an event without seq and time: `type`, then its fields.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        line(None, self, serializer)
    }
}

/// The seq and the time of the record on a line.
#[derive(Clone, Copy, Debug)]
struct LinePlace {
    seq: Seq,
    at: Time,
}

/// The type and the fields of a line.
trait Typed {
    fn type_name(&self) -> &'static str;
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

macro_rules! typed {
    ($($type:ty),*) => {$(
        impl Typed for $type {
            fn type_name(&self) -> &'static str {
                self.type_name()
            }
            fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                self.entries(map)
            }
        }
    )*};
}

typed!(Event, Inside);

fn line<S: Serializer>(
    place: Option<LinePlace>,
    event: &impl Typed,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("type", event.type_name())?;
    if let Some(place) = place {
        map.serialize_entry("seq", &place.seq)?;
        map.serialize_entry("at", &place.at)?;
    }
    event.entries(&mut map)?;
    map.end()
}

/// The first line of JSON lines of a log: the log's name and the records that it keeps. This line has no `seq` and no
/// `at`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The log.
    pub log: LogId,
    /// The run of the log's writer.
    pub epoch: EpochId,
    /// The seq of the first record that is kept. In lines from a log's files it is the seq of the first requested
    /// record, if that is later. Without records, it is the seq that the next record will have; in an export, 1.
    pub first: Seq,
    /// The seq of the last record that was sealed; in a recording or an export, of the last record that it has.
    /// Without records, it is `first` less 1.
    pub head: Seq,
}

impl Serialize for LogLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "log")?;
        map.serialize_entry("log", &self.log)?;
        map.serialize_entry("epoch", &self.epoch)?;
        map.serialize_entry("first", &self.first)?;
        map.serialize_entry("head", &self.head)?;
        map.end()
    }
}

/// Appends a value's JSON form on one line, and a newline. Characters that a terminal obeys ([`is_obeyed`]) are
/// escaped.
///
/// # Panics
/// It panics if the value cannot become JSON: its `Serialize` fails, or a key of a map cannot be written as a text.
pub fn push_line(value: &impl Serialize, out: &mut Vec<u8>) {
    push(value, out);
    out.push(b'\n');
}

/// Returns a value's JSON form on one line, without a newline. Characters that a terminal obeys ([`is_obeyed`]) are
/// escaped.
///
/// # Panics
/// It panics if [`push_line`] would.
#[must_use]
pub fn to_line(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    push(value, &mut out);
    String::from_utf8(out).expect("serde_json writes UTF-8")
}

fn push(value: &impl Serialize, out: &mut Vec<u8>) {
    let mut serializer = serde_json::Serializer::with_formatter(out, Plain);
    // Writing to a Vec does not fail, and every map key here is a string.
    value
        .serialize(&mut serializer)
        .expect("records serialize to memory");
}

/// Whether a terminal obeys a character instead of showing it. True for the control characters U+0000 to U+001F and
/// U+007F to U+009F. Also true for these characters, which change the direction of text: U+061C, U+200E, U+200F,
/// U+202A to U+202E, U+2066 to U+2069.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A formatter that writes as serde_json does, and also escapes every character that a terminal obeys. Of these
/// characters, JSON requires an escape only for U+0000 to U+001F.
struct Plain;

impl serde_json::ser::Formatter for Plain {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> IoResult<()> {
        let mut rest = fragment;
        // All of these characters but DEL begin with one of three bytes.
        while rest
            .bytes()
            .any(|byte| matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2))
            && let Some(at) = rest.find(is_obeyed)
            && let Some(c) = rest[at..].chars().next()
        {
            write!(writer, "{}\\u{:04x}", &rest[..at], u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use insta::assert_snapshot;

    use super::*;
    use crate::event::{Change, Gap, Loss, RequestAnswered};
    use crate::field::Headers;
    use crate::id::Owner;
    use crate::id::{Object, RequestId, StreamId, Uid};
    use crate::vocabulary::{Cause, ChangeType, LossPlace, Origin};

    fn record(event: impl Into<Event>) -> String {
        to_line(&Record {
            seq: Seq(7),
            at: Time(1_763_715_600_000_001),
            event: event.into(),
        })
    }

    #[test]
    fn a_change_has_its_object_flat_and_leaves_out_unknown_values() {
        assert_snapshot!(record(Change {
            watch: "shop/pods".into(),
            stream: Some(StreamId(12)),
            change: ChangeType::Modified,
            origin: Origin::Live,
            object: Arc::new(Object { namespace: Some("shop".into()), name: "web-0".into(), uid: Uid::parse("u1") }),
            resource_version: 603.into(),
            generation: None,
            manager: Some("kubelet".into()),
            subresource: Some("status".into()),
            bytes: Some(5900),
            stray: None,
            owner: None,
        }), @r#"{"type":"change","seq":7,"at":"2025-11-21T09:00:00.000001Z","watch":"shop/pods","stream":12,"change":"MODIFIED","origin":"live","namespace":"shop","name":"web-0","uid":"u1","resourceVersion":"603","manager":"kubelet","subresource":"status","bytes":5900}"#);
    }

    #[test]
    fn a_change_names_its_controller_by_kind_name_and_uid() {
        assert_snapshot!(record(Change {
            watch: "shop/pods".into(),
            stream: None,
            change: ChangeType::Added,
            origin: Origin::List,
            object: Arc::new(Object { namespace: Some("shop".into()), name: "web-0".into(), uid: Uid::parse("u1") }),
            resource_version: 603.into(),
            generation: None,
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
            owner: Some(Owner::new("ReplicaSet".into(), "web".into(), Uid::parse("u2"))),
        }), @r#"{"type":"change","seq":7,"at":"2025-11-21T09:00:00.000001Z","watch":"shop/pods","change":"ADDED","origin":"list","namespace":"shop","name":"web-0","uid":"u1","resourceVersion":"603","owner":{"kind":"ReplicaSet","name":"web","uid":"u2"}}"#);
    }

    #[test]
    fn headers_are_one_object_and_empty_ones_are_absent() {
        let answered = |headers| RequestAnswered {
            watch: "shop/pods".into(),
            request: RequestId(3),
            status: Some(429),
            headers,
            retry_after_ms: Some(1000),
            error: None,
            error_text: None,
        };
        assert_snapshot!(record(answered(Headers(vec![("retry-after".into(), "1".into())]))),
            @r#"{"type":"request.answered","seq":7,"at":"2025-11-21T09:00:00.000001Z","watch":"shop/pods","request":3,"status":429,"headers":{"retry-after":"1"},"retryAfterMs":1000}"#);
        assert!(!record(answered(Headers::default())).contains("headers"));
    }

    #[test]
    fn a_loss_line_and_a_log_line_begin_without_seq_and_at() {
        let loss = Loss {
            place: LossPlace::Ring,
            count: 3,
            from_seq: Some(Seq(1)),
            to_seq: Some(Seq(3)),
            watch: None,
            bytes: None,
            reason: None,
            what: None,
        };
        assert_snapshot!(to_line(&Event::from(loss)), @r#"{"type":"loss","where":"ring","count":3,"fromSeq":1,"toSeq":3}"#);
        let log = LogLine {
            log: "demo".into(),
            epoch: "e1".into(),
            first: Seq(4),
            head: Seq(9),
        };
        assert_snapshot!(to_line(&log), @r#"{"type":"log","log":"demo","epoch":"e1","first":4,"head":9}"#);
    }

    /// Row 29 of the attack table.
    #[test]
    fn characters_that_a_terminal_obeys_are_escaped_and_read_back() {
        let text = "a\u{1b}[2J\u{9b}2J\u{7f}\u{85}é\u{202e}\u{61c}ب‰\n";
        let line = to_line(&text);
        assert_eq!(line, r#""a\u001b[2J\u009b2J\u007f\u0085é\u202e\u061cب‰\n""#);
        assert_eq!(
            serde_json::from_str::<String>(&line).ok().as_deref(),
            Some(text)
        );
        let all: String = ('\0'..='\u{2100}').collect();
        let line = to_line(&all);
        assert!(!line.chars().any(is_obeyed), "{line}");
        assert_eq!(serde_json::from_str::<String>(&line).ok(), Some(all));
    }

    #[test]
    fn a_gap_that_lost_an_unknown_number_has_no_number() {
        assert_snapshot!(record(Gap {
            watch: "shop/pods".into(), since: Seq(5), from: Some(100.into()), to: Some(220.into()),
            reason: Cause::ErrorEvent, resumed: false, lost: None,
        }), @r#"{"type":"gap","seq":7,"at":"2025-11-21T09:00:00.000001Z","watch":"shop/pods","since":5,"from":"100","to":"220","reason":"error-event","resumed":false}"#);
    }
}
