//! Draws the lane of watchscope's requests beside its watches: one bar for each request, as long as it took.

use watchscope_model::Time;
use watchscope_model::tree::BTreeMap;

use super::drawer::{Drawer, EpochView, record};
use super::look::{LEAST, Layer, TextLook};
use crate::format::{number, text_width};
use crate::lanes::Row;
use crate::scene::{Px, Target};
use crate::store::{OwnRequestMark, OwnRequestStep};
use crate::tokens::Token;

/// Time in µs, 2 min, above which a request without an answer counts as abandoned, most likely because watchscope
/// stopped. Such a request shows only where it began. A kube-apiserver answers within 60 s or not at all
/// (docs/semantics/servers.md#request-timeout), and this limit is twice 60 s. A read of the audit may still end later.
const GIVEN_UP_US: i64 = 120_000_000;
/// Time in µs before and after the view in which records of requests are searched: 3 min. So a request of up to 3 min
/// is drawn whole; of a longer request only the end near the view may show. A read of the audit takes at most 150 s
/// (`backend/src/audit/reader.rs`).
const LONGEST_US: i64 = GIVEN_UP_US + 60_000_000;

impl Drawer<'_> {
    pub(super) fn own_requests_row(&mut self, row: &Row) {
        for epoch in self.epochs.clone() {
            self.own_requests(row, epoch);
        }
    }

    fn own_requests(&mut self, row: &Row, epoch: EpochView<'_>) {
        let y = self.y(row) + row.height.half();
        let mut sent = BTreeMap::new();
        // `drawn` is where the lane is full: another bar there would change nothing, unless it failed. `together`
        // counts the requests whose bars touch.
        let (mut drawn, mut together) = (Px(i32::MIN), 0_u64);
        for own in self.within(&epoch.trace.own_requests) {
            let (at, seq) = (own.moment.at, own.moment.seq);
            if own.step == OwnRequestStep::Sent {
                sent.insert(own.request, own.moment);
                continue;
            }
            let since = sent.remove(&own.request).unwrap_or(own.moment);
            let has_failed = own.step == OwnRequestStep::Failed;
            if at < self.left || since.at > self.right {
                continue;
            }
            let x0 = self.x(since.at);
            let x1 = self.x(at).max(x0 + LEAST);
            if x0 > drawn {
                self.together(row, (drawn, x0), together);
                together = 0;
            }
            together += 1;
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
        self.together(row, (drawn, self.end_x), together);
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

    /// Returns the recorded steps of all requests that can be in view: those from 3 min before to 3 min after it.
    fn within<'a>(&self, own_requests: &'a [OwnRequestMark]) -> &'a [OwnRequestMark] {
        let before = |at: Time, by_us: i64| {
            own_requests.partition_point(|own| own.moment.at < at.plus_micros(by_us))
        };
        &own_requests[before(self.left, -LONGEST_US)..before(self.right, LONGEST_US)]
    }

    /// Writes how many requests stand in touching bars, right of these bars, if there are several and there is room.
    fn together(&mut self, row: &Row, (x0, x1): (Px, Px), count: u64) {
        let words = format!("{} requests", number(count));
        let look = TextLook::plain(Token::Text3);
        let gap = Px::whole(6);
        let room = text_width(&words, look.size, look.weight) + gap + gap;
        if count > 1 && x0 >= Px::ZERO && x1 - x0 >= room {
            let y = self.y(row) + row.height.half() + Px::whole(4);
            self.text(Layer::Stream, x0 + gap, y, words, look);
        }
    }
}
