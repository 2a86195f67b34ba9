//! Draws the propagation of writes through the layers of a simulated cluster: from etcd over a watch cache and a
//! stream to a client.
//!
//! A propagation is drawn as a line from row to row, tilted by its delay. A propagation that stopped has a cross in the
//! row that the write did not reach. A lesson shows each cross; other pictures show only the first cross of several
//! stopped writes in a row. A lesson also shows writes that are still travelling, as faint lines. The whole propagation
//! of the selected write stands out, with the delay at each layer.

use watchscope_model::Time;
use watchscope_model::time::MILLISECOND_US;

use super::etcd::drawn_as;
use crate::draw::{Drawer, EpochView, Layer as Paint, SPILL, TextLook, Ways, record};
use crate::format::{duration, text_width};
use crate::id::{LaneId, LayerId};
use crate::lanes::Row;
use crate::levels::{End, Follower, Layer, Propagation, WriteMark};
use crate::scene::{Align, Area, Primitive, Px, Step, Stroke};
use crate::tokens::Token;

/// Least distance in px between two lines to one client of writes that arrived or are travelling. A line nearer to the
/// line before it is left out, because dense lines would look like a surface. The number has no other source.
const APART: Px = Px::whole(6);
/// Opacity in percent of a propagation that has not arrived yet. The number has no source.
const TRAVELLING_PERCENT: u8 = 40;
/// Most clients on screen to which the propagations of unselected writes are drawn, because more lines would hide each
/// other. To further clients, and to clients in crowds, only the propagation of the selected write is drawn. The number
/// has no source.
const CLIENTS_MOST: usize = 8;
/// Most lines in a picture of writes that arrived or are travelling; further lines are left out. The limit bounds the
/// work of drawing them. The number has no source.
const LINES_MOST: usize = 240;
/// Width of a line: 1.25 px, in 64ths of a px. The number has no source.
const LINE_WIDTH: Px = Px(80);
/// Distance in px from the middle of a write's glyph down to the beginning of its line. It is half of the glyph's 10
/// px, and 1 px of space, which has no source.
const BELOW_GLYPH: Px = Px::whole(6);
/// Distance in px of words from the mark or cross that they belong to. The number has no source.
const BESIDE: Px = Px::whole(6);
/// Half the side of a cross, in px. The number has no source.
const CROSS_ARM: Px = Px::whole(4);
/// Where the name above a lane begins, in px. The number has no source.
const NAME_X: Px = Px::whole(8);
/// Width in px of a ghost, or of a finding's code, after the name above a lane. The number has no source.
const SIGN_WIDTH_PX: i32 = 34;
/// Half the side, in px, of the mark at each layer that the selected write reached. The number has no source.
const STOP_HALF: Px = Px::whole(3);

/// The rows of layers on screen, each with its top edge and its middle.
struct Shown(Vec<(LayerId, Px, Px)>);

impl Shown {
    fn find(&self, layer: LayerId) -> Option<(Px, Px)> {
        let found = self.0.iter().find(|(id, ..)| *id == layer)?;
        Some((found.1, found.2))
    }

    fn middle(&self, layer: LayerId) -> Option<Px> {
        self.find(layer).map(|(_, middle)| middle)
    }
}

/// A propagation as it is drawn: the corners of its line, and the cross after the last corner if it stopped.
struct Drawn {
    corners: Vec<(Px, Px)>,
    /// When the write was at the layer of each corner.
    times: Vec<Time>,
    cross: Option<(LayerId, Px, Px, End)>,
}

impl Drawer<'_> {
    /// Draws the propagations of the writes in view to the clients on screen.
    pub(super) fn travels(&mut self, rows: &[Row]) {
        let names = self.picture.store.layer_names();
        let shown = rows.iter().filter_map(|row| match row.id {
            LaneId::Layer(id) => {
                let top = self.y(row);
                Some((id, top, top + row.height.half()))
            }
            _ => None,
        });
        let shown = Shown(shown.collect());
        let etcd = names.find(&Layer::Etcd).map(LaneId::Layer);
        let etcd = rows.iter().find(|row| Some(row.id) == etcd);
        let Some(scale) = etcd.and_then(|row| self.layer_scale(row)) else {
            return;
        };
        let is_lesson = self.picture.ways != Ways::Stopped;
        let mut lines = 0;
        let mut crosses = Vec::new();
        for epoch in self.epochs.clone() {
            // Several clients may lack a write for the same reason; its cross is drawn once.
            let mut crossed = Vec::new();
            let mut clients = 0;
            for &(client, ..) in &shown.0 {
                let Some(follower) = Follower::of(names, epoch.layers, client, epoch.end) else {
                    continue;
                };
                let is_alone = matches!(names.layer(client), Some(Layer::Client(name)) if names.crowd(name).is_none());
                clients += usize::from(is_alone);
                let is_shown = is_alone && clients <= CLIENTS_MOST;
                let mut last = -SPILL - APART;
                let writes = &epoch.layers.writes;
                let from = writes.partition_point(|write| write.moment.at < self.left);
                let to = writes.partition_point(|write| write.moment.at <= self.right);
                let before = writes[..from].iter().rfind(|write| follower.follows(write));
                let mut has_stopped =
                    before.is_some_and(|before| follower.propagation(before).end.is_some());
                for write in &writes[from..to.max(from)] {
                    let is_selected = self.picture.record == Some(record(epoch, write.moment.seq));
                    if !follower.follows(write) || !(is_shown || is_selected) {
                        continue;
                    }
                    let propagation = follower.propagation(write);
                    let is_crossed = propagation.end.is_some() && (is_lesson || !has_stopped);
                    has_stopped =
                        propagation.end.is_some() || has_stopped && propagation.client.is_none();
                    let from_y = scale.y(write.revision) + BELOW_GLYPH;
                    let drawn = self.drawn(write, propagation, client, &shown, from_y);
                    if is_selected {
                        self.draw_selected(write, &drawn);
                    } else if propagation.end.is_some() {
                        if is_crossed {
                            self.draw_stopped(write, &drawn);
                        }
                    } else if is_lesson
                        && (propagation.client.is_some() || propagation.is_under_way)
                    {
                        let x = self.x(write.moment.at);
                        let has_room = x >= last + APART && lines < LINES_MOST;
                        if has_room && drawn.corners.len() > 1 {
                            self.draw_arrived(write, &drawn, propagation.is_under_way);
                            (last, lines) = (x, lines + 1);
                        }
                    }
                    if let Some((layer, x, y, end)) = drawn.cross
                        && (is_crossed || is_selected)
                        && !crossed.contains(&(layer, write.revision))
                    {
                        crossed.push((layer, write.revision));
                        self.cross((x, y));
                        crosses.push((epoch, write, (x, y), end));
                    }
                }
            }
        }
        // Without a tree the names stand above the lanes, where a cross may be.
        for row in rows.iter().filter(|row| row.label > Px::ZERO) {
            let name = format!("{}{}", row.prefix, row.name);
            let signs = i32::from(row.mark.is_some()) + i32::from(row.finding.is_some());
            let signs = Px::whole(SIGN_WIDTH_PX * signs);
            let right = NAME_X + text_width(&name, 11, 400) + signs;
            self.occupy((Px::ZERO, right), (self.y(row) - row.label, self.y(row)));
        }
        // The words come last, so that they keep clear of all crosses.
        for (epoch, write, at, end) in crosses {
            self.words_of_cross(epoch, write, at, end);
        }
    }

    /// Returns the line of a propagation through the rows on screen. If the row in which the cross belongs is not on
    /// screen, the cross stands above the client's row.
    fn drawn(
        &self,
        write: &WriteMark,
        propagation: Propagation,
        client: LayerId,
        shown: &Shown,
        from_y: Px,
    ) -> Drawn {
        let (client_top, client_y) = shown.find(client).unwrap_or_default();
        let mut x = self.x(write.moment.at);
        let mut corners = vec![(x, from_y)];
        let mut times = vec![write.moment.at];
        for stop in [propagation.cache, propagation.stream]
            .into_iter()
            .flatten()
        {
            if let (Some(at), Some(y)) = (stop.at, shown.middle(stop.layer)) {
                x = self.x(at);
                corners.push((x, y));
                times.push(at);
            }
        }
        if let Some(at) = propagation.client {
            corners.push((self.x(at), client_y));
            times.push(at);
        }
        let cross = propagation.end.map(|end| {
            let stop = match end {
                End::Cache => propagation.cache,
                End::NoStream | End::Stalled | End::Ended | End::Buffer => propagation.stream,
                End::Client => None,
            };
            let (layer, y) = match (end, stop) {
                (End::Client, _) | (_, None) => (client, client_y),
                (_, Some(stop)) => (stop.layer, shown.middle(stop.layer).unwrap_or(client_top)),
            };
            (layer, x, y, end)
        });
        Drawn {
            corners,
            times,
            cross,
        }
    }

    /// Draws a write that arrived, or is still travelling.
    fn draw_arrived(&mut self, write: &WriteMark, drawn: &Drawn, is_under_way: bool) {
        let (_, ink) = drawn_as(write.change);
        let (ink, opacity) = if is_under_way {
            (Token::Stream, TRAVELLING_PERCENT)
        } else {
            (ink, 100)
        };
        let steps = self.scene.path(&steps(&drawn.corners));
        self.push(
            Paint::Rule,
            Primitive::Path {
                steps,
                fill: None,
                stroke: Some(Stroke::solid(ink, LINE_WIDTH)),
                opacity,
            },
        );
    }

    fn draw_stopped(&mut self, write: &WriteMark, drawn: &Drawn) {
        let (_, ink) = drawn_as(write.change);
        let mut corners = drawn.corners.clone();
        corners.extend(drawn.cross.map(|(_, x, y, _)| (x, y)));
        let steps = steps(&corners);
        self.stroke(Paint::Rule, &steps, Stroke::dashed(ink, LINE_WIDTH, 4, 3));
    }

    /// Draws the whole propagation of the selected write, with the delay at each stop.
    fn draw_selected(&mut self, write: &WriteMark, drawn: &Drawn) {
        let (_, ink) = drawn_as(write.change);
        let propagation = steps(&drawn.corners);
        self.stroke(
            Paint::Finding,
            &propagation,
            Stroke::solid(Token::Ground0, Px::whole(5)),
        );
        self.stroke(Paint::Finding, &propagation, Stroke::solid(ink, Px(144)));
        let last = drawn.corners.last().copied();
        if let (Some(from), Some((_, x, y, _))) = (last, drawn.cross) {
            let rest = steps(&[from, (x, y)]);
            self.stroke(Paint::Finding, &rest, Stroke::dashed(ink, Px(144), 4, 3));
        }
        let begun = write.moment.at;
        let mut before = String::new();
        for (&(x, y), &at) in drawn.corners.iter().zip(&drawn.times).skip(1) {
            let xs = (x - STOP_HALF, x + STOP_HALF);
            let ys = (y - STOP_HALF, y + STOP_HALF);
            self.fill(Paint::Finding, xs, ys, ink);
            self.occupy(xs, ys);
            // In whole milliseconds; a shorter delay reads "at once". Equal words are written once.
            let took_us = at.micros_since(begun) / MILLISECOND_US * MILLISECOND_US;
            let words = match took_us {
                0 => "at once".to_owned(),
                took_us => format!("+{}", duration(took_us)),
            };
            if words == before {
                continue;
            }
            before.clone_from(&words);
            let look = TextLook::strong(Token::Text1).over(Token::Ground0);
            let width = text_width(&words, look.size, look.weight);
            let (left, right) = (xs.0 - BESIDE, xs.1 + BESIDE);
            let y = y + Px::whole(4);
            // The words stand right of the stop, or left of it. If both places are taken, for example by another
            // client's line through the same cache, only the panel has the words.
            if right + width <= self.width && self.is_clear((right, right + width), y) {
                self.write(Paint::Finding, right, y, words, look);
            } else if self.is_clear((left - width, left), y) {
                self.write(Paint::Finding, left, y, words, look.aligned(Align::End));
            }
        }
        // The write itself gets a frame, as a selected row does.
        if let Some(&(x, y)) = drawn.corners.first() {
            let half = Px::whole(9);
            let y = y - BELOW_GLYPH;
            self.push(
                Paint::Frame,
                Primitive::Rect {
                    area: Area::between(x - half, x + half, y - half, y + half),
                    fill: None,
                    stroke: Some(Stroke::solid(Token::Select, Px::whole(1))),
                    radius: 0,
                    opacity: 100,
                },
            );
        }
    }

    /// Draws a cross at the end of a propagation.
    fn cross(&mut self, (x, y): (Px, Px)) {
        let arm = CROSS_ARM;
        let cross = [
            Step::Move(x - arm, y - arm),
            Step::Line(x + arm, y + arm),
            Step::Move(x - arm, y + arm),
            Step::Line(x + arm, y - arm),
        ];
        // Drawn over the band of the ghost that a stopped deletion often leaves.
        self.stroke(Paint::Finding, &cross, Stroke::solid(Token::Error, Px(128)));
        self.occupy((x - arm, x + arm), (y - arm, y + arm));
    }

    /// Writes why a propagation stopped, beside its cross.
    fn words_of_cross(
        &mut self,
        epoch: EpochView<'_>,
        write: &WriteMark,
        (x, y): (Px, Px),
        end: End,
    ) {
        let arm = CROSS_ARM;
        // Words of a cross out of view would look as if they belonged to one in view.
        if x + arm < Px::ZERO || x - arm > self.width {
            return;
        }
        let look = TextLook::strong(Token::Error).over(Token::Ground0);
        let forms = end.forms(write);
        let width = |words: &String| text_width(words, look.size, look.weight);
        let y = y + Px::whole(4);
        // The words stand left of the cross, or right of it, in the longest form that fits. They are never written
        // over other words.
        let left = x - arm - BESIDE;
        let right = x + arm + BESIDE;
        let room = self.x(epoch.end).min(self.width) - right;
        let is_free = |x0: Px, x1: Px| self.is_clear((x0, x1), y);
        let place = forms.into_iter().find_map(|words| {
            let long = width(&words);
            if long <= left && is_free(left - long, left) {
                Some((left, words, look.aligned(Align::End)))
            } else if long <= room && is_free(right, right + long) {
                Some((right, words, look))
            } else {
                None
            }
        });
        if let Some((x, words, look)) = place {
            self.write(Paint::Finding, x, y, words, look);
        }
    }
}

fn steps(corners: &[(Px, Px)]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(corners.len());
    for &(x, y) in corners {
        steps.push(if steps.is_empty() {
            Step::Move(x, y)
        } else {
            Step::Line(x, y)
        });
    }
    steps
}
