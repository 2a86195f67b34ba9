//! The past that is not loaded: what is known of it, what is requested, and how each kind of missing records looks.

use insta::assert_snapshot;
use watchscope_model::event::{ClusterConnected, WatchStopped};
use watchscope_model::vocabulary::{ChangeType, Origin, Phase, PhaseReason};
use watchscope_model::wire::{Availability, CatalogueEntry};
use watchscope_model::{Event, Seq, Time, WatchName};
use watchscope_timeline::draw::ruler;
use watchscope_timeline::lanes::{Row, RowKind};
use watchscope_timeline::store::Coverage;
use watchscope_timeline::{Lanes, RecordId, Store, View};

use crate::common::random::{first_difference, random_log};
use crate::common::{FOREVER, Log, at, object, picture};

fn list(store: &mut Store, log: &Log, order: u64, entries: Vec<CatalogueEntry>) {
    store.list(&"log".into(), &log.epoch, order, entries);
}

/// Returns `Expired 0-10, Seam 10-30`, in seconds after the start.
fn covered(store: &Store, now: Time) -> Vec<(Coverage, i64)> {
    let stretches = store.coverage(now).into_iter();
    let seconds = |time: Time| time.micros_since(at(0.0)) / 1_000_000;
    stretches
        .map(|stretch| (stretch.coverage, seconds(stretch.to)))
        .collect()
}

#[test]
fn a_catalogue_says_which_parts_of_earlier_runs_are_kept_gone_lost_or_not_watched() {
    let (old, new) = (Log::steady("a", 0.0, 60), Log::steady("b", 100.0, 20));
    let mut store = Store::default();
    new.send_all(&mut store);
    let end = old.records.len();
    let entries = vec![
        old.listed(end - 20, end, Availability::Kept),
        old.listed(0, end - 50, Availability::Expired),
        old.listed(end - 40, end - 20, Availability::Lost),
        old.listed(end - 50, end - 40, Availability::Kept),
    ];
    list(&mut store, &old, 7, entries);
    let now = at(130.0);
    let shown = [
        (Coverage::Expired, 10),
        (Coverage::NotLoaded, 20),
        (Coverage::Lost, 40),
        (Coverage::NotLoaded, 60),
        (Coverage::Seam, 100),
        (Coverage::Loaded, 130),
    ];
    assert_eq!(covered(&store, now), shown);
    // Each of them looks different.
    let view = View::between(at(-5.0), at(135.0), 1_600.0);
    let (_, scene) = picture(&store, &mut Lanes::default(), &view, now);
    let dump = scene.dump();
    for words in [
        "expired",
        "not loaded yet",
        "lost by watchscope",
        "watchscope restarted",
        "not watched for 40 s",
        "hatch Own",
        "hatch NotLoaded",
    ] {
        assert!(dump.contains(words), "{words}: {dump}");
    }
}

#[test]
fn only_chapters_in_view_are_requested_of_whichever_run() {
    let (old, new) = (Log::steady("a", 0.0, 60), Log::steady("b", 100.0, 20));
    let mut store = Store::default();
    new.send_all(&mut store);
    let end = old.records.len();
    let kept = |from, to| old.listed(from, to, Availability::Kept);
    list(
        &mut store,
        &old,
        7,
        vec![
            kept(0, end - 40),
            kept(end - 40, end - 20),
            kept(end - 20, end),
        ],
    );
    let wanted = |store: &Store, from: f64, to: f64| {
        let wanted = store.backfill(at(from), at(to));
        wanted.map(|(_, epoch, before)| (epoch.as_str().to_owned(), before.0 as usize - 1))
    };
    assert_eq!(wanted(&store, 65.0, 130.0), None, "nobody watched there");
    assert_eq!(
        wanted(&store, 25.0, 35.0),
        Some(("a".to_owned(), end - 20)),
        "what lies between is not loaded for it"
    );
    let before = store.records();
    let brought = store.chapter(&old.chapter(end - 40, end - 20)).unwrap();
    assert_eq!((brought, store.records() - before), (20, 20));
    assert_eq!(wanted(&store, 25.0, 35.0), None);
    assert_eq!(wanted(&store, -5.0, 200.0), Some(("a".to_owned(), end)));
    store.expired(&old.epoch, Seq(end as u64));
    assert_eq!(
        wanted(&store, -5.0, 200.0),
        Some(("a".to_owned(), end - 40))
    );
    store.not_read(&old.epoch, Seq(end as u64 - 40));
    assert_eq!(wanted(&store, -5.0, 200.0), None);
    assert_eq!(
        covered(&store, at(130.0))[0],
        (Coverage::Lost, 20),
        "it is there and cannot be read"
    );
}

#[test]
fn only_a_part_is_requested_of_a_chapter_that_extends_beyond_the_window() {
    let (old, new) = (Log::steady("a", 0.0, 1_600), Log::steady("b", 2_000.0, 20));
    let mut store = Store::default();
    new.send_all(&mut store);
    let end = old.records.len();
    let entry = old.listed(0, end, Availability::Kept);
    list(&mut store, &old, 7, vec![entry]);
    let mut asked = Vec::new();
    let mut shows = |store: &mut Store, from: f64, to: f64| {
        while let Some((_, _, before)) = store.backfill(at(from), at(to)) {
            let before = before.0 as usize;
            asked.push(before - 1);
            store.chapter(&old.chapter(0, before - 1)).unwrap();
        }
        std::mem::take(&mut asked)
    };
    // Of 1,600 s it requests the part up to 500 s and as much again as is in view, rounded up to the next eighth.
    let first = shows(&mut store, 400.0, 500.0);
    assert!(matches!(first[..], [800..=810]), "{first:?}");
    assert!(shows(&mut store, 460.0, 560.0).is_empty(), "it is here");
    let second = shows(&mut store, 1_000.0, 1_100.0);
    assert!(matches!(second[..], [1_200..=1_400]), "{second:?}");
    assert_eq!(shows(&mut store, 1_500.0, 1_599.0), [end]);
    assert!(store.has(RecordId {
        epoch: 1,
        seq: Seq(end as u64)
    }));
}

#[test]
fn runs_stand_in_the_order_that_the_server_gives_and_records_keep_their_names() {
    let (first, second, third) = (
        Log::steady("a", 0.0, 9),
        Log::steady("b", 20.0, 9),
        Log::steady("c", 40.0, 9),
    );
    let mut store = Store::default();
    third.send_all(&mut store);
    let head = store.head().unwrap();
    let all = |log: &Log| vec![log.listed(0, log.records.len(), Availability::Kept)];
    // The newest comes first, because the server sends them in that order.
    list(&mut store, &second, 12, all(&second));
    list(&mut store, &first, 3, all(&first));
    assert_eq!(
        store.head(),
        Some(head),
        "the live run is still the live one"
    );
    for log in [&first, &second] {
        store.chapter(&log.chapter(0, log.records.len())).unwrap();
    }
    let seams = covered(&store, at(60.0));
    let kinds: Vec<Coverage> = seams.iter().map(|(kind, _)| *kind).collect();
    use Coverage::{Loaded, Seam};
    assert_eq!(kinds, [Loaded, Seam, Loaded, Seam, Loaded]);
    // The server begins anew, so the run that was live is an earlier one now.
    let fourth = Log::steady("d", 60.0, 9);
    fourth.send_all(&mut store);
    let record = store.record(head).unwrap();
    assert_eq!(record, third.records[third.records.len() - 1]);
    list(&mut store, &third, 14, all(&third));
    assert_eq!(store.record(head), Some(record));
    let kinds: Vec<Coverage> = covered(&store, at(80.0))
        .iter()
        .map(|(kind, _)| *kind)
        .collect();
    assert_eq!(kinds, [Loaded, Seam, Loaded, Seam, Loaded, Seam, Loaded]);
    assert_eq!(store.newest(Seq(1)).epoch, store.head().unwrap().epoch);
}

#[test]
fn an_entry_replaces_all_entries_that_it_stands_for() {
    let (old, new) = (Log::steady("a", 0.0, 60), Log::steady("b", 100.0, 20));
    let mut store = Store::default();
    new.send_all(&mut store);
    let parts = (0..5).map(|part| old.listed(part * 10, part * 10 + 10, Availability::Kept));
    list(&mut store, &old, 7, parts.collect());
    let merged = CatalogueEntry {
        is_merged: true,
        ..old.listed(0, 40, Availability::Expired)
    };
    list(&mut store, &old, 7, vec![merged]);
    let shown = covered(&store, at(130.0));
    assert_eq!(shown[0].0, Coverage::Expired);
    assert_eq!(shown[1].0, Coverage::NotLoaded);
}

#[test]
fn a_full_memory_drops_runs_out_of_view_and_loads_them_again_later() {
    let (old, new) = (random_log(5, 1_500), Log::steady("live", 900_000.0, 20));
    let mut store = Store::new(150_000);
    new.send_all(&mut store);
    let end = old.records.len();
    let entries: Vec<_> = (0..end)
        .step_by(100)
        .map(|from| old.listed(from, (from + 100).min(end), Availability::Kept))
        .collect();
    list(&mut store, &old, 7, entries.clone());
    let looks_at = |store: &mut Store, entry: &CatalogueEntry| {
        let (from, to) = (entry.summary.first_at, entry.summary.last_at);
        store.look_at(from, to);
        let mut asked = 0;
        while let Some((_, _, before)) = store.backfill(from, to) {
            let to = before.0 as usize - 1;
            let from = (to - 1) / 100 * 100;
            store.chapter(&old.chapter(from, to)).unwrap();
            asked += 1;
            assert!(asked < 10, "what is looked at stays");
        }
        let seq = entry.summary.last;
        let epoch = store.newest(Seq(1)).epoch + 1;
        assert!(store.has(RecordId { epoch, seq }));
    };
    for entry in entries.iter().rev().chain(&entries) {
        looks_at(&mut store, entry);
        // The live run is in view meanwhile, so the other one may go.
        store.look_at(at(900_000.0), FOREVER);
        store.chapter(&new.chapter(0, 1)).unwrap();
    }
    assert!(store.bytes() < 400_000, "{}", store.bytes());
}

#[test]
fn a_run_in_view_stays_when_the_live_one_fills_the_memory() {
    let (mut old, live) = (Log::steady("old", -9_000.0, 50), random_log(4, 4_000));
    old.epoch = "old".into();
    let mut store = Store::new(150_000);
    let end = old.records.len();
    let entry = old.listed(0, end, Availability::Kept);
    let (from, to) = (entry.summary.first_at, entry.summary.last_at);
    live.send(&mut store, 0, 3_000);
    list(&mut store, &old, 7, vec![entry]);
    store.look_at(from, to);
    store.chapter(&old.chapter(0, end)).unwrap();
    live.send_from(&mut store, 3_000);
    assert_eq!(store.backfill(from, to), None, "what is looked at is here");
}

#[test]
fn a_viewer_at_the_begin_of_a_live_log_lets_later_records_go() {
    let log = random_log(4, 6_000);
    let mut store = Store::new(150_000);
    log.send(&mut store, 0, 100);
    let (from, to) = store.loaded().unwrap();
    store.look_at(from, to);
    log.send(&mut store, 100, log.records.len());
    assert!(store.bytes() < 250_000, "{}", store.bytes());
    let begin = store.newest(Seq(1));
    assert!(store.has(begin), "what is looked at stays");
    let last = store.newest(Seq(log.records.len() as u64));
    assert!(store.has(last), "the live log goes on");
}

/// Returns which records, gaps, streams, phases and lives are drawn. Of findings and verdicts that began in view, one
/// store may know a later update whose record is dropped; so their words and places differ.
fn signs(store: &Store, view: &View) -> String {
    let (_, scene) = picture(store, &mut Lanes::showing_all(), view, at(900_020.0));
    let hits = scene.dump_hits();
    let is_fixed = |line: &&str| !line.contains("inding") && !line.contains("Divergence");
    let targets = hits.lines().filter(is_fixed);
    let mut targets: Vec<&str> = targets
        .filter_map(|line| line.splitn(3, ' ').nth(2))
        .collect();
    targets.sort_unstable();
    targets.join("\n")
}

#[test]
fn a_dropped_chapter_leaves_the_others_as_if_it_never_came() {
    let live = Log::steady("live", 900_000.0, 20);
    for seed in 0..24 {
        let old = random_log(seed, 1_500);
        let end = old.records.len();
        let parts: Vec<(usize, usize)> = (0..end)
            .step_by(100)
            .map(|from| (from, (from + 100).min(end)))
            .collect();
        let entries = |(from, to)| old.listed(from, to, Availability::Kept);
        let entries: Vec<_> = parts.iter().copied().map(entries).collect();
        let looks_at = |place: usize| {
            (
                entries[place].summary.first_at,
                entries[place].summary.last_at,
            )
        };
        let mut dropping = Store::new(150_000);
        live.send_all(&mut dropping);
        list(&mut dropping, &old, 7, entries.clone());
        let (from, to) = looks_at(0);
        dropping.look_at(from, to);
        for &(from, to) in &parts {
            dropping.chapter(&old.chapter(from, to)).unwrap();
        }
        let held = |store: &Store, place: usize| {
            let (epoch, seq) = (
                store.newest(Seq(1)).epoch + 1,
                Seq(parts[place].0 as u64 + 1),
            );
            store.has(RecordId { epoch, seq })
        };
        let mut whole = Store::default();
        live.send_all(&mut whole);
        list(&mut whole, &old, 7, entries.clone());
        let kept: Vec<usize> = (0..parts.len())
            .filter(|&place| held(&dropping, place))
            .collect();
        assert!(kept.len() < parts.len(), "seed {seed}: nothing was dropped");
        assert_eq!(kept[0], 0, "seed {seed}: what is looked at stays");
        for &place in &kept {
            let (from, to) = parts[place];
            whole.chapter(&old.chapter(from, to)).unwrap();
        }
        for &place in &kept {
            let (from, to) = looks_at(place);
            // The last tenth is left out: the end of a stretch may lie right behind the edge, in a dropped chapter.
            let to = from.plus_micros(to.micros_since(from) / 10 * 9);
            let view = View::between(from, to, 1_600.0);
            let (drawn, wanted) = (signs(&dropping, &view), signs(&whole, &view));
            let difference = first_difference(&drawn, &wanted);
            assert!(drawn == wanted, "seed {seed}, part {place}: {difference}");
        }
    }
}

#[test]
fn a_view_of_too_many_chapters_loads_the_newest() {
    let new = Log::steady("live", 900_000.0, 20);
    let mut store = Store::default();
    new.send_all(&mut store);
    let old = Log::steady("old", 0.0, 20_000);
    let entries: Vec<_> = (0..200)
        .map(|part| old.listed(part * 100, part * 100 + 100, Availability::Kept))
        .collect();
    list(&mut store, &old, 7, entries);
    let mut asked = 0;
    while let Some((_, _, before)) = store.backfill(at(0.0), FOREVER) {
        let to = before.0 as usize - 1;
        store.chapter(&old.chapter(to - 100, to)).unwrap();
        asked += 1;
    }
    // The chapter of the live run is one of the 160.
    assert_eq!(asked, 159);
    assert!(store.backfill(at(0.0), at(5_000.0)).is_some());
    assert!(store.oldest_kept().unwrap() < at(1.0));
    let shown = store.oldest_shown_at_once().unwrap();
    assert_eq!(store.backfill(shown, FOREVER), None, "all of it is loaded");
}

#[test]
fn the_beginning_of_an_earlier_run_that_its_files_no_longer_have_is_expired() {
    let (old, new) = (Log::steady("a", 0.0, 60), Log::steady("b", 100.0, 20));
    let mut store = Store::default();
    new.send_all(&mut store);
    let end = old.records.len();
    let entries = vec![old.listed(end - 20, end, Availability::Kept)];
    list(&mut store, &old, 7, entries);
    let shown = covered(&store, at(130.0));
    assert_eq!(shown[0], (Coverage::Expired, 41));
    assert_eq!(shown[1], (Coverage::NotLoaded, 60));
    assert!(!store.keeps(at(0.0), at(20.0)) && store.keeps(at(30.0), at(50.0)));
}

#[test]
fn a_run_that_begins_before_the_end_of_the_one_before_it_has_a_seam_too() {
    let (old, new) = (Log::steady("a", 0.0, 60), Log::steady("b", 50.0, 20));
    let mut store = Store::default();
    new.send_all(&mut store);
    let end = old.records.len();
    list(
        &mut store,
        &old,
        7,
        vec![old.listed(0, end, Availability::Kept)],
    );
    let kinds: Vec<Coverage> = covered(&store, at(80.0))
        .iter()
        .map(|(is, _)| *is)
        .collect();
    assert_eq!(
        kinds,
        [Coverage::NotLoaded, Coverage::Seam, Coverage::Loaded]
    );
    let view = View::between(at(-5.0), at(85.0), 1_600.0);
    let (_, scene) = picture(&store, &mut Lanes::default(), &view, at(80.0));
    let dump = scene.dump();
    assert!(dump.contains("restarted, clock 10 s back"), "{dump}");
}

#[test]
fn dropped_chapters_of_a_live_log_are_loaded_again_if_the_server_keeps_them() {
    let log = random_log(4, 4_000);
    let mut store = Store::new(150_000);
    log.send_all(&mut store);
    let end = log.records.len();
    let entries: Vec<_> = (0..end)
        .step_by(100)
        .map(|from| log.listed(from, (from + 100).min(end), Availability::Kept))
        .collect();
    list(&mut store, &log, u64::MAX, entries.clone());
    // The log goes on, and more of it is dropped.
    let (from, to) = (entries[1].summary.first_at, entries[1].summary.last_at);
    store.look_at(from, to);
    let mut asked = 0;
    while let Some((_, _, before)) = store.backfill(from, to) {
        let to = before.0 as usize - 1;
        store
            .chapter(&log.chapter((to - 1) / 100 * 100, to))
            .unwrap();
        asked += 1;
        assert!(asked < 10, "what is looked at stays");
    }
    let seq = entries[1].summary.last;
    assert!(store.has(RecordId { epoch: 0, seq }), "{asked}");
}

#[test]
fn a_view_of_any_time_is_drawn() {
    let log = Log::steady("a", 0.0, 9);
    let store = log.store();
    for (from, to) in [(i64::MAX - 9_000_000, i64::MAX), (i64::MIN, i64::MIN + 9)] {
        let view = View::between(Time(from), Time(to), 800.0);
        let (_, scene) = picture(&store, &mut Lanes::default(), &view, at(10.0));
        assert!(scene.primitives.len() < 10_000);
        let ruler = ruler(&view, at(10.0));
        assert!(ruler.primitives.len() < 1_000);
    }
}

/// Returns a run of a watch that lists these Pods and sees one of them change.
fn run_with_a_change(names: &[&str], changed: &str) -> Log {
    let mut log = Log::new("a");
    log.opened(0.0, "shop/pods", 1, names, 100);
    log.change(
        5.0,
        "shop/pods",
        ChangeType::Modified,
        Origin::Live,
        changed,
        110,
    );
    log
}

/// Returns two runs of a watch. Between them one object came, one changed, one was created anew, and two went.
fn runs_that_differ() -> (Log, Log) {
    let old = run_with_a_change(&["a-0", "b-0", "c-0", "d-0", "e-0"], "a-0");
    let mut new = Log::new("b");
    new.opened(60.0, "shop/pods", 1, &["b-0", "c-0", "f-0"], 102);
    (old, new)
}

fn says(store: &Store, now: Time) -> String {
    let view = View::between(at(-5.0), at(85.0), 1_600.0);
    let mut lanes = Lanes::default();
    lanes.shows_all = true;
    picture(store, &mut lanes, &view, now).1.dump()
}

#[test]
fn the_first_list_behind_a_seam_says_what_changed_once_both_sides_are_loaded() {
    let (old, new) = runs_that_differ();
    let words = "LIST 3 items, over the seam +1 ~2 −3";
    let count = old.records.len();
    let listed = vec![old.listed(0, count, Availability::Kept)];

    // The page is connected during the restart.
    let mut store = Store::default();
    old.send_all(&mut store);
    new.send_all(&mut store);
    assert!(
        says(&store, at(80.0)).contains(words),
        "{}",
        says(&store, at(80.0))
    );

    // The run before ended in order: its watches were stopped, and held their objects until then.
    let mut stopped = old.clone();
    let watch = WatchName::from("shop/pods");
    let reason = PhaseReason::StopRequested;
    stopped.phase(6.0, "shop/pods", Phase::Stopped, reason, None);
    stopped.push(6.0, WatchStopped { watch, reason });
    let mut store = Store::default();
    stopped.send_all(&mut store);
    new.send_all(&mut store);
    assert!(says(&store, at(80.0)).contains(words));

    // The end of the run before comes from the history. It is requested once the list is in view.
    let mut store = Store::default();
    new.send_all(&mut store);
    list(&mut store, &old, 7, listed.clone());
    let waits = says(&store, at(80.0));
    assert!(!waits.contains("over the seam"));
    // One hatch is for the run before, one for the watch from the seam to its list.
    assert_eq!(waits.matches("hatch NotLoaded").count(), 2, "{waits}");
    assert_eq!(store.lacks_before_seam(at(70.0), at(80.0)), None);
    let (from, to) = store.lacks_before_seam(at(50.0), at(80.0)).unwrap();
    let (_, run, before) = store.backfill(from, to).unwrap();
    assert_eq!((run, before), (old.epoch.clone(), Seq(count as u64 + 1)));
    store.chapter(&old.chapter(0, count)).unwrap();
    let came = says(&store, at(80.0));
    assert!(
        came.contains(words) && !came.contains("NotLoaded"),
        "{came}"
    );
    assert_eq!(store.lacks_before_seam(at(50.0), at(80.0)), None);

    // If its end is not loaded, no difference is written.
    let mut store = Store::default();
    new.send_all(&mut store);
    let listed = vec![
        old.listed(count - 1, count, Availability::Kept),
        old.listed(0, count - 1, Availability::Kept),
    ];
    list(&mut store, &old, 7, listed);
    store.chapter(&old.chapter(0, count - 1)).unwrap();
    assert!(!says(&store, at(80.0)).contains("over the seam"));
}

#[test]
fn behind_a_seam_only_objects_that_differ_have_a_mark_and_a_deleted_one_says_so() {
    let old = run_with_a_change(&["as-before", "changed", "replaced", "deleted"], "changed");
    let mut new = Log::new("b");
    let names = ["as-before", "changed", "new", "replaced"];
    new.opened(60.0, "shop/pods", 1, &names, 100);
    for record in &mut new.records {
        if let Event::Change(change) = &mut record.event
            && &*change.object.name == "replaced"
        {
            change.object = object("replaced", 2);
        }
    }
    let mut store = Store::default();
    old.send_all(&mut store);
    new.send_all(&mut store);
    let view = View::between(at(-5.0), at(85.0), 1_600.0);
    let now = at(80.0);
    let drawn = |store: &Store| {
        let (rows, scene) = picture(store, &mut Lanes::showing_all(), &view, now);
        let x = view.x(at(60.0)).to_f64();
        let dump = scene.dump();
        let objects = rows.rows.iter().filter(|row| row.kind == RowKind::Object);
        let of = |row: &Row| {
            let y = (row.y + row.height.half()).to_f64();
            let here = |line: &&str| {
                let mut words = line.split([' ', ',']);
                let is_mark = matches!(words.next(), Some("glyph" | "text"));
                let words: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
                let [left, top, ..] = words[..] else {
                    return false;
                };
                is_mark && left > x - 5.0 && (top - y).abs() < 6.0
            };
            let words = dump
                .lines()
                .filter(here)
                .map(|line| match line.split_once('"') {
                    Some((_, text)) => text.trim_end_matches('"').to_owned(),
                    None => line.split(' ').nth(1).unwrap().to_owned(),
                });
            let mut words: Vec<String> = words.collect();
            words.insert(0, format!("{}:", row.name));
            words.join(" ")
        };
        objects.map(of).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(drawn(&store), @r"
    as-before:
    changed: modified-by-list
    deleted: deleted-inferred not in LIST: deleted while nobody watched
    new: added-by-list
    replaced: added-by-list another uid: deleted and created while nobody watched
    ");
    // If the run before is not loaded, its objects are unknown, so all listed objects are new.
    let mut store = Store::default();
    new.send_all(&mut store);
    assert_snapshot!(drawn(&store), @r"
    as-before: added-by-list
    changed: added-by-list
    new: added-by-list
    replaced: added-by-list
    ");
}

#[test]
fn a_seam_between_two_clusters_says_so_and_nothing_is_compared_over_it() {
    let connected = |uid: Option<&str>| ClusterConnected {
        cluster: "prod".into(),
        server: "https://10.0.0.1:6443".into(),
        version: "v1.33.1".into(),
        uid: uid.map(Into::into),
    };
    let drawn = |before: Option<&str>, after: Option<&str>, is_known_late: bool| {
        let (old, new) = runs_that_differ();
        let (mut first, mut second) = (Log::new("a"), Log::new("b"));
        first.push(-1.0, connected(before));
        for record in &old.records {
            first.push_at(record.at, record.event.clone());
        }
        if !is_known_late {
            second.push(59.0, connected(after));
        }
        for record in &new.records {
            second.push_at(record.at, record.event.clone());
        }
        if is_known_late {
            second.push(70.0, connected(after));
        }
        let mut store = Store::default();
        first.send_all(&mut store);
        second.send_all(&mut store);
        says(&store, at(80.0))
    };
    for is_known_late in [false, true] {
        let other = drawn(Some("5c1f"), Some("77aa"), is_known_late);
        assert!(other.contains("another cluster"), "{other}");
        assert!(!other.contains("over the seam"), "{other}");
        for (before, after) in [
            (Some("5c1f"), Some("5c1f")),
            (None, Some("5c1f")),
            (Some("5c1f"), None),
            (None, None),
        ] {
            let same = drawn(before, after, is_known_late);
            assert!(!same.contains("another cluster"), "{same}");
            assert!(same.contains("over the seam"), "{same}");
        }
    }
}

#[test]
fn over_a_seam_equal_objects_have_not_changed() {
    let names = ["a-0", "b-0"];
    let (mut old, mut new) = (Log::new("a"), Log::new("b"));
    old.opened(0.0, "shop/pods", 1, &names, 100);
    new.opened(60.0, "shop/pods", 1, &names, 100);
    new.opened(61.0, "shop/configmaps", 2, &names, 100);
    let mut store = Store::default();
    old.send_all(&mut store);
    new.send_all(&mut store);
    let dump = says(&store, at(80.0));
    assert!(
        dump.contains("LIST 2 items, nothing changed over the seam"),
        "{dump}"
    );
    assert_eq!(
        dump.matches("over the seam").count(),
        1,
        "configmaps are new: {dump}"
    );
}

#[test]
fn a_store_reads_the_same_from_bytes_that_are_kept_outside() {
    let (old, live) = (random_log(3, 800), Log::steady("live", 900_000.0, 20));
    let end = old.records.len();
    let read = |outside: bool| {
        let mut store = Store::default();
        if outside {
            store.keep_outside(|bytes| {
                let kept = bytes.to_vec();
                Box::new(move || kept.clone())
            });
        }
        live.send_all(&mut store);
        list(
            &mut store,
            &old,
            7,
            vec![old.listed(0, end, Availability::Kept)],
        );
        store.chapter(&old.chapter(0, end)).unwrap();
        let epoch = store.newest(Seq(1)).epoch + 1;
        let ids = (1..=end as u64).map(|seq| RecordId {
            epoch,
            seq: Seq(seq),
        });
        let records: Vec<_> = ids.map(|id| store.record(id)).collect();
        let (from, to) = store.loaded().unwrap();
        let frames: Vec<_> = store.frames(from, to).map(Result::unwrap).collect();
        let fold = store.as_of(old.records[400].at, at(900_030.0)).unwrap();
        (records, frames, fold.state().clone(), store.bytes() > 0)
    };
    assert!(read(true) == read(false));
}
