//! Draws the rows of objects without rows of their own: a bar, the time without changes, and the density of changes.
//! One row stands for objects that are gone, another for all other objects without rows.

use std::ops::Range;

use watchscope_model::{Time, tree};

use super::drawer::Drawer;
use super::label::{Label, Rank};
use super::look::{Layer, TextLook};
use crate::format::clock;
use crate::id::{LaneId, ObjectId, WatchId};
use crate::lanes::Row;
use crate::scene::Px;
use crate::store::{MarkKind, WatchTrace};
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
        let places = trace.marks.places_within(self.left, self.right);
        let rows = &self.picture.rows.rows;
        let shown = rows.iter().filter_map(|other| match other.id {
            LaneId::Object(of, object) if of == watch => Some(object.0 as usize),
            _ => None,
        });
        let gone = self.gone_of(watch).map(|object| object.0 as usize);
        let mut shown: Vec<usize> = shown.chain(gone).collect();
        tree::sort(&mut shown);
        shown.dedup();
        if shown.len() >= trace.objects.len() {
            return;
        }
        let mut counts = self.counts();
        counts.add(&trace.marks, places.clone(), |sums| sums.live);
        // The objects with rows are few, so their changes are taken off those of all.
        for object in shown {
            each_mark(trace, object, &places, &mut |at, kind| {
                let class = kind.class().filter(|_| !kind.is_by_list());
                if let Some((column, class)) = counts.column(at).zip(class) {
                    column[class] = column[class].saturating_sub(1);
                }
            });
        }
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
        for (_, trace) in self.watch_traces(watch) {
            let places = trace.marks.places_within(self.left, self.right);
            let mut counts = self.counts();
            for object in &gone {
                each_mark(trace, object.0 as usize, &places, &mut |at, kind| {
                    if let Some((column, class)) = counts.column(at).zip(kind.class()) {
                        column[class] += 1;
                    }
                });
            }
            self.columns(&counts, bottom, limit);
        }
    }
}

/// Passes time and kind of each mark to `take`, in order: the marks of one object among the watch's marks at `places`.
fn each_mark(
    trace: &WatchTrace,
    object: usize,
    places: &Range<usize>,
    take: &mut dyn FnMut(Time, MarkKind),
) {
    let marks = trace.objects.get(object).map(|part| &part.marks);
    let marks = marks.map_or(&[][..], |marks| marks.within(places));
    let mut reader = trace.marks.reader();
    for mark in marks {
        take(reader.at(mark.place()), mark.kind());
    }
}
