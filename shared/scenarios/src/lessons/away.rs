//! Lesson: deleted while you were away. A watch without a resourceVersion sends the current objects again, and
//! nothing about deleted ones.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Program, Version, WatchDeployment};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, act, configmaps, create_map, delete_map, end_streams, informer, secs,
    start, write_map,
};

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "away",
        lasts: secs(37.0),
        server: Version::DEFAULT,
        servers: super::one,
        client: ClientGo::minor(34),
        watches: Some(("configmaps", "ConfigMap")),
        script,
        passages: vec![
            two(),
            ended(),
            deleted(),
            back(),
            moved(),
            cure(),
            remember(),
        ],
        breaks: vec![
            super::end_watches(),
            Break {
                key: "delete-stock",
                deeds: vec![delete_map("stock")],
            },
            Break {
                key: "create-stock",
                deeds: vec![create_map("stock")],
            },
            Break {
                key: "write-prices",
                deeds: vec![write_map("prices", 99)],
            },
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                key: "two-clicks",
                shows: Aim::Ghosts("naive", 2),
                clicks: 2,
            },
            Goal {
                key: "one-click",
                shows: Aim::Ghosts("naive", 2),
                clicks: 1,
            },
        ],
    }
}

/// The deletion of report. Both clients hold report at 2 s, and the next write is at 16 s.
fn deletion() -> Movable {
    let written = secs(8.0);
    // All watches end then.
    let end = secs(6.0);
    // naive wakes then, and watches again.
    let wakes = secs(11.0);
    Movable {
        name: "report",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "report",
        },
        written,
        at: written,
        bounds: (secs(2.0), secs(15.5)),
        snaps: vec![end, wakes],
        settled: secs(17.0),
        finds: vec![
            Find::of(
                "both",
                &[("correct", Learned::ByEvent), ("naive", Learned::ByEvent)],
            ),
            Find::of(
                "only-correct",
                &[("correct", Learned::ByEvent), ("naive", Learned::Never)],
            ),
            Find {
                key: "at-the-end",
                learn: &[("correct", Learned::ByEvent), ("naive", Learned::Never)],
                only_at: Some(end),
            },
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let informer = informer(client);
    let naive = Program::WatchDeployment(WatchDeployment::Final);
    Script {
        before: vec![
            create_map("prices"),
            create_map("report"),
            create_map("stock"),
        ],
        acts: vec![
            act(
                1.0,
                [
                    start("correct", informer, configmaps()),
                    start("naive", naive, configmaps()),
                ],
            ),
            act(6.0, [end_streams()]),
            act(8.0, [delete_map("report")]),
            act(16.0, [write_map("prices", 1)]),
            act(26.0, [create_map("report")]),
        ],
    }
}

fn two() -> Passage {
    Passage {
        key: "two",
        at: secs(3.0),
        shows: (secs(0.0), secs(8.0)),
        moments: vec![
            Moment::first(Sought::Asked("correct", "configmaps")),
            Moment::first(Sought::Asked("naive", "watch")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[],
        ..Passage::BASE
    }
}

fn ended() -> Passage {
    Passage {
        key: "ended",
        at: secs(7.0),
        shows: (secs(2.0), secs(12.0)),
        moments: vec![
            Moment::first(Sought::Ended),
            Moment::after(1, Sought::Asked("correct", "watch")),
            Moment::first(Sought::Phase("naive", "sleeping")),
        ],
        question: Some(Question {
            form: Form::Choose {
                answers: 3,
                right: 0,
            },
            covers: true,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn deleted() -> Passage {
    Passage {
        key: "deleted",
        at: secs(9.5),
        shows: (secs(4.0), secs(14.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "report")),
            Moment::first(Sought::Belief("correct", "report", false)),
        ],
        question: Some(Question {
            form: Form::Fill {
                columns: &["correct", "naive"],
                rows: &[
                    ("prices", &[true, true]),
                    ("report", &[false, true]),
                    ("stock", &[true, true]),
                ],
            },
            covers: true,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn back() -> Passage {
    Passage {
        key: "back",
        at: secs(12.5),
        shows: (secs(4.0), secs(16.0)),
        moments: vec![Moment::after(1, Sought::Asked("naive", "watch"))],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(18.0),
        shows: (secs(0.0), secs(20.0)),
        moments: vec![Moment::first(Sought::Write(ChangeType::Modified, "prices"))],
        question: Some(Question::choose(3, 0)),
        moves: Some(0),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn cure() -> Passage {
    Passage {
        key: "cure",
        at: secs(28.0),
        shows: (secs(4.0), secs(32.0)),
        moments: vec![
            Moment::after(1, Sought::Write(ChangeType::Added, "report")),
            Moment::first(Sought::Change(ChangeType::Added, Origin::Live, "report")),
        ],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(31.0),
        shows: (secs(0.0), secs(34.0)),
        ..Passage::BASE
    }
}
