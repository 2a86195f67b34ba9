//! The binary form and the JSON form of each field of a record.
//!
//! Binary: postcard's encodings (LEB128 varints, zigzag for signed numbers, a byte for a bool or an option), with two
//! exceptions. Texts and objects that recur are ids of the chapter's dictionary. A resourceVersion is a distance from
//! an earlier one, or from 0 ([`crate::codec`]).
//!
//! A struct is written as its length, then its fields in order. Fields are only appended: a reader ignores bytes after
//! the fields that it knows, and a missing last field is absent.
//!
//! In JSON an absent value writes nothing, never null.

use std::sync::Arc;

use serde::ser::SerializeMap;

use crate::codec::{DecodeError, Reader, Writer};
use crate::id::{
    ConnectionId, EpochId, LogId, Object, Owner, RequestId, ResourceVersion, Seq, StreamId, Text,
    Uid, WatchName,
};
use crate::map::Map;
use crate::time::Time;
use crate::vocabulary as words;

/// A value with a binary form and a JSON form.
pub trait Field: Sized {
    /// Writes the binary form.
    fn write(&self, writer: &mut Writer<'_>);

    /// Reads the binary form. If the bytes end early, have another shape or exceed the memory budget, the reader keeps
    /// the error and the value means nothing.
    fn read(reader: &mut Reader<'_>) -> Self;

    /// The value of a field that is missing at the end of its struct; `None` if the field cannot be missing, which is
    /// the default. Options, lists, headers and totals can be missing.
    fn absent(_reader: &Reader<'_>) -> Option<Self> {
        None
    }

    /// Whether a struct may leave the value out at its end, because it equals [`Field::absent`]. The default is false:
    /// the value is always written, as an empty list is.
    fn is_absent(&self, _writer: &Writer<'_>) -> bool {
        false
    }

    /// The optional value that a missing field has: `None`, except for an [`Owner`]. A missing owner has the value in
    /// the dictionary's definition of the object: its controller, or `None`.
    fn absent_option(_reader: &Reader<'_>) -> Option<Self> {
        None
    }

    /// Whether an optional value equals [`Field::absent_option`].
    fn is_absent_option(value: Option<&Self>, _writer: &Writer<'_>) -> bool {
        value.is_none()
    }

    /// Writes an optional value: 0 for `None`, or 1 and the value. `u64`, [`StreamId`] and [`Text`] write their own
    /// number plus 1 instead. An [`Owner`] writes 0 for the value of a missing field, else 1 for `None`.
    fn write_option(value: Option<&Self>, writer: &mut Writer<'_>) {
        match value {
            None => writer.byte(0),
            Some(value) => {
                writer.byte(1);
                value.write(writer);
            }
        }
    }

    /// Reads a value that [`Field::write_option`] wrote. By default, any first byte but 0 counts as 1. Errors are as in
    /// [`Field::read`].
    fn read_option(reader: &mut Reader<'_>) -> Option<Self> {
        match reader.byte() {
            0 => None,
            _ => Some(Self::read(reader)),
        }
    }

    /// Writes the JSON entry with this name. An object writes the entries `namespace`, `name` and `uid` instead, and
    /// leaves out a namespace or uid that it lacks. `None`, an empty list, map or set of headers, and unknown totals
    /// write nothing.
    ///
    /// # Errors
    /// The serializer's errors.
    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error>;
}

/// A struct whose fields each have a binary form and a JSON form ([`Field`]). The methods write and read the fields
/// alone. A struct inside a struct has its length before its fields.
pub trait Fields: Sized {
    /// Writes the fields in order, without a length.
    fn write_fields(&self, writer: &mut Writer<'_>);

    /// Writes the fields in order up to the last one for which [`Field::is_absent`] is false, without a length. An
    /// empty list counts as present. The default implementation writes all fields.
    fn write_present(&self, writer: &mut Writer<'_>) {
        self.write_fields(writer);
    }

    /// Reads the fields. Fields that may be missing get the value of [`Field::absent`] if they are missing at the end;
    /// unknown bytes after the last field stay unread. Errors are as in [`Field::read`]; a missing required field is
    /// [`DecodeError::MissingField`].
    fn read_fields(reader: &mut Reader<'_>) -> Self;

    /// Writes the JSON entries in the order of the fields. `None`, an empty list, map or set of headers, and unknown
    /// totals write no entry.
    ///
    /// # Errors
    /// The serializer's errors.
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// The JSON name of a field: the given one, else its Rust name.
macro_rules! json_name {
    ($field:ident $json:literal) => {
        $json
    };
    ($field:ident) => {
        stringify!($field)
    };
}
pub(crate) use json_name;

/// Defines structs with [`Fields`]; each field states its Rust name, its JSON name if that differs, and its type.
macro_rules! fields {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident $($json:literal)? : $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::field::Fields for $name {
            #[allow(unused_variables)]
            fn write_fields(&self, writer: &mut $crate::codec::Writer<'_>) {
                $($crate::field::Field::write(&self.$field, writer);)*
            }

            #[allow(unused_variables, unused_assignments, unused_mut)]
            fn write_present(&self, writer: &mut $crate::codec::Writer<'_>) {
                let mut end = writer.position();
                $(
                    $crate::field::write_last(&self.$field, &mut end, writer);
                )*
                writer.cut(end);
            }

            #[allow(unused_variables)]
            fn read_fields(reader: &mut $crate::codec::Reader<'_>) -> Self {
                Self {
                    $($field: $crate::field::read_field(reader, $crate::field::json_name!($field $($json)?)),)*
                }
            }

            #[allow(unused_variables)]
            fn entries<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::field::Field::entry(&self.$field, $crate::field::json_name!($field $($json)?), map)?;)*
                Ok(())
            }
        }
    )*};
}
pub(crate) use fields;

/// Reads a field that may be missing at the end of its struct. If a required field is missing, the reader fails.
pub(crate) fn read_field<T: Field>(reader: &mut Reader<'_>, field: &'static str) -> T {
    if reader.is_at_end() {
        match T::absent(reader) {
            Some(absent) => return absent,
            None => reader.fail(DecodeError::MissingField { field }),
        }
    }
    T::read(reader)
}

/// The JSON form of a struct of fields: one object.
pub(crate) struct AsJson<'a, T>(pub(crate) &'a T);

impl<T: Fields> serde::Serialize for AsJson<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.entries(&mut map)?;
        map.end()
    }
}

/// Writes a struct inside a struct: its length, then its fields.
pub(crate) fn write_struct<T: Fields>(value: &T, writer: &mut Writer<'_>) {
    writer.sized(|inner| value.write_fields(inner));
}

/// Reads a struct that [`write_struct`] wrote.
pub(crate) fn read_struct<T: Fields>(reader: &mut Reader<'_>) -> T {
    reader.charge(size_of::<T>());
    reader.sized(T::read_fields)
}

macro_rules! struct_fields {
    ($($name:ty),* $(,)?) => {$(
        impl $crate::field::Field for $name {
            fn write(&self, writer: &mut $crate::codec::Writer<'_>) {
                $crate::field::write_struct(self, writer);
            }
            fn read(reader: &mut $crate::codec::Reader<'_>) -> Self {
                $crate::field::read_struct(reader)
            }
            fn entry<M: serde::ser::SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
                map.serialize_entry(name, &$crate::field::AsJson(self))
            }
        }
    )*};
}
pub(crate) use struct_fields;

fn entry<M: SerializeMap, T: serde::Serialize>(
    value: &T,
    name: &'static str,
    map: &mut M,
) -> Result<(), M::Error> {
    map.serialize_entry(name, value)
}

/// Writes a field that may be left out if all fields after it are absent, too. `end` becomes the position after the
/// field, unless the field is absent.
pub(crate) fn write_last<T: Field>(field: &T, end: &mut usize, writer: &mut Writer<'_>) {
    field.write(writer);
    if !field.is_absent(writer) {
        *end = writer.position();
    }
}

macro_rules! leaf {
    ($($type:ty: $write:expr, $read:expr;)*) => {$(
        impl Field for $type {
            fn write(&self, writer: &mut Writer<'_>) {
                let write: fn(&Self, &mut Writer<'_>) = $write;
                write(self, writer);
            }
            fn read(reader: &mut Reader<'_>) -> Self {
                let read: fn(&mut Reader<'_>) -> Self = $read;
                read(reader)
            }
            fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
                entry(self, name, map)
            }
        }
    )*};
}

leaf! {
    i64: |value, w| w.signed(*value), |r| r.signed();
    u32: |value, w| w.varint(u64::from(*value)), |r| r.varint_as();
    u16: |value, w| w.varint(u64::from(*value)), |r| r.varint_as();
    bool: |value, w| w.byte(u8::from(*value)), |r| r.byte() != 0;
    Seq: |value, w| w.varint(value.0), |r| Self(r.varint());
    ConnectionId: |value, w| w.varint(value.0), |r| Self(r.varint());
    RequestId: |value, w| w.varint(value.0), |r| Self(r.varint());
    Time: |value, w| w.time(*value), |r| r.time();
    WatchName: |value, w| w.text(Some(&value.0), 0), |r| Self(r.text());
    LogId: |value, w| w.text(Some(&value.0), 0), |r| Self(r.text());
    EpochId: |value, w| w.text(Some(&value.0), 0), |r| Self(r.text());
    String: |value, w| w.inline(value.as_bytes()), |r| r.inline_str().into();
    ResourceVersion: |value, w| w.version(value), |r| r.version();
    Uid: |value, w| w.uid(value), |r| r.uid();
    words::Cause: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Phase: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::PhaseReason: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::ChangeType: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Origin: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::AuditReason: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Authority: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::FrameLoss: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::ErrorText: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::LossPlace: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Certainty: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Severity: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Standing: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Divergence: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::CachePhase: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Way: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::Author: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::NoteRefusal: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
    words::DiskTrouble: |value, w| w.varint(value.number()), |r| Self::from_number(r.varint());
}

macro_rules! numbers {
    ($($type:ty: $get:expr, $set:expr;)*) => {$(
        /// A number is written as a varint. An optional number is 0 for `None`, or the number plus 1.
        impl Field for $type {
            fn write(&self, writer: &mut Writer<'_>) {
                let get: fn(&Self) -> u64 = $get;
                writer.varint(get(self));
            }
            fn read(reader: &mut Reader<'_>) -> Self {
                $set(reader.varint())
            }
            fn write_option(value: Option<&Self>, writer: &mut Writer<'_>) {
                let get: fn(&Self) -> u64 = $get;
                writer.wide(value.map_or(0, |value| u128::from(get(value)) + 1));
            }
            fn read_option(reader: &mut Reader<'_>) -> Option<Self> {
                reader.optional_varint().map($set)
            }
            fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
                entry(self, name, map)
            }
        }
    )*};
}

numbers! {
    u64: |value| *value, |number| number;
    StreamId: |value| value.0, StreamId;
}

/// A text that recurs is written as 0 and the text, or as its dictionary id plus 1. An optional text has 1 more in the
/// first number, and 0 for `None`.
impl Field for Text {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.text(Some(self), 0);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        reader.text()
    }

    fn write_option(value: Option<&Self>, writer: &mut Writer<'_>) {
        writer.text(value, 1);
    }

    fn read_option(reader: &mut Reader<'_>) -> Option<Self> {
        reader.optional_text()
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        entry(self, name, map)
    }
}

/// An object is a dictionary id in the binary form. In the JSON form it is the entries `namespace`, `name` and `uid`,
/// whatever the field's name.
impl Field for Arc<Object> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.object(Some(self), 0);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        reader.object()
    }

    fn entry<M: SerializeMap>(&self, _name: &'static str, map: &mut M) -> Result<(), M::Error> {
        if let Some(namespace) = &self.namespace {
            entry(namespace, "namespace", map)?;
        }
        entry(&self.name, "name", map)?;
        if self.uid.is_empty() {
            Ok(())
        } else {
            entry(&self.uid, "uid", map)
        }
    }
}

/// The controller of the record's object. 0, or a missing field, means the controller in the dictionary's definition of
/// that object; 1 means none. Any other number is an object's form plus 2.
///
/// Up to format 2 the dictionary named no controllers. 0, or a missing field, meant none; any other number was an
/// object's form plus 1.
impl Field for Owner {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.object(Some(&self.0), 0);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self(reader.object())
    }

    fn write_option(value: Option<&Self>, writer: &mut Writer<'_>) {
        match value {
            value if Self::is_absent_option(value, writer) => writer.byte(0),
            None => writer.byte(1),
            Some(owner) => writer.object(Some(&owner.0), 2),
        }
    }

    fn read_option(reader: &mut Reader<'_>) -> Option<Self> {
        reader.owner()
    }

    fn absent_option(reader: &Reader<'_>) -> Option<Self> {
        reader.defined_owner().cloned()
    }

    fn is_absent_option(value: Option<&Self>, writer: &Writer<'_>) -> bool {
        value == writer.defined_owner()
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        entry(self, name, map)
    }
}

/// An optional value. The JSON form has the entry, or nothing for `None`.
impl<T: Field> Field for Option<T> {
    fn write(&self, writer: &mut Writer<'_>) {
        T::write_option(self.as_ref(), writer);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        T::read_option(reader)
    }

    fn absent(reader: &Reader<'_>) -> Option<Self> {
        Some(T::absent_option(reader))
    }

    fn is_absent(&self, writer: &Writer<'_>) -> bool {
        T::is_absent_option(self.as_ref(), writer)
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        match self {
            None => Ok(()),
            Some(value) => value.entry(name, map),
        }
    }
}

/// A list is written as its count, then the values.
impl<T: Field + serde::Serialize> Field for Vec<T> {
    fn write(&self, writer: &mut Writer<'_>) {
        write_list(self, writer);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        read_list(reader)
    }

    fn absent(_reader: &Reader<'_>) -> Option<Self> {
        Some(Self::new())
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        if self.is_empty() {
            Ok(())
        } else {
            entry(self, name, map)
        }
    }
}

/// HTTP headers in the order in which they came; in JSON one object. A name that came twice is there twice, also in
/// JSON. Nothing here bounds their number; the probe keeps at most 16.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(
    /// Pairs of lower-case name and value; empty if there is no header.
    pub Vec<(Text, Text)>,
);

impl Headers {
    /// The value of the first header with the lower-case `name`; `None` if there is none. A `name` with capitals finds
    /// nothing.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(other, _)| **other == *name)
            .map(|(_, value)| &**value)
    }
}

impl Field for Headers {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.varint(self.0.len() as u64);
        for (name, value) in &self.0 {
            writer.text(Some(name), 0);
            writer.inline(value.as_bytes());
        }
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let count = reader.count(2, size_of::<(Text, Text)>());
        let mut headers = Vec::with_capacity(count);
        while headers.len() < count && !reader.has_failed() {
            headers.push((reader.text(), reader.inline_str().into()));
        }
        Self(headers)
    }

    fn absent(_reader: &Reader<'_>) -> Option<Self> {
        Some(Self::default())
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        if self.0.is_empty() {
            Ok(())
        } else {
            entry(self, name, map)
        }
    }
}

impl serde::Serialize for Headers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (&**name, &**value)))
    }
}

/// Writes a count, then the values.
pub(crate) fn write_list<T: Field>(values: &[T], writer: &mut Writer<'_>) {
    writer.varint(values.len() as u64);
    for value in values {
        value.write(writer);
    }
}

/// Reads a list that [`write_list`] wrote. The count is checked against the remaining bytes before anything is
/// allocated.
pub(crate) fn read_list<T: Field>(reader: &mut Reader<'_>) -> Vec<T> {
    let count = reader.count(1, size_of::<T>());
    let mut values = Vec::with_capacity(count);
    while values.len() < count && !reader.has_failed() {
        values.push(T::read(reader));
    }
    values
}

impl<K: Field + Ord + serde::Serialize, V: Field + Fields> Field for Map<K, V> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.varint(self.len() as u64);
        for (key, value) in self {
            key.write(writer);
            value.write(writer);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let count = reader.count(2, Self::ENTRY_BYTES);
        let mut map = Self::with_capacity(count);
        for _ in 0..count {
            let (key, value) = (K::read(reader), V::read(reader));
            if reader.has_failed() {
                break;
            }
            map.insert(key, value);
        }
        map
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        struct Entries<'a, K, V>(&'a Map<K, V>);
        impl<K: serde::Serialize, V: Fields> serde::Serialize for Entries<'_, K, V> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(key, value)| (key, AsJson(value))))
            }
        }
        if self.is_empty() {
            Ok(())
        } else {
            map.serialize_entry(name, &Entries(self))
        }
    }
}
