//! The problems of the overview strip: the most severe that began in each px, divergences, and lost gaps.

use std::ops::Range;

use watchscope_model::Time;
use watchscope_model::summary::TroubleKind;
use watchscope_model::vocabulary::Severity;

use super::known::runs;
use super::scale::Overview;
use super::troubles::{Found, TroubleMark, each};
use crate::store::Store;
use crate::tokens::Token;

/// Least width of a divergence, in px, so that it shows at any scale. A narrower divergence is drawn this wide. The
/// number has no other source.
const LEAST_DIVERGENCE_PX: usize = 3;
/// Least width of a lost gap, in px: two edges of 2 px, and 2 px of ground between them. A narrower gap is drawn this
/// wide. The number has no other source.
const LEAST_GAP_PX: usize = 6;

/// Colours of problem ticks, the least severe first: of warnings, lost gaps, errors and divergences. A px has only the
/// tick of its most severe problem.
pub(super) const TICK_INKS: [Token; 4] =
    [Token::Warning, Token::Lost, Token::Error, Token::Divergence];

/// The problems that a strip shows.
pub(super) struct Problems {
    /// Rank of the most severe problem that began in each px: 0 for none, else 1 more than its index in [`TICK_INKS`].
    pub(super) worst: Vec<usize>,
    /// Stretches with a divergence.
    pub(super) divergences: Overlaps,
    /// Stretches in which events may be lost.
    pub(super) gaps: Overlaps,
}

impl Problems {
    /// Merges all known problems by px.
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

/// Returns the rank of a problem: 1 is the least severe, 4 the most. Each px shows only its highest rank.
fn rank(mark: &TroubleMark) -> usize {
    match (mark.severity, mark.kind) {
        (Severity::Divergence, _) => 4,
        (Severity::Error, _) => 3,
        (_, TroubleKind::LostGap) => 2,
        _ => 1,
    }
}

/// The union of stretches that may overlap, each at least `least` px wide.
pub(super) struct Overlaps {
    /// For each px, how many more stretches cover it than cover the px before.
    deltas: Vec<i32>,
    least: usize,
}

impl Overlaps {
    fn new(pixels: usize, least: usize) -> Self {
        Self {
            deltas: vec![0; pixels + 1],
            least,
        }
    }

    fn add(&mut self, pxs: &Range<usize>) {
        let pixels = self.deltas.len() - 1;
        let start = pxs.start.min(pixels - self.least);
        self.deltas[start] += 1;
        self.deltas[pxs.end.max(start + self.least)] -= 1;
    }

    /// Returns the stretches of the union, from left to right, in px.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<i64>> {
        let mut open = 0;
        let deltas = self.deltas.iter();
        let is_covered: Vec<bool> = deltas
            .map(|turn| {
                open += turn;
                open > 0
            })
            .collect();
        runs(is_covered.len(), move |px| is_covered[px].then_some(())).map(|(pxs, ())| pxs)
    }
}
