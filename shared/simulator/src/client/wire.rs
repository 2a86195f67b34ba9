//! What a client reads from bytes: watch frames, lists, and the Status of a refusal.

use serde_json::{Map, Value};

use super::belief::{Held, Key};
use crate::json::{self, Unreadable};

/// The most bytes of an unfinished frame before a client gives the stream up. An object has at most 1.5 MB
/// (docs/semantics/servers.md#load), so no frame of a real object is longer. The number has no other source.
const FRAME_BYTES_MOST: usize = 4 * 1024 * 1024;

/// The fields of an object, or of a Status, that client programs read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) kind: String,
    pub(crate) api_version: String,
    pub(crate) metadata: Metadata,
    pub(crate) spec: Spec,
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) details: Option<Details>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) annotations: Option<Annotations>,
    /// The continue token of a list with further pages, or of the Status of an expired list; else empty.
    pub(crate) continue_token: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Annotations {
    initial_events_end: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) node_name: String,
    pub(crate) scheduler_name: String,
    /// Whether this is a node that takes no more pods (`spec.unschedulable`).
    pub(crate) unschedulable: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Details {
    retry_after_seconds: u64,
    causes: Vec<Reason>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reason {
    reason: String,
    message: String,
}

/// The fields of a JSON map. An absent field reads as empty; a field of a wrong type makes the map undecodable.
struct Fields(Map<String, Value>);

impl Fields {
    fn of(value: Value) -> Result<Fields, Undecodable> {
        match value {
            Value::Object(map) => Ok(Fields(map)),
            _ => Err(Undecodable),
        }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.0.get_mut(key).map(Value::take)
    }

    fn text(&mut self, key: &str) -> Result<String, Undecodable> {
        match self.take(key) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(Undecodable),
        }
    }

    fn number(&mut self, key: &str) -> Result<u64, Undecodable> {
        self.take(key)
            .map_or(Ok(0), |value| value.as_u64().ok_or(Undecodable))
    }

    fn flag(&mut self, key: &str) -> Result<bool, Undecodable> {
        self.take(key)
            .map_or(Ok(false), |value| value.as_bool().ok_or(Undecodable))
    }

    fn part<T: Default>(
        &mut self,
        key: &str,
        read: impl Fn(Value) -> Result<T, Undecodable>,
    ) -> Result<T, Undecodable> {
        self.take(key).map_or_else(|| Ok(T::default()), read)
    }

    /// Takes the value of a key that may be absent or null; `None` for both.
    fn optional<T>(
        &mut self,
        key: &str,
        read: impl Fn(Value) -> Result<T, Undecodable>,
    ) -> Result<Option<T>, Undecodable> {
        let value = self.take(key).filter(|value| !value.is_null());
        value.map(read).transpose()
    }

    fn list<T>(
        &mut self,
        key: &str,
        read: impl Fn(Value) -> Result<T, Undecodable>,
    ) -> Result<Option<Vec<T>>, Undecodable> {
        self.optional(key, |value| match value {
            Value::Array(items) => items.into_iter().map(&read).collect(),
            _ => Err(Undecodable),
        })
    }
}

fn parse(body: &[u8]) -> Result<Value, Undecodable> {
    json::read(body).map_err(|_| Undecodable)
}

impl Metadata {
    fn read(value: Value) -> Result<Metadata, Undecodable> {
        let mut fields = Fields::of(value)?;
        Ok(Metadata {
            name: fields.text("name")?,
            namespace: fields.text("namespace")?,
            uid: fields.text("uid")?,
            resource_version: fields.text("resourceVersion")?,
            annotations: fields.optional("annotations", |value| {
                let mut fields = Fields::of(value)?;
                Ok(Annotations {
                    initial_events_end: fields.text("k8s.io/initial-events-end")?,
                })
            })?,
            continue_token: fields.text("continue")?,
        })
    }
}

impl Spec {
    fn read(value: Value) -> Result<Spec, Undecodable> {
        let mut fields = Fields::of(value)?;
        Ok(Spec {
            node_name: fields.text("nodeName")?,
            scheduler_name: fields.text("schedulerName")?,
            unschedulable: fields.flag("unschedulable")?,
        })
    }
}

impl Details {
    fn read(value: Value) -> Result<Details, Undecodable> {
        let mut fields = Fields::of(value)?;
        let causes = fields.list("causes", |value| {
            let mut fields = Fields::of(value)?;
            Ok(Reason {
                reason: fields.text("reason")?,
                message: fields.text("message")?,
            })
        })?;
        Ok(Details {
            retry_after_seconds: fields.number("retryAfterSeconds")?,
            causes: causes.unwrap_or_default(),
        })
    }
}

impl Frame {
    fn read(value: Value) -> Result<Frame, Undecodable> {
        let mut fields = Fields::of(value)?;
        let word = fields.take("type").ok_or(Undecodable)?;
        Ok(Frame {
            event: event_type(word.as_str().ok_or(Undecodable)?),
            object: fields.part("object", Document::read)?,
        })
    }
}

impl Document {
    fn read(value: Value) -> Result<Document, Undecodable> {
        let mut fields = Fields::of(value)?;
        let code = fields.number("code")?;
        Ok(Document {
            kind: fields.text("kind")?,
            api_version: fields.text("apiVersion")?,
            metadata: fields.part("metadata", Metadata::read)?,
            spec: fields.part("spec", Spec::read)?,
            code: u16::try_from(code).map_err(|_| Undecodable)?,
            reason: fields.text("reason")?,
            message: fields.text("message")?,
            details: fields.optional("details", Details::read)?,
        })
    }

    pub(crate) fn key(&self) -> Key {
        let metadata = &self.metadata;
        (metadata.namespace.clone(), metadata.name.clone())
    }

    pub(crate) fn held(&self) -> Held {
        Held {
            uid: self.metadata.uid.clone(),
            resource_version: self.metadata.resource_version.clone(),
        }
    }

    /// Returns the Status that client-go makes for bytes that it cannot decode (`NewClientErrorReporter`).
    pub(crate) fn client_watch_decoding(what: &str) -> Document {
        let message = format!("unable to decode an event from the watch stream: {what}");
        Document {
            kind: "Status".to_owned(),
            code: 500,
            reason: "InternalError".to_owned(),
            details: Some(Details {
                retry_after_seconds: 0,
                causes: vec![Reason {
                    reason: "ClientWatchDecoding".to_owned(),
                    message: message.clone(),
                }],
            }),
            message,
            ..Document::default()
        }
    }

    /// Returns whether a bookmark ends the initial events.
    pub(crate) fn ends_initial_events(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations.is_some_and(|a| a.initial_events_end == "true")
    }
}

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
    /// A type that the watch protocol does not have.
    Other,
}

/// A watch frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) event: EventType,
    pub(crate) object: Document,
}

/// The error for bytes that are not a watch frame, a list or a Status, or that have a field of a wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable;

/// A splitter of a watch's bytes into frames, as Go's `json.Decoder` (`encoding/json/stream.go`): a frame ends where
/// its JSON value ends.
///
/// Bounded: an unfinished frame over 4 MiB is undecodable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    unfinished: Vec<u8>,
}

impl Frames {
    /// Takes bytes and returns the frames that these bytes complete. After an `Err` the stream is unusable.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Undecodable> {
        let mut joined = std::mem::take(&mut self.unfinished);
        let all = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let mut frames = Vec::new();
        let mut rest = all;
        loop {
            rest = rest.trim_ascii_start();
            match json::read_first(rest) {
                Ok((value, end)) => {
                    frames.push(Frame::read(value)?);
                    rest = &rest[end..];
                }
                Err(Unreadable::Short) if rest.len() > FRAME_BYTES_MOST => return Err(Undecodable),
                Err(Unreadable::Short) => {
                    self.unfinished = rest.to_vec();
                    break;
                }
                Err(Unreadable::Malformed) => return Err(Undecodable),
            }
        }
        Ok(frames)
    }
}

fn event_type(word: &str) -> EventType {
    match word {
        "ADDED" => EventType::Added,
        "MODIFIED" => EventType::Modified,
        "DELETED" => EventType::Deleted,
        "BOOKMARK" => EventType::Bookmark,
        "ERROR" => EventType::Error,
        _ => EventType::Other,
    }
}

/// A list, or one page of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) items: Option<Vec<Document>>,
}

impl List {
    pub(crate) fn parse(body: &[u8]) -> Result<List, Undecodable> {
        List::read(parse(body)?)
    }

    fn read(value: Value) -> Result<List, Undecodable> {
        let mut fields = Fields::of(value)?;
        Ok(List {
            kind: fields.text("kind")?,
            metadata: fields.part("metadata", Metadata::read)?,
            items: fields.list("items", Document::read)?,
        })
    }
}

/// A refusal by the server, as apimachinery's `apierrors` read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The token with which a client can continue an expired list; else empty.
    pub(crate) continue_token: String,
    details: Details,
}

impl Refusal {
    /// Reads the refusal in the object of an ERROR event.
    pub(crate) fn of_event(status: Document) -> Refusal {
        Refusal {
            code: status.code,
            reason: status.reason,
            message: status.message,
            continue_token: status.metadata.continue_token,
            details: status.details.unwrap_or_default(),
        }
    }

    /// Reads the refusal in an HTTP answer. For a body without a Status, the HTTP code determines the Status, as in
    /// client-go.
    pub(crate) fn of_answer(code: u16, body: &[u8]) -> Refusal {
        match parse(body).and_then(Document::read) {
            Ok(status) if status.kind == "Status" => Refusal {
                code,
                ..Refusal::of_event(status)
            },
            _ => Refusal {
                code,
                reason: generic_reason(code).to_owned(),
                message: String::from_utf8_lossy(body).trim().to_owned(),
                continue_token: String::new(),
                details: Details::default(),
            },
        }
    }

    /// Returns whether the server no longer has the history: 410 (`IsResourceExpired` or `IsGone`).
    pub(crate) fn is_expired(&self) -> bool {
        matches!(self.reason.as_str(), "Expired" | "Gone") || self.code == 410
    }

    /// Returns whether the refusal says that the server has not reached the requested resourceVersion.
    pub(crate) fn is_too_large(&self) -> bool {
        let causes = &self.details.causes;
        causes.iter().any(|c| c.reason == "ResourceVersionTooLarge")
            || (self.reason == "Timeout"
                && (causes
                    .iter()
                    .any(|c| c.message == "Too large resource version")
                    || self.message.contains("Too large resource version")))
    }

    /// Returns whether the refusal is a 429.
    pub(crate) fn is_too_many_requests(&self) -> bool {
        self.reason == "TooManyRequests" || self.code == 429
    }

    /// Returns `details.retryAfterSeconds` of the Status; 0 if it is absent.
    pub(crate) fn retry_after_secs(&self) -> u64 {
        self.details.retry_after_seconds
    }
}

/// Returns the reason that client-go's `NewGenericServerResponse` gives a status code without a Status.
fn generic_reason(code: u16) -> &'static str {
    match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Gone",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two watch frames, each with its line end: an ADDED and the bookmark that ends initial events.
    const TWO: &str = concat!(
        r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":"7"},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}}"#,
        "\n",
        r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"x":"y","k8s.io/initial-events-end":"true"}}}}"#,
        "\n"
    );

    #[test]
    fn frames_are_the_same_however_their_bytes_are_cut() {
        let whole = Frames::default().take(TWO.as_bytes()).unwrap();
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[0].object.spec.node_name, "n");
        assert!(whole[1].object.ends_initial_events());
        for at in 0..TWO.len() {
            let mut frames = Frames::default();
            let mut got = frames.take(&TWO.as_bytes()[..at]).unwrap();
            got.extend(frames.take(&TWO.as_bytes()[at..]).unwrap());
            assert_eq!(got, whole, "cut at {at}");
        }
    }

    #[test]
    fn half_a_frame_is_no_frame_and_bytes_that_cannot_become_one_are_undecodable() {
        let mut frames = Frames::default();
        assert_eq!(frames.take(&TWO.as_bytes()[..40]), Ok(Vec::new()));
        assert_eq!(frames.take(b"\x00"), Err(Undecodable));
    }

    #[test]
    fn a_refusal_is_read_from_a_status_or_made_of_a_bare_code() {
        let expired = Refusal::of_answer(410, br#"{"kind":"Status","code":410,"reason":"Expired","metadata":{"continue":"next"},"message":"too old"}"#);
        assert!(expired.is_expired());
        assert_eq!(expired.continue_token, "next");
        let throttled = Refusal::of_answer(429, b"Too many requests, please try again later.\n");
        assert!(throttled.is_too_many_requests());
        let large = Refusal::of_answer(
            504,
            br#"{"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}"#,
        );
        assert!(large.is_too_large() && !large.is_expired());
        assert_eq!(large.retry_after_secs(), 1);
    }
}
