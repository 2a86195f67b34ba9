//! Asking watchscope to compare a watch, or one of its objects, with the cluster now, and telling what came of it.

use leptos::prelude::*;
use watchscope_model::Time;
use watchscope_timeline::words::{self, Check};
use watchscope_timeline::{LaneId, RecordId};

use super::super::engine::{Engine, Handle};
use super::super::way;
use super::signals::{Checking, Panels, publish};
use crate::source::connection::Effect;

/// A comparison that was asked for.
#[derive(Debug)]
pub(super) struct Asked {
    lane: LaneId,
    /// The newest record then: the answer comes after it.
    after: Option<RecordId>,
}

impl Engine {
    fn ask_for(&mut self, check: &Check) {
        let command = self.connection.command("audit", check.argument.clone());
        let Some((_, Effect::Send(bytes))) = command else {
            self.say("Not connected: nothing can be compared now.".to_owned());
            return;
        };
        way::send(&bytes);
        // What is said now is of this comparison.
        self.trouble = None;
        self.desk.asked = Some(Asked {
            lane: check.lane,
            after: self.store.head(),
        });
        publish(self.panels().checking, Checking::Asked(check.lane));
        self.say("Comparing with the cluster.".to_owned());
    }

    /// Tells what came of the comparison that was asked for, once it did.
    pub(super) fn follow_check(&mut self, now: Time) {
        let Some(asked) = &self.desk.asked else {
            return;
        };
        let lane = asked.lane;
        if self.trouble.is_some() {
            self.desk.asked = None;
            publish(self.panels().checking, Checking::Idle);
            return;
        }
        let Some((record, words)) = words::checked(&self.store, lane, asked.after) else {
            return;
        };
        self.desk.asked = None;
        let presence = words::presence(&self.store, lane, now);
        self.panels().detail.update(|detail| {
            if let Some(detail) = detail
                && detail
                    .check
                    .as_ref()
                    .is_some_and(|check| check.lane == lane)
            {
                detail.presence = presence;
            }
        });
        self.say(words.clone());
        let done = Checking::Done {
            lane,
            record,
            words,
        };
        publish(self.panels().checking, done);
    }
}

/// The button that asks, and what came of it.
#[component]
pub(super) fn CheckNow(check: Check, panels: Panels, handle: Handle) -> impl IntoView {
    let lane = check.lane;
    let offer = check.offer;
    let state = move || match panels.checking.get() {
        Checking::Asked(of) if of == lane => {
            view! { <span class="quiet">"Comparing…"</span> }.into_any()
        }
        Checking::Done {
            lane: of,
            record,
            words,
        } if of == lane => view! {
            <button
                class="inline-action"
                title="Show the record"
                on:click=move |_| {
                    handle.with(|engine| engine.show_record(record, None));
                }
            >
                {words}
            </button>
        }
        .into_any(),
        _ => ().into_any(),
    };
    view! {
        <span class="check">
            <button
                class="control"
                title="Compares it with etcd at one resourceVersion"
                on:click=move |_| { handle.with(|engine| engine.ask_for(&check)); }
            >
                {offer}
            </button>
            {state}
        </span>
    }
}
