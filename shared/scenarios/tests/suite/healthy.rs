//! Tests for false alarms. Healthy worlds of mixed load raise no finding above a note, and only notes about what was
//! done to them. Most are audited, and no object in them is ever reported as wrong. The same worlds with a divergence
//! are reported.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::json;
use watchscope_diagnosis::audit::Level;
use watchscope_model::vocabulary::{ChangeType, Divergence, Origin, Severity, Standing};
use watchscope_model::{Event, Time, WatchName};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_scenarios::{Act, Deed, Run, Story, View, address_of};
use watchscope_simulator::{
    Config, Controller, Cut, Fault, Program, Request, Scope, ServerId, Target, WorkloadConfig,
};

const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/promotions.shop.example.com";
const MAPS: &str = "/api/v1/namespaces/shop/configmaps";
const WARM_UP: Duration = Duration::from_secs(60);
/// One in this number of clusters is as old as events live (`--event-ttl`), so events expire in it all the time.
const AGED_ONE_IN: u64 = 10;
const AGED: Duration = Duration::from_secs(3_600);
/// The time between two GOAWAYs of `--goaway-chance` and load balancers, in seconds: the least, and the range above it.
const GOES_AWAY_S: [u64; 2] = [40, 200];
/// Within this time a divergence is confirmed if lists show it, in seconds: two rounds of `light`.
const CONFIRMED_S: u64 = 60;
const MINUTES: u64 = 8;
/// One in this number of worlds lasts longer than the history of a quiet type.
const LONG_ONE_IN: u64 = 25;
const LONG_MINUTES: u64 = 40;
const MINORS: std::ops::Range<u64> = 19..38;

/// What is done to a healthy world, and the notes that it may cause.
const DONE: [(&str, &[&str]); 7] = [
    ("a rollout", &[]),
    ("a namespace is deleted", &[]),
    ("a definition is edited", &["F11", "F17", "F28"]),
    ("an object leaves a selector and comes back", &["F43"]),
    // Events that come at once after a silence are merged before they reach a handler.
    ("a server restarts", &["F06", "F08", "F49"]),
    ("connections are reset", &["F06", "F08", "F49"]),
    ("watches of a type end in order", &[]),
];

fn act(secs: u64, deeds: Vec<Deed>) -> Act {
    Act {
        at: Duration::from_secs(secs),
        deeds,
        says: None,
    }
}

fn merge(path: &str, patch: &serde_json::Value) -> Deed {
    let mut request =
        Request::new("PATCH", path).header("content-type", "application/merge-patch+json");
    request.body = patch.to_string().into();
    Deed::Call(request)
}

fn post(path: &str, body: &serde_json::Value) -> Deed {
    Deed::Call(Request::new("POST", path).json(body))
}

/// What is done, beginning at a second.
fn deeds(what: usize, at: u64, acts: &mut Vec<Act>) {
    match what {
        0 => acts.push(act(
            at,
            vec![Deed::Restart {
                namespace: "shop",
                deployment: "web",
            }],
        )),
        1 => {
            let name = format!("short-{at}");
            let maps = format!("/api/v1/namespaces/{name}/configmaps");
            let mut all = vec![post(
                "/api/v1/namespaces",
                &json!({"metadata": {"name": name}}),
            )];
            all.extend(
                (0..5).map(|n| post(&maps, &json!({"metadata": {"name": format!("m{n}")}}))),
            );
            acts.push(act(at, all));
            let delete = Request::new("DELETE", &format!("/api/v1/namespaces/{name}"));
            acts.push(act(at + 20, vec![Deed::Call(delete)]));
        }
        2 => {
            let edit = json!({"spec": {"names": {"shortNames": [format!("p{at}")]}}});
            acts.push(act(at, vec![merge(DEFINITION, &edit)]));
        }
        3 => {
            let map = format!("{MAPS}/moving-{at}");
            let label = |tier| merge(&map, &json!({"metadata": {"labels": {"tier": tier}}}));
            let body =
                json!({"metadata": {"name": format!("moving-{at}"), "labels": {"tier": "web"}}});
            acts.push(act(at, vec![post(MAPS, &body)]));
            acts.push(act(at + 5, vec![label("db")]));
            acts.push(act(at + 9, vec![label("web")]));
        }
        4 => {
            let cut = Fault::Cut {
                target: Target::All,
                cut: Cut::Eof,
            };
            acts.push(act(
                at,
                vec![Deed::Inject(Fault::Refuse), Deed::Inject(cut)],
            ));
            acts.push(act(at + 3, vec![Deed::Lift(Fault::Refuse)]));
        }
        5 => {
            let cut = Fault::Cut {
                target: Target::Resource("pods".to_owned()),
                cut: Cut::Reset,
            };
            acts.push(act(at, vec![Deed::Inject(cut)]));
        }
        _ => {
            let close = Fault::CloseStreams {
                target: Target::Resource("configmaps".to_owned()),
            };
            acts.push(act(at, vec![Deed::Inject(close)]));
        }
    }
}

fn watches() -> Vec<WatchSpec> {
    let labels = "tier=web";
    let selecting = WatchSpec {
        name: WatchName::new("shop", "configmaps", "", Some(labels), None, 1),
        label_selector: Some(labels.into()),
        ..WatchSpec::of("shop", "configmaps", "ConfigMap")
    };
    vec![
        WatchSpec::of("shop", "pods", "Pod"),
        WatchSpec::of("*", "configmaps", "ConfigMap"),
        selecting,
        WatchSpec::of("shop", "services", "Service"),
        WatchSpec::of("shop", "events", "Event"),
        // Nothing happens here.
        WatchSpec::of("default", "events", "Event"),
        WatchSpec::of("*", "deployments.apps", "Deployment"),
        WatchSpec::of("shop", "replicasets.apps", "ReplicaSet"),
        WatchSpec::of("shop", "jobs.batch", "Job"),
        WatchSpec::of("shop", "promotions.shop.example.com", "Promotion"),
        WatchSpec::of("-", "namespaces", "Namespace"),
        WatchSpec::of(
            "-",
            "customresourcedefinitions.apiextensions.k8s.io",
            "CustomResourceDefinition",
        ),
    ]
}

/// Watches of some resources by each of two servers.
fn by_each_server() -> Vec<WatchSpec> {
    let all = [("*", "configmaps", "ConfigMap"), ("shop", "pods", "Pod")];
    let pinned = |(namespace, resource, kind), index: u16| WatchSpec {
        name: WatchName::new(namespace, resource, "", None, None, u32::from(index) + 2),
        server: Some(address_of(ServerId(index))),
        ..WatchSpec::of(namespace, resource, kind)
    };
    all.into_iter()
        .flat_map(|of| [pinned(of, 0), pinned(of, 1)])
        .collect()
}

/// A healthy world that was played.
struct Played {
    run: Run,
    /// The notes that the deeds may cause.
    allowed: BTreeSet<&'static str>,
    /// Its server's minor version.
    minor: u64,
    began: Time,
}

/// How a world is watched, and how old it is.
struct Manner {
    audit: Level,
    /// Whether all watches of a server share a connection, as over HTTP/2.
    shares: bool,
    /// Whether the server asks for other connections now and then.
    goes_away: bool,
    is_aged: bool,
    /// The seconds in which nothing is done.
    quiet: Range<u64>,
}

impl Manner {
    fn of(seed: u64) -> Self {
        Self {
            audit: match seed % 4 {
                0 => Level::Off,
                2 => Level::Full,
                _ => Level::Light,
            },
            shares: (seed / 4).is_multiple_of(2),
            goes_away: (seed / 8).is_multiple_of(2),
            is_aged: seed / 3 % AGED_ONE_IN == 7,
            quiet: 0..0,
        }
    }

    /// Each watch has a connection of its own, and there is no audit.
    fn plain() -> Self {
        Self {
            audit: Level::Off,
            shares: false,
            goes_away: false,
            is_aged: false,
            quiet: 0..0,
        }
    }
}

/// Returns the minor version of a seed's world.
fn minor_of(seed: u64) -> u64 {
    let first = ChaCha8Rng::seed_from_u64(seed).next_u64();
    MINORS.start + first % (MINORS.end - MINORS.start)
}

/// Plays the healthy world of a seed, with `more` done to it.
fn world(seed: u64, manner: &Manner, more: Vec<Act>) -> Played {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |limit: u64| rng.next_u64() % limit;
    let minor = MINORS.start + below(MINORS.end - MINORS.start);
    let mut acts = Vec::new();
    let mut allowed = BTreeSet::from(["F34"]);
    let mut minutes = MINUTES;
    if seed.is_multiple_of(LONG_ONE_IN) {
        minutes = LONG_MINUTES;
        // Events have no watch cache. If there are none for long, their history expires.
        allowed.insert("F12");
    }
    let mut at = 30;
    while at + 60 < minutes * 60 {
        let what = usize::try_from(below(DONE.len() as u64)).expect("a small number");
        if !manner.quiet.contains(&at) {
            deeds(what, at, &mut acts);
            allowed.extend(DONE[what].1);
        }
        // Far enough from the next deed, so that the world has recovered by then.
        at += 45 + below(75);
    }
    if manner.goes_away {
        allowed.insert("F09");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        let mut next = || GOES_AWAY_S[0] + rng.next_u64() % GOES_AWAY_S[1];
        let mut at = next();
        while at < minutes * 60 {
            let go_away = Fault::GoAway {
                target: Target::All,
                cut: None,
            };
            acts.push(act(at, vec![Deed::Inject(go_away)]));
            at += next();
        }
    }
    let informer = Deed::Start {
        name: "informer".to_owned(),
        program: Program::Controller(Controller::default()),
        scope: Scope::new("v1", "pods", "Pod").in_namespace("shop"),
    };
    acts.push(act(1, vec![informer]));
    acts.extend(more);
    acts.sort_by_key(|act| act.at);
    let version = format!("1.{minor}.0");
    let story = Story {
        name: "healthy",
        title: "a healthy world",
        config: Config {
            warm_up: if manner.is_aged { AGED } else { WARM_UP },
            servers: vec![
                version.parse().expect("a version of the simulator's");
                if seed.is_multiple_of(3) { 2 } else { 1 }
            ],
            workload: WorkloadConfig {
                rollout_every: (below(2) == 0).then_some(Duration::from_secs(45)),
                ..WorkloadConfig::default()
            },
            ..Config::default()
        },
        view: View::of("shop", &[]),
        acts,
        period: None,
    };
    let mut run = Run::of_story(story, seed);
    let began = run.now();
    run.audit(manner.audit);
    let pinned = if seed.is_multiple_of(3) {
        by_each_server()
    } else {
        Vec::new()
    };
    for (n, spec) in (0..).zip(watches().into_iter().chain(pinned)) {
        let config = ProbeConfig {
            watch_list: below(4) == 0,
            ..ProbeConfig::default()
        };
        if manner.shares {
            run.watch_sharing(spec, config, seed + n);
        } else {
            run.watch(spec, config, seed + n);
        }
    }
    run.run_for(Duration::from_secs(minutes * 60));
    Played {
        run,
        allowed,
        minor,
        began,
    }
}

/// Returns wrong findings in healthy worlds, and how many events expired in them.
fn alarms(seeds: Range<u64>, manner: fn(u64) -> Manner) -> (String, usize) {
    let (mut wrong, mut expired) = (String::new(), 0);
    for seed in seeds {
        let Played {
            run,
            allowed,
            minor,
            ..
        } = world(seed, &manner(seed), Vec::new());
        let events = WatchName::from("shop/events");
        let is_expired = |record: &&watchscope_model::Record| {
            matches!(&record.event, Event::Change(change) if change.watch == events
                && change.change == ChangeType::Deleted && change.origin == Origin::Live)
        };
        expired += run.records().iter().filter(is_expired).count();
        for record in run.records() {
            if let Event::Verdict(verdict) = &record.event {
                wrong += &format!("seed {seed} (1.{minor}): {verdict:?}\n");
            }
            let Event::Finding(finding) = &record.event else {
                continue;
            };
            // Events have no watch cache and so no bookmarks (docs/semantics/lists-and-watches.md#uncached), which is
            // noted.
            let has_no_bookmarks = finding
                .watch
                .as_ref()
                .is_some_and(|watch| watch.as_str().ends_with("/events"));
            let is_allowed = allowed.contains(&*finding.code)
                && (&*finding.code != "F34" || has_no_bookmarks)
                && finding.severity == Severity::Note;
            if !is_allowed && finding.state == Standing::Raised {
                wrong += &format!(
                    "seed {seed}: {} {} of {:?} {:?}: {}\n",
                    finding.code, finding.severity, finding.watch, finding.client, finding.summary
                );
            }
        }
    }
    (wrong, expired)
}

#[test]
fn thirty_healthy_worlds_raise_no_alarm() {
    let (wrong, expired) = alarms(0..30, Manner::of);
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(expired > 100, "{expired} events ended");
}

/// An edit ends a stream that had brought nothing since an orderly end, so the gap is older than the edit.
#[test]
fn an_expired_history_behind_an_edit_is_a_note_even_if_the_gap_began_before() {
    let (wrong, _) = alarms(254..255, |_| Manner::plain());
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
#[ignore = "a thousand worlds: cargo xtask test --long"]
fn a_thousand_healthy_worlds_raise_no_alarm() {
    let (wrong, _) = alarms(30..1_030, Manner::of);
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The target of a divergence: a resource, the collection of its objects, and the watch that diverges.
struct Kind {
    resource: &'static str,
    collection: &'static str,
    watch: &'static str,
    spec: fn(u64) -> serde_json::Value,
}

const KINDS: [Kind; 3] = [
    Kind {
        resource: "configmaps",
        collection: MAPS,
        watch: "*/configmaps",
        spec: |n| json!({"data": {"n": n.to_string()}}),
    },
    Kind {
        resource: "services",
        collection: "/api/v1/namespaces/shop/services",
        watch: "shop/services",
        spec: |n| json!({"spec": {"ports": [{"port": 80 + n}], "selector": {"app": "none"}}}),
    },
    Kind {
        resource: "promotions.shop.example.com",
        collection: "/apis/shop.example.com/v1/namespaces/shop/promotions",
        watch: "shop/promotions.shop.example.com",
        spec: |n| {
            json!({"apiVersion": "shop.example.com/v1", "kind": "Promotion",
                "spec": {"discountPercent": n + 1}})
        },
    },
];

/// A divergence of a watch in one object.
struct Injection {
    kind: Divergence,
    of: &'static Kind,
    /// Its time in seconds.
    at: u64,
    audit: Level,
}

impl Injection {
    fn of(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(2);
        let mut below = |limit: u64| usize::try_from(rng.next_u64() % limit).expect("small");
        Self {
            kind: [Divergence::Ghost, Divergence::Stale, Divergence::Missing][below(3)],
            of: &KINDS[below(3)],
            at: 12 + below(180) as u64,
            audit: [Level::Light, Level::Full][below(2)],
        }
    }

    /// Returns when the watch is past the missed event at the latest; nothing shows the divergence before. A watch that
    /// was cut off several times in two minutes waits for up to 30 s before it asks again.
    fn shows_at(&self) -> u64 {
        self.at + 40
    }

    /// Lets streams of the resource begin anew and miss the first event behind their start (F45).
    fn acts(&self) -> Vec<Act> {
        let Kind {
            resource,
            collection,
            spec,
            ..
        } = self.of;
        let resource = (*resource).to_owned();
        let path = |name: &str| format!("{collection}/{name}");
        let create = |name: &str| {
            let mut body = spec(0);
            body["metadata"] = json!({"name": name, "namespace": "shop"});
            post(collection, &body)
        };
        let race = Fault::StartRace {
            resource: resource.clone(),
        };
        let cut = Fault::Cut {
            target: Target::Resource(resource),
            cut: Cut::Reset,
        };
        let mut first = vec![create("other")];
        if self.kind != Divergence::Missing {
            first.push(create("victim"));
        }
        let missed = match self.kind {
            Divergence::Missing => create("victim"),
            Divergence::Ghost => Deed::Call(Request::new("DELETE", &path("victim"))),
            _ => merge(&path("victim"), &spec(1)),
        };
        vec![
            act(self.at - 6, first),
            act(self.at, vec![Deed::Inject(race.clone())]),
            // At once, so that no other event is the first, and long before the next request.
            act(self.at + 1, vec![Deed::Inject(cut), missed]),
            act(self.shows_at(), vec![merge(&path("other"), &spec(1))]),
            act(self.shows_at(), vec![Deed::Lift(race)]),
        ]
    }
}

/// Returns divergences in the same worlds that are not found, or not in time.
fn unfound(seeds: Range<u64>) -> String {
    let mut wrong = String::new();
    for seed in seeds {
        let minor = minor_of(seed);
        let injection = Injection::of(seed);
        let Injection {
            kind,
            of,
            at,
            audit,
        } = injection;
        let manner = Manner {
            audit,
            // A deed might heal the divergence.
            quiet: at.saturating_sub(40)..injection.shows_at() + CONFIRMED_S,
            ..Manner::of(seed)
        };
        let Played { run, began, .. } = world(seed, &manner, injection.acts());
        let watch = WatchName::from(of.watch);
        let (mut confirmed, mut found) = (None, None);
        for record in run.records() {
            let after_s = record.at.micros_since(began) / 1_000_000 - injection.shows_at() as i64;
            match &record.event {
                Event::Verdict(verdict)
                    if verdict.watch == watch
                        && &*verdict.object.name == "victim"
                        && verdict.state == Standing::Confirmed =>
                {
                    confirmed = confirmed.or(Some((verdict.kind, after_s)));
                }
                Event::Finding(finding)
                    if finding.watch.as_ref() == Some(&watch)
                        && finding.severity == Severity::Divergence =>
                {
                    found = found.or(Some(after_s));
                }
                _ => {}
            }
        }
        let in_time = |after_s: i64| (-40..=CONFIRMED_S as i64).contains(&after_s);
        let is_confirmed = confirmed.is_some_and(|(it, at)| it == kind && in_time(at));
        if !is_confirmed || !found.is_some_and(in_time) {
            wrong += &format!(
                "seed {seed} (1.{minor}, {audit:?}): {kind} of {watch} at {at}: confirmed {confirmed:?}, found {found:?}\n"
            );
        }
    }
    wrong
}

#[test]
fn each_kind_of_divergence_is_tested_in_each_version_and_both_levels() {
    let all = |seeds: Range<u64>| {
        let of = seeds.map(|seed| {
            let Injection { kind, audit, .. } = Injection::of(seed);
            (minor_of(seed), kind, audit == Level::Full)
        });
        of.collect::<BTreeSet<_>>().len() as u64
    };
    assert_eq!(all(100..1_100), (MINORS.end - MINORS.start) * 3 * 2);
}

#[test]
fn a_divergence_in_the_same_thirty_worlds_is_found() {
    let wrong = unfound(0..30);
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
#[ignore = "a thousand worlds: cargo xtask test --long"]
fn a_divergence_in_the_same_thousand_worlds_is_found() {
    let wrong = unfound(30..1_030);
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn events_delivered_twice_or_out_of_order_in_the_same_worlds_are_found() {
    let resource = "configmaps".to_owned();
    for (fault, code) in [
        (
            Fault::RepeatEvents {
                resource: resource.clone(),
            },
            "F29",
        ),
        (Fault::SwapEvents { resource }, "F30"),
    ] {
        for seed in 0..5 {
            let repeated = vec![act(60, vec![Deed::Inject(fault.clone())])];
            let played = world(seed, &Manner::of(seed), repeated);
            let is_found = played.run.records().iter().any(
                |record| matches!(&record.event, Event::Finding(finding) if &*finding.code == code),
            );
            assert!(is_found, "seed {seed}: {code}");
        }
    }
}
