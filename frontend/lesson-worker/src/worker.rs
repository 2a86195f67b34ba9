//! What the worker's script calls.
#![allow(
    unsafe_code,
    unreachable_pub,
    reason = "what the worker's script calls is exported to it, and to nobody else"
)]

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_scenarios::lessons::{self, Run};

use crate::{Session, SessionError};

/// A session, as the worker's script sees it. Errors are sentences.
#[wasm_bindgen]
pub struct Worker(Session);

#[wasm_bindgen]
impl Worker {
    /// Opens a lesson; a negative time is none.
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

    /// A reader comes, or comes again.
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

    /// The next message for the reader.
    pub fn next(&mut self, now_ms: f64) -> Option<Vec<u8>> {
        self.0.next(now_ms)
    }

    /// Lets time pass; returns whether anything changed.
    pub fn tick(&mut self, now_ms: f64) -> bool {
        self.0.tick(now_ms)
    }

    /// Does what the person asks for.
    ///
    /// # Errors
    /// If it is no command.
    pub fn say(&mut self, command: &str) -> Result<(), String> {
        self.0
            .say(command)
            .map_err(|_| format!("not a command: {command}"))
    }

    /// The lesson and its text, as JSON.
    pub fn lesson(&self) -> String {
        self.0.lesson()
    }

    /// Where it stands, as JSON.
    pub fn now(&self) -> String {
        self.0.now()
    }
}

/// The digest of a lesson's records, with versions of server and client-go, in hex digits: tests compare it with the
/// host's. Without versions those of the lesson.
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
