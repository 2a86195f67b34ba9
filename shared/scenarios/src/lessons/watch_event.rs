//! Lesson: life of a watch event. List, watch, the resourceVersions 519, 603 and 604 of the talk of 2018, and the
//! fold.

use serde_json::json;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Request, Version};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, PODS, Panel,
    Passage, Question, Script, Sought, Tap, act, create_pod, delete_pod, informer, patch_of, pods,
    secs, start,
};
use crate::script::{Act, Deed};

/// The URL path of a node's lease, which the lesson's script writes. A kubelet renews the lease of its node in the
/// namespace `kube-node-lease` (KEP-589); the lesson uses `kube-system`.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/node-a";

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "watch-event",
        lasts: secs(60.0),
        server: Version::DEFAULT,
        servers: super::one,
        client: ClientGo::minor(34),
        watches: Some(("pods", "Pod")),
        script,
        passages: vec![
            list_then_watch(),
            born(),
            others(),
            again(),
            fold(),
            gone(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "create",
                deeds: vec![create_pod("yours")],
            },
            Break {
                key: "change",
                deeds: vec![patch_of(
                    &format!("{PODS}/yours"),
                    &json!({"metadata": {"labels": {"touched": "by-you"}}}),
                )],
            },
            Break {
                key: "delete",
                deeds: vec![delete_pod("yours")],
            },
            super::end_watches(),
        ],
        movables: vec![beginning()],
        goals: vec![
            Goal {
                key: "from-604",
                shows: Aim::Moment(Sought::Resumed("controller", 604, 0)),
                clicks: 1,
            },
            Goal {
                key: "from-519",
                shows: Aim::Moment(Sought::Resumed("controller", 519, 600)),
                clicks: 1,
            },
        ],
    }
}

/// The start of controller. web-1 is created at 4 s and deleted at 15 s.
fn beginning() -> Movable {
    let written = secs(1.0);
    Movable {
        name: "controller",
        lane: "client controller",
        news: News {
            change: ChangeType::Added,
            object: "web-1",
        },
        written,
        at: written,
        bounds: (secs(0.5), secs(16.0)),
        snaps: vec![],
        settled: secs(17.0),
        finds: vec![
            Find::of("by-event", &[("controller", Learned::ByEvent)]),
            Find::of("from-list", &[("controller", Learned::FromList)]),
            Find::of("never", &[("controller", Learned::Never)]),
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let lease = json!({"metadata": {"name": "node-a"}, "spec": {"holderIdentity": "node-a"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let informer = informer(client);
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": "web-1"}, "target": {"kind": "Node", "name": "node-a"},
    });
    let fill = |revision| Deed::Fill {
        path: LEASE,
        revision,
    };
    let mut acts = vec![
        act(1.0, [start("controller", informer, pods())]),
        act(4.0, [create_pod("web-1")]),
        act(
            10.0,
            [Deed::Call(
                Request::new("POST", &format!("{PODS}/web-1/binding")).json(&binding),
            )],
        ),
        act(
            11.0,
            [patch_of(
                &format!("{PODS}/web-1/status"),
                &json!({"status": {"phase": "Running"}}),
            )],
        ),
        act(15.0, [delete_pod("web-1")]),
    ];
    // 83 renewals in 4 s.
    acts.extend((0_u32..83).map(|turn| Act {
        at: secs(5.0 + 0.048 * f64::from(turn)),
        ..act(0.0, [fill(520 + u64::from(turn))])
    }));
    Script {
        before: vec![
            create_pod("db-0"),
            Deed::Call(Request::new("POST", leases).json(&lease)),
            fill(518),
        ],
        acts,
    }
}

fn list_then_watch() -> Passage {
    Passage {
        key: "list_then_watch",
        at: secs(2.0),
        shows: (secs(0.0), secs(8.0)),
        moments: vec![
            Moment::first(Sought::Asked("controller", "/pods")),
            Moment::first(Sought::Phase("controller", "watching")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Layers,
        panels: &[],
        ..Passage::BASE
    }
}

fn born() -> Passage {
    Passage {
        key: "born",
        at: secs(4.5),
        shows: (secs(0.0), secs(8.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Added, "web-1")),
            Moment::first(Sought::Cached("web-1", true)),
            Moment::first(Sought::Belief("controller", "web-1", true)),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "etcd",
                    is_right: true,
                },
                Tap {
                    lane: "apiserver 0 pods",
                    is_right: false,
                },
                Tap {
                    lane: "client controller",
                    is_right: false,
                },
            ]),
            covers: false,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn others() -> Passage {
    Passage {
        key: "others",
        at: secs(9.5),
        shows: (secs(3.0), secs(11.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Modified, "node-a")),
            Moment::after(82, Sought::Write(ChangeType::Modified, "node-a")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn again() -> Passage {
    Passage {
        key: "again",
        at: secs(12.0),
        shows: (secs(6.0), secs(14.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Modified, "web-1")),
            Moment::first(Sought::Change(ChangeType::Modified, Origin::Live, "web-1")),
            Moment::after(1, Sought::Write(ChangeType::Modified, "web-1")),
            Moment::after(
                1,
                Sought::Change(ChangeType::Modified, Origin::Live, "web-1"),
            ),
        ],
        question: Some(Question::choose(3, 1)),
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn fold() -> Passage {
    Passage {
        key: "fold",
        at: secs(14.0),
        shows: (secs(6.0), secs(16.0)),
        question: Some(Question::choose(3, 1)),
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        ..Passage::BASE
    }
}

fn gone() -> Passage {
    Passage {
        key: "gone",
        at: secs(17.0),
        shows: (secs(0.0), secs(19.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "web-1")),
            Moment::first(Sought::Cached("web-1", false)),
            Moment::first(Sought::Change(ChangeType::Deleted, Origin::Live, "web-1")),
            Moment::first(Sought::Belief("controller", "web-1", false)),
        ],
        moves: Some(0),
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(20.0),
        shows: (secs(0.0), secs(24.0)),
        ..Passage::BASE
    }
}
