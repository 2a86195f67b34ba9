//! The rules by which marks, ends and stretches are drawn. Each has a story of a few records.

use crate::common::{FOREVER, Log, at, object, picture, picture_of, with_unknown_kinds};
use insta::assert_snapshot;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use watchscope_model::codec::split_frame;
use watchscope_model::event::*;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::findings::Muted;
use watchscope_timeline::format::text_width;
use watchscope_timeline::picture::Caption;
use watchscope_timeline::scene::{Hatch, Hit, Primitive, Sign, Step, StretchKind, Target};
use watchscope_timeline::words::{
    describe, describe_record, emptiness, event_words, gaps, gaps_from_a_to_b, gaps_in_view,
    phase_sentence, problems, records, unknown,
};
use watchscope_timeline::{
    Glyph, LaneId, Lanes, Picture, Px, RecordId, Scene, ServerId, Store, Token, View,
};

const PODS: &str = "shop/pods";

/// Returns a watch with an open stream (number 10, timeout 431 s) and one object.
fn streaming() -> Log {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    log
}

/// Draws the first `seconds`, 10 px for each second.
fn scene_of(store: &Store, seconds: f64) -> Scene {
    let view = View::between(at(0.0), at(seconds), seconds * 10.0);
    picture(store, &mut Lanes::showing_all(), &view, at(seconds)).1
}

fn draw(log: &Log, seconds: f64) -> Scene {
    scene_of(&log.store(), seconds)
}

fn texts(scene: &Scene) -> Vec<&str> {
    let lines = scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Text(line) => Some(line.text.as_str()),
            _ => None,
        });
    lines.collect()
}

fn has_text(scene: &Scene, wanted: &str) -> bool {
    texts(scene).iter().any(|text| text.contains(wanted))
}

fn hatched(scene: &Scene, wanted: Hatch) -> bool {
    scene
        .primitives
        .iter()
        .any(|primitive| matches!(primitive, Primitive::Hatch { hatch, .. } if *hatch == wanted))
}

fn glyphs(scene: &Scene, wanted: Glyph) -> usize {
    let is = |primitive: &&Primitive| matches!(primitive, Primitive::Glyph { glyph, .. } if *glyph == wanted);
    scene.primitives.iter().filter(is).count()
}

#[test]
fn a_modified_is_a_half_dot_only_if_the_generation_is_unchanged_and_the_subresource_is_status() {
    let mut log = streaming();
    let modified = |log: &mut Log, s: f64, version: u64, generation: u64, sub| {
        log.change_as(
            s,
            PODS,
            ChangeType::Modified,
            Origin::Live,
            "cart-0",
            version,
            (generation, sub),
        );
    };
    modified(&mut log, 5.0, 1_001, 1, Some("status"));
    modified(&mut log, 15.0, 1_002, 2, Some("status"));
    modified(&mut log, 25.0, 1_003, 2, None);
    modified(&mut log, 35.0, 1_004, 2, Some("scale"));
    let scene = draw(&log, 40.0);
    assert_eq!(
        (
            glyphs(&scene, Glyph::Status),
            glyphs(&scene, Glyph::Modified)
        ),
        (1, 3)
    );
}

#[test]
fn a_mark_from_a_list_is_hollow() {
    let mut log = streaming();
    log.change(9.0, PODS, ChangeType::Added, Origin::Initial, "x", 900);
    log.change(19.0, PODS, ChangeType::Modified, Origin::List, "x", 950);
    log.change(29.0, PODS, ChangeType::Deleted, Origin::Inferred, "x", 950);
    let scene = draw(&log, 40.0);
    for glyph in [
        Glyph::AddedByList,
        Glyph::ModifiedByList,
        Glyph::DeletedInferred,
    ] {
        assert!(glyphs(&scene, glyph) > 0, "{}", glyph.id());
    }
    assert_eq!(
        glyphs(&scene, Glyph::Added) + glyphs(&scene, Glyph::Deleted),
        0
    );
}

/// Returns a log with stream 10, ended after `seconds` by `cause`, with an attribution if one is given.
fn ended(seconds: f64, cause: Cause, attributed: Option<(&str, Certainty)>) -> Log {
    let mut log = streaming();
    let evidence = vec![log.end(seconds, PODS, 10, cause)];
    if let Some((code, certainty)) = attributed {
        log.push(
            seconds + 1.0,
            Attribution {
                watch: PODS.into(),
                stream: StreamId(10),
                code: code.into(),
                certainty,
                evidence,
            },
        );
    }
    log
}

/// Returns how its plateau falls.
fn fall(seconds: f64, cause: Cause, attributed: Option<&str>) -> Glyph {
    let attributed = attributed.map(|code| (code, Certainty::Likely));
    fall_of(&ended(seconds, cause, attributed), seconds)
}

fn fall_of(log: &Log, seconds: f64) -> Glyph {
    let legend = draw(log, seconds + 5.0).legend.glyphs;
    let ends = [Glyph::EndNormal, Glyph::EndUnknown, Glyph::EndAbnormal];
    let found: Vec<Glyph> = ends
        .into_iter()
        .filter(|glyph| legend.contains(glyph))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn the_fall_of_a_plateau_shows_how_the_stream_ended() {
    assert_eq!(fall(50.0, Cause::Cancelled, None), Glyph::EndNormal);
    assert_eq!(fall(430.0, Cause::End, None), Glyph::EndNormal);
    assert_eq!(fall(433.5, Cause::End, None), Glyph::EndUnknown);
    assert_eq!(fall(50.0, Cause::End, None), Glyph::EndUnknown);
    for cause in [
        Cause::TcpReset,
        Cause::Eof,
        Cause::EofInFrame,
        Cause::IdleTimeout,
        Cause::Decode,
    ] {
        assert_eq!(fall(50.0, cause, None), Glyph::EndAbnormal, "{cause}");
    }
}

#[test]
fn a_later_attribution_overrides_how_a_plateau_falls() {
    assert_eq!(fall(50.0, Cause::End, Some("F08")), Glyph::EndAbnormal);
    assert_eq!(
        fall(50.0, Cause::TcpReset, Some("normal")),
        Glyph::EndNormal
    );
    assert_eq!(fall(50.0, Cause::Eof, Some("ours")), Glyph::EndNormal);
    assert_eq!(
        fall(50.0, Cause::TcpReset, Some("unknown")),
        Glyph::EndUnknown
    );
}

#[test]
fn a_guessed_attribution_is_worded_as_a_guess_and_does_not_change_the_fall() {
    let slow = Some(("F36", Certainty::Suspected));
    let guessed = ended(50.0, Cause::End, slow);
    assert_eq!(fall_of(&guessed, 50.0), Glyph::EndUnknown);
    assert_eq!(
        fall_of(&ended(50.0, Cause::TcpReset, slow), 50.0),
        Glyph::EndAbnormal
    );
    let likely = ended(50.0, Cause::Eof, Some(("F06", Certainty::Likely)));
    let sure = ended(50.0, Cause::TcpReset, Some(("F08", Certainty::Definite)));
    let shown = [&guessed, &likely, &sure].map(|log| {
        let scene = draw(log, 55.0);
        let mut lines = texts(&scene).into_iter();
        let line = lines.find(|line| line.contains("F0") || line.contains("F36"));
        line.map(str::to_owned)
    });
    assert_snapshot!(shown.map(Option::unwrap_or_default).join("\n"), @r"
    perhaps F36 a slow reader cut off
    most likely F06 apiserver restart or change of master
    F08 connection reset
    ");
    // A narrow view has room only for the code.
    let view = View::between(at(0.0), at(500.0), 560.0);
    let narrow = picture(
        &guessed.store(),
        &mut Lanes::showing_all(),
        &view,
        at(500.0),
    )
    .1;
    assert!(has_text(&narrow, "F36?"), "{:?}", texts(&narrow));
}

#[test]
fn the_end_of_a_stream_and_the_stream_say_why_it_ended_and_how_sure_that_is() {
    let fields = |certainty, code| {
        let log = ended(50.0, Cause::End, Some((code, certainty)));
        let store = log.store();
        let of = |event: fn(&Event) -> bool| {
            let record = log.records.iter().find(|record| event(&record.event));
            record.expect("it is there").seq
        };
        let lane = store.find_lane(&PODS.into(), None).expect("it was met");
        let end = of(|event| matches!(event, Event::StreamEnded(_)));
        let open = of(|event| matches!(event, Event::StreamOpened(_)));
        let id = |seq| RecordId { epoch: 0, seq };
        let hit = Hit {
            area: Default::default(),
            lane,
            target: Target::Stretch(StretchKind::Stream, id(open)),
            drawn: None,
        };
        let shown = [
            describe_record(&store, lane, id(end)),
            describe(&store, &hit, at(55.0)),
        ];
        shown
            .map(|shown| {
                let found = shown.fields.iter().find(|(name, _)| *name == "attribution");
                found.map(|(_, words)| words.clone()).unwrap_or_default()
            })
            .join(" | ")
    };
    let shown = [
        fields(Certainty::Suspected, "F36"),
        fields(Certainty::Likely, "F10"),
        fields(Certainty::Definite, "normal"),
        fields(Certainty::Likely, "ours"),
        fields(Certainty::Unknown, "unknown"),
    ];
    assert_snapshot!(shown.join("\n"), @r"
    perhaps F36 a slow reader cut off | perhaps F36 a slow reader cut off
    most likely F10 closed at once instead of expired | most likely F10 closed at once instead of expired
    normal | normal
    most likely ours | most likely ours
    unknown | unknown
    ");
}

#[test]
fn a_jump_and_a_reversal_stand_on_the_trace_with_their_signed_deltas() {
    let mut log = streaming();
    for step in 1..6_u64 {
        log.change(
            step as f64,
            PODS,
            ChangeType::Modified,
            Origin::Live,
            "cart-0",
            1_000 + step,
        );
    }
    log.change(
        20.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        42_878,
    );
    log.change(
        40.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        42_000,
    );
    let scene = draw(&log, 50.0);
    assert_eq!(
        (glyphs(&scene, Glyph::Jump), glyphs(&scene, Glyph::Reversal)),
        (1, 1)
    );
    assert!(
        has_text(&scene, "+41,873 in 15 s") && has_text(&scene, "−878 in 20 s"),
        "{:?}",
        texts(&scene)
    );
    let store = log.store();
    let shown = |glyph| {
        let scene = scene_of(&store, 50.0);
        let is = |hit: &&Hit| {
            hit.drawn
                .is_some_and(|drawn| drawn.sign == Sign::Glyph(glyph))
        };
        let hit = scene.hits.iter().find(is).unwrap();
        describe(&store, hit, at(50.0)).what
    };
    assert_eq!(
        shown(Glyph::Jump),
        "MODIFIED cart-0 at resourceVersion 42,878 by kubelet. The resourceVersion went +41,873 in 15 s, \
         from 1,005 to 42,878; the largest of the 5 steps before it was 1."
    );
    assert_eq!(
        shown(Glyph::Reversal),
        "MODIFIED cart-0 at resourceVersion 42,000 by kubelet. The resourceVersion went −878 in 20 s, \
         from 42,878 to 42,000."
    );
}

#[test]
fn a_step_is_a_jump_over_100_and_over_eight_times_the_largest_of_the_16_before() {
    let jumps = |steps: &[u64]| {
        let mut log = streaming();
        let mut version = 1_000;
        for (place, step) in steps.iter().enumerate() {
            version += step;
            log.change(
                1.0 + place as f64,
                PODS,
                ChangeType::Modified,
                Origin::Live,
                "cart-0",
                version,
            );
        }
        // A snapshot right before the last step gives the same as all records, because the fold keeps the steps.
        let mut late = Store::default();
        log.send_from(&mut late, log.records.len() - 1);
        let found = [log.store(), late].map(|store| glyphs(&scene_of(&store, 40.0), Glyph::Jump));
        assert_eq!(found[0], found[1], "{steps:?}");
        found[0]
    };
    assert_eq!(jumps(&[1, 1, 100]), 0, "not over 100");
    assert_eq!(jumps(&[1, 1, 101]), 1);
    assert_eq!(jumps(&[20, 1, 160]), 0, "not over eight times the largest");
    assert_eq!(jumps(&[20, 1, 161]), 1);
    let mut steps = vec![20];
    steps.extend([1; 15]);
    assert_eq!(
        jumps(&[&steps[..], &[160]].concat()),
        0,
        "the largest of 16"
    );
    assert_eq!(
        jumps(&[&steps[..], &[1, 160]].concat()),
        1,
        "the 17th before"
    );
}

/// Returns a watch that is stopped, started again, and lists at `version`. Its last event of cart-1 was at 1,017.
fn begun_anew(version: u64) -> Log {
    let mut log = streaming();
    let live = Origin::Live;
    log.change(5.0, PODS, ChangeType::Modified, live, "cart-0", 1_010);
    log.change(8.0, PODS, ChangeType::Added, live, "cart-1", 1_017);
    log.push(
        20.0,
        WatchStopped {
            watch: PODS.into(),
            reason: PhaseReason::StopRequested,
        },
    );
    log.opened(22.0, PODS, 2, &["cart-0"], version);
    log
}

/// Returns the lines of lives that are certain: their begins and ends.
fn sure_lives(scene: &Scene) -> Vec<(f64, f64)> {
    let line = |primitive: &Primitive| match primitive {
        Primitive::Rect {
            area,
            fill: Some(Token::Life),
            ..
        } => Some((area.x.to_f64(), area.right().to_f64())),
        _ => None,
    };
    scene.primitives.iter().filter_map(line).collect()
}

#[test]
fn a_restored_etcd_is_a_reversal_and_later_versions_make_a_life_uncertain() {
    let reversals = |scene: &Scene| glyphs(scene, Glyph::Reversal);
    let restored = begun_anew(1_015);
    let scene = draw(&restored, 40.0);
    assert_eq!(reversals(&scene), 1);
    assert!(has_text(&scene, "−2"), "{:?}", texts(&scene));
    // cart-0 was there at 1,010, which is in both histories. Nothing about cart-1 is certain.
    let sure = sure_lives(&scene);
    assert!(
        sure.iter().any(|life| life.0 < 5.0 && life.1 == 200.0),
        "{sure:?}"
    );
    assert!(!sure.iter().any(|life| life.0 == 80.0), "{sure:?}");
    // A page that comes between stop and list knows as much, from the snapshot.
    let cut = restored
        .records
        .iter()
        .position(|record| record.at > at(21.0))
        .unwrap();
    let mut late = Store::default();
    restored.send_from(&mut late, cut);
    assert_eq!(reversals(&scene_of(&late, 40.0)), 1);

    // If the version goes on above, there is no reversal.
    let scene = draw(&begun_anew(1_030), 40.0);
    assert_eq!(reversals(&scene), 0);
    let sure = sure_lives(&scene);
    assert!(sure.contains(&(80.0, 200.0)), "{sure:?}");
}

#[test]
fn gaps_of_a_watch_that_only_checks_another_do_not_count() {
    let mut log = streaming();
    let checking = format!("{PODS}#s");
    log.opened(5.0, &checking, 50, &["a"], 100);
    log.end(10.0, &checking, 50, Cause::TcpReset);
    log.gap(13.0, &checking, false, None);
    let store = log.store();
    assert_eq!(store.gaps(at(0.0), at(40.0), at(40.0)).total(), 0);
}

#[test]
fn gaps_are_counted_by_their_outcome_and_a_lost_one_is_a_problem() {
    let mut log = streaming();
    log.end(10.0, PODS, 10, Cause::TcpReset);
    log.gap(13.0, PODS, true, Some(0));
    log.open(13.0, PODS, 11, 2, 1_000);
    let store = log.store();
    assert_eq!(
        store.gaps(at(0.0), at(40.0), at(40.0)).words(),
        "1 resumed (3 s)"
    );
    assert!(
        problems(&store, &Muted::default()).is_empty(),
        "nothing was lost"
    );
    let lost = log.end(20.0, PODS, 11, Cause::TcpReset);
    log.gap(35.0, PODS, false, None);
    log.open(35.0, PODS, 12, 3, 2_000);
    log.end(38.0, PODS, 12, Cause::TcpReset);
    let store = log.store();
    let gaps = store.gaps(at(0.0), at(40.0), at(40.0));
    assert_eq!(gaps.words(), "1 resumed (3 s), 1 lost (15 s), 1 open");
    let last_lost = store.state().unwrap().watches[&WatchName::from(PODS)].last_lost;
    assert_eq!(last_lost.map(|began| began.seq), Some(lost));
    assert_eq!(store.gaps(at(14.0), at(19.0), at(40.0)).total(), 0);
    let problems = problems(&store, &Muted::default());
    let words: Vec<&str> = problems
        .iter()
        .map(|problem| problem.words.as_str())
        .collect();
    assert_eq!(words, ["1 gap lost"]);
}

#[test]
fn a_life_is_described_by_its_last_record() {
    let mut log = streaming();
    let modified = log.change(
        10.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        1_001,
    );
    log.change(
        20.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "other",
        1_002,
    );
    let store = log.store();
    let scene = scene_of(&store, 40.0);
    let is_life = |hit: &&Hit| matches!(hit.target, Target::Stretch(StretchKind::Life, _));
    let hit = scene.hits.iter().find(is_life).unwrap();
    let shown = describe(&store, hit, at(40.0));
    assert_eq!(
        shown.what,
        "The watch holds this object. MODIFIED cart-0 at resourceVersion 1,001 by kubelet."
    );
    assert_eq!(shown.body.unwrap().seq, modified);
}

#[test]
fn before_the_first_log_the_paper_says_that_it_is_not_known() {
    let mut log = Log::new("a");
    log.opened(30.0, PODS, 1, &["cart-0"], 1_000);
    let scene = draw(&log, 40.0);
    assert!(
        has_text(&scene, "before watchscope started"),
        "{:?}",
        texts(&scene)
    );
    assert!(
        scene.dump().contains("rect 0,0 300x84 bg1"),
        "{}",
        scene.dump()
    );
}

#[test]
fn a_view_of_before_the_first_log_says_when_it_begins() {
    let log = streaming();
    let (store, mut lanes) = (log.store(), Lanes::showing_all());
    let shown = |lanes: &mut Lanes, from: f64, to: f64| {
        let view = View::between(at(from), at(to), 300.0);
        let rows = picture(&store, lanes, &view, at(60.0)).0;
        emptiness(&store, lanes, &rows, &view, at(60.0)).map(|empty| empty.words())
    };
    let (what, when) = shown(&mut lanes, -90.0, -30.0).unwrap();
    assert_eq!(what, "At 09:30:00 watchscope was not running yet.");
    assert_eq!(when, "Its log begins at 09:31:00.");
    assert_eq!(shown(&mut lanes, -30.0, 30.0), None);
}

/// Returns why a view is empty, and a remedy; `None` if it is not.
fn shown(store: &Store, filter: &str, from: f64, to: f64) -> Option<(String, String)> {
    let mut lanes = Lanes::showing_all();
    lanes.set_filter(filter);
    let view = View::between(at(from), at(to), 300.0);
    let rows = picture(store, &mut lanes, &view, at(60.0)).0;
    let empty = emptiness(store, &lanes, &rows, &view, at(60.0));
    empty.map(|empty| empty.words())
}

#[track_caller]
fn says(words: Option<(String, String)>, what: &str, todo: &str) {
    assert_eq!(words, Some((what.to_owned(), todo.to_owned())));
}

#[test]
fn an_empty_view_of_hidden_or_quiet_watches_gives_its_reason_and_a_remedy() {
    assert_eq!(shown(&streaming().store(), "", 0.0, 60.0), None);
    says(
        shown(&streaming().store(), "nodes", 0.0, 60.0),
        "2 lanes, all hidden by nodes.",
        "",
    );

    let mut quiet = Log::new("a");
    quiet.opened(5.0, PODS, 1, &[], 1_000);
    says(
        shown(&quiet.store(), "", 0.0, 60.0),
        "1 watch open, no event since 09:31:05.",
        "Quiet is data: the pen moves and draws level lines.",
    );
    // A watch at two servers counts once, and a watch that only checks another does not count.
    for (name, ids) in [("shop/pods#2", 2), ("shop/pods#w", 3)] {
        quiet.opened(4.0 + ids as f64, name, ids, &[], 1_000);
    }
    quiet.opened(9.0, "shop/configmaps", 4, &[], 1_000);
    says(
        shown(&quiet.store(), "", 0.0, 60.0),
        "2 watches open, no event since 09:31:05.",
        "Quiet is data: the pen moves and draws level lines.",
    );
}

#[test]
fn an_empty_view_of_refused_or_unanswered_watches_gives_its_reason_and_a_remedy() {
    // It says refused only while no object at all is held.
    let refused = |watches: &[(&str, PhaseReason)]| {
        let mut log = Log::new("a");
        for &(watch, reason) in watches {
            log.watch(1.0, watch);
            log.phase(2.0, watch, Phase::Refused, reason, Some(60_000));
        }
        log
    };
    let (no, unknown) = (PhaseReason::Forbidden, PhaseReason::Unauthorized);
    says(
        shown(&refused(&[(PODS, no)]).store(), "", 0.0, 60.0),
        "403: this account may not list or watch pods in shop.",
        "It needs the verbs list and watch. Nothing else is affected.",
    );
    says(
        shown(
            &refused(&[
                ("*/pods", no),
                ("*/pods#2", no),
                ("*/pods#s", no),
                ("-/nodes", no),
            ])
            .store(),
            "",
            0.0,
            60.0,
        ),
        "403: this account may not list or watch pods in all namespaces.",
        "It needs the verbs list and watch; 1 more watch is refused.",
    );
    says(
        shown(&refused(&[("-/nodes", no)]).store(), "", 0.0, 60.0),
        "403: this account may not list or watch nodes in the cluster.",
        "It needs the verbs list and watch. Nothing else is affected.",
    );
    says(
        shown(&refused(&[(PODS, unknown)]).store(), "", 0.0, 60.0),
        "401: the server does not know the account that watches shop/pods.",
        "It needs valid credentials. Nothing else is affected.",
    );
    let mut partly = refused(&[("shop/jobs.batch", no)]);
    partly.opened(5.0, PODS, 1, &["cart-0"], 1_000);
    assert_eq!(shown(&partly.store(), "", 0.0, 60.0), None);

    let mut unheard = Log::new("a");
    unheard.watch(1.0, PODS);
    unheard.push(
        58.0,
        WatchPhase {
            watch: PODS.into(),
            from: None,
            to: Phase::Waiting,
            reason: PhaseReason::Unreachable,
            delay_ms: Some(4_500),
            error: Some("10.0.0.1:6443 refused the connection".into()),
        },
    );
    says(
        shown(&unheard.store(), "", 0.0, 60.0),
        "The cluster does not answer.",
        "10.0.0.1:6443 refused the connection. Next try in 3 s.",
    );
}

#[test]
fn a_view_of_records_that_are_no_longer_kept_says_since_when_they_are() {
    let mut log = streaming();
    for step in 1..40_u64 {
        let (kind, origin) = (ChangeType::Modified, Origin::Live);
        log.change(step as f64, PODS, kind, origin, "cart-0", 1_000 + step);
    }
    let mut store = Store::default();
    log.send_from(&mut store, 40);
    store.ring_begins(&log.epoch, Seq(1), at(0.0));
    assert_eq!(shown(&store, "", 2.0, 12.0), None, "it can still be loaded");
    store.expired(&log.epoch, Seq(40));
    let (what, kept) = shown(&store, "", 2.0, 12.0).unwrap();
    assert_eq!(what, "09:31:07 is no longer in the buffer.");
    assert!(kept.contains("are kept, from 09:31:2"), "{kept}");
    assert_eq!(shown(&store, "", 2.0, 50.0), None);
}

#[test]
fn a_connection_lane_goes_from_connection_to_connection() {
    let mut log = streaming();
    log.change(
        5.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        1_001,
    );
    log.end(10.0, PODS, 10, Cause::TcpReset);
    log.connection(20.0, 7, "10.20.0.11:6443");
    log.request(21.0, PODS, 90, 7, "watch", "watch=true");
    log.open(22.0, PODS, 11, 90, 1_001);
    log.change(
        30.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        1_002,
    );
    let store = log.store();
    let lane = LaneId::Connection(ServerId(0));
    assert_eq!(&**store.lane_server(lane).unwrap(), "10.20.0.11:6443");
    let shown = |id| {
        let target = Target::Stretch(StretchKind::Connection, id);
        let area = Default::default();
        let hit = Hit {
            area,
            lane,
            target,
            drawn: None,
        };
        describe(&store, &hit, at(40.0)).what
    };
    let last = store.last_before(lane, at(40.0)).unwrap();
    assert_eq!(shown(last), "Connection 7 to 10.20.0.11:6443.");
    let first = store.neighbour(lane, last, false).unwrap();
    assert_eq!(shown(first), "Connection 1 to 10.20.0.11:6443.");
    assert_eq!(store.neighbour(lane, first, false), None);
    assert_eq!(store.neighbour(lane, first, true), Some(last));
}

#[test]
fn an_error_has_said_why_a_wait_begins_and_keeps_clear_of_the_words_before_it() {
    let mut log = streaming();
    log.end(5.0, PODS, 10, Cause::TcpReset);
    log.phase(
        5.0,
        PODS,
        Phase::Waiting,
        PhaseReason::TooManyRequests,
        Some(1_000),
    );
    log.phase(7.0, PODS, Phase::Connecting, PhaseReason::RetryDue, None);
    log.open(7.1, PODS, 11, 2, 1_000);
    log.error(14.0, PODS, 11, 410);
    log.end(14.0, PODS, 11, Cause::ErrorEvent);
    log.phase(
        14.0,
        PODS,
        Phase::Waiting,
        PhaseReason::Expired,
        Some(20_000),
    );
    let scene = draw(&log, 24.0);
    let texts = texts(&scene);
    assert!(
        texts.contains(&"410") && texts.contains(&"next try in 10 s"),
        "{texts:?}"
    );
    assert!(!texts.contains(&"410 Expired"), "{texts:?}");
}

#[test]
fn a_resumed_gap_is_hatched_and_a_lost_one_cross_hatched_with_its_missed_events() {
    let closed = |resumed, lost| {
        let mut log = streaming();
        log.end(10.0, PODS, 10, Cause::TcpReset);
        log.gap(40.0, PODS, resumed, lost);
        draw(&log, 50.0)
    };
    let resumed = closed(true, Some(0));
    assert!(hatched(&resumed, Hatch::Resumed) && !hatched(&resumed, Hatch::LostWide));
    let lost = closed(false, None);
    assert!(
        hatched(&lost, Hatch::LostWide) && has_text(&lost, "missed: unknown"),
        "{:?}",
        texts(&lost)
    );
    assert!(has_text(&closed(false, Some(14)), "missed: 14"));
}

#[test]
fn a_list_after_the_first_is_a_relist_with_its_counts() {
    let mut log = streaming();
    let first = draw(&log, 40.0);
    assert!(!first.legend.glyphs.contains(&Glyph::Relist));
    log.phase(9.0, PODS, Phase::Listing, PhaseReason::Expired, None);
    log.list(10.0, PODS, 2_000, 214, (0, 2, 2));
    log.open(10.2, PODS, 11, 2, 2_000);
    let scene = draw(&log, 60.0);
    assert!(scene.legend.glyphs.contains(&Glyph::Relist));
    let texts = texts(&scene);
    assert!(texts.contains(&"LIST 214 items +0 ~2 −2"), "{texts:?}");
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("· stream 11 · from 2,000")),
        "{texts:?}"
    );
}

#[test]
fn a_list_older_than_progress_does_not_look_like_one_that_found_all_equal() {
    let mut log = streaming();
    log.phase(9.0, PODS, Phase::Listing, PhaseReason::Expired, None);
    log.list(10.0, PODS, 500, 5, (0, 0, 0));
    let scene = draw(&log, 40.0);
    assert!(
        has_text(&scene, "LIST 5 items, older than held: ignored"),
        "{:?}",
        texts(&scene)
    );
}

#[test]
fn low_lines_give_the_reason_and_the_next_try() {
    let mut log = streaming();
    log.end(5.0, PODS, 10, Cause::TcpReset);
    for turn in 0..5 {
        log.phase(
            6.0 + f64::from(turn),
            PODS,
            Phase::Waiting,
            PhaseReason::TooManyRequests,
            Some(500),
        );
        log.phase(
            6.5 + f64::from(turn),
            PODS,
            Phase::Connecting,
            PhaseReason::RetryDue,
            None,
        );
    }
    assert!(has_text(&draw(&log, 30.0), "429 × 5"));
    let mut log = streaming();
    log.end(5.0, PODS, 10, Cause::TcpReset);
    log.phase(
        6.0,
        PODS,
        Phase::Refused,
        PhaseReason::Forbidden,
        Some(62_000),
    );
    let scene = draw(&log, 40.0);
    assert!(
        has_text(&scene, "403 Forbidden, next try in 28 s"),
        "{:?}",
        texts(&scene)
    );
    assert!(scene.legend.glyphs.contains(&Glyph::Refused));
    // A young watch that is refused at once says so before its brackets.
    let mut log = Log::new("a");
    log.watch(30.0, PODS);
    log.phase(30.0, PODS, Phase::Listing, PhaseReason::FirstList, None);
    log.phase(
        30.1,
        PODS,
        Phase::Refused,
        PhaseReason::Forbidden,
        Some(62_000),
    );
    let scene = draw(&log, 34.0);
    assert!(
        has_text(&scene, "403 Forbidden, next try in 59 s"),
        "{:?}",
        texts(&scene)
    );
}

#[test]
fn an_error_is_a_diamond_with_its_code_and_a_line_through_all_lanes_the_watch_feeds() {
    let mut log = streaming();
    log.error(20.0, PODS, 10, 410);
    let scene = draw(&log, 40.0);
    assert_eq!(glyphs(&scene, Glyph::Error), 1);
    assert!(has_text(&scene, "410"));
    let line = scene
        .primitives
        .iter()
        .find_map(|primitive| match primitive {
            Primitive::Rect {
                area,
                fill: Some(watchscope_timeline::Token::Error),
                ..
            } => Some(*area),
            _ => None,
        });
    assert_eq!(line.unwrap().h, scene.height, "watch, trace and object");
}

#[test]
fn a_life_is_dotted_from_the_gap_on_if_its_end_was_inferred() {
    let mut log = streaming();
    log.end(10.0, PODS, 10, Cause::TcpReset);
    log.change(
        30.0,
        PODS,
        ChangeType::Deleted,
        Origin::Inferred,
        "cart-0",
        1_000,
    );
    let text = draw(&log, 40.0).dump();
    // Solid to 10 s (100 px), dotted from there to 30 s (300 px).
    assert!(text.contains("99x2 life"), "{text}");
    assert!(
        text.contains("M100,75 L300,75 line 2 life dashed 2-3"),
        "{text}"
    );
}

#[test]
fn marks_that_would_overlap_are_merged_and_none_is_lost() {
    let mut log = streaming();
    for step in 0..500_u64 {
        log.change(
            1.0 + step as f64 * 0.07,
            PODS,
            ChangeType::Modified,
            Origin::Live,
            "cart-0",
            1_001 + step,
        );
    }
    let scene = draw(&log, 40.0);
    let drawn: u32 = scene
        .primitives
        .iter()
        .map(|primitive| match primitive {
            Primitive::Plate { count, .. } => *count,
            Primitive::Glyph {
                glyph: Glyph::Modified | Glyph::AddedByList,
                ..
            } => 1,
            _ => 0,
        })
        .sum();
    assert_eq!(drawn, 501);
    assert!(scene.legend.plates);
}

#[test]
fn time_that_is_not_loaded_and_time_that_expired_look_different() {
    let log = {
        let mut log = streaming();
        for step in 1..40_u64 {
            log.change(
                step as f64,
                PODS,
                ChangeType::Modified,
                Origin::Live,
                "cart-0",
                1_000 + step,
            );
        }
        log
    };
    let mut store = Store::default();
    log.send_from(&mut store, 40);
    store.ring_begins(&log.epoch, Seq(1), at(0.0));
    let scene = scene_of(&store, 40.0);
    assert!(has_text(&scene, "not loaded yet") && hatched(&scene, Hatch::NotLoaded));
    assert!(store.backfill(at(0.0), FOREVER).is_some());
    store.expired(&log.epoch, Seq(40));
    let scene = scene_of(&store, 40.0);
    assert!(
        has_text(&scene, "expired") && !hatched(&scene, Hatch::NotLoaded),
        "{:?}",
        texts(&scene)
    );
    assert_eq!(store.backfill(at(0.0), FOREVER), None);
}

#[test]
fn a_time_in_which_watchscope_did_not_run_covers_all_lanes_and_says_so() {
    let mut log = streaming();
    log.push(
        30.0,
        Clock {
            off_ms: 0,
            paused_ms: Some(20_000),
        },
    );
    let scene = scene_of(&log.store(), 40.0);
    assert!(
        has_text(&scene, "watchscope did not run"),
        "{:?}",
        texts(&scene)
    );
    // From 10 s to 30 s, at 10 px for each second.
    let edges = scene.steps.windows(2).filter_map(|steps| match steps {
        [Step::Move(x0, top), Step::Line(x1, bottom)] if x0 == x1 && *top == Px::ZERO => {
            (*bottom == scene.height).then_some(x0.to_f64())
        }
        _ => None,
    });
    assert_eq!(edges.collect::<Vec<_>>(), [100.0, 300.0]);
    // A short pause has room for few words, or for none.
    let words = |paused_ms: u64| {
        let mut log = streaming();
        let paused_ms = Some(paused_ms);
        log.push(
            30.0,
            Clock {
                off_ms: 0,
                paused_ms,
            },
        );
        let scene = scene_of(&log.store(), 40.0);
        let shown = texts(&scene)
            .into_iter()
            .find(|text| text.contains("did not run"));
        shown.map(str::to_owned)
    };
    assert_eq!(words(10_000).as_deref(), Some("did not run"));
    assert_eq!(words(2_000), None);
}

#[test]
fn ghost_missing_and_stale_are_drawn_on_the_lane_of_their_object_and_ticked_on_its_watchs() {
    // The glyph, the drawing (filled, dashed, hatched) and the words.
    let drawn = |kind: Divergence| {
        let mut log = streaming();
        log.verdict(10.0, PODS, "cart-0", kind, Standing::Confirmed);
        let (store, mut lanes) = (log.store(), Lanes::showing_all());
        let view = View::between(at(0.0), at(60.0), 900.0);
        let (rows, scene) = picture(&store, &mut lanes, &view, at(60.0));
        let outline = |primitive: &Primitive| match primitive {
            Primitive::Path { stroke, .. } | Primitive::Rect { stroke, .. } => {
                let stroke = stroke.as_ref()?;
                let is_its = stroke.ink == Token::Divergence && stroke.width.to_f64() == 1.5;
                is_its.then_some(stroke.dash)
            }
            _ => None,
        };
        let outlines: Vec<_> = scene.primitives.iter().filter_map(outline).collect();
        let is_filled = scene.primitives.iter().any(|primitive| {
            matches!(primitive, Primitive::Path { fill: Some(ink), .. } if *ink == Token::GhostFill)
        });
        let glyph = match kind {
            Divergence::Ghost => Glyph::Ghost,
            Divergence::Missing => Glyph::Missing,
            _ => Glyph::Stale,
        };
        let object = store
            .find_lane(&PODS.into(), Some(&object("cart-0", 1)))
            .unwrap();
        let row = rows.find(object).unwrap();
        let middle = row.y + row.height.half();
        assert!(row.diverged && row.height == Px::whole(26), "the row grows");
        assert!(scene.primitives.iter().any(|primitive| {
            matches!(primitive, Primitive::Glyph { glyph: found, y, .. } if *found == glyph && *y == middle)
        }));
        // The watch has the mark even if the object's own row does not show.
        let watch = object.watch().unwrap();
        let expected = Some((glyph, Token::Divergence));
        for expanded in [true, false] {
            lanes.set_expanded(&store, watch, expanded);
            let rows = lanes.rows(&store, &view, at(60.0));
            assert_eq!(rows.find(LaneId::Watch(watch)).unwrap().mark, expected);
            assert_eq!(rows.find(object).is_some(), expanded);
        }
        let said = texts(&scene)
            .into_iter()
            .find(|text| text.contains(kind.word()));
        (
            outlines,
            is_filled,
            hatched(&scene, Hatch::Stale),
            said.unwrap().to_owned(),
        )
    };
    let words = |words: &str| words.to_owned();
    let ghost = words("ghost · held 50 s after a read without it");
    assert_eq!(
        drawn(Divergence::Ghost),
        (vec![Some((5, 3))], true, false, ghost)
    );
    let missing = words("missing · in LIST at 140");
    assert_eq!(
        drawn(Divergence::Missing),
        (vec![Some((2, 2))], false, false, missing)
    );
    let stale = words("stale · 50 s · holds 100, LIST 140");
    assert_eq!(drawn(Divergence::Stale), (vec![None], false, true, stale));
}

#[test]
fn an_unconfirmed_divergence_looks_different_from_a_confirmed_one() {
    for (kind, said) in [
        (
            Divergence::Ghost,
            "ghost · held 50 s after a read without it · not confirmed",
        ),
        (
            Divergence::Missing,
            "missing · in LIST at 140 · not confirmed",
        ),
        (
            Divergence::Stale,
            "stale · 50 s · holds 100, LIST 140 · not confirmed",
        ),
    ] {
        let mut log = streaming();
        log.verdict(10.0, PODS, "cart-0", kind, Standing::Raised);
        let drawn = |log: &Log| {
            let store = log.store();
            let view = View::between(at(0.0), at(60.0), 900.0);
            let (rows, scene) = picture(&store, &mut Lanes::showing_all(), &view, at(60.0));
            let inks = scene.primitives.iter().filter(|primitive| match primitive {
                Primitive::Path { stroke, fill, .. } => {
                    *fill == Some(Token::GhostFill)
                        || stroke.is_some_and(|stroke| stroke.ink == Token::Divergence)
                }
                Primitive::Rect { stroke, .. } => {
                    stroke.is_some_and(|stroke| stroke.ink == Token::Divergence)
                }
                Primitive::Glyph { ink, .. } => *ink == Token::Divergence,
                Primitive::Text(line) => line.ink == Token::Divergence,
                Primitive::Hatch { hatch, .. } => *hatch == Hatch::Stale,
                _ => false,
            });
            let watch = store.find_lane(&PODS.into(), None).expect("it was met");
            let mark = rows.find(watch).expect("it shows").mark;
            let in_header = problems(&store, &Muted::default()).len();
            (
                inks.count() > 0,
                mark.is_some(),
                in_header,
                has_text(&scene, said),
            )
        };
        assert_eq!(drawn(&log), (false, false, 0, true), "{kind}");
        log.verdict(11.0, PODS, "cart-0", kind, Standing::Confirmed);
        assert_eq!(drawn(&log), (true, true, 1, false), "{kind}");
    }
}

#[test]
fn words_on_a_lane_stand_beside_a_time_in_which_watchscope_did_not_run_not_under_it() {
    let said = |since_s: f64, until_s: f64| {
        let mut log = streaming();
        let paused_ms = Some(((until_s - since_s) * 1_000.0) as u64);
        log.push(
            until_s,
            Clock {
                off_ms: 0,
                paused_ms,
            },
        );
        let scene = scene_of(&log.store(), 60.0);
        let lines = scene
            .primitives
            .iter()
            .filter_map(|primitive| match primitive {
                Primitive::Text(line) if line.text.contains("stream 10") => {
                    let from = line.x.to_f64();
                    let to = from + text_width(&line.text, line.size, line.weight).to_f64();
                    assert!(
                        to <= since_s * 10.0 || from >= until_s * 10.0,
                        "{line:?} is covered"
                    );
                    Some(line.text.clone())
                }
                _ => None,
            });
        lines.collect::<Vec<_>>()
    };
    let full = "stream 10 · from 1,000 · timeout 431 s";
    // The words stand after the pause, or before it if they have room there.
    assert_eq!(said(1.0, 5.0), [full]);
    assert_eq!(said(10.0, 30.0), ["stream 10"]);
    assert_eq!(said(40.0, 50.0), [full]);
}

#[test]
fn a_watch_of_an_aggregated_api_says_so_first() {
    let words = |server: Option<&str>, aggregated| {
        event_words(&Event::from(WatchStarted {
            watch: "-/projects.project.openshift.io".into(),
            group: "project.openshift.io".into(),
            version: "v1".into(),
            resource: "projects".into(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            server: server.map(Into::into),
            aggregated,
        }))
    };
    let shown = [
        words(None, None),
        words(Some("10.0.0.1:6443"), None),
        words(None, Some(true)),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r"
    Watch -/projects.project.openshift.io started.
    Watch -/projects.project.openshift.io started, by 10.0.0.1:6443 only.
    Watch -/projects.project.openshift.io started. Its resourceVersions are another apiserver's and are only compared for equality.
    ");
}

#[test]
fn a_watch_whose_versions_have_no_order_says_so_where_their_line_would_be() {
    const METRICS: &str = "shop/pods.metrics.k8s.io";
    let words = "another apiserver's: only whether two are equal can be told";
    let shown = |version: ResourceVersion| {
        let mut log = Log::new("a");
        log.watch(0.0, METRICS);
        for (second, name) in [(1.0, "cart-0"), (2.0, "cart-1")] {
            let change = Change {
                watch: METRICS.into(),
                stream: None,
                change: ChangeType::Added,
                origin: Origin::List,
                object: object(name, 1),
                resource_version: version.clone(),
                generation: None,
                manager: None,
                subresource: None,
                bytes: None,
                stray: None,
                owner: None,
            };
            log.push(second, change);
        }
        draw(&log, 40.0)
    };
    let number = ResourceVersion::from(1_001);
    for version in [ResourceVersion::parse("2f9a"), number.unordered()] {
        let scene = shown(version);
        assert!(has_text(&scene, words), "{:?}", texts(&scene));
    }
    assert!(!has_text(&shown(number), words));
}

#[test]
fn a_hole_inside_one_chapter_of_the_server_is_filled_by_that_chapter() {
    let mut log = streaming();
    for step in 1..400_u64 {
        let (kind, origin) = (ChangeType::Modified, Origin::Live);
        log.change(
            1.0 + step as f64 / 10.0,
            PODS,
            kind,
            origin,
            "cart-0",
            1_000 + step,
        );
    }
    // It joined at 100, was live to 150, then hidden, and shown again at 300.
    let mut store = Store::default();
    log.send(&mut store, 100, 150);
    log.send(&mut store, 300, 400);
    assert_eq!(store.backfill(at(0.0), FOREVER).unwrap().2, Seq(301));
    // The server's chapter began with the log, so it brings 1 to 100 and 151 to 300.
    assert_eq!(store.chapter(&log.chapter(0, 300)).unwrap(), 250);
    assert_eq!(
        (store.backfill(at(0.0), FOREVER), store.records()),
        (None, 400)
    );
    assert_eq!(
        store.chapter(&log.chapter(0, 300)).unwrap(),
        0,
        "all is held"
    );
    for record in &log.records[..400] {
        let id = watchscope_timeline::RecordId {
            epoch: 0,
            seq: record.seq,
        };
        assert_eq!(store.record(id).as_ref(), Some(record));
    }
    // Chapters with other cuts bring their missing records, and none of the live ones.
    let mut store = Store::default();
    log.send(&mut store, 100, 150);
    log.send(&mut store, 200, 250);
    log.send(&mut store, 300, 350);
    assert_eq!(store.chapter(&log.chapter(120, 230)).unwrap(), 50);
    assert_eq!(store.chapter(&log.chapter(240, 380)).unwrap(), 50);
    assert_eq!(store.chapter(&log.chapter(50, 120)).unwrap(), 50);
    assert_eq!(store.records(), 300);
}

#[test]
fn only_lost_records_count_as_lost_by_watchscope() {
    let lose = |log: &mut Log, s: f64, place: LossPlace, count: u64, watch: Option<&str>| {
        log.push(
            s,
            Loss {
                place,
                count,
                from_seq: None,
                to_seq: None,
                watch: watch.map(WatchName::from),
                bytes: Some(10),
                reason: None,
                what: None,
            },
        );
    };
    let saved = |log: &Log| {
        let (store, view) = (log.store(), View::between(at(0.0), at(50.0), 500.0));
        let rows = Lanes::showing_all().rows(&store, &view, at(50.0));
        let picture = Picture {
            height: rows.height,
            ..picture_of(&store, &rows, &view, at(50.0))
        };
        let caption = Caption {
            title: "t",
            filter: "",
            version: "0",
            zone_offset_min: 0,
            least_height: Px::ZERO,
            hidden: "",
            source: "",
            notes: &[],
        };
        watchscope_timeline::picture::saved(&picture, &caption)
    };
    let mut log = streaming();
    lose(&mut log, 10.0, LossPlace::Body, 4_000, None);
    lose(&mut log, 20.0, LossPlace::Body, 1, Some(PODS));
    let quiet = saved(&log);
    assert!(has_text(&quiet, "0 records") && has_text(&quiet, "nothing"));
    lose(&mut log, 30.0, LossPlace::Frame, 1, Some(PODS));
    let scene = saved(&log);
    assert!(
        has_text(&scene, "0 records") && has_text(&scene, "1 frame not read"),
        "{:?}",
        texts(&scene)
    );
    assert!(!hatched(&scene, Hatch::Own));
    assert!(
        scene.dump().contains("rect 535,142 3x10 error"),
        "{}",
        scene.dump()
    );
    lose(&mut log, 40.0, LossPlace::Log, 3, None);
    let scene = saved(&log);
    assert!(has_text(&scene, "3 records") && hatched(&scene, Hatch::Own));
}

#[test]
fn a_saved_picture_distinguishes_not_loaded_not_shown_and_hidden() {
    let mut log = streaming();
    for (ids, name) in [(2, "shop/configmaps"), (3, "shop/secrets")] {
        log.opened(ids as f64, name, ids, &["env"], 1_000);
    }
    let store = log.store();
    let said = |filter: &str, height: Px| {
        let mut lanes = Lanes::showing_all();
        lanes.set_filter(filter);
        let view = View::between(at(0.0), at(40.0), 500.0);
        let rows = picture(&store, &mut lanes, &view, at(40.0)).0;
        let picture = Picture {
            height,
            ..picture_of(&store, &rows, &view, at(40.0))
        };
        let caption = Caption {
            title: "t",
            filter,
            version: "0",
            zone_offset_min: 0,
            least_height: Px::ZERO,
            hidden: "",
            source: "",
            notes: &[],
        };
        let scene = watchscope_timeline::picture::saved(&picture, &caption);
        let texts = texts(&scene);
        let of = |label: &str| {
            let place = texts.iter().position(|text| *text == label).unwrap();
            texts[place + 1].to_owned()
        };
        ["Not loaded", "Lanes not shown", "Lanes hidden"].map(of)
    };
    assert_eq!(said("", Px::whole(1_000)), ["nothing", "none", "none"]);
    let [loaded, shown, hidden] = said("kind=pods", Px::whole(20));
    assert_eq!(loaded, "nothing");
    assert!(shown.ends_with(" lanes above or below"), "{shown}");
    assert!(hidden.ends_with(" lanes by the filter"), "{hidden}");
}

#[test]
fn a_stretch_open_at_a_seam_is_not_described_as_going_on() {
    const MAPS: &str = "shop/configmaps";
    let mut old = streaming();
    old.opened(1.0, MAPS, 2, &["env"], 1_000);
    old.end(10.0, MAPS, 20, Cause::TcpReset);
    let reason = PhaseReason::Unreachable;
    old.phase(10.0, MAPS, Phase::Waiting, reason, Some(1_000));
    old.bookmark(20.0, PODS, 10, 1_100);
    let shown = |store: &Store, kind: StretchKind, watch: &str| {
        let scene = scene_of(store, 40.0);
        let wanted = |hit: &&Hit| match hit.target {
            Target::Stretch(found, id) => {
                let (of_watch, _) = store.lane_names(hit.lane);
                found == kind && id.epoch == 0 && of_watch == Some(&watch.into())
            }
            _ => false,
        };
        let hit = scene.hits.iter().rfind(wanted).unwrap();
        let shown = describe(store, hit, at(40.0));
        format!("{}: {}", shown.time, shown.what)
    };
    let (mut store, stream) = (old.store(), StretchKind::Stream);
    assert!(shown(&store, stream, PODS).ends_with("Stream 10 is open."));
    assert!(shown(&store, StretchKind::Life, PODS).contains("holds this object"));
    assert!(
        shown(&store, StretchKind::Gap, MAPS)
            .ends_with("It is not known yet whether anything is lost.")
    );
    assert!(has_text(&scene_of(&store, 40.0), "trying again"));

    let mut new = Log::new("b");
    new.opened(30.0, PODS, 1, &["cart-0"], 1_200);
    new.send_all(&mut store);
    let lasted = "09:31:00.150, known until 09:31:20.000 (19 s)";
    assert_eq!(
        shown(&store, stream, PODS),
        format!(
            "{lasted}: It received events as they happened, because the server accepted the watch. \
             Stream 10 was open; what happened to it then is unknown."
        )
    );
    let life = shown(&store, StretchKind::Life, PODS);
    assert!(life.contains("held this object; what happened to it then is unknown."));
    assert!(shown(&store, StretchKind::Gap, MAPS).ends_with("What happened then is unknown."));
    let texts_now = scene_of(&store, 40.0);
    assert!(
        has_text(&texts_now, "unreachable") && !has_text(&texts_now, "trying again"),
        "{:?}",
        texts(&texts_now)
    );
}

#[test]
fn a_gap_that_has_not_closed_does_not_look_like_one_that_was_resumed() {
    let mut log = streaming();
    log.end(10.0, PODS, 10, Cause::TcpReset);
    let open = draw(&log, 40.0);
    assert!(hatched(&open, Hatch::Open) && !hatched(&open, Hatch::Resumed));
    let reason = PhaseReason::StopRequested;
    log.push(
        30.0,
        WatchStopped {
            watch: PODS.into(),
            reason,
        },
    );
    assert!(
        hatched(&draw(&log, 40.0), Hatch::Open),
        "nor one that never closed"
    );
}

#[test]
fn a_ring_that_has_moved_on_takes_nothing_back() {
    let mut log = streaming();
    for step in 1..400_u64 {
        let (kind, origin) = (ChangeType::Modified, Origin::Live);
        let s = 1.0 + step as f64 / 10.0;
        log.change(s, PODS, kind, origin, "cart-0", 1_000 + step);
    }
    let mut store = Store::default();
    log.send(&mut store, 300, 350);
    store.ring_begins(&log.epoch, Seq(1), at(0.0));
    assert!(store.backfill(at(0.0), FOREVER).is_some());
    let is_drawn = |store: &Store, words: &str| has_text(&scene_of(store, 60.0), words);
    assert!(is_drawn(&store, "not loaded yet") && !is_drawn(&store, "expired"));
    // A heartbeat says that the ring begins with 201 now. The head after a move to it still has the first welcome.
    let kept = log.records[200].at;
    store.ring_begins(&log.epoch, Seq(201), kept);
    store.ring_begins(&log.epoch, Seq(1), at(0.0));
    let coverage = store.coverage(at(60.0));
    let shown: Vec<_> = coverage
        .iter()
        .map(|stretch| (stretch.coverage, stretch.to))
        .collect();
    use watchscope_timeline::store::Coverage;
    assert_eq!(
        shown,
        [
            (Coverage::Expired, kept),
            (Coverage::NotLoaded, log.records[299].at),
            (Coverage::Loaded, at(60.0)),
        ]
    );
    // The server says what it no longer has, before a heartbeat says since when.
    store.expired(&log.epoch, Seq(250));
    let expired = store.coverage(at(60.0))[0];
    assert_eq!(
        (expired.coverage, expired.to),
        (Coverage::Expired, log.records[299].at)
    );
    assert_eq!(
        store.backfill(at(0.0), FOREVER).map(|(.., before)| before),
        Some(Seq(301))
    );
    store.ring_begins(&log.epoch, Seq(251), log.records[250].at);
    assert_eq!(store.coverage(at(60.0))[0].to, log.records[250].at);
    store.expired(&log.epoch, Seq(300));
    assert_eq!(store.backfill(at(0.0), FOREVER), None);
}

#[test]
fn gaps_are_counted_of_the_whole_log_and_of_the_window_apart() {
    let mut log = streaming();
    assert_eq!(gaps(&Store::default()), "");
    log.end(10.0, PODS, 10, Cause::TcpReset);
    log.gap(14.0, PODS, false, None);
    log.open(14.0, PODS, 11, 2, 2_000);
    log.bookmark(20.0, PODS, 11, 2_001);
    let sent = log.records.len();
    let mut store = Store::default();
    log.send(&mut store, sent, sent);
    // None of the past is loaded.
    assert_eq!(gaps(&store), "1 gap in all: 1 lost (4 s)");
    assert_eq!(records(&store), format!("0 of {sent} records loaded"));
    let around = View::between(at(5.0), at(12.0), 800.0);
    assert_eq!(gaps_in_view(&store, &around, at(30.0)), "");
    // Nobody knows yet whether there was one.
    let from_a_to_b = |store: &Store, a, b| gaps_from_a_to_b(store, (at(a), at(b)), at(30.0));
    assert_eq!(from_a_to_b(&store, 15.0, 19.0), "");
    store.chapter(&log.chapter(0, sent)).unwrap();
    assert_eq!(records(&store), format!("{sent} records"));
    assert_eq!(
        gaps_in_view(&store, &around, at(30.0)),
        "in view: 1 lost (4 s)"
    );
    let behind = View::between(at(15.0), at(30.0), 800.0);
    assert_eq!(gaps_in_view(&store, &behind, at(30.0)), "");
    assert_eq!(from_a_to_b(&store, 5.0, 12.0), "A to B: 1 lost (4 s)");
    assert_eq!(from_a_to_b(&store, 15.0, 19.0), "A to B: no gap");
    // Nobody knows what was before the log, and of a store without a log nothing at all.
    assert_eq!(from_a_to_b(&store, -9.0, -5.0), "");
    assert_eq!(from_a_to_b(&store, -9.0, 2.0), "");
    assert_eq!(from_a_to_b(&store, 40.0, 50.0), "");
    assert_eq!(from_a_to_b(&Store::default(), 15.0, 19.0), "");
    assert_eq!(gaps(&store), "1 gap in all: 1 lost (4 s)");
    assert_eq!(gaps(&streaming().store()), "no gaps");
}

#[test]
fn the_expiry_of_a_finished_epoch_does_not_affect_the_next() {
    let old = streaming();
    let mut store = old.store();
    let mut new = Log::new("b");
    new.opened(60.0, PODS, 1, &["cart-0"], 2_000);
    for step in 0..20_u64 {
        new.bookmark(61.0 + step as f64, PODS, 10, 2_000 + step);
    }
    // The page requested the past of the old epoch while the head of the new one was under way.
    let joined = new.records.len() - 1;
    new.send_from(&mut store, joined);
    store.ring_begins(&new.epoch, Seq(1), at(60.0));
    store.expired(&old.epoch, Seq(1_000));
    let wanted = store.backfill(at(0.0), FOREVER);
    assert_eq!(
        wanted.map(|(_, epoch, before)| (epoch, before)),
        Some((new.epoch.clone(), Seq(joined as u64 + 1))),
        "its past is still there to be asked for"
    );
}

#[test]
fn records_of_unknown_kinds_are_counted_and_nothing_else_is_amiss() {
    let note = |text: &str| Note::new(Author::Story, text.to_owned());
    let mut log = streaming();
    log.push(5.0, note("LATER"));
    log.bookmark(6.0, PODS, 10, 1_100);
    // The last record of its segment.
    log.push(7.0, note("LATER"));
    let count = log.records.len();
    let frames = with_unknown_kinds(&log.chapter(0, count));
    let (head, segments) = split_frame(&frames).unwrap();
    let live = |is_seen_again: bool| {
        let mut store = Store::default();
        store.snapshot(head.bytes).unwrap();
        let mut rest = segments;
        while !rest.is_empty() {
            let (segment, after) = split_frame(rest).unwrap();
            store.segment(segment.bytes).unwrap();
            rest = after;
        }
        if is_seen_again {
            // A snapshot of the moment that the page has come to, as after a short absence.
            log.send(&mut store, count, count);
        }
        store
    };
    let store = live(false);
    assert_eq!(store.records(), count as u64);
    assert_eq!(store.state().unwrap().seq, Seq(count as u64));
    assert_eq!(
        unknown(&store),
        "2 records of unknown kinds: reload the page"
    );
    assert_eq!(
        scene_of(&store, 30.0),
        scene_of(&live(true), 30.0),
        "what is open stays open"
    );

    let mut late = Store::default();
    log.send(&mut late, count, count);
    assert_eq!(unknown(&late), "");
    late.chapter(&frames).unwrap();
    late.chapter(&frames).unwrap();
    assert_eq!(late.unknown(), 2);
}

#[test]
fn own_requests_have_a_lane_below_all_others() {
    let mut log = streaming();
    let own_rows = |log: &Log| {
        let view = View::between(at(0.0), at(25.0), 250.0);
        let (rows, scene) = picture(&log.store(), &mut Lanes::showing_all(), &view, at(25.0));
        let places = rows.rows.iter().enumerate();
        let own = places.filter(|(_, row)| row.id == LaneId::OwnRequests);
        let own: Vec<_> = own
            .map(|(place, row)| (rows.rows.len() - place, row.count))
            .collect();
        (own, scene)
    };
    assert_eq!(own_rows(&log).0, []);
    let answered = |watch: WatchName, request, status| RequestAnswered {
        watch,
        request: RequestId(request),
        status,
        headers: field::Headers::default(),
        retry_after_ms: None,
        error: None,
        error_text: None,
    };
    let audit = WatchName::from(PODS).aside(Aside::Audit);
    let side = WatchName::from(PODS).aside(Aside::Side);
    log.request(5.0, audit.as_str(), 90, 2, "list", "resourceVersion=1001");
    let sent = log.state.seq;
    log.push(8.0, answered(audit.clone(), 90, Some(200)));
    log.request(12.0, side.as_str(), 91, 3, "watch", "watch=1");
    let refused = log.push(13.0, answered(side, 91, Some(429)));
    log.request(20.0, audit.as_str(), 92, 2, "get", "");
    let open = log.state.seq;
    let (own, scene) = own_rows(&log);
    // The last row, with three requests.
    assert_eq!(own, [(1, Some(3))]);
    let hits = scene
        .hits
        .iter()
        .filter(|hit| hit.lane == LaneId::OwnRequests);
    let bars: Vec<_> = hits
        .filter_map(|hit| match hit.target {
            Target::Record(record) => Some((hit.area.x, hit.area.right(), record.seq)),
            _ => None,
        })
        .collect();
    assert_eq!(
        bars,
        [
            (Px::whole(50), Px::whole(80), sent),
            (Px::whole(120), Px::whole(130), refused),
            (Px::whole(200), Px::whole(250), open),
        ]
    );
    let failed = scene.primitives.iter().filter(|primitive| {
        matches!(primitive, Primitive::Rect { fill: Some(watchscope_timeline::Token::Error), area, .. } if area.x == Px::whole(120))
    });
    assert_eq!(failed.count(), 1, "the refused one stands out");
}

#[test]
fn a_click_on_a_phase_gives_the_clients_action_and_reason_in_one_sentence() {
    let mut log = streaming();
    log.end(20.0, PODS, 10, Cause::TcpReset);
    let reason = PhaseReason::TooManyRequests;
    log.phase(20.0, PODS, Phase::Waiting, reason, Some(1_600));
    log.phase(30.0, PODS, Phase::Connecting, PhaseReason::RetryDue, None);
    log.open(40.0, PODS, 11, 102, 1_000);
    // Initial events are a list, although a stream delivers them.
    log.end(50.0, PODS, 11, Cause::End);
    log.push(
        52.0,
        StreamOpened {
            watch: PODS.into(),
            stream: StreamId(12),
            request: RequestId(103),
            resource_version: None,
            http2_stream: None,
        },
    );
    log.phase(52.0, PODS, Phase::Listing, PhaseReason::Expired, None);
    log.bookmark(59.0, PODS, 12, 1_100);
    let store = log.store();
    let scene = scene_of(&store, 60.0);
    let watch = store.find_lane(&PODS.into(), None).unwrap();
    // The lower half of the row, because in the upper half a gap answers.
    let is_low = |hit: &&Hit| {
        hit.lane == watch && matches!(hit.target, Target::Stretch(StretchKind::Phase, _))
    };
    let y = scene.hits.iter().find(is_low).unwrap().area.y + Px::whole(2);
    let shown: Vec<String> = [10, 25, 35, 45, 55]
        .into_iter()
        .map(|second| {
            let hit = scene.hit(Px::whole(second * 10), y).unwrap();
            describe(&store, hit, at(60.0)).what
        })
        .collect();
    assert_eq!(
        shown,
        [
            "It received events as they happened, because the server accepted the watch. Stream 10, reset by peer.",
            "Waiting 1.6 s before the next request, because the server answered 429: try again later.",
            "Asking for a stream and waiting for the answer, because the wait is over.",
            "It received events as they happened, because the server accepted the watch. Stream 11, ended.",
            "Reading a list of all objects, because the server answered 410: the history since the last \
             resourceVersion is gone.",
        ]
    );
    for &phase in Phase::ALL {
        for &reason in PhaseReason::ALL {
            let sentence = phase_sentence(phase, reason, None);
            assert!(
                sentence.ends_with('.') && sentence.matches('.').count() == 1,
                "{sentence}"
            );
        }
    }
}

#[test]
fn a_click_on_a_mark_shows_the_event_its_fields_its_request_and_the_version_before() {
    let mut log = streaming();
    let first = log.change(
        10.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        1_001,
    );
    let second = log.change(
        20.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        1_002,
    );
    let store = log.store();
    let scene = scene_of(&store, 40.0);
    let is_second = |target: &Target| matches!(target, Target::Record(id) if id.seq == second);
    let hit = scene
        .hits
        .iter()
        .find(|hit| is_second(&hit.target))
        .unwrap();
    let found = scene.hit(hit.area.x, hit.area.y).unwrap();
    assert_eq!(found, hit);
    let shown = describe(&store, hit, at(40.0));
    assert_eq!(shown.lane, "cart-0 of shop/pods");
    assert_eq!(
        shown.what,
        "MODIFIED cart-0 at resourceVersion 1,002 by kubelet."
    );
    assert_eq!(shown.previous_body.unwrap().seq, first);
    assert!(shown.fields.contains(&("manager", "kubelet".to_string())));
    assert!(
        shown
            .request
            .contains(&("parameter", "timeoutSeconds=431".to_string())),
        "{:?}",
        shown.request
    );
    let next = store
        .neighbour(hit.lane, shown.previous_body.unwrap(), true)
        .unwrap();
    assert_eq!(next.seq, second);
}

#[test]
fn an_item_of_a_list_names_the_request_that_brought_it() {
    let mut log = streaming();
    log.end(5.0, PODS, 10, Cause::TcpReset);
    log.request(6.0, PODS, 90, 1, "list", "limit=500&resourceVersion=0");
    let gone = log.change(
        7.0,
        PODS,
        ChangeType::Deleted,
        Origin::Inferred,
        "cart-0",
        1_000,
    );
    let list = log.list(7.0, PODS, 1_200, 0, (0, 0, 1));
    let store = log.store();
    let lane = store.find_lane(&PODS.into(), None).unwrap();
    for seq in [gone, list] {
        let shown = describe_record(&store, lane, RecordId { epoch: 0, seq });
        assert_eq!(
            shown.request,
            [
                ("verb", "list".to_string()),
                ("path", "/api/v1/namespaces/shop/pods".to_string()),
                ("parameter", "limit=500".to_string()),
                ("parameter", "resourceVersion=0".to_string()),
                ("connection", "1".to_string()),
            ]
        );
    }
}

#[test]
fn hidden_lanes_are_counted_and_a_filter_takes_kinds_words_and_their_denial() {
    let mut log = streaming();
    log.opened(
        1.0,
        "shop/leases.coordination.k8s.io",
        2,
        &["node-1"],
        1_000,
    );
    log.opened(2.0, "shop/configmaps", 3, &["cart-env", "api-env"], 1_000);
    let store = log.store();
    let view = View::between(at(0.0), at(40.0), 400.0);
    let names = |filter: &str| {
        let mut lanes = Lanes::showing_all();
        lanes.set_filter(filter);
        let rows = lanes.rows(&store, &view, at(40.0));
        let skip = ["resourceVersion"];
        let shown: Vec<String> = rows
            .rows
            .iter()
            .map(|row| row.name.to_string())
            .filter(|name| !skip.contains(&name.as_str()))
            .collect();
        (shown.join(" "), rows.hidden)
    };
    assert_eq!(
        names("kind≠lease cart"),
        ("configmaps cart-env pods cart-0".into(), 2)
    );
    assert_eq!(
        names("-cart kind=configmap"),
        ("configmaps api-env".into(), 3)
    );
    let (shown, hidden) = names("no-such-thing");
    assert!(shown.is_empty() && hidden > 0);
}

#[test]
fn no_glyph_lies_under_a_plate_or_another_glyph_of_its_lane_wherever_cells_of_time_end() {
    for seed in 0..1_000 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut up_to = |most: u64| u64::from(rng.next_u32()) % most;
        let mut log = streaming();
        let mut seconds = 1.0;
        for step in 0..40 {
            let scale_us = [3_000, 60_000, 400_000, 1_500_000][up_to(4) as usize];
            seconds += up_to(scale_us) as f64 / 1e6;
            let change = ChangeType::Modified;
            log.change(seconds, PODS, change, Origin::Live, "cart-0", 1_001 + step);
        }
        let from = up_to(1_000_000) as f64 / 1e6;
        let width = 30.0 + up_to(20_000_000) as f64 / 1e6;
        let view = View::between(at(from), at(from + width), 1_100.0);
        let scene = picture(&log.store(), &mut Lanes::showing_all(), &view, at(60.0)).1;
        let plates = scene
            .primitives
            .iter()
            .filter_map(|primitive| match primitive {
                Primitive::Plate { area, .. } => Some(*area),
                _ => None,
            });
        let glyphs: Vec<_> = scene
            .hits
            .iter()
            .filter_map(|hit| hit.drawn)
            .filter(|drawn| drawn.sign == Sign::Glyph(Glyph::Modified))
            .collect();
        for plate in plates {
            for glyph in &glyphs {
                let covered =
                    plate.x - Px::whole(3) < glyph.x && glyph.x < plate.right() + Px::whole(3);
                assert!(!covered, "seed {seed}: {glyph:?} under {plate:?}");
            }
        }
        for pair in glyphs.windows(2) {
            let apart = pair[1].x - pair[0].x;
            assert!(apart > Px(5 * 64), "seed {seed}: {pair:?}");
        }
    }
}
