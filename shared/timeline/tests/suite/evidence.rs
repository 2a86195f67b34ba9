//! The evidence of a selected finding in the picture: its chip has a frame, its records have numbers, and a thread
//! connects them.

use crate::common::{FOREVER, Log, at};
use watchscope_model::event::Finding;
use watchscope_model::vocabulary::*;
use watchscope_model::{Event, Seq, WatchName};
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::scene::{Area, Primitive, StretchKind, Target};
use watchscope_timeline::store::Known;
use watchscope_timeline::{LaneId, Lanes, Picture, Px, RecordId, Rows, Scene, Store, Token, View};

const PODS: &str = "shop/pods";

/// A pod that was deleted at 20 s. The watch received its last event at 10 s, and the audit finds the ghost at 30 s.
fn ghost() -> (Log, RecordId, [Seq; 3]) {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0", "cart-1"], 1_000);
    let modified = log.change(
        10.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-1",
        1_001,
    );
    let bookmark = log.bookmark(20.0, PODS, 10, 1_010);
    let verdict = log.verdict(20.5, PODS, "cart-1", Divergence::Ghost, Standing::Raised);
    let evidence = [modified, bookmark, verdict];
    let raised = find(&mut log, 30.0, Standing::Raised, &evidence);
    let id = RecordId {
        epoch: 0,
        seq: raised,
    };
    (log, id, evidence)
}

fn find(log: &mut Log, s: f64, state: Standing, evidence: &[Seq]) -> Seq {
    log.push(
        s,
        Event::from(Finding {
            code: "F24".into(),
            candidates: Vec::new(),
            name: "Ghost".into(),
            severity: Severity::Divergence,
            state,
            certainty: Certainty::Likely,
            watch: Some(WatchName::from(PODS)),
            server: None,
            evidence: evidence.to_vec(),
            summary: "pod cart-1 is held and not in etcd".into(),
            client: None,
            count: None,
            since: None,
            worst: None,
            connection: None,
            group: None,
            resource: None,
            watches: None,
            resumed: None,
            relisted: None,
            names: Vec::new(),
        }),
    )
}

/// Draws the first 40 s, 10 px for each second, with a finding selected.
fn draw(
    store: &Store,
    lanes: &mut Lanes,
    evidence: Option<&Evidence>,
    lit: Option<RecordId>,
) -> (Rows, Scene) {
    let view = View::between(at(0.0), at(40.0), 400.0);
    let rows = lanes.rows(store, &view, at(40.0));
    let scene = watchscope_timeline::draw::lanes(&Picture {
        evidence,
        lit,
        ..Picture::new(store, &rows, &view, at(40.0))
    });
    (rows, scene)
}

/// Returns the tags as they are drawn: number, fill, and middle.
fn tags(scene: &Scene) -> Vec<(String, Token, f64, f64)> {
    let pairs = scene.primitives.windows(2);
    let tag = |pair: &[Primitive]| match pair {
        [
            Primitive::Rect {
                area,
                fill: Some(fill),
                radius: 1,
                ..
            },
            Primitive::Text(line),
        ] if line.size == 10 && line.text.parse::<u32>().is_ok() => Some((
            line.text.clone(),
            *fill,
            (area.x + area.w.half()).to_f64(),
            (area.y + area.h.half()).to_f64(),
        )),
        _ => None,
    };
    pairs.filter_map(tag).collect()
}

/// Returns the lines of the thread: 1 px wide, in the colour of divergence.
fn thread(scene: &Scene) -> Vec<Area> {
    let line = |primitive: &Primitive| match primitive {
        Primitive::Rect {
            area,
            fill: Some(Token::Divergence),
            ..
        } if area.w == Px::whole(1) || area.h == Px::whole(1) => Some(*area),
        _ => None,
    };
    scene.primitives.iter().filter_map(line).collect()
}

fn is_framed(scene: &Scene) -> bool {
    scene.primitives.iter().any(|primitive| {
        matches!(primitive, Primitive::Rect { fill: None, stroke: Some(stroke), radius: 2, .. } if stroke.ink == Token::Select)
    })
}

#[test]
fn the_evidence_of_a_selected_finding_is_numbered_on_its_lanes_and_a_thread_leads_to_the_last() {
    let (log, id, seqs) = ghost();
    let (store, mut lanes) = (log.store(), Lanes::showing_all());
    let evidence = Evidence::of(&store, id).unwrap();
    let (rows, scene) = draw(&store, &mut lanes, Some(&evidence), None);
    assert!(is_framed(&scene));
    let row = |lane| rows.find(lane).unwrap();
    let watch = store.find_lane(&PODS.into(), None).unwrap();
    let lane_of = |seq| watchscope_timeline::findings::lane_of(&store, RecordId { epoch: 0, seq });
    let pod = lane_of(seqs[0]).unwrap();
    assert!(matches!(pod, LaneId::Object(..)));
    let (of_watch, of_pod) = (row(watch), row(pod));
    let on_watch = (of_watch.y + of_watch.height.half()).to_f64() + 1.0;
    let on_pod = of_pod.y.to_f64() - 1.0;
    let drawn = tags(&scene);
    let divergence = Token::Divergence;
    assert_eq!(
        drawn,
        [
            ("1".to_owned(), divergence, 99.5, on_pod),
            ("2".to_owned(), divergence, 199.5, on_watch),
            ("3".to_owned(), divergence, 204.5, on_pod),
        ]
    );
    // Each tag leads to its record.
    for (seq, (.., x, y)) in seqs.into_iter().zip(drawn) {
        let hit = scene.hit(Px::from_f64(x), Px::from_f64(y)).unwrap();
        assert_eq!(hit.target, Target::Record(RecordId { epoch: 0, seq }));
    }
    // The thread goes down from the chip at 30 s to the height of tag 3, and along to the tag.
    let [down, along] = thread(&scene)[..] else {
        panic!("{:?}", thread(&scene));
    };
    assert_eq!(
        (down.x.to_f64(), down.w.to_f64(), down.bottom().to_f64()),
        (300.0, 1.0, on_pod)
    );
    assert_eq!((along.x.to_f64(), along.right().to_f64()), (210.0, 301.0));

    // Without a selected finding none of it is drawn.
    let (_, scene) = draw(&store, &mut lanes, None, None);
    assert!(tags(&scene).is_empty() && thread(&scene).is_empty() && !is_framed(&scene));
}

#[test]
fn a_tag_lights_up_and_stands_on_the_watch_while_that_is_collapsed() {
    let (log, id, seqs) = ghost();
    let (store, mut lanes) = (log.store(), Lanes::showing_all());
    let evidence = Evidence::of(&store, id).unwrap();
    let lit = RecordId {
        epoch: 0,
        seq: seqs[1],
    };
    let fills = |scene: &Scene| tags(scene).into_iter().map(|tag| tag.1).collect::<Vec<_>>();
    let (_, scene) = draw(&store, &mut lanes, Some(&evidence), Some(lit));
    let divergence = Token::Divergence;
    assert_eq!(fills(&scene), [divergence, Token::Ground0, divergence]);
    let watch = store.find_lane(&PODS.into(), None).unwrap();
    lanes.set_expanded(&store, watch.watch().unwrap(), false);
    let (rows, scene) = draw(&store, &mut lanes, Some(&evidence), None);
    let row = rows.find(watch).unwrap();
    let middle = (row.y + row.height.half()).to_f64();
    let drawn = tags(&scene);
    assert!(drawn.iter().all(|tag| tag.3 == middle), "{drawn:?}");
    // They are 5 px apart in time, so they stand side by side.
    let xs: Vec<f64> = drawn.iter().map(|tag| tag.2).collect();
    assert_eq!(xs, [99.5, 199.5, 212.5]);
}

#[test]
fn later_evidence_is_added_and_a_record_that_is_not_loaded_says_so() {
    let (mut log, id, seqs) = ghost();
    let mut store = Store::default();
    let cut = log.records.len();
    log.send_from(&mut store, cut);
    let evidence = Evidence::of(&store, id).unwrap();
    assert_eq!(evidence.items.len(), 3);
    assert!(evidence.items.iter().all(|item| item.place.is_none()));
    assert!(evidence.items[0].words[2].contains("not loaded"));
    assert!(!evidence.is_behind(&store));

    store.chapter(&log.chapter(0, cut)).unwrap();
    assert!(evidence.is_behind(&store));
    let evidence = Evidence::of(&store, id).unwrap();
    assert!(evidence.items.iter().all(|item| item.place.is_some()));
    assert_eq!(evidence.items[0].words[1], "cart-1 of shop/pods");
    assert!(!evidence.is_behind(&store));

    let more = log.bookmark(31.0, PODS, 10, 1_020);
    find(&mut log, 32.0, Standing::Updated, &[seqs[0], seqs[2], more]);
    let (from, to) = (cut, log.records.len());
    log.send(&mut store, from, to);
    assert!(evidence.is_behind(&store));
    let evidence = Evidence::of(&store, id).unwrap();
    let known: Vec<Seq> = evidence.items.iter().map(|item| item.record.seq).collect();
    assert_eq!(known, [seqs[0], seqs[2], more]);
}

/// F11 of one watch, raised at 10 s and, milder, at 20 s. A record at 21 s updates the second occurrence.
fn expired_twice() -> (Log, [RecordId; 2], [Seq; 2]) {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    let mut ids = Vec::new();
    let mut errors = Vec::new();
    for (s, severity, from) in [
        (10.0, Severity::Warning, 15_967),
        (20.0, Severity::Note, 19_044),
    ] {
        let error = log.error(s, PODS, 10, 410);
        let state = Standing::Raised;
        let seq = expired(
            &mut log,
            s,
            (severity, state),
            error,
            &format!("from {from}."),
        );
        ids.push(RecordId { epoch: 0, seq });
        errors.push(error);
    }
    let shown = (Severity::Note, Standing::Updated);
    expired(
        &mut log,
        21.0,
        shown,
        errors[1],
        "from 19044. It listed again.",
    );
    (log, [ids[0], ids[1]], [errors[0], errors[1]])
}

fn expired(
    log: &mut Log,
    s: f64,
    (severity, state): (Severity, Standing),
    error: Seq,
    summary: &str,
) -> Seq {
    log.push(
        s,
        Event::from(Finding {
            code: "F11".into(),
            candidates: Vec::new(),
            name: "Expired".into(),
            severity,
            state,
            certainty: Certainty::Definite,
            watch: Some(WatchName::from(PODS)),
            server: None,
            evidence: vec![error],
            summary: summary.to_owned(),
            client: None,
            count: None,
            since: None,
            worst: Some(Severity::Warning),
            connection: None,
            group: None,
            resource: None,
            watches: None,
            resumed: None,
            relisted: None,
            names: Vec::new(),
        }),
    )
}

/// Returns chips and ticks of the findings: where they begin, and what a click on them selects.
fn chips(scene: &Scene) -> Vec<(f64, RecordId)> {
    let chip = |hit: &watchscope_timeline::scene::Hit| match hit.target {
        Target::Stretch(StretchKind::Finding, id) => Some((hit.area.x.to_f64(), id)),
        _ => None,
    };
    scene.hits.iter().filter_map(chip).collect()
}

fn words_of(scene: &Scene) -> String {
    let text = |primitive: &Primitive| match primitive {
        Primitive::Text(line) => Some(line.text.clone()),
        _ => None,
    };
    let all: Vec<String> = scene.primitives.iter().filter_map(text).collect();
    all.join("\n")
}

#[test]
fn a_chip_stands_at_each_record_that_raised_a_finding_with_the_numbers_and_evidence_of_that_record()
{
    let (log, [first, second], errors) = expired_twice();
    let store = log.store();
    let view = View::between(at(0.0), at(40.0), 1_600.0);
    let (_, scene) = crate::common::picture(&store, &mut Lanes::showing_all(), &view, at(40.0));
    let mut drawn = chips(&scene);
    drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(drawn, [(399.0, first), (799.0, second)]);
    let words = words_of(&scene);
    assert!(words.contains("from 15967."), "{words}");
    assert!(words.contains("from 19044. It listed again."), "{words}");
    let shown = |id| {
        let evidence = Evidence::of(&store, id).unwrap();
        let records: Vec<Seq> = evidence.items.iter().map(|item| item.record.seq).collect();
        (evidence.summary, evidence.severity, evidence.at, records)
    };
    let (warning, note) = (Severity::Warning, Severity::Note);
    assert_eq!(
        shown(first),
        ("from 15967.".to_owned(), warning, at(10.0), vec![errors[0]])
    );
    let outcome = "from 19044. It listed again.".to_owned();
    assert_eq!(shown(second), (outcome, note, at(20.0), vec![errors[1]]));
    // The board describes the last occurrence, and leads to its record.
    let board =
        watchscope_timeline::findings::board(Known::now(&store, FOREVER), &Default::default());
    let item = &board.standing[0].items[0];
    assert_eq!((item.raised, item.severity), (second, warning));
}

#[test]
fn a_late_page_shows_the_last_occurrence_of_a_finding() {
    let (log, [_, second], errors) = expired_twice();
    let mut late = Store::default();
    log.send_from(&mut late, log.records.len());
    let evidence = Evidence::of(&late, second).unwrap();
    assert_eq!(evidence.summary, "from 19044. It listed again.");
    assert_eq!(evidence.items[0].record.seq, errors[1]);
    let (_, scene) = draw(&late, &mut Lanes::showing_all(), None, None);
    assert_eq!(chips(&scene), [(199.0, second)]);
}

#[test]
fn a_finding_raised_before_the_view_has_its_last_occurrence_at_the_edge() {
    let (log, [_, second], _) = expired_twice();
    let store = log.store();
    let view = View::between(at(25.0), at(65.0), 400.0);
    let (_, scene) = crate::common::picture(&store, &mut Lanes::showing_all(), &view, at(40.0));
    assert_eq!(chips(&scene), [(0.0, second)]);
}
