//! The simulated apiserver on sockets: HTTP around the simulated cluster's structured messages.
//!
//! It has a listener of its own, over hyper's server connection for HTTP/1.1 (`http1`) and h2's for HTTP/2 (`http2`). It
//! must be able to reset a connection, to end one without the body's end, and to cut inside a frame. It must also send
//! GOAWAY and RST_STREAM. A client's first bytes decide the protocol. HTTP/2 comes with "prior knowledge", since there is no
//! TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use watchscope_simulator::ConnectionId;

use super::exchange::FIRST_WORD_LIMIT;
use super::pump::{Ask, Pump, Wire};
use super::{http1, http2};

/// The most connections served at once. The next one waits in the kernel's queue.
const MAX_CONNECTIONS: usize = 512;
/// The first bytes of a client of HTTP/2. No request of HTTP/1.1 begins with them.
const HTTP2_BEGINS: &[u8; 4] = b"PRI ";

/// The wait before accepting or listening is tried again after a failure.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Serves the simulated cluster behind `pump` until dropped. While the simulated apiserver refuses connections, nothing
/// listens at `address`.
pub(super) async fn serve(mut listener: TcpListener, address: SocketAddr, pump: Pump) {
    let seats = Arc::new(tokio::sync::Semaphore::new(MAX_CONNECTIONS));
    let mut conversations = tokio::task::JoinSet::new();
    let mut refusing = pump.refusing();
    loop {
        if *refusing.borrow_and_update() {
            drop(listener);
            // An error means that the simulated cluster has ended.
            if refusing.wait_for(|refuses| !refuses).await.is_err() {
                return;
            }
            listener = loop {
                match TcpListener::bind(address).await {
                    Ok(listener) => break listener,
                    Err(_) => tokio::time::sleep(RETRY_AFTER).await,
                }
            };
        }
        let seat = Arc::clone(&seats).acquire_owned().await;
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Ok(()) = refusing.changed() => continue,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(RETRY_AFTER).await;
            continue;
        };
        while conversations.try_join_next().is_some() {}
        let pump = pump.clone();
        conversations.spawn(async move {
            converse(stream, pump).await;
            drop(seat);
        });
    }
}

/// Serves one connection from accept to its end.
async fn converse(stream: TcpStream, pump: Pump) {
    let _ = stream.set_nodelay(true);
    let (reply, wire) = oneshot::channel();
    if !pump.ask(Ask::Connect(reply)).await {
        return;
    }
    let Ok(Wire {
        connection,
        deliveries,
    }) = wire.await
    else {
        return;
    };
    let _closes = CloseOnDrop {
        pump: pump.clone(),
        connection,
    };
    let Ok(is_http2) = timeout(FIRST_WORD_LIMIT, begins_http2(&stream)).await else {
        return;
    };
    // The stream stays accessible, so that it can be reset instead of closed.
    let stream = Arc::new(stream);
    if is_http2 {
        http2::converse(stream, pump, connection, deliveries).await;
    } else {
        http1::converse(stream, pump, connection, deliveries).await;
    }
}

/// Whether a client's first bytes are those of HTTP/2.
async fn begins_http2(stream: &TcpStream) -> bool {
    let mut first = [0; HTTP2_BEGINS.len()];
    loop {
        match stream.peek(&mut first).await {
            Ok(count) if count == first.len() => return &first == HTTP2_BEGINS,
            Ok(count) if count > 0 && HTTP2_BEGINS.starts_with(&first[..count]) => {
                // Only a part has arrived, and no event announces the rest.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            _ => return false,
        }
    }
}

/// Reports to the simulated cluster that a client has closed.
struct CloseOnDrop {
    pump: Pump,
    connection: ConnectionId,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.pump.ask_now(Ask::Close(self.connection));
    }
}
