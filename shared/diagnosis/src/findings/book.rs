//! The findings that stand: raised once, counted when they recur, cleared when they are over.

use std::cmp::Reverse;
use std::collections::VecDeque;

use watchscope_model::event::Finding;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Certainty, Severity, Standing};
use watchscope_model::{Event, Seq, State, Text, Time, WatchName, catalogue};

use super::unread::Unread;
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
    pub(crate) since: Time,
    pub(crate) summary: String,
    pub(crate) lasts: Lasts,
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
            lasts: Lasts::Happened,
        }
    }

    /// These rows look the same from here.
    pub(crate) fn alike(self, alike: &'static [&'static str]) -> Self {
        Self { alike, ..self }
    }

    /// What is worse weighs more, and of what is as bad what is surer.
    fn weight(&self) -> (Severity, Reverse<u64>) {
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

/// A finding that stands.
#[derive(Clone, Debug)]
struct Entry {
    found: Found,
    count: u64,
    last_at: Time,
    told_at: Time,
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
        [told, over].into_iter().flatten().min()
    }

    fn event(&self, state: Standing) -> Event {
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
            summary: found.summary.clone(),
            client,
            count: Some(self.count),
            since: Some(found.since),
        }
        .into()
    }
}

/// All findings that stand, and what is to be told of them. Bounded by [`MAX_FINDINGS`]; each is told ever more rarely
/// while it recurs ([`TOLD_AGAIN_US`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    entries: BTreeMap<(&'static str, Subject), Entry>,
    out: VecDeque<Event>,
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
            let old = &mut entry.found;
            for seq in &found.evidence {
                if !old.evidence.contains(seq) {
                    old.evidence.push(*seq);
                }
            }
            while old.evidence.len() > MAX_EVIDENCE {
                old.evidence.remove(1);
            }
            let (weight, was) = (found.weight(), old.weight());
            if found.lasts == Lasts::UntilCleared {
                old.lasts = Lasts::UntilCleared;
            }
            // What weighs less is one more sign of it; its words would take the place of better ones.
            if weight >= was {
                old.summary = found.summary;
                old.severity = found.severity;
                old.certainty = found.certainty;
                old.alike = found.alike;
            }
            if weight > was {
                entry.rest_us = 0;
            }
            entry.count += 1;
            entry.last_at = now;
            entry.news = Some(Standing::Raised);
            let due = entry.due();
            self.wake(due);
            return;
        }
        if self.entries.len() == MAX_FINDINGS {
            self.make_room();
        }
        let mut found = found;
        found.evidence.truncate(MAX_EVIDENCE);
        let entry = Entry {
            found,
            count: 1,
            last_at: now,
            told_at: now,
            rest_us: TOLD_AGAIN_US,
            news: None,
        };
        self.out.push_back(entry.event(Standing::Raised));
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
        let was = entry.found.weight();
        change(&mut entry.found);
        if entry.found.weight() > was {
            entry.rest_us = 0;
        }
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
        entry.found.summary = why.to_owned();
        self.out.push_back(entry.event(Standing::Cleared));
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
            entry.found.summary = format!("More than {MAX_FINDINGS} findings stand.");
            self.out.push_back(entry.event(Standing::Cleared));
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
    pub(crate) fn take(&mut self, now: Time, out: &mut Vec<Event>) {
        if self.due.is_some_and(|due| due <= now) {
            let mut over = Vec::new();
            self.due = None;
            for (key, entry) in &mut self.entries {
                if entry.due().is_some_and(|due| due <= now) {
                    match entry.news.take() {
                        Some(state) => {
                            entry.told_at = now;
                            let rest_us = entry.rest_us * 2;
                            entry.rest_us = rest_us.clamp(TOLD_AGAIN_US, TOLD_RARELY_US);
                            self.out.push_back(entry.event(state));
                        }
                        None => over.push(key.clone()),
                    }
                }
                self.due = [self.due, entry.due()].into_iter().flatten().min();
            }
            for key in over {
                if let Some(mut entry) = self.entries.remove(&key) {
                    let minutes = QUIET_US / 60_000_000;
                    entry.found.summary = format!("It did not happen again for {minutes} minutes.");
                    self.out.push_back(entry.event(Standing::Cleared));
                }
            }
        }
        out.extend(self.out.drain(..));
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
        book.take(Time(10 * QUIET_US), &mut told);
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
    fn what_recurs_keeps_its_first_evidence_and_the_newest() {
        let mut book = Book::default();
        for seq in 1..=40 {
            let evidence = vec![Seq(seq)];
            let (watch, at) = (Subject::Watch("*/pods".into()), Time(0));
            let found = Found::of(
                "F29",
                Certainty::Definite,
                watch,
                evidence,
                at,
                String::new(),
            );
            book.raise(found, at);
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
        book.take(now, &mut out);
        let line = |event: &Event| match event {
            Event::Finding(it) => format!(
                "{} {} {} x{} {}",
                it.state,
                it.severity,
                it.certainty,
                it.count.unwrap_or(0),
                it.summary
            ),
            _ => String::new(),
        };
        out.iter().map(line).collect()
    }

    #[test]
    fn what_is_less_sure_or_less_severe_is_counted_and_changes_no_sentence() {
        let mut book = Book::default();
        let ghost = said(Severity::Divergence, Certainty::Likely, "a ghost");
        book.raise(ghost, Time(0));
        let jump = said(Severity::Warning, Certainty::Suspected, "a jump");
        book.raise(jump, Time(1));
        let hint = said(Severity::Note, Certainty::Definite, "a hint");
        book.raise(hint, Time(2));
        insta::assert_snapshot!(told(&mut book, Time(TOLD_AGAIN_US)).join("\n"), @r"
raised divergence likely x1 a ghost
raised divergence likely x3 a ghost
");
        let other = said(Severity::Divergence, Certainty::Likely, "another ghost");
        book.raise(other, Time(TOLD_AGAIN_US));
        insta::assert_snapshot!(told(&mut book, Time(4 * TOLD_AGAIN_US)).join("\n"), @"raised divergence likely x4 another ghost");
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
        insta::assert_snapshot!(told(&mut book, at).join("\n"), @"raised divergence likely x121 a ghost");
        let subject = Subject::Watch("*/pods".into());
        book.amend("F24", subject, |found| {
            found.certainty = Certainty::Definite;
            found.summary = "a ghost for sure".to_owned();
        });
        insta::assert_snapshot!(told(&mut book, at).join("\n"), @"updated divergence definite x121 a ghost for sure");
    }
}
