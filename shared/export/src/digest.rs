//! A hash of each chart of given records, so that two machines can check that they draw the same charts.

use std::fmt::Write as _;

use thiserror::Error;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::{Record, State, Time, fnv};
use watchscope_recording::{Excerpt, ExcerptError, Lanes, Stretch};
use watchscope_timeline::Theme;

use crate::charts::{ChartsError, charts};
use crate::taken::{Says, Taken};

/// Why no charts could be drawn from records.
#[derive(Debug, Error)]
pub enum DigestError {
    /// The records do not make a readable chapter, or the first seq is not 1.
    #[error("making a chapter of the records: {0}")]
    Excerpt(#[from] ExcerptError),
    /// The charts could not be drawn.
    #[error(transparent)]
    Charts(#[from] ChartsError),
    /// No record was given, or the last record has an earlier time than the first.
    #[error("there is no record")]
    Nothing,
}

/// Draws the charts of one run's records in both themes. The seqs of the records must begin with 1 and have no hole.
/// Returns 16 lines, each with a line feed: name of the chart, `light` or `dark`, and hash of its bytes ([`fnv`]) in 16
/// hex digits. All light charts come first, in the order of [`charts`].
///
/// # Errors
/// If there is no record, or the last record has an earlier time than the first. It also fails if the first seq is not
/// 1, or if the records do not make a readable chapter. It fails if the charts cannot be drawn. A later hole in the
/// seqs is not found.
pub fn digest_of_charts(records: &[Record]) -> Result<String, DigestError> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return Err(DigestError::Nothing);
    };
    let nothing = State {
        at: first.at,
        ..State::default()
    };
    let (mut writer, mut chapter) = ChapterWriter::open("log".into(), "run".into(), &nothing);
    records.iter().for_each(|record| writer.push(record));
    chapter.extend(writer.seal().unwrap_or_default());
    let (from, to): (Time, Time) = (first.at, last.at);
    let excerpt = Excerpt::new(Stretch::Times { from, to }, Lanes::All, "", 0);
    let runs = excerpt.runs([chapter])?;
    let taken = Taken::new(from, to, runs).ok_or(DigestError::Nothing)?;
    let says = Says {
        title: "",
        zone_offset_min: 0,
    };
    let mut lines = String::new();
    for (theme, word) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
        for chart in charts(&taken, None, &says, theme)? {
            let hash = fnv::after(fnv::EMPTY, chart.svg.as_bytes());
            // Writing to a String does not fail.
            let _ = writeln!(lines, "{} {word} {hash:016x}", chart.name);
        }
    }
    Ok(lines)
}
