//! The hub's interface: all that `web` uses of it. Another source of a log implements it beside [`super::LogHub`].
//!
//! `web` moves whole messages and decides nothing; a hub never sees a socket, a header or axum.

use std::future::Future;

use bytes::Bytes;
use futures_util::stream::BoxStream;

/// Lines of the JSON form, each chunk one or more whole lines with their line feeds.
///
/// The stream is pulled: `web` asks for the next chunk only when the connection has taken the last one, and drops the
/// stream when the connection ends.
pub type JsonLines = BoxStream<'static, Bytes>;

/// A hub: a cheap handle, cloned per request.
pub trait Hub: Clone + Send + Sync + 'static {
    /// One viewer's side of the conversation.
    type Viewer: Viewer;

    /// A viewer of a session that has just connected; it has said nothing yet.
    fn viewer(&self, session: SessionId) -> Self::Viewer;

    /// `/api/records`: the log in the JSON form from `since` (`EPOCH.SEQ`, of any run that is kept), or from the first record
    /// in memory, then live. Each run begins with its own `log` line. It ends when the hub shuts down, or `web` cuts it at the drain deadline.
    ///
    /// # Errors
    /// [`BadPosition`] when `since` is not of the form `EPOCH.SEQ`.
    fn records(&self, since: Option<&str>) -> Result<JsonLines, BadPosition>;

    /// `/api/state`: the fold at the head, then the end.
    fn state(&self) -> JsonLines;

    /// `/api/notes`: the notes of persons of all runs that are kept, in the order in which they were written. They may be
    /// read from files.
    fn notes(&self, form: NotesForm) -> impl Future<Output = Bytes> + Send;

    /// `/api/objects/EPOCH.SEQ`: the redacted body of the change with that position, as JSON. It may be read from a file.
    ///
    /// # Errors
    /// See [`ObjectError`].
    fn object(
        &self,
        epoch: &str,
        seq: u64,
    ) -> impl Future<Output = Result<Bytes, ObjectError>> + Send;
}

/// A session, as far as a hub tells it from others: no other of this process had the number before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(
    /// Its number.
    pub u64,
);

/// How notes are written for whoever asks for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotesForm {
    /// JSON lines.
    Lines,
    /// As a recording holds them in its block `N` ([`watchscope_model::notes::decode_notes`]), for the page.
    Block,
}

/// One viewer: what it said goes in, what it gets comes out. The hub owns windows, acknowledgements and heartbeats.
pub trait Viewer: Send + 'static {
    /// Takes one whole binary message of at most 64 KiB.
    ///
    /// # Errors
    /// The close to answer with; the connection ends.
    fn receive(&mut self, message: Bytes) -> Result<(), Close>;

    /// The next thing to send, if it is there already; to wait for nothing costs most of what a viewer costs.
    fn ready(&mut self) -> Option<Outgoing>;

    /// Waits for the next thing to send. Must be cancel safe: `web` drops the future whenever the viewer says something.
    ///
    /// `web` asks again only after the message before has left for the socket's buffer, so a viewer that does not
    /// read costs one message, and is cut off by the write deadline.
    fn next(&mut self) -> impl Future<Output = Outgoing> + Send;
}

/// One thing to send to a viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// One binary message, at most 64 KiB.
    Message(Bytes),
    /// The end, after everything sent before.
    Close(Close),
}

/// A WebSocket close: its code (RFC 6455 section 7.4) and a reason for people, of which 123 bytes are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// The close code.
    pub code: u16,
    /// Why, in words.
    pub reason: String,
}

/// `since` was not a position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "since: {position:?} is not a position of this log; use EPOCH.SEQ as the lines of /api/records give them"
)]
pub struct BadPosition {
    /// The text that was given.
    pub position: String,
}

/// Why there is no body to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// There was one, and its memory was needed for newer ones (410).
    #[error("this body was dropped to stay within the body budget; --memory raises it")]
    Gone,
    /// No record of that position carries a body (404).
    #[error("no record with a body has this position")]
    Unknown,
    /// It is in a file that cannot be read (500).
    #[error("this body cannot be read: {reason}")]
    NotRead {
        /// Why: the file, and what is wrong with it.
        reason: String,
    },
}
