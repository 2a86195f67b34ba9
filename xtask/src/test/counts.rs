//! Counts tests from the lines that test runners print.

use std::fmt;
use std::process::ExitStatus;

/// The tests of all runners so far.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that ran and passed. Until [`Counts::settled`] this includes tests that skipped themselves.
    pub(crate) passed: usize,
    /// Tests that ran and failed.
    pub(crate) failed: usize,
    /// Tests that lacked something they need.
    pub(crate) skipped: usize,
    /// Tests that take hours and were left out.
    pub(crate) long: usize,
}

impl Counts {
    /// Counts a line of a runner's output: libtest's result, or a test's line that it is skipped.
    pub(crate) fn read_line(&mut self, line: &str) {
        let line = without_colours(line);
        let line = line.trim();
        if line.starts_with("skipped: ") {
            self.skipped += 1;
        }
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        let words: Vec<&str> = result
            .split([' ', ';', '.'])
            .filter(|word| !word.is_empty())
            .collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<usize>() else {
                continue;
            };
            match pair[1] {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.long += count,
                _ => {}
            }
        }
    }

    /// Adds the counts of another output.
    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.long += other.long;
    }

    /// Returns the counts of a runner that ended with this status. A runner that failed without a failed test did not
    /// build or was killed; it counts as one failure.
    pub(crate) fn ended(mut self, status: ExitStatus) -> Counts {
        if !status.success() && self.failed == 0 {
            self.failed = 1;
        }
        self
    }

    /// Takes skipped tests off the passed ones: libtest counts a test that skips itself as passed.
    pub(crate) fn settled(self) -> Counts {
        Counts {
            passed: self.passed.saturating_sub(self.skipped),
            ..self
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts {
            passed,
            failed,
            skipped,
            ..
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Returns the text without terminal escapes of the form ESC [ … letter.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &[&str]) -> Counts {
        let mut counts = Counts::default();
        for line in lines {
            counts.read_line(line);
        }
        counts.settled()
    }

    #[test]
    fn the_results_of_all_runners_are_summed() {
        let counts = counted(&[
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            "test result: \u{1b}[31mFAILED\u{1b}[0m. 4 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s",
        ]);
        assert_eq!(counts.to_string(), "7 passed, 2 failed, 0 skipped");
        assert_eq!(counts.long, 1);
    }

    #[test]
    fn a_test_that_skips_itself_is_not_counted_as_passed() {
        let counts = counted(&[
            "skipped: browser::lanes_appear, install chromium and chromedriver",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ]);
        assert_eq!(counts.to_string(), "1 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn lines_that_only_mention_results_count_nothing() {
        let counts = counted(&["it was skipped: twice", "the test result: ok. 3 passed"]);
        assert_eq!(counts, Counts::default());
    }
}
