//! Draws the findings lane: a chip at each record that raised a finding, with its words, and a line while the finding
//! is open.

use watchscope_model::vocabulary::Severity;

use super::drawer::{Drawer, EpochView, record};
use super::look::{HAIR, LEAST, Layer, TextLook};
use crate::format::text_width;
use crate::lanes::Row;
use crate::phrases::severity_ink;
use crate::scene::{Align, Area, Primitive, Px, StretchKind, Stroke, Target};
use crate::store::{Occurrence, Span};
use crate::tokens::Token;

/// Height of a chip, in px.
pub(super) const CHIP_HEIGHT: Px = Px::whole(14);
/// Distance of a chip from its row's top edge, in px.
pub(super) const CHIP_TOP: Px = Px::whole(5);

/// A chip before it is placed; the most severe is placed first.
struct Chip<'a> {
    epoch: EpochView<'a>,
    span: &'a Span<Occurrence>,
    x: Px,
}

impl Drawer<'_> {
    pub(super) fn findings_row(&mut self, row: &Row) {
        let top = self.y(row) + CHIP_TOP;
        let epochs = self.epochs.clone();
        let mut chips: Vec<Chip<'_>> = Vec::new();
        let mut lines: Vec<(Severity, Px, Px)> = Vec::new();
        for epoch in epochs {
            for span in epoch.trace.findings.all() {
                let end = span.end_at(epoch.end);
                if span.start.at > self.right || end < self.left {
                    continue;
                }
                let x0 = self.x(span.start.at);
                let x1 = self.x(end).max(x0 + LEAST);
                lines.push((span.what.severity, x0, x1));
                let ink = severity_ink(span.what.severity);
                self.trails_off(epoch, span, top + Px::whole(16), ink);
            }
            for span in epoch.trace.occurrences.all() {
                // If the finding is open at the left edge, the last occurrence before the view has its chip there.
                if span.start.at <= self.right && span.end_at(epoch.end) >= self.left {
                    let x = (self.x(span.start.at) - HAIR).max(Px::ZERO);
                    chips.push(Chip { epoch, span, x });
                }
            }
        }
        for severity in Severity::RISING {
            for &(_, x0, x1) in lines.iter().filter(|line| line.0 == severity) {
                let y = top + Px::whole(16);
                self.fill(
                    Layer::Finding,
                    (x0, x1),
                    (y, y + Px::whole(2)),
                    severity_ink(severity),
                );
            }
        }
        self.chips(row, top, chips);
    }

    /// Draws the chip of the selected finding, then the others by falling severity. A chip that finds no room becomes
    /// a tick in its colour.
    fn chips(&mut self, row: &Row, top: Px, chips: Vec<Chip<'_>>) {
        let mut taken: Vec<(Px, Px)> = Vec::new();
        let mut placed: Vec<(&Chip<'_>, Px)> = Vec::new();
        // Occurrences come oldest first, so they are reversed: the newest of each severity is placed first.
        let of = |severity| {
            let of = move |chip: &&Chip<'_>| chip.span.what.severity == severity;
            chips.iter().rev().filter(of)
        };
        let selected = self.picture.evidence.map(|evidence| evidence.finding);
        let is_selected =
            |chip: &&Chip<'_>| selected == Some(record(chip.epoch, chip.span.start.seq));
        let first = chips.iter().find(is_selected);
        let others = Severity::RISING
            .iter()
            .rev()
            .flat_map(|&severity| of(severity));
        let others = others.filter(|chip| !is_selected(chip));
        for chip in first.into_iter().chain(others) {
            let what = &chip.span.what;
            let ink = severity_ink(what.severity);
            let width = chip_width(&what.code);
            let id = record(chip.epoch, chip.span.start.seq);
            let target = Target::Stretch(StretchKind::Finding, id);
            let (x0, x1) = (chip.x, chip.x + width);
            if taken
                .iter()
                .any(|&(from, to)| x0 < to + Px::whole(2) && x1 + Px::whole(2) > from)
            {
                let x = self.x(chip.span.start.at);
                let tick = (x, x + LEAST);
                self.fill(
                    Layer::Finding,
                    tick,
                    (top + CHIP_HEIGHT, top + Px::whole(20)),
                    ink,
                );
                self.hit(tick, (top, top + Px::whole(20)), row.id, target);
                continue;
            }
            taken.push((x0, x1));
            self.chip((x0, top), &what.code, what.severity);
            if selected == Some(id) {
                self.chip_frame((x0, x1), top);
            }
            self.hit((x0, x1), (top, top + Px::whole(18)), row.id, target);
            placed.push((chip, x1));
        }
        // Words are written where they meet neither a chip nor other words.
        for (chip, right) in placed {
            let what = &chip.span.what;
            let strong = what.severity == Severity::Divergence;
            let words = format!("{}: {}", what.name, what.summary);
            let next = taken
                .iter()
                .map(|taken| taken.0)
                .filter(|&x| x > right)
                .min();
            // Words end where their run ends.
            let end_x = self.x(chip.epoch.end).min(self.end_x);
            let room = next.unwrap_or(end_x).min(end_x) - right - Px::whole(12);
            for text in [words.as_str(), &what.summary, &what.name] {
                let look = if strong {
                    TextLook::strong(Token::Text1)
                } else {
                    TextLook::plain(Token::Text2)
                };
                let width = text_width(text, look.size, look.weight);
                if !text.is_empty() && width <= room {
                    let x = right + Px::whole(6);
                    self.text(
                        Layer::Finding,
                        x,
                        top + Px::whole(11),
                        text,
                        look.over(self.ground(row)),
                    );
                    taken.push((x, x + width));
                    break;
                }
            }
        }
    }

    /// Draws the frame of the selected finding's chip.
    fn chip_frame(&mut self, (x0, x1): (Px, Px), top: Px) {
        let around = Px(96);
        let area = Area::between(
            x0 - around,
            x1 + around,
            top - around,
            top + CHIP_HEIGHT + around,
        );
        self.push(
            Layer::Thread,
            Primitive::Rect {
                area,
                fill: None,
                stroke: Some(Stroke::solid(Token::Select, HAIR)),
                radius: 2,
                opacity: 100,
            },
        );
    }

    fn chip(&mut self, (x, y): (Px, Px), code: &str, severity: Severity) {
        let ink = severity_ink(severity);
        let solid = matches!(severity, Severity::Divergence | Severity::Error);
        let area = Area {
            x,
            y,
            w: chip_width(code),
            h: CHIP_HEIGHT,
        };
        let fill = Some(if solid { ink } else { Token::Ground0 });
        let stroke = Some(Stroke::solid(ink, HAIR));
        self.push(
            Layer::Finding,
            Primitive::Rect {
                area,
                fill,
                stroke,
                radius: 2,
                opacity: 100,
            },
        );
        let ink = if solid { Token::OnFill } else { Token::Text1 };
        let look = TextLook {
            weight: 700,
            ..TextLook::plain(ink)
        }
        .aligned(Align::Middle);
        self.text(Layer::Finding, x + area.w.half(), y + Px(678), code, look);
    }
}

fn chip_width(code: &str) -> Px {
    text_width(code, 11, 700) + Px::whole(10)
}
