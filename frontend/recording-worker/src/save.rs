//! Saves a range of the records that a page in one file holds. Other pages export them.

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_model::notes::decode_notes;
use watchscope_model::{KeptNote, Notes, Time};
use watchscope_probe::REDACTION_VERSION;
use watchscope_recording::{Excerpt, ExcerptFile, ExcerptRun, Lanes, Stretch, notes_beside};

/// A range that is being saved.
///
/// A page's limits for its log bound it.
#[wasm_bindgen]
pub struct Save {
    range: (Time, Time),
    chapters: Vec<Vec<u8>>,
    notes: Notes,
    /// The runs and the notes beside them, from the first step on.
    taken: Option<(Vec<ExcerptRun>, Vec<KeptNote>)>,
    file: ExcerptFile,
}

#[wasm_bindgen]
impl Save {
    /// Begins a range between two times, both included, in microseconds.
    #[wasm_bindgen(constructor)]
    pub fn new(from_us: f64, to_us: f64) -> Self {
        Self {
            range: (Time(from_us as i64), Time(to_us as i64)),
            chapters: Vec::new(),
            notes: Notes::default(),
            taken: None,
            file: ExcerptFile::default(),
        }
    }

    /// Adds the frames of the next chapter, before the first step.
    pub fn add(&mut self, chapter: Vec<u8>) {
        self.chapters.push(chapter);
    }

    /// Adds the notes that the page has, before the first step.
    ///
    /// # Errors
    /// If they cannot be read.
    #[wasm_bindgen(js_name = addNotes)]
    pub fn add_notes(&mut self, notes: &[u8]) -> Result<(), String> {
        for note in decode_notes(notes).map_err(|error| error.to_string())? {
            self.notes.insert(note);
        }
        Ok(())
    }

    /// Takes in deflated bytes; returns bytes to deflate, or nothing at the end.
    ///
    /// # Errors
    /// The reason that it cannot be saved.
    pub fn next(&mut self, deflated: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, String> {
        let (runs, notes) = match &mut self.taken {
            Some(taken) => taken,
            none => {
                let runs = read(self.range, std::mem::take(&mut self.chapters))?;
                let notes = notes_beside(&self.notes, self.range, runs.iter());
                none.insert((runs, notes))
            }
        };
        let raw = self
            .file
            .step(|place| runs.get(place), notes, deflated.as_deref());
        raw.map(|raw| raw.map(<[u8]>::to_vec))
            .map_err(|error| error.to_string())
    }

    /// Returns the number of notes about the range.
    #[wasm_bindgen(getter)]
    pub fn notes(&self) -> usize {
        let (from, to) = self.range;
        self.notes.in_range(from, to).len()
    }

    /// Returns the file, at its end.
    pub fn file(self) -> Vec<u8> {
        self.file.into_bytes()
    }
}

fn read((from, to): (Time, Time), chapters: Vec<Vec<u8>>) -> Result<Vec<ExcerptRun>, String> {
    let stretch = Stretch::Times { from, to };
    let version = env!("CARGO_PKG_VERSION");
    let excerpt = Excerpt::new(stretch, Lanes::All, version, REDACTION_VERSION);
    let runs = excerpt.runs(chapters).map_err(|error| error.to_string())?;
    if runs.is_empty() {
        return Err("no record is in the range".to_owned());
    }
    Ok(runs)
}
