//! `watchscope explain F11`: writes the explanation of a failure to standard output.

use watchscope_diagnosis::explain::{Explanation, explanation, nearest};
use watchscope_model::Row;

use super::args::ExplainArgs;
use super::exit::Failure;
use super::out;

/// The longest line, in characters.
const WIDTH: usize = 100;

/// Writes the explanation of a row of the catalogue.
///
/// # Errors
/// Exit code 2 for an unknown code, with the nearest one; 1 if standard output cannot be written.
pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let Some(row) = Row::of(&args.code.to_uppercase()) else {
        let near = nearest(&args.code);
        return Err(Failure::usage(format!(
            "there is no finding {:?}; nearest: {} ({}). Findings are F01 to F50.",
            args.code,
            near,
            near.name()
        )));
    };
    out::print(&text(explanation(row)))
}

/// Returns the explanation of a row, for a terminal.
fn text(row: &Explanation) -> String {
    let mut text = format!("{} {}\n", row.row, row.name());
    for (heading, said) in row.parts() {
        text += &format!("\n{heading}\n");
        let mut line = String::from(" ");
        for word in said.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                text += &line;
                text.push('\n');
                line = String::from(" ");
            }
            line.push(' ');
            line += word;
        }
        text += &line;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_explained_in_lines_that_fit() {
        for row in Row::ALL {
            let text = text(explanation(row));
            assert!(text.starts_with(row.code()));
            assert!(
                text.lines().all(|line| line.chars().count() <= WIDTH),
                "{text}"
            );
        }
    }

    #[test]
    fn an_unknown_code_is_wrong_usage_and_names_the_nearest() {
        let refused = explain(&ExplainArgs {
            code: "F77".to_owned(),
        });
        let failure = refused.err().map(|failure| (failure.code, failure.message));
        let message = "there is no finding \"F77\"; nearest: F50 (cap on streams of a proxied watch). Findings are F01 \
                       to F50.";
        assert_eq!(failure, Some((2, message.to_owned())));
    }
}
