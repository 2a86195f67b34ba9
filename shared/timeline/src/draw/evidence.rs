//! Draws the evidence of the selected finding: numbered tags on the lanes, and a thread from the finding's chip to the
//! last tag.

use super::drawer::Drawer;
use super::findings::{CHIP_HEIGHT, CHIP_TOP};
use super::look::{HAIR, Layer, TextLook};
use crate::evidence::Way;
use crate::format::{self, text_width};
use crate::id::LaneId;
use crate::lanes::{Row, RowKind};
use crate::phrases::severity_ink;
use crate::scene::{Align, Area, Primitive, Px, Step, Stroke, Target};
use crate::tokens::Token;

/// Height of a tag, in px: room for its number. The number has no other source.
const TAG_HEIGHT: Px = Px::whole(12);
/// Least width of a tag, in px, so that the tag is nearly square. A number of several digits makes the tag wider. The
/// number has no other source.
const TAG_WIDTH: Px = Px::whole(11);
/// Font size of a tag's number, in px, so that it fits in the tag. The number has no other source.
const NUMBER_SIZE: u8 = 10;
/// Least distance between two tags of one row, in px, so that their outlines stay apart. Nearer tags move to the right.
/// A cross has the same distance from its tag. The number has no other source.
const APART: Px = Px::whole(2);
/// Width of the thread of a "why": 1.25 px, in 64ths of a px. The number has no source.
const STRAND_WIDTH: Px = Px(80);
/// Half the side, in px, of the cross at a step of a "why" at which a change stopped. The number has no source.
const CROSS_ARM: Px = Px::whole(4);

impl<'a> Drawer<'a> {
    /// Draws the tags of the selected finding's evidence and the thread between them; draws nothing if no finding is
    /// selected.
    pub(crate) fn evidence(&mut self) {
        let Some(evidence) = self.picture.evidence else {
            return;
        };
        let ink = severity_ink(evidence.severity);
        let mut placed: Vec<Area> = Vec::new();
        for (number, item) in (1..).zip(&evidence.items) {
            let place = item.place.map(|(lane, at)| (lane, self.x(at)));
            let in_view = place.filter(|&(_, x)| x >= Px::ZERO && x <= self.end_x);
            let Some((row, x)) = in_view.and_then(|(lane, x)| Some((self.row_of(lane)?, x))) else {
                continue;
            };
            let number: String = format::number(number);
            let width = text_width(&number, NUMBER_SIZE, 700) + Px::whole(4);
            let width = width.max(TAG_WIDTH);
            let mut area = Area {
                x: (x - width.half()).floor(),
                y: self.tag_middle(row) - TAG_HEIGHT.half(),
                w: width,
                h: TAG_HEIGHT,
            };
            // Tags of nearly the same time stand side by side, in their order.
            let meets = |area: Area, there: &&Area| {
                there.y == area.y
                    && area.x < there.right() + APART
                    && there.x < area.right() + APART
            };
            while let Some(there) = placed.iter().find(|there| meets(area, there)) {
                area.x = there.right() + APART;
            }
            if let (Some(way), Some(&last)) = (item.way, placed.last()) {
                self.strand(last, area, way, ink);
            }
            placed.push(area);
            let (lane, is_lit) = (row.id, self.picture.lit == Some(item.record));
            self.tag(area, number, ink, is_lit);
            let (xs, ys) = ((area.x, area.right()), (area.y, area.bottom()));
            self.hit(xs, ys, lane, Target::Record(item.record));
        }
        if let Some(&last) = placed.last().filter(|_| !evidence.is_thread()) {
            self.thread(self.x(evidence.at), last, ink);
        }
    }

    /// Draws the thread of a "why" from one tag to the next. If nobody received the second tag's step, the thread ends
    /// in a cross.
    fn strand(&mut self, from: Area, to: Area, way: Way, ink: Token) {
        let middle = |area: Area| (area.x + area.w.half(), area.y + area.h.half());
        let ((x0, y0), (x1, y1)) = (middle(from), middle(to));
        let stroke = match way {
            Way::WentOn => Stroke::solid(ink, STRAND_WIDTH),
            Way::NobodyHeard => Stroke::dashed(ink, STRAND_WIDTH, 4, 3),
            Way::TimePasses | Way::NotKnown => Stroke::dashed(ink, STRAND_WIDTH, 1, 3),
        };
        self.stroke(
            Layer::Divergence,
            &[Step::Move(x0, y0), Step::Line(x1, y1)],
            stroke,
        );
        if way == Way::NobodyHeard {
            let (x, arm) = (to.right() + CROSS_ARM + APART, CROSS_ARM);
            let cross = [
                Step::Move(x - arm, y1 - arm),
                Step::Line(x + arm, y1 + arm),
                Step::Move(x - arm, y1 + arm),
                Step::Line(x + arm, y1 - arm),
            ];
            self.stroke(Layer::Thread, &cross, Stroke::solid(Token::Error, Px(128)));
        }
    }

    /// Returns the row of a lane. If the lane has no row, returns the row of its watch.
    fn row_of(&self, lane: LaneId) -> Option<&'a Row> {
        let rows = &self.picture.rows;
        let of_watch = || rows.find(LaneId::Watch(lane.watch()?));
        rows.find(lane).or_else(of_watch)
    }

    /// Returns the middle of a tag. A tag stands on the plateau of a watch, on the upper edge of an object's row, whose
    /// marks stay in sight, and in the middle of other rows.
    fn tag_middle(&self, row: &Row) -> Px {
        let y = self.y(row);
        match row.kind {
            RowKind::Object => y - HAIR,
            RowKind::Watch => y + row.height.half() + HAIR,
            _ => y + row.height.half(),
        }
    }

    fn tag(&mut self, area: Area, number: String, ink: Token, is_lit: bool) {
        let (fill, words) = if is_lit {
            (Token::Ground0, Token::Text1)
        } else {
            (ink, Token::OnFill)
        };
        self.push(
            Layer::Thread,
            Primitive::Rect {
                area,
                fill: Some(fill),
                stroke: Some(Stroke::solid(ink, HAIR)),
                radius: 1,
                opacity: 100,
            },
        );
        let look = TextLook {
            size: NUMBER_SIZE,
            weight: 700,
            ..TextLook::plain(words)
        };
        let (x, y) = (area.x + area.w.half(), area.y + Px(627));
        self.text(Layer::Thread, x, y, number, look.aligned(Align::Middle));
        self.occupy((area.x, area.right()), (area.y, area.bottom()));
    }

    /// Draws the thread: down from the chip to the height of a tag, then along to the tag. The thread lies under
    /// divergences, because it would strike through their words.
    fn thread(&mut self, x: Px, tag: Area, ink: Token) {
        let rows = &self.picture.rows;
        let Some(top) = rows.find(LaneId::Findings).map(|row| self.y(row)) else {
            return;
        };
        // The chip of a finding that was raised before the view stands at the left edge.
        let x = x.max(Px::ZERO).floor();
        if x > self.width {
            return;
        }
        let middle = tag.y + tag.h.half();
        let from = (top + CHIP_TOP + CHIP_HEIGHT).max(Px::ZERO);
        self.fill(Layer::Divergence, (x, x + HAIR), (from, middle), ink);
        let along = if tag.x > x {
            (x, tag.x)
        } else {
            (tag.right(), x + HAIR)
        };
        self.fill(
            Layer::Divergence,
            along,
            (middle - HAIR.half(), middle + HAIR.half()),
            ink,
        );
    }
}
