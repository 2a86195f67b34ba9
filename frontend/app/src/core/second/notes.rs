//! Notes of persons: writing them about a moment or the marked range, changing, withdrawing, selecting and going to
//! them.
//!
//! ```text
//!   M, Shift+M ─► Draft ─► WriteNote ─► server ─► record ─► store ─► flags and rows, of all viewers alike
//!                   ▲                      └────► refused ─► words in the form
//!                   └── Edit
//! ```

use std::sync::Arc;

use watchscope_model::event::Event;
use watchscope_model::notes::{MAX_NOTE_BYTES, StandingNote, checked, decode_notes};
use watchscope_model::wire::{RawText, WriteNote};
use watchscope_model::{KeptNote, NoteKey, Object, Seq, Time};
use watchscope_timeline::{LaneId, format};

use crate::core::effect::{Effect, Focus, PanelEffect};
use crate::core::model::Model;
use crate::core::notes::{About, Draft, NoteDeed, NoteRow, NotesShown, Sent};
use crate::source::connection::Status;

use super::note_words::{form, refusal_words, row};

/// The most notes in the panel. Of more, it lists those with the latest times.
const LISTED_MOST: usize = 500;
/// The longest wait for the server's answer, in milliseconds. Then the form reports that the answer is missing.
const PATIENCE_MS: u64 = 15_000;

/// How long notes are kept: without a history.
const BY_RING: &str =
    "Without --history a note is lost when its record leaves the memory of watchscope.";
const BY_HISTORY: &str = "The history keeps them as long as its other records.";
/// The server of a recording takes no notes, so the page keeps them itself.
const RECORDING: &str = "Notes that you write here are not saved. Export a recording to keep them.";
const LESSON: &str = "A lesson keeps no notes.";

const ANSWER_LOST: &str =
    "watchscope has not answered. The note may be in the log; look before you save it again.";
const NOT_CONNECTED: &str = "Not connected: nothing was saved. The text stays here.";

impl Model {
    /// Handles an action on notes. The function comes with the third part of the page.
    pub fn do_with_note(&mut self, deed: NoteDeed) {
        match deed {
            NoteDeed::About(choice) => {
                if let Some(draft) = &mut self.panels.notes.draft {
                    draft.about = choice.min(draft.choices.len().saturating_sub(1));
                }
            }
            NoteDeed::Typed(text) => {
                if let Some(draft) = &mut self.panels.notes.draft {
                    draft.text = text.into();
                    // The reason concerned the text before this change.
                    if self.panels.notes.sent.is_none() {
                        draft.refusal = None;
                    }
                }
            }
            NoteDeed::Save => self.save_note(),
            NoteDeed::Cancel => self.cancel_note(),
            NoteDeed::Edit(id) => self.change_note(id),
            NoteDeed::Withdraw(id) => self.withdraw_note(id),
            NoteDeed::Show(id) => self.show_note(id),
        }
        self.show_notes();
    }

    /// Opens or closes the notes panel, which takes the place of the detail panel.
    pub(super) fn toggle_notes(&mut self) {
        if self.panels.notes.is_open {
            self.panels.notes.is_open = false;
            self.focus_soon(Focus::Picture);
        } else {
            self.open_notes();
            self.focus_soon(Focus::Notes);
        }
        self.show_notes();
    }

    pub(super) fn open_notes(&mut self) {
        self.panels.notes.is_open = true;
        self.panels.watches_open = false;
        self.close_tables();
        if self.has_room_for_one() {
            self.panels.findings_open = false;
        }
    }

    /// Begins a draft about the moment for which panels answer, or about the marked range. An existing draft moves to
    /// that time, unless it changes a note.
    pub(super) fn write_note(&mut self, on_range: bool) {
        let (from, to) = if !on_range {
            (self.note_time(), None)
        } else if let Some((from, to)) = self.marked.range {
            (from, Some(to))
        } else {
            self.say("No range is marked.".to_owned());
            return;
        };
        if self.panels.is_lesson {
            self.say(LESSON.to_owned());
            return;
        }
        if self.keeping().1 {
            self.open_notes();
            self.say(self.keeping().0.to_owned());
            self.focus_soon(Focus::Notes);
            self.show_notes();
            return;
        }
        let choices = self.note_choices();
        let has_opened = !self.panels.notes.is_open;
        match &mut self.panels.notes.draft {
            // A draft that changes a note keeps the note's time.
            Some(draft) if draft.replaces.is_some() => {}
            Some(draft) => {
                (draft.from, draft.to) = (from, to);
                (draft.choices, draft.about) = (choices, 0);
            }
            None => self.begin_draft(Draft {
                number: 0,
                from,
                to,
                choices,
                about: 0,
                replaces: None,
                text: String::new(),
                has_opened,
                refusal: None,
            }),
        }
        self.open_notes();
        self.focus_soon(Focus::NoteField);
        self.show_notes();
    }

    fn begin_draft(&mut self, draft: Draft) {
        let notes = &mut self.panels.notes;
        notes.drafts += 1;
        notes.trouble = None;
        notes.draft = Some(Draft {
            number: notes.drafts,
            ..draft
        });
    }

    /// Returns the moment for which panels answer, otherwise the moment under the pointer, otherwise now.
    fn note_time(&self) -> Time {
        let top_px = self.lanes_top_px();
        let hover = self.panels.hover.filter(|&(_, y_px)| y_px >= top_px);
        let pointed = hover.map(|(x_px, _)| self.view.time_from_x(x_px));
        let at = self.moment().or(pointed);
        at.map_or(self.now(), |at| at.min(self.now()))
    }

    /// Returns the subjects for a new note: the selected object, its watch, and last the whole log.
    fn note_choices(&self) -> Vec<About> {
        let mut choices = Vec::new();
        if let Some(lane) = self.pick.selected {
            let (watch, object) = self.store.lane_names(lane);
            if let Some(object) = object {
                choices.push(About {
                    watch: watch.cloned(),
                    object: Some(self.selected_object().unwrap_or_else(|| object.clone())),
                });
            }
            if watch.is_some() {
                choices.push(About {
                    watch: watch.cloned(),
                    object: None,
                });
            }
        }
        choices.push(About::default());
        choices
    }

    /// Returns the object of the selected change. Its lane may have had an object with another uid before.
    fn selected_object(&self) -> Option<Object> {
        match self.store.record(self.pick.record?)?.event {
            Event::Change(change) => Some((*change.object).clone()),
            _ => None,
        }
    }

    /// Sends the draft, or shows in the form why it cannot be sent.
    fn save_note(&mut self) {
        let Some(draft) = self.panels.notes.draft.clone() else {
            return;
        };
        if self.panels.notes.sent.is_some() {
            return;
        }
        let text = draft.text.trim_end().to_owned();
        let refusal = if text.trim_start().is_empty() {
            Some(match draft.replaces {
                Some(_) => "The note is empty. To remove the note, withdraw it.".to_owned(),
                None => "The note is empty. Write a line, or cancel.".to_owned(),
            })
        } else if text.len() > MAX_NOTE_BYTES {
            let bytes = format::number(text.len() as u64);
            Some(format!(
                "The text has {bytes} bytes; a note has at most 4,096."
            ))
        } else {
            None
        };
        if refusal.is_some() {
            self.refuse_draft(refusal);
            return;
        }
        let about = draft.choices.get(draft.about).cloned().unwrap_or_default();
        let note = WriteNote {
            command: 0,
            text: RawText(text.clone().into_bytes()),
            watch: about.watch,
            object: about.object.map(Arc::new),
            from: Some(draft.from),
            to: draft.to,
            replaces: draft.replaces,
        };
        if !self.send_note(note, text, Some(draft.number)) {
            self.refuse_draft(Some(NOT_CONNECTED.to_owned()));
        }
    }

    fn refuse_draft(&mut self, refusal: Option<String>) {
        if let Some(words) = &refusal {
            self.say(words.clone());
        }
        if let Some(draft) = &mut self.panels.notes.draft {
            draft.refusal = refusal;
        }
        self.focus_soon(Focus::NoteField);
    }

    /// Keeps a note in this page only, under an epoch of the page's own.
    fn keep_here(&mut self, note: WriteNote, draft: Option<u64>) {
        let Some(log) = self
            .link
            .welcome
            .as_ref()
            .map(|welcome| welcome.log.clone())
        else {
            return;
        };
        let now = self.now;
        let notes = &mut self.panels.notes;
        let replaces = note.replaces.clone();
        let note = match checked(note) {
            Ok(note) => note,
            Err(refusal) => {
                self.refuse_draft(Some(refusal_words(refusal).to_owned()));
                return;
            }
        };
        let epoch = notes
            .here
            .get_or_insert_with(|| format!("page-{}", now.ms).as_str().into());
        notes.kept_here += 1;
        let key = NoteKey {
            log: log.clone(),
            epoch: epoch.clone(),
            seq: Seq(notes.kept_here),
        };
        let kept = KeptNote {
            key: key.clone(),
            at: now.local,
            note,
        };
        self.store.list_notes(&log, vec![kept]);
        self.is_saved(draft, replaces, Some(key));
    }

    /// Sends a note, or keeps it in the page of a recording. Returns whether that worked.
    fn send_note(&mut self, note: WriteNote, text: String, draft: Option<u64>) -> bool {
        if self.recording().is_some() {
            self.keep_here(note, draft);
            return true;
        }
        let replaces = note.replaces.clone();
        let Some((command, ask)) = self.link.connection.note(note) else {
            return false;
        };
        self.want(Effect::Link(ask));
        if let Some(draft) = &mut self.panels.notes.draft {
            draft.refusal = None;
        }
        self.panels.notes.trouble = None;
        self.panels.notes.sent = Some(Sent {
            command,
            sent_ms: self.now.ms,
            after: self.store.head(),
            draft,
            text,
            replaces,
        });
        true
    }

    fn cancel_note(&mut self) {
        let Some(draft) = self.panels.notes.draft.take() else {
            return;
        };
        if draft.has_opened {
            self.panels.notes.is_open = false;
            self.focus_soon(Focus::Picture);
        } else {
            self.focus_soon(Focus::Notes);
        }
    }

    /// Begins a draft that changes a note. Refuses while there is another draft.
    fn change_note(&mut self, id: u32) {
        if self.panels.notes.draft.is_some() {
            self.say("Save or cancel the note that is being written first.".to_owned());
            self.focus_soon(Focus::NoteField);
            return;
        }
        let Some(key) = self.note_of(id) else {
            return;
        };
        let standing = self.store.notes().standing();
        let Some(standing) = standing.iter().find(|note| *note.key == key) else {
            return;
        };
        let note = standing.note;
        let own = About {
            watch: note.watch.clone(),
            object: note.object.as_deref().cloned(),
        };
        let draft = Draft {
            number: 0,
            from: standing.from,
            to: note.to,
            replaces: Some(self.replaceable(standing)),
            text: note.text.clone(),
            choices: Vec::new(),
            about: 0,
            has_opened: false,
            refusal: None,
        };
        let mut choices = vec![own];
        for choice in self.note_choices() {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        self.begin_draft(Draft { choices, ..draft });
        self.panels.notes.selected = Some(key);
        self.focus_soon(Focus::NoteField);
    }

    /// Returns the record by which the server knows a note: the first one, or the last one if the first has left the
    /// ring.
    fn replaceable(&self, note: &StandingNote<'_>) -> NoteKey {
        let ring = self
            .link
            .welcome
            .as_ref()
            .filter(|_| self.link.history.is_none());
        let is_gone =
            ring.is_some_and(|ring| note.key.epoch == ring.epoch && note.key.seq < ring.first);
        if is_gone { note.last } else { note.key }.clone()
    }

    fn withdraw_note(&mut self, id: u32) {
        let key = self.note_of(id);
        if self.panels.notes.sent.is_some() {
            return;
        }
        let standing = self.store.notes().standing();
        let found = key.and_then(|key| standing.into_iter().find(|note| *note.key == key));
        let Some(replaces) = found.map(|note| self.replaceable(&note)) else {
            return;
        };
        let note = WriteNote {
            command: 0,
            text: RawText(Vec::new()),
            watch: None,
            object: None,
            from: None,
            to: None,
            replaces: Some(replaces),
        };
        if !self.send_note(note, String::new(), None) {
            self.panels.notes.trouble = Some(NOT_CONNECTED);
            self.say(NOT_CONNECTED.to_owned());
        }
    }

    /// Selects a note, and goes to its time and lane. The panel stays open.
    fn show_note(&mut self, id: u32) {
        let Some(key) = self.note_of(id) else {
            return;
        };
        let standing = self.store.notes().standing();
        let Some(note) = standing.iter().find(|note| *note.key == key) else {
            return;
        };
        let (from, to) = (note.from, note.to);
        let about = (note.note.watch.clone(), note.note.object.clone());
        let heading = note.heading().to_owned();
        self.panels.notes.selected = Some(key);
        self.leave_place();
        self.uncover();
        if from < to {
            self.set_range(Some((from, to)));
        } else {
            self.set_range(None);
            self.mark_time(from);
        }
        self.bring_into_view(from);
        if let (Some(watch), object) = about {
            let lane = self.store.find_lane(&watch, object.as_ref());
            let lane = lane.or_else(|| self.store.find_lane(&watch, None));
            if let Some(lane) = lane {
                self.frame_lane(lane);
            }
        }
        self.say(format!("{heading}, at {}", format::clock(from)));
        self.redraw();
    }

    /// Selects a lane and scrolls to it.
    fn frame_lane(&mut self, lane: LaneId) {
        self.open_watch_of(lane);
        self.pick.selected = Some(lane);
        self.pick.record = None;
        self.pick.evidence = None;
        self.focus_lane(lane);
        self.pick.stays_in_sight = true;
    }

    /// Returns the note with this panel number.
    fn note_of(&self, id: u32) -> Option<NoteKey> {
        let mut ids = self.panels.notes.ids.iter();
        ids.find(|(_, known)| **known == id)
            .map(|(key, _)| key.clone())
    }

    /// Takes the server's notes of all runs.
    pub(super) fn take_notes(&mut self, bytes: &[u8]) {
        let log = self
            .link
            .welcome
            .as_ref()
            .map(|welcome| welcome.log.clone());
        match (decode_notes(bytes), log) {
            (Ok(notes), Some(log)) => self.store.list_notes(&log, notes),
            (Err(_), _) => {
                self.panels.notes.trouble = Some(
                    "The earlier notes could not be read; the notes of loaded records are here.",
                );
            }
            (_, None) => {}
        }
        self.changed();
    }

    /// Computes flags and panel. Requests the server's notes after each greeting.
    pub(super) fn publish_notes(&mut self, now: Time) {
        let is_greeted = self.link.welcome.is_some() && !self.panels.is_lesson;
        let greeted_ms = is_greeted.then_some(self.link.welcomed_ms);
        if greeted_ms.is_some() && self.panels.notes.asked_for_ms != greeted_ms {
            self.panels.notes.asked_for_ms = greeted_ms;
            self.want(Effect::Panel(PanelEffect::FetchNotes));
        }
        self.store.let_notes_go();
        self.follow_sent();
        if self.panels.notes.version != Some(self.store.notes_version()) {
            self.make_flags();
        }
        self.list_notes(now);
    }

    /// Updates flags and panel at once after a person's action.
    pub(super) fn show_notes(&mut self) {
        self.make_flags();
        self.list_notes(self.now());
    }

    /// Handles the answer to the note that was sent, or its absence.
    fn follow_sent(&mut self) {
        let Some(sent) = self.panels.notes.sent.clone() else {
            return;
        };
        let is_answered = self.link.done == Some(sent.command);
        let refused = self.link.refused.filter(|_| is_answered);
        let came = self.came_of(&sent);
        let is_lost = matches!(self.link.connection.status(), Status::NotConnected { .. })
            || self.now.ms > sent.sent_ms + PATIENCE_MS;
        let trouble = match refused {
            Some(refusal) => Some(refusal_words(refusal)),
            None if is_answered || came.is_some() => None,
            None if is_lost => Some(ANSWER_LOST),
            None => return,
        };
        self.panels.notes.sent = None;
        match (trouble, sent.draft) {
            (Some(words), Some(_)) => self.refuse_draft(Some(words.to_owned())),
            (Some(words), None) => {
                self.panels.notes.trouble = Some(words);
                self.say(words.to_owned());
            }
            (None, draft) => self.is_saved(draft, sent.replaces, came),
        }
        self.make_flags();
    }

    /// Announces that a note was saved, changed, or, without a draft, withdrawn.
    fn is_saved(&mut self, draft: Option<u64>, replaces: Option<NoteKey>, came: Option<NoteKey>) {
        let words = match (draft, &replaces) {
            (Some(_), None) => "Note saved.",
            (Some(_), Some(_)) => "Note changed.",
            (None, _) => "Note withdrawn.",
        };
        let mut focus = Focus::Notes;
        if let Some(number) = draft {
            let mine = |draft: &mut Draft| draft.number == number;
            self.panels.notes.draft.take_if(mine);
            self.panels.notes.selected = replaces.or(came);
            focus = Focus::SelectedNote;
        }
        self.say(words.to_owned());
        if self.panels.notes.is_open {
            self.focus_soon(focus);
        }
    }

    /// Returns the record of a note that was sent, if it has come. Looks at the last 500 records of notes.
    fn came_of(&self, sent: &Sent) -> Option<NoteKey> {
        let records = self.store.notes().records().rev();
        let is_it = |key: &NoteKey| {
            let epoch = self.store.number_of(&key.epoch);
            let is_later = |after: watchscope_timeline::RecordId| {
                epoch == Some(after.epoch) && key.seq > after.seq
            };
            sent.after.is_some_and(is_later)
        };
        let mut records = records.take(LISTED_MOST).filter(|note| is_it(&note.key));
        let found =
            records.find(|note| note.note.text == sent.text && note.note.replaces == sent.replaces);
        found.map(|note| note.key.clone())
    }

    /// Returns the sentence about how long notes are kept, and whether writing is impossible here.
    fn keeping(&self) -> (&'static str, bool) {
        let is_recording = self.recording().is_some();
        match (self.panels.is_lesson, is_recording, &self.link.history) {
            (true, ..) => (LESSON, true),
            (_, true, _) => (RECORDING, false),
            (_, _, None) => (BY_RING, false),
            (_, _, Some(_)) => (BY_HISTORY, false),
        }
    }

    /// Counts the notes for the header and the scripts, and fills the panel.
    pub(super) fn list_notes(&mut self, now: Time) {
        let unsaved = self.unsaved_notes();
        let notes = &self.panels.notes;
        let drawn = notes.marks.iter().filter(|mark| mark.number.is_some());
        let shown = &mut self.shown.notes;
        shown.count = drawn.count();
        shown.kept = notes.kept_here;
        shown.unsaved = unsaved;
        shown.has_flags = !notes.marks.is_empty();
        if let Some(late) = self.late {
            (late.notes)(self, now);
        }
    }

    /// Computes the contents of the panel. The function comes with the third part of the page.
    pub fn fill_notes(&mut self, now: Time) {
        let (keeping, is_closed) = self.keeping();
        let notes = &mut self.panels.notes;
        let rows = std::mem::take(&mut self.shown.notes.rows);
        let rows = match (notes.is_open, notes.has_rows) {
            (false, _) => Vec::new(),
            (true, true) => rows,
            (true, false) => {
                let standing = self.store.notes().standing();
                let skipped = standing.len().saturating_sub(LISTED_MOST);
                let listed = (1..).zip(&standing).skip(skipped);
                let row = |(number, note)| NoteRow {
                    id: notes.ids.get(note_key(note)).copied().unwrap_or(u32::MAX),
                    is_selected: notes.selected.as_ref() == Some(note_key(note)),
                    ..row(number, note, now, notes)
                };
                listed.map(row).collect()
            }
        };
        notes.has_rows = notes.is_open;
        let is_saving = notes.sent.as_ref().is_some_and(|sent| sent.draft.is_some());
        let form = notes.draft.as_ref().map(|draft| form(draft, is_saving));
        let trouble = notes.trouble.map(str::to_owned);
        self.shown.notes = NotesShown {
            rows,
            form,
            keeping,
            is_closed,
            trouble,
            ..self.shown.notes
        };
    }
}

fn note_key<'a>(note: &StandingNote<'a>) -> &'a NoteKey {
    note.key
}
