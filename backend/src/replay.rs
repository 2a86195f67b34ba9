//! Recordings served like a live log: the newest chapter from memory, all others from their files.
//!
//! With `--judge again` the chapters come from files with the new judgements, and bodies come from the recorded files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;
use watchscope_journal::again::Numbers;
use watchscope_log::{Fetched, Recording, Ring};
use watchscope_model::{EpochId, Notes, Seq};
use watchscope_replay::{clock_start, first_body, first_chapter};

use crate::log::{LogHandle, SystemClock};
use crate::recordings::{
    Joined, MatchingBodies, OpenError, Past, bodies_matching_in, body_in, chapter_in,
    name_of as file_name, notes_in,
};

/// Why recordings cannot be served.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The recordings hold no record.
    #[error("there is no record in it")]
    Empty,
    /// A file cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No chapter of any file can be read.
    #[error("no chapter can be read: {reason}")]
    NotRead {
        /// What is wrong with the newest chapter.
        reason: String,
    },
}

/// Recordings that are ready to be served.
pub struct Replay {
    /// A closed log whose ring holds the newest chapter that can be read.
    pub log: LogHandle,
    /// The files, for all other chapters.
    pub past: Arc<dyn Past>,
    /// What the welcome message says about the recordings.
    pub recording: Recording,
}

impl Replay {
    /// Opens recordings of one log; people see them under `name`. It reads from disk, so it must not run on a thread that
    /// may not block.
    ///
    /// # Errors
    /// If no chapter can be read.
    pub fn open(joined: Joined, name: &str) -> Result<Self, ReplayError> {
        Self::of(joined, name, false, |joined| Arc::new(joined))
    }

    /// Like [`Replay::open`], for recordings that were judged again. `recorded` has the bodies of their records; `numbers`
    /// maps each new seq to the recorded one.
    ///
    /// # Errors
    /// If no chapter can be read.
    pub fn judged_again(
        judged: Joined,
        recorded: Joined,
        numbers: Vec<(EpochId, Numbers)>,
        name: &str,
    ) -> Result<Self, ReplayError> {
        Self::of(judged, name, true, |judged| {
            Arc::new(JudgedAgain {
                judged,
                recorded,
                numbers: numbers.into_iter().collect(),
            })
        })
    }

    fn of(
        mut joined: Joined,
        name: &str,
        is_judged_again: bool,
        past: impl FnOnce(Joined) -> Arc<dyn Past>,
    ) -> Result<Self, ReplayError> {
        let ring = newest_chapter(&mut joined)?;
        let recording = joined.recording(name).ok_or(ReplayError::Empty)?;
        let recording = Recording {
            is_judged_again,
            ..recording
        };
        let clock = Arc::new(SystemClock::start_at(clock_start(recording.to)));
        Ok(Self {
            log: LogHandle::recorded(ring, clock),
            past: past(joined),
            recording,
        })
    }
}

/// Recordings that were judged again, and the recorded ones, which have the bodies.
#[derive(Debug)]
struct JudgedAgain {
    judged: Joined,
    recorded: Joined,
    numbers: BTreeMap<EpochId, Numbers>,
}

impl Past for JudgedAgain {
    fn chapter(&self, epoch: &EpochId, seq: Seq) -> Fetched {
        self.judged.chapter(epoch, seq)
    }

    fn body(&self, epoch: &EpochId, seq: Seq) -> Result<Option<Bytes>, String> {
        let numbers = self.numbers.get(epoch);
        match numbers.and_then(|numbers| numbers.recorded(seq)) {
            Some(recorded) => self.recorded.body(epoch, recorded),
            None => Ok(None),
        }
    }

    /// The records have other numbers here than in the recorded files, which have the bodies.
    fn bodies_matching(
        &self,
        epoch: &EpochId,
        seq: Seq,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<MatchingBodies>, String> {
        let Some((_, judged)) = self.judged.holding(epoch, seq).next() else {
            return Ok(None);
        };
        let (first, last) = (judged.summary.first, judged.summary.last);
        let numbers = self.numbers.get(epoch);
        let recorded = |new| Some((numbers?.recorded(new)?, new));
        let news: BTreeMap<Seq, Seq> = (first.0..=last.0).map(Seq).filter_map(recorded).collect();
        let mut all = MatchingBodies {
            last,
            are_kept: true,
            ..MatchingBodies::default()
        };
        let mut next = news.keys().next().copied();
        while let Some(seq) = next {
            let Some(found) = self.recorded.bodies_matching(epoch, seq, is_wanted)? else {
                all.are_kept = false;
                break;
            };
            all.are_kept &= found.are_kept;
            all.inflated_bytes += found.inflated_bytes;
            let here = found.seqs.iter().filter_map(|seq| news.get(seq));
            all.seqs.extend(here);
            next = news.range(found.last.next()..).next().map(|(seq, _)| *seq);
        }
        all.seqs.sort_unstable();
        Ok(Some(all))
    }

    /// Returns the notes among the records that are shown, and those beside the records, which only the recorded files have.
    fn notes(&self) -> Notes {
        let mut notes = self.judged.notes();
        for file in self.recorded.files() {
            for note in &file.contents().notes {
                if note.key.log.as_str() == self.recorded.log() {
                    notes.insert(note.clone());
                }
            }
        }
        notes
    }
}

/// Returns a ring with the newest chapter that can be read. watchscope logs a warning for each newer one.
fn newest_chapter(joined: &mut Joined) -> Result<Ring, ReplayError> {
    let mut newest = None;
    for place in joined.newest_first() {
        let (file, entry) = joined.entry(place);
        let path = file.path().display().to_string();
        let read = file.chapter(entry)?.map_err(|damage| damage.to_string());
        let ring = read.and_then(|chapter| {
            let ring = joined.start_from(place, &chapter);
            ring.map_err(|error| error.to_string())
        });
        match ring {
            Ok(ring) => {
                match joined.unread_runs() {
                    0 => {}
                    runs => tracing::warn!("no record of the last {runs} runs can be read"),
                }
                return Ok(ring);
            }
            Err(why) => {
                let reason = format!("{path}, {why}");
                tracing::warn!("{reason}");
                newest.get_or_insert(reason);
            }
        }
    }
    match newest {
        Some(reason) => Err(ReplayError::NotRead { reason }),
        None => Err(ReplayError::Empty),
    }
}

/// The name of recordings that people see: the name of the first file or folder, and how many more there are.
#[must_use]
pub fn name_of(paths: &[impl AsRef<Path>]) -> String {
    let first = paths.first().map(AsRef::as_ref);
    let name = first.map_or_else(String::new, file_name);
    match paths.len() {
        0 | 1 => name,
        more => format!("{name} and {} more", more - 1),
    }
}

impl Past for Joined {
    fn chapter(&self, epoch: &EpochId, seq: Seq) -> Fetched {
        let holding = self.holding(epoch, seq);
        first_chapter(holding.map(|(file, entry)| chapter_in(file, entry)))
    }

    fn body(&self, epoch: &EpochId, seq: Seq) -> Result<Option<Bytes>, String> {
        let holding = self.holding(epoch, seq);
        first_body(holding.map(|(file, entry)| body_in(file, entry, seq)))
    }

    fn bodies_matching(
        &self,
        epoch: &EpochId,
        seq: Seq,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<MatchingBodies>, String> {
        let mut holding = self.holding(epoch, seq);
        let found = holding.next();
        found
            .map(|(file, entry)| bodies_matching_in(file, entry, is_wanted))
            .transpose()
    }

    fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        for file in self.files() {
            for note in notes_in(file, self.log().into()).records() {
                notes.insert(note.clone());
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests;
