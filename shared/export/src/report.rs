//! A report to print, as one HTML file without scripts: picture, findings with evidence, timeline and charts.
//!
//! Pictures are `data:` images, so nothing in a picture reaches another picture or the page. The file's
//! Content-Security-Policy allows only the style sheet and `data:` images, so the file makes no request.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use watchscope_model::Time;
use watchscope_model::codec::DecodeError;
use watchscope_model::vocabulary::Severity;
use watchscope_timeline::format::{clock, clock_ms, count, date, duration, number};

use crate::account::{Account, Found, MOST_ROWS, Missed};
use crate::charts::DrawnChart;
use crate::letters;
use crate::taken::{Says, Taken};

/// The most rows of a timeline that stands before the charts, where it takes about one page. A longer timeline stands
/// after the charts. Rows for a new day or a restart do not count. The number has no other source.
const SHORT_ROWS: usize = 40;
/// The most pieces of evidence of a finding that are written, so that its row fits on a page; the report counts further
/// pieces. The number has no source.
const MOST_EVIDENCE: usize = 8;
/// The most subjects of findings that the report names as affected, in one line; the report counts further subjects.
/// The number has no source.
const MOST_AFFECTED: usize = 3;

/// The alternative text of the picture, for people who do not see it.
const PICTURE: &str = "The lanes of the range";
/// The style sheet of the report. The report's Content-Security-Policy allows the style sheet by its hash.
const STYLE: &str = include_str!("report.css");

/// The parts of a report that are not made from the records.
#[derive(Clone, Copy, Debug)]
pub struct ReportParts<'a> {
    /// The report's title. The time zone is not used.
    pub says: &'a Says<'a>,
    /// The picture of the range, as SVG; see [`REPORT_SIZE`](crate::REPORT_SIZE).
    pub picture: &'a str,
    /// The charts, in the order of the report; if the list is empty, the report has no section of charts.
    pub charts: &'a [DrawnChart],
    /// Begin and end of the charts' time axes. The report names these two times if it has charts.
    pub context: (Time, Time),
}

/// Writes a line; writing to a String does not fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = writeln!($out, $($arg)*); }};
}

/// Returns the whole file in HTML. Findings have the order of [`markdown`](crate::markdown()). The report has at most
/// 1,000 findings and 1,000 rows of the timeline; a last line counts further ones. Rows for a new day or a restart do
/// not count towards the 1,000. A finding has its first 8 pieces of evidence, a row each, and a row counts further
/// pieces. Of all records that are evidence, only the first 10,000 are described in words, run by run. The first 400
/// letters of each text are kept; `…` replaces further letters.
///
/// # Errors
/// If a frame cannot be read.
pub fn report(taken: &Taken, parts: &ReportParts<'_>) -> Result<String, DecodeError> {
    let account = Account::of(taken)?;
    let mut out = String::new();
    let title = escaped(parts.says.title);
    put!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
    );
    put!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src '{}'; \
         base-uri 'none'; form-action 'none'\">",
        style_hash()
    );
    put!(
        out,
        "<meta name=\"viewport\" content=\"width=device-width\">"
    );
    put!(
        out,
        "<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>"
    );
    put!(
        out,
        "<p class=\"kind\">Incident report</p>\n<h1>{title}</h1>"
    );
    lead(&mut out, &account);
    facts(&mut out, taken, &account, parts);
    put!(
        out,
        "<div class=\"wide\">{}</div>",
        image(PICTURE, parts.picture)
    );
    findings(&mut out, &account);
    let is_short = account.timeline.count <= SHORT_ROWS;
    if is_short {
        timeline(&mut out, &account);
    }
    charts(&mut out, parts);
    if !is_short {
        timeline(&mut out, &account);
    }
    foot(&mut out, taken);
    put!(out, "</body>\n</html>");
    Ok(out)
}

/// Writes the summary of the worst finding; of several equally bad findings, of the earliest.
fn lead(out: &mut String, account: &Account) {
    let worst = account
        .found
        .iter()
        .max_by_key(|found| (found.severity, std::cmp::Reverse(found.since)));
    match worst {
        Some(found) => put!(out, "<p class=\"lead\">{}</p>", escaped(&found.summary)),
        None => put!(out, "<p class=\"lead\">No finding in this range.</p>"),
    }
}

fn facts(out: &mut String, taken: &Taken, account: &Account, parts: &ReportParts<'_>) {
    let (from, to) = (taken.from, taken.to);
    let of = taken.runs.last().map(|run| &run.run.of);
    let cluster = of.and_then(|of| of.cluster.as_ref());
    let missed = &account.missed;
    let mut facts: Vec<(&str, String)> = vec![
        ("What", what(&account.found)),
        (
            "When",
            format!(
                "{} UTC ({})",
                span_words(from, to),
                duration(to.micros_since(from))
            ),
        ),
    ];
    if let Some(cluster) = cluster {
        facts.push((
            "Where",
            format!("{}, Kubernetes {}", cluster.name, cluster.version),
        ));
    }
    facts.push((
        "Missed",
        missed_words(missed.gaps, missed.unknown, missed.events),
    ));
    let (context_from, context_to) = parts.context;
    if !parts.charts.is_empty() {
        facts.push((
            "Looked at",
            format!(
                "{}, {}",
                span_words(context_from, context_to),
                count(account.runs.len() as u64, "run")
            ),
        ));
    }
    facts.push(("Affected", affected(&account.found)));
    facts.push(("Our loss", format!("{} in this range", loss_words(missed))));
    put!(out, "<dl>");
    for (name, value) in facts {
        put!(
            out,
            "<div><dt>{name}</dt><dd>{}</dd></div>",
            escaped(&value)
        );
    }
    put!(out, "</dl>");
}

/// Returns a range of time in words: `2026-11-19 03:11:48 – 03:41:07`. The end's day is named only if it differs from
/// the begin's.
fn span_words(from: Time, to: Time) -> String {
    let (first, last) = (date(from), date(to));
    let last = match first == last {
        true => clock(to),
        false => format!("{last} {}", clock(to)),
    };
    format!("{first} {} – {last}", clock(from))
}

/// Returns the number of findings by severity in words: `2 errors, 1 warning`.
fn what(found: &[Found]) -> String {
    let of = |severity: Severity, noun: &str| {
        let number = found
            .iter()
            .filter(|found| found.severity == severity)
            .count();
        (number > 0).then(|| count(number as u64, noun))
    };
    let words = [
        of(Severity::Divergence, "divergence"),
        of(Severity::Error, "error"),
        of(Severity::Warning, "warning"),
        of(Severity::Note, "note"),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    match words.is_empty() {
        true => "no finding".to_owned(),
        false => words.join(", "),
    }
}

/// Returns words that say how many events the gaps lost; an unknown number is not written as 0.
fn missed_words(gaps: u64, unknown: u64, events: u64) -> String {
    let known = count(events, "event");
    match (gaps, unknown) {
        (0, _) => "nothing: no gap lost events".to_owned(),
        (_, 0) => format!("{known} in {}", count(gaps, "gap")),
        (gaps, unknown) if gaps == unknown => format!("unknown, in {}", count(gaps, "gap")),
        (gaps, unknown) => format!(
            "{known} in {}; unknown in {}",
            count(gaps - unknown, "gap"),
            count(unknown, "gap")
        ),
    }
}

/// Returns words that name the first [`MOST_AFFECTED`] subjects of findings, and count further ones.
fn affected(found: &[Found]) -> String {
    let mut subjects: Vec<&str> = Vec::new();
    for found in found.iter().filter(|found| !found.subject.is_empty()) {
        if !subjects.contains(&&*found.subject) {
            subjects.push(&found.subject);
        }
    }
    let more = subjects.len().saturating_sub(MOST_AFFECTED);
    subjects.truncate(MOST_AFFECTED);
    match (subjects.is_empty(), more) {
        (true, _) => "nothing by name".to_owned(),
        (false, 0) => subjects.join(", "),
        (false, more) => format!("{} and {more} more", subjects.join(", ")),
    }
}

fn findings(out: &mut String, account: &Account) {
    put!(out, "<h2>Findings</h2>");
    if account.found.is_empty() {
        put!(out, "<p>None in this range.</p>");
        return;
    }
    put!(
        out,
        "<table class=\"findings\">\n<thead><tr><th></th><th class=\"what\">what, where, how sure</th><th>when, UTC</th><th class=\"evidence\">evidence</th>\
         <th class=\"seq\">seq</th></tr></thead>"
    );
    for found in account.found.iter().take(MOST_ROWS) {
        let shown = &found.evidence[..found.evidence.len().min(MOST_EVIDENCE)];
        let rows = shown.len().max(1);
        put!(
            out,
            "<tbody>\n<tr><td rowspan=\"{rows}\"><b class=\"code {}\">{}</b></td>",
            found.severity.word(),
            escaped(&found.code)
        );
        let subject = match found.subject.is_empty() {
            true => "the cluster",
            false => &found.subject,
        };
        put!(
            out,
            "<td class=\"what\" rowspan=\"{rows}\"><b>{}</b><br>{}<br><span class=\"dim\">{}</span><br>{}</td>",
            escaped(&found.name),
            escaped(subject),
            found.certainty.word(),
            escaped(&found.summary)
        );
        put!(
            out,
            "<td class=\"time\" rowspan=\"{rows}\">{}<br><span class=\"dim\">until {}</span></td>",
            clock_ms(found.since),
            account.until(found)
        );
        if shown.is_empty() {
            put!(out, "<td></td><td></td></tr>");
        }
        for (place, seq) in shown.iter().enumerate() {
            if place > 0 {
                put!(out, "<tr>");
            }
            let words = account.evidence_words(found.key.0, *seq);
            put!(
                out,
                "<td class=\"evidence\">{}</td><td class=\"seq\">{}</td></tr>",
                escaped(words),
                number(seq.0)
            );
        }
        put!(out, "</tbody>");
        if let Some(more @ 1..) = found.evidence.len().checked_sub(MOST_EVIDENCE) {
            put!(
                out,
                "<tbody><tr class=\"more\"><td></td><td></td><td></td><td>and {more} more</td><td></td></tr></tbody>"
            );
        }
    }
    put!(out, "</table>");
    over(out, account.found.len());
}

/// Returns what watchscope itself lost, in words.
fn loss_words(missed: &Missed) -> String {
    let bodies = match missed.bodies {
        1 => "1 body".to_owned(),
        bodies => format!("{} bodies", number(bodies)),
    };
    let parts = [
        (missed.bodies, bodies),
        (
            missed.documents,
            format!(
                "{} that could not be read",
                count(missed.documents, "document")
            ),
        ),
    ];
    let others = parts.into_iter().filter(|(lost, _)| *lost > 0);
    let mut words = vec![count(missed.records, "record")];
    words.extend(others.map(|(_, words)| words));
    words.join(", ")
}

fn timeline(out: &mut String, account: &Account) {
    put!(out, "<h2>Timeline, UTC</h2>");
    let lines = account.lines();
    if lines.is_empty() {
        put!(out, "<p>Nothing but changes in this range.</p>");
        return;
    }
    put!(
        out,
        "<table class=\"timeline\">\n<thead><tr><th>when</th><th>where</th><th>what</th><th class=\"seq\">seq</th></tr></thead>\n<tbody>"
    );
    let mut day = None;
    for line in &lines {
        let date = date(line.at);
        if day.as_ref() != Some(&date) {
            put!(out, "<tr class=\"day\"><th colspan=\"4\">{date}</th></tr>");
            day = Some(date);
        }
        put!(
            out,
            "<tr><td class=\"time\">{}</td><td class=\"where\">{}</td><td>{}</td><td class=\"seq\">{}</td></tr>",
            clock_ms(line.at),
            escaped(line.place),
            escaped(&line.words),
            escaped(line.record.unwrap_or("seam"))
        );
    }
    put!(out, "</tbody>\n</table>");
    over(out, account.timeline.count);
}

/// Writes how many rows a table lacks; nothing if it lacks none.
fn over(out: &mut String, rows: usize) {
    if let Some(over @ 1..) = rows.checked_sub(MOST_ROWS) {
        put!(
            out,
            "<p>And {} more; export JSON lines for all.</p>",
            count(over as u64, "row")
        );
    }
}

fn charts(out: &mut String, parts: &ReportParts<'_>) {
    if parts.charts.is_empty() {
        return;
    }
    put!(
        out,
        "<h2 class=\"page\">Charts</h2>\n<div class=\"charts\">"
    );
    for chart in parts.charts {
        put!(out, "<figure>{}</figure>", image(&chart.title, &chart.svg));
    }
    put!(out, "</div>");
}

fn foot(out: &mut String, taken: &Taken) {
    put!(out, "<footer>");
    for run in &taken.runs {
        let (first, last) = run.seqs().unwrap_or_default();
        let of = &run.run.of;
        let mut line = format!(
            "watchscope {}, log {}, epoch {}, records {} to {}.",
            of.watchscope,
            of.log,
            of.epoch,
            number(first.0),
            number(last.0)
        );
        if !of.withheld.is_empty() {
            line.push_str(" Left out: ");
            line.push_str(&of.withheld.join(", "));
            line.push('.');
        }
        put!(out, "<p>{}</p>", escaped(&line));
    }
    let hidden = taken.hidden();
    let hidden = match hidden.is_empty() {
        true => "nothing".to_owned(),
        false => hidden,
    };
    put!(
        out,
        "<p>Hidden: {}. Values of Secrets are never recorded. Times are by the clock of the host that recorded.</p>\n</footer>",
        escaped(&hidden)
    );
}

fn image(alt: &str, svg: &str) -> String {
    format!(
        "<img alt=\"{}\" src=\"data:image/svg+xml;base64,{}\">",
        escaped(alt),
        STANDARD.encode(svg)
    )
}

/// Returns the style sheet's source as a Content-Security-Policy names it: `sha256-…`.
fn style_hash() -> String {
    use sha2::{Digest as _, Sha256};
    format!(
        "sha256-{}",
        STANDARD.encode(Sha256::digest(STYLE.as_bytes()))
    )
}

/// Escapes a text for HTML, in elements and in quoted attributes: nothing in the text is markup or changes the
/// direction of other text.
fn escaped(text: &str) -> String {
    letters::escaped(text, letters::put_in_markup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_watchscope_are_named_by_what_was_lost() {
        let mut missed = Missed::default();
        assert_eq!(loss_words(&missed), "0 records");
        (missed.records, missed.bodies, missed.documents) = (12, 1, 2);
        assert_eq!(
            loss_words(&missed),
            "12 records, 1 body, 2 documents that could not be read"
        );
    }
}
