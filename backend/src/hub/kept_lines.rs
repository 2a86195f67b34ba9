//! Records that are no longer in memory, in the JSON form. They are read from files, chapter by chapter and run by run.

use watchscope_log::Fetched;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::{DecodeError, split_frame};
use watchscope_model::event::Loss;
use watchscope_model::json::{LogLine, push_line};
use watchscope_model::vocabulary::LossPlace;
use watchscope_model::wire::Backfill;
use watchscope_model::{EpochId, Event, Seq};

use super::past::PastReader;
use crate::log::LogHandle;

/// A cursor into the files. It holds one chapter while it writes that as lines.
pub(super) struct KeptLines {
    log: LogHandle,
    past: PastReader,
    epoch: EpochId,
    next: Seq,
    /// Whether the run's `log` line was written.
    has_begun: bool,
}

/// The source of the next lines.
enum Next {
    /// The chapter with this record or the first one after it, by its first and last record.
    Chapter(Seq, Seq),
    /// Another run.
    Run(EpochId),
    /// The next record is in memory.
    Live,
}

impl KeptLines {
    /// Starts at a record. None if no file has a record of its run, or if the record is in memory.
    pub(super) fn from(
        log: &LogHandle,
        past: &PastReader,
        epoch: EpochId,
        next: Seq,
    ) -> Option<Self> {
        let is_kept = log.with_ring(|ring| {
            let is_in_memory = epoch == *ring.epoch() && next >= ring.first();
            let first = ring.catalogue().next_in_file(&epoch, Seq(1));
            !is_in_memory && first.is_some()
        });
        is_kept.then(|| Self {
            log: log.clone(),
            past: past.clone(),
            epoch,
            next,
            has_begun: false,
        })
    }

    /// The log whose files these are.
    pub(super) fn log(&self) -> &LogHandle {
        &self.log
    }

    /// Whether the run's `log` line was written.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The seq of the live run's next record.
    pub(super) fn next_seq(&self) -> Seq {
        self.next
    }

    /// Returns the lines of the next chapter; `None` once the next record is in memory.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let (next, head) = self.look();
            match next {
                Next::Live => return None,
                Next::Run(epoch) => {
                    (self.epoch, self.next, self.has_begun) = (epoch, Seq(1), false);
                }
                Next::Chapter(first, last) => {
                    let mut lines = Vec::new();
                    if !std::mem::replace(&mut self.has_begun, true) {
                        let line = LogLine {
                            log: self.log.log().clone(),
                            epoch: self.epoch.clone(),
                            first: first.max(self.next),
                            head,
                        };
                        push_line(&line, &mut lines);
                    }
                    self.chapter((first, last), &mut lines).await;
                    return Some(lines);
                }
            }
        }
    }

    fn look(&self) -> (Next, Seq) {
        self.log.with_ring(|ring| {
            let is_live = self.epoch == *ring.epoch();
            let catalogue = ring.catalogue();
            if let Some((first, last)) = catalogue.next_in_file(&self.epoch, self.next)
                && !(is_live && self.next >= ring.first())
            {
                let mut runs = catalogue.runs();
                let head = runs.find(|(epoch, _)| **epoch == self.epoch);
                let head = head.map_or(last, |(_, head)| head);
                return (Next::Chapter(first, last), head);
            }
            if is_live {
                return (Next::Live, ring.head());
            }
            let mut later = catalogue
                .runs()
                .skip_while(|(epoch, _)| **epoch != self.epoch);
            let next = later.nth(1).map(|(epoch, _)| epoch.clone());
            let next = next.unwrap_or_else(|| ring.epoch().clone());
            (Next::Run(next), Seq(0))
        })
    }

    /// Writes the lines of a chapter. If records before it are missing, a line with their count comes first.
    async fn chapter(&mut self, (first, last): (Seq, Seq), lines: &mut Vec<u8>) {
        if self.next < first {
            self.lost(Seq(first.0 - 1), None, lines);
        }
        let backfill = Backfill {
            log: self.log.log().clone(),
            epoch: self.epoch.clone(),
            before: self.next.next(),
        };
        match self.past.clone().read(backfill).await {
            Fetched::Chapter { frames, last, .. } => {
                if let Err(error) = self.records(&frames, lines) {
                    self.lost(last, Some(error.to_string()), lines);
                }
                self.next = self.next.max(last.next());
            }
            Fetched::Gone => self.lost(last, None, lines),
            Fetched::NotRead { reason } => self.lost(last, Some(reason), lines),
        }
    }

    fn records(&mut self, frames: &[u8], lines: &mut Vec<u8>) -> Result<(), DecodeError> {
        let (head, mut rest) = split_frame(frames)?;
        let (mut reader, _) = ChapterReader::open(head.bytes)?;
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest)?;
            let entries = reader.entries(frame.bytes)?;
            let wanted = entries.iter().flatten();
            for entry in wanted.filter(|entry| entry.seq() >= self.next) {
                push_line(entry, lines);
            }
            self.next = self.next.max(reader.next_seq());
            rest = after;
        }
        Ok(())
    }

    /// Writes a line which says that the records up to `last` are missing.
    fn lost(&mut self, last: Seq, reason: Option<String>, lines: &mut Vec<u8>) {
        if self.next <= last {
            let loss = Loss {
                reason,
                ..Loss::of_run(LossPlace::File, self.next, last)
            };
            push_line(&Event::from(loss), lines);
            self.next = last.next();
        }
    }
}
