//! One viewer: its messages go into its reader machine, and the machine's messages go to it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};
use watchscope_log::{Asked, Fetched, Parting, Reader, Refusal, Step};
use watchscope_model::event::Note;
use watchscope_model::notes::checked;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::{Command, CommandDone, WriteNote};
use watchscope_model::{Seq, Time};

use super::api::{Close, Outgoing, SessionId, Viewer};
use super::commands::{CommandRequest, OPEN_COMMANDS};
use super::news::News;
use super::note_rates::NoteRates;
use super::past::PastReader;
use super::totals::ViewerShare;
use crate::log::{LogHandle, RingProgress};

const GOING_AWAY: u16 = 1001;
const PROTOCOL_ERROR: u16 = 1002;
const POLICY: u16 = 1008;

/// The future answer to a command, and the last record that the command made.
type Answer = Pin<Box<dyn Future<Output = (Option<Seq>, CommandDone)> + Send>>;

/// The limits under which a viewer writes notes.
#[derive(Debug)]
pub(super) struct NoteWriter {
    pub(super) rates: Arc<NoteRates>,
    pub(super) session: SessionId,
    /// Whether the log is a recording, in which nothing can be written.
    pub(super) is_over: bool,
}

/// The sources of a viewer beside the ring.
pub(super) struct Sources {
    pub(super) commands: mpsc::Sender<CommandRequest>,
    pub(super) news: News,
    pub(super) past: PastReader,
}

/// One viewer of the hub.
pub struct HubViewer {
    log: LogHandle,
    reader: Reader,
    progress: RingProgress,
    commands: mpsc::Sender<CommandRequest>,
    answers: FuturesUnordered<Answer>,
    /// Answers that wait until the viewer has been sent the records that their commands made.
    done: Vec<(Option<Seq>, CommandDone)>,
    news: News,
    past: PastReader,
    /// The chapter that is being read from a file. The read continues while this viewer is not polled, as behind a slow
    /// socket.
    fetching: Option<JoinHandle<Fetched>>,
    note_writer: NoteWriter,
    alarm: Alarm,
    number: u64,
    share: ViewerShare,
}

impl HubViewer {
    /// Makes a viewer that has just connected; `number` counts the viewers of its hub.
    pub(super) fn new(
        log: LogHandle,
        reader: Reader,
        sources: Sources,
        share: ViewerShare,
        note_writer: NoteWriter,
        number: u64,
    ) -> Self {
        let Sources {
            commands,
            news,
            past,
        } = sources;
        Self {
            reader,
            progress: log.progress(),
            log,
            commands,
            answers: FuturesUnordered::new(),
            done: Vec::new(),
            news,
            past,
            fetching: None,
            note_writer,
            alarm: Alarm::default(),
            number,
            share,
        }
    }

    fn run(&mut self, command: Command) {
        let Command {
            command,
            verb,
            argument,
        } = command;
        let busy = |error: &str| CommandDone::of(command, Some(error.to_owned()));
        if self.is_busy() {
            self.reader
                .tell(busy("too many commands wait for an answer; try again"));
            return;
        }
        let (reply, answer) = oneshot::channel();
        let request = CommandRequest {
            verb,
            argument,
            reply,
        };
        match self.commands.try_send(request) {
            Ok(()) => self.answers.push(Box::pin(async move {
                let not_carried_out = |_| Err("the command was not carried out".to_owned());
                let (seq, error) = match answer.await.unwrap_or_else(not_carried_out) {
                    Ok(seq) => (seq, None),
                    Err(error) => (None, Some(error)),
                };
                (seq, CommandDone::of(command, error))
            })),
            Err(_) => self.reader.tell(busy("watchscope is busy; try again")),
        }
    }

    /// Whether the most commands that one viewer may have already wait for an answer.
    fn is_busy(&self) -> bool {
        self.answers.len() + self.done.len() >= OPEN_COMMANDS
    }

    /// Writes a person's note, or answers at once why it is refused.
    fn write_note(&mut self, asked: WriteNote) {
        let command = asked.command;
        let note = match self.allowed(asked) {
            Ok(note) => note,
            Err(refused) => {
                let done = CommandDone::of_note(command, Some(refused));
                self.reader.tell(done);
                return;
            }
        };
        let log = self.log.clone();
        self.answers.push(Box::pin(async move {
            let written = log.write_note(note).await;
            (written.ok(), CommandDone::of_note(command, written.err()))
        }));
    }

    /// Returns the note if this viewer may write it now.
    fn allowed(&self, asked: WriteNote) -> Result<Note, NoteRefusal> {
        let NoteWriter {
            rates,
            session,
            is_over,
        } = &self.note_writer;
        if *is_over {
            return Err(NoteRefusal::NotKept);
        }
        let note = checked(asked)?;
        if self.is_busy() {
            return Err(NoteRefusal::Busy);
        }
        if rates.allow(*session) {
            Ok(note)
        } else {
            Err(NoteRefusal::TooOften)
        }
    }

    /// Returns what to send now. If there is nothing, the error is the time of the next step, if one is due.
    fn step(&mut self) -> Result<Outgoing, Option<Time>> {
        self.progress.catch_up();
        self.news.pass_on(&mut self.reader, self.number);
        let now = self.log.now();
        let reader = &mut self.reader;
        let sent_before = reader.sent_before();
        let is_sent = |seq: Option<Seq>| seq.is_none() || seq < sent_before;
        for (_, done) in self.done.extract_if(.., |(seq, _)| is_sent(*seq)) {
            reader.tell(done);
        }
        let mut step = self.log.with_ring(|ring| reader.next(ring, now));
        if let Step::Fetch(backfill) = step {
            self.fetching = Some(tokio::spawn(self.past.clone().read(backfill)));
            step = self.log.with_ring(|ring| reader.next(ring, now));
        }
        self.share.update(self.reader.served());
        match step {
            Step::Fetch(_) => unreachable!("one chapter is fetched at a time"),
            Step::Send(message) => Ok(Outgoing::Message(message)),
            Step::End(parting) => Ok(Outgoing::Close(close(&parting))),
            Step::Wait {
                until,
                needs_snapshot,
            } => {
                if needs_snapshot {
                    self.log.want_snapshot();
                }
                Err(until)
            }
        }
    }
}

impl Viewer for HubViewer {
    fn receive(&mut self, message: Bytes) -> Result<(), Close> {
        let now = self.log.now();
        let reader = &mut self.reader;
        let taken = self
            .log
            .with_ring(|ring| reader.receive(&message, ring, now));
        self.share.update(self.reader.served());
        match taken {
            Ok(None) => Ok(()),
            Ok(Some(Asked::Command(command))) => {
                self.run(command);
                Ok(())
            }
            Ok(Some(Asked::Note(note))) => {
                self.write_note(note);
                Ok(())
            }
            Err(refusal) => Err(Close {
                code: match refusal {
                    Refusal::Undecodable(_) | Refusal::Hello | Refusal::Acknowledged { .. } => {
                        PROTOCOL_ERROR
                    }
                    Refusal::Backfills | Refusal::Unread => POLICY,
                },
                reason: refusal.to_string(),
            }),
        }
    }

    fn ready(&mut self) -> Option<Outgoing> {
        self.step().ok()
    }

    async fn next(&mut self) -> Outgoing {
        loop {
            let until = match self.step() {
                Ok(outgoing) => return outgoing,
                Err(until) => until,
            };
            let is_greeted = self.reader.is_greeted();
            tokio::select! {
                () = self.progress.changed() => {}
                () = self.alarm.at(until, &self.log) => {}
                Some(answer) = self.answers.next(), if !self.answers.is_empty() => self.done.push(answer),
                () = self.news.came(is_greeted) => {}
                fetched = fetched(&mut self.fetching) => self.reader.fetched(fetched),
            }
        }
    }
}

/// Waits for the chapter that is being read; never returns if none is. Cancel safe.
async fn fetched(fetching: &mut Option<JoinHandle<Fetched>>) -> Fetched {
    let Some(reading) = fetching else {
        return std::future::pending().await;
    };
    let fetched = reading.await;
    *fetching = None;
    fetched.unwrap_or_else(|error| Fetched::NotRead {
        reason: error.to_string(),
    })
}

/// Returns the WebSocket close for the end of a conversation.
fn close(parting: &Parting) -> Close {
    let (code, reason) = match &*parting.reason {
        "version" => (
            PROTOCOL_ERROR,
            "this page speaks another version of the protocol; reload it",
        ),
        "session-ended" => (POLICY, "the session is over"),
        _ => (GOING_AWAY, "watchscope is going away"),
    };
    Close {
        code,
        reason: reason.to_owned(),
    }
}

/// A timer that wakes a viewer. It is reset only if the time changed: after each segment the viewer waits for the same
/// heartbeat again.
#[derive(Default)]
struct Alarm {
    set_to: Option<Time>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Waits until `until`; never returns if there is no such time. Cancel safe.
    async fn at(&mut self, until: Option<Time>, log: &LogHandle) {
        let Some(until) = until else {
            return std::future::pending().await;
        };
        if self.set_to != Some(until) {
            let micros = u64::try_from(until.micros_since(log.now())).unwrap_or(0);
            let at = Instant::now() + Duration::from_micros(micros);
            match &mut self.sleep {
                Some(sleep) => sleep.as_mut().reset(at),
                None => self.sleep = Some(Box::pin(sleep_until(at))),
            }
            self.set_to = Some(until);
        }
        if let Some(sleep) = &mut self.sleep {
            sleep.await;
        }
        // A caller that waits for this time again has read the clock since.
        self.set_to = None;
    }
}
