//! Dispatches the actions that only panels of the third part send. The third part of the page has this code.

use crate::core::model::Model;
use crate::core::person::Person;

impl Model {
    /// Handles an action of such a panel; does nothing for other actions.
    pub fn person_of_panel(&mut self, person: Person) {
        match person {
            Person::StepOccurrence { is_next } => self.step_occurrence(is_next),
            Person::ShowEvidence {
                finding,
                record,
                since,
            } => self.show_evidence(finding, record, since),
            Person::ShowTab(tab) => self.show_tab(tab),
            Person::SeekBy { by_us } => self.seek_by(by_us),
            Person::Compare(lane) => self.ask_for(lane),
            Person::FrameWatch(watch) => self.frame_watch(&watch),
            Person::SortWatches(column) => self.sort_watches(column),
            Person::Mute { key, reason } => self.change_muted(|muted| muted.add(&key, &reason)),
            Person::Unmute(key) => self.change_muted(|muted| muted.remove(&key)),
            Person::MarkRead(raising) => self.change_muted(|muted| muted.read(&raising)),
            _ => {}
        }
    }
}
