//! An open recording, and its viewer.

use std::time::Duration;

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_model::{EpochId, Seq};
use watchscope_replay::{Next as Said, Opened};
use watchscope_search::Query;

use crate::reading::{Reading, json};
use crate::search::Search;

/// An open recording.
#[wasm_bindgen]
pub struct Recording(Opened);

/// The next step for the viewer.
#[wasm_bindgen]
pub struct Next(Option<Said>);

impl Recording {
    pub(crate) fn new(opened: Opened) -> Self {
        Self(opened)
    }
}

#[wasm_bindgen]
impl Recording {
    /// Returns the facts about it, as JSON.
    pub fn about(&self) -> String {
        json(self.0.about())
    }

    /// Connects a viewer, which begins anew.
    pub fn connect(&mut self) {
        self.0.connect();
    }

    /// Takes a message of the viewer.
    ///
    /// # Errors
    /// If it breaks the protocol.
    pub fn receive(&mut self, message: &[u8], now_ms: f64) -> Result<(), String> {
        let received = self.0.receive(message, clock(now_ms));
        received.map_err(|error| error.to_string())
    }

    /// Returns the next step for the viewer.
    pub fn next(&mut self, now_ms: f64) -> Next {
        Next(Some(self.0.next(clock(now_ms))))
    }

    /// Takes in a chapter that was read, or could not be.
    pub fn fetched(&mut self, reading: Reading) {
        if let Some((number, fetched)) = reading.into_chapter() {
            self.0.fetched(number, fetched);
        }
    }

    /// Reads the redacted body of a record.
    pub fn body(&self, epoch: &str, seq: f64) -> Reading {
        Reading::of_body(self.0.body(&epoch.into(), Seq(seq as u64)))
    }

    /// Searches the whole file for a text, from the newest record back, or from the record before the position
    /// `EPOCH.SEQ` back.
    ///
    /// # Errors
    /// If the text is empty or too long, or the position has no number.
    pub fn search(&self, text: &str, before: Option<String>) -> Result<Search, String> {
        let query = Query::parse(text).map_err(|error| error.to_string())?;
        let position = |before: &str| {
            let (epoch, seq) = before.rsplit_once('.')?;
            Some((EpochId::from(epoch), Seq(seq.parse().ok()?)))
        };
        let before = before.map(|before| position(&before).ok_or("this is no position"));
        Ok(Search::new(self.0.search(query, before.transpose()?)))
    }

    /// Reads the notes of persons.
    pub fn notes(&self) -> Reading {
        Reading::of_notes(self.0.notes())
    }
}

#[wasm_bindgen]
impl Next {
    /// Returns the message to send, once; nothing, if there is another step.
    pub fn message(&mut self) -> Option<Vec<u8>> {
        match self.0.take() {
            Some(Said::Send(message)) => Some(message.to_vec()),
            other => {
                self.0 = other;
                None
            }
        }
    }

    /// Returns the chapter to read, once; nothing, if there is another step.
    pub fn chapter(&mut self) -> Option<Reading> {
        match self.0.take() {
            Some(Said::Fetch(number, machine)) => Some(Reading::of_chapter(number, machine)),
            other => {
                self.0 = other;
                None
            }
        }
    }

    /// Returns the time until which to wait at most, in milliseconds.
    #[wasm_bindgen(getter)]
    pub fn until(&self) -> Option<f64> {
        match &self.0 {
            Some(Said::Wait(until)) => until.map(|until| until.as_secs_f64() * 1_000.0),
            _ => None,
        }
    }

    /// Returns whether the conversation is over.
    #[wasm_bindgen(getter, js_name = isOver)]
    pub fn is_over(&self) -> bool {
        matches!(self.0, Some(Said::End(_)))
    }
}

fn clock(now_ms: f64) -> Duration {
    Duration::try_from_secs_f64(now_ms / 1_000.0).unwrap_or_default()
}
