//! The contents of a recording: which blocks make up which chapter.

use std::collections::BTreeMap;

use watchscope_model::summary::Summary;
use watchscope_model::{KeptNote, Seq};

use crate::block::BlockPlace;
use crate::error::{Damage, DamageKind};
use crate::file_block::FileBlock;
use crate::format::{MAX_CHAPTERS, Tag};
use crate::index::Found;

/// The contents of a recording, as [`Scan`](crate::Scan) finds them, or as
/// [`Writer::contents`](crate::Writer::contents) lists them.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Length of the file in bytes; for [`Writer::contents`](crate::Writer::contents), once all returned bytes are
    /// appended.
    pub size: u64,
    /// The file's format version, 1 to [`FORMAT_VERSION`](crate::FORMAT_VERSION).
    pub version: u32,
    /// The readable file blocks (`F`) among `blocks`, in the order of the file; the number of `blocks` bounds their
    /// number. The list has several blocks if several files or runs were put together; it is empty if no `F` block can
    /// be read.
    pub files: Vec<FileBlock>,
    /// The file's chapters, by the order of their `F` blocks, then by their first records; at most [`MAX_CHAPTERS`]. A
    /// chapter with neither a readable opening nor a closed block with a readable summary is left out.
    pub chapters: Vec<ChapterEntry>,
    /// The file's blocks whose header was read, or that a good index lists, in the order of the file. Their payloads
    /// may be damaged. A scan lists at most [`MAX_BLOCKS`](crate::MAX_BLOCKS) blocks, and the index at the end. The
    /// list ends with the first block of a chapter over [`MAX_CHAPTERS`].
    pub blocks: Vec<BlockPlace>,
    /// The notes of the file's `N` blocks, in the order of the file: notes of persons whose records lie outside its
    /// chapters. A scan lists at most [`MAX_NOTES`](watchscope_model::notes::MAX_NOTES) notes; it leaves out the file's
    /// other notes, and reports them in [`damaged`](Self::damaged).
    pub notes: Vec<KeptNote>,
    /// The damage that [`Scan`](crate::Scan) found, in the order of the file; empty if it found none.
    /// [`Writer::contents`](crate::Writer::contents) lists no damage, except a chapter over [`MAX_CHAPTERS`]. A scan
    /// does not read the frames of closed chapters, nor bodies. A damaged index is not reported unless its header is
    /// damaged, because the blocks are found without it. With an undamaged index a scan does not read the headers of
    /// closed chapters and bodies either. A block has few entries, so [`MAX_BLOCKS`](crate::MAX_BLOCKS) bounds the
    /// number of entries.
    pub damaged: Vec<Damage>,
    /// Where the file was cut; `None` if it ends with a whole block, with bytes that are reported as damage, or after
    /// its first 12 bytes.
    pub cut: Option<Cut>,
}

impl Contents {
    /// Returns the file block (`F`) that a chapter belongs to; `None` if that block cannot be read, or if none comes
    /// before the chapter.
    #[must_use]
    pub fn file_of(&self, entry: &ChapterEntry) -> Option<&FileBlock> {
        entry.file.and_then(|file| self.files.get(file))
    }

    /// Returns whether the file was ended and needs no compacting. The last block of such a file is an index, it has no
    /// `O` and no `S` blocks, and it is not cut. Damage does not count. A finished file with a chapter that has no `C`
    /// block gives `false`.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        let mut tags = self.blocks.iter().map(|block| block.header.tag);
        let is_open = |tag| matches!(tag, Tag::Opening | Tag::Segments);
        tags.next_back() == Some(Tag::Index) && self.cut.is_none() && !tags.any(is_open)
    }
}

/// The position at which a file was cut inside a block: the file's last block is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Number of the incomplete block, from 0.
    pub block: u32,
    /// Byte of the file at which the incomplete block begins.
    pub offset: u64,
}

/// A chapter and the positions of its blocks. If another `O` block begins the chapter again, its `O`, `S` and `C`
/// blocks before that one are void and not listed here.
#[derive(Clone, Debug, PartialEq)]
pub struct ChapterEntry {
    /// Index in [`Contents::files`] of the `F` block that the chapter belongs to; `None` if it cannot be read, or if
    /// none comes before the chapter.
    pub file: Option<usize>,
    /// The chapter's times, counts and troubles. Without a closed block, the summary covers the segment frames before
    /// the first damaged one.
    pub summary: Summary,
    /// The chapter's closed block (`C`), the first if there are several. `None` if the chapter was not closed, or if
    /// the summary in its `C` block cannot be read.
    pub closed: Option<BlockPlace>,
    /// The chapter's opening block (`O`), the last if there are several. `None` if the file has only the closed block,
    /// or if the header or seq of the `O` block cannot be read.
    pub opening: Option<BlockPlace>,
    /// The chapter's segments blocks (`S`), in the order of the file; without a closed block, only those before the
    /// first damaged one. An `S` block after the opening of another chapter is left out. Empty if the file has only the
    /// closed block, or if the chapter has no record. Without a closed block, also empty if the first `S` block is
    /// damaged.
    pub segments: Vec<BlockPlace>,
    /// The chapter's bodies blocks (`B`), in the order of the file; empty if the file has none for the chapter.
    pub bodies: Vec<BlockPlace>,
}

/// A chapter whose blocks are being collected.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// The number of `F` blocks before the chapter.
    part: usize,
    file: Option<usize>,
    pub(crate) first: Seq,
    pub(crate) summary: Option<Summary>,
    closed: Option<BlockPlace>,
    pub(crate) opening: Option<BlockPlace>,
    pub(crate) segments: Vec<BlockPlace>,
    bodies: Vec<BlockPlace>,
}

/// The blocks of a file, grouped by chapter.
#[derive(Debug, Default)]
pub(crate) struct Grouped {
    files: Vec<FileBlock>,
    blocks: Vec<BlockPlace>,
    pub(crate) drafts: Vec<Draft>,
}

/// Groups blocks by chapter. `read` has an item for each `F` block, which is `None` if the block is damaged.
///
/// To `damaged` the function adds the first block of a chapter over [`MAX_CHAPTERS`], and blocks that name a chapter to
/// which they do not belong. A block can name a wrong chapter because the name is read before the block's checksum is
/// checked.
pub(crate) fn group(
    found: Vec<Found>,
    read: impl IntoIterator<Item = Option<FileBlock>>,
    damaged: &mut Vec<Damage>,
) -> Grouped {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut places: BTreeMap<(usize, Seq), usize> = BTreeMap::new();
    let mut blocks = Vec::new();
    let mut read = read.into_iter();
    let (mut files, mut file, mut part) = (Vec::new(), None, 0);
    // `open` is the chapter of the last `O`. `strays` has the first `S` of each chapter that stands behind another's
    // `O`.
    let mut open = None;
    let mut strays: BTreeMap<(usize, Seq), BlockPlace> = BTreeMap::new();
    for Found { place, summary } in found {
        blocks.push(place);
        if place.header.tag == Tag::File {
            part += 1;
            open = None;
            file = read.next().flatten().map(|block| {
                files.push(block);
                files.len() - 1
            });
        }
        let Some(first) = place.first else { continue };
        if place.header.tag == Tag::Segments && open != Some(first) {
            if strays.len() < MAX_CHAPTERS {
                strays.entry((part, first)).or_insert(place);
            }
            continue;
        }
        if place.header.tag == Tag::Opening {
            open = Some(first);
        }
        if drafts.len() == MAX_CHAPTERS && !places.contains_key(&(part, first)) {
            damaged.push(place.damage(DamageKind::TooManyChapters));
            break;
        }
        let draft = *places.entry((part, first)).or_insert_with(|| {
            drafts.push(Draft {
                part,
                file,
                first,
                ..Draft::default()
            });
            drafts.len() - 1
        });
        drafts[draft].take(place, summary);
    }
    for ((part, first), place) in strays {
        let draft = places.get(&(part, first)).map(|&draft| &drafts[draft]);
        damaged.push(place.damage(match draft {
            Some(draft) if draft.is_begun() => DamageKind::WrongChapter { first },
            _ => DamageKind::NoOpening { first },
        }));
    }
    // Reports only the first block of bodies, because a hostile file may have very many without a chapter.
    let alone = drafts.iter().filter(|draft| !draft.is_begun());
    let mut bodies = alone.filter_map(|draft| Some((draft.first, draft.bodies.first()?)));
    if let Some((first, place)) = bodies.next() {
        damaged.push(place.damage(DamageKind::NoChapter { first }));
    }
    // A chapter may be closed after the next one was opened, so the order of blocks is not that of records.
    drafts.sort_by_key(|draft| (draft.part, draft.first));
    Grouped {
        files,
        blocks,
        drafts,
    }
}

impl Draft {
    /// Returns whether the chapter's opening or its closed block is in the file.
    fn is_begun(&self) -> bool {
        self.opening.is_some() || self.closed.is_some()
    }

    fn take(&mut self, place: BlockPlace, summary: Option<Summary>) {
        match place.header.tag {
            Tag::Chapter if self.closed.is_none() && summary.is_some() => {
                self.summary = summary;
                self.closed = Some(place);
            }
            // The writer began the chapter again after a failure: blocks before this `O` are void.
            Tag::Opening => {
                (self.opening, self.summary) = (Some(place), summary);
                self.closed = None;
                self.segments.clear();
            }
            Tag::Segments => self.segments.push(place),
            Tag::Bodies => self.bodies.push(place),
            _ => {}
        }
    }

    /// Returns the finished entry; `None` if the chapter has no readable opening and no readable closed block.
    fn finish(self) -> Option<ChapterEntry> {
        Some(ChapterEntry {
            file: self.file,
            summary: self.summary?,
            closed: self.closed,
            opening: self.opening,
            segments: self.segments,
            bodies: self.bodies,
        })
    }
}

impl Grouped {
    /// Makes the contents of a file of `size` bytes and a format version.
    pub(crate) fn contents(
        self,
        size: u64,
        version: u32,
        notes: Vec<KeptNote>,
        damaged: Vec<Damage>,
        cut: Option<Cut>,
    ) -> Contents {
        let drafts = self.drafts.into_iter();
        Contents {
            size,
            version,
            files: self.files,
            chapters: drafts.filter_map(Draft::finish).collect(),
            blocks: self.blocks,
            notes,
            damaged,
            cut,
        }
    }
}
