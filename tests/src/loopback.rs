//! Parts that servers on loopback share: reading requests of HTTP/1.1, sending over HTTP/2, a certificate, a kubeconfig.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use h2::SendStream;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, Lines};

/// Reads the next request over HTTP/1.1, which has no body. Returns its path and query; `None` at the end of the
/// connection.
///
/// # Errors
/// Those of the connection.
pub async fn next_target(
    lines: &mut Lines<impl AsyncBufRead + Unpin>,
) -> std::io::Result<Option<String>> {
    let mut target = String::new();
    while let Some(line) = lines.next_line().await? {
        if target.is_empty() {
            target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        }
        if line.is_empty() {
            return Ok(Some(target));
        }
    }
    Ok(None)
}

/// Sends bytes over HTTP/2 as soon as the reader's windows allow it.
///
/// # Errors
/// If the reader resets the stream, or the connection ends.
pub async fn send(body: &mut SendStream<Bytes>, mut bytes: Bytes) -> Result<()> {
    while !bytes.is_empty() {
        body.reserve_capacity(bytes.len());
        let room = std::future::poll_fn(|context| body.poll_capacity(context)).await;
        let room = room.context("the stream has ended")??;
        body.send_data(bytes.split_to(room.min(bytes.len())), false)?;
    }
    Ok(())
}

/// Returns a server's configuration with a new certificate for `name`, and the certificate as PEM.
///
/// # Errors
/// If the name cannot stand in a certificate.
pub fn self_signed(name: &str) -> Result<(ServerConfig, String)> {
    let made = rcgen::generate_simple_self_signed([name.to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    Ok((config, made.cert.pem()))
}

/// Writes a kubeconfig into a folder, for a user without credentials. `cluster` is the cluster's entry, with `server`.
/// `name` names cluster, user and context. Returns the file's path.
///
/// # Errors
/// If the file cannot be written.
pub fn write_kubeconfig(folder: &Path, name: &str, cluster: &Value) -> Result<PathBuf> {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    });
    let path = folder.join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string())
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
