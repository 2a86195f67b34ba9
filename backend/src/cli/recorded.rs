//! Reads recordings record by record. `watchscope watch --from` writes them to standard output.

use std::io::Write;
use std::path::PathBuf;

use watchscope_model::chapter::{ChapterReader, Opening};
use watchscope_model::event::Loss;
use watchscope_model::json::{LogLine, push_line};
use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{Entry, Event, Seq};
use watchscope_recording::{Chapter, FileBlock};
use watchscope_replay::Run;

use super::args::{Judge, Output};
use super::exit::Failure;
use super::judging::Judging;
use super::terminal;
use crate::recordings::{Joined, OpenFile};

/// Writes all records of recordings of one log, with the judgements that `judge` chooses.
///
/// # Errors
/// Exit code 1 if a part cannot be read, after the readable parts were written; 2 if the recordings are of several logs.
pub(super) fn write(
    paths: &[PathBuf],
    log: Option<&str>,
    output: Output,
    judge: Judge,
) -> Result<(), Failure> {
    let joined = Joined::open(paths, log)?;
    match output {
        Output::Text => write_to(&joined, judge, &mut Text(anstream::stdout())),
        Output::Jsonl => write_to(&joined, judge, &mut Jsonl(std::io::stdout().lock())),
    }
}

/// A form of the log, with its destination.
pub(super) trait Form {
    /// Begins a run of a log, whose first chapter was opened.
    fn log(&mut self, line: &LogLine, opened: &Opened<'_>) -> std::io::Result<()>;
    fn entries(&mut self, entries: &[Entry]) -> std::io::Result<()>;
    /// Notes records that the recording does not hold, before this chapter.
    fn hole(&mut self, from: Seq, to: Seq, opened: &Opened<'_>) -> std::io::Result<()>;
    /// Ends a run: all of its records are written.
    fn end(&mut self) -> std::io::Result<()>;
}

/// A chapter that was opened.
pub(super) struct Opened<'a> {
    pub(super) reader: &'a ChapterReader,
    pub(super) opening: &'a Opening,
    /// The description in its file.
    pub(super) of: Option<&'a FileBlock>,
}

/// A form for readers of a stream. If the reader closes it, writing stops without an error.
trait Stream: Form {
    /// Writes the comparison of new judgements with the recorded ones.
    fn comparison(&mut self, lines: &[String]) -> std::io::Result<()>;
    fn flush(&mut self) -> std::io::Result<()>;
}

struct Text<W>(W);

impl<W: Write> Form for Text<W> {
    fn log(&mut self, _: &LogLine, _: &Opened<'_>) -> std::io::Result<()> {
        Ok(())
    }

    fn entries(&mut self, entries: &[Entry]) -> std::io::Result<()> {
        let mut records = entries.iter().filter_map(Entry::record);
        records.try_for_each(|record| writeln!(self.0, "{}", terminal::line(record)))
    }

    fn hole(&mut self, from: Seq, to: Seq, _: &Opened<'_>) -> std::io::Result<()> {
        writeln!(self.0, "{}", terminal::hole_line(from.0, to.0))
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Stream for Text<W> {
    fn comparison(&mut self, lines: &[String]) -> std::io::Result<()> {
        lines.iter().try_for_each(|line| writeln!(self.0, "{line}"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

struct Jsonl<W>(W);

impl<W: Write> Form for Jsonl<W> {
    fn log(&mut self, line: &LogLine, _: &Opened<'_>) -> std::io::Result<()> {
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

    fn hole(&mut self, from: Seq, to: Seq, _: &Opened<'_>) -> std::io::Result<()> {
        let loss = Loss::of_run(LossPlace::File, from, to);
        let mut lines = Vec::new();
        push_line(&Event::from(loss), &mut lines);
        self.0.write_all(&lines)
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Stream for Jsonl<W> {
    /// The comparison goes to standard error, because each line of standard output is an object of the log.
    fn comparison(&mut self, lines: &[String]) -> std::io::Result<()> {
        let mut error = std::io::stderr();
        // An unwritable standard error is ignored.
        let _ = lines.iter().try_for_each(|line| writeln!(error, "{line}"));
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// The state of writing recordings.
pub(super) struct Written {
    /// The judgements that are written.
    pub(super) judging: Judging,
    /// The number of records of kinds that this build does not know.
    unknown: u64,
    /// The parts that could not be read, each with its file.
    pub(super) damaged: Vec<String>,
}

/// Writes all runs of recordings. The inner result is an error if the form could not write.
///
/// # Errors
/// Exit code 1 if a file cannot be read.
pub(super) fn write_runs(
    joined: &Joined,
    judge: Judge,
    form: &mut impl Form,
) -> Result<std::io::Result<Written>, Failure> {
    let mut written = Written {
        judging: Judging::new(judge),
        unknown: 0,
        damaged: joined.newer().iter().map(ToString::to_string).collect(),
    };
    for file in joined.files() {
        let damaged = &file.contents().damaged;
        damaged.iter().for_each(|damage| written.note(file, damage));
    }
    for run in joined.runs() {
        if let Err(error) = write_run(joined, run, &mut written, form)? {
            return Ok(Err(error));
        }
    }
    written.damaged.sort();
    written.damaged.dedup();
    if written.unknown > 0 {
        tracing::warn!(
            "{} records are of kinds that this watchscope does not know; a later one wrote them",
            written.unknown
        );
    }
    Ok(Ok(written))
}

fn write_to(joined: &Joined, judge: Judge, form: &mut impl Stream) -> Result<(), Failure> {
    // A reader that closed the stream wants no more.
    let Ok(written) = write_runs(joined, judge, form)? else {
        return Ok(());
    };
    let comparison = written.judging.lines();
    if form.comparison(&comparison).is_err() || form.flush().is_err() {
        return Ok(());
    }
    if joined.runs().is_empty() && written.damaged.is_empty() {
        tracing::warn!("no records are recorded yet");
    }
    if written.damaged.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "a part could not be read; the rest is written.\n{}",
        written.damaged.join("\n")
    )))
}

/// Writes the records of one run of the log's writer. The inner result is an error if the form could not write.
fn write_run(
    joined: &Joined,
    run: &Run,
    written: &mut Written,
    form: &mut impl Form,
) -> Result<std::io::Result<()>, Failure> {
    let mut next = None;
    for (file, entry) in joined.chapters(run) {
        // Another file has all records of this chapter.
        if next.is_some_and(|next| entry.summary.last < next) {
            continue;
        }
        let chapter = match file.chapter(entry).map_err(Failure::failed)? {
            Ok(chapter) => chapter,
            Err(damage) => {
                written.note(file, &damage);
                continue;
            }
        };
        let damaged = &chapter.damaged;
        damaged.iter().for_each(|damage| written.note(file, damage));
        let of = file.contents().file_of(entry);
        let done = write_chapter(
            &chapter,
            (file, of),
            || joined.last(run),
            &mut next,
            written,
            form,
        );
        if done.is_err() {
            return Ok(done);
        }
    }
    let ended = form.entries(&written.judging.end());
    Ok(ended.and_then(|()| form.end()))
}

impl Written {
    fn note(&mut self, file: &OpenFile, what: impl std::fmt::Display) {
        self.damaged
            .push(format!("{}: {what}", file.path().display()));
    }
}

/// Writes a chapter's records from `next` on. `next` is the seq after the last written record of the run.
fn write_chapter(
    chapter: &Chapter,
    (file, of): (&OpenFile, Option<&FileBlock>),
    last: impl FnOnce() -> Seq,
    next: &mut Option<Seq>,
    written: &mut Written,
    form: &mut impl Form,
) -> std::io::Result<()> {
    let (mut reader, opening) = match ChapterReader::open(chapter.frames.head()) {
        Ok(opened) => opened,
        Err(error) => {
            written.note(file, format_args!("a chapter's opening: {error}"));
            return Ok(());
        }
    };
    let first = opening.state.seq.next();
    let opened = Opened {
        reader: &reader,
        opening: &opening,
        of,
    };
    let mut at = match *next {
        Some(next) => {
            if next < first {
                let hole = written.judging.go_on(next, &opening.state);
                form.entries(&hole.before)?;
                form.hole(hole.from, hole.to, &opened)?;
            }
            next
        }
        None => {
            let line = LogLine {
                log: opening.log.clone(),
                epoch: opening.epoch.clone(),
                first,
                head: last().max(opening.state.seq),
            };
            form.log(&line, &opened)?;
            written.judging.begin(&opening.epoch, &opening.state);
            first
        }
    };
    for segment in chapter.frames.segments() {
        let entries = match reader.entries(segment) {
            Ok(entries) => entries,
            Err(error) => {
                let place = format_args!(
                    "a segment of the chapter that begins with record {first}: {error}"
                );
                written.note(file, place);
                break;
            }
        };
        written.unknown += entries.iter().filter(|entry| entry.is_none()).count() as u64;
        // A record that two chapters hold is written once.
        let entries = entries
            .into_iter()
            .flatten()
            .filter(|entry| entry.seq() >= at);
        let entries = written.judging.take(entries.collect());
        form.entries(&entries)?;
        at = at.max(reader.next_seq());
    }
    *next = Some(at.max(first));
    Ok(())
}
