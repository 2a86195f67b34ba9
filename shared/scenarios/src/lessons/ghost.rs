//! Lesson 4: watches ghost you. It has the end-to-end test of docs/semantics/cases.md#ghost-you: a loop that never
//! checks whether its channel is closed. A repaired loop and an informer meet the same faults.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Controller, Fault, Program, Target, Version};

use super::{
    Break, Lesson, Moment, Passage, Question, Script, Sought, act, create_pod, delete_pod, pods,
    secs, start,
};
use crate::script::Deed;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "ghost",
        title: "Watches ghost you",
        teaches: "A loop that reads a dead stream, the loop repaired, and an informer, side by side",
        lasts: secs(60.0),
        server: Version::DEFAULT,
        client: ClientGo::minor(34),
        watches: Some(("pods", "Pod")),
        script,
        passages: vec![
            wait(),
            ended(),
            deleted(),
            log(),
            deadline(),
            causes(),
            remember(),
        ],
        breaks: vec![
            super::end_watches(),
            super::reset_all(),
            Break {
                words: "Create a pod",
                deeds: vec![create_pod("web-2")],
            },
            Break {
                words: "Delete web-0",
                deeds: vec![delete_pod("web-0")],
            },
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let informer = Program::Controller(Controller {
        version: client,
        ..Controller::default()
    });
    let end = Fault::CloseStreams {
        target: Target::All,
    };
    Script {
        before: vec![create_pod("web-0"), create_pod("web-1")],
        acts: vec![
            act(
                1.0,
                [
                    start("broken", Program::PvcLoop { fixed: false }, pods()),
                    start("fixed", Program::PvcLoop { fixed: true }, pods()),
                    start("informer", informer, pods()),
                ],
            ),
            act(6.0, [Deed::Inject(end)]),
            act(10.0, [delete_pod("web-1")]),
        ],
    }
}

fn wait() -> Passage {
    Passage {
        title: "Waiting for a deletion",
        at: secs(4.0),
        shows: (secs(0.0), secs(9.0)),
        text: &[
            "A test has asked for web-1 to be deleted and now waits until it is. Three programs do the waiting. *broken* is \
             how it was once written in Kubernetes' own tests: a `for` around a `select`, with the watch's channel {1} and a \
             deadline of 30 s. *fixed* is the same with one line more. *informer* is a shared informer {2}.",
            "All three listen. All three would hear the deletion if it came now.",
        ],
        moments: vec![
            Moment::first("broken watches", Sought::Phase("broken", "watching")),
            Moment::first("informer watches", Sought::Phase("informer", "watching")),
        ],
        question: Some(Question {
            asks: "The server ends all watches now. What does Go give to whoever reads a closed channel?",
            answers: &["It blocks", "It panics", "A zero value, at once, each time"],
            right: 2,
            because: "`ev := <-ch` on a closed channel never waits. Only the second value, `ev, ok := <-ch`, says that it is closed.",
        }),
    }
}

fn ended() -> Passage {
    Passage {
        title: "The stream ends",
        at: secs(8.0),
        shows: (secs(3.0), secs(12.0)),
        text: &[
            "At 6 s the server ended all watches in order {1}. Nothing is broken. It is what happens when an apiserver is \
             replaced in good order, and when a watch reaches its time limit.",
            "broken reads on {2}: an event with no type and no object, then the next, about a hundred thousand times a second. No \
             byte comes from the network any more. fixed saw the closed channel and failed the test {3}: honest, if of no \
             use. informer opened another stream from the last resourceVersion it knew {4}.",
        ],
        moments: vec![
            Moment::first("the watches end", Sought::Ended),
            Moment::first("broken spins", Sought::Phase("broken", "spinning")),
            Moment::first("fixed fails", Sought::Phase("fixed", "failed")),
            Moment::after(1, "informer goes on", Sought::Asked("informer", "watch")),
        ],
        question: Some(Question {
            asks: "web-1 is deleted at 10 s. Who hears of it?",
            answers: &["All three", "broken and informer", "Only informer"],
            right: 2,
            because: "broken's stream is gone, however busily it reads; fixed has stopped. Only informer has a stream.",
        }),
    }
}

fn deleted() -> Passage {
    Passage {
        title: "The deletion",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "web-1 was deleted {1}. The event went over every open stream: watchscope's {2}, and informer's, which dropped \
             web-1 {3}. What the test waits for has happened.",
            "broken still believes in web-1. fixed believes nothing any more: its process has ended, with an error that says \
             why.",
        ],
        moments: vec![
            Moment::first(
                "web-1 is deleted",
                Sought::Write(ChangeType::Deleted, "web-1"),
            ),
            Moment::first(
                "DELETED on the wire",
                Sought::Change(ChangeType::Deleted, Origin::Live, "web-1"),
            ),
            Moment::first(
                "informer drops it",
                Sought::Belief("informer", "web-1", false),
            ),
        ],
        question: Some(Question {
            asks: "What does broken believe now, and how would it look from outside?",
            answers: &[
                "web-1 exists; busy",
                "web-1 is gone; done",
                "Nothing; crashed",
            ],
            right: 0,
            because: "It holds what it heard before the end, and burns a whole CPU reading nothing.",
        }),
    }
}

fn log() -> Passage {
    Passage {
        title: "Millions of empty lines",
        at: secs(22.0),
        shows: (secs(4.0), secs(26.0)),
        text: &[
            "Each turn of broken's loop printed what it read: nothing. Since {1} that is more than a million lines. \
             Whoever opened the log of the failed test saw this, and the one line that mattered, *the channel is closed*, \
             was never printed, because nobody asked.",
            "This is the ghosting: the server said goodbye in an orderly way, and the client did not notice that it was \
             left.",
        ],
        moments: vec![Moment::first(
            "broken spins",
            Sought::Phase("broken", "spinning"),
        )],
        question: Some(Question {
            asks: "broken has a deadline of 30 s. What will the failed test say?",
            answers: &[
                "web-1 was not deleted in time",
                "The watch was closed",
                "Nothing: it passes",
            ],
            right: 0,
            because: "It can only say what it knows: no deletion was heard. That it had no stream to hear it on, it never noticed.",
        }),
    }
}

fn deadline() -> Passage {
    Passage {
        title: "The deadline",
        at: secs(33.0),
        shows: (secs(4.0), secs(37.0)),
        text: &[
            "After 30 s the test's own deadline ended broken {1}: it had waited for the deletion in vain. The deletion had \
             come 21 seconds before. The test blames the cluster; the cluster did all it was asked.",
            "fixed failed at 6 s with the true reason. informer has known since 10 s.",
        ],
        moments: vec![Moment::first(
            "broken gives up",
            Sought::Phase("broken", "failed"),
        )],
        question: Some(Question {
            asks: "The stream ended in order. What would have to be repaired so that this never happens again?",
            answers: &["The apiserver", "The network", "Nothing that can be"],
            right: 2,
            because: "Every watch ends one day, by its own time limit if by nothing else. Only the reader can be repaired.",
        }),
    }
}

fn causes() -> Passage {
    Passage {
        title: "Why did it end at all?",
        at: secs(36.0),
        shows: (secs(4.0), secs(40.0)),
        text: &[
            "In the case that gave this lesson its name, watches ended because another leader was elected, a node \
             rebooted, or the network hiccuped. Some of these end a stream in order, others break it. None is a fault that one \
             could remove.",
            "Try it: *Reset connections* breaks the streams without a word, *End all watches* ends them in order. To \
             informer it makes no difference.",
        ],
        moments: vec![],
        question: None,
    }
}

fn remember() -> Passage {
    Passage {
        title: "What to remember",
        at: secs(40.0),
        shows: (secs(0.0), secs(44.0)),
        text: &[
            "A watch may end at any time, without an error. Read `ev, ok`, and when it is closed, do something about it: \
             watch again from the last resourceVersion, or fail at once and say so.",
            "Better: do not write the loop. A shared informer lists, watches, goes on, and lists again when it must.",
            "Seen from outside, a client that reads a dead stream looks busy and healthy. What shows it is what it believes, \
             beside what is.",
        ],
        moments: vec![],
        question: None,
    }
}
