//! Random numbers for tests, simulations and delays: a seeded ChaCha8, so that one seed gives the same numbers on every
//! machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

/// A seeded source of random numbers (ChaCha8). Its numbers are for tests, simulations and jitter, not for secrets.
#[derive(Clone, Debug)]
pub struct Chance(ChaCha8Rng);

impl Chance {
    /// A source that draws the numbers of `seed`, from the first number on.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A source for one part of a program. Each number `part` selects a sequence of its own, so draws of one part do
    /// not change those of another part. Part 0 draws the numbers of [`Chance::new`].
    #[must_use]
    pub fn of_part(seed: u64, part: u64) -> Self {
        let mut source = Self::new(seed);
        source.0.set_stream(part);
        source
    }

    /// Draws a number of 64 bits; all numbers are equally likely. The function is never inlined, so that the cipher is
    /// compiled once.
    #[inline(never)]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_everywhere() {
        let mut chance = Chance::new(1);
        let drawn: Vec<u64> = (0..3).map(|_| chance.next_u64()).collect();
        let mut of_part = Chance::of_part(1, 1);
        assert_eq!(
            format!("{drawn:016x?} {:016x}", of_part.next_u64()),
            "[67094cea8ca40db1, 149406d8fc0e8e6b, 98b82b0336070665] da16ea55e3f5ade7"
        );
    }
}
