//! The CRC-32 of frames and of the blocks of a recording (ISO-HDLC, as in gzip and zip). Hosts use a fast
//! implementation, the page a small one.

/// Returns the CRC-32 (ISO-HDLC) of the bytes of all parts, one part after the other; 0 for no bytes.
#[cfg(not(target_arch = "wasm32"))]
#[must_use]
pub fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// Returns the CRC-32 (ISO-HDLC) of the bytes of all parts, one part after the other; 0 for no bytes.
#[cfg(target_arch = "wasm32")]
#[must_use]
pub fn checksum(parts: &[&[u8]]) -> u32 {
    let mut digest = SMALL.digest();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
}

/// CRC-32 with one table of 256 entries of 4 bytes, so that the page's code stays small.
#[cfg(any(test, target_arch = "wasm32"))]
static SMALL: crc::Crc<u32, crc::Table<1>> =
    crc::Crc::<u32, crc::Table<1>>::new(&crc::CRC_32_ISO_HDLC);

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(checksum(&[b"1234", b"56789"]), 0xCBF4_3926);
    }

    proptest! {
        #[test]
        fn host_and_page_agree(a: Vec<u8>, b: Vec<u8>) {
            let mut digest = SMALL.digest();
            digest.update(&a);
            digest.update(&b);
            prop_assert_eq!(checksum(&[&a, &b]), digest.finalize());
        }
    }
}
