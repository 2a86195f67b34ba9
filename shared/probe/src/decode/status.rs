//! A `Status`: the body of a refusal, or the object of an ERROR event.

use std::borrow::Cow;

use serde::Deserialize;

/// What the machine needs of a Status.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Status<'a> {
    /// HTTP status code.
    #[serde(default)]
    pub(crate) code: Option<u64>,
    /// Reason, one word.
    #[serde(borrow, default)]
    pub(crate) reason: Option<Cow<'a, str>>,
    /// Message for people.
    #[serde(borrow, default)]
    pub(crate) message: Option<Cow<'a, str>>,
    /// More.
    #[serde(borrow, default)]
    details: Option<Details<'a>>,
}

#[derive(Debug, Default, Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(rename = "retryAfterSeconds", default)]
    retry_after_seconds: Option<u64>,
    #[serde(borrow, default)]
    causes: Option<Vec<StatusCause<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
struct StatusCause<'a> {
    #[serde(borrow, default)]
    reason: Option<Cow<'a, str>>,
}

impl<'a> Status<'a> {
    /// Reads a Status.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The history asked for is gone; reason `Gone` up to 1.17.
    pub(crate) fn is_expired(&self) -> bool {
        self.code == Some(410) || matches!(self.reason.as_deref(), Some("Expired" | "Gone"))
    }

    /// The server has not reached the resourceVersion asked for (504 with this cause).
    pub(crate) fn is_too_large(&self) -> bool {
        let caused = self
            .details
            .iter()
            .flat_map(|details| details.causes.iter().flatten())
            .any(|cause| cause.reason.as_deref() == Some("ResourceVersionTooLarge"));
        caused
            || self
                .message
                .as_deref()
                .is_some_and(|message| message.starts_with("Too large resource version"))
    }

    /// What the server asks to wait, in milliseconds.
    pub(crate) fn retry_after_ms(&self) -> Option<u64> {
        let seconds = self.details.as_ref()?.retry_after_seconds?;
        (seconds > 0).then(|| seconds.saturating_mul(1_000))
    }

    /// Whether it is about Secrets, whose contents a message may quote (Argo CD CVE-2025-23216).
    pub(crate) fn is_about_secrets(&self) -> bool {
        self.details
            .as_ref()
            .and_then(|details| details.kind.as_deref())
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("secret"))
    }
}
