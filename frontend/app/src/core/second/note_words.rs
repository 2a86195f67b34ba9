//! The words about notes: a row of the panel, the form, and why a note was refused.

use watchscope_model::notes::StandingNote;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::{Object, Time, WatchName};
use watchscope_timeline::format;

use crate::core::notes::{About, Draft, NoteForm, NoteRow, NotesState};

/// A note that was written this long after its time, or later, shows when it was written. In microseconds.
const LATER_US: i64 = 60_000_000;
/// The words for a note about no watch in particular.
const WHOLE_LOG: &str = "the whole log";
/// The server's refusal for a log that is over.
const OVER: &str = "This log is over, so it takes no notes.";

/// Returns the row of a note in the panel. `notes` says which notes only this page keeps, and which of them
/// a saved copy has.
pub(super) fn row(number: u32, note: &StandingNote<'_>, now: Time, notes: &NotesState) -> NoteRow {
    let text = note.note.text.trim_start();
    let rest = text
        .split_once('\n')
        .map_or("", |(_, rest)| rest.trim_end());
    let day = |at: Time| match format::date(at) {
        date if date == format::date(now) => String::new(),
        date => format!("{date} "),
    };
    let is_changed = note.key != note.last;
    let is_later = note.written_at.micros_since(note.to) > LATER_US;
    let written = match (is_changed, is_later) {
        _ if notes.here.as_ref() == Some(&note.last.epoch) => match &notes.saved {
            Some((kept, name)) if note.last.seq.0 <= *kept => format!("saved in {name}"),
            _ => "not saved".to_owned(),
        },
        (false, false) => String::new(),
        (is_changed, _) => format!(
            "{} {}{}",
            if is_changed { "changed" } else { "written" },
            day(note.written_at),
            format::clock(note.written_at)
        ),
    };
    NoteRow {
        id: 0,
        number,
        time: format!("{}{}", day(note.from), format::clock(note.from)),
        until: (note.from < note.to).then(|| {
            let lasts = format::duration(note.to.micros_since(note.from));
            format!("to {}, {lasts}", format::clock(note.to))
        }),
        heading: note.heading().to_owned(),
        rest: rest.to_owned(),
        about: about_words(note.note.watch.as_ref(), note.note.object.as_deref()),
        written,
        is_selected: false,
    }
}

/// Returns the form of a draft.
pub(super) fn form(draft: &Draft, is_saving: bool) -> NoteForm {
    let choices = draft.choices.iter();
    let words = |about: &About| about_words(about.watch.as_ref(), about.object.as_ref());
    NoteForm {
        number: draft.number,
        text: draft.text.clone(),
        is_change: draft.replaces.is_some(),
        time: span_words(draft.from, draft.to.unwrap_or(draft.from)),
        choices: choices.map(words).collect(),
        about: draft.about,
        is_saving,
        refusal: draft.refusal.clone(),
    }
}

/// Returns the words for a time or a range: `03:12:40`, or `03:12:40 to 03:13:24, 44 s`.
pub(super) fn span_words(from: Time, to: Time) -> String {
    let begin = format::clock(from);
    if to <= from {
        return begin;
    }
    let lasts = format::duration(to.micros_since(from));
    format!("{begin} to {}, {lasts}", format::clock(to))
}

/// Returns the words for what a note is about: `shop/pods cart-0`.
pub(super) fn about_words(watch: Option<&WatchName>, object: Option<&Object>) -> String {
    let watch = watch.map(ToString::to_string);
    let object = object.map(|object| object.name.to_string());
    let parts: Vec<String> = watch.into_iter().chain(object).collect();
    if parts.is_empty() {
        return WHOLE_LOG.to_owned();
    }
    parts.join(" ")
}

/// Returns why a note was refused, and what the person can do.
pub(super) fn refusal_words(refusal: NoteRefusal) -> &'static str {
    match refusal {
        NoteRefusal::Empty => "The note is empty. Write a line, or cancel.",
        NoteRefusal::TooLong => "The text is longer than 4 KiB. Make it shorter.",
        NoteRefusal::NotText => "The text is not in UTF-8. Type it again.",
        NoteRefusal::UnknownWatch => {
            "No watch of this log has that name any more. Write the note about the whole log."
        }
        NoteRefusal::BadObject => {
            "The object's name is too long for a note. Write the note about its watch."
        }
        NoteRefusal::BadSpan => "Its time ends before it begins. Mark the range again.",
        NoteRefusal::UnknownNote => {
            "watchscope no longer has this note, so it cannot be changed. Write a new one."
        }
        NoteRefusal::TooOften => {
            "A session may write 10 notes a minute. Save it again in a minute."
        }
        NoteRefusal::TooMany => {
            "The log has 10,000 notes, with changes and withdrawals. It takes no more."
        }
        NoteRefusal::Busy => "watchscope is busy with other commands. Save it again in a moment.",
        NoteRefusal::NotKept => OVER,
        NoteRefusal::Unknown => {
            "watchscope refused it for a reason that this page does not know. Reload the page."
        }
    }
}
