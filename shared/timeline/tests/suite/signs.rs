//! The pictures of docs/page.md: each sign of the picture, drawn by the program.
//!
//! The tests write them with `WATCHSCOPE_WRITE_DOCS=1`. Else they compare them.

use std::path::Path;

use crate::common::{Log, at, picture_of};
use crate::layers::picture_of_the_page;
use watchscope_model::event::*;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::draw::{
    Cursors, FLAGS_ROW, FlagMark, Flagged, FoundMark, Marked, RULER_HEIGHT, found_ticks, lanes,
    ruler_of,
};
use watchscope_timeline::evidence::{Evidence, Item, Way};
use watchscope_timeline::findings::Muted;
use watchscope_timeline::lanes::RowKind;
use watchscope_timeline::overview::{self, Moments, REACH_US};
use watchscope_timeline::scene::{Area, Hatch};
use watchscope_timeline::svg::svg;
use watchscope_timeline::{
    Glyph, LaneId, Lanes, Overview, Picture, Primitive, Px, RecordId, Scene, Store, Theme, Token,
    Troubles, View,
};

const PODS: &str = "shop/pods";
/// Pixels of a picture for each second.
const PX_PER_SECOND: f64 = 10.0;
/// The most bytes of a sign's picture.
const MOST_BYTES: usize = 2_048;
/// Hatches, one of each meaning, in the order of a legend.
const HATCHES: [Hatch; 6] = [
    Hatch::Resumed,
    Hatch::Open,
    Hatch::Lost,
    Hatch::Own,
    Hatch::NotLoaded,
    Hatch::Stale,
];

/// The names of the larger pictures.
const LARGER: [&str; 2] = ["overview", "inside"];

/// A picture, and the name of its file.
type Named = (String, Scene);

/// What a picture has beside its records.
#[derive(Clone, Copy, Default)]
struct Extra<'a> {
    /// The pen's time; `None`: the end of the view.
    now: Option<f64>,
    /// Whether all watches are strips.
    is_strip: bool,
    selected: Option<LaneId>,
    evidence: Option<&'a Evidence>,
    troubles: Option<&'a Troubles>,
    marked: Marked,
    flags: &'a [FlagMark],
    found: &'a [FoundMark],
    current: Option<FoundMark>,
}

/// The part of a picture that a sign stands in.
#[derive(Clone, Copy)]
enum Part {
    /// The first row of a kind.
    Row(RowKind),
    /// The ruler.
    Ruler,
    /// The row of flags.
    Flags,
}

/// Returns an empty picture.
fn sheet(width: Px, height: Px, ground: Token) -> Scene {
    let area = Area::between(Px::ZERO, width, Px::ZERO, height);
    Scene {
        width,
        height,
        primitives: vec![Primitive::Rect {
            area,
            fill: Some(ground),
            stroke: None,
            radius: 0,
            opacity: 100,
        }],
        ..Scene::default()
    }
}

/// Returns what a scene shows between two y, without what lies outside.
fn cut(mut scene: Scene, (top, bottom): (Px, Px)) -> Scene {
    let all = std::mem::take(&mut scene.primitives);
    let is_seen = |primitive: &Primitive| {
        let is_within = match primitive {
            Primitive::Rect { area, .. } | Primitive::Hatch { area, .. } => {
                area.x < scene.width && area.right() > Px::ZERO
            }
            _ => true,
        };
        let ys = scene.span(primitive);
        is_within && ys.is_some_and(|(from, to)| from < bottom && to > top)
    };
    let kept = all.into_iter().filter(is_seen).collect();
    let mut sheet = sheet(scene.width, bottom - top, Token::Ground0);
    scene.primitives = kept;
    sheet.append(scene, Px::ZERO, -top);
    sheet
}

/// Draws a part of a picture between two times, in seconds after the start.
fn part(store: &Store, part: Part, (from, to): (f64, f64), extra: Extra<'_>) -> Scene {
    let view = View::between(at(from), at(to), (to - from) * PX_PER_SECOND);
    let now = at(extra.now.unwrap_or(to));
    let mut tree = Lanes::showing_all();
    if extra.is_strip {
        tree.set_all_expanded(store, false);
    }
    let rows = tree.rows(store, &view, now);
    let picture = Picture {
        selected: extra.selected,
        evidence: extra.evidence,
        troubles: extra.troubles,
        marked: extra.marked,
        flagged: Flagged {
            marks: extra.flags,
            top: RULER_HEIGHT,
        },
        ..picture_of(store, &rows, &view, now)
    };
    match part {
        Part::Row(kind) => {
            let mut scene = lanes(&picture);
            found_ticks(
                &mut scene,
                (&rows, Px::ZERO),
                &view,
                extra.found,
                extra.current,
            );
            let row = rows.rows.iter().find(|row| row.kind == kind).unwrap();
            cut(scene, (row.y, row.y + row.height))
        }
        Part::Ruler => cut(ruler_of(&picture), (Px::ZERO, RULER_HEIGHT)),
        Part::Flags => cut(ruler_of(&picture), (RULER_HEIGHT, RULER_HEIGHT + FLAGS_ROW)),
    }
}

const WATCH: Part = Part::Row(RowKind::Watch);
const OBJECT: Part = Part::Row(RowKind::Object);
const FINDINGS: Part = Part::Row(RowKind::Findings);

/// Returns a watch with an open stream and one object.
fn streaming() -> Log {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    log
}

fn change(log: &mut Log, s: f64, version: u64) {
    let (kind, origin) = (ChangeType::Modified, Origin::Live);
    log.change(s, PODS, kind, origin, "cart-0", version);
}

/// Returns two watches that share a connection, which breaks at 6 s.
fn shared() -> Log {
    let mut log = streaming();
    log.opened(0.0, "shop/services", 1, &["cart"], 1_000);
    log.push(
        6.0,
        ConnectionClosed::unasked(ConnectionId(1), Cause::TcpReset),
    );
    log
}

fn glyph(glyph: Glyph) -> Scene {
    let ground = Token::Ground0;
    let mut scene = sheet(Px::whole(24), Px::whole(24), ground);
    scene.primitives.push(Primitive::Glyph {
        glyph,
        x: Px::whole(12),
        y: Px::whole(12),
        size: 18,
        ink: glyph.ink(),
        ground,
        halo: false,
    });
    scene
}

fn hatch(hatch: Hatch) -> Scene {
    let (width, height) = (Px::whole(48), Px::whole(20));
    // Every hatch is named, so that a new one does not compile here until HATCHES has it.
    let ground = match hatch {
        Hatch::Lost | Hatch::LostWide | Hatch::LostStrip => Token::LostGround,
        Hatch::Resumed | Hatch::Open | Hatch::Own | Hatch::NotLoaded | Hatch::Stale => {
            Token::Ground0
        }
    };
    let mut scene = sheet(width, height, ground);
    scene.primitives.push(Primitive::Hatch {
        area: Area::between(Px::ZERO, width, Px::ZERO, height),
        hatch,
        anchor: Px::ZERO,
    });
    scene
}

/// Returns waves of changes, 10 columns of a strip wide: modified, then added, then deleted objects.
fn waves() -> Log {
    let mut log = streaming();
    let kinds = [ChangeType::Modified, ChangeType::Added, ChangeType::Deleted];
    let mut version = 1_000;
    for (wave, kind) in (0_u32..).zip(kinds) {
        for (column, count) in (0_u32..).zip([1, 3, 9, 24, 60, 24, 9, 3, 1]) {
            let s = 4.0 + f64::from(wave * 10 + column) * 0.2;
            for object in 0..count {
                let name = match kind {
                    ChangeType::Modified => "cart-0".to_owned(),
                    _ => format!("cart-{column}-{object}"),
                };
                version += 1;
                log.change(s, PODS, kind, Origin::Live, &name, version);
            }
        }
    }
    log
}

/// Returns the pictures of streams, changes and lives.
fn records() -> Vec<(&'static str, Scene)> {
    let plain = streaming().store();
    let row = |log: &Log, of, times| part(&log.store(), of, times, Extra::default());
    let mut ended = streaming();
    ended.end(10.0, PODS, 10, Cause::TcpReset);
    let (kind, origin) = (ChangeType::Deleted, Origin::Inferred);
    ended.change(30.0, PODS, kind, origin, "cart-0", 1_000);
    let mut busy = streaming();
    (0..8_u32).for_each(|step| {
        change(
            &mut busy,
            5.0 + f64::from(step) * 0.2,
            1_001 + u64::from(step),
        )
    });
    let mut steps = streaming();
    change(&mut steps, 4.0, 1_002);
    change(&mut steps, 6.0, 1_004);
    change(&mut steps, 7.5, 1_009);
    let mut unread = streaming();
    unread.push(
        6.0,
        Loss {
            place: LossPlace::Frame,
            count: 1,
            from_seq: None,
            to_seq: None,
            watch: Some(PODS.into()),
            bytes: Some(10),
            reason: None,
            what: None,
        },
    );
    let strip = Extra {
        is_strip: true,
        ..Extra::default()
    };
    vec![
        ("stream", part(&plain, WATCH, (3.0, 9.0), Extra::default())),
        ("life", part(&plain, OBJECT, (3.0, 9.0), Extra::default())),
        ("life-unknown", row(&ended, OBJECT, (14.0, 20.0))),
        ("plate", row(&busy, OBJECT, (3.0, 9.0))),
        (
            "columns",
            part(
                &waves().store(),
                Part::Row(RowKind::Strip),
                (4.0, 10.0),
                strip,
            ),
        ),
        ("unread", row(&unread, WATCH, (3.0, 9.0))),
        (
            "connection",
            row(&shared(), Part::Row(RowKind::Connection), (1.0, 9.0)),
        ),
        (
            "version",
            row(&steps, Part::Row(RowKind::Version), (3.0, 9.0)),
        ),
    ]
}

/// Returns the pictures of divergences, as they stand on an object's lane.
fn divergences() -> Vec<(&'static str, Scene)> {
    let of = |kind, state| {
        let mut log = Log::new("a");
        let held: &[&str] = match kind {
            Divergence::Missing => &[],
            _ => &["cart-0"],
        };
        log.opened(0.0, PODS, 1, held, 1_000);
        log.verdict(3.0, PODS, "cart-0", kind, state);
        part(&log.store(), OBJECT, (1.0, 7.0), Extra::default())
    };
    vec![
        ("ghost-body", of(Divergence::Ghost, Standing::Confirmed)),
        ("missing-body", of(Divergence::Missing, Standing::Confirmed)),
        ("stale-body", of(Divergence::Stale, Standing::Confirmed)),
        ("not-confirmed", of(Divergence::Ghost, Standing::Raised)),
    ]
}

/// Returns the pictures of findings and of trouble.
fn findings() -> Vec<(&'static str, Scene)> {
    let raised = |times: &[f64], code: &str, severity| {
        let mut log = streaming();
        for &s in times {
            log.finding(s, code, severity, Standing::Raised, PODS, "");
        }
        log.store()
    };
    let ghost = raised(&[4.0], "F24", Severity::Divergence);
    let expired = raised(&[4.0], "F11", Severity::Warning);
    let often = raised(&[4.0, 4.5, 5.0], "F11", Severity::Warning);
    let troubles = Troubles::read(&ghost, &Muted::default(), at(26.0));
    let off = Extra {
        troubles: Some(&troubles),
        ..Extra::default()
    };
    let of = |store, times| part(store, FINDINGS, times, Extra::default());
    vec![
        ("chip", of(&ghost, (3.0, 9.0))),
        ("chip-milder", of(&expired, (3.0, 9.0))),
        ("chip-several", of(&often, (3.0, 10.0))),
        ("chip-before", of(&ghost, (8.0, 14.0))),
        ("off-side", part(&ghost, WATCH, (20.0, 26.0), off)),
    ]
}

/// Returns the pictures of requests, and of times that are not known.
fn stretches() -> Vec<(&'static str, Scene)> {
    let mut own = streaming();
    let aside = WatchName::from(PODS).aside(Aside::Audit);
    for (request, sent, answered) in [
        (90, 4.0, Some((6.0, 200))),
        (91, 7.5, Some((8.0, 429))),
        (92, 9.5, None),
    ] {
        own.request(sent, aside.as_str(), request, 2, "list", "");
        if let Some((s, status)) = answered {
            let answer = RequestAnswered {
                watch: aside.clone(),
                request: RequestId(request),
                status: Some(status),
                headers: field::Headers::default(),
                retry_after_ms: None,
                error: None,
                error_text: None,
            };
            own.push(s, answer);
        }
    }
    let mut paused = streaming();
    let pause = Clock {
        off_ms: 0,
        paused_ms: Some(3_000),
    };
    paused.push(8.0, pause);
    let mut restarted = streaming();
    restarted.bookmark(5.0, PODS, 10, 1_010);
    let mut store = restarted.store();
    let mut next = Log::new("b");
    next.opened(8.0, PODS, 1, &["cart-0"], 1_020);
    next.send_all(&mut store);
    let steady = Log::steady("a", 0.0, 20);
    let mut expired = Store::default();
    steady.send_from(&mut expired, steady.records.len() - 5);
    expired.expired(&steady.epoch, Seq(steady.records.len() as u64 - 5));
    let pen = Extra {
        now: Some(6.0),
        ..Extra::default()
    };
    let row = |store: &Store, of, times| part(store, of, times, Extra::default());
    vec![
        (
            "own-requests",
            row(&own.store(), Part::Row(RowKind::OwnRequests), (3.0, 11.0)),
        ),
        ("pen", part(&streaming().store(), WATCH, (3.0, 9.0), pen)),
        ("seam", row(&store, WATCH, (3.0, 11.0))),
        ("pause", row(&paused.store(), WATCH, (3.0, 11.0))),
        ("expired", row(&expired, WATCH, (12.0, 20.0))),
    ]
}

/// Returns the pictures of marks of a viewer, and of a selection.
fn marks() -> Vec<(&'static str, Scene)> {
    let store = streaming().store();
    let plain = Extra::default();
    // Now lies behind the view, so that the ruler has no badge for it.
    let marked = |marked, of, times| {
        let extra = Extra {
            marked,
            now: Some(60.0),
            ..plain
        };
        part(&store, of, times, extra)
    };
    let moment = Marked {
        as_of: Some(at(6.0)),
        ..Marked::default()
    };
    let range = Marked {
        range: Some((at(4.0), at(8.0))),
        ..Marked::default()
    };
    let cursors = Marked {
        cursors: Cursors {
            a: Some(at(8.5)),
            b: Some(at(9.5)),
        },
        ..Marked::default()
    };
    let flags = [(1, 4.0, 4.0), (2, 6.0, 8.0)].map(|(number, from, to)| FlagMark {
        number: Some(number),
        from: at(from),
        to: at(to),
        is_selected: false,
    });
    let flags = Extra {
        flags: &flags,
        ..plain
    };
    let lane = store.find_lane(&PODS.into(), None);
    let selected = Extra {
        selected: store.find_lane(&PODS.into(), Some(&crate::common::object("cart-0", 1))),
        ..plain
    };
    let found = [4.0, 5.0, 6.0, 7.0].map(|s| FoundMark {
        record: None,
        lane: lane.unwrap(),
        at: at(s),
    });
    let hits = |found, current| {
        let extra = Extra {
            found,
            current,
            ..plain
        };
        part(&store, WATCH, (2.5, 8.5), extra)
    };
    vec![
        ("moment", marked(moment, WATCH, (3.0, 9.0))),
        ("range", marked(range, Part::Ruler, (3.0, 9.0))),
        ("cursors", marked(cursors, Part::Ruler, (1.0, 17.0))),
        ("flag", part(&store, Part::Flags, (2.0, 9.0), flags)),
        ("selected", part(&store, OBJECT, (3.0, 9.0), selected)),
        ("hit", hits(&found[2..3], None)),
        ("hits", hits(&found, None)),
        ("current-hit", hits(&[], Some(found[2]))),
    ]
}

/// Returns the pictures of evidence: a tag, and the three threads between two tags.
fn threads() -> Vec<(&'static str, Scene)> {
    let store = streaming().store();
    let lane = store.find_lane(&PODS.into(), None).unwrap();
    let record = |seq| RecordId {
        epoch: 0,
        seq: Seq(seq),
    };
    let of = |times: &[f64], way: Option<Way>| {
        let item = |(place, &s): (usize, &f64)| Item {
            record: record(place as u64 + 1),
            place: Some((lane, at(s))),
            words: Default::default(),
            way,
        };
        let evidence = Evidence {
            finding: record(1),
            at: at(1.0),
            code: "".into(),
            name: "".into(),
            summary: String::new(),
            severity: Severity::Divergence,
            items: times.iter().enumerate().map(item).collect(),
        };
        let extra = Extra {
            evidence: Some(&evidence),
            ..Extra::default()
        };
        part(&store, WATCH, (2.0, 9.0), extra)
    };
    let between = [3.0, 7.0];
    vec![
        ("tag", of(&[5.5], None)),
        ("thread-solid", of(&between, Some(Way::WentOn))),
        ("thread-dashed", of(&between, Some(Way::NobodyHeard))),
        ("thread-dotted", of(&between, Some(Way::TimePasses))),
    ]
}

/// Returns the pictures of all signs.
fn signs() -> Vec<Named> {
    let glyphs = Glyph::ALL.iter();
    let mut signs: Vec<Named> = glyphs
        .map(|&sign| (sign.id().to_owned(), glyph(sign)))
        .collect();
    signs.extend(HATCHES.map(|sign| (format!("hatch-{}", sign.id()), hatch(sign))));
    let others = [
        records(),
        divergences(),
        findings(),
        stretches(),
        marks(),
        threads(),
    ];
    let others = others.into_iter().flatten();
    signs.extend(others.map(|(name, scene)| (name.to_owned(), scene)));
    signs
}

/// Returns the overview of 10 min with changes, an ERROR, a gap in which events may be lost, and hits of a search.
fn strip() -> Scene {
    let mut log = streaming();
    for step in 0..400_u32 {
        let s = 5.0 + f64::from(step) * 1.5;
        if step == 160 {
            log.error(s - 0.5, PODS, 10, 410);
            log.end(s - 0.4, PODS, 10, Cause::ErrorEvent);
        }
        if step == 180 {
            log.list(s - 0.5, PODS, 9_000, 1, (0, 1, 0));
            log.gap(s - 0.5, PODS, false, None);
            log.open(s - 0.4, PODS, 11, 2, 9_000);
        }
        if step == 330 {
            let (kind, state) = (Divergence::Stale, Standing::Confirmed);
            log.verdict(s - 0.5, PODS, "cart-0", kind, state);
        }
        if !(160..180).contains(&step) {
            let each = u64::from(step % 40 / 8 + 1);
            for more in 0..each {
                let version = 10_000 + u64::from(step) * 10 + more;
                change(&mut log, s + more as f64 * 0.1, version);
            }
        }
    }
    let (store, now) = (log.store(), at(605.0));
    let view = View::between(at(200.0), at(300.0), 720.0);
    let scale = Overview::new(&store, now, &view, REACH_US);
    let moments = Moments::live(now);
    let mut scene = overview::overview(&store, &scale, &view, moments, Px::whole(56));
    let hits = [120.0, 230.0, 410.0].map(at);
    overview::found_ticks(&mut scene, &scale, &hits, Some(hits[1]));
    let size = (Px::ZERO, scene.height);
    cut(scene, size)
}

/// Returns the larger pictures, in the order of [`LARGER`].
fn larger() -> [Named; 2] {
    let [overview, inside] = LARGER.map(str::to_owned);
    [(overview, strip()), (inside, picture_of_the_page())]
}

fn docs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_pictures_of_the_page_are_current() {
    let folder = docs().join("page");
    let is_written = std::env::var_os("WATCHSCOPE_WRITE_DOCS").is_some();
    if is_written {
        std::fs::create_dir_all(&folder).unwrap();
    }
    let mut old = Vec::new();
    for (name, scene) in signs().into_iter().chain(larger()) {
        let text = svg(&scene, Theme::Light);
        let path = folder.join(format!("{name}.svg"));
        if is_written {
            std::fs::write(&path, &text).unwrap();
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            old.push(name);
        }
    }
    assert!(
        old.is_empty(),
        "docs/page is not current: {old:?}. Run the tests of shared/timeline with WATCHSCOPE_WRITE_DOCS=1"
    );
}

#[test]
fn the_picture_of_a_sign_is_small() {
    for (name, scene) in signs() {
        let bytes = svg(&scene, Theme::Light).len();
        assert!(bytes < MOST_BYTES, "{name}: {bytes} bytes");
    }
}

#[test]
fn the_page_shows_and_explains_each_sign() {
    let page = std::fs::read_to_string(docs().join("page.md")).unwrap();
    let row = |name: &str| {
        let picture = format!("](page/{name}.svg)");
        let row = page.lines().find(|line| line.contains(&picture));
        row.unwrap_or_else(|| panic!("docs/page.md has no row for {name}"))
    };
    let words = Glyph::ALL
        .iter()
        .map(|glyph| (glyph.id().to_owned(), glyph.words()));
    let hatches = HATCHES.map(|hatch| (format!("hatch-{}", hatch.id()), hatch.words()));
    for (name, words) in words.chain(hatches) {
        assert!(
            row(&name).contains(&format!("| {words} |")),
            "{name} has not its words: {words}"
        );
    }
    let mut signs: Vec<String> = signs().into_iter().map(|(name, _)| name).collect();
    signs.extend(LARGER.map(str::to_owned));
    for name in &signs {
        row(name);
    }
    let names: std::collections::BTreeSet<&String> = signs.iter().collect();
    assert_eq!(names.len(), signs.len(), "two signs share a name");
    for file in std::fs::read_dir(docs().join("page")).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let name = file.strip_suffix(".svg").unwrap().to_owned();
        assert!(names.contains(&name), "docs/page/{file} is of no sign");
    }
}
