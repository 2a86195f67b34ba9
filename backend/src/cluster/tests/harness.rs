//! A small API server that answers by a function, and kubeconfigs for it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::cluster::{Client, Cluster, ConfigLookup, ConfigSource};
use crate::transport::tests::authority::Authority;
use crate::transport::tests::harness::{listen, read_head};
use crate::transport::{DialLimits, Protocols};

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) authorization: String,
    pub(super) head: String,
    /// The number of its connection, from 1.
    pub(super) connection: usize,
    pub(super) has_certificate: bool,
}

/// An answer: status and body. A status of 0 closes the connection instead.
pub(super) type Answered = (u16, String);

pub(super) struct Server {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Serves on a free port, one connection at a time; over TLS if settings are given.
    pub(super) async fn start(
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&Asked) -> Answered + Send + Sync + 'static,
    ) -> Self {
        let (listener, port) = listen().await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(serve(listener, tls, Arc::clone(&asked), answer));
        Self { port, asked, task }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns all Authorization headers that were received, in order.
    pub(super) fn authorizations(&self) -> Vec<String> {
        self.asked()
            .into_iter()
            .map(|asked| asked.authorization)
            .collect()
    }

    /// Makes a client by URL, without a kubeconfig.
    pub(super) fn client(&self) -> Client {
        let url = format!("http://127.0.0.1:{}", self.port).parse().unwrap();
        client(&ConfigSource::Url(url))
    }
}

async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: impl Fn(&Asked) -> Answered,
) {
    for connection in 1.. {
        let (stream, _) = listener.accept().await.unwrap();
        match &tls {
            None => serve_connection(stream, connection, false, &asked, &answer).await,
            Some(config) => {
                // A client that does not trust this server closes. The next client may trust it.
                if let Ok(stream) = TlsAcceptor::from(Arc::clone(config)).accept(stream).await {
                    let has_certificate = stream.get_ref().1.peer_certificates().is_some();
                    serve_connection(stream, connection, has_certificate, &asked, &answer).await;
                }
            }
        }
    }
}

async fn serve_connection(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    has_certificate: bool,
    asked: &Mutex<Vec<Asked>>,
    answer: &impl Fn(&Asked) -> Answered,
) {
    loop {
        let head = read_head(&mut stream).await;
        let Some(path) = head.split(' ').nth(1).map(str::to_owned) else {
            return;
        };
        let authorization = head
            .lines()
            .find_map(|line| line.strip_prefix("authorization: "))
            .unwrap_or_default()
            .to_owned();
        let request = Asked {
            path,
            authorization,
            head,
            connection,
            has_certificate,
        };
        asked.lock().unwrap().push(request.clone());
        let (status, body) = answer(&request);
        if status == 0 {
            return;
        }
        let length = body.len();
        let text =
            format!("HTTP/1.1 {status} Some Reason\r\nContent-Length: {length}\r\n\r\n{body}");
        if stream.write_all(text.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// Makes a cluster from a source.
pub(super) fn cluster(source: &ConfigSource) -> Arc<Cluster> {
    Arc::new(Cluster::new(
        source,
        source.load().unwrap(),
        Protocols::default(),
        DialLimits::default(),
    ))
}

/// Makes a client from a source.
pub(super) fn client(source: &ConfigSource) -> Client {
    Client::new(cluster(source))
}

/// Makes a source of one file.
pub(super) fn file_source(path: &Path) -> ConfigSource {
    ConfigSource::Lookup(ConfigLookup {
        kubeconfig: Some(path.to_owned()),
        ..ConfigLookup::default()
    })
}

/// Writes a kubeconfig and returns its path. It has one context, for a TLS server on loopback with the user `user` (lines of
/// YAML).
pub(super) fn write_kubeconfig(
    folder: &Path,
    port: u16,
    authority: &Authority,
    user: &str,
) -> PathBuf {
    let ca = BASE64_STANDARD.encode(authority.pem());
    let mut user_lines = String::new();
    for line in user.lines() {
        let _ = writeln!(user_lines, "    {line}");
    }
    let text = format!(
        "apiVersion: v1
kind: Config
current-context: here
clusters:
- name: local
  cluster:
    server: https://localhost:{port}
    certificate-authority-data: {ca}
contexts:
- name: here
  context: {{cluster: local, user: me}}
users:
- name: me
  user:
{user_lines}"
    );
    let path = folder.join("config");
    std::fs::write(&path, text).unwrap();
    path
}

/// Returns a user whose credential plugin is a shell script that runs in the folder. `sh` gets the script as an argument,
/// because executing the file could fail. A file just written may still be open in a process that another test starts.
pub(super) fn plugin_user(folder: &Path, lines: &str) -> String {
    let script = folder.join("plugin");
    std::fs::write(&script, format!("cd \"$(dirname \"$0\")\"\n{lines}\n")).unwrap();
    format!(
        "exec:
  apiVersion: client.authentication.k8s.io/v1
  command: /bin/sh
  args: ['{}', token]
  env: [{{name: WHO, value: s3cret}}]
  interactiveMode: Never",
        script.display()
    )
}
