//! The search: a field over the picture, how many hits there are, and the way from one to the next.

use std::cell::RefCell;

use js_sys::{Reflect, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{AbortController, ReadableStreamDefaultReader, RequestInit, Response};

use super::bodies;
use super::signals::Signals;
use crate::core::person::Person;
use crate::core::search::{SearchDeed, SearchShown};
use crate::runtime::page::act;

thread_local! {
    /// Ends the request that is under way.
    static REQUEST: RefCell<Option<AbortController>> = const { RefCell::new(None) };
}

fn does(deed: SearchDeed) {
    act(Person::Search(deed));
}

/// The search, while it is open.
#[component]
pub(super) fn SearchBar(panels: Signals) -> impl IntoView {
    let search = panels.search;
    let is_open = Memo::new(move |_| search.with(Option::is_some));
    let of = move |part: fn(&SearchShown) -> String| {
        search.with(|shown| shown.as_ref().map(part).unwrap_or_default())
    };
    let has_hits = move || search.with(|shown| shown.as_ref().is_some_and(|shown| shown.has_hits));
    move || {
        is_open.get().then(|| view! {
            <form
                class="search"
                role="search"
                aria-label="Search the log"
                data-part="search"
                on:submit=|event| event.prevent_default()
            >
                <input
                    type="text"
                    aria-label="Text to search for"
                    placeholder="Object, uid, resourceVersion, finding, manager, body"
                    spellcheck="false"
                    autocomplete="off"
                    maxlength="256"
                    prop:value=move || of(|shown| shown.text.clone())
                    on:input:target=|event| does(SearchDeed::Typed(event.target().value().into()))
                />
                <span class="search-count" role="status" data-part="search-count">{move || of(|shown| shown.count.clone())}</span>
                <button type="button" class="control" aria-label="Previous hit" disabled=move || !has_hits() on:click=|_| does(SearchDeed::Previous)>"‹"</button>
                <button type="button" class="control" aria-label="Next hit" disabled=move || !has_hits() on:click=|_| does(SearchDeed::Next)>"›"</button>
                <button type="button" class="close" aria-label="Close the search" on:click=|_| does(SearchDeed::Close)>"×"</button>
                {move || {
                    let current = of(|shown| shown.current.clone());
                    (!current.is_empty()).then(|| view! { <p class="search-hit" data-part="search-hit">{current}</p> })
                }}
                {move || {
                    let left_out = of(|shown| shown.left_out.clone());
                    (!left_out.is_empty()).then(|| view! { <p class="quiet">{left_out}</p> })
                }}
            </form>
        })
    }
}

/// Ends the request that is under way.
pub(super) fn end() {
    if let Some(request) = REQUEST.take() {
        request.abort();
    }
}

/// Requests hits of the server, and hands lines on as they come. It ends a request before it.
pub(super) fn ask(number: u64, text: &str, before: Option<&str>) {
    end();
    // A browser without it only lets a request run that nobody needs any more.
    let abort = AbortController::new().ok();
    let encode = |text: &str| String::from(js_sys::encode_uri_component(text));
    let before = before.map(|before| format!("&before={}", encode(before)));
    let url = format!(
        "api/search?q={}{}",
        encode(text),
        before.unwrap_or_default()
    );
    let signal = abort.as_ref().map(AbortController::signal);
    REQUEST.set(abort);
    spawn_local(async move {
        let with = bodies::own_fetch();
        with.set_signal(signal.as_ref());
        if let Err(why) = read(number, &url, &with).await
            && signal.is_none_or(|signal| !signal.aborted())
        {
            does(SearchDeed::Failed {
                number,
                why: why.into(),
            });
        }
    });
}

const LOST: &str = "The search got no answer. Is watchscope still there?";

/// Reads an answer piece by piece, and hands on whole lines.
async fn read(number: u64, url: &str, with: &RequestInit) -> Result<(), String> {
    let lost = |_: JsValue| LOST.to_owned();
    let window = web_sys::window().ok_or(LOST)?;
    let asked = JsFuture::from(window.fetch_with_str_and_init(url, with));
    let response: Response = asked
        .await
        .and_then(|response| response.dyn_into())
        .map_err(lost)?;
    // The answer for a position that is kept no longer is a line, too.
    if !response.ok() && response.status() != 410 {
        let text = JsFuture::from(response.text().map_err(lost)?).await;
        let text = text
            .ok()
            .and_then(|text| text.as_string())
            .unwrap_or_default();
        return Err(format!("{}: {}", response.status(), text.trim()));
    }
    let body = response.body().ok_or(LOST)?;
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    let mut rest: Vec<u8> = Vec::new();
    loop {
        let piece = JsFuture::from(reader.read()).await.map_err(lost)?;
        let field = |name: &str| Reflect::get(&piece, &JsValue::from_str(name)).ok();
        if let Some(bytes) = field("value").and_then(|value| value.dyn_into::<Uint8Array>().ok()) {
            rest.extend(bytes.to_vec());
        }
        let is_last = field("done").is_none_or(|done| done.is_truthy());
        let end = rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |place| place + 1);
        let whole: Vec<u8> = if is_last {
            std::mem::take(&mut rest)
        } else {
            rest.drain(..end).collect()
        };
        if !whole.is_empty() {
            does(SearchDeed::Lines {
                number,
                lines: String::from_utf8_lossy(&whole).into(),
            });
        }
        if is_last {
            return Ok(());
        }
    }
}
