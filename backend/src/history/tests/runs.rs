//! Random orders of writes, failures, kills and starts. The files always give whole runs of the log's records.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tokio::time::{Instant, sleep};
use watchscope_model::{Entry, Seq};

use super::disk::{Crash, Fault};
use super::past::Visitor;
use super::{Bench, Kept, append, by_seq, end, until};
use crate::log::LogHandle;
use crate::log::tests::open_run;

/// One step.
#[derive(Clone, Debug)]
enum Step {
    Append {
        count: usize,
        bytes: usize,
    },
    Wait {
        ms: u64,
    },
    Fault(Fault),
    /// The disk works again.
    Mend,
    /// Somebody removes all files.
    Clear,
    /// The process ends at once; with a crash, the machine ends too.
    Kill(Option<Crash>),
    /// The process ends in order.
    End,
}

fn step() -> impl Strategy<Value = Step> {
    let crash = prop_oneof![
        Just(None),
        Just(Some(Crash::Dropped)),
        Just(Some(Crash::Shortened)),
        Just(Some(Crash::Reordered)),
    ];
    prop_oneof![
        6 => (1..40_usize, prop_oneof![Just(10), Just(60_000)])
            .prop_map(|(count, bytes)| Step::Append { count, bytes }),
        6 => (0..7_000_u64).prop_map(|ms| Step::Wait { ms }),
        2 => prop_oneof![
            (0..3_000_000_u64).prop_map(Fault::Full),
            Just(Fault::ReadOnly),
            Just(Fault::Sync),
        ]
        .prop_map(Step::Fault),
        2 => Just(Step::Mend),
        1 => Just(Step::Clear),
        2 => crash.prop_map(Step::Kill),
        1 => Just(Step::End),
    ]
}

/// A run of the log, and what the files must hold of it.
struct Run {
    epoch: String,
    log: LogHandle,
    history: Kept,
    /// Whether the disk failed or lost files.
    is_troubled: bool,
}

/// The log of a run, and the last record that must be in a file.
struct Owed {
    entries: BTreeMap<Seq, Entry>,
    to: Seq,
    /// If the run was killed, the times at which its records were taken. A crash soon after that takes what is not synced.
    killed: Option<Vec<(Instant, Seq)>>,
}

async fn run(bench: &Bench, number: usize) -> Run {
    let epoch = format!("e{number}");
    let log = open_run(&epoch, 256 << 20);
    let history = bench.begin(&log).await;
    Run {
        epoch,
        log,
        history,
        is_troubled: false,
    }
}

/// Returns the last record that was taken more than `before` ago.
fn last_before(taken: &[(Instant, Seq)], before: Duration) -> Seq {
    let old = taken.iter().rev().find(|(at, _)| at.elapsed() > before);
    old.map_or(Seq(0), |(_, seq)| *seq)
}

async fn play(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut bench = Bench::new();
    let mut owed: BTreeMap<String, Owed> = BTreeMap::new();
    let mut current = run(&bench, 0).await;
    let mut taken: Vec<(Instant, Seq)> = Vec::new();
    let (mut has_crashed, mut has_cleared) = (false, false);
    let steps = steps.into_iter().chain([Step::Mend, Step::End]);
    for (number, step) in (1..).zip(steps) {
        match step {
            Step::Append { count, bytes } => {
                append(&current.log, count, bytes).await;
                let last = taken.last().map_or(0, |(_, seq)| seq.0);
                taken.push((Instant::now(), Seq(last + count as u64)));
            }
            Step::Wait { ms } => sleep(Duration::from_millis(ms)).await,
            Step::Fault(fault) => {
                bench.disk.set(fault);
                current.is_troubled = true;
            }
            Step::Mend => bench.disk.set(Fault::None),
            Step::Clear => {
                bench.disk.clear();
                (current.is_troubled, has_cleared) = (true, true);
                owed.values_mut().for_each(|owed| owed.to = Seq(0));
            }
            Step::Kill(crash) => {
                has_crashed |= crash.is_some();
                let limit = Duration::from_secs(if crash.is_some() { 5 } else { 1 });
                if crash.is_some() {
                    for before in owed.values_mut() {
                        if let Some(taken) = &before.killed {
                            before.to = before.to.min(last_before(taken, limit));
                        }
                    }
                }
                let to = if current.is_troubled {
                    Seq(0)
                } else {
                    last_before(&taken, limit)
                };
                bench.disk = bench.disk.next_process(crash);
                let Run {
                    epoch,
                    log,
                    history,
                    ..
                } = current;
                history.history.kill().await;
                log.close().await;
                owed.insert(
                    epoch,
                    Owed {
                        entries: by_seq(&log),
                        to,
                        killed: Some(std::mem::take(&mut taken)),
                    },
                );
                current = run(&bench, number).await;
            }
            Step::End => {
                let Run {
                    epoch,
                    log,
                    history,
                    is_troubled,
                } = current;
                let copy = log.clone();
                end(log, history).await;
                let entries = by_seq(&copy);
                let last = entries.keys().next_back().copied().unwrap_or_default();
                let to = if is_troubled && has_cleared {
                    Seq(0)
                } else {
                    last
                };
                // A disk that fails at the end still has what it had.
                let is_kept = !is_troubled || bench.disk.fault() == Fault::None;
                owed.insert(
                    epoch,
                    Owed {
                        entries,
                        to: if is_kept { to } else { Seq(0) },
                        killed: None,
                    },
                );
                taken.clear();
                bench.disk = bench.disk.next_process(None);
                current = run(&bench, number).await;
            }
        }
    }
    append(&current.log, 1, 10).await;
    until(&current.history, |state| state.kept_to == Seq(1)).await;
    let mut visitor = Visitor::of(&current.log, &current.history).await;
    let mut fetched = visitor.kept().await;
    let kept = bench.entries();
    for (epoch, fetched) in &fetched {
        let files = kept.get(epoch);
        for (seq, entry) in fetched {
            let file = files.and_then(|files| files.get(seq));
            prop_assert_eq!(Some(entry), file, "{} {}", epoch, seq);
        }
    }
    for (epoch, kept) in &kept {
        let fetched = fetched.remove(epoch).unwrap_or_default();
        let missing = kept.keys().find(|seq| !fetched.contains_key(seq));
        let is_excused = has_crashed && !visitor.not_read().is_empty();
        prop_assert!(
            missing.is_none() || is_excused,
            "{} {:?}: {}",
            epoch,
            missing,
            visitor.stretches()
        );
    }
    end(current.log, current.history).await;
    for (epoch, kept) in &kept {
        let Some(owed) = owed.get(epoch) else {
            continue;
        };
        for (seq, entry) in kept {
            prop_assert_eq!(Some(entry), owed.entries.get(seq), "{} {}", epoch, seq);
        }
    }
    for (epoch, owed) in &owed {
        let kept = kept.get(epoch);
        let missing =
            (1..=owed.to.0).find(|&seq| kept.is_none_or(|kept| !kept.contains_key(&Seq(seq))));
        prop_assert_eq!(
            missing,
            None,
            "a record of {} that is owed up to {}",
            epoch,
            owed.to
        );
    }
    if !has_crashed {
        let recordings = bench.disk.names();
        prop_assert_eq!(bench.files().len(), recordings.len(), "{:?}", recordings);
        for file in bench.files() {
            prop_assert_eq!(&file.contents().damaged, &[]);
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn each_of_several_runs_that_were_merged_into_one_file_is_listed() {
    let append = Step::Append {
        count: 1,
        bytes: 10,
    };
    let steps = [
        append.clone(),
        Step::End,
        append,
        Step::Wait { ms: 501 },
        Step::Fault(Fault::Sync),
        Step::Wait { ms: 12_000 },
        Step::End,
        Step::Wait { ms: 501 },
        Step::Kill(None),
    ];
    play(steps.to_vec()).await.unwrap();
}

/// The process was killed before it synced, and a crash comes before the next process could.
#[tokio::test(start_paused = true)]
async fn a_crash_right_after_a_kill_loses_at_most_the_last_5_s() {
    let old = Step::Append {
        count: 1,
        bytes: 10,
    };
    let steps = [
        old.clone(),
        Step::Wait { ms: 6_000 },
        old,
        Step::Wait { ms: 1_001 },
        Step::Kill(None),
        Step::Kill(Some(Crash::Dropped)),
    ];
    play(steps.to_vec()).await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn in_any_order_of_steps_files_hold_whole_runs_of_the_logs_records(
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps))?;
    }
}
