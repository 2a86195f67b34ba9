//! A recording that is open without a server: the side that answers one viewer, and what it gives beside the log.

use std::time::Duration;

use bytes::Bytes;
use watchscope_log::{Asked, Fetched, Parting, Reader, Recording, Refusal, Ring, Step};
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::CommandDone;
use watchscope_model::{EpochId, Seq, Time};
use watchscope_recording::{ChapterEntry, Contents, Damage};

use crate::about::About;
use crate::fetch::{FetchBody, FetchChapter, FetchNotes};
use crate::joined::{JoinedFiles, clock_start};
use crate::words::{self, Notice};

/// What a viewer of a recording gets for a command.
pub const NO_CLUSTER: &str = "this is a recording; there is no cluster to ask";
/// No more time passes than this, in microseconds: with the latest start it does not come to the end of all times.
const MOST_PASSED_US: i64 = i64::MAX / 4;

/// What to do next for the viewer.
#[derive(Debug)]
pub enum Next {
    /// Send this message.
    Send(Bytes),
    /// Read a chapter from the file, and hand it to [`Opened::fetched`] under this number; if the file cannot be read,
    /// why not. Ask again meanwhile.
    Fetch(u64, Box<FetchChapter>),
    /// Nothing can be sent. Ask again when the viewer said something, a chapter was read, or the host's clock is here.
    Wait(Option<Duration>),
    /// The conversation is over.
    End(Parting),
}

/// A recording that is open, and the viewer that looks at it.
///
/// It sends what `watchscope replay` of the same file sends. The log's clock starts at the last record when the viewer
/// comes and goes on from there, for heartbeats alone; the welcome says that it is always the time of the last record.
///
/// Bounded: the entries of at most [`MAX_CHAPTERS`](watchscope_recording::MAX_CHAPTERS) chapters, the newest chapter (at
/// most 256 MiB of frames, and an entry for each segment), a catalogue (see [`watchscope_log::Catalogue`]) and a
/// [`Reader`]. Of the file it reads one chapter at a time for the viewer; the host decides how many bodies.
#[derive(Debug)]
pub struct Opened {
    name: String,
    joined: JoinedFiles<Contents>,
    ring: Ring,
    recording: Recording,
    about: About,
    reader: Reader,
    /// The host's clock when the first viewer came.
    began: Option<Duration>,
    /// The chapter that the host reads.
    fetching: Option<u64>,
    fetches: u64,
}

impl Opened {
    /// `None` if the file lists no record.
    pub(crate) fn new(
        name: &str,
        joined: JoinedFiles<Contents>,
        ring: Ring,
        damaged: &[Damage],
    ) -> Option<Self> {
        let recording = joined.recording(name)?;
        let missing = joined.files().first();
        let unread_runs = joined.unread_runs();
        let missing =
            missing.and_then(|contents| words::missing(name, contents, damaged, unread_runs));
        let about = About::new(name, &joined, missing)?;
        Some(Self {
            name: name.to_owned(),
            reader: reader(&recording),
            joined,
            ring,
            recording,
            about,
            began: None,
            fetching: None,
            fetches: 0,
        })
    }

    /// What its welcome says.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// What the file holds.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        let file = self.joined.files().first();
        file.expect("it was made of one file, which stays")
    }

    /// What of the file could not be read, as far as it was looked at when it was opened; `None` if all could.
    #[must_use]
    pub fn missing(&self) -> Option<&Notice> {
        self.about.notice.as_ref()
    }

    /// What a page says of it.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Reads the notes of persons that the file has, of all its runs.
    #[must_use]
    pub fn notes(&self) -> FetchNotes {
        FetchNotes::new(self.joined.log().into(), self.contents())
    }

    /// A viewer comes, or comes again. The first need not be announced.
    pub fn connect(&mut self) {
        self.reader = reader(&self.recording);
        self.fetching = None;
    }

    /// Takes one message of the viewer; `clock` is the host's, from a moment of its choice.
    ///
    /// # Errors
    /// If it breaks the protocol: the conversation is over.
    pub fn receive(&mut self, message: &[u8], clock: Duration) -> Result<(), Refusal> {
        let now = self.now(clock);
        if let Some(asked) = self.reader.receive(message, &self.ring, now)? {
            self.reader.tell(match asked {
                Asked::Command(asked) => {
                    CommandDone::of(asked.command, Some(NO_CLUSTER.to_owned()))
                }
                Asked::Note(asked) => {
                    CommandDone::of_note(asked.command, Some(NoteRefusal::NotKept))
                }
            });
        }
        Ok(())
    }

    /// What to do next.
    pub fn next(&mut self, clock: Duration) -> Next {
        let now = self.now(clock);
        match self.reader.next(&self.ring, now) {
            Step::Send(message) => Next::Send(message),
            Step::End(parting) => Next::End(parting),
            // There always is a snapshot: that of the end.
            Step::Wait { until, .. } => Next::Wait(until.map(|until| self.host_time(until))),
            Step::Fetch(backfill) => {
                let seq = Seq(backfill.before.0.saturating_sub(1));
                let machine = FetchChapter::new(&self.name, self.holding(&backfill.epoch, seq));
                self.fetches += 1;
                self.fetching = Some(self.fetches);
                Next::Fetch(self.fetches, Box::new(machine))
            }
        }
    }

    /// Takes the chapter that was read under a number; one for a viewer that has gone is passed over.
    pub fn fetched(&mut self, number: u64, fetched: Fetched) {
        if self.fetching == Some(number) {
            self.fetching = None;
            self.reader.fetched(fetched);
        }
    }

    /// The machine that reads the redacted body of a record.
    #[must_use]
    pub fn body(&self, epoch: &EpochId, seq: Seq) -> FetchBody {
        FetchBody::new(&self.name, self.holding(epoch, seq), seq)
    }

    fn holding(&self, epoch: &EpochId, seq: Seq) -> impl Iterator<Item = &ChapterEntry> {
        let holding = self.joined.holding(epoch, seq);
        holding.map(|(_, entry)| entry)
    }

    /// The log's time.
    fn now(&mut self, clock: Duration) -> Time {
        let began = *self.began.get_or_insert(clock);
        let passed = clock.saturating_sub(began).as_micros();
        let passed_us = i64::try_from(passed).unwrap_or(MOST_PASSED_US);
        clock_start(self.recording.to).plus_micros(passed_us.min(MOST_PASSED_US))
    }

    /// When the host's clock is at a time of the log.
    fn host_time(&self, at: Time) -> Duration {
        let passed_us = at.micros_since(clock_start(self.recording.to));
        let passed = Duration::from_micros(u64::try_from(passed_us).unwrap_or(0));
        self.began.unwrap_or_default().saturating_add(passed)
    }
}

fn reader(recording: &Recording) -> Reader {
    Reader::new(env!("CARGO_PKG_VERSION").into()).of_recording(Some(recording.clone()))
}
