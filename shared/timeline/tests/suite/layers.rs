//! The layers of a simulated cluster: rows only if the cluster reports its inside, ghosts, propagations that stopped,
//! connections that were cut. The picture is the same in whatever order chapters come, and the beliefs are right at
//! any record.

use crate::common::{Log, START, at, object};
use watchscope_model::chapter::{ChapterWriter, Fold};
use watchscope_model::event::*;
use watchscope_model::inside::*;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::draw::{self, Ways};
use watchscope_timeline::format::text_width;
use watchscope_timeline::inside::beliefs::{Difference, belief_table};
use watchscope_timeline::lanes::RowKind;
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::scene::{Align, Step, Stroke, TextLine};
use watchscope_timeline::store::Known;
use watchscope_timeline::{
    Glyph, LaneId, Lanes, Picture, Primitive, Px, RecordId, Rows, Scene, Store, Token, View, words,
};

/// A log with an inside, written by hand.
#[derive(Default)]
struct InsideLog(Vec<Entry>);

impl InsideLog {
    fn event(&mut self, s: f64, event: impl Into<Event>) -> Seq {
        let (seq, at) = (Seq(self.0.len() as u64 + 1), at(s));
        let event = event.into();
        self.0.push(Entry::Record(Record { seq, at, event }));
        seq
    }

    fn inside(&mut self, s: f64, inside: impl Into<Inside>) -> Seq {
        let (seq, at) = (Seq(self.0.len() as u64 + 1), at(s));
        let inside = inside.into();
        self.0.push(Entry::Inside(InsideRecord { seq, at, inside }));
        seq
    }

    fn write(&mut self, s: f64, change: ChangeType, name: &str, revision: u64) -> Seq {
        let resource = Text::from("configmaps");
        let object = object(name, 1);
        let held = InsideHeld {
            server: 0,
            resource: resource.clone(),
            object: object.clone(),
            revision: (change != ChangeType::Deleted).then_some(revision),
        };
        let write = InsideWrite {
            resource: resource.clone(),
            change,
            object,
            revision,
        };
        let seq = self.inside(s, write);
        let cache = InsideCache {
            server: 0,
            resource,
            phase: CachePhase::Ready,
            revision,
            oldest: 100,
            events: 3,
            capacity: 100,
        };
        self.inside(s + 0.001, cache);
        self.inside(s + 0.001, held);
        seq
    }

    fn report(&mut self, s: f64, client: &str, phase: &str, revision: u64, names: &[(&str, u64)]) {
        let held: Vec<String> = names
            .iter()
            .map(|(name, version)| format!(r#""shop/{name}":"uid-1@{version}""#))
            .collect();
        let belief = format!(
            r#"[{{"resource":"configmaps","resourceVersion":"{revision}","objects":{},"held":{{{}}}}}]"#,
            names.len(),
            held.join(",")
        );
        let report = ClientReport {
            client: client.into(),
            phase: phase.into(),
            iterations: 1,
            handled: 1,
            belief: Some(belief),
        };
        self.event(s, report);
    }

    fn connection(
        &mut self,
        s: f64,
        number: u64,
        client: Option<&str>,
        (server, streams): (u64, u64),
        way: Way,
    ) {
        let story = InsideConnection {
            connection: number,
            client: client.map(Into::into),
            server,
            way,
            streams,
        };
        self.inside(s, story);
    }

    /// Appends a write to etcd alone.
    fn written(&mut self, s: f64, change: ChangeType, name: &str, revision: u64) -> Seq {
        let write = InsideWrite {
            resource: "configmaps".into(),
            change,
            object: object(name, 1),
            revision,
        };
        self.inside(s, write)
    }

    /// Appends that a watch cache came to a revision.
    fn cached(&mut self, s: f64, server: u64, revision: u64) {
        let cache = InsideCache {
            server,
            resource: "configmaps".into(),
            phase: CachePhase::Ready,
            revision,
            oldest: 100,
            events: 3,
            capacity: 100,
        };
        self.inside(s, cache);
    }

    /// Appends that an object entered or left a watch cache.
    fn held(&mut self, s: f64, server: u64, name: &str, revision: Option<u64>) {
        let held = InsideHeld {
            server,
            resource: "configmaps".into(),
            object: object(name, 1),
            revision,
        };
        self.inside(s, held);
    }

    /// Appends a client's watch, over a connection of the same number.
    fn watcher(&mut self, s: f64, number: u64, server: u64, client: &str, waiting: u64) {
        self.connection(s, number, Some(client), (server, 1), Way::Open);
        let story = InsideWatcher {
            server,
            watcher: number,
            connection: number,
            client: client.into(),
            resource: "configmaps".into(),
            waiting,
            slots: 100,
            is_blocking: false,
            from_etcd: None,
        };
        self.inside(s, story);
    }

    fn watcher_ended(&mut self, s: f64, watcher: u64) {
        self.inside(s, InsideWatcherEnded { watcher });
    }

    fn started(&mut self, s: f64, client: &str, program: &str) {
        let client = Text::from(client);
        let started = ClientStarted {
            client: client.clone(),
            program: program.into(),
            version: None,
        };
        self.event(s, started);
        let request = "GET /api/v1/namespaces/shop/configmaps?watch=true".to_owned();
        self.event(s, ClientRequest { client, request });
    }

    /// Returns the frames of entries `from..to`: an opening, then its segments.
    fn frames(&self, from: usize, to: usize) -> Vec<Vec<u8>> {
        let (mut state, mut layers) = (State::default(), Layers::default());
        for entry in &self.0[..from] {
            match entry {
                Entry::Record(record) => state.apply(record),
                Entry::Inside(record) => state.pass(record.seq, record.at),
            }
            layers.apply(entry);
        }
        let fold = Fold::new(&state, &layers);
        let (mut writer, opening) = ChapterWriter::open("log".into(), "e1".into(), fold);
        let mut frames = vec![opening];
        for run in self.0[from..to].chunks(3) {
            for entry in run {
                match entry {
                    Entry::Record(record) => writer.push(record),
                    Entry::Inside(record) => writer.push_inside(record),
                }
            }
            frames.extend(writer.seal());
        }
        frames
    }

    fn send(&self, store: &mut Store, from: usize) {
        let frames = self.frames(from, self.0.len());
        store.snapshot(&frames[0]).unwrap();
        for frame in &frames[1..] {
            store.segment(frame).unwrap();
        }
    }

    /// Returns a log with etcd at revision 100.
    fn begun() -> Self {
        let mut story = Self::default();
        let etcd = InsideEtcd {
            revision: 100,
            compacted: 40,
            has_leader: true,
        };
        story.inside(0.0, etcd);
        story
    }

    fn store(&self) -> Store {
        let mut store = Store::default();
        self.send(&mut store, 0);
        store
    }
}

/// Returns a log of three configmaps. One is deleted; the informer receives the event, and the naive loop does not.
fn reported() -> (InsideLog, Seq) {
    let mut story = InsideLog::begun();
    for (s, revision, name) in [(0.3, 101, "a"), (0.4, 102, "b"), (0.5, 103, "c")] {
        story.write(s, ChangeType::Added, name, revision);
    }
    let clients = [
        (1.0, "informer", "informer"),
        (1.2, "naive", "resume-from-last-event"),
    ];
    for (s, client, program) in clients {
        story.started(s, client, program);
        let held = [("a", 101), ("b", 102), ("c", 103)];
        story.report(s + 0.1, client, "watching", 103, &held);
    }
    story.write(10.0, ChangeType::Modified, "a", 104);
    for client in ["informer", "naive"] {
        story.report(
            10.01,
            client,
            "watching",
            104,
            &[("a", 104), ("b", 102), ("c", 103)],
        );
    }
    story.report(
        15.0,
        "naive",
        "sleeping",
        104,
        &[("a", 104), ("b", 102), ("c", 103)],
    );
    let deleted = story.write(20.0, ChangeType::Deleted, "b", 105);
    story.report(24.0, "informer", "watching", 105, &[("a", 104), ("c", 103)]);
    (story, deleted)
}

/// Returns a log of two servers that hold a and b, and a client that watches the first from 1 s on.
fn two_servers() -> InsideLog {
    let mut story = InsideLog::begun();
    for (revision, name) in [(101, "a"), (102, "b")] {
        story.written(0.1, ChangeType::Added, name, revision);
    }
    for server in [0, 1] {
        story.cached(0.2, server, 102);
        for (revision, name) in [(101, "a"), (102, "b")] {
            story.held(0.2, server, name, Some(revision));
        }
    }
    story.started(1.0, "informer", "informer");
    story.watcher(1.0, 1, 0, "informer/1.36", 0);
    story.report(1.1, "informer", "watching", 102, &[("a", 101), ("b", 102)]);
    story
}

/// Returns the words beside crosses, from top to bottom, each with the name of its row.
fn crosses(rows: &Rows, scene: &Scene) -> Vec<(String, String)> {
    let texts = scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Text(text) if text.ink == Token::Error && text.weight == 600 => {
                let row = rows.at(text.y - Px::whole(4))?;
                Some((format!("{}{}", row.prefix, row.name), text.text.clone()))
            }
            _ => None,
        });
    texts.collect()
}

/// Returns the corners of the lines in a colour with a width, in 1/64 px.
fn lines(scene: &Scene, ink: Token, width: Px) -> Vec<Vec<(Px, Px)>> {
    let strokes = scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Path {
                steps,
                stroke: Some(stroke),
                ..
            } if (stroke.ink, stroke.width) == (ink, width) => {
                let corners = scene.steps[steps.start as usize..steps.end as usize]
                    .iter()
                    .filter_map(|step| match *step {
                        Step::Move(x, y) | Step::Line(x, y) => Some((x, y)),
                        _ => None,
                    });
                Some(corners.collect())
            }
            _ => None,
        });
    strokes.collect()
}

/// Like `reported`, but both programs have a connection. That of the naive loop is cut, and its next one never gets an
/// answer. That of the informer is idle at the end. A client that is no program has two.
fn connected() -> InsideLog {
    let (mut story, _) = reported();
    let naive = Some("naive/0.0");
    for (s, number, client, to, way) in [
        (25.0, 1, None, (0, 0), Way::Open),
        (25.1, 1, Some("informer/1.36"), (0, 1), Way::Open),
        (25.1, 2, naive, (0, 1), Way::Open),
        (26.0, 3, Some("kubectl/1.36"), (0, 1), Way::Open),
        (26.0, 4, Some("kubectl/1.36"), (0, 1), Way::Open),
        (30.0, 2, naive, (0, 1), Way::Cut),
        (30.1, 2, None, (0, 0), Way::Closed),
        (31.0, 5, naive, (1, 1), Way::Open),
        (33.0, 3, None, (0, 0), Way::Closed),
        (35.0, 5, naive, (1, 1), Way::Stalled),
        (36.0, 1, Some("informer/1.36"), (0, 0), Way::Open),
    ] {
        story.connection(s, number, client, to, way);
    }
    story
}

fn lanes() -> Lanes {
    let mut lanes = Lanes::showing_all();
    lanes.records = Some(&RECORDS.rows);
    lanes
}

fn drawn(store: &Store, view: &View) -> (Rows, Scene) {
    drawn_with(store, view, None)
}

fn drawn_with(store: &Store, view: &View, record: Option<RecordId>) -> (Rows, Scene) {
    drawn_by(store, view, record, Ways::All)
}

fn drawn_by(store: &Store, view: &View, record: Option<RecordId>, ways: Ways) -> (Rows, Scene) {
    let mut lanes = lanes();
    let now = at(40.0);
    let rows = lanes.rows(store, view, now);
    let picture = Picture {
        height: Px::whole(600),
        record,
        ways,
        ..Picture::new(store, &rows, view, now)
    };
    let scene = draw::lanes(&picture);
    (rows, scene)
}

fn view() -> View {
    View::between(START, at(60.0), 1_200.0)
}

/// Returns the picture of docs/page.md that shows the inside of a simulated cluster: a write that never came to one of
/// two clients.
pub(crate) fn picture_of_the_page() -> Scene {
    let (story, _) = reported();
    let store = story.store();
    let view = View::between(at(5.0), at(35.0), 544.0);
    let rows = lanes().rows(&store, &view, at(35.0));
    let picture = Picture {
        height: rows.height,
        ways: Ways::All,
        ..Picture::new(&store, &rows, &view, at(35.0))
    };
    watchscope_timeline::picture::small(&picture)
}

#[test]
fn a_real_cluster_has_no_layers() {
    let mut log = Log::new("e1");
    log.opened(1.0, "shop/pods", 1, &["web-0"], 100);
    let store = log.store();
    let (rows, _) = drawn(&store, &view());
    assert!(
        !rows
            .rows
            .iter()
            .any(|row| matches!(row.id, LaneId::Layer(_)))
    );
    assert_eq!(belief_table(&store, rows.rows[0].id, None), None);
}

#[test]
fn the_layers_stand_above_the_watches_from_etcd_to_the_clients() {
    let (story, _) = reported();
    let (rows, _) = drawn(&story.store(), &view());
    let names: Vec<String> = rows
        .rows
        .iter()
        .map(|row| format!("{}{}", row.prefix, row.name))
        .collect();
    assert_eq!(
        names,
        [
            "Inside the cluster",
            "etcd",
            "apiserver 0",
            "cache\u{a0}configmaps",
            "client\u{a0}informer",
            "client\u{a0}naive"
        ]
    );
    let marked: Vec<bool> = rows.rows.iter().map(|row| row.mark.is_some()).collect();
    assert_eq!(
        marked,
        [false, false, false, false, false, true],
        "the ghost"
    );
}

#[test]
fn a_clients_connections_hang_under_it_and_those_of_others_stand_alone() {
    let store = connected().store();
    let (rows, scene) = drawn(&store, &view());
    let names: Vec<String> = rows.rows[4..]
        .iter()
        .map(|row| format!("{}{}", row.prefix, row.name))
        .collect();
    assert_eq!(
        names,
        [
            "client\u{a0}informer",
            "connection",
            "client\u{a0}naive",
            "connection",
            "connections\u{a0}kubectl"
        ]
    );
    let dump = scene.dump();
    let (conn, idle) = ("conn 1 → apiserver 0", "\"conn 1\"");
    for words in [conn, idle, "conn 4 → apiserver 0", "\"stalled\""] {
        assert!(dump.contains(words), "{words}: {dump}");
    }
    let LaneId::Layer(naive) = rows.rows[6].id else {
        panic!("a layer")
    };
    let mut lanes = lanes();
    lanes.set_layer_open(&store, naive, false);
    let closed = lanes.rows(&store, &view(), at(40.0));
    assert_eq!(closed.rows.len(), rows.rows.len() - 1);
    assert_eq!(closed.rows[6].expanded, Some(false));
}

#[test]
fn a_connection_is_torn_where_it_is_cut_and_not_where_its_client_closed_it() {
    let store = connected().store();
    let (rows, scene) = drawn(&store, &view());
    let torn = |row: usize| {
        let (y, lane) = (rows.rows[row].y, rows.rows[row].id);
        let hits = scene.hits.iter().filter(|hit| hit.lane == lane);
        let drawn: Vec<_> = hits.filter(|hit| hit.drawn.is_some()).collect();
        assert!(drawn.iter().all(|hit| hit.area.y >= y));
        drawn.len()
    };
    assert_eq!([5, 7, 8].map(torn), [0, 1, 0]);
}

#[test]
fn a_heading_that_is_closed_hides_its_layers() {
    let (story, _) = reported();
    let store = story.store();
    let mut lanes = lanes();
    let LaneId::Layer(heading) = lanes.rows(&store, &view(), at(40.0)).rows[0].id else {
        panic!("the heading comes first")
    };
    lanes.toggle_layer(heading);
    assert_eq!(lanes.rows(&store, &view(), at(40.0)).rows.len(), 1);
    lanes.set_layer_open(&store, heading, true);
    assert_eq!(lanes.rows(&store, &view(), at(40.0)).rows.len(), 6);
}

#[test]
fn a_write_that_never_came_to_a_client_ends_in_a_cross_and_leaves_a_ghost() {
    let (story, _) = reported();
    let (_, scene) = drawn(&story.store(), &view());
    let dump = scene.dump();
    assert!(
        dump.contains("delete of b, revision 105, never came here"),
        "{dump}"
    );
    assert_eq!(
        dump.matches("never came here").count(),
        1,
        "the first one only"
    );
    assert!(dump.contains("1 ghost since 09:31:20"), "{dump}");
    assert!(dump.contains("window from 100"), "{dump}");
    // The words under the ghost keep clear of its box: a line of 11 px reaches 8 px over its baseline and 2 px under
    // it.
    let boxes = scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Rect {
                area,
                stroke: Some(stroke),
                ..
            } if stroke.ink == Token::Divergence => Some((area.y, area.bottom())),
            _ => None,
        });
    let boxes: Vec<(Px, Px)> = boxes.collect();
    let lines = scene
        .primitives
        .iter()
        .filter_map(|primitive| match primitive {
            Primitive::Text(line) if line.text.starts_with("window from") => Some(line.y),
            _ => None,
        });
    let (mut checked, apart) = (0, Px::whole(3));
    for baseline in lines {
        let (top, bottom) = (baseline - Px::whole(8), baseline + Px::whole(2));
        let near =
            |edges: &&(Px, Px)| edges.0 < bottom + Px::whole(20) && top < edges.1 + Px::whole(20);
        for edges in boxes.iter().filter(near) {
            checked += 1;
            let is_clear = edges.1 + apart <= top || bottom + apart <= edges.0;
            assert!(is_clear, "{baseline:?} {edges:?}");
        }
    }
    assert!(checked > 0, "{boxes:?}");
}

#[test]
fn a_client_that_keeps_no_revision_has_come_as_far_as_its_newest_object() {
    let (mut story, _) = reported();
    let believes = |story: &mut InsideLog, s: f64, client: &str, held: &str| {
        let belief = format!(r#"[{{"resource":"configmaps","held":{{{held}}}}}]"#);
        let report = ClientReport {
            client: client.into(),
            phase: "watching".into(),
            iterations: 1,
            handled: 1,
            belief: Some(belief),
        };
        story.event(s, report);
    };
    for client in ["deaf", "hearing"] {
        story.started(24.5, client, "watch-deployment v1");
        believes(&mut story, 25.0, client, r#""shop/c":"uid-1@103""#);
    }
    story.write(26.0, ChangeType::Modified, "c", 106);
    for client in ["deaf", "hearing"] {
        believes(&mut story, 26.1, client, r#""shop/c":"uid-1@106""#);
    }
    story.write(27.0, ChangeType::Deleted, "c", 107);
    believes(&mut story, 27.1, "hearing", "");
    story.report(27.1, "informer", "watching", 107, &[("a", 104)]);
    let store = story.store();
    let stopped = |ways| -> Vec<String> {
        let (_, scene) = drawn_by(&store, &view(), None, ways);
        let dump = scene.dump();
        dump.lines()
            .filter(|line| line.contains("never came here"))
            .map(|line| line.split('"').nth(1).unwrap_or_default().to_owned())
            .collect()
    };
    // The first cross belongs to the deaf client, the others to the naive loop. Outside a lesson only its first is
    // drawn. Its second has no room for words between two crosses.
    let stops = [
        "delete of c, revision 107, never came here",
        "delete of b, revision 105, never came here",
        "delete of c, revision 107, never came here",
    ];
    assert_eq!(stopped(Ways::Stopped), stops[..2]);
    assert_eq!(stopped(Ways::All), stops);
}

#[test]
fn a_later_resource_version_is_no_arrival_and_neither_is_a_list_or_another_object() {
    let deleted = || {
        let mut story = two_servers();
        story.watcher_ended(4.0, 1);
        story.written(5.0, ChangeType::Deleted, "a", 103);
        story.cached(5.001, 0, 103);
        story.held(5.001, 0, "a", None);
        story
    };

    type Change = fn(&mut InsideLog);
    // It watched again, and received a later write.
    let hears_later: Change = |story| {
        story.watcher(9.0, 2, 0, "informer/1.36", 0);
        story.written(10.0, ChangeType::Modified, "b", 104);
        story.cached(10.001, 0, 104);
        story.held(10.001, 0, "b", Some(104));
        story.report(10.1, "informer", "watching", 104, &[("a", 101), ("b", 104)]);
    };
    // It listed, so no event delivered the deletion.
    let lists: Change = |story| {
        story.report(8.9, "informer", "listing", 102, &[("a", 101), ("b", 102)]);
        story.report(
            9.0,
            "informer",
            "connecting",
            103,
            &[("a", 101), ("b", 102)],
        );
        story.report(9.1, "informer", "watching", 103, &[("b", 102)]);
    };
    // Another object of that name replaced the deleted one.
    let is_put_over: Change = |story| {
        let belief = r#"[{"resource":"configmaps","resourceVersion":"104","objects":2,
            "held":{"shop/a":"uid-2@104","shop/b":"uid-1@102"}}]"#;
        story.watcher(9.0, 2, 0, "informer/1.36", 0);
        story.event(
            10.1,
            ClientReport {
                client: "informer".into(),
                phase: "watching".into(),
                iterations: 1,
                handled: 1,
                belief: Some(belief.to_owned()),
            },
        );
    };
    for change in [hears_later, lists, is_put_over] {
        let mut story = deleted();
        change(&mut story);
        let (rows, scene) = drawn(&story.store(), &view());
        let stopped = (
            "stream to\u{a0}informer".to_owned(),
            "delete of a, revision 103, came while no stream was open".to_owned(),
        );
        assert_eq!(crosses(&rows, &scene), [stopped]);
        assert!(
            lines(&scene, Token::Deleted, Px(80)).len() == 1,
            "the dashed one"
        );
    }
    // The opposite case: the stream continues from before the deletion, and delivers it.
    let mut story = deleted();
    story.watcher(9.0, 2, 0, "informer/1.36", 0);
    story.report(9.1, "informer", "watching", 103, &[("b", 102)]);
    let (rows, scene) = drawn(&story.store(), &view());
    assert_eq!(crosses(&rows, &scene), []);
}

#[test]
fn a_process_that_ended_holds_nothing_and_nothing_is_on_its_way_to_it() {
    let (mut story, _) = reported();
    story.event(
        25.0,
        ClientReport {
            client: "naive".into(),
            phase: "failed".into(),
            iterations: 1,
            handled: 1,
            belief: None,
        },
    );
    story.write(30.0, ChangeType::Modified, "c", 106);
    story.report(30.1, "informer", "watching", 106, &[("a", 104), ("c", 106)]);
    let store = story.store();
    let (rows, scene) = drawn(&store, &view());
    let naive = rows.rows.iter().find(|row| &*row.name == "naive").unwrap();
    assert_eq!((naive.mark, naive.count), (None, None));
    // It held the ghost until it ended.
    let ghost = scene
        .primitives
        .iter()
        .find_map(|primitive| match primitive {
            Primitive::Rect {
                area,
                stroke: Some(stroke),
                ..
            } if stroke.ink == Token::Divergence && naive.y < area.y && area.y < naive.bottom() => {
                Some((area.x, area.right()))
            }
            _ => None,
        });
    assert_eq!(ghost, Some((view().x(at(20.0)), view().x(at(25.0)))));
    assert_eq!(scene.dump().matches("never came here").count(), 1);
    let sides = belief_table(&store, LaneId::Findings, None).unwrap();
    let last = sides.sentences.last().unwrap();
    assert_eq!(
        (&*last.words, last.differs),
        (
            "naive (resume-from-last-event) has failed: its process has ended and holds nothing.",
            false
        )
    );
    let cells = sides.rows.iter().filter_map(|row| row.cells.last());
    assert!(cells.clone().count() > 0);
    for cell in cells {
        assert_eq!((&*cell.words, cell.difference), ("ended", None));
    }
}

#[test]
fn a_write_travels_through_the_server_of_the_clients_stream() {
    let mut story = two_servers();
    // The load balancer moves it to the second server, whose cache makes no progress from then on.
    story.watcher_ended(5.0, 1);
    story.watcher(5.2, 2, 1, "informer/1.36", 0);
    story.written(8.0, ChangeType::Deleted, "a", 103);
    story.cached(8.001, 0, 103);
    story.held(8.001, 0, "a", None);
    let (rows, scene) = drawn(&story.store(), &view());
    let server = rows
        .rows
        .iter()
        .position(|row| &*row.name == "apiserver 1")
        .unwrap();
    let cross = crosses(&rows, &scene);
    let of_second = format!(
        "{}{}",
        rows.rows[server + 1].prefix,
        rows.rows[server + 1].name
    );
    assert_eq!(
        cross,
        [(
            of_second,
            "delete of a, revision 103, never came to this cache".to_owned()
        )]
    );
    let y = scene
        .primitives
        .iter()
        .find_map(|primitive| match primitive {
            Primitive::Text(text) if text.text.contains("103, never") => Some(text.y),
            _ => None,
        });
    assert_eq!(
        rows.at(y.unwrap()).map(|row| row.id),
        Some(rows.rows[server + 1].id)
    );
}

#[test]
fn a_write_that_a_cache_passed_over_stops_there_although_later_ones_came() {
    let mut story = two_servers();
    story.written(5.0, ChangeType::Deleted, "a", 103);
    story.written(6.0, ChangeType::Modified, "b", 104);
    story.cached(6.001, 0, 104);
    story.held(6.001, 0, "b", Some(104));
    story.report(6.1, "informer", "watching", 104, &[("a", 101), ("b", 104)]);
    let store = story.store();
    let (rows, scene) = drawn(&store, &view());
    let stopped = (
        "cache\u{a0}configmaps",
        "delete of a, revision 103, never came to this cache",
    );
    assert_eq!(
        crosses(&rows, &scene),
        [(stopped.0.to_owned(), stopped.1.to_owned())]
    );
}

#[test]
fn a_write_lost_on_the_stream_stops_there_and_says_how() {
    let deleted = |story: &mut InsideLog| {
        story.written(5.0, ChangeType::Deleted, "a", 103);
        story.cached(5.001, 0, 103);
        story.held(5.001, 0, "a", None);
    };
    type Change = fn(&mut InsideLog);
    let (nothing, stalls, fills, ends): (Change, Change, Change, Change) = (
        |_| {},
        |story| story.connection(4.0, 1, Some("informer/1.36"), (0, 1), Way::Stalled),
        |story| story.watcher(5.001, 1, 0, "informer/1.36", 7),
        |story| story.watcher_ended(5.2, 1),
    );
    let away: Change = |story| story.watcher_ended(4.0, 1);
    let stream = "stream to\u{a0}informer";
    for (before, after, place, words) in [
        (
            nothing,
            nothing,
            "client\u{a0}informer",
            "delete of a, revision 103, never came here",
        ),
        (
            stalls,
            nothing,
            stream,
            "delete of a, revision 103, is held on the way",
        ),
        (
            nothing,
            fills,
            stream,
            "delete of a, revision 103, waits in the buffer",
        ),
        (
            nothing,
            ends,
            stream,
            "delete of a, revision 103, was lost with the stream",
        ),
        (
            away,
            nothing,
            stream,
            "delete of a, revision 103, came while no stream was open",
        ),
    ] {
        let mut story = two_servers();
        before(&mut story);
        deleted(&mut story);
        after(&mut story);
        let (rows, scene) = drawn(&story.store(), &view());
        let cross = crosses(&rows, &scene);
        assert_eq!(cross, [(place.to_owned(), words.to_owned())]);
    }
}

#[test]
fn the_whole_propagation_of_the_selected_write_stands_out_with_its_delays() {
    let mut story = two_servers();
    let write = story.written(5.0, ChangeType::Modified, "b", 103);
    story.cached(6.0, 0, 103);
    story.held(6.0, 0, "b", Some(103));
    story.report(9.0, "informer", "watching", 103, &[("a", 101), ("b", 103)]);
    let store = story.store();
    let id = RecordId {
        epoch: 0,
        seq: write,
    };
    let (_, plain) = drawn(&store, &view());
    let (rows, scene) = drawn_with(&store, &view(), Some(id));
    let wide = Px(144);
    assert_eq!(lines(&plain, Token::Modified, wide), Vec::<Vec<_>>::new());
    let [way] = &lines(&scene, Token::Modified, wide)[..] else {
        panic!("one way")
    };
    let through: Vec<String> = way
        .iter()
        .map(|&(_, y)| rows.at(y).map_or(String::new(), |row| row.name.to_string()))
        .collect();
    // The cache, then its stream to the client, then the client.
    assert_eq!(through, ["etcd", "configmaps", "informer", "informer"]);
    let dump = scene.dump();
    for delay in ["\"+1 s\"", "\"+4 s\""] {
        assert!(dump.contains(delay), "{delay}: {dump}");
    }
    let described = words::describe_record(&store, rows.rows[1].id, id);
    let ways: Vec<&str> = described
        .fields
        .iter()
        .filter(|(name, _)| *name == "way to")
        .map(|(_, way)| &**way)
        .collect();
    assert_eq!(
        ways,
        ["informer: cache of apiserver 0 after 1 s, stream after 1 s, client after 4 s"]
    );
}

#[test]
fn words_about_propagations_do_not_overlap() {
    let mut story = two_servers();
    // The writes to both go through the same cache.
    for (number, client) in [(2, "second"), (3, "third")] {
        story.started(1.2, client, "informer");
        story.watcher(1.2, number, 0, &format!("{client}/1.36"), 0);
        story.report(1.3, client, "watching", 102, &[("a", 101), ("b", 102)]);
    }
    let write = story.written(5.0, ChangeType::Modified, "b", 103);
    let lost = story.written(5.2, ChangeType::Deleted, "a", 104);
    story.cached(5.4, 0, 103);
    story.held(5.4, 0, "b", Some(103));
    for client in ["informer", "second", "third"] {
        story.report(5.6, client, "watching", 103, &[("a", 101), ("b", 103)]);
    }
    let store = story.store();
    for seq in [write, lost] {
        let id = RecordId { epoch: 0, seq };
        for width in [300.0, 420.0, 1_200.0] {
            let view = View::between(START, at(60.0), width);
            let (_, scene) = drawn_with(&store, &view, Some(id));
            let lines: Vec<_> = scene
                .primitives
                .iter()
                .filter_map(|primitive| match primitive {
                    Primitive::Text(line) => Some(line),
                    _ => None,
                })
                .collect();
            let edges = |line: &TextLine| {
                let long = text_width(&line.text, line.size, line.weight);
                match line.align {
                    Align::Start => (line.x, line.x + long),
                    Align::Middle => (line.x - long.half(), line.x + long.half()),
                    Align::End => (line.x - long, line.x),
                }
            };
            for (place, line) in lines.iter().enumerate() {
                let (left, right) = edges(line);
                for other in &lines[..place] {
                    let (from, to) = edges(other);
                    let is_beside = left < to + Px::whole(5) && from < right + Px::whole(5);
                    let is_level = (line.y - other.y).max(other.y - line.y) < Px::whole(10);
                    assert!(!(is_beside && is_level), "{width}: {line:?} and {other:?}");
                }
            }
        }
    }
}

#[test]
fn at_most_240_propagations_are_drawn_6_px_apart() {
    let mut story = two_servers();
    let names: Vec<String> = (0..10).map(|n| format!("client{n}")).collect();
    for name in &names {
        story.started(1.2, name, "informer");
        story.report(1.2, name, "watching", 102, &[("b", 102)]);
    }
    for n in 0..200_u32 {
        let (s, revision) = (2.0 + 0.05 * f64::from(n), 103 + u64::from(n));
        story.written(s, ChangeType::Modified, "b", revision);
    }
    for name in &names {
        story.report(20.0, name, "watching", 302, &[("b", 302)]);
    }
    let (_, scene) = drawn(&story.store(), &view());
    let ways = lines(&scene, Token::Modified, Px(80));
    // 10 s are 200 px here, which has room for 34 lines 6 px apart to each client. At most 240 are drawn in all.
    assert_eq!(ways.len(), 240);
    let to_one = ways
        .iter()
        .filter(|way| way.last().unwrap().1 == ways[0].last().unwrap().1);
    assert_eq!(to_one.count(), 34);
}

#[test]
fn outside_a_lesson_only_stopped_and_selected_propagations_are_drawn() {
    let mut story = two_servers();
    story.started(1.2, "client0", "informer");
    story.report(1.2, "client0", "watching", 102, &[("b", 102)]);
    for n in 0..20_u32 {
        let (s, revision) = (2.0 + 0.5 * f64::from(n), 103 + u64::from(n));
        story.written(s, ChangeType::Modified, "b", revision);
    }
    story.report(20.0, "client0", "watching", 122, &[("b", 122)]);
    let store = story.store();
    let drawn = |ways| {
        let (_, scene) = drawn_by(&store, &view(), None, ways);
        let plain = Some(Stroke::solid(Token::Modified, Px(80)));
        let is_plain = |primitive: &&Primitive| match primitive {
            Primitive::Path { stroke, .. } => *stroke == plain,
            _ => false,
        };
        scene.primitives.iter().filter(is_plain).count()
    };
    assert!(drawn(Ways::All) > 10, "{}", drawn(Ways::All));
    assert_eq!(drawn(Ways::Stopped), 0);
}

#[test]
fn an_open_cache_has_a_row_for_each_stream_the_slowest_first() {
    let mut story = two_servers();
    for number in 2..14 {
        story.watcher(2.0, number, 0, &format!("other{number:02}/1"), number);
    }
    let store = story.store();
    let (rows, scene) = drawn(&store, &view());
    let streams = rows
        .rows
        .iter()
        .filter(|row| row.kind == RowKind::LayerStream);
    let names: Vec<&str> = streams.map(|row| &*row.name).collect();
    assert_eq!(
        names,
        [
            "other13", "other12", "other11", "other10", "other09", "other08", "other07", "other06"
        ]
    );
    assert!(scene.dump().contains("\"13 of 100 wait\""));
    let place = rows
        .rows
        .iter()
        .position(|row| row.kind == RowKind::LayerStream)
        .unwrap();
    let cache = &rows.rows[place - 1];
    assert_eq!(cache.expanded, Some(true));
    assert_eq!(
        words::accessible(Known::now(&store, at(40.0)), cache.id),
        "At revision 102, 2 objects held, window from revision 100. It feeds 13 watches: other13 13 of 100, \
         other12 12 of 100, other11 11 of 100, other10 10 of 100, other09 9 of 100, other08 8 of 100, \
         other07 7 of 100, other06 6 of 100, 5 more."
    );
    // The record of a cache has the events that waited at that time.
    story.cached(3.0, 0, 103);
    let id = RecordId {
        epoch: 0,
        seq: Seq(story.0.len() as u64),
    };
    let described = words::describe_record(&story.store(), cache.id, id);
    let mut waits = described
        .fields
        .iter()
        .filter(|(name, _)| *name == "waits for");
    assert_eq!(
        waits.next().map(|(_, words)| &**words),
        Some("other13 13 of 100")
    );
    let LaneId::Layer(id) = cache.id else {
        panic!("a layer")
    };
    let mut lanes = lanes();
    lanes.set_layer_open(&store, id, false);
    let closed = lanes.rows(&store, &view(), at(40.0));
    assert_eq!(closed.rows.len() + names.len(), rows.rows.len());
}

#[test]
fn a_crowd_of_clients_is_one_row_that_carries_their_ghosts_until_it_is_opened() {
    let (mut story, _) = reported();
    for number in 0..12 {
        let name = format!("crowd-{number}");
        story.started(2.0, &name, "watch-deployment final");
        let (phase, held) = match number {
            11 => ("sleeping", &[("b", 102)][..]),
            _ => ("watching", &[][..]),
        };
        story.report(12.0, &name, phase, 105, held);
    }
    let finding = Finding {
        code: "F03".into(),
        candidates: Vec::new(),
        name: "return on a closed channel".into(),
        severity: Severity::Error,
        state: Standing::Raised,
        certainty: Certainty::Definite,
        watch: None,
        server: None,
        evidence: vec![Seq(1)],
        summary: "It returned.".into(),
        client: Some("crowd-3".into()),
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
    };
    story.event(31.0, finding);
    let store = story.store();
    let (rows, scene) = drawn(&store, &view());
    let names = |rows: &Rows| -> Vec<String> {
        let rows = rows.rows.iter();
        rows.map(|row| format!("{}{}", row.prefix, row.name))
            .collect()
    };
    let crowd = "clients\u{a0}crowd-0 … 11".to_owned();
    let place = names(&rows).iter().position(|name| *name == crowd).unwrap();
    let row = &rows.rows[place];
    assert_eq!((row.count, row.expanded), (Some(12), Some(false)));
    assert_eq!(row.mark.map(|mark| mark.0), Some(Glyph::Ghost));
    let badge = Some(("F03".into(), Severity::Error));
    assert_eq!(row.finding, badge);
    assert!(
        scene.dump().contains("11 of 12 watching"),
        "{}",
        scene.dump()
    );
    let story = belief_table(&store, LaneId::Findings, None).unwrap();
    let columns = [
        "etcd",
        "apiserver 0",
        "informer",
        "naive",
        "11 of crowd-0 … 11",
        "crowd-11",
    ];
    assert_eq!(story.columns, columns);
    let words = story.sentences[4..].iter().map(|sentence| &*sentence.words);
    assert_eq!(
        words.collect::<Vec<_>>(),
        [
            "11 clients of crowd-0 … 11, with 0 objects: it lacks 2 (a, c).",
            "crowd-11 (watch-deployment final) is sleeping, with 1 object: 1 of them is no longer in etcd (b); \
             it lacks 2 (a, c).",
        ]
    );
    let LaneId::Layer(id) = row.id else {
        panic!("a layer")
    };
    let mut lanes = lanes();
    lanes.toggle_layer(id);
    let open = lanes.rows(&store, &view(), at(40.0));
    let badged = open.rows.iter().filter(|row| row.finding == badge);
    let badged: Vec<&str> = badged.map(|row| &*row.name).collect();
    assert_eq!(badged, ["crowd-0 … 11", "crowd-3"]);
    let open = names(&open);
    let members: Vec<String> = (0..12).map(|n| format!("client\u{a0}crowd-{n}")).collect();
    assert_eq!(open[place + 1..=place + 12], members);
}

#[test]
fn a_client_lacks_no_object_that_it_does_not_watch() {
    let mut story = two_servers();
    for client in ["here", "there"] {
        story.started(1.2, client, "informer");
    }
    let request = "GET /api/v1/namespaces/other/configmaps?watch=true".to_owned();
    let client = "there".into();
    story.event(1.3, ClientRequest { client, request });
    story.report(1.4, "here", "watching", 102, &[]);
    story.report(1.4, "there", "watching", 102, &[]);
    let store = story.store();
    let sides = belief_table(&store, LaneId::Findings, None).unwrap();
    let column = |name: &str| {
        sides
            .columns
            .iter()
            .position(|column| column == name)
            .unwrap()
    };
    let (here, there) = (column("here"), column("there"));
    for row in &sides.rows {
        let missing = Some(Difference::Missing);
        assert_eq!(row.cells[here].difference, missing, "{}", row.name);
        let cell = &row.cells[there];
        assert_eq!((&*cell.words, cell.difference), ("not watched", None));
    }
    assert!(!sides.rows.is_empty());
    let said = &sides.sentences[there];
    assert!(!said.differs, "{}", said.words);
    assert!(
        said.words.ends_with("is watching, and watches other only."),
        "{}",
        said.words
    );
}

#[test]
fn a_loop_without_waits_counts_its_empty_reads_and_one_that_returned_says_since_when() {
    let (mut story, _) = reported();
    let mut report = |s: f64, client: &str, phase: &str, iterations: u64| {
        let report = ClientReport {
            client: client.into(),
            phase: phase.into(),
            iterations,
            handled: 3,
            belief: None,
        };
        story.event(s, report)
    };
    let mut last = Seq(0);
    for second in 0..=10 {
        last = report(
            25.0 + f64::from(second),
            "naive",
            "spinning",
            3 + 100_000 * u64::from(second as u32),
        );
    }
    report(36.0, "informer", "returned", 5);
    let store = story.store();
    let (rows, scene) = drawn(&store, &View::between(at(20.0), at(40.0), 1_200.0));
    let said = crosses(&rows, &scene);
    for words in [
        "reads a dead stream: 1,000,000 turns for 0 bytes, 100,000 a second",
        "returned: silent since 09:31:36, for 4 s",
    ] {
        assert!(
            said.iter().any(|said| said.1.ends_with(words)),
            "{words}: {said:?}"
        );
    }
    let id = RecordId {
        epoch: 0,
        seq: last,
    };
    assert_eq!(
        words::describe_record(&store, LaneId::Findings, id).what,
        "Client naive is spinning: its loop reads a stream that has ended, 1,000,003 turns so far; it handled 3 events."
    );
}

#[test]
fn each_fact_of_a_layers_tooltip_is_in_a_cell_of_its_row() {
    for story in [reported().0, two_servers(), connected()] {
        let met = crate::table::check_tooltips(&story.store(), &mut lanes(), &view(), at(40.0));
        assert!(met.contains(&watchscope_timeline::table::Kind::Layer));
    }
}

#[test]
fn the_picture_is_the_same_in_whatever_order_the_past_is_loaded() {
    let story = connected();
    let all = story.0.len();
    let whole = drawn(&story.store(), &view());
    for cut in [5, 9, 14, 18, all - 8, all - 4, all - 2] {
        let mut store = Store::default();
        story.send(&mut store, cut);
        for (from, to) in [(cut / 2, cut), (0, cut / 2)] {
            let chapter = story.frames(from, to).concat();
            store.chapter(&chapter).unwrap();
        }
        let (rows, scene) = drawn(&store, &view());
        // Layers are numbered in the order in which they are met.
        let named = |rows: &Rows| -> Vec<_> {
            let rows = rows.rows.iter();
            rows.map(|row| (row.name.clone(), row.y, row.count, row.mark))
                .collect()
        };
        assert_eq!(named(&rows), named(&whole.0), "cut at {cut}");
        assert_eq!(scene.dump(), whole.1.dump(), "cut at {cut}");
    }
}

#[test]
fn at_any_record_the_beliefs_are_those_of_that_record() {
    let (story, deleted) = reported();
    let store = story.store();
    let at_seq = |seq: u64| {
        let id = RecordId {
            epoch: 0,
            seq: Seq(seq),
        };
        belief_table(&store, LaneId::Findings, Some(id)).unwrap()
    };
    let before = at_seq(deleted.0 - 1);
    assert!(before.sentences.iter().all(|sentence| !sentence.differs));
    assert_eq!(before.of, "configmaps in shop");
    assert_eq!(before.columns, ["etcd", "apiserver 0", "informer", "naive"]);
    // The cache receives it 1 ms later; the clients have not received it yet.
    let then = at_seq(deleted.0);
    let row = then.rows.first().unwrap();
    assert_eq!(row.name, "shop/b");
    assert_eq!(row.cells[0].words, "gone");
    assert!(
        row.cells[1..]
            .iter()
            .all(|cell| cell.difference == Some(Difference::Ghost))
    );
    let now = at_seq(story.0.len() as u64);
    let words: Vec<&str> = now.sentences.iter().map(|story| &*story.words).collect();
    assert_eq!(
        words,
        [
            "etcd is at revision 105 and holds 2 objects.",
            "The watch cache of apiserver 0 is at revision 105, with 2 objects: all as in etcd.",
            "informer (informer) is watching, with 2 objects: all as in etcd.",
            "naive (resume-from-last-event) is sleeping, with 3 objects: 1 of them is no longer in etcd (b).",
        ]
    );
    assert_eq!(
        belief_table(&store, LaneId::Findings, None)
            .unwrap()
            .sentences,
        now.sentences
    );
}
