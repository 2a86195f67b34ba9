//! The second part of the page: when it is loaded, and the functions that the first part calls in it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use js_sys::Uint8Array;
use leptos::wasm_split::{SplitLoaderError, wasm_split};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use watchscope_timeline::Store;
use watchscope_timeline::records::RECORDS;

use crate::core::model::{Model, Second};
use crate::core::msg::Msg;
use crate::runtime::page::{is_open, send};
use crate::{exports, panels};

/// The cut: code that this function reaches and the first part does not is the second part.
#[wasm_split(second, wasm_split_path = leptos::wasm_split, fallible)]
fn second_part() -> Result<&'static Second, SplitLoaderError> {
    // From here on a panic reports its place; before, the console has only its stack.
    console_error_panic_hook::set_once();
    if !is_open() {
        exports::begin();
    }
    Ok(&Second {
        segment: Model::take_segment,
        keep,
        chapter: Store::chapter,
        catalogue: Model::take_catalogue,
        records: RECORDS,
        forget: Model::forget,
        person: Model::person,
        play_on: Model::play_on,
        overview: Model::draw_overview,
        publish: Model::publish,
        show: panels::show,
        drawn: panels::drawn,
        carry_out: panels::carry_out,
    })
}

/// Keeps the bytes of a chapter as a JavaScript array. Ten million records would fill half of the WebAssembly memory
/// with them, and they are read again only for details.
fn keep(bytes: &[u8]) -> Box<dyn Fn() -> Vec<u8>> {
    let kept = Uint8Array::from(bytes);
    Box::new(move || kept.to_vec())
}

type Loading = Pin<Box<dyn Future<Output = Result<&'static Second, SplitLoaderError>>>>;

thread_local! {
    /// The load under way. It is the first part's only future, so it is polled here and needs no executor.
    static LOADING: RefCell<Option<Loading>> = const { RefCell::new(None) };
}

/// Loads the second part once the present picture is painted. The model mounts its panels when the part is loaded.
pub(crate) fn load_soon() {
    LOADING.set(Some(Box::pin(second_part())));
    poll_soon();
}

/// Polls after the next paint: a frame's callbacks come before its paint, a timer's after it.
fn poll_soon() {
    let poll = Closure::once_into_js(poll);
    // Workers have the same function. It fails for no function.
    let window: web_sys::Window = js_sys::global().unchecked_into();
    let _ = window.set_timeout_with_callback(poll.unchecked_ref());
}

struct PollSoon;

impl Wake for PollSoon {
    fn wake(self: Arc<Self>) {
        poll_soon();
    }
}

fn poll() {
    let Some(mut loading) = LOADING.take() else {
        return;
    };
    let waker = Waker::from(Arc::new(PollSoon));
    match loading.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Pending => LOADING.set(Some(loading)),
        // In a worker the second part has begun the exports.
        Poll::Ready(Ok(_)) if !is_open() => {}
        Poll::Ready(Ok(second)) => send(Msg::Loaded(second)),
        Poll::Ready(Err(_)) => send(Msg::NotLoaded),
    }
}
