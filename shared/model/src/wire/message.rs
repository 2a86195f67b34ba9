//! The part of the protocol that server and viewer share: its limits, and the form of a message.

use crate::codec::{DecodeError, Reader};

/// The version of the wire protocol. A server answers the hello of a viewer of another version with a
/// [`Bye`](super::Bye) for `version`. Since version 2 a viewer gets a catalogue of the chapters. New kinds of messages
/// and new last fields need no new version. The feature `one-higher` adds 1, as for
/// [`FORMAT_VERSION`](crate::codec::FORMAT_VERSION).
pub const PROTOCOL_VERSION: u32 = if cfg!(feature = "one-higher") { 3 } else { 2 };

/// The name, in lower case, of the header that the page sends with each fetch below `/api`; it may have any value.
/// Under a name of `--allow-host`, a GET or HEAD below `/api` with a cookie needs this header if the browser sends
/// neither `Origin` nor `Sec-Fetch-Site`. Without the header, the server refuses it with 403 (docs/design/origins.md).
pub const PAGE_HEADER: &str = "x-watchscope-page";

/// The most bytes of a message: 64 KiB, so that a live message waits for little of a large one. A server cuts a larger
/// snapshot, segment or chapter into pieces ([`cut_into_pieces`](super::cut_into_pieces)). A server neither cuts its
/// other messages nor checks their size, because they are small; a list of very many contexts may be larger. A viewer's
/// larger message is refused. The number has no other source.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// The most bytes of the log's messages that a server sends to a viewer without acknowledgement: 1 MiB, or 16 of the
/// largest messages. At this bound snapshots and live messages wait. Messages of the past and of the catalogue wait
/// already at half of it. On a stalled link all of these except snapshots wait earlier. Heartbeats and answers count,
/// too, but never wait. The number has no source.
pub const WINDOW_BYTES: u64 = 1 << 20;

/// The number of received bytes after which a viewer acknowledges them, if [`ACKNOWLEDGE_MS`] does not pass first. The
/// number is a quarter of [`WINDOW_BYTES`], so a server does not wait for a viewer that keeps up. The share has no
/// other source.
pub const ACKNOWLEDGE_BYTES: u64 = 256 << 10;

/// The time in milliseconds after which a viewer acknowledges received bytes, if there are fewer than
/// [`ACKNOWLEDGE_BYTES`]. The time counts from the first byte that is not acknowledged. With this limit, a server
/// learns within about this time which messages a viewer has processed. The number has no source.
pub const ACKNOWLEDGE_MS: u64 = 250;

/// The time from one heartbeat of a server to the next, in milliseconds. The page takes a connection as dead after 45 s
/// without a message: the time of two heartbeats, plus 5 s. The number has no source.
pub const HEARTBEAT_MS: u64 = 20_000;

macro_rules! messages {
    ($(#[$meta:meta])* $enum:ident { $($(#[$message_meta:meta])* $kind:literal $name:ident { $($(#[$field_meta:meta])* $field:ident : $type:ty,)* })* }) => {
        fields! {$(
            $(#[$message_meta])*
            struct $name { $($(#[$field_meta])* $field: $type,)* }
        )*}

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $enum {
            $($(#[$message_meta])* $name($name),)*
        }

        $(impl From<$name> for $enum {
            fn from(message: $name) -> Self {
                Self::$name(message)
            }
        })*

        impl $enum {
            fn kind(&self) -> u64 {
                match self { $(Self::$name(_) => $kind,)* }
            }

            fn write_fields(&self, writer: &mut Writer<'_>) {
                match self { $(Self::$name(message) => message.write_fields(writer),)* }
            }

            fn read_fields(kind: u64, reader: &mut Reader<'_>) -> Option<Self> {
                Some(match kind {
                    $($kind => Self::$name($name::read_fields(reader)),)*
                    _ => return None,
                })
            }
        }
    };
}
pub(super) use messages;

/// Decodes a message: `read` decodes the message's fields by its kind. Returns the message and the data after it;
/// `None` if `read` does not know the kind. It fails with the first error in the message.
pub(super) fn decode<T>(
    bytes: &[u8],
    read: impl FnOnce(u64, &mut Reader<'_>) -> Option<T>,
) -> Result<Option<(T, &[u8])>, DecodeError> {
    let mut reader = Reader::plain(bytes);
    let kind = reader.varint();
    let message = reader.sized(|fields| read(kind, fields));
    let rest = reader.rest();
    reader.finish(message.map(|message| (message, rest)))
}
