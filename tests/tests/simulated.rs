//! kubectl and watchscope against `watchscope simulate`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use watchscope_tests::kube::Kubectl;
use watchscope_tests::{KubeTools, Process, Watchscope, WatchscopeBinary, or_skip};

use crate::http;

const LONG: Duration = Duration::from_secs(30);

/// A running `watchscope simulate`.
pub(crate) struct Simulated {
    pub(crate) process: Watchscope,
    /// Its first line: `http://127.0.0.1:PORT`.
    pub(crate) origin: String,
    pub(crate) kubeconfig: PathBuf,
}

impl Simulated {
    /// On a port of its choice, or on `port`.
    pub(crate) async fn start(binary: &WatchscopeBinary, port: u16) -> Result<Self> {
        let listen = format!("127.0.0.1:{port}");
        let arguments = [
            "simulate",
            "--listen",
            &listen,
            "--kubeconfig-out",
            "kubeconfig",
        ];
        let mut process = binary.with(&arguments).start()?;
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

    // The story writes feature flags all the time; kubectl prints a row for each.
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
async fn a_typed_command_of_kubectl_is_told_that_only_json_is_read() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let kubectl = Kubectl::new(&tools, &simulated.kubeconfig, simulated.process.home());
    let refused = kubectl
        .outcome(&["create", "configmap", "a", "--from-literal=b=c"], b"")
        .await?;
    assert_eq!(refused.code(), Some(1));
    for words in [
        "application/vnd.kubernetes.protobuf",
        "reads JSON only",
        "application/json",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    Ok(())
}

/// Row 35: what is on loopback may be asked by any page in a browser.
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
