//! A viewer without a page: it reads the WebSocket as the page does, and acknowledges as the page does.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::time::{Interval, interval};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::wire::{
    ACKNOWLEDGE_BYTES, ACKNOWLEDGE_MS, Acknowledge, ClientMessage, Hello, Joiner, PROTOCOL_VERSION,
    ServerMessage, decode_server, encode_client,
};
use watchscope_model::{Record, Seq};

/// The bytes of the socket's read buffer. The library clears the whole buffer before each read; with its default of
/// 128 KiB that would be most of a viewer's work.
const READ_BYTES: usize = 4 << 10;
/// The most bytes of a message that comes in pieces. A longer one is an error.
const MESSAGE_BYTES: usize = 64 << 20;

/// What a viewer does with the records of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoding {
    /// It decodes each.
    All,
    /// It reads the segment's header and its definitions, and checks that the seqs go on without a hole.
    Headers,
}

/// What the next messages brought.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// The snapshot at which the viewer joined.
    Joined,
    /// A segment.
    Segment {
        /// The seq of its first record.
        first: Seq,
        /// The seq after its last record.
        end: Seq,
        /// The records; empty with [`Decoding::Headers`].
        records: Vec<Record>,
    },
    /// The server has passed over this many records.
    Moved(u64),
}

/// A connected viewer.
#[derive(Debug)]
pub struct Viewer {
    socket: WebSocketStream<TcpStream>,
    decoding: Decoding,
    joiner: Joiner,
    live: Option<ChapterReader>,
    tick: Interval,
    bytes: u64,
    acknowledged: u64,
}

impl Viewer {
    /// Connects to a server on loopback with a bearer token, and greets it.
    ///
    /// # Errors
    /// If the server does not accept the connection.
    pub async fn connect(address: SocketAddr, bearer: &str, decoding: Decoding) -> Result<Self> {
        let mut request = format!("ws://{address}/ws").into_client_request()?;
        let headers = request.headers_mut();
        headers.insert("authorization", bearer.parse()?);
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
        let (socket, _) = client_async_with_config(request, stream, Some(config)).await?;
        let mut viewer = Self {
            socket,
            decoding,
            joiner: Joiner::new(MESSAGE_BYTES),
            live: None,
            tick: interval(Duration::from_millis(ACKNOWLEDGE_MS)),
            bytes: 0,
            acknowledged: 0,
        };
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: None,
            last: None,
        };
        viewer.say(hello).await?;
        Ok(viewer)
    }

    async fn say(&mut self, message: impl Into<ClientMessage>) -> Result<()> {
        let message = Message::Binary(encode_client(&message.into()).into());
        Ok(self.socket.send(message).await?)
    }

    /// Returns the next snapshot, segment or jump. Other messages are passed over.
    ///
    /// # Errors
    /// If the connection ends, or a message cannot be read; also if a segment does not begin with the seq after the
    /// last one.
    pub async fn next(&mut self) -> Result<Delivery> {
        loop {
            let (mut found, mut is_due) = (None, false);
            tokio::select! {
                message = self.socket.next() => {
                    if let Message::Binary(message) = message.context("the server has gone")?? {
                        self.bytes += message.len() as u64;
                        found = self.take(&message)?;
                        is_due = self.bytes - self.acknowledged >= ACKNOWLEDGE_BYTES;
                    }
                }
                _ = self.tick.tick() => is_due = self.bytes > self.acknowledged,
            };
            if is_due {
                self.acknowledged = self.bytes;
                self.say(Acknowledge { bytes: self.bytes }).await?;
            }
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }

    fn take(&mut self, message: &[u8]) -> Result<Option<Delivery>> {
        let (message, data) = decode_server(message)?.context("an unknown message")?;
        Ok(match message {
            ServerMessage::Piece(piece) => match self.joiner.push(&piece, data)? {
                Some(whole) => self.take(&whole)?,
                None => None,
            },
            ServerMessage::Snapshot(_) => {
                self.live = Some(ChapterReader::open(data)?.0);
                Some(Delivery::Joined)
            }
            ServerMessage::Segment(_) => {
                let live = self.live.as_mut().context("a segment before a snapshot")?;
                let first = live.next_seq();
                let records = match self.decoding {
                    Decoding::All => live.segment(data)?,
                    Decoding::Headers => {
                        live.skip(data)?;
                        Vec::new()
                    }
                };
                let records: Option<Vec<Record>> = records.into_iter().collect();
                Some(Delivery::Segment {
                    first,
                    end: live.next_seq(),
                    records: records.context("an unknown record")?,
                })
            }
            ServerMessage::Moved(moved) => Some(Delivery::Moved(moved.to.0 - moved.from.0 + 1)),
            ServerMessage::Bye(bye) => bail!("sent away: {}", bye.reason),
            _ => None,
        })
    }
}
