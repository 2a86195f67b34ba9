//! Writes fields into a payload.

use std::sync::Arc;

use super::pattern::PatternParts;
use super::port::Ids;
use super::varint::{push_inline, push_varint, push_wide, zigzag};
use crate::id::{Object, Owner, ResourceVersion, Seq, StreamId, Text, Uid};
use crate::time::Time;

/// A writer of fields into a payload. A [`Text`] or an object that the chapter's dictionary has, or gets, is written as
/// its id. All other texts and objects are written in place. Nothing here bounds the size of the payload.
pub struct Writer<'a> {
    pub(crate) out: &'a mut Vec<u8>,
    /// The dictionary; if it is absent, every text is written in place.
    pub(crate) ids: Option<&'a mut dyn Ids>,
    /// The base from which resourceVersions are written as distances.
    pub(crate) base_version: u64,
    /// The base from which times are written as distances, in µs.
    pub(crate) base_at: Time,
    /// The base from which the seqs of moments are written as distances.
    pub(crate) base_seq: Seq,
    /// The object of the `change` that is being written.
    pub(crate) subject: Option<Subject<'a>>,
}

/// An object that was already looked up in the dictionary.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) object: &'a Arc<Object>,
    pub(crate) number: u64,
    /// The controller in the dictionary's definition of the object.
    pub(crate) owner: Option<Owner>,
}

impl Writer<'_> {
    /// Returns the bytes of fields without a dictionary: every text is written in place.
    pub(crate) fn plain(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut Writer {
            out: &mut out,
            ids: None,
            base_version: 0,
            base_at: Time(0),
            base_seq: Seq(0),
            subject: None,
        });
        out
    }

    /// The number of bytes written so far.
    pub(crate) fn position(&self) -> usize {
        self.out.len()
    }

    /// Removes the bytes after a position.
    pub(crate) fn cut(&mut self, position: usize) {
        self.out.truncate(position);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    pub(crate) fn varint(&mut self, value: u64) {
        push_varint(value, self.out);
    }

    pub(crate) fn wide(&mut self, value: u128) {
        push_wide(value, self.out);
    }

    pub(crate) fn signed(&mut self, value: i64) {
        push_varint(zigzag(value), self.out);
    }

    pub(crate) fn time(&mut self, at: Time) {
        self.signed(at.0.wrapping_sub(self.base_at.0));
    }

    pub(crate) fn seq_before(&mut self, seq: Seq) {
        self.signed(self.base_seq.0.wrapping_sub(seq.0) as i64);
    }

    pub(crate) fn inline(&mut self, bytes: &[u8]) {
        push_inline(bytes, self.out);
    }

    /// Writes `above` and the text in place, or `above` plus 1 plus the text's id. `None` is written as a single 0, for
    /// which `above` must be 1.
    pub(crate) fn text(&mut self, text: Option<&Text>, above: u64) {
        let Some(text) = text else {
            self.byte(0);
            return;
        };
        match self.ids.as_mut().and_then(|ids| ids.text(text)) {
            Some(id) => self.varint(above + 1 + id),
            None => {
                self.varint(above);
                self.inline(text.as_bytes());
            }
        }
    }

    /// Writes `above` and the object in place, or `above` plus 1 plus the object's id. `None` is written as a single 0,
    /// for which `above` must be over 0.
    pub(crate) fn object(&mut self, object: Option<&Arc<Object>>, above: u64) {
        let Some(object) = object else {
            self.byte(0);
            return;
        };
        let known = match &self.subject {
            Some(subject) if Arc::ptr_eq(subject.object, object) => Some(subject.number),
            _ => self.ids.as_mut().and_then(|ids| ids.object(object)),
        };
        match known {
            Some(id) => self.varint(above + 1 + id),
            None => {
                self.varint(above);
                self.text(object.namespace.as_ref(), 1);
                self.text(Some(&object.name), 0);
                Self::push_uid(&object.uid, self.out);
            }
        }
    }

    /// Writes 0 and the pattern in place, or the pattern's id plus 1.
    pub(crate) fn pattern(&mut self, parts: PatternParts<'_>) {
        if let Some(id) = self.ids.as_mut().and_then(|ids| ids.pattern(parts)) {
            self.varint(id + 1);
            return;
        }
        self.varint(0);
        self.text(Some(&parts.watch.0), 0);
        self.stream(parts.stream);
        self.varint(parts.change.number());
        self.varint(parts.origin.number());
        self.text(parts.manager, 1);
        self.text(parts.subresource, 1);
    }

    /// Writes 0 for `None`, else the stream's number plus 1.
    pub(crate) fn stream(&mut self, stream: Option<StreamId>) {
        self.wide(stream.map_or(0, |stream| u128::from(stream.0) + 1));
    }

    /// The controller in the dictionary's definition of the record's object.
    pub(crate) fn defined_owner(&self) -> Option<&Owner> {
        self.subject.as_ref()?.owner.as_ref()
    }

    /// Writes a number as a 0 bit and its distance from the base, in one varint. Writes any other text, or a number
    /// without an order, as 1 and the text.
    ///
    /// The version does not become the base, because a reader that does not know the kind or the field skips it.
    pub(crate) fn version(&mut self, version: &ResourceVersion) {
        match version {
            ResourceVersion::Number(number) => {
                let distance = zigzag(number.wrapping_sub(self.base_version) as i64);
                self.wide(u128::from(distance) << 1);
            }
            ResourceVersion::Other(text) => {
                self.varint(1);
                self.text(Some(text), 0);
            }
        }
    }

    /// Writes consecutive versions. Each is a distance from the version passed last to
    /// [`go_on_from`](Self::go_on_from). The base is restored at the end, so that later values do not depend on the
    /// versions that `write` wrote.
    pub(crate) fn row(&mut self, write: impl FnOnce(&mut Self)) {
        let base = self.base_version;
        write(self);
        self.base_version = base;
    }

    /// Makes a version the base. Callers may make a version the base only if every reader of the format knows its
    /// field.
    pub(crate) fn go_on_from(&mut self, version: &ResourceVersion) {
        if let ResourceVersion::Number(number) = version {
            self.base_version = *number;
        }
    }

    pub(crate) fn uid(&mut self, uid: &Uid) {
        Self::push_uid(uid, self.out);
    }

    pub(crate) fn push_uid(uid: &Uid, out: &mut Vec<u8>) {
        match uid {
            Uid::Uuid(bytes) => {
                out.push(0);
                out.extend_from_slice(bytes);
            }
            Uid::Other(text) => {
                push_varint(text.len() as u64 + 1, out);
                out.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// Writes the length of the output of `write`, then that output.
    pub(crate) fn sized(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.out.len();
        self.out.push(0);
        write(self);
        let length = self.out.len() - start - 1;
        if length < 0x80 {
            self.out[start] = length as u8;
        } else {
            let mut prefix = Vec::with_capacity(5);
            push_varint(length as u64, &mut prefix);
            self.out.splice(start..=start, prefix);
        }
    }
}
