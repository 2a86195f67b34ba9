//! What a chapter holds in short: from when to when, how many records of each kind, and what went wrong.

use std::collections::BTreeMap;

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::DecodeError;
use watchscope_model::event::{WatchStarted, WatchStopped};
use watchscope_model::fold::{Moment, Objects, OpenFinding, OpenVerdict, Watch};
use watchscope_model::vocabulary::{Divergence, Severity, Standing};
use watchscope_model::{Entry, EpochId, Event, LogId, Record, Seq, State, Time};

use crate::error::DamageKind;
use crate::fields::{Cursor, push_signed, push_varint};
use crate::trouble::{MAX_TROUBLES, Trouble, TroubleKind, join_neighbours, length_us, worse};

/// The most bytes of an encoded summary: 32 troubles, 256 counts, and the rest.
pub(crate) const MAX_SUMMARY_BYTES: usize = 16 << 10;
/// The most kinds of record that are counted; those beyond count as of none.
const MAX_KINDS: usize = 256;
/// The kind under which records are counted that this build does not know.
const UNKNOWN_KIND: u64 = 0;
/// When this many troubles are held, neighbours are joined…
const TROUBLES_HELD: usize = 4_096;
/// …until this many are left.
const TROUBLES_KEPT: usize = 1_024;
/// A gap that has been open for this long is a warning, whatever comes of it.
const BLIND_US: u64 = 60_000_000;

/// A chapter in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its first record, or the one to come.
    pub first: Seq,
    /// Its last record; the one before `first` if it has none.
    pub last: Seq,
    /// When its first record was taken; without one, when it was opened.
    pub first_at: Time,
    /// When its last record was taken; without one, when it was opened.
    pub last_at: Time,
    /// Records by the number of their kind, in its order; 0 stands for kinds that the writer did not know.
    pub counts: Vec<(u64, u64)>,
    /// The worst severity of its troubles.
    pub worst: Option<Severity>,
    /// What went wrong, by time; at most [`MAX_TROUBLES`].
    pub troubles: Vec<Trouble>,
}

impl Summary {
    /// How many records there are.
    #[must_use]
    pub fn records(&self) -> u64 {
        (self.last.0.saturating_add(1)).saturating_sub(self.first.0)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_varint(self.first.0, &mut out);
        push_varint(self.records(), &mut out);
        push_signed(self.first_at.0, &mut out);
        push_varint(length_us(self.first_at, self.last_at), &mut out);
        push_varint(self.counts.len() as u64, &mut out);
        for &(kind, count) in &self.counts {
            push_varint(kind, &mut out);
            push_varint(count, &mut out);
        }
        push_varint(self.worst.map_or(0, |worst| worst.number() + 1), &mut out);
        push_varint(self.troubles.len() as u64, &mut out);
        for trouble in &self.troubles {
            trouble.write(self.first_at, &mut out);
        }
        out
    }

    /// Reads a summary; bytes behind it, of a later version, are passed over.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DamageKind> {
        let mut cursor = Cursor::new(bytes);
        let first = cursor.varint()?;
        let records = cursor.varint()?;
        let last = first
            .checked_add(records)
            .and_then(|next| next.checked_sub(1))
            .ok_or(DamageKind::Payload("its summary counts from no record"))?;
        let first_at = Time(cursor.signed()?);
        let length = i64::try_from(cursor.varint()?).unwrap_or(i64::MAX);
        let mut counts = Vec::new();
        for _ in 0..cursor.count(2)? {
            counts.push((cursor.varint()?, cursor.varint()?));
        }
        let worst = cursor.varint()?.checked_sub(1).map(Severity::from_number);
        let count = cursor.count(6)?;
        if count > MAX_TROUBLES || counts.len() > MAX_KINDS {
            return Err(DamageKind::Payload("its summary lists too much"));
        }
        let troubles = (0..count)
            .map(|_| Trouble::read(first_at, &mut cursor))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            first: Seq(first),
            last: Seq(last),
            first_at,
            last_at: first_at.plus_micros(length),
            counts,
            worst,
            troubles,
        })
    }
}

/// Computes a chapter's summary from its frames.
///
/// Holds the fold without the objects that the chapter opens with, and at most 4,096 troubles.
#[derive(Debug)]
pub struct Summarizer {
    reader: ChapterReader,
    /// Why no segment is taken any more.
    broken: Option<DecodeError>,
    log: LogId,
    epoch: EpochId,
    state: State,
    opened_at: Time,
    first: Seq,
    first_at: Option<Time>,
    counts: BTreeMap<u64, u64>,
    troubles: Vec<Trouble>,
}

impl Summarizer {
    /// The fold behind the last record, without the objects that the chapter opened with.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Begins with a chapter's opening.
    ///
    /// # Errors
    /// If it is no head frame.
    pub fn open(head: &[u8]) -> Result<Self, DecodeError> {
        let (reader, opening) = ChapterReader::open(head)?;
        let mut state = opening.state;
        // Troubles do not rest on what is held, and this is nearly all of the fold.
        for watch in state.watches.values_mut() {
            watch.objects = Objects::default();
        }
        Ok(Self {
            first: reader.next_seq(),
            reader,
            broken: None,
            log: opening.log,
            epoch: opening.epoch,
            opened_at: state.at,
            state,
            first_at: None,
            counts: BTreeMap::new(),
            troubles: Vec::new(),
        })
    }

    /// The log that the opening names.
    #[must_use]
    pub fn log(&self) -> &LogId {
        &self.log
    }

    /// The run of its writer that the opening names.
    #[must_use]
    pub fn epoch(&self) -> &EpochId {
        &self.epoch
    }

    /// The chapter's first record.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.first
    }

    /// Takes in the next segment.
    ///
    /// # Errors
    /// If it cannot be read or does not follow. What was taken in before stands; behind a segment that cannot be read
    /// no other is taken.
    pub fn segment(&mut self, frame: &[u8]) -> Result<(), DecodeError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let entries = self.reader.entries(frame).inspect_err(|error| {
            // Else it may have taken in some of the segment's definitions.
            let is_untouched = matches!(
                error,
                DecodeError::Tag(_) | DecodeError::Discontinuous { .. }
            );
            self.broken = (!is_untouched).then(|| error.clone());
        })?;
        for entry in &entries {
            match entry {
                Some(Entry::Record(record)) => self.record(record),
                Some(Entry::Inside(inside)) => self.pass(inside.inside.kind(), inside.at),
                None => self.pass(UNKNOWN_KIND, self.state.at),
            }
        }
        Ok(())
    }

    fn pass(&mut self, kind: u64, at: Time) {
        self.count(kind, at);
        self.state.pass(self.state.seq.next(), at);
    }

    fn count(&mut self, kind: u64, at: Time) {
        self.first_at.get_or_insert(at);
        let is_full = self.counts.len() >= MAX_KINDS - 1 && !self.counts.contains_key(&kind);
        let kind = if is_full { UNKNOWN_KIND } else { kind };
        *self.counts.entry(kind).or_default() += 1;
    }

    fn record(&mut self, record: &Record) {
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

    /// Whether an event neither is trouble nor changes what later ones are. Nearly all records are changes, and of those
    /// only the first of a watch matters: it shows from where a stream could be resumed.
    fn is_no_trouble(&self, event: &Event) -> bool {
        let Event::Change(change) = event else {
            return false;
        };
        let watch = self.state.watches.get(&change.watch);
        watch.is_none_or(|watch| watch.progress.is_some())
    }

    /// What an event ends, or is, of trouble; the fold is the one before it.
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
            Event::Verdict(verdict) if verdict.state == Standing::Cleared => {
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
            // What is reported of a finding without being raised is of the same occurrence.
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

    /// The gap and the verdicts of a watch, which end with it.
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

    /// A read that was older than the watch says nothing against it.
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

    /// What the chapter is in short so far.
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
            worst: severities.reduce(worse),
            troubles,
        }
    }
}
