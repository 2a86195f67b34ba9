//! Draws the areas behind and over all rows: the grid, stretches that are unknown, the pen.

use watchscope_model::Time;

use super::drawer::Drawer;
use super::look::{HAIR, LEAST, Layer, TextLook};
use crate::format::{clock, text_width};
use crate::scene::{Align, Hatch, Px, Step, Stroke};
use crate::store::Coverage;
use crate::tokens::Token;

/// Least width, in px, for words in a stretch without loaded records, and in the time before the first log. Words also
/// need their own width and 16 px more. A narrower stretch gets no words. The number has no source.
const WORDS_FROM: Px = Px::whole(100);
/// Words in the time before the first log, if they fit.
const BEFORE_WORDS: &str = "before watchscope started";
/// Words in a pause of watchscope, the longest first. The first that fit are written; nothing is written if neither
/// fits.
const PAUSE_WORDS: [&str; 2] = ["watchscope did not run", "did not run"];

impl Drawer<'_> {
    /// Draws vertical lines at the ruler's labelled ticks.
    pub(super) fn grid(&mut self) {
        let view = self.picture.view;
        // Nothing is known of the time before the first log, so the grid begins with that log.
        let begins = self.coverage.first().map(|first| first.from);
        let before = begins
            .filter(|&begins| begins > Time(0))
            .map(|begins| (Px::ZERO, self.x(begins).floor().min(self.width)));
        if let Some(xs) = before {
            let height = (Px::ZERO, self.picture.height);
            self.fill(Layer::Ground, xs, height, Token::Ground1);
        }
        let (step, _) = view.tick_steps();
        let (left, right) = (view.left().0, view.right().0.min(self.picture.now.0));
        let mut at = left.div_euclid(step) * step;
        while at <= right {
            let x = self.x(Time(at)).floor();
            if x >= Px::ZERO {
                self.fill(
                    Layer::Grid,
                    (x, x + HAIR),
                    (Px::ZERO, self.picture.height),
                    Token::Line1,
                );
            }
            at += step;
        }
        if let Some(xs) = before {
            let (ink, ground) = (Token::Text3, Token::Ground1);
            self.words_in(Layer::Gap, xs, BEFORE_WORDS, ink, ground);
        }
    }

    /// Covers the stretches whose records are absent or incomplete. The cover hides everything drawn there.
    pub(super) fn covers(&mut self) {
        let height = (Px::ZERO, self.picture.height);
        for stretch in std::mem::take(&mut self.coverage) {
            if stretch.coverage == Coverage::Loaded
                || stretch.to <= self.left
                || stretch.from >= self.right
            {
                continue;
            }
            let xs = (
                self.x(stretch.from).max(Px::ZERO),
                self.x(stretch.to).min(self.width),
            );
            let words = match stretch.coverage {
                Coverage::NotLoaded => {
                    self.fill(Layer::Cover, xs, height, Token::Ground0);
                    self.hatch(
                        Layer::Cover,
                        (self.x(stretch.from), xs.1),
                        height,
                        Hatch::NotLoaded,
                    );
                    "not loaded yet"
                }
                Coverage::Expired | Coverage::Dropped => {
                    self.fill(Layer::Cover, xs, height, Token::Expired);
                    let edge = xs.1.floor() - HAIR.half();
                    let line = [Step::Move(edge, height.0), Step::Line(edge, height.1)];
                    self.stroke(
                        Layer::Cover,
                        &line,
                        Stroke::dashed(Token::Line3, HAIR, 3, 3),
                    );
                    if stretch.coverage == Coverage::Expired {
                        "expired"
                    } else {
                        "dropped by this page"
                    }
                }
                Coverage::Lost => {
                    self.fill(Layer::Cover, xs, height, Token::Ground0);
                    self.hatch(
                        Layer::Cover,
                        (self.x(stretch.from), xs.1.max(xs.0 + LEAST)),
                        height,
                        Hatch::Own,
                    );
                    "lost by watchscope"
                }
                Coverage::Seam => {
                    // Without the table of records only one run is known, so there is no seam to draw.
                    if let Some(records) = self.picture.records {
                        (records.seam)(self, stretch.from, stretch.to);
                    }
                    continue;
                }
                Coverage::Loaded => "",
            };
            let (ink, ground) = match stretch.coverage {
                Coverage::NotLoaded => (Token::Text2, Token::Ground0),
                _ => (Token::Text3, Token::Expired),
            };
            self.words_in(Layer::Cover, xs, words, ink, ground);
            if matches!(stretch.coverage, Coverage::Expired | Coverage::Dropped)
                && stretch.to < self.right
            {
                let kept = format!("kept from {}", clock(stretch.to));
                let y = self.picture.height.half() + Px::whole(20);
                self.words_at(Layer::Cover, xs, y, &kept, (ink, ground));
            }
        }
        self.pauses(height);
    }

    /// Covers the pauses in which watchscope did not run, over all lanes.
    fn pauses(&mut self, height: (Px, Px)) {
        for epoch in self.epochs.clone() {
            for pause in &epoch.trace.pauses {
                let (since, until) = (pause.since(), pause.moment.at);
                if until <= self.left || since >= self.right {
                    continue;
                }
                let (start, end) = (self.x(since), self.x(until));
                let xs = (start.max(Px::ZERO), end.min(self.width).max(start + LEAST));
                // The fill is that of the time before watchscope started.
                self.fill(Layer::Cover, xs, height, Token::Ground1);
                for edge in [start.floor(), xs.1.floor()] {
                    let line = [Step::Move(edge, height.0), Step::Line(edge, height.1)];
                    let dashes = Stroke::dashed(Token::Line3, HAIR, 3, 3);
                    self.stroke(Layer::Cover, &line, dashes);
                }
                let room = xs.1 - xs.0 - Px::whole(16);
                let words = PAUSE_WORDS
                    .iter()
                    .find(|words| text_width(words, 11, 400) <= room);
                if let Some(words) = words {
                    let look = TextLook::plain(Token::Text2).over(Token::Ground1);
                    let y = self.picture.height.half() + Px::whole(4);
                    self.write(Layer::Cover, xs.0 + Px::whole(8), y, *words, look);
                }
            }
        }
    }

    fn words_in(&mut self, layer: Layer, xs: (Px, Px), words: &str, ink: Token, ground: Token) {
        let y = self.picture.height.half() + Px::whole(4);
        self.words_at(layer, xs, y, words, (ink, ground));
    }

    /// Writes a line of text at the end of a stretch. At the end, the text is clear of the names that stand on the
    /// lanes of a narrow page.
    fn words_at(
        &mut self,
        layer: Layer,
        (x0, x1): (Px, Px),
        y: Px,
        words: &str,
        (ink, ground): (Token, Token),
    ) {
        let width = text_width(words, 11, 400);
        if words.is_empty() || x1 - x0 < WORDS_FROM.max(width + Px::whole(16)) {
            return;
        }
        let look = TextLook::plain(ink).over(ground).aligned(Align::End);
        self.write(layer, x1 - Px::whole(12), y, words, look);
    }

    /// Draws the pen, the vertical line at the current time, and the ground to the right of it.
    pub(super) fn pen(&mut self) {
        let x = self.x(self.picture.now);
        if x >= self.width {
            return;
        }
        let (x, height) = (x.max(-HAIR).floor(), (Px::ZERO, self.picture.height));
        let beyond = (x, self.width);
        self.fill(Layer::Pen, beyond, height, Token::Ground1);
        if !self.picture.connected {
            self.hatch(Layer::Pen, beyond, height, Hatch::NotLoaded);
        }
        self.fill_faint(Layer::Pen, (x, x + HAIR), height, Token::Text1, 80);
    }
}
