//! Converts a world's own records to entries of the log: the reports of its client programs, and its inside records.

use std::sync::Arc;

use watchscope_model::inside::{
    InsideCache, InsideConnection, InsideEtcd, InsideHeld, InsideServer, InsideWatcher,
    InsideWatcherEnded, InsideWrite,
};
use watchscope_model::tree;
use watchscope_model::vocabulary::{CachePhase, ChangeType, Way};
use watchscope_model::{Event, Inside, Object, Uid};
use watchscope_simulator::{self as sim, CacheState, ChangeKind, InsideEvent, World};

use crate::clients;

/// An entry for the log that a world reports.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "each is appended to the log at once, and none is kept"
)]
pub enum WorldRecord {
    /// An event of a client program. The log has it as a record, which is folded and judged like any other.
    Event(Event),
    /// An inside record of a layer of the simulated cluster, which no client can see.
    Inside(Inside),
}

/// Takes all entries since the last call, sorted by the world's time. At equal times inside records come before events,
/// and an earlier report before a later one. The list may be empty; it has inside records only after
/// [`World::tell_inside`]. At most the last 65,536 inside records and about 4 MiB of reports wait in the world; older
/// ones are lost.
#[must_use]
pub fn take_world_records(world: &mut World) -> Vec<(sim::Time, WorldRecord)> {
    let mut records = Vec::new();
    while let Some(record) = world.next_inside_record() {
        records.push((record.at, WorldRecord::Inside(inside(record.event))));
    }
    while let Some(record) = world.next_client_record() {
        records.push((record.at, WorldRecord::Event(clients::event(record))));
    }
    tree::sort_by(&mut records, |(one, _), (other, _)| one.cmp(other));
    records
}

/// Converts an inside record.
fn inside(event: InsideEvent) -> Inside {
    match event {
        InsideEvent::Etcd(look) => InsideEtcd {
            revision: look.revision,
            compacted: look.compacted,
            has_leader: look.has_leader,
        }
        .into(),
        InsideEvent::Write {
            resource,
            kind,
            object,
            revision,
        } => InsideWrite {
            resource: (&*resource).into(),
            change: match kind {
                ChangeKind::Added => ChangeType::Added,
                ChangeKind::Modified => ChangeType::Modified,
                ChangeKind::Deleted => ChangeType::Deleted,
            },
            object: named(&object),
            revision,
        }
        .into(),
        InsideEvent::Server {
            server,
            version,
            is_serving,
        } => InsideServer {
            server: server.0.into(),
            version: version.to_string().as_str().into(),
            is_serving,
        }
        .into(),
        InsideEvent::Cache {
            server,
            resource,
            look,
        } => {
            let phase = look.map_or(CachePhase::Failed, |look| match look.state {
                CacheState::Listing => CachePhase::Listing,
                CacheState::Ready => CachePhase::Ready,
                CacheState::Failed => CachePhase::Failed,
            });
            InsideCache {
                server: server.0.into(),
                resource: (&*resource).into(),
                phase,
                revision: look.map_or(0, |look| look.revision),
                oldest: look.map_or(0, |look| look.oldest),
                events: look.map_or(0, |look| look.events as u64),
                capacity: look.map_or(0, |look| look.capacity as u64),
            }
            .into()
        }
        InsideEvent::Held {
            server,
            resource,
            object,
            is_held,
        } => InsideHeld {
            server: server.0.into(),
            resource: (&*resource).into(),
            object: named(&object),
            revision: is_held.then(|| object.revision()),
        }
        .into(),
        InsideEvent::Watcher {
            server,
            watcher,
            connection,
            client,
            resource,
            look,
        } => InsideWatcher {
            server: server.0.into(),
            watcher: watcher.0,
            connection: connection.0,
            client: (&*client).into(),
            resource: (&*resource).into(),
            waiting: look.waiting as u64,
            slots: look.slots as u64,
            is_blocking: look.is_blocking,
            from_etcd: look.is_from_etcd.then_some(true),
        }
        .into(),
        InsideEvent::WatcherEnded(watcher) => InsideWatcherEnded { watcher: watcher.0 }.into(),
        InsideEvent::Connection { connection, look } => connection_of(connection, look).into(),
    }
}

fn connection_of(
    connection: sim::ConnectionId,
    look: Option<sim::ConnectionLook>,
) -> InsideConnection {
    let way = match &look {
        None => Way::Closed,
        Some(look) if look.is_cut => Way::Cut,
        Some(look) if look.is_stalled => Way::Stalled,
        Some(_) => Way::Open,
    };
    let client = look.as_ref().map(|look| &*look.client);
    InsideConnection {
        connection: connection.0,
        client: client.filter(|name| !name.is_empty()).map(Into::into),
        server: look.as_ref().map_or(0, |look| look.server.0.into()),
        way,
        streams: look.map_or(0, |look| look.streams as u64),
    }
}

fn named(object: &sim::Object) -> Arc<Object> {
    let namespace = object.namespace();
    Arc::new(Object {
        namespace: (!namespace.is_empty()).then(|| namespace.into()),
        name: object.name().into(),
        uid: Uid::parse(object.uid()),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use watchscope_model::fold::Moment;
    use watchscope_model::json::to_line;
    use watchscope_model::{Layers, Time};
    use watchscope_probe::{ProbeConfig, WatchSpec};

    use crate::{Run, demo};

    fn run(seed: u64, tells_inside: bool, seconds: u64) -> Run {
        let mut run = Run::of_story(demo::story(), seed);
        if tells_inside {
            run.world.tell_inside();
        }
        let spec = WatchSpec::of("shop", "configmaps", "ConfigMap");
        run.watch(spec, ProbeConfig::default(), seed);
        run.run_for(Duration::from_secs(seconds));
        run
    }

    fn lines(run: &Run) -> Vec<String> {
        let inside = run.inside().iter();
        inside
            .map(|(at, inside)| format!("{} {inside:?}", at.0))
            .collect()
    }

    fn layers(run: &Run) -> Layers {
        let mut layers = Layers::default();
        for record in run.records() {
            layers.apply_event(&record.event, record.into());
        }
        for (at, inside) in run.inside() {
            let now = Moment {
                at: *at,
                ..Moment::default()
            };
            layers.apply_inside(inside, now);
        }
        layers
    }

    /// Returns the number of sealed bytes of a run without inside records, and with them.
    fn sealed_bytes(run: &Run) -> (usize, usize) {
        let sealed = |with_inside: bool| {
            let mut bytes = 0;
            run.seal(with_inside, |frame| bytes += frame.len());
            bytes
        };
        (sealed(false), sealed(true))
    }

    #[test]
    fn inside_records_take_fewer_bytes_than_all_others() {
        let run = run(7, true, 240);
        let (records, all) = sealed_bytes(&run);
        println!(
            "{records} bytes of records, {} of the inside",
            all - records
        );
        assert!(all < 2 * records, "{records} of {all}");
    }

    #[test]
    fn the_same_seed_gives_the_same_inside_records() {
        let lines_of_one = lines(&run(3, true, 70));
        assert!(lines_of_one.len() > 500, "{}", lines_of_one.len());
        assert_eq!(lines_of_one, lines(&run(3, true, 70)));
    }

    #[test]
    fn inside_records_change_no_other_record() {
        for seed in 0..3 {
            let (aloud, silent) = (run(seed, true, 150), run(seed, false, 150));
            assert!(silent.inside().is_empty());
            let texts = |run: &Run| run.records().iter().map(to_line).collect::<Vec<_>>();
            assert_eq!(texts(&aloud), texts(&silent), "seed {seed}");
        }
    }

    #[test]
    fn the_fold_of_inside_records_is_what_the_world_holds() {
        for (seed, seconds) in [(1, 10), (2, 45), (3, 75), (4, 330)] {
            let run = run(seed, true, seconds);
            let layers = layers(&run);
            let truth = run.world.truth();
            let etcd = layers.etcd.as_ref().expect("etcd reported its head");
            assert_eq!(
                (etcd.revision, etcd.compacted),
                (truth.revision(), truth.compacted())
            );
            for (resource, stock) in &etcd.objects {
                let there: Vec<(String, u64)> = truth
                    .objects(resource, "")
                    .iter()
                    .map(|object| (object.uid().to_owned(), object.revision()))
                    .collect();
                let mut there = there;
                there.sort();
                let mut held: Vec<(String, u64)> = stock
                    .iter()
                    .map(|(object, revision)| (object.uid.to_string(), revision))
                    .collect();
                held.sort();
                assert_eq!(held, there, "{resource}, seed {seed}");
            }
            // Nothing is wrong with the caches in this story: each holds what etcd held at the cache's revision.
            let caches = &layers.servers[&0].caches;
            assert!(caches.len() > 10, "{}", caches.len());
            for (resource, cache) in caches {
                assert!(cache.revision <= etcd.revision && cache.oldest <= cache.revision);
                let namespace = "";
                let Some(then) = truth.objects_at(resource, namespace, cache.revision) else {
                    continue;
                };
                assert_eq!(
                    cache.objects.count(),
                    then.len() as u64,
                    "{resource} at {}",
                    cache.revision
                );
            }
            // The watches of our probe, of the informer and of the naive loop.
            let watches: Vec<&str> = layers
                .watchers
                .values()
                .map(|watcher| &*watcher.told.client)
                .collect();
            assert!(watches.contains(&"informer"), "{watches:?}");
            assert!(layers.clients.contains_key("naive"));
        }
    }

    #[test]
    fn a_restored_etcd_reports_that_it_went_back() {
        let rows = crate::catalogue::rows();
        let row = rows.iter().find(|row| row.code == "F33").expect("a row");
        let run = row.run_beside(1, &[], true);
        let etcd = layers(&run).etcd.expect("etcd reported its head");
        assert_eq!(etcd.revision, run.world.truth().revision());
    }

    #[test]
    fn a_naive_loop_of_the_demo_keeps_what_the_informer_drops() {
        let run = run(7, true, 58);
        let layers = layers(&run);
        let belief = |client: &str| layers.clients[client].belief.clone().unwrap_or_default();
        for name in ["report-draft", "report-final"] {
            assert!(belief("naive").contains(name), "{}", belief("naive"));
            assert!(!belief("informer").contains(name), "{}", belief("informer"));
        }
        assert!(Time(0) < run.inside()[0].0);
    }
}
