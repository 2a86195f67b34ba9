//! kubectl for one user of one cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::KubeTools;
use crate::{Finished, finish};

/// How long a command may take; after it the command is killed and the call fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// kubectl with a kubeconfig and its own cache. The default cache is keyed by address, and another cluster may later
/// listen on the same port.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    /// kubectl for the user of the kubeconfig; it writes only below `folder`.
    #[must_use]
    pub fn new(tools: &KubeTools, kubeconfig: &Path, folder: &Path) -> Self {
        Self {
            program: tools.kubectl(),
            kubeconfig: kubeconfig.to_owned(),
            cache: folder.join("kubectl-cache"),
        }
    }

    /// The kubeconfig that it uses.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The same kubectl with another kubeconfig, for another user or server.
    #[must_use]
    pub fn with_kubeconfig(&self, kubeconfig: &Path) -> Self {
        Self {
            kubeconfig: kubeconfig.to_owned(),
            ..self.clone()
        }
    }

    /// Returns a command for the caller to start, for one that runs on, as `get --watch` does.
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

    /// Runs a command and returns its standard output; an exit code other than 0 is an error.
    pub async fn run(&self, arguments: &[&str]) -> Result<String> {
        self.outcome(arguments, b"").await?.success()
    }

    /// Runs a command with `input` on its standard input and returns how it ended, with any exit code.
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
