//! `watchscope audit`: compares what list and watch say now, and ends with what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::Duration;

use tokio::time::Instant;
use watchscope_model::event::Audit;
use watchscope_model::id::Place;
use watchscope_model::vocabulary::{Phase, Standing};
use watchscope_model::{Entry, Event, Record, State, WatchName, json};

use super::args::{AuditArgs, Output};
use super::exit::Failure;
use super::serve::{lookup, name_of, open_log, settings, start};
use super::signals::stop_flag;
use super::terminal::{self, plain};
use crate::log::{Comparison, LogHandle, LogReader, Read, Since};
use crate::stop::stopped;

/// Exit code: something a watch holds is not so.
const DIVERGED: u8 = 3;
/// Exit code: it cannot be told.
const CANNOT_TELL: u8 = 4;
/// How many objects of a watch the audit looks up for one who asks; of no more, each.
const AT_ONCE: u64 = 16;
/// What the reason says of a list that agrees, where it cannot show what only the server's cache believes.
const MAY_BE_A_CACHES: &str = "may be the watch cache's";

/// Lists, watches, and compares once: exit 0 if all is so, 3 if not, 4 if it cannot be told, as where lists may be a
/// cache's and not all objects were looked up.
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
    report.found.end(args.for_duration)
}

/// Whether every watch has a stream, or will not get one.
fn all_stream(state: &State) -> bool {
    let is_there = |watch: &watchscope_model::fold::Watch| {
        let phase = watch.phase.as_ref().map(|phase| phase.phase);
        watch.stream.is_some() || phase == Some(Phase::Refused)
    };
    !state.watches.is_empty() && state.watches.values().all(is_there)
}

/// What is read of the log and written.
struct Report {
    reader: LogReader,
    output: Output,
    found: Found,
    is_over: bool,
}

impl Report {
    fn new(log: &LogHandle, output: Output) -> Self {
        Self {
            reader: log.reader(Since::First),
            output,
            found: Found::default(),
            is_over: false,
        }
    }

    async fn until(&mut self, is_met: impl Fn(&State) -> bool) -> Result<(), Failure> {
        while !is_met(&self.found.state) && !self.is_over {
            self.next().await?;
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<(), Failure> {
        match self.reader.next().await {
            Some(Read::Entries(entries)) => {
                for record in entries.iter().filter_map(Entry::record) {
                    if matches!(record.event, Event::Audit(_) | Event::Verdict(_)) {
                        self.write(record)?;
                    }
                    self.found.take(record);
                }
            }
            Some(Read::Loss { .. }) => {}
            None => self.is_over = true,
        }
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
}

/// What came of all comparisons so far.
#[derive(Default)]
struct Found {
    /// The fold of what was read.
    state: State,
    watches: BTreeMap<WatchName, Compared>,
}

/// What came of comparing one watch.
#[derive(Default)]
struct Compared {
    /// The last outcome.
    last: Option<Audit>,
    /// The last list of all.
    list: Option<Audit>,
    /// How many objects were looked up in etcd and are so; what was told by name is not among those told by number.
    sampled: u64,
    named: BTreeSet<Place>,
    /// The last look that told nothing.
    failed: Option<Audit>,
    /// What changed after the list, so that a look at it may have come to nothing.
    changed: BTreeSet<Place>,
    /// What was confirmed to be wrong, and stood.
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
            Event::Change(change) => {
                if let Some(compared) = self.watches.get_mut(&change.watch)
                    && compared.looks_at_all()
                {
                    compared.changed.insert(Place(change.object.clone()));
                }
            }
            _ => {}
        }
        self.state.apply(record);
    }

    /// How the command ends.
    fn end(self, waited: Duration) -> Result<(), Failure> {
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
            let message = format!("what watches hold is not so: {}", wrong.join("; "));
            return Err(Failure::new(DIVERGED, message));
        }
        let untold: Vec<String> = self
            .state
            .watches
            .keys()
            .filter_map(|name| {
                let why = match self.watches.get(name) {
                    Some(compared) => compared.untold()?,
                    None => format!("not compared within {} s", waited.as_secs()),
                };
                Some(format!("{name}: {why}"))
            })
            .collect();
        if untold.is_empty() && !self.state.watches.is_empty() {
            return Ok(());
        }
        let message = format!("it cannot be told whether all is so: {}", untold.join("; "));
        Err(Failure::new(CANNOT_TELL, message))
    }
}

impl Compared {
    fn take(&mut self, audit: &Audit) {
        self.last = Some(audit.clone());
        match (&*audit.method, &audit.object) {
            ("list exact" | "list exact again" | "list newest", _) => {
                self.list = Some(audit.clone());
            }
            ("get" | "list one exact", _) if &*audit.outcome == Audit::CANNOT_TELL => {
                self.failed = Some(audit.clone());
            }
            ("get" | "list one exact", object) if agrees(audit) => match object {
                Some(object) => {
                    self.named.insert(Place(object.clone()));
                }
                None => self.sampled += audit.compared,
            },
            _ => {}
        }
    }

    /// Whether each object of its list is looked up.
    fn looks_at_all(&self) -> bool {
        self.list
            .as_ref()
            .is_some_and(|list| list.compared <= AT_ONCE)
    }

    /// Why it cannot be told that all is so, if it cannot.
    fn untold(&self) -> Option<String> {
        let read = [&self.last, &self.list, &self.failed].into_iter().flatten();
        if let Some(failed) = read.into_iter().find(|audit| !agrees(audit)) {
            let why = failed.reason.as_deref();
            return Some(plain(why.unwrap_or("it was not found a second time")));
        }
        let looked_up = self.sampled + self.named.len() as u64;
        let Some(list) = &self.list else {
            return Some(format!(
                "no whole list of it was compared; {looked_up} objects were looked up in etcd, and are so"
            ));
        };
        let may_hide = list
            .reason
            .as_deref()
            .is_some_and(|reason| reason.contains(MAY_BE_A_CACHES));
        let settled = looked_up + self.changed.len() as u64;
        let is_all = self.looks_at_all() && settled >= list.compared;
        (may_hide && !is_all).then(|| {
            format!(
                "a list agrees, but may show what only the watch cache believes; of {} objects {looked_up} were looked \
                 up in etcd, and are so",
                list.compared
            )
        })
    }
}

fn agrees(audit: &Audit) -> bool {
    &*audit.outcome == Audit::AGREES
}

/// Namespace, where there is one, and name.
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
    use watchscope_model::event::{Change, Verdict, WatchStarted};
    use watchscope_model::vocabulary::{Certainty, ChangeType, Divergence, Origin};
    use watchscope_model::{Object, Seq, Time, Uid};

    use super::*;

    const LIST_AGREES: &str =
        "the list may be the watch cache's, and so show what only the cache believes";

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
        Audit {
            watch: "*/configmaps".into(),
            resource_version: Some(9.into()),
            method: method.into(),
            compared,
            outcome: outcome.into(),
            reason: reason.map(Into::into),
            object: None,
        }
    }

    /// Exit code and message after these records of a watch.
    fn ends(events: impl IntoIterator<Item = impl Into<Event>>) -> String {
        let started = Event::from(WatchStarted {
            watch: "*/configmaps".into(),
            group: "".into(),
            version: "v1".into(),
            resource: "configmaps".into(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        });
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
        match found.end(Duration::from_secs(30)) {
            Ok(()) => "0".to_owned(),
            Err(Failure { code, message }) => format!("{code}: {message}"),
        }
    }

    #[test]
    fn what_is_cleared_of_a_name_in_one_namespace_leaves_the_ghost_in_another() {
        assert_snapshot!(ends([
            verdict("a", "kube-root-ca.crt", Standing::Raised),
            verdict("a", "kube-root-ca.crt", Standing::Confirmed),
            verdict("b", "kube-root-ca.crt", Standing::Raised),
            verdict("b", "kube-root-ca.crt", Standing::Cleared),
            audit("list exact", 2, Audit::AGREES, None).into(),
        ]), @"3: what watches hold is not so: */configmaps: a/kube-root-ca.crt");
    }

    #[test]
    fn a_confirmed_verdict_that_is_cleared_is_over() {
        assert_snapshot!(ends([
            verdict("a", "settings", Standing::Confirmed),
            verdict("a", "settings", Standing::Cleared),
            audit("list exact again", 2, Audit::AGREES, None).into(),
        ]), @"0");
    }

    #[test]
    fn all_is_so_where_the_list_is_etcds() {
        assert_snapshot!(ends([audit("list exact", 1_000, Audit::AGREES, None)]), @"0");
    }

    #[test]
    fn a_list_that_may_be_a_caches_does_not_show_that_all_is_so() {
        assert_snapshot!(ends([
            audit("list exact", 1_000, Audit::AGREES, Some(LIST_AGREES)),
            audit("get", 16, Audit::AGREES, None),
        ]), @"4: it cannot be told whether all is so: */configmaps: a list agrees, but may show what only the watch cache believes; of 1000 objects 16 were looked up in etcd, and are so");
    }

    #[test]
    fn all_is_so_where_each_object_was_looked_up() {
        let by_name = Audit {
            object: Some(object("a", "settings")),
            ..audit("list one exact", 1, Audit::AGREES, None)
        };
        let list = audit("list exact", 16, Audit::AGREES, Some(LIST_AGREES));
        let get = audit("get", 15, Audit::AGREES, None);
        assert_snapshot!(ends([list.clone(), get.clone()]), @"4: it cannot be told whether all is so: */configmaps: a list agrees, but may show what only the watch cache believes; of 16 objects 15 were looked up in etcd, and are so");
        // The same object twice is one.
        assert_snapshot!(ends([list, by_name.clone(), by_name, get]), @"0");
    }

    #[test]
    fn an_object_that_changes_while_it_is_looked_up_is_the_streams_to_tell() {
        let changed = || {
            Event::from(Change {
                watch: "*/configmaps".into(),
                stream: None,
                change: ChangeType::Modified,
                origin: Origin::Live,
                object: object("a", "settings"),
                resource_version: 10.into(),
                generation: None,
                manager: None,
                subresource: None,
                bytes: None,
                stray: None,
            })
        };
        let list = |of| Event::from(audit("list exact", of, Audit::AGREES, Some(LIST_AGREES)));
        let get = |of| Event::from(audit("get", of, Audit::AGREES, None));
        assert_snapshot!(ends([list(2), changed(), get(1)]), @"0");
        // Of more objects than are looked up at once it may be one that was.
        assert_snapshot!(ends([list(17), changed(), get(16)]), @"4: it cannot be told whether all is so: */configmaps: a list agrees, but may show what only the watch cache believes; of 17 objects 16 were looked up in etcd, and are so");
    }

    #[test]
    fn a_look_that_told_nothing_is_not_made_good_by_others() {
        let failed = audit(
            "get",
            0,
            Audit::CANNOT_TELL,
            Some("the server answered 500"),
        );
        let list = audit("list exact", 2, Audit::AGREES, Some(LIST_AGREES));
        let get = audit("get", 2, Audit::AGREES, None);
        assert_snapshot!(ends([list, failed, get]), @"4: it cannot be told whether all is so: */configmaps: the server answered 500");
    }

    #[test]
    fn a_list_that_could_not_be_compared_is_not_made_good_by_objects_that_are_so() {
        assert_snapshot!(ends([
            audit("list exact", 0, Audit::CANNOT_TELL, Some("asked for 9, the server listed \u{1b}[2J")),
            audit("get", 3, Audit::AGREES, None),
        ]), @r"4: it cannot be told whether all is so: */configmaps: asked for 9, the server listed \u{1b}[2J");
    }

    #[test]
    fn a_watch_of_which_only_some_objects_were_looked_up_is_not_known_to_be_so() {
        assert_snapshot!(ends([audit("get", 16, Audit::AGREES, None)]), @"4: it cannot be told whether all is so: */configmaps: no whole list of it was compared; 16 objects were looked up in etcd, and are so");
    }
}
