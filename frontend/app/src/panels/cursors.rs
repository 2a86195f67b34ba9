//! The flags of A and B on the ruler, the row between them, and the panel that compares both times.

use std::cell::Cell;

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use watchscope_timeline::between::{DifferenceKind, Holding};
use watchscope_timeline::format;
use web_sys::{HtmlElement, PointerEvent};

use super::compared_object::{Chosen, ComparedObject, shown_place};
use super::events::{grip, grip_detail};
use super::mirror::Mirror;
use super::signals::Signals;
use crate::core::cursors::{
    Compared, ComparedShown, Cursor, CursorDeed, FlagShown, RowShown, Span,
};
use crate::core::person::Person;
use crate::runtime::page::{act, elements, read};

/// Estimated width of a letter of the row from A to B, in px.
const LETTER_PX: f64 = 6.2;

thread_local! {
    /// The line between A and B, once the third part is loaded.
    static SPAN: Cell<Option<Mirror<Option<Span>>>> = const { Cell::new(None) };
}

/// Moves the line between A and B after the picture was painted.
pub(super) fn drawn() {
    if let Some(mirror) = SPAN.get() {
        let span = read().cursors_span();
        if mirror.with_untracked(|known| *known != span) {
            mirror.set(span);
        }
    }
}

fn deed(deed: CursorDeed) {
    act(Person::Cursors(deed));
}

fn name(cursor: Cursor) -> &'static str {
    match cursor {
        Cursor::A => "A",
        Cursor::B => "B",
    }
}

/// The flags: the canvas draws them, and these elements take pointers and keys.
#[component]
pub(super) fn CursorFlags(panels: Signals) -> impl IntoView {
    let flag = move |cursor: Cursor| {
        let flag = Memo::new(move |_| {
            panels.cursors.with(|shown| {
                let flags = shown.as_ref().map(|shown| shown.flags.as_slice());
                let of = |flag: &&FlagShown| flag.cursor == cursor;
                flags.unwrap_or_default().iter().find(of).cloned()
            })
        });
        // The element stays while its flag moves, so that it keeps pointer and focus.
        let is_set = Memo::new(move |_| flag.with(Option::is_some));
        move || is_set.get().then(|| view! { <Flag cursor flag/> })
    };
    view! { {flag(Cursor::A)}{flag(Cursor::B)} }
}

#[component]
fn Flag(cursor: Cursor, flag: Memo<Option<FlagShown>>) -> impl IntoView {
    let clock = move || flag.with(|flag| flag.as_ref().map(|flag| flag.clock.clone()));
    let left = move || {
        let px = flag.with(|flag| flag.as_ref().and_then(|flag| flag.left_px));
        px.map(|px| format!("{}px", elements().canvas.offset_left() + px))
    };
    view! {
        <button
            class="cursor-flag"
            data-part=format!("cursor-{}", name(cursor))
            role="slider"
            aria-label=format!("Cursor {}", name(cursor))
            aria-valuetext=clock
            title="Drag it. Arrow keys move it by 1 px, , and . to the record before and after"
            hidden=move || left().is_none()
            style:left=move || left().unwrap_or_default()
            on:pointerdown=move |event: PointerEvent| {
                // The grip keeps the browser from giving the focus.
                let pressed_on = event.current_target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
                if let Some(element) = pressed_on {
                    let _ = element.focus();
                }
                let pressed = f64::from(event.client_x());
                let at = flag.get_untracked().and_then(|flag| flag.left_px).unwrap_or(0);
                // The time of A is at the right edge of its flag, that of B at the left one.
                let edge = if cursor == Cursor::A { 73 } else { 0 };
                let from = f64::from(at + edge) - pressed;
                grip(
                    &event,
                    move |event| deed(CursorDeed::Drag(cursor, f64::from(event.client_x()) + from)),
                    || {},
                );
            }
            on:keydown=move |event| {
                let moved = match event.key().as_str() {
                    "ArrowLeft" => CursorDeed::Nudge(cursor, -1.0),
                    "ArrowRight" => CursorDeed::Nudge(cursor, 1.0),
                    "," => CursorDeed::Step(cursor, false),
                    "." => CursorDeed::Step(cursor, true),
                    _ => return,
                };
                event.prevent_default();
                event.stop_propagation();
                deed(moved);
            }
        ></button>
    }
}

/// The row under the ruler, while both times are set: how long it is from A to B, and what came, went and changed.
#[component]
pub(super) fn AToB(panels: Signals) -> impl IntoView {
    let span = Mirror::new(None);
    SPAN.set(Some(span));
    let compared = Memo::new(move |_| {
        panels
            .cursors
            .with(|shown| shown.as_ref()?.compared.clone())
    });
    move || {
        compared
            .get()
            .map(|compared| view! { <RowFromAToB compared span/> })
    }
}

#[component]
fn RowFromAToB(compared: Compared, span: Mirror<Option<Span>>) -> impl IntoView {
    let compared = compared.0;
    let unknown = compared.unknown.clone();
    let letters = {
        let head = compared
            .head
            .iter()
            .map(|part| part.words.chars().count() + 2);
        let unknown = unknown.as_ref().map_or(0, |why| why.chars().count());
        let words = [&compared.span, &compared.versions].map(|words| words.chars().count());
        words.iter().sum::<usize>() + unknown + head.sum::<usize>()
    };
    let words_px = letters as f64 * LETTER_PX + 46.0;
    let of = move |get: fn(Span) -> f64| span.with(|span| span.map(get)).unwrap_or_default();
    let words_left = move || {
        let picture_px = f64::from(elements().canvas.offset_width());
        let span = span.with(|span| *span);
        span.map_or(0.0, |span| span.words_left_px(words_px, picture_px))
    };
    view! {
        <section class="range-row ab-row" data-part="from-a-to-b" aria-label="From A to B">
            <span class="range-name"><b>"From A to B"</b><span class="quiet">"Esc drops B"</span></span>
            <div class="ab-lanes">
                <i
                    class="ab-line"
                    aria-hidden="true"
                    hidden=move || span.with(Option::is_none)
                    style:left=move || format!("{}px", of(|span| span.left_px) as i32)
                    style:width=move || format!("{}px", of(|span| span.right_px - span.left_px) as i32)
                ></i>
                <span class="ab-words" style:left=move || format!("{}px", words_left() as i32)>
                    <b>{compared.span.clone()}</b>
                    {unknown.map(|why| view! { <span>{why}</span> })}
                    <span>{compared.head.iter().enumerate().map(|(place, part)| {
                        let comma = if place > 0 { ", " } else { "" };
                        view! { {comma}<span class:parted=part.is_parted>{part.words.clone()}</span> }
                    }).collect_view()}</span>
                    {(!compared.versions.is_empty()).then(|| view! { <span class="quiet">{compared.versions.clone()}</span> })}
                </span>
            </div>
        </section>
    }
}

/// Returns what the head of the panel says besides the differences.
fn about(compared: &ComparedShown) -> String {
    let parts = [&compared.span, &compared.versions, &compared.rest];
    let said = parts.into_iter().map(String::as_str);
    let said: Vec<&str> = said.filter(|part| !part.is_empty()).collect();
    said.join("  ·  ")
}

/// The panel, while both times are set. A selection puts the detail before it.
#[component]
pub(super) fn CursorsPanel(panels: Signals) -> impl IntoView {
    // It outlives the panel, so that the chosen object stays while a cursor moves.
    let chosen = RwSignal::new(Chosen::default());
    let compared = Memo::new(move |_| {
        panels.cursors.with(|shown| {
            let shown = shown.as_ref()?;
            let is_seen = shown.is_front || panels.detail.with(Option::is_none);
            shown.compared.clone().filter(|_| is_seen)
        })
    });
    move || {
        let is_other = panels.watches_open.get()
            || panels.notes_open.get()
            || panels.table.with(Option::is_some);
        compared
            .get()
            .filter(|_| !is_other)
            .map(|compared| view! { <Panel compared panels chosen/> })
    }
}

#[component]
fn Panel(compared: Compared, panels: Signals, chosen: RwSignal<Chosen>) -> impl IntoView {
    let compared = compared.0;
    let flags = panels.cursors.with_untracked(|shown| {
        let flags = shown.as_ref().map(|shown| shown.flags.clone());
        flags.unwrap_or_default()
    });
    let badges = flags.into_iter().map(|flag| {
        view! { <span class="cursor-badge">{format!("{} {}", name(flag.cursor), flag.clock)}</span> }
    });
    view! {
        <section class="detail compared" data-part="compared" aria-label="A and B">
            <div class="detail-grip" aria-hidden="true" on:pointerdown=|event| grip_detail(&event)></div>
            <div class="detail-head">
                <h2>"A and B"</h2>
                {badges.collect_view()}
                <span class="quiet">"or with "
                    <button class="inline-action" on:click=|_| deed(CursorDeed::WithNow)>"now"</button>
                </span>
                <span class="head-words" role="status" data-part="compared-head">
                    {compared.unknown.clone().map(|why| view! { <b>{why}</b> })}
                    {compared.head.iter().enumerate().map(|(place, part)| {
                        let comma = if place > 0 { ", " } else { "" };
                        view! { {comma}<span class:parted=part.is_parted>{part.words.clone()}</span> }
                    }).collect_view()}
                </span>
                <span class="what">{about(&compared)}</span>
                <span class="space"></span>
                <button class="close" aria-label="Close" on:click=|_| deed(CursorDeed::Clear)>"×"</button>
            </div>
            <div class="compared-body" class:alone=compared.rows.is_empty()>
            <div class="detail-body" tabindex="0" role="region" aria-label="What is different">
                {(!compared.unlisted.is_empty()).then(|| view! {
                    <p class="prose soft">{format!("Not compared, because they had no list at A or at B: {}.", compared.unlisted)}</p>
                })}
                {(!compared.rows.is_empty()).then(|| view! { <Rows compared=Compared(compared.clone()) chosen/> })}
            </div>
            {(!compared.rows.is_empty()).then(|| view! { <ComparedObject compared=Compared(compared.clone()) chosen/> })}
            </div>
        </section>
    }
}

#[component]
fn Rows(compared: Compared, chosen: RwSignal<Chosen>) -> impl IntoView {
    let all = compared.0.clone();
    let shown = Memo::new(move |_| chosen.with(|chosen| shown_place(&all.rows, chosen)));
    let ComparedShown {
        sides, rows, more, ..
    } = &*compared.0;
    let more = *more;
    view! {
        <table class="differences">
            <thead>
                <tr>
                    <th scope="col" rowspan="2" colspan="3">"What is different"</th>
                    <th scope="col" rowspan="2" class="figure">"at A"</th>
                    <th scope="col" rowspan="2" class="figure">"at B"</th>
                    <th scope="col" rowspan="2">"last changed by"</th>
                    {sides.iter().map(|side| view! {
                        <th scope="colgroup" colspan="2" class="side" title=side.clone()>{side.clone()}</th>
                    }).collect_view()}
                </tr>
                <tr>{sides.iter().map(|_| view! {
                    <th scope="col" class="side">"A"</th><th scope="col" class="side-b">"B"</th>
                }).collect_view()}</tr>
            </thead>
            <tbody>{rows.iter().enumerate().map(|(place, row)| view! { <Row row=row.clone() place shown chosen/> }).collect_view()}</tbody>
        </table>
        {(more > 0).then(|| view! { <p class="prose soft">{format!("and {} more", format::number(more))}</p> })}
        <p class="differences-key quiet">
            <span><i class="held"></i>" held"</span>
            <span><i class="held pale"></i>" held at both"</span>
            <span>"– not held"</span>
            <span>"? no record can tell"</span>
        </p>
    }
}

#[component]
fn Row(row: RowShown, place: usize, shown: Memo<usize>, chosen: RwSignal<Chosen>) -> impl IntoView {
    let RowShown {
        kind,
        group,
        how,
        resource,
        name,
        versions,
        by,
        held,
        ..
    } = row;
    let names = (resource.clone(), name.clone());
    let [a, b] = versions;
    let is_first = !group.is_empty();
    view! {
        <tr class:first=is_first class:parted=kind == DifferenceKind::Parted class:shown=move || shown.get() == place>
            <td class="group">{group}</td>
            <td class="quiet">{resource}</td>
            <th scope="row">
                <button
                    class="inline-action"
                    aria-pressed=move || (shown.get() == place).to_string()
                    title="Show how it differs"
                    on:click=move |_| chosen.set(Some(names.clone()))
                >{name}</button>
                {(!how.is_empty()).then(|| view! { " "<span class="how">{how}</span> })}
            </th>
            <td class="figure">{a}</td>
            <td class="figure">{b}</td>
            <td class="by">{by}</td>
            {held.into_iter().map(|[a, b]| {
                let is_both = a == Holding::Held && b == Holding::Held;
                view! { <Cell held=a is_both is_b=false/><Cell held=b is_both is_b=true/> }
            }).collect_view()}
        </tr>
    }
}

#[component]
fn Cell(held: Holding, is_both: bool, is_b: bool) -> impl IntoView {
    let (sign, words) = match held {
        Holding::Held => ("", "held"),
        Holding::NotHeld => ("–", "not held"),
        Holding::Ghost => ("", "ghost: held, not in etcd"),
        Holding::NotWatched => ("", "not watched"),
        Holding::Unknown => ("?", "no record can tell"),
    };
    let has_square = matches!(held, Holding::Held | Holding::Ghost);
    view! {
        <td class=if is_b { "side-b" } else { "side" } class:ghost=held == Holding::Ghost title=words>
            {has_square.then(|| view! { <i class="held" class:pale=is_both></i> })}
            <span aria-hidden="true">{sign}</span>
            <span class="unseen">{words}</span>
        </td>
    }
}
