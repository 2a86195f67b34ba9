//! The captions of a first visit: when they have room, where they stand, and which shapes they explain.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::Log;
use host::Host;
use watchscope_app::core::captions::{CaptionsShown, FREE_PX};
use watchscope_app::core::msg::Msg;
use watchscope_app::core::person::Person;
use watchscope_app::core::screen::{Size, Window};
use watchscope_app::input::actions::Action;
use watchscope_model::vocabulary::{ChangeType, Origin};

const SIZE: Size = Size {
    width_px: 1_300.0,
    height_px: 800.0,
    scale: 1.0,
};
const WINDOW: Window = Window {
    width_px: 1_600.0,
    height_px: 1_000.0,
};

/// Returns a page at 10 s, of a log with an open stream, three listed pods, and a change of one of them at 6 s.
fn page() -> Host {
    let mut log = Log::new("a");
    log.opened(0.5, "shop/pods", 1, &["cart-0", "cart-1", "cart-2"], 100);
    let (kind, origin) = (ChangeType::Modified, Origin::Live);
    log.change(6.0, "shop/pods", kind, origin, "cart-1", 120);
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    paints(&host, 2_000.0, SIZE, WINDOW);
    host
}

fn paints(host: &Host, now_ms: f64, size: Size, window: Window) {
    host.send(Msg::Frame {
        now_ms,
        size,
        window,
    });
}

/// Opens the captions, as the panels do.
fn open(host: &Host) {
    let free_px = host.model.borrow().captions_free_px();
    host.person(Person::Captions(Some(free_px)));
    paints(host, 2_300.0, SIZE, WINDOW);
}

fn captions(host: &Host) -> Option<CaptionsShown> {
    host.model.borrow().captions()
}

#[test]
fn captions_stand_right_of_the_pen_and_lead_to_shapes_in_view() {
    let host = page();
    assert_eq!(captions(&host), None, "nobody opened them");
    open(&host);
    let shown = captions(&host).unwrap();
    let model = host.model.borrow();
    assert_eq!(model.view.free_px, FREE_PX);
    assert!(shown.pen_px <= model.view.lead_px());
    assert!(shown.left_px > shown.pen_px && shown.left_px + 240.0 < SIZE.width_px);
    assert!(
        shown.top_px > model.lanes_top_px() + 26.0,
        "below the findings"
    );
    let (plateau, solid) = (shown.plateau.unwrap(), shown.solid.unwrap());
    assert!(plateau.x_px < shown.pen_px && solid.x_px < shown.pen_px);
    assert!(plateau.y_px < solid.y_px, "the watch is above its objects");
    assert_eq!(shown.gap, None);
}

#[test]
fn escape_closes_captions_and_the_chart_takes_their_room() {
    let host = page();
    open(&host);
    let width_px = host.model.borrow().screen.size.width_px;
    host.person(Person::Key(Action::Clear, None));
    paints(&host, 2_600.0, SIZE, WINDOW);
    let model = host.model.borrow();
    assert!(!model.panels.captions);
    assert_eq!(model.view.free_px, 0.0);
    assert_eq!(model.captions(), None);
    assert_eq!(
        model.screen.size.width_px, width_px,
        "the canvas keeps its size"
    );
}

#[test]
fn captions_wait_while_the_picture_does_not_follow_now() {
    let host = page();
    open(&host);
    host.person(Person::Act(Action::TogglePause));
    assert_eq!(captions(&host), None);
    host.person(Person::Act(Action::Follow));
    assert!(captions(&host).is_some());
}

#[test]
fn captions_have_no_room_in_small_windows_beside_panels_and_in_lessons() {
    let host = page();
    let has_room = |size: Size, window: Window| {
        paints(&host, 3_000.0, size, window);
        host.model.borrow().has_room_for_captions()
    };
    assert!(has_room(SIZE, WINDOW));
    let narrow = Window {
        width_px: 990.0,
        ..WINDOW
    };
    assert!(!has_room(SIZE, narrow));
    let beside = Size {
        width_px: 690.0,
        ..SIZE
    };
    assert!(!has_room(beside, WINDOW));
    let low = Size {
        height_px: 430.0,
        ..SIZE
    };
    assert!(!has_room(low, WINDOW));
    host.model.borrow_mut().panels.is_lesson = true;
    assert!(!has_room(SIZE, WINDOW));
    assert_eq!(host.model.borrow().captions_free_px(), 0.0);
}
