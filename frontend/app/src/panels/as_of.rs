//! The moment for which a panel answers, and the way back to now.

use leptos::prelude::*;

use super::focus::focus_picture;
use super::signals::Signals;
use crate::core::person::Person;
use crate::input::actions::Action;
use crate::runtime::page::act;

/// Shows the moment for which a panel answers, a link to now, and why the state then is unknown. Shows nothing for now.
#[component]
pub(super) fn AsOf(panels: Signals) -> impl IntoView {
    move || {
        panels.as_of.get().map(|as_of| {
            let end = if as_of.is_range {
                ", the end of the range"
            } else {
                ""
            };
            view! {
                <span class="as-of" data-part="panel-as-of">
                    {format!("as of {}{end}", as_of.clock)}
                    {as_of.unknown.map(|why| view! { ". " <b>{why}</b> })}
                </span>
                <ToNow panels/>
            }
        })
    }
}

/// Leads back to now. A recording has no now: there it leads to the end. Shows nothing where a panel answers for now.
#[component]
pub(super) fn ToNow(panels: Signals) -> impl IntoView {
    move || {
        panels.as_of.with(Option::is_some).then(|| {
            view! {
                <button
                    class="inline-action to-now"
                    data-part="to-now"
                    title="Answer for now, and follow it; in a recording: for its end"
                    on:click=|_| {
                        // The end of a marked range takes precedence over now.
                        act(Person::ClearRange);
                        act(Person::Act(Action::Follow));
                        // The link is gone then.
                        focus_picture();
                    }
                >
                    "now"
                </button>
            }
        })
    }
}
