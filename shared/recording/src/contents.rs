//! What a recording holds, and which of its blocks make up which chapter.

use std::collections::BTreeMap;

use watchscope_model::summary::Summary;
use watchscope_model::{KeptNote, Seq};

use crate::block::BlockPlace;
use crate::error::{Damage, DamageKind};
use crate::file_block::FileBlock;
use crate::format::{MAX_CHAPTERS, Tag};
use crate::index::Found;

/// What a recording holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// How many bytes the file has.
    pub size: u64,
    /// What its chapters are of; more than one if several files were put together.
    pub files: Vec<FileBlock>,
    /// Its chapters: of each file in the order of their records.
    pub chapters: Vec<ChapterEntry>,
    /// Its blocks, in the order of the file. Those that could not be read are not among them.
    pub blocks: Vec<BlockPlace>,
    /// Notes of persons whose record lies outside its chapters; at most
    /// [`MAX_NOTES`](watchscope_model::notes::MAX_NOTES).
    pub notes: Vec<KeptNote>,
    /// What could not be read, as far as was looked.
    pub damaged: Vec<Damage>,
    /// Where the file was cut, if it ends inside a block.
    pub cut: Option<Cut>,
}

impl Contents {
    /// What a chapter of it is of; `None` if that cannot be read.
    #[must_use]
    pub fn file_of(&self, entry: &ChapterEntry) -> Option<&FileBlock> {
        entry.file.and_then(|file| self.files.get(file))
    }
}

/// Where a file was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The block that is not whole.
    pub block: u32,
    /// Where it begins.
    pub offset: u64,
}

/// A chapter and where its blocks are.
#[derive(Clone, Debug, PartialEq)]
pub struct ChapterEntry {
    /// Which of [`Contents::files`] it is of; `None` if that cannot be read.
    pub file: Option<usize>,
    /// What it holds in short.
    pub summary: Summary,
    /// The block of the closed chapter, if there is one.
    pub closed: Option<BlockPlace>,
    /// The block of its opening, if it is still there.
    pub opening: Option<BlockPlace>,
    /// The blocks of its segments, if they are still there.
    pub segments: Vec<BlockPlace>,
    /// The blocks of its bodies.
    pub bodies: Vec<BlockPlace>,
}

/// A chapter whose blocks are being put together.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// How many `F` blocks come before it.
    part: usize,
    file: Option<usize>,
    pub(crate) first: Seq,
    pub(crate) summary: Option<Summary>,
    closed: Option<BlockPlace>,
    pub(crate) opening: Option<BlockPlace>,
    pub(crate) segments: Vec<BlockPlace>,
    bodies: Vec<BlockPlace>,
}

/// The blocks of a file, those of each chapter together.
#[derive(Debug, Default)]
pub(crate) struct Grouped {
    files: Vec<FileBlock>,
    blocks: Vec<BlockPlace>,
    pub(crate) drafts: Vec<Draft>,
}

/// Puts the blocks of each chapter together; `read` is what each `F` block says, `None` if it is damaged. Notes in
/// `damaged` where there are more chapters than are read, and blocks that name a chapter which is not theirs: what a block
/// names is read before its checksum is.
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
    // The chapter whose opening came last, and the first segments of each other one that are found in it.
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
    // One says it of all: a hostile file may have a great many.
    let alone = drafts.iter().filter(|draft| !draft.is_begun());
    let mut bodies = alone.filter_map(|draft| Some((draft.first, draft.bodies.first()?)));
    if let Some((first, place)) = bodies.next() {
        damaged.push(place.damage(DamageKind::NoChapter { first }));
    }
    // A chapter may be closed after the next one was opened.
    drafts.sort_by_key(|draft| (draft.part, draft.first));
    Grouped {
        files,
        blocks,
        drafts,
    }
}

impl Draft {
    /// Whether its opening or its closed block is there.
    fn is_begun(&self) -> bool {
        self.opening.is_some() || self.closed.is_some()
    }

    fn take(&mut self, place: BlockPlace, summary: Option<Summary>) {
        match place.header.tag {
            Tag::Chapter if self.closed.is_none() && summary.is_some() => {
                self.summary = summary;
                self.closed = Some(place);
            }
            // Written again after a failure: what follows is of the later one.
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
    /// What they are in a file of `size` bytes, which has these notes.
    pub(crate) fn contents(
        self,
        size: u64,
        notes: Vec<KeptNote>,
        damaged: Vec<Damage>,
        cut: Option<Cut>,
    ) -> Contents {
        let drafts = self.drafts.into_iter();
        Contents {
            size,
            files: self.files,
            chapters: drafts.filter_map(Draft::finish).collect(),
            blocks: self.blocks,
            notes,
            damaged,
            cut,
        }
    }
}
