//! The detail panel: the selection in words, as an object, as a request.

use leptos::prelude::*;
use watchscope_timeline::RecordId;
use watchscope_timeline::format;
use watchscope_timeline::words::{Description, Presence};

use super::as_of::AsOf;
use super::beliefs::BeliefsTab;
use super::check::CheckNow;
use super::events::{detail_height, grip_detail, heighten_detail};
use super::evidence::EvidenceTable;
use super::findings::{chip, what_to_do};
use super::focus::{focus_picture, focus_soon};
use super::signals::Signals;
use super::why::{AskWhy, WhyTab, lesson_link};
use crate::body::json;
use crate::core::cursors::CursorDeed;
use crate::core::effect::Focus;
use crate::core::lanes::OwnerShown;
use crate::core::panel_state::Tab;
use crate::core::person::Person;
use crate::core::shown::{Bodies, Body, Detail, ObjectPane};
use crate::runtime::page::act;

/// The most lines of a body that are shown. A last line counts the others.
const MAX_LINES: usize = 5_000;

/// Shows the panel if something is selected and no other panel is in its place.
#[component]
pub(super) fn DetailPanel(panels: Signals) -> impl IntoView {
    // The comparison of A and B stands before it.
    let is_behind = Memo::new(move |_| {
        panels.cursors.with(|shown| {
            shown
                .as_ref()
                .is_some_and(|shown| shown.is_front && shown.compared.is_some())
        })
    });
    move || {
        panels
            .detail
            .get()
            .filter(|_| {
                !panels.watches_open.get()
                    && !panels.notes_open.get()
                    && panels.table.with(Option::is_none)
            })
            .filter(|_| !is_behind.get())
            .map(|detail| view! { <Panel detail panels/> })
    }
}

#[component]
fn Panel(detail: Detail, panels: Signals) -> impl IntoView {
    let description = detail.description.clone();
    let tabs: Vec<(Tab, &'static str)> = [
        (Tab::Event, "Event", true),
        (Tab::Object, "Object", detail.object.is_some()),
        (Tab::Request, "Request", !description.request.is_empty()),
        (
            Tab::Beliefs,
            "What each side believes",
            detail.beliefs.is_some(),
        ),
        (Tab::Why, "Why", detail.why.is_some()),
    ]
    .into_iter()
    .filter(|&(_, _, shown)| shown)
    .map(|(tab, name, _)| (tab, name))
    .collect();
    let current = detail.tab;
    let count = tabs.len();
    let order: Vec<Tab> = tabs.iter().map(|&(tab, _)| tab).collect();
    let body = match current {
        Tab::Event => view! { <EventTab detail=detail.clone() panels/> }.into_any(),
        Tab::Object => detail
            .object
            .clone()
            .map(|pane| {
                let (number, manager) = (detail.number, field(&description, "manager"));
                view! { <ObjectTab panels number pane manager/> }
            })
            .into_any(),
        Tab::Beliefs => detail
            .beliefs
            .clone()
            .map(|beliefs| view! { <BeliefsTab beliefs/> })
            .into_any(),
        Tab::Why => detail
            .why
            .clone()
            .map(|why| view! { <WhyTab why panels/> })
            .into_any(),
        Tab::Request => view! {
            <div class="columns even">
                <div><h3>"The request that brought it"</h3><Facts facts=named(&description.request)/></div>
                <div>
                    <h3>"The same by hand"</h3>
                    <p class="code">"kubectl get --raw '"{by_hand(&description.request)}"'"</p>
                </div>
            </div>
        }
        .into_any(),
    };
    view! {
        <section class="detail" aria-label="Detail">
            <div
                class="detail-grip"
                role="separator"
                aria-orientation="horizontal"
                aria-label="Height of the detail panel"
                aria-valuemin="96"
                aria-valuenow=detail_height()
                tabindex="0"
                on:pointerdown=|event| grip_detail(&event)
                on:keydown=move |event| {
                    let step = match event.key().as_str() {
                        "ArrowUp" => 24.0,
                        "ArrowDown" => -24.0,
                        _ => return,
                    };
                    event.prevent_default();
                    event.stop_propagation();
                    heighten_detail(step);
                }
            ></div>
            <div class="detail-head">
                {match &detail.evidence {
                    None => view! { <h2>{description.lane.clone()}</h2> }.into_any(),
                    Some(found) => view! {
                        {chip(&found.code, found.severity)}
                        <h2>{found.name.to_string()}</h2>
                    }
                    .into_any(),
                }}
                <span class="what">{description.time.clone()}</span>
                <Occurrences panels/>
                <AsOf panels/>
                {detail.check.map(|check| view! { <CheckNow check panels/> })}
                <div class="tabs" role="tablist">
                    {tabs.into_iter().map(|(tab, name)| {
                        let order = order.clone();
                        view! {
                            <button
                                class="tab"
                                role="tab"
                                aria-selected=(tab == current).to_string()
                                tabindex=if tab == current { "0" } else { "-1" }
                                on:click=move |_| act(Person::ShowTab(tab))
                                on:keydown=move |event| {
                                    let step = match event.key().as_str() {
                                        "ArrowRight" => 1,
                                        "ArrowLeft" => count - 1,
                                        _ => return,
                                    };
                                    event.prevent_default();
                                    event.stop_propagation();
                                    let at = order.iter().position(|&other| other == current).unwrap_or(0);
                                    act(Person::ShowTab(order[(at + step) % count]));
                                    focus_soon(Focus::Tab);
                                }
                            >
                                {name}
                            </button>
                        }
                    }).collect_view()}
                </div>
                <ToCompared panels/>
                <button class="close" aria-label="Close" on:click=|_| {
                    act(Person::CloseDetail);
                    focus_picture();
                }>"×"</button>
            </div>
            <div class="detail-body" role="tabpanel" tabindex="0">{body}</div>
        </section>
    }
}

/// Leads back to the comparison of A and B, while both are set.
#[component]
fn ToCompared(panels: Signals) -> impl IntoView {
    let is_set = Memo::new(move |_| {
        panels.cursors.with(|shown| {
            let compared = shown.as_ref().map(|shown| shown.compared.is_some());
            compared == Some(true)
        })
    });
    move || {
        is_set.get().then(|| {
            view! {
                <button class="control" on:click=|_| act(Person::Cursors(CursorDeed::Show))>"A and B"</button>
            }
        })
    }
}

/// Shows which occurrence of the selected finding this is, with a step to the one before and after it.
#[component]
fn Occurrences(panels: Signals) -> impl IntoView {
    let step = |is_next: bool, is_end: bool| {
        let (name, sign) = match is_next {
            true => ("Next occurrence", "›"),
            false => ("Previous occurrence", "‹"),
        };
        view! {
            <button
                class="step"
                class:end=is_end
                aria-label=name
                title=name
                on:click=move |_| act(Person::StepOccurrence { is_next })
            >
                <span class="step-sign" aria-hidden="true">{sign}</span>
            </button>
        }
    };
    move || {
        panels.occurrence.get().map(|nth| {
            let (number, total) = (format::number(nth.number), format::number(nth.total));
            view! {
                <span class="stepper occurrences" role="group" aria-label="Occurrences of this finding">
                    {step(false, nth.number == 1)}
                    <span class="stepper-words" data-part="occurrence">{format!("occurrence {number} of {total}")}</span>
                    {step(true, nth.number == nth.total)}
                </span>
            }
        })
    }
}

/// Returns the fields by name. Each parameter of a request has its own name.
fn named(fields: &[(&'static str, String)]) -> Vec<(String, String)> {
    let of = |(name, value): &(&str, String)| match (*name, value.split_once('=')) {
        ("parameter", Some((name, value))) => (name.to_owned(), value.to_owned()),
        _ => ((*name).to_owned(), value.clone()),
    };
    fields.iter().map(of).collect()
}

/// Returns path and query of a request.
fn by_hand(request: &[(&'static str, String)]) -> String {
    let mut target = String::new();
    for (name, value) in request {
        match *name {
            "path" => target.push_str(value),
            "parameter" => {
                target.push(if target.contains('?') { '&' } else { '?' });
                target.push_str(value);
            }
            _ => {}
        }
    }
    target
}

#[component]
fn EventTab(detail: Detail, panels: Signals) -> impl IntoView {
    let description = detail.description;
    let record = description.record;
    let has_why = detail.why.is_some();
    if let Some(evidence) = detail.evidence {
        let code = evidence.code.clone();
        let advice = move || panels.texts.with(|texts| what_to_do(&texts.of(&code)?));
        return view! {
            <div class="columns">
                <div>
                    <h3>"What happened"</h3>
                    <p class="prose">{evidence.summary.clone()}{has_why.then(|| view! { <AskWhy/> })}</p>
                    {lesson_link(&evidence.code)}
                    <ThenAndNow panels/>
                    {move || advice().map(|advice| view! {
                        <h3>"What to do"</h3>
                        <p class="prose">{advice}</p>
                    })}
                </div>
                <div><h3>"Evidence"</h3><EvidenceTable evidence panels/></div>
            </div>
        }
        .into_any();
    }
    view! {
        <div class="columns">
            <div><h3>"What happened"</h3><p class="prose">{description.what}{has_why.then(|| view! { <AskWhy/> })}</p>{move || panels.presence.get().map(|presence| view! { <Here presence record/> })}<ThenAndNow panels/></div>
            <div>
                {(!description.fields.is_empty()).then(|| view! { <h3>"Fields"</h3><Facts facts=named(&description.fields)/> })}
                {detail.owners.map(|owners| view! { <OwnersOf owners/> })}
            </div>
        </div>
    }
    .into_any()
}

/// Shows the controllers above the object, from its own upwards. One that has a lane leads there.
#[component]
fn OwnersOf(owners: Vec<OwnerShown>) -> impl IntoView {
    view! {
        <h3>"Owners"</h3>
        <ol class="owners" data-part="owners">
            {owners.into_iter().map(|OwnerShown { name, lane, why }| view! {
                <li>
                    {match lane {
                        Some(lane) => view! {
                            <button class="inline-action" on:click=move |_| act(Person::OpenLane(lane))>{name}</button>
                        }.into_any(),
                        None => view! { <span>{name}</span> }.into_any(),
                    }}
                    {(!why.is_empty()).then(|| view! { " "<span class="quiet">{format!("({why})")}</span> })}
                </li>
            }).collect_view()}
        </ol>
    }
}

/// Shows the selection then and now, while panels answer for the past.
#[component]
fn ThenAndNow(panels: Signals) -> impl IntoView {
    move || {
        panels.beside.get().map(|beside| {
            let at = panels.as_of.get_untracked().map(|as_of| as_of.clock);
            view! {
                {beside.then.map(|then| view! {
                    <h3>{format!("As of {}", at.unwrap_or_default())}</h3>
                    <p class="prose">{then}</p>
                })}
                <h3>"Now"</h3>
                <p class="prose" data-part="beside">{beside.now}</p>
            }
        })
    }
}

/// Shows why the object is present or absent.
#[component]
fn Here(presence: Presence, record: Option<RecordId>) -> impl IntoView {
    // No link if the panel already describes that record.
    let elsewhere = presence.record.filter(|&id| record != Some(id));
    let heading = if presence.held {
        "Why it is here"
    } else {
        "Why it is not here"
    };
    let grounds: Vec<(String, String)> = presence
        .grounds
        .into_iter()
        .map(|(name, words)| (name.to_owned(), words))
        .collect();
    view! {
        <div data-part="presence">
            <h3>{heading}</h3>
            <p class="prose">
                {presence.answer}
                {elsewhere.map(|id| view! {
                    " "<button class="inline-action" on:click=move |_| act(Person::ShowRecord(id))>"Show the record"</button>
                })}
            </p>
            <Facts facts=grounds/>
        </div>
    }
}

/// Returns the value of a field; `None` if there is no such field.
fn field(description: &Description, name: &str) -> Option<String> {
    description
        .fields
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value.clone())
}

#[component]
fn Facts(facts: Vec<(String, String)>) -> impl IntoView {
    view! {
        <dl class="facts">
            {facts.into_iter().map(|(name, value)| view! {
                <div><dt>{name}</dt><dd>{value}</dd></div>
            }).collect_view()}
        </dl>
    }
}

#[component]
fn ObjectTab(
    panels: Signals,
    number: u64,
    pane: ObjectPane,
    manager: Option<String>,
) -> impl IntoView {
    let written = manager.map_or_else(
        || "It is unknown who wrote it: the newest entries of managedFields disagree, or there are none.".to_owned(),
        |manager| format!("Written by {manager}."),
    );
    // The bodies of another selection may still be here.
    let bodies = Memo::new(move |_| {
        panels.bodies.with(|bodies| {
            if bodies.number == number {
                bodies.clone()
            } else {
                Bodies::default()
            }
        })
    });
    let has_before = pane.before.is_some();
    view! {
        <div class="columns even">
            <div>
                <h3>"Who"</h3>
                <p class="prose">{written}</p>
                <h3>"Difference to the version before"</h3>
                {move || bodies.with(|bodies| difference(has_before, bodies))}
            </div>
            <div><h3>"Object, redacted"</h3>{move || bodies.with(object)}</div>
        </div>
    }
}

/// Shows the object, or why it is missing.
fn object(bodies: &Bodies) -> AnyView {
    match &bodies.body {
        None => view! { <p class="prose soft">"Fetching the object."</p> }.into_any(),
        Some(Body::Text(text)) => view! { <Json text=text.clone()/> }.into_any(),
        Some(Body::Gone) => view! {
            <p class="prose">"410: this body was dropped to stay within the body budget. Its record stays; --memory raises the budget."</p>
        }
        .into_any(),
        Some(Body::None) => view! {
            <p class="prose">"404: this record carries no body, as with --metadata-only or an inferred delete."</p>
        }
        .into_any(),
        Some(Body::Failed(status)) => view! {
            <p class="prose">{match status {
                Some(status) => format!("The body could not be fetched: status {status}. Select it again to retry."),
                None => "The body could not be fetched: watchscope did not answer. Select it again to retry.".to_owned(),
            }}</p>
        }
        .into_any(),
    }
}

/// Shows the differences from the previous version, or why they are unknown.
fn difference(has_before: bool, bodies: &Bodies) -> AnyView {
    match &bodies.difference {
        _ if !has_before => view! { <p class="prose soft">"The page has loaded no version before this one."</p> }.into_any(),
        None => view! { <p class="prose soft">"Fetching the version before."</p> }.into_any(),
        Some(Err(words)) => view! { <p class="prose">{words.clone()}</p> }.into_any(),
        Some(Ok(found)) if found.is_empty() => {
            view! { <p class="prose">"Nothing differs."</p> }.into_any()
        }
        Some(Ok(found)) => view! {
            <table class="difference">
                <thead><tr><th scope="col">"Path"</th><th scope="col">"Before"</th><th scope="col">"After"</th></tr></thead>
                <tbody>
                    {found.iter().map(|difference| view! {
                        <tr class:bookkeeping=difference.bookkeeping>
                            <td>{difference.path.clone()}</td>
                            <td class="before">{difference.before.clone().unwrap_or_else(|| "–".to_owned())}</td>
                            <td class="after">{difference.after.clone().unwrap_or_else(|| "–".to_owned())}</td>
                        </tr>
                    }).collect_view()}
                </tbody>
            </table>
        }
        .into_any(),
    }
}

#[component]
fn Json(text: String) -> impl IntoView {
    let Some(value) = json::parse(&text) else {
        // A body that is not JSON is shown as it came.
        return view! { <pre class="json">{text}</pre> }.into_any();
    };
    let mut lines = json::lines(&value);
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("… {more} more lines"));
    }
    view! { <pre class="json">{lines.join("\n")}</pre> }.into_any()
}
