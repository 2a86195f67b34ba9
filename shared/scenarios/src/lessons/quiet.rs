//! Lesson: a quiet type. Nobody writes a configmap, but each write of others makes a client's resourceVersion older
//! (docs/semantics/lists-and-watches.md#bookmark-quiet-type). A bookmark carries only a number, and saves the client.

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{
    ClientGo, Fault, KubeWatcher, Program, Request, Scope, ServerId, Version,
};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, Tap, act, configmaps, create_map, delete_map, killed, patch_of, secs,
    shutdown, start, write_map,
};
use crate::script::Deed;

/// The URL path of the leases that the nodes of the lesson renew.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/// The URL path of the lesson's Kubernetes events.
const EVENTS: &str = "/api/v1/namespaces/default/events";
/// The nodes. Each renews its lease every 10 s, as kubelets do (docs/simulator.md#workload).
const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];
/// The time between two renewals of a lease, in seconds.
const RENEWAL_S: u32 = 10;
/// The server that all clients use first.
const A: ServerId = ServerId(0);
/// The server that begins later.
const B: ServerId = ServerId(1);
/// When the second server begins.
const BEGINS_S: f64 = 600.0;
/// When the first server dies.
const DIES_S: f64 = 660.0;
/// When the first server is back.
const BACK_S: f64 = 780.0;
/// When the second server dies.
const DIES_TOO_S: f64 = 900.0;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "quiet",
        lasts: secs(990.0),
        server: Version::DEFAULT,
        servers: |server| vec![server, server],
        client: ClientGo::minor(34),
        watches: None,
        script,
        passages: vec![
            nothing(),
            numbers(),
            refused(),
            moved(),
            events(),
            others(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "restart",
                deeds: vec![Deed::Inject(shutdown(A, 0.0)), Deed::Lift(shutdown(A, 0.0))],
            },
            Break {
                key: "write-event",
                deeds: vec![create_event("scaled-again")],
            },
            Break {
                key: "write-prices",
                deeds: vec![write_map("prices", 9)],
            },
            super::end_watches(),
        ],
        movables: vec![beginning()],
        goals: vec![
            Goal {
                key: "relisted",
                shows: Aim::Moment(Sought::Relisted("marks", u64::MAX)),
                clicks: 1,
            },
            Goal {
                key: "survives",
                shows: Aim::Moment(Sought::Belief("retry", "after", true)),
                clicks: 1,
            },
        ],
    }
}

/// The begin of the second server. report is deleted when the first server dies.
fn beginning() -> Movable {
    let written = secs(BEGINS_S);
    Movable {
        name: "begins",
        lane: "apiserver 1",
        news: News {
            change: ChangeType::Deleted,
            object: "report",
        },
        written,
        at: written,
        bounds: (secs(0.5), secs(655.0)),
        snaps: vec![],
        settled: secs(668.0),
        finds: vec![
            Find::of(
                "only-marks",
                &[("marks", Learned::ByEvent), ("plain", Learned::FromList)],
            ),
            Find::of(
                "both",
                &[("marks", Learned::ByEvent), ("plain", Learned::ByEvent)],
            ),
            Find::of(
                "neither",
                &[("marks", Learned::FromList), ("plain", Learned::FromList)],
            ),
        ],
    }
}

fn silent() -> Fault {
    Fault::SilentExpiry {
        resource: "configmaps".to_owned(),
    }
}

fn as_status() -> Fault {
    Fault::GoneAsStatus {
        resource: "configmaps".to_owned(),
    }
}

fn script(client: ClientGo) -> Script {
    let watcher = |bookmarks| {
        Program::KubeWatcher(KubeWatcher {
            bookmarks,
            ..KubeWatcher::default()
        })
    };
    let events = Scope::new("v1", "events", "Event").in_namespace("default");
    let mut before = vec![
        Deed::Inject(Fault::OutOfRotation { server: B }),
        Deed::Inject(shutdown(B, 0.0)),
        create_map("prices"),
        create_map("report"),
        create_event("before"),
    ];
    before.extend(NODES.map(create_lease));
    let mut acts = vec![
        act(
            1.0,
            [
                start("marks", watcher(true), configmaps()),
                start("plain", watcher(false), configmaps()),
            ],
        ),
        // It comes after the first passage, which shows five lanes.
        act(
            4.0,
            [start(
                "retry",
                Program::RetryWatcher { version: client },
                events,
            )],
        ),
        act(BEGINS_S, [Deed::Lift(shutdown(B, 0.0))]),
        act(DIES_S, {
            let mut deeds = vec![delete_map("report")];
            deeds.extend(killed(A));
            deeds.push(Deed::Lift(Fault::OutOfRotation { server: B }));
            deeds
        }),
        act(662.0, [create_event("after")]),
        act(BACK_S, [Deed::Lift(shutdown(A, 0.0))]),
        act(DIES_TOO_S, {
            let mut deeds = vec![Deed::Inject(silent())];
            deeds.extend(killed(B));
            deeds
        }),
        act(
            DIES_TOO_S + 0.3,
            [Deed::Lift(silent()), Deed::Inject(as_status())],
        ),
        act(920.0, [Deed::Lift(as_status())]),
    ];
    // The renewals begin after the earliest begin of the second server that finds all history.
    for turn in 2..98 {
        let at_s = f64::from(turn * RENEWAL_S) + 5.0;
        acts.push(act(at_s, NODES.map(|node| renew(node, turn))));
    }
    Script { before, acts }
}

fn create_lease(node: &str) -> Deed {
    let body = json!({
        "metadata": {"name": node},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": 40},
    });
    Deed::Call(Request::new("POST", LEASES).json(&body))
}

fn renew(node: &str, turn: u32) -> Deed {
    let patch = json!({"metadata": {"annotations": {"renewed": turn.to_string()}}});
    patch_of(&format!("{LEASES}/{node}"), &patch)
}

fn create_event(name: &str) -> Deed {
    let body = json!({
        "metadata": {"name": name},
        "involvedObject": {"kind": "Deployment", "name": "web", "namespace": "default"},
        "reason": "Scaled", "message": "scaled", "type": "Normal",
    });
    Deed::Call(Request::new("POST", EVENTS).json(&body))
}

fn nothing() -> Passage {
    Passage {
        key: "nothing",
        at: secs(3.0),
        shows: (secs(0.0), secs(8.0)),
        moments: vec![
            Moment::first(Sought::Asked("marks", "watch")),
            Moment::first(Sought::Asked("plain", "watch")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Sides,
        panels: &[],
        speed: Some(100),
        ..Passage::BASE
    }
}

fn numbers() -> Passage {
    Passage {
        key: "numbers",
        at: secs(400.0),
        shows: (secs(0.0), secs(440.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Modified, "node-1")),
            Moment::first(Sought::Knows("marks", 20)),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client marks",
                    is_right: false,
                },
                Tap {
                    lane: "client plain",
                    is_right: true,
                },
                Tap {
                    lane: "client retry",
                    is_right: true,
                },
            ]),
            covers: false,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire],
        speed: Some(100),
        ..Passage::BASE
    }
}

fn refused() -> Passage {
    Passage {
        key: "refused",
        at: secs(665.0),
        shows: (secs(590.0), secs(670.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "report")),
            Moment::after(3, Sought::Asked("plain", "watch")),
            Moment::first(Sought::Relisted("plain", u64::MAX)),
            Moment::after(3, Sought::Asked("marks", "watch")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(669.0),
        shows: (secs(0.0), secs(800.0)),
        question: Some(Question::choose(3, 0)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn events() -> Passage {
    Passage {
        key: "events",
        at: secs(672.0),
        shows: (secs(300.0), secs(760.0)),
        moments: vec![
            Moment::after(1, Sought::Asked("retry", "watch")),
            Moment::first(Sought::Phase("retry", "returned")),
            Moment::first(Sought::Write(ChangeType::Added, "after")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        speed: Some(100),
        ..Passage::BASE
    }
}

fn others() -> Passage {
    Passage {
        key: "others",
        at: secs(906.0),
        shows: (secs(897.0), secs(910.0)),
        moments: vec![
            // It also waited after its first 410.
            Moment::after(1, Sought::Phase("plain", "backoff")),
        ],
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        speed: Some(20),
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(985.0),
        shows: (secs(0.0), secs(1_000.0)),
        lanes: Lanes::Layers,
        ..Passage::BASE
    }
}
