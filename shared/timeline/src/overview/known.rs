//! The coverage of each px of the overview strip, and the seams in the strip.

use std::ops::Range;

use watchscope_model::Time;

use super::scale::Overview;
use crate::store::{Coverage, Stretch};

/// Least width of a seam, in px: two lines of 2 px, with their middles 4 px apart. A narrower seam is drawn this wide.
/// The number has no other source.
const SEAM_PX: i64 = 6;
/// Least width of a stretch that watchscope lost, in px, so that it shows at any scale. A narrower stretch is drawn
/// this wide. The number has no other source.
const LOST_PX: i64 = 3;

/// The coverage of the time that a strip shows.
pub(super) struct Known {
    /// The coverage of each px; `None` for a px before all that is known, or after now.
    pixels: Vec<Option<Coverage>>,
    /// Seams from left to right; those that would touch are merged.
    pub(super) seams: Vec<Seam>,
    /// The end of the expired records, if the oldest ones have expired.
    pub(super) expired_before: Option<Time>,
    /// Kept records from before the strip's axis, if there are any.
    pub(super) older: Option<Older>,
}

/// Kept records from before the axis.
#[derive(Clone, Copy)]
pub(super) struct Older {
    pub(super) from: Time,
    /// Whether all kept records from before the axis are loaded.
    pub(super) is_loaded: bool,
}

/// A time in which nobody watched.
pub(super) struct Seam {
    /// Where the seam is drawn, in px.
    pub(super) pxs: Range<i64>,
    /// When the seam ends, because watchscope ran again.
    pub(super) ends: Time,
}

impl Known {
    /// Reads the store's coverage. If several kinds of coverage meet in a px, lost records win over a seam, and a seam
    /// wins over all others.
    pub(super) fn read(coverage: &[Stretch], scale: &Overview, now: Time) -> Self {
        let first = coverage.first();
        let expired = first.filter(|first| is_gone(first.coverage));
        let mut known = Self {
            pixels: vec![None; scale.pixels()],
            seams: Vec::new(),
            expired_before: expired.map(|first| first.to),
            older: older(coverage, scale),
        };
        let (mut seams, mut lost) = (Vec::new(), Vec::new());
        for stretch in coverage {
            if stretch.to < scale.left() || stretch.from > scale.right() {
                continue;
            }
            let pxs = scale.pxs_of(stretch.from, stretch.to.min(now));
            match stretch.coverage {
                Coverage::Seam => seams.push((wide(&pxs, SEAM_PX, scale), stretch.to)),
                Coverage::Lost => lost.push(wide(&pxs, LOST_PX, scale)),
                _ => {}
            }
            known.pixels[pxs].fill(Some(stretch.coverage));
        }
        for (pxs, ends) in seams {
            known.fill(&pxs, Coverage::Seam);
            known.add_seam(pxs, ends);
        }
        for pxs in lost {
            known.fill(&pxs, Coverage::Lost);
        }
        let before = (scale.before_px() as usize).min(scale.pixels());
        known.pixels[..before].fill(None);
        known
    }

    fn fill(&mut self, pxs: &Range<i64>, coverage: Coverage) {
        self.pixels[pxs.start as usize..pxs.end as usize].fill(Some(coverage));
    }

    fn add_seam(&mut self, pxs: Range<i64>, ends: Time) {
        match self.seams.last_mut() {
            Some(last) if pxs.start <= last.pxs.end => {
                last.pxs.end = last.pxs.end.max(pxs.end);
                last.ends = ends;
            }
            _ => self.seams.push(Seam { pxs, ends }),
        }
    }

    /// Returns the coverage of a px.
    pub(super) fn at(&self, px: usize) -> Option<Coverage> {
        self.pixels.get(px).copied().flatten()
    }

    /// Returns the runs of px for which `is` holds, from left to right.
    pub(super) fn runs(&self, is: impl Fn(Coverage) -> bool) -> Vec<Range<i64>> {
        let holds = |px: usize| self.pixels[px].is_some_and(&is);
        runs(self.pixels.len(), |px| holds(px).then_some(()))
            .map(|(pxs, ())| pxs)
            .collect()
    }
}

/// Whether the records of a stretch are no longer available.
pub(super) fn is_gone(coverage: Coverage) -> bool {
    matches!(coverage, Coverage::Expired | Coverage::Dropped)
}

/// Returns the kept records from before the axis.
fn older(coverage: &[Stretch], scale: &Overview) -> Option<Older> {
    let begin = scale.begin();
    let is_older = |stretch: &&Stretch| stretch.coverage.is_kept() && stretch.from < begin;
    let mut older = coverage.iter().filter(is_older).peekable();
    let from = older.peek()?.from;
    let is_loaded = older.all(|stretch| stretch.coverage == Coverage::Loaded);
    Some(Older { from, is_loaded })
}

/// Widens a run to the right to `least` px, and keeps it inside the strip.
fn wide(pxs: &Range<usize>, least: i64, scale: &Overview) -> Range<i64> {
    let width = scale.pixels() as i64;
    let start = (pxs.start as i64).min(width - least);
    start..(pxs.end as i64).max(start + least)
}

/// Returns the runs of equal values, from left to right. A px without a value is in none.
pub(super) fn runs<T: PartialEq>(
    pixels: usize,
    value: impl Fn(usize) -> Option<T>,
) -> impl Iterator<Item = (Range<i64>, T)> {
    let mut px = 0;
    std::iter::from_fn(move || {
        while px < pixels {
            let start = px;
            let found = value(px);
            px += 1;
            let Some(found) = found else {
                continue;
            };
            while px < pixels && value(px).as_ref() == Some(&found) {
                px += 1;
            }
            return Some((start as i64..px as i64, found));
        }
        None
    })
}
