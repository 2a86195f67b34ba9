//! After faults and a quiet time, a correct client believes the truth. Naive ones go wrong as their rows of the
//! catalogue say.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::Config as ProptestConfig;
use watchscope_simulator::{
    ClientGo, ClientPhase, Config, Controller, Cut, Fault, KubeList, KubeRs, KubeWatcher, Program,
    Target, Throttle, WatchDeployment,
};

use crate::stage::{Stage, maps};

/// A step of a story. A quiet time follows it.
#[derive(Clone, Debug)]
enum Deed {
    Create(u8),
    Write(u8),
    Delete(u8),
    Close,
    Cut(Cut),
    Tear(Cut),
    Refuse(u16),
    Throttle(Throttle, u16),
    Expire,
    Stall(u16),
    Delay(u16),
}

pub(crate) fn cuts() -> impl Strategy<Value = Cut> {
    prop_oneof![Just(Cut::Reset), Just(Cut::Eof)]
}

pub(crate) fn throttles() -> impl Strategy<Value = Throttle> {
    prop_oneof![
        Just(Throttle::MaxInFlight),
        Just(Throttle::PriorityAndFairness),
        Just(Throttle::CacheNotReady),
        Just(Throttle::Shutdown),
    ]
}

fn deeds() -> impl Strategy<Value = Vec<(Deed, u16)>> {
    let deed = prop_oneof![
        4 => (0..6_u8).prop_map(Deed::Create),
        4 => (0..6_u8).prop_map(Deed::Write),
        3 => (0..6_u8).prop_map(Deed::Delete),
        2 => Just(Deed::Close),
        2 => cuts().prop_map(Deed::Cut),
        1 => cuts().prop_map(Deed::Tear),
        1 => (1..4000_u16).prop_map(Deed::Refuse),
        1 => (throttles(), 1..4000_u16).prop_map(|(t, ms)| Deed::Throttle(t, ms)),
        1 => Just(Deed::Expire),
        1 => (1..8000_u16).prop_map(Deed::Stall),
        1 => (1..3000_u16).prop_map(Deed::Delay),
    ];
    proptest::collection::vec((deed, 0..3000_u16), 1..40)
}

/// Every program that should be right, in every version.
pub(crate) fn correct() -> Vec<Program> {
    let reflectors = ClientGo::all().map(|version| Program::Reflector { version });
    let controllers = [9, 18, 28, 32, 33, 35, 36].map(|minor| {
        Program::Controller(Controller {
            version: ClientGo::minor(minor),
            ..Controller::default()
        })
    });
    let mut kube = Vec::new();
    for version in [KubeRs::V2, KubeRs::V3, KubeRs::V4] {
        for list in [KubeList::MostRecent, KubeList::Any, KubeList::Streaming] {
            // kube-rs before 3 does not replace its store when it resumes a streaming list.
            if (version, list) != (KubeRs::V2, KubeList::Streaming) {
                kube.push(Program::KubeWatcher(KubeWatcher {
                    version,
                    list,
                    ..KubeWatcher::default()
                }));
            }
        }
    }
    let poller = Program::Poller {
        every: Duration::from_secs(5),
    };
    reflectors
        .chain(controllers)
        .chain(kube)
        .chain([poller])
        .collect()
}

fn perform(stage: &mut Stage, deed: &Deed) {
    let name = |n: u8| format!("map-{n}");
    let path = |n: u8| format!("/api/v1/namespaces/default/configmaps/{}", name(n));
    let exists = |stage: &Stage, n: u8| {
        let truth = stage.world.truth().selected(&maps());
        truth.iter().any(|object| object.name() == name(n))
    };
    let for_a_while = |stage: &mut Stage, fault: Fault, ms: u16| {
        stage.world.inject(fault.clone());
        stage.run(Duration::from_millis(u64::from(ms)));
        stage.world.lift(&fault);
    };
    let target = Target::All;
    match deed {
        Deed::Create(n) if !exists(stage, *n) => stage.create(&name(*n)),
        Deed::Write(n) if exists(stage, *n) => stage.write(&name(*n), u64::from(*n)),
        Deed::Delete(n) if exists(stage, *n) => stage.delete(path(*n).rsplit('/').next().unwrap()),
        Deed::Create(_) | Deed::Write(_) | Deed::Delete(_) => {}
        Deed::Close => stage.close_streams(),
        Deed::Cut(cut) => stage.world.inject(Fault::Cut { target, cut: *cut }),
        Deed::Tear(cut) => stage.world.inject(Fault::TearFrame { target, cut: *cut }),
        Deed::Refuse(ms) => for_a_while(stage, Fault::Refuse, *ms),
        Deed::Throttle(throttle, ms) => {
            let fault = Fault::TooManyRequests {
                resource: None,
                throttle: *throttle,
                retry_after_secs: 1,
            };
            for_a_while(stage, fault, *ms);
        }
        Deed::Expire => for_a_while(stage, Fault::Expire { resource: None }, 50),
        Deed::Stall(ms) => for_a_while(stage, Fault::Stall { target }, *ms),
        Deed::Delay(ms) => {
            let by = Duration::from_millis(u64::from(*ms));
            for_a_while(stage, Fault::Delay { by }, *ms);
        }
    }
}

/// Plays a story to all programs at once. Returns what each has wrong after a quiet time.
fn wrong_after(programs: &[Program], deeds: &[(Deed, u16)], seed: u64) -> Vec<String> {
    let mut stage = Stage::new(Config::empty(), seed);
    let clients: Vec<_> = programs
        .iter()
        .map(|program| stage.start(program))
        .collect();
    for (deed, quiet_ms) in deeds {
        perform(&mut stage, deed);
        stage.run(Duration::from_millis(u64::from(*quiet_ms)));
    }
    // client-go waits at most a minute, ten times if the server says so; kube-rs waits at most 295 s.
    stage.run_secs(400);
    let wrong = clients
        .iter()
        .zip(programs)
        .filter_map(|(client, program)| {
            let comparison = stage.compare(*client);
            let phase = stage.report(*client).phase;
            let name = format!("{} {}", program.name(), program.version().unwrap_or(""));
            (!comparison.agrees()).then(|| format!("{name} is {phase} and wrong: {comparison:?}"))
        });
    wrong.collect()
}

/// The configuration of a property with `usual` random cases, or as many as `PROPTEST_CASES` says.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig {
            cases: usual,
            ..default
        },
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_correct_client_believes_the_truth_after_quiet_time(deeds in deeds(), seed: u64) {
        let wrong = wrong_after(&correct(), &deeds, seed);
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn where_nothing_goes_wrong_every_client_is_right_even_the_naive_ones() {
    let mut programs = correct();
    programs.extend([
        Program::WatchDeployment(WatchDeployment::V1),
        Program::WatchDeployment(WatchDeployment::V2),
        Program::WatchDeployment(WatchDeployment::Final),
        Program::RetryWatcher {
            version: ClientGo::LATEST,
        },
    ]);
    let deeds: Vec<(Deed, u16)> = (0..30)
        .map(|n| match n % 5 {
            0 | 1 => (Deed::Create(n), 100),
            2 | 3 => (Deed::Write(n - 2), 100),
            _ => (Deed::Delete(n - 3), 100),
        })
        .collect();
    assert_eq!(wrong_after(&programs, &deeds, 1), Vec::<String>::new());
}

#[test]
fn one_deletion_after_one_reset_leaves_a_ghost_in_naive_clients_only() {
    let naive = [
        Program::PvcLoop { fixed: false },
        Program::PvcLoop { fixed: true },
        Program::WatchDeployment(WatchDeployment::V1),
        Program::WatchDeployment(WatchDeployment::V2),
        Program::WatchDeployment(WatchDeployment::Final),
    ];
    let correct = correct();
    let mut stage = Stage::quiet();
    stage.create("a");
    let wrongs: Vec<_> = naive.iter().map(|program| stage.start(program)).collect();
    let rights: Vec<_> = correct.iter().map(|program| stage.start(program)).collect();
    stage.run_secs(3);
    stage.reset_connections();
    stage.delete("a");
    stage.run_secs(60);
    for (client, program) in wrongs.iter().zip(&naive) {
        let ghosts = stage.compare(*client).ghosts;
        assert_eq!(
            ghosts.len(),
            1,
            "{} {:?}",
            program.name(),
            program.version()
        );
        let phase = stage.report(*client).phase;
        let expected = match program {
            Program::PvcLoop { .. } => ClientPhase::Failed,
            Program::WatchDeployment(WatchDeployment::V1) => ClientPhase::Returned,
            Program::WatchDeployment(WatchDeployment::V2) => ClientPhase::Spinning,
            _ => ClientPhase::Watching,
        };
        assert_eq!(
            phase,
            expected,
            "{} {:?}",
            program.name(),
            program.version()
        );
    }
    for (client, program) in rights.iter().zip(&correct) {
        assert!(
            stage.compare(*client).agrees(),
            "{} {:?}",
            program.name(),
            program.version()
        );
    }
}
