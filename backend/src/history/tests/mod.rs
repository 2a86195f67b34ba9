//! A log whose history is kept, and the contents of its files.

mod disk;
mod notes;
mod past;
mod runs;
mod searching;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::vocabulary::DiskTrouble;
use watchscope_model::{Entry, Seq};

use self::disk::{Fault, TestDisk};
use super::*;
use crate::log::LogHandle;
use crate::log::tests::{modified_with_body, note, open_run};
use crate::recordings::tests::of_log;
use crate::recordings::{Disk, OpenFile};

const DAY: Duration = Duration::from_secs(86_400);

/// A history that is kept, and its state.
struct Kept {
    history: History,
    archive: Archive,
    state: watch::Receiver<Option<HistoryState>>,
}

impl Kept {
    fn state(&self) -> HistoryState {
        self.state.borrow().clone().unwrap()
    }
}

/// A folder for histories, on a disk in memory.
struct Bench {
    _root: TempDir,
    disk: TestDisk,
    config: HistoryConfig,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self {
            config: HistoryConfig {
                folder: root.path().join("history"),
                size_bytes: 1 << 30,
                bodies_bytes: None,
                age: DAY,
            },
            _root: root,
            disk: TestDisk::default(),
        }
    }

    fn folder(&self) -> PathBuf {
        let mut folders = std::fs::read_dir(&self.config.folder).unwrap();
        folders.next().unwrap().unwrap().path()
    }

    async fn begin(&self, log: &LogHandle) -> Kept {
        let (sender, state) = watch::channel(None);
        let begun = async {
            loop {
                let state = state.clone();
                let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
                let archive = Archive::new(disk.clone());
                match History::begin(
                    self.config.clone(),
                    disk,
                    b"a CA".to_vec(),
                    log,
                    archive.clone(),
                    sender.clone(),
                )
                .await
                {
                    Ok(history) => {
                        return Kept {
                            history,
                            archive,
                            state,
                        };
                    }
                    // An action of a killed process may end a moment later.
                    Err(PlaceError::InUse { .. }) => sleep(Duration::from_millis(1)).await,
                    Err(error) => panic!("{error}"),
                }
            }
        };
        timeout(Duration::from_secs(600), begun).await.unwrap()
    }

    fn files(&self) -> Vec<OpenFile> {
        let names = self.disk.names().into_iter();
        let recordings = names.filter(|path| path.extension().is_some_and(|end| end == "wscope"));
        recordings
            .filter_map(|path| OpenFile::open_on(&self.disk, &path).ok())
            .collect()
    }

    /// Returns all entries of all files by epoch and seq. It asserts that entries in two files are equal.
    fn entries(&self) -> BTreeMap<String, BTreeMap<Seq, Entry>> {
        let mut all: BTreeMap<String, BTreeMap<Seq, Entry>> = BTreeMap::new();
        for file in self.files() {
            for (epoch, entry) in entries_of(&file) {
                let before = all
                    .entry(epoch)
                    .or_default()
                    .insert(entry.seq(), entry.clone());
                assert!(before.is_none_or(|before| before == entry));
            }
        }
        all
    }

    fn seqs(&self, epoch: &str) -> Vec<u64> {
        let entries = self.entries().remove(epoch).unwrap_or_default();
        entries.keys().map(|seq| seq.0).collect()
    }
}

/// Returns the entries of a file, each with its epoch. Each chapter is read from its own snapshot on.
fn entries_of(file: &OpenFile) -> Vec<(String, Entry)> {
    let mut entries = Vec::new();
    for listed in &file.contents().chapters {
        let Ok(chapter) = file.chapter(listed).unwrap() else {
            continue;
        };
        let (mut reader, opening) = ChapterReader::open(chapter.frames.head()).unwrap();
        let mut state = opening.state;
        for segment in chapter.frames.segments() {
            for entry in reader.entries(segment).unwrap().into_iter().flatten() {
                assert_eq!(entry.seq(), state.seq.next());
                if let Some(record) = entry.record() {
                    state.apply(record);
                }
                entries.push((opening.epoch.to_string(), entry));
            }
        }
    }
    entries
}

fn by_seq(log: &LogHandle) -> BTreeMap<Seq, Entry> {
    let entries = of_log(log).into_iter();
    entries.map(|entry| (entry.seq(), entry)).collect()
}

async fn append(log: &LogHandle, count: usize, bytes: usize) {
    for number in 0..count {
        let text = format!("{number} {}", "x".repeat(bytes));
        log.append(note(&text)).await.unwrap();
    }
}

async fn end(log: LogHandle, history: Kept) {
    log.close().await;
    history.history.finished().await;
}

/// Waits until the history's state satisfies `is_so`.
async fn until(history: &Kept, is_so: impl Fn(&HistoryState) -> bool) -> HistoryState {
    let mut state = history.state.clone();
    let is_so = |state: &Option<HistoryState>| state.as_ref().is_some_and(&is_so);
    let waited = timeout(Duration::from_secs(3_600), state.wait_for(is_so));
    let state = waited
        .await
        .expect("the state is reached in time")
        .unwrap()
        .clone();
    state.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_history_holds_each_record_of_each_run_in_a_file_of_its_own() {
    let bench = Bench::new();
    let mut expected = BTreeMap::new();
    for epoch in ["e1", "e2", "e3"] {
        let log = open_run(epoch, 64 << 20);
        let history = bench.begin(&log).await;
        append(&log, 300, 10_000).await;
        sleep(Duration::from_secs(3)).await;
        append(&log, 10, 10).await;
        end(log.clone(), history).await;
        expected.insert(epoch.to_owned(), by_seq(&log));
    }
    assert_eq!(bench.entries(), expected);
    let names: Vec<String> = bench
        .disk
        .names()
        .iter()
        .map(|path| {
            path.strip_prefix(bench.folder())
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    000001-2025-11-21T09-00-00Z.wscope
    000002-2025-11-21T09-00-00Z.wscope
    000003-2025-11-21T09-00-00Z.wscope
    ");
    assert!(bench.files().iter().all(|file| file.contents().is_ended()));
}

#[tokio::test(start_paused = true)]
async fn records_are_in_the_file_within_a_second_and_the_state_reports_it() {
    let bench = Bench::new();
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    for count in 1..=3 {
        append(&log, 1, 10).await;
        let taken = tokio::time::Instant::now();
        let state = until(&history, |state| state.kept_to == Seq(count)).await;
        assert!(taken.elapsed() < Duration::from_secs(1));
        assert_eq!(state.waits_since, None);
        assert_eq!(bench.seqs("e1"), (1..=count).collect::<Vec<_>>());
        assert_eq!(state.bytes, bench.disk.bytes());
        assert!(state.since.is_some());
        assert_eq!(state.trouble, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_stops_only_the_history_which_resumes_with_what_the_ring_has() {
    let bench = Bench::new();
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 10, 10).await;
    until(&history, |state| state.kept_to == Seq(10)).await;
    bench.disk.set(Fault::Full(bench.disk.bytes() + 100));
    append(&log, 10, 1_000).await;
    let state = until(&history, |state| state.trouble.is_some()).await;
    let trouble = state.trouble.unwrap();
    assert_eq!(trouble.kind, DiskTrouble::Full);
    assert_eq!(
        state.kept_to,
        Seq(10),
        "the records are in the file that broke"
    );
    assert!(state.waits_since.is_some());
    // The log continues.
    append(&log, 10, 10).await;
    sleep(Duration::from_secs(120)).await;
    assert_eq!(of_log(&log).len(), 30);
    assert_eq!(
        history.state().trouble.as_ref().unwrap().since,
        trouble.since
    );
    bench.disk.set(Fault::None);
    let state = until(&history, |state| state.trouble.is_none()).await;
    assert_eq!((state.kept_to, state.lost), (Seq(30), 0));
    let expected = of_log(&log);
    end(log, history).await;
    let kept: Vec<Entry> = bench
        .entries()
        .remove("e1")
        .unwrap()
        .into_values()
        .collect();
    assert_eq!(kept, expected);
}

#[tokio::test(start_paused = true)]
async fn records_that_left_the_ring_while_the_disk_was_full_are_counted_as_lost() {
    let bench = Bench::new();
    let log = open_run("e1", 1 << 20);
    let history = bench.begin(&log).await;
    append(&log, 10, 10).await;
    until(&history, |state| state.kept_to == Seq(10)).await;
    bench.disk.set(Fault::ReadOnly);
    append(&log, 400, 20_000).await;
    let state = until(&history, |state| state.trouble.is_some()).await;
    assert_eq!(state.trouble.unwrap().kind, DiskTrouble::ReadOnly);
    bench.disk.set(Fault::None);
    let state = until(&history, |state| state.trouble.is_none()).await;
    end(log, history).await;
    let kept = bench.seqs("e1");
    assert!(state.lost > 100, "{state:?}");
    assert_eq!(kept.len() as u64, 410 - state.lost);
    assert!(kept.contains(&10) && kept.contains(&410));
}

#[tokio::test(start_paused = true)]
async fn only_the_history_waits_for_a_slow_disk() {
    let bench = Bench::new();
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 1, 10).await;
    until(&history, |state| state.kept_to == Seq(1)).await;
    bench.disk.hold();
    append(&log, 10, 10).await;
    let state = until(&history, |state| state.waits_since.is_some()).await;
    assert_eq!(state.kept_to, Seq(1));
    // While a thread waits for the disk, only the test advances the time.
    while !bench.disk.is_waiting() {
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    append(&log, 100, 10).await;
    while of_log(&log).len() < 111 {
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    tokio::time::advance(Duration::from_secs(6)).await;
    let state = until(&history, |state| state.trouble.is_some()).await;
    assert_eq!(state.trouble.unwrap().kind, DiskTrouble::Slow);
    bench.disk.let_go();
    // The advance of the time by the test is a record too.
    let state = until(&history, |state| state.kept_to >= Seq(111)).await;
    assert_eq!((state.lost, state.trouble), (0, None));
}

#[tokio::test(start_paused = true)]
async fn a_removed_folder_is_created_again_and_gets_all_records_of_the_ring() {
    let bench = Bench::new();
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 10, 10).await;
    until(&history, |state| state.kept_to == Seq(10)).await;
    std::fs::remove_dir_all(bench.folder()).unwrap();
    bench.disk.clear();
    let state = until(&history, |state| state.trouble.is_some()).await;
    assert_eq!(state.trouble.unwrap().kind, DiskTrouble::Gone);
    append(&log, 10, 10).await;
    until(&history, |state| state.kept_to == Seq(20)).await;
    assert_eq!(bench.seqs("e1"), (1..=20).collect::<Vec<_>>());
    assert!(bench.folder().join("lock").exists());
}

#[tokio::test(start_paused = true)]
async fn the_oldest_files_are_dropped_over_the_budget_and_so_are_those_too_old() {
    let mut bench = Bench::new();
    bench.config.size_bytes = 8 << 20;
    bench.config.age = Duration::from_secs(1_000);
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    let mut random = 1_u64;
    for _ in 0..20 {
        // Random bytes do not deflate.
        for _ in 0..80 {
            let text: String = (0..10_000)
                .map(|_| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    char::from(b' ' + (random >> 58) as u8)
                })
                .collect();
            log.append(note(&text)).await.unwrap();
        }
        sleep(Duration::from_secs(1)).await;
        assert!(bench.disk.bytes() <= 10 << 20, "{}", bench.disk.bytes());
    }
    until(&history, |state| state.kept_to == Seq(1_600)).await;
    let kept = bench.seqs("e1");
    let first = kept[0];
    assert!((400..1_200).contains(&first), "{first}");
    assert_eq!(kept, (first..=1_600).collect::<Vec<_>>());
    assert!(history.state().bytes <= 8 << 20);
    // The open file stays, however old its records are.
    sleep(Duration::from_secs(1_200)).await;
    assert_eq!(bench.files().len(), 1);
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_loop_leaves_few_files_and_keeps_every_record() {
    let bench = Bench::new();
    let mut expected = BTreeMap::new();
    for run in 0..40 {
        let epoch = format!("e{run}");
        let log = open_run(&epoch, 1 << 20);
        let history = bench.begin(&log).await;
        append(&log, 5, 100).await;
        until(&history, |state| state.kept_to == Seq(5)).await;
        expected.insert(epoch, by_seq(&log));
        history.history.kill().await;
        assert!(bench.files().len() <= 9, "{}", bench.files().len());
    }
    assert_eq!(bench.entries(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_no_recording_stays_and_is_ignored() {
    let bench = Bench::new();
    let log = open_run("e1", 1 << 20);
    let history = bench.begin(&log).await;
    append(&log, 5, 100).await;
    end(log, history).await;
    let folder = bench.folder();
    let (broken, own) = (folder.join("000007-x.wscope"), folder.join("mine.txt"));
    bench.disk.put(&broken, b"no recording at all");
    bench.disk.put(&own, b"mine");
    bench
        .disk
        .put(&folder.join("000003-x.wscope.unfinished"), b"half");
    let log = open_run("e2", 1 << 20);
    let history = bench.begin(&log).await;
    append(&log, 5, 100).await;
    end(log, history).await;
    let names: Vec<String> = bench
        .disk
        .names()
        .iter()
        .map(|path| path.strip_prefix(&folder).unwrap().display().to_string())
        .collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    000001-2025-11-21T09-00-00Z.wscope
    000007-x.wscope
    000008-2025-11-21T09-00-00Z.wscope
    mine.txt
    ");
}

#[tokio::test(start_paused = true)]
async fn bodies_are_kept_on_request_and_are_dropped_before_records() {
    let mut bench = Bench::new();
    bench.config.bodies_bytes = Some(1 << 20);
    let mut expected = BTreeMap::new();
    for epoch in ["e1", "e2", "e3"] {
        let log = open_run(epoch, 1 << 20);
        let history = bench.begin(&log).await;
        for version in 0..20 {
            let body = format!("{{\"version\":{version},\"text\":\"{}\"}}", "x".repeat(500));
            log.append(modified_with_body("a", &body)).await.unwrap();
        }
        end(log.clone(), history).await;
        if epoch == "e1" {
            let [(bytes, 20)] = bench.files().iter().map(bodies_of).collect::<Vec<_>>()[..] else {
                panic!("no file with 20 bodies");
            };
            // The budget holds the bodies of two files, but not of three.
            bench.config.bodies_bytes = Some(bytes * 5 / 2);
        }
        expected.insert(epoch.to_owned(), by_seq(&log));
    }
    assert_eq!(bench.entries(), expected);
    let of_files: Vec<(u64, usize)> = bench.files().iter().map(bodies_of).collect();
    let counts: Vec<usize> = of_files.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [0, 20, 20], "{of_files:?}");
}

/// Returns the bytes and the number of bodies in a file. It asserts that each has the text that it was given.
fn bodies_of(file: &OpenFile) -> (u64, usize) {
    let (mut bytes, mut count) = (0, 0);
    for entry in &file.contents().chapters {
        for place in &entry.bodies {
            bytes += place.len();
            let bodies = file.bodies(*place).unwrap().unwrap();
            for (seq, body) in bodies.iter() {
                let version = format!("{{\"version\":{},", seq.0 - 1);
                assert!(body.starts_with(version.as_bytes()));
                count += 1;
            }
        }
    }
    (bytes, count)
}
