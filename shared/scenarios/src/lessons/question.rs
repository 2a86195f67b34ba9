//! The questions of a lesson: what they ask for, and when they are settled. Their words are in the lesson's texts.

use watchscope_model::wire::player::{COLUMN_BITS, COLUMN_MOST, is_column_right};

/// A question whose answer the next passage shows.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// What the person answers with.
    pub form: Form,
    /// Whether the page covers what each side holds until the question is settled.
    pub covers: bool,
}

impl Question {
    /// Returns a question with `answers` answers to choose from, which covers nothing.
    pub(super) const fn choose(answers: usize, right: usize) -> Self {
        Self {
            form: Form::Choose { answers, right },
            covers: false,
        }
    }
}

/// What the person answers a question with. Each answer is a number from 0.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// One of several answers, by its index.
    Choose {
        /// The number of answers.
        answers: usize,
        /// The index of the right answer. Exactly one answer is right.
        right: usize,
    },
    /// A set of lanes, of at most 16. Bit n of the answer says whether the lane with index n is in the set.
    Tap(&'static [Tap]),
    /// A table of the objects that each client holds. Bit n of the answer says whether the cell with index n is
    /// "holds"; otherwise it is "gone". The cells are counted row by row; there are at most 16.
    Fill {
        /// The clients.
        columns: &'static [&'static str],
        /// The objects by name, each with its cells in the order of the columns: whether the client holds the object.
        rows: &'static [(&'static str, &'static [bool])],
    },
    /// A table of ends of a watch, of at most 16. Bit n of the answer says that the channel of a Go program carries an
    /// ERROR before the end with index n closes it; otherwise it is closed without a word.
    Ends(&'static [End]),
    /// A histogram of the requests that one server gets, a column a second. The bits of the answer from
    /// [`Bars::BITS`] times n on are the height of column n in steps. A column that is off by one step is right.
    Draw(&'static Bars),
}

/// The columns of a histogram of requests.
#[derive(Debug)]
pub struct Bars {
    /// The number of the server.
    pub server: u16,
    /// The second with which the first column begins, since the lesson began.
    pub from_s: u32,
    /// How many requests one step of a column stands for.
    pub step: u32,
    /// The columns in parts of at least one column each, at most 10 columns in all: the number of requests in each
    /// second of the run as written. A part has one reply for the person who draws one of its columns wrong.
    pub parts: &'static [&'static [u32]],
}

impl Bars {
    /// The bits of the height of one column.
    pub const BITS: usize = COLUMN_BITS as usize;
    /// The greatest height of a column, in steps.
    pub const MOST: u32 = COLUMN_MOST;

    /// Returns the number of requests in each column.
    pub fn counts(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().flat_map(|part| part.iter().copied())
    }

    /// Returns the height of each column in whole steps: rounded, and at most [`Bars::MOST`].
    pub fn heights(&self) -> impl Iterator<Item = u32> {
        let step = self.step.max(1);
        self.counts()
            .map(move |count| ((count + step / 2) / step).min(Self::MOST))
    }

    /// Returns the columns in whole steps, as an answer.
    fn right(&self) -> usize {
        let heights = self.heights().enumerate();
        heights
            .map(|(place, height)| (height as usize) << (place * Self::BITS))
            .sum()
    }

    /// Whether each column of an answer is right.
    fn accepts(&self, answer: usize) -> bool {
        let bits = |answer| u32::try_from(answer).unwrap_or(u32::MAX);
        let (answer, right) = (bits(answer), bits(self.right()));
        (0..self.counts().count()).all(|place| is_column_right(answer, right, place))
    }
}

/// An end of a watch.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Whether the channel carries an ERROR before it is closed.
    pub is_error: bool,
}

/// A lane to tap.
#[derive(Clone, Copy, Debug)]
pub struct Tap {
    /// The lane's key, as the page knows it.
    pub lane: &'static str,
    /// Whether the lane is in the right set.
    pub is_right: bool,
}

impl Form {
    /// Returns the number of possible answers, at most 2³⁰. The number itself, as an answer, asks to see the right
    /// answer.
    #[must_use]
    pub fn answers(&self) -> usize {
        match self {
            Self::Choose { answers, .. } => *answers,
            Self::Tap(taps) => 1 << taps.len().min(16),
            Self::Ends(ends) => 1 << ends.len().min(16),
            Self::Fill { rows, .. } => {
                let cells: usize = rows.iter().map(|(_, cells)| cells.len()).sum();
                1 << cells.min(16)
            }
            Self::Draw(bars) => 1 << (bars.counts().count().min(10) * Bars::BITS),
        }
    }

    /// Returns the right answer.
    #[must_use]
    pub fn right(&self) -> usize {
        let bits = |bits: &mut dyn Iterator<Item = bool>| -> usize {
            bits.enumerate()
                .map(|(place, is_set)| usize::from(is_set) << place)
                .sum()
        };
        match self {
            Self::Choose { right, .. } => *right,
            Self::Tap(taps) => bits(&mut taps.iter().map(|tap| tap.is_right)),
            Self::Ends(ends) => bits(&mut ends.iter().map(|end| end.is_error)),
            Self::Fill { rows, .. } => {
                let mut cells = rows.iter().flat_map(|(_, cells)| cells.iter());
                bits(&mut cells.by_ref().copied())
            }
            Self::Draw(bars) => bars.right(),
        }
    }

    /// Returns whether an answer is right. Of columns, several heights are.
    #[must_use]
    pub fn accepts(&self, answer: usize) -> bool {
        match self {
            Self::Draw(bars) => answer < self.answers() && bars.accepts(answer),
            _ => answer == self.right(),
        }
    }
}

impl Question {
    /// Whether these tries settle the question: one is right, one asks to see the answer, or two are wrong.
    #[must_use]
    pub fn is_settled(&self, tries: &[usize]) -> bool {
        let answers = self.form.answers();
        let ends = |answer: &usize| self.form.accepts(*answer) || *answer >= answers;
        tries.len() >= 2 || tries.iter().any(ends)
    }
}
