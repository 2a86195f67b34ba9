//! A page that opens a file itself gets the same messages and picture as a page to which the file is served.

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use watchscope_log::{Reader, Step};
use watchscope_model::Seq;
use watchscope_recording::{Form, Piece, Source, copy};

use self::viewer::{Local, Page, Server};
use super::*;
use crate::log::tests::{note, open, open_run};
use crate::recordings::{HostDisk, Recorder, file_block, record};

#[path = "../../../shared/replay/tests/suite/viewer.rs"]
mod viewer;

/// The name that files have in the viewer's host.
const NAME: &str = "a.wscope";

/// Writes a file with these bytes. It is removed with the folder.
fn written(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// A viewer of a served file. Its clock stands still.
struct Served {
    replay: Replay,
    reader: Reader,
}

impl Served {
    fn open(path: &Path) -> Self {
        let joined = Joined::open(&[path.to_owned()], None).unwrap();
        let replay = Replay::open(joined, NAME).unwrap();
        let recording = Some(replay.recording.clone());
        let reader = Reader::new(env!("CARGO_PKG_VERSION").into()).of_recording(recording);
        Self { replay, reader }
    }
}

impl Server for Served {
    fn receive(&mut self, message: &[u8]) {
        let (reader, now) = (&mut self.reader, self.replay.recording.to);
        let taken = self
            .replay
            .log
            .with_ring(|ring| reader.receive(message, ring, now));
        assert_eq!(taken, Ok(None));
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let (reader, now) = (&mut self.reader, self.replay.recording.to);
            match self.replay.log.with_ring(|ring| reader.next(ring, now)) {
                Step::Send(message) => return Some(message.to_vec()),
                Step::Fetch(asked) => {
                    let past = &self.replay.past;
                    let seq = Seq(asked.before.0 - 1);
                    self.reader.fetched(past.chapter(&asked.epoch, seq));
                }
                Step::Wait { .. } => return None,
                Step::End(parting) => panic!("{parting:?}"),
            }
        }
    }
}

/// Checks that both ways give the same, and returns how many records the page shows.
fn is_the_same(bytes: &[u8]) -> u64 {
    let (_folder, path) = written(bytes);
    let served = Page::visit(&mut Served::open(&path));
    let opened = viewer::open(bytes).unwrap();
    let opened = Page::visit(&mut Local {
        opened,
        file: bytes,
    });
    assert!(served.messages == opened.messages, "the messages differ");
    assert_eq!(served.display_list(), opened.display_list());
    assert_eq!(served.not_read, opened.not_read);
    opened.store.records()
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/recording/tests/fixtures"
    );
    std::fs::read(format!("{folder}/{name}")).unwrap()
}

/// Returns the bytes of a recording of a log with several chapters, before it was finished and after.
async fn recorded(log: LogHandle) -> (Vec<u8>, Vec<u8>) {
    let (_folder, path) = written(b"");
    std::fs::remove_file(&path).unwrap();
    let block = file_block(log.log(), log.epoch());
    let recorder = Recorder::create(Arc::new(HostDisk), &path, block).unwrap();
    let recording = tokio::spawn(record(log.frames(), recorder));
    for batch in 0..400 {
        let text = "x".repeat(10_000);
        log.append(note(&format!("{batch} {text}"))).await.unwrap();
    }
    log.close().await;
    let recorder = recording.await.unwrap().unwrap();
    let unfinished = std::fs::read(&path).unwrap();
    recorder.finish().unwrap();
    (unfinished, std::fs::read(&path).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_file_opened_by_the_page_gives_the_messages_and_picture_of_a_served_one() {
    let (unfinished, finished) = recorded(open(64 << 20, 0)).await;
    assert_eq!(is_the_same(&finished), 400);
    let without_index = &finished[..finished.len() - 30];
    assert_eq!(is_the_same(without_index), 400);
    let mut damaged = finished.clone();
    damaged[finished.len() / 2] ^= 1;
    let left = is_the_same(&damaged);
    assert!(0 < left && left < 400, "{left}");
    // The records of the last second were not written yet.
    let written = is_the_same(&unfinished);
    let cut = is_the_same(&unfinished[..unfinished.len() / 2]);
    assert!(0 < cut && cut < written, "{cut} of {written}");
}

#[tokio::test(start_paused = true)]
async fn so_does_a_file_whose_last_run_cannot_be_read() {
    let (_, first) = recorded(open_run("first", 64 << 20)).await;
    let (_, second) = recorded(open_run("second", 64 << 20)).await;
    let contents = [&first, &second].map(|file| viewer::open(file).unwrap().contents().clone());
    let sources = contents.each_ref().map(|contents| Source {
        contents,
        chapters: &[0],
        with_bodies: false,
    });
    let pieces = copy(&sources, Form::Copy).unwrap();
    let mut both = Vec::new();
    for piece in pieces {
        both.extend(match piece {
            Piece::Bytes(bytes) => bytes,
            Piece::Copy {
                source,
                offset,
                len,
            } => {
                let from = [&first, &second][source];
                from[offset as usize..(offset + len) as usize].to_vec()
            }
        });
    }
    let all = is_the_same(&both);
    let opened = viewer::open(&both).unwrap();
    let last = opened.contents().chapters[1].closed.unwrap();
    both[last.end() as usize - 1] ^= 1;
    assert_eq!(is_the_same(&both) * 2, all);
}

#[test]
fn so_does_a_fixture_of_format_1() {
    for name in [
        "version-1-2.wscope",
        "version-1-3-cut.wscope",
        "version-1-3-damaged.wscope",
        "version-1-4.wscope",
    ] {
        assert!(is_the_same(&fixture(name)) > 0, "{name}");
    }
}

#[test]
fn a_body_is_the_same_both_ways() {
    let bytes = fixture("version-1-2.wscope");
    let (_folder, path) = written(&bytes);
    let served = Served::open(&path);
    let opened = viewer::open(&bytes).unwrap();
    let mut found = 0;
    for seq in (0..200).map(Seq) {
        let epoch = "epoch".into();
        let mut machine = opened.body(&epoch, seq);
        let body = viewer::run(&bytes, |input| machine.step(input));
        assert_eq!(served.replay.past.body(&epoch, seq), body);
        found += usize::from(body.unwrap().is_some());
    }
    assert!(found > 0);
}

#[test]
fn bodies_are_looked_for_in_the_chapter_of_their_record_also_where_files_were_judged_again() {
    let (_folder, path) = written(&fixture("version-1-2.wscope"));
    let joined = || Joined::open(std::slice::from_ref(&path), None).unwrap();
    let epoch = EpochId::from("epoch");
    let again = JudgedAgain {
        judged: joined(),
        recorded: joined(),
        numbers: BTreeMap::from([(epoch.clone(), Numbers::default())]),
    };
    for past in [&joined() as &dyn Past, &again] {
        let mut found = 0;
        for seq in (1..200).map(Seq) {
            let Some(body) = past.body(&epoch, seq).unwrap() else {
                continue;
            };
            let is_it = |other: &[u8]| other == body;
            let matching = past.bodies_matching(&epoch, seq, &is_it).unwrap().unwrap();
            assert!(matching.seqs.contains(&seq) && matching.are_kept);
            assert!(matching.inflated_bytes >= body.len() as u64);
            let none = past.bodies_matching(&epoch, seq, &|_| false).unwrap();
            assert_eq!(none.unwrap().seqs, []);
            found += 1;
        }
        assert!(found > 0);
        assert_eq!(
            past.bodies_matching(&epoch, Seq(9_999), &|_| true),
            Ok(None)
        );
    }
}
