//! The frames that a page handed over.

use watchscope_export::{Taken, WantedLanes, context};
use watchscope_hiding::Seed;
use watchscope_model::notes::decode_notes;
use watchscope_model::{Notes, Time};
use watchscope_probe::REDACTION_VERSION;
use watchscope_recording::{Excerpt, Lanes, Stretch};

use super::facts::Facts;
use super::failure::text;
use super::made::Made;
use super::wish::Wish;

const EMPTY: &str = "no record is in the range";

/// The frames of a page's chapters, in the order of their records.
///
/// A page's limits for its log bound them.
pub(super) struct Records {
    chapters: Vec<Vec<u8>>,
    notes: Notes,
    seed: Seed,
    /// The first and the last time of the records.
    span: (Time, Time),
}

impl Records {
    /// Begins with the records' first and last time, in microseconds, and the seed of the pseudonyms. The seed is 32
    /// random bytes: pseudonyms of a known seed could be guessed.
    ///
    /// # Errors
    /// If the seed does not have 32 bytes.
    pub(super) fn new(from_us: f64, to_us: f64, seed: &[u8]) -> Result<Self, String> {
        let seed = seed.try_into().map_err(|_| "no chance for pseudonyms")?;
        Ok(Self {
            chapters: Vec::new(),
            notes: Notes::default(),
            seed: Seed::new(seed),
            span: (Time(from_us as i64), Time(to_us as i64)),
        })
    }

    /// Adds the frames of the next chapter.
    pub(super) fn add(&mut self, chapter: Vec<u8>) {
        self.chapters.push(chapter);
    }

    /// Adds the notes that the page has, as a recording encodes them.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn add_notes(&mut self, notes: &[u8]) -> Result<(), String> {
        for note in decode_notes(notes).map_err(text)? {
            self.notes.insert(note);
        }
        Ok(())
    }

    /// Makes the result of a wish, which is JSON. `source` is the hash of the file that the page shows. Calls `read` with the number of chapters that are read.
    ///
    /// # Errors
    /// If nothing can be made of it: the reason, in a sentence.
    pub(super) fn make(
        &self,
        wish: &str,
        source: Option<String>,
        read: impl Fn(usize),
    ) -> Result<Made, String> {
        let wish: Wish = serde_json::from_str(wish).map_err(text)?;
        let parts = wish.parts();
        let (from, to) = wish.range();
        let taken = self.taken((from, to), read)?;
        let taken = taken.ok_or(EMPTY)?.with_source(source);
        let taken = wish.lanes().of(taken).map_err(text)?;
        let counts = taken.counts().map_err(text)?;
        let known = taken.known().map_err(text)?;
        let mut title = wish.title.clone();
        let (taken, hider) = if parts.is_empty() {
            (taken, None)
        } else {
            let hidden = taken.hiding_of(known.clone(), parts, self.seed.clone());
            let (taken, hider) = hidden.map_err(text)?;
            title = hider.said(&title);
            (taken, Some(hider))
        };
        if title.is_empty() {
            title = taken.title();
        }
        let facts = Facts::new(title, counts, &known, parts, hider.as_ref());
        Ok(Made::new(taken, wish, facts))
    }

    /// Returns the charts around a wish, of the records held there.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(super) fn charts(&self, made: &Made) -> Result<Vec<String>, String> {
        let looked = self.looked_at(made)?;
        made.charts_of(&looked)
    }

    /// Returns the report.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(super) fn report(&self, made: &Made) -> Result<String, String> {
        let looked = self.looked_at(made)?;
        made.report_of(&looked)
    }
}

impl Records {
    fn looked_at(&self, made: &Made) -> Result<Taken, String> {
        let range = made.wish().range();
        let looked = self.taken(context(range, None, self.span), |_| ())?;
        let looked = looked.ok_or(EMPTY)?;
        let looked = match made.wish().lanes() {
            WantedLanes::All => looked,
            lanes => {
                let taken = self.taken(range, |_| ())?.ok_or(EMPTY)?;
                let watches = lanes.of(taken).map_err(text)?.watches();
                looked.only(watches).map_err(text)?.ok_or(EMPTY)?
            }
        };
        let parts = made.wish().parts();
        if parts.is_empty() {
            return Ok(looked);
        }
        let hidden = looked.hiding(parts, self.seed.clone());
        hidden.map(|(hidden, _)| hidden).map_err(text)
    }

    /// Takes the records of a range; calls `read` with the number of chapters that are read.
    fn taken(
        &self,
        (from, to): (Time, Time),
        read: impl Fn(usize),
    ) -> Result<Option<Taken>, String> {
        let stretch = Stretch::Times { from, to };
        let version = env!("CARGO_PKG_VERSION");
        let mut excerpt = Excerpt::new(stretch, Lanes::All, version, REDACTION_VERSION);
        let mut runs = Vec::new();
        for (place, chapter) in self.chapters.iter().enumerate() {
            runs.extend(excerpt.chapter(chapter.clone()).map_err(text)?);
            read(place + 1);
        }
        runs.extend(excerpt.finish());
        let taken = Taken::new(from, to, runs);
        Ok(taken.map(|taken| taken.with_notes(&self.notes)))
    }
}
