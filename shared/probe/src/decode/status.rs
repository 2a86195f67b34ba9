//! Decodes a `Status`: the body of a refusal, or the object of an ERROR event.

use std::borrow::Cow;

use watchscope_model::json_reader::{JsonError, Next, Reader};

/// The parts of a Status that the machine needs (docs/semantics/requests.md#errors).
#[derive(Debug, Default)]
pub(crate) struct Status<'a> {
    /// The HTTP status code.
    pub(crate) code: Option<u64>,
    /// The reason, in one word.
    pub(crate) reason: Option<Cow<'a, str>>,
    /// The message for people.
    pub(crate) message: Option<Cow<'a, str>>,
    /// The details of the Status.
    details: Option<Details<'a>>,
}

#[derive(Debug, Default)]
struct Details<'a> {
    kind: Option<Cow<'a, str>>,
    retry_after_seconds: Option<u64>,
    /// The reasons of the causes in the details.
    causes: Vec<Cow<'a, str>>,
}

impl<'a> Details<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, JsonError> {
        let mut details = Self::default();
        reader.object(|reader, key| {
            match &*key {
                "kind" => details.kind = reader.optional_string()?,
                "retryAfterSeconds" => details.retry_after_seconds = number(reader)?,
                "causes" if reader.peek()? != Next::Null => reader.array(|reader| {
                    reader.object(|reader, key| {
                        if key == "reason" {
                            details.causes.extend(reader.optional_string()?);
                        } else {
                            reader.skip()?;
                        }
                        Ok(())
                    })
                })?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(details)
    }
}

/// Reads a whole number; null is `None`. It fails for any other value, and for a number above 64 bits.
fn number(reader: &mut Reader<'_>) -> Result<Option<u64>, JsonError> {
    if reader.peek()? == Next::Null {
        return reader.skip().map(|_| None);
    }
    let unexpected = reader.unexpected();
    let place = reader.skip()?;
    let number = reader.text()[place].parse();
    number.map(Some).map_err(|_| unexpected)
}

impl<'a> Status<'a> {
    /// Parses a Status; `None` if the text is not one.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        let mut reader = Reader::new(json);
        let status = Self::read(&mut reader).ok()?;
        reader.end().ok()?;
        Some(status)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, JsonError> {
        let mut status = Self::default();
        reader.object(|reader, key| {
            match &*key {
                "code" => status.code = number(reader)?,
                "reason" => status.reason = reader.optional_string()?,
                "message" => status.message = reader.optional_string()?,
                "details" if reader.peek()? != Next::Null => {
                    status.details = Some(Details::read(reader)?);
                }
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(status)
    }

    /// Whether the requested history is gone: code 410, or reason `Expired` (`Gone` up to 1.17;
    /// docs/semantics/requests.md#expired).
    pub(crate) fn is_expired(&self) -> bool {
        self.code == Some(410) || matches!(self.reason.as_deref(), Some("Expired" | "Gone"))
    }

    /// Whether the server has not reached the requested resourceVersion, as a cause or the message states
    /// (docs/semantics/requests.md#too-large).
    pub(crate) fn is_too_large(&self) -> bool {
        let caused = self
            .details
            .iter()
            .flat_map(|details| &details.causes)
            .any(|cause| cause == "ResourceVersionTooLarge");
        caused
            || self
                .message
                .as_deref()
                .is_some_and(|message| message.starts_with("Too large resource version"))
    }

    /// The resourceVersion that the server has reached, if the Status refuses a higher one and its message names it.
    pub(crate) fn current(&self) -> Option<u64> {
        let message = self.message.as_deref().filter(|_| self.is_too_large())?;
        let (_, current) = message.rsplit_once(", current: ")?;
        current.parse().ok()
    }

    /// The time in milliseconds that the server asks the client to wait; `None` if it asks for none.
    pub(crate) fn retry_after_ms(&self) -> Option<u64> {
        let seconds = self.details.as_ref()?.retry_after_seconds?;
        (seconds > 0).then(|| seconds.saturating_mul(1_000))
    }

    /// Whether the Status is about Secrets, whose contents its message may quote (Argo CD CVE-2025-23216).
    pub(crate) fn is_about_secrets(&self) -> bool {
        self.details
            .as_ref()
            .and_then(|details| details.kind.as_deref())
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("secret"))
    }
}
