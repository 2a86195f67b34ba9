//! The configuration of a whole world: the settings of its parts, and the parts of its code that it links.

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
    /// The apiservers over the one etcd, by their versions (docs/semantics/versions.md#gates). If the list is empty,
    /// there is one of [`Version::DEFAULT`].
    pub servers: Vec<Version>,
    /// Delays and buffers between clients and apiservers.
    pub network: NetworkConfig,
    /// etcd's delays and history.
    pub etcd: EtcdConfig,
    /// Timeouts and limits of the apiservers.
    pub apiserver: ApiserverConfig,
    /// The activities of the cluster.
    pub workload: WorkloadConfig,
    /// Whether controllers, scheduler and kubelets react to writes, and install the cluster's first objects.
    pub controllers: Controllers,
    /// Whether its apiservers answer about themselves and in Tables.
    pub answers: Answers,
}

impl Default for Config {
    fn default() -> Config {
        Config::with(WorkloadConfig::default(), Controllers::ALL, Answers::ALL)
    }
}

impl Config {
    /// A cluster with namespaces and nothing in them, and with controllers. Nothing happens by itself; no warm-up.
    pub fn empty() -> Config {
        Config {
            controllers: Controllers::ALL,
            ..Config::bare()
        }
    }

    /// A cluster without controllers: an apiserver and nothing else. No warm-up.
    pub fn bare() -> Config {
        Config {
            warm_up: Duration::ZERO,
            ..Config::with(WorkloadConfig::none(), Controllers::NONE, Answers::ALL)
        }
    }

    /// A cluster without controllers, whose apiserver answers only objects, with their lists and watches. No warm-up.
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
