//! Draws the lane of a server's connections: one bar for the lifetime of each connection.

use watchscope_model::vocabulary::Cause;

use super::drawer::{Drawer, EpochView, record};
use super::label::{Label, Rank};
use super::look::{HAIR, LABEL_INSET, Layer, SPILL, TextLook};
use super::over_lanes::REACH;
use crate::format::count;
use crate::id::LaneId;
use crate::lanes::Row;
use crate::phrases::cause_words;
use crate::scene::{Align, Px, StretchKind, Target};
use crate::store::{ConnectionSpan, Span};
use crate::tokens::Token;

impl Drawer<'_> {
    pub(super) fn connection_row(&mut self, row: &Row) {
        let LaneId::Connection(server) = row.id else {
            return;
        };
        let remote = self.picture.store.names().server_name(server);
        for epoch in self.epochs.clone() {
            for span in epoch.trace.connections.all() {
                if span.what.remote == *remote {
                    self.bar(row, epoch, span);
                }
            }
        }
    }

    /// Draws the bar of one connection.
    pub(crate) fn connection_bar(&mut self, xs: (Px, Px), (y, bottom): (Px, Px)) {
        self.fill(Layer::Stream, xs, (y, bottom), Token::StreamFill);
        self.fill(Layer::Stream, xs, (y, y + HAIR), Token::Stream);
        self.fill(Layer::Stream, xs, (bottom - HAIR, bottom), Token::Stream);
        // A chapter that opens later than the connection does not know when the connection began. The edge is drawn
        // only where it is in view.
        if xs.0 >= -HAIR {
            self.fill(
                Layer::Stream,
                (xs.0, xs.0 + HAIR),
                (y, bottom),
                Token::Stream,
            );
        }
    }

    fn bar(&mut self, row: &Row, epoch: EpochView<'_>, span: &Span<ConnectionSpan>) {
        let (x0, x1) = (self.x(span.start.at), self.x(span.end_at(epoch.end)));
        let xs = (x0, x1.max(x0 + Px::whole(2)));
        if xs.1 < -SPILL || x0 > self.width + SPILL {
            return;
        }
        let (y, bottom) = (
            self.y(row) + Px::whole(3),
            self.y(row) + row.height - Px::whole(3),
        );
        self.connection_bar(xs, (y, bottom));
        let target = Target::Stretch(StretchKind::Connection, record(epoch, span.start.seq));
        self.hit(xs, (y, bottom), row.id, target.clone());
        let what = &span.what;
        let text_y = self.y(row) + row.height.half() + Px::whole(4);
        let look = TextLook::plain(Token::Text2).over(Token::Ground0);
        // A server without shared connections has one for each watch. All lie in one row, so their names would
        // overlap. The pointer shows the name of one.
        let carried = if span.is_open() {
            self.carried(span)
        } else {
            None
        };
        let forms: Vec<String> = carried.into_iter().collect();
        let label = Label::new(Rank::Name, Layer::Stream, forms, look, text_y, xs);
        self.label_inside(label.reaching(REACH));
        if span.end.is_none() {
            let middle = (y + bottom).half() - HAIR;
            self.trails_off(epoch, span, middle, Token::Stream);
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
                // The words stand inside the bar, at its torn end.
                if x1 <= self.end_x {
                    let look = TextLook::plain(Token::Text1)
                        .over(Token::Ground0)
                        .aligned(Align::End);
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

    /// Returns how many watches an open connection carries; `None` if it carries at most one.
    fn carried(&self, span: &Span<ConnectionSpan>) -> Option<String> {
        let watches = &self.picture.store.state()?.watches;
        let carried = watches.values();
        let carried = carried.filter(|watch| watch.connection == Some(span.what.connection));
        match (carried.count(), watches.len()) {
            (0 | 1, _) => None,
            (2, 2) => Some("one connection carries both watches".to_owned()),
            (carried, all) if carried == all => {
                Some(format!("one connection carries all {all} watches"))
            }
            (carried, all) => {
                let of_all = count(all as u64, "watch");
                Some(format!("one connection carries {carried} of {of_all}"))
            }
        }
    }
}
