//! Searches of a live log, as `web` asks for them.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;
use watchscope_model::event::WatchStarted;
use watchscope_model::{Event, Seq};

use super::*;
use crate::hub::LogHub;
use crate::hub::api::Hub as _;
use crate::log::tests::{modified_with_body, note, open};
use crate::log::{BODY_BYTES, RING_BYTES};

const ONE: SessionId = SessionId(1);

/// The parameters of a search.
pub(crate) fn wanted(query: &str, before: Option<&str>) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        log: None,
        before: before.map(str::to_owned),
    }
}

/// The lines of one answer; the last one is its end.
pub(crate) async fn answer(hub: &LogHub, query: &str, before: Option<&str>) -> Vec<Value> {
    let lines = hub.search(ONE, wanted(query, before)).unwrap();
    let chunks: Vec<Bytes> = timeout(Duration::from_secs(600), lines.collect())
        .await
        .unwrap();
    parsed(&chunks.concat())
}

/// The lines of all answers, each going on where the one before ended, without their ends. Also returns the number of answers.
pub(crate) async fn all_answers(hub: &LogHub, query: &str) -> (Vec<Value>, usize) {
    let (mut all, mut next, mut count) = (Vec::new(), None::<String>, 0);
    loop {
        let mut lines = answer(hub, query, next.as_deref()).await;
        let end = lines.pop().unwrap();
        assert_eq!(end["type"], "end");
        all.extend(lines);
        count += 1;
        match end["next"].as_str() {
            Some(position) => next = Some(position.to_owned()),
            None => return (all, count),
        }
    }
}

fn parsed(lines: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(lines).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn seqs(lines: &[Value]) -> Vec<u64> {
    let hits = lines.iter().filter(|line| line["type"] == "hit");
    hits.map(|hit| hit["seq"].as_u64().unwrap()).collect()
}

fn hub_of(log: &LogHandle) -> LogHub {
    LogHub::new(log.clone(), "0.1.0").0
}

/// Limits that one chapter reaches.
pub(crate) fn one_chapter() -> SearchLimits {
    SearchLimits {
        processor: Duration::ZERO,
        ..SearchLimits::default()
    }
}

#[tokio::test(start_paused = true)]
async fn hits_come_newest_first_with_their_lane_and_what_matches() {
    let log = open(RING_BYTES, BODY_BYTES);
    log.append(modified_with_body("web-1", "{\"image\":\"Cart:9\"}"))
        .await
        .unwrap();
    log.append(note("nothing of it")).await.unwrap();
    log.append(note("the CART is slow <b>\u{1b}[31m"))
        .await
        .unwrap();
    log.append(modified_with_body("cart-7", "{}"))
        .await
        .unwrap();
    log.head().await;
    let lines = answer(&hub_of(&log), "cart", None).await;
    let shown: Vec<String> = lines.iter().map(Value::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    {"type":"hit","epoch":"e1","seq":4,"at":"2025-11-21T09:00:00.000000Z","log":"demo","watch":"shop/pods","name":"cart-7","uid":"cart-7","matched":["name"]}
    {"type":"hit","epoch":"e1","seq":3,"at":"2025-11-21T09:00:00.000000Z","log":"demo","matched":["note"]}
    {"type":"hit","epoch":"e1","seq":1,"at":"2025-11-21T09:00:00.000000Z","log":"demo","watch":"shop/pods","name":"web-1","uid":"web-1","matched":["body"]}
    {"type":"end","ended":"all","hits":3,"keptFrom":{"epoch":"e1","seq":1,"at":"2025-11-21T09:00:00.000000Z"}}
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_search_without_a_hit_says_what_was_searched() {
    let log = open(RING_BYTES, BODY_BYTES);
    let lines = answer(&hub_of(&log), "cart", None).await;
    assert_eq!(
        lines,
        [serde_json::json!({"type": "end", "ended": "all", "hits": 0})]
    );
    log.append(note("nothing of it")).await.unwrap();
    log.head().await;
    let lines = answer(&hub_of(&log), "cart", None).await;
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["keptFrom"]["seq"], 1);
    assert_eq!(lines[0].get("bodiesSince"), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_after_its_limits_and_the_next_one_goes_on() {
    let log = open(RING_BYTES, BODY_BYTES);
    for number in 0..400 {
        let text = format!("{number} {}", "x".repeat(10_000));
        log.append(note(&text)).await.unwrap();
    }
    log.head().await;
    let expected: Vec<u64> = (1..=400).rev().filter(|seq| (seq - 1) % 10 == 7).collect();
    for (limits, fewest) in [
        (SearchLimits::default(), 1),
        (one_chapter(), 3),
        (
            SearchLimits {
                hits: 7,
                ..SearchLimits::default()
            },
            6,
        ),
        (
            SearchLimits {
                hits: 1,
                ..one_chapter()
            },
            40,
        ),
    ] {
        let hub = hub_of(&log).with_search_limits(limits);
        for _ in 0..2 {
            let (lines, answers) = all_answers(&hub, "7 x").await;
            assert_eq!(seqs(&lines), expected);
            assert!(answers >= fewest || fewest == 3, "{answers} for {limits:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_not_kept_are_not_searched_and_the_answer_says_so() {
    let log = open(RING_BYTES, 4_000);
    for number in 0..30 {
        let body = format!("{{\"of\":\"body-{number}\",\"x\":\"{}\"}}", "x".repeat(200));
        log.append(modified_with_body(&format!("web-{number}"), &body))
            .await
            .unwrap();
        // Each record is a segment, so its time is known.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    log.head().await;
    let hub = hub_of(&log);
    let lines = answer(&hub, "body-29", None).await;
    assert_eq!(lines[0]["name"], "web-29");
    assert_eq!(lines[0]["matched"], serde_json::json!(["body"]));
    assert_eq!(
        seqs(&answer(&hub, "body-3\"", None).await),
        Vec::<u64>::new()
    );
    let dropped_to = log.bodies_dropped_to();
    let hits = answer(&hub, "web-", None).await;
    let of = |hit: &&Value| hit["seq"].as_u64().is_some_and(|seq| seq > dropped_to.0);
    let (kept, gone): (Vec<_>, Vec<_>) = hits
        .iter()
        .filter(|line| line["type"] == "hit")
        .partition(of);
    let time = |hit: Option<&&Value>| hit.unwrap()["at"].as_str().unwrap().to_owned();
    let since = lines.last().unwrap()["bodiesSince"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        time(gone.first()) < since && since <= time(kept.last()),
        "{since}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_quiet_object_is_found_in_the_snapshot_of_the_first_chapter_that_is_kept() {
    let log = open(2 << 20, BODY_BYTES);
    let started = WatchStarted::plain("shop/pods".into(), "", "pods");
    log.append(Event::from(started)).await.unwrap();
    log.append(modified_with_body("quiet-1", "{}"))
        .await
        .unwrap();
    for number in 0..500 {
        let text = format!("{number} {}", "x".repeat(10_000));
        log.append(note(&text)).await.unwrap();
    }
    log.head().await;
    let first = log.with_ring(|ring| ring.first());
    assert!(first > Seq(1));
    for limits in [SearchLimits::default(), one_chapter()] {
        let hub = hub_of(&log).with_search_limits(limits);
        let (lines, _) = all_answers(&hub, "QUIET").await;
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["held"], true);
        assert_eq!(lines[0]["name"], "quiet-1");
        assert_eq!(lines[0]["seq"], first.0 - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_search_of_a_session_ends_the_running_one() {
    let log = open(RING_BYTES, BODY_BYTES);
    for _ in 0..400 {
        log.append(note(&"x".repeat(10_000))).await.unwrap();
    }
    log.head().await;
    let hub = hub_of(&log).with_search_limits(SearchLimits::default());
    let mut first = hub.search(ONE, wanted("x", None)).unwrap();
    let begun = first.next().await.unwrap();
    assert_eq!(parsed(&begun)[0]["seq"], 400);
    let other = hub.search(SessionId(2), wanted("x", None)).unwrap();
    let second = hub.search(ONE, wanted("x", None)).unwrap();
    let end = parsed(&first.next().await.unwrap());
    assert_eq!(end.len(), 1);
    assert_eq!(end[0]["ended"], "replaced");
    assert_eq!(first.next().await, None);
    assert_eq!(hub.running_searches(), 2);
    drop((second, other));
    assert_eq!(hub.running_searches(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_search_is_refused_with_the_reason() {
    let log = open(RING_BYTES, BODY_BYTES);
    log.append(note("one")).await.unwrap();
    log.head().await;
    let hub = hub_of(&log);
    let refused = |request: SearchRequest| match hub.search(ONE, request) {
        Ok(_) => panic!("it is accepted"),
        Err(error) => error.to_string(),
    };
    insta::assert_snapshot!(refused(wanted("", None)), @"q: the text to search for is empty");
    insta::assert_snapshot!(refused(wanted(&"x".repeat(257), None)), @"q: the text to search for has 257 bytes; at most 256 are allowed");
    insta::assert_snapshot!(refused(wanted("x", Some("e1"))), @r#"before: "e1" is not a position of this log; use EPOCH.SEQ, as `next` of a search gives it"#);
    insta::assert_snapshot!(refused(wanted("x", Some("e1.3"))), @r#"before: "e1.3" is not a position of this log; use EPOCH.SEQ, as `next` of a search gives it"#);
    insta::assert_snapshot!(refused(wanted("x", Some("e0.3"))), @"not kept; kept from e1.1");
    let elsewhere = SearchRequest {
        log: Some("prod".to_owned()),
        ..wanted("x", None)
    };
    insta::assert_snapshot!(refused(elsewhere), @r#"log: there is no log "prod" here; there is demo"#);
    assert!(hub.search(ONE, wanted("x", Some("e1.2"))).is_ok());
}

#[tokio::test(start_paused = true)]
async fn names_of_any_length_fill_no_chunk_beyond_its_bound() {
    let log = open(RING_BYTES, BODY_BYTES);
    for number in 0..7 {
        let name = format!("{number}-{}", "x".repeat(400_000));
        log.append(modified_with_body(&name, "{}")).await.unwrap();
    }
    log.head().await;
    let lines = hub_of(&log).search(ONE, wanted("-x", None)).unwrap();
    let chunks: Vec<Bytes> = timeout(Duration::from_secs(600), lines.collect())
        .await
        .unwrap();
    // A line has the name twice, since it is the uid, too.
    assert!(chunks.iter().all(|chunk| chunk.len() < (1 << 20) + 900_000));
    assert!(chunks.len() > 3);
    assert_eq!(seqs(&parsed(&chunks.concat())), [7, 6, 5, 4, 3, 2, 1]);
}
