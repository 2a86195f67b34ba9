//! Recordings judged again: the same judgements at the same times where nothing is missing, and where something is, nothing
//! else differs than what rests on it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use watchscope_diagnosis::audit::Level;
use watchscope_journal::again::{Again, Comparison, Missing};
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Entry, Event, Record, Seq, State, Time};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_scenarios::{Run, catalogue, demo};
use watchscope_simulator::{Cut, Fault, Target};

/// Judges records again, but for those that a hole swallows; what comes out, with the comparison.
fn judged(records: &[Record], holes: &[Range<usize>]) -> (Vec<Record>, Comparison) {
    let begins = holes.iter().find(|hole| hole.start == 0);
    let begins = begins.map_or(0, |hole| hole.end);
    let mut state = State::default();
    records[..begins].iter().for_each(|record| state.apply(record));
    let (mut again, mut out) = (Again::new(state.clone()), Vec::new());
    let mut was_hole = false;
    for (place, record) in records.iter().enumerate().skip(begins) {
        let is_hole = holes.iter().any(|hole| hole.contains(&place));
        if !is_hole {
            if was_hole {
                again.go_on(state.clone(), &mut out);
            }
            again.take(Entry::Record(record.clone()), &mut out);
        }
        was_hole = is_hole;
        state.apply(record);
    }
    let comparison = again.end(&mut out);
    let records = out.into_iter().filter_map(Entry::into_record);
    (records.collect(), comparison)
}

/// What is wrong with a log judged again from its first record to its last.
fn differs(what: &str, records: &[Record]) -> String {
    let (out, comparison) = judged(records, &[]);
    let mut wrong = String::new();
    let first = out.iter().zip(records).find(|(new, old)| new != old);
    if let Some((new, old)) = first {
        writeln!(wrong, "{what}: {old:?} became {new:?}").expect("a string");
    } else if out.len() != records.len() {
        writeln!(wrong, "{what}: {} became {}", records.len(), out.len()).expect("a string");
    }
    if !comparison.differing.is_empty() || !comparison.apart.is_empty() {
        writeln!(wrong, "{what}: {comparison:?}").expect("a string");
    }
    wrong
}

/// What differs, of a log judged again with holes, besides what rests on them.
fn differs_with_holes(what: &str, records: &[Record], holes: &[Range<usize>]) -> String {
    let (_, comparison) = judged(records, holes);
    let mut wrong = String::new();
    for difference in &comparison.differing {
        writeln!(wrong, "{what}, without {holes:?}: {difference:?}").expect("a string");
    }
    wrong
}

fn around() -> Vec<WatchSpec> {
    vec![
        WatchSpec::of("default", "services", "Service"),
        WatchSpec::of("default", "secrets", "Secret"),
    ]
}

/// Each row of the catalogue, told with other watches beside it.
fn rows(seed: u64) -> impl Iterator<Item = (String, Run)> {
    catalogue::rows().into_iter().map(move |row| {
        let level = [Level::Off, Level::Light, Level::Full][(seed % 3) as usize];
        let run = row.run_audited(seed, &around(), false, level);
        (format!("{} seed {seed}", row.code), run)
    })
}

#[test]
fn each_row_of_the_catalogue_is_judged_as_it_was() {
    let mut wrong = String::new();
    for seed in 0..3 {
        for (what, run) in rows(seed) {
            wrong += &differs(&what, run.records());
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn of_a_row_with_a_missing_stretch_nothing_differs_but_what_rests_on_it() {
    let mut wrong = String::new();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut below = |limit: usize| (rng.next_u64() % limit.max(1) as u64) as usize;
    for seed in 0..3 {
        for (what, run) in rows(seed) {
            let records = run.records();
            for draw in 0..6 {
                let start = if draw % 2 == 0 { 0 } else { below(records.len()) };
                let end = start + 1 + below(records.len() - start);
                wrong += &differs_with_holes(&what, records, &[start..end]);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
