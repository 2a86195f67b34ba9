//! Kubernetes Event objects, in which controllers record their actions.

use std::time::Duration;

use serde_json::json;

use super::context::{CONTROLLER_MANAGER, Context};
use super::task::Name;
use crate::json::text;
use crate::object::Object;

/// How long an Event object is kept before it is deleted (the default of kube-apiserver's `--event-ttl`, 1.31).
pub(super) const EVENT_LIFETIME: Duration = Duration::from_secs(3600);

/// Records an action of `component` on `object`, as an Event object of type Normal.
pub(super) fn normal(
    object: &Object,
    reason: &str,
    message: &str,
    component: &str,
    ctx: &mut Context<'_>,
) {
    let now = ctx.timestamp();
    let value = object.value();
    let namespace = match object.namespace() {
        "" => "default",
        namespace => namespace,
    };
    // The name ends in the time in nanoseconds, as client-go's recorder makes it. The attempt is added to keep it
    // unique.
    let mut name = Name::new(namespace, "");
    for attempt in 0u64.. {
        let nanos = (ctx.wall.epoch_us.unsigned_abs() + ctx.now.as_micros()) * 1000 + attempt;
        name.name = format!("{}.{nanos:x}", object.name());
        if ctx.get("events", &name).is_none() {
            break;
        }
    }
    let event = json!({
        "metadata": {"name": name.name},
        "involvedObject": {
            "kind": text(value, &["kind"]),
            "namespace": object.namespace(),
            "name": object.name(),
            "uid": object.uid(),
            "apiVersion": text(value, &["apiVersion"]),
            "resourceVersion": text(value, &["metadata", "resourceVersion"]),
        },
        "reason": reason,
        "message": message,
        "source": {"component": component},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "type": "Normal",
        "eventTime": null,
        "reportingComponent": component,
        "reportingInstance": "",
    });
    let manager = match component {
        "default-scheduler" => "kube-scheduler",
        "kubelet" => "kubelet",
        _ => CONTROLLER_MANAGER,
    };
    ctx.create("events", namespace, event, manager);
}
