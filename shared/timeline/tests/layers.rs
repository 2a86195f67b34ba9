//! The layers of a simulated cluster: rows only where one tells of itself, ghosts, ways that stopped and connections
//! that were cut, the same picture in whatever order chapters come, and what each side believes at any record.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{Log, START, at, object};
use watchscope_model::codec::{ChapterWriter, Fold};
use watchscope_model::event::*;
use watchscope_model::inside::*;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::draw::{self, RECORDS};
use watchscope_timeline::sides::{Difference, sides};
use watchscope_timeline::{LaneId, Lanes, Picture, Px, RecordId, Rows, Scene, Store, View};

/// A log with an inside, by hand.
#[derive(Default)]
struct Told(Vec<Entry>);

impl Told {
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
        let told = InsideConnection {
            connection: number,
            client: client.map(Into::into),
            server,
            way,
            streams,
        };
        self.inside(s, told);
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

    /// The frames of entries `from..to`: an opening, then its segments.
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

    fn store(&self) -> Store {
        let mut store = Store::default();
        self.send(&mut store, 0);
        store
    }
}

/// Three configmaps; one is deleted, which the informer hears of and the naive loop does not.
fn told() -> (Told, Seq) {
    let mut told = Told::default();
    let etcd = InsideEtcd {
        revision: 100,
        compacted: 40,
        has_leader: true,
    };
    told.inside(0.0, etcd);
    for (s, revision, name) in [(0.3, 101, "a"), (0.4, 102, "b"), (0.5, 103, "c")] {
        told.write(s, ChangeType::Added, name, revision);
    }
    let clients = [
        (1.0, "informer", "informer"),
        (1.2, "naive", "resume-from-last-event"),
    ];
    for (s, client, program) in clients {
        told.started(s, client, program);
        let held = [("a", 101), ("b", 102), ("c", 103)];
        told.report(s + 0.1, client, "watching", 103, &held);
    }
    told.write(10.0, ChangeType::Modified, "a", 104);
    for client in ["informer", "naive"] {
        told.report(
            10.01,
            client,
            "watching",
            104,
            &[("a", 104), ("b", 102), ("c", 103)],
        );
    }
    told.report(
        15.0,
        "naive",
        "sleeping",
        104,
        &[("a", 104), ("b", 102), ("c", 103)],
    );
    let deleted = told.write(20.0, ChangeType::Deleted, "b", 105);
    told.report(24.0, "informer", "watching", 105, &[("a", 104), ("c", 103)]);
    (told, deleted)
}

/// The same; both programs have a connection, that of the naive loop is cut, and its next is never answered. That of the
/// informer is idle at the end. A client that is no program has two.
fn connected() -> Told {
    let (mut told, _) = told();
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
        told.connection(s, number, client, to, way);
    }
    told
}

fn lanes() -> Lanes {
    let mut lanes = Lanes::default();
    lanes.records = Some(RECORDS);
    lanes
}

fn drawn(store: &Store, view: &View) -> (Rows, Scene) {
    let mut lanes = lanes();
    let now = at(40.0);
    let rows = lanes.rows(store, view, now);
    let picture = Picture {
        store,
        rows: &rows,
        view,
        now,
        connected: true,
        top: Px::ZERO,
        height: Px::whole(600),
        selected: None,
        records: Some(RECORDS),
    };
    let scene = draw::lanes(&picture);
    (rows, scene)
}

fn view() -> View {
    View::between(START, at(60.0), 1_200.0)
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
    assert_eq!(sides(&store, rows.rows[0].id, None), None);
}

#[test]
fn the_layers_stand_above_the_watches_from_etcd_to_the_clients() {
    let (told, _) = told();
    let (rows, _) = drawn(&told.store(), &view());
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
    let (told, _) = told();
    let store = told.store();
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
    let (told, _) = told();
    let (_, scene) = drawn(&told.store(), &view());
    let dump = scene.dump();
    assert!(dump.contains("105 never came here"), "{dump}");
    assert_eq!(
        dump.matches("never came here").count(),
        1,
        "the first one only"
    );
    assert!(dump.contains("1 ghost since 09:31:20"), "{dump}");
    assert!(dump.contains("window from 100"), "{dump}");
}

#[test]
fn a_client_that_keeps_no_revision_came_as_far_as_what_it_holds() {
    let (mut told, _) = told();
    let believes = |told: &mut Told, s: f64, client: &str, held: &str| {
        let belief = format!(r#"[{{"resource":"configmaps","held":{{{held}}}}}]"#);
        let report = ClientReport {
            client: client.into(),
            phase: "watching".into(),
            iterations: 1,
            handled: 1,
            belief: Some(belief),
        };
        told.event(s, report);
    };
    for client in ["deaf", "hearing"] {
        told.started(24.5, client, "watch-deployment v1");
        believes(&mut told, 25.0, client, r#""shop/c":"uid-1@103""#);
    }
    told.write(26.0, ChangeType::Modified, "c", 106);
    for client in ["deaf", "hearing"] {
        believes(&mut told, 26.1, client, r#""shop/c":"uid-1@106""#);
    }
    told.write(27.0, ChangeType::Deleted, "c", 107);
    believes(&mut told, 27.1, "hearing", "");
    told.report(27.1, "informer", "watching", 107, &[("a", 104)]);
    let (_, scene) = drawn(&told.store(), &view());
    let dump = scene.dump();
    let stopped: Vec<&str> = dump
        .lines()
        .filter(|line| line.contains("never came here"))
        .map(|line| line.split('"').nth(1).unwrap_or_default())
        .collect();
    // The second is the naive loop's.
    assert_eq!(stopped, ["107 never came here", "105 never came here"]);
}

#[test]
fn the_picture_is_the_same_in_whatever_order_the_past_is_loaded() {
    let told = connected();
    let all = told.0.len();
    let whole = drawn(&told.store(), &view());
    for cut in [5, 9, 14, 18, all - 8, all - 4, all - 2] {
        let mut store = Store::default();
        told.send(&mut store, cut);
        for (from, to) in [(cut / 2, cut), (0, cut / 2)] {
            let chapter = told.frames(from, to).concat();
            store.chapter(&chapter).unwrap();
        }
        let (rows, scene) = drawn(&store, &view());
        // Layers are numbered as they are met.
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
fn at_any_record_each_side_holds_what_it_held_then() {
    let (told, deleted) = told();
    let store = told.store();
    let at_seq = |seq: u64| {
        let id = RecordId {
            epoch: 0,
            seq: Seq(seq),
        };
        sides(&store, LaneId::Findings, Some(id)).unwrap()
    };
    let before = at_seq(deleted.0 - 1);
    assert!(before.sentences.iter().all(|sentence| !sentence.differs));
    assert_eq!(before.of, "configmaps in shop");
    assert_eq!(before.columns, ["etcd", "apiserver 0", "informer", "naive"]);
    // The cache hears of it a millisecond later, the clients have not yet.
    let then = at_seq(deleted.0);
    let row = then.rows.first().unwrap();
    assert_eq!(row.name, "shop/b");
    assert_eq!(row.cells[0].words, "gone");
    assert!(
        row.cells[1..]
            .iter()
            .all(|cell| cell.difference == Some(Difference::Ghost))
    );
    let now = at_seq(told.0.len() as u64);
    let words: Vec<&str> = now.sentences.iter().map(|told| &*told.words).collect();
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
        sides(&store, LaneId::Findings, None).unwrap().sentences,
        now.sentences
    );
}
