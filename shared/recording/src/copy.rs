//! Whole chapters of files, byte for byte, in a new file: a copy, several files as one, or one without what is superseded.
//!
//! The result is a list of ranges to copy and of new bytes, so that no host holds more than it copies at once.

use std::collections::BTreeMap;

use crate::block::{BlockPlace, block, file_header};
use crate::contents::{ChapterEntry, Contents};
use crate::error::WriteError;
use crate::file_block::{FileBlock, Form};
use crate::format::{FILE_HEADER_BYTES, Tag};
use crate::index::Listed;
use crate::write::index_block;

/// A part of a new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// New bytes.
    Bytes(Vec<u8>),
    /// A range of a source.
    Copy {
        /// Which of the sources.
        source: usize,
        /// Where it begins there.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
}

/// A file, and which of its chapters are copied.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What the file holds.
    pub contents: &'a Contents,
    /// Places in its [`Contents::chapters`], rising.
    pub chapters: &'a [usize],
    /// Whether the chapters' bodies are copied too.
    pub with_bodies: bool,
}

/// A new file of whole chapters of others, one behind the other. What it is of stands before the chapters of each file;
/// `form` says how it came about.
///
/// # Errors
/// If what a file is of does not fit in a block.
pub fn copy(sources: &[Source<'_>], form: Form) -> Result<Vec<Piece>, WriteError> {
    let mut making = Making::new();
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
        // Their records may lie in chapters that are not copied, or in no file any more.
        for &place in &source.contents.blocks {
            if place.header.tag == Tag::Notes && !is_damaged(source.contents, place) {
                making.copy(number, place, None);
            }
        }
    }
    Ok(making.finish())
}

/// A file without what closed chapters have superseded and without what cannot be read, and with a new index. A chapter
/// that was not closed stays as it was written; so does what this build does not know.
///
/// `files` take the place of [`Contents::files`], since more is known at the end than when the file was begun. The closed
/// chapters are taken to be whole: a host that did not just write them reads them first.
///
/// # Errors
/// If one of `files` does not fit in a block.
pub fn compact(contents: &Contents, files: &[FileBlock]) -> Result<Vec<Piece>, WriteError> {
    let mut of_chapters: BTreeMap<u32, &ChapterEntry> = BTreeMap::new();
    for entry in &contents.chapters {
        for place in own_blocks(entry).iter().chain(&entry.bodies) {
            of_chapters.insert(place.number, entry);
        }
    }
    let mut making = Making::new();
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

/// Whether a block could not be read, as far as was looked.
fn is_damaged(contents: &Contents, place: BlockPlace) -> bool {
    let mut damaged = contents.damaged.iter();
    damaged.any(|damage| damage.block == place.number)
}

/// A closed chapter's block, or the blocks of one that was not closed.
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

/// A new file as far as it is put together.
struct Making {
    pieces: Vec<Piece>,
    blocks: Vec<Listed>,
    offset: u64,
}

impl Making {
    fn new() -> Self {
        Self {
            pieces: vec![Piece::Bytes(file_header().to_vec())],
            blocks: Vec::new(),
            offset: FILE_HEADER_BYTES as u64,
        }
    }

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

    /// A block as it is; neighbours become one range.
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
