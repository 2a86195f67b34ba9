//! Runs all stories in a browser. Only a test loads this module, and compares the digests of the records with the
//! host's.
#![allow(
    unsafe_code,
    unreachable_pub,
    reason = "what the test's script calls is exported to it, and to nobody else"
)]

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_export::digest_of_charts;
use watchscope_scenarios as scenarios;

/// Returns the names of all stories.
#[wasm_bindgen]
pub fn digested() -> Vec<String> {
    scenarios::digested()
}

/// Returns the digest of a story's records in words; none if there is no such story.
#[wasm_bindgen]
pub fn digest(name: &str, seed: u32) -> Option<String> {
    let digest = scenarios::digest(name, u64::from(seed))?;
    Some(digest.to_string())
}

/// Returns the digests of the charts of a story's first minutes; none if there is no such story, or they cannot be
/// drawn.
#[wasm_bindgen]
pub fn charts(name: &str, seed: u32) -> Option<String> {
    let records = scenarios::records(name, u64::from(seed))?;
    digest_of_charts(&records).ok()
}
