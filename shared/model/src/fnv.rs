//! FNV-1a of 64 bits: a hash against chance, not against malice.

/// The hash of nothing.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of what came before, and of these bytes after it.
#[must_use]
pub fn after(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
