//! One page that looks at one lesson: plays it, goes back in it, and feeds the page's reader.

use std::time::Duration;

use watchscope_log::{Asked, Fetched, Reader, Refusal, Step};
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::CommandDone;
use watchscope_model::wire::player::{LessonCommand, LessonNow, LessonText};
use watchscope_model::{Entry, Time};
use watchscope_scenarios::lessons::{
    self, Learned, Lesson, LessonPlayer, Line, Run, TextError, Texts,
};
use watchscope_simulator::{ClientGo, Version};

use crate::link::{self, Link};
use crate::pace;
use crate::transcript::Transcript;
use crate::view_model::{self, Arrival, Tried, Words};

/// The allowed speeds, in thousandths of the speed of a clock. A command with another one is refused.
const SPEEDS: std::ops::RangeInclusive<u32> = 100..=1_000_000;
/// The most milliseconds that one tick counts. A clock that stood still for longer, as a sleeping laptop's, does not
/// make the lesson jump.
const TICK_MOST_MS: f64 = 100.0;

/// The most tried times of an act that are kept. More ticks could not be told apart. The number has no source.
const TRIED_MOST: usize = 32;

/// The reason that a session does not open, or does not carry out a command.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionError {
    /// The lesson's texts cannot be used.
    Texts(TextError),
    /// The command's argument is wrong.
    Command(LessonCommand),
}

/// Returns the name of the lesson that a link's fragment opens, whose texts the session needs. An unknown lesson becomes
/// the nearest one, and no lesson the first.
#[must_use]
pub fn lesson_of(fragment: &str) -> &'static str {
    lesson_and_arrival(&Link::read(fragment)).0.name
}

/// A lesson, and the page that looks at it.
pub struct Session {
    player: LessonPlayer,
    words: Words,
    transcript: Transcript,
    reader: Option<Reader>,
    /// The time at which the reader came, by the driver's clock, and the lesson's time then.
    opened: (f64, Time),
    /// The time to show once the reader has joined. A page always joins at the beginning and gets all records in order.
    /// It learns about the inside of the cluster by records alone, and after a lesson's last act there are none.
    later: Option<Duration>,
    is_playing: bool,
    speed_thousandths: u32,
    /// The times of all entries, while the lesson plays.
    timetable: Vec<Duration>,
    /// The time at which playing stops.
    stop: Duration,
    /// Virtual time that has passed since the last record shown, in microseconds, with its fraction.
    exact_us: f64,
    /// The driver's clock at the last tick; `None` since the person began to play. The time that a command takes is no
    /// time of the lesson.
    ticked_ms: Option<f64>,
    /// A note to the person about the last command.
    note: Option<String>,
    arrival: Arrival,
    /// The indices of passages, and of the answers to their questions, in the order of the answers. A settled question
    /// takes no more.
    answers: Vec<(usize, usize)>,
    /// For each act that can be moved, and each thing to find with it: where the act was when it was found.
    finds: Vec<Vec<Option<Duration>>>,
    /// The times to which each act that can be moved was moved; at most [`TRIED_MOST`] of an act.
    tried: Vec<Vec<Tried>>,
}

impl Session {
    /// Opens the lesson of a link's fragment ([`lesson_of`]), with everything that the link says was changed. `texts` are
    /// the lesson's, and `index` is the list of all lessons, both as JSON. What the lesson lacks (an act, a version) is
    /// left as written, with a note. A time past the end opens the end, with a note.
    ///
    /// # Errors
    /// If `texts` do not fit the lesson's script, or `index` the lessons.
    pub fn open(fragment: &str, texts: &str, index: &str) -> Result<Self, SessionError> {
        let mut link = Link::read(fragment);
        let (lesson, arrival) = lesson_and_arrival(&link);
        if arrival.unknown.is_some() {
            link.at = None;
        }
        let words = Words {
            texts: Texts::read(&lesson, texts).map_err(SessionError::Texts)?,
            lines: Line::read_all(index).map_err(SessionError::Texts)?,
        };
        Ok(Self::of_link(link, lesson, arrival, words))
    }

    fn of_link(link: Link, mut lesson: Lesson, arrival: Arrival, words: Words) -> Self {
        let own = own_run(&lesson);
        let first = lesson.passages.first();
        let first = first.map_or(Duration::ZERO, |passage| passage.at);
        let mut notes = Vec::new();
        if link.at.is_some_and(|at| at > lesson.lasts) {
            notes.push(format!(
                "The link is to a time past the end; this is the end, {} s.",
                lesson.lasts.as_secs()
            ));
        }
        for (act, at) in &link.moved {
            let mut acts = lesson.movables.iter();
            let place = acts.position(|movable| movable.name == act);
            if !place.is_some_and(|place| lesson.move_act(place, *at)) {
                notes.push(format!(
                    "The link moves an act that is not in this lesson: {act}."
                ));
            }
        }
        let server = link.server.as_ref().and_then(|words| words.parse().ok());
        let client = link.client.as_ref().and_then(|words| words.parse().ok());
        let unknown = [
            (link.server.filter(|_| server.is_none()), "the server"),
            (link.client.filter(|_| client.is_none()), "client-go"),
        ];
        for (words, of) in unknown {
            if let Some(words) = words {
                notes.push(format!(
                    "The link names an unknown version of {of}: {words}."
                ));
            }
        }
        let run = Run {
            seed: link.seed.unwrap_or(own.seed),
            server: server.unwrap_or(own.server),
            client: client.unwrap_or(own.client),
        };
        let mut answers = Vec::new();
        for answer in link.answered {
            take_answer(&lesson, &mut answers, answer);
        }
        let tried = vec![Vec::new(); lesson.movables.len()];
        let finds = lesson.movables.iter();
        let finds = finds.map(|act| vec![None; act.finds.len()]).collect();
        let at = link.at.unwrap_or(first).min(lesson.lasts);
        let mut player = LessonPlayer::new(lesson, run);
        player.repeat_deeds(link.broke);
        Self {
            player,
            words,
            transcript: Transcript::default(),
            reader: None,
            opened: (0.0, Time(0)),
            later: Some(at),
            is_playing: false,
            speed_thousandths: pace::USUAL,
            timetable: Vec::new(),
            stop: Duration::ZERO,
            exact_us: at.as_micros() as f64,
            ticked_ms: None,
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            arrival,
            answers,
            finds,
            tried,
        }
    }

    /// Connects a reader, which begins again with a snapshot.
    pub fn read(&mut self, now_ms: f64) {
        self.opened = (now_ms, self.player.now());
        self.reader = Some(Reader::new(env!("CARGO_PKG_VERSION").into()));
    }

    /// Takes one message of the reader.
    ///
    /// # Errors
    /// If it breaks the protocol.
    pub fn receive(&mut self, message: &[u8], now_ms: f64) -> Result<(), Refusal> {
        let now = self.reader_time(now_ms);
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        let asked = reader.receive(message, self.player.ring(), now)?;
        // The controls replace the server's commands here. A lesson's log is gone with its page, so notes are refused.
        if let Some(Asked::Note(note)) = asked {
            reader.tell(CommandDone::of_note(
                note.command,
                Some(NoteRefusal::NotKept),
            ));
        }
        Ok(())
    }

    /// Returns the next message for the reader, if there is one.
    pub fn next(&mut self, now_ms: f64) -> Option<Vec<u8>> {
        let now = self.reader_time(now_ms);
        loop {
            let reader = self.reader.as_mut()?;
            match reader.next(self.player.ring(), now) {
                Step::Send(message) => return Some(message.to_vec()),
                Step::End(_) => {
                    self.reader = None;
                    return None;
                }
                // A lesson is in memory alone.
                Step::Fetch(_) => reader.fetched(Fetched::Gone),
                Step::Wait { needs_snapshot, .. } => {
                    if needs_snapshot {
                        self.player.take_snapshot();
                        continue;
                    }
                    let joined = reader.is_greeted();
                    let later = self.later.take_if(|_| joined)?;
                    self.advance(later);
                }
            }
        }
    }

    /// Lets time pass; returns whether the narration has changed.
    pub fn tick(&mut self, now_ms: f64) -> bool {
        let ticked_ms = self.ticked_ms.replace(now_ms).unwrap_or(now_ms);
        let passed_ms = (now_ms - ticked_ms).clamp(0.0, TICK_MOST_MS);
        if !self.is_playing || self.later.is_some() {
            return false;
        }
        self.exact_us += passed_ms * f64::from(self.pace());
        let to = Duration::from_micros(self.exact_us as u64).min(self.stop);
        self.advance(to);
        if to >= self.stop {
            self.settle();
        }
        true
    }

    /// Carries out a command of the person.
    ///
    /// # Errors
    /// If its argument is wrong.
    pub fn say(&mut self, command: LessonCommand) -> Result<(), SessionError> {
        self.note = None;
        let begins_again = matches!(
            command,
            LessonCommand::SetSeed(_)
                | LessonCommand::SetServer(_)
                | LessonCommand::SetClient(_)
                | LessonCommand::MoveAct(_)
                | LessonCommand::Answer(_)
                | LessonCommand::AsWritten(_)
        );
        if !begins_again && let Some(later) = self.later.take() {
            // No reader has joined since, so none misses a record.
            self.advance(later);
        }
        let run = self.player.run();
        let is_done = match &command {
            LessonCommand::Play(_) => {
                self.play();
                true
            }
            LessonCommand::Halt(_) => {
                self.settle();
                true
            }
            LessonCommand::SetSpeed(set) => {
                let is_allowed = SPEEDS.contains(&set.thousandths);
                if is_allowed {
                    self.speed_thousandths = set.thousandths;
                }
                is_allowed
            }
            LessonCommand::Step(_) => {
                self.step();
                true
            }
            LessonCommand::NextPassage(_) => {
                let next = self.next_passage();
                self.seek(next);
                true
            }
            LessonCommand::PreviousPassage(_) => {
                let previous = self.previous_passage();
                self.seek(previous);
                true
            }
            LessonCommand::Seek(seek) => u64::try_from(seek.to_us).is_ok_and(|to_us| {
                self.seek(Duration::from_micros(to_us));
                true
            }),
            LessonCommand::Break(broken) => {
                self.player.break_it(broken.place as usize);
                true
            }
            LessonCommand::SetSeed(set) => self.run_with(Some(Run {
                seed: set.seed,
                ..run
            })),
            LessonCommand::SetServer(set) => {
                let server: Option<Version> = set.version.parse().ok();
                self.run_with(server.map(|server| Run { server, ..run }))
            }
            LessonCommand::SetClient(set) => {
                let client: Option<ClientGo> = set.version.parse().ok();
                self.run_with(client.map(|client| Run { client, ..run }))
            }
            LessonCommand::AsWritten(_) => self.as_written(),
            LessonCommand::MoveAct(moved) => u64::try_from(moved.to_us)
                .is_ok_and(|to_us| self.move_act(moved.act as usize, Duration::from_micros(to_us))),
            LessonCommand::Answer(given) => {
                self.answer((given.passage as usize, given.answer as usize))
            }
        };
        if is_done {
            Ok(())
        } else {
            Err(SessionError::Command(command))
        }
    }

    /// Returns the lesson and its texts.
    #[must_use]
    pub fn lesson(&self) -> LessonText {
        view_model::lesson(self.player.lesson(), &self.words, &self.arrival)
    }

    /// Returns the lesson's present state.
    #[must_use]
    pub fn now(&self) -> LessonNow {
        let at = self.later.unwrap_or(self.player.shown());
        let lesson = self.player.lesson();
        let (run, own) = (self.player.run(), own_run(lesson));
        let is_moved = lesson.movables.iter().any(|act| act.at != act.written);
        view_model::now(&view_model::Now {
            player: &self.player,
            words: &self.words,
            transcript: &self.transcript,
            at,
            is_playing: self.is_playing,
            speed_thousandths: self.speed_thousandths,
            pace_thousandths: self.pace(),
            is_as_written: run == own && !is_moved && self.player.deeds().is_empty(),
            note: self.note.as_deref(),
            link: link::write(lesson, at, (run, own), self.player.deeds(), &self.answers),
            answers: &self.answers,
            finds: &self.finds,
            tried: &self.tried,
        })
    }

    /// Returns the time up to which it is shown.
    #[must_use]
    pub fn shown(&self) -> Duration {
        self.player.shown()
    }

    /// Whether the lesson plays.
    #[must_use]
    pub fn is_playing(&self) -> bool {
        self.is_playing
    }

    /// Returns the number of the run.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.player.number()
    }

    /// Returns the reader's time: the driver's clock, which began at the lesson's time. Heartbeats and lag depend on
    /// it, and neither passes faster because the lesson does.
    fn reader_time(&self, now_ms: f64) -> Time {
        let (opened_ms, at) = self.opened;
        at.plus_micros(((now_ms - opened_ms) * 1_000.0) as i64)
    }

    fn advance(&mut self, to: Duration) {
        let shown = self.player.advance(to);
        self.hear(&shown);
    }

    fn hear(&mut self, shown: &[Entry]) {
        let received = self.player.take_received();
        self.transcript.take(shown, &received);
        let tally = self.player.take_tally();
        self.transcript
            .count(self.player.time(Duration::ZERO), &tally);
        self.find();
    }

    /// Keeps what the person has found by moving acts, once all clients that can hear of an act did.
    fn find(&mut self) {
        let acts = self.player.lesson().movables.iter();
        for ((act, finds), tried) in acts.zip(&mut self.finds).zip(&mut self.tried) {
            if self.player.shown() < act.settled {
                continue;
            }
            let learned = |client: &str| self.transcript.learned(client, &act.news);
            for place in act.found(learned) {
                finds[place].get_or_insert(act.at);
            }
            let mut names = self.transcript.clients();
            names.retain(|client| act.concerns(&client.name));
            let clients = names.len();
            let heard = names
                .iter()
                .filter(|client| learned(&client.name) != Learned::Never);
            let heard = heard.count();
            if tried.len() < TRIED_MOST && tried.iter().all(|tried| tried.at != act.at) {
                tried.push(Tried {
                    at: act.at,
                    heard,
                    clients,
                });
            }
        }
    }

    fn settle(&mut self) {
        self.is_playing = false;
        self.exact_us = self.player.shown().as_micros() as f64;
    }

    fn play(&mut self) {
        self.stop = self.next_passage();
        self.is_playing = self.stop > self.player.shown();
        self.timetable = self.player.timetable();
        self.ticked_ms = None;
    }

    /// Returns the speed at which the lesson plays now, in thousandths.
    fn pace(&self) -> u32 {
        let shown = self.player.shown();
        if self.is_playing {
            let lesson = self.player.lesson();
            let passage = lesson.passages.get(lesson.passage_at(shown));
            let speed = passage.and_then(|passage| passage.speed);
            pace::at(
                (self.speed_thousandths, speed),
                &self.timetable,
                shown,
                self.stop,
            )
        } else {
            self.speed_thousandths
        }
    }

    /// Shows records until one has a line on the wire or a moment of the passage, but not beyond the next passage.
    fn step(&mut self) {
        let next = self.next_passage();
        let seen = |session: &Self| {
            let place = session.player.lesson().passage_at(session.player.shown());
            let found = session.player.found(place).flatten().count();
            (session.transcript.taken(), found, place)
        };
        let before = seen(self);
        while seen(self) == before && self.player.shown() < next {
            let shown = self.player.step_within(next);
            self.hear(&shown);
        }
        self.settle();
    }

    /// Returns the beginning of the next passage; the end after the last.
    fn next_passage(&self) -> Duration {
        let shown = self.player.shown();
        let lesson = self.player.lesson();
        let mut later = lesson.passages.iter().map(|passage| passage.at);
        later.find(|at| *at > shown).unwrap_or(lesson.lasts)
    }

    /// Returns the beginning of this passage, or of the one before if it has only just begun.
    fn previous_passage(&self) -> Duration {
        let shown = self.player.shown();
        let passages = self.player.lesson().passages.iter();
        let mut earlier = passages.map(|passage| passage.at).filter(|at| *at < shown);
        earlier.next_back().unwrap_or(Duration::ZERO)
    }

    fn seek(&mut self, to: Duration) {
        let to = to.min(self.player.lesson().lasts);
        if to >= self.player.shown() && self.later.is_none() {
            self.advance(to);
            self.settle();
        } else {
            let again = self.player.again(self.player.run(), to);
            self.begin(again, to);
        }
    }

    /// Runs the lesson again with a change, up to the present time; undoes the person's breaks. Returns false without a
    /// run.
    fn run_with(&mut self, run: Option<Run>) -> bool {
        run.is_some_and(|run| {
            let to = self.later.unwrap_or(self.player.shown());
            let mut again = self.player.again(run, Duration::ZERO);
            again.forget_deeds();
            self.begin(again, to);
            true
        })
    }

    /// Runs the lesson again as written, up to the present time.
    fn as_written(&mut self) -> bool {
        let to = self.later.unwrap_or(self.player.shown());
        let mut lesson = self.player.lesson().clone();
        for act in &mut lesson.movables {
            act.at = act.written;
        }
        let run = own_run(&lesson);
        let mut again = self.player.again_with(lesson, run, Duration::ZERO);
        again.forget_deeds();
        self.begin(again, to);
        true
    }

    /// Runs the lesson again with an act at another time, up to the present time. Returns false without such an act.
    fn move_act(&mut self, place: usize, at: Duration) -> bool {
        let to = self.later.unwrap_or(self.player.shown());
        let mut lesson = self.player.lesson().clone();
        let is_known = lesson.move_act(place, at);
        if is_known {
            let again = self.player.again_with(lesson, self.player.run(), to);
            self.begin(again, to);
        }
        is_known
    }

    /// Takes an answer. Returns false without such an answer, or if the question is settled.
    fn answer(&mut self, answer: (usize, usize)) -> bool {
        take_answer(self.player.lesson(), &mut self.answers, answer)
    }

    fn begin(&mut self, player: LessonPlayer, to: Duration) {
        self.player = player;
        self.transcript = Transcript::default();
        self.reader = None;
        self.later = Some(to);
        self.is_playing = false;
        self.exact_us = to.as_micros() as f64;
    }
}

/// Returns the lesson of a link, and how the page came to it.
fn lesson_and_arrival(link: &Link) -> (Lesson, Arrival) {
    let mut arrival = Arrival {
        is_offer: link.name.is_none(),
        ..Arrival::default()
    };
    let mut lesson = link.name.as_deref().and_then(lessons::lesson);
    if lesson.is_none()
        && let Some(name) = &link.name
    {
        arrival.nearest = lessons::nearest(name);
        arrival.unknown = Some(name.clone());
        let nearest = arrival.nearest.first();
        lesson = nearest.and_then(|name| lessons::lesson(name));
    }
    (lesson.unwrap_or_else(lessons::first), arrival)
}

/// Returns the run that the text describes.
fn own_run(lesson: &Lesson) -> Run {
    Run {
        seed: 1,
        server: lesson.server,
        client: lesson.client,
    }
}

/// Adds an answer to those given. Returns false if the passage has no question with such an answer, or the question is
/// settled. The number after the last answer asks to see the right one.
fn take_answer(
    lesson: &Lesson,
    answers: &mut Vec<(usize, usize)>,
    (passage, answer): (usize, usize),
) -> bool {
    let question = lesson.passages.get(passage);
    let question = question.and_then(|passage| passage.question);
    let tries: Vec<usize> = view_model::tries(answers, passage).collect();
    let is_open = question.is_some_and(|question| {
        answer <= question.form.answers()
            && !question.is_settled(&tries)
            && !tries.contains(&answer)
    });
    if is_open {
        answers.push((passage, answer));
    }
    is_open
}
