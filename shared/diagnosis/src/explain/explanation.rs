//! The texts about one row of the failure catalogue, and its page.

use watchscope_model::Row;

/// The texts about a row. Each text is one paragraph of Markdown, never empty; all texts but the references end with a
/// full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The row of the catalogue that the texts are about.
    pub row: Row,
    /// What the failure is.
    pub what: &'static str,
    /// Why the failure happens.
    pub cause: &'static str,
    /// How the failure looks in the requests and streams of a watch.
    pub wire: &'static str,
    /// The affected versions of server and clients.
    pub versions: &'static str,
    /// What a naive client does at the failure, and what it wrongly holds to be true afterwards.
    pub naive: &'static str,
    /// How a correct client reacts to the failure.
    pub correct: &'static str,
    /// How to confirm the failure, by watchscope or by hand.
    pub confirm: &'static str,
    /// Sources and further reading, as issue numbers, KEPs or titles.
    pub references: &'static str,
}

/// The heading of the text about the wire. The row's picture stands under this heading, too.
const WIRE: &str = "On the wire";

impl Explanation {
    /// Returns the row's name in the catalogue, without its code.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.row.name()
    }

    /// Returns the texts about the row, each after its heading, in the order of its page.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &'static str); 8] {
        [
            ("What it is", self.what),
            ("Root cause", self.cause),
            (WIRE, self.wire),
            ("Versions", self.versions),
            ("A naive client", self.naive),
            ("A correct client", self.correct),
            ("How to confirm", self.confirm),
            ("References", self.references),
        ]
    }

    /// Returns the row's page in docs/findings as Markdown, which ends with a line feed. The page shows the picture
    /// `CODE.svg`, which lies in the same folder as the page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = format!(
            "# {} {}\n\nSeverity: {}.\n",
            self.row,
            self.name(),
            self.row.usual_severity()
        );
        for (heading, text) in self.parts() {
            page += &format!("\n## {heading}\n\n{text}\n");
            if heading == WIRE {
                let (code, name) = (self.row, self.name());
                page += &format!(
                    "\n![{code} {name}, as its story goes. On the wire: {text}]({code}.svg)\n"
                );
            }
        }
        page
    }
}

/// Returns the texts about a row; one argument for each field.
#[allow(
    clippy::too_many_arguments,
    reason = "one column each, in the order of the struct"
)]
pub(super) const fn explain(
    row: Row,
    what: &'static str,
    cause: &'static str,
    wire: &'static str,
    versions: &'static str,
    naive: &'static str,
    correct: &'static str,
    confirm: &'static str,
    references: &'static str,
) -> Explanation {
    Explanation {
        row,
        what,
        cause,
        wire,
        versions,
        naive,
        correct,
        confirm,
        references,
    }
}
