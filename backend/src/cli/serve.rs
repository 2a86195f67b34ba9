//! `watchscope serve` and `watchscope demo`: watch a cluster into the log, and serve the page over the log.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use watchscope_log::SealPace;
use watchscope_model::event::Note;
use watchscope_model::vocabulary::Author;
use watchscope_model::wire::Contexts;
use watchscope_model::{Event, Object, Text, Uid, WatchName};
use watchscope_probe::ProbeConfig;
use watchscope_scenarios::{Line, WorldRecord};

use super::args::{ClusterArgs, DemoArgs, Redact, ServeArgs, WhatArgs};
use super::exit::Failure;
use super::page::Plan;
use super::signals::{limits_are_errors, stop_flag};
use super::simulate::script;
use crate::cluster::{ClusterConfig, ConfigError, ConfigLookup, ConfigSource, Environment};
use crate::demo::{Demo, DemoOutput};
use crate::follow::Following;
use crate::history::{Archive, History, HistoryConfig, HistoryState, PlaceError};
use crate::hub::{CommandRequest, LogHub};
use crate::log::{CompareRequest, LogClosed, LogConfig, LogHandle};
use crate::probes::{AUDIT_LOOKS, AuditLevel, Settings, StartError, Wishes};
use crate::recordings::HostDisk;
use crate::stop::stopped;
use crate::transport::Protocols;
use crate::upstream::Servers;
use crate::web::EmbeddedPage;

/// The time for watches and viewers to end in order.
const GOODBYE: Duration = Duration::from_secs(5);
/// The time for the history to write its last records. Together with [`GOODBYE`] it fits in a pod's grace period.
const LAST_WRITES: Duration = Duration::from_secs(8);

/// Watches a cluster and serves the page.
pub(super) async fn serve(args: ServeArgs, page: EmbeddedPage) -> Result<(), Failure> {
    let plan = Plan::of(args.listen, page)?;
    limits_are_errors().map_err(Failure::failed)?;
    let source = lookup(&args.cluster);
    let settings = Settings {
        audit: args.audit.into(),
        ..settings(
            &args.what,
            &args.cluster,
            args.resources,
            args.all_resources,
        )
    };
    let memory = args.what.memory.bytes;
    let mut keep = Keep::new(args.history.config());
    let (log, choice, is_in_cluster) = match source.load() {
        Ok(config) => {
            let log = open_log(&name_of(&config), memory, SealPace::FOR_VIEWERS)?;
            let is_in_cluster = config.is_in_cluster;
            keep.begin(config.identity(), &log)
                .await
                .map_err(Failure::failed)?;
            let watches = start(&source, config, settings.clone(), &log).await?;
            (log, Choice::Made(watches), is_in_cluster)
        }
        Err(error) => {
            let contexts = choices(&error).ok_or_else(|| Failure::failed(error))?;
            (
                open_log("kubeconfig", memory, SealPace::FOR_VIEWERS)?,
                Choice::Open(contexts),
                false,
            )
        }
    };
    let what = What {
        log,
        choice,
        source,
        settings,
        keep,
    };
    run(what, plan, is_in_cluster, None).await
}

/// Like [`serve`], on a simulated cluster.
pub(super) async fn demo(args: DemoArgs, page: EmbeddedPage) -> Result<(), Failure> {
    let plan = Plan::of(args.listen, page)?;
    limits_are_errors().map_err(Failure::failed)?;
    let seed = args.cluster.seed;
    let script = script(args.cluster)?;
    let some = |text: &String| (!text.is_empty()).then(|| text.clone());
    let view = &script.story.view;
    let settings = Settings {
        wishes: Wishes {
            resources: view.resources.clone(),
            namespace: some(&view.namespace),
            is_all_namespaces: view.namespace.is_empty(),
            ..Wishes::default()
        },
        label_selector: some(&view.label_selector),
        field_selector: None,
        metadata_only: Vec::new(),
        probe: ProbeConfig::default(),
        servers: Servers::Any,
        // Most stories cut the connection of one watch at a time. This is clearest if each watch has its own.
        protocols: if args.http2 || view.http2 {
            Protocols::Http2
        } else {
            Protocols::Http1
        },
        audit: args.audit.into(),
        audit_looks: AUDIT_LOOKS,
    };
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .map_err(Failure::failed)?;
    let mut demo =
        Demo::start_with_inside_records(script, seed, listener).map_err(Failure::failed)?;
    let url: Uri = format!("http://{}", demo.address)
        .parse()
        .map_err(Failure::failed)?;
    let source = ConfigSource::Url(url);
    let mut config = source.load().map_err(Failure::failed)?;
    "simulated".clone_into(&mut config.cluster);
    let log = open_log("demo", args.memory.bytes, SealPace::FOR_VIEWERS)?;
    let mut keep = Keep::new(args.history.config());
    // The cluster's address differs with each start, so it cannot identify the history.
    let identity = b"demo".to_vec();
    keep.begin(identity, &log).await.map_err(Failure::failed)?;
    let watches = start(&source, config, settings.clone(), &log).await?;
    let outputs = std::mem::replace(&mut demo.outputs, mpsc::channel(1).1);
    let what = What {
        log,
        choice: Choice::Made(watches),
        source,
        settings,
        keep,
    };
    run(what, plan, false, Some(outputs)).await
}

/// Whether there is a cluster to watch yet.
enum Choice {
    Made(Following),
    Open(Contexts),
}

/// Everything that is served.
struct What {
    log: LogHandle,
    choice: Choice,
    source: ConfigSource,
    settings: Settings,
    keep: Keep,
}

/// The history: its settings, and what is being kept.
struct Keep {
    config: Option<HistoryConfig>,
    history: Option<History>,
    state: watch::Sender<Option<HistoryState>>,
    archive: Archive,
}

impl Keep {
    fn new(config: Option<HistoryConfig>) -> Self {
        Self {
            config,
            history: None,
            state: watch::Sender::default(),
            archive: Archive::new(Arc::new(HostDisk)),
        }
    }

    /// Begins the history, if one was requested.
    async fn begin(&mut self, identity: Vec<u8>, log: &LogHandle) -> Result<(), PlaceError> {
        if let Some(config) = self.config.clone() {
            let (disk, state) = (Arc::new(HostDisk), self.state.clone());
            let archive = self.archive.clone();
            let history = History::begin(config, disk, identity, log, archive, state).await?;
            self.history = Some(history);
        }
        Ok(())
    }
}

async fn run(
    what: What,
    plan: Plan,
    is_in_cluster: bool,
    outputs: Option<mpsc::Receiver<DemoOutput>>,
) -> Result<(), Failure> {
    let What {
        log,
        choice,
        source,
        settings,
        keep,
    } = what;
    let stop = stop_flag().map_err(Failure::failed)?;
    let page = plan.open().await?;
    let history = keep.state.subscribe();
    let (hub, commands) = LogHub::new(log.clone(), env!("CARGO_PKG_VERSION"));
    let hub = hub.with_history(history.clone(), Arc::new(keep.archive.clone()));
    let watches = match choice {
        Choice::Made(watches) => Some(watches),
        Choice::Open(contexts) => {
            hub.set_contexts(Some(contexts));
            None
        }
    };
    let keeper = Keeper {
        log: log.clone(),
        hub: hub.clone(),
        source,
        settings,
        watches,
        keep,
    };
    let (end, ending) = watch::channel(false);
    let keeping = tokio::spawn(keeper.keep(commands, stop.clone(), end));
    if let Some(outputs) = outputs {
        tokio::spawn(write_down(outputs, log.clone()));
    }
    let page = page.run(hub, log, history, is_in_cluster, stop, ending);
    page.await?;
    // The viewers have gone, but the history may still write its last file.
    keeping.await.map_err(Failure::failed)
}

/// Owns the watches. It starts them when a context is chosen, and ends everything in order.
struct Keeper {
    log: LogHandle,
    hub: LogHub,
    source: ConfigSource,
    settings: Settings,
    watches: Option<Following>,
    keep: Keep,
}

impl Keeper {
    async fn keep(
        mut self,
        mut commands: mpsc::Receiver<CommandRequest>,
        mut stop: watch::Receiver<bool>,
        end: watch::Sender<bool>,
    ) {
        loop {
            tokio::select! {
                () = stopped(&mut stop) => break,
                Some(command) = commands.recv() => {
                    if &*command.verb == "audit" {
                        // A comparison may take minutes. It must not delay other commands.
                        tokio::spawn(compare(self.log.clone(), command));
                        continue;
                    }
                    let done = self.carry_out(&command.verb, &command.argument).await;
                    // A viewer that has gone needs no answer.
                    let _ = command.reply.send(done.map(|()| None));
                }
            }
        }
        // The watches end first, so that viewers get their last records before the goodbye.
        if let Some(watches) = self.watches.take() {
            let _ = tokio::time::timeout(GOODBYE, watches.stop()).await;
        }
        self.log.close().await;
        self.hub.go_away();
        end.send_replace(true);
        if let Some(history) = self.keep.history.take()
            && tokio::time::timeout(LAST_WRITES, history.finished())
                .await
                .is_err()
        {
            tracing::warn!("the history's disk did not take its last records in {LAST_WRITES:?}");
        }
    }

    async fn carry_out(&mut self, verb: &str, argument: &str) -> Result<(), String> {
        match verb {
            "use-context" if self.watches.is_none() => {
                let mut source = self.source.clone();
                if let ConfigSource::Lookup(lookup) = &mut source {
                    lookup.context = Some(argument.to_owned());
                }
                let config = source.load().map_err(|error| error.to_string())?;
                let identity = config.identity();
                let started =
                    Following::start(&source, config, self.settings.clone(), self.log.clone())
                        .await;
                let watches = started.map_err(|error| error.to_string())?;
                // The history begins after the watches: if this context cannot be used, another one is chosen.
                if let Err(error) = self.keep.begin(identity, &self.log).await {
                    watches.stop().await;
                    return Err(error.to_string());
                }
                self.watches = Some(watches);
                self.hub.set_contexts(None);
                Ok(())
            }
            "use-context" => {
                Err("a context is in use already; start watchscope again for another".to_owned())
            }
            _ => Err(format!(
                "this watchscope does not know the command {verb:?}"
            )),
        }
    }
}

/// Has the audit compare what the command names. Answers when the comparison is over; stops if the viewer has gone.
async fn compare(log: LogHandle, command: CommandRequest) {
    let CommandRequest {
        argument,
        mut reply,
        ..
    } = command;
    let asked = audit_wish(&argument);
    let named = asked.watch.as_ref().map_or("any", WatchName::as_str);
    let done = match log.ask_audit(asked.clone()).await {
        Ok(true) => tokio::select! {
            over = log.audited(asked) => over.map(Some).map_err(|error| error.to_string()),
            () = reply.closed() => return,
        },
        Ok(false) => Err(format!("there is no watch {named:?} to compare")),
        Err(error) => Err(error.to_string()),
    };
    // A viewer that has gone needs no answer.
    let _ = reply.send(done);
}

/// Reads the argument of the command `audit`. It is empty for all watches, or names a watch and, in a second line, an object
/// of it (`NAMESPACE/NAME`, or `NAME` without namespaces).
fn audit_wish(argument: &str) -> CompareRequest {
    let mut lines = argument.lines();
    let watch = lines.next().filter(|name| !name.is_empty());
    let object = lines.next().map(|place| {
        let (namespace, name) = match place.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, place),
        };
        Arc::new(Object {
            namespace: namespace.map(Into::into),
            name: name.into(),
            uid: Uid::parse(""),
        })
    });
    CompareRequest {
        watch: watch.map(WatchName::from),
        object,
    }
}

/// Writes the outputs of a simulated cluster into the log, and the narrator's lines to standard error too.
async fn write_down(mut outputs: mpsc::Receiver<DemoOutput>, log: LogHandle) {
    while let Some(output) = outputs.recv().await {
        let written = match output {
            DemoOutput::Line(line) => narrate(line, &log).await,
            DemoOutput::Records(records) => append_records(records, &log).await,
        };
        if written.is_err() {
            return;
        }
    }
}

async fn narrate(Line { text, watch, over }: Line, log: &LogHandle) -> Result<(), LogClosed> {
    tracing::info!("{text}");
    let note = Note {
        watch,
        over: over.then_some(true),
        ..Note::new(Author::Story, text)
    };
    log.append(Event::from(note)).await
}

/// Appends runs of one kind together, all in order.
async fn append_records(records: Vec<WorldRecord>, log: &LogHandle) -> Result<(), LogClosed> {
    let mut records = records.into_iter().peekable();
    while records.peek().is_some() {
        let (mut events, mut inside) = (Vec::new(), Vec::new());
        while let Some(WorldRecord::Inside(next)) =
            records.next_if(|next| matches!(next, WorldRecord::Inside(_)))
        {
            inside.push(next);
        }
        while let Some(WorldRecord::Event(next)) =
            records.next_if(|next| matches!(next, WorldRecord::Event(_)))
        {
            events.push(next);
        }
        if !inside.is_empty() {
            log.append_inside(inside).await?;
        }
        if !events.is_empty() {
            log.append(events).await?;
        }
    }
    Ok(())
}

/// The source of the configuration.
pub(super) fn lookup(args: &ClusterArgs) -> ConfigSource {
    ConfigSource::Lookup(ConfigLookup {
        kubeconfig: args.config.kubeconfig.clone(),
        context: args.config.context.clone(),
        environment: Environment::from_process(),
    })
}

/// Returns the settings that all watches share. The audit is off.
pub(super) fn settings(
    what: &WhatArgs,
    cluster: &ClusterArgs,
    resources: Vec<String>,
    is_everything: bool,
) -> Settings {
    let mut probe = ProbeConfig {
        watch_list: what.watch_list,
        redact_configmaps: what.redact.contains(&Redact::Configmaps),
        ..ProbeConfig::default()
    };
    if let Some(timeout) = what.watch_timeout {
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
        probe.watch_timeout_s = seconds..=seconds;
    }
    Settings {
        wishes: Wishes {
            resources,
            is_everything,
            namespace: what.namespace.clone(),
            is_all_namespaces: what.all_namespaces,
        },
        label_selector: what.selector.clone(),
        field_selector: what.field_selector.clone(),
        metadata_only: what.metadata_only.clone(),
        probe,
        servers: what.servers.clone(),
        protocols: if cluster.http1 {
            Protocols::Http1
        } else {
            Protocols::Negotiated
        },
        audit: AuditLevel::Off,
        audit_looks: AUDIT_LOOKS,
    }
}

/// Opens the log of a cluster with `memory` bytes: two sevenths for records, five for bodies. Segments are sealed at this
/// pace.
pub(super) fn open_log(cluster: &str, memory: u64, pace: SealPace) -> Result<LogHandle, Failure> {
    let name: String = cluster
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let mut config = LogConfig::new(name.as_str().into());
    config.ring_bytes = memory / 7 * 2;
    config.body_bytes = memory / 7 * 5;
    config.pace = pace;
    LogHandle::open(config).map_err(Failure::failed)
}

/// Starts the watches. A resource that does not exist is wrong usage.
pub(super) async fn start(
    source: &ConfigSource,
    config: ClusterConfig,
    settings: Settings,
    log: &LogHandle,
) -> Result<Following, Failure> {
    let started = Following::start(source, config, settings, log.clone()).await;
    started.map_err(|StartError::Resource(error)| Failure::usage(error))
}

/// The name of a cluster's log.
pub(super) fn name_of(config: &ClusterConfig) -> String {
    config
        .context
        .clone()
        .unwrap_or_else(|| config.cluster.clone())
}

/// Returns the contexts to choose from, if the error is that none was chosen.
fn choices(error: &ConfigError) -> Option<Contexts> {
    let contexts = error.contexts();
    (!contexts.is_empty()).then(|| Contexts {
        names: contexts
            .iter()
            .map(|context| Text::from(context.name.as_str()))
            .collect(),
        reason: error.reason(),
    })
}
