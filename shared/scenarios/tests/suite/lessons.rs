//! Tests of the lessons' pictures: at each passage the picture shows what the text claims. It shows which write reached
//! whom, where a message stopped, who holds a ghost since when, and which revisions can be read.

use std::collections::BTreeSet;
use std::time::Duration;

use watchscope_model::chapter::ChapterWriter;
use watchscope_model::vocabulary::ChangeType;
use watchscope_model::{Entry, Inside, State, Time};
use watchscope_scenarios::lessons::{Found, Lesson, LessonPlayer, Run, Sought, lesson, lessons};
use watchscope_timeline::draw::{self, Ways};
use watchscope_timeline::lanes::RowKind;
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::scene::{Area, Step, TextLine};
use watchscope_timeline::{Glyph, Lanes, Picture, Primitive, Px, Rows, Scene, Store, Token, View};

/// The width of the lanes on a screen of 1600 px.
const LANES_WIDTH_PX: f64 = 860.0;
/// The width of a message's line: 1.25 px.
const MESSAGE: Px = Px(80);
/// The width of a cross's line: 2 px.
const CROSS: Px = Px(128);
/// The width of the line of a layer's progress: 1.5 px.
const PROGRESS: Px = Px(96);
/// The number of entries that are sealed at once.
const SEGMENT_ENTRIES: usize = 256;

/// A write, and its name in claims: `DELETED report 9`.
struct Write {
    name: String,
    at: Time,
    ink: Token,
}

/// The page's picture at one moment of a lesson.
struct Shown {
    title: String,
    rows: Rows,
    scene: Scene,
    view: View,
    began: Time,
    writes: Vec<Write>,
    store: Store,
    now: Time,
    found: Vec<Found>,
}

/// A message between layers, as drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    write: String,
    /// The row in which its line ends.
    to: String,
    /// Whether it is dashed: it stopped there.
    is_stopped: bool,
}

/// A line, as drawn.
struct Line {
    ink: Token,
    is_dashed: bool,
    corners: Vec<(Px, Px)>,
}

fn run_of(lesson: &Lesson) -> Run {
    Run {
        seed: 1,
        server: lesson.server,
        client: lesson.client,
    }
}

/// Returns the store of a page that followed a lesson's log from its beginning.
pub(crate) fn store_of(entries: &[Entry], began: Time) -> Store {
    let state = State {
        at: began,
        ..State::default()
    };
    let (mut writer, opening) = ChapterWriter::open("lesson".into(), "run-1".into(), &state);
    let mut store = Store::default();
    store.snapshot(&opening).unwrap();
    for entries in entries.chunks(SEGMENT_ENTRIES) {
        for entry in entries {
            match entry {
                Entry::Record(record) => writer.push(record),
                Entry::Inside(record) => writer.push_inside(record),
            }
        }
        if let Some(segment) = writer.seal() {
            store.segment(&segment).unwrap();
        }
    }
    store
}

fn writes(entries: &[Entry]) -> Vec<Write> {
    let writes = entries.iter().filter_map(|entry| match entry {
        Entry::Inside(record) => match &record.inside {
            Inside::InsideWrite(write) => Some((record.at, write)),
            _ => None,
        },
        Entry::Record(_) => None,
    });
    writes
        .map(|(at, write)| Write {
            name: format!(
                "{} {} {}",
                write.change.word(),
                write.object.name,
                write.revision
            ),
            at,
            ink: match write.change {
                ChangeType::Added => Token::Added,
                ChangeType::Deleted => Token::Deleted,
                _ => Token::Modified,
            },
        })
        .collect()
}

impl Shown {
    /// Shows a passage at a time, with the stretch of time that it shows.
    fn at(lesson: &Lesson, place: usize, at: Duration) -> Self {
        Self::of(lesson, run_of(lesson), place, at)
    }

    /// Shows a passage in another run.
    fn of(lesson: &Lesson, run: Run, place: usize, at: Duration) -> Self {
        Self::drawn(lesson, run, place, at, Ways::Lesson)
    }

    fn drawn(lesson: &Lesson, run: Run, place: usize, at: Duration, ways: Ways) -> Self {
        let passage = &lesson.passages[place];
        let mut player = LessonPlayer::new(lesson.clone(), run);
        let entries = player.advance(at);
        let began = player.time(Duration::ZERO);
        let store = store_of(&entries, began);
        let (from, to) = passage.shows;
        let view = View::between(player.time(from), player.time(to), LANES_WIDTH_PX);
        let mut lanes = Lanes::showing_all();
        lanes.records = Some(&RECORDS.rows);
        let now = player.now();
        let rows = lanes.rows(&store, &view, now);
        let scene = draw::lanes(&Picture {
            ways,
            ..Picture::new(&store, &rows, &view, now)
        });
        Self {
            title: format!("{}: {}", lesson.name, passage.key),
            rows,
            scene,
            view,
            began,
            writes: writes(&entries),
            store,
            now,
            found: player.found(place).flatten().cloned().collect(),
        }
    }

    fn row_at(&self, y: Px) -> String {
        let row = self.rows.at(y).unwrap();
        format!("{}{}", row.prefix, row.name).replace('\u{a0}', " ")
    }

    fn x(&self, at_s: f64) -> Px {
        let at = self.began.plus_micros((at_s * 1e6) as i64);
        self.view.x(at)
    }

    /// Returns all lines of a width.
    fn lines(&self, width: Px) -> Vec<Line> {
        let lines = self.scene.primitives.iter().filter_map(|primitive| {
            let Primitive::Path {
                steps,
                stroke: Some(stroke),
                ..
            } = primitive
            else {
                return None;
            };
            let steps = &self.scene.steps[steps.start as usize..steps.end as usize];
            let corners = steps.iter().filter_map(|step| match *step {
                Step::Move(x, y) | Step::Line(x, y) => Some((x, y)),
                _ => None,
            });
            (stroke.width == width).then(|| Line {
                ink: stroke.ink,
                is_dashed: stroke.dash.is_some(),
                corners: corners.collect(),
            })
        });
        lines.collect()
    }

    /// Returns the drawn messages. Each belongs to the write whose time and colour its line begins with.
    fn messages(&self) -> Vec<Message> {
        let etcd = self.rows.rows.iter().find(|row| &*row.name == "etcd");
        let etcd = etcd.unwrap();
        let mut messages = Vec::new();
        for line in self.lines(MESSAGE) {
            let (Some(&(x, y)), Some(&(_, end))) = (line.corners.first(), line.corners.last())
            else {
                continue;
            };
            let write = self
                .writes
                .iter()
                .find(|write| write.ink == line.ink && self.view.x(write.at) == x);
            if let Some(write) = write
                && y > etcd.y
                && y < etcd.bottom() + Px::whole(8)
            {
                messages.push(Message {
                    write: write.name.clone(),
                    to: self.row_at(end),
                    is_stopped: line.is_dashed,
                });
            }
        }
        messages
    }

    /// Returns the rows in which a write is shown to reach a client.
    fn heard(&self, write: &str) -> Vec<String> {
        let mut rows: Vec<String> = self
            .messages()
            .into_iter()
            .filter(|message| message.write == write && !message.is_stopped)
            .map(|message| message.to)
            .collect();
        rows.sort();
        rows
    }

    /// Returns the rows that a write's line to a row goes through, with its ends.
    fn through(&self, write: &str, to: &str) -> Vec<String> {
        let at = self.writes.iter().find(|known| known.name == write);
        let at = self.view.x(at.unwrap().at);
        let mut lines = self.lines(MESSAGE).into_iter();
        let line = lines.find(|line| {
            line.corners[0].0 == at && self.row_at(line.corners.last().unwrap().1) == to
        });
        let corners = line.unwrap().corners;
        corners.into_iter().map(|(_, y)| self.row_at(y)).collect()
    }

    /// Returns the rows in which a write is shown to stop: a dashed line ends there in a cross.
    fn stopped(&self, write: &str) -> Vec<String> {
        let x = self.writes.iter().find(|known| known.name == write);
        let x = self.view.x(x.unwrap().at);
        let near = |other: Px| (other - x).max(x - other) <= Px::whole(5);
        let crosses = self.lines(CROSS).into_iter();
        let crosses = crosses.filter(|line| line.ink == Token::Error && near(line.corners[0].0));
        let crosses: Vec<String> = crosses
            .map(|line| self.row_at(line.corners[0].1 + Px::whole(4)))
            .collect();
        let dashed = |row: &String| {
            self.messages()
                .iter()
                .any(|message| message.write == write && message.is_stopped && message.to == *row)
        };
        let mut rows: Vec<String> = crosses.into_iter().filter(dashed).collect();
        rows.sort();
        rows
    }

    fn texts(&self) -> impl Iterator<Item = &TextLine> {
        self.scene
            .primitives
            .iter()
            .filter_map(|primitive| match primitive {
                Primitive::Text(line) => Some(line),
                _ => None,
            })
    }

    /// Returns whether a row has these words.
    fn says(&self, row: &str, words: &str) -> bool {
        self.texts()
            .any(|line| line.text.contains(words) && self.row_at(line.y - Px::whole(4)) == row)
    }

    /// Returns how often the line rises that shows what a client knows.
    fn rises(&self, row: &str) -> usize {
        self.steps(row, |before, after| after < before)
    }

    /// Returns how often that line falls.
    fn falls(&self, row: &str) -> usize {
        self.steps(row, |before, after| after > before)
    }

    fn steps(&self, row: &str, counts: fn(Px, Px) -> bool) -> usize {
        let lines = self.lines(PROGRESS).into_iter();
        let line = lines.filter(|line| line.ink == Token::Version);
        let mut line = line.filter(|line| self.row_at(line.corners.last().unwrap().1) == row);
        let corners = line.next().unwrap().corners;
        corners
            .windows(2)
            .filter(|pair| counts(pair[0].1, pair[1].1))
            .count()
    }

    /// Returns the holders of ghosts, how many ghosts each has, and since when.
    fn ghosts(&self) -> Vec<(String, String)> {
        let said = self.texts().filter(|line| line.text.contains(" since "));
        let said = said.filter(|line| line.ink == Token::Divergence);
        said.map(|line| (self.row_at(line.y - Px::whole(4)), line.text.to_string()))
            .collect()
    }

    /// Returns the boxes of all ghosts.
    fn ghost_boxes(&self) -> impl DoubleEndedIterator<Item = Area> {
        self.scene
            .primitives
            .iter()
            .filter_map(|primitive| match primitive {
                Primitive::Rect {
                    area,
                    stroke: Some(stroke),
                    ..
                } if stroke.ink == Token::Divergence => Some(*area),
                _ => None,
            })
    }

    /// Returns the clients that are shown to hold a ghost at the passage's time, by name.
    fn haunted(&self) -> Vec<String> {
        let now = self.view.x(self.now);
        let boxes = self.ghost_boxes().filter(|area| area.right() == now);
        let rows = boxes.map(|area| self.row_at(area.y + area.h.half()));
        let clients: BTreeSet<String> = rows.filter(|row| row.starts_with("client ")).collect();
        clients.into_iter().collect()
    }

    /// Returns where the ghosts of a row end, in px.
    fn ghosts_end(&self, row: &str) -> Option<Px> {
        let boxes = self.ghost_boxes();
        let mut own = boxes.filter(|area| self.row_at(area.y + area.h.half()) == row);
        own.next_back().map(|area| area.right())
    }

    /// Returns whether a row has a glyph at a time, in seconds since the lesson began.
    fn has_glyph(&self, row: &str, glyph: Glyph, at_s: f64) -> bool {
        let x = self.x(at_s);
        self.scene
            .primitives
            .iter()
            .any(|primitive| match primitive {
                Primitive::Glyph {
                    glyph: drawn,
                    x: at,
                    y,
                    ..
                } => {
                    let far = (*at - x).max(x - *at);
                    *drawn == glyph && far <= Px::whole(6) && self.row_at(*y) == row
                }
                _ => false,
            })
    }
}

/// The claims of a passage, checked against its picture.
type Claims = &'static [fn(&Shown)];

const NONE: [&str; 0] = [];

fn claims_of(name: &str) -> Claims {
    match name {
        "watch-event" => WATCH_EVENT,
        "expired" => EXPIRED,
        "away" => AWAY,
        "ghost" => GHOST,
        "quiet" => QUIET,
        "three-tries" => THREE_TRIES,
        "who-hung-up" => WHO_HUNG_UP,
        "silent" => SILENT,
        "herd" => HERD,
        "back-in-time" => BACK_IN_TIME,
        "stale" => STALE,
        "poisoned" => POISONED,
        "starved" => STARVED,
        _ => &[],
    }
}

const WATCH_EVENT: Claims = &[
    |shown| {
        assert!(shown.says("default/pods", "from 518"));
        assert!(shown.says("client controller", "watching pods"));
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        assert_eq!(shown.heard("ADDED web-1 519"), ["client controller"]);
        assert!(shown.says("etcd", "519"));
        assert!(shown.has_glyph("web-1", Glyph::Added, 4.0));
    },
    |shown| {
        // None of the 83 renewals reaches a watch of pods.
        assert!(shown.says("etcd", "602"));
        let to_clients = shown.messages();
        assert!(
            to_clients
                .iter()
                .all(|message| !message.write.contains("node-a")),
            "{to_clients:?}"
        );
        assert_eq!(shown.heard("ADDED web-1 519"), ["client controller"]);
    },
    |shown| {
        for (revision, at_s) in [("603", 10.0), ("604", 11.0)] {
            let write = format!("MODIFIED web-1 {revision}");
            assert_eq!(shown.heard(&write), ["client controller"]);
            assert!(shown.says("etcd", revision), "{revision}");
            assert!(shown.has_glyph("etcd", Glyph::Modified, at_s));
        }
    },
    |shown| {
        assert_eq!(shown.ghosts(), []);
        assert!(shown.says("etcd", "604"));
    },
    |shown| {
        assert_eq!(shown.heard("DELETED web-1 605"), ["client controller"]);
        assert!(shown.says("etcd", "605"));
        assert!(shown.has_glyph("web-1", Glyph::Deleted, 15.0));
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        assert_eq!(shown.heard("DELETED web-1 605"), ["client controller"]);
        assert_eq!(shown.ghosts(), []);
    },
];

/// The clients of `expired` that were cut off.
const CUT_OFF: [&str; 2] = ["stream to informer", "stream to naive"];

const EXPIRED: Claims = &[
    |shown| {
        assert_eq!(
            shown.heard("MODIFIED prices 9"),
            ["client informer", "client naive"]
        );
        assert!(shown.has_glyph("prices", Glyph::Modified, 4.0));
    },
    |shown| {
        for write in ["MODIFIED stock 10", "DELETED report 11"] {
            assert_eq!(shown.heard(write), NONE, "{write}");
            assert_eq!(shown.stopped(write), CUT_OFF, "{write}");
        }
    },
    |shown| {
        assert_eq!(shown.stopped("DELETED report 11"), CUT_OFF);
        assert!(shown.says("cache configmaps", "no window"));
    },
    |shown| {
        assert!(shown.says("etcd", "compacted below 11"));
        assert!(shown.says("default/configmaps", "410"));
        assert_eq!(shown.heard("DELETED report 11"), NONE);
        assert_eq!(shown.stopped("DELETED report 11"), CUT_OFF);
    },
    |shown| {
        // The list showed it to informer; no event ever did.
        assert_eq!(shown.heard("DELETED report 11"), NONE);
        assert_eq!(shown.heard("MODIFIED stock 10"), NONE);
        assert_eq!(shown.stopped("DELETED report 11"), CUT_OFF);
        assert!(shown.has_glyph("report", Glyph::DeletedInferred, 17.64));
        assert!(!shown.has_glyph("report", Glyph::Deleted, 17.64));
        let ghosts = [("client informer", "11"), ("client naive", "11")];
        let ghosts =
            ghosts.map(|(who, since)| (who.to_owned(), format!("1 ghost since {since}.0 s")));
        assert_eq!(shown.ghosts(), ghosts);
        assert!(shown.ghosts_end("client informer").unwrap() <= shown.x(24.9));
        assert_eq!(shown.ghosts_end("client naive"), Some(shown.x(28.0)));
    },
    |shown| {
        assert_eq!(shown.heard("DELETED report 11"), NONE);
        assert_eq!(shown.stopped("DELETED report 11"), CUT_OFF);
        assert_eq!(shown.heard("MODIFIED prices 12"), ["client informer"]);
        assert_eq!(shown.stopped("MODIFIED prices 12"), ["stream to naive"]);
        assert_eq!(shown.ghosts_end("client naive"), Some(shown.x(44.0)));
    },
    |shown| {
        assert_eq!(shown.stopped("DELETED report 11"), CUT_OFF);
        assert_eq!(shown.stopped("MODIFIED prices 12"), ["stream to naive"]);
    },
];

/// Checks that the deletion reaches the client `correct`. On its way to `naive`, which has no stream, it goes no
/// further than the server.
fn only_correct_hears(shown: &Shown) {
    assert_eq!(shown.heard("DELETED report 9"), ["client correct"]);
    assert_eq!(shown.stopped("DELETED report 9"), ["stream to naive"]);
}

const BOTH: [&str; 2] = ["client correct", "client naive"];

fn one_ghost_of_naive() -> [(String, String); 1] {
    [("client naive".to_owned(), "1 ghost since 8.0 s".to_owned())]
}

const AWAY: Claims = &[
    |shown| {
        assert_eq!(shown.messages(), []);
        assert_eq!(shown.ghosts(), []);
        for client in BOTH {
            assert!(shown.says(client, "watching configmaps"), "{client}");
        }
    },
    |shown| {
        assert!(shown.says("client naive", "sleeping"));
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        only_correct_hears(shown);
        assert!(shown.has_glyph("report", Glyph::Deleted, 8.0));
    },
    |shown| {
        only_correct_hears(shown);
        assert_eq!(shown.ghosts(), one_ghost_of_naive());
    },
    |shown| {
        only_correct_hears(shown);
        assert_eq!(shown.heard("MODIFIED prices 10"), BOTH);
        assert_eq!(shown.ghosts(), one_ghost_of_naive());
        assert_eq!(shown.ghosts_end("client naive"), Some(shown.x(18.0)));
    },
    |shown| {
        // Another event than the missed one cures it.
        only_correct_hears(shown);
        assert_eq!(shown.heard("ADDED report 11"), BOTH);
        let healed = shown.ghosts_end("client naive").unwrap();
        assert!(healed >= shown.x(26.0) && healed <= shown.x(26.2));
    },
    |shown| {
        only_correct_hears(shown);
        assert_eq!(shown.ghosts_end("client correct"), None);
    },
];

const GHOST: Claims = &[
    |shown| {
        for client in ["broken", "fixed", "informer"] {
            assert!(
                shown.says(&format!("client {client}"), "watching pods"),
                "{client}"
            );
        }
    },
    |shown| {
        assert!(shown.says("client broken", "turns for 0 bytes"));
        assert!(shown.says("client fixed", "failed"));
        assert!(shown.says("client informer", "watching"));
    },
    |shown| {
        assert_eq!(shown.heard("DELETED web-1 8"), ["client informer"]);
        // fixed has ended: no message goes to it, and it holds nothing.
        assert_eq!(shown.stopped("DELETED web-1 8"), ["stream to broken"]);
        let ghosts = [(
            "client broken".to_owned(),
            "1 ghost since 10.0 s".to_owned(),
        )];
        assert_eq!(shown.ghosts(), ghosts);
    },
    |shown| {
        assert!(shown.says("client broken", "turns for 0 bytes"));
        assert_eq!(shown.stopped("DELETED web-1 8"), ["stream to broken"]);
    },
    |shown| {
        assert!(shown.says("client broken", "failed"));
        // Its ghost ends with its process.
        let ended = shown.ghosts_end("client broken").unwrap();
        assert!(ended >= shown.x(30.9) && ended <= shown.x(31.1));
        assert_eq!(shown.ghosts_end("client fixed"), None);
    },
    |shown| assert_eq!(shown.heard("DELETED web-1 8"), ["client informer"]),
    |shown| assert_eq!(shown.stopped("DELETED web-1 8"), ["stream to broken"]),
];

/// The loops of `three-tries`, in the order of their lanes.
const TRIES: [&str; 3] = ["client final", "client v1", "client v2"];

/// Checks that the deletion of cart reaches the client `informer` alone, and that each loop then holds a ghost.
fn only_informer_hears_of_cart(shown: &Shown) {
    assert_eq!(shown.heard("DELETED cart 9"), ["client informer"]);
    let words = |client: &str| (client.to_owned(), "1 ghost since 8.0 s".to_owned());
    assert_eq!(shown.ghosts(), TRIES.map(words));
}

const THREE_TRIES: Claims = &[
    |shown| {
        for client in TRIES {
            assert!(shown.says(client, "watching deployments"), "{client}");
        }
        assert!(!shown.says("client informer", "watching"));
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        assert!(shown.says("client v1", "silent"));
        assert!(shown.says("client v2", "turns"));
        assert!(shown.says("client final", "sleeping"));
        assert_eq!(shown.heard("MODIFIED web 8"), ["client informer"]);
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        only_informer_hears_of_cart(shown);
        // final gets web again, at the number that it missed.
        let heard = ["client final", "client informer"];
        assert_eq!(shown.heard("MODIFIED web 8"), heard);
    },
    only_informer_hears_of_cart,
    |shown| {
        assert_eq!(shown.heard("DELETED web 10"), ["client informer"]);
        let heard = ["client final", "client informer"];
        assert_eq!(shown.heard("ADDED web 11"), heard);
        // Between the deletion of web and its creation anew, final held two.
        let ghosts = "1 to 2 ghosts since 8.0 s".to_owned();
        assert_eq!(shown.ghosts()[0], ("client final".to_owned(), ghosts));
        assert_eq!(shown.ghosts_end("client final"), Some(shown.x(27.0)));
    },
    |shown| assert_eq!(shown.ghosts_end("client final"), Some(shown.x(30.0))),
    |shown| {
        // The changes at 2 and 8 minutes reach final, whose stream is open.
        for write in ["MODIFIED web 12", "MODIFIED web 13"] {
            let heard = ["client final", "client informer"];
            assert_eq!(shown.heard(write), heard, "{write}");
        }
        assert_eq!(shown.ghosts_end("client final"), Some(shown.x(2_300.0)));
        assert!(shown.says("client v1", "silent"));
    },
];

const QUIET: Claims = &[
    |shown| {
        for client in ["client marks", "client plain"] {
            assert!(shown.says(client, "watching configmaps"), "{client}");
        }
        assert!(shown.says("apiserver 1", "refuses connections"));
        assert!(shown.says("etcd", "revision 11"));
    },
    |shown| {
        assert!(shown.says("etcd", "revision 125"));
        assert!(shown.says("client retry", "watching events"));
        // Each bookmark raises the line of marks; the others stay where they began.
        let stairs = ["client marks", "client plain", "client retry"].map(|row| shown.rises(row));
        assert!(stairs[0] > 5, "{stairs:?}");
        assert!(stairs[1] <= 1 && stairs[2] <= 1, "{stairs:?}");
        // No renewal of a lease is a message to a client.
        assert_eq!(shown.messages(), []);
    },
    |shown| {
        assert_eq!(shown.heard("DELETED report 204"), ["client marks"]);
        assert_eq!(shown.ghosts(), []);
    },
    |shown| assert_eq!(shown.heard("DELETED report 204"), ["client marks"]),
    |shown| {
        assert!(shown.says("etcd", "compacted below 95"));
        assert_eq!(shown.heard("ADDED after 205"), NONE);
    },
    |shown| {
        assert!(shown.says("client marks", "watching configmaps"));
        assert!(shown.says("client plain", "backoff"));
        assert!(shown.says("client retry", "silent since 660.1 s"));
    },
    |shown| {
        assert!(shown.says("client plain", "watching configmaps"));
        assert!(shown.says("client retry", "silent since"));
    },
];

/// Checks that both clients of `who-hung-up` received these writes, and that nobody holds a ghost.
fn both_hear(shown: &Shown, writes: &[&str]) {
    for write in writes {
        let both = ["client informer", "client reader"];
        assert_eq!(shown.heard(write), both, "{write}");
    }
    assert_eq!(shown.ghosts(), []);
}

const WHO_HUNG_UP: Claims = &[
    |shown| {
        for client in ["client reader", "client informer"] {
            assert!(shown.says(client, "watching configmaps"), "{client}");
        }
        assert_eq!(shown.ghosts(), []);
    },
    |shown| both_hear(shown, &["MODIFIED prices 8"]),
    |shown| {
        // The event of the torn frame, 11, came again.
        let changes = [
            "MODIFIED prices 9",
            "MODIFIED prices 10",
            "MODIFIED prices 11",
        ];
        both_hear(shown, &changes);
        both_hear(shown, &["DELETED stock 12"]);
    },
    |shown| both_hear(shown, &["DELETED stock 12"]),
    // The spoilt frame arrived at both, too.
    |shown| both_hear(shown, &["MODIFIED prices 13"]),
    |shown| {
        assert!(shown.says("client informer", "watching configmaps"));
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        assert!(shown.says("client reader", "watching configmaps"));
        assert_eq!(shown.ghosts(), []);
    },
];

const SILENT: Claims = &[
    |shown| {
        for client in ["client pings", "client deadline", "client old"] {
            assert!(shown.says(client, "watching configmaps"), "{client}");
        }
        assert_eq!(shown.ghosts(), []);
    },
    // Nothing is to be seen: all three still count as watching.
    |shown| {
        for client in ["client pings", "client deadline", "client old"] {
            assert!(shown.says(client, "watching configmaps"), "{client}");
        }
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        assert_eq!(shown.heard("DELETED stock 9"), ["client pings"]);
        assert_eq!(shown.haunted(), ["client deadline", "client old"]);
    },
    |shown| {
        let all = ["client deadline", "client old", "client pings"];
        assert_eq!(shown.heard("DELETED stock 9"), all);
        assert_eq!(shown.haunted(), NONE);
        let (deadline, old) = (
            shown.ghosts_end("client deadline"),
            shown.ghosts_end("client old"),
        );
        assert!(deadline.unwrap() < shown.x(180.0) && old.unwrap() > shown.x(385.0));
    },
    |shown| assert_eq!(shown.haunted(), NONE),
    |shown| {
        let all = ["client deadline", "client old", "client pings"];
        assert_eq!(shown.heard("MODIFIED prices 11"), all);
    },
    |shown| assert_eq!(shown.haunted(), NONE),
];

/// Checks that both clients of pods of `herd` watch, and that nobody is shown to hold a ghost now.
fn watch_pods(shown: &Shown) {
    for client in ["client old", "client new"] {
        assert!(shown.says(client, "watching pods"), "{client}");
        assert_ne!(shown.ghosts_end(client), Some(shown.view.x(shown.now)));
    }
    // The crowd has no lanes.
    assert!(shown.texts().all(|line| !line.text.contains("crowd")));
}

const HERD: Claims = &[
    watch_pods,
    // 2.5 s without a leader: nobody has noticed anything.
    watch_pods,
    |shown| {
        watch_pods(shown);
        assert_eq!(shown.heard("DELETED web-1 14"), ["client new"]);
        let ghost = shown.ghosts_end("client old").unwrap();
        assert!(ghost > shown.x(15.0) && ghost < shown.x(16.0));
        assert_eq!(shown.ghosts_end("client new"), None);
    },
    |shown| {
        watch_pods(shown);
        assert_eq!(shown.heard("DELETED web-1 14"), ["client new"]);
    },
    watch_pods,
    |shown| {
        watch_pods(shown);
        assert!(shown.says("client promo", "backoff"));
        assert_eq!(shown.heard("DELETED summer 29"), ["client promo"]);
    },
    |shown| {
        watch_pods(shown);
        assert!(shown.says("client promo", "backoff"));
    },
];

const FIRST_AND_SECOND: [&str; 2] = ["client first", "client second"];

/// Checks how often the line falls that shows what each client of `back-in-time` knows, and that nobody holds a ghost.
fn falls_of_first(shown: &Shown, falls: usize) {
    assert_eq!(FIRST_AND_SECOND.map(|row| shown.falls(row)), [falls, 0]);
    assert_eq!(shown.ghosts(), []);
}

const BACK_IN_TIME: Claims = &[
    |shown| {
        for client in FIRST_AND_SECOND {
            assert!(shown.says(client, "watching services"), "{client}");
        }
        for at_s in [2.0, 3.0] {
            assert!(shown.has_glyph("etcd", Glyph::Added, at_s), "{at_s}");
        }
        for write in ["ADDED cart 100", "ADDED web 110"] {
            assert_eq!(shown.heard(write), FIRST_AND_SECOND, "{write}");
        }
    },
    |shown| {
        falls_of_first(shown, 0);
        assert_eq!(shown.heard("ADDED web 130"), FIRST_AND_SECOND);
    },
    |shown| {
        falls_of_first(shown, 1);
        assert!(shown.has_glyph("etcd", Glyph::Deleted, 7.0));
    },
    // The replay ends where it began.
    |shown| falls_of_first(shown, 1),
    |shown| falls_of_first(shown, 1),
    |shown| {
        falls_of_first(shown, 1);
        assert_eq!(shown.heard("MODIFIED web 150"), FIRST_AND_SECOND);
    },
    |shown| falls_of_first(shown, 1),
];

const OLD_AND_NEW: [&str; 2] = ["client new", "client old"];

const STALE: Claims = &[
    |shown| {
        for client in OLD_AND_NEW {
            assert!(shown.says(client, "watching pods"), "{client}");
        }
    },
    |shown| {
        for write in ["DELETED web-0 8", "ADDED web-0 9", "DELETED job 10"] {
            assert_eq!(shown.heard(write), OLD_AND_NEW, "{write}");
        }
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        for client in OLD_AND_NEW {
            assert!(shown.says(client, "watching pods"), "{client}");
        }
        // The web-0 of 6, and job.
        assert!(shown.says("cache pods", "2 ghosts"));
        assert_eq!(shown.haunted(), NONE);
    },
    |shown| assert_eq!(shown.haunted(), ["client old"]),
    |shown| {
        assert_eq!(shown.haunted(), NONE);
        let cured = shown.ghosts_end("client old").unwrap();
        assert!(cured > shown.x(69.9) && cured < shown.x(71.0));
        assert_eq!(shown.heard("MODIFIED web-1 12"), OLD_AND_NEW);
    },
    |shown| assert_eq!(shown.haunted(), OLD_AND_NEW),
    |shown| assert_eq!(shown.haunted(), NONE),
];

const POISONED: Claims = &[
    |shown| {
        for client in ["client old", "client new"] {
            assert!(shown.says(client, "watching configmaps"), "{client}");
        }
        assert_eq!(shown.ghosts(), []);
    },
    |shown| {
        assert_eq!(shown.haunted(), ["client new"]);
        assert_eq!(shown.heard("DELETED report 17"), NONE);
    },
    |shown| {
        assert_eq!(shown.haunted(), ["client new"]);
        let both = ["client new", "client old"];
        assert_eq!(shown.heard("MODIFIED prices 58"), both);
    },
    |shown| assert_eq!(shown.haunted(), ["client new"]),
    |shown| assert_eq!(shown.haunted(), ["client new"]),
    |shown| {
        assert_eq!(shown.haunted(), ["client fresh", "client new"]);
        assert!(shown.says("client lister", "sleeping"));
    },
    |shown| assert_eq!(shown.haunted(), ["client fresh", "client new"]),
];

const STARVED: Claims = &[
    |shown| {
        assert!(shown.says("client informer", "watching configmaps"));
        assert_eq!(shown.ghosts(), []);
    },
    |shown| assert_eq!(shown.haunted(), NONE),
    |shown| {
        assert_eq!(shown.haunted(), ["client informer"]);
        assert_eq!(shown.heard("DELETED report 15"), ["client lister"]);
    },
    |shown| {
        assert_eq!(shown.haunted(), ["client informer"]);
        assert_eq!(shown.heard("DELETED report 15"), ["client lister"]);
        let both = ["client informer", "client lister"];
        assert_eq!(shown.heard("MODIFIED prices 16"), both);
    },
    |shown| assert_eq!(shown.haunted(), ["client informer"]),
    |shown| assert_eq!(shown.haunted(), ["client informer"]),
    |shown| assert_eq!(shown.haunted(), ["client informer"]),
];

#[test]
fn each_passage_shows_what_its_text_claims() {
    let mut wrong = Vec::new();
    for lesson in lessons() {
        let claims = claims_of(lesson.name);
        assert_eq!(claims.len(), lesson.passages.len(), "{}", lesson.name);
        for (place, claim) in claims.iter().enumerate() {
            let shown = Shown::at(&lesson, place, lesson.passages[place].at);
            let holds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| claim(&shown)));
            if holds.is_err() {
                wrong.push(shown.title);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_moment_of_a_passage_has_its_ring_at_its_mark() {
    let mut checked = 0;
    for lesson in lessons() {
        for (place, passage) in lesson.passages.iter().enumerate() {
            let shown = Shown::at(&lesson, place, passage.at);
            for (moment, found) in passage.moments.iter().zip(&shown.found) {
                let what = format!("{}: {:?}: {found:?}", shown.title, moment.sought);
                let row = shown.rows.rows.iter();
                let mut row = row.filter(|row| shown.store.lane_key(row.id) == found.lane);
                let row = row.next().unwrap_or_else(|| panic!("no lane: {what}"));
                let x = shown.view.x(found.at);
                assert!(x >= Px::ZERO && x <= shown.view.x(shown.now), "{what}");
                let edges = (row.y, row.bottom());
                let mark = shown
                    .scene
                    .y_of(row.id, edges, shown.store.newest(found.seq));
                let y = mark.unwrap_or(row.y + row.height.half());
                assert!(row.y <= y && y < row.bottom(), "{what}");
                let has_mark = match moment.sought {
                    Sought::Write(..) | Sought::Change(..) | Sought::Error => true,
                    Sought::Cached(..) => {
                        assert_eq!(row.kind, RowKind::LayerTrace, "{what}");
                        false
                    }
                    _ => false,
                };
                assert!(mark.is_some() || !has_mark, "no mark: {what}");
                if let Sought::Change(..) = moment.sought {
                    assert_eq!(row.kind, RowKind::Object, "{what}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked}");
}

/// A watch without a resourceVersion goes to etcd in some releases
/// (docs/semantics/lists-and-watches.md#watch-without-version). The picture shows that.
#[test]
fn a_watch_that_etcd_serves_is_drawn_past_the_cache() {
    let lesson = lesson("away").unwrap();
    for (version, is_past) in [
        ("1.26", false),
        ("1.27.0", true),
        ("1.27.12", true),
        ("1.27.13", false),
        ("1.28.8", true),
        ("1.28.9", false),
        ("1.29.3", true),
        ("1.29.4", false),
        ("1.30", false),
    ] {
        let run = Run {
            server: version.parse().unwrap(),
            ..run_of(&lesson)
        };
        let shown = Shown::of(&lesson, run, 4, lesson.passages[4].at);
        let rows: Vec<String> = shown
            .rows
            .rows
            .iter()
            .map(|row| shown.row_at(row.y))
            .collect();
        let place = |row: &str| rows.iter().position(|known| known == row);
        let (past, fed) = (place("from etcd to naive"), place("stream to naive"));
        let cache = place("cache configmaps").unwrap();
        assert_eq!(past.is_some(), is_past, "{version}: {rows:?}");
        assert_eq!(fed.is_some(), !is_past, "{version}: {rows:?}");
        assert!(past.is_none_or(|past| past < cache), "{version}: {rows:?}");
        // A client that names its version is still served from the cache.
        assert!(
            place("stream to correct") > Some(cache),
            "{version}: {rows:?}"
        );
        // The deletion stops where naive has no stream. Later writes reach it past the cache or through it.
        let stop = if is_past {
            "from etcd to naive"
        } else {
            "stream to naive"
        };
        assert_eq!(shown.stopped("DELETED report 9"), [stop], "{version}");
        assert_eq!(shown.heard("MODIFIED prices 10"), BOTH, "{version}");
        let through = shown.through("MODIFIED prices 10", "client naive");
        assert_eq!(
            through.contains(&"cache configmaps".to_owned()),
            !is_past,
            "{version}"
        );
    }
}

#[test]
fn a_ghost_is_dated_from_its_begin_even_if_that_is_not_shown() {
    let mut lesson = lesson("expired").unwrap();
    lesson.passages[5].shows = (Duration::from_secs(30), Duration::from_secs(48));
    let shown = Shown::at(&lesson, 5, Duration::from_secs(44));
    let ghosts = [("client naive".to_owned(), "1 ghost since 11.0 s".to_owned())];
    assert_eq!(shown.ghosts(), ghosts);
}

#[test]
fn a_question_that_covers_what_each_side_holds_covers_ghosts_in_the_picture() {
    let mut covered = 0;
    for lesson in lessons() {
        for (place, passage) in lesson.passages.iter().enumerate() {
            if passage.question.is_none_or(|question| !question.covers) {
                continue;
            }
            let drawn = |ways| {
                let run = run_of(&lesson);
                Shown::drawn(&lesson, run, place, passage.at, ways).ghosts()
            };
            assert_eq!(drawn(Ways::Covered), [], "{}: {}", lesson.name, passage.key);
            covered += drawn(Ways::Lesson).len();
        }
    }
    // As in away, while the person is asked what naive holds.
    assert!(covered >= 2, "{covered}");
}

#[test]
fn a_message_under_way_is_faint_until_it_arrives_or_stops() {
    let lesson = lesson("away").unwrap();
    // 300 ms after the deletion, nothing shows yet that naive will miss it.
    let shown = Shown::at(&lesson, 2, Duration::from_millis(8_300));
    assert_eq!(shown.stopped("DELETED report 9"), NONE);
    let faint = shown.scene.primitives.iter().filter(|primitive| {
        matches!(primitive, Primitive::Path { stroke: Some(stroke), opacity, .. }
            if stroke.width == MESSAGE && stroke.ink == Token::Stream && *opacity <= 40)
    });
    assert_eq!(faint.count(), 1);
}
