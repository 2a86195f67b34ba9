//! The manager of one cluster's watches: it decides which are wanted, and starts and ends a task for each.

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

/// The most time that the first discovery may delay the page. If the cluster has not answered by then, it is watched all the
/// same.
const FIRST_DISCOVERY: Duration = Duration::from_secs(3);

/// The wait before the manager asks again for what it does not know yet. It starts at the first value and doubles up to the
/// last.
const LOOK_AGAIN_AFTER: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(60);

/// The interval at which the manager asks for the version of a cluster that it knows completely.
const LOOK_KNOWN_EVERY: Duration = Duration::from_secs(300);

/// The interval where every resource or every apiserver is wanted. A new one stays unseen for at most this time.
const LOOK_EVERYTHING_EVERY: Duration = Duration::from_secs(30);

/// The most watches of one cluster. Further ones are not started, with a warning.
const MAX_WATCHES: usize = 1_000;

/// Why the watches cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A wanted name is not that of one resource that can be watched.
    #[error(transparent)]
    Resource(#[from] ResolveError),
}

/// An apiserver, or the configured address, with watches and connections of its own. Its index is the ordinal of its watches
/// less one.
struct Server {
    address: Option<SocketAddr>,
    /// Whether it is there, as far as is known.
    is_wanted: bool,
    connections: Arc<Connections>,
}

/// The manager of one cluster's watches. Dropping it aborts them.
pub(crate) struct WatchManager {
    /// The cluster's name in the log.
    name: Text,
    /// The namespace of the context at the start. Credentials that are read again do not move the watches.
    namespace: String,
    cluster: Arc<Cluster>,
    servers: Vec<Server>,
    /// The last logged reason why the apiservers are not known.
    unknown_servers: Option<String>,
    /// The connections of [`Self::servers`].
    pools: Pools,
    client: Arc<Client>,
    discovery: Arc<Discovery>,
    settings: Settings,
    log: LogHandle,
    running: JoinSet<()>,
    /// The watches that were started, each with the sender that ends it.
    started: BTreeMap<WatchName, watch::Sender<bool>>,
    /// Names, as typed, that the cluster does not know yet. Each is watched as this "not found yet" watch until it does.
    waiting: BTreeMap<String, Planned>,
    version: Option<String>,
    /// The uid of the namespace `kube-system`, once it could be read.
    uid: Option<String>,
    is_discovered: bool,
    stopped: watch::Receiver<bool>,
}

impl WatchManager {
    /// Makes a manager without watches. It adds the connections of each apiserver that it finds to `pools`.
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

    /// Starts the wanted watches, as far as the cluster is known within [`FIRST_DISCOVERY`].
    ///
    /// # Errors
    /// If discovery answered, and a wanted name is not that of one resource that can be watched.
    pub(crate) async fn begin(&mut self) -> Result<(), StartError> {
        let first = async {
            self.look_for_servers().await;
            self.greet().await;
            self.discover().await
        };
        let catalog = timeout(FIRST_DISCOVERY, first).await.ok().flatten();
        if self.servers.is_empty() {
            // The configured address is watched until the apiservers are known, and if they cannot be known.
            self.serve_by(None);
        }
        match catalog {
            Some(catalog) => self.start_all(&catalog, true),
            None => self.start_all(&builtin_catalog(), false),
        }
    }

    /// Waits until all watches have ended and their last records are in the log. Call it after the manager was stopped.
    pub(crate) async fn ended(mut self) {
        while self.running.join_next().await.is_some() {}
    }

    /// Asks again, at intervals, for what is not known, until it is stopped.
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

    /// Asks the cluster for its version and uid, and logs them if one has changed. The uid distinguishes it from other
    /// clusters.
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
            // Many accounts may not read the uid. The text of a refusal does not go into the log.
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

    /// Finds the wanted apiservers. Returns whether they have changed.
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
                            "the apiservers are not known, and watchscope asks again: {why}"
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

    /// Adds an apiserver with this address, or without one the configured address.
    fn serve_by(&mut self, address: Option<SocketAddr>) {
        let connections = Connections::new(Arc::clone(&self.cluster), address, self.log.clone());
        self.pools.push(Arc::clone(&connections));
        self.servers.push(Server {
            address,
            is_wanted: true,
            connections,
        });
    }

    /// Ends the watches for which `is_over` returns true, given the watch's name without its ordinal, and the ordinal.
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

    /// Starts the wanted watches that do not run yet. A name that the cluster does not serve is an error if `is_strict`;
    /// else it is watched as "not found yet".
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

    /// Ends the "not found yet" watches of names that turned out to mean another resource. If the name was right, its watch
    /// continues: its probe finds the resource by itself.
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

    /// Starts a watch at each wanted apiserver that has none of this name yet.
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

/// The ordinal of the watches at the apiserver with this index.
fn ordinal_of(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// Returns a random seed for a probe's jitter, so that watchscopes that start together do not retry together.
fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    // Without random bytes the seed is 0. Then the jitter only spreads the retries of one watch.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}
