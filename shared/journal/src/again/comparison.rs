//! How the judgements made anew compare with the recorded ones.

use std::collections::VecDeque;

use watchscope_model::Time;

use super::judgement::{Judgement, Reach};
use super::kept::Missing;

/// Most differences that are listed, and most that cannot be judged; more are only counted.
pub const MAX_LISTED: usize = 10_000;
/// How far apart two judgements of the same may be recorded and made anew, in microseconds.
pub const NEAR_US: i64 = 60_000_000;
/// Most judgements that wait for the other side's. Past that the oldest waits no longer.
const MAX_WAITING: usize = 4_096;
/// Most judgements that rest on what is missing, by which others are known; the oldest is forgotten.
const MAX_REACHES: usize = 1_024;

/// A judgement that is not the same recorded and made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is made anew and was not recorded.
    New(Judgement),
    /// It was recorded and is not made anew.
    Gone(Judgement),
    /// It says something else, or comes at another time.
    Changed {
        /// As recorded.
        recorded: Judgement,
        /// As made anew.
        again: Judgement,
    },
}

impl Difference {
    /// Its time: that of the record, if there is one.
    #[must_use]
    pub fn at(&self) -> Time {
        match self {
            Self::New(judgement) | Self::Gone(judgement) => judgement.at,
            Self::Changed { recorded, .. } => recorded.at,
        }
    }
}

/// How the judgements of a run compare, recorded and made anew. Bounded by [`MAX_LISTED`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// How many are the same.
    pub same: u64,
    /// How many rest on the audit's reads and are taken as recorded.
    pub audited: u64,
    /// What differs, by time.
    pub differing: Vec<Difference>,
    /// What cannot be judged anew, and why, by time. What is recorded of it is taken.
    pub apart: Vec<(Judgement, Missing)>,
    /// How many more differ than are listed.
    pub differing_unlisted: u64,
    /// How many more cannot be judged than are listed.
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

/// Which of the two a judgement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Recorded,
    Again,
}

/// A judgement that was not the other side's too so far.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) side: Side,
    pub(super) judgement: Judgement,
    pub(super) reach: Reach,
}

/// Compares judgements as they come, in the order of their times or nearly so.
///
/// Equal ones meet at once. What is left over waits for [`NEAR_US`], and then meets what is nearest. Bounded by
/// [`MAX_WAITING`], [`MAX_REACHES`] and [`MAX_LISTED`].
#[derive(Clone, Debug, Default)]
pub(super) struct Comparing {
    waiting: VecDeque<Waiting>,
    /// What the judgements reach that cannot be made anew, and when.
    reaches: VecDeque<(Time, Reach)>,
    comparison: Comparison,
}

impl Comparing {
    pub(super) fn audited(&mut self) {
        self.comparison.audited += 1;
    }

    /// A recorded judgement that cannot be made anew.
    pub(super) fn apart(&mut self, judgement: Judgement, missing: Missing) {
        self.comparison.sets_apart(judgement, missing);
    }

    /// A judgement of this reach cannot be made anew.
    pub(super) fn reaches(&mut self, at: Time, reach: Reach) {
        if self.reaches.len() == MAX_REACHES {
            self.reaches.pop_front();
        }
        self.reaches.push_back((at, reach));
    }

    /// Takes a judgement.
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

    /// The place of the waiting one that is wanted and nearest to a time.
    fn nearest(&self, at: Time, is_wanted: impl Fn(&Waiting) -> bool) -> Option<usize> {
        let waiting = self.waiting.iter().enumerate();
        let wanted = waiting.filter(|(_, other)| is_wanted(other));
        let nearest = wanted.min_by_key(|(_, other)| distance_us(other.judgement.at, at));
        nearest.map(|(place, _)| place)
    }

    /// Decides what has waited for long enough.
    fn pass(&mut self, now: Time) {
        let is_over = |first: &Waiting| !is_within(first.judgement.at, now, NEAR_US);
        while self.waiting.front().is_some_and(is_over) {
            self.decide_first();
        }
    }

    /// Decides all that waits.
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

    /// Whether a judgement is of the same as one that cannot be made anew.
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
