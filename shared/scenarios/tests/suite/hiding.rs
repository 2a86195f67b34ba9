//! Tests of the catalogue's stories with everything hidden: no name is left, and every sentence of ours stays a
//! sentence.

use std::collections::BTreeSet;

use watchscope_hiding::{HiddenPart, Hider, Known, Parts, Seed};
use watchscope_model::json::push_line;
use watchscope_model::rewrite::Rewrite as _;
use watchscope_model::{Event, Record, Text};
use watchscope_scenarios::catalogue;

const HIDDEN: &str = "[hidden]";

/// Returns the records of a story with all parts hidden.
fn hidden(records: &[Record]) -> Vec<Record> {
    let mut known = Known::default();
    let mut records = records.to_vec();
    for record in &mut records {
        record.event.rewrite(&mut known);
    }
    let parts: Parts = HiddenPart::ALL.into_iter().collect();
    let mut hider = Hider::new(known, parts, Seed::new([7; 32]));
    for record in &mut records {
        record.event.rewrite(&mut hider);
    }
    records
}

#[test]
fn our_sentences_stay_sentences_if_all_is_hidden() {
    let mut wrong: Vec<String> = Vec::new();
    for row in catalogue::rows() {
        let run = row.run(1);
        for (plain, hidden) in run.records().iter().zip(hidden(run.records())) {
            let sentences = |event: &Event| match event {
                Event::Finding(finding) => vec![finding.summary.clone(), finding.name.to_string()],
                Event::Audit(audit) => audit.reason.iter().map(ToString::to_string).collect(),
                Event::Loss(loss) => loss.reason.iter().cloned().collect(),
                Event::StreamError(error) => error.message.iter().cloned().collect(),
                _ => Vec::new(),
            };
            let pairs = sentences(&plain.event)
                .into_iter()
                .zip(sentences(&hidden.event));
            wrong.extend(pairs.filter(|(_, now)| now == HIDDEN).map(|(was, _)| was));
        }
    }
    wrong.sort();
    wrong.dedup();
    // The text names another server, which is unknown here.
    assert_eq!(
        wrong,
        [
            "Internal error occurred: conversion webhook for v1, Kind=ConfigMap failed: Post \"https://converter.default.svc:443/convert?timeout=30s\": dial tcp 10.96.0.17:443: connect: connection refused"
        ]
    );
}

#[test]
fn no_name_of_an_object_is_left_if_all_is_hidden() {
    for row in catalogue::rows() {
        let run = row.run(1);
        let changes = run
            .records()
            .iter()
            .filter_map(|record| match &record.event {
                Event::Change(change) => Some(change.object.name.clone()),
                _ => None,
            });
        // A name of letters alone may be a word of a sentence.
        let names: BTreeSet<Text> = changes.filter(|name| name.contains('-')).collect();
        let mut lines = Vec::new();
        for record in hidden(run.records()) {
            push_line(&record, &mut lines);
        }
        let lines = String::from_utf8(lines).unwrap();
        let is_between = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '.');
        let left = lines.split(is_between).find(|word| names.contains(*word));
        assert_eq!(left, None, "{}", row.code);
    }
}
