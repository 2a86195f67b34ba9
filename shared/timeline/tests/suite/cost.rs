//! The cost of an arrangement of many lanes. It prints times and asserts none, because machines differ.
#![allow(clippy::disallowed_methods, reason = "it prints times to a person")]

use std::time::Instant;

use crate::common::{Log, at};
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_timeline::lanes::{Grouping, Sorting};
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::{Lanes, Px, View};

/// Returns a log of `watches` watches over ten namespaces, with `objects` objects each, and a change of every object.
fn large(watches: u64, objects: u64) -> Log {
    let mut log = Log::new("a");
    let names: Vec<String> = (0..objects)
        .map(|number| format!("pod-{number:05}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut version = 1_000;
    for watch in 0..watches {
        let name = format!("space-{}/kind-{watch:04}", watch % 10);
        log.opened(0.0, &name, watch + 1, &names, version);
        for object in &names {
            version += 1;
            let (kind, origin) = (ChangeType::Modified, Origin::Live);
            log.change(
                10.0 + version as f64 / 1e4,
                &name,
                kind,
                origin,
                object,
                version,
            );
        }
    }
    log
}

#[test]
#[ignore = "it prints times; run it with --release --nocapture"]
fn an_arrangement_of_5_000_lanes_takes_this_long() {
    for (watches, objects) in [(1, 5_000), (100, 50), (1_000, 4)] {
        let mut log = large(watches, objects);
        for (sorting, grouping) in [
            (Sorting::Name, Grouping::None),
            (Sorting::Trouble, Grouping::Namespace),
            (Sorting::Rate, Grouping::Owner),
        ] {
            let mut lanes = Lanes::default();
            lanes.height = Some(Px::whole(1_000));
            lanes.records = Some(&RECORDS.rows);
            lanes.sort_by(sorting);
            lanes.group_by(grouping);
            let mut store = log.store();
            lanes.set_all_expanded(&store, true);
            for watch in 0..watches {
                let key = format!("space-{}/kind-{watch:04}", watch % 10);
                let lane = store.lane_of_key(&key).unwrap();
                lanes.set_whole(&store, lane.watch().unwrap(), true);
            }
            let end = log.state.at.micros_since(at(0.0)) as f64 / 1e6;
            // The least of nine, because other programs run too.
            let rows = |lanes: &mut Lanes, store: &_, now: f64| {
                let view = View::following(at(now), 300_000_000, 1_600.0);
                let before = lanes.clone();
                let times = (0..9).map(|_| {
                    lanes.clone_from(&before);
                    let begun = Instant::now();
                    let rows = lanes.rows(store, &view, at(now));
                    (begun.elapsed().as_secs_f64() * 1e3, rows.rows.len())
                });
                times.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
            };
            let (first_ms, count) = rows(&mut lanes, &store, end + 1.0);
            let (same_ms, _) = rows(&mut lanes, &store, end + 1.02);
            let from = log.records.len();
            for step in 0..20u64 {
                let version = 900_000 + from as u64 + step;
                let (kind, origin) = (ChangeType::Modified, Origin::Live);
                log.change(
                    end + 2.0,
                    "space-0/kind-0000",
                    kind,
                    origin,
                    "pod-00001",
                    version,
                );
            }
            let mut later = Lanes::default();
            std::mem::swap(&mut later, &mut lanes);
            store = log.store();
            let (due_ms, _) = rows(&mut later, &store, end + 3.0);
            println!(
                "{watches} watches x {objects} objects, {sorting:?} {grouping:?}: {count} rows; first {first_ms:.2} ms, \
                 nothing new {same_ms:.2} ms, recompute {due_ms:.2} ms"
            );
        }
    }
}
