//! What a page says of an opened recording beside its picture.

use serde::Serialize;
use watchscope_recording::{ClusterName, Contents, FileBlock, Form, HiddenPart, Parts};

use crate::joined::JoinedFiles;
use crate::words::Notice;

/// The most characters of a text from the file that are shown.
const TEXT_CHARS: usize = 256;
/// The most texts about what was withheld that are shown.
const WITHHELD: usize = 16;

/// What a recording is, as JSON for a page. Its texts come from the file and are hostile; they are cut short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The file's name.
    pub name: String,
    /// How many bytes the file has.
    pub bytes: u64,
    /// When the first record was that is shown at once, in microseconds.
    pub from_us: i64,
    /// When the last record was.
    pub to_us: i64,
    /// How many records the runs have that are shown.
    pub records: u64,
    /// How many runs those are.
    pub epochs: usize,
    /// The cluster of the last run; absent if none had answered.
    pub cluster: Option<ClusterName>,
    /// How the last run's part of the file came about.
    pub form: Form,
    /// What was withheld, each in a few words.
    pub withheld: Vec<String>,
    /// What was hidden of any part: the file has pseudonyms for it.
    pub hidden: Vec<HiddenPart>,
    /// The version of watchscope that wrote the last run's part.
    pub watchscope: String,
    /// What of the file cannot be read; absent if all can.
    pub notice: Option<Notice>,
}

impl About {
    /// `None` if the files hold no record.
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

/// What was withheld of any part, each text once.
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

/// What was hidden of any part.
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
