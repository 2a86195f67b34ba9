//! What the world tells of its inside: at the end of each instant, what is otherwise than was told last.
//!
//! One record for each part that changed, however often it did within the instant; only writes are told one by one, so
//! their number is that of the writes. It reads and never acts, draws no chance and schedules nothing, so a world that
//! tells its inside does exactly what it does in silence.

use std::sync::Arc;

use watchscope_model::tree::BTreeMap;

use super::World;
use super::faults::Way;
use crate::change::Change;
use crate::fault::Fault;
use crate::inside::{
    CacheLook, ConnectionLook, EtcdLook, InsideEvent, InsideRecord, Waiting, WatcherLook,
};
use crate::kinds::{Kinds, ResourceId};
use crate::message::{ConnectionId, RequestId, ServerId};
use crate::object::{ChangeKind, Object};
use crate::time::Time;

/// Objects by key.
type Objects = BTreeMap<Arc<str>, Arc<Object>>;

/// What was told, and what waits to be taken.
///
/// Bounded by the world: what it holds is shared with it.
#[derive(Debug, Default)]
pub(super) struct Observer {
    waiting: Waiting,
    /// Writes since the last instant was told.
    writes: Vec<Arc<Change>>,
    names: BTreeMap<ResourceId, Arc<str>>,
    etcd: Option<(EtcdLook, u32)>,
    objects: BTreeMap<ResourceId, Objects>,
    servers: BTreeMap<ServerId, bool>,
    caches: BTreeMap<(ServerId, ResourceId), ToldCache>,
    watchers: BTreeMap<RequestId, WatcherLook>,
    connections: BTreeMap<ConnectionId, ConnectionLook>,
}

/// What was told of a cache.
#[derive(Debug)]
struct ToldCache {
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
    /// From now on the parts of the world tell their insides, beginning with all there is;
    /// [`World::next_inside_record`] takes what they tell.
    pub fn tell_inside(&mut self) {
        self.observer.get_or_insert_default();
    }

    /// Takes the next thing a part told of its inside. Not taking them costs 65,536 records; see
    /// [`World::dropped_inside_records`].
    pub fn next_inside_record(&mut self) -> Option<InsideRecord> {
        self.observer.as_mut()?.waiting.pop()
    }

    /// How many records of the inside were dropped because nobody took them.
    pub fn dropped_inside_records(&self) -> u64 {
        self.observer
            .as_ref()
            .map_or(0, |observer| observer.waiting.dropped())
    }

    /// A write was committed.
    pub(super) fn observe_write(&mut self, change: &Arc<Change>) {
        if let Some(observer) = &mut self.observer {
            observer.writes.push(Arc::clone(change));
        }
    }

    /// The instant is over: tells what is otherwise than was told last.
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
        let known = observer.etcd.filter(|told| told.1 == restores);
        // The head follows from the writes.
        let follows = known.map(|(told, _)| EtcdLook {
            revision: writes.last().map_or(told.revision, |last| last.revision),
            ..told
        });
        match known {
            Some(_) => {
                for change in &writes {
                    self.observe_change(observer, change, now);
                }
            }
            None => self.observe_all_objects(observer, now),
        }
        // After what was deleted by a restore, which is told with the version it had.
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

    /// At the beginning, and after a restore: what is there, and what is there no more.
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
            let told = observer.objects.insert(id, objects).unwrap_or_default();
            let objects = &observer.objects[&id];
            let waiting = &mut observer.waiting;
            differences(&told, objects, |object, is_there| {
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
                let told = observer.caches.remove(&key);
                if told
                    .as_ref()
                    .is_some_and(|told| told.look == look && told.edits == edits)
                {
                    observer.caches.extend(told.map(|told| (key, told)));
                    continue;
                }
                let name = observer.name(resource, &self.kinds);
                let waiting = &mut observer.waiting;
                let mut told = told.unwrap_or_else(|| ToldCache {
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
                // Also where as many edits were told: it may be another cache, made anew.
                differences(&told.objects, objects, |object, is_held| {
                    let event = InsideEvent::Held {
                        server: server.id,
                        resource: Arc::clone(&name),
                        object: Arc::clone(object),
                        is_held,
                    };
                    waiting.push(now, event);
                });
                told.objects.clone_from(objects);
                (told.look, told.edits) = (look, edits);
                observer.caches.insert(key, told);
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
        let told = std::mem::take(&mut observer.watchers);
        for server in &self.servers {
            for (watcher, resource, look) in server.watcher_looks() {
                observer.watchers.insert(watcher, look);
                if told.get(&watcher) == Some(&look) {
                    continue;
                }
                let Some(connection) = self.network.owner(watcher) else {
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
        for watcher in told.into_keys() {
            if !observer.watchers.contains_key(&watcher) {
                let event = InsideEvent::WatcherEnded(watcher);
                observer.waiting.push(now, event);
            }
        }
    }

    fn observe_connections(&self, observer: &mut Observer, now: Time) {
        let mut told = std::mem::take(&mut observer.connections);
        for connection in self.network.connections() {
            let Some(server) = self.network.server(connection) else {
                continue;
            };
            let known = told.remove(&connection);
            let user = self.network.user(connection);
            let client = match &known {
                Some(known) if &*known.client == user => Arc::clone(&known.client),
                _ => user.into(),
            };
            let look = ConnectionLook {
                server,
                client,
                is_stalled: self.is_stalled(connection, Way::Up)
                    || self.is_stalled(connection, Way::Down),
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
        for connection in told.into_keys() {
            let event = InsideEvent::Connection {
                connection,
                look: None,
            };
            observer.waiting.push(now, event);
        }
    }
}

/// Tells each object that is otherwise in `now` than in `told`, and whether it is there.
fn differences(told: &Objects, now: &Objects, mut tell: impl FnMut(&Arc<Object>, bool)) {
    for (key, object) in now {
        if told
            .get(key)
            .is_none_or(|known| !Arc::ptr_eq(known, object))
        {
            tell(object, true);
        }
    }
    for (key, object) in told {
        if !now.contains_key(key) {
            tell(object, false);
        }
    }
}
