//! The command line. It follows kubectl's habits, and every flag is also a `WATCHSCOPE_…` variable.

mod cluster;
mod export;
mod history;
mod listen;
mod open;
mod recordings;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory as _, Parser, Subcommand, ValueEnum, ValueHint};

pub(super) use self::cluster::{
    AuditLevelArgs, ClusterArgs, EVERYTHING, KubeconfigArgs, MemoryArgs, Redact, SimulatedArgs,
    WhatArgs,
};
pub(super) use self::export::{ExportArgs, FormArg, HideArg};
use self::history::HistoryArgs;
pub(super) use self::listen::ListenArgs;
pub(super) use self::open::OpenArgs;
use self::recordings::RecordingsArgs;
use self::values::{duration, port};
use crate::web::listen::address;

/// The last paragraph of each help. It replaces a remark behind each option.
const PLACES: &str = "Every option is also a variable (--allow-host: WATCHSCOPE_ALLOW_HOST) and a line of the \
    configuration file (allow-host = \"NAME\"). A flag wins over the variable, the variable over the file.";

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
    /// The command to run.
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// The arguments without a command, which means `serve`.
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

/// The commands.
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
        "{}\n\nThe cluster and its faults run in real time, and are watched over real connections. Standard output \
         carries one line, the link to the page; standard error has the story's narration.\n\n{PLACES}",
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
         With --judge again diagnosis runs again over the records. Judgements that differ from the recorded ones are listed at the \
         end, with jsonl on standard error. Findings that rest on the audit's reads are taken as recorded. So are findings \
         that rest on records which the recording does not hold; they are listed separately.\n\n\
         {PLACES}"
    ))]
    Watch(WatchArgs),
    /// Write the log into a file, to be read later and elsewhere
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope record pods deploy -n shop -o incident.wscope --for 10m\n\
         \x20 watchscope watch --from incident.wscope -o jsonl | jq .type\n\n\
         The file can be read at every moment, also after a crash: a record waits at most about a second. \
         docs/recordings.md says what is in it. Values of Secrets are never in it.\n\n\
         {PLACES}"
    ))]
    Record(RecordArgs),
    /// Serve the page over recordings, without a cluster
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope replay incident.wscope\n\
         \x20 watchscope replay incident.wscope --judge again\n\
         \x20 watchscope replay /var/lib/watchscope   all that a history holds\n\n\
         The time on the page is that of the recording's last record. Standard output carries one line, the link to \
         the page.\n\n\
         With --judge again diagnosis runs again over the records, as `watchscope watch --help` says. A comparison of its \
         judgements with the recorded ones is written to standard error.\n\n\
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
    /// Compare what watches hold with etcd now: exit 0 clean, 3 diverged, 4 undecided
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope audit pods -n shop && echo clean\n\
         \x20 watchscope audit configmaps -A -o jsonl | jq .outcome\n\n\
         From Kubernetes 1.34 on a list may come from the apiserver's cache. Then each object is looked up in etcd, \
         at most 120 a minute in all: about 350 within the default of --for. A comparison that is not over by then \
         ends with 4, unless a difference was found.\n\n\
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
    /// Open the page of the watchscope in a cluster, through kubectl
    #[command(after_help = format!(
        "Examples:\n\
         \x20 watchscope open                       the one in the namespace watchscope\n\
         \x20 watchscope open -n team --port 9000   another one, on this port\n\n\
         kubectl forwards a port of 127.0.0.1 to the pod and asks watchscope there for a link: one use, ten \
         minutes. Standard output carries the link; the browser that is opened uses it. Ctrl-C ends the forwarding. \
         You need the verb list on pods, and create on pods/exec and pods/portforward.\n\n\
         --namespace and --port belong to one use: no variable and no line of the configuration file sets them. \
         {PLACES}"
    ))]
    Open(OpenArgs),
    /// Print a fresh link to the page of a running watchscope
    #[command(after_help = "A link is good for one use within ten minutes.\n\n\
         Examples:\n\
         \x20 kubectl -n watchscope exec deploy/watchscope -- watchscope token\n\
         \x20 watchscope token --url http://localhost:9000   another local port\n\
         \x20 watchscope token --revoke                      all other sessions end")]
    Token(TokenArgs),
    /// Explain a failure of the catalogue: how it looks, and what to do
    #[command(after_help = "Example:\n\
         \x20 watchscope explain F11")]
    Explain(ExplainArgs),
    /// Print the version, also of file formats and the protocol
    #[command(after_help = "Example:\n\
         \x20 watchscope version -o json | jq .recordingFormat")]
    Version(VersionArgs),
    /// Print the script with which a shell completes command lines by Tab
    #[command(
        after_help = "Each script asks watchscope at each Tab, so it fits later versions too. Put its line into the \
         file that the shell reads first:\n\n\
         \x20 bash        source <(watchscope completion bash)    ~/.bashrc\n\
         \x20 zsh         source <(watchscope completion zsh)     ~/.zshrc, after compinit\n\
         \x20 fish        watchscope completion fish | source     ~/.config/fish/config.fish\n\
         \x20 powershell  watchscope completion powershell | Out-String | Invoke-Expression\n\n\
         nushell reads a file, and kubectl runs one that is executable and on the PATH:\n\n\
         \x20 watchscope completion nushell > ~/.config/nushell/autoload/watchscope.nu\n\
         \x20 watchscope completion kubectl > ~/.local/bin/kubectl_complete-watchscope\n\n\
         The cluster has 500 ms to name its namespaces and resources. Its answer is kept for ten minutes in \
         $XDG_CACHE_HOME/watchscope. A credential plugin runs for it only with interactiveMode: Never."
    )]
    Completion(CompletionArgs),
    /// Print the manual page, or write those of all commands
    #[command(after_help = "Examples:\n\
         \x20 watchscope man | man -l -                             read it\n\
         \x20 watchscope man -o /usr/local/share/man/man1           install all of them")]
    Man(ManArgs),
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Write the pages of all commands into this folder
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(super) out: Option<PathBuf>,
}

/// Arguments of `completion`.
#[derive(Debug, Args)]
pub(super) struct CompletionArgs {
    /// bash, zsh, fish, powershell or nushell; or kubectl, for the plugin `kubectl watchscope`
    pub(super) shell: String,
}

/// Arguments of `version`.
#[derive(Debug, Args)]
pub(super) struct VersionArgs {
    /// How to write it: one line, or a JSON object with the commit and all versions
    #[arg(
        short,
        long,
        value_name = "text|json",
        value_enum,
        default_value_t = VersionOutput::Text,
        hide_possible_values = true
    )]
    pub(super) output: VersionOutput,
}

/// The form in which the version is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum VersionOutput {
    /// One line.
    Text,
    /// One JSON object.
    Json,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// The recordings to serve.
    #[command(flatten)]
    pub(super) recordings: RecordingsArgs,
    /// Findings to show: the recorded ones, or those of a new diagnosis
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

/// Returns the command line. Its help has [`PLACES`] and no variable behind each option.
pub(super) fn command_line() -> clap::Command {
    let hide = |option: Arg| option.hide_env(true);
    Cli::command()
        .mut_args(hide)
        .mut_subcommands(|command| command.mut_args(hide))
}

/// Returns the stories and faults, for a help.
fn stories() -> String {
    let stories = watchscope_scenarios::titles();
    let lines = stories.map(|(name, title)| format!("\n  {name:4}  {title}"));
    let faults = watchscope_scenarios::faults::help();
    let faults = faults.iter().map(|line| format!("\n  {line}"));
    format!(
        "Stories, by these names or codes (`watchscope explain F11` explains a code):{}\n\n\
         Faults for --fault, each with the default of its parameter; the default server is the first:{}",
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
    /// The cluster to connect to.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// How much is audited.
    #[command(flatten)]
    pub(super) audit: AuditLevelArgs,
    /// What to watch.
    #[command(flatten)]
    pub(super) what: WhatArgs,
    /// The history on disk.
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
    /// The memory of the log.
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
    /// The history on disk.
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
    /// Write the records of recordings instead of watching; a folder means all in it
    #[arg(
        long,
        env = "WATCHSCOPE_FROM",
        value_name = "FILE|FOLDER",
        num_args = 1..,
        conflicts_with_all = ["resources", "for_duration"]
    )]
    pub(super) from: Vec<PathBuf>,
    /// Log to read, if the recordings are of several
    #[arg(long, env = "WATCHSCOPE_LOG", value_name = "NAME", requires = "from")]
    pub(super) log: Option<String>,
    /// Findings to write: the recorded ones, or those of a new diagnosis and a comparison of the two
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
    /// What to follow, and for how long.
    #[command(flatten)]
    pub(super) follow: FollowArgs,
}

/// Arguments of `record`.
#[derive(Clone, Debug, Args)]
pub(super) struct RecordArgs {
    /// Resources to watch: pods, deploy, certificates.cert-manager.io, deployments.v1.apps
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',')]
    pub(super) resources: Vec<String>,
    /// File to write, usually with the ending .wscope; it must not exist yet
    #[arg(short, long, env = "WATCHSCOPE_OUT", value_name = "FILE")]
    pub(super) out: PathBuf,
    /// Record the objects too, without values of Secrets and whatever else is redacted
    #[arg(long, env = "WATCHSCOPE_BODIES")]
    pub(super) bodies: bool,
    /// What to follow, and for how long.
    #[command(flatten)]
    pub(super) follow: FollowArgs,
}

/// What `watch` and `record` follow, and for how long.
#[derive(Clone, Debug, Args)]
pub(super) struct FollowArgs {
    /// Stop after this long, such as 30s, 5m or 1h30m, counted from the start of the process
    #[arg(long = "for", env = "WATCHSCOPE_FOR", value_name = "DURATION", value_parser = duration)]
    pub(super) for_duration: Option<Duration>,
    /// The cluster to connect to.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// How much is audited.
    #[command(flatten)]
    pub(super) audit: AuditLevelArgs,
    /// What to watch.
    #[command(flatten)]
    pub(super) what: WhatArgs,
}

/// The form in which the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// One line of words for each record.
    Text,
    /// One JSON object for each record.
    Jsonl,
}

/// Which findings of a recording are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Judge {
    /// The recorded ones.
    Recorded,
    /// Those of a new diagnosis.
    Again,
}

/// Arguments of `audit`.
#[derive(Clone, Debug, Args)]
pub(super) struct AuditArgs {
    /// Resources to compare: pods, deploy, certificates.cert-manager.io, deployments.v1.apps
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',')]
    pub(super) resources: Vec<String>,
    /// How to write reads and verdicts: a line of words, or a JSON object, for each
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
    /// The cluster to connect to.
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
    /// Port of the instance, if several run
    #[arg(long, env = "WATCHSCOPE_LISTEN", value_name = "PORT", value_parser = port)]
    pub(super) listen: Option<u16>,
    /// Base of the link, if the instance is reached by another address than it listens on
    #[arg(long, env = "WATCHSCOPE_URL", value_name = "URL")]
    pub(super) url: Option<String>,
}

#[cfg(test)]
mod tests;
