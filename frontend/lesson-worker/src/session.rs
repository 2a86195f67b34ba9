//! One page that looks at one lesson: plays it, goes back in it, and feeds the page's reader.

use std::time::Duration;

use watchscope_log::{Asked, Fetched, Reader, Refusal, Step};
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::CommandDone;
use watchscope_model::{Entry, Time};
use watchscope_scenarios::lessons::{self, Lesson, LessonPlayer, Run};
use watchscope_simulator::{ClientGo, Version};

use crate::transcript::Transcript;
use crate::view_model;

/// The allowed speeds, in virtual seconds a second. A command with another one is refused.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=1_000.0;
/// The most milliseconds that one tick counts. A clock that stood still for longer, as a sleeping laptop's, does not
/// make the lesson jump.
const TICK_MOST_MS: f64 = 100.0;

/// The reason that a session does not carry out a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// There is no such lesson; these names are nearest.
    Lesson(Vec<&'static str>),
    /// This is no command, or its argument is wrong.
    Command(String),
}

/// A lesson, and the page that looks at it.
pub struct Session {
    player: LessonPlayer,
    transcript: Transcript,
    reader: Option<Reader>,
    /// The time at which the reader came, by the driver's clock, and the lesson's time then.
    opened: (f64, Time),
    /// The time to show once the reader has joined. A page always joins at the beginning and gets all records in order.
    /// It learns about the inside of the cluster by records alone, and after a lesson's last act there are none.
    later: Option<Duration>,
    is_playing: bool,
    speed: f64,
    /// The time at which playing stops.
    stop: Duration,
    /// Virtual time that has passed since the last record shown, in microseconds, with its fraction.
    exact_us: f64,
    ticked_ms: f64,
    /// A note to the person about the last command.
    note: Option<String>,
}

impl Session {
    /// Opens a lesson at this number of seconds; without one, at its first passage. A time past the end opens the end,
    /// with a note.
    ///
    /// # Errors
    /// If there is no such lesson.
    pub fn open(name: &str, at_s: Option<f64>) -> Result<Self, SessionError> {
        let lesson =
            lessons::lesson(name).ok_or_else(|| SessionError::Lesson(lessons::nearest(name)))?;
        let run = own_run(&lesson);
        let first = lesson.passages.first();
        let first = first.map_or(Duration::ZERO, |passage| passage.at);
        let wanted = at_s.and_then(|at_s| Duration::try_from_secs_f64(at_s).ok());
        let note = wanted.filter(|at| *at > lesson.lasts).map(|_| {
            format!(
                "The link is to a time past the end; this is the end, {} s.",
                lesson.lasts.as_secs()
            )
        });
        let player = LessonPlayer::new(lesson, run);
        let at = wanted.unwrap_or(first).min(player.lesson().lasts);
        Ok(Self {
            player,
            transcript: Transcript::default(),
            reader: None,
            opened: (0.0, Time(0)),
            later: Some(at),
            is_playing: false,
            speed: 1.0,
            stop: Duration::ZERO,
            exact_us: at.as_micros() as f64,
            ticked_ms: 0.0,
            note,
        })
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
        let passed_ms = (now_ms - self.ticked_ms).clamp(0.0, TICK_MOST_MS);
        self.ticked_ms = now_ms;
        if !self.is_playing || self.later.is_some() {
            return false;
        }
        self.exact_us += passed_ms * 1_000.0 * self.speed;
        let to = Duration::from_micros(self.exact_us as u64).min(self.stop);
        self.advance(to);
        if to >= self.stop {
            self.settle();
        }
        true
    }

    /// Carries out a command of the person, such as `seek 12.5`.
    ///
    /// # Errors
    /// If it is no command.
    pub fn say(&mut self, command: &str) -> Result<(), SessionError> {
        let unknown = || SessionError::Command(command.to_owned());
        let (verb, argument) = command.split_once(' ').unwrap_or((command, ""));
        self.note = None;
        if !matches!(verb, "seed" | "server" | "client" | "as-written")
            && let Some(later) = self.later.take()
        {
            // No reader has joined since, so none misses a record.
            self.advance(later);
        }
        match verb {
            "play" => self.play(),
            "pause" => self.settle(),
            "speed" => {
                let speed = seconds(argument).map(|speed| speed.as_secs_f64());
                let speed = speed.filter(|speed| SPEEDS.contains(speed));
                self.speed = speed.ok_or_else(unknown)?;
            }
            "step" => {
                let shown = self.player.step();
                self.hear(&shown);
                self.settle();
            }
            "next" => {
                let next = self.next_passage();
                self.seek(next);
            }
            "previous" => {
                let previous = self.previous_passage();
                self.seek(previous);
            }
            "seek" => {
                self.seek(seconds(argument).ok_or_else(unknown)?);
            }
            "break" => {
                self.player
                    .break_it(argument.parse().map_err(|_| unknown())?);
            }
            "seed" => {
                let seed = argument.parse().map_err(|_| unknown())?;
                self.run_with(Run {
                    seed,
                    ..self.player.run()
                });
            }
            "server" => {
                let server: Version = argument.parse().map_err(|_| unknown())?;
                self.run_with(Run {
                    server,
                    ..self.player.run()
                });
            }
            "client" => {
                let client: ClientGo = argument.parse().map_err(|_| unknown())?;
                self.run_with(Run {
                    client,
                    ..self.player.run()
                });
            }
            "as-written" => self.run_with(own_run(self.player.lesson())),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Returns the lesson and its text, as JSON.
    #[must_use]
    pub fn lesson(&self) -> String {
        view_model::lesson(self.player.lesson())
    }

    /// Returns the lesson's present state, as JSON.
    #[must_use]
    pub fn now(&self) -> String {
        let at = self.later.unwrap_or(self.player.shown());
        view_model::now(&view_model::Now {
            player: &self.player,
            transcript: &self.transcript,
            at,
            is_playing: self.is_playing,
            speed: self.speed,
            is_as_written: self.player.run() == own_run(self.player.lesson())
                && self.player.deeds().is_empty(),
            note: self.note.as_deref(),
        })
    }

    /// Returns the time up to which it is shown.
    #[must_use]
    pub fn shown(&self) -> Duration {
        self.player.shown()
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
    }

    fn settle(&mut self) {
        self.is_playing = false;
        self.exact_us = self.player.shown().as_micros() as f64;
    }

    fn play(&mut self) {
        self.stop = self.next_passage();
        self.is_playing = self.stop > self.player.shown();
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

    /// Runs the lesson again with a change, up to the present time; undoes the person's acts.
    fn run_with(&mut self, run: Run) {
        let to = self.later.unwrap_or(self.player.shown());
        let mut again = self.player.again(run, Duration::ZERO);
        again.forget_deeds();
        self.begin(again, to);
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

/// Returns the run that the text describes.
fn own_run(lesson: &Lesson) -> Run {
    Run {
        seed: 1,
        server: lesson.server,
        client: lesson.client,
    }
}

/// Reads a decimal number of seconds, to the microsecond; further digits are ignored.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = format!("{:0<6}", part.get(..6).unwrap_or(part));
    let is_known = is_number(whole) && is_number(part) && !(whole.is_empty() && part.is_empty());
    let whole = if whole.is_empty() { "0" } else { whole };
    let micros = if is_known {
        digits.parse().ok()?
    } else {
        return None;
    };
    Some(Duration::from_secs(whole.parse().ok()?) + Duration::from_micros(micros))
}
