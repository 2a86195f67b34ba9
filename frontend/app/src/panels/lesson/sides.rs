//! What each side holds, and the verdict.

use leptos::prelude::*;
use watchscope_model::wire::player::{Answer, FindingNow};
use watchscope_timeline::inside::beliefs::{BeliefRow, BeliefTable, Difference, SideCell};

use super::crowd::Crowd;
use super::ends::Ends;
use super::loops::Loops;
use super::shown::{mirrors, say};
use crate::core::lesson::seconds;

/// The name of watchscope's own watch in the table.
const OURS: &str = "watchscope";
/// The level of a passage that needs all lanes, as the passage's text has it.
const ALL_LANES: u32 = 3;

/// The histogram, the table of the ends, that of the objects which each side holds, the verdict, and the clients'
/// loops. An open question may cover them.
#[component]
pub(super) fn Sides() -> impl IntoView {
    let shown = mirrors();
    let is_covered = Memo::new(move |_| shown.is_covered());
    let has_holds = Memo::new(move |_| shown.has(|passage| passage.has_holds));
    let has_code = Memo::new(move |_| shown.has(|passage| passage.has_code));
    let has_ends = Memo::new(move |_| shown.has(|passage| passage.has_ends));
    let has_crowd = Memo::new(move |_| shown.has(|passage| passage.has_crowd));
    let is_empty =
        move || !has_holds.get() && !has_code.get() && !has_ends.get() && !has_crowd.get();
    let body = move || {
        if is_covered.get() && has_holds.get() {
            view! { <Cover/> }.into_any()
        } else {
            let (holds, code) = (has_holds.get(), has_code.get());
            let (ends, crowd) = (has_ends.get(), has_crowd.get());
            view! {
                {crowd.then(|| view! { <Crowd/> })}
                {ends.then(|| view! { <Ends/> })}
                {holds.then(|| view! { <Holds/><Verdict/> })}
                {code.then(|| view! { <Loops/> })}
            }
            .into_any()
        }
    };
    view! {
       <aside class="lesson-sides" class:unneeded=is_empty aria-label="The clients">{body}</aside>
    }
}

#[component]
fn Cover() -> impl IntoView {
    let uncover = |_| {
        let shown = mirrors();
        let answer = shown.both(|text, now| {
            let passage = text.passages.get(now.passage as usize)?;
            let see = passage.question.as_ref()?.see;
            Some(Answer {
                passage: now.passage,
                answer: see,
            })
        });
        if let Some(answer) = answer {
            say(answer);
        }
    };
    view! {
        <section aria-label="What each side holds">
            <h3>"What each side holds"</h3>
            <p>"Covered until you have answered."</p>
            <button class="control" on:click=uncover>"Show it"</button>
        </section>
    }
}

#[component]
fn Holds() -> impl IntoView {
    let shown = mirrors();
    let beliefs = Memo::new(move |_| {
        shown
            .beside
            .with(|beside| Some((beside.at_us, beside.beliefs.clone()?)))
    });
    move || {
        beliefs.with(|beliefs| {
            let (at_us, table) = beliefs.as_ref()?;
            let table = &without_ours(table, has_ours());
            Some(view! {
                <section class="holds" aria-label="What each side holds">
                    <h3>"What each side holds"</h3>
                    <p class="quiet">{format!("{}: the resourceVersion of each, at {}", table.of, seconds(*at_us))}</p>
                    {held(table)}
                </section>
            })
        })
    }
}

/// Whether the passage shows the lane of watchscope's own watch, or the person wants all lanes.
fn has_ours() -> bool {
    let shown = mirrors();
    shown.shows_all.get() || shown.passage(|passage| passage.lanes) >= ALL_LANES
}

/// Returns the table, without watchscope's own watch unless its lane is shown.
fn without_ours(table: &BeliefTable, has_ours: bool) -> BeliefTable {
    let mut table = table.clone();
    let ours = table.columns.iter().position(|name| name == OURS);
    if let Some(ours) = ours.filter(|_| !has_ours) {
        table.columns.remove(ours);
        if ours < table.sentences.len() {
            table.sentences.remove(ours);
        }
        for row in &mut table.rows {
            if ours < row.cells.len() {
                row.cells.remove(ours);
            }
        }
    }
    table
}

/// How the name of an apiserver's column begins; the number of the server follows.
const SERVER: &str = "apiserver ";

fn held(table: &BeliefTable) -> impl IntoView + use<> {
    let servers = table.columns.iter().filter(|name| name.starts_with(SERVER));
    let is_alone = servers.count() == 1;
    let short = |name: &str| match name.strip_prefix(SERVER) {
        Some(_) if is_alone => "cache".to_owned(),
        Some(number) => format!("cache {number}"),
        None if name == OURS => "watch".to_owned(),
        None => name.to_owned(),
    };
    let heads = table.columns.iter();
    let heads = heads.map(|name| view! { <th scope="col" title=name.clone()>{short(name)}</th> });
    let sentences = table.sentences.iter().map(|sentence| {
        view! { <p class:differs=sentence.differs>{sentence.words.clone()}</p> }
    });
    view! {
        <div class="wide">
            <table>
                <thead><tr><th scope="col"></th>{heads.collect_view()}</tr></thead>
                <tbody>{table.rows.iter().map(row).collect_view()}</tbody>
            </table>
        </div>
        <div class="sentences">{sentences.collect_view()}</div>
    }
}

fn row(row: &BeliefRow) -> impl IntoView + use<> {
    let differs = row.cells.iter().any(|cell| cell.difference.is_some());
    let name = row.name.strip_prefix("default/").unwrap_or(&row.name);
    view! {
        <tr class:differs=differs>
            <th scope="row">{name.to_owned()}</th>
            {row.cells.iter().map(cell).collect_view()}
        </tr>
    }
}

fn cell(cell: &SideCell) -> impl IntoView + use<> {
    let word = cell.difference.map(Difference::word);
    // A side that holds no number of the object holds no object.
    let is_soft = !cell
        .words
        .starts_with(|letter: char| letter.is_ascii_digit());
    view! {
        <td class:differs=word.is_some() class:soft=is_soft && word.is_none() title=word>
            {cell.words.clone()}
        </td>
    }
}

#[component]
fn Verdict() -> impl IntoView {
    let shown = mirrors();
    let found = Memo::new(move |_| {
        shown
            .beside
            .with(|beside| (beside.findings.clone(), haunted(beside.beliefs.as_ref())))
    });
    let body = move || {
        found.with(|(findings, names)| {
            if findings.is_empty() {
                view! { <p class="soft">{unfound(names)}</p> }.into_any()
            } else {
                findings.iter().map(finding).collect_view().into_any()
            }
        })
    };
    view! { <section class="verdict" aria-label="Verdict"><h3>"Verdict"</h3>{body}</section> }
}

fn finding(finding: &FindingNow) -> impl IntoView + use<> {
    view! {
        <p>
            <span
                class=format!("tag {}", finding.severity)
                title=format!("{}, {}", finding.severity, finding.certainty)
            >
                {finding.code.clone()}
            </span>
            <span><b>{format!("{}. ", finding.name)}</b>{finding.summary.clone()}</span>
        </p>
    }
}

/// Returns the verdict if there is no finding.
fn unfound(names: &[String]) -> String {
    let hold = match names.len() {
        0 => return "No finding in the delivered events.".to_owned(),
        1 => "holds",
        _ => "hold",
    };
    format!(
        "No event says that anything is wrong. But {} {hold} what is no longer in etcd: only a comparison shows that.",
        names.join(" and ")
    )
}

/// Returns the clients and caches that hold objects which are gone from etcd.
fn haunted(table: Option<&BeliefTable>) -> Vec<String> {
    let Some(table) = table else {
        return Vec::new();
    };
    let is_haunted = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(column));
        cells
            .into_iter()
            .any(|cell| cell.difference == Some(Difference::Ghost))
    };
    let columns = table.columns.iter().enumerate();
    let haunted = columns.filter(|(column, _)| is_haunted(*column));
    haunted.map(|(_, name)| name.clone()).collect()
}
