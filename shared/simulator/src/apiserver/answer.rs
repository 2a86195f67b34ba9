//! Whole answers, and answers that are the same for every request.

use bytes::Bytes;
use serde_json::Value;

use crate::json::encode;
use crate::kinds::ResourceType;
use crate::random::Random;
use crate::status::ApiError;
use crate::version::Version;

/// A whole answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Whether the answer comes from a filter that runs before the filter that sets `cache-control`.
    pub(super) is_early: bool,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<Bytes>,
}

impl Answer {
    pub(super) fn json(status: u16, value: &Value) -> Answer {
        Answer::bytes(status, "application/json", encode(value))
    }

    pub(super) fn chunks(status: u16, body: Vec<Bytes>) -> Answer {
        Answer {
            status,
            is_early: false,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body,
        }
    }

    pub(super) fn bytes(status: u16, content_type: &str, body: Bytes) -> Answer {
        let is_json = content_type.starts_with("application/json");
        // The encoder ends every document with a newline.
        let body = if is_json {
            Bytes::from([&body[..], b"\n"].concat())
        } else {
            body
        };
        Answer {
            status,
            is_early: false,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: vec![body],
        }
    }

    pub(super) fn refusal(error: &ApiError, version: Version) -> Answer {
        let mut answer = Answer::json(error.code, &error.status_of(version));
        if let Some(secs) = error.retry_after_secs {
            answer
                .headers
                .push(("retry-after".to_owned(), secs.to_string()));
        }
        answer
    }
}

/// The result of handling a request.
pub(super) enum Outcome {
    /// An answer to send now.
    Now(Answer),
    /// An answer to send when the write is committed.
    Committed(Answer),
    /// No answer yet: the reply stays open, because a watch runs or a read waits.
    Open,
}

/// Returns the answer of the filter that ends a request at the request's timeout.
pub(super) fn allotted_time_is_over() -> Answer {
    let text = concat!(
        r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","#,
        r#""reason":"Timeout","details":{},"code":504}"#,
        "\n"
    );
    let body = Bytes::from_static(text.as_bytes());
    Answer::bytes(504, "text/plain; charset=utf-8", body)
}

/// The headers of every answer, with a random audit id.
pub(super) fn common_headers(random: &mut Random) -> Vec<(String, String)> {
    vec![
        ("audit-id".to_owned(), random.uuid()),
        ("cache-control".to_owned(), "no-cache, private".to_owned()),
    ]
}

/// Returns the header that warns of a deprecated kind, for answers to reads and writes of the kind; `None` for other
/// kinds.
pub(super) fn deprecation(kind: &ResourceType) -> Option<(String, String)> {
    let text = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    (kind.kind == "Endpoints").then(|| warning(text))
}

/// Returns the header `warning` with a text.
pub(super) fn warning(text: &str) -> (String, String) {
    ("warning".to_owned(), format!("299 - {text:?}"))
}

/// Returns the answer of the apiserver's mux to a path that the mux does not know.
pub(super) fn nothing_here() -> Answer {
    plain_text(404, b"404 page not found\n")
}

/// Returns an answer in plain text, with the header that forbids a browser to guess the content type.
pub(super) fn plain_text(status: u16, text: &'static [u8]) -> Answer {
    unsniffed(Answer::bytes(
        status,
        "text/plain; charset=utf-8",
        Bytes::from_static(text),
    ))
}

/// Adds the header that forbids a browser to guess the content type.
pub(super) fn unsniffed(mut answer: Answer) -> Answer {
    answer
        .headers
        .push(("x-content-type-options".to_owned(), "nosniff".to_owned()));
    answer
}
