//! The machine that searches a whole recording: its chapters from the newest to the oldest, each with its bodies.

use std::collections::VecDeque;

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::split_frame;
use watchscope_model::json::push_line;
use watchscope_model::{EpochId, Seq};
use watchscope_recording::{
    BlockPlace, Bodies, ChapterEntry, Contents, Damage, Input, ReadBodies, ReadChapter, Step,
};
use watchscope_search::{
    BodiesSince, ChapterSearch, End, Ended, HITS_MOST, KeptFrom, NotRead, Query, Searched, held,
};

use crate::joined::JoinedFiles;

/// The bytes of bodies at which a step ends: 256 KiB. The body that reaches this number is still searched, so a step
/// searches at least one body. The number has no source.
const BODIES_BYTES: usize = 256 << 10;

/// The result of one step of a [`SearchFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchStep {
    /// The machine needs these bytes, or needs bytes inflated. The value is never [`Step::Done`].
    Needs(Step<()>),
    /// A piece of work is done: one segment, or some bodies. Call [`SearchFile::step`] again with [`Input::Begin`], at
    /// once or later.
    Pause,
    /// The answer is whole.
    Over,
}

/// The machine that searches a file.
///
/// The machine makes the lines of one answer, as `/api/search` does over the same file. A step reads, or searches one
/// segment or about 256 KiB of bodies, so that the host can do other work between two steps. The machine holds the
/// entries of the remaining chapters, the frames of one (at most 256 MiB), and a bodies block. It also holds the lines
/// that the host has not taken. An answer has at most 1,000 hits in records.
#[derive(Debug)]
pub struct SearchFile {
    name: String,
    query: Query,
    /// The chapters that are left to search, the next one first.
    waiting: VecDeque<Chapter>,
    /// The run that is searched, and the seq before which the search goes on.
    position: Option<(EpochId, Seq)>,
    phase: Phase,
    lines: Vec<u8>,
    hits: usize,
    held_more: u64,
    bodies: BodiesSince,
    has_no_bodies: bool,
    kept_from: Option<KeptFrom>,
}

/// A chapter of the file.
#[derive(Debug)]
struct Chapter {
    epoch: EpochId,
    entry: ChapterEntry,
    /// Whether the file has the record before the chapter's first record, or the run has no such record.
    follows: bool,
}

/// A chapter that is being searched, and the seqs of its records whose bodies match.
#[derive(Debug)]
struct Reading {
    chapter: Chapter,
    before: Seq,
    /// The bodies blocks that are left to read.
    blocks: VecDeque<BlockPlace>,
    /// The seqs of the records whose bodies match.
    seqs: Vec<Seq>,
    searched: Searched,
}

/// What the machine does.
#[derive(Debug)]
enum Phase {
    /// The machine takes the next chapter.
    Next,
    /// The machine takes the next block of bodies; if none is left, the frames.
    Blocks(Reading),
    /// The machine reads a block of bodies.
    Block(Reading, ReadBodies),
    /// The machine searches bodies, from the body with this index on.
    Look(Reading, Bodies, usize),
    /// The machine reads the chapter's frames.
    Frames(Reading, Box<ReadChapter>),
    /// The machine searches the chapter's frames, from this byte on.
    Search(Reading, Vec<u8>, usize, Box<ChapterSearch>),
    /// The answer is whole.
    Over,
}

impl SearchFile {
    pub(crate) fn new(
        name: &str,
        joined: &JoinedFiles<Contents>,
        query: Query,
        before: Option<(EpochId, Seq)>,
    ) -> Self {
        let mut waiting = VecDeque::new();
        // Runs behind that of the position are left out.
        let mut is_reached = before.is_none();
        for run in joined.runs().iter().rev() {
            let epoch = EpochId::from(run.epoch.as_str());
            is_reached |= before.as_ref().is_some_and(|(of, _)| *of == epoch);
            if !is_reached {
                continue;
            }
            let chapters = joined.chapters(run).map(|(_, entry)| entry);
            let mut chapters: Vec<&ChapterEntry> = chapters
                .filter(|entry| entry.summary.records() > 0)
                .collect();
            chapters.sort_by_key(|entry| (entry.summary.last, entry.summary.first));
            let is_before_kept = |first: Seq| {
                let before = first.0.saturating_sub(1);
                let holds = |entry: &&ChapterEntry| {
                    (entry.summary.first..=entry.summary.last).contains(&Seq(before))
                };
                before == 0 || chapters.iter().any(holds)
            };
            for entry in chapters.iter().rev() {
                waiting.push_back(Chapter {
                    epoch: epoch.clone(),
                    follows: is_before_kept(entry.summary.first),
                    entry: (*entry).clone(),
                });
            }
        }
        let entries = || {
            let runs = joined.runs().iter();
            runs.flat_map(|run| joined.chapters(run).map(move |(_, entry)| (run, entry)))
        };
        let oldest = entries().find(|(_, entry)| entry.summary.records() > 0);
        let kept_from = oldest.map(|(run, entry)| KeptFrom {
            epoch: run.epoch.as_str().into(),
            seq: entry.summary.first,
            at: entry.summary.first_at,
        });
        Self {
            name: name.to_owned(),
            query,
            waiting,
            position: before,
            phase: Phase::Next,
            lines: Vec::new(),
            hits: 0,
            held_more: 0,
            bodies: BodiesSince::default(),
            has_no_bodies: entries().all(|(_, entry)| entry.bodies.is_empty()),
            kept_from,
        }
    }

    /// Returns the lines of the answer that were added since the last call, each with a newline; empty if there are
    /// none.
    pub fn take_lines(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.lines)
    }

    /// Takes in the answer to the last [`SearchStep::Needs`], or [`Input::Begin`] after any other step; returns the
    /// next step. For a chapter or a block of bodies that cannot be read, the answer gets a line, and the search goes
    /// on.
    pub fn step(&mut self, mut input: Input) -> SearchStep {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return SearchStep::Over,
                Phase::Next => match self.next_chapter() {
                    Some(reading) => self.phase = Phase::Blocks(reading),
                    None => self.end(Ended::All),
                },
                Phase::Blocks(mut reading) => {
                    self.phase = match reading.blocks.pop_front() {
                        Some(place) => Phase::Block(reading, ReadBodies::new(place)),
                        None => {
                            let machine = ReadChapter::new(&reading.chapter.entry);
                            Phase::Frames(reading, Box::new(machine))
                        }
                    };
                }
                Phase::Block(mut reading, mut machine) => {
                    match machine.step(input).map(Step::into_done) {
                        Ok(Err(needs)) => {
                            self.phase = Phase::Block(reading, machine);
                            return SearchStep::Needs(needs);
                        }
                        Ok(Ok(bodies)) => self.phase = Phase::Look(reading, bodies, 0),
                        Err(damage) => {
                            self.not_read(&reading.chapter, &damage.to_string());
                            reading.searched = Searched::Part;
                            self.phase = Phase::Blocks(reading);
                        }
                    }
                }
                Phase::Look(reading, bodies, from) => {
                    self.phase = self.look(reading, bodies, from);
                    return SearchStep::Pause;
                }
                Phase::Frames(reading, mut machine) => {
                    match machine.step(input).map(Step::into_done) {
                        Ok(Err(needs)) => {
                            self.phase = Phase::Frames(reading, machine);
                            return SearchStep::Needs(needs);
                        }
                        Ok(Ok(chapter)) => self.open(reading, chapter.frames.into_bytes()),
                        Err(damage) => self.cannot_read(&reading, &damage),
                    }
                }
                Phase::Search(reading, frames, at, search) => {
                    self.segment(reading, frames, at, search);
                    return SearchStep::Pause;
                }
            }
            // The answer belongs to one machine.
            input = Input::Begin;
        }
    }

    /// Takes the next chapter that has a record before the search's position.
    fn next_chapter(&mut self) -> Option<Reading> {
        loop {
            let chapter = self.waiting.pop_front()?;
            let before = match &self.position {
                Some((epoch, before)) if *epoch == chapter.epoch => *before,
                _ => Seq(u64::MAX),
            };
            if chapter.entry.summary.first >= before {
                continue;
            }
            self.position = Some((chapter.epoch.clone(), before));
            let blocks: VecDeque<BlockPlace> = chapter.entry.bodies.iter().copied().collect();
            let searched = match blocks.is_empty() {
                true => Searched::Part,
                false => Searched::All,
            };
            return Some(Reading {
                chapter,
                before,
                blocks,
                seqs: Vec::new(),
                searched,
            });
        }
    }

    /// Searches bodies from the index `from` on, until at least [`BODIES_BYTES`] were searched.
    fn look(&self, mut reading: Reading, bodies: Bodies, from: usize) -> Phase {
        let (mut looked, mut bytes, mut is_whole) = (from, 0, true);
        for (seq, body) in bodies.iter().skip(from) {
            if bytes >= BODIES_BYTES {
                is_whole = false;
                break;
            }
            (looked, bytes) = (looked + 1, bytes + body.len());
            if self.query.is_in(body) {
                reading.seqs.push(seq);
            }
        }
        match is_whole {
            true => Phase::Blocks(reading),
            false => Phase::Look(reading, bodies, looked),
        }
    }

    /// Begins to search the frames of a chapter.
    fn open(&mut self, mut reading: Reading, frames: Vec<u8>) {
        let summary = &reading.chapter.entry.summary;
        let times = (summary.first_at, summary.last_at);
        self.bodies.take(times, reading.searched);
        let mut seqs = std::mem::take(&mut reading.seqs);
        seqs.sort_unstable();
        let most = HITS_MOST - self.hits;
        let opened = split_frame(&frames).and_then(|(head, rest)| {
            let before = reading.before;
            let search = ChapterSearch::open(&self.query, head, before, most, seqs)?;
            Ok((search, frames.len() - rest.len()))
        });
        match opened {
            Ok((search, at)) => self.phase = Phase::Search(reading, frames, at, Box::new(search)),
            Err(error) => {
                self.not_read(&reading.chapter, &error.to_string());
                self.phase = Phase::Next;
            }
        }
    }

    /// Searches the next segment, or ends the chapter.
    fn segment(
        &mut self,
        reading: Reading,
        frames: Vec<u8>,
        at: usize,
        mut search: Box<ChapterSearch>,
    ) {
        let rest = &frames[at..];
        if !rest.is_empty() && !search.is_done() {
            let searched = split_frame(rest).and_then(|(frame, after)| {
                search.segment(frame)?;
                Ok(frames.len() - after.len())
            });
            match searched {
                Ok(at) => {
                    self.phase = Phase::Search(reading, frames, at, search);
                    return;
                }
                Err(error) => self.not_read(&reading.chapter, &error.to_string()),
            }
        }
        let found = search.finish();
        let Reading { chapter, .. } = reading;
        found
            .hits
            .iter()
            .for_each(|hit| push_line(hit, &mut self.lines));
        self.hits += found.hits.len();
        let last = found.hits.last().map(|hit| hit.seq);
        let next = match last.filter(|_| found.has_more) {
            Some(last) => last,
            None => {
                if !chapter.follows {
                    self.held(&frames);
                }
                chapter.entry.summary.first
            }
        };
        self.position = Some((chapter.epoch, next));
        if found.has_more || self.hits >= HITS_MOST {
            self.end(Ended::Hits);
        } else {
            self.phase = Phase::Next;
        }
    }

    /// Adds hits in the opening snapshot of a chapter, because the file lacks the records before it.
    fn held(&mut self, frames: &[u8]) {
        let opening = split_frame(frames).and_then(|(head, _)| ChapterReader::open_frame(head));
        // A snapshot that cannot be read was reported with its chapter.
        let Ok((_, opening)) = opening else {
            return;
        };
        let held = held(&self.query, &opening);
        held.hits
            .iter()
            .for_each(|hit| push_line(hit, &mut self.lines));
        self.held_more += held.more;
    }

    fn cannot_read(&mut self, reading: &Reading, damage: &Damage) {
        let summary = &reading.chapter.entry.summary;
        let times = (summary.first_at, summary.last_at);
        self.bodies.take(times, Searched::Part);
        self.not_read(&reading.chapter, &damage.to_string());
        self.phase = Phase::Next;
    }

    fn not_read(&mut self, chapter: &Chapter, why: &str) {
        let summary = &chapter.entry.summary;
        let not_read = NotRead {
            epoch: chapter.epoch.clone(),
            first: summary.first,
            last: summary.last,
            reason: format!("{}, {why}", self.name),
        };
        push_line(&not_read, &mut self.lines);
    }

    /// Adds the last line of the answer.
    fn end(&mut self, ended: Ended) {
        let next = self.position.clone().filter(|_| ended != Ended::All);
        let end = End {
            ended,
            next,
            hits: self.hits as u64,
            held_more: self.held_more,
            kept_from: self.kept_from.clone(),
            bodies_since: self.bodies.since(),
            has_no_bodies: self.has_no_bodies,
        };
        push_line(&end, &mut self.lines);
        self.phase = Phase::Over;
    }
}
