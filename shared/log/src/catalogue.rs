//! The catalogue of a log: its known chapters, in memory, in files or gone.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

pub(crate) use watchscope_model::summary::Summarizer as Summing;
use watchscope_model::summary::Summary;
use watchscope_model::wire::{self, Availability, CatalogueEntry, push_catalogue_entry};
use watchscope_model::{EpochId, LogId, Seq, Time};

/// The most entries. Above this number the two oldest entries of the oldest run become one entry. Once the oldest run
/// has one entry, entries of the next run are joined. The number bounds the memory of the server, and of each viewer,
/// which gets all entries. The number has no source: full chapters have more than 1 MiB, so 10,000 of them are about 10
/// GiB before deflating.
pub const MAX_ENTRIES: usize = 10_000;
/// The most runs, the one that is being written included. Above this number the oldest runs are forgotten with their
/// entries. The number bounds the memory, because the last entry of a run is not joined with those of other runs. The
/// number has no source.
pub const MAX_RUNS: usize = 1_000;
/// The order of the run that is being written. The orders of all other runs are lower, so that this run stays the last
/// one.
const LIVE: u64 = u64::MAX;
/// The number of bytes of entries at which a message of the catalogue is complete and sent. An entry has at most about
/// 16 KiB (`MAX_SUMMARY_BYTES`), so a message stays below the 64 KiB that a message may have. The number has no other
/// source.
const MESSAGE_BYTES: usize = 40 << 10;

/// All known chapters, run by run, and the stretches of records between them that are lost.
///
/// [`MAX_ENTRIES`] and [`MAX_RUNS`] bound the entries. Above [`MAX_ENTRIES`], the two oldest entries of the oldest run
/// that has several become one, which joins their troubles. Above [`MAX_RUNS`], the oldest runs are forgotten.
///
/// A chapter without records is not listed. The ring lists a chapter when it closes, and the open chapter up to its
/// last head snapshot.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The runs in their order, the oldest first.
    runs: Vec<Run>,
    /// A counter that rises with every change of entries.
    changes: u64,
    /// Whether files keep chapters that leave the ring.
    has_files: bool,
}

/// The chapters of one run of the log's writer.
#[derive(Clone, Debug)]
struct Run {
    epoch: EpochId,
    order: u64,
    chapters: BTreeMap<Seq, Listed>,
}

/// One chapter, or several of the oldest chapters as one entry.
#[derive(Clone, Debug, PartialEq)]
struct Listed {
    summary: Summary,
    in_ring: bool,
    in_file: bool,
    /// Whether the chapter's file was removed, or the chapter left the ring while no files kept chapters.
    has_expired: bool,
    is_merged: bool,
    changed: u64,
}

/// A run and those of its chapters that are in files, each with its summary. The files of the history bound its size.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRun {
    /// The name of the run.
    pub epoch: EpochId,
    /// The number that orders the run among all runs, below `u64::MAX`: a later run has a greater number. No two runs
    /// share a number, and a run's number never changes. For the run that is being written, and for a run that is
    /// listed already, it is ignored.
    pub order: u64,
    /// The summaries of the run's chapters sorted by their first records, each once. The list may be empty. A chapter
    /// without records is passed over.
    pub chapters: Vec<Summary>,
}

/// A chapter that is in a file, or an entry for several of the oldest chapters. At least one of these is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileChapter {
    /// The seq of the entry's first record.
    pub first: Seq,
    /// The seq of the entry's last record.
    pub last: Seq,
    /// The time of the entry's first record.
    pub first_at: Time,
    /// The time of the entry's last record.
    pub last_at: Time,
    /// Whether the entry is for several chapters. Files may lack some of these chapters, even the first or the last,
    /// and records between them.
    pub is_merged: bool,
}

/// The part of a catalogue that a reader has received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// The number of the last change up to which, included, the reader has received all entries.
    received: u64,
    /// The pass over the entries that has begun and not ended; `None` if there is none.
    pass: Option<Pass>,
}

/// A pass over the entries that a reader has not received, the newest first. One pass may take several messages.
#[derive(Clone, Copy, Debug)]
struct Pass {
    /// The number of the last change that the pass covers.
    until: u64,
    /// The last entry that the pass has sent; `None` before the first.
    sent: Option<EntryPlace>,
}

/// The position of an entry in a catalogue.
#[derive(Clone, Copy, Debug)]
struct EntryPlace {
    /// The order of the entry's run.
    order: u64,
    /// The seq of the entry's first record.
    first: Seq,
}

impl Listed {
    fn new(summary: Summary) -> Self {
        Self {
            summary,
            in_ring: false,
            in_file: false,
            has_expired: false,
            is_merged: false,
            changed: 0,
        }
    }

    fn availability(&self) -> Availability {
        if self.in_ring || self.in_file {
            Availability::Kept
        } else if self.has_expired {
            Availability::Expired
        } else {
            Availability::Lost
        }
    }

    /// Joins this entry and the next one of the run.
    fn join(self, next: Self) -> Self {
        Self {
            summary: self.summary.join(next.summary),
            in_ring: self.in_ring || next.in_ring,
            in_file: self.in_file || next.in_file,
            has_expired: self.has_expired || next.has_expired,
            is_merged: true,
            changed: self.changed.max(next.changed),
        }
    }
}

impl Run {
    /// Returns the entry that covers a record; `None` if no entry does.
    fn entry(&self, seq: Seq) -> Option<&Listed> {
        let (_, listed) = self.chapters.range(..=seq).next_back()?;
        (seq <= listed.summary.last).then_some(listed)
    }

    /// Joins the two oldest entries into one.
    fn merge_oldest(&mut self, changed: u64) {
        let Some((first, oldest)) = self.chapters.pop_first() else {
            return;
        };
        let joined = match self.chapters.pop_first() {
            Some((_, next)) => oldest.join(next),
            None => oldest,
        };
        self.chapters.insert(first, Listed { changed, ..joined });
    }
}

impl Catalogue {
    /// Returns a catalogue of the run that is being written, without chapters.
    #[must_use]
    pub fn new(epoch: EpochId) -> Self {
        Self {
            runs: vec![Run {
                epoch,
                order: LIVE,
                chapters: BTreeMap::new(),
            }],
            changes: 0,
            has_files: false,
        }
    }

    fn run(&self, epoch: &EpochId) -> Option<&Run> {
        self.runs.iter().find(|run| run.epoch == *epoch)
    }

    /// Returns whether files hold the listed chapter of a record; `false` if no chapter with the record is listed. For
    /// several chapters as one entry it returns whether files hold any of them, so the record itself may be missing.
    #[must_use]
    pub fn is_in_file(&self, epoch: &EpochId, seq: Seq) -> bool {
        let listed = self.run(epoch).and_then(|run| run.entry(seq));
        listed.is_some_and(|listed| listed.in_file)
    }

    /// Returns the first chapter in files that holds `seq` or a later record of a run, as the seqs of its first and
    /// last record. Of an entry for several chapters, files may lack some records, even the first or the last. `None`
    /// if no file holds such a chapter, or the run is unknown.
    #[must_use]
    pub fn next_in_file(&self, epoch: &EpochId, seq: Seq) -> Option<(Seq, Seq)> {
        let mut chapters = self.run(epoch)?.chapters.values();
        let next = chapters.find(|listed| listed.in_file && seq <= listed.summary.last)?;
        Some((next.summary.first, next.summary.last))
    }

    /// Returns the last chapter in files that begins before `seq` in a run; `None` if no file holds such a chapter, or
    /// the run is unknown.
    #[must_use]
    pub fn last_in_file(&self, epoch: &EpochId, seq: Seq) -> Option<FileChapter> {
        let chapters = self.run(epoch)?.chapters.range(..seq).rev();
        let (first, listed) = chapters
            .map(|(first, listed)| (*first, listed))
            .find(|(_, of)| of.in_file)?;
        Some(FileChapter {
            first,
            last: listed.summary.last,
            first_at: listed.summary.first_at,
            last_at: listed.summary.last_at,
            is_merged: listed.is_merged,
        })
    }

    /// Returns the oldest listed record that the ring or a file holds: its run, its seq and its time. If several
    /// chapters are one entry, it is the first record of the entry, even if only a later chapter is held. `None` if
    /// there is no such record.
    #[must_use]
    pub fn kept_from(&self) -> Option<(&EpochId, Seq, Time)> {
        self.runs.iter().find_map(|run| {
            let mut chapters = run.chapters.values();
            let kept = chapters.find(|listed| listed.availability() == Availability::Kept)?;
            Some((&run.epoch, kept.summary.first, kept.summary.first_at))
        })
    }

    /// Returns all runs, the oldest first and the one that is being written last. Each run comes with the seq of its
    /// last listed record; 0 if the run has no entry.
    pub fn runs(&self) -> impl Iterator<Item = (&EpochId, Seq)> {
        self.runs.iter().map(|run| {
            let last = run.chapters.values().next_back();
            let last = last.map_or(Seq(0), |listed| listed.summary.last);
            (&run.epoch, last)
        })
    }

    /// Returns the number of entries of all runs, at most [`MAX_ENTRIES`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.chapters.len()).sum()
    }

    /// Returns whether the catalogue has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lists a chapter of the ring, which is of the run that is being written. The summary of the open chapter is its
    /// summary so far.
    pub(crate) fn put(&mut self, summary: Summary) {
        let changed = self.changes + 1;
        let Some(live) = self.runs.last_mut() else {
            return;
        };
        let known = live.chapters.get(&summary.first);
        let is_same = known.is_some_and(|known| known.summary == summary);
        if summary.records() == 0 || is_same && known.is_some_and(|known| known.in_ring) {
            return;
        }
        let in_file = is_same && known.is_some_and(|known| known.in_file);
        self.changes = changed;
        let listed = Listed {
            in_ring: true,
            in_file,
            changed,
            ..Listed::new(summary)
        };
        live.chapters.insert(listed.summary.first, listed);
        self.bound();
    }

    /// Notes that the ring has dropped a chapter.
    pub(crate) fn left_ring(&mut self, first: Seq) {
        let (changed, has_files) = (self.next_change(), self.has_files);
        let live = self.runs.last_mut();
        if let Some(listed) = live.and_then(|live| live.chapters.get_mut(&first)) {
            listed.in_ring = false;
            listed.has_expired |= !has_files;
            listed.changed = changed;
        }
    }

    /// Notes that files hold the records from `first` to `last`, both included, of the run that is being written. Only
    /// listed chapters that lie wholly between `first` and `last` count. From now on files count as keeping chapters
    /// that leave the ring. Returns whether an entry changed; `false` if all chapters in the range were noted before,
    /// or if there are none.
    pub fn keep(&mut self, first: Seq, last: Seq) -> bool {
        self.has_files = true;
        let changed = self.changes + 1;
        let Some(live) = self.runs.last_mut() else {
            return false;
        };
        let mut is_changed = false;
        for (_, listed) in live.chapters.range_mut(first..).rev() {
            if listed.summary.last <= last && !listed.in_file {
                listed.in_file = true;
                listed.changed = changed;
                is_changed = true;
            }
        }
        self.changes += u64::from(is_changed);
        is_changed
    }

    /// Replaces the list of all chapters in files; `files` has each run once, in any order. A listed chapter that no
    /// file holds any more stays listed, and counts as expired once it is not in the ring either. The same holds for
    /// the chapters of a run that is not in `files`. A stretch between two chapters in a run's files is listed as lost
    /// if no entry has its first record. The rest of a chapter that a file holds cut short is listed as lost, too, if
    /// the ring has dropped the chapter. From now on files count as keeping chapters that leave the ring.
    pub fn set_files(&mut self, files: &[FileRun]) {
        self.has_files = true;
        let changed = self.next_change();
        for run in &mut self.runs {
            let file = files.iter().find(|file| file.epoch == run.epoch);
            for (first, listed) in &mut run.chapters {
                let is_there = file.is_some_and(|file| holds(file, *first, listed));
                if listed.in_file && !is_there {
                    listed.has_expired = true;
                }
                if listed.in_file != is_there {
                    (listed.in_file, listed.changed) = (is_there, changed);
                }
            }
        }
        for file in files {
            let place = self.runs.iter().position(|run| run.epoch == file.epoch);
            let place = place.unwrap_or_else(|| {
                let place = self.runs.partition_point(|run| run.order <= file.order);
                let place = place.min(self.runs.len().saturating_sub(1));
                let run = Run {
                    epoch: file.epoch.clone(),
                    order: file.order,
                    chapters: BTreeMap::new(),
                };
                self.runs.insert(place, run);
                place
            });
            let run = &mut self.runs[place];
            add(run, &file.chapters, changed);
        }
        self.bound();
    }

    fn next_change(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    fn bound(&mut self) {
        let surplus = self.runs.len().saturating_sub(MAX_RUNS);
        self.runs.drain(..surplus);
        let mut surplus = self.len().saturating_sub(MAX_ENTRIES);
        let changed = self.changes;
        for run in &mut self.runs {
            while surplus > 0 && run.chapters.len() > 1 {
                run.merge_oldest(changed);
                surplus -= 1;
            }
        }
    }

    /// Whether there are entries that a reader has not received.
    pub(crate) fn has_news(&self, cursor: &Cursor) -> bool {
        cursor.pass.is_some() || cursor.received < self.changes
    }

    /// Returns the next message for a reader, with the newest entries that it has not received; `None` once it has all.
    pub(crate) fn next_message(&self, log: &LogId, cursor: &mut Cursor) -> Option<Vec<u8>> {
        if !self.has_news(cursor) {
            return None;
        }
        let Pass { until, mut sent } = cursor.pass.unwrap_or(Pass {
            until: self.changes,
            sent: None,
        });
        for run in self.runs.iter().rev() {
            let below = match sent {
                Some(entry) if entry.order < run.order => continue,
                Some(entry) if entry.order == run.order => entry.first,
                _ => Seq(u64::MAX),
            };
            let mut entries = Vec::new();
            for (first, listed) in run.chapters.range(..below).rev() {
                if cursor.received < listed.changed && listed.changed <= until {
                    let entry = CatalogueEntry {
                        availability: listed.availability(),
                        is_merged: listed.is_merged,
                        summary: listed.summary.clone(),
                    };
                    push_catalogue_entry(&entry, &mut entries);
                    sent = Some(EntryPlace {
                        order: run.order,
                        first: *first,
                    });
                    if entries.len() >= MESSAGE_BYTES {
                        break;
                    }
                }
            }
            if !entries.is_empty() {
                cursor.pass = Some(Pass { until, sent });
                let header = wire::Catalogue {
                    log: log.clone(),
                    epoch: run.epoch.clone(),
                    order: run.order,
                };
                return Some(wire::encode_server(&header.into(), &[&entries]));
            }
        }
        *cursor = Cursor {
            received: until,
            pass: None,
        };
        self.next_message(log, cursor)
    }
}

/// Whether a run's files hold the chapter of an entry; for several chapters as one entry, whether the files hold any of
/// them.
fn holds(file: &FileRun, first: Seq, listed: &Listed) -> bool {
    let last = listed.summary.last;
    let place = file
        .chapters
        .partition_point(|summary| summary.first < first);
    file.chapters.get(place).is_some_and(|summary| {
        if listed.is_merged {
            summary.first <= last
        } else {
            summary.first == first && summary.last >= last
        }
    })
}

/// Adds chapters of files to a run, and the lost stretches between them.
fn add(run: &mut Run, chapters: &[Summary], changed: u64) {
    let mut before: Option<&Summary> = None;
    let mut rests = Vec::new();
    for summary in chapters.iter().filter(|summary| summary.records() > 0) {
        let merged = run
            .entry(summary.first)
            .is_some_and(|known| known.is_merged);
        if !merged {
            match run.chapters.entry(summary.first) {
                Place::Occupied(mut known) => {
                    let known = known.get_mut();
                    // A failed write cut this file's chapter short: its rest is lost once the ring has dropped it.
                    if !known.in_ring && !known.in_file && summary.last < known.summary.last {
                        let (next, last_at) = (known.summary.last.next(), known.summary.last_at);
                        let rest = lost((summary.last.next(), next), (summary.last_at, last_at));
                        known.summary = summary.clone();
                        rests.push(rest);
                    }
                    let is_longer = known.summary.last < summary.last && !known.in_ring;
                    if is_longer || !known.in_file {
                        known.changed = changed;
                    }
                    if is_longer {
                        known.summary = summary.clone();
                    }
                    known.in_file = known.summary.last <= summary.last;
                }
                Place::Vacant(place) => {
                    place.insert(Listed {
                        in_file: true,
                        changed,
                        ..Listed::new(summary.clone())
                    });
                }
            }
        }
        if let Some(before) = before
            && before.last.next() < summary.first
            && run.entry(before.last.next()).is_none()
        {
            let seqs = (before.last.next(), summary.first);
            rests.push(lost(seqs, (before.last_at, summary.first_at)));
        }
        if before.is_none_or(|before| before.last < summary.last) {
            before = Some(summary);
        }
    }
    for rest in rests {
        let listed = Listed {
            changed,
            ..Listed::new(rest)
        };
        run.chapters.entry(listed.summary.first).or_insert(listed);
    }
}

/// A summary of the lost records from `first` up to `next`, excluded, without counts or troubles.
fn lost((first, next): (Seq, Seq), (from, to): (Time, Time)) -> Summary {
    Summary {
        first,
        last: Seq(next.0.saturating_sub(1)),
        first_at: from,
        last_at: to.max(from),
        counts: Vec::new(),
        worst: None,
        troubles: Vec::new(),
    }
}
