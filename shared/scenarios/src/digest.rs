//! What the records of a story come to, as one line: so that two machines can see that they ran the same to the last
//! byte.

use std::fmt;
use std::time::Duration;

use watchscope_log::{Sealed, Sealer};
use watchscope_model::{Inside, Record, State, Time, fnv};

use crate::{Run, catalogue, stories};

/// How long a story is told that has no end of its own: longer than a round of the demo's.
const TELLS: Duration = Duration::from_secs(240);

/// A digest of bytes: as many, in as many frames, with this hash ([`fnv`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Frames: the openings of chapters, and segments.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their hash.
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

/// The names of all stories that [`digest`] knows: those one can ask for.
#[must_use]
pub fn digested() -> Vec<String> {
    stories()
        .into_iter()
        .map(|story| story.name.to_owned())
        .collect()
}

/// Tells a story to our probes, with all that happens inside, and digests the bytes of its records; `None` if there is
/// no story of this name.
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

/// The records of a story that [`crate::story()`] knows, as our probes and diagnosis write them; `None` if there is no story of
/// this name.
#[must_use]
pub fn records(name: &str, seed: u64) -> Option<Vec<Record>> {
    let mut run = Run::watched(crate::story(name)?, seed);
    run.run_for(TELLS);
    Some(run.records().to_vec())
}

impl Run {
    /// The digest of all records, those of the inside too, as a log seals them.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        self.seal(true, |frame| digest.take(frame));
        digest
    }

    /// Seals all records as a log's writer does, a segment at most every 16 ms; hands over each frame.
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
        let seal_inside = |(at, told): &(Time, Inside), state: &mut State, sealer: &mut Sealer| {
            let record = state.stamp_inside(told.clone(), *at);
            state.pass(record.seq, record.at);
            sealer.take_inside(record, state)
        };
        for record in self.records() {
            while let Some(told) = inside.next_if(|(at, _)| *at <= record.at) {
                hand_over(seal_inside(told, &mut state, &mut sealer));
            }
            if sealer.seal_at().is_some_and(|due| due <= record.at) {
                hand_over(sealer.seal(record.at, &state));
            }
            let record = state.stamp(record.event.clone(), record.at);
            state.apply(&record);
            hand_over(sealer.take(&record, &state));
        }
        for told in inside {
            hand_over(seal_inside(told, &mut state, &mut sealer));
        }
        hand_over(sealer.seal(Time(i64::MAX), &state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;

    #[test]
    fn a_seed_tells_the_same_bytes_again_and_another_seed_others() {
        for name in [demo::story().name, "F14", "F24", "F33"] {
            let told = digest(name, 5).unwrap();
            assert!(told.frames > 5 && told.bytes > 1000, "{name}: {told}");
            assert_eq!(digest(name, 5), Some(told), "{name}");
            assert_ne!(digest(name, 6), Some(told), "{name}");
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
    fn a_digest_tells_bytes_apart_by_one_bit() {
        let of = |bytes: &[u8]| {
            let mut digest = Digest::new();
            digest.take(bytes);
            digest
        };
        // FNV-1a's own test vectors.
        assert_eq!(of(b"").hash, 0xcbf2_9ce4_8422_2325);
        assert_eq!(of(b"foobar").hash, 0x8594_4171_f739_67e8);
        assert_eq!(
            of(b"a").to_string(),
            "af63dc4c8601ec8c of 1 bytes in 1 frames"
        );
    }
}
