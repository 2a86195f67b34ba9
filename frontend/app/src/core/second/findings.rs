//! The panels of findings and watches: whether they are open, their contents, and muted findings.

use watchscope_model::{Time, WatchName};
use watchscope_timeline::findings::{self, Muted};
use watchscope_timeline::health::{self, COLUMNS, HealthRow};
use watchscope_timeline::store::Known;

use crate::core::effect::{Effect, Focus, Kept, PanelEffect};
use crate::core::model::Model;
use crate::core::person::FocusedPanel;
use crate::core::table::TableDeed;

/// Windows up to this width, in px, have no room for a panel beside the picture. A person who goes to a record then
/// leaves the panel. panels.css has the same number.
const COVERED_PX: f64 = 1_000.0;

impl Model {
    /// Opens or closes the panel of findings.
    pub(super) fn toggle_findings(&mut self) {
        let is_open = !self.panels.findings_open;
        self.panels.findings_open = is_open;
        if is_open {
            self.want(Effect::Panel(PanelEffect::FetchTexts));
            if self.has_room_for_one() {
                self.panels.watches_open = false;
                self.panels.notes.is_open = false;
                self.close_tables();
                self.clear_selection();
            }
            self.publish_findings(self.now());
            self.focus_soon(Focus::Findings);
        } else {
            self.focus_soon(Focus::Picture);
        }
        self.redraw();
    }

    /// Opens or closes the table of watches, which takes the place of the detail panel.
    pub(super) fn toggle_watches(&mut self) {
        let is_open = !self.panels.watches_open;
        self.panels.watches_open = is_open;
        if is_open {
            self.panels.notes.is_open = false;
            self.close_tables();
            if self.has_room_for_one() {
                self.panels.findings_open = false;
            }
            self.publish_findings(self.now());
            self.focus_soon(Focus::Watches);
        } else {
            self.focus_soon(Focus::Picture);
        }
        self.redraw();
    }

    /// Counts the standing findings for the header, and fills both panels.
    pub(super) fn publish_findings(&mut self, now: Time) {
        let muted = &self.lanes.muted;
        let known = self.known(now);
        let standing = known.map(|known| findings::tally(known, muted));
        self.shown.restored = findings::restored(&self.store, muted);
        self.shown.standing = standing.unwrap_or_default();
        if let Some(late) = self.late {
            (late.findings)(self, now);
        }
    }

    /// Computes the contents of both panels, if they are open. The function comes with the third part of the page.
    pub fn fill_findings(&mut self, now: Time) {
        let muted = &self.lanes.muted;
        let known = self.known(now);
        let board = known.filter(|_| self.panels.findings_open);
        let board = board.map(|known| findings::board(known, muted));
        let watches = known.filter(|_| self.panels.watches_open);
        let watches = watches.map(|known| self.table(known));
        self.shown.board = board.unwrap_or_default();
        self.shown.watches = watches.unwrap_or_default();
    }

    /// Closes a panel.
    pub(super) fn close(&mut self, panel: FocusedPanel) {
        match panel {
            FocusedPanel::Findings => self.toggle_findings(),
            FocusedPanel::Watches => self.toggle_watches(),
            FocusedPanel::Notes => self.toggle_notes(),
            FocusedPanel::Tables => self.tables(TableDeed::Toggle),
        }
    }

    /// Closes the panel of findings if it covers the picture.
    pub(super) fn uncover(&mut self) {
        if self.has_room_for_one() && self.panels.findings_open {
            self.panels.findings_open = false;
            self.focus_soon(Focus::Picture);
        }
    }

    /// Whether the window is too narrow for the findings beside anything else.
    pub(super) fn has_room_for_one(&self) -> bool {
        self.screen.window.width_px <= COVERED_PX
    }

    pub(super) fn focus_soon(&mut self, focus: Focus) {
        self.want(Effect::Panel(PanelEffect::FocusSoon(focus)));
    }

    /// Returns the table of watches in its order.
    fn table(&self, known: Known<'_>) -> Vec<HealthRow> {
        let mut rows = health::table(known, &self.lanes.muted);
        health::sort(&mut rows, self.panels.order);
        rows
    }

    /// Sorts the table by a column. The same column again reverses the order.
    pub(super) fn sort_watches(&mut self, column: usize) {
        let Some((name, _)) = COLUMNS.get(column) else {
            return;
        };
        let order = self.panels.order.pressed(column);
        self.panels.order = order;
        self.publish_findings(self.now());
        let direction = if order.falling { "falling" } else { "rising" };
        self.say(format!("Sorted by {name}, {direction}."));
    }

    /// Selects the lane of a watch and scrolls to it. The table stays open.
    pub(super) fn frame_watch(&mut self, watch: &WatchName) {
        if let Some(lane) = self.store.find_lane(watch, None) {
            self.pick.selected = Some(lane);
            self.pick.record = None;
            self.pick.evidence = None;
            self.focus_lane(lane);
            self.pick.stays_in_sight = true;
        }
    }

    /// Recalls the muted findings of the shown log from the browser, if the log has changed.
    pub(super) fn recall_muted(&mut self) {
        let log = self.link.welcome.as_ref().map(|welcome| &welcome.log);
        if self.panels.muted_of.as_ref() == log {
            return;
        }
        self.panels.muted_of = log.cloned();
        self.lanes.muted = Muted::default();
        self.redraw();
        if let Some(log) = self.panels.muted_of.clone() {
            self.want(Effect::Panel(PanelEffect::Recall(Kept::Muted(log))));
        }
    }

    /// Takes the muted findings, as the browser kept them.
    pub(super) fn muted_before(&mut self, text: Option<&str>) {
        self.lanes.muted = text.map_or_else(Muted::default, Muted::parse);
        self.gather_troubles(self.now());
        self.publish_problems(self.now());
        self.publish_findings(self.now());
    }

    /// Changes the muted findings, and keeps them in the browser.
    pub(super) fn change_muted(&mut self, change: impl FnOnce(&mut Muted)) {
        change(&mut self.lanes.muted);
        if let Some(log) = self.panels.muted_of.clone() {
            self.keep(Kept::Muted(log), self.lanes.muted.to_text());
        }
        self.gather_troubles(self.now());
        self.publish_problems(self.now());
        self.publish_findings(self.now());
    }
}
