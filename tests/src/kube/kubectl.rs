//! kubectl for one user of one cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::KubeTools;
use crate::{Finished, finish};

/// Longer than kubectl takes for anything the tests ask of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// kubectl with its kubeconfig and a cache of its own: the default cache is by address, and
/// ports come back with other clusters behind them.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    /// kubectl for the user of the kubeconfig; it writes only below the folder.
    #[must_use]
    pub fn new(tools: &KubeTools, kubeconfig: &Path, folder: &Path) -> Self {
        Self {
            program: tools.kubectl(),
            kubeconfig: kubeconfig.to_owned(),
            cache: folder.join("kubectl-cache"),
        }
    }

    /// The kubeconfig it uses.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The same kubectl for another user, or another server.
    #[must_use]
    pub fn with_kubeconfig(&self, kubeconfig: &Path) -> Self {
        Self {
            kubeconfig: kubeconfig.to_owned(),
            ..self.clone()
        }
    }

    /// A command to start oneself, for what runs on: `get --watch`.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(&self.cache)
            .args(arguments)
            .env_remove("KUBECONFIG");
        command
    }

    /// Runs it and returns its standard output; an exit code other than 0 is an error.
    pub async fn run(&self, arguments: &[&str]) -> Result<String> {
        self.outcome(arguments, b"").await?.success()
    }

    /// Runs it with something on its standard input and returns how it ended, well or not.
    pub async fn outcome(&self, arguments: &[&str], input: &[u8]) -> Result<Finished> {
        finish(self.command(arguments), input, PATIENCE).await
    }

    /// Creates or updates objects (`apply --server-side`).
    pub async fn apply(&self, objects: &Value) -> Result<String> {
        let arguments = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--filename",
            "-",
        ];
        self.outcome(&arguments, objects.to_string().as_bytes())
            .await?
            .success()
    }

    /// Reads objects as JSON (`get … --output json`).
    pub async fn json(&self, arguments: &[&str]) -> Result<Value> {
        let mut all = vec!["get", "--output", "json"];
        all.extend(arguments);
        Ok(serde_json::from_str(&self.run(&all).await?)?)
    }
}
