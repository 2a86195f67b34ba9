//! The findings as a list to read: open ones, most severe first; cleared ones; muted ones. Times are on the log's
//! clock.

use watchscope_model::event::Finding;
use watchscope_model::fold::OpenFinding;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::{Certainty, Severity};
use watchscope_model::{Event, Row, Seq, State, Text, Time, WatchName};

use crate::format::{clock, count, duration, number};
use crate::id::{LaneId, RecordId};
use crate::store::{Epoch, Known, Store};

/// The longest wait of a watch that does not count as trouble, in µs: 5 s. A longer wait is trouble, even without a
/// finding. A backoff exceeds 5 s at the third or fourth failure in a row (docs/semantics/clients.md#reflector). The
/// number has no other source.
pub(crate) const LONG_WAIT_US: i64 = 5_000_000;

/// Most cleared findings that are listed, the newest first, so that the list stays short. Older cleared findings are
/// only counted. The number has no source.
pub const MAX_OVER: usize = 100;
/// Most muted findings, because a page stores them. One more mute removes the oldest mute. Muting a finding again makes
/// its mute the newest. The number has no source.
pub const MAX_MUTED: usize = 256;
/// Most banners that are remembered as read, because a page stores them. Reading one more forgets the one read first,
/// whose banner may then show again if its finding is still open. The number has no source.
const MAX_READ: usize = 16;
/// Longest reason for a mute, in characters, so that a page stores at most 51,200 characters of reasons. A longer
/// reason is cut at this length. The number has no other source.
pub const MAX_REASON_CHARS: usize = 200;

/// The open findings of one row of the catalogue, each about another subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The code of the row of the failure catalogue: `F11`.
    pub code: Text,
    /// The name of the row of the failure catalogue.
    pub name: Text,
    /// The worst [severity](Item::severity) of the items.
    pub severity: Severity,
    /// The sum of the [counts](Item::count) of the items.
    pub count: u64,
    /// The number of subjects, with a noun: `60 clients`, or `3 places` for subjects of several kinds; `None` for one
    /// subject.
    pub places: Option<String>,
    /// One item for each subject, by falling `since`, then by key; never empty. The number of open findings bounds the
    /// items.
    pub items: Vec<Item>,
}

/// An open finding about one subject. A clearing ends it; raised again, it begins with a new count and worst severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Code and subject, `F11 shop/pods`, or the code and a space without a subject. It is the finding's key in the
    /// fold, by which it is also muted. Hostile: show as text.
    pub key: Text,
    /// The finding's subject in words, as `Finding::subject` returns it; `CLIENT, WATCH` if the finding names both, and
    /// `the cluster` if it names no subject. Hostile: show as text.
    pub subject: String,
    /// The finding's worst severity so far, since its last clearing.
    pub severity: Severity,
    /// How certain the finding is, by its last record.
    pub certainty: Certainty,
    /// How many times the finding has occurred so far, since its last clearing.
    pub count: u64,
    /// When the last occurrence began, as its record states it; if the record does not, when the occurrence was raised.
    pub since: Time,
    /// What happened then, in words. Hostile: show as text.
    pub summary: String,
    /// The watches that the finding concerns, if it is about several: `a/pods, b/pods and 8 more`; else empty. At most
    /// 16 are named. Hostile: show as text.
    pub watches: String,
    /// Codes of other catalogue rows that would look the same in the log: `F25, F26`; empty if there are none.
    pub alike: String,
    /// The records of the last occurrence's evidence, in the order in which its record names them. `diagnosis` names at
    /// most 16; the list may be empty.
    pub evidence: Vec<RecordId>,
    /// When the finding was first raised since it was last cleared.
    pub first: Time,
    /// The record that raised the last occurrence, which `summary`, `since` and `evidence` describe.
    pub raised: RecordId,
}

impl Item {
    /// Returns `likely · since 09:31:22 · or F25, F26`. A finding that occurred more than once gives `likely · 4 times
    /// since 09:31:22, last at 09:40:00`. The first time is `first`, or `since` if that is earlier; the last time is
    /// `since`. `last at` is left out if both are the same in seconds, and `or` if `alike` is empty. Times are UTC
    /// times of day.
    #[must_use]
    pub fn particulars(&self) -> String {
        let mut words = self.certainty.to_string();
        if self.count > 1 {
            let (times, first) = (number(self.count), self.first.min(self.since));
            words += &format!(" · {times} times since {}", clock(first));
            if self.since > first && clock(self.since) != clock(first) {
                words += &format!(", last at {}", clock(self.since));
            }
        } else {
            words += &format!(" · since {}", clock(self.since));
        }
        if !self.alike.is_empty() {
            words += &format!(" · or {}", self.alike);
        }
        words
    }
}

/// A finding that a record cleared; the record is loaded, or was. A finding cleared several times has one entry. The
/// finding may be open again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Code and subject, as in [`Item::key`]: `F08 shop/pods`. Hostile: show as text.
    pub key: Text,
    /// The code of the finding's catalogue row: `F08`.
    pub code: Text,
    /// The name of the finding's row in the failure catalogue.
    pub name: Text,
    /// The finding's worst severity in the last time span in which it was open, up to its clearing.
    pub severity: Severity,
    /// The finding's subject, as `Finding::subject` returns it; `the cluster` if the finding names no subject. Hostile:
    /// show as text.
    pub subject: String,
    /// How many such records cleared the finding; at least 1.
    pub times: u64,
    /// The last time span from a first raising to a clearing: when the finding was raised, and when it was cleared.
    pub stood: (Time, Time),
    /// What happened at the finding's last occurrence before its last clearing, in words. Hostile: show as text.
    pub summary: String,
    /// The record that raised the finding's last occurrence before its last clearing.
    pub raised: RecordId,
}

/// A muted finding with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutedItem {
    /// Code and subject, as in [`Item::key`]. The finding need not exist. Hostile: show as text.
    pub key: Text,
    /// The viewer's reason for the mute, of at most [`MAX_REASON_CHARS`] characters; may be empty.
    pub reason: String,
    /// Whether the muted finding is open, now or at the moment of the list.
    pub stands: bool,
}

/// The whole list of findings, now or as of a moment. Each open finding has one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// Open findings that are not muted, in groups: by falling severity, then by falling `since` of their newest item,
    /// then by code. Empty if there are none.
    pub standing: Vec<Group>,
    /// Muted findings, the oldest mute first, at most [`MAX_MUTED`].
    pub muted: Vec<MutedItem>,
    /// Cleared findings, muted ones too, by falling time of clearing, then by key, at most [`MAX_OVER`].
    pub over: Vec<Over>,
    /// How many more cleared findings `over` leaves out; 0 if it has all.
    pub over_more: u64,
}

/// The count of open findings that are not muted. Findings of one row of the catalogue count as one, however many
/// subjects they have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many rows of the catalogue have an open finding that is not muted.
    pub groups: u64,
    /// The worst severity that any open, not muted finding has had; `None` if there is no such finding.
    pub worst: Option<Severity>,
    /// The number of rows of each severity, the most severe first, and the number of subjects if it is greater than
    /// that of rows: `1 error, 2 warnings · 60 clients`. Empty if `groups` is 0.
    pub words: String,
}

/// Counts the open findings that are not muted, now or as of a moment. Before the first snapshot the count is 0.
#[must_use]
pub fn tally(known: Known<'_>, muted: &Muted) -> Tally {
    let mut groups: BTreeMap<&Text, Severity> = BTreeMap::new();
    let mut of = Places::default();
    for (_, open) in standing(known.state, muted) {
        let finding = &open.finding;
        let group = groups
            .entry(&finding.code)
            .or_insert(finding.worst_severity());
        *group = group.worse(finding.worst_severity());
        of.add(finding);
    }
    let counted = Severity::RISING.iter().rev().filter_map(|&severity| {
        let of_it = groups.values().filter(|&&of| of == severity).count() as u64;
        (of_it > 0).then(|| count(of_it, severity.word()))
    });
    let words = counted.collect::<Vec<_>>().join(", ");
    let total = groups.len() as u64;
    Tally {
        groups: total,
        worst: groups.values().copied().reduce(Severity::worse),
        words: match of.words() {
            Some(places) if of.total > total => format!("{words} · {places}"),
            _ => words,
        },
    }
}

/// The number of subjects of findings, and the noun for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    total: u64,
    noun: Option<&'static str>,
}

impl Places {
    pub(crate) fn add(&mut self, finding: &Finding) {
        let nouns = [
            ("client", finding.client.is_some()),
            ("watch", finding.watch.is_some()),
            ("connection", finding.connection.is_some()),
            ("type", finding.resource.is_some()),
            ("server", finding.server.is_some()),
        ];
        let noun = nouns.iter().find(|(_, is_named)| *is_named);
        let noun = noun.map_or("place", |(noun, _)| noun);
        self.total += 1;
        self.noun = Some(match self.noun {
            Some(known) if known != noun => "place",
            _ => noun,
        });
    }

    /// Returns `60 clients`, or `3 places` if the subjects are of several kinds; `None` if there is at most one
    /// subject.
    pub(crate) fn words(self) -> Option<String> {
        let noun = self.noun.filter(|_| self.total > 1)?;
        Some(count(self.total, noun))
    }
}

/// Returns the open findings that are not muted, in the order of their keys.
fn standing<'a>(
    state: Option<&'a State>,
    muted: &'a Muted,
) -> impl Iterator<Item = (&'a Text, &'a OpenFinding)> {
    let all = state.into_iter().flat_map(|state| &state.findings);
    all.filter(|(key, _)| !muted.has(key))
}

/// Returns the list of findings, now or as of a moment. Before the first snapshot it has no open findings.
#[must_use]
pub fn board(known: Known<'_>, muted: &Muted) -> Board {
    let epoch = known.epoch;
    let mut groups: BTreeMap<Text, Group> = BTreeMap::new();
    let mut places: BTreeMap<Text, Places> = BTreeMap::new();
    let state = known.state;
    for (key, open) in standing(state, muted) {
        let finding = &open.finding;
        let group = groups.entry(finding.code.clone()).or_insert_with(|| Group {
            code: finding.code.clone(),
            name: finding.name.clone(),
            severity: finding.worst_severity(),
            count: 0,
            places: None,
            items: Vec::new(),
        });
        let of = places.entry(finding.code.clone()).or_default();
        of.add(finding);
        group.places = of.words();
        group.severity = group.severity.worse(finding.worst_severity());
        group.count += open.count;
        let record = |&seq| RecordId { epoch, seq };
        let codes: Vec<&str> = finding.candidates.iter().map(|code| &**code).collect();
        group.items.push(Item {
            key: key.clone(),
            subject: subject(finding),
            severity: finding.worst_severity(),
            certainty: finding.certainty,
            count: open.count,
            since: finding.since.unwrap_or(open.raised().at),
            summary: finding.summary.clone(),
            watches: watches_of(finding).unwrap_or_default(),
            alike: codes.join(", "),
            evidence: finding.evidence.iter().map(record).collect(),
            first: open.since.at,
            raised: record(&open.raised().seq),
        });
    }
    let mut standing_groups: Vec<Group> = groups.into_values().collect();
    for group in &mut standing_groups {
        tree::sort_by(&mut group.items, |a, b| {
            b.since.cmp(&a.since).then_with(|| a.key.cmp(&b.key))
        });
    }
    tree::sort_by(&mut standing_groups, |a, b| {
        let newest = |group: &Group| group.items.first().map(|item| item.since);
        b.severity
            .rank()
            .cmp(&a.severity.rank())
            .then_with(|| newest(b).cmp(&newest(a)))
            .then_with(|| a.code.cmp(&b.code))
    });
    let (over, over_more) = over(known);
    Board {
        standing: standing_groups,
        muted: muted
            .findings
            .iter()
            .map(|(key, reason)| MutedItem {
                key: key.clone(),
                reason: reason.clone(),
                stands: state.is_some_and(|state| state.findings.contains_key(key)),
            })
            .collect(),
        over,
        over_more,
    }
}

/// Returns the cleared findings of loaded records, the last cleared first, at most [`MAX_OVER`], and the number of
/// further ones.
fn over(known: Known<'_>) -> (Vec<Over>, u64) {
    // A tree in a browser too, where `tree::BTreeMap` is a sorted list: there may be thousands of entries.
    let mut found: std::collections::BTreeMap<Text, Over> = std::collections::BTreeMap::new();
    for epoch in known.epochs() {
        for span in epoch.trace.findings.all() {
            let Some(end) = span.end.filter(|end| end.seq <= known.until_in(epoch)) else {
                continue;
            };
            let what = &span.what;
            let key = Finding::key_of(&what.code, what.subject.as_ref());
            let times = found.get(&key).map_or(0, |over| over.times);
            // Spans come oldest first, so the last one stays.
            let over = Over {
                key: key.clone(),
                code: what.code.clone(),
                name: what.name.clone(),
                severity: what.severity,
                subject: named(what.subject.as_ref()),
                times: times + 1,
                stood: (span.start.at, end.at),
                summary: what.summary.clone(),
                raised: RecordId {
                    epoch: epoch.number(),
                    seq: what.raised,
                },
            };
            found.insert(key, over);
        }
    }
    let mut all: Vec<Over> = found.into_values().collect();
    tree::sort_by(&mut all, |a, b| {
        b.stood.1.cmp(&a.stood.1).then_with(|| a.key.cmp(&b.key))
    });
    let more = all.len().saturating_sub(MAX_OVER) as u64;
    all.truncate(MAX_OVER);
    (all, more)
}

/// The subject, in words, of a finding that names no subject. Such a finding is about the whole cluster.
const CLUSTER: &str = "the cluster";

fn subject(finding: &Finding) -> String {
    match (&finding.watch, &finding.client) {
        (Some(watch), Some(client)) => format!("{client}, {watch}"),
        _ => named(finding.subject().as_ref()),
    }
}

/// Returns the subject of a finding in words.
pub(crate) fn named(subject: Option<&Text>) -> String {
    subject.map_or(CLUSTER, |subject| subject).to_owned()
}

/// Returns whether the finding that a record raised was open, cleared or not raised yet at a moment, as a sentence. Of
/// a finding that was open when an earlier epoch ended, the sentence says that. For a record of an epoch that is
/// unknown at that moment, the sentence is `Not raised yet.`, too. Returns `None` if the record raised no finding, or
/// no loaded chapter shows that it did.
#[must_use]
pub fn stood(known: Known<'_>, raised: RecordId) -> Option<String> {
    let mut runs = known.epochs().iter();
    let Some(epoch) = runs.find(|epoch| epoch.number() == raised.epoch) else {
        return Some("Not raised yet.".to_owned());
    };
    let occurrence = epoch.trace.occurrences.get(raised.seq)?;
    let span = epoch.trace.findings.get(occurrence.what.since)?;
    let until = known.until_in(epoch);
    if span.start.seq > until {
        return Some("Not raised yet.".to_owned());
    }
    let lasted = |to: Time| duration(to.micros_since(span.start.at));
    let is_of_run = epoch.number() == known.epoch;
    Some(match span.end.filter(|end| end.seq <= until) {
        Some(end) => format!("Cleared at {}, after {}.", clock(end.at), lasted(end.at)),
        None if is_of_run => format!("Open for {}.", lasted(known.at)),
        None => "Open when that run of watchscope ended; since then not known.".to_owned(),
    })
}

/// Returns the records that raised the occurrences of one finding (code and subject), in all epochs, the oldest first.
/// Only occurrences count that were raised in a loaded chapter, or were open at its begin. `raised` is one of these
/// records. The result is empty if `raised` raised no finding, or no loaded chapter shows that it did.
#[must_use]
pub fn occurrences(store: &Store, raised: RecordId) -> Vec<RecordId> {
    let subject = |epoch: &Epoch, since: Seq| {
        let stands = epoch.trace.findings.get(since);
        stands.and_then(|stands| stands.what.subject.clone())
    };
    let of = store.epoch(raised.epoch).and_then(|epoch| {
        let what = &epoch.trace.occurrences.get(raised.seq)?.what;
        Some((what.code.clone(), subject(epoch, what.since)))
    });
    let Some((code, about)) = of else {
        return Vec::new();
    };
    let all = store.epochs().iter().flat_map(|epoch| {
        let (code, about) = (&code, &about);
        let spans = epoch.trace.occurrences.all().iter();
        let same = spans.filter(move |span| {
            span.what.code == *code && subject(epoch, span.what.since) == *about
        });
        same.map(move |span| RecordId {
            epoch: epoch.number(),
            seq: span.start.seq,
        })
    });
    all.collect()
}

/// Returns the lane in which a record is drawn; the lane need not have a row. Watchscope's requests beside its watches
/// have the lane of own requests. A record about no watch, or about a watch or object without a lane, has the lane of
/// findings. `None` if the record is not loaded, is an inside record, or is of an unknown kind.
#[must_use]
pub fn lane_of(store: &Store, id: RecordId) -> Option<LaneId> {
    let record = store.record(id)?;
    let object = match &record.event {
        Event::Change(change) => Some(&change.object),
        Event::Verdict(verdict) => Some(&verdict.object),
        Event::Audit(audit) => audit.object.as_ref(),
        _ => None,
    };
    let watch = record.event.watch();
    let is_request = matches!(
        record.event,
        Event::RequestSent(_) | Event::RequestAnswered(_)
    );
    if is_request && watch.is_some_and(WatchName::is_aside) {
        return Some(LaneId::OwnRequests);
    }
    let lane = watch.and_then(|watch| store.find_lane(watch, object));
    Some(lane.unwrap_or(LaneId::Findings))
}

/// Returns the banner about a restored etcd, while F33 is open and not muted, and the banner of its raising
/// ([`Restored::raising`]) was not read. Of several such findings, the first by key counts. After a restore, clients
/// that have not listed again hold objects of another history (docs/semantics/checks.md#trap-restored). `None` if there
/// is no such finding.
#[must_use]
pub fn restored(store: &Store, muted: &Muted) -> Option<Restored> {
    let findings = &store.state()?.findings;
    let epoch = store.newest_epoch()?;
    let raised = |open: &OpenFinding| RecordId {
        epoch,
        seq: open.raised().seq,
    };
    let raising = |open: &OpenFinding| {
        let run = store.epoch_of(raised(open));
        run.map_or_else(String::new, |run| format!("{run}.{}", open.since.seq))
    };
    let (_, open) = findings.iter().find(|(key, open)| {
        open.finding.row() == Some(Row::F33) && !muted.has(key) && !muted.is_read(&raising(open))
    })?;
    // Each record states one occurrence. A later one shows the same restore once more.
    let since = open
        .finding
        .since
        .map_or(open.since.at, |since| since.min(open.since.at));
    Some(Restored {
        raising: raising(open),
        words: format!(
            "The cluster's history began anew, seen since {} (F33, {}): {} What was held before may never have been; every client has to list again.",
            clock(since),
            open.finding.certainty,
            open.finding.summary
        ),
        raised: raised(open),
    })
}

/// The banner about a restored etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Id of the finding's raising, by which the banner is remembered as read: `EPOCH.SEQ` of the record that first
    /// raised the finding since it was last cleared.
    pub raising: String,
    /// Words about the restore: since when it is seen, how certain, what happened, and what clients have to do.
    /// Hostile: show as text.
    pub words: String,
    /// The record that raised the finding's last occurrence.
    pub raised: RecordId,
}

/// The viewer's mutes: findings with reasons, by code and subject, the oldest first. At most [`MAX_MUTED`] mutes are
/// held; one more mute removes the oldest. The value also has the raisings whose banner was read, at most 16; one more
/// forgets the oldest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Muted {
    findings: Vec<(Text, String)>,
    read: Vec<String>,
}

impl Muted {
    /// Reads the text that [`Muted::to_text`] wrote, within the bounds of [`Muted::add`] and [`Muted::read`]. A line
    /// without a tab is a key without a reason. Empty lines, and a tab alone, are skipped. Of two lines with the same
    /// key, the later line counts.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut muted = Self::default();
        for line in text.lines() {
            match line.split_once('\t') {
                Some(("", "")) => {}
                Some(("", raising)) => muted.read(raising),
                Some((key, reason)) => muted.add(key, reason),
                None if line.is_empty() => {}
                None => muted.add(line, ""),
            }
        }
        muted
    }

    /// Returns one line for each mute: key, tab, reason; the oldest mute first. A line for each banner that was read
    /// follows: an empty key, tab, the id of its raising. The text is empty without mutes and read banners.
    #[must_use]
    pub fn to_text(&self) -> String {
        let muted = self.findings.iter();
        let lines = muted.map(|(key, reason)| format!("{key}\t{reason}\n"));
        lines
            .chain(self.read.iter().map(|raising| format!("\t{raising}\n")))
            .collect()
    }

    /// Marks the banner of a raising ([`Restored::raising`]) as read. The banner is shown again once its finding is
    /// raised anew after a clearing. If 16 raisings are held, the oldest is forgotten. A raising that is held already
    /// is held twice. Control characters become spaces.
    pub fn read(&mut self, raising: &str) {
        if self.read.len() == MAX_READ {
            self.read.remove(0);
        }
        self.read.push(one_line(raising));
    }

    fn is_read(&self, raising: &str) -> bool {
        self.read.iter().any(|read| read == raising)
    }

    /// Mutes a finding by its key ([`Item::key`]). If it is muted already, replaces its reason and makes it the newest
    /// mute. Control characters become spaces. The key is kept whole; [`Muted::to_text`] needs a key that is not empty.
    /// The reason may be empty; it is trimmed, and cut at [`MAX_REASON_CHARS`]. If the list is full, the oldest mute is
    /// removed. The finding need not exist.
    pub fn add(&mut self, key: &str, reason: &str) {
        self.remove(key);
        let reason = one_line(reason.trim())
            .chars()
            .take(MAX_REASON_CHARS)
            .collect();
        if self.findings.len() == MAX_MUTED {
            self.findings.remove(0);
        }
        self.findings.push((one_line(key).into(), reason));
    }

    /// Unmutes a finding, by its key. Does nothing if the finding is not muted. As in [`Muted::add`], a control
    /// character counts as a space.
    pub fn remove(&mut self, key: &str) {
        self.findings.retain(|(other, _)| **other != *one_line(key));
    }

    /// Whether any finding is muted.
    pub(crate) fn has_any(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Returns whether the finding with this key is muted. As in [`Muted::add`], a control character of the key counts
    /// as a space.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        let key = one_line(key);
        self.findings.iter().any(|(other, _)| **other == *key)
    }
}

/// Returns the watches that a finding about several names, and how many more there are: `a/pods, b/pods and 8 more`.
/// `None` for a finding that is not about several watches.
pub(crate) fn watches_of(finding: &Finding) -> Option<String> {
    let of = finding.watches?;
    let names: Vec<&str> = finding.names.iter().map(WatchName::as_str).collect();
    let more = of.saturating_sub(names.len() as u64);
    let rest = match more {
        0 => String::new(),
        more => format!(" and {} more", crate::format::number(more)),
    };
    Some(names.join(", ") + &rest)
}

/// Time in µs, included, after the start of a cause within which the ends of streams count as its effect. A server that
/// shuts down may end its streams one after the other (docs/semantics/servers.md#drain). At 200 a second, 60 s suffice
/// for 12,000 streams. The end of a stream after this time is not counted.
const OF_CAUSE_US: i64 = 60_000_000;

/// Whether a finding is about a watch: by name, alone or with others. If the finding does not name all its watches, it
/// is also about a watch with a stream that ended by this cause.
pub(crate) fn concerns(known: Known<'_>, finding: &Finding, watch: &WatchName) -> bool {
    finding.concerns(watch) || finding.has_more() && is_of_cause(known, finding, watch)
}

/// Whether a stream of a watch ended within [`OF_CAUSE_US`] after the finding's `since`, and its end is attributed to
/// the finding's row.
pub(crate) fn is_of_cause(known: Known<'_>, finding: &Finding, watch: &WatchName) -> bool {
    let (Some(since), Some(epoch)) = (finding.since, known.epochs().last()) else {
        return false;
    };
    let id = known.store.names().find_watch(watch);
    let Some(trace) = id.and_then(|id| epoch.trace.watch(id)) else {
        return false;
    };
    let until = since.plus_micros(OF_CAUSE_US);
    let mut streams = trace.streams.in_sequence(since, until).iter();
    streams.any(|stream| {
        let is_then = stream
            .end
            .is_some_and(|end| (since..=until).contains(&end.at));
        let attributed = trace.attribution(stream);
        is_then && attributed.is_some_and(|attributed| attributed.code == finding.code)
    })
}

/// Replaces control characters by spaces, so that text stays in its line and column.
pub(crate) fn one_line(text: &str) -> String {
    let one = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn muted_findings_read_back_as_they_were_written() {
        let mut muted = Muted::default();
        muted.add("F11 shop/pods", "known:\tticket\n42 ");
        muted.add("F08 ", "");
        muted.add("F11 shop/pods", "another reason");
        let text = muted.to_text();
        assert_eq!(text, "F08 \t\nF11 shop/pods\tanother reason\n");
        // A finding about the whole cluster has a key that ends with its space.
        assert!(muted.has("F08 "));
        assert_eq!(Muted::parse(&text), muted);
        assert_eq!(Muted::parse("\n\t\nF08"), {
            let mut one = Muted::default();
            one.add("F08", "");
            one
        });
    }

    #[test]
    fn a_finding_whose_key_has_a_control_character_is_muted_and_shown_again() {
        let mut muted = Muted::default();
        muted.add("F11 shop\tpods", "");
        assert!(muted.has("F11 shop\tpods"));
        muted.remove("F11 shop\tpods");
        assert!(!muted.has("F11 shop\tpods"));
    }

    #[test]
    fn one_more_than_the_bound_unmutes_the_oldest() {
        let mut muted = Muted::default();
        for place in 0..=MAX_MUTED {
            muted.add(&format!("F08 {place}"), "");
        }
        assert_eq!(muted.findings.len(), MAX_MUTED);
        assert!(!muted.has("F08 0") && muted.has("F08 1"));
    }
}
