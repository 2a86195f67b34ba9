//! Finds the texts about a row of the failure catalogue: the only source of `watchscope explain` and docs/findings.

mod explanation;
mod texts;

use watchscope_model::Row;

pub use explanation::Explanation;
pub use texts::EXPLANATIONS;

/// Returns the texts about a row; each row has them.
#[must_use]
pub fn explanation(row: Row) -> &'static Explanation {
    &EXPLANATIONS[row as usize]
}

/// Returns the row whose code is nearest to a typed code: the row whose number the code's digits, in their order, make.
/// Returns F50 for a number above 50. Returns F01 for 0, for a code without digits, and for a number that no `usize`
/// holds.
#[must_use]
pub fn nearest(asked: &str) -> Row {
    let digits: String = asked.chars().filter(char::is_ascii_digit).collect();
    let number = digits.parse::<usize>().unwrap_or(1);
    Row::ALL[number.clamp(1, Row::COUNT) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the texts name facts that were read in the release tags of client-go, apiserver, apimachinery and
    /// etcd.
    #[test]
    fn rows_name_the_releases_and_intervals_that_were_read_in_the_sources() {
        for (code, part, fact) in [
            (
                Row::F04,
                "On the wire",
                "about 5 minutes where the connection is idle",
            ),
            (Row::F04, "Versions", "before 1.18.18, 1.19.5 and 1.20.0"),
            (
                Row::F04,
                "Versions",
                "no deadline of its own from timeoutSeconds",
            ),
            (Row::F04, "Versions", "a lost ping is an ERROR 500"),
            (Row::F07, "On the wire", "200 watches end within a second"),
            (Row::F08, "A naive client", "only with -v=5 or more"),
            (Row::F12, "Root cause", "every 10 minutes by default"),
            (Row::F14, "A correct client", "since 1.18.6 and 1.19.0"),
            (Row::F14, "A correct client", "for about 40 s"),
            (Row::F15, "Versions", "not ready since 1.31"),
            (Row::F24, "Root cause", "for about 5 minutes or more"),
            (Row::F24, "Versions", "1.12.9, 1.13.6, 1.14.2"),
            (Row::F26, "Versions", "Before 1.12.9, 1.13.6 and 1.14.2."),
            (Row::F34, "Root cause", "every 10 minutes by default"),
            (
                Row::F34,
                "Versions",
                "Up to 1.30 none before the cache's first event",
            ),
            (Row::F36, "How to confirm", "likely, twice in a row too"),
        ] {
            let row = explanation(code);
            let (_, text) = row
                .parts()
                .into_iter()
                .find(|(heading, _)| *heading == part)
                .expect("a part");
            assert!(text.contains(fact), "{code}, {part}: {fact}");
        }
    }

    #[test]
    fn every_row_is_explained_in_its_place_with_nothing_left_out() {
        for (place, row) in Row::ALL.into_iter().zip(EXPLANATIONS) {
            assert_eq!(row.row, place);
            let texts = [
                row.what,
                row.cause,
                row.wire,
                row.versions,
                row.naive,
                row.correct,
                row.confirm,
            ];
            for text in texts {
                assert!(text.ends_with('.'), "{}: {text}", row.row);
            }
            assert!(!row.references.is_empty(), "{}", row.row);
        }
        let nearest = ["F51", "f7", "411", "x", "F00"].map(nearest);
        assert_eq!(nearest, [Row::F50, Row::F07, Row::F50, Row::F01, Row::F01]);
    }
}
