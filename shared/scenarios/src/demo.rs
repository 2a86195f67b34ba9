//! The demo's story, which repeats every four minutes. The story's first minute has a rollout, a connection reset with
//! resume, and an expired watch with relist and inferred deletes. In that minute the watch of services stays quiet and
//! healthy.

use std::time::Duration;

use serde_json::json;
use watchscope_simulator::{
    Config, Controller, Cut, Fault, Program, Request, Scope, Target, Throttle, WorkloadConfig,
};

use crate::script::{Act, Deed, Line};
use crate::story::{Story, View};

/// The URL path of the configmaps in the namespace `shop`.
const CONFIGMAPS: &str = "/api/v1/namespaces/shop/configmaps";
/// The configmaps that are deleted while the watch of configmaps has no stream.
const REPORTS: [&str; 2] = ["report-draft", "report-final"];
/// The custom resource that the demo's story watches.
const PROMOTIONS: &str = "promotions.shop.example.com";

/// The name of the demo's story.
pub(crate) const NAME: &str = "shop";
/// The title of the demo's story.
pub(crate) const TITLE: &str = "a rollout, a reset, an expiry and a quiet lane, again and again";

/// Returns the demo's story, `shop`. It repeats every 240 s.
#[must_use]
pub fn story() -> Story {
    Story {
        name: NAME,
        title: TITLE,
        config: Config {
            workload: WorkloadConfig {
                rollout_every: None,
                ..WorkloadConfig::default()
            },
            ..Config::default()
        },
        view: View::of(
            "shop",
            &[
                "pods",
                "replicasets.apps",
                "deployments.apps",
                "configmaps",
                "jobs.batch",
                "services",
                "promotions.shop.example.com",
                "events",
            ],
        ),
        acts: acts(),
        period: Some(Duration::from_secs(240)),
    }
}

fn acts() -> Vec<Act> {
    let mut acts = first_minute();
    acts.extend(second_minute());
    acts.extend(third_minute());
    acts
}

/// Returns the acts of the first minute: a rollout, a connection reset with resume, and an expired watch with relist
/// and inferred deletes. In this minute the watch of services stays quiet.
fn first_minute() -> Vec<Act> {
    let create = |name: &str| {
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name}, "data": {"rows": "118"},
        });
        Deed::Call(Request::new("POST", &format!("{CONFIGMAPS}?fieldManager=reporter")).json(&body))
    };
    let delete = |name: &str| Deed::Call(Request::new("DELETE", &format!("{CONFIGMAPS}/{name}")));
    let throttled = throttled("configmaps");
    let expired = expired("configmaps");
    vec![
        act(0, programs(), None),
        act(3, REPORTS.map(create).into(), None),
        act(
            6,
            vec![restart("web")],
            says(
                "shop/pods",
                "Deployment web rolls out: pods come, become ready, and the old ones go.",
            ),
        ),
        act(
            20,
            vec![reset("pods")],
            says(
                "shop/pods",
                "The connection of shop/pods was reset. The watch resumes from its last resourceVersion: nothing is lost.",
            ),
        ),
        act(
            30,
            vec![Deed::Inject(throttled.clone()), reset("configmaps")],
            says(
                "shop/configmaps",
                "shop/configmaps lost its connection, and the server answers 429: it has to wait.",
            ),
        ),
        act(
            32,
            REPORTS
                .map(delete)
                .into_iter()
                .chain([Deed::Inject(expired.clone())])
                .collect(),
            None,
        ),
        act(
            37,
            vec![Deed::Lift(throttled)],
            says(
                "shop/configmaps",
                "Its history is gone: 410 Expired, so it lists again. Two configmaps it held are not in the list: their deletes are inferred, never seen.",
            ),
        ),
        act(
            56,
            Vec::new(),
            says(
                "shop/services",
                "shop/services has had no event all the while. Its bookmarks say it misses nothing: quiet is not dead.",
            ),
        ),
        act(59, vec![Deed::Lift(expired)], None),
    ]
}

/// Starts two programs that watch the same configmaps. The first program infers deletions from a relist. The second
/// program never learns of the deletions, because after a 410 it repeats the same request (F11, F13). Each round of the
/// story starts both programs anew.
fn programs() -> Vec<Deed> {
    let scope = Scope::new("v1", "configmaps", "ConfigMap").in_namespace("shop");
    let start = |name: &str, program| Deed::Start {
        name: name.to_owned(),
        program,
        scope: scope.clone(),
    };
    vec![
        start("informer", Program::Controller(Controller::default())),
        start("naive", Program::LastSeen),
    ]
}

/// Returns the acts of the second minute: a rollout, a reset and an expiry as in the first, for other watches. The
/// change of watches ensures that no watch is in a long backoff when it is struck again.
fn second_minute() -> Vec<Act> {
    let expired = expired(PROMOTIONS);
    vec![
        act(
            66,
            vec![restart("cart")],
            says(
                "shop/replicasets.apps",
                "Deployment cart rolls out: a new replicaset grows while the old one shrinks.",
            ),
        ),
        act(
            82,
            vec![reset("replicasets.apps")],
            says(
                "shop/replicasets.apps",
                "The connection of shop/replicasets.apps was reset; the watch resumes.",
            ),
        ),
        act(
            94,
            vec![Deed::Inject(expired.clone()), reset(PROMOTIONS)],
            says(
                "shop/promotions.shop.example.com",
                "The watch of a custom resource fell off the history: 410, relist, go on from the list.",
            ),
        ),
        act(104, vec![Deed::Lift(expired)], None),
    ]
}

/// Returns the acts of the third minute: a rollout, and what a client sees of an apiserver's restart.
fn third_minute() -> Vec<Act> {
    vec![
        act(
            124,
            vec![restart("payments")],
            says("shop/deployments.apps", "Deployment payments rolls out."),
        ),
        act(
            130,
            vec![Deed::Inject(Fault::Cut {
                target: Target::All,
                cut: Cut::Eof,
            })],
            says(
                "shop/deployments.apps",
                "All connections closed at once, as when an apiserver restarts: every watch resumes, each after its own wait.",
            ),
        ),
    ]
}

fn reset(resource: &str) -> Deed {
    Deed::Inject(Fault::Cut {
        target: Target::Resource(resource.to_owned()),
        cut: Cut::Reset,
    })
}

fn restart(deployment: &'static str) -> Deed {
    Deed::Restart {
        namespace: "shop",
        deployment,
    }
}

fn throttled(resource: &str) -> Fault {
    Fault::TooManyRequests {
        resource: Some(resource.to_owned()),
        throttle: Throttle::PriorityAndFairness,
        retry_after_secs: 2,
    }
}

fn expired(resource: &str) -> Fault {
    Fault::Expire {
        resource: Some(resource.to_owned()),
    }
}

fn act(at_s: u64, deeds: Vec<Deed>, says: Option<Line>) -> Act {
    Act {
        at: Duration::from_secs(at_s),
        deeds,
        says,
    }
}

fn says(watch: &str, text: &str) -> Option<Line> {
    Some(Line {
        text: text.to_owned(),
        watch: Some(watch.into()),
        over: false,
    })
}
