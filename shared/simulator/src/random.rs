//! The world's random numbers: a seeded ChaCha8, so that the seed determines a whole run.

use std::time::Duration;

use watchscope_model::chance::Chance;

use crate::time::micros;

/// Letters and digits of generated names and of hashes in names, without vowels, `y`, 0, 1 and 3 (apimachinery
/// `util/rand`, 1.36).
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The seeded random source.
#[derive(Debug)]
pub(crate) struct Random(Chance);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(Chance::new(seed))
    }

    /// Returns a separate random source for one part of a world. The numbers that one part draws do not change the
    /// numbers of another part.
    pub(crate) fn of_part(seed: u64, part: u64) -> Random {
        Random(Chance::of_part(seed, part))
    }

    /// Returns a number in `low..=high`, uniform to within 2^-64 of the range; `low` if `high` is below it.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = u128::from(high.saturating_sub(low)) + 1;
        let scaled = (u128::from(self.0.next_u64()) * span) >> 64;
        low + u64::try_from(scaled).expect("a 64-bit fraction of a 64-bit span fits in 64 bits")
    }

    /// Returns a duration in `low..=high`, in whole microseconds; `low` if `high` is below it.
    pub(crate) fn span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_micros(self.between(micros(low), micros(high)))
    }

    /// Returns an index below `len`; 0 if `len` is 0.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        let last = u64::try_from(len.saturating_sub(1)).unwrap_or(u64::MAX);
        usize::try_from(self.between(0, last)).unwrap_or(0)
    }

    /// Puts items in random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// Returns a random suffix of `len` letters for a name, as `generateName` makes it.
    pub(crate) fn name_suffix(&mut self, len: usize) -> String {
        (0..len)
            .map(|_| char::from(NAME_LETTERS[self.index(NAME_LETTERS.len())]))
            .collect()
    }

    /// Returns a random (version 4) UUID.
    pub(crate) fn uuid(&mut self) -> String {
        let mut bytes = [0u8; 16];
        for half in bytes.chunks_mut(8) {
            half.copy_from_slice(&self.0.next_u64().to_le_bytes());
        }
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let mut text = String::with_capacity(36);
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            for nibble in [byte >> 4, byte & 0xf] {
                text.push(
                    char::from_digit(u32::from(nibble), 16).expect("a nibble is a hex digit"),
                );
            }
        }
        text
    }
}

/// Encodes a number as generated names encode hashes, such as `pod-template-hash` (apimachinery `SafeEncodeString`).
pub(crate) fn safe_encoded(number: u32) -> String {
    number
        .to_string()
        .bytes()
        .map(|digit| char::from(NAME_LETTERS[usize::from(digit) % NAME_LETTERS.len()]))
        .collect()
}

/// Returns the 32-bit FNV-1a hash of bytes, the hash behind `pod-template-hash`.
pub(crate) fn fnv32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_chance_again() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (random.uuid(), random.name_suffix(5), random.between(3, 900))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn draws_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..500).map(|_| random.between(10, 12)).collect();
        assert_eq!(drawn.iter().min(), Some(&10));
        assert_eq!(drawn.iter().max(), Some(&12));
        assert_eq!(random.between(5, 5), 5);
        assert!(random.between(0, u64::MAX) > 0);
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let uuid = Random::new(3).uuid();
        assert_eq!(uuid.len(), 36);
        assert_eq!(uuid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uuid.as_bytes()[19]));
    }
}
