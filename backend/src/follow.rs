//! Following one cluster: starts its watches and its audit, and ends them in order.
//!
//! Watches and audit know nothing of each other. They share the log, the stop flag and the connections to each apiserver.

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

/// The most reads of the audit that wait for a reader: one read and one second watch, for each server that may be watched and for
/// the configured address.
const MOST_READS: usize = 2 * (MAX_SERVERS_EVER + 1);

/// A running set of watches on one cluster, with its audit. Dropping it aborts both; [`Following::stop`] ends them in order.
pub struct Following {
    stop: watch::Sender<bool>,
    managing: JoinHandle<WatchManager>,
    auditing: JoinSet<()>,
    pools: Pools,
}

impl Following {
    /// Opens the audit, then starts the wanted watches. Discovery has 3 s; wishes that it cannot resolve by then are
    /// resolved later.
    ///
    /// # Errors
    /// If discovery answered, and a wanted name is not that of one resource that can be watched.
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
        // The audit opens before the first watch, so that it sees every record of each watch.
        let auditor = Auditor::new(settings.audit).looking_at(settings.audit_looks);
        // If the log is closed, the process is ending, and no audit is needed.
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

    /// Stops watches and audit, then closes their connections. When this returns, the log has their last records.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if let Ok(manager) = self.managing.await {
            manager.ended().await;
        }
        while self.auditing.join_next().await.is_some() {}
        self.pools.close().await;
    }
}
