//! Makes the summary of a chapter from its records, one by one.

use std::collections::BTreeMap;

use super::trouble::{MAX_TROUBLES, Trouble, TroubleKind, join_neighbours, length_us};
use super::{MAX_KINDS, Summary};
use crate::event::{Event, Record, WatchStarted, WatchStopped};
use crate::fold::{Moment, Objects, OpenFinding, OpenVerdict, State, Watch};
use crate::id::Seq;
use crate::time::Time;
use crate::vocabulary::{Divergence, Severity, Standing};

/// The kind number that counts records of kinds which this build does not know. Once 255 kinds are counted, with or
/// without `UNKNOWN_KIND`, records of further kinds count under it, too. No kind of record has this number.
pub const UNKNOWN_KIND: u64 = 0;
/// The number of troubles at which neighbours are joined until [`TROUBLES_KEPT`] are left. The number bounds the memory
/// to about 200 kB; a summary keeps only [`MAX_TROUBLES`]. The number has no source.
const TROUBLES_HELD: usize = 4_096;
/// The number of troubles left after a join of neighbours: a quarter of [`TROUBLES_HELD`], so that joins are rare. The
/// share has no source.
const TROUBLES_KEPT: usize = 1_024;
/// The least length in µs of an open gap that counts as a warning, whatever its outcome: 60 s, as for findings
/// ([`Row::usual_severity`](crate::Row::usual_severity)). A shorter gap counts as a note. The number has no other
/// source.
const BLIND_US: u64 = 60_000_000;

/// A maker of a chapter's summary from its records.
///
/// After each record it holds at most 256 counts and fewer than 4,096 troubles: at 4,096, neighbours are joined until
/// 1,024 are left. It also holds a fold. The fold's objects are only those that came in this chapter before their watch
/// had progress.
#[derive(Debug)]
pub struct Summarizer {
    state: State,
    opened_at: Time,
    first: Seq,
    first_at: Option<Time>,
    counts: BTreeMap<u64, u64>,
    troubles: Vec<Trouble>,
}

impl Summarizer {
    /// Begins a chapter after the last record of a fold. The objects of the fold's watches are dropped.
    #[must_use]
    pub fn new(mut state: State) -> Self {
        // Troubles do not depend on the objects held, and the objects are nearly all of the fold.
        for watch in state.watches.values_mut() {
            watch.objects = Objects::default();
        }
        Self {
            opened_at: state.at,
            first: state.seq.next(),
            state,
            first_at: None,
            counts: BTreeMap::new(),
            troubles: Vec::new(),
        }
    }

    /// The fold after the last record, for its seq, its time, and the watches, gaps, verdicts and findings that are
    /// open. This fold lacks the objects that the chapter opened with. No `change` of a watch with progress is folded:
    /// the fold lacks its object and its counts.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The seq of the chapter's first record; if the chapter has no record yet, the seq that its first record will
    /// have.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.first
    }

    /// Begins the next chapter, after the last record taken. Counts and troubles begin anew; open gaps, verdicts and
    /// findings stay open.
    pub fn next_chapter(&mut self) {
        let state = std::mem::take(&mut self.state);
        *self = Self::new(state);
    }

    /// Counts the next record by the number of its kind, without folding it. The record is of the inside, or of a kind
    /// that this build does not know ([`UNKNOWN_KIND`]).
    pub fn pass(&mut self, kind: u64, at: Time) {
        self.count(kind, at);
        self.state.pass(self.state.seq.next(), at);
    }

    fn count(&mut self, kind: u64, at: Time) {
        self.first_at.get_or_insert(at);
        let is_full = self.counts.len() >= MAX_KINDS - 1 && !self.counts.contains_key(&kind);
        let kind = if is_full { UNKNOWN_KIND } else { kind };
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Counts and folds the next record. A `change` of a watch with progress, or of an unknown watch, is only counted.
    pub fn record(&mut self, record: &Record) {
        self.count(record.event.kind(), record.at);
        if self.is_no_trouble(&record.event) {
            self.state.pass(record.seq, record.at);
            return;
        }
        let ended = self.ended_by(&record.event, record.into());
        self.troubles.extend(ended);
        self.state.apply(record);
        if self.troubles.len() >= TROUBLES_HELD {
            join_neighbours(&mut self.troubles, TROUBLES_KEPT);
        }
    }

    /// Whether an event is no trouble and has no effect on later troubles. Nearly all records are changes. Only changes
    /// of a watch without progress matter, because progress shows that a stream could be resumed.
    fn is_no_trouble(&self, event: &Event) -> bool {
        let Event::Change(change) = event else {
            return false;
        };
        let watch = self.state.watches.get(&change.watch);
        watch.is_none_or(|watch| watch.progress.is_some())
    }

    /// The troubles that an event ends, or that the event itself is, by the fold before that event.
    fn ended_by(&self, event: &Event, now: Moment) -> Vec<Trouble> {
        let at = now.at;
        match event {
            Event::Gap(gap) if !gap.resumed => {
                let open = self.state.watches.get(&gap.watch);
                let since = open
                    .and_then(|watch| watch.gap.as_ref())
                    .map_or(now, |gap| gap.since);
                vec![self.trouble(TroubleKind::LostGap, Severity::Warning, since, at)]
            }
            Event::StreamError(_) => {
                vec![self.trouble(TroubleKind::Error, Severity::Error, now, at)]
            }
            // A difference whose cause is an older list is no longer trouble.
            Event::Verdict(verdict)
                if verdict.state == Standing::Cleared || verdict.kind == Divergence::ListOlder =>
            {
                let watch = self.state.watches.get(&verdict.watch);
                let open = watch.and_then(|watch| watch.verdict_on(&verdict.object));
                open.and_then(|open| self.verdict(open, at))
                    .into_iter()
                    .collect()
            }
            Event::WatchStarted(WatchStarted { watch, .. })
            | Event::WatchStopped(WatchStopped { watch, .. }) => {
                let before = self.state.watches.get(watch);
                before.map_or(Vec::new(), |watch| self.of_watch(watch, at))
            }
            // A record of a finding that neither raises nor clears it belongs to the same occurrence.
            Event::Finding(finding)
                if matches!(finding.state, Standing::Raised | Standing::Cleared) =>
            {
                let open = self.state.findings.get(&finding.key());
                open.and_then(|open| self.occurrence(open, at))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The gap and the verdicts of a watch, which end with the watch.
    fn of_watch(&self, watch: &Watch, until: Time) -> Vec<Trouble> {
        let gap = watch.gap.as_ref().map(|gap| {
            let severity = if length_us(gap.since.at, until) >= BLIND_US {
                Severity::Warning
            } else {
                Severity::Note
            };
            self.trouble(TroubleKind::OpenGap, severity, gap.since, until)
        });
        let verdicts = watch.verdicts.values();
        let verdicts = verdicts.filter_map(|open| self.verdict(open, until));
        gap.into_iter().chain(verdicts).collect()
    }

    /// The trouble of a verdict; `None` for a read that was older than the watch, which proves nothing wrong.
    fn verdict(&self, open: &OpenVerdict, until: Time) -> Option<Trouble> {
        let is_trouble = open.verdict.kind != Divergence::ListOlder;
        is_trouble.then(|| {
            let (kind, severity) = (TroubleKind::Divergence, Severity::Divergence);
            self.trouble(kind, severity, open.since, until)
        })
    }

    fn occurrence(&self, open: &OpenFinding, until: Time) -> Option<Trouble> {
        let severity = open.finding.severity;
        let is_trouble = !matches!(severity, Severity::Note | Severity::Unknown);
        is_trouble.then(|| {
            let raised = open.raised();
            let began = open.finding.since.unwrap_or(raised.at);
            let since = Moment {
                at: began.min(raised.at),
                ..raised
            };
            self.trouble(TroubleKind::Finding, severity, since, until)
        })
    }

    fn trouble(
        &self,
        kind: TroubleKind,
        severity: Severity,
        since: Moment,
        until: Time,
    ) -> Trouble {
        let start = since.at.max(self.opened_at);
        Trouble {
            start,
            length_us: length_us(start, until),
            kind,
            severity,
            open_at_begin: since.seq < self.first || since.at < self.opened_at,
            open_at_end: false,
            count: 1,
        }
    }

    /// Returns the summary of the chapter so far. Troubles that are still open get the last record's time as their end.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let at = self.state.at;
        let watches = self.state.watches.values();
        let mut open: Vec<Trouble> = watches.flat_map(|watch| self.of_watch(watch, at)).collect();
        let findings = self.state.findings.values();
        open.extend(findings.filter_map(|finding| self.occurrence(finding, at)));
        open.iter_mut()
            .for_each(|trouble| trouble.open_at_end = true);
        let mut troubles = self.troubles.clone();
        troubles.extend(open);
        join_neighbours(&mut troubles, MAX_TROUBLES);
        let severities = troubles.iter().map(|trouble| trouble.severity);
        Summary {
            first: self.first,
            last: self.state.seq,
            first_at: self.first_at.unwrap_or(self.opened_at),
            last_at: at,
            counts: self.counts.iter().map(|(&kind, &n)| (kind, n)).collect(),
            worst: severities.reduce(Severity::worse),
            troubles,
        }
    }
}
