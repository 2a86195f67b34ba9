//! A block: 64 neighbouring marks in columns, each value in as few bytes as its column needs.

use std::ops::Range;

use watchscope_model::Time;

use super::grow::make_space;
use super::mark_sums::{Sums, Versions};

/// The number of marks in a block. A smaller block's head would take more memory for each mark: that of 64 marks takes
/// 0.75 bytes. A larger block would take wider columns. The number has no other source.
pub(super) const BLOCK: usize = 64;
/// The value in the column of versions for a version that the run stores apart, or that is not a number.
pub(super) const FAR: u32 = u32::MAX;

/// A column of a run: what a mark's number in it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// The time in µs since the run's base.
    At,
    /// The seq.
    Seq,
    /// The resourceVersion less that of the run's base, or [`FAR`].
    Version,
    /// The number of the kind.
    Kind,
}

/// The columns of a run in the order of their bytes.
const COLUMNS: [Column; 4] = [Column::At, Column::Seq, Column::Version, Column::Kind];

/// The numbers of a mark, by [`Column`].
pub(super) type Numbers = [u32; 4];

/// The time and the version from which a run's numbers count: µs, and the version's number.
pub(super) type Base = (i64, u64);

/// The head of a block: where the values of its columns are, and their sums. The values themselves lie in the bytes of
/// the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The least value of each column. The bytes of a value are its difference from the least.
    least: Numbers,
    /// The bytes of each value, by column: 0 to 4.
    width: [u8; 4],
    /// The index of the block's first byte among the bytes of the run.
    start: u32,
    /// Changes that a stream delivered: added, modified, deleted.
    live: [u8; 3],
    /// Changes that came by a list: added, modified, deleted.
    listed: [u8; 3],
    /// Bookmarks, and ends of initial events.
    pub(super) bookmarks: u8,
    moved: Moved,
    /// The time of the first mark that moved the watch's version, then the least, greatest and last of these versions.
    /// All are numbers of the run. They mean nothing unless `moved` is [`Moved::Near`].
    moves: Numbers,
}

/// Whether a block knows the versions that its marks moved their watch to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    /// No mark moved the watch to a version that is a number.
    No,
    /// All these versions are in the column, so the block knows them.
    Near,
    /// Some version is not in the column. To know the versions, the caller must read the single marks.
    Far,
}

impl Block {
    /// Appends 64 marks to `bytes`, and returns their head. `sums` are the sums of these marks.
    pub(super) fn pack(marks: &[Numbers], bytes: &mut Vec<u8>, sums: &Sums, base: Base) -> Self {
        let near = |version: u64| {
            let number = u32::try_from(version.wrapping_sub(base.1)).ok();
            number.filter(|number| *number != FAR)
        };
        let moves = sums.versions.map(|versions| {
            let since = versions.since.micros_since(Time(base.0)) as u32;
            let [least, most, last] = [versions.least, versions.most, versions.last].map(near);
            Some([since, least?, most?, last?])
        });
        let moved = match moves {
            None => Moved::No,
            Some(None) => Moved::Far,
            Some(Some(_)) => Moved::Near,
        };
        let mut block = Self {
            least: [u32::MAX; 4],
            width: [0; 4],
            start: bytes.len() as u32,
            live: sums.live.map(|count| count as u8),
            listed: sums.listed.map(|count| count as u8),
            bookmarks: sums.bookmarks as u8,
            moved,
            moves: moves.flatten().unwrap_or_default(),
        };
        for column in COLUMNS {
            let values = || marks.iter().map(|mark| mark[column as usize]);
            let least = values().min().unwrap_or(0);
            let range = values().max().unwrap_or(0) - least;
            let width = (range.checked_ilog2().map_or(0, |bits| bits + 1)).div_ceil(8);
            block.least[column as usize] = least;
            block.width[column as usize] = width as u8;
            make_space(bytes, marks.len() * width as usize);
            for value in values() {
                bytes.extend_from_slice(&(value - least).to_le_bytes()[..width as usize]);
            }
        }
        block
    }

    /// Returns the sums of the block's marks; `None` if the block does not know its versions.
    pub(super) fn sums(&self, base: Base) -> Option<Sums> {
        let [since, least, most, last] = self.moves;
        let version = |number: u32| base.1.wrapping_add(u64::from(number));
        let versions = match self.moved {
            Moved::No => None,
            Moved::Near => Some(Versions {
                since: Time(base.0 + i64::from(since)),
                least: version(least),
                most: version(most),
                last: version(last),
            }),
            Moved::Far => return None,
        };
        Some(Sums {
            live: self.live.map(u32::from),
            listed: self.listed.map(u32::from),
            bookmarks: u32::from(self.bookmarks),
            versions,
        })
    }

    /// Returns the index of a column's first byte, and the bytes of each of its values.
    #[inline]
    fn place_of(&self, column: Column) -> (usize, usize) {
        let column = column as usize;
        let before: usize = self.width[..column].iter().copied().map(usize::from).sum();
        let width = usize::from(self.width[column]);
        (self.start as usize + BLOCK * before, width)
    }

    /// Returns the number of the mark at an index below 64.
    #[inline]
    pub(super) fn number(&self, bytes: &[u8], column: Column, place: usize) -> u32 {
        let (start, width) = self.place_of(column);
        let from = start + place * width;
        self.least[column as usize] + little_endian(&bytes[from..from + width])
    }

    /// Writes the numbers of the marks at `places` to the begin of `numbers`, and returns them.
    pub(super) fn numbers<'a>(
        &self,
        bytes: &[u8],
        column: Column,
        places: Range<usize>,
        numbers: &'a mut [u32; BLOCK],
    ) -> &'a [u32] {
        let (start, width) = self.place_of(column);
        let least = self.least[column as usize];
        let bytes = &bytes[start + places.start * width..start + places.end * width];
        let numbers = &mut numbers[..places.len()];
        // A width known in advance lets the compiler read many values at once.
        match width {
            0 => numbers.fill(least),
            1 => widen::<1>(bytes, least, numbers),
            2 => widen::<2>(bytes, least, numbers),
            3 => widen::<3>(bytes, least, numbers),
            _ => widen::<4>(bytes, least, numbers),
        }
        numbers
    }
}

fn widen<const WIDTH: usize>(bytes: &[u8], least: u32, numbers: &mut [u32]) {
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(WIDTH)) {
        *number = least + little_endian(bytes);
    }
}

/// Returns the number in at most four bytes, the lowest byte first.
#[inline]
fn little_endian(bytes: &[u8]) -> u32 {
    match *bytes {
        [] => 0,
        [a] => u32::from(a),
        [a, b] => u32::from(u16::from_le_bytes([a, b])),
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
        [a, b, c, d, ..] => u32::from_le_bytes([a, b, c, d]),
    }
}
