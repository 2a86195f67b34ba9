//! Discovery in a simulated cluster, for a probe whose resource type is gone.

use watchscope_probe::Served;
use watchscope_simulator::Request;

use super::Run;

impl Run {
    /// Reads the discovery documents of the probe's API group, like a client without aggregated discovery. Returns the
    /// first version that serves the probe's resource; `None` if no version does.
    pub(super) fn discover(&mut self, index: usize) -> Option<Served> {
        let (group, plural) = self.clients[index].resource.clone();
        let versions = if group.is_empty() {
            vec!["/api/v1".to_owned()]
        } else {
            let answer = self
                .world
                .call(&Request::get(&format!("/apis/{group}")))
                .json();
            let versions = answer["versions"].as_array().cloned().unwrap_or_default();
            let path = |version: &serde_json::Value| {
                Some(format!("/apis/{}", version["groupVersion"].as_str()?))
            };
            versions.iter().filter_map(path).collect()
        };
        for path in versions {
            let answer = self.world.call(&Request::get(&path)).json();
            let resources = answer["resources"].as_array().cloned().unwrap_or_default();
            if let Some(found) = resources
                .iter()
                .find(|resource| resource["name"] == *plural)
            {
                let version = path.rsplit('/').next().unwrap_or_default();
                let kind = found["kind"].as_str().unwrap_or_default();
                return Some(Served {
                    version: version.into(),
                    kind: kind.into(),
                    is_aggregated: false,
                });
            }
        }
        None
    }
}
