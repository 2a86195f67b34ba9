//! The reader's side of a chapter's dictionary: the entry that each number means.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::pattern::Pattern;
use crate::id::{Object, Owner, Text};

/// The entries of a dictionary by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    texts: Table<Text>,
    objects: Table<Defined>,
    patterns: Table<Pattern>,
}

/// An object and the controller in its definition.
#[derive(Clone, Debug)]
pub(crate) struct Defined {
    pub(crate) object: Arc<Object>,
    pub(crate) owner: Option<Owner>,
}

/// Entries by number. Numbers have few holes, so nearly all entries are in a list. When entries are dropped, holes as
/// wide as the largest chapter so far may arise; entries beyond such holes are in a hash table.
#[derive(Clone, Debug)]
struct Table<T> {
    dense: Vec<Option<T>>,
    sparse: IndexMap<u64, T, FxBuildHasher>,
    /// The number of insertions so far; the list has at most twice as many slots, plus [`MIN_PLACES`].
    inserted: usize,
}

/// The number of slots that the list may have in addition to twice the insertions, so that small dictionaries need no
/// hash table. An entry with a number beyond the list goes into the hash table. The number 64 has no source.
const MIN_PLACES: usize = 64;

impl<T> Table<T> {
    const fn new() -> Self {
        Self {
            dense: Vec::new(),
            sparse: IndexMap::with_hasher(FxBuildHasher),
            inserted: 0,
        }
    }

    fn get(&self, number: u64) -> Option<&T> {
        let place = usize::try_from(number).ok()?;
        match self.dense.get(place) {
            Some(Some(thing)) => Some(thing),
            _ => self.sparse.get(&number),
        }
    }

    fn insert(&mut self, number: u64, thing: T) {
        self.inserted += 1;
        let most = self.inserted.saturating_mul(2).saturating_add(MIN_PLACES);
        match usize::try_from(number) {
            Ok(place) if place < most => {
                if self.dense.len() <= place {
                    self.dense.resize_with(place + 1, || None);
                }
                self.dense[place] = Some(thing);
            }
            _ => {
                self.sparse.insert(number, thing);
            }
        }
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl Tables {
    /// Tables that define nothing.
    pub(crate) const NONE: &Self = &Self {
        texts: Table::new(),
        objects: Table::new(),
        patterns: Table::new(),
    };

    pub(crate) fn text(&self, number: u64) -> Option<&Text> {
        self.texts.get(number)
    }

    pub(crate) fn object(&self, number: u64) -> Option<&Arc<Object>> {
        self.objects.get(number).map(|defined| &defined.object)
    }

    pub(crate) fn owner(&self, number: u64) -> Option<&Owner> {
        self.objects.get(number)?.owner.as_ref()
    }

    pub(crate) fn pattern(&self, number: u64) -> Option<&Pattern> {
        self.patterns.get(number)
    }

    pub(crate) fn insert_pattern(&mut self, number: u64, pattern: Pattern) {
        self.patterns.insert(number, pattern);
    }

    pub(crate) fn insert_text(&mut self, number: u64, text: Text) {
        self.texts.insert(number, text);
    }

    pub(crate) fn insert_object(&mut self, number: u64, defined: Defined) {
        self.objects.insert(number, defined);
    }
}

/// The bytes that the reader charges for an allocation beside its content. 16 bytes are for the two reference counts on
/// a host of 64 bits. The other 16 are for the allocator's overhead; this number is an estimate without a source.
pub(crate) const ALLOCATION_BYTES: usize = 32;

/// An upper bound of the bytes of one entry of a table. In the list it covers two slots, while the list grows to twice
/// its size. In the hash table it covers the entry and its index, also during such a growth.
pub(crate) const fn entry_bytes<T>() -> usize {
    3 * size_of::<(u64, u64, T)>() + 4 * size_of::<usize>()
}
