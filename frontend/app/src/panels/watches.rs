//! The table of watches: the health of each, in a chosen order. It can be copied as text.

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use watchscope_model::WatchName;
use watchscope_timeline::Token;
use watchscope_timeline::format::count;
use watchscope_timeline::health::{self, COLUMNS, FIGURES, HealthRow, Order};

use super::as_of::AsOf;
use super::copy::copy_or_save;
use super::events::grip_detail;
use super::signals::Signals;
use crate::core::person::Person;
use crate::input::actions::Action;
use crate::runtime::page::act;

/// Copies the table to the clipboard. If the browser refuses, downloads it.
fn copy_watches(panels: Signals, done: RwSignal<String>) {
    let rows = panels.watches.get_untracked();
    let text = health::tsv(&rows);
    spawn_local(async move {
        let what = copy_or_save(&text, "watches.tsv").await;
        let words = format!("{what}: {}.", count(rows.len() as u64, "row"));
        done.set(what);
        act(Person::Say(words.into()));
    });
}

/// Shows the table while it is open.
#[component]
pub(super) fn WatchesPanel(panels: Signals) -> impl IntoView {
    move || {
        let is_open = panels.watches_open.get();
        is_open.then(|| view! { <Open panels/> })
    }
}

#[component]
fn Open(panels: Signals) -> impl IntoView {
    let rows = panels.watches;
    let names = move || -> Vec<String> {
        rows.with(|rows| rows.iter().map(|row| row.watch.to_string()).collect())
    };
    let copied = RwSignal::new(String::new());
    view! {
        <section class="detail watches" aria-label="Watches">
            <div
                class="detail-grip"
                aria-hidden="true"
                on:pointerdown=|event| grip_detail(&event)
            ></div>
            <div class="detail-head">
                <h2>"Watches"</h2>
                <span class="what">{move || rows.with(|rows| count(rows.len() as u64, "watch"))}</span>
                <AsOf panels/>
                <span class="space"></span>
                <span class="quiet" role="status">{move || copied.get()}</span>
                <button class="control" title="Records in view, findings and versions too" on:click=|_| act(Person::Act(Action::Tables))>"All tables"</button>
                <button class="control" on:click=move |_| copy_watches(panels, copied)>"Copy as text"</button>
                <button class="close" aria-label="Close" on:click=|_| act(Person::Act(Action::Watches))>"×"</button>
            </div>
            <div class="detail-body" tabindex="0" role="region" aria-label="Table of watches">
                <table class="health">
                    <thead><tr>
                        {COLUMNS.iter().enumerate().map(|(column, &(name, says))| view! {
                            <Heading panels column name says/>
                        }).collect_view()}
                    </tr></thead>
                    <tbody>
                        <For
                            each=names
                            key=|name| name.clone()
                            children=move |name| view! { <RowOf panels name/> }
                        />
                    </tbody>
                </table>
            </div>
        </section>
    }
}

#[component]
fn Heading(
    panels: Signals,
    column: usize,
    name: &'static str,
    says: &'static str,
) -> impl IntoView {
    let sorted = move || match panels.order.get() {
        Order {
            column: by,
            falling,
        } if by == column => Some(if falling { "descending" } else { "ascending" }),
        _ => None,
    };
    view! {
        <th scope="col" class:figure=FIGURES.contains(&column) aria-sort=sorted>
            <button title=says on:click=move |_| act(Person::SortWatches(column))>
                {name}
                <span class="arrow" aria-hidden="true">
                    {move || match sorted() {
                        Some("descending") => "▾",
                        Some(_) => "▴",
                        None => "",
                    }}
                </span>
            </button>
        </th>
    }
}

#[component]
fn RowOf(panels: Signals, name: String) -> impl IntoView {
    let wanted = name.clone();
    let row = Memo::new(move |_| -> Option<HealthRow> {
        panels.watches.with(|rows| {
            let mut rows = rows.iter();
            rows.find(|row| row.watch.as_str() == wanted).cloned()
        })
    });
    let cell = move |column: usize| {
        let cell = Memo::new(move |_| {
            row.with(|row| row.as_ref().map(|row| row.cells[column].clone()))
                .unwrap_or_default()
        });
        let has = move |ink: Token| move || cell.with(|cell| cell.ink == Some(ink));
        view! {
            <td
                class:figure=FIGURES.contains(&column)
                class:error=has(Token::Error)
                class:div=has(Token::Divergence)
            >
                {move || cell.with(|cell| cell.text.clone())}
            </td>
        }
    };
    let shown = WatchName::from(name.as_str());
    let (key, title) = (name.clone(), format!("{name}: show its lane"));
    view! {
        <tr data-watch=key>
            <th scope="row">
                <button
                    title=title
                    on:click=move |_| act(Person::FrameWatch(shown.clone()))
                >
                    {name}
                </button>
            </th>
            {(1..COLUMNS.len()).map(cell).collect_view()}
        </tr>
    }
}
