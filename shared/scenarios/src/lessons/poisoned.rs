//! Lesson: the cure that stopped curing (docs/findings/F24.md). Two apiservers of different versions share one etcd.
//! Both get an event without its previous state, and so an error. The cache of 1.24 lists, and is right again. That of
//! 1.27 goes on, and keeps an object that is gone.

use std::time::Duration;

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Defect, Fault, Program, Request, ServerId, Target};

use super::{
    Aim, Break, Find, Form, Goal, JOBS, Lanes, Learned, Lesson, Moment, Movable, News, Panel,
    Passage, Question, Script, Sought, Tap, act, configmaps, create_batch, create_map, delete_map,
    informer, jobs, patch_of, released, restarted, secs, slow_etcd, start_at, write_map,
};
use crate::script::Deed;

/// The URL path of the leases.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/// The server whose cache lists after an error of etcd.
const A: ServerId = ServerId(0);
/// The server whose cache goes on after an error of etcd.
const B: ServerId = ServerId(1);
/// The number of readers at [`B`]. They need not be many, since the streams are slow; the number has no source.
const READERS: u16 = 60;
/// The time that etcd needs for a response on a watch stream of configmaps. The number has no source.
const PER_RESPONSE: Duration = Duration::from_millis(500);
/// The code of an RST_STREAM frame: INTERNAL_ERROR (RFC 9113 section 7).
const INTERNAL_ERROR: u32 = 2;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "poisoned",
        lasts: secs(120.0),
        server: released(27, 0),
        // 1.24 is the last minor version without k/k#111387 (docs/semantics/servers.md#cache-retry).
        servers: |server| vec![released(24, 0), server],
        client: ClientGo::minor(27),
        watches: None,
        script,
        passages: vec![
            two(),
            nil(),
            retried(),
            moved(),
            relisted(),
            proof(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "restart",
                deeds: restarted(B).into(),
            },
            Break {
                key: "create-report",
                deeds: vec![create_map("report")],
            },
            Break {
                key: "rst-stream",
                deeds: reset_informers(),
            },
            super::end_watches(),
        ],
        movables: vec![compaction()],
        goals: vec![
            Goal {
                key: "drops",
                shows: Aim::Moment(Sought::Belief("new", "report", false)),
                clicks: 1,
            },
            Goal {
                key: "true-again",
                shows: Aim::Moment(Sought::HoldsNewer("new", "report", 20)),
                clicks: 1,
            },
        ],
    }
}

fn reset_informers() -> Vec<Deed> {
    let reset = |name: &str| {
        Deed::Inject(Fault::ResetStreams {
            target: Target::UserAgent(name.to_owned()),
            code: INTERNAL_ERROR,
        })
    };
    vec![reset("old "), reset("new ")]
}

/// The compaction of etcd, by hand. It is no write, so it may pass the writes.
fn compaction() -> Movable {
    let written = secs(12.2);
    Movable {
        name: "compaction",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "report",
        },
        written,
        at: written,
        bounds: (secs(9.5), secs(58.0)),
        snaps: vec![],
        settled: secs(62.0),
        finds: vec![
            Find::of(
                "cured",
                &[("old", Learned::FromList), ("new", Learned::Never)],
            ),
            Find::of(
                "only-new",
                &[("old", Learned::ByEvent), ("new", Learned::Never)],
            ),
            Find::of(
                "refused",
                &[("old", Learned::ByEvent), ("new", Learned::FromList)],
            ),
            Find::of(
                "both",
                &[("old", Learned::ByEvent), ("new", Learned::ByEvent)],
            ),
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let job = json!({"metadata": {"name": "job"}});
    let lease = json!({"metadata": {"name": "node-1"}, "spec": {"holderIdentity": "node-1"}});
    let before = vec![
        Deed::Inject(Fault::EtcdDefect(Defect::GapUnderStarvation)),
        create_batch(),
        Deed::Call(Request::new("POST", JOBS).json(&job)),
        Deed::Call(Request::new("POST", LEASES).json(&lease)),
        create_map("prices"),
        create_map("report"),
    ];
    let mut acts = vec![
        act(
            1.0,
            [
                start_at(A, "old", informer(client), configmaps()),
                start_at(B, "new", informer(client), configmaps()),
            ],
        ),
        // It comes after the first passage, which shows five lanes.
        act(
            9.0,
            [start_at(
                B,
                "readers",
                Program::ManyWatches { watches: READERS },
                jobs(),
            )],
        ),
        act(10.0, [Deed::Inject(slow_etcd(PER_RESPONSE))]),
        act(12.0, [delete_map("report")]),
        act(12.2, [Deed::Inject(Fault::CompactEtcd)]),
        act(50.0, [Deed::Lift(slow_etcd(PER_RESPONSE))]),
        act(60.0, [write_map("prices", 1)]),
        act(70.0, reset_informers()),
        act(
            80.0,
            [
                start_at(B, "fresh", informer(client), configmaps()),
                start_at(
                    B,
                    "lister",
                    Program::Poller {
                        every: Duration::from_secs(5),
                    },
                    configmaps(),
                ),
            ],
        ),
    ];
    for (turn, at_s) in [11.0, 11.1, 11.2, 11.3, 11.4, 11.5].into_iter().enumerate() {
        acts.push(act(at_s, [write_job(turn)]));
    }
    for turn in 13..48_u32 {
        acts.push(act(f64::from(turn), [write_job(turn as usize)]));
    }
    for turn in 1..12_u32 {
        let patch = json!({"metadata": {"annotations": {"renewed": turn.to_string()}}});
        let at_s = f64::from(turn * 10) + 5.5;
        acts.push(act(at_s, [patch_of(&format!("{LEASES}/node-1"), &patch)]));
    }
    Script { before, acts }
}

fn write_job(turn: usize) -> Deed {
    let patch = json!({"data": {"turn": turn.to_string()}});
    patch_of(&format!("{JOBS}/job"), &patch)
}

fn two() -> Passage {
    Passage {
        key: "two",
        at: secs(8.0),
        shows: (secs(0.0), secs(10.0)),
        moments: vec![
            Moment::first(Sought::Asked("old", "watch=true")),
            Moment::first(Sought::Asked("new", "watch=true")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Sides,
        panels: &[],
        speed: Some(2),
        ..Passage::BASE
    }
}

fn nil() -> Passage {
    Passage {
        key: "nil",
        at: secs(16.0),
        shows: (secs(8.0), secs(18.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "report")),
            Moment::first(Sought::Cached("report", false)),
            Moment::first(Sought::Belief("old", "report", false)),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client old",
                    is_right: false,
                },
                Tap {
                    lane: "client new",
                    is_right: true,
                },
            ]),
            covers: true,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        speed: Some(20),
        ..Passage::BASE
    }
}

fn retried() -> Passage {
    Passage {
        key: "retried",
        at: secs(62.0),
        shows: (secs(8.0), secs(66.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Modified, "prices")),
            Moment::first(Sought::Knows("new", 30)),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(66.0),
        shows: (secs(8.0), secs(68.0)),
        question: Some(Question::choose(3, 1)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds],
        speed: Some(4),
        ..Passage::BASE
    }
}

fn relisted() -> Passage {
    Passage {
        key: "relisted",
        at: secs(76.0),
        shows: (secs(50.0), secs(80.0)),
        moments: vec![Moment::first(Sought::Relisted("new", u64::MAX))],
        question: Some(Question::choose(3, 0)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        speed: Some(10),
        ..Passage::BASE
    }
}

fn proof() -> Passage {
    Passage {
        key: "proof",
        at: secs(94.0),
        shows: (secs(65.0), secs(100.0)),
        moments: vec![
            Moment::first(Sought::Belief("fresh", "report", true)),
            Moment::first(Sought::Belief("lister", "prices", true)),
        ],
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        speed: Some(10),
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(104.0),
        shows: (secs(0.0), secs(120.0)),
        lanes: Lanes::Layers,
        ..Passage::BASE
    }
}
