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
    /// The wanted watches.
    pub wishes: Wishes,
    /// The label selector of all watches.
    pub label_selector: Option<String>,
    /// The field selector of all watches.
    pub field_selector: Option<String>,
    /// The resources that are watched by metadata only: names as typed, or `*`.
    pub metadata_only: Vec<String>,
    /// The probe's settings.
    pub probe: ProbeConfig,
    /// The apiservers that are watched.
    pub servers: Servers,
    /// The HTTP versions that may be used with the cluster.
    pub protocols: Protocols,
    /// How much of the watches' objects is compared with etcd without a request.
    pub audit: Level,
    /// The most objects of a watch that a requested comparison sweeps completely. Of a larger watch it looks up
    /// `AUDIT_LOOKS`.
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
