//! The third part of the page: the panels that a person opens. It is loaded when the first of them opens.

use std::cell::{Cell, RefCell};

use leptos::prelude::*;
use leptos::wasm_split::{SplitLoaderError, wasm_split};
use wasm_bindgen_futures::spawn_local;
use watchscope_model::Time;

use super::captions::{self, Captions};
use super::cursors::{self, AToB, CursorFlags, CursorsPanel};
use super::detail::DetailPanel;
use super::export::Dialog;
use super::findings::FindingsPanel;
use super::lanes::{HiddenLanes, LanesBar};
use super::lesson::{LessonHead, LessonOver, LessonPanels};
use super::notes::NotesPanel;
use super::palette::Palette;
use super::range::RangeRow;
use super::replay::ReplayBar;
use super::search::SearchBar;
use super::signals::Signals;
use super::status::Help;
use super::tables::TablesPanel;
use super::watches::WatchesPanel;
use super::{bodies, export, focus, lesson, search, signals, texts};
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
    pub(super) over_picture: Panel,
    pub(super) compared: Panel,
    pub(super) tables: Panel,
    pub(super) lesson_head: Panel,
    pub(super) lesson: Panel,
    late: &'static Late,
    show: fn(&Model),
    drawn: fn(),
    fetch_bodies: fn(u64, ObjectPane),
    fetch_texts: fn(),
    ask_search: fn(u64, &str, Option<&str>),
    end_search: fn(),
    open_dialog: fn(Dialog),
    hand_range: fn(&Model, Time, Time),
    refuse_range: fn(&str),
    offer_lesson: fn(),
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
        over_picture: |panels| {
            view! { <CursorFlags panels/><AToB panels/><Captions panels/><LessonOver/> }.into_any()
        },
        compared: |panels| view! { <CursorsPanel panels/> }.into_any(),
        tables: |panels| view! { <TablesPanel panels/> }.into_any(),
        lesson_head: |panels| view! { <LessonHead panels/> }.into_any(),
        lesson: |_| view! { <LessonPanels/> }.into_any(),
        late: &Late::ALL,
        show: signals::show_late,
        drawn: || {
            cursors::drawn();
            captions::drawn();
            lesson::drawn();
        },
        fetch_bodies: bodies::fetch_for,
        fetch_texts: texts::ask,
        ask_search: search::ask,
        end_search: search::end,
        open_dialog: export::open,
        hand_range: export::hand,
        refuse_range: export::refuse,
        offer_lesson: lesson::offer,
    })
}

/// Requests that wait for the third part. A later request replaces an earlier one of its kind.
#[derive(Default)]
struct Waiting {
    bodies: Option<(u64, ObjectPane)>,
    texts: bool,
    focus: Option<Focus>,
    dialog: Option<Dialog>,
    lesson: bool,
}

thread_local! {
    /// Whether the third part is being loaded.
    static IS_LOADING: Cell<bool> = const { Cell::new(false) };
    /// The third part, once it is loaded.
    static THIRD: Cell<Option<Third>> = const { Cell::new(None) };
    /// Which panels of the third part were open at the last look, before that part was loaded.
    static OPEN: Cell<[bool; PANELS]> = const { Cell::new([false; PANELS]) };
    /// Tells the panels' places that the third part is loaded.
    static IS_HERE: Cell<Option<Trigger>> = const { Cell::new(None) };
    static WAITING: RefCell<Waiting> = RefCell::default();
}

/// The places of the third part's panels.
#[derive(Clone, Copy)]
pub(super) struct LatePanels {
    panels: Signals,
    is_here: Trigger,
}

impl LatePanels {
    /// Returns the places. Only an owner of signals can make them.
    pub(super) fn new(panels: Signals) -> Self {
        let is_here = Trigger::new();
        IS_HERE.set(Some(is_here));
        // The captions of a first visit are in that part.
        if captions::is_wanted() && !lesson::is_on() {
            load();
        }
        Self { panels, is_here }
    }

    /// Returns a panel's view, which is empty until the third part is loaded.
    pub(super) fn panel(self, panel: fn(Third) -> Panel) -> impl IntoView + use<> {
        move || {
            self.is_here.track();
            THIRD.get().map(|third| panel(third)(self.panels))
        }
    }
}

/// Shows the contents of the third part's panels. Without that part, loads it when one of them opens. If that failed,
/// the next panel that opens tries again.
pub(super) fn show(model: &Model) {
    if let Some(third) = THIRD.get() {
        (third.show)(model);
        return;
    }
    let open = open_panels(model);
    if OPEN.replace(open) != open && open.contains(&true) {
        load();
    }
}

/// The number of conditions under which a panel of the third part is open.
const PANELS: usize = 13;

fn open_panels(model: &Model) -> [bool; PANELS] {
    let (shown, panels) = (&model.shown, &model.panels);
    [
        panels.findings_open,
        panels.watches_open,
        panels.notes.is_open,
        panels.help,
        shown.palette.is_some(),
        shown.search.is_some(),
        shown.cursors.is_some(),
        shown.table.is_some(),
        shown.detail.is_some(),
        model.marked.range.is_some(),
        shown.replay.is_some(),
        shown.lanes.is_bar,
        shown.lanes.is_list_open,
    ]
}

fn load() {
    if IS_LOADING.replace(true) {
        return;
    }
    spawn_local(async move {
        match third_part().await {
            Ok(third) => {
                THIRD.set(Some(third));
                if let Some(is_here) = IS_HERE.get() {
                    is_here.notify();
                }
                send(Msg::Late(third.late));
                do_what_waits(third);
            }
            // The next panel that opens tries again.
            Err(_) => {
                WAITING.with_borrow_mut(|waiting| (waiting.focus, waiting.dialog) = (None, None));
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
        dialog,
        lesson,
    } = WAITING.take();
    if lesson {
        (third.offer_lesson)();
    }
    if let Some(dialog) = dialog {
        (third.open_dialog)(dialog);
    }
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

/// Moves the third part's elements over the picture, after it was painted.
pub(super) fn drawn() {
    if let Some(third) = THIRD.get() {
        (third.drawn)();
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

/// Aborts the search's HTTP request, if one is under way.
pub(super) fn end_search() {
    if let Some(third) = THIRD.get() {
        (third.end_search)();
    }
}

/// Opens a dialog of exports or charts. Without the third part, loads it, and the dialog waits for it.
pub(super) fn open_dialog(dialog: Dialog) {
    match THIRD.get() {
        Some(third) => (third.open_dialog)(dialog),
        None => {
            WAITING.with_borrow_mut(|waiting| waiting.dialog = Some(dialog));
            load();
        }
    }
}

/// Hands the records of a range to the dialog that requested them. Dialogs open with the third part.
pub(super) fn hand_range(model: &Model, from: Time, to: Time) {
    if let Some(third) = THIRD.get() {
        (third.hand_range)(model, from, to);
    }
}

/// Reports to the dialog why it gets no records.
pub(super) fn refuse_range(why: &str) {
    if let Some(third) = THIRD.get() {
        (third.refuse_range)(why);
    }
}

/// Loads the third part, and then offers the page's functions to the lesson.
pub(super) fn offer_lesson() {
    WAITING.with_borrow_mut(|waiting| waiting.lesson = true);
    load();
}

/// Gives the focus to an element once it is drawn. An element of the third part gets it when that part is loaded.
pub(super) fn focus_once_here(focus: Focus) {
    if THIRD.get().is_none() {
        let waits = Some(focus).filter(|focus| *focus != Focus::Picture);
        WAITING.with_borrow_mut(|waiting| waiting.focus = waits);
    }
    focus::focus_soon(focus);
}
