//! The moment that panels answer for: chosen by a click, let go of by going back to now.

use watchscope_model::Time;
use watchscope_timeline::findings;
use watchscope_timeline::format;
use watchscope_timeline::store::{Known, Unknown};
use watchscope_timeline::words;

use crate::core::model::Model;
use crate::core::panel_state::KnownThen;
use crate::core::shown::{AsOfWords, Beside};

impl Model {
    /// Panels answer for a moment from now on. A lesson has a time of its own.
    pub(super) fn mark_time(&mut self, at: Time) {
        if !self.panels.is_lesson {
            self.marked.as_of = Some(at.min(self.now()));
            self.redraw();
        }
    }

    /// Panels answer for a moment from now on, if they answer for an earlier one: what is gone to was not yet so then.
    pub(super) fn mark_no_earlier(&mut self, at: Time) {
        if self.moment().is_some_and(|moment| moment < at) {
            self.marked.range = None;
            self.mark_time(at);
        }
    }

    /// The moment that panels answer for, unless it is now: a range beats a marked time.
    pub(super) fn moment(&self) -> Option<Time> {
        let end = self.marked.range.map(|(_, end)| end.min(self.now()));
        end.or(self.marked.as_of)
    }

    /// Looks up what was known then. What is not loaded yet is looked up again once more of the log is here.
    fn look_up_then(&mut self, now: Time) {
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

    /// What panels answer from: all that is known now, or what was known at the marked moment; nothing where that is not
    /// known.
    pub(super) fn known(&self, now: Time) -> Option<Known<'_>> {
        match &self.panels.then {
            None => Some(Known::now(&self.store, now)),
            Some(then) => {
                let found = then.found.as_ref().ok()?;
                Some(found.known(&self.store))
            }
        }
    }

    /// Writes for which moment panels answer, and what is selected then and now.
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
                Err(Unknown::NotKept) => Some("Its records are kept no longer."),
            },
        });
        self.follow_presence(now);
        self.shown.beside = self.beside(now);
    }

    /// What is selected, then and now.
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
