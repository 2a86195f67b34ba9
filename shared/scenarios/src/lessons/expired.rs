//! Lesson 2: 410 and relist. The apiserver's history is bounded; a client that falls behind it has to list again, and
//! to compare the list with its own state.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Controller, Cut, Fault, Program, Target, Version};

use super::{
    Break, Lanes, Lesson, Moment, Panel, Passage, Question, Script, Sought, act, configmaps,
    create_map, delete_map, secs, start, write_map,
};
use crate::script::Deed;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "expired",
        title: "410 and relist",
        teaches: "Why a watch cannot always resume from its resourceVersion, and what to do then",
        lasts: secs(90.0),
        server: Version::DEFAULT,
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
                words: "Forget history",
                deeds: vec![Deed::Inject(expire()), Deed::Lift(expire())],
            },
            Break {
                words: "Write stock",
                deeds: vec![write_map("stock", 99)],
            },
            Break {
                words: "Delete stock",
                deeds: vec![delete_map("stock")],
            },
        ],
        movables: vec![],
        goal: None,
    }
}

fn expire() -> Fault {
    Fault::Expire { resource: None }
}

fn script(client: ClientGo) -> Script {
    let informer = Program::Controller(Controller {
        version: client,
        ..Controller::default()
    });
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
            act(13.0, [Deed::Inject(expire()), Deed::Lift(Fault::Refuse)]),
            act(40.0, [write_map("prices", 2)]),
        ],
    }
}

fn three() -> Passage {
    Passage {
        title: "Three clients, one truth",
        at: secs(5.0),
        shows: (secs(0.0), secs(8.0)),
        text: &[
            "There are three configmaps: prices, report and stock. Three clients watch them. watchscope's watch is \
             the lane default/configmaps. *informer* works as most controllers do. *naive* {1} is a loop written by \
             hand.",
            "prices was written {2}, and each watch delivered the event {3}. If its stream ended now, each client \
             would ask to resume after the last resourceVersion it saw.",
        ],
        moments: vec![
            Moment::first("naive watches", Sought::Phase("naive", "watching")),
            Moment::first(
                "prices is written",
                Sought::Write(ChangeType::Modified, "prices"),
            ),
            Moment::first(
                "MODIFIED on the wire",
                Sought::Change(ChangeType::Modified, Origin::Live, "prices"),
            ),
        ],
        question: Some(Question {
            asks: "All connections are reset, and one configmap is deleted before any client is back. Is the deletion lost to them?",
            answers: &[
                "Yes: no client had a stream",
                "No: the server still has it",
                "Only to naive",
            ],
            right: 1,
            because: "The watch cache keeps recent events. A client that asks from its last resourceVersion gets all \
                later events.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn away() -> Passage {
    Passage {
        title: "All are cut off",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "At 8 s every connection was reset {1}, and new ones are refused. Meanwhile stock was written {2}, and \
             report was deleted {3}. No client received either event.",
            "That alone does no harm. The apiserver's watch cache keeps a window of recent events, and each client \
             knows the last resourceVersion it saw. If it asks from there, it gets all later events, including the \
             deletion.",
        ],
        moments: vec![
            Moment::first("the stream ends", Sought::Ended),
            Moment::first(
                "stock is written",
                Sought::Write(ChangeType::Modified, "stock"),
            ),
            Moment::first(
                "report is deleted",
                Sought::Write(ChangeType::Deleted, "report"),
            ),
        ],
        question: Some(Question {
            asks: "What does informer believe now?",
            answers: &[
                "Three configmaps",
                "Two configmaps",
                "It knows that it does not know",
            ],
            right: 0,
            because: "A store holds the last state it received. It does not empty itself when the stream breaks. \
                That is right, and it is why a client must show its lag.",
            replies: &[],
            covers: true,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn forgotten() -> Passage {
    Passage {
        title: "The server forgets",
        at: secs(13.2),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "At 13 s the server accepts connections again, but the watch cache has lost its history. It knows the \
             present objects, but no longer the events before. A real cache loses them by a restart, or because more \
             events came than fit into the window. etcd drops history too: the apiserver compacts it every five \
             minutes, and here at the same moment.",
            "So the deletion of report {1} is in no history any more.",
        ],
        moments: vec![Moment::first(
            "report is deleted",
            Sought::Write(ChangeType::Deleted, "report"),
        )],
        question: Some(Question {
            asks: "A client asks to resume from its last resourceVersion. What should an honest server answer?",
            answers: &[
                "Send all objects as ADDED",
                "Go on from now",
                "Refuse: too old",
            ],
            right: 2,
            because: "Any other answer would hide that events are missing. The refusal is 410 Expired: the client \
                has to start over.",
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
        title: "410 Expired",
        at: secs(20.0),
        shows: (secs(6.0), secs(24.0)),
        text: &[
            "watchscope's watch asked to resume. The answer had status 200, and the stream began with an `ERROR` \
             event: code 410, *too old resource version* {1}. Servers mostly send it this way and not as an HTTP \
             status, so a client has to read it from the stream.",
            "informer got the same ERROR. The right reaction is to list again. Both wait first: watchscope about a \
             second, and informer some seconds, because its backoff grew while every connection was refused.",
        ],
        moments: vec![Moment::first("ERROR 410 in the stream", Sought::Error)],
        question: Some(Question {
            asks: "The new list will have prices and stock. How does the client learn that report was deleted?",
            answers: &[
                "From a DELETED event",
                "It compares the list with its store",
                "It never does",
            ],
            right: 1,
            because: "No DELETED ever comes. Objects that it held and that are not in the list are gone.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn relist() -> Passage {
    Passage {
        title: "What a relist has to infer",
        at: secs(28.0),
        shows: (secs(6.0), secs(32.0)),
        text: &[
            "The new list {1} has no report, but watchscope held one. So watchscope infers the deletion {2}. It is \
             drawn hollow, because no event reported it. stock has another resourceVersion in the list: a change {3} \
             whose steps in between are lost.",
            "client-go does the same in `Replace`. Its handlers get the last known state in a \
             `DeletedFinalStateUnknown`: the object is gone, and its final state is unknown. informer dropped report \
             {4}.",
        ],
        moments: vec![
            Moment::after(1, "the relist is complete", Sought::Listed),
            Moment::first(
                "report: inferred",
                Sought::Change(ChangeType::Deleted, Origin::Inferred, "report"),
            ),
            Moment::first(
                "stock: from the list",
                Sought::Change(ChangeType::Modified, Origin::List, "stock"),
            ),
            Moment::first(
                "informer drops report",
                Sought::Belief("informer", "report", false),
            ),
        ],
        question: Some(Question {
            asks: "After 410 naive sends the same request again. What does it believe?",
            answers: &["Two configmaps", "Three configmaps", "None"],
            right: 1,
            because: "The server refuses it each time. It learns nothing and keeps its old state.",
            replies: &[],
            covers: true,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn again() -> Passage {
    Passage {
        title: "The loop that repeats its request",
        at: secs(44.0),
        shows: (secs(8.0), secs(48.0)),
        text: &[
            "Since {1} naive has asked to resume from the same resourceVersion about once a second. At first there \
             was no answer, later each answer was 410. The process looks healthy: it runs, logs, and waits between \
             tries. But it believes in report, which is gone, and in an old stock.",
            "At 40 s prices was written {2}. informer received it. naive did not, and never will.",
        ],
        moments: vec![
            Moment::after(1, "naive asks", Sought::Asked("naive", "watch")),
            Moment::after(
                1,
                "prices is written",
                Sought::Write(ChangeType::Modified, "prices"),
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
        at: secs(48.0),
        shows: (secs(0.0), secs(52.0)),
        text: &[
            "A watch can resume from a resourceVersion only while the server still has the history after it. That is \
             minutes, and less when there are many writes.",
            "Do not retry after 410. List again, *replace* the held objects, and infer which are gone.",
            "It may come as a status or as an event in a stream that answered 200. Handle both.",
        ],
        moments: vec![],
        question: None,
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}
