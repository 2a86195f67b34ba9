//! Places labels. In each row marks and words take room; labels take the room that is left, in the order of their
//! ranks.
//!
//! A row's marks are drawn first and call [`Drawer::occupy`]. The labels of a row wait until all its marks are drawn.
//! The most important label is placed first, each in its first free room. A label that finds no room is not written;
//! the pointer still shows its text.

use super::drawer::Drawer;
use super::label::{Label, Rank};
use super::look::{LABEL_INSET, LABEL_SPARE, Layer, TextLook};
use crate::format::text_width;
use crate::scene::{Align, Area, Primitive, Px, TextLine};

/// Least distance of words from marks and other words, in px. Marks have a halo, and words may be wider than
/// calculated. The number has no other source.
const APART: Px = Px::whole(5);
/// Most px by which words may be wider than calculated. Words in a still wider font are squeezed. The number has no
/// source.
const MISRECKONED: Px = Px::whole(2);
/// Height of a text over its baseline, in px: about that of a capital letter of 11 px.
const ASCENT: Px = Px::whole(8);
/// Depth of a text under its baseline, in px: about that of a `g` of 11 px.
const DESCENT: Px = Px::whole(2);

impl Drawer<'_> {
    /// Registers the area of a mark, so that words keep clear of it.
    pub(crate) fn occupy(&mut self, (x0, x1): (Px, Px), (y0, y1): (Px, Px)) {
        self.marked.push(Area::between(x0, x1, y0, y1));
    }

    /// Whether words with the baseline `y` would stand clear of all marks and words drawn so far in the row.
    pub(crate) fn is_clear(&self, (x0, x1): (Px, Px), y: Px) -> bool {
        let meets = |area: &Area| {
            let is_beside = area.x < x1 + APART && x0 < area.right() + APART;
            is_beside && area.y < y + DESCENT && y - ASCENT < area.bottom()
        };
        !self.marked.iter().chain(&self.written).any(meets)
    }

    /// Adds a label, which is placed once all marks of the row are drawn.
    pub(crate) fn label(&mut self, label: Label) {
        self.labels.push(label);
    }

    /// Adds a label inside a stretch, at its visible beginning. The label needs [`LABEL_SPARE`] px of room after it.
    pub(crate) fn label_inside(&mut self, label: Label) {
        let (x0, x1) = label.xs;
        let xs = (
            self.shows_from(x0) + LABEL_INSET,
            x1.min(self.width) - LABEL_SPARE,
        );
        self.label(Label { xs, ..label });
    }

    /// Places the waiting labels, the most important rank first.
    pub(super) fn place_labels(&mut self) {
        let labels = std::mem::take(&mut self.labels);
        for rank in [Rank::Lost, Rank::Error, Rank::List, Rank::Wait, Rank::Name] {
            for label in labels.iter().filter(|label| label.rank == rank) {
                let mut next = Some(label);
                while let Some(label) = next {
                    let Some((x, text)) = self.place(label) else {
                        next = label.or.as_deref();
                        continue;
                    };
                    self.write(label.layer, x, label.y, text, label.look);
                    break;
                }
            }
        }
    }

    /// Returns the x that a label is aligned to, and the first of its forms that has room; `None` if no form has.
    fn place(&self, label: &Label) -> Option<(Px, String)> {
        let (start, end) = label.xs;
        let width = |text: &str| text_width(text, label.look.size, label.look.weight);
        let in_band = |area: &&Area| area.y < label.y && area.bottom() > label.y - ASCENT;
        let taken = || {
            let there = self.marked.iter().chain(&self.written).filter(in_band);
            there.chain(&self.covered)
        };
        if label.look.align == Align::End {
            return label.forms.iter().find_map(|text| {
                let mut right = end;
                while right >= end - label.reach && right - width(text) >= start {
                    let from = right - width(text);
                    let meets =
                        |area: &&Area| area.x - APART < right && from < area.right() + APART;
                    let Some(left) = taken().filter(meets).map(|area| area.x).min() else {
                        return Some((right, text.clone()));
                    };
                    right = left - APART;
                }
                None
            });
        }
        let mut x = start;
        let mut behind_words = false;
        while x < end && x <= start + label.reach {
            let covers = |area: &&Area| area.x - APART <= x && x < area.right() + APART;
            if let Some(right) = taken().filter(covers).map(|area| area.right()).max() {
                behind_words = self
                    .written
                    .iter()
                    .filter(in_band)
                    .any(|area| area.right() == right);
                x = right + APART;
                continue;
            }
            let next = taken().map(|area| area.x - APART).filter(|&left| left > x);
            let room = next.min().map_or(end, |next| next.min(end)) - x;
            for text in &label.forms {
                let text = if label.joins && behind_words {
                    format!("· {text}")
                } else {
                    text.clone()
                };
                if width(&text) <= room {
                    return Some((x, text));
                }
            }
            x = x + room;
        }
        None
    }

    /// Writes a line of text. Labels that are placed later keep clear of this text.
    pub(crate) fn write(
        &mut self,
        layer: Layer,
        x: Px,
        y: Px,
        text: impl Into<String>,
        look: TextLook,
    ) {
        let text = text.into();
        // The greatest width that the text can have.
        let width = text_width(&text, look.size, look.weight) + MISRECKONED;
        let left = match look.align {
            Align::Start => x,
            Align::Middle => x - width.half(),
            Align::End => x - width,
        };
        self.written.push(Area {
            x: left,
            y: y - ASCENT,
            w: width,
            h: ASCENT + DESCENT,
        });
        self.text(layer, x, y, text, look);
    }

    /// Writes a line of text at `x` and `y`, even over marks and other words.
    pub(super) fn text(
        &mut self,
        layer: Layer,
        x: Px,
        y: Px,
        text: impl Into<String>,
        look: TextLook,
    ) {
        let text = text.into();
        let max_width = Some(text_width(&text, look.size, look.weight) + MISRECKONED);
        self.push(
            layer,
            Primitive::Text(TextLine {
                x,
                y,
                text,
                size: look.size,
                weight: look.weight,
                ink: look.ink,
                halo: look.halo,
                align: look.align,
                max_width,
            }),
        );
    }

    /// Returns the x at which a stretch that begins at `x` begins to show: not left of the view, and not under a cover.
    pub(crate) fn shows_from(&self, x: Px) -> Px {
        self.covered.iter().fold(x.max(Px::ZERO), |x, area| {
            if area.x <= x && x < area.right() {
                area.right()
            } else {
                x
            }
        })
    }
}
