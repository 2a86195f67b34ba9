//! A recording is searched as a whole, from the newest record back, with its bodies.

use serde_json::Value;
use watchscope_model::{EpochId, Seq};
use watchscope_recording::{Input, Step};
use watchscope_replay::SearchStep;
use watchscope_search::Query;

use crate::common::Log;
use crate::files::{File, body_of, cuts, damage_chapter, whole};
use crate::viewer::{inflate, open};

/// Drives a search to its end; returns its lines and the number of pauses.
fn answer(file: &[u8], text: &str, before: Option<(EpochId, Seq)>) -> (Vec<Value>, usize) {
    let opened = open(file).unwrap();
    let mut machine = opened.search(Query::parse(text).unwrap(), before);
    let (mut input, mut pauses, mut lines) = (Input::Begin, 0, Vec::new());
    loop {
        input = match machine.step(input) {
            SearchStep::Needs(Step::Read { offset, len }) => {
                let offset = usize::try_from(offset).unwrap();
                Input::Bytes(file[offset..offset + len].to_vec())
            }
            SearchStep::Needs(Step::Inflate { bytes, raw_bytes }) => {
                Input::Inflated(inflate(&bytes, raw_bytes))
            }
            SearchStep::Needs(Step::Done(())) => panic!("a machine that is done needs nothing"),
            SearchStep::Pause => {
                pauses += 1;
                Input::Begin
            }
            SearchStep::Over => break,
        };
        lines.extend(machine.take_lines());
    }
    lines.extend(machine.take_lines());
    let text = String::from_utf8(lines).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.collect(), pauses)
}

fn seqs(lines: &[Value]) -> Vec<u64> {
    let hits = lines.iter().filter(|line| line["type"] == "hit");
    let hits = hits.filter(|hit| hit["held"] != true);
    hits.map(|hit| hit["seq"].as_u64().unwrap()).collect()
}

fn end(lines: &[Value]) -> &Value {
    let end = lines.last().unwrap();
    assert_eq!(end["type"], "end");
    end
}

#[test]
fn every_chapter_of_a_file_is_searched_and_the_newest_hit_comes_first() {
    let log = Log::steady("a", 0.0, 40);
    let (lines, pauses) = answer(&whole(&log, 9), "cart-0", None);
    let named = |seq: &u64| {
        let event = &log.records[*seq as usize - 1].event;
        !Query::parse("cart-0").unwrap().matched(event).is_empty()
    };
    let expected: Vec<u64> = (1..=log.records.len() as u64).rev().filter(named).collect();
    assert!(expected.len() > 40);
    assert_eq!(seqs(&lines), expected);
    assert!(pauses >= cuts(&log, 9).len(), "{pauses}");
    let end = end(&lines);
    assert_eq!(
        (&end["ended"], &end["hits"]),
        (&"all".into(), &expected.len().into())
    );
    assert_eq!(
        (&end["keptFrom"]["seq"], &end["noBodies"]),
        (&1.into(), &true.into())
    );
}

#[test]
fn a_search_goes_on_before_a_position() {
    let log = Log::steady("a", 0.0, 20);
    let file = whole(&log, 9);
    let (all, _) = answer(&file, "cart-0", None);
    let (older, _) = answer(&file, "cart-0", Some((log.epoch.clone(), Seq(15))));
    let expected: Vec<u64> = seqs(&all).into_iter().filter(|seq| *seq < 15).collect();
    assert_eq!(seqs(&older), expected);
    let (none, _) = answer(&file, "cart-0", Some(("other".into(), Seq(15))));
    assert!(seqs(&none).is_empty());
}

#[test]
fn an_answer_has_a_thousand_hits_at_most_and_the_next_one_goes_on() {
    let log = Log::steady("a", 0.0, 1_300);
    let file = whole(&log, 400);
    let (first, _) = answer(&file, "cart-0", None);
    assert_eq!(
        (seqs(&first).len(), &end(&first)["ended"]),
        (1_000, &"hits".into())
    );
    let next = end(&first)["next"]
        .as_str()
        .unwrap()
        .rsplit_once('.')
        .unwrap();
    let before = (next.0.into(), Seq(next.1.parse().unwrap()));
    let (second, _) = answer(&file, "cart-0", Some(before));
    assert_eq!(end(&second)["ended"], "all");
    let all = [seqs(&first), seqs(&second)].concat();
    assert!(all.windows(2).all(|pair| pair[0] > pair[1]));
    assert!(all.len() > 1_300);
}

#[test]
fn bodies_are_searched_where_the_file_has_them() {
    let log = Log::steady("a", 0.0, 20);
    let file = File::of("log", &log.epoch)
        .closed(&log, &[(0, 10)])
        .closed(&log, &[(10, 20)])
        .bodies(&log, (10, 20))
        .finished();
    let (lines, _) = answer(&file, &body_of(&log.epoch, Seq(15)), None);
    assert_eq!(seqs(&lines), [15]);
    assert_eq!(lines[0]["matched"], serde_json::json!(["body"]));
    let since = log.records[10].at.to_string();
    let end = end(&lines);
    assert_eq!(
        (&end["bodiesSince"], end.get("noBodies")),
        (&since.into(), None)
    );
}

#[test]
fn a_damaged_chapter_is_named_and_the_others_are_searched() {
    let log = Log::steady("a", 0.0, 30);
    let mut file = whole(&log, 10);
    damage_chapter(&mut file, 1);
    let (lines, _) = answer(&file, "cart-0", None);
    let not_read: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "notRead")
        .collect();
    assert_eq!(not_read.len(), 1);
    assert_eq!(
        (&not_read[0]["first"], &not_read[0]["last"]),
        (&11.into(), &20.into())
    );
    assert!(
        not_read[0]["reason"]
            .as_str()
            .unwrap()
            .starts_with("a.wscope, ")
    );
    let hits = seqs(&lines);
    assert!(hits.iter().any(|seq| *seq > 20) && hits.iter().any(|seq| *seq <= 10));
    assert!(!hits.iter().any(|seq| (11..=20).contains(seq)));
}

#[test]
fn a_quiet_object_is_found_in_the_opening_of_the_first_chapter() {
    let log = Log::steady("a", 0.0, 30);
    let file = File::of("log", &log.epoch)
        .closed(&log, &[(10, 20), (20, 30)])
        .finished();
    let (lines, _) = answer(&file, "cart-0", None);
    let held: Vec<&Value> = lines.iter().filter(|line| line["held"] == true).collect();
    assert_eq!(held.len(), 1);
    assert_eq!(
        (&held[0]["seq"], &held[0]["name"]),
        (&10.into(), &"cart-0".into())
    );
}
