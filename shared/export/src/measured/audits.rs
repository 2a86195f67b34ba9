//! Measures the audit: its requests, and the times at which a read differed from a watch.

use watchscope_charts::{Chart, Columns, Fill, Grid, Plot, Stack};
use watchscope_model::id::Aside;
use watchscope_model::vocabulary::{AuditOutcome, Verb};
use watchscope_model::{Event, Record, State, Time};
use watchscope_timeline::format::{count, duration};

use super::{Measure, Scope};

/// The most differences that get a mark: the first ones. The chart's notes count further differences. The bound keeps
/// the chart's SVG small, because each mark is drawn. The number has no source.
const MOST_MARKS: usize = 100;

/// The audit's requests by kind and bucket. This measure holds three numbers for each of at most [`super::COLUMNS`] + 2
/// buckets, and the times of at most [`MOST_MARKS`] differences.
pub(crate) struct Audits {
    grid: Grid,
    counts: [Vec<u64>; 3],
    differed: Vec<Time>,
    difference_count: u64,
    undecided: u64,
}

impl Audits {
    /// The kinds of the audit's requests: name and fill, from the bottom of a column to its top.
    const KINDS: [(&'static str, Fill); 3] = [
        ("LIST limit=1", Fill::Plain),
        ("GET", Fill::Mid),
        ("LIST", Fill::Dark),
    ];

    pub(crate) fn new(scope: &Scope) -> Self {
        let grid = scope.columns;
        Self {
            grid,
            counts: std::array::from_fn(|_| vec![0; grid.count]),
            differed: Vec::new(),
            difference_count: 0,
            undecided: 0,
        }
    }

    pub(crate) fn chart(self, scope: &Scope) -> Chart {
        let sum = |counts: &Vec<u64>| counts.iter().sum::<u64>();
        let all: u64 = self.counts.iter().map(sum).sum();
        let requests = count(all, "request");
        let title = match (self.difference_count, all) {
            (0, 0) => "The audit asked nothing".to_owned(),
            (0, _) => format!("The audit found no difference in {requests}"),
            (found, _) => format!(
                "The audit found {} in {requests}",
                count(found, "difference")
            ),
        };
        let series = Self::KINDS.iter().zip(&self.counts);
        let series = series.map(|((name, fill), counts)| Stack {
            name: format!("{name} {}", sum(counts)),
            fill: *fill,
            counts: counts.clone(),
        });
        let mut missing = vec!["comparisons while a watch was away".to_owned()];
        if self.undecided > 0 {
            missing.push(format!(
                "{} that could not tell",
                count(self.undecided, "comparison")
            ));
        }
        let unmarked = self.difference_count - self.differed.len() as u64;
        if unmarked > 0 {
            missing.push(format!("marks of {}", count(unmarked, "difference")));
        }
        Chart {
            title,
            unit: format!("requests of the audit, in {}", duration(self.grid.step_us)),
            notes: scope.notes(&missing),
            plot: Plot::Columns(Columns {
                grid: self.grid,
                series: series.collect(),
                divergences: self.differed,
            }),
        }
    }
}

impl Measure for Audits {
    fn take(&mut self, record: &Record, _state: &State, _run: usize) {
        match &record.event {
            Event::RequestSent(sent) if sent.watch.as_aside() == Some(Aside::Audit) => {
                let kind = match (sent.verb(), sent.options().limit) {
                    (Verb::Get, _) => 1,
                    (_, Some(1)) => 0,
                    _ => 2,
                };
                let place = self.grid.place(record.at);
                if let Some(count) = place.and_then(|place| self.counts[kind].get_mut(place)) {
                    *count += 1;
                }
            }
            Event::Audit(audit) => match audit.outcome() {
                AuditOutcome::Differs => {
                    self.difference_count += 1;
                    if self.differed.len() < MOST_MARKS {
                        self.differed.push(record.at);
                    }
                }
                AuditOutcome::CannotTell => self.undecided += 1,
                _ => {}
            },
            _ => {}
        }
    }
}
