//! Notes of persons, as plain data: a person's actions, drafts, and the contents of the panel.

use watchscope_model::tree::BTreeMap;
use watchscope_model::{EpochId, NoteKey, Object, Time, WatchName};
use watchscope_timeline::RecordId;
use watchscope_timeline::draw::FlagMark;

/// An action on notes. It names a note by its number in [`NotesState::ids`], which stays as other notes come and go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteDeed {
    /// Makes the draft be about this entry of [`Draft::choices`].
    About(usize),
    /// Sets the draft's text.
    Typed(Box<str>),
    /// Saves the draft.
    Save,
    /// Drops the draft.
    Cancel,
    /// Begins a draft that changes a note.
    Edit(u32),
    /// Withdraws a note.
    Withdraw(u32),
    /// Selects a note and goes to its time.
    Show(u32),
}

/// The second part's state of notes.
#[derive(Debug, Default)]
pub struct NotesState {
    /// Whether the panel is open.
    pub is_open: bool,
    /// The flags in the picture, in the order of their times.
    pub marks: Vec<FlagMark>,
    /// The key of each flag's note; `None` for the draft's flag.
    pub keys: Vec<Option<NoteKey>>,
    /// The draft.
    pub draft: Option<Draft>,
    /// The number of drafts so far. It tells one draft's form from the next.
    pub drafts: u64,
    /// The selected note.
    pub selected: Option<NoteKey>,
    /// The epoch in the keys of notes that exist only in this page.
    pub here: Option<EpochId>,
    /// The number of notes that exist only in this page, counting changes and withdrawals.
    pub kept_here: u64,
    /// The last exported recording with all notes of this page: its [`kept_here`](Self::kept_here) and its name.
    pub saved: Option<(u64, Box<str>)>,
    /// The note that was sent and has no answer yet.
    pub sent: Option<Sent>,
    /// The last error that does not concern the draft.
    pub trouble: Option<&'static str>,
    /// The numbers by which panels name notes.
    pub ids: BTreeMap<NoteKey, u32>,
    /// The store's version of notes for which the flags were made.
    pub version: Option<u64>,
    /// Whether the panel's rows belong to these flags.
    pub has_rows: bool,
    /// The time of the greeting after which the server's notes were requested, in milliseconds.
    pub asked_for_ms: Option<u64>,
}

/// A note in the form, not saved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Its number, from 1.
    pub number: u64,
    /// The begin of the note's time.
    pub from: Time,
    /// The end of the note's time; `None` for a moment.
    pub to: Option<Time>,
    /// The subjects to choose from, the narrowest first. The last is the whole log.
    pub choices: Vec<About>,
    /// The index of the chosen subject.
    pub about: usize,
    /// The note that the draft changes; `None` for a new note.
    pub replaces: Option<NoteKey>,
    /// The text so far.
    pub text: String,
    /// Whether the draft opened the panel.
    pub has_opened: bool,
    /// Why the note was refused.
    pub refusal: Option<String>,
}

/// The subject of a note; the whole log by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The watch; `None` for the whole log.
    pub watch: Option<WatchName>,
    /// The object of the watch; `None` for the whole watch.
    pub object: Option<Object>,
}

/// A note that was sent to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The command's number.
    pub command: u64,
    /// When it was sent, in milliseconds of the browser's clock.
    pub sent_ms: u64,
    /// The last record before it was sent.
    pub after: Option<RecordId>,
    /// The number of the draft; `None` for a withdrawal.
    pub draft: Option<u64>,
    /// The text that was sent.
    pub text: String,
    /// The note that is changed or withdrawn.
    pub replaces: Option<NoteKey>,
}

/// The contents of the notes panel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesShown {
    /// The notes with the latest times, at most 500, in the order of their times. Earlier ones are only counted.
    pub rows: Vec<NoteRow>,
    /// The number of all notes.
    pub count: usize,
    /// The draft's form.
    pub form: Option<NoteForm>,
    /// A sentence about how long notes are kept, or why there are none.
    pub keeping: &'static str,
    /// Whether writing notes is impossible here.
    pub is_closed: bool,
    /// The number of notes, changes and withdrawals that were made in this page.
    pub kept: u64,
    /// The number of those that are lost when the page closes: they are in no exported recording. A note that was
    /// withdrawn before it was exported counts no more.
    pub unsaved: u64,
    /// The last error.
    pub trouble: Option<String>,
    /// Whether the picture has a row of flags.
    pub has_flags: bool,
}

/// A note in the panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRow {
    /// The number by which panels name the note.
    pub id: u32,
    /// Its position in the order of times, from 1, as on its flag.
    pub number: u32,
    /// The begin of its time: `03:12:40`, with the date if that is not today.
    pub time: String,
    /// The end of its time, unless it is a moment: `to 03:13:24, 44 s`.
    pub until: Option<String>,
    /// Its first line.
    pub heading: String,
    /// The other lines.
    pub rest: String,
    /// Its subject.
    pub about: String,
    /// When it was changed, or written if that is over a minute after its time; otherwise empty. For a note of
    /// this page: `not saved`, or `saved in NAME` once an exported recording has it.
    pub written: String,
    /// Whether it is selected.
    pub is_selected: bool,
}

/// The form of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteForm {
    /// The draft's number.
    pub number: u64,
    /// The text with which the form opens.
    pub text: String,
    /// Whether the draft changes a note.
    pub is_change: bool,
    /// Its time: `03:12:40`, or `03:12:40 to 03:13:24, 44 s`.
    pub time: String,
    /// The subjects to choose from.
    pub choices: Vec<String>,
    /// The index of the chosen subject.
    pub about: usize,
    /// Whether it is being saved.
    pub is_saving: bool,
    /// Why the note was refused.
    pub refusal: Option<String>,
}
