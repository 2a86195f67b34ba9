//! The difference of one object between A and B: what its versions at both times have apart.

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use watchscope_timeline::between::DifferenceKind;

use super::bodies;
use crate::body::diff::Difference;
use crate::core::cursors::{BothBodies, Compared, RowShown};
use crate::core::person::Person;
use crate::runtime::page::{act, read};

/// The most letters of a value that every write changes. The rest of a longer one is left out.
const BOOKKEEPING_MOST: usize = 40;

/// Names the object that the person chose: its resource and its name.
pub(super) type Chosen = Option<(String, String)>;

/// What is known of the difference.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    /// The bodies are being fetched.
    Fetching,
    /// There is nothing to compare, for this reason.
    Not(String),
    /// These values differ.
    Differs(Vec<Difference>),
}

/// Returns the place of the row that is shown: of the chosen object, else of the selected lane, else the first.
pub(super) fn shown_place(rows: &[RowShown], chosen: &Chosen) -> usize {
    let by_name = chosen.as_ref().and_then(|(resource, name)| {
        let is_chosen = |row: &RowShown| (&row.resource, &row.name) == (resource, name);
        rows.iter().position(is_chosen)
    });
    let by_lane = || {
        let selected = read().pick.selected?;
        rows.iter().position(|row| row.lane == Some(selected))
    };
    by_name.or_else(by_lane).unwrap_or(0)
}

/// Shows the difference of the chosen object beside the rows.
#[component]
pub(super) fn ComparedObject(compared: Compared, chosen: RwSignal<Chosen>) -> impl IntoView {
    let rows = compared.0.clone();
    let place = Memo::new(move |_| chosen.with(|chosen| shown_place(&rows.rows, chosen)));
    let rows = compared.0.clone();
    move || {
        let place = place.get();
        rows.rows
            .get(place)
            .cloned()
            .map(|row| view! { <OneObject row place/> })
    }
}

#[component]
fn OneObject(row: RowShown, place: usize) -> impl IntoView {
    let known = RwSignal::new(Known::Fetching);
    match read().both_bodies(place) {
        BothBodies::Not(why) => known.set(Known::Not(why.to_owned())),
        BothBodies::At(both) => spawn_local(async move {
            let found = match bodies::compare_both(both).await {
                Ok(found) => Known::Differs(found),
                Err(why) => Known::Not(why),
            };
            // The person may have chosen another object since; then this one's signal is gone.
            known.try_set(found);
        }),
    }
    let (record, lane) = (row.record, row.lane);
    let is_parted = row.kind == DifferenceKind::Parted;
    view! {
        <aside class="compared-object" data-part="compared-object" aria-label="Object as this watch held it, A against B">
            <h3>"Object as this watch held it, A against B"</h3>
            <p class="compared-name" class:parted=is_parted>
                <span>{format!("{} {}", row.resource, row.name)}</span>
                {(record.is_some() || lane.is_some()).then(|| view! {
                    <button class="inline-action" data-part="compared-record" on:click=move |_| act(match (record, lane) {
                        (Some(record), _) => Person::ShowRecord(record),
                        (None, Some(lane)) => Person::OpenLane(lane),
                        (None, None) => return,
                    })>{if record.is_some() { "Show the record" } else { "Show the lane" }}</button>
                })}
            </p>
            {move || match known.get() {
                Known::Fetching => view! { <p class="prose soft">"Fetching both versions."</p> }.into_any(),
                Known::Not(why) => view! { <p class="prose">{why}</p> }.into_any(),
                Known::Differs(found) if found.is_empty() => view! { <p class="prose">"Nothing differs."</p> }.into_any(),
                Known::Differs(found) => view! { <Values found/> }.into_any(),
            }}
            {(!row.held_at_b.is_empty()).then(|| view! { <p class="prose">{row.held_at_b.clone()}</p> })}
        </aside>
    }
}

#[component]
fn Values(found: Vec<Difference>) -> impl IntoView {
    // managedFields would fill the panel.
    let value = |value: Option<String>, is_bookkeeping: bool| match value {
        Some(value) if is_bookkeeping && value.chars().count() > BOOKKEEPING_MOST => {
            let begin: String = value.chars().take(BOOKKEEPING_MOST).collect();
            format!("{begin}…")
        }
        value => value.unwrap_or_else(|| "–".to_owned()),
    };
    view! {
        <table class="difference">
            <thead><tr><th scope="col">"Path"</th><th scope="col">"at A"</th><th scope="col">"at B"</th></tr></thead>
            <tbody>
                {found.into_iter().map(|difference| view! {
                    <tr class:bookkeeping=difference.bookkeeping>
                        <td>{difference.path}</td>
                        <td class="before">{value(difference.before, difference.bookkeeping)}</td>
                        <td class="after">{value(difference.after, difference.bookkeeping)}</td>
                    </tr>
                }).collect_view()}
            </tbody>
        </table>
    }
}
