//! Looks up lanes: their names, and the records in each, one after the other.

use std::sync::Arc;

use watchscope_model::{Object, Seq, Text, Time, Uid, WatchName};

use super::cache::Store;
use super::names::Names;
use super::object_marks::ObjectMarks;
use super::trace::WatchTrace;
use crate::id::{LaneId, LayerId, ObjectId, RecordId, WatchId};
use crate::levels::LayerNames;

impl Store {
    /// Returns the names of a lane's watch and object; each is `None` for a lane that has none. Both may be hostile:
    /// show as text.
    ///
    /// # Panics
    /// If the lane has a number of a watch or object that another store gave, and this store has no such number.
    #[must_use]
    pub fn lane_names(&self, lane: LaneId) -> (Option<&WatchName>, Option<&Object>) {
        let watch = lane.watch().map(|watch| self.names.watch_name(watch));
        let object = match lane {
            LaneId::Object(watch, object) => Some(&**self.names.object_at(watch, object)),
            _ => None,
        };
        (watch, object)
    }

    /// Returns a lane's name, such as `shop/pods` or `shop/pods shop/web-0`. The name never changes: tests, links and
    /// lessons find the lane by it. The name is empty for a layer that the store does not know. Hostile: show as text.
    /// Panics as [`Store::lane_names`] does, also for a server that this store does not have.
    #[must_use]
    pub fn lane_key(&self, lane: LaneId) -> String {
        let (watch, object) = self.lane_names(lane);
        let watch = watch.map_or("", |watch| watch.as_str());
        match (lane, object) {
            (LaneId::Findings, _) => "findings".to_owned(),
            (LaneId::OwnRequests, _) => "own requests".to_owned(),
            (LaneId::Layer(layer), _) => match self.layer_name(layer) {
                Some(name) => name.to_string(),
                None => String::new(),
            },
            (LaneId::Connection(_), _) => match self.lane_server(lane) {
                Some(server) => format!("connection {server}"),
                None => String::new(),
            },
            (LaneId::More(_), _) => format!("{watch} more"),
            (LaneId::Gone(_), _) => format!("{watch} gone"),
            (LaneId::Quiet, _) => "quiet watches".to_owned(),
            (LaneId::Version(_), _) => format!("{watch} resourceVersion"),
            (_, Some(object)) => {
                let namespace = object.namespace.as_deref().unwrap_or("-");
                format!("{watch} {namespace}/{}", object.name)
            }
            _ => watch.to_owned(),
        }
    }

    /// Returns the lanes of all watches and their objects, also of those that have no row. Watches come by name, each
    /// followed by its objects by namespace and name. There are no lanes before the store met a watch.
    pub fn lanes(&self) -> impl Iterator<Item = LaneId> {
        let watches = self.names.watches_by_name().iter();
        watches.flat_map(|&watch| {
            let objects = self.names.objects_by_name(watch).iter();
            let objects = objects.map(move |&object| LaneId::Object(watch, object));
            std::iter::once(LaneId::Watch(watch)).chain(objects)
        })
    }

    /// Returns the address of the server of a lane of connections, as records have it (`10.0.0.1:6443`); `None` for
    /// other lanes. Panics if this store has no such server.
    #[must_use]
    pub fn lane_server(&self, lane: LaneId) -> Option<&Text> {
        match lane {
            LaneId::Connection(server) => Some(self.names.server_name(server)),
            _ => None,
        }
    }

    /// Returns the lane of a watch; if `object` is given, that of its object of that namespace and name. `None` if the
    /// store never met that watch or object.
    #[must_use]
    pub fn find_lane(&self, watch: &WatchName, object: Option<&Arc<Object>>) -> Option<LaneId> {
        let watch = self.names.find_watch(watch)?;
        match object {
            Some(object) => Some(LaneId::Object(
                watch,
                self.names.find_object(watch, object)?,
            )),
            None => Some(LaneId::Watch(watch)),
        }
    }

    /// Returns the lane of a key that [`Store::lane_key`] returned for a watch or an object; `None` for other keys, and
    /// if the store never met the watch or object.
    #[must_use]
    pub fn lane_of_key(&self, key: &str) -> Option<LaneId> {
        if let Some(lane) = self.find_lane(&key.into(), None) {
            return Some(lane);
        }
        // Names of objects have no space; selectors of watches may have one.
        let (watch, object) = key.rsplit_once(' ')?;
        let (namespace, name) = object.split_once('/')?;
        let object = Arc::new(Object {
            namespace: Some(namespace).filter(|name| *name != "-").map(Into::into),
            name: name.into(),
            uid: Uid::parse(""),
        });
        self.find_lane(&watch.into(), Some(&object))
    }

    /// Returns the number of all lanes of watches and objects that the store ever met. The number never falls.
    #[must_use]
    pub fn count_lanes(&self) -> usize {
        let names = &self.names;
        let watches = names.watches_by_name();
        let objects = watches
            .iter()
            .map(|&watch| names.objects_by_name(watch).len());
        watches.len() + objects.sum::<usize>()
    }

    /// Returns the record with the object's version before that of `id` in the same epoch, for the difference in the
    /// detail panel. `id` need not be loaded. `None` if no earlier version is loaded, for an unknown epoch, or for a
    /// lane of no object.
    #[must_use]
    pub fn previous_of_object(&self, lane: LaneId, id: RecordId) -> Option<RecordId> {
        let LaneId::Object(watch, object) = lane else {
            return None;
        };
        let (trace, marks) = self.object_marks(id.epoch, watch, object)?;
        let earlier = marks.within(&(0..trace.marks.place_of(id.seq)));
        Some(RecordId {
            epoch: id.epoch,
            seq: trace.marks.seq(earlier.last()?.place()),
        })
    }

    /// Returns the record after (`forward`) or before `id` in a lane, in the same epoch. `None` at the first or last
    /// record, for an unknown epoch, and for a lane of several objects or watches. `id` itself need not be in the lane.
    ///
    /// The records of an object are its loaded changes. Those of a watch are its loaded changes, bookmarks and complete
    /// lists. Those of its resourceVersion are the same, without changes by a list. Those of connections are the
    /// openings of known connections, even if these lie before all loaded records. Those of findings are the loaded
    /// records that raised a finding. Those of own requests are all loaded records of such requests. Those of a layer
    /// are its loaded changes. A layer's level at the begin of a loaded chapter counts as a record, too. This is the
    /// last record before the chapter, or the last known change. For a chapter that begins an epoch, the seq of this
    /// record is 0.
    ///
    /// Panics if this store has no such server.
    #[must_use]
    pub fn neighbour(&self, lane: LaneId, id: RecordId, forward: bool) -> Option<RecordId> {
        let seqs = self.lane_seqs(lane, id.epoch)?;
        let place = if forward {
            seqs.partition_point(|&seq| seq <= id.seq)
        } else {
            seqs.partition_point(|&seq| seq < id.seq).checked_sub(1)?
        };
        seqs.get(place).map(|&seq| RecordId {
            epoch: id.epoch,
            seq,
        })
    }

    /// Returns the last record in a lane at or before a time, in the newest epoch that has one; `None` if there is no
    /// such record. The records of a lane are those of [`Store::neighbour`], which need not all be loaded. For own
    /// requests, and lanes of several objects or watches, the result is always `None`. Panics if this store has no such
    /// server.
    #[must_use]
    pub fn last_before(&self, lane: LaneId, at: Time) -> Option<RecordId> {
        let epochs = self.epochs.iter().rev();
        epochs.map(|epoch| epoch.number).find_map(|epoch| {
            let seqs = self.lane_seqs(lane, epoch)?;
            let place = seqs.partition_point(|&seq| {
                self.at_of(lane, epoch, seq)
                    .is_some_and(|other| other <= at)
            });
            place.checked_sub(1).map(|place| RecordId {
                epoch,
                seq: seqs[place],
            })
        })
    }

    /// Returns the time of the record `seq` in a lane.
    fn at_of(&self, lane: LaneId, epoch: u32, seq: Seq) -> Option<Time> {
        let of = self.epoch(epoch)?;
        let trace = &of.trace;
        if let LaneId::Layer(layer) = lane {
            let levels = of.layer_trace.levels(layer);
            let point = levels.iter().find(|point| point.moment.seq == seq)?;
            return Some(point.moment.at);
        }
        if let LaneId::Connection(_) = lane {
            return trace.connections.get(seq).map(|span| span.start.at);
        }
        match lane.watch() {
            Some(watch) => {
                let marks = &trace.watch(watch)?.marks;
                let place = marks.place_of(seq);
                (place < marks.len()).then(|| marks.at(place))
            }
            None => trace
                .raised
                .iter()
                .find(|raised| raised.seq == seq)
                .map(|raised| raised.at),
        }
    }

    fn lane_seqs(&self, lane: LaneId, epoch: u32) -> Option<Vec<Seq>> {
        let of = self.epoch(epoch)?;
        let trace = &of.trace;
        Some(match lane {
            LaneId::Findings => trace.raised.iter().map(|raised| raised.seq).collect(),
            LaneId::OwnRequests => trace
                .own_requests
                .iter()
                .map(|request| request.moment.seq)
                .collect(),
            LaneId::Layer(layer) => {
                let levels = of.layer_trace.levels(layer);
                levels.iter().map(|point| point.moment.seq).collect()
            }
            LaneId::Object(watch, object) => {
                let (trace, marks) = self.object_marks(epoch, watch, object)?;
                marks.places().map(|place| trace.marks.seq(place)).collect()
            }
            LaneId::Connection(server) => {
                let remote = self.names.server_name(server);
                let spans = trace.connections.all().iter();
                spans
                    .filter(|span| span.what.remote == *remote)
                    .map(|span| span.start.seq)
                    .collect()
            }
            LaneId::More(_) | LaneId::Gone(_) | LaneId::Quiet => Vec::new(),
            LaneId::Watch(watch) => {
                let marks = &trace.watch(watch)?.marks;
                (0..marks.len()).map(|place| marks.seq(place)).collect()
            }
            LaneId::Version(watch) => {
                let marks = &trace.watch(watch)?.marks;
                (0..marks.len())
                    .filter(|&place| marks.kind(place).moves_version())
                    .map(|place| marks.seq(place))
                    .collect()
            }
        })
    }

    fn object_marks(
        &self,
        epoch: u32,
        watch: WatchId,
        object: ObjectId,
    ) -> Option<(&WatchTrace, &ObjectMarks)> {
        let trace = self.epoch(epoch)?.trace.watch(watch)?;
        Some((trace, &trace.objects.get(object.0 as usize)?.marks))
    }

    /// Returns the traces of a watch, one for each epoch that has records of it.
    pub(crate) fn watch_traces(&self, watch: WatchId) -> Vec<&WatchTrace> {
        let epochs = self.epochs.iter();
        epochs
            .filter_map(|epoch| epoch.trace.watch(watch))
            .collect()
    }

    pub(crate) fn layer_names(&self) -> &LayerNames {
        &self.layer_names
    }

    /// Returns a layer's name, by which tests and links find it. Hostile: show as text. `None` if the store does not
    /// know the layer.
    #[must_use]
    pub fn layer_name(&self, layer: LayerId) -> Option<&Text> {
        self.layer_names.name(layer)
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }
}
