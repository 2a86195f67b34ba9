//! `watchscope watch --from`: what a recording holds, on standard output.

use std::io::Write;
use std::path::Path;

use watchscope_model::chapter::ChapterReader;
use watchscope_model::event::Loss;
use watchscope_model::json::{LogLine, push_line};
use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{Entry, EpochId, Event, LogId, Seq};
use watchscope_recording::Chapter;

use super::args::Output;
use super::exit::Failure;
use super::terminal;
use crate::recordings::OpenFile;

/// Writes all records of a recording.
///
/// # Errors
/// Exit code 1 if the file cannot be read; also if a part of it cannot, after what could be read is written.
pub(super) fn write(file: &Path, output: Output) -> Result<(), Failure> {
    let open = OpenFile::open(file).map_err(Failure::failed)?;
    match output {
        Output::Text => write_to(&open, &mut Text(anstream::stdout()), file),
        Output::Jsonl => write_to(&open, &mut Jsonl(std::io::stdout().lock()), file),
    }
}

/// A form of the log, and where it goes. A reader that has gone has what it wanted.
trait Form {
    /// The chapters of a run of a log begin.
    fn log(&mut self, line: &LogLine) -> std::io::Result<()>;
    fn entries(&mut self, entries: &[Entry]) -> std::io::Result<()>;
    /// Records that the file does not hold.
    fn hole(&mut self, from: Seq, to: Seq) -> std::io::Result<()>;
    fn flush(&mut self) -> std::io::Result<()>;
}

struct Text<W>(W);

impl<W: Write> Form for Text<W> {
    fn log(&mut self, _: &LogLine) -> std::io::Result<()> {
        Ok(())
    }

    fn entries(&mut self, entries: &[Entry]) -> std::io::Result<()> {
        let mut records = entries.iter().filter_map(Entry::record);
        records.try_for_each(|record| writeln!(self.0, "{}", terminal::line(record)))
    }

    fn hole(&mut self, from: Seq, to: Seq) -> std::io::Result<()> {
        writeln!(self.0, "{}", terminal::hole_line(from.0, to.0))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

struct Jsonl<W>(W);

impl<W: Write> Form for Jsonl<W> {
    fn log(&mut self, line: &LogLine) -> std::io::Result<()> {
        let mut lines = Vec::new();
        push_line(line, &mut lines);
        self.0.write_all(&lines)
    }

    fn entries(&mut self, entries: &[Entry]) -> std::io::Result<()> {
        let mut lines = Vec::new();
        entries
            .iter()
            .for_each(|entry| push_line(entry, &mut lines));
        self.0.write_all(&lines)
    }

    fn hole(&mut self, from: Seq, to: Seq) -> std::io::Result<()> {
        let loss = Loss {
            place: LossPlace::File,
            count: to.0 - from.0 + 1,
            from_seq: Some(from),
            to_seq: Some(to),
            watch: None,
            bytes: None,
            reason: None,
            what: None,
        };
        let mut lines = Vec::new();
        push_line(&Event::from(loss), &mut lines);
        self.0.write_all(&lines)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// How far the records of a run of a log are written.
struct Run {
    log: LogId,
    epoch: EpochId,
    next: Seq,
}

/// What of a file could not be written.
#[derive(Default)]
struct Written {
    /// Records whose kind this build does not know.
    unknown: u64,
    /// What could not be read.
    damaged: Vec<String>,
}

fn write_to(open: &OpenFile, form: &mut impl Form, file: &Path) -> Result<(), Failure> {
    let contents = open.contents();
    let mut written = Written::default();
    let mut run = None;
    let told = contents.damaged.iter().map(ToString::to_string);
    written.damaged.extend(told);
    for entry in &contents.chapters {
        let chapter = match open.chapter(entry).map_err(Failure::failed)? {
            Ok(chapter) => chapter,
            Err(damage) => {
                written.damaged.push(damage.to_string());
                continue;
            }
        };
        let told = chapter.damaged.iter().map(ToString::to_string);
        written.damaged.extend(told);
        let last = || last_of(open, entry.file);
        if write_chapter(&chapter, last, &mut run, &mut written, form).is_err() {
            return Ok(());
        }
    }
    if form.flush().is_err() {
        return Ok(());
    }
    if written.unknown > 0 {
        tracing::warn!(
            "{} records are of kinds that this watchscope does not know; a later one wrote them",
            written.unknown
        );
    }
    if contents.chapters.is_empty() && written.damaged.is_empty() {
        tracing::warn!("{} holds no records yet", file.display());
    }
    if written.damaged.is_empty() {
        return Ok(());
    }
    written.damaged.sort();
    written.damaged.dedup();
    Err(Failure::failed(format!(
        "{}: a part could not be read; the rest is written.\n{}",
        file.display(),
        written.damaged.join("\n")
    )))
}

/// The last record of the run of a log that an `F` block is about. It looks at every chapter.
fn last_of(open: &OpenFile, file: Option<usize>) -> Option<Seq> {
    let chapters = open.contents().chapters.iter();
    let of = chapters.filter(|entry| entry.file == file);
    of.map(|entry| entry.summary.last).max()
}

fn write_chapter(
    chapter: &Chapter,
    last: impl FnOnce() -> Option<Seq>,
    run: &mut Option<Run>,
    written: &mut Written,
    form: &mut impl Form,
) -> std::io::Result<()> {
    let (mut reader, opening) = match ChapterReader::open(chapter.frames.head()) {
        Ok(opened) => opened,
        Err(error) => {
            written
                .damaged
                .push(format!("a chapter's opening: {error}"));
            return Ok(());
        }
    };
    let first = opening.state.seq.next();
    let goes_on = run
        .as_ref()
        .is_some_and(|run| (&run.log, &run.epoch) == (&opening.log, &opening.epoch));
    let run = if goes_on {
        run.as_mut().expect("it goes on")
    } else {
        form.log(&LogLine {
            log: opening.log.clone(),
            epoch: opening.epoch.clone(),
            first,
            head: last().unwrap_or(opening.state.seq),
        })?;
        run.insert(Run {
            log: opening.log,
            epoch: opening.epoch,
            next: first,
        })
    };
    if run.next < first {
        form.hole(run.next, Seq(first.0 - 1))?;
    }
    for segment in chapter.frames.segments() {
        let entries = match reader.entries(segment) {
            Ok(entries) => entries,
            Err(error) => {
                written.damaged.push(format!(
                    "a segment of the chapter that begins with record {first}: {error}"
                ));
                break;
            }
        };
        written.unknown += entries.iter().filter(|entry| entry.is_none()).count() as u64;
        let next = run.next;
        // What two chapters of a file both hold is written once.
        let entries = entries
            .into_iter()
            .flatten()
            .filter(|entry| entry.seq() >= next);
        let entries: Vec<Entry> = entries.collect();
        form.entries(&entries)?;
        run.next = run.next.max(reader.next_seq());
    }
    Ok(())
}
