//! Tests of recordings that are judged again. A complete recording has the same judgements at the same times. In a
//! recording with holes, only judgements that rest on the holes differ.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use watchscope_diagnosis::audit::Level;
use watchscope_journal::again::{About, Again, Comparison, Judgement, Missing};
use watchscope_model::{Entry, Event, Record, State};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_scenarios::{Run, catalogue};
use watchscope_simulator::{Config, Cut, Fault, Target, World};

/// How often watchscope restarts over the same cluster.
const RESTARTS: u64 = 6;
/// The time that a kill loses, in microseconds: at most the last second, which is not in the file.
const UNWRITTEN_US: i64 = 1_000_000;

/// Judges records again, without those in the holes; returns the new records and the comparison.
fn judged(records: &[Record], holes: &[Range<usize>]) -> (Vec<Record>, Comparison) {
    let begins = holes.iter().find(|hole| hole.start == 0);
    let begins = begins.map_or(0, |hole| hole.end);
    let mut state = State::default();
    records[..begins]
        .iter()
        .for_each(|record| state.apply(record));
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

/// Returns how a complete log differs once it is judged again.
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

/// Returns findings behind a hole that rest on its records and are not listed apart. Nothing is audited.
fn unlisted(what: &str, records: &[Record], hole: &Range<usize>) -> String {
    let (_, comparison) = judged(records, std::slice::from_ref(hole));
    let missing = records[hole.start].seq..=records[hole.end - 1].seq;
    let mut wrong = String::new();
    for record in &records[hole.end..] {
        let Event::Finding(finding) = &record.event else {
            continue;
        };
        let about = About::Finding {
            code: finding.code.clone(),
            subject: finding.subject(),
        };
        let rests = finding.evidence.iter().any(|seq| missing.contains(seq));
        let mut apart = comparison.apart.iter();
        if rests && !apart.any(|(apart, _)| apart.about == about && apart.at == record.at) {
            writeln!(wrong, "{what}, without {hole:?}: {finding:?}").expect("a string");
        }
    }
    wrong
}

/// Returns how a log with holes differs once it is judged again, besides what rests on the holes; and the comparison.
fn differs_with_holes(
    what: &str,
    records: &[Record],
    holes: &[Range<usize>],
) -> (String, Comparison) {
    let (out, comparison) = judged(records, holes);
    let mut wrong = String::new();
    for difference in &comparison.differing {
        writeln!(wrong, "{what}, without {holes:?}: {difference:?}").expect("a string");
    }
    let is_new = |(_, missing): &(Judgement, Missing)| *missing == Missing::Alike;
    // Judgements of the same moment may come in another order.
    let short = |record: &Record| (record.at, record.event.type_name());
    let is_left = |place: &usize| !holes.iter().any(|hole| hole.contains(place));
    let left = (0..records.len()).filter(is_left);
    let mut left: Vec<_> = left.map(|place| short(&records[place])).collect();
    let mut out: Vec<_> = out.iter().map(short).collect();
    left.sort_unstable();
    out.sort_unstable();
    if !comparison.apart.iter().any(is_new) && left != out {
        let first = left.iter().zip(&out).find(|(old, new)| old != new);
        let lengths = (left.len(), out.len());
        writeln!(wrong, "{what}, without {holes:?}: {first:?} of {lengths:?}").expect("a string");
    }
    (wrong, comparison)
}

fn around() -> Vec<WatchSpec> {
    vec![
        WatchSpec::of("default", "services", "Service"),
        WatchSpec::of("default", "secrets", "Secret"),
    ]
}

/// Numbers drawn by chance.
struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit.max(1) as u64) as usize
    }

    /// Draws a stretch of records. Every second begins at the first record, and every third is short.
    fn hole(&mut self, records: usize) -> Range<usize> {
        let start = self.below(2) * self.below(records);
        let most = if self.below(3) == 0 { 40 } else { records };
        start..start + 1 + self.below((records - start).min(most))
    }
}

fn dice(seed: u64) -> Dice {
    Dice(ChaCha8Rng::seed_from_u64(seed))
}

/// Runs each row of the catalogue with other watches beside it.
fn rows(seed: u64) -> impl Iterator<Item = (String, Run)> {
    catalogue::rows().into_iter().map(move |row| {
        let level = [Level::Off, Level::Light, Level::Full][(seed % 3) as usize];
        let run = row.run_audited(seed, &around(), false, level);
        (format!("{} seed {seed}", row.code), run)
    })
}

#[test]
fn each_row_of_the_catalogue_has_the_same_judgements_again() {
    let mut wrong = String::new();
    for seed in 0..3 {
        for (what, run) in rows(seed) {
            wrong += &differs(&what, run.records());
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn judgements_that_rest_on_a_hole_are_listed_apart() {
    let mut wrong = String::new();
    let mut dice = dice(2);
    for (what, run) in rows(0) {
        let records = run.records();
        for _ in 0..3 {
            wrong += &unlisted(&what, records, &dice.hole(records.len()));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn in_a_row_with_a_hole_only_judgements_that_rest_on_it_differ() {
    let mut wrong = String::new();
    let mut dice = dice(1);
    for seed in 3..6 {
        for (what, run) in rows(seed) {
            let records = run.records();
            for _ in 0..6 {
                let hole = dice.hole(records.len());
                wrong += &differs_with_holes(&what, records, &[hole]).0;
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn watches() -> Vec<WatchSpec> {
    [
        ("pods", "Pod"),
        ("configmaps", "ConfigMap"),
        ("services", "Service"),
        ("events", "Event"),
        ("deployments.apps", "Deployment"),
        ("replicasets.apps", "ReplicaSet"),
    ]
    .into_iter()
    .map(|(resource, kind)| WatchSpec::of("shop", resource, kind))
    .collect()
}

/// Draws a fault that lasts a while.
fn trouble(dice: &mut Dice) -> (Fault, Option<Fault>) {
    let resources = ["pods", "configmaps", "deployments.apps"];
    let resource = resources[dice.below(resources.len())].to_owned();
    let target = Target::Resource(resource.clone());
    let lasting = |fault: Fault| (fault.clone(), Some(fault));
    match dice.below(6) {
        0 => lasting(Fault::Refuse),
        1 => lasting(Fault::Stall { target }),
        2 => {
            let resource = Some(resource);
            (Fault::Expire { resource }, None)
        }
        3 => (Fault::CloseStreams { target }, None),
        4 => {
            let cut = Cut::Eof;
            let target = Target::All;
            (Fault::Cut { target, cut }, None)
        }
        _ => {
            let cut = Cut::Reset;
            (Fault::Cut { target, cut }, None)
        }
    }
}

/// Returns the runs of watchscope over one cluster in which something fails every few minutes.
fn churn(seed: u64, each: Duration) -> Vec<Vec<Record>> {
    let mut dice = dice(seed);
    let mut world = World::new(Config::default(), seed);
    let mut runs = Vec::new();
    for number in 0..=RESTARTS {
        let mut run = Run::of_world(world);
        run.audit([Level::Light, Level::Off, Level::Full][(number % 3) as usize]);
        for (n, spec) in (0..).zip(watches()) {
            run.watch(spec, ProbeConfig::default(), seed + n);
        }
        let until = run.now().plus_millis(each.as_millis() as u64);
        while run.now() < until {
            run.run_for(Duration::from_secs(20 + dice.below(200) as u64));
            let (fault, lifted) = trouble(&mut dice);
            run.world.inject(fault);
            run.run_for(Duration::from_millis(500 + dice.below(40_000) as u64));
            if let Some(fault) = lifted {
                run.world.lift(&fault);
            }
        }
        run.stop();
        run.run_for(Duration::from_secs(1));
        runs.push(run.records().to_vec());
        world = run.world;
    }
    runs
}

/// Returns the records that are left after a kill.
fn killed(records: &[Record]) -> &[Record] {
    let end = records.last().expect("there are records").at;
    let is_written = |record: &Record| end.micros_since(record.at) > UNWRITTEN_US;
    &records[..records.partition_point(is_written)]
}

/// Judges runs again: whole, killed, and with holes.
fn churn_is_judged_again(seed: u64, each: Duration) {
    let (mut wrong, mut findings, mut same, mut apart) = (String::new(), 0, 0, 0);
    let mut dice = dice(seed);
    for (number, records) in (0..).zip(churn(seed, each)) {
        let what = format!("seed {seed}, run {number}");
        let is_finding = |record: &&Record| matches!(record.event, Event::Finding(_));
        findings += records.iter().filter(is_finding).count();
        wrong += &differs(&what, &records);
        wrong += &differs(&format!("{what}, killed"), killed(&records));
        for _ in 0..4 {
            let holes = [dice.hole(records.len()), dice.hole(records.len())];
            let (differs, comparison) = differs_with_holes(&what, &records, &holes);
            wrong += &differs;
            same += comparison.same;
            apart += comparison.apart.len();
        }
    }
    assert!(
        findings > 20 && same > 100 && apart > 0,
        "{findings} findings; with holes {same} judgements are the same, {apart} apart"
    );
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn an_hour_of_churn_with_six_restarts_is_judged_again() {
    churn_is_judged_again(1, Duration::from_secs(3_600 / (RESTARTS + 1)));
}

#[test]
#[ignore = "a virtual day: cargo xtask test --long"]
fn a_day_of_churn_with_six_restarts_is_judged_again() {
    churn_is_judged_again(2, Duration::from_secs(24 * 3_600 / (RESTARTS + 1)));
}
