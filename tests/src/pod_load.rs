//! Pods of a real apiserver, to measure their bodies: 500 pods of ten templates. Each is created and then started in
//! five writes of its status. What is written is always the same; uids and times come from the server.

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt as _};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::KubeCluster;

/// The number of pods.
pub const PODS: usize = 500;
/// The number of status writes for each pod.
pub const STATUSES: usize = 5;
/// The namespace of the pods.
const NAMESPACE: &str = "shop";

/// The part of a pod that differs between templates.
struct Template {
    app: &'static str,
    port: u16,
    sidecars: [&'static str; 2],
}

/// The templates; pods take them in turn.
const TEMPLATES: [Template; 10] = [
    template("checkout", 8080, ["envoy", "fluent-bit"]),
    template("payments", 9443, ["envoy", "vault-agent"]),
    template("search-indexer", 7070, ["cache-warmer", "fluent-bit"]),
    template("session-cache", 6379, ["exporter", "backup"]),
    template("image-resizer", 8081, ["envoy", "temp-cleaner"]),
    template("recommendations", 50051, ["envoy", "model-loader"]),
    template("order-processor", 8888, ["kafka-proxy", "fluent-bit"]),
    template("token-issuer", 8443, ["vault-agent", "exporter"]),
    template("report-builder", 3000, ["cloud-sql-proxy", "fluent-bit"]),
    template("gateway", 80, ["certificate-reloader", "exporter"]),
];

const fn template(app: &'static str, port: u16, sidecars: [&'static str; 2]) -> Template {
    Template {
        app,
        port,
        sidecars,
    }
}

/// A pod made from a template.
struct Planned {
    template: &'static Template,
    name: String,
    ip: String,
    node: usize,
    random: ChaCha8Rng,
}

/// Creates all pods, then starts them step by step: each step writes the status of all pods, one write after the other.
///
/// # Errors
/// If the server refuses a write.
pub async fn start_pods(cluster: &KubeCluster) -> Result<()> {
    let pods = Pods::create(cluster, PODS).await?;
    for step in 0..STATUSES {
        for pod in 0..PODS {
            pods.write_status(pod, step).await?;
        }
    }
    Ok(())
}

/// Pods of a cluster, whose statuses can be written.
pub struct Pods {
    api: Api<Pod>,
    planned: Vec<Planned>,
}

impl Pods {
    /// Creates this many pods.
    ///
    /// # Errors
    /// If the server refuses one.
    pub async fn create(cluster: &KubeCluster, count: usize) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        let api: Api<Pod> = Api::namespaced(Client::try_from(config)?, NAMESPACE);
        let planned: Vec<Planned> = (0..count).map(Planned::new).collect();
        let by = PostParams {
            field_manager: Some("kube-controller-manager".to_owned()),
            ..PostParams::default()
        };
        for pod in &planned {
            let pod: Pod = serde_json::from_value(pod.object())?;
            api.create(&by, &pod).await.context("a pod is created")?;
        }
        Ok(Self { api, planned })
    }

    /// Writes the status of a pod after a step, below [`STATUSES`]. Returns the new resourceVersion.
    ///
    /// # Errors
    /// If the server refuses it.
    pub async fn write_status(&self, pod: usize, step: usize) -> Result<u64> {
        let pod = &self.planned[pod];
        let by = PatchParams {
            field_manager: Some("kubelet".to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({"status": pod.status(step)}));
        let written = self.api.patch_status(&pod.name, &by, &patch).await;
        let version = written.context("a status is written")?.resource_version();
        Ok(version.context("a resourceVersion")?.parse()?)
    }
}

/// Creates the namespace of the pods.
///
/// # Errors
/// If the server refuses it.
pub async fn make_namespace(cluster: &KubeCluster) -> Result<()> {
    let create = ["create", "namespace", NAMESPACE];
    cluster.kubectl().run(&create).await?;
    Ok(())
}

impl Planned {
    fn new(number: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(number as u64);
        let template = &TEMPLATES[number % TEMPLATES.len()];
        let suffix = letters(5, &mut random);
        Self {
            template,
            name: format!("{}-{}-{suffix}", template.app, template.hash()),
            ip: format!("10.42.{}.{}", number / 200, number % 200 + 10),
            node: (random.next_u32() % 20) as usize,
            random,
        }
    }

    fn object(&self) -> Value {
        let template = self.template;
        let app = template.app;
        let mut containers = vec![template.container(app, template.port)];
        for (sidecar, port) in template.sidecars.into_iter().zip([15_000, 2_020]) {
            containers.push(template.container(sidecar, port));
        }
        json!({
            "metadata": {
                "name": self.name,
                "labels": {
                    "app.kubernetes.io/name": app,
                    "app.kubernetes.io/part-of": "shop",
                    "pod-template-hash": template.hash(),
                    "version": format!("v1.{}.2", app.len()),
                },
                "annotations": {
                    "prometheus.io/scrape": "true",
                    "prometheus.io/port": "2020",
                    "checksum/config": template.digest("config"),
                },
                "ownerReferences": [{
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": format!("{app}-{}", template.hash()),
                    "uid": template.owner_uid(),
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "nodeName": format!("node-{}", self.node),
                "serviceAccountName": app,
                "priority": 0,
                "containers": containers,
                "volumes": [
                    {"name": "config", "configMap": {"name": format!("{app}-config")}},
                    {"name": "scratch", "emptyDir": {"sizeLimit": "256Mi"}},
                    {"name": "kube-api-access", "projected": {"sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ]}},
                ],
                "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                    "weight": 100,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
                    },
                }]}},
            },
        })
    }

    /// Returns the status after a step: scheduled; images pulled; the first container runs; all run; ready.
    fn status(&self, step: usize) -> Value {
        let at = |second: usize| format!("2026-11-25T03:12:{second:02}Z");
        let condition = |kind: &str, is_true: bool, second: usize| {
            let mut condition = json!({
                "type": kind,
                "status": if is_true { "True" } else { "False" },
                "lastProbeTime": null,
                "lastTransitionTime": at(second),
            });
            if !is_true {
                condition["reason"] = "ContainersNotReady".into();
                condition["message"] = "containers with unready status".into();
            }
            condition
        };
        let mut conditions = vec![condition("PodScheduled", true, 1)];
        if step == 0 {
            return json!({"phase": "Pending", "conditions": conditions});
        }
        let is_ready = step == STATUSES - 1;
        conditions.push(condition("Initialized", true, 2));
        for kind in ["Ready", "ContainersReady"] {
            conditions.push(condition(kind, is_ready, if is_ready { 9 } else { 2 }));
        }
        conditions.push(condition("PodReadyToStartContainers", step > 1, 3));
        let running = match step {
            1 => 0,
            2 => 1,
            _ => 3,
        };
        let template = self.template;
        let names = [template.app, template.sidecars[0], template.sidecars[1]];
        let mut containers = Vec::new();
        for (place, name) in names.into_iter().enumerate() {
            let is_running = place < running;
            // The id is the same in each step.
            let id = Self::container_id(&mut ChaCha8Rng::seed_from_u64(
                u64::from(self.random.clone().next_u32()) + place as u64,
            ));
            let state = if is_running {
                json!({"running": {"startedAt": at(4 + place)}})
            } else {
                json!({"waiting": {"reason": "ContainerCreating"}})
            };
            let mut status = json!({
                "name": name,
                "state": state,
                "lastState": {},
                "ready": is_ready,
                "started": is_running,
                "restartCount": 0,
                "image": template.image(name),
                "imageID": "",
            });
            if is_running {
                let image = template.image(name);
                let image = image.split(':').next().unwrap_or_default();
                status["imageID"] = format!("{image}@sha256:{}", template.digest(name)).into();
                status["containerID"] = id.into();
            }
            containers.push(status);
        }
        let mut status = json!({
            "phase": if running == 3 { "Running" } else { "Pending" },
            "conditions": conditions,
            "hostIP": format!("10.0.0.{}", self.node + 10),
            "startTime": at(2),
            "containerStatuses": containers,
        });
        if running > 0 {
            status["podIP"] = self.ip.clone().into();
            status["podIPs"] = json!([{"ip": self.ip}]);
        }
        status
    }

    fn container_id(random: &mut ChaCha8Rng) -> String {
        format!("containerd://{}", hex(32, random))
    }
}

impl Template {
    fn random(&self, of: &str) -> ChaCha8Rng {
        let seed = self.app.bytes().chain(of.bytes());
        let seed = seed.fold(7_u64, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        ChaCha8Rng::seed_from_u64(seed)
    }

    fn hash(&self) -> String {
        letters(10, &mut self.random("hash"))
    }

    fn digest(&self, of: &str) -> String {
        hex(32, &mut self.random(of))
    }

    fn owner_uid(&self) -> String {
        let digits = self.digest("owner");
        let cut = |from: usize, to: usize| &digits[from..to];
        format!(
            "{}-{}-{}-{}-{}",
            cut(0, 8),
            cut(8, 12),
            cut(12, 16),
            cut(16, 20),
            cut(20, 32)
        )
    }

    fn image(&self, container: &str) -> String {
        format!("registry.example.com/{container}:1.{}.2", self.app.len())
    }

    fn container(&self, name: &str, port: u16) -> Value {
        let probe = |path: &str, seconds: u32| json!({"httpGet": {"path": path, "port": port}, "periodSeconds": seconds});
        json!({
            "name": name,
            "image": self.image(name),
            "args": ["--config", "/etc/config/settings.yaml", format!("--listen=:{port}")],
            "ports": [{"name": "main", "containerPort": port}],
            "env": [
                {"name": "LOG_LEVEL", "value": "info"},
                {"name": "SERVICE", "value": self.app},
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "UPSTREAM", "value": format!("http://{}.shop.svc:{port}", self.app)},
            ],
            "resources": {
                "requests": {"cpu": "100m", "memory": "128Mi"},
                "limits": {"cpu": "500m", "memory": "256Mi"},
            },
            "livenessProbe": probe("/live", 10),
            "readinessProbe": probe("/ready", 5),
            "volumeMounts": [
                {"name": "config", "mountPath": "/etc/config", "readOnly": true},
                {"name": "scratch", "mountPath": "/tmp"},
                {"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true},
            ],
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true},
        })
    }
}

/// Draws letters of the names that Kubernetes generates.
fn letters(length: usize, random: &mut ChaCha8Rng) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let letter = |_| LETTERS[random.next_u32() as usize % LETTERS.len()] as char;
    (0..length).map(letter).collect()
}

fn hex(bytes: usize, random: &mut ChaCha8Rng) -> String {
    (0..bytes)
        .map(|_| format!("{:02x}", random.next_u32() as u8))
        .collect()
}
