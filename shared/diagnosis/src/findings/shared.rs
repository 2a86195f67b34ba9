//! What several watches have of one cause, as one finding about what they share.

use watchscope_model::event::MAX_NAMES;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::{ConnectionId, Seq, State, Text, Time, WatchName};

use super::book::{Found, Lasts, MAX_EVIDENCE, Subject};

/// Of the evidence of many watches the first records stay, and so many of the last.
const LAST_EVIDENCE: usize = 4;
/// Most watches that a sentence names.
const SAID: usize = 3;

/// What became of a watch after its stream ended; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Its gap is open.
    Blind,
    /// It listed again, and the list showed changes that no stream delivered.
    Lost,
    /// It listed again, and no change showed.
    Relisted,
    /// It went on from its progress.
    Resumed,
}

/// Where a watch's requests go, and what it is of.
#[derive(Clone, Debug)]
pub(super) struct Place {
    connection: Option<ConnectionId>,
    /// The address that was reached.
    server: Option<Text>,
    group: Text,
    resource: Text,
}

impl Place {
    /// Where a watch's last request went; `None` of what is only asked to find out about a watch.
    pub(super) fn of(name: &WatchName, state: &State) -> Option<Self> {
        let watch = state.watches.get(name).filter(|_| !name.is_aside())?;
        let connection = watch.connection.and_then(|id| state.connections.get(&id));
        Some(Self {
            connection: watch.connection,
            server: connection
                .map(|connection| connection.remote.clone())
                .or_else(|| watch.server.clone()),
            group: watch.group.clone(),
            resource: watch.resource.clone(),
        })
    }

    /// The same, of a request that goes over a connection.
    pub(super) fn over(name: &WatchName, connection: ConnectionId, state: &State) -> Option<Self> {
        let place = Self::of(name, state)?;
        let opened = state.connections.get(&connection);
        Some(Self {
            connection: Some(connection),
            server: opened.map(|opened| opened.remote.clone()).or(place.server),
            ..place
        })
    }

    pub(super) fn connection(&self) -> Option<Subject> {
        let connection = self.connection?;
        Some(Subject::Connection(connection, self.server.clone()))
    }

    pub(super) fn server(&self) -> Option<Subject> {
        self.server.clone().map(Subject::Server)
    }

    /// The address that was reached.
    pub(super) fn address(&self) -> Option<&Text> {
        self.server.as_ref()
    }

    pub(super) fn type_there(&self) -> Subject {
        Subject::Type {
            group: self.group.clone(),
            resource: self.resource.clone(),
            server: self.server.clone(),
        }
    }

    /// `the server 10.0.0.1:6443`, as a sentence goes on with it.
    pub(super) fn server_words(&self) -> String {
        let server = self.server.as_ref();
        server.map_or_else(|| "the server".to_owned(), |it| format!("the server {it}"))
    }

    /// `widgets.example.com`.
    pub(super) fn type_words(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_string()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

/// What a watch shares with the others that the same cause may concern.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// A connection, a type at a server, a server, or the cluster.
    pub(crate) subject: Subject,
    /// What happened there, in a sentence without a watch.
    pub(crate) summary: String,
    /// What happened to two watches so close in time is of one cause, in microseconds.
    pub(crate) together_us: i64,
    /// Until when the finding waits for other watches, if it does.
    pub(crate) waits_until: Option<Time>,
}

/// A watch that a finding about several concerns.
#[derive(Clone, Debug)]
struct Member {
    found: Found,
    is_stopped: bool,
    /// The round in which it had this last: see [`Members::again`].
    round: u64,
}

/// How many watches a finding concerns, what became of them, and the worst of them by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) watches: u64,
    /// None where no gap belongs to it.
    pub(super) resumed: Option<u64>,
    pub(super) relisted: Option<u64>,
    /// At most [`MAX_NAMES`].
    pub(super) names: Vec<WatchName>,
}

/// The watches that one occurrence concerns: at most as many as there are; none where a finding is about one thing only.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(BTreeMap<WatchName, Member>);

impl Members {
    pub(super) fn of(all: Vec<Found>) -> Self {
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

    /// Adds a watch, or states anew what it has; a finding of something else than a watch is passed over.
    pub(super) fn put(&mut self, found: Found) {
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

    /// How often these watches have had it, together.
    fn round(&self) -> u64 {
        let rounds = self.0.values().map(|member| member.round);
        rounds.max().unwrap_or(1)
    }

    /// A watch has it again, if it is one of these. Returns whether that is another occurrence: the first watch to have it
    /// once more begins a round, and those that follow it belong to that.
    pub(super) fn again(&mut self, watch: &WatchName) -> bool {
        let latest = self.round();
        let Some(member) = self.0.get_mut(watch) else {
            return false;
        };
        member.round += 1;
        member.round > latest
    }

    /// Adds other watches of the same cause.
    pub(super) fn join(&mut self, others: Self) {
        for (watch, member) in others.0.into_iter() {
            self.0.insert(watch, member);
        }
    }

    pub(super) fn get_mut(&mut self, watch: &WatchName) -> Option<&mut Found> {
        self.0.get_mut(watch).map(|member| &mut member.found)
    }

    pub(super) fn remove(&mut self, watch: &WatchName) {
        self.0.remove(watch);
    }

    /// Whether the gap of a watch is open.
    pub(super) fn is_blind(&self, watch: &WatchName) -> bool {
        let member = self.0.get(watch);
        member.is_some_and(|member| member.found.fate == Some(Fate::Blind))
    }

    /// A watch was stopped: nothing more becomes of it. Returns whether all are.
    pub(super) fn stop(&mut self, watch: &WatchName) -> bool {
        if let Some(member) = self.0.get_mut(watch) {
            member.is_stopped = true;
            member.found.worsens = None;
        }
        self.0.values().all(|member| member.is_stopped)
    }

    /// What still lasts at a moment is worse from then on.
    pub(super) fn worsen(&mut self, now: Time) {
        for member in self.0.values_mut() {
            let found = &mut member.found;
            if let Some((_, severity)) = found.worsens.take_if(|(at, _)| *at <= now) {
                found.severity = severity;
            }
        }
    }

    /// Whether a finding of another watch is of the cause that these have.
    pub(super) fn is_of_cause(&self, other: &Found) -> bool {
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

    /// What they have together, as one finding: as bad as the worst of them, as sure as the surest.
    pub(super) fn together(&self) -> Option<Found> {
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
        Some(Found {
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

    /// How many they are, and what became of them.
    fn outcome(&self) -> String {
        let numbers = self.numbers();
        let watches = count_watches(numbers.watches);
        let (Some(resumed), Some(relisted)) = (numbers.resumed, numbers.relisted) else {
            let said: Vec<&str> = numbers
                .names
                .iter()
                .take(SAID)
                .map(WatchName::as_str)
                .collect();
            let said_all = said.len() as u64 == numbers.watches;
            let rest = if said_all { "" } else { ", …" };
            return format!(" It concerns {watches}: {}{rest}.", said.join(", "));
        };
        let is_over =
            |member: &&Member| member.is_stopped && member.found.fate == Some(Fate::Blind);
        let stopped = self.0.values().filter(is_over).count() as u64;
        let blind = numbers.watches - resumed - relisted - stopped;
        let parts = [
            (blind, "not back yet"),
            (stopped, "stopped"),
            (
                relisted,
                "listed again, what happened in between is not known",
            ),
            (resumed, "went on where they were"),
        ];
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts
            .map(|(number, words)| format!("{number} {words}"))
            .collect();
        format!(" Of {watches}: {}.", parts.join("; "))
    }
}

/// Whether what two watches have is of one cause: what both have still, or what happened to both at the same time.
pub(super) fn are_of_one_cause(one: &Found, other: &Found) -> bool {
    let lasts = |found: &Found| found.lasts == Lasts::UntilCleared;
    let (Some(of_one), Some(of_other)) = (&one.shared, &other.shared) else {
        return false;
    };
    let is_near = one.since.micros_since(other.since).abs() <= of_one.together_us;
    of_one.subject == of_other.subject && (is_near || lasts(one) && lasts(other))
}

fn count_watches(number: u64) -> String {
    if number == 1 {
        "1 watch".to_owned()
    } else {
        format!("{number} watches")
    }
}
