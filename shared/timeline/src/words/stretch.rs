//! A stretch of a lane in words: a phase, a stream, a gap, the life of an object, a finding, a connection.

use watchscope_model::vocabulary::Cause;
use watchscope_model::{Seq, Time};

use super::event::fields as event_fields;
use super::phase::phase_words;
use super::record::{Description, attribution_field, describe_record, request_of};
use crate::format::{clock_ms, count, duration, number, version};
use crate::id::{LaneId, RecordId};
use crate::phrases::{cause_words, protocol, verdict_words};
use crate::scene::StretchKind;
use crate::store::{GapOutcome, Span, Store, StreamSpan, WatchTrace};

/// A stretch in words, from the columns of the store alone.
pub(crate) struct Brief {
    /// Begin, end and duration of the stretch.
    pub(crate) time: String,
    /// The sentence that describes the stretch.
    pub(crate) what: String,
    /// The fields of the stretch, name and value each.
    fields: Vec<(&'static str, String)>,
    /// For an object's life, its last record. That record's sentence follows the life's sentence.
    pub(crate) last: Option<RecordId>,
}

/// Returns a stretch in words, without decoding a record. `None` if the store does not know the stretch.
pub(crate) fn brief(
    store: &Store,
    lane: LaneId,
    kind: StretchKind,
    id: RecordId,
    now: Time,
) -> Option<Brief> {
    let trace = store.epoch(id.epoch).map(|epoch| &epoch.trace);
    let watch = trace.and_then(|trace| trace.watch(lane.watch()?));
    let (time, what, fields) = match kind {
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
    }?;
    let last = || store.last_before(lane, span_end(watch, lane, id.seq, now));
    Some(Brief {
        time,
        what,
        fields,
        last: (kind == StretchKind::Life).then(last).flatten(),
    })
}

/// Returns the description of a stretch of a lane: its time, its sentence, and its fields.
pub(super) fn stretch(
    store: &Store,
    lane: LaneId,
    kind: StretchKind,
    id: RecordId,
    now: Time,
) -> Description {
    let Some(found) = brief(store, lane, kind, id, now) else {
        return describe_record(store, lane, id);
    };
    let Brief {
        time,
        what,
        mut fields,
        last,
    } = found;
    if let Some(last) = last {
        let described = describe_record(store, lane, last);
        let what = format!("{what} {}", described.what);
        return Description {
            time,
            what,
            ..described
        };
    }
    let trace = store.epoch(id.epoch).map(|epoch| &epoch.trace);
    let watch = trace.and_then(|trace| trace.watch(lane.watch()?));
    let record = store.record(id);
    if fields.is_empty() {
        // The record that began a phase describes it; the record that closed a gap describes that.
        let closed = watch
            .and_then(|watch| watch.gaps.get(id.seq)?.end)
            .and_then(|end| store.record(RecordId { seq: end.seq, ..id }));
        let teller = if kind == StretchKind::Gap {
            closed.as_ref()
        } else {
            record.as_ref()
        };
        fields = teller.map_or_else(Vec::new, |record| event_fields(&record.event));
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

/// Returns the words for a span's time: begin, end and duration.
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

/// Returns when an object's life ended, or now.
fn span_end(watch: Option<&WatchTrace>, lane: LaneId, seq: Seq, now: Time) -> Time {
    let life = watch.zip(lane.object()).and_then(|(watch, object)| {
        let object = watch.objects.get(object.0 as usize)?;
        object.lives.get(seq)
    });
    life.map_or(now, |life| life.end_at(now))
}

/// Returns the client's last action while a stream was open, with its reason, as a sentence with a trailing blank. The
/// result is empty if no such action is loaded.
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
        phase_words(what.phase, what.reason, what.delay_ms, is_over) + " "
    })
}

/// Time, sentence and fields of a stretch.
type StretchWords = (String, String, Vec<(&'static str, String)>);

fn watch_stretch(
    watch: &WatchTrace,
    lane: LaneId,
    kind: StretchKind,
    seq: Seq,
    now: Time,
) -> Option<StretchWords> {
    let object = lane
        .object()
        .and_then(|object| watch.objects.get(object.0 as usize));
    Some(match kind {
        StretchKind::Phase => {
            let span = watch.phases.get(seq)?;
            let what = &span.what;
            (
                span_time(span, now),
                phase_words(what.phase, what.reason, what.delay_ms, !span.is_open()),
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
                    "Stream {} was open; what happened to it then is unknown.",
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
                    format!("A gap: {began}. The watch resumed where it stopped; nothing is lost.")
                }
                Some(GapOutcome {
                    lost: Some(lost), ..
                }) => {
                    format!(
                        "A gap: {began}. The watch could not resume; {} missed.",
                        count(lost, "event")
                    )
                }
                Some(GapOutcome { lost: None, .. }) => {
                    format!(
                        "A gap: {began}. The watch could not resume; it is unknown how many events it missed."
                    )
                }
                None if span.end.is_some() => {
                    format!("A gap: {began}, then the watch was stopped.")
                }
                None if span.is_open() => {
                    format!("A gap: {began}. It is not known yet whether anything is lost.")
                }
                None => format!("A gap: {began}. What happened then is unknown."),
            };
            (span_time(span, now), words, Vec::new())
        }
        StretchKind::Life => {
            let object = object?;
            let span = object.lives.get(seq)?;
            let words = match (span.end, watch.doubt(object, span)) {
                (None, _) if span.is_open() => "The watch holds this object.".to_string(),
                (None, _) => {
                    "The watch held this object; what happened to it then is unknown.".to_string()
                }
                (Some(_), None) => "The watch held this object.".to_string(),
                (Some(_), Some(doubt)) => {
                    format!(
                        "The watch held this object; since {} it is unknown whether it existed.",
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
