//! Draws the row of the objects without rows of their own: a bar, the time without changes, and the density of
//! changes.

use super::drawer::Drawer;
use super::label::{Label, Rank};
use super::look::{Layer, TextLook};
use crate::format::clock;
use crate::id::LaneId;
use crate::lanes::Row;
use crate::scene::Px;
use crate::store::WatchTrace;
use crate::tokens::Token;
use watchscope_model::tree;

impl Drawer<'_> {
    pub(super) fn more_row(&mut self, row: &Row) {
        let LaneId::More(watch) = row.id else {
            return;
        };
        let store = self.picture.store;
        let name = store.names().watch_name(watch);
        let known = store.state().and_then(|state| state.watches.get(name));
        let (y, bottom) = (
            self.y(row) + Px::whole(4),
            self.y(row) + row.height - Px::whole(4),
        );
        for (epoch, trace) in self.watch_traces(watch) {
            let Some(started) = trace.started else {
                continue;
            };
            let xs = (self.x(started.at), self.x(epoch.end));
            self.fill_faint(Layer::Life, xs, (y, bottom), Token::Life, 24);
            self.density_of_more(row, trace);
            let listed = known.and_then(|known| known.list.as_ref()?.complete);
            let rows = &self.picture.rows.rows;
            let shown = rows
                .iter()
                .filter(|other| matches!(other.id, LaneId::Object(of, _) if of == watch));
            let has_room = shown.count() < crate::lanes::OBJECTS_MOST;
            if let Some(listed) = listed.filter(|_| has_room) {
                let words = [format!("unchanged since the list at {}", clock(listed.at))];
                let (text_y, look) = (bottom + Px::whole(1), TextLook::plain(Token::Text3));
                let label = Label::new(Rank::Name, Layer::Life, words, look, text_y, xs);
                self.label_inside(label.reaching(self.width));
            }
        }
    }

    /// Draws the changes of the objects that have no rows.
    fn density_of_more(&mut self, row: &Row, trace: &WatchTrace) {
        let LaneId::More(watch) = row.id else {
            return;
        };
        let from = trace.marks.place_at(self.left);
        let to = trace
            .marks
            .place_at(watchscope_model::Time(self.right.0.saturating_add(1)));
        let rows = &self.picture.rows.rows;
        let shown = rows.iter().filter_map(|other| match other.id {
            LaneId::Object(of, object) if of == watch && !other.pinned => Some(object.0 as usize),
            _ => None,
        });
        let shown: Vec<usize> = shown.collect();
        if shown.len() >= trace.objects.len() {
            return;
        }
        // The objects with rows are few, so their marks are left out of all others: thousands of objects are without one,
        // and putting their marks in order took 17 ms of each frame.
        let mut left_out: Vec<usize> = Vec::new();
        for object in shown {
            let marks = trace.objects.get(object).map(|part| &*part.marks);
            let marks = marks.unwrap_or_default();
            let first = marks.partition_point(|&mark| (mark as usize) < from);
            let marks = marks[first..].iter().map(|&mark| mark as usize);
            left_out.extend(marks.take_while(|&mark| mark < to));
        }
        tree::sort(&mut left_out);
        let mut left_out = left_out.into_iter().peekable();
        let places = (from..to).filter(|place| {
            while left_out.next_if(|out| out < place).is_some() {}
            left_out.peek() != Some(place) && !trace.marks.kind(*place).is_by_list()
        });
        let limit = (row.height - Px::whole(3)).to_f64() as u8;
        let bottom = self.y(row) + row.height - Px::whole(1);
        self.columns(trace, places, bottom, limit);
    }
}
