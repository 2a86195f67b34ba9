//! The property of scenes. However a log was cut, and in whatever order its chapters came, the picture of a loaded
//! stretch is the same. Nothing that must be seen is missing at any zoom.

use crate::cases::cases;
use crate::common::random::{Chance, draw, first_difference, late_reader, random_log, views};
use crate::common::{FOREVER, Log, START, at, picture};
use watchscope_model::event::*;
use watchscope_model::fold::VersionStep;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::format::text_width;
use watchscope_timeline::scene::{Align, Area, Primitive, Sign, Step, Target, TextLine};
use watchscope_timeline::{Glyph, Lanes, Px, Scene, Store, Token, View};

/// Seeds that once failed, besides the usual ones.
const KEPT_SEEDS: [u64; 2] = [309, 6274];

#[test]
fn a_scene_does_not_depend_on_cuts_or_on_records_outside_the_view() {
    for seed in (0..u64::from(cases(200))).chain(KEPT_SEEDS) {
        let log = random_log(seed, 260);
        let mut chance = Chance::new(seed ^ 0xC0FFEE);
        let whole = log.store();
        let now = log.state.at.plus_millis(3_000);
        let (store, cut, from) = late_reader(&log, &mut chance);
        for view in views(&mut chance, from, now) {
            for collapsed in [false, true] {
                let (all, part) = (
                    draw(&whole, &view, now, collapsed),
                    draw(&store, &view, now, collapsed),
                );
                assert!(
                    all == part,
                    "seed {seed}, cut {cut}, {view:?}: {}",
                    first_difference(&all, &part)
                );
            }
        }
    }
}

#[test]
fn a_scene_does_not_depend_on_the_order_in_which_chapters_come() {
    for seed in 0..u64::from(cases(120)) {
        let log = random_log(seed + 1_000, 220);
        let mut chance = Chance::new(seed ^ 0xBEEF);
        let head = log.records.len() - chance.below(40) as usize;
        let mut cuts: Vec<usize> = (0..4)
            .map(|_| chance.below(head as u64) as usize)
            .chain([0, head])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut chapters: Vec<(usize, usize)> =
            cuts.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let mut store = Store::default();
        log.send_from(&mut store, head);
        while !chapters.is_empty() {
            let (from, to) = chapters.remove(chance.below(chapters.len() as u64) as usize);
            store.chapter(&log.chapter(from, to)).unwrap();
        }
        let (whole, now) = (log.store(), log.state.at.plus_millis(500));
        assert_eq!(store.records(), whole.records());
        let mut all_views = views(&mut chance, START, now);
        all_views.push(View::between(START.plus_millis(0), now, 900.0));
        for view in all_views {
            let (all, part) = (
                draw(&whole, &view, now, false),
                draw(&store, &view, now, false),
            );
            assert!(
                all == part,
                "seed {seed}, {view:?}: {}",
                first_difference(&all, &part)
            );
        }
    }
}

/// Whether an ink is painted within 3 px of x, at least 3 px wide or as a glyph.
fn is_marked(scene: &Scene, x: f64, inks: &[Token]) -> bool {
    scene.primitives.iter().any(|primitive| match primitive {
        Primitive::Rect {
            area,
            fill: Some(ink),
            ..
        } => inks.contains(ink) && area.x.to_f64() <= x + 3.0 && area.right().to_f64() >= x - 3.0,
        Primitive::Glyph {
            x: at, ink, size, ..
        } => inks.contains(ink) && (at.to_f64() - x).abs() <= f64::from(*size) / 2.0,
        _ => false,
    })
}

#[test]
fn no_error_gap_relist_or_finding_is_missing_at_any_zoom() {
    for seed in 0..25 {
        let log = random_log(seed + 5_000, 600);
        let (store, now) = (log.store(), log.state.at.plus_millis(100));
        let span = now.micros_since(START);
        for zoom in [1, 4, 30, 1_000] {
            let view = View::between(START, START.plus_micros(span / zoom), 700.0);
            let spread = View::between(START, START.plus_micros(span * zoom), 700.0);
            for (view, collapsed) in [(view, false), (view, true), (spread, false), (spread, true)]
            {
                let mut lanes = Lanes::showing_all();
                lanes.set_all_expanded(&store, !collapsed);
                let (_, scene) = picture(&store, &mut lanes, &view, now);
                check_all_present(&log, &scene, &view, seed);
                if !collapsed {
                    check_reversals(&log, &scene, &view, seed);
                }
            }
        }
    }
}

fn check_all_present(log: &Log, scene: &Scene, view: &View, seed: u64) {
    let mut listed: Vec<WatchName> = Vec::new();
    for record in &log.records {
        let x = view.x_from_time(record.at);
        let shows = x >= 0.0 && x <= view.width_px;
        let must = |inks: &[Token], what: &str| {
            assert!(
                !shows || is_marked(scene, x, inks),
                "seed {seed}: {what} of {} at {x} is missing",
                record.seq
            );
        };
        match &record.event {
            Event::StreamError(_) => must(&[Token::Error], "an error"),
            Event::Gap(gap) if !gap.resumed => must(&[Token::Lost], "a lost gap"),
            Event::Gap(_) => {
                let hatched = scene.primitives.iter().any(|primitive| {
                    matches!(primitive, Primitive::Hatch { area, .. }
                        if area.x.to_f64() <= x + 3.0 && area.right().to_f64() >= x - 3.0 && area.w >= Px::whole(2))
                });
                assert!(
                    !shows || hatched,
                    "seed {seed}: a gap that closed with {} at {x} is missing",
                    record.seq
                );
            }
            Event::ListComplete(list) if listed.contains(&list.watch) => {
                must(&[Token::List], "a relist")
            }
            Event::ListComplete(list) => listed.push(list.watch.clone()),
            Event::Finding(finding) if finding.state == Standing::Raised => {
                must(
                    &[Token::Divergence, Token::Error, Token::Warning, Token::Note],
                    "a finding",
                );
            }
            _ => {}
        }
    }
}

/// Checks that each reversal has its sign on the trace, or that of another one so near that one sign stands for both.
fn check_reversals(log: &Log, scene: &Scene, view: &View, seed: u64) {
    let mut state = State::default();
    for record in &log.records {
        let moved = match &record.event {
            Event::Change(change) if change.origin == Origin::Live => {
                Some((&change.watch, &change.resource_version))
            }
            Event::Bookmark(bookmark) => Some((&bookmark.watch, &bookmark.resource_version)),
            Event::ListComplete(list) => Some((&list.watch, &list.resource_version)),
            _ => None,
        };
        let step = moved.map(|(watch, version)| state.watches[watch].step_to(version));
        let x = view.x_from_time(record.at);
        let shows = x >= 0.0 && x <= view.width_px;
        if shows && matches!(step, Some(VersionStep::Reversal { .. })) {
            let is_drawn = scene.primitives.iter().any(|primitive| {
                matches!(primitive, Primitive::Glyph { glyph: Glyph::Reversal, x: at, .. }
                    if (at.to_f64() - x).abs() <= 6.0)
            });
            assert!(is_drawn, "seed {seed}: the reversal {} at {x}", record.seq);
        }
        state.apply(record);
    }
}

/// Returns the area of a line of text.
fn text_area(line: &TextLine) -> Area {
    let width = text_width(&line.text, line.size, line.weight);
    let left = match line.align {
        Align::Start => line.x,
        Align::Middle => line.x - width.half(),
        Align::End => line.x - width,
    };
    Area::between(left, left + width, line.y - Px::whole(8), line.y)
}

/// Returns the area of a mark: of a glyph, a plate, or a shape like them; `None` for other primitives. A stretch is no
/// mark, because words stand on plateaus, gaps and bodies.
fn mark_area(scene: &Scene, primitive: &Primitive) -> Option<Area> {
    match primitive {
        Primitive::Glyph { x, y, size, .. } => {
            let half = Px::whole(i32::from(*size)).half();
            Some(Area::between(*x - half, *x + half, *y - half, *y + half))
        }
        Primitive::Plate { area, .. } => Some(*area),
        // Lines of errors, rules of relists, edges of gaps, ticks.
        Primitive::Rect {
            area,
            fill: Some(Token::Error | Token::List | Token::Lost | Token::Bookmark),
            ..
        } => Some(*area).filter(|area| area.w <= Px::whole(6)),
        // Brackets, crosses, torn ends.
        Primitive::Path {
            steps,
            stroke: Some(stroke),
            ..
        } if matches!(stroke.ink, Token::Error | Token::List) => {
            let points = scene.steps[steps.start as usize..steps.end as usize].iter();
            let points: Vec<(Px, Px)> = points
                .filter_map(|step| match *step {
                    Step::Move(x, y) | Step::Line(x, y) => Some((x, y)),
                    _ => None,
                })
                .collect();
            let xs = points.iter().map(|point| point.0);
            let ys = points.iter().map(|point| point.1);
            let (left, right) = (xs.clone().min()?, xs.max()?);
            Some(Area::between(left, right, ys.clone().min()?, ys.max()?))
        }
        _ => None,
    }
}

#[test]
fn no_label_is_written_over_another_or_over_a_mark() {
    let (mut labels, mut marks) = (0, 0);
    for seed in 0..60 {
        let log = random_log(seed, 260);
        let (store, now) = (log.store(), log.state.at);
        let mut chance = Chance::new(seed ^ 0x1ABE1);
        for view in views(&mut chance, START, now) {
            let (_, scene) = picture(&store, &mut Lanes::showing_all(), &view, now);
            let mut taken: Vec<(Area, String)> = Vec::new();
            for primitive in &scene.primitives {
                if let Some(area) = mark_area(&scene, primitive) {
                    taken.push((area, format!("{primitive:?}")));
                }
            }
            marks += taken.len();
            for primitive in &scene.primitives {
                let Primitive::Text(line) = primitive else {
                    continue;
                };
                labels += 1;
                let area = text_area(line);
                let text = &line.text;
                for (other, what) in &taken {
                    assert!(
                        !area.meets(*other),
                        "seed {seed}, {view:?}: {text:?} at {area:?} and {what} at {other:?}"
                    );
                }
                taken.push((area, text.clone()));
            }
        }
    }
    assert!(labels > 2_000 && marks > 2_000, "{labels} and {marks}");
}

#[test]
fn every_hit_box_covers_its_glyph_and_names_a_record_that_is_there() {
    let log = random_log(77, 400);
    let (store, now) = (log.store(), log.state.at);
    let view = View::between(START, now, 1_000.0);
    let (_, scene) = picture(&store, &mut Lanes::showing_all(), &view, now);
    let (mut glyphs, mut ends, mut gaps) = (0, 0, 0);
    for hit in &scene.hits {
        if let Some(drawn) = hit.drawn {
            // The edge of a gap lies around its beginning, which may be left of the view.
            let begins = drawn.x >= Px::ZERO;
            let holds = hit.area.holds(drawn.x, drawn.y, Px::whole(2));
            assert!(holds || !begins, "{hit:?}");
            match drawn.sign {
                Sign::Hatch(_) => gaps += 1,
                Sign::Glyph(Glyph::EndNormal | Glyph::EndAbnormal | Glyph::EndUnknown) => ends += 1,
                Sign::Glyph(_) => glyphs += 1,
            }
        }
        if let Target::Record(id) = hit.target {
            let record = store.record(id).unwrap();
            assert_eq!(record, log.records[id.seq.0 as usize - 1]);
        }
        let shown = watchscope_timeline::words::describe(&store, hit, now);
        assert!(!shown.what.is_empty(), "{hit:?}");
    }
    let drawn = scene
        .primitives
        .iter()
        .filter(|primitive| matches!(primitive, Primitive::Glyph { .. }))
        .count();
    assert_eq!(glyphs, drawn);
    assert!(ends > 3 && gaps > 3, "{ends} ends, {gaps} gaps");
    assert!(scene.legend.glyphs.contains(&Glyph::Modified));
}

#[test]
fn a_page_drops_its_oldest_chapters_when_its_memory_is_full_and_says_so() {
    let log = random_log(3, 3_000);
    let mut store = Store::new(120_000);
    let head = log.records.len() - 100;
    log.send_from(&mut store, head);
    // Like the page, it requests earlier chapters until the store says that there is no room.
    while let Some((_, _, before)) = store.backfill(START, FOREVER) {
        let to = before.0 as usize - 1;
        store
            .chapter(&log.chapter(to.saturating_sub(200), to))
            .unwrap();
    }
    use watchscope_timeline::store::Coverage;
    let now = log.state.at;
    let dropped = store
        .coverage(now)
        .into_iter()
        .find(|stretch| stretch.coverage == Coverage::Dropped);
    assert!(dropped.is_some(), "{:?}", store.coverage(now));
    assert!(store.bytes() < 400_000 && store.records() < log.records.len() as u64);
    assert_eq!(
        store.backfill(START, FOREVER),
        None,
        "what was dropped is not asked for again"
    );
    // The rest is drawn as before.
    let from = dropped.unwrap().to;
    let view = View::between(from.plus_micros(now.micros_since(from) / 5), now, 700.0);
    assert!(draw(&store, &view, now, false).contains("glyph"));
}

#[test]
fn watches_that_are_pinned_say_to_which_server_also_to_a_late_reader() {
    let mut log = Log::new("a");
    log.watch_by(0.0, "shop/pods", Some("10.0.0.1:6443"));
    log.watch_by(0.0, "shop/pods#2", Some("10.0.0.2:6443"));
    log.watch(0.0, "shop/nodes");
    let now = at(5.0);
    for from in [0, log.records.len()] {
        let mut store = Store::default();
        log.send_from(&mut store, from);
        let view = View::between(START, now, 800.0);
        let (rows, _) = picture(&store, &mut Lanes::showing_all(), &view, now);
        let names: Vec<&str> = rows.rows.iter().map(|row| &*row.name).collect();
        let versions = "resourceVersion";
        let nodes = ["nodes", versions];
        let first = ["pods to 10.0.0.1:6443", versions];
        let second = ["pods#2 to 10.0.0.2:6443", versions];
        assert_eq!(names, [nodes, first, second].concat());
    }
}

#[test]
fn a_new_epoch_ends_open_stretches_at_a_seam_and_joins_lanes_by_name() {
    let mut old = Log::new("a");
    old.opened(0.0, "shop/pods", 1, &["cart-0"], 100);
    old.bookmark(10.0, "shop/pods", 10, 120);
    let mut new = Log::new("b");
    new.opened(30.0, "shop/pods", 1, &["cart-0"], 130);
    let mut store = old.store();
    new.send_all(&mut store);
    let now = at(40.0);
    let (rows, scene) = picture(
        &store,
        &mut Lanes::showing_all(),
        &View::between(START, now, 800.0),
        now,
    );
    let names: Vec<&str> = rows.rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["pods", "resourceVersion", "cart-0"]);
    let text = scene.dump();
    assert!(
        text.contains("watchscope restarted") && text.contains("not watched for 20 s"),
        "{text}"
    );
    let plateaus: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with("x2 stream"))
        .take(2)
        .collect();
    // The old plateau stops at its last record (10 s, 200 px). The new one starts at 30.15 s.
    assert_eq!(
        plateaus,
        ["rect 3,5 197x2 stream", "rect 603,5 197x2 stream"]
    );
}

#[test]
fn a_page_with_only_the_live_log_drops_its_oldest_and_still_reads_the_rest() {
    let log = random_log(4, 4_000);
    let mut store = Store::new(150_000);
    log.send_all(&mut store);
    let kept = store.records();
    assert!(kept < log.records.len() as u64 && kept > 100, "{kept}");
    let last = log.records.last().unwrap();
    for back in [0, 1, kept / 2, kept - 1] {
        let seq = Seq(last.seq.0 - back);
        let id = watchscope_timeline::RecordId { epoch: 0, seq };
        assert_eq!(
            store.record(id).as_ref(),
            Some(&log.records[seq.0 as usize - 1])
        );
    }
    // The picture of the rest is that of a page that dropped nothing.
    let (whole, now) = (log.store(), log.state.at);
    let from = log.records[log.records.len() - kept as usize].at;
    let mut chance = Chance::new(9);
    for view in views(&mut chance, from, now) {
        let (all, part) = (
            draw(&whole, &view, now, false),
            draw(&store, &view, now, false),
        );
        assert!(all == part, "{view:?}: {}", first_difference(&all, &part));
    }
}
