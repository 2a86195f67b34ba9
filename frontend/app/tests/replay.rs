//! Playing a recording: the picture and the answers at each moment, and where it stops.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::at;
use host::{Host, log, welcome_recorded};
use watchscope_app::core::person::Person;
use watchscope_app::input::actions::Action;
use watchscope_model::Time;
use watchscope_model::vocabulary::{ChangeType, Origin};

/// Opens a recording of 20 s.
fn recording() -> Host {
    let mut log = log();
    for s in [6.0, 12.0, 20.0] {
        let (change, origin) = (ChangeType::Modified, Origin::Live);
        log.change(s, "shop/pods", change, origin, "cart-1", 20 + s as u64);
    }
    let welcome = welcome_recorded(at(0.0), at(20.0));
    let (host, mut writer) = Host::shows_after(&welcome, &log, 0);
    host.gets_panels(&log, &mut writer, 0);
    host
}

fn moment(host: &Host) -> Time {
    let model = host.model.borrow();
    model.marked.as_of.unwrap_or(model.now())
}

/// Draws frames, 200 ms apart, from one time of the page to another.
fn frames(host: &Host, from_ms: u64, to_ms: u64) {
    for ms in (from_ms..=to_ms).step_by(200) {
        host.frame(ms as f64);
    }
}

#[test]
fn a_recording_opens_whole_and_paused_at_its_end() {
    let host = recording();
    let model = host.model.borrow();
    let replay = model.shown.replay.as_ref().unwrap();
    assert!(!replay.is_playing && replay.is_at_end, "{replay:?}");
    assert_eq!((&*replay.clock, &*replay.lasts), ("09:31:20", "20 s"));
    assert!(model.view.left() <= at(0.0) && at(20.0) <= model.view.right());
}

#[test]
fn play_starts_at_the_begin_hides_later_records_and_stops_at_the_end() {
    let host = recording();
    host.person(Person::Act(Action::TogglePause));
    host.frame(1_200.0);
    frames(&host, 1_400, 1_600);
    // Half a second at 10 seconds of the recording per second, and the time that passed at the start.
    let reached = moment(&host);
    assert!(at(3.0) < reached && reached < at(9.0), "{reached:?}");
    {
        let model = host.model.borrow();
        assert_eq!(model.now(), reached, "now is the recording's time");
        let last = model.scene.hits.iter().map(|hit| hit.area.x).max();
        let pen = model.view.x(reached);
        assert!(last.unwrap() <= pen, "no later record is drawn");
    }
    frames(&host, 1_800, 5_000);
    let model = host.model.borrow();
    let replay = model.shown.replay.as_ref().unwrap();
    assert!(!replay.is_playing && replay.is_at_end, "{replay:?}");
    assert_eq!(model.now(), at(20.0));
    assert!(
        model.said.starts_with("The recording ends here"),
        "{}",
        model.said
    );
}

#[test]
fn pause_shows_the_whole_recording_and_panels_answer_for_the_reached_time() {
    let host = recording();
    host.person(Person::SeekShare(0.5));
    assert_eq!(moment(&host), at(10.0));
    host.person(Person::Act(Action::Play));
    host.frame(1_200.0);
    host.person(Person::Act(Action::Play));
    host.frame(2_000.0);
    let model = host.model.borrow();
    assert!(!model.view.following);
    assert_eq!(model.now(), at(20.0));
    let as_of = model.marked.as_of.unwrap();
    assert!(at(10.0) <= as_of && as_of < at(20.0), "{as_of:?}");
}

#[test]
fn speeds_stop_at_both_ends_and_arrows_move_by_seconds() {
    let host = recording();
    let speed = || host.model.borrow().panels.speed.0;
    for _ in 0..9 {
        host.person(Person::Key(Action::Faster, None));
    }
    assert_eq!(speed(), 600);
    for _ in 0..9 {
        host.person(Person::Key(Action::Slower, None));
    }
    assert_eq!(speed(), 1);
    host.person(Person::Speed(7));
    assert_eq!(speed(), 1, "an unknown speed is ignored");
    host.person(Person::SeekBy { by_us: -1_000_000 });
    assert_eq!(moment(&host), at(19.0));
    host.person(Person::SeekBy { by_us: 60_000_000 });
    assert_eq!(moment(&host), at(20.0));
}

#[test]
fn a_page_that_slept_continues_at_its_time() {
    let host = recording();
    host.person(Person::Speed(1));
    host.person(Person::SeekShare(0.0));
    host.person(Person::Act(Action::Play));
    host.frame(1_200.0);
    let before = moment(&host);
    host.frame(90_000.0);
    let passed_us = moment(&host).micros_since(before);
    assert!(passed_us <= 250_000, "{passed_us}");
}

#[test]
fn a_link_to_a_range_of_a_recording_marks_no_moment_unless_it_names_one() {
    let host = recording();
    let (from, to) = (at(2.0).0, at(8.0).0);
    host.person(Person::GoTo(format!("#v=1&from={from}&to={to}").into()));
    assert_eq!(host.model.borrow().marked.as_of, None);
    let moment = at(5.0).0;
    host.person(Person::GoTo(
        format!("#v=1&from={from}&to={to}&at={moment}").into(),
    ));
    assert_eq!(host.model.borrow().marked.as_of, Some(at(5.0)));
}
