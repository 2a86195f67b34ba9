//! The dictionary of a chapter: texts and objects by the order of their first use.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::frame::DecodeError;
use super::reader::Reader;
use super::writer::{Writer, push_inline, push_varint};
use crate::id::{Object, Text};

/// The writer's side: what has an id. Grows with the chapter and dies with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    texts: IndexSet<Text, FxBuildHasher>,
    objects: IndexSet<Arc<Object>, FxBuildHasher>,
    texts_written: usize,
    objects_written: usize,
}

impl Interner {
    pub(super) fn text(&mut self, text: &Text) -> u64 {
        if let Some(id) = self.texts.get_index_of(text) {
            return id as u64;
        }
        self.texts.insert_full(text.clone()).0 as u64
    }

    pub(super) fn object(&mut self, object: &Arc<Object>) -> u64 {
        if let Some(id) = self.objects.get_index_of(object) {
            return id as u64;
        }
        if let Some(namespace) = &object.namespace {
            self.text(namespace);
        }
        self.objects.insert_full(object.clone()).0 as u64
    }

    pub(super) fn find_text(&self, text: &str) -> Option<u64> {
        self.texts.get_index_of(text).map(|id| id as u64)
    }

    pub(super) fn find_object(&self, object: &Arc<Object>) -> Option<u64> {
        self.objects.get_index_of(object).map(|id| id as u64)
    }

    /// Whether definitions wait to be written.
    pub(super) fn has_unwritten(&self) -> bool {
        self.texts_written < self.texts.len() || self.objects_written < self.objects.len()
    }

    /// Writes the definitions that no segment has carried yet.
    pub(super) fn write_new(&mut self, out: &mut Vec<u8>) {
        self.write_from(self.texts_written, self.objects_written, out);
        self.texts_written = self.texts.len();
        self.objects_written = self.objects.len();
    }

    /// Writes all definitions that segments have carried, for a reader who joins in the middle.
    pub(super) fn write_all(&self, out: &mut Vec<u8>) {
        debug_assert!(
            !self.has_unwritten(),
            "a head snapshot is taken between segments"
        );
        self.write_from(0, 0, out);
    }

    fn write_from(&self, first_text: usize, first_object: usize, out: &mut Vec<u8>) {
        push_varint(u64::from(self.texts.len() as u32 - first_text as u32), out);
        let mut before: &[u8] = &[];
        for text in self.texts.iter().skip(first_text) {
            push_suffix(before, text.as_bytes(), out);
            before = text.as_bytes();
        }
        push_varint(
            u64::from(self.objects.len() as u32 - first_object as u32),
            out,
        );
        before = &[];
        for object in self.objects.iter().skip(first_object) {
            let namespace = object
                .namespace
                .as_deref()
                .and_then(|ns| self.find_text(ns));
            push_varint(namespace.map_or(0, |id| id + 1), out);
            push_suffix(before, object.name.as_bytes(), out);
            Writer::push_uid(&object.uid, out);
            before = object.name.as_bytes();
        }
    }
}

/// A text as the length it shares with the one before, and the rest.
fn push_suffix(before: &[u8], text: &[u8], out: &mut Vec<u8>) {
    let shared = before.iter().zip(text).take_while(|(a, b)| a == b).count();
    push_varint(shared as u64, out);
    push_inline(&text[shared..], out);
}

/// The reader's side: what ids mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    texts: Vec<Text>,
    objects: Vec<Arc<Object>>,
}

impl Tables {
    /// Defines nothing.
    pub(super) const EMPTY: Self = Self {
        texts: Vec::new(),
        objects: Vec::new(),
    };

    pub(super) fn text(&self, id: u64) -> Result<&Text, DecodeError> {
        find(&self.texts, id)
    }

    pub(super) fn object(&self, id: u64) -> Result<&Arc<Object>, DecodeError> {
        find(&self.objects, id)
    }

    /// Reads definitions written by [`Interner`] and appends them.
    pub(super) fn read_new(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        let count = reader.count(2, size_of::<Text>())?;
        self.texts.reserve(count);
        let mut name = Vec::new();
        for _ in 0..count {
            let text = read_suffixed(&mut name, reader)?;
            self.texts.push(text);
        }
        let count = reader.count(4, size_of::<Arc<Object>>())?;
        self.objects.reserve(count);
        name.clear();
        for _ in 0..count {
            let namespace = match reader.varint()? {
                0 => None,
                id => Some(self.text(id - 1)?.clone()),
            };
            let text = read_suffixed(&mut name, reader)?;
            reader.charge(ALLOCATION_BYTES + size_of::<Object>())?;
            let uid = reader.uid()?;
            self.objects.push(Arc::new(Object {
                namespace,
                name: text,
                uid,
            }));
        }
        Ok(())
    }
}

/// What an allocation costs beside its content: the reference counts and the allocator's own.
pub(super) const ALLOCATION_BYTES: usize = 32;

fn find<T>(table: &[T], id: u64) -> Result<&T, DecodeError> {
    usize::try_from(id)
        .ok()
        .and_then(|place| table.get(place))
        .ok_or(DecodeError::UnknownId { id })
}

fn read_suffixed(before: &mut Vec<u8>, reader: &mut Reader<'_>) -> Result<Text, DecodeError> {
    let at = reader.position();
    let shared: usize = reader.varint_as()?;
    if shared > before.len() {
        return Err(DecodeError::NumberTooLarge { at });
    }
    let suffix = reader.inline()?;
    reader.charge(ALLOCATION_BYTES + shared + suffix.len())?;
    before.truncate(shared);
    before.extend_from_slice(suffix);
    std::str::from_utf8(before)
        .map(Text::from)
        .map_err(|_| DecodeError::Utf8 { at })
}
