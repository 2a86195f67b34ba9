//! What viewers get from the history's files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::split_frame;
use watchscope_model::wire::{
    Acknowledge, Availability, Backfill, CatalogueEntry, ClientMessage, Hello, Joiner,
    PROTOCOL_VERSION, ServerMessage, catalogue_entries, decode_server, encode_client,
};
use watchscope_model::{Entry, EpochId, Seq};

use super::*;
use crate::hub::api::{Hub as _, ObjectError, Outgoing, SessionId, Viewer as _};
use crate::hub::{HubViewer, LogHub};

pub(super) fn hub(log: &LogHandle, history: &Kept) -> LogHub {
    let (hub, _) = LogHub::new(log.clone(), "0.1.0");
    let state = watch::channel(None).1;
    hub.with_history(state, Arc::new(history.archive.clone()))
}

/// The part of a page that reads the past.
pub(super) struct Visitor {
    viewer: HubViewer,
    log: LogHandle,
    joiner: Joiner,
    bytes: u64,
    pub(super) catalogue: BTreeMap<(u64, EpochId), BTreeMap<Seq, CatalogueEntry>>,
    /// The chapters that came, and those that could not be read.
    chapters: Vec<Vec<u8>>,
    not_read: Vec<String>,
    expired: usize,
}

impl Visitor {
    /// Connects, and reads until nothing more comes.
    pub(super) async fn of(log: &LogHandle, history: &Kept) -> Self {
        let hub = hub(log, history);
        let mut visitor = Self {
            viewer: hub.viewer(SessionId(1)),
            log: log.clone(),
            joiner: Joiner::new(64 << 20),
            bytes: 0,
            catalogue: BTreeMap::new(),
            chapters: Vec::new(),
            not_read: Vec::new(),
            expired: 0,
        };
        visitor.say(Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: None,
            last: None,
        });
        visitor.hear().await;
        visitor
    }

    fn say(&mut self, message: impl Into<ClientMessage>) {
        let message = encode_client(&message.into());
        self.viewer.receive(message.into()).unwrap();
    }

    /// Reads messages until none comes for a while.
    pub(super) async fn hear(&mut self) {
        while let Ok(outgoing) = timeout(Duration::from_millis(50), self.viewer.next()).await {
            let Outgoing::Message(message) = outgoing else {
                panic!("{outgoing:?}");
            };
            self.bytes += message.len() as u64;
            self.take(&message);
            let bytes = self.bytes;
            self.say(Acknowledge { bytes });
        }
    }

    fn take(&mut self, message: &Bytes) {
        let (message, data) = decode_server(message).unwrap().unwrap();
        match message {
            ServerMessage::Piece(piece) => {
                if let Some(whole) = self.joiner.push(&piece, data).unwrap() {
                    self.take(&whole.into());
                }
            }
            ServerMessage::Catalogue(header) => {
                let run = (header.order, header.epoch);
                let run = self.catalogue.entry(run).or_default();
                for entry in catalogue_entries(data).unwrap() {
                    run.insert(entry.summary.first, entry);
                }
            }
            ServerMessage::Chapter(_) => self.chapters.push(data.to_vec()),
            ServerMessage::NotRead(not_read) => self.not_read.push(not_read.reason),
            ServerMessage::Expired(_) => self.expired += 1,
            _ => {}
        }
    }

    /// Requests a chapter by its last record.
    pub(super) async fn ask(&mut self, epoch: &EpochId, last: Seq) {
        let before = (self.chapters.len(), self.not_read.len(), self.expired);
        self.say(Backfill {
            log: self.log.log().clone(),
            epoch: epoch.clone(),
            before: last.next(),
        });
        while (self.chapters.len(), self.not_read.len(), self.expired) == before {
            self.hear().await;
            // Another thread reads the file.
            std::thread::yield_now();
        }
    }

    /// Requests all chapters that are listed as kept. Returns their entries by epoch and seq.
    pub(super) async fn kept(&mut self) -> BTreeMap<String, BTreeMap<Seq, Entry>> {
        let listed = self.catalogue.clone();
        for ((_, epoch), entries) in &listed {
            for entry in entries.values() {
                if entry.availability == Availability::Kept {
                    self.ask(epoch, entry.summary.last).await;
                }
            }
        }
        let mut all: BTreeMap<String, BTreeMap<Seq, Entry>> = BTreeMap::new();
        for chapter in &self.chapters {
            let (head, mut rest) = split_frame(chapter).unwrap();
            let (mut reader, opening) = ChapterReader::open(head.bytes).unwrap();
            let entries = all.entry(opening.epoch.to_string()).or_default();
            while !rest.is_empty() {
                let (frame, after) = split_frame(rest).unwrap();
                let read = reader.entries(frame.bytes).unwrap();
                entries.extend(read.into_iter().flatten().map(|entry| (entry.seq(), entry)));
                rest = after;
            }
        }
        all
    }

    /// The reasons why chapters could not be read.
    pub(super) fn not_read(&self) -> &[String] {
        &self.not_read
    }

    /// The listed stretches of each run, as `e1: 1-30 kept`.
    pub(super) fn stretches(&self) -> String {
        let run = |((_, epoch), entries): (&(u64, EpochId), &BTreeMap<Seq, CatalogueEntry>)| {
            let entries = entries.values().map(|entry| {
                let (first, last) = (entry.summary.first, entry.summary.last);
                format!("{first}-{last} {:?}", entry.availability)
            });
            format!("{epoch}: {}", entries.collect::<Vec<_>>().join(", "))
        };
        let runs = self.catalogue.iter().map(run);
        runs.collect::<Vec<_>>().join("\n")
    }
}

/// Appends 900 records of 10 kB, and waits until each hundred is kept, since the ring is small.
pub(super) async fn append_slowly(log: &LogHandle, history: &Kept) {
    for hundred in 1..=9 {
        append(log, 100, 10_000).await;
        until(history, |state| state.kept_to == Seq(hundred * 100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_viewer_gets_each_chapter_of_each_run_from_the_files() {
    let bench = Bench::new();
    for epoch in ["e1", "e2"] {
        let log = open_run(epoch, 64 << 20);
        let history = bench.begin(&log).await;
        append(&log, 300, 10_000).await;
        end(log, history).await;
    }
    // The ring holds hardly more than one chapter.
    let log = open_run("e3", 2 << 20);
    let history = bench.begin(&log).await;
    let mut early = Visitor::of(&log, &history).await;
    append_slowly(&log, &history).await;
    let mut visitor = Visitor::of(&log, &history).await;
    assert!(!visitor.stretches().contains("Lost") && !visitor.stretches().contains("Expired"));
    let kept = visitor.kept().await;
    assert_eq!(visitor.not_read(), &[] as &[String]);
    assert_eq!(kept["e1"].len() + kept["e2"].len(), 600);
    let files = bench.entries();
    for epoch in ["e1", "e2"] {
        assert_eq!(kept[epoch], files[epoch]);
    }
    assert_eq!(kept["e3"].len(), 900);
    // A viewer that connected early got each change.
    early.hear().await;
    assert_eq!(early.stretches(), visitor.stretches());
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn records_dropped_over_the_budget_are_expired_and_records_in_no_file_are_lost() {
    let mut bench = Bench::new();
    bench.config.size_bytes = 8_000;
    let log = open_run("e1", 2 << 20);
    let history = bench.begin(&log).await;
    append_slowly(&log, &history).await;
    // No more can be written while the ring continues.
    bench.disk.set(Fault::ReadOnly);
    append(&log, 900, 10_000).await;
    sleep(Duration::from_secs(3)).await;
    let mut visitor = Visitor::of(&log, &history).await;
    let lines = visitor.stretches();
    let order = ["Expired", "Kept", "Lost"].map(|what| lines.find(what));
    assert!(
        order.iter().all(Option::is_some) && order.is_sorted(),
        "{lines}"
    );
    visitor.kept().await;
    assert_eq!(visitor.expired, 0, "{lines}");
    bench.disk.set(Fault::None);
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_somebody_removed_is_listed_as_expired_once_it_is_requested() {
    let bench = Bench::new();
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 10, 10).await;
    end(log, history).await;
    let log = open_run("e2", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 1, 10).await;
    until(&history, |state| state.kept_to == Seq(1)).await;
    let mut visitor = Visitor::of(&log, &history).await;
    assert!(
        visitor.stretches().starts_with("e1: 1-10 Kept"),
        "{}",
        visitor.stretches()
    );
    bench.disk.clear();
    visitor.ask(&"e1".into(), Seq(10)).await;
    assert_eq!((visitor.expired, visitor.not_read()), (1, &[] as &[String]));
}

#[tokio::test(start_paused = true)]
async fn bodies_of_earlier_runs_are_read_from_the_files_too() {
    let mut bench = Bench::new();
    bench.config.bodies_bytes = Some(1 << 20);
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    for version in 1..=3 {
        let body = format!("{{\"version\":{version}}}");
        log.append(modified_with_body("a", &body)).await.unwrap();
    }
    end(log, history).await;
    let log = open_run("e2", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 1, 10).await;
    until(&history, |state| state.kept_to == Seq(1)).await;
    let hub = hub(&log, &history);
    let body = hub.object("e1", 2).await;
    assert_eq!(body, Ok(Bytes::from_static(b"{\"version\":2}")));
    assert_eq!(hub.object("e1", 4).await, Err(ObjectError::Unknown));
    assert_eq!(hub.object("e0", 2).await, Err(ObjectError::Unknown));
    end(log, history).await;
}

/// Returns the lines of records from a position on, until none comes for 1 s: `e1` where a run begins, and the seqs.
async fn lines_since(log: &LogHandle, history: &Kept, since: &str) -> Vec<String> {
    let mut stream = hub(log, history).records(Some(since)).unwrap();
    let mut lines = Vec::new();
    while let Ok(Some(chunk)) = timeout(Duration::from_secs(1), stream.next()).await {
        for line in std::str::from_utf8(&chunk).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            lines.push(match line["type"].as_str().unwrap() {
                "log" => line["epoch"].as_str().unwrap().to_owned(),
                "loss" => format!("lost {}-{}", line["fromSeq"], line["toSeq"]),
                _ => line["seq"].to_string(),
            });
        }
    }
    lines
}

#[tokio::test(start_paused = true)]
async fn lines_since_a_position_of_an_earlier_run_continue_through_all_runs() {
    let bench = Bench::new();
    for epoch in ["e1", "e2"] {
        let log = open_run(epoch, 64 << 20);
        let history = bench.begin(&log).await;
        append(&log, 3, 10).await;
        end(log, history).await;
    }
    let log = open_run("e3", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 2, 10).await;
    until(&history, |state| state.kept_to == Seq(2)).await;
    let lines = lines_since(&log, &history, "e1.1").await;
    assert_eq!(lines, ["e1", "2", "3", "e2", "1", "2", "3", "e3", "1", "2"]);
    let lines = lines_since(&log, &history, "e2.3").await;
    assert_eq!(lines, ["e3", "1", "2"]);
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn lines_since_a_position_that_left_memory_come_from_the_files() {
    let bench = Bench::new();
    let log = open_run("e1", 2 << 20);
    let history = bench.begin(&log).await;
    append_slowly(&log, &history).await;
    let lines = lines_since(&log, &history, "e1.4").await;
    let seqs: Vec<String> = (5..=900).map(|seq| seq.to_string()).collect();
    assert_eq!(lines[0], "e1");
    assert_eq!(lines[1..], seqs);
    end(log, history).await;
}
