//! Marks of a watch: their kind, time and resourceVersion, in runs (`MarkRun`) that are inserted and forgotten whole.

use std::ops::Range;

use watchscope_model::fold::STEPS_KEPT;
use watchscope_model::{Seq, Time};

use super::mark_kind::{MarkKind, NO_VERSION};
use super::mark_run::{MarkRun, OpenStretch};
use super::mark_sums::Sums;

/// Marks by rising seq. A mark's index counts over all runs. To insert or to forget marks copies no other marks than
/// those of at most two runs, which are split.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// The runs of neighbouring marks; no run is empty.
    runs: Vec<MarkRun>,
    /// The index of each run's first mark.
    starts: Vec<usize>,
    len: usize,
}

/// A reader of marks, one after the other. Marks that follow each other are nearly always in one run, so the reader
/// looks up a run only once.
#[derive(Clone, Copy)]
pub(crate) struct MarkReader<'a> {
    marks: &'a Marks,
    run: Option<&'a MarkRun>,
    /// The index of the first mark in the reader's current run.
    start: usize,
}

impl<'a> MarkReader<'a> {
    /// Returns the time of the mark at an index.
    pub(crate) fn at(&mut self, place: usize) -> Time {
        let (run, within) = self.located(place);
        run.at(within)
    }

    /// Returns the resourceVersion of the mark at an index as a number, or [`NO_VERSION`].
    pub(crate) fn version(&mut self, place: usize) -> u64 {
        let (run, within) = self.located(place);
        run.version(within)
    }

    fn located(&mut self, place: usize) -> (&'a MarkRun, usize) {
        let within = place.wrapping_sub(self.start);
        if let Some(run) = self.run.filter(|run| within < run.len()) {
            return (run, within);
        }
        let (run, within) = self.marks.located(place);
        (self.run, self.start) = (Some(run), place - within);
        (run, within)
    }
}

impl PartialEq for Marks {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |place: usize| {
            let one = |marks: &Self| {
                let (seq, at) = (marks.seq(place), marks.at(place));
                (seq, at, marks.kind(place), marks.version(place))
            };
            one(self) == one(other)
        };
        self.len == other.len && (0..self.len).all(is_same)
    }
}

impl Marks {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends a mark; its seq must be above all others.
    pub(crate) fn push(&mut self, seq: Seq, at: Time, kind: MarkKind, version: u64) {
        let last = self.runs.last_mut();
        if !last.is_some_and(|last| last.push(seq, at, kind, version)) {
            if let Some(full) = self.runs.last_mut() {
                full.shrink();
            }
            let mut run = MarkRun::default();
            run.push(seq, at, kind, version);
            self.runs.push(run);
            self.starts.push(self.len);
        }
        self.len += 1;
    }

    /// Returns a reader of marks one after the other.
    pub(crate) fn reader(&self) -> MarkReader<'_> {
        MarkReader {
            marks: self,
            run: None,
            start: 0,
        }
    }

    /// Returns the run that holds a mark, and the mark's index in that run.
    #[inline]
    fn located(&self, place: usize) -> (&MarkRun, usize) {
        let run = self.run_of(place);
        (&self.runs[run], place - self.starts[run])
    }

    /// Returns the index of the run that holds a mark; for an index after all marks, that of the last run.
    #[inline]
    fn run_of(&self, place: usize) -> usize {
        self.starts.partition_point(|&start| start <= place) - 1
    }

    #[inline]
    pub(crate) fn at(&self, place: usize) -> Time {
        let (run, place) = self.located(place);
        run.at(place)
    }

    #[inline]
    pub(crate) fn seq(&self, place: usize) -> Seq {
        let (run, place) = self.located(place);
        run.seq(place)
    }

    #[inline]
    pub(crate) fn kind(&self, place: usize) -> MarkKind {
        let (run, place) = self.located(place);
        run.kind(place)
    }

    /// Returns the resourceVersion of the mark at an index as a number, or [`NO_VERSION`].
    #[inline]
    pub(crate) fn version(&self, place: usize) -> u64 {
        let (run, place) = self.located(place);
        run.version(place)
    }

    /// Returns the index of the first mark with at least this seq.
    pub(crate) fn place_of(&self, seq: Seq) -> usize {
        self.place_where(|run| run.seq(run.len() - 1) >= seq, |run| run.place_of(seq))
    }

    /// Returns the index of the first mark at or after a time.
    pub(crate) fn place_at(&self, at: Time) -> usize {
        self.place_where(|run| run.at(run.len() - 1) >= at, |run| run.place_at(at))
    }

    /// Returns the indexes of the marks from `left` to `right`, both included.
    pub(crate) fn places_within(&self, left: Time, right: Time) -> Range<usize> {
        let from = self.place_at(left);
        from..self.place_at(right.plus_micros(1)).max(from)
    }

    /// Returns, for buckets of `bucket_us` from `from` to `to`, the index of the first mark behind each. The last
    /// bucket ends after `to`. A width of 0 panics.
    pub(crate) fn borders(&self, from: Time, to: Time, bucket_us: i64) -> Vec<usize> {
        let buckets = to.micros_since(from).max(0) / bucket_us + 1;
        let ends = (1..=buckets).map(|bucket| from.plus_micros(bucket_us * bucket));
        ends.map(|end| self.place_at(end)).collect()
    }

    fn place_where(
        &self,
        reaches: impl Fn(&MarkRun) -> bool,
        place: impl Fn(&MarkRun) -> usize,
    ) -> usize {
        let found = self.runs.partition_point(|run| !reaches(run));
        let run = self.runs.get(found);
        run.map_or(self.len, |run| self.starts[found] + place(run))
    }

    /// Adds up the marks at `places` by stretches of time. `end_of` returns the end of the stretch that holds a time,
    /// which must be after that time. `take` gets, for each stretch, the time of its first mark and its sums.
    pub(crate) fn sum_by(
        &self,
        places: Range<usize>,
        end_of: &mut dyn FnMut(Time) -> Time,
        take: &mut dyn FnMut(Time, &Sums),
    ) {
        let mut open: Option<OpenStretch> = None;
        self.each_run(places, &mut |run, from, to| {
            run.sum_by(from..to, &mut open, end_of, take);
        });
        if let Some(open) = open {
            take(open.first, &open.sums);
        }
    }

    /// Returns the sums of the marks at `places`.
    pub(crate) fn sum(&self, places: Range<usize>) -> Sums {
        let mut sums = Sums::default();
        self.each_run(places, &mut |run, from, to| {
            run.sum(from..to, &mut sums);
        });
        sums
    }

    /// Passes the indexes of the bookmarks and ends of initial events at `places` to `take`, in order.
    pub(crate) fn each_bookmark(&self, places: Range<usize>, take: &mut dyn FnMut(usize)) {
        let mut start = places.start;
        self.each_run(places, &mut |run, from, to| {
            let mut place = from;
            while let Some(found) = run.next_bookmark(place, to) {
                take(start + (found - from));
                place = found + 1;
            }
            start += to - from;
        });
    }

    /// Passes each run with marks at `places` to `take`, with begin and end of these marks' indexes in the run.
    fn each_run(&self, places: Range<usize>, take: &mut dyn FnMut(&MarkRun, usize, usize)) {
        let mut place = places.start;
        while place < places.end.min(self.len) {
            let at = self.run_of(place);
            let (run, start) = (&self.runs[at], self.starts[at]);
            let to = run.len().min(places.end - start);
            take(run, place - start, to);
            place = start + to;
        }
    }

    /// Whether the versions have no order. The resourceVersions of a resource are all of one kind, so the first mark
    /// decides.
    pub(crate) fn are_opaque(&self) -> bool {
        self.len() > 0 && self.version(0) == NO_VERSION
    }

    /// Returns the resourceVersion that a mark moved its watch to; `None` if the mark moved no version, or the version
    /// is not a number.
    pub(crate) fn moved_to(&self, place: usize) -> Option<u64> {
        if place >= self.len() || !self.kind(place).moves_version() {
            return None;
        }
        Some(self.version(place)).filter(|&version| version != NO_VERSION)
    }

    /// Returns the time of the last move of the resourceVersion before a mark, and the version that it moved to.
    pub(crate) fn moved_before(&self, place: usize) -> Option<(Time, u64)> {
        let before = (0..place.min(self.len())).rev();
        before
            .filter_map(|place| Some((self.at(place), self.moved_to(place)?)))
            .next()
    }

    /// Returns how many upward steps of the resourceVersion before a mark are known, and the size of the largest. Only
    /// the steps by which the fold judges a jump count: at most [`STEPS_KEPT`].
    pub(crate) fn steps_before(&self, place: usize) -> (u64, u64) {
        let (mut count, mut largest) = (0, 0);
        let mut values = (0..place.min(self.len()))
            .rev()
            .filter_map(|place| self.moved_to(place));
        let mut after = values.next();
        while let (Some(to), Some(from)) = (after, values.next())
            && count < STEPS_KEPT as u64
        {
            if to > from {
                (count, largest) = (count + 1, largest.max(to - from));
            }
            after = Some(from);
        }
        (count, largest)
    }

    /// Inserts neighbouring marks where their seqs belong; returns the index of the first inserted mark.
    pub(crate) fn insert(&mut self, mut other: Self) -> usize {
        if other.len == 0 {
            return self.len;
        }
        let place = self.place_of(other.seq(0));
        let at = self.split_at(place);
        other.runs.iter_mut().for_each(MarkRun::shrink);
        self.runs.splice(at..at, other.runs);
        self.number();
        place
    }

    /// Forgets the marks at these indexes.
    pub(crate) fn forget(&mut self, places: Range<usize>) {
        if places.is_empty() {
            return;
        }
        let from = self.split_at(places.start);
        let to = self.split_at(places.end);
        self.runs.drain(from..to);
        self.number();
    }

    /// Splits runs so that one begins at the mark `place`, and returns that run's index; for a `place` after all marks,
    /// the number of runs.
    fn split_at(&mut self, place: usize) -> usize {
        if place >= self.len {
            return self.runs.len();
        }
        let run = self.run_of(place);
        let within = place - self.starts[run];
        if within == 0 {
            return run;
        }
        let behind = self.runs[run].split_off(within);
        self.runs.insert(run + 1, behind);
        self.number();
        run + 1
    }

    /// Computes the start index of each run, and the number of all marks, again.
    fn number(&mut self) {
        self.starts.clear();
        self.len = 0;
        for run in &self.runs {
            self.starts.push(self.len);
            self.len += run.len();
        }
    }

    /// Estimates the size of the marks in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.runs.iter().map(MarkRun::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Mark = (u64, i64, u64);

    fn marks(list: &[Mark]) -> Marks {
        let mut marks = Marks::default();
        for &(seq, at, version) in list {
            marks.push(Seq(seq), Time(at), MarkKind::Modified, version);
        }
        marks
    }

    fn read(marks: &Marks) -> Vec<Mark> {
        let one = |place| {
            let (seq, at) = (marks.seq(place), marks.at(place));
            (seq.0, at.0, marks.version(place))
        };
        (0..marks.len()).map(one).collect()
    }

    /// Returns marks with rising seqs from `first` on.
    fn list(first: u64) -> impl Strategy<Value = Vec<Mark>> {
        let version = prop_oneof![
            1_000..2_000_u64,
            Just(NO_VERSION),
            Just(0),
            any::<u64>(),
            5_000_000_000..5_000_000_100_u64
        ];
        let mark = (1_790_000_000_000_000..1_790_900_000_000_000_i64, version);
        prop::collection::vec(mark, 0..40).prop_map(move |marks| {
            let numbered = (first..).zip(marks);
            numbered
                .map(|(seq, (at, version))| (seq, at, version))
                .collect()
        })
    }

    /// The kinds of random marks. About one mark in 30 has any of them; the others have the first one.
    const KINDS: [MarkKind; 6] = [
        MarkKind::Added,
        MarkKind::ModifiedByList,
        MarkKind::Status,
        MarkKind::Deleted,
        MarkKind::Bookmark,
        MarkKind::List,
    ];

    /// Returns 5,000 marks, which came as three runs. A part of the second is forgotten.
    fn many(random: &mut impl FnMut(u64) -> u64) -> Marks {
        let mut all = Marks::default();
        for first in [20_000, 1, 40_000] {
            let mut run = Marks::default();
            let mut now = 1_790_000_000_000_000 + first as i64 * 50_000;
            for seq in first..first + 2_000 {
                now += random(90_000) as i64;
                let version = if random(9) == 0 {
                    NO_VERSION
                } else {
                    1_000 + random(1_000)
                };
                let kind = if random(30) > 0 {
                    0
                } else {
                    random(6) as usize
                };
                run.push(Seq(seq), Time(now), KINDS[kind], version);
            }
            all.insert(run);
        }
        all.forget(700..1_700);
        all
    }

    proptest! {
        #[test]
        fn sums_over_stretches_of_time_are_those_of_their_single_marks(
            seed in any::<u64>(), from in 0..5_000_usize, length in 0..5_000_usize, step_us in 1..400_000_000_i64,
        ) {
            let mut state = seed | 1;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let marks = many(&mut random);
            let places = from..(from + length).min(marks.len()).max(from);
            let mut wanted: Vec<(Time, Sums)> = Vec::new();
            let column = |at: Time| at.0.div_euclid(step_us);
            let mut bookmarks = Vec::new();
            for place in places.clone() {
                let at = marks.at(place);
                if wanted.last().is_none_or(|(first, _)| column(*first) != column(at)) {
                    wanted.push((at, Sums::default()));
                }
                let (_, sums) = wanted.last_mut().unwrap();
                let mut one = Marks::default();
                one.push(marks.seq(place), at, marks.kind(place), marks.version(place));
                let single = one.sum(0..1);
                for class in 0..3 {
                    sums.live[class] += single.live[class];
                    sums.listed[class] += single.listed[class];
                }
                sums.bookmarks += single.bookmarks;
                if let Some(value) = marks.moved_to(place) {
                    let versions = sums.versions.get_or_insert(single.versions.unwrap());
                    versions.least = versions.least.min(value);
                    versions.most = versions.most.max(value);
                    versions.last = value;
                }
                if single.bookmarks > 0 {
                    bookmarks.push(place);
                }
            }
            let mut summed = Vec::new();
            let mut end_of = |at: Time| Time((column(at) + 1) * step_us);
            marks.sum_by(places.clone(), &mut end_of, &mut |at, sums| summed.push((at, *sums)));
            prop_assert_eq!(summed, wanted);
            let mut found = Vec::new();
            marks.each_bookmark(places, &mut |place| found.push(place));
            prop_assert_eq!(found, bookmarks);
        }

        #[test]
        fn marks_read_back_as_they_were_pushed_whatever_their_versions(list in list(1)) {
            prop_assert_eq!(read(&marks(&list)), list);
        }

        #[test]
        fn a_run_goes_where_its_seqs_belong_and_any_run_can_be_forgotten(
            before in list(1), run in list(100), after in list(200), from in 0..=100_usize, share in 0..=100_usize,
        ) {
            let mut all = marks(&[before.clone(), after.clone()].concat());
            prop_assert_eq!(all.insert(marks(&run)), if run.is_empty() { all.len() } else { before.len() });
            let mut wanted = [before, run, after].concat();
            prop_assert_eq!(read(&all), wanted.clone());
            let from = wanted.len() * from / 100;
            let to = from + (wanted.len() - from) * share / 100;
            all.forget(from..to);
            wanted.drain(from..to);
            prop_assert_eq!(read(&all), wanted);
        }
    }
}
