//! The table of the selected finding's evidence. Its numbers are those of the tags in the picture.

use leptos::prelude::*;
use watchscope_timeline::RecordId;
use watchscope_timeline::evidence::{Evidence, Item};
use watchscope_timeline::format::number;
use watchscope_timeline::words::severity_token;

use super::signals::Signals;
use crate::core::person::Person;
use crate::runtime::page::act;

/// Shows the table. Pointing at a row lights the row and its tag.
#[component]
pub(super) fn EvidenceTable(evidence: Evidence, panels: Signals) -> impl IntoView {
    let (finding, ink) = (evidence.finding, severity_token(evidence.severity).name());
    let rows = (1..).zip(evidence.items).map(|(place, item)| {
        let seq = number(item.record.seq.0);
        let [time, lane, what] = item.words.clone();
        let cells = view! {
            <td>{time}</td>
            <td class="of">{lane}</td>
            <td class="what">{what}</td>
            <td class="figure">{seq}</td>
        };
        let label = format!("Evidence {place}: show the record");
        view! { <TagRow finding ink place item label panels>{cells}</TagRow> }
    });
    view! {
        <table class="evidence">
            <thead class="unseen"><tr>
                <th scope="col">"Number"</th>
                <th scope="col">"Time"</th>
                <th scope="col">"Lane"</th>
                <th scope="col">"What"</th>
                <th scope="col">"seq"</th>
            </tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
}

/// Shows a row whose number is that of a tag in the picture. Pointing at the row lights both; a click on the number goes
/// there.
#[component]
pub(super) fn TagRow(
    finding: RecordId,
    ink: &'static str,
    place: u64,
    item: Item,
    label: String,
    panels: Signals,
    children: Children,
) -> impl IntoView {
    let (id, is_here) = (item.record, item.place.is_some());
    let light = |record| act(Person::Light(record));
    let show = move |_| {
        act(Person::ShowEvidence {
            finding,
            record: id,
            since: None,
        });
    };
    view! {
        <tr
            class:lit=move || panels.lit.get() == Some(id)
            on:pointerenter=move |_| light(Some(id))
            on:pointerleave=move |_| light(None)
        >
            <td>
                <button
                    class=format!("tag {ink}")
                    aria-label=label
                    disabled=!is_here
                    on:click=show
                    on:focus=move |_| light(Some(id))
                    on:blur=move |_| light(None)
                >
                    {number(place)}
                </button>
            </td>
            {children()}
        </tr>
    }
}
