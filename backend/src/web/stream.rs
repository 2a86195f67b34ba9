//! A TCP stream with a write deadline. It returns to its connection's task when HTTP or WebSocket is done with it.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep, timeout};

/// The time in which a closed connection may still send.
const LINGER: Duration = Duration::from_secs(1);
/// The bytes that it may still send.
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// A stream whose writes fail once the other side has taken no byte within the deadline.
///
/// This one rule covers every reader that stops reading, whether it is sent the page, JSON lines or WebSocket messages.
#[derive(Debug)]
pub(super) struct GuardedStream {
    /// Present until drop.
    stream: Option<TcpStream>,
    home: Option<oneshot::Sender<TcpStream>>,
    deadline: Duration,
    /// Set while a write waits.
    stall: Option<Pin<Box<Sleep>>>,
}

impl GuardedStream {
    /// Returns the guarded stream, and a receiver that gets the plain one back.
    pub(super) fn new(
        stream: TcpStream,
        deadline: Duration,
    ) -> (Self, oneshot::Receiver<TcpStream>) {
        let (home, back) = oneshot::channel();
        (
            Self {
                stream: Some(stream),
                home: Some(home),
                deadline,
                stall: None,
            },
            back,
        )
    }

    fn stream(&mut self) -> Pin<&mut TcpStream> {
        Pin::new(
            self.stream
                .as_mut()
                .expect("the stream is there until drop"),
        )
    }

    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let deadline = self.deadline;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(deadline)));
        stall
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Drop for GuardedStream {
    fn drop(&mut self) {
        if let (Some(stream), Some(home)) = (self.stream.take(), self.home.take()) {
            // If the connection was cut, nobody waits for the stream, and it closes here.
            let _ = home.send(stream);
        }
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buf)
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}

/// Closes so that the last bytes arrive. The kernel answers unread bytes with a reset, and a reset destroys what the other
/// side has not read yet (RFC 9112 section 9.6).
pub(super) async fn linger(mut stream: TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut buffer = vec![0; 16 * 1024];
    let mut left = LINGER_BYTES;
    let listen = async {
        while left > 0 {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(read) => left = left.saturating_sub(read),
            }
        }
    };
    let _ = timeout(LINGER, listen).await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn writes_to_a_reader_that_takes_nothing_fail_and_those_to_one_that_reads_do_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut reader = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let (mut guarded, mut back) = GuardedStream::new(stream, Duration::from_millis(300));
        let chunk = vec![7; 1 << 20];
        let mut read = vec![0; 1 << 20];
        for _ in 0..8 {
            let (written, received) =
                tokio::join!(guarded.write_all(&chunk), reader.read_exact(&mut read));
            written.unwrap();
            received.unwrap();
        }
        let stuck = async {
            loop {
                if let Err(error) = guarded.write_all(&chunk).await {
                    return error;
                }
            }
        };
        let error = timeout(Duration::from_secs(8), stuck)
            .await
            .expect("the write fails");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(guarded);
        assert!(back.try_recv().is_ok());
    }
}
