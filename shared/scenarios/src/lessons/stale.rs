//! A lesson on two servers whose caches stand at different times (docs/findings/F22.md). The cache of the second server
//! stops, and both clients are moved there. A watch from the future is silent (F32). A reflector of 1.15 lists at `0`
//! and goes back in time; one of 1.18.6 lists at least at its own number. Then etcd itself is put back (F33).

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Cut, Fault, ServerId, Target};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, PODS, Panel,
    Passage, Question, Script, Sought, Tap, act, create_pod, delete_pod, informer, patch_of, pods,
    released, restarted, secs, start,
};
use crate::script::Deed;

/// The client-go of `old`, which always lists at `0` (docs/semantics/clients.md#reflector-versions).
const OLD: ClientGo = ClientGo::minor(15);
/// The server that both clients use first.
const A: ServerId = ServerId(0);
/// The server whose cache stops.
const B: ServerId = ServerId(1);
/// INTERNAL_ERROR of RFC 9113.
const INTERNAL_ERROR: u32 = 2;
/// By how much the second restore raises etcd's revision. etcd's documentation advises a far greater number; any that
/// is above all numbers of the lesson does.
const BUMP: u64 = 1_000;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "stale",
        lasts: secs(172.0),
        server: released(30, 0),
        servers: |server| vec![server, server],
        client: ClientGo::release(18, 6),
        watches: None,
        script,
        passages: vec![
            two(),
            frozen(),
            future(),
            back(),
            moved(),
            restored(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "to-0",
                deeds: all_to(A, B),
            },
            Break {
                key: "reset-streams",
                deeds: vec![Deed::Inject(reset_streams())],
            },
            super::end_watches(),
            Break {
                key: "write-web-0",
                deeds: vec![label("web-0", "yours")],
            },
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                key: "truth",
                // web-1 is created at revision 11, and the write at 60 s has revision 12.
                shows: Aim::Moment(Sought::KnowsWhile("old", 11, 11)),
                clicks: 1,
            },
            Goal {
                key: "right",
                shows: Aim::Moment(Sought::WentBack("new")),
                clicks: 1,
            },
        ],
    }
}

/// The deletion of job, between the write before it at 5 s and the next one at 15 s.
fn deletion() -> Movable {
    let written = secs(6.0);
    Movable {
        name: "job",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "job",
        },
        written,
        at: written,
        bounds: (secs(5.2), secs(14.8)),
        snaps: vec![],
        settled: secs(71.0),
        finds: vec![
            Find::of(
                "twice",
                &[("old", Learned::Again(2)), ("new", Learned::ByEvent)],
            ),
            Find::of(
                "list",
                &[("old", Learned::ByEvent), ("new", Learned::FromList)],
            ),
        ],
    }
}

fn out(server: ServerId) -> Fault {
    Fault::OutOfRotation { server }
}

/// Returns deeds by which the load balancer moves all clients from one server to the other.
fn all_to(to: ServerId, from: ServerId) -> Vec<Deed> {
    vec![
        Deed::Lift(out(to)),
        Deed::Inject(out(from)),
        Deed::Inject(Fault::Cut {
            target: Target::Server(from),
            cut: Cut::Reset,
        }),
    ]
}

fn reset_streams() -> Fault {
    Fault::ResetStreams {
        target: Target::All,
        code: INTERNAL_ERROR,
    }
}

fn stopped() -> Fault {
    Fault::FreezeCaches {
        server: B,
        resource: Some("pods".to_owned()),
    }
}

/// Returns deeds that put etcd back to its backup, and restart both servers, as one does after a restore.
fn put_back(bump: Option<u64>) -> Vec<Deed> {
    let mut deeds = vec![Deed::Inject(Fault::RestoreSnapshot { bump })];
    deeds.extend([A, B].into_iter().flat_map(restarted));
    deeds
}

fn label(pod: &str, value: &str) -> Deed {
    let patch = json!({"metadata": {"labels": {"written": value}}});
    patch_of(&format!("{PODS}/{pod}"), &patch)
}

fn script(client: ClientGo) -> Script {
    Script {
        before: vec![Deed::Inject(out(B)), create_pod("web-0"), create_pod("job")],
        acts: vec![
            act(
                1.0,
                [
                    start("old", informer(OLD), pods()),
                    start("new", informer(client), pods()),
                ],
            ),
            act(3.0, [Deed::Inject(stopped())]),
            act(4.0, [delete_pod("web-0")]),
            act(5.0, [create_pod("web-0")]),
            act(6.0, [delete_pod("job")]),
            act(8.0, all_to(B, A)),
            act(11.0, [Deed::Inject(reset_streams())]),
            act(15.0, [create_pod("web-1")]),
            act(60.0, [label("web-1", "1")]),
            act(70.0, [Deed::Lift(stopped())]),
            act(
                76.0,
                [Deed::Lift(out(A)), Deed::Inject(Fault::TakeSnapshot)],
            ),
            act(78.0, [create_pod("late")]),
            act(79.0, [label("web-1", "2")]),
            act(80.0, put_back(None)),
            act(82.0, [create_pod("next")]),
            act(150.0, put_back(Some(BUMP))),
        ],
    }
}

fn two() -> Passage {
    Passage {
        key: "two",
        at: secs(2.5),
        shows: (secs(0.0), secs(6.0)),
        moments: vec![
            Moment::first(Sought::Asked("old", "watch=true")),
            Moment::first(Sought::Asked("new", "watch=true")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Sides,
        panels: &[],
        ..Passage::BASE
    }
}

fn frozen() -> Passage {
    Passage {
        key: "frozen",
        at: secs(7.5),
        shows: (secs(0.0), secs(11.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "web-0")),
            Moment::after(1, Sought::Write(ChangeType::Added, "web-0")),
            Moment::first(Sought::Write(ChangeType::Deleted, "job")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds],
        ..Passage::BASE
    }
}

fn future() -> Passage {
    Passage {
        key: "future",
        at: secs(10.5),
        shows: (secs(2.0), secs(14.0)),
        moments: vec![
            Moment::after(1, Sought::Asked("old", "watch=true")),
            Moment::after(1, Sought::Asked("new", "watch=true")),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "etcd",
                    is_right: false,
                },
                Tap {
                    lane: "apiserver 1",
                    is_right: true,
                },
                Tap {
                    lane: "client old",
                    is_right: true,
                },
                Tap {
                    lane: "client new",
                    is_right: false,
                },
            ]),
            covers: true,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds],
        ..Passage::BASE
    }
}

fn back() -> Passage {
    Passage {
        key: "back",
        at: secs(17.0),
        shows: (secs(2.0), secs(20.0)),
        moments: vec![
            Moment::after(1, Sought::Asked("old", "resourceVersion=0")),
            Moment::after(1, Sought::Belief("old", "job", true)),
            Moment::first(Sought::Relisted("new", u64::MAX)),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        speed: Some(20),
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(73.0),
        shows: (secs(0.0), secs(80.0)),
        moments: vec![
            Moment::first(Sought::Belief("new", "web-1", true)),
            Moment::after(1, Sought::Belief("old", "job", false)),
        ],
        question: Some(Question::choose(3, 2)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        speed: Some(4),
    }
}

fn restored() -> Passage {
    Passage {
        key: "restored",
        at: secs(90.0),
        shows: (secs(68.0), secs(98.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Added, "late")),
            Moment::first(Sought::Write(ChangeType::Added, "next")),
        ],
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        speed: Some(20),
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(160.0),
        shows: (secs(68.0), secs(172.0)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds, Panel::Code, Panel::Breaks],
        ..Passage::BASE
    }
}
