//! The project's text files, and their text with the lines of each comment joined.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

/// A text file of the project.
pub(super) struct TextFile {
    /// The path, from the root of the project, with `/` between its parts.
    pub(super) path: String,
    pub(super) text: String,
}

/// Reads the files below `places` whose extension is one of `endings`. `places` are folders and files of `root`.
pub(super) fn read(root: &Path, places: &[&str], endings: &[&str]) -> Result<Vec<TextFile>> {
    let mut files = Vec::new();
    for place in places {
        for entry in WalkDir::new(root.join(place)).sort_by_file_name() {
            let entry = entry?;
            let extension = entry.path().extension().and_then(|ending| ending.to_str());
            let is_wanted = extension.is_some_and(|ending| endings.contains(&ending));
            if !entry.file_type().is_file() || !is_wanted {
                continue;
            }
            let below = entry.path().strip_prefix(root)?;
            let parts: Vec<_> = below
                .components()
                .map(|part| part.as_os_str().to_string_lossy())
                .collect();
            let text = fs::read_to_string(entry.path())
                .with_context(|| format!("reading {}", entry.path().display()))?;
            files.push(TextFile {
                path: parts.join("/"),
                text,
            });
        }
    }
    Ok(files)
}

/// Returns the text of a line that is a comment, without its mark; `None` for another line. `line` begins with no space.
pub(super) fn comment(line: &str) -> Option<&str> {
    let mut marks = ["///", "//!", "//"].iter();
    marks.find_map(|mark| line.strip_prefix(mark))
}

/// A text in one line, without the marks of comments, since a sentence may continue in the next line of a comment.
pub(super) struct Joined {
    pub(super) text: String,
    /// The offset in `text` at which each line begins.
    begins: Vec<usize>,
}

impl Joined {
    pub(super) fn new(text: &str) -> Self {
        let mut joined = String::with_capacity(text.len());
        let mut begins = Vec::new();
        for line in text.lines() {
            begins.push(joined.len());
            let line = line.trim();
            joined.push_str(comment(line).unwrap_or(line).trim_start());
            joined.push(' ');
        }
        Self {
            text: joined,
            begins,
        }
    }

    /// Returns the line, from 1 on, that holds an offset in `text`.
    pub(super) fn line(&self, at: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= at)
    }
}
