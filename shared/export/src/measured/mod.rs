//! The data of the charts, measured in one pass over all records.
//!
//! Each [`Measure`] takes in every record once, and its memory is bounded for any log. The charts' time is divided into
//! at most [`BUCKETS`] + 2 buckets. Separate numbers are held for at most [`MOST_WATCHES`] watches; the numbers of
//! other watches are added up or left out.

mod audits;
mod ends;
mod events;
mod gaps;
mod lags;
mod lists;
mod lives;
mod parts;
mod versions;

use watchscope_charts::{Frame, Grid, Span, shortened, ticks};
use watchscope_model::codec::DecodeError;
use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{Entry, Event, Record, State, Time, WatchName};
use watchscope_timeline::format::{clock, count, date, duration};

pub(crate) use self::audits::Audits;
pub(crate) use self::ends::Ends;
pub(crate) use self::events::Events;
pub(crate) use self::gaps::Gaps;
pub(crate) use self::lags::Lags;
pub(crate) use self::lists::Lists;
pub(crate) use self::lives::Lives;
pub(crate) use self::versions::Versions;
use crate::taken::Taken;

/// The most whole time buckets in a chart of a rate, and for the dots of a chart. Their length is a round one. With the
/// parts at both ends, the chart has at most two more. A bucket is therefore at least about 4 px wide. The number has
/// no source.
const BUCKETS: i64 = 120;
/// The most whole time buckets in a chart with columns, and in the chart of the servers' lag. Their length is a round
/// one. With the parts at both ends, the chart has at most two more. A column is therefore at least about 13 px wide.
/// The number has no source.
const COLUMNS: i64 = 40;
/// The most watches, names or unfinished lists for which a [`Measure`] holds separate numbers, so that its memory is
/// bounded for any log. The numbers of further ones are added up or left out. 256 names with a number of 8 bytes for
/// each of 122 buckets take 250 kB. The number has no other source.
const MOST_WATCHES: usize = 256;
/// The least length of a time bucket, in microseconds; a short range has fewer buckets. A rate per second needs a
/// bucket of at least one second.
const LEAST_BUCKET_US: i64 = 1_000_000;
/// The most letters of a name in a chart, so that a title keeps its other words; a longer name ends in `…`. The number
/// has no source.
const MOST_LETTERS: usize = 40;

/// The time of all charts of an export, and what is missing from its records.
pub(crate) struct Scope {
    pub(crate) frame: Frame,
    /// The time buckets of charts of rates, and of dots: at most [`BUCKETS`] + 2.
    pub(crate) lines: Grid,
    /// The time buckets of charts with columns, and of the chart of the servers' lag: at most [`COLUMNS`] + 2.
    pub(crate) columns: Grid,
    /// The time of each run, from its first to its last record.
    pub(crate) runs: Vec<Span>,
    records: u64,
    losses: Losses,
    zone_offset_min: i32,
}

/// The losses that records of the charts' time state.
#[derive(Default)]
struct Losses {
    /// The number of records that the log lost.
    own: u64,
    /// The number of documents in watch streams that could not be read.
    frames: u64,
    /// The number of records that an extract left out.
    withheld: u64,
}

/// One measure of a chart's data, which takes in records one by one.
pub(crate) trait Measure {
    /// Takes in a record of the charts' time. `state` is the fold before the record, `run` the index of the record's
    /// run.
    fn take(&mut self, record: &Record, state: &State, run: usize);

    /// Takes in the end of a run of the log's writer. `is_last` says that no run follows. `state` is the fold after the
    /// run's last record.
    fn end_run(&mut self, _at: Time, _state: &State, _is_last: bool) {}
}

impl Scope {
    /// Reads the times of all runs. `reported` is the reported time, if the charts show more than the reported time.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(crate) fn of(
        taken: &Taken,
        reported: Option<Span>,
        zone_offset_min: i32,
    ) -> Result<Self, DecodeError> {
        let context = Span {
            from: taken.from,
            to: taken.to.max(taken.from.plus_micros(1)),
        };
        let (mut runs, mut records) = (Vec::<Span>::new(), 0_u64);
        let mut losses = Losses::default();
        for run in &taken.runs {
            let mut span: Option<Span> = None;
            run.read(|entry, _| {
                let at = entry.at();
                span.get_or_insert(Span { from: at, to: at }).to = at;
                if let Entry::Record(record) = entry
                    && holds(context, at)
                {
                    records += 1;
                    losses.take(&record.event);
                }
            })?;
            runs.extend(span);
        }
        let pairs = runs.iter().zip(runs.iter().skip(1));
        let seams = pairs.map(|(one, next)| Span {
            from: one.to,
            to: next.from.max(one.to),
        });
        let seen = |seam: &Span| seam.to >= context.from && seam.from <= context.to;
        let frame = Frame {
            context,
            reported: reported.filter(|reported| *reported != context),
            seams: seams.filter(seen).collect(),
        };
        Ok(Self {
            lines: grid(context, BUCKETS),
            columns: grid(context, COLUMNS),
            frame,
            runs,
            records,
            losses,
            zone_offset_min,
        })
    }

    /// Reads all records of the charts' time into `parts`.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(crate) fn read(
        &self,
        taken: &Taken,
        parts: &mut [&mut dyn Measure],
    ) -> Result<(), DecodeError> {
        let last = taken.runs.len().saturating_sub(1);
        for (place, run) in taken.runs.iter().enumerate() {
            let mut end: Option<(Time, State)> = None;
            let seqs = run.seqs();
            run.read(|entry, state| {
                let is_last = seqs.is_some_and(|(_, last)| entry.seq() == last);
                let mut behind = is_last.then(|| state.clone());
                if let Entry::Record(record) = entry {
                    if holds(self.frame.context, record.at) {
                        for part in parts.iter_mut() {
                            part.take(record, state, place);
                        }
                    }
                    if let Some(behind) = &mut behind {
                        behind.apply(record);
                    }
                }
                end = behind.map(|behind| (entry.at(), behind));
            })?;
            if let Some((at, state)) = end {
                for part in parts.iter_mut() {
                    part.end_run(at, &state, place == last);
                }
            }
        }
        Ok(())
    }

    /// Returns how many microseconds of a bucket lie within runs of the log's writer.
    pub(crate) fn covered_us(&self, grid: Grid, place: usize) -> i64 {
        let context = self.frame.context;
        let from = grid.begins(place).max(context.from);
        let to = grid.begins(place + 1).min(context.to);
        let within = self.runs.iter().map(|run| {
            let (from, to) = (from.max(run.from), to.min(run.to));
            to.micros_since(from).max(0)
        });
        within.sum()
    }

    /// Returns the lines of text below a chart: the source of its numbers, and what is missing. `missing` has the
    /// chart's own lines about missing numbers.
    pub(crate) fn notes(&self, missing: &[String]) -> Vec<String> {
        let context = self.frame.context;
        let (from, to) = (context.from, context.to);
        let end = if date(from) == date(to) {
            clock(to)
        } else {
            format!("{} {}", date(to), clock(to))
        };
        let runs = match self.runs.len() {
            1 => String::new(),
            runs => format!(" of {runs} runs"),
        };
        let records = count(self.records, "record");
        let zone = zone_words(self.zone_offset_min);
        let from = format!("{} {}", date(from), clock(from));
        let mut notes = vec![format!("From {records}{runs}, {from} – {end} UTC{zone}.")];
        let mut parts = self.seam_words();
        let losses = &self.losses;
        for (lost, noun, what) in [
            (losses.own, "record", "lost by watchscope"),
            (losses.frames, "document", "that could not be read"),
            (losses.withheld, "record", "left out"),
        ] {
            if lost > 0 {
                parts.push(format!("{} {what}", count(lost, noun)));
            }
        }
        parts.extend(missing.iter().cloned());
        notes.push(if parts.is_empty() {
            "Missing: nothing that is known.".to_owned()
        } else {
            format!("Missing: {}.", parts.join("; "))
        });
        notes
    }

    fn seam_words(&self) -> Vec<String> {
        let seams = &self.frame.seams;
        let lasted: i64 = seams.iter().map(|seam| seam.micros()).sum();
        let restarts = count(seams.len() as u64, "restart");
        let words = format!("{} in {restarts}", duration(lasted));
        if seams.is_empty() {
            Vec::new()
        } else {
            vec![words]
        }
    }
}

impl Losses {
    fn take(&mut self, event: &Event) {
        let Event::Loss(loss) = event else {
            return;
        };
        let into = match loss.place {
            LossPlace::Body => return,
            LossPlace::Frame => &mut self.frames,
            LossPlace::Withheld => &mut self.withheld,
            _ => &mut self.own,
        };
        *into = into.saturating_add(loss.count);
    }
}

fn holds(span: Span, at: Time) -> bool {
    span.from <= at && at <= span.to
}

/// Divides a span into at most `most` + 2 buckets of a round length, which begin at a round time.
fn grid(span: Span, most: i64) -> Grid {
    let step_us = ticks::time_step(span.micros(), most).max(LEAST_BUCKET_US);
    let from = span.from.0.div_euclid(step_us).saturating_mul(step_us);
    let places = span.to.micros_since(Time(from)).div_euclid(step_us);
    Grid {
        from: Time(from),
        step_us,
        count: usize::try_from(places).unwrap_or(0).min(most as usize + 1) + 1,
    }
}

/// Returns a watch's name as charts write it, cut to [`MOST_LETTERS`].
pub(crate) fn name_of(watch: &WatchName) -> String {
    shortened(watch.as_str(), MOST_LETTERS)
}

/// Returns the begin of a bucket as text for a chart's title.
pub(crate) fn when(grid: Grid, place: usize) -> String {
    ticks::time_label(grid.begins(place), grid.step_us)
}

fn zone_words(offset_min: i32) -> String {
    if offset_min == 0 {
        return String::new();
    }
    let sign = if offset_min < 0 { '−' } else { '+' };
    let offset = offset_min.unsigned_abs();
    format!(
        " (the viewer is at {sign}{:02}:{:02})",
        offset / 60,
        offset % 60
    )
}
