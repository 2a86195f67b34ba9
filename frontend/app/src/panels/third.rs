//! The third part of the page: the panels that a person opens. It is loaded when the first of them opens.

use std::cell::{Cell, RefCell};

use leptos::prelude::*;
use leptos::wasm_split::{SplitLoaderError, wasm_split};
use wasm_bindgen_futures::spawn_local;

use super::cursors::{CursorFlags, CursorsPanel};
use super::detail::DetailPanel;
use super::findings::FindingsPanel;
use super::lanes::{HiddenLanes, LanesBar};
use super::notes::NotesPanel;
use super::palette::Palette;
use super::range::RangeRow;
use super::replay::ReplayBar;
use super::search::SearchBar;
use super::signals::Signals;
use super::status::Help;
use super::tables::TablesPanel;
use super::watches::WatchesPanel;
use super::{bodies, focus, search, texts};
use crate::core::effect::Focus;
use crate::core::model::{Late, Model};
use crate::core::msg::Msg;
use crate::core::palette::PaletteDeed;
use crate::core::person::Person;
use crate::core::shown::ObjectPane;
use crate::runtime::page::{act, send};

/// A function that makes a panel's view.
type Panel = fn(Signals) -> AnyView;

/// The table of functions of the third part.
#[derive(Clone, Copy)]
pub(super) struct Third {
    pub(super) findings: Panel,
    pub(super) range: Panel,
    pub(super) replay: Panel,
    pub(super) watches: Panel,
    pub(super) lanes_bar: Panel,
    pub(super) hidden_lanes: Panel,
    pub(super) notes: Panel,
    pub(super) detail: Panel,
    pub(super) help: Panel,
    pub(super) search: Panel,
    pub(super) palette: Panel,
    pub(super) cursor_flags: Panel,
    pub(super) compared: Panel,
    pub(super) tables: Panel,
    late: Late,
    fetch_bodies: fn(u64, ObjectPane),
    fetch_texts: fn(),
    ask_search: fn(u64, &str, Option<&str>),
    end_search: fn(),
}

/// The cut: functions that only this one reaches are the third part.
#[wasm_split(third, wasm_split_path = leptos::wasm_split, fallible)]
fn third_part() -> Result<Third, SplitLoaderError> {
    Ok(Third {
        findings: |panels| view! { <FindingsPanel panels/> }.into_any(),
        range: |panels| view! { <RangeRow panels/> }.into_any(),
        replay: |panels| view! { <ReplayBar panels/> }.into_any(),
        watches: |panels| view! { <WatchesPanel panels/> }.into_any(),
        lanes_bar: |panels| view! { <LanesBar panels/> }.into_any(),
        hidden_lanes: |panels| view! { <HiddenLanes panels/> }.into_any(),
        notes: |panels| view! { <NotesPanel panels/> }.into_any(),
        detail: |panels| view! { <DetailPanel panels/> }.into_any(),
        help: |panels| view! { <Help panels/> }.into_any(),
        search: |panels| view! { <SearchBar panels/> }.into_any(),
        palette: |panels| view! { <Palette panels/> }.into_any(),
        cursor_flags: |panels| view! { <CursorFlags panels/> }.into_any(),
        compared: |panels| view! { <CursorsPanel panels/> }.into_any(),
        tables: |panels| view! { <TablesPanel panels/> }.into_any(),
        late: Late {
            palette: Model::do_with_palette,
            search: Model::do_with_search,
            cursors: Model::do_with_cursors,
            table: Model::do_with_table,
            why: Model::explain_selection,
            person: Model::person_of_panel,
            tick_lanes: Model::tick_lanes,
            tick_overview: Model::tick_overview,
        },
        fetch_bodies: bodies::fetch_for,
        fetch_texts: texts::ask,
        ask_search: search::ask,
        end_search: search::end,
    })
}

/// Requests that wait for the third part. A later request replaces an earlier one of its kind.
#[derive(Default)]
struct Waiting {
    bodies: Option<(u64, ObjectPane)>,
    texts: bool,
    focus: Option<Focus>,
}

thread_local! {
    /// Whether the third part is being loaded.
    static IS_LOADING: Cell<bool> = const { Cell::new(false) };
    /// The third part, once it is loaded.
    static THIRD: Cell<Option<Third>> = const { Cell::new(None) };
    static WAITING: RefCell<Waiting> = RefCell::default();
}

/// The places of the third part's panels.
#[derive(Clone, Copy)]
pub(super) struct LatePanels {
    panels: Signals,
    is_here: Trigger,
}

impl LatePanels {
    pub(super) fn new(panels: Signals) -> Self {
        let is_here = Trigger::new();
        Self { panels, is_here }
    }

    /// Loads the third part when one of its panels opens. A view calls this, because only a view can make an effect.
    pub(super) fn load_on_demand(self) {
        let Self { panels, is_here } = self;
        let open = Memo::new(move |_| {
            [
                panels.findings_open.get(),
                panels.watches_open.get(),
                panels.notes_open.get(),
                panels.help.get(),
                panels.palette.with(Option::is_some),
                panels.search.with(Option::is_some),
                panels.cursors.with(Option::is_some),
                panels.table.with(Option::is_some),
                panels.detail.with(Option::is_some),
                panels.range.with(Option::is_some),
                panels.replay.with(Option::is_some),
                panels
                    .lanes
                    .with(|lanes| lanes.is_bar || lanes.is_list_open),
            ]
        });
        Effect::new(move |_| {
            if open.get().contains(&true) && THIRD.get().is_none() {
                load(is_here);
            }
        });
    }

    /// Returns a panel's view, which is empty until the third part is loaded.
    pub(super) fn panel(self, panel: fn(Third) -> Panel) -> impl IntoView + use<> {
        move || {
            self.is_here.track();
            THIRD.get().map(|third| panel(third)(self.panels))
        }
    }
}

fn load(is_here: Trigger) {
    if IS_LOADING.replace(true) {
        return;
    }
    spawn_local(async move {
        match third_part().await {
            Ok(third) => {
                THIRD.set(Some(third));
                is_here.notify();
                send(Msg::Late(third.late));
                do_what_waits(third);
            }
            // The next panel that opens tries again.
            Err(_) => {
                WAITING.with_borrow_mut(|waiting| waiting.focus = None);
                // Help and palette count as closed, because the page's keys do nothing while one is open.
                act(Person::HelpClosed);
                act(Person::Palette(PaletteDeed::Closed));
                act(Person::Trouble(
                    "The panel could not be loaded. Is watchscope still there? Open the panel again.",
                ));
            }
        }
        IS_LOADING.set(false);
    });
}

fn do_what_waits(third: Third) {
    let Waiting {
        bodies,
        texts,
        focus,
    } = WAITING.take();
    if let Some((selection, pane)) = bodies {
        (third.fetch_bodies)(selection, pane);
    }
    if texts {
        (third.fetch_texts)();
    }
    // A person who has moved the focus meanwhile, to the filter for example, keeps it there.
    if let Some(focus) = focus
        && focus::is_free()
    {
        focus::focus_soon(focus);
    }
}

/// Fetches the body of a change and of the previous version. Without the third part, the request waits for it.
pub(super) fn fetch_bodies(selection: u64, pane: ObjectPane) {
    match THIRD.get() {
        Some(third) => (third.fetch_bodies)(selection, pane),
        None => WAITING.with_borrow_mut(|waiting| waiting.bodies = Some((selection, pane))),
    }
}

/// Fetches the texts of the failure catalogue, unless they are loaded. Without the third part, the request waits for
/// it.
pub(super) fn fetch_texts() {
    match THIRD.get() {
        Some(third) => (third.fetch_texts)(),
        None => WAITING.with_borrow_mut(|waiting| waiting.texts = true),
    }
}

/// Requests hits of the server. The field of the search is in the third part, so that part is loaded when it opens.
pub(super) fn search(number: u64, text: &str, before: Option<&str>) {
    if let Some(third) = THIRD.get() {
        (third.ask_search)(number, text, before);
    }
}

/// Ends the request of the search.
pub(super) fn end_search() {
    if let Some(third) = THIRD.get() {
        (third.end_search)();
    }
}

/// Gives the focus to an element once it is drawn. An element of the third part gets it when that part is loaded.
pub(super) fn focus_once_here(focus: Focus) {
    if THIRD.get().is_none() {
        let waits = Some(focus).filter(|focus| *focus != Focus::Picture);
        WAITING.with_borrow_mut(|waiting| waiting.focus = waits);
    }
    focus::focus_soon(focus);
}
