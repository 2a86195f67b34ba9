//! Lesson: all at once. A hundred clients at each of two apiservers, over one etcd. What ends their watches together
//! is an election of etcd (F16), the end of a server (F06, F07), and an edit of a CRD (F17); a deleted CRD answers 404
//! (F18). The crowd has no lanes: its requests are counted.

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Fault, Request, Scope, ServerId};

use super::{
    Aim, Bars, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel,
    Passage, Question, Script, Sought, Tap, act, configmaps, create_map, create_pod, delete_pod,
    informer, killed, patch_of, pods, released, secs, shutdown, start,
};
use crate::script::{Act, Deed};

/// The URL path of definitions of custom types.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The custom type, which is the name of its definition, too.
const TYPE: &str = "promotions.shop.example.com";
/// The URL path of the objects of the custom type.
const PROMOTIONS: &str = "/apis/shop.example.com/v1/namespaces/default/promotions";
/// The server whose watch caches list again after an error of etcd.
const A: ServerId = ServerId(0);
/// The server whose watch caches resume after an error of etcd.
const B: ServerId = ServerId(1);
/// When etcd loses its leader.
const LOST_S: f64 = 10.0;
/// When etcd has a leader again.
const BACK_S: f64 = 14.0;
/// The grace period of the second server (`--shutdown-watch-termination-grace-period`).
const GRACE_S: f64 = 60.0;
/// The seconds in which nobody writes: a write without a leader fails, and the leader's return can be moved.
const QUIET_S: std::ops::Range<u32> = 10..46;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "herd",
        lasts: secs(120.0),
        server: released(27, 0),
        servers: |server| vec![released(24, 0), server],
        client: ClientGo::minor(27),
        watches: None,
        script,
        passages: vec![
            crowd(),
            leaderless(),
            once(),
            moved(),
            servers(),
            one_type(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "fail-caches",
                deeds: vec![Deed::Inject(Fault::Reinitialise {
                    server: Some(B),
                    resource: None,
                })],
            },
            Break {
                key: "leader-lost",
                deeds: vec![Deed::Inject(Fault::NoLeader)],
            },
            Break {
                key: "leader-back",
                deeds: vec![Deed::Lift(Fault::NoLeader)],
            },
            super::end_watches(),
        ],
        movables: vec![election()],
        goals: vec![
            Goal {
                key: "listed",
                shows: Aim::Moment(Sought::Relisted("new", u64::MAX)),
                clicks: 1,
            },
            Goal {
                key: "ghost",
                shows: Aim::Ghosts("new", 1),
                clicks: 1,
            },
        ],
    }
}

/// The return of the leader. The deletion of web-1 has waited for it.
fn election() -> Movable {
    let written = secs(BACK_S);
    Movable {
        name: "leader",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "web-1",
        },
        written,
        at: written,
        bounds: (secs(10.5), secs(44.5)),
        snaps: vec![],
        settled: secs(48.0),
        finds: vec![
            Find::of(
                "neither",
                &[("old", Learned::ByEvent), ("new", Learned::ByEvent)],
            ),
            Find::of(
                "old",
                &[("old", Learned::FromList), ("new", Learned::ByEvent)],
            ),
            Find::of(
                "both",
                &[("old", Learned::FromList), ("new", Learned::FromList)],
            ),
        ],
    }
}

fn promotions() -> Scope {
    Scope::new("shop.example.com/v1", "promotions", "Promotion").in_namespace("default")
}

/// Returns deeds with a server out of rotation, so that new connections go to the other one.
fn away_from(server: ServerId, deeds: impl IntoIterator<Item = Deed>) -> Vec<Deed> {
    let fault = Fault::OutOfRotation { server };
    let mut all = vec![Deed::Inject(fault.clone())];
    all.extend(deeds);
    all.push(Deed::Lift(fault));
    all
}

/// Returns the clients of one server: ninety-nine without a name, and one with a name.
fn hundred(name: &str, client: ClientGo) -> [Deed; 4] {
    let crowd = |scope, count| Deed::Crowd {
        name: "crowd",
        program: informer(client),
        scope,
        count,
    };
    [
        start(name, informer(client), pods()),
        crowd(pods(), 39),
        crowd(configmaps(), 40),
        crowd(promotions(), 20),
    ]
}

fn script(client: ClientGo) -> Script {
    let definition = json!({"metadata": {"name": TYPE}, "spec": {
        "group": "shop.example.com", "scope": "Namespaced",
        "names": {"plural": "promotions", "kind": "Promotion"},
        "versions": [{"name": "v1", "served": true, "storage": true}],
    }});
    let short_names = json!({"spec": {"names": {"shortNames": ["promo"]}}});
    let path = format!("{DEFINITIONS}/{TYPE}");
    let mut first = away_from(B, hundred("old", client));
    first.extend(away_from(A, hundred("new", client)));
    let summer = json!({"metadata": {"name": "summer"}});
    let mut acts = vec![
        // The type is established by then.
        act(
            0.5,
            [Deed::Call(Request::new("POST", PROMOTIONS).json(&summer))],
        ),
        act(1.0, first),
        act(LOST_S, [Deed::Inject(Fault::NoLeader)]),
        act(BACK_S, [Deed::Lift(Fault::NoLeader), delete_pod("web-1")]),
        act(50.0, [Deed::Inject(shutdown(B, GRACE_S))]),
        act(54.0, [Deed::Lift(shutdown(B, GRACE_S))]),
        act(60.0, killed(A)),
        act(64.0, [Deed::Lift(shutdown(A, 0.0))]),
        act(
            64.5,
            away_from(A, [start("promo", informer(client), promotions())]),
        ),
        act(75.0, [patch_of(&path, &short_names)]),
        act(90.0, [Deed::Call(Request::new("DELETE", &path))]),
    ];
    acts.extend(writes());
    Script {
        before: vec![
            Deed::Call(Request::new("POST", DEFINITIONS).json(&definition)),
            create_map("prices"),
            create_pod("web-0"),
            create_pod("web-1"),
        ],
        acts,
    }
}

/// Returns the writes of web-0: one in 4 s, as each of them reaches all clients of pods, and a browser runs the lesson.
fn writes() -> impl Iterator<Item = Act> {
    let seconds = (4..95).step_by(4);
    let seconds = seconds.filter(|second| !QUIET_S.contains(second));
    seconds.map(|second| {
        let patch = json!({"metadata": {"annotations": {"turn": second.to_string()}}});
        let write = patch_of(&format!("{}/web-0", super::PODS), &patch);
        act(f64::from(second) + 0.25, [write])
    })
}

fn crowd() -> Passage {
    Passage {
        key: "crowd",
        at: secs(8.0),
        shows: (secs(0.0), secs(16.0)),
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

fn leaderless() -> Passage {
    Passage {
        key: "leaderless",
        at: secs(12.5),
        shows: (secs(4.0), secs(24.0)),
        question: Some(Question {
            form: Form::Draw(&Bars {
                server: 0,
                from_s: 13,
                step: 25,
                parts: &[&[0], &[142, 158], &[0, 0, 0, 0, 0, 0, 0]],
            }),
            covers: false,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Crowd],
        ..Passage::BASE
    }
}

fn once() -> Passage {
    Passage {
        key: "once",
        at: secs(23.5),
        shows: (secs(8.0), secs(25.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "web-1")),
            Moment::after(1, Sought::Asked("old", "watch=true")),
            Moment::first(Sought::Asked("old", "pods?resourceVersion=")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Sides,
        panels: &[Panel::Crowd, Panel::Wire],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(48.5),
        shows: (secs(5.0), secs(50.0)),
        question: Some(Question::choose(3, 1)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Crowd, Panel::Wire, Panel::Holds],
        speed: Some(5),
        ..Passage::BASE
    }
}

fn servers() -> Passage {
    Passage {
        key: "servers",
        at: secs(70.0),
        shows: (secs(46.0), secs(72.0)),
        moments: vec![
            Moment::after(1, Sought::Asked("new", "watch=true")),
            Moment::after(3, Sought::Asked("old", "watch=true")),
            Moment::first(Sought::Asked("promo", "watch=true")),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client old",
                    is_right: false,
                },
                Tap {
                    lane: "client new",
                    is_right: false,
                },
                Tap {
                    lane: "client promo",
                    is_right: true,
                },
            ]),
            covers: false,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Crowd, Panel::Wire, Panel::Holds],
        speed: Some(8),
        ..Passage::BASE
    }
}

fn one_type() -> Passage {
    Passage {
        key: "type",
        at: secs(108.0),
        shows: (secs(72.0), secs(110.0)),
        moments: vec![
            Moment::after(1, Sought::Asked("promo", "watch=true")),
            Moment::first(Sought::Asked("promo", "promotions?resourceVersion=")),
            Moment::after(2, Sought::Asked("promo", "promotions?resourceVersion=")),
        ],
        lanes: Lanes::Layers,
        panels: &[Panel::Crowd, Panel::Wire, Panel::Holds],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(114.0),
        shows: (secs(0.0), secs(120.0)),
        lanes: Lanes::Layers,
        panels: &[Panel::Crowd, Panel::Wire, Panel::Holds, Panel::Breaks],
        ..Passage::BASE
    }
}
