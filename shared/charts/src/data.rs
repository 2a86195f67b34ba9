//! The parts of a chart: words, series of times and numbers, and the time that all charts of an export share.

use watchscope_model::Time;

/// A stretch of time. Its end must not lie before its begin: for a reversed [`Frame::context`], [`draw`](crate::draw)
/// may panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Span {
    /// Returns its length in microseconds; at least 1, so that it can be a divisor. It saturates.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.to.micros_since(self.from).max(1)
    }
}

/// The time that all charts of one export show, so that their time axes are equal. Dots, marks, seams and a band
/// outside stand at the nearer edge. Lines and columns end there; a column wholly outside has no width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The time of the whole axis.
    pub context: Span,
    /// The reported time, drawn as a grey band; `None` if it is the whole axis.
    pub reported: Option<Span>,
    /// Seams in order of time: stretches in which nobody watched. No line crosses one, however short it is. Empty if
    /// there was none. The caller bounds them: each is drawn.
    pub seams: Vec<Span>,
}

/// A chart: its words and its series. [`draw`](crate::draw) makes a scene of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// A sentence that states the finding, or says that nothing stands out. It is drawn on at most two lines; `…`
    /// stands for the rest.
    pub title: String,
    /// The unit and the scale of the numbers, on one line; `…` stands for the rest.
    pub unit: String,
    /// Sentences about the source of the numbers, and about what is missing from them, from the top down; may be empty.
    /// Each is drawn on at most two lines; `…` stands for the rest. The caller bounds their number.
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
    /// Bars: the longest of some durations, one in each row, from the top down in their order. From the fourth on, each
    /// makes the chart 21 px higher, so the caller bounds them. Without a bar, the chart says that nothing is in its
    /// range.
    Bars(Vec<Bar>),
}

/// The quantity on a vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Thousandths of a number, from 0. A smaller number stands at 0, and one above the last tick at the upper end.
    Thousandths,
    /// Microseconds, on a log axis. A duration below 1 µs stands at the lower end, one over 4,000 days at the upper.
    LogMicros,
}

/// Buckets of equal length, in order of time. A chart has a column or a step of a line for each, so the caller bounds
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Begin of the first bucket.
    pub from: Time,
    /// Length of each bucket in microseconds; over 0. [`Grid::place`] takes a smaller one as 1.
    pub step_us: i64,
    /// How many buckets there are; may be 0.
    pub count: usize,
}

impl Grid {
    /// Returns the begin of a bucket, from 0; for `count` it returns the end of the last. A later one continues the
    /// grid; the time saturates.
    #[must_use]
    pub fn begins(self, place: usize) -> Time {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        self.from.plus_micros(self.step_us.saturating_mul(place))
    }

    /// Returns the bucket that holds a time, from 0; `None` outside all buckets. A bucket holds its begin, and not its
    /// end.
    #[must_use]
    pub fn place(self, at: Time) -> Option<usize> {
        let place = at.micros_since(self.from).div_euclid(self.step_us.max(1));
        let place = usize::try_from(place).ok()?;
        (place < self.count).then_some(place)
    }
}

/// How several series become "others" when the legend has no room for them. A number that is not known counts as
/// absent; "others" has none where all are absent. It has as many numbers as the most important of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Adds them; the sum saturates.
    Sum,
    /// Takes the largest of them.
    Largest,
}

/// Series of numbers over the same buckets. Without a number, the chart says that nothing is in its range. Of
/// [`Scale::Thousandths`], only numbers above 0 count for this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The quantity of the numbers.
    pub scale: Scale,
    /// The buckets.
    pub grid: Grid,
    /// The series, the most important first; may be empty. Those without room in the legend become "others", the last
    /// first. A single series is not in the legend, because the unit describes it.
    pub series: Vec<Line>,
    /// How the last series become "others".
    pub merge: Merge,
    /// A number that is written beside its point; `None` for no words.
    pub callout: Option<Callout>,
}

/// A series of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its name; `others` for the series that stands for those without room, which is dotted. A name from a cluster is
    /// hostile. In the legend, `…` stands for its end if it is wider than 170 px.
    pub name: String,
    /// One number for each bucket, in the unit of the scale; `None` if it is not known. There the line ends. Missing
    /// numbers at the end are not known. Further ones are not drawn, but the axis has room for them.
    pub values: Vec<Option<i64>>,
}

/// Counts in the same buckets, stacked. Without a count above 0 and without a mark, the chart says that nothing is in
/// its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The buckets.
    pub grid: Grid,
    /// The parts of each column, from the bottom up; may be empty. Those without room in the legend become "others",
    /// the last first. "Others" has as many counts as the first of them.
    pub series: Vec<Stack>,
    /// The times at which a read differed from the watch, in any order: marks above the columns. Empty if none
    /// differed. The caller bounds them: each is drawn.
    pub divergences: Vec<Time>,
}

/// One part of the columns. If it becomes "others", its fill is [`Fill::Mid`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The name of the counted thing. In the legend, `…` stands for its end if it is wider than 170 px.
    pub name: String,
    /// Its fill.
    pub fill: Fill,
    /// One count for each bucket. Missing counts at the end are 0; further ones are neither drawn nor on the axis.
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
    /// Hatched in one direction: resumed gaps, and those that are still open.
    Resumed,
    /// Hatched in two directions: lost gaps.
    Lost,
    /// Full, in the colour of errors.
    Error,
    /// Empty within a dotted outline: not known.
    Unknown,
}

/// Series of single durations. Without a dot, the chart says that nothing is in its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dots {
    /// The series, the least important first: later ones are drawn over it. It may be empty. Those without room in the
    /// legend become "others", the first first.
    pub series: Vec<DotSeries>,
    /// A duration that is written beside its dot; `None` for no words.
    pub callout: Option<Callout>,
}

/// Single durations of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotSeries {
    /// Their name. A name from a cluster is hostile. In the legend, `…` stands for its end if it is wider than 170 px.
    pub name: String,
    /// The shape of their dots. Those of "others" are rings.
    pub shape: Shape,
    /// Time of each dot, and its duration in microseconds, in any order. The caller bounds them: each is drawn, as
    /// [`Scale::LogMicros`] says.
    pub dots: Vec<(Time, i64)>,
}

/// The shape of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// A filled disc.
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

/// Words beside a point of a chart. A point outside of its axes stands at the nearer edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callout {
    /// The point's time.
    pub at: Time,
    /// The point's number, in the unit of its scale: thousandths or microseconds.
    pub value: i64,
    /// The words; `…` stands for the end that has no room.
    pub words: String,
}

/// A row of a chart of bars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The name of the row; `…` stands for the end that has no room. A name from a cluster is hostile.
    pub label: String,
    /// Whether it is bold, because it matters: `true` for bold.
    pub is_strong: bool,
    /// Length in microseconds; a bar has a visible width even at 0. A negative length counts as 0.
    pub micros: i64,
    /// Its fill.
    pub fill: Fill,
    /// Words behind the bar; `…` stands for the end that has no room. Empty for none.
    pub words: String,
}
