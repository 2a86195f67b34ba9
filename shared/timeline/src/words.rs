//! What lies under the pointer, in words: for tooltips, the detail panel and assistive technology.

mod check;
mod event;
mod in_view;
mod inside;
mod presence;
mod state;

use watchscope_model::event::{Event, RequestSent};
use watchscope_model::vocabulary::{Cause, Phase, PhaseReason};
use watchscope_model::{Entry, Record, Seq, Time};

pub use self::check::{Check, Checked, check, checked};
pub use self::event::event_words;
pub use self::in_view::{RangeWords, problems_in, range_words, snapped};
pub use self::inside::inside_words;
pub use self::presence::{Footing, Presence, footing, presence};
pub use self::state::{
    Empty, Problem, Spot, emptiness, gaps, gaps_in_view, problems, records, unknown,
};
use crate::findings::{Muted, tally};
use crate::format::{clock_ms, count, duration, number, version};
use crate::id::{LaneId, RecordId};
use crate::phrases::{
    ASIDES, cause_words, protocol, severity_ink, step_words, verdict_words, why_ended,
};
use crate::scene::{Hit, StretchKind, Target};
use crate::store::{GapOutcome, Known, Span, Store, StreamSpan, WatchTrace};
use crate::tokens::Token;

/// Something of the picture in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The lane: a watch, or an object and its watch.
    pub lane: String,
    /// When: a time, or from when to when and how long.
    pub time: String,
    /// What it is, in a sentence.
    pub what: String,
    /// Its particulars by name. Values may be of the cluster: show as text.
    pub fields: Vec<(&'static str, String)>,
    /// The record it is about.
    pub record: Option<RecordId>,
    /// The record whose body is the object as it came, if one came.
    pub body: Option<RecordId>,
    /// The version of the object before.
    pub previous_body: Option<RecordId>,
    /// The request that brought it: verb, path and parameters.
    pub request: Vec<(&'static str, String)>,
}

impl Description {
    /// The lines of a tooltip: lane and time, what, then the key that opens it.
    #[must_use]
    pub fn tooltip(&self) -> Vec<String> {
        let mut lines = vec![self.lane.clone(), self.time.clone(), self.what.clone()];
        if self.record.is_some() {
            lines.push("Enter opens it".to_string());
        }
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// All in one line, for a screen reader.
    #[must_use]
    pub fn spoken(&self) -> String {
        format!("{}, {}: {}", self.lane, self.time, self.what)
    }
}

/// Says what a hit stands for.
#[must_use]
pub fn describe(store: &Store, hit: &Hit, now: Time) -> Description {
    let lane = lane_words(store, hit.lane);
    let description = match &hit.target {
        Target::Record(id) => describe_record(store, hit.lane, *id),
        Target::Merged { first, last, count } => merged(store, *first, *last, *count),
        Target::Stretch(kind, id) => stretch(store, hit.lane, *kind, *id, now),
        Target::Lane => Description {
            what: accessible(Known::now(store, now), hit.lane),
            ..Description::default()
        },
    };
    Description {
        lane,
        ..description
    }
}

/// Says what a record of a lane is; for the keyboard, which moves from record to record.
#[must_use]
pub fn describe_record(store: &Store, lane: LaneId, id: RecordId) -> Description {
    let entry = store.entry(id);
    if let Some(Entry::Inside(told)) = &entry {
        let mut fields = inside::fields(store, id, told);
        fields.push(("seq", number(id.seq.0)));
        return Description {
            lane: lane_words(store, lane),
            time: clock_ms(told.at),
            what: inside_words(&told.inside),
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
    let mut fields = event::fields(&record.event);
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
    let mut what = event_words(&record.event);
    if let Some(step) = step_sentence(store, &record, id) {
        what.push(' ');
        what.push_str(&step);
    }
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

/// By how much a record moved its watch's resourceVersion, in how long and against what, if it is a jump or reversal.
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

/// The watch a record is about.
fn watch_of<'a>(store: &'a Store, record: &Record, id: RecordId) -> Option<&'a WatchTrace> {
    let lane = store.find_lane(record.event.watch()?, None)?;
    let epoch = store.epoch(id.epoch)?;
    epoch.trace.watch(lane.watch()?)
}

/// A lane's name in words.
#[must_use]
pub fn lane_words(store: &Store, lane: LaneId) -> String {
    let (watch, object) = store.lane_names(lane);
    match (lane, watch, object) {
        (LaneId::Findings, ..) => "Findings".to_string(),
        (LaneId::Asides, ..) => ASIDES.to_string(),
        (LaneId::Layer(layer), ..) => store
            .layer_name(layer)
            .map_or_else(String::new, ToString::to_string),
        (LaneId::Connection(_), ..) => match store.lane_server(lane) {
            Some(server) => format!("connections to {server}"),
            None => String::new(),
        },
        (LaneId::Quiet, ..) => "Quiet watches".to_string(),
        (LaneId::More(_), Some(watch), _) => format!("{watch}, other objects"),
        (LaneId::Version(_), Some(watch), _) => format!("{watch}, resourceVersion"),
        (_, Some(watch), Some(object)) => format!("{} of {watch}", object.name),
        (_, Some(watch), None) => watch.to_string(),
        (_, None, _) => String::new(),
    }
}

/// What a lane holds, now or as of a moment; for a screen reader.
#[must_use]
pub fn accessible(known: Known<'_>, lane: LaneId) -> String {
    let Known { store, at: now, .. } = known;
    let Some(state) = known.state else {
        return "Nothing is known yet.".to_string();
    };
    if let LaneId::Layer(layer) = lane {
        return inside::layer_words(store, layer, now);
    }
    let (watch_name, object) = store.lane_names(lane);
    let Some(watch_name) = watch_name else {
        let words = tally(known, &Muted::default()).words;
        if words.is_empty() {
            return "No finding stands.".to_string();
        }
        return format!("Standing: {words}.");
    };
    let Some(watch) = state.watches.get(watch_name) else {
        return format!("{watch_name} is not watched in this run of watchscope.");
    };
    if let Some(object) = object {
        let held = watch.objects.sorted().into_iter().find(|held| {
            held.object.name == object.name && held.object.namespace == object.namespace
        });
        return match held {
            Some(held) => format!(
                "Held at resourceVersion {} since {}.",
                version(&held.resource_version),
                clock_ms(held.since.at)
            ),
            None => "Not held now.".to_string(),
        };
    }
    let doing = watch
        .phase
        .as_ref()
        .map_or("Not started.".to_string(), |phase| {
            phase_sentence(phase.phase, phase.reason, phase.delay_ms)
        });
    let changes = watch.added + watch.modified + watch.deleted;
    let since = watch.phase.as_ref().map_or(String::new(), |phase| {
        format!(
            " For {} so far.",
            duration(now.micros_since(phase.since.at))
        )
    });
    format!(
        "{doing}{since} {} held, {}.",
        count(watch.objects.len() as u64, "object"),
        count(changes, "change")
    )
}

/// What a watch is doing and why, in one sentence.
#[must_use]
pub fn phase_sentence(phase: Phase, reason: PhaseReason, delay_ms: Option<u64>) -> String {
    phase_told(phase, reason, delay_ms, false)
}

/// The same of a phase that goes on, or is over.
fn phase_told(phase: Phase, reason: PhaseReason, delay_ms: Option<u64>, is_over: bool) -> String {
    let delay = delay_ms.map(|delay| {
        duration(
            i64::try_from(delay)
                .unwrap_or(i64::MAX / 1_000)
                .saturating_mul(1_000),
        )
    });
    let doing = match (phase, &delay) {
        (Phase::Connecting, _) => "Asking for a stream and waiting for the answer".to_string(),
        (Phase::Listing, _) => "Reading a list of all objects".to_string(),
        (Phase::Streaming, _) if is_over => "It received events as they happened".to_string(),
        (Phase::Streaming, _) => "Receiving events as they happen".to_string(),
        (Phase::Waiting, Some(delay)) => format!("Waiting {delay} before the next request"),
        (Phase::Waiting, None) => "Waiting before the next request".to_string(),
        (Phase::Refused, Some(delay)) => format!("Refused, and asking again only after {delay}"),
        (Phase::Refused, None) => "Refused".to_string(),
        (Phase::Stopped, _) => "Not watching".to_string(),
        (Phase::Unknown, _) => "Doing what this page does not know".to_string(),
    };
    format!("{doing}, because {}.", because(reason))
}

/// The reason of a phase, after "because".
fn because(reason: PhaseReason) -> &'static str {
    match reason {
        PhaseReason::Started => "the watch has just been started",
        PhaseReason::FirstList => "a watch begins with a list to know what exists",
        PhaseReason::Listed => {
            "the list is complete and the stream goes on from its resourceVersion"
        }
        PhaseReason::Opened => "the server accepted the watch",
        PhaseReason::Resume => "the stream ended and is opened again from the last resourceVersion",
        PhaseReason::ShortStream => {
            "two streams in a row were short and the server is to be spared"
        }
        PhaseReason::Expired => {
            "the server answered 410: the history since the last resourceVersion is gone"
        }
        PhaseReason::TooLarge => "this server has not reached the resourceVersion it was asked for",
        PhaseReason::ErrorEvent => {
            "the server sent an ERROR event and the stream cannot be trusted"
        }
        PhaseReason::Decode => "what came could not be decoded and may have hidden an event",
        PhaseReason::TooManyRequests => "the server answered 429 and asked to come later",
        PhaseReason::Unauthorized => "the server answered 401: it does not know these credentials",
        PhaseReason::Forbidden => {
            "the server answered 403: this account may not list or watch here"
        }
        PhaseReason::NotFound => "the server answered 404: it does not serve this resource",
        PhaseReason::BadRequest => "the server refused the request as malformed",
        PhaseReason::ServerError => "the server answered with an internal error",
        PhaseReason::Unreachable => "the server could not be reached",
        PhaseReason::TlsFailed => "the TLS handshake failed",
        PhaseReason::Timeout => "no answer came in time",
        PhaseReason::Broken => "the connection broke before the answer was complete",
        PhaseReason::Idle => "nothing came for too long and a second watch proved the stream dead",
        PhaseReason::StopRequested => "someone asked it to stop",
        PhaseReason::NotDiscovered => "the server does not list this resource (yet)",
        PhaseReason::Credentials => "no credentials could be had",
        PhaseReason::RetryDue => "the wait is over",
        PhaseReason::WatchListRefused => {
            "this server refuses streaming lists and gets an ordinary one"
        }
        PhaseReason::InitialEventsEnd => "the initial events are complete",
        PhaseReason::Malformed => "an answer did not have the shape of a list",
        PhaseReason::Restored => "a list shows that etcd went back to an older state",
        PhaseReason::Unknown => "of a reason this page does not know",
    }
}

/// A span's time: from, to, how long.
fn span_time<T>(span: &Span<T>, now: Time) -> String {
    let from = clock_ms(span.start.at);
    let lasted = duration(span.end_at(now).micros_since(span.start.at));
    match span.end {
        Some(end) => format!("{from} to {} ({lasted})", clock_ms(end.at)),
        None if span.is_open() => format!("since {from} ({lasted})"),
        None => format!(
            "{from}, known until {} ({lasted})",
            clock_ms(span.end_at(now))
        ),
    }
}

fn merged(store: &Store, first: RecordId, last: RecordId, total: u32) -> Description {
    let at = |id| store.record(id).map(|record| record.at);
    let time = match (at(first), at(last)) {
        (Some(from), Some(to)) => format!("{} to {}", clock_ms(from), clock_ms(to)),
        _ => String::new(),
    };
    Description {
        time,
        what: format!(
            "{}. Zoom in to tell them apart.",
            count(u64::from(total), "change")
        ),
        record: Some(first),
        ..Description::default()
    }
}

fn stretch(store: &Store, lane: LaneId, kind: StretchKind, id: RecordId, now: Time) -> Description {
    let trace = store.epoch(id.epoch).map(|epoch| &epoch.trace);
    let watch = trace.and_then(|trace| trace.watch(lane.watch()?));
    let found = match kind {
        StretchKind::Finding => trace
            .and_then(|trace| trace.occurrences.get(id.seq).map(|span| (trace, span)))
            .map(|(trace, span)| {
                let what = &span.what;
                let mut fields = vec![
                    ("code", what.code.to_string()),
                    ("severity", what.severity.to_string()),
                ];
                if what.count > 1 {
                    fields.push(("occurred so far", format!("{} times", number(what.count))));
                }
                let stands = trace.findings.get(what.since);
                fields.extend(stands.map(|stands| ("stands", span_time(stands, now))));
                (
                    clock_ms(span.start.at),
                    format!("{} {}: {}", what.code, what.name, what.summary),
                    fields,
                )
            }),
        StretchKind::Connection => {
            trace
                .and_then(|trace| trace.connections.get(id.seq))
                .map(|span| {
                    let what = &span.what;
                    let mut fields = vec![
                        ("connection", what.connection.to_string()),
                        ("remote", what.remote.to_string()),
                    ];
                    fields.extend(
                        what.alpn
                            .as_ref()
                            .map(|alpn| ("protocol", protocol(alpn).to_owned())),
                    );
                    fields.extend(what.tls.as_ref().map(|tls| ("TLS", tls.to_string())));
                    let end = what
                        .cause
                        .map_or(String::new(), |cause| format!(", {}", cause_words(cause)));
                    (
                        span_time(span, now),
                        format!("Connection {} to {}{end}.", what.connection, what.remote),
                        fields,
                    )
                })
        }
        _ => watch.and_then(|watch| watch_stretch(watch, lane, kind, id.seq, now)),
    };
    let Some((time, what, mut fields)) = found else {
        return describe_record(store, lane, id);
    };
    if kind == StretchKind::Life {
        // What it was last, in this life.
        let end = span_end(watch, lane, id.seq, now);
        if let Some(last) = store.last_before(lane, end) {
            let told = describe_record(store, lane, last);
            let what = format!("{what} {}", told.what);
            return Description { time, what, ..told };
        }
    }
    let record = store.record(id);
    if fields.is_empty() {
        // A phase is told by the record that began it, a gap by the one that closed it.
        let closed = watch
            .and_then(|watch| watch.gaps.get(id.seq)?.end)
            .and_then(|end| store.record(RecordId { seq: end.seq, ..id }));
        let teller = if kind == StretchKind::Gap {
            closed.as_ref()
        } else {
            record.as_ref()
        };
        fields = teller.map_or_else(Vec::new, |record| event::fields(&record.event));
    }
    let mut request = record
        .as_ref()
        .map(|record| request_of(store, record, id))
        .unwrap_or_default();
    if request.is_empty()
        && let Some(span) = watch
            .and_then(|watch| watch.streams.get(id.seq))
            .filter(|_| kind == StretchKind::Stream)
        && let Some(seq) = watch.and_then(|watch| watch.request(span.what.request))
        && let Some(sent) = store.record(RecordId { seq, ..id })
    {
        request = request_of(store, &sent, RecordId { seq, ..id });
    }
    Description {
        time,
        what,
        fields,
        record: record.is_some().then_some(id),
        request,
        ..Description::default()
    }
}

/// When an object's life ended, or now.
fn span_end(watch: Option<&WatchTrace>, lane: LaneId, seq: Seq, now: Time) -> Time {
    let life = watch.zip(lane.object()).and_then(|(watch, object)| {
        let object = watch.objects.get(object.0 as usize)?;
        object.lives.get(seq)
    });
    life.map_or(now, |life| life.end_at(now))
}

/// What the client did last while a stream was open, and why, as a sentence with a blank behind it; nothing if that is
/// not loaded.
fn doing_while_open(watch: &WatchTrace, stream: &Span<StreamSpan>) -> String {
    let is_within =
        |start: Seq| start > stream.start.seq && stream.end.is_none_or(|end| start < end.seq);
    let phase = watch
        .phases
        .all()
        .iter()
        .rfind(|phase| is_within(phase.start.seq));
    phase.map_or_else(String::new, |phase| {
        let what = &phase.what;
        let is_over = !phase.is_open() || !stream.is_open();
        phase_told(what.phase, what.reason, what.delay_ms, is_over) + " "
    })
}

/// Why a stream ended, if that was said.
fn attribution_field(
    watch: &WatchTrace,
    stream: &Span<StreamSpan>,
) -> Option<(&'static str, String)> {
    let said = watch.attribution(stream)?;
    Some(("attribution", why_ended(&said.code, said.certainty)))
}

type Told = (String, String, Vec<(&'static str, String)>);

fn watch_stretch(
    watch: &WatchTrace,
    lane: LaneId,
    kind: StretchKind,
    seq: Seq,
    now: Time,
) -> Option<Told> {
    let object = lane
        .object()
        .and_then(|object| watch.objects.get(object.0 as usize));
    Some(match kind {
        StretchKind::Phase => {
            let span = watch.phases.get(seq)?;
            let what = &span.what;
            (
                span_time(span, now),
                phase_told(what.phase, what.reason, what.delay_ms, !span.is_open()),
                Vec::new(),
            )
        }
        StretchKind::Stream => {
            let span = watch.streams.get(seq)?;
            let what = &span.what;
            let mut fields = vec![("stream", what.stream.to_string())];
            fields.extend(
                what.from
                    .as_ref()
                    .map(|from| ("from resourceVersion", version(from))),
            );
            fields.extend(
                what.timeout_ms
                    .map(|timeout| ("timeout", format!("{} s", timeout / 1_000))),
            );
            let mut words = doing_while_open(watch, span);
            words += &match watch.fall(span) {
                Some((_, cause)) => format!("Stream {}, {}.", what.stream, cause_words(cause)),
                None if span.is_open() => format!("Stream {} is open.", what.stream),
                None => format!(
                    "Stream {} was open; what became of it is not known.",
                    what.stream
                ),
            };
            fields.extend(attribution_field(watch, span));
            (span_time(span, now), words, fields)
        }
        StretchKind::Gap => {
            let span = watch.gaps.get(seq)?;
            let began = match span.what.cause {
                Cause::Refused => "the stream was refused".to_string(),
                cause => format!("the stream ended ({})", cause_words(cause)),
            };
            let words = match span.what.outcome {
                Some(GapOutcome { resumed: true, .. }) => {
                    format!(
                        "A gap: {began}. It was resumed from where it stopped; nothing is lost."
                    )
                }
                Some(GapOutcome {
                    lost: Some(lost), ..
                }) => {
                    format!(
                        "A gap: {began}. It could not be resumed; {} missed.",
                        count(lost, "event")
                    )
                }
                Some(GapOutcome { lost: None, .. }) => {
                    format!(
                        "A gap: {began}. It could not be resumed; how many events were missed is unknown."
                    )
                }
                None if span.end.is_some() => {
                    format!("A gap: {began}, then the watch was stopped.")
                }
                None if span.is_open() => {
                    format!("A gap: {began}. Whether anything is lost is not known yet.")
                }
                None => format!("A gap: {began}. What became of it is not known."),
            };
            (span_time(span, now), words, Vec::new())
        }
        StretchKind::Life => {
            let object = object?;
            let span = object.lives.get(seq)?;
            let words = match (span.end, watch.doubt(object, span)) {
                (None, _) if span.is_open() => "The watch holds this object.".to_string(),
                (None, _) => {
                    "The watch held this object; what became of it is not known.".to_string()
                }
                (Some(_), None) => "The watch held this object.".to_string(),
                (Some(_), Some(doubt)) => {
                    format!(
                        "The watch held this object; since {} nobody knows whether it existed.",
                        clock_ms(doubt)
                    )
                }
            };
            (span_time(span, now), words, Vec::new())
        }
        StretchKind::Divergence => {
            let span = object?.verdicts.get(seq)?;
            let lasting_us = span.end_at(now).micros_since(span.start.at);
            let mut fields = Vec::new();
            fields.extend(
                span.what
                    .held
                    .as_ref()
                    .map(|held| ("held at", version(held))),
            );
            fields.extend(
                span.what
                    .listed
                    .as_ref()
                    .map(|listed| ("listed at", version(listed))),
            );
            (
                span_time(span, now),
                verdict_words(&span.what, lasting_us),
                fields,
            )
        }
        StretchKind::Finding | StretchKind::Connection => return None,
    })
}

/// The request behind a record: its own, or that of its stream.
fn request_of(store: &Store, record: &Record, id: RecordId) -> Vec<(&'static str, String)> {
    if let Event::RequestSent(sent) = &record.event {
        return request_fields(sent);
    }
    let Some(watch) = watch_of(store, record, id) else {
        return Vec::new();
    };
    // What a list told came by the watch's last request before it.
    let last = || {
        let sent = watch.requests.iter().rev().find(|sent| sent.1 < id.seq);
        sent.map(|sent| sent.0)
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

/// The colour of a finding's severity, for chips outside the picture.
#[must_use]
pub fn severity_token(severity: watchscope_model::vocabulary::Severity) -> Token {
    severity_ink(severity)
}
