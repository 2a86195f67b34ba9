//! Saves the marked range as a file: what of it is not loaded is loaded first.

use watchscope_model::Time;
use watchscope_timeline::format;

use crate::core::effect::{Effect, PanelEffect};
use crate::core::model::Model;
use crate::core::panel_state::SavingRange;

/// Why a range is not saved that cannot be loaded whole.
const TOO_LONG: &str = "The range has more than this page can hold. Mark a shorter one.";

impl Model {
    /// The person wants the marked range as a file.
    pub(super) fn save_range(&mut self) {
        if let Some(range) = self.marked.range {
            self.panels.saving = Some((range, SavingRange::Loading));
            self.changed();
        }
    }

    /// What became of saving the range that is marked now.
    pub(super) fn saving(&self) -> SavingRange {
        let of_marked = |(range, _): &(_, _)| Some(*range) == self.marked.range;
        let saving = self.panels.saving.filter(of_marked);
        saving.map_or(SavingRange::Idle, |(_, saving)| saving)
    }

    /// Saves the marked range if it was asked for and all of it is loaded; else has the rest loaded.
    pub(super) fn go_on_saving(&mut self, (from, to): (Time, Time), is_loading: bool) {
        if self.saving() != SavingRange::Loading {
            return;
        }
        match self.load((from, to), is_loading) {
            Ok(false) => {}
            Ok(true) => {
                self.panels.saving = Some(((from, to), SavingRange::Making));
                self.want(Effect::Panel(PanelEffect::SaveRange { from, to }));
            }
            Err(why) => self.not_saved(why),
        }
    }

    /// Whether all of a range is loaded; else has the rest loaded, or says why it cannot be.
    pub(super) fn load(
        &mut self,
        (from, to): (Time, Time),
        is_loading: bool,
    ) -> Result<bool, &'static str> {
        if !is_loading {
            return Ok(true);
        }
        if self.store.backfill(from, to).is_none() {
            return Err(TOO_LONG);
        }
        self.link.also_loads = Some((from, to));
        self.changed();
        Ok(false)
    }

    /// The file is with the browser's downloads.
    pub(super) fn saved(&mut self, records: u64) {
        self.set_saving(SavingRange::Saved);
        self.say(format!("Saved {}.", format::count(records, "record")));
    }

    /// There is no file.
    pub(super) fn not_saved(&mut self, why: &str) {
        self.set_saving(SavingRange::Idle);
        self.trouble = Some(format!("The range was not saved. {why}"));
    }

    fn set_saving(&mut self, to: SavingRange) {
        if let Some((_, saving)) = &mut self.panels.saving {
            *saving = to;
        }
        self.changed();
    }
}
