//! The flags of A and B on the ruler, and the panel that compares both times.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use watchscope_timeline::between::{DifferenceKind, Holding};
use watchscope_timeline::format;
use web_sys::{HtmlElement, PointerEvent};

use super::events::{grip, grip_detail};
use super::signals::Signals;
use crate::core::cursors::{Compared, ComparedShown, Cursor, CursorDeed, FlagShown, RowShown};
use crate::core::person::Person;
use crate::runtime::page::{act, elements};

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

/// The panel, while both times are set. A selection puts the detail before it.
#[component]
pub(super) fn CursorsPanel(panels: Signals) -> impl IntoView {
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
            .map(|compared| view! { <Panel compared panels/> })
    }
}

#[component]
fn Panel(compared: Compared, panels: Signals) -> impl IntoView {
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
                <span class="what">{[compared.span.clone(), compared.rest.clone()].join("  ·  ").trim_end_matches("  ·  ").to_owned()}</span>
                <span class="space"></span>
                <button class="close" aria-label="Close" on:click=|_| deed(CursorDeed::Clear)>"×"</button>
            </div>
            <div class="detail-body" tabindex="0" role="region" aria-label="What is different">
                {(!compared.unlisted.is_empty()).then(|| view! {
                    <p class="prose soft">{format!("Not compared, because they had no list at A or at B: {}.", compared.unlisted)}</p>
                })}
                {(!compared.rows.is_empty()).then(|| view! { <Rows compared=Compared(compared.clone())/> })}
            </div>
        </section>
    }
}

#[component]
fn Rows(compared: Compared) -> impl IntoView {
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
            <tbody>{rows.iter().map(|row| view! { <Row row=row.clone()/> }).collect_view()}</tbody>
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
fn Row(row: RowShown) -> impl IntoView {
    let RowShown {
        kind,
        group,
        how,
        resource,
        name,
        lane,
        record,
        versions,
        by,
        held,
    } = row;
    let [a, b] = versions;
    let is_first = !group.is_empty();
    view! {
        <tr class:first=is_first class:parted=kind == DifferenceKind::Parted>
            <td class="group">{group}</td>
            <td class="quiet">{resource}</td>
            <th scope="row">
                {match (record, lane) {
                    (Some(record), _) => view! {
                        <button class="inline-action" on:click=move |_| act(Person::ShowRecord(record))>{name}</button>
                    }.into_any(),
                    (None, Some(lane)) => view! {
                        <button class="inline-action" on:click=move |_| act(Person::OpenLane(lane))>{name}</button>
                    }.into_any(),
                    (None, None) => name.into_any(),
                }}
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
