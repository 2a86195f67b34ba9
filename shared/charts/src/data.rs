//! The parts of a chart: words, series of times and numbers, and the time that all charts of an export share.

use watchscope_model::Time;

/// A stretch of time. The end of a span must not lie before its begin: for a reversed [`Frame::context`],
/// [`draw`](crate::draw) may panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The begin of the stretch.
    pub from: Time,
    /// The end of the stretch.
    pub to: Time,
}

impl Span {
    /// Returns the length of the stretch in microseconds; at least 1, so that it can be a divisor. The length
    /// saturates.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.to.micros_since(self.from).max(1)
    }
}

/// The time that all charts of one export show, so that their time axes are equal. Dots, marks, seams and a band
/// outside of this time are drawn at the nearer edge. Lines and columns end at the edge. A column wholly outside has no
/// width, but the outline of its fill is drawn, if it has one. A chart of [`Plot::Bars`] has no axis of time and shows
/// nothing of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The time of the whole axis.
    pub context: Span,
    /// The time that the export reports, drawn as a grey band; `None` draws no band. The caller passes `None` if that
    /// time is the whole axis.
    pub reported: Option<Span>,
    /// Seams in order of time: stretches in which nobody watched. No line crosses a seam, however short the seam is.
    /// Empty if there was no seam. Each seam is drawn, so the scene grows with their number.
    pub seams: Vec<Span>,
}

/// A chart: its words and its series. [`draw`](crate::draw) makes a scene of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// A sentence that states the finding, or says that nothing stands out. The title is drawn on at most two lines;
    /// `…` stands for words without room.
    pub title: String,
    /// The unit and the scale of the numbers, on one line; `…` stands for words without room.
    pub unit: String,
    /// Sentences about the source of the numbers, and about what is missing from them, from the top down; may be empty.
    /// Each note is drawn on at most two lines; `…` stands for words without room. The caller bounds the number of
    /// notes.
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
    /// Bars: durations such as the longest ones, one in each row, from the top down in the order of the list. Each bar
    /// from the fourth on makes the chart 21 px higher, so the caller bounds the number of bars. Without a bar, the
    /// chart says that nothing is in its range.
    Bars(Vec<Bar>),
}

/// The quantity on a vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Thousandths of a number, from 0. A number below 0 stands at 0. A number above the last tick stands at the upper
    /// end.
    Thousandths,
    /// Microseconds, on a log axis. A duration below 1 µs stands at the lower end, a duration over 4,000 days at the
    /// upper end.
    LogMicros,
}

/// Buckets of equal length, in order of time. A chart has a column or a step of a line for each bucket, so the caller
/// bounds their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Begin of the first bucket.
    pub from: Time,
    /// Length of each bucket in microseconds; over 0. [`Grid::place`] takes a smaller length as 1.
    pub step_us: i64,
    /// The number of buckets; may be 0.
    pub count: usize,
}

impl Grid {
    /// Returns the begin of the bucket with this index, from 0; for the index `count`, the end of the last bucket. A
    /// greater index continues the grid; the time saturates.
    #[must_use]
    pub fn begins(self, place: usize) -> Time {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        self.from.plus_micros(self.step_us.saturating_mul(place))
    }

    /// Returns the index, from 0, of the bucket that holds a time; `None` outside all buckets. A bucket holds its
    /// begin, and not its end.
    #[must_use]
    pub fn place(self, at: Time) -> Option<usize> {
        let place = at.micros_since(self.from).div_euclid(self.step_us.max(1));
        let place = usize::try_from(place).ok()?;
        (place < self.count).then_some(place)
    }
}

/// How several series become "others" when the legend has no room for them. A number that is not known counts as
/// absent; "others" has no number for a bucket in which all are absent. "Others" has as many numbers as the most
/// important of the merged series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Adds the numbers of the merged series; the sum saturates.
    Sum,
    /// Takes the largest number of the merged series.
    Largest,
}

/// Series of numbers over the same buckets. Without any number, the chart says that nothing is in its range. On
/// [`Scale::Thousandths`], only numbers above 0 count for this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The quantity and unit of the numbers.
    pub scale: Scale,
    /// The buckets.
    pub grid: Grid,
    /// The series, the most important first; may be empty. Series without room in the legend become "others", the last
    /// series first. A single series is not in the legend, because the unit describes it. A series without a number is
    /// not in the legend either.
    pub series: Vec<Line>,
    /// How the numbers of the last series are merged into "others".
    pub merge: Merge,
    /// A number that is written beside its point; `None` for no words.
    pub callout: Option<Callout>,
}

/// A series of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The series' name; `others` for the series that stands for those without room, which is drawn dotted. A name from
    /// a cluster is hostile. In the legend, `…` stands for its end if it is wider than 170 px.
    pub name: String,
    /// One number for each bucket, in the unit of the scale; `None` if it is not known. The line has a gap at an
    /// unknown number. If the list is shorter than the grid, the missing numbers are not known. Numbers beyond the grid
    /// are not drawn, but the axis has room for them.
    pub values: Vec<Option<i64>>,
}

/// Counts in the same buckets, stacked. Without a count above 0 in the grid and without a mark, the chart says that
/// nothing is in its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The buckets.
    pub grid: Grid,
    /// The parts of each column, from the bottom up; may be empty. Parts without room in the legend become "others",
    /// the last first. "Others" has as many counts as the first of the merged parts.
    pub series: Vec<Stack>,
    /// The times at which an audit read differed from the watch, in any order. They are drawn as marks at the top of
    /// the plot, over the columns. Empty if no read differed. The caller bounds their number, because each is drawn.
    pub divergences: Vec<Time>,
}

/// One part of the columns. The fill of "others" is [`Fill::Mid`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The name of the counted things. In the legend, `…` stands for its end if it is wider than 170 px.
    pub name: String,
    /// The fill of this part of each column.
    pub fill: Fill,
    /// One count for each bucket. If the list is shorter than the grid, the missing counts are 0. Counts beyond the
    /// grid are not drawn, and the axis has no room for them.
    pub counts: Vec<u64>,
}

/// How an area is filled. The fills can be told apart without colour, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    /// Light, with an outline: for the expected kind.
    Plain,
    /// Grey: for a second usual kind, and for "others".
    Mid,
    /// Dark: for a third usual kind.
    Dark,
    /// Empty within an outline: for what watchscope itself did.
    Own,
    /// Hatched in one direction: for resumed gaps, for gaps that are still open, and for streams that were cut off.
    Resumed,
    /// Hatched in two directions: for lost gaps, and for streams that were reset.
    Lost,
    /// Full, in the colour of errors: for streams that ended with an error.
    Error,
    /// Empty within a dotted outline: for seams, and for ends of streams that are not known.
    Unknown,
}

/// Series of single durations. Without a dot, the chart says that nothing is in its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dots {
    /// The series, the least important first; may be empty. Later series are drawn over earlier ones. Series without
    /// room in the legend become "others", the first series first.
    pub series: Vec<DotSeries>,
    /// A duration that is written beside its dot; `None` for no words.
    pub callout: Option<Callout>,
}

/// Single durations of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotSeries {
    /// The name of this kind of durations. A name from a cluster is hostile. In the legend, `…` stands for its end if
    /// it is wider than 170 px.
    pub name: String,
    /// The shape of the series' dots. The dots of "others" are rings.
    pub shape: Shape,
    /// Time of each dot, and its duration in microseconds, in any order. The caller bounds the number of dots, because
    /// each is drawn. A duration outside the axis is drawn as [`Scale::LogMicros`] says.
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

/// Words beside a point of a chart. A point outside of the chart's axes counts as lying at the nearer edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callout {
    /// The time of the point; in [`Lines`], the begin of its bucket.
    pub at: Time,
    /// The number of the point, in the unit of the scale: thousandths or microseconds.
    pub value: i64,
    /// The words; `…` stands for the end that has no room.
    pub words: String,
}

/// A row of a chart of bars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The name of the row; `…` stands for the end that has no room. A name from a cluster is hostile.
    pub label: String,
    /// Whether the row stands out: its name is bold, and its texts are darker.
    pub is_strong: bool,
    /// Length of the bar in microseconds; a bar has a visible width even at 0. A negative length counts as 0.
    pub micros: i64,
    /// The fill of the bar.
    pub fill: Fill,
    /// Words right of the bar; `…` stands for the end that has no room. Empty for no words.
    pub words: String,
}
