//! Which pod of a namespace runs watchscope, from the JSON of `kubectl get pods`.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The label of the pods of `deploy/watchscope.yaml`.
pub(super) const LABEL: &str = "app.kubernetes.io/name=watchscope";

/// Returns the name of the pod to open, of those that run and are not being deleted. A ready one comes before the others;
/// then the first name decides.
///
/// # Errors
/// See [`NoPod`].
pub(super) fn running(json: &[u8]) -> Result<String, NoPod> {
    let list: PodList = serde_json::from_slice(json).map_err(NoPod::Unreadable)?;
    let pods = list.items.iter();
    let running = pods.filter(|pod| pod.runs());
    let best = running.min_by_key(|pod| (!pod.is_ready(), &pod.metadata.name));
    if let Some(pod) = best {
        return Ok(pod.metadata.name.clone());
    }
    let pods = list.items.into_iter();
    let first = pods.map(|pod| pod.metadata.name).min();
    Err(match first {
        Some(name) => NoPod::NotRunning { name },
        None => NoPod::None,
    })
}

/// Why there is no pod to open.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPod {
    /// No pod has the label.
    #[error("there is no pod with the label {LABEL}")]
    None,
    /// Pods have the label, and none of them runs.
    #[error("pod {name} does not run")]
    NotRunning {
        /// The first of them by name.
        name: String,
    },
    /// The list is no list of pods.
    #[error("kubectl wrote no list of pods: {0}")]
    Unreadable(serde_json::Error),
}

#[derive(Deserialize)]
struct PodList {
    items: Vec<Pod>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: PodPhase,
    #[serde(default)]
    conditions: Vec<Condition>,
}

/// The phase of a pod, as far as it matters here.
#[derive(Default, Deserialize)]
enum PodPhase {
    Running,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: ConditionType,
    status: Truth,
}

#[derive(Deserialize)]
enum ConditionType {
    Ready,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
enum Truth {
    True,
    #[serde(other)]
    Other,
}

impl Pod {
    fn runs(&self) -> bool {
        let is_deleted = self.metadata.deletion_timestamp.is_some();
        matches!(self.status.phase, PodPhase::Running) && !is_deleted
    }

    fn is_ready(&self) -> bool {
        let mut conditions = self.status.conditions.iter();
        conditions.any(|condition| {
            matches!(condition.kind, ConditionType::Ready)
                && matches!(condition.status, Truth::True)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, phase: &str, is_ready: bool) -> Value {
        let ready = if is_ready { "True" } else { "False" };
        json!({
            "kind": "Pod",
            "metadata": {"name": name, "labels": {}},
            "status": {"phase": phase, "conditions": [
                {"type": "Initialized", "status": "True"},
                {"type": "Ready", "status": ready},
            ]},
        })
    }

    fn chosen(items: &[Value]) -> Result<String, String> {
        let list = json!({"kind": "List", "items": items}).to_string();
        running(list.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_ready_pod_comes_before_one_that_only_runs_and_then_the_name_decides() {
        let (a, b, c) = ("Running", "Pending", "Failed");
        let pods = [
            pod("w-3", a, true),
            pod("w-2", a, true),
            pod("w-1", a, false),
        ];
        assert_eq!(chosen(&pods), Ok("w-2".to_owned()));
        let pods = [
            pod("w-1", b, false),
            pod("w-2", c, false),
            pod("w-3", a, false),
        ];
        assert_eq!(chosen(&pods), Ok("w-3".to_owned()));
    }

    #[test]
    fn a_pod_that_waits_or_is_being_deleted_does_not_run() {
        let mut deleted = pod("w-2", "Running", true);
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let bare = json!({"metadata": {"name": "w-1"}});
        let error = Err("pod w-1 does not run".to_owned());
        assert_eq!(chosen(&[deleted, bare]), error);
    }

    #[test]
    fn no_pod_is_another_error_than_no_list() {
        assert!(matches!(running(br#"{"items": []}"#), Err(NoPod::None)));
        for other in ["", "[]", r#"{"items": [{}]}"#] {
            let refused = running(other.as_bytes());
            assert!(matches!(refused, Err(NoPod::Unreadable(_))), "{other}");
        }
    }
}
