//! Draws seams: the time between two runs of watchscope, in which nobody watched, and the ends of stretches that were
//! open when a run ended.

use watchscope_model::Time;

use super::drawer::{Drawer, EpochView};
use super::look::{HAIR, Layer, SPILL, TextLook};
use crate::format::{clock, duration, text_width};
use crate::scene::{Area, Primitive, Px, Step, Stroke};
use crate::store::Span;
use crate::tokens::Token;

/// Least distance in px between the middles of the two lines of a seam, which are 2 px wide, so that both show. A
/// narrower seam is drawn this wide. The number has no other source.
const LEAST: Px = Px::whole(4);
/// Distance in px that the words keep from both sides. Words that cannot keep this distance get a shorter form. If that
/// does not fit either, they stand on a plate, at this distance right of the seam. The number has no source.
const MARGIN: Px = Px::whole(8);
/// Least width of the lanes on screen, in px, for words on a plate beside a seam. On narrower lanes names stand where
/// the plate would lie, so no plate is drawn. The number has no source.
const PLATE_FROM: Px = Px::whole(600);
/// Words at a seam after which the namespace `kube-system` has another uid. By convention that uid identifies a cluster
/// (`cluster.connected` in docs/design/formats.md).
const ANOTHER_CLUSTER: &str = "another cluster";
/// Distance in px from line to line of the words in a seam, and of the first line from the top. The font of these words
/// has 11 px. The number has no other source.
const LINE_HEIGHT: i32 = 16;
/// The dots after a stretch that was open at the end of its run: offset in px, and opacity in percent. The dots fade,
/// because the stretch's real end is unknown. The numbers have no source.
const DOTS: [(i32, u8); 3] = [(3, 90), (8, 60), (13, 30)];

impl Drawer<'_> {
    /// Draws a seam over all lanes. Nothing else is drawn in a seam, not even the grid.
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
        // If a seam reaches out of the view, its words stand in the part that is in view.
        let shown = (start.max(Px::ZERO), end.min(self.width));
        self.seam_words(shown, from, to);
    }

    /// Writes when nobody watched: in the seam if there is room, else on a plate right of it.
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

    /// Writes words on a plate right of a seam.
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

    /// Draws three fading dots after a stretch that was still open when its run of watchscope ended: the stretch's real
    /// end is unknown.
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

    /// Draws the fading dots of an open stretch, right of x.
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
