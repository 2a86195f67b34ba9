//! The input of the dialogs of exports and charts: what can be exported, and the records of a range once they are
//! loaded.

use watchscope_model::Time;
use watchscope_timeline::words;

use crate::core::effect::{Effect, PanelEffect};
use crate::core::model::Model;
use crate::core::shown::Exportable;

/// The reason why a range is not exported: the page cannot load all of it.
const TOO_LONG: &str = "the range has more than this page can hold";

impl Model {
    /// Returns what can be exported; `None` before the first record.
    #[must_use]
    pub fn exportable(&self) -> Option<Exportable> {
        let (begin, last) = self.store.loaded()?;
        // In a live log, the page knows that no record has come until now. A recording ends with its last record.
        let end = match self.recording() {
            Some(_) => last,
            None => last.max(self.now()),
        };
        let loaded = (begin, end);
        let within = |(from, to): (Time, Time)| (from.max(loaded.0), to.min(loaded.1));
        let summary = &self.shown.summary;
        Some(Exportable {
            notes: self.store.notes().standing().len(),
            cluster: summary.cluster.clone(),
            namespaces: summary.namespaces.clone(),
            marked: self.marked.range,
            view: within((self.view.left(), self.view.right())),
            loaded,
            choices: self.lanes.choices(),
            filter: self.lanes.filter().to_owned(),
        })
    }

    /// Opens the export dialog.
    pub(super) fn open_export(&mut self, as_recording: bool) {
        self.want(Effect::Panel(PanelEffect::OpenExport { as_recording }));
    }

    /// Notes that a dialog requests the records of a range. A later request replaces it.
    pub(super) fn take_range(&mut self, from: Time, to: Time) {
        self.panels.taking = Some((from, to));
        self.changed();
    }

    /// Hands over the requested records once all of them are loaded. Otherwise requests the rest, or refuses a range
    /// that cannot be loaded completely.
    pub(super) fn go_on_taking(&mut self, now: Time) {
        let Some((from, to)) = self.panels.taking else {
            return;
        };
        let is_loading = words::is_loading(&self.store, (from, to), now);
        let effect = if !is_loading {
            PanelEffect::HandRange { from, to }
        } else if self.store.backfill(from, to).is_some() {
            self.link.also_loads = Some((from, to));
            self.changed();
            return;
        } else {
            PanelEffect::RefuseRange(TOO_LONG)
        };
        self.panels.taking = None;
        self.want(Effect::Panel(effect));
    }
}
