//! The marks of an object: which of its watch's marks they are, and their kinds.

use std::ops::Range;

use super::grow::{make_space, push};
use super::mark_kind::MarkKind;

/// The number of low bits of an entry that hold the mark's kind: 4 bits hold the numbers of all 11 kinds.
const KIND_BITS: u32 = 4;

/// A mark of an object: its index among the marks of the watch, and its kind.
///
/// The kind is here, too, so that a picture of thousands of marks need not look up each of them among the watch's
/// marks. The marks of one object are far apart there, so each look-up would wait for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectMark(u32);

impl ObjectMark {
    /// Returns an entry. An index has 28 bits: a page's memory would be full before a watch has 268,435,456 marks.
    fn new(place: usize, kind: MarkKind) -> Self {
        Self((place as u32) << KIND_BITS | u32::from(kind.number()))
    }

    /// Returns the mark's index among the marks of the watch.
    #[inline]
    pub(crate) fn place(self) -> usize {
        (self.0 >> KIND_BITS) as usize
    }

    /// Returns the mark's kind.
    #[inline]
    pub(crate) fn kind(self) -> MarkKind {
        MarkKind::from_number((self.0 & ((1 << KIND_BITS) - 1)) as u8)
    }

    /// Returns the entry with another kind.
    pub(crate) fn with_kind(self, kind: MarkKind) -> Self {
        Self::new(self.place(), kind)
    }

    fn moved(self, places: i64) -> Self {
        Self::new((self.place() as i64 + places) as usize, self.kind())
    }
}

/// The marks of an object by rising index: four bytes each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectMarks(Vec<ObjectMark>);

impl ObjectMarks {
    /// Returns all marks, by rising index.
    pub(crate) fn as_slice(&self) -> &[ObjectMark] {
        &self.0
    }

    /// Appends a mark; its index must be above all others.
    pub(crate) fn push(&mut self, place: usize, kind: MarkKind) {
        push(&mut self.0, ObjectMark::new(place, kind));
    }

    /// Returns the indexes of the marks among the marks of the watch, rising.
    pub(crate) fn places(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.0.iter().map(|mark| mark.place())
    }

    /// Returns the mark with the lowest index; `None` if there are no marks.
    pub(crate) fn first(&self) -> Option<ObjectMark> {
        self.0.first().copied()
    }

    /// Returns the mark with the highest index; `None` if there are no marks.
    pub(crate) fn last(&self) -> Option<ObjectMark> {
        self.0.last().copied()
    }

    /// Returns how many of the object's marks lie before the watch's mark at `place`.
    pub(crate) fn before(&self, place: usize) -> usize {
        self.0.partition_point(|mark| mark.place() < place)
    }

    /// Returns the object's marks among the watch's marks at `places`.
    pub(crate) fn within(&self, places: &Range<usize>) -> &[ObjectMark] {
        let from = self.before(places.start);
        &self.0[from..self.before(places.end).max(from)]
    }

    /// Inserts the object's marks of a chapter. The chapter's marks were inserted among the watch's marks at `place`,
    /// and [`Self::make_way`] has moved the later marks.
    pub(super) fn insert(&mut self, other: &Self, place: usize) {
        let from = self.before(place);
        make_space(&mut self.0, other.0.len());
        let moved = other.0.iter().map(|mark| mark.moved(place as i64));
        self.0.splice(from..from, moved);
    }

    /// Moves the marks from index `place` on by `places`, because that number of marks was inserted before them.
    pub(super) fn make_way(&mut self, place: usize, places: usize) {
        let from = self.before(place);
        for mark in &mut self.0[from..] {
            *mark = mark.moved(places as i64);
        }
    }

    /// Forgets the marks at `places`, and moves those behind. Returns how many of the forgotten came by a list.
    pub(super) fn forget(&mut self, places: &Range<usize>) -> u32 {
        let (from, behind) = (self.before(places.start), self.before(places.end));
        let gone = self.0.drain(from..behind);
        let listed = gone.filter(|mark| mark.kind().is_by_list()).count();
        for mark in &mut self.0[from..] {
            *mark = mark.moved(-(places.len() as i64));
        }
        listed as u32
    }

    /// Estimates the size of the marks in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<ObjectMark>()
    }
}
