//! The functions that the worker's script calls.
#![allow(
    unsafe_code,
    unreachable_pub,
    reason = "what the worker's script calls is exported to it, and to nobody else"
)]

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_scenarios::lessons::{self, Run};

use crate::{Session, SessionError};

/// A session, for the worker's script. Errors are sentences.
#[wasm_bindgen]
pub struct Worker(Session);

#[wasm_bindgen]
impl Worker {
    /// Opens a lesson; a negative time means none.
    ///
    /// # Errors
    /// Names the nearest lessons, with spaces between.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, at_s: f64) -> Result<Worker, String> {
        let at_s = (at_s >= 0.0).then_some(at_s);
        Session::open(name, at_s)
            .map(Worker)
            .map_err(|error| match error {
                SessionError::Lesson(nearest) => nearest.join(" "),
                SessionError::Command(command) => command,
            })
    }

    /// Connects a reader, which begins again with a snapshot.
    pub fn read(&mut self, now_ms: f64) {
        self.0.read(now_ms);
    }

    /// Takes a message of the reader.
    ///
    /// # Errors
    /// If it breaks the protocol.
    pub fn receive(&mut self, message: &[u8], now_ms: f64) -> Result<(), String> {
        self.0
            .receive(message, now_ms)
            .map_err(|error| error.to_string())
    }

    /// Returns the next message for the reader.
    pub fn next(&mut self, now_ms: f64) -> Option<Vec<u8>> {
        self.0.next(now_ms)
    }

    /// Lets time pass; returns whether anything changed.
    pub fn tick(&mut self, now_ms: f64) -> bool {
        self.0.tick(now_ms)
    }

    /// Carries out a command of the person.
    ///
    /// # Errors
    /// If it is no command.
    pub fn say(&mut self, command: &str) -> Result<(), String> {
        self.0
            .say(command)
            .map_err(|_| format!("not a command: {command}"))
    }

    /// Returns the lesson and its text, as JSON.
    pub fn lesson(&self) -> String {
        self.0.lesson()
    }

    /// Returns the lesson's present state, as JSON.
    pub fn now(&self) -> String {
        self.0.now()
    }
}

/// Returns the digest of a lesson's records in hex digits, for tests to compare with the host's. A version that cannot
/// be read is the lesson's.
#[wasm_bindgen]
pub fn digest_of(name: &str, seed: u32, server: &str, client: &str) -> Option<String> {
    let lesson = lessons::lesson(name)?;
    let run = Run {
        seed: u64::from(seed),
        server: server.parse().unwrap_or(lesson.server),
        client: client.parse().unwrap_or(lesson.client),
    };
    Some(format!("{:016x}", lessons::digest_of(&lesson, run)))
}
