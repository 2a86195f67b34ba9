//! The beliefs of all layers at the cursor: a sentence for each, and a table of the objects that marks the differences.

use leptos::prelude::*;
use watchscope_timeline::inside::beliefs::{BeliefRow, BeliefTable};

/// The tab of the detail panel.
#[component]
pub(super) fn BeliefsTab(beliefs: BeliefTable) -> impl IntoView {
    let BeliefTable {
        of,
        at,
        sentences,
        columns,
        rows,
        more,
    } = beliefs;
    view! {
        <div class="columns sides">
            <div>
                <h3>{format!("{of}, at {at}")}</h3>
                {sentences.into_iter().map(|sentence| view! {
                    <p class="prose" class:differs=sentence.differs>{sentence.words}</p>
                }).collect_view()}
            </div>
            <div class="wide">
                <table class="difference">
                    <thead>
                        <tr>
                            <th scope="col">"Object"</th>
                            {columns.into_iter().map(|name| view! { <th scope="col">{name}</th> }).collect_view()}
                        </tr>
                    </thead>
                    <tbody>{rows.into_iter().map(|row| view! { <Row row/> }).collect_view()}</tbody>
                </table>
                {(more > 0).then(|| view! {
                    <p class="prose soft">{format!("and {more} more")}</p>
                })}
            </div>
        </div>
    }
}

#[component]
fn Row(row: BeliefRow) -> impl IntoView {
    view! {
        <tr>
            <th scope="row">{row.name}</th>
            {row.cells.into_iter().map(|cell| {
                let word = cell.difference.map(|difference| difference.word());
                view! {
                    <td class:differs=word.is_some()>
                        {cell.words}
                        {word.map(|word| view! { " " <b>{word}</b> })}
                    </td>
                }
            }).collect_view()}
        </tr>
    }
}
