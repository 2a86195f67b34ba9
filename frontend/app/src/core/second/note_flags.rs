//! Flags of notes in the picture: which there are, and what the pointer does at one.

use watchscope_timeline::draw::{FLAGS_ROW, FlagMark, flag_at};
use watchscope_timeline::scene::Px;

use crate::core::effect::Focus;
use crate::core::model::Model;
use crate::core::shown::Tooltip;

use super::note_words::{about_words, span_words};

impl Model {
    /// Makes the flags of the picture: one for each note that stands, and one for a new draft.
    pub(super) fn make_flags(&mut self) {
        let standing = self.store.notes().standing();
        let notes = &mut self.panels.notes;
        let selected = notes.selected.take();
        notes.selected = selected.filter(|key| standing.iter().any(|note| note.key == key));
        let (mut marks, mut keys) = (Vec::new(), Vec::new());
        for (number, note) in (1..).zip(&standing) {
            let next = notes.ids.len() as u32;
            notes.ids.entry(note.key.clone()).or_insert(next);
            marks.push(FlagMark {
                number: Some(number),
                from: note.from,
                to: note.to,
                is_selected: notes.selected.as_ref() == Some(note.key),
            });
            keys.push(Some(note.key.clone()));
        }
        if let Some(draft) = notes
            .draft
            .as_ref()
            .filter(|draft| draft.replaces.is_none())
        {
            let place = marks.partition_point(|mark| mark.from <= draft.from);
            marks.insert(
                place,
                FlagMark {
                    number: None,
                    from: draft.from,
                    to: draft.to.unwrap_or(draft.from),
                    is_selected: true,
                },
            );
            keys.insert(place, None);
        }
        notes.keys = keys;
        notes.version = Some(self.store.notes_version());
        notes.has_rows = false;
        if notes.marks != marks {
            notes.marks = marks;
            self.redraw();
        }
    }

    /// Whether a point is in the row of flags.
    pub(super) fn is_among_flags(&self, y_px: f64) -> bool {
        (self.flags_top_px()..self.lanes_top_px()).contains(&y_px)
    }

    /// Opens the panel at the note whose flag is at a point.
    pub(super) fn click_flag(&mut self, x_px: f64) {
        let Some(place) = self.flag_at(x_px) else {
            return;
        };
        self.open_notes();
        match self.panels.notes.keys.get(place).cloned().flatten() {
            Some(key) => {
                self.panels.notes.selected = Some(key);
                self.focus_soon(Focus::SelectedNote);
            }
            None => self.focus_soon(Focus::NoteField),
        }
        self.show_notes();
    }

    fn flag_at(&self, x_px: f64) -> Option<usize> {
        let pen = self.pen();
        let flagged = self.picture(pen).flagged;
        flag_at(flagged, &self.view, pen, Px::from_f64(x_px))
    }

    /// Returns the tooltip of the flag at a point.
    pub(super) fn flag_tooltip(&self, x_px: f64, y_px: f64) -> Option<Tooltip> {
        if !self.is_among_flags(y_px) {
            return None;
        }
        let place = self.flag_at(x_px)?;
        let key = self.panels.notes.keys.get(place)?.as_ref()?;
        let standing = self.store.notes().standing();
        let note = standing.iter().find(|note| note.key == key)?;
        let about = about_words(note.note.watch.as_ref(), note.note.object.as_deref());
        let width = self.screen.size.width_px;
        let x_px = if x_px + 300.0 < width {
            x_px + 12.0
        } else {
            (x_px - 292.0).max(0.0)
        };
        Some(Tooltip {
            x_px: x_px as i32,
            y_px: (self.flags_top_px() + FLAGS_ROW.to_f64()) as i32 + 6,
            lines: vec![
                note.heading().to_owned(),
                span_words(note.from, note.to),
                about,
            ],
            keys: Some("Click opens it"),
        })
    }
}
