//! A relay between watchscope and a server; a test can break its connections in several forms, and mend them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

/// The most bytes that a buffer holds; at this size it passes them on at once.
const BUFFER_BYTES: usize = 1 << 20;

/// The trouble of the relay's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Nothing,
    /// All connections are reset, and so is each new one.
    Cut,
    /// The connections up to this number are reset.
    Reset(u64),
    /// The connections up to this number stay open, and nothing passes in either direction until that moment, when all
    /// of it does.
    /// `None`: without an end.
    Silent(u64, Option<Instant>),
    /// The connections up to this number end in good order after this many further bytes from the server, which still
    /// pass.
    Torn(u64, usize),
    /// The server's bytes are held back for this time, and then pass at once, on the connections up to this number.
    Buffered(u64, Duration),
}

impl Trouble {
    /// Whether the connection of this number has the trouble.
    fn is_of(self, number: u64) -> bool {
        match self {
            Self::Nothing => false,
            Self::Cut => true,
            Self::Silent(_, Some(until)) if until <= Instant::now() => false,
            Self::Reset(last)
            | Self::Silent(last, _)
            | Self::Torn(last, _)
            | Self::Buffered(last, _) => number <= last,
        }
    }
}

/// A relay that passes connections on byte by byte. It does not read what they carry, except for the request that it
/// may hold.
pub(crate) struct Relay {
    /// Its address: `127.0.0.1:PORT`.
    pub(crate) address: SocketAddr,
    trouble: watch::Sender<Trouble>,
    /// The number of connections so far.
    accepted: watch::Receiver<u64>,
    accepting: JoinHandle<()>,
    gate: Arc<Gate>,
}

/// A request that is held back, and the traffic meanwhile.
#[derive(Default)]
struct Gate {
    /// A request whose first line contains this text is held until it is let through.
    held: Option<&'static str>,
    is_open: watch::Sender<bool>,
    /// All bytes from servers; kept only if a request may be held.
    told: Mutex<Vec<u8>>,
    /// All bytes from clients: requests, which are small.
    asked: Mutex<Vec<u8>>,
}

impl Relay {
    pub(crate) async fn to(target: &str) -> Result<Self> {
        Self::with(target, Gate::default()).await
    }

    /// Starts a relay that holds requests whose first line contains `held`, until [`Self::let_through`].
    pub(crate) async fn holding(target: &str, held: &'static str) -> Result<Self> {
        let held = Some(held);
        let gate = Gate {
            held,
            ..Gate::default()
        };
        Self::with(target, gate).await
    }

    async fn with(target: &str, gate: Gate) -> Result<Self> {
        let gate = Arc::new(gate);
        let of_all = Arc::clone(&gate);
        let target: SocketAddr = target.parse()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (trouble, troubles) = watch::channel(Trouble::Nothing);
        let (counting, accepted) = watch::channel(0);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counting.send_modify(|accepted| *accepted += 1);
                let number = *counting.borrow();
                let gate = Arc::clone(&of_all);
                tokio::spawn(pass_on(stream, target, number, troubles.clone(), gate));
            }
        });
        Ok(Self {
            address,
            trouble,
            accepted,
            accepting,
            gate,
        })
    }

    /// Its origin: `http://127.0.0.1:PORT`.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Resets all connections, and each new one, until [`Self::mend`].
    pub(crate) fn cut(&self) {
        self.trouble.send_replace(Trouble::Cut);
    }

    /// Lets new connections pass. Connections that were silenced without an end stay silent.
    pub(crate) fn mend(&self) {
        self.trouble.send_replace(Trouble::Nothing);
    }

    /// Resets the open connections.
    pub(crate) fn reset(&self) {
        self.trouble.send_replace(Trouble::Reset(self.so_far()));
    }

    /// Lets nothing more pass over the open connections.
    pub(crate) fn silence(&self) {
        self.trouble
            .send_replace(Trouble::Silent(self.so_far(), None));
    }

    /// Lets nothing pass over the open connections for this time, and then all that waited.
    pub(crate) fn stall(&self, time: Duration) {
        let until = Instant::now() + time;
        self.trouble
            .send_replace(Trouble::Silent(self.so_far(), Some(until)));
    }

    /// Lets the held requests through.
    pub(crate) fn let_through(&self) {
        self.gate.is_open.send_replace(true);
    }

    /// Returns all answers of servers so far; empty unless a request may be held.
    pub(crate) fn told(&self) -> String {
        text(&self.gate.told)
    }

    /// Returns all bytes that clients have sent so far; readable only without TLS.
    pub(crate) fn asked(&self) -> String {
        text(&self.gate.asked)
    }

    /// Ends the open connections in good order after `bytes` further bytes from the server, which still pass.
    pub(crate) fn tear_after(&self, bytes: usize) {
        self.trouble
            .send_replace(Trouble::Torn(self.so_far(), bytes));
    }

    /// Holds the server's bytes on the open connections back: for `time` after the first byte, or until they are 1 MiB.
    /// Then they pass at once, and the next ones are held.
    pub(crate) fn buffer(&self, time: Duration) {
        self.trouble
            .send_replace(Trouble::Buffered(self.so_far(), time));
    }

    fn so_far(&self) -> u64 {
        *self.accepted.borrow()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn pass_on(
    mut stream: TcpStream,
    target: SocketAddr,
    number: u64,
    mut troubles: watch::Receiver<Trouble>,
    gate: Arc<Gate>,
) -> Result<()> {
    let mut server = TcpStream::connect(target).await?;
    let (mut up, mut down) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    // For a torn connection, the bytes that still pass. For a buffered one, the time, the held bytes, and when they are
    // due.
    let mut left: Option<usize> = None;
    let mut hold: Option<Duration> = None;
    let mut held = Vec::new();
    let mut due: Option<Instant> = None;
    loop {
        tokio::select! {
            biased;
            trouble = happens(&mut troubles, number), if left.is_none() && hold.is_none() => match trouble {
                Some(Trouble::Silent(_, until)) => {
                    let cut = troubles.wait_for(|trouble| *trouble == Trouble::Cut);
                    let is_over = match until {
                        // Bytes that wait in the sockets pass once they are read again.
                        Some(until) => timeout_at(until, cut).await.is_ok(),
                        None => {
                            let _ = cut.await;
                            true
                        }
                    };
                    if is_over {
                        break;
                    }
                }
                Some(Trouble::Torn(_, bytes)) => left = Some(bytes),
                Some(Trouble::Buffered(_, time)) => hold = Some(time),
                // With a zero linger time, closing sends RST instead of FIN.
                Some(Trouble::Cut | Trouble::Reset(_)) => break,
                Some(Trouble::Nothing) | None => return Ok(()),
            },
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                stream.write_all(&held).await?;
                held.clear();
                due = None;
            }
            read = stream.read(&mut up) => match read? {
                0 => return Ok(()),
                count => {
                    note(&gate.asked, &up[..count]);
                    if gate.holds(&up[..count]) {
                        gate.is_open.subscribe().wait_for(|is_open| *is_open).await?;
                    }
                    server.write_all(&up[..count]).await?;
                }
            },
            read = server.read(&mut down), if held.len() < BUFFER_BYTES => match (read?, left) {
                (0, _) => return Ok(()),
                (count, Some(bytes)) => {
                    gate.tells(&down[..count]);
                    let passing = count.min(bytes);
                    stream.write_all(&down[..passing]).await?;
                    left = Some(bytes - passing);
                    if passing == bytes {
                        // After FIN the relay reads what the client still sends, or the kernel would answer it with
                        // RST.
                        stream.shutdown().await?;
                        while stream.read(&mut up).await? > 0 {}
                        return Ok(());
                    }
                }
                (count, None) => {
                    gate.tells(&down[..count]);
                    match hold {
                        None => stream.write_all(&down[..count]).await?,
                        Some(time) => {
                            held.extend_from_slice(&down[..count]);
                            let now = Instant::now();
                            due.get_or_insert(now + time);
                            if held.len() >= BUFFER_BYTES {
                                due = Some(now);
                            }
                        }
                    }
                }
            },
        }
    }
    stream.set_zero_linger()?;
    Ok(())
}

impl Gate {
    /// Whether a client's bytes are a request to hold. Requests are small, so each arrives whole.
    fn holds(&self, sent: &[u8]) -> bool {
        let line = sent.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        self.held.is_some_and(|held| line.contains(held))
    }

    fn tells(&self, told: &[u8]) {
        if self.held.is_some() {
            note(&self.told, told);
        }
    }
}

fn note(all: &Mutex<Vec<u8>>, more: &[u8]) {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend_from_slice(more);
}

fn text(all: &Mutex<Vec<u8>>) -> String {
    let all = all.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&all).into_owned()
}

/// Waits until the connection has a trouble and returns it; `None` once the relay is gone.
async fn happens(troubles: &mut watch::Receiver<Trouble>, number: u64) -> Option<Trouble> {
    let trouble = troubles.wait_for(|trouble| trouble.is_of(number)).await;
    trouble.ok().map(|trouble| *trouble)
}
