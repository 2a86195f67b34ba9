//! The problems of a strip by px: the worst that began in each, where something diverged, where events may be lost.

use std::ops::Range;

use watchscope_model::Time;
use watchscope_model::summary::TroubleKind;
use watchscope_model::vocabulary::Severity;

use super::known::runs;
use super::scale::Overview;
use super::troubles::{Found, TroubleMark, each};
use crate::store::Store;
use crate::tokens::Token;

/// A divergence is at least this wide, in px.
const LEAST_DIVERGENCE_PX: usize = 3;
/// A lost gap is at least this wide, in px: two edges of 2 px and its ground.
const LEAST_GAP_PX: usize = 6;

/// Colours of problem ticks, the least severe first.
pub(super) const TICK_INKS: [Token; 4] =
    [Token::Warning, Token::Lost, Token::Error, Token::Divergence];

/// The problems that a strip shows.
pub(super) struct Problems {
    /// How bad the worst problem is that began in each px: 0 for none, else 1 more than its place in [`TICK_INKS`].
    pub(super) worst: Vec<usize>,
    /// Where something diverged.
    pub(super) divergences: Overlaps,
    /// Where events may be lost.
    pub(super) gaps: Overlaps,
}

impl Problems {
    /// Merges all problems known by px.
    pub(super) fn read(store: &Store, scale: &Overview, now: Time) -> Self {
        let pixels = scale.pixels();
        let mut problems = Self {
            worst: vec![0; pixels],
            divergences: Overlaps::new(pixels, LEAST_DIVERGENCE_PX),
            gaps: Overlaps::new(pixels, LEAST_GAP_PX),
        };
        each(store, &mut |found| problems.add(found, scale, now));
        problems
    }

    fn add(&mut self, Found { mark, goes_on }: Found, scale: &Overview, now: Time) {
        let place = usize::try_from(scale.px_of(mark.at)).ok();
        if let Some(worst) = place.and_then(|place| self.worst.get_mut(place))
            && !goes_on
        {
            *worst = rank(&mark).max(*worst);
        }
        if mark.at > scale.right() || mark.until < scale.left() {
            return;
        }
        let pxs = scale.pxs_of(mark.at, mark.until.min(now));
        if mark.severity == Severity::Divergence {
            self.divergences.add(&pxs);
        } else if mark.kind == TroubleKind::LostGap {
            self.gaps.add(&pxs);
        }
    }
}

/// How bad a problem is among others of its px.
fn rank(mark: &TroubleMark) -> usize {
    match (mark.severity, mark.kind) {
        (Severity::Divergence, _) => 4,
        (Severity::Error, _) => 3,
        (_, TroubleKind::LostGap) => 2,
        _ => 1,
    }
}

/// The union of stretches that may overlap, each at least some px wide.
pub(super) struct Overlaps {
    /// How many more stretches cover a px than the one before it.
    turns: Vec<i32>,
    least: usize,
}

impl Overlaps {
    fn new(pixels: usize, least: usize) -> Self {
        Self {
            turns: vec![0; pixels + 1],
            least,
        }
    }

    fn add(&mut self, pxs: &Range<usize>) {
        let pixels = self.turns.len() - 1;
        let start = pxs.start.min(pixels - self.least);
        self.turns[start] += 1;
        self.turns[pxs.end.max(start + self.least)] -= 1;
    }

    /// The stretches of the union, from left to right, in px.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<i64>> {
        let mut open = 0;
        let turns = self.turns.iter();
        let is_covered: Vec<bool> = turns
            .map(|turn| {
                open += turn;
                open > 0
            })
            .collect();
        runs(is_covered.len(), move |px| is_covered[px].then_some(())).map(|(pxs, ())| pxs)
    }
}
