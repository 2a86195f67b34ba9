//! A record as a line of a terminal: time, watch, what happened; coloured by what it is.
//!
//! All text of a cluster is hostile: control characters are escaped before they reach the terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use watchscope_model::Text;
use watchscope_model::catalogue;
use watchscope_model::event::{Change, Event, Record};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin, Phase};

/// Watches are padded to this width; longer names push the rest.
const WATCH_WIDTH: usize = 22;

/// The line of a record, with ANSI colours; whoever prints it strips them where they do not belong.
pub(super) fn line(record: &Record) -> String {
    let at = record.at.civil();
    let watch = record.event.watch().map_or("", |watch| watch.as_str());
    let style = style(&record.event);
    let dim = Style::new().dimmed();
    let mut line = String::new();
    // Writing to a String does not fail.
    let _ = write!(
        line,
        "{dim}{:02}:{:02}:{:02}.{:03}{dim:#}  {:WATCH_WIDTH$}  {style}{:<18}{style:#}  {}",
        at.hour,
        at.minute,
        at.second,
        at.micros / 1_000,
        plain(watch),
        record.event.type_name(),
        plain(&words(&record.event)),
    );
    line.truncate(line.trim_end().len());
    line
}

/// What is lost to a reader that fell behind the ring.
pub(super) fn loss_line(from: u64, to: u64) -> String {
    let style = AnsiColor::Yellow.on_default();
    format!(
        "{style}records {from} to {to} are lost: they left the ring before they could be written{style:#}"
    )
}

fn style(event: &Event) -> Style {
    let colour = match event {
        Event::Change(change) => match change.change {
            ChangeType::Added => AnsiColor::Green,
            ChangeType::Deleted => AnsiColor::Yellow,
            ChangeType::Modified | ChangeType::Unknown => AnsiColor::Blue,
        },
        Event::StreamError(_) | Event::Loss(_) => AnsiColor::Red,
        Event::StreamEnded(end) if !matches!(end.cause, Cause::End | Cause::Cancelled) => {
            AnsiColor::Red
        }
        Event::Gap(gap) if !gap.resumed => AnsiColor::Red,
        Event::RequestAnswered(answer) if answer.error.is_some() => AnsiColor::Red,
        Event::WatchPhase(phase) if phase.to == Phase::Refused => AnsiColor::Red,
        Event::Finding(_) | Event::Verdict(_) => AnsiColor::Magenta,
        Event::ListComplete(_) | Event::Note(_) => return Style::new().bold(),
        _ => return Style::new().dimmed(),
    };
    colour.on_default()
}

fn words(event: &Event) -> String {
    match event {
        Event::ClusterConnected(e) => format!("{} {} at {}", e.cluster, e.version, e.server),
        Event::ConnectionOpened(e) => {
            let tls = e.tls.as_ref().map_or("no TLS", |tls| tls);
            format!(
                "connection {} to {} ({tls}{})",
                e.connection,
                e.remote,
                after(", ", &e.alpn)
            )
        }
        Event::ConnectionGoaway(e) => format!("connection {}, code {}", e.connection, e.code),
        Event::ConnectionClosed(e) => format!("connection {}: {}", e.connection, e.cause),
        Event::WatchStarted(e) => format!(
            "{}/{}{}",
            e.version,
            e.resource,
            after(" of ", &e.namespace)
        ),
        Event::WatchPhase(e) => {
            let delay = e
                .delay_ms
                .map(|ms| format!(", for {}.{:03} s", ms / 1_000, ms % 1_000));
            let error = e.error.as_ref().map(|error| format!(" ({error})"));
            let (delay, error) = (delay.unwrap_or_default(), error.unwrap_or_default());
            format!("{}: {}{delay}{error}", e.to, e.reason)
        }
        Event::WatchStopped(e) => e.reason.to_string(),
        Event::RequestSent(e) => format!(
            "{} {}?{}",
            e.verb,
            e.path,
            e.query.as_deref().unwrap_or_default()
        ),
        Event::RequestAnswered(e) => {
            let status = e
                .status
                .map_or("no answer".to_owned(), |status| status.to_string());
            format!(
                "{status}{}",
                e.error
                    .as_ref()
                    .map(|error| format!(": {error}"))
                    .unwrap_or_default()
            )
        }
        Event::ListPage(e) => {
            let rest = e
                .remaining
                .map(|n| format!(", {n} remain"))
                .unwrap_or_default();
            format!("{} items at {}{rest}", e.items, e.resource_version)
        }
        Event::ListComplete(e) => format!(
            "{} items at {}: +{} ~{} -{}",
            e.items, e.resource_version, e.added, e.changed, e.removed
        ),
        Event::StreamOpened(e) => {
            let from = e
                .resource_version
                .as_ref()
                .map_or("any state".to_owned(), ToString::to_string);
            format!("stream {} from {from}", e.stream)
        }
        Event::StreamEnded(e) => format!(
            "stream {}: {} after {}.{:03} s, {} documents, {} bytes",
            e.stream,
            e.cause,
            e.age_ms / 1_000,
            e.age_ms % 1_000,
            e.events,
            e.bytes
        ),
        Event::Attribution(e) => match catalogue::name(&e.code) {
            Some(name) => format!("stream {}: {name} ({}, {})", e.stream, e.code, e.certainty),
            None => format!("stream {}: {} ({})", e.stream, e.code, e.certainty),
        },
        Event::Change(e) => change(e),
        Event::Bookmark(e) => {
            let end = if e.initial_events_end == Some(true) {
                ", initial events end"
            } else {
                ""
            };
            format!("at {}{end}", e.resource_version)
        }
        Event::StreamError(e) => {
            let message = e.message.as_deref().unwrap_or_default();
            format!("{}{} {message}", e.code, after(" ", &e.reason))
        }
        Event::Gap(e) => match (e.resumed, e.lost) {
            (true, _) => format!("resumed from progress after {}: nothing lost", e.reason),
            (false, Some(lost)) => format!("after {}: {lost} events lost", e.reason),
            (false, None) => format!(
                "after {}: an unknown number of events may be lost",
                e.reason
            ),
        },
        Event::Audit(e) => format!("{} objects by {}: {}", e.compared, e.method, e.outcome),
        Event::Verdict(e) => format!("{} {} {} ({})", e.kind, e.object.name, e.state, e.certainty),
        Event::Finding(e) => format!("{} {} {}: {}", e.code, e.name, e.state, e.summary),
        Event::Loss(e) => {
            let reason = e.reason.as_deref().unwrap_or_default();
            format!("{} lost in {}: {reason}", e.count, e.place)
        }
        Event::Clock(e) => format!("the wall clock is {} ms off", e.off_ms),
        Event::ClientStarted(e) => format!("{} is {}", e.client, e.program),
        Event::ClientRequest(e) => format!("{} {}", e.client, e.request),
        Event::ClientReport(e) => {
            format!(
                "{} {}: {} turns, {} handled",
                e.client, e.phase, e.iterations, e.handled
            )
        }
        Event::Note(e) => e.text.clone(),
    }
}

fn change(change: &Change) -> String {
    let origin = match change.origin {
        Origin::Live => "",
        Origin::List => " (list)",
        Origin::Initial => " (initial events)",
        Origin::Inferred => " (inferred: held, not in the list)",
        Origin::Unknown => " (unknown origin)",
    };
    let namespace = change
        .object
        .namespace
        .as_deref()
        .map(|ns| format!("{ns}/"))
        .unwrap_or_default();
    let by = after(" by ", &change.manager) + &after("/", &change.subresource);
    format!(
        "{} {namespace}{} {}{by}{origin}",
        change.change, change.object.name, change.resource_version
    )
}

fn after(before: &str, text: &Option<Text>) -> String {
    text.as_ref()
        .map(|text| format!("{before}{text}"))
        .unwrap_or_default()
}

/// The text without control characters: `\n`, `\u{1b}` and their like are written out.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use insta::assert_snapshot;
    use watchscope_model::event::WatchPhase;
    use watchscope_model::vocabulary::PhaseReason;
    use watchscope_model::{Object, Seq, StreamId, Time, Uid};

    use super::*;

    fn shown(event: impl Into<Event>) -> String {
        let record = Record {
            seq: Seq(1),
            at: Time(1_763_715_600_004_000),
            event: event.into(),
        };
        anstream::adapter::strip_str(&line(&record)).to_string()
    }

    #[test]
    fn a_change_names_object_version_and_who_wrote_it() {
        assert_snapshot!(shown(Change {
            watch: "shop/pods".into(),
            stream: Some(StreamId(1)),
            change: ChangeType::Modified,
            origin: Origin::Live,
            object: Arc::new(Object { namespace: Some("shop".into()), name: "web-0".into(), uid: Uid::parse("u") }),
            resource_version: 603.into(),
            generation: None,
            manager: Some("kubelet".into()),
            subresource: Some("status".into()),
            bytes: Some(9),
        }), @"09:00:00.004  shop/pods               change              MODIFIED shop/web-0 603 by kubelet/status");
    }

    #[test]
    fn a_wait_says_why_and_how_long() {
        assert_snapshot!(shown(WatchPhase {
            watch: "shop/pods".into(), from: Some(Phase::Connecting), to: Phase::Waiting,
            reason: PhaseReason::TooManyRequests, delay_ms: Some(2_450),
            error: None,
        }), @"09:00:00.004  shop/pods               watch.phase         waiting: too-many-requests, for 2.450 s");
    }

    /// Row 29 of the attack table.
    #[test]
    fn control_characters_in_names_are_written_out() {
        let phase = WatchPhase {
            watch: "shop/\u{1b}[2Jpods\n".into(),
            from: None,
            to: Phase::Stopped,
            reason: PhaseReason::StopRequested,
            delay_ms: None,
            error: None,
        };
        assert!(shown(phase).contains(r"shop/\u{1b}[2Jpods\n"));
    }
}
