//! One server's reader: carries out the audit's reads of it, one at a time, over a connection of its own.

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

/// What the apiserver's own log and metrics know the audit by.
const OUR_USER_AGENT: &str = concat!("watchscope-audit/", env!("CARGO_PKG_VERSION"));
/// How long an answer may take to begin, and to end; a kube-apiserver cuts its own off after 60 s.
const PATIENCE: Duration = Duration::from_secs(75);
/// The longest answer that is read: a page of whole objects, where metadata alone cannot be had, may be longer.
const BODY_LIMIT: usize = 64 << 20;

/// Carries out reads of one server. Holds one connection and one answer.
pub(super) struct Reader {
    reads: mpsc::Receiver<Read>,
    pools: Pools,
    log: LogHandle,
    session: Option<Arc<Session>>,
    idle: Option<Link>,
    /// The credentials were refused.
    reload: bool,
}

/// A connection that reads go over.
struct Link {
    id: ConnectionId,
    connection: Connection,
    /// Those to the same apiserver.
    connections: Arc<Connections>,
}

/// An answer, or why there is none.
struct Answer {
    status: Option<u16>,
    headers: Headers,
    /// What a refusal asks us to wait.
    retry_after_ms: Option<u64>,
    body: Bytes,
    error: Option<String>,
}

/// Waits for the next read; none when it is time to stop, or nobody asks any more. Losing the wait loses nothing.
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

    /// Reads until stopped, or until nobody asks any more.
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
        // A log that is closed ends the process.
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

    /// A request of the audit's.
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

    /// The connection kept if it leads to a watch's apiserver, or another, whose server was asked for its version: of
    /// the servers of a cluster each may have one of its own, and what a read may hide depends on it.
    ///
    /// # Errors
    /// What there is instead of an answer, without a connection.
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

    /// What the server that answers on a connection says of its version, if it says it, and the connection.
    ///
    /// # Errors
    /// Where it says nothing now, but may later: it is busy, or does not know us, or the connection is over.
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

    /// The connection kept is gone, or given up.
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

    /// Tells of a connection's end; a shared one tells of it itself.
    async fn closed(&mut self, connection: ConnectionId, is_shared: bool, cause: Cause) {
        if !is_shared {
            let event = ConnectionClosed::unasked(connection, cause);
            let _ = self.log.append(Event::from(event)).await;
        }
    }
}

/// Waits for the end of the connection kept; losing the wait loses nothing.
async fn ended(idle: &mut Option<Link>) -> BodyEnd {
    match idle {
        Some(link) => link.connection.ended().await,
        None => std::future::pending().await,
    }
}

/// Sends a request; the answer, and the connection if it can be used again, else how it ended.
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
    // The body of what is no refusal is long, and no Status.
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
