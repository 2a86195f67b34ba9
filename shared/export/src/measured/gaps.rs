//! Measures the gaps of watches and the seams of the log: their lengths, and the events missed in gaps.

use watchscope_charts::{Bar, Chart, Fill, Plot};
use watchscope_model::event::Gap;
use watchscope_model::{Event, Record, State, Time};
use watchscope_timeline::format::{clock, count, duration, number};

use super::{Measure, Scope, name_of};

/// The most gaps and seams that get a row, the worst first, so that the chart is about as high as other charts. The
/// chart's notes count the gaps without a row. The number has no other source.
const ROWS: usize = 8;

/// The worst gaps and seams, at most [`ROWS`], and counts of all gaps. Gaps that may have lost events come first, then
/// open gaps, then seams, then resumed gaps; in each of these groups, the longest first.
#[derive(Default)]
pub(crate) struct Gaps {
    rows: Vec<Row>,
    count: u64,
    lost: u64,
    open: u64,
    /// The number of events that are known to be missed.
    missed: u64,
    /// The number of gaps whose lost events cannot be counted.
    unmeasured: u64,
}

/// The outcome of a gap or seam, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Became {
    Lost(Option<u64>),
    Open,
    Seam,
    Resumed,
}

#[derive(Clone, Debug)]
struct Row {
    became: Became,
    micros: i64,
    at: Time,
    name: String,
}

impl Row {
    /// Returns the key that sorts gaps and seams, the worst first.
    fn order(&self) -> (u8, i64, Time) {
        let rank = match self.became {
            Became::Lost(_) => 0,
            Became::Open => 1,
            Became::Seam => 2,
            Became::Resumed => 3,
        };
        (rank, -self.micros, self.at)
    }

    fn bar(&self) -> Bar {
        let (fill, words) = match self.became {
            Became::Lost(None) => (Fill::Lost, "missed: unknown".to_owned()),
            Became::Lost(Some(lost)) => (Fill::Lost, format!("missed: at least {}", number(lost))),
            Became::Open => (Fill::Resumed, "not closed: missed is unknown".to_owned()),
            Became::Seam => (
                Fill::Unknown,
                "nobody watched: missed is unknown".to_owned(),
            ),
            Became::Resumed => (Fill::Resumed, "resumed, 0 lost".to_owned()),
        };
        Bar {
            label: format!("{} {}", clock(self.at), self.name),
            is_strong: matches!(self.became, Became::Lost(_)),
            micros: self.micros,
            fill,
            words: format!("{}, {words}", duration(self.micros)),
        }
    }
}

impl Gaps {
    fn add(&mut self, row: Row) {
        self.rows.push(row);
        self.rows.sort_by_key(Row::order);
        self.rows.truncate(ROWS);
    }

    fn closed(&mut self, gap: &Gap, began: Time, at: Time) {
        self.count += 1;
        let became = if gap.resumed {
            Became::Resumed
        } else {
            self.lost += 1;
            match gap.lost {
                Some(lost) => self.missed = self.missed.saturating_add(lost),
                None => self.unmeasured += 1,
            }
            Became::Lost(gap.lost)
        };
        self.add(Row {
            became,
            micros: at.micros_since(began).max(0),
            at: began,
            name: name_of(&gap.watch),
        });
    }

    pub(crate) fn chart(mut self, scope: &Scope) -> Chart {
        for seam in &scope.frame.seams {
            self.add(Row {
                became: Became::Seam,
                micros: seam.micros(),
                at: seam.from,
                name: "restart".to_owned(),
            });
        }
        let title = match (self.count, self.lost) {
            (0, _) if self.open == 0 => "No gap lost events: there was none".to_owned(),
            (_, 0) => {
                let gaps = match self.count {
                    0 => String::new(),
                    all => format!(": {} resumed", count(all, "gap")),
                };
                let open = match self.open {
                    0 => String::new(),
                    open => format!("; {open} not closed yet"),
                };
                format!("No gap lost events{gaps}{open}")
            }
            (all, lost) => {
                let missed = match (self.missed, self.unmeasured) {
                    (missed, 0) => format!("{} at least", count(missed, "event")),
                    (0, _) => "how many is unknown".to_owned(),
                    (missed, _) => format!("at least {}, the rest is unknown", number(missed)),
                };
                format!("{lost} of {} lost events: {missed}", count(all, "gap"))
            }
        };
        let rows = self
            .rows
            .iter()
            .filter(|row| !matches!(row.became, Became::Seam));
        let shown = rows.count() as u64;
        let left_out = (self.count + self.open).saturating_sub(shown);
        let missing = if left_out > 0 {
            vec![format!(
                "{} that were shorter or resumed",
                count(left_out, "gap")
            )]
        } else {
            Vec::new()
        };
        Chart {
            title,
            unit: "length of the longest gaps, each with the time when it began".to_owned(),
            notes: scope.notes(&missing),
            plot: Plot::Bars(self.rows.iter().map(Row::bar).collect()),
        }
    }
}

impl Measure for Gaps {
    fn take(&mut self, record: &Record, state: &State, _run: usize) {
        if let Event::Gap(gap) = &record.event {
            let watch = state.watches.get(&gap.watch);
            let open = watch.and_then(|watch| watch.gap.as_ref());
            let began = open.map_or(record.at, |open| open.since.at);
            self.closed(gap, began, record.at);
        }
    }

    fn end_run(&mut self, at: Time, state: &State, _is_last: bool) {
        for (name, watch) in state.watches.iter() {
            if let Some(open) = &watch.gap {
                self.open += 1;
                self.add(Row {
                    became: Became::Open,
                    micros: at.micros_since(open.since.at).max(0),
                    at: open.since.at,
                    name: name_of(name),
                });
            }
        }
    }
}
