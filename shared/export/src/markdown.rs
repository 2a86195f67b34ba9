//! A timeline of the incident in Markdown, to be pasted into an issue or a postmortem. All times in it are UTC.

use std::fmt::Write as _;

use watchscope_model::Time;
use watchscope_model::codec::DecodeError;
use watchscope_timeline::format::{clock_ms, count, date, duration};

use crate::account::{Account, MOST_ROWS};
use crate::letters;
use crate::taken::{Says, Taken};

/// Returns findings with their evidence, and a table of failures, run by run in order of time. The table also has
/// relists, evidence and persons' notes. Findings come run by run: first those that are open at the run's begin, then
/// the others in the order in which they were raised. Each table has at most 1,000 rows, and a last line counts further
/// rows. Rows for a new day or a restart do not count towards the 1,000. A sentence stands in place of an empty table.
///
/// After the tables come commands that repeat the checks of each watch that a finding names. They check the first 3
/// known resourceVersions from which the watch could not resume, and its first 3 objects with a verdict. If no finding
/// names a watch, there are no commands. The first 400 letters of each text outside the commands are kept; `…` replaces
/// further letters.
///
/// # Errors
/// If a frame cannot be read.
pub fn markdown(taken: &Taken, says: &Says<'_>) -> Result<String, DecodeError> {
    let account = Account::of(taken)?;
    let mut out = String::new();
    head(&mut out, taken, says);
    findings(&mut out, &account);
    timeline(&mut out, &account);
    by_hand(&mut out, &account.checks.commands(taken)?);
    Ok(out)
}

/// Writes a line; writing to a String does not fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = writeln!($out, $($arg)*); }};
}

fn head(out: &mut String, taken: &Taken, says: &Says<'_>) {
    put!(out, "# {}\n", escaped(says.title));
    let (from, to) = (taken.from, taken.to);
    let lasted = duration(to.micros_since(from));
    put!(
        out,
        "{} {} to {} {} UTC ({lasted}). Times below are UTC.\n",
        date(from),
        clock_ms(from),
        date(to),
        clock_ms(to)
    );
    let of = taken.runs.last().map(|run| &run.run.of);
    if let Some(cluster) = of.and_then(|of| of.cluster.as_ref()) {
        put!(
            out,
            "Cluster {}, Kubernetes {}, {}.\n",
            escaped(&cluster.name),
            escaped(&cluster.version),
            escaped(&cluster.server)
        );
    }
    for run in &taken.runs {
        let (first, last) = run.seqs().unwrap_or_default();
        put!(
            out,
            "Log {}, epoch {}, records {first} to {last}, by watchscope {}.{}\n",
            escaped(run.log.as_str()),
            escaped(run.epoch.as_str()),
            escaped(&run.run.of.watchscope),
            match run.run.of.withheld.is_empty() {
                true => String::new(),
                false => format!(" Left out: {}.", escaped(&run.run.of.withheld.join(", "))),
            }
        );
    }
    let hidden = taken.hidden();
    if !hidden.is_empty() {
        put!(
            out,
            "Hidden: {}. Pseudonyms stand for them; a text that could not be checked is {}.\n",
            escaped(&hidden),
            escaped("[hidden]")
        );
    }
}

fn findings(out: &mut String, account: &Account) {
    put!(out, "## Findings\n");
    if account.found.is_empty() {
        put!(out, "None in this range.\n");
        return;
    }
    put!(out, "| Since | Until | Code | What happened | Evidence |");
    put!(out, "|---|---|---|---|---|");
    for finding in account.found.iter().take(MOST_ROWS) {
        let until = account.until(finding);
        let seqs: Vec<String> = finding.evidence.iter().map(|seq| seq.to_string()).collect();
        put!(
            out,
            "| {} | {until} | {} | {}: {} | {} |",
            clock_ms(finding.since),
            escaped(&finding.code),
            escaped(&finding.name),
            escaped(&finding.summary),
            seqs.join(", ")
        );
    }
    more(out, account.found.len());
}

fn timeline(out: &mut String, account: &Account) {
    put!(out, "## Timeline\n");
    let lines = account.lines();
    if lines.is_empty() {
        put!(out, "Nothing but changes in this range.\n");
        return;
    }
    put!(out, "| Time | Where | What | Record |");
    put!(out, "|---|---|---|---|");
    let mut day = None;
    let mut row = |out: &mut String, at: Time, cells: [&str; 3]| {
        let date = date(at);
        if day.as_ref() != Some(&date) {
            put!(out, "| **{date}** | | | |");
            day = Some(date);
        }
        let [place, words, seq] = cells;
        put!(out, "| {} | {place} | {words} | {seq} |", clock_ms(at));
    };
    for line in &lines {
        let (place, words) = (escaped(line.place), escaped(&line.words));
        let record = escaped(line.record.unwrap_or_default());
        row(out, line.at, [&place, &words, &record]);
    }
    more(out, account.timeline.count);
}

/// Writes the section of commands with which a person repeats the checks.
fn by_hand(out: &mut String, commands: &str) {
    if commands.is_empty() {
        return;
    }
    put!(out, "## Checks by hand\n");
    put!(
        out,
        "These commands read and change nothing. From Kubernetes 1.34 on a list may be that of a watch cache too; what is \
         read of one object is etcd's.\n"
    );
    put!(out, "```sh\n{commands}```");
}

fn more(out: &mut String, rows: usize) {
    put!(out, "");
    if let Some(over @ 1..) = rows.checked_sub(MOST_ROWS) {
        let over = count(over as u64, "row");
        put!(out, "And {over} more; export JSON lines for all.\n");
    }
}

/// Escapes a text for Markdown: nothing in the escaped text is markup, a link, a mention or the end of a cell.
fn escaped(text: &str) -> String {
    let out = letters::escaped(text, |letter, out| match letter {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '@' => out.push_str("&#64;"),
        '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
            out.push('\\');
            out.push(letter);
        }
        letter => out.push(letter),
    });
    // Without this, a bare address would become a link.
    out.replace("://", "&#58;//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_cluster_is_markup() {
        assert_eq!(
            escaped("a|b `c` <script> @all [x](https://y) \u{202e}z\n\n# h"),
            r"a\|b \`c\` &lt;script&gt; &#64;all \[x\](https&#58;//y)  z  \# h"
        );
        assert_eq!(
            escaped(&"x".repeat(500)).chars().count(),
            letters::MOST_LETTERS + 1
        );
    }
}
