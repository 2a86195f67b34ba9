//! Draws numbered flags for notes: a row of flags above the lanes, and dotted lines down from it.
//!
//! ```text
//!   marks ─► in view ─► spread (none overlaps) ─┬─► draw        flags, and lines over spans
//!                                               ├─► flag_at     what a pointer meets
//!              times of the marks ──────────────┴─► marked.rs   lines stay where the time is
//! ```

use watchscope_model::Time;

use super::ruler::RANGE_GROUND;
use crate::format::{number, text_width};
use crate::scene::{Align, Area, Primitive, Px, Scene, Stroke, TextLine};
use crate::tokens::Token;
use crate::view::View;

/// Width of a thin stroke, in px: the thinnest sharp one.
const HAIR: Px = Px::whole(1);
/// Height of the row of flags, in px. A picture without notes has no such row. The number has no source.
pub const FLAGS_ROW: Px = Px::whole(22);
/// Height of a flag and its least width, in px: room for a short number. On the page a longer number makes the flag
/// wider; a saved picture numbers only 40 notes. The number has no other source.
pub(crate) const FLAG: Px = Px::whole(14);
/// Least distance between two flags, in px. Nearer flags push each other apart. The number has no source.
const APART: Px = Px::whole(2);
/// Height of the line over a note's time span, and its distance from the row's foot, in px. The numbers have no
/// source.
const SPAN: (Px, Px) = (Px::whole(2), Px::whole(1));
/// Font size of the numbers on flags, in px, so that they fit. The number has no other source.
const NUMBER_SIZE: u8 = 10;
/// Least distance of a flag from the row's left and right edge, in px. The ring of the selected flag reaches 2 px
/// beyond the flag, so it is drawn whole.
const MARGIN: Px = Px::whole(2);
/// Distance beside a flag, in px, up to which a click still selects it: included at the left, excluded at the right.
/// The number has no source.
const REACH: Px = Px::whole(2);

/// A viewer's note, as the picture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagMark {
    /// The note's rank among all notes by time, from 1, which its flag shows. `None` while the note is being written;
    /// its flag then shows `+`.
    pub number: Option<u32>,
    /// Start of the time span that the note is about.
    pub from: Time,
    /// End of the note's time span, included; the same as `from` for a note about a moment.
    pub to: Time,
    /// Whether the viewer has selected the note.
    pub is_selected: bool,
}

/// The notes of a picture, and the place of their row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flagged<'a> {
    /// The notes by rising `from`, as many as the caller holds. Without notes, no row of flags is drawn.
    pub marks: &'a [FlagMark],
    /// Top of the row of flags, in the ruler's scene.
    pub top: Px,
}

/// A flag and its position.
struct Placed {
    /// Left and right edge of the flag, from the left edge of the row.
    xs: (Px, Px),
    /// Index of the note that the flag belongs to. For a flag that counts notes without room, the index of the first of
    /// these notes.
    mark: usize,
    /// The words on the flag.
    words: String,
}

impl FlagMark {
    /// Returns the words on the note's flag.
    fn words(&self) -> String {
        let words = self.number.map(|place| number(u64::from(place)));
        words.unwrap_or_else(|| "+".to_owned())
    }
}

/// Returns the index of the mark whose flag stands at `x`, or within 2 px of it; of two flags, that of the left one.
/// Returns `None` if no flag does. For the flag that counts marks without room, it returns the first of these marks.
/// `x` is in px from the left edge of the view. Notes that begin after `now` or lie out of view have no flag.
#[must_use]
pub fn flag_at(flagged: Flagged<'_>, view: &View, now: Time, x: Px) -> Option<usize> {
    let placed = placed(flagged.marks, view, now);
    let holds = |flag: &&Placed| flag.xs.0 - REACH <= x && x < flag.xs.1 + REACH;
    placed.iter().find(holds).map(|flag| flag.mark)
}

/// Returns the middles of flags, in the order of `wanted`, so that no two flags overlap. Each pair of `wanted` has a
/// flag's wanted middle and its width. All flags stand between `from` and `to` if that has room for them.
pub(crate) fn spread(wanted: &[(Px, Px)], (from, to): (Px, Px)) -> Vec<Px> {
    let mut free = from;
    let mut middles: Vec<Px> = Vec::with_capacity(wanted.len());
    for &(middle, width) in wanted {
        let left = (middle - width.half()).max(free);
        middles.push(left + width.half());
        free = left + width + APART;
    }
    // Flags too far to the right push those before them back.
    let mut free = to;
    for (middle, &(_, width)) in middles.iter_mut().zip(wanted).rev() {
        let right = (*middle + width.half()).min(free);
        *middle = right - width.half();
        free = right - width - APART;
    }
    middles
}

/// Returns the flags of a view without overlap. If not all flags fit, the last one counts the notes without a flag:
/// `+3`.
fn placed(marks: &[FlagMark], view: &View, now: Time) -> Vec<Placed> {
    let width = Px::from_f64(view.width_px);
    let (left, right) = (view.left(), view.right().min(now));
    let is_shown = |mark: &FlagMark| mark.from <= right && left <= mark.to;
    let shown = marks.iter().enumerate().filter(|(_, mark)| is_shown(mark));
    let mut flags: Vec<Placed> = shown
        .map(|(place, mark)| {
            let words = mark.words();
            // A note that began before the view has its flag at the left edge.
            let middle = view.x(mark.from).max(Px::ZERO);
            let half = width_of(&words).half();
            Placed {
                xs: (middle - half, middle + half),
                mark: place,
                words,
            }
        })
        .collect();
    let all = flags.len();
    let room = width - MARGIN - MARGIN + APART;
    let (mut fit, mut used) = (0, Px::ZERO);
    while let Some(flag) = flags.get(fit) {
        let with = used + (flag.xs.1 - flag.xs.0) + APART;
        if with > room {
            break;
        }
        (fit, used) = (fit + 1, with);
    }
    if fit < all {
        let more = width_of(&format!("+{all}")) + APART;
        while fit > 0 && used + more > room {
            let flag = &flags[fit - 1];
            used = used - (flag.xs.1 - flag.xs.0) - APART;
            fit -= 1;
        }
        flags.truncate(fit + 1);
        if let Some(last) = flags.last_mut() {
            last.words = format!("+{}", all - fit);
            last.xs.1 = last.xs.0 + width_of(&last.words);
        }
    }
    let wanted: Vec<(Px, Px)> = flags
        .iter()
        .map(|flag| {
            let width = flag.xs.1 - flag.xs.0;
            (flag.xs.0 + width.half(), width)
        })
        .collect();
    let middles = spread(&wanted, (MARGIN, width - MARGIN));
    for (flag, (middle, (_, width))) in flags.iter_mut().zip(middles.into_iter().zip(wanted)) {
        let x = (middle - width.half()).floor();
        flag.xs = (x, x + width);
    }
    flags
}

fn width_of(words: &str) -> Px {
    let width = text_width(words, NUMBER_SIZE, 600) + Px::whole(6);
    // An even number of px, so that no edge is blurred.
    Px::whole((width.max(FLAG).to_f64() / 2.0) as i32 * 2)
}

/// Draws the row of flags, over a marked range and the pen; draws nothing if there are no notes.
pub(crate) fn draw(
    scene: &mut Scene,
    view: &View,
    Flagged { marks, top }: Flagged<'_>,
    now: Time,
    (as_of, range): (Option<Time>, Option<(Time, Time)>),
) {
    if marks.is_empty() {
        return;
    }
    let (width, foot) = (scene.width, top + FLAGS_ROW);
    scene.height = scene.height.max(foot);
    let mut rect = |(x0, x1): (Px, Px), (y0, y1): (Px, Px), ink: Token, opacity: u8| {
        let (x0, x1) = (x0.max(Px::ZERO), x1.min(width));
        if x0 < x1 {
            scene.primitives.push(Primitive::Rect {
                area: Area::between(x0, x1, y0, y1),
                fill: Some(ink),
                stroke: None,
                radius: 0,
                opacity,
            });
        }
    };
    let row = (top, foot);
    let pen = view.x(now).floor();
    rect((Px::ZERO, width), row, Token::Ground0, 100);
    rect((pen, width), row, Token::Ground1, 100);
    rect((Px::ZERO, width), (foot - HAIR, foot), Token::Line1, 100);
    if let Some((from, to)) = range {
        let xs = (view.x(from).floor(), view.x(to).floor());
        rect(xs, row, Token::Text1, RANGE_GROUND);
    }
    rect((pen, pen + HAIR), row, Token::Text1, 80);
    if let Some(at) = as_of {
        let x = view.x(at).floor();
        rect((x, x + HAIR), row, Token::Text1, 100);
    }
    let shown_to = now.min(view.right());
    for mark in marks.iter().filter(|mark| mark.from <= shown_to) {
        let bottom = foot - SPAN.1;
        if mark.from < mark.to {
            let xs = (view.x(mark.from).floor(), view.x(mark.to.min(now)).floor());
            let ink = if mark.is_selected {
                Token::Text1
            } else {
                Token::Text2
            };
            rect(xs, (bottom - SPAN.0, bottom), ink, 100);
        }
    }
    let y = top + (FLAGS_ROW - FLAG).half() - HAIR;
    for flag in placed(marks, view, now) {
        let mark = &marks[flag.mark];
        plate(scene, flag, y, mark);
    }
}

/// Draws a flag: filled, or hollow while its note is being written. The selected note's flag has a ring.
fn plate(scene: &mut Scene, flag: Placed, y: Px, mark: &FlagMark) {
    let area = Area::between(flag.xs.0, flag.xs.1, y, y + FLAG);
    let (fill, ink, stroke) = match mark.number {
        Some(_) => (Token::Text1, Token::Ground0, None),
        None => (Token::Ground0, Token::Text1, Some(Token::Text1)),
    };
    let inside = HAIR.half();
    let inset = |area: Area, by: Px| {
        Area::between(
            area.x + by,
            area.right() - by,
            area.y + by,
            area.bottom() - by,
        )
    };
    let mut rect = |area: Area, fill: Option<Token>, stroke: Option<Token>| {
        scene.primitives.push(Primitive::Rect {
            area,
            fill,
            stroke: stroke.map(|ink| Stroke::solid(ink, HAIR)),
            radius: 2,
            opacity: 100,
        });
    };
    if mark.is_selected && mark.number.is_some() {
        rect(
            inset(area, Px::ZERO - HAIR - inside),
            None,
            Some(Token::Select),
        );
    }
    let area_of_plate = if stroke.is_some() {
        inset(area, inside)
    } else {
        area
    };
    rect(area_of_plate, Some(fill), stroke);
    scene.primitives.push(Primitive::Text(TextLine {
        x: area.x + area.w.half(),
        y: y + FLAG.half() + Px(226),
        text: flag.words,
        size: NUMBER_SIZE,
        weight: 600,
        ink,
        halo: None,
        align: Align::Middle,
        max_width: None,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: u32, from: i64, to: i64) -> FlagMark {
        FlagMark {
            number: Some(number),
            from: Time(from),
            to: Time(to),
            is_selected: false,
        }
    }

    fn view() -> View {
        View::between(Time(0), Time(1_000_000), 200.0)
    }

    fn words(marks: &[FlagMark]) -> Vec<String> {
        let placed = placed(marks, &view(), Time(1_000_000));
        assert!(
            placed
                .windows(2)
                .all(|pair| pair[0].xs.1 + APART <= pair[1].xs.0),
            "they overlap"
        );
        assert!(placed.iter().all(|flag| flag.xs.0 >= Px::ZERO));
        assert!(placed.iter().all(|flag| flag.xs.1 <= Px::whole(200)));
        placed.into_iter().map(|flag| flag.words).collect()
    }

    #[test]
    fn flags_move_right_of_those_before_them_and_left_of_those_after_them_at_the_edge() {
        let middles = |wanted: &[i32]| -> Vec<f64> {
            let wanted: Vec<(Px, Px)> = wanted.iter().map(|&x| (Px::whole(x), FLAG)).collect();
            let spread = spread(&wanted, (Px::ZERO, Px::whole(200)));
            spread.into_iter().map(Px::to_f64).collect()
        };
        assert_eq!(middles(&[50, 100]), [50.0, 100.0]);
        assert_eq!(middles(&[50, 51, 60, 120]), [50.0, 66.0, 82.0, 120.0]);
        assert_eq!(middles(&[0, 180, 199, 200]), [7.0, 161.0, 177.0, 193.0]);
    }

    #[test]
    fn only_notes_about_the_view_have_flags_and_an_earlier_begin_has_it_at_the_edge() {
        let marks = [
            mark(1, -90, -80),
            mark(2, -70, 500_000),
            mark(3, 800_000, 800_000),
            mark(4, 2_000_000, 2_000_000),
        ];
        assert_eq!(words(&marks), ["2", "3"]);
        let placed = placed(&marks, &view(), Time(700_000));
        assert_eq!(placed.len(), 1, "what a recording has not come to yet");
    }

    #[test]
    fn flags_that_find_no_room_are_counted_on_the_last() {
        let marks: Vec<FlagMark> = (1..=40)
            .map(|number| mark(number, 500_000, 500_000))
            .collect();
        let words = words(&marks);
        let last = words.last().unwrap().strip_prefix('+').unwrap();
        let more: usize = last.parse().unwrap();
        assert_eq!(words.len() - 1 + more, 40);
        assert_eq!(words[0], "1");
    }
}
