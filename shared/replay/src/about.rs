//! The facts about an opened recording that a page shows beside its picture.

use serde::Serialize;
use watchscope_recording::{ClusterName, Contents, FileBlock, Form, HiddenPart, Parts};

use crate::joined::JoinedFiles;
use crate::words::Notice;

/// The most characters of a text from the file; the rest of the text is replaced by `…`. With this bound a hostile file
/// cannot fill the page. The number has no source.
const TEXT_CHARS: usize = 256;
/// The most texts about withheld parts; further texts are left out. With this bound a hostile file cannot fill the
/// page. The number has no source.
const WITHHELD: usize = 16;

/// An opened recording, as JSON for a page. The texts of `cluster`, `withheld` and `watchscope` come from inside the
/// file, so they may be hostile. A text of over 256 characters is cut to 256 and `…`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The file's name, as the host gave it; it is not cut.
    pub name: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Whether the file's writer ended the file and closed all its chapters ([`Contents::is_ended`]). Nothing is added
    /// to such a file any more.
    pub is_ended: bool,
    /// Time of the earliest record that the page shows at once, in microseconds since 1970-01-01T00:00:00Z. The page
    /// shows the last 160 chapters with records at once.
    pub from_us: i64,
    /// Latest time of a record of the runs that `epochs` counts, in microseconds since 1970-01-01T00:00:00Z.
    pub to_us: i64,
    /// The number of records of the runs that `epochs` counts, according to their chapters' summaries.
    pub records: u64,
    /// The number of runs of the log's writer in the file; at least 1. Runs after the last readable run do not count.
    pub epochs: usize,
    /// The cluster of the last run; `None` if no cluster had answered, or if that run's part of the file does not state
    /// it.
    pub cluster: Option<ClusterName>,
    /// How the part of the file with the last run was made.
    pub form: Form,
    /// What the writers left out, each as a phrase in English; the first 16 different texts in the order of the file.
    /// Empty if no part of the file states that something was left out.
    pub withheld: Vec<String>,
    /// The parts that any writer hid, each once, in the order of [`HiddenPart`], without parts of a later version.
    /// Empty if no part of the file states that something was hidden.
    pub hidden: Vec<HiddenPart>,
    /// The version of watchscope that wrote the last run's part of the file, such as `0.9.0`; empty if that part does
    /// not state it.
    pub watchscope: String,
    /// States which part of the file could not be read when it was opened; `None` if everything that was requested
    /// could be read.
    pub notice: Option<Notice>,
}

impl About {
    /// Collects the facts; `None` if the file has no record.
    pub(crate) fn new(
        name: &str,
        joined: &JoinedFiles<Contents>,
        notice: Option<Notice>,
    ) -> Option<Self> {
        let recording = joined.recording(name)?;
        let contents = joined.files().first()?;
        let last = joined.runs().last()?;
        let of = joined.chapters(last).last();
        let of = of.and_then(|(file, entry)| file.file_of(entry))?;
        Some(Self {
            name: name.to_owned(),
            bytes: contents.size,
            is_ended: contents.is_ended(),
            from_us: recording.from.0,
            to_us: recording.to.0,
            records: joined.records(),
            epochs: joined.runs().len(),
            cluster: of.cluster.as_ref().map(|cluster| ClusterName {
                name: short(&cluster.name),
                server: short(&cluster.server),
                version: short(&cluster.version),
                uid: short(&cluster.uid),
            }),
            form: of.form,
            withheld: withheld(&contents.files),
            hidden: hidden(&contents.files).iter().collect(),
            watchscope: short(&of.watchscope),
            notice,
        })
    }
}

/// Returns what was withheld in any part of the file, each text once.
fn withheld(files: &[FileBlock]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for text in files.iter().flat_map(|of| &of.withheld) {
        let text = short(text);
        if texts.len() < WITHHELD && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// Returns what was hidden in any part of the file.
fn hidden(files: &[FileBlock]) -> Parts {
    files
        .iter()
        .flat_map(|of| of.hidden.iter().copied())
        .collect()
}

fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
