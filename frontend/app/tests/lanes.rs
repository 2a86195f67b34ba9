//! All lanes at once, without a browser: keys, the lanes bar, links, and what the browser keeps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::Log;
use host::{Host, log};
use watchscope_app::core::lanes::LanesDeed;
use watchscope_app::core::person::Person;
use watchscope_app::core::place::Place;
use watchscope_app::input::actions::Action;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_timeline::LaneId;
use watchscope_timeline::lanes::{Folding, Grouping, RowKind, Sorting};

fn page_of(log: &Log) -> Host {
    let (host, mut writer) = Host::shows(log, 2);
    host.gets_panels(log, &mut writer, 2);
    host
}

/// Returns a page of 8 watches in four namespaces, each with 9 pods: 80 lanes.
fn many() -> Host {
    let mut log = Log::new("a");
    let mut ids = 0;
    let names: Vec<String> = (0..9).map(|number| format!("pod-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for namespace in ["catalog", "edge", "ingest", "shop"] {
        for kind in ["configmaps", "pods"] {
            ids += 1;
            log.opened(0.0, &format!("{namespace}/{kind}"), ids, &names, 1_000);
        }
    }
    let (kind, origin) = (ChangeType::Modified, Origin::Live);
    log.change(5.0, "shop/pods", kind, origin, "pod-3", 1_001);
    page_of(&log)
}

fn lane(host: &Host, key: &str) -> LaneId {
    host.model.borrow().store.lane_of_key(key).unwrap()
}

/// Gives a lane the focus and presses a key.
fn press(host: &Host, lane: LaneId, action: Action) -> Vec<String> {
    host.model.borrow_mut().pick.focused = Some(lane);
    host.person(Person::Key(action, None))
}

fn at(host: &Host, seconds: f64) {
    host.frame(seconds * 1_000.0);
}

fn kinds(host: &Host, kind: RowKind) -> usize {
    let model = host.model.borrow();
    let rows = model.rows.rows.iter();
    rows.filter(|row| row.kind == kind).count()
}

#[test]
fn the_lanes_bar_comes_with_more_than_60_watches_or_by_its_key() {
    let few = page_of(&log());
    assert!(!few.model.borrow().shown.lanes.is_bar);
    few.person(Person::Act(Action::LanesBar));
    assert!(few.model.borrow().shown.lanes.is_bar);
    let mut log = Log::new("a");
    for number in 0..61 {
        log.opened(
            0.0,
            &format!("space-{number:02}/pods"),
            number + 1,
            &[],
            1_000,
        );
    }
    let many = page_of(&log);
    assert!(many.model.borrow().shown.lanes.is_bar);
    assert_eq!(many.model.borrow().shown.lanes.words, "61 lanes");
    many.person(Person::Act(Action::LanesBar));
    assert!(!many.model.borrow().shown.lanes.is_bar);
}

#[test]
fn a_grouping_is_chosen_in_the_bar_and_ended_by_the_same_button() {
    let host = many();
    host.person(Person::Lanes(LanesDeed::Group(Grouping::Namespace)));
    at(&host, 2.0);
    assert_eq!(
        host.model.borrow().shown.lanes.words,
        "80 lanes in 4 namespaces"
    );
    host.person(Person::Lanes(LanesDeed::Group(Grouping::Namespace)));
    at(&host, 3.0);
    assert_eq!(host.model.borrow().lanes.setup().grouping, Grouping::None);
    assert!(host.model.borrow().said.contains("not grouped"));
}

#[test]
fn brackets_make_strips_and_open_trouble() {
    let host = many();
    assert_eq!(kinds(&host, RowKind::Watch), 1);
    host.person(Person::Key(Action::CollapseAll, None));
    at(&host, 2.0);
    assert_eq!(kinds(&host, RowKind::Watch), 0);
    assert_eq!(kinds(&host, RowKind::Strip), 8);
    host.person(Person::Key(Action::OpenTrouble, None));
    at(&host, 3.0);
    assert_eq!(kinds(&host, RowKind::Watch), 0, "there is no trouble");
    let folding = host.model.borrow().lanes.setup().folding;
    assert_eq!(folding, Folding::Trouble);
}

#[test]
fn pins_move_by_keys_and_by_a_drag_and_the_browser_keeps_them() {
    let host = many();
    let (pods, maps) = (lane(&host, "shop/pods"), lane(&host, "edge/configmaps"));
    press(&host, pods, Action::Pin);
    let done = press(&host, maps, Action::Pin);
    let kept = done.iter().find(|words| words.contains("Keep(Lanes"));
    assert!(
        kept.unwrap().contains("pin=shop/pods&pin=edge/configmaps"),
        "{done:?}"
    );
    let pinned = || host.model.borrow().lanes.setup().pinned().join(" ");
    press(&host, maps, Action::PinUp);
    assert_eq!(pinned(), "edge/configmaps shop/pods");
    host.person(Person::Lanes(LanesDeed::MovePin {
        lane: maps,
        to: pods,
    }));
    assert_eq!(pinned(), "shop/pods edge/configmaps");
    at(&host, 2.0);
    let first = host.model.borrow().rows.rows[1].id;
    assert_eq!(first, pods, "below the findings");
    press(&host, pods, Action::Pin);
    assert_eq!(pinned(), "edge/configmaps");
}

#[test]
fn a_hidden_lane_is_counted_and_the_list_shows_it_again() {
    let host = many();
    let pods = lane(&host, "shop/pods");
    host.person(Person::OpenLane(pods));
    press(&host, pods, Action::Hide);
    at(&host, 2.0);
    assert!(host.model.borrow().rows.find(pods).is_none());
    assert!(
        host.model.borrow().shown.detail.is_none(),
        "it was selected"
    );
    assert_eq!(host.model.borrow().shown.lanes.hidden, ["shop/pods"]);
    assert!(
        host.model
            .borrow()
            .shown
            .status
            .left
            .contains(&"7 of 80 lanes".to_owned())
    );
    host.person(Person::Lanes(LanesDeed::List(true)));
    assert!(host.model.borrow().shown.lanes.is_list_open);
    host.person(Person::Lanes(LanesDeed::ShowAll));
    at(&host, 3.0);
    assert!(host.model.borrow().rows.find(pods).is_some());
    assert!(!host.model.borrow().shown.lanes.is_list_open);
}

#[test]
fn a_link_carries_grouping_order_pins_and_hidden_lanes() {
    let host = many();
    host.person(Person::Lanes(LanesDeed::Group(Grouping::Kind)));
    host.person(Person::Lanes(LanesDeed::Sort(Sorting::Rate)));
    press(&host, lane(&host, "shop/pods shop/pod-3"), Action::Pin);
    press(&host, lane(&host, "edge/pods"), Action::Hide);
    let done = host.person(Person::NamePlace);
    let address = done.iter().find(|words| words.contains("Address")).unwrap();
    let fragment = address.split('"').nth(1).unwrap();
    let other = many();
    other.person(Person::GoTo(fragment.into()));
    let theirs = other.model.borrow().lanes.setup().clone();
    assert_eq!(&theirs, host.model.borrow().lanes.setup());
    other.person(Person::Lanes(LanesDeed::Kept(Some(
        "v=1&group=owner".into(),
    ))));
    let kept = other.model.borrow().lanes.setup().clone();
    assert_eq!(
        kept, theirs,
        "a link counts more than what the browser kept"
    );
}

#[test]
fn what_the_browser_kept_is_taken_and_hostile_texts_are_not() {
    let host = many();
    let kept = |text: &str| {
        host.person(Person::Lanes(LanesDeed::Kept(Some(text.into()))));
        at(&host, 2.0);
        host.model.borrow().lanes.setup().clone()
    };
    let setup = kept("v=1&group=server&sort=change&pin=shop/pods&hide=edge/pods");
    assert_eq!(setup.grouping, Grouping::Server);
    assert_eq!((setup.pinned().len(), setup.hidden().len()), (1, 1));
    for hostile in [
        "",
        "nonsense",
        "\u{0}=&&==",
        "{\"group\":1}",
        "v=2&group=kind",
    ] {
        assert_eq!(kept(hostile), setup, "{hostile:?}");
    }
    let long = format!("v=1&{}", "pin=x&".repeat(20_000));
    assert_eq!(kept(&long), setup, "over 64 KiB");
    let many = format!(
        "v=1&{}",
        (0..900)
            .map(|n| format!("pin=a{n}&hide=b{n}&"))
            .collect::<String>()
    );
    let bounded = kept(&many);
    assert_eq!((bounded.pinned().len(), bounded.hidden().len()), (100, 500));
    assert_eq!(
        kept("v=1&group=%FF&sort=<script>&pin=%0A").grouping,
        Grouping::None
    );
}

#[test]
fn a_fragment_stays_within_4_kib_however_many_lanes_are_hidden() {
    let mut place = Place::default();
    for number in 0..400 {
        assert!(
            place
                .setup
                .hide(&format!("a-namespace-with-a-name/pods {number}"))
        );
    }
    let fragment = place.fragment();
    assert!(fragment.len() <= 4 << 10);
    let read = Place::parse(&fragment).unwrap();
    let hidden = read.setup.hidden();
    assert!(hidden.len() > 50);
    assert_eq!(*hidden, place.setup.hidden()[..hidden.len()]);
}

#[test]
fn the_owners_of_a_selected_object_are_named_from_its_own_upwards() {
    let mut log = Log::new("a");
    for (ids, kind) in (1..).zip(["shop/pods", "shop/replicasets.apps"]) {
        log.opened(0.0, kind, ids, &[], 1_000);
    }
    let added = ChangeType::Added;
    log.change_owned(
        2.0,
        "shop/replicasets.apps",
        added,
        "web-1",
        1_001,
        Some(("Deployment", "web")),
    );
    log.change_owned(
        3.0,
        "shop/pods",
        added,
        "web-1-a",
        1_002,
        Some(("ReplicaSet", "web-1")),
    );
    log.change_owned(4.0, "shop/pods", added, "alone", 1_003, None);
    let host = page_of(&log);
    let owners = |key: &str| {
        host.person(Person::OpenLane(lane(&host, key)));
        let model = host.model.borrow();
        let owners = model.shown.detail.as_ref().unwrap().owners.clone();
        let owners = owners.unwrap().into_iter().map(|owner| {
            format!(
                "{}, has lane {}, {:?}",
                owner.name,
                owner.lane.is_some(),
                owner.why
            )
        });
        owners.collect::<Vec<_>>().join("; ")
    };
    insta::assert_snapshot!(owners("shop/pods shop/web-1-a"), @r#"ReplicaSet web-1, has lane true, ""; Deployment web, has lane false, "not watched""#);
    insta::assert_snapshot!(owners("shop/pods shop/alone"), @r#"none, has lane false, """#);
}
