//! Draws gaps, losses, relists and errors over all lanes of a watch.

use super::drawer::{Drawer, EpochView, Group, record};
use super::label::{Label, Rank};
use super::look::{HAIR, LABEL_INSET, LEAST, Layer, SPILL, TextLook};
use crate::format::{number, text_width};
use crate::glyph::Glyph;
use crate::id::{LaneId, WatchId};
use crate::lanes::{Row, RowKind};
use crate::scene::{Drawn, Hatch, Px, Sign, StretchKind, Target};
use crate::sorted::within;
use crate::store::{Epoch, GapOutcome, WatchTrace};
use crate::tokens::Token;

/// Width in px above which a lost gap of an open watch is hatched with fainter lines ([`Hatch::LostWide`]). A gap of at
/// most this width has the usual lines. The number has no source.
const WIDE: Px = Px::whole(200);
/// Offset of a hatch's first line from its corner, right and down: half of 6√2 px, in 64ths of a px. The lines are 6
/// px apart.
const FIRST_LINE: Px = Px(271);
/// Farthest that words may move from where their stretch begins to show, or from their line, in px, if something stands
/// there. Words that find no room within this distance are not written, because farther away they would seem to belong
/// to something else. The number has no source.
pub(super) const REACH: Px = Px::whole(260);

impl Drawer<'_> {
    /// Draws gaps, errors, relists and losses over the lanes of a watch that stand together with the row at `at`.
    pub(super) fn watch_group(&mut self, watch: WatchId, at: usize) {
        let rows = &self.picture.rows.rows;
        let is_pinned = rows[at].pinned;
        let is_here = |row: &&Row| row.id.watch() == Some(watch) && row.pinned == is_pinned;
        let first = rows[..=at].iter().rev().take_while(is_here).last();
        let last = rows[at..].iter().take_while(is_here).last();
        let (Some(first), Some(last)) = (first, last) else {
            return;
        };
        let ys = (
            self.y(first).max(-SPILL),
            (self.y(last) + last.height).min(self.picture.height + SPILL),
        );
        let collapsed = first.kind == RowKind::Strip;
        // The resourceVersion's row shows the count of missed events. Without that row the first row does.
        let has_version_row = rows.iter().any(|row| row.id == LaneId::Version(watch));
        let is_apart = matches!(first.id, LaneId::Object(..));
        let words_y = self.y(first) + first.height.half() + Px::whole(4);
        let words_y = Some(words_y).filter(|_| !has_version_row && !is_apart);
        for (epoch, trace) in self.watch_traces(watch) {
            self.gaps(watch, epoch, trace, ys, collapsed);
            if let Some(records) = self.picture.records {
                (records.group)(self, watch, epoch, trace, Group { ys, words_y });
            }
        }
    }

    /// Draws losses, relists and errors over all lanes of a watch, and the count of missed events if the group has a
    /// `words_y`.
    pub(crate) fn records_of_group(
        &mut self,
        watch: WatchId,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        Group { ys, words_y }: Group,
    ) {
        if words_y.is_some() {
            self.missed(epoch, trace, |_, _| words_y);
        }
        self.losses(watch, epoch, trace, ys);
        self.lists(watch, epoch, trace, ys);
        self.error_lines(trace, ys);
    }

    fn gaps(
        &mut self,
        watch: WatchId,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        ys: (Px, Px),
        collapsed: bool,
    ) {
        for span in trace.gaps.in_sequence(self.left, self.right) {
            let (x0, mut x1) = (self.x(span.start.at), self.x(span.end_at(epoch.end)));
            if x1 < -SPILL {
                continue;
            }
            x1 = x1.max(x0 + LEAST);
            let xs = (x0, x1);
            // The sign that a legend points at: the gap's edge, or the first line of its hatch if that fits.
            let drawn = match span.what.outcome {
                Some(GapOutcome { resumed: false, .. }) => {
                    self.fill(Layer::Gap, xs, ys, Token::LostGround);
                    let hatch = match x1 - x0 {
                        _ if collapsed => Hatch::LostStrip,
                        width if width > WIDE => Hatch::LostWide,
                        _ => Hatch::Lost,
                    };
                    self.hatch(Layer::Gap, xs, ys, hatch);
                    for x in [x0, x1] {
                        let x = x.floor() - HAIR;
                        let edge = (x, x + Px::whole(2));
                        self.fill(Layer::Gap, edge, ys, Token::Lost);
                        self.occupy(edge, ys);
                    }
                    Some((
                        Hatch::Lost,
                        Token::Lost,
                        x0.floor() - HAIR.half(),
                        HAIR.half(),
                    ))
                }
                None => {
                    self.fill(Layer::Gap, xs, ys, Token::Ground0);
                    self.hatch(Layer::Gap, xs, ys, Hatch::Open);
                    None
                }
                Some(GapOutcome { resumed: true, .. }) => {
                    self.fill(Layer::Gap, xs, ys, Token::Ground0);
                    self.hatch(Layer::Gap, xs, ys, Hatch::Resumed);
                    let on = FIRST_LINE;
                    (x1 - x0 >= on + on).then_some((Hatch::Resumed, Token::Resumed, x0 + on, on))
                }
            };
            let target = Target::Stretch(StretchKind::Gap, record(epoch, span.start.seq));
            let drawn = drawn.map(|(hatch, ink, x, y)| Drawn {
                sign: Sign::Hatch(hatch),
                ink,
                x,
                y: ys.0 + y,
            });
            self.hit_drawn(xs, ys, LaneId::Watch(watch), target, drawn);
        }
    }

    /// Writes how many events each lost gap may have lost, at the height that `beside` returns for words between two x.
    pub(super) fn missed(
        &mut self,
        epoch: EpochView<'_>,
        trace: &WatchTrace,
        beside: impl Fn(&Self, (Px, Px)) -> Option<Px>,
    ) {
        for span in trace.gaps.in_sequence(self.left, self.right) {
            let Some(GapOutcome {
                resumed: false,
                lost,
            }) = span.what.outcome
            else {
                continue;
            };
            let words = match lost {
                Some(lost) => format!("missed: {}", number(lost)),
                None => "missed: unknown".to_string(),
            };
            let xs = (self.x(span.start.at), self.x(span.end_at(epoch.end)));
            let look = TextLook::strong(Token::Text1).over(Token::LostGround);
            let x = self.shows_from(xs.0) + LABEL_INSET;
            let words_xs = (x, x + text_width(&words, look.size, look.weight));
            if let Some(y) = beside(self, words_xs) {
                let label = Label::new(Rank::Lost, Layer::Error, [words], look, y, xs);
                self.label_inside(label.reaching(REACH));
            }
        }
    }

    /// Draws watchscope's own losses over all lanes of the watch: losses that concern this watch, and those that
    /// concern no single watch.
    fn losses(&mut self, watch: WatchId, epoch: EpochView<'_>, trace: &WatchTrace, ys: (Px, Px)) {
        for losses in [&epoch.trace.losses, &trace.losses] {
            let mut drawn = -SPILL;
            for loss in within(losses, |loss| loss.moment.at, self.left, self.right) {
                let x = self.x(loss.moment.at).floor();
                if !loss.is_own() || x < drawn {
                    continue;
                }
                let xs = (x, x + Px::whole(6));
                self.hatch(Layer::Error, xs, ys, Hatch::Own);
                self.occupy(xs, ys);
                let target = Target::Record(record(epoch, loss.moment.seq));
                self.hit(xs, ys, LaneId::Watch(watch), target);
                drawn = x + LEAST;
            }
        }
    }

    /// Draws double rules for relists over all lanes of the watch.
    fn lists(&mut self, watch: WatchId, epoch: EpochView<'_>, trace: &WatchTrace, ys: (Px, Px)) {
        self.waits_for_before(epoch, trace, ys);
        let mut drawn = -SPILL;
        for list in within(&trace.lists, |list| list.moment.at, self.left, self.right) {
            let x = self.x(list.moment.at).floor();
            if !list.is_shown() || x < drawn {
                continue;
            }
            for offset in [0, 4] {
                let x = x + Px::whole(offset);
                self.fill(Layer::Rule, (x, x + Px::whole(2)), ys, Token::List);
            }
            self.explains(Glyph::Relist, (x, x + Px::whole(6)));
            let xs = (x, x + Px::whole(6));
            self.occupy(xs, ys);
            self.hit(
                xs,
                ys,
                LaneId::Watch(watch),
                Target::Record(record(epoch, list.moment.seq)),
            );
            drawn = x + LEAST;
        }
    }

    /// Hatches the time up to an epoch's first list while the end of the epoch before is not loaded. Until it is
    /// loaded, the changes of that list are unknown.
    fn waits_for_before(&mut self, epoch: EpochView<'_>, trace: &WatchTrace, ys: (Px, Px)) {
        let first = trace.lists.first().filter(|list| list.is_to_compare());
        let Some(list) = first.filter(|_| self.picture.store.is_to_load_before(epoch.number))
        else {
            return;
        };
        let run = self.picture.store.epoch(epoch.number);
        let Some(begins) = run.and_then(Epoch::begins) else {
            return;
        };
        let xs = (self.x(begins), self.x(list.moment.at));
        if xs.1 > -SPILL && xs.0 < self.width {
            self.hatch(Layer::Gap, xs, ys, Hatch::NotLoaded);
        }
    }

    /// Draws the full-height lines of ERROR events.
    fn error_lines(&mut self, trace: &WatchTrace, ys: (Px, Px)) {
        let mut drawn = -SPILL - LEAST;
        for error in within(
            &trace.errors,
            |error| error.moment.at,
            self.left,
            self.right,
        ) {
            let x = self.x(error.moment.at).floor();
            if x >= drawn + LEAST {
                self.fill(Layer::Error, (x, x + HAIR), ys, Token::Error);
                self.occupy((x, x + HAIR), ys);
                drawn = x;
            }
        }
    }
}
