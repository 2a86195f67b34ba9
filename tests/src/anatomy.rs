//! The parts of a frame: header, dictionary, and snapshot or records. Reads frames of the version that this build
//! writes.

use anyhow::{Context as _, Result, ensure};
use watchscope_model::codec::{FORMAT_VERSION, FrameKind, split_frame};

/// The parts of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Anatomy<'a> {
    /// Whether the frame opens a chapter.
    pub is_head: bool,
    /// The frame's header, and the numbers or names that say where the frame belongs.
    pub header: &'a [u8],
    /// Definitions of texts, objects and patterns.
    pub dictionary: &'a [u8],
    /// The snapshot of a head, or the records of a segment.
    pub content: &'a [u8],
}

impl<'a> Anatomy<'a> {
    /// Splits one frame into its parts.
    ///
    /// # Errors
    /// If the bytes are not a frame of the version that this build writes.
    pub fn of(frame: &'a [u8]) -> Result<Self> {
        let (whole, _) = split_frame(frame)?;
        ensure!(
            whole.version == FORMAT_VERSION,
            "a frame of version {}",
            whole.version
        );
        let is_head = whole.kind == FrameKind::Head;
        let mut cursor = Cursor(whole.payload);
        if is_head {
            cursor.inline()?;
            cursor.inline()?;
        } else {
            (0..3).try_for_each(|_| cursor.varint().map(drop))?;
        }
        let begins = frame.len() - cursor.0.len();
        cursor.dictionary()?;
        let ends = frame.len() - cursor.0.len();
        Ok(Self {
            is_head,
            header: &frame[..begins],
            dictionary: &frame[begins..ends],
            content: &frame[ends..],
        })
    }
}

/// The bytes that are still unread.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn dictionary(&mut self) -> Result<()> {
        for _ in 0..self.varint()? {
            self.varint()?;
            self.varint()?;
            self.inline()?;
        }
        for _ in 0..self.varint()? {
            // Number, namespace, controller, and how many bytes of its name it shares with the object before.
            (0..4).try_for_each(|_| self.varint().map(drop))?;
            self.inline()?;
            match self.varint()?.checked_sub(1) {
                None => self.skip(16)?,
                Some(length) => self.skip(length)?,
            }
        }
        // Number, watch, stream, type, origin, manager and subresource of each pattern.
        for _ in 0..7 * self.varint()? {
            self.varint()?;
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().context("the frame ends early")?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(value)
    }

    fn inline(&mut self) -> Result<()> {
        let length = self.varint()?;
        self.skip(length)
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        let rest = self.0.get(usize::try_from(length)?..);
        self.0 = rest.context("the frame ends early")?;
        Ok(())
    }
}
