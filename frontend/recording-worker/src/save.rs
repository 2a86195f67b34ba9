//! Saving a range of the records that a page holds.

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_model::notes::decode_notes;
use watchscope_model::{KeptNote, Time};
use watchscope_probe::REDACTION_VERSION;
use watchscope_recording::{Lanes, Saved, Saving, SavingStep, Stretch};

/// A range that is being saved.
#[wasm_bindgen]
pub struct Save {
    stretch: Stretch,
    chapters: Vec<Vec<u8>>,
    notes: Vec<KeptNote>,
    /// From the first step on.
    saving: Option<Saving>,
    saved: Option<Saved>,
}

#[wasm_bindgen]
impl Save {
    /// From one time to another, both included, in microseconds.
    #[wasm_bindgen(constructor)]
    pub fn new(from_us: f64, to_us: f64) -> Self {
        Self {
            stretch: Stretch::Times {
                from: Time(from_us as i64),
                to: Time(to_us as i64),
            },
            chapters: Vec::new(),
            notes: Vec::new(),
            saving: None,
            saved: None,
        }
    }

    /// Adds the frames of the next chapter, before the first step.
    pub fn add(&mut self, chapter: Vec<u8>) {
        self.chapters.push(chapter);
    }

    /// Adds the notes of persons about the range, before the first step.
    ///
    /// # Errors
    /// If they cannot be read.
    #[wasm_bindgen(js_name = addNotes)]
    pub fn add_notes(&mut self, notes: &[u8]) -> Result<(), String> {
        self.notes = decode_notes(notes).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Takes in what was deflated; returns what to deflate, or nothing at the end.
    ///
    /// # Errors
    /// Why it cannot be saved.
    pub fn next(&mut self, deflated: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, String> {
        let saving = self.saving.get_or_insert_with(|| {
            let chapters = std::mem::take(&mut self.chapters);
            let version = env!("CARGO_PKG_VERSION");
            Saving::new(
                self.stretch,
                Lanes::All,
                chapters,
                version,
                REDACTION_VERSION,
            )
            .with_notes(std::mem::take(&mut self.notes))
        });
        match saving.step(deflated.as_deref()) {
            Ok(SavingStep::Deflate(raw)) => Ok(Some(raw.to_vec())),
            Ok(SavingStep::Done(saved)) => {
                self.saved = Some(saved);
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// How many records are in the file.
    #[wasm_bindgen(getter)]
    pub fn records(&self) -> f64 {
        self.saved
            .as_ref()
            .map_or(0.0, |saved| saved.records as f64)
    }

    /// The file.
    pub fn file(self) -> Vec<u8> {
        self.saved.map_or_else(Vec::new, |saved| saved.bytes)
    }
}
