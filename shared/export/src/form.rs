//! The forms that there are, and which one a file's name asks for.

use std::fmt;

/// The other ending of a trace, which Perfetto's own files have.
const PERFETTO: &str = "pftrace";

/// What an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A picture that stands alone.
    Svg,
    /// The same in pixels, which a host makes of it.
    Png,
    /// A timeline of the incident, to be pasted.
    Markdown,
    /// A recording with the page that shows it, in one file.
    Html,
    /// A report to print. It has the ending of [`Form::Html`], which a name stands for.
    Report,
    /// Records as a table.
    Csv,
    /// Records as JSON lines.
    Jsonl,
    /// A trace that Perfetto shows.
    Trace,
    /// A recording.
    Recording,
}

impl Form {
    /// All of them.
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

    /// The ending of a file's name that stands for it.
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

    /// What a file is by its name; `None` if its ending stands for nothing.
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

/// Its ending.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ending_of_a_name_says_its_form() {
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
