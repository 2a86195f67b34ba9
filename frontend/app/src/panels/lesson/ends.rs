//! The table of the ends of watches: on the wire, in the log of a Go program, and in the channel that the program reads.

use leptos::prelude::*;
use watchscope_model::wire::player::EndNow;

use super::shown::mirrors;
use crate::core::lesson::tenths;

/// The table, with the newest end last.
#[component]
pub(super) fn Ends() -> impl IntoView {
    let shown = mirrors();
    let ends = Memo::new(move |_| {
        shown
            .beside
            .with(|beside| (beside.begin, beside.ends.clone()))
    });
    let rows = move || {
        ends.with(|(begin, ends)| {
            let row = |end: &EndNow| row(end, end.at.micros_since(*begin));
            ends.iter().map(row).collect_view()
        })
    };
    view! {
        <section class="ends" aria-label="What the channel got">
            <h3>"What the channel got"</h3>
            <table>
                <thead>
                    <tr>
                        <th scope="col">"at"</th>
                        <th scope="col">"on the wire"</th>
                        <th scope="col">"log"</th>
                        <th scope="col">"channel"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
}

fn row(end: &EndNow, at_us: i64) -> impl IntoView + use<> {
    let line = if end.line.is_empty() {
        "no line".to_owned()
    } else {
        end.line.clone()
    };
    let error = end.error.map(|code| {
        view! { <span class="wrong">{format!("ERROR {code},")}</span>" " }
    });
    view! {
        <tr>
            <td>{tenths(at_us)}</td>
            <th scope="row">{end.wire.clone()}<small>{end.who.clone()}</small></th>
            <td class:soft=end.line.is_empty()>{line}</td>
            <td>{error}"closed"</td>
        </tr>
    }
}
