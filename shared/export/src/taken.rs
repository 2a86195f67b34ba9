//! The data of an export: a stretch and some lanes of a log, by the runs of its writer.

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
    /// The title, chosen by a person or made by [`Taken::title`]. Markdown, HTML and reports keep its first 400
    /// letters; `…` stands for the rest. A picture cuts it off at its edge.
    pub title: &'a str,
    /// The viewer's offset from UTC in minutes, positive in the east. Pictures and charts name it; their times stay
    /// UTC.
    pub zone_offset_min: i32,
}

/// The data of an export. It holds the frames: about 24 bytes for each record, and a snapshot about every 1 MiB. The
/// range bounds them. Its times are on the log's clock. In place of each record that was left out, it has a record of
/// `loss`.
#[derive(Debug)]
pub struct Taken {
    /// Begin of the range, included.
    pub from: Time,
    /// End of the range, included.
    pub to: Time,
    /// The runs with a record in the range, in their order; never empty.
    pub(crate) runs: Vec<TakenRun>,
    /// Persons' notes about the range whose records are in none of the runs, in the order of their records' times.
    pub(crate) notes: Vec<KeptNote>,
    /// The SHA-256 of the one closed file that it was made of, in hex digits; `None` for other sources.
    pub(crate) source: Option<String>,
}

/// Counts of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of watches, without watchscope's own requests about them.
    pub watches: usize,
    /// The number of records that the export keeps, without those left out.
    pub records: u64,
    /// The number of changes of objects among these records.
    pub changes: u64,
    /// The number of findings that are open at any time of the range. A finding that goes on over a restart counts once
    /// for each run. One that is raised again within a run counts once.
    pub findings: usize,
    /// The number of current notes of persons about the range: replaced and withdrawn ones do not count.
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
    /// range of the excerpt. It has no notes from elsewhere and no source.
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

    /// Sets the SHA-256 of the one closed file that it was made of, as
    /// [`SourceHash::finish`](crate::SourceHash::finish) returns it; `None` for other sources. Hiding forgets it,
    /// because it would name the file.
    #[must_use]
    pub fn with_source(self, source: Option<String>) -> Self {
        Self { source, ..self }
    }

    /// Takes from `notes` those of persons about the range whose records are in none of the runs. They replace the
    /// notes from an earlier call.
    #[must_use]
    pub fn with_notes(self, notes: &Notes) -> Self {
        let runs = self.runs.iter().map(|run| &run.run);
        let notes = notes_beside(notes, (self.from, self.to), runs);
        Self { notes, ..self }
    }

    /// Returns the notes of persons whose records are in none of its runs.
    pub(crate) fn notes_elsewhere(&self) -> Notes {
        let mut notes = Notes::default();
        for note in &self.notes {
            notes.insert(note.clone());
        }
        notes
    }

    /// Narrows the export to some watches, and to records about no watch and no client. Names without a watch in the
    /// export are ignored. Notes about other watches and inside records are left out; the source stays. `None` if the
    /// range has no record; records that are left out count.
    ///
    /// # Errors
    /// If a frame cannot be read.
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

    /// Returns all names in the export and in its notes, by the parts that can be hidden.
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

    /// Hides parts of the export. Also returns the hider, which hides the same names in other texts. The hash of the
    /// source is forgotten.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub fn hiding(self, parts: Parts, seed: Seed) -> Result<(Self, Hider), ExcerptError> {
        let known = self.known()?;
        self.hiding_of(known, parts, seed)
    }

    /// Like [`hiding`](Self::hiding), with names that [`known`](Self::known) returned for this export. Names that
    /// `known` lacks may stay.
    ///
    /// # Errors
    /// If a frame cannot be read.
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

    /// Says what is hidden; an empty text if nothing is.
    pub(crate) fn hidden(&self) -> String {
        let hidden = self.runs.first().map(|run| &run.run.of.hidden);
        let words = hidden.into_iter().flatten().map(|part| part.words());
        words.collect::<Vec<&str>>().join(", ")
    }

    /// Counts watches, records, changes, findings and notes. It reads all records.
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

    /// Returns the names of the export's watches, sorted, without watchscope's own requests about them. It may be
    /// empty.
    #[must_use]
    pub fn watches(&self) -> BTreeSet<WatchName> {
        let watches = self.runs.iter().flat_map(|run| &run.run.of.watches);
        watches
            .map(|watch| WatchName::from(&*watch.watch))
            .collect()
    }

    /// Returns the watches that a finding of the range names, sorted; empty if none does. A finding that was open at
    /// the begin of a run counts. One about many watches names only some of them
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
    /// `Watches of shop in prod`. It names all of them, with commas. Without namespaces it is `Watches of prod`; an
    /// unknown cluster is `a cluster`.
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

    /// Returns the first and the last of its records.
    pub(crate) fn seqs(&self) -> Option<(Seq, Seq)> {
        let chapters = self.run.chapters.iter();
        let mut kept = chapters.flat_map(|chapter| &chapter.kept);
        let &(first, last) = kept.next()?;
        Some((first, kept.last().map_or(last, |&(_, last)| last)))
    }

    /// Reads its records, and its findings: those open at its begin, and those in its records.
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

    /// Reads its records; `take` gets each with the fold before it.
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

/// Makes an excerpt of an excerpt.
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

/// Returns a chapter's frames, one behind the other.
pub(crate) fn frames(chapter: &Out) -> Vec<u8> {
    let mut frames = chapter.head.clone();
    let segments = &chapter.segments;
    segments.iter().for_each(|segment| frames.extend(segment));
    frames
}
