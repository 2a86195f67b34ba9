//! kubectl and watchscope against `watchscope simulate`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use watchscope_tests::kube::Kubectl;
use watchscope_tests::{KubeTools, Process, Watchscope, WatchscopeBinary, eventually, or_skip};

use crate::http;

const LONG: Duration = Duration::from_secs(30);

/// A running `watchscope simulate`.
pub(crate) struct Simulated {
    pub(crate) process: Watchscope,
    /// The first line of its output: `http://127.0.0.1:PORT`.
    pub(crate) origin: String,
    pub(crate) kubeconfig: PathBuf,
}

impl Simulated {
    /// Starts it on `port`, or with 0 on a port of its choice.
    pub(crate) async fn start(binary: &WatchscopeBinary, port: u16) -> Result<Self> {
        Self::start_with(binary, port, &[]).await
    }

    /// Like [`Self::start`], with further arguments.
    pub(crate) async fn start_with(
        binary: &WatchscopeBinary,
        port: u16,
        more: &[&str],
    ) -> Result<Self> {
        let listen = format!("127.0.0.1:{port}");
        let arguments = [
            "simulate",
            "--listen",
            &listen,
            "--kubeconfig-out",
            "kubeconfig",
        ];
        let mut process = binary.with(&[&arguments, more].concat()).start()?;
        let origin = process
            .until("the address is printed", LONG, async |process| {
                let stdout = process.stdout();
                let (line, _) = stdout.split_once('\n').context("no whole line yet")?;
                Ok(line.to_owned())
            })
            .await?;
        let kubeconfig = process.home().join("kubeconfig");
        Ok(Self {
            process,
            origin,
            kubeconfig,
        })
    }
}

#[tokio::test]
async fn kubectl_reads_the_simulated_cluster_as_tables_yaml_and_live() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let kubectl = Kubectl::new(&tools, &simulated.kubeconfig, simulated.process.home());

    let table = kubectl.run(&["get", "deployments"]).await?;
    let header = table.lines().next().unwrap_or_default();
    let columns: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(
        columns,
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"],
        "{table}"
    );
    assert!(
        table.lines().any(|line| line.starts_with("web ")),
        "{table}"
    );

    let yaml = kubectl
        .run(&["get", "configmap", "prices", "-o", "yaml"])
        .await?;
    assert!(
        yaml.starts_with("apiVersion: v1\ndata:\n") && yaml.contains("kind: ConfigMap"),
        "{yaml}"
    );

    let resources = kubectl.run(&["api-resources"]).await?;
    for known in ["pods ", "deployments ", "customresourcedefinitions "] {
        assert!(
            resources.lines().any(|line| line.starts_with(known)),
            "{resources}"
        );
    }

    // The story writes feature flags all the time, and kubectl prints a row for each write.
    let command = kubectl.command(&["get", "configmaps", "-w"]);
    let mut watch = Process::start("kubectl-watch", command, simulated.process.home())?;
    watch
        .until("kubectl prints live rows", LONG, async |watch| {
            let stdout = watch.stdout();
            let rows = stdout.lines().filter(|line| line.starts_with("prices "));
            ensure!(rows.count() > 2, "{stdout}");
            Ok(())
        })
        .await
}

#[tokio::test]
async fn kubectl_creates_replaces_and_deletes_and_watchscope_sees_each_change_once() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let kubectl = Kubectl::new(&tools, &simulated.kubeconfig, simulated.process.home());
    let mut watch = binary
        .with(&[
            "watch",
            "configmaps",
            "--field-selector",
            "metadata.name=mine",
        ])
        .env("WATCHSCOPE_OUTPUT", "jsonl")
        .kubeconfig(&simulated.kubeconfig)
        .start()?;
    watch
        .until("the stream is open", LONG, async |watch| {
            ensure!(watch.stdout().contains("stream.opened"));
            Ok(())
        })
        .await?;

    let settings = |colour: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"colour": colour}})
            .to_string()
    };
    for (arguments, colour) in [
        (["create", "-f", "-"], "blue"),
        (["replace", "-f", "-"], "red"),
        (["delete", "-f", "-"], "red"),
    ] {
        kubectl
            .outcome(&arguments, settings(colour).as_bytes())
            .await?
            .success()?;
    }
    let absent = kubectl.outcome(&["get", "configmap", "mine"], b"").await?;
    assert!(absent.stderr.contains("NotFound"), "{}", absent.stderr);

    let changes = watch
        .until("the deletion is seen", LONG, async |watch| {
            let stdout = watch.stdout();
            let changes: Vec<String> = stdout
                .lines()
                .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
                .filter(|record| record["type"] == "change")
                .map(|record| {
                    format!(
                        "{} {}",
                        record["change"].as_str().unwrap_or_default(),
                        record["name"].as_str().unwrap_or_default()
                    )
                })
                .collect();
            ensure!(
                changes.iter().any(|change| change.starts_with("DELETED")),
                "{changes:?}"
            );
            Ok(changes)
        })
        .await?;
    assert_eq!(changes, ["ADDED mine", "MODIFIED mine", "DELETED mine"]);
    Ok(())
}

#[tokio::test]
async fn a_typed_command_of_kubectl_gets_an_error_that_names_the_unmodelled_format() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let kubectl = Kubectl::new(&tools, &simulated.kubeconfig, simulated.process.home());
    let refused = kubectl
        .outcome(&["create", "configmap", "a", "--from-literal=b=c"], b"")
        .await?;
    assert_eq!(refused.code(), Some(1));
    for words in [
        "does not model bodies in application/vnd.kubernetes.protobuf",
        "send application/json",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn an_unmodelled_request_gets_501_and_is_logged_and_counted() -> Result<()> {
    const MAPS: &str = "/api/v1/namespaces/shop/configmaps";
    let binary = or_skip!(WatchscopeBinary::find());
    let mut simulated = Simulated::start(&binary, 0).await?;
    let origin = simulated.origin.clone();
    let watch = format!("{MAPS}?watch=1");
    let upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket")];
    let protobuf = [("Accept", "application/vnd.kubernetes.protobuf")];
    let yaml = [
        ("Content-Type", "application/yaml"),
        ("Content-Length", "0"),
    ];
    let apply = [
        ("Content-Type", "application/apply-patch+yaml"),
        ("Content-Length", "0"),
    ];
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let asked: [(&str, &str, Headers<'_>); 7] = [
        ("GET", "/apis/policy/v1/poddisruptionbudgets", &[]),
        ("GET", "/api/v1/namespaces/shop/pods/web/log", &[]),
        ("GET", "/openapi/v2", &[]),
        ("GET", MAPS, &protobuf),
        ("POST", MAPS, &yaml),
        ("PATCH", "/api/v1/namespaces/shop/configmaps/prices", &apply),
        ("GET", &watch, &upgrade),
    ];
    for (method, path, headers) in asked {
        let answer = http::ask(method, &origin, path, headers).await?;
        assert_eq!(answer.status, 501, "{method} {path}: {answer:?}");
        assert_eq!(answer.json()?["reason"], "NotImplemented", "{answer:?}");
    }
    // A resource that no server has is no gap of the model.
    let unknown = http::get(&origin, "/apis/policy/v1/nothing", &[]).await?;
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let listed = simulated
        .process
        .until("all are in the log", LONG, async |process| {
            let stderr = process.stderr();
            let lines = stderr.lines().filter_map(|line| line.split_once(" 501 "));
            let lines: Vec<String> = lines.map(|(_, rest)| rest.to_owned()).collect();
            ensure!(lines.len() >= asked.len(), "{stderr}");
            Ok(lines)
        })
        .await?;
    insta::assert_snapshot!(listed.join("\n"), @r"
    (1 so far): GET /apis/policy/v1/poddisruptionbudgets: watchscope's simulated apiserver does not model poddisruptionbudgets
    (2 so far): GET /api/v1/namespaces/shop/pods/web/log: watchscope's simulated apiserver does not model pods/log
    (3 so far): GET /openapi/v2: watchscope's simulated apiserver does not model openapi/v2
    (4 so far): GET /api/v1/namespaces/shop/configmaps: watchscope's simulated apiserver does not model answers in application/vnd.kubernetes.protobuf: ask for application/json
    (5 so far): POST /api/v1/namespaces/shop/configmaps: watchscope's simulated apiserver does not model bodies in application/yaml: send application/json
    (6 so far): PATCH /api/v1/namespaces/shop/configmaps/prices: watchscope's simulated apiserver does not model server-side apply
    (7 so far): GET /api/v1/namespaces/shop/configmaps: watchscope's simulated apiserver does not model watches over WebSocket
    ");
    Ok(())
}

#[tokio::test]
async fn versions_and_faults_are_chosen_on_the_command_line() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let more = [
        "--server-version",
        "1.30.2,1.27.3",
        "--fault",
        "too-many-requests@8-20",
    ];
    let simulated = Simulated::start_with(&binary, 0, &more).await?;
    let origin = simulated.origin.as_str();
    // Connections go to the servers in turn.
    let mut versions = BTreeSet::new();
    for _ in 0..2 {
        let version = http::get(origin, "/version", &[]).await?.json()?;
        versions.insert(version["gitVersion"].to_string());
    }
    let expected = ["\"v1.27.3\"", "\"v1.30.2\""].map(str::to_owned);
    assert_eq!(versions, expected.into());
    for status in [429, 200] {
        eventually("the fault comes and goes", LONG, async || {
            let answer = http::get(origin, "/api/v1/namespaces/shop/pods", &[]).await?;
            ensure!(answer.status == status, "{}", answer.status);
            Ok(())
        })
        .await?;
    }
    // The end of the fault is visible in answers before it is printed.
    eventually("both are printed", LONG, async || {
        let stderr = simulated.process.stderr();
        for told in [
            "Fault too-many-requests begins.",
            "Fault too-many-requests is over.",
        ] {
            ensure!(stderr.contains(told), "{stderr}");
        }
        Ok(())
    })
    .await
}

/// Row 35: any page in a browser can send requests to loopback.
#[tokio::test]
async fn the_simulator_refuses_foreign_hosts_and_origins_like_the_product() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let origin = simulated.origin.as_str();
    let path = "/api/v1/namespaces/shop/pods";
    assert_eq!(http::get(origin, path, &[]).await?.status, 200);
    let own_origin = http::get(origin, path, &[("Origin", origin)]).await?;
    assert_eq!(own_origin.status, 200, "{own_origin:?}");

    let rebound = http::get(origin, path, &[("Host", "attacker.test:8080")]).await?;
    assert!(
        matches!(rebound.status, 403 | 421) && !rebound.body.contains("web-"),
        "{rebound:?}"
    );
    for foreign in [
        "http://attacker.test",
        "null",
        "http://localhost.attacker.test",
    ] {
        let answer = http::get(origin, path, &[("Origin", foreign)]).await?;
        assert!(
            answer.status == 403 && !answer.body.contains("web-"),
            "{foreign}: {answer:?}"
        );
    }
    Ok(())
}
