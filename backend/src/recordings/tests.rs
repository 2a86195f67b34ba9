//! A log that is recorded, and the contents of its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::{Entry, Seq};

use super::*;
use crate::log::tests::{note, open};
use crate::log::{LogHandle, Read, Since};

/// A folder, and the path of a file in it that does not exist yet.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wscope");
    (folder, path)
}

fn create(path: &Path, log: &LogHandle) -> Recorder {
    Recorder::create(Arc::new(HostDisk), path, file_block(log.log(), log.epoch())).unwrap()
}

/// Returns all entries of a file, chapter by chapter.
fn entries(path: &Path) -> Vec<Entry> {
    let open = OpenFile::open(path).unwrap();
    assert_eq!(open.contents().damaged, []);
    let mut entries = Vec::new();
    for entry in &open.contents().chapters {
        let chapter = open.chapter(entry).unwrap().unwrap();
        assert_eq!(chapter.damaged, []);
        let (mut reader, _) = ChapterReader::open(chapter.frames.head()).unwrap();
        for segment in chapter.frames.segments() {
            entries.extend(reader.entries(segment).unwrap().into_iter().flatten());
        }
    }
    entries
}

/// Returns all entries of a log whose ring holds them all.
pub(crate) fn of_log(log: &LogHandle) -> Vec<Entry> {
    let mut reader = log.reader(Since::First);
    let mut entries = Vec::new();
    while let Some(read) = reader.try_next() {
        match read {
            Read::Entries(read) => entries.extend(read),
            Read::Loss { from, to } => panic!("{from} to {to} are lost"),
        }
    }
    entries
}

#[tokio::test(start_paused = true)]
async fn a_finished_file_holds_the_logs_records_in_one_block_a_chapter() {
    let (_folder, path) = place();
    let log = open(64 << 20, 0);
    let recording = tokio::spawn(record(log.frames(), create(&path, &log)));
    // The log has several chapters.
    for batch in 0..300 {
        let text = "x".repeat(10_000);
        log.append(note(&format!("{batch} {text}"))).await.unwrap();
    }
    log.close().await;
    let recorder = recording.await.unwrap().unwrap();
    assert_eq!(*recorder.lost(), Lost::default());
    let before = recorder.bytes();
    let after = recorder.finish().unwrap().bytes;
    assert_eq!(std::fs::metadata(&path).unwrap().len(), after);
    assert!(after < before / 2, "{before} bytes became {after}");
    let expected = of_log(&log);
    assert_eq!(expected.len(), 300);
    assert_eq!(entries(&path), expected);
    let open = OpenFile::open(&path).unwrap();
    let chapters = &open.contents().chapters;
    assert!(chapters.len() > 1);
    assert!(
        chapters
            .iter()
            .all(|entry| entry.closed.is_some() && entry.segments.is_empty())
    );
    let of = &open.contents().files[0];
    assert_eq!((&*of.log, &*of.epoch), ("demo", "e1"));
}

#[tokio::test(start_paused = true)]
async fn a_sealed_record_is_in_the_readable_file_within_a_second() {
    let (_folder, path) = place();
    let log = open(64 << 20, 0);
    let recording = tokio::spawn(record(log.frames(), create(&path, &log)));
    for number in 1..=3 {
        log.append(note("a")).await.unwrap();
        sleep(Duration::from_millis(1_100)).await;
        // The write itself happens on another thread.
        let is_there = async {
            while entries(&path).len() < number {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(60), is_there).await.unwrap();
    }
    log.close().await;
    drop(recording.await.unwrap().unwrap());
    // The file was not finished, as after a crash.
    assert_eq!(entries(&path), of_log(&log));
}

#[tokio::test(start_paused = true)]
async fn no_file_is_overwritten_and_no_link_followed() {
    let (folder, path) = place();
    let log = open(1 << 20, 0);
    std::fs::write(&path, "mine").unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
    for path in [&path, &link] {
        let refused =
            Recorder::create(Arc::new(HostDisk), path, file_block(log.log(), log.epoch()))
                .unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("{} exists; name another file, or remove it", path.display())
        );
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    assert!(!folder.path().join("elsewhere").exists());
}

#[tokio::test(start_paused = true)]
async fn a_link_is_followed_if_a_person_names_it_but_not_on_the_historys_disk() {
    let (folder, path) = place();
    let log = open(1 << 20, 0);
    create(&path, &log).finish().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(OpenFile::open(&link).unwrap().path(), link);
    assert!(OpenFile::open_on(&HostDisk, &link).is_err());
}

#[tokio::test(start_paused = true)]
async fn only_its_owner_can_read_a_file_before_and_after_it_is_finished() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, path) = place();
    let log = open(1 << 20, 0);
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let recorder = create(&path, &log);
    assert_eq!(mode(), 0o600);
    recorder.finish().unwrap();
    assert_eq!(mode(), 0o600);
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_falls_behind_the_ring_leaves_a_hole_and_continues() {
    let (_folder, path) = place();
    let log = open(1 << 20, 0);
    let mut frames = log.frames();
    let mut recorder = create(&path, &log);
    let batch = async |from: usize| {
        for number in from..from + 150 {
            let text = "x".repeat(20_000);
            log.append(note(&format!("{number} {text}"))).await.unwrap();
        }
        sleep(Duration::from_millis(100)).await;
    };
    log.append(note("first")).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    while let Some(read) = frames.try_next() {
        recorder.take(&read).unwrap();
    }
    batch(0).await;
    while let Some(read) = frames.try_next() {
        recorder.take(&read).unwrap();
    }
    let [(from, to)] = recorder.lost().runs[..] else {
        panic!("{:?}", recorder.lost());
    };
    assert_eq!(from, Seq(2));
    recorder.finish().unwrap();
    let seqs: Vec<Seq> = entries(&path).iter().map(Entry::seq).collect();
    let expected: Vec<Seq> = [Seq(1)]
        .into_iter()
        .chain((to.0 + 1..=151).map(Seq))
        .collect();
    assert_eq!(seqs, expected);
}

#[test]
fn a_file_that_is_no_recording_is_named_with_the_reason() {
    let (_folder, path) = place();
    let said = |path: &Path| {
        let error = OpenFile::open(path).unwrap_err().to_string();
        error.replace(&path.display().to_string(), "FILE")
    };
    assert_eq!(
        said(&path),
        "cannot read FILE: No such file or directory (os error 2)"
    );
    std::fs::write(&path, "apiVersion: v1").unwrap();
    assert_eq!(said(&path), "FILE, byte 0: this is no watchscope recording");
}

#[test]
fn of_many_runs_of_lost_records_the_first_are_listed_and_the_others_counted() {
    let mut lost = Lost::default();
    for run in 0..103 {
        lost.add(Seq(run * 10 + 1), Seq(run * 10 + 4));
    }
    assert_eq!(lost.runs.len(), 100);
    assert_eq!(lost.runs.last(), Some(&(Seq(991), Seq(994))));
    assert_eq!((lost.more_runs, lost.more_records), (3, 12));
}
