//! The FNV-1a hash of 64 bits. It detects accidental differences, not malicious ones.

/// The hash of no bytes: FNV-1a's offset basis of 64 bits.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues the hash `before` with `bytes`; returns the hash of all bytes so far. The first call passes [`EMPTY`]. An
/// empty `bytes` leaves the hash as it is.
#[must_use]
pub fn after(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
