//! Records as JSON lines, as `watchscope watch -o jsonl` writes them.

use watchscope_model::Seq;
use watchscope_model::codec::DecodeError;
use watchscope_model::json::{LogLine, push_line};

use crate::taken::{Taken, TakenRun};

/// All records; each run begins with a `log` line of its own. Behind them stand notes of persons about the range whose
/// records lie elsewhere, with their log and epoch.
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
