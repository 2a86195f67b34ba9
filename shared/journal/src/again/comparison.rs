//! Compares the recorded judgements with the judgements that are made again.

use std::collections::VecDeque;

use watchscope_model::Time;

use super::judgement::{Judgement, Reach};
use super::kept::Missing;

/// The most differences that are listed, and the most listed judgements that cannot be made again. Further differences
/// and judgements are only counted. The number bounds the memory and the report of a comparison. The number has no
/// source.
pub const MAX_LISTED: usize = 10_000;
/// The most time in microseconds between a recorded judgement and one made again that are still compared with each
/// other. A judgement waits for its counterpart until a judgement comes whose time is further away than this.
/// [`Missing::Alike`] uses the same time. Diagnosis may replace a stream's judgement for 12.25 s
/// (`SUSPICION_REVISED_US`), so a time below 12.25 s would miss counterparts. The number has no source.
pub const NEAR_US: i64 = 60_000_000;
/// The most judgements that wait for their counterpart. Above this number the oldest is decided at once, before
/// [`NEAR_US`] have passed. The number bounds the memory, and the search for a counterpart. The number has no source:
/// it is 68 judgements a second over [`NEAR_US`].
const MAX_WAITING: usize = 4_096;
/// The most judgements with missing evidence, and findings that were open at the begin or after a hole, that are kept
/// together. They serve to recognise judgements with the same subject or a common watch ([`Missing::Alike`]). Above
/// this number the oldest is forgotten. The number bounds the memory and the search. The number has no source: as many
/// findings may be open at one time.
const MAX_REACHES: usize = 1_024;

/// A judgement that differs between the recording and the judgements made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The judgement is made again, and no recorded judgement of its subject within [`NEAR_US`] is left to compare it
    /// with.
    New(Judgement),
    /// The judgement was recorded, and no judgement of its subject that is made again within [`NEAR_US`] is left to
    /// compare it with.
    Gone(Judgement),
    /// The judgement made again has another content than the recorded one, or a time more than
    /// [`LATE_US`](super::LATE_US) away.
    Changed {
        /// The recorded judgement.
        recorded: Judgement,
        /// The judgement made again.
        again: Judgement,
    },
}

impl Difference {
    /// Returns the time of the difference: that of the recorded judgement, if there is one, else that of the judgement
    /// made again.
    #[must_use]
    pub fn at(&self) -> Time {
        match self {
            Self::New(judgement) | Self::Gone(judgement) => judgement.at,
            Self::Changed { recorded, .. } => recorded.at,
        }
    }
}

/// The comparison of a run's recorded judgements with the judgements made again. [`MAX_LISTED`] bounds each list. While
/// more than 4,096 judgements wait for a counterpart, the oldest is decided before [`NEAR_US`] have passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of recorded judgements that are made again with the same content, at most [`LATE_US`](super::LATE_US)
    /// away. Judgements in `audited` and `apart` do not count.
    pub same: u64,
    /// The number of recorded judgements that are taken as recorded because they rest on reads of the audit. A
    /// judgement counts here, too, if an earlier judgement of its subject, recorded or made again, rests on such reads.
    pub audited: u64,
    /// The differences, sorted by [`Difference::at`]; empty if all judgements are the same. Of more than
    /// [`MAX_LISTED`], the list has those that were found first.
    pub differing: Vec<Difference>,
    /// Judgements that cannot be made again, and why, sorted by time; empty if there are none. These judgements are
    /// taken as recorded. But a judgement with [`Missing::Alike`] was made again, and cannot be compared. Of more than
    /// [`MAX_LISTED`], the list has those that were found first.
    pub apart: Vec<(Judgement, Missing)>,
    /// The number of differences above [`MAX_LISTED`], which `differing` lacks.
    pub differing_unlisted: u64,
    /// The number of judgements above [`MAX_LISTED`], which `apart` lacks.
    pub apart_unlisted: u64,
}

impl Comparison {
    fn differs(&mut self, difference: Difference) {
        if self.differing.len() < MAX_LISTED {
            self.differing.push(difference);
        } else {
            self.differing_unlisted += 1;
        }
    }

    fn sets_apart(&mut self, judgement: Judgement, missing: Missing) {
        if self.apart.len() < MAX_LISTED {
            self.apart.push((judgement, missing));
        } else {
            self.apart_unlisted += 1;
        }
    }
}

/// The origin of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Recorded,
    Again,
}

/// A judgement without a counterpart so far.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) side: Side,
    pub(super) judgement: Judgement,
    pub(super) reach: Reach,
}

/// The state of a comparison of judgements, which come one by one, in the order of their times, or nearly so.
///
/// Equal judgements match at once. Other judgements wait for [`NEAR_US`], and then match the nearest counterpart.
/// [`MAX_WAITING`], [`MAX_REACHES`] and [`MAX_LISTED`] bound the memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparing {
    waiting: VecDeque<Waiting>,
    /// The subjects and watches of judgements that cannot be made again, with their times.
    reaches: VecDeque<(Time, Reach)>,
    comparison: Comparison,
}

impl Comparing {
    pub(super) fn audited(&mut self) {
        self.comparison.audited += 1;
    }

    /// Adds a recorded judgement that cannot be made again.
    pub(super) fn apart(&mut self, judgement: Judgement, missing: Missing) {
        self.comparison.sets_apart(judgement, missing);
    }

    /// Notes the subject and watches of a judgement that cannot be made again.
    pub(super) fn reaches(&mut self, at: Time, reach: Reach) {
        if self.reaches.len() == MAX_REACHES {
            self.reaches.pop_front();
        }
        self.reaches.push_back((at, reach));
    }

    /// Adds a judgement.
    pub(super) fn take(&mut self, new: Waiting) {
        self.pass(new.judgement.at);
        let at = new.judgement.at;
        let is_same =
            |other: &Waiting| other.side != new.side && other.judgement.is_same(&new.judgement);
        if let Some(place) = self.nearest(at, is_same) {
            self.waiting.remove(place);
            self.comparison.same += 1;
            return;
        }
        if self.waiting.len() == MAX_WAITING {
            self.decide_first();
        }
        self.waiting.push_back(new);
    }

    /// The index of the waiting judgement that `is_wanted` accepts and whose time is nearest to `at`.
    fn nearest(&self, at: Time, is_wanted: impl Fn(&Waiting) -> bool) -> Option<usize> {
        let waiting = self.waiting.iter().enumerate();
        let wanted = waiting.filter(|(_, other)| is_wanted(other));
        let nearest = wanted.min_by_key(|(_, other)| distance_us(other.judgement.at, at));
        nearest.map(|(place, _)| place)
    }

    /// Decides the judgements that have waited for [`NEAR_US`].
    fn pass(&mut self, now: Time) {
        let is_over = |first: &Waiting| !is_within(first.judgement.at, now, NEAR_US);
        while self.waiting.front().is_some_and(is_over) {
            self.decide_first();
        }
    }

    /// Decides all judgements that wait.
    pub(super) fn decide_all(&mut self) {
        while !self.waiting.is_empty() {
            self.decide_first();
        }
        self.reaches.clear();
    }

    pub(super) fn finish(mut self) -> Comparison {
        self.decide_all();
        let comparison = &mut self.comparison;
        comparison.differing.sort_by_key(Difference::at);
        comparison.apart.sort_by_key(|(judgement, _)| judgement.at);
        self.comparison
    }

    fn decide_first(&mut self) {
        let Some(first) = self.waiting.pop_front() else {
            return;
        };
        let Judgement { about, at, .. } = &first.judgement;
        let is_other = |other: &Waiting| {
            let was = &other.judgement;
            other.side != first.side && was.about == *about && is_within(was.at, *at, NEAR_US)
        };
        let nearest = self.nearest(*at, is_other);
        let other = nearest.and_then(|place| self.waiting.remove(place));
        let (recorded, again) = match first.side {
            Side::Recorded => (Some(first), other),
            Side::Again => (other, Some(first)),
        };
        self.decide(recorded, again);
    }

    fn decide(&mut self, recorded: Option<Waiting>, again: Option<Waiting>) {
        match (recorded, again) {
            (None, None) => {}
            (Some(recorded), Some(again)) => self.comparison.differs(Difference::Changed {
                recorded: recorded.judgement,
                again: again.judgement,
            }),
            (Some(recorded), None) => {
                let gone = Difference::Gone(recorded.judgement);
                self.comparison.differs(gone);
            }
            (None, Some(again)) if self.is_reached(&again) => {
                self.comparison.sets_apart(again.judgement, Missing::Alike);
            }
            (None, Some(again)) => {
                self.comparison.differs(Difference::New(again.judgement));
            }
        }
    }

    /// Whether a judgement has the subject, or the code and a watch, of a judgement near it that cannot be made again.
    fn is_reached(&self, again: &Waiting) -> bool {
        let is_one = |(at, reach): &(Time, Reach)| {
            is_within(*at, again.judgement.at, NEAR_US) && reach.meets(&again.reach)
        };
        self.reaches.iter().any(is_one)
    }
}

fn is_within(one: Time, other: Time, micros: i64) -> bool {
    distance_us(one, other) <= micros
}

fn distance_us(one: Time, other: Time) -> i64 {
    one.micros_since(other).saturating_abs()
}
