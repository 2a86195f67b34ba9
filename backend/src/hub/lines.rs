//! The log in the JSON form: records as lines, and the fold as lines.

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use watchscope_model::event::Loss;
use watchscope_model::json::{LogLine, push_line};
use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{EpochId, Event, Seq};

use super::api::{BadPosition, JsonLines};
use super::kept_lines::KeptLines;
use super::past::PastReader;
use super::position::split_position;
use crate::log::{LogHandle, LogReader, Read, Since};

/// Returns the records after `since` (`EPOCH.SEQ`, of any run that is kept), or from the first one in memory, then live
/// ones. Each run begins with a `log` line.
pub(super) fn records(
    log: &LogHandle,
    past: &PastReader,
    since: Option<&str>,
) -> Result<JsonLines, BadPosition> {
    let since = since.map(|text| position(log, text)).transpose()?;
    let kept = match &since {
        None => None,
        Some(Position::Here(seq)) => KeptLines::from(log, past, log.epoch().clone(), seq.next()),
        Some(Position::OtherRun(epoch, seq)) => {
            KeptLines::from(log, past, epoch.clone(), seq.next())
        }
    };
    if let Some(kept) = kept {
        let stream = stream::unfold(Source::Kept(Box::new(kept)), Source::next_lines);
        return Ok(stream.boxed());
    }
    let mut leading = Vec::new();
    let (first, line) = log_line(log);
    push_line(&line, &mut leading);
    // With `Since::First` the records that the ring drops meanwhile would be skipped silently. This start reports them as
    // lost.
    let from_first = Since::After(Seq(first.0 - 1));
    let start = match since {
        None => from_first,
        Some(Position::Here(seq)) => Since::After(seq),
        Some(Position::OtherRun(..)) => {
            push_line(&other_run(first), &mut leading);
            from_first
        }
    };
    let reader = log.reader(start);
    let live = stream::unfold(Source::Live(Box::new(reader)), Source::next_lines);
    Ok(stream::once(async { leading.into() }).chain(live).boxed())
}

/// The source of the next lines.
enum Source {
    Kept(Box<KeptLines>),
    Live(Box<LogReader>),
}

impl Source {
    async fn next_lines(self) -> Option<(Bytes, Self)> {
        match self {
            Self::Kept(mut kept) => {
                if let Some(lines) = kept.next().await {
                    return Some((lines.into(), Self::Kept(kept)));
                }
                let log = kept.log();
                let mut lines = Vec::new();
                if !kept.has_begun() {
                    push_line(&log_line(log).1, &mut lines);
                }
                let reader = log.reader(Since::After(Seq(kept.next_seq().0 - 1)));
                Some((lines.into(), Self::Live(Box::new(reader))))
            }
            Self::Live(reader) => {
                let (lines, reader) = next_lines(reader).await?;
                Some((lines, Self::Live(reader)))
            }
        }
    }
}

/// Returns the fold at the head as lines; then the stream ends.
pub(super) fn state(log: &LogHandle) -> JsonLines {
    let log = log.clone();
    stream::once(async move {
        let (state, layers, _) = log.head_with_layers().await;
        let (_, mut line) = log_line(&log);
        line.head = state.seq;
        let mut lines = Vec::new();
        push_line(&line, &mut lines);
        state.json_lines(&mut lines);
        layers.json_lines(&mut lines);
        Bytes::from(lines)
    })
    .boxed()
}

/// A position in the log.
enum Position {
    Here(Seq),
    /// A position in another run of the writer.
    OtherRun(EpochId, Seq),
}

fn position(log: &LogHandle, text: &str) -> Result<Position, BadPosition> {
    let bad = || BadPosition {
        position: text.to_owned(),
    };
    let (epoch, seq) = split_position(text).ok_or_else(bad)?;
    if epoch != log.epoch().as_str() {
        return Ok(Position::OtherRun(epoch.into(), seq));
    }
    // A line is sent only after its record was sealed. So a position beyond the head was never given out.
    if seq > log.with_ring(|ring| ring.head()) {
        return Err(bad());
    }
    Ok(Position::Here(seq))
}

fn log_line(log: &LogHandle) -> (Seq, LogLine) {
    let (first, head) = log.with_ring(|ring| (ring.first(), ring.head()));
    let line = LogLine {
        log: log.log().clone(),
        epoch: log.epoch().clone(),
        first,
        head,
    };
    (first, line)
}

/// The event in place of the rest of another run, and of the records that this run has dropped already.
fn other_run(first: Seq) -> Event {
    let dropped = first.0 - 1;
    Loss {
        place: LossPlace::Ring,
        count: dropped,
        from_seq: (dropped > 0).then_some(Seq(1)),
        to_seq: (dropped > 0).then_some(Seq(dropped)),
        watch: None,
        bytes: None,
        reason: Some(
            "the position is of another run of watchscope; what followed it there is not known"
                .to_owned(),
        ),
        what: None,
    }
    .into()
}

async fn next_lines(mut reader: Box<LogReader>) -> Option<(Bytes, Box<LogReader>)> {
    let mut lines = Vec::new();
    match reader.next().await? {
        Read::Entries(entries) => {
            for entry in &entries {
                push_line(entry, &mut lines);
            }
        }
        Read::Loss { from, to } => {
            let loss = Loss::of_run(LossPlace::Ring, from, to);
            push_line(&Event::from(loss), &mut lines);
        }
    }
    Some((lines.into(), reader))
}
