//! A record as a line of a terminal: time, watch, type, and the words that the page uses too. The event's kind decides the
//! colour.
//!
//! All text of a cluster is hostile: control characters are escaped before they reach the terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use watchscope_model::event::{Event, Record};
use watchscope_model::json::is_obeyed;
use watchscope_model::vocabulary::{Cause, ChangeType, Phase};
use watchscope_timeline::words::event_words;

/// The width to which names of watches are padded. Longer names move the rest to the right.
const WATCH_WIDTH: usize = 22;

/// Returns the line of a record, with ANSI colours. The printer strips these if the output is no terminal.
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
        plain(&event_words(&record.event)),
    );
    line.truncate(line.trim_end().len());
    line
}

/// The line for records that a reader behind the ring has lost.
pub(super) fn loss_line(from: u64, to: u64) -> String {
    let style = AnsiColor::Yellow.on_default();
    format!(
        "{style}records {from} to {to} are lost: they left the ring before they could be written{style:#}"
    )
}

/// The line for records that a recording does not hold.
pub(super) fn hole_line(from: u64, to: u64) -> String {
    let style = AnsiColor::Yellow.on_default();
    format!("{style}records {from} to {to} are not in the recording{style:#}")
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

/// Returns the text with control characters written out, such as `\n` and `\u{1b}`, so that a terminal does not obey them.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) {
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
    use watchscope_model::event::{Change, Note, WatchPhase};
    use watchscope_model::vocabulary::{Author, Origin, PhaseReason};
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
    fn a_persons_note_names_its_subject_and_cannot_command_the_terminal() {
        let note = Note {
            from: Some(Time(1_763_715_000_000_000)),
            to: Some(Time(1_763_715_060_000_000)),
            ..Note::new(
                Author::Person,
                "See <b>here</b>:\n\u{1b}[2J\u{202e}\0".to_owned(),
            )
        };
        assert_snapshot!(shown(note), @r"09:00:00.004                          note                Note: See <b>here</b>:\n\u{1b}[2J\u{202e}\u{0} (about 2025-11-21 08:50:00.000 to 2025-11-21 08:51:00.000 UTC)");
        assert_snapshot!(shown(Note::new(Author::Person, String::new())), @"09:00:00.004                          note                Note withdrawn");
        assert_snapshot!(shown(Note::new(Author::Story, "The story.".to_owned())), @"09:00:00.004                          note                The story.");
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
            stray: None,
            owner: None,
        }), @"09:00:00.004  shop/pods               change              MODIFIED web-0 at resourceVersion 603 by kubelet (status).");
    }

    #[test]
    fn a_wait_has_its_reason_and_length() {
        assert_snapshot!(shown(WatchPhase {
            watch: "shop/pods".into(), from: Some(Phase::Connecting), to: Phase::Waiting,
            reason: PhaseReason::TooManyRequests, delay_ms: Some(2_450),
            error: None,
        }), @"09:00:00.004  shop/pods               watch.phase         Waiting 2.4 s before the next request, because the server answered 429: try again later.");
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
