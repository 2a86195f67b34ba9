//! Stretches, identified by their first record, so that the knowledge of several chapters merges in any order.

use watchscope_model::fold::Moment;
use watchscope_model::{Seq, Time};

use crate::record_run::RecordRun;

/// The `until` of a span that is open at the head of the live log: the greatest time, later than any `now`.
pub(crate) const LIVE: Time = Time(i64::MAX);

/// A stretch of time that a record begins and another may end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span<T> {
    /// The record with which the span began.
    pub(crate) start: Moment,
    /// The record that ended the span; `None` if it has not ended, or that record is not loaded.
    pub(crate) end: Option<Moment>,
    /// Until when the span is known to be open, if its end is not loaded; [`LIVE`] if it is open at the head of a live
    /// log.
    pub(crate) until: Time,
    /// The last record that updated `what`.
    pub(crate) updated: Seq,
    /// The content of the span.
    pub(crate) what: T,
}

impl<T> Span<T> {
    /// Whether the span is open now. A span without a loaded end may be known to be open only until an earlier time.
    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none() && self.until == LIVE
    }

    /// Returns when the span ended. If its end is not known, returns until when the span is known to last, at most
    /// `now`.
    pub(crate) fn end_at(&self, now: Time) -> Time {
        self.end.map_or(self.until.min(now), |end| end.at)
    }
}

/// Spans of one kind, by their first records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spans<T>(Vec<Span<T>>);

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Spans<T> {
    /// Returns all spans, the oldest first.
    pub(crate) fn all(&self) -> &[Span<T>] {
        &self.0
    }

    /// Returns the span that began with a record; `None` if none did.
    pub(crate) fn get(&self, start: Seq) -> Option<&Span<T>> {
        let place = self
            .0
            .binary_search_by_key(&start, |span| span.start.seq)
            .ok()?;
        Some(&self.0[place])
    }

    /// Returns the span that began with a record, for an update; `None` if none did.
    pub(crate) fn get_mut(&mut self, start: Seq) -> Option<&mut Span<T>> {
        let place = self
            .0
            .binary_search_by_key(&start, |span| span.start.seq)
            .ok()?;
        Some(&mut self.0[place])
    }

    /// Opens a span, unless it is known. The span counts as open until it is closed or [frozen](Self::freeze).
    pub(crate) fn open(&mut self, start: Moment, updated: Seq, what: T) {
        self.add(Span {
            start,
            end: None,
            until: LIVE,
            updated,
            what,
        });
    }

    /// Ends the span that began with `start`, and returns its content; `None` if none began with it.
    pub(crate) fn close(&mut self, start: Seq, end: Moment) -> Option<&mut T> {
        let span = self.get_mut(start)?;
        span.end = Some(end);
        span.updated = end.seq;
        Some(&mut span.what)
    }

    /// Adds what another chapter knows of a span. A known end wins over none, and of two `until` the later one wins. Of
    /// two contents, the one updated later wins.
    pub(crate) fn add(&mut self, span: Span<T>) {
        match self
            .0
            .binary_search_by_key(&span.start.seq, |span| span.start.seq)
        {
            Ok(place) => {
                let known = &mut self.0[place];
                known.end = known.end.or(span.end);
                known.until = known.until.max(span.until);
                if span.updated > known.updated {
                    (known.updated, known.what) = (span.updated, span.what);
                }
            }
            Err(place) => self.0.insert(place, span),
        }
    }

    /// Returns all spans, the oldest first.
    pub(crate) fn into_all(self) -> Vec<Span<T>> {
        self.0
    }

    /// Adds all spans of another set.
    pub(crate) fn merge(&mut self, other: Self) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        other.0.into_iter().for_each(|span| self.add(span));
    }

    /// Marks the end of the known records: open spans are known to be open until `at`.
    pub(crate) fn freeze(&mut self, at: Time) {
        for span in self.0.iter_mut().filter(|span| span.end.is_none()) {
            span.until = span.until.min(at);
        }
    }

    /// Forgets the spans that lie within a run of records that is being forgotten. Seqs distinguish records of the same
    /// time.
    pub(crate) fn forget(&mut self, run: RecordRun) {
        self.0.retain(|span| {
            let ends_later = match span.end {
                Some(end) => end.seq > run.last,
                None => span.until > run.to || span.start.seq > run.last,
            };
            span.start.seq < run.first || ends_later
        });
    }

    /// Returns the spans that may reach into a stretch of time, edges included, the oldest first. The function is right
    /// only for spans that do not overlap.
    pub(crate) fn in_sequence(&self, left: Time, right: Time) -> &[Span<T>] {
        let from = self
            .0
            .partition_point(|span| span.start.at < left)
            .saturating_sub(1);
        let to = self.0.partition_point(|span| span.start.at <= right);
        &self.0[from.min(to)..to]
    }

    /// Estimates the size of the spans in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Span<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_ended_right_after_the_last_forgotten_record_is_kept() {
        let moment = |seq: u64, at: i64| Moment {
            seq: Seq(seq),
            at: Time(at),
        };
        let mut spans = Spans::default();
        for (start, end) in [(1, 9), (2, 10), (3, 11)] {
            spans.open(moment(start, 0), Seq(start), ());
            spans.close(Seq(start), moment(end, 50));
        }
        // Begun in that moment, and not known for longer.
        spans.open(moment(10, 50), Seq(10), ());
        spans.open(moment(12, 50), Seq(12), ());
        spans.freeze(Time(50));
        let kept_without = |first: u64| {
            let mut spans = spans.clone();
            spans.forget(RecordRun {
                first: Seq(first),
                last: Seq(10),
                to: Time(50),
            });
            let starts = spans.all().iter().map(|span| span.start.seq.0);
            starts.collect::<Vec<_>>()
        };
        assert_eq!(kept_without(0), [3, 12]);
        assert_eq!(kept_without(2), [1, 3, 12], "it began before the run");
    }
}
