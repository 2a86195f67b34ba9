//! Lesson: a hundred readers and one pipe (docs/findings/F25.md). Watches without a resourceVersion share a stream of
//! etcd with the server's own watch cache. The stream is full, etcd compacts what still waits for it, and skips it. The
//! cache keeps an object that is gone, without an error.

use std::time::Duration;

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Defect, Fault, Program, Request};

use super::{
    Aim, Break, Find, Form, Goal, JOBS, Lanes, Learned, Lesson, Moment, Movable, News, Panel,
    Passage, Question, Script, Sought, Tap, act, configmaps, create_batch, create_map, delete_map,
    informer, jobs, released, secs, slow_etcd, start, write_map,
};
use crate::script::Deed;

/// The number of readers. With 100 of them the cache's watch waits for a slot until after a compaction.
const READERS: u16 = 100;
/// The time that etcd needs for a response on the stream. With eight times as many readers about a tenth of it is
/// enough: what counts is their product. The number has no source.
const PER_RESPONSE: Duration = Duration::from_secs(5);
/// The time between two reads of the client that reads etcd.
const READS_EVERY: Duration = Duration::from_secs(30);

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "starved",
        lasts: secs(720.0),
        server: released(27, 0),
        servers: super::one,
        client: ClientGo::minor(27),
        watches: None,
        script,
        passages: vec![
            pipe(),
            full(),
            late(),
            jumped(),
            moved(),
            cures(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "fix-etcd",
                deeds: vec![Deed::Lift(defect())],
            },
            Break {
                key: "stop-readers",
                deeds: vec![Deed::Stop("readers".to_owned())],
            },
            super::end_watches(),
            Break {
                key: "write-prices",
                deeds: vec![write_map("prices", 9)],
            },
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                key: "drops",
                shows: Aim::Moment(Sought::Belief("informer", "report", false)),
                clicks: 1,
            },
            Goal {
                key: "by-event",
                shows: Aim::Moment(Sought::DroppedByEvent("informer", "report")),
                clicks: 1,
            },
        ],
    }
}

fn defect() -> Fault {
    Fault::EtcdDefect(Defect::GapUnderStarvation)
}

/// The deletion of report, while the cache's watch waits. No other write lies within its bounds.
fn deletion() -> Movable {
    let written = secs(280.0);
    Movable {
        name: "report",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "report",
        },
        written,
        at: written,
        bounds: (secs(258.0), secs(655.0)),
        snaps: vec![],
        settled: secs(658.0),
        finds: vec![
            Find::of("lost", &[("informer", Learned::Never)]),
            Find::of("heard", &[("informer", Learned::ByEvent)]),
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let informer = informer(client);
    let lister = Program::Poller { every: READS_EVERY };
    Script {
        before: vec![
            Deed::Inject(defect()),
            create_batch(),
            create_map("prices"),
            create_map("report"),
        ],
        acts: vec![
            act(
                1.0,
                [
                    start("informer", informer, configmaps()),
                    start("lister", lister, configmaps()),
                ],
            ),
            // They come after the first passage, since each program has a lane.
            act(
                70.0,
                [start(
                    "readers",
                    Program::ManyWatches { watches: READERS },
                    jobs(),
                )],
            ),
            act(80.0, [create_job(1)]),
            act(240.0, [Deed::Inject(slow_etcd(PER_RESPONSE))]),
            act(250.0, [create_job(2)]),
            act(251.0, [create_job(3)]),
            act(256.0, [create_job(4)]),
            act(257.0, [create_job(5)]),
            act(257.5, [create_job(6)]),
            act(280.0, [delete_map("report")]),
            act(640.0, [Deed::Lift(slow_etcd(PER_RESPONSE))]),
            act(660.0, [write_map("prices", 1)]),
        ],
    }
}

fn create_job(number: u32) -> Deed {
    let body = json!({"metadata": {"name": format!("job-{number}")}});
    Deed::Call(Request::new("POST", JOBS).json(&body))
}

fn pipe() -> Passage {
    Passage {
        key: "pipe",
        at: secs(60.0),
        shows: (secs(0.0), secs(70.0)),
        moments: vec![
            Moment::first(Sought::Asked("informer", "watch=true")),
            Moment::first(Sought::Belief("lister", "report", true)),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Sides,
        panels: &[],
        speed: Some(100),
        ..Passage::BASE
    }
}

fn full() -> Passage {
    Passage {
        key: "full",
        at: secs(262.0),
        shows: (secs(50.0), secs(300.0)),
        moments: vec![
            Moment::first(Sought::Asked("readers", "watch=true")),
            Moment::first(Sought::Write(ChangeType::Added, "job-2")),
            Moment::first(Sought::Write(ChangeType::Added, "job-4")),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client informer",
                    is_right: true,
                },
                Tap {
                    lane: "client lister",
                    is_right: false,
                },
            ]),
            covers: true,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        speed: Some(60),
        ..Passage::BASE
    }
}

fn late() -> Passage {
    Passage {
        key: "late",
        at: secs(580.0),
        shows: (secs(235.0), secs(620.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "report")),
            Moment::first(Sought::Belief("lister", "report", false)),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds],
        speed: Some(20),
        ..Passage::BASE
    }
}

fn jumped() -> Passage {
    Passage {
        key: "jumped",
        at: secs(664.0),
        shows: (secs(235.0), secs(680.0)),
        moments: vec![Moment::first(Sought::Write(ChangeType::Modified, "prices"))],
        question: Some(Question::choose(3, 0)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(668.0),
        shows: (secs(235.0), secs(680.0)),
        question: Some(Question::choose(3, 1)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds],
        speed: Some(20),
        ..Passage::BASE
    }
}

fn cures() -> Passage {
    Passage {
        key: "cures",
        at: secs(690.0),
        shows: (secs(235.0), secs(700.0)),
        lanes: Lanes::Layers,
        speed: Some(10),
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(700.0),
        shows: (secs(0.0), secs(720.0)),
        lanes: Lanes::Layers,
        ..Passage::BASE
    }
}
