//! A timeline of the incident in Markdown, to be pasted into an issue or a postmortem. Times are UTC.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use watchscope_model::codec::DecodeError;
use watchscope_model::event::{Finding, ListComplete, Note};
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{AuditOutcome, Author, LossPlace, Standing};
use watchscope_model::{Entry, Event, Notes, Record, Seq, State, Text, Time};
use watchscope_timeline::format::{clock_ms, count, date, duration};
use watchscope_timeline::words::event_words;

use crate::by_hand::ByHand;
use crate::taken::{Says, Taken};

/// The most rows of a table; what is over is counted below it.
const MOST_ROWS: usize = 1_000;
/// The most letters of a cell; the rest is cut.
const MOST_LETTERS: usize = 400;

/// A finding of the range.
struct Found {
    /// The place of its run, and by which it is known in it.
    key: (usize, Text),
    since: Time,
    until: Option<Time>,
    code: String,
    name: String,
    summary: String,
    evidence: Vec<Seq>,
}

impl Found {
    fn new(run: usize, since: Time, finding: &Finding) -> Self {
        Self {
            key: (run, finding.key()),
            since,
            until: None,
            code: finding.code.to_string(),
            name: finding.name.to_string(),
            summary: finding.summary.clone(),
            evidence: finding.evidence.clone(),
        }
    }
}

/// A line of the timeline.
struct Told {
    at: Time,
    run: usize,
    place: String,
    words: String,
    /// The seq of its record; of a note from another run also the epoch.
    record: String,
}

/// The lines of the timeline: at most [`MOST_ROWS`] are held, the others are counted.
#[derive(Default)]
struct Lines {
    held: Vec<Told>,
    count: usize,
}

/// Findings with their evidence, and in order of time what did not go as it should.
///
/// # Errors
/// If a frame cannot be read.
pub fn markdown(taken: &Taken, says: &Says<'_>) -> Result<String, DecodeError> {
    let mut found = Vec::new();
    // When each run begins and ends.
    let mut runs: Vec<(Time, Time)> = Vec::new();
    for (place, run) in taken.runs.iter().enumerate() {
        let mut times = None;
        run.read(|entry, state| {
            let (_, last) = times.get_or_insert_with(|| {
                note_standing(place, state, &mut found);
                (entry.at(), entry.at())
            });
            *last = entry.at();
            if let Entry::Record(record) = entry
                && let Event::Finding(finding) = &record.event
            {
                note(place, record, finding, &mut found);
            }
        })?;
        runs.push(times.unwrap_or((taken.from, taken.from)));
    }
    let mut evidence = BTreeSet::new();
    for Found {
        key,
        evidence: seqs,
        ..
    } in &found
    {
        evidence.extend(seqs.iter().map(|seq| (key.0, *seq)));
    }
    let (mut told, mut asked) = (Lines::default(), ByHand::default());
    for (place, run) in taken.runs.iter().enumerate() {
        run.read(|entry, state| {
            if let Entry::Record(record) = entry {
                asked.take(&record.event);
                if is_told(&record.event, state) || evidence.contains(&(place, record.seq)) {
                    told.push(record, place);
                }
            }
        })?;
    }
    told.note(&taken.all_notes()?, taken, &runs);
    let mut out = String::new();
    head(&mut out, taken, says);
    findings(&mut out, &found, &runs);
    timeline(&mut out, &told, &runs);
    by_hand(&mut out, &asked.commands(taken)?);
    Ok(out)
}

/// Writing to a String does not fail.
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
}

/// `runs` says when each run begins and ends.
fn findings(out: &mut String, found: &[Found], runs: &[(Time, Time)]) {
    put!(out, "## Findings\n");
    if found.is_empty() {
        put!(out, "None in this range.\n");
        return;
    }
    put!(out, "| Since | Until | Code | What happened | Evidence |");
    put!(out, "|---|---|---|---|---|");
    for finding in found.iter().take(MOST_ROWS) {
        let run = finding.key.0;
        let until = match (finding.until, runs.get(run)) {
            (Some(until), _) => clock_ms(until),
            (None, Some((_, end))) if run + 1 < runs.len() => {
                format!("not known after {}", clock_ms(*end))
            }
            (None, _) => "open at the end".to_owned(),
        };
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
    more(out, found.len());
}

fn timeline(out: &mut String, told: &Lines, runs: &[(Time, Time)]) {
    put!(out, "## Timeline\n");
    if told.held.is_empty() && runs.len() < 2 {
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
    let mut held = told.held.iter().peekable();
    for (place, (_, end)) in runs.iter().enumerate() {
        while let Some(line) = held.next_if(|line| line.run == place) {
            let (place, words) = (escaped(&line.place), escaped(&line.words));
            row(out, line.at, [&place, &words, &escaped(&line.record)]);
        }
        if let Some((next, _)) = runs.get(place + 1) {
            let words = format!(
                "Nobody watched until {}, for {}: watchscope was restarted.",
                clock_ms(*next),
                duration(next.micros_since(*end))
            );
            row(out, *end, ["", &words, ""]);
        }
    }
    more(out, told.count);
}

/// How the checks are repeated.
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

/// What a run's opening says to stand already.
fn note_standing(run: usize, state: &State, found: &mut Vec<Found>) {
    let standing = state.findings.values();
    found.extend(standing.map(|open| Found::new(run, open.since.at, &open.finding)));
}

/// Takes in what a record says of a finding: one line for as long as it stands.
fn note(run: usize, record: &Record, finding: &Finding, found: &mut Vec<Found>) {
    let key = (run, finding.key());
    let mut known = found.iter_mut().rev();
    let known = known.find(|known| known.key == key && known.until.is_none());
    match known {
        Some(known) if finding.state == Standing::Cleared => {
            known.until = Some(record.at);
            known.summary += " Over: ";
            known.summary += &finding.summary;
        }
        Some(known) => {
            known.summary.clone_from(&finding.summary);
            known.evidence.clone_from(&finding.evidence);
        }
        None if finding.state == Standing::Cleared => {}
        None => {
            let since = finding.since.unwrap_or(record.at);
            found.push(Found::new(run, since, finding));
        }
    }
}

/// Whether the timeline tells of an event, whatever rests on it. `before` is the fold before it.
fn is_told(event: &Event, before: &State) -> bool {
    match event {
        Event::Finding(finding) => finding.state != Standing::Updated,
        Event::Attribution(said) => !matches!(
            Attributed::of(&said.code),
            Some(Attributed::Normal | Attributed::Ours)
        ),
        Event::ListComplete(list) => {
            let watch = before.watches.get(&list.watch);
            watch.is_some_and(|watch| watch.counts.of(ListComplete::KIND) > 0)
        }
        // What is left out on purpose is said at the top.
        Event::Loss(loss) => loss.place != LossPlace::Withheld,
        Event::Audit(audit) => audit.outcome() == AuditOutcome::Differs,
        Event::Gap(_) | Event::StreamError(_) | Event::Verdict(_) | Event::ConnectionGoaway(_) => {
            true
        }
        // Those of persons stand where the time is that they are about.
        Event::Note(note) => note.author != Author::Person,
        _ => false,
    }
}

impl Lines {
    fn push(&mut self, record: &Record, run: usize) {
        self.count += 1;
        if self.held.len() < MOST_ROWS {
            let watch = record.event.watch();
            self.held.push(Told {
                at: record.at,
                run,
                record: record.seq.to_string(),
                place: watch.map_or_else(String::new, ToString::to_string),
                words: event_words(&record.event),
            });
        }
    }
}

impl Lines {
    /// Adds the notes of persons as they stand, each with its number in the range, where the time begins that it is about.
    fn note(&mut self, notes: &Notes, taken: &Taken, runs: &[(Time, Time)]) {
        let standing = notes.in_range(taken.from, taken.to);
        self.count += standing.len();
        for (number, note) in (1..).zip(standing) {
            let at = note.from.max(taken.from);
            let run = runs.iter().rposition(|(begin, _)| *begin <= at);
            let run = run.unwrap_or(0);
            let key = note.last;
            let is_own = taken.runs.get(run).is_some_and(|of| of.epoch == key.epoch);
            let words = Note {
                replaces: None,
                ..note.note.clone()
            };
            self.held.push(Told {
                at,
                run,
                place: note
                    .note
                    .watch
                    .as_ref()
                    .map_or_else(String::new, ToString::to_string),
                words: format!("({number}) {}", event_words(&words.into())),
                record: match is_own {
                    true => key.seq.to_string(),
                    false => format!("{}.{}", key.epoch, key.seq),
                },
            });
        }
        self.held.sort_by_key(|line| (line.run, line.at));
        self.held.truncate(MOST_ROWS);
    }
}

/// Text as Markdown shows it: nothing in it is markup, a link, a mention or the end of a cell.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, letter) in text.chars().enumerate() {
        if place == MOST_LETTERS {
            out.push('…');
            break;
        }
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                out.push('\\');
                out.push(letter);
            }
            letter if is_hidden(letter) => out.push(' '),
            letter => out.push(letter),
        }
    }
    // An address alone would become a link.
    out.replace("://", "&#58;//")
}

/// Whether a letter changes how others are read, and is none itself: control characters and those that turn the direction.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_cluster_is_markup() {
        assert_eq!(
            escaped("a|b `c` <script> @all [x](https://y) \u{202e}z\n\n# h"),
            r"a\|b \`c\` &lt;script&gt; &#64;all \[x\](https&#58;//y)  z  \# h"
        );
        assert_eq!(escaped(&"x".repeat(500)).chars().count(), MOST_LETTERS + 1);
    }
}
