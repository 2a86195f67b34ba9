//! Reads the file: to open it, a chapter, a body, or the notes of persons.

use bytes::Bytes;
use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_log::Fetched;
use watchscope_model::notes::push_note;
use watchscope_recording::{Input, Step};
use watchscope_replay::{FetchBody, FetchChapter, FetchNotes, OpenError, Opened, Opening};

use crate::recording::Recording;

/// A machine that reads the file, and its result at its end.
#[wasm_bindgen]
pub struct Reading {
    machine: Machine,
    done: Option<Done>,
}

enum Machine {
    Opening(Box<Opening>),
    Chapter(u64, Box<FetchChapter>),
    Body(FetchBody),
    Notes(Box<FetchNotes>),
}

enum Done {
    Opened(Result<Box<Opened>, OpenError>),
    Chapter(u64, Fetched),
    Body(Result<Option<Bytes>, String>),
}

/// The next input of a machine: bytes of the file, or inflated bytes.
#[wasm_bindgen]
pub struct Needs(pub(crate) Step<()>);

impl Reading {
    pub(crate) fn of_chapter(number: u64, machine: Box<FetchChapter>) -> Self {
        Self::new_of(Machine::Chapter(number, machine))
    }

    pub(crate) fn of_body(machine: FetchBody) -> Self {
        Self::new_of(Machine::Body(machine))
    }

    pub(crate) fn of_notes(machine: FetchNotes) -> Self {
        Self::new_of(Machine::Notes(Box::new(machine)))
    }

    /// Returns the chapter that was read, and its number; `None` if this reads no chapter, or is not at its end.
    pub(crate) fn into_chapter(self) -> Option<(u64, Fetched)> {
        match self.done {
            Some(Done::Chapter(number, fetched)) => Some((number, fetched)),
            _ => None,
        }
    }

    fn new_of(machine: Machine) -> Self {
        Self {
            machine,
            done: None,
        }
    }

    fn step(&mut self, input: Input) -> Option<Needs> {
        let step = match &mut self.machine {
            Machine::Opening(machine) => match machine.step(input) {
                Ok(step) => step
                    .into_done()
                    .map(|opened| Done::Opened(Ok(Box::new(opened)))),
                Err(error) => Ok(Done::Opened(Err(error))),
            },
            Machine::Chapter(number, machine) => machine
                .step(input)
                .into_done()
                .map(|fetched| Done::Chapter(*number, fetched)),
            Machine::Body(machine) => machine.step(input).into_done().map(Done::Body),
            Machine::Notes(machine) => machine.step(input).into_done().map(|notes| {
                let mut bytes = Vec::new();
                notes.records().for_each(|note| push_note(note, &mut bytes));
                Done::Body(Ok(Some(bytes.into())))
            }),
        };
        match step {
            Ok(done) => {
                self.done = Some(done);
                None
            }
            Err(needs) => Some(Needs(needs)),
        }
    }
}

#[wasm_bindgen]
impl Reading {
    /// Begins to open a file.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, bytes: f64) -> Self {
        Self::new_of(Machine::Opening(Box::new(Opening::new(name, bytes as u64))))
    }

    /// Begins; returns the first input that is needed, or nothing at the end.
    pub fn begin(&mut self) -> Option<Needs> {
        self.step(Input::Begin)
    }

    /// Takes in bytes of the file.
    pub fn bytes(&mut self, bytes: Vec<u8>) -> Option<Needs> {
        self.step(Input::Bytes(bytes))
    }

    /// Takes in inflated bytes; nothing, if the bytes to inflate are no deflate stream.
    pub fn inflated(&mut self, bytes: Option<Vec<u8>>) -> Option<Needs> {
        self.step(Input::Inflated(bytes))
    }

    /// Ends a chapter, a body or the notes with this reason: the file could not be read any more.
    pub fn fail(&mut self, why: String) {
        self.done = match self.machine {
            Machine::Opening(_) => None,
            Machine::Chapter(number, _) => {
                Some(Done::Chapter(number, Fetched::NotRead { reason: why }))
            }
            Machine::Body(_) | Machine::Notes(_) => Some(Done::Body(Err(why))),
        };
    }

    /// Returns the recording that was opened; nothing, if this opens none or is not at its end.
    ///
    /// # Errors
    /// The notice that a page shows of a file that does not open, as JSON.
    pub fn recording(self) -> Result<Option<Recording>, String> {
        match self.done {
            Some(Done::Opened(Ok(opened))) => Ok(Some(Recording::new(*opened))),
            Some(Done::Opened(Err(error))) => Err(json(&error.notice())),
            _ => Ok(None),
        }
    }

    /// Returns 200 for a body or notes that are there, 404 for missing ones, 500 for unreadable ones.
    #[wasm_bindgen(getter)]
    pub fn status(&self) -> u16 {
        match &self.done {
            Some(Done::Body(Ok(Some(_)))) => 200,
            Some(Done::Body(Err(_))) => 500,
            _ => 404,
        }
    }

    /// Returns the reason that a body cannot be read.
    #[wasm_bindgen(getter)]
    pub fn why(&self) -> Option<String> {
        match &self.done {
            Some(Done::Body(Err(why))) => Some(why.clone()),
            _ => None,
        }
    }

    /// Returns the body; for notes, all of them as a recording encodes them.
    pub fn body(self) -> Option<Vec<u8>> {
        match self.done {
            Some(Done::Body(Ok(body))) => body.map(|body| body.to_vec()),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl Needs {
    /// Returns where the bytes of the file begin.
    #[wasm_bindgen(getter)]
    pub fn offset(&self) -> f64 {
        match &self.0 {
            Step::Read { offset, .. } => *offset as f64,
            _ => 0.0,
        }
    }

    /// Returns the number of bytes of the file.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> f64 {
        match &self.0 {
            Step::Read { len, .. } => *len as f64,
            _ => 0.0,
        }
    }

    /// Returns the number of bytes that inflating should bring; nothing, if bytes of the file are needed.
    #[wasm_bindgen(getter, js_name = rawBytes)]
    pub fn raw_bytes(&self) -> Option<u32> {
        match &self.0 {
            Step::Inflate { raw_bytes, .. } => Some(*raw_bytes),
            _ => None,
        }
    }

    /// Returns the bytes to inflate.
    pub fn deflated(self) -> Vec<u8> {
        match self.0 {
            Step::Inflate { bytes, .. } => bytes,
            _ => Vec::new(),
        }
    }
}

/// Returns an object for a page, as JSON.
pub(crate) fn json(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).expect("texts and numbers are always written as JSON")
}
