//! The page's core without a browser: frames, deliveries and layout.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use std::cell::RefCell;

use common::Log;
use host::{Host, SIZE, UNPUBLISHED, log, now, welcome};
use watchscope_app::core::effect::{Effect, PanelEffect};
use watchscope_app::core::model::Model;
use watchscope_app::core::msg::{Msg, Painted};
use watchscope_app::core::person::Person;
use watchscope_app::core::queue::Queue;
use watchscope_app::core::screen::{Size, Surroundings, ThemeChoice};
use watchscope_app::core::update::update;
use watchscope_app::input::actions::Action;
use watchscope_app::source::connection::Input;
use watchscope_model::Seq;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::wire::{
    Availability, Catalogue, Heartbeat, Moved, Segment, encode_server, push_catalogue_entry,
};
use watchscope_timeline::Theme;

// Order: the page handles each message completely, in the order of arrival.

#[test]
fn a_starting_page_requests_a_session_connects_and_greets_in_this_order() {
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
fn messages_that_effects_send_are_handled_after_them_in_order_and_once() {
    let queue = Queue::default();
    let model = RefCell::new(Model::new(now(0.0)));
    model.borrow_mut().second = Some(&UNPUBLISHED);
    let said = RefCell::new(Vec::new());
    let handle = |message: Msg, again: &dyn Fn(Msg)| {
        let effects = update(&mut model.borrow_mut(), message, now(0.0));
        let (theme, many) = (model.borrow().screen.theme(), effects.len());
        for effect in effects {
            if effect == Effect::Panel(PanelEffect::FocusFilter) {
                // The browser calls back twice when an element takes the focus: for it, and for the element that loses
                // the focus.
                for light in [true, false] {
                    let surroundings = Surroundings {
                        light,
                        ..Surroundings::default()
                    };
                    again(Msg::Surroundings(surroundings));
                }
                // The message that was sent has changed nothing yet, and the model can be read.
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
    let focus = Person::Act(Action::Filter);
    send(&queue, Msg::Person(focus), &handle);
    assert_eq!(
        *said.borrow(),
        [(Theme::Dark, 2), (Theme::Light, 2), (Theme::Dark, 1)],
        "only the first frame is requested"
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
fn live_records_wait_unacknowledged_for_the_second_part() {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.done();
    host.live(&log, &mut writer, 2);
    assert_eq!(host.model.borrow().store.head().unwrap().seq, Seq(2));
    host.send(Msg::Loaded(&UNPUBLISHED));
    assert_eq!(host.model.borrow().store.head().unwrap().seq, Seq(5));
}

#[test]
fn undecodable_records_close_the_socket_and_show_an_error() {
    let (host, _) = Host::shows(&log(), 5);
    host.send(Msg::Loaded(&UNPUBLISHED));
    host.done();
    let segment = Segment { log: "log".into() };
    host.send(Msg::Message(encode_server(&segment.into(), &[b"torn"])));
    assert_eq!(host.done()[..1], ["close socket"]);
    let trouble = host.model.borrow().trouble.clone().unwrap();
    assert!(trouble.contains("could not be read"), "{trouble}");
    assert!(!host.model.borrow().is_connected());
}

#[test]
fn a_page_that_fell_behind_announces_it() {
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

/// Returns a log of 59 changes in 10 s.
fn changes() -> Log {
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
    log
}

fn asked(done: &[String]) -> Vec<&String> {
    let asked = done.iter().filter(|words| words.starts_with("ask before"));
    asked.collect()
}

#[test]
fn the_newest_chapter_comes_while_the_second_part_is_loaded() {
    let log = changes();
    let (host, _) = Host::shows(&log, 40);
    assert_eq!(asked(&host.done()), ["ask before 41"]);
    assert!(
        asked(&host.frame(100.0)).is_empty(),
        "it is requested already"
    );
    let records = |host: &Host| host.model.borrow().store.records();
    host.chapter(&log, 40);
    assert_eq!(records(&host), 0, "only the second part can read it");
    host.send(Msg::Loaded(&UNPUBLISHED));
    assert_eq!(records(&host), 40);
    assert!(asked(&host.done()).is_empty(), "all is loaded");
}

#[test]
fn with_a_place_in_the_address_the_view_decides_which_past_is_requested() {
    let log = changes();
    let host = Host::opened(true);
    host.joins(&welcome(), &log, 40);
    host.frame(100.0);
    assert!(asked(&host.done()).is_empty());
    host.send(Msg::Loaded(&UNPUBLISHED));
    assert_eq!(asked(&host.done()), ["ask before 41"]);
    host.frame(200.0);
    assert!(
        asked(&host.frame(300.0)).is_empty(),
        "it is requested already"
    );
}

#[test]
fn over_a_slow_link_the_second_part_comes_before_the_past() {
    let log = changes();
    let host = Host::new();
    host.send(Msg::Message(welcome()));
    host.now.set(now(10.2));
    host.knows(&log, 40);
    assert!(asked(&host.done()).is_empty());
    host.send(Msg::Loaded(&UNPUBLISHED));
    assert_eq!(asked(&host.done()), ["ask before 41"]);
}

#[test]
fn after_a_restart_the_end_of_the_run_before_is_requested_once() {
    let (old, new) = (Log::steady("old", -60.0, 20), Log::steady("a", 5.0, 3));
    let (host, mut writer) = Host::shows(&new, 0);
    host.gets_panels(&new, &mut writer, 0);
    let count = old.records.len();
    let mut entries = Vec::new();
    let entry = old.listed(0, count, Availability::Kept);
    push_catalogue_entry(&entry, &mut entries);
    let catalogue = Catalogue {
        log: "log".into(),
        epoch: "old".into(),
        order: 7,
    };
    host.send(Msg::Message(encode_server(&catalogue.into(), &[&entries])));
    let wanted = format!("ask before {}", count + 1);
    let mut asked = 0;
    for at_ms in [1_100.0, 1_400.0, 1_500.0, 1_800.0] {
        let done = host.frame(at_ms);
        asked += done.iter().filter(|words| **words == wanted).count();
    }
    assert_eq!(asked, 1);
    assert!(
        host.model.borrow().view.left() > common::at(-39.0),
        "the run before is not in view"
    );
}

#[test]
fn a_lost_connection_drops_the_deliveries_that_wait_for_the_second_part() {
    let log = changes();
    let (host, _) = Host::shows(&log, 40);
    host.chapter(&log, 40);
    host.send(Msg::Link(Input::Closed));
    host.send(Msg::Link(Input::TryNow));
    host.done();
    host.joins(&welcome(), &log, 40);
    assert_eq!(asked(&host.done()), ["ask before 41"]);
    host.send(Msg::Loaded(&UNPUBLISHED));
    assert_eq!(host.model.borrow().store.records(), 0);
}

// Frames.

#[test]
fn nothing_is_painted_before_there_are_lanes_or_1500_ms_have_passed() {
    let host = Host::new();
    assert_eq!(host.frame(100.0), ["frame in 1400 ms"]);
    host.send(Msg::Step);
    assert_eq!(host.done(), ["frame"]);
    assert_eq!(host.frame(1_500.0)[..2], ["paint 0 rows", "Drawn"]);
}

#[test]
fn many_changes_request_one_frame() {
    let (host, _) = Host::shows(&log(), 5);
    host.send(Msg::Loaded(&UNPUBLISHED));
    host.frame(100.0);
    for _ in 0..3 {
        host.send(Msg::Person(Person::Redraw));
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
fn a_still_picture_requests_no_frame() {
    let (host, _) = Host::shows(&log(), 5);
    host.send(Msg::Loaded(&UNPUBLISHED));
    host.send(Msg::Person(Person::Act(Action::TogglePause)));
    host.frame(100.0);
    assert_eq!(host.frame(1_000.0), [] as [&str; 0]);
}

#[test]
fn a_heartbeat_that_says_nothing_new_requests_no_frame() {
    let (host, _) = Host::shows(&log(), 5);
    host.send(Msg::Loaded(&UNPUBLISHED));
    host.frame(100.0);
    let beat = |ring_bytes: u64| {
        host.done();
        let heartbeat = Heartbeat {
            head: Seq(5),
            at: now(10.0).local,
            ring_bytes,
            ring_capacity: 100,
            first: Seq(1),
            first_at: common::START,
        };
        host.send(Msg::Message(encode_server(&heartbeat.into(), &[])));
        host.done().contains(&"frame".to_owned())
    };
    assert!(beat(10));
    host.frame(200.0);
    assert!(!beat(10));
    assert!(beat(20), "the status bar names the bytes of the ring");
}

#[test]
fn no_frame_comes_between_a_message_and_its_picture() {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.send(Msg::Loaded(&UNPUBLISHED));
    host.frame(100.0);
    host.live(&log, &mut writer, 2);
    assert_eq!(host.done(), ["frame"]);
    let done = host.frame(116.0);
    assert!(done[0].starts_with("paint"), "{done:?}");
    assert_eq!(host.model.borrow().frame.painted_head, 5);
}

#[test]
fn a_flood_of_records_is_drawn_at_a_pace_that_pictures_bear_and_a_person_is_answered_at_once() {
    let mut log = log();
    let (host, mut writer) = Host::shows(&log, 5);
    host.send(Msg::Loaded(&UNPUBLISHED));
    host.frame(100.0);
    let flood = |log: &mut Log, writer: &mut ChapterWriter, count: u64| {
        let from = log.records.len();
        for version in 0..count {
            let (change, origin) = (ChangeType::Modified, Origin::Live);
            log.change(9.0, "shop/pods", change, origin, "cart-0", 1_000 + version);
        }
        host.live(log, writer, from);
    };
    for _ in 0..99 {
        host.send(Msg::Painted(Painted {
            at_ms: 100.0,
            scene_ms: 2.0,
            frame_ms: 6.0,
        }));
    }
    host.done();
    host.send(Msg::Step);
    host.done();
    // 400 in 400 ms: the next picture waits.
    flood(&mut log, &mut writer, 400);
    assert_eq!(host.frame(500.0).last().unwrap(), "frame in 190 ms");
    flood(&mut log, &mut writer, 20);
    let asks = |host: &Host| host.done().contains(&"frame".to_owned());
    assert!(!asks(&host));
    assert_eq!(host.person(Person::Redraw), ["frame"]);
    // 20 in 1.2 s: the next picture comes at once again.
    host.frame(1_700.0);
    flood(&mut log, &mut writer, 1);
    assert!(asks(&host));
}

// Layout.

#[test]
fn a_page_shows_its_lanes_as_rows_and_scrolls_within_them() {
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
    host.send(Msg::Loaded(&UNPUBLISHED));
    host.person(Person::Scroll {
        dx_px: 0.0,
        dy_px: 5_000.0,
    });
    host.frame(200.0);
    assert_eq!(host.model.borrow().scroll_px, 0.0);
}

#[test]
fn rows_that_do_not_fit_have_a_moving_thumb() {
    let mut log = Log::new("a");
    for watch in 0..60 {
        log.watch(f64::from(watch) / 10.0, &format!("shop-{watch}/pods"));
    }
    let (host, _) = Host::shows(&log, 60);
    host.frame(100.0);
    let first = host.model.borrow().thumb().unwrap();
    assert_eq!(first.top_px, 0);
    host.model.borrow_mut().scroll_px = 300.0;
    host.send(Msg::Surroundings(Surroundings::default()));
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
fn the_persons_theme_overrides_the_systems() {
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
