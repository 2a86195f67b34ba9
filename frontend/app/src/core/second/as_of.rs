//! The moment for which panels answer. A click chooses it; returning to now clears it.

use watchscope_model::Time;
use watchscope_timeline::findings;
use watchscope_timeline::format;
use watchscope_timeline::store::{Known, Unknown};
use watchscope_timeline::words;

use crate::core::model::Model;
use crate::core::panel_state::KnownThen;
use crate::core::shown::{AsOfWords, Beside};

impl Model {
    /// Makes panels answer for a moment, at most now. Does nothing in a lesson, which has its own time.
    pub(super) fn mark_time(&mut self, at: Time) {
        if !self.panels.is_lesson {
            self.marked.as_of = Some(at.min(self.now()));
            self.redraw();
        }
    }

    /// Makes panels answer for a moment, if they answer for an earlier one. The record to which the person goes did not
    /// exist at the earlier one.
    pub(super) fn mark_no_earlier(&mut self, at: Time) {
        if self.moment().is_some_and(|moment| moment < at) {
            self.set_range(None);
            self.mark_time(at);
        }
    }

    /// Returns the moment for which panels answer; `None` for now. The end of a marked range takes precedence over a
    /// marked time.
    pub(super) fn moment(&self) -> Option<Time> {
        let end = self.marked.range.map(|(_, end)| end.min(self.now()));
        end.or(self.marked.as_of)
    }

    /// Looks up the state at that moment. A lookup that failed is repeated whenever the store changes.
    pub(super) fn look_up_then(&mut self, now: Time) {
        let Some(at) = self.moment() else {
            self.panels.then = None;
            return;
        };
        let version = self.store.version();
        let is_known =
            self.panels.then.as_ref().is_some_and(|then| {
                then.at == at && (then.found.is_ok() || then.version == version)
            });
        if !is_known {
            self.panels.then = Some(KnownThen {
                at,
                version,
                found: self.store.as_of(at, now),
            });
        }
    }

    /// Returns the state from which panels answer: the present one, or the one at the marked moment. `None` if that is
    /// unknown.
    pub(super) fn known(&self, now: Time) -> Option<Known<'_>> {
        match &self.panels.then {
            None => Some(Known::now(&self.store, now)),
            Some(then) => {
                let found = then.found.as_ref().ok()?;
                Some(found.known(&self.store))
            }
        }
    }

    /// Computes the moment for which panels answer, and what the detail shows of it.
    pub(super) fn publish_as_of(&mut self, now: Time) {
        self.look_up_then(now);
        let range = self.marked.range.is_some();
        self.shown.as_of = self.panels.then.as_ref().map(|then| AsOfWords {
            clock: format::clock(then.at),
            is_range: range,
            unknown: match &then.found {
                Ok(_) => None,
                Err(Unknown::NotLoaded) => Some("Its records are being loaded."),
                Err(Unknown::NotWatched) => Some("watchscope did not run then."),
                Err(Unknown::NotKept) => Some("Its records are no longer kept."),
            },
        });
        self.follow_detail(now);
    }

    /// Computes why the selected object is present or absent, the selection then and now, and the comparison with the
    /// cluster. The function comes with the third part of the page.
    pub fn update_detail(&mut self, now: Time) {
        self.follow_check();
        self.follow_presence(now);
        self.shown.beside = self.beside(now);
    }

    /// Returns the selection then and now; `None` while panels answer for now.
    fn beside(&self, now: Time) -> Option<Beside> {
        self.panels.then.as_ref()?;
        let selection = self.panels.selection.as_ref()?;
        let known_now = Known::now(&self.store, now);
        if let Some(evidence) = &self.pick.evidence {
            let then = self.known(now);
            return Some(Beside {
                then: then.and_then(|then| findings::stood(then, evidence.finding)),
                now: findings::stood(known_now, evidence.finding)?,
            });
        }
        let of_now = words::presence(known_now, selection.lane)?;
        let then = self.shown.presence.as_ref();
        let is_same =
            then.is_some_and(|then| (then.held, then.record) == (of_now.held, of_now.record));
        Some(Beside {
            then: None,
            now: if is_same {
                "The same.".to_owned()
            } else {
                of_now.answer
            },
        })
    }
}
