//! The reader of one server: it makes the audit's reads, one at a time, over a connection of its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderValue, Request};
use tokio::sync::{mpsc, watch};
use watchscope_diagnosis::audit::{Read, Reply};
use watchscope_model::event::{ConnectionClosed, Event, RequestAnswered};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, Text, WatchName};
use watchscope_probe::{
    asked_to_wait_ms, headers_worth_keeping, read_current, read_object, read_page, read_watch,
};

use crate::cluster::{ServerVersion, Session};
use crate::log::LogHandle;
use crate::stop::stopped;
use crate::transport::{BodyEnd, CollectError, Connection};
use crate::upstream::connections::{Connections, NoConnection, opened};
use crate::upstream::message::{cause_of, headers_of, request_of};
use crate::upstream::servers::Pools;

/// The user agent by which the apiserver's log and metrics know the audit.
const OUR_USER_AGENT: &str = concat!("watchscope-audit/", env!("CARGO_PKG_VERSION"));
/// The timeout for an answer to begin, and again for it to end. A kube-apiserver cuts its own answers off after 60 s.
const PATIENCE: Duration = Duration::from_secs(75);
/// The most bytes of an answer that are read. Only a page of whole objects may be longer, where the server cannot send
/// metadata alone.
const BODY_LIMIT: usize = 64 << 20;

/// The reader of one server. It holds one connection and one answer.
pub(super) struct Reader {
    reads: mpsc::Receiver<Read>,
    pools: Pools,
    log: LogHandle,
    session: Option<Arc<Session>>,
    idle: Option<Link>,
    /// The server refused the credentials, so the next connection loads them anew.
    reload: bool,
}

/// A connection for reads.
struct Link {
    id: ConnectionId,
    connection: Connection,
    /// The pool of connections to the same apiserver.
    connections: Arc<Connections>,
}

/// An answer, or the error that took its place.
struct Answer {
    status: Option<u16>,
    headers: Headers,
    /// The wait that a refusal asks for, in ms.
    retry_after_ms: Option<u64>,
    body: Bytes,
    error: Option<String>,
}

/// Waits for the next read and returns it; none once `stop` is set or the log is closed. Cancel safe.
pub(super) async fn asked(
    reads: &mut mpsc::Receiver<Read>,
    stop: &mut watch::Receiver<bool>,
) -> Option<Read> {
    tokio::select! {
        () = stopped(stop) => None,
        read = reads.recv() => read,
    }
}

impl Reader {
    pub(super) fn new(reads: mpsc::Receiver<Read>, pools: Pools, log: LogHandle) -> Self {
        Self {
            reads,
            pools,
            log,
            session: None,
            idle: None,
            reload: false,
        }
    }

    /// Makes reads until `stop` is set or the log is closed.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let read = tokio::select! {
                read = asked(&mut self.reads, &mut stop) => match read {
                    Some(read) => read,
                    None => break,
                },
                end = ended(&mut self.idle) => {
                    self.lose(cause_of(&end)).await;
                    continue;
                }
            };
            let reply = tokio::select! {
                () = stopped(&mut stop) => break,
                reply = self.carry_out(&read) => reply,
            };
            if self.log.answer_audit(read, reply).await.is_err() {
                return;
            }
        }
        self.lose(Cause::Cancelled).await;
    }

    async fn carry_out(&mut self, read: &Read) -> Reply {
        let link = match self.link(&read.watch).await {
            Ok(link) => link,
            Err(reply) => return reply,
        };
        let Link {
            id,
            connection,
            connections,
        } = link;
        let is_shared = connection.is_shared();
        let Some(message) = self.message(read.target(), read.accept()).await else {
            self.close(id, connection, Cause::Cancelled).await;
            return Reply::Unreached;
        };
        let request = self.log.ids().request();
        let sent = read.sent(request, id);
        // If the log is closed, the process is ending.
        let _ = self.log.append(Event::from(sent)).await;
        let (answer, kept) = exchange(connection, message).await;
        self.reload = answer.status == Some(401);
        let event = answer.event(read, request);
        let _ = self.log.append(Event::from(event)).await;
        match kept {
            Ok(connection) if !self.reload => {
                self.idle = Some(Link {
                    id,
                    connection,
                    connections,
                });
            }
            Ok(connection) => self.close(id, connection, Cause::Cancelled).await,
            Err(cause) => self.closed(id, is_shared, cause).await,
        }
        answer.reply(read)
    }

    /// Builds a request of the audit; none if it cannot be built, as without credentials.
    async fn message(&mut self, target: String, accept: &'static str) -> Option<Request<Bytes>> {
        match request_of(target, accept, self.session.as_deref()).await {
            Ok(mut message) => {
                let agent = HeaderValue::from_static(OUR_USER_AGENT);
                message.headers_mut().insert(USER_AGENT, agent);
                Some(message)
            }
            Err(error) => {
                tracing::info!("an audit read cannot be sent: {error}");
                self.reload = true;
                None
            }
        }
    }

    /// Returns the idle connection if it leads to the watch's apiserver, else a new one. A new connection first asks the
    /// server for its version. Each server of a cluster may have another version, and what a read may hide depends on it.
    ///
    /// # Errors
    /// The reply to the planner if there is no connection.
    async fn link(&mut self, watch: &WatchName) -> Result<Link, Reply> {
        let connections = self.pools.of(watch).ok_or(Reply::Failed)?;
        if let Some(kept) = self.idle.take() {
            if Arc::ptr_eq(&kept.connections, &connections) {
                return Ok(kept);
            }
            self.close(kept.id, kept.connection, Cause::Cancelled).await;
        }
        let reload = std::mem::take(&mut self.reload);
        let connection = match connections.dial_unlogged(self.session.take(), reload).await {
            Ok((session, connection)) => {
                self.session = Some(session);
                connection
            }
            Err(NoConnection::Failed(session, error)) => {
                self.reload = error.may_be_cured_by_new_credentials();
                self.session = Some(session);
                tracing::debug!("no connection for the audit: {error}");
                return Err(Reply::Unreached);
            }
            Err(NoConnection::NoCredentials(sentence)) => {
                tracing::debug!("no connection for the audit: {sentence}");
                return Err(Reply::Unreached);
            }
        };
        let (version, mut connection) = self.ask_version(connection).await?;
        let version: Option<Text> = version.map(|version| version.git_version.as_str().into());
        let id = connections.name(&mut connection, version.clone()).await;
        if !connection.is_shared() {
            let event = opened(id, connection.facts(), version);
            let _ = self.log.append(Event::from(event)).await;
        }
        Ok(Link {
            id,
            connection,
            connections,
        })
    }

    /// Asks the server for its version over a connection. Returns the version, if the server states it, and the connection.
    ///
    /// # Errors
    /// If the version may be had later: the server is busy, it refused the credentials, or the connection ended.
    async fn ask_version(
        &mut self,
        connection: Connection,
    ) -> Result<(Option<ServerVersion>, Connection), Reply> {
        let message = self.message("/version".to_owned(), "application/json");
        let message = message.await.ok_or(Reply::Unreached)?;
        let share = connection.share();
        let (asked, rest) = match share {
            Some(share) => (share, Some(connection)),
            None => (connection, None),
        };
        let (answer, kept) = exchange(asked, message).await;
        if let Some(status @ (401 | 429 | 503)) = answer.status {
            self.reload = status == 401;
            return Err(Reply::Refused {
                status,
                retry_after_ms: answer.retry_after_ms,
                current: None,
            });
        }
        let connection = rest.or(kept.ok()).ok_or(Reply::Unreached)?;
        let said = (answer.status == Some(200)).then_some(&answer.body);
        let version = said.and_then(|body| serde_json::from_slice(body).ok());
        Ok((version, connection))
    }

    /// Closes the idle connection with this cause.
    async fn lose(&mut self, cause: Cause) {
        if let Some(Link { id, connection, .. }) = self.idle.take() {
            self.close(id, connection, cause).await;
        }
    }

    async fn close(&mut self, id: ConnectionId, connection: Connection, cause: Cause) {
        let is_shared = connection.is_shared();
        drop(connection);
        self.closed(id, is_shared, cause).await;
    }

    /// Records the end of a connection. A shared connection records its own end.
    async fn closed(&mut self, connection: ConnectionId, is_shared: bool, cause: Cause) {
        if !is_shared {
            let event = ConnectionClosed::unasked(connection, cause);
            let _ = self.log.append(Event::from(event)).await;
        }
    }
}

/// Waits for the end of the idle connection. Cancel safe.
async fn ended(idle: &mut Option<Link>) -> BodyEnd {
    match idle {
        Some(link) => link.connection.ended().await,
        None => std::future::pending().await,
    }
}

/// Sends a request. Returns the answer, and the connection if it can be used again, else the cause of its end.
async fn exchange(
    connection: Connection,
    message: Request<Bytes>,
) -> (Answer, Result<Connection, Cause>) {
    let response = match connection.send(message, PATIENCE).await {
        Ok(response) => response,
        Err(error) => {
            let answer = Answer {
                status: None,
                headers: Headers::default(),
                retry_after_ms: None,
                body: Bytes::new(),
                error: Some(error.to_string()),
            };
            return (answer, Err(Cause::Eof));
        }
    };
    let (status, headers) = (response.status.as_u16(), headers_of(&response.headers));
    let (body, error, kept) = match response.body.collect(BODY_LIMIT, PATIENCE).await {
        Ok((body, kept)) => (body, None, kept.ok_or(Cause::Eof)),
        Err(error) => {
            let cause = match &error {
                CollectError::Ended(end) => cause_of(end),
                _ => Cause::Cancelled,
            };
            (Bytes::new(), Some(error.to_string()), Err(cause))
        }
    };
    // Only a refusal has a Status with a wait. Other bodies are long and are not searched for one.
    let retry_after_ms = (status != 200).then(|| asked_to_wait_ms(&headers, &body));
    let answer = Answer {
        status: Some(status),
        headers,
        retry_after_ms: retry_after_ms.flatten(),
        body,
        error,
    };
    (answer, kept)
}

impl Answer {
    fn event(&self, read: &Read, request: RequestId) -> RequestAnswered {
        RequestAnswered {
            watch: read.lane.clone(),
            request,
            status: self.status,
            headers: headers_worth_keeping(self.headers.clone()),
            retry_after_ms: self.retry_after_ms,
            error: self.error.clone(),
            error_text: None,
        }
    }

    fn reply(self, read: &Read) -> Reply {
        read.reply(
            self.status.filter(|_| self.error.is_none()),
            self.retry_after_ms,
            || read_current(&self.body),
            || read_object(&self.body),
            || read_page(&self.body),
            || read_watch(&self.body),
        )
    }
}
