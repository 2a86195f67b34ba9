//! The encoded bytes of a chapter: in the store's own memory, or kept outside of that memory by the host.

use std::borrow::Cow;
use std::fmt;

/// A function that takes bytes and keeps them outside of the store's own memory; it returns a function that returns a
/// copy of the bytes.
///
/// A page keeps the bytes of chapters outside of its WebAssembly memory, which has a limit and never shrinks.
pub type KeepOutside = fn(&[u8]) -> Box<dyn Fn() -> Vec<u8>>;

/// Encoded bytes.
pub(super) enum Encoded {
    Here(Vec<u8>),
    Outside {
        read: Box<dyn Fn() -> Vec<u8>>,
        bytes: usize,
    },
}

impl Encoded {
    /// Keeps bytes that do not change any more.
    pub(super) fn keep(bytes: &[u8], outside: Option<KeepOutside>) -> Self {
        match outside {
            Some(keep) => Self::Outside {
                read: keep(bytes),
                bytes: bytes.len(),
            },
            None => Self::Here(bytes.to_vec()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Here(bytes) => bytes.len(),
            Self::Outside { bytes, .. } => *bytes,
        }
    }

    /// Returns how many bytes of memory the encoded bytes take, in the store or outside.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Here(bytes) => bytes.capacity(),
            Self::Outside { bytes, .. } => *bytes,
        }
    }

    /// Returns the bytes, as a copy if they are kept outside.
    pub(super) fn read(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Here(bytes) => Cow::Borrowed(bytes),
            Self::Outside { read, .. } => Cow::Owned(read()),
        }
    }

    /// Returns the bytes of a growing chapter, to append to; `None` if they are kept outside.
    pub(super) fn growing(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Here(bytes) => Some(bytes),
            Self::Outside { .. } => None,
        }
    }

    /// Moves the bytes outside if `outside` is given. The bytes must not change any more.
    pub(super) fn settle(&mut self, outside: Option<KeepOutside>) {
        if let Self::Here(bytes) = self {
            if outside.is_some() {
                *self = Self::keep(bytes, outside);
            } else {
                bytes.shrink_to_fit();
            }
        }
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}
