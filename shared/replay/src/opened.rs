//! A recording that is open without a server: it serves one viewer, and returns machines that read chapters, bodies and
//! notes.

use std::time::Duration;

use bytes::Bytes;
use watchscope_log::{Asked, Fetched, Parting, Reader, Recording, Refusal, Ring, Step};
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::CommandDone;
use watchscope_model::{EpochId, Seq, Time};
use watchscope_recording::{ChapterEntry, Contents, Damage};
use watchscope_search::Query;

use crate::about::About;
use crate::fetch::{FetchBody, FetchChapter, FetchNotes};
use crate::joined::{JoinedFiles, clock_start};
use crate::search::SearchFile;
use crate::words::{self, Notice};

/// The error with which every command of a viewer is answered; it is a phrase in English. A note is refused with
/// [`NoteRefusal::NotKept`] instead.
pub const NO_CLUSTER: &str = "this is a recording; there is no cluster to ask";
/// The most time that passes on the log's clock, in microseconds: a quarter of the largest time. After this time the
/// clock stops. The clock starts at half of the largest time at the latest, so it stays below the largest time. The
/// share has no other source.
const MOST_PASSED_US: i64 = i64::MAX / 4;

/// The next act of the host for the viewer.
#[derive(Debug)]
pub enum Next {
    /// Send this message to the viewer.
    Send(Bytes),
    /// Read a chapter from the file, and pass it to [`Opened::fetched`] with this number, which counts from 1. If the
    /// file cannot be read, pass [`Fetched::NotRead`] with the reason. Call [`Opened::next`] again without waiting for
    /// the chapter.
    Fetch(u64, Box<FetchChapter>),
    /// There is nothing to send. Call [`Opened::next`] again after a message of the viewer, after [`Opened::connect`]
    /// or [`Opened::fetched`], or when the host's clock shows this time. The time is `None` while the viewer has not
    /// sent hello.
    Wait(Option<Duration>),
    /// The conversation has ended, for this reason.
    End(Parting),
}

/// An open recording and its one viewer.
///
/// The viewer gets the same messages about the log as from `watchscope replay` of the same file without new judgements.
/// The log's clock starts at the latest time of a record and goes on, but only for heartbeats. For a page the present
/// is always that latest time, which the welcome states.
///
/// It holds the file's [`Contents`], of at most [`MAX_CHAPTERS`](watchscope_recording::MAX_CHAPTERS) chapters, a
/// catalogue (see [`watchscope_log::Catalogue`]), a [`Reader`], and the newest chapter. Of the newest chapter it holds
/// at most 256 MiB of frames, and an entry for each of the chapter's segments. One chapter of the file at a time is
/// read for the viewer. The host bounds how many bodies are read at a time.
#[derive(Debug)]
pub struct Opened {
    name: String,
    joined: JoinedFiles<Contents>,
    ring: Ring,
    recording: Recording,
    about: About,
    reader: Reader,
    /// The host's clock at the first call of [`receive`](Self::receive) or [`next`](Self::next).
    began: Option<Duration>,
    /// The number of the chapter that the host reads now; `None` if it reads none.
    fetching: Option<u64>,
    fetches: u64,
}

impl Opened {
    /// Makes an open recording; `None` if the file has no record.
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

    /// Returns what the viewer's welcome states about the recording.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Returns the file's contents.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        let file = self.joined.files().first();
        file.expect("it was made of one file, which stays")
    }

    /// Returns the notice about damage or a cut end that was found when the file was opened; `None` if there was
    /// neither.
    #[must_use]
    pub fn missing(&self) -> Option<&Notice> {
        self.about.notice.as_ref()
    }

    /// Returns the facts that a page shows about the recording.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Returns a machine that reads the notes of persons about the file's log, also those about other runs than this
    /// viewer gets.
    #[must_use]
    pub fn notes(&self) -> FetchNotes {
        FetchNotes::new(self.joined.log().into(), self.contents())
    }

    /// Begins a conversation with a new viewer; the earlier one ends without a message. The first viewer needs no call
    /// of this function.
    pub fn connect(&mut self) {
        self.reader = reader(&self.recording);
        self.fetching = None;
    }

    /// Takes in a message of the viewer. A command or a note is not carried out; a message from [`next`](Self::next)
    /// refuses it. `clock` is the host's clock, from any start; the caller passes the same clock in all calls. If the
    /// host's clock goes back, the log's time goes back, too, but never before its start.
    ///
    /// # Errors
    /// A [`Refusal`] if the message breaks the protocol; the host must end the conversation.
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

    /// Returns what the host does next for the viewer. `clock` is the host's clock, as in [`Opened::receive`].
    pub fn next(&mut self, clock: Duration) -> Next {
        let now = self.now(clock);
        match self.reader.next(&self.ring, now) {
            Step::Send(message) => Next::Send(message),
            Step::End(parting) => Next::End(parting),
            // Needs no new snapshot: the ring has the one at its end.
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

    /// Takes in the result of the machine of [`Next::Fetch`] with this number. A result for an earlier viewer, and a
    /// second result with the same number, are ignored.
    pub fn fetched(&mut self, number: u64, fetched: Fetched) {
        if self.fetching == Some(number) {
            self.fetching = None;
            self.reader.fetched(fetched);
        }
    }

    /// Returns a machine that reads the redacted body of a record. For a record that the file lacks, or whose run comes
    /// after the last readable run, the machine's result is `None`.
    #[must_use]
    pub fn body(&self, epoch: &EpochId, seq: Seq) -> FetchBody {
        FetchBody::new(&self.name, self.holding(epoch, seq), seq)
    }

    /// Returns a machine that searches all runs up to the last readable one for a query, backwards from the newest
    /// record, or from the record before `before`. If `before` names no such run, no record is searched.
    #[must_use]
    pub fn search(&self, query: Query, before: Option<(EpochId, Seq)>) -> SearchFile {
        SearchFile::new(&self.name, &self.joined, query, before)
    }

    fn holding(&self, epoch: &EpochId, seq: Seq) -> impl Iterator<Item = &ChapterEntry> {
        let holding = self.joined.holding(epoch, seq);
        holding.map(|(_, entry)| entry)
    }

    /// Returns the time on the log's clock when the host's clock shows `clock`.
    fn now(&mut self, clock: Duration) -> Time {
        let began = *self.began.get_or_insert(clock);
        let passed = clock.saturating_sub(began).as_micros();
        let passed_us = i64::try_from(passed).unwrap_or(MOST_PASSED_US);
        clock_start(self.recording.to).plus_micros(passed_us.min(MOST_PASSED_US))
    }

    /// Returns the time that the host's clock shows at a time on the log's clock.
    fn host_time(&self, at: Time) -> Duration {
        let passed_us = at.micros_since(clock_start(self.recording.to));
        let passed = Duration::from_micros(u64::try_from(passed_us).unwrap_or(0));
        self.began.unwrap_or_default().saturating_add(passed)
    }
}

fn reader(recording: &Recording) -> Reader {
    Reader::new(env!("CARGO_PKG_VERSION").into()).of_recording(Some(recording.clone()))
}
