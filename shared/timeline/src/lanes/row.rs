//! A row, and all rows: the lane, the position and the height of each.

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
    /// Low rows, so that many lanes fit on a screen.
    #[default]
    Compact,
    /// Larger rows and glyphs.
    Comfortable,
    /// Compact rows, with room above each lane for its name: narrow screens have no tree beside the lanes.
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

    /// Returns the height of a row together with the room for its name; for an object's row, that of one without
    /// divergence.
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
    /// An open watch; the rows of its objects stand under it.
    Watch,
    /// A closed watch, drawn as one low strip.
    Strip,
    /// The connections to a server.
    Connection,
    /// The resourceVersion trace of a watch.
    Version,
    /// An object.
    Object,
    /// The objects of a watch that have no rows of their own, or had none until the viewer opened them.
    More,
    /// The gone objects of a watch: those that it lost at least 60 s ago, and that have no open verdict. A loaded
    /// record, or a first list in view, must show the loss. Once the viewer opened this row, the rows of these objects
    /// follow it.
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
    /// A stream of a simulated cluster: the events that a watch cache, or etcd directly, sends to one client.
    LayerStream,
}

/// A row of the picture and of the tree beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The row's lane.
    pub id: LaneId,
    /// The row's kind.
    pub kind: RowKind,
    /// Top edge of the row, from the top of all rows; the room for the name lies above this edge.
    pub y: Px,
    /// Height of the room above the top edge for the name; 0 unless rows are [labelled](Density::Labelled).
    pub label: Px,
    /// Height of the row, without `label`.
    pub height: Px,
    /// Side of the row's glyphs, in whole px: 10, 12 or 14.
    pub glyph_size: u8,
    /// Where the row's name begins in the tree, in px from the left edge of the tree.
    pub indent_px: u8,
    /// The fainter part before the name: `shop/`; may be empty. Hostile: show as text.
    pub prefix: Text,
    /// The row's name. Hostile: show as text.
    pub name: Text,
    /// The number at the row's right; `None` if the row has none. For a watch or an object, this is the number of its
    /// loaded changes that a stream delivered. For the row of findings it is the number of findings in view; those of
    /// one code count as one. For own requests it is the number of loaded requests. For a crowd it is the number of its
    /// clients, for an apiserver that of its watch caches. For any other layer it is the number of its objects. A layer
    /// other than a crowd has no number instead of 0.
    pub count: Option<u64>,
    /// Whether the rows that stand under this row, or that it stands for, are shown; `None` if there can be none.
    pub expanded: Option<bool>,
    /// The most severe event of the row in view, as a mark in the tree; `None` if the row has no error, refusal, lost
    /// gap or confirmed divergence. A layer has a mark while it holds ghosts, a crowd while one of its clients does.
    /// The row of findings has a mark if a finding in view has the severity divergence or error.
    pub mark: Option<(Glyph, Token)>,
    /// Code and severity of the most severe finding about the row's lane that is open at the head and not muted. `None`
    /// if there is none, and for all rows except those of watches, clients and crowds.
    pub finding: Option<(Text, Severity)>,
    /// Whether the row is of an object with a confirmed divergence in view; `false` for any other row.
    pub diverged: bool,
    /// Whether the row stands among the pinned lanes at the top.
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
    /// The index of the section's first row in [`Rows::rows`].
    pub row: usize,
    /// The section's name; empty if the section has none, `Pinned` for pinned lanes. The name may come from the
    /// cluster: show as text.
    pub name: Text,
    /// Whether the section's name stands above its first row. Otherwise the name stands in a column, or the section has
    /// no name.
    pub has_heading: bool,
}

impl SectionBegin {
    /// Returns where a section begins, from the top of all rows: at its heading, or at the room for the name of its
    /// first row. `first` is the section's first row.
    #[must_use]
    pub fn top(&self, first: &Row) -> Px {
        let top = first.y - first.label;
        match self.has_heading {
            true => top - SECTION,
            false => top,
        }
    }
}

/// All rows of the picture. The lanes that the viewer and the arrangement show bound their number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The rows from top to bottom, without overlap; may be empty.
    pub rows: Vec<Row>,
    /// Height of all rows together, with the rooms for their names and for the headings of sections.
    pub height: Px,
    /// How many watches and objects the filter hides. If a watch is hidden by its kind, or by a word that its name must
    /// not have, the watch's objects do not count. All layers of a simulated cluster count as one; connections, and
    /// lanes that the viewer hid, do not count. 0 without a filter.
    pub hidden: usize,
    /// The sections, from top to bottom; empty if the lanes are not grouped and no lane is pinned.
    pub sections: Vec<SectionBegin>,
    /// How many objects the closed rows of gone objects stand for, without those of `unwatched`.
    pub gone: usize,
    /// How many objects of closed such rows belong to watches of earlier runs that the current run does not have.
    pub unwatched: usize,
    /// The objects that the rows of gone objects stand for, and those that nobody watches any longer, with their
    /// watches.
    pub(crate) gone_of: Vec<(WatchId, ObjectId)>,
}

impl Rows {
    /// Returns the first row of a lane; `None` if the lane has no row.
    #[must_use]
    pub fn find(&self, lane: LaneId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == lane)
    }

    /// Returns the row at a y from the top of all rows. A row's top edge belongs to the row, its bottom edge does not.
    /// `None` for a y in the room for a name, and for a y above or below all rows.
    #[must_use]
    pub fn at(&self, y: Px) -> Option<&Row> {
        let place = self.rows.partition_point(|row| row.bottom() <= y);
        self.rows.get(place).filter(|row| row.y <= y)
    }

    /// Returns the indexes of the rows that lie at least partly between two y, measured from the top of all rows; an
    /// empty range if there is none. A row that only touches one of the two y is left out. The rooms for names do not
    /// count as parts of rows.
    #[must_use]
    pub fn window(&self, top: Px, bottom: Px) -> std::ops::Range<usize> {
        let from = self.rows.partition_point(|row| row.bottom() <= top);
        let to = self.rows.partition_point(|row| row.y < bottom);
        from..to.max(from)
    }
}
