//! `watchscope audit`: compares what list and watch deliver now with etcd, and exits with the result.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use watchscope_diagnosis::audit::MOST_LISTED;
use watchscope_log::SealPace;
use watchscope_model::event::Audit;
use watchscope_model::id::Place;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome, Phase, Standing};
use watchscope_model::{Entry, Event, Record, State, WatchName, json};

use super::args::{AuditArgs, Output};
use super::exit::Failure;
use super::out::{Outlet, unless_closed};
use super::serve::{lookup, name_of, open_log, settings, start};
use super::signals::stop_flag;
use super::terminal::{self, plain};
use crate::log::{CompareRequest, LogHandle, LogReader, Read, Since};
use crate::probes::Settings;
use crate::stop::stopped;

/// Exit code: a watch differs from etcd.
const DIVERGED: u8 = 3;
/// Exit code: the comparison is undecided.
const UNDECIDED: u8 = 4;

/// Lists, watches, and compares once. If lists may come from a cache, it looks up each object. Exit 0: clean; 3: diverged;
/// 4: undecided, for example because `--for` was too short.
///
/// # Errors
/// Failures with these exit codes; 1 if nothing could be listed, 2 for a resource that does not exist.
pub(super) async fn audit(args: AuditArgs) -> Result<(), Failure> {
    let until = Instant::now() + args.for_duration;
    let source = lookup(&args.cluster);
    let config = source.load().map_err(Failure::failed)?;
    let log = open_log(
        &name_of(&config),
        args.what.memory.bytes,
        SealPace::FOR_VIEWERS,
    )?;
    // Only the comparison below is made.
    let mut settings = Settings {
        audit_looks: MOST_LISTED,
        ..settings(&args.what, &args.cluster, args.resources.clone(), false)
    };
    settings.probe.with_bodies = false;
    let mut stop = stop_flag().map_err(Failure::failed)?;
    let watches = start(&source, config, settings, &log).await?;
    let mut report = Report::new(&log, args.output).map_err(Failure::failed)?;
    let comparing = async {
        report.until(all_stream).await?;
        // This request comes after the last read, so its results are read later.
        if log.ask_audit(CompareRequest::default()).await.is_err() {
            return Ok(());
        }
        let over = log.audited(CompareRequest::default());
        tokio::pin!(over);
        loop {
            tokio::select! {
                _ = &mut over => return Ok(()),
                read = report.next() => read?,
            }
        }
    };
    let over: Result<bool, Failure> = tokio::select! {
        over = comparing => over.map(|()| false),
        () = tokio::time::sleep_until(until) => Ok(true),
        () = stopped(&mut stop) => Ok(false),
    };
    let late = over?.then_some(args.for_duration);
    // As the watches stop, the audit reports what was not looked up by now.
    watches.stop().await;
    log.close().await;
    while !report.is_over {
        report.next().await?;
    }
    report.found.end(late)
}

/// Whether every watch has a stream, or is refused one.
fn all_stream(state: &State) -> bool {
    let is_there = |watch: &watchscope_model::fold::Watch| {
        let phase = watch.phase.as_ref().map(|phase| phase.phase);
        watch.stream.is_some() || phase == Some(Phase::Refused)
    };
    !state.watches.is_empty() && state.watches.values().all(is_there)
}

/// Reads the log and writes its audit records.
struct Report {
    reader: LogReader,
    output: Output,
    out: Outlet,
    found: Found,
    is_over: bool,
}

impl Report {
    fn new(log: &LogHandle, output: Output) -> std::io::Result<Self> {
        Ok(Self {
            reader: log.reader(Since::First),
            output,
            out: Outlet::stdout()?,
            found: Found::default(),
            is_over: false,
        })
    }

    async fn until(&mut self, is_met: impl Fn(&State) -> bool) -> Result<(), Failure> {
        while !is_met(&self.found.state) && !self.is_over {
            self.next().await?;
        }
        Ok(())
    }

    /// Takes the next records. Cancel safe: lines that were not written are written by the next call.
    async fn next(&mut self) -> Result<(), Failure> {
        self.flush().await?;
        match self.reader.next().await {
            Some(Read::Entries(entries)) => {
                for record in entries.iter().filter_map(Entry::record) {
                    if matches!(record.event, Event::Audit(_) | Event::Verdict(_)) {
                        self.put(record);
                    }
                    self.found.take(record);
                }
            }
            Some(Read::Loss { .. }) => {}
            None => self.is_over = true,
        }
        self.flush().await
    }

    fn put(&mut self, record: &Record) {
        match self.output {
            Output::Text => self.out.put_text(&(terminal::line(record) + "\n")),
            Output::Jsonl => {
                let mut line = Vec::new();
                json::push_line(record, &mut line);
                self.out.put(&line);
            }
        }
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        // The exit code still has the result, so the comparison goes on without a reader.
        unless_closed(self.out.flush().await).map_err(Failure::failed)
    }
}

/// The results of all comparisons so far.
#[derive(Default)]
struct Found {
    /// The fold of the records that were read.
    state: State,
    watches: BTreeMap<WatchName, Compared>,
}

/// The results of comparing one watch.
#[derive(Default)]
struct Compared {
    /// The last result.
    last: Option<Audit>,
    /// The last result of a list of all objects.
    list: Option<Audit>,
    /// The result of looking up each object.
    each: Option<Audit>,
    /// The number of objects that were looked up in etcd and agree, if the watch is too large to look up each.
    sampled: u64,
    /// The objects that a confirmed verdict states to be wrong, until it is cleared.
    wrong: BTreeSet<Place>,
}

impl Found {
    fn take(&mut self, record: &Record) {
        match &record.event {
            Event::Audit(audit) => {
                let compared = self.watches.entry(audit.watch.clone()).or_default();
                compared.take(audit);
            }
            Event::Verdict(verdict) => {
                let compared = self.watches.entry(verdict.watch.clone()).or_default();
                let place = Place(verdict.object.clone());
                match verdict.state {
                    Standing::Confirmed => compared.wrong.insert(place),
                    _ => compared.wrong.remove(&place),
                };
            }
            _ => {}
        }
        self.state.apply(record);
    }

    /// Returns how the command ends. `late` is the time of `--for` if it was too short.
    fn end(self, late: Option<Duration>) -> Result<(), Failure> {
        let wrong: Vec<String> = self
            .watches
            .iter()
            .filter(|(_, compared)| !compared.wrong.is_empty())
            .map(|(watch, compared)| {
                let places: Vec<String> = compared.wrong.iter().map(named).collect();
                format!("{watch}: {}", places.join(", "))
            })
            .collect();
        if !wrong.is_empty() {
            let message = format!("watches differ from etcd: {}", wrong.join("; "));
            return Err(Failure::new(DIVERGED, message));
        }
        let undecided: Vec<String> = self
            .state
            .watches
            .keys()
            .filter_map(|name| {
                let why = match self.watches.get(name) {
                    Some(compared) => compared.undecided()?,
                    None => "not compared".to_owned(),
                };
                Some(format!("{name}: {why}"))
            })
            .collect();
        if undecided.is_empty() && !self.state.watches.is_empty() {
            return Ok(());
        }
        let late = late.map_or(String::new(), |late| {
            format!("; --for allowed {} s", late.as_secs())
        });
        let message = format!("undecided: {}{late}", undecided.join("; "));
        Err(Failure::new(UNDECIDED, message))
    }
}

impl Compared {
    fn take(&mut self, audit: &Audit) {
        self.last = Some(audit.clone());
        match audit.method() {
            AuditMethod::ListExact | AuditMethod::ListExactAgain | AuditMethod::ListNewest => {
                self.list = Some(audit.clone());
            }
            AuditMethod::GetEach => self.each = Some(audit.clone()),
            AuditMethod::Get | AuditMethod::ListOne if audit.object.is_none() => {
                self.sampled += audit.compared;
            }
            _ => {}
        }
    }

    /// Returns why the comparison of this watch is undecided; none if it agrees.
    fn undecided(&self) -> Option<String> {
        let read = [&self.last, &self.list, &self.each].into_iter().flatten();
        if let Some(failed) = read.into_iter().find(|audit| !agrees(audit)) {
            let why = failed.reason.as_deref();
            return Some(plain(why.unwrap_or("it was not found a second time")));
        }
        let looked_up = self
            .each
            .as_ref()
            .map_or(self.sampled, |each| each.compared);
        let Some(list) = &self.list else {
            return Some(format!(
                "no complete list was compared; {looked_up} objects were looked up in etcd and agree"
            ));
        };
        (list.may_be_a_caches() && self.each.is_none()).then(|| {
            format!(
                "a list agrees, but may come from the watch cache; of {} objects {looked_up} were looked \
                 up in etcd and agree",
                list.compared
            )
        })
    }
}

fn agrees(audit: &Audit) -> bool {
    audit.outcome() == AuditOutcome::Agrees
}

/// The object's name, with its namespace if it has one.
fn named(Place(object): &Place) -> String {
    plain(&match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use insta::assert_snapshot;
    use watchscope_model::event::{Verdict, WatchStarted};
    use watchscope_model::vocabulary::{Authority, Certainty, Divergence};
    use watchscope_model::{Object, Seq, Time, Uid};

    use super::*;

    const LIST_AGREES: &str = "the list may come from the watch cache, which may believe in objects that etcd does not have";

    fn object(namespace: &str, name: &str) -> Arc<Object> {
        Arc::new(Object {
            namespace: Some(namespace.into()),
            name: name.into(),
            uid: Uid::parse("u"),
        })
    }

    fn verdict(namespace: &str, name: &str, state: Standing) -> Event {
        Event::from(Verdict {
            watch: "*/configmaps".into(),
            object: object(namespace, name),
            kind: Divergence::Ghost,
            held: Some(7.into()),
            listed: None,
            state,
            certainty: Certainty::Definite,
        })
    }

    fn audit(method: &str, compared: u64, outcome: &str, reason: Option<&str>) -> Audit {
        let authority = match reason {
            Some(LIST_AGREES) => Authority::PerhapsCache,
            _ => Authority::Etcd,
        };
        Audit {
            watch: "*/configmaps".into(),
            resource_version: Some(9.into()),
            method: method.into(),
            compared,
            outcome: outcome.into(),
            reason: reason.map(Into::into),
            object: None,
            authority: Some(authority),
            whole: None,
            why: None,
        }
    }

    /// Returns exit code and message after these records of a watch.
    fn ends(events: impl IntoIterator<Item = impl Into<Event>>) -> String {
        ends_late(events, None)
    }

    /// Like [`ends`], after `--for` was too short.
    fn ends_late(
        events: impl IntoIterator<Item = impl Into<Event>>,
        late: Option<Duration>,
    ) -> String {
        let started = Event::from(WatchStarted::plain("*/configmaps".into(), "", "configmaps"));
        let mut found = Found::default();
        for (seq, event) in std::iter::once(started)
            .chain(events.into_iter().map(Into::into))
            .enumerate()
        {
            found.take(&Record {
                seq: Seq(seq as u64 + 1),
                at: Time(0),
                event,
            });
        }
        match found.end(late) {
            Ok(()) => "0".to_owned(),
            Err(Failure { code, message }) => format!("{code}: {message}"),
        }
    }

    #[test]
    fn clearing_a_verdict_in_one_namespace_keeps_the_ghost_in_another() {
        assert_snapshot!(ends([
            verdict("a", "kube-root-ca.crt", Standing::Raised),
            verdict("a", "kube-root-ca.crt", Standing::Confirmed),
            verdict("b", "kube-root-ca.crt", Standing::Raised),
            verdict("b", "kube-root-ca.crt", Standing::Cleared),
            audit("list exact", 2, AuditOutcome::Agrees.word(), None).into(),
        ]), @"3: watches differ from etcd: */configmaps: a/kube-root-ca.crt");
    }

    #[test]
    fn a_confirmed_verdict_that_is_cleared_counts_no_more() {
        assert_snapshot!(ends([
            verdict("a", "settings", Standing::Confirmed),
            verdict("a", "settings", Standing::Cleared),
            audit("list exact again", 2, AuditOutcome::Agrees.word(), None).into(),
        ]), @"0");
    }

    #[test]
    fn a_list_from_etcd_that_agrees_is_clean() {
        assert_snapshot!(ends([audit("list exact", 1_000, AuditOutcome::Agrees.word(), None)]), @"0");
    }

    #[test]
    fn a_list_that_may_be_a_caches_is_undecided() {
        assert_snapshot!(ends([
            audit("list exact", 6_000, AuditOutcome::Agrees.word(), Some(LIST_AGREES)),
            audit("get", 16, AuditOutcome::Agrees.word(), None),
        ]), @"4: undecided: */configmaps: a list agrees, but may come from the watch cache; of 6000 objects 16 were looked up in etcd and agree");
    }

    #[test]
    fn a_watch_whose_objects_were_all_looked_up_is_clean() {
        let list = || {
            audit(
                "list exact",
                1_000,
                AuditOutcome::Agrees.word(),
                Some(LIST_AGREES),
            )
        };
        assert_snapshot!(ends([list(), audit("get each", 1_000, AuditOutcome::Agrees.word(), None)]), @"0");
        // Two objects were created or deleted meanwhile.
        let why = Some("2 changed meanwhile; the stream delivers these changes");
        assert_snapshot!(ends([list(), audit("get each", 998, AuditOutcome::Agrees.word(), why)]), @"0");
    }

    #[test]
    fn objects_that_were_not_looked_up_in_time_leave_it_undecided() {
        let list = audit(
            "list exact",
            1_000,
            AuditOutcome::Agrees.word(),
            Some(LIST_AGREES),
        );
        let why =
            "the watch was stopped when 358 of 1000 objects had been looked up in etcd and agreed";
        let each = audit("get each", 358, AuditOutcome::CannotTell.word(), Some(why));
        let late = Some(Duration::from_secs(150));
        assert_snapshot!(ends_late([list, each], late), @"4: undecided: */configmaps: the watch was stopped when 358 of 1000 objects had been looked up in etcd and agreed; --for allowed 150 s");
    }

    #[test]
    fn a_failed_look_up_is_not_made_good_by_others() {
        let (failed, each) = (
            "the server answered 500",
            "1 of 2 objects could not be looked up in etcd",
        );
        assert_snapshot!(ends([
            audit("list exact", 2, AuditOutcome::Agrees.word(), Some(LIST_AGREES)),
            audit("get", 0, AuditOutcome::CannotTell.word(), Some(failed)),
            audit("get each", 1, AuditOutcome::CannotTell.word(), Some(each)),
        ]), @"4: undecided: */configmaps: 1 of 2 objects could not be looked up in etcd");
    }

    #[test]
    fn a_list_that_could_not_be_compared_is_not_made_good_by_objects_that_agree() {
        assert_snapshot!(ends([
            audit("list exact", 0, AuditOutcome::CannotTell.word(), Some("asked for 9, the server listed \u{1b}[2J")),
            audit("get", 3, AuditOutcome::Agrees.word(), None),
        ]), @r"4: undecided: */configmaps: asked for 9, the server listed \u{1b}[2J");
    }

    #[test]
    fn a_watch_with_only_some_objects_looked_up_is_undecided() {
        assert_snapshot!(ends([audit("get", 16, AuditOutcome::Agrees.word(), None)]), @"4: undecided: */configmaps: no complete list was compared; 16 objects were looked up in etcd and agree");
    }
}
