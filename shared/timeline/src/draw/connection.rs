//! The connection lane of a watch: a bar for as long as it used one connection.

use watchscope_model::ConnectionId;
use watchscope_model::vocabulary::Cause;

use super::labels::{Label, Rank};
use super::watch::{REACH, cause_words, protocol};
use super::{Drawer, EpochView, HAIR, LABEL_INSET, Layer, SPILL, TextLook, record};
use crate::id::LaneId;
use crate::lanes::Row;
use crate::scene::{Align, Px, StretchKind, Target};
use crate::store::WatchTrace;
use crate::tokens::Token;

impl Drawer<'_> {
    pub(super) fn connection_row(&mut self, row: &Row) {
        let LaneId::Connection(watch) = row.id else {
            return;
        };
        for (epoch, trace) in self.watch_traces(watch) {
            self.uses(row, epoch, trace);
        }
    }

    /// A step function: from each point on, another connection or none.
    fn uses(&mut self, row: &Row, epoch: EpochView<'_>, trace: &WatchTrace) {
        let points = &trace.uses;
        let from = points
            .partition_point(|point| point.moment.at < self.left)
            .saturating_sub(1);
        let mut place = from;
        while let Some(first) = points.get(place) {
            if first.moment.at > self.right {
                break;
            }
            let mut next = place + 1;
            while points
                .get(next)
                .is_some_and(|point| point.connection == first.connection)
            {
                next += 1;
            }
            if let Some(connection) = first.connection {
                let end = points.get(next).map_or(epoch.end, |point| point.moment.at);
                let xs = (self.x(first.moment.at), self.x(end));
                let closed = points.get(next).map(|point| point.moment.seq);
                if xs.1 >= -SPILL {
                    self.bar(row, epoch, connection, xs, closed);
                }
            }
            place = next;
        }
    }

    /// A connection while it lives.
    pub(super) fn connection_bar(&mut self, xs: (Px, Px), (y, bottom): (Px, Px)) {
        self.fill(Layer::Stream, xs, (y, bottom), Token::StreamFill);
        self.fill(Layer::Stream, xs, (y, y + HAIR), Token::Stream);
        self.fill(Layer::Stream, xs, (bottom - HAIR, bottom), Token::Stream);
        // Where a chapter opened before the view, the bar's beginning is not known; it does not show either.
        if xs.0 >= -HAIR {
            self.fill(
                Layer::Stream,
                (xs.0, xs.0 + HAIR),
                (y, bottom),
                Token::Stream,
            );
        }
    }

    fn bar(
        &mut self,
        row: &Row,
        epoch: EpochView<'_>,
        connection: ConnectionId,
        (x0, x1): (Px, Px),
        closed: Option<watchscope_model::Seq>,
    ) {
        let (y, bottom) = (
            self.y(row) + Px::whole(3),
            self.y(row) + row.height - Px::whole(3),
        );
        let xs = (x0, x1.max(x0 + Px::whole(2)));
        self.connection_bar(xs, (y, bottom));
        let spans = epoch.trace.connections.all();
        let Some(span) = spans
            .iter()
            .rev()
            .find(|span| span.what.connection == connection)
        else {
            return;
        };
        let target = Target::Stretch(StretchKind::Connection, record(epoch, span.start.seq));
        self.hit(xs, (y, bottom), row.id, target.clone());
        let what = &span.what;
        let mut words = format!("conn {} → {}", what.connection, what.remote);
        let protocol = what.alpn.as_deref().map(protocol);
        for part in [protocol, what.tls.as_deref()].into_iter().flatten() {
            words.push_str(&format!(" · {part}"));
        }
        let short = format!("conn {}", what.connection);
        let text_y = self.y(row) + row.height.half() + Px::whole(4);
        let look = TextLook::plain(Token::Text3);
        let (layer, forms) = (Layer::Stream, [words, short]);
        let label = Label::new(Rank::Name, layer, forms, look, text_y, xs);
        self.label_inside(label.reaching(REACH));
        // The bar is torn only where the connection itself broke, not where the watch took another one.
        let ended_here = span.end.is_some() && span.end.map(|end| end.seq) == closed;
        if !ended_here {
            return;
        }
        match what.cause {
            Some(Cause::End | Cause::Cancelled) | None => {
                self.fill(
                    Layer::Stream,
                    (x1 - Px::whole(2), x1),
                    (y, bottom),
                    Token::Stream,
                );
            }
            Some(cause) => {
                let drawn = self.tear(x1, (y - HAIR, bottom + HAIR), Token::Ground0);
                let torn = (x1 - Px::whole(4), x1 + Px::whole(4));
                self.hit_drawn(torn, (y, bottom), row.id, target, drawn);
                // At the torn end, inside.
                if x1 <= self.end_x {
                    let look = TextLook::plain(Token::Text1).aligned(Align::End);
                    let xs = (x0.max(Px::ZERO) + LABEL_INSET, x1 - Px::whole(12));
                    let words = [cause_words(cause).to_string()];
                    self.label(Label::new(
                        Rank::Error,
                        Layer::Error,
                        words,
                        look,
                        text_y,
                        xs,
                    ));
                }
            }
        }
    }
}
