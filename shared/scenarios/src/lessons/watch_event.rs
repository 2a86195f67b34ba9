//! Lesson 1: life of a watch event. List, watch, the resourceVersions 519, 603 and 604 of the talk of 2018, and the
//! fold.

use serde_json::json;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Controller, Program, Request, Version};

use super::{
    Break, Lanes, Lesson, Moment, PODS, Panel, Passage, Question, Script, Sought, act, create_pod,
    delete_pod, patch_of, pods, secs, start,
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
        movables: vec![],
        goal: None,
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
            "A client that wants to know about pods does two things. First it *lists* {1}: `GET …/pods` returns all \
             pods, and one resourceVersion for the list as a whole, 518. Then it *watches* {2}: it requests the same \
             path with `watch=true&resourceVersion=518`, and the response stays open.",
            "The pod db-0 was in the list, with its own resourceVersion: the revision at which *it* was last \
             written. The list's resourceVersion says up to which revision the list is complete. A watch begins at \
             the list's resourceVersion, never at an item's.",
            "Two clients do so here: watchscope itself, whose watch is the lane default/pods, and *controller* {3}, \
             an informer. Above them are two layers that no client ever sees: etcd, and the apiserver's watch cache.",
        ],
        moments: vec![
            Moment::first("the list is complete", Sought::Listed),
            Moment::first("the watch opens at 518", Sought::Opened),
            Moment::first(
                "controller watches",
                Sought::Phase("controller", "watching"),
            ),
        ],
        question: Some(Question {
            asks: "A pod is created now. What do the clients send to learn about it?",
            answers: &["A list", "A GET of the pod", "Nothing"],
            right: 2,
            because: "Both streams are open. The server writes the event into them.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
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
            "watchscope's watch got `ADDED` with resourceVersion 519 {3}, and controller has believed in web-1 since \
             {4}. An object's resourceVersion is the revision of etcd at which it was last written. It is one number \
             with two names.",
        ],
        moments: vec![
            Moment::first("written in etcd", Sought::Write(ChangeType::Added, "web-1")),
            Moment::first("in the watch cache", Sought::Cached("web-1", true)),
            Moment::first(
                "ADDED on the wire",
                Sought::Change(ChangeType::Added, Origin::Live, "web-1"),
            ),
            Moment::first(
                "controller knows it",
                Sought::Belief("controller", "web-1", true),
            ),
        ],
        question: Some(Question {
            asks: "A node's lease is renewed 83 times now, and no pod is written. What is web-1's resourceVersion \
                then?",
            answers: &["519", "602", "603"],
            right: 0,
            because: "etcd counts the writes of the whole store. An object's number changes only when the object \
                itself is written.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
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
            answers: &["ADDED, 603", "MODIFIED, 603", "The changed field only"],
            right: 1,
            because: "The pod existed, so it is MODIFIED, and the write takes the store's next revision.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn again() -> Passage {
    Passage {
        title: "603, 604: the same pod again",
        at: secs(12.0),
        shows: (secs(6.0), secs(14.0)),
        text: &[
            "The scheduler bound web-1 to node-a {1}: `MODIFIED`, 603 {2}. Then the kubelet reported it running {3}: \
             `MODIFIED`, 604 {4}.",
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
            answers: &["Yes, the node is missing", "No"],
            right: 1,
            because: "604 carries the whole pod, including its node. But the client cannot count changes: events \
                give the state, not the number of changes.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
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
        moments: vec![],
        question: Some(Question {
            asks: "web-1 is deleted now, by the write with revision 605. What does the DELETED event contain?",
            answers: &[
                "The last pod, 604",
                "The last pod, stamped 605",
                "Only its name",
            ],
            right: 1,
            because: "It contains the last state of the object, with the resourceVersion of the deletion. Before \
                1.9.3 it was the old resourceVersion, and clients that resumed from it went back in time (F23).",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn gone() -> Passage {
    Passage {
        title: "605: gone",
        at: secs(17.0),
        shows: (secs(9.0), secs(19.0)),
        text: &[
            "The deletion {1} took the same way: etcd, cache {2}, stream {3}, belief {4}. Each client removed web-1 \
             from its store, and each could now resume from 605.",
            "No later event says again that web-1 is gone. A client that misses this event learns of it in two ways \
             only: it resumes from an earlier version, or it compares a list with its store. Keep that in mind: the \
             next lessons are about clients that missed it.",
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
        question: None,
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
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
            "A stream delivers a DELETED event once, and only while it is open. Press *End all watches* and see how \
             both clients resume. Then take the next lesson: 410 and relist.",
        ],
        moments: vec![],
        question: None,
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}
