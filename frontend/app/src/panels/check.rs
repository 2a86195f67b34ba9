//! The button that compares a watch, or one of its objects, with the cluster, and the result.

use leptos::prelude::*;
use watchscope_timeline::words::{Check, Checked};

use super::signals::Signals;
use crate::core::person::Person;
use crate::core::shown::{Checking, NOTHING_CAME};
use crate::runtime::page::act;

/// Shows the button and its result.
#[component]
pub(super) fn CheckNow(check: Check, panels: Signals) -> impl IntoView {
    let lane = check.lane;
    let offer = check.offer;
    let state = move || {
        let Checking::Of {
            lane: of,
            found,
            is_over,
        } = panels.checking.get()
        else {
            return ().into_any();
        };
        if of != lane {
            return ().into_any();
        }
        let Some(Checked {
            record,
            words,
            so_far,
        }) = found
        else {
            let words = if is_over {
                NOTHING_CAME
            } else {
                "Comparing…"
            };
            return view! { <span class="quiet">{words}</span> }.into_any();
        };
        let going = (!is_over).then(|| view! { <span class="quiet">"Still comparing: "</span> });
        view! {
            {going}
            <button
                class="inline-action"
                title="Show the record"
                on:click=move |_| act(Person::ShowRecord(record))
            >
                {if is_over { words } else { so_far }}
            </button>
        }
        .into_any()
    };
    view! {
        <span class="check">
            <button
                class="control"
                title="Compares it with etcd at one resourceVersion"
                on:click=move |_| act(Person::Compare(lane))
            >
                {offer}
            </button>
            {state}
        </span>
    }
}
