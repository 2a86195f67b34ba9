//! Puts whole chapters of other files into a new file, byte for byte: a copy, several files joined, or a compacted
//! file.
//!
//! The result is a list of ranges to copy and of new bytes. A host therefore never holds more than the range that it
//! copies.

use std::collections::BTreeMap;

use crate::block::{BlockPlace, block, file_header};
use crate::contents::{ChapterEntry, Contents};
use crate::error::WriteError;
use crate::file_block::{FileBlock, Form};
use crate::format::{FILE_HEADER_BYTES, FORMAT_VERSION, Tag};
use crate::index::Listed;
use crate::write::index_block;

/// A part of a new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// New bytes, to be written as they are. The bytes are empty only at the end of a file whose index is left out.
    Bytes(Vec<u8>),
    /// A range of bytes of a source file, to be copied unchanged.
    Copy {
        /// Index of the source in the slice passed to [`copy`]; 0 in the result of [`compact`].
        source: usize,
        /// Byte of the source at which the range begins.
        offset: u64,
        /// Length of the range in bytes.
        len: u64,
    },
}

/// A file, and which of its chapters to copy.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's contents.
    pub contents: &'a Contents,
    /// Indexes in [`Contents::chapters`], rising, each once; the chapters are copied in this order. An index beyond
    /// [`Contents::chapters`] is passed over. If the slice is empty, only the notes are copied.
    pub chapters: &'a [usize],
    /// Whether to copy the chapters' bodies, too. The new file block (`F`) does not state that bodies are left out.
    pub with_bodies: bool,
}

/// Returns the parts of a new file with the chosen chapters of all sources, one source after the other. The parts come
/// in the order of the new file.
///
/// A file block (`F`) with the given `form` comes before the chapters of each file or run. The other fields of this
/// block are empty if the source's own `F` block cannot be read or is missing. A closed block (`C`) is copied even if
/// its frames are damaged; the `O` and `S` blocks that it replaces are not copied. All blocks of notes (`N`) without
/// damage are copied, because the records of these notes may be in no chapter of the new file. An index ends the new
/// file if it fits in a block and there are at most [`MAX_BLOCKS`](crate::MAX_BLOCKS) blocks.
///
/// The new file has the highest format version of its sources, because blocks are copied as they are. So an earlier
/// watchscope that reads the sources reads the copy.
///
/// # Errors
/// [`WriteError::TooLarge`] if an `F` block does not fit in a block.
pub fn copy(sources: &[Source<'_>], form: Form) -> Result<Vec<Piece>, WriteError> {
    let versions = sources.iter().map(|source| source.contents.version);
    let mut making = Making::new(versions.max().unwrap_or(FORMAT_VERSION));
    for (number, source) in sources.iter().enumerate() {
        let mut file = None;
        for &place in source.chapters {
            let Some(entry) = source.contents.chapters.get(place) else {
                continue;
            };
            if file != Some(entry.file) {
                let block = source.contents.file_of(entry);
                let block = FileBlock {
                    form,
                    ..block.cloned().unwrap_or_default()
                };
                making.file(Some(&block))?;
                file = Some(entry.file);
            }
            let bodies = entry.bodies.iter().filter(|_| source.with_bodies);
            for &place in own_blocks(entry).iter().chain(bodies) {
                making.copy(number, place, Some(entry));
            }
        }
        // Copies every `N`: the records of its notes may lie in chapters that are not copied, or in no file.
        for &place in &source.contents.blocks {
            if place.header.tag == Tag::Notes && !is_damaged(source.contents, place) {
                making.copy(number, place, None);
            }
        }
    }
    Ok(making.finish())
}

/// Returns the parts of a new file without superseded and unreadable blocks, in the order of the new file. The chapters
/// of an unreadable `F` block then belong to the `F` block before it, if there is one. A new index ends the file if the
/// index fits in a block and there are at most [`MAX_BLOCKS`](crate::MAX_BLOCKS) blocks. Blocks keep their order.
///
/// A block is superseded if its chapter was closed or begun again later. A chapter that was not closed stays as it was
/// written, up to its first damaged block. All notes blocks (`N`), even damaged ones, and blocks with an unknown tag
/// stay, too.
///
/// `files` replace [`Contents::files`], one for one, because more is known at the end of a recording than at its
/// beginning. An `F` block without a replacement is left out; a surplus replacement is ignored. The closed chapters
/// must be undamaged: a host that did not just write them reads them first.
///
/// # Errors
/// [`WriteError::TooLarge`] if one of `files` does not fit in a block.
pub fn compact(contents: &Contents, files: &[FileBlock]) -> Result<Vec<Piece>, WriteError> {
    let mut of_chapters: BTreeMap<u32, &ChapterEntry> = BTreeMap::new();
    for entry in &contents.chapters {
        for place in own_blocks(entry).iter().chain(&entry.bodies) {
            of_chapters.insert(place.number, entry);
        }
    }
    let mut making = Making::new(contents.version);
    let mut files = files.iter();
    for &place in &contents.blocks {
        if place.header.tag == Tag::File && !is_damaged(contents, place) {
            making.file(files.next())?;
            continue;
        }
        let entry = of_chapters.get(&place.number).copied();
        let is_kept = match place.header.tag {
            Tag::Notes | Tag::Later(_) => true,
            Tag::File | Tag::Index => false,
            _ => entry.is_some(),
        };
        if is_kept {
            making.copy(0, place, entry);
        }
    }
    Ok(making.finish())
}

/// Returns whether the scan found this block damaged.
fn is_damaged(contents: &Contents, place: BlockPlace) -> bool {
    let mut damaged = contents.damaged.iter();
    damaged.any(|damage| damage.block == place.number)
}

/// Returns the block of a closed chapter, or the `O` and `S` blocks of a chapter that was not closed.
fn own_blocks(entry: &ChapterEntry) -> Vec<BlockPlace> {
    match entry.closed {
        Some(closed) => vec![closed],
        None => entry
            .opening
            .iter()
            .chain(&entry.segments)
            .copied()
            .collect(),
    }
}

/// A new file that is being put together.
struct Making {
    pieces: Vec<Piece>,
    blocks: Vec<Listed>,
    offset: u64,
}

impl Making {
    /// Begins a file of a format version.
    fn new(version: u32) -> Self {
        Self {
            pieces: vec![Piece::Bytes(file_header(version).to_vec())],
            blocks: Vec::new(),
            offset: FILE_HEADER_BYTES as u64,
        }
    }

    /// Adds a file block (`F`); nothing for `None`. It fails if the file block does not fit in a block.
    fn file(&mut self, file: Option<&FileBlock>) -> Result<(), WriteError> {
        let Some(file) = file else { return Ok(()) };
        let (header, bytes) = block(Tag::File, &[&file.encode()], None)?;
        self.offset += bytes.len() as u64;
        self.bytes(bytes);
        self.blocks.push(Listed {
            header,
            first: None,
            summary: Vec::new(),
        });
        Ok(())
    }

    fn bytes(&mut self, bytes: Vec<u8>) {
        match self.pieces.last_mut() {
            Some(Piece::Bytes(last)) => last.extend(bytes),
            _ => self.pieces.push(Piece::Bytes(bytes)),
        }
    }

    /// Copies a block as it is. Blocks that lie next to each other in the source become one range.
    fn copy(&mut self, from: usize, place: BlockPlace, entry: Option<&ChapterEntry>) {
        self.offset += place.len();
        let summary = entry.filter(|_| place.header.tag == Tag::Chapter);
        self.blocks.push(Listed {
            header: place.header,
            first: entry.map(|entry| entry.summary.first),
            summary: summary.map_or(Vec::new(), |entry| entry.summary.encode()),
        });
        if let Some(Piece::Copy {
            source,
            offset,
            len,
        }) = self.pieces.last_mut()
            && *source == from
            && *offset + *len == place.offset
        {
            *len += place.len();
            return;
        }
        self.pieces.push(Piece::Copy {
            source: from,
            offset: place.offset,
            len: place.len(),
        });
    }

    fn finish(mut self) -> Vec<Piece> {
        let bytes = index_block(&mut self.blocks, &mut self.offset);
        self.bytes(bytes);
        self.pieces
    }
}
