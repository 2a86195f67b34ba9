//! A body's bytes → lines, across the pieces in which they arrive.

use memchr::memchr;

/// Memory kept between long lines.
const CARRY_KEPT: usize = 256 << 10;

/// Splits a body at line feeds.
///
/// A line that lies inside one piece is handed out where it is; one that spans pieces is put together in a buffer
/// that never exceeds the limit. What is longer is discarded up to the next line feed and counted.
#[derive(Debug)]
pub(crate) struct Lines {
    limit: usize,
    carry: Vec<u8>,
    /// Whether `carry` is a line already handed out.
    handed_out: bool,
    /// Bytes of a line that is too long, so far.
    discarding: Option<u64>,
}

/// What comes out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// A line over the limit is over; so many bytes of it, its line feed included, are gone.
    TooLong(u64),
}

impl Lines {
    /// A splitter for one body.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            carry: Vec::new(),
            handed_out: false,
            discarding: None,
        }
    }

    /// The next line that `input` completes; takes what it has looked at from `input`. `None` when more is needed.
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

    /// Bytes so far of a line that is over the limit and has not ended; they are then forgotten.
    pub(crate) fn take_excess(&mut self) -> Option<u64> {
        self.discarding.take()
    }

    /// Bytes of a line that has not ended.
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

/// Bytes of a stream that are not read, and the documents they hold.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    pub(crate) bytes: u64,
    documents: u64,
    /// Whether they end inside a document.
    is_inside: bool,
}

impl Unread {
    /// Takes the next bytes.
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

    /// How many documents they hold, counting those that begin or end in them; at least one.
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
    fn a_line_over_the_limit_is_counted_and_the_next_one_comes_through() {
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
