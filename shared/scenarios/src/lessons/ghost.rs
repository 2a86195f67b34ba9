//! Lesson: watches ghost you. The lesson shows the end-to-end test of docs/semantics/cases.md#ghost-you: a loop that
//! never checks whether its channel is closed. A repaired loop and an informer run under the same faults.

use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Program, Version};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, Tap, act, create_pod, delete_pod, end_streams, informer, pods, secs,
    start,
};

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "ghost",
        lasts: secs(60.0),
        server: Version::DEFAULT,
        servers: super::one,
        client: ClientGo::minor(34),
        watches: Some(("pods", "Pod")),
        script,
        passages: vec![
            wait(),
            ended(),
            deleted(),
            log(),
            deadline(),
            causes(),
            remember(),
        ],
        breaks: vec![
            super::end_watches(),
            super::reset_all(),
            Break {
                key: "create-web-2",
                deeds: vec![create_pod("web-2")],
            },
            Break {
                key: "delete-web-0",
                deeds: vec![delete_pod("web-0")],
            },
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                key: "two-ghosts",
                shows: Aim::Ghosts("broken", 2),
                clicks: 1,
            },
            Goal {
                key: "passes",
                shows: Aim::Moment(Sought::Phase("broken", "done")),
                clicks: 1,
            },
        ],
    }
}

/// The deletion of web-1. All three watch at 2 s, and broken gives up at 31 s.
fn deletion() -> Movable {
    let written = secs(10.0);
    // All watches end then.
    let end = secs(6.0);
    Movable {
        name: "web-1",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "web-1",
        },
        written,
        at: written,
        bounds: (secs(2.0), secs(30.0)),
        snaps: vec![end],
        settled: secs(32.0),
        finds: vec![
            Find::of(
                "all",
                &[
                    ("broken", Learned::ByEvent),
                    ("fixed", Learned::ByEvent),
                    ("informer", Learned::ByEvent),
                ],
            ),
            Find::of(
                "only-informer",
                &[
                    ("broken", Learned::Never),
                    ("fixed", Learned::Never),
                    ("informer", Learned::ByEvent),
                ],
            ),
            Find {
                key: "at-the-end",
                learn: &[
                    ("broken", Learned::Never),
                    ("fixed", Learned::Never),
                    ("informer", Learned::ByEvent),
                ],
                only_at: Some(end),
            },
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let informer = informer(client);
    Script {
        before: vec![create_pod("web-0"), create_pod("web-1")],
        acts: vec![
            act(
                1.0,
                [
                    start("broken", Program::PvcLoop { fixed: false }, pods()),
                    start("fixed", Program::PvcLoop { fixed: true }, pods()),
                    start("informer", informer, pods()),
                ],
            ),
            act(6.0, [end_streams()]),
            act(10.0, [delete_pod("web-1")]),
        ],
    }
}

fn wait() -> Passage {
    Passage {
        key: "wait",
        at: secs(4.0),
        shows: (secs(0.0), secs(9.0)),
        moments: vec![
            Moment::first(Sought::Phase("broken", "watching")),
            Moment::first(Sought::Phase("informer", "watching")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Sides,
        panels: &[],
        ..Passage::BASE
    }
}

fn ended() -> Passage {
    Passage {
        key: "ended",
        at: secs(8.0),
        shows: (secs(3.0), secs(12.0)),
        moments: vec![
            Moment::first(Sought::Phase("broken", "spinning")),
            Moment::first(Sought::Phase("fixed", "failed")),
            Moment::after(1, Sought::Asked("informer", "watch")),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client broken",
                    is_right: false,
                },
                Tap {
                    lane: "client fixed",
                    is_right: false,
                },
                Tap {
                    lane: "client informer",
                    is_right: true,
                },
            ]),
            covers: false,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn deleted() -> Passage {
    Passage {
        key: "deleted",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "web-1")),
            Moment::first(Sought::Belief("informer", "web-1", false)),
        ],
        question: Some(Question {
            form: Form::Choose {
                answers: 3,
                right: 0,
            },
            covers: true,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn log() -> Passage {
    Passage {
        key: "log",
        at: secs(22.0),
        shows: (secs(4.0), secs(26.0)),
        moments: vec![Moment::first(Sought::Phase("broken", "spinning"))],
        question: Some(Question::choose(3, 0)),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn deadline() -> Passage {
    Passage {
        key: "deadline",
        at: secs(33.0),
        shows: (secs(0.0), secs(37.0)),
        moments: vec![Moment::first(Sought::Phase("broken", "failed"))],
        question: Some(Question::choose(3, 2)),
        moves: Some(0),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn causes() -> Passage {
    Passage {
        key: "causes",
        at: secs(36.0),
        shows: (secs(4.0), secs(40.0)),
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(40.0),
        shows: (secs(0.0), secs(44.0)),
        ..Passage::BASE
    }
}
