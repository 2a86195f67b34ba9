//! What a person does with all lanes at once, as plain data, and the contents of the lanes bar.

use watchscope_model::LogId;
use watchscope_timeline::LaneId;
use watchscope_timeline::lanes::{Folding, Grouping, Sorting};

/// An action on all lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LanesDeed {
    /// Groups the lanes; a second time it ends that grouping.
    Group(Grouping),
    /// Sorts the lanes.
    Sort(Sorting),
    /// Moves a pinned lane to the place of another one.
    MovePin {
        /// The lane that moves.
        lane: LaneId,
        /// A lane at the place; a lane under a pinned watch stands for that watch.
        to: LaneId,
    },
    /// Shows a hidden lane again, by its key.
    Show(Box<str>),
    /// Shows all hidden lanes again.
    ShowAll,
    /// Opens or closes the list of hidden lanes.
    List(bool),
    /// Whether the pointer is over the tree.
    PointAtTree(bool),
    /// The wishes for the lanes of this log, as this browser kept them.
    Kept(Option<Box<str>>),
}

/// The second part's state of the lanes bar.
#[derive(Debug, Default)]
pub struct LanesState {
    /// Whether the person shows or hides the bar; `None`: it comes with many lanes.
    pub bar: Option<bool>,
    /// Whether the list of hidden lanes is open.
    pub is_list_open: bool,
    /// Whether the pointer is over the tree.
    pub is_on_tree: bool,
    /// The log whose wishes were recalled.
    pub kept_of: Option<LogId>,
    /// Whether a link chose the wishes, so that those that the browser kept do not count.
    pub is_linked: bool,
}

/// The contents of the lanes bar and of the list of hidden lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanesShown {
    /// Whether the bar is there.
    pub is_bar: bool,
    /// Whether names of sections stand in a column of their own.
    pub has_columns: bool,
    /// What the sections have in common.
    pub grouping: Grouping,
    /// What the order follows.
    pub sorting: Sorting,
    /// Which watches are open.
    pub folding: Folding,
    /// The number of lanes and sections, in words.
    pub words: String,
    /// The keys of hidden lanes.
    pub hidden: Vec<String>,
    /// Whether their list is open.
    pub is_list_open: bool,
}

/// A controller above the selected object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerShown {
    /// Kind and name. They come from the cluster: show as text.
    pub name: String,
    /// Its lane, if it has one.
    pub lane: Option<LaneId>,
    /// Why it has none.
    pub why: &'static str,
}
