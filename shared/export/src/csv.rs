//! Records as a table for spreadsheets (RFC 4180).

use std::borrow::Cow;

use watchscope_model::codec::DecodeError;
use watchscope_model::{Entry, Event, KeptNote, Object, Record, ResourceVersion};
use watchscope_timeline::table::inert;
use watchscope_timeline::words::{event_words, inside_words};

use crate::taken::Taken;

/// The names of the table's columns, from left to right.
const COLUMNS: [&str; 12] = [
    "epoch",
    "seq",
    "time",
    "type",
    "watch",
    "change",
    "origin",
    "namespace",
    "name",
    "uid",
    "resourceVersion",
    "words",
];

/// Returns a line of column names, then a line for each record, run by run in the order of their seqs. After these
/// lines comes one for each person's note about the range whose own record is in none of the runs. These notes are in
/// the order of their records' times. Times are RFC 3339 in UTC; a cell without a value is empty. The text is UTF-8,
/// and lines end as in RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe in front.
///
/// # Errors
/// If a frame cannot be read.
pub fn csv(taken: &Taken) -> Result<Vec<u8>, DecodeError> {
    let mut out = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    // Writing to memory does not fail, and all lines have the same number of cells.
    let mut put = |cells: [Cow<'_, str>; COLUMNS.len()]| {
        let _ = out.write_record(cells.iter().map(|cell| inert(cell).into_owned()));
    };
    put(COLUMNS.map(Cow::Borrowed));
    for run in &taken.runs {
        run.read(|entry, _| put(cells(run.epoch.as_str(), entry)))?;
    }
    for KeptNote { key, at, note } in &taken.notes {
        let record = Record {
            seq: key.seq,
            at: *at,
            event: note.clone().into(),
        };
        put(cells(key.epoch.as_str(), &Entry::Record(record)));
    }
    Ok(out.into_inner().unwrap_or_default())
}

fn cells<'a>(epoch: &'a str, entry: &'a Entry) -> [Cow<'a, str>; COLUMNS.len()] {
    let (kind, words) = match entry {
        Entry::Record(record) => (record.event.type_name(), event_words(&record.event)),
        Entry::Inside(record) => (record.inside.type_name(), inside_words(&record.inside)),
    };
    let event = entry.record().map(|record| &record.event);
    let watch = event.and_then(Event::watch);
    let object = event.and_then(object_of);
    let (change, origin) = match event {
        Some(Event::Change(change)) => (change.change.to_string(), change.origin.to_string()),
        _ => Default::default(),
    };
    let text = |text: Option<&'a str>| Cow::Borrowed(text.unwrap_or_default());
    [
        Cow::Borrowed(epoch),
        entry.seq().0.to_string().into(),
        entry.at().to_string().into(),
        Cow::Borrowed(kind),
        text(watch.map(|watch| watch.as_str())),
        change.into(),
        origin.into(),
        text(object.and_then(|object| object.namespace.as_deref())),
        text(object.map(|object| &*object.name)),
        object
            .map_or_else(String::new, |object| object.uid.to_string())
            .into(),
        event
            .and_then(version_of)
            .map_or_else(String::new, ResourceVersion::to_string)
            .into(),
        words.into(),
    ]
}

/// Returns the object that an event is about; `None` if it is about no single object.
fn object_of(event: &Event) -> Option<&Object> {
    match event {
        Event::Change(change) => Some(&change.object),
        Event::Verdict(verdict) => Some(&verdict.object),
        Event::Audit(audit) => audit.object.as_deref(),
        Event::Note(note) => note.object.as_deref(),
        _ => None,
    }
}

/// Returns the resourceVersion in an event; `None` if the event has none.
fn version_of(event: &Event) -> Option<&ResourceVersion> {
    match event {
        Event::Change(change) => Some(&change.resource_version),
        Event::Bookmark(bookmark) => Some(&bookmark.resource_version),
        Event::ListComplete(list) => Some(&list.resource_version),
        Event::Audit(audit) => audit.resource_version.as_ref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use watchscope_timeline::table::{inert, line};

    #[test]
    fn a_line_of_a_table_is_the_one_that_the_csv_library_writes() {
        let cells = [
            "",
            "a b",
            "a,b",
            "\"a\"",
            "a\nb",
            "a\r",
            "\ta",
            "=1+1",
            "+1",
            "-1",
            "@a",
            "'",
            "é\u{202e}",
        ];
        for first in cells {
            for second in cells {
                let mut out = csv::WriterBuilder::new()
                    .terminator(csv::Terminator::CRLF)
                    .from_writer(Vec::new());
                let written =
                    out.write_record([first, second].map(|cell| inert(cell).into_owned()));
                written.expect("memory takes all");
                let bytes = out.into_inner().expect("memory takes all");
                assert_eq!(line([first, second]).into_bytes(), bytes);
            }
        }
    }
}
