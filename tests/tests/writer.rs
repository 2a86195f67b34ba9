//! Writes to a real cluster through `kubectl proxy`, faster than with one kubectl per write.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures_util::{TryStreamExt as _, stream};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use watchscope_tests::{KubeCluster, Process, eventually};

/// How long a write is retried while the apiserver is away; after it the write fails.
const RETRY: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(20);

/// The most writes at the same time.
const AT_A_TIME: usize = 8;

/// `kubectl proxy` of the administrator; it survives restarts of the apiserver.
#[derive(Debug)]
pub(crate) struct Writer {
    client: Client,
    origin: String,
    _proxy: Process,
    _folder: TempDir,
}

impl Writer {
    pub(crate) async fn start(cluster: &KubeCluster) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // By default the proxy refuses exec and attach itself. Here the apiserver must decide.
        let command = cluster
            .kubectl()
            .command(&["proxy", "--port=0", "--reject-paths=^$"]);
        let mut proxy = Process::start("kubectl-proxy", command, folder.path())?;
        let port = proxy
            .until("kubectl proxy listens", START, async |proxy| {
                let stdout = proxy.stdout();
                let line = stdout
                    .split_once('\n')
                    .context("it has not said its port")?
                    .0;
                let (_, port) = line.rsplit_once(':').context("it names an address")?;
                Ok(port.parse::<u16>()?)
            })
            .await?;
        Ok(Self {
            client: Client::builder().no_proxy().build()?,
            origin: format!("http://127.0.0.1:{port}"),
            _proxy: proxy,
            _folder: folder,
        })
    }

    /// Sends one request and returns status and body. `user` impersonates another user than the administrator.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        user: Option<&str>,
    ) -> Result<(u16, Value)> {
        let is_patch = method == Method::PATCH;
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.origin));
        if let Some(body) = body {
            let kind = if is_patch {
                "application/merge-patch+json"
            } else {
                "application/json"
            };
            request = request.header("Content-Type", kind).body(body.to_string());
        }
        if let Some(user) = user {
            request = request.header("Impersonate-User", user);
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let text = answer.text().await?;
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok((status, value))
    }

    /// Sends a write; fails if its status is not 2xx.
    pub(crate) async fn write(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<()> {
        let (status, answer) = self.ask(method.clone(), path, body, None).await?;
        if !(200..300).contains(&status) {
            bail!("{method} {path} is answered {status}: {answer}");
        }
        Ok(())
    }

    /// Repeats a write until it is known to be done. If an answer was lost, the write may have been done before.
    pub(crate) async fn insist(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<()> {
        eventually(&format!("{method} {path} is done"), RETRY, async || {
            let (status, answer) = self.ask(method.clone(), path, body, None).await?;
            let is_done_before = matches!(
                (&method, status),
                (&Method::POST, 409) | (&Method::DELETE, 404)
            );
            if (200..300).contains(&status) || is_done_before {
                return Ok(());
            }
            bail!("{status}: {answer}")
        })
        .await
    }

    /// Creates, patches and deletes a configmap for each name: at most [`AT_A_TIME`] names at once, each name's writes
    /// in order.
    pub(crate) async fn churn(
        &self,
        namespace: &str,
        names: impl Iterator<Item = String>,
    ) -> Result<()> {
        let path = &format!("/api/v1/namespaces/{namespace}/configmaps");
        stream::iter(names.map(Ok))
            .try_for_each_concurrent(AT_A_TIME, |name| async move {
                let object = format!("{path}/{name}");
                self.insist(Method::POST, path, Some(&config_map(&name)))
                    .await?;
                let patch = json!({"data": {"n": "2"}});
                self.insist(Method::PATCH, &object, Some(&patch)).await?;
                self.insist(Method::DELETE, &object, None).await
            })
            .await
    }

    /// Creates a configmap for each name.
    pub(crate) async fn create(
        &self,
        namespace: &str,
        names: impl Iterator<Item = String>,
    ) -> Result<()> {
        let path = &format!("/api/v1/namespaces/{namespace}/configmaps");
        stream::iter(names.map(Ok))
            .try_for_each_concurrent(AT_A_TIME, |name| async move {
                self.write(Method::POST, path, Some(&config_map(&name)))
                    .await
            })
            .await
    }
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": "1"}})
}
