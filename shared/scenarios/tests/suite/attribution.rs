//! Tests of why streams end in the catalogue's stories: each row has its own reason, and none has a wrong one.

use std::collections::{BTreeMap, BTreeSet};

use watchscope_model::{Event, StreamId};
use watchscope_scenarios::{Run, catalogue};

/// Rows that end a stream of our probe for the reason in their name.
const NAMED: &[&str] = &[
    "F06", "F07", "F08", "F10", "F11", "F12", "F16", "F17", "F18", "F36", "F39", "F47",
];
/// Reasons that blame somebody: they are given only if they are true.
const BLAMING: &[&str] = &[
    "F04", "F06", "F07", "F09", "F16", "F17", "F18", "F24", "F32", "F36", "F38", "F39", "F47",
];

/// Returns the last reason of each stream.
fn reasons(run: &Run) -> BTreeSet<String> {
    let mut last: BTreeMap<StreamId, String> = BTreeMap::new();
    for record in run.records() {
        if let Event::Attribution(given) = &record.event {
            last.insert(given.stream, given.code.to_string());
        }
    }
    last.into_values().collect()
}

#[test]
fn each_row_of_the_catalogue_ends_its_streams_for_its_own_reason_and_no_others() {
    let mut wrong = String::new();
    for row in catalogue::rows() {
        for seed in 0..3 {
            let said = reasons(&row.run(seed));
            let is_missing = NAMED.contains(&row.code) && !said.contains(row.code);
            let blamed = said
                .iter()
                .filter(|code| BLAMING.contains(&code.as_str()) && *code != row.code);
            if is_missing || blamed.count() > 0 {
                wrong += &format!("{} (seed {seed}): {said:?}\n", row.code);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn a_normal_timeout_has_no_other_reason() {
    let rows = catalogue::rows();
    let timeouts = rows.iter().find(|row| row.code == "F05");
    let said = timeouts.map(|row| reasons(&row.run(0)));
    assert_eq!(said, Some(BTreeSet::from(["normal".to_owned()])));
}

#[test]
fn every_end_of_a_stream_has_a_reason() {
    let forms = catalogue::forms::forms().into_iter().map(|(row, _)| row);
    for row in catalogue::rows().into_iter().chain(forms) {
        let run = row.run(0);
        let ends = run
            .records()
            .iter()
            .filter_map(|record| match &record.event {
                Event::StreamEnded(end) => Some((end.stream, record.at)),
                _ => None,
            });
        for (stream, at) in ends {
            let is_told = run.records().iter().any(
                |record| matches!(&record.event, Event::Attribution(given) if given.stream == stream),
            );
            let is_recent = run.now().micros_since(at) < 250_000;
            assert!(is_told || is_recent, "{}: stream {stream}", row.code);
        }
    }
}
