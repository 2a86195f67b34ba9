//! Finds the changes of a time in which nobody watched. The page compares a watch's first list in an epoch with its
//! objects at the end of the epoch before. The log's writer cannot compare them, because it knows nothing from before
//! its epoch.

use std::sync::Arc;

use watchscope_model::event::{ListComplete, WatchStopped};
use watchscope_model::fold::{Moment, Objects};
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::Phase;
use watchscope_model::{Entry, Event, Object, Seq, State, Time, WatchName};

use super::cache::Store;
use super::epoch::Epoch;
use super::parts::{Compared, Differs, OverSeam};
use crate::id::{ObjectId, WatchId};

impl Store {
    /// Compares the first lists of each epoch with the end of the epoch before, if both are loaded and not compared
    /// yet.
    pub(super) fn compare_over_seams(&mut self) {
        for place in 1..self.epochs.len() {
            let (earlier, later) = self.epochs.split_at_mut(place);
            let (Some(before), Some(after)) = (earlier.last(), later.first_mut()) else {
                continue;
            };
            if before.is_of_another_cluster(after) {
                // The objects of one cluster say nothing about another cluster.
                after.forget_compared();
                continue;
            }
            let lists = after.uncompared_lists(before.number);
            if lists.is_empty() {
                continue;
            }
            let Some(end) = before.held_at_end() else {
                continue;
            };
            for (watch, list) in lists {
                let name = self.names.watch_name(watch).clone();
                let state = after.state_at(list.seq);
                let listed = state.as_ref().and_then(|state| held(state, &name));
                let both = end.get(&name).zip(listed);
                let number = |object: &_| self.names.object(watch, object);
                let found = both.map(|(then, listed)| differ(then, listed, number));
                after.set_compared(watch, (before.number, found));
            }
        }
    }

    /// Returns the stretch of time to load so that an epoch's first list between `left` and `right`, edges included,
    /// can be compared with the epoch before. The stretch is the last 1 µs of the epoch before. If several epochs have
    /// such a list, the newest counts. `None` if there is no such list, or nothing to load.
    #[must_use]
    pub fn lacks_before_seam(&self, left: Time, right: Time) -> Option<(Time, Time)> {
        let mut pairs = self.epochs.iter().zip(self.epochs.iter().skip(1)).rev();
        pairs.find_map(|(before, after)| {
            let ends = before.end_to_load_for(after)?;
            let lists = after.uncompared_lists(before.number);
            let mut times = lists.iter().map(|(_, list)| list.at);
            let is_wanted = times.any(|at| (left..=right).contains(&at));
            is_wanted.then(|| (ends.plus_micros(-1), ends))
        })
    }

    /// Whether the end of the epoch before epoch `run` is at the server, and not loaded yet.
    pub(crate) fn is_to_load_before(&self, run: u32) -> bool {
        let mut pairs = self.epochs.iter().zip(self.epochs.iter().skip(1));
        let pair = pairs.find(|(_, after)| after.number == run);
        pair.is_some_and(|(before, after)| before.end_to_load_for(after).is_some())
    }
}

impl Epoch {
    /// Whether two epochs are known to have watched different clusters.
    pub(super) fn is_of_another_cluster(&self, other: &Self) -> bool {
        let uids = self.trace.cluster_uid.as_ref();
        uids.zip(other.trace.cluster_uid.as_ref())
            .is_some_and(|(uid, other)| uid != other)
    }

    fn forget_compared(&mut self) {
        for watch in self.trace.watches.iter_mut().flatten() {
            if let Some(list) = watch.lists.first_mut() {
                list.compared = None;
            }
        }
    }

    /// Returns the first list of each watch in this epoch, if all records up to the list are loaded and the list is not
    /// compared with the epoch `before` yet.
    fn uncompared_lists(&self, before: u32) -> Vec<(WatchId, Moment)> {
        let watches = (0..).map(WatchId).zip(&self.trace.watches);
        let first = watches.filter_map(|(id, watch)| {
            let list = watch.as_ref()?.lists.first()?;
            let is_new = list
                .compared
                .as_ref()
                .is_none_or(|(with, _)| *with != before);
            (is_new && !list.relist).then_some((id, list.moment))
        });
        first
            .filter(|(_, list)| self.has_all(Seq(1), list.seq))
            .collect()
    }

    /// Returns the time of this epoch's last record, if the server has that record, it is not loaded, and the epoch
    /// `after` is not of another cluster.
    fn end_to_load_for(&self, after: &Self) -> Option<Time> {
        let last = &self.catalogue.last()?.summary;
        let is_to_load = self.is_kept(last.last) && !self.has_record(last.last);
        (is_to_load && !self.is_of_another_cluster(after)).then_some(last.last_at)
    }

    fn set_compared(&mut self, watch: WatchId, compared: Compared) {
        let watch = self.trace.watches.get_mut(watch.0 as usize);
        let list = watch.and_then(|watch| watch.as_mut()?.lists.first_mut());
        if let Some(list) = list {
            list.compared = Some(compared);
        }
    }

    /// Returns the objects of each watch at the end of a finished epoch; `None` if the epoch's last chapter is not
    /// loaded. For a watch that was stopped in that chapter, these are its objects at the stop.
    fn held_at_end(&self) -> Option<BTreeMap<WatchName, Objects>> {
        let last = self.chapters.last()?;
        let listed = self.catalogue.last().map(|entry| entry.summary.last);
        // The chapter is read only if it is the last one, because each segment repeats this request until it is.
        if listed.is_some_and(|listed| listed > last.last) {
            return None;
        }
        let mut ended: BTreeMap<WatchName, (Seq, Objects)> = BTreeMap::new();
        let (state, _) = last.fold_while(|entry, before| {
            if let Entry::Record(record) = entry
                && let Event::WatchStopped(WatchStopped { watch, .. }) = &record.event
                && let Some(objects) = held(before, watch)
            {
                let started = before.watches[watch].since.seq;
                // The state after a second stop would have no objects.
                if ended.get(watch).is_none_or(|(known, _)| *known != started) {
                    ended.insert(watch.clone(), (started, objects.clone()));
                }
            }
            true
        })?;
        for (name, watch) in &state.watches {
            let is_stopped = matches!(&watch.phase, Some(open) if open.phase == Phase::Stopped);
            if let Some(objects) = held(&state, name).filter(|_| !is_stopped) {
                ended.insert(name.clone(), (watch.since.seq, objects.clone()));
            }
        }
        let objects = ended
            .into_iter()
            .map(|(name, (_, objects))| (name, objects));
        Some(objects.collect())
    }

    /// Returns the fold up to a loaded record.
    fn state_at(&self, seq: Seq) -> Option<State> {
        let mut chapters = self.chapters.iter();
        let chapter = chapters.find(|chapter| chapter.first <= seq && seq <= chapter.last)?;
        let (state, _) = chapter.fold_while(|entry, _| entry.seq() <= seq)?;
        Some(state)
    }
}

/// Returns the objects of a watch, if it has listed.
fn held<'a>(state: &'a State, watch: &WatchName) -> Option<&'a Objects> {
    let watch = state.watches.get(watch)?;
    (watch.counts.of(ListComplete::KIND) > 0).then_some(&watch.objects)
}

fn differ(
    then: &Objects,
    listed: &Objects,
    mut number: impl FnMut(&Arc<Object>) -> ObjectId,
) -> OverSeam {
    let mut found = OverSeam::default();
    for now in listed.iter() {
        let differs = match then.get(&now.object) {
            None => Differs::Added,
            Some(held) if held.object.uid != now.object.uid => Differs::Replaced,
            Some(held) if held.resource_version == now.resource_version => continue,
            Some(_) => Differs::Changed,
        };
        found.objects.push((number(&now.object), differs));
    }
    let gone = then
        .iter()
        .filter(|held| listed.get(&held.object).is_none());
    for held in gone {
        let object = number(&held.object);
        found.objects.push((object, Differs::Removed));
    }
    tree::sort_by_key(&mut found.objects, |(object, _)| *object);
    for (_, differs) in &found.objects {
        *match differs {
            Differs::Added => &mut found.added,
            Differs::Changed | Differs::Replaced => &mut found.changed,
            Differs::Removed => &mut found.removed,
        } += 1;
    }
    found
}
