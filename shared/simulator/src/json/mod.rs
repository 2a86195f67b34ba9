//! JSON as the servers handle it: trees that are changed by paths, and texts as Go's decoder and encoder have them.

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
