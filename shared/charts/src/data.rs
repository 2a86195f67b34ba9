//! What a chart is made of: words, series of times and numbers, and the time that all charts of an export share.

use watchscope_model::Time;

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
}

impl Span {
    /// How long it is, in microseconds; at least 1.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.to.micros_since(self.from).max(1)
    }
}

/// The time that all charts of one export show, so that their time axes are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The time looked at: the whole axis.
    pub context: Span,
    /// The time reported, drawn as a grey band; absent: it is all that is looked at.
    pub reported: Option<Span>,
    /// Stretches in which nobody watched, in order of time. No line crosses one.
    pub seams: Vec<Span>,
}

/// A chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// A sentence with the finding in it, or one that says that nothing stands out.
    pub title: String,
    /// What the axis counts, and in which scale.
    pub unit: String,
    /// Where the numbers come from, and what is missing from them.
    pub notes: Vec<String>,
    /// What is drawn.
    pub plot: Plot,
}

/// What is drawn in a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plot {
    /// Numbers over time, a step for each bucket.
    Lines(Lines),
    /// Counts in buckets, one upon the other.
    Columns(Columns),
    /// Single durations over time, on a log axis.
    Dots(Dots),
    /// The longest of some durations, a row each.
    Bars(Vec<Bar>),
}

/// What a vertical axis measures.
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
    /// When the first begins.
    pub from: Time,
    /// How long each is, in microseconds; over 0.
    pub step_us: i64,
    /// How many there are.
    pub count: usize,
}

impl Grid {
    /// When a bucket begins; that of `count` is the end of the last.
    #[must_use]
    pub fn begins(self, place: usize) -> Time {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        self.from.plus_micros(self.step_us.saturating_mul(place))
    }

    /// The bucket that a time is in; absent outside of all.
    #[must_use]
    pub fn place(self, at: Time) -> Option<usize> {
        let place = at.micros_since(self.from).div_euclid(self.step_us.max(1));
        let place = usize::try_from(place).ok()?;
        (place < self.count).then_some(place)
    }
}

/// How series become "others" where a legend has no room for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Their sum.
    Sum,
    /// The largest of them.
    Largest,
}

/// Series of numbers over the same buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// What the numbers are.
    pub scale: Scale,
    /// The buckets.
    pub grid: Grid,
    /// The series, the most important first.
    pub series: Vec<Line>,
    /// How the last of them become "others".
    pub merge: Merge,
    /// A number that is written beside its place.
    pub callout: Option<Callout>,
}

/// A series of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its name. It is hostile where it comes from a cluster.
    pub name: String,
    /// One number a bucket; absent where nothing is known: the line ends there.
    pub values: Vec<Option<i64>>,
}

/// Counts over the same buckets, one upon the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The buckets.
    pub grid: Grid,
    /// What is counted, from the bottom up.
    pub series: Vec<Stack>,
    /// When reads differed from what a watch held: marks over the columns.
    pub divergences: Vec<Time>,
}

/// One part of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// What is counted.
    pub name: String,
    /// How it is filled.
    pub fill: Fill,
    /// One count a bucket.
    pub counts: Vec<u64>,
}

/// How an area is filled. All differ without colour too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    /// Light, with an outline: as it should be.
    Plain,
    /// Grey.
    Mid,
    /// Dark.
    Dark,
    /// Empty within an outline: what watchscope itself did.
    Own,
    /// Hatched one way.
    Resumed,
    /// Hatched both ways.
    Lost,
    /// Full, in the ink of errors.
    Error,
    /// Empty within a dotted outline: not known.
    Unknown,
}

/// Series of single durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dots {
    /// The series, the least important first: those after it are drawn over it.
    pub series: Vec<DotSeries>,
    /// A duration that is written beside its dot.
    pub callout: Option<Callout>,
}

/// Single durations of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotSeries {
    /// Their name. It is hostile where it comes from a cluster.
    pub name: String,
    /// How they look.
    pub shape: Shape,
    /// When each was, and how long, in microseconds.
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
    /// A diamond, in the ink of errors.
    Diamond,
}

/// Words beside a place in a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callout {
    /// When.
    pub at: Time,
    /// The number, as its scale has it.
    pub value: i64,
    /// The words.
    pub words: String,
}

/// A row of a chart of bars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// What it is of. It is hostile where it comes from a cluster.
    pub label: String,
    /// Whether it is one that matters.
    pub is_strong: bool,
    /// How long it is, in microseconds.
    pub micros: i64,
    /// How it is filled.
    pub fill: Fill,
    /// What there is to say of it.
    pub words: String,
}
