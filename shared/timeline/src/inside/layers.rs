//! Draws the layers of a simulated cluster: their progress, their activity, and the propagation of writes.
//!
//! etcd's last revision and each watch cache's progress share one scale, so a lower line is behind. Under a cache's
//! progress lies the window of revisions from which a watch may resume. Under the cache lies a thin row for each stream
//! that the cache feeds, filled by the events that wait in the stream's buffer.

use crate::draw::{Drawer, HAIR, Layer as Paint, Rank, TextLook};
use crate::format::{count, number};
use crate::id::{LaneId, LayerId};
use crate::lanes::Row;
use crate::levels::{Layer, Tone, Waiting};
use crate::scene::{Align, Px};
use crate::tokens::Token;

/// Words in the row above those of layers, which explain the layers to a learner.
const HEADING_WORDS: &str = "a write goes from etcd through a watch cache to its clients; none of this is seen from outside";

impl Drawer<'_> {
    /// Draws the row of a layer.
    pub(super) fn layer_row(&mut self, row: &Row) {
        let LaneId::Layer(id) = row.id else {
            return;
        };
        let Some(layer) = self.picture.store.layer_names().layer(id).cloned() else {
            return;
        };
        match layer {
            Layer::All => {
                let y = self.y(row) + row.height.half() + Px::whole(4);
                let look = TextLook::plain(Token::Text3);
                let across = (Px::ZERO, self.width);
                self.say_inside(Rank::Name, Paint::Stream, across, y, HEADING_WORDS, look);
            }
            Layer::Etcd => self.etcd_row(row, id),
            Layer::Cache(..) => self.cache_row(row, id),
            Layer::Server(_) | Layer::Client(_) => self.doing_row(row, id),
            Layer::Stream(..) | Layer::Direct(..) => self.stream_row(row, id),
            Layer::Crowd(name) => self.crowd_row(row, &name),
            Layer::Connections(_) => self.connections_of_layer(row, id),
        }
    }

    /// Draws a watch cache: its progress on etcd's scale, below that the window of revisions from which a watch may
    /// resume. At the bottom it draws the events that wait for the cache's watches.
    fn cache_row(&mut self, row: &Row, id: LayerId) {
        let Some(scale) = self.layer_scale(row) else {
            return;
        };
        let bottom = self.y(row) + row.height - HAIR;
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, a.from, a.revision) == (b.tone, b.from, b.revision)
            }) {
                if level.tone == Tone::Open {
                    let ys = (scale.y(level.revision), scale.y(level.from));
                    let floor = if level.from < scale.low { bottom } else { ys.1 };
                    self.fill(Paint::Stream, xs, (ys.0, floor), Token::StreamFill);
                }
            }
            if let Some(line) = self.line_of_layer(epoch, id) {
                self.version_line(&line, scale, None);
            }
            for (xs, level) in self.stretches(points, epoch.end, |a, b| a.tone == b.tone) {
                if level.tone != Tone::Open {
                    self.low_line(row, xs, level, &[]);
                }
            }
            for (xs, level) in self.stretches(points, epoch.end, |a, b| a.waiting == b.waiting) {
                self.waiting(xs, bottom, (Px::whole(2), 10.0), level.waiting);
            }
            let window = points.last().map(|point| &point.level);
            if let Some(level) = window.filter(|level| level.tone == Tone::Open) {
                let window = if level.from >= level.revision {
                    "no window: nothing older can be resumed".to_owned()
                } else {
                    format!("window from {}", number(level.from))
                };
                let words = match level.feeds {
                    0 => window,
                    feeds => format!("{window} · feeds {}", count(feeds, "watch")),
                };
                let look = TextLook::plain(Token::Text3)
                    .over(self.ground(row))
                    .aligned(Align::End);
                let is_low = scale.y(level.revision) > self.y(row) + row.height.half();
                let y = if is_low {
                    self.y(row) + Px::whole(9)
                } else {
                    bottom - HAIR
                };
                self.say_at_end(Paint::Change, y, words, look);
            }
            self.taken_in(epoch, id, bottom);
            self.ghost_bands(row, epoch, id);
        }
    }

    /// Draws the fill of a buffer: a bar that is higher the fuller the buffer is, with a least height.
    fn waiting(
        &mut self,
        xs: (Px, Px),
        bottom: Px,
        (least, room): (Px, f64),
        Waiting { events, slots }: Waiting,
    ) {
        if events == 0 {
            return;
        }
        let share = events.min(slots) as f64 / slots.max(1) as f64;
        let height = least + Px::from_f64(share * room);
        let ink = if events >= slots {
            Token::Error
        } else {
            Token::Warning
        };
        let xs = (xs.0, xs.1.max(xs.0 + Px::whole(2)));
        self.fill(Paint::Change, xs, (bottom - height, bottom), ink);
    }

    /// Draws the stream from a watch cache to one client: a line while there is a watch, over it the events that wait
    /// in the buffer.
    fn stream_row(&mut self, row: &Row, id: LayerId) {
        let (top, bottom) = (self.y(row) + Px::whole(2), self.y(row) + row.height - HAIR);
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, &a.phase, a.waiting) == (b.tone, &b.phase, b.waiting)
            }) {
                if level.tone == Tone::Resting {
                    continue;
                }
                let is_held = level.tone == Tone::Failed;
                let ink = if is_held { Token::Error } else { Token::Stream };
                self.fill(Paint::Stream, xs, (bottom - Px::whole(2), bottom), ink);
                let room = (bottom - top).to_f64() - 4.0;
                self.waiting(xs, bottom, (Px::whole(4), room), level.waiting);
                let Waiting { events, slots } = level.waiting;
                let mut words = level.phase.to_string();
                if events > 0 {
                    let many = format!("{} of {} wait", number(events), number(slots));
                    words = if words.is_empty() {
                        many
                    } else {
                        format!("{many}: {words}")
                    };
                }
                let ink = if is_held { Token::Error } else { Token::Text2 };
                let look = TextLook::plain(ink).over(self.ground(row));
                let y = bottom - Px::whole(3);
                self.say_inside(Rank::Wait, Paint::Change, xs, y, &words, look);
            }
        }
    }
}
