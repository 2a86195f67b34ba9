//! A client for small requests, such as discovery and the server's version.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::credentials::CredentialError;
use super::session::{Cluster, Session};
use crate::transport::{BodyEnd, CollectError, Connection, ConnectionFacts, DialError, SendError};

/// The timeout of a response's head; client-go's discovery client has the same for a whole request.
const HEADER_LIMIT: Duration = Duration::from_secs(32);

/// The timeout of a response's body, from its head to its end.
const BODY_LIMIT: Duration = Duration::from_secs(60);

/// A client that makes GET requests with the cluster's current credentials and reads whole answers.
///
/// It keeps one idle connection. A second request at the same time opens another, and the client keeps the later one. It
/// retries once on a new connection if the idle one was closed, and once with a new session after a 401. It follows no
/// redirects.
pub struct Client {
    cluster: Arc<Cluster>,
    idle: Mutex<Option<Idle>>,
}

struct Idle {
    generation: u64,
    connection: Connection,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The connection that it came on.
    pub facts: Arc<ConnectionFacts>,
}

/// The fields of `/version` that are used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    /// The version, as `v1.36.3`, with the distribution's suffix.
    pub git_version: String,
    /// The platform, as `linux/amd64`.
    #[serde(default)]
    pub platform: String,
}

/// The fields of a Namespace that are used.
#[derive(Deserialize)]
struct Namespace {
    metadata: NamespaceMetadata,
}

#[derive(Deserialize)]
struct NamespaceMetadata {
    uid: String,
}

/// The fields of a list of namespaces that are used.
#[derive(Deserialize)]
struct Namespaces {
    items: Vec<NamedNamespace>,
}

#[derive(Deserialize)]
struct NamedNamespace {
    metadata: NamedMetadata,
}

#[derive(Deserialize)]
struct NamedMetadata {
    name: String,
}

/// Why a request has no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There are no credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// There is no connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// There is no answer.
    #[error("GET {path}: {source}")]
    Send {
        /// The path.
        path: String,
        /// The reason.
        source: SendError,
    },
    /// The answer is not complete.
    #[error("GET {path}: {source}")]
    Body {
        /// The path.
        path: String,
        /// The reason.
        source: CollectError,
    },
    /// The status is not 200.
    #[error("GET {path} was answered {status}{}", message_text(message))]
    Status {
        /// The path.
        path: String,
        /// The status.
        status: StatusCode,
        /// The message of the Status object, or the first line of the text.
        message: String,
    },
    /// The answer is not the JSON that was expected.
    #[error("the answer to GET {path} is not understood: {source}")]
    Json {
        /// The path.
        path: String,
        /// The parser's error, with its place.
        source: serde_json::Error,
    },
}

impl Client {
    /// Makes a client of a cluster.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            idle: Mutex::new(None),
        }
    }

    /// The cluster.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Requests the server's version.
    pub async fn version(&self) -> Result<ServerVersion, ClientError> {
        const MAX_BYTES: usize = 64 * 1024;
        self.get_json("/version", "application/json", MAX_BYTES)
            .await
    }

    /// Requests the uid of the namespace `kube-system`. It stays the same as long as the cluster's etcd, and survives a
    /// restore of etcd.
    pub async fn cluster_uid(&self) -> Result<String, ClientError> {
        const MAX_BYTES: usize = 1 << 20;
        let namespace: Namespace = self
            .get_json(
                "/api/v1/namespaces/kube-system",
                "application/json",
                MAX_BYTES,
            )
            .await?;
        Ok(namespace.metadata.uid)
    }

    /// Requests the names of the first 1,000 namespaces, in the server's order. Further ones are left out.
    pub async fn namespaces(&self) -> Result<Vec<String>, ClientError> {
        const MAX_BYTES: usize = 16 << 20;
        const METADATA: &str =
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        let list: Namespaces = self
            .get_json("/api/v1/namespaces?limit=1000", METADATA, MAX_BYTES)
            .await?;
        let names = list.items.into_iter().map(|item| item.metadata.name);
        Ok(names.collect())
    }

    /// Requests a path. The answer must be 200 and JSON of at most `limit` bytes.
    pub async fn get_json<T: DeserializeOwned>(
        &self,
        path: &str,
        accept: &str,
        limit: usize,
    ) -> Result<T, ClientError> {
        let answer = self.get(path, accept, limit).await?;
        answer.json(path)
    }

    /// Requests a path, and returns the answer of any status. It reads at most `limit` bytes of body.
    ///
    /// The future is boxed, because the compiler cannot prove that so deeply nested futures are `Send`.
    pub fn get<'a>(
        &'a self,
        path: &'a str,
        accept: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Answer, ClientError>> {
        Box::pin(self.get_in_session(path, accept, limit))
    }

    async fn get_in_session(
        &self,
        path: &str,
        accept: &str,
        limit: usize,
    ) -> Result<Answer, ClientError> {
        let session = self.cluster.session().await?;
        let answer = self.get_in(&session, path, accept, limit).await;
        let is_stale_session = match &answer {
            Ok(answer) => answer.status == StatusCode::UNAUTHORIZED,
            Err(ClientError::Dial(error)) => error.may_be_cured_by_new_credentials(),
            Err(ClientError::Send { source, .. }) => source.may_be_cured_by_new_credentials(),
            Err(_) => false,
        };
        if is_stale_session {
            let renewed = self.cluster.renew(&session).await?;
            if renewed.generation() != session.generation() {
                return self.get_in(&renewed, path, accept, limit).await;
            }
        }
        answer
    }

    async fn get_in(
        &self,
        session: &Session,
        path: &str,
        accept: &str,
        limit: usize,
    ) -> Result<Answer, ClientError> {
        let kept = self
            .idle()
            .take()
            .filter(|idle| idle.generation == session.generation());
        let result = match kept {
            Some(idle) => match self
                .get_on(idle.connection, session, path, accept, limit)
                .await
            {
                // A server may close an idle connection at any moment, even during our write.
                Err(ClientError::Send {
                    source:
                        SendError::Stale
                        | SendError::Ended(
                            BodyEnd::Eof { .. }
                            | BodyEnd::TcpReset { .. }
                            | BodyEnd::GivenUp { .. }
                            | BodyEnd::GoAway { .. },
                        ),
                    ..
                }) => {
                    let connection = session.connector().open().await?;
                    self.get_on(connection, session, path, accept, limit).await
                }
                result => result,
            },
            None => {
                let connection = session.connector().open().await?;
                self.get_on(connection, session, path, accept, limit).await
            }
        };
        let (answer, connection) = result?;
        if let Some(connection) = connection {
            *self.idle() = Some(Idle {
                generation: session.generation(),
                connection,
            });
        }
        Ok(answer)
    }

    async fn get_on(
        &self,
        connection: Connection,
        session: &Session,
        path: &str,
        accept: &str,
        limit: usize,
    ) -> Result<(Answer, Option<Connection>), ClientError> {
        let accept =
            HeaderValue::try_from(accept).map_err(|error| bad_request(path, error.to_string()))?;
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(path)
            .header(ACCEPT, accept)
            .body(Bytes::new())
            .map_err(|error| bad_request(path, error.to_string()))?;
        session.authorize(request.headers_mut()).await?;
        let response = connection
            .send(request, HEADER_LIMIT)
            .await
            .map_err(|source| send_failed(path, source))?;
        let (status, headers) = (response.status, response.headers);
        let facts = Arc::clone(response.body.facts());
        let (body, connection) =
            response
                .body
                .collect(limit, BODY_LIMIT)
                .await
                .map_err(|source| ClientError::Body {
                    path: path.to_owned(),
                    source,
                })?;
        Ok((
            Answer {
                status,
                headers,
                body,
                facts,
            },
            connection,
        ))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send_failed(path: &str, source: SendError) -> ClientError {
    ClientError::Send {
        path: path.to_owned(),
        source,
    }
}

fn bad_request(path: &str, detail: String) -> ClientError {
    let source = SendError::BadRequest {
        path: path.to_owned(),
        detail,
    };
    send_failed(path, source)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Answer {
    /// Parses the body as JSON, if the status is 200.
    pub fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        if self.status != StatusCode::OK {
            return Err(ClientError::Status {
                path: path.to_owned(),
                status: self.status,
                message: self.message(),
            });
        }
        serde_json::from_slice(&self.body).map_err(|source| ClientError::Json {
            path: path.to_owned(),
            source,
        })
    }

    /// Returns the message of a Status object, else the first line of the text. At most 300 characters.
    pub fn message(&self) -> String {
        #[derive(Deserialize)]
        struct Status {
            message: String,
        }
        let message = match serde_json::from_slice::<Status>(&self.body) {
            Ok(status) => status.message,
            Err(_) => String::from_utf8_lossy(&self.body).into_owned(),
        };
        message
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(300)
            .collect()
    }
}

fn message_text(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}
