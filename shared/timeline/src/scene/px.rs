//! Lengths in steps of 1/64 px, and areas with edges in such steps.

use std::fmt;
use std::ops::{Add, Neg, Sub};

/// A length or coordinate: CSS px in steps of 1/64, so that scenes compare exactly. Sums and differences saturate at
/// ±33,554,432 px.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Px(
    /// Sixty-fourths of a px.
    pub i32,
);

impl Px {
    /// A length of 0 px.
    pub const ZERO: Self = Self(0);

    /// Returns a length of whole px; `px` must be within ±33,554,431. For a `px` beyond that the product overflows:
    /// with overflow checks it panics, without them it wraps.
    #[must_use]
    pub const fn whole(px: i32) -> Self {
        Self(px * 64)
    }

    /// Returns `px` rounded to the nearest step of 1/64, or to the even one of two equally near; values beyond
    /// ±1,000,000 px become ±1,000,000 px. NaN becomes 0.
    #[must_use]
    pub fn from_f64(px: f64) -> Self {
        Self((px.clamp(-1e6, 1e6) * 64.0).round_ties_even() as i32)
    }

    /// Returns the length in px.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / 64.0
    }

    /// Returns half of the length, rounded towards 0.
    #[must_use]
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// Returns the greatest length of whole px that is not above this length.
    #[must_use]
    pub const fn floor(self) -> Self {
        Self(self.0.div_euclid(64) * 64)
    }
}

impl Add for Px {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Px {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Px {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// Writes the length in px, rounded to 1/100.
impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", (self.to_f64() * 100.0).round_ties_even() / 100.0)
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Left edge.
    pub x: Px,
    /// Top edge.
    pub y: Px,
    /// Width.
    pub w: Px,
    /// Height.
    pub h: Px,
}

impl Area {
    /// Returns the area between two x and two y. The area's width is negative if `x1` is less than `x0`, and its height
    /// if `y1` is less than `y0`.
    #[must_use]
    pub fn between(x0: Px, x1: Px, y0: Px, y1: Px) -> Self {
        Self {
            x: x0,
            y: y0,
            w: x1 - x0,
            h: y1 - y0,
        }
    }

    /// Returns the right edge.
    #[must_use]
    pub fn right(self) -> Px {
        self.x + self.w
    }

    /// Returns the bottom edge.
    #[must_use]
    pub fn bottom(self) -> Px {
        self.y + self.h
    }

    /// Returns whether two areas share more than an edge. An area without width or height meets an area that surrounds
    /// it.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && self.y < other.bottom()
            && other.y < self.bottom()
    }

    /// Returns whether a point lies in the area, on its edge, or at most `reach` beside it in x and in y.
    #[must_use]
    pub fn holds(self, x: Px, y: Px, reach: Px) -> bool {
        x >= self.x - reach
            && x <= self.right() + reach
            && y >= self.y - reach
            && y <= self.bottom() + reach
    }
}
