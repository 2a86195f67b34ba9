//! A finding that is open. The occurrences of an open finding are counted. The finding may get worse or more certain,
//! and while it recurs it is reported more and more rarely.

use watchscope_model::event::Finding;
use watchscope_model::vocabulary::Standing;
use watchscope_model::{Event, Time};

use super::draft::{FindingDraft, Lasts, MAX_EVIDENCE, Subject, Weight};
use super::members::Members;
use crate::awake::Awake;
use crate::text::{clock, count};

/// Shortest wait in µs before a finding that recurs is reported again: 1 s. The wait doubles with each report, up to
/// [`REPORTED_RARELY_US`]. A finding that gets worse or more certain is reported at once, and the wait is 1 s again.
/// The number has no source: a burst within 1 s costs one more record.
pub const REPORTED_AGAIN_US: i64 = 1_000_000;
/// Longest wait in µs between two reports of a finding that recurs: 60 s. At 60 s the wait no longer doubles. So the
/// recorded count of a finding that recurs is at most a minute old. The number has no other source.
pub const REPORTED_RARELY_US: i64 = 60_000_000;
/// Time in µs without a recurrence after which a finding of an event is cleared: 10 min. A finding of a lasting state
/// stays until that state ends. The number has no source. A longer time leaves more old findings open; a shorter time
/// splits a failure that recurs seldom into several findings.
pub const QUIET_US: i64 = 600_000_000;

/// An open finding.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The occurrence that the next record reports.
    pub(super) found: FindingDraft,
    /// The watches that the finding concerns, if it is about a cause that several watches share.
    pub(super) members: Members,
    pub(super) count: u64,
    /// The finding's greatest weight so far: the worst severity, and how certain the finding was at that severity.
    pub(super) greatest: Weight,
    pub(super) last_at: Time,
    pub(super) reported_at: Time,
    /// The number of occurrences that the finding's records have reported so far.
    pub(super) reported: u64,
    /// The wait from one report to the next, in microseconds; 0 if the finding has got worse or more certain.
    pub(super) rest_us: i64,
    /// The state that the next record reports; `None` if nothing has changed since the last record.
    pub(super) news: Option<Standing>,
}

impl Entry {
    /// Returns when the finding must be reported, cleared or made worse, if nothing else happens.
    pub(super) fn due(&self) -> Option<Time> {
        let reported = self
            .news
            .map(|_| self.reported_at.plus_micros(self.rest_us));
        let over =
            (self.found.lasts == Lasts::Happened).then(|| self.last_at.plus_micros(QUIET_US));
        let worsens = self.found.worsens.map(|(at, _)| at);
        [reported, over, worsens].into_iter().flatten().min()
    }

    /// Adds an occurrence.
    ///
    /// If the finding is of single events, the next record reports the worst occurrence that no record has reported; of
    /// equally bad ones, the last. If the finding lasts, an occurrence adds its evidence. The sentence of the
    /// occurrence replaces the finding's if it weighs at least as much.
    pub(super) fn occur(&mut self, found: FindingDraft, members: Members, now: Time) {
        let (weight, was) = (found.weight(), self.found.weight());
        let is_lasting = self.found.lasts == Lasts::UntilCleared;
        if found.lasts == Lasts::UntilCleared {
            self.found.lasts = Lasts::UntilCleared;
        }
        if (is_lasting || found.lasts == Lasts::UntilCleared) && !members.is_empty() {
            self.members.join(members);
            self.gather();
        } else if is_lasting || found.lasts == Lasts::UntilCleared {
            for seq in &found.evidence {
                if !self.found.evidence.contains(seq) {
                    self.found.evidence.push(*seq);
                }
            }
            while self.found.evidence.len() > MAX_EVIDENCE {
                self.found.evidence.remove(1);
            }
            if weight >= was {
                let evidence = std::mem::take(&mut self.found.evidence);
                let since = self.found.since;
                self.found = FindingDraft {
                    evidence,
                    since,
                    lasts: Lasts::UntilCleared,
                    ..found
                };
            }
        } else if self.reported == self.count || weight >= was {
            self.found = found;
            self.members = members;
            self.found.evidence.truncate(MAX_EVIDENCE);
        }
        self.weigh(weight);
        self.count += 1;
        self.last_at = now;
        self.news = Some(Standing::Raised);
    }

    /// Makes the finding's draft anew, because something has changed with its watches.
    pub(super) fn gather(&mut self) {
        if let Some(found) = self.members.together() {
            self.found = found;
            self.weigh(self.found.weight());
            self.news = self.news.or(Some(Standing::Updated));
        }
    }

    /// Makes the finding due for a report at once, if a weight is above all its weights before.
    pub(super) fn weigh(&mut self, weight: Weight) {
        if weight > self.greatest {
            self.greatest = weight;
            self.rest_us = 0;
        }
    }

    /// Replaces the finding's sentence by the reason why it is cleared.
    pub(super) fn over(&mut self, why: String) {
        self.found.summary = why;
        self.found.outcome = None;
        self.found.worsens = None;
    }

    /// Raises the finding's severity, if the time for that has come.
    pub(super) fn worsen(&mut self, now: Time) {
        if let Some((at, severity)) = self.found.worsens
            && at <= now
        {
            self.members.worsen(now);
            self.gather();
            if !self.members.is_empty() {
                return;
            }
            self.found.worsens = None;
            self.found.severity = severity;
            self.news = self.news.or(Some(Standing::Updated));
            self.weigh(self.found.weight());
        }
    }

    /// Returns the finding's next record, which reports one occurrence and counts all.
    pub(super) fn event(&mut self, state: Standing, awake: &Awake) -> Event {
        let others = self.count.saturating_sub(self.reported + 1);
        let mut summary = self.found.summary.clone();
        summary += self.found.outcome.as_deref().unwrap_or("");
        if others > 0 && self.found.lasts == Lasts::Happened {
            let since = clock(awake.logged(self.reported_at));
            summary += &format!(" And {} since {since}.", count(others, "other"));
        }
        self.reported = self.count;
        let found = &self.found;
        let (mut watch, mut server, mut client) = (None, None, None);
        let (mut connection, mut group, mut resource) = (None, None, None);
        match found.subject.clone() {
            Subject::Cluster => {}
            Subject::Watch(name) => watch = Some(name),
            Subject::Server(name) => server = Some(name),
            Subject::Client(name) => client = Some(name),
            Subject::Connection(id, address) => (connection, server) = (Some(id), address),
            Subject::Type {
                group: of,
                resource: what,
                server: address,
            } => (group, resource, server) = (Some(of), Some(what), address),
        }
        let numbers = (!self.members.is_empty()).then(|| self.members.numbers());
        let (resumed, relisted) = numbers
            .as_ref()
            .map_or((None, None), |numbers| (numbers.resumed, numbers.relisted));
        Finding {
            code: found.row.code().into(),
            candidates: found.alike.iter().map(|row| row.code().into()).collect(),
            name: found.row.name().into(),
            severity: found.severity,
            state,
            certainty: found.certainty,
            watch,
            server,
            evidence: found.evidence.clone(),
            summary,
            client,
            count: Some(self.count),
            since: Some(awake.logged(found.since)),
            worst: Some(self.greatest.0),
            connection,
            group,
            resource,
            watches: numbers.as_ref().map(|numbers| numbers.watches),
            resumed,
            relisted,
            names: numbers.map(|numbers| numbers.names).unwrap_or_default(),
        }
        .into()
    }
}
