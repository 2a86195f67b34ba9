//! The results of a wish: facts, and a file in any form.

use watchscope_export::{
    DrawnChart, REPORT_SIZE, RecordingFile, ReportParts, Says, Taken, charts, csv, html, jsonl,
    markdown, report, svg, trace, view,
};

use super::facts::Facts;
use super::failure::text;
use super::wish::Wish;

/// The records for one wish, and the forms they can be exported in.
pub(super) struct Made {
    taken: Taken,
    wish: Wish,
    facts: Facts,
    recording: RecordingFile,
}

impl Made {
    /// Returns the facts that the dialog shows beside the preview, as JSON.
    pub(super) fn facts(&self) -> String {
        serde_json::to_string(&self.facts).expect("texts and numbers are always written as JSON")
    }

    /// Returns the picture, as SVG.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(super) fn picture(&self) -> Result<String, String> {
        svg(
            &self.taken,
            &self.says(),
            self.wish.size(),
            self.wish.theme(),
            self.wish.shown(),
        )
        .map_err(text)
    }

    /// Returns the page with a recording in it, as one file. `template` is the page's `single.html`.
    ///
    /// # Errors
    /// If `template` is no template.
    pub(super) fn html(&self, template: &str, recording: &[u8]) -> Result<String, String> {
        let view = view(Some(self.wish.theme()));
        html(template, &self.facts.title, view, recording).map_err(text)
    }

    /// Returns the timeline, as Markdown.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(super) fn markdown(&self) -> Result<String, String> {
        markdown(&self.taken, &self.says()).map_err(text)
    }

    /// Returns the records as a table.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(super) fn csv(&self) -> Result<Vec<u8>, String> {
        csv(&self.taken).map_err(text)
    }

    /// Returns the records as JSON lines.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(super) fn jsonl(&self) -> Result<Vec<u8>, String> {
        jsonl(&self.taken).map_err(text)
    }

    /// Returns a trace for Perfetto.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(super) fn trace(&self) -> Result<Vec<u8>, String> {
        trace(&self.taken).map_err(text)
    }

    /// Takes the next step of a recording: takes in deflated bytes; returns bytes to deflate, or nothing at the end.
    ///
    /// # Errors
    /// If a part does not fit in a block.
    pub(super) fn next_of_recording(
        &mut self,
        deflated: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, String> {
        let raw = self.recording.step(&self.taken, deflated);
        raw.map(|raw| raw.map(<[u8]>::to_vec)).map_err(text)
    }

    /// Returns the recording, at its end. A second call returns no bytes.
    pub(super) fn recording(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.recording).into_bytes()
    }

    pub(super) fn new(taken: Taken, wish: Wish, facts: Facts) -> Self {
        Self {
            taken,
            wish,
            facts,
            recording: RecordingFile::default(),
        }
    }

    pub(super) fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Returns the charts of a stretch of time, as SVG.
    pub(super) fn charts_of(&self, looked: &Taken) -> Result<Vec<String>, String> {
        let drawn = self.drawn(looked)?;
        Ok(drawn.into_iter().map(|chart| chart.svg).collect())
    }

    pub(super) fn report_of(&self, looked: &Taken) -> Result<String, String> {
        let drawn = self.drawn(looked)?;
        let says = self.says();
        let (theme, shown) = (self.wish.theme(), self.wish.shown());
        let picture = svg(&self.taken, &says, REPORT_SIZE, theme, shown).map_err(text)?;
        let parts = ReportParts {
            says: &says,
            picture: &picture,
            charts: &drawn,
            context: (looked.from, looked.to),
        };
        report(&self.taken, &parts).map_err(text)
    }

    fn drawn(&self, looked: &Taken) -> Result<Vec<DrawnChart>, String> {
        let range = Some(self.wish.range());
        charts(looked, range, &self.says(), self.wish.theme()).map_err(text)
    }

    fn says(&self) -> Says<'_> {
        Says {
            title: &self.facts.title,
            zone_offset_min: self.wish.zone_offset_min,
        }
    }
}
