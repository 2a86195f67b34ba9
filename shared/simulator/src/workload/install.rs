//! The contents of a new cluster: namespaces, nodes, the applications of a small shop, and the CRD of the shop's custom
//! resource.

use serde_json::{Value, json};

use super::context::Context;
use crate::settings::WorkloadConfig;

/// The namespace of the applications.
pub(super) const NAMESPACE: &str = "shop";
/// The annotation in which kubectl keeps the applied manifest (`LastAppliedConfigAnnotation` of core v1).
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The custom resource of the shop; its objects are named in [`PROMOTIONS`].
pub(super) const PROMOTION_RESOURCE: &str = "promotions.shop.example.com";
/// The names of the objects of the custom resource `promotions`.
pub(super) const PROMOTIONS: [&str; 2] = ["spring-sale", "free-shipping"];

/// An application of the shop.
pub(super) struct Application {
    pub(super) name: &'static str,
    pub(super) replicas: i64,
    port: u16,
}

/// The applications of the shop. The applications take turns in rollouts and in changes of replicas. The numbers of
/// their pods and ports have no source.
pub(super) const APPLICATIONS: [Application; 3] = [
    Application {
        name: "web",
        replicas: 4,
        port: 8080,
    },
    Application {
        name: "cart",
        replicas: 3,
        port: 9000,
    },
    Application {
        name: "payments",
        replicas: 2,
        port: 9443,
    },
];

/// Creates the namespaces that every cluster has.
pub(super) fn namespaces(ctx: &mut Context<'_>) {
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        ctx.create(
            "namespaces",
            "",
            json!({"metadata": {"name": name}}),
            "kube-apiserver",
        );
    }
}

/// Creates nodes and applications.
pub(super) fn install(ctx: &mut Context<'_>) {
    for node in 0..node_count(ctx.config) {
        let body = node_body(node, ctx);
        ctx.create("nodes", "", body, "kubelet");
    }
    if !ctx.config.applications {
        return;
    }
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    ctx.create("namespaces", "", namespace, "kubectl-client-side-apply");
    ctx.create(
        "deployments.apps",
        "kube-system",
        dns_deployment(),
        "kubeadm",
    );
    for application in &APPLICATIONS {
        let mut deployment = deployment_manifest(application, 0);
        deployment["metadata"]["annotations"] = json!({LAST_APPLIED: format!("{deployment}\n")});
        ctx.create(
            "deployments.apps",
            NAMESPACE,
            deployment,
            "kubectl-client-side-apply",
        );
        let service = json!({
            "metadata": {"name": application.name, "labels": {"app": application.name}},
            "spec": {
                "selector": {"app": application.name},
                "ports": [{"port": 80, "targetPort": application.port}],
            },
        });
        ctx.create("services", NAMESPACE, service, "kubectl-client-side-apply");
    }
    let secret = json!({
        "metadata": {"name": "payments-api"},
        "stringData": {"token": "not-a-real-token"},
    });
    ctx.create("secrets", NAMESPACE, secret, "kubectl-create");
    let definitions = "customresourcedefinitions.apiextensions.k8s.io";
    ctx.create(
        definitions,
        "",
        promotion_definition(),
        "kubectl-client-side-apply",
    );
}

pub(super) fn node_count(config: &WorkloadConfig) -> u16 {
    u16::try_from(config.nodes).unwrap_or(u16::MAX)
}

pub(super) fn node_name(node: u16) -> String {
    format!("node-{}", node + 1)
}

pub(super) fn image(application: &str, version: u64) -> String {
    format!("registry.example.com/shop/{application}:1.{version}.0")
}

/// Returns an application's deployment as its author's manifest.
pub(super) fn deployment_manifest(application: &Application, version: u64) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": application.name,
            "namespace": NAMESPACE,
            "labels": {"app": application.name},
        },
        "spec": {
            "replicas": application.replicas,
            "selector": {"matchLabels": {"app": application.name}},
            "template": {
                "metadata": {"labels": {"app": application.name}},
                "spec": {"containers": [{
                    "name": application.name,
                    "image": image(application.name, version),
                    "ports": [{"containerPort": application.port}],
                    "env": [
                        {"name": "LOG_LEVEL", "value": "info"},
                        {"name": "FLAGS", "valueFrom": {"configMapKeyRef": {"name": "feature-flags", "key": "new-checkout", "optional": true}}},
                    ],
                    "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": application.port}},
                }]},
            },
        },
    })
}

fn dns_deployment() -> Value {
    let labels = json!({"k8s-app": "kube-dns"});
    json!({
        "metadata": {"name": "coredns", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "coredns", "image": "registry.k8s.io/coredns/coredns:v1.12.1"}]},
            },
        },
    })
}

fn node_body(node: u16, ctx: &Context<'_>) -> Value {
    let name = node_name(node);
    let now = ctx.timestamp();
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    json!({
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"podCIDR": format!("10.244.{node}.0/24")},
        "status": {
            "addresses": [{"type": "InternalIP", "address": format!("192.168.5.{}", 10 + node)}],
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "simulated", "architecture": "amd64"},
        },
    })
}

fn promotion_definition() -> Value {
    json!({
        "metadata": {"name": PROMOTION_RESOURCE},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {
                "plural": "promotions",
                "singular": "promotion",
                "kind": "Promotion",
                "shortNames": ["promo"],
            },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Discount", "type": "integer", "jsonPath": ".spec.discountPercent"},
                    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}
