//! Selection, hover, and the detail panel.

use watchscope_model::Time;
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::findings;
use watchscope_timeline::inside::beliefs::{self, BeliefTable};
use watchscope_timeline::scene::{Area, Hit, Px, StretchKind, Target};
use watchscope_timeline::words::{self, Description};
use watchscope_timeline::{LaneId, RecordId, View};

use crate::core::effect::{Effect, PanelEffect};
use crate::core::layout::RULER_PX;
use crate::core::model::Model;
use crate::core::panel_state::{Awaited, Selection, Tab};
use crate::core::shown::{Detail, ObjectPane, Tooltip};

impl Model {
    /// Selects the mark or lane at a point. Panels answer for the point's time.
    pub(super) fn click(&mut self, x_px: f64, y_px: f64) {
        let at = self.view.time_from_x(x_px);
        if y_px < RULER_PX {
            self.set_range(None);
            self.mark_time(at);
            self.set_view(self.view.pause());
            return;
        }
        if self.is_among_flags(y_px) {
            self.click_flag(x_px);
            return;
        }
        let Some(hit) = self.hit(x_px, y_px).cloned() else {
            self.clear_selection();
            return;
        };
        self.pick.focused = Some(hit.lane);
        if matches!(hit.lane, LaneId::More(_) | LaneId::Gone(_) | LaneId::Quiet) {
            self.toggle_lane(hit.lane);
            return;
        }
        self.mark_time(at);
        if let Target::Record(id) = hit.target {
            self.mark_record(id);
        }
        if let Target::Findings(members) = hit.target {
            self.panels.members = members;
            self.select_member(0);
            return;
        }
        self.select(Selection {
            lane: hit.lane,
            target: hit.target,
        });
    }

    /// Opens the watch of an object's lane, so that the lane has a row.
    pub(super) fn open_watch_of(&mut self, lane: LaneId) {
        if let LaneId::Object(watch, _) = lane {
            self.lanes.set_expanded(&self.store, watch, true);
        }
    }

    /// Opens the detail panel of a lane. A lane that stands for other lanes opens those instead.
    pub(super) fn open_lane(&mut self, lane: LaneId) {
        self.pick.focused = Some(lane);
        match lane {
            LaneId::More(_) | LaneId::Gone(_) | LaneId::Quiet => self.toggle_lane(lane),
            _ => self.select_lane(lane),
        }
    }

    fn hit(&self, x_px: f64, y_px: f64) -> Option<&Hit> {
        let top_px = self.lanes_top_px();
        if y_px < top_px {
            return None;
        }
        self.scene
            .hit(Px::from_f64(x_px), Px::from_f64(y_px - top_px))
    }

    /// Selects a lane's last record in view, or the lane itself.
    pub(super) fn select_lane(&mut self, lane: LaneId) {
        let target = self
            .store
            .last_before(lane, self.asked_until())
            .map_or(Target::Lane, |id| target_of(lane, id));
        self.select(Selection { lane, target });
    }

    /// Returns the last moment whose records count when the person selects a lane: the one for which panels answer, or
    /// the right edge of the view.
    fn asked_until(&self) -> Time {
        let seen = self.view.right().min(self.now());
        self.moment().map_or(seen, |moment| moment.min(seen))
    }

    /// Clears the selection, and closes the detail panel.
    pub(super) fn clear_selection(&mut self) {
        if self.view.following {
            self.marked.as_of = None;
        }
        self.panels.selection = None;
        self.panels.awaited = None;
        self.panels.awaited_trouble = None;
        self.pick.selected = None;
        self.pick.record = None;
        self.pick.evidence = None;
        self.shown.detail = None;
        self.redraw();
    }

    /// Selects the previous or next record in the selected or focused lane.
    pub(super) fn step_record(&mut self, forward: bool) {
        let known = self
            .panels
            .selection
            .as_ref()
            .and_then(|selection| Some((selection.lane, selection.record()?)));
        let next = match (known, self.pick.focused) {
            (Some((lane, id)), _) => self.store.neighbour(lane, id, forward).map(|id| (lane, id)),
            (None, Some(lane)) => self
                .store
                .last_before(lane, self.asked_until())
                .map(|id| (lane, id)),
            (None, None) => None,
        };
        let Some((lane, id)) = next else {
            self.say(
                if forward {
                    "No later record in this lane."
                } else {
                    "No earlier record in this lane is loaded."
                }
                .to_owned(),
            );
            return;
        };
        self.mark_record(id);
        self.select(Selection {
            lane,
            target: target_of(lane, id),
        });
        self.reveal(id);
    }

    /// Makes panels answer for the time of a record.
    fn mark_record(&mut self, id: RecordId) {
        if let Some(entry) = self.store.entry(id) {
            self.mark_time(entry.at());
        }
    }

    /// Selects a gap or a phase and brings it into view. One that is not loaded is selected once it is loaded.
    pub(super) fn show_stretch(&mut self, stretch: Awaited) {
        self.leave_place();
        self.uncover();
        self.pick.stays_in_sight = true;
        self.focus_lane(stretch.lane);
        // A phase that began before the view and still lasts is in view already.
        let is_phase = stretch.kind == StretchKind::Phase;
        let x_px = self.view.x_from_time(stretch.at);
        if x_px > self.view.width_px || (x_px < 0.0 && !(is_phase && self.view.following)) {
            self.center(stretch.at);
        }
        let is_known = is_phase || self.store.has(stretch.began);
        if is_known {
            self.select_stretch(stretch);
        } else {
            self.clear_selection();
            self.say("This is being loaded.".to_owned());
            self.panels.awaited = Some(stretch);
        }
    }

    fn select_stretch(&mut self, stretch: Awaited) {
        self.select(Selection {
            lane: stretch.lane,
            target: Target::Stretch(stretch.kind, stretch.began),
        });
    }

    /// Selects the stretch to which the person went, once it is loaded.
    pub(super) fn follow_awaited(&mut self) {
        if let Some(awaited) = self.panels.awaited.filter(|of| self.store.has(of.began)) {
            self.select_stretch(awaited);
        }
    }

    /// Selects a record in its lane and brings it into view. For one that is not loaded, the view goes to the time
    /// `about`, and the records there are loaded.
    pub(super) fn show_record(&mut self, id: RecordId, about: Option<Time>) {
        self.leave_place();
        self.uncover();
        let Some(lane) = findings::lane_of(&self.store, id) else {
            if let Some(about) = about {
                self.center(about);
            }
            self.say(
                "This record is not loaded. The picture now shows its place; try again once that is loaded."
                    .to_owned(),
            );
            return;
        };
        self.open_watch_of(lane);
        self.pick.focused = Some(lane);
        self.select(Selection {
            lane,
            target: target_of(lane, id),
        });
        self.reveal(id);
        // The next layout may be the first with its row.
        self.pick.stays_in_sight = true;
    }

    /// Selects a finding and brings the last record of its evidence into view. The finding is selected in the lane of
    /// the object that it concerns. Without one it is selected in the lane of that last record, or else in the lane of
    /// findings.
    pub(super) fn show_finding(&mut self, raised: RecordId) {
        self.leave_place();
        self.uncover();
        let evidence = Evidence::of(&self.store, raised);
        let items = evidence.iter().flat_map(|evidence| &evidence.items);
        let places = items.filter_map(|item| Some((item.place?.0, item.record)));
        let places: Vec<(LaneId, RecordId)> = places.collect();
        let last = places.last().copied();
        let (last_lane, record) = last.unwrap_or((LaneId::Findings, raised));
        let mut lanes = places.iter().rev().map(|place| place.0);
        let object = lanes.find(|lane| matches!(lane, LaneId::Object(..)));
        let lane = object.unwrap_or(last_lane);
        self.open_watch_of(lane);
        self.pick.focused = Some(lane);
        self.select(Selection {
            lane,
            target: Target::Stretch(StretchKind::Finding, raised),
        });
        self.reveal(record);
        self.pick.stays_in_sight = true;
    }

    /// Selects a record of a finding's evidence. The tags of the evidence stay in the picture.
    pub(super) fn show_evidence(
        &mut self,
        finding: RecordId,
        record: RecordId,
        since: Option<Time>,
    ) {
        if self.show_step(finding, record) {
            return;
        }
        self.show_record(record, since);
        self.pick.evidence = Evidence::of(&self.store, finding);
    }

    /// Brings a step of the shown "why" into view. The selection and the thread stay. Returns whether it is a step.
    fn show_step(&mut self, of: RecordId, record: RecordId) -> bool {
        let thread = self.pick.evidence.iter();
        let mut thread = thread.filter(|known| known.is_thread() && known.finding == of);
        let items = thread.next().map(|known| known.items.iter());
        let step = items.and_then(|mut items| items.find(|item| item.record == record));
        let Some((lane, _)) = step.and_then(|step| step.place) else {
            return false;
        };
        self.leave_place();
        self.open_watch_of(lane);
        self.focus_lane(lane);
        self.reveal(record);
        true
    }

    /// Looks up the selected finding's evidence again, if it may have grown.
    pub(super) fn follow_evidence(&mut self) {
        let detail = self.shown.detail.as_ref();
        let shown = self.pick.evidence.as_ref();
        let known = shown
            .filter(|known| !known.is_thread())
            .or(detail.and_then(|detail| detail.evidence.as_ref()));
        let Some(known) = known.filter(|known| known.is_behind(&self.store)) else {
            return;
        };
        self.pick.evidence = Evidence::of(&self.store, known.finding);
        if let Some(detail) = &mut self.shown.detail
            && detail.evidence.is_some()
        {
            detail.evidence.clone_from(&self.pick.evidence);
        }
        self.explain(false);
        self.redraw();
    }

    /// Recomputes why the object of the selected lane is present or absent, if the basis of that answer has changed.
    /// Durations alone are no such change.
    pub(super) fn follow_presence(&mut self, now: Time) {
        let Some(selection) = &self.panels.selection else {
            return;
        };
        let lane = selection.lane;
        let known = self.known(now);
        let presence_basis = known.and_then(|known| words::presence_basis(known, lane));
        let of = (self.moment(), presence_basis);
        if self.panels.presence_basis != of {
            self.shown.presence = known.and_then(|known| words::presence(known, lane));
            let has_moved = self.panels.presence_basis.0 != of.0;
            self.panels.presence_basis = of;
            // A record stays what it is. A lane is described as of the moment.
            if has_moved && selection.target == Target::Lane {
                let (what, beliefs) = (self.describe(selection).what, self.beliefs_of(selection));
                if let Some(detail) = &mut self.shown.detail {
                    detail.description.what = what;
                    detail.beliefs = beliefs;
                }
            }
        }
    }

    /// Lights the tag of a record of the evidence in picture and table; `None` lights none.
    pub(super) fn light(&mut self, record: Option<RecordId>) {
        let items = self
            .pick
            .evidence
            .iter()
            .flat_map(|evidence| &evidence.items);
        let known = items.map(|item| item.record);
        let lit = record.filter(|record| known.clone().any(|known| known == *record));
        if self.pick.lit != lit {
            self.pick.lit = lit;
            self.redraw();
        }
    }

    /// Brings a record into view; the view stays if the record is in it.
    fn reveal(&mut self, id: RecordId) {
        let Some(entry) = self.store.entry(id) else {
            return;
        };
        self.mark_no_earlier(entry.at());
        self.bring_into_view(entry.at());
    }

    /// Brings the selected record into the middle. If it is there already, fits the minute before and the minute after
    /// it.
    pub(super) fn focus_selection(&mut self) {
        let Some(at) = self
            .panels
            .selection
            .as_ref()
            .and_then(Selection::record)
            .and_then(|id| self.store.entry(id))
            .map(|entry| entry.at())
        else {
            return;
        };
        let off = self.view.x_from_time(at) - self.view.width_px / 2.0;
        let view = if off.abs() > 2.0 {
            self.view.pan(off)
        } else {
            View::between(
                at.plus_micros(-60_000_000),
                at.plus_micros(60_000_000),
                self.view.width_px,
            )
        };
        self.set_view(view);
        if let Some(lane) = self
            .panels
            .selection
            .as_ref()
            .map(|selection| selection.lane)
        {
            self.focus_lane(lane);
        }
    }

    pub(super) fn select(&mut self, selection: Selection) {
        self.panels.selections += 1;
        self.panels.awaited = None;
        self.panels.awaited_trouble = None;
        self.panels.watches_open = false;
        self.panels.notes.is_open = false;
        self.panels.cursors.is_front = false;
        self.look_up_then(self.now());
        let description = self.describe(&selection);
        self.say(description.spoken());
        let object = self.object_pane(&description);
        let tab = match self.panels.tab {
            Tab::Object if object.is_some() => Tab::Object,
            Tab::Request if !description.request.is_empty() => Tab::Request,
            _ => Tab::Event,
        };
        let number = self.panels.selections;
        self.pick.evidence = match selection.target {
            Target::Stretch(StretchKind::Finding, raised) => Evidence::of(&self.store, raised),
            _ => None,
        };
        if self.pick.evidence.is_some() {
            self.want(Effect::Panel(PanelEffect::FetchTexts));
        }
        let lane = selection.lane;
        self.shown.detail = Some(Detail {
            number,
            description,
            object: object.clone(),
            check: words::check(&self.store, lane).filter(|_| !self.panels.is_lesson),
            beliefs: None,
            evidence: self.pick.evidence.clone(),
            why: None,
            owners: self.owners_shown(lane),
            tab,
        });
        self.pick.selected = Some(selection.lane);
        self.pick.record = selection.record();
        self.panels.selection = Some(selection);
        self.find_beliefs();
        self.explain(false);
        // The answer for the lane selected before is never shown for this one.
        (self.panels.presence_basis, self.shown.presence) = ((None, None), None);
        self.publish_as_of(self.now());
        self.redraw();
        if let Some(pane) = object {
            self.want(Effect::Panel(PanelEffect::FetchBodies {
                selection: number,
                pane,
            }));
        }
    }

    fn describe(&self, selection: &Selection) -> Description {
        let hit = Hit {
            area: Area::default(),
            lane: selection.lane,
            target: selection.target.clone(),
            drawn: None,
        };
        let now = self.now();
        let mut description = words::describe(&self.store, &hit, now);
        if hit.target == Target::Lane {
            let known = self.known(now);
            description.what = known.map_or_else(
                || "The state at that time is unknown.".to_owned(),
                |known| words::accessible(known, hit.lane),
            );
        }
        description
    }

    /// Finds the beliefs of all sides about the selection. Shows them if their tab is open, or if a layer is selected: a
    /// person selects it to see the beliefs of all layers. The function comes with the third part of the page.
    pub fn compare_beliefs(&mut self) {
        let Some(selection) = &self.panels.selection else {
            return;
        };
        let beliefs = self.beliefs_of(selection);
        let is_layer = matches!(selection.lane, LaneId::Layer(_));
        let is_shown = beliefs.is_some() && (is_layer || self.panels.tab == Tab::Beliefs);
        if let Some(detail) = &mut self.shown.detail {
            detail.beliefs = beliefs;
            if is_shown {
                detail.tab = Tab::Beliefs;
            }
        }
    }

    /// Returns the beliefs of all sides at the selected record; of a lane, as of the moment for which panels answer.
    fn beliefs_of(&self, selection: &Selection) -> Option<BeliefTable> {
        let (lane, record) = (selection.lane, selection.record());
        match &self.panels.then {
            Some(then) if record.is_none() => {
                let as_of = then.found.as_ref().ok()?;
                beliefs::belief_table_as_of(&self.store, lane, as_of)
            }
            _ => beliefs::belief_table(&self.store, lane, record),
        }
    }

    fn object_pane(&self, description: &Description) -> Option<ObjectPane> {
        let position = |id: RecordId| Some((self.store.epoch_of(id)?.to_string(), id.seq.0));
        Some(ObjectPane {
            position: position(description.body?)?,
            before: description.previous_body.and_then(position),
        })
    }

    /// Shows another tab of the detail panel.
    pub(super) fn show_tab(&mut self, tab: Tab) {
        self.panels.tab = tab;
        if let Some(detail) = &mut self.shown.detail {
            detail.tab = tab;
            self.pick.evidence.clone_from(match tab {
                Tab::Why => &detail.why,
                _ => &detail.evidence,
            });
            self.redraw();
        }
    }

    /// Shows the tooltip of the mark under the pointer; `None` hides it.
    pub(super) fn set_hover(&mut self, at: Option<(f64, f64)>) {
        if self.panels.hover == at {
            return;
        }
        self.panels.hover = at;
        self.point();
        let under = at.and_then(|(x_px, y_px)| self.hit(x_px, y_px));
        let record = under.and_then(|hit| match hit.target {
            Target::Record(id) => Some(id),
            _ => None,
        });
        self.light(record);
        self.shown.tooltip = at.and_then(|(x_px, y_px)| {
            let of_flag = self.flag_tooltip(x_px, y_px);
            of_flag.or_else(|| self.tooltip(x_px, y_px))
        });
    }

    fn tooltip(&self, x_px: f64, y_px: f64) -> Option<Tooltip> {
        let hit = self.hit(x_px, y_px)?;
        if hit.target == Target::Lane {
            return None;
        }
        let description = words::describe(&self.store, hit, self.now());
        let keys = description.record.map(|_| "Click opens it");
        let mut lines = vec![description.lane, description.time, description.what];
        lines.retain(|line| !line.is_empty());
        let row = self.rows.find(hit.lane)?;
        let row_top = row.y.to_f64() - self.scroll_px + self.lanes_top_px();
        let (width, height) = (self.screen.size.width_px, self.screen.size.height_px);
        // The tooltip is beside the pointer, and under its lane if there is room; otherwise above. It never covers the
        // lane.
        let x = if x_px + 300.0 < width {
            x_px + 12.0
        } else {
            (x_px - 292.0).max(0.0)
        };
        let below = row_top + row.height.to_f64() + 6.0;
        // A line is 16 px high, and a long text takes two or three lines.
        let tall = 18.0
            + lines
                .iter()
                .map(|line| 16.0 * (1 + line.len() / 44) as f64)
                .sum::<f64>();
        let y = if below + tall < height {
            below
        } else {
            (row_top - tall - 6.0).max(0.0)
        };
        Some(Tooltip {
            x_px: x as i32,
            y_px: y as i32,
            lines,
            keys,
        })
    }
}

/// Returns the target of a record in its lane. In the lane of a connection it is the stretch that the record opened.
fn target_of(lane: LaneId, id: RecordId) -> Target {
    match lane {
        LaneId::Connection(_) => Target::Stretch(StretchKind::Connection, id),
        _ => Target::Record(id),
    }
}
