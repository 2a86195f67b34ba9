//! The demo's story: within a minute, and then again and again, a rollout, a reset with resume, an expiry with relist
//! and inferred deletes, and a lane that is quiet and well.

use std::time::Duration;

use serde_json::json;
use watchscope_simulator::{Config, Cut, Fault, Request, Target, Throttle, WorkloadConfig};

use crate::story::{Act, Deed, Line, Story};

const CONFIGMAPS: &str = "/api/v1/namespaces/shop/configmaps";
/// What is deleted while the watch of configmaps is away.
const REPORTS: [&str; 2] = ["report-draft", "report-final"];

/// The story.
#[must_use]
pub fn story() -> Story {
    Story {
        name: "shop",
        title: "a rollout, a reset, an expiry and a quiet lane, every minute",
        config: Config {
            workload: WorkloadConfig {
                rollout_every: None,
                ..WorkloadConfig::default()
            },
            ..Config::default()
        },
        namespace: "shop",
        resources: &[
            "pods",
            "replicasets",
            "deployments",
            "configmaps",
            "jobs",
            "services",
            "promotions.shop.example.com",
            "events",
        ],
        acts: acts(),
        period: Some(Duration::from_secs(60)),
    }
}

fn acts() -> Vec<Act> {
    let configmaps = || Target::Resource("configmaps".to_owned());
    let throttled = Fault::TooManyRequests {
        resource: Some("configmaps".to_owned()),
        throttle: Throttle::PriorityAndFairness,
        retry_after_secs: 2,
    };
    let expired = Fault::Expire {
        resource: Some("configmaps".to_owned()),
    };
    let create = |name: &str| {
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name}, "data": {"rows": "118"},
        });
        Deed::Call(Request::new("POST", &format!("{CONFIGMAPS}?fieldManager=reporter")).json(&body))
    };
    let delete = |name: &str| Deed::Call(Request::new("DELETE", &format!("{CONFIGMAPS}/{name}")));
    vec![
        act(3, REPORTS.map(create).into(), None),
        act(
            6,
            vec![Deed::Restart {
                namespace: "shop",
                deployment: "web",
            }],
            says(
                "shop/pods",
                "Deployment web rolls out: pods come, become ready, and the old ones go.",
            ),
        ),
        act(
            22,
            vec![Deed::Inject(Fault::Cut {
                target: Target::Resource("pods".to_owned()),
                cut: Cut::Reset,
            })],
            says(
                "shop/pods",
                "The connection of shop/pods was reset. The watch resumes from its last resourceVersion: nothing is lost.",
            ),
        ),
        act(
            34,
            vec![
                Deed::Inject(throttled.clone()),
                Deed::Inject(Fault::Cut {
                    target: configmaps(),
                    cut: Cut::Reset,
                }),
            ],
            says(
                "shop/configmaps",
                "shop/configmaps lost its connection, and the server answers 429: it has to wait.",
            ),
        ),
        act(
            36,
            REPORTS
                .map(delete)
                .into_iter()
                .chain([Deed::Inject(expired.clone())])
                .collect(),
            None,
        ),
        act(
            38,
            vec![Deed::Lift(throttled)],
            says(
                "shop/configmaps",
                "Its history is gone: 410 Expired, so it lists again. Two configmaps it held are not in the list: their deletes are inferred, never seen.",
            ),
        ),
        act(46, vec![Deed::Lift(expired)], None),
        act(
            52,
            Vec::new(),
            says(
                "shop/services",
                "shop/services has had no event all the while. Its bookmarks say it misses nothing: quiet is not dead.",
            ),
        ),
    ]
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
    })
}
