//! Splits the bytes of a body into lines, across the pieces in which they arrive.

use memchr::memchr;

/// The most memory in bytes that is kept after a long line that came in pieces. A larger buffer is shrunk to this size,
/// so that one large object does not hold memory for as long as its stream. The number has no source: the events of
/// `examples/decode_speed.rs` have 1.1 kB or about 6 kB, so few lines are longer.
const CARRY_KEPT: usize = 256 << 10;

/// A splitter of a body at line feeds.
///
/// A line inside one piece is returned without a copy. A line that spans pieces is joined in a buffer that never
/// exceeds `limit` bytes. A longer line is discarded up to its line feed, and its bytes are counted.
#[derive(Debug)]
pub(crate) struct Lines {
    limit: usize,
    carry: Vec<u8>,
    /// Whether `carry` is a line that was already returned.
    handed_out: bool,
    /// The number of bytes so far of an unfinished line over the limit; `None` if there is no such line.
    discarding: Option<u64>,
}

/// The result of a split.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// The number of bytes, line feed included, of a line over the limit that was discarded.
    TooLong(u64),
}

impl Lines {
    /// A splitter for one body with lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            carry: Vec::new(),
            handed_out: false,
            discarding: None,
        }
    }

    /// Returns the next line that `input` completes, and moves `input` past it. `None` if more bytes are needed.
    pub(crate) fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Piece<'a>> {
        if self.handed_out {
            self.handed_out = false;
            self.carry.clear();
            self.carry.shrink_to(CARRY_KEPT);
        }
        let Some(end) = memchr(b'\n', input) else {
            self.keep(input);
            *input = &[];
            return None;
        };
        let (line, rest) = (&input[..end], &input[end + 1..]);
        *input = rest;
        if let Some(discarded) = self.discarding.take() {
            return Some(Piece::TooLong(discarded + end as u64 + 1));
        }
        let length = self.carry.len() + line.len();
        if length > self.limit {
            self.handed_out = true;
            return Some(Piece::TooLong(length as u64 + 1));
        }
        if self.carry.is_empty() {
            return Some(Piece::Line(line));
        }
        self.carry.extend_from_slice(line);
        self.handed_out = true;
        Some(Piece::Line(&self.carry))
    }

    /// Takes the number of bytes so far of an unfinished line over the limit; `None` if there is no such line.
    pub(crate) fn take_excess(&mut self) -> Option<u64> {
        self.discarding.take()
    }

    /// The number of bytes of a line that has not ended.
    pub(crate) fn pending(&self) -> u64 {
        let carried = if self.handed_out {
            0
        } else {
            self.carry.len() as u64
        };
        self.discarding.unwrap_or(carried)
    }

    fn keep(&mut self, input: &[u8]) {
        if let Some(discarded) = &mut self.discarding {
            *discarded += input.len() as u64;
        } else if self.carry.len() + input.len() > self.limit {
            self.discarding = Some((self.carry.len() + input.len()) as u64);
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(input);
        }
    }
}

/// The number of unread bytes of a stream, and of documents in them.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    pub(crate) bytes: u64,
    documents: u64,
    /// Whether the unread bytes end inside a document.
    is_inside: bool,
}

impl Unread {
    /// Adds the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if !self.is_inside && !line.trim_ascii().is_empty() {
                self.is_inside = true;
                self.documents += 1;
            }
            self.is_inside &= !line.ends_with(b"\n");
        }
    }

    /// The number of documents that begin or end in these bytes; at least one.
    pub(crate) fn documents(&self) -> u64 {
        self.documents.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(limit: usize, pieces: &[&[u8]]) -> (Vec<Result<Vec<u8>, u64>>, u64) {
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        for piece in pieces {
            let mut rest = *piece;
            while let Some(piece) = lines.next(&mut rest) {
                out.push(match piece {
                    Piece::Line(line) => Ok(line.to_vec()),
                    Piece::TooLong(bytes) => Err(bytes),
                });
            }
        }
        (out, lines.pending())
    }

    #[test]
    fn a_line_may_come_in_any_number_of_pieces() {
        let (lines, pending) = split(10, &[b"a", b"b\nc", b"", b"\n\nde"]);
        assert_eq!(
            lines,
            [Ok(b"ab".to_vec()), Ok(b"c".to_vec()), Ok(Vec::new())]
        );
        assert_eq!(pending, 2);
    }

    #[test]
    fn a_line_over_the_limit_is_counted_and_the_next_one_is_returned() {
        let (lines, pending) = split(3, &[b"abcd\nxyz\nab", b"cdef", b"g\nok\nlonger"]);
        assert_eq!(
            lines,
            [Err(5), Ok(b"xyz".to_vec()), Err(8), Ok(b"ok".to_vec())]
        );
        assert_eq!(pending, 6);
    }

    proptest! {
        #[test]
        fn unread_documents_are_counted_however_they_are_cut(body in "[x \n]{0,40}", cut in 0usize..40) {
            let (body, cut) = (body.as_bytes(), cut.min(body.len()));
            let mut unread = Unread::default();
            unread.take(&body[..cut]);
            unread.take(&body[cut..]);
            let documents = body.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            prop_assert_eq!(unread.documents, documents.count() as u64);
            prop_assert_eq!(unread.bytes, body.len() as u64);
        }

        #[test]
        fn bytes_in_are_lines_out_plus_discards_however_they_are_cut(
            body in proptest::collection::vec(prop_oneof![4 => Just(b'x'), 1 => Just(b'\n')], 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..20),
            limit in 0usize..12,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut <= body.len()).collect();
            cuts.extend([0, body.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &body[cut[0]..cut[1]]).collect();
            let (lines, pending) = split(limit, &pieces);
            let out: u64 = lines.iter().map(|line| match line {
                Ok(line) => line.len() as u64 + 1,
                Err(bytes) => *bytes,
            }).sum();
            prop_assert_eq!(out + pending, body.len() as u64);
            prop_assert_eq!((lines, pending), split(limit, &[&body]));
        }
    }
}
