//! Lesson 4: watches ghost you. The lesson shows the end-to-end test of docs/semantics/cases.md#ghost-you: a loop that
//! never checks whether its channel is closed. A repaired loop and an informer run under the same faults.

use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_simulator::{ClientGo, Controller, Fault, Program, Target, Version};

use super::{
    Break, Lanes, Lesson, Moment, Panel, Passage, Question, Script, Sought, act, create_pod,
    delete_pod, pods, secs, start,
};
use crate::script::Deed;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "ghost",
        title: "Watches ghost you",
        teaches: "A loop that reads a dead stream, the repaired loop and an informer, side by side",
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
        movables: vec![],
        goal: None,
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
            "A test has asked for the deletion of web-1 and now waits for it. Three programs wait. *broken* is a \
             loop that was once in Kubernetes' own tests: a `for` around a `select`, with the watch's channel {1} \
             and a deadline of 30 s. *fixed* is the same loop with one more line. *informer* is a shared informer \
             {2}.",
            "All three have an open stream. All three would receive the deletion if it came now.",
        ],
        moments: vec![
            Moment::first("broken watches", Sought::Phase("broken", "watching")),
            Moment::first("informer watches", Sought::Phase("informer", "watching")),
        ],
        question: Some(Question {
            asks: "The server ends all watches now. What does a read of a closed channel return in Go?",
            answers: &["It blocks", "It panics", "A zero value, at once, each time"],
            right: 2,
            because: "`ev := <-ch` on a closed channel never waits. Only the second value, `ev, ok := <-ch`, says that it is closed.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn ended() -> Passage {
    Passage {
        title: "The stream ends",
        at: secs(8.0),
        shows: (secs(3.0), secs(12.0)),
        text: &[
            "At 6 s the server ended all watches in order {1}. Nothing is broken. The same happens when an apiserver \
             shuts down in order, and when a watch reaches its timeout.",
            "broken goes on reading {2}. It reads events without type and object, about a hundred thousand a second. \
             No more bytes come from the network. fixed saw the closed channel and failed the test {3}. That is \
             honest, but it does not help. informer opened another stream from its last resourceVersion {4}.",
        ],
        moments: vec![
            Moment::first("the watches end", Sought::Ended),
            Moment::first("broken spins", Sought::Phase("broken", "spinning")),
            Moment::first("fixed fails", Sought::Phase("fixed", "failed")),
            Moment::after(1, "informer goes on", Sought::Asked("informer", "watch")),
        ],
        question: Some(Question {
            asks: "web-1 is deleted at 10 s. Who receives the event?",
            answers: &["All three", "broken and informer", "Only informer"],
            right: 2,
            because: "broken reads busily, but its stream is gone. fixed has stopped. Only informer has a stream.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn deleted() -> Passage {
    Passage {
        title: "The deletion",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "web-1 was deleted {1}. Every open stream delivered the event: watchscope's {2} and informer's. informer \
             dropped web-1 {3}. The test waits for exactly this event.",
            "broken still believes in web-1. fixed believes nothing any more: its process has ended with an error \
             that gives the reason.",
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
            asks: "What does broken believe now, and how does it look from outside?",
            answers: &[
                "web-1 exists; busy",
                "web-1 is gone; done",
                "Nothing; crashed",
            ],
            right: 0,
            because: "It holds the state from before the end, and uses a whole CPU to read nothing.",
            replies: &[],
            covers: true,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn log() -> Passage {
    Passage {
        title: "Millions of empty lines",
        at: secs(22.0),
        shows: (secs(4.0), secs(26.0)),
        text: &[
            "Each iteration of broken's loop printed the empty event that it read. Since {1} it has printed more \
             than a million lines. The log of the failed test showed only these. The line that mattered, *the \
             channel is closed*, was never printed, because the loop never checked.",
            "This gave the lesson its name: the server left in an orderly way, and the client did not notice.",
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
            because: "It can only report what it knows: it received no deletion. It never noticed that it had no \
                stream.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn deadline() -> Passage {
    Passage {
        title: "The deadline",
        at: secs(33.0),
        shows: (secs(4.0), secs(37.0)),
        text: &[
            "After 30 s the test's own deadline ended broken {1}. It had waited for the deletion in vain, though the \
             deletion came 21 seconds before. The test blames the cluster, but the cluster did everything right.",
            "fixed failed at 6 s with the true reason. informer has known of the deletion since 10 s.",
        ],
        moments: vec![Moment::first(
            "broken gives up",
            Sought::Phase("broken", "failed"),
        )],
        question: Some(Question {
            asks: "The stream ended in order. What must be repaired so that this never happens again?",
            answers: &["The apiserver", "The network", "Nothing that can be"],
            right: 2,
            because: "Every watch ends, at its timeout at the latest. Only the reader can be repaired.",
            replies: &[],
            covers: false,
        }),
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn causes() -> Passage {
    Passage {
        title: "Why did it end at all?",
        at: secs(36.0),
        shows: (secs(4.0), secs(40.0)),
        text: &[
            "In the case behind this lesson, watches ended because of an election of a leader, a reboot of a node, \
             or a short failure of the network. Some of these end a stream in order, others break it. None of them \
             can be prevented.",
            "Try it: *Reset connections* breaks the streams without notice, and *End all watches* ends them in \
             order. informer handles both alike.",
        ],
        moments: vec![],
        question: None,
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}

fn remember() -> Passage {
    Passage {
        title: "What to remember",
        at: secs(40.0),
        shows: (secs(0.0), secs(44.0)),
        text: &[
            "A watch may end at any time, without an error. Read `ev, ok`. When the channel is closed, watch again \
             from the last resourceVersion, or fail at once and report it.",
            "Better: do not write the loop. A shared informer lists, watches, resumes, and lists again when it must.",
            "From outside, a client that reads a dead stream looks busy and healthy. Only a comparison of its belief \
             with the cluster shows it.",
        ],
        moments: vec![],
        question: None,
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
    }
}
