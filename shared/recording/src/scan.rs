//! The machine that opens a recording: it finds the blocks and chapters, and reports damage.
//!
//! ```text
//!   first bytes ─► last bytes ─┬─ an index ─────────────┬─► F and N blocks ─► chapters without a summary ─► Contents
//!                              └─ none: header by header ┘
//! ```
//!
//! Of a closed chapter the scan reads only the summary. [`ReadChapter`](crate::ReadChapter) reads the frames.

use watchscope_model::codec::split_frame;
use watchscope_model::notes::MAX_NOTES;
use watchscope_model::{KeptNote, Seq};

use crate::block::{BlockPlace, Header, check_file_header};
use crate::chapter::split_key;
use crate::contents::{Contents, Cut, Draft, Grouped, group};
use crate::error::{Damage, DamageKind, ReadError};
use crate::file_block::{FileBlock, MAX_FILE_BLOCK_BYTES};
use crate::format::{BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, FORMAT_VERSION, MAX_STORED_BYTES, Tag};
use crate::index::{self, Found, TRAILER_BYTES};
use crate::machine::{Input, Step};
use crate::notes::{self, MAX_NOTES_BLOCK_BYTES};
use crate::summary::FrameSummarizer;
use crate::walk::Walk;
use crate::window::{Missing, Window};

/// The least bytes of one read, while headers, the index, file (`F`) and notes (`N`) blocks are read; fewer at the
/// file's end. A closed chapter's header and summary usually fit in this many bytes. The number has no source.
const HEADERS_AHEAD: usize = 16 << 10;
/// The least bytes of one read, while the blocks of chapters without a summary are read; fewer at the file's end. The
/// blocks of such chapters are read whole and lie one after the other, so few reads suffice. The number has no source.
const BLOCKS_AHEAD: usize = 1 << 20;

/// The machine that opens a recording.
///
/// The machine holds one stretch of the file, at most 1 MiB or one block. It also holds an entry for each block and
/// chapter: at most [`MAX_BLOCKS`](crate::MAX_BLOCKS) and [`MAX_CHAPTERS`](crate::MAX_CHAPTERS). The machine holds
/// every file block (`F`), at most [`MAX_NOTES`] notes, and the fold of one chapter that was not closed.
#[derive(Debug)]
pub struct Scan {
    window: Window,
    /// The file's format version; this build's until the file's first bytes were read.
    version: u32,
    phase: Phase,
    damaged: Vec<Damage>,
    notes: Vec<KeptNote>,
    cut: Option<Cut>,
}

#[derive(Debug)]
enum Phase {
    /// Reads the file's first bytes.
    First,
    /// Reads the file's last bytes, which may point to an index.
    Last,
    /// Reads the index that should begin at this byte of the file.
    Index(u64),
    /// Finds the blocks header by header.
    Walk(Walk),
    /// Reads the file (`F`) and notes (`N`) blocks; the positions of all blocks are known.
    Files(Files),
    /// Sums up the chapters without a summary.
    Chapters(Box<Chapters>),
}

/// The damage of a notes block (`N`) with which a file has more than [`MAX_NOTES`] notes, the most that a log holds.
/// The notes up to that number are read.
const MORE_NOTES: DamageKind = DamageKind::Payload("it has more notes than are read");

#[derive(Debug, Default)]
struct Files {
    found: Vec<Found>,
    /// Index of the next block in `found`.
    next: usize,
    /// An item for each file block (`F`) before `next`; `None` if that block is damaged.
    files: Vec<Option<FileBlock>>,
    /// The notes of the `N` blocks before `next`.
    notes: Vec<KeptNote>,
}

#[derive(Debug, Default)]
struct Chapters {
    grouped: Grouped,
    /// Index of the next draft.
    next: usize,
    /// The chapter being summed up: its summarizer, and the number of its `S` blocks that were read.
    open: Option<(FrameSummarizer, usize)>,
}

/// Why a phase of the scan stops before its end.
enum Halt {
    Needs(Missing),
    Fails(ReadError),
}

impl From<Missing> for Halt {
    fn from(missing: Missing) -> Self {
        Self::Needs(missing)
    }
}

impl Scan {
    /// Makes a machine for a file of `size` bytes. The first input of [`Scan::step`] is [`Input::Begin`].
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self {
            window: Window::new(size),
            version: FORMAT_VERSION,
            phase: Phase::First,
            damaged: Vec::new(),
            notes: Vec::new(),
            cut: None,
        }
    }

    /// Takes in the answer to the last step, and returns the next step. A scan never requests inflating. Damage is no
    /// error: [`Contents::damaged`] lists the damage.
    ///
    /// # Errors
    /// It fails if the file is no recording, or if a later version wrote it. It also fails if the host handed in
    /// another number of bytes than requested.
    pub fn step(&mut self, input: Input) -> Result<Step<Contents>, ReadError> {
        if let Input::Bytes(bytes) = input {
            self.window.take(bytes)?;
        }
        loop {
            match self.go_on() {
                Ok(Some(contents)) => return Ok(Step::Done(contents)),
                Ok(None) => {}
                Err(Halt::Needs(missing)) => {
                    let ahead = match self.phase {
                        Phase::Chapters(_) => BLOCKS_AHEAD,
                        _ => HEADERS_AHEAD,
                    };
                    return Ok(self.window.ask(missing, ahead));
                }
                Err(Halt::Fails(error)) => return Err(error),
            }
        }
    }

    /// Carries out one phase of the scan, as far as the bytes in the window reach. Returns the contents after the last
    /// phase, and `None` after another. The error is a request for bytes, or the reason why the file cannot be opened.
    fn go_on(&mut self) -> Result<Option<Contents>, Halt> {
        let size = self.window.size();
        match &mut self.phase {
            Phase::First => {
                let length = size.min(FILE_HEADER_BYTES as u64) as usize;
                let bytes = self.window.get(0, length)?;
                self.version = check_file_header(bytes).map_err(Halt::Fails)?;
                self.phase = Phase::Last;
            }
            Phase::Last => {
                let least = FILE_HEADER_BYTES + BLOCK_HEADER_BYTES + TRAILER_BYTES;
                self.phase = if size < least as u64 {
                    Phase::Walk(Walk::new())
                } else {
                    let trailer = self
                        .window
                        .get(size - TRAILER_BYTES as u64, TRAILER_BYTES)?;
                    let begins = FILE_HEADER_BYTES as u64..size - BLOCK_HEADER_BYTES as u64;
                    match index::offset_of(trailer) {
                        Some(offset)
                            if begins.contains(&offset)
                                && size - offset <= u64::from(MAX_STORED_BYTES) =>
                        {
                            Phase::Index(offset)
                        }
                        _ => Phase::Walk(Walk::new()),
                    }
                };
            }
            Phase::Index(offset) => {
                let offset = *offset;
                let block = self.window.get(offset, (size - offset) as usize)?;
                // A bad index is no loss, because the walk finds the blocks without it.
                self.phase = match read_index(block, offset) {
                    Some(found) => Phase::Files(Files::new(found)),
                    None => Phase::Walk(Walk::new()),
                };
            }
            Phase::Walk(walk) => {
                walk.go_on(&self.window)?;
                self.damaged.append(&mut walk.damaged);
                self.cut = walk.cut;
                self.phase = Phase::Files(Files::new(std::mem::take(&mut walk.found)));
            }
            Phase::Files(files) => {
                files.go_on(&self.window, &mut self.damaged)?;
                self.notes = std::mem::take(&mut files.notes);
                let (found, files) = std::mem::take(files).finish();
                let chapters = Chapters {
                    grouped: group(found, files, &mut self.damaged),
                    ..Chapters::default()
                };
                self.phase = Phase::Chapters(Box::new(chapters));
            }
            Phase::Chapters(chapters) => {
                chapters.go_on(&self.window, &mut self.damaged)?;
                let mut damaged = std::mem::take(&mut self.damaged);
                damaged.sort_by_key(|damage| damage.offset);
                let grouped = std::mem::take(&mut chapters.grouped);
                let notes = std::mem::take(&mut self.notes);
                return Ok(Some(grouped.contents(
                    size,
                    self.version,
                    notes,
                    damaged,
                    self.cut,
                )));
            }
        }
        Ok(None)
    }
}

/// Returns the blocks that an index lists and the index block itself; `None` unless the index is undamaged and ends the
/// file.
fn read_index(block: &[u8], offset: u64) -> Option<Vec<Found>> {
    let header = Header::read(block).filter(|header| header.tag == Tag::Index)?;
    let mut place = BlockPlace {
        number: 0,
        offset,
        header,
        first: None,
    };
    if place.len() != block.len() as u64 {
        return None;
    }
    let mut found = index::decode(place.payload(block).ok()?, offset).ok()?;
    place.number = found.len() as u32;
    found.push(Found {
        place,
        summary: None,
    });
    Some(found)
}

impl Files {
    fn new(found: Vec<Found>) -> Self {
        Self {
            found,
            ..Self::default()
        }
    }

    fn finish(self) -> (Vec<Found>, Vec<Option<FileBlock>>) {
        (self.found, self.files)
    }

    /// Reads all `F` blocks and `N` blocks. The error is a request for bytes, with which the function continues.
    fn go_on(&mut self, window: &Window, damaged: &mut Vec<Damage>) -> Result<(), Missing> {
        while let Some(found) = self.found.get(self.next) {
            let place = found.place;
            if place.header.tag == Tag::File {
                let read = if place.header.stored_bytes as usize > MAX_FILE_BLOCK_BYTES {
                    Err(DamageKind::Payload("it is longer than 1 MiB"))
                } else {
                    let block = window.get(place.offset, place.len() as usize)?;
                    place.payload(block).and_then(FileBlock::decode)
                };
                let file = read.map_err(|kind| damaged.push(place.damage(kind))).ok();
                self.files.push(file);
            }
            if place.header.tag == Tag::Notes {
                let read = if place.header.stored_bytes as usize > MAX_NOTES_BLOCK_BYTES {
                    Err(DamageKind::Payload("it is longer than 1 MiB"))
                } else if self.notes.len() >= MAX_NOTES {
                    Err(MORE_NOTES)
                } else {
                    let block = window.get(place.offset, place.len() as usize)?;
                    place.payload(block).and_then(notes::read)
                };
                match read {
                    Ok(notes) => {
                        let room = MAX_NOTES - self.notes.len();
                        if notes.len() > room {
                            damaged.push(place.damage(MORE_NOTES));
                        }
                        self.notes.extend(notes.into_iter().take(room));
                    }
                    Err(kind) => damaged.push(place.damage(kind)),
                }
            }
            self.next += 1;
        }
        Ok(())
    }
}

impl Chapters {
    /// Sums up the chapters without a summary: the chapters that were not closed. The error is a request for bytes,
    /// with which the function continues.
    fn go_on(&mut self, window: &Window, damaged: &mut Vec<Damage>) -> Result<(), Missing> {
        while let Some(draft) = self.grouped.drafts.get_mut(self.next) {
            if draft.summary.is_none() {
                sum_up(draft, &mut self.open, window, damaged)?;
            }
            self.open = None;
            self.next += 1;
        }
        Ok(())
    }
}

/// Reads a chapter's opening and its segments blocks before the first damaged one. The error is a request for bytes,
/// with which the function continues.
fn sum_up(
    draft: &mut Draft,
    open: &mut Option<(FrameSummarizer, usize)>,
    window: &Window,
    damaged: &mut Vec<Damage>,
) -> Result<(), Missing> {
    let (summarizer, next) = match open {
        Some(open) => open,
        None => {
            let Some(place) = draft.opening else {
                return Ok(());
            };
            let block = window.get(place.offset, place.len() as usize)?;
            match begin(place, block, draft.first) {
                Ok(summarizer) => open.insert((summarizer, 0)),
                Err(kind) => {
                    damaged.push(place.damage(kind));
                    return Ok(());
                }
            }
        }
    };
    while let Some(&place) = draft.segments.get(*next) {
        let block = window.get(place.offset, place.len() as usize)?;
        if let Err(kind) = go_on(place, block, summarizer) {
            damaged.push(place.damage(kind));
            draft.segments.truncate(*next);
            break;
        }
        *next += 1;
    }
    draft.summary = Some(summarizer.summary());
    Ok(())
}

/// Begins the summary of a chapter with its `O` block. It fails if the block is damaged, or opens another chapter than
/// `first`.
fn begin(place: BlockPlace, block: &[u8], first: Seq) -> Result<FrameSummarizer, DamageKind> {
    let (_, head) = split_key(place.payload(block)?)?;
    let (_, rest) = split_frame(head)?;
    let summarizer = FrameSummarizer::open(head)?;
    if summarizer.first() != first || !rest.is_empty() {
        return Err(DamageKind::Payload("its opening is of another chapter"));
    }
    Ok(summarizer)
}

/// Adds the segment frames of an `S` block to the summary. It fails at the first frame that cannot be read or does not
/// follow; the frames before it stay in the summary.
fn go_on(
    place: BlockPlace,
    block: &[u8],
    summarizer: &mut FrameSummarizer,
) -> Result<(), DamageKind> {
    let (_, mut rest) = split_key(place.payload(block)?)?;
    while !rest.is_empty() {
        let (frame, after) = split_frame(rest)?;
        summarizer.segment(frame.bytes)?;
        rest = after;
    }
    Ok(())
}
