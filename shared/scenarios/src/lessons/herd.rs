//! Lesson 12: all at once.

use serde_json::json;
use watchscope_model::vocabulary::ChangeType;
use watchscope_simulator::{
    ClientGo, Controller, Cut, Fault, Program, Request, Scope, ServerId, Target, Version,
};

use super::{
    Lanes, Lesson, Passage, Script, act, configmaps, create_map, create_pod, delete_map, patch_of,
    pods, secs, start,
};
use crate::script::Deed;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PROMOTIONS: &str = "/apis/shop.example.com/v1/namespaces/default/promotions";
const A: ServerId = ServerId(0);
const B: ServerId = ServerId(1);

pub(super) fn lesson() -> Lesson {
    Lesson {
        name: "herd",
        lasts: secs(120.0),
        server: Version::new(27, 0).unwrap_or(Version::DEFAULT),
        servers: |server| vec![Version::new(24, 0).unwrap_or(server), server],
        client: ClientGo::minor(27),
        watches: None,
        script,
        passages: vec![Passage {
            key: "x",
            at: secs(3.0),
            shows: (secs(0.0), secs(8.0)),
            lanes: Lanes::Sides,
            panels: &[],
            ..Passage::BASE
        }],
        breaks: vec![],
        movables: vec![],
        goals: vec![],
    }
}

fn promotions() -> Scope {
    Scope::new("shop.example.com/v1", "promotions", "Promotion").in_namespace("default")
}

fn out(server: ServerId) -> Fault {
    Fault::OutOfRotation { server }
}

fn stop(server: ServerId, grace_s: f64) -> Fault {
    Fault::Shutdown {
        server,
        delay: secs(0.0),
        grace: secs(grace_s),
        sends_retry_after: false,
    }
}

fn script(client: ClientGo) -> Script {
    let program = Program::Controller(Controller {
        version: client,
        ..Controller::default()
    });
    let crowd = |scope: Scope, count: u16| Deed::Crowd {
        name: "crowd",
        program: program.clone(),
        scope,
        count,
    };
    let definition = json!({"metadata": {"name": "promotions.shop.example.com"}, "spec": {
        "group": "shop.example.com", "scope": "Namespaced",
        "names": {"plural": "promotions", "kind": "Promotion"},
        "versions": [{"name": "v1", "served": true, "storage": true}],
    }});
    let summer = json!({"metadata": {"name": "summer"}});
    let mut both = vec![];
    for (server, other) in [(A, B), (B, A)] {
        both.extend([
            Deed::Inject(out(other)),
            crowd(pods(), 39),
            crowd(configmaps(), 40),
            crowd(promotions(), 20),
        ]);
        both.push(start(
            if server == A { "old" } else { "new" },
            program.clone(),
            pods(),
        ));
        both.push(Deed::Lift(out(other)));
    }
    let mut acts = vec![
        act(1.0, both),
        act(10.0, [Deed::Inject(Fault::NoLeader)]),
        act(10.5, [delete_map("report")]),
        act(14.0, [Deed::Lift(Fault::NoLeader)]),
        act(50.0, [Deed::Inject(stop(B, 60.0))]),
        act(54.0, [Deed::Lift(stop(B, 60.0))]),
        act(
            60.0,
            [
                Deed::Inject(stop(A, 0.0)),
                Deed::Inject(Fault::Cut {
                    target: Target::Server(A),
                    cut: Cut::Eof,
                }),
            ],
        ),
        act(64.0, [Deed::Lift(stop(A, 0.0))]),
        act(
            75.0,
            [patch_of(
                &format!("{DEFINITIONS}/promotions.shop.example.com"),
                &json!({"spec": {"names": {"shortNames": ["promo"]}}}),
            )],
        ),
        act(
            90.0,
            [Deed::Call(Request::new(
                "DELETE",
                &format!("{DEFINITIONS}/promotions.shop.example.com"),
            ))],
        ),
    ];
    for second in 2..110 {
        acts.push(act(
            f64::from(second) + 0.25,
            [patch_of(
                &format!("{}/web-0", super::PODS),
                &json!({"metadata": {"annotations": {"turn": second.to_string()}}}),
            )],
        ));
    }
    watchscope_model::tree::sort_by(&mut acts, |one, other| one.at.cmp(&other.at));
    Script {
        before: vec![
            Deed::Call(Request::new("POST", DEFINITIONS).json(&definition)),
            create_map("prices"),
            create_map("report"),
            create_pod("web-0"),
            Deed::Call(Request::new("POST", PROMOTIONS).json(&summer)),
        ],
        acts,
    }
}

#[cfg(test)]
mod probe {
    use std::collections::BTreeMap;

    use watchscope_model::{Entry, Event};
    use watchscope_simulator::Tallied;

    use super::super::{LessonPlayer, Run};
    use super::*;

    #[test]
    fn print() {
        let _ = ChangeType::Added;
        let lesson = lesson();
        let run = Run {
            seed: 1,
            server: lesson.server,
            client: lesson.client,
        };
        let lasts = lesson.lasts;
        let wall = std::time::SystemTime::now();
        let mut player = LessonPlayer::new(lesson, run);
        let entries = player.advance(lasts);
        println!("took {:?}", wall.elapsed().unwrap());
        let begin = player.time(secs(0.0));
        for entry in &entries {
            if let Entry::Record(record) = entry {
                let at = record.at.micros_since(begin) as f64 / 1e6;
                match &record.event {
                    Event::ClientRequest(sent) => println!("{at:9.4} {} > {}", sent.client, sent.request),
                    Event::ClientReport(report) if report.belief.is_none() => println!("{at:9.4} {} = {}", report.client, report.phase),
                    Event::Finding(finding) => println!("{at:9.4} finding {} {:?} {}", finding.code, finding.state, finding.summary),
                    _ => {}
                }
            }
        }
        println!("entries {}", entries.len());
        for (at, record) in player.take_received() {
            let text = format!("{:?}", record.received);
            if !text.contains("Change {") {
                println!("{:9.4} {} < {}", at.micros_since(begin) as f64 / 1e6, record.client, &text[..text.len().min(150)]);
            }
        }
        let mut counts: BTreeMap<(u16, i64), BTreeMap<String, u32>> = BTreeMap::new();
        for (at, record) in player.take_tally() {
            let second = at.micros_since(begin).div_euclid(1_000_000);
            let name = match record.tallied {
                Tallied::Refused(code) => format!("refused{code}"),
                Tallied::Failed(code) => format!("error{code}"),
                other => format!("{other:?}"),
            };
            *counts.entry((record.server.0, second)).or_default().entry(name).or_default() += 1;
        }
        for ((server, second), counts) in counts {
            println!("server {server} second {second}: {counts:?}");
        }
    }
}
