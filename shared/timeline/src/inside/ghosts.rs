//! Draws ghosts: objects that a layer holds and etcd does not.

use watchscope_model::Time;
use watchscope_model::fold::Moment;
use watchscope_model::time::SECOND_US;

use crate::draw::{
    Drawer, EpochView, LEAST, Label, Layer as Paint, Rank, SPILL, TextLook, Ways, record,
};
use crate::format::{clock, count, number};
use crate::glyph::Glyph;
use crate::id::LayerId;
use crate::lanes::{Row, RowKind};
use crate::levels::LayerTrace;
use crate::scene::{Area, Primitive, Px, Stroke, Target};
use crate::tokens::Token;

/// Time in µs up to which a difference from etcd is mere propagation delay: 1 s. A client may report a change 100 ms
/// late. A longer difference is drawn. A client without an open stream for at most this time counts as not away. The
/// number has no other source.
pub(super) const UNDER_WAY_US: i64 = 1_000_000;

/// A tenth of a second, in µs.
const TENTH_US: i64 = 100_000;
/// A day, in µs.
const DAY_US: i64 = 24 * 3_600 * SECOND_US;

impl Drawer<'_> {
    /// Draws the stretches longer than [`UNDER_WAY_US`] in which a layer holds objects that are not in etcd, unless they
    /// are covered. Returns the left and right edges of these stretches.
    pub(super) fn ghost_bands(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        id: LayerId,
    ) -> Vec<(Px, Px)> {
        let mut bands = Vec::new();
        let points = self.shown(epoch.layers, id);
        let mut place = 0;
        while let Some(first) = points.get(place) {
            let begins = place;
            while points
                .get(place)
                .is_some_and(|point| (point.level.ghosts > 0) == (first.level.ghosts > 0))
            {
                place += 1;
            }
            if first.level.ghosts == 0 {
                continue;
            }
            let end = points.get(place).map_or(epoch.end, |point| point.moment.at);
            let since = match begins {
                0 => haunted_since(epoch.layers, id, first.moment),
                _ => first.moment,
            };
            if end.micros_since(since.at) <= UNDER_WAY_US {
                continue;
            }
            let ghosts = points[begins..place].iter().map(|point| point.level.ghosts);
            let least = ghosts.clone().min().unwrap_or(0);
            let most = ghosts.max().unwrap_or(0);
            let target = Target::Record(record(epoch, since.seq));
            bands.extend(self.ghost_band(row, (since.at, end), (least, most), target));
        }
        bands
    }

    /// Draws a stretch with ghosts: at no time fewer than `least`, and at most `most` at once. Returns its left and right
    /// edge; `None` if ghosts are covered.
    pub(super) fn ghost_band(
        &mut self,
        row: &Row,
        (from, to): (Time, Time),
        (least, most): (u64, u64),
        target: Target,
    ) -> Option<(Px, Px)> {
        if self.picture.ways == Ways::Covered {
            return None;
        }
        let edges = (self.x(from), self.x(to));
        let (x0, x1) = (edges.0.max(-SPILL), edges.1.min(self.width + SPILL));
        let x1 = x1.max(x0 + LEAST);
        let middle = self.y(row) + row.height.half();
        // Lower in rows that have words over and under the band.
        let half = Px::whole(if row.kind == RowKind::LayerTrace {
            6
        } else {
            8
        });
        let (y, bottom) = (middle - half, middle + half);
        self.fill(Paint::Divergence, (x0, x1), (y, bottom), Token::GhostFill);
        let stroke = Some(Stroke::dashed(Token::Divergence, Px(96), 5, 3));
        self.push(
            Paint::Divergence,
            Primitive::Rect {
                area: Area::between(x0, x1, y, bottom),
                fill: None,
                stroke,
                radius: 0,
                opacity: 100,
            },
        );
        self.explains(Glyph::Ghost, (x0, x1));
        let ghosts = count(most, "ghost");
        let ghosts = if least < most {
            format!("{} to {ghosts}", number(least))
        } else {
            ghosts
        };
        let words = format!("{ghosts} since {}", self.clock_of(from));
        let look = TextLook::plain(Token::Divergence);
        let text_y = middle + Px::whole(4);
        let (rank, paint) = (Rank::Lost, Paint::Divergence);
        let label = Label::new(rank, paint, [words], look, text_y, (x0, x1));
        self.label_inside(label.reaching(x1 - x0));
        self.hit((x0, x1), (y, bottom), row.id, target);
        Some(edges)
    }
}

impl Drawer<'_> {
    /// Returns a time in words: the time of day, or in a lesson seconds since it began. A lesson begins at midnight.
    pub(super) fn clock_of(&self, at: Time) -> String {
        if !matches!(self.picture.ways, Ways::Lesson | Ways::Covered) {
            return clock(at);
        }
        let tenths = at.0.rem_euclid(DAY_US) / TENTH_US;
        format!("{}.{} s", tenths / 10, tenths % 10)
    }
}

/// Returns since when the layer has held ghosts without a break up to `now`. The returned moment may be out of view.
pub(super) fn haunted_since(layers: &LayerTrace, id: LayerId, now: Moment) -> Moment {
    let points = layers.levels(id);
    let to = points.partition_point(|point| point.moment.seq <= now.seq);
    let run = points[..to].iter().rev();
    let run = run.take_while(|point| point.level.ghosts > 0);
    run.last().map_or(now, |point| point.moment)
}
