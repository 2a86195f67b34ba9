//! Lesson 1: life of a watch event. List, watch, the resourceVersions 519, 603 and 604 of the talk of 2018, and the
//! fold.

use serde_json::json;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Controller, Program, Request, Version};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, PODS, Panel,
    Passage, Question, Script, Sought, Tap, act, create_pod, delete_pod, patch_of, pods, secs,
    start,
};
use crate::script::{Act, Deed};

/// The URL path of a node's lease, which the lesson's script writes. A kubelet renews the lease of its node in the
/// namespace `kube-node-lease` (KEP-589); the lesson uses `kube-system`.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/node-a";

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "watch-event",
        title: "Life of a watch event",
        teaches: "List, watch, and what resourceVersions 519, 603 and 604 say",
        lasts: secs(60.0),
        server: Version::DEFAULT,
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
                words: "Create a pod",
                deeds: vec![create_pod("yours")],
            },
            Break {
                words: "Change it",
                deeds: vec![patch_of(
                    &format!("{PODS}/yours"),
                    &json!({"metadata": {"labels": {"touched": "by-you"}}}),
                )],
            },
            Break {
                words: "Delete it",
                deeds: vec![delete_pod("yours")],
            },
            super::end_watches(),
        ],
        movables: vec![beginning()],
        goals: vec![
            Goal {
                words: "Make controller watch again from 604, with one click.",
                shows: Aim::Moment(Sought::Resumed("controller", 604, 0)),
                clicks: 1,
            },
            Goal {
                words: "Make controller watch again from 519 while etcd is past 600, with one click.",
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
        words: "START controller",
        lane: "client controller",
        news: News {
            change: ChangeType::Added,
            object: "web-1",
            words: "of web-1",
        },
        written,
        at: written,
        bounds: (secs(0.5), secs(16.0)),
        snaps: vec![],
        settled: secs(17.0),
        finds: vec![
            Find {
                words: "controller hears of web-1 by an event",
                learn: &[("controller", Learned::ByEvent)],
                only_at: None,
            },
            Find {
                words: "controller learns of web-1 from its list",
                learn: &[("controller", Learned::FromList)],
                only_at: None,
            },
            Find {
                words: "controller never hears of web-1, and is right all the same",
                learn: &[("controller", Learned::Never)],
                only_at: None,
            },
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let lease = json!({"metadata": {"name": "node-a"}, "spec": {"holderIdentity": "node-a"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let informer = Program::Controller(Controller {
        version: client,
        ..Controller::default()
    });
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
        title: "List, then watch",
        at: secs(2.0),
        shows: (secs(0.0), secs(8.0)),
        text: &[
            "*controller* is an informer: it wants to know about pods. It does two things. First it *lists* {1}: \
             `GET …/pods` returns all pods, and one resourceVersion for the list as a whole, 518. Then it *watches* \
             {2}: it requests the same path with `watch=true&resourceVersion=518`, and the response stays open.",
            "The pod db-0 was in the list, with its own resourceVersion: the revision at which *it* was last \
             written. The list's resourceVersion says up to which revision the list is complete. A watch begins at \
             the list's resourceVersion, never at an item's.",
            "Above controller are two layers that no client ever sees: etcd, and the apiserver's watch cache.",
        ],
        moments: vec![
            Moment::first("controller lists", Sought::Asked("controller", "/pods")),
            Moment::first(
                "controller watches",
                Sought::Phase("controller", "watching"),
            ),
        ],
        question: Some(Question {
            asks: "A pod is created now. What does controller send to learn about it?",
            form: Form::Choose {
                answers: &["A list", "A GET of the pod", "Nothing"],
                right: 2,
                replies: &[
                    "A list would show the pod. But when would controller know that it should list?",
                    "To GET it, controller would have to know its name already.",
                    "",
                ],
            },
            because: "Its stream is open. The server writes the event into it.",
            covers: false,
        }),
        lanes: Lanes::Layers,
        panels: &[],
        ..Passage::BASE
    }
}

fn born() -> Passage {
    Passage {
        title: "519: a pod is created",
        at: secs(4.5),
        shows: (secs(0.0), secs(8.0)),
        text: &[
            "web-1 was written to etcd {1}, and that write got the next revision, 519. The apiserver has one watch \
             on etcd for all pods. Its *watch cache* received the event {2} and passed it to every client that \
             watches pods.",
            "controller's stream delivered `ADDED` with resourceVersion 519, and controller has believed in web-1 \
             since {3}. An object's resourceVersion is the revision of etcd at which it was last written. It is one \
             number with two names.",
        ],
        moments: vec![
            Moment::first("written in etcd", Sought::Write(ChangeType::Added, "web-1")),
            Moment::first("in the watch cache", Sought::Cached("web-1", true)),
            Moment::first(
                "controller knows it",
                Sought::Belief("controller", "web-1", true),
            ),
        ],
        question: Some(Question {
            asks: "A node's lease is renewed 83 times now, and no pod is written. Tap the lanes that these writes \
                reach.",
            form: Form::Tap(&[
                Tap {
                    lane: "etcd",
                    words: "etcd",
                    is_right: true,
                    reply: "Each renewal is a write to etcd, and takes the store's next revision.",
                },
                Tap {
                    lane: "apiserver 0 pods",
                    words: "cache of pods",
                    is_right: false,
                    reply: "The cache of pods has a watch on etcd for pods alone. A lease is no pod.",
                },
                Tap {
                    lane: "client controller",
                    words: "controller",
                    is_right: false,
                    reply: "controller watches pods. Which event about a pod would there be?",
                },
            ]),
            because: "etcd counts the writes of the whole store, and reaches 602. No event about a pod comes of it, \
                and web-1 stays at 519: an object's number changes only when the object itself is written.",
            covers: false,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn others() -> Passage {
    Passage {
        title: "Revisions belong to the store",
        at: secs(9.5),
        shows: (secs(3.0), secs(11.0)),
        text: &[
            "A lease was renewed 83 times, from {1} to {2}. etcd is at revision 602. No watch of pods delivered an \
             event, and web-1 is still at 519: a watch of pods delivers only pods.",
            "So a jump between two consecutive resourceVersions of a watch does not mean that events were missed. \
             Most revisions belong to other objects.",
        ],
        moments: vec![
            Moment::first(
                "520: the first renewal",
                Sought::Write(ChangeType::Modified, "node-a"),
            ),
            Moment::after(
                82,
                "602: the last",
                Sought::Write(ChangeType::Modified, "node-a"),
            ),
        ],
        question: Some(Question {
            asks: "The scheduler binds web-1 to a node now. What does the watch deliver?",
            form: Form::Choose {
                answers: &["ADDED, 603", "MODIFIED, 603", "The changed field only"],
                right: 1,
                replies: &[
                    "ADDED tells of an object that the watch did not have. Which one of 519 is it?",
                    "",
                    "A watch event carries a whole object, whatever changed in it.",
                ],
            },
            because: "The pod existed, so it is MODIFIED, and the write takes the store's next revision.",
            covers: false,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn again() -> Passage {
    Passage {
        title: "603, 604: the same pod again",
        at: secs(12.0),
        shows: (secs(6.0), secs(14.0)),
        text: &[
            "The scheduler bound web-1 to node-a {1}: `MODIFIED`, 603 {2}. Then the kubelet reported it running {3}: \
             `MODIFIED`, 604 {4}. The lane default/pods is a second client: watchscope itself, which watches pods \
             too, and draws each object.",
            "Each event carries the whole pod at that moment, not only the changed fields. So order matters, and a \
             client may forget 603 once it has 604.",
        ],
        moments: vec![
            Moment::first("603 in etcd", Sought::Write(ChangeType::Modified, "web-1")),
            Moment::first(
                "603 on the wire",
                Sought::Change(ChangeType::Modified, Origin::Live, "web-1"),
            ),
            Moment::after(
                1,
                "604 in etcd",
                Sought::Write(ChangeType::Modified, "web-1"),
            ),
            Moment::after(
                1,
                "604 on the wire",
                Sought::Change(ChangeType::Modified, Origin::Live, "web-1"),
            ),
        ],
        question: Some(Question {
            asks: "A client got 604 and never 603. Is it wrong about the pod?",
            form: Form::Choose {
                answers: &["Yes, the node is missing", "No", "Until the next list"],
                right: 1,
                replies: &[
                    "604 is the pod after both writes. Does the pod of 604 have a node?",
                    "",
                    "What would the list bring that 604 does not have?",
                ],
            },
            because: "604 carries the whole pod, including its node. But the client cannot count changes: events \
                give the state, not the number of changes.",
            covers: false,
        }),
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn fold() -> Passage {
    Passage {
        title: "State is a fold",
        at: secs(14.0),
        shows: (secs(6.0), secs(16.0)),
        text: &[
            "Begin with the list. Then apply each event in turn: `ADDED` and `MODIFIED` put the object into the \
             store under its namespace and name, and `DELETED` removes it. The result is the client's belief. An \
             informer's store is exactly this.",
            "Look at the table of beliefs. etcd, the watch cache, watchscope and controller agree: db-0, and web-1 \
             at 604. They agree without any comparison. The watch cache, watchscope and controller each folded their \
             own list and the same events after it.",
        ],
        question: Some(Question {
            asks: "web-1 is deleted now, by the write with revision 605. What does the DELETED event contain?",
            form: Form::Choose {
                answers: &[
                    "The last pod, 604",
                    "The last pod, stamped 605",
                    "Only its name",
                ],
                right: 1,
                replies: &[
                    "A client resumes from the number of the last event. Resumed from 604, what would come again?",
                    "",
                    "Every event carries a whole object. Of a deleted one, it is the last state.",
                ],
            },
            because: "It contains the last state of the object, with the resourceVersion of the deletion. Before \
                1.9.3 it was the old resourceVersion, and clients that resumed from it went back in time (F23).",
            covers: false,
        }),
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        ..Passage::BASE
    }
}

fn gone() -> Passage {
    Passage {
        title: "605: gone. Move the start",
        at: secs(17.0),
        shows: (secs(0.0), secs(19.0)),
        text: &[
            "The deletion {1} took the same way: etcd, cache {2}, stream {3}, belief {4}. Each client removed web-1 \
             from its store, and each could now resume from 605.",
            "No later event says again that web-1 is gone. A client that misses this event learns of it in two ways \
             only: it resumes from an earlier version, or it compares a list with its store.",
            "Take *the start* of controller by its handle above the picture, and move it. What does the list bring \
             then, and what do the events? Is controller wrong at any place?",
        ],
        moments: vec![
            Moment::first(
                "deleted in etcd",
                Sought::Write(ChangeType::Deleted, "web-1"),
            ),
            Moment::first("out of the watch cache", Sought::Cached("web-1", false)),
            Moment::first(
                "DELETED on the wire",
                Sought::Change(ChangeType::Deleted, Origin::Live, "web-1"),
            ),
            Moment::first(
                "controller drops it",
                Sought::Belief("controller", "web-1", false),
            ),
        ],
        moves: Some(0),
        panels: &[Panel::Wire, Panel::Holds, Panel::Code],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        title: "What to remember",
        at: secs(20.0),
        shows: (secs(0.0), secs(24.0)),
        text: &[
            "A client holds a list and the events after it, folded. Its watch begins at the list's resourceVersion, \
             and may resume from the last event's.",
            "resourceVersions come from one counter for the whole store, so a jump in them means nothing. Compare \
             them only within one kind, because a cluster may keep kinds in separate stores.",
            "A stream delivers a DELETED event once, and only while it is open.",
            "Now it is your turn. Go back as far as you like. The buttons below the picture act at the clock: *End \
             all watches*, and see where both clients resume.",
        ],
        ..Passage::BASE
    }
}
