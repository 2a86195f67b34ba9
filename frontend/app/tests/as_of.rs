//! The moment for which panels answer, and the range that a person marks.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::{Log, at};
use host::{Host, log};
use watchscope_app::core::layout::RULER_PX;
use watchscope_app::core::person::{LessonLanes, Person};
use watchscope_app::input::actions::Action;
use watchscope_app::input::gesture::Pointer;
use watchscope_model::Time;
use watchscope_model::vocabulary::{Cause, ChangeType, Origin, Phase, PhaseReason};
use watchscope_timeline::LaneId;

/// Returns a log in which one of three pods is deleted at 6 s, and a page that shows it at 10 s.
fn page() -> (Host, Log) {
    let mut log = log();
    let deleted = (ChangeType::Deleted, Origin::Live);
    log.change(6.0, "shop/pods", deleted.0, deleted.1, "cart-1", 20);
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host.person(Person::Expand(LessonLanes::All));
    host.frame(2_000.0);
    (host, log)
}

/// Returns the x of a time.
fn x_px(host: &Host, at: Time) -> f64 {
    host.model.borrow().view.x_from_time(at)
}

fn pointer(x_px: f64, y_px: f64) -> Pointer {
    Pointer {
        id: 1,
        x_px,
        y_px,
        touch: false,
        shift: false,
        alt: true,
    }
}

fn click(host: &Host, at: Pointer) {
    host.person(Person::Press(at));
    host.person(Person::Release {
        pointer: at,
        at_ms: 10.0,
    });
    host.person(Person::Click);
}

fn drag(host: &Host, from: Pointer, to: Pointer) {
    host.person(Person::Press(from));
    host.person(Person::Motion(to));
    host.person(Person::Release {
        pointer: to,
        at_ms: 10.0,
    });
    host.person(Person::Click);
}

fn lane_of(host: &Host, name: &str) -> LaneId {
    let model = host.model.borrow();
    let key = format!("shop/pods shop/{name}");
    let keys = model
        .rows
        .rows
        .iter()
        .map(|row| (model.store.lane_key(row.id), row.id));
    let keys: Vec<(String, LaneId)> = keys.collect();
    let found = keys.iter().find(|of| of.0 == key);
    found.unwrap().1
}

/// Returns the y of a lane's middle.
fn y_px(host: &Host, lane: LaneId) -> f64 {
    let model = host.model.borrow();
    let row = model.rows.find(lane).unwrap();
    (row.y + row.height.half()).to_f64() - model.scroll_px + model.lanes_top_px()
}

#[test]
fn a_click_on_a_lane_shows_its_time_with_now_beside_it() {
    let (host, _) = page();
    let lane = lane_of(&host, "cart-1");
    let x = x_px(&host, at(4.0));
    click(&host, pointer(x, y_px(&host, lane)));
    let model = host.model.borrow();
    let presence = model.shown.presence.as_ref().unwrap();
    assert!(presence.held, "{presence:?}");
    assert!(presence.answer.ends_with("(2 s)."), "{}", presence.answer);
    let beside = model.shown.beside.as_ref().unwrap();
    assert!(beside.now.starts_with("Not held since"), "{beside:?}");
    assert_eq!(model.shown.as_of.as_ref().unwrap().clock, "09:31:04");
    assert!(model.view.following, "the picture still follows now");
}

#[test]
fn an_unchanged_answer_now_reads_the_same() {
    let (host, _) = page();
    let lane = lane_of(&host, "cart-0");
    click(&host, pointer(x_px(&host, at(4.0)), y_px(&host, lane)));
    let model = host.model.borrow();
    assert_eq!(model.shown.beside.as_ref().unwrap().now, "The same.");
}

#[test]
fn a_click_on_the_ruler_stops_the_picture_and_now_follows_again() {
    let (host, _) = page();
    let x = x_px(&host, at(4.0));
    click(&host, pointer(x, RULER_PX / 2.0));
    host.frame(3_000.0);
    {
        let model = host.model.borrow();
        assert!(!model.view.following);
        let off_us = model.marked.as_of.unwrap().micros_since(at(4.0));
        assert!(off_us.abs() < 100_000, "{off_us}");
        assert_eq!(model.shown.as_of.as_ref().unwrap().unknown, None);
    }
    host.person(Person::Act(Action::Follow));
    host.frame(4_000.0);
    let model = host.model.borrow();
    assert_eq!((model.marked.as_of, &model.shown.as_of), (None, &None));
}

#[test]
fn stopping_to_follow_marks_that_moment() {
    let (host, _) = page();
    host.person(Person::Scroll {
        dx_px: -40.0,
        dy_px: 0.0,
    });
    let model = host.model.borrow();
    assert_eq!(model.marked.as_of, Some(model.now()));
}

#[test]
fn a_time_before_the_log_shows_that_watchscope_did_not_run() {
    let (host, _) = page();
    let left = host.model.borrow().view.left();
    host.person(Person::Scroll {
        dx_px: -600.0,
        dy_px: 0.0,
    });
    click(&host, pointer(1.0, RULER_PX / 2.0));
    host.frame(3_000.0);
    let model = host.model.borrow();
    assert!(model.marked.as_of.unwrap() < left);
    let unknown = model.shown.as_of.as_ref().unwrap().unknown;
    assert_eq!(unknown, Some("watchscope did not run then."));
    assert!(model.shown.board.standing.is_empty());
}

#[test]
fn a_drag_on_the_ruler_marks_a_range_and_shows_its_contents() {
    let (host, _) = page();
    let top_px = host.model.borrow().lanes_top_px();
    let (from, to) = (x_px(&host, at(1.5)), x_px(&host, at(7.0)));
    drag(&host, pointer(from, 10.0), pointer(to, 14.0));
    host.frame(3_000.0);
    {
        let model = host.model.borrow();
        let range = model.shown.range.as_ref().unwrap();
        let parts: Vec<&str> = range.words.parts.iter().map(|part| &*part.0).collect();
        assert_eq!(parts, ["3 changes"]);
        assert!(!range.words.is_loading);
        assert_eq!(model.lanes_top_px(), top_px + 28.0, "the row has its room");
        // The end of the range overrides the marked moment.
        let as_of = model.shown.as_of.as_ref().unwrap();
        assert!(as_of.is_range, "{as_of:?}");
    }
    host.person(Person::Key(Action::ZoomToRange, None));
    let (left, right) = {
        let view = host.model.borrow().view;
        (view.left(), view.right())
    };
    assert!(at(0.5) < left && left < at(1.5) && at(7.0) < right && right < at(8.0));
    host.person(Person::Key(Action::Clear, None));
    let model = host.model.borrow();
    assert_eq!(model.marked.range, None);
    assert_eq!(model.lanes_top_px(), top_px);
    assert_eq!(model.shown.range, None, "the row disappears with the range");
}

#[test]
fn the_row_of_a_range_comes_when_the_drag_ends() {
    let (host, _) = page();
    let (from, to) = (x_px(&host, at(1.5)), x_px(&host, at(7.0)));
    drag(&host, pointer(from, 10.0), pointer(to, 14.0));
    assert!(host.model.borrow().shown.range.is_some());
}

#[test]
fn a_drag_after_the_present_marks_no_range_and_shows_no_row() {
    let (host, _) = page();
    let now_px = {
        let model = host.model.borrow();
        model.view.x_from_time(model.now())
    };
    let (from, to) = (pointer(now_px + 40.0, 10.0), pointer(now_px + 90.0, 12.0));
    host.person(Person::Press(from));
    host.person(Person::Motion(to));
    host.frame(3_000.0);
    let is_shown = || {
        let model = host.model.borrow();
        (model.marked.range.is_some(), model.shown.range.is_some())
    };
    assert_eq!(is_shown(), (false, false));
    host.person(Person::Release {
        pointer: to,
        at_ms: 3_010.0,
    });
    assert_eq!(is_shown(), (false, false));
}

#[test]
fn a_drag_with_shift_in_the_lanes_marks_a_range_and_pans_nothing() {
    let (host, _) = page();
    let view = host.model.borrow().view;
    let shift = |s: f64| Pointer {
        shift: true,
        ..pointer(x_px(&host, at(s)), 120.0)
    };
    drag(&host, shift(7.0), shift(2.5));
    let model = host.model.borrow();
    let (from, to) = model.marked.range.unwrap();
    assert!(from < to && from.micros_since(at(2.5)).abs() < 100_000);
    assert_eq!(model.view.left(), view.left());
    assert_eq!(model.shown.tooltip, None);
}

#[test]
fn an_edge_snaps_to_a_gap_nearby_unless_alt_is_down() {
    let (host, mut log) = page();
    let from = log.records.len();
    log.open(7.0, "shop/pods", 1, 1, 20);
    log.end(
        8.0,
        "shop/pods",
        1,
        watchscope_model::vocabulary::Cause::Eof,
    );
    let opening = log.state_after(from);
    let (mut writer, head) =
        watchscope_model::chapter::ChapterWriter::open("log".into(), log.epoch.clone(), &opening);
    host.model.borrow_mut().store.snapshot(&head).unwrap();
    host.live(&log, &mut writer, from);
    host.frame(3_000.0);
    let edge = x_px(&host, at(8.0));
    let marked = |alt: bool| {
        let near = Pointer {
            alt,
            ..pointer(edge + 4.0, 10.0)
        };
        let begin = pointer(x_px(&host, at(5.0)), 10.0);
        drag(&host, begin, near);
        let range = host.model.borrow().marked.range;
        range.unwrap().1
    };
    assert_eq!(marked(false), at(8.0));
    assert!(marked(true) > at(8.0));
}

#[test]
fn a_place_names_the_moment_and_the_range() {
    let (host, _) = page();
    let (from, to) = (at(1.0).0, at(9.0).0);
    let (moment, first, last) = (at(4.0).0, at(2.0).0, at(5.0).0);
    let link = format!("#v=1&log=log&from={from}&to={to}&at={moment}&mark={first}-{last}");
    host.person(Person::GoTo(link.as_str().into()));
    {
        let model = host.model.borrow();
        assert_eq!(model.marked.as_of, Some(at(4.0)));
        assert_eq!(model.marked.range, Some((at(2.0), at(5.0))));
    }
    host.frame(9_000.0);
    let named = host.person(Person::NamePlace);
    let is_named = named.iter().any(|effect| effect.contains(&link[1..]));
    let written = host.model.borrow().panels.address.written.clone();
    assert!(is_named || written == link[1..], "{named:?}, {written}");

    let elsewhere = format!("#v=1&log=log&from={from}&to={to}");
    host.person(Person::GoTo(elsewhere.as_str().into()));
    let model = host.model.borrow();
    assert_eq!(model.marked.range, None);
    assert_eq!(model.shown.range, None, "its row is gone with it");
}

#[test]
fn a_dialog_is_handed_a_range_once() {
    let (host, _) = page();
    let (from, to) = (at(2.0), at(5.0));
    host.person(Person::TakeRange { from, to });
    let handed = |now_ms| {
        let done = host.frame(now_ms);
        let handed = done.iter().filter(|words| words.contains("HandRange"));
        handed.count()
    };
    assert_eq!((handed(3_000.0), handed(3_500.0)), (1, 0));
}

#[test]
fn saving_opens_the_export_dialog_for_a_recording() {
    let (host, _) = page();
    let opened =
        |as_recording: bool| format!("Panel(OpenExport {{ as_recording: {as_recording} }})");
    assert_eq!(host.person(Person::SaveRange), [opened(true)]);
    assert_eq!(host.person(Person::Act(Action::Export)), [opened(false)]);
}

#[test]
fn the_header_counts_streams_as_of_the_marked_moment() {
    let mut log = Log::new("a");
    log.opened(0.5, "shop/pods", 1, &["cart-0", "cart-1"], 100);
    log.phase(
        0.7,
        "shop/pods",
        Phase::Streaming,
        PhaseReason::Opened,
        None,
    );
    let (kind, origin) = (ChangeType::Deleted, Origin::Live);
    log.change(6.0, "shop/pods", kind, origin, "cart-1", 120);
    log.end(7.0, "shop/pods", 10, Cause::TcpReset);
    log.phase(
        7.0,
        "shop/pods",
        Phase::Waiting,
        PhaseReason::ShortStream,
        None,
    );
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host.frame(2_000.0);
    let header = |seconds: f64| {
        click(&host, pointer(x_px(&host, at(seconds)), 10.0));
        host.frame(1_000.0 * seconds);
        host.model.borrow().shown.summary.words.clone()
    };
    assert_eq!(header(5.0), "1 watch streaming");
    assert_eq!(header(8.0), "1 watch, not streaming");
}
