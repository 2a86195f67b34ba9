//! Varints (numbers in as few bytes as they need), and byte strings after their length.

pub(crate) fn push_varint(value: u64, out: &mut Vec<u8>) {
    push_wide(u128::from(value), out);
}

pub(crate) fn push_wide(mut value: u128, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn push_inline(bytes: &[u8], out: &mut Vec<u8>) {
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_texts_are_encoded_as_postcard_encodes_them(value: u64, signed: i64, text: String) {
            let mut ours = Vec::new();
            push_varint(value, &mut ours);
            push_varint(zigzag(signed), &mut ours);
            push_inline(text.as_bytes(), &mut ours);
            prop_assert_eq!(ours, postcard::to_allocvec(&(value, signed, text)).unwrap());
        }
    }
}
