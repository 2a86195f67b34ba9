//! Comparisons of a watch, or one of its objects, with the cluster: requests them and shows their results.

use watchscope_timeline::LaneId;
use watchscope_timeline::words;

use crate::core::effect::Effect;
use crate::core::model::Model;
use crate::core::panel_state::Asked;
use crate::core::shown::{Checking, NOTHING_CAME};
use crate::source::connection::Status;

impl Model {
    /// Requests the comparison that a lane offers.
    pub(super) fn ask_for(&mut self, lane: LaneId) {
        let Some(check) = words::check(&self.store, lane) else {
            return;
        };
        let command = self.link.connection.command("audit", check.argument);
        let Some((command, ask)) = command else {
            self.say("Not connected: nothing can be compared now.".to_owned());
            return;
        };
        self.want(Effect::Link(ask));
        // An error from now on belongs to this comparison.
        self.trouble = None;
        self.panels.asked = Some(Asked {
            lane,
            after: self.store.head(),
            command,
        });
        self.shown.checking = Checking::Of {
            lane,
            found: None,
            is_over: false,
        };
    }

    /// Shows the result so far of the pending comparison, and announces the final one in the live region.
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
            self.shown.checking = Checking::Idle;
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
        self.shown.checking = Checking::Of {
            lane,
            found,
            is_over,
        };
    }
}
