//! The page's core without a browser: messages go in, effects come out, and a small host carries them out as the runtime
//! does, over a queue of the same kind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/common/mod.rs"]
mod common;

use std::cell::{Cell, RefCell};

use common::{Log, START, at};
use watchscope_app::core::effect::{Effect, PanelEffect};
use watchscope_app::core::model::{Model, Now, Second};
use watchscope_app::core::msg::{Msg, Painted};
use watchscope_app::core::queue::Queue;
use watchscope_app::core::screen::{Size, Surroundings, ThemeChoice, Window};
use watchscope_app::core::update::update;
use watchscope_app::source::connection::{self, Input, SessionStatus};
use watchscope_model::Seq;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::wire::{
    ClientMessage, Moved, PROTOCOL_VERSION, Segment, Snapshot, Welcome, decode_client,
    encode_server,
};
use watchscope_timeline::draw::RECORDS;
use watchscope_timeline::{Store, Theme};

/// What the second part gives, without its panels.
const SECOND: Second = Second {
    segment: Model::take_segment,
    chapter: Store::chapter,
    records: RECORDS,
    forget: |model| model.store = Store::default(),
    publish: |_, _| {},
    inform: |_| {},
    drawn: || {},
    carry_out: |_| {},
};

const SIZE: Size = Size {
    width_px: 800.0,
    height_px: 400.0,
    scale: 2.0,
};

const WINDOW: Window = Window {
    width_px: 1_200.0,
    height_px: 700.0,
};

/// A page and its browser, which answers as soon as it is asked.
struct Host {
    model: RefCell<Model>,
    queue: Queue<Msg>,
    now: Cell<Now>,
    /// What the browser was asked for, in order.
    done: RefCell<Vec<String>>,
}

impl Host {
    /// A page that has started. The clock says 10 s after the log's begin.
    fn new() -> Self {
        let now = now(10.0);
        let host = Self {
            model: RefCell::new(Model::new(now)),
            queue: Queue::default(),
            now: Cell::new(now),
            done: RefCell::default(),
        };
        host.send(Msg::Start {
            theme: ThemeChoice::System,
            surroundings: Surroundings::default(),
            link: None,
        });
        host
    }

    /// A page that shows a log after `records` of its records; the second part is not here yet.
    fn shows(log: &Log, records: usize) -> (Self, ChapterWriter) {
        let host = Self::new();
        host.send(Msg::Message(welcome()));
        let (writer, head) =
            ChapterWriter::open("log".into(), log.epoch.clone(), &log.state_after(records));
        let seq = Seq(records as u64);
        let snapshot = Snapshot {
            log: "log".into(),
            seq,
        };
        host.send(Msg::Message(encode_server(&snapshot.into(), &[&head])));
        (host, writer)
    }

    fn send(&self, message: Msg) {
        self.queue.send(message, |message| {
            let effects = update(&mut self.model.borrow_mut(), message, self.now.get());
            for effect in effects {
                let words = self.carry_out(effect);
                self.done.borrow_mut().push(words);
            }
        });
    }

    fn carry_out(&self, effect: Effect) -> String {
        // Whoever reads within an effect finds the model whole.
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
                match decode_client(&bytes).unwrap().unwrap() {
                    ClientMessage::Hello(_) => "say hello".into(),
                    ClientMessage::Acknowledge(_) => "acknowledge".into(),
                    ClientMessage::Backfill(wanted) => format!("ask before {}", wanted.before.0),
                    other => format!("{other:?}"),
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

    /// What was asked of the browser since the last time, without what is asked after every message.
    fn done(&self) -> Vec<String> {
        let mut done = self.done.take();
        done.retain(|words| !words.starts_with("WakeAt") && words != "Inform");
        done
    }

    fn frame(&self, now_ms: f64) -> Vec<String> {
        self.done();
        self.send(Msg::Frame {
            now_ms,
            size: SIZE,
            window: WINDOW,
        });
        self.done()
    }

    /// Live records from the server.
    fn live(&self, log: &Log, writer: &mut ChapterWriter, from: usize) {
        log.records[from..]
            .iter()
            .for_each(|record| writer.push(record));
        let frame = writer.seal().unwrap();
        let segment = Segment { log: "log".into() };
        self.send(Msg::Message(encode_server(&segment.into(), &[&frame])));
    }
}

fn now(seconds: f64) -> Now {
    Now {
        local: at(seconds),
        ms: 1_000 + (seconds * 1_000.0) as u64,
        random: 0.5,
    }
}

fn welcome() -> Vec<u8> {
    let welcome = Welcome {
        protocol: PROTOCOL_VERSION,
        log: "log".into(),
        epoch: "a".into(),
        first: Seq(1),
        head: Seq(1),
        resumed: false,
        at: at(10.0),
        version: "0".into(),
        first_at: START,
    };
    encode_server(&welcome.into(), &[])
}

/// Two watches and three objects of the first.
fn log() -> Log {
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

// Order: each message is handled whole, in the order in which they came up.

#[test]
fn a_page_that_starts_asks_connects_and_greets_in_this_order() {
    let host = Host::new();
    assert_eq!(
        host.done(),
        [
            "Theme",
            "frame",
            "ask session",
            "open socket",
            "warm up",
            "say hello"
        ]
    );
}

#[test]
fn what_effects_send_is_handled_after_them_in_order_and_once() {
    let queue = Queue::default();
    let model = RefCell::new(Model::new(now(0.0)));
    let said = RefCell::new(Vec::new());
    let handle = |message: Msg, again: &dyn Fn(Msg)| {
        let effects = update(&mut model.borrow_mut(), message, now(0.0));
        let (theme, many) = (model.borrow().screen.theme(), effects.len());
        for effect in effects {
            if effect == Effect::Panel(PanelEffect::FocusFilter) {
                // An element that takes the focus calls back at once, twice: here and where it leaves.
                for light in [true, false] {
                    let surroundings = Surroundings {
                        light,
                        ..Surroundings::default()
                    };
                    again(Msg::Surroundings(surroundings));
                }
                // What was sent has changed nothing yet, and can be read.
                assert_eq!(model.borrow().screen.theme(), theme);
            }
        }
        said.borrow_mut().push((theme, many));
    };
    /// Carries out a message; the function sends another from inside its effects.
    type Handle<'a> = dyn Fn(Msg, &dyn Fn(Msg)) + 'a;
    fn send(queue: &Queue<Msg>, message: Msg, handle: &Handle<'_>) {
        queue.send(message, |message| {
            handle(message, &|more| send(queue, more, handle));
        });
    }
    let focus = Msg::Do(Box::new(|model| {
        model.want(Effect::Panel(PanelEffect::FocusFilter));
        model.want(Effect::Drawn);
    }));
    send(&queue, focus, &handle);
    assert_eq!(
        *said.borrow(),
        [(Theme::Dark, 2), (Theme::Light, 2), (Theme::Dark, 1)],
        "the first frame that is asked for is the only one"
    );
}

// Deliveries.

#[test]
fn a_snapshot_is_painted_in_the_next_frame_and_only_then_the_second_part_is_loaded() {
    let (host, _) = Host::shows(&log(), 5);
    let done = host.frame(100.0);
    assert_eq!(done[..2], ["paint 3 rows", "Drawn"]);
    assert!(done[2].starts_with("ShowDate"), "{done:?}");
    assert_eq!(done[3], "LoadSecond");
    assert_eq!(host.model.borrow().frame.painted_head, 5);
    assert_eq!(host.model.borrow().frame.first_lane_ms, Some(90.0));
}

#[test]
fn live_records_wait_unacknowledged_for_the_second_part_and_are_taken_in_with_it() {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.done();
    host.live(&log, &mut writer, 2);
    assert_eq!(host.model.borrow().store.head().unwrap().seq, Seq(2));
    host.send(Msg::Loaded(SECOND));
    assert_eq!(host.model.borrow().store.head().unwrap().seq, Seq(5));
}

#[test]
fn records_that_cannot_be_read_close_the_socket_and_the_person_is_told() {
    let (host, _) = Host::shows(&log(), 5);
    host.send(Msg::Loaded(SECOND));
    host.done();
    let segment = Segment { log: "log".into() };
    host.send(Msg::Message(encode_server(&segment.into(), &[b"torn"])));
    assert_eq!(host.done()[..1], ["close socket"]);
    let trouble = host.model.borrow().trouble.clone().unwrap();
    assert!(trouble.contains("could not be read"), "{trouble}");
    assert!(!host.model.borrow().is_connected());
}

#[test]
fn a_page_that_fell_behind_says_so() {
    let (host, _) = Host::shows(&log(), 5);
    let moved = Moved {
        log: "log".into(),
        from: Seq(3),
        to: Seq(5),
    };
    host.send(Msg::Message(encode_server(&moved.into(), &[])));
    let said = host.model.borrow().said.clone();
    assert!(said.contains("3 records are loaded again"), "{said}");
}

#[test]
fn the_past_is_asked_for_once_the_second_part_can_take_it() {
    let mut log = Log::new("a");
    log.watch(0.0, "shop/pods");
    for second in 1..60_u32 {
        let (at, version) = (f64::from(second) / 6.0, u64::from(second));
        log.change(
            at,
            "shop/pods",
            ChangeType::Added,
            Origin::Live,
            "a",
            version,
        );
    }
    let (host, _) = Host::shows(&log, 40);
    let done = host.frame(100.0);
    assert!(
        !done.iter().any(|words| words.starts_with("ask")),
        "{done:?}"
    );
    host.send(Msg::Loaded(SECOND));
    let done = host.frame(200.0);
    assert!(done.contains(&"ask before 41".into()), "{done:?}");
    let done = host.frame(300.0);
    assert!(
        !done.iter().any(|words| words.starts_with("ask")),
        "it is on its way: {done:?}"
    );
}

// Frames.

#[test]
fn nothing_is_painted_before_there_is_something_or_patience_ends() {
    let host = Host::new();
    assert_eq!(host.frame(100.0), ["frame in 1400 ms"]);
    host.send(Msg::Step);
    assert_eq!(host.done(), ["frame"]);
    assert_eq!(host.frame(1_500.0)[..2], ["paint 0 rows", "Drawn"]);
}

#[test]
fn however_much_changes_one_frame_is_asked_for() {
    let (host, _) = Host::shows(&log(), 5);
    host.frame(100.0);
    for _ in 0..3 {
        host.send(Msg::Do(Box::new(Model::redraw)));
    }
    assert_eq!(host.done(), ["frame"]);
}

#[test]
fn a_young_log_moves_on_25_times_a_second_and_once_where_less_motion_is_wanted() {
    let (host, _) = Host::shows(&log(), 5);
    assert_eq!(host.frame(100.0).last().unwrap(), "frame in 40 ms");
    host.send(Msg::Step);
    host.send(Msg::Surroundings(Surroundings {
        reduced_motion: true,
        ..Surroundings::default()
    }));
    // The panels are stale, and may be written again before the next motion.
    assert_eq!(host.frame(200.0).last().unwrap(), "frame in 150 ms");
    host.send(Msg::Step);
    assert_eq!(host.frame(1_000.0).last().unwrap(), "frame in 1000 ms");
}

#[test]
fn a_picture_that_stands_still_asks_for_no_frame() {
    let (host, _) = Host::shows(&log(), 5);
    host.send(Msg::Do(Box::new(|model| model.view = model.view.pause())));
    host.frame(100.0);
    assert_eq!(host.frame(1_000.0), [] as [&str; 0]);
}

#[test]
fn no_frame_comes_between_a_message_and_its_picture() {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.send(Msg::Loaded(SECOND));
    host.frame(100.0);
    host.live(&log, &mut writer, 2);
    assert_eq!(host.done(), ["frame"]);
    let done = host.frame(116.0);
    assert!(done[0].starts_with("paint"), "{done:?}");
    assert_eq!(host.model.borrow().frame.painted_head, 5);
}

// Layout.

#[test]
fn a_page_shows_its_lanes_as_rows_of_the_tree_and_scrolls_no_further_than_they_go() {
    let (host, _) = Host::shows(&log(), 5);
    host.frame(100.0);
    let keys: Vec<String> = host
        .model
        .borrow()
        .tree_rows()
        .into_iter()
        .map(|row| row.key)
        .collect();
    assert!(keys.contains(&"shop/pods".into()), "{keys:?}");
    assert_eq!(
        host.model.borrow().thumb(),
        None,
        "all rows are in the window"
    );
    host.send(Msg::Do(Box::new(|model| {
        model.scroll_px = 5_000.0;
        model.redraw();
    })));
    host.frame(200.0);
    assert_eq!(host.model.borrow().scroll_px, 0.0);
}

#[test]
fn rows_that_do_not_fit_have_a_thumb_that_moves_with_them() {
    let mut log = Log::new("a");
    for watch in 0..60 {
        log.watch(f64::from(watch) / 10.0, &format!("shop-{watch}/pods"));
    }
    let (host, _) = Host::shows(&log, 60);
    host.frame(100.0);
    let first = host.model.borrow().thumb().unwrap();
    assert_eq!(first.top_px, 0);
    host.send(Msg::Do(Box::new(|model| {
        model.scroll_px = 300.0;
        model.redraw();
    })));
    host.frame(200.0);
    let moved = host.model.borrow().thumb().unwrap();
    assert!(moved.top_px > 0 && moved.height_px == first.height_px);
}

#[test]
fn the_first_width_keeps_the_span_and_a_later_one_keeps_the_scale() {
    let host = Host::new();
    let scale = |width_px| {
        host.send(Msg::Resized(Size { width_px, ..SIZE }));
        host.model.borrow().view.us_per_px
    };
    // The page measured itself while its socket opened.
    let known = host.model.borrow().view.us_per_px;
    assert_eq!(known, 300_000_000.0 / (1_000.0 * 0.975) * 1_000.0 / 800.0);
    assert_eq!(scale(500.0), known);
}

#[test]
fn the_persons_theme_goes_before_the_systems() {
    let host = Host::new();
    let theme = |choice, light| {
        host.model.borrow_mut().screen.theme = choice;
        host.send(Msg::Surroundings(Surroundings {
            light,
            ..Surroundings::default()
        }));
        host.model.borrow().screen.theme()
    };
    assert_eq!(theme(ThemeChoice::System, true), Theme::Light);
    assert_eq!(theme(ThemeChoice::System, false), Theme::Dark);
    assert_eq!(theme(ThemeChoice::Dark, true), Theme::Dark);
    assert_eq!(theme(ThemeChoice::Light, false), Theme::Light);
}
