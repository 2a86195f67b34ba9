//! Measures diagnosis: its share of the CPU of an event on its way into the log, and the auditor's memory.
//!
//! The share: a reader's CPU time for 100,000 events from a loopback server into the log. Then the same records go
//! through the fold alone, and through fold, diagnosis and auditor as in the log's writer. The difference of these two
//! is the cost of diagnosis.
//! The memory: a process holds 150,000 listed objects and ten minutes of 20 changes a second. The figure is the
//! difference to the fold alone.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use watchscope::transport::Protocols;
use watchscope_diagnosis::Diagnosis;
use watchscope_diagnosis::audit::{Auditor, Level};
use watchscope_model::event::{Change, ListComplete, StreamOpened, WatchStarted};
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::{
    Event, Object, Record, RequestId, Seq, State, StreamId, Time, Uid, WatchName,
};
use watchscope_tests::Feeder;
use watchscope_tests::reading::{Reading, at};
use watchscope_tests::usage::{cpu_ns, numbers_of_child, resident_kib};

const EVENTS: u64 = 100_000;
const OBJECTS: u32 = 1_000;
/// The number of runs; the least CPU counts, since other programs of a shared machine only add to it.
const RUNS: usize = 3;
const SHARE_BAR: f64 = 0.20;

const LISTED: u64 = 150_000;
const CHANGES_PER_S: u64 = 20;
const SECONDS: u64 = 600;
const MEMORY_BAR_MIB: f64 = 64.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(share())?;
            runtime.block_on(memory())
        }
        ["ingest", url] => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(ingest(url))
        }
        ["hold", "fold"] => hold(None),
        ["hold", "both"] => hold(Some(Auditor::new(Level::Full))),
        _ => bail!("unknown arguments {arguments:?}"),
    }
}

async fn share() -> Result<()> {
    let [mut way, mut folded, mut judged] = [u64::MAX; 3];
    for _ in 0..RUNS {
        let feeder = Feeder::start(&[OBJECTS]).await?;
        let arguments = ["ingest", feeder.origin()];
        let feed = feeder.modify_in_turn(EVENTS);
        let ((), numbers) = tokio::try_join!(feed, numbers_of_child(&arguments))?;
        let [a, b, c] = numbers[..] else {
            bail!("the reader said {numbers:?}")
        };
        (way, folded, judged) = (way.min(a), folded.min(b), judged.min(c));
    }
    let judging = judged.saturating_sub(folded);
    let share = judging as f64 / way as f64;
    let per_event = |cpu_ns: u64| cpu_ns as f64 / EVENTS as f64 / 1_000.0;
    println!(
        "| CPU of diagnosis and audit's planner, share of the ingest cost per event | at most {:.0} % | {:.1} % ({:.2} µs of {:.1} µs) | {} |",
        SHARE_BAR * 100.0,
        share * 100.0,
        per_event(judging),
        per_event(way),
        if share <= SHARE_BAR { "met" } else { "missed" }
    );
    Ok(())
}

/// Prints three CPU times in ns: of reading into the log, of the fold alone, and of fold, diagnosis and auditor.
async fn ingest(url: &str) -> Result<()> {
    let mut records = Vec::with_capacity(usize::try_from(EVENTS)? + 2_000);
    let began = cpu_ns();
    let reading = Reading {
        source: at(url)?,
        resources: &["widgets-00".to_owned()],
        metadata_only: false,
        protocols: Protocols::Http1,
        history: None,
    };
    reading.until(EVENTS, |record| records.push(record)).await?;
    let way = cpu_ns() - began;

    let began = cpu_ns();
    let mut state = State::default();
    for record in &records {
        state.apply(record);
    }
    let folded = cpu_ns() - began;

    let began = cpu_ns();
    let (mut state, mut diagnosis) = (State::default(), Diagnosis::default());
    let mut auditor = Auditor::default();
    let mut judgements = 0;
    for record in &records {
        diagnosis.observe(&state, record);
        auditor.observe(&state, record);
        state.apply(record);
        if diagnosis.wake_at().is_some_and(|due| due <= record.at) {
            judgements += diagnosis.conclude(record.at).len();
        }
        if auditor.wake_at().is_some_and(|due| due <= record.at) {
            // Nothing answers the read that the auditor asks for, so it keeps waiting.
            let _ = auditor.next(record.at, &state);
        }
        judgements += auditor.take().len();
    }
    let judged = cpu_ns() - began;
    eprintln!("{} records, {judgements} judgements", records.len());
    println!("{way} {folded} {judged}");
    Ok(())
}

async fn memory() -> Result<()> {
    let mut resident = Vec::new();
    for what in ["fold", "both"] {
        resident.extend(numbers_of_child(&["hold", what]).await?);
    }
    let [fold, both] = resident[..] else {
        bail!("the children said {resident:?}")
    };
    let mib = both.saturating_sub(fold) as f64 / 1_024.0;
    println!(
        "| per-key log: memory for {LISTED} objects with {CHANGES_PER_S} changes/s over {} minutes | at most {MEMORY_BAR_MIB:.0} MiB | {mib:.1} MiB (the fold alone {:.0} MiB) | {} |",
        SECONDS / 60,
        fold as f64 / 1_024.0,
        if mib <= MEMORY_BAR_MIB {
            "met"
        } else {
            "missed"
        }
    );
    Ok(())
}

/// Passes a big watch's records to the fold, and to the auditor if there is one. Prints the process's memory in KiB.
fn hold(mut auditor: Option<Auditor>) -> Result<()> {
    let mut state = State::default();
    let mut seq = 0;
    let mut show = |event: Event, at: Time| {
        seq += 1;
        let record = Record {
            seq: Seq(seq),
            at,
            event,
        };
        if let Some(auditor) = &mut auditor {
            auditor.observe(&state, &record);
        }
        state.apply(&record);
    };
    let begin = Time(1_795_000_000_000_000);
    show(WatchStarted::plain(watch(), "", "pods").into(), begin);
    for number in 0..LISTED {
        show(
            change(number, number + 1, ChangeType::Added, Origin::List),
            begin,
        );
    }
    let complete = ListComplete {
        watch: watch(),
        resource_version: LISTED.into(),
        items: LISTED,
        added: LISTED,
        changed: 0,
        removed: 0,
    };
    show(complete.into(), begin);
    let opened = StreamOpened {
        watch: watch(),
        stream: StreamId(1),
        request: RequestId(1),
        resource_version: Some(LISTED.into()),
        http2_stream: None,
    };
    show(opened.into(), begin);
    let (mut version, mut newest) = (LISTED, LISTED);
    for step in 0..CHANGES_PER_S * SECONDS {
        let at = begin.plus_millis(step * 1_000 / CHANGES_PER_S);
        version += 1;
        // Of ten changes, one deletes and one creates.
        let (number, what) = match step % 10 {
            0 => (step * 7, ChangeType::Deleted),
            5 => {
                newest += 1;
                (newest, ChangeType::Added)
            }
            _ => (step * 7, ChangeType::Modified),
        };
        show(change(number, version, what, Origin::Live), at);
    }
    if let Some(auditor) = &auditor {
        let steps = u64::try_from(auditor.steps())?;
        ensure!(steps == CHANGES_PER_S * SECONDS, "{steps} steps are kept");
    }
    println!("{}", resident_kib("self")?);
    Ok(())
}

fn watch() -> WatchName {
    WatchName::new("*", "pods", "", None, None, 1)
}

fn change(number: u64, version: u64, change: ChangeType, origin: Origin) -> Event {
    let mut uid = [0x6f; 16];
    uid[8..].copy_from_slice(&number.to_be_bytes());
    Change {
        watch: watch(),
        stream: (origin == Origin::Live).then_some(StreamId(1)),
        change,
        origin,
        object: Arc::new(Object {
            namespace: Some("checkout".into()),
            name: format!("checkout-7d9f6c5b8d-{number:06}").into(),
            uid: Uid::Uuid(uid),
        }),
        resource_version: version.into(),
        generation: Some(1),
        manager: Some("kubelet".into()),
        subresource: Some("status".into()),
        bytes: Some(5_900),
        stray: None,
        owner: None,
    }
    .into()
}
