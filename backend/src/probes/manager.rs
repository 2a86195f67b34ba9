//! The manager of one cluster's watches: finds out which are wanted, and starts and ends a task for each.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use watchscope_model::event::{ClusterConnected, Event};
use watchscope_model::{Text, WatchName};
use watchscope_probe::{Probe, Served, WatchSpec};

use super::driver::Driver;
use super::plan::{Planned, builtin_catalog};
use super::settings::Settings;
use crate::cluster::{Catalog, Client, Cluster, Discovery, ResolveError, apiservers};
use crate::log::LogHandle;
use crate::stop::stopped;
use crate::upstream::Servers;
use crate::upstream::connections::Connections;
use crate::upstream::servers::{MAX_SERVERS_EVER, Pools};

/// How long the first discovery may hold up the page. A cluster that does not answer by then is watched all the same.
const FIRST_DISCOVERY: Duration = Duration::from_secs(3);

/// The wait before the manager looks again for what is not known yet: the first, doubled up to the last.
const LOOK_AGAIN_AFTER: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(60);

/// How often the manager asks a cluster that is well known for its version.
const LOOK_KNOWN_EVERY: Duration = Duration::from_secs(300);

/// How often it does where every resource is wanted, or every apiserver: a new one stays unseen at most this long.
const LOOK_EVERYTHING_EVERY: Duration = Duration::from_secs(30);

/// Most watches of one cluster; more are not started, and a warning says so.
const MAX_WATCHES: usize = 1_000;

/// Why watching cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A name that discovery does not know.
    #[error(transparent)]
    Resource(#[from] ResolveError),
}

/// An apiserver, or any, with watches and connections of its own. Its place among the others is its watches' ordinal.
struct Server {
    address: Option<SocketAddr>,
    /// It is there, as far as is known.
    is_wanted: bool,
    connections: Arc<Connections>,
}

/// The manager of one cluster's watches. Dropping it aborts them.
pub(crate) struct WatchManager {
    /// The cluster's name in the log.
    name: Text,
    /// The context's namespace at the start; credentials that are read anew do not move the watches.
    namespace: String,
    cluster: Arc<Cluster>,
    servers: Vec<Server>,
    /// Why it is not known which there are, as it was logged last.
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
    /// The uid of the cluster's namespace `kube-system`, once it could be read.
    uid: Option<String>,
    is_discovered: bool,
    stopped: watch::Receiver<bool>,
}

impl WatchManager {
    /// A manager without watches; `pools` takes the connections of each apiserver as it is found.
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        pools: Pools,
        settings: Settings,
        log: LogHandle,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        let config = cluster.config();
        let name = config.context.as_deref().unwrap_or(&config.cluster).into();
        let client = Arc::new(Client::new(Arc::clone(&cluster)));
        let discovery = Arc::new(Discovery::new(Arc::clone(&client)));
        Self {
            name,
            namespace: config.namespace.clone(),
            cluster,
            servers: Vec::new(),
            unknown_servers: None,
            pools,
            client,
            discovery,
            settings,
            log,
            running: JoinSet::new(),
            started: BTreeMap::new(),
            waiting: BTreeMap::new(),
            version: None,
            uid: None,
            is_discovered: false,
            stopped,
        }
    }

    /// Starts the watches that are wanted, as far as the cluster is known after at most [`FIRST_DISCOVERY`].
    ///
    /// # Errors
    /// If discovery answered without a resource that is wanted.
    pub(crate) async fn begin(&mut self) -> Result<(), StartError> {
        let first = async {
            self.look_for_servers().await;
            self.greet().await;
            self.discover().await
        };
        let catalog = timeout(FIRST_DISCOVERY, first).await.ok().flatten();
        if self.servers.is_empty() {
            // Until it is known which there are, and for as long as that cannot be known.
            self.serve_by(None);
        }
        match catalog {
            Some(catalog) => self.start_all(&catalog, true),
            None => self.start_all(&builtin_catalog(), false),
        }
    }

    /// Returns when all watches have ended, their last records in the log; after the manager was stopped.
    pub(crate) async fn ended(mut self) {
        while self.running.join_next().await.is_some() {}
    }

    /// Looks again for what is not known, until stopped.
    pub(crate) async fn run(mut self) -> Self {
        let mut wait = *LOOK_AGAIN_AFTER.start();
        let mut stop = self.stopped.clone();
        loop {
            let is_known = self.version.is_some() && self.is_discovered;
            let is_everything =
                self.settings.wishes.is_everything || self.settings.servers == Servers::All;
            let next = match (is_known, is_everything) {
                (false, _) => wait,
                (true, true) => LOOK_EVERYTHING_EVERY,
                (true, false) => LOOK_KNOWN_EVERY,
            };
            tokio::select! {
                () = stopped(&mut stop) => return self,
                () = tokio::time::sleep(next) => {}
            }
            wait = (wait * 2).min(*LOOK_AGAIN_AFTER.end());
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

    /// Asks the cluster for its version and for the uid by which it differs from another, and logs them when one is news.
    async fn greet(&mut self) {
        let version = match self.client.version().await {
            Ok(version) => version.git_version,
            Err(error) => {
                tracing::info!("the cluster does not say its version: {error}");
                return;
            }
        };
        let uid = match self.client.cluster_uid().await {
            Ok(uid) => Some(uid),
            // Many may not read it; what a refusal says stands in no log.
            Err(_) => self.uid.clone(),
        };
        if self.version.as_ref() == Some(&version) && self.uid == uid {
            return;
        }
        let endpoint = self.cluster.config().endpoint.to_string();
        let event = ClusterConnected {
            cluster: self.name.clone(),
            server: endpoint.as_str().into(),
            version: version.as_str().into(),
            uid: uid.as_deref().map(Text::from),
        };
        (self.version, self.uid) = (Some(version), uid);
        let _ = self.log.append(Event::from(event)).await;
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

    /// Starts a watch by each apiserver that is wanted, where none is started yet.
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
