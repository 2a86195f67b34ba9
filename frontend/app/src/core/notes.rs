//! Notes of persons, as plain data: what a person does with them, what is being written, what the panel shows.

use watchscope_model::tree::BTreeMap;
use watchscope_model::{EpochId, NoteKey, Object, Time, WatchName};
use watchscope_timeline::RecordId;
use watchscope_timeline::draw::FlagMark;

/// What a person does with notes. A note is named by its number in [`NotesState::ids`], which stays as others come and go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteDeed {
    /// Has the one that is being written be about this choice of [`Draft::choices`].
    About(usize),
    /// Has it say this so far.
    Typed(Box<str>),
    /// Saves it.
    Save,
    /// Drops it.
    Cancel,
    /// Changes a note.
    Edit(u32),
    /// Withdraws a note.
    Withdraw(u32),
    /// Selects a note and goes to the time that it is about.
    Show(u32),
}

/// What the second part knows of notes.
#[derive(Debug, Default)]
pub struct NotesState {
    /// Whether the panel is open.
    pub is_open: bool,
    /// The flags in the picture, in the order of their times.
    pub marks: Vec<FlagMark>,
    /// The notes of the flags; that of the note that is being written has none.
    pub keys: Vec<Option<NoteKey>>,
    /// The note that is being written.
    pub draft: Option<Draft>,
    /// How many were begun: the form of one is not that of the next.
    pub drafts: u64,
    /// The selected note.
    pub selected: Option<NoteKey>,
    /// The run of the log's writer that notes of this page alone are said to be of.
    pub here: Option<EpochId>,
    /// How many of them there were, with their later versions.
    pub kept_here: u64,
    /// What was sent and is not answered yet.
    pub sent: Option<Sent>,
    /// What went wrong last, besides with the note that is being written.
    pub trouble: Option<&'static str>,
    /// The numbers by which panels name notes.
    pub ids: BTreeMap<NoteKey, u32>,
    /// The store's version of its notes when the flags were made last.
    pub version: Option<u64>,
    /// Whether the rows of the panel are those of these flags.
    pub has_rows: bool,
    /// For which greeting of the server its notes were asked for.
    pub asked_for_ms: Option<u64>,
}

/// A note that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Which one.
    pub number: u64,
    /// When the time begins that it is about.
    pub from: Time,
    /// When that time ends, unless it is one moment.
    pub to: Option<Time>,
    /// What it may be about: the most narrow first, at last the whole log.
    pub choices: Vec<About>,
    /// Which of these it is about.
    pub about: usize,
    /// The note that it changes.
    pub replaces: Option<NoteKey>,
    /// What it says so far.
    pub text: String,
    /// Whether the panel was opened for it.
    pub has_opened: bool,
    /// Why it was not taken.
    pub refusal: Option<String>,
}

/// What a note is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The watch, if it is not the whole log.
    pub watch: Option<WatchName>,
    /// The object of it.
    pub object: Option<Object>,
}

/// A note that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The command's number.
    pub command: u64,
    /// When, in milliseconds of the browser's clock.
    pub sent_ms: u64,
    /// The last record before it.
    pub after: Option<RecordId>,
    /// The note that was being written; absent: one is withdrawn.
    pub draft: Option<u64>,
    /// What was sent.
    pub text: String,
    /// The note that it changes or withdraws.
    pub replaces: Option<NoteKey>,
}

/// What the panel shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesShown {
    /// The notes, in the order of their times: the last 500.
    pub rows: Vec<NoteRow>,
    /// How many there are.
    pub count: usize,
    /// The form.
    pub form: Option<NoteForm>,
    /// How long notes are kept, or why none is.
    pub keeping: &'static str,
    /// Whether none can be written here.
    pub is_closed: bool,
    /// How many notes, changes and withdrawals are in this page only: closing it loses them.
    pub unsaved: u64,
    /// What went wrong.
    pub trouble: Option<String>,
    /// Whether the picture has a row of flags.
    pub has_flags: bool,
}

/// A note in the panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRow {
    /// By which panels name it.
    pub id: u32,
    /// Its place in the order of times, as on its flag.
    pub number: u32,
    /// When the time begins that it is about: `03:12:40`, with the date if that is not today.
    pub time: String,
    /// When that time ends, if it is no moment: `to 03:13:24, 44 s`.
    pub until: Option<String>,
    /// Its first line.
    pub heading: String,
    /// The other lines.
    pub rest: String,
    /// What it is about.
    pub about: String,
    /// When it was written, or changed.
    pub written: String,
    /// Whether it is selected.
    pub is_selected: bool,
}

/// The form of a note that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteForm {
    /// Which one.
    pub number: u64,
    /// What it says before the person writes.
    pub text: String,
    /// Whether it changes a note.
    pub is_change: bool,
    /// When: `at 03:12:40`, `03:12:40 to 03:13:24, 44 s`.
    pub time: String,
    /// What it may be about.
    pub choices: Vec<String>,
    /// Which of these it is about.
    pub about: usize,
    /// Whether it is being saved.
    pub is_saving: bool,
    /// Why it was not taken.
    pub refusal: Option<String>,
}
