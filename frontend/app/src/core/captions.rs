//! The captions of a first visit as plain data: where they stand, and the shapes that their lines lead to.

/// Width in px that stays free right of now while captions are shown, besides 2.5 % of the picture's width.
pub const FREE_PX: f64 = 270.0;
/// The least width in px of the browser's window for captions. A narrower one shows none.
pub const WINDOW_LEAST_PX: f64 = 1_000.0;
/// The least width in px of the picture for captions. A narrower one shows none: a panel stands beside it.
pub const PICTURE_LEAST_PX: f64 = 700.0;
/// The least height in px of the lanes' window for captions. A lower one shows none: a panel stands below it.
pub const LANES_LEAST_PX: f64 = 470.0;
/// Distance in px of the captions from the pen.
pub const FROM_PEN_PX: f64 = 40.0;
/// Distance in px of the first caption from the top of the lanes. The findings' row and the plate of trouble above lie
/// between them.
pub const FROM_LANES_PX: f64 = 52.0;

/// A shape in the picture that a caption explains, in px from the picture's top left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The x at which the caption's line ends.
    pub x_px: f64,
    /// The y of the shape.
    pub y_px: f64,
}

/// The captions, while they have room.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CaptionsShown {
    /// Their left edge, in px from the left of the picture.
    pub left_px: f64,
    /// The top of the first one, in px from the top of the picture.
    pub top_px: f64,
    /// The pen's x, in px from the left of the picture.
    pub pen_px: f64,
    /// The upper edge of an open stream at the pen; `None`: none is in view.
    pub plateau: Option<Shape>,
    /// The newest change in view that came by a watch; `None`: none is in view.
    pub solid: Option<Shape>,
    /// The newest gap in view; `None`: none is in view.
    pub gap: Option<Shape>,
}
