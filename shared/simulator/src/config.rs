//! The configuration of a whole world: the settings of its parts, and which of its code it links.

use std::time::Duration;

use crate::apiserver::answers::Answers;
use crate::settings::{ApiserverConfig, EtcdConfig, NetworkConfig, WorkloadConfig};
use crate::version::Version;
use crate::workload::Controllers;

/// The settings of a world. [`Config::default`] is a small living cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Unix time in microseconds at the end of the warm-up, on the cluster's wall clock.
    pub wall_start_us: i64,
    /// How long the cluster has lived when [`World::new`](crate::World::new) returns.
    pub warm_up: Duration,
    /// The apiservers over the one etcd, by their versions (docs/semantics/versions.md#gates); at least one.
    pub servers: Vec<Version>,
    /// Between clients and apiserver.
    pub network: NetworkConfig,
    /// The store.
    pub etcd: EtcdConfig,
    /// The server.
    pub apiserver: ApiserverConfig,
    /// What goes on in the cluster.
    pub workload: WorkloadConfig,
    /// Whether controllers, scheduler and kubelets answer to what is written, and install what the cluster begins with.
    pub controllers: Controllers,
    /// What its apiservers can answer besides objects.
    pub answers: Answers,
}

impl Default for Config {
    fn default() -> Config {
        Config::with(WorkloadConfig::default(), Controllers::ALL, Answers::ALL)
    }
}

impl Config {
    /// A cluster with namespaces and nothing in them, where nothing happens by itself; no warm-up.
    pub fn empty() -> Config {
        Config {
            controllers: Controllers::ALL,
            ..Config::bare()
        }
    }

    /// The same without controllers: an apiserver and nothing else.
    pub fn bare() -> Config {
        Config {
            warm_up: Duration::ZERO,
            ..Config::with(WorkloadConfig::none(), Controllers::NONE, Answers::ALL)
        }
    }

    /// The same, whose apiserver answers nothing but objects and their lists and watches.
    pub fn of_objects() -> Config {
        Config {
            warm_up: Duration::ZERO,
            ..Config::with(WorkloadConfig::none(), Controllers::NONE, Answers::OBJECTS)
        }
    }

    fn with(workload: WorkloadConfig, controllers: Controllers, answers: Answers) -> Config {
        Config {
            wall_start_us: 1_795_251_600_000_000,
            warm_up: Duration::from_secs(600),
            servers: vec![Version::DEFAULT],
            network: NetworkConfig::default(),
            etcd: EtcdConfig::default(),
            apiserver: ApiserverConfig::default(),
            workload,
            controllers,
            answers,
        }
    }
}
