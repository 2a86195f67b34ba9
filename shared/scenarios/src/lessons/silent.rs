//! Lesson: open, and dead (docs/findings/F04.md). A firewall forgets three connections at 120 s. A client that pings, a
//! client with a deadline of its own, and one with neither notice it one after the other. Then a proxy buffers, and pings
//! are no help.

use std::time::Duration;

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Fault, KubeWatcher, Program, Request, Target, Version};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, Tap, act, configmaps, create_map, delete_map, informer, secs, start,
    write_map,
};
use crate::script::Deed;

/// The URL path of the secret that somebody else writes.
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
/// The client-go of `old`, which sends no HTTP/2 pings (docs/semantics/servers.md#ping).
const OLD: ClientGo = ClientGo::minor(19);
/// The `timeoutSeconds` of `deadline`: 5 s later it gives a silent stream up. So the deadline of 90 s is longer than the
/// period of bookmarks, 60 s (docs/semantics/lists-and-watches.md#bookmarks).
const LIFETIME_S: u32 = 85;
/// The bytes that the proxy keeps of a response; no response of the lesson is as long.
const BUFFER_BYTES: usize = 65_536;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "silent",
        lasts: secs(1_160.0),
        server: Version::DEFAULT,
        servers: super::one,
        client: ClientGo::minor(34),
        watches: None,
        script,
        passages: vec![
            three(),
            dead(),
            ping(),
            moved(),
            lifetime(),
            proxy(),
            remember(),
        ],
        breaks: vec![
            super::reset_all(),
            super::end_watches(),
            Break {
                key: "delete-prices",
                deeds: vec![delete_map("prices")],
            },
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                key: "wake",
                // The write at 300 s has revision 10.
                shows: Aim::Moment(Sought::CaughtUp("old", 9)),
                clicks: 1,
            },
            Goal {
                key: "ghost",
                shows: Aim::Ghosts("pings", 1),
                clicks: 1,
            },
        ],
    }
}

/// A firewall that forgets each connection over which nothing passes for a second.
fn firewall() -> Fault {
    Fault::KillIdle {
        after: Duration::from_secs(1),
        says_so: false,
    }
}

/// A proxy that keeps what servers send.
fn buffers() -> Fault {
    Fault::Buffer {
        target: Target::All,
        bytes: BUFFER_BYTES,
    }
}

/// The deletion of stock, while the connections are dead.
fn deletion() -> Movable {
    let written = secs(150.0);
    Movable {
        name: "stock",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "stock",
        },
        written,
        at: written,
        bounds: (secs(125.0), secs(290.0)),
        snaps: vec![],
        settled: secs(395.0),
        finds: vec![
            Find::of(
                "list",
                &[
                    ("pings", Learned::FromList),
                    ("deadline", Learned::ByEvent),
                    ("old", Learned::ByEvent),
                ],
            ),
            Find::of(
                "events",
                &[
                    ("pings", Learned::ByEvent),
                    ("deadline", Learned::ByEvent),
                    ("old", Learned::ByEvent),
                ],
            ),
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let deadline = Program::KubeWatcher(KubeWatcher {
        timeout_s: LIFETIME_S,
        ..KubeWatcher::default()
    });
    let secret = json!({"metadata": {"name": "other"}});
    Script {
        before: vec![create_map("prices"), create_map("stock")],
        acts: vec![
            act(
                1.0,
                [
                    start("pings", informer(client), configmaps()),
                    start("deadline", deadline, configmaps()),
                    start("old", informer(OLD), configmaps()),
                ],
            ),
            // Bookmarks of a quiet type move only as others write (docs/semantics/lists-and-watches.md#bookmark-quiet-type).
            act(
                20.0,
                [Deed::Call(Request::new("POST", SECRETS).json(&secret))],
            ),
            act(119.0, [Deed::Inject(firewall())]),
            act(121.0, [Deed::Lift(firewall())]),
            act(150.0, [delete_map("stock")]),
            act(300.0, [write_map("prices", 1)]),
            act(600.0, [Deed::Inject(buffers())]),
            act(620.0, [write_map("prices", 2)]),
        ],
    }
}

fn three() -> Passage {
    Passage {
        key: "three",
        at: secs(100.0),
        shows: (secs(0.0), secs(130.0)),
        moments: vec![
            Moment::first(Sought::Asked("pings", "watch=true")),
            Moment::first(Sought::Asked("deadline", "watch=true")),
            Moment::first(Sought::Asked("old", "watch=true")),
            Moment::after(1, Sought::Asked("deadline", "watch=true")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Sides,
        panels: &[],
        speed: Some(60),
        ..Passage::BASE
    }
}

fn dead() -> Passage {
    Passage {
        key: "dead",
        at: secs(132.0),
        shows: (secs(40.0), secs(175.0)),
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client pings",
                    is_right: true,
                },
                Tap {
                    lane: "client deadline",
                    is_right: false,
                },
                Tap {
                    lane: "client old",
                    is_right: false,
                },
            ]),
            covers: true,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire],
        speed: Some(20),
        ..Passage::BASE
    }
}

fn ping() -> Passage {
    Passage {
        key: "ping",
        at: secs(170.0),
        shows: (secs(80.0), secs(190.0)),
        moments: vec![
            Moment::first(Sought::Phase("pings", "backoff")),
            Moment::after(1, Sought::Phase("pings", "listing")),
            Moment::first(Sought::Write(ChangeType::Deleted, "stock")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Ends, Panel::Holds],
        speed: Some(60),
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(400.0),
        shows: (secs(90.0), secs(430.0)),
        moments: vec![
            Moment::after(2, Sought::Asked("deadline", "watch=true")),
            Moment::after(1, Sought::Asked("old", "watch=true")),
        ],
        question: Some(Question::choose(3, 2)),
        moves: Some(0),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Ends, Panel::Holds],
        speed: Some(60),
    }
}

fn lifetime() -> Passage {
    Passage {
        key: "lifetime",
        at: secs(595.0),
        shows: (secs(90.0), secs(640.0)),
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Ends, Panel::Holds],
        speed: Some(100),
        ..Passage::BASE
    }
}

fn proxy() -> Passage {
    Passage {
        key: "proxy",
        at: secs(1_130.0),
        shows: (secs(570.0), secs(1_180.0)),
        moments: vec![
            Moment::after(1, Sought::Write(ChangeType::Modified, "prices")),
            Moment::after(8, Sought::Asked("deadline", "watch=true")),
            Moment::after(2, Sought::Asked("old", "watch=true")),
            Moment::after(3, Sought::Asked("pings", "watch=true")),
        ],
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Ends, Panel::Holds],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(1_140.0),
        shows: (secs(0.0), secs(1_180.0)),
        lanes: Lanes::Layers,
        panels: &[
            Panel::Wire,
            Panel::Ends,
            Panel::Holds,
            Panel::Code,
            Panel::Breaks,
        ],
        ..Passage::BASE
    }
}
