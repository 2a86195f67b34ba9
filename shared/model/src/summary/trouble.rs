//! What went wrong in a chapter, as its summary lists it: a stretch of time, its kind and its severity.

use std::collections::BTreeSet;
use std::fmt;

use crate::codec::{Reader, Writer};
use crate::time::Time;
use crate::tree;
use crate::vocabulary::Severity;

/// The most troubles in a summary, so that its size is bounded. Above this number neighbours are joined into one, the
/// least severe first, then the nearest. [`Summary::decode`](super::Summary::decode) refuses a summary with more. The
/// number has no source.
pub const MAX_TROUBLES: usize = 32;

/// The kind of a trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TroubleKind {
    /// A gap that was open at the chapter's end, or whose watch was stopped or started again within the chapter. The
    /// chapter does not show whether events were lost.
    OpenGap,
    /// A gap that closed without a resume: events may be lost.
    LostGap,
    /// The server sent an ERROR event. The length of this trouble is 0.
    Error,
    /// A verdict was open: a read and a watch differed in an object. A verdict whose read was only older than the watch
    /// is no trouble.
    Divergence,
    /// An occurrence of a finding with a severity above note. The trouble lasts until the next occurrence, or until the
    /// finding was cleared; at most until the chapter's last record.
    Finding,
    /// A kind of trouble of a later version, by its number.
    Later(u64),
}

impl TroubleKind {
    fn number(self) -> u64 {
        match self {
            Self::OpenGap => 0,
            Self::LostGap => 1,
            Self::Error => 2,
            Self::Divergence => 3,
            Self::Finding => 4,
            Self::Later(number) => number,
        }
    }

    fn of(number: u64) -> Self {
        match number {
            0 => Self::OpenGap,
            1 => Self::LostGap,
            2 => Self::Error,
            3 => Self::Divergence,
            4 => Self::Finding,
            later => Self::Later(later),
        }
    }
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenGap => "open gap",
            Self::LostGap => "lost gap",
            Self::Error => "error",
            Self::Divergence => "divergence",
            Self::Finding => "finding",
            Self::Later(_) => "unknown",
        })
    }
}

/// A stretch of a chapter in which something went wrong. Joined troubles are one stretch, from the first start to the
/// last end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// When the trouble began; the time of the chapter's opening if it was open before that.
    pub start: Time,
    /// The trouble's length in microseconds, 0 for a moment. It is the length up to the chapter's last record if the
    /// trouble was still open then.
    pub length_us: u64,
    /// The kind of the trouble; of joined troubles, the kind of the most severe one, and of equally severe ones the
    /// kind of the first.
    pub kind: TroubleKind,
    /// The severity of the trouble; of joined troubles, the worst severity.
    pub severity: Severity,
    /// Whether the trouble was open at the chapter's opening.
    pub open_at_begin: bool,
    /// Whether the trouble was open after the chapter's last record.
    pub open_at_end: bool,
    /// The number of troubles that are joined in this one; 1 for a single trouble. The number saturates.
    pub count: u64,
}

impl Trouble {
    /// When the trouble ended: `start` plus the length. The time saturates.
    #[must_use]
    pub fn end(&self) -> Time {
        let length_us = i64::try_from(self.length_us).unwrap_or(i64::MAX);
        self.start.plus_micros(length_us)
    }

    fn join(self, other: Self) -> Self {
        let (start, end) = (self.start.min(other.start), self.end().max(other.end()));
        let is_worse = other.severity.rank() > self.severity.rank();
        let worst = if is_worse { other } else { self };
        Self {
            start,
            length_us: length_us(start, end),
            kind: worst.kind,
            severity: worst.severity,
            open_at_begin: self.open_at_begin || other.open_at_begin,
            open_at_end: self.open_at_end || other.open_at_end,
            count: self.count.saturating_add(other.count),
        }
    }

    fn key(&self) -> (Time, u64, u64, usize) {
        let kind = self.kind.number();
        (self.start, self.length_us, kind, self.severity.rank())
    }
}

/// The microseconds from `from` to `to`; 0 if `to` is not later.
pub(super) fn length_us(from: Time, to: Time) -> u64 {
    u64::try_from(to.micros_since(from)).unwrap_or(0)
}

/// Sorts troubles by time, and joins neighbours until at most `most` are left. It joins the least severe first, and
/// among equally severe ones the nearest. Each time at which a trouble was open stays within a trouble.
pub(super) fn join_neighbours(troubles: &mut Vec<Trouble>, most: usize) {
    tree::sort_by_key(troubles, Trouble::key);
    let surplus = troubles.len().saturating_sub(most.max(1));
    if surplus == 0 {
        return;
    }
    let mut joined = Neighbours::new(std::mem::take(troubles));
    (0..surplus).for_each(|_| joined.join_least());
    *troubles = joined.finish();
    // A joined trouble may begin before others that were sorted before it.
    tree::sort_by_key(troubles, Trouble::key);
}

/// A list of troubles, and the order in which neighbours are joined.
struct Neighbours {
    /// The troubles; `None` at the index of a trouble that was joined to another.
    all: Vec<Option<Trouble>>,
    before: Vec<usize>,
    after: Vec<usize>,
    /// For each pair of a trouble and the next one: their worse severity, their distance in µs, and the index of the
    /// first.
    pairs: BTreeSet<(usize, u64, usize)>,
}

/// The index that means "no neighbour".
const NONE: usize = usize::MAX;

impl Neighbours {
    fn new(troubles: Vec<Trouble>) -> Self {
        let count = troubles.len();
        let mut neighbours = Self {
            all: troubles.into_iter().map(Some).collect(),
            before: (0..count).map(|place| place.wrapping_sub(1)).collect(),
            after: (1..=count)
                .map(|place| if place == count { NONE } else { place })
                .collect(),
            pairs: BTreeSet::new(),
        };
        for place in 0..count {
            if let Some(pair) = neighbours.pair(place) {
                neighbours.pairs.insert(pair);
            }
        }
        neighbours
    }

    fn pair(&self, place: usize) -> Option<(usize, u64, usize)> {
        let first = self.all.get(place)?.as_ref()?;
        let next = self.all.get(self.after[place])?.as_ref()?;
        let severity = first.severity.worse(next.severity).rank();
        Some((severity, length_us(first.end(), next.start), place))
    }

    /// Joins the pair that is least severe, then nearest, then earliest.
    fn join_least(&mut self) {
        let Some((_, _, place)) = self.pairs.pop_first() else {
            return;
        };
        let (next, before) = (self.after[place], self.before[place]);
        for other in [next, before] {
            if other != NONE
                && let Some(pair) = self.pair(other)
            {
                self.pairs.remove(&pair);
            }
        }
        let joined = self.all[place]
            .zip(self.all[next].take())
            .map(|(first, second)| first.join(second));
        self.all[place] = joined;
        self.after[place] = self.after[next];
        if self.after[place] != NONE {
            self.before[self.after[place]] = place;
        }
        for other in [place, before] {
            if other != NONE
                && let Some(pair) = self.pair(other)
            {
                self.pairs.insert(pair);
            }
        }
    }

    fn finish(self) -> Vec<Trouble> {
        self.all.into_iter().flatten().collect()
    }
}

/// The bit in the flags of an encoded trouble that marks it as open at the chapter's opening.
const BEGIN: u8 = 1;
/// The bit in the flags of an encoded trouble that marks it as open after the chapter's last record.
const END: u8 = 2;

impl Trouble {
    /// Writes the trouble. The start is written as a distance from the writer's base time.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.time(self.start);
        writer.varint(self.length_us);
        writer.varint(self.kind.number());
        writer.varint(self.severity.number());
        let begin = if self.open_at_begin { BEGIN } else { 0 };
        let end = if self.open_at_end { END } else { 0 };
        writer.byte(begin | end);
        writer.varint(self.count);
    }

    /// Reads a trouble that [`Trouble::write`] wrote.
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let start = reader.time();
        let length_us = reader.varint();
        let kind = TroubleKind::of(reader.varint());
        let severity = Severity::from_number(reader.varint());
        let flags = reader.byte();
        Self {
            start,
            length_us,
            kind,
            severity,
            open_at_begin: flags & BEGIN != 0,
            open_at_end: flags & END != 0,
            count: reader.varint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trouble() -> impl Strategy<Value = Trouble> {
        let severity = prop::sample::select(Severity::ALL);
        (
            0i64..100_000,
            0u64..3_000,
            0u64..6,
            severity,
            any::<[bool; 2]>(),
        )
            .prop_map(
                |(start, length_us, kind, severity, [open_at_begin, open_at_end])| Trouble {
                    start: Time(start),
                    length_us,
                    kind: TroubleKind::of(kind),
                    severity,
                    open_at_begin,
                    open_at_end,
                    count: 1,
                },
            )
    }

    fn at(start: i64, length_us: u64, severity: Severity) -> Trouble {
        Trouble {
            start: Time(start),
            length_us,
            kind: TroubleKind::Finding,
            severity,
            open_at_begin: false,
            open_at_end: false,
            count: 1,
        }
    }

    #[test]
    fn the_least_severe_neighbours_are_joined_first_and_among_those_the_nearest() {
        let mut troubles = vec![
            at(0, 5, Severity::Warning),
            at(10, 0, Severity::Warning),
            at(12, 0, Severity::Warning),
            at(13, 0, Severity::Error),
            at(14, 0, Severity::Error),
        ];
        join_neighbours(&mut troubles, 4);
        let spans = |troubles: &[Trouble]| -> Vec<(i64, u64, u64)> {
            let each = troubles.iter();
            each.map(|trouble| (trouble.start.0, trouble.length_us, trouble.count))
                .collect()
        };
        assert_eq!(
            spans(&troubles),
            [(0, 5, 1), (10, 2, 2), (13, 0, 1), (14, 0, 1)]
        );
        join_neighbours(&mut troubles, 3);
        assert_eq!(spans(&troubles), [(0, 12, 3), (13, 0, 1), (14, 0, 1)]);
        join_neighbours(&mut troubles, 1);
        assert_eq!(spans(&troubles), [(0, 14, 5)]);
        assert_eq!(troubles[0].severity, Severity::Error);
    }

    proptest! {
        #[test]
        fn joining_leaves_no_stretch_without_a_mark_and_counts_all(mut troubles in prop::collection::vec(trouble(), 0..200), most in 1usize..40) {
            let all = troubles.clone();
            join_neighbours(&mut troubles, most);
            prop_assert!(troubles.len() <= most);
            prop_assert_eq!(troubles.iter().map(|trouble| trouble.count).sum::<u64>(), all.len() as u64);
            for one in &all {
                let is_marked = troubles.iter().any(|mark| {
                    mark.start <= one.start && one.end() <= mark.end() && mark.severity.rank() >= one.severity.rank()
                });
                prop_assert!(is_marked, "{one:?}");
            }
            let worst = |troubles: &[Trouble]| troubles.iter().map(|trouble| trouble.severity.rank()).max();
            prop_assert_eq!(worst(&troubles), worst(&all));
        }

        #[test]
        fn a_trouble_reads_back(trouble in trouble(), base in -5i64..5) {
            let bytes = Writer::plain(|writer| {
                writer.base_at = Time(base);
                trouble.write(writer);
            });
            let mut reader = Reader::plain(&bytes);
            reader.base_at = Time(base);
            let read = Trouble::read(&mut reader);
            prop_assert_eq!(reader.finish(read), Ok(trouble));
        }
    }
}
