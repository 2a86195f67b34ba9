//! What both sides share: limits, and how a message is written: its kind, its fields, and data behind them.

use crate::codec::{DecodeError, Reader};

/// The version of the wire protocol; a viewer and a server of different versions do not talk.
pub const PROTOCOL_VERSION: u32 = 2;

/// The page sends this header, with any value, when it fetches from `/api`; see docs/design/origins.md.
pub const PAGE_HEADER: &str = "x-watchscope-page";

/// No message is larger.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// How much may be on its way to a viewer without being acknowledged.
pub const WINDOW_BYTES: u64 = 1 << 20;

/// A viewer acknowledges after this many bytes…
pub const ACKNOWLEDGE_BYTES: u64 = 256 << 10;

/// …or after this long, in milliseconds.
pub const ACKNOWLEDGE_MS: u64 = 250;

/// The server sends a heartbeat at least this often, in milliseconds.
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

/// Decodes a message with `read`, which takes its kind and fields; returns it and the data behind it.
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
