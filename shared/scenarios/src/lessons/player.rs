//! The player of a lesson: its cluster in virtual time, the log up to the shown moment, and the person's deeds.
//!
//! To go back, the player runs the lesson again: the same seed, versions and deeds give the same records.

use std::collections::VecDeque;
use std::time::Duration;

use watchscope_log::{Ring, Sealed, Sealer};
use watchscope_model::{Entry, EpochId, LogId, Seq, State, Time};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_simulator::{ClientGo, ReceivedRecord, TallyRecord, Version};

use super::goal::Aim;
use super::moment::{self, Finder, Sought};
use super::visible::Visible;
use super::{Lesson, SETTLING};
use crate::digest::Digest;
use crate::run::Run as Driver;

/// The length of the steps in which the world always runs, wherever the person stops. Whole steps ensure that a stop
/// never changes what happens. The number has no source.
const STEP: Duration = Duration::from_millis(10);
/// The most bytes of the ring: 32 MiB, more than any lesson fills. Above this size the ring would drop the oldest
/// records. The number has no other source.
const RING_BYTES: u64 = 32 << 20;
/// The time from one break to the next in a digest, in the cluster's time. The time lets each break take effect before
/// the next. The number has no source.
const BREAK_EVERY: Duration = Duration::from_secs(2);
/// The most breaks that the person can perform in one run; a further one does nothing. A lesson has a few breaks and
/// lasts at most 90 s, so no person needs more. The number has no other source.
const DEEDS_MOST: usize = 256;

/// The parameters of a run of a lesson, besides the lesson itself. The same parameters and deeds give the same records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The seed of the run's random numbers.
    pub seed: u64,
    /// The Kubernetes version of the run's apiserver.
    pub server: Version,
    /// The client-go version of the run's informers; other programs have versions of their own.
    pub client: ClientGo,
}

/// A moment that has been shown: its entry in the log, and the lane on which the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The seq of the moment's entry in the run's log.
    pub seq: Seq,
    /// The time of the moment's entry, on the cluster's clock.
    pub at: Time,
    /// The name of the moment's lane, as the page knows it: `etcd`, `client NAME`, `apiserver N RESOURCE` (N from 0),
    /// or a watch. The lane of an object is named `WATCH NAMESPACE/NAME`, with `-` for no namespace.
    pub lane: String,
    /// The name of the lane that contains the moment's lane, for a page that does not show the latter; `None` if no
    /// lane contains it.
    pub within: Option<String>,
}

/// The search for one moment.
#[derive(Clone, Debug)]
struct Search {
    finder: Finder,
    left: usize,
    found: Option<Found>,
}

impl Search {
    /// Looks at the next entry of the log.
    fn take(&mut self, sought: Sought, entry: &Entry) {
        if self.found.is_some() || !self.finder.takes(entry) {
            return;
        }
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        let (lane, within) = moment::lanes(sought, entry);
        self.found = Some(Found {
            seq: entry.seq(),
            at: entry.at(),
            lane,
            within,
        });
    }
}

/// The player of a lesson: the cluster of one run, and its log up to the shown moment.
///
/// The lesson's length bounds the player's memory. The ring of its log holds at most 32 MiB; above 32 MiB the ring
/// drops the oldest records. A person can add deeds only while a run has fewer than 256 deeds.
pub struct LessonPlayer {
    lesson: Lesson,
    run: Run,
    /// The number of the run, which is the epoch of its log.
    number: u64,
    driver: Driver,
    /// How far the world has run since the lesson began, in whole steps of [`STEP`].
    ran: Duration,
    /// How far the lesson is shown, since it began.
    shown: Duration,
    /// Entries of the log that the world produced and that are not yet shown.
    waiting: VecDeque<Entry>,
    /// What the client programs received and the caller has not yet taken.
    received: VecDeque<(Time, ReceivedRecord)>,
    /// What all client programs, also those of a crowd, asked for and the caller has not yet taken.
    tally: VecDeque<(Time, TallyRecord)>,
    /// The person's deeds in this run: the time since the lesson began, and the index among the lesson's breaks.
    deeds: Vec<(Duration, usize)>,
    /// Deeds of the previous run that are yet to be repeated in this run.
    to_do: VecDeque<(Duration, usize)>,
    searches: Vec<Vec<Search>>,
    /// The search for the moment of each goal; `None` for a goal that has none.
    goals: Vec<Option<Search>>,
    /// The fold of the entries shown.
    state: State,
    sealer: Sealer,
    ring: Ring,
}

impl LessonPlayer {
    /// Sets up the first run of a lesson at its beginning; nothing is shown yet. The log has no records, and a snapshot
    /// for a reader that joins.
    #[must_use]
    pub fn new(lesson: Lesson, run: Run) -> Self {
        Self::of_number(lesson, run, 1)
    }

    fn of_number(lesson: Lesson, run: Run, number: u64) -> Self {
        let (before, story) = lesson.story(run.server, run.client);
        let mut driver = Driver::of_story_later(story, run.seed, SETTLING);
        driver.tell_one_log();
        driver.world.tell_received();
        driver.world.tell_tally();
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
        let goals = lesson.goals.iter().map(|goal| match goal.shows {
            Aim::Moment(sought) => Some(search(&super::Moment::first(sought))),
            Aim::Ghosts(..) => None,
        });
        let goals = goals.collect();
        let searches = lesson.passages.iter();
        let searches = searches.map(|passage| passage.moments.iter().map(search).collect());
        Self {
            searches: searches.collect(),
            goals,
            waiting: driver.take_log().into(),
            received: driver.take_received().into(),
            tally: driver.take_tally().into(),
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

    /// Returns the lesson.
    #[must_use]
    pub fn lesson(&self) -> &Lesson {
        &self.lesson
    }

    /// Returns the versions of the apiservers of this run, in the order of their numbers.
    pub fn servers(&self) -> impl Iterator<Item = Version> {
        self.driver.world.servers().map(|(_, version)| version)
    }

    /// Returns the parameters of this run.
    #[must_use]
    pub fn run(&self) -> Run {
        self.run
    }

    /// Returns the number of the run: 1 for a new player, and one more than this run's number for the run that
    /// [`LessonPlayer::again`] returns. The number names the epoch of the run's log.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns up to which time the lesson is shown, since it began; at most the lesson's length.
    #[must_use]
    pub fn shown(&self) -> Duration {
        self.shown
    }

    /// Returns the time up to which the lesson is shown, on the cluster's clock, which is also the log's.
    #[must_use]
    pub fn now(&self) -> Time {
        self.time(self.shown)
    }

    /// Converts a time since the lesson began to the cluster's clock. The lesson begins at 2027-01-01, midnight UTC. A
    /// time over 290,000 years may overflow.
    #[must_use]
    pub fn time(&self, since: Duration) -> Time {
        Time(super::MIDNIGHT_US + i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// Returns the log of the run up to the time that is shown.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Seals the shown records, and puts a snapshot of the head into the ring, for a reader that joins. The new
    /// snapshot replaces the previous one.
    pub fn take_snapshot(&mut self) {
        let now = self.time(self.shown);
        let (sealed, snapshot) = self.sealer.snapshot(now, &self.state);
        self.push(sealed);
        self.ring.set_snapshot(snapshot);
    }

    /// Returns the moments of the passage with an index, in the order of [`super::Passage::moments`]. An item is `None`
    /// until its moment has been shown. For an index beyond the last passage the iterator is empty.
    pub fn found(&self, passage: usize) -> impl Iterator<Item = Option<&Found>> {
        let searches = self.searches.get(passage).map_or(&[][..], Vec::as_slice);
        searches.iter().map(|search| search.found.as_ref())
    }

    /// Returns the time, since the lesson began, at which this run reached a goal that is a moment. `None` before that,
    /// for another goal, and for an unknown index. Only the run's first moment of the kind counts, and only if it does
    /// not happen before the first deed.
    #[must_use]
    pub fn reached(&self, goal: usize) -> Option<Duration> {
        let search = self.goals.get(goal)?.as_ref()?;
        let found = search.found.as_ref()?;
        let since = found.at.micros_since(self.time(Duration::ZERO));
        let since = Duration::from_micros(u64::try_from(since).unwrap_or(0));
        let (first, _) = self.deeds.first()?;
        (since >= *first).then_some(since)
    }

    /// Returns the person's deeds in this run so far, the oldest first: the time since the lesson began, and the index
    /// among the lesson's breaks. Deeds of the previous run count once they are repeated.
    #[must_use]
    pub fn deeds(&self) -> &[(Duration, usize)] {
        &self.deeds
    }

    /// Shows the lesson up to and with a time since it began, at most to its end. Returns the entries that this call
    /// newly shows, in their order; the list may be empty. A time before the already shown one counts as the shown one.
    /// To go back, use [`LessonPlayer::again`].
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

    /// Takes what the client programs have received since the last call, up to and with the time that is shown. The
    /// list is in order of time, on the cluster's clock. The list may be empty.
    pub fn take_received(&mut self) -> Vec<(Time, ReceivedRecord)> {
        let now = self.now();
        let mut taken = Vec::new();
        while let Some(received) = self.received.pop_front_if(|(at, _)| *at <= now) {
            taken.push(received);
        }
        taken
    }

    /// Takes what all client programs asked for since the last call, and how it ended, up to and with the time that is
    /// shown. The list is in order of time, on the cluster's clock. The list may be empty.
    pub fn take_tally(&mut self) -> Vec<(Time, TallyRecord)> {
        let now = self.now();
        let mut taken = Vec::new();
        while let Some(record) = self.tally.pop_front_if(|(at, _)| *at <= now) {
            taken.push(record);
        }
        taken
    }

    /// Like [`LessonPlayer::step`], but shows the lesson at most to a time.
    pub fn step_within(&mut self, most: Duration) -> Vec<Entry> {
        while self.waiting.is_empty() && self.ran < most.min(self.lesson.lasts) {
            self.run_to(self.ran + STEP);
        }
        let next = self.next_waiting().unwrap_or(self.lesson.lasts);
        self.advance(next.min(most))
    }

    /// Shows the next entry, and all entries of the same time; returns these entries. Entries from before the lesson's
    /// begin count as of its begin. If no entry is left, the function shows the lesson to its end and returns no
    /// entries.
    pub fn step(&mut self) -> Vec<Entry> {
        while self.waiting.is_empty() && self.ran < self.lesson.lasts {
            self.run_to(self.ran + STEP);
        }
        let next = self.next_waiting();
        self.advance(next.unwrap_or(self.lesson.lasts))
    }

    /// Returns the time of the next entry that is not shown yet, if the world has produced it.
    fn next_waiting(&self) -> Option<Duration> {
        let entry = self.waiting.front()?;
        let since = entry.at().micros_since(self.time(Duration::ZERO));
        Some(Duration::from_micros(u64::try_from(since).unwrap_or(0)))
    }

    /// Returns the times of the entries of this run that change the picture, in order, since the lesson began. The
    /// times are those of a run in which the person does nothing more. The function runs the lesson once to its end.
    #[must_use]
    pub fn timetable(&self) -> Vec<Duration> {
        let mut player = self.again(self.run, self.lesson.lasts);
        let entries = player.advance(self.lesson.lasts);
        let begin = self.time(Duration::ZERO);
        let since = |entry: &Entry| u64::try_from(entry.at().micros_since(begin)).unwrap_or(0);
        let mut visible = Visible::default();
        entries
            .iter()
            .filter(|entry| visible.takes(entry))
            .map(|entry| Duration::from_micros(since(entry)))
            .collect()
    }

    /// Performs the lesson's break with an index at the time to which the world has run: the shown time, or up to 10 ms
    /// later. An unknown index does nothing, and so does any break in a run that has 256 deeds.
    pub fn break_it(&mut self, place: usize) {
        if self.deeds.len() < DEEDS_MOST && place < self.lesson.breaks.len() {
            self.deeds.push((self.ran, place));
            self.perform(place);
        }
    }

    /// Returns the next run of the same lesson at its beginning, with other parameters if `run` differs. The next run
    /// repeats the person's deeds so far ([`LessonPlayer::deeds`]), and those that this run was yet to repeat, at their
    /// times. Deeds after `keep`, a time since the lesson began, are left out.
    #[must_use]
    pub fn again(&self, run: Run, keep: Duration) -> Self {
        self.again_with(self.lesson.clone(), run, keep)
    }

    /// Like [`LessonPlayer::again`], but with acts at other times: `lesson` is this lesson with moved acts.
    #[must_use]
    pub fn again_with(&self, lesson: Lesson, run: Run, keep: Duration) -> Self {
        let mut player = Self::of_number(lesson, run, self.number + 1);
        let deeds = self.deeds.iter().chain(&self.to_do);
        let deeds = deeds.filter(|(at, _)| *at <= keep);
        player.to_do = deeds.copied().collect();
        player
    }

    /// Repeats deeds at their times: the time since the lesson began, and the index among the lesson's breaks. They
    /// replace the deeds of the previous run. Times are in order; a past one means now. Deeds with an unknown index are
    /// left out. Of the others only the first 256 count.
    pub fn repeat_deeds(&mut self, deeds: impl IntoIterator<Item = (Duration, usize)>) {
        let is_known = |(_, place): &(Duration, usize)| *place < self.lesson.breaks.len();
        self.to_do = deeds
            .into_iter()
            .filter(is_known)
            .take(DEEDS_MOST)
            .collect();
    }

    /// Forgets the deeds of the previous run that are not yet repeated, so that this run never repeats them.
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
            self.collect();
        }
    }

    /// Returns the number of steps up to and including the step with the earliest of these: the world's next event,
    /// `to`, the next deed.
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
        self.collect();
    }

    fn collect(&mut self) {
        self.waiting.extend(self.driver.take_log());
        self.received.extend(self.driver.take_received());
        self.tally.extend(self.driver.take_tally());
    }

    fn show(&mut self, entry: &Entry) {
        let all = self.lesson.passages.iter().zip(&mut self.searches);
        for (passage, searches) in all {
            for (moment, search) in passage.moments.iter().zip(searches) {
                search.take(moment.sought, entry);
            }
        }
        for (goal, search) in self.lesson.goals.iter().zip(&mut self.goals) {
            if let (Aim::Moment(sought), Some(search)) = (goal.shows, search) {
                search.take(sought, entry);
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

/// Adds the next entry of a log to fold and sealer. Returns the sealed segment if the entry filled it, else `None`.
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

/// Returns a hash of the logs of two runs of a lesson; the hash is the same on every machine. The first run has no
/// breaks. In the second run all breaks are performed from its middle on, one every 2 s.
#[must_use]
pub fn digest_of(lesson: &Lesson, run: Run) -> u64 {
    let as_written = LessonPlayer::new(lesson.clone(), run).advance(lesson.lasts);
    let mut player = LessonPlayer::new(lesson.clone(), run);
    let mut broken = player.advance(lesson.lasts / 2);
    for place in 0..lesson.breaks.len() {
        player.break_it(place);
        broken.extend(player.advance(player.shown() + BREAK_EVERY));
    }
    broken.extend(player.advance(lesson.lasts));
    digest(&as_written).rotate_left(1) ^ digest(&broken)
}

/// Returns a hash of entries of a log; the hash is the same on every machine.
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
