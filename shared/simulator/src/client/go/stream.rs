//! The StreamWatcher, which decodes a watch's bytes and their end into events for a Go program (apimachinery
//! `streamwatcher.go`).

use super::super::channel::{ChannelEnd, LogLine, WireEnd};
use super::super::transport::Failure;
use super::super::wire::{Document, EventType, Frame, Frames};
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
    /// The code of the last ERROR event; `None` before the first.
    error: Option<u16>,
}

impl StreamWatcher {
    /// Returns the events that these bytes complete. Returns an `Err`, which ends the watch, if the bytes are not
    /// frames.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, RawEnd> {
        let frames = self.frames.take(bytes).map_err(|_| RawEnd::Undecodable)?;
        let mut errors = frames
            .iter()
            .filter(|frame| frame.event == EventType::Error);
        if let Some(error) = errors.next_back() {
            self.error = Some(error.object.code);
        }
        Ok(frames)
    }

    /// Returns what there is to know of the watch's end: on the wire, in the log, and in the channel.
    pub(crate) fn channel_end(&self, raw: RawEnd, version: ClientGo) -> ChannelEnd {
        let own = StreamWatcher::end(raw, version).map(|status| status.code);
        ChannelEnd {
            wire: match raw {
                RawEnd::End => WireEnd::InOrder,
                RawEnd::Failed(Failure::Eof) => WireEnd::Eof,
                RawEnd::Failed(Failure::Reset) => WireEnd::Reset,
                RawEnd::Failed(Failure::GoAway) => WireEnd::GoAway,
                RawEnd::Failed(Failure::StreamReset) => WireEnd::StreamReset,
                RawEnd::Failed(Failure::Lost) => WireEnd::PingLost,
                // A stream is open, so no dial was refused.
                RawEnd::Failed(Failure::Timeout | Failure::Refused) => WireEnd::Timeout,
                RawEnd::Undecodable => WireEnd::Undecodable,
            },
            line: StreamWatcher::line(raw, version),
            error: own.or(self.error),
        }
    }

    /// Returns the line that client-go logs at an end. An ERROR event stands in place of a line.
    /// Source: docs/semantics/clients.md#read-errors.
    fn line(raw: RawEnd, version: ClientGo) -> Option<LogLine> {
        match raw {
            RawEnd::End => None,
            RawEnd::Failed(Failure::Eof) => Some(LogLine::Verbose(1)),
            RawEnd::Failed(Failure::Reset) => Some(LogLine::Verbose(5)),
            RawEnd::Failed(Failure::GoAway) if version.knows_goaway() => Some(LogLine::Verbose(5)),
            RawEnd::Failed(Failure::Timeout) if version.swallows_timeouts() => {
                Some(LogLine::Verbose(5))
            }
            _ => (!version.reports_read_errors()).then_some(LogLine::Error),
        }
    }

    /// Returns what the program gets before its result channel is closed: nothing (`None`), or an ERROR 500 that the
    /// client makes itself.
    ///
    /// Since 1.15.0 every read error becomes an ERROR event, except the errors of `IsProbableEOF`. These are an end of
    /// file, in a frame or not, a reset, a connection that broke after a GOAWAY, and one that the client closed. Since the releases of
    /// [`ClientGo::swallows_timeouts`], timeouts are excepted, too. Versions before 1.15.0 only write a log line.
    /// Source: docs/semantics/clients.md#read-errors.
    pub(crate) fn end(raw: RawEnd, version: ClientGo) -> Option<Document> {
        let what = match raw {
            RawEnd::End | RawEnd::Failed(Failure::Eof | Failure::Reset | Failure::GoAway) => {
                return None;
            }
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
    fn each_end_has_its_line_in_the_log_and_its_event_in_the_channel() {
        use LogLine::{Error, Verbose};
        let ends = [
            (RawEnd::End, WireEnd::InOrder, None),
            (RawEnd::Failed(Failure::Eof), WireEnd::Eof, Some(Verbose(1))),
            (
                RawEnd::Failed(Failure::Reset),
                WireEnd::Reset,
                Some(Verbose(5)),
            ),
            (
                RawEnd::Failed(Failure::GoAway),
                WireEnd::GoAway,
                Some(Verbose(5)),
            ),
            (
                RawEnd::Failed(Failure::Timeout),
                WireEnd::Timeout,
                Some(Verbose(5)),
            ),
        ];
        let end = |raw, version: &str| {
            StreamWatcher::default().channel_end(raw, version.parse().expect("a version"))
        };
        for (raw, wire, line) in ends {
            let expected = ChannelEnd {
                wire,
                line,
                error: None,
            };
            assert_eq!(end(raw, "1.34"), expected);
        }
        for (raw, wire) in [
            (RawEnd::Failed(Failure::StreamReset), WireEnd::StreamReset),
            (RawEnd::Failed(Failure::Lost), WireEnd::PingLost),
            (RawEnd::Undecodable, WireEnd::Undecodable),
        ] {
            let error = Some(500);
            assert_eq!(
                end(raw, "1.34"),
                ChannelEnd {
                    wire,
                    line: None,
                    error
                }
            );
            let line = Some(Error);
            assert_eq!(
                end(raw, "1.14"),
                ChannelEnd {
                    wire,
                    line,
                    error: None
                }
            );
        }
        // The error of a GOAWAY is known since 1.14.0.
        let goaway = RawEnd::Failed(Failure::GoAway);
        assert_eq!(end(goaway, "1.13").line, Some(Error));
        assert_eq!(end(goaway, "1.14").line, Some(Verbose(5)));
    }

    #[test]
    fn an_error_of_the_server_counts_as_the_channels() {
        let mut stream = StreamWatcher::default();
        let error = br#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#;
        stream
            .take(&[error.as_slice(), b"\n"].concat())
            .expect("a frame");
        let end = stream.channel_end(RawEnd::End, ClientGo::LATEST);
        assert_eq!((end.wire, end.error), (WireEnd::InOrder, Some(410)));
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
