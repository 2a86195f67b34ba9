//! Steps through trouble, the edges of the picture, merged chips, and the header's counts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::{Log, at};
use host::Host;
use watchscope_app::core::person::Person;
use watchscope_app::core::shown::Nth;
use watchscope_app::input::actions::Action;
use watchscope_model::Time;
use watchscope_model::vocabulary::{Cause, Severity, Standing};
use watchscope_timeline::words::ProblemPlace;
use watchscope_timeline::{LaneId, View};

/// The watches: more than fit in the window.
fn watches() -> Vec<String> {
    (0..40).map(|place| format!("ns-{place:02}/pods")).collect()
}

/// Returns a log of 40 watches with trouble on the first at 100 s, on the last at 300 and 301 s, and a gap without a
/// finding on the 20th from 500 s to 520 s.
fn troubled() -> Log {
    let mut log = Log::new("a");
    let all = watches();
    for (place, watch) in all.iter().enumerate() {
        log.opened(0.0, watch, place as u64 + 1, &["cart-0"], 1_000);
    }
    let raise = |log: &mut Log, s, code: &str, severity, watch: &str| {
        log.finding(s, code, severity, Standing::Raised, watch, "x")
    };
    raise(&mut log, 100.0, "F11", Severity::Error, &all[0]);
    raise(&mut log, 300.0, "F11", Severity::Warning, &all[39]);
    raise(&mut log, 301.0, "F11", Severity::Warning, &all[39]);
    log.end(500.0, &all[20], 21, Cause::End);
    log.gap(520.0, &all[20], false, None);
    log.bookmark(600.0, &all[3], 4, 2_000);
    log
}

/// Returns a page that shows a log, with its panels.
fn page_of(log: &Log) -> Host {
    let (host, mut writer) = Host::shows(log, 0);
    host.gets_panels(log, &mut writer, 0);
    host.frame(2_000.0);
    host
}

fn press(host: &Host, step: Action) {
    host.person(Person::Key(step, None));
}

/// Returns the stepper's words, and code, watch and time of the selected trouble.
fn stepper(host: &Host) -> String {
    let model = host.model.borrow();
    let stepper = model.shown.stepper.clone().unwrap();
    let current = stepper.current.map_or_else(String::new, |of| {
        format!(": {} {} {}", of.code, of.subject, of.at)
    });
    stepper.words + &current
}

#[test]
fn n_steps_through_all_trouble_by_time_and_stays_at_the_last() {
    let host = page_of(&troubled());
    assert_eq!(stepper(&host), "4 problems");
    host.person(Person::ShowTrouble(0));
    let mut seen = vec![stepper(&host)];
    for _ in 0..4 {
        press(&host, Action::NextTrouble);
        seen.push(stepper(&host));
    }
    insta::assert_snapshot!(seen.join("\n"), @r"
    Problem 1 of 4: F11 ns-00/pods 09:32:45, open
    Problem 2 of 4: F11 ns-39/pods 09:36:05
    Problem 3 of 4: F11 ns-39/pods 09:36:06, open
    Last of 4: gap lost ns-20/pods 09:39:25
    Last of 4: gap lost ns-20/pods 09:39:25
    ");
    assert_eq!(host.model.borrow().said, "last of 4");
    for _ in 0..4 {
        press(&host, Action::PreviousTrouble);
    }
    assert!(stepper(&host).starts_with("Problem 1 of 4"));
    assert_eq!(host.model.borrow().said, "first of 4");
}

#[test]
fn a_step_pauses_opens_the_watch_brings_its_lane_into_the_window_and_shows_begin_and_end() {
    let host = page_of(&troubled());
    for place in 0..4 {
        host.person(Person::ShowTrouble(place));
        host.frame(3_000.0 + place as f64 * 1_000.0);
        let model = host.model.borrow();
        let trouble = &model.panels.troubles.all()[place];
        assert!(!model.view.following);
        let shown = model.view.left()..=model.view.right();
        let end = trouble.until.min(trouble.began.plus_micros(1_800_000_000));
        assert!(shown.contains(&trouble.began) && shown.contains(&end.min(at(620.0))));
        let row = model.rows.find(LaneId::Watch(trouble.watches[0])).unwrap();
        assert_eq!(row.expanded, Some(true));
        let (top, bottom) = (model.scroll_px, model.scroll_px + model.window_px());
        assert!(
            top <= row.y.to_f64() && row.bottom().to_f64() <= bottom,
            "{place}"
        );
    }
}

#[test]
fn capital_n_while_the_picture_follows_goes_to_the_latest() {
    let host = page_of(&troubled());
    press(&host, Action::PreviousTrouble);
    assert!(stepper(&host).starts_with("Last of 4: gap lost ns-20/pods"));
    let key = |shift| host::action_of("KeyN", "n", shift);
    assert_eq!(key(false), Some(Action::NextTrouble));
    assert_eq!(key(true), Some(Action::PreviousTrouble));
}

#[test]
fn the_edges_count_trouble_in_each_direction_and_a_click_goes_there() {
    let host = page_of(&troubled());
    // With all quiet watches there are more rows than fit.
    host.person(Person::ToggleLane(LaneId::Quiet));
    host.person(Person::ShowTime {
        from: at(200.0),
        to: at(250.0),
    });
    host.frame(3_000.0);
    let words = |host: &Host| -> String {
        let edges = host.model.borrow().shown.edges.clone();
        let all = [edges.left, edges.right, edges.above, edges.below];
        let lines = all.into_iter().flatten().map(|edge| {
            let named = edge.named.iter();
            let named = named.map(|(_, of)| format!(" {} {} {}", of.code, of.subject, of.at));
            edge.words + &named.collect::<String>()
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(words(&host), @r"
    1 problem earlier F11 ns-00/pods 09:32:45, open
    3 problems later gap lost ns-20/pods 09:39:25 F11 ns-39/pods 09:36:06, open
    2 problems below F11 ns-39/pods 09:36:06, open F11 ns-39/pods 09:36:05
    ");
    let below = host.model.borrow().shown.edges.below.clone().unwrap();
    host.person(Person::ShowTrouble(below.goes_to));
    host.frame(4_000.0);
    assert!(stepper(&host).contains("ns-39/pods"));
    insta::assert_snapshot!(words(&host), @r"
    1 problem earlier F11 ns-00/pods 09:32:45, open
    1 problem above F11 ns-00/pods 09:32:45, open
    ");
}

#[test]
fn enter_on_a_merged_chip_steps_through_its_members_each_with_its_own_evidence() {
    let host = page_of(&troubled());
    host.person(Person::ShowTime {
        from: at(0.0),
        to: at(620.0),
    });
    host.frame(3_000.0);
    let members = {
        let model = host.model.borrow();
        let mut hits = model.scene.hits.iter();
        hits.find_map(|hit| match &hit.target {
            watchscope_timeline::scene::Target::Findings(ids) => Some((ids.clone(), hit.area)),
            _ => None,
        })
    };
    let (members, area) = members.unwrap();
    assert_eq!(members.len(), 2);
    let (x_px, y_px) = (area.x.to_f64() + 2.0, area.y.to_f64() + 2.0);
    let y_px = y_px + host.model.borrow().lanes_top_px();
    let click = |host: &Host| {
        let pointer = watchscope_app::input::gesture::Pointer {
            id: 1,
            x_px,
            y_px,
            touch: false,
            shift: false,
            alt: false,
        };
        host.person(Person::Press(pointer));
        host.person(Person::Release {
            pointer,
            at_ms: 5_000.0,
        });
        host.person(Person::Click);
    };
    click(&host);
    let selected = |host: &Host| {
        let model = host.model.borrow();
        model.pick.evidence.as_ref().map(|of| of.finding)
    };
    assert_eq!(selected(&host), Some(members[0]));
    for expected in [members[1], members[0]] {
        press(&host, Action::Open);
        assert_eq!(selected(&host), Some(expected));
    }
}

#[test]
fn the_panel_steps_through_the_occurrences_of_one_finding() {
    let host = page_of(&troubled());
    host.person(Person::ShowTrouble(1));
    let nth = |number| Some(Nth { number, total: 2 });
    assert_eq!(host.model.borrow().shown.occurrence, nth(1));
    host.person(Person::StepOccurrence { is_next: true });
    assert_eq!(host.model.borrow().shown.occurrence, nth(2));
    host.person(Person::StepOccurrence { is_next: true });
    assert_eq!(host.model.borrow().said, "last of 2 occurrences");
    host.person(Person::ShowTrouble(0));
    assert_eq!(
        host.model.borrow().shown.occurrence,
        None,
        "it has only one"
    );
}

/// Returns the places of a problem of the header, by the start of its words.
fn places(host: &Host, words: &str) -> Vec<ProblemPlace> {
    let model = host.model.borrow();
    let mut problems = model.shown.problems.iter();
    let found = problems.find(|problem| problem.words.starts_with(words));
    found.map_or_else(Vec::new, |problem| problem.places.clone())
}

#[test]
fn following_the_header_counts_all_that_is_kept_and_each_click_goes_one_earlier() {
    let mut log = troubled();
    for (s, watch) in [(700.0, "ns-01/pods"), (800.0, "ns-02/pods")] {
        let stream = if watch == "ns-01/pods" { 2 } else { 3 };
        log.end(s, watch, stream, Cause::End);
        log.gap(s + 10.0, watch, false, None);
    }
    let host = page_of(&log);
    let mut seen: Vec<Time> = Vec::new();
    let mut now_ms = 3_000.0;
    for _ in 0..3 {
        let found = places(&host, "3 gaps lost");
        assert_eq!(found.len(), 3);
        host.person(Person::ShowProblemPlaces(found.into()));
        now_ms += 1_000.0;
        host.frame(now_ms);
        seen.push(host.model.borrow().panels.awaited.map_or_else(
            || {
                let model = host.model.borrow();
                let record = model.panels.selection.as_ref().unwrap().record().unwrap();
                model.store.entry(record).unwrap().at()
            },
            |of| of.at,
        ));
    }
    assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
    // As of a time it counts what is in view.
    let view = View::between(at(690.0), at(720.0), 800.0);
    host.person(Person::ShowTime {
        from: view.left(),
        to: view.right(),
    });
    host.frame(now_ms + 1_000.0);
    assert_eq!(places(&host, "1 gap lost").len(), 1);
}
