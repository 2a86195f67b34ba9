//! A byte stream that remembers how it ended, because hyper's errors do not say it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::error::{BodyEnd, TlsFailure};

/// A byte stream to a server: TCP, or TLS over it, or either through a proxy.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// How reading ended. The [`Tap`] writes it once, and the connection that owns the tap reads it. A failed write is kept
/// apart, because the server may have answered before it closed.
#[derive(Debug, Default)]
pub(super) struct Ending {
    read: OnceLock<BodyEnd>,
    write: OnceLock<BodyEnd>,
}

impl Ending {
    /// Returns the end of reading if there was one, else that of writing.
    pub(super) fn get(&self) -> Option<BodyEnd> {
        self.read.get().or_else(|| self.write.get()).cloned()
    }
}

/// Passes bytes through and notes the end.
pub(super) struct Tap {
    io: Box<dyn Io>,
    ending: Arc<Ending>,
}

impl Tap {
    pub(super) fn new(io: Box<dyn Io>) -> (Self, Arc<Ending>) {
        let ending = Arc::new(Ending::default());
        (
            Self {
                io,
                ending: Arc::clone(&ending),
            },
            ending,
        )
    }

    fn note_write<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &result {
            self.ending.write.get_or_init(|| end_of(error));
        }
        result
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        let has_room = buffer.remaining() > 0;
        let result = Pin::new(&mut self.io).poll_read(cx, buffer);
        match &result {
            Poll::Ready(Ok(())) if has_room && buffer.filled().len() == filled_before => {
                self.ending.read.get_or_init(|| BodyEnd::Eof {
                    is_unclean_tls: false,
                });
            }
            Poll::Ready(Err(error)) => {
                self.ending.read.get_or_init(|| end_of(error));
            }
            _ => {}
        }
        result
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.note_write(result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_flush(cx);
        self.note_write(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

fn end_of(error: &io::Error) -> BodyEnd {
    if let Some(tls) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        return BodyEnd::Tls {
            failure: TlsFailure::from_rustls(tls),
        };
    }
    match error.kind() {
        // Only the TLS layer reports a missing end in this way. Plain TCP reads zero bytes.
        io::ErrorKind::UnexpectedEof => BodyEnd::Eof {
            is_unclean_tls: true,
        },
        // A dead connection is no reset, since no packet said so.
        io::ErrorKind::TimedOut
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => BodyEnd::GivenUp {
            detail: error.to_string(),
        },
        _ => BodyEnd::TcpReset {
            detail: error.to_string(),
        },
    }
}
