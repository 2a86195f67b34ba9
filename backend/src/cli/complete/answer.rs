//! An answer of the completion, in cobra's protocol: a candidate a line, and what else the shell offers in the last line.

use watchscope_model::json::is_obeyed;

/// The most characters of a description. A longer one is cut, and ends in `…`.
const DESCRIPTION_MOST: usize = 80;

/// A word that the shell may put in place of the one under the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The word. It holds no control character.
    pub(super) value: String,
    /// What it means, in one line; empty if there is nothing to say.
    pub(super) description: String,
}

impl Candidate {
    /// Makes a candidate.
    pub(super) fn new(value: impl Into<String>, description: impl AsRef<str>) -> Self {
        Self {
            value: value.into(),
            description: one_line(description.as_ref()),
        }
    }
}

/// What the shell offers beside the candidates. The numbers are those of cobra's `ShellCompDirective`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    /// Files, if there is no candidate.
    Files,
    /// Nothing.
    NoFiles,
    /// Files that end in `.wscope`, and folders.
    Recordings,
    /// Folders.
    Folders,
}

impl Directive {
    fn number(self) -> u8 {
        match self {
            Self::Files => 0,
            Self::NoFiles => 4,
            Self::Recordings => 8,
            Self::Folders => 16,
        }
    }
}

/// The candidates for a word, and what else the shell offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The candidates, in the order in which they are best shown.
    pub(super) candidates: Vec<Candidate>,
    /// What else the shell offers.
    pub(super) directive: Directive,
}

impl Answer {
    /// Makes an answer that names files. For recordings the one candidate is the ending, as the protocol has it.
    pub(super) fn of(directive: Directive) -> Self {
        let ending = (directive == Directive::Recordings).then(|| Candidate::new("wscope", ""));
        Self {
            candidates: ending.into_iter().collect(),
            directive,
        }
    }

    /// Returns the lines of the protocol. A candidate with a control character is left out, because it could end its line
    /// or command the terminal.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for candidate in &self.candidates {
            if candidate.value.chars().any(is_obeyed) {
                continue;
            }
            text += &candidate.value;
            if !candidate.description.is_empty() {
                text.push('\t');
                text += &candidate.description;
            }
            text.push('\n');
        }
        text + &format!(":{}\n", self.directive.number())
    }
}

/// Returns a text as one line of at most [`DESCRIPTION_MOST`] characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|c| !is_obeyed(*c)).collect();
    if line.chars().count() <= DESCRIPTION_MOST {
        return line;
    }
    let cut: String = line.chars().take(DESCRIPTION_MOST - 1).collect();
    cut + "…"
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_candidate_that_would_command_the_terminal_is_left_out() {
        let answer = Answer {
            candidates: vec![
                Candidate::new("shop", "a\tname\nof \u{1b}[2Jtwo lines"),
                Candidate::new("sh\u{1b}[2Jop", ""),
                Candidate::new("two\nlines", ""),
                Candidate::new("quiet", ""),
            ],
            directive: Directive::NoFiles,
        };
        assert_snapshot!(answer.text(), @r"
        shop	a name of [2Jtwo lines
        quiet
        :4
        ");
        assert!(one_line(&"long ".repeat(40)).chars().count() == DESCRIPTION_MOST);
    }
}
