//! Reports of the world's inside: at the end of each instant, the state of each part that differs from its last report.
//!
//! A part that changed has one record, however often it changed within the instant. Each write has a record of its own.
//! The observer reads and never acts, draws no random number and schedules nothing. The world therefore acts exactly
//! the same with and without reports.

use std::sync::Arc;

use watchscope_model::tree::BTreeMap;

use super::World;
use super::faults::Direction;
use crate::change::Change;
use crate::fault::Fault;
use crate::inside::{
    CacheLook, ConnectionLook, EtcdLook, InsideEvent, InsideRecord, Waiting, WatcherLook,
};
use crate::kinds::{Kinds, ResourceId};
use crate::message::{ConnectionId, RequestId, ServerId};
use crate::object::{ChangeKind, Object};
use crate::time::Time;

/// Objects by their key in etcd.
type Objects = BTreeMap<Arc<str>, Arc<Object>>;

/// The last report of each part, and the inside records that the driver has not yet taken.
///
/// The world bounds the observer's memory: both share the same objects.
#[derive(Debug, Default)]
pub(super) struct Observer {
    waiting: Waiting,
    /// Committed writes since the end of the previous instant.
    writes: Vec<Arc<Change>>,
    names: BTreeMap<ResourceId, Arc<str>>,
    etcd: Option<(EtcdLook, u32)>,
    objects: BTreeMap<ResourceId, Objects>,
    servers: BTreeMap<ServerId, bool>,
    caches: BTreeMap<(ServerId, ResourceId), ReportedCache>,
    watchers: BTreeMap<RequestId, WatcherLook>,
    connections: BTreeMap<ConnectionId, ConnectionLook>,
}

/// The last report of a watch cache.
#[derive(Debug)]
struct ReportedCache {
    look: CacheLook,
    edits: u64,
    objects: Objects,
}

impl Observer {
    fn name(&mut self, resource: ResourceId, kinds: &Kinds) -> Arc<str> {
        let name = || Arc::from(kinds.get(resource).qualified());
        Arc::clone(self.names.entry(resource).or_insert_with(name))
    }
}

impl World {
    /// Makes the parts of the world report their inside from now on, beginning with their whole state.
    /// [`World::next_inside_record`] takes the records. A second call does nothing.
    pub fn tell_inside(&mut self) {
        self.has_news = true;
        self.observer.get_or_insert_default();
    }

    /// Takes the oldest waiting inside record; `None` if no record waits, or before [`World::tell_inside`]. At most
    /// 65,536 records wait: further ones drop the oldest; see [`World::dropped_inside_records`].
    pub fn next_inside_record(&mut self) -> Option<InsideRecord> {
        self.observer.as_mut()?.waiting.pop()
    }

    /// Returns the number of inside records that were dropped because the driver did not take them in time; 0 before
    /// [`World::tell_inside`].
    pub fn dropped_inside_records(&self) -> u64 {
        self.observer
            .as_ref()
            .map_or(0, |observer| observer.waiting.dropped())
    }

    /// Notes a committed write for the report at the end of the instant.
    pub(super) fn observe_write(&mut self, change: &Arc<Change>) {
        if let Some(observer) = &mut self.observer {
            observer.writes.push(Arc::clone(change));
        }
    }

    /// Ends the instant: records each part that differs from its last report.
    pub(super) fn observe(&mut self) {
        let Some(mut observer) = self.observer.take() else {
            return;
        };
        let now = self.now;
        self.observe_etcd(&mut observer, now);
        self.observe_servers(&mut observer, now);
        self.observe_watchers(&mut observer, now);
        self.observe_connections(&mut observer, now);
        self.observer = Some(observer);
    }

    fn observe_etcd(&self, observer: &mut Observer, now: Time) {
        let look = EtcdLook {
            revision: self.etcd.revision(),
            compacted: self.etcd.compacted(),
            has_leader: !self.etcd.is_leaderless(),
        };
        let restores = self.etcd.restores();
        let writes = std::mem::take(&mut observer.writes);
        let known = observer.etcd.filter(|reported| reported.1 == restores);
        // A viewer derives the revision from the writes.
        let follows = known.map(|(reported, _)| EtcdLook {
            revision: writes
                .last()
                .map_or(reported.revision, |last| last.revision),
            ..reported
        });
        match known {
            Some(_) => {
                for change in &writes {
                    self.observe_change(observer, change, now);
                }
            }
            None => self.observe_all_objects(observer, now),
        }
        // Deletions by a restore come first: they carry the old revision of their object.
        if follows != Some(look) {
            observer.waiting.push(now, InsideEvent::Etcd(look));
        }
        observer.etcd = Some((look, restores));
    }

    fn observe_change(&self, observer: &mut Observer, change: &Arc<Change>, now: Time) {
        let resource = observer.name(change.resource, &self.kinds);
        let objects = observer.objects.entry(change.resource).or_default();
        if change.kind == ChangeKind::Deleted {
            objects.remove(&change.key);
        } else {
            objects.insert(Arc::clone(&change.key), Arc::clone(&change.object));
        }
        let event = InsideEvent::Write {
            resource,
            kind: change.kind,
            object: Arc::clone(&change.object),
            revision: change.revision,
        };
        observer.waiting.push(now, event);
    }

    /// At the beginning records all objects as added. After a restore records only objects that differ, and records
    /// objects that are gone as deleted.
    fn observe_all_objects(&self, observer: &mut Observer, now: Time) {
        let revision = self.etcd.revision();
        for (id, kind) in self.kinds.all() {
            let found = self.etcd.range(&kind.prefix, "", revision);
            let objects: Objects = found.map_or_else(
                |_| Objects::new(),
                |found| {
                    let pair = |(k, o): (&Arc<_>, &Arc<_>)| (Arc::clone(k), Arc::clone(o));
                    found.map(pair).collect()
                },
            );
            let resource = observer.name(id, &self.kinds);
            let reported = observer.objects.insert(id, objects).unwrap_or_default();
            let objects = &observer.objects[&id];
            let waiting = &mut observer.waiting;
            differences(&reported, objects, |object, is_there| {
                let event = InsideEvent::Write {
                    resource: Arc::clone(&resource),
                    kind: if is_there {
                        ChangeKind::Added
                    } else {
                        ChangeKind::Deleted
                    },
                    object: Arc::clone(object),
                    revision: object.revision(),
                };
                waiting.push(now, event);
            });
        }
    }

    fn observe_servers(&self, observer: &mut Observer, now: Time) {
        let is_let_in = !self.faults.contains(&Fault::Refuse);
        for server in &self.servers {
            let is_serving = is_let_in && self.is_listening(server.id);
            if observer.servers.insert(server.id, is_serving) != Some(is_serving) {
                let event = InsideEvent::Server {
                    server: server.id,
                    version: server.version(),
                    is_serving,
                };
                observer.waiting.push(now, event);
            }
            for resource in server.cached() {
                let Some((look, edits, objects)) = server.cache_look(resource) else {
                    continue;
                };
                let key = (server.id, resource);
                let reported = observer.caches.remove(&key);
                if reported
                    .as_ref()
                    .is_some_and(|reported| reported.look == look && reported.edits == edits)
                {
                    observer
                        .caches
                        .extend(reported.map(|reported| (key, reported)));
                    continue;
                }
                let name = observer.name(resource, &self.kinds);
                let waiting = &mut observer.waiting;
                let mut reported = reported.unwrap_or_else(|| ReportedCache {
                    look,
                    edits,
                    objects: Objects::new(),
                });
                let event = InsideEvent::Cache {
                    server: server.id,
                    resource: Arc::clone(&name),
                    look: Some(look),
                };
                waiting.push(now, event);
                // Compares the objects even if the count of edits is equal: the cache may have been replaced by a new
                // one.
                differences(&reported.objects, objects, |object, is_held| {
                    let event = InsideEvent::Held {
                        server: server.id,
                        resource: Arc::clone(&name),
                        object: Arc::clone(object),
                        is_held,
                    };
                    waiting.push(now, event);
                });
                reported.objects.clone_from(objects);
                (reported.look, reported.edits) = (look, edits);
                observer.caches.insert(key, reported);
            }
        }
        let is_gone = |(server, resource): &(ServerId, ResourceId)| {
            let server = self.servers.get(usize::from(server.0));
            server.is_none_or(|server| server.cache_look(*resource).is_none())
        };
        let gone: Vec<_> = observer.caches.keys().copied().filter(is_gone).collect();
        for key in gone {
            observer.caches.remove(&key);
            let event = InsideEvent::Cache {
                server: key.0,
                resource: observer.name(key.1, &self.kinds),
                look: None,
            };
            observer.waiting.push(now, event);
        }
    }

    fn observe_watchers(&self, observer: &mut Observer, now: Time) {
        let reported = std::mem::take(&mut observer.watchers);
        for server in &self.servers {
            for (watcher, resource, look) in server.watcher_looks() {
                let connection = self.network.owner(watcher);
                if connection.is_some_and(|connection| self.clients.is_of_crowd(connection)) {
                    continue;
                }
                observer.watchers.insert(watcher, look);
                if reported.get(&watcher) == Some(&look) {
                    continue;
                }
                let Some(connection) = connection else {
                    continue;
                };
                let event = InsideEvent::Watcher {
                    server: server.id,
                    watcher,
                    connection,
                    client: self.network.user(connection).into(),
                    resource: observer.name(resource, &self.kinds),
                    look,
                };
                observer.waiting.push(now, event);
            }
        }
        for watcher in reported.into_keys() {
            if !observer.watchers.contains_key(&watcher) {
                let event = InsideEvent::WatcherEnded(watcher);
                observer.waiting.push(now, event);
            }
        }
    }

    fn observe_connections(&self, observer: &mut Observer, now: Time) {
        let mut reported = std::mem::take(&mut observer.connections);
        for connection in self.network.connections() {
            if self.clients.is_of_crowd(connection) {
                continue;
            }
            let Some(server) = self.network.server(connection) else {
                continue;
            };
            let known = reported.remove(&connection);
            let user = self.network.user(connection);
            let client = match &known {
                Some(known) if &*known.client == user => Arc::clone(&known.client),
                _ => user.into(),
            };
            let look = ConnectionLook {
                server,
                client,
                is_stalled: self.is_stalled(connection, Direction::Up)
                    || self.is_stalled(connection, Direction::Down),
                is_cut: self.network.is_cut(connection),
                streams: self.network.open_responses(connection),
            };
            if known.as_ref() != Some(&look) {
                let event = InsideEvent::Connection {
                    connection,
                    look: Some(look.clone()),
                };
                observer.waiting.push(now, event);
            }
            observer.connections.insert(connection, look);
        }
        for connection in reported.into_keys() {
            let event = InsideEvent::Connection {
                connection,
                look: None,
            };
            observer.waiting.push(now, event);
        }
    }
}

/// Calls `report` for each object that differs between `reported` and `now`; the flag says whether the object is in
/// `now`.
fn differences(reported: &Objects, now: &Objects, mut report: impl FnMut(&Arc<Object>, bool)) {
    for (key, object) in now {
        if reported
            .get(key)
            .is_none_or(|known| !Arc::ptr_eq(known, object))
        {
            report(object, true);
        }
    }
    for (key, object) in reported {
        if !now.contains_key(key) {
            report(object, false);
        }
    }
}
