//! The settings of each part of a world: sizes, delays, clocks, periods.

use std::time::Duration;

use crate::etcd_version::EtcdVersion;

/// Delays and buffers between clients and apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkConfig {
    /// One-way delay of a packet: at least and at most.
    pub latency: (Duration, Duration),
    /// Bytes of one response that may be sent and not yet consumed: socket buffers on both sides together.
    pub window_bytes: usize,
}

impl Default for NetworkConfig {
    fn default() -> NetworkConfig {
        NetworkConfig {
            latency: (Duration::from_micros(150), Duration::from_micros(600)),
            window_bytes: 256 * 1024,
        }
    }
}

/// The store's delays and history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdConfig {
    /// Its release: which known defects it can have, and whether apiservers trust its progress notifications. `None`: it
    /// can have any, and is trusted unless it has one that no trusted release has.
    pub version: Option<EtcdVersion>,
    /// From a watch stream's send loop to the apiserver's receipt.
    pub watch_latency: (Duration, Duration),
    /// What a response takes of a stream's send loop, besides its bytes.
    pub send_latency: Duration,
    /// How fast a stream carries bytes.
    pub stream_bytes_per_second: u64,
    /// From a write request to its answer.
    pub commit_latency: (Duration, Duration),
    /// `--watch-progress-notify-interval`: etcd's default is 10 min, kubeadm sets 5 s.
    pub progress_notify_interval: Duration,
    /// Three of these without a leader, and watches are cancelled (docs/semantics/servers.md#leader-loss).
    pub election_timeout: Duration,
    /// How often the apiserver compacts the revision it noted one interval before: 5 min
    /// (docs/semantics/servers.md#compaction).
    pub compaction_interval: Duration,
    /// Keep every change since the beginning for [`Truth::history`](crate::Truth::history), compacted or not.
    /// Unbounded, so for tests only.
    pub keep_journal: bool,
}

impl Default for EtcdConfig {
    fn default() -> EtcdConfig {
        EtcdConfig {
            version: None,
            watch_latency: (Duration::from_micros(300), Duration::from_micros(1500)),
            send_latency: Duration::from_micros(10),
            stream_bytes_per_second: 200_000_000,
            commit_latency: (Duration::from_micros(800), Duration::from_micros(3000)),
            progress_notify_interval: Duration::from_secs(5),
            election_timeout: Duration::from_secs(1),
            compaction_interval: Duration::from_secs(300),
            keep_journal: false,
        }
    }
}

/// The server's clocks and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiserverConfig {
    /// Events a watch cache keeps at least and at most: 100 to 102,400 (docs/semantics/servers.md#ring).
    pub history_events: (usize, usize),
    /// The history window the ring's size adapts to: 75 s (docs/semantics/servers.md#ring).
    pub history_window: Duration,
    /// Lifetime of a watch without timeoutSeconds: 1800 to 3600 s (docs/semantics/servers.md#watch-lifetime).
    pub watch_lifetime: (Duration, Duration),
    /// How often a watch gets a bookmark: about every 60 s (docs/semantics/lists-and-watches.md#bookmark-period).
    pub bookmark_interval: Duration,
    /// How long a read waits for the cache to be fresh: 3 s (docs/semantics/servers.md#fresh-wait).
    pub fresh_wait: Duration,
    /// What a watch cache's own list of etcd takes per object.
    pub list_latency_per_object: Duration,
    /// What sending the initial events of a watch takes per event: 14,000 take 67 ms to 1 s
    /// (docs/semantics/servers.md#load).
    pub initial_event_latency: Duration,
}

impl Default for ApiserverConfig {
    fn default() -> ApiserverConfig {
        ApiserverConfig {
            history_events: (100, 102_400),
            history_window: Duration::from_secs(75),
            watch_lifetime: (Duration::from_secs(1800), Duration::from_secs(3600)),
            bookmark_interval: Duration::from_secs(60),
            fresh_wait: Duration::from_secs(3),
            list_latency_per_object: Duration::from_micros(20),
            initial_event_latency: Duration::from_micros(5),
        }
    }
}

/// What goes on in the cluster by itself; a period of `None` leaves it to the story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadConfig {
    /// How many nodes there are.
    pub nodes: usize,
    /// Whether the standing applications (deployments, services, configmaps, a CRD and its objects) are installed.
    pub applications: bool,
    /// Whether nodes and control plane renew their leases every 10 s.
    pub leases: bool,
    /// How often one of the deployments gets a new image.
    pub rollout_every: Option<Duration>,
    /// How often one of the deployments changes its size.
    pub scale_every: Option<Duration>,
    /// How often a configmap is written.
    pub configmap_every: Option<Duration>,
    /// How often a short-lived configmap is created, to be deleted half a period later.
    pub temporary_every: Option<Duration>,
    /// How often a job is started.
    pub job_every: Option<Duration>,
    /// How often a custom resource goes through its phases.
    pub custom_every: Option<Duration>,
}

impl WorkloadConfig {
    /// No nodes, nothing installed, nothing happening.
    pub fn none() -> WorkloadConfig {
        WorkloadConfig {
            nodes: 0,
            applications: false,
            leases: false,
            rollout_every: None,
            scale_every: None,
            configmap_every: None,
            temporary_every: None,
            job_every: None,
            custom_every: None,
        }
    }
}

impl Default for WorkloadConfig {
    fn default() -> WorkloadConfig {
        WorkloadConfig {
            nodes: 3,
            applications: true,
            leases: true,
            rollout_every: Some(Duration::from_secs(45)),
            scale_every: Some(Duration::from_secs(70)),
            configmap_every: Some(Duration::from_secs(4)),
            temporary_every: Some(Duration::from_secs(18)),
            job_every: Some(Duration::from_secs(60)),
            custom_every: Some(Duration::from_secs(20)),
        }
    }
}
