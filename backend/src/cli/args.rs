//! The command line: kubectl's habits, every flag also as a `WATCHSCOPE_…` variable.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use watchscope_scenarios::PlannedFault;
use watchscope_simulator::{EtcdVersion, Version};

use crate::probes::AuditLevel as Level;
use crate::upstream::Servers;
use crate::web::listen::address;

/// Said once at the end of each help, instead of behind each option.
const PLACES: &str = "Every option is also a variable (--allow-host: WATCHSCOPE_ALLOW_HOST) and a line of the \
    configuration file (allow-host = \"NAME\"). A flag goes before the variable, the variable before the file.";

/// An oscilloscope for Kubernetes watches: see every list, stream, event, gap and relist, live.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = format!(
        "Without a command, watchscope serves: it watches the current context and prints a link to its page.\n\n\
         Examples:\n\
         \x20 watchscope demo                  no cluster at hand? see a simulated one\n\
         \x20 watchscope                       the usual resources, namespace in use\n\
         \x20 watchscope pods deploy -n shop   these two, in that namespace\n\
         \x20 watchscope watch pods -o jsonl   no page: the log as JSON lines\n\n\
         {PLACES}\n\
         Exit codes: 0 done, 1 failed, 2 wrong usage."
    )
)]
pub(super) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// Without a command: serve.
    #[command(flatten)]
    pub(super) serve: ServeArgs,
    /// Configuration file [default: $XDG_CONFIG_HOME/watchscope/config.toml]
    #[arg(
        long,
        env = "WATCHSCOPE_CONFIG",
        value_name = "FILE",
        global = true,
        help_heading = None::<&'static str>
    )]
    pub(super) config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Watch a cluster and serve the page that shows it (the default)
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope serve pods deploy -n shop               two resources\n\
         \x20 watchscope serve -A certificates.cert-manager.io   a custom one\n\
         \x20 watchscope serve --all-resources                   all but Secrets\n\n\
         Standard output carries one line, the link to the page.\n\n\
         {PLACES}"
    ))]
    Serve(ServeArgs),
    /// Show a simulated cluster: nothing to install, no kubeconfig is opened
    #[command(after_help = format!(
        "{}\n\nA cluster is played in real time, its faults too, and watched over real connections. Standard output \
         carries one line, the link to the page; what happens is told on standard error.\n\n{PLACES}",
        stories()
    ))]
    Demo(DemoArgs),
    /// Write the log to standard output, for people or as JSON lines
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope watch pods,nodes -A\n\
         \x20 watchscope watch events -n shop -o jsonl --for 30s | jq .type\n\n\
         {PLACES}"
    ))]
    Watch(WatchArgs),
    /// Compare what watches hold with etcd now: exit 0 clean, 3 diverged, 4 cannot tell
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope audit pods -n shop && echo all is so\n\
         \x20 watchscope audit configmaps -A -o jsonl | jq .outcome\n\n\
         From Kubernetes 1.34 on a list may show only what the apiserver's cache believes. Then each object is looked \
         up, in all at most 120 a minute: about 350 in the time that --for gives by default. What is not over by then \
         ends with 4, unless something is found to be wrong.\n\n\
         {PLACES}"
    ))]
    Audit(AuditArgs),
    /// Serve only the simulated apiserver, for kubectl and any other client
    #[command(after_help = format!(
        "{}\n\nExample:\n\
         \x20 watchscope simulate --kubeconfig-out sim.yaml &\n\
         \x20 kubectl --kubeconfig sim.yaml get pods -w\n\n\
         Standard output carries one line, the address, once it is served.\n\n{PLACES}",
        stories()
    ))]
    Simulate(SimulateArgs),
    /// List the lessons, or print one's text
    #[command(
        after_help = "Lessons run in the browser, in a simulated cluster inside the tab: choose Lessons on the page \
         of any watchscope, or open its address with #lesson=NAME."
    )]
    Lessons(LessonsArgs),
    /// Print a fresh link to the page of a running watchscope
    #[command(after_help = "A link is good for one use within ten minutes.\n\n\
         Examples:\n\
         \x20 kubectl -n watchscope exec deploy/watchscope -- watchscope token\n\
         \x20 watchscope token --url http://localhost:9000   another local port\n\
         \x20 watchscope token --revoke                      everybody else is out")]
    Token(TokenArgs),
    /// Say what a failure of the catalogue is, how it looks, and what to do
    #[command(after_help = "Example:\n\
         \x20 watchscope explain F11")]
    Explain(ExplainArgs),
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The code of a finding or of a stream's end, F01 to F50
    pub(super) code: String,
}

/// The command line, whose help says [`PLACES`] instead of naming a variable behind each option.
pub(super) fn command_line() -> clap::Command {
    let hide = |option: Arg| option.hide_env(true);
    Cli::command()
        .mut_args(hide)
        .mut_subcommands(|command| command.mut_args(hide))
}

/// The stories and faults there are, for a help.
fn stories() -> String {
    let stories = watchscope_scenarios::stories();
    let lines = stories
        .iter()
        .map(|story| format!("\n  {:4}  {}", story.name, story.title));
    let faults = watchscope_scenarios::faults::help();
    let faults = faults.iter().map(|line| format!("\n  {line}"));
    format!(
        "Stories, by these names or codes (`watchscope explain F11` says more of a code):{}\n\n\
         Faults, for --fault, with what is taken where no parameter is given; a server is the first:{}",
        lines.collect::<String>(),
        faults.collect::<String>()
    )
}

/// `--metadata-only` without names: of all resources.
pub(super) const EVERYTHING: &str = "*";

/// Which cluster.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ClusterArgs {
    /// Path of the kubeconfig file [default: $KUBECONFIG, ~/.kube/config, in-cluster]
    #[arg(long, env = "WATCHSCOPE_KUBECONFIG", value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use [default: its current one]
    #[arg(long, env = "WATCHSCOPE_CONTEXT", value_name = "NAME")]
    pub(super) context: Option<String>,
    /// Speak HTTP/1.1 with the cluster, a connection for each watch [default: HTTP/2 where it speaks that]
    #[arg(long, env = "WATCHSCOPE_HTTP1")]
    pub(super) http1: bool,
}

/// What to watch.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What to watch, and how")]
pub(super) struct WhatArgs {
    /// Namespace to watch [default: the context's]
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
    /// Watch by each of these apiservers on its own, also behind a load balancer: `all` that default/kubernetes names,
    /// or their addresses [default: whichever the cluster's address leads to]
    #[arg(
        long,
        env = "WATCHSCOPE_SERVERS",
        value_name = "all|IP:PORT,…",
        default_value = "any",
        hide_default_value = true
    )]
    pub(super) servers: Servers,
    /// Ask for watch-list (initial events) instead of list, then watch; needs Kubernetes 1.32 or 1.34 and later
    #[arg(long, env = "WATCHSCOPE_WATCH_LIST")]
    pub(super) watch_list: bool,
    /// How long a watch asks to be kept open [default: random, 300s to 600s]
    #[arg(long, env = "WATCHSCOPE_WATCH_TIMEOUT", value_name = "DURATION", value_parser = watch_timeout)]
    pub(super) watch_timeout: Option<Duration>,
    /// Withhold these too; Secrets, env values and last-applied annotations always are
    #[arg(
        long,
        env = "WATCHSCOPE_REDACT",
        value_name = "configmaps",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub(super) redact: Vec<Redact>,
    /// Memory.
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
}

/// How much is audited.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct AuditLevelArgs {
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

/// What the log may take.
#[derive(Clone, Debug, Args)]
pub(super) struct MemoryArgs {
    /// Memory for the log: two sevenths for its records, five for the objects in them
    #[arg(long = "memory", env = "WATCHSCOPE_MEMORY", value_name = "SIZE", value_parser = bytes, default_value = "224MiB")]
    pub(super) bytes: u64,
}

/// What may be withheld beside the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Redact {
    /// `data` and `binaryData` of ConfigMaps.
    Configmaps,
}

/// How the page is served.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Page")]
pub(super) struct ListenArgs {
    /// Address of the page; port 0 takes any [default: 127.0.0.1:8080, or the next free port]
    #[arg(long, env = "WATCHSCOPE_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub(super) listen: Option<SocketAddr>,
    /// Another host name the page may be opened under; needed to listen off loopback
    #[arg(
        long,
        env = "WATCHSCOPE_ALLOW_HOST",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub(super) allow_host: Vec<String>,
    /// Do not open the browser (it is opened only from a terminal)
    #[arg(long, env = "WATCHSCOPE_NO_OPEN")]
    pub(super) no_open: bool,
    /// File whose content scripts send as bearer token to /api
    #[arg(long, env = "WATCHSCOPE_TOKEN_FILE", value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Serve /livez, /readyz and /metrics on this address
    #[arg(long, env = "WATCHSCOPE_HEALTH_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub(super) health_listen: Option<SocketAddr>,
    /// Serve the page from this folder instead of from the binary
    #[arg(long, env = "WATCHSCOPE_UI_DIR", value_name = "FOLDER", hide = true)]
    pub(super) ui_dir: Option<PathBuf>,
}

/// Arguments of `lessons`.
#[derive(Clone, Debug, Args)]
pub(super) struct LessonsArgs {
    /// Lesson to print
    #[arg(value_name = "LESSON")]
    pub(super) lesson: Option<String>,
}

/// Arguments of `serve`.
#[derive(Clone, Debug, Args)]
pub(super) struct ServeArgs {
    /// Resources to watch: pods, deploy, certificates.cert-manager.io, deployments.v1.apps [default: pods,
    /// deployments, replicasets, jobs, services, configmaps, nodes, events]
    #[arg(
        value_name = "RESOURCE",
        env = "WATCHSCOPE_RESOURCES",
        value_delimiter = ','
    )]
    pub(super) resources: Vec<String>,
    /// Watch every resource the cluster serves, except Secrets
    #[arg(
        long,
        env = "WATCHSCOPE_ALL_RESOURCES",
        conflicts_with = "resources",
        help_heading = "What to watch, and how"
    )]
    pub(super) all_resources: bool,
    /// Which cluster.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// How much is audited.
    #[command(flatten)]
    pub(super) audit: AuditLevelArgs,
    /// What to watch.
    #[command(flatten)]
    pub(super) what: WhatArgs,
    /// How the page is served.
    #[command(flatten)]
    pub(super) listen: ListenArgs,
}

/// The simulated cluster of `demo` and `simulate`.
#[derive(Clone, Debug, Args)]
pub(super) struct SimulatedArgs {
    /// Story to play, of those below [default: the first]
    #[arg(value_name = "STORY")]
    pub(super) story: Option<String>,
    /// Seed of all chance in the simulated cluster
    #[arg(long, env = "WATCHSCOPE_SEED", default_value_t = 1)]
    pub(super) seed: u64,
    /// Version of Kubernetes, 1.9 to 1.37, such as 1.27.3; several: a server of each over one etcd [default: the
    /// story's]
    #[arg(
        long,
        env = "WATCHSCOPE_SERVER_VERSION",
        value_name = "VERSION,…",
        value_delimiter = ','
    )]
    pub(super) server_version: Vec<Version>,
    /// Release of etcd, 3.4 to 3.6, such as 3.5.12 [default: what the oldest server came with; any, if that lacks a
    /// defect which the story needs]
    #[arg(long, env = "WATCHSCOPE_ETCD_VERSION", value_name = "VERSION")]
    pub(super) etcd_version: Option<EtcdVersion>,
    /// A fault besides the story, of those below, with its parameter and the second it begins and ends: delay:500@30-60
    #[arg(
        long,
        env = "WATCHSCOPE_FAULT",
        value_name = "NAME[:PARAMETER]@SECONDS[-SECONDS],…",
        value_delimiter = ','
    )]
    pub(super) fault: Vec<PlannedFault>,
}

/// Arguments of `demo`.
#[derive(Clone, Debug, Args)]
pub(super) struct DemoArgs {
    /// The simulated cluster.
    #[command(flatten)]
    pub(super) cluster: SimulatedArgs,
    /// Speak HTTP/2 with the simulated cluster, all watches over one connection [default: HTTP/1.1, one for each]
    #[arg(long, env = "WATCHSCOPE_HTTP2")]
    pub(super) http2: bool,
    /// How much is audited.
    #[command(flatten)]
    pub(super) audit: AuditLevelArgs,
    /// Memory.
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
    /// How the page is served.
    #[command(flatten)]
    pub(super) listen: ListenArgs,
}

/// Arguments of `watch`.
#[derive(Clone, Debug, Args)]
pub(super) struct WatchArgs {
    /// Resources to watch: pods, deploy, certificates.cert-manager.io, deployments.v1.apps
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',')]
    pub(super) resources: Vec<String>,
    /// How to write the log: a line of words, or a JSON object, for each record
    #[arg(
        short,
        long,
        env = "WATCHSCOPE_OUTPUT",
        value_name = "text|jsonl",
        value_enum,
        default_value_t = Output::Text,
        hide_possible_values = true
    )]
    pub(super) output: Output,
    /// Stop after this long, such as 30s, 5m or 1h30m, counted from the start of the process
    #[arg(long = "for", env = "WATCHSCOPE_FOR", value_name = "DURATION", value_parser = duration)]
    pub(super) for_duration: Option<Duration>,
    /// Which cluster.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// How much is audited.
    #[command(flatten)]
    pub(super) audit: AuditLevelArgs,
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

/// Arguments of `audit`.
#[derive(Clone, Debug, Args)]
pub(super) struct AuditArgs {
    /// Resources to compare: pods, deploy, certificates.cert-manager.io, deployments.v1.apps
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',')]
    pub(super) resources: Vec<String>,
    /// How to write what is compared: a line of words, or a JSON object, for each read and verdict
    #[arg(
        short,
        long,
        env = "WATCHSCOPE_OUTPUT",
        value_name = "text|jsonl",
        value_enum,
        default_value_t = Output::Text,
        hide_possible_values = true
    )]
    pub(super) output: Output,
    /// Give up after this long, such as 30s or 5m [default: 2m30s]
    #[arg(
        long = "for",
        env = "WATCHSCOPE_FOR",
        value_name = "DURATION",
        value_parser = duration,
        default_value = "150s",
        hide_default_value = true
    )]
    pub(super) for_duration: Duration,
    /// Which cluster.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// What to watch.
    #[command(flatten)]
    pub(super) what: WhatArgs,
}

/// Arguments of `simulate`.
#[derive(Clone, Debug, Args)]
pub(super) struct SimulateArgs {
    /// Address of the simulated apiserver; port 0 takes any
    #[arg(
        long,
        env = "WATCHSCOPE_LISTEN",
        value_name = "ADDRESS:PORT",
        value_parser = address,
        default_value = "127.0.0.1:0"
    )]
    pub(super) listen: SocketAddr,
    /// Write a kubeconfig for it to this file
    #[arg(long, env = "WATCHSCOPE_KUBECONFIG_OUT", value_name = "FILE")]
    pub(super) kubeconfig_out: Option<PathBuf>,
    /// The simulated cluster.
    #[command(flatten)]
    pub(super) cluster: SimulatedArgs,
}

/// Arguments of `token`.
#[derive(Clone, Debug, Args)]
pub(super) struct TokenArgs {
    /// End all sessions and sockets first
    #[arg(long)]
    pub(super) revoke: bool,
    /// Port of the instance, where several run
    #[arg(long, env = "WATCHSCOPE_LISTEN", value_name = "PORT", value_parser = port)]
    pub(super) listen: Option<u16>,
    /// How the link begins, where that is not the address it listens on
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

/// Streams that end sooner in good order, with nothing in them, are barren (F10), and are not to be ours.
const WATCH_TIMEOUT_MIN: Duration = Duration::from_secs(4);

/// Reads how long a watch is to be kept open.
fn watch_timeout(text: &str) -> Result<Duration, String> {
    let timeout = duration(text)?;
    if timeout < WATCH_TIMEOUT_MIN {
        return Err("a watch asks for 4s at least".to_owned());
    }
    Ok(timeout)
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
    use std::collections::BTreeMap;

    use insta::assert_snapshot;

    use super::*;

    /// What `--help` writes for every command, `watchscope` alone included, on a terminal of 80 columns.
    fn helps() -> BTreeMap<String, String> {
        let all = command_line();
        let names = all.get_subcommands().map(clap::Command::get_name);
        let help = |name: &str| {
            let words = ["watchscope", name, "--help"];
            let words = words.into_iter().filter(|word| !word.is_empty());
            let command = command_line().term_width(80);
            let shown = command.try_get_matches_from(words).unwrap_err();
            assert_eq!(shown.kind(), clap::error::ErrorKind::DisplayHelp);
            (name.to_owned(), shown.render().to_string())
        };
        std::iter::once("").chain(names).map(help).collect()
    }

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn every_help_fits_80_columns_and_names_no_variable_behind_an_option() {
        for (command, help) in helps() {
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{command}: {widest:?}\n{help}");
            assert!(!help.contains("[env"), "{help}");
        }
    }

    /// What [`PLACES`] says.
    #[test]
    fn every_option_is_a_variable_by_its_name_but_for_what_must_not_lie_about() {
        let all = command_line();
        let commands = std::iter::once(&all).chain(all.get_subcommands());
        let mut without = Vec::new();
        for option in commands.flat_map(clap::Command::get_arguments) {
            let Some(name) = option.get_long() else {
                continue;
            };
            let expected = format!("WATCHSCOPE_{}", name.to_uppercase().replace('-', "_"));
            match option.get_env() {
                Some(variable) => assert_eq!(variable, expected.as_str()),
                None => without.push(name),
            }
        }
        assert_eq!(without, ["revoke"]);
    }

    #[test]
    fn the_demos_help_says_what_it_plays() {
        assert_snapshot!(helps()["demo"], @r#"
        Show a simulated cluster: nothing to install, no kubeconfig is opened

        Usage: watchscope demo [OPTIONS] [STORY]

        Arguments:
          [STORY]  Story to play, of those below [default: the first]

        Options:
              --seed <SEED>
                  Seed of all chance in the simulated cluster [default: 1]
              --server-version <VERSION,…>
                  Version of Kubernetes, 1.9 to 1.37, such as 1.27.3; several: a server
                  of each over one etcd [default: the story's]
              --etcd-version <VERSION>
                  Release of etcd, 3.4 to 3.6, such as 3.5.12 [default: what the oldest
                  server came with; any, if that lacks a defect which the story needs]
              --fault <NAME[:PARAMETER]@SECONDS[-SECONDS],…>
                  A fault besides the story, of those below, with its parameter and the
                  second it begins and ends: delay:500@30-60
              --http2
                  Speak HTTP/2 with the simulated cluster, all watches over one
                  connection [default: HTTP/1.1, one for each]
              --audit <off|light|full>
                  Compare what watches hold with etcd, by at most 120 small requests a
                  minute to a server: light confirms what is wrong in a small watch (of
                  fewer than 500 objects; of at most 15 from Kubernetes 1.34 on) within
                  a minute, full looks at each of 200 objects within two [default:
                  light]
              --memory <SIZE>
                  Memory for the log: two sevenths for its records, five for the objects
                  in them [default: 224MiB]
              --config <FILE>
                  Configuration file [default: $XDG_CONFIG_HOME/watchscope/config.toml]
          -h, --help
                  Print help

        Page:
              --listen <ADDRESS:PORT>
                  Address of the page; port 0 takes any [default: 127.0.0.1:8080, or the
                  next free port]
              --allow-host <NAME>
                  Another host name the page may be opened under; needed to listen off
                  loopback
              --no-open
                  Do not open the browser (it is opened only from a terminal)
              --token-file <FILE>
                  File whose content scripts send as bearer token to /api
              --health-listen <ADDRESS:PORT>
                  Serve /livez, /readyz and /metrics on this address

        Stories, by these names or codes (`watchscope explain F11` says more of a code):
          shop  a rollout, a reset, an expiry and a quiet lane, again and again
          F01   hot loop on a closed channel
          F02   continue on a closed channel
          F03   return on a closed channel
          F04   half-open connection
          F05   normal timeout
          F06   apiserver restart or change of master
          F07   graceful shutdown of the apiserver
          F08   connection reset
          F09   GOAWAY
          F10   closed at once instead of expired
          F11   fell off the watch cache
          F12   compacted in etcd
          F13   410 as an HTTP status
          F14   410 from server to server without end
          F15   too many requests
          F16   all watches of a type ended by the server's cache
          F17   an edit of the CRD ended its watches
          F18   the resource is served no longer
          F19   watched again without a resourceVersion
          F20   watches without a resourceVersion overload etcd
          F21   resumed from an unordered ADDED
          F22   stale list
          F23   resourceVersion goes back with a DELETED
          F24   ghosts after a failed look-up of the previous value
          F25   gap from starvation in etcd
          F26   DELETED without an object
          F27   DELETED lost at a compaction
          F28   deleted while disconnected
          F29   duplicate or replayed events
          F30   events out of order
          F31   servers apart
          F32   watch from the future
          F33   etcd restored from a backup
          F34   bookmarks missing
          F35   wrong bookmark
          F36   a slow reader cut off
          F37   watch-list never completes
          F38   decode or conversion error
          F39   object of another type
          F40   credentials expired at a reconnect
          F41   permission withdrawn under way
          F42   scopes compared that differ
          F43   in or out of a selector
          F44   buffering proxy
          F45   race at the start of a watch
          F46   resync taken for a change
          F47   a last frame cut in two
          F48   a retrying helper ends at 410
          F49   deltas of an object merged
          F50   cap on streams of a proxied watch

        Faults, for --fault, with what is taken where no parameter is given; a server is
        the first:
          reset                          all connections are reset
          eof                            all connections end without the bodies' end
          torn-frame                     the next frame of each watch is torn
          close-streams                  all watches end in order
          reset-streams                  all watches are given up (RST_STREAM)
          goaway                         all connections are told to go away
          refuse                         new connections are refused
          stall                          nothing passes, and nothing says so
          lose-requests                  what clients send is lost
          lose-answers                   what servers send is lost
          delay[:500]                    all comes so many milliseconds later
          buffer[:10000]                 a proxy holds back so many bytes
          cap-streams[:2]                answers at a time over a connection
          kill-idle[:60]                 after so many idle seconds all is lost
          out-of-rotation                a server gets no new connections
          balance-requests               requests go to the servers in turn
          too-many-requests[:fairness]   429; in-flight, cache, shutdown too
          expire-tokens                  tokens are not valid any more (401)
          revoke[:configmaps]            nobody may read or write it (403)
          shutdown[:5]                   a server stops, after so many seconds
          expire[:RESOURCE]              caches keep no history (410)
          silent-expiry[:configmaps]     too old watches end without a 410
          gone-as-status[:configmaps]    too old watches get status 410
          reinitialise[:RESOURCE]        watch caches list etcd again
          freeze-caches[:RESOURCE]       a server's caches stand still
          lag[:5]                        a server's caches lag so many seconds
          no-bookmarks[:configmaps]      no bookmarks are sent
          bookmarks-ahead[:configmaps]   bookmarks say too much
          no-end-bookmark[:configmaps]   initial events have no end
          unsorted-initial[:configmaps]  initial events come in no order
          start-race[:configmaps]        a watch misses its first event
          repeat-events[:configmaps]     each event is told twice
          swap-events[:configmaps]       each two events come in the wrong order
          wrong-kind[:configmaps]        events of another kind
          corrupt-object:RESOURCE/NAME   it cannot be read from etcd
          cannot-convert:RESOURCE/NAME   it cannot be converted
          etcd-defect[:15220]            15220, 15271, 15274, 17529, 17566, …
          slow-etcd[:1000]               milliseconds for each event of etcd
          no-leader                      etcd has no leader
          partition-member               a server's member of etcd is cut off
          miss-writes                    a server's member of etcd misses writes
          restart-etcd                   etcd stops and starts again
          compact-etcd                   etcd drops its history
          take-snapshot                  etcd's state is saved
          restore-snapshot[:0]           etcd is as saved, with a revision bump

        A cluster is played in real time, its faults too, and watched over real
        connections. Standard output carries one line, the link to the page; what
        happens is told on standard error.

        Every option is also a variable (--allow-host: WATCHSCOPE_ALLOW_HOST) and a line
        of the configuration file (allow-host = "NAME"). A flag goes before the
        variable, the variable before the file.
        "#);
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
        assert_eq!(watch_timeout("4s"), Ok(WATCH_TIMEOUT_MIN));
        assert!(watch_timeout("3s").is_err());
        assert_eq!(bytes("1GiB"), Ok(1 << 30));
        assert!(bytes("3 apples").is_err() && bytes("1KiB").is_err());
        assert_eq!(port("127.0.0.1:8081"), Ok(8081));
    }
}
