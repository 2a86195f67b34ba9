//! Reads fields from a payload, and charges every allocation to a budget first.

use std::borrow::Cow;
use std::sync::Arc;

use super::frame::{DecodeError, FORMAT_VERSION};
use super::pattern::Pattern;
use super::tables::{ALLOCATION_BYTES, Tables};
use super::varint::unzigzag;
use crate::id::{Object, Owner, ResourceVersion, Seq, StreamId, Text, Uid, WatchName};
use crate::time::Time;
use crate::vocabulary::{ChangeType, Origin};

/// The number of bytes that may be allocated per byte of input, so that a hostile file cannot fill the memory. The
/// largest frame, of 256 MiB, may thus take about 4 GiB. Beyond the budget the reader fails with
/// [`DecodeError::OverBudget`]. The number has no source.
const BUDGET_FACTOR: usize = 16;
/// The number of bytes that may be allocated in addition, whatever the input's size: 1 MiB. A small input may thus
/// decode into more than 16 times its size. The number has no source.
const BUDGET_BASE: usize = 1 << 20;

/// A cursor over a payload, with the chapter's dictionary.
///
/// At the first error, the reader keeps the error and moves to the end of its input. Values read after an error mean
/// nothing; the function that decodes the whole input returns the error. Callers therefore need not check each field.
///
/// Allocation is bounded by 16 times the input plus 1 MiB; input that needs more is an error.
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    end: usize,
    budget: usize,
    error: Option<DecodeError>,
    tables: &'a Tables,
    /// The format version of the input.
    pub(crate) format: u8,
    pub(crate) base_version: u64,
    /// The dictionary's number of the object read last; `None` if that object was written in place.
    object: Option<u64>,
    pub(crate) base_at: Time,
    pub(crate) base_seq: Seq,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], tables: &'a Tables) -> Self {
        Self {
            bytes,
            position: 0,
            end: bytes.len(),
            budget: bytes
                .len()
                .saturating_mul(BUDGET_FACTOR)
                .saturating_add(BUDGET_BASE),
            error: None,
            tables,
            format: FORMAT_VERSION,
            base_version: 0,
            object: None,
            base_at: Time(0),
            base_seq: Seq(0),
        }
    }

    /// A reader of fields that were written without a dictionary.
    pub(crate) fn plain(bytes: &'a [u8]) -> Self {
        Self::new(bytes, Tables::NONE)
    }

    /// Returns `value`, or the first error.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, DecodeError> {
        match self.error {
            None => Ok(value),
            Some(error) => Err(error),
        }
    }

    /// Keeps an error, unless there was one before, and moves to the end of the input.
    pub(crate) fn fail(&mut self, error: DecodeError) {
        self.error.get_or_insert(error);
        (self.position, self.end) = (self.bytes.len(), self.bytes.len());
    }

    /// Whether there was an error; all values read after it are meaningless.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// The bytes that are not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// Returns a reader at the same position with other tables and the rest of the budget.
    pub(crate) fn with_tables<'b>(self, tables: &'b Tables) -> Reader<'b>
    where
        'a: 'b,
    {
        Reader { tables, ..self }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.position >= self.end
    }

    /// Takes `bytes` bytes of memory from the budget; returns whether they may be allocated.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        match self.budget.checked_sub(bytes) {
            Some(budget) => self.budget = budget,
            None => self.fail(DecodeError::OverBudget {
                input: self.bytes.len(),
            }),
        }
        !self.has_failed()
    }

    /// Reads a count of entries, and charges their memory to the budget. Each entry takes at least `min_bytes` bytes in
    /// the input, and `memory` bytes in memory.
    pub(crate) fn count(&mut self, min_bytes: usize, memory: usize) -> usize {
        let at = self.position;
        let count: usize = self.varint_as();
        let needed = count.saturating_mul(min_bytes);
        if needed > self.end - self.position {
            self.fail(DecodeError::Truncated { at, needed });
        }
        if self.charge(count.saturating_mul(memory)) {
            count
        } else {
            0
        }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.take(1) {
            [byte] => *byte,
            _ => 0,
        }
    }

    /// Takes `length` bytes; if fewer are left, fails and returns no bytes.
    pub(crate) fn take(&mut self, length: usize) -> &'a [u8] {
        let left = self.end - self.position;
        if length > left {
            self.fail(DecodeError::Truncated {
                at: self.position,
                needed: length - left,
            });
            return &[];
        }
        let taken = &self.bytes[self.position..self.position + length];
        self.position += length;
        taken
    }

    pub(crate) fn wide(&mut self) -> u128 {
        if let Some(value) = self.short() {
            return value.into();
        }
        let at = self.position;
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte();
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        self.fail(DecodeError::NumberTooLarge { at });
        0
    }

    /// Reads a number of at most nine bytes (63 bits); `None` if the number is longer. Nearly all numbers are that
    /// short, and for each shift of 128 bits wasm32 would call a function.
    fn short(&mut self) -> Option<u64> {
        let mut value = 0;
        for (place, &byte) in self.bytes[self.position..self.end]
            .iter()
            .take(9)
            .enumerate()
        {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.position += place + 1;
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn varint(&mut self) -> u64 {
        if let Some(value) = self.short() {
            return value;
        }
        let at = self.position;
        let value = self.wide();
        self.fitting(at, u64::try_from(value))
    }

    pub(crate) fn varint_as<T: TryFrom<u64> + Default>(&mut self) -> T {
        let at = self.position;
        let value = self.varint();
        self.fitting(at, T::try_from(value))
    }

    fn fitting<T: Default, E>(&mut self, at: usize, value: Result<T, E>) -> T {
        value.unwrap_or_else(|_| {
            self.fail(DecodeError::NumberTooLarge { at });
            T::default()
        })
    }

    pub(crate) fn signed(&mut self) -> i64 {
        unzigzag(self.varint())
    }

    pub(crate) fn time(&mut self) -> Time {
        Time(self.base_at.0.wrapping_add(self.signed()))
    }

    pub(crate) fn seq_before(&mut self) -> Seq {
        Seq(self.base_seq.0.wrapping_sub(self.signed() as u64))
    }

    pub(crate) fn inline(&mut self) -> &'a [u8] {
        let length = self.varint_as();
        self.take(length)
    }

    /// Converts bytes that were read at `at` into text; fails if they are not UTF-8.
    pub(crate) fn utf8<'b>(&mut self, at: usize, bytes: &'b [u8]) -> &'b str {
        str::from_utf8(bytes).unwrap_or_else(|_| {
            self.fail(DecodeError::Utf8 { at });
            ""
        })
    }

    pub(crate) fn inline_str(&mut self) -> &'a str {
        let at = self.position;
        let bytes = self.inline();
        if self.charge(ALLOCATION_BYTES + bytes.len()) {
            self.utf8(at, bytes)
        } else {
            ""
        }
    }

    pub(crate) fn text(&mut self) -> Text {
        let id = self.varint();
        self.text_of(id)
    }

    pub(crate) fn optional_text(&mut self) -> Option<Text> {
        let id = self.varint().checked_sub(1)?;
        Some(self.text_of(id))
    }

    /// Returns the text of an id. For id 0 the text follows in place; else the id is the dictionary's number plus 1.
    fn text_of(&mut self, id: u64) -> Text {
        let Some(number) = id.checked_sub(1) else {
            return self.inline_str().into();
        };
        match self.tables.text(number) {
            Some(text) => text.clone(),
            None => {
                self.fail(DecodeError::UnknownId { id: number });
                "".into()
            }
        }
    }

    /// Reads 0 as `None`, else the number plus 1.
    pub(crate) fn optional_varint(&mut self) -> Option<u64> {
        let at = self.position;
        let value = self.wide().checked_sub(1)?;
        Some(self.fitting(at, u64::try_from(value)))
    }

    pub(crate) fn object(&mut self) -> Arc<Object> {
        let id = self.varint();
        self.object = id.checked_sub(1);
        self.object_of(id)
    }

    /// The controller in the dictionary's definition of the object read last.
    pub(crate) fn defined_owner(&self) -> Option<&'a Owner> {
        self.object
            .filter(|_| self.dictionary_has_owners())
            .and_then(|number| self.tables.owner(number))
    }

    /// Reads the controller of the object read last.
    pub(crate) fn owner(&mut self) -> Option<Owner> {
        let id = self.varint();
        if !self.dictionary_has_owners() {
            return Some(Owner(self.object_of(id.checked_sub(1)?)));
        }
        match id {
            0 => self.defined_owner().cloned(),
            1 => None,
            id => Some(Owner(self.object_of(id - 2))),
        }
    }

    /// Reads 0 and a pattern in place, or the dictionary's number plus 1.
    pub(crate) fn pattern(&mut self) -> Pattern {
        if let Some(number) = self.varint().checked_sub(1) {
            match self.tables.pattern(number) {
                Some(pattern) => return pattern.clone(),
                None => self.fail(DecodeError::UnknownId { id: number }),
            }
        }
        Pattern {
            watch: WatchName(self.text()),
            stream: self.stream(),
            change: ChangeType::from_number(self.varint()),
            origin: Origin::from_number(self.varint()),
            manager: self.optional_text(),
            subresource: self.optional_text(),
        }
    }

    /// Like [`Self::pattern`], but does not copy a pattern that the dictionary has.
    pub(crate) fn known_pattern(&mut self) -> Cow<'a, Pattern> {
        let before = self.position;
        let tables = self.tables;
        let known = self
            .varint()
            .checked_sub(1)
            .and_then(|number| tables.pattern(number));
        known.map_or_else(
            || Cow::Owned(self.again(before, Self::pattern)),
            Cow::Borrowed,
        )
    }

    /// Like [`Self::object`], but does not copy an object that the dictionary has. Returns the object's number before
    /// it, or `None` for an object in place.
    pub(crate) fn known_object(&mut self) -> (Option<u64>, Cow<'a, Arc<Object>>) {
        let before = self.position;
        let tables = self.tables;
        let number = self.varint().checked_sub(1);
        match number.and_then(|number| tables.object(number)) {
            Some(object) => (number, Cow::Borrowed(object)),
            None => (None, Cow::Owned(self.again(before, Self::object))),
        }
    }

    /// Reads from an earlier position, unless the reader has failed.
    fn again<T>(&mut self, position: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        if !self.has_failed() {
            self.position = position;
        }
        read(self)
    }

    /// Reads 0 as `None`, else the number plus 1.
    pub(crate) fn stream(&mut self) -> Option<StreamId> {
        self.optional_varint().map(StreamId)
    }

    /// Whether the dictionary's definitions name controllers, as from format 3 on.
    pub(crate) fn dictionary_has_owners(&self) -> bool {
        self.format >= 3
    }

    /// Whether the dictionary has patterns of changes, as from format 4 on.
    pub(crate) fn has_patterns(&self) -> bool {
        self.format >= 4
    }

    /// Whether each resourceVersion becomes the base of the next one, as only in format 1.
    fn every_version_is_base(&self) -> bool {
        self.format == 1
    }

    /// Returns the object of an id. For id 0 the object follows in place; else the id is the dictionary's number plus
    /// 1.
    fn object_of(&mut self, id: u64) -> Arc<Object> {
        if let Some(number) = id.checked_sub(1) {
            match self.tables.object(number) {
                Some(object) => return object.clone(),
                None => self.fail(DecodeError::UnknownId { id: number }),
            }
        }
        let object = Object {
            namespace: self.optional_text(),
            name: self.text(),
            uid: self.uid(),
        };
        self.charge(ALLOCATION_BYTES + size_of::<Object>());
        Arc::new(object)
    }

    pub(crate) fn version(&mut self) -> ResourceVersion {
        let at = self.position;
        let folded = self.wide();
        if folded & 1 == 1 {
            // The text may be a number without an order.
            return ResourceVersion::Other(self.text());
        }
        let distance = self.fitting(at, u64::try_from(folded >> 1));
        let number = self.base_version.wrapping_add(unzigzag(distance) as u64);
        if self.every_version_is_base() {
            self.base_version = number;
        }
        ResourceVersion::Number(number)
    }

    /// Reads values that [`Writer::row`](super::Writer::row) wrote.
    pub(crate) fn row<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let base = self.base_version;
        let value = read(self);
        if !self.every_version_is_base() {
            self.base_version = base;
        }
        value
    }

    /// Makes a version the base of later versions, as [`Writer::go_on_from`](super::Writer::go_on_from) did.
    pub(crate) fn go_on_from(&mut self, version: &ResourceVersion) {
        if let ResourceVersion::Number(number) = version {
            self.base_version = *number;
        }
    }

    pub(crate) fn uid(&mut self) -> Uid {
        let at = self.position;
        let length: usize = self.varint_as();
        match length.checked_sub(1) {
            None => Uid::Uuid(self.take(16).try_into().unwrap_or_default()),
            Some(length) => {
                let bytes = self.take(length);
                if self.charge(ALLOCATION_BYTES + bytes.len()) {
                    Uid::parse(self.utf8(at, bytes))
                } else {
                    Uid::Uuid([0; 16])
                }
            }
        }
    }

    /// Reads a length and lets `read` read only that many bytes; bytes that `read` leaves are skipped.
    pub(crate) fn sized<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let ends = self.enter();
        let value = read(self);
        self.leave(ends);
        value
    }

    /// Begins a sized part; returns where the part and the part around it end.
    fn enter(&mut self) -> (usize, usize) {
        let length: usize = self.varint_as();
        let left = self.end - self.position;
        if length > left {
            self.fail(DecodeError::Truncated {
                at: self.position,
                needed: length - left,
            });
            return (self.end, self.end);
        }
        let ends = (self.position + length, self.end);
        self.end = ends.0;
        ends
    }

    fn leave(&mut self, (inner, outer): (usize, usize)) {
        if !self.has_failed() {
            (self.position, self.end) = (inner, outer);
        }
    }
}
