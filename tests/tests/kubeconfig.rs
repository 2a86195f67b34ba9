//! Kubeconfigs for servers that belong to no real cluster.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

/// Writes a kubeconfig with one context, for this server and this user.
pub(crate) fn write(folder: &Path, server: &str, user: &Value) -> Result<PathBuf> {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let path = folder.join("kubeconfig");
    std::fs::write(&path, config.to_string())?;
    Ok(path)
}
