//! Phrases that picture, tables and tooltips share: severities, certainties, ends, divergences, names.

use watchscope_model::id::Extent;
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{Cause, Certainty, Divergence, Severity};
use watchscope_model::{Object, Row, Text, WatchName};

use crate::format::{duration, number, version};
use crate::store::{StepMark, VerdictSpan};
use crate::tokens::Token;

/// Name of the lane of watchscope's requests beside its watches: the observer's own load.
pub(crate) const OWN_REQUESTS: &str = "Own requests";

/// Returns the colour of a severity, in the picture and beside it. A severity that only a later version knows has the
/// colour of a note.
#[must_use]
pub fn severity_ink(severity: Severity) -> Token {
    match severity {
        Severity::Divergence => Token::Divergence,
        Severity::Error => Token::Error,
        Severity::Warning => Token::Warning,
        Severity::Note | Severity::Unknown => Token::Note,
    }
}

/// Returns the usual name of a protocol by its ALPN id; an unknown id stays as it is.
pub(crate) fn protocol(alpn: &str) -> &str {
    match alpn {
        "h2" => "HTTP/2",
        "http/1.1" => "HTTP/1.1",
        other => other,
    }
}

/// Returns the words that name a connection's cause of end, beside its torn end.
pub(crate) fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::End => "ended",
        Cause::Eof => "closed without the body's end",
        Cause::EofInFrame => "closed inside a frame",
        Cause::RstStream => "stream reset (RST_STREAM)",
        Cause::Goaway => "told to go away (GOAWAY)",
        Cause::TcpReset => "reset by peer",
        Cause::Tls => "TLS failed",
        Cause::IdleTimeout => "idle, given up",
        Cause::Cancelled => "closed by us",
        Cause::Decode => "could not be decoded",
        Cause::ErrorEvent => "ended by ERROR",
        Cause::Refused => "refused",
        Cause::Unknown => "ended, cause unknown",
    }
}

/// Returns why a stream ended, in a few words: `normal`, `perhaps F36 a slow reader cut off`.
pub(crate) fn why_ended(code: &str, certainty: Certainty) -> String {
    let why = Attributed::of(code);
    let how_sure = match why {
        Some(Attributed::Unknown) => "",
        _ => how_sure(certainty),
    };
    let name = why.and_then(Attributed::row).map_or("", Row::name);
    format!("{how_sure}{code} {name}").trim_end().to_owned()
}

/// Returns the words that stand before a statement of this certainty: an unproven statement never reads as proven.
pub(crate) fn how_sure(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Definite => "",
        Certainty::Likely => "most likely ",
        Certainty::Suspected | Certainty::Unknown => "perhaps ",
    }
}

/// Returns the distance of a step of the resourceVersion: `+41,873`, or `−12` for a step back.
pub(crate) fn step_words(step: &StepMark) -> String {
    let sign = if step.back { '−' } else { '+' };
    format!("{sign}{}", number(step.by))
}

/// Returns the kind of a verdict in a few words, and how long it lasts, at which resourceVersions it shows, or both.
pub(crate) fn verdict_words(verdict: &VerdictSpan, lasting_us: i64) -> String {
    let held_for = duration(lasting_us);
    let mut words = match (verdict.kind, &verdict.listed, &verdict.held) {
        (Divergence::Ghost, ..) => format!("ghost · held {held_for} after a read without it"),
        (Divergence::Missing, Some(listed), _) => {
            format!("missing · in LIST at {}", version(listed))
        }
        (Divergence::Missing, None, _) => format!("missing · for {held_for}"),
        (Divergence::Stale, Some(listed), Some(held)) => {
            format!(
                "stale · {held_for} · holds {}, LIST {}",
                version(held),
                version(listed)
            )
        }
        (Divergence::Stale | Divergence::Unknown, ..) => format!("stale · {held_for}"),
        (Divergence::ListOlder, ..) => format!("list older · {held_for}"),
    };
    if !verdict.is_confirmed {
        words += " · not confirmed";
    }
    words
}

/// Returns `11 resumed, 1 lost (15 s), 1 open`, without the kinds whose count is 0; empty if all counts are 0. `lost`
/// has the number of lost gaps and their total duration in µs.
pub(crate) fn gap_words(resumed: u64, lost: (u64, u64), open: u64) -> String {
    let mut words = Vec::new();
    if resumed > 0 {
        words.push(format!("{} resumed", number(resumed)));
    }
    if lost.0 > 0 {
        let lasted = duration(i64::try_from(lost.1).unwrap_or(i64::MAX));
        words.push(format!("{} lost ({lasted})", number(lost.0)));
    }
    if open > 0 {
        words.push(format!("{} open", number(open)));
    }
    words.join(", ")
}

/// Returns an object's name, with its namespace if the watch is of all namespaces.
pub(crate) fn name_in(watch: &WatchName, object: &Object) -> String {
    match &object.namespace {
        Some(namespace) if watch.extent() == Extent::All => {
            format!("{namespace}/{}", object.name)
        }
        _ => object.name.to_string(),
    }
}

/// Returns namespace and name (`shop/web-0`), or the name alone for an object without a namespace.
pub(crate) fn object_words(object: &Object) -> String {
    match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    }
}

/// Returns one name for the clients of a crowd, given by rising number: `crowd-0 … 59`. A single client gives its own
/// name; no client gives `None`.
pub(crate) fn crowd_words<'a>(mut names: impl Iterator<Item = &'a Text>) -> Option<String> {
    let first = names.next()?;
    let Some(last) = names.last() else {
        return Some(first.to_string());
    };
    let (_, number) = last.rsplit_once('-').unwrap_or(("", last));
    Some(format!("{first} … {number}"))
}
