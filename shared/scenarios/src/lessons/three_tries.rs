//! Lesson: three tries at one loop (docs/semantics/cases.md#watch-pitfalls). The loop's first version returns when its
//! watch ends, the second goes on with the dead channel, and the last one sleeps and watches again without a
//! resourceVersion. An informer runs beside them.

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{ClientGo, Edit, Program, Request, Scope, Version, WatchDeployment};

use super::{
    Aim, Break, Find, Form, Goal, Lanes, Learned, Lesson, Moment, Movable, News, Panel, Passage,
    Question, Script, Sought, Tap, act, end_streams, informer, patch_of, secs, start,
};
use crate::script::Deed;

/// The URL path of the lesson's deployments.
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "three-tries",
        lasts: secs(2_400.0),
        server: Version::DEFAULT,
        servers: super::one,
        client: ClientGo::minor(34),
        watches: None,
        script,
        passages: vec![
            three(),
            ended(),
            back(),
            moved(),
            again(),
            timer(),
            remember(),
        ],
        breaks: vec![
            changed("short-sleep", Edit::ShortSleep),
            changed("short-timer", Edit::ShortTimer),
            changed("resumes", Edit::Resumes),
            Break {
                key: "delete-web",
                deeds: vec![delete("web")],
            },
            super::end_watches(),
        ],
        movables: vec![end()],
        goals: vec![
            Goal {
                key: "cure",
                shows: Aim::Moment(Sought::CaughtUp("final", u64::MAX)),
                clicks: 1,
            },
            Goal {
                key: "no-ghost",
                // web was created at 7. The deletion of cart is 9.
                shows: Aim::Moment(Sought::Resumed("final", 7, 9)),
                clicks: 1,
            },
        ],
    }
}

/// Returns a break that starts final anew with one line changed.
fn changed(key: &'static str, edit: Edit) -> Break {
    let program = Program::WatchDeployment(WatchDeployment::Edited(edit));
    Break {
        key,
        deeds: vec![start("final", program, deployments())],
    }
}

/// The first end of all watches. cart is deleted at 8 s, and the watches end again at 20 s.
fn end() -> Movable {
    let written = secs(6.0);
    Movable {
        name: "end",
        lane: "apiserver 0",
        news: News {
            change: ChangeType::Deleted,
            object: "cart",
        },
        written,
        at: written,
        bounds: (secs(2.0), secs(14.0)),
        snaps: vec![],
        settled: secs(16.0),
        finds: vec![
            Find::of(
                "only-informer",
                &[
                    ("v1", Learned::Never),
                    ("v2", Learned::Never),
                    ("final", Learned::Never),
                    ("informer", Learned::ByEvent),
                ],
            ),
            Find::of(
                "final-too",
                &[
                    ("v1", Learned::Never),
                    ("v2", Learned::Never),
                    ("final", Learned::ByEvent),
                    ("informer", Learned::ByEvent),
                ],
            ),
            Find::of(
                "all",
                &[
                    ("v1", Learned::ByEvent),
                    ("v2", Learned::ByEvent),
                    ("final", Learned::ByEvent),
                    ("informer", Learned::ByEvent),
                ],
            ),
        ],
    }
}

fn script(client: ClientGo) -> Script {
    let informer = informer(client);
    let loop_of = |name, variant| start(name, Program::WatchDeployment(variant), deployments());
    Script {
        before: vec![create("cart"), create("web")],
        acts: vec![
            act(
                1.0,
                [
                    loop_of("v1", WatchDeployment::V1),
                    loop_of("v2", WatchDeployment::V2),
                    loop_of("final", WatchDeployment::Final),
                ],
            ),
            // It comes after the first passage, which shows five lanes.
            act(4.0, [start("informer", informer, deployments())]),
            act(6.0, [end_streams()]),
            act(7.0, [scale("web", 2)]),
            act(8.0, [delete("cart")]),
            act(20.0, [end_streams()]),
            act(22.0, [delete("web")]),
            act(23.0, [create("web")]),
            act(120.0, [scale("web", 3)]),
            act(480.0, [scale("web", 4)]),
        ],
    }
}

fn deployments() -> Scope {
    Scope::new("apps/v1", "deployments", "Deployment").in_namespace("default")
}

fn create(name: &str) -> Deed {
    let body = json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "main:1"}]},
            },
        },
    });
    Deed::Call(Request::new("POST", DEPLOYMENTS).json(&body))
}

fn scale(name: &str, replicas: u32) -> Deed {
    let patch = json!({"spec": {"replicas": replicas}});
    patch_of(&format!("{DEPLOYMENTS}/{name}"), &patch)
}

fn delete(name: &str) -> Deed {
    Deed::Call(Request::new("DELETE", &format!("{DEPLOYMENTS}/{name}")))
}

fn three() -> Passage {
    Passage {
        key: "three",
        at: secs(3.0),
        shows: (secs(0.0), secs(7.0)),
        moments: vec![Moment::first(Sought::Asked("v1", "watch"))],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Sides,
        panels: &[],
        ..Passage::BASE
    }
}

fn ended() -> Passage {
    Passage {
        key: "ended",
        at: secs(7.8),
        shows: (secs(3.0), secs(13.0)),
        moments: vec![
            Moment::first(Sought::Phase("v1", "returned")),
            Moment::first(Sought::Phase("v2", "spinning")),
            Moment::first(Sought::Phase("final", "sleeping")),
            Moment::after(1, Sought::Asked("informer", "watch")),
            Moment::first(Sought::Write(ChangeType::Modified, "web")),
        ],
        question: Some(Question {
            form: Form::Tap(&[
                Tap {
                    lane: "client v1",
                    is_right: true,
                },
                Tap {
                    lane: "client v2",
                    is_right: true,
                },
                Tap {
                    lane: "client final",
                    is_right: true,
                },
                Tap {
                    lane: "client informer",
                    is_right: false,
                },
            ]),
            covers: true,
        }),
        lanes: Lanes::Sides,
        panels: &[Panel::Wire, Panel::Code],
        ..Passage::BASE
    }
}

fn back() -> Passage {
    Passage {
        key: "back",
        at: secs(12.5),
        shows: (secs(4.0), secs(15.0)),
        moments: vec![
            Moment::first(Sought::Write(ChangeType::Deleted, "cart")),
            Moment::first(Sought::Belief("informer", "cart", false)),
            Moment::after(1, Sought::Asked("final", "watch")),
        ],
        question: Some(Question::choose(3, 1)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn moved() -> Passage {
    Passage {
        key: "moved",
        at: secs(17.0),
        shows: (secs(0.0), secs(19.0)),
        question: Some(Question::choose(3, 1)),
        moves: Some(0),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn again() -> Passage {
    Passage {
        key: "again",
        at: secs(27.0),
        shows: (secs(0.0), secs(30.0)),
        moments: vec![
            Moment::after(1, Sought::Phase("final", "sleeping")),
            Moment::first(Sought::Write(ChangeType::Deleted, "web")),
            Moment::after(1, Sought::Write(ChangeType::Added, "web")),
            Moment::after(2, Sought::Asked("final", "watch")),
        ],
        question: Some(Question::choose(3, 2)),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn timer() -> Passage {
    Passage {
        key: "timer",
        at: secs(30.0),
        shows: (secs(0.0), secs(2_600.0)),
        speed: Some(300),
        lanes: Lanes::Layers,
        panels: &[Panel::Wire, Panel::Code, Panel::Holds],
        ..Passage::BASE
    }
}

fn remember() -> Passage {
    Passage {
        key: "remember",
        at: secs(2_300.0),
        shows: (secs(0.0), secs(2_600.0)),
        moments: vec![
            Moment::after(1, Sought::Write(ChangeType::Modified, "web")),
            Moment::after(2, Sought::Write(ChangeType::Modified, "web")),
            Moment::after(2, Sought::Phase("final", "sleeping")),
            Moment::after(3, Sought::Asked("final", "watch")),
        ],
        lanes: Lanes::Layers,
        ..Passage::BASE
    }
}
