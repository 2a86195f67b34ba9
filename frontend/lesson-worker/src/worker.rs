//! The functions that the worker's script calls.
#![allow(
    unsafe_code,
    unreachable_pub,
    reason = "what the worker's script calls is exported to it, and to nobody else"
)]

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_model::wire::player::{decode_command, encode_lesson};
use watchscope_scenarios::lessons::{self, Run};

use crate::{Session, SessionError};

/// A session, for the worker's script. Errors are sentences.
#[wasm_bindgen]
pub struct Worker(Session);

#[wasm_bindgen]
impl Worker {
    /// Opens the lesson of a link's fragment with its texts and the list of all lessons, both as JSON.
    ///
    /// # Errors
    /// If the texts do not fit the lesson.
    #[wasm_bindgen(constructor)]
    pub fn new(fragment: &str, texts: &str, index: &str) -> Result<Worker, String> {
        match Session::open(fragment, texts, index) {
            Ok(session) => Ok(Worker(session)),
            Err(SessionError::Texts(error)) => Err(error.to_string()),
            Err(SessionError::Command(_)) => Err("a link is no command".to_owned()),
        }
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

    /// Carries out an encoded command of the person. A command with a wrong argument does nothing.
    ///
    /// # Errors
    /// If it is no command.
    pub fn say(&mut self, command: &[u8]) -> Result<(), String> {
        let command = decode_command(command).map_err(|error| error.to_string())?;
        if let Some(command) = command {
            // The page's controls make no such command. A link's is noted when the lesson opens.
            drop(self.0.say(command));
        }
        Ok(())
    }

    /// Returns the lesson and its text, encoded.
    pub fn lesson(&self) -> Vec<u8> {
        encode_lesson(&self.0.lesson())
    }

    /// Returns the lesson's present state, encoded.
    pub fn now(&self) -> Vec<u8> {
        encode_lesson(&self.0.now())
    }

    /// Returns the number of the run.
    pub fn run(&self) -> f64 {
        self.0.number() as f64
    }

    /// Whether the lesson plays.
    pub fn is_playing(&self) -> bool {
        self.0.is_playing()
    }
}

/// Returns the name of the lesson that a link's fragment opens.
#[wasm_bindgen]
pub fn lesson_of(fragment: &str) -> String {
    crate::lesson_of(fragment).to_owned()
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
