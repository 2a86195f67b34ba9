//! JSON as trees that are read and changed by paths, and JSON text as Go's decoder reads it and Go's encoder writes it.

mod codec;
mod encode;
pub(crate) mod go;
mod value;

pub use codec::json_text;
pub(crate) use codec::{Unreadable, read, read_first};
pub(crate) use encode::{encode, encode_into};
pub(crate) use value::{
    at, items, items_mut, number, remove, set, set_default, sort_all, sort_keys, text,
};
