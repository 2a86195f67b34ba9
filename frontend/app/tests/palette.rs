//! The palette, without a browser: its rows for a text, and what choosing one does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::at;
use host::{Host, log};
use watchscope_app::core::palette::{PaletteDeed, RowKind};
use watchscope_app::core::person::Person;
use watchscope_app::input::actions::Action;
use watchscope_timeline::LaneId;

fn page() -> Host {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host
}

fn open(host: &Host, text: &str) {
    host.person(Person::Act(Action::Palette));
    host.person(Person::Palette(PaletteDeed::Typed(text.into())));
}

/// Returns the palette's rows: what it says, and what stands beside it or why it cannot be done.
fn rows(host: &Host) -> Vec<String> {
    let model = host.model.borrow();
    let shown = model.shown.palette.as_ref().unwrap();
    let rows = shown.rows.iter().map(|row| {
        let words = row.words.iter().map(|(piece, marked)| {
            if *marked {
                format!("[{piece}]")
            } else {
                piece.clone()
            }
        });
        let beside = row.refused.unwrap_or(&row.beside);
        format!("{:?}: {} | {beside}", row.kind, words.collect::<String>())
    });
    rows.collect()
}

fn is_open(host: &Host) -> bool {
    host.model.borrow().shown.palette.is_some()
}

#[test]
fn actions_come_before_lanes_and_what_cannot_be_done_now_comes_last_with_its_reason() {
    let host = page();
    open(&host, "s");
    insta::assert_debug_snapshot!(rows(&host), @r#"
    [
        "Action: [S]how all that is kept | 0",
        "Action: A [s]creen of lanes up | PageUp",
        "Action: A [s]creen of lanes down | PageDown",
        "Action: [S]how or hide the lanes bar: group and [s]ort | L",
        "Lane: [s]hop/jobs.batch | watch",
        "Lane: [s]hop/pods | watch",
        "Lane: cart-0 | shop/pods",
        "Lane: cart-1 | shop/pods",
    ]
    "#);
    host.person(Person::Palette(PaletteDeed::Typed("zoom".into())));
    insta::assert_debug_snapshot!(rows(&host), @r#"
    [
        "Action: [Zoom] in | W  +",
        "Action: [Zoom] out | S  −",
        "Action: [Zoom] to the marked range | No range is marked: drag on the ruler.",
    ]
    "#);
}

#[test]
fn a_lane_that_has_no_row_is_opened_and_selected() {
    let host = page();
    open(&host, "cart-1");
    let found = rows(&host);
    let place = found
        .iter()
        .position(|row| row.starts_with("Lane: [cart-1]"));
    let place = place.unwrap_or_else(|| panic!("{found:?}"));
    host.person(Person::Palette(PaletteDeed::Do(place)));
    assert!(!is_open(&host));
    host.frame(2_000.0);
    let model = host.model.borrow();
    let lane = model.pick.selected.unwrap();
    assert!(matches!(lane, LaneId::Object(..)));
    assert!(model.rows.find(lane).is_some());
}

#[test]
fn an_action_is_done_and_closes_the_palette() {
    let host = page();
    open(&host, "findings");
    host.person(Person::Key(Action::Choose, None));
    assert!(!is_open(&host));
    assert!(host.model.borrow().panels.findings_open);
}

#[test]
fn a_row_that_cannot_be_done_says_why_and_leaves_the_palette_open() {
    let host = page();
    open(&host, "zoom to the marked");
    host.person(Person::Key(Action::Choose, None));
    assert!(is_open(&host));
    assert_eq!(
        host.model.borrow().said,
        "No range is marked: drag on the ruler."
    );
}

#[test]
fn a_time_leads_there_and_one_that_is_not_kept_to_the_nearest_that_is() {
    let host = page();
    open(&host, "09:31:05");
    insta::assert_debug_snapshot!(rows(&host), @r#"
    [
        "Place: Go to 09:31:05.000 | 2026-11-19",
    ]
    "#);
    host.person(Person::Key(Action::Choose, None));
    assert_eq!(host.model.borrow().marked.as_of, Some(at(5.0)));
    open(&host, "03:00");
    insta::assert_debug_snapshot!(rows(&host), @r#"
    [
        "Place: Go to 09:31:00.000 | 03:00 is not kept; kept from 2026-11-19 09:31:00",
    ]
    "#);
}

#[test]
fn a_loaded_resource_version_leads_to_its_record() {
    let host = page();
    open(&host, "rv:11");
    insta::assert_debug_snapshot!(rows(&host), @r#"
    [
        "Place: Go to resourceVersion 11 | cart-1 of shop/pods, 09:31:02.000",
        "Place: Search for resourceVersion 11 | in all that is kept",
    ]
    "#);
    host.person(Person::Key(Action::Choose, None));
    let model = host.model.borrow();
    assert_eq!(model.pick.record.unwrap().seq.0, 4);
}

#[test]
fn a_resource_version_that_is_not_kept_is_searched_for_and_the_nearest_is_offered() {
    let host = page();
    open(&host, "81,204,377");
    assert!(rows(&host)[0].ends_with("| 81204377 is not loaded"));
    host.chapter(&log(), 2);
    host.person(Person::Palette(PaletteDeed::Renew));
    insta::assert_debug_snapshot!(rows(&host), @r#"
    [
        "Place: Search for resourceVersion 81204377 | 81204377 is not kept; kept from 2026-11-19 09:31:00",
        "Place: Go to resourceVersion 12, the nearest | cart-2 of shop/pods, 09:31:03.000",
    ]
    "#);
    let asked = host.person(Person::Key(Action::Choose, None));
    assert!(!is_open(&host));
    assert!(
        asked
            .iter()
            .any(|words| words.contains(r#"text: "81204377""#)),
        "{asked:?}"
    );
}

#[test]
fn a_uid_leads_to_its_object_and_an_unknown_one_to_a_search() {
    let host = page();
    let (lane, uid) = {
        let store = &host.model.borrow().store;
        let lane = store.lane_of_key("shop/pods shop/cart-1").unwrap();
        (lane, store.lane_names(lane).1.unwrap().uid.to_string())
    };
    open(&host, &format!("uid:{uid}"));
    // All objects of this log have one uid.
    let found = rows(&host);
    let last = "Place: Go to object cart-1 | shop/pods, last at 09:31:02.000";
    assert_eq!(found[1], last, "{found:?}");
    host.person(Person::Palette(PaletteDeed::Do(1)));
    host.frame(2_000.0);
    assert_eq!(host.model.borrow().pick.selected, Some(lane));
    open(&host, "0b5c7f3a-11d2-4e4c-9a57-4e1f0c9d8b6a");
    let found = rows(&host);
    assert!(
        found[0].starts_with("Place: Search for uid 0b5c7f3a-11d2-4e4c"),
        "{found:?}"
    );
    assert!(found[0].ends_with("is not loaded"), "{found:?}");
    assert!(
        found[1].ends_with("| the oldest record that is kept"),
        "{found:?}"
    );
}

#[test]
fn a_number_that_may_be_a_part_of_a_name_is_a_resource_version_only_if_a_record_has_it() {
    let host = page();
    open(&host, "12");
    let places = |host: &Host| {
        let rows = rows(host).into_iter();
        rows.filter(|row| row.starts_with("Place")).count()
    };
    assert_eq!(places(&host), 2);
    host.person(Person::Palette(PaletteDeed::Typed("777".into())));
    assert_eq!(places(&host), 0);
}

#[test]
fn a_link_names_a_text_that_the_palette_opens_with() {
    let host = page();
    host.person(Person::GoTo("#v=1&find=rv:11".into()));
    assert!(is_open(&host));
    assert!(rows(&host)[0].starts_with("Place: Go to resourceVersion 11"));
}

#[test]
fn places_visited_before_are_listed_while_nothing_is_typed() {
    let host = page();
    host.person(Person::Act(Action::Palette));
    assert!(
        !host
            .model
            .borrow()
            .shown
            .palette
            .as_ref()
            .unwrap()
            .nothing
            .is_empty()
    );
    host.person(Person::Key(Action::Clear, None));
    assert!(!is_open(&host));
    open(&host, "cart-1");
    host.person(Person::Key(Action::Choose, None));
    for ms in [3_000.0, 3_300.0, 5_000.0] {
        host.frame(ms);
    }
    host.person(Person::Act(Action::Palette));
    let found = rows(&host);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("Place: cart-1"), "{found:?}");
}

#[test]
fn the_row_after_the_last_is_the_first() {
    let host = page();
    open(&host, "go");
    let count = rows(&host).len();
    assert!(count > 1);
    host.person(Person::Key(Action::RowUp, None));
    let picked = || host.model.borrow().shown.palette.as_ref().unwrap().picked;
    assert_eq!(picked(), count - 1);
    host.person(Person::Key(Action::RowDown, None));
    assert_eq!(picked(), 0);
}

#[test]
fn g_lists_lanes_alone() {
    let host = page();
    host.person(Person::Act(Action::GoToLane));
    let model = host.model.borrow();
    let shown = model.shown.palette.as_ref().unwrap();
    assert!(shown.rows.iter().all(|row| row.kind == RowKind::Lane));
    assert!(!shown.rows.is_empty());
    drop(model);
    host.person(Person::Palette(PaletteDeed::Typed("09:31:02".into())));
    assert_eq!(rows(&host), ["Place: Go to 09:31:02.000 | 2026-11-19"]);
}
