//! The job controller, which creates pods until enough pods of the job have succeeded.

use serde_json::{Value, json};

use super::context::{CONTROLLER_MANAGER, Context};
use super::deployments::{pod_from_template, set_condition};
use super::recorder;
use super::task::Name;
use crate::json::{number, remove, set, set_default, text};
use crate::manager::Manager;

/// The most pods of one job that run at a time, even if the job requests more; further pods start as running pods end.
/// This bounds the memory of a world whose client requests too many pods. The number has no source.
const MOST_PARALLEL: i64 = 500;

/// Creates the pods that a job still needs, and writes the job's status.
pub(super) fn reconcile(name: &Name, ctx: &mut Context<'_>) {
    let Some(job) = ctx.get("jobs.batch", name) else {
        return;
    };
    if job.is_terminating() || !text(job.value(), &["status", "completionTime"]).is_empty() {
        return;
    }
    let pods = ctx.owned("pods", &job);
    let of_phase = |wanted: &[&str]| {
        let found = pods
            .iter()
            .filter(|p| wanted.contains(&text(p.value(), &["status", "phase"])));
        i64::try_from(found.count()).unwrap_or(i64::MAX)
    };
    let succeeded = of_phase(&["Succeeded"]);
    let mut active = of_phase(&["Pending", "Running"]);
    let wanted = number(job.value(), &["spec", "completions"]).unwrap_or(1);
    let parallel = number(job.value(), &["spec", "parallelism"])
        .unwrap_or(1)
        .min(MOST_PARALLEL);
    while active < parallel && active + succeeded < wanted {
        let pod = pod_from_template(&job);
        let Some(pod) = ctx.create("pods", &name.namespace, pod, CONTROLLER_MANAGER) else {
            break;
        };
        let message = format!("Created pod: {}", pod.name());
        recorder::normal(&job, "SuccessfulCreate", &message, "job-controller", ctx);
        active += 1;
    }
    let now = ctx.timestamp();
    let complete = succeeded >= wanted;
    let written = ctx.modify(
        "jobs.batch",
        name,
        &Manager::status(CONTROLLER_MANAGER),
        |value| {
            write_status(value, active, succeeded, complete, &now);
        },
    );
    if let Some(job) = written.filter(|_| complete) {
        recorder::normal(&job, "Completed", "Job completed", "job-controller", ctx);
    }
}

fn write_status(value: &mut Value, active: i64, succeeded: i64, complete: bool, now: &str) {
    set_default(value, &["status", "startTime"], json!(now));
    for (key, count) in [("active", active), ("succeeded", succeeded)] {
        if count > 0 {
            set(value, &["status", key], json!(count));
        } else {
            remove(value, &["status", key]);
        }
    }
    if complete {
        set(value, &["status", "completionTime"], json!(now));
        set_condition(
            value,
            "Complete",
            true,
            "CompletionsReached",
            "Reached expected number of succeeded pods",
            now,
        );
    }
}
