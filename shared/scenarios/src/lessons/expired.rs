//! Lesson: 410 and relist. The apiserver's history is bounded; a client that falls behind it has to list again, and
//! to compare the list with its own state.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Cut, Fault, Program, Target, Version};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, Tap, act, configmaps, create_map, delete_map, informer, secs, start,
    write_map,
};
use crate::script::Deed;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "expired",
        lasts: secs(90.0),
        server: Version::DEFAULT,
        servers: super::one,
        client: ClientGo::minor(34),
        watches: Some(("configmaps", "ConfigMap")),
        script,
        passages: vec![
            three(),
            away(),
            forgotten(),
            gone(),
            relist(),
            again(),
            remember(),
        ],
        breaks: vec![
            super::reset_all(),
            Break {
                key: "forget",
                deeds: vec![Deed::Inject(expire()), Deed::Lift(expire())],
            },
            Break {
                key: "write-stock",
                deeds: vec![write_map("stock", 99)],
            },
            Break {
                key: "delete-stock",
                deeds: vec![delete_map("stock")],
            },
        ],
        movables: vec![forgetting()],
        goals: vec![
            Goal {
                key: "three-clicks",
                shows: Aim::Moment(INFERRED),
                clicks: 3,
            },
            Goal {
                key: "one-click",
                shows: Aim::Moment(INFERRED),
                clicks: 1,
            },
        ],
    }
}

/// The kind of moment at which watchscope's own watch learns from a list that stock is gone.
const INFERRED: Sought = Sought::Change(ChangeType::Deleted, Origin::Inferred, "stock");

/// The moment at which the server forgets. report is deleted at 11 s, and prices is written at 40 s.
fn forgetting() -> Movable {
    let written = secs(12.5);
    Movable {
        name: "forget",
        lane: "apiserver 0 configmaps",
        news: News {
            change: ChangeType::Deleted,
            object: "report",
        },
        written,
        at: written,
        bounds: (secs(11.5), secs(39.0)),
        // The server accepts connections again then.
        snaps: vec![secs(13.5)],
        settled: secs(43.0),
        finds: vec![
            Find::of(
                "neither",
                &[("informer", Learned::FromList), ("naive", Learned::Never)],
            ),
            Find::of(
                "only-naive",
                &[("informer", Learned::FromList), ("naive", Learned::ByEvent)],
            ),
            Find::of(
                "both",
                &[("informer", Learned::ByEvent), ("naive", Learned::ByEvent)],
            ),
        ],
    }
}

fn expire() -> Fault {
    Fault::Expire { resource: None }
}

fn script(client: ClientGo) -> Script {
    let informer = informer(client);
    let cut = Fault::Cut {
        target: Target::All,
        cut: Cut::Reset,
    };
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
                    start("informer", informer, configmaps()),
                    start("naive", Program::LastSeen, configmaps()),
                ],
            ),
            act(4.0, [write_map("prices", 1)]),
            act(8.0, [Deed::Inject(Fault::Refuse), Deed::Inject(cut)]),
            act(9.5, [write_map("stock", 1)]),
            act(11.0, [delete_map("report")]),
            act(12.5, [Deed::Inject(expire())]),
            act(13.5, [Deed::Lift(Fault::Refuse)]),
            act(40.0, [write_map("prices", 2)]),
        ],
    }
}

fn three() -> Passage {
    Passage {
        key: "three",
        at: secs(5.0),
        shows: (secs(0.0), secs(8.0)),
        moments: vec![
            Moment::first(Sought::Phase("naive", "watching")),
            Moment::first(Sought::Write(ChangeType::Modified, "prices")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[],
        ..Passage::BASE
    }
}

fn away() -> Passage {
    Passage {
        key: "away",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Modified, "stock")),
            Moment::first(Sought::Write(ChangeType::Deleted, "report")),
        ],
        question: Some(Question {
            form: Form::Choose {
                answers: 3,
                right: 0,
            },
            covers: true,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn forgotten() -> Passage {
    Passage {
        key: "forgotten",
        at: secs(13.2),
        shows: (secs(4.0), secs(16.0)),
        moments: vec![Moment::first(Sought::Write(ChangeType::Deleted, "report"))],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn gone() -> Passage {
    Passage {
        key: "gone",
        at: secs(20.0),
        shows: (secs(6.0), secs(24.0)),
        moments: vec![
            // The first requests after the server accepts connections again.
            Moment::after(6, Sought::Asked("naive", "watch")),
            Moment::after(4, Sought::Asked("informer", "watch")),
        ],
        question: Some(Question {
            form: Form::Fill {
                columns: &["informer", "naive"],
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

fn relist() -> Passage {
    Passage {
        key: "relist",
        at: secs(28.0),
        shows: (secs(6.0), secs(32.0)),
        moments: vec![
            Moment::first(Sought::Error),
            Moment::after(1, Sought::Listed),
            Moment::first(Sought::Change(
                ChangeType::Deleted,
                Origin::Inferred,
                "report",
            )),
            Moment::first(Sought::Change(ChangeType::Modified, Origin::List, "stock")),
            Moment::first(Sought::Belief("informer", "report", false)),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client informer",
                    is_right: true,
                },
                Tap {
                    lane: "client naive",
                    is_right: false,
                },
            ]),
            covers: false,
        }),
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        speed: Some(4),
        ..Passage::BASE
    }
}

fn again() -> Passage {
    Passage {
        key: "again",
        at: secs(44.0),
        shows: (secs(4.0), secs(48.0)),
        moments: vec![
            Moment::after(1, Sought::Asked("naive", "watch")),
            Moment::after(1, Sought::Write(ChangeType::Modified, "prices")),
        ],
        moves: Some(0),
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(48.0),
        shows: (secs(0.0), secs(52.0)),
        ..Passage::BASE
    }
}
