//! The machine that writes a recording: it returns the bytes to append, and has its host deflate blocks.
//!
//! ```text
//!   begin ─► F      open_chapter ─► O      segment, flush ─► S      close_chapter ─► Packing ─(deflated)─► C, each 64: I
//!                                                                                     finish ─► I
//! ```
//!
//! The host appends the bytes that each call returns, in the order of the calls. The file is valid at every moment.

use watchscope_model::codec::{FrameKind, split_frame};
use watchscope_model::summary::Summary;
use watchscope_model::{EpochId, KeptNote, LogId, Seq, State};

use crate::block::{BlockPlace, block, file_header};
use crate::body::Bodies;
use crate::chapter::{KEY_BYTES, chapter_prefix};
use crate::contents::{Contents, group};
use crate::error::WriteError;
use crate::file_block::FileBlock;
use crate::format::{
    BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, FORMAT_VERSION, MAX_BLOCKS, MAX_RAW_BYTES, Tag,
};
use crate::index::{self, CHAPTERS_BETWEEN_INDEXES, Found, Listed};
use crate::notes;
use crate::summary::FrameSummarizer;

/// The most bytes of frames in an opening (`O`) or segments (`S`) block: [`MAX_RAW_BYTES`] less the 8 bytes of the
/// first seq. A larger frame is [`WriteError::TooLarge`]; segments that together exceed this number go into several `S`
/// blocks.
const MAX_FRAMES_BYTES: usize = MAX_RAW_BYTES as usize - KEY_BYTES;

/// The machine that writes a recording.
///
/// The writer holds an index entry for each block, every file block (`F`), and all notes. A host should end the file
/// before there are [`MAX_BLOCKS`] blocks. The history does so from 100,000 blocks on; `watchscope record` does not.
/// The writer also holds the frames of the open chapter, at most 64 MiB; a larger chapter stays in `O` and `S` blocks.
/// And it holds the open chapter's dictionary, and its fold without the objects of its opening snapshot.
#[derive(Debug)]
pub struct Writer {
    /// The format version in the file's header.
    version: u32,
    offset: u64,
    blocks: Vec<Listed>,
    files: Vec<FileBlock>,
    /// The notes of all `N` blocks.
    notes: Vec<KeptNote>,
    chapters_since_index: u32,
    open: Option<OpenChapter>,
}

#[derive(Debug)]
struct OpenChapter {
    first: Seq,
    /// The index in `Writer::blocks` of the chapter's opening block (`O`).
    block: usize,
    summarizer: FrameSummarizer,
    /// All frames of the chapter. If the chapter is over 64 MiB, only the frames that no `S` block holds yet.
    frames: Vec<u8>,
    /// Index in `frames` of the first byte that no `O` or `S` block holds yet.
    unwritten_from: usize,
    is_too_large: bool,
}

/// A block that the host must deflate (raw deflate, RFC 1951) before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packing {
    tag: Tag,
    first: Seq,
    /// The bytes before the deflated part.
    prefix: Vec<u8>,
    /// The encoded summary of a closed chapter; else empty.
    summary: Vec<u8>,
    raw: Vec<u8>,
}

impl Packing {
    /// Returns the bytes to deflate: at least one, and at most [`MAX_RAW_BYTES`].
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    fn of_chapter(first: Seq, summary: &Summary, raw: Vec<u8>) -> Self {
        let summary = summary.encode();
        Self {
            tag: Tag::Chapter,
            first,
            prefix: chapter_prefix(first, &summary),
            summary,
            raw,
        }
    }
}

/// The result of closing a chapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// A segments block (`S`) with the segments that no block held yet, to be appended now; empty if there are none.
    pub append: Vec<u8>,
    /// The closed chapter, to be deflated and passed to [`Writer::packed`]. `None` if the chapter has no records or is
    /// over 64 MiB; such a chapter stays in `O` and `S` blocks.
    pub packing: Option<Packing>,
}

impl Writer {
    /// Begins a file; returns the writer and the file's first bytes: the file's header and its first file block (`F`).
    /// Watches that do not fit in the file block are left out ([`MAX_FILE_BLOCK_BYTES`](crate::MAX_FILE_BLOCK_BYTES)).
    ///
    /// # Errors
    /// [`WriteError::TooLarge`] if `file` without its watches is over 64 MiB.
    pub fn begin(file: &FileBlock) -> Result<(Self, Vec<u8>), WriteError> {
        let mut writer = Self {
            version: FORMAT_VERSION,
            offset: FILE_HEADER_BYTES as u64,
            blocks: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
            chapters_since_index: 0,
            open: None,
        };
        let mut bytes = file_header(FORMAT_VERSION).to_vec();
        bytes.extend(writer.file(file)?);
        Ok((writer, bytes))
    }

    /// Returns a file block (`F`) for the chapters that follow. A host calls this while no chapter is open or being
    /// deflated, when the log or the run of its writer changes. No code checks this. If a chapter is open, a reader
    /// loses its later `S` blocks. The reader takes a later `C` block of the chapter as a chapter of the new `F` block.
    ///
    /// # Errors
    /// [`WriteError::TooLarge`] if `file` without its watches is over 64 MiB.
    pub fn file(&mut self, file: &FileBlock) -> Result<Vec<u8>, WriteError> {
        let bytes = self.append(Tag::File, &[&file.encode()], None, None)?;
        self.files.push(file.clone());
        Ok(bytes)
    }

    /// Returns notes blocks (`N`) with notes of persons whose records lie outside the file's chapters; nothing for no
    /// notes. Each block has a payload of at most 1 MiB ([`MAX_NOTES_BLOCK_BYTES`](crate::MAX_NOTES_BLOCK_BYTES)). A
    /// host writes at most [`MAX_NOTES`](watchscope_model::notes::MAX_NOTES) notes into a file, because a reader reads
    /// no more.
    ///
    /// # Errors
    /// There are none in practice: a note that does not fit in a block is left out. [`Writer::contents`] lists such a
    /// note nevertheless.
    pub fn notes(&mut self, notes: &[KeptNote]) -> Result<Vec<u8>, WriteError> {
        let mut bytes = Vec::new();
        for payload in notes::payloads(notes) {
            bytes.extend(self.append(Tag::Notes, &[&payload], None, None)?);
        }
        self.notes.extend_from_slice(notes);
        Ok(bytes)
    }

    /// Continues a file that was opened. Returns the writer, and the length in bytes to which the host cuts the file
    /// before it appends. The returned writer has no open chapter: a chapter that was not closed stays in `O` and `S`
    /// blocks. Returns `None` if a part of the file is damaged, because no index could list that part.
    ///
    /// # Panics
    /// It panics if a chapter in `contents` names a block that `contents` does not list. [`Scan`](crate::Scan) and
    /// [`Writer::contents`] make no such contents.
    #[must_use]
    pub fn resume(contents: &Contents) -> Option<(Self, u64)> {
        let ends = contents.blocks.iter().map(BlockPlace::end);
        let offset = ends.clone().next_back().unwrap_or(FILE_HEADER_BYTES as u64);
        let begins = contents.blocks.iter().map(|block| block.offset);
        let has_holes = !std::iter::once(FILE_HEADER_BYTES as u64)
            .chain(ends)
            .eq(begins.chain([offset]));
        if has_holes || !contents.damaged.is_empty() {
            return None;
        }
        let mut blocks: Vec<Listed> = contents
            .blocks
            .iter()
            .map(|place| Listed {
                header: place.header,
                first: place.first,
                summary: Vec::new(),
            })
            .collect();
        for entry in &contents.chapters {
            for place in entry.closed.iter().chain(&entry.opening) {
                blocks[place.number as usize].summary = entry.summary.encode();
            }
        }
        let tags = blocks.iter().rev().map(|block| block.header.tag);
        let since_index = tags.take_while(|tag| *tag != Tag::Index);
        let writer = Self {
            version: contents.version,
            offset,
            chapters_since_index: since_index.filter(|tag| *tag == Tag::Chapter).count() as u32,
            blocks,
            files: contents.files.clone(),
            notes: contents.notes.clone(),
            open: None,
        };
        Some((writer, offset))
    }

    /// Returns the contents that the file has once all returned bytes are appended. A chapter that is being deflated is
    /// listed with its `O` and `S` blocks. The open chapter's summary also counts the segments that are not yet
    /// flushed. No bound on notes is applied, and no payload is checked.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let mut at = FILE_HEADER_BYTES as u64;
        let mut found = Vec::new();
        for (number, listed) in (0..).zip(&self.blocks) {
            let place = BlockPlace {
                number,
                offset: at,
                header: listed.header,
                first: listed.first,
            };
            at = place.end();
            let summary = Summary::decode(&listed.summary).ok();
            found.push(Found { place, summary });
        }
        if let Some(open) = &self.open {
            found[open.block].summary = Some(open.summarizer.summary());
        }
        let (files, mut damaged) = (self.files.iter().cloned().map(Some), Vec::new());
        let grouped = group(found, files, &mut damaged);
        grouped.contents(self.offset, self.version, self.notes.clone(), damaged, None)
    }

    /// Opens a chapter with its head frame; returns the chapter's opening block (`O`). Bytes after the frame are
    /// ignored.
    ///
    /// # Errors
    /// It fails if a chapter is open, or if the frame is no head frame, cannot be read, or is too large for a block.
    /// The layers in the frame stay unread, so damage in them is no error. After an error no new chapter is open.
    pub fn open_chapter(&mut self, head: &[u8]) -> Result<Vec<u8>, WriteError> {
        if let Some(open) = &self.open {
            return Err(WriteError::ChapterOpen { first: open.first });
        }
        let head = one_frame(head, FrameKind::Head)?;
        let summarizer = FrameSummarizer::open(head)?;
        let first = summarizer.first();
        let bytes = self.keyed(Tag::Opening, first, head)?;
        self.open = Some(OpenChapter {
            first,
            block: self.blocks.len() - 1,
            summarizer,
            frames: head.to_vec(),
            unwritten_from: head.len(),
            is_too_large: false,
        });
        Ok(bytes)
    }

    /// Takes in the open chapter's next segment frame, which the next [`Writer::flush`] writes. Returns an `S` block
    /// with the unwritten segments before this one, if adding it would exceed one block or 64 MiB of chapter. Returns
    /// nothing otherwise, or if all segments before this one are written. Bytes after the frame are ignored.
    ///
    /// # Errors
    /// It fails if no chapter is open, or if the frame is no segment, cannot be read, does not follow, or is too large.
    /// The fields of a record of an unknown kind are not read, as by [`FrameSummarizer::segment`]. A segment that fails
    /// is not taken in. After a segment with a right checksum whose contents cannot be decoded, every later segment of
    /// the chapter fails, too.
    pub fn segment(&mut self, frame: &[u8]) -> Result<Vec<u8>, WriteError> {
        let open = self.open.as_mut().ok_or(WriteError::NoChapter)?;
        let frame = one_frame(frame, FrameKind::Segment)?;
        let too_large = WriteError::TooLarge {
            tag: Tag::Segments,
            bytes: frame.len(),
        };
        if frame.len() > MAX_FRAMES_BYTES {
            return Err(too_large);
        }
        open.summarizer.segment(frame)?;
        let waiting = open.frames.len() - open.unwritten_from;
        let is_full = waiting + frame.len() > MAX_FRAMES_BYTES
            || open.frames.len() + frame.len() > MAX_RAW_BYTES as usize;
        let bytes = if is_full { self.flush()? } else { Vec::new() };
        let open = self.open.as_mut().ok_or(WriteError::NoChapter)?;
        if open.frames.len() + frame.len() > MAX_RAW_BYTES as usize {
            open.is_too_large = true;
        }
        if open.is_too_large && open.unwritten_from == open.frames.len() {
            open.frames.clear();
            open.unwritten_from = 0;
        }
        open.frames.extend_from_slice(frame);
        Ok(bytes)
    }

    /// Returns a segments block (`S`) with the open chapter's unwritten segments; nothing if there are none, or if no
    /// chapter is open. A host calls this at most 1 s after [`Writer::segment`].
    ///
    /// # Errors
    /// There are none in practice: [`Writer::segment`] keeps the unwritten segments within one block.
    pub fn flush(&mut self) -> Result<Vec<u8>, WriteError> {
        let Some(open) = &mut self.open else {
            return Ok(Vec::new());
        };
        let first = open.first;
        let frames = open.frames[open.unwritten_from..].to_vec();
        if frames.is_empty() {
            return Ok(Vec::new());
        }
        open.unwritten_from = open.frames.len();
        self.keyed(Tag::Segments, first, &frames)
    }

    /// Closes the open chapter. The next chapter may be opened before the closed one is passed to [`Writer::packed`].
    ///
    /// # Errors
    /// [`WriteError::NoChapter`] if no chapter is open.
    pub fn close_chapter(&mut self) -> Result<Closing, WriteError> {
        let append = self.flush()?;
        let open = self.open.take().ok_or(WriteError::NoChapter)?;
        let summary = open.summarizer.summary();
        self.blocks[open.block].summary = summary.encode();
        let is_packed = summary.records() > 0 && !open.is_too_large;
        let packing = is_packed.then(|| Packing::of_chapter(open.first, &summary, open.frames));
        Ok(Closing { append, packing })
    }

    /// Returns a whole chapter to be deflated, for which no `O` and `S` blocks are written. The caller passes at least
    /// one segment, because a chapter without records has no `C` block (docs/recordings.md). Bytes after the frame are
    /// ignored in `head` and in each segment.
    ///
    /// # Errors
    /// It fails if a frame is of the wrong kind, cannot be read or does not follow. What [`Writer::open_chapter`] and
    /// [`Writer::segment`] leave unread is no error. It fails if all frames together are over 64 MiB.
    pub fn whole_chapter<'a>(
        head: &[u8],
        segments: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Packing, WriteError> {
        let head = one_frame(head, FrameKind::Head)?;
        let mut summarizer = FrameSummarizer::open(head)?;
        let mut raw = head.to_vec();
        for frame in segments {
            let frame = one_frame(frame, FrameKind::Segment)?;
            summarizer.segment(frame)?;
            raw.extend_from_slice(frame);
        }
        if raw.len() > MAX_RAW_BYTES as usize {
            return Err(WriteError::TooLarge {
                tag: Tag::Chapter,
                bytes: raw.len(),
            });
        }
        let summary = summarizer.summary();
        Ok(Packing::of_chapter(summary.first, &summary, raw))
    }

    /// Returns a bodies block (`B`) to be deflated, with bodies of the chapter that begins with `first`; `None` if
    /// there are none. Each body has the seq of its record; the bodies keep their order, which may be any. A host
    /// passes at most [`MAX_BODIES`](crate::MAX_BODIES) bodies, because a reader reads no more.
    ///
    /// # Errors
    /// [`WriteError::TooLarge`] if the bodies, with their seqs and lengths, are over 64 MiB together.
    pub fn bodies<'a>(
        first: Seq,
        bodies: impl IntoIterator<Item = (Seq, &'a [u8])>,
    ) -> Result<Option<Packing>, WriteError> {
        let raw = Bodies::encode(first, bodies);
        if raw.len() > MAX_RAW_BYTES as usize {
            return Err(WriteError::TooLarge {
                tag: Tag::Bodies,
                bytes: raw.len(),
            });
        }
        Ok((!raw.is_empty()).then(|| Packing {
            tag: Tag::Bodies,
            first,
            prefix: first.0.to_le_bytes().to_vec(),
            summary: Vec::new(),
            raw,
        }))
    }

    /// Returns the block with the bytes that the host deflated. After the 64th closed chapter since the last index, an
    /// index follows ([`CHAPTERS_BETWEEN_INDEXES`]). It is left out if it does not fit in a block, or if over
    /// [`MAX_BLOCKS`] blocks come before it. No code checks whether `deflated` inflates to [`Packing::raw`].
    ///
    /// # Errors
    /// [`WriteError::TooLarge`] if the deflated bytes do not fit in a block. After this error the file stays as it was.
    pub fn packed(&mut self, packing: &Packing, deflated: &[u8]) -> Result<Vec<u8>, WriteError> {
        let raw_bytes = u32::try_from(packing.raw.len()).unwrap_or(u32::MAX);
        let mut bytes = self.append(
            packing.tag,
            &[&packing.prefix, deflated],
            Some(raw_bytes),
            Some(packing.first),
        )?;
        if packing.tag == Tag::Chapter {
            if let Some(listed) = self.blocks.last_mut() {
                listed.summary = packing.summary.clone();
            }
            self.chapters_since_index += 1;
            if self.chapters_since_index >= CHAPTERS_BETWEEN_INDEXES {
                bytes.extend(self.index());
            }
        }
        Ok(bytes)
    }

    /// Ends the file; returns an `S` block with the remaining segments, and the index. The index is left out if it does
    /// not fit in a block, or if there are more than [`MAX_BLOCKS`] blocks. A chapter that is still open, or whose
    /// deflated bytes were not passed to [`Writer::packed`], stays in `O` and `S` blocks. The host appends nothing
    /// after these bytes.
    ///
    /// # Errors
    /// There are none in practice, as for [`Writer::flush`].
    pub fn finish(&mut self) -> Result<Vec<u8>, WriteError> {
        let mut bytes = self.flush()?;
        bytes.extend(self.index());
        Ok(bytes)
    }

    /// Returns the length in bytes that the file has once all returned bytes are appended.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.offset
    }

    /// Returns how many blocks the file has, indexes included. A host that ends a file before there are [`MAX_BLOCKS`]
    /// blocks needs this number.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the seq of the open chapter's first record, even if that record has not come yet. `None` if no chapter
    /// is open.
    #[must_use]
    pub fn open_first(&self) -> Option<Seq> {
        Some(self.open.as_ref()?.first)
    }

    /// Returns the log and the run of its writer that the open chapter names; `None` if no chapter is open.
    #[must_use]
    pub fn open_log(&self) -> Option<(&LogId, &EpochId)> {
        let summarizer = &self.open.as_ref()?.summarizer;
        Some((summarizer.log(), summarizer.epoch()))
    }

    /// Returns the fold after the last record of the open chapter, as [`FrameSummarizer::state`] returns it. `None` if
    /// no chapter is open.
    #[must_use]
    pub fn open_state(&self) -> Option<&State> {
        Some(self.open.as_ref()?.summarizer.state())
    }

    /// Appends a block with a chapter's first seq and frames; it fails as [`Self::append`] does.
    fn keyed(&mut self, tag: Tag, first: Seq, frames: &[u8]) -> Result<Vec<u8>, WriteError> {
        let key = first.0.to_le_bytes();
        self.append(tag, &[&key, frames], None, Some(first))
    }

    /// Appends a block, and returns its bytes. It fails as [`block`] does, and then changes nothing.
    fn append(
        &mut self,
        tag: Tag,
        payload: &[&[u8]],
        raw_bytes: Option<u32>,
        first: Option<Seq>,
    ) -> Result<Vec<u8>, WriteError> {
        let (header, bytes) = block(tag, payload, raw_bytes)?;
        self.offset += bytes.len() as u64;
        self.blocks.push(Listed {
            header,
            first,
            summary: Vec::new(),
        });
        Ok(bytes)
    }

    /// Returns an index of all blocks so far. Returns nothing if the index does not fit in a block, because a file can
    /// be read without an index.
    fn index(&mut self) -> Vec<u8> {
        self.chapters_since_index = 0;
        index_block(&mut self.blocks, &mut self.offset)
    }
}

/// Returns an index of `blocks`, which end at `offset`, and adds the index block to `blocks`. Returns nothing if the
/// index does not fit in a block, or if there are over [`MAX_BLOCKS`] blocks.
pub(crate) fn index_block(blocks: &mut Vec<Listed>, offset: &mut u64) -> Vec<u8> {
    if blocks.len() > MAX_BLOCKS {
        return Vec::new();
    }
    let payload = index::encode(blocks, *offset);
    let Ok((header, bytes)) = block(Tag::Index, &[&payload], None) else {
        return Vec::new();
    };
    *offset += bytes.len() as u64;
    blocks.push(Listed {
        header,
        first: None,
        summary: Vec::new(),
    });
    debug_assert_eq!(bytes.len(), BLOCK_HEADER_BYTES + payload.len());
    bytes
}

/// Returns the first frame of `bytes`. The error is the decoder's;
/// [`DecodeError::Tag`](watchscope_model::codec::DecodeError::Tag) if the frame is of another kind.
fn one_frame(bytes: &[u8], kind: FrameKind) -> Result<&[u8], WriteError> {
    let (frame, _) = split_frame(bytes)?;
    if frame.kind != kind {
        let tag = frame.bytes[0];
        return Err(watchscope_model::codec::DecodeError::Tag(tag).into());
    }
    Ok(frame.bytes)
}
