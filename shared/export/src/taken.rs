//! The data of an export: a range of time and some lanes of a log, by the runs of the log's writer.

use std::collections::BTreeSet;

use watchscope_hiding::{Hide as _, Hider, Known, Parts, Seed};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::DecodeError;
use watchscope_model::event::Finding;
use watchscope_model::rewrite::Rewrite as _;
use watchscope_model::{
    Entry, EpochId, Event, KeptNote, LogId, Notes, Record, Seq, State, Time, WatchName,
};
use watchscope_recording::{Excerpt, ExcerptError, ExcerptRun, Lanes, Out, Stretch, notes_beside};
use watchscope_timeline::picture;

/// The title and the time zone of an export, for the forms that show them.
#[derive(Clone, Copy, Debug)]
pub struct Says<'a> {
    /// The title, chosen by a person or made by [`Taken::title`]. Markdown, HTML and reports keep the title's first 400
    /// letters; `…` replaces further letters. A picture cuts the title off at the picture's edge.
    pub title: &'a str,
    /// The viewer's offset from UTC in minutes, positive in the east. Pictures name this offset, and charts if it is
    /// not 0. The times that they write stay UTC.
    pub zone_offset_min: i32,
}

/// The data of an export. `Taken` holds the log's frames: about 15 bytes for each change
/// (docs/benchmarks.md#record-bytes), and a snapshot about every 1 MiB. The range bounds this memory. All times are on
/// the log's clock. In place of each record that was left out, `Taken` has a record of `loss`.
#[derive(Debug)]
pub struct Taken {
    /// The begin of the range; records of exactly this time are included.
    pub from: Time,
    /// The end of the range; records of exactly this time are included.
    pub to: Time,
    /// The runs of the log's writer with a record in the range, in their order; never empty.
    pub(crate) runs: Vec<TakenRun>,
    /// Persons' notes about the range whose own records are in none of the runs, in the order of these records' times.
    pub(crate) notes: Vec<KeptNote>,
    /// The SHA-256 of the one closed file that the export was made of, in hex digits; `None` for other sources.
    pub(crate) source: Option<String>,
}

/// Counts of the content of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of watches; watchscope's own requests about watches do not count as watches.
    pub watches: usize,
    /// The number of records that the export keeps, without the records left out.
    pub records: u64,
    /// The number of changes of objects among these records.
    pub changes: u64,
    /// The number of findings that are open at any time of the range. A finding that stays open over a restart of the
    /// log's writer counts once for each run. A finding that is raised again within a run counts once.
    pub findings: usize,
    /// The number of current notes of persons about the range: replaced and withdrawn notes do not count.
    pub notes: usize,
}

/// The part of an export from one run of the log's writer.
#[derive(Debug)]
pub(crate) struct TakenRun {
    pub(crate) log: LogId,
    pub(crate) epoch: EpochId,
    pub(crate) run: ExcerptRun,
}

impl Taken {
    /// Makes an export from the runs of an excerpt, in their order; `None` if there is no run. `from` and `to` are the
    /// range of the excerpt. The new export has no notes from outside these runs and no source.
    #[must_use]
    pub fn new(from: Time, to: Time, runs: Vec<ExcerptRun>) -> Option<Self> {
        let runs: Vec<TakenRun> = runs.into_iter().map(TakenRun::of).collect();
        (!runs.is_empty()).then_some(Self {
            from,
            to,
            runs,
            notes: Vec::new(),
            source: None,
        })
    }

    /// Sets the SHA-256 of the one closed file that the export was made of, as
    /// [`SourceHash::finish`](crate::SourceHash::finish) returns it; `None` for other sources. Hiding
    /// ([`Taken::hiding`]) removes this hash, because the hash would identify the file.
    #[must_use]
    pub fn with_source(self, source: Option<String>) -> Self {
        Self { source, ..self }
    }

    /// Keeps those of `notes` that persons made about the range and whose own records are in none of the runs. Replaced
    /// and withdrawn notes are among them, and so are notes of records that the runs leave out. The kept notes replace
    /// the notes from an earlier call.
    #[must_use]
    pub fn with_notes(self, notes: &Notes) -> Self {
        let runs = self.runs.iter().map(|run| &run.run);
        let notes = notes_beside(notes, (self.from, self.to), runs);
        Self { notes, ..self }
    }

    /// Returns the notes of persons whose own records are in none of the export's runs.
    pub(crate) fn notes_elsewhere(&self) -> Notes {
        let mut notes = Notes::default();
        for note in &self.notes {
            notes.insert(note.clone());
        }
        notes
    }

    /// Narrows the export to some watches, and to records about no watch and no client. Names without a watch in the
    /// export are ignored. Inside records are left out, and so are notes about other watches; the source's hash stays.
    /// Returns `None` if the range has no record at all, left-out records included; an export that [`Taken::new`] made
    /// from an excerpt always has one.
    ///
    /// # Errors
    /// If a frame cannot be read, or if the runs are of several logs.
    pub fn only(self, watches: BTreeSet<WatchName>) -> Result<Option<Self>, ExcerptError> {
        let Self {
            from,
            to,
            runs,
            mut notes,
            source,
        } = self;
        // A note without a watch stays, as records without a watch do.
        notes.retain(|note| {
            let watch = note.note.watch.as_ref();
            watch.is_none_or(|watch| watches.contains(watch))
        });
        let lanes = Lanes::Only {
            watches,
            clients: BTreeSet::new(),
        };
        let kept = again(runs, Stretch::Times { from, to }, lanes, None)?;
        Ok(Self::new(from, to, kept).map(|taken| Self {
            notes,
            source,
            ..taken
        }))
    }

    /// Returns all names in the export and in its notes, by the kinds of names that can be hidden.
    ///
    /// # Errors
    /// If a frame cannot be read; the error counts the chapters of all runs from 1.
    pub fn known(&self) -> Result<Known, ExcerptError> {
        let mut known = Known::default();
        let chapters = self.runs.iter().flat_map(|run| &run.run.chapters);
        for (place, chapter) in chapters.enumerate() {
            let segments = chapter.segments.iter().map(Vec::as_slice);
            let number = place + 1;
            let read = known.chapter(&chapter.head, segments);
            read.map_err(|error| ExcerptError::Frame { number, error })?;
        }
        for note in &self.notes {
            note.note.clone().rewrite(&mut known);
        }
        Ok(known)
    }

    /// Hides the kinds of names in `parts` throughout the export, notes included. Also returns the hider, which hides
    /// the same names in other texts. The hash of the source is removed.
    ///
    /// # Errors
    /// If a frame cannot be read, or if the runs are of several logs.
    pub fn hiding(self, parts: Parts, seed: Seed) -> Result<(Self, Hider), ExcerptError> {
        let known = self.known()?;
        self.hiding_of(known, parts, seed)
    }

    /// Like [`hiding`](Self::hiding), with names that [`known`](Self::known) returned for this export. Names that
    /// `known` lacks may stay unhidden.
    ///
    /// # Errors
    /// If a frame cannot be read, or if the runs are of several logs.
    pub fn hiding_of(
        self,
        known: Known,
        parts: Parts,
        seed: Seed,
    ) -> Result<(Self, Hider), ExcerptError> {
        let mut hider = Hider::new(known, parts, seed);
        let Self {
            from,
            to,
            runs,
            mut notes,
            source: _,
        } = self;
        for note in &mut notes {
            note.key.rewrite(&mut hider);
            note.note.rewrite(&mut hider);
        }
        let kept = again(runs, Stretch::Times { from, to }, Lanes::All, Some(&hider))?;
        Ok((
            Self {
                from,
                to,
                runs: kept.into_iter().map(TakenRun::of).collect(),
                notes,
                source: None,
            },
            hider,
        ))
    }

    /// Returns words that say what is hidden; an empty text if nothing is hidden.
    pub(crate) fn hidden(&self) -> String {
        let hidden = self.runs.first().map(|run| &run.run.of.hidden);
        let words = hidden.into_iter().flatten().map(|part| part.words());
        words.collect::<Vec<&str>>().join(", ")
    }

    /// Counts watches, records, changes, findings and notes. The function reads all records of the export.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub fn counts(&self) -> Result<Counts, DecodeError> {
        let mut counts = Counts {
            watches: self.watches().len(),
            records: self.runs.iter().map(|run| run.run.records()).sum(),
            ..Counts::default()
        };
        let (mut findings, mut notes) = (BTreeSet::new(), self.notes_elsewhere());
        for (place, run) in self.runs.iter().enumerate() {
            let found = |finding: &Finding| {
                findings.insert((place, finding.key()));
            };
            run.read_findings(found, |record| {
                counts.changes += u64::from(matches!(record.event, Event::Change(_)));
                notes.record(&run.log, &run.epoch, record);
            })?;
        }
        counts.findings = findings.len();
        counts.notes = notes.in_range(self.from, self.to).len();
        Ok(counts)
    }

    /// Returns the names of the export's watches, sorted, without watchscope's own requests about watches. The set may
    /// be empty.
    #[must_use]
    pub fn watches(&self) -> BTreeSet<WatchName> {
        let watches = self.runs.iter().flat_map(|run| &run.run.of.watches);
        watches
            .map(|watch| WatchName::from(&*watch.watch))
            .collect()
    }

    /// Returns the watches that a finding of the range names, sorted; empty if no finding names a watch. A finding that
    /// was open at the begin of a run counts. A finding about many watches names only some of them
    /// ([`Finding::names`](watchscope_model::event::Finding::names)).
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub fn watches_with_findings(&self) -> Result<BTreeSet<WatchName>, DecodeError> {
        let all = self.watches();
        let mut with = BTreeSet::new();
        let mut take = |finding: &Finding| {
            with.extend(all.iter().filter(|watch| finding.concerns(watch)).cloned());
        };
        for run in &self.runs {
            run.read_findings(&mut take, |_| ())?;
        }
        Ok(with)
    }

    /// Returns a title that names the namespaces of the last run's watches, sorted, each once, and its cluster:
    /// `Watches of shop in prod`. The title names all namespaces, with commas. Without namespaces the title is `Watches
    /// of prod`; an unknown cluster is written as `a cluster`.
    #[must_use]
    pub fn title(&self) -> String {
        let of = self.runs.last().map(|run| &run.run.of);
        let cluster = of.and_then(|of| of.cluster.as_ref());
        let cluster = cluster.map_or("a cluster", |cluster| &*cluster.name);
        let watches = of.into_iter().flat_map(|of| &of.watches);
        let namespaces: BTreeSet<&str> = watches
            .filter_map(|watch| watch.namespace.as_deref())
            .collect();
        let namespaces: Vec<&str> = namespaces.into_iter().collect();
        picture::title(&namespaces.join(", "), cluster)
    }
}

impl TakenRun {
    fn of(run: ExcerptRun) -> Self {
        Self {
            log: (&*run.of.log).into(),
            epoch: (&*run.of.epoch).into(),
            run,
        }
    }

    /// Returns the seqs of the first and the last kept record of the run; `None` if no record is kept.
    pub(crate) fn seqs(&self) -> Option<(Seq, Seq)> {
        let chapters = self.run.chapters.iter();
        let mut kept = chapters.flat_map(|chapter| &chapter.kept);
        let &(first, last) = kept.next()?;
        Some((first, kept.last().map_or(last, |&(_, last)| last)))
    }

    /// Reads the run's records, and its findings: those that are open at the run's begin, and those in its records. It
    /// fails if a frame cannot be read.
    fn read_findings(
        &self,
        mut found: impl FnMut(&Finding),
        mut take: impl FnMut(&Record),
    ) -> Result<(), DecodeError> {
        let mut is_first = true;
        self.read(|entry, state| {
            if std::mem::take(&mut is_first) {
                let standing = state.findings.values();
                standing.for_each(|open| found(&open.finding));
            }
            if let Entry::Record(record) = entry {
                if let Event::Finding(finding) = &record.event {
                    found(finding);
                }
                take(record);
            }
        })
    }

    /// Reads the run's entries, `loss` records in place of left-out ones included. `take` gets each entry with the fold
    /// before it. It fails if a frame cannot be read; `take` then got the entries before that frame.
    pub(crate) fn read(&self, mut take: impl FnMut(&Entry, &State)) -> Result<(), DecodeError> {
        for chapter in &self.run.chapters {
            let (mut reader, opening) = ChapterReader::open(&chapter.head)?;
            let mut state = opening.state;
            for segment in &chapter.segments {
                for entry in reader.entries(segment)?.iter().flatten() {
                    take(entry, &state);
                    match entry {
                        Entry::Record(record) => state.apply(record),
                        Entry::Inside(record) => state.pass(record.seq, record.at),
                    }
                }
            }
        }
        Ok(())
    }
}

/// Makes an excerpt of the runs of an earlier excerpt. It fails if a frame cannot be read, or if the runs are of
/// several logs.
fn again(
    runs: Vec<TakenRun>,
    stretch: Stretch,
    lanes: Lanes,
    hider: Option<&Hider>,
) -> Result<Vec<ExcerptRun>, ExcerptError> {
    let of = runs.first().map(|run| run.run.of.clone());
    let of = of.unwrap_or_default();
    let mut excerpt = Excerpt::new(stretch, lanes, &of.watchscope, of.redaction).after(&of);
    if let Some(hider) = hider {
        excerpt = excerpt.hiding(hider.again());
    }
    let chapters = runs.into_iter().flat_map(|run| run.run.chapters);
    excerpt.runs(chapters.map(|chapter| frames(&chapter)))
}

/// Returns a chapter's frames, concatenated.
pub(crate) fn frames(chapter: &Out) -> Vec<u8> {
    let mut frames = chapter.head.clone();
    let segments = &chapter.segments;
    segments.iter().for_each(|segment| frames.extend(segment));
    frames
}
