//! Records as JSON lines, in the form of `watchscope watch -o jsonl`.

use watchscope_model::Seq;
use watchscope_model::codec::DecodeError;
use watchscope_model::json::{LogLine, push_line};

use crate::taken::{Taken, TakenRun};

/// Returns the records of the export as lines of JSON in UTF-8, run by run in the order of their seqs. A `log` line
/// comes before each run. After these lines come persons' notes about the range whose own records are in none of the
/// runs. Each such note has its log and epoch, and the notes are in the order of their records' times.
///
/// # Errors
/// If a frame cannot be read.
pub fn jsonl(taken: &Taken) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    for run in &taken.runs {
        push_line(&begins(run), &mut out);
        run.read(|entry, _| push_line(entry, &mut out))?;
    }
    for note in &taken.notes {
        push_line(note, &mut out);
    }
    Ok(out)
}

fn begins(run: &TakenRun) -> LogLine {
    let (first, head) = run.seqs().unwrap_or((Seq(1), Seq(0)));
    LogLine {
        log: run.log.clone(),
        epoch: run.epoch.clone(),
        first,
        head,
    }
}
