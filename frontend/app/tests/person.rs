//! The actions of a person, without a browser: the model afterwards, and the requests to the browser.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::{Log, at};
use host::{Host, SECOND, SIZE, log, welcome_to};
use watchscope_app::core::msg::Msg;
use watchscope_app::core::panel_state::Tab;
use watchscope_app::core::person::{FocusedPanel, Person};
use watchscope_app::core::screen::{ThemeChoice, Window};
use watchscope_app::input::actions::Action;
use watchscope_app::input::gesture::Pointer;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_timeline::scene::Target;
use watchscope_timeline::{LaneId, WatchId};

/// The lane of `shop/pods`: watches are numbered by their names.
const PODS: LaneId = LaneId::Watch(WatchId(1));

/// Returns a page with its panels that shows a log, after two frames: the second publishes what came with the panels.
fn page_of(log: &Log) -> Host {
    let (host, mut writer) = Host::shows(log, 2);
    host.gets_panels(log, &mut writer, 2);
    host
}

fn page() -> Host {
    page_of(&log())
}

/// Returns the keys of the rows in the tree.
fn rows(host: &Host) -> Vec<String> {
    let rows = host.model.borrow().tree_rows();
    rows.into_iter().map(|row| row.key).collect()
}

/// Opens the objects of `shop/pods`; returns the lane of the first.
fn first_object(host: &Host) -> LaneId {
    host.person(Person::ToggleLane(PODS));
    host.frame(2_000.0);
    let model = host.model.borrow();
    let mut lanes = model.rows.rows.iter().map(|row| row.id);
    lanes
        .find(|lane| matches!(lane, LaneId::Object(..)))
        .unwrap()
}

#[test]
fn the_panels_are_mounted_before_a_person_can_act() {
    let (host, _) = Host::shows(&log(), 2);
    host.frame(100.0);
    host.send(Msg::Loaded(&SECOND));
    assert_eq!(host.done.take()[0], "Panel(Mount)");
}

#[test]
fn without_the_second_part_a_persons_actions_have_no_effect() {
    let (host, _) = Host::shows(&log(), 2);
    host.frame(100.0);
    assert_eq!(
        host.person(Person::Act(Action::TogglePause)),
        [] as [&str; 0]
    );
    assert!(host.model.borrow().view.following);
}

#[test]
fn each_action_of_a_person_updates_the_panels() {
    let host = page();
    host.done.take();
    host.send(Msg::Person(Person::Dismiss));
    assert_eq!(host.done.take(), ["Show"]);
}

#[test]
fn an_opened_lane_is_selected_and_described() {
    let host = page();
    host.person(Person::OpenLane(PODS));
    let model = host.model.borrow();
    let detail = model.shown.detail.as_ref().unwrap();
    assert_eq!(detail.description.lane, "shop/pods");
    assert_eq!(model.pick.selected, Some(PODS));
    assert!(model.said.contains("shop/pods"), "{}", model.said);
}

#[test]
fn a_selected_change_has_its_bodies_fetched_under_the_selections_number() {
    let host = page();
    let object = first_object(&host);
    let done = host.person(Person::OpenLane(object));
    let fetched = done
        .iter()
        .find(|words| words.starts_with("Panel(FetchBodies"));
    let number = host.model.borrow().shown.detail.as_ref().unwrap().number;
    assert!(
        fetched
            .unwrap()
            .contains(&format!("selection: {number}, pane")),
        "{done:?}"
    );
    host.person(Person::OpenLane(PODS));
    let later = host.model.borrow().shown.detail.as_ref().unwrap().number;
    assert!(later > number);
}

#[test]
fn the_tab_is_kept_for_the_next_selection_that_has_it() {
    let host = page();
    let object = first_object(&host);
    let tab = || host.model.borrow().shown.detail.as_ref().unwrap().tab;
    host.person(Person::OpenLane(object));
    assert_eq!(tab(), Tab::Event);
    host.person(Person::ShowTab(Tab::Object));
    assert_eq!(tab(), Tab::Object);
    host.person(Person::CloseDetail);
    assert_eq!(host.model.borrow().shown.detail, None);
    host.person(Person::OpenLane(LaneId::Watch(WatchId(0))));
    assert_eq!(
        tab(),
        Tab::Event,
        "shop/jobs.batch has no change with an object"
    );
    host.person(Person::OpenLane(object));
    assert_eq!(tab(), Tab::Object);
}

#[test]
fn escape_closes_the_help_then_the_focused_panel_then_the_detail() {
    let host = page();
    host.person(Person::OpenLane(PODS));
    host.person(Person::Act(Action::Findings));
    host.person(Person::Act(Action::Help));
    let open = |host: &Host| {
        let model = host.model.borrow();
        let is_selected = model.shown.detail.is_some();
        (model.panels.help, model.panels.findings_open, is_selected)
    };
    assert_eq!(open(&host), (true, true, true));
    let escape = |focused| host.person(Person::Key(Action::Clear, focused));
    escape(Some(FocusedPanel::Findings));
    assert_eq!(open(&host), (false, true, true));
    let done = escape(Some(FocusedPanel::Findings));
    assert_eq!(open(&host), (false, false, true));
    assert!(
        done.contains(&"Panel(FocusSoon(Picture))".into()),
        "{done:?}"
    );
    let done = escape(None);
    assert_eq!(open(&host), (false, false, false));
    assert_eq!(
        done[0], "Panel(TakeFocusBack)",
        "the detail is there while it has the focus"
    );
}

#[test]
fn findings_and_watches_share_a_wide_window_and_not_a_narrow_one() {
    let open = |width_px| {
        let host = page();
        host.send(Msg::Frame {
            now_ms: 2_000.0,
            size: SIZE,
            window: Window {
                width_px,
                height_px: 700.0,
            },
        });
        host.person(Person::Act(Action::Watches));
        host.person(Person::Act(Action::Findings));
        let both = |host: &Host| {
            let model = host.model.borrow();
            (model.panels.findings_open, model.panels.watches_open)
        };
        let first = both(&host);
        host.person(Person::OpenLane(PODS));
        (first, both(&host))
    };
    assert_eq!(open(1_200.0), ((true, true), (true, false)));
    assert_eq!(open(1_000.0), ((true, false), (true, false)));
}

#[test]
fn opened_findings_fetch_their_texts_and_take_the_focus() {
    let host = page();
    let done = host.person(Person::Act(Action::Findings));
    assert_eq!(
        done[..2],
        ["Panel(FetchTexts)", "Panel(FocusSoon(Findings))"]
    );
}

#[test]
fn a_pause_counts_new_records_until_it_ends() {
    let log = {
        let mut log = log();
        for place in 0..3 {
            let (name, version) = (format!("late-{place}"), 20 + place);
            let seconds = 5.0 + place as f64;
            log.change(
                seconds,
                "shop/pods",
                ChangeType::Added,
                Origin::Live,
                &name,
                version,
            );
        }
        log
    };
    let (host, mut writer) = Host::shows(&log, 5);
    host.frame(100.0);
    host.send(Msg::Loaded(&SECOND));
    host.frame(1_000.0);
    host.person(Person::Act(Action::TogglePause));
    assert!(!host.model.borrow().view.following);
    host.live(&log, &mut writer, 5);
    host.frame(2_000.0);
    assert_eq!(host.model.borrow().shown.pill, Some(3));
    host.person(Person::Act(Action::Follow));
    host.frame(3_000.0);
    assert_eq!(host.model.borrow().shown.pill, None);
}

#[test]
fn the_filters_text_stays_as_typed_and_filters_the_lanes() {
    let host = page();
    host.person(Person::Filter("jobs ".into()));
    assert_eq!(host.model.borrow().panels.filter, "jobs ");
    host.frame(2_000.0);
    let rows = rows(&host);
    assert!(rows.contains(&"shop/jobs.batch".into()), "{rows:?}");
    assert!(!rows.contains(&"shop/pods".into()), "{rows:?}");
}

#[test]
fn opened_lanes_are_kept_and_opened_again_but_not_in_a_lesson() {
    let host = page();
    let done = host.person(Person::ToggleLane(PODS));
    let kept = done.iter().find(|words| words.starts_with("Panel(Keep"));
    assert!(kept.unwrap().contains("Opened"), "{done:?}");
    let choices = host.model.borrow().lanes.choices();
    host.frame(2_000.0);
    let shown = rows(&host);

    let begin = |is_lesson| {
        let (again, _) = Host::shows(&log(), 5);
        again.frame(100.0);
        again.send(Msg::Loaded(&SECOND));
        again.person(Person::Begin {
            is_lesson,
            opened: Some(choices.as_str().into()),
        });
        again.frame(1_000.0);
        again
    };
    assert_eq!(rows(&begin(false)), shown);
    let lesson = begin(true);
    assert_ne!(rows(&lesson), shown);
    let done = lesson.person(Person::ToggleLane(PODS));
    assert!(!done.iter().any(|words| words.contains("Keep")), "{done:?}");
}

#[test]
fn muted_findings_are_recalled_once_per_log_and_kept_under_its_name() {
    let host = page();
    let log = "LogId(\"log\")";
    // The page asked at its first frame that published.
    let recalled = |words: &String| words == &format!("Panel(Recall(Muted({log})))");
    host.person(Person::Muted(Some("F21|pods\tknown".into())));
    let done = host.person(Person::Mute {
        key: "F12 shop/pods".into(),
        reason: "planned".into(),
    });
    let kept = done.iter().find(|words| words.starts_with("Panel(Keep"));
    let kept = kept.unwrap();
    assert!(
        kept.contains(log) && kept.contains("F12 shop/pods") && kept.contains("planned"),
        "{kept}"
    );
    assert!(!host.frame(2_000.0).iter().any(recalled));
    host.send(Msg::Message(welcome_to("another")));
    let done = host.frame(3_000.0);
    assert!(
        done.contains(&"Panel(Recall(Muted(LogId(\"another\"))))".into()),
        "{done:?}"
    );
    assert!(!host.model.borrow().lanes.muted.has("F12 shop/pods"));
}

#[test]
fn a_theme_is_used_and_kept() {
    let host = page();
    let done = host.person(Person::Theme(ThemeChoice::Light));
    assert_eq!(done[..2], ["Theme", "Panel(Keep(Theme, \"light\"))"]);
    assert_eq!(host.model.borrow().screen.theme, ThemeChoice::Light);
}

#[test]
fn the_table_of_watches_reverses_its_order_and_announces_it() {
    let host = page();
    host.person(Person::Act(Action::Watches));
    let names = |host: &Host| -> Vec<String> {
        let model = host.model.borrow();
        let rows = model.shown.watches.iter();
        rows.map(|row| row.watch.to_string()).collect()
    };
    let first = names(&host);
    assert_eq!(first, ["shop/jobs.batch", "shop/pods"]);
    host.person(Person::SortWatches(0));
    assert_eq!(names(&host), ["shop/pods", "shop/jobs.batch"]);
    assert_eq!(host.model.borrow().said, "Sorted by Watch, falling.");
    host.person(Person::SortWatches(99));
    assert_eq!(names(&host), ["shop/pods", "shop/jobs.batch"]);
}

#[test]
fn a_press_that_does_not_move_selects_at_its_click_and_a_drag_pans() {
    let host = page();
    host.person(Person::ToggleLane(PODS));
    host.frame(2_000.0);
    let hit = {
        let model = host.model.borrow();
        let hit = model
            .scene
            .hits
            .iter()
            .find(|hit| matches!(hit.target, Target::Record(_) | Target::Stretch(..)));
        hit.unwrap().clone()
    };
    let place = |dx_px: f64| Pointer {
        id: 1,
        x_px: hit.area.x.to_f64() + hit.area.w.to_f64() / 2.0 + dx_px,
        y_px: hit.area.y.to_f64()
            + hit.area.h.to_f64() / 2.0
            + watchscope_app::core::layout::RULER_PX,
        touch: false,
        shift: false,
        alt: false,
    };
    let release = |pointer| {
        host.person(Person::Release {
            pointer,
            at_ms: 10.0,
        });
    };
    host.person(Person::Press(place(0.0)));
    release(place(0.0));
    assert_eq!(
        host.model.borrow().shown.detail,
        None,
        "a selection at the press would let the click hit the opened panel"
    );
    host.person(Person::Click);
    assert_eq!(host.model.borrow().pick.selected, Some(hit.lane));

    let before = host.model.borrow().view;
    host.person(Person::Press(place(0.0)));
    host.person(Person::Motion(place(-100.0)));
    release(place(-100.0));
    host.person(Person::Click);
    let after = host.model.borrow().view;
    let moved_px = (after.left_us - before.left_us) / before.us_per_px;
    assert!((moved_px - 100.0).abs() < 1.0, "{moved_px}");
}

#[test]
fn the_tooltip_disappears_when_the_pointer_leaves_the_picture() {
    let host = page();
    host.person(Person::ToggleLane(PODS));
    host.frame(2_000.0);
    let hit = {
        let model = host.model.borrow();
        let mut hits = model.scene.hits.iter();
        hits.find(|hit| hit.target != Target::Lane).unwrap().clone()
    };
    let pointer = Pointer {
        id: 1,
        x_px: hit.area.x.to_f64() + 1.0,
        y_px: hit.area.y.to_f64() + 1.0 + watchscope_app::core::layout::RULER_PX,
        touch: false,
        shift: false,
        alt: false,
    };
    host.person(Person::Motion(pointer));
    assert!(host.model.borrow().shown.tooltip.is_some());
    host.person(Person::Leave {
        pointer: 1,
        cancelled: false,
    });
    assert_eq!(host.model.borrow().shown.tooltip, None);
}

#[test]
fn a_comparison_needs_a_connection_and_shows_its_progress() {
    use watchscope_app::core::shown::Checking;
    let host = page();
    let done = host.person(Person::Compare(PODS));
    assert!(
        done.iter()
            .any(|words| words.contains("audit") && words.contains("shop/pods")),
        "{done:?}"
    );
    assert_eq!(
        host.model.borrow().shown.checking,
        Checking::Of {
            lane: PODS,
            found: None,
            is_over: false
        }
    );
}

#[test]
fn a_lesson_holds_the_time_and_finds_a_moment_on_the_canvas() {
    let host = page();
    host.person(Person::Hold(at(4.0)));
    host.person(Person::ShowTime {
        from: at(0.0),
        to: at(8.0),
    });
    host.frame(2_000.0);
    let model = host.model.borrow();
    assert_eq!(model.now(), at(4.0));
    let (x_px, y_px) = model.place_of("shop/pods", at(4.0), 0).unwrap();
    assert!((x_px - SIZE.width_px / 2.0).abs() < 1.0, "{x_px}");
    assert!(y_px > 0.0);
    assert_eq!(model.place_of("shop/pods", at(9.0), 0), None);
    assert_eq!(model.place_of("nothing", at(4.0), 0), None);
}

/// Returns the addresses that the browser was to show, each with whether it is a new place.
fn addresses(done: &[String]) -> Vec<String> {
    let asked = done
        .iter()
        .filter(|effect| effect.starts_with("Panel(Address"));
    asked.cloned().collect()
}

#[test]
fn a_link_chooses_time_filter_and_selection_and_the_address_stays_the_same() {
    let host = page();
    let key = {
        let model = host.model.borrow();
        model.store.lane_key(PODS)
    };
    let (from, to) = (at(1.0).0, at(3.0).0);
    let key = key.replace('/', "%2F");
    let link = format!("v=1&from={from}&to={to}&filter=pods&lane={key}");
    host.person(Person::GoTo(format!("#{link}").into()));
    host.frame(3_000.0);
    let model = host.model.borrow();
    assert!(!model.view.following);
    assert_eq!((model.view.left(), model.view.right()), (at(1.0), at(3.0)));
    assert_eq!(model.panels.filter, "pods");
    let selected = model.panels.selection.as_ref().unwrap();
    assert_eq!(selected.lane, PODS);
    assert_eq!(model.trouble, None);
}

#[test]
fn a_jump_is_a_new_place_and_the_back_button_returns_to_the_one_before() {
    let host = page();
    host.person(Person::Act(Action::TogglePause));
    host.frame(3_000.0);
    let before = host.model.borrow().view;
    host.person(Person::ShowProblem { is_next: false });
    host.person(Person::GripOverview {
        x_px: SIZE.width_px - 40.0,
    });
    host.person(Person::ReleaseOverview);
    let written = addresses(&host.frame(6_000.0));
    assert!(
        written
            .iter()
            .any(|address| address.contains("is_new: true")),
        "{written:?}"
    );
    assert_ne!(host.model.borrow().view.left(), before.left());
    // The browser's back button passes this fragment.
    let (from, to) = (before.left().0, before.right().0);
    host.person(Person::GoTo(format!("#v=1&from={from}&to={to}").into()));
    host.frame(9_000.0);
    assert_eq!(host.model.borrow().view.left(), before.left());
}

#[test]
fn the_back_button_returns_from_the_whole_log_its_begin_and_now() {
    for action in [Action::Fit, Action::Oldest, Action::Follow] {
        let host = page();
        host.person(Person::Act(Action::TogglePause));
        host.person(Person::Act(Action::ZoomIn));
        host.frame(3_000.0);
        let is_new = |done: &[String]| {
            let written = addresses(done);
            written
                .iter()
                .any(|address| address.contains("is_new: true"))
        };
        let done = host.person(Person::Act(action));
        assert!(!is_new(&done), "the old place keeps its entry");
        assert!(is_new(&host.frame(6_000.0)), "{action:?}");
        // Later changes stay at the same place.
        host.person(Person::Act(Action::Follow));
        host.frame(9_000.0);
        host.person(Person::Act(Action::Follow));
        assert!(!is_new(&host.frame(12_000.0)));
    }
}

#[test]
fn a_link_to_a_missing_lane_shows_an_error_after_5_s() {
    let host = page();
    let (from, to) = (at(-90_000.0).0, at(-80_000.0).0);
    host.person(Person::GoTo(format!("#v=1&from={from}&to={to}").into()));
    host.frame(3_000.0);
    assert_eq!(
        host.model.borrow().trouble,
        None,
        "the catalogue may still name it"
    );
    host.frame(12_000.0);
    // The palette leads to the nearest that is kept.
    let rows = host.model.borrow().shown.palette.clone().unwrap().rows;
    let beside = "2026-11-18 08:31:00 is not kept; kept from 2026-11-19 09:31:00";
    assert_eq!(rows[0].beside, beside);
    assert!(rows[0].words[0].0.starts_with("Go to 09:31:00"));
    host.person(Person::Key(Action::Clear, None));
    // All of this is loaded, and it has no such lane.
    let (from, to) = (at(8.0).0, at(9.0).0);
    let link = format!("#v=1&from={from}&to={to}&lane=no-such%2Flane");
    host.person(Person::GoTo(link.into()));
    host.frame(13_000.0);
    host.frame(20_000.0);
    let trouble = host.model.borrow().trouble.clone();
    assert!(trouble.unwrap().contains("no-such/lane"));
}

#[test]
fn a_link_opens_panels_and_theme_and_one_into_another_log_shows_an_error() {
    let host = page();
    let (from, to) = (at(1.0).0, at(3.0).0);
    let link = format!("v=1&log=log&from={from}&to={to}&panel=watches&theme=light");
    host.person(Person::GoTo(format!("#{link}").into()));
    host.frame(3_000.0);
    {
        let model = host.model.borrow();
        assert!(model.panels.watches_open && !model.panels.findings_open);
        assert_eq!(model.screen.theme, ThemeChoice::Light);
        assert_eq!(model.trouble, None);
    }
    host.person(Person::Act(Action::Watches));
    host.frame(6_000.0);
    let written = host.model.borrow().panels.address.written.clone();
    assert!(!written.contains("panel"), "{written}");
    assert!(written.ends_with("&theme=light"), "{written}");

    let other = format!("#v=1&log=other&from={from}&to={to}");
    host.person(Person::GoTo(other.into()));
    host.frame(9_000.0);
    let trouble = host.model.borrow().trouble.clone();
    assert_eq!(
        trouble.as_deref(),
        Some("The link leads to the log other; this page shows log.")
    );
}

#[test]
fn the_views_frame_on_the_overview_is_dragged_resized_and_replaced() {
    let host = page();
    host.frame(3_000.0);
    let view = || host.model.borrow().view;
    let px_of = |time| {
        let model = host.model.borrow();
        let (scale, _) = model.panels.overview.drawn.as_ref().unwrap();
        scale.x_from_time(time).to_f64()
    };
    // A window from one px to another.
    host.person(Person::GripOverview { x_px: 100.0 });
    host.person(Person::DragOverview { x_px: 200.0 });
    host.person(Person::ReleaseOverview);
    host.frame(4_000.0);
    let drawn = view();
    assert!(!drawn.following);
    let length = |view: watchscope_timeline::View| view.right().micros_since(view.left());
    // A drag of its middle keeps its length.
    let middle = (px_of(drawn.left()) + px_of(drawn.right())) / 2.0;
    host.person(Person::GripOverview { x_px: middle });
    host.person(Person::DragOverview {
        x_px: middle + 20.0,
    });
    host.person(Person::ReleaseOverview);
    host.frame(5_000.0);
    let moved = view();
    assert!(moved.left() > drawn.left());
    assert!((length(moved) - length(drawn)).abs() < 1_000);
    // A handle moves one edge.
    let right_px = px_of(moved.right());
    host.person(Person::GripOverview { x_px: right_px });
    host.person(Person::DragOverview {
        x_px: right_px + 30.0,
    });
    host.person(Person::ReleaseOverview);
    let resized = view();
    assert!(length(resized) > length(moved));
    assert!(resized.left().micros_since(moved.left()).abs() < 1_000);
}

#[test]
fn the_overview_keeps_its_width_beside_a_panel() {
    let host = page();
    host.frame(3_000.0);
    let width_px = || {
        let model = host.model.borrow();
        let (_, scene) = model.panels.overview.drawn.as_ref().unwrap();
        scene.width.to_f64()
    };
    let of_picture_px = host.model.borrow().view.width_px;
    let narrow_px = width_px();
    assert!((narrow_px - of_picture_px).abs() < 1.0);
    host.person(Person::SizeOverview {
        width_px: of_picture_px + 400.0,
    });
    assert!((width_px() - narrow_px - 400.0).abs() < 1.0);
    // The window's frame still has the times of the picture.
    let model = host.model.borrow();
    let (scale, _) = model.panels.overview.drawn.as_ref().unwrap();
    let right_px = scale.x_from_time(model.view.right()).to_f64();
    assert!(right_px <= narrow_px + 400.0, "{right_px}");
}
