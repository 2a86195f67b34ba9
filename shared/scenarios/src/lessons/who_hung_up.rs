//! Lesson: who hung up (docs/semantics/clients.md#read-errors). Two programs read the result channel of client-go's
//! StreamWatcher. Their watches end in seven ways; in five of them the channel is closed without a word.

use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Cut, Fault, Program, Target, Version};

use super::{
    Aim, Break, End, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel,
    Passage, Question, Script, Sought, act, configmaps, create_map, delete_map, end_streams,
    informer, secs, start, write_map,
};
use crate::script::Deed;

/// The error code INTERNAL_ERROR of an RST_STREAM frame (RFC 9113, section 7): Go's server sends it after a panic.
const INTERNAL_ERROR: u32 = 2;

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "who-hung-up",
        lasts: secs(660.0),
        server: Version::DEFAULT,
        servers: super::one,
        client: ClientGo::minor(34),
        watches: Some(("configmaps", "ConfigMap")),
        script,
        passages: vec![
            two(),
            orderly(),
            four(),
            moved(),
            garbled(),
            timeout(),
            remember(),
        ],
        breaks: vec![
            Break {
                key: "rst-stream",
                deeds: vec![reset_streams()],
            },
            super::reset_all(),
            Break {
                key: "goaway",
                deeds: vec![go_away()],
            },
            super::end_watches(),
            Break {
                key: "delete-prices",
                deeds: vec![delete_map("prices")],
            },
        ],
        movables: vec![deletion()],
        goals: vec![
            Goal {
                key: "list",
                // The write at 34 s has revision 11.
                shows: Aim::Moment(Sought::Relisted("informer", 10)),
                clicks: 1,
            },
            Goal {
                key: "ghost",
                shows: Aim::Ghosts("informer", 1),
                clicks: 2,
            },
        ],
    }
}

fn reset_streams() -> Deed {
    Deed::Inject(Fault::ResetStreams {
        target: Target::All,
        code: INTERNAL_ERROR,
    })
}

fn go_away() -> Deed {
    Deed::Inject(Fault::GoAway {
        target: Target::All,
        cut: Some(Cut::Eof),
    })
}

/// The deletion of stock. RST_STREAM at 40 s sends informer to its list.
fn deletion() -> Movable {
    let written = secs(38.0);
    Movable {
        name: "stock",
        lane: "etcd",
        news: News {
            change: ChangeType::Deleted,
            object: "stock",
        },
        written,
        at: written,
        bounds: (secs(35.0), secs(48.0)),
        snaps: vec![],
        settled: secs(49.0),
        finds: vec![
            Find::of(
                "events",
                &[("reader", Learned::ByEvent), ("informer", Learned::ByEvent)],
            ),
            Find::of(
                "list",
                &[
                    ("reader", Learned::ByEvent),
                    ("informer", Learned::FromList),
                ],
            ),
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let informer = informer(client);
    let target = || Target::All;
    Script {
        before: vec![create_map("prices"), create_map("stock")],
        acts: vec![
            act(
                1.0,
                [
                    start("reader", Program::LastSeen, configmaps()),
                    start("informer", informer, configmaps()),
                ],
            ),
            act(8.0, [end_streams()]),
            act(10.0, [write_map("prices", 1)]),
            act(
                16.0,
                [Deed::Inject(Fault::Cut {
                    target: target(),
                    cut: Cut::Reset,
                })],
            ),
            act(18.0, [write_map("prices", 2)]),
            act(24.0, [go_away()]),
            act(26.0, [write_map("prices", 3)]),
            act(
                32.0,
                [Deed::Inject(Fault::TearFrame {
                    target: target(),
                    cut: Cut::Eof,
                })],
            ),
            act(34.0, [write_map("prices", 4)]),
            act(38.0, [delete_map("stock")]),
            act(40.0, [reset_streams()]),
            act(
                50.0,
                [Deed::Inject(Fault::GarbleFrame { target: target() })],
            ),
            act(52.0, [write_map("prices", 5)]),
        ],
    }
}

fn two() -> Passage {
    Passage {
        key: "two",
        at: secs(3.0),
        shows: (secs(0.0), secs(9.0)),
        moments: vec![Moment::first(Sought::Asked("reader", "watch"))],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Sides,
        panels: &[],
        ..Passage::BASE
    }
}

fn orderly() -> Passage {
    Passage {
        key: "orderly",
        at: secs(14.0),
        shows: (secs(4.0), secs(18.0)),
        moments: vec![
            Moment::after(1, Sought::Asked("informer", "watch")),
            Moment::first(Sought::Phase("reader", "sleeping")),
            Moment::after(1, Sought::Asked("reader", "watch")),
            Moment::first(Sought::Write(ChangeType::Modified, "prices")),
        ],
        question: Some(Question {
            form: Form::Ends(&[
                End { is_error: false },
                End { is_error: false },
                End { is_error: false },
                End { is_error: true },
            ]),
            covers: false,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Ends, Panel::Code],
        speed: Some(4),
        ..Passage::BASE
    }
}

fn four() -> Passage {
    Passage {
        key: "four",
        at: secs(43.0),
        shows: (secs(12.0), secs(48.0)),
        moments: vec![
            Moment::after(1, Sought::Phase("reader", "sleeping")),
            Moment::after(2, Sought::Phase("reader", "sleeping")),
            Moment::after(3, Sought::Phase("reader", "sleeping")),
            Moment::after(4, Sought::Phase("reader", "sleeping")),
            Moment::after(1, Sought::Phase("informer", "listing")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Ends, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(49.0),
        shows: (secs(32.0), secs(51.0)),
        question: Some(Question::choose(3, 1)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Ends, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn garbled() -> Passage {
    Passage {
        key: "garbled",
        at: secs(58.0),
        shows: (secs(38.0), secs(62.0)),
        moments: vec![
            Moment::after(4, Sought::Write(ChangeType::Modified, "prices")),
            Moment::after(5, Sought::Phase("reader", "sleeping")),
            Moment::after(6, Sought::Asked("reader", "watch")),
            Moment::after(2, Sought::Phase("informer", "listing")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Ends, Panel::Code, Panel::Holds],
        speed: Some(100),
        ..Passage::BASE
    }
}

fn timeout() -> Passage {
    Passage {
        key: "timeout",
        at: secs(640.0),
        shows: (secs(0.0), secs(700.0)),
        moments: vec![Moment::after(7, Sought::Asked("informer", "watch"))],
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Ends, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(650.0),
        shows: (secs(0.0), secs(700.0)),
        lanes: Lanes::All,
        panels: &[
            Panel::Wire,
            Panel::Ends,
            Panel::Code,
            Panel::Holds,
            Panel::Breaks,
        ],
        ..Passage::BASE
    }
}
