//! Tests of an export's charts: each states what its records show, and two drawings are equal.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../timeline/tests/suite/common/mod.rs"]
mod common;
mod taken;

use common::random::random_log;
use common::{Log, at, object};
use insta::assert_snapshot;
use taken::taken;
use watchscope_export::{DrawnChart, Says, Taken, charts};
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::event::{
    Audit, Bookmark, Change, Gap, ListComplete, Loss, RequestSent, StreamEnded, StreamOpened,
};
use watchscope_model::inside::{InsideRecord, InsideWatcherEnded};
use watchscope_model::vocabulary::{
    AuditMethod, AuditOutcome, Cause, ChangeType, LossPlace, Origin,
};
use watchscope_model::{ConnectionId, RequestId, Seq, StreamId, Time, fnv};
use watchscope_recording::{Excerpt, Lanes, Stretch};
use watchscope_timeline::Theme;

const SAYS: Says<'static> = Says {
    title: "A night",
    zone_offset_min: 60,
};

fn light(taken: &Taken) -> Vec<DrawnChart> {
    charts(taken, None, &SAYS, Theme::Light).unwrap()
}

fn titles(charts: &[DrawnChart]) -> String {
    let titles = charts
        .iter()
        .map(|chart| format!("{}: {}\n", chart.name, chart.title));
    titles.collect()
}

/// Returns all texts of a chart, one in a line.
fn texts(svg: &str) -> Vec<String> {
    let parts = svg.split("</text>");
    let texts = parts.filter_map(|part| Some(part.rsplit_once("<text ")?.1.split_once('>')?.1));
    texts.map(str::to_owned).collect()
}

fn svg_of<'a>(charts: &'a [DrawnChart], name: &str) -> &'a str {
    &charts.iter().find(|chart| chart.name == name).unwrap().svg
}

/// Numbers that look random and are always the same.
struct Chance(u64);

impl Chance {
    /// Returns a number below `most`.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }

    /// Returns a number from 0 to below 1.
    fn part(&mut self) -> f64 {
        self.below(1_000) as f64 / 1_000.0
    }
}

/// Collects the events of a night in any order, and sorts them by time.
#[derive(Default)]
struct Night(Vec<(f64, watchscope_model::Event)>);

const SERVERS: [&str; 2] = ["10.20.0.11:6443", "10.20.0.12:6443"];

impl Night {
    fn push(&mut self, s: f64, event: impl Into<watchscope_model::Event>) {
        self.0.push((s, event.into()));
    }

    /// Adds a list and then streams from one second to another, each with a cause of its end.
    fn watch(&mut self, watch: &str, (from, to): (f64, f64), chance: &mut Chance) {
        let id = |place: u64| u64::from(fnv_of(watch)) * 1_000 + place;
        let mut s = from;
        let mut place = 1;
        while s < to {
            let timeout = 300 + chance.below(300);
            let request = RequestId(id(place));
            let query = format!("watch=1&resourceVersion={}", version(s));
            self.push(
                s,
                sent(
                    watch,
                    request,
                    "watch",
                    &format!("{query}&timeoutSeconds={timeout}"),
                ),
            );
            let stream = StreamId(id(place));
            let open = StreamOpened {
                watch: watch.into(),
                stream,
                request,
                resource_version: Some(version(s).into()),
                http2_stream: None,
            };
            self.push(s + 0.02, open);
            let end = (s + timeout as f64).min(to);
            if end < to {
                self.push(end, ended(watch, stream, Cause::End, timeout * 1_000));
                let gap = Gap {
                    watch: watch.into(),
                    since: Seq(0),
                    from: None,
                    to: None,
                    reason: Cause::End,
                    resumed: true,
                    lost: Some(0),
                };
                self.push(end + 0.05, gap);
            }
            s = end + 0.01;
            place += 1;
        }
    }

    fn list(&mut self, watch: &str, s: f64, lasts: f64, version_asked: &str) {
        let request = RequestId(u64::from(fnv_of(watch)) + 7 + s as u64);
        self.push(
            s,
            sent(
                watch,
                request,
                "list",
                &format!("limit=500&resourceVersion={version_asked}"),
            ),
        );
        let complete = ListComplete {
            watch: watch.into(),
            resource_version: version(s).into(),
            items: 10,
            added: 0,
            changed: 0,
            removed: 0,
        };
        self.push(s + lasts, complete);
    }

    fn change(&mut self, watch: &str, s: f64, version: u64) {
        let change = Change {
            watch: watch.into(),
            stream: Some(StreamId(1)),
            change: ChangeType::Modified,
            origin: Origin::Live,
            object: object("cart-0", 1),
            resource_version: version.into(),
            generation: None,
            manager: None,
            subresource: None,
            bytes: Some(900),
            stray: None,
            owner: None,
        };
        self.push(s, change);
    }

    /// Returns a log of all events.
    fn log(mut self, epoch: &str, watches: &[&str], begins: f64) -> Log {
        self.0.sort_by(|(one, _), (two, _)| one.total_cmp(two));
        let mut log = Log::new(epoch);
        for (place, watch) in watches.iter().enumerate() {
            let pinned = watch.starts_with("shop/pods");
            let server = SERVERS[place % 2];
            log.watch_by(begins, watch, pinned.then_some(server));
        }
        for (s, event) in self.0 {
            log.push(s, event);
        }
        log
    }
}

fn fnv_of(text: &str) -> u16 {
    text.bytes().fold(7, |sum: u16, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    }) % 1_000
}

fn version(s: f64) -> u64 {
    10_000 + (s * 30.0) as u64
}

fn sent(watch: &str, request: RequestId, verb: &str, query: &str) -> RequestSent {
    RequestSent {
        watch: watch.into(),
        request,
        connection: ConnectionId(1),
        verb: verb.into(),
        path: "/api/v1/namespaces/shop/pods".into(),
        query: Some(query.into()),
    }
}

fn ended(watch: &str, stream: StreamId, cause: Cause, age_ms: u64) -> StreamEnded {
    StreamEnded {
        watch: watch.into(),
        stream,
        cause,
        age_ms,
        events: 1,
        bytes: 100,
        reset_code: None,
        unread_ms: None,
    }
}

const WATCHES: [&str; 8] = [
    "shop/pods",
    "shop/pods#2",
    "shop/configmaps",
    "shop/services",
    "shop/replicasets.apps",
    "shop/deployments.apps",
    "shop/events",
    "-/nodes",
];

/// Ten hours with a restart, gaps, a burst of writes, a lagging server, slow lists and an audit.
fn night() -> (Log, Log) {
    let chance = &mut Chance(7);
    let parts = [(0.0, 20_000.0), (20_040.0, 36_000.0)];
    let mut logs = parts
        .map(|(from, to)| {
            let mut night = Night::default();
            for (place, watch) in WATCHES.into_iter().enumerate() {
                night.list(
                    watch,
                    from + 0.1 + place as f64,
                    0.1 + 0.2 * chance.part(),
                    "0",
                );
                night.watch(watch, (from + 2.0 + place as f64, to), chance);
            }
            let mut s = from;
            while s < to {
                s += 4.0 + 8.0 * chance.part();
                let burst = (15_000.0..16_200.0).contains(&s);
                let place = chance.below(6) as usize;
                for step in 0..if burst { 12 } else { 1 } {
                    let s = s + 0.3 * f64::from(step);
                    let version =
                        version(s) + u64::from(burst) * 3 * (s as u64).saturating_sub(15_000);
                    let watch = WATCHES[(place + step as usize * 3) % 8];
                    if watch.starts_with("shop/pods") {
                        let late = if burst { 2.6 } else { 0.06 };
                        night.change(WATCHES[0], s + 0.01 * chance.part(), version);
                        night.change(WATCHES[1], s + late * (0.3 + chance.part()), version);
                    } else {
                        night.change(watch, s, version);
                    }
                }
                if chance.below(20) == 0 {
                    night.push(
                        s,
                        Bookmark {
                            watch: "-/nodes".into(),
                            stream: StreamId(1),
                            resource_version: version(s).into(),
                            initial_events_end: None,
                        },
                    );
                    night.list(
                        "shop/events",
                        s,
                        0.05 + chance.part() * chance.part(),
                        if chance.below(3) == 0 { "" } else { "0" },
                    );
                }
                for _ in 0..chance.below(3) {
                    let (verb, query) = [("list", "limit=1"), ("get", ""), ("list", "limit=500")]
                        [chance.below(3) as usize];
                    night.push(s, sent("shop/pods#a", RequestId(s as u64), verb, query));
                }
            }
            for step in 0..if from == 0.0 { 3 } else { 0 } {
                let s = 9_000.0 + 3_000.0 * f64::from(step);
                night.push(s, ended("shop/pods", StreamId(1), Cause::TcpReset, 41_000));
                night.push(
                    s + 40.0,
                    Gap {
                        watch: "shop/pods".into(),
                        since: Seq(0),
                        from: None,
                        to: None,
                        reason: Cause::TcpReset,
                        resumed: false,
                        lost: (step == 1).then_some(4),
                    },
                );
                night.list("shop/pods", s + 37.0, 2.3, "");
                night.push(
                    s + 60.0,
                    Audit {
                        watch: "shop/pods".into(),
                        resource_version: Some(version(s).into()),
                        method: AuditMethod::ListExact.word().into(),
                        compared: 10,
                        outcome: AuditOutcome::Differs.word().into(),
                        reason: None,
                        object: None,
                        authority: None,
                        whole: None,
                        why: None,
                    },
                );
            }
            let causes = [
                Cause::Goaway,
                Cause::ErrorEvent,
                Cause::EofInFrame,
                Cause::IdleTimeout,
            ];
            for (step, cause) in causes.into_iter().enumerate() {
                let s = from + 4_000.0 + 2_700.0 * step as f64;
                night.push(
                    s,
                    ended(
                        "shop/configmaps",
                        StreamId(1),
                        cause,
                        20_000 + 61_000 * step as u64,
                    ),
                );
            }
            night.push(
                from + 500.0,
                Loss {
                    place: LossPlace::Ring,
                    count: 12,
                    from_seq: None,
                    to_seq: None,
                    watch: None,
                    bytes: None,
                    reason: None,
                    what: None,
                },
            );
            (night, from)
        })
        .into_iter()
        .zip(["a", "b"])
        .map(|((night, from), epoch)| night.log(epoch, &WATCHES, from));
    (logs.next().unwrap(), logs.next().unwrap())
}

fn of_night(theme: Theme) -> Vec<DrawnChart> {
    let (first, second) = night();
    let taken = taken(&[&first, &second], at(0.0), at(36_000.0));
    charts(&taken, Some((at(15_000.0), at(16_500.0))), &SAYS, theme).unwrap()
}

#[test]
fn the_title_of_each_chart_states_its_finding() {
    assert_snapshot!(titles(&of_night(Theme::Light)), @r#"
    life-of-streams: 22 of 639 streams ended before the timeout; the youngest, 20 s old, of shop/configmaps
    ends-by-cause: 7 of 647 ends are abnormal (3 reset); 8 not known, at restarts
    rate-of-events: Events rose to 1.8 a second in all at 13:50, most of shop/pods#2; usual is 0.1
    gaps: 3 of 631 gaps lost events: at least 4, the rest is unknown
    lag-of-servers: 10.20.0.12:6443 was 3.2 s behind at 13:45
    time-of-lists: Lists took 276 ms; the slowest, 2.3 s, of shop/pods
    speed-of-versions: The cluster was written evenly: 29 a second
    audit-requests: The audit found 3 differences in 4,450 requests
    "#);
}

#[test]
fn charts_of_an_empty_range_say_so_and_have_axes() {
    let mut log = Log::new("a");
    log.watch(2.0, "shop/pods");
    let charts = light(&taken(&[&log], at(0.0), at(90.0)));
    assert_snapshot!(titles(&charts), @r#"
    life-of-streams: No stream ended
    ends-by-cause: No stream ended
    rate-of-events: No event was delivered
    gaps: No gap lost events: there was none
    lag-of-servers: The records do not say how far servers are behind
    time-of-lists: No list was completed
    speed-of-versions: No watch saw resourceVersions rise for long enough
    audit-requests: The audit asked nothing
    "#);
    for DrawnChart { name, svg, .. } in &charts {
        let texts = texts(svg);
        assert!(
            texts.contains(&"nothing in this range".to_owned()),
            "{name}: {texts:?}"
        );
        let axis = if *name == "gaps" { "5 s" } else { "09:31:15" };
        assert!(texts.contains(&axis.to_owned()), "{name}: {texts:?}");
    }
}

#[test]
fn a_chart_states_its_unit_its_source_and_what_is_missing() {
    let charts = of_night(Theme::Light);
    assert_snapshot!(texts(svg_of(&charts, "ends-by-cause")).join("\n"), @r#"
    7 of 647 ends are abnormal (3 reset); 8 not known, at restarts
    ends of streams, in 15 min
    0
    5
    10
    15
    20
    10:00
    12:00
    14:00
    16:00
    18:00
    From 15,784 records of 2 runs, 2026-11-19 09:31:00 – 19:31:00 UTC (the viewer is at +01:00).
    Missing: 38 s in 1 restart; 24 records lost by watchscope; ends while nobody watched.
    orderly 628
    GOAWAY 2
    by watchscope 2
    not known 8
    cut off 2
    reset 3
    ERROR event 2
    the time reported
    nobody watched
    "#);
    assert_snapshot!(texts(svg_of(&charts, "gaps")).join("\n"), @r#"
    3 of 631 gaps lost events: at least 4, the rest is unknown
    length of the longest gaps, each with the time when it began
    0
    5 min
    10 min
    12:01:00 shop/pods
    40 s, missed: unknown
    12:51:00 shop/pods
    40 s, missed: at least 4
    13:41:00 shop/pods
    40 s, missed: unknown
    15:04:21 restart
    38 s, nobody watched: missed is unknown
    12:07:40 shop/configmaps
    9 min 30 s, resumed, 0 lost
    12:52:40 shop/configmaps
    7 min 23 s, resumed, 0 lost
    11:22:40 shop/configmaps
    6 min 6 s, resumed, 0 lost
    18:26:40 shop/configmaps
    3 min 54 s, resumed, 0 lost
    From 15,784 records of 2 runs, 2026-11-19 09:31:00 – 19:31:00 UTC (the viewer is at +01:00).
    Missing: 38 s in 1 restart; 24 records lost by watchscope; 624 gaps that were shorter or resumed.
    "#);
}

#[test]
fn a_gap_that_is_open_at_the_end_is_drawn_even_if_the_last_entry_is_of_the_inside() {
    let mut log = Log::new("a");
    log.opened(1.0, "shop/pods", 1, &["cart-0"], 200);
    log.end(8.0, "shop/pods", 1, Cause::Eof);
    let (mut writer, mut chapter) =
        ChapterWriter::open("log".into(), "a".into(), &log.state_after(0));
    for record in &log.records {
        writer.push(record);
    }
    writer.push_inside(&InsideRecord {
        seq: Seq(log.records.len() as u64 + 1),
        at: at(9.0),
        inside: InsideWatcherEnded { watcher: 1 }.into(),
    });
    chapter.extend(writer.seal().unwrap());
    let stretch = Stretch::Times {
        from: at(0.0),
        to: at(20.0),
    };
    let excerpt = Excerpt::new(stretch, Lanes::All, "0.1.0", 2);
    let runs = excerpt.runs([chapter]).unwrap();
    let taken = Taken::new(at(0.0), at(20.0), runs).unwrap();
    let texts = texts(svg_of(&light(&taken), "gaps"));
    assert!(
        texts.contains(&"1 s, not closed: missed is unknown".to_owned()),
        "{texts:?}"
    );
}

#[test]
fn streams_that_end_at_the_same_age_are_a_finding() {
    let mut log = Log::steady("a", 0.0, 1);
    for step in 0..12_u64 {
        let s = 10.0 + step as f64 * 45.0;
        log.push(
            s,
            ended(
                "shop/pods",
                StreamId(10 + step),
                Cause::Eof,
                41_000 + step * 7,
            ),
        );
    }
    log.push(600.0, ended("shop/pods", StreamId(99), Cause::End, 900));
    let charts = light(&taken(&[&log], at(0.0), at(700.0)));
    assert_eq!(
        charts[0].title,
        "Streams of shop/pods end after 41 s: 12 of 13"
    );
}

/// Returns the ends of each straight part of the SVG's paths with a solid stroke.
fn level_lines(svg: &str) -> Vec<(f64, f64)> {
    let mut lines = Vec::new();
    for path in svg.split("<path d=\"").skip(1) {
        let (steps, style) = path.split_once('"').unwrap();
        if !style.starts_with(" fill=\"none\"") {
            continue;
        }
        let (mut x, mut word) = (0.0, String::new());
        for c in steps.chars().chain(['Z']) {
            if !c.is_ascii_alphabetic() {
                word.push(c);
                continue;
            }
            let mut numbers = word.get(1..).unwrap_or("").split(' ');
            let to = numbers.next().and_then(|number| number.parse().ok());
            match (word.chars().next(), to) {
                (Some('M'), Some(to)) => x = to,
                (Some('H' | 'L'), Some(to)) => {
                    lines.push((x, to));
                    x = to;
                }
                _ => {}
            }
            word = c.to_string();
        }
    }
    lines
}

#[test]
fn no_line_crosses_a_seam() {
    let (first, second) = (Log::steady("a", 0.0, 50), Log::steady("b", 80.0, 50));
    let charts = light(&taken(&[&first, &second], at(0.0), at(120.0)));
    for name in ["rate-of-events", "speed-of-versions"] {
        let svg = svg_of(&charts, name);
        // The plot reaches from 68 to 604 px. The first run ends at 50 s, and the second begins at 80 s.
        let x = |s: f64| 68.0 + s * 536.0 / 120.0;
        let (from, to) = (x(50.0), x(80.0));
        let lines = level_lines(svg);
        let beside = |(a, b): &(f64, f64)| *b <= from + 1.0 || *a >= to - 1.0;
        // The axis and the lines of its ticks are as wide as the plot.
        let is_data = |(a, b): &&(f64, f64)| b - a < 500.0;
        let data: Vec<_> = lines.iter().filter(is_data).copied().collect();
        assert!(data.len() > 20, "{name}: {lines:?}");
        assert!(data.iter().all(beside), "{name}: {data:?}");
        assert!(texts(svg).contains(&"nobody watched".to_owned()));
    }
}

#[test]
fn series_without_room_in_the_legend_are_others() {
    let mut log = Log::steady("a", 0.0, 1);
    for place in 0..40_u64 {
        let watch = format!("a-namespace-with-a-long-name-{place}/a-resource-with-a-long-name");
        log.watch(2.0, &watch);
        for step in 0..=place {
            let s = 3.0 + step as f64 / 10.0;
            log.change(
                s,
                &watch,
                ChangeType::Modified,
                Origin::Live,
                "cart-0",
                200 + step,
            );
        }
    }
    let charts = light(&taken(&[&log], at(0.0), at(60.0)));
    let texts = texts(svg_of(&charts, "rate-of-events"));
    let named = texts.iter().filter(|text| text.starts_with("a-namespace"));
    assert!(named.count() <= 4, "{texts:?}");
    assert_eq!(texts.iter().filter(|text| *text == "others").count(), 1);
}

#[test]
fn names_of_a_cluster_are_text_and_are_cut_to_fit() {
    let mut log = Log::steady("a", 0.0, 1);
    let watch = format!(
        "<script>alert(1)</script>&\"'\u{0}\u{202e}/{}",
        "x".repeat(2_000)
    );
    log.opened(1.0, &watch, 9, &["<b>"], 200);
    for step in 0..20_u64 {
        let s = 3.0 + step as f64;
        log.change(
            s,
            &watch,
            ChangeType::Modified,
            Origin::Live,
            "<b>",
            200 + step,
        );
    }
    log.end(30.0, &watch, 90, Cause::TcpReset);
    log.gap(33.0, &watch, false, None);
    for DrawnChart { name, svg, .. } in light(&taken(&[&log], at(0.0), at(60.0))) {
        assert!(!svg.contains("<script") && !svg.contains("<b>"), "{name}");
        assert!(
            !svg.contains(&"x".repeat(60)) && !svg.contains('\u{0}'),
            "{name}"
        );
    }
}

#[test]
fn random_logs_have_charts_and_two_drawings_are_equal() {
    for seed in 0..40 {
        let log = random_log(seed, 300);
        let (from, to) = (log.records[0].at, log.records.last().unwrap().at);
        let drawn = light(&taken(&[&log], from, to));
        assert_eq!(drawn.len(), 8);
        assert_eq!(drawn, light(&taken(&[&log], from, to)), "seed {seed}");
    }
    let log = Log::steady("a", 0.0, 9);
    let all = (Time(i64::MIN), Time(i64::MAX));
    assert_eq!(light(&taken(&[&log], all.0, all.1)).len(), 8);
}

/// A browser draws the same bytes: the story test compares its digests with these.
#[test]
fn the_bytes_of_each_chart_are_unchanged() {
    let hashes: String = of_night(Theme::Light)
        .iter()
        .map(|chart| {
            format!(
                "{} {:016x}\n",
                chart.name,
                fnv::after(fnv::EMPTY, chart.svg.as_bytes())
            )
        })
        .collect();
    assert_snapshot!(hashes, @r#"
    life-of-streams e01f972c0881a953
    ends-by-cause 8a88e1b5861bdae5
    rate-of-events ce7b26f78afd1044
    gaps d4475964f6c6b563
    lag-of-servers dfad168a7a09253d
    time-of-lists b31e7b62e608397b
    speed-of-versions 144dbe86bd3e61ad
    audit-requests 100cf5f527e18761
    "#);
}
