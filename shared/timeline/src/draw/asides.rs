//! The lane of what watchscope asks beside its watches: a bar for each request, as long as it took.

use std::collections::BTreeMap;

use super::{Drawer, EpochView, LEAST, Layer, record};
use crate::lanes::Row;
use crate::scene::{Px, Target};
use crate::store::AsideStep;
use crate::tokens::Token;

/// One that is not answered after so long, in microseconds, ended without a word: watchscope did.
const GIVEN_UP_US: i64 = 120_000_000;

impl Drawer<'_> {
    pub(super) fn asides_row(&mut self, row: &Row) {
        for epoch in self.epochs.clone() {
            self.asides(row, epoch);
        }
    }

    fn asides(&mut self, row: &Row, epoch: EpochView<'_>) {
        let y = self.y(row) + row.height.half();
        let mut sent = BTreeMap::new();
        // Up to where the lane is full: what lies in it would change nothing, but for a failure.
        let mut drawn = Px(i32::MIN);
        for aside in &epoch.trace.asides {
            let (at, seq) = (aside.moment.at, aside.moment.seq);
            if aside.step == AsideStep::Sent {
                sent.insert(aside.request, aside.moment);
                continue;
            }
            let since = sent.remove(&aside.request).unwrap_or(aside.moment);
            let has_failed = aside.step == AsideStep::Failed;
            if at < self.left || since.at > self.right {
                continue;
            }
            let x0 = self.x(since.at);
            let x1 = self.x(at).max(x0 + LEAST);
            if x1 <= drawn && !has_failed {
                continue;
            }
            drawn = drawn.max(x1);
            let (half, ink, layer) = if has_failed {
                (Px::whole(5), Token::Error, Layer::Error)
            } else {
                (Px::whole(3), Token::List, Layer::Stream)
            };
            let ys = (y - half, y + half);
            self.fill(layer, (x0, x1), ys, ink);
            let target = Target::Record(record(epoch, if has_failed { seq } else { since.seq }));
            self.hit((x0, x1), ys, row.id, target);
        }
        for since in sent.into_values() {
            let is_over = epoch.end.micros_since(since.at) > GIVEN_UP_US;
            let x0 = self.x(since.at);
            let x1 = if is_over { x0 } else { self.x(epoch.end) };
            let xs = (x0, x1.max(x0 + LEAST));
            if since.at <= self.right && xs.1 >= Px::ZERO {
                let ys = (y - Px::whole(3), y + Px::whole(3));
                self.fill_faint(Layer::Stream, xs, ys, Token::List, 40);
                self.hit(xs, ys, row.id, Target::Record(record(epoch, since.seq)));
            }
        }
    }
}
