//! The search, without a browser: its requests, the hits of answers, and going from one to the next.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::at;
use host::{Host, log};
use watchscope_app::core::lanes::LanesDeed;
use watchscope_app::core::person::Person;
use watchscope_app::core::search::{HITS_MOST, SearchDeed, SearchShown};
use watchscope_app::input::actions::Action;
use watchscope_timeline::scene::Step;
use watchscope_timeline::{LaneId, Primitive, Token};

fn page() -> Host {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host
}

/// Opens the search and types a text; returns what was requested of the browser.
fn searching(host: &Host, text: &str) -> Vec<String> {
    host.person(Person::Act(Action::Search));
    host.person(Person::Search(SearchDeed::Typed(text.into())))
}

fn shown(host: &Host) -> SearchShown {
    host.model.borrow().shown.search.clone().unwrap()
}

fn lines(host: &Host, number: u64, lines: &str) -> Vec<String> {
    host.person(Person::Search(SearchDeed::Lines {
        number,
        lines: lines.into(),
    }))
}

/// Returns the server's line for the record of `cart-1`.
fn hit(host: &Host) -> String {
    let model = host.model.borrow();
    let id = model.store.newest(watchscope_model::Seq(4));
    let epoch = model.store.epoch_of(id).unwrap();
    format!(
        r#"{{"type":"hit","epoch":"{epoch}","seq":4,"at":"2026-11-19T09:31:02.000000Z","log":"a","watch":"shop/pods","namespace":"shop","name":"cart-1","matched":["name"]}}"#
    )
}

const END: &str = r#"{"type":"end","ended":"all","hits":1,"keptFrom":{"epoch":"e","seq":1,"at":"2026-11-19T09:31:00.000000Z"}}"#;

#[test]
fn a_text_is_requested_of_the_server_and_its_hits_are_counted_as_they_come() {
    let host = page();
    let asked = searching(&host, "cart-1");
    assert!(
        asked
            .iter()
            .any(|words| words.contains("Search { number: 1")),
        "{asked:?}"
    );
    assert_eq!(shown(&host).count, "Looking…");
    lines(&host, 1, &hit(&host));
    assert_eq!(shown(&host).count, "1, more");
    lines(&host, 1, END);
    assert_eq!(shown(&host).count, "1");
}

#[test]
fn the_next_hit_is_selected_and_its_lane_and_time_are_named() {
    let host = page();
    searching(&host, "cart-1");
    lines(&host, 1, &format!("{}\n{END}", hit(&host)));
    host.person(Person::Key(Action::NextHit, None));
    insta::assert_debug_snapshot!(shown(&host), @r#"
    SearchShown {
        text: "cart-1",
        count: "1 of 1",
        current: "shop/pods shop/cart-1, 09:31:02.000: name",
        left_out: "",
        has_hits: true,
    }
    "#);
    let model = host.model.borrow();
    let selection = model.panels.selection.as_ref().unwrap();
    assert_eq!(selection.record().unwrap().seq.0, 4);
}

#[test]
fn a_hit_that_is_not_loaded_moves_the_picture_there_and_waits_for_it() {
    let host = page();
    searching(&host, "cart");
    let far = r#"{"type":"hit","epoch":"older","seq":7,"at":"2026-11-19T08:00:00.000000Z","log":"a","watch":"shop/pods","namespace":"shop","name":"cart-9","matched":["name"]}"#;
    lines(&host, 1, &format!("{far}\n{END}"));
    host.person(Person::Key(Action::NextHit, None));
    let model = host.model.borrow();
    assert!(model.view.left() < at(-5_460.0) && at(-5_460.0) < model.view.right());
    let (place, _) = model.panels.address.wanted.as_ref().unwrap();
    assert_eq!(place.lane.as_deref(), Some("shop/pods shop/cart-9"));
}

#[test]
fn an_answer_that_reached_its_limit_is_followed_by_the_next_request() {
    let host = page();
    searching(&host, "cart");
    let end = r#"{"type":"end","ended":"hits","next":"e.12","hits":0}"#;
    let asked = lines(&host, 1, end);
    assert!(
        asked
            .iter()
            .any(|words| words.contains(r#"before: Some("e.12")"#)),
        "{asked:?}"
    );
}

#[test]
fn an_answer_to_an_earlier_text_counts_no_longer() {
    let host = page();
    searching(&host, "cart");
    host.person(Person::Search(SearchDeed::Typed("cart-1".into())));
    lines(&host, 1, &hit(&host));
    assert_eq!(shown(&host).count, "Looking…");
}

#[test]
fn a_search_without_a_hit_says_what_was_searched() {
    let host = page();
    searching(&host, "zebra");
    lines(
        &host,
        1,
        r#"{"type":"end","ended":"all","hits":0,"keptFrom":{"epoch":"e","seq":1,"at":"2026-11-19T09:31:00.000000Z"},"bodiesSince":"2026-11-19T09:31:07.000000Z"}"#,
    );
    let shown = shown(&host);
    assert_eq!(
        shown.count,
        "No hit in the server's memory, kept since 2026-11-19 09:31:00"
    );
    assert_eq!(shown.left_out, "Bodies searched since 09:31:07");
}

#[test]
fn a_search_without_a_hit_in_what_is_loaded_says_so() {
    let host = page();
    searching(&host, "zebra");
    host.person(Person::Search(SearchDeed::NoServer { number: 1 }));
    for _ in 0..16 {
        host.person(Person::Search(SearchDeed::Step { number: 1 }));
    }
    let count = shown(&host).count;
    assert!(
        count.starts_with("No hit in what this page has loaded, kept since 2026-11-19"),
        "{count}"
    );
}

#[test]
fn a_recording_without_bodies_says_that_they_were_not_searched() {
    let log = log();
    let welcome = host::welcome_recorded(at(0.0), at(3.0));
    let (host, mut writer) = Host::shows_after(&welcome, &log, 2);
    host.gets_panels(&log, &mut writer, 2);
    searching(&host, "zebra");
    let end = END.replace("}}", "},\"noBodies\":true}");
    lines(&host, 1, &end);
    let shown = shown(&host);
    assert_eq!(
        shown.count,
        "No hit in the recording, kept since 2026-11-19 09:31:00"
    );
    assert_eq!(
        shown.left_out,
        "Bodies were not searched: the recording has none"
    );
}

/// Returns the y of the top and the x of the tip of each tick in the picture, in px.
fn ticks(host: &Host) -> Vec<(f64, f64)> {
    let model = host.model.borrow();
    let scene = &model.scene;
    let paths = scene.primitives.iter().filter_map(|of| match of {
        Primitive::Path {
            steps,
            fill: Some(Token::Text1),
            ..
        } => Some(steps.clone()),
        _ => None,
    });
    let ticks =
        paths.filter_map(
            |steps| match &scene.steps[steps.start as usize..steps.end as usize] {
                [
                    Step::Move(_, y),
                    Step::Line(..),
                    Step::Line(x, _),
                    Step::Close,
                ] => Some((y.to_f64(), x.to_f64())),
                _ => None,
            },
        );
    ticks.collect()
}

/// Returns the widths of the ticks in the overview, in px.
fn overview_ticks(host: &Host) -> Vec<f64> {
    let model = host.model.borrow();
    let (_, scene) = model.panels.overview.drawn.as_ref().unwrap();
    let foot = scene.primitives.iter().filter_map(|of| match of {
        Primitive::Rect {
            area,
            fill: Some(Token::Text1),
            ..
        } => Some(area),
        _ => None,
    });
    let ticks = foot.filter(|area| area.y.to_f64() == 43.0 && area.h.to_f64() == 4.0);
    ticks.map(|area| area.w.to_f64()).collect()
}

#[test]
fn each_hit_has_a_tick_on_its_lane_and_on_the_overview_until_the_search_closes() {
    let host = page();
    searching(&host, "cart-1");
    lines(&host, 1, &format!("{}\n{END}", hit(&host)));
    host.frame(2_000.0);
    let (top, x) = {
        let model = host.model.borrow();
        let lane = model.store.lane_of_key("shop/pods shop/cart-1").unwrap();
        let row = model
            .rows
            .find(lane)
            .or_else(|| model.rows.find(LaneId::Watch(lane.watch()?)));
        let x = model.view.x(at(2.0)).floor();
        (row.unwrap().y.to_f64() - model.scroll_px + 1.0, x.to_f64())
    };
    assert_eq!(ticks(&host), [(top, x)]);
    assert_eq!(overview_ticks(&host), [2.0]);
    host.person(Person::Key(Action::NextHit, None));
    host.frame(3_000.0);
    assert!(ticks(&host).is_empty(), "the current hit has a frame");
    assert_eq!(overview_ticks(&host), [2.0, 3.0]);
    host.person(Person::Search(SearchDeed::Close));
    host.frame(4_000.0);
    assert!(overview_ticks(&host).is_empty());
}

#[test]
fn a_hit_of_a_hidden_lane_has_no_tick_in_the_picture() {
    let host = page();
    searching(&host, "cart-1");
    lines(&host, 1, &hit(&host));
    host.frame(2_000.0);
    assert_eq!(ticks(&host).len(), 1);
    let watch = host.model.borrow().store.lane_of_key("shop/pods");
    host.model.borrow_mut().pick.focused = watch;
    host.person(Person::Act(Action::Hide));
    host.frame(3_000.0);
    assert!(ticks(&host).is_empty());
    assert_eq!(overview_ticks(&host).len(), 1);
    // Another lane is hidden in its place before the next frame, as a link does.
    host.person(Person::Lanes(LanesDeed::Show("shop/pods".into())));
    let other = {
        let model = host.model.borrow();
        let is_other = |lane: &LaneId| !model.lane_key(*lane).ends_with("cart-1");
        model
            .store
            .lanes()
            .filter(|lane| lane.object().is_some())
            .find(is_other)
    };
    host.model.borrow_mut().pick.focused = other;
    host.person(Person::Act(Action::Hide));
    assert_eq!(host.model.borrow().lanes.setup().hidden().len(), 1);
    host.frame(4_000.0);
    assert_eq!(ticks(&host).len(), 1);
}

#[test]
fn a_text_that_is_too_long_is_refused_in_words() {
    let host = page();
    searching(&host, &"x".repeat(257));
    assert_eq!(
        shown(&host).count,
        "the text to search for has 257 bytes; at most 256 are allowed."
    );
}

#[test]
fn without_a_server_the_page_searches_the_chapters_that_it_holds() {
    let host = page();
    searching(&host, "cart-");
    host.person(Person::Search(SearchDeed::NoServer { number: 1 }));
    for _ in 0..16 {
        host.person(Person::Search(SearchDeed::Step { number: 1 }));
    }
    let shown = shown(&host);
    assert_eq!(shown.count, "3");
    assert_eq!(
        shown.left_out,
        "Bodies were not searched: no server has them"
    );
}

#[test]
fn the_hits_that_the_page_holds_are_bounded() {
    let host = page();
    searching(&host, "cart");
    let hit = hit(&host);
    let many: String = std::iter::repeat_n(format!("{hit}\n"), HITS_MOST + 1).collect();
    lines(&host, 1, &many);
    assert_eq!(
        shown(&host).count,
        "5,000 and further ones, which are not listed"
    );
}

#[test]
fn lines_that_are_no_answer_are_passed_over() {
    let host = page();
    searching(&host, "cart");
    lines(
        &host,
        1,
        "{\"type\":\"later\"}\nno JSON\n{\"type\":\"hit\"}\n",
    );
    assert_eq!(shown(&host).count, "Looking…");
}
