//! What a selected finding rests on, in the picture: its chip framed, its evidence numbered, a thread between them.

mod common;

use common::{Log, at};
use watchscope_model::event::Finding;
use watchscope_model::vocabulary::*;
use watchscope_model::{Event, Seq, WatchName};
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::scene::{Area, Primitive, Target};
use watchscope_timeline::{LaneId, Lanes, Picture, Px, RecordId, Rows, Scene, Store, Token, View};

const PODS: &str = "shop/pods";

/// A pod that was deleted at 20 s, of which the watch was told at 10 s for the last time; found at 30 s.
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
        }),
    )
}

/// The first 40 s, 10 px a second, with a finding selected.
fn draw(
    store: &Store,
    lanes: &mut Lanes,
    evidence: Option<&Evidence>,
    lit: Option<RecordId>,
) -> (Rows, Scene) {
    let view = View::between(at(0.0), at(40.0), 400.0);
    let rows = lanes.rows(store, &view, at(40.0));
    let scene = watchscope_timeline::draw::lanes(&Picture {
        store,
        rows: &rows,
        view: &view,
        now: at(40.0),
        connected: true,
        top: Px::ZERO,
        height: rows.height,
        selected: None,
        record: None,
        evidence,
        lit,
        ways: watchscope_timeline::draw::Ways::All,
        records: Some(watchscope_timeline::draw::RECORDS),
    });
    (rows, scene)
}

/// Tags as they are drawn: number, fill, the middle of each.
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

/// Lines of the thread, 1 px wide, in the colour of divergence.
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
    let (store, mut lanes) = (log.store(), Lanes::default());
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
    // Each leads to its record.
    for (seq, (.., x, y)) in seqs.into_iter().zip(drawn) {
        let hit = scene.hit(Px::from_f64(x), Px::from_f64(y)).unwrap();
        assert_eq!(hit.target, Target::Record(RecordId { epoch: 0, seq }));
    }
    // From under the chip at 30 s to the height of tag 3, and along it to the tag.
    let [down, along] = thread(&scene)[..] else {
        panic!("{:?}", thread(&scene));
    };
    assert_eq!(
        (down.x.to_f64(), down.w.to_f64(), down.bottom().to_f64()),
        (300.0, 1.0, on_pod)
    );
    assert_eq!((along.x.to_f64(), along.right().to_f64()), (210.0, 301.0));

    // Without it there is none of that.
    let (_, scene) = draw(&store, &mut lanes, None, None);
    assert!(tags(&scene).is_empty() && thread(&scene).is_empty() && !is_framed(&scene));
}

#[test]
fn a_tag_lights_up_and_stands_on_the_watch_while_that_is_collapsed() {
    let (log, id, seqs) = ghost();
    let (store, mut lanes) = (log.store(), Lanes::default());
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
    let middle = (row.y + row.height.half()).to_f64() + 1.0;
    let drawn = tags(&scene);
    assert!(drawn.iter().all(|tag| tag.3 == middle), "{drawn:?}");
    // 5 px apart in time, so side by side.
    let xs: Vec<f64> = drawn.iter().map(|tag| tag.2).collect();
    assert_eq!(xs, [99.5, 199.5, 212.5]);
}

#[test]
fn what_is_told_later_is_evidence_too_and_what_is_not_loaded_says_so_until_it_is() {
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
