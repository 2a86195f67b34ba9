//! The header: watches, problems, and controls. Below it are the banners.

use leptos::prelude::*;
use watchscope_model::Time;
use watchscope_model::wire::PROTOCOL_VERSION;
use watchscope_timeline::format::{clock, number};
use watchscope_timeline::words::severity_token;

use super::events::{paste_link, reload, try_now};
use super::findings::RestoredBanner;
use super::focus::{focus_picture, set_filter_field};
use super::lesson::is_on;
use super::notes::NotesButton;
use super::signals::Signals;
use super::trouble::InHeader;
use crate::core::person::Person;
use crate::core::screen::ThemeChoice;
use crate::core::shown::Remedy;
use crate::input::actions::Action;
use crate::runtime::page::act;
use crate::source::connection::{Lock, Status, Trouble};

/// The header.
#[component]
pub(super) fn Header(panels: Signals) -> impl IntoView {
    let open = RwSignal::new(false);
    let summary = panels.summary;
    let cluster = move || summary.with(|summary| summary.cluster.clone());
    let version = move || summary.with(|summary| summary.version.clone());
    let namespaces = move || summary.with(|summary| summary.namespaces.clone());
    let following = panels.following;
    let as_of = move || {
        panels
            .as_of
            .with(|as_of| Some(as_of.as_ref()?.clock.clone()))
    };
    let recorded_at = move || {
        panels
            .replay
            .with(|replay| Some(replay.as_ref()?.clock.clone()))
    };
    let is_recording = move || panels.replay.with(Option::is_some);
    let cut_off = move || {
        panels
            .link_status
            .with(|status| !matches!(status, Status::Live | Status::Connecting))
    };
    let has_no_cluster = move || {
        panels.empty.with(|empty| {
            let remedy = empty.as_ref().map(|empty| &empty.remedy);
            matches!(remedy, Some(Remedy::Contexts(_)))
        })
    };
    let field = NodeRef::<leptos::html::Input>::new();
    set_filter_field(field);
    view! {
        <header class="header" class:open=move || open.get()>
            <h1 class="mark">"watchscope"</h1>
            <span class="place">
                <span class="control cluster" class:unseen=move || cluster().is_empty()>
                    <span class="label">"cluster"</span> <b>{cluster}</b> <span class="label">{version}</span>
                </span>
                <span class="control" class:unseen=move || namespaces().is_empty()>
                    <span class="label">"namespace"</span> <b>{namespaces}</b>
                </span>
            </span>
            <span class="doing">
                <span class="moment">
                    <button
                        class="control follow"
                        aria-pressed=move || (following.get() && !cut_off()).to_string()
                        aria-keyshortcuts="Space"
                        on:click=|_| act(Person::Act(Action::TogglePause))
                    >
                        <span class="dot" aria-hidden="true"></span>
                        <span data-part="as-of">{move || match recorded_at().or_else(&as_of) {
                            Some(clock) if is_recording() => view! { "Recording, at " <b>{clock}</b> }.into_any(),
                            Some(clock) => view! { "As of " <b>{clock}</b> }.into_any(),
                            None if following.get() && cut_off() => "Stopped".into_any(),
                            None if following.get() => "Following".into_any(),
                            None => "Paused".into_any(),
                        }}</span>
                        {move || (as_of().is_none() && !is_recording()).then(|| view! { <kbd aria-hidden="true">"Space"</kbd> })}
                    </button>
                    {move || (as_of().is_some() && !is_recording()).then(|| view! {
                        <button
                            class="control"
                            data-part="now"
                            aria-keyshortcuts="End"
                            on:click=|_| act(Person::Act(Action::Follow))
                        >
                            "Now" <kbd aria-hidden="true">"End"</kbd>
                        </button>
                    })}
                </span>
                <span class="now-words" class:warn=cut_off data-part="words">
                    {move || if cut_off() {
                        "Not connected".to_owned()
                    } else if has_no_cluster() {
                        "Not watching".to_owned()
                    } else {
                        summary.with(|summary| summary.words.clone())
                    }}
                </span>
            </span>
            <nav class="problems" aria-label="What is wrong">
                <For
                    each=move || panels.problems.get()
                    key=|problem| problem.words.clone()
                    children=move |problem| {
                        let words = problem.words.clone();
                        // The places may have changed since this button was made.
                        let places = move || panels.problems.with_untracked(|problems| {
                            let mut problems = problems.iter();
                            let found = problems.find(|problem| problem.words == words);
                            found.map_or_else(Vec::new, |problem| problem.places.clone())
                        });
                        view! {
                            <button
                                class=format!("problem {}", problem.ink.name())
                                on:click=move |_| act(Person::ShowProblemPlaces(places().into()))
                            >
                                {problem.words.clone()}
                            </button>
                        }
                    }
                />
            </nav>
            <InHeader panels/>
            <span class="space"></span>
            <label class="filter">
                <span class="unseen">"Filter lanes by name"</span>
                <input
                    type="search"
                    placeholder="Filter lanes"
                    title="Words that a name must have, -word that it must not have, kind=pods, kind≠events"
                    autocomplete="off"
                    spellcheck="false"
                    node_ref=field
                    prop:value=move || panels.filter.get()
                    on:input:target=|event| act(Person::Filter(event.target().value().into()))
                    on:keydown=move |event| {
                        match event.key().as_str() {
                            "Escape" => {
                                act(Person::Filter("".into()));
                                focus_picture();
                            }
                            "Enter" => focus_picture(),
                            _ => return,
                        }
                        event.stop_propagation();
                    }
                />
                <kbd aria-hidden="true">"/"</kbd>
            </label>
            <span class="tools" on:click=move |_| open.set(false)>
                <button
                    class="control"
                    data-part="findings-button"
                    aria-expanded=move || panels.findings_open.get().to_string()
                    aria-keyshortcuts="I"
                    title=move || panels.standing.with(|tally| tally.words.clone())
                    on:click=|_| act(Person::Act(Action::Findings))
                >
                    "Findings"
                    {move || {
                        let tally = panels.standing.get();
                        let worst = severity_token(tally.worst?).name();
                        Some(view! {
                            <b class=format!("tally {worst}")>{number(tally.groups)}</b>
                            <span class="unseen">": " {tally.words}</span>
                        })
                    }}
                </button>
                <button
                    class="control"
                    aria-expanded=move || panels.watches_open.get().to_string()
                    aria-keyshortcuts="T"
                    on:click=|_| act(Person::Act(Action::Watches))
                >
                    "Watches"
                </button>
                <NotesButton panels/>
                <a class="control" href="#lessons">"Lessons"</a>
                <button class="control" data-part="open" title="Open a recording: a .wscope file">"Open"</button>
                <button
                    class="control"
                    data-part="export"
                    aria-haspopup="dialog"
                    aria-keyshortcuts="E"
                    title="A picture, a timeline, a table or a recording of it"
                    on:click=|_| act(Person::Act(Action::Export))
                >
                    "Export"
                </button>
                // The header of a lesson has these two.
                {(!is_on()).then(|| view! {
                    <ThemeButton panels/>
                    <HelpButton class="control"/>
                })}
            </span>
            <button
                class="control menu"
                aria-label="Menu"
                aria-expanded=move || open.get().to_string()
                on:click=move |_| open.update(|open| *open = !*open)
            >
                "☰"
            </button>
        </header>
    }
}

#[component]
pub(super) fn ThemeButton(panels: Signals) -> impl IntoView {
    let next = move || match panels.theme.get() {
        ThemeChoice::System => ThemeChoice::Dark,
        ThemeChoice::Dark => ThemeChoice::Light,
        ThemeChoice::Light => ThemeChoice::System,
    };
    view! {
        <button
            class="control"
            title="Colours: dark, light, or those of the system"
            aria-label=move || format!("colours {}. Switch to {}", shown_word(panels.theme.get()), shown_word(next()))
            on:click=move |_| act(Person::Theme(next()))
        >
            "colours "
            {move || shown_word(panels.theme.get())}
        </button>
    }
}

/// The button that opens the help.
#[component]
pub(super) fn HelpButton(class: &'static str) -> impl IntoView {
    view! {
        <button
            class=class
            aria-label="Keys and glyphs"
            aria-haspopup="dialog"
            aria-keyshortcuts="?"
            on:click=|_| act(Person::Act(Action::Help))
        >
            "?"
        </button>
    }
}

/// Returns the word for a choice of colours that the button shows.
fn shown_word(theme: ThemeChoice) -> &'static str {
    match theme {
        ThemeChoice::System => "auto",
        ThemeChoice::Dark => "dark",
        ThemeChoice::Light => "light",
    }
}

/// Shows a banner for trouble between the browser and watchscope. The lanes show trouble with the cluster.
#[component]
pub(super) fn Banner(panels: Signals) -> impl IntoView {
    let link_status = panels.link_status;
    let body = move || {
        match link_status.get() {
        Status::Live | Status::Connecting => None,
        Status::NotConnected {
            since_ms,
            next_try_ms,
            why,
        } => Some(
            view! { <NotConnected panels since_ms next_try_ms why/> }.into_any(),
        ),
        Status::Locked(lock) => Some(view! { <Locked lock/> }.into_any()),
        Status::OtherVersion { theirs } => Some(
            view! {
                <p>{format!(
                    "This page speaks version {PROTOCOL_VERSION} of the protocol, the server version {theirs}."
                )}</p>
                <button on:click=|_| reload()>"Reload"</button>
            }
            .into_any(),
        ),
        Status::Ended { reason } => Some(
            view! {
                <p>{format!("The server ended the connection ({reason}).")}</p>
                <button on:click=|_| try_now()>"Connect again"</button>
            }
            .into_any(),
        ),
    }
    };
    view! {
        <div>
            // open.js writes here which file is open, and its errors.
            <div data-part="file"></div>
            {move || body().map(|body| view! { <div class="banner" role="status" data-part="banner">{body}</div> })}
            {move || panels.trouble.get().map(|trouble| view! {
                <div class="banner" role="status" data-part="trouble">
                    <p>{trouble}</p>
                    <button on:click=|_| act(Person::Dismiss)>"Dismiss"</button>
                </div>
            })}
            <RestoredBanner panels/>
        </div>
    }
}

#[component]
fn NotConnected(
    panels: Signals,
    since_ms: u64,
    next_try_ms: Option<u64>,
    why: Trouble,
) -> impl IntoView {
    let since = clock(Time(0).plus_millis(since_ms));
    let cause = match why {
        Trouble::Unreachable => "",
        Trouble::OtherProgram => " Another program answers at this address.",
        Trouble::Silent => " Nothing came for 45 s.",
        Trouble::Undecodable => " What came could not be read.",
        Trouble::Goodbye => " It said goodbye.",
    };
    let next = move || match next_try_ms {
        Some(next_ms) => {
            let left_ms = next_ms.saturating_sub(panels.now_ms.get());
            format!(" Next try in {} s.", left_ms.div_ceil(1_000))
        }
        None => " Trying now.".to_owned(),
    };
    view! {
        // A screen reader hears the first sentence once, not every second of the countdown.
        <p>{format!("Not connected to watchscope since {since}.{cause}")}<span aria-hidden="true">{next}</span></p>
        <button on:click=|_| try_now()>"Try now"</button>
    }
}

#[component]
fn Locked(lock: Lock) -> impl IntoView {
    let (words, advice) = match lock {
        Lock::NoLink => (
            "This page needs a link.",
            "watchscope printed one when it started; Enter in its terminal prints another, and so does",
        ),
        Lock::LinkSpent => (
            "This link was used or is too old: each works in one browser, within 10 minutes.",
            "Enter in watchscope's terminal prints another, and so does",
        ),
        Lock::SessionOver => (
            "The session is over: watchscope was restarted, or its sessions were revoked.",
            "The picture stays. Open a new link in any tab of this browser, or paste it here. One is printed by",
        ),
    };
    let pasted = RwSignal::new(String::new());
    let refused = RwSignal::new(false);
    view! {
        <p><b>{words}</b>" "{advice}" "<code>"watchscope token"</code>"."</p>
        <form on:submit=move |event| {
            event.prevent_default();
            refused.set(!paste_link(&pasted.get_untracked()));
        }>
            <input
                type="text"
                autocomplete="off"
                spellcheck="false"
                aria-label="Link"
                placeholder="http://127.0.0.1:8080/#t=…"
                prop:value=move || pasted.get()
                on:input:target=move |event| pasted.set(event.target().value())
            />
            <button type="submit">"Open"</button>
            <span role="alert">{move || refused.get().then_some("That is not a link: it has no #t=…")}</span>
        </form>
    }
}
