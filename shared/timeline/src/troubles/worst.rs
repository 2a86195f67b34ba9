//! The count and the worst of some trouble, as the edges of the view name them.

use watchscope_model::Time;

use super::trouble::NAMED;

/// The trouble off one edge of the view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffSide {
    /// How many, as [`Troubles::total`](super::Troubles::total) counts; 0: none.
    pub count: u64,
    /// The indexes of the worst in [`Troubles::all`](super::Troubles::all), the worst first, at most [`NAMED`]; of
    /// equally severe ones the later is first. Empty if `count` is 0.
    pub worst: Vec<usize>,
}

/// The sides on which the trouble of a lane is off the view. The edges belong to the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Whether the marks of some trouble end before the view.
    pub is_left: bool,
    /// Whether some trouble begins after the view.
    pub is_right: bool,
}

/// The worst of some trouble, by index, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Named([Option<u32>; NAMED]);

impl Named {
    /// Adds an index if it is among the worst.
    pub(super) fn add(&mut self, mut place: u32, badness: impl Fn(u32) -> (usize, Time)) {
        for slot in &mut self.0 {
            match slot {
                None => {
                    *slot = Some(place);
                    return;
                }
                Some(known) if badness(place) > badness(*known) => {
                    std::mem::swap(known, &mut place)
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the indexes, the worst first.
    pub(super) fn places(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().flatten()
    }

    /// Returns it with the count of all.
    pub(super) fn side(self, count: u64) -> OffSide {
        OffSide {
            count,
            worst: self.places().map(|place| place as usize).collect(),
        }
    }
}
