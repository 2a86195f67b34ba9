//! Draws the rows of objects without rows of their own: a bar, the time without changes, and the density of changes.
//! One row stands for objects that are gone, another for all other objects without rows.

use watchscope_model::tree;

use super::drawer::Drawer;
use super::label::{Label, Rank};
use super::look::{Layer, TextLook};
use super::strip::Counts;
use crate::format::clock;
use crate::id::{LaneId, ObjectId, WatchId};
use crate::lanes::Row;
use crate::scene::Px;
use crate::store::{MarkKind, ObjectMark, WatchTrace};
use crate::tokens::Token;

impl<'a> Drawer<'a> {
    pub(super) fn more_row(&mut self, row: &Row) {
        let watch = match row.id {
            LaneId::More(watch) => watch,
            LaneId::Gone(watch) => {
                self.gone_row(row, watch);
                return;
            }
            _ => return,
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
            self.density_of_more(row, epoch.number, trace);
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
    fn density_of_more(&mut self, row: &Row, epoch: u32, trace: &WatchTrace) {
        let LaneId::More(watch) = row.id else {
            return;
        };
        let places = trace.marks.places_within(self.left, self.right);
        let rows = &self.picture.rows.rows;
        let shown = rows.iter().filter_map(|other| match other.id {
            LaneId::Object(of, object) if of == watch => Some(object),
            _ => None,
        });
        let mut shown: Vec<ObjectId> = shown.chain(self.gone_of(watch)).collect();
        tree::sort(&mut shown);
        shown.dedup();
        if shown.len() >= trace.objects.len() {
            return;
        }
        let mut counts = self.counts();
        counts.add(&trace.marks, places, |sums| sums.live);
        // The objects with rows are few, so their changes are taken off those of all.
        self.each_mark(
            &mut counts,
            (epoch, watch),
            trace,
            &shown,
            &mut |column, kind| {
                if let Some(class) = kind.class().filter(|_| !kind.is_by_list()) {
                    column[class] = column[class].saturating_sub(1);
                }
            },
        );
        let limit = (row.height - Px::whole(3)).to_f64() as u8;
        let bottom = self.y(row) + row.height - Px::whole(1);
        self.columns(&counts, bottom, limit);
    }

    /// Returns the gone objects of a watch.
    fn gone_of(&self, watch: WatchId) -> impl Iterator<Item = ObjectId> + use<'a> {
        let all = self.picture.rows.gone_of.iter();
        all.filter(move |(of, _)| *of == watch)
            .map(|&(_, object)| object)
    }

    /// Draws the changes of a watch's gone objects.
    fn gone_row(&mut self, row: &Row, watch: WatchId) {
        let bottom = self.y(row) + row.height - Px::whole(1);
        let limit = (row.height - Px::whole(3)).to_f64() as u8;
        let gone: Vec<ObjectId> = self.gone_of(watch).collect();
        for (epoch, trace) in self.watch_traces(watch) {
            let mut counts = self.counts();
            self.each_mark(
                &mut counts,
                (epoch.number, watch),
                trace,
                &gone,
                &mut |column, kind| {
                    if let Some(class) = kind.class() {
                        column[class] += 1;
                    }
                },
            );
            self.columns(&counts, bottom, limit);
        }
    }

    /// Passes the column and the kind of each mark of these objects in view to `take`.
    fn each_mark(
        &mut self,
        counts: &mut Counts,
        of: (u32, WatchId),
        trace: &WatchTrace,
        objects: &[ObjectId],
        take: &mut dyn FnMut(&mut [u32; 3], MarkKind),
    ) {
        let places = trace.marks.places_within(self.left, self.right);
        let objects = objects
            .iter()
            .filter_map(|object| trace.objects.get(object.0 as usize));
        let marks: Vec<&[ObjectMark]> =
            objects.map(|object| object.marks.within(&places)).collect();
        let (from, column_us) = (counts.left(), counts.column_us());
        if marks.iter().map(|marks| marks.len()).sum::<usize>() < counts.len() {
            let mut reader = trace.marks.reader();
            for mark in marks.into_iter().flatten() {
                if let Some(column) = counts.column(reader.at(mark.place())) {
                    take(column, mark.kind());
                }
            }
            return;
        }
        let borders = self.borders(of, trace, from, column_us);
        for marks in marks {
            let mut marks = marks.iter().peekable();
            for (column, border) in counts.columns().iter_mut().zip(&*borders) {
                while let Some(mark) = marks.next_if(|mark| mark.place() < *border) {
                    take(column, mark.kind());
                }
            }
        }
    }
}
