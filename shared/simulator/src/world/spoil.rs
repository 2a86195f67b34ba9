//! How the next frame of a watch is spoilt on its way.

use bytes::Bytes;

use crate::message::Cut;

/// What becomes of the next frame of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoil {
    /// Half of it arrives, and then its connection is cut in this way.
    Tear(Cut),
    /// It arrives as bytes that are no JSON.
    Garble,
}

/// Returns a frame whose first byte no JSON text begins with.
pub(super) fn garbled(frame: &Bytes) -> Bytes {
    let mut bytes = frame.to_vec();
    if let Some(first) = bytes.first_mut() {
        *first = b'<';
    }
    bytes.into()
}
