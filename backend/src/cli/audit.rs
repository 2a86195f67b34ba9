//! `watchscope audit`: compares what list and watch say now, and ends with what came of it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use tokio::time::Instant;
use watchscope_model::event::Audit;
use watchscope_model::vocabulary::{Phase, Standing};
use watchscope_model::{Entry, Event, Record, State, Text, WatchName, json};

use super::args::{AuditArgs, Output};
use super::exit::Failure;
use super::serve::{lookup, name_of, open_log, settings, start};
use super::signals::stop_flag;
use super::terminal;
use crate::log::{Comparison, LogHandle, LogReader, Read, Since};
use crate::stop::stopped;

/// Exit code: something a watch holds is not so.
const DIVERGED: u8 = 3;
/// Exit code: it cannot be told.
const CANNOT_TELL: u8 = 4;

/// Lists, watches, and compares once: exit 0 if all is so, 3 if not, 4 if it cannot be told.
///
/// # Errors
/// Those exit codes, 1 if nothing could be listed, 2 for a resource that does not exist.
pub(super) async fn audit(args: AuditArgs) -> Result<(), Failure> {
    let until = Instant::now() + args.for_duration;
    let source = lookup(&args.cluster);
    let config = source.load().map_err(Failure::failed)?;
    let log = open_log(&name_of(&config), args.what.memory.bytes)?;
    // Nothing is compared but what is asked for.
    let settings = settings(&args.what, &args.cluster, args.resources.clone(), false);
    let mut stop = stop_flag().map_err(Failure::failed)?;
    let watches = start(&source, config, settings, &log).await?;
    let mut report = Report::new(&log, args.output);
    let comparing = async {
        report.until(all_stream).await?;
        // Here, so that what comes of it is read after it.
        if log.ask_audit(Comparison::default()).await.is_err() {
            return Ok(());
        }
        let over = log.audited(Comparison::default());
        tokio::pin!(over);
        loop {
            tokio::select! {
                _ = &mut over => return Ok(()),
                read = report.next() => read?,
            }
        }
    };
    let over: Result<(), Failure> = tokio::select! {
        over = comparing => over,
        () = tokio::time::sleep_until(until) => Ok(()),
        () = stopped(&mut stop) => Ok(()),
    };
    over?;
    watches.stop().await;
    log.close().await;
    while !report.is_over {
        report.next().await?;
    }
    report.end(args.for_duration)
}

/// Whether every watch has a stream, or will not get one.
fn all_stream(state: &State) -> bool {
    let is_there = |watch: &watchscope_model::fold::Watch| {
        let phase = watch.phase.as_ref().map(|phase| phase.phase);
        watch.stream.is_some() || phase == Some(Phase::Refused)
    };
    !state.watches.is_empty() && state.watches.values().all(is_there)
}

/// What is written, and what came of it so far.
struct Report {
    reader: LogReader,
    output: Output,
    /// The fold of what was read.
    state: State,
    /// By watch: the last outcome of its comparisons, with its reason.
    outcomes: BTreeMap<WatchName, (Text, Option<Text>)>,
    /// Watches of which something was confirmed to be wrong, and stood.
    wrong: BTreeMap<WatchName, Vec<Text>>,
    is_over: bool,
}

impl Report {
    fn new(log: &LogHandle, output: Output) -> Self {
        Self {
            reader: log.reader(Since::First),
            output,
            state: State::default(),
            outcomes: BTreeMap::new(),
            wrong: BTreeMap::new(),
            is_over: false,
        }
    }

    async fn until(&mut self, is_met: impl Fn(&State) -> bool) -> Result<(), Failure> {
        while !is_met(&self.state) && !self.is_over {
            self.next().await?;
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<(), Failure> {
        match self.reader.next().await {
            Some(Read::Entries(entries)) => {
                for record in entries.iter().filter_map(Entry::record) {
                    self.take(record)?;
                }
            }
            Some(Read::Loss { .. }) => {}
            None => self.is_over = true,
        }
        Ok(())
    }

    fn take(&mut self, record: &Record) -> Result<(), Failure> {
        match &record.event {
            Event::Audit(audit) => {
                let outcome = (audit.outcome.clone(), audit.reason.clone());
                self.outcomes.insert(audit.watch.clone(), outcome);
                self.write(record)?;
            }
            Event::Verdict(verdict) => {
                let wrong = self.wrong.entry(verdict.watch.clone()).or_default();
                wrong.retain(|name| *name != verdict.object.name);
                if verdict.state == Standing::Confirmed {
                    wrong.push(verdict.object.name.clone());
                }
                self.write(record)?;
            }
            _ => {}
        }
        self.state.apply(record);
        Ok(())
    }

    fn write(&self, record: &Record) -> Result<(), Failure> {
        let mut line = Vec::new();
        match self.output {
            Output::Text => line.extend_from_slice((terminal::line(record) + "\n").as_bytes()),
            Output::Jsonl => json::push_line(record, &mut line),
        }
        let mut out = anstream::stdout();
        out.write_all(&line)
            .and_then(|()| out.flush())
            .map_err(Failure::failed)
    }

    /// How the command ends.
    fn end(self, waited: Duration) -> Result<(), Failure> {
        let wrong: Vec<String> = self
            .wrong
            .iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(watch, names)| format!("{watch}: {}", names.join(", ")))
            .collect();
        if !wrong.is_empty() {
            let message = format!("what watches hold is not so: {}", wrong.join("; "));
            return Err(Failure::new(DIVERGED, message));
        }
        let untold: Vec<String> = self
            .state
            .watches
            .keys()
            .filter_map(|name| match self.outcomes.get(name) {
                Some((outcome, _)) if &**outcome == Audit::AGREES => None,
                Some((_, Some(reason))) => Some(format!("{name}: {reason}")),
                Some((_, None)) => Some(format!("{name}: it was not found a second time")),
                None => Some(format!(
                    "{name} was not compared within {} s",
                    waited.as_secs()
                )),
            })
            .collect();
        if untold.is_empty() && !self.state.watches.is_empty() {
            return Ok(());
        }
        let message = format!("it cannot be told whether all is so: {}", untold.join("; "));
        Err(Failure::new(CANNOT_TELL, message))
    }
}
