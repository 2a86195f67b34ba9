//! The cursors A and B.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::{Log, at};
use host::Host;
use std::sync::Arc;
use watchscope_app::core::cursors::{BothBodies, ComparedShown, Cursor, CursorDeed, Span};
use watchscope_app::core::person::Person;
use watchscope_app::input::actions::Action;
use watchscope_app::input::gesture::Pointer;
use watchscope_model::Time;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_timeline::draw::Cursors;

/// Returns a page at 10 s, of a log in which one of three pods is deleted at 6 s.
fn page() -> Host {
    let mut log = Log::new("a");
    log.opened(0.5, "shop/pods", 1, &["cart-0", "cart-1", "cart-2"], 100);
    let (kind, origin) = (ChangeType::Deleted, Origin::Live);
    log.change(6.0, "shop/pods", kind, origin, "cart-1", 120);
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host.person(Person::Act(Action::TogglePause));
    host.frame(2_000.0);
    host
}

fn cursors(host: &Host) -> (Option<Time>, Option<Time>) {
    let Cursors { a, b } = host.model.borrow().marked.cursors;
    (a, b)
}

fn mark(host: &Host, seconds: f64) {
    host.person(Person::Cursors(CursorDeed::Mark(at(seconds))));
}

fn compared(host: &Host) -> Arc<ComparedShown> {
    let model = host.model.borrow();
    let shown = model.shown.cursors.as_ref().unwrap();
    shown.compared.clone().unwrap().0
}

fn pointer(x_px: f64, touch: bool) -> Pointer {
    Pointer {
        id: 1,
        x_px,
        y_px: 200.0,
        touch,
        shift: false,
        alt: false,
    }
}

#[test]
fn b_sets_a_at_the_pointer_then_b_and_then_moves_the_nearer_one() {
    let host = page();
    let x_px = |seconds| host.model.borrow().view.x_from_time(at(seconds));
    for seconds in [5.0, 7.0, 6.8] {
        host.person(Person::Motion(pointer(x_px(seconds), false)));
        host.person(Person::Key(Action::MarkCursor, None));
    }
    let (a, b) = cursors(&host);
    let near = |time: Option<Time>, seconds| time.unwrap().micros_since(at(seconds)).abs() < 100;
    assert!(near(a, 5.0) && near(b, 6.8), "{a:?} {b:?}");
    let shown = compared(&host);
    assert_eq!(shown.head[0].words, "1 went");
    assert_eq!(shown.rows[0].group, "went 1");
    assert_eq!(shown.rows[0].name, "shop/cart-1");
    assert_eq!(shown.sides, ["etcd", "this watch"]);
}

#[test]
fn the_row_from_a_to_b_has_its_room_and_its_words_where_they_fit() {
    let host = page();
    let top_px = || host.model.borrow().lanes_top_px();
    let before_px = top_px();
    mark(&host, 5.0);
    assert_eq!(top_px(), before_px, "one time has no row");
    mark(&host, 7.0);
    assert_eq!(top_px(), before_px + 28.0);
    let span = host.model.borrow().cursors_span().unwrap();
    let x_px = |seconds| host.model.borrow().view.x_from_time(at(seconds));
    assert_eq!((span.left_px, span.right_px), (x_px(5.0), x_px(7.0)));
    let words_left = |left_px, right_px| Span { left_px, right_px }.words_left_px(100.0, 500.0);
    assert_eq!(words_left(100.0, 300.0), 150.0, "in the middle");
    assert_eq!(words_left(100.0, 200.0), 200.0, "after B");
    assert_eq!(words_left(380.0, 450.0), 280.0, "before A");
    assert_eq!(words_left(50.0, 204.0), 204.0);
    assert_eq!(words_left(90.0, 445.0), 217.5);
}

#[test]
fn the_status_bar_counts_the_gaps_from_a_to_b_while_both_are_set() {
    let host = page();
    let said = || {
        let right = host.model.borrow().shown.status.right.clone();
        right.into_iter().find(|text| text.starts_with("A to B"))
    };
    mark(&host, 5.0);
    assert_eq!(said(), None);
    mark(&host, 7.0);
    host.frame(2_500.0);
    assert_eq!(said().as_deref(), Some("A to B: no gap"));
    host.person(Person::Cursors(CursorDeed::Clear));
    host.frame(3_000.0);
    assert_eq!(said(), None);
}

#[test]
fn a_changed_object_has_two_bodies_and_one_that_went_has_none_to_compare() {
    let mut log = Log::new("a");
    log.opened(0.5, "shop/pods", 1, &["cart-0", "cart-1"], 100);
    let live = Origin::Live;
    log.change(2.0, "shop/pods", ChangeType::Modified, live, "cart-0", 110);
    log.change(6.0, "shop/pods", ChangeType::Modified, live, "cart-0", 120);
    log.change(6.5, "shop/pods", ChangeType::Deleted, live, "cart-1", 130);
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host.person(Person::Act(Action::TogglePause));
    host.frame(2_000.0);
    mark(&host, 5.0);
    mark(&host, 7.0);
    let shown = compared(&host);
    let bodies = |name: &str| {
        let place = shown.rows.iter().position(|row| row.name == name);
        host.model.borrow().both_bodies(place.unwrap())
    };
    let BothBodies::At([(_, a), (_, b)]) = bodies("shop/cart-0") else {
        panic!("{:?}", bodies("shop/cart-0"));
    };
    assert_eq!(b, a + 1, "the changes at 2 s and at 6 s follow each other");
    let went = BothBodies::Not("The watch held it at A and not at B.");
    assert_eq!(bodies("shop/cart-1"), went);
    let row = shown.rows.iter().find(|row| row.name == "shop/cart-1");
    assert_eq!(
        row.unwrap().held_at_b,
        "At B: not held by etcd, this watch."
    );
    let missing = host.model.borrow().both_bodies(99);
    assert!(matches!(missing, BothBodies::Not(_)));
}

#[test]
fn without_a_pointer_b_takes_the_moment_of_the_panels() {
    let host = page();
    host.person(Person::Key(Action::MarkCursor, None));
    assert_eq!(cursors(&host).0, host.model.borrow().marked.as_of);
}

#[test]
fn an_earlier_second_cursor_becomes_a() {
    let host = page();
    mark(&host, 7.0);
    mark(&host, 5.0);
    assert_eq!(cursors(&host), (Some(at(5.0)), Some(at(7.0))));
}

#[test]
fn two_times_without_a_change_between_are_the_same() {
    let host = page();
    mark(&host, 6.5);
    mark(&host, 7.0);
    let words = &compared(&host).head[0].words;
    assert!(words.starts_with("A and B are the same: "), "{words}");
}

#[test]
fn a_cursor_moves_by_px_and_by_records_and_stops_at_the_other_one() {
    let host = page();
    let deed = |deed| host.person(Person::Cursors(deed));
    mark(&host, 5.0);
    mark(&host, 7.0);
    deed(CursorDeed::Step(Cursor::A, true));
    assert_eq!(cursors(&host).0, Some(at(6.0)));
    let px_us = host.model.borrow().view.us_per_px as i64;
    deed(CursorDeed::Nudge(Cursor::B, -2.0));
    let moved = at(7.0).micros_since(cursors(&host).1.unwrap());
    assert!((moved - 2 * px_us).abs() <= 2, "{moved}");
    let x_px = host.model.borrow().view.x_from_time(at(9.0));
    deed(CursorDeed::Drag(Cursor::A, x_px));
    let (a, b) = cursors(&host);
    assert_eq!(a, b, "A stops at B");
}

#[test]
fn escape_drops_b_and_then_a() {
    let host = page();
    mark(&host, 5.0);
    mark(&host, 7.0);
    host.person(Person::Key(Action::Clear, None));
    assert_eq!(cursors(&host), (Some(at(5.0)), None));
    host.person(Person::Key(Action::Clear, None));
    assert_eq!(cursors(&host), (None, None));
    assert_eq!(host.model.borrow().shown.cursors, None);
}

#[test]
fn a_long_press_of_a_finger_sets_a_and_a_tap_does_not() {
    let host = page();
    let x_px = host.model.borrow().view.x_from_time(at(5.0));
    let press = |held_ms: u64| {
        host.person(Person::Press(pointer(x_px, true)));
        let mut now = host.now.get();
        now.ms += held_ms;
        host.now.set(now);
        let (pointer, at_ms) = (pointer(x_px, true), 1_000.0 * held_ms as f64);
        host.person(Person::Release { pointer, at_ms });
        host.person(Person::Click);
    };
    press(100);
    assert_eq!(cursors(&host), (None, None));
    press(600);
    assert!(cursors(&host).0.is_some());
}

#[test]
fn a_link_names_both_and_leads_to_them() {
    let host = page();
    mark(&host, 5.0);
    mark(&host, 7.0);
    let (a, b) = (at(5.0).0, at(7.0).0);
    let done = host.person(Person::NamePlace).join(" ");
    assert!(done.contains(&format!("ab={a}-{b}")), "{done}");
    let other = page();
    let link = format!("v=1&from={}&to={}&ab={a}-{b}", at(1.0).0, at(9.0).0);
    other.person(Person::GoTo(link.as_str().into()));
    assert_eq!(cursors(&other), (Some(at(5.0)), Some(at(7.0))));
    assert_eq!(compared(&other).head[0].words, "1 went");
}

#[test]
fn a_selection_puts_the_detail_before_the_comparison_and_a_button_leads_back() {
    let host = page();
    mark(&host, 5.0);
    mark(&host, 7.0);
    let is_front = || host.model.borrow().shown.cursors.as_ref().unwrap().is_front;
    assert!(is_front());
    let lane = compared(&host).rows[0].lane.unwrap();
    host.person(Person::OpenLane(lane));
    host.person(Person::Cursors(CursorDeed::Renew));
    assert!(!is_front());
    host.person(Person::Cursors(CursorDeed::Show));
    assert!(is_front());
}
