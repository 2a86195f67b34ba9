//! Measures why watch streams ended, over time.

use watchscope_charts::{Chart, Columns, Fill, Grid, Plot, Stack};
use watchscope_model::vocabulary::Cause;
use watchscope_model::{Event, Record, State, Time};
use watchscope_timeline::format::{count, duration};

use super::{Measure, Scope};

/// Why a watch stream ended, as the wire shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    End,
    Goaway,
    Ours,
    Unknown,
    Closed,
    Reset,
    Error,
}

impl Why {
    /// All causes, from the bottom of a column to its top.
    const ALL: [Self; 7] = [
        Self::End,
        Self::Goaway,
        Self::Ours,
        Self::Unknown,
        Self::Closed,
        Self::Reset,
        Self::Error,
    ];

    pub(crate) fn of(cause: Cause) -> Self {
        match cause {
            Cause::End => Self::End,
            Cause::Goaway => Self::Goaway,
            Cause::IdleTimeout | Cause::Cancelled | Cause::Decode => Self::Ours,
            Cause::Eof | Cause::EofInFrame | Cause::Tls => Self::Closed,
            Cause::TcpReset | Cause::RstStream => Self::Reset,
            Cause::ErrorEvent | Cause::Refused => Self::Error,
            Cause::Unknown => Self::Unknown,
        }
    }

    fn words(self) -> (&'static str, Fill) {
        match self {
            Self::End => ("orderly", Fill::Plain),
            Self::Goaway => ("GOAWAY", Fill::Mid),
            Self::Ours => ("by watchscope", Fill::Own),
            Self::Unknown => ("not known", Fill::Unknown),
            Self::Closed => ("cut off", Fill::Resumed),
            Self::Reset => ("reset", Fill::Lost),
            Self::Error => ("ERROR event", Fill::Error),
        }
    }

    const fn is_abnormal(self) -> bool {
        matches!(self, Self::Closed | Self::Reset | Self::Error)
    }
}

/// The ends of streams by cause and bucket. This measure holds seven numbers for each of at most [`super::COLUMNS`] + 2
/// buckets. Streams that are open at the end of a run, except the last run, have an unknown end.
pub(crate) struct Ends {
    grid: Grid,
    counts: [Vec<u64>; 7],
}

impl Ends {
    pub(crate) fn new(scope: &Scope) -> Self {
        let grid = scope.columns;
        Self {
            grid,
            counts: std::array::from_fn(|_| vec![0; grid.count]),
        }
    }

    fn add(&mut self, why: Why, at: Time, by: u64) {
        if let Some(place) = self.grid.place(at)
            && let Some(count) = self.counts[why as usize].get_mut(place)
        {
            *count = count.saturating_add(by);
        }
    }

    fn sum(&self, why: Why) -> u64 {
        self.counts[why as usize].iter().sum()
    }

    pub(crate) fn chart(self, scope: &Scope) -> Chart {
        let all: u64 = Why::ALL.iter().map(|why| self.sum(*why)).sum();
        let abnormal = Why::ALL.iter().filter(|why| why.is_abnormal());
        let sums: Vec<(u64, Why)> = abnormal.map(|why| (self.sum(*why), *why)).collect();
        let broken: u64 = sums.iter().map(|(sum, _)| sum).sum();
        let most = sums.iter().max_by_key(|(sum, _)| *sum);
        let mut title = match most {
            _ if all == 0 => "No stream ended".to_owned(),
            Some((sum, why)) if broken > 0 => {
                let (words, _) = why.words();
                let ends = count(all, "end");
                let verb = if broken == 1 { "is" } else { "are" };
                let which = if *sum == broken {
                    words.to_owned()
                } else {
                    format!("{sum} {words}")
                };
                format!("{broken} of {ends} {verb} abnormal ({which})")
            }
            _ => format!("No stream ended abnormally, of {}", count(all, "end")),
        };
        let unknown = self.sum(Why::Unknown);
        if unknown > 0 {
            title.push_str(&format!("; {unknown} not known, at restarts"));
        }
        let series = Why::ALL.iter().map(|why| {
            let (name, fill) = why.words();
            Stack {
                name: format!("{name} {}", self.sum(*why)),
                fill,
                counts: self.counts[*why as usize].clone(),
            }
        });
        let missing: &[String] = if scope.frame.seams.is_empty() {
            &[]
        } else {
            &["ends while nobody watched".to_owned()]
        };
        Chart {
            title,
            unit: format!("ends of streams, in {}", duration(self.grid.step_us)),
            notes: scope.notes(missing),
            plot: Plot::Columns(Columns {
                grid: self.grid,
                series: series.collect(),
                divergences: Vec::new(),
            }),
        }
    }
}

impl Measure for Ends {
    fn take(&mut self, record: &Record, _state: &State, _run: usize) {
        if let Event::StreamEnded(ended) = &record.event {
            self.add(Why::of(ended.cause), record.at, 1);
        }
    }

    fn end_run(&mut self, at: Time, state: &State, is_last: bool) {
        if !is_last {
            let open = state
                .watches
                .values()
                .filter(|watch| watch.stream.is_some());
            self.add(Why::Unknown, at, open.count() as u64);
        }
    }
}
