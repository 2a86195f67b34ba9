//! The settings of each part of a world: sizes, delays, lifetimes, periods.

use std::time::Duration;

use crate::etcd_version::EtcdVersion;

/// Delays and buffers between clients and apiservers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkConfig {
    /// One-way delay of a packet: minimum and maximum.
    pub latency: (Duration, Duration),
    /// Bytes of one response that may be sent and not yet consumed: the socket buffers of both sides together.
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

/// etcd's delays and history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdConfig {
    /// etcd's release. It decides which known defects etcd can have (docs/semantics/servers.md#etcd-defects), and
    /// whether apiservers trust its progress notifications (docs/semantics/versions.md#etcd-trusted). With `None`
    /// etcd can have any defect, and is trusted unless it has one that no trusted release has.
    pub version: Option<EtcdVersion>,
    /// Delay from a watch stream's send loop to the apiserver: minimum and maximum.
    pub watch_latency: (Duration, Duration),
    /// Time that a stream's send loop needs for one response, besides the time for its bytes.
    pub send_latency: Duration,
    /// Bytes that a watch stream carries in a second.
    pub stream_bytes_per_second: u64,
    /// Delay from a write request to its answer: minimum and maximum.
    pub commit_latency: (Duration, Duration),
    /// `--watch-progress-notify-interval`: 5 s here, as kubeadm sets it
    /// (docs/semantics/lists-and-watches.md#bookmark-quiet-type). etcd's default is 10 min
    /// (docs/semantics/servers.md#progress).
    pub progress_notify_interval: Duration,
    /// etcd's election timeout: 1 s. After three of them without a leader, watches are cancelled
    /// (docs/semantics/servers.md#leader-loss).
    pub election_timeout: Duration,
    /// Time between two compactions by the apiserver: 5 min. Each compacts the revision that was noted one interval
    /// before (docs/semantics/servers.md#compaction).
    pub compaction_interval: Duration,
    /// Whether etcd keeps every change since the beginning for [`Truth::history`](crate::Truth::history), compacted or
    /// not. Unbounded, so for tests only.
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

/// The timeouts and limits of apiservers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiserverConfig {
    /// Minimum and maximum of events that a watch cache keeps: 100 to 102,400 (docs/semantics/servers.md#ring).
    pub history_events: (usize, usize),
    /// The time that the ring should span; its size adapts to it: 75 s (docs/semantics/servers.md#ring).
    pub history_window: Duration,
    /// Lifetime of a watch without timeoutSeconds: 1800 to 3600 s (docs/semantics/servers.md#watch-lifetime).
    pub watch_lifetime: (Duration, Duration),
    /// Time between two bookmarks of a watch: about 60 s (docs/semantics/lists-and-watches.md#bookmark-period).
    pub bookmark_interval: Duration,
    /// The longest that a read waits for the cache to be fresh: 3 s (docs/semantics/servers.md#fresh-wait).
    pub fresh_wait: Duration,
    /// Time that a watch cache's own list of etcd takes per object.
    pub list_latency_per_object: Duration,
    /// Time that one initial event of a watch takes to send: 14,000 take 67 ms to 1 s (docs/semantics/servers.md#load).
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

/// The size and the activities of the cluster. A period of `None` switches its activity off, so that a story does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadConfig {
    /// The number of nodes.
    pub nodes: usize,
    /// Whether the standing applications (deployments, services, configmaps, a CRD and its objects) are installed.
    pub applications: bool,
    /// Whether nodes and control plane renew their leases every 10 s.
    pub leases: bool,
    /// Time between two rollouts: one of the deployments gets a new image.
    pub rollout_every: Option<Duration>,
    /// Time between two changes of a deployment's replicas.
    pub scale_every: Option<Duration>,
    /// Time between two writes of a configmap.
    pub configmap_every: Option<Duration>,
    /// Time between two creations of a short-lived configmap, each deleted half a period later.
    pub temporary_every: Option<Duration>,
    /// Time between two starts of a job.
    pub job_every: Option<Duration>,
    /// Time between two runs of a custom resource through its phases.
    pub custom_every: Option<Duration>,
    /// Many objects that change often. The load begins after the warm-up, and only in a cluster with controllers.
    pub load: Option<Load>,
}

/// Many configmaps, `load-0` and so on, which change often.
///
/// Nothing here bounds it: memory grows by about 2 kB for each object, and for each write that etcd has not compacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The namespace of the configmaps. It is created if it is missing.
    pub namespace: String,
    /// The number of configmaps.
    pub objects: u32,
    /// The number of writes per second, made in rounds of 20 ms.
    pub per_second: u32,
}

impl WorkloadConfig {
    /// No nodes, no applications, no activity.
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
            load: None,
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
            load: None,
        }
    }
}
