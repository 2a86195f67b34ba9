//! A lesson on stage: its cluster in virtual time, the log of what has been shown, and what the person did to it.
//!
//! Going back is running again: the same seed, the same versions and the same deeds give the same records.

use std::collections::VecDeque;
use std::time::Duration;

use watchscope_log::{Ring, Sealed, Sealer};
use watchscope_model::{Entry, EpochId, LogId, Seq, State, Time};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_simulator::{ClientGo, ReceivedRecord, Version};

use super::moment::{self, Finder};
use super::{Lesson, SETTLING};
use crate::digest::Digest;
use crate::run::Run as Driver;

/// The world is driven in steps of this length, wherever the person stops: what happens never depends on where.
const STEP: Duration = Duration::from_millis(10);
/// Bytes of the log that are kept: more than any lesson fills.
const RING_BYTES: u64 = 32 << 20;
/// From one thing broken to the next, where all are.
const BREAK_EVERY: Duration = Duration::from_secs(2);
/// What a person may do to one run.
const DEEDS_MOST: usize = 256;

/// What a run is made of, besides its lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where its chance begins.
    pub seed: u64,
    /// The server's version.
    pub server: Version,
    /// client-go's version.
    pub client: ClientGo,
}

/// A moment, once it has been shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The entry of the log.
    pub seq: Seq,
    /// When.
    pub at: Time,
    /// The lane it lies in, as the page knows it.
    pub lane: String,
    /// The lane that holds that one, for where that one does not show.
    pub within: Option<String>,
}

/// What looks for one moment.
#[derive(Clone, Debug)]
struct Search {
    finder: Finder,
    left: usize,
    found: Option<Found>,
}

/// A lesson being played.
pub struct Stage {
    lesson: Lesson,
    run: Run,
    /// Which run it is: a log's epoch.
    number: u64,
    driver: Driver,
    /// How far the world has come, in whole steps.
    ran: Duration,
    /// How far it is shown.
    shown: Duration,
    /// Told, and not shown yet.
    waiting: VecDeque<Entry>,
    /// What the client programs received, and nobody took yet.
    received: VecDeque<(Time, ReceivedRecord)>,
    /// What the person did, when, by its place among the lesson's breaks.
    deeds: Vec<(Duration, usize)>,
    /// Deeds of the run before that are still to be done again.
    to_do: VecDeque<(Duration, usize)>,
    searches: Vec<Vec<Search>>,
    /// The fold of the entries shown.
    state: State,
    sealer: Sealer,
    ring: Ring,
}

impl Stage {
    /// A lesson at its beginning; nothing of it is shown yet.
    #[must_use]
    pub fn new(lesson: Lesson, run: Run) -> Self {
        Self::of_number(lesson, run, 1)
    }

    fn of_number(lesson: Lesson, run: Run, number: u64) -> Self {
        let (before, story) = lesson.story(run.server, run.client);
        let mut driver = Driver::of_story_later(story, run.seed, SETTLING);
        driver.tell_one_log();
        driver.world.tell_received();
        let at = driver.now();
        driver.perform(&before);
        driver.run_for(SETTLING);
        if let Some((resource, kind)) = lesson.watches {
            driver.watch(
                WatchSpec::of("default", resource, kind),
                ProbeConfig::default(),
                run.seed,
            );
        }
        let log = LogId::from("lesson");
        let epoch = EpochId::from(format!("run-{number}").as_str());
        let (mut sealer, first) = Sealer::new(log.clone(), epoch.clone(), at);
        let mut ring = Ring::new(log, epoch, RING_BYTES, first);
        let state = State {
            at,
            ..State::default()
        };
        ring.set_snapshot(sealer.snapshot(at, &state).1);
        let search = |moment: &super::Moment| Search {
            finder: Finder::new(moment.sought),
            left: moment.after,
            found: None,
        };
        let searches = lesson.passages.iter();
        let searches = searches.map(|passage| passage.moments.iter().map(search).collect());
        Self {
            searches: searches.collect(),
            waiting: driver.take_log().into(),
            received: driver.take_received().into(),
            lesson,
            run,
            number,
            driver,
            ran: Duration::ZERO,
            shown: Duration::ZERO,
            deeds: Vec::new(),
            to_do: VecDeque::new(),
            state,
            sealer,
            ring,
        }
    }

    /// The lesson.
    #[must_use]
    pub fn lesson(&self) -> &Lesson {
        &self.lesson
    }

    /// What it runs with.
    #[must_use]
    pub fn run(&self) -> Run {
        self.run
    }

    /// Which run it is, from 1: each has a log of its own.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How far it is shown, since the lesson began.
    #[must_use]
    pub fn shown(&self) -> Duration {
        self.shown
    }

    /// The moment shown, on the cluster's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.time(self.shown)
    }

    /// A time since the lesson began, on the cluster's clock.
    #[must_use]
    pub fn time(&self, since: Duration) -> Time {
        Time(super::MIDNIGHT_US + i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// The log of what is shown.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Puts a snapshot of the head into the ring, for a reader that joins.
    pub fn take_snapshot(&mut self) {
        let now = self.time(self.shown);
        let (sealed, snapshot) = self.sealer.snapshot(now, &self.state);
        self.push(sealed);
        self.ring.set_snapshot(snapshot);
    }

    /// The moments of a passage, each once it has been shown.
    pub fn found(&self, passage: usize) -> impl Iterator<Item = Option<&Found>> {
        let searches = self.searches.get(passage).map_or(&[][..], Vec::as_slice);
        searches.iter().map(|search| search.found.as_ref())
    }

    /// What the person did, and when, by its place among the lesson's breaks.
    #[must_use]
    pub fn deeds(&self) -> &[(Duration, usize)] {
        &self.deeds
    }

    /// Shows it up to a time, at most to its end. Going back is [`Stage::again`].
    pub fn advance(&mut self, to: Duration) -> Vec<Entry> {
        let to = to.min(self.lesson.lasts).max(self.shown);
        self.run_to(to);
        self.shown = to;
        let now = self.time(to);
        let mut shown = Vec::new();
        while let Some(entry) = self.waiting.pop_front_if(|entry| entry.at() <= now) {
            self.show(&entry);
            shown.push(entry);
        }
        let sealed = self.sealer.seal(now, &self.state);
        self.push(sealed);
        shown
    }

    /// Takes what the client programs have received by the moment shown, since it was asked last.
    pub fn take_received(&mut self) -> Vec<(Time, ReceivedRecord)> {
        let now = self.now();
        let mut taken = Vec::new();
        while let Some(received) = self.received.pop_front_if(|(at, _)| *at <= now) {
            taken.push(received);
        }
        taken
    }

    /// Shows what is told next, and all that is told at the same moment; at the end there is no more.
    pub fn step(&mut self) -> Vec<Entry> {
        while self.waiting.is_empty() && self.ran < self.lesson.lasts {
            self.run_to(self.ran + STEP);
        }
        let next = self.waiting.front().map(|entry| {
            let since = entry.at().micros_since(self.time(Duration::ZERO));
            Duration::from_micros(u64::try_from(since).unwrap_or(0))
        });
        self.advance(next.unwrap_or(self.lesson.lasts))
    }

    /// Does one of the lesson's breaks, now. What the person may do to one run is bounded; beyond it nothing happens.
    pub fn break_it(&mut self, place: usize) {
        if self.deeds.len() < DEEDS_MOST && place < self.lesson.breaks.len() {
            self.deeds.push((self.ran, place));
            self.perform(place);
        }
    }

    /// The same lesson again from its beginning, as it was until `keep`: what the person did after that is undone.
    #[must_use]
    pub fn again(&self, run: Run, keep: Duration) -> Self {
        let mut stage = Self::of_number(self.lesson.clone(), run, self.number + 1);
        let deeds = self.deeds.iter().filter(|(at, _)| *at <= keep);
        stage.to_do = deeds.copied().collect();
        stage
    }

    /// What the person did to the run before is not done to this one.
    pub fn forget_deeds(&mut self) {
        self.to_do.clear();
    }

    fn run_to(&mut self, to: Duration) {
        while self.ran < to {
            while let Some((_, place)) = self.to_do.pop_front_if(|(at, _)| *at <= self.ran) {
                self.deeds.push((self.ran, place));
                self.perform(place);
            }
            let steps = self.idle_steps(to);
            self.driver.run_for(STEP * steps);
            self.ran += STEP * steps;
            self.take_told();
        }
    }

    /// How many steps there are to the end of the one in which something happens, or to a time if that is nearer.
    fn idle_steps(&self, to: Duration) -> u32 {
        let until = match self.to_do.front() {
            Some((at, _)) => to.min(*at),
            None => to,
        };
        let left = until.saturating_sub(self.ran);
        let idle = self.driver.idle_for().map_or(left, |idle| idle.min(left));
        let steps = idle.as_micros().div_ceil(STEP.as_micros()).max(1);
        u32::try_from(steps).unwrap_or(1)
    }

    fn perform(&mut self, place: usize) {
        self.driver.perform(&self.lesson.breaks[place].deeds);
        self.take_told();
    }

    fn take_told(&mut self) {
        self.waiting.extend(self.driver.take_log());
        self.received.extend(self.driver.take_received());
    }

    fn show(&mut self, entry: &Entry) {
        let all = self.lesson.passages.iter().zip(&mut self.searches);
        for (passage, searches) in all {
            for (moment, search) in passage.moments.iter().zip(searches) {
                if search.found.is_some() || !search.finder.takes(entry) {
                    continue;
                }
                if search.left > 0 {
                    search.left -= 1;
                    continue;
                }
                let (lane, within) = moment::lanes(moment.sought, entry);
                search.found = Some(Found {
                    seq: entry.seq(),
                    at: entry.at(),
                    lane,
                    within,
                });
            }
        }
        if self.sealer.seal_at().is_some_and(|due| due <= entry.at()) {
            let sealed = self.sealer.seal(entry.at(), &self.state);
            self.push(sealed);
        }
        let sealed = seal(entry, &mut self.state, &mut self.sealer);
        self.push(sealed);
    }

    fn push(&mut self, sealed: Option<Sealed>) {
        if let Some(sealed) = sealed {
            self.ring.push(sealed);
        }
    }
}

/// Takes in the next entry of a log; returns what was sealed if it filled the segment.
fn seal(entry: &Entry, state: &mut State, sealer: &mut Sealer) -> Option<Sealed> {
    match entry {
        Entry::Record(record) => {
            state.apply(record);
            sealer.take(record, state)
        }
        Entry::Inside(record) => {
            state.pass(record.seq, record.at);
            sealer.take_inside(record.clone(), state)
        }
    }
}

/// One number for a lesson: of a run from beginning to end, and of one in which all that can be broken is broken, one
/// thing after the other from its middle on.
#[must_use]
pub fn digest_of(lesson: &Lesson, run: Run) -> u64 {
    let as_written = Stage::new(lesson.clone(), run).advance(lesson.lasts);
    let mut stage = Stage::new(lesson.clone(), run);
    let mut broken = stage.advance(lesson.lasts / 2);
    for place in 0..lesson.breaks.len() {
        stage.break_it(place);
        broken.extend(stage.advance(stage.shown() + BREAK_EVERY));
    }
    broken.extend(stage.advance(lesson.lasts));
    digest(&as_written).rotate_left(1) ^ digest(&broken)
}

/// One number for all of these entries, the same wherever they were made.
pub(super) fn digest(entries: &[Entry]) -> u64 {
    let (mut sealer, first) = Sealer::new("digest".into(), "digest".into(), Time(0));
    let mut state = State {
        at: Time(0),
        ..State::default()
    };
    let mut digest = Digest::new();
    digest.take(&first.opening);
    let mut take = |sealed: Option<Sealed>| {
        if let Some(sealed) = sealed {
            digest.take(sealed.segment.frame());
        }
    };
    for entry in entries {
        take(seal(entry, &mut state, &mut sealer));
    }
    take(sealer.seal(Time(i64::MAX), &state));
    digest.hash
}
