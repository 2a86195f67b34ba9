//! The registry of findings: a finding is raised once, counted when it recurs, and cleared when it ends.

use std::collections::VecDeque;

use watchscope_model::tree::{BTreeMap, BTreeSet};
use watchscope_model::vocabulary::Standing;
use watchscope_model::{Event, Row, Seq, State, Time, WatchName};

use super::draft::{FindingDraft, Lasts, MAX_EVIDENCE, Subject, are_of_one_cause};
use super::entry::{Entry, QUIET_US, REPORTED_AGAIN_US, REPORTED_RARELY_US};
use super::members::Members;
use super::unread::Unread;
use crate::awake::Awake;

/// Most open findings. A further finding clears the least severe, with a record that says why. Of equally severe
/// findings, one of events is cleared before one of a lasting state, then the one that was quiet for longest. The limit
/// bounds the memory, and the work to find the next finding that is due. The number has no source.
pub const MAX_FINDINGS: usize = 1_024;

/// A finding's row and subject.
type Key = (Row, Subject);

/// All open findings, and the records about them that are due. [`MAX_FINDINGS`] bounds their number. A finding that
/// recurs is reported more and more rarely ([`REPORTED_AGAIN_US`]). At most one finding of each watch and row waits for
/// other watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct FindingRegistry {
    entries: BTreeMap<Key, Entry>,
    /// Findings of single watches that wait for other watches with the same cause.
    held: BTreeMap<(Row, WatchName), FindingDraft>,
    /// For each row and watch, the subject of the last finding about several watches that concerns this watch.
    wide: BTreeMap<(Row, WatchName), Subject>,
    /// Records that are due at once, each with its finding.
    out: VecDeque<(Standing, Entry)>,
    /// Items of lists that could not be read. Such items may explain a wrong object of a watch.
    pub(super) unread: Unread,
    /// A time at or before the time at which the first finding is due; `None` if none is.
    due: Option<Time>,
}

impl FindingRegistry {
    /// Returns the registry for a log that continues after a fold. Findings that are open in the fold are unknown to
    /// the registry.
    pub(super) fn since(state: &State) -> Self {
        Self {
            unread: Unread::since(state),
            ..Self::default()
        }
    }

    /// Adds a draft. If other watches may suffer from the same cause, the draft joins their finding or waits for them.
    pub(crate) fn raise(&mut self, found: FindingDraft, now: Time) {
        let (Some(shared), Subject::Watch(watch)) = (&found.shared, &found.subject) else {
            self.enter(found, now);
            return;
        };
        let held = (found.row, watch.clone());
        if self.held.contains_key(&held) {
            self.release(&held, now);
        }
        let key = (found.row, shared.subject.clone());
        if let Some(entry) = self.entries.get_mut(&key)
            && entry.members.is_of_cause(&found)
        {
            if entry.members.again(watch) {
                entry.count += 1;
                entry.news = Some(Standing::Raised);
            }
            self.wide.insert(held, key.1);
            entry.members.put(found);
            entry.last_at = now;
            entry.gather();
            let due = entry.due();
            self.wake(due);
            return;
        }
        let waits_until = shared.waits_until;
        self.held.insert(held.clone(), found);
        match waits_until {
            Some(_) => self.wake(waits_until),
            None => self.release(&held, now),
        }
    }

    /// Ends the wait of a finding: it becomes a finding of its watch alone, or of all watches with the same cause.
    fn release(&mut self, held: &(Row, WatchName), now: Time) {
        let Some(first) = self.held.remove(held) else {
            return;
        };
        let mut group = vec![first];
        while let Some(next) = self.next_of(held.0, &group) {
            group.push(next);
        }
        let alone = self.alone(held.0, &group);
        for (key, mut entry) in alone {
            let found = entry.found.clone();
            let is_of = |(_, other): &(Standing, Entry)| {
                other.found.row == key.0 && other.found.subject == key.1
            };
            let reported = self.out.len();
            self.out.retain(|waiting| !is_of(waiting));
            if self.out.len() == reported {
                // The last record that it names shows that it concerns several watches.
                let newest = group.iter().flat_map(|found| found.evidence.last()).max();
                entry.found.evidence = newest.into_iter().copied().collect();
                entry.over(
                    "Other watches have it from the same cause: see the finding that they share."
                        .to_owned(),
                );
                self.out.push_back((Standing::Cleared, entry));
            }
            group.push(found);
        }
        let Some(shared) = group.first().and_then(|found| found.shared.as_ref()) else {
            return;
        };
        if group.len() == 1 {
            self.wide.remove(held);
            for found in group {
                self.enter(found, now);
            }
            return;
        }
        let subject = shared.subject.clone();
        for found in &group {
            if let Subject::Watch(watch) = &found.subject {
                self.wide.insert((held.0, watch.clone()), subject.clone());
            }
        }
        let members = Members::of(group);
        if let Some(found) = members.together() {
            self.enter_with(found, members, now);
        }
    }

    /// Removes and returns a waiting finding with the same cause as one of a group; `None` if there is none.
    fn next_of(&mut self, row: Row, group: &[FindingDraft]) -> Option<FindingDraft> {
        let is_one = |found: &FindingDraft| {
            let mut group = group.iter();
            found.row == row && group.any(|other| are_of_one_cause(other, found))
        };
        let mut held = self.held.iter();
        let key = held.find(|(_, found)| is_one(found))?.0.clone();
        self.held.remove(&key)
    }

    /// Removes and returns the open findings of single watches with the same cause as one of a group. A finding of
    /// single events that had occurred before stays: it has other causes too.
    fn alone(&mut self, row: Row, group: &[FindingDraft]) -> Vec<(Key, Entry)> {
        let is_one = |entry: &Entry| {
            let mut group = group.iter();
            let lasts = entry.found.lasts == Lasts::UntilCleared;
            (entry.count == 1 || lasts)
                && group.any(|other| {
                    other.subject != entry.found.subject && are_of_one_cause(other, &entry.found)
                })
        };
        let of_row = self.entries.iter().filter(|((of, _), _)| *of == row);
        let keys: Vec<Key> = of_row
            .filter(|(_, entry)| is_one(entry))
            .map(|(key, _)| key.clone())
            .collect();
        let mut taken = Vec::new();
        for key in keys {
            if let Some(entry) = self.entries.remove(&key) {
                taken.push((key, entry));
            }
        }
        taken
    }

    fn enter(&mut self, found: FindingDraft, now: Time) {
        self.enter_with(found, Members::default(), now);
    }

    fn enter_with(&mut self, found: FindingDraft, members: Members, now: Time) {
        let key = (found.row, found.subject.clone());
        if let Some(entry) = self.entries.get_mut(&key) {
            let before = entry.members.clone();
            entry.occur(found, members, now);
            let due = entry.due();
            self.wake(due);
            self.forget_members(&key, &before);
            return;
        }
        if self.entries.len() == MAX_FINDINGS {
            self.make_room();
        }
        let mut found = found;
        found.evidence.truncate(MAX_EVIDENCE);
        let mut entry = Entry {
            greatest: found.weight(),
            found,
            members,
            count: 1,
            last_at: now,
            reported_at: now,
            reported: 0,
            rest_us: REPORTED_AGAIN_US,
            news: None,
        };
        self.out.push_back((Standing::Raised, entry.clone()));
        entry.reported = 1;
        let due = entry.due();
        self.wake(due);
        self.entries.insert(key, entry);
    }

    /// Forgets that watches belong to a finding, if the finding does not concern them any more.
    fn forget_members(&mut self, key: &Key, before: &Members) {
        let members = self.entries.get(key).map(|entry| &entry.members);
        for watch in before.watches() {
            let of = (key.0, watch.clone());
            let is_left = members.is_none_or(|members| !members.has(watch));
            if is_left && self.wide.get(&of) == Some(&key.1) {
                self.wide.remove(&of);
            }
        }
    }

    /// Changes the draft of a finding, if it is open.
    pub(crate) fn amend(
        &mut self,
        row: Row,
        subject: Subject,
        change: impl FnOnce(&mut FindingDraft),
    ) {
        if let Subject::Watch(watch) = &subject {
            let of = (row, watch.clone());
            if let Some(found) = self.held.get_mut(&of) {
                change(found);
                return;
            }
            let entry = self.wide.get(&of).and_then(|wide| {
                let key = (row, wide.clone());
                self.entries.get_mut(&key)
            });
            if let Some(entry) = entry {
                if let Some(found) = entry.members.get_mut(watch) {
                    change(found);
                    entry.gather();
                }
                let due = entry.due();
                self.wake(due);
                return;
            }
        }
        let Some(entry) = self.entries.get_mut(&(row, subject)) else {
            return;
        };
        change(&mut entry.found);
        entry.weigh(entry.found.weight());
        if entry.found.evidence.len() > MAX_EVIDENCE {
            entry.found.evidence.remove(1);
        }
        entry.news = entry.news.or(Some(Standing::Updated));
        let due = entry.due();
        self.wake(due);
    }

    /// Returns whether a finding is open, for a watch alone or together with others, or waits for other watches.
    pub(crate) fn stands(&self, row: Row, subject: Subject) -> bool {
        if let Subject::Watch(watch) = &subject {
            let of = (row, watch.clone());
            if self.held.contains_key(&of) || self.wide.contains_key(&of) {
                return true;
            }
        }
        self.entries.contains_key(&(row, subject))
    }

    /// Clears a finding because of a record. A finding about several watches is cleared with its last watch.
    pub(crate) fn clear(&mut self, row: Row, subject: Subject, by: Seq, why: &str) {
        if let Subject::Watch(watch) = &subject {
            let of = (row, watch.clone());
            if let Some(found) = self.held.get(&of) {
                let at = found.since;
                self.release(&of, at);
            }
            if let Some(wide) = self.wide.remove(&of) {
                let key = (row, wide);
                let Some(entry) = self.entries.get_mut(&key) else {
                    return;
                };
                let mut members = entry.members.clone();
                members.remove(watch);
                if members.is_empty() {
                    self.over(key, by, why);
                } else {
                    entry.members = members;
                    entry.gather();
                    let due = entry.due();
                    self.wake(due);
                }
            }
        }
        self.over((row, subject), by, why);
    }

    /// Removes a finding, and adds the record that the finding is cleared.
    fn over(&mut self, key: Key, by: Seq, why: &str) {
        let Some(mut entry) = self.entries.remove(&key) else {
            return;
        };
        self.forget_members(&key, &entry.members);
        entry.found.evidence = vec![by];
        entry.over(why.to_owned());
        self.out.push_back((Standing::Cleared, entry));
    }

    /// Clears all findings of a stopped watch. A finding about several watches stays open until the last of these
    /// watches is stopped.
    pub(crate) fn forget_watch(&mut self, watch: &WatchName, by: Seq) {
        /// The reason with which a finding about a stopped watch is cleared.
        const WHY: &str = "The watch was stopped.";
        let is_of = |of: &WatchName| of == watch;
        let held = self.held.keys().filter(|(_, of)| is_of(of));
        let wide = self.wide.keys().filter(|(_, of)| is_of(of));
        let alone = self.entries.keys().filter_map(|(row, subject)| {
            (*subject == Subject::Watch(watch.clone())).then_some(*row)
        });
        let rows = held.chain(wide).map(|(row, _)| *row).chain(alone);
        let rows: BTreeSet<Row> = rows.collect();
        for row in rows {
            let of = (row, watch.clone());
            if let Some(found) = self.held.get(&of) {
                let at = found.since;
                self.release(&of, at);
            }
            let wide = self.wide.get(&of).map(|wide| (row, wide.clone()));
            let entry = wide.as_ref().and_then(|key| self.entries.get_mut(key));
            match (wide.clone(), entry) {
                (Some(key), Some(entry)) if entry.found.lasts == Lasts::Happened => {
                    let was_blind = entry.members.is_blind(watch);
                    if entry.members.stop(watch) {
                        self.over(key, by, "The watches were stopped.");
                    } else if was_blind {
                        entry.gather();
                        let due = entry.due();
                        self.wake(due);
                    }
                    self.over((row, Subject::Watch(watch.clone())), by, WHY);
                }
                _ => self.clear(row, Subject::Watch(watch.clone()), by, WHY),
            }
        }
    }

    fn make_room(&mut self) {
        let least = self
            .entries
            .iter()
            .min_by_key(|(_, entry)| {
                let found = &entry.found;
                let lasts = found.lasts == Lasts::UntilCleared;
                (found.severity, lasts, entry.last_at)
            })
            .map(|(key, _)| key.clone());
        let least = least.and_then(|key| Some((self.entries.remove(&key)?, key)));
        if let Some((mut entry, key)) = least {
            self.forget_members(&key, &entry.members);
            entry.over(format!("More than {MAX_FINDINGS} findings are open."));
            self.out.push_back((Standing::Cleared, entry));
        }
    }

    fn wake(&mut self, due: Option<Time>) {
        self.due = [self.due, due].into_iter().flatten().min();
    }

    /// Returns when the next record is to be appended; a past time means now. `None` if no record is due.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        if self.out.is_empty() {
            self.due
        } else {
            Some(Time(i64::MIN))
        }
    }

    /// Appends the records that are due at `now`.
    pub(crate) fn take(&mut self, now: Time, awake: &Awake, out: &mut Vec<Event>) {
        let waits = |found: &FindingDraft| found.shared.as_ref()?.waits_until;
        let is_due = |found: &FindingDraft| waits(found).is_none_or(|until| until <= now);
        let due = self.held.iter().filter(|(_, found)| is_due(found));
        let due: Vec<_> = due.map(|(held, _)| held.clone()).collect();
        for held in due {
            self.release(&held, now);
        }
        let at_once = self.out.drain(..);
        out.extend(at_once.map(|(state, mut entry)| entry.event(state, awake)));
        if self.due.is_some_and(|due| due <= now) {
            let mut over = Vec::new();
            self.due = self.held.values().filter_map(waits).min();
            for (key, entry) in &mut self.entries {
                if entry.due().is_some_and(|due| due <= now) {
                    entry.worsen(now);
                    match entry.news.take() {
                        Some(state) => {
                            out.push(entry.event(state, awake));
                            entry.reported_at = now;
                            let rest_us = entry.rest_us * 2;
                            entry.rest_us = rest_us.clamp(REPORTED_AGAIN_US, REPORTED_RARELY_US);
                        }
                        None => over.push(key.clone()),
                    }
                }
                self.due = [self.due, entry.due()].into_iter().flatten().min();
            }
            for key in over {
                if let Some(mut entry) = self.entries.remove(&key) {
                    self.forget_members(&key, &entry.members);
                    let minutes = QUIET_US / 60_000_000;
                    entry.over(format!("It did not happen again for {minutes} minutes."));
                    out.push(entry.event(Standing::Cleared, awake));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use watchscope_model::vocabulary::{Certainty, Severity};

    use super::super::draft::BEHIND_LONG_US;
    use super::*;

    fn found(severity: Severity, watch: &str) -> FindingDraft {
        let subject = Subject::Watch(watch.into());
        let (sure, evidence) = (Certainty::Likely, vec![Seq(1)]);
        FindingDraft {
            severity,
            ..FindingDraft::of(Row::F24, sure, subject, evidence, Time(0), String::new())
        }
    }

    #[test]
    fn a_finding_that_turns_out_to_last_is_not_cleared_by_quiet() {
        let mut registry = FindingRegistry::default();
        let at = Time(0);
        registry.raise(found(Severity::Divergence, "*/pods"), at);
        registry.raise(
            found(Severity::Divergence, "*/pods").until_cleared(),
            Time(1),
        );
        let mut events = Vec::new();
        registry.take(Time(10 * QUIET_US), &Awake::default(), &mut events);
        assert!(registry.stands(Row::F24, Subject::Watch("*/pods".into())));
        assert_eq!(registry.entries.len(), 1);
    }

    #[test]
    fn the_most_severe_lasting_finding_is_dropped_last() {
        let mut registry = FindingRegistry::default();
        let ghost = found(Severity::Divergence, "ghost").until_cleared();
        registry.raise(ghost, Time(0));
        registry.raise(found(Severity::Divergence, "happened"), Time(1));
        for number in 2..MAX_FINDINGS {
            let watch = format!("watch-{number}");
            let at = i64::try_from(number).unwrap_or(i64::MAX);
            registry.raise(found(Severity::Note, &watch), Time(at));
        }
        let stands = |registry: &FindingRegistry, watch: &str| {
            registry.stands(Row::F24, Subject::Watch(watch.into()))
        };
        let last = Time(i64::try_from(MAX_FINDINGS).unwrap_or(i64::MAX));
        registry.raise(found(Severity::Note, "one more"), last);
        let left = ["ghost", "happened", "watch-2", "watch-3", "one more"];
        let left = left.map(|watch| stands(&registry, watch));
        assert_eq!(left, [true, true, false, true, true]);
    }

    #[test]
    fn a_lasting_finding_keeps_its_first_evidence_and_the_newest() {
        let mut registry = FindingRegistry::default();
        for seq in 1..=40 {
            let lasting = found(Severity::Error, "*/pods").until_cleared();
            let evidence = vec![Seq(seq)];
            registry.raise(
                FindingDraft {
                    evidence,
                    ..lasting
                },
                Time(0),
            );
        }
        let kept: Vec<u64> = registry
            .entries
            .values()
            .next()
            .map_or_else(Vec::new, |entry| {
                entry.found.evidence.iter().map(|seq| seq.0).collect()
            });
        assert_eq!(kept.len(), MAX_EVIDENCE);
        assert_eq!((kept[0], kept[1], kept[MAX_EVIDENCE - 1]), (1, 26, 40));
    }

    fn draft(severity: Severity, certainty: Certainty, summary: &str) -> FindingDraft {
        let found = found(severity, "*/pods");
        FindingDraft {
            certainty,
            summary: summary.to_owned(),
            alike: &[Row::F45],
            ..found
        }
    }

    /// Returns the records up to a moment: state, severity, certainty, count and sentence.
    fn take_records(registry: &mut FindingRegistry, now: Time) -> Vec<String> {
        let mut out = Vec::new();
        registry.take(now, &Awake::default(), &mut out);
        let line = |event: &Event| match event {
            Event::Finding(it) => format!(
                "{} {} of {} {} x{} {:?} {}",
                it.state,
                it.severity,
                it.worst.unwrap_or(it.severity),
                it.certainty,
                it.count.unwrap_or(0),
                it.evidence.iter().map(|seq| seq.0).collect::<Vec<_>>(),
                it.summary
            ),
            _ => String::new(),
        };
        out.iter().map(line).collect()
    }

    /// Returns an occurrence with a record of its own.
    fn occurrence(severity: Severity, number: u64) -> FindingDraft {
        let draft = draft(
            severity,
            Certainty::Definite,
            &format!("It went back {number}."),
        );
        FindingDraft {
            evidence: vec![Seq(number)],
            since: Time(i64::try_from(number).unwrap_or(0) * 1_000_000),
            ..draft
        }
    }

    #[test]
    fn a_lesser_sign_of_a_lasting_finding_is_counted_and_changes_no_sentence() {
        let mut registry = FindingRegistry::default();
        let ghost = draft(Severity::Divergence, Certainty::Likely, "A ghost.");
        registry.raise(ghost.until_cleared(), Time(0));
        let jump = draft(Severity::Warning, Certainty::Suspected, "A jump.");
        registry.raise(jump, Time(1));
        let hint = draft(Severity::Note, Certainty::Definite, "A hint.");
        registry.raise(hint, Time(2));
        insta::assert_snapshot!(take_records(&mut registry, Time(REPORTED_AGAIN_US)).join("\n"), @"
        raised divergence of divergence likely x1 [1] A ghost.
        raised divergence of divergence likely x3 [1] A ghost.
        ");
        let other = draft(Severity::Divergence, Certainty::Likely, "Another ghost.");
        registry.raise(other, Time(REPORTED_AGAIN_US));
        insta::assert_snapshot!(take_records(&mut registry, Time(4 * REPORTED_AGAIN_US)).join("\n"), @"raised divergence of divergence likely x4 [1] Another ghost.");
    }

    #[test]
    fn each_record_states_one_occurrence_and_for_how_many_others_it_stands() {
        let mut registry = FindingRegistry::default();
        let mut records = Vec::new();
        registry.raise(occurrence(Severity::Warning, 1), Time(0));
        records.extend(take_records(&mut registry, Time(0)));
        // Three within the wait for the next record: it reports the worst of them, and of equals the last.
        registry.raise(occurrence(Severity::Note, 2), Time(1));
        registry.raise(occurrence(Severity::Warning, 3), Time(2));
        registry.raise(occurrence(Severity::Note, 4), Time(3));
        records.extend(take_records(&mut registry, Time(REPORTED_AGAIN_US)));
        // A milder one is reported as it is, beside the worst severity so far.
        registry.raise(occurrence(Severity::Note, 5), Time(2 * REPORTED_AGAIN_US));
        records.extend(take_records(&mut registry, Time(4 * REPORTED_AGAIN_US)));
        insta::assert_snapshot!(records.join("\n"), @"
        raised warning of warning definite x1 [1] It went back 1.
        raised warning of warning definite x4 [3] It went back 3. And 2 others since 00:00:00 UTC.
        raised note of warning definite x5 [5] It went back 5.
        ");
    }

    #[test]
    fn an_outcome_replaces_the_one_before() {
        let mut registry = FindingRegistry::default();
        registry.raise(occurrence(Severity::Warning, 1), Time(0));
        let mut records = take_records(&mut registry, Time(0));
        let subject = Subject::Watch("*/pods".into());
        for outcome in [" It listed.", " It went on."] {
            registry.amend(Row::F24, subject.clone(), |found| {
                found.outcome = Some(outcome.to_owned());
                found.severity = Severity::Note;
            });
        }
        records.extend(take_records(&mut registry, Time(REPORTED_AGAIN_US)));
        insta::assert_snapshot!(records.join("\n"), @"
        raised warning of warning definite x1 [1] It went back 1.
        updated note of warning definite x1 [1] It went back 1. It went on.
        ");
    }

    #[test]
    fn a_finding_that_still_lasts_at_its_time_gets_worse() {
        let mut registry = FindingRegistry::default();
        let lag = draft(Severity::Warning, Certainty::Likely, "It is behind.");
        let late = Time(BEHIND_LONG_US);
        registry.raise(lag.note_until(late).until_cleared(), Time(0));
        let mut records = take_records(&mut registry, Time(0));
        assert_eq!(registry.wake_at(), Some(late));
        records.extend(take_records(&mut registry, late));
        insta::assert_snapshot!(records.join("\n"), @"
        raised note of note likely x1 [1] It is behind.
        updated warning of warning likely x1 [1] It is behind.
        ");
    }

    #[test]
    fn a_finding_that_gets_more_certain_or_worse_is_reported_at_once() {
        let mut registry = FindingRegistry::default();
        for second in 0..120 {
            let jump = draft(Severity::Warning, Certainty::Suspected, "a jump");
            registry.raise(jump, Time(second * 1_000_000));
            take_records(&mut registry, Time(second * 1_000_000));
        }
        let ghost = draft(Severity::Divergence, Certainty::Likely, "a ghost");
        let at = Time(121_000_000);
        registry.raise(ghost, at);
        assert!(registry.wake_at() <= Some(at));
        insta::assert_snapshot!(take_records(&mut registry, at).join("\n"), @"raised divergence of divergence likely x121 [1] a ghost And 56 others since 00:01:03 UTC.");
        let subject = Subject::Watch("*/pods".into());
        registry.amend(Row::F24, subject, |found| {
            found.certainty = Certainty::Definite;
            found.summary = "a ghost for sure".to_owned();
        });
        insta::assert_snapshot!(take_records(&mut registry, at).join("\n"), @"updated divergence of divergence definite x121 [1] a ghost for sure");
    }
}
