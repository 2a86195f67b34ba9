//! The StreamWatcher, which decodes a watch's bytes and their end into events for a Go program (apimachinery
//! `streamwatcher.go`).

use super::super::transport::Failure;
use super::super::wire::{Document, Frame, Frames};
use super::ClientGo;

/// How a watch's body really ended, whatever the program learns of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawEnd {
    /// The body ended in an orderly way.
    End,
    /// The body ended with this failure, such as that of its connection.
    Failed(Failure),
    /// The body had bytes that are not a frame.
    Undecodable,
}

/// The decoder of one watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamWatcher {
    frames: Frames,
}

impl StreamWatcher {
    /// Returns the events that these bytes complete. Returns an `Err`, which ends the watch, if the bytes are not
    /// frames.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, RawEnd> {
        self.frames.take(bytes).map_err(|_| RawEnd::Undecodable)
    }

    /// Returns what the program gets before its result channel is closed: nothing (`None`), or an ERROR 500 that the
    /// client makes itself.
    ///
    /// Since 1.15.0 every read error becomes an ERROR event, except the errors of `IsProbableEOF`. These are an end of
    /// file, in a frame or not, a reset, and a connection that the client closed. Since the releases of
    /// [`ClientGo::swallows_timeouts`], timeouts are excepted, too. Versions before 1.15.0 only write a log line.
    /// Source: docs/semantics/clients.md#read-errors.
    pub(crate) fn end(raw: RawEnd, version: ClientGo) -> Option<Document> {
        let what = match raw {
            RawEnd::End | RawEnd::Failed(Failure::Eof | Failure::Reset) => return None,
            RawEnd::Failed(Failure::Timeout) if version.swallows_timeouts() => return None,
            RawEnd::Failed(Failure::Timeout) => "read tcp: connection timed out",
            RawEnd::Failed(Failure::Refused) => "connection refused",
            RawEnd::Failed(Failure::Lost) => "http2: client connection lost",
            RawEnd::Failed(Failure::StreamReset) => "stream error: received from peer",
            RawEnd::Undecodable => "invalid character in the stream",
        };
        version
            .reports_read_errors()
            .then(|| Document::client_watch_decoding(what))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::wire::Refusal;
    use super::*;

    fn reported(raw: RawEnd, version: &str) -> Option<(u16, String)> {
        let version = version.parse().expect("a version");
        let reported = Refusal::of_event(StreamWatcher::end(raw, version)?);
        Some((reported.code, reported.reason))
    }

    #[test]
    fn resets_and_ends_of_file_are_swallowed_by_every_version() {
        for raw in [
            RawEnd::End,
            RawEnd::Failed(Failure::Reset),
            RawEnd::Failed(Failure::Eof),
        ] {
            for version in ["1.9", "1.15", "1.36"] {
                assert_eq!(reported(raw, version), None);
            }
        }
    }

    #[test]
    fn every_other_read_error_is_error_500_since_1_15_0() {
        for raw in [
            RawEnd::Undecodable,
            RawEnd::Failed(Failure::Lost),
            RawEnd::Failed(Failure::StreamReset),
        ] {
            for version in ["1.15.0", "1.36"] {
                assert_eq!(
                    reported(raw, version),
                    Some((500, "InternalError".to_owned()))
                );
            }
            assert_eq!(reported(raw, "1.14"), None, "a log line only");
        }
    }

    #[test]
    fn a_timeout_was_error_500_too_until_each_minor_version_fixed_it() {
        let timeout = RawEnd::Failed(Failure::Timeout);
        for version in ["1.15.11", "1.16.8", "1.17.4", "1.18.1"] {
            assert_eq!(reported(timeout, version).map(|(code, _)| code), Some(500));
        }
        for version in [
            "1.14", "1.15.12", "1.16.9", "1.17.5", "1.18.2", "1.19.0", "1.36",
        ] {
            assert_eq!(reported(timeout, version), None);
        }
    }
}
