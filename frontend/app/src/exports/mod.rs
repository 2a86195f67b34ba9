//! Exports of the records that a page holds. They run in a worker, in an instance of the page's own modules.
//!
//! ```text
//!   frames of chapters, notes ─► Records ─(wish)─► Made ─► facts, a picture, a text, charts, a file
//! ```
//!
//! Nothing is decided here. `assets/export-worker.js` deflates, and draws the seed of pseudonyms. Errors are texts.

mod answer;
mod facts;
mod failure;
mod made;
mod records;
mod wish;

use leptos::wasm_split::{SplitLoaderError, wasm_split};
use wasm_bindgen_futures::spawn_local;

/// The cut: code that only this function reaches is the part of exports. The browser has all other code already.
#[wasm_split(export, wasm_split_path = leptos::wasm_split, fallible)]
fn export_part() -> Result<(), SplitLoaderError> {
    answer::listen();
    Ok(())
}

/// Loads the part of exports, which then listens to the worker's script.
pub(crate) fn begin() {
    spawn_local(async {
        // The script fetches the part, so it knows of a failure before this does.
        let _ = export_part().await;
    });
}
