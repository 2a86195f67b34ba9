//! Searches over the history's files.

use serde_json::Value;
use watchscope_model::Event;
use watchscope_recording::ChapterEntry;

use super::past::{append_slowly, hub};
use super::*;
use crate::hub::SearchLimits;
use crate::hub::api::{Hub as _, SearchError, SessionId};
use crate::hub::search_tests::{all_answers, answer, one_chapter, wanted};

/// The hits as positions, in the order of the answer.
fn positions(lines: &[Value]) -> Vec<String> {
    let hits = lines.iter().filter(|line| line["type"] == "hit");
    let position = |hit: &Value| format!("{}.{}", hit["epoch"].as_str().unwrap(), hit["seq"]);
    hits.map(position).collect()
}

/// The records of the files whose text has `text`, the newest run first, and the newest record first in each.
fn plainly(bench: &Bench, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (epoch, entries) in bench.entries().iter().rev() {
        for (seq, entry) in entries.iter().rev() {
            if let Some(record) = entry.record()
                && let Event::Note(note) = &record.event
                && note.text.contains(text)
            {
                found.push(format!("{epoch}.{seq}"));
            }
        }
    }
    found
}

#[tokio::test(start_paused = true)]
async fn a_search_finds_each_record_of_each_run_in_memory_and_in_files() {
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
    append_slowly(&log, &history).await;
    let expected = plainly(&bench, "7 x");
    assert_eq!(expected.len(), 30 + 30 + 90);
    let hits = SearchLimits {
        hits: 40,
        ..SearchLimits::default()
    };
    for limits in [SearchLimits::default(), one_chapter(), hits] {
        let hub = hub(&log, &history).with_search_limits(limits);
        // The second search has an index of the chapters.
        for _ in 0..2 {
            assert_eq!(positions(&all_answers(&hub, "7 X").await.0), expected);
        }
    }
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn a_chapter_without_a_hit_is_read_once() {
    let bench = Bench::new();
    let log = open_run("e1", 2 << 20);
    let history = bench.begin(&log).await;
    append_slowly(&log, &history).await;
    let inflated = SearchLimits {
        inflated_bytes: 1,
        ..SearchLimits::default()
    };
    let hub = hub(&log, &history).with_search_limits(inflated);
    let (lines, first) = all_answers(&hub, "no such text").await;
    assert_eq!(lines, [] as [Value; 0]);
    let (_, second) = all_answers(&hub, "no such text either").await;
    assert!(first > 3 && second == 1, "{first} answers, then {second}");
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_read_is_named_and_the_rest_is_searched() {
    let bench = Bench::new();
    for epoch in ["e1", "e2"] {
        let log = open_run(epoch, 64 << 20);
        let history = bench.begin(&log).await;
        append(&log, 300, 10_000).await;
        end(log, history).await;
    }
    let log = open_run("e3", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 1, 10).await;
    until(&history, |state| state.kept_to == Seq(1)).await;
    for file in bench.files() {
        let contents = file.contents();
        let of_e2 = |entry: &&ChapterEntry| contents.file_of(entry).unwrap().epoch == "e2";
        if let Some(place) = contents
            .chapters
            .iter()
            .find(of_e2)
            .and_then(|of| of.closed)
        {
            bench
                .disk
                .damage(file.path(), place.offset + place.len() - 9);
        }
    }
    let (lines, _) = all_answers(&hub(&log, &history), "7 x").await;
    let not_read: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "notRead")
        .collect();
    assert_eq!(not_read.len(), 1, "{lines:?}");
    let (epoch, first) = (&not_read[0]["epoch"], &not_read[0]["first"]);
    assert_eq!((epoch.as_str(), first.as_u64()), (Some("e2"), Some(1)));
    let found = positions(&lines);
    let of = |run: &str| found.iter().filter(|at| at.starts_with(run)).count();
    assert_eq!(of("e1."), 30);
    assert!((1..30).contains(&of("e2.")), "{found:?}");
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn a_position_before_what_is_kept_gets_the_first_that_is() {
    let mut bench = Bench::new();
    bench.config.size_bytes = 1 << 20;
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 300, 10_000).await;
    end(log, history).await;
    let log = open_run("e2", 2 << 20);
    let history = bench.begin(&log).await;
    append_slowly(&log, &history).await;
    let hub = hub(&log, &history);
    let end_line = answer(&hub, "x", None).await.pop().unwrap();
    let from = end_line["keptFrom"].clone();
    let asked = wanted("x", Some("e0.5"));
    match hub.search(SessionId(1), asked).map(|_| ()) {
        Err(SearchError::NotKept { from: kept }) => {
            assert_eq!(from["epoch"], kept.epoch.as_str());
            assert_eq!(from["seq"], kept.seq.0);
        }
        other => panic!("{other:?}"),
    }
    end(log, history).await;
}
