//! The command line: kubectl's habits, every flag also as a `WATCHSCOPE_…` variable.

mod cluster;
mod export;
mod history;
mod listen;
mod recordings;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

pub(super) use self::cluster::{
    AuditLevelArgs, ClusterArgs, EVERYTHING, MemoryArgs, Redact, SimulatedArgs, WhatArgs,
};
pub(super) use self::export::{ExportArgs, FormArg, HideArg};
use self::history::HistoryArgs;
pub(super) use self::listen::ListenArgs;
use self::recordings::RecordingsArgs;
use self::values::{duration, port};
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
         \x20 watchscope watch events -n shop -o jsonl --for 30s | jq .type\n\
         \x20 watchscope watch --from incident.wscope\n\
         \x20 watchscope watch --from incident.wscope --judge again\n\n\
         With --judge again diagnosis runs anew over the records. What differs from what was recorded is listed at the \
         end, with jsonl on standard error. Findings that rest on the audit's reads are taken as recorded, and so are \
         those that rest on records which the recording does not hold: these are listed apart.\n\n\
         {PLACES}"
    ))]
    Watch(WatchArgs),
    /// Write the log into a file, to be read later and elsewhere
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope record pods deploy -n shop -o incident.wscope --for 10m\n\
         \x20 watchscope watch --from incident.wscope -o jsonl | jq .type\n\n\
         The file can be read at every moment, also after a crash: no record waits longer than about a second. \
         docs/recordings.md says what is in it. Values of Secrets are never in it.\n\n\
         {PLACES}"
    ))]
    Record(RecordArgs),
    /// Serve the page over recordings: no cluster is asked
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope replay incident.wscope\n\
         \x20 watchscope replay incident.wscope --judge again\n\
         \x20 watchscope replay /var/lib/watchscope   all that a history holds\n\n\
         The time on the page is that of the recording's last record. Standard output carries one line, the link to \
         the page.\n\n\
         With --judge again diagnosis runs anew over the records, as `watchscope watch --help` says. How its judgements \
         compare with the recorded ones is listed on standard error.\n\n\
         {PLACES}"
    ))]
    Replay(ReplayArgs),
    /// Write a stretch of recordings as a picture, a timeline, a table or lines
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope export incident.wscope -o incident.svg -o incident.md\n\
         \x20 watchscope export /var/lib/watchscope --from 03:10 --to 03:20 -o night.wscope\n\
         \x20 watchscope export incident.wscope --lanes shop/pods,shop/jobs.batch -o pods.csv\n\n\
         A file of the same name is replaced. The same recording and options give the same bytes. Names of a cluster are \
         in all of these files; values of Secrets are in none.\n\n\
         --out, --from, --to, --form, --context and --title belong to one export: no variable and no line of the \
         configuration file sets them. {PLACES}"
    ))]
    Export(ExportArgs),
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

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// Which recordings.
    #[command(flatten)]
    pub(super) recordings: RecordingsArgs,
    /// Whose findings to show: those recorded, or those of a diagnosis that runs anew
    #[arg(
        long,
        env = "WATCHSCOPE_JUDGE",
        value_name = "recorded|again",
        value_enum,
        default_value_t = Judge::Recorded,
        hide_possible_values = true
    )]
    pub(super) judge: Judge,
    #[command(flatten)]
    pub(super) listen: ListenArgs,
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
    /// What is kept on disk.
    #[command(flatten)]
    pub(super) history: HistoryArgs,
    /// How the page is served.
    #[command(flatten)]
    pub(super) listen: ListenArgs,
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
    /// What is kept on disk.
    #[command(flatten)]
    pub(super) history: HistoryArgs,
    /// How the page is served.
    #[command(flatten)]
    pub(super) listen: ListenArgs,
}

/// Arguments of `watch`.
#[derive(Clone, Debug, Args)]
pub(super) struct WatchArgs {
    /// Resources to watch: pods, deploy, certificates.cert-manager.io, deployments.v1.apps
    #[arg(
        value_name = "RESOURCE",
        required_unless_present = "from",
        value_delimiter = ','
    )]
    pub(super) resources: Vec<String>,
    /// Write what recordings hold, instead of watching; a folder stands for all in it
    #[arg(
        long,
        env = "WATCHSCOPE_FROM",
        value_name = "FILE|FOLDER",
        num_args = 1..,
        conflicts_with_all = ["resources", "for_duration"]
    )]
    pub(super) from: Vec<PathBuf>,
    /// Which log, if the recordings are of several
    #[arg(long, env = "WATCHSCOPE_LOG", value_name = "NAME", requires = "from")]
    pub(super) log: Option<String>,
    /// Whose findings to write: those recorded, or those of a diagnosis that runs anew, and how the two compare
    #[arg(
        long,
        env = "WATCHSCOPE_JUDGE",
        value_name = "recorded|again",
        value_enum,
        default_value_t = Judge::Recorded,
        hide_possible_values = true,
        requires = "from",
        conflicts_with = "resources"
    )]
    pub(super) judge: Judge,
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
    /// For how long, and what.
    #[command(flatten)]
    pub(super) follow: FollowArgs,
}

/// Arguments of `record`.
#[derive(Clone, Debug, Args)]
pub(super) struct RecordArgs {
    /// Resources to watch: pods, deploy, certificates.cert-manager.io, deployments.v1.apps
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',')]
    pub(super) resources: Vec<String>,
    /// File to write, by custom with the ending .wscope; it must not be there yet
    #[arg(short, long, env = "WATCHSCOPE_OUT", value_name = "FILE")]
    pub(super) out: PathBuf,
    /// Record the objects too, without values of Secrets and whatever else is redacted
    #[arg(long, env = "WATCHSCOPE_BODIES")]
    pub(super) bodies: bool,
    /// For how long, and what.
    #[command(flatten)]
    pub(super) follow: FollowArgs,
}

/// What `watch` and `record` follow, and for how long.
#[derive(Clone, Debug, Args)]
pub(super) struct FollowArgs {
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

/// Whose findings of a recording are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Judge {
    /// Those that are recorded.
    Recorded,
    /// Those of a diagnosis that runs anew.
    Again,
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

#[cfg(test)]
mod tests;
