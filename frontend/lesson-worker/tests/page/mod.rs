//! What the tests share: a page that follows a session, and commands.
#![allow(dead_code, reason = "each test binary uses a part")]

use serde_json::{Value, json};
use watchscope_lesson_worker::{Session, lesson_of};
use watchscope_model::wire::player::{
    LessonCommand, LessonNow, MoveAct, Seek, decode_lesson, encode_lesson,
};
use watchscope_model::wire::{
    Hello, PROTOCOL_VERSION, ServerMessage, decode_server, encode_client,
};
use watchscope_scenarios::lessons::{english_json, english_lines};
use watchscope_timeline::Store;

/// A page: takes the session's messages, as the page's source does.
#[derive(Default)]
pub(crate) struct Page {
    pub(crate) store: Store,
    pub(crate) is_resumed: Option<bool>,
}

impl Page {
    /// Connects a page and takes all messages.
    pub(crate) fn join(session: &mut Session, now_ms: f64) -> Self {
        let mut page = Self::default();
        session.read(now_ms);
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: None,
            last: None,
        };
        session
            .receive(&encode_client(&hello.into()), now_ms)
            .unwrap();
        page.take(session, now_ms);
        page
    }

    pub(crate) fn take(&mut self, session: &mut Session, now_ms: f64) {
        while let Some(message) = session.next(now_ms) {
            match decode_server(&message).unwrap() {
                Some((ServerMessage::Welcome(welcome), _)) => {
                    self.is_resumed = Some(welcome.resumed);
                }
                Some((ServerMessage::Snapshot(_), frame)) => self.store.snapshot(frame).unwrap(),
                Some((ServerMessage::Segment(_), frame)) => {
                    self.store.segment(frame).unwrap();
                }
                // The module itself has no catalogue; a workspace that is built whole has one everywhere.
                Some((ServerMessage::Heartbeat(_) | ServerMessage::Catalogue(_), _)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns the seq of its last record.
    pub(crate) fn head(&self) -> u64 {
        self.store.state().unwrap().seq.0
    }
}

/// Returns the list of all lessons as JSON, as the page's build makes it of their texts.
pub(crate) fn index() -> String {
    let lines = english_lines().unwrap().into_iter();
    let lines = lines.map(|line| {
        let (title, question, teaches) = (line.title, line.question, line.teaches);
        let texts = json!({"title": title, "question": question, "teaches": teaches});
        (line.name.to_owned(), texts)
    });
    Value::Object(lines.collect()).to_string()
}

/// Opens the lesson of a link's fragment with its texts.
pub(crate) fn open_link(fragment: &str) -> Session {
    let texts = english_json(lesson_of(fragment)).unwrap();
    Session::open(fragment, texts, &index()).unwrap()
}

/// Opens a lesson at a number of seconds; without one, at its first passage.
pub(crate) fn open(name: &str, at_s: Option<f64>) -> Session {
    let at = at_s.map_or_else(String::new, |at_s| format!("&at={at_s}"));
    open_link(&format!("#lesson={name}{at}"))
}

/// Returns the state as a page gets it.
pub(crate) fn now(session: &Session) -> LessonNow {
    let now = session.now();
    assert_eq!(decode_lesson(&encode_lesson(&now)).as_ref(), Ok(&now));
    now
}

pub(crate) fn at_s(session: &Session) -> f64 {
    now(session).at_us as f64 / 1e6
}

pub(crate) fn seek(to_s: f64) -> LessonCommand {
    let to_us = (to_s * 1e6) as i64;
    Seek { to_us }.into()
}

/// The command that moves a lesson's first act.
pub(crate) fn moved(to_s: f64) -> LessonCommand {
    let to_us = (to_s * 1e6) as i64;
    MoveAct { act: 0, to_us }.into()
}

/// Returns what a client received so far, with the times in seconds.
pub(crate) fn received(session: &Session, who: &str) -> Vec<(f64, String)> {
    let view = now(session);
    let lines = view.wire.into_iter();
    let lines = lines.filter(|line| line.who == who && !line.asks);
    lines
        .map(|line| (line.at.micros_since(view.begin) as f64 / 1e6, line.words))
        .collect()
}
