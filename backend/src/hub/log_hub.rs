//! The hub over one log: it makes viewers, and sends contexts and goodbyes to all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use watchscope_log::{Reader, Recording};
use watchscope_model::json::push_line;
use watchscope_model::notes::push_note;
use watchscope_model::wire::Contexts;
use watchscope_model::{KeptNote, Seq, Text};

use super::api::{
    BadPosition, Hub, JsonLines, NotesForm, ObjectError, SearchError, SearchRequest, SessionId,
};
use super::commands::{CommandRequest, QUEUED_COMMANDS};
use super::ending::Ending;
use super::lines;
use super::news::News;
use super::note_rates::NoteRates;
use super::past::PastReader;
use super::search::Searches;
use super::totals::{ViewerShare, ViewerTotals};
use super::viewer::{HubViewer, NoteWriter, Sources};
use crate::history::HistoryState;
use crate::log::{BodyLookup, LogHandle};
use crate::recordings::Past;

/// The hub over one log; cheap to clone.
#[derive(Clone)]
pub struct LogHub {
    log: LogHandle,
    version: Text,
    commands: mpsc::Sender<CommandRequest>,
    contexts: watch::Sender<Option<Contexts>>,
    history: watch::Receiver<Option<HistoryState>>,
    past: PastReader,
    recording: Option<Recording>,
    /// The SHA-256 of the one ended file that is served, in hex digits.
    source: Option<String>,
    ending: watch::Sender<Option<Ending>>,
    viewers: Arc<AtomicU64>,
    note_rates: Arc<NoteRates>,
    searches: Searches,
    totals: Arc<ViewerTotals>,
}

impl LogHub {
    /// Makes a hub over `log` that reports watchscope's `version` to viewers. Also returns the queue of their commands.
    #[must_use]
    pub fn new(log: LogHandle, version: &str) -> (Self, mpsc::Receiver<CommandRequest>) {
        let (commands, requests) = mpsc::channel(QUEUED_COMMANDS);
        let hub = Self {
            log,
            version: version.into(),
            commands,
            contexts: watch::Sender::default(),
            history: watch::channel(None).1,
            past: PastReader::default(),
            recording: None,
            source: None,
            ending: watch::Sender::default(),
            viewers: Arc::default(),
            note_rates: Arc::default(),
            searches: Searches::default(),
            totals: Arc::default(),
        };
        (hub, requests)
    }

    /// Adds a history: its state is sent to viewers, and chapters are read from its files.
    #[must_use]
    pub fn with_history(
        self,
        history: watch::Receiver<Option<HistoryState>>,
        past: Arc<dyn Past>,
    ) -> Self {
        Self {
            history,
            past: PastReader::new(past),
            ..self
        }
    }

    /// Makes it a hub over recordings instead of a live log. `source` is the SHA-256 of the one ended file that these
    /// are.
    #[must_use]
    pub fn with_recording(
        self,
        recording: Recording,
        past: Arc<dyn Past>,
        source: Option<String>,
    ) -> Self {
        Self {
            recording: Some(recording),
            source,
            past: PastReader::new(past),
            ..self
        }
    }

    /// Sets other limits of an answer of a search.
    #[cfg(test)]
    pub(crate) fn with_search_limits(self, limits: super::search::SearchLimits) -> Self {
        Self {
            searches: Searches::with_limits(limits),
            ..self
        }
    }

    /// The number of searches that run.
    #[cfg(test)]
    pub(super) fn running_searches(&self) -> usize {
        self.searches.running()
    }

    /// Sends the contexts to choose from to all viewers, present and future, with the reason why there is no cluster. `None`
    /// once there is one.
    pub fn set_contexts(&self, contexts: Option<Contexts>) {
        self.contexts.send_replace(contexts);
    }

    /// The sums over all viewers.
    pub(crate) fn totals(&self) -> Arc<ViewerTotals> {
        Arc::clone(&self.totals)
    }

    /// Sends all viewers, present and future, away because the process ends. Each may return after a wait of its own.
    pub fn go_away(&self) {
        self.end("going-away", true);
    }

    /// Sends all viewers, present and future, away for good.
    pub fn end_sessions(&self) {
        self.end("session-ended", false);
    }

    fn end(&self, reason: &str, may_return: bool) {
        self.ending.send_replace(Some(Ending {
            reason: reason.into(),
            may_return,
        }));
    }
}

impl Hub for LogHub {
    type Viewer = HubViewer;

    fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    fn viewer(&self, session: SessionId) -> HubViewer {
        let news = News::new(
            self.contexts.subscribe(),
            self.history.clone(),
            self.ending.subscribe(),
        );
        let reader = Reader::new(self.version.clone()).of_recording(self.recording.clone());
        HubViewer::new(
            self.log.clone(),
            reader,
            Sources {
                commands: self.commands.clone(),
                news,
                past: self.past.clone(),
            },
            ViewerShare::of(self.totals()),
            NoteWriter {
                rates: Arc::clone(&self.note_rates),
                session,
                is_over: self.recording.is_some(),
            },
            self.viewers.fetch_add(1, Ordering::Relaxed),
        )
    }

    fn records(&self, since: Option<&str>) -> Result<JsonLines, BadPosition> {
        lines::records(&self.log, &self.past, since)
    }

    fn state(&self) -> JsonLines {
        lines::state(&self.log)
    }

    async fn notes(&self, form: NotesForm) -> Bytes {
        if self.recording.is_none() {
            return self.log.with_notes(|notes| written(notes.records(), form));
        }
        let notes = self.past.clone().notes().await;
        written(notes.records(), form)
    }

    fn search(&self, session: SessionId, request: SearchRequest) -> Result<JsonLines, SearchError> {
        let from = (&self.log, &self.past, self.recording.is_none());
        self.searches.begin(from, session, &request)
    }

    async fn object(&self, epoch: &str, seq: u64) -> Result<Bytes, ObjectError> {
        let missing = match self.log.body(epoch, Seq(seq)) {
            BodyLookup::Found(body) => return Ok(body),
            BodyLookup::Gone => ObjectError::Gone,
            BodyLookup::Unknown => ObjectError::Unknown,
        };
        match self.past.clone().body(epoch.into(), Seq(seq)).await {
            Ok(body) => body.ok_or(missing),
            Err(reason) => Err(ObjectError::NotRead { reason }),
        }
    }
}

/// Writes notes one after another in the requested form.
fn written<'a>(notes: impl Iterator<Item = &'a KeptNote>, form: NotesForm) -> Bytes {
    let mut out = Vec::new();
    for note in notes {
        match form {
            NotesForm::Lines => push_line(note, &mut out),
            NotesForm::Block => push_note(note, &mut out),
        }
    }
    out.into()
}
