//! The settings of each part of a simulated cluster: sizes, delays, lifetimes, periods.

use std::time::Duration;

use crate::etcd_version::EtcdVersion;

/// Delays and buffers between clients and apiservers. In every pair of a minimum and a maximum time in this file, a
/// maximum below the minimum counts as equal to it. All such times are drawn in whole microseconds. A default value in
/// this file has no source unless its field names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkConfig {
    /// One-way delay of a packet: minimum and maximum; 150 to 600 µs by default.
    pub latency: (Duration, Duration),
    /// Bytes of one response that may be sent and not yet consumed: the socket buffers of both sides together, 256 KiB
    /// by default. At this bound the server waits for the client to read. The chunk that reaches the bound is still
    /// sent whole. At 0 the server never sends a body.
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
    /// whether apiservers trust its progress notifications (docs/semantics/versions.md#etcd-trusted). With `None` etcd
    /// can have any defect, and apiservers trust etcd unless it has a defect that no trusted release has.
    pub version: Option<EtcdVersion>,
    /// Delay from the send loop of etcd's watch stream to the apiserver, and from a write to the cluster's own
    /// controllers. Minimum and maximum; 0.3 to 1.5 ms by default.
    pub watch_latency: (Duration, Duration),
    /// Time that the send loop of etcd's watch stream needs for one response, besides the time for its bytes; 10 µs by
    /// default.
    pub send_latency: Duration,
    /// Bytes that a watch stream of etcd carries in a second; 200 MB by default, and 0 counts as 1 byte.
    pub stream_bytes_per_second: u64,
    /// Delay from a write to its answer, and of each list of etcd for a watch cache. Minimum and maximum; 0.8 to 3 ms
    /// by default. A write that is refused, or made by [`World::call`](crate::World::call), is answered at once. The
    /// lists when the world is made take no time.
    pub commit_latency: (Duration, Duration),
    /// `--watch-progress-notify-interval`: 5 s here, as kubeadm sets it
    /// (docs/semantics/lists-and-watches.md#bookmark-quiet-type). etcd's default is 10 min
    /// (docs/semantics/servers.md#progress). At zero, progress comes only on request.
    pub progress_notify_interval: Duration,
    /// etcd's election timeout; 1 s by default. After three election timeouts without a leader, etcd cancels the
    /// watches of apiservers since 1.19 (docs/semantics/servers.md#leader-loss).
    pub election_timeout: Duration,
    /// Time between two compactions by the apiserver; 5 min by default. Each compaction compacts the revision that was
    /// noted one interval before (docs/semantics/servers.md#compaction), unless etcd has no leader. The interval must
    /// be at least 1 µs, or virtual time never passes.
    pub compaction_interval: Duration,
    /// Whether etcd keeps every change since the world was made for [`Truth::history`](crate::Truth::history),
    /// compacted or not. This journal grows with each write, without a bound, so it is for tests only.
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
    /// Minimum and maximum size of a watch cache's ring, in events; 100 to 102,400 by default
    /// (docs/semantics/servers.md#ring). The ring begins with the minimum; a minimum of 0 counts as 1. A full ring
    /// drops its oldest event. With a maximum below the minimum, a full ring has either of the two sizes. Below
    /// Kubernetes 1.20 the ring stays at the minimum.
    pub history_events: (usize, usize),
    /// The time that a watch cache's ring should span; 75 s by default. The ring's size adapts to this time
    /// (docs/semantics/servers.md#ring).
    pub history_window: Duration,
    /// Lifetime of a watch without timeoutSeconds, or with 0: minimum and maximum; 1800 to 3600 s by default
    /// (docs/semantics/servers.md#watch-lifetime). After its lifetime the watch's body ends in an orderly way.
    pub watch_lifetime: (Duration, Duration),
    /// Time from one bookmark of a watch to when the next is due; 60 s by default
    /// (docs/semantics/lists-and-watches.md#bookmark-period). Chance adds up to 1.25 s. Only watches that request
    /// bookmarks get any. A due bookmark is left out if its resourceVersion is not new, or if the watch's buffer is
    /// full. The last bookmark is due 2 s before the watch's timeout. From Kubernetes 1.16 to 1.18 this interval does
    /// not count, and only the last bookmark comes; below 1.16 none comes.
    pub bookmark_interval: Duration,
    /// The longest time that a read waits for the watch cache to be fresh; 3 s by default
    /// (docs/semantics/servers.md#fresh-wait). After this time a consistent list is read from etcd, or refused under
    /// [`Throttle::StaleCache`](crate::Throttle::StaleCache). A watch gets an ERROR 504, and any other read is refused
    /// with 504.
    pub fresh_wait: Duration,
    /// Time that a watch cache's own list of etcd takes per object, besides `commit_latency`; 20 µs by default.
    pub list_latency_per_object: Duration,
    /// Time that one initial or replayed event of a watch takes to send; 5 µs by default. In real clusters 14,000
    /// initial events take 67 ms to 1 s (docs/semantics/servers.md#load).
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

/// The size and the activities of the cluster. These settings count only with
/// [`Controllers::ALL`](crate::Controllers::ALL).
///
/// A period of `None` switches its activity off, so that a story can act instead. A period varies by up to 5 % from
/// round to round. The first round comes after a quarter of the period to a whole period. A period must be at least 1
/// µs, or virtual time never passes. The activities with such a period act on the standing applications and in their
/// namespace `shop`. Without the applications and their namespace these activities do nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadConfig {
    /// The number of nodes, 3 by default; a greater number than 65,535 counts as 65,535. Above 65,526 nodes, debug
    /// builds panic.
    pub nodes: usize,
    /// Whether the standing applications are installed, as by default: three deployments in the namespace `shop`, each
    /// with a service. A Secret, a deployment of DNS, and a CRD without objects are installed with these applications.
    pub applications: bool,
    /// Whether nodes and control plane renew their leases about every 10 s, and nodes report their status about every 5
    /// min, as by default.
    pub leases: bool,
    /// Time between two rollouts, 45 s by default: one of the three deployments in turn gets a new image.
    pub rollout_every: Option<Duration>,
    /// Time between two changes of replicas, 70 s by default: one of the three deployments in turn gets one replica
    /// more, or one less again.
    pub scale_every: Option<Duration>,
    /// Time between two writes of one of two configmaps, 4 s by default. The configmaps are created at their first
    /// write.
    pub configmap_every: Option<Duration>,
    /// Time between two creations of a short-lived configmap, 18 s by default. Half a period after each creation, the
    /// oldest short-lived configmap is deleted.
    pub temporary_every: Option<Duration>,
    /// Time between two starts of a job, 60 s by default. Each start deletes ended jobs, the oldest first, until three
    /// ended jobs are left.
    pub job_every: Option<Duration>,
    /// Time between two steps in which one of two custom resources in turn goes to its next of three phases; 20 s by
    /// default.
    pub custom_every: Option<Duration>,
    /// Many objects that change often; `None`, the default: no load. The load begins after the warm-up.
    pub load: Option<Load>,
}

/// Many configmaps, `load-0` and so on, which change often. By chance one in 20 writes of an existing configmap deletes
/// it. The next write of the same name creates it again.
///
/// The load has no bound: memory grows with each object, and with each write that etcd has not compacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The namespace of the load's configmaps. The workload creates it if it is missing.
    pub namespace: String,
    /// The number of the load's configmaps. At 0 all writes go to `load-0`.
    pub objects: u32,
    /// The number of the load's writes per second, made in rounds about 20 ms apart; at 0 the load makes no write after
    /// the creations.
    pub per_second: u32,
}

impl WorkloadConfig {
    /// Returns settings with no nodes, no applications and no activity.
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
