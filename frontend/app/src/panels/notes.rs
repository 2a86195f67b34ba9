//! The notes panel: the notes of persons by time, and the form that writes one. A person's text is always a text node.

use js_sys::Uint8Array;
use leptos::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use watchscope_model::notes::MAX_NOTE_BYTES;
use watchscope_timeline::format::{count, number};
use web_sys::KeyboardEvent;

use super::bodies;
use super::events::grip_detail;
use super::signals::Signals;
use crate::core::notes::{NoteDeed, NoteForm, NoteRow};
use crate::core::person::Person;
use crate::input::actions::Action;
use crate::runtime::bridge;
use crate::runtime::page::act;

/// The form shows the remaining bytes once they are fewer than this.
const NEARLY_FULL_BYTES: usize = 400;

/// Fetches the notes of all runs, from the open file or from the server.
pub(super) fn fetch() {
    spawn_local(async {
        let bytes = match bridge::notes() {
            Ok(read) => {
                let read = JsFuture::from(read).await;
                read.ok().map(|bytes| Uint8Array::new(&bytes).to_vec())
            }
            Err(_) => bodies::bytes("api/notes?form=block").await,
        };
        if let Some(bytes) = bytes {
            act(Person::NotesCame(bytes.into()));
        }
    });
}

fn does(deed: NoteDeed) {
    act(Person::Note(deed));
}

/// The button of the header that opens the panel.
#[component]
pub(super) fn NotesButton(panels: Signals) -> impl IntoView {
    let notes = panels.notes;
    let many = move || notes.with(|notes| notes.count);
    view! {
        <button
            class="control"
            data-part="notes-button"
            aria-expanded=move || panels.notes_open.get().to_string()
            aria-keyshortcuts="O"
            title="Notes that people wrote; M writes one"
            on:click=|_| act(Person::Act(Action::Notes))
        >
            "Notes"
            {move || (many() > 0).then(|| view! { <b class="tally">{number(many() as u64)}</b> })}
        </button>
    }
}

/// The button of the marked range that writes a note about it.
#[component]
pub(super) fn NoteOnRange() -> impl IntoView {
    view! {
        <button
            class="control"
            data-part="note-range"
            aria-keyshortcuts="Shift+M"
            title="Write a note about this range"
            on:click=|_| act(Person::Act(Action::WriteNoteOnRange))
        >
            "Note " <kbd aria-hidden="true">"Shift M"</kbd>
        </button>
    }
}

/// Shows the label of the row of flags in the tree, while there is such a row.
#[component]
pub(super) fn FlagsLabel(panels: Signals) -> impl IntoView {
    let notes = panels.notes;
    let has_flags = Memo::new(move |_| notes.with(|notes| notes.has_flags));
    let many = move || notes.with(|notes| notes.count);
    move || {
        has_flags.get().then(|| {
            view! {
                <button
                    class="flags-label"
                    data-part="flags"
                    title="Show the notes"
                    on:click=move |_| if !panels.notes_open.get_untracked() {
                        act(Person::Act(Action::Notes));
                    }
                >
                    <b>"Notes"</b>
                    <span class="quiet">{move || (many() > 0).then(|| number(many() as u64))}</span>
                </button>
            }
        })
    }
}

/// Shows the panel while it is open.
#[component]
pub(super) fn NotesPanel(panels: Signals) -> impl IntoView {
    move || {
        let is_open = panels.notes_open.get();
        is_open.then(|| view! { <Open panels/> })
    }
}

#[component]
fn Open(panels: Signals) -> impl IntoView {
    let notes = panels.notes;
    // Memos stand only where a view would be made again: each adds some kB.
    let many = move || notes.with(|notes| notes.count);
    let is_closed = move || notes.with(|notes| notes.is_closed);
    let writes =
        Memo::new(move |_| notes.with(|notes| notes.form.as_ref().map(|form| form.number)));
    let ids =
        move || -> Vec<u32> { notes.with(|notes| notes.rows.iter().map(|row| row.id).collect()) };
    view! {
        <section class="detail notes" aria-label="Notes">
            <div
                class="detail-grip"
                aria-hidden="true"
                on:pointerdown=|event| grip_detail(&event)
            ></div>
            <div class="detail-head">
                <h2>"Notes"</h2>
                <span class="what">{move || count(many() as u64, "note")}</span>
                <span class="quiet keeping" data-part="notes-keeping">{move || notes.with(|notes| notes.keeping)}</span>
                <span class="space"></span>
                {move || (!is_closed() && writes.get().is_none()).then(|| view! {
                    <button
                        class="control"
                        data-part="write-note"
                        aria-keyshortcuts="M"
                        on:click=|_| act(Person::Act(Action::WriteNote))
                    >
                        "Write a note " <kbd aria-hidden="true">"M"</kbd>
                    </button>
                })}
                <button class="close" aria-label="Close" on:click=|_| act(Person::Act(Action::Notes))>"×"</button>
            </div>
            <div class="detail-body" class:writes=move || writes.get().is_some() tabindex="0" role="region" aria-label="List of notes">
                {move || writes.get().map(|_| view! { <Form panels/> })}
                <div class="note-column">
                    {move || notes.with(|notes| notes.trouble.clone()).map(|trouble| view! {
                        <p class="prose note-trouble" role="alert" data-part="notes-trouble">{trouble}</p>
                    })}
                    {move || (many() == 0 && writes.get().is_none() && !is_closed()).then(|| view! {
                        <p class="prose none">
                            "No notes. "
                            <span class="by-keys">
                                <kbd>"M"</kbd> " writes one about the moment that panels answer for, or under the pointer; "
                                <kbd>"Shift M"</kbd> " about the marked range. "
                            </span>
                            "Every viewer of this log sees it."
                        </p>
                    })}
                    {move || {
                        let earlier = notes.with(|notes| notes.count.saturating_sub(notes.rows.len()));
                        (earlier > 0).then(|| view! {
                            <p class="prose none">{format!("{} before these.", count(earlier as u64, "note"))}</p>
                        })
                    }}
                    <ol class="note-list">
                        <For
                            each=ids
                            key=|id| *id
                            children=move |id| view! { <RowOf panels id/> }
                        />
                    </ol>
                </div>
            </div>
        </section>
    }
}

/// Shows a note.
#[component]
fn RowOf(panels: Signals, id: u32) -> impl IntoView {
    let row = Memo::new(move |_| -> Option<NoteRow> {
        panels.notes.with(|notes| {
            let mut rows = notes.rows.iter();
            rows.find(|row| row.id == id).cloned()
        })
    });
    let read = move |read: fn(&NoteRow) -> String| row.with(|row| row.as_ref().map(read));
    let some = move |of: fn(&NoteRow) -> String| read(of).filter(|text| !text.is_empty());
    let is_selected = move || row.with(|row| row.as_ref().is_some_and(|row| row.is_selected));
    let is_closed = move || panels.notes.with(|notes| notes.is_closed);
    let asks = RwSignal::new(false);
    let tools = move || {
        if is_closed() {
            return ().into_any();
        }
        if asks.get() {
            return view! {
                <span class="quiet">"Withdraw it, for everybody?"</span>
                <button class="mute" data-part="withdraw-yes" on:click=move |_| {
                    asks.set(false);
                    does(NoteDeed::Withdraw(id));
                }>"Withdraw"</button>
                <button class="mute" on:click=move |_| asks.set(false)>"Keep"</button>
            }
            .into_any();
        }
        view! {
            <button class="mute" data-part="edit-note" on:click=move |_| does(NoteDeed::Edit(id))>"Edit"</button>
            <button class="mute" data-part="withdraw-note" on:click=move |_| asks.set(true)>"Withdraw"</button>
        }
        .into_any()
    };
    view! {
        <li class="note-row" class:selected=is_selected data-note=move || read(|row| row.number.to_string())>
            <span class="flag" aria-hidden="true">{move || read(|row| number(u64::from(row.number)))}</span>
            <span class="note-time">
                <b>{move || read(|row| row.time.clone())}</b>
                {move || row.with(|row| row.as_ref().and_then(|row| row.until.clone()))
                    .map(|until| view! { <span class="quiet">{until}</span> })}
            </span>
            <div class="note-said">
                <button
                    class="note-heading"
                    title="Go to the time that it is about"
                    on:click=move |_| does(NoteDeed::Show(id))
                >
                    <span class="unseen">{move || read(|row| format!("Note {}, {}: ", row.number, row.time))}</span>
                    {move || read(|row| row.heading.clone())}
                </button>
                {move || some(|row| row.rest.clone()).map(|rest| view! { <p class="note-rest">{rest}</p> })}
            </div>
            <span class="note-about">{move || read(|row| row.about.clone())}</span>
            <span class="note-foot">
                {move || some(|row| row.written.clone()).map(|written| view! { <span class="quiet">{written}</span> })}
                {tools}
            </span>
        </li>
    }
}

/// Handles the form's keys. The page's other keys have no effect in it.
fn key(event: &KeyboardEvent) {
    event.stop_propagation();
    // While an input method composes a word, Enter and Escape belong to it.
    if event.is_composing() {
        return;
    }
    match event.key().as_str() {
        "Enter" if event.ctrl_key() || event.meta_key() => {
            event.prevent_default();
            does(NoteDeed::Save);
        }
        "Escape" => {
            event.prevent_default();
            does(NoteDeed::Cancel);
        }
        _ => {}
    }
}

/// Shows the form of the draft.
#[component]
fn Form(panels: Signals) -> impl IntoView {
    let notes = panels.notes;
    let begun = notes.with_untracked(|notes| notes.form.clone());
    let (text, is_change) = begun.map_or_else(Default::default, |form| (form.text, form.is_change));
    let of = move |read: fn(&NoteForm) -> String| notes.with(|notes| notes.form.as_ref().map(read));
    let is_saving =
        move || notes.with(|notes| notes.form.as_ref().is_some_and(|form| form.is_saving));
    // Typing does not make the buttons again.
    let about = Memo::new(move |_| {
        notes.with(|notes| {
            let form = notes.form.as_ref()?;
            Some((form.choices.clone(), form.about))
        })
    });
    let refusal = move || notes.with(|notes| notes.form.as_ref()?.refusal.clone());
    let left = move || {
        let bytes = notes.with(|notes| notes.form.as_ref().map_or(0, |form| form.text.len()));
        MAX_NOTE_BYTES as i64 - bytes as i64
    };
    let choices = move || {
        let (choices, chosen) = about.get()?;
        let last = choices.len() - 1;
        let buttons = choices.into_iter().enumerate().map(move |(place, words)| {
            view! {
                <button
                    type="button"
                    class="control"
                    aria-pressed=(place == chosen).to_string()
                    disabled=last == 0
                    on:click=move |_| does(NoteDeed::About(place))
                >
                    {words}
                </button>
            }
        });
        Some(buttons.collect_view())
    };
    view! {
        <form
            class="note-form"
            aria-label=if is_change { "Change a note" } else { "Write a note" }
            on:submit=|event| {
                event.prevent_default();
                does(NoteDeed::Save);
            }
            on:keydown=|event| key(&event)
        >
            <p class="note-when">
                <b>{if is_change { "Change the note" } else { "New note" }}</b>
                <span class="figures">{move || of(|form| form.time.clone())}</span>
            </p>
            <textarea
                aria-label="Its text; the first line is the heading"
                placeholder="The first line is the heading"
                spellcheck="true"
                prop:value=text
                readonly=is_saving
                on:input:target=|event| does(NoteDeed::Typed(event.target().value().into()))
            ></textarea>
            <div class="note-choices" role="group" aria-label="What it is about">
                <span class="quiet">"About"</span>
                {choices}
            </div>
            {move || refusal().map(|refusal| view! {
                <p class="note-refusal" role="alert" data-part="note-refusal">{refusal}</p>
            })}
            <div class="note-buttons">
                <button type="submit" class="control first" disabled=is_saving>
                    {move || if is_saving() { "Saving…" } else { "Save" }}
                    <kbd aria-hidden="true">"Ctrl Enter"</kbd>
                </button>
                <button type="button" class="control" on:click=|_| does(NoteDeed::Cancel)>
                    "Cancel " <kbd aria-hidden="true">"Esc"</kbd>
                </button>
                <span class="space"></span>
                {move || {
                    let left = left();
                    let is_over = left < 0;
                    (left < NEARLY_FULL_BYTES as i64).then(|| {
                        let words = if is_over {
                            format!("{} too long", count(left.unsigned_abs(), "byte"))
                        } else {
                            format!("{} left", count(left.unsigned_abs(), "byte"))
                        };
                        view! { <span class="quiet" class:warn=is_over>{words}</span> }
                    })
                }}
            </div>
        </form>
    }
}
