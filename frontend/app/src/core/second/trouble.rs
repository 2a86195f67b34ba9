//! Trouble: steps through it over all lanes, what lies off the edges of the picture, and the occurrences of a finding.

use watchscope_model::Time;
use watchscope_timeline::findings;
use watchscope_timeline::scene::{Px, StretchKind, Target};
use watchscope_timeline::troubles::{OffSide, Trouble, TroublePlace, Troubles};
use watchscope_timeline::words::{off_side_words, problems_in, trouble_count, trouble_words};
use watchscope_timeline::{LaneId, RecordId, View};

use crate::core::model::Model;
use crate::core::panel_state::{Awaited, Selection};
use crate::core::shown::{Edge, Edges, Nth, Stepper};

/// The shortest view that a step chooses, in microseconds.
const LEAST_SPAN_US: i64 = 20_000_000;
/// The longest part of trouble that a step fits into the view, in microseconds. Of longer trouble it shows the begin.
const MOST_SHOWN_US: i64 = 1_800_000_000;
/// A view shows trouble well if the trouble takes at least this part of it.
const SEEN_PART: i64 = 60;

impl Model {
    /// Gathers all trouble anew, if it may have changed, and computes the stepper and the edges of the picture.
    pub(super) fn publish_troubles(&mut self, now: Time) {
        if self.panels.troubles.is_behind(&self.store, now) {
            self.gather_troubles(now);
            self.follow_trouble();
        }
        self.show_troubles();
    }

    /// Gathers all trouble that is not muted, and the header's problems of all that is kept.
    pub(super) fn gather_troubles(&mut self, now: Time) {
        let muted = &self.lanes.muted;
        self.panels.troubles = Troubles::read(&self.store, muted, now);
        let kept = (Time(i64::MIN), Time(i64::MAX));
        self.panels.kept_problems = problems_in(&self.store, kept, now, now, muted);
        self.redraw();
    }

    /// Computes the stepper, the edges, and the place of the selected finding among its occurrences.
    pub(super) fn show_troubles(&mut self) {
        let current = self.current_trouble();
        let troubles = &self.panels.troubles;
        let has_stepper = !troubles.all().is_empty() && !self.panels.is_lesson;
        self.shown.stepper = has_stepper.then(|| Stepper {
            words: trouble_count(troubles, current),
            current: current.and_then(|place| trouble_words(&self.store, troubles, place)),
            is_first: current == Some(0),
            is_last: current.is_some_and(|place| place + 1 == troubles.all().len()),
        });
        self.shown.edges = self.edges();
        self.shown.occurrence = self.occurrence();
    }

    /// Returns the index of the trouble that is selected, or that the person went to and that is being loaded.
    fn current_trouble(&self) -> Option<usize> {
        let troubles = &self.panels.troubles;
        if let Some(began) = self.panels.awaited_trouble {
            let place = troubles.nearest(began)?;
            return Some(place).filter(|&place| troubles.all()[place].began == began);
        }
        let finding = self.pick.evidence.as_ref().map(|of| of.finding);
        let selected = || self.panels.selection.as_ref().and_then(Selection::record);
        troubles.find(finding.or_else(selected)?)
    }

    /// Goes to the next or the previous trouble by the time at which it began, over all lanes. At the end it stays.
    pub(super) fn step_trouble(&mut self, is_next: bool) {
        let now = self.now();
        if self.panels.troubles.is_behind(&self.store, now) {
            self.gather_troubles(now);
        }
        let troubles = &self.panels.troubles;
        let Some(last) = troubles.all().len().checked_sub(1) else {
            self.say("No problem in all that is kept.".to_owned());
            return;
        };
        let place = match (self.current_trouble(), is_next) {
            (Some(place), true) => Some(place + 1).filter(|&next| next <= last),
            (Some(place), false) => place.checked_sub(1),
            (None, _) => self.trouble_beside(is_next),
        };
        match (place, self.current_trouble()) {
            (Some(place), _) => self.show_trouble(place),
            (None, None) => self.show_trouble(if is_next { last } else { 0 }),
            (None, Some(_)) => {
                let end = if is_next { "last" } else { "first" };
                self.say(format!("{end} of {}", self.panels.troubles.total()));
            }
        }
    }

    /// Returns the trouble beside the moment for which panels answer. While the picture follows now, the previous one
    /// is the last of all, and the next one is the first that begins in view.
    fn trouble_beside(&self, is_next: bool) -> Option<usize> {
        let troubles = &self.panels.troubles;
        match (self.moment(), is_next) {
            (Some(at), true) => troubles.after(at),
            (Some(at), false) => troubles.before(at),
            (None, true) => troubles.after(self.view.left()),
            (None, false) => troubles.before(self.now()),
        }
    }

    /// Goes to a trouble: selects it, opens its watch, brings its lane into the window, and shows its begin and its end
    /// in the middle of the view. For trouble that is not loaded, its records are loaded first.
    pub(super) fn show_trouble(&mut self, place: usize) {
        let Some(trouble) = self.panels.troubles.all().get(place).cloned() else {
            return;
        };
        self.stop_playing();
        let view = self.view_of(&trouble);
        self.panels.awaited_trouble = None;
        if let Some(&watch) = trouble.watches.first() {
            self.lanes.set_expanded(&self.store, watch, true);
        }
        match trouble.place {
            TroublePlace::Finding(raised) => {
                self.show_finding(raised);
                let raised_at = self.pick.evidence.as_ref().map(|of| of.at);
                self.mark_time(raised_at.unwrap_or(trouble.began));
                // The last record of the evidence may be of another watch, or of none.
                let selected = self.pick.selected.and_then(LaneId::watch);
                let is_of_it = selected.is_some_and(|watch| trouble.watches.contains(&watch));
                if let Some(&watch) = trouble.watches.first().filter(|_| !is_of_it) {
                    self.select_trouble(LaneId::Watch(watch), StretchKind::Finding, raised);
                }
            }
            TroublePlace::Stretch(kind, watch, began) => {
                self.mark_time(trouble.began);
                self.show_stretch(Awaited {
                    lane: LaneId::Watch(watch),
                    kind,
                    began,
                    at: trouble.began,
                });
            }
            TroublePlace::NotLoaded => {
                self.leave_place();
                self.clear_selection();
                self.mark_time(trouble.began);
                self.panels.awaited_trouble = Some(trouble.began);
            }
        }
        self.set_view(view);
        self.pick.stays_in_sight = true;
        self.show_troubles();
        if trouble.place == TroublePlace::NotLoaded {
            self.say("This is being loaded.".to_owned());
        } else if let Some(words) = trouble_words(&self.store, &self.panels.troubles, place) {
            let count = trouble_count(&self.panels.troubles, Some(place));
            let what = [&*words.code, &words.name, &words.subject, &words.at];
            let what: Vec<&str> = what.into_iter().filter(|part| !part.is_empty()).collect();
            let is_hidden = trouble.watches.first().is_some_and(|&watch| {
                self.rows.hidden > 0 && self.rows.find(LaneId::Watch(watch)).is_none()
            });
            let hidden = if is_hidden {
                ", on a lane that the filter hides"
            } else {
                ""
            };
            self.say(format!("{count}: {}{hidden}", what.join(", ")));
        }
    }

    fn select_trouble(&mut self, lane: LaneId, kind: StretchKind, record: RecordId) {
        self.pick.focused = Some(lane);
        self.select(Selection {
            lane,
            target: Target::Stretch(kind, record),
        });
    }

    /// Selects the trouble to which the person went, once its records are loaded.
    fn follow_trouble(&mut self) {
        let Some(began) = self.panels.awaited_trouble else {
            return;
        };
        let troubles = &self.panels.troubles;
        let nearest = troubles.nearest(began);
        let found = nearest.filter(|&place| {
            let is_loaded = troubles.all()[place].place != TroublePlace::NotLoaded;
            is_loaded && troubles.all()[place].began == began
        });
        // A joined entry of a summary may begin where no single one does. Then the nearest is as near as it gets.
        let is_gone = || nearest.is_none_or(|place| troubles.all()[place].began != began);
        let place = found.or_else(|| nearest.filter(|_| is_gone()));
        if let Some(place) = place {
            self.show_trouble(place);
        }
    }

    /// Returns a view with the begin and the end of trouble in its middle. It keeps the present scale if that shows
    /// both well.
    fn view_of(&self, trouble: &Trouble) -> View {
        let end = trouble.until.min(self.now()).max(trouble.began);
        let lasted_us = end.micros_since(trouble.began).min(MOST_SHOWN_US);
        let span_us = (self.view.us_per_px * self.view.width_px) as i64;
        let needed_us = lasted_us / 5 * 8;
        let is_seen = needed_us <= span_us && (lasted_us == 0 || span_us / SEEN_PART <= lasted_us);
        let span_us = match is_seen {
            true => span_us,
            false => needed_us.max(LEAST_SPAN_US),
        };
        let from = trouble.began.plus_micros((lasted_us - span_us) / 2);
        View::between(from, from.plus_micros(span_us), self.view.width_px)
    }

    /// Computes the edges anew if the person has moved the view or the window of lanes. Other changes wait for the next
    /// update of the panels.
    pub(super) fn follow_edges(&mut self) {
        let shown = (self.view, self.scroll_px);
        if self.panels.edges_of != Some(shown) {
            self.panels.edges_of = Some(shown);
            self.shown.edges = self.edges();
        }
    }

    /// Returns the trouble off each edge of the picture.
    fn edges(&self) -> Edges {
        let troubles = &self.panels.troubles;
        if troubles.all().is_empty() || self.panels.is_lesson {
            return Edges::default();
        }
        let edge = |side: OffSide, direction: &'static str, nearest: Option<usize>| {
            let goes_to = nearest.or(side.worst.first().copied())?;
            let named = side.worst.iter().filter_map(|&place| {
                let words = trouble_words(&self.store, troubles, place)?;
                Some((place, words))
            });
            (side.count > 0).then(|| Edge {
                words: off_side_words(&side, direction),
                count: side.count,
                named: named.collect(),
                goes_to,
            })
        };
        let (left, right) = (self.view.left(), self.view.right());
        let (top, bottom) = (self.scroll_px, self.scroll_px + self.window_px());
        let (top, bottom) = (Px::from_f64(top), Px::from_f64(bottom));
        let (above, below) = troubles.off_rows(&self.rows, top, bottom);
        Edges {
            left: edge(
                troubles.marked_before(left),
                "earlier",
                troubles.before(left),
            ),
            right: edge(troubles.begins_after(right), "later", troubles.after(right)),
            above: edge(above, "above", None),
            below: edge(below, "below", None),
            top_px: self.lanes_top_px() as i32,
        }
    }

    /// Returns the place of the selected finding among its loaded occurrences; `None` if it has only one.
    fn occurrence(&mut self) -> Option<Nth> {
        let raised = self.pick.evidence.as_ref()?.finding;
        let version = self.store.trouble_version();
        let known = &mut self.panels.occurrences;
        let is_of_it = known.1.contains(&raised);
        if known.0 != version || !is_of_it {
            *known = (version, findings::occurrences(&self.store, raised));
        }
        let place = known.1.iter().position(|&id| id == raised)?;
        (known.1.len() > 1).then_some(Nth {
            number: place as u64 + 1,
            total: known.1.len() as u64,
        })
    }

    /// Selects the next or the previous occurrence of the selected finding.
    pub(super) fn step_occurrence(&mut self, is_next: bool) {
        let _ = self.occurrence();
        let raised = self.pick.evidence.as_ref().map(|of| of.finding);
        let all = &self.panels.occurrences.1;
        let place = all.iter().position(|&id| Some(id) == raised);
        let next = place.and_then(|place| match is_next {
            true => Some(place + 1),
            false => place.checked_sub(1),
        });
        match next.and_then(|next| all.get(next).copied()) {
            Some(id) => {
                self.show_finding(id);
                let at = self.pick.evidence.as_ref().map(|of| of.at);
                if let Some(at) = at {
                    self.set_range(None);
                    self.mark_time(at);
                    self.bring_into_view(at);
                }
                self.show_troubles();
            }
            None => {
                let end = if is_next { "last" } else { "first" };
                self.say(format!("{end} of {} occurrences", all.len()));
            }
        }
    }

    /// Selects one of several occurrences whose chips are one: the first, or the one after the selected one.
    pub(super) fn step_members(&mut self) -> bool {
        let raised = self.pick.evidence.as_ref().map(|of| of.finding);
        let members = &self.panels.members;
        let Some(place) = members.iter().position(|&id| Some(id) == raised) else {
            return false;
        };
        self.select_member((place + 1) % members.len());
        true
    }

    /// Selects a member of the merged chip that was clicked.
    pub(super) fn select_member(&mut self, place: usize) {
        let Some(&id) = self.panels.members.get(place) else {
            return;
        };
        self.select_trouble(LaneId::Findings, StretchKind::Finding, id);
        if let Some(at) = self.pick.evidence.as_ref().map(|of| of.at) {
            self.mark_time(at);
        }
        let total = self.panels.members.len();
        self.say(format!("Occurrence {} of {total} of this chip", place + 1));
        self.show_troubles();
    }
}
