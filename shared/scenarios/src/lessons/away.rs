//! Lesson 3: deleted while you were away. A watch without a resourceVersion sends the current objects again, and
//! nothing about deleted ones.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{
    ClientGo, Controller, Fault, Program, Target, Version, WatchDeployment,
};

use super::{
    Aim, Break, Cell, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel,
    Passage, Question, Script, Sought, act, configmaps, create_map, delete_map, secs, start,
    write_map,
};
use crate::script::Deed;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "away",
        title: "Deleted while you were away",
        teaches: "Why a watch without a resourceVersion keeps objects that are gone",
        lasts: secs(37.0),
        server: Version::DEFAULT,
        client: ClientGo::minor(34),
        watches: Some(("configmaps", "ConfigMap")),
        script,
        passages: vec![
            two(),
            ended(),
            deleted(),
            back(),
            moved(),
            cure(),
            remember(),
        ],
        breaks: vec![
            super::end_watches(),
            Break {
                words: "Delete stock",
                deeds: vec![delete_map("stock")],
            },
            Break {
                words: "Create stock",
                deeds: vec![create_map("stock")],
            },
            Break {
                words: "Write prices",
                deeds: vec![write_map("prices", 99)],
            },
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                words: "Make naive hold two ghosts with two clicks.",
                shows: Aim::Ghosts("naive", 2),
                clicks: 2,
            },
            Goal {
                words: "Make naive hold two ghosts with one click.",
                shows: Aim::Ghosts("naive", 2),
                clicks: 1,
            },
        ],
    }
}

/// The deletion of report. Both clients hold report at 2 s, and the next write is at 16 s.
fn deletion() -> Movable {
    let written = secs(8.0);
    // All watches end then.
    let end = secs(6.0);
    // naive wakes then, and watches again.
    let wakes = secs(11.0);
    Movable {
        name: "report",
        words: "DELETE report",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "report",
            words: "it",
        },
        written,
        at: written,
        bounds: (secs(2.0), secs(15.5)),
        snaps: vec![end, wakes],
        settled: secs(17.0),
        finds: vec![
            Find {
                words: "Both hear it",
                learn: &[("correct", Learned::ByEvent), ("naive", Learned::ByEvent)],
                only_at: None,
            },
            Find {
                words: "Only correct hears it",
                learn: &[("correct", Learned::ByEvent), ("naive", Learned::Never)],
                only_at: None,
            },
            Find {
                words: "correct's stream ends at the same moment, and correct hears it all the same",
                learn: &[("correct", Learned::ByEvent), ("naive", Learned::Never)],
                only_at: Some(end),
            },
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let informer = Program::Controller(Controller {
        version: client,
        ..Controller::default()
    });
    let naive = Program::WatchDeployment(WatchDeployment::Final);
    let end = Fault::CloseStreams {
        target: Target::All,
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
                    start("correct", informer, configmaps()),
                    start("naive", naive, configmaps()),
                ],
            ),
            act(6.0, [Deed::Inject(end)]),
            act(8.0, [delete_map("report")]),
            act(16.0, [write_map("prices", 1)]),
            act(26.0, [create_map("report")]),
        ],
    }
}

fn two() -> Passage {
    Passage {
        title: "Two ways to begin",
        at: secs(3.0),
        shows: (secs(0.0), secs(8.0)),
        text: &[
            "*correct* is an informer. It listed {1}, then watched from the list's resourceVersion. *naive* is a \
             loop from a blog post. It only watches {2}, without a resourceVersion. That works: the server first \
             sends such a watch all existing objects as ADDED, and then each change.",
            "Both believe in prices, report and stock. So far there is no difference between them.",
        ],
        moments: vec![
            Moment::first("correct lists", Sought::Asked("correct", "configmaps")),
            Moment::first("naive watches", Sought::Asked("naive", "watch")),
        ],
        question: Some(Question {
            asks: "The server now ends both watches, in order and without an error. What should a client do?",
            form: Form::Choose {
                answers: &[
                    "Fail: its cluster is broken",
                    "Watch again from where it was",
                    "Wait for the server",
                ],
                right: 1,
                replies: &[
                    "No error came, and the cluster is well. Streams end by design.",
                    "",
                    "The server sends nothing on a stream that has ended. It waits for a request.",
                ],
            },
            because: "An end is normal. The server sends the missed events to a client that says where it was.",
            covers: false,
        }),
        lanes: Lanes::Layers,
        panels: &[],
        ..Passage::BASE
    }
}

fn ended() -> Passage {
    Passage {
        title: "A watch ends. They all do.",
        at: secs(7.0),
        shows: (secs(2.0), secs(12.0)),
        text: &[
            "At 6 s the server ended all watches in order {1}. It may do so at any time, and it does so at the \
             requested timeout at the latest. This is not an error.",
            "correct asked at once to resume from the last resourceVersion it saw {2}. naive's first version went \
             silent here, so its author added a pause. It notices the end, sleeps five seconds {3}, and will then \
             watch again.",
        ],
        moments: vec![
            Moment::first("the watches end", Sought::Ended),
            Moment::after(1, "correct goes on", Sought::Asked("correct", "watch")),
            Moment::first("naive sleeps", Sought::Phase("naive", "sleeping")),
        ],
        question: Some(Question {
            asks: "report is deleted now, while naive sleeps. What does naive believe?",
            form: Form::Choose {
                answers: &["It is there", "It is gone", "It is unsure"],
                right: 0,
                replies: &[
                    "",
                    "Which message would say so? No stream is open to naive now.",
                    "A map holds an entry or it does not. What did naive put into it last?",
                ],
            },
            because: "It holds the last state it received, and it has no stream now.",
            covers: true,
        }),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn deleted() -> Passage {
    Passage {
        title: "One hears it",
        at: secs(9.5),
        shows: (secs(4.0), secs(14.0)),
        text: &[
            "report was deleted at 8 s {1}. correct had a stream and dropped report {2}. naive slept, and no stream \
             was open to it.",
            "The server still has the event in its window. A client that asks for the events after its last \
             resourceVersion gets it.",
        ],
        moments: vec![
            Moment::first(
                "report is deleted",
                Sought::Write(ChangeType::Deleted, "report"),
            ),
            Moment::first(
                "correct drops it",
                Sought::Belief("correct", "report", false),
            ),
        ],
        question: Some(Question {
            asks: "naive wakes at 11 s and watches again, without a resourceVersion. What does each hold at 12.5 s?",
            form: Form::Fill {
                columns: &["correct", "naive"],
                rows: &[
                    (
                        "prices",
                        &[
                            Cell {
                                holds: true,
                                reply: "prices still exists, and no event said otherwise.",
                            },
                            Cell {
                                holds: true,
                                reply: "The new stream begins with every object that exists, and prices does.",
                            },
                        ],
                    ),
                    (
                        "report",
                        &[
                            Cell {
                                holds: false,
                                reply: "correct had a stream at 8 s. Which event did it deliver?",
                            },
                            Cell {
                                holds: true,
                                reply: "Which message would say that report is gone? The new stream begins with every \
                                        object that exists. report does not exist, so no message names it.",
                            },
                        ],
                    ),
                    (
                        "stock",
                        &[
                            Cell {
                                holds: true,
                                reply: "stock still exists, and no event said otherwise.",
                            },
                            Cell {
                                holds: true,
                                reply: "The new stream begins with every object that exists, and stock does.",
                            },
                        ],
                    ),
                ],
            },
            because: "Without a resourceVersion the server cannot know what naive missed. It sends the objects that \
                exist, and naive keeps the rest.",
            covers: true,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn back() -> Passage {
    Passage {
        title: "What is, and not what was",
        at: secs(12.5),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "naive watched again {1} and got prices and stock as `ADDED`, a second time. Nothing in that stream says \
             that report is gone: the server does not send objects that do not exist. naive put both into its map, \
             over its old entries, and kept the rest.",
            "It now looks healthy. Its stream is open and delivers events. Its map has three entries, but etcd has \
             only two of them.",
        ],
        moments: vec![Moment::after(
            1,
            "naive watches again",
            Sought::Asked("naive", "watch"),
        )],
        question: Some(Question {
            asks: "Which later event of the stream would cure naive?",
            form: Form::Choose {
                answers: &[
                    "A bookmark",
                    "A change of prices",
                    "Another report, by that name",
                ],
                right: 2,
                replies: &[
                    "A bookmark carries a number and no objects. Which entry would it remove?",
                    "It changes the entry of prices. What does it say about report?",
                    "",
                ],
            },
            because: "Only an event about the same name changes that entry of its map. A bookmark carries a number \
                and no objects.",
            covers: false,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        title: "Move the deletion",
        at: secs(18.0),
        shows: (secs(0.0), secs(20.0)),
        text: &[
            "prices was written at 16 s {1}. Both clients received it, so naive's stream works. But naive holds report, \
             which is gone: a *ghost*. No event about another name will remove it.",
            "naive does not lag either: its newest resourceVersion is as high as correct's. A ghost shows only when \
             the held objects are compared with a list.",
            "Take *the deletion* by its handle above the picture, and move it along the time axis. Who hears it?",
        ],
        moments: vec![Moment::first(
            "prices is written",
            Sought::Write(ChangeType::Modified, "prices"),
        )],
        question: Some(Question {
            asks: "Another report is created, with the same name. What does naive believe then?",
            form: Form::Choose {
                answers: &[
                    "The truth, by luck",
                    "In two reports",
                    "Still in the old one",
                ],
                right: 0,
                replies: &[
                    "",
                    "Its map has one entry for each name.",
                    "ADDED report comes by the open stream. Where does naive put it?",
                ],
            },
            because: "ADDED goes into the map under its name, over the ghost.",
            covers: false,
        }),
        moves: Some(0),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn cure() -> Passage {
    Passage {
        title: "Cured by accident",
        at: secs(28.0),
        shows: (secs(4.0), secs(32.0)),
        text: &[
            "At 26 s another report was created {1}, with the same name and another uid. naive got ADDED and put it \
             over the ghost {2}. Now its belief is true. Nothing in its state or log shows that it was false for 18 \
             seconds.",
            "In between, every action on report had no object, and every cleanup after its deletion did not happen.",
        ],
        moments: vec![
            Moment::after(
                1,
                "another report",
                Sought::Write(ChangeType::Added, "report"),
            ),
            Moment::first(
                "ADDED on the wire",
                Sought::Change(ChangeType::Added, Origin::Live, "report"),
            ),
        ],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        title: "What to remember",
        at: secs(31.0),
        shows: (secs(0.0), secs(34.0)),
        text: &[
            "Streams end. It matters where the next stream begins. From the last resourceVersion, you get the events \
             that you missed. Without one, you get only the objects that exist.",
            "If you must begin anew, list, *replace* all held objects, and treat missing ones as deleted. Adding to \
             a map does not replace it.",
            "An informer does all this. A loop over `Watch` does none of it.",
            "Now it is your turn. Go back as far as you like. The buttons below the picture act at the clock.",
        ],
        ..Passage::BASE
    }
}
