//! Random schedules of appends, acknowledgements, pauses and broken connections. A viewer that applies all messages
//! has exactly the log's fold, and every hole was announced.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../cases.rs"]
mod cases;
mod world;

use proptest::prelude::*;
use watchscope_model::Seq;
use watchscope_model::wire::Availability;

use cases::cases;
use world::{Viewer, World};

#[derive(Clone, Debug)]
enum Act {
    Changes(u64),
    Notes(u64),
    Pass(u64),
    Fill,
    Deliver(usize),
    Acknowledge,
    Pause(bool),
    Backfill,
    Keep,
    Reconnect,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (1u64..400).prop_map(Act::Changes),
        2 => (1u64..3_000_000).prop_map(Act::Notes),
        5 => prop_oneof![3 => 1u64..300, 1 => 300u64..9_000].prop_map(Act::Pass),
        6 => Just(Act::Fill),
        6 => prop_oneof![2 => 1usize..6, 1 => Just(usize::MAX)].prop_map(Act::Deliver),
        5 => Just(Act::Acknowledge),
        1 => any::<bool>().prop_map(Act::Pause),
        2 => Just(Act::Backfill),
        1 => Just(Act::Keep),
        1 => Just(Act::Reconnect),
    ]
}

/// Asserts that the viewer holds a stretch of the log, and that every record it lacks was announced.
fn check(world: &World, viewer: &Viewer) {
    let page = &viewer.page;
    if page.live_seq().is_some() {
        assert_eq!(page.state, world.folded(page.state.seq));
    }
    for pair in page.records.windows(2) {
        let (mut from, to) = (pair[0].seq.next(), pair[1].seq);
        // Absences were announced in order; one may begin where the last one ended.
        for &(first, last) in &page.absences {
            if first <= from && from <= last {
                from = last.next();
            }
        }
        assert!(
            from >= to,
            "{from} up to before {to} is missing without an announcement"
        );
    }
    for record in &page.records {
        assert_eq!(*record, world.written(record.seq, record.seq.next())[0]);
    }
    for chapter in &page.chapters {
        assert_eq!(chapter.state, world.folded(Seq(chapter.first.0 - 1)));
        assert_eq!(
            chapter.records,
            world.written(chapter.first, chapter.before)
        );
    }
}

/// Asserts that the viewer's catalogue covers all records ever written, and that each chapter listed as kept can be
/// read.
fn check_catalogue(world: &mut World, viewer: &mut Viewer) {
    let entries: Vec<_> = viewer
        .page
        .catalogue
        .values()
        .flat_map(|run| run.values().cloned())
        .collect();
    let mut next = Seq(1);
    for entry in entries {
        let summary = &entry.summary;
        assert_eq!(summary.first, next);
        next = summary.last.next();
        let is_in_ring = summary.first >= world.ring.first();
        let is_in_file = world
            .files
            .iter()
            .any(|kept| kept.summary.first == summary.first && kept.summary.last == summary.last);
        let is_kept = entry.availability == Availability::Kept;
        assert_eq!(is_kept, is_in_ring || is_in_file, "{entry:?}");
        if is_kept {
            viewer.backfill(world, next);
            viewer.settle(world);
            let chapter = viewer.page.chapters.last().unwrap();
            assert_eq!((chapter.first, chapter.before), (summary.first, next));
        }
    }
    // The viewer has the live records since the open chapter was listed.
    assert!(
        next >= world
            .ring
            .chapter(world.head())
            .map_or(Seq(1), |open| open.first)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn a_viewer_that_applies_all_messages_has_the_logs_fold_and_no_unannounced_hole(
        acts in prop::collection::vec(act(), 1..120), ring_bytes in prop::sample::select(vec![2u64 << 20, 5 << 20, 64 << 20]),
    ) {
        let mut world = World::new(ring_bytes);
        let mut viewer = Viewer::connect(&world);
        for act in acts {
            match act {
                Act::Changes(count) => world.changes(count),
                Act::Notes(bytes) => world.notes(bytes),
                Act::Pass(millis) => world.pass_ms(millis),
                Act::Fill => drop(viewer.fill(&mut world)),
                Act::Deliver(count) => viewer.deliver(count),
                Act::Acknowledge => viewer.acknowledge(&world),
                Act::Pause(paused) => viewer.pause(&world, paused),
                Act::Backfill => {
                    if let Some(before) = viewer.page.live_seq() && viewer.backfills < 10 {
                        viewer.backfill(&world, before);
                    }
                }
                Act::Keep => world.keep(),
                Act::Reconnect => viewer.reconnect(&world),
            }
        }
        check(&world, &viewer);
        viewer.pause(&world, false);
        viewer.settle(&mut world);
        check(&world, &viewer);
        prop_assert_eq!(viewer.page.state.seq, world.head());
        check_catalogue(&mut world, &mut viewer);
        check(&world, &viewer);
    }
}
