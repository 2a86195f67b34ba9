//! Counts the words of each sentence in comments and documents, and refuses long ones beyond a share.
//!
//! A comment is a run of lines that begin with `//`, `///` or `//!`. A blank line, a heading, an item of a list and a
//! fenced block end a paragraph, and a sentence never crosses that. Tables and fenced blocks have no sentences. Texts of
//! the program are not counted: they are parts of sentences.

use anyhow::Result;

use super::texts::{self, TextFile};
use super::words::EXACT_VERB;
use crate::project::Project;
use crate::violation::Violation;

/// A sentence with more words is long.
const MOST_WORDS: usize = 25;
/// The most long sentences in a thousand; one more is refused.
const MOST_LONG_PER_MILLE: usize = 10;
/// The greatest number of "told" in comments and documents. The word is right if somebody tells a person something.
const MOST_TOLD: usize = 60;

/// Folders and files of the root that are read.
const READ: [&str; 11] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "assets",
    "backend",
    "docs",
    "frontend",
    "shared",
    "tests",
    "xtask",
];

/// Endings of the files that hold sentences.
const WITH_SENTENCES: [&str; 3] = ["rs", "md", "js"];

/// A sentence of a file.
struct Sentence {
    /// The line of its first word, from 1 on.
    line: usize,
    words: usize,
    /// The number of times that it says "told".
    told: usize,
}

/// The sentences of the project, counted.
#[derive(Default)]
pub(crate) struct Count {
    sentences: usize,
    told: usize,
    /// Each long sentence: path, line and number of words.
    long: Vec<(String, usize, usize)>,
}

impl Count {
    /// Counts the sentences of all files.
    pub(crate) fn of(project: &Project) -> Result<Self> {
        let mut count = Self::default();
        for TextFile { path, text } in texts::read(&project.root, &READ, &WITH_SENTENCES)? {
            for Sentence { line, words, told } in sentences(&text, path.ends_with(".md")) {
                count.sentences += 1;
                count.told += told;
                if words > MOST_WORDS {
                    count.long.push((path.clone(), line, words));
                }
            }
        }
        Ok(count)
    }

    /// Returns a violation for each bound that is exceeded.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        if self.long.len() * 1_000 > self.sentences * MOST_LONG_PER_MILLE {
            violations.push(Violation {
                place: "comments and documents".to_owned(),
                problem: format!(
                    "{} of {} sentences have over {MOST_WORDS} words",
                    self.long.len(),
                    self.sentences
                ),
                remedy: "`cargo xtask check words` lists them: make two sentences of one"
                    .to_owned(),
            });
        }
        if self.told > MOST_TOLD {
            violations.push(Violation {
                place: "comments and documents".to_owned(),
                problem: format!(
                    "\"told\" stands there {} times, and may {MOST_TOLD} times",
                    self.told
                ),
                remedy: EXACT_VERB.to_owned(),
            });
        }
        violations
    }

    /// Returns a line for each long sentence, then the counts.
    pub(crate) fn list(&self) -> String {
        let lines = self.long.iter();
        let mut text: String = lines
            .map(|(path, line, words)| format!("{path}:{line}: a sentence of {words} words\n"))
            .collect();
        let per_mille = self.long.len() * 1_000 / self.sentences.max(1);
        text.push_str(&format!(
            "{} sentences, {} of them over {MOST_WORDS} words ({}.{} %); \"told\" {} times\n",
            self.sentences,
            self.long.len(),
            per_mille / 10,
            per_mille % 10,
            self.told
        ));
        text
    }
}

/// Returns the sentences of a file.
fn sentences(text: &str, is_document: bool) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut paragraph: Vec<(usize, &str)> = Vec::new();
    let mut is_fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let prose = if is_document {
            Some(line)
        } else {
            texts::comment(line)
        };
        let Some(prose) = prose.map(str::trim) else {
            (is_fenced, paragraph) = (false, end(paragraph, &mut found));
            continue;
        };
        if prose.starts_with("```") {
            (is_fenced, paragraph) = (!is_fenced, end(paragraph, &mut found));
            continue;
        }
        let is_heading = is_document && prose.starts_with('#');
        let is_item = ["* ", "- ", "|"].iter().any(|mark| prose.starts_with(mark));
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let (is_numbered, prose) = match prose.split_once(". ") {
            Some((number, item)) if is_number(number) => (true, item),
            _ => (false, prose),
        };
        if prose.is_empty() || is_heading || is_item || is_numbered {
            paragraph = end(paragraph, &mut found);
        }
        if !is_fenced && !prose.is_empty() && !prose.starts_with(['|', '#']) {
            paragraph.push((number, prose));
        }
    }
    end(paragraph, &mut found);
    found
}

/// Splits a paragraph into sentences, and returns an empty one.
fn end<'a>(paragraph: Vec<(usize, &'a str)>, found: &mut Vec<Sentence>) -> Vec<(usize, &'a str)> {
    let mut open: Option<Sentence> = None;
    for (line, text) in paragraph {
        for word in text.split_whitespace() {
            let sentence = open.get_or_insert(Sentence {
                line,
                words: 0,
                told: 0,
            });
            if word.contains(char::is_alphanumeric) {
                sentence.words += 1;
            }
            let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
            sentence.told += usize::from(letters.eq_ignore_ascii_case("told"));
            let is_last = word
                .trim_end_matches([')', '"', '`', '*'])
                .ends_with(['.', '!', '?']);
            if is_last {
                found.extend(open.take());
            }
        }
    }
    found.extend(open);
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, is_document: bool) -> Vec<(usize, usize)> {
        let found = sentences(text, is_document);
        found
            .iter()
            .map(|sentence| (sentence.line, sentence.words))
            .collect()
    }

    #[test]
    fn a_sentence_of_a_comment_goes_on_in_the_next_line_and_ends_at_code() {
        let text = "/// One two. Three\n/// four five.\nfn f() {}\n// Six\nlet x = 1;\n// seven.\n";
        assert_eq!(words(text, false), [(1, 2), (1, 3), (4, 1), (6, 1)]);
    }

    #[test]
    fn items_headings_tables_and_fenced_blocks_end_a_sentence() {
        let text = "# A title\nOne two:\n* three\n- four five\n1. six\n| a | b |\n\n```text\nseven\n```\neight\n#### Nine\nten\n";
        let found = words(text, true);
        assert_eq!(found, [(2, 2), (3, 1), (4, 2), (5, 1), (11, 1), (13, 1)]);
    }

    #[test]
    fn over_one_long_sentence_in_a_hundred_is_refused_and_over_60_times_told() {
        let count = |long: usize| Count {
            sentences: 1_000,
            told: 0,
            long: vec![("a.rs".to_owned(), 1, 26); long],
        };
        assert!(count(10).violations().is_empty());
        assert_eq!(count(11).violations().len(), 1);
        let told = |told: usize| Count { told, ..count(0) }.violations().len();
        assert_eq!((told(60), told(61)), (0, 1));
    }

    #[test]
    fn told_is_counted_as_a_word_of_its_own() {
        let found = sentences("// They told her. Untold. Told!\n", false);
        let told: usize = found.iter().map(|sentence| sentence.told).sum();
        assert_eq!(told, 2);
    }
}
