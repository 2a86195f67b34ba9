//! Unpacks what a page in one file is made of: the one function that `assets/single.js` calls before it has any other
//! module.
//!
//! A browser inflates by itself, but LZMA is a fifth shorter than its deflate. That is ten times what this module weighs.
#![allow(
    unsafe_code,
    unreachable_pub,
    reason = "what the page's script calls is exported to it, and to nobody else"
)]

use std::io::Read as _;

use lzma_rust2::LzmaReader;
use wasm_bindgen::prelude::wasm_bindgen;

/// The most KiB that unpacking may take beside its result: 16 MiB. A file that states more is refused. `xtask` lets it be
/// as many bytes as the result has, about 3 MiB today.
const MOST_KIB: u32 = 16 << 10;

/// Returns the bytes that a `.lzma` file holds; its first bytes state their number. Returns nothing if it is no whole
/// `.lzma` file, or if it takes more than 16 MiB to unpack it.
#[wasm_bindgen]
pub fn unpacked(file: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut reader = LzmaReader::new_mem_limit(file, MOST_KIB, None).ok()?;
    reader.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
