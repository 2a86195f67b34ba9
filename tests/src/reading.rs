//! watchscope in this process, from a server's socket into the log, as benchmarks measure it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::sync::watch;
use watchscope::cluster::{ConfigLookup, ConfigSource};
use watchscope::follow::Following;
use watchscope::history::{Archive, History, HistoryConfig};
use watchscope::log::{LogConfig, LogHandle, Read, Since};
use watchscope::probes::{AUDIT_LOOKS, AuditLevel, Settings, Wishes};
use watchscope::recordings::HostDisk;
use watchscope::transport::Protocols;
use watchscope::upstream::Servers;
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Entry, Event, Record, ResourceVersion};
use watchscope_probe::ProbeConfig;

/// The server, the resources and the options of a measured reading.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// The cluster: an address on loopback ([`at`]), or the cluster of a [`kubeconfig`].
    pub source: ConfigSource,
    /// The resources to watch.
    pub resources: &'a [String],
    /// Whether only metadata is requested.
    pub metadata_only: bool,
    /// The HTTP versions that may be used.
    pub protocols: Protocols,
    /// The history to keep; `None`: no history.
    pub history: Option<Kept<'a>>,
}

/// The history to keep.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// Whether bodies are kept too.
    pub with_bodies: bool,
}

/// Returns the source of a cluster at a URL such as `http://127.0.0.1:PORT`.
///
/// # Errors
/// If the URL cannot be parsed.
pub fn at(url: &str) -> Result<ConfigSource> {
    Ok(ConfigSource::Url(url.parse()?))
}

/// Returns the source of the cluster of a kubeconfig's current context.
#[must_use]
pub fn kubeconfig(path: &Path) -> ConfigSource {
    ConfigSource::Lookup(ConfigLookup {
        kubeconfig: Some(path.to_owned()),
        ..ConfigLookup::default()
    })
}

/// Begins a history of a log, with the command line's default sizes and age: 1 GiB, 1 GiB of bodies, 7 days.
///
/// # Errors
/// If the folder cannot be used.
pub async fn begin_history(kept: Kept<'_>, log: &LogHandle) -> Result<History> {
    let config = HistoryConfig {
        folder: kept.folder.to_owned(),
        size_bytes: 1 << 30,
        bodies_bytes: kept.with_bodies.then_some(1 << 30),
        age: Duration::from_secs(7 * 86_400),
    };
    let told = watch::Sender::default();
    let (disk, archive) = (Arc::new(HostDisk), Archive::new(Arc::new(HostDisk)));
    Ok(History::begin(config, disk, b"bench".to_vec(), log, archive, told).await?)
}

impl Reading<'_> {
    /// Reads until `events` live events are in the log, without audit: through transport, probe, redaction, log and
    /// body ring. A reader of the log passes each record to `see`. Returns the last event's resourceVersion.
    ///
    /// # Errors
    /// If the server cannot be watched, or the reader did not keep up with the log.
    pub async fn until(&self, events: u64, mut see: impl FnMut(Record)) -> Result<ResourceVersion> {
        let log = LogHandle::open(LogConfig::new("bench".into()))?;
        let all = "*".to_owned();
        let settings = Settings {
            audit: AuditLevel::Off,
            audit_looks: AUDIT_LOOKS,
            wishes: Wishes {
                resources: self.resources.to_vec(),
                is_all_namespaces: true,
                ..Wishes::default()
            },
            label_selector: None,
            field_selector: None,
            metadata_only: self.metadata_only.then_some(all).into_iter().collect(),
            probe: ProbeConfig::default(),
            servers: Servers::Any,
            protocols: self.protocols,
        };
        let mut reader = log.reader(Since::First);
        let history = match self.history {
            Some(kept) => Some(begin_history(kept, &log).await?),
            None => None,
        };
        let config = self.source.load()?;
        let _following = Following::start(&self.source, config, settings, log.clone()).await?;
        let mut had = 0;
        loop {
            match reader.next().await.context("the log ended")? {
                Read::Loss { from, to } => bail!("records {from} to {to} are lost"),
                Read::Entries(entries) => {
                    for entry in entries {
                        let Entry::Record(record) = entry else {
                            continue;
                        };
                        let last = match &record.event {
                            Event::Change(change) if change.origin == Origin::Live => {
                                had += 1;
                                (had == events).then(|| change.resource_version.clone())
                            }
                            _ => None,
                        };
                        see(record);
                        if let Some(last) = last {
                            if let Some(history) = history {
                                log.close().await;
                                history.finished().await;
                            }
                            return Ok(last);
                        }
                    }
                }
            }
        }
    }
}
