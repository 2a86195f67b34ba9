//! Reads the headers of HTTP/2 frames as they pass, for facts that the library above does not report. These are the last
//! stream of a GOAWAY, resets, pings, and whether the connection ended inside a frame.
//!
//! It is a by-value machine over a server's bytes (RFC 9113 section 4.1). It takes bytes cut anywhere, remembers at most 17
//! of them, and judges nothing. It ignores a frame that is too short for its fields; the library refuses that frame.

/// Bytes of a frame's header: length (3), type, flags, stream (4).
const HEADER_BYTES: usize = 9;
/// Bytes of a payload that are read.
const LOOK_BYTES: usize = 8;

const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
/// The first bit of a stream's number is reserved.
const STREAM_MASK: u32 = 0x7fff_ffff;

/// A fact that a frame states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// The server takes no new streams.
    GoAway {
        /// The last stream of ours that the server has processed.
        last_stream: u32,
        /// The error code (RFC 9113 section 7).
        code: u32,
    },
    /// The server ended a stream.
    Reset {
        /// The stream.
        stream: u32,
        /// The error code.
        code: u32,
    },
    /// The server sent a ping, or the answer to one.
    Ping {
        /// Whether it is the answer.
        is_ack: bool,
    },
}

/// The state of the machine between two bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameReader {
    header: [u8; HEADER_BYTES],
    /// Bytes of the header that have arrived.
    header_bytes: usize,
    look: [u8; LOOK_BYTES],
    /// Bytes of the payload that were read, up to [`LOOK_BYTES`], if the frame's kind is one that states a fact.
    look_bytes: usize,
    /// Bytes of the payload that are still to come.
    payload_left: usize,
}

impl FrameReader {
    /// Reads bytes that passed. Calls `report` for each complete frame that states a fact.
    #[must_use]
    pub(super) fn read(mut self, mut bytes: &[u8], mut report: impl FnMut(Fact)) -> Self {
        while !bytes.is_empty() {
            if self.header_bytes < HEADER_BYTES {
                bytes = take(&mut self.header, &mut self.header_bytes, bytes);
                if self.header_bytes < HEADER_BYTES {
                    return self;
                }
                let [a, b, c, ..] = self.header;
                self.payload_left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            }
            let here = bytes.len().min(self.payload_left);
            if matches!(self.header[3], RST_STREAM | PING | GOAWAY) {
                take(&mut self.look, &mut self.look_bytes, &bytes[..here]);
            }
            self.payload_left -= here;
            bytes = &bytes[here..];
            if self.payload_left == 0 {
                self.fact().map(&mut report);
                self = Self::default();
            }
        }
        self
    }

    /// The stream of the frame that has begun and is not complete; 0 is the connection itself.
    pub(super) fn torn(&self) -> Option<u32> {
        match self.header_bytes {
            0 => None,
            HEADER_BYTES => Some(self.stream()),
            _ => Some(0),
        }
    }

    fn stream(&self) -> u32 {
        let [.., a, b, c, d] = self.header;
        u32::from_be_bytes([a, b, c, d]) & STREAM_MASK
    }

    /// Returns the fact that the complete frame states.
    fn fact(&self) -> Option<Fact> {
        let [a, b, c, d, e, f, g, h] = self.look;
        let (first, second) = (
            u32::from_be_bytes([a, b, c, d]),
            u32::from_be_bytes([e, f, g, h]),
        );
        match (self.header[3], self.look_bytes) {
            (GOAWAY, 8) => Some(Fact::GoAway {
                last_stream: first & STREAM_MASK,
                code: second,
            }),
            (RST_STREAM, 4) => Some(Fact::Reset {
                stream: self.stream(),
                code: first,
            }),
            (PING, 8) => Some(Fact::Ping {
                is_ack: self.header[4] & ACK != 0,
            }),
            _ => None,
        }
    }
}

/// Fills `place` from its first `filled` bytes on. Returns the bytes that are left.
fn take<'a>(place: &mut [u8], filled: &mut usize, bytes: &'a [u8]) -> &'a [u8] {
    let count = bytes.len().min(place.len() - *filled);
    place[*filled..*filled + count].copy_from_slice(&bytes[..count]);
    *filled += count;
    &bytes[count..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    }

    /// Reads pieces cut at `cuts`. Returns the facts and the machine.
    fn read(bytes: &[u8], cuts: &[usize]) -> (Vec<Fact>, FrameReader) {
        let mut facts = Vec::new();
        let mut reader = FrameReader::default();
        let mut from = 0;
        for cut in cuts.iter().copied().chain([bytes.len()]) {
            let cut = cut.clamp(from, bytes.len());
            reader = reader.read(&bytes[from..cut], |fact| facts.push(fact));
            from = cut;
        }
        (facts, reader)
    }

    #[test]
    fn facts_of_frames_are_read_and_other_frames_are_ignored() {
        let mut bytes = frame(0, 0, 1, b"a piece of a body");
        bytes.extend(frame(0, 1, 1, b""));
        bytes.extend(frame(
            GOAWAY,
            0,
            0,
            &[0, 0, 0, 7, 0, 0, 0, 11, b'w', b'h', b'y'],
        ));
        bytes.extend(frame(RST_STREAM, 0, 5, &[0, 0, 0, 8]));
        bytes.extend(frame(PING, ACK, 0, &[1; 8]));
        bytes.extend(frame(PING, 0, 0, &[2; 8]));
        let (facts, reader) = read(&bytes, &[]);
        assert_eq!(
            facts,
            [
                Fact::GoAway {
                    last_stream: 7,
                    code: 11
                },
                Fact::Reset { stream: 5, code: 8 },
                Fact::Ping { is_ack: true },
                Fact::Ping { is_ack: false },
            ]
        );
        assert_eq!(reader.torn(), None);
    }

    #[test]
    fn an_incomplete_frame_is_known_with_its_stream() {
        let bytes = frame(0, 0, 0x8000_0003, b"half a piece");
        for (length, torn) in [
            (0, None),
            (5, Some(0)),
            (9, Some(3)),
            (bytes.len() - 1, Some(3)),
        ] {
            assert_eq!(read(&bytes[..length], &[]).1.torn(), torn, "{length}");
        }
        assert_eq!(read(&bytes, &[]).1.torn(), None);
    }

    #[test]
    fn frames_too_short_for_their_fields_state_no_fact() {
        let mut bytes = frame(GOAWAY, 0, 0, &[0, 0, 0, 7]);
        bytes.extend(frame(PING, 0, 0, b""));
        bytes.extend(frame(RST_STREAM, 0, 1, &[0, 0]));
        assert_eq!(read(&bytes, &[]), (vec![], FrameReader::default()));
    }

    fn frames() -> impl Strategy<Value = Vec<u8>> {
        let one = (
            prop_oneof![
                Just(0),
                Just(RST_STREAM),
                Just(PING),
                Just(GOAWAY),
                any::<u8>()
            ],
            any::<u8>(),
            any::<u32>(),
            prop::collection::vec(any::<u8>(), 0..40),
        );
        prop::collection::vec(one, 0..8).prop_map(|frames| {
            let frames = frames.iter();
            frames
                .flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload))
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn where_reads_are_cut_makes_no_difference(
            bytes in frames(),
            cuts in prop::collection::vec(0..400usize, 0..12),
        ) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let (facts, reader) = read(&bytes, &cuts);
            prop_assert_eq!((facts, reader), read(&bytes, &[]));
            prop_assert_eq!(reader.torn(), None);
        }

        /// The machine's memory is its size, so only reads out of bounds remain to be excluded.
        #[test]
        fn arbitrary_bytes_at_arbitrary_cuts_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::vec(0..300usize, 0..12),
        ) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let (facts, reader) = read(&bytes, &cuts);
            prop_assert!(facts.len() <= bytes.len() / HEADER_BYTES);
            prop_assert_eq!((facts, reader), read(&bytes, &[]));
        }
    }
}
