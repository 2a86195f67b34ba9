//! The parts of a chart: words, series of times and numbers, and the time that all charts of an export share.

use watchscope_model::Time;

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Span {
    /// Returns its length in microseconds; at least 1.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.to.micros_since(self.from).max(1)
    }
}

/// The time that all charts of one export show, so that their time axes are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The time of the whole axis.
    pub context: Span,
    /// The reported time, drawn as a grey band; `None` if it is the whole axis.
    pub reported: Option<Span>,
    /// Seams in order of time: stretches in which nobody watched. No line crosses one.
    pub seams: Vec<Span>,
}

/// A chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// A sentence that states the finding, or says that nothing stands out.
    pub title: String,
    /// The unit and the scale of the numbers.
    pub unit: String,
    /// Sentences about the source of the numbers, and about what is missing from them.
    pub notes: Vec<String>,
    /// The series and how they are drawn.
    pub plot: Plot,
}

/// The series of a chart, and how they are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plot {
    /// Lines: numbers over time, with a step for each bucket.
    Lines(Lines),
    /// Columns: counts in buckets, stacked.
    Columns(Columns),
    /// Dots: single durations over time, on a log axis.
    Dots(Dots),
    /// Bars: the longest of some durations, one in each row.
    Bars(Vec<Bar>),
}

/// The quantity on a vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Thousandths of a number, from 0.
    Thousandths,
    /// Microseconds, on a log axis.
    LogMicros,
}

/// Buckets of equal length, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Begin of the first bucket.
    pub from: Time,
    /// Length of each bucket in microseconds; over 0.
    pub step_us: i64,
    /// How many buckets there are.
    pub count: usize,
}

impl Grid {
    /// Returns the begin of a bucket; for `count` it returns the end of the last.
    #[must_use]
    pub fn begins(self, place: usize) -> Time {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        self.from.plus_micros(self.step_us.saturating_mul(place))
    }

    /// Returns the bucket that holds a time; `None` outside all buckets.
    #[must_use]
    pub fn place(self, at: Time) -> Option<usize> {
        let place = at.micros_since(self.from).div_euclid(self.step_us.max(1));
        let place = usize::try_from(place).ok()?;
        (place < self.count).then_some(place)
    }
}

/// How several series become "others" when the legend has no room for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Adds them.
    Sum,
    /// Takes the largest of them.
    Largest,
}

/// Series of numbers over the same buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The quantity of the numbers.
    pub scale: Scale,
    /// The buckets.
    pub grid: Grid,
    /// The series, the most important first.
    pub series: Vec<Line>,
    /// How the last series become "others".
    pub merge: Merge,
    /// A number that is written beside its point.
    pub callout: Option<Callout>,
}

/// A series of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its name. A name from a cluster is hostile.
    pub name: String,
    /// One number for each bucket; `None` if it is not known. There the line ends.
    pub values: Vec<Option<i64>>,
}

/// Counts in the same buckets, stacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The buckets.
    pub grid: Grid,
    /// The parts of each column, from the bottom up.
    pub series: Vec<Stack>,
    /// The times at which a read differed from the watch: marks above the columns.
    pub divergences: Vec<Time>,
}

/// One part of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The name of the counted thing.
    pub name: String,
    /// Its fill.
    pub fill: Fill,
    /// One count for each bucket.
    pub counts: Vec<u64>,
}

/// How an area is filled. The fills differ without colour too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    /// Light, with an outline: the expected kind.
    Plain,
    /// Grey.
    Mid,
    /// Dark.
    Dark,
    /// Empty within an outline: done by watchscope itself.
    Own,
    /// Hatched in one direction: resumed gaps.
    Resumed,
    /// Hatched in two directions: lost gaps.
    Lost,
    /// Full, in the colour of errors.
    Error,
    /// Empty within a dotted outline: not known.
    Unknown,
}

/// Series of single durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dots {
    /// The series, the least important first: later ones are drawn over it.
    pub series: Vec<DotSeries>,
    /// A duration that is written beside its dot.
    pub callout: Option<Callout>,
}

/// Single durations of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotSeries {
    /// Their name. A name from a cluster is hostile.
    pub name: String,
    /// The shape of their dots.
    pub shape: Shape,
    /// Time of each dot, and its duration in microseconds.
    pub dots: Vec<(Time, i64)>,
}

/// The shape of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// A disc.
    Disc,
    /// A ring.
    Ring,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
    /// A cross.
    Cross,
    /// A diamond, in the colour of errors.
    Diamond,
}

/// Words beside a point of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callout {
    /// The point's time.
    pub at: Time,
    /// The point's number, in the unit of its scale.
    pub value: i64,
    /// The words.
    pub words: String,
}

/// A row of a chart of bars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The name of the row. A name from a cluster is hostile.
    pub label: String,
    /// Whether it is bold, because it matters.
    pub is_strong: bool,
    /// Length in microseconds.
    pub micros: i64,
    /// Its fill.
    pub fill: Fill,
    /// Words behind the bar.
    pub words: String,
}
