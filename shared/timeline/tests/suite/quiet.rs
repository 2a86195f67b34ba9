//! Quiet watches are small: which ones open by themselves, which ones fold, and which connections and resourceVersions
//! have rows.

use crate::cases::cases;
use crate::common::random::{Chance, comparable, first_difference, late_reader, random_log, views};
use crate::common::{Log, at, picture};
use watchscope_model::vocabulary::*;
use watchscope_timeline::lanes::{Row, RowKind};
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::scene::Primitive;
use watchscope_timeline::{LaneId, Lanes, Px, Rows, Scene, Store, Token, View};

const PODS: &str = "shop/pods";
const MAPS: &str = "shop/configmaps";

fn lanes(height_px: i32) -> Lanes {
    let mut lanes = Lanes::default();
    lanes.height = Some(Px::whole(height_px));
    lanes.records = Some(&RECORDS.rows);
    lanes
}

/// Returns a view that follows now, over the last minute.
fn following(now: f64) -> View {
    View::following(at(now), 60_000_000, 800.0)
}

fn rows_at(store: &Store, lanes: &mut Lanes, now: f64) -> Rows {
    lanes.rows(store, &following(now), at(now))
}

/// Returns the names of the rows, indented under their parents.
fn names(rows: &Rows) -> Vec<String> {
    let name = |row: &Row| match row.kind {
        RowKind::Watch => format!("open {}", row.name),
        RowKind::Strip => format!("strip {}", row.name),
        _ => row.name.to_string(),
    };
    rows.rows.iter().map(name).collect()
}

fn texts(scene: &Scene) -> Vec<&str> {
    let mut texts = Vec::new();
    for primitive in &scene.primitives {
        if let Primitive::Text(line) = primitive {
            texts.push(line.text.as_str());
        }
    }
    texts
}

fn modified(log: &mut Log, s: f64, watch: &str, name: &str, version: u64) {
    log.change(s, watch, ChangeType::Modified, Origin::Live, name, version);
}

/// Returns a log of `count` watches, each with an open stream and no change; the first is `name-00`.
fn quiet_watches(count: u64) -> Log {
    let mut log = Log::new("a");
    for number in 0..count {
        log.opened(
            0.0,
            &format!("shop/kind-{number:02}"),
            number + 1,
            &[],
            1_000,
        );
    }
    log
}

/// Appends a second request of a watch, over the connection of another watch.
fn moves_to(log: &mut Log, s: f64, watch: &str, ids: u64, connection: u64) {
    log.request(s, watch, 9_000 + ids, connection, "watch", "watch=1");
}

#[test]
fn a_quiet_watch_is_one_strip_with_its_state_in_words() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0", "cart-1"], 1_000);
    log.opened(0.5, MAPS, 2, &[], 1_000);
    let store = log.store();
    let mut lanes = lanes(800);
    let (rows, scene) = picture(&store, &mut lanes, &following(20.0), at(20.0));
    assert_eq!(names(&rows), ["Findings", "strip configmaps", "strip pods"]);
    assert!(rows.rows[1..].iter().all(|row| row.height == Px::whole(14)));
    assert_eq!(rows.rows[2].count, Some(0), "no stream delivered a change");
    let texts = texts(&scene);
    assert!(texts.contains(&"empty: the list had no items"), "{texts:?}");
    assert!(texts.contains(&"2 objects, none changed"), "{texts:?}");
}

#[test]
fn the_life_of_an_object_that_does_not_change_in_view_is_faint() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0", "cart-1"], 1_000);
    modified(&mut log, 30.0, PODS, "cart-1", 1_001);
    let store = log.store();
    let lives = |from: f64, to: f64| -> Vec<u8> {
        let mut lanes = Lanes::showing_all();
        lanes.set_all_expanded(&store, true);
        let view = View::between(at(from), at(to), 800.0);
        let (_, scene) = picture(&store, &mut lanes, &view, at(40.0));
        let of = |primitive: &Primitive| match *primitive {
            Primitive::Rect {
                fill: Some(Token::Life),
                opacity,
                ..
            } => Some(opacity),
            _ => None,
        };
        scene.primitives.iter().filter_map(of).collect()
    };
    // cart-1 changed last, so it comes first. The list of the watch shows cart-0, and says nothing of a change.
    assert_eq!(lives(-1.0, 40.0), [100, 70]);
    assert_eq!(lives(25.0, 35.0), [100, 70]);
    assert_eq!(lives(10.0, 20.0), [70, 70]);
}

#[test]
fn a_watch_opens_at_its_first_change_with_the_objects_that_changed() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0", "cart-1", "cart-2"], 1_000);
    log.opened(0.5, MAPS, 2, &["env"], 1_000);
    let mut lanes = lanes(800);
    rows_at(&log.store(), &mut lanes, 5.0);
    modified(&mut log, 10.0, PODS, "cart-1", 1_001);
    let rows = rows_at(&log.store(), &mut lanes, 11.0);
    let open = ["open pods", "resourceVersion", "cart-1", "and 2 more"];
    let expected = [["Findings", "strip configmaps"].as_slice(), &open].concat();
    assert_eq!(names(&rows), expected);
    assert_eq!(
        rows.rows[2].count,
        Some(1),
        "what a list brought is no change"
    );
}

#[test]
fn an_error_a_broken_stream_and_a_finding_open_a_watch_too() {
    let opened = |what: fn(&mut Log)| {
        let mut log = Log::new("a");
        log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
        what(&mut log);
        let rows = rows_at(&log.store(), &mut lanes(800), 20.0);
        names(&rows).contains(&"open pods".to_owned())
    };
    assert!(!opened(|_| {}));
    assert!(opened(|log| {
        log.error(10.0, PODS, 10, 410);
    }));
    assert!(opened(|log| {
        log.end(10.0, PODS, 10, Cause::TcpReset);
    }));
    assert!(opened(|log| {
        let (raised, warning) = (Standing::Raised, Severity::Warning);
        log.finding(10.0, "F11", warning, raised, PODS, "It fell off.");
    }));
}

#[test]
fn a_bookmark_opens_nothing() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    log.bookmark(10.0, PODS, 10, 1_100);
    // A list does not open it either, nor an orderly end that is resumed.
    log.end(12.0, PODS, 10, Cause::End);
    log.gap(12.1, PODS, true, Some(0));
    let rows = rows_at(&log.store(), &mut lanes(800), 20.0);
    assert_eq!(names(&rows), ["Findings", "strip pods"]);
}

#[test]
fn events_never_open_by_themselves() {
    let mut log = Log::new("a");
    for (ids, watch) in [
        (1, "shop/events"),
        (2, "*/events.events.k8s.io"),
        (3, "shop/eventlogs"),
    ] {
        log.opened(0.0, watch, ids, &["e-0"], 1_000);
        modified(&mut log, 10.0, watch, "e-0", 1_001);
    }
    let rows = rows_at(&log.store(), &mut lanes(800), 20.0);
    let names = names(&rows);
    assert!(names.contains(&"open eventlogs".to_owned()), "{names:?}");
    assert!(names.contains(&"strip events".to_owned()), "{names:?}");
    let other = "strip events.events.k8s.io".to_owned();
    assert!(names.contains(&other), "{names:?}");
}

/// Returns twenty pods and their names. The first fifteen of them change one after the other.
fn carts() -> (Log, Vec<String>) {
    let all: Vec<String> = (0..20).map(|number| format!("cart-{number:02}")).collect();
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &names, 1_000);
    for (place, name) in names[..15].iter().enumerate() {
        let (at_s, version) = (10.0 + place as f64, 1_001 + place as u64);
        modified(&mut log, at_s, PODS, name, version);
    }
    (log, all)
}

/// The height of the rows of findings, an open watch, its resourceVersion, twelve objects, and what stands for others.
const FULL: i32 = 26 + 26 + 40 + 12 * 18 + 18;

/// Returns the names of the objects that have rows.
fn objects(rows: &Rows) -> Vec<String> {
    let objects = rows.rows.iter().filter(|row| row.kind == RowKind::Object);
    objects.map(|row| row.name.to_string()).collect()
}

#[test]
fn a_screen_with_more_room_shows_more_objects_the_same_number_of_each_watch() {
    let (mut log, all) = carts();
    let store = log.store();
    let changed: Vec<String> = all[..15].iter().rev().cloned().collect();
    for height in [FULL, FULL + 60, 600, 800] {
        let rows = rows_at(&store, &mut lanes(height), 30.0);
        let shown = objects(&rows);
        assert_eq!(shown, changed[..shown.len()], "{height}");
        let bar = if height == FULL { 12 } else { 14 };
        assert!(shown.len() >= bar, "{height}: {shown:?}");
        assert!(
            rows.height <= Px::whole(height),
            "{height}: {:?}",
            rows.height
        );
    }
    // What the viewer opened shows objects that have not changed, too.
    let mut opened = lanes(800);
    let rows = rows_at(&store, &mut opened, 30.0);
    let watch = rows.rows.iter().find_map(|row| row.id.watch()).unwrap();
    opened.set_whole(&store, watch, false);
    assert_eq!(objects(&rows_at(&store, &mut opened, 31.0)).len(), 20);
    // A second watch takes its part, and the first keeps the objects that changed last.
    let names: Vec<String> = (0..40).map(|number| format!("job-{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    log.opened(31.0, "shop/jobs", 2, &names, 2_000);
    for (place, name) in names.iter().enumerate() {
        modified(&mut log, 32.0, "shop/jobs", name, 2_001 + place as u64);
    }
    let rows = rows_at(&log.store(), &mut lanes(800), 40.0);
    let of = |kind: &str| {
        objects(&rows)
            .iter()
            .filter(|name| name.starts_with(kind))
            .count()
    };
    assert_eq!(of("cart"), 15);
    assert!((16..26).contains(&of("job")), "{}", of("job"));
    assert!(rows.height <= Px::whole(800), "{:?}", rows.height);
}

#[test]
fn a_page_that_opens_in_the_past_fills_the_screen_with_a_large_watch() {
    let names: Vec<String> = (0..400).map(|number| format!("map-{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["a"], 1_000);
    for (place, name) in names.iter().enumerate() {
        let (added, live) = (ChangeType::Added, Origin::Live);
        log.change(1.0, PODS, added, live, name, 1_001 + place as u64);
    }
    let view = View::between(at(0.0), at(20.0), 1_000.0);
    let rows = lanes(2_000).rows(&log.store(), &view, at(30.0));
    assert!(objects(&rows).len() > 90, "{}", objects(&rows).len());
}

#[test]
fn in_a_busy_watch_objects_give_way_at_most_once_a_second() {
    let (mut log, all) = carts();
    let mut lanes = lanes(FULL);
    let mut shown = |log: &Log, now| objects(&rows_at(&log.store(), &mut lanes, now));
    let before = shown(&log, 24.5);
    // cart-00 enters at once, since nothing gave way before. cart-01 waits for a second.
    modified(&mut log, 25.0, PODS, "cart-00", 2_000);
    let first = shown(&log, 25.1);
    assert_eq!(first[0], "cart-00");
    assert_eq!(first[1..], before[..11]);
    modified(&mut log, 25.2, PODS, "cart-01", 2_001);
    assert_eq!(shown(&log, 25.3), first);
    // No record comes after it, and still it enters.
    let second = shown(&log, 26.2);
    assert_eq!((&*second[0], &*second[1]), ("cart-01", "cart-00"));
    assert_eq!(shown(&log, 26.3), second);
    // A verdict does not wait.
    modified(&mut log, 26.4, PODS, "cart-02", 2_002);
    let (ghost, confirmed) = (Divergence::Ghost, Standing::Confirmed);
    log.verdict(26.4, PODS, &all[19], ghost, confirmed);
    assert_eq!(shown(&log, 26.5)[..2], ["cart-19", "cart-02"]);
}

#[test]
fn where_room_is_short_at_most_twelve_objects_have_rows_the_last_changed_first_and_the_rest_are_counted()
 {
    let (log, all) = carts();
    let store = log.store();
    let mut lanes = lanes(FULL);
    let rows = rows_at(&store, &mut lanes, 30.0);
    let latest: Vec<String> = all[3..15].iter().rev().cloned().collect();
    assert_eq!(objects(&rows), latest);
    let last = rows.rows.last().unwrap();
    assert_eq!((&*last.name, last.expanded), ("and 8 more", Some(false)));
    // A click opens it.
    let LaneId::More(watch) = last.id else {
        panic!("{last:?}");
    };
    lanes.toggle_more(&store, watch);
    assert_eq!(objects(&rows_at(&store, &mut lanes, 31.0)), all);
    lanes.toggle_more(&store, watch);
    assert_eq!(objects(&rows_at(&store, &mut lanes, 32.0)).len(), 12);
}

#[test]
fn rows_are_sorted_again_only_when_an_object_enters() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["a", "b", "c"], 1_000);
    modified(&mut log, 10.0, PODS, "a", 1_001);
    modified(&mut log, 11.0, PODS, "b", 1_002);
    let mut lanes = lanes(800);
    let order = |log: &Log, lanes: &mut Lanes, now| {
        names(&rows_at(&log.store(), lanes, now))[3..].join(" ")
    };
    assert_eq!(order(&log, &mut lanes, 12.0), "b a and 1 more");
    modified(&mut log, 13.0, PODS, "a", 1_003);
    assert_eq!(order(&log, &mut lanes, 14.0), "b a and 1 more");
    modified(&mut log, 15.0, PODS, "c", 1_004);
    assert_eq!(order(&log, &mut lanes, 16.0), "c a b");
    // A deleted object keeps its row for 60 s.
    log.change(17.0, PODS, ChangeType::Deleted, Origin::Live, "a", 1_005);
    assert_eq!(order(&log, &mut lanes, 18.0), "c a b");
    modified(&mut log, 85.0, PODS, "b", 1_006);
    assert_eq!(order(&log, &mut lanes, 90.0), "c b a, gone");
}

#[test]
fn an_object_that_a_list_found_changed_keeps_its_row() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["a", "b"], 1_000);
    modified(&mut log, 10.0, PODS, "a", 1_001);
    let mut lanes = lanes(800);
    let order = |log: &Log, lanes: &mut Lanes, now| {
        names(&rows_at(&log.store(), lanes, now))[3..].join(" ")
    };
    assert_eq!(order(&log, &mut lanes, 12.0), "a and 1 more");
    log.change(20.0, PODS, ChangeType::Modified, Origin::List, "a", 1_005);
    assert_eq!(order(&log, &mut lanes, 21.0), "a and 1 more");
}

#[test]
fn an_object_that_diverges_is_never_among_those_that_are_only_counted() {
    let (mut log, _) = carts();
    log.verdict(
        30.0,
        PODS,
        "cart-19",
        Divergence::Ghost,
        Standing::Confirmed,
    );
    let rows = rows_at(&log.store(), &mut lanes(800), 31.0);
    let first = rows
        .rows
        .iter()
        .find(|row| row.kind == RowKind::Object)
        .unwrap();
    assert_eq!((&*first.name, first.diverged), ("cart-19", true));
}

#[test]
fn a_watch_opens_only_while_all_rows_end_above_the_lower_edge() {
    let mut log = Log::new("a");
    for ids in 1..=6 {
        let watch = format!("shop/kind-{ids}");
        log.opened(0.0, &watch, ids, &["x"], 1_000);
        modified(&mut log, 10.0 + ids as f64, &watch, "x", 1_001);
    }
    // An open watch takes 26 px, its object 18 px and its resourceVersion 40 px. Two fit beside four strips.
    let rows = rows_at(&log.store(), &mut lanes(26 + 2 * 84 + 4 * 14), 20.0);
    let open: Vec<String> = names(&rows)
        .into_iter()
        .filter(|name| name.starts_with("open"))
        .collect();
    assert_eq!(open, ["open kind-5", "open kind-6"], "the latest changes");
    assert_eq!(rows.height, Px::whole(26 + 2 * 84 + 4 * 14));
    // A watch without room stays a strip until it changes; with a change it takes the room that there is then.
    let mut lanes = lanes(100);
    let one = |log: &Log, lanes: &mut Lanes, now| {
        let names = names(&rows_at(&log.store(), lanes, now));
        names.iter().filter(|name| name.starts_with("open")).count()
    };
    assert_eq!(one(&log, &mut lanes, 20.0), 0);
    lanes.height = Some(Px::whole(800));
    assert_eq!(one(&log, &mut lanes, 21.0), 0);
    modified(&mut log, 22.0, "shop/kind-3", "x", 1_002);
    assert_eq!(one(&log, &mut lanes, 23.0), 1);
    // No watch closes by itself.
    lanes.height = Some(Px::whole(100));
    assert_eq!(one(&log, &mut lanes, 24.0), 1);
}

#[test]
fn strips_that_do_not_fit_fold_into_one_last_row_and_one_leaves_it_when_something_happens() {
    let mut log = quiet_watches(40);
    // 26 px for the findings, 14 px for each strip and for the last row.
    let mut lanes = lanes(26 + 11 * 14);
    let rows = rows_at(&log.store(), &mut lanes, 20.0);
    assert_eq!(rows.rows.len(), 1 + 10 + 1);
    let last = rows.rows.last().unwrap();
    assert_eq!(
        (last.id, &*last.name),
        (LaneId::Quiet, "and 30 quiet watches")
    );
    assert!(rows.height <= Px::whole(26 + 11 * 14));
    modified(&mut log, 21.0, "shop/kind-25", "x", 1_001);
    let rows = rows_at(&log.store(), &mut lanes, 22.0);
    let names = names(&rows);
    let place = names.iter().position(|name| name == "open kind-25");
    assert_eq!(
        place,
        Some(names.len() - 4),
        "at its place by name: {names:?}"
    );
    assert_eq!(
        &names[names.len() - 3..names.len() - 1],
        ["resourceVersion", "x"]
    );
    // The viewer opens the row, and closes it.
    lanes.toggle_quiet();
    let store = log.store();
    let rows = rows_at(&store, &mut lanes, 23.0);
    let strips = rows.rows.iter().filter(|row| row.kind == RowKind::Strip);
    assert_eq!(strips.count(), 39);
    assert_eq!(rows.rows.last().unwrap().expanded, Some(true));
    lanes.toggle_quiet();
    assert!(rows_at(&store, &mut lanes, 24.0).rows.len() < 20);
    // With enough room none folds.
    let rows = rows_at(&store, &mut self::lanes(2_000), 24.0);
    assert!(rows.find(LaneId::Quiet).is_none());
}

#[test]
fn a_shared_connection_is_one_row_above_the_watches() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    log.opened(0.5, MAPS, 2, &["env"], 1_000);
    let mut lanes = lanes(800);
    let connection = |log: &Log, lanes: &mut Lanes, now| {
        let rows = rows_at(&log.store(), lanes, now);
        let names = names(&rows);
        let mut places = names.iter().enumerate();
        let (place, name) = places.find(|(_, name)| name.contains('→'))?;
        assert_eq!(place, 1, "{names:?}");
        Some(name.clone())
    };
    assert_eq!(connection(&log, &mut lanes, 5.0), None, "each has its own");
    moves_to(&mut log, 6.0, MAPS, 3, 1);
    log.push(
        6.1,
        watchscope_model::event::ConnectionClosed::unasked(
            watchscope_model::ConnectionId(2),
            Cause::End,
        ),
    );
    assert_eq!(
        connection(&log, &mut lanes, 7.0).as_deref(),
        Some("conn 1 → 10.20.0.11:6443")
    );
    let (_, scene) = picture(&log.store(), &mut lanes, &following(50.0), at(50.0));
    assert!(
        texts(&scene).contains(&"one connection carries both watches"),
        "{:?}",
        texts(&scene)
    );
}

#[test]
fn a_connection_that_failed_has_a_row_and_one_that_ended_in_order_has_none() {
    let has_row = |cause| {
        let mut log = Log::new("a");
        log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
        log.push(
            10.0,
            watchscope_model::event::ConnectionClosed::unasked(
                watchscope_model::ConnectionId(1),
                cause,
            ),
        );
        let rows = rows_at(&log.store(), &mut lanes(800), 20.0);
        rows.rows.iter().any(|row| row.kind == RowKind::Connection)
    };
    assert!(has_row(Cause::TcpReset));
    assert!(!has_row(Cause::End) && !has_row(Cause::Cancelled));
}

#[test]
fn one_resource_version_row_stands_for_a_connection_and_another_only_for_a_jump_or_reversal() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    log.opened(0.5, MAPS, 2, &["env"], 1_000);
    moves_to(&mut log, 1.0, MAPS, 3, 1);
    for step in 0..3 {
        modified(&mut log, 10.0, PODS, "cart-0", 1_001 + step);
    }
    modified(&mut log, 11.0, MAPS, "env", 1_010);
    let versions = |log: &Log, lanes: &mut Lanes, now| -> Vec<String> {
        let store = log.store();
        let rows = rows_at(&store, lanes, now);
        let versions = rows.rows.iter().filter(|row| row.kind == RowKind::Version);
        versions
            .map(|row| store.lane_names(row.id).0.unwrap().to_string())
            .collect()
    };
    let mut lanes = lanes(800);
    assert_eq!(versions(&log, &mut lanes, 12.0), [PODS], "the most changes");
    for step in 0..9 {
        modified(&mut log, 13.0, MAPS, "env", 1_011 + step);
    }
    assert_eq!(
        versions(&log, &mut lanes, 14.0),
        [PODS],
        "it keeps its place"
    );
    modified(&mut log, 15.0, MAPS, "env", 900);
    assert_eq!(versions(&log, &mut lanes, 16.0), [MAPS, PODS]);
}

#[test]
fn panning_moves_no_row() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0", "cart-1"], 1_000);
    log.opened(0.5, MAPS, 2, &["env"], 1_000);
    modified(&mut log, 10.0, PODS, "cart-0", 1_001);
    log.change(
        20.0,
        PODS,
        ChangeType::Deleted,
        Origin::Live,
        "cart-0",
        1_002,
    );
    modified(&mut log, 30.0, PODS, "cart-1", 1_003);
    log.push(
        40.0,
        watchscope_model::event::ConnectionClosed::unasked(
            watchscope_model::ConnectionId(2),
            Cause::TcpReset,
        ),
    );
    modified(&mut log, 300.0, PODS, "cart-1", 1_004);
    log.finding(
        301.0,
        "F11",
        Severity::Warning,
        Standing::Raised,
        PODS,
        "It fell off.",
    );
    let store = log.store();
    let mut lanes = lanes(800);
    let here = names(&rows_at(&store, &mut lanes, 310.0));
    for left in [-500.0, 0.0, 5.0, 25.0, 35.0, 200.0, 305.0, 900.0] {
        let view = View::between(at(left), at(left + 20.0), 800.0);
        let there = names(&lanes.rows(&store, &view, at(310.0)));
        assert_eq!(there, here, "{left}");
    }
}

#[test]
fn a_watch_that_the_viewer_closed_or_opened_stays_so() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    log.opened(0.5, MAPS, 2, &["env"], 1_000);
    let store = log.store();
    let watch = |name: &str| {
        store
            .find_lane(&name.into(), None)
            .unwrap()
            .watch()
            .unwrap()
    };
    let mut lanes = lanes(60);
    rows_at(&store, &mut lanes, 5.0);
    lanes.toggle(&store, watch(MAPS));
    lanes.set_expanded(&store, watch(PODS), false);
    modified(&mut log, 10.0, PODS, "cart-0", 1_001);
    let expected = ["Findings", "open configmaps", "env", "strip pods"];
    assert_eq!(names(&rows_at(&log.store(), &mut lanes, 11.0)), expected);
    // As it is stored for a reload.
    let kept = lanes.choices();
    let mut again = self::lanes(60);
    again.set_choices(&kept);
    assert_eq!(names(&rows_at(&log.store(), &mut again, 12.0)), expected);
    assert_eq!(again.choices(), kept);
    again.set_choices("nonsense\n\n?x\n+");
    assert_eq!(again.choices(), kept, "what cannot be read changes nothing");
}

#[test]
fn a_page_opened_later_begins_with_the_watches_of_the_latest_changes() {
    let mut log = Log::new("a");
    for ids in 1..=6 {
        let watch = format!("shop/kind-{ids}");
        log.opened(0.0, &watch, ids, &["x", "y"], 1_000);
        modified(&mut log, 10.0 + ids as f64, &watch, "x", 1_001);
    }
    let mut store = Store::default();
    log.send_from(&mut store, log.records.len());
    // From the snapshot alone.
    let rows = rows_at(&store, &mut lanes(26 + 2 * 98 + 4 * 14), 300.0);
    let expected = [
        "Findings",
        "strip kind-1",
        "strip kind-2",
        "strip kind-3",
        "strip kind-4",
        "open kind-5",
        "resourceVersion",
        "x",
        "and 1 more",
        "open kind-6",
        "resourceVersion",
        "x",
        "and 1 more",
    ];
    assert_eq!(names(&rows), expected);
}

/// The property of scenes also holds for the state of the lanes. Whatever is loaded outside the view, a page that
/// opens with equal heads and views has equal rows. Only deleted objects are counted where their records are loaded.
#[test]
fn open_watches_do_not_depend_on_cuts_or_on_records_outside_the_view() {
    let (mut compared, mut others) = (0, 0);
    for seed in 0..u64::from(cases(200)) {
        let log = random_log(seed, 260);
        let mut chance = Chance::new(seed ^ 0x0BE4);
        let whole = log.store();
        let now = log.state.at.plus_millis(3_000);
        let (store, cut, from) = late_reader(&log, &mut chance);
        for view in views(&mut chance, from, now) {
            for height_px in [120, 300, 2_000] {
                let draw = |store: &Store| {
                    let mut lanes = lanes(height_px);
                    let (rows, scene) = picture(store, &mut lanes, &view, now);
                    (rows.gone, comparable(store, &rows, &scene))
                };
                let ((gone, all), (known, part)) = (draw(&whole), draw(&store));
                if gone != known || whole.count_lanes() != store.count_lanes() {
                    others += 1;
                    continue;
                }
                compared += 1;
                assert!(
                    all == part,
                    "seed {seed}, cut {cut}, {view:?}: {}",
                    first_difference(&all, &part)
                );
            }
        }
    }
    assert!(compared > others, "{compared} compared, {others} not");
}
