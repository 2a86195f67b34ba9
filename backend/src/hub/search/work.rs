//! The work of one answer, a few chapters at a time, on a thread that may block.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use watchscope_log::Fetched;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::{DecodeError, Frame, split_frame};
use watchscope_model::json::push_line;
use watchscope_model::{EpochId, Seq};
use watchscope_search::{
    BodiesSince, ChapterHits, ChapterSearch, End, Ended, Index, IndexedChapter, NotRead, Query,
    Searched, Wanted, held,
};

use super::bodies::{self, Bodies};
use super::limits::{SearchLimits, Used, processor_time};
use super::running::Cancelled;
use super::source::{Found, Source, is_before_kept, kept_from, next_chapter};
use crate::log::LogHandle;
use crate::recordings::Past;

/// The bytes of lines after which a slice ends: 1 MiB. A hit may be as long as the names of a hostile server. The next slice
/// goes on behind the last hit; held hits beyond it are only counted.
const SLICE_BYTES: usize = 1 << 20;

/// What a search reads from, and what it may cost.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    pub(super) log: LogHandle,
    pub(super) files: Option<Arc<dyn Past>>,
    /// Whether bodies are in memory, as those of a live log; false for recordings.
    pub(super) is_live: bool,
    pub(super) index: Arc<Mutex<Index>>,
    pub(super) limits: SearchLimits,
}

/// One answer in the making.
#[derive(Debug)]
pub(super) struct Work {
    sources: Sources,
    query: Query,
    cancelled: Cancelled,
    /// The position before which the search goes on.
    next: (EpochId, Seq),
    wanted: Wanted,
    used: Used,
    held_more: u64,
    bodies: BodiesSince,
}

/// The result of one step.
enum Step {
    /// The index showed that the chapter has no hit.
    PassedOver,
    /// A chapter or its bodies were read.
    Read,
    /// Nothing is kept before the position.
    Nothing,
}

impl Work {
    pub(super) fn new(
        sources: Sources,
        query: Query,
        from: (EpochId, Seq),
        cancelled: Cancelled,
    ) -> Self {
        Self {
            sources,
            query,
            cancelled,
            next: from,
            wanted: Wanted::default(),
            used: Used::default(),
            held_more: 0,
            bodies: BodiesSince::default(),
        }
    }

    /// Searches until one chapter was read, or nothing is left. Returns the lines, and whether they are the last.
    pub(super) fn slice(&mut self) -> (Vec<u8>, bool) {
        let began = processor_time();
        let mut lines = Vec::new();
        let step = loop {
            if self.cancelled.is_set() {
                break None;
            }
            match self.step(&mut lines) {
                Step::PassedOver => {}
                step => break Some(step),
            }
        };
        self.used.processor += processor_time().saturating_sub(began);
        let ended = match step {
            None => Some(Ended::Replaced),
            Some(Step::Nothing) => Some(Ended::All),
            Some(_) if self.cancelled.is_set() => Some(Ended::Replaced),
            Some(_) => self.used.reached(&self.sources.limits),
        };
        if let Some(ended) = ended {
            push_line(&self.end(ended), &mut lines);
        }
        (lines, ended.is_some())
    }

    fn end(&self, ended: Ended) -> End {
        End {
            ended,
            next: (ended != Ended::All).then(|| self.next.clone()),
            hits: self.used.hits as u64,
            held_more: self.held_more,
            kept_from: kept_from(&self.sources.log),
            bodies_since: self.bodies.since(),
            has_no_bodies: false,
        }
    }

    fn step(&mut self, lines: &mut Vec<u8>) -> Step {
        let (epoch, before) = &self.next;
        let Some(mut found) = next_chapter(&self.sources.log, epoch, *before) else {
            return Step::Nothing;
        };
        let bodies = self.bodies(&found, lines);
        let known = if found.is_closed {
            self.may_match(&found)
        } else {
            None
        };
        if known == Some(false) && found.follows && bodies.seqs.is_empty() {
            self.next = (found.epoch, found.first);
            return if bodies.inflated_bytes > 0 {
                Step::Read
            } else {
                Step::PassedOver
            };
        }
        let read = self.frames(&mut found);
        let gone = (found.epoch.clone(), found.first);
        match read {
            Ok(Some(frames)) => {
                let wants_names = found.is_closed && known.is_none();
                self.next = self.search(&found, &frames, &bodies, wants_names, lines);
            }
            Ok(None) => self.next = gone,
            Err(reason) => {
                not_read(&found, reason, lines);
                self.next = gone;
            }
        }
        Step::Read
    }

    fn bodies(&mut self, found: &Found, lines: &mut Vec<u8>) -> Bodies {
        let Sources {
            log,
            files,
            is_live,
            ..
        } = &self.sources;
        let bodies = bodies::matching(log, files.as_ref(), &self.query, found, *is_live);
        let bodies = bodies.unwrap_or_else(|reason| {
            not_read(found, reason, lines);
            Bodies {
                searched: Searched::Part,
                ..Bodies::default()
            }
        });
        self.used.inflated_bytes += bodies.inflated_bytes;
        self.bodies
            .take((found.first_at, found.last_at), bodies.searched);
        bodies
    }

    fn may_match(&mut self, found: &Found) -> Option<bool> {
        let index = self.sources.index.lock();
        let index = index.unwrap_or_else(PoisonError::into_inner);
        let Found {
            epoch, first, last, ..
        } = found;
        index.may_match(&self.query, &mut self.wanted, epoch, *first, *last)
    }

    /// Returns the frames of a chapter; none if it is gone. Sets what only the file says.
    fn frames(&mut self, found: &mut Found) -> Result<Option<Frames>, String> {
        let is_merged = match &mut found.source {
            Source::Memory(frames) => {
                let frames = std::mem::take(frames);
                return Ok(Some(Frames(frames)));
            }
            Source::File { is_merged } => *is_merged,
        };
        let Some(files) = &self.sources.files else {
            return Ok(None);
        };
        let last = Seq(found.before.0.saturating_sub(1)).min(found.last);
        match files.chapter(&found.epoch, last) {
            Fetched::Chapter { first, frames, .. } => {
                self.used.inflated_bytes += frames.len() as u64;
                if is_merged {
                    found.first = first;
                    found.follows = is_before_kept(&self.sources.log, &found.epoch, first);
                }
                Ok(Some(Frames(vec![frames])))
            }
            Fetched::Gone => Ok(None),
            Fetched::NotRead { reason } => Err(reason),
        }
    }

    /// Searches a chapter; returns the position before which to go on.
    fn search(
        &mut self,
        found: &Found,
        frames: &Frames,
        bodies: &Bodies,
        wants_names: bool,
        lines: &mut Vec<u8>,
    ) -> (EpochId, Seq) {
        let most = self.sources.limits.hits.saturating_sub(self.used.hits);
        let (hits, is_whole) = match self.hits(found, frames, bodies, wants_names, most) {
            Ok(searched) => searched,
            Err(error) => {
                not_read(found, error.to_string(), lines);
                return (found.epoch.clone(), found.first);
            }
        };
        if let Err(error) = &is_whole {
            not_read(found, error.to_string(), lines);
        }
        let mut written = 0;
        for hit in &hits.hits {
            push_line(hit, lines);
            written += 1;
            if lines.len() >= SLICE_BYTES {
                break;
            }
        }
        self.used.hits += written;
        if let (Some(named), Ok(true)) = (hits.named, is_whole) {
            let chapter = IndexedChapter {
                epoch: found.epoch.clone(),
                first: found.first,
                last: found.last,
                at: found.first_at,
            };
            let index = self.sources.index.lock();
            let mut index = index.unwrap_or_else(PoisonError::into_inner);
            index.add(&chapter, named);
        }
        if hits.has_more || written < hits.hits.len() {
            let last = written
                .checked_sub(1)
                .and_then(|place| hits.hits.get(place));
            return (found.epoch.clone(), last.map_or(found.first, |hit| hit.seq));
        }
        if !found.follows {
            self.held(frames, lines);
        }
        (found.epoch.clone(), found.first)
    }

    /// Returns the hits of a chapter, and whether all its frames were passed; or why not.
    fn hits(
        &self,
        found: &Found,
        frames: &Frames,
        bodies: &Bodies,
        wants_names: bool,
        most: usize,
    ) -> Result<(ChapterHits, Result<bool, DecodeError>), DecodeError> {
        let mut frames = frames.iter();
        let head = frames
            .next()
            .ok_or(DecodeError::Message("a chapter without frames"))??;
        let (before, bodies) = (found.before, bodies.seqs.clone());
        let mut search = ChapterSearch::open(&self.query, head, before, most, bodies)?;
        if wants_names {
            search = search.naming();
        }
        let mut is_whole = Ok(true);
        for frame in frames {
            if self.cancelled.is_set() || search.is_done() {
                is_whole = Ok(false);
                break;
            }
            if let Err(error) = frame.and_then(|frame| search.segment(frame)) {
                is_whole = Err(error);
                break;
            }
        }
        Ok((search.finish(), is_whole))
    }

    /// Writes what the opening snapshot holds, since the chapter before it is not kept.
    fn held(&mut self, frames: &Frames, lines: &mut Vec<u8>) {
        let Some(Ok(head)) = frames.iter().next() else {
            return;
        };
        // A snapshot that cannot be read was reported with its chapter.
        let Ok((_, opening)) = ChapterReader::open_frame(head) else {
            return;
        };
        let held = held(&self.query, &opening);
        let mut left = held.hits.len() as u64;
        for hit in &held.hits {
            if lines.len() >= SLICE_BYTES {
                break;
            }
            push_line(hit, lines);
            left -= 1;
        }
        self.held_more += held.more + left;
    }
}

fn not_read(found: &Found, reason: String, lines: &mut Vec<u8>) {
    let not_read = NotRead {
        epoch: found.epoch.clone(),
        first: found.first,
        last: found.last,
        reason,
    };
    push_line(&not_read, lines);
}

/// The frames of a chapter: each alone, or several in a row.
struct Frames(Vec<Bytes>);

impl Frames {
    fn iter(&self) -> impl Iterator<Item = Result<Frame<'_>, DecodeError>> {
        self.0.iter().flat_map(|bytes| {
            let mut rest = &bytes[..];
            std::iter::from_fn(move || {
                if rest.is_empty() {
                    return None;
                }
                let split = split_frame(rest);
                // After an error there is no next frame.
                rest = split.as_ref().map_or(&[], |(_, after)| *after);
                Some(split.map(|(frame, _)| frame))
            })
        })
    }
}
