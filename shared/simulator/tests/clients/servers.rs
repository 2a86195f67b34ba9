//! Several apiservers over one etcd, under random faults of every part. Whichever server answers, it delivers what
//! happened. After a quiet time every correct client is right, and every server's cache too.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use watchscope_simulator::{
    Arrival, ClientGo, ClientId, Config, Controller, Cut, Fault, Flow, KubeList, Pause, Program,
    Request, ServerId, Target, Time, Version, World,
};

use crate::auditor::{Auditor, Listing};
use crate::properties::{cases, correct, cuts, throttles};
use crate::stage::maps;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Versions that differ in how they answer lists and watches. Those before 1.19 ignore the parameters of a watch-list,
/// so today's clients would wait there for ever.
const VERSIONS: [(u8, u8); 13] = [
    (20, 15),
    (21, 14),
    (24, 17),
    (26, 15),
    (27, 3),
    (27, 16),
    (28, 8),
    (30, 14),
    (31, 14),
    (32, 13),
    (33, 5),
    (34, 1),
    (36, 3),
];
/// The number of names that are written. It is small, so that names are deleted and written again.
const NAMES: u8 = 5;

/// A step of a story.
#[derive(Clone, Debug)]
enum Deed {
    /// Writes the object with this number and label, and creates it if it does not exist.
    Write(u8, &'static str),
    Delete(u8),
    /// A fault that happens and is over.
    Strike(Fault),
    /// A fault that lasts this many milliseconds, while other steps go on.
    Last(Fault, u16),
    /// A server is killed. It is back after this many milliseconds, with caches that list again.
    Restart(ServerId, u16),
}

/// The steps of a story, each this many milliseconds after the one before.
type Story = Vec<(Deed, u16)>;

fn servers() -> impl Strategy<Value = ServerId> {
    (0..3_u16).prop_map(ServerId)
}

fn targets() -> impl Strategy<Value = Target> {
    prop_oneof![Just(Target::All), servers().prop_map(Target::Server)]
}

fn caches() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), Just(Some("configmaps".to_owned()))]
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn strikes() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (targets(), cuts()).prop_map(|(target, cut)| Fault::Cut { target, cut }),
        (targets(), cuts()).prop_map(|(target, cut)| Fault::TearFrame { target, cut }),
        (targets(), prop::option::of(cuts()))
            .prop_map(|(target, cut)| Fault::GoAway { target, cut }),
        targets().prop_map(|target| Fault::CloseStreams { target }),
        targets().prop_map(|target| Fault::ResetStreams { target, code: 2 }),
        (prop::option::of(servers()), caches())
            .prop_map(|(server, resource)| Fault::Reinitialise { server, resource }),
        any::<bool>().prop_map(|during_compaction| Fault::RestartEtcd { during_compaction }),
        Just(Fault::CompactEtcd),
    ]
}

fn states() -> impl Strategy<Value = Fault> {
    let between = prop_oneof![
        Just(Fault::Refuse),
        Just(Fault::BalanceRequests),
        targets().prop_map(|target| Fault::Stall { target }),
        targets().prop_map(|target| Fault::LoseRequests { target }),
        targets().prop_map(|target| Fault::LoseAnswers { target }),
        (targets(), 1..4000_usize).prop_map(|(target, bytes)| Fault::Buffer { target, bytes }),
        targets().prop_map(|target| Fault::CapStreams { target, streams: 1 }),
        targets().prop_map(|target| Fault::ExpireTokens { target }),
        (millis(500..5000), any::<bool>())
            .prop_map(|(after, says_so)| Fault::KillIdle { after, says_so }),
        millis(1..3000).prop_map(|by| Fault::Delay { by }),
    ];
    let in_servers = prop_oneof![
        servers().prop_map(|server| Fault::OutOfRotation { server }),
        (servers(), millis(1..5000)).prop_map(|(server, by)| Fault::Lag { server, by }),
        (servers(), caches())
            .prop_map(|(server, resource)| Fault::FreezeCaches { server, resource }),
        caches().prop_map(|resource| Fault::Expire { resource }),
        throttles().prop_map(|throttle| Fault::TooManyRequests {
            resource: None,
            throttle,
            retry_after_secs: 1,
        }),
        Just(Fault::SilentExpiry {
            resource: "configmaps".to_owned()
        }),
        Just(Fault::GoneAsStatus {
            resource: "configmaps".to_owned()
        }),
        Just(Fault::NoBookmarks {
            resource: "configmaps".to_owned()
        }),
        Just(Fault::NoEndBookmark {
            resource: "configmaps".to_owned()
        }),
        Just(Fault::UnsortedInitial {
            resource: "configmaps".to_owned()
        }),
    ];
    let in_etcd = prop_oneof![
        Just(Fault::NoLeader),
        servers().prop_map(|server| Fault::PartitionMember { server }),
        (prop::option::of(servers()), millis(1..300)).prop_map(|(server, per_response)| {
            Fault::SlowEtcdStreams {
                server,
                resource: None,
                per_response,
            }
        }),
    ];
    prop_oneof![between, in_servers, in_etcd]
}

fn deeds() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (0..NAMES, prop_oneof![Just("left"), Just("right")]).prop_map(|(n, side)| Deed::Write(n, side)),
        3 => (0..NAMES).prop_map(Deed::Delete),
        2 => strikes().prop_map(Deed::Strike),
        3 => (states(), 1..9000_u16).prop_map(|(fault, ms)| Deed::Last(fault, ms)),
        1 => (servers(), 1..6000_u16).prop_map(|(server, ms)| Deed::Restart(server, ms)),
    ]
}

fn stories() -> impl Strategy<Value = Story> {
    prop::collection::vec((deeds(), 0..2000_u16), 1..30)
}

fn versions() -> impl Strategy<Value = Vec<Version>> {
    let version = prop::sample::select(&VERSIONS[..])
        .prop_map(|(minor, patch)| Version::new(minor, patch).unwrap());
    // Half of the worlds have servers of one version, as in a cluster that is not being upgraded.
    prop_oneof![
        version.clone().prop_map(|version| vec![version; 3]),
        prop::collection::vec(version, 2..4),
    ]
}

/// Seconds that a client may be wrong after a step because of its own design, beyond its usual waits.
fn patience_s(deed: &Deed) -> u64 {
    match deed {
        // Without pings (before 1.20), the kernel needs 924 s to give up a connection that a middlebox forgot (F04).
        Deed::Last(Fault::KillIdle { says_so: false, .. }, _) => 924,
        // client-go waits for the end of the initial events until the stream ends, after up to 600 s.
        Deed::Last(Fault::NoEndBookmark { .. }, _) => 600,
        _ => 0,
    }
}

/// A world of several servers, with auditors and some of the programs that should be right.
struct Run {
    world: World,
    auditors: Vec<Auditor>,
    programs: Vec<(ClientId, Program)>,
    /// Faults that are on, and when each ends.
    lasting: Vec<(Time, Fault)>,
}

impl Run {
    fn new(seed: u64, versions: &[Version], programs: &[Program]) -> Run {
        let mut config = Config::empty();
        config.servers = versions.to_vec();
        config.etcd.keep_journal = true;
        // Small enough for history to be lost.
        config.apiserver.history_events = (4, 8);
        let mut world = World::new(config, seed);
        world.run_until(Time::from_secs(1));
        let start = |(index, program): (usize, &Program)| {
            let id = world.start_client(&format!("client-{index}"), program, &maps());
            (id, program.clone())
        };
        // kube-rs' streaming list has no fallback for a server that does not support it
        // (docs/semantics/clients.md#kube-rs).
        let streams = |program: &Program| matches!(program, Program::KubeWatcher(how) if how.list == KubeList::Streaming);
        let has_watch_list = |version: &Version| version.minor() == 32 || version.minor() >= 34;
        let can_stream = versions.iter().all(has_watch_list);
        let fit = programs
            .iter()
            .filter(|program| can_stream || !streams(program));
        let programs = fit.enumerate().map(start).collect();
        Run {
            world,
            auditors: Vec::new(),
            programs,
            lasting: Vec::new(),
        }
    }

    fn audit(mut self, listings: &[(Listing, Option<&'static str>)]) -> Run {
        let auditors = listings.iter();
        self.auditors = auditors
            .map(|(listing, side)| Auditor::new(*listing, *side))
            .collect();
        self
    }

    fn play(&mut self, story: &Story) {
        for (deed, wait_ms) in story {
            self.pass(Duration::from_millis(u64::from(*wait_ms)));
            self.perform(deed);
        }
        let last = self.lasting.iter().map(|(until, _)| *until).max();
        self.pass(last.map_or(Duration::ZERO, |last| last.since(self.world.now())));
        // client-go waits at most a minute, ten times if the server says so; kube-rs waits at most 295 s.
        let patience: u64 = story
            .iter()
            .map(|(deed, _)| patience_s(deed))
            .max()
            .unwrap_or(0);
        self.pass(Duration::from_secs(400 + patience));
    }

    fn perform(&mut self, deed: &Deed) {
        let path = |n: &u8| format!("{MAPS}/map-{n}");
        match deed {
            Deed::Write(n, side) => {
                let labels = json!({"side": side});
                let metadata = json!({"name": format!("map-{n}"), "labels": labels});
                let new = json!({"metadata": metadata, "data": {"at": self.world.now().as_micros().to_string()}});
                let mut patch = Request::new("PATCH", &path(n)).json(&new);
                patch.headers =
                    vec![("content-type".into(), "application/merge-patch+json".into())];
                if self.world.call(&patch).head.status == 404 {
                    self.world.call(&Request::new("POST", MAPS).json(&new));
                }
            }
            Deed::Delete(n) => {
                self.world.call(&Request::new("DELETE", &path(n)));
            }
            Deed::Strike(fault) => self.world.inject(fault.clone()),
            Deed::Last(fault, ms) => self.last(fault, *ms),
            Deed::Restart(server, ms) => {
                self.last(&Fault::OutOfRotation { server: *server }, *ms);
                self.world.inject(Fault::Cut {
                    target: Target::Server(*server),
                    cut: Cut::Eof,
                });
                self.world.inject(Fault::Reinitialise {
                    server: Some(*server),
                    resource: None,
                });
            }
        }
    }

    /// Switches a fault on, or prolongs it if it is on.
    fn last(&mut self, fault: &Fault, ms: u16) {
        let until = self.world.now() + Duration::from_millis(u64::from(ms));
        match self.lasting.iter_mut().find(|(_, on)| on == fault) {
            Some((already, _)) => *already = until.max(*already),
            None => {
                self.world.inject(fault.clone());
                self.lasting.push((until, fault.clone()));
            }
        }
    }

    fn pass(&mut self, span: Duration) {
        let until = self.world.now() + span;
        loop {
            let wakes = self.auditors.iter().map(Auditor::wake_at);
            let lifts = self.lasting.iter().map(|(at, _)| *at);
            let soonest = wakes.chain(lifts).chain([until]).min().unwrap_or(until);
            if self.world.run_until(soonest) == Pause::Deliveries {
                self.deliver();
                continue;
            }
            let now = self.world.now();
            let over: Vec<Fault> = self
                .lasting
                .extract_if(.., |(at, _)| *at <= now)
                .map(|(_, f)| f)
                .collect();
            for fault in over {
                self.world.lift(&fault);
            }
            for auditor in self
                .auditors
                .iter_mut()
                .filter(|auditor| auditor.wake_at() <= now)
            {
                auditor.wake(&mut self.world);
            }
            if now >= until {
                while self.world.next_client_record().is_some() {}
                return;
            }
        }
    }

    fn deliver(&mut self) {
        while let Some(delivery) = self.world.next_delivery() {
            let connection = Some(delivery.connection);
            let owner = self
                .auditors
                .iter_mut()
                .find(|a| a.connection() == connection);
            if let Some(auditor) = owner {
                auditor.receive(&delivery.arrival, &mut self.world);
            }
        }
    }

    /// Every broken guarantee, as the auditors found it during the story.
    fn breaches(&self) -> Vec<String> {
        let wrong = self.auditors.iter().enumerate();
        let broken = wrong.flat_map(|(index, auditor)| {
            let wrong = auditor.against_history(&self.world);
            wrong
                .into_iter()
                .map(move |w| format!("auditor {index}: {w}"))
        });
        broken.collect()
    }

    /// Every auditor, program and cache that is wrong now.
    fn wrong(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (index, auditor) in self.auditors.iter().enumerate() {
            if let Some(how) = auditor.against_truth(&self.world) {
                wrong.push(format!("auditor {index} {how}"));
            }
        }
        for (client, program) in &self.programs {
            for comparison in self.world.compare_client(*client) {
                if !comparison.agrees() {
                    let phase = self.world.client_report(*client).map(|report| report.phase);
                    let (name, version) = (program.name(), program.version().unwrap_or(""));
                    wrong.push(format!(
                        "{name} {version} is {phase:?} and wrong: {comparison:?}"
                    ));
                }
            }
        }
        for (server, version) in self.world.servers().collect::<Vec<_>>() {
            let (cached, truth) = (self.cached_names(server), self.true_names());
            if cached != truth {
                wrong.push(format!(
                    "{version} holds {cached:?}, where there is {truth:?}"
                ));
            }
        }
        wrong
    }

    /// The names and versions in a server's watch cache.
    fn cached_names(&mut self, server: ServerId) -> Vec<(String, u64)> {
        let connection = self.world.connect_to(server, Flow::Immediate);
        let request = Request::get(&format!("{MAPS}?resourceVersion=0"));
        let id = self.world.send(connection, request);
        let until = self.world.now() + Duration::from_secs(5);
        let mut body = Vec::new();
        while self.world.run_until(until) == Pause::Deliveries {
            while let Some(delivery) = self.world.next_delivery() {
                match delivery.arrival {
                    Arrival::Chunk { request, bytes } if request == id => {
                        body.extend_from_slice(&bytes)
                    }
                    _ => {}
                }
            }
        }
        let list: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let items = list["items"].as_array().into_iter().flatten();
        let item = |item: &serde_json::Value| {
            let text = |key: &str| item["metadata"][key].as_str().unwrap_or("").to_owned();
            (text("name"), text("resourceVersion").parse().unwrap_or(0))
        };
        items.map(item).collect()
    }

    fn true_names(&self) -> Vec<(String, u64)> {
        let objects = self.world.truth().objects("configmaps", "default");
        objects
            .iter()
            .map(|o| (o.name().to_owned(), o.revision()))
            .collect()
    }
}

const AUDITS: [(Listing, Option<&str>); 5] = [
    (Listing::Consistent, None),
    (Listing::Any, Some("left")),
    (Listing::AtLeast, None),
    (Listing::Paged, None),
    (Listing::Initial, Some("right")),
];

proptest! {
    #![proptest_config(cases(1000))]

    /// A failure prints its seed and its story.
    #[test]
    fn several_servers_deliver_what_happened_and_every_client_is_right_in_the_end(
        seed: u64,
        versions in versions(),
        programs in prop::sample::subsequence(correct(), 3),
        story in stories(),
    ) {
        let mut run = Run::new(seed, &versions, &programs).audit(&AUDITS);
        run.play(&story);
        let mut broken = run.breaches();
        broken.extend(run.wrong());
        prop_assert!(broken.is_empty(), "seed {seed}: {}", broken.join("\n"));
    }

    /// A restore breaks with history, so only the end counts. Clients survive it because of the bump (F33).
    #[test]
    fn every_client_survives_a_restore_that_bumps_the_revision(
        seed: u64,
        versions in versions(),
        programs in prop::sample::subsequence(correct(), 3),
        before in stories(),
        lost in stories(),
        after in stories(),
    ) {
        let mut run = Run::new(seed, &versions, &programs).audit(&AUDITS[..1]);
        let strike = |fault| (Deed::Strike(fault), 0);
        let mut story = before;
        story.push(strike(Fault::TakeSnapshot));
        story.extend(lost);
        story.push(strike(Fault::RestoreSnapshot { bump: Some(1000) }));
        story.extend(after);
        run.play(&story);
        let wrong = run.wrong();
        prop_assert!(wrong.is_empty(), "seed {seed}: {}", wrong.join("\n"));
    }
}

#[test]
fn the_oracles_notice_what_goes_wrong_between_etcd_and_a_stream() {
    let resource = || "configmaps".to_owned();
    let first = ServerId(0);
    let lags = Fault::Lag {
        server: first,
        by: Duration::from_secs(2),
    };
    let faults = [
        vec![Fault::RepeatEvents {
            resource: resource(),
        }],
        vec![Fault::SwapEvents {
            resource: resource(),
        }],
        vec![Fault::StartRace {
            resource: resource(),
        }],
        vec![
            Fault::BookmarksAhead {
                resource: resource(),
            },
            lags,
        ],
        vec![Fault::MissWrites { server: first }],
    ];
    let found = |faults: &[Fault]| {
        let mut run = Run::new(1, &[Version::DEFAULT; 2], &[]).audit(&AUDITS);
        for fault in faults {
            run.world.inject(fault.clone());
        }
        for step in 0..250_u8 {
            run.pass(Duration::from_millis(500));
            run.perform(&Deed::Write(step % NAMES, "left"));
            // The last streams live long enough for a bookmark.
            if step % 20 == 0 && step < 100 {
                let target = Target::All;
                run.perform(&Deed::Strike(Fault::CloseStreams { target }));
            }
        }
        run.breaches().len()
    };
    assert_eq!(found(&[]), 0);
    for faults in faults {
        assert!(found(&faults) > 0, "{faults:?} goes unnoticed");
    }
}

/// A cache opened its watch again after a progress notification for the whole stream, and took that for its own. So it
/// skipped the deletion at which it had failed (found by 10,000 random stories).
#[test]
fn a_progress_for_a_whole_stream_says_nothing_about_a_watch_opened_after_it() {
    let versions = ["1.31.14", "1.20.15"].map(|text| text.parse().expect("a version"));
    let minor = |minor| ClientGo::minor(minor);
    let programs = [
        Program::Reflector { version: minor(28) },
        Program::Controller(Controller {
            version: minor(32),
            ..Controller::default()
        }),
        Program::Poller {
            every: Duration::from_secs(5),
        },
    ];
    let write = |ms| (Deed::Write(0, "left"), ms);
    let strike = |fault, ms| (Deed::Strike(fault), ms);
    let partition = Fault::PartitionMember {
        server: ServerId(0),
    };
    let slow = Fault::SlowEtcdStreams {
        server: None,
        resource: None,
        per_response: Duration::from_millis(100),
    };
    let cut = Fault::Cut {
        target: Target::All,
        cut: Cut::Reset,
    };
    let mut run = Run::new(0, &versions, &programs).audit(&AUDITS[..1]);
    run.play(&vec![
        write(0),
        write(160),
        strike(Fault::TakeSnapshot, 0),
        write(28),
        write(187),
        write(1524),
        write(84),
        write(910),
        strike(Fault::RestoreSnapshot { bump: Some(1000) }, 0),
        write(0),
        strike(cut, 0),
        write(0),
        write(481),
        (Deed::Last(partition, 4414), 528),
        (Deed::Delete(0), 0),
        strike(Fault::CompactEtcd, 2),
        (Deed::Last(slow, 4289), 608),
    ]);
    let wrong = run.wrong();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
