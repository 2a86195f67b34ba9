//! The second part of the page: when it is loaded, and what the first part calls in it.

use leptos::wasm_split::{SplitLoaderError, wasm_split};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use wasm_bindgen_futures::spawn_local;
use watchscope_model::Time;
use watchscope_timeline::Store;
use watchscope_timeline::store::StoreError;
use web_sys::Window;

use super::engine::{Engine, Handle};
use super::panels;

/// What the first part calls in the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Second {
    /// Writes what the panels show.
    pub(super) publish: fn(&mut Engine, Time),
    /// Writes what cannot wait for it: the way to the server, trouble, what is said.
    pub(super) inform: fn(&mut Engine),
    /// [`Store::chapter`]: the past is asked for once there is a present.
    pub(super) chapter: fn(&mut Store, &[u8]) -> Result<usize, StoreError>,
}

/// Loads the second part and mounts its panels, once what is drawn now is painted.
pub(super) fn load_soon(window: &Window) {
    let load = Closure::once_into_js(|| spawn_local(load()));
    // A frame's callbacks come before its paint, a timer's after it.
    let _ = window.set_timeout_with_callback(load.unchecked_ref());
}

async fn load() {
    let loaded = second_part().await;
    Handle.with(|engine| match loaded {
        Ok(second) => {
            engine.second = Some(second);
            engine.inform();
            engine.redraw();
        }
        // The picture goes on without panels, and says so where they would be.
        Err(_) => engine
            .stage
            .status
            .set_text_content(Some("Part of the page could not be loaded: reload it.")),
    });
}

/// The cut: what this function reaches and the first part does not is the second part.
#[wasm_split(second, wasm_split_path = leptos::wasm_split, fallible)]
fn second_part() -> Result<Second, SplitLoaderError> {
    panels::mount(Handle);
    Ok(Second {
        publish: Engine::publish,
        inform: Engine::inform_panels,
        chapter: Store::chapter,
    })
}
