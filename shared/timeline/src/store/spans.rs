//! Things that last, told by the record they began with, so that what chapters know of them adds up in any order.

use watchscope_model::fold::Moment;
use watchscope_model::{Seq, Time};

/// Still open as far as the live log tells.
pub(crate) const LIVE: Time = Time(i64::MAX);

/// Something that lasts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span<T> {
    /// The record it began with.
    pub(crate) start: Moment,
    /// The record that ended it, if that is loaded.
    pub(crate) end: Option<Moment>,
    /// Until when it is known to be open, if its end is not loaded; [`LIVE`] at the head of a live log.
    pub(crate) until: Time,
    /// The last record that told something of it.
    pub(crate) told: Seq,
    /// What it is.
    pub(crate) what: T,
}

impl<T> Span<T> {
    /// Whether it goes on now. What has no end is else only known to have lasted until some time.
    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none() && self.until == LIVE
    }

    /// When it ended, or until when it is known to last.
    pub(crate) fn end_at(&self, now: Time) -> Time {
        self.end.map_or(self.until.min(now), |end| end.at)
    }
}

/// Spans of one kind, by the record they began with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spans<T>(Vec<Span<T>>);

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Spans<T> {
    /// All, oldest first.
    pub(crate) fn all(&self) -> &[Span<T>] {
        &self.0
    }

    /// The one that began with a record.
    pub(crate) fn get(&self, start: Seq) -> Option<&Span<T>> {
        let place = self
            .0
            .binary_search_by_key(&start, |span| span.start.seq)
            .ok()?;
        Some(&self.0[place])
    }

    /// The one that began with a record, to be told more of.
    pub(crate) fn get_mut(&mut self, start: Seq) -> Option<&mut Span<T>> {
        let place = self
            .0
            .binary_search_by_key(&start, |span| span.start.seq)
            .ok()?;
        Some(&mut self.0[place])
    }

    /// Opens one, unless it is known. It goes on until it is closed or [frozen](Self::freeze).
    pub(crate) fn open(&mut self, start: Moment, told: Seq, what: T) {
        self.add(Span {
            start,
            end: None,
            until: LIVE,
            told,
            what,
        });
    }

    /// Ends the one that began with `start`, and hands out what it is.
    pub(crate) fn close(&mut self, start: Seq, end: Moment) -> Option<&mut T> {
        let span = self.get_mut(start)?;
        span.end = Some(end);
        span.told = end.seq;
        Some(&mut span.what)
    }

    /// Adds what is known of a span: an end wins, else the longer knowledge; the later word on what it is.
    pub(crate) fn add(&mut self, span: Span<T>) {
        match self
            .0
            .binary_search_by_key(&span.start.seq, |span| span.start.seq)
        {
            Ok(place) => {
                let known = &mut self.0[place];
                known.end = known.end.or(span.end);
                known.until = known.until.max(span.until);
                if span.told > known.told {
                    (known.told, known.what) = (span.told, span.what);
                }
            }
            Err(place) => self.0.insert(place, span),
        }
    }

    /// Adds all that another set knows.
    pub(crate) fn merge(&mut self, other: Self) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        other.0.into_iter().for_each(|span| self.add(span));
    }

    /// No record after `at` is known to follow: what is open is known to be so until then.
    pub(crate) fn freeze(&mut self, at: Time) {
        for span in self.0.iter_mut().filter(|span| span.end.is_none()) {
            span.until = span.until.min(at);
        }
    }

    /// Forgets what was over by the record `last`, taken at `at`. Records of one moment are told apart by their seqs.
    pub(crate) fn forget_before(&mut self, last: Seq, at: Time) {
        self.0.retain(|span| match span.end {
            Some(end) => end.seq > last,
            None => span.until > at || span.start.seq > last,
        });
    }

    /// The ones that may reach into a stretch of time, for spans of which one begins when the one before is over.
    pub(crate) fn in_sequence(&self, left: Time, right: Time) -> &[Span<T>] {
        let from = self
            .0
            .partition_point(|span| span.start.at < left)
            .saturating_sub(1);
        let to = self.0.partition_point(|span| span.start.at <= right);
        &self.0[from.min(to)..to]
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Span<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_in_the_moment_of_the_last_record_forgotten_but_after_it_is_kept() {
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
        spans.forget_before(Seq(10), Time(50));
        let kept: Vec<u64> = spans.all().iter().map(|span| span.start.seq.0).collect();
        assert_eq!(kept, [3, 12]);
    }
}
