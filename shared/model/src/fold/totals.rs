//! Totals of a watch since it was started: why its streams ended, its gaps, and the objects that it listed again.
//!
//! A stream's end counts under its cause on the wire until diagnosis attributes it; a later attribution replaces an
//! earlier one. All totals are in one list of numbers, which keeps the code small: the fold is in the page's first
//! download.

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

/// The number of last ends per watch that an attribution may still change. An attribution of an earlier end has no
/// effect on the totals. Diagnosis seldom revises an end later than 12.25 s after it
/// (docs/semantics/streams.md#revised). If over 8 streams of the watch end within that time, the earliest of them keep
/// the reason that they count under. The number is small, because each snapshot has these ends of each watch. The
/// number has no other source.
pub const ENDS_KEPT: usize = 8;

// Places in the list, each of one number unless said otherwise.

/// The index of the number of gaps that resumed.
const RESUMED: usize = 0;
/// The index of the number of gaps that closed without a resume.
const LOST: usize = 1;
/// The index of the sum of the lengths of the gaps that [`LOST`] counts, in µs.
const LOST_US: usize = 2;
/// The index of the number of events known to be lost in gaps. A gap states it, or a list shows it that completes while
/// a gap with a known progress is open.
const MISSED: usize = 3;
/// The index of the number of those gaps that [`LOST`] counts whose losses neither the gap states nor a list shows.
const UNMEASURED: usize = 4;
/// The index of the number of items in the watch's `list.complete` records after its first.
const RELISTED: usize = 5;
/// The index of the time of the watch's last `list.complete`, `change` or `bookmark` record, in µs since
/// 1970-01-01T00:00:00Z; 0 before the first.
const HEARD: usize = 6;
/// The index of [`ENDS_KEPT`] pairs: a stream that ended, and the number of the reason that its end counts under. The
/// newest pair is last.
const RECENT: usize = 7;
/// The index of the remaining pairs: a reason's number, and the number of streams that ended for it, in the order of
/// first occurrence.
const COUNTED: usize = RECENT + 2 * ENDS_KEPT;

/// The number of an attribution `normal`, and of any other code that begins with `n`. A reason's number is a cause's
/// own (below 50), [`NORMAL`], [`OURS`], [`UNKNOWN`], or [`CATALOGUE`] plus an F number. Snapshots hold these numbers,
/// so none of them ever changes. The numbers have no other source.
const NORMAL: u64 = 50;
/// The number of an attribution `ours`, and of any other code that begins with `o`.
const OURS: u64 = 51;
/// The number of an attribution `unknown`, and of any other code that this build cannot read.
const UNKNOWN: u64 = 52;
/// The number that is added to an F number, so that the sum is above the numbers of all other reasons. The number has
/// no other source.
const CATALOGUE: u64 = 100;

/// The totals of a watch since it was started for the first time. Each number wraps above 64 bits. The list of numbers
/// is empty if the fold was encoded by a version that did not count. If the list is empty, every number is 0, and
/// [`are_known`](Self::are_known) is false. The closed list of causes, the words of attributions and 100 F numbers
/// bound its length; in a decoded snapshot, the size of the frame does.
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

/// Why a stream ended, as the totals count it: each end counts under one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The last attribution that came while the end was among the last [`ENDS_KEPT`] of its watch. A code that begins
    /// with `n` counts as [`Attributed::Normal`], one that begins with `o` as [`Attributed::Ours`]. Any other code that
    /// is not `F` and two digits counts as [`Attributed::Unknown`].
    Attributed(Attributed),
    /// The cause on the wire, if no attribution came while the end was among the last [`ENDS_KEPT`]; [`Cause::Unknown`]
    /// for a number of a later version.
    Seen(Cause),
    /// The number in the code of a catalogue row that this build does not know: 51 for `F51`. A number from a code is
    /// at most 99; a snapshot of a later version may hold a larger one.
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

    /// The reason's word as in records: `F08`, `normal`, or a cause on the wire such as `eof`. The word for a row of a
    /// later version is `F` and at least two digits.
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
    /// Totals of a watch that has just started: all zero.
    pub(super) fn begun() -> Self {
        Self(vec![0; COUNTED])
    }

    /// Whether totals were counted at all. If they were not, a number of 0 means nothing.
    #[must_use]
    pub fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// The number of closed gaps that resumed from progress.
    #[must_use]
    pub fn resumed(&self) -> u64 {
        self.figure(RESUMED)
    }

    /// The number of closed gaps without a resume, in which events may be lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.figure(LOST)
    }

    /// The sum of the lengths of closed gaps without a resume, in microseconds.
    #[must_use]
    pub fn lost_us(&self) -> u64 {
        self.figure(LOST_US)
    }

    /// The number of events that gaps are known to have lost. A gap states it, or it is the number of objects that a
    /// list in the gap shows as added, changed or removed. It is too low if an object changed several times. It is too
    /// high by the objects whose events the server itself lost (F24).
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.figure(MISSED)
    }

    /// The number of closed gaps without a resume whose losses neither the gap states nor a list shows.
    #[must_use]
    pub fn unmeasured(&self) -> u64 {
        self.figure(UNMEASURED)
    }

    /// The number of items in the watch's `list.complete` records after its first. A watch-list counts, and so does the
    /// first page of a list that was given up as too old.
    #[must_use]
    pub fn relisted(&self) -> u64 {
        self.figure(RELISTED)
    }

    /// The time of the last `list.complete`, `change` or `bookmark` record. `None` before the first, if the totals are
    /// unknown, and for a time not after 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn heard(&self) -> Option<Time> {
        let at = i64::try_from(self.figure(HEARD)).ok()?;
        (at > 0).then_some(Time(at))
    }

    /// Each reason and the number of streams that ended for it, in the order of first occurrence. A reason whose ends
    /// were all attributed to others is left out; empty if no stream ended. Only [`Cause::Unknown`] may come several
    /// times, once for each unknown number.
    pub fn ends(&self) -> impl Iterator<Item = (EndReason, u64)> {
        let pairs = self.0.get(COUNTED..).unwrap_or_default().chunks_exact(2);
        let counted = pairs.filter(|pair| pair[1] > 0);
        counted.map(|pair| (EndReason::of(pair[0]), pair[1]))
    }

    fn figure(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    /// Adds to a total. If the totals are empty, nothing is added, because a count must begin with the watch.
    fn add(&mut self, place: usize, by: u64) {
        if let Some(figure) = self.0.get_mut(place) {
            *figure = figure.wrapping_add(by);
        }
    }

    /// Notes the time at which a list, change or bookmark came.
    pub(super) fn hear(&mut self, at: Time) {
        if let Some(heard) = self.0.get_mut(HEARD) {
            *heard = at.0 as u64;
        }
    }

    /// Adds the items of a list after the watch's first.
    pub(super) fn relist(&mut self, items: u64) {
        self.add(RELISTED, items);
    }

    /// Adds the objects that a list showed as changed since a gap began.
    pub(super) fn miss(&mut self, objects: u64) {
        self.add(MISSED, objects);
    }

    /// Counts a closed gap that lasted `lasted_us` microseconds; `is_measured` states whether a list has counted the
    /// gap's losses.
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

    /// Counts the end of a stream under its cause.
    pub(super) fn end(&mut self, stream: StreamId, cause: Cause) {
        if let Some(recent) = self.0.get_mut(RECENT..COUNTED) {
            recent.copy_within(2.., 0);
            recent[2 * ENDS_KEPT - 2] = stream.0;
            recent[2 * ENDS_KEPT - 1] = cause.number();
            self.count(cause.number(), 1);
        }
    }

    /// Moves the count of a stream's end from its present reason to its attribution.
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

    /// Adds to the number of streams that ended for a reason; [`u64::MAX`] takes one away.
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

    fn counted(ends: &Totals) -> String {
        let words = ends
            .ends()
            .map(|(why, times)| format!("{times} {}", why.word()));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn an_end_counts_once_under_its_last_attribution() {
        let mut ends = Totals::begun();
        ends.end(StreamId(1), Cause::TcpReset);
        ends.end(StreamId(2), Cause::End);
        ends.end(StreamId(3), Cause::End);
        assert_eq!(counted(&ends), "1 tcp-reset, 2 end");
        attributed(&mut ends, 1, "F08");
        attributed(&mut ends, 2, "normal");
        attributed(&mut ends, 1, "F06");
        attributed(&mut ends, 9, "F11");
        assert_eq!(counted(&ends), "1 end, 1 normal, 1 F06");
    }

    #[test]
    fn an_attribution_of_an_end_that_is_no_longer_kept_changes_nothing() {
        let mut ends = Totals::begun();
        for stream in 0..=ENDS_KEPT as u64 {
            ends.end(StreamId(stream), Cause::End);
        }
        attributed(&mut ends, 0, "F10");
        assert_eq!(counted(&ends), "9 end");
        attributed(&mut ends, 1, "F10");
        assert_eq!(counted(&ends), "8 end, 1 F10");
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
    fn totals_of_an_older_version_stay_unknown() {
        let mut totals = Totals::default();
        totals.end(StreamId(1), Cause::End);
        totals.hear(Time(5));
        totals.relist(3);
        attributed(&mut totals, 1, "F08");
        assert_eq!(totals, Totals::default());
        assert!(!totals.are_known() && Totals::begun().are_known());
    }
}
