//! The StreamWatcher: what a Go program is told of a watch's bytes and of their end (apimachinery `streamwatcher.go`).

use super::super::transport::Failure;
use super::super::wire::{Document, Frame, Frames};
use super::ClientGo;

/// How a watch's body really ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawEnd {
    /// In order.
    End,
    /// With its connection.
    Failed(Failure),
    /// In bytes that are no frame.
    Undecodable,
}

/// Decodes one watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamWatcher {
    frames: Frames,
}

impl StreamWatcher {
    /// The events in these bytes; `Err` if they are none, which ends the watch.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, RawEnd> {
        self.frames.take(bytes).map_err(|_| RawEnd::Undecodable)
    }

    /// What the program is told when the watch ends so, before its result channel is closed: nothing, or an ERROR of
    /// the client's own making. End of file, in a frame or not, a reset and a timeout are swallowed; the rest is told,
    /// since 1.15.
    pub(crate) fn end(raw: RawEnd, version: ClientGo) -> Option<Document> {
        let what = match raw {
            RawEnd::End | RawEnd::Failed(Failure::Eof | Failure::Reset | Failure::Timeout) => {
                return None;
            }
            RawEnd::Failed(Failure::Refused) => "connection refused",
            RawEnd::Failed(Failure::Lost) => "http2: client connection lost",
            RawEnd::Failed(Failure::StreamReset) => "stream error: received from peer",
            RawEnd::Undecodable => "invalid character in the stream",
        };
        version
            .reports_decode_errors()
            .then(|| Document::client_watch_decoding(what))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::wire::Refusal;
    use super::*;

    #[test]
    fn resets_and_ends_of_file_are_swallowed_and_undecodable_bytes_are_told() {
        for raw in [
            RawEnd::End,
            RawEnd::Failed(Failure::Reset),
            RawEnd::Failed(Failure::Eof),
            RawEnd::Failed(Failure::Timeout),
        ] {
            assert_eq!(StreamWatcher::end(raw, ClientGo::LATEST), None);
        }
        for raw in [RawEnd::Undecodable, RawEnd::Failed(Failure::Lost)] {
            let told = StreamWatcher::end(raw, ClientGo::LATEST);
            let error = Refusal::of_event(told.expect("it is told"));
            assert_eq!((error.code, error.reason.as_str()), (500, "InternalError"));
            assert_eq!(StreamWatcher::end(raw, ClientGo::V1_9), None);
        }
    }
}
