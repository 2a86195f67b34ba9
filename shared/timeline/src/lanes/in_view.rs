//! A watch between two times: whether it was wanted between them, and its most severe mark.

use watchscope_model::Time;
use watchscope_model::vocabulary::{Divergence, Phase};

use crate::glyph::Glyph;
use crate::store::{ObjectMarks, Span, VerdictSpan, WatchTrace};
use crate::tokens::Token;

/// Whether a watch is wanted at some time between `left` and `right`: started by `right`, and not stopped before
/// `left`.
pub(super) fn is_wanted(trace: &WatchTrace, (left, right): (Time, Time)) -> bool {
    let Some(started) = trace.started else {
        return false;
    };
    let stopped = trace
        .phases
        .all()
        .last()
        .filter(|span| span.what.phase == Phase::Stopped)
        .map(|span| span.start.at);
    started.at <= right && stopped.is_none_or(|at| at >= left)
}

/// Whether one of an object's marks lies between `left` and `right`.
pub(super) fn has_mark(trace: &WatchTrace, marks: &ObjectMarks, left: Time, right: Time) -> bool {
    let places = trace.marks.places_within(left, right);
    !marks.within(&places).is_empty()
}

/// Returns the mark of the most severe event between `left` and `right`, which stands beside the watch's name. `None`
/// without a confirmed divergence, a refusal, an ERROR or a lost gap.
pub(super) fn worst_mark(
    traces: &[&WatchTrace],
    left: Time,
    right: Time,
) -> Option<(Glyph, Token)> {
    let within = |at: Time| at >= left && at <= right;
    let verdicts = traces
        .iter()
        .flat_map(|trace| &trace.objects)
        .flat_map(|object| object.verdicts.all());
    if let Some(mark) = divergence_mark(verdicts, left, right) {
        return Some(mark);
    }
    let refused = traces
        .iter()
        .flat_map(|trace| trace.phases.in_sequence(left, right))
        .any(|span| {
            span.what.phase == Phase::Refused
                && span.start.at <= right
                && span.end_at(right) >= left
        });
    let error = traces
        .iter()
        .flat_map(|trace| &trace.errors)
        .any(|error| within(error.moment.at));
    let lost = traces
        .iter()
        .flat_map(|trace| trace.gaps.in_sequence(left, right))
        .any(|span| {
            span.what.outcome.is_some_and(|outcome| !outcome.resumed)
                && span.end.is_some_and(|end| within(end.at))
        });
    (refused || error || lost).then_some((Glyph::Error, Token::Error))
}

/// Returns the mark of the most severe confirmed divergence between `left` and `right`.
pub(super) fn divergence_mark<'a>(
    verdicts: impl Iterator<Item = &'a Span<VerdictSpan>>,
    left: Time,
    right: Time,
) -> Option<(Glyph, Token)> {
    let shown = verdicts.filter(|span| span.start.at <= right && span.end_at(right) >= left);
    let shown = shown.filter(|span| span.what.is_confirmed);
    let worst = shown.map(|span| span.what.kind).min()?;
    Some((divergence_glyph(worst), Token::Divergence))
}

/// Returns the glyph of a divergence.
pub(crate) fn divergence_glyph(kind: Divergence) -> Glyph {
    match kind {
        Divergence::Ghost => Glyph::Ghost,
        Divergence::Missing => Glyph::Missing,
        Divergence::ListOlder => Glyph::ListOlder,
        Divergence::Stale | Divergence::Unknown => Glyph::Stale,
    }
}
