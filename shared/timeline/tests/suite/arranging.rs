//! Arrangements of many lanes: groups, orders, pins, hidden and gone lanes.

use std::collections::BTreeSet;

use crate::cases::cases;
use crate::common::random::{Chance, random_log};
use crate::common::{Log, at};
use watchscope_model::vocabulary::*;
use watchscope_model::wire::Availability;
use watchscope_timeline::lanes::{Deed, Folding, Grouping, Row, RowKind, Sorting};
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::{LaneId, Lanes, Px, Rows, Store, View};

const PODS: &str = "shop/pods";
const MAPS: &str = "shop/configmaps";

fn lanes() -> Lanes {
    let mut lanes = Lanes::default();
    lanes.height = Some(Px::whole(2_000));
    lanes.records = Some(&RECORDS.rows);
    lanes
}

fn rows_at(store: &Store, lanes: &mut Lanes, now: f64) -> Rows {
    let view = View::following(at(now), 60_000_000, 800.0);
    lanes.rows(store, &view, at(now))
}

/// Returns the rows as text: a section's name in brackets before its first row, and open watches with a plus.
fn text(rows: &Rows) -> String {
    let name = |row: &Row| {
        let mut sections = rows.sections.iter();
        let section = sections.find(|section| rows.rows[section.row].id == row.id);
        let section = section.map_or(String::new(), |section| format!("[{}] ", section.name));
        let sign = match row.kind {
            RowKind::Watch => "+",
            RowKind::Strip => "-",
            _ => "",
        };
        format!("{section}{sign}{}{}", row.prefix, row.name)
    };
    let names: Vec<String> = rows.rows.iter().map(name).collect();
    names.join(", ")
}

fn change(log: &mut Log, s: f64, watch: &str, kind: ChangeType, name: &str, version: u64) {
    log.change(s, watch, kind, Origin::Live, name, version);
}

/// Returns a log of two watches in each of three namespaces, with changes in some.
fn three_namespaces() -> Log {
    let mut log = Log::new("a");
    let mut ids = 0;
    for namespace in ["edge", "ingest", "shop"] {
        for kind in ["configmaps", "pods"] {
            ids += 1;
            log.opened(0.0, &format!("{namespace}/{kind}"), ids, &["x"], 1_000);
        }
    }
    for step in 1..=4 {
        change(
            &mut log,
            10.0 + step as f64,
            PODS,
            ChangeType::Modified,
            "x",
            1_000 + step,
        );
    }
    change(
        &mut log,
        20.0,
        "edge/pods",
        ChangeType::Modified,
        "x",
        1_010,
    );
    log
}

fn lane(store: &Store, key: &str) -> LaneId {
    store.lane_of_key(key).unwrap()
}

/// Appends a finding of a watch.
fn trouble(log: &mut Log, s: f64, watch: &str) {
    log.finding(
        s,
        "F11",
        Severity::Error,
        Standing::Raised,
        watch,
        "fell off",
    );
}

#[test]
fn without_a_wish_nothing_is_grouped_and_watches_stand_by_name() {
    let rows = rows_at(&three_namespaces().store(), &mut lanes(), 30.0);
    insta::assert_snapshot!(text(&rows), @"Findings, -edge/configmaps, +edge/pods, resourceVersion, x, -ingest/configmaps, -ingest/pods, -shop/configmaps, +shop/pods, resourceVersion, x");
}

#[test]
fn each_grouping_puts_the_watches_into_sections() {
    let store = three_namespaces().store();
    let grouped = |grouping| {
        let mut lanes = lanes();
        lanes.collapse_all();
        lanes.group_by(grouping);
        text(&rows_at(&store, &mut lanes, 30.0))
    };
    insta::assert_snapshot!(grouped(Grouping::Namespace), @"Findings, [edge] -configmaps, -pods, [ingest] -configmaps, -pods, [shop] -configmaps, -pods");
    insta::assert_snapshot!(grouped(Grouping::Kind), @"Findings, [configmaps] -edge/configmaps, -ingest/configmaps, -shop/configmaps, [pods] -edge/pods, -ingest/pods, -shop/pods");
    insta::assert_snapshot!(grouped(Grouping::Server), @"Findings, [10.20.0.11:6443] -edge/configmaps, -edge/pods, -ingest/configmaps, -ingest/pods, -shop/configmaps, -shop/pods");
    insta::assert_snapshot!(grouped(Grouping::Client), @"Findings, [watchscope] -edge/configmaps, -edge/pods, -ingest/configmaps, -ingest/pods, -shop/configmaps, -shop/pods");
}

#[test]
fn each_sorting_puts_its_first_watch_and_its_first_section_on_top() {
    let mut log = three_namespaces();
    trouble(&mut log, 25.0, "ingest/configmaps");
    let store = log.store();
    let sorted = |sorting, grouping| {
        let mut lanes = lanes();
        lanes.collapse_all();
        lanes.sort_by(sorting);
        lanes.group_by(grouping);
        text(&rows_at(&store, &mut lanes, 30.0))
    };
    insta::assert_snapshot!(sorted(Sorting::LastChange, Grouping::None), @"Findings, -edge/pods, -shop/pods, -edge/configmaps, -ingest/configmaps, -ingest/pods, -shop/configmaps");
    insta::assert_snapshot!(sorted(Sorting::Rate, Grouping::Namespace), @"Findings, [shop] -pods, -configmaps, [edge] -pods, -configmaps, [ingest] -configmaps, -pods");
    insta::assert_snapshot!(sorted(Sorting::Trouble, Grouping::None), @"Findings, -ingest/configmaps, -edge/configmaps, -edge/pods, -ingest/pods, -shop/configmaps, -shop/pods");
}

#[test]
fn strips_close_what_is_open_and_trouble_opens_what_has_it() {
    let mut log = three_namespaces();
    trouble(&mut log, 25.0, "ingest/configmaps");
    let store = log.store();
    let mut lanes = lanes();
    let open = |lanes: &mut Lanes| -> Vec<String> {
        let rows = rows_at(&store, lanes, 30.0);
        let open = rows.rows.iter().filter(|row| row.kind == RowKind::Watch);
        open.map(|row| format!("{}{}", row.prefix, row.name))
            .collect()
    };
    assert_eq!(
        open(&mut lanes),
        ["edge/pods", "ingest/configmaps", "shop/pods"]
    );
    let by_hand = lane(&store, "edge/configmaps").watch().unwrap();
    lanes.toggle(&store, by_hand);
    lanes.collapse_all();
    assert!(open(&mut lanes).is_empty(), "also what was opened by hand");
    lanes.toggle(&store, by_hand);
    lanes.open_trouble();
    assert_eq!(open(&mut lanes), ["edge/configmaps", "ingest/configmaps"]);
    lanes.toggle(&store, lane(&store, "ingest/configmaps").watch().unwrap());
    lanes.open_trouble();
    assert_eq!(
        open(&mut lanes),
        ["edge/configmaps"],
        "closed by hand, it stays closed"
    );
    lanes.collapse_all();
    lanes.collapse_all();
    assert_eq!(lanes.setup().folding, Folding::ByItself);
    assert_eq!(
        open(&mut lanes),
        ["edge/pods", "ingest/configmaps", "shop/pods"]
    );
}

#[test]
fn pinned_lanes_stand_first_in_the_viewers_order() {
    let store = three_namespaces().store();
    let mut lanes = lanes();
    lanes.collapse_all();
    let (object, watch) = (lane(&store, "edge/pods shop/x"), lane(&store, PODS));
    assert_eq!(lanes.toggle_pin(&store, object), Deed::Done);
    assert_eq!(lanes.toggle_pin(&store, watch), Deed::Done);
    insta::assert_snapshot!(text(&rows_at(&store, &mut lanes, 30.0)), @"Findings, [Pinned] edge/pods x, -shop/pods, [] -edge/configmaps, -edge/pods, -ingest/configmaps, -ingest/pods, -shop/configmaps");
    assert!(lanes.move_pin(&store, object, 1));
    assert!(!lanes.move_pin(&store, object, 1), "it is the last one");
    insta::assert_snapshot!(text(&rows_at(&store, &mut lanes, 30.0)), @"Findings, [Pinned] -shop/pods, edge/pods x, [] -edge/configmaps, -edge/pods, -ingest/configmaps, -ingest/pods, -shop/configmaps");
    assert_eq!(lanes.toggle_pin(&store, object), Deed::Undone);
    assert_eq!(lanes.toggle_pin(&store, LaneId::Findings), Deed::Impossible);
    assert_eq!(lanes.setup().pinned(), [PODS]);
}

#[test]
fn hidden_lanes_have_no_rows_until_they_are_shown_again() {
    let store = three_namespaces().store();
    let mut lanes = lanes();
    let before = text(&rows_at(&store, &mut lanes, 30.0));
    assert_eq!(lanes.hide(&store, lane(&store, PODS)), Deed::Done);
    assert_eq!(
        lanes.hide(&store, lane(&store, "edge/pods shop/x")),
        Deed::Done
    );
    let rows = rows_at(&store, &mut lanes, 30.0);
    assert!(rows.find(lane(&store, PODS)).is_none());
    assert!(rows.find(lane(&store, "edge/pods shop/x")).is_none());
    assert_eq!(lanes.setup().hidden(), [PODS, "edge/pods shop/x"]);
    lanes.show_hidden(PODS);
    assert!(
        rows_at(&store, &mut lanes, 30.0)
            .find(lane(&store, PODS))
            .is_some()
    );
    lanes.show_all_hidden();
    assert_eq!(text(&rows_at(&store, &mut lanes, 30.0)), before);
}

#[test]
fn objects_of_a_watch_that_only_an_earlier_run_had_are_not_called_gone() {
    let mut old = Log::new("a");
    old.opened(0.0, PODS, 1, &["a", "b"], 1_000);
    change(&mut old, 10.0, PODS, ChangeType::Modified, "a", 1_001);
    let mut new = Log::new("b");
    new.opened(100.0, "shop/configmaps", 1, &["c", "d"], 1_002);
    change(
        &mut new,
        110.0,
        "shop/configmaps",
        ChangeType::Deleted,
        "c",
        1_003,
    );
    let mut store = Store::default();
    old.send_all(&mut store);
    new.send_all(&mut store);
    let mut lanes = lanes();
    let watch = lane(&store, PODS).watch().unwrap();
    lanes.set_whole(&store, watch, true);
    let rows = rows_at(&store, &mut lanes, 200.0);
    insta::assert_snapshot!(text(&rows), @"Findings, +shop/configmaps, resourceVersion, and 1 more, c, gone, +shop/pods, 2 no longer watched");
    assert_eq!((rows.gone, rows.unwatched), (1, 2));
    // The new run watches them again.
    new.opened(201.0, PODS, 2, &["a"], 1_004);
    let mut store = Store::default();
    old.send_all(&mut store);
    new.send_all(&mut store);
    let rows = rows_at(&store, &mut lanes, 300.0);
    insta::assert_snapshot!(text(&rows), @"Findings, +shop/configmaps, resourceVersion, and 1 more, c, gone, +shop/pods, a, b, gone");
    assert_eq!((rows.gone, rows.unwatched), (2, 0));
}

#[test]
fn a_watch_that_only_an_earlier_run_had_gets_a_row_when_its_records_come_into_view() {
    let mut old = Log::new("a");
    old.opened(0.0, PODS, 1, &["a"], 1_000);
    change(&mut old, 10.0, PODS, ChangeType::Modified, "a", 1_001);
    let mut new = Log::new("b");
    new.opened(1_000.0, MAPS, 1, &["c"], 1_002);
    // The page opens at the present run, then goes back, and the earlier run's records come.
    let mut store = new.store();
    let mut lanes = lanes();
    let now = 1_010.0;
    insta::assert_snapshot!(text(&rows_at(&store, &mut lanes, now)), @"Findings, -shop/configmaps");
    let all = old.records.len();
    let kept = old.listed(0, all, Availability::Kept);
    store.list(&"log".into(), &old.epoch, 1, vec![kept]);
    store.chapter(&old.chapter(0, all)).unwrap();
    let mut from = |s: f64| {
        let view = View::between(at(s), at(s + 60.0), 800.0);
        text(&lanes.rows(&store, &view, at(now)))
    };
    insta::assert_snapshot!(from(-500.0), @"Findings, -shop/configmaps");
    insta::assert_snapshot!(from(-5.0), @"Findings, -shop/configmaps, -shop/pods");
    insta::assert_snapshot!(from(500.0), @"Findings, -shop/configmaps, -shop/pods");
}

#[test]
fn objects_fold_into_the_row_of_gone_ones_60_s_after_their_deletion() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["a", "b", "c"], 1_000);
    for (step, name) in (1..).zip(["a", "b"]) {
        change(
            &mut log,
            10.0 + step as f64,
            PODS,
            ChangeType::Deleted,
            name,
            1_000 + step,
        );
    }
    change(&mut log, 14.0, PODS, ChangeType::Modified, "c", 1_010);
    let store = log.store();
    let mut lanes = lanes();
    let shown = |lanes: &mut Lanes, now| text(&rows_at(&store, lanes, now));
    insta::assert_snapshot!(shown(&mut lanes, 70.0), @"Findings, +shop/pods, resourceVersion, c, b, a");
    insta::assert_snapshot!(shown(&mut lanes, 80.0), @"Findings, +shop/pods, resourceVersion, c, 2 gone");
    let watch = lane(&store, PODS).watch().unwrap();
    lanes.toggle_gone(watch);
    insta::assert_snapshot!(shown(&mut lanes, 80.0), @"Findings, +shop/pods, resourceVersion, c, 2 gone, a, b");
    lanes.toggle_gone(watch);
    lanes.selected = store.lane_of_key("shop/pods shop/a");
    insta::assert_snapshot!(shown(&mut lanes, 80.0), @"Findings, +shop/pods, resourceVersion, c, a, b, gone");
    lanes.selected = None;
    lanes.set_filter("a");
    assert!(
        shown(&mut lanes, 80.0).ends_with(", a"),
        "a search takes it out"
    );
}

#[test]
fn a_new_order_waits_while_the_page_stands_or_points() {
    let mut log = three_namespaces();
    let mut lanes = lanes();
    lanes.collapse_all();
    lanes.sort_by(Sorting::LastChange);
    let order = |log: &Log, lanes: &mut Lanes, now: f64, view: View| {
        let rows = lanes.rows(&log.store(), &view, at(now));
        format!("{}{}", rows.rows[1].prefix, rows.rows[1].name)
    };
    let following = |now: f64| View::following(at(now), 60_000_000, 800.0);
    assert_eq!(order(&log, &mut lanes, 30.0, following(30.0)), "edge/pods");
    change(&mut log, 40.0, MAPS, ChangeType::Modified, "x", 1_020);
    lanes.is_pointed = true;
    assert_eq!(order(&log, &mut lanes, 41.0, following(41.0)), "edge/pods");
    lanes.is_pointed = false;
    let past = following(41.0).pan(-10.0);
    assert_eq!(
        order(&log, &mut lanes, 41.0, past),
        "edge/pods",
        "it stands"
    );
    assert_eq!(order(&log, &mut lanes, 42.0, following(42.0)), MAPS);
    lanes.is_pointed = true;
    lanes.sort_by(Sorting::Name);
    let asked = order(&log, &mut lanes, 43.0, past);
    assert_eq!(
        asked, "edge/configmaps",
        "what the viewer asks for comes at once"
    );
}

#[test]
fn objects_stand_with_their_uppermost_controller() {
    let log = owned();
    let store = log.store();
    let mut lanes = lanes();
    lanes.group_by(Grouping::Owner);
    insta::assert_snapshot!(text(&rows_at(&store, &mut lanes, 30.0)), @"Findings, [Deployment shop/web] deployments.apps web, replicasets.apps web-1, pods web-1-a, [Job shop/backup] pods backup-1, [no owner] +shop/deployments.apps, resourceVersion, +shop/pods, resourceVersion, alone, +shop/replicasets.apps, resourceVersion");
    let owners = |key: &str| {
        let owners = watchscope_timeline::lanes::owners_of(&store, lane(&store, key)).unwrap();
        let step = |step: &watchscope_timeline::lanes::OwnerStep| {
            let (kind, name) = (step.owner.kind(), step.owner.name());
            format!(
                "{kind} {name}: watched {}, met {}",
                step.is_watched,
                step.lane.is_some()
            )
        };
        let steps: Vec<String> = owners.steps.iter().map(step).collect();
        steps.join("; ")
    };
    insta::assert_snapshot!(owners("shop/pods shop/web-1-a"), @"ReplicaSet web-1: watched true, met true; Deployment web: watched true, met true");
    insta::assert_snapshot!(owners("shop/pods shop/backup-1"), @"Job backup: watched false, met false");
    assert_eq!(owners("shop/pods shop/alone"), "");
}

/// Returns a log of a Deployment, its ReplicaSet and a pod of it. A second pod is of a Job that is not watched, a third
/// has no controller.
fn owned() -> Log {
    let mut log = Log::new("a");
    let kinds = ["shop/deployments.apps", "shop/replicasets.apps", PODS];
    for (ids, kind) in (1..).zip(kinds) {
        log.opened(0.0, kind, ids, &[], 1_000);
    }
    let mut version = 1_000;
    let mut added = |watch: &str, name: &str, owner: Option<(&str, &str)>| {
        version += 1;
        log.change_owned(10.0, watch, ChangeType::Added, name, version, owner);
    };
    added("shop/deployments.apps", "web", None);
    added(
        "shop/replicasets.apps",
        "web-1",
        Some(("Deployment", "web")),
    );
    added(PODS, "web-1-a", Some(("ReplicaSet", "web-1")));
    added(PODS, "backup-1", Some(("Job", "backup")));
    added(PODS, "alone", None);
    log
}

/// Sets the lanes by chance; returns what was set, for a failure's message.
fn set_by_chance(lanes: &mut Lanes, store: &Store, chance: &mut Chance, keys: &[LaneId]) -> String {
    lanes.group_by(match chance.below(6) {
        0 => Grouping::None,
        other => Grouping::OFFERED[other as usize - 1],
    });
    lanes.sort_by(Sorting::ALL[chance.below(4) as usize]);
    match chance.below(4) {
        0 => lanes.collapse_all(),
        1 => lanes.open_trouble(),
        _ => {}
    }
    for _ in 0..chance.below(6) {
        let lane = keys[chance.below(keys.len() as u64) as usize];
        match chance.below(4) {
            0 => drop(lanes.hide(store, lane)),
            1 | 2 => drop(lanes.toggle_pin(store, lane)),
            _ => drop(lanes.move_pin(store, lane, chance.below(5) as i32 - 2)),
        }
    }
    for watch in keys.iter().filter_map(|lane| lane.watch()) {
        match chance.below(5) {
            0 => lanes.set_whole(store, watch, true),
            1 => lanes.set_expanded(store, watch, true),
            2 => lanes.set_gone_open(watch, true),
            _ => {}
        }
    }
    lanes.is_wide = chance.below(2) == 0;
    format!("{:?}", lanes.setup())
}

/// All watches and objects of a store.
fn all_lanes(store: &Store, log: &Log) -> Vec<LaneId> {
    let mut all = BTreeSet::new();
    for record in &log.records {
        let Some(watch) = record.event.watch() else {
            continue;
        };
        all.extend(store.find_lane(watch, None));
        if let watchscope_model::event::Event::Change(change) = &record.event {
            all.extend(store.find_lane(watch, Some(&change.object)));
        }
    }
    all.into_iter().collect()
}

#[test]
fn no_arrangement_loses_or_doubles_a_lane_and_pinned_ones_stand_first() {
    for seed in 0..u64::from(cases(200)) {
        let log = random_log(seed, 260);
        let mut chance = Chance::new(seed ^ 0xA44A);
        let store = log.store();
        let all = all_lanes(&store, &log);
        if all.is_empty() {
            continue;
        }
        let now = log.state.at.plus_millis(3_000);
        let view = View::following(now, 600_000_000, 900.0);
        let mut lanes = lanes();
        for round in 0..4 {
            let set = set_by_chance(&mut lanes, &store, &mut chance, &all);
            let rows = lanes.rows(&store, &view, now);
            check(
                &store,
                &lanes,
                &rows,
                &all,
                &format!("seed {seed}, round {round}: {set}"),
            );
        }
    }
}

fn check(store: &Store, lanes: &Lanes, rows: &Rows, all: &[LaneId], case: &str) {
    let ids: Vec<LaneId> = rows.rows.iter().map(|row| row.id).collect();
    let once: BTreeSet<LaneId> = ids.iter().copied().collect();
    assert_eq!(once.len(), ids.len(), "a lane is doubled: {case}");
    let is_pinned = |row: &&Row| row.pinned;
    let first = rows.rows.iter().skip_while(|row| !row.pinned);
    let pins = rows.rows.iter().filter(is_pinned).count();
    assert_eq!(first.take_while(is_pinned).count(), pins, "{case}");
    let is_in = |keys: &[String], lane: LaneId| keys.contains(&store.lane_key(lane));
    let setup = lanes.setup();
    for &lane in all {
        let watch = LaneId::Watch(lane.watch().unwrap());
        if is_in(setup.hidden(), lane) {
            assert!(!once.contains(&lane), "{lane:?} is hidden: {case}");
        } else if is_in(setup.pinned(), lane) {
            assert!(
                rows.find(lane).is_some_and(|row| row.pinned),
                "{lane:?}: {case}"
            );
        } else if let LaneId::Object(of, _) = lane {
            // What has no row is counted by one of the rows under its watch, or its watch is closed or hidden.
            let is_counted = once.contains(&LaneId::More(of)) || once.contains(&LaneId::Gone(of));
            let is_closed = !once.contains(&watch) || !lanes.is_open(store, of);
            assert!(
                once.contains(&lane) || is_counted || is_closed,
                "{lane:?} is lost: {case}"
            );
        }
    }
    let mut bottom = Px::ZERO;
    for (place, row) in rows.rows.iter().enumerate() {
        let section = rows.sections.iter().find(|section| section.row == place);
        let top = section.map_or(row.y - row.label, |section| section.top(row));
        assert_eq!(top, bottom, "{case}");
        bottom = row.bottom();
    }
    assert_eq!(bottom, rows.height, "{case}");
}
