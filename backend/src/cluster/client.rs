//! Small plain requests: discovery, the server's version.

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

/// Limit for a response's head, as client-go's discovery client has for a whole request.
const HEADER_LIMIT: Duration = Duration::from_secs(32);

/// Limit for a response's body, from its head to its end.
const BODY_LIMIT: Duration = Duration::from_secs(60);

/// Makes GET requests with the cluster's current credentials, and reads whole answers.
///
/// It keeps one idle connection; a second request at the same time opens its own and the later
/// of the two is kept. A connection found closed is replaced once; a 401 renews the session once.
/// Redirects are answers like any other.
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
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
    /// The connection it came on.
    pub facts: Arc<ConnectionFacts>,
}

/// What `/version` says, as far as it is used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    /// As in `v1.36.3`, with the distribution's suffix.
    pub git_version: String,
    /// As in `linux/amd64`.
    #[serde(default)]
    pub platform: String,
}

/// A Namespace, as far as it is used.
#[derive(Deserialize)]
struct Namespace {
    metadata: NamespaceMetadata,
}

#[derive(Deserialize)]
struct NamespaceMetadata {
    uid: String,
}

/// Why a request has no (good) answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// No connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// No answer.
    #[error("GET {path}: {source}")]
    Send {
        /// The path.
        path: String,
        /// Why.
        source: SendError,
    },
    /// Not a whole answer.
    #[error("GET {path}: {source}")]
    Body {
        /// The path.
        path: String,
        /// Why.
        source: CollectError,
    },
    /// Another status than 200.
    #[error("GET {path} was answered {status}{}", message_text(message))]
    Status {
        /// The path.
        path: String,
        /// The status.
        status: StatusCode,
        /// The message of the Status object, or the first line of the text.
        message: String,
    },
    /// Not the JSON that was expected.
    #[error("the answer to GET {path} is not understood: {source}")]
    Json {
        /// The path.
        path: String,
        /// Where and why.
        source: serde_json::Error,
    },
}

impl Client {
    /// A client for a cluster.
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

    /// The server's version.
    pub async fn version(&self) -> Result<ServerVersion, ClientError> {
        const MAX_BYTES: usize = 64 * 1024;
        self.get_json("/version", "application/json", MAX_BYTES)
            .await
    }

    /// The uid of the namespace `kube-system`: it lasts as long as the cluster's etcd does, a restored one has it too.
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

    /// Gets a path and reads the answer, which must be 200 and JSON, of at most `limit` bytes.
    pub async fn get_json<T: DeserializeOwned>(
        &self,
        path: &str,
        accept: &str,
        limit: usize,
    ) -> Result<T, ClientError> {
        let answer = self.get(path, accept, limit).await?;
        answer.json(path)
    }

    /// Gets a path, whatever the status, reading at most `limit` bytes of body.
    ///
    /// Boxed, since the compiler does not see through as many nested futures that it is `Send`.
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
                // A server may close an idle connection at any moment, also while we are writing.
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
    /// The body as JSON, if the status is 200.
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

    /// The message of a Status object, else the first line of the text; at most 300 characters.
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
