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
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use watchscope_diagnosis::audit::Auditor;
pub use watchscope_diagnosis::audit::Level as AuditLevel;
use watchscope_model::event::{ClusterConnected, Event};
use watchscope_model::{Text, WatchName};
use watchscope_probe::{Probe, ProbeConfig, Served, WatchSpec};

use self::connections::Connections;
use self::driver::Driver;
use self::plan::builtin_catalog;
pub use self::plan::{DEFAULT_RESOURCES, Plan, Planned, Wishes};
use crate::audit::Reader;
use crate::cluster::{
    Catalog, Client, Cluster, ClusterConfig, ConfigSource, Discovery, ResolveError,
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
    /// Which HTTP may be spoken with the cluster.
    pub protocols: Protocols,
    /// How much of what the watches hold is compared with etcd without being asked.
    pub audit: AuditLevel,
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
        let connections = Connections::new(Arc::clone(&cluster), log.clone());
        // Before the first watch, so that the audit sees all of each. A log that is closed ends the process.
        let reads = log.audit(Auditor::new(settings.audit)).await.ok();
        let client = Arc::new(Client::new(Arc::clone(&cluster)));
        let discovery = Arc::new(Discovery::new(Arc::clone(&client)));
        let (stop, stopped) = watch::channel(false);
        let mut minder = Minder {
            name,
            namespace,
            cluster,
            connections,
            client,
            discovery,
            settings,
            log,
            running: JoinSet::new(),
            started: BTreeSet::new(),
            waiting: BTreeMap::new(),
            version: None,
            is_discovered: false,
            stopped,
        };
        if let Some(reads) = reads {
            let reader = Reader::new(reads, Arc::clone(&minder.connections), minder.log.clone());
            minder.running.spawn(reader.run(minder.stopped.clone()));
        }
        let first = async {
            minder.greet().await;
            minder.discover().await
        };
        match timeout(FIRST_DISCOVERY, first).await {
            Ok(Some(catalog)) => minder.start_all(&catalog, true)?,
            Ok(None) | Err(_) => minder.start_all(&builtin_catalog(), false)?,
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
            minder.connections.close().await;
        }
    }
}

/// A name that is "not found yet".
struct Waiting {
    watch: WatchName,
    withdraw: watch::Sender<bool>,
}

struct Minder {
    name: Text,
    namespace: String,
    cluster: Arc<Cluster>,
    connections: Arc<Connections>,
    client: Arc<Client>,
    discovery: Arc<Discovery>,
    settings: Settings,
    log: LogHandle,
    running: JoinSet<()>,
    /// What is watched.
    started: BTreeSet<WatchName>,
    /// Names, as typed, that stood for nothing yet: each is watched as "not found yet" until it does.
    waiting: BTreeMap<String, Waiting>,
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
            let next = match (is_known, self.settings.wishes.is_everything) {
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
            if (!self.is_discovered || self.settings.wishes.is_everything)
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
            .map(|planned| self.name_of(planned))
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
            };
            self.start(&planned, Some(served), None);
        }
        for name in unknown {
            if !self.waiting.contains_key(&name) {
                let planned = self.settings.wishes.not_found_yet(&name, &self.namespace);
                let watch = self.name_of(&planned);
                let (withdraw, withdrawn) = watch::channel(false);
                self.start(&planned, None, Some(withdrawn));
                self.waiting.insert(name, Waiting { watch, withdraw });
            }
        }
        Ok(())
    }

    /// Ends the watches of names that were "not found yet" and now stand for something else. One that turned out to
    /// have the right name goes on: its probe finds its resource by itself.
    fn withdraw_known(&mut self, unknown: &[String], found: &BTreeSet<WatchName>) {
        let started = &mut self.started;
        self.waiting.retain(|typed, waiting| {
            if unknown.contains(typed) {
                return true;
            }
            if !found.contains(&waiting.watch) {
                started.remove(&waiting.watch);
                waiting.withdraw.send_replace(true);
            }
            false
        });
    }

    fn name_of(&self, planned: &Planned) -> WatchName {
        WatchName::new(
            &planned.namespace_name,
            &planned.resource.plural,
            &planned.resource.group,
            self.settings.label_selector.as_deref(),
            self.settings.field_selector.as_deref(),
            1,
        )
    }

    fn start(
        &mut self,
        planned: &Planned,
        served: Option<Served>,
        withdrawn: Option<watch::Receiver<bool>>,
    ) {
        let settings = &self.settings;
        let name = self.name_of(planned);
        if self.started.contains(&name) {
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
            Arc::clone(&self.connections),
            Arc::clone(&self.discovery),
        );
        self.started.insert(name);
        self.running
            .spawn(driver.run(self.stopped.clone(), withdrawn));
    }
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
