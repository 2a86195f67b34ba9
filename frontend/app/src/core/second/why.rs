//! "Why": the steps that explain the selection. The function comes with the third part of the page.

use watchscope_timeline::LaneId;
use watchscope_timeline::why::verdict_of;
use watchscope_timeline::words::why_words;

use crate::core::model::Model;
use crate::core::panel_state::Tab;

impl Model {
    /// Finds the steps that explain the selection. If the person asked for them or has the tab open, shows them.
    pub fn explain_selection(&mut self, is_asked: bool) {
        let selection = self.panels.selection.as_ref();
        let of = selection.map(|selection| (selection.record(), selection.lane));
        let found = of.and_then(|(record, lane)| {
            let found = record.and_then(|record| why_words(&self.store, record));
            found.or_else(|| why_words(&self.store, verdict_of(&self.store, lane)?))
        });
        let has_steps = found.is_some();
        if let Some(detail) = &mut self.shown.detail {
            detail.why = found;
        }
        if has_steps && self.panels.tab == Tab::Why {
            self.open_inside_for_steps();
            self.show_tab(Tab::Why);
        } else if is_asked {
            self.panels.tab = Tab::Event;
            let words = "Nothing to explain here. Select a ghost, a stale or missing object, a gap, a jump, a relist or a finding.";
            self.say(words.to_owned());
        }
    }

    /// Opens the layers of a simulated cluster if a step lies in one.
    fn open_inside_for_steps(&mut self) {
        let detail = self.shown.detail.as_ref();
        let steps = detail.and_then(|detail| detail.why.as_ref());
        let mut steps = steps.into_iter().flat_map(|why| &why.items);
        let is_inside = steps.any(|step| matches!(step.place, Some((LaneId::Layer(_), _))));
        if is_inside && let Some(LaneId::Layer(all)) = self.lane_of_key("inside") {
            self.lanes.set_layer_open(&self.store, all, true);
        }
    }
}
