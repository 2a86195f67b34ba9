//! The captions of a first visit: whether they have room, and which shapes in view they explain. The third part of the
//! page has this code.

use watchscope_timeline::scene::{Hit, Sign, StretchKind, Target};
use watchscope_timeline::{Glyph, LaneId};

use crate::core::captions::{
    CaptionsShown, FREE_PX, FROM_LANES_PX, FROM_PEN_PX, LANES_LEAST_PX, PICTURE_LEAST_PX, Shape,
    WINDOW_LEAST_PX,
};
use crate::core::model::Model;

/// Distance in px from the pen of the point at which the line of the open stream ends.
const BEFORE_PEN_PX: f64 = 18.0;
/// Distance in px from a glyph's middle at which its line ends: a ring around the glyph has this radius.
const RING_PX: f64 = 11.0;
/// The most px from the top of a gap to the point at which its line ends: below the words of the first stream in it.
const FIRST_ROW_PX: f64 = 23.0;

impl Model {
    /// Whether captions can stand beside this picture: it shows a live log, and the window is large enough.
    #[must_use]
    pub fn has_room_for_captions(&self) -> bool {
        !self.panels.is_lesson
            && self.shown.replay.is_none()
            && self.shown.empty.is_none()
            && self.shows_lanes()
            && self.screen.window.width_px >= WINDOW_LEAST_PX
            && self.screen.size.width_px >= PICTURE_LEAST_PX
            && self.window_px() >= LANES_LEAST_PX
    }

    /// Returns the width in px that the page keeps free right of now for captions: 0 without room for them.
    #[must_use]
    pub fn captions_free_px(&self) -> f64 {
        match self.has_room_for_captions() {
            true => FREE_PX,
            false => 0.0,
        }
    }

    /// Returns the captions as they stand now; `None` while they are closed, without room, or if the picture does not
    /// follow now. They stand right of the pen, where nothing is drawn.
    #[must_use]
    pub fn captions(&self) -> Option<CaptionsShown> {
        let is_shown = self.panels.captions
            && self.view.following
            && self.view.free_px > 0.0
            && self.has_room_for_captions();
        if !is_shown {
            return None;
        }
        let pen_px = self.view.pen_px;
        Some(CaptionsShown {
            // The captions keep their place while the pen of a young log travels.
            left_px: self.view.lead_px() + FROM_PEN_PX,
            top_px: self.lanes_top_px() + FROM_LANES_PX,
            pen_px,
            plateau: self.open_stream(pen_px),
            solid: self.newest_solid(pen_px),
            gap: self.newest_gap(pen_px),
        })
    }

    /// Returns the hits in the window, each with the y of its middle. That of a gap is in its first row.
    fn hits_in_window(&self) -> impl Iterator<Item = (&Hit, f64)> {
        let top_px = self.lanes_top_px();
        let within = 0.0..self.window_px();
        self.scene.hits.iter().filter_map(move |hit| {
            let y_px = hit.area.y.to_f64() + (hit.area.h.to_f64() / 2.0).min(FIRST_ROW_PX);
            within.contains(&y_px).then_some((hit, y_px + top_px))
        })
    }

    /// Returns the upper edge of the first open stream of a watch.
    fn open_stream(&self, pen_px: f64) -> Option<Shape> {
        let streams = self.hits_in_window().filter(|(hit, _)| {
            matches!(hit.lane, LaneId::Watch(_))
                && matches!(hit.target, Target::Stretch(StretchKind::Stream, _))
                && hit.area.right().to_f64() >= pen_px - 1.0
                && hit.area.x.to_f64() <= pen_px - BEFORE_PEN_PX
        });
        let edges = streams.map(|(hit, _)| hit.area.y.to_f64() + self.lanes_top_px() + 1.0);
        let y_px = edges.reduce(f64::min)?;
        let x_px = pen_px - BEFORE_PEN_PX;
        Some(Shape { x_px, y_px })
    }

    /// Returns the newest change of an object that came by a watch, and whose glyph is drawn alone.
    fn newest_solid(&self, pen_px: f64) -> Option<Shape> {
        let solids = self.hits_in_window().filter_map(|(hit, y_px)| {
            let drawn = hit.drawn?;
            let is_solid = matches!(
                drawn.sign,
                Sign::Glyph(Glyph::Added | Glyph::Modified | Glyph::Status | Glyph::Deleted)
            );
            let x_px = (hit.area.x + hit.area.w.half()).to_f64();
            let is_in_view = x_px >= RING_PX && x_px <= pen_px;
            let is_of_object = matches!(hit.lane, LaneId::Object(..));
            (is_solid && is_of_object && is_in_view).then_some(Shape { x_px, y_px })
        });
        let newest = solids.reduce(|one, other| match other.x_px > one.x_px {
            true => other,
            false => one,
        })?;
        Some(Shape {
            x_px: newest.x_px + RING_PX,
            ..newest
        })
    }

    /// Returns the right end of the newest gap of a watch.
    fn newest_gap(&self, pen_px: f64) -> Option<Shape> {
        let gaps = self.hits_in_window().filter_map(|(hit, y_px)| {
            let is_gap = matches!(hit.lane, LaneId::Watch(_))
                && matches!(hit.target, Target::Stretch(StretchKind::Gap, _));
            let x_px = hit.area.right().to_f64().min(pen_px);
            (is_gap && x_px > 0.0).then_some(Shape { x_px, y_px })
        });
        gaps.reduce(|one, other| match other.x_px > one.x_px {
            true => other,
            false => one,
        })
    }
}
