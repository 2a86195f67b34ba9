//! What a watch has been through since it was started, counted: why its streams ended, its gaps, what it read again.
//!
//! An end counts under what was seen on the wire until diagnosis says why it was; a later answer takes the place of an
//! earlier one.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;

use crate::codec::{Reader, Writer};
use crate::event::{Attribution, Gap};
use crate::field::{Field, fields, struct_fields};
use crate::id::StreamId;
use crate::time::Time;
use crate::vocabulary::Cause;

/// Ends whose answer may still come, or be replaced, for one watch: diagnosis gives none later than 2 s after the end.
/// If more streams than this end within that time, those before them keep what they are counted under.
pub const ENDS_KEPT: usize = 8;

fields! {
    /// Totals of a watch.
    struct Totals {
        /// Gaps that were resumed from progress.
        resumed "resumed": u64,
        /// Gaps that were not: events may be lost.
        lost "lost": u64,
        /// How long those lasted, all together, in microseconds.
        lost_us "lostUs": u64,
        /// Events lost in them, as far as that is known.
        missed "missed": u64,
        /// Those of them in which it is not known how many.
        unmeasured "unmeasured": u64,
        /// Objects read by lists after the first.
        relisted "relisted": u64,
        /// When a list, change or bookmark came last: what shows that it is up to date.
        heard "heard": Option<Time>,
        /// Why its streams ended.
        ends "ends": Ends,
    }
}

/// Why streams ended, and how many each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// Pairs: a reason's number, and how many streams ended for it, in the order in which they first did.
    counted: Vec<u64>,
    /// Pairs: a stream that ended, and the number it counts under; the oldest first, at most [`ENDS_KEPT`].
    recent: Vec<u64>,
}

/// Why a stream ended, as a number: a cause's own; these, as words of an attribution; or an F number and [`CATALOGUE`].
const WORDS: [(&str, u64); 3] = [("normal", 50), ("ours", 51), ("unknown", 52)];
/// What is added to an F number.
const CATALOGUE: u64 = 100;

fn number_of(code: &str) -> u64 {
    let word = WORDS.iter().find(|(word, _)| *word == code);
    let row = || code.strip_prefix('F')?.parse::<u64>().ok();
    match word {
        Some(&(_, number)) => number,
        // A code of a later version, which there is none of: it counts as not known.
        None => row().map_or(WORDS[2].1, |row| CATALOGUE.saturating_add(row)),
    }
}

fn word_of(number: u64) -> String {
    let word = WORDS.iter().find(|(_, known)| *known == number);
    match word {
        Some((word, _)) => (*word).to_owned(),
        None if number < CATALOGUE => Cause::from_number(number).word().to_owned(),
        None => format!("F{:02}", number - CATALOGUE),
    }
}

impl Ends {
    /// Each reason in words (`F08`, `normal`, or a cause on the wire) and how many streams ended for it, in the order in
    /// which they first did.
    pub fn iter(&self) -> impl Iterator<Item = (String, u64)> {
        let pairs = self.counted.chunks_exact(2);
        let counted = pairs.filter(|pair| pair[1] > 0);
        counted.map(|pair| (word_of(pair[0]), pair[1]))
    }

    pub(super) fn ended(&mut self, stream: StreamId, cause: Cause) {
        if self.recent.len() >= 2 * ENDS_KEPT {
            self.recent.drain(..2);
        }
        self.recent.extend([stream.0, cause.number()]);
        *self.count_of(cause.number()) += 1;
    }

    pub(super) fn attributed(&mut self, event: &Attribution) {
        let number = number_of(&event.code);
        let mut pairs = self.recent.chunks_exact_mut(2);
        let Some(pair) = pairs.rfind(|pair| pair[0] == event.stream.0) else {
            return;
        };
        let before = std::mem::replace(&mut pair[1], number);
        let left = self.count_of(before);
        *left = left.saturating_sub(1);
        *self.count_of(number) += 1;
    }

    fn count_of(&mut self, number: u64) -> &mut u64 {
        let known = self
            .counted
            .chunks_exact(2)
            .position(|pair| pair[0] == number);
        let place = known.unwrap_or_else(|| {
            self.counted.extend([number, 0]);
            self.counted.len() / 2 - 1
        });
        &mut self.counted[2 * place + 1]
    }
}

impl Totals {
    /// A gap closed that was open for so long.
    pub(super) fn closed(&mut self, gap: &Gap, lasted_us: u64) {
        if gap.resumed {
            self.resumed += 1;
            return;
        }
        self.lost += 1;
        self.lost_us += lasted_us;
        match gap.lost {
            Some(lost) => self.missed += lost,
            None => self.unmeasured += 1,
        }
    }
}

struct_fields!(Totals);

impl Field for Ends {
    fn write(&self, writer: &mut Writer<'_>) {
        self.counted.write(writer);
        self.recent.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            counted: Vec::read(reader),
            recent: Vec::read(reader),
        }
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        let named: BTreeMap<String, u64> = self.iter().collect();
        map.serialize_entry(name, &named)
    }
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            resumed: 0,
            lost: 0,
            lost_us: 0,
            missed: 0,
            unmeasured: 0,
            relisted: 0,
            heard: None,
            ends: Ends::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Certainty;

    fn attributed(ends: &mut Ends, stream: u64, code: &str) {
        ends.attributed(&Attribution {
            watch: "shop/pods".into(),
            stream: StreamId(stream),
            code: code.into(),
            certainty: Certainty::Likely,
            evidence: Vec::new(),
        });
    }

    fn told(ends: &Ends) -> String {
        let words = ends.iter().map(|(code, times)| format!("{times} {code}"));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn an_end_counts_once_under_the_last_answer_given_for_it() {
        let mut ends = Ends::default();
        ends.ended(StreamId(1), Cause::TcpReset);
        ends.ended(StreamId(2), Cause::End);
        ends.ended(StreamId(3), Cause::End);
        assert_eq!(told(&ends), "1 tcp-reset, 2 end");
        attributed(&mut ends, 1, "F08");
        attributed(&mut ends, 2, "normal");
        attributed(&mut ends, 1, "F06");
        attributed(&mut ends, 9, "F11");
        assert_eq!(told(&ends), "1 end, 1 normal, 1 F06");
    }

    #[test]
    fn an_answer_for_an_end_that_is_no_longer_remembered_changes_nothing() {
        let mut ends = Ends::default();
        for stream in 0..=ENDS_KEPT as u64 {
            ends.ended(StreamId(stream), Cause::End);
        }
        attributed(&mut ends, 0, "F10");
        assert_eq!(told(&ends), "9 end");
        attributed(&mut ends, 1, "F10");
        assert_eq!(told(&ends), "8 end, 1 F10");
    }

    #[test]
    fn each_word_of_an_attribution_reads_back() {
        for code in ["normal", "ours", "unknown", "F01", "F50", "F123"] {
            assert_eq!(word_of(number_of(code)), code);
        }
        for &cause in Cause::ALL {
            assert_eq!(word_of(cause.number()), cause.word());
            assert!(cause.number() < WORDS[0].1);
        }
        assert_eq!(word_of(number_of("later")), "unknown");
    }
}
