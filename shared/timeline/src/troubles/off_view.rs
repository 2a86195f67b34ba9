//! Trouble on lanes above and below the rows on screen.

use watchscope_model::tree;

use super::list::Troubles;
use super::worst::{Named, OffSide};
use crate::id::{LaneId, WatchId};
use crate::lanes::{RowKind, Rows};
use crate::scene::Px;

impl Troubles {
    /// Returns the trouble on lanes wholly above and wholly below a window of rows, in this order. The window reaches
    /// from `top` to `bottom`, counted from the top of all rows. The rows of a watch count as one lane. Trouble of
    /// several watches counts at the first of them, trouble of no watch nowhere. Trouble of a watch without a row, or
    /// with a pinned row, counts at the row of quiet watches: above if that row is wholly above the window, otherwise
    /// below. Such trouble counts nowhere if there is no row of quiet watches, or if a filter hides lanes.
    #[must_use]
    pub fn off_rows(&self, rows: &Rows, top: Px, bottom: Px) -> (OffSide, OffSide) {
        let (mut above, mut below) = ((0, Named::default()), (0, Named::default()));
        let mut add = |(y0, y1): (Px, Px), (count, named): (u64, Named)| {
            let side = if y1 <= top {
                &mut above
            } else if y0 >= bottom {
                &mut below
            } else {
                return;
            };
            side.0 += count;
            for place in named.places() {
                side.1
                    .add(place, |place| self.all()[place as usize].badness());
            }
        };
        let mut with_row: Vec<WatchId> = Vec::new();
        let mut quiet = None;
        let mut all = rows.rows.iter().peekable();
        while let Some(row) = all.next() {
            if row.id == LaneId::Quiet {
                let is_above = row.bottom() <= top;
                quiet = Some(if is_above {
                    (row.y, top)
                } else {
                    (bottom, row.bottom())
                });
            }
            let is_head = matches!(row.kind, RowKind::Watch | RowKind::Strip) && !row.pinned;
            let (Some(watch), true) = (row.id.watch(), is_head) else {
                continue;
            };
            let mut end = row.bottom();
            while let Some(next) = all.next_if(|next| {
                let is_head = matches!(next.kind, RowKind::Watch | RowKind::Strip);
                next.id.watch() == Some(watch) && !is_head
            }) {
                end = next.bottom();
            }
            if let Some(of) = self.of_watch(watch) {
                with_row.push(watch);
                add((row.y - row.label, end), of.first);
            }
        }
        if let Some(ys) = quiet.filter(|_| rows.hidden == 0) {
            tree::sort_by_key(&mut with_row, |&watch| watch);
            let without = self.watches().iter();
            let without = without.filter(|of| with_row.binary_search(&of.watch).is_err());
            without.for_each(|of| add(ys, of.first));
        }
        (above.1.side(above.0), below.1.side(below.0))
    }
}
