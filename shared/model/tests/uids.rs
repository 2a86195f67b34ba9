//! Uids as texts: which of them are UUIDs, and that every text comes back.

use watchscope_model::Uid;

const UUID: &str = "6f1d3c0a-9b7e-4c5d-8a21-00f0a9c3e5b7";

/// Whether a byte may stand at this place of a UUID whose letters are lower case.
fn is_of_uuid(place: usize, byte: u8) -> bool {
    match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    }
}

#[test]
fn a_uuid_with_any_other_byte_at_any_place_is_a_uuid_or_a_text_and_comes_back() {
    for place in 0..UUID.len() {
        for byte in 0..0x80 {
            let mut bytes = UUID.as_bytes().to_vec();
            bytes[place] = byte;
            let text = String::from_utf8(bytes).unwrap();
            let uid = Uid::parse(&text);
            let is_uuid = matches!(uid, Uid::Uuid(_));
            assert_eq!(is_uuid, is_of_uuid(place, byte), "{text:?}");
            assert_eq!(uid.to_string(), text);
            assert!(uid.is(&text));
            assert_eq!(uid.is(UUID), text == UUID, "{text:?}");
        }
    }
}

#[test]
fn a_text_of_another_length_than_a_uuid_is_kept_as_text() {
    for text in ["", &UUID[..35], &format!("{UUID}0"), "ünïcödé"] {
        let uid = Uid::parse(text);
        assert!(matches!(uid, Uid::Other(_)), "{text:?}");
        assert!(uid.is(text) && uid.to_string() == text);
    }
}
