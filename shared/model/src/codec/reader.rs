//! Reads fields from a payload, charging every allocation to a budget first.

use std::sync::Arc;

use super::frame::{DecodeError, FORMAT_VERSION};
use super::pattern::Pattern;
use super::tables::{ALLOCATION_BYTES, Tables};
use super::varint::unzigzag;
use crate::id::{Object, Owner, ResourceVersion, Seq, StreamId, Text, Uid, WatchName};
use crate::time::Time;
use crate::vocabulary::{ChangeType, Origin};

/// How much may be allocated per byte of input.
const BUDGET_FACTOR: usize = 16;
/// How much may be allocated beside.
const BUDGET_BASE: usize = 1 << 20;

/// A cursor over a payload with the chapter's dictionary at hand.
///
/// It keeps the first error and then stands at the end of its input: what is read from there on is empty, zero or
/// nothing, and [`finish`](Self::finish) hands the error out. So a field is read in one step, not in two.
/// Allocation is bounded: 16 times the input plus 1 MiB; what asks for more is an error.
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
    /// The number of the last object read, where it has one.
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

    /// For fields that were written without a dictionary.
    pub(crate) fn plain(bytes: &'a [u8]) -> Self {
        Self::new(bytes, Tables::NONE)
    }

    /// What was read, or the first error.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, DecodeError> {
        match self.error {
            None => Ok(value),
            Some(error) => Err(error),
        }
    }

    /// Notes an error, unless there was one, and goes to the end.
    pub(crate) fn fail(&mut self, error: DecodeError) {
        self.error.get_or_insert(error);
        (self.position, self.end) = (self.bytes.len(), self.bytes.len());
    }

    /// Whether there was an error: no more is worth reading.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// Goes on where `self` stands, with other tables and what is left of the budget.
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

    /// Takes `bytes` of memory from the budget; says whether they may be allocated.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        match self.budget.checked_sub(bytes) {
            Some(budget) => self.budget = budget,
            None => self.fail(DecodeError::OverBudget {
                input: self.bytes.len(),
            }),
        }
        !self.has_failed()
    }

    /// Reads a count of things that each take at least `min_bytes` here and `memory` there, and charges for them.
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

    /// So many bytes, or none.
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

    /// A number of at most nine bytes: it has 63 bits. Nearly all are so short, and wasm32 calls a function for each shift of
    /// 128 bits.
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

    /// A text of bytes that were read from `at` on.
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

    /// 0: the text that follows; else the dictionary's.
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

    /// 0 for none, else the number plus 1.
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

    /// The controller that the dictionary says of the object read last.
    pub(crate) fn defined_owner(&self) -> Option<&'a Owner> {
        self.object
            .filter(|_| self.dictionary_has_owners())
            .and_then(|number| self.tables.owner(number))
    }

    /// The controller of the object read last.
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

    /// 0: the pattern that follows; else the dictionary's.
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

    /// 0 for none, else the number plus 1.
    pub(crate) fn stream(&mut self) -> Option<StreamId> {
        self.optional_varint().map(StreamId)
    }

    /// Since format 3 the dictionary says which controllers objects have.
    pub(crate) fn dictionary_has_owners(&self) -> bool {
        self.format >= 3
    }

    /// Since format 4 it says what changes have in common too.
    pub(crate) fn has_patterns(&self) -> bool {
        self.format >= 4
    }

    /// In format 1 each resourceVersion read becomes the base.
    fn every_version_is_base(&self) -> bool {
        self.format == 1
    }

    /// 0: the object that follows; else the dictionary's.
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
            // Also a number that is in no order with others.
            return ResourceVersion::Other(self.text());
        }
        let distance = self.fitting(at, u64::try_from(folded >> 1));
        let number = self.base_version.wrapping_add(unzigzag(distance) as u64);
        if self.every_version_is_base() {
            self.base_version = number;
        }
        ResourceVersion::Number(number)
    }

    /// Reads what [`Writer::row`](super::Writer::row) wrote.
    pub(crate) fn row<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let base = self.base_version;
        let value = read(self);
        if !self.every_version_is_base() {
            self.base_version = base;
        }
        value
    }

    /// Makes a version the base, as [`Writer::go_on_from`](super::Writer::go_on_from) did.
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

    /// Reads a length and lets `read` see only so many bytes; what it leaves is skipped.
    pub(crate) fn sized<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let ends = self.enter();
        let value = read(self);
        self.leave(ends);
        value
    }

    /// Begins a sized part; returns where it and what holds it end.
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
