//! The watches of one cluster: which are wanted, one task for each, and what they need in common.
//!
//! ```text
//!   words ──plan──► watches ──► Driver (one task each) ──► log
//!                      ▲
//!      discovery, /version ── minder: what was not known at the start is looked for again
//! ```

pub(crate) mod connections;
mod driver;
pub(crate) mod message;
mod plan;
pub(crate) mod servers;
mod turns;
mod unread;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use watchscope_diagnosis::audit::Auditor;
pub use watchscope_diagnosis::audit::{AT_ONCE as AUDIT_LOOKS, Level as AuditLevel};
use watchscope_model::event::{ClusterConnected, Event};
use watchscope_model::{Text, WatchName};
use watchscope_probe::{Probe, ProbeConfig, Served, WatchSpec};

use self::connections::Connections;
use self::driver::Driver;
use self::plan::builtin_catalog;
pub use self::plan::{DEFAULT_RESOURCES, Plan, Planned, Wishes};
use self::servers::Pools;
pub use self::servers::{Servers, ServersError};
use crate::audit::Readers;
use crate::cluster::{
    Catalog, Client, Cluster, ClusterConfig, ConfigSource, Discovery, ResolveError, apiservers,
};
use crate::log::LogHandle;
use crate::stop::stopped;
use crate::transport::{DialLimits, Protocols};

/// How long the first discovery may hold up the page. A cluster that does not answer by then is watched all the same.
const FIRST_DISCOVERY: Duration = Duration::from_secs(3);

/// How often the minder looks for what is not known yet: the first wait, doubled up to the last.
const MIND_EVERY: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(60);

/// How often the minder asks a cluster that is well known for its version.
const MIND_KNOWN_EVERY: Duration = Duration::from_secs(300);

/// The same where every resource is wanted: so long may a new one stay unseen.
const MIND_EVERYTHING_EVERY: Duration = Duration::from_secs(30);

/// Most watches of one cluster; more are not started, and a warning says so.
const MAX_WATCHES: usize = 1_000;

/// Most apiservers that are watched one by one in the life of a process; a cluster whose masters are replaced again and
/// again needs a new start then.
const MAX_SERVERS_EVER: usize = 64;

/// Reads of the audit that wait to be carried out: one for each server that may be watched, and a second watch.
const MOST_READS: usize = 2 * (MAX_SERVERS_EVER + 1);

/// What all watches have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is wanted.
    pub wishes: Wishes,
    /// Label selector of all watches.
    pub label_selector: Option<String>,
    /// Field selector of all watches.
    pub field_selector: Option<String>,
    /// Resources watched by metadata only: names as typed, or `*`.
    pub metadata_only: Vec<String>,
    /// How to watch.
    pub probe: ProbeConfig,
    /// Which apiservers.
    pub servers: Servers,
    /// Which HTTP may be spoken with the cluster.
    pub protocols: Protocols,
    /// How much of what the watches hold is compared with etcd without being asked.
    pub audit: AuditLevel,
    /// Most objects of a watch that are each looked up for one who asks whether all is so.
    pub audit_looks: usize,
}

/// The watches of one cluster. Dropping it aborts them; [`Watches::stop`] ends them in order.
pub struct Watches {
    stop: watch::Sender<bool>,
    minding: tokio::task::JoinHandle<Minder>,
}

/// Why watching cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A name that discovery does not know.
    #[error(transparent)]
    Resource(#[from] ResolveError),
}

impl Watches {
    /// Starts to watch what is wanted of a cluster, as far as it is known after at most [`FIRST_DISCOVERY`].
    ///
    /// # Errors
    /// If discovery answered without a resource that is wanted.
    pub async fn start(
        source: &ConfigSource,
        config: ClusterConfig,
        settings: Settings,
        log: LogHandle,
    ) -> Result<Self, StartError> {
        let name: Text = config.context.as_deref().unwrap_or(&config.cluster).into();
        let namespace = config.namespace.clone();
        let cluster = Arc::new(Cluster::new(
            source,
            config,
            settings.protocols,
            DialLimits::default(),
        ));
        // Before the first watch, so that the audit sees all of each. A log that is closed ends the process.
        let reads = log
            .audit(
                Auditor::new(settings.audit).looking_at(settings.audit_looks),
                MOST_READS,
            )
            .await
            .ok();
        let client = Arc::new(Client::new(Arc::clone(&cluster)));
        let discovery = Arc::new(Discovery::new(Arc::clone(&client)));
        let (stop, stopped) = watch::channel(false);
        let mut minder = Minder {
            name,
            namespace,
            cluster,
            servers: Vec::new(),
            unknown_servers: None,
            pools: Pools::default(),
            client,
            discovery,
            settings,
            log,
            running: JoinSet::new(),
            started: BTreeMap::new(),
            waiting: BTreeMap::new(),
            version: None,
            is_discovered: false,
            stopped,
        };
        if let Some(reads) = reads {
            let readers = Readers::new(reads, minder.pools.clone(), minder.log.clone());
            minder.running.spawn(readers.run(minder.stopped.clone()));
        }
        let first = async {
            minder.look_for_servers().await;
            minder.greet().await;
            minder.discover().await
        };
        let catalog = timeout(FIRST_DISCOVERY, first).await.ok().flatten();
        if minder.servers.is_empty() {
            // Until it is known which there are, and for as long as that cannot be known.
            minder.serve_by(None);
        }
        match catalog {
            Some(catalog) => minder.start_all(&catalog, true)?,
            None => minder.start_all(&builtin_catalog(), false)?,
        }
        Ok(Self {
            stop,
            minding: tokio::spawn(minder.mind()),
        })
    }

    /// Stops all watches in order; their last records are in the log when this returns.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Ok(mut minder) = self.minding.await {
            while minder.running.join_next().await.is_some() {}
            for server in &minder.servers {
                server.connections.close().await;
            }
        }
    }
}

/// An apiserver, or any, with watches and connections of its own. Its place among the others is its watches' ordinal.
struct Server {
    address: Option<SocketAddr>,
    /// It is there, as far as is known.
    is_wanted: bool,
    connections: Arc<Connections>,
}

struct Minder {
    name: Text,
    namespace: String,
    cluster: Arc<Cluster>,
    servers: Vec<Server>,
    /// Why it is not known which there are, as it was told.
    unknown_servers: Option<String>,
    /// The connections of [`Self::servers`].
    pools: Pools,
    client: Arc<Client>,
    discovery: Arc<Discovery>,
    settings: Settings,
    log: LogHandle,
    running: JoinSet<()>,
    /// What is watched, and how to end it.
    started: BTreeMap<WatchName, watch::Sender<bool>>,
    /// Names, as typed, that stood for nothing yet: each is watched as "not found yet" until it does, as this.
    waiting: BTreeMap<String, Planned>,
    version: Option<String>,
    is_discovered: bool,
    stopped: watch::Receiver<bool>,
}

impl Minder {
    /// Looks again for what is not known, until stopped.
    async fn mind(mut self) -> Self {
        let mut wait = *MIND_EVERY.start();
        let mut stop = self.stopped.clone();
        loop {
            let is_known = self.version.is_some() && self.is_discovered;
            let is_everything =
                self.settings.wishes.is_everything || self.settings.servers == Servers::All;
            let next = match (is_known, is_everything) {
                (false, _) => wait,
                (true, true) => MIND_EVERYTHING_EVERY,
                (true, false) => MIND_KNOWN_EVERY,
            };
            tokio::select! {
                () = stopped(&mut stop) => return self,
                () = tokio::time::sleep(next) => {}
            }
            wait = (wait * 2).min(*MIND_EVERY.end());
            self.greet().await;
            let has_news = self.look_for_servers().await;
            if (has_news || !self.is_discovered || self.settings.wishes.is_everything)
                && let Some(catalog) = self.discover().await
                && let Err(error) = self.start_all(&catalog, false)
            {
                tracing::warn!("{error}");
            }
        }
    }

    /// Asks the cluster who it is, and tells the log when that is news.
    async fn greet(&mut self) {
        match self.client.version().await {
            Ok(version) if self.version.as_ref() != Some(&version.git_version) => {
                let endpoint = self.cluster.config().endpoint.to_string();
                let event = ClusterConnected {
                    cluster: self.name.clone(),
                    server: endpoint.as_str().into(),
                    version: version.git_version.as_str().into(),
                };
                self.version = Some(version.git_version);
                let _ = self.log.append(Event::from(event)).await;
            }
            Ok(_) => {}
            Err(error) => tracing::info!("the cluster does not say its version: {error}"),
        }
    }

    /// Finds out which apiservers are wanted now; whether that has changed.
    async fn look_for_servers(&mut self) -> bool {
        let wanted = match &self.settings.servers {
            Servers::Any => return false,
            Servers::These(these) => these.clone(),
            Servers::All => match apiservers(&self.client).await {
                Ok(found) => {
                    self.unknown_servers = None;
                    found
                }
                Err(error) => {
                    let why = error.to_string();
                    if self.unknown_servers.as_ref() != Some(&why) {
                        tracing::warn!(
                            "which apiservers there are is not known, and is asked again: {why}"
                        );
                        self.unknown_servers = Some(why);
                    }
                    return false;
                }
            },
        };
        let mut has_news = false;
        for index in 0..self.servers.len() {
            let server = &mut self.servers[index];
            let Some(address) = server.address else {
                continue;
            };
            let is_wanted = wanted.contains(&address);
            if server.is_wanted != is_wanted {
                server.is_wanted = is_wanted;
                has_news = true;
                if is_wanted {
                    tracing::info!("the apiserver at {address} is there again");
                } else {
                    tracing::info!("there is no apiserver at {address} any more");
                    self.withdraw(|_, ordinal| ordinal == ordinal_of(index));
                }
            }
        }
        for address in wanted {
            let is_new = self
                .servers
                .iter()
                .all(|server| server.address != Some(address));
            if is_new && self.servers.len() < MAX_SERVERS_EVER {
                self.serve_by(Some(address));
                has_news = true;
            }
        }
        has_news
    }

    /// Watches by one more apiserver, or by any.
    fn serve_by(&mut self, address: Option<SocketAddr>) {
        let connections = Connections::new(Arc::clone(&self.cluster), address, self.log.clone());
        self.pools.push(Arc::clone(&connections));
        self.servers.push(Server {
            address,
            is_wanted: true,
            connections,
        });
    }

    /// Ends watches, by what they are of and their ordinal.
    fn withdraw(&mut self, is_over: impl Fn(&str, u32) -> bool) {
        self.started.retain(|watch, withdraw| {
            let (what, ordinal) = watch.what_and_ordinal();
            let goes_on = !is_over(what, ordinal);
            if !goes_on {
                withdraw.send_replace(true);
            }
            goes_on
        });
    }

    async fn discover(&mut self) -> Option<Arc<Catalog>> {
        match self.discovery.refresh(Duration::ZERO).await {
            Ok(catalog) => {
                for failure in &catalog.failures {
                    tracing::warn!("a part of the API does not say what it serves: {failure}");
                }
                self.is_discovered = catalog.failures.is_empty();
                Some(catalog)
            }
            Err(error) => {
                tracing::info!("{error}");
                None
            }
        }
    }

    /// Starts what is wanted and not yet watched. With `is_strict`, a name that stands for nothing is an error;
    /// without, it is watched as "not found yet".
    fn start_all(&mut self, catalog: &Catalog, is_strict: bool) -> Result<(), StartError> {
        let plan = self.settings.wishes.plan(catalog, &self.namespace);
        for error in &plan.unresolved {
            if is_strict && !error.is_undecided() {
                return Err(StartError::Resource(error.clone()));
            }
        }
        let found: BTreeSet<WatchName> = plan
            .watches
            .iter()
            .map(|planned| self.name_of(planned, 1))
            .collect();
        for error in &plan.unresolved {
            if !matches!(error, ResolveError::Unknown { .. }) {
                tracing::warn!("{error}");
            }
        }
        let unknown: Vec<String> = plan
            .unresolved
            .into_iter()
            .filter_map(|error| match error {
                ResolveError::Unknown { name, .. } => Some(name),
                ResolveError::Ambiguous { .. } | ResolveError::NotWatchable { .. } => None,
            })
            .collect();
        self.withdraw_known(&unknown, &found);
        for planned in plan.watches {
            let served = Served {
                version: planned.resource.version.as_str().into(),
                kind: planned.resource.kind.as_str().into(),
                is_aggregated: planned.resource.is_aggregated,
            };
            self.start(&planned, Some(&served));
        }
        for name in unknown {
            let planned = self.settings.wishes.not_found_yet(&name, &self.namespace);
            self.start(&planned, None);
            self.waiting.insert(name, planned);
        }
        Ok(())
    }

    /// Ends the watches of names that were "not found yet" and now stand for something else. One that turned out to
    /// have the right name goes on: its probe finds its resource by itself.
    fn withdraw_known(&mut self, unknown: &[String], found: &BTreeSet<WatchName>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|typed, planned| {
            let is_unknown = unknown.contains(typed);
            let name = self.name_of(planned, 1);
            if !is_unknown && !found.contains(&name) {
                self.withdraw(|what, _| what == name.as_str());
            }
            is_unknown
        });
        self.waiting = waiting;
    }

    fn name_of(&self, planned: &Planned, ordinal: u32) -> WatchName {
        WatchName::new(
            &planned.namespace_name,
            &planned.resource.plural,
            &planned.resource.group,
            self.settings.label_selector.as_deref(),
            self.settings.field_selector.as_deref(),
            ordinal,
        )
    }

    /// Watches by each apiserver that is wanted, unless that is so already.
    fn start(&mut self, planned: &Planned, served: Option<&Served>) {
        for index in 0..self.servers.len() {
            if self.servers[index].is_wanted {
                self.start_by(index, planned, served.cloned());
            }
        }
    }

    fn start_by(&mut self, index: usize, planned: &Planned, served: Option<Served>) {
        let settings = &self.settings;
        let server = &self.servers[index];
        let name = self.name_of(planned, ordinal_of(index));
        if self.started.contains_key(&name) {
            return;
        }
        if self.started.len() >= MAX_WATCHES {
            tracing::warn!("{name} is not watched: {MAX_WATCHES} watches are open already");
            return;
        }
        let text = |text: &Option<String>| text.as_deref().map(Text::from);
        let spec = WatchSpec {
            name: name.clone(),
            group: planned.resource.group.as_str().into(),
            resource: planned.resource.plural.as_str().into(),
            served,
            namespace: text(&planned.namespace),
            label_selector: text(&settings.label_selector),
            field_selector: text(&settings.field_selector),
            server: server.address.map(|address| address.to_string().into()),
        };
        let mut config = settings.probe.clone();
        config.metadata_only = settings.is_metadata_only(&planned.resource);
        let probe = Probe::new(spec, config, random_seed());
        let resource = (
            planned.resource.group.clone(),
            planned.resource.plural.clone(),
        );
        let driver = Driver::new(
            probe,
            resource,
            self.log.clone(),
            Arc::clone(&server.connections),
            Arc::clone(&self.discovery),
        );
        let (withdraw, withdrawn) = watch::channel(false);
        self.started.insert(name, withdraw);
        self.running
            .spawn(driver.run(self.stopped.clone(), withdrawn));
    }
}

/// The ordinal of the watches by the apiserver in this place.
fn ordinal_of(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// A seed for a probe's jitter: watchscopes that start together must not retry together.
fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness the seed is 0: the jitter then only spreads the tries of one watch.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

impl Settings {
    fn is_metadata_only(&self, resource: &crate::cluster::Resource) -> bool {
        let is_named = |name: &String| {
            let lower = name.to_ascii_lowercase();
            lower == "*"
                || lower == resource.plural
                || lower == resource.singular
                || lower == resource.full_name()
                || resource.short_names.contains(&lower)
        };
        self.metadata_only.iter().any(is_named)
    }
}
