//! The differences between two moments, against folds of all records up to each.

use std::collections::BTreeMap;

use crate::common::random::{Chance, random_log};
use crate::common::{Log, at};
use proptest::prelude::*;
use watchscope_model::vocabulary::*;
use watchscope_model::{Layers, State, Time};
use watchscope_timeline::between::{
    Between, ChangedBy, DifferenceKind, Folds, Holding, Side, VersionsSeen, between, differences,
    head_words, place_words,
};
use watchscope_timeline::{LaneId, Store};

const PODS: &str = "shop/pods";

fn compared(store: &Store, a: Time, b: Time) -> Between {
    let of = |at: Time| store.as_of(at, b).expect("it is loaded");
    between(store, &of(a), &of(b))
}

/// Returns each row as one line: kind, name, what etcd and the watch held, and who changed it.
fn lines(found: &Between) -> Vec<String> {
    let sign = |held: &Holding| match held {
        Holding::Held => "x",
        Holding::NotHeld => "-",
        Holding::Ghost => "G",
        Holding::NotWatched => "",
        Holding::Unknown => "?",
    };
    let rows = found.rows.iter().map(|row| {
        let held = row.difference.held.iter();
        let held: Vec<String> = held
            .map(|[a, b]| format!("{}{}", sign(a), sign(b)))
            .collect();
        let by = match &row.by {
            ChangedBy::Manager(manager) => manager.to_string(),
            other => format!("{other:?}"),
        };
        let inferred = if row.is_inferred { " inferred" } else { "" };
        let (_, name) = place_words(&row.difference.watch, &row.difference.object);
        let kind = row.difference.kind;
        format!("{kind:?} {name} {} by {by}{inferred}", held.join(" "))
    });
    rows.collect()
}

fn words(found: &Between) -> String {
    let parts = head_words(found).into_iter().map(|part| part.words);
    parts.collect::<Vec<_>>().join(", ")
}

/// Four pods; later one changes, one goes, one comes, and one parts.
fn pods() -> Log {
    use ChangeType::{Added, Deleted, Modified};
    let mut log = Log::new("one");
    log.opened(0.0, PODS, 1, &["a-0", "b-1", "c-2", "d-3"], 100);
    log.change(20.0, PODS, Modified, Origin::Live, "a-0", 110);
    log.change(22.0, PODS, Deleted, Origin::Live, "b-1", 112);
    log.change(24.0, PODS, Added, Origin::Live, "e-4", 114);
    log.verdict(26.0, PODS, "c-2", Divergence::Ghost, Standing::Confirmed);
    log
}

#[test]
fn each_object_that_differs_has_a_row_the_worst_first_and_the_others_are_counted() {
    let store = pods().store();
    let found = compared(&store, at(10.0), at(30.0));
    assert_eq!(found.sides, [Side::Etcd, Side::Watch]);
    insta::assert_snapshot!(lines(&found).join("\n"), @r"
    Parted shop/c-2 x- xG by Unknown
    Went shop/b-1 x- x- by kubelet
    Came shop/e-4 -x -x by kubelet
    Changed shop/a-0 xx xx by kubelet
    ");
    assert_eq!(words(&found), "1 came, 1 went, 1 changed, 1 parted");
    assert_eq!((found.objects, found.records), (5, Some(4)));
    assert_eq!(found.lasted_us, 20_000_000);
    let versions = found.versions.as_ref().map(VersionsSeen::words);
    assert_eq!(
        versions.as_deref(),
        Some("shop/pods: resourceVersion 100 to 114, +14")
    );
    assert!(matches!(found.rows[0].lane, Some(LaneId::Object(..))));
}

#[test]
fn moments_with_the_same_objects_have_no_rows() {
    let store = pods().store();
    let found = compared(&store, at(10.0), at(15.0));
    assert_eq!(words(&found), "A and B are the same: 4 objects.");
}

#[test]
fn no_record_tells_what_etcd_held_within_a_gap_and_a_list_infers_deletes() {
    let mut log = pods();
    log.end(40.0, PODS, 10, Cause::TcpReset);
    log.change(
        60.0,
        PODS,
        ChangeType::Deleted,
        Origin::Inferred,
        "d-3",
        140,
    );
    log.gap(60.1, PODS, false, None);
    log.open(60.2, PODS, 11, 102, 140);
    let store = log.store();
    let found = compared(&store, at(50.0), at(70.0));
    insta::assert_snapshot!(lines(&found).join("\n"), @"Went shop/d-3 ?- x- by Unknown inferred");
    assert_eq!(words(&found), "1 went (1 inferred)");
}

#[test]
fn a_watch_that_had_no_list_at_one_moment_is_named_and_its_objects_are_left_out() {
    let mut log = pods();
    log.opened(40.0, "shop/jobs", 2, &["j-0"], 200);
    let store = log.store();
    let found = compared(&store, at(35.0), at(50.0));
    assert_eq!(found.rows, []);
    assert_eq!(found.unlisted, ["shop/jobs".into()]);
}

/// Compares two folds object by object, the simplest way.
fn by_hand(a: &State, b: &State) -> Vec<(String, String, DifferenceKind)> {
    let held = |state: &State, watch: &str| -> BTreeMap<String, (String, String)> {
        let objects = state.watches[&watch.into()].objects.iter();
        let of = objects.map(|held| {
            let what = (
                format!("{:?}", held.object.uid),
                held.resource_version.to_string(),
            );
            (held.object.name.to_string(), what)
        });
        of.collect()
    };
    let parted = |state: &State, watch: &str, name: &str| {
        let mut open = state.watches[&watch.into()].verdicts.values();
        let found = open.find(|open| {
            &*open.verdict.object.name == name && open.verdict.state == Standing::Confirmed
        });
        found.map(|open| open.verdict.kind)
    };
    let mut rows = Vec::new();
    for watch in b
        .watches
        .keys()
        .filter(|watch| a.watches.contains_key(*watch))
    {
        let listed = |state: &State| state.watches[watch].progress.is_some();
        if !listed(a) || !listed(b) {
            continue;
        }
        let (of_a, of_b) = (held(a, watch.as_str()), held(b, watch.as_str()));
        for name in ["a-0", "b-1", "c-2", "d-3", "e-4"] {
            let (then, now) = (
                parted(a, watch.as_str(), name),
                parted(b, watch.as_str(), name),
            );
            let kind = match (of_a.get(name), of_b.get(name)) {
                _ if now.is_some() && now != then => DifferenceKind::Parted,
                (None, Some(_)) => DifferenceKind::Came,
                (Some(_), None) => DifferenceKind::Went,
                (a, b) if a != b => DifferenceKind::Changed,
                _ => continue,
            };
            rows.push((watch.to_string(), name.to_owned(), kind));
        }
    }
    rows.sort();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_differences_are_those_of_all_records_applied_to_each_moment(seed in 0u64..1_000) {
        let log = random_log(seed, 240);
        let end = log.records.last().expect("records").at;
        let whole = log.store();
        let mut past = Store::default();
        log.send_from(&mut past, 200);
        for (first, last) in [(90, 200), (0, 90)] {
            past.chapter(&log.chapter(first, last)).expect("a chapter");
        }
        let mut chance = Chance::new(seed);
        for _ in 0..8 {
            let mut places = [(); 2].map(|()| chance.below(log.records.len() as u64) as usize);
            places.sort_unstable();
            let moments = places.map(|place| log.records[place].at);
            let count = |at: Time| log.records.partition_point(|record| record.at <= at);
            let [a, b] = moments.map(|at| log.state_after(count(at)));
            let expected = by_hand(&a, &b);
            let layers = Layers::default();
            let folds = |state| Folds { state, layers: &layers };
            let pure = differences(folds(&a), folds(&b));
            for store in [&whole, &past] {
                let of = |at: Time| store.as_of(at, end).expect("it is loaded");
                let found = between(store, &of(moments[0]), &of(moments[1]));
                let mut rows: Vec<_> = found.rows.iter().map(|row| {
                    let difference = &row.difference;
                    (difference.watch.to_string(), difference.object.name.to_string(), difference.kind)
                }).collect();
                rows.sort();
                prop_assert_eq!(&rows, &expected, "seed {}, {:?}", seed, places);
                prop_assert_eq!(found.objects, pure.objects);
                prop_assert_eq!(found.rows.len(), pure.rows.len());
            }
        }
    }
}

#[test]
fn the_record_beside_a_time_is_the_next_or_the_last_one() {
    let store = pods().store();
    let beside = |s, is_next| store.record_beside(at(s), is_next);
    assert_eq!(beside(20.0, true), Some(at(22.0)));
    assert_eq!(beside(21.0, true), Some(at(22.0)));
    assert_eq!(beside(22.0, false), Some(at(20.0)));
    assert_eq!(beside(26.0, true), None);
}
