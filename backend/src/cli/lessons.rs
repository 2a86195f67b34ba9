//! `watchscope lessons`: lists the lessons, or prints the text of one.

use std::fmt::Write as _;

use watchscope_scenarios::lessons::{self, Lesson, Line, TextError};

use super::args::LessonsArgs;
use super::exit::Failure;
use super::out;

/// Prints the list, or the text of one lesson, to standard output.
pub(super) fn lessons(args: &LessonsArgs) -> Result<(), Failure> {
    let text = match &args.lesson {
        None => lessons::english_lines().map(|lines| list(&lines)),
        Some(name) => {
            let lesson = lessons::lesson(name).ok_or_else(|| Failure::usage(unknown(name)))?;
            script(&lesson)
        }
    };
    out::print(&text.map_err(Failure::failed)?)
}

fn unknown(name: &str) -> String {
    format!(
        "there is no lesson {name}; did you mean {}?",
        lessons::nearest(name).join(", ")
    )
}

fn list(lines: &[Line]) -> String {
    let widest = lines.iter().map(|line| line.name.len()).max();
    let widest = widest.unwrap_or(0);
    let lines = lines
        .iter()
        .map(|line| format!("{:widest$}  {}\n", line.name, line.title));
    lines.collect()
}

fn script(lesson: &Lesson) -> Result<String, TextError> {
    let texts = lessons::english(lesson)?;
    let mut text = format!("{}\n{}\n", texts.title, texts.teaches);
    for (place, passage) in texts.passages.iter().enumerate() {
        // Writing into a text does not fail.
        let _ = write!(text, "\n{}. {}\n", place + 1, passage.title);
        for paragraph in &passage.text {
            let _ = writeln!(text, "{}", plain(paragraph));
        }
        if let Some(question) = &passage.question {
            let _ = writeln!(text, "? {}", plain(&question.asks));
        }
    }
    Ok(text)
}

/// Returns a paragraph without its marks for stress, code and moments.
fn plain(paragraph: &str) -> String {
    let mut plain = String::with_capacity(paragraph.len());
    for part in paragraph.split(" {") {
        match part.split_once('}') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                plain.push_str(rest);
            }
            _ => plain.push_str(part),
        }
    }
    plain.retain(|letter| !matches!(letter, '*' | '`'));
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_line_for_each_lesson() {
        insta::assert_snapshot!(list(&lessons::english_lines().unwrap()), @r"
        watch-event   Life of a watch event
        ghost         Watches ghost you
        three-tries   Return, continue, sleep
        who-hung-up   Five ends, one channel
        silent        Open, and dead
        expired       410 and relist
        quiet         Nothing new, yet expired
        herd          All at once
        away          Deleted while you were away
        back-in-time  The 1.9.2 bug
        stale         Two servers, two times
        starved       A hundred readers, one pipe
        poisoned      A cure that stopped curing
        ");
    }

    #[test]
    fn a_lesson_is_printed_without_marks() {
        for lesson in lessons::lessons() {
            let text = script(&lesson).unwrap();
            assert!(!text.contains(['*', '`', '{', '}']), "{text}");
        }
        assert_eq!(plain("It *lists* {1}: `GET`, {12}."), "It lists: GET,.");
    }

    #[test]
    fn an_unknown_lesson_has_the_nearest_name() {
        assert_eq!(
            unknown("gohst"),
            "there is no lesson gohst; did you mean ghost?"
        );
    }
}
