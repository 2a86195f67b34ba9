//! The findings panel: what stands, worst first, what it rests on and what to do; what is muted; what is over.

use leptos::prelude::*;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};
use watchscope_timeline::RecordId;
use watchscope_timeline::findings::{self, Board, Group, Item, Muted, MutedItem, Over, Tally};
use watchscope_timeline::format::{clock, count, number};
use watchscope_timeline::words::severity_token;

use super::signals::{Signals, publish, signals};
use super::texts::{self, Said, Texts};
use crate::core::model::Model;
use crate::input::keys::Action;
use crate::runtime::page::{Handle, elements};

/// Under this key and the log's name the browser remembers what is muted: the next cluster may be served at the same
/// address.
const MUTED_KEY: &str = "watchscope-muted";
/// So narrow a window has no room for panel and picture: who goes to a record leaves the panel. As in panels.css.
const COVERED_PX: f64 = 1_000.0;
/// So many subjects of one code are shown until all are asked for: what is done about it comes behind them.
const SHOWN: usize = 3;
/// What a naive client does, and what to do: said of every finding, the rest where it is asked for.
const SAID_FIRST: [&str; 2] = ["A naive client", "A correct client"];
/// Under it stands the picture.
const PICTURED: &str = "On the wire";

impl Handle {
    /// Selects a record and brings it into view; `about` is when it came, if it is not loaded.
    pub(super) fn show_record(self, id: RecordId, about: Option<Time>) {
        self.send(move |model| model.show_record(id, about));
    }

    fn mute(self, key: &str, reason: &str) {
        let (key, reason) = (key.to_owned(), reason.to_owned());
        self.send(move |model| model.change_muted(|muted| muted.add(&key, &reason)));
    }

    /// A banner was read.
    fn mark_read(self, raising: &str) {
        let raising = raising.to_owned();
        self.send(move |model| model.change_muted(|muted| muted.read(&raising)));
    }

    fn unmute(self, key: &str) {
        let key = key.to_owned();
        self.send(move |model| model.change_muted(|muted| muted.remove(&key)));
    }
}

impl Model {
    /// Shows or hides the findings.
    pub(super) fn toggle_findings(&mut self) {
        let panels = signals();
        let is_open = !panels.findings_open.get_untracked();
        if is_open {
            texts::ask(panels);
            if self.has_room_for_one() {
                publish(panels.watches_open, false);
                self.clear_selection();
            }
            publish(
                panels.board,
                findings::board(&self.store, &self.lanes.muted),
            );
            focus_soon(".findings");
        }
        panels.findings_open.set(is_open);
        if !is_open {
            self.focus_picture_soon();
        }
        self.redraw();
    }

    /// Writes what the panels show of findings and watches.
    pub(super) fn publish_findings(&self, now: Time) {
        let panels = signals();
        let muted = &self.lanes.muted;
        publish(panels.standing, findings::tally(&self.store, muted));
        publish(panels.restored, findings::restored(&self.store, muted));
        if panels.findings_open.get_untracked() {
            publish(panels.board, findings::board(&self.store, muted));
        }
        if panels.watches_open.get_untracked() {
            publish(panels.watches, self.table(now));
        }
    }

    /// Closes the panel that has the focus, if one has.
    pub(super) fn close_focused(&mut self) -> bool {
        let focused = elements().document.active_element();
        let is_in = |selector: &str| {
            let focused = focused.as_ref();
            focused.is_some_and(|focused| focused.closest(selector).ok().flatten().is_some())
        };
        if is_in(".findings") {
            self.toggle_findings();
        } else if is_in(".watches") {
            self.toggle_watches();
        } else {
            return false;
        }
        true
    }

    /// Leaves the panel where it covers the picture.
    pub(super) fn uncover(&mut self) {
        if self.has_room_for_one() && signals().findings_open.get_untracked() {
            publish(signals().findings_open, false);
            self.focus_picture_soon();
        }
    }

    /// Whether the window has no room for findings beside anything else.
    pub(super) fn has_room_for_one(&self) -> bool {
        let width = elements().window.inner_width().ok();
        width.and_then(|px| px.as_f64()) <= Some(COVERED_PX)
    }

    /// If nothing has the focus, the picture takes it.
    pub(super) fn keep_focus(&mut self) {
        let focused = elements().document.active_element();
        if focused.is_none_or(|focused| focused.tag_name() == "BODY") {
            self.focus_picture_soon();
        }
    }

    /// The picture takes the focus: outside the model, since the focus is an event that asks for it.
    pub(super) fn focus_picture_soon(&self) {
        focus_soon("canvas.chart");
    }

    /// What this browser muted before of the log that is shown.
    pub(super) fn recall_muted(&mut self) {
        let log = self.link.welcome.as_ref().map(|welcome| &welcome.log);
        if self.panels.muted_of.as_ref() == log {
            return;
        }
        self.panels.muted_of = log.cloned();
        let text = self
            .muted_storage()
            .and_then(|(storage, key)| storage.get_item(&key).ok()?);
        self.lanes.muted = text.map_or_else(Muted::default, |text| Muted::parse(&text));
        self.redraw();
    }

    /// Where that is kept; nowhere in a browser without storage, or before a log is known.
    fn muted_storage(&self) -> Option<(web_sys::Storage, String)> {
        let log = self.panels.muted_of.as_ref()?;
        let storage = elements().window.local_storage().ok()??;
        Some((storage, format!("{MUTED_KEY} {log}")))
    }

    fn change_muted(&mut self, change: impl FnOnce(&mut Muted)) {
        change(&mut self.lanes.muted);
        // Without storage it lasts as long as the page.
        if let Some((storage, key)) = self.muted_storage() {
            let _ = storage.set_item(&key, &self.lanes.muted.to_text());
        }
        self.publish_findings(self.now());
        self.redraw();
    }
}

/// Gives an element the focus once it is drawn.
pub(super) fn focus_soon(selector: &'static str) {
    request_animation_frame(move || {
        let found = document().query_selector(selector).ok().flatten();
        if let Some(element) = found
            && let Ok(element) = wasm_bindgen::JsCast::dyn_into::<web_sys::HtmlElement>(element)
        {
            let _ = element.focus();
        }
    });
}

/// The bar that tells of a cluster whose history began anew.
#[component]
pub(super) fn RestoredBanner(panels: Signals, handle: Handle) -> impl IntoView {
    move || {
        panels.restored.get().map(|restored| {
            let (raising, raised) = (restored.raising, restored.raised);
            let show = move |_| {
                handle.send(move |model| model.show_finding(raised));
            };
            view! {
                <div class="banner restored" role="alert" data-part="restored">
                    <p>{restored.words}</p>
                    <button on:click=show>"Show it"</button>
                    <button
                        title="Until it is raised anew; the finding stays"
                        on:click=move |_| handle.mark_read(&raising)
                    >
                        "Close"
                    </button>
                </div>
            }
        })
    }
}

/// The panel; nothing while it is closed.
#[component]
pub(super) fn FindingsPanel(panels: Signals, handle: Handle) -> impl IntoView {
    move || {
        let is_open = panels.findings_open.get();
        is_open.then(|| view! { <Open panels handle/> })
    }
}

#[component]
fn Open(panels: Signals, handle: Handle) -> impl IntoView {
    let board = panels.board;
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
                <button class="close" aria-label="Close" on:click=move |_| handle.act(Action::Findings)>"×"</button>
            </div>
            <div class="findings-body">
                {move || board.with(|board| board.standing.is_empty()).then(|| view! {
                    <p class="prose none">"No finding stands. A stream that ends on its timeout is none: it is what should happen."</p>
                })}
                <For
                    each=codes
                    key=|code| code.to_string()
                    children=move |code| view! { <GroupOf panels handle code/> }
                />
                {move || {
                    let muted = board.with(|board| board.muted.clone());
                    (!muted.is_empty()).then(|| view! { <MutedList handle muted/> })
                }}
                {move || {
                    let (over, more) = board.with(|board| (board.over.clone(), board.over_more));
                    (!over.is_empty()).then(|| view! { <OverList handle over more/> })
                }}
            </div>
        </aside>
    }
}

/// `1 error, 2 warnings · 60 clients · 1 muted · 3 over`.
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

/// What a correct client does is what there is to do.
pub(super) fn what_to_do(said: &Said) -> Option<String> {
    let mut parts = said.parts.iter();
    let found = parts.find(|(heading, _)| heading == SAID_FIRST[1]);
    found.map(|(_, text)| text.clone())
}

/// The findings of one code.
#[component]
fn GroupOf(panels: Signals, handle: Handle, code: Text) -> impl IntoView {
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
                    children=move |key| view! { <ItemOf group handle key/> }
                />
            </ul>
            {others}
            <Explained panels code/>
        </section>
    }
}

/// A finding about one subject.
#[component]
fn ItemOf(group: Memo<Option<Group>>, handle: Handle, key: String) -> impl IntoView {
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
            handle.send(move |model| model.show_finding(raised));
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
                        handle.send(move |model| model.show_evidence(raised, id, Some(since)));
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
        asks.get().then(|| view! { <MuteForm handle key asks/> })
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

/// Asks why, and mutes.
#[component]
fn MuteForm(handle: Handle, key: String, asks: RwSignal<bool>) -> impl IntoView {
    let reason = RwSignal::new(String::new());
    view! {
        <form
            class="mute-form"
            on:submit=move |event| {
                event.prevent_default();
                handle.mute(&key, &reason.get_untracked());
                focus_soon(".findings");
            }
            on:keydown=move |event| {
                if event.key() == "Escape" {
                    event.stop_propagation();
                    asks.set(false);
                    focus_soon(".findings");
                }
            }
        >
            <input
                type="text"
                autofocus
                autocomplete="off"
                maxlength="200"
                aria-label="Why it is muted"
                placeholder="Why? It stays in this browser only"
                prop:value=move || reason.get()
                on:input:target=move |event| reason.set(event.target().value())
            />
            <button type="submit" class="control">"Mute"</button>
            <button type="button" class="control" on:click=move |_| asks.set(false)>"Cancel"</button>
        </form>
    }
}

/// What a naive client would do and what to do; all else that is known of the row where it is asked for.
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
            // What a correct client does is what there is to do.
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
            {move || failed().then(|| view! {
                <p class="quiet">
                    "What to do could not be fetched. "
                    <button class="inline-action" on:click=move |_| texts::ask(panels)>"Try again"</button>
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

/// A row's picture, which opens at its full size; nothing if it cannot be had.
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
fn MutedList(handle: Handle, muted: Vec<MutedItem>) -> impl IntoView {
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
                    <button class="mute" on:click=move |_| handle.unmute(&key)>"Unmute"</button>
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
fn OverList(handle: Handle, over: Vec<Over>, more: u64) -> impl IntoView {
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
                        on:click=move |_| { handle.send(move |model| model.show_finding(raised)); }
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
