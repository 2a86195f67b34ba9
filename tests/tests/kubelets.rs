//! A substitute for kubelets beside real controllers: it reports that nodes are ready and that pods run.

use std::time::Duration;

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use watchscope_model::Time;

use crate::claims::now_ms;
use crate::writer::Writer;

/// The interval between two looks at all pods.
const ROUND: Duration = Duration::from_millis(500);
/// The interval between two heartbeats of a node. The controllers consider a node lost after 50 s without one.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The kubelets of some nodes.
#[derive(Debug)]
pub(crate) struct Kubelets {
    nodes: Vec<String>,
}

impl Kubelets {
    /// Registers nodes that are ready, with room for 110 pods each.
    pub(crate) async fn register(writer: &Writer, nodes: usize) -> Result<Self> {
        let nodes: Vec<String> = (1..=nodes).map(|n| format!("node-{n}")).collect();
        for name in &nodes {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
            writer
                .write(Method::POST, "/api/v1/nodes", Some(&node))
                .await?;
            let room = json!({"cpu": "8", "memory": "16Gi", "pods": "110"});
            let status = json!({"status": {
                "capacity": room, "allocatable": room, "conditions": [ready()],
            }});
            let path = format!("/api/v1/nodes/{name}/status");
            writer.write(Method::PATCH, &path, Some(&status)).await?;
        }
        Ok(Self { nodes })
    }

    /// Acts for the kubelets until the future is dropped. A request may fail, because the apiserver is away or the pod
    /// is gone; a later round repeats it.
    pub(crate) async fn run(&self, writer: &Writer) {
        let mut heartbeat_at = Instant::now();
        loop {
            if Instant::now() >= heartbeat_at {
                heartbeat_at += HEARTBEAT;
                for name in &self.nodes {
                    let status = json!({"status": {"conditions": [ready()]}});
                    let path = format!("/api/v1/nodes/{name}/status");
                    let _ = writer.write(Method::PATCH, &path, Some(&status)).await;
                }
            }
            let _ = self.look_at_pods(writer).await;
            sleep(ROUND).await;
        }
    }

    /// Makes pending pods of these nodes run, and deletes those that have a deletion timestamp.
    async fn look_at_pods(&self, writer: &Writer) -> Result<()> {
        let (_, pods) = writer.ask(Method::GET, "/api/v1/pods", None, None).await?;
        for pod in pods["items"].as_array().context("a list")? {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            if !self.nodes.iter().any(|name| name == node) {
                continue;
            }
            let (namespace, name) = (&pod["metadata"]["namespace"], &pod["metadata"]["name"]);
            let path = format!(
                "/api/v1/namespaces/{}/pods/{}",
                namespace.as_str().context("a pod has a namespace")?,
                name.as_str().context("a pod has a name")?
            );
            if pod["metadata"]["deletionTimestamp"].is_string() {
                let now = format!("{path}?gracePeriodSeconds=0");
                writer.ask(Method::DELETE, &now, None, None).await?;
            } else if pod["status"]["phase"] == "Pending" {
                let status = json!({"status": {
                    "phase": "Running", "startTime": now(), "podIP": "10.1.0.1",
                    "conditions": [holds("Ready", "PodReady"), holds("ContainersReady", "PodReady")],
                }});
                let path = format!("{path}/status");
                writer
                    .ask(Method::PATCH, &path, Some(&status), None)
                    .await?;
            }
        }
        Ok(())
    }
}

/// Returns the condition of a node that is ready.
fn ready() -> Value {
    let mut condition = holds("Ready", "KubeletReady");
    condition["lastHeartbeatTime"] = now().into();
    condition
}

/// Returns a condition that holds from now on.
fn holds(kind: &str, reason: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now()})
}

/// Returns this moment in whole seconds, as Kubernetes writes it.
fn now() -> String {
    let now = Time(now_ms() * 1_000).to_string();
    // Times of pods and nodes have no fraction.
    let seconds = now.split_once('.').map_or(&*now, |(seconds, _)| seconds);
    format!("{seconds}Z")
}
