//! Draws the chips of findings: one chip at each record that raised a finding. Chips of one code that would touch
//! become one chip with the number of occurrences.

use watchscope_model::vocabulary::Severity;

use super::drawer::{Drawer, EpochView, record};
use super::findings::{CHIP_HEIGHT, CHIP_TOP};
use super::look::{HAIR, LEAST, Layer, TextLook};
use crate::format::{number, text_width};
use crate::id::RecordId;
use crate::lanes::Row;
use crate::phrases::severity_ink;
use crate::scene::{Align, Area, Primitive, Px, StretchKind, Stroke, Target};
use crate::store::{Occurrence, Span};
use crate::tokens::Token;

/// Least distance of two chips, in px. Nearer chips of one code become one chip, unless only one of them begins before
/// the view. Of other nearer chips, the less severe becomes a tick; if both are equally severe, the older becomes the
/// tick. The chip of the selected finding never becomes a tick. The number has no source.
const APART: Px = Px::whole(2);
/// The most subjects that the words of a merged chip name, so that the words fit beside it more often. The words name
/// the subjects of the chip's oldest occurrences. The chip's number counts all. The limit has no source.
const SUBJECTS: usize = 4;

/// An occurrence before it is placed.
#[derive(Clone, Copy)]
struct Member<'a> {
    epoch: EpochView<'a>,
    span: &'a Span<Occurrence>,
    x: Px,
    /// Whether the record that raised the occurrence lies before the view.
    is_before: bool,
}

/// One chip: one occurrence, or several of one code that would touch.
struct Chip<'a> {
    /// The occurrences of the chip, the oldest first; never empty.
    members: Vec<Member<'a>>,
    /// How many occurrences the records of the chip stand for; one record may stand for several.
    count: u64,
    severity: Severity,
    x: Px,
    width: Px,
}

impl<'a> Chip<'a> {
    fn new(member: Member<'a>) -> Self {
        let what = &member.span.what;
        let count = what.stands_for();
        Self {
            members: vec![member],
            count,
            severity: what.severity,
            x: member.x,
            width: width(&label(&what.code, count, member.is_before)),
        }
    }

    fn is_before(&self) -> bool {
        self.members[0].is_before
    }

    fn code(&self) -> &str {
        &self.members[0].span.what.code
    }

    fn right(&self) -> Px {
        self.x + self.width
    }

    /// Adds a later occurrence of the same code if its chip would touch this one. Returns whether it did.
    fn takes(&mut self, member: Member<'a>) -> bool {
        if member.x >= self.right() + APART || member.is_before != self.is_before() {
            return false;
        }
        let what = &member.span.what;
        self.count += what.stands_for();
        self.severity = self.severity.worse(what.severity);
        self.width = width(&label(&what.code, self.count, member.is_before));
        self.members.push(member);
        true
    }

    fn ids(&self) -> impl Iterator<Item = RecordId> {
        let id = |member: &Member<'_>| record(member.epoch, member.span.start.seq);
        self.members.iter().map(id)
    }

    fn target(&self) -> Target {
        match &self.members[..] {
            [one] => Target::Stretch(StretchKind::Finding, record(one.epoch, one.span.start.seq)),
            _ => Target::Findings(self.ids().collect()),
        }
    }

    /// Returns texts for the room beside the chip, the longest first.
    fn texts(&self) -> Vec<String> {
        let last = &self.members[self.members.len() - 1].span.what;
        let (name, summary) = (last.name.to_string(), &last.summary);
        if self.members.len() == 1 {
            return vec![format!("{name}: {summary}"), summary.clone(), name];
        }
        let mut subjects: Vec<&str> = Vec::new();
        for member in &self.members {
            let stands = member.epoch.trace.findings.get(member.span.what.since);
            let subject = stands.and_then(|stands| stands.what.subject.as_deref());
            if let Some(subject) = subject.filter(|subject| !subjects.contains(subject)) {
                subjects.push(subject);
            }
        }
        subjects.truncate(SUBJECTS);
        match subjects.is_empty() {
            true => vec![name],
            false => vec![format!("{name}: {}", subjects.join(", ")), name],
        }
    }
}

/// Merges occurrences of one code whose chips would touch. `members` are sorted by x.
fn merged(members: Vec<Member<'_>>) -> Vec<Chip<'_>> {
    let mut chips: Vec<Chip<'_>> = Vec::new();
    // The last chip of each code; there are at most 50 codes.
    let mut last: Vec<usize> = Vec::new();
    for member in members {
        let code = &*member.span.what.code;
        let known = last.iter_mut().find(|place| chips[**place].code() == code);
        let next = chips.len();
        match known {
            Some(place) if chips[*place].takes(member) => continue,
            Some(place) => *place = next,
            None => last.push(next),
        }
        chips.push(Chip::new(member));
    }
    chips
}

impl<'a> Drawer<'a> {
    /// Draws the chips of the row of findings. The chip of the selected finding is placed first, then the others by
    /// falling severity, of one severity the newest first. A chip that would touch a chip placed before it becomes a
    /// tick in the colour of its own severity.
    pub(super) fn chips(&mut self, row: &Row) {
        let top = self.y(row) + CHIP_TOP;
        let chips = merged(self.occurrences());
        let mut taken: Vec<(Px, Px)> = Vec::new();
        let mut placed: Vec<&Chip<'_>> = Vec::new();
        // Chips come oldest first, so they are reversed: the newest of each severity is placed first.
        let of = |severity| {
            let of = move |chip: &&Chip<'_>| chip.severity == severity;
            chips.iter().rev().filter(of)
        };
        let selected = self.picture.evidence.map(|evidence| evidence.finding);
        let is_selected = |chip: &&Chip<'_>| chip.ids().any(|id| selected == Some(id));
        let first = chips.iter().find(is_selected);
        let others = Severity::RISING.iter().rev();
        let others = others.flat_map(|&severity| of(severity));
        let others = others.filter(|chip| !is_selected(chip));
        for chip in first.into_iter().chain(others) {
            let (x0, x1) = (chip.x, chip.right());
            let meets = |&(from, to): &(Px, Px)| x0 < to + APART && x1 + APART > from;
            if taken.iter().any(meets) {
                let tick = (x0 + HAIR, x0 + HAIR + LEAST);
                let ink = severity_ink(chip.severity);
                let ys = (top + CHIP_HEIGHT, top + Px::whole(20));
                self.fill(Layer::Finding, tick, ys, ink);
                self.hit(tick, (top, top + Px::whole(20)), row.id, chip.target());
                continue;
            }
            taken.push((x0, x1));
            self.chip(chip, top);
            if is_selected(&chip) {
                self.chip_frame((x0, x1), top);
            }
            self.hit((x0, x1), (top, top + Px::whole(18)), row.id, chip.target());
            placed.push(chip);
        }
        for chip in placed {
            self.chip_words(row, top, chip, &mut taken);
        }
    }

    /// Returns the occurrences in view by x. If an occurrence began before the view and lasts into it, its chip stands
    /// at the left edge.
    fn occurrences(&self) -> Vec<Member<'a>> {
        let mut members: Vec<Member<'a>> = Vec::new();
        for &epoch in &self.epochs {
            let all = epoch.trace.occurrences.all();
            let until = all.partition_point(|span| span.start.at <= self.right);
            for span in &all[..until] {
                if span.end_at(epoch.end) >= self.left {
                    let x = (self.x(span.start.at) - HAIR).max(Px::ZERO);
                    members.push(Member {
                        epoch,
                        span,
                        x,
                        is_before: self.x(span.start.at) < Px::ZERO,
                    });
                }
            }
        }
        // Runs follow each other, and a clock that was set back may put a later record to the left.
        watchscope_model::tree::sort_by_key(&mut members, |member| {
            (member.x, member.epoch.number, member.span.start.seq)
        });
        members
    }

    /// Writes the longest text of a chip that meets neither a chip nor other words; writes none if all would.
    fn chip_words(&mut self, row: &Row, top: Px, chip: &Chip<'_>, taken: &mut Vec<(Px, Px)>) {
        let strong = chip.severity == Severity::Divergence;
        let right = chip.right();
        let others = taken.iter().map(|taken| taken.0);
        let next = others.filter(|&x| x > right).min();
        // Words end where their run ends.
        let end_x = self.x(chip.members[0].epoch.end).min(self.end_x);
        let room = next.unwrap_or(end_x).min(end_x) - right - Px::whole(12);
        let look = if strong {
            TextLook::strong(Token::Text1)
        } else {
            TextLook::plain(Token::Text2)
        };
        for text in chip.texts() {
            let width = text_width(&text, look.size, look.weight);
            if !text.is_empty() && width <= room {
                let x = right + Px::whole(6);
                let look = look.over(self.ground(row));
                self.text(Layer::Finding, x, top + Px::whole(11), &*text, look);
                taken.push((x, x + width));
                return;
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

    fn chip(&mut self, chip: &Chip<'_>, y: Px) {
        let ink = severity_ink(chip.severity);
        let solid = matches!(chip.severity, Severity::Divergence | Severity::Error);
        let area = Area {
            x: chip.x,
            y,
            w: chip.width,
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
        let (x, text) = (
            chip.x + area.w.half(),
            label(chip.code(), chip.count, chip.is_before()),
        );
        self.text(Layer::Finding, x, y + Px(678), &*text, look);
    }
}

/// Returns `F11`, or `F11 ×3` for several occurrences. For records before the view, the label begins with `‹`, so that
/// the finding does not seem to happen at the view's edge.
fn label(code: &str, count: u64, is_before: bool) -> String {
    let before = if is_before { "‹ " } else { "" };
    match count {
        0 | 1 => format!("{before}{code}"),
        _ => format!("{before}{code} ×{}", number(count)),
    }
}

fn width(label: &str) -> Px {
    text_width(label, 11, 700) + Px::whole(10)
}
