//! Asking watchscope to compare a watch, or one of its objects, with the cluster now, and telling what came of it.

use leptos::prelude::*;
use watchscope_timeline::words::{self, Check, Checked};

use super::signals::{Checking, Signals, publish, signals};
use crate::core::effect::Effect;
use crate::core::model::Model;
use crate::core::panel_state::Asked;
use crate::runtime::page::Handle;
use crate::source::connection::Status;

/// Where a comparison is over and told nothing.
const NOTHING_CAME: &str = "Nothing came of it. Ask again.";

impl Model {
    fn ask_for(&mut self, check: &Check) {
        let command = self
            .link
            .connection
            .command("audit", check.argument.clone());
        let Some((command, ask)) = command else {
            self.say("Not connected: nothing can be compared now.".to_owned());
            return;
        };
        self.want(Effect::Link(ask));
        // What is said now is of this comparison.
        self.trouble = None;
        self.panels.asked = Some(Asked {
            lane: check.lane,
            after: self.store.head(),
            command,
        });
        let asked = Checking::Of {
            lane: check.lane,
            found: None,
            is_over: false,
        };
        publish(signals().checking, asked);
    }

    /// Tells what came of the comparison that was asked for so far, and aloud what came of it in the end.
    pub(super) fn follow_check(&mut self) {
        let Some(Asked {
            lane,
            after,
            command,
        }) = self.panels.asked
        else {
            return;
        };
        if self.trouble.is_some() {
            self.panels.asked = None;
            publish(signals().checking, Checking::Idle);
            return;
        }
        let is_lost = matches!(self.link.connection.status(), Status::NotConnected { .. });
        let is_over = is_lost || self.link.done == Some(command);
        let found = words::checked(&self.store, lane, after);
        if is_over {
            self.panels.asked = None;
            self.say(match &found {
                Some(found) => found.words.clone(),
                None => NOTHING_CAME.to_owned(),
            });
        }
        let checking = Checking::Of {
            lane,
            found,
            is_over,
        };
        publish(signals().checking, checking);
    }
}

/// The button that asks, and what came of it.
#[component]
pub(super) fn CheckNow(check: Check, panels: Signals, handle: Handle) -> impl IntoView {
    let lane = check.lane;
    let offer = check.offer;
    let state = move || {
        let Checking::Of {
            lane: of,
            found,
            is_over,
        } = panels.checking.get()
        else {
            return ().into_any();
        };
        if of != lane {
            return ().into_any();
        }
        let Some(Checked {
            record,
            words,
            so_far,
        }) = found
        else {
            let words = if is_over {
                NOTHING_CAME
            } else {
                "Comparing…"
            };
            return view! { <span class="quiet">{words}</span> }.into_any();
        };
        let going = (!is_over).then(|| view! { <span class="quiet">"Still comparing: "</span> });
        view! {
            {going}
            <button
                class="inline-action"
                title="Show the record"
                on:click=move |_| {
                    handle.send(move |model| model.show_record(record, None));
                }
            >
                {if is_over { words } else { so_far }}
            </button>
        }
        .into_any()
    };
    view! {
        <span class="check">
            <button
                class="control"
                title="Compares it with etcd at one resourceVersion"
                on:click=move |_| {
                    let check = check.clone();
                    handle.send(move |model| model.ask_for(&check));
                }
            >
                {offer}
            </button>
            {state}
        </span>
    }
}
