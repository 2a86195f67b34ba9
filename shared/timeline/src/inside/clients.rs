//! Draws the rows of servers and client programs: their activity, crowds of clients, and connections.

use watchscope_model::fold::Moment;
use watchscope_model::time::SECOND_US;
use watchscope_model::vocabulary::ClientPhase;
use watchscope_model::{Text, tree};

use super::ghosts::{UNDER_WAY_US, haunted_since};
use super::strokes::short;
use crate::draw::{
    Drawer, EpochView, HAIR, LABEL_INSET, LABEL_SPARE, Label, Layer as Paint, Rank, SPILL,
    TextLook, record,
};
use crate::format::{duration, number, text_width};
use crate::id::LayerId;
use crate::lanes::Row;
use crate::levels::{Level, LevelPoint, Tone};
use crate::scene::{Px, Target};
use crate::tokens::Token;

impl Drawer<'_> {
    /// Draws a crowd of clients: how many of these clients follow etcd, and how many ghosts they hold together.
    pub(super) fn crowd_row(&mut self, row: &Row, crowd: &Text) {
        let members = self.picture.store.layer_names().members(crowd);
        let members: Vec<LayerId> = members.into_iter().map(|(_, id)| id).collect();
        for epoch in self.epochs.clone() {
            // For each change of a member: the change of the number of followers, and of the number of ghosts.
            let (mut all, mut changes) = (0_u64, Vec::new());
            for &id in &members {
                let points = self.shown(epoch.layers, id);
                all += u64::from(!points.is_empty());
                let mut before = (0, 0);
                for (place, LevelPoint { moment, level }) in points.iter().enumerate() {
                    let now = (
                        i64::from(level.tone == Tone::Open),
                        level.ghosts.cast_signed(),
                    );
                    let (follow, haunt) = (now.0 - before.0, now.1 - before.1);
                    if follow != 0 {
                        changes.push((*moment, (follow, 0)));
                    }
                    if haunt != 0 {
                        let since = match place {
                            0 => haunted_since(epoch.layers, id, *moment),
                            _ => *moment,
                        };
                        changes.push((since, (0, haunt)));
                    }
                    before = now;
                }
            }
            tree::sort_by_key(&mut changes, |change| change.0.seq);
            let (mut following, mut ghosts) = (0, 0);
            // Since when there are ghosts, and the fewest and the most of them at once.
            let mut haunted: Option<(Moment, (i64, i64))> = None;
            for (place, &(moment, (follow, haunt))) in changes.iter().enumerate() {
                following += follow;
                ghosts += haunt;
                let until = changes.get(place + 1).map_or(epoch.end, |next| next.0.at);
                let xs = (self.x(moment.at), self.x(until));
                self.crowd_stretch(row, xs, (following.unsigned_abs(), all));
                haunted = (ghosts > 0).then(|| match haunted {
                    Some((since, (least, most))) => (since, (least.min(ghosts), most.max(ghosts))),
                    None => (moment, (ghosts, ghosts)),
                });
                let ends = place + 1 == changes.len() || ghosts + changes[place + 1].1.1 <= 0;
                if let Some((since, (least, most))) = haunted
                    && ends
                    && until.micros_since(since.at) > UNDER_WAY_US
                {
                    let target = Target::Record(record(epoch, since.seq));
                    let ghosts = (least.unsigned_abs(), most.unsigned_abs());
                    self.ghost_band(row, (since.at, until), ghosts, target);
                }
            }
        }
    }

    /// Draws a stretch of time in which `following` of a crowd's `all` clients follow etcd.
    fn crowd_stretch(&mut self, row: &Row, xs: (Px, Px), (following, all): (u64, u64)) {
        if following == 0 || xs.1 - xs.0 < HAIR || xs.1 < -SPILL {
            return;
        }
        let (top, bottom) = (
            self.y(row) + Px::whole(5),
            self.y(row) + row.height - Px::whole(5),
        );
        let share = following as f64 / all.max(1) as f64;
        let y = bottom - Px::from_f64(share * (bottom - top).to_f64());
        self.fill(Paint::Stream, xs, (y, bottom), Token::StreamFill);
        self.fill(Paint::Stream, xs, (y, y + Px::whole(2)), Token::Stream);
        let words = format!("{} of {} watching", number(following), number(all));
        let (look, paint) = (TextLook::plain(Token::Text2), Paint::Stream);
        let text_y = self.y(row) + row.height.half() + Px::whole(5);
        let label = Label::new(Rank::Name, paint, [words], look, text_y, xs);
        self.label_inside(label.reaching(xs.1 - xs.0));
    }

    /// Draws the activity of an apiserver or a client.
    pub(super) fn doing_row(&mut self, row: &Row, id: LayerId) {
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            let bands = self.ghost_bands(row, epoch, id);
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, &a.phase) == (b.tone, &b.phase)
            }) {
                match (level.tone, level.client) {
                    (Tone::Open, _) => self.plateau(row, xs, level, &bands),
                    (_, Some(ClientPhase::Spinning)) => self.spin(row, xs, epoch, id),
                    (_, Some(ClientPhase::Returned)) => self.silence(row, xs, epoch, id, level),
                    _ => self.low_line(row, xs, level, &bands),
                }
            }
            self.progress(row, epoch, id);
            self.taken_in(epoch, id, self.y(row) + row.height - Px::whole(5));
        }
    }

    /// Returns the last points of a layer before `x` that have the same phase, from the first of these points on.
    fn run_at<'b>(&self, epoch: EpochView<'b>, id: LayerId, x: Px) -> &'b [LevelPoint] {
        let points = epoch.layers.levels(id);
        let at = |point: &LevelPoint| self.x(point.moment.at);
        let to = points.partition_point(|point| at(point) < x);
        let Some(last) = points[..to].last() else {
            return &[];
        };
        let other = points[..to]
            .iter()
            .rposition(|point| point.level.phase != last.level.phase);
        &points[other.map_or(0, |other| other + 1)..to]
    }

    /// Draws a client in a loop without waits: how often it has read a stream that had already ended, and how many
    /// times a second.
    fn spin(&mut self, row: &Row, xs: (Px, Px), epoch: EpochView<'_>, id: LayerId) {
        let run = self.run_at(epoch, id, xs.1.min(self.end_x));
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return;
        };
        let iterations = last.level.iterations.saturating_sub(first.level.iterations);
        let rate = per_second(iterations, last.moment.at.micros_since(first.moment.at));
        let bottom = self.y(row) + row.height - Px::whole(5);
        // The bar is a meter: each factor of ten adds the same height.
        let most = row.height - Px::whole(10);
        let height =
            Px::whole(2) + Px::whole(3 * rate.checked_ilog10().map_or(0, |tens| tens as i32 + 1));
        let ys = (bottom - height.min(most), bottom);
        self.fill_faint(Paint::Stream, xs, ys, Token::Error, 24);
        self.fill(
            Paint::Stream,
            xs,
            (bottom - Px::whole(2), bottom),
            Token::Error,
        );
        let (iterations, rate) = (number(iterations), number(rate));
        let forms = vec![
            format!("reads a dead stream: {iterations} turns for 0 bytes, {rate} a second"),
            format!("{iterations} turns for 0 bytes, {rate} a second"),
            format!("{iterations} turns for 0 bytes"),
            format!("{iterations} turns"),
        ];
        self.beside_ghosts(row, xs, forms);
    }

    /// Draws a client whose watch loop has returned: since when it sends no requests.
    fn silence(
        &mut self,
        row: &Row,
        xs: (Px, Px),
        epoch: EpochView<'_>,
        id: LayerId,
        level: &Level,
    ) {
        self.low_line(
            row,
            xs,
            &Level {
                phase: "".into(),
                ..level.clone()
            },
            &[],
        );
        let Some(since) = self.run_at(epoch, id, xs.1.min(self.end_x)).first() else {
            return;
        };
        let since = since.moment.at;
        // In whole seconds, because it is written anew with each frame.
        let until = self.picture.view.right().min(epoch.end);
        let lasted_us = until.micros_since(since).max(0) / SECOND_US * SECOND_US;
        let (since, lasted) = (self.clock_of(since), duration(lasted_us));
        let forms = vec![
            format!("returned: silent since {since}, for {lasted}"),
            format!("silent since {since}"),
            format!("silent for {lasted}"),
        ];
        self.beside_ghosts(row, xs, forms);
    }

    /// Adds the words of a client's error to its row, right of the words about ghosts, which such a client often holds.
    fn beside_ghosts(&mut self, row: &Row, xs: (Px, Px), forms: Vec<String>) {
        let look = TextLook::strong(Token::Error);
        let y = self.y(row) + row.height.half() + Px::whole(4);
        let label = Label::new(Rank::Error, Paint::Finding, forms, look, y, xs);
        self.label_inside(Label {
            joins: true,
            ..label.reaching(xs.1 - xs.0)
        });
    }

    /// Draws a client's connections in the network: a bar while the connections carry streams, torn where a connection
    /// is cut.
    pub(super) fn connections_of_layer(&mut self, row: &Row, id: LayerId) {
        let (y, bottom) = (
            self.y(row) + Px::whole(3),
            self.y(row) + row.height - Px::whole(3),
        );
        for epoch in self.epochs.clone() {
            let points = self.shown(epoch.layers, id);
            let mut written: Option<&Text> = None;
            for (xs, level) in self.stretches(points, epoch.end, |a, b| {
                (a.tone, &a.phase) == (b.tone, &b.phase)
            }) {
                match level.tone {
                    Tone::Open => {
                        self.connection_bar(xs, (y, bottom));
                        let look = TextLook::plain(Token::Text3);
                        let text_y = self.y(row) + row.height.half() + Px::whole(4);
                        let rank = Rank::Name;
                        self.say_inside(rank, Paint::Stream, xs, text_y, &level.phase, look);
                    }
                    _ if level.phase.is_empty() => {}
                    // Words that repeat are written once.
                    _ if written == Some(&level.phase) => {
                        let silent = Level {
                            phase: "".into(),
                            ..level.clone()
                        };
                        self.low_line(row, xs, &silent, &[]);
                    }
                    _ => {
                        self.low_line(row, xs, level, &[]);
                        let words = short(&level.phase);
                        let long = text_width(words, 11, 400) + LABEL_INSET + LABEL_SPARE;
                        if xs.1 - self.shows_from(xs.0) >= long {
                            written = Some(&level.phase);
                        }
                    }
                }
            }
            for pair in points.windows(2) {
                let (before, point) = (&pair[0].level, &pair[1]);
                let x = self.x(point.moment.at);
                if point.level.cut <= before.cut || x < -SPILL {
                    continue;
                }
                let drawn = self.tear(x, (y - HAIR, bottom + HAIR), Token::Ground0);
                let torn = (x - Px::whole(4), x + Px::whole(4));
                let target = Target::Record(record(epoch, point.moment.seq));
                self.hit_drawn(torn, (y, bottom), row.id, target, drawn);
            }
        }
    }

    /// Draws a plateau for a client or server that follows etcd. The words of the plateau stand clear of the bands of
    /// ghosts.
    fn plateau(&mut self, row: &Row, xs: (Px, Px), level: &Level, bands: &[(Px, Px)]) {
        let (top, bottom) = (
            self.y(row) + Px::whole(5),
            self.y(row) + row.height - Px::whole(5),
        );
        self.fill(Paint::Stream, xs, (top, bottom), Token::StreamFill);
        self.fill(Paint::Stream, xs, (top, top + Px::whole(2)), Token::Stream);
        let mut words = level.phase.to_string();
        if !level.looks_at.0.is_empty() {
            words = format!("{words} {}", level.looks_at.0);
        }
        if words.is_empty() {
            words = "all watch caches ready".to_owned();
        }
        let y = self.y(row) + row.height.half() + Px::whole(5);
        let look = TextLook::plain(Token::Text2);
        let xs = self.clear_of(bands, xs, &words, look);
        self.say_inside(Rank::Name, Paint::Stream, xs, y, &words, look);
    }
}

/// Returns the rate of `count` events in a duration, in events per second.
fn per_second(count: u64, lasted_us: i64) -> u64 {
    let lasted_us = u128::from(lasted_us.max(1).unsigned_abs());
    let rate = u128::from(count) * 1_000_000 / lasted_us;
    u64::try_from(rate).unwrap_or(u64::MAX)
}
