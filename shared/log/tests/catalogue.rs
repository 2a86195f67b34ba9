//! Viewers receive the list of all chapters, and can read those that only files hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod world;

use watchscope_log::{Catalogue, FileRun, MAX_ENTRIES, MAX_RUNS};
use watchscope_model::summary::Summary;
use watchscope_model::wire::{Availability, Backfill, CatalogueEntry};
use watchscope_model::{Seq, Time};

use crate::world::{Viewer, World};

/// The ring of most tests, in bytes: 64 MiB.
const RING: u64 = 64 << 20;

/// The entries of the catalogue, run by run, the oldest first: `1-30 kept, 31-60 lost`.
fn listed(viewer: &Viewer) -> String {
    let runs = viewer.page.catalogue.iter();
    let run = |((_, epoch), entries): (
        &(u64, String),
        &std::collections::BTreeMap<Seq, CatalogueEntry>,
    )| {
        let entries: Vec<String> = entries.values().map(words).collect();
        format!("{epoch}: {}", entries.join(", "))
    };
    runs.map(run).collect::<Vec<_>>().join("; ")
}

fn words(entry: &CatalogueEntry) -> String {
    let what = match entry.availability {
        Availability::Kept => "kept",
        Availability::Expired => "expired",
        Availability::Lost => "lost",
    };
    let merged = if entry.is_merged { " merged" } else { "" };
    format!(
        "{}-{} {what}{merged}",
        entry.summary.first, entry.summary.last
    )
}

/// All entries of the live run.
fn live(viewer: &Viewer) -> Vec<&CatalogueEntry> {
    let (_, entries) = viewer.page.catalogue.last_key_value().unwrap();
    entries.values().collect()
}

/// A world with `count` chapters of 1 MiB, in a ring of `ring_bytes`.
fn chapters(count: usize, ring_bytes: u64) -> World {
    let mut world = World::new(ring_bytes);
    for _ in 0..count {
        world.notes(1 << 20);
    }
    world
}

#[test]
fn a_viewer_gets_all_chapters_after_its_snapshot_and_each_that_closes_later() {
    let mut world = chapters(3, RING);
    let mut viewer = Viewer::joined(&mut world);
    let entries = live(&viewer);
    // The chapters follow each other and cover all records; the open one is listed up to the snapshot.
    assert!(entries.len() >= 3);
    assert_eq!(entries[0].summary.first, Seq(1));
    assert_eq!(entries.last().unwrap().summary.last, world.head());
    for pair in entries.windows(2) {
        assert_eq!(pair[0].summary.last.next(), pair[1].summary.first);
    }
    let counted: u64 = entries
        .iter()
        .flat_map(|entry| &entry.summary.counts)
        .map(|(_, count)| count)
        .sum();
    assert_eq!(counted, world.head().0);
    let (before, messages) = (entries.len(), viewer.page.catalogue_messages);
    assert_eq!(messages, 1);
    world.notes(3 << 20);
    viewer.settle(&mut world);
    assert!(live(&viewer).len() > before);
}

#[test]
fn chapters_that_leave_the_ring_are_expired_without_files_and_lost_if_no_file_has_them_in_time() {
    let mut world = chapters(2, 5 << 20);
    let mut viewer = Viewer::joined(&mut world);
    world.notes(8 << 20);
    viewer.settle(&mut world);
    let gone = |viewer: &Viewer| -> Vec<Availability> {
        let entries = live(viewer).into_iter();
        entries
            .filter(|entry| entry.availability != Availability::Kept)
            .map(|entry| entry.availability)
            .collect()
    };
    let first = world.ring.first();
    assert!(gone(&viewer).iter().all(|is| *is == Availability::Expired));
    let kept = live(&viewer)
        .into_iter()
        .find(|entry| entry.availability == Availability::Kept);
    assert_eq!(kept.unwrap().summary.first, first);
    // From now on files hold the chapters so far, and later ones are not added.
    world.keep();
    world.notes(12 << 20);
    viewer.settle(&mut world);
    let gone = gone(&viewer);
    let lost = gone.iter().filter(|is| **is == Availability::Lost).count();
    assert!(lost > 0, "{}", listed(&viewer));
    let first_kept = live(&viewer)
        .into_iter()
        .find(|entry| entry.availability == Availability::Kept);
    assert_eq!(first_kept.unwrap().summary.first, first, "a file has it");
}

#[test]
fn a_chapter_that_only_a_file_has_is_read_while_live_data_continues() {
    let mut world = chapters(2, 5 << 20);
    world.keep();
    world.notes(8 << 20);
    let mut viewer = Viewer::joined(&mut world);
    assert!(world.ring.first() > Seq(1));
    viewer.disk_is_slow = true;
    viewer.backfill(&world, Seq(2));
    world.changes(3);
    viewer.settle(&mut world);
    assert_eq!(
        viewer.page.tell(),
        "segment",
        "the disk is slow, live is not"
    );
    viewer.answer(&world);
    viewer.settle(&mut world);
    let chapter = viewer.page.chapters.last().unwrap();
    assert_eq!(chapter.first, Seq(1));
    assert_eq!(chapter.records, world.written(Seq(1), chapter.before));
}

#[test]
fn chapters_of_earlier_runs_are_listed_in_their_order_and_can_be_read_in_any() {
    let mut old = chapters(4, RING);
    old.keep();
    let mut world = World::of_epoch("e2", RING);
    world.files = old.files.clone();
    world.list_files();
    let mut viewer = Viewer::joined(&mut world);
    let epochs: Vec<&str> = viewer
        .page
        .catalogue
        .keys()
        .map(|(_, epoch)| epoch.as_str())
        .collect();
    assert_eq!(epochs, ["e1", "e2"]);
    for kept in [&old.files[1], &old.files[0], &old.files[2]] {
        let backfill = Backfill {
            log: "demo".into(),
            epoch: "e1".into(),
            before: kept.summary.last.next(),
        };
        viewer.say(&world, backfill);
        viewer.settle(&mut world);
        let chapter = viewer.page.chapters.last().unwrap();
        let (first, before) = (kept.summary.first, kept.summary.last.next());
        assert_eq!((chapter.first, chapter.before), (first, before));
        assert_eq!(chapter.records, old.written(first, before));
    }
}

#[test]
fn an_unreadable_chapter_is_answered_with_the_reason_and_a_removed_one_as_expired() {
    let mut old = chapters(2, RING);
    old.keep();
    let mut world = World::of_epoch("e2", RING);
    world.files = old.files.clone();
    world.files[0].frames = None;
    world.list_files();
    let mut viewer = Viewer::joined(&mut world);
    let ask = |before| Backfill {
        log: "demo".into(),
        epoch: "e1".into(),
        before,
    };
    viewer.say(&world, ask(Seq(2)));
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "not read:2 it is damaged");
    let last = world.files.pop().unwrap().summary.last;
    viewer.say(&world, ask(last.next()));
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), format!("expired:1-{last}"));
    // The host lists its files again.
    world.list_files();
    viewer.settle(&mut world);
    let (run, _) = listed(&viewer)
        .split_once(';')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    assert!(run.ends_with(&format!("-{last} expired")), "{run}");
}

/// The summary of a chapter of ten records, the `number`-th of its run.
fn chapter(number: u64) -> Summary {
    let first = number * 10 + 1;
    Summary {
        first: Seq(first),
        last: Seq(first + 9),
        first_at: Time(first as i64),
        last_at: Time(first as i64 + 9),
        counts: vec![(5, 10)],
        worst: None,
        troubles: Vec::new(),
    }
}

fn run(order: u64, chapters: impl IntoIterator<Item = u64>) -> FileRun {
    FileRun {
        epoch: format!("run{order}").as_str().into(),
        order,
        chapters: chapters.into_iter().map(chapter).collect(),
    }
}

#[test]
fn a_stretch_between_two_chapters_that_no_file_has_is_listed_as_lost() {
    let mut world = World::new(RING);
    world
        .ring
        .catalogue_mut()
        .set_files(&[run(1, [0, 1, 4]), run(2, [3])]);
    let viewer = Viewer::joined(&mut world);
    assert_eq!(
        listed(&viewer),
        "run1: 1-10 kept, 11-20 kept, 21-40 lost, 41-50 kept; run2: 31-40 kept; e1: 1-1 kept"
    );
}

#[test]
fn over_10_000_chapters_the_oldest_become_one_and_none_is_left_out() {
    let mut world = World::new(RING);
    let most = MAX_ENTRIES as u64;
    world
        .ring
        .catalogue_mut()
        .set_files(&[run(1, 0..most / 2), run(2, 0..most)]);
    let mut viewer = Viewer::joined(&mut world);
    assert_eq!(world.ring.catalogue().len(), MAX_ENTRIES);
    let run1 = viewer.page.catalogue.first_key_value().unwrap().1;
    let merged = &run1[&Seq(1)];
    assert!(merged.is_merged && run1.len() == 1);
    assert_eq!(merged.summary.last, Seq(most * 5));
    assert_eq!(merged.summary.counts, [(5, most * 5)]);
    // The list takes several messages, and each entry comes once.
    assert!(viewer.page.catalogue_messages > 4);
    let before = viewer.page.catalogue_messages;
    viewer.settle(&mut world);
    assert_eq!(viewer.page.catalogue_messages, before);
}

#[test]
fn above_the_most_runs_the_oldest_are_forgotten_and_the_live_one_stays() {
    let mut catalogue = Catalogue::new("live".into());
    let runs: Vec<FileRun> = (0..2 * MAX_RUNS as u64)
        .map(|order| run(order, [0]))
        .collect();
    catalogue.set_files(&runs);
    assert_eq!(catalogue.len(), MAX_RUNS - 1);
    assert!(!catalogue.is_in_file(&"run3".into(), Seq(1)));
    assert!(catalogue.is_in_file(&runs[2 * MAX_RUNS - 1].epoch, Seq(1)));
}
