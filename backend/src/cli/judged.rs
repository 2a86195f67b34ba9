//! Recordings that are judged again for `watchscope replay`. They are written into new files, which are served.

use std::io;
use std::path::Path;

use watchscope_journal::again::Numbers;
use watchscope_log::{NextChapter, Sealed, Sealer};
use watchscope_model::json::LogLine;
use watchscope_model::{Entry, EpochId, Layers, LogId, Seq, State};
use watchscope_recording::Writer;

use super::args::Judge;
use super::exit::Failure;
use super::recorded::{Form, Opened, write_runs};
use crate::recordings::{Disk, DiskFile, HostDisk, Joined, deflated, file_block};

/// Recordings with new judgements.
pub(super) struct Judged {
    /// The recordings. Their files have no names any more, so none is left behind, however watchscope ends.
    pub(super) joined: Joined,
    /// For each run, the mapping between the seqs of its records and the recorded ones.
    pub(super) numbers: Vec<(EpochId, Numbers)>,
    /// The comparison of the judgements with the recorded ones, in lines.
    pub(super) comparison: Vec<String>,
}

/// Judges all runs of recordings again, and writes them into the folder for temporary files. Unreadable parts are left out,
/// with a warning. Returns `None` if nothing can be read.
///
/// # Errors
/// Exit code 1 if a recording cannot be read, or if the new files cannot be written.
pub(super) fn judged_again(joined: &Joined) -> Result<Option<Judged>, Failure> {
    let unwritten = |error: io::Error| {
        let folder = std::env::temp_dir();
        Failure::failed(format!(
            "cannot write what is judged again into {}: {error}\nTMPDIR names another folder.",
            folder.display()
        ))
    };
    let folder = tempfile::Builder::new()
        .prefix("watchscope-")
        .tempdir()
        .map_err(unwritten)?;
    let mut files = Files {
        folder: folder.path(),
        begun: 0,
        open: None,
    };
    let written = write_runs(joined, Judge::Again, &mut files)?.map_err(unwritten)?;
    for damage in &written.damaged {
        tracing::warn!("{damage}");
    }
    if files.begun == 0 {
        return Ok(None);
    }
    let comparison = written.judging.lines();
    // The files are read in the order in which they were written, which is that of the runs.
    let joined = Joined::open(&[folder.path().to_owned()], None)?;
    Ok(Some(Judged {
        joined,
        numbers: written.judging.into_numbers(),
        comparison,
    }))
}

/// A form that writes each run into a file of its own.
struct Files<'a> {
    folder: &'a Path,
    begun: u32,
    open: Option<OpenRun>,
}

impl Form for Files<'_> {
    fn log(&mut self, line: &LogLine, opened: &Opened<'_>) -> io::Result<()> {
        let of = opened.of.cloned();
        let of = of.unwrap_or_else(|| file_block(&line.log, &line.epoch));
        let (writer, bytes) = Writer::begin(&of).map_err(io::Error::other)?;
        // The file has a number and not the run's name, because a stranger chose that name.
        let path = self.folder.join(format!("{:010}.wscope", self.begun));
        let mut file = HostDisk.create(&path)?;
        file.append(&bytes)?;
        self.begun += 1;
        self.open = Some(OpenRun {
            file,
            writer,
            chapters: Chapters::open(opened, opened.opening.state.seq)?,
        });
        Ok(())
    }

    fn entries(&mut self, entries: &[Entry]) -> io::Result<()> {
        match &mut self.open {
            Some(run) => entries.iter().try_for_each(|entry| run.take(entry)),
            None => Ok(()),
        }
    }

    fn hole(&mut self, _: Seq, to: Seq, opened: &Opened<'_>) -> io::Result<()> {
        let Some(run) = &mut self.open else {
            return Ok(());
        };
        run.close()?;
        run.chapters = Chapters::open(opened, to)?;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(mut run) = self.open.take() else {
            return Ok(());
        };
        run.close()?;
        let bytes = run.writer.finish().map_err(io::Error::other)?;
        run.file.append(&bytes)
    }
}

/// A run that is being written.
struct OpenRun {
    file: Box<dyn DiskFile>,
    writer: Writer,
    chapters: Chapters,
}

/// The chapters of a run that are being made, up to a hole.
///
/// Bounded as [`Sealer`]: it holds the open chapter's frames.
struct Chapters {
    log: LogId,
    epoch: EpochId,
    sealer: Sealer,
    /// The fold of all entries that were added so far.
    state: State,
    head: Vec<u8>,
    segments: Vec<Vec<u8>>,
}

impl Chapters {
    /// Continues with an opened chapter, after the record `last`.
    fn open(opened: &Opened<'_>, last: Seq) -> io::Result<Self> {
        let opening = opened.opening;
        let layers = opened.reader.layers(&opening.state, &opening.layers);
        let layers = layers.map_err(io::Error::other)?;
        let mut state = opening.state.clone();
        state.seq = last;
        let (log, epoch) = (opening.log.clone(), opening.epoch.clone());
        Ok(Self::begin(log, epoch, state, layers))
    }

    fn begin(log: LogId, epoch: EpochId, state: State, layers: Layers) -> Self {
        let (sealer, first) = Sealer::after(log.clone(), epoch.clone(), state.clone(), layers);
        Self {
            log,
            epoch,
            sealer,
            state,
            head: first.opening.to_vec(),
            segments: Vec::new(),
        }
    }

    /// Continues with the record `next`. The records before it are of kinds that this build does not know.
    fn skip_to(&mut self, next: Seq) {
        let mut state = std::mem::take(&mut self.state);
        state.pass(Seq(next.0.saturating_sub(1)), state.at);
        let (log, epoch) = (self.log.clone(), self.epoch.clone());
        *self = Self::begin(log, epoch, state, self.sealer.layers().clone());
    }

    fn take(&mut self, entry: &Entry) -> Option<Sealed> {
        match entry {
            Entry::Record(record) => {
                self.state.apply(record);
                self.sealer.take(record, &self.state)
            }
            Entry::Inside(record) => {
                self.state.pass(record.seq, record.at);
                self.sealer.take_inside(record.clone(), &self.state)
            }
        }
    }
}

impl OpenRun {
    fn take(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.seq() != self.chapters.state.seq.next() {
            self.close()?;
            self.chapters.skip_to(entry.seq());
        }
        match self.chapters.take(entry) {
            Some(sealed) => self.sealed(sealed),
            None => Ok(()),
        }
    }

    fn sealed(&mut self, Sealed { segment, closed }: Sealed) -> io::Result<()> {
        self.chapters.segments.push(segment.frame().to_vec());
        if let Some((_, NextChapter { opening, .. })) = closed {
            self.write_chapter()?;
            self.chapters.head = opening.to_vec();
        }
        Ok(())
    }

    /// Closes the open chapter, if it has records.
    fn close(&mut self) -> io::Result<()> {
        let at = self.chapters.state.at;
        if let Some(sealed) = self.chapters.sealer.seal(at, &self.chapters.state) {
            self.sealed(sealed)?;
        }
        self.write_chapter()
    }

    fn write_chapter(&mut self) -> io::Result<()> {
        let segments = std::mem::take(&mut self.chapters.segments);
        if segments.is_empty() {
            return Ok(());
        }
        let frames = segments.iter().map(Vec::as_slice);
        let packing =
            Writer::whole_chapter(&self.chapters.head, frames).map_err(io::Error::other)?;
        let packed = self.writer.packed(&packing, &deflated(packing.raw()));
        self.file.append(&packed.map_err(io::Error::other)?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use watchscope_model::chapter::ChapterReader;
    use watchscope_model::{Event, Record};
    use watchscope_scenarios::{Run, story};

    use super::*;
    use crate::replay::Replay;

    /// Two minutes of a story with a stream that ends with a 410, including the cluster's inside.
    fn story_entries() -> Vec<Entry> {
        let mut run = Run::watched(story("F11").unwrap(), 1);
        let begin = run.records().iter().cloned().map(Entry::Record);
        let mut story: Vec<Entry> = begin.collect();
        run.tell_one_log();
        run.run_for(Duration::from_secs(120));
        story.extend(run.take_log());
        story
    }

    fn renumbered(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
        let mut seq = Seq(0);
        let mut entries: Vec<Entry> = entries.collect();
        for entry in &mut entries {
            seq = seq.next();
            match entry {
                Entry::Record(record) => record.seq = seq,
                Entry::Inside(record) => record.seq = seq,
            }
        }
        entries
    }

    /// Writes entries into a file. Each change has its number as its body.
    fn written(path: &Path, epoch: &str, entries: &[Entry]) {
        let (log, epoch): (LogId, EpochId) = ("simulated".into(), epoch.into());
        let (writer, bytes) = Writer::begin(&file_block(&log, &epoch)).unwrap();
        let mut file = HostDisk.create(path).unwrap();
        file.append(&bytes).unwrap();
        let chapters = Chapters::begin(log, epoch, State::default(), Layers::default());
        let mut run = OpenRun {
            file,
            writer,
            chapters,
        };
        entries.iter().for_each(|entry| run.take(entry).unwrap());
        run.close().unwrap();
        let numbers: Vec<(Seq, String)> =
            changes(entries).map(|seq| (seq, seq.to_string())).collect();
        let bodies = numbers.iter().map(|(seq, text)| (*seq, text.as_bytes()));
        let first = run.writer.contents().chapters[0].summary.first;
        let packing = Writer::bodies(first, bodies).unwrap().unwrap();
        let block = run.writer.packed(&packing, &deflated(packing.raw()));
        run.file.append(&block.unwrap()).unwrap();
        let end = run.writer.finish().unwrap();
        run.file.append(&end).unwrap();
    }

    fn changes(entries: &[Entry]) -> impl Iterator<Item = Seq> {
        let is_change = |record: &&Record| matches!(record.event, Event::Change(_));
        let changes = entries.iter().filter_map(Entry::record).filter(is_change);
        changes.map(|record| record.seq)
    }

    fn entries(joined: &Joined) -> Vec<Entry> {
        let mut entries = Vec::new();
        for run in joined.runs() {
            for (file, entry) in joined.chapters(run) {
                let chapter = file.chapter(entry).unwrap().unwrap();
                let (mut reader, _) = ChapterReader::open(chapter.frames.head()).unwrap();
                for segment in chapter.frames.segments() {
                    entries.extend(reader.entries(segment).unwrap().into_iter().flatten());
                }
            }
        }
        entries
    }

    fn is_judgement(entry: &Entry) -> bool {
        let record = entry.record();
        record.is_some_and(|of| matches!(of.event, Event::Attribution(_) | Event::Finding(_)))
    }

    /// Returns a recording of these entries, and the same judged again.
    fn again(recorded: &[Entry]) -> (Joined, Judged) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wscope");
        written(&path, "e1", recorded);
        let joined = Joined::open(&[path], None).unwrap();
        let judged = judged_again(&joined).unwrap().unwrap();
        (joined, judged)
    }

    #[test]
    fn a_recording_with_the_same_judgements_is_rewritten_unchanged() {
        let story = story_entries();
        assert!(story.iter().any(is_judgement));
        let (recorded, judged) = again(&story);
        let (recorded, anew) = (entries(&recorded), entries(&judged.joined));
        let differs = std::iter::zip(&recorded, &anew).find(|(recorded, anew)| recorded != anew);
        assert_eq!(differs, None);
        assert_eq!(anew.len(), story.len());
        let [line] = &judged.comparison[..] else {
            panic!("{:?}", judged.comparison);
        };
        assert!(line.contains(" 0 that differ"), "{line}");
    }

    #[test]
    fn runs_stay_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let story = story_entries();
        // There are twelve runs, since as text 10 comes before 2.
        for number in 0..12 {
            let path = folder.path().join(format!("{number:02}.wscope"));
            written(&path, &format!("run {}", 12 - number), &story);
        }
        let joined = Joined::open(&[folder.path().to_owned()], None).unwrap();
        let judged = judged_again(&joined).unwrap().unwrap();
        let epochs = |joined: &Joined| {
            let runs = joined.runs().iter();
            let firsts = runs.map(|run| joined.chapters(run).next().unwrap());
            let epochs = firsts.map(|(file, _)| file.contents().files[0].epoch.clone());
            epochs.collect::<Vec<_>>()
        };
        assert_eq!(epochs(&joined)[0], "run 12");
        assert_eq!(epochs(&judged.joined), epochs(&joined));
    }

    #[test]
    fn a_recording_without_a_run_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wscope");
        let of = file_block(&"simulated".into(), &"e1".into());
        let (mut writer, mut bytes) = Writer::begin(&of).unwrap();
        bytes.extend(writer.finish().unwrap());
        std::fs::write(&path, bytes).unwrap();
        let joined = Joined::open(&[path], None).unwrap();
        assert!(judged_again(&joined).unwrap().is_none());
    }

    #[test]
    fn records_with_new_judgements_are_served_with_the_recorded_bodies() {
        let story = story_entries();
        let without = renumbered(story.iter().filter(|entry| !is_judgement(entry)).cloned());
        let (recorded, judged) = again(&without);
        let anew = entries(&judged.joined);
        assert!(anew.iter().filter(|entry| is_judgement(entry)).count() > 0);
        let recorded_changes: Vec<Seq> = changes(&without).collect();
        let changes: Vec<Seq> = changes(&anew).collect();
        assert_ne!(
            changes, recorded_changes,
            "judgements precede some of the changes"
        );
        let Judged {
            joined, numbers, ..
        } = judged;
        let replay = Replay::judged_again(joined, recorded, numbers, "a").unwrap();
        for (seq, recorded) in changes.into_iter().zip(recorded_changes) {
            let body = replay.past.body(&"e1".into(), seq).unwrap();
            assert_eq!(body.unwrap(), recorded.to_string(), "{seq}");
        }
    }
}
