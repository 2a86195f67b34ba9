//! The place in the address bar. The page writes it as the person moves, and goes to a place that a link or the
//! browser's buttons name.

use watchscope_model::id::LogId;
use watchscope_timeline::scene::Target;
use watchscope_timeline::{LaneId, RecordId, View, format, words};

use crate::core::cursors::CursorDeed;
use crate::core::effect::{Effect, PanelEffect};
use crate::core::model::Model;
use crate::core::palette::{PaletteDeed, RECENT_MOST, Recent};
use crate::core::panel_state::Selection;
use crate::core::place::Place;
use crate::core::screen::ThemeChoice;
use crate::core::table::TableDeed;

/// The least time between two updates of the address for moves within a place, in milliseconds. Browsers refuse more
/// than 100 updates in 30 s.
const WRITE_MS: u64 = 1_000;
/// The time after which the page reports that a link's destination is missing, in milliseconds. It starts when nothing
/// more is being loaded.
const PATIENCE_MS: u64 = 5_000;

impl Model {
    /// Returns the person's present place.
    fn place(&self) -> Place {
        let selection = self.panels.selection.as_ref();
        let record = selection.and_then(Selection::record);
        Place {
            log: self.log().cloned(),
            range: (!self.view.following).then(|| (self.view.left(), self.view.right())),
            at: self.marked.as_of,
            marked: self.marked.range,
            cursors: self.marked.cursors,
            filter: self.panels.filter.clone(),
            setup: self.lanes.setup().clone(),
            lane: selection.map(|selection| self.store.lane_key(selection.lane)),
            record: record.and_then(|id| Some((self.store.epoch_of(id)?.clone(), id.seq))),
            has_findings: self.panels.findings_open,
            has_watches: self.panels.watches_open,
            table: self.panels.table_link.clone(),
            find: String::new(),
            theme: self.screen.theme,
        }
    }

    /// Returns the log that the page shows.
    fn log(&self) -> Option<&LogId> {
        self.link.welcome.as_ref().map(|welcome| &welcome.log)
    }

    /// Notes that the person leaves this place for a new one, so that the browser's back button leads here.
    pub(super) fn leave_place(&mut self) {
        if !self.panels.address.is_new {
            self.write_address(false);
            self.panels.address.is_new = true;
        }
    }

    /// Makes the address bar name this place at once. A view that follows now becomes a fixed range in it.
    pub(super) fn name_place(&mut self) {
        let place = Place {
            range: Some((self.view.left(), self.view.right())),
            ..self.place()
        };
        self.write_place(&place, false);
    }

    /// Makes the address bar name the person's place, if that is due.
    pub(super) fn publish_address(&mut self) {
        self.follow_link();
        let address = &self.panels.address;
        let is_due = self.now.ms.saturating_sub(address.written_ms) >= WRITE_MS;
        if self.panels.is_lesson || address.wanted.is_some() {
            return;
        }
        if address.is_new || is_due {
            let is_new = std::mem::take(&mut self.panels.address.is_new);
            self.write_address(is_new);
        } else if self.place().fragment() != self.panels.address.written {
            // A later frame writes it, when it is due.
            self.changed();
        }
    }

    /// Remembers a place that the person visits, for the palette.
    fn remember_place(&mut self, fragment: &str) {
        let lane = self
            .panels
            .selection
            .as_ref()
            .map(|selection| selection.lane);
        let lane = lane.map(|lane| words::lane_words(&self.store, lane));
        let at = self
            .moment()
            .unwrap_or_else(|| self.view.right().min(self.now()));
        let recent = Recent {
            fragment: fragment.to_owned(),
            words: match lane.filter(|lane| !lane.is_empty()) {
                Some(lane) => format!("{lane}, {}", format::clock(at)),
                None => format!("{} {}", format::date(at), format::clock(at)),
            },
        };
        let known = &mut self.panels.palette.recent;
        known.retain(|other| other.words != recent.words);
        known.truncate(RECENT_MOST - 1);
        known.push_front(recent);
    }

    fn write_address(&mut self, is_new: bool) {
        self.write_place(&self.place(), is_new);
    }

    fn write_place(&mut self, place: &Place, is_new: bool) {
        let fragment = place.fragment();
        if self.panels.is_lesson || fragment == self.panels.address.written {
            return;
        }
        self.panels.address.written.clone_from(&fragment);
        self.panels.address.written_ms = self.now.ms;
        if is_new {
            self.remember_place(&fragment);
        }
        self.want(Effect::Panel(PanelEffect::Address { fragment, is_new }));
    }

    /// Goes to the place that a fragment names. An empty fragment leads to the first place, but only after the person
    /// has moved. Other fragments are ignored.
    pub(super) fn go_to(&mut self, fragment: &str) {
        let address = &self.panels.address;
        let has_moved = address.has_led || !address.written.is_empty();
        let place = match Place::parse(fragment) {
            Some(place) => place,
            // Back to the first place.
            None if fragment.trim_start_matches('#').is_empty() && has_moved => Place::default(),
            None => return,
        };
        self.lanes_of_link(&place.setup, !has_moved);
        self.panels.address.has_led = true;
        self.panels.address.written = place.fragment();
        self.panels.address.is_new = false;
        match place.range {
            Some((from, to)) => self.set_view(View::between(from, to, self.view.width_px)),
            None => {
                let recorded = self.recorded_view();
                self.set_view(recorded.unwrap_or_else(|| self.view.follow(self.now())));
            }
        }
        if !self.panels.is_lesson {
            // A recording stands at its end, where no moment is marked.
            let end = place.range.filter(|_| !self.is_replay());
            let end = end.map(|(_, to)| to.min(self.now()));
            self.marked.as_of = place.at.or(end);
            self.set_range(place.marked);
            self.marked.cursors = place.cursors;
            self.panels.cursors.is_front = true;
            self.cursors(CursorDeed::Renew);
        }
        if place.filter != self.panels.filter {
            self.lanes.set_filter(&place.filter);
            self.panels.filter.clone_from(&place.filter);
        }
        self.clear_selection();
        if place.has_findings != self.panels.findings_open {
            self.toggle_findings();
        }
        if place.has_watches != self.panels.watches_open {
            self.toggle_watches();
        }
        if place.table != self.panels.table_link {
            self.panels.table_link.clone_from(&place.table);
            self.tables(TableDeed::Link);
        }
        if !place.find.is_empty() {
            self.palette(PaletteDeed::Ask(place.find.as_str().into()));
        }
        // A link's theme holds for this visit only, so the browser keeps the person's own choice.
        if place.theme != ThemeChoice::System && place.theme != self.screen.theme {
            self.screen.theme = place.theme;
            self.want(Effect::Theme);
        }
        self.panels.address.wanted = Some((place, self.now.ms));
    }

    /// Selects a link's destination once it is loaded; reports a destination that is missing.
    fn follow_link(&mut self) {
        let Some((place, since_ms)) = self.panels.address.wanted.clone() else {
            return;
        };
        let record = place.record.as_ref().map(|(epoch, seq)| {
            let epoch = self.store.number_of(epoch)?;
            Some(RecordId { epoch, seq: *seq })
        });
        let lane = place.lane.as_deref().map(|key| {
            self.lane_of_key(key).or_else(|| {
                // The lane's watch may be closed. The next layout gives the lane a row.
                let (watch, _) = key.split_once(' ')?;
                let watch = self.store.find_lane(&watch.into(), None)?.watch()?;
                self.lanes.set_whole(&self.store, watch, true);
                self.redraw();
                None
            })
        });
        let has_record = |id: &RecordId| self.store.has(*id);
        let is_here = match (lane, record) {
            (Some(None), _) => false,
            (Some(Some(_)), Some(id)) => id.as_ref().is_some_and(has_record),
            _ => true,
        };
        let is_kept = place
            .range
            .is_none_or(|(from, to)| self.store.keeps(from, to));
        // The page waits while records that may contain the destination are still coming.
        let is_loading = !self.is_connected()
            || self
                .store
                .backfill(self.view.left(), self.view.right())
                .is_some();
        if is_loading {
            self.panels.address.wanted = Some((place, self.now.ms));
            self.changed();
            return;
        }
        if let (Some(theirs), Some(ours)) = (&place.log, self.log())
            && theirs != ours
        {
            self.trouble = Some(format!(
                "The link leads to the log {theirs}; this page shows {ours}."
            ));
            self.panels.address.wanted = None;
            return;
        }
        let is_late = self.now.ms.saturating_sub(since_ms) >= PATIENCE_MS;
        if is_here && is_kept {
            self.panels.address.wanted = None;
            if let Some(Some(lane)) = lane {
                let target = record.flatten().map_or(Target::Lane, Target::Record);
                self.select_linked(lane, target);
            }
        } else if is_late {
            self.panels.address.wanted = None;
            match place.range {
                // The palette says from when on records are kept, and leads to the nearest.
                Some((from, _)) if !is_kept => {
                    self.palette(PaletteDeed::Ask(from.to_string().into()));
                }
                _ => self.trouble = Some(missing(&place)),
            }
        } else {
            self.changed();
        }
    }

    fn select_linked(&mut self, lane: LaneId, target: Target) {
        self.pick.focused = Some(lane);
        self.select(Selection { lane, target });
        self.pick.stays_in_sight = true;
    }
}

/// Returns the message about the missing part of a place.
fn missing(place: &Place) -> String {
    match (&place.lane, &place.record) {
        (_, Some((epoch, seq))) => {
            format!("The link names the record {epoch}.{seq}, which is not here.")
        }
        (Some(lane), None) => format!("The link names the lane {lane}, which is not here."),
        (None, None) => String::new(),
    }
}
