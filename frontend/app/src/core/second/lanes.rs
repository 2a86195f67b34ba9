//! All lanes at once: grouping, sorting, folding, pins and hidden lanes, the lanes bar, and what the browser keeps.

use watchscope_timeline::lanes::{Deed, Folding, Grouping, RowKind, Setup, owners_of};
use watchscope_timeline::{LaneId, format};

use crate::core::effect::{Effect, Kept, PanelEffect};
use crate::core::lanes::{LanesDeed, LanesShown, OwnerShown};
use crate::core::model::Model;
use crate::core::place::Place;

/// The number of rows, or of watches, above which the lanes bar comes by itself.
const MANY: usize = 60;
/// Windows wider than this, in px, have room for a column with the names of sections. panels.css has its width.
const WIDE_PX: f64 = 1_400.0;
/// The most bytes of wishes that are read from the browser's storage. A longer text is ignored.
const KEPT_BYTES_MOST: usize = 64 << 10;

impl Model {
    /// Acts on all lanes.
    pub(super) fn do_with_lanes(&mut self, deed: LanesDeed) {
        match deed {
            LanesDeed::Group(grouping) => {
                let is_same = self.lanes.setup().grouping == grouping;
                let grouping = if is_same { Grouping::None } else { grouping };
                self.lanes.group_by(grouping);
                self.say(match grouping {
                    Grouping::None => "Lanes are not grouped.".to_owned(),
                    other => format!("Lanes are grouped by {}.", other.word()),
                });
            }
            LanesDeed::Sort(sorting) => {
                self.lanes.sort_by(sorting);
                self.say(format!("Lanes are sorted by {}.", sorting.words()));
            }
            LanesDeed::MovePin { lane, to } => {
                if !self.lanes.move_pin_to(&self.store, lane, to) {
                    return;
                }
            }
            LanesDeed::Show(key) => self.lanes.show_hidden(&key),
            LanesDeed::ShowAll => {
                self.lanes.show_all_hidden();
                self.panels.lanes.is_list_open = false;
                self.say("All lanes are shown.".to_owned());
            }
            LanesDeed::List(is_open) => {
                self.panels.lanes.is_list_open = is_open;
                self.publish_lanes();
                return;
            }
            LanesDeed::PointAtTree(is_on_tree) => {
                self.panels.lanes.is_on_tree = is_on_tree;
                self.point();
                return;
            }
            LanesDeed::Kept(text) => {
                self.lanes_before(text.as_deref());
                return;
            }
        }
        self.lanes_changed();
    }

    /// Notes whether the pointer is over the lanes. While it is, no new order comes.
    pub(super) fn point(&mut self) {
        let is_on_picture = self.panels.hover.is_some();
        self.lanes.is_pointed = is_on_picture || self.panels.lanes.is_on_tree;
    }

    /// Shows or hides the lanes bar.
    pub(super) fn toggle_lanes_bar(&mut self) {
        self.panels.lanes.bar = Some(!self.shown.lanes.is_bar);
        self.publish_lanes();
        self.redraw();
    }

    /// Makes all watches strips.
    pub(super) fn collapse_all(&mut self) {
        self.lanes.collapse_all();
        self.say(match self.lanes.setup().folding {
            Folding::Strips => "All watches are strips.".to_owned(),
            _ => "Watches open by themselves again.".to_owned(),
        });
        self.lanes_changed();
        self.keep_choices();
    }

    /// Opens the watches with trouble.
    pub(super) fn open_trouble(&mut self) {
        self.lanes.open_trouble();
        self.say("Watches with trouble are open.".to_owned());
        self.lanes_changed();
    }

    /// Pins the focused lane, or unpins it.
    pub(super) fn pin_focused(&mut self) {
        let Some(lane) = self.focused_or_selected() else {
            return;
        };
        let words = match self.lanes.toggle_pin(&self.store, lane) {
            Deed::Done => "Pinned.",
            Deed::Undone => "Not pinned any more.",
            Deed::Impossible => "Only watches and objects can be pinned.",
            Deed::Full => "100 lanes are pinned; no more can be.",
        };
        self.say(words.to_owned());
        self.lanes_changed();
    }

    /// Hides the focused lane. The lane below it gets the focus.
    pub(super) fn hide_focused(&mut self) {
        let Some(lane) = self.focused_or_selected() else {
            return;
        };
        let lane = match lane {
            LaneId::Object(..) => lane,
            other => other.watch().map_or(other, LaneId::Watch),
        };
        let words = match self.lanes.hide(&self.store, lane) {
            Deed::Done | Deed::Undone => "Hidden. The status bar lists what is hidden.",
            Deed::Impossible => "Only watches and objects can be hidden.",
            Deed::Full => "500 lanes are hidden; no more can be.",
        };
        self.say(words.to_owned());
        let is_within = |other: LaneId| match lane {
            LaneId::Object(..) => other == lane,
            _ => other.watch() == lane.watch(),
        };
        if self.pick.selected.is_some_and(is_within) {
            self.clear_selection();
        }
        let rows = self.rows.rows.iter().map(|row| row.id);
        let mut after = rows.skip_while(|&other| other != lane);
        self.pick.focused = after.find(|&other| !is_within(other));
        self.lanes_changed();
    }

    /// Moves the focused lane among the pinned ones.
    pub(super) fn move_focused_pin(&mut self, by: i32) {
        let Some(lane) = self.focused_or_selected() else {
            return;
        };
        if self.lanes.move_pin(&self.store, lane, by) {
            self.pick.stays_in_sight = true;
            self.lanes_changed();
        }
    }

    fn focused_or_selected(&mut self) -> Option<LaneId> {
        let lane = self.pick.focused.or(self.pick.selected);
        if lane.is_none() {
            self.say("No lane has the focus.".to_owned());
        }
        lane
    }

    /// Keeps the wishes in the browser, and shows their effect. A lesson keeps nothing.
    fn lanes_changed(&mut self) {
        if !self.panels.is_lesson
            && let Some(log) = self.panels.lanes.kept_of.clone()
        {
            let place = Place {
                setup: self.lanes.setup().clone(),
                ..Place::default()
            };
            self.keep(Kept::Lanes(log), place.fragment_of(KEPT_BYTES_MOST));
        }
        self.publish_lanes();
        self.redraw();
    }

    /// Recalls the wishes for the lanes of this log.
    pub(super) fn recall_lanes(&mut self) {
        let log = self.link.welcome.as_ref().map(|welcome| &welcome.log);
        if self.panels.lanes.kept_of.as_ref() == log || self.panels.is_lesson {
            return;
        }
        self.panels.lanes.kept_of = log.cloned();
        if let Some(log) = log.cloned() {
            self.want(Effect::Panel(PanelEffect::Recall(Kept::Lanes(log))));
        }
    }

    /// Takes the wishes that the browser kept, unless a link has chosen others. A text that it cannot read, or that is
    /// too long, leaves the lanes as they are.
    fn lanes_before(&mut self, text: Option<&str>) {
        let text = text.filter(|text| text.len() <= KEPT_BYTES_MOST);
        let place = text.and_then(Place::parse_any);
        if let Some(place) = place.filter(|_| !self.panels.lanes.is_linked) {
            self.lanes.set_setup(place.setup);
            self.publish_lanes();
            self.redraw();
        }
    }

    /// Takes the wishes of a link. The first link of a page that names none leaves those that the browser kept.
    pub(super) fn lanes_of_link(&mut self, setup: &Setup, is_first: bool) {
        if is_first && *setup == Setup::default() {
            return;
        }
        self.panels.lanes.is_linked = true;
        if self.lanes.setup() != setup {
            self.lanes.set_setup(setup.clone());
            self.redraw();
        }
    }

    /// Computes the contents of the lanes bar.
    pub(super) fn publish_lanes(&mut self) {
        let all = self.store.count_lanes();
        let is_wide = self.screen.window.width_px > WIDE_PX;
        if std::mem::replace(&mut self.lanes.is_wide, is_wide) != is_wide {
            self.redraw();
        }
        let setup = self.lanes.setup();
        let sections = self.rows.sections.iter().filter(|section| {
            let first = self.rows.rows.get(section.row);
            first.is_some_and(|row| !row.pinned) && !section.name.is_empty()
        });
        let lanes = format::count(all as u64, "lane");
        let of = match setup.grouping {
            Grouping::None => String::new(),
            grouping => format!(
                " in {}",
                format::count(sections.count() as u64, grouping.word())
            ),
        };
        // The bar stays once it is there: the rows that it takes away may be those above the number.
        let watches = self.store.state().map_or(0, |state| state.watches.len());
        let has_many = self.shown.lanes.is_bar || self.rows.rows.len().max(watches) > MANY;
        self.shown.lanes = LanesShown {
            is_bar: !self.panels.is_lesson && self.panels.lanes.bar.unwrap_or(has_many),
            has_columns: self.lanes.has_columns(),
            grouping: setup.grouping,
            sorting: setup.sorting,
            folding: setup.folding,
            words: format!("{lanes}{of}"),
            hidden: setup.hidden().to_vec(),
            is_list_open: self.panels.lanes.is_list_open && !setup.hidden().is_empty(),
        };
    }

    /// Returns how many lanes have rows, of all lanes of the log: `9 of 312 lanes, 31 gone folded`, or
    /// `9 of 312 lanes, 31 gone and 54 no longer watched folded`.
    pub(super) fn lanes_words(&self) -> String {
        let is_lane = |kind| matches!(kind, RowKind::Watch | RowKind::Strip | RowKind::Object);
        let rows = &self.rows;
        let shown = rows.rows.iter().filter(|row| is_lane(row.kind)).count();
        let all = self.store.count_lanes().max(shown);
        let mut words = if shown == all {
            format::count(all as u64, "lane")
        } else {
            let (shown, all) = (shown as u64, format::count(all as u64, "lane"));
            format!("{} of {all}", format::number(shown))
        };
        let folded = [(rows.gone, "gone"), (rows.unwatched, "no longer watched")];
        let folded = folded.into_iter().filter(|(count, _)| *count > 0);
        let folded: Vec<String> = folded
            .map(|(count, what)| format!("{} {what}", format::number(count as u64)))
            .collect();
        if !folded.is_empty() {
            words.push_str(&format!(", {} folded", folded.join(" and ")));
        }
        if rows.hidden > 0 {
            let filtered = format::number(rows.hidden as u64);
            words.push_str(&format!(", {filtered} filtered out"));
        }
        words
    }

    /// Returns the controllers above an object, from its own upwards; `None` for other lanes.
    pub(super) fn owners_shown(&self, lane: LaneId) -> Option<Vec<OwnerShown>> {
        lane.object()?;
        let only = |name: &str| {
            vec![OwnerShown {
                name: name.to_owned(),
                lane: None,
                why: "",
            }]
        };
        let Some(owners) = owners_of(&self.store, lane) else {
            return Some(only("not loaded"));
        };
        if owners.is_unrecorded {
            return Some(only("not recorded"));
        }
        if owners.steps.is_empty() {
            return Some(only("none"));
        }
        let shown = owners.steps.into_iter().map(|step| OwnerShown {
            name: format!("{} {}", step.owner.kind(), step.owner.name()),
            lane: step.lane,
            why: match (step.lane, step.is_watched) {
                (Some(_), _) => "",
                (None, true) => "not met",
                (None, false) => "not watched",
            },
        });
        Some(shown.collect())
    }
}
