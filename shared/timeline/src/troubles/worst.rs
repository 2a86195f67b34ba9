//! The count and the worst of the troubles off one side of the view.

use watchscope_model::Time;

use super::trouble::NAMED;

/// The trouble outside of the view on one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffSide {
    /// The number of troubles, as [`Troubles::total`](super::Troubles::total) counts them; 0: none.
    pub count: u64,
    /// The indexes in [`Troubles::all`](super::Troubles::all) of the worst troubles, the worst first, at most
    /// [`NAMED`]; of equally severe troubles the later is first. Empty if `count` is 0.
    pub worst: Vec<usize>,
}

/// The sides on which a lane has trouble outside of the view. The edges belong to the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Whether the marks of at least one trouble end before the view.
    pub is_left: bool,
    /// Whether at least one trouble begins after the view.
    pub is_right: bool,
}

/// The indexes of the worst troubles among several, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Named([Option<u32>; NAMED]);

impl Named {
    /// Adds the index of a trouble if that trouble is among the worst.
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

    /// Returns the worst troubles together with the count of all.
    pub(super) fn side(self, count: u64) -> OffSide {
        OffSide {
            count,
            worst: self.places().map(|place| place as usize).collect(),
        }
    }
}
