//! What a watch has been through since it was started, counted: why its streams ended, its gaps, what it read again.
//!
//! An end counts under what was seen on the wire until diagnosis says why it was; a later answer takes the place of an
//! earlier one. All is one list of numbers, so that the fold's code stays small: it is in what is downloaded first.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::codec::{Reader, Writer};
use crate::event::{Attribution, Gap};
use crate::field::Field;
use crate::id::StreamId;
use crate::rewrite::{Rewrite, Rewriter};
use crate::row::{Attributed, Row};
use crate::time::Time;
use crate::vocabulary::Cause;

/// Ends whose answer may still come, or be replaced, for one watch: diagnosis gives none later than 2 s after the end.
/// If more streams than this end within that time, those before them keep what they are counted under.
pub const ENDS_KEPT: usize = 8;

// Places in the list.
const RESUMED: usize = 0;
const LOST: usize = 1;
const LOST_US: usize = 2;
const MISSED: usize = 3;
const UNMEASURED: usize = 4;
const RELISTED: usize = 5;
const HEARD: usize = 6;
/// Pairs: a stream that ended, and the number it counts under; the newest last.
const RECENT: usize = 7;
/// Pairs: a reason's number, and how many streams ended for it, in the order in which they first did.
const COUNTED: usize = RECENT + 2 * ENDS_KEPT;

/// Why a stream ended, as a number: a cause's own; these; or an F number and [`CATALOGUE`].
const NORMAL: u64 = 50;
const OURS: u64 = 51;
const UNKNOWN: u64 = 52;
/// What is added to an F number.
const CATALOGUE: u64 = 100;

/// Totals of a watch; of none if the fold was of a version that did not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals(Vec<u64>);

fn number_of(code: &str) -> u64 {
    match code.as_bytes() {
        [b'F', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            CATALOGUE + 10 * u64::from(tens - b'0') + u64::from(ones - b'0')
        }
        [b'n', ..] => NORMAL,
        [b'o', ..] => OURS,
        _ => UNKNOWN,
    }
}

/// Why streams ended, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// What they were attributed to.
    Attributed(Attributed),
    /// What was seen on the wire, where no attribution came.
    Seen(Cause),
    /// A row of a later version, by its number.
    Later(u64),
}

impl EndReason {
    fn of(number: u64) -> Self {
        match number {
            NORMAL => Self::Attributed(Attributed::Normal),
            OURS => Self::Attributed(Attributed::Ours),
            UNKNOWN => Self::Attributed(Attributed::Unknown),
            0..CATALOGUE => Self::Seen(Cause::from_number(number)),
            _ => {
                let row = number - CATALOGUE;
                let place = usize::try_from(row.wrapping_sub(1)).ok();
                let known = place.and_then(|place| Row::ALL.get(place));
                known.map_or(Self::Later(row), |row| Self::Attributed((*row).into()))
            }
        }
    }

    /// As records have it: `F08`, `normal`, or a cause on the wire.
    #[must_use]
    pub fn word(self) -> String {
        match self {
            Self::Attributed(why) => why.code().to_owned(),
            Self::Seen(cause) => cause.word().to_owned(),
            Self::Later(row) => format!("F{row:02}"),
        }
    }
}

impl Totals {
    /// Nothing has happened yet.
    pub(super) fn begun() -> Self {
        Self(vec![0; COUNTED])
    }

    /// Whether anything was counted.
    #[must_use]
    pub fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Gaps that were resumed from progress.
    #[must_use]
    pub fn resumed(&self) -> u64 {
        self.figure(RESUMED)
    }

    /// Gaps that were not: events may be lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.figure(LOST)
    }

    /// How long those lasted, all together, in microseconds.
    #[must_use]
    pub fn lost_us(&self) -> u64 {
        self.figure(LOST_US)
    }

    /// Events lost in them, at the least: a list that follows shows of each object only what it is now.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.figure(MISSED)
    }

    /// Those of them in which it is not known how many.
    #[must_use]
    pub fn unmeasured(&self) -> u64 {
        self.figure(UNMEASURED)
    }

    /// Objects read by lists after the first.
    #[must_use]
    pub fn relisted(&self) -> u64 {
        self.figure(RELISTED)
    }

    /// When a list, change or bookmark came last: what shows that it is up to date.
    #[must_use]
    pub fn heard(&self) -> Option<Time> {
        let at = i64::try_from(self.figure(HEARD)).ok()?;
        (at > 0).then_some(Time(at))
    }

    /// Each reason and how many streams ended for it, in the order in which they first did.
    pub fn ends(&self) -> impl Iterator<Item = (EndReason, u64)> {
        let pairs = self.0.get(COUNTED..).unwrap_or_default().chunks_exact(2);
        let counted = pairs.filter(|pair| pair[1] > 0);
        counted.map(|pair| (EndReason::of(pair[0]), pair[1]))
    }

    fn figure(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    /// Adds to a figure; where nothing was counted from the beginning, nothing is.
    fn add(&mut self, place: usize, by: u64) {
        if let Some(figure) = self.0.get_mut(place) {
            *figure = figure.wrapping_add(by);
        }
    }

    /// A list, change or bookmark came.
    pub(super) fn hear(&mut self, at: Time) {
        if let Some(heard) = self.0.get_mut(HEARD) {
            *heard = at.0 as u64;
        }
    }

    /// A list after the first was read.
    pub(super) fn relist(&mut self, items: u64) {
        self.add(RELISTED, items);
    }

    /// A list found so much changed since a gap began.
    pub(super) fn miss(&mut self, objects: u64) {
        self.add(MISSED, objects);
    }

    /// A gap closed that was open for so long; a list may have measured it.
    pub(super) fn close(&mut self, gap: &Gap, lasted_us: i64, is_measured: bool) {
        if gap.resumed {
            self.add(RESUMED, 1);
            return;
        }
        self.add(LOST, 1);
        self.add(LOST_US, u64::try_from(lasted_us).unwrap_or(0));
        match gap.lost {
            Some(lost) => self.add(MISSED, lost),
            None => self.add(UNMEASURED, u64::from(!is_measured)),
        }
    }

    /// A stream ended.
    pub(super) fn end(&mut self, stream: StreamId, cause: Cause) {
        if let Some(recent) = self.0.get_mut(RECENT..COUNTED) {
            recent.copy_within(2.., 0);
            recent[2 * ENDS_KEPT - 2] = stream.0;
            recent[2 * ENDS_KEPT - 1] = cause.number();
            self.count(cause.number(), 1);
        }
    }

    /// Why a stream ended.
    pub(super) fn attribute(&mut self, event: &Attribution) {
        let number = number_of(&event.code);
        let recent = self.0.get_mut(RECENT..COUNTED).unwrap_or_default();
        let mut pairs = recent.chunks_exact_mut(2);
        if let Some(pair) = pairs.rfind(|pair| pair[0] == event.stream.0) {
            let before = std::mem::replace(&mut pair[1], number);
            self.count(before, u64::MAX);
            self.count(number, 1);
        }
    }

    /// Adds to how many streams ended for a reason; the largest number takes one away.
    fn count(&mut self, number: u64, by: u64) {
        let mut place = COUNTED;
        while self.0.get(place).is_some_and(|known| *known != number) {
            place += 2;
        }
        if place >= self.0.len() {
            self.0.extend([number, 0]);
        }
        self.add(place + 1, by);
    }
}

impl Rewrite for Totals {
    fn rewrite(&mut self, _with: &mut dyn Rewriter) {}
}

impl Field for Totals {
    fn write(&self, writer: &mut Writer<'_>) {
        self.0.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self(Vec::read(reader))
    }

    fn absent(_reader: &Reader<'_>) -> Option<Self> {
        Some(Self::default())
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        if self.are_known() {
            map.serialize_entry(name, self)
        } else {
            Ok(())
        }
    }
}

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, figure) in [
            ("gapsResumed", self.resumed()),
            ("gapsLost", self.lost()),
            ("lostUs", self.lost_us()),
            ("missed", self.missed()),
            ("gapsUnmeasured", self.unmeasured()),
            ("relisted", self.relisted()),
        ] {
            map.serialize_entry(name, &figure)?;
        }
        if let Some(heard) = self.heard() {
            map.serialize_entry("heard", &heard)?;
        }
        let ends = self.ends().map(|(why, times)| (why.word(), times));
        map.serialize_entry("ends", &ends.collect::<BTreeMap<_, _>>())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Certainty;

    fn attributed(ends: &mut Totals, stream: u64, code: &str) {
        ends.attribute(&Attribution {
            watch: "shop/pods".into(),
            stream: StreamId(stream),
            code: code.into(),
            certainty: Certainty::Likely,
            evidence: Vec::new(),
        });
    }

    fn told(ends: &Totals) -> String {
        let words = ends
            .ends()
            .map(|(why, times)| format!("{times} {}", why.word()));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn an_end_counts_once_under_the_last_answer_given_for_it() {
        let mut ends = Totals::begun();
        ends.end(StreamId(1), Cause::TcpReset);
        ends.end(StreamId(2), Cause::End);
        ends.end(StreamId(3), Cause::End);
        assert_eq!(told(&ends), "1 tcp-reset, 2 end");
        attributed(&mut ends, 1, "F08");
        attributed(&mut ends, 2, "normal");
        attributed(&mut ends, 1, "F06");
        attributed(&mut ends, 9, "F11");
        assert_eq!(told(&ends), "1 end, 1 normal, 1 F06");
    }

    #[test]
    fn an_answer_for_an_end_that_is_no_longer_remembered_changes_nothing() {
        let mut ends = Totals::begun();
        for stream in 0..=ENDS_KEPT as u64 {
            ends.end(StreamId(stream), Cause::End);
        }
        attributed(&mut ends, 0, "F10");
        assert_eq!(told(&ends), "9 end");
        attributed(&mut ends, 1, "F10");
        assert_eq!(told(&ends), "8 end, 1 F10");
    }

    #[test]
    fn each_word_of_an_attribution_reads_back() {
        let word_of = |code| EndReason::of(number_of(code)).word();
        for code in [
            "normal", "ours", "unknown", "F01", "F50", "F00", "F51", "F99",
        ] {
            assert_eq!(word_of(code), code);
        }
        for &cause in Cause::ALL {
            assert_eq!(EndReason::of(cause.number()), EndReason::Seen(cause));
            assert!(cause.number() < NORMAL);
        }
        assert_eq!(word_of("later"), "unknown");
    }

    #[test]
    fn what_an_older_version_did_not_count_stays_unknown() {
        let mut totals = Totals::default();
        totals.end(StreamId(1), Cause::End);
        totals.hear(Time(5));
        totals.relist(3);
        attributed(&mut totals, 1, "F08");
        assert_eq!(totals, Totals::default());
        assert!(!totals.are_known() && Totals::begun().are_known());
    }
}
