//! A digest of a story's records in one line. Two machines can compare digests to check that they produced the same
//! bytes.

use std::fmt;
use std::time::Duration;

use watchscope_log::{Sealed, Sealer};
use watchscope_model::{Inside, Record, State, Time, fnv};

use crate::{Run, catalogue, stories};

/// How long a story runs for [`records`], and for [`digest`] unless the name is exactly a row's code: a round of the
/// demo, 240 s. Later records are left out.
const TELLS: Duration = Duration::from_secs(240);

/// A digest of frames: their number, their bytes, and a hash. As text a digest is `HASH of N bytes in N frames`, with
/// the hash in 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The number of frames, which are opening snapshots of chapters, and segments.
    pub frames: u64,
    /// The number of bytes of all frames.
    pub bytes: u64,
    /// The hash of the frames' bytes in order: FNV-1a with 64 bits ([`fnv`]).
    pub hash: u64,
}

impl Digest {
    pub(crate) fn new() -> Self {
        Self {
            frames: 0,
            bytes: 0,
            hash: fnv::EMPTY,
        }
    }

    pub(crate) fn take(&mut self, frame: &[u8]) {
        self.frames += 1;
        self.bytes += frame.len() as u64;
        self.hash = fnv::after(self.hash, frame);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (frames, bytes, hash) = (self.frames, self.bytes, self.hash);
        write!(f, "{hash:016x} of {bytes} bytes in {frames} frames")
    }
}

/// Returns the names of all stories that [`digest`] knows: those of [`stories`](crate::stories()), in their order.
#[must_use]
pub fn digested() -> Vec<String> {
    stories()
        .into_iter()
        .map(|story| story.name.to_owned())
        .collect()
}

/// Runs a story with our probes and inside records, and returns the digest of its records. `seed` determines all
/// chance. If the name is exactly a row's code (`F08`), the row runs to its end, with the row's probes. By any other
/// name of [`crate::story()`] the story runs for 240 s with the watches of its view. Returns `None` if no story has
/// this name.
#[must_use]
pub fn digest(name: &str, seed: u64) -> Option<Digest> {
    if let Some(row) = catalogue::rows().into_iter().find(|row| row.code == name) {
        return Some(row.run_beside(seed, &[], true).digest());
    }
    let story = crate::story(name)?;
    let mut run = Run::watched(story, seed);
    run.run_for(TELLS);
    Some(run.digest())
}

/// Runs for 240 s a story that [`crate::story()`] knows, with the watches of its view; `seed` determines all random
/// choices. Returns all records, the oldest first: the server's version, and those of our probes, client programs,
/// narrator and diagnosis. Inside records are left out. Returns `None` if no story has this name.
#[must_use]
pub fn records(name: &str, seed: u64) -> Option<Vec<Record>> {
    let mut run = Run::watched(crate::story(name)?, seed);
    run.run_for(TELLS);
    Some(run.records().to_vec())
}

impl Run {
    /// Returns the digest of all records, inside records included, sealed into chapters as in a log. Records from after
    /// a call of [`Run::tell_one_log`] are left out. Without records and inside records the digest is that of the first
    /// chapter's opening snapshot.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        self.seal(true, |frame| digest.take(frame));
        digest
    }

    /// Seals all records as a log's writer does, and passes each frame to `take`. A due segment is sealed only before
    /// the next record, not before an inside record, as the log's writer would.
    pub(crate) fn seal(&self, with_inside: bool, mut take: impl FnMut(&[u8])) {
        let began = self.records().first().map_or(Time(0), |record| record.at);
        let (mut sealer, first) = Sealer::new("story".into(), "1".into(), began);
        let mut state = State {
            at: began,
            ..State::default()
        };
        take(&first.opening);
        let mut hand_over = |sealed: Option<Sealed>| {
            if let Some(sealed) = sealed {
                take(sealed.segment.frame());
                if let Some((_, next)) = sealed.closed {
                    take(&next.opening);
                }
            }
        };
        let mut inside = self.inside().iter().filter(|_| with_inside).peekable();
        let seal_inside = |(at, inner): &(Time, Inside), state: &mut State, sealer: &mut Sealer| {
            let record = state.stamp_inside(inner.clone(), *at);
            state.pass(record.seq, record.at);
            sealer.take_inside(record, state)
        };
        for record in self.records() {
            while let Some(inner) = inside.next_if(|(at, _)| *at <= record.at) {
                hand_over(seal_inside(inner, &mut state, &mut sealer));
            }
            if sealer.seal_at().is_some_and(|due| due <= record.at) {
                hand_over(sealer.seal(record.at, &state));
            }
            let record = state.stamp(record.event.clone(), record.at);
            state.apply(&record);
            hand_over(sealer.take(&record, &state));
        }
        for inner in inside {
            hand_over(seal_inside(inner, &mut state, &mut sealer));
        }
        hand_over(sealer.seal(Time(i64::MAX), &state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;

    #[test]
    fn a_seed_gives_the_same_bytes_again_and_another_seed_others() {
        for name in [demo::story().name, "F14", "F24", "F33"] {
            let digested = digest(name, 5).unwrap();
            assert!(
                digested.frames > 5 && digested.bytes > 1000,
                "{name}: {digested}"
            );
            assert_eq!(digest(name, 5), Some(digested), "{name}");
            assert_ne!(digest(name, 6), Some(digested), "{name}");
        }
        assert_eq!(digest("F51", 5), None);
    }

    #[test]
    fn every_story_that_is_named_is_digested() {
        let names = digested();
        assert_eq!(names.first().map(String::as_str), Some(demo::story().name));
        let codes = catalogue::rows().into_iter().map(|row| row.code);
        assert!(codes.eq(names[names.len() - 50..].iter().map(String::as_str)));
    }

    #[test]
    fn digests_of_bytes_that_differ_in_one_bit_differ() {
        let of = |bytes: &[u8]| {
            let mut digest = Digest::new();
            digest.take(bytes);
            digest
        };
        // The test vectors of FNV-1a.
        assert_eq!(of(b"").hash, 0xcbf2_9ce4_8422_2325);
        assert_eq!(of(b"foobar").hash, 0x8594_4171_f739_67e8);
        assert_eq!(
            of(b"a").to_string(),
            "af63dc4c8601ec8c of 1 bytes in 1 frames"
        );
    }
}
