//! The findings panel: standing findings with evidence and advice, the worst first; then muted findings and those that
//! are over.

use leptos::prelude::*;
use watchscope_model::Text;
use watchscope_model::vocabulary::Severity;
use watchscope_timeline::findings::{Board, Group, Item, MutedItem, Over, Tally};
use watchscope_timeline::format::{clock, count, number};
use watchscope_timeline::words::severity_token;

use super::as_of::AsOf;
use super::focus::focus_soon;
use super::signals::Signals;
use super::texts;
use super::why::lesson_link;
use crate::core::effect::Focus;
use crate::core::person::Person;
use crate::core::shown::{Said, Texts};
use crate::input::actions::Action;
use crate::runtime::page::act;

/// The number of subjects of one code that are shown until the person opens all. A code with just one subject more
/// shows all of them. The advice comes after the subjects.
const SHOWN: usize = 3;
/// The headings that are shown for each finding. The other texts open on demand.
const SAID_FIRST: [&str; 2] = ["A naive client", "A correct client"];
/// The heading above the row's picture.
const PICTURED: &str = "On the wire";

/// Shows a banner for a cluster whose history was restored.
#[component]
pub(super) fn RestoredBanner(panels: Signals) -> impl IntoView {
    move || {
        panels.restored.get().map(|restored| {
            let (raising, raised) = (restored.raising, restored.raised);
            let show = move |_| act(Person::ShowFinding(raised));
            view! {
                <div class="banner restored" role="alert" data-part="restored">
                    <p>{restored.words}</p>
                    <button on:click=show>"Show it"</button>
                    <button
                        title="Until it is raised again; the finding stays open"
                        on:click=move |_| act(Person::MarkRead((&*raising).into()))
                    >
                        "Close"
                    </button>
                </div>
            }
        })
    }
}

/// Shows the panel while it is open.
#[component]
pub(super) fn FindingsPanel(panels: Signals) -> impl IntoView {
    move || {
        let is_open = panels.findings_open.get();
        is_open.then(|| view! { <Open panels/> })
    }
}

#[component]
fn Open(panels: Signals) -> impl IntoView {
    let board = panels.board;
    let is_known = move || {
        panels
            .as_of
            .with(|as_of| as_of.as_ref().is_none_or(|as_of| as_of.unknown.is_none()))
    };
    let codes = move || -> Vec<Text> {
        board.with(|board| {
            board
                .standing
                .iter()
                .map(|group| group.code.clone())
                .collect()
        })
    };
    view! {
        <aside class="findings" aria-label="Findings" tabindex="-1">
            <div class="detail-head">
                <h2>"Findings"</h2>
                <span class="what">{move || panels.standing.with(|tally| board.with(|board| summary(tally, board)))}</span>
                <AsOf panels/>
                <button class="close" aria-label="Close" on:click=|_| act(Person::Act(Action::Findings))>"×"</button>
            </div>
            <div class="findings-body">
                {move || (board.with(|board| board.standing.is_empty()) && is_known()).then(|| view! {
                    <p class="prose none">"No finding is open. A stream that ends at its timeout is not a finding: \
                        that is normal."</p>
                })}
                <For
                    each=codes
                    key=|code| code.to_string()
                    children=move |code| view! { <GroupOf panels code/> }
                />
                {move || {
                    let muted = board.with(|board| board.muted.clone());
                    (!muted.is_empty()).then(|| view! { <MutedList muted/> })
                }}
                {move || {
                    let (over, more) = board.with(|board| (board.over.clone(), board.over_more));
                    (!over.is_empty()).then(|| view! { <OverList over more/> })
                }}
            </div>
        </aside>
    }
}

/// Returns `1 error, 2 warnings · 60 clients · 1 muted · 3 over`.
fn summary(tally: &Tally, board: &Board) -> String {
    let over = board.over.len() as u64 + board.over_more;
    let parts = [(board.muted.len() as u64, "muted"), (over, "over")];
    let others = parts.iter().filter(|(count, _)| *count > 0);
    let others = others.map(|(count, word)| format!("{} {word}", number(*count)));
    let standing = (tally.groups > 0).then(|| tally.words.clone());
    let words: Vec<String> = standing.into_iter().chain(others).collect();
    words.join(" · ")
}

pub(super) fn chip(code: &str, severity: Severity) -> impl IntoView + use<> {
    let ink = severity_token(severity).name();
    view! { <span class=format!("chip {ink}") title=severity.to_string()>{code.to_owned()}</span> }
}

/// Returns the advice for a row: the text about a correct client.
pub(super) fn what_to_do(said: &Said) -> Option<String> {
    let mut parts = said.parts.iter();
    let found = parts.find(|(heading, _)| heading == SAID_FIRST[1]);
    found.map(|(_, text)| text.clone())
}

/// Shows the findings of one code.
#[component]
fn GroupOf(panels: Signals, code: Text) -> impl IntoView {
    let (board, named) = (panels.board, code.to_string());
    let wanted = code.clone();
    let group = Memo::new(move |_| -> Option<Group> {
        board.with(|board| {
            let mut groups = board.standing.iter();
            groups.find(|group| group.code == wanted).cloned()
        })
    });
    let heading = move || {
        group.with(|group| {
            let group = group.as_ref()?;
            Some(view! {
                {chip(&group.code, group.severity)}
                <b>{group.name.to_string()}</b>
                {group.places.clone().map(|places| view! { <span class="quiet">{places}</span> })}
            })
        })
    };
    let is_whole = RwSignal::new(false);
    let many = move || group.with(|group| group.as_ref().map_or(0, |group| group.items.len()));
    let keys = move || -> Vec<String> {
        let shown = if is_whole.get() || many() <= SHOWN + 1 {
            usize::MAX
        } else {
            SHOWN
        };
        group.with(|group| {
            let items = group.iter().flat_map(|group| &group.items);
            items.take(shown).map(|item| item.key.to_string()).collect()
        })
    };
    let has_others = Memo::new(move |_| many() > SHOWN + 1);
    let others = move || {
        has_others.get().then(|| {
            view! {
                <button
                    class="more"
                    aria-expanded=move || is_whole.get().to_string()
                    on:click=move |_| is_whole.update(|is_whole| *is_whole = !*is_whole)
                >
                    {move || if is_whole.get() {
                        "Show fewer".to_owned()
                    } else {
                        format!("Show {} more", number((many() - SHOWN) as u64))
                    }}
                </button>
            }
        })
    };
    view! {
        <section class="group" data-code=named>
            <h3 class="group-head">{heading}</h3>
            <ul>
                <For
                    each=keys
                    key=|key| key.clone()
                    children=move |key| view! { <ItemOf group key/> }
                />
            </ul>
            {others}
            <Explained panels code/>
        </section>
    }
}

/// Shows a finding about one subject.
#[component]
fn ItemOf(group: Memo<Option<Group>>, key: String) -> impl IntoView {
    let (wanted, named) = (key.clone(), key.clone());
    let item = Memo::new(move |_| -> Option<Item> {
        group.with(|group| {
            let mut items = group.iter().flat_map(|group| &group.items);
            items.find(|item| *item.key == *wanted).cloned()
        })
    });
    let read = move |read: fn(&Item) -> String| item.with(|item| item.as_ref().map(read));
    let asks = RwSignal::new(false);
    let show = move |_| {
        let raised = item.with_untracked(|item| item.as_ref().map(|item| item.raised));
        if let Some(raised) = raised {
            act(Person::ShowFinding(raised));
        }
    };
    let evidence = move || {
        let item = item.get()?;
        let (raised, since) = (item.raised, item.since);
        let of = item.evidence.len();
        let tags = item.evidence.into_iter().enumerate().map(|(place, id)| {
            let number = place + 1;
            view! {
                <button
                    class="tag"
                    aria-label=format!("Evidence {number} of {of}: show the record")
                    title=format!("Record {}", id.seq.0)
                    on:click=move |_| {
                        act(Person::ShowEvidence {
                            finding: raised,
                            record: id,
                            since: Some(since),
                        });
                    }
                >
                    {number}
                </button>
            }
        });
        Some(tags.collect_view())
    };
    let muting = move || {
        let key = key.clone();
        asks.get().then(|| view! { <MuteForm key asks/> })
    };
    view! {
        <li class="finding" data-key=named>
            <p class="finding-of">
                <button class="subject" title="Show it in the picture, with its evidence" on:click=show>
                    {move || read(|item| item.subject.clone())}
                </button>
            </p>
            <p class="prose">{move || read(|item| item.summary.clone())}</p>
            {move || {
                let watches = read(|item| item.watches.clone());
                let watches = watches.filter(|watches| !watches.is_empty());
                watches.map(|watches| view! { <p class="finding-watches">{watches}</p> })
            }}
            <div class="finding-foot">
                <span class="quiet">{move || read(Item::particulars)}</span>
                <span class="tags">{evidence}</span>
                <button
                    class="mute"
                    data-part="ask-why"
                    title="In steps, from the write to where it stopped"
                    on:click=move |_| {
                        let raised = item.with_untracked(|item| item.as_ref().map(|item| item.raised));
                        if let Some(raised) = raised {
                            act(Person::ShowFinding(raised));
                            act(Person::Act(Action::Why));
                        }
                    }
                >
                    "Why?"
                </button>
                <button
                    class="mute"
                    aria-expanded=move || asks.get().to_string()
                    on:click=move |_| asks.update(|asks| *asks = !*asks)
                >
                    "Mute"
                </button>
            </div>
            {muting}
        </li>
    }
}

/// Shows the form that asks for a reason and mutes a finding.
#[component]
fn MuteForm(key: String, asks: RwSignal<bool>) -> impl IntoView {
    let reason = RwSignal::new(String::new());
    view! {
        <form
            class="mute-form"
            on:submit=move |event| {
                event.prevent_default();
                act(Person::Mute {
                    key: (&*key).into(),
                    reason: reason.get_untracked().into(),
                });
                focus_soon(Focus::Findings);
            }
            on:keydown=move |event| {
                if event.key() == "Escape" {
                    event.stop_propagation();
                    asks.set(false);
                    focus_soon(Focus::Findings);
                }
            }
        >
            <input
                type="text"
                autofocus
                autocomplete="off"
                maxlength="200"
                aria-label="Why it is muted"
                placeholder="Why? Only this browser keeps it"
                prop:value=move || reason.get()
                on:input:target=move |event| reason.set(event.target().value())
            />
            <button type="submit" class="control">"Mute"</button>
            <button type="button" class="control" on:click=move |_| asks.set(false)>"Cancel"</button>
        </form>
    }
}

/// Shows the texts about a naive client and the advice. The other texts of the row open on demand.
#[component]
fn Explained(panels: Signals, code: Text) -> impl IntoView {
    let more = RwSignal::new(false);
    let all = code.clone();
    let said = Memo::new(move |_| panels.texts.with(|texts| texts.of(&all)));
    let failed = move || panels.texts.with(|texts| *texts == Texts::Failed);
    let lines = move |first: bool| {
        let said = said.get();
        let picture = said.as_ref().map(|said| said.picture.clone());
        let parts = said.map(|said| said.parts).unwrap_or_default();
        let parts = parts
            .into_iter()
            .filter(move |(heading, _)| SAID_FIRST.contains(&&**heading) == first);
        let lines = parts.map(|(heading, text)| {
            let picture = picture.clone().filter(|_| heading == PICTURED);
            // The text about a correct client is the advice.
            let heading = if heading == SAID_FIRST[1] {
                "What to do".to_owned()
            } else {
                heading
            };
            view! {
                <dt>{heading}</dt>
                <dd>{text}{picture.map(|url| view! { <Pictured url/> })}</dd>
            }
        });
        lines.collect_view()
    };
    view! {
        <div class="explained">
            <dl>{move || lines(true)}</dl>
            {lesson_link(&code)}
            {move || failed().then(|| view! {
                <p class="quiet">
                    "What to do could not be fetched. "
                    <button class="inline-action" on:click=|_| texts::ask()>"Try again"</button>
                </p>
            })}
            {move || more.get().then(|| view! { <dl>{lines(false)}</dl> })}
            {move || said.with(Option::is_some).then(|| view! {
                <button
                    class="more"
                    aria-expanded=move || more.get().to_string()
                    on:click=move |_| more.update(|more| *more = !*more)
                >
                    {
                        let code = code.clone();
                        move || if more.get() { "Less".to_owned() } else { format!("All about {code}") }
                    }
                </button>
            })}
        </div>
    }
}

/// Shows a row's picture, which opens at full size. Shows nothing if the picture cannot be loaded.
#[component]
fn Pictured(url: String) -> impl IntoView {
    let is_missing = RwSignal::new(false);
    move || {
        let (link, source) = (url.clone(), url.clone());
        (!is_missing.get()).then(|| {
            view! {
                <a class="pictured" href=link target="_blank" title="Open it at its full size">
                    <img
                        src=source
                        alt="Its story as lanes over time"
                        on:error=move |_| is_missing.set(true)
                    />
                </a>
            }
        })
    }
}

#[component]
fn MutedList(muted: Vec<MutedItem>) -> impl IntoView {
    let rows = muted.into_iter().map(|item| {
        let key = item.key.clone();
        view! {
            <li class="finding">
                <p class="finding-of"><b>{item.key.to_string()}</b></p>
                <div class="finding-foot">
                    <span class="quiet">
                        {if item.reason.is_empty() { "no reason given".to_owned() } else { item.reason }}
                        {(!item.stands).then_some(" · does not stand now")}
                    </span>
                    <button class="mute" on:click=move |_| act(Person::Unmute((&*key).into()))>"Unmute"</button>
                </div>
            </li>
        }
    });
    view! {
        <section class="group quieter" data-part="muted">
            <h3 class="group-head">"Muted in this browser"</h3>
            <ul>{rows.collect_view()}</ul>
        </section>
    }
}

#[component]
fn OverList(over: Vec<Over>, more: u64) -> impl IntoView {
    let rows = over.into_iter().map(|over| {
        let raised = over.raised;
        let (from, to) = (clock(over.stood.0), clock(over.stood.1));
        let times = if over.times > 1 {
            format!("{}, the last ", count(over.times, "time"))
        } else {
            String::new()
        };
        view! {
            <li class="finding">
                <p class="finding-of">
                    {chip(&over.code, over.severity)}
                    <button
                        class="subject"
                        title="Show where it was raised"
                        on:click=move |_| act(Person::ShowFinding(raised))
                    >
                        {over.subject}
                    </button>
                </p>
                <p class="prose soft">{over.summary}</p>
                <p class="quiet">{format!("{times}{from} to {to}")}</p>
            </li>
        }
    });
    view! {
        <section class="group quieter" data-part="over">
            <h3 class="group-head">"Over"</h3>
            <ul>{rows.collect_view()}</ul>
            {(more > 0).then(|| view! { <p class="quiet">{format!("and {} more", number(more))}</p> })}
        </section>
    }
}
