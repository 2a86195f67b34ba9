//! An index of chapters: it says which chapters may have a hit, so that other chapters need not be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use watchscope_model::{EpochId, Object, Seq, Text, Time};

use crate::named::Named;
use crate::query::Query;
use crate::versions::Versions;

/// The most bytes of an index by default, by the index's own estimate: 64 MiB. Above this, the chapters of the oldest
/// records are forgotten, up to 64 chapters at once; a search then has to read these again. The number has no source.
/// With a larger number, searches can pass over more chapters (docs/search.md#limits).
pub const MAX_INDEX_BYTES: usize = 64 << 20;
/// The most chapters that share one table of objects and texts. The next chapter begins a new table. A table is
/// forgotten with all its chapters, so with more chapters a table, more would be forgotten at once. With fewer chapters
/// a table, more copies of a name would be held. The number has no source.
const BLOCK_CHAPTERS: usize = 64;
/// The estimated bytes of a table's entry without its text: two allocations, an index and a hash. These bytes count
/// towards the bound of an index. The number has no source: it is not measured.
const ENTRY_BYTES: usize = 160;
/// The estimated bytes of a chapter's entry without its lists. These bytes count towards the bound of an index. The
/// number has no source: it is not measured.
const CHAPTER_BYTES: usize = 200;

/// A chapter of a log: its epoch, its first and last record, and the time of its first record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedChapter {
    /// The epoch of the chapter.
    pub epoch: EpochId,
    /// The seq of the chapter's first record.
    pub first: Seq,
    /// The seq of the chapter's last record.
    pub last: Seq,
    /// The time of the chapter's first record.
    pub at: Time,
}

/// The names in the records of chapters. A search asks the index which chapters it need not read.
///
/// The index has all names of a chapter's records or none, so it never denies a hit in a record. It may say that a
/// chapter without a hit may match. It knows neither bodies nor opening snapshots; the caller searches these itself.
/// The bound of [`Index::new`] limits its size, by default [`MAX_INDEX_BYTES`].
#[derive(Debug)]
pub struct Index {
    blocks: Vec<Block>,
    most_bytes: usize,
    next_block: u64,
}

/// Chapters that share one table.
#[derive(Debug)]
struct Block {
    number: u64,
    objects: IndexSet<Arc<Object>, FxBuildHasher>,
    texts: IndexSet<Text, FxBuildHasher>,
    chapters: BTreeMap<(EpochId, Seq), Listed>,
    bytes: usize,
    newest_at: Time,
}

/// What the records of one chapter name, as indexes into its block's tables.
#[derive(Debug)]
struct Listed {
    last: Seq,
    objects: Vec<u32>,
    texts: Vec<u32>,
    versions: Versions,
}

/// Which entries of an index match a query; computed as far as it is needed, and kept by one search.
///
/// The value has at most a byte for each object and text in the index. The bytes of forgotten tables stay until the
/// value is dropped.
#[derive(Debug, Default)]
pub struct Wanted(BTreeMap<u64, BlockWanted>);

#[derive(Debug, Default)]
struct BlockWanted {
    objects: Vec<bool>,
    texts: Vec<bool>,
}

impl Default for Index {
    fn default() -> Self {
        Self::new(MAX_INDEX_BYTES)
    }
}

impl Index {
    /// Makes an empty index of at most `most_bytes`, by its own estimate. Above `most_bytes`, [`Index::add`] forgets
    /// tables.
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self {
            blocks: Vec::new(),
            most_bytes,
            next_block: 0,
        }
    }

    /// Returns the bytes that the index holds, by its own estimate. A replaced chapter counts until its table is
    /// forgotten.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// Adds a chapter that grows no more; the chapter replaces an entry with the same epoch and first record. `named`
    /// must have the names of all its records. Up to 64 chapters share a table. While the index is above its bound, it
    /// forgets the table whose newest chapter is the oldest, if need be that of the added chapter.
    pub fn add(&mut self, chapter: &IndexedChapter, named: Named) {
        let key = (chapter.epoch.clone(), chapter.first);
        for block in &mut self.blocks {
            block.chapters.remove(&key);
        }
        let is_full = |block: &Block| block.chapters.len() >= BLOCK_CHAPTERS;
        if self.blocks.last().is_none_or(is_full) {
            self.blocks.push(Block::new(self.next_block));
            self.next_block += 1;
        }
        if let Some(block) = self.blocks.last_mut() {
            block.add(key, chapter, named);
        }
        while self.bytes() > self.most_bytes {
            let blocks = self.blocks.iter().enumerate();
            let Some((oldest, _)) = blocks.min_by_key(|(_, block)| block.newest_at) else {
                break;
            };
            self.blocks.remove(oldest);
        }
    }

    /// Returns whether a record of a chapter may match; `false` is certain, except for bodies and the opening snapshot.
    /// `None` if the index does not have the chapter, or has it with another last record. `wanted` must come from calls
    /// with this query and this index only, or be empty; else the answer may be wrong.
    #[must_use]
    pub fn may_match(
        &self,
        query: &Query,
        wanted: &mut Wanted,
        epoch: &EpochId,
        first: Seq,
        last: Seq,
    ) -> Option<bool> {
        let key = (epoch.clone(), first);
        let of = |block: &'_ Block| block.chapters.get(&key).is_some_and(|of| of.last == last);
        let block = self.blocks.iter().find(|block| of(block))?;
        let listed = block.chapters.get(&key)?;
        if query
            .number()
            .is_some_and(|number| listed.versions.contains(number))
        {
            return Some(true);
        }
        let wanted = wanted.0.entry(block.number).or_default();
        wanted.extend(query, block);
        let is_wanted =
            |places: &[u32], wanted: &[bool]| places.iter().any(|&place| wanted[place as usize]);
        Some(is_wanted(&listed.objects, &wanted.objects) || is_wanted(&listed.texts, &wanted.texts))
    }
}

impl Block {
    fn new(number: u64) -> Self {
        Self {
            number,
            objects: IndexSet::default(),
            texts: IndexSet::default(),
            chapters: BTreeMap::new(),
            bytes: 0,
            newest_at: Time(i64::MIN),
        }
    }

    fn add(&mut self, key: (EpochId, Seq), chapter: &IndexedChapter, named: Named) {
        self.newest_at = self.newest_at.max(chapter.at);
        let mut objects = Vec::with_capacity(named.objects.len());
        for object in named.objects {
            let bytes = object.name.len() + object.namespace.as_ref().map_or(0, |of| of.len());
            let (place, is_new) = self.objects.insert_full(object);
            self.bytes += if is_new { ENTRY_BYTES + bytes } else { 0 };
            objects.push(place as u32);
        }
        let mut texts = Vec::with_capacity(named.texts.len());
        for text in named.texts {
            let bytes = text.len();
            let (place, is_new) = self.texts.insert_full(text);
            self.bytes += if is_new { ENTRY_BYTES + bytes } else { 0 };
            texts.push(place as u32);
        }
        self.bytes += CHAPTER_BYTES + 4 * (objects.len() + texts.len()) + named.versions.bytes();
        let listed = Listed {
            last: chapter.last,
            objects,
            texts,
            versions: named.versions,
        };
        self.chapters.insert(key, listed);
    }
}

impl BlockWanted {
    /// Computes which entries match, for the entries that were added to the table since the last call.
    fn extend(&mut self, query: &Query, block: &Block) {
        let objects = block.objects.iter().skip(self.objects.len());
        self.objects
            .extend(objects.map(|object| !query.matched_object(object).is_empty()));
        // A text that must match as a whole contains the query, too.
        let texts = block.texts.iter().skip(self.texts.len());
        self.texts
            .extend(texts.map(|text| query.is_in(text.as_bytes())));
    }
}
