//! The watches that one finding concerns, because their failures have one cause.

use watchscope_model::event::MAX_NAMES;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::{Seq, Time, WatchName};

use super::draft::{Fate, FindingDraft, Lasts, MAX_EVIDENCE, Subject, are_of_one_cause};

/// Number of the last records of evidence that are kept, if a finding about several watches has over [`MAX_EVIDENCE`].
/// The first 12 records fill the rest of [`MAX_EVIDENCE`]: they show how the failure began. The number has no source.
const LAST_EVIDENCE: usize = 4;
/// Most watches that a sentence names, so that it stays short; `…` stands for further watches, and the sentence has the
/// number of all. The limit has no source.
const NAMED_MOST: usize = 3;

/// A watch that a finding about several watches concerns.
#[derive(Clone, Debug)]
struct Member {
    found: FindingDraft,
    is_stopped: bool,
    /// The round of the watch's last occurrence: see [`Members::again`].
    round: u64,
}

/// The number of watches that a finding concerns, how many had each outcome, and the names of the worst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) watches: u64,
    /// The number of watches that resumed; `None` if the finding opens no gap.
    pub(super) resumed: Option<u64>,
    pub(super) relisted: Option<u64>,
    /// The names of the watches, the worst outcome first, at most [`MAX_NAMES`].
    pub(super) names: Vec<WatchName>,
}

/// The watches that a finding concerns, with the draft of each; empty if the finding is about one watch or thing only.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(BTreeMap<WatchName, Member>);

impl Members {
    pub(super) fn of(all: Vec<FindingDraft>) -> Self {
        let mut members = Self::default();
        for found in all {
            members.put(found);
        }
        members
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, watch: &WatchName) -> bool {
        self.0.contains_key(watch)
    }

    pub(super) fn watches(&self) -> impl Iterator<Item = &WatchName> {
        self.0.keys()
    }

    /// Adds a watch, or replaces its draft. Skips drafts that are not about a watch.
    pub(super) fn put(&mut self, found: FindingDraft) {
        let Subject::Watch(watch) = &found.subject else {
            return;
        };
        let watch = watch.clone();
        let known = self.0.get(&watch).map(|member| member.round);
        let member = Member {
            round: known.unwrap_or_else(|| self.round()),
            is_stopped: false,
            found,
        };
        self.0.insert(watch, member);
    }

    /// Returns the latest round of occurrences among these watches.
    fn round(&self) -> u64 {
        let rounds = self.0.values().map(|member| member.round);
        rounds.max().unwrap_or(1)
    }

    /// Notes another occurrence of a watch, if it is one of these watches. Returns whether a new round begins: the
    /// first watch to fail again begins a round, and other watches that fail after it belong to that round.
    pub(super) fn again(&mut self, watch: &WatchName) -> bool {
        let latest = self.round();
        let Some(member) = self.0.get_mut(watch) else {
            return false;
        };
        member.round += 1;
        member.round > latest
    }

    /// Adds other watches with the same cause. Of a watch that is known already, the new draft replaces the old.
    pub(super) fn join(&mut self, others: Self) {
        for (watch, member) in others.0.into_iter() {
            self.0.insert(watch, member);
        }
    }

    pub(super) fn get_mut(&mut self, watch: &WatchName) -> Option<&mut FindingDraft> {
        self.0.get_mut(watch).map(|member| &mut member.found)
    }

    pub(super) fn remove(&mut self, watch: &WatchName) {
        self.0.remove(watch);
    }

    /// Returns whether the gap of a watch is open.
    pub(super) fn is_blind(&self, watch: &WatchName) -> bool {
        let member = self.0.get(watch);
        member.is_some_and(|member| member.found.fate == Some(Fate::Blind))
    }

    /// Notes that a watch was stopped, so its outcome does not change any more. Returns whether all these watches are
    /// stopped.
    pub(super) fn stop(&mut self, watch: &WatchName) -> bool {
        if let Some(member) = self.0.get_mut(watch) {
            member.is_stopped = true;
            member.found.worsens = None;
        }
        self.0.values().all(|member| member.is_stopped)
    }

    /// Raises the severity of the watches whose time to get worse has come.
    pub(super) fn worsen(&mut self, now: Time) {
        for member in self.0.values_mut() {
            let found = &mut member.found;
            if let Some((_, severity)) = found.worsens.take_if(|(at, _)| *at <= now) {
                found.severity = severity;
            }
        }
    }

    /// Returns whether another watch's draft has the same cause as the draft of one of these watches.
    pub(super) fn is_of_cause(&self, other: &FindingDraft) -> bool {
        let mut all = self.0.values().map(|member| &member.found);
        all.any(|found| are_of_one_cause(found, other))
    }

    pub(super) fn numbers(&self) -> Numbers {
        let mut ranked: Vec<(bool, Option<Fate>, &WatchName)> = self
            .0
            .iter()
            .map(|(watch, member)| (member.is_stopped, member.found.fate, watch))
            .collect();
        tree::sort(&mut ranked);
        let has_gaps = ranked.iter().any(|(_, fate, _)| fate.is_some());
        let of = |wanted: &[Fate]| {
            let has = |fate: &Option<Fate>| fate.is_some_and(|fate| wanted.contains(&fate));
            let with = ranked.iter().filter(|(_, fate, _)| has(fate));
            has_gaps.then_some(with.count() as u64)
        };
        Numbers {
            watches: ranked.len() as u64,
            resumed: of(&[Fate::Resumed]),
            relisted: of(&[Fate::Lost, Fate::Relisted]),
            names: ranked
                .iter()
                .take(MAX_NAMES)
                .map(|(.., watch)| (*watch).clone())
                .collect(),
        }
    }

    /// Returns one draft for all of these watches: as severe as the worst draft, as certain as the most certain. `None`
    /// without watches, or if the most certain draft has nothing to share.
    pub(super) fn together(&self) -> Option<FindingDraft> {
        let all = || self.0.values().map(|member| &member.found);
        let surest = all().min_by_key(|found| found.certainty.number())?;
        let worst = all().map(|found| found.severity).max()?;
        let shared = surest.shared.as_ref()?;
        let mut evidence: Vec<Seq> = all()
            .flat_map(|found| found.evidence.iter().copied())
            .collect();
        tree::sort(&mut evidence);
        evidence.dedup();
        if evidence.len() > MAX_EVIDENCE {
            evidence.drain(MAX_EVIDENCE - LAST_EVIDENCE..evidence.len() - LAST_EVIDENCE);
        }
        let lasts = all().any(|found| found.lasts == Lasts::UntilCleared);
        Some(FindingDraft {
            row: surest.row,
            alike: surest.alike,
            severity: worst,
            certainty: surest.certainty,
            subject: shared.subject.clone(),
            evidence,
            since: all().map(|found| found.since).min()?,
            summary: shared.summary.clone(),
            outcome: Some(self.outcome()),
            lasts: if lasts {
                Lasts::UntilCleared
            } else {
                Lasts::Happened
            },
            worsens: all()
                .filter_map(|found| found.worsens)
                .min_by_key(|(at, _)| *at),
            shared: None,
            fate: None,
        })
    }

    /// Returns the sentence with the number of these watches, and their outcomes.
    fn outcome(&self) -> String {
        let numbers = self.numbers();
        let watches = count_watches(numbers.watches);
        let (Some(resumed), Some(relisted)) = (numbers.resumed, numbers.relisted) else {
            let named: Vec<&str> = numbers
                .names
                .iter()
                .take(NAMED_MOST)
                .map(WatchName::as_str)
                .collect();
            let named_all = named.len() as u64 == numbers.watches;
            let rest = if named_all { "" } else { ", …" };
            return format!(" It concerns {watches}: {}{rest}.", named.join(", "));
        };
        let is_over =
            |member: &&Member| member.is_stopped && member.found.fate == Some(Fate::Blind);
        let stopped = self.0.values().filter(is_over).count() as u64;
        let blind = numbers.watches - resumed - relisted - stopped;
        let parts = [
            (blind, "not back yet"),
            (stopped, "stopped"),
            (relisted, "listed again and may have missed events"),
            (resumed, "resumed where they stopped"),
        ];
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts
            .map(|(number, words)| format!("{number} {words}"))
            .collect();
        format!(" Of {watches}: {}.", parts.join("; "))
    }
}

fn count_watches(number: u64) -> String {
    if number == 1 {
        "1 watch".to_owned()
    } else {
        format!("{number} watches")
    }
}
