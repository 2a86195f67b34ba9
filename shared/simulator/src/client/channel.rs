//! The end of a Go program's watch: on the wire, in the program's log, and in the channel that the program reads.

/// The end of a watch as a Go program meets it: its result channel is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelEnd {
    /// How the watch ended on the wire. The program does not learn it.
    pub wire: WireEnd,
    /// The line that client-go writes into the log of the program; `None` if it writes none.
    pub line: Option<LogLine>,
    /// The code of the last ERROR event in the channel, whoever made it; `None` if there was none.
    pub error: Option<u16>,
}

/// How a watch can end on the wire, as a Go client finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireEnd {
    /// The body ended in an orderly way.
    InOrder,
    /// The connection ended before the body, perhaps in a frame.
    Eof,
    /// The connection was reset.
    Reset,
    /// The server sent GOAWAY, and the connection broke.
    GoAway,
    /// The server gave the stream up (HTTP/2 RST_STREAM).
    StreamReset,
    /// The client's HTTP/2 ping stayed unanswered.
    PingLost,
    /// The kernel gave the connection up.
    Timeout,
    /// A frame could not be decoded.
    Undecodable,
}

/// A line in the log of a Go program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLine {
    /// The line is written only if the program runs with `-v` at this level or above.
    Verbose(u8),
    /// The line is an error, which every program writes.
    Error,
}
