//! Lesson 2: 410 and relist. History is bounded; a client that falls behind it has to list again, and to compare.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Controller, Cut, Fault, Program, Target, Version};

use super::{
    Break, Lesson, Moment, Passage, Question, Script, Sought, act, configmaps, create_map,
    delete_map, secs, start, write_map,
};
use crate::script::Deed;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "expired",
        title: "410 and relist",
        teaches: "Why a watch cannot always go on from where it was, and what to do then",
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
            "Three configmaps: prices, report and stock. Three clients watch them: watchscope, whose watch is the lane \
             default/configmaps; *informer*, as most controllers are; and *naive* {1}, a loop somebody wrote by hand.",
            "prices was written {2}, and the event came over each of their watches {3}. If its stream ended now, each would \
             ask to go on after the last resourceVersion it saw.",
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
                "Yes: nobody was listening",
                "No: the server still has it",
                "Only to naive",
            ],
            right: 1,
            because: "The watch cache keeps recent events. Whoever asks from the last resourceVersion he saw is told what came since.",
        }),
    }
}

fn away() -> Passage {
    Passage {
        title: "All are cut off",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "At 8 s every connection was reset {1}, and new ones are refused. Meanwhile stock was written {2}, and report \
             was deleted {3}. No client heard either.",
            "That alone is no harm. The apiserver's watch cache keeps a window of recent events, and each client knows the \
             last resourceVersion it saw. If it asks from there, it is told all that came since, the deletion too.",
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
            because: "A store holds what it last heard. It does not empty itself because the stream broke: that is right, and why lag must be shown.",
        }),
    }
}

fn forgotten() -> Passage {
    Passage {
        title: "The server forgets",
        at: secs(13.2),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "At 13 s connections are let in again, but the watch cache has lost its history: it knows what *is*, and no \
             longer what *happened*. Real ones lose it by restarting, or because more happened than fits into the window. \
             etcd forgets, too: the apiserver has it compacted every five minutes, and here at the same moment.",
            "So no history has the deletion of report {1} any more.",
        ],
        moments: vec![Moment::first(
            "report is deleted",
            Sought::Write(ChangeType::Deleted, "report"),
        )],
        question: Some(Question {
            asks: "A client asks to go on from where it was. What should an honest server say?",
            answers: &[
                "Send all there is as ADDED",
                "Go on from now",
                "Refuse: too old",
            ],
            right: 2,
            because: "Anything else would hide that events are missing. The refusal is 410 Expired: you have to start over.",
        }),
    }
}

fn gone() -> Passage {
    Passage {
        title: "410 Expired",
        at: secs(20.0),
        shows: (secs(6.0), secs(24.0)),
        text: &[
            "watchscope's watch asked to go on from where it was. The answer was status 200 and, as the first thing in the \
             stream, an `ERROR` event: code 410, *too old resource version* {1}. It mostly comes like this, not as an HTTP \
             status, so a client has to read it from the stream.",
            "informer was told the same. The right answer is to list again. Both wait first: watchscope about a second, \
             informer some seconds, since its pauses have grown while every connection was refused.",
        ],
        moments: vec![Moment::first("ERROR 410 in the stream", Sought::Error)],
        question: Some(Question {
            asks: "The new list will have prices and stock. How does the client learn that report was deleted?",
            answers: &[
                "From a DELETED event",
                "It compares with what it held",
                "It never does",
            ],
            right: 1,
            because: "No DELETED comes, ever. What it held and the list has not is gone.",
        }),
    }
}

fn relist() -> Passage {
    Passage {
        title: "What a relist has to infer",
        at: secs(28.0),
        shows: (secs(6.0), secs(32.0)),
        text: &[
            "The new list {1} has no report, and watchscope held one: it infers the deletion {2}, drawn hollow, because \
             nobody ever said it. stock is in both with another resourceVersion: a change {3} of which the steps between \
             are lost.",
            "client-go does the same in `Replace`. Its handlers get the last state it knew, wrapped in \
             `DeletedFinalStateUnknown`: the object is gone, and how it looked at the end nobody can say. informer dropped \
             report {4}.",
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
            asks: "naive answers 410 by asking the same again. What does it believe?",
            answers: &["Two configmaps", "Three configmaps", "None"],
            right: 1,
            because: "It is refused each time, learns nothing, and keeps what it held.",
        }),
    }
}

fn again() -> Passage {
    Passage {
        title: "The loop that asks the same",
        at: secs(44.0),
        shows: (secs(8.0), secs(48.0)),
        text: &[
            "naive has asked to go on from the same resourceVersion about once a second since {1}: first nobody answered, \
             then the answer was 410, each time. It is healthy by all that a process shows: it runs, logs, waits between tries. It believes in report, which is gone, \
             and in an old stock.",
            "At 40 s prices was written {2}. informer heard it. naive did not, and never will.",
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
    }
}

fn remember() -> Passage {
    Passage {
        title: "What to remember",
        at: secs(48.0),
        shows: (secs(0.0), secs(52.0)),
        text: &[
            "A watch goes on from a resourceVersion only while the server still has the history after it: minutes, less \
             when much is written.",
            "410 is not a failure to be retried. It says: list again, *replace* what you hold, and infer what is gone.",
            "It may come as a status or as an event in a stream that answered 200. Handle both.",
        ],
        moments: vec![],
        question: None,
    }
}
