//! One cluster followed: starts its watches and its audit, and ends them in order.
//!
//! Watches and audit know nothing of each other. They share the connections to each apiserver, the log and the flag that
//! stops them.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use watchscope_diagnosis::audit::Auditor;

use crate::audit::Readers;
use crate::cluster::{Cluster, ClusterConfig, ConfigSource};
use crate::log::LogHandle;
use crate::probes::{Settings, StartError, WatchManager};
use crate::transport::DialLimits;
use crate::upstream::servers::{MAX_SERVERS_EVER, Pools};

/// Reads of the audit that wait to be carried out: one for each server that may be watched, and a second watch.
const MOST_READS: usize = 2 * (MAX_SERVERS_EVER + 1);

/// A cluster that is followed. Dropping it aborts its watches and its audit; [`Following::stop`] ends them in order.
pub struct Following {
    stop: watch::Sender<bool>,
    managing: JoinHandle<WatchManager>,
    auditing: JoinSet<()>,
    pools: Pools,
}

impl Following {
    /// Opens the audit, then starts the watches that are wanted, as far as the cluster is known within 3 s.
    ///
    /// # Errors
    /// If discovery answered without a resource that is wanted.
    pub async fn start(
        source: &ConfigSource,
        config: ClusterConfig,
        settings: Settings,
        log: LogHandle,
    ) -> Result<Self, StartError> {
        let limits = DialLimits::default();
        let cluster = Arc::new(Cluster::new(source, config, settings.protocols, limits));
        let pools = Pools::default();
        let (stop, stopped) = watch::channel(false);
        let mut auditing = JoinSet::new();
        // Before the first watch, so that the audit sees all records of each.
        let auditor = Auditor::new(settings.audit).looking_at(settings.audit_looks);
        // A log that is closed ends the process.
        if let Ok(reads) = log.audit(auditor, MOST_READS).await {
            let readers = Readers::new(reads, pools.clone(), log.clone());
            auditing.spawn(readers.run(stopped.clone()));
        }
        let mut manager = WatchManager::new(cluster, pools.clone(), settings, log, stopped);
        manager.begin().await?;
        Ok(Self {
            stop,
            managing: tokio::spawn(manager.run()),
            auditing,
            pools,
        })
    }

    /// Stops watches and audit, then closes their connections; all last records are in the log when this returns.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if let Ok(manager) = self.managing.await {
            manager.ended().await;
        }
        while self.auditing.join_next().await.is_some() {}
        self.pools.close().await;
    }
}
