//! Arguments about clusters: which one is used, what is watched, how much is audited, and the simulated cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use watchscope_scenarios::{LoadSize, PlannedFault};
use watchscope_simulator::{EtcdVersion, Version};

use super::values::{memory, watch_timeout};
use crate::probes::AuditLevel as Level;
use crate::upstream::Servers;

/// The value of `--metadata-only` without names: all resources.
pub(crate) const EVERYTHING: &str = "*";

/// The cluster to connect to.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// The kubeconfig, and its context.
    #[command(flatten)]
    pub(crate) config: KubeconfigArgs,
    /// Speak HTTP/1.1 with the cluster, a connection for each watch [default: HTTP/2 if the cluster speaks it]
    #[arg(long, env = "WATCHSCOPE_HTTP1")]
    pub(crate) http1: bool,
}

/// The kubeconfig, and its context.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct KubeconfigArgs {
    /// Path of the kubeconfig file [default: $KUBECONFIG, ~/.kube/config, in-cluster]
    #[arg(long, env = "WATCHSCOPE_KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use [default: its current one]
    #[arg(long, env = "WATCHSCOPE_CONTEXT", value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// What to watch, and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What to watch, and how")]
pub(crate) struct WhatArgs {
    /// Namespace to watch [default: the context's]
    #[arg(short, long, env = "WATCHSCOPE_NAMESPACE", value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Watch all namespaces
    #[arg(
        short = 'A',
        long,
        env = "WATCHSCOPE_ALL_NAMESPACES",
        conflicts_with = "namespace"
    )]
    pub(crate) all_namespaces: bool,
    /// Label selector, as in kubectl
    #[arg(
        short = 'l',
        long,
        env = "WATCHSCOPE_SELECTOR",
        value_name = "SELECTOR"
    )]
    pub(crate) selector: Option<String>,
    /// Field selector, as in kubectl
    #[arg(long, env = "WATCHSCOPE_FIELD_SELECTOR", value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,
    /// Ask for metadata only: of all resources, or of those named
    #[arg(
        long,
        env = "WATCHSCOPE_METADATA_ONLY",
        value_name = "RESOURCE,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = EVERYTHING,
        value_delimiter = ','
    )]
    pub(crate) metadata_only: Vec<String>,
    /// Watch by each of these apiservers on its own, also behind a load balancer: `all` that default/kubernetes names,
    /// or their addresses [default: whichever the cluster's address leads to]
    #[arg(
        long,
        env = "WATCHSCOPE_SERVERS",
        value_name = "all|IP:PORT,…",
        default_value = "any",
        hide_default_value = true
    )]
    pub(crate) servers: Servers,
    /// Ask for watch-list (initial events) instead of list, then watch; needs Kubernetes 1.32 or 1.34 and later
    #[arg(long, env = "WATCHSCOPE_WATCH_LIST")]
    pub(crate) watch_list: bool,
    /// How long a watch asks to be kept open [default: random, 300s to 600s]
    #[arg(long, env = "WATCHSCOPE_WATCH_TIMEOUT", value_name = "DURATION", value_parser = watch_timeout)]
    pub(crate) watch_timeout: Option<Duration>,
    /// Withhold these too; Secrets, env values and last-applied annotations always are
    #[arg(
        long,
        env = "WATCHSCOPE_REDACT",
        value_name = "configmaps",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub(crate) redact: Vec<Redact>,
    /// Memory.
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// How much the audit compares without a request.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct AuditLevelArgs {
    /// Compare what watches hold with etcd, by at most 120 small requests a minute to a server:
    /// light confirms what is wrong in a small watch (of fewer than 500 objects; of at most 15 from
    /// Kubernetes 1.34 on) within a minute, full looks at each of 200 objects within two
    #[arg(
        long = "audit",
        env = "WATCHSCOPE_AUDIT",
        value_name = "off|light|full",
        value_enum,
        default_value_t = AuditLevel::Light,
        hide_possible_values = true
    )]
    level: AuditLevel,
}

/// Levels of the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AuditLevel {
    Off,
    Light,
    Full,
}

impl From<AuditLevelArgs> for Level {
    fn from(args: AuditLevelArgs) -> Self {
        match args.level {
            AuditLevel::Off => Self::Off,
            AuditLevel::Light => Self::Light,
            AuditLevel::Full => Self::Full,
        }
    }
}

/// The memory of the log.
#[derive(Clone, Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Memory for the log: two sevenths for its records, five for the objects in them
    #[arg(long = "memory", env = "WATCHSCOPE_MEMORY", value_name = "SIZE", value_parser = memory, default_value = "224MiB")]
    pub(crate) bytes: u64,
}

/// Values that can be withheld beside those that always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Redact {
    /// `data` and `binaryData` of ConfigMaps.
    Configmaps,
}

/// The simulated cluster of `demo` and `simulate`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SimulatedArgs {
    /// Story to play, of those below [default: the first]
    #[arg(value_name = "STORY")]
    pub(crate) story: Option<String>,
    /// Seed of the random choices in the simulated cluster
    #[arg(long, env = "WATCHSCOPE_SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Version of Kubernetes, 1.9 to 1.37, such as 1.27.3; several: a server of each over one etcd [default: the
    /// story's]
    #[arg(
        long,
        env = "WATCHSCOPE_SERVER_VERSION",
        value_name = "VERSION,…",
        value_delimiter = ','
    )]
    pub(crate) server_version: Vec<Version>,
    /// Release of etcd, 3.4 to 3.6, such as 3.5.12 [default: what the oldest server came with; any, if that lacks a
    /// defect which the story needs]
    #[arg(long, env = "WATCHSCOPE_ETCD_VERSION", value_name = "VERSION")]
    pub(crate) etcd_version: Option<EtcdVersion>,
    /// A fault beside the story, of those below, with its parameter and the seconds of its start and end: delay:500@30-60
    #[arg(
        long,
        env = "WATCHSCOPE_FAULT",
        value_name = "NAME[:PARAMETER]@SECONDS[-SECONDS],…",
        value_delimiter = ','
    )]
    pub(crate) fault: Vec<PlannedFault>,
    /// Many configmaps that change often: up to 50000 objects, up to 20000 writes a second [default: none]
    #[arg(
        long,
        env = "WATCHSCOPE_LOAD",
        value_name = "objects=NUMBER,rate=NUMBER"
    )]
    pub(crate) load: Option<LoadSize>,
}
