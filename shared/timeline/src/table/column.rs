//! The tables and their columns.

/// A table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tab {
    /// The records and stretches that the picture has in view; of more than [`ROWS_MOST`](super::ROWS_MOST), the
    /// newest.
    #[default]
    Records,
    /// The occurrences of findings that loaded chapters show; of more than 10,000, the newest.
    Findings,
    /// The watches, without those that watchscope opens only to check another one.
    Watches,
    /// The objects of the selected lane, with their loaded versions; of more than 20,000 versions, the newest.
    Versions,
}

impl Tab {
    /// All tables, in the order of their tabs.
    pub const ALL: [Self; 4] = [Self::Records, Self::Findings, Self::Watches, Self::Versions];

    /// Returns the table's name.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Records => "Records in view",
            Self::Findings => "Findings",
            Self::Watches => "Watches",
            Self::Versions => "Versions",
        }
    }

    /// Returns the table's word in a link.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Findings => "findings",
            Self::Watches => "watches",
            Self::Versions => "versions",
        }
    }

    /// Returns the table with this word in a link; `None` if no table has it.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.word() == word)
    }
}

/// The value of a row that a column shows and sorts by. A column that sorts by something else than it shows says so
/// ([`Column::says`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// When the row's record happened, or when its stretch began and ended.
    Time,
    /// When the row's stretch began.
    From,
    /// When the row's stretch ended; `now` if it had not ended by `now`.
    Until,
    /// How long the row's stretch lasted.
    Lasted,
    /// The row's kind.
    Kind,
    /// The row's lane.
    Lane,
    /// The row's resourceVersion.
    Version,
    /// The row's sentence. Rows sort by kind first, then findings by code and time, and rows of other kinds by lane and
    /// resourceVersion.
    What,
    /// The field manager that wrote the object's version.
    Manager,
    /// A finding's code.
    Code,
    /// A finding's name.
    Name,
    /// A finding's severity.
    Severity,
    /// How often a finding had occurred, up to and with the occurrence of the row.
    Times,
    /// The watches that a finding names.
    Watches,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's heading.
    pub name: &'static str,
    /// The column's explanation, with the value that it sorts by if this is not what it shows.
    pub says: &'static str,
    /// Whether the column has numbers or ranks. These are aligned to the right, and the first press of the heading
    /// sorts from the highest.
    pub is_figure: bool,
    /// The value that the column shows and sorts by.
    pub by: By,
}

const fn words(name: &'static str, by: By, says: &'static str) -> Column {
    Column {
        name,
        says,
        is_figure: false,
        by,
    }
}

const fn figure(name: &'static str, by: By, says: &'static str) -> Column {
    Column {
        is_figure: true,
        ..words(name, by, says)
    }
}

/// The columns of [`Tab::Records`], from the left.
const RECORDS: &[Column] = &[
    words(
        "Time",
        By::Time,
        "When it happened; of a stretch, begin, end and duration",
    ),
    words(
        "Kind",
        By::Kind,
        "What the picture draws by a glyph, a hatch or a line",
    ),
    words("Lane", By::Lane, "The lane of the picture"),
    figure(
        "resourceVersion",
        By::Version,
        "The version that the record brought",
    ),
    figure(
        "Lasted",
        By::Lasted,
        "The duration of a stretch, so far if it is open",
    ),
    words(
        "What",
        By::What,
        "What happened. It sorts by kind, then lane, then resourceVersion; findings by code, then time",
    ),
];

/// The columns of [`Tab::Findings`], from the left.
const FINDINGS: &[Column] = &[
    words("Time", By::Time, "When the occurrence was raised"),
    words("Code", By::Code, "The row of the failure catalogue"),
    words("Name", By::Name, "Its name"),
    figure("Severity", By::Severity, "The severity of this occurrence"),
    words("Concerns", By::Watches, "The watches that it names"),
    figure(
        "Occurred",
        By::Times,
        "How often the finding had occurred by then",
    ),
    figure(
        "Stood",
        By::Lasted,
        "Until the next occurrence, or until the finding was cleared",
    ),
    words(
        "What",
        By::What,
        "What happened. It sorts by code, then time",
    ),
];

/// The columns of [`Tab::Versions`], from the left.
const VERSIONS: &[Column] = &[
    words("Object", By::Lane, "The object and its watch"),
    figure(
        "resourceVersion",
        By::Version,
        "The version, if it is a number",
    ),
    words("From", By::From, "When the watch learned of it"),
    words(
        "Until",
        By::Until,
        "When the next version came, or the object was deleted",
    ),
    figure("Held", By::Lasted, "How long the watch held this version"),
    words("Change", By::Kind, "The event that brought it"),
    words(
        "Manager",
        By::Manager,
        "Who wrote it, if it is known. It sorts by object, then time",
    ),
    words(
        "What",
        By::What,
        "The event in words. It sorts by kind, then object, then resourceVersion",
    ),
];

/// Returns the columns of a table, from the left. For [`Tab::Watches`] the result is empty: the columns of that table
/// are in [`health`](crate::health::COLUMNS).
#[must_use]
pub const fn columns(tab: Tab) -> &'static [Column] {
    match tab {
        Tab::Records => RECORDS,
        Tab::Findings => FINDINGS,
        Tab::Watches => &[],
        Tab::Versions => VERSIONS,
    }
}
