//! The tables: records in view, findings, watches and versions. Only the rows in the window are in the document.

use js_sys::Reflect;
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use watchscope_timeline::format::count;
use watchscope_timeline::table::Tab;
use web_sys::KeyboardEvent;

use super::as_of::AsOf;
use super::copy::copy_or_save;
use super::events::grip_detail;
use super::focus::focus_soon;
use super::listen::on_resize;
use super::signals::Signals;
use crate::core::effect::Focus;
use crate::core::person::Person;
use crate::core::table::{COPIED_MOST, RowShown, Step, TableDeed, TableView};
use crate::input::actions::Action;
use crate::runtime::page::{act, read};

fn does(deed: TableDeed) {
    act(Person::Table(deed));
}

/// Copies the table to the clipboard as CSV. If the browser refuses, downloads it.
fn copy_rows(done: RwSignal<String>) {
    let (text, rows) = read().table_csv();
    spawn_local(async move {
        let what = copy_or_save(&text, "table.csv").await;
        let rows = match rows {
            COPIED_MOST => format!("the first {}", count(rows as u64, "row")),
            _ => count(rows as u64, "row"),
        };
        done.set(format!("{what}: {rows}"));
        act(Person::Say(format!("{what}: {rows}.").into()));
    });
}

/// Shows the tables while they are open.
#[component]
pub(super) fn TablesPanel(panels: Signals) -> impl IntoView {
    let is_open = Memo::new(move |_| panels.table.with(Option::is_some));
    move || is_open.get().then(|| view! { <Open panels/> })
}

#[component]
fn Open(panels: Signals) -> impl IntoView {
    let of = move |part: fn(&TableView) -> String| {
        panels
            .table
            .with(|shown| shown.as_ref().map(part).unwrap_or_default())
    };
    let tab = Memo::new(move |_| {
        panels
            .table
            .with(|shown| shown.as_ref().map(|shown| shown.tab).unwrap_or_default())
    });
    let copied = RwSignal::new(String::new());
    view! {
        <section class="detail tables" aria-label="Tables">
            <div
                class="detail-grip"
                aria-hidden="true"
                on:pointerdown=|event| grip_detail(&event)
            ></div>
            <div class="detail-head">
                <div class="table-tabs" role="tablist" aria-label="Tables">
                    {Tab::ALL.map(|one| tab_button(one, tab)).collect_view()}
                </div>
                <span class="what" data-part="table-counts">{move || of(|shown| shown.counts.clone())}</span>
                {move || (tab.get() == Tab::Watches).then(|| view! { <AsOf panels/> })}
                <span class="space"></span>
                <Filters panels tab/>
                <span class="quiet" role="status">{move || copied.get()}</span>
                <button class="control" on:click=move |_| copy_rows(copied)>"Copy as CSV"</button>
                <button class="close" aria-label="Close" on:click=|_| act(Person::Act(Action::Tables))>"×"</button>
            </div>
            <div id="table-panel" class="table-panel" role="tabpanel" aria-label=move || tab.get().words()>
                <Grid panels tab/>
            </div>
        </section>
    }
}

fn tab_button(one: Tab, tab: Memo<Tab>) -> impl IntoView {
    view! {
        <button
            class="tab"
            role="tab"
            aria-controls="table-panel"
            aria-selected=move || (tab.get() == one).to_string()
            tabindex=move || if tab.get() == one { "0" } else { "-1" }
            on:click=move |_| does(TableDeed::Show(one))
            on:keydown=move |event| {
                let step = match event.key().as_str() {
                    "ArrowRight" => 1,
                    "ArrowLeft" => Tab::ALL.len() - 1,
                    _ => return,
                };
                event.prevent_default();
                event.stop_propagation();
                let at = Tab::ALL.iter().position(|&other| other == one).unwrap_or(0);
                does(TableDeed::Show(Tab::ALL[(at + step) % Tab::ALL.len()]));
                focus_soon(Focus::Tab);
            }
        >
            {one.words()}
        </button>
    }
}

/// The filter: a text, and a list of kinds if the table has several.
#[component]
fn Filters(panels: Signals, tab: Memo<Tab>) -> impl IntoView {
    let text = move || {
        panels.table.with(|shown| {
            shown
                .as_ref()
                .map(|shown| shown.text.clone())
                .unwrap_or_default()
        })
    };
    let choice = move || {
        panels
            .table
            .with(|shown| shown.as_ref().map_or(0, |shown| shown.choice))
    };
    let choices = move || {
        tab.track();
        panels.table.with_untracked(|shown| {
            let choices = shown.as_ref().map(|shown| shown.choices.clone());
            choices.unwrap_or_default()
        })
    };
    view! {
        {move || {
            let choices = choices();
            (!choices.is_empty()).then(|| view! {
                <select
                    class="control"
                    aria-label=move || match tab.get() {
                        Tab::Findings => "Severity",
                        _ => "Kind",
                    }
                    prop:value=move || choice().to_string()
                    on:change:target=|event| {
                        does(TableDeed::Choose(event.target().value().parse().unwrap_or(0)));
                    }
                >
                    {choices.into_iter().enumerate().map(|(place, choice)| view! {
                        <option value=place.to_string()>{choice.words()}</option>
                    }).collect_view()}
                </select>
            })
        }}
        <input
            type="search"
            class="table-filter"
            aria-label="Filter rows"
            placeholder="Filter rows"
            title="Words of kind, lane, resourceVersion or finding; a row needs each"
            spellcheck="false"
            autocomplete="off"
            maxlength="256"
            prop:value=text
            on:input:target=|event| does(TableDeed::Typed(event.target().value().into()))
            on:keydown=|event| {
                if event.key() == "Enter" {
                    event.prevent_default();
                    event.stop_propagation();
                    focus_soon(Focus::Table);
                }
            }
        />
    }
}

/// Height of a row, in px: larger where fingers touch it. panels.css has the same numbers.
fn row_px() -> f64 {
    if read().screen.window.width_px <= 600.0 {
        32.0
    } else {
        24.0
    }
}

/// The property by which an element is scrolled. A generated accessor would weigh on the page's first part.
const SCROLL_TOP: &str = "scrollTop";

/// Returns how far an element is scrolled, in px.
fn scroll_top(element: &JsValue) -> f64 {
    let top = Reflect::get(element, &SCROLL_TOP.into()).ok();
    top.and_then(|top| top.as_f64()).unwrap_or(0.0)
}

/// Returns the deed of a key in the grid.
fn deed_of(event: &KeyboardEvent) -> Option<TableDeed> {
    if event.ctrl_key() || event.alt_key() || event.meta_key() || event.shift_key() {
        return None;
    }
    Some(match event.key().as_str() {
        "ArrowUp" => TableDeed::Move(Step::Up),
        "ArrowDown" => TableDeed::Move(Step::Down),
        "ArrowLeft" => TableDeed::Move(Step::Left),
        "ArrowRight" => TableDeed::Move(Step::Right),
        "PageUp" => TableDeed::Move(Step::PageUp),
        "PageDown" => TableDeed::Move(Step::PageDown),
        "Home" => TableDeed::Move(Step::First),
        "End" => TableDeed::Move(Step::Last),
        "Enter" => TableDeed::OpenActive,
        _ => return None,
    })
}

fn cell_id(row: usize, column: usize) -> String {
    format!("cell-{row}-{column}")
}

#[component]
fn Grid(panels: Signals, tab: Memo<Tab>) -> impl IntoView {
    let grid = NodeRef::<leptos::html::Div>::new();
    let number = move |part: fn(&TableView) -> usize| {
        panels.table.with(|shown| shown.as_ref().map_or(0, part))
    };
    let total = Memo::new(move |_| number(|shown| shown.total));
    let columns = Memo::new(move |_| number(|shown| shown.columns.len()));
    // The rows in the window, as the panel reports them.
    let report = move || {
        // The browser may report the size of a grid that is gone.
        if let Some(grid) = grid.try_get_untracked().flatten() {
            let px = row_px();
            let first = scroll_top(&grid) / px;
            let count = (f64::from(grid.client_height()) / px) as usize;
            let window = (first as usize, count.saturating_sub(1).max(1));
            let known = number_untracked(panels);
            if known != Some(window) {
                let (first, count) = window;
                does(TableDeed::Window { first, count });
            }
        }
    };
    Effect::new(move |_| {
        let scrolls = panels.table.with(|shown| {
            let shown = shown.as_ref()?;
            shown.scrolls.then_some(shown.first)
        });
        if let (Some(first), Some(grid)) = (scrolls, grid.get()) {
            let top = first as f64 * row_px();
            // The rows above may be drawn only now, so the grid is scrolled when they are.
            request_animation_frame(move || {
                // A browser that refuses shows the rows at the old place.
                let _ = Reflect::set(&grid, &SCROLL_TOP.into(), &top.into());
            });
        }
    });
    let kept = StoredValue::new_local(None);
    Effect::new(move |_| {
        let Some(grid) = grid.get() else {
            return;
        };
        kept.set_value(on_resize(&grid, report));
    });
    let active = move || {
        panels.table.with(|shown| {
            let shown = shown.as_ref()?;
            let (row, column) = shown.active?;
            let is_drawn = shown.rows.iter().any(|drawn| drawn.place == row);
            is_drawn.then(|| cell_id(row, column))
        })
    };
    view! {
        <div
            class="grid"
            data-tab=move || match tab.get() {
                Tab::Records => "records",
                Tab::Findings => "findings",
                Tab::Watches => "watches",
                Tab::Versions => "versions",
            }
            role="grid"
            tabindex="0"
            aria-label=move || tab.get().words()
            aria-rowcount=move || (total.get() + 1).to_string()
            aria-colcount=move || columns.get().to_string()
            aria-activedescendant=active
            node_ref=grid
            on:scroll=move |_| report()
            on:keydown=move |event| {
                if let Some(deed) = deed_of(&event) {
                    event.prevent_default();
                    event.stop_propagation();
                    report();
                    does(deed);
                }
            }
        >
            <div class="grid-rows" role="rowgroup">
                <div class="grid-head" role="row" aria-rowindex="1">
                    {move || (0..columns.get()).map(|column| view! { <Heading panels column/> }).collect_view()}
                </div>
            </div>
            <div
                class="grid-body"
                role="rowgroup"
                style:height=move || format!("{}px", total.get() as f64 * row_px())
            >
                {move || panels.table.with(|shown| {
                    let shown = shown.as_ref()?;
                    let active = shown.active;
                    let figures: Vec<bool> = shown.columns.iter().map(|column| column.2).collect();
                    let rows = shown.rows.iter();
                    Some(rows.map(|row| row_of(row, active, &figures)).collect_view())
                })}
            </div>
            {move || {
                let nothing = panels.table.with(|shown| shown.as_ref().map(|shown| shown.nothing.clone()));
                nothing.filter(|words| !words.is_empty()).map(|words| view! {
                    <p class="prose table-nothing" data-part="table-nothing">{words}</p>
                })
            }}
        </div>
    }
}

/// Returns the first row in the window, and how many rows it has, as the model knows them.
fn number_untracked(panels: Signals) -> Option<(usize, usize)> {
    panels
        .table
        .with_untracked(|shown| shown.as_ref().map(|shown| (shown.first, shown.window)))
}

#[component]
fn Heading(panels: Signals, column: usize) -> impl IntoView {
    let of = move || {
        panels.table.with(|shown| {
            let shown = shown.as_ref()?;
            let (name, says, is_figure) = *shown.columns.get(column)?;
            let sorted = Some(shown.sorted).filter(|sorted| sorted.0 == column);
            Some((name, says, is_figure, sorted.map(|sorted| sorted.1)))
        })
    };
    let of = Memo::new(move |_| of());
    let sorted = move || {
        let falling = of.get().and_then(|of| of.3);
        match falling {
            Some(true) => "descending",
            Some(false) => "ascending",
            None => "none",
        }
    };
    view! {
        <div
            class="grid-cell"
            class:figure=move || of.get().is_some_and(|of| of.2)
            role="columnheader"
            aria-colindex=(column + 1).to_string()
            aria-sort=sorted
        >
            <button
                title=move || of.get().map(|of| of.1)
                on:click=move |_| does(TableDeed::Sort(column))
                on:keydown=|event| {
                    // Enter presses the button, and opens no row.
                    if event.key() == "Enter" {
                        event.stop_propagation();
                    }
                }
            >
                {move || of.get().map(|of| of.0)}
                <span class="arrow" aria-hidden="true">
                    {move || match sorted() {
                        "descending" => "▾",
                        "ascending" => "▴",
                        _ => "",
                    }}
                </span>
            </button>
        </div>
    }
}

fn row_of(
    row: &RowShown,
    active: Option<(usize, usize)>,
    figures: &[bool],
) -> impl IntoView + use<> {
    let RowShown {
        place,
        cells,
        is_selected,
    } = row.clone();
    let active = active.filter(|active| active.0 == place);
    let cells = cells.into_iter().zip(figures.iter().copied()).enumerate();
    let cells = cells.map(|(column, (cell, is_figure))| {
        let shown = cell.clone();
        view! {
            <div
                id=cell_id(place, column)
                class="grid-cell"
                class:figure=is_figure
                class:active=active.is_some_and(|active| active.1 == column)
                role="gridcell"
                aria-colindex=(column + 1).to_string()
                title=cell
            >
                {shown}
            </div>
        }
    });
    view! {
        <div
            class="grid-row"
            class:selected=is_selected
            class:active=active.is_some()
            role="row"
            aria-rowindex=(place + 2).to_string()
            aria-selected=is_selected.to_string()
            style:top=format!("{}px", place as f64 * row_px())
            on:click=move |_| does(TableDeed::Open(place))
        >
            {cells.collect_view()}
        </div>
    }
}
