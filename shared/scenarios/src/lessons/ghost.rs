//! Lesson 4: watches ghost you. The lesson shows the end-to-end test of docs/semantics/cases.md#ghost-you: a loop that
//! never checks whether its channel is closed. A repaired loop and an informer run under the same faults.

use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Controller, Fault, Program, Target, Version};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, Tap, act, create_pod, delete_pod, pods, secs, start,
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
        movables: vec![deletion()],
        goals: vec![
            Goal {
                words: "Make broken hold two ghosts with one click.",
                shows: Aim::Ghosts("broken", 2),
                clicks: 1,
            },
            Goal {
                words: "Let broken's test pass, with one click.",
                shows: Aim::Moment(Sought::Phase("broken", "done")),
                clicks: 1,
            },
        ],
    }
}

/// The deletion of web-1. All three watch at 2 s, and broken gives up at 31 s.
fn deletion() -> Movable {
    let written = secs(10.0);
    // All watches end then.
    let end = secs(6.0);
    Movable {
        name: "web-1",
        words: "DELETE web-1",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "web-1",
            words: "it",
        },
        written,
        at: written,
        bounds: (secs(2.0), secs(30.0)),
        snaps: vec![end],
        settled: secs(32.0),
        finds: vec![
            Find {
                words: "All three hear it, and both tests pass",
                learn: &[
                    ("broken", Learned::ByEvent),
                    ("fixed", Learned::ByEvent),
                    ("informer", Learned::ByEvent),
                ],
                only_at: None,
            },
            Find {
                words: "Only informer hears it",
                learn: &[
                    ("broken", Learned::Never),
                    ("fixed", Learned::Never),
                    ("informer", Learned::ByEvent),
                ],
                only_at: None,
            },
            Find {
                words: "The streams end at the same moment, and informer hears it all the same",
                learn: &[
                    ("broken", Learned::Never),
                    ("fixed", Learned::Never),
                    ("informer", Learned::ByEvent),
                ],
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
            form: Form::Choose {
                answers: &["It blocks", "It panics", "A zero value, at once, each time"],
                right: 2,
                replies: &[
                    "A read blocks while a channel is open and empty. Nobody can write into this one any more.",
                    "A write to a closed channel panics. A read is allowed.",
                    "",
                ],
            },
            because: "`ev := <-ch` on a closed channel never waits. Only the second value, `ev, ok := <-ch`, says \
                that it is closed.",
            covers: false,
        }),
        lanes: Lanes::Sides,
        panels: &[],
        ..Passage::BASE
    }
}

fn ended() -> Passage {
    Passage {
        title: "The stream ends",
        at: secs(8.0),
        shows: (secs(3.0), secs(12.0)),
        text: &[
            "At 6 s the server ended all watches in order. Nothing is broken. The same happens when an apiserver \
             shuts down in order, and when a watch reaches its timeout.",
            "broken goes on reading {1}. It reads events without type and object, about a hundred thousand a second. \
             No more bytes come from the network. fixed saw the closed channel and failed the test {2}. That is \
             honest, but it does not help. informer opened another stream from its last resourceVersion {3}.",
        ],
        moments: vec![
            Moment::first("broken spins", Sought::Phase("broken", "spinning")),
            Moment::first("fixed fails", Sought::Phase("fixed", "failed")),
            Moment::after(1, "informer goes on", Sought::Asked("informer", "watch")),
        ],
        question: Some(Question {
            asks: "web-1 is deleted at 10 s. Tap the clients that receive the event.",
            form: Form::Tap(&[
                Tap {
                    lane: "client broken",
                    words: "broken",
                    is_right: false,
                    reply: "broken reads busily, but on which stream would the event come? Its stream ended at 6 s.",
                },
                Tap {
                    lane: "client fixed",
                    words: "fixed",
                    is_right: false,
                    reply: "fixed has ended with a failure. No process is there to receive anything.",
                },
                Tap {
                    lane: "client informer",
                    words: "informer",
                    is_right: true,
                    reply: "informer opened a stream again at 6 s, from its last resourceVersion.",
                },
            ]),
            because: "broken reads busily, but its stream is gone. fixed has stopped. Only informer has a stream.",
            covers: false,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn deleted() -> Passage {
    Passage {
        title: "The deletion",
        at: secs(12.0),
        shows: (secs(4.0), secs(16.0)),
        text: &[
            "web-1 was deleted {1}. The one open stream delivered the event, and informer dropped web-1 {2}. The \
             test waits for exactly this event.",
            "broken and fixed have no stream, so no event went to them. fixed believes nothing any more: its process \
             has ended with an error that gives the reason.",
        ],
        moments: vec![
            Moment::first(
                "web-1 is deleted",
                Sought::Write(ChangeType::Deleted, "web-1"),
            ),
            Moment::first(
                "informer drops it",
                Sought::Belief("informer", "web-1", false),
            ),
        ],
        question: Some(Question {
            asks: "What does broken believe now, and how does it look from outside?",
            form: Form::Choose {
                answers: &[
                    "web-1 exists; busy",
                    "web-1 is gone; done",
                    "Nothing; crashed",
                ],
                right: 0,
                replies: &[
                    "",
                    "It would be done if it had read DELETED. It reads only zero values.",
                    "Nothing stops it: a read of a closed channel is no error in Go.",
                ],
            },
            because: "It holds the state from before the end, and uses a whole CPU to read nothing.",
            covers: true,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
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
            form: Form::Choose {
                answers: &[
                    "web-1 was not deleted in time",
                    "The watch was closed",
                    "Nothing: it passes",
                ],
                right: 0,
                replies: &[
                    "",
                    "It would have to look at `ok` for that. Which line of its loop does?",
                    "It passes when it reads DELETED. Its stream ended 4 s before the deletion.",
                ],
            },
            because: "It can only report what it knows: it received no deletion. It never noticed that it had no \
                stream.",
            covers: false,
        }),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn deadline() -> Passage {
    Passage {
        title: "Move the deletion",
        at: secs(33.0),
        shows: (secs(0.0), secs(37.0)),
        text: &[
            "After 30 s the test's own deadline ended broken {1}. It had waited for the deletion in vain, though the \
             deletion came 21 seconds before. The test blames the cluster, but the cluster did everything right.",
            "fixed failed at 6 s with the true reason. informer has known of the deletion since 10 s.",
            "Take *the deletion* by its handle above the picture, and move it along the time axis. When does \
             broken's test pass?",
        ],
        moments: vec![Moment::first(
            "broken gives up",
            Sought::Phase("broken", "failed"),
        )],
        question: Some(Question {
            asks: "The stream ended in order. What must be repaired so that this never happens again?",
            form: Form::Choose {
                answers: &["The apiserver", "The network", "The loop that reads"],
                right: 2,
                replies: &[
                    "Its watches end at their timeout at the latest. That is how it works.",
                    "The network carried every byte. The end came in order.",
                    "",
                ],
            },
            because: "Every watch ends, at its timeout at the latest. Only the reader can be repaired.",
            covers: false,
        }),
        moves: Some(0),
        lanes: Lanes::Ways,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
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
        ..Passage::BASE
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
            "Now it is your turn. Go back as far as you like. The buttons below the picture act at the clock.",
        ],
        ..Passage::BASE
    }
}
