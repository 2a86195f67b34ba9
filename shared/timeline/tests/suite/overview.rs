//! The overview: what the strip shows of hours, loaded or not, and where.

use proptest::prelude::*;
use watchscope_model::summary::{Summary, Trouble, TroubleKind};
use watchscope_model::vocabulary::{ChangeType, Divergence, Origin, Severity, Standing};
use watchscope_model::wire::{Availability, CatalogueEntry};
use watchscope_model::{Seq, Time};
use watchscope_timeline::format::text_width;
use watchscope_timeline::overview::{
    Grip, Moments, REACH_US, TroubleMark, grip_at, overview, overview_again, troubles, words,
};
use watchscope_timeline::scene::{Align, Area, STRIP_COLUMN_PX, Step};
use watchscope_timeline::{Overview, Primitive, Px, Scene, Store, Token, View};

use crate::cases::cases;
use crate::common::random::{Chance, random_log};
use crate::common::{Log, START, at};

const PODS: &str = "shop/pods";
const WIDTH: f64 = 1_000.0;

/// A strip of a store, with a view of the last `seconds`.
struct Strip {
    store: Store,
    now: Time,
    view: View,
    scale: Overview,
    scene: Scene,
}

fn strip(store: Store, now: Time, view: View) -> Strip {
    let scale = Overview::new(&store, now, &view, REACH_US);
    let scene = overview(&store, &scale, &view, Moments::live(now), Px::whole(64));
    Strip {
        store,
        now,
        view,
        scale,
        scene,
    }
}

fn change(log: &mut Log, s: f64, version: u64) {
    let (kind, origin) = (ChangeType::Modified, Origin::Live);
    log.change(s, PODS, kind, origin, "cart-0", version);
}

fn list(store: &mut Store, log: &Log, order: u64, entries: Vec<CatalogueEntry>) {
    store.list(&"log".into(), &log.epoch, order, entries);
}

/// Returns the chapters of a log, `size` records each, up to the record `end`.
fn chapters(log: &Log, size: usize, end: usize, kind: Availability) -> Vec<CatalogueEntry> {
    let begins = (0..end).step_by(size);
    let entry = |from| log.listed(from, (from + size).min(end), kind);
    begins.map(entry).collect()
}

/// Returns the filled rectangles of a colour.
fn rects(scene: &Scene, ink: Token) -> Vec<Area> {
    let rects = scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Rect { area, fill, .. } if *fill == Some(ink) => Some(*area),
            _ => None,
        });
    rects.collect()
}

/// Returns the problem ticks: their colour's rank, and their edges in px.
fn ticks(scene: &Scene) -> Vec<(usize, f64, f64)> {
    let inks = [Token::Warning, Token::Lost, Token::Error, Token::Divergence];
    let of = |(rank, ink)| {
        let ticks = rects(scene, ink).into_iter();
        let ticks = ticks.filter(|area| area.h == Px::whole(7));
        ticks.map(move |area| (rank, area.x.to_f64(), area.right().to_f64()))
    };
    inks.into_iter().enumerate().flat_map(of).collect()
}

fn rank(severity: Severity, kind: TroubleKind) -> usize {
    match (severity, kind) {
        (Severity::Divergence, _) => 3,
        (Severity::Error, _) => 2,
        (_, TroubleKind::LostGap) => 1,
        _ => 0,
    }
}

/// Whether a tick of a colour or a more severe one stands at a time.
fn is_ticked(strip: &Strip, at: Time, least: usize) -> bool {
    let x = strip.scale.x_from_time(at).to_f64();
    let near = |&(rank, from, to): &(usize, f64, f64)| {
        rank >= least && from - 1.0 <= x && x <= to + 1.0 && to - from >= 3.0
    };
    ticks(&strip.scene).iter().any(near)
}

/// Returns a random log and its troubles. Its older part is listed in chapters, some of them loaded or expired; the
/// rest is live.
fn random_strip(seed: u64) -> (Strip, Vec<Trouble>) {
    let mut chance = Chance::new(seed);
    let log = random_log(seed, 400);
    let end = 200 + chance.below(150) as usize;
    let mut store = Store::default();
    log.send_from(&mut store, end);
    let size = 10 + chance.below(60) as usize;
    let mut entries = chapters(&log, size, end, Availability::Kept);
    for entry in &mut entries {
        let kinds = [
            Availability::Kept,
            Availability::Kept,
            Availability::Expired,
            Availability::Lost,
        ];
        entry.availability = chance.of(&kinds);
    }
    let loaded = entries.iter().filter(|_| chance.one_in(3));
    for summary in loaded.map(|entry| &entry.summary) {
        let (from, to) = (summary.first.0 as usize - 1, summary.last.0 as usize);
        store.chapter(&log.chapter(from, to)).unwrap();
    }
    let listed = entries
        .iter()
        .flat_map(|entry| entry.summary.troubles.clone());
    let listed = listed.collect();
    list(&mut store, &log, 1, entries);
    // The page's clock may be behind that of the records.
    let off_us = chance.of(&[500_000, -40_000_000]);
    let now = log.records[log.records.len() - 1].at.plus_micros(off_us);
    let left = START.plus_micros(chance.below(now.micros_since(START) as u64) as i64);
    let view = View::between(left, left.plus_millis(1 + chance.below(60_000)), WIDTH);
    (strip(store, now, view), listed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn each_problem_that_begins_has_a_tick_of_its_colour_or_worse(seed: u64) {
        let (strip, listed) = random_strip(seed);
        let all = troubles(&strip.store);
        prop_assert!(all.is_sorted_by_key(|mark| mark.at));
        let times = strip.scale.left()..strip.scale.right();
        let is_bad = |of: &&Trouble| of.severity.rank() >= Severity::Warning.rank();
        for trouble in listed.iter().filter(is_bad) {
            let is_marked = all.iter().any(|mark| {
                mark.at == trouble.start && mark.kind == trouble.kind && mark.severity == trouble.severity
            });
            prop_assert!(is_marked || trouble.open_at_begin, "{trouble:?}");
        }
        let seen = all.iter().filter(|mark| times.contains(&mark.at));
        for TroubleMark { at, severity, kind, .. } in seen.clone() {
            prop_assert!(is_ticked(&strip, *at, rank(*severity, *kind)), "{severity} {kind} at {at}");
        }
        prop_assert_eq!(ticks(&strip.scene).is_empty(), seen.count() == 0);
    }

    #[test]
    fn nothing_is_drawn_outside_of_the_strip(seed: u64) {
        let (strip, _) = random_strip(seed);
        for height in [44, 48, 64] {
            let scene = overview(
                &strip.store,
                &strip.scale,
                &strip.view,
                Moments::live(strip.now),
                Px::whole(height),
            );
            let (width, height) = (WIDTH, f64::from(height));
            prop_assert_eq!((scene.width.to_f64(), scene.height.to_f64()), (width, height));
            for primitive in &scene.primitives {
                let [x0, x1, y0, y1] = extent(&scene, primitive);
                let is_inside = 0.0 <= x0 && x1 <= width && 0.0 <= y0 && y1 <= height;
                prop_assert!(is_inside, "{primitive:?} in {width} × {height}");
            }
        }
    }

    #[test]
    fn x_and_time_are_inverse_and_the_view_is_in_a_strip_of_28_px_or_more(
        known_s in 1.0..200_000.0_f64,
        left_s in -400_000.0..10_000.0_f64,
        span_ms in 1..400_000_000_u64,
        width in 28.0..4_000.0_f64,
        most_us in 0..1_000_000_000_000_i64,
        share in 0.0..1.0_f64,
    ) {
        let mut store = Store::default();
        Log::steady("a", -known_s, 1).send_all(&mut store);
        let (now, left) = (at(0.0), at(left_s));
        let view = View::between(left, left.plus_millis(span_ms), width);
        let scale = Overview::new(&store, now, &view, most_us);
        prop_assert!(scale.left() <= view.left() && view.right() <= scale.right());
        prop_assert!(scale.left() < now && now < scale.right());
        prop_assert!(scale.right().micros_since(scale.left()) >= 60_000_000);
        let x = share * scale.width_px();
        let back = scale.x_from_time(scale.time_from_x(x)).to_f64();
        prop_assert!((back - x).abs() <= 1.0, "{x} {back}");
    }
}

/// Returns left, right, top and bottom of a primitive in px.
fn extent(scene: &Scene, primitive: &Primitive) -> [f64; 4] {
    let of = |area: &Area| [area.x, area.right(), area.y, area.bottom()].map(Px::to_f64);
    match primitive {
        Primitive::Rect { area, stroke, .. } => {
            assert_eq!(*stroke, None);
            of(area)
        }
        Primitive::Hatch { area, .. } => of(area),
        Primitive::Path { steps, stroke, .. } => {
            let steps = &scene.steps[steps.start as usize..steps.end as usize];
            let points = steps.iter().map(|step| match step {
                Step::Move(x, y) | Step::Line(x, y) => (x.to_f64(), y.to_f64()),
                other => panic!("{other:?}"),
            });
            let half = stroke.map_or(0.0, |stroke| stroke.width.to_f64() / 2.0);
            let mut all = [f64::MAX, f64::MIN, f64::MAX, f64::MIN];
            for (x, y) in points {
                all = [
                    all[0].min(x - half),
                    all[1].max(x + half),
                    all[2].min(y),
                    all[3].max(y),
                ];
            }
            all
        }
        Primitive::Text(line) => {
            let wide = text_width(&line.text, line.size, line.weight).to_f64();
            let (x, y) = (line.x.to_f64(), line.y.to_f64());
            let left = if line.align == Align::End {
                x - wide
            } else {
                x
            };
            [left, left + wide, y - 9.0, y + 2.0]
        }
        Primitive::Strip {
            bottom, columns, ..
        } => {
            let columns = &scene.columns[columns.start as usize..columns.end as usize];
            let high = columns.iter().map(|column| column.heights[0]).max();
            let (first, last) = (columns[0].x, columns[columns.len() - 1].x);
            let bottom = bottom.to_f64();
            let right = last.to_f64() + f64::from(STRIP_COLUMN_PX);
            let top = bottom - f64::from(high.unwrap_or(0));
            [first.to_f64(), right, top, bottom]
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_kind_of_missing_records_looks_different() {
    let (old, new) = (Log::steady("a", 0.0, 400), Log::steady("b", 600.0, 100));
    let mut store = Store::default();
    new.send_all(&mut store);
    let end = old.records.len();
    let entries = vec![
        old.listed(0, 150, Availability::Expired),
        old.listed(150, 300, Availability::Kept),
        old.listed(300, end, Availability::Lost),
    ];
    list(&mut store, &old, 1, entries);
    let now = at(700.0);
    let view = View::between(at(650.0), now, WIDTH);
    let dump = strip(store, now, view).scene.dump();
    let is_shown = |line: &&str| {
        !line.starts_with("strip") && !line.contains("line2") && !line.contains(" text1")
    };
    let lines: Vec<&str> = dump.lines().filter(is_shown).collect();
    // One px is 0.7 s: expired to 150 s, not loaded to 300 s, lost to 400 s, not watched to 600 s.
    insta::assert_snapshot!(lines.join("\n"), @r#"
    rect 0,0 1000x64 bg1
    rect 1,0 192x64 expired
    path M192.5,0 L192.5,64 line 1 line3 dashed 3-3
    hatch NotLoaded 193,14 208x42
    rect 194,50 207x6 stream at 30 %
    rect 0,0 902x64 bg0 at 35 %
    rect 972,0 28x64 bg0 at 35 %
    rect 555,0 278x64 bg1
    path M556,0 L556,64 line 2 text2 dashed 2-2
    path M832,0 L832,64 line 2 text2 dashed 2-2
    rect 401,14 154x42 bg1
    hatch Own 401,14 154x42
    text 201,40 11/400 text2 "not loaded"
    text 409,40 11/400 text2 "lost by watchscope"
    text 563,40 11/400 text2 "not watched"
    text 185,42 11/400 text3 end "before 11-19 09:33"
    text 185,28 11/400 text3 end "expired"
    text 254,12 11/400 text3 "09:34"
    text 421,12 11/400 text3 "09:36"
    "#);
}

#[test]
fn the_frame_is_where_the_view_is_and_never_narrower_than_6_px() {
    let mut store = Store::default();
    Log::steady("a", -3_000.0, 2_999).send_all(&mut store);
    let now = at(0.0);
    for (left, right) in [(-2_000.0, -1_000.0), (-1_500.0, -1_499.9), (-10.0, 0.0)] {
        let view = View::between(at(left), at(right), WIDTH);
        let scale = Overview::new(&store, now, &view, REACH_US);
        let scene = overview(&store, &scale, &view, Moments::live(now), Px::whole(64));
        // The frame's top edge.
        let frame = rects(&scene, Token::Text1);
        let frame = frame.iter().find(|area| area.h == Px::whole(1)).unwrap();
        let wanted = [left, right].map(|s| scale.x_from_time(at(s)).to_f64());
        let missing = (6.0 - (wanted[1] - wanted[0])).max(0.0);
        let (x0, x1) = (frame.x.to_f64(), frame.right().to_f64());
        assert!((x0 - wanted[0]).abs() <= 1.0 + missing, "{x0} {wanted:?}");
        assert!((x1 - wanted[1]).abs() <= 1.0 + missing, "{x1} {wanted:?}");
        assert!(x1 - x0 >= 6.0, "{x0} to {x1}");
    }
}

#[test]
fn ten_thousand_chapters_are_no_more_primitives_than_the_strip_has_px() {
    let live = Log::steady("live", -100.0, 99);
    let mut store = Store::default();
    live.send_all(&mut store);
    let severities = [Severity::Warning, Severity::Error, Severity::Divergence];
    let entries = (0..10_000_u64).map(|number| {
        let first_at = at(-36_000.0 + number as f64 * 3.5);
        let trouble = Trouble {
            start: first_at.plus_millis(number % 3_000),
            length_us: number % 7 * 1_000_000,
            kind: TroubleKind::Finding,
            severity: severities[number as usize % 3],
            open_at_begin: false,
            open_at_end: false,
            count: 1,
        };
        let summary = Summary {
            first: Seq(number * 100 + 1),
            last: Seq(number * 100 + 100),
            first_at,
            last_at: first_at.plus_millis(3_000),
            counts: vec![(15, number % 100)],
            worst: Some(trouble.severity),
            troubles: vec![trouble],
        };
        CatalogueEntry {
            availability: Availability::Kept,
            is_merged: false,
            summary,
        }
    });
    store.list(&"log".into(), &"old".into(), 1, entries.collect());
    let now = at(0.0);
    let strip = strip(store, now, View::following(now, 60_000_000, WIDTH));
    assert_eq!(troubles(&strip.store).len(), 10_000);
    let count = strip.scene.primitives.len() + strip.scene.columns.len();
    assert!(count < WIDTH as usize, "{count}");
}

#[test]
fn a_problem_that_lasts_over_chapters_is_one() {
    let mut old = Log::steady("a", 0.0, 100);
    old.finding(101.0, "F08", Severity::Warning, Standing::Raised, PODS, "x");
    for step in 102..400 {
        change(&mut old, f64::from(step), 1_000 + step as u64);
    }
    old.verdict(400.0, PODS, "cart-0", Divergence::Ghost, Standing::Raised);
    for step in 401..500 {
        change(&mut old, f64::from(step), 1_000 + step as u64);
    }
    let mut store = Store::default();
    let mut new = Log::steady("b", 600.0, 50);
    new.error(660.0, PODS, 10, 410);
    new.send_all(&mut store);
    let entries = chapters(&old, 50, old.records.len(), Availability::Kept);
    list(&mut store, &old, 1, entries);
    let found: Vec<(i64, TroubleKind)> = troubles(&store)
        .iter()
        .map(|mark| (mark.at.micros_since(at(0.0)) / 1_000_000, mark.kind))
        .collect();
    use TroubleKind::{Divergence as Diverged, Error, Finding};
    assert_eq!(found, [(101, Finding), (400, Diverged), (660, Error)]);
    // Its bar continues through all chapters.
    let now = at(700.0);
    let strip = strip(store, now, View::following(now, 60_000_000, WIDTH));
    let bars = rects(&strip.scene, Token::Divergence);
    let bars: Vec<&Area> = bars.iter().filter(|area| area.h == Px::whole(2)).collect();
    assert_eq!(bars.len(), 1);
    let x = |s: f64| strip.scale.x_from_time(at(s)).to_f64();
    assert!((bars[0].x.to_f64() - x(400.0)).abs() <= 1.0);
    assert!((bars[0].right().to_f64() - x(499.0)).abs() <= 1.0);
}

/// Returns the heights of shapes in an ink from one time to another: of columns if there are any, else of steps.
fn heights(strip: &Strip, from: f64, to: f64) -> Vec<i32> {
    let (from, to) = (
        strip.scale.x_from_time(at(from)),
        strip.scale.x_from_time(at(to)),
    );
    let steps = rects(&strip.scene, Token::Stream).into_iter();
    let steps = steps.map(|area| (area.x, area.right(), area.h.to_f64() as i32));
    let columns = strip.scene.columns.iter();
    let columns = columns.map(|column| {
        let right = column.x + Px::whole(STRIP_COLUMN_PX);
        (column.x, right, i32::from(column.heights[0]))
    });
    let all = steps.chain(columns);
    all.filter(|&(x0, x1, _)| from <= x0 && x1 <= to)
        .map(|(.., height)| height)
        .collect()
}

#[test]
fn a_listed_chapter_is_as_high_as_its_columns_once_it_is_loaded_and_flat_once_it_expired() {
    let (old, new) = (Log::steady("a", 0.0, 8_000), Log::steady("b", 9_000.0, 10));
    let mut store = Store::default();
    new.send_all(&mut store);
    let end = old.records.len();
    let bounds = [0, 2_000, 4_000, 6_000, end];
    let kinds = [
        Availability::Expired,
        Availability::Kept,
        Availability::Kept,
        Availability::Lost,
    ];
    let entries = bounds.windows(2).zip(kinds);
    let entries = entries.map(|(of, kind)| old.listed(of[0], of[1], kind));
    list(&mut store, &old, 1, entries.collect());
    store.chapter(&old.chapter(4_000, 6_000)).unwrap();
    let now = at(9_100.0);
    let strip = strip(store, now, View::following(now, 60_000_000, WIDTH));
    assert!(heights(&strip, 0.0, 1_900.0).is_empty());
    let steps = heights(&strip, 1_980.0, 3_995.0);
    assert_eq!(steps.len(), 1, "one step: {steps:?}");
    let columns = heights(&strip, 4_020.0, 5_950.0);
    assert!(columns.len() > 80, "{columns:?}");
    assert!(
        columns.iter().all(|height| (height - steps[0]).abs() <= 1),
        "{columns:?} {steps:?}"
    );
    assert!(heights(&strip, 6_100.0, 7_900.0).is_empty());
}

#[test]
fn a_live_strip_stands_still_for_a_column_and_then_moves_by_whole_ones() {
    let mut store = Store::default();
    Log::steady("a", -100_000.0, 3).send_all(&mut store);
    let scale = |now: Time| {
        let view = View::following(now, 60_000_000, WIDTH);
        Overview::new(&store, now, &view, REACH_US)
    };
    let x = |scale: &Overview| scale.x_from_time(at(-10.0)).to_f64();
    let first = scale(at(0.0));
    let (mut last, mut moves) = (first, 0);
    for step in 1..1_000 {
        let next = scale(at(f64::from(step)));
        let moved = x(&last) - x(&next);
        assert!([0.0, 2.0].contains(&moved), "{moved}");
        moves += usize::from(next != last);
        last = next;
    }
    assert!((10..20).contains(&moves), "{moves}");
}

#[test]
fn a_label_says_how_much_of_the_kept_log_is_in_the_strip() {
    let (old, new) = (
        Log::steady("a", -164_400.0, 60),
        Log::steady("b", -1_000.0, 999),
    );
    let mut store = Store::default();
    new.send_all(&mut store);
    let now = at(0.0);
    let view = View::following(now, 60_000_000, WIDTH);
    let shown = |store: &Store, most_us: i64| {
        let scale = Overview::new(store, now, &view, most_us);
        let (first, second) = words(store, &scale, now);
        format!("{first}, {second}")
    };
    assert_eq!(shown(&store, REACH_US), "Overview 16 min, all that is kept");
    let entries = chapters(&old, 50, old.records.len(), Availability::Kept);
    list(&mut store, &old, 1, entries);
    assert_eq!(
        shown(&store, REACH_US),
        "Overview 10 h, of 1 d 21 h kept, 2 epochs"
    );
    assert_eq!(
        shown(&store, REACH_US * 10),
        "Overview 1 d 21 h, all that is kept"
    );
}

/// Returns the words of a strip from its left edge up to its axis.
fn words_before_the_axis(strip: &Strip) -> Vec<String> {
    let begin = strip.scale.x_from_time(strip.scale.begin());
    let words = strip
        .scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Text(line) if line.x < begin => Some(line.text.clone()),
            _ => None,
        });
    words.collect()
}

#[test]
fn kept_records_older_than_the_strip_stand_before_a_break_in_the_axis() {
    let (old, new) = (
        Log::steady("a", -164_400.0, 60),
        Log::steady("b", -30_000.0, 29_999),
    );
    let now = at(0.0);
    let shown = |width: f64, oldest: Availability| {
        let mut store = Store::default();
        new.send_all(&mut store);
        let mut entries = chapters(&old, 20, old.records.len(), Availability::Kept);
        entries[0].availability = oldest;
        list(&mut store, &old, 1, entries);
        strip(store, now, View::following(now, 60_000_000, width))
    };
    let wide = shown(1_300.0, Availability::Kept);
    assert_eq!(
        words_before_the_axis(&wide),
        ["1 d 11 h earlier", "not loaded"]
    );
    let begin = wide.scale.begin();
    assert!(
        (now.micros_since(begin) - REACH_US).abs() < 60_000_000,
        "10 h: {begin}"
    );
    // The stub has no part of the axis.
    let axis_px = wide.scale.x_from_time(begin).to_f64();
    let step = wide.scale.x_from_time(at(0.0)).to_f64() - axis_px;
    assert!(step > 1_100.0, "{axis_px} {step}");
    let expired = shown(1_300.0, Availability::Expired);
    let before_axis = words_before_the_axis(&expired);
    assert_eq!(before_axis.len(), 4, "{before_axis:?}");
    assert_eq!(before_axis[0], "expired");
    assert!(before_axis[1].starts_with("before 11-"), "{before_axis:?}");
    // Without room for words it has only the break.
    let narrow = shown(420.0, Availability::Kept);
    assert_eq!(words_before_the_axis(&narrow), [""; 0]);
    assert!(narrow.scale.begin() > narrow.scale.left());
}

#[test]
fn handles_are_gripped_from_8_px_outside_and_a_narrow_frame_can_still_be_moved() {
    let mut store = Store::default();
    Log::steady("a", -3_000.0, 2_999).send_all(&mut store);
    let now = at(0.0);
    let wide = View::between(at(-2_000.0), at(-1_000.0), WIDTH);
    let scale = Overview::new(&store, now, &wide, REACH_US);
    let x = |s: f64| scale.x_from_time(at(s)).to_f64().floor();
    let (left, right) = (x(-2_000.0), x(-1_000.0));
    let grips = |view: &View, xs: [f64; 6]| xs.map(|x| grip_at(&scale, view, x));
    use Grip::{LeftHandle, Outside, RightHandle, Window};
    assert_eq!(
        grips(
            &wide,
            [
                left - 9.0,
                left - 8.0,
                left + 7.0,
                left + 9.0,
                right - 7.0,
                right + 9.0
            ]
        ),
        [
            Outside,
            LeftHandle,
            LeftHandle,
            Window,
            RightHandle,
            Outside
        ]
    );
    let narrow = View::between(at(-1_500.0), at(-1_499.9), WIDTH);
    let middle = x(-1_500.0);
    assert_eq!(
        grips(
            &narrow,
            [
                middle - 12.0,
                middle - 9.0,
                middle - 2.0,
                middle,
                middle + 2.0,
                middle + 10.0
            ]
        ),
        [
            Outside,
            LeftHandle,
            LeftHandle,
            Window,
            RightHandle,
            RightHandle
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    /// A strip that counts what was appended is the strip that counts everything. Records come live in pieces, and a
    /// part of the past is loaded in between.
    #[test]
    fn a_strip_that_is_drawn_again_is_drawn_as_for_the_first_time(seed in any::<u64>()) {
        let log = random_log(seed, 400);
        let mut chance = Chance::new(seed);
        let from = chance.below(200) as usize;
        let mut store = Store::default();
        let mut writer = log.begin(&mut store, from);
        let (mut head, mut is_loaded, mut counted) = (from, false, None);
        while head < log.records.len() {
            let next = (head + 1 + chance.below(30) as usize).min(log.records.len());
            log.go_on(&mut writer, &mut store, head, next);
            head = next;
            if from > 0 && !is_loaded && chance.one_in(4) {
                is_loaded = true;
                store.chapter(&log.chapter(chance.below(from as u64) as usize, from)).unwrap();
            }
            let now = log.records[head - 1].at;
            let view = View::following(now, 10_000_000 + chance.below(90_000_000) as i64, WIDTH);
            let scale = Overview::new(&store, now, &view, REACH_US);
            let (moments, height) = (Moments::live(now), Px::whole(64));
            let first = overview(&store, &scale, &view, moments, height);
            prop_assert_eq!(overview_again(&store, &scale, &view, moments, height, &mut counted), first);
        }
    }
}
