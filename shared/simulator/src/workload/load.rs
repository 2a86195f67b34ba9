//! The load: many configmaps that change often, for a picture with thousands of lanes.

use std::time::Duration;

use serde_json::json;

use super::context::Context;
use super::task::{Activity, Name, Task};
use crate::json::set;
use crate::manager::Manager;
use crate::registry::DeleteOptions;
use crate::settings::Load;

/// Time between two rounds of the load; the time varies by up to 5 %. A round makes the writes that became due in 20
/// ms. A shorter time means more events in the queue, a longer time larger bursts. The number has no source.
pub(super) const PERIOD: Duration = Duration::from_millis(20);
/// Of the writes of configmaps that exist, one in this number deletes its configmap, by chance. The next write of that
/// configmap creates it again. With this number some deletions show among many changes; it has no other source.
const WRITES_PER_DELETION: usize = 20;
/// The field manager of all writes of the load.
const MANAGER: &str = "load";

/// Creates the load's configmaps, and schedules the load's first round.
pub(super) fn begin(ctx: &mut Context<'_>) {
    let Some(load) = &ctx.config.load else {
        return;
    };
    if ctx
        .get("namespaces", &Name::new("", &load.namespace))
        .is_none()
    {
        let body = json!({"metadata": {"name": load.namespace}});
        ctx.create("namespaces", "", body, MANAGER);
    }
    for number in 0..load.objects {
        create(load, number as usize, ctx);
    }
    ctx.later(PERIOD, Task::Activity(Activity::Load));
}

/// Makes the writes of a round of the load.
pub(super) fn act(round: u64, ctx: &mut Context<'_>) {
    let Some(load) = &ctx.config.load else {
        return;
    };
    let millis = u64::try_from(PERIOD.as_millis()).unwrap_or(u64::MAX);
    let due = |round: u64| {
        let elapsed_ms = round.saturating_mul(millis);
        elapsed_ms.saturating_mul(u64::from(load.per_second)) / 1_000
    };
    for _ in due(round)..due(round + 1) {
        write(load, ctx);
    }
}

fn write(load: &Load, ctx: &mut Context<'_>) {
    let number = ctx.random.index(load.objects as usize);
    let name = Name::new(&load.namespace, &name_of(number));
    if ctx.get("configmaps", &name).is_none() {
        create(load, number, ctx);
    } else if ctx.random.index(WRITES_PER_DELETION) == 0 {
        ctx.delete("configmaps", &name, &DeleteOptions::default());
    } else {
        let value = ctx.random.between(0, 1_000_000).to_string();
        ctx.modify("configmaps", &name, &Manager::new(MANAGER), |object| {
            set(object, &["data", "value"], json!(value));
        });
    }
}

fn create(load: &Load, number: usize, ctx: &mut Context<'_>) {
    let body = json!({
        "metadata": {"name": name_of(number), "labels": {"app": "load"}},
        "data": {"value": "0"},
    });
    ctx.create("configmaps", &load.namespace, body, MANAGER);
}

fn name_of(number: usize) -> String {
    format!("load-{number}")
}
