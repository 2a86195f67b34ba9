//! Seams: the time between two runs of watchscope, in which nobody watched, and what was open when it began.

use watchscope_model::Time;

use super::drawer::{Drawer, EpochView};
use super::look::{HAIR, Layer, SPILL, TextLook};
use crate::format::{clock, duration, text_width};
use crate::scene::{Area, Primitive, Px, Step, Stroke};
use crate::store::Span;
use crate::tokens::Token;

/// The lines at the edges of a seam stand this far apart where it is narrower.
const LEAST: Px = Px::whole(4);
/// What the words keep clear of at both sides.
const MARGIN: Px = Px::whole(8);
/// A page has room for words beside a seam where it is this wide.
const PLATE_FROM: Px = Px::whole(600);
/// What a seam says where the namespace `kube-system` has another uid behind it.
const ANOTHER_CLUSTER: &str = "another cluster";
/// From line to line.
const LINE_HEIGHT: i32 = 16;
/// The dots in which something ends that was open: where each is, and how strong it is in percent.
const DOTS: [(i32, u8); 3] = [(3, 90), (8, 60), (13, 30)];

impl Drawer<'_> {
    /// Draws a seam over all lanes: nothing is drawn in it, not even the grid.
    pub(crate) fn seam(&mut self, from: Time, to: Time) {
        let height = (Px::ZERO, self.picture.height);
        let start = self.x(from).floor();
        let end = self.x(to).floor().max(start + LEAST);
        self.fill(Layer::Cover, (start, end), height, Token::Ground1);
        for x in [start, end] {
            let line = [Step::Move(x, height.0), Step::Line(x, height.1)];
            let dots = Stroke::dashed(Token::Text2, Px::whole(2), 2, 2);
            self.stroke(Layer::Cover, &line, dots);
        }
        // Of a seam that reaches out of the view the words stand in what is seen.
        let shown = (start.max(Px::ZERO), end.min(self.width));
        self.seam_words(shown, from, to);
    }

    /// Says when nobody watched: inside if there is room, else on a plate behind the seam.
    fn seam_words(&mut self, (start, end): (Px, Px), from: Time, to: Time) {
        let times = (clock(from), clock(to));
        let lasted = duration(to.micros_since(from));
        let facts = self.picture.store.seam_at(from);
        let other = facts.is_another_cluster.then_some(ANOTHER_CLUSTER);
        let plate = |words: String| match other {
            Some(other) => format!("{words}, {other}"),
            None => words,
        };
        if from >= to {
            let words = match facts.clock_back_us {
                0 => "restarted".to_owned(),
                back_us => format!("restarted, clock {} back", duration(back_us)),
            };
            self.plate(end, &plate(words));
            return;
        }
        let mut forms = [
            vec![
                "watchscope restarted".to_owned(),
                format!("{} – {}", times.0, times.1),
                format!("not watched for {lasted}"),
            ],
            vec![
                "restarted".to_owned(),
                format!("{} –", times.0),
                times.1.clone(),
                lasted.clone(),
            ],
        ];
        for lines in &mut forms {
            lines.extend(other.map(str::to_owned));
        }
        for lines in forms {
            let widest = widest(&lines);
            if end - start >= widest + MARGIN + MARGIN {
                let x = start + (end - start - widest).half();
                self.lines(x, &lines, Token::Ground1);
                return;
            }
        }
        self.plate(end, &plate(format!("restarted {} – {}", times.0, times.1)));
    }

    /// Words on a plate behind a seam.
    fn plate(&mut self, end: Px, words: &str) {
        let line = words.to_owned();
        let width = widest(std::slice::from_ref(&line));
        let x = end + MARGIN;
        // On a narrow page names stand on their lanes, where the plate would lie.
        if x + width > self.width || self.width < PLATE_FROM {
            return;
        }
        let plate = (x - Px::whole(4), x + width + Px::whole(4));
        let ys = (Px::whole(4), Px::whole(22));
        self.push(
            Layer::Cover,
            Primitive::Rect {
                area: Area::between(plate.0, plate.1, ys.0, ys.1),
                fill: Some(Token::Ground1),
                stroke: Some(Stroke::solid(Token::Line2, HAIR)),
                radius: 2,
                opacity: 100,
            },
        );
        self.lines(x, &[line], Token::Ground1);
    }

    fn lines(&mut self, x: Px, lines: &[String], ground: Token) {
        for (place, line) in (0..).zip(lines) {
            let look = if place == 0 {
                TextLook::strong(Token::Text1)
            } else {
                TextLook::plain(Token::Text2)
            };
            let y = Px::whole(LINE_HEIGHT + LINE_HEIGHT * place);
            self.write(Layer::Cover, x, y, line.clone(), look.over(ground));
        }
    }

    /// What was open when a run ended, ends in three fading dots: that it is not known further is no end.
    pub(super) fn trails_off<T>(
        &mut self,
        epoch: EpochView<'_>,
        span: &Span<T>,
        y: Px,
        ink: Token,
    ) {
        let is_known_to_the_end = span.end.is_none() && span.until >= epoch.end;
        if let Some(records) = self.picture.records
            && !epoch.is_live
            && is_known_to_the_end
        {
            (records.trail)(self, self.x(epoch.end), y, ink);
        }
    }

    /// Draws these dots behind x.
    pub(crate) fn trail(&mut self, x: Px, y: Px, ink: Token) {
        if x < -SPILL || x > self.width {
            return;
        }
        for (dx, percent) in DOTS {
            let from = x + Px::whole(dx);
            let area = Area::between(from, from + Px::whole(2), y, y + Px::whole(2));
            self.push(
                Layer::Cover,
                Primitive::Rect {
                    area,
                    fill: Some(ink),
                    stroke: None,
                    radius: 0,
                    opacity: percent,
                },
            );
        }
    }
}

fn widest(lines: &[String]) -> Px {
    let widths = lines.iter().map(|line| text_width(line, 11, 600));
    widths.max().unwrap_or_default()
}
