//! The command line: kubectl's habits, every flag also as a `WATCHSCOPE_…` variable.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// An oscilloscope for Kubernetes watches: see every list, stream, event, gap and relist, live.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Without a command, watchscope serves: it watches the current context and prints a link to its page.\n\
                  No cluster at hand? Try: watchscope demo\n\n\
                  Every option is also a variable, WATCHSCOPE_..., and a line of the configuration file, by its long name:\n\
                  namespace = \"shop\". A flag goes before the variable, the variable before the file."
)]
pub(super) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// Without a command: serve.
    #[command(flatten)]
    pub(super) serve: ServeArgs,
    /// Configuration file [default: $XDG_CONFIG_HOME/watchscope/config.toml]
    #[arg(long, env = "WATCHSCOPE_CONFIG", value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Watch a cluster and serve the page that shows it (the default)
    Serve(ServeArgs),
    /// The same on a simulated cluster; needs nothing installed, never opens a kubeconfig
    Demo(DemoArgs),
    /// Write the log to standard output
    Watch(WatchArgs),
    /// Serve only the simulated apiserver, for kubectl and any other client
    Simulate(SimulateArgs),
    /// Print a fresh link to a running watchscope's page
    Token(TokenArgs),
}

/// `--metadata-only` without names: of all resources.
pub(super) const EVERYTHING: &str = "*";

/// Which cluster.
#[derive(Clone, Debug, Args)]
pub(super) struct ClusterArgs {
    /// Path of the kubeconfig file
    #[arg(long, env = "WATCHSCOPE_KUBECONFIG", value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use
    #[arg(long, env = "WATCHSCOPE_CONTEXT", value_name = "NAME")]
    pub(super) context: Option<String>,
}

/// What to watch.
#[derive(Clone, Debug, Args)]
pub(super) struct WhatArgs {
    /// Namespace to watch; default: the context's
    #[arg(short, long, env = "WATCHSCOPE_NAMESPACE", value_name = "NAME")]
    pub(super) namespace: Option<String>,
    /// Watch all namespaces
    #[arg(
        short = 'A',
        long,
        env = "WATCHSCOPE_ALL_NAMESPACES",
        conflicts_with = "namespace"
    )]
    pub(super) all_namespaces: bool,
    /// Label selector, as in kubectl
    #[arg(
        short = 'l',
        long,
        env = "WATCHSCOPE_SELECTOR",
        value_name = "SELECTOR"
    )]
    pub(super) selector: Option<String>,
    /// Field selector, as in kubectl
    #[arg(long, env = "WATCHSCOPE_FIELD_SELECTOR", value_name = "SELECTOR")]
    pub(super) field_selector: Option<String>,
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
    pub(super) metadata_only: Vec<String>,
    /// Ask for watch-list (initial events) instead of list, then watch; needs Kubernetes 1.32 or 1.34 and later
    #[arg(long, env = "WATCHSCOPE_WATCH_LIST")]
    pub(super) watch_list: bool,
    /// How long a watch asks to be kept open; default: random, 300 to 600 s
    #[arg(long, env = "WATCHSCOPE_WATCH_TIMEOUT", value_name = "DURATION", value_parser = duration)]
    pub(super) watch_timeout: Option<Duration>,
    /// Withhold more than Secrets, env values and last-applied annotations
    #[arg(
        long,
        env = "WATCHSCOPE_REDACT",
        value_name = "WHAT",
        value_delimiter = ','
    )]
    pub(super) redact: Vec<Redact>,
    /// Memory for the log and the objects: 2/7 ring, 5/7 bodies
    #[arg(long, env = "WATCHSCOPE_MEMORY", value_name = "SIZE", value_parser = bytes, default_value = "224MiB")]
    pub(super) memory: u64,
}

/// What may be withheld beside the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Redact {
    /// `data` and `binaryData` of ConfigMaps.
    Configmaps,
}

/// How the page is served.
#[derive(Clone, Debug, Args)]
pub(super) struct ListenArgs {
    /// Address of the page; a taken default port moves on to the next free one [default: 127.0.0.1:8080]
    #[arg(long, env = "WATCHSCOPE_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) listen: Option<SocketAddr>,
    /// Another host name the page may be opened under
    #[arg(
        long,
        env = "WATCHSCOPE_ALLOW_HOST",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub(super) allow_host: Vec<String>,
    /// Do not open the browser
    #[arg(long, env = "WATCHSCOPE_NO_OPEN")]
    pub(super) no_open: bool,
    /// File whose content scripts send as bearer token
    #[arg(long, env = "WATCHSCOPE_TOKEN_FILE", value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Serve /livez, /readyz and /metrics on this address
    #[arg(long, env = "WATCHSCOPE_HEALTH_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) health_listen: Option<SocketAddr>,
    /// Serve the page from this folder instead of from the binary
    #[arg(long, env = "WATCHSCOPE_UI_DIR", value_name = "FOLDER", hide = true)]
    pub(super) ui_dir: Option<PathBuf>,
}

/// Arguments of `serve`.
#[derive(Clone, Debug, Args)]
pub(super) struct ServeArgs {
    /// Resources to watch: pods, deploy, certificates.cert-manager.io, deployments.v1.apps; default: pods,
    /// deployments, replicasets, jobs, services, configmaps, nodes, events
    #[arg(
        value_name = "RESOURCE",
        env = "WATCHSCOPE_RESOURCES",
        value_delimiter = ','
    )]
    pub(super) resources: Vec<String>,
    /// Watch every resource the cluster serves, except Secrets
    #[arg(long, env = "WATCHSCOPE_ALL_RESOURCES", conflicts_with = "resources")]
    pub(super) all_resources: bool,
    /// Which cluster.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// What to watch.
    #[command(flatten)]
    pub(super) what: WhatArgs,
    /// How the page is served.
    #[command(flatten)]
    pub(super) listen: ListenArgs,
}

/// Arguments of `demo`.
#[derive(Clone, Debug, Args)]
pub(super) struct DemoArgs {
    /// Story to play; default: the demo's
    #[arg(value_name = "STORY")]
    pub(super) story: Option<String>,
    /// Seed of the simulated cluster
    #[arg(long, env = "WATCHSCOPE_SEED", default_value_t = 1)]
    pub(super) seed: u64,
    /// How the page is served.
    #[command(flatten)]
    pub(super) listen: ListenArgs,
}

/// Arguments of `watch`.
#[derive(Clone, Debug, Args)]
pub(super) struct WatchArgs {
    /// Resources to watch
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',')]
    pub(super) resources: Vec<String>,
    /// How to write the log
    #[arg(short, long, env = "WATCHSCOPE_OUTPUT", value_enum, default_value_t = Output::Text)]
    pub(super) output: Output,
    /// Stop after this long, counted from the start of the process
    #[arg(long = "for", env = "WATCHSCOPE_FOR", value_name = "DURATION", value_parser = duration)]
    pub(super) for_duration: Option<Duration>,
    /// Which cluster.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// What to watch.
    #[command(flatten)]
    pub(super) what: WhatArgs,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// One line of words a record.
    Text,
    /// One JSON object a record.
    Jsonl,
}

/// Arguments of `simulate`.
#[derive(Clone, Debug, Args)]
pub(super) struct SimulateArgs {
    /// Story to play; default: the demo's
    #[arg(value_name = "STORY")]
    pub(super) story: Option<String>,
    /// Address of the simulated apiserver
    #[arg(
        long,
        env = "WATCHSCOPE_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:0"
    )]
    pub(super) listen: SocketAddr,
    /// Write a kubeconfig for it
    #[arg(long, env = "WATCHSCOPE_KUBECONFIG_OUT", value_name = "FILE")]
    pub(super) kubeconfig_out: Option<PathBuf>,
    /// Seed of the simulated cluster
    #[arg(long, env = "WATCHSCOPE_SEED", default_value_t = 1)]
    pub(super) seed: u64,
}

/// Arguments of `token`.
#[derive(Clone, Debug, Args)]
pub(super) struct TokenArgs {
    /// End all sessions and sockets first
    #[arg(long)]
    pub(super) revoke: bool,
    /// Port of the instance, if several run
    #[arg(long, env = "WATCHSCOPE_LISTEN", value_name = "PORT", value_parser = port)]
    pub(super) listen: Option<u16>,
    /// Base of the link, for another local port of a port-forward
    #[arg(long, env = "WATCHSCOPE_URL", value_name = "URL")]
    pub(super) url: Option<String>,
}

/// Reads `30s`, `5m`, `1h30m` or a number of seconds.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let parsed: jiff::SignedDuration = text
        .parse()
        .map_err(|_| format!("{text:?} is no duration; write 30s, 5m or 1h30m"))?;
    Duration::try_from(parsed).map_err(|_| format!("{text:?} is negative; a duration goes forward"))
}

/// Reads a number of bytes, with or without a unit.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "B" => 1,
        "Ki" | "KiB" => 1 << 10,
        "M" | "Mi" | "MiB" => 1 << 20,
        "G" | "Gi" | "GiB" => 1_u64 << 30,
        unit => {
            return Err(format!(
                "{unit:?} is no unit of memory; write 224MiB or 1GiB"
            ));
        }
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is no size; write 224MiB or 1GiB"))?;
    let size = number
        .checked_mul(factor)
        .ok_or("that is more than any machine has")?;
    if size < MEMORY_MIN_BYTES {
        return Err("watchscope needs at least 16MiB for its log".to_owned());
    }
    Ok(size)
}

/// Less does not hold a chapter of a large cluster and the bodies beside it.
const MEMORY_MIN_BYTES: u64 = 16 << 20;

/// Reads a port, alone or behind an address.
fn port(text: &str) -> Result<u16, String> {
    let digits = text.rsplit(':').next().unwrap_or(text);
    digits
        .parse()
        .map_err(|_| format!("{text:?} names no port"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn without_a_command_the_words_are_resources_to_serve() {
        let cli = Cli::try_parse_from(["watchscope", "pods", "deploy", "-n", "shop"]).unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.serve.resources, ["pods", "deploy"]);
        assert_eq!(cli.serve.what.namespace.as_deref(), Some("shop"));
    }

    #[test]
    fn metadata_only_stands_alone_or_names_resources() {
        let metadata_only = |args: &[&str]| {
            let args = ["watchscope", "watch", "pods"].iter().chain(args);
            match Cli::try_parse_from(args).unwrap().command {
                Some(Command::Watch(watch)) => watch.what.metadata_only,
                _ => panic!("no watch"),
            }
        };
        assert_eq!(metadata_only(&["--metadata-only"]), ["*"]);
        assert_eq!(
            metadata_only(&["--metadata-only=pods,nodes"]),
            ["pods", "nodes"]
        );
        assert!(metadata_only(&[]).is_empty());
    }

    #[test]
    fn durations_and_sizes_are_read_as_people_write_them() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("45"), Ok(Duration::from_secs(45)));
        assert!(duration("soon").is_err());
        assert_eq!(bytes("1GiB"), Ok(1 << 30));
        assert!(bytes("3 apples").is_err() && bytes("1KiB").is_err());
        assert_eq!(port("127.0.0.1:8081"), Ok(8081));
    }
}
