//! The kinds of a table's rows.

use crate::scene::StretchKind;
use crate::store::MarkKind;

/// The kind of a row: what the picture draws by a glyph, a hatch or a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An ADDED of an object.
    Added,
    /// A MODIFIED of an object.
    Modified,
    /// A MODIFIED that changed only the status.
    Status,
    /// A DELETED of an object, also an inferred one.
    Deleted,
    /// A BOOKMARK.
    Bookmark,
    /// The bookmark that ends the initial events.
    InitialEnd,
    /// A complete list.
    List,
    /// An ERROR event.
    Error,
    /// A jump of the resourceVersion.
    Jump,
    /// A reversal of the resourceVersion.
    Reversal,
    /// A loss: something that watchscope lost or could not read, or that an extract left out.
    Loss,
    /// A read of the audit.
    Read,
    /// A request that watchscope sent beside its watches, or the answer to it.
    OwnRequest,
    /// The end of a stream.
    StreamEnd,
    /// A change of a layer of a simulated cluster, at the record that shows it. Also the layer's state at the begin of
    /// a loaded chapter.
    Layer,
    /// A phase of a watch.
    Phase,
    /// A stream, from its opening to its end.
    Stream,
    /// A gap.
    Gap,
    /// A connection.
    Connection,
    /// The life of an object in a watch.
    Life,
    /// A divergence of an object.
    Divergence,
    /// An occurrence of a finding.
    Finding,
}

impl Kind {
    /// All kinds, each once, in the order in which a list offers them to a person.
    pub const ALL: [Self; 22] = [
        Self::Added,
        Self::Modified,
        Self::Status,
        Self::Deleted,
        Self::Bookmark,
        Self::InitialEnd,
        Self::List,
        Self::Error,
        Self::Gap,
        Self::Finding,
        Self::Divergence,
        Self::Jump,
        Self::Reversal,
        Self::Stream,
        Self::StreamEnd,
        Self::Phase,
        Self::Connection,
        Self::Life,
        Self::Read,
        Self::OwnRequest,
        Self::Loss,
        Self::Layer,
    ];

    /// Returns the kind in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Status => "MODIFIED, status only",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::InitialEnd => "end of initial events",
            Self::List => "list",
            Self::Error => "ERROR",
            Self::Jump => "jump",
            Self::Reversal => "reversal",
            Self::Loss => "loss",
            Self::Read => "audit read",
            Self::OwnRequest => "own request",
            Self::StreamEnd => "end of a stream",
            Self::Layer => "layer",
            Self::Phase => "phase",
            Self::Stream => "stream",
            Self::Gap => "gap",
            Self::Connection => "connection",
            Self::Life => "life",
            Self::Divergence => "divergence",
            Self::Finding => "finding",
        }
    }

    /// Returns the kind of stretch as which the picture draws rows of this kind; `None` for kinds of single records.
    #[must_use]
    pub const fn stretch(self) -> Option<StretchKind> {
        Some(match self {
            Self::Phase => StretchKind::Phase,
            Self::Stream => StretchKind::Stream,
            Self::Gap => StretchKind::Gap,
            Self::Connection => StretchKind::Connection,
            Self::Life => StretchKind::Life,
            Self::Divergence => StretchKind::Divergence,
            Self::Finding => StretchKind::Finding,
            _ => return None,
        })
    }

    /// Returns the kind of a mark.
    pub(super) const fn of_mark(mark: MarkKind) -> Self {
        match mark {
            MarkKind::Added | MarkKind::AddedByList => Self::Added,
            MarkKind::Modified | MarkKind::ModifiedByList => Self::Modified,
            MarkKind::Status | MarkKind::StatusByList => Self::Status,
            MarkKind::Deleted | MarkKind::DeletedInferred => Self::Deleted,
            MarkKind::Bookmark => Self::Bookmark,
            MarkKind::InitialEnd => Self::InitialEnd,
            MarkKind::List => Self::List,
        }
    }
}
