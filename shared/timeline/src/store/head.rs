//! The head of the live log: its fold, its last record, the last news, and the end of a story.

use watchscope_model::{EpochId, LogId, Seq, State, Time};

use super::cache::Store;
use crate::id::RecordId;

impl Store {
    /// Returns the fold at the head of the live log; `None` before the first snapshot.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        self.epochs.last()?.live.as_ref().map(|live| &live.state)
    }

    /// Returns the point for `Hello`: log, epoch and the last record of the last whole segment, or the last record of
    /// the snapshot if no segment came. The seq is 0 if the epoch has no record yet. `None` before the first snapshot.
    #[must_use]
    pub fn resume_point(&self) -> Option<(LogId, EpochId, Seq)> {
        let epoch = self.epochs.last()?;
        let live = epoch.live.as_ref()?;
        Some((
            epoch.log.clone(),
            epoch.id.clone(),
            Seq(live.reader.next_seq().0 - 1),
        ))
    }

    /// Returns the time of the last loaded record of the newest epoch, or that of its snapshot; `None` if nothing of
    /// this epoch is loaded.
    #[must_use]
    pub fn head_at(&self) -> Option<Time> {
        self.epochs
            .last()?
            .chapters
            .last()
            .map(|chapter| chapter.to)
    }

    /// Returns the newest record, the last that the fold at the head counts; `None` before the first snapshot. The seq
    /// is 0 if the epoch has no record yet.
    #[must_use]
    pub fn head(&self) -> Option<RecordId> {
        let epoch = self.newest_epoch()?;
        let seq = self.state()?.seq;
        Some(RecordId { epoch, seq })
    }

    /// Returns the last line of a story's narrator in the newest epoch, with its record and time; `None` if no such
    /// line is loaded. Notes of persons do not count.
    #[must_use]
    pub fn last_note(&self) -> Option<(RecordId, Time, &str)> {
        let epoch = self.epochs.last()?;
        let line = epoch.trace.notes.last()?;
        Some((
            RecordId {
                epoch: epoch.number,
                seq: line.moment.seq,
            },
            line.moment.at,
            &line.text,
        ))
    }

    /// Returns when the last story ended in the newest epoch, as far as loaded records show; `None` if no story ended.
    #[must_use]
    pub fn story_over(&self) -> Option<Time> {
        let over = self.epochs.last()?.trace.story_over?;
        Some(over.at)
    }

    /// Returns the end of the picture of a finished story ([`Store::story_over`]). This is the latest time at which an
    /// open finding was last raised, from the story's end to 60 s after it. Without such a time it is the story's end.
    /// Some failures are found only after the last step of their story. `None` if no story ended, and before the first
    /// snapshot.
    #[must_use]
    pub fn story_shown_until(&self) -> Option<Time> {
        /// Time in µs, included, after a story's end in which a finding still belongs to its picture. Some failures are
        /// found only after the story's last step. The picture ends before a finding that is raised later than this.
        /// The number has no source.
        const FOUND_LATER_US: i64 = 60_000_000;
        let over = self.story_over()?;
        let raised = self.state()?.findings.values();
        raised
            .map(|open| open.last_raised.unwrap_or(open.since).at)
            .filter(|at| at.micros_since(over) <= FOUND_LATER_US)
            .chain([over])
            .max()
    }

    /// Returns when something last happened by the head's fold. A change that a stream delivered, an ERROR and a broken
    /// stream count. A gap counts when it begins because no stream can be opened, or ends without a resume. The first
    /// raising of an open finding counts, too. `None` if none of these happened, and before the first snapshot.
    #[must_use]
    pub fn last_news(&self) -> Option<Time> {
        let state = self.state()?;
        let changes = state.watches.values().filter_map(|watch| watch.last_change);
        let findings = state.findings.values().map(|open| open.since);
        changes.chain(findings).map(|moment| moment.at).max()
    }
}
