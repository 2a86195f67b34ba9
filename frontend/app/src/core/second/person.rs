//! Dispatches a person's action to the method that handles it.

use crate::core::effect::{Effect, Kept, PanelEffect};
use crate::core::model::Model;
use crate::core::panel_state::{Awaited, Walk};
use crate::core::person::Person;
use crate::source::connection::Input;
use watchscope_timeline::View;
use watchscope_timeline::words::ProblemPlace;

impl Model {
    /// Handles a person's action, and updates the panels.
    pub fn person(&mut self, person: Person) {
        match person {
            Person::Begin { is_lesson, opened } => self.begin(is_lesson, opened.as_deref()),
            Person::Key(action, focused) => {
                self.pick.by_keyboard = true;
                self.act(action, focused);
            }
            Person::Act(action) => self.act(action, None),
            Person::Redraw => self.redraw(),

            Person::Press(pointer) => self.press(pointer),
            Person::Motion(pointer) => self.motion(pointer),
            Person::Release { pointer, at_ms } => self.release(pointer, at_ms),
            Person::Click => {
                if let Some(gesture) = self.panels.released.take() {
                    self.gesture(gesture);
                }
            }
            Person::Leave { pointer, cancelled } => {
                if cancelled {
                    self.panels.gestures.cancel(pointer);
                    self.panels.range_drag = None;
                }
                self.set_hover(None);
            }
            Person::Scroll { dx_px, dy_px } => self.move_by(dx_px, dy_px),
            Person::ScrollTo { y_px } => {
                let share = y_px / self.window_px().max(1.0);
                self.scroll_px = self.rows.height.to_f64() * share - self.window_px() / 2.0;
                self.redraw();
            }
            Person::Zoom { x_px, factor } => self.zoom(x_px, factor),

            Person::SizeOverview { width_px } => self.size_overview(width_px),
            Person::GripOverview { x_px } => self.grip_overview(x_px),
            Person::DragOverview { x_px } => self.drag_overview(x_px),
            Person::ReleaseOverview => self.release_overview(),
            Person::WidenOverview { factor } => self.widen_overview(factor),
            Person::StepOverview { share } => {
                let by_px = self.view.width_px * share;
                self.set_view(self.view.pan(by_px));
            }
            Person::ShowProblem { is_next } => self.step_trouble(is_next),
            Person::ShowTrouble(place) => self.show_trouble(place),

            Person::GoTo(fragment) => self.go_to(&fragment),

            Person::Filter(text) => {
                self.lanes.set_filter(&text);
                self.panels.filter = text.into();
                self.redraw();
            }
            Person::OpenLane(lane) => self.open_lane(lane),
            Person::ToggleLane(lane) => self.toggle_lane(lane),
            Person::ShowProblemPlaces(places) => self.show_problem_places(&places),
            Person::Speed(speed) => self.set_speed(speed),
            Person::SeekShare(share) => self.seek_share(share),
            Person::NamePlace => self.name_place(),
            Person::ClearRange => self.set_range(None),
            Person::SaveRange => self.open_export(true),
            Person::TakeRange { from, to } => self.take_range(from, to),
            Person::ShowRecord(record) => self.show_record(record, None),
            Person::ShowFinding(raised) => self.show_finding(raised),
            Person::Light(record) => self.light(record),
            Person::CloseDetail => self.clear_selection(),
            person @ (Person::StepOccurrence { .. }
            | Person::ShowEvidence { .. }
            | Person::ShowTab(_)
            | Person::SeekBy { .. }
            | Person::Compare(_)
            | Person::FrameWatch(_)
            | Person::SortWatches(_)
            | Person::Mute { .. }
            | Person::Unmute(_)
            | Person::MarkRead(_)) => {
                // Its panel is there, so the third part is.
                if let Some(late) = self.late {
                    (late.person)(self, person);
                }
            }
            Person::Muted(text) => self.muted_before(text.as_deref()),

            Person::LateCame => self.open_what_waits(),
            Person::Captions(free_px) => self.set_captions(free_px),
            Person::Palette(deed) => self.palette(deed),
            Person::Cursors(deed) => self.cursors(deed),
            Person::Search(deed) => self.search(deed),
            Person::Table(deed) => self.tables(deed),
            Person::Lanes(deed) => self.do_with_lanes(deed),
            Person::Note(deed) => self.note(deed),
            Person::NotesCame(bytes) => self.take_notes(&bytes),
            Person::NotesSaved { kept, name } => self.take_saved(kept, name),

            Person::UseContext(name) => {
                let command = self
                    .link
                    .connection
                    .command("use-context", name.into_string());
                if let Some((_, ask)) = command {
                    self.want(Effect::Link(ask));
                }
            }
            Person::Theme(theme) => {
                self.screen.theme = theme;
                self.want(Effect::Theme);
                self.keep(Kept::Theme, theme.word().to_owned());
                self.redraw();
            }
            Person::HelpClosed => self.panels.help = false,
            Person::Dismiss => self.trouble = None,
            Person::Say(words) => self.say(words.into()),
            Person::Trouble(words) => self.trouble = Some(words.to_owned()),

            Person::Hold(at) => {
                self.link.clock.hold(at);
                self.redraw();
            }
            Person::ShowTime { from, to } => {
                self.set_view(View::between(from, to, self.view.width_px));
            }
            Person::StartOver => {
                self.link.starts_over = true;
                self.input(Input::Anew);
            }
            Person::Cover(is_covered) => {
                self.panels.is_covered = is_covered;
                self.redraw();
            }
            Person::Expand(lanes) => self.expand(lanes),
            Person::Reveal(lane) => self.reveal_lane(&lane),
        }
        self.follow_edges();
        self.want(Effect::Show);
    }

    /// Handles the mounting of the panels: opens and closes lanes as at an earlier visit.
    fn begin(&mut self, is_lesson: bool, opened: Option<&str>) {
        self.panels.is_lesson = is_lesson;
        if let Some(opened) = opened.filter(|_| !is_lesson) {
            self.lanes.set_choices(opened);
        }
        self.redraw();
    }

    /// Keeps a text in this browser.
    pub(super) fn keep(&mut self, kept: Kept, text: String) {
        self.want(Effect::Panel(PanelEffect::Keep(kept, text)));
    }

    /// Brings a problem into the window and selects it: first the first of its places, then with each call the next
    /// one.
    fn show_problem_places(&mut self, places: &[ProblemPlace]) {
        let shown = self.panels.problem_place;
        let place = places.iter().position(|place| Some(*place) == shown);
        let next = place.map_or(0, |place| (place + 1) % places.len());
        let is_walk = (self.view.following && !self.is_replay()) || self.panels.walk.is_some();
        self.panels.problem_place = places.get(next).copied();
        self.show_problem_place(self.panels.problem_place);
        self.panels.walk = is_walk.then_some(Walk {
            selections: self.panels.selections,
            view: self.view,
        });
    }

    fn show_problem_place(&mut self, place: Option<ProblemPlace>) {
        match place {
            Some(ProblemPlace::Record(record)) => self.show_record(record, None),
            Some(ProblemPlace::Stretch {
                lane,
                kind,
                began,
                at,
            }) => self.show_stretch(Awaited {
                lane,
                kind,
                began,
                at,
            }),
            Some(ProblemPlace::Finding(raised)) => self.show_finding(raised),
            Some(ProblemPlace::Lane(lane)) => {
                self.open_watch_of(lane);
                self.pick.stays_in_sight = true;
                self.focus_lane(lane);
                self.select_lane(lane);
            }
            Some(ProblemPlace::NotLoaded(at)) => {
                self.leave_place();
                self.clear_selection();
                self.center(at);
                self.mark_time(at);
                self.say("This is being loaded.".to_owned());
            }
            None => self.say("Nothing of it is loaded.".to_owned()),
        }
    }
}
