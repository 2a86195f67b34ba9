//! A lesson on a resourceVersion that goes back (docs/findings/F23.md). An apiserver of 1.9.2 sends a deletion with the
//! number that its object had before. A reflector keeps that number, and lives history again after the next orderly end
//! (docs/semantics/servers.md#replay-step-by-step). Another client has the same program and a server of 1.9.3.

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Fault, Program, Request, Scope, ServerId};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, Tap, act, end_streams, patch_of, released, secs, start,
};
use crate::script::{Act, Deed};

/// The URL path of the lesson's services.
const SERVICES: &str = "/api/v1/namespaces/default/services";
/// The URL path of the lease whose renewals raise etcd's revision between the writes of services.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/node-a";
/// The server of 1.9.2, which the client `first` uses.
const BUGGY: ServerId = ServerId(0);
/// The server of 1.9.3, which the client `second` uses.
const CURED: ServerId = ServerId(1);

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "back-in-time",
        lasts: secs(26.0),
        server: released(9, 2),
        servers: |server| vec![server, released(9, 3)],
        client: ClientGo::V1_9,
        watches: None,
        script,
        passages: vec![
            numbers(),
            deleted(),
            fallen(),
            again(),
            moved(),
            between(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "create-cart",
                deeds: vec![create("cart")],
            },
            Break {
                key: "write-web",
                deeds: vec![write("web", 9)],
            },
            Break {
                key: "delete-cart",
                deeds: vec![delete("cart")],
            },
            super::end_watches(),
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                key: "spared",
                // A write of a service between the deletion and the end has revision 141.
                shows: Aim::Moment(Sought::Resumed("first", 141, 0)),
                clicks: 1,
            },
            Goal {
                key: "again",
                // The last write of the script has revision 150. One write alone would be the deletion itself.
                shows: Aim::Moment(Sought::Behind("first", 2, 151)),
                clicks: 3,
            },
        ],
    }
}

/// The deletion of cart, between the write before it at 5.73 s and the next one at 14.25 s.
fn deletion() -> Movable {
    let written = secs(7.0);
    Movable {
        name: "cart",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "cart",
        },
        written,
        at: written,
        bounds: (secs(6.1), secs(13.8)),
        snaps: vec![],
        settled: secs(13.9),
        finds: vec![
            Find::of(
                "thrice",
                &[("first", Learned::Again(3)), ("second", Learned::ByEvent)],
            ),
            Find::of(
                "twice",
                &[("first", Learned::Again(2)), ("second", Learned::ByEvent)],
            ),
            Find::of(
                "once",
                &[("first", Learned::ByEvent), ("second", Learned::ByEvent)],
            ),
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let services = || Scope::new("v1", "services", "Service").in_namespace("default");
    let reflector = |name| start(name, Program::Reflector { version: client }, services());
    let out = |server| Fault::OutOfRotation { server };
    let lease = json!({"metadata": {"name": "node-a"}, "spec": {"holderIdentity": "node-a"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let fill = |revision| Deed::Fill {
        path: LEASE,
        revision,
    };
    let mut acts = vec![
        act(0.5, [reflector("first")]),
        act(
            0.7,
            [
                Deed::Lift(out(CURED)),
                Deed::Inject(out(BUGGY)),
                reflector("second"),
            ],
        ),
        act(0.9, [Deed::Lift(out(BUGGY))]),
        act(2.0, [create("cart")]),
        act(3.0, [create("web")]),
        act(4.0, [delete("web")]),
        act(5.0, [create("web")]),
        act(7.0, [delete("cart")]),
        act(10.0, [end_streams()]),
        act(12.0, [end_streams()]),
        act(15.0, [write("web", 1)]),
        act(17.0, [end_streams()]),
        act(22.0, [end_streams()]),
    ];
    // Renewals: up to the revision before that of each write of a service. None is where the deletion can be moved, and
    // none is so near a write of a service that its mark would hide that of the write.
    for (from_s, revisions) in [
        (0.95, 81..100),
        (2.25, 101..110),
        (3.25, 111..120),
        (4.25, 121..130),
        (5.25, 131..140),
        (14.25, 141..150),
    ] {
        let step_s = if from_s < 1.0 { 0.04 } else { 0.06 };
        for (turn, revision) in (0_u32..).zip(revisions) {
            acts.push(Act {
                at: secs(from_s + step_s * f64::from(turn)),
                ..act(0.0, [fill(revision)])
            });
        }
    }
    Script {
        before: vec![
            Deed::Inject(out(CURED)),
            Deed::Call(Request::new("POST", leases).json(&lease)),
            fill(79),
            create("shop"),
        ],
        acts,
    }
}

fn create(name: &str) -> Deed {
    let body = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
    Deed::Call(Request::new("POST", SERVICES).json(&body))
}

fn write(name: &str, turn: u32) -> Deed {
    let patch = json!({"metadata": {"annotations": {"turn": turn.to_string()}}});
    patch_of(&format!("{SERVICES}/{name}"), &patch)
}

fn delete(name: &str) -> Deed {
    Deed::Call(Request::new("DELETE", &format!("{SERVICES}/{name}")))
}

fn numbers() -> Passage {
    Passage {
        key: "numbers",
        at: secs(3.5),
        shows: (secs(0.0), secs(7.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Added, "cart")),
            Moment::first(Sought::Write(ChangeType::Added, "web")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Sides,
        panels: &[],
        ..Passage::BASE
    }
}

fn deleted() -> Passage {
    Passage {
        key: "deleted",
        at: secs(6.0),
        shows: (secs(0.0), secs(9.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "web")),
            Moment::after(1, Sought::Write(ChangeType::Added, "web")),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client first",
                    is_right: true,
                },
                Tap {
                    lane: "client second",
                    is_right: false,
                },
                Tap {
                    lane: "etcd",
                    is_right: false,
                },
            ]),
            covers: false,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn fallen() -> Passage {
    Passage {
        key: "fallen",
        at: secs(8.5),
        shows: (secs(0.0), secs(12.0)),
        moments: vec![Moment::first(Sought::Write(ChangeType::Deleted, "cart"))],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn again() -> Passage {
    Passage {
        key: "again",
        at: secs(11.0),
        shows: (secs(1.0), secs(13.0)),
        moments: vec![Moment::after(1, Sought::Asked("first", "watch=true"))],
        question: Some(Question::choose(3, 0)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(14.0),
        shows: (secs(0.0), secs(16.0)),
        moments: vec![Moment::after(2, Sought::Asked("first", "watch=true"))],
        question: Some(Question::choose(3, 1)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn between() -> Passage {
    Passage {
        key: "between",
        at: secs(18.0),
        shows: (secs(0.0), secs(21.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Modified, "web")),
            Moment::after(3, Sought::Asked("first", "watch=true")),
        ],
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(20.0),
        shows: (secs(0.0), secs(25.0)),
        lanes: Lanes::Layers,
        ..Passage::BASE
    }
}
