//! What a client reads from bytes: watch frames as they come, lists, and the Status of a refusal.

use serde::Deserialize;

use super::{Held, Key};

/// Bytes of one unfinished frame a client keeps before it gives the stream up; an object is at most 1.5 MB.
const FRAME_BYTES_MOST: usize = 4 * 1024 * 1024;

/// An object as far as the programs read it; also a Status, which has the fields of none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) annotations: Option<Annotations>,
    /// Of a list that goes on, or of the Status of one that expired.
    #[serde(rename = "continue")]
    pub(crate) continue_token: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Annotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Spec {
    pub(crate) node_name: String,
    pub(crate) scheduler_name: String,
    /// Of a node: it takes no more pods.
    pub(crate) unschedulable: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Details {
    retry_after_seconds: u64,
    causes: Vec<Reason>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Reason {
    reason: String,
    message: String,
}

impl Document {
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

    /// The Status client-go makes of bytes it cannot decode (`NewClientErrorReporter`).
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

    /// Whether a bookmark ends the initial events.
    pub(crate) fn ends_initial_events(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations.and_then(|a| a.initial_events_end.as_deref()) == Some("true")
    }
}

/// What a watch frame says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
    /// A type this protocol does not have.
    Other,
}

/// A watch frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) event: EventType,
    pub(crate) object: Document,
}

#[derive(Deserialize)]
struct RawFrame<'a> {
    #[serde(rename = "type", borrow)]
    event: std::borrow::Cow<'a, str>,
    #[serde(default)]
    object: Document,
}

/// The bytes of a watch are no frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable;

/// Cuts a watch's bytes into frames, as Go's `json.Decoder` does: a frame ends where its JSON ends.
///
/// Bounded: an unfinished frame over 4 MiB is undecodable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    unfinished: Vec<u8>,
}

impl Frames {
    /// Takes bytes; the frames they complete. After `Err` the stream is of no more use.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Undecodable> {
        let mut joined = std::mem::take(&mut self.unfinished);
        let all = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let mut frames = Vec::new();
        let mut documents = serde_json::Deserializer::from_slice(all).into_iter::<RawFrame<'_>>();
        loop {
            match documents.next() {
                None => break,
                Some(Ok(raw)) => frames.push(Frame {
                    event: event_type(&raw.event),
                    object: raw.object,
                }),
                Some(Err(error)) if error.is_eof() => {
                    let rest = &all[documents.byte_offset()..];
                    if rest.len() > FRAME_BYTES_MOST {
                        return Err(Undecodable);
                    }
                    self.unfinished = rest.to_vec();
                    break;
                }
                Some(Err(_)) => return Err(Undecodable),
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

/// A list, or a page of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct List {
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) items: Option<Vec<Document>>,
}

impl List {
    pub(crate) fn parse(body: &[u8]) -> Result<List, Undecodable> {
        serde_json::from_slice(body).map_err(|_| Undecodable)
    }
}

/// Why the server refused, as apimachinery's `apierrors` see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// A new token for an expired list.
    pub(crate) continue_token: String,
    details: Details,
}

impl Refusal {
    /// Of an ERROR event's object.
    pub(crate) fn of_event(status: Document) -> Refusal {
        Refusal {
            code: status.code,
            reason: status.reason,
            message: status.message,
            continue_token: status.metadata.continue_token,
            details: status.details.unwrap_or_default(),
        }
    }

    /// Of an HTTP answer; what is no Status is taken for one by its code, as client-go does.
    pub(crate) fn of_answer(code: u16, body: &[u8]) -> Refusal {
        match serde_json::from_slice::<Document>(body) {
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

    /// 410: the history is gone (`IsResourceExpired` or `IsGone`).
    pub(crate) fn is_expired(&self) -> bool {
        matches!(self.reason.as_str(), "Expired" | "Gone") || self.code == 410
    }

    /// The server has not reached the resourceVersion asked for.
    pub(crate) fn is_too_large(&self) -> bool {
        let causes = &self.details.causes;
        causes.iter().any(|c| c.reason == "ResourceVersionTooLarge")
            || (self.reason == "Timeout"
                && (causes
                    .iter()
                    .any(|c| c.message == "Too large resource version")
                    || self.message.contains("Too large resource version")))
    }

    /// 429.
    pub(crate) fn is_too_many_requests(&self) -> bool {
        self.reason == "TooManyRequests" || self.code == 429
    }

    /// `details.retryAfterSeconds`.
    pub(crate) fn retry_after_secs(&self) -> u64 {
        self.details.retry_after_seconds
    }
}

/// The reason client-go's `NewGenericServerResponse` gives a bare status code.
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
    fn half_a_frame_is_no_frame_and_what_cannot_become_one_is_undecodable() {
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
