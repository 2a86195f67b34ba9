//! The health of each watch, as a table: the first place to look when a watch may have missed something.

use std::cmp::Ordering;

use watchscope_model::event::{Bookmark, ListComplete, StreamOpened};
use watchscope_model::fold::{EndReason, Totals, Watch};
use watchscope_model::row::Attributed;
use watchscope_model::tree;
use watchscope_model::vocabulary::{Cause, Phase, Severity};
use watchscope_model::{Row, Time, WatchName};

use crate::findings::{Muted, concerns, one_line};
use crate::format::{count, duration, number};
use crate::phrases::{gap_words, severity_ink};
use crate::store::Known;
use crate::tokens::Token;

/// The columns in their order: name, and its explanation. Counts are of the whole run of watchscope, since the watch
/// was first started, not of the loaded records alone. The age counts from the watch's last start.
pub const COLUMNS: [(&str, &str); 12] = [
    ("Watch", "Its name"),
    ("State", "What it does now"),
    ("Age", "For how long it is wanted, or was"),
    (
        "Streams",
        "Streams that were opened in this run of watchscope",
    ),
    (
        "Ends",
        "Why streams ended: by attribution, else by what was seen on the wire",
    ),
    (
        "Changes",
        "ADDED, MODIFIED and DELETED, by lists and streams",
    ),
    ("Bookmarks", "BOOKMARK events"),
    (
        "Gaps",
        "Stretches without a stream, and how long those lasted in which events may be lost",
    ),
    (
        "Missed",
        "Events lost in gaps: at least what the lists after them found changed; unknown is no number",
    ),
    (
        "Relists",
        "Lists after the first, and how many objects they read again",
    ),
    (
        "Lag",
        "Since when nothing proved that the watch is up to date: no event, no BOOKMARK, no list",
    ),
    (
        "Findings",
        "Findings that stand and are not muted, worst first",
    ),
];

/// The indexes of the columns of numbers, rising. Columns of numbers are aligned to the right.
pub const FIGURES: [usize; 7] = [2, 3, 5, 6, 8, 9, 10];

/// A cell: its words, and its rank in its column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The cell's words; `–` for none, `not known` for a count that the log does not have. Hostile: show as text.
    pub text: String,
    /// The value that the column sorts by: more, longer or worse is greater; 0 for names and for a count that is not
    /// known. The lag of a stopped watch has rank −1. Cells of equal rank sort by their words.
    pub rank: i64,
    /// The colour of a bad value; `None` for any other value.
    pub ink: Option<Token>,
}

/// The row of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthRow {
    /// The watch's name. Hostile: show as text.
    pub watch: WatchName,
    /// One cell for each column, in the order of [`COLUMNS`].
    pub cells: [Cell; COLUMNS.len()],
}

/// Returns the table sorted by watch name, now or as of a moment: one row for each watch, and none before the first
/// snapshot. Watches that watchscope opens only to check another one are left out. Muted findings do not count.
#[must_use]
pub fn table(known: Known<'_>, muted: &Muted) -> Vec<HealthRow> {
    let Some(state) = known.state else {
        return Vec::new();
    };
    state
        .watches
        .iter()
        .filter(|(name, _)| !name.is_aside())
        .map(|(name, watch)| {
            let found = state
                .findings
                .iter()
                .filter(|(key, open)| concerns(known, &open.finding, name) && !muted.has(key));
            let found = found.map(|(_, open)| (&*open.finding.code, open.finding.worst_severity()));
            HealthRow {
                watch: name.clone(),
                cells: cells(name, watch, found.collect(), known.at),
            }
        })
        .collect()
}

fn cells(
    name: &WatchName,
    watch: &Watch,
    found: Vec<(&str, Severity)>,
    now: Time,
) -> [Cell; COLUMNS.len()] {
    // A stopped watch gets no older and is not behind.
    let stopped = watch.phase.as_ref();
    let stopped = stopped.filter(|open| open.phase == Phase::Stopped);
    let until = stopped.map_or(now, |open| open.since.at);
    let changes = watch.added + watch.modified + watch.deleted;
    let totals = &watch.totals;
    let counted = |cell: &dyn Fn(&Totals) -> Cell| {
        if totals.are_known() {
            return cell(totals);
        }
        Cell {
            text: "not known".to_owned(),
            ..Cell::default()
        }
    };
    [
        Cell {
            text: name.to_string(),
            ..Cell::default()
        },
        state(watch),
        lasting(until.micros_since(watch.since.at)),
        figure(watch.counts.of(StreamOpened::KIND)),
        counted(&ends),
        figure(changes),
        figure(watch.counts.of(Bookmark::KIND)),
        counted(&|totals| gaps(watch, totals)),
        counted(&missed),
        counted(&|totals| relists(watch, totals)),
        match stopped {
            Some(_) => Cell {
                text: none_or(String::new()),
                rank: -1,
                ink: None,
            },
            None => counted(&|totals| lag(totals, now)),
        },
        findings(found),
    ]
}

fn figure(value: u64) -> Cell {
    Cell {
        text: number(value),
        rank: i64::try_from(value).unwrap_or(i64::MAX),
        ink: None,
    }
}

fn lasting(us: i64) -> Cell {
    // Whole seconds, so that the table does not flicker.
    let us = us.max(0) / 1_000_000 * 1_000_000;
    Cell {
        text: if us == 0 {
            "0 s".to_owned()
        } else {
            duration(us)
        },
        rank: us,
        ink: None,
    }
}

fn state(watch: &Watch) -> Cell {
    let Some(open) = &watch.phase else {
        return Cell {
            text: "not started".to_owned(),
            ..Cell::default()
        };
    };
    // A worse state has a higher rank.
    let rank = match open.phase {
        Phase::Stopped => 0,
        Phase::Streaming => 1,
        Phase::Unknown => 2,
        Phase::Listing => 3,
        Phase::Connecting => 4,
        Phase::Waiting => 5,
        Phase::Refused => 6,
    };
    Cell {
        text: open.phase.to_string(),
        rank,
        ink: error(rank >= 5),
    }
}

/// Returns how often the streams ended for each reason, `2 normal, 1 F08, 1 cancelled`, the most frequent first.
fn ends(totals: &Totals) -> Cell {
    let counted: Vec<(EndReason, u64)> = totals.ends().collect();
    // Normal, own and unknown ends are no alarm, nor is a timeout (F05). A row of a later version is one.
    let is_quiet = |why: &EndReason| match why {
        EndReason::Attributed(Attributed::Row(row)) => *row == Row::F05,
        EndReason::Attributed(_) => true,
        EndReason::Seen(cause) => matches!(cause, Cause::Cancelled | Cause::End),
        EndReason::Later(_) => false,
    };
    let is_alarm = counted.iter().any(|(why, _)| !is_quiet(why));
    let words = counted.into_iter().map(|(why, times)| (why.word(), times));
    let mut counted: Vec<(String, u64)> = words.collect();
    tree::sort_by(&mut counted, |a, b| {
        b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))
    });
    let total: u64 = counted.iter().map(|(_, times)| times).sum();
    let words: Vec<String> = counted
        .iter()
        .map(|(cause, times)| format!("{} {cause}", number(*times)))
        .collect();
    Cell {
        text: none_or(words.join(", ")),
        rank: i64::try_from(total).unwrap_or(i64::MAX),
        ink: error(is_alarm),
    }
}

/// Returns the watch's gaps by kind: `2 resumed, 1 lost (15 s), 1 open`.
fn gaps(watch: &Watch, totals: &Totals) -> Cell {
    let (resumed, lost) = (totals.resumed(), totals.lost());
    let open = u64::from(watch.gap.is_some());
    let words = gap_words(resumed, (lost, totals.lost_us()), open);
    let rank = lost
        .saturating_mul(1_000_000)
        .saturating_add(open * 1_000)
        .saturating_add(resumed);
    Cell {
        text: none_or(words),
        rank: i64::try_from(rank).unwrap_or(i64::MAX),
        ink: error(lost > 0 || watch.gap.is_some()),
    }
}

/// Returns how many events the watch missed: `0`, `at least 3`, `unknown` or `3 and unknown`.
fn missed(totals: &Totals) -> Cell {
    let (known, unknown) = (totals.missed(), totals.unmeasured());
    let text = match (known, unknown) {
        (0, 1..) => "unknown".to_owned(),
        (some, 1..) => format!("{} and unknown", number(some)),
        // No list shows an object that was created and deleted within a gap, so the count is a lower bound.
        (some, 0) if totals.lost() > 0 => format!("at least {}", number(some)),
        (some, _) => number(some),
    };
    let rank = unknown.saturating_mul(1 << 40).saturating_add(known);
    Cell {
        text,
        rank: i64::try_from(rank).unwrap_or(i64::MAX),
        ink: error(totals.lost() > 0),
    }
}

/// Returns the number of relists, and the objects that they had: `2: 428 objects`.
fn relists(watch: &Watch, totals: &Totals) -> Cell {
    let times = watch.counts.of(ListComplete::KIND).saturating_sub(1);
    let text = match times {
        0 => "0".to_owned(),
        _ => format!("{}: {}", number(times), count(totals.relisted(), "object")),
    };
    Cell {
        text,
        rank: i64::try_from(times).unwrap_or(i64::MAX),
        ink: None,
    }
}

/// Returns the time since the last change, bookmark or list. Each of these proved that the watch was up to date.
fn lag(totals: &Totals, now: Time) -> Cell {
    match totals.heard() {
        Some(at) => lasting(now.micros_since(at)),
        None => Cell {
            text: "never heard".to_owned(),
            rank: i64::MAX,
            ink: None,
        },
    }
}

/// Returns the codes of a watch's findings, `F11, F08`, the most severe first.
fn findings(mut found: Vec<(&str, Severity)>) -> Cell {
    tree::sort_by(&mut found, |a, b| {
        b.1.rank().cmp(&a.1.rank()).then_with(|| a.0.cmp(b.0))
    });
    let words: Vec<&str> = found.iter().map(|(code, _)| *code).collect();
    let severity = found.first().map(|(_, severity)| *severity);
    let worst = severity.map_or(0, Severity::rank);
    Cell {
        text: none_or(words.join(", ")),
        rank: worst as i64 * 1_000_000 + found.len() as i64,
        ink: severity
            .map(severity_ink)
            .filter(|_| worst >= Severity::Error.rank()),
    }
}

fn error(is_wrong: bool) -> Option<Token> {
    is_wrong.then_some(Token::Error)
}

fn none_or(words: String) -> String {
    if words.is_empty() {
        "–".to_owned()
    } else {
        words
    }
}

/// The sort order of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Index of the column in [`COLUMNS`]. Any other index sorts by name, always from A.
    pub column: usize,
    /// Whether the greatest value is first; if `false`, the least value, or names from A.
    pub falling: bool,
}

impl Order {
    /// Returns the order after a press of a column's heading: names from A, other columns with the greatest first. A
    /// press of the column that the table is sorted by reverses the order.
    #[must_use]
    pub fn pressed(self, column: usize) -> Self {
        let falling = if self.column == column {
            !self.falling
        } else {
            column > 0
        };
        Self { column, falling }
    }
}

/// Sorts the rows. Rows with equal cells in the column are sorted by rising name, even in a falling order.
pub fn sort(rows: &mut [HealthRow], order: Order) {
    tree::sort_by(rows, |a, b| {
        let by_column = match (a.cells.get(order.column), b.cells.get(order.column)) {
            (Some(a), Some(b)) => a.rank.cmp(&b.rank).then_with(|| a.text.cmp(&b.text)),
            _ => Ordering::Equal,
        };
        let by_column = if order.falling {
            by_column.reverse()
        } else {
            by_column
        };
        by_column.then_with(|| a.watch.cmp(&b.watch))
    });
}

/// Returns the table as text: a line of names, then one line for each row in the given order, with tabs between
/// columns. Each line ends with a line feed. Control characters in cells become spaces.
#[must_use]
pub fn tsv(rows: &[HealthRow]) -> String {
    let names = COLUMNS.map(|(name, _)| name.to_owned());
    let lines = rows
        .iter()
        .map(|row| row.cells.clone().map(|cell| one_line(&cell.text)));
    std::iter::once(names)
        .chain(lines)
        .map(|line| line.join("\t") + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_cluster_stays_in_its_cell() {
        let cell = |text: &str| Cell {
            text: text.to_owned(),
            ..Cell::default()
        };
        let mut cells: [Cell; COLUMNS.len()] = Default::default();
        cells[0] = cell("shop/pods?a=\tb\nc");
        let row = HealthRow {
            watch: "shop/pods".into(),
            cells,
        };
        let text = tsv(&[row]);
        let lines: Vec<usize> = text.lines().map(|line| line.split('\t').count()).collect();
        assert_eq!(lines, [COLUMNS.len(); 2]);
    }
}
