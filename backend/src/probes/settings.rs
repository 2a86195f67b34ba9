//! The settings that all watches of a cluster share.

use watchscope_diagnosis::audit::Level;
use watchscope_probe::ProbeConfig;

use super::plan::Wishes;
use crate::cluster::Resource;
use crate::transport::Protocols;
use crate::upstream::Servers;

/// The settings that all watches share.
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
    pub audit: Level,
    /// Most objects of a watch that a request to compare it sweeps completely; of a larger one it looks up `AUDIT_LOOKS`.
    pub audit_looks: usize,
}

impl Settings {
    /// Whether a resource is watched by metadata only.
    pub(super) fn is_metadata_only(&self, resource: &Resource) -> bool {
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
