//! The redacted bodies of a chapter (`B`), each with the seq of its record, deflated together.
//!
//! ```text
//!   B      first seq of the chapter (8 bytes), deflated: bodies
//!   body   seq as a distance from the one before, or from the chapter's first (zigzag); length; bytes
//! ```

use std::ops::Range;

use watchscope_model::Seq;

use crate::block::BlockPlace;
use crate::chapter::split_key;
use crate::error::{Damage, DamageKind};
use crate::fields::{Cursor, push_signed, push_varint};
use crate::machine::{Input, Step};

/// The most bodies in a block. A block with more bodies counts as damaged: [`ReadBodies::step`] returns an error and no
/// body. The number bounds the memory beside the bodies, because an empty body takes only two bytes of the block. At 24
/// bytes a body, on a host with 64 bits, that memory is at most 24 MiB. The number has no source.
pub const MAX_BODIES: usize = 1 << 20;

/// The bodies of one block with the seqs of their records, in the order of the block; none if the block is empty.
///
/// There are at most [`MAX_BODIES`] bodies, of [`MAX_RAW_BYTES`](crate::MAX_RAW_BYTES) in all. Bodies are redacted JSON
/// if watchscope wrote them; this is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    bytes: Vec<u8>,
    places: Vec<(Seq, Range<usize>)>,
}

impl Bodies {
    /// Encodes bodies, each with the seq of its record. `first` is the chapter's first seq. The result is empty without
    /// bodies.
    pub(crate) fn encode<'a>(
        first: Seq,
        bodies: impl IntoIterator<Item = (Seq, &'a [u8])>,
    ) -> Vec<u8> {
        let (mut out, mut before) = (Vec::new(), first);
        for (seq, body) in bodies {
            push_signed(seq.0.wrapping_sub(before.0) as i64, &mut out);
            push_varint(body.len() as u64, &mut out);
            out.extend_from_slice(body);
            before = seq;
        }
        out
    }

    /// Decodes the bodies of a chapter that begins with `first`. It fails if a field is wrong or cut, or if there are
    /// over [`MAX_BODIES`] bodies.
    pub(crate) fn decode(first: Seq, bytes: Vec<u8>) -> Result<Self, DamageKind> {
        let (mut places, mut before) = (Vec::new(), first);
        let mut cursor = Cursor::new(&bytes);
        while !cursor.rest().is_empty() {
            let seq = Seq(before.0.wrapping_add(cursor.signed()? as u64));
            let length = cursor.size()?;
            if places.len() == MAX_BODIES {
                return Err(DamageKind::Payload("it holds too many bodies"));
            }
            let begin = bytes.len() - cursor.rest().len();
            cursor.take(length)?;
            places.push((seq, begin..begin + length));
            before = seq;
        }
        Ok(Self { bytes, places })
    }

    /// Iterates over seq and body, in the order of the block, which need not be the order of seqs. A seq may come
    /// several times.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, &[u8])> {
        let places = self.places.iter();
        places.map(|(seq, place)| (*seq, &self.bytes[place.clone()]))
    }

    /// Returns the body of the record `seq`, the first if there are several; `None` if the block has none.
    #[must_use]
    pub fn get(&self, seq: Seq) -> Option<&[u8]> {
        self.iter()
            .find_map(|(other, body)| (other == seq).then_some(body))
    }
}

/// The machine that reads one block of bodies.
///
/// One step holds the block and a copy of its deflated part, each about [`MAX_STORED_BYTES`](crate::MAX_STORED_BYTES)
/// bytes at most. A later step holds the inflated bodies, at most [`MAX_RAW_BYTES`](crate::MAX_RAW_BYTES) bytes.
#[derive(Debug)]
pub struct ReadBodies {
    place: BlockPlace,
    first: Seq,
}

impl ReadBodies {
    /// Makes a machine for a block that [`ChapterEntry::bodies`](crate::ChapterEntry::bodies) lists.
    #[must_use]
    pub fn new(place: BlockPlace) -> Self {
        Self {
            place,
            first: Seq(0),
        }
    }

    /// Takes in the answer to the last step, and returns the next step. The first input is [`Input::Begin`].
    ///
    /// # Errors
    /// The damage of the block: a wrong header or checksum, no deflate stream, a wrong inflated length, a wrong field,
    /// or over [`MAX_BODIES`] bodies.
    pub fn step(&mut self, input: Input) -> Result<Step<Bodies>, Damage> {
        self.go_on(input).map_err(|kind| Damage {
            block: self.place.number,
            offset: self.place.offset,
            kind,
        })
    }

    /// Like [`Self::step`], but returns only how the block is damaged.
    fn go_on(&mut self, input: Input) -> Result<Step<Bodies>, DamageKind> {
        match input {
            Input::Begin => Ok(Step::Read {
                offset: self.place.offset,
                len: self.place.len() as usize,
            }),
            Input::Bytes(block) => {
                let (first, deflated) = split_key(self.place.payload(&block)?)?;
                self.first = first;
                Ok(Step::Inflate {
                    bytes: deflated.to_vec(),
                    raw_bytes: self.place.header.raw_bytes,
                })
            }
            Input::Inflated(raw) => {
                let raw = inflated(raw, self.place)?;
                Bodies::decode(self.first, raw).map(Step::Done)
            }
        }
    }
}

/// Returns the inflated bytes. The error is [`DamageKind::Inflate`] if the host could not inflate them, and
/// [`DamageKind::RawLength`] if their length is not the one in the block's header.
pub(crate) fn inflated(raw: Option<Vec<u8>>, place: BlockPlace) -> Result<Vec<u8>, DamageKind> {
    let raw = raw.ok_or(DamageKind::Inflate)?;
    let stated = place.header.raw_bytes;
    if raw.len() != stated as usize {
        return Err(DamageKind::RawLength {
            stated,
            found: raw.len(),
        });
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bodies_read_back_in_any_order(bodies in prop::collection::vec((any::<u64>(), any::<Vec<u8>>()), 0..20), first: u64) {
            let each = bodies.iter().map(|(seq, body)| (Seq(*seq), &body[..]));
            let read = Bodies::decode(Seq(first), Bodies::encode(Seq(first), each.clone())).unwrap();
            prop_assert!(read.iter().eq(each));
        }

        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes: Vec<u8>) {
            let _ = Bodies::decode(Seq(7), bytes);
        }
    }
}
