//! The interface of a hub: all that `web` uses of it. Another source of a log can implement it beside [`super::LogHub`].
//!
//! `web` carries whole messages and decides nothing. A hub never sees a socket, a header or axum.

use std::future::Future;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use watchscope_model::LogId;
use watchscope_search::{KeptFrom, QueryError};

/// Lines of the JSON form. Each chunk is one or more whole lines with their line feeds.
///
/// The stream is pulled: `web` polls for the next chunk only when the connection has taken the last one. It drops the stream
/// when the connection ends.
pub type JsonLines = BoxStream<'static, Bytes>;

/// A hub: a cheap handle that is cloned for each request.
pub trait Hub: Clone + Send + Sync + 'static {
    /// The hub's side of one viewer's conversation.
    type Viewer: Viewer;

    /// Makes a viewer of a session that has just connected and has sent nothing yet.
    fn viewer(&self, session: SessionId) -> Self::Viewer;

    /// The SHA-256 of the one ended file that the log is, in hex digits; `None` for any other log.
    fn source(&self) -> Option<&str> {
        None
    }

    /// `/api/records`: the log in the JSON form, first what is kept, then live. It starts after `since` (`EPOCH.SEQ`, of any
    /// run that is kept), or at the first record in memory. Each run begins with its own `log` line. The stream ends when
    /// the hub shuts down, or when `web` cuts it at the drain deadline.
    ///
    /// # Errors
    /// [`BadPosition`] if `since` is not of the form `EPOCH.SEQ`.
    fn records(&self, since: Option<&str>) -> Result<JsonLines, BadPosition>;

    /// `/api/state`: the fold at the head; then the stream ends.
    fn state(&self) -> JsonLines;

    /// `/api/notes`: the notes of persons, of all runs that are kept, in the order in which they were written. They may have
    /// to be read from files.
    fn notes(&self, form: NotesForm) -> impl Future<Output = Bytes> + Send;

    /// `/api/search`: the records that match a query, the newest first, as JSON lines; the last line says where to go on. One
    /// search a session: a new one ends the one before, and so does a dropped stream.
    ///
    /// # Errors
    /// See [`SearchError`].
    fn search(&self, session: SessionId, request: SearchRequest) -> Result<JsonLines, SearchError>;

    /// `/api/objects/EPOCH.SEQ`: the redacted body of the change at that position, as JSON. It may have to be read from a
    /// file.
    ///
    /// # Errors
    /// See [`ObjectError`].
    fn object(
        &self,
        epoch: &str,
        seq: u64,
    ) -> impl Future<Output = Result<Bytes, ObjectError>> + Send;
}

/// The number of a session. No other session of this process has had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(
    /// The number.
    pub u64,
);

/// The form of the answer with all notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotesForm {
    /// JSON lines.
    Lines,
    /// The block `N` of a recording ([`watchscope_model::notes::decode_notes`]), for the page.
    Block,
}

/// One viewer: it takes the viewer's messages and returns those for it. The hub owns windows, acknowledgements and
/// heartbeats.
pub trait Viewer: Send + 'static {
    /// Takes one whole binary message of at most 64 KiB.
    ///
    /// # Errors
    /// The close to send; the connection then ends.
    fn receive(&mut self, message: Bytes) -> Result<(), Close>;

    /// Returns the next message if there is one. It saves the cost of a wait, which is most of a viewer's cost.
    fn ready(&mut self) -> Option<Outgoing>;

    /// Waits for the next message. It must be cancel safe: `web` drops the future whenever the viewer sends something.
    ///
    /// `web` polls again only after the last message has left for the socket's buffer. So a viewer that does not read costs
    /// one message, and the write deadline cuts it off.
    fn next(&mut self) -> impl Future<Output = Outgoing> + Send;
}

/// One thing to send to a viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// One binary message, at most 64 KiB.
    Message(Bytes),
    /// The end of the conversation, after all messages before it.
    Close(Close),
}

/// A WebSocket close: its code (RFC 6455 section 7.4) and a reason for people. At most 123 bytes of the reason are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// The close code.
    pub code: u16,
    /// The reason, in words.
    pub reason: String,
}

/// Error: `since` is not a position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "since: {position:?} is not a position of this log; use EPOCH.SEQ as the lines of /api/records give them"
)]
pub struct BadPosition {
    /// The value as given.
    pub position: String,
}

/// The parameters of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchRequest {
    /// The text to look for.
    pub query: String,
    /// The name of the log; absent: the server's.
    pub log: Option<String>,
    /// The position (`EPOCH.SEQ`) before which the search begins; absent: at the head.
    pub before: Option<String>,
}

/// Why a search is not begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The text is no query (400).
    #[error("q: {0}")]
    Query(#[from] QueryError),
    /// `before` is no position of this log (400).
    #[error(
        "before: {position:?} is not a position of this log; use EPOCH.SEQ, as `next` of a search gives it"
    )]
    BadPosition {
        /// The value as given.
        position: String,
    },
    /// There is no such log (404).
    #[error("log: there is no log {asked:?} here; there is {known}")]
    UnknownLog {
        /// The name as given.
        asked: String,
        /// The server's log.
        known: LogId,
    },
    /// No record before the position is kept (410).
    #[error("not kept; kept from {}.{}", from.epoch, from.seq)]
    NotKept {
        /// The first record that is kept.
        from: KeptFrom,
    },
}

/// Why a body cannot be returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The body was dropped to make room for newer ones (410).
    #[error("this body was dropped to stay within the body budget; --memory raises it")]
    Gone,
    /// No record with a body has that position (404).
    #[error("no record with a body has this position")]
    Unknown,
    /// The body is in a file that cannot be read (500).
    #[error("this body cannot be read: {reason}")]
    NotRead {
        /// The file, and what is wrong with it.
        reason: String,
    },
}
