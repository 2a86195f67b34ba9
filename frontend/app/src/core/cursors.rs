//! The cursors A and B as plain data: a person's deeds, and what the panel shows.

use std::sync::Arc;

use watchscope_model::Time;
use watchscope_timeline::LaneId;
use watchscope_timeline::RecordId;
use watchscope_timeline::between::{Between, DifferenceKind, HeadPart, Holding};
use watchscope_timeline::store::Unknown;

/// The most rows that the panel shows. The others are counted.
pub const ROWS_MOST: usize = 300;

/// One of the two cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// The earlier one.
    A,
    /// The later one.
    B,
}

/// A person's deed with the cursors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CursorDeed {
    /// Sets A at a time, then B, then moves the nearer one there.
    Mark(Time),
    /// Sets B at now.
    WithNow,
    /// Moves a cursor to a place of the picture, in px from its left edge.
    Drag(Cursor, f64),
    /// Moves a cursor by some px.
    Nudge(Cursor, f64),
    /// Moves a cursor to the next record, or to the one before.
    Step(Cursor, bool),
    /// Drops B; without a B, drops A.
    Drop,
    /// Drops both.
    Clear,
    /// Shows the panel before the detail.
    Show,
    /// Computes the panel again.
    Renew,
}

/// The state behind the panel.
#[derive(Debug, Default)]
pub struct CursorsState {
    /// Whether the panel stands before the detail. A selection puts the detail before it.
    pub is_front: bool,
    /// The deed that waits for the third part.
    pub waiting: Option<CursorDeed>,
    /// The last comparison.
    pub found: Option<Found>,
}

/// The comparison of two times.
#[derive(Debug)]
pub struct Found {
    /// A and B.
    pub times: (Time, Time),
    /// The store's version at the lookup. A lookup that failed is repeated whenever that changes.
    pub version: u64,
    /// The comparison; or the time whose state is unknown, and why.
    pub between: Result<Between, (Time, Unknown)>,
}

/// The contents of the flags and of the panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CursorsShown {
    /// The flags of the cursors that are set.
    pub flags: Vec<FlagShown>,
    /// The comparison; `None` while B is not set.
    pub compared: Option<Compared>,
    /// Whether the panel stands before the detail.
    pub is_front: bool,
}

/// The flag of a cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct FlagShown {
    /// Which one.
    pub cursor: Cursor,
    /// Its time: `09:33:10.250`.
    pub clock: String,
    /// Distance of the flag from the left edge of the picture, in px; `None`: out of sight.
    pub left_px: Option<i32>,
}

/// A comparison that the panel shares with the model. Two are equal if they are the same one, which saves the page the
/// code that compares their rows.
#[derive(Clone, Debug)]
pub struct Compared(pub Arc<ComparedShown>);

impl PartialEq for Compared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The comparison in words.
#[derive(Debug, Default)]
pub struct ComparedShown {
    /// Duration and number of records from A to B.
    pub span: String,
    /// How far a resourceVersion went: `shop/pods: resourceVersion 519 to 604, +85`; empty if unknown. Hostile: show as
    /// text.
    pub versions: String,
    /// What came, went, changed and parted.
    pub head: Vec<HeadPart>,
    /// How many objects differ, and that the others are the same.
    pub rest: String,
    /// Why there is no comparison.
    pub unknown: Option<String>,
    /// The watches that had no list at A or at B.
    pub unlisted: String,
    /// The names of the sides that have columns.
    pub sides: Vec<String>,
    /// The rows; at most [`ROWS_MOST`].
    pub rows: Vec<RowShown>,
    /// The number of rows that are left out.
    pub more: u64,
}

/// A row of the comparison.
#[derive(Clone, Debug)]
pub struct RowShown {
    /// How the object differs.
    pub kind: DifferenceKind,
    /// `went 5` in the first row of a kind; else empty.
    pub group: String,
    /// `ghost`, `inferred`, or empty.
    pub how: &'static str,
    /// The resource.
    pub resource: String,
    /// The object's name. Hostile: show as text.
    pub name: String,
    /// Its lane.
    pub lane: Option<LaneId>,
    /// Its last record between A and B.
    pub record: Option<RecordId>,
    /// The versions at A and at B.
    pub versions: [String; 2],
    /// Who changed it last.
    pub by: String,
    /// What each side held.
    pub held: Vec<[Holding; 2]>,
    /// Which sides held it at B, in a sentence.
    pub held_at_b: String,
}

/// The two bodies of an object that differs, or why they are not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BothBodies {
    /// Epoch and number of the changes that brought the versions at A and at B.
    At([(String, u64); 2]),
    /// It cannot be compared, for this reason.
    Not(&'static str),
}

/// Where the words between A and B stand, and the line between them, in px from the left of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The left end of the line, within the picture.
    pub left_px: f64,
    /// The right end.
    pub right_px: f64,
}

impl Span {
    /// Returns the left edge of words of this width: in the middle of the line if they fit, else beside it where there
    /// is room, else as near its begin as the picture allows. The words keep 28 px free at each end of the line.
    #[must_use]
    pub fn words_left_px(self, words_px: f64, picture_px: f64) -> f64 {
        /// Px between the words and an end of the line.
        const ASIDE_PX: f64 = 28.0;
        let length_px = self.right_px - self.left_px;
        if words_px + 2.0 * ASIDE_PX <= length_px {
            self.left_px + (length_px - words_px) / 2.0
        } else if self.right_px + words_px <= picture_px {
            self.right_px
        } else if self.left_px >= words_px {
            self.left_px - words_px
        } else {
            self.left_px.min(picture_px - words_px).max(0.0)
        }
    }
}
