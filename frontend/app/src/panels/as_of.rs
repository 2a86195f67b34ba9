//! The moment for which a panel answers.

use leptos::prelude::*;

use super::signals::Signals;

/// Shows the moment for which a panel answers, and why the state then is unknown. Shows nothing for now.
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
            }
        })
    }
}
