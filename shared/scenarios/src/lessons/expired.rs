//! Lesson 2: 410 and relist. The apiserver's history is bounded; a client that falls behind it has to list again, and
//! to compare the list with its own state.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Controller, Cut, Fault, Program, Target, Version};

use super::{
    Aim, Break, Cell, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel,
    Passage, Question, Script, Sought, Tap, act, configmaps, create_map, delete_map, secs, start,
    write_map,
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
        movables: vec![forgetting()],
        goals: vec![
            Goal {
                words: "Make watchscope infer the deletion of stock, with three clicks.",
                shows: Aim::Moment(INFERRED),
                clicks: 3,
            },
            Goal {
                words: "Make watchscope infer the deletion of stock, with one click.",
                shows: Aim::Moment(INFERRED),
                clicks: 1,
            },
        ],
    }
}

/// The kind of moment at which watchscope's own watch learns from a list that stock is gone.
const INFERRED: Sought = Sought::Change(ChangeType::Deleted, Origin::Inferred, "stock");

/// The moment at which the server forgets. report is deleted at 11 s, and prices is written at 40 s.
fn forgetting() -> Movable {
    let written = secs(12.5);
    Movable {
        name: "forget",
        words: "FORGET history",
        lane: "apiserver 0 configmaps",
        news: News {
            change: ChangeType::Deleted,
            object: "report",
            words: "of the deletion",
        },
        written,
        at: written,
        bounds: (secs(11.5), secs(39.0)),
        // The server accepts connections again then.
        snaps: vec![secs(13.5)],
        settled: secs(43.0),
        finds: vec![
            Find {
                words: "Neither hears of the deletion",
                learn: &[("informer", Learned::FromList), ("naive", Learned::Never)],
                only_at: None,
            },
            Find {
                words: "naive hears of the deletion, and informer only learns of it from its list",
                learn: &[("informer", Learned::FromList), ("naive", Learned::ByEvent)],
                only_at: None,
            },
            Find {
                words: "Both hear of the deletion",
                learn: &[("informer", Learned::ByEvent), ("naive", Learned::ByEvent)],
                only_at: None,
            },
        ],
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
            act(12.5, [Deed::Inject(expire())]),
            act(13.5, [Deed::Lift(Fault::Refuse)]),
            act(40.0, [write_map("prices", 2)]),
        ],
    }
}

fn three() -> Passage {
    Passage {
        title: "Two clients, one truth",
        at: secs(5.0),
        shows: (secs(0.0), secs(8.0)),
        text: &[
            "There are three configmaps: prices, report and stock. Two clients watch them. *informer* works as most \
             controllers do. *naive* {1} is a loop written by hand.",
            "prices was written {2}, and each client received the event. If its stream ended now, each would ask to \
             resume after the last resourceVersion it saw.",
        ],
        moments: vec![
            Moment::first("naive watches", Sought::Phase("naive", "watching")),
            Moment::first(
                "prices is written",
                Sought::Write(ChangeType::Modified, "prices"),
            ),
        ],
        question: Some(Question {
            asks: "All connections are reset, and one configmap is deleted before any client is back. Is the \
                deletion lost to them?",
            form: Form::Choose {
                answers: &[
                    "Yes: no client had a stream",
                    "No: the server still has it",
                    "Only to naive",
                ],
                right: 1,
                replies: &[
                    "No stream was open, true. But the server does not throw an event away once it is sent.",
                    "",
                    "naive remembers its last resourceVersion too. What can it ask for with it?",
                ],
            },
            because: "The watch cache keeps recent events. A client that asks from its last resourceVersion gets all \
                later events.",
            covers: false,
        }),
        lanes: Lanes::Layers,
        panels: &[],
        ..Passage::BASE
    }
}

fn away() -> Passage {
    Passage {
        title: "Both are cut off",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "At 8 s every connection was reset, and new ones are refused. Meanwhile stock was written {1}, and \
             report was deleted {2}. No client received either event.",
            "That alone does no harm. The apiserver's watch cache keeps a window of recent events, and each client \
             knows the last resourceVersion it saw. If it asks from there, it gets all later events, including the \
             deletion.",
        ],
        moments: vec![
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
            form: Form::Choose {
                answers: &[
                    "Three configmaps",
                    "Two configmaps",
                    "It knows that it does not know",
                ],
                right: 0,
                replies: &[
                    "",
                    "Which message said that one is gone? No stream was open at 11 s.",
                    "It knows that its stream broke. Its store has no field for doubt.",
                ],
            },
            because: "A store holds the last state it received. It does not empty itself when the stream breaks. \
                That is right, and it is why a client must show its lag.",
            covers: true,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire],
        ..Passage::BASE
    }
}

fn forgotten() -> Passage {
    Passage {
        title: "The server forgets",
        at: secs(13.2),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "At 12.5 s the watch cache lost its history. It knows the present objects, but no longer the events \
             before. A real cache loses them by a restart, or because more events came than fit into the window. \
             etcd drops history too: the apiserver compacts it every five minutes, and here at the same moment.",
            "So the deletion of report {1} is in no history any more. Connections are still refused. From 13.5 s on \
             the server will accept them again.",
        ],
        moments: vec![Moment::first(
            "report is deleted",
            Sought::Write(ChangeType::Deleted, "report"),
        )],
        question: Some(Question {
            asks: "A client asks to resume from its last resourceVersion. What should an honest server answer?",
            form: Form::Choose {
                answers: &[
                    "Send all objects as ADDED",
                    "Go on from now",
                    "Refuse: too old",
                ],
                right: 2,
                replies: &[
                    "Then the client would keep report: ADDED names what exists, and never what is gone.",
                    "Then the client would never learn what happened meanwhile, and would not know that.",
                    "",
                ],
            },
            because: "Any other answer would hide that events are missing. The refusal is 410 Expired: the client \
                has to start over.",
            covers: false,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn gone() -> Passage {
    Passage {
        title: "410 Expired",
        at: secs(20.0),
        shows: (secs(6.0), secs(24.0)),
        text: &[
            "naive asked to resume {1}. The answer had status 200, and the stream began with an `ERROR` event: code \
             410, *too old resource version*. Servers mostly send it this way and not as an HTTP status, so a client \
             has to read it from the stream.",
            "informer got the same ERROR {2}. The right reaction is to list again. It waits first, some seconds, \
             because its backoff grew while every connection was refused.",
        ],
        moments: vec![
            // The first requests after the server accepts connections again.
            Moment::after(6, "naive asks again", Sought::Asked("naive", "watch")),
            Moment::after(4, "informer asks again", Sought::Asked("informer", "watch")),
        ],
        question: Some(Question {
            asks: "informer lists again, and naive repeats its request. What does each hold at 28 s?",
            form: Form::Fill {
                columns: &["informer", "naive"],
                rows: &[
                    (
                        "prices",
                        &[
                            Cell {
                                holds: true,
                                reply: "prices exists, so informer's new list has it.",
                            },
                            Cell {
                                holds: true,
                                reply: "naive received no event, so it drops nothing.",
                            },
                        ],
                    ),
                    (
                        "report",
                        &[
                            Cell {
                                holds: false,
                                reply: "The new list has prices and stock. What does informer do with an object that it \
                                        holds and that is not in the list?",
                            },
                            Cell {
                                holds: true,
                                reply: "Each answer to naive is 410. Which of them says that report is gone?",
                            },
                        ],
                    ),
                    (
                        "stock",
                        &[
                            Cell {
                                holds: true,
                                reply: "stock exists, so informer's new list has it.",
                            },
                            Cell {
                                holds: true,
                                reply: "naive received no event, so it drops nothing.",
                            },
                        ],
                    ),
                ],
            },
            because: "No DELETED ever comes. informer compares the list with its store: an object that it holds and \
                that is not in the list is gone. naive learns nothing and keeps its old state.",
            covers: true,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn relist() -> Passage {
    Passage {
        title: "What a relist has to infer",
        at: secs(28.0),
        shows: (secs(6.0), secs(32.0)),
        text: &[
            "watchscope's own watch, the lane default/configmaps, was cut off as well. It got 410 {1} and listed \
             again {2}. The list has no report, but the watch held one, so watchscope infers the deletion {3}. It is \
             drawn hollow, because no event reported it. stock has another resourceVersion in the list: a change {4} \
             whose steps in between are lost.",
            "client-go does the same in `Replace`. Its handlers get the last known state in a \
             `DeletedFinalStateUnknown`: the object is gone, and its final state is unknown. informer dropped report \
             {5}.",
        ],
        moments: vec![
            Moment::first("ERROR 410 in the stream", Sought::Error),
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
            asks: "prices is written at 40 s. Tap the clients that receive it.",
            form: Form::Tap(&[
                Tap {
                    lane: "client informer",
                    words: "informer",
                    is_right: true,
                    reply: "informer has a stream again, from the resourceVersion of its new list.",
                },
                Tap {
                    lane: "client naive",
                    words: "naive",
                    is_right: false,
                    reply: "naive asks from the same resourceVersion each time. What is each answer?",
                },
            ]),
            because: "The server refuses naive each time. No later event reaches it.",
            covers: false,
        }),
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        speed: Some(4),
        ..Passage::BASE
    }
}

fn again() -> Passage {
    Passage {
        title: "Move the forgetting",
        at: secs(44.0),
        shows: (secs(4.0), secs(48.0)),
        text: &[
            "Since {1} naive has asked to resume from the same resourceVersion about once a second. At first there \
             was no answer, later each answer was 410. The process looks healthy: it runs, logs, and waits between \
             tries. But it believes in report, which is gone, and in an old stock.",
            "At 40 s prices was written {2}. informer received it. naive did not, and never will.",
            "Take *the forgetting* by its handle above the picture, and move it. Who still hears of the deletion?",
        ],
        moments: vec![
            Moment::after(1, "naive asks", Sought::Asked("naive", "watch")),
            Moment::after(
                1,
                "prices is written",
                Sought::Write(ChangeType::Modified, "prices"),
            ),
        ],
        moves: Some(0),
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
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
            "Now it is your turn. Go back as far as you like. The buttons below the picture act at the clock.",
        ],
        ..Passage::BASE
    }
}
