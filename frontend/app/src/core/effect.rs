//! What the browser is to do after a message: the runtime carries it out while nothing borrows the model.

use crate::source::connection;

/// One thing to do. The runtime does them in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask, exchange, open, close, send: what the connection wants of the browser.
    Link(connection::Effect),
    /// Set the connection's one timer to this time of the browser's clock, in milliseconds; to none if absent.
    WakeAt(Option<u64>),
    /// Call back before the next paint.
    ArmFrame,
    /// Ask for a frame after this time.
    ArmAfter {
        /// In milliseconds.
        wait_ms: f64,
    },
    /// Make what any picture needs, while the first socket opens.
    WarmUp,
    /// Paint rows, scene and ruler as the model has them.
    Paint,
    /// The picture was painted: move what lies over it.
    Drawn,
    /// Show the date over the lane tree.
    ShowDate(String),
    /// Show what the panels cannot wait for: the state of the connection, trouble, what is said.
    Inform,
    /// Load the second part once what was painted is seen.
    LoadSecond,
    /// Say that the second part is missing.
    TellIncomplete,
    /// Use the theme that the screen has now.
    Theme,
    /// Something that only the second part can do.
    Panel(PanelEffect),
}

/// What the second part is to do. Each gives the focus to an element, and the browser then calls back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelEffect {
    /// The filter takes the focus.
    FocusFilter,
    /// The picture takes the focus from the detail, which is about to close.
    TakeFocusBack,
}
