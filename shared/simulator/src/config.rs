//! The configuration of a whole simulated cluster: the settings of its parts, and the optional parts of the simulator's
//! code that it links.

use std::time::Duration;

use crate::apiserver::answers::Answers;
use crate::settings::{ApiserverConfig, EtcdConfig, NetworkConfig, WorkloadConfig};
use crate::version::Version;
use crate::workload::Controllers;

/// The settings of a simulated cluster. [`Config::default`] is a small cluster of three nodes and a few applications,
/// whose controllers act by themselves. The default cluster has one apiserver of [`Version::DEFAULT`], and has lived
/// for 10 min at 2026-11-21T09:00:00Z. The documentation of each other constructor says how it differs from the
/// default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Unix time in microseconds at the end of the warm-up, on the cluster's wall clock. Objects have timestamps of
    /// this wall clock; a time outside of the years -9999 to 9999 is written as 1970-01-01.
    pub wall_start_us: i64,
    /// How long the cluster has already lived, in virtual time, when [`World::new`](crate::World::new) returns; may be
    /// zero.
    pub warm_up: Duration,
    /// The version of each apiserver over the one etcd (docs/semantics/versions.md#gates); [`ServerId`] is an index
    /// into this list. If the list is empty, the world has one apiserver of [`Version::DEFAULT`]. At most 65,534
    /// apiservers: a longer list panics in debug builds. In release builds a list of more than 65,536 gives two
    /// apiservers the same id.
    ///
    /// [`ServerId`]: crate::ServerId
    pub servers: Vec<Version>,
    /// Delays and buffers between clients and apiservers.
    pub network: NetworkConfig,
    /// etcd's delays and history.
    pub etcd: EtcdConfig,
    /// Timeouts and limits of the apiservers.
    pub apiserver: ApiserverConfig,
    /// The size and the activities of the cluster. These settings count only with [`Controllers::ALL`].
    pub workload: WorkloadConfig,
    /// Whether controllers, scheduler and kubelets react to writes, and install the cluster's first objects.
    pub controllers: Controllers,
    /// Whether the apiservers answer requests about themselves (such as discovery), and requests for Tables.
    pub answers: Answers,
}

impl Default for Config {
    fn default() -> Config {
        Config::with(WorkloadConfig::default(), Controllers::ALL, Answers::ALL)
    }
}

impl Config {
    /// Returns a cluster with controllers, without nodes and applications, and without a warm-up. The cluster has the
    /// four namespaces of a new cluster. In its first 20 ms the controllers put a ServiceAccount and a ConfigMap into
    /// each namespace. After that they write only in reaction to other writes.
    pub fn empty() -> Config {
        Config {
            controllers: Controllers::ALL,
            ..Config::bare()
        }
    }

    /// Returns a cluster without controllers: an apiserver, the four namespaces of a new cluster, and nothing in them.
    /// The cluster has no warm-up.
    pub fn bare() -> Config {
        Config {
            warm_up: Duration::ZERO,
            ..Config::with(WorkloadConfig::none(), Controllers::NONE, Answers::ALL)
        }
    }

    /// Returns a cluster as [`Config::bare`] does, whose apiserver answers only requests for objects, their lists and
    /// watches ([`Answers::OBJECTS`]).
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
