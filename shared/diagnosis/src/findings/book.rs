//! The findings that stand: raised once, counted when they recur, cleared when they are over.

use std::cmp::Reverse;
use std::collections::VecDeque;

use watchscope_model::event::Finding;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Certainty, Severity, Standing};
use watchscope_model::{Event, Seq, State, Text, Time, WatchName, catalogue};

use super::unread::Unread;
use super::words::{clock, count};
use crate::awake::Awake;
use crate::rows;

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
    pub(crate) code: &'static str,
    /// Other rows that look alike from here.
    pub(crate) alike: &'static [&'static str],
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
}

impl Found {
    /// Something that happened, as severe as its row, and like no other row.
    pub(crate) fn of(
        code: &'static str,
        certainty: Certainty,
        subject: Subject,
        evidence: Vec<Seq>,
        since: Time,
        summary: String,
    ) -> Self {
        Self {
            code,
            alike: &[],
            severity: rows::severity(code),
            certainty,
            subject,
            evidence,
            since,
            summary,
            outcome: None,
            lasts: Lasts::Happened,
            worsens: None,
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
    pub(crate) fn alike(self, alike: &'static [&'static str]) -> Self {
        Self { alike, ..self }
    }

    /// What is worse weighs more, and of what is as bad what is surer.
    fn weight(&self) -> Weight {
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
type Weight = (Severity, Reverse<u64>);

/// A finding that stands.
#[derive(Clone, Debug)]
struct Entry {
    /// The occurrence that the next record states.
    found: Found,
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
    fn occur(&mut self, found: Found, now: Time) {
        let (weight, was) = (found.weight(), self.found.weight());
        let is_lasting = self.found.lasts == Lasts::UntilCleared;
        if found.lasts == Lasts::UntilCleared {
            self.found.lasts = Lasts::UntilCleared;
        }
        if is_lasting || found.lasts == Lasts::UntilCleared {
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
            self.found.evidence.truncate(MAX_EVIDENCE);
        }
        self.weigh(weight);
        self.count += 1;
        self.last_at = now;
        self.news = Some(Standing::Raised);
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
        match &found.subject {
            Subject::Cluster => {}
            Subject::Watch(name) => watch = Some(name.clone()),
            Subject::Server(name) => server = Some(name.clone()),
            Subject::Client(name) => client = Some(name.clone()),
        }
        Finding {
            code: found.code.into(),
            candidates: found.alike.iter().map(|&code| code.into()).collect(),
            name: catalogue::name(found.code).unwrap_or_default().into(),
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
        }
        .into()
    }
}

/// All findings that stand, and what is to be told of them. Bounded by [`MAX_FINDINGS`]; each is told ever more rarely
/// while it recurs ([`TOLD_AGAIN_US`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    entries: BTreeMap<(&'static str, Subject), Entry>,
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

    /// Notes that something was found, again if it stands.
    pub(crate) fn raise(&mut self, found: Found, now: Time) {
        let key = (found.code, found.subject.clone());
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.occur(found, now);
            let due = entry.due();
            self.wake(due);
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

    /// Changes what is said of a finding that stands, if it does.
    pub(crate) fn amend(
        &mut self,
        code: &'static str,
        subject: Subject,
        change: impl FnOnce(&mut Found),
    ) {
        let Some(entry) = self.entries.get_mut(&(code, subject)) else {
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

    pub(crate) fn stands(&self, code: &'static str, subject: Subject) -> bool {
        self.entries.contains_key(&(code, subject))
    }

    /// A finding is over, because of a record.
    pub(crate) fn clear(&mut self, code: &'static str, subject: Subject, by: Seq, why: &str) {
        let Some(mut entry) = self.entries.remove(&(code, subject)) else {
            return;
        };
        entry.found.evidence = vec![by];
        entry.over(why.to_owned());
        self.out.push_back((Standing::Cleared, entry));
    }

    /// All findings of a watch are over, since it is.
    pub(crate) fn forget_watch(&mut self, watch: &WatchName, by: Seq) {
        let of_watch = |(code, subject): &(&'static str, Subject)| {
            (*subject == Subject::Watch(watch.clone())).then_some(*code)
        };
        let codes: Vec<&'static str> = self.entries.keys().filter_map(of_watch).collect();
        for code in codes {
            self.clear(
                code,
                Subject::Watch(watch.clone()),
                by,
                "The watch was stopped.",
            );
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
        if let Some(mut entry) = least.and_then(|key| self.entries.remove(&key)) {
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
        let at_once = self.out.drain(..);
        out.extend(at_once.map(|(state, mut entry)| entry.event(state, awake)));
        if self.due.is_some_and(|due| due <= now) {
            let mut over = Vec::new();
            self.due = None;
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
            ..Found::of("F24", sure, subject, evidence, Time(0), String::new())
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
        assert!(book.stands("F24", Subject::Watch("*/pods".into())));
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
        let stands = |book: &Book, watch: &str| book.stands("F24", Subject::Watch(watch.into()));
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
            alike: &["F45"],
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
            book.amend("F24", subject.clone(), |found| {
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
        book.amend("F24", subject, |found| {
            found.certainty = Certainty::Definite;
            found.summary = "a ghost for sure".to_owned();
        });
        insta::assert_snapshot!(told(&mut book, at).join("\n"), @"updated divergence of divergence definite x121 [1] a ghost for sure");
    }
}
