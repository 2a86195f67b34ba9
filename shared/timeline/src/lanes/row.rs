//! A row, and all rows: the lane of each, its place and its height.

use watchscope_model::Text;
use watchscope_model::vocabulary::Severity;

use crate::glyph::Glyph;
use crate::id::{LaneId, ObjectId, WatchId};
use crate::scene::Px;
use crate::tokens::Token;

/// Height of the room for the name of a section, above its first row, in px. The number has no source.
pub(super) const SECTION: Px = Px::whole(20);

/// The height of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Density {
    /// Many lanes on a screen.
    #[default]
    Compact,
    /// Larger rows and glyphs.
    Comfortable,
    /// Compact, with room above each lane for its name: narrow screens have no tree.
    Labelled,
}

impl Density {
    /// Returns the height of the room for a row's name above it, and the height of the row itself.
    pub(super) fn heights(self, kind: RowKind, diverged: bool) -> (Px, Px) {
        let is_compact = self != Self::Comfortable;
        let (compact, comfortable) = match (kind, diverged) {
            (RowKind::Findings | RowKind::Watch | RowKind::Layer, _) => (26, 32),
            (RowKind::Connection | RowKind::LayerConnection | RowKind::OwnRequests, _) => (20, 24),
            (RowKind::Version | RowKind::LayerTrace, _) => (40, 56),
            (RowKind::LayerStream, _) => (16, 20),
            (RowKind::Strip | RowKind::More | RowKind::Gone | RowKind::Quiet, _) => (14, 18),
            (RowKind::Object, false) => (18, 24),
            (RowKind::Object, true) => (26, 30),
        };
        let label = match (self, kind) {
            (Self::Compact | Self::Comfortable, _) => 0,
            (Self::Labelled, RowKind::Findings | RowKind::Watch) => 16,
            (Self::Labelled, _) => 14,
        };
        let height = if is_compact { compact } else { comfortable };
        (Px::whole(label), Px::whole(height))
    }

    /// Returns the height of a row together with the room for its name, for an object that does not diverge.
    pub(super) fn whole_height(self, kind: RowKind) -> Px {
        let (label, height) = self.heights(kind, false);
        label + height
    }
}

/// The kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// All findings.
    Findings,
    /// A watch; its rows hang under it.
    Watch,
    /// A watch whose rows are not shown.
    Strip,
    /// The connections to a server.
    Connection,
    /// The resourceVersion trace of a watch.
    Version,
    /// An object.
    Object,
    /// The objects of a watch that have no rows of their own, or had none until the viewer opened them.
    More,
    /// The objects of a watch that were deleted at least 60 s ago, and have no open verdict; folded or opened.
    Gone,
    /// The quiet watches that have no rows of their own, or had none until the viewer opened them.
    Quiet,
    /// The requests that watchscope sends beside its watches.
    OwnRequests,
    /// A layer of a simulated cluster, drawn by what it does: an apiserver, a client, a crowd, or the heading of all.
    Layer,
    /// A layer of a simulated cluster, drawn by its progress: etcd or a watch cache.
    LayerTrace,
    /// The connections of a client in a simulated cluster's network.
    LayerConnection,
    /// The events that a watch cache of a simulated cluster, or etcd past it, feeds one client.
    LayerStream,
}

/// A row of the picture and of the tree beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its lane.
    pub id: LaneId,
    /// Its kind.
    pub kind: RowKind,
    /// Top edge, from the top of all rows; the room for the name lies above it.
    pub y: Px,
    /// Height of the room above the top edge for the name; 0 unless rows are [labelled](Density::Labelled).
    pub label: Px,
    /// Height, without `label`.
    pub height: Px,
    /// Side of its glyphs, in whole px: 10, 12 or 14.
    pub glyph_size: u8,
    /// Where its name begins in the tree, in px from the left edge of the tree.
    pub indent_px: u8,
    /// The fainter part before the name: `shop/`; may be empty. Hostile: show as text.
    pub prefix: Text,
    /// Its name. Hostile: show as text.
    pub name: Text,
    /// The number at its right; `None` if it has none. For a watch or an object, its loaded changes that a stream
    /// delivered. Else the findings in view (those of one code are one), or the loaded requests. For a crowd its
    /// clients, for any other layer its objects if it has some.
    pub count: Option<u64>,
    /// Whether the rows that it stands for are shown; `None` if it stands for none.
    pub expanded: Option<bool>,
    /// Its most severe event in view, as a mark in the tree; `None` if it has no error, refusal, lost gap or confirmed
    /// divergence. A layer has one while it holds ghosts. That of the findings' row is about their severity.
    pub mark: Option<(Glyph, Token)>,
    /// The most severe finding of it that is open at the head and not muted: its code and severity. `None` if there is
    /// none, and for all rows except those of watches, clients and crowds.
    pub finding: Option<(Text, Severity)>,
    /// Whether the row is of an object with a confirmed divergence in view; `false` for any other row.
    pub diverged: bool,
    /// Whether it stands among the pinned lanes at the top.
    pub pinned: bool,
}

impl Row {
    /// Returns the bottom edge, from the top of all rows.
    #[must_use]
    pub fn bottom(&self) -> Px {
        self.y + self.height
    }
}

/// The begin of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionBegin {
    /// The index of its first row in [`Rows::rows`].
    pub row: usize,
    /// Its name; empty if it has none, `Pinned` for pinned lanes. It may come from the cluster: show as text.
    pub name: Text,
    /// Whether its name stands above its first row. Otherwise a column has it, or it has none.
    pub has_heading: bool,
}

impl SectionBegin {
    /// Returns where a section begins, from the top of all rows: at its heading, or at the room for the name of its
    /// first row. `first` is that row.
    #[must_use]
    pub fn top(&self, first: &Row) -> Px {
        let top = first.y - first.label;
        match self.has_heading {
            true => top - SECTION,
            false => top,
        }
    }
}

/// All rows. Their number is that of the lanes that the viewer and the arrangement show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// From top to bottom, without overlap; may be empty.
    pub rows: Vec<Row>,
    /// Height of all rows together, with the rooms for their names and for the headings of sections.
    pub height: Px,
    /// How many watches and objects the filter hides. If `kind` or a word that it must not have hides a watch, its
    /// objects do not count. The inside of the cluster counts as one, and connections do not count; nor do lanes that
    /// the viewer hid. 0 without a filter.
    pub hidden: usize,
    /// The sections, from top to bottom; empty if the lanes are not grouped and none is pinned.
    pub sections: Vec<SectionBegin>,
    /// How many objects the closed rows of gone objects stand for.
    pub gone: usize,
    /// The objects that the rows of gone objects stand for, with their watches.
    pub(crate) gone_of: Vec<(WatchId, ObjectId)>,
}

impl Rows {
    /// Returns the first row of a lane; `None` if it has none.
    #[must_use]
    pub fn find(&self, lane: LaneId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == lane)
    }

    /// Returns the row at a y from the top of all rows. Its top edge belongs to it, its bottom edge does not. `None` in
    /// the room for a name, and beside all rows.
    #[must_use]
    pub fn at(&self, y: Px) -> Option<&Row> {
        let place = self.rows.partition_point(|row| row.bottom() <= y);
        self.rows.get(place).filter(|row| row.y <= y)
    }

    /// Returns the indexes of the rows that have a part between two y from the top of all rows; an empty range if none
    /// has. A row that only touches one of them is left out. Rooms for names do not count.
    #[must_use]
    pub fn window(&self, top: Px, bottom: Px) -> std::ops::Range<usize> {
        let from = self.rows.partition_point(|row| row.bottom() <= top);
        let to = self.rows.partition_point(|row| row.y < bottom);
        from..to.max(from)
    }
}
