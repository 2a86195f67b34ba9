//! The bytes of a file that a scan holds, and its request for the next bytes.

use crate::error::ReadError;
use crate::machine::Step;

/// The stretch of the file that was requested last; earlier stretches are dropped.
#[derive(Debug)]
pub(crate) struct Window {
    size: u64,
    offset: u64,
    bytes: Vec<u8>,
    asked_len: usize,
}

/// A request for bytes that are not in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    offset: u64,
    len: usize,
}

impl Window {
    /// Makes an empty window for a file of `size` bytes.
    pub(crate) fn new(size: u64) -> Self {
        Self {
            size,
            offset: 0,
            bytes: Vec::new(),
            asked_len: 0,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns bytes of the file, or a request for them if they are not in the window. The caller has checked that the
    /// bytes lie within the file.
    pub(crate) fn get(&self, offset: u64, len: usize) -> Result<&[u8], Missing> {
        let place = offset
            .checked_sub(self.offset)
            .and_then(|place| usize::try_from(place).ok());
        place
            .and_then(|place| self.bytes.get(place..place.checked_add(len)?))
            .ok_or(Missing { offset, len })
    }

    /// Returns the bytes of the window from `offset` on, which may be none.
    pub(crate) fn from(&self, offset: u64) -> &[u8] {
        let place = offset.checked_sub(self.offset);
        let place = place.and_then(|place| usize::try_from(place).ok());
        place
            .and_then(|place| self.bytes.get(place..))
            .unwrap_or_default()
    }

    /// Requests missing bytes and bytes after them: at least `ahead` bytes in all, if the file has that many.
    pub(crate) fn ask<T>(&mut self, missing: Missing, ahead: usize) -> Step<T> {
        let left = self.size.saturating_sub(missing.offset);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        self.offset = missing.offset;
        self.bytes = Vec::new();
        self.asked_len = missing.len.max(ahead).min(left);
        Step::Read {
            offset: missing.offset,
            len: self.asked_len,
        }
    }

    /// Takes in the requested bytes. Another number of bytes than requested is [`ReadError::ShortRead`].
    pub(crate) fn take(&mut self, bytes: Vec<u8>) -> Result<(), ReadError> {
        if bytes.len() != self.asked_len {
            return Err(ReadError::ShortRead {
                offset: self.offset,
            });
        }
        self.bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_bytes_are_requested_with_those_behind_them_in_the_file() {
        let mut window = Window::new(100);
        let missing = window.get(90, 4).unwrap_err();
        let step: Step<()> = window.ask(missing, 50);
        assert_eq!(
            step,
            Step::Read {
                offset: 90,
                len: 10
            }
        );
        assert!(window.take(vec![7; 9]).is_err());
        window.take(vec![7; 10]).unwrap();
        assert_eq!(window.get(91, 2), Ok(&[7, 7][..]));
        assert!(window.get(89, 2).is_err());
        assert!(window.get(99, 2).is_err());
        assert_eq!(window.from(98), [7, 7]);
        assert!(window.from(89).is_empty() && window.from(101).is_empty());
    }
}
