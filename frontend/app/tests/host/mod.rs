//! A page whose browser answers at once. It carries out effects as the runtime does, over a queue of the same kind.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::cell::{Cell, RefCell};

use watchscope_app::core::effect::Effect;
use watchscope_app::core::model::{Late, Model, Now, Second};
use watchscope_app::core::msg::{Msg, Painted};
use watchscope_app::core::person::Person;
use watchscope_app::core::queue::Queue;
use watchscope_app::core::screen::{Size, Surroundings, ThemeChoice, Window};
use watchscope_app::core::update::update;
use watchscope_app::input::actions::Action;
use watchscope_app::input::keys::{InForce, Key, Modifiers, binding};
use watchscope_app::source::connection::{self, Input, SessionStatus};
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::wire::{
    Chapter, ClientMessage, FromViewer, PROTOCOL_VERSION, Segment, Snapshot, Welcome, WriteNote,
    decode_viewer, encode_server,
};
use watchscope_model::{Seq, Time};
use watchscope_timeline::Store;
use watchscope_timeline::records::RECORDS;

use crate::common::{Log, START, at};

/// The functions of the second part, without its panels.
pub(crate) const SECOND: Second = Second {
    segment: Model::take_segment,
    keep: |bytes| {
        let kept = bytes.to_vec();
        Box::new(move || kept.clone())
    },
    chapter: Store::chapter,
    records: RECORDS,
    forget: Model::forget,
    person: Model::person,
    play_on: Model::play_on,
    overview: Model::draw_overview,
    publish: Model::publish,
    show: |_| {},
    drawn: || {},
    carry_out: |_| {},
    catalogue: Model::take_catalogue,
};

/// Returns the action of a key of the page, with or without Shift.
pub(crate) fn action_of(code: &str, key: &str, shift: bool) -> Option<Action> {
    let key = Key {
        code,
        key,
        modifiers: Modifiers {
            shift,
            ..Modifiers::default()
        },
    };
    binding(key, InForce::default()).map(|binding| binding.action)
}

/// The functions of the third part.
pub(crate) const LATE: Late = Late::ALL;

/// The second part without publishing: a frame is about the picture alone.
pub(crate) const UNPUBLISHED: Second = Second {
    publish: |_, _| {},
    ..SECOND
};

pub(crate) const SIZE: Size = Size {
    width_px: 800.0,
    height_px: 400.0,
    scale: 2.0,
};

const WINDOW: Window = Window {
    width_px: 1_200.0,
    height_px: 700.0,
};

/// A page and its browser, which answers at once.
pub(crate) struct Host {
    pub(crate) model: RefCell<Model>,
    queue: Queue<Msg>,
    pub(crate) now: Cell<Now>,
    /// The effects that the browser carried out, in order.
    pub(crate) done: RefCell<Vec<String>>,
    /// The notes that were sent.
    pub(crate) notes: RefCell<Vec<WriteNote>>,
}

impl Host {
    /// Returns a page that has started; the clock says 10 s after the log's begin.
    pub(crate) fn new() -> Self {
        Self::opened(false)
    }

    /// Like [`Self::new`]; `is_led` says whether its address names a place.
    pub(crate) fn opened(is_led: bool) -> Self {
        let now = now(10.0);
        let host = Self {
            model: RefCell::new(Model::new(now)),
            queue: Queue::default(),
            now: Cell::new(now),
            done: RefCell::default(),
            notes: RefCell::default(),
        };
        host.send(Msg::Start {
            theme: ThemeChoice::System,
            surroundings: Surroundings::default(),
            link: None,
            is_led,
        });
        host
    }

    /// Returns a page that shows a log after `records` of its records, without its second part.
    pub(crate) fn shows(log: &Log, records: usize) -> (Self, ChapterWriter) {
        Self::shows_after(&welcome(), log, records)
    }

    /// Like [`Self::shows`], after another welcome.
    pub(crate) fn shows_after(welcome: &[u8], log: &Log, records: usize) -> (Self, ChapterWriter) {
        let host = Self::new();
        let writer = host.joins(welcome, log, records);
        (host, writer)
    }

    /// Delivers the server's welcome, and the snapshot after `records` of the log's records.
    pub(crate) fn joins(&self, welcome: &[u8], log: &Log, records: usize) -> ChapterWriter {
        self.send(Msg::Message(welcome.to_vec()));
        self.knows(log, records)
    }

    /// Delivers the snapshot after `records` of the log's records.
    pub(crate) fn knows(&self, log: &Log, records: usize) -> ChapterWriter {
        let (writer, head) =
            ChapterWriter::open("log".into(), log.epoch.clone(), &log.state_after(records));
        let seq = Seq(records as u64);
        let snapshot = Snapshot {
            log: "log".into(),
            seq,
        };
        self.send(Msg::Message(encode_server(&snapshot.into(), &[&head])));
        writer
    }

    /// Delivers a chapter with the first `records` of a log.
    pub(crate) fn chapter(&self, log: &Log, records: usize) {
        let (mut writer, head) =
            ChapterWriter::open("log".into(), log.epoch.clone(), &log.state_after(0));
        log.records[..records]
            .iter()
            .for_each(|record| writer.push(record));
        let chapter = Chapter {
            log: "log".into(),
            first: Seq(1),
            before: Seq(records as u64 + 1),
        };
        let frames = [&*head, &*writer.seal().unwrap()];
        self.send(Msg::Message(encode_server(&chapter.into(), &frames)));
    }

    /// Delivers the second part, and then the records from `from` on, live; two frames show them.
    pub(crate) fn gets_panels(&self, log: &Log, writer: &mut ChapterWriter, from: usize) {
        self.frame(100.0);
        self.send(Msg::Loaded(&SECOND));
        self.live(log, writer, from);
        self.send(Msg::Late(&LATE));
        self.person(Person::Begin {
            is_lesson: false,
            opened: None,
        });
        self.frame(1_000.0);
    }

    pub(crate) fn send(&self, message: Msg) {
        self.queue.send(message, |message| {
            let effects = update(&mut self.model.borrow_mut(), message, self.now.get());
            for effect in effects {
                let words = self.carry_out(effect);
                self.done.borrow_mut().push(words);
            }
        });
    }

    /// Lets the person act; returns the effects since then.
    pub(crate) fn person(&self, person: Person) -> Vec<String> {
        self.done();
        self.send(Msg::Person(person));
        self.done()
    }

    fn carry_out(&self, effect: Effect) -> String {
        // A reader within an effect finds the model whole.
        let model = self.model.borrow();
        match effect {
            Effect::Link(connection::Effect::AskSession) => {
                self.send(Msg::Link(Input::Session(Some(SessionStatus {
                    product: "watchscope".into(),
                    protocol: PROTOCOL_VERSION,
                    instance: "1".into(),
                    session: true,
                }))));
                "ask session".into()
            }
            Effect::Link(connection::Effect::OpenSocket) => {
                self.send(Msg::Opened);
                "open socket".into()
            }
            Effect::Link(connection::Effect::Send(bytes)) => {
                match decode_viewer(&bytes).unwrap().unwrap() {
                    FromViewer::Note(note) => {
                        self.notes.borrow_mut().push(note);
                        "write a note".into()
                    }
                    FromViewer::Message(message) => match message {
                        ClientMessage::Hello(_) => "say hello".into(),
                        ClientMessage::Acknowledge(_) => "acknowledge".into(),
                        ClientMessage::Backfill(wanted) => {
                            format!("ask before {}", wanted.before.0)
                        }
                        other => format!("{other:?}"),
                    },
                }
            }
            Effect::Link(connection::Effect::CloseSocket) => "close socket".into(),
            Effect::WarmUp => {
                self.send(Msg::Resized(SIZE));
                "warm up".into()
            }
            Effect::Paint => {
                self.send(Msg::Painted(Painted {
                    at_ms: 90.0,
                    scene_ms: 1.0,
                    frame_ms: 3.0,
                }));
                format!("paint {} rows", model.tree_rows().len())
            }
            Effect::ArmAfter { wait_ms } => format!("frame in {wait_ms} ms"),
            Effect::ArmFrame => "frame".into(),
            other => format!("{other:?}"),
        }
    }

    /// Returns the effects since the last call, without those of every message.
    pub(crate) fn done(&self) -> Vec<String> {
        let mut done = self.done.take();
        done.retain(|words| !words.starts_with("WakeAt") && words != "Show");
        done
    }

    pub(crate) fn frame(&self, now_ms: f64) -> Vec<String> {
        self.done();
        // The page began when the clock said 10 s after the log's begin.
        let mut now = self.now.get();
        now.ms = now.ms.max(11_000 + now_ms as u64);
        self.now.set(now);
        self.send(Msg::Frame {
            now_ms,
            size: SIZE,
            window: WINDOW,
        });
        self.done()
    }

    /// Delivers live records from the server.
    pub(crate) fn live(&self, log: &Log, writer: &mut ChapterWriter, from: usize) {
        log.records[from..]
            .iter()
            .for_each(|record| writer.push(record));
        let frame = writer.seal().unwrap();
        let segment = Segment { log: "log".into() };
        self.send(Msg::Message(encode_server(&segment.into(), &[&frame])));
    }
}

pub(crate) fn now(seconds: f64) -> Now {
    Now {
        local: at(seconds),
        ms: 1_000 + (seconds * 1_000.0) as u64,
        random: 0.5,
    }
}

pub(crate) fn welcome() -> Vec<u8> {
    welcome_to("log")
}

pub(crate) fn welcome_to(log: &str) -> Vec<u8> {
    encode_server(&greeting(log).into(), &[])
}

/// Returns the welcome of a server that shows a recording.
pub(crate) fn welcome_recorded(from: Time, to: Time) -> Vec<u8> {
    let welcome = Welcome {
        recording: Some("night.wscope".into()),
        recorded_from: Some(from),
        recorded_to: Some(to),
        judged_again: Some(false),
        ..greeting("log")
    };
    encode_server(&welcome.into(), &[])
}

fn greeting(log: &str) -> Welcome {
    Welcome {
        protocol: PROTOCOL_VERSION,
        log: log.into(),
        epoch: "a".into(),
        first: Seq(1),
        head: Seq(1),
        resumed: false,
        at: at(10.0),
        version: "0".into(),
        first_at: START,
        recording: None,
        recorded_from: None,
        recorded_to: None,
        judged_again: None,
    }
}

/// Returns a log with two watches, and three objects of the first.
pub(crate) fn log() -> Log {
    let mut log = Log::new("a");
    log.watch(0.0, "shop/pods");
    log.watch(0.1, "shop/jobs.batch");
    for (place, name) in ["cart-0", "cart-1", "cart-2"].into_iter().enumerate() {
        let version = 10 + place as u64;
        log.change(
            1.0 + place as f64,
            "shop/pods",
            ChangeType::Added,
            Origin::List,
            name,
            version,
        );
    }
    log
}
