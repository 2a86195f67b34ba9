//! A record in words: its time, its sentence, its fields, and the request that brought it.

use watchscope_model::event::{Event, RequestSent};
use watchscope_model::{Entry, Record};

use super::event::{event_words, fields as event_fields};
use super::lane::lane_words;
use crate::format::{clock_ms, count, duration, number};
use crate::id::{LaneId, RecordId};
use crate::inside::{inside_fields, inside_words};
use crate::phrases::{step_words, why_ended};
use crate::store::{Span, Store, StreamSpan, WatchTrace};

/// A record, a stretch or a lane of the picture in words. Fields that do not apply are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The name of the lane, as [`lane_words`] returns it. [`describe_record`] leaves it empty for a record that is not
    /// loaded or of an unknown kind. Hostile: show as text.
    pub lane: String,
    /// When it happened, as UTC times of day: one time (`09:35:28.911`), or begin and end. A stretch also has its
    /// duration, but a finding has only the time at which it was raised.
    pub time: String,
    /// One or several sentences that say what happened. Hostile: show as text.
    pub what: String,
    /// The fields, name and value each, in the order of a panel; a name may come more than once. Values may come from
    /// the cluster: show as text.
    pub fields: Vec<(&'static str, String)>,
    /// The record that is described: the first of several merged ones, and the last of an object's life. The record
    /// need not be loaded. `None` for a lane, for unknown findings, and for any other known stretch whose first record
    /// is not loaded.
    pub record: Option<RecordId>,
    /// The record whose body is the described object; the body may be missing by now. `None` if no body came.
    pub body: Option<RecordId>,
    /// The record with the object's previous version, whose body may be missing; `None` if no such record is loaded, or
    /// no change is described.
    pub previous_body: Option<RecordId>,
    /// The request that brought the record: verb, path, parameters and connection, each with its name; empty if the
    /// request is not loaded, or there was none.
    pub request: Vec<(&'static str, String)>,
}

impl Description {
    /// Returns the lines of a tooltip: lane, time, sentence, then the key that opens the record if there is one. Empty
    /// fields have no line.
    #[must_use]
    pub fn tooltip(&self) -> Vec<String> {
        let mut lines = vec![self.lane.clone(), self.time.clone(), self.what.clone()];
        if self.record.is_some() {
            lines.push("Enter opens it".to_string());
        }
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// Returns lane, time and sentence in one line, for a screen reader: `LANE, TIME: SENTENCE`, also with empty parts.
    #[must_use]
    pub fn spoken(&self) -> String {
        format!("{}, {}: {}", self.lane, self.time, self.what)
    }
}

/// Describes a record of a lane, for the keyboard, which moves from record to record. A record that is not loaded, or
/// is of an unknown kind, has no lane and no time. The sentence of such a record says that it is no longer held. For
/// any other record, panics if the store has no such watch, object or server.
#[must_use]
pub fn describe_record(store: &Store, lane: LaneId, id: RecordId) -> Description {
    let entry = store.entry(id);
    if let Some(Entry::Inside(record)) = &entry {
        let mut fields = inside_fields(store, id, record);
        fields.push(("seq", number(id.seq.0)));
        return Description {
            lane: lane_words(store, lane),
            time: clock_ms(record.at),
            what: inside_words(&record.inside),
            fields,
            record: Some(id),
            ..Description::default()
        };
    }
    let Some(record) = entry.and_then(Entry::into_record) else {
        return Description {
            what: "This record is no longer held.".into(),
            record: Some(id),
            ..Description::default()
        };
    };
    let mut fields = event_fields(&record.event);
    if let Event::StreamEnded(_) = record.event
        && let Some(watch) = watch_of(store, &record, id)
    {
        let ended = |stream: &&Span<StreamSpan>| stream.end.is_some_and(|end| end.seq == id.seq);
        let stream = watch.streams.all().iter().rfind(ended);
        fields.extend(stream.and_then(|stream| attribution_field(watch, stream)));
    }
    fields.push(("seq", number(id.seq.0)));
    let body = match &record.event {
        Event::Change(change) if change.bytes.is_some() => Some(id),
        _ => None,
    };
    let what = sentence(store, &record, id);
    let object_lane = match (&record.event, lane) {
        (Event::Change(change), _) => store.find_lane(&change.watch, Some(&change.object)),
        _ => None,
    };
    Description {
        lane: lane_words(store, lane),
        time: clock_ms(record.at),
        what,
        fields,
        record: Some(id),
        body,
        previous_body: object_lane.and_then(|lane| store.previous_of_object(lane, id)),
        request: request_of(store, &record, id),
    }
}

/// Returns the time and the sentence of a record or inside record, as [`describe_record`] does. Reads no other record.
pub(crate) fn said(store: &Store, id: RecordId, entry: &Entry) -> (String, String) {
    let what = match entry {
        Entry::Inside(record) => inside_words(&record.inside),
        Entry::Record(record) => sentence(store, record, id),
    };
    (clock_ms(entry.at()), what)
}

/// Returns the sentence of a record. If the resourceVersion jumped or went back at the record, a sentence about that
/// follows.
fn sentence(store: &Store, record: &Record, id: RecordId) -> String {
    let mut what = event_words(&record.event);
    if let Some(step) = step_sentence(store, record, id) {
        what.push(' ');
        what.push_str(&step);
    }
    what
}

/// Returns the sentence of a jump or reversal: its distance, the time that it took, and the earlier steps that it is
/// compared with.
fn step_sentence(store: &Store, record: &Record, id: RecordId) -> Option<String> {
    let watch = watch_of(store, record, id)?;
    let step = watch.steps.iter().find(|step| step.moment.seq == id.seq)?;
    let place = watch.marks.place_of(id.seq);
    let (at, from) = watch.marks.moved_before(place)?;
    let to = watch.marks.moved_to(place)?;
    let lasted = duration(record.at.micros_since(at));
    let (by, from, to) = (step_words(step), number(from), number(to));
    let moved = format!("The resourceVersion went {by} in {lasted}, from {from} to {to}");
    if step.back {
        return Some(format!("{moved}."));
    }
    let (steps, largest) = watch.marks.steps_before(place);
    Some(format!(
        "{moved}; the largest of the {} before it was {}.",
        count(steps, "step"),
        number(largest)
    ))
}

/// Returns the trace of the watch that a record is about.
fn watch_of<'a>(store: &'a Store, record: &Record, id: RecordId) -> Option<&'a WatchTrace> {
    let lane = store.find_lane(record.event.watch()?, None)?;
    let epoch = store.epoch(id.epoch)?;
    epoch.trace.watch(lane.watch()?)
}

/// Returns the request behind a record: the record's own request, or that of its stream.
pub(super) fn request_of(
    store: &Store,
    record: &Record,
    id: RecordId,
) -> Vec<(&'static str, String)> {
    if let Event::RequestSent(sent) = &record.event {
        return request_fields(sent);
    }
    let Some(watch) = watch_of(store, record, id) else {
        return Vec::new();
    };
    // Items of a list came by the watch's last request before them.
    let last = || {
        let sent = watch.requests.iter().rev().find(|sent| sent.seq < id.seq);
        sent.map(|sent| sent.request)
    };
    let request = match &record.event {
        Event::ListComplete(_) => last(),
        Event::Change(event) if event.stream.is_none() => last(),
        Event::RequestAnswered(event) => Some(event.request),
        Event::ListPage(event) => Some(event.request),
        Event::StreamOpened(event) => Some(event.request),
        _ => {
            let spans = watch.streams.in_sequence(record.at, record.at);
            let open = spans.iter().rev().find(|span| {
                span.start.seq <= id.seq && span.end.is_none_or(|end| end.seq >= id.seq)
            });
            open.map(|span| span.what.request)
        }
    };
    let sent = request
        .and_then(|request| watch.request(request))
        .and_then(|seq| store.record(RecordId { seq, ..id }));
    match sent.map(|record| record.event) {
        Some(Event::RequestSent(sent)) => request_fields(&sent),
        _ => Vec::new(),
    }
}

fn request_fields(sent: &RequestSent) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("verb", sent.verb.to_string()),
        ("path", sent.path.to_string()),
    ];
    if let Some(query) = &sent.query {
        fields.extend(
            query
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| ("parameter", pair.to_string())),
        );
    }
    fields.push(("connection", sent.connection.to_string()));
    fields
}

/// Returns the field that says why a stream ended, if an attribution is loaded.
pub(super) fn attribution_field(
    watch: &WatchTrace,
    stream: &Span<StreamSpan>,
) -> Option<(&'static str, String)> {
    let attribution = watch.attribution(stream)?;
    Some((
        "attribution",
        why_ended(&attribution.code, attribution.certainty),
    ))
}
