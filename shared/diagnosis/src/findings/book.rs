//! The findings that stand: raised once, counted when they recur, cleared when they are over.

use std::cmp::Reverse;
use std::collections::VecDeque;

use watchscope_model::event::Finding;
use watchscope_model::tree::{BTreeMap, BTreeSet};
use watchscope_model::vocabulary::{Certainty, Severity, Standing};
use watchscope_model::{ConnectionId, Event, Row, Seq, State, Text, Time, WatchName};

use super::shared::{Fate, Members, Shared, are_of_one_cause};
use super::unread::Unread;
use crate::awake::Awake;
use crate::text::{clock, count};

/// Most findings that stand. Past that, of the least severe, one that only happened is cleared before one that lasts, and
/// the one that was quiet for longest first, to make room for the next.
pub const MAX_FINDINGS: usize = 1_024;
/// Most records of evidence a finding names: the first, and the latest.
pub const MAX_EVIDENCE: usize = 16;
/// A finding that recurs is told again, with its count, after so long at the earliest, in microseconds; then after twice
/// as long, and so on up to [`TOLD_RARELY_US`]. One that becomes worse or surer is told at once.
pub const TOLD_AGAIN_US: i64 = 1_000_000;
/// The longest time in which a finding that recurs is not told, in microseconds.
pub const TOLD_RARELY_US: i64 = 60_000_000;
/// A lag that lasts longer is a warning, in microseconds: two periods of bookmarks.
pub(super) const BEHIND_LONG_US: i64 = 120_000_000;
/// A finding of something that happens and is over is cleared once it did not recur for so long, in microseconds.
pub const QUIET_US: i64 = 600_000_000;

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Cluster,
    Watch(WatchName),
    Server(Text),
    Client(Text),
    /// A connection, with the address that it leads to.
    Connection(ConnectionId, Option<Text>),
    /// A type at a server.
    Type {
        group: Text,
        resource: Text,
        server: Option<Text>,
    },
}

/// When a finding is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// After [`QUIET_US`] without another.
    Happened,
    /// When the detector says so.
    UntilCleared,
}

/// Something found, for the first time or again.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) row: Row,
    /// Other rows that look alike from here.
    pub(crate) alike: &'static [Row],
    pub(crate) severity: Severity,
    pub(crate) certainty: Certainty,
    pub(crate) subject: Subject,
    /// Records it rests on; not empty.
    pub(crate) evidence: Vec<Seq>,
    /// When this occurrence began.
    pub(crate) since: Time,
    pub(crate) summary: String,
    /// What became of it, in a sentence, once that is known.
    pub(crate) outcome: Option<String>,
    pub(crate) lasts: Lasts,
    /// How severe it is if its outcome is still not known at a moment.
    pub(crate) worsens: Option<(Time, Severity)>,
    /// What a watch shares with the others that the same cause may concern.
    pub(crate) shared: Option<Shared>,
    /// What became of the watch after its stream ended; none where no stream did.
    pub(crate) fate: Option<Fate>,
}

impl Found {
    /// Something that happened, as severe as its row, and like no other row.
    pub(crate) fn of(
        row: Row,
        certainty: Certainty,
        subject: Subject,
        evidence: Vec<Seq>,
        since: Time,
        summary: String,
    ) -> Self {
        Self {
            row,
            alike: &[],
            severity: row.usual_severity(),
            certainty,
            subject,
            evidence,
            since,
            summary,
            outcome: None,
            lasts: Lasts::Happened,
            worsens: None,
            shared: None,
            fate: None,
        }
    }

    /// A second read, or an event that another watch was delivered, proves that somebody holds what etcd does not.
    pub(crate) fn proven(self) -> Self {
        Self {
            severity: Severity::Divergence,
            ..self
        }
    }

    /// It is a note, and a warning if it still lasts at a moment.
    pub(crate) fn note_until(self, at: Time) -> Self {
        Self {
            severity: Severity::Note,
            worsens: Some((at, Severity::Warning)),
            ..self
        }
    }

    /// These rows look the same from here.
    pub(crate) fn alike(self, alike: &'static [Row]) -> Self {
        Self { alike, ..self }
    }

    /// The same, of a cause that other watches may have too.
    pub(crate) fn sharing(self, shared: Option<Shared>) -> Self {
        Self { shared, ..self }
    }

    /// What is worse weighs more, and of what is as bad what is surer.
    pub(super) fn weight(&self) -> Weight {
        (self.severity, Reverse(self.certainty.number()))
    }

    /// It lasts until its detector says otherwise.
    pub(crate) fn until_cleared(self) -> Self {
        Self {
            lasts: Lasts::UntilCleared,
            ..self
        }
    }
}

/// What is worse weighs more, and of what is as bad what is surer.
pub(super) type Weight = (Severity, Reverse<u64>);

/// A finding that stands.
#[derive(Clone, Debug)]
struct Entry {
    /// The occurrence that the next record states.
    found: Found,
    /// The watches that it concerns, if it is about what they share.
    members: Members,
    count: u64,
    /// The greatest weight it ever had: the worst severity, and how sure that was.
    greatest: Weight,
    last_at: Time,
    told_at: Time,
    /// How many occurrences the records so far stand for.
    told: u64,
    /// How long after that it may be told again: at once if it has become worse or surer.
    rest_us: i64,
    /// What has changed since it was told: nothing, or how it is to be told.
    news: Option<Standing>,
}

impl Entry {
    /// When something is to be done about it, if nothing else happens.
    fn due(&self) -> Option<Time> {
        let told = self.news.map(|_| self.told_at.plus_micros(self.rest_us));
        let over =
            (self.found.lasts == Lasts::Happened).then(|| self.last_at.plus_micros(QUIET_US));
        let worsens = self.found.worsens.map(|(at, _)| at);
        [told, over, worsens].into_iter().flatten().min()
    }

    /// It was found again. Of what happens again and again, the record states the worst occurrence that no record has
    /// stated, and of equals the last. Of what lasts it is one more sign, whose words count if it weighs as much.
    fn occur(&mut self, found: Found, members: Members, now: Time) {
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
                self.found = Found {
                    evidence,
                    since,
                    lasts: Lasts::UntilCleared,
                    ..found
                };
            }
        } else if self.told == self.count || weight >= was {
            self.found = found;
            self.members = members;
            self.found.evidence.truncate(MAX_EVIDENCE);
        }
        self.weigh(weight);
        self.count += 1;
        self.last_at = now;
        self.news = Some(Standing::Raised);
    }

    /// Something has changed with the watches that it concerns.
    fn gather(&mut self) {
        if let Some(found) = self.members.together() {
            self.found = found;
            self.weigh(self.found.weight());
            self.news = self.news.or(Some(Standing::Updated));
        }
    }

    /// A weight above all before is reported at once.
    fn weigh(&mut self, weight: Weight) {
        if weight > self.greatest {
            self.greatest = weight;
            self.rest_us = 0;
        }
    }

    /// It is over, for a reason.
    fn over(&mut self, why: String) {
        self.found.summary = why;
        self.found.outcome = None;
        self.found.worsens = None;
    }

    /// It still lasts: it is worse now.
    fn worsen(&mut self, now: Time) {
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

    /// Its next record, which states one occurrence, and for how many others it stands.
    fn event(&mut self, state: Standing, awake: &Awake) -> Event {
        let others = self.count.saturating_sub(self.told + 1);
        let mut summary = self.found.summary.clone();
        summary += self.found.outcome.as_deref().unwrap_or("");
        if others > 0 && self.found.lasts == Lasts::Happened {
            let since = clock(awake.logged(self.told_at));
            summary += &format!(" And {} since {since}.", count(others, "other"));
        }
        self.told = self.count;
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

/// A finding's row and what it is about.
type Key = (Row, Subject);

/// All findings that stand, and what is to be told of them. Bounded by [`MAX_FINDINGS`]; each is told ever more rarely
/// while it recurs ([`TOLD_AGAIN_US`]). Findings that wait for other watches of the same cause are at most one for each
/// watch and row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    entries: BTreeMap<Key, Entry>,
    /// Findings of watches that may turn out to have one cause with others.
    held: BTreeMap<(Row, WatchName), Found>,
    /// What a finding about several watches is about, by row and watch: the last that concerns the watch.
    wide: BTreeMap<(Row, WatchName), Subject>,
    /// Records that are due at once: how the finding stands, and its entry.
    out: VecDeque<(Standing, Entry)>,
    /// What may be why a watch holds something else than it should.
    pub(super) unread: Unread,
    /// No later than the first entry is due.
    due: Option<Time>,
}

impl Book {
    /// Goes on from a fold: what stood before is not known.
    pub(super) fn since(state: &State) -> Self {
        Self {
            unread: Unread::since(state),
            ..Self::default()
        }
    }

    /// Notes that something was found, again if it stands. What other watches may have of the same cause joins theirs, or
    /// waits for them.
    pub(crate) fn raise(&mut self, found: Found, now: Time) {
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

    /// A finding waits no longer: it is its watch's, or that of all who have it of the same cause.
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
            let told = self.out.len();
            self.out.retain(|waiting| !is_of(waiting));
            if self.out.len() == told {
                // The last of its records to be named: what shows that it is of several watches.
                let newest = group.iter().flat_map(|found| found.evidence.last()).max();
                entry.found.evidence = newest.into_iter().copied().collect();
                entry.over(
                    "Other watches have it of the same cause: see what they share.".to_owned(),
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

    /// A finding that is held for the cause of some others; it is held no longer.
    fn next_of(&mut self, row: Row, group: &[Found]) -> Option<Found> {
        let is_one = |found: &Found| {
            let mut group = group.iter();
            found.row == row && group.any(|other| are_of_one_cause(other, found))
        };
        let mut held = self.held.iter();
        let key = held.find(|(_, found)| is_one(found))?.0.clone();
        self.held.remove(&key)
    }

    /// Takes out findings of single watches that are of the cause of some others. One that occurred before stays: it is
    /// of more than this cause.
    fn alone(&mut self, row: Row, group: &[Found]) -> Vec<(Key, Entry)> {
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

    fn enter(&mut self, found: Found, now: Time) {
        self.enter_with(found, Members::default(), now);
    }

    fn enter_with(&mut self, found: Found, members: Members, now: Time) {
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
            told_at: now,
            told: 0,
            rest_us: TOLD_AGAIN_US,
            news: None,
        };
        self.out.push_back((Standing::Raised, entry.clone()));
        entry.told = 1;
        let due = entry.due();
        self.wake(due);
        self.entries.insert(key, entry);
    }

    /// Forgets of which finding some watches were, as far as it does not concern them any more.
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

    /// Changes what is said of a finding that stands, if it does.
    pub(crate) fn amend(&mut self, row: Row, subject: Subject, change: impl FnOnce(&mut Found)) {
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

    /// Whether a finding stands, of a watch alone or with others.
    pub(crate) fn stands(&self, row: Row, subject: Subject) -> bool {
        if let Subject::Watch(watch) = &subject {
            let of = (row, watch.clone());
            if self.held.contains_key(&of) || self.wide.contains_key(&of) {
                return true;
            }
        }
        self.entries.contains_key(&(row, subject))
    }

    /// A finding is over, because of a record. One that concerns several watches is over when it is of the last.
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

    /// A finding is over.
    fn over(&mut self, key: Key, by: Seq, why: &str) {
        let Some(mut entry) = self.entries.remove(&key) else {
            return;
        };
        self.forget_members(&key, &entry.members);
        entry.found.evidence = vec![by];
        entry.over(why.to_owned());
        self.out.push_back((Standing::Cleared, entry));
    }

    /// All findings of a watch are over, since it is. What it has with others goes on, until the last of them is stopped.
    pub(crate) fn forget_watch(&mut self, watch: &WatchName, by: Seq) {
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
            entry.over(format!("More than {MAX_FINDINGS} findings stand."));
            self.out.push_back((Standing::Cleared, entry));
        }
    }

    fn wake(&mut self, due: Option<Time>) {
        self.due = [self.due, due].into_iter().flatten().min();
    }

    /// When there is something to tell; the past means now.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        if self.out.is_empty() {
            self.due
        } else {
            Some(Time(i64::MIN))
        }
    }

    /// What is to be told at `now`.
    pub(crate) fn take(&mut self, now: Time, awake: &Awake, out: &mut Vec<Event>) {
        let waits = |found: &Found| found.shared.as_ref()?.waits_until;
        let is_due = |found: &Found| waits(found).is_none_or(|until| until <= now);
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
                            entry.told_at = now;
                            let rest_us = entry.rest_us * 2;
                            entry.rest_us = rest_us.clamp(TOLD_AGAIN_US, TOLD_RARELY_US);
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
    use super::*;

    fn found(severity: Severity, watch: &str) -> Found {
        let subject = Subject::Watch(watch.into());
        let (sure, evidence) = (Certainty::Likely, vec![Seq(1)]);
        Found {
            severity,
            ..Found::of(Row::F24, sure, subject, evidence, Time(0), String::new())
        }
    }

    #[test]
    fn what_happened_and_then_is_found_to_last_is_not_over_by_being_quiet() {
        let mut book = Book::default();
        let at = Time(0);
        book.raise(found(Severity::Divergence, "*/pods"), at);
        book.raise(
            found(Severity::Divergence, "*/pods").until_cleared(),
            Time(1),
        );
        let mut told = Vec::new();
        book.take(Time(10 * QUIET_US), &Awake::default(), &mut told);
        assert!(book.stands(Row::F24, Subject::Watch("*/pods".into())));
        assert_eq!(book.entries.len(), 1);
    }

    #[test]
    fn what_is_worst_and_lasts_is_the_last_to_make_room() {
        let mut book = Book::default();
        let ghost = found(Severity::Divergence, "ghost").until_cleared();
        book.raise(ghost, Time(0));
        book.raise(found(Severity::Divergence, "happened"), Time(1));
        for number in 2..MAX_FINDINGS {
            let watch = format!("watch-{number}");
            let at = i64::try_from(number).unwrap_or(i64::MAX);
            book.raise(found(Severity::Note, &watch), Time(at));
        }
        let stands = |book: &Book, watch: &str| book.stands(Row::F24, Subject::Watch(watch.into()));
        let last = Time(i64::try_from(MAX_FINDINGS).unwrap_or(i64::MAX));
        book.raise(found(Severity::Note, "one more"), last);
        let left = ["ghost", "happened", "watch-2", "watch-3", "one more"];
        let left = left.map(|watch| stands(&book, watch));
        assert_eq!(left, [true, true, false, true, true]);
    }

    #[test]
    fn what_lasts_keeps_its_first_evidence_and_the_newest() {
        let mut book = Book::default();
        for seq in 1..=40 {
            let lasting = found(Severity::Error, "*/pods").until_cleared();
            let evidence = vec![Seq(seq)];
            book.raise(
                Found {
                    evidence,
                    ..lasting
                },
                Time(0),
            );
        }
        let kept: Vec<u64> = book.entries.values().next().map_or_else(Vec::new, |entry| {
            entry.found.evidence.iter().map(|seq| seq.0).collect()
        });
        assert_eq!(kept.len(), MAX_EVIDENCE);
        assert_eq!((kept[0], kept[1], kept[MAX_EVIDENCE - 1]), (1, 26, 40));
    }

    fn said(severity: Severity, certainty: Certainty, summary: &str) -> Found {
        let found = found(severity, "*/pods");
        Found {
            certainty,
            summary: summary.to_owned(),
            alike: &[Row::F45],
            ..found
        }
    }

    /// What is told by a moment: how it stands, how bad and how sure it is, how often it was found, and the words.
    fn told(book: &mut Book, now: Time) -> Vec<String> {
        let mut out = Vec::new();
        book.take(now, &Awake::default(), &mut out);
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

    /// An occurrence of its own, with a record of its own.
    fn occurrence(severity: Severity, number: u64) -> Found {
        let said = said(
            severity,
            Certainty::Definite,
            &format!("It went back {number}."),
        );
        Found {
            evidence: vec![Seq(number)],
            since: Time(i64::try_from(number).unwrap_or(0) * 1_000_000),
            ..said
        }
    }

    #[test]
    fn of_what_lasts_a_sign_that_weighs_less_is_counted_and_changes_no_sentence() {
        let mut book = Book::default();
        let ghost = said(Severity::Divergence, Certainty::Likely, "A ghost.");
        book.raise(ghost.until_cleared(), Time(0));
        let jump = said(Severity::Warning, Certainty::Suspected, "A jump.");
        book.raise(jump, Time(1));
        let hint = said(Severity::Note, Certainty::Definite, "A hint.");
        book.raise(hint, Time(2));
        insta::assert_snapshot!(told(&mut book, Time(TOLD_AGAIN_US)).join("\n"), @"
        raised divergence of divergence likely x1 [1] A ghost.
        raised divergence of divergence likely x3 [1] A ghost.
        ");
        let other = said(Severity::Divergence, Certainty::Likely, "Another ghost.");
        book.raise(other, Time(TOLD_AGAIN_US));
        insta::assert_snapshot!(told(&mut book, Time(4 * TOLD_AGAIN_US)).join("\n"), @"raised divergence of divergence likely x4 [1] Another ghost.");
    }

    #[test]
    fn each_record_states_one_occurrence_and_for_how_many_others_it_stands() {
        let mut book = Book::default();
        let mut records = Vec::new();
        book.raise(occurrence(Severity::Warning, 1), Time(0));
        records.extend(told(&mut book, Time(0)));
        // Three within the pause before the next record: the worst of them is stated, of equals the last.
        book.raise(occurrence(Severity::Note, 2), Time(1));
        book.raise(occurrence(Severity::Warning, 3), Time(2));
        book.raise(occurrence(Severity::Note, 4), Time(3));
        records.extend(told(&mut book, Time(TOLD_AGAIN_US)));
        // A milder one is stated as it is, and the worst so far is known beside it.
        book.raise(occurrence(Severity::Note, 5), Time(2 * TOLD_AGAIN_US));
        records.extend(told(&mut book, Time(4 * TOLD_AGAIN_US)));
        insta::assert_snapshot!(records.join("\n"), @"
        raised warning of warning definite x1 [1] It went back 1.
        raised warning of warning definite x4 [3] It went back 3. And 2 others since 00:00:00 UTC.
        raised note of warning definite x5 [5] It went back 5.
        ");
    }

    #[test]
    fn an_outcome_takes_the_place_of_the_one_before() {
        let mut book = Book::default();
        book.raise(occurrence(Severity::Warning, 1), Time(0));
        let mut records = told(&mut book, Time(0));
        let subject = Subject::Watch("*/pods".into());
        for outcome in [" It listed.", " It went on."] {
            book.amend(Row::F24, subject.clone(), |found| {
                found.outcome = Some(outcome.to_owned());
                found.severity = Severity::Note;
            });
        }
        records.extend(told(&mut book, Time(TOLD_AGAIN_US)));
        insta::assert_snapshot!(records.join("\n"), @"
        raised warning of warning definite x1 [1] It went back 1.
        updated note of warning definite x1 [1] It went back 1. It went on.
        ");
    }

    #[test]
    fn what_still_lasts_at_a_moment_is_worse_from_then_on() {
        let mut book = Book::default();
        let lag = said(Severity::Warning, Certainty::Likely, "It is behind.");
        let late = Time(BEHIND_LONG_US);
        book.raise(lag.note_until(late).until_cleared(), Time(0));
        let mut records = told(&mut book, Time(0));
        assert_eq!(book.wake_at(), Some(late));
        records.extend(told(&mut book, late));
        insta::assert_snapshot!(records.join("\n"), @"
        raised note of note likely x1 [1] It is behind.
        updated warning of warning likely x1 [1] It is behind.
        ");
    }

    #[test]
    fn what_gets_surer_or_worse_is_told_at_once() {
        let mut book = Book::default();
        for second in 0..120 {
            let jump = said(Severity::Warning, Certainty::Suspected, "a jump");
            book.raise(jump, Time(second * 1_000_000));
            told(&mut book, Time(second * 1_000_000));
        }
        let ghost = said(Severity::Divergence, Certainty::Likely, "a ghost");
        let at = Time(121_000_000);
        book.raise(ghost, at);
        assert!(book.wake_at() <= Some(at));
        insta::assert_snapshot!(told(&mut book, at).join("\n"), @"raised divergence of divergence likely x121 [1] a ghost And 56 others since 00:01:03 UTC.");
        let subject = Subject::Watch("*/pods".into());
        book.amend(Row::F24, subject, |found| {
            found.certainty = Certainty::Definite;
            found.summary = "a ghost for sure".to_owned();
        });
        insta::assert_snapshot!(told(&mut book, at).join("\n"), @"updated divergence of divergence definite x121 [1] a ghost for sure");
    }
}
