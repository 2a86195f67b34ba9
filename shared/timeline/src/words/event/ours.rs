//! Words for watchscope's own records: losses, the clock, and notes.

use watchscope_model::Time;
use watchscope_model::event::{Clock, Loss, Note};
use watchscope_model::vocabulary::{Author, LossPlace};

use crate::format::{clock_ms, date, millis, number};

pub(super) fn loss(event: &Loss) -> String {
    let reason = event
        .reason
        .as_deref()
        .map_or(String::new(), |reason| format!(" {reason}"));
    let (all, plural) = (number(event.count), if event.count == 1 { "" } else { "s" });
    match event.place {
        LossPlace::Body if event.count == 1 => format!("1 body not kept.{reason}"),
        LossPlace::Body => format!("{all} bodies not kept.{reason}"),
        LossPlace::Frame => format!("{all} frame{plural} not read.{reason}"),
        place => format!("Lost ({place}): {all} record{plural}.{reason}"),
    }
}

pub(super) fn clock(event: &Clock) -> String {
    match event.paused_ms {
        None => format!("The wall clock is {} ms off the log's.", event.off_ms),
        Some(paused_ms) => format!(
            "watchscope did not run for {}: the machine slept or was overloaded. Delays in that time are \
             watchscope's own.",
            millis(paused_ms)
        ),
    }
}

/// Returns a narrator's note unchanged. A person's note is marked as such, and has its subject.
pub(super) fn note(note: &Note) -> String {
    if note.author != Author::Person {
        return note.text.clone();
    }
    let mut words = match (note.text.is_empty(), &note.replaces) {
        (true, _) => return "Note withdrawn".to_owned(),
        (false, Some(_)) => format!("Note changed: {}", note.text),
        (false, None) => format!("Note: {}", note.text),
    };
    if let Some(object) = &note.object {
        let namespace = object.namespace.as_deref();
        let namespace = namespace.map_or(String::new(), |name| format!("{name}/"));
        words += &format!(" (on {namespace}{})", object.name);
    }
    match (note.from, note.to) {
        (Some(from), Some(to)) if from < to => {
            words += &format!(" (about {} to {} UTC)", moment(from), moment(to));
        }
        (Some(at), _) => words += &format!(" (about {} UTC)", moment(at)),
        (None, _) => {}
    }
    words
}

/// Returns a time with its date in UTC: `2026-11-19 09:35:28.911`.
fn moment(at: Time) -> String {
    format!("{} {}", date(at), clock_ms(at))
}
