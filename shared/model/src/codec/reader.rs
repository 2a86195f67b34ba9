//! Reads fields from a payload, charging every allocation to a budget first.

use std::sync::Arc;

use super::dictionary::{ALLOCATION_BYTES, Tables};
use super::frame::DecodeError;
use super::writer::unzigzag;
use crate::id::{Object, ResourceVersion, Seq, Text, Uid};
use crate::time::Time;

/// How much may be allocated per byte of input.
const BUDGET_FACTOR: usize = 16;
/// How much may be allocated beside.
const BUDGET_BASE: usize = 1 << 20;

/// A cursor over a payload with the chapter's dictionary at hand.
///
/// Allocation is bounded: 16 times the input plus 1 MiB; what asks for more is an error.
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    end: usize,
    budget: usize,
    tables: &'a Tables,
    pub(super) last_version: u64,
    pub(super) base_at: Time,
    pub(super) base_seq: Seq,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], tables: &'a Tables) -> Self {
        Self {
            bytes,
            position: 0,
            end: bytes.len(),
            budget: bytes
                .len()
                .saturating_mul(BUDGET_FACTOR)
                .saturating_add(BUDGET_BASE),
            tables,
            last_version: 0,
            base_at: Time(0),
            base_seq: Seq(0),
        }
    }

    /// Reads fields that were written without a dictionary.
    pub(crate) fn plain<T>(
        bytes: &'a [u8],
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        read(&mut Reader::new(bytes, Tables::NONE))
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// Goes on where `self` stands, with other tables and what is left of the budget.
    pub(super) fn with_tables<'b>(&self, tables: &'b Tables) -> Reader<'b>
    where
        'a: 'b,
    {
        Reader { tables, ..*self }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.position >= self.end
    }

    /// Takes `bytes` of memory from the budget.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.budget = self
            .budget
            .checked_sub(bytes)
            .ok_or(DecodeError::OverBudget {
                input: self.bytes.len(),
            })?;
        Ok(())
    }

    /// Reads a count of things that each take at least `min_bytes` here and `memory` there, and charges for them.
    pub(crate) fn count(&mut self, min_bytes: usize, memory: usize) -> Result<usize, DecodeError> {
        let at = self.position;
        let count: usize = self.varint_as()?;
        let needed = count.saturating_mul(min_bytes);
        if needed > self.end - self.position {
            return Err(DecodeError::Truncated { at, needed });
        }
        self.charge(count.saturating_mul(memory))?;
        Ok(count)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        if self.is_at_end() {
            return Err(DecodeError::Truncated {
                at: self.position,
                needed: 1,
            });
        }
        let byte = self.bytes[self.position];
        self.position += 1;
        Ok(byte)
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let left = self.end - self.position;
        if length > left {
            return Err(DecodeError::Truncated {
                at: self.position,
                needed: length - left,
            });
        }
        let taken = &self.bytes[self.position..self.position + length];
        self.position += length;
        Ok(taken)
    }

    pub(crate) fn wide(&mut self) -> Result<u128, DecodeError> {
        let at = self.position;
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::NumberTooLarge { at })
    }

    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let at = self.position;
        u64::try_from(self.wide()?).map_err(|_| DecodeError::NumberTooLarge { at })
    }

    pub(crate) fn varint_as<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        let at = self.position;
        T::try_from(self.varint()?).map_err(|_| DecodeError::NumberTooLarge { at })
    }

    pub(crate) fn signed(&mut self) -> Result<i64, DecodeError> {
        Ok(unzigzag(self.varint()?))
    }

    pub(crate) fn time(&mut self) -> Result<Time, DecodeError> {
        Ok(Time(self.base_at.0.wrapping_add(self.signed()?)))
    }

    pub(crate) fn seq_before(&mut self) -> Result<Seq, DecodeError> {
        Ok(Seq(self.base_seq.0.wrapping_sub(self.signed()? as u64)))
    }

    pub(crate) fn inline(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.varint_as()?;
        self.take(length)
    }

    fn inline_str(&mut self) -> Result<&'a str, DecodeError> {
        let at = self.position;
        let bytes = self.inline()?;
        self.charge(ALLOCATION_BYTES + bytes.len())?;
        std::str::from_utf8(bytes).map_err(|_| DecodeError::Utf8 { at })
    }

    pub(crate) fn inline_text(&mut self) -> Result<String, DecodeError> {
        self.inline_str().map(String::from)
    }

    pub(crate) fn text(&mut self) -> Result<Text, DecodeError> {
        match self.varint()? {
            0 => self.inline_str().map(Text::from),
            id => Ok(self.tables.text(id - 1)?.clone()),
        }
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<Text>, DecodeError> {
        Ok(Some(match self.varint()? {
            0 => return Ok(None),
            1 => self.inline_str()?.into(),
            id => self.tables.text(id - 2)?.clone(),
        }))
    }

    /// 0 for none, else the number plus 1.
    pub(crate) fn optional_varint(&mut self) -> Result<Option<u64>, DecodeError> {
        let at = self.position;
        match self.wide()?.checked_sub(1) {
            None => Ok(None),
            Some(value) => u64::try_from(value)
                .map(Some)
                .map_err(|_| DecodeError::NumberTooLarge { at }),
        }
    }

    pub(crate) fn object(&mut self) -> Result<Arc<Object>, DecodeError> {
        match self.varint()? {
            0 => {
                let namespace = self.optional_text()?;
                let name = self.text()?;
                let uid = self.uid()?;
                self.charge(ALLOCATION_BYTES + size_of::<Object>())?;
                Ok(Arc::new(Object {
                    namespace,
                    name,
                    uid,
                }))
            }
            id => Ok(self.tables.object(id - 1)?.clone()),
        }
    }

    pub(crate) fn version(&mut self) -> Result<ResourceVersion, DecodeError> {
        let at = self.position;
        let folded = self.wide()?;
        if folded & 1 == 1 {
            // Text that reads as a number must come back as the number: each text has one form.
            return Ok(ResourceVersion::parse(&self.text()?));
        }
        let distance =
            u64::try_from(folded >> 1).map_err(|_| DecodeError::NumberTooLarge { at })?;
        self.last_version = self.last_version.wrapping_add(unzigzag(distance) as u64);
        Ok(ResourceVersion::Number(self.last_version))
    }

    pub(crate) fn uid(&mut self) -> Result<Uid, DecodeError> {
        let at = self.position;
        match self.varint_as::<usize>()? {
            0 => {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(self.take(16)?);
                Ok(Uid::Uuid(bytes))
            }
            length => {
                let bytes = self.take(length - 1)?;
                self.charge(ALLOCATION_BYTES + bytes.len())?;
                let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::Utf8 { at })?;
                Ok(Uid::parse(text))
            }
        }
    }

    /// Reads a length and lets `read` see only so many bytes; what it leaves is skipped.
    pub(crate) fn sized<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let length: usize = self.varint_as()?;
        let left = self.end - self.position;
        if length > left {
            return Err(DecodeError::Truncated {
                at: self.position,
                needed: length - left,
            });
        }
        let (outer_end, inner_end) = (self.end, self.position + length);
        self.end = inner_end;
        let value = read(self)?;
        self.position = inner_end;
        self.end = outer_end;
        Ok(value)
    }
}
