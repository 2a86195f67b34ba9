//! Draws numbered flags for notes: a row of flags below the ruler, and the notes' texts below the legend.

use watchscope_model::Time;

use super::page::{Cut, EDGE, Look, Page, shortened, spared};
use crate::draw::{FLAG, spread};
use crate::format::{clock, text_width};
use crate::scene::{Align, Area, Primitive, Px, Step, Stroke};
use crate::tokens::Token;
use crate::view::View;

/// Most notes of a saved picture that have a flag and a text, so that the picture stays a page: the first notes by
/// time. Further notes are only counted. The number has no source.
pub const FLAGS_MOST: usize = 40;
/// Most lines of a note's text in a picture, without its heading and place, so that one note does not fill the picture.
/// The last drawn line of a longer text ends with `…`. The number has no source.
const LINES_MOST: usize = 8;
/// Height of the row of flags, in px: that of a flag, 14 px, and 8 px of space. The space has no source.
const ROW: Px = Px::whole(22);
/// Least width of a column of texts, in px. As many columns are drawn as fit, at least one and at most four. A narrower
/// picture has one narrower column. The number has no source.
const COLUMN: i32 = 300;
/// Height of a line of a note's text, in px. The font of the text has 11 px. The number has no other source.
const LINE: i32 = 14;
/// Where a note's text begins, in px from the left of its column: right of the note's flag of 14 px. The number has no
/// other source.
const INDENT: Px = Px::whole(22);

/// A note in a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Start of the time span that the note is about.
    pub from: Time,
    /// End of the time span that the note is about; `from` or earlier for a note about a moment.
    pub to: Time,
    /// The note's first line. If it does not fit, it is cut and ends with `…`. Hostile: show as text.
    pub heading: String,
    /// The note's other lines; may be empty. At most 8 lines are drawn; `…` ends a text that is longer. Hostile: show
    /// as text.
    pub text: String,
    /// What the note is about: a watch, an object or both; empty: the whole log. A longer text is shortened in its
    /// middle to one line. Hostile: show as text.
    pub place: String,
}

/// The flags of a picture, measured. A flag's number is its index plus 1.
pub(super) struct Flags<'a> {
    flags: &'a [Flag],
    /// How many notes are left out beyond the [`FLAGS_MOST`] that are drawn.
    more: usize,
    columns: Vec<Vec<Text<'a>>>,
    column_width: Px,
}

/// A note's text, broken into lines.
struct Text<'a> {
    number: usize,
    flag: &'a Flag,
    lines: Vec<String>,
}

impl<'a> Flags<'a> {
    /// Measures the flags and texts for a picture of this width.
    pub(super) fn new(flags: &'a [Flag], width: Px) -> Self {
        let more = flags.len().saturating_sub(FLAGS_MOST);
        let flags = &flags[..flags.len() - more];
        let room = width - EDGE - EDGE;
        let count = (room.0 / Px::whole(COLUMN).0).clamp(1, 4);
        let column_width = Px(room.0 / count);
        let mut columns: Vec<Vec<Text<'a>>> = (0..count).map(|_| Vec::new()).collect();
        for (place, flag) in flags.iter().enumerate() {
            let text = Text {
                number: place + 1,
                flag,
                lines: broken(&flag.text, column_width - INDENT - Px::whole(16)),
            };
            columns[place % count as usize].push(text);
        }
        Self {
            flags,
            more,
            columns,
            column_width,
        }
    }

    /// Returns the height of the row of flags; zero without flags.
    pub(super) fn row_height(&self) -> Px {
        if self.flags.is_empty() { Px::ZERO } else { ROW }
    }

    /// Returns the height of all notes' texts; zero without flags.
    pub(super) fn texts_height(&self) -> Px {
        if self.flags.is_empty() {
            return Px::ZERO;
        }
        let heights = self.columns.iter().map(|texts| {
            let lines: usize = texts.iter().map(Text::lines).sum();
            LINE * lines as i32 + 6 * texts.len() as i32
        });
        let more = if self.more > 0 { LINE } else { 0 };
        Px::whole(28 + heights.max().unwrap_or(0) + more)
    }
}

impl Text<'_> {
    /// Returns the number of lines of the note's text, heading and place included.
    fn lines(&self) -> usize {
        1 + usize::from(!self.flag.place.is_empty()) + self.lines.len()
    }
}

impl Page {
    /// Draws the row of flags at `top`, and dotted lines from the row down to `bottom`.
    pub(super) fn flags(&mut self, flags: &Flags<'_>, view: &View, (top, bottom): (Px, Px)) {
        if flags.flags.is_empty() {
            return;
        }
        let lanes_x = self.edge + self.tree_width;
        let right = self.scene.width - self.edge;
        let name = Look {
            weight: 600,
            ..Look::small(Token::Text1)
        };
        let baseline = top + ROW.half() + Px::whole(4);
        self.text(self.edge + Px::whole(6), baseline, "Notes", name);
        self.line(self.edge, right, top + ROW, Token::Line1);
        let x_of = |at: Time| {
            let x = view.x(at.max(view.left()).min(view.right()));
            (lanes_x + x).max(lanes_x).min(right)
        };
        // Flags push each other aside; their dotted lines stay at their time.
        let wanted = flags.flags.iter().map(|flag| (x_of(flag.from), FLAG));
        let wanted: Vec<(Px, Px)> = wanted.collect();
        let middles = spread(&wanted, (lanes_x - FLAG.half(), right));
        for (place, (flag, middle)) in flags.flags.iter().zip(middles).enumerate() {
            let (from_x, to_x) = (x_of(flag.from), x_of(flag.to));
            if to_x > from_x {
                let foot = Area {
                    x: from_x,
                    y: top + ROW - Px::whole(3),
                    w: to_x - from_x,
                    h: Px::whole(2),
                };
                self.fill(foot, Token::Text2);
            }
            let steps = [Step::Move(from_x, top + ROW), Step::Line(from_x, bottom)];
            let steps = self.scene.path(&steps);
            self.scene.primitives.push(Primitive::Path {
                steps,
                fill: None,
                stroke: Some(Stroke::dashed(Token::Text2, Px::whole(1), 1, 3)),
                opacity: 100,
            });
            self.flag(middle, top + ROW.half() - Px::whole(1), place + 1);
        }
    }

    /// Draws a flag with its middle at `x`.
    fn flag(&mut self, x: Px, y: Px, number: usize) {
        let number = number.to_string();
        let area = Area {
            x: x - FLAG.half(),
            y: y - FLAG.half(),
            w: FLAG,
            h: FLAG,
        };
        self.scene.primitives.push(Primitive::Rect {
            area,
            fill: Some(Token::Text1),
            stroke: None,
            radius: 2,
            opacity: 100,
        });
        let look = Look {
            size: 10,
            weight: 600,
            ink: Token::Ground0,
            align: Align::Middle,
        };
        self.text(x, y + Px::whole(4), number, look);
    }

    /// Draws the texts of the notes from `top` down.
    pub(super) fn flag_texts(&mut self, flags: &Flags<'_>, top: Px) {
        if flags.flags.is_empty() {
            return;
        }
        let bold = Look {
            weight: 600,
            ..Look::small(Token::Text1)
        };
        self.text(EDGE, top + Px::whole(18), "Notes", bold);
        let mut x = EDGE;
        let mut lowest = top;
        for texts in &flags.columns {
            let mut y = top + Px::whole(38);
            let room = flags.column_width - INDENT - Px::whole(16);
            for text in texts {
                self.flag(x + FLAG.half(), y - Px::whole(4), text.number);
                let time = clock(text.flag.from);
                let time_width = spared(text_width(&time, 11, 400)) + Px::whole(6);
                self.text(x + INDENT, y, time, Look::small(Token::Text2));
                let heading = shortened(&text.flag.heading, room - time_width, 600, Cut::End);
                self.text(x + INDENT + time_width, y, heading, bold);
                let place = Some(&text.flag.place).filter(|place| !place.is_empty());
                let place = place.map(|place| shortened(place, room, 400, Cut::Middle));
                for line in place.iter().chain(&text.lines) {
                    y = y + Px::whole(LINE);
                    self.text(x + INDENT, y, line.clone(), Look::small(Token::Text2));
                }
                y = y + Px::whole(LINE + 6);
            }
            lowest = lowest.max(y);
            x = x + flags.column_width;
        }
        if flags.more > 0 {
            let words = format!(
                "and {} more",
                crate::format::count(flags.more as u64, "note")
            );
            self.text(EDGE, lowest, words, Look::small(Token::Text2));
        }
    }
}

/// Breaks a text into lines that fit, between words if possible. A text of too many lines is cut at its end.
fn broken(text: &str, room: Px) -> Vec<String> {
    let fits = |line: &str| spared(text_width(line, 11, 400)) <= room;
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let longer = match line.is_empty() {
                true => word.to_owned(),
                false => format!("{line} {word}"),
            };
            if line.is_empty() || fits(&longer) {
                line = longer;
            } else {
                lines.push(std::mem::replace(&mut line, word.to_owned()));
            }
            if lines.len() > LINES_MOST {
                break;
            }
        }
        lines.push(line);
    }
    let is_cut = lines.len() > LINES_MOST;
    lines.truncate(LINES_MOST);
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        last.push_str(" …");
    }
    // A single word may be wider than the room.
    lines
        .iter()
        .map(|line| shortened(line, room, 400, Cut::End))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    fn flag(from: i64, to: i64) -> Flag {
        Flag {
            from: Time(from),
            to: Time(to),
            heading: "heading".to_owned(),
            text: String::new(),
            place: String::new(),
        }
    }

    #[test]
    fn a_text_is_broken_between_words_and_cut_where_it_is_too_long() {
        let room = Px::whole(120);
        let lines = broken("one two three four five six seven\n\neight", room);
        assert!(
            lines.len() > 2 && lines[0].starts_with("one two"),
            "{lines:?}"
        );
        assert_eq!(lines.last().map(String::as_str), Some("eight"));
        for line in broken(&"word ".repeat(500), room) {
            assert!(spared(text_width(&line, 11, 400)) <= room, "{line}");
        }
        let long = broken(&"word ".repeat(500), room);
        assert_eq!(long.len(), LINES_MOST);
        assert!(long.last().unwrap().ends_with('…'));
        assert!(broken(&"x".repeat(4_096), room)[0].ends_with('…'));
        assert_eq!(broken(" \n", room), Vec::<String>::new());
    }

    #[test]
    fn flags_do_not_overlap_and_their_lines_stay_where_the_time_is() {
        let view = View::between(Time(0), Time(1_000_000), 600.0);
        let mut page = Page {
            scene: Scene {
                width: EDGE + Px::whole(200 + 600) + EDGE,
                ..Scene::default()
            },
            edge: EDGE,
            tree_width: Px::whole(200),
        };
        let all = [
            flag(500_000, 500_000),
            flag(500_100, 700_000),
            flag(500_200, 500_200),
        ];
        let flags = Flags::new(&all, page.scene.width);
        page.flags(&flags, &view, (Px::ZERO, Px::whole(100)));
        let Scene {
            primitives, steps, ..
        } = &page.scene;
        let plates: Vec<Px> = primitives
            .iter()
            .filter_map(|primitive| match primitive {
                Primitive::Rect { area, .. } if area.w == FLAG => Some(area.x),
                _ => None,
            })
            .collect();
        assert_eq!(plates.len(), 3);
        assert!(
            plates.windows(2).all(|pair| pair[1] - pair[0] >= FLAG),
            "{plates:?}"
        );
        let lines = steps.iter().filter_map(|step| match step {
            Step::Move(x, _) => Some(*x),
            _ => None,
        });
        let lines_x = EDGE + Px::whole(200);
        let at: Vec<Px> = all.iter().map(|flag| lines_x + view.x(flag.from)).collect();
        assert_eq!(lines.collect::<Vec<Px>>(), at);
        assert_eq!(Flags::new(&[], page.scene.width).row_height(), Px::ZERO);
        let many = vec![flag(0, 0); FLAGS_MOST + 3];
        assert_eq!(Flags::new(&many, page.scene.width).more, 3);
    }
}
