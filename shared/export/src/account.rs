//! The content of a timeline and a report: the findings of the exported range, and the range's failures in order of
//! time.

use std::collections::{BTreeMap, BTreeSet};

use watchscope_model::codec::DecodeError;
use watchscope_model::event::{Finding, ListComplete, Note};
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{
    AuditOutcome, Author, Certainty, LossPlace, Severity, Standing,
};
use watchscope_model::{Entry, Event, Notes, Record, Seq, State, Text, Time};
use watchscope_timeline::format::{clock_ms, duration};
use watchscope_timeline::words::event_words;

use crate::by_hand::ByHand;
use crate::taken::Taken;

/// The most rows of a table, so that it can be pasted and printed: the first ones. The table's last line counts further
/// rows. Rows for a new day or a restart do not count. The number has no source.
pub(crate) const MOST_ROWS: usize = 1_000;
/// The most records of evidence whose words are held in memory: the first ones, run by run. A report has only the seqs
/// of further records, and says so. The limit bounds the memory for any log. The number has no source.
const MOST_EVIDENCE: usize = 10_000;

/// A finding in the range.
pub(crate) struct Found {
    /// The index of the finding's run, and the finding's key in that run.
    pub(crate) key: (usize, Text),
    pub(crate) since: Time,
    pub(crate) until: Option<Time>,
    pub(crate) code: String,
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) evidence: Vec<Seq>,
    /// The worst severity of the finding's occurrences.
    pub(crate) severity: Severity,
    pub(crate) certainty: Certainty,
    /// The watch, connection, resource type, server or client that the finding is about, in words; empty if it is about
    /// the whole cluster.
    pub(crate) subject: String,
}

impl Found {
    fn new(run: usize, since: Time, finding: &Finding) -> Self {
        Self {
            key: (run, finding.key()),
            since,
            until: None,
            code: finding.code.to_string(),
            name: finding.name.to_string(),
            summary: finding.summary.clone(),
            evidence: finding.evidence.clone(),
            severity: finding.worst_severity(),
            certainty: finding.certainty,
            subject: finding
                .subject()
                .map_or_else(String::new, |text| text.to_string()),
        }
    }
}

/// A line of the timeline that is about a record.
pub(crate) struct TimelineRow {
    at: Time,
    run: usize,
    place: String,
    words: String,
    /// The seq of the line's record; for a note from another run `epoch.seq`.
    record: String,
}

/// The lines of the timeline: at most [`MOST_ROWS`] are held, and further ones are counted.
#[derive(Default)]
pub(crate) struct Lines {
    held: Vec<TimelineRow>,
    pub(crate) count: usize,
}

/// The content of a timeline and a report.
pub(crate) struct Account {
    pub(crate) found: Vec<Found>,
    pub(crate) timeline: Lines,
    pub(crate) checks: ByHand,
    /// The words of records in the range that are evidence of findings, by run and seq.
    pub(crate) evidence: BTreeMap<(usize, Seq), String>,
    /// Whether more than [`MOST_EVIDENCE`] records in the range are evidence, so that `evidence` lacks the later
    /// records.
    is_evidence_cut: bool,
    /// The seq of the first record of each run; `None` for a run without a record.
    begins: Vec<Option<Seq>>,
    pub(crate) missed: Missed,
    /// The times of the first and the last record of each run; twice the begin of the range for a run without records.
    pub(crate) runs: Vec<(Time, Time)>,
}

/// Counts of gaps, and of the events, records, bodies and documents that were lost or could not be read, by the records
/// of the range.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Missed {
    /// The number of gaps that ended and were not resumed from progress.
    pub(crate) gaps: u64,
    /// The number of gaps whose lost events cannot be counted.
    pub(crate) unknown: u64,
    /// The number of events that were lost in gaps whose lost events can be counted.
    pub(crate) events: u64,
    /// The number of records that watchscope itself lost.
    pub(crate) records: u64,
    /// The number of bodies that watchscope's ring of bodies dropped.
    pub(crate) bodies: u64,
    /// The number of documents in watch streams that could not be read.
    pub(crate) documents: u64,
}

impl Missed {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Gap(gap) if !gap.resumed => {
                self.gaps += 1;
                match gap.lost {
                    Some(lost) => self.events = self.events.saturating_add(lost),
                    None => self.unknown += 1,
                }
            }
            Event::Loss(loss) => {
                let into = match loss.place {
                    // An extract left them out on purpose.
                    LossPlace::Withheld => return,
                    LossPlace::Body => &mut self.bodies,
                    LossPlace::Frame => &mut self.documents,
                    _ => &mut self.records,
                };
                *into = into.saturating_add(loss.count);
            }
            _ => {}
        }
    }
}

/// A line of the timeline: about a record, or about the time between two runs.
pub(crate) struct Line<'a> {
    pub(crate) at: Time,
    pub(crate) place: &'a str,
    pub(crate) words: String,
    /// The seq of the line's record; for a note from another run `epoch.seq`; `None` for a line between two runs.
    pub(crate) record: Option<&'a str>,
}

impl Account {
    /// Reads all records of the export twice: first for findings and notes, then for the evidence of the findings.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(crate) fn of(taken: &Taken) -> Result<Self, DecodeError> {
        let (mut found, mut notes) = (Vec::new(), taken.notes_elsewhere());
        let mut runs: Vec<(Time, Time)> = Vec::new();
        for (place, run) in taken.runs.iter().enumerate() {
            let mut times = None;
            run.read(|entry, state| {
                let (_, last) = times.get_or_insert_with(|| {
                    note_standing(place, state, &mut found);
                    (entry.at(), entry.at())
                });
                *last = entry.at();
                if let Entry::Record(record) = entry {
                    notes.record(&run.log, &run.epoch, record);
                    if let Event::Finding(finding) = &record.event {
                        note(place, record, finding, &mut found);
                    }
                }
            })?;
            runs.push(times.unwrap_or((taken.from, taken.from)));
        }
        let mut rests_on = BTreeSet::new();
        for Found {
            key,
            evidence: seqs,
            ..
        } in &found
        {
            rests_on.extend(seqs.iter().map(|seq| (key.0, *seq)));
        }
        let (mut timeline, mut checks) = (Lines::default(), ByHand::default());
        let (mut missed, mut evidence) = (Missed::default(), BTreeMap::new());
        let mut is_evidence_cut = false;
        for (place, run) in taken.runs.iter().enumerate() {
            run.read(|entry, state| {
                if let Entry::Record(record) = entry {
                    checks.take(&record.event);
                    missed.take(&record.event);
                    let rested_on = rests_on.contains(&(place, record.seq));
                    if rested_on && evidence.len() < MOST_EVIDENCE {
                        evidence.insert((place, record.seq), event_words(&record.event));
                    } else if rested_on {
                        is_evidence_cut = true;
                    }
                    if has_own_line(&record.event, state) || rested_on {
                        timeline.push(record, place);
                    }
                }
            })?;
        }
        timeline.note(&notes, taken, &runs);
        Ok(Self {
            found,
            timeline,
            checks,
            evidence,
            is_evidence_cut,
            begins: taken.runs.iter().map(|run| Some(run.seqs()?.0)).collect(),
            missed,
            runs,
        })
    }

    /// Returns the words of a record that is evidence, or words that say why the record is not described.
    pub(crate) fn evidence_words(&self, run: usize, seq: Seq) -> &str {
        let begins = self.begins.get(run).copied().flatten();
        match self.evidence.get(&(run, seq)) {
            Some(words) => words,
            None if begins.is_none_or(|first| seq < first) => "before this range",
            None if self.is_evidence_cut => "not described here: too many records are evidence",
            None => "not in this export",
        }
    }

    /// Returns words that say until when a finding was open.
    pub(crate) fn until(&self, finding: &Found) -> String {
        let run = finding.key.0;
        match (finding.until, self.runs.get(run)) {
            (Some(until), _) => clock_ms(until),
            (None, Some((_, end))) if run + 1 < self.runs.len() => {
                format!("not known after {}", clock_ms(*end))
            }
            (None, _) => "open at the end".to_owned(),
        }
    }

    /// Returns the lines of the timeline, with a line for each time between two runs.
    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        let mut held = self.timeline.held.iter().peekable();
        for (place, (_, end)) in self.runs.iter().enumerate() {
            while let Some(row) = held.next_if(|row| row.run == place) {
                lines.push(Line {
                    at: row.at,
                    place: &row.place,
                    words: row.words.clone(),
                    record: Some(&row.record),
                });
            }
            if let Some((next, _)) = self.runs.get(place + 1) {
                lines.push(Line {
                    at: *end,
                    place: "",
                    words: format!(
                        "Nobody watched until {}, for {}: watchscope was restarted.",
                        clock_ms(*next),
                        duration(next.micros_since(*end))
                    ),
                    record: None,
                });
            }
        }
        lines
    }
}

/// Adds the findings that are open in a run's opening snapshot.
fn note_standing(run: usize, state: &State, found: &mut Vec<Found>) {
    let standing = state.findings.values();
    found.extend(standing.map(|open| Found::new(run, open.since.at, &open.finding)));
}

/// Adds a record of a finding to the findings. A finding has one line from its raised to its cleared record.
fn note(run: usize, record: &Record, finding: &Finding, found: &mut Vec<Found>) {
    let key = (run, finding.key());
    let mut known = found.iter_mut().rev();
    let known = known.find(|known| known.key == key && known.until.is_none());
    match known {
        Some(known) if finding.state == Standing::Cleared => {
            known.until = Some(record.at);
            known.summary += " Over: ";
            known.summary += &finding.summary;
        }
        Some(known) => {
            known.summary.clone_from(&finding.summary);
            known.evidence.clone_from(&finding.evidence);
            known.severity = known.severity.max(finding.worst_severity());
            known.certainty = finding.certainty;
        }
        None if finding.state == Standing::Cleared => {}
        None => {
            let since = finding.since.unwrap_or(record.at);
            found.push(Found::new(run, since, finding));
        }
    }
}

/// Returns whether an event has a line in the timeline even if it is no evidence. `before` is the fold before the
/// event.
fn has_own_line(event: &Event, before: &State) -> bool {
    match event {
        Event::Finding(finding) => finding.state != Standing::Updated,
        Event::Attribution(said) => !matches!(
            Attributed::of(&said.code),
            Some(Attributed::Normal | Attributed::Ours)
        ),
        Event::ListComplete(list) => {
            let watch = before.watches.get(&list.watch);
            watch.is_some_and(|watch| watch.counts.of(ListComplete::KIND) > 0)
        }
        // The head of each form says what was left out on purpose.
        Event::Loss(loss) => loss.place != LossPlace::Withheld,
        Event::Audit(audit) => audit.outcome() == AuditOutcome::Differs,
        Event::Gap(_) | Event::StreamError(_) | Event::Verdict(_) | Event::ConnectionGoaway(_) => {
            true
        }
        // A person's note stands at the time that it is about.
        Event::Note(note) => note.author != Author::Person,
        _ => false,
    }
}

impl Lines {
    fn push(&mut self, record: &Record, run: usize) {
        self.count += 1;
        if self.held.len() < MOST_ROWS {
            let watch = record.event.watch();
            self.held.push(TimelineRow {
                at: record.at,
                run,
                record: record.seq.to_string(),
                place: watch.map_or_else(String::new, ToString::to_string),
                words: event_words(&record.event),
            });
        }
    }

    /// Adds the current notes of persons, numbered within the range. A note's line stands at the begin of the time that
    /// the note is about.
    fn note(&mut self, notes: &Notes, taken: &Taken, runs: &[(Time, Time)]) {
        let standing = notes.in_range(taken.from, taken.to);
        self.count += standing.len();
        for (number, note) in (1..).zip(standing) {
            let at = note.from.max(taken.from);
            let run = runs.iter().rposition(|(begin, _)| *begin <= at);
            let run = run.unwrap_or(0);
            let key = note.last;
            let is_own = taken.runs.get(run).is_some_and(|of| of.epoch == key.epoch);
            let words = Note {
                replaces: None,
                ..note.note.clone()
            };
            self.held.push(TimelineRow {
                at,
                run,
                place: note
                    .note
                    .watch
                    .as_ref()
                    .map_or_else(String::new, ToString::to_string),
                words: format!("({number}) {}", event_words(&words.into())),
                record: match is_own {
                    true => key.seq.to_string(),
                    false => format!("{}.{}", key.epoch, key.seq),
                },
            });
        }
        self.held.sort_by_key(|line| (line.run, line.at));
        self.held.truncate(MOST_ROWS);
    }
}
