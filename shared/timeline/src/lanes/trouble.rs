//! The trouble of each watch, over the whole log: the worst severity, and the time of the latest trouble of that
//! severity.
//!
//! Trouble is a finding of severity warning or above, a confirmed divergence, or an open verdict. A gap in which events
//! may be lost, a refused watch, and a watch that waits over 5 s are trouble, too. The time in view is no input, so
//! panning changes nothing.

use watchscope_model::event::Finding;
use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::{Phase, Severity};
use watchscope_model::{State, Time, WatchName};

use crate::findings::{LONG_WAIT_US, Muted};
use crate::store::Store;

/// The trouble of a watch. The greater of two is worse, or equally bad and later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trouble {
    /// The rank of the watch's worst severity; 0: no trouble.
    rank: u64,
    /// When the latest trouble of that severity began.
    at: Time,
}

impl Trouble {
    /// Whether the watch has any trouble.
    pub(super) fn is_any(self) -> bool {
        self.rank > 0
    }

    /// Returns the sort key of the trouble: the greatest key is the worst trouble.
    pub(super) fn weight(self) -> (u64, u64) {
        (self.rank, self.at.0.max(0) as u64)
    }

    fn add(&mut self, severity: Severity, at: Time) {
        if severity.rank() >= Severity::Warning.rank() {
            let rank = severity.rank() as u64;
            *self = (*self).max(Self { rank, at });
        }
    }
}

/// Returns the trouble of all watches, indexed by the watches' numbers, as of `now`. Muted findings are no trouble.
pub(super) fn troubles(store: &Store, state: &State, muted: &Muted, now: Time) -> Vec<Trouble> {
    let names = store.names();
    let mut found = vec![Trouble::default(); names.watches_by_name().len()];
    for (key, open) in &state.findings {
        let finding = &open.finding;
        if muted.has(key) {
            continue;
        }
        let concerned = finding.watch.iter().chain(&finding.names);
        for watch in concerned.filter_map(|name| names.find_watch(name)) {
            found[watch.0 as usize].add(finding.worst_severity(), open.since.at);
        }
    }
    for epoch in store.epochs() {
        // A finding that was cleared has no watch but its subject, which begins with the watch's name.
        for span in epoch.trace.findings.all() {
            let subject = span.what.subject.as_deref().unwrap_or_default();
            let name = subject.split(' ').next().unwrap_or_default();
            let key = Finding::key_of(&span.what.code, span.what.subject.as_ref());
            if !muted.has(&key)
                && let Some(watch) = names.find_watch(&WatchName::from(name))
            {
                found[watch.0 as usize].add(span.what.severity, span.start.at);
            }
        }
    }
    for &watch in names.watches_by_name() {
        let trouble = &mut found[watch.0 as usize];
        for trace in store.watch_traces(watch) {
            for span in trace
                .objects
                .iter()
                .flat_map(|object| object.verdicts.all())
            {
                if span.what.is_confirmed {
                    trouble.add(Severity::Divergence, span.start.at);
                }
            }
        }
        if let Some(known) = state.watches.get(names.watch_name(watch)) {
            add_known(trouble, known, now);
        }
    }
    found
}

fn add_known(trouble: &mut Trouble, known: &Watch, now: Time) {
    if let Some(lost) = known.last_lost {
        trouble.add(Severity::Error, lost.at);
    }
    if let Some(open) = &known.phase {
        match open.phase {
            Phase::Refused => trouble.add(Severity::Error, open.since.at),
            Phase::Waiting if now.micros_since(open.since.at) > LONG_WAIT_US => {
                trouble.add(Severity::Warning, open.since.at);
            }
            _ => {}
        }
    }
    for open in known.verdicts.values() {
        trouble.add(Severity::Warning, open.since.at);
    }
}
