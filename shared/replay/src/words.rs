//! The messages that a page shows about a file that cannot be read at all, or not completely.

use serde::Serialize;
use watchscope_recording::{Contents, Damage};

/// A message in two lines: the first states what is wrong, the second what is shown nevertheless, or what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// What is wrong, as a sentence with the file's name and without a full stop. For damage the sentence also states
    /// block and byte.
    pub what: String,
    /// One or two sentences: what is shown nevertheless, what to do, or both.
    pub advice: String,
}

/// The advice about damage, and about a file that ends inside its header. A transfer as text causes such damage.
pub(crate) const COPY_AGAIN: &str = "Copy the file again, as a binary file.";

/// Returns a notice about what is missing from an opened file; `None` if nothing is missing. `also` is damage that the
/// scan did not find. `unread_runs` counts the last runs without a readable record.
///
/// The notice states the first damaged block and counts the other damaged blocks.
pub(crate) fn missing(
    name: &str,
    contents: &Contents,
    also: &[Damage],
    unread_runs: usize,
) -> Option<Notice> {
    let known = &contents.damaged;
    // The scan lists its damage sorted by place.
    let is_new = |damage: &&Damage| {
        let from = known.partition_point(|other| other.offset < damage.offset);
        let mut there = known[from..].iter();
        !there
            .by_ref()
            .take_while(|other| other.offset == damage.offset)
            .any(|other| other == *damage)
    };
    let new: Vec<&Damage> = also.iter().filter(is_new).collect();
    let all = known.iter().chain(new.iter().copied());
    let first = all.min_by_key(|damage| damage.offset);
    let cut = contents.cut.map(|cut| {
        let (block, offset) = (cut.block, cut.offset);
        format!("ends inside block {block} at byte {offset}")
    });
    let (what, advice) = match (first, cut) {
        (None, None) => return None,
        (None, Some(cut)) => (
            format!("{name} {cut}"),
            "All before it is shown. The file was cut on its way, or is still being written.",
        ),
        (Some(first), cut) => {
            let mut what = format!("{name}, {first}");
            match known.len() + new.len() {
                1 => {}
                2 => what.push_str("; 1 more place is damaged"),
                more => what.push_str(&format!("; {} more places are damaged", more - 1)),
            }
            match unread_runs {
                0 => {}
                1 => what.push_str("; no record of its last run can be read"),
                runs => what.push_str(&format!("; no record of its last {runs} runs can be read")),
            }
            if let Some(cut) = cut {
                what.push_str(&format!("; it {cut}"));
            }
            (
                what,
                "What could be read is shown. Copy the file again, as a binary file.",
            )
        }
    };
    Some(Notice {
        what,
        advice: advice.to_owned(),
    })
}

/// Joins the first 4 names, each cut to 60 characters, and counts the others.
pub(crate) fn few(names: &[String]) -> String {
    /// The most names in the text; further names are counted. With this bound a hostile file cannot fill the message.
    /// The number has no source.
    const NAMED: usize = 4;
    /// The most characters of a name; `…` replaces the rest of the name. With this bound a hostile file cannot fill the
    /// message. The number has no source.
    const CHARS: usize = 60;
    let shown: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| match name.char_indices().nth(CHARS) {
            Some((end, _)) => format!("{}…", &name[..end]),
            None => name.clone(),
        })
        .collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns a byte as text: `"{"`, or `0x89` if the byte is not printable.
pub(crate) fn byte(byte: u8) -> String {
    if byte.is_ascii_graphic() {
        format!("\"{}\"", char::from(byte))
    } else {
        format!("{byte:#04x}")
    }
}
