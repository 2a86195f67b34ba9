//! The dictionary of a chapter: numbers for texts, objects and patterns of changes.
//!
//! A number of the dictionary keeps its meaning while consecutive chapters define it. The opening of the next chapter
//! carries over the entries that its snapshot uses, under the same numbers, and frees the other numbers. Because of
//! that, a live reader needs only its first opening, and numbers stay below the number of entries of the largest
//! chapter.
//!
//! If a `change` is the first to name an object, the object's definition names the controller in that `change`. It
//! names none if a snapshot or a record of another kind named the object first, or if the controller's definition names
//! a controller itself. A `change` states a controller only if its object has another controller or none. A controller
//! is itself an object of the dictionary.
//!
//! No snapshot holds patterns, so each chapter defines the patterns of its own changes.

use std::hash::Hash;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::frame::DecodeError;
use super::pattern::{Pattern, PatternParts};
use super::port::Ids;
use super::reader::Reader;
use super::tables::{ALLOCATION_BYTES, Defined, Tables, entry_bytes};
use super::varint::{push_inline, push_varint, push_wide, unzigzag, zigzag};
use super::writer::{Subject, Writer};
use crate::id::{Object, Owner, Text, Uid, WatchName};
use crate::vocabulary::{ChangeType, Origin};

/// The writer's side of the dictionary: the numbers of known entries. One chapter bounds its size, because the next
/// opening drops the entries that it does not use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    texts: Numbers<Text>,
    objects: Numbers<Arc<Object>>,
    /// The controller in each object's definition, by the object's number.
    owners: Vec<Option<Owner>>,
    patterns: Numbers<Pattern>,
    unwritten_bytes: usize,
}

/// The most bytes of a text's definition beside the text itself: 5 for its number, and 4 for each of two lengths. 5
/// bytes hold the number as long as a chapter has fewer than 2^34 entries. The lengths are of the part shared with the
/// text before, and of the rest. A length below 256 MiB, the largest payload of a frame, fits into 4 bytes. The size of
/// an open segment includes the bytes of such definitions.
const TEXT_BYTES: usize = 13;
/// The most bytes of an object's definition beside its name and a uid that is no UUID. As for a text, 13 bytes are for
/// the object's number and for the two lengths of its name. The numbers of namespace and controller take 5 each, and a
/// UUID takes 17.
const OBJECT_BYTES: usize = TEXT_BYTES + 5 + 5 + 17;
/// The most bytes of a pattern's definition: 5 for its number, and 5 for each of its three texts. The stream takes 10,
/// and each of two words takes 1.
const PATTERN_BYTES: usize = 5 + 3 * 5 + 10 + 2;

impl Interner {
    /// Returns the number of a text; a new text gets one.
    pub(crate) fn number_text(&mut self, text: &Text) -> u64 {
        if let Some(&number) = self.texts.known.get(text) {
            return number;
        }
        self.unwritten_bytes += TEXT_BYTES + text.len();
        self.texts.define(text)
    }

    /// Returns the number of an object; a new object gets one, and so does its namespace if it is new.
    pub(crate) fn number_object(&mut self, object: &Arc<Object>) -> u64 {
        if let Some(&number) = self.objects.known.get(object) {
            return number;
        }
        if let Some(namespace) = &object.namespace {
            self.number_text(namespace);
        }
        let uid_bytes = match &object.uid {
            Uid::Uuid(_) => 0,
            Uid::Other(text) => text.len(),
        };
        self.unwritten_bytes += OBJECT_BYTES + object.name.len() + uid_bytes;
        self.objects.define(object)
    }

    /// Returns the number of a pattern; a new pattern gets one, and so do its texts if they are new.
    pub(crate) fn number_pattern(&mut self, parts: PatternParts<'_>) -> u64 {
        if let Some(&number) = self.patterns.known.get(&parts) {
            return number;
        }
        self.number_text(&parts.watch.0);
        for text in [parts.manager, parts.subresource].into_iter().flatten() {
            self.number_text(text);
        }
        self.unwritten_bytes += PATTERN_BYTES;
        self.patterns.define(&parts.into())
    }

    /// Marks a known text as used; returns its number.
    pub(crate) fn use_text(&self, text: &Text, used: &mut Used) -> Option<u64> {
        self.texts.use_number(text, &mut used.texts)
    }

    /// Looks up an object; if the object is new, defines it with its controller.
    pub(crate) fn define_object<'a>(
        &mut self,
        object: &'a Arc<Object>,
        owner: Option<&Owner>,
    ) -> Subject<'a> {
        let number = match self.objects.known.get(object) {
            Some(&number) => number,
            None => {
                let owner_number = owner.map(|owner| self.number_object(&owner.0));
                let number = self.number_object(object);
                // A controller that has a controller itself would make chains, and nothing bounds the chains of a
                // hostile server.
                if owner_number.is_some_and(|owner| owner != number && self.owner(owner).is_none())
                {
                    let place = number as usize;
                    if self.owners.len() <= place {
                        self.owners.resize(place + 1, None);
                    }
                    self.owners[place] = owner.cloned();
                }
                number
            }
        };
        Subject {
            object,
            number,
            owner: self.owner(number).cloned(),
        }
    }

    fn owner(&self, number: u64) -> Option<&Owner> {
        self.owners.get(number as usize)?.as_ref()
    }

    /// Returns the number of a known object. Marks the object, its namespace and, before the object, its controller as
    /// used.
    pub(crate) fn use_object(&self, object: &Arc<Object>, used: &mut Used) -> Option<u64> {
        let &number = self.objects.known.get(object)?;
        if let Some(owner) = self.owner(number) {
            self.use_defined(&owner.0, used);
        }
        self.use_defined(object, used)
    }

    fn use_defined(&self, object: &Arc<Object>, used: &mut Used) -> Option<u64> {
        if let Some(namespace) = &object.namespace {
            self.texts.use_number(namespace, &mut used.texts);
        }
        self.objects.use_number(object, &mut used.objects)
    }

    /// An upper bound of the bytes of all definitions that no frame has carried yet.
    pub(crate) fn unwritten_bytes(&self) -> usize {
        self.unwritten_bytes
    }

    /// Writes all definitions that no frame has carried yet.
    pub(crate) fn write_new(&mut self, out: &mut Vec<u8>) {
        self.unwritten_bytes = 0;
        let texts = std::mem::take(&mut self.texts.unwritten);
        let objects = std::mem::take(&mut self.objects.unwritten);
        write_texts(texts.iter().map(|(text, number)| (text, *number)), out);
        self.write_objects(
            objects.iter().map(|(object, number)| (object, *number)),
            out,
        );
        let patterns = std::mem::take(&mut self.patterns.unwritten);
        self.write_patterns(
            patterns.iter().map(|(pattern, number)| (pattern, *number)),
            out,
        );
    }

    /// Writes all definitions. Used entries come first, in the order of their first use, so sorted names share their
    /// beginnings; unused entries follow.
    pub(crate) fn write_all(&self, used: &Used, out: &mut Vec<u8>) {
        write_texts(
            self.texts
                .used(&used.texts)
                .chain(self.texts.unused(&used.texts)),
            out,
        );
        self.write_objects(
            self.objects
                .used(&used.objects)
                .chain(self.objects.unused(&used.objects)),
            out,
        );
        let patterns = self.patterns.known.iter();
        self.write_patterns(patterns.map(|(pattern, &number)| (pattern, number)), out);
    }

    /// Writes the used definitions and forgets all others.
    pub(crate) fn write_used_and_prune(&mut self, used: &Used, out: &mut Vec<u8>) {
        write_texts(self.texts.used(&used.texts), out);
        self.write_objects(self.objects.used(&used.objects), out);
        self.patterns = Numbers::default();
        self.write_patterns(std::iter::empty(), out);
        self.texts.prune(&used.texts);
        self.objects.prune(&used.objects);
        for &number in &self.objects.free {
            if let Some(owner) = self.owners.get_mut(number as usize) {
                *owner = None;
            }
        }
    }

    fn write_objects<'a>(
        &self,
        objects: impl Iterator<Item = (&'a Arc<Object>, u64)> + Clone,
        out: &mut Vec<u8>,
    ) {
        push_varint(objects.clone().count() as u64, out);
        let (mut expected, mut before) = (0, &[][..]);
        for (object, number) in objects {
            push_number(&mut expected, number, out);
            self.push_text(object.namespace.as_ref(), out);
            let owner = self.owner(number);
            let owner = owner.and_then(|owner| self.objects.known.get(&owner.0));
            push_varint(owner.map_or(0, |number| number + 1), out);
            push_suffix(before, object.name.as_bytes(), out);
            Writer::push_uid(&object.uid, out);
            before = object.name.as_bytes();
        }
    }

    fn write_patterns<'a>(
        &self,
        patterns: impl Iterator<Item = (&'a Pattern, u64)> + Clone,
        out: &mut Vec<u8>,
    ) {
        push_varint(patterns.clone().count() as u64, out);
        let mut expected = 0;
        for (pattern, number) in patterns {
            push_number(&mut expected, number, out);
            self.push_text(Some(&pattern.watch.0), out);
            let stream = pattern.stream;
            push_wide(stream.map_or(0, |stream| u128::from(stream.0) + 1), out);
            push_varint(pattern.change.number(), out);
            push_varint(pattern.origin.number(), out);
            self.push_text(pattern.manager.as_ref(), out);
            self.push_text(pattern.subresource.as_ref(), out);
        }
    }

    /// Writes 0 for no text, else the text's number plus 1.
    fn push_text(&self, text: Option<&Text>, out: &mut Vec<u8>) {
        let number = text.and_then(|text| self.texts.known.get(text));
        push_varint(number.map_or(0, |number| number + 1), out);
    }
}

/// Gives a number to each new text, object or pattern.
impl Ids for Interner {
    fn text(&mut self, text: &Text) -> Option<u64> {
        Some(self.number_text(text))
    }

    fn object(&mut self, object: &Arc<Object>) -> Option<u64> {
        Some(self.number_object(object))
    }

    fn pattern(&mut self, parts: PatternParts<'_>) -> Option<u64> {
        Some(self.number_pattern(parts))
    }
}

/// A dictionary that only looks up known entries; a new text or object is written in place. Only segments, and the
/// first opening, define new numbers.
pub(crate) struct Frozen<'a>(pub(crate) &'a Interner, pub(crate) &'a mut Used);

impl Ids for Frozen<'_> {
    fn text(&mut self, text: &Text) -> Option<u64> {
        self.0.use_text(text, self.1)
    }

    fn object(&mut self, object: &Arc<Object>) -> Option<u64> {
        self.0.use_object(object, self.1)
    }

    fn pattern(&mut self, _parts: PatternParts<'_>) -> Option<u64> {
        None
    }
}

/// The dictionary entries that a snapshot uses.
#[derive(Debug, Default)]
pub(crate) struct Used {
    texts: Marks,
    objects: Marks,
}

/// Marked entries by their index in the table, in the order of their first use.
#[derive(Debug, Default)]
struct Marks {
    is_used: Vec<bool>,
    order: Vec<usize>,
}

impl Marks {
    fn add(&mut self, place: usize) {
        if self.is_used.len() <= place {
            self.is_used.resize(place + 1, false);
        }
        if !std::mem::replace(&mut self.is_used[place], true) {
            self.order.push(place);
        }
    }

    fn contains(&self, place: usize) -> bool {
        self.is_used.get(place) == Some(&true)
    }
}

/// Entries of one type and their numbers.
#[derive(Clone, Debug)]
struct Numbers<T> {
    known: IndexMap<T, u64, FxBuildHasher>,
    /// Numbers that were freed, highest first.
    free: Vec<u64>,
    unwritten: Vec<(T, u64)>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            known: IndexMap::default(),
            free: Vec::new(),
            unwritten: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    /// Gives a number to an entry that has none; returns the number.
    fn define(&mut self, thing: &T) -> u64 {
        // Known and free numbers together have no holes, so the next new number is the count of known entries.
        let number = self.free.pop().unwrap_or(self.known.len() as u64);
        self.known.insert(thing.clone(), number);
        self.unwritten.push((thing.clone(), number));
        number
    }

    fn use_number(&self, thing: &T, used: &mut Marks) -> Option<u64> {
        let (place, _, &number) = self.known.get_full(thing)?;
        used.add(place);
        Some(number)
    }

    fn used(&self, used: &Marks) -> impl Iterator<Item = (&T, u64)> + Clone {
        used.order
            .iter()
            .filter_map(|&place| self.known.get_index(place))
            .map(|(thing, &number)| (thing, number))
    }

    fn unused(&self, used: &Marks) -> impl Iterator<Item = (&T, u64)> + Clone {
        self.known
            .iter()
            .enumerate()
            .filter(|&(place, _)| !used.contains(place))
            .map(|(_, (thing, &number))| (thing, number))
    }

    fn prune(&mut self, used: &Marks) {
        let freed = self.unused(used).map(|(_, number)| number);
        let freed: Vec<u64> = freed.collect();
        self.free.extend(freed);
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        let mut place = 0;
        self.known.retain(|_, _| {
            place += 1;
            used.contains(place - 1)
        });
    }
}

fn write_texts<'a>(texts: impl Iterator<Item = (&'a Text, u64)> + Clone, out: &mut Vec<u8>) {
    push_varint(texts.clone().count() as u64, out);
    let (mut expected, mut before) = (0, &[][..]);
    for (text, number) in texts {
        push_number(&mut expected, number, out);
        push_suffix(before, text.as_bytes(), out);
        before = text.as_bytes();
    }
}

/// Writes a number as its distance from the expected number, which becomes the number plus 1.
fn push_number(expected: &mut u64, number: u64, out: &mut Vec<u8>) {
    push_varint(zigzag(number.wrapping_sub(*expected) as i64), out);
    *expected = number + 1;
}

/// Writes a text as the number of bytes that its beginning shares with the text before, and the rest.
fn push_suffix(before: &[u8], text: &[u8], out: &mut Vec<u8>) {
    let shared = before.iter().zip(text).take_while(|(a, b)| a == b).count();
    push_varint(shared as u64, out);
    push_inline(&text[shared..], out);
}

impl Tables {
    /// Reads definitions that [`Interner`] wrote. A number that is defined again loses its old meaning. If the reader
    /// holds an error after the call, the tables are unusable.
    pub(crate) fn read_new(&mut self, reader: &mut Reader<'_>) {
        let (mut name, mut expected) = (Vec::new(), 0);
        for _ in 0..reader.count(3, entry_bytes::<Text>()) {
            let number = read_number(&mut expected, reader);
            let text = read_suffixed(&mut name, reader);
            if reader.has_failed() {
                return;
            }
            self.insert_text(number, text);
        }
        (name, expected) = (Vec::new(), 0);
        for _ in 0..reader.count(5, entry_bytes::<Defined>()) {
            let number = read_number(&mut expected, reader);
            let namespace = self.read_text(reader);
            let owner = if reader.dictionary_has_owners() {
                self.read_owner(reader)
            } else {
                None
            };
            let text = read_suffixed(&mut name, reader);
            reader.charge(ALLOCATION_BYTES + size_of::<Object>());
            let uid = reader.uid();
            if reader.has_failed() {
                return;
            }
            let object = Arc::new(Object {
                namespace,
                name: text,
                uid,
            });
            self.insert_object(number, Defined { object, owner });
        }
        if reader.has_patterns() {
            self.read_patterns(reader);
        }
    }

    fn read_patterns(&mut self, reader: &mut Reader<'_>) {
        let mut expected = 0;
        for _ in 0..reader.count(7, entry_bytes::<Pattern>()) {
            let number = read_number(&mut expected, reader);
            let watch = self.read_text(reader);
            let pattern = Pattern {
                watch: WatchName(watch.unwrap_or_else(|| "".into())),
                stream: reader.stream(),
                change: ChangeType::from_number(reader.varint()),
                origin: Origin::from_number(reader.varint()),
                manager: self.read_text(reader),
                subresource: self.read_text(reader),
            };
            if reader.has_failed() {
                return;
            }
            self.insert_pattern(number, pattern);
        }
    }

    /// Reads 0 for no text, else the number plus 1 of a text that was defined before.
    fn read_text(&self, reader: &mut Reader<'_>) -> Option<Text> {
        let number = reader.varint().checked_sub(1)?;
        let text = self.text(number).cloned();
        if text.is_none() {
            reader.fail(DecodeError::UnknownId { id: number });
        }
        text
    }

    /// Reads 0 for no controller, else the number plus 1 of an object that was defined before.
    fn read_owner(&self, reader: &mut Reader<'_>) -> Option<Owner> {
        let number = reader.varint().checked_sub(1)?;
        let owner = self.object(number).cloned().map(Owner);
        if owner.is_none() {
            reader.fail(DecodeError::UnknownId { id: number });
        }
        owner
    }
}

fn read_number(expected: &mut u64, reader: &mut Reader<'_>) -> u64 {
    let number = expected.wrapping_add(unzigzag(reader.varint()) as u64);
    *expected = number.wrapping_add(1);
    number
}

fn read_suffixed(before: &mut Vec<u8>, reader: &mut Reader<'_>) -> Text {
    let at = reader.position();
    let shared: usize = reader.varint_as();
    if shared > before.len() {
        reader.fail(DecodeError::NumberTooLarge { at });
    }
    let suffix = reader.inline();
    if reader.charge(ALLOCATION_BYTES + shared + suffix.len()) {
        before.truncate(shared);
        before.extend_from_slice(suffix);
    }
    reader.utf8(at, before).into()
}
