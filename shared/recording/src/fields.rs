//! The numbers and texts of this crate's payloads: LEB128 as in the log's frames, with bounds checked on reading.

use crate::error::DamageKind;

/// The damage of a payload that ends inside a field, or that is too short for a count that it states.
const ENDS_EARLY: DamageKind = DamageKind::Payload("its contents end early");
/// The damage of a number over the range of its type.
const TOO_LARGE: DamageKind = DamageKind::Payload("a number in it is too large");

pub(crate) fn push_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn push_signed(value: i64, out: &mut Vec<u8>) {
    push_varint(((value << 1) ^ (value >> 63)) as u64, out);
}

/// A cursor over a payload.
pub(crate) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes that are not yet read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Reads `length` bytes. It fails if fewer bytes are left, and then reads none.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], DamageKind> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads one byte; it fails at the end.
    pub(crate) fn byte(&mut self) -> Result<u8, DamageKind> {
        Ok(self.take(1)?[0])
    }

    /// Reads a LEB128 number. It fails at the end, or if the number is over 64 bits.
    pub(crate) fn varint(&mut self) -> Result<u64, DamageKind> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(TOO_LARGE);
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(TOO_LARGE)
    }

    /// Reads a LEB128 number in zigzag form; it fails as [`Self::varint`] does.
    pub(crate) fn signed(&mut self) -> Result<i64, DamageKind> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a LEB128 number as a size; it also fails if the number is over the range of `usize`.
    pub(crate) fn size(&mut self) -> Result<usize, DamageKind> {
        usize::try_from(self.varint()?).map_err(|_| TOO_LARGE)
    }

    /// Reads 4 bytes, the lowest first; it fails if fewer are left.
    pub(crate) fn word(&mut self) -> Result<u32, DamageKind> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads 8 bytes, the lowest first; it fails if fewer are left.
    pub(crate) fn long(&mut self) -> Result<u64, DamageKind> {
        let (low, high) = (self.word()?, self.word()?);
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    /// Reads a count of items that take at least `min_bytes` each. A count that the payload cannot hold is an error.
    pub(crate) fn count(&mut self, min_bytes: usize) -> Result<usize, DamageKind> {
        let count = self.size()?;
        if count.saturating_mul(min_bytes) > self.0.len() {
            return Err(ENDS_EARLY);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(value: u64, signed: i64) {
            let mut bytes = Vec::new();
            push_varint(value, &mut bytes);
            push_signed(signed, &mut bytes);
            bytes.extend(value.to_le_bytes());
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.varint(), Ok(value));
            prop_assert_eq!(cursor.signed(), Ok(signed));
            prop_assert_eq!(cursor.long(), Ok(value));
            prop_assert!(cursor.byte().is_err());
        }

        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes: Vec<u8>) {
            let mut cursor = Cursor::new(&bytes);
            while cursor.varint().is_ok() {}
            let _ = Cursor::new(&bytes).count(1_000);
        }
    }
}
