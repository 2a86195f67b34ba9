//! The messages between clients and servers, as the records have them.

use leptos::html::Section;
use leptos::prelude::*;
use watchscope_model::wire::player::WireLine;

use super::shown::{call, mirrors};
use crate::core::lesson::tenths;

/// The list of messages.
#[component]
pub(super) fn Wire() -> impl IntoView {
    let shown = mirrors();
    let section = NodeRef::<Section>::new();
    let lines = Memo::new(move |_| shown.beside.with(|beside| beside.wire.clone()));
    Effect::new(move |_| {
        lines.with(|_| ());
        if let Some(section) = section.get() {
            // The lines are drawn in the same turn.
            queue_microtask(move || call("toEnd", &section));
        }
    });
    let has_wire = Memo::new(move |_| shown.has(|passage| passage.has_wire));
    let begin = move || {
        shown
            .now
            .with_untracked(|now| now.as_ref().map(|now| now.begin))
    };
    view! {
        <section class="lesson-wire" class:unneeded=move || !has_wire.get() aria-label="On the wire" tabindex="0" node_ref=section>
            <h3>"On the wire" <span class="quiet">"what each client asked and was answered"</span></h3>
            <ol>
                {move || {
                    let begin = begin();
                    let line = |line: &WireLine| {
                        let at_us = begin.map_or(0, |begin| line.at.micros_since(begin));
                        row(line, at_us)
                    };
                    lines.with(|lines| lines.iter().map(line).collect_view())
                }}
            </ol>
        </section>
    }
}

fn row(line: &WireLine, at_us: i64) -> impl IntoView + use<> {
    // A watch of watchscope is named by the resource that it watches.
    let short = if line.who.contains('/') {
        "watchscope"
    } else {
        &*line.who
    };
    let (arrow, label) = if line.asks {
        ("→", "sends")
    } else {
        ("←", "receives")
    };
    view! {
        <li class:wrong=line.is_error class:asks=line.asks && !line.is_error>
            <span class="quiet">{tenths(at_us)}</span>
            <b title=line.who.clone()>{short.to_owned()}</b>
            <span class="quiet" aria-label=label>{arrow}</span>
            <code>{line.words.clone()}</code>
        </li>
    }
}
