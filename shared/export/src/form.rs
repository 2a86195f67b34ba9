//! The forms of an export, and the form that a file's name asks for.

use std::fmt;

/// The second ending of a file's name that means a trace; Perfetto's own files have it. Only [`Form::of_name`] knows
/// this ending.
const PERFETTO: &str = "pftrace";

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A picture as SVG that needs no other file.
    Svg,
    /// The picture of [`Form::Svg`] in pixels; a host makes it from the SVG.
    Png,
    /// A timeline of the incident in Markdown, to be pasted into an issue or a postmortem.
    Markdown,
    /// One HTML file with a recording and the page that shows it.
    Html,
    /// A report to print, as one HTML file. A report's ending is that of [`Form::Html`], so a file's name never means a
    /// report.
    Report,
    /// Records as a table for spreadsheets (CSV).
    Csv,
    /// Records as JSON lines.
    Jsonl,
    /// A trace for Perfetto.
    Trace,
    /// A recording, which opens in `watchscope replay` and on the page.
    Recording,
}

impl Form {
    /// All forms, pictures first; [`Form::Html`] stands before [`Form::Report`], which has the same ending.
    pub const ALL: [Self; 9] = [
        Self::Svg,
        Self::Png,
        Self::Markdown,
        Self::Html,
        Self::Report,
        Self::Csv,
        Self::Jsonl,
        Self::Trace,
        Self::Recording,
    ];

    /// Returns the ending of a file's name for this form, in lower case and without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Markdown => "md",
            Self::Html | Self::Report => "html",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Trace => "trace",
            Self::Recording => "wscope",
        }
    }

    /// Returns the form that a file's name asks for by the part behind its last dot, in either case. `pftrace` means a
    /// trace, too, and `html` never means a report. Returns `None` if the ending is unknown or missing.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        if ending.eq_ignore_ascii_case(PERFETTO) {
            return Some(Self::Trace);
        }
        Self::ALL
            .into_iter()
            .find(|form| ending.eq_ignore_ascii_case(form.ending()))
    }
}

/// Writes the form's ending of a file's name.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ending_of_a_name_chooses_the_form() {
        assert_eq!(Form::of_name("incident.v2.SVG"), Some(Form::Svg));
        assert_eq!(Form::of_name("a.trace"), Some(Form::Trace));
        assert_eq!(Form::of_name("a.PFtrace"), Some(Form::Trace));
        assert_eq!(Form::of_name("a.html"), Some(Form::Html));
        assert_eq!(Form::of_name("a.wscope"), Some(Form::Recording));
        for other in ["svg", "a.docx", "", "a."] {
            assert_eq!(Form::of_name(other), None, "{other}");
        }
    }
}
