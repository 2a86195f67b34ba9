//! The changes of a cluster, to measure their bytes, chapters and pictures. The busy cluster has 5,000 living objects,
//! and a tenth of them is replaced per minute. Deterministic: the same pace gives the same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use watchscope_log::{NextChapter, Sealed, Sealer};
use watchscope_model::event::{Bookmark, Change, ListComplete, StreamOpened, WatchStarted};
use watchscope_model::id::Owner;
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_model::{Event, Object, RequestId, State, StreamId, Text, Time, Uid, WatchName};

/// The run that a load writes: its epoch, its start, its objects and how fast they change.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The log's name.
    pub log: &'static str,
    /// The epoch's name.
    pub epoch: &'static str,
    /// The start of the run.
    pub start: Time,
    /// The mean number of changes in a second.
    pub changes_per_s: u64,
    /// The number of living objects at any time, over all kinds; at least 1.
    pub living: usize,
    /// The number of objects that are deleted in a minute. A new object of any kind comes for each.
    pub replaced_per_minute: u32,
}

/// The pace of one busy cluster: 2,000 changes per second of 5,000 objects.
pub const BUSY: Pace = Pace {
    log: "prod",
    epoch: "9f3b52c07d1ea846",
    start: Time(1_763_715_600_000_000),
    changes_per_s: 2_000,
    living: 5_000,
    replaced_per_minute: 500,
};

/// A busy cluster and its log, which grows with each step.
pub struct ChangeLoad {
    pace: Pace,
    cluster: Cluster,
    log: Log,
    at: Time,
    replaced: f64,
    changes: u64,
}

impl ChangeLoad {
    /// Writes the first lists and returns the load with the first chapter's opening. `take` gets each piece that they
    /// seal.
    pub fn start(pace: Pace, take: &mut impl FnMut(Sealed)) -> (Self, NextChapter) {
        let cluster = Cluster {
            random: ChaCha8Rng::seed_from_u64(7),
            living: Vec::new(),
            version: 81_204_377,
            owners: BTreeMap::new(),
        };
        let (sealer, opening) = Sealer::new(pace.log.into(), pace.epoch.into(), pace.start);
        let log = Log {
            state: State {
                at: pace.start,
                ..State::default()
            },
            sealer,
        };
        let mut load = Self {
            pace,
            cluster,
            log,
            at: pace.start,
            replaced: 0.0,
            changes: 0,
        };
        first_lists(&mut load.cluster, &mut load.log, take, pace);
        (load, opening)
    }

    /// The number of changes since the first lists.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Seconds since the start of the run.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.at.micros_since(self.pace.start) as f64 / 1e6
    }

    /// Writes the next change; `take` gets each piece that is sealed.
    pub fn step(&mut self, take: &mut impl FnMut(Sealed)) {
        let Self {
            pace,
            cluster,
            log,
            at,
            ..
        } = self;
        let pause_us = u64::from(cluster.random.next_u32()) % (2_000_000 / pace.changes_per_s) + 1;
        *at = at.plus_micros(pause_us as i64);
        let event = if self.changes % (60 * pace.changes_per_s) == pace.changes_per_s {
            bookmarks(cluster, log, take, *at);
            None
        } else if self.replaced
            < at.micros_since(pace.start) as f64 / 60e6 * f64::from(pace.replaced_per_minute)
        {
            self.replaced += 1.0;
            let place = cluster.below(pace.living);
            let gone = cluster.change(place, ChangeType::Deleted, Origin::Live);
            push(log, take, gone, *at);
            cluster.living[place] = cluster.born();
            Some(cluster.change(place, ChangeType::Added, Origin::Live))
        } else {
            None
        };
        let place = cluster.below(pace.living);
        let event =
            event.unwrap_or_else(|| cluster.change(place, ChangeType::Modified, Origin::Live));
        push(log, take, event, *at);
        self.changes += 1;
    }
}

/// A watched resource: its share of the objects in percent, the bytes of an object, and its writers.
struct Kind {
    group: &'static str,
    resource: &'static str,
    share: usize,
    bytes: u64,
    writers: &'static [(&'static str, Option<&'static str>)],
}

/// The watched resources; their shares sum to 100.
const KINDS: &[Kind] = &[
    Kind {
        group: "",
        resource: "pods",
        share: 60,
        bytes: 5_900,
        writers: &[
            ("kubelet", Some("status")),
            ("kubelet", Some("status")),
            ("kube-controller-manager", None),
            ("kube-scheduler", Some("binding")),
        ],
    },
    Kind {
        group: "apps",
        resource: "replicasets",
        share: 12,
        bytes: 3_100,
        writers: &[("kube-controller-manager", Some("status"))],
    },
    Kind {
        group: "apps",
        resource: "deployments",
        share: 8,
        bytes: 3_800,
        writers: &[
            ("kube-controller-manager", Some("status")),
            ("argocd-controller", None),
        ],
    },
    Kind {
        group: "",
        resource: "configmaps",
        share: 10,
        bytes: 1_400,
        writers: &[("kubectl-client-side-apply", None), ("cert-manager", None)],
    },
    Kind {
        group: "coordination.k8s.io",
        resource: "leases",
        share: 10,
        bytes: 620,
        writers: &[("kubelet", None), ("leader-elector", None)],
    },
];

/// The namespaces of the objects.
const NAMESPACES: &[&str] = &[
    "checkout",
    "payments",
    "search",
    "inventory",
    "identity",
    "recommendations",
    "notifications",
    "kube-system",
    "monitoring",
    "ingress-nginx",
    "cert-manager",
    "logging",
    "data-platform",
    "batch-jobs",
    "frontend",
    "staging-checkout",
    "staging-payments",
    "ml-serving",
    "argocd",
    "vault",
];

/// The ends of the apps' names; a namespace comes before.
const APPS: &[&str] = &[
    "api",
    "worker",
    "web",
    "gateway",
    "session-cache",
    "order-processor",
    "event-consumer",
    "image-resizer",
    "token-issuer",
    "report-builder",
    "metrics-adapter",
    "reconciler",
];

/// The living objects, and the cluster's newest resourceVersion.
struct Cluster {
    random: ChaCha8Rng,
    living: Vec<Living>,
    version: u64,
    /// Owners by kind, namespace and name.
    owners: BTreeMap<(&'static str, &'static str, String), Owner>,
}

/// A living object of a kind, by its place in [`KINDS`].
struct Living {
    kind: usize,
    object: Arc<Object>,
    owner: Option<Owner>,
    generation: u64,
}

impl Cluster {
    fn below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound as u64) as usize
    }

    fn suffix(&mut self, length: usize) -> String {
        // The letters of the names that Kubernetes generates.
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length)
            .map(|_| LETTERS[self.below(LETTERS.len())] as char)
            .collect()
    }

    fn born(&mut self) -> Living {
        let mut draw = self.below(100);
        let mut kind = 0;
        while draw >= KINDS[kind].share {
            draw -= KINDS[kind].share;
            kind += 1;
        }
        let namespace = NAMESPACES[self.below(NAMESPACES.len())];
        let app = format!(
            "{}-{}",
            namespace.trim_start_matches("staging-"),
            APPS[self.below(APPS.len())]
        );
        // Names of pods share a template hash while the cluster is filled: the hash changes once in 500 objects.
        let hash = (0..10)
            .map(|place| {
                let letters = b"bcdf456789";
                letters[(app.len() * 7 + place * 3 + self.living.len() / 500) % 10] as char
            })
            .collect::<String>();
        let name = match KINDS[kind].resource {
            "pods" => format!("{app}-{hash}-{}", self.suffix(5)),
            "replicasets" => format!("{app}-{}", self.suffix(10)),
            "leases" => format!(
                "ip-10-{}-{}-{}",
                self.below(256),
                self.below(256),
                self.below(256)
            ),
            _ => format!("{app}-{}", self.suffix(4)),
        };
        let owner = match KINDS[kind].resource {
            "pods" => Some(self.owner("ReplicaSet", namespace, format!("{app}-{hash}"))),
            "replicasets" => Some(self.owner("Deployment", namespace, app)),
            _ => None,
        };
        Living {
            kind,
            object: Arc::new(Object {
                namespace: Some(namespace.into()),
                name: name.into(),
                uid: self.uid(),
            }),
            owner,
            generation: 1,
        }
    }

    fn owner(&mut self, kind: &'static str, namespace: &'static str, name: String) -> Owner {
        let uid = self.uid();
        let key = (kind, namespace, name.clone());
        let owner = self.owners.entry(key);
        let made = || Owner::new(kind.into(), name.into(), uid);
        owner.or_insert_with(made).clone()
    }

    fn uid(&mut self) -> Uid {
        let mut uid = [0; 16];
        self.random.fill_bytes(&mut uid);
        Uid::Uuid(uid)
    }

    fn change(&mut self, place: usize, change: ChangeType, origin: Origin) -> Event {
        // The version also rises for objects that no watch here covers.
        self.version += 1 + u64::from(self.random.next_u32().is_multiple_of(4));
        let writer = self.random.next_u32() as usize;
        let spread = u64::from(self.random.next_u32() % 400);
        let (kind, object, owner, generation) = {
            let living = &mut self.living[place];
            let (_, subresource) =
                KINDS[living.kind].writers[writer % KINDS[living.kind].writers.len()];
            living.generation += u64::from(subresource.is_none() && change == ChangeType::Modified);
            let (object, owner) = (living.object.clone(), living.owner.clone());
            (living.kind, object, owner, living.generation)
        };
        let (manager, subresource) = KINDS[kind].writers[writer % KINDS[kind].writers.len()];
        Change {
            watch: watch(kind),
            stream: (origin == Origin::Live).then_some(StreamId(kind as u64 + 20)),
            change,
            origin,
            object,
            resource_version: self.version.into(),
            generation: (KINDS[kind].resource != "leases").then_some(generation),
            manager: Some(manager.into()),
            subresource: subresource.map(Text::from),
            bytes: Some(KINDS[kind].bytes + spread),
            stray: None,
            owner,
        }
        .into()
    }
}

fn watch(kind: usize) -> WatchName {
    let Kind {
        group, resource, ..
    } = KINDS[kind];
    WatchName::new("*", resource, group, None, None, 1)
}

/// Starts each watch: its first list, then its stream.
fn first_lists(cluster: &mut Cluster, log: &mut Log, take: &mut impl FnMut(Sealed), pace: Pace) {
    let at = pace.start;
    for _ in 0..pace.living {
        let born = cluster.born();
        cluster.living.push(born);
    }
    for (
        kind,
        Kind {
            group, resource, ..
        },
    ) in KINDS.iter().enumerate()
    {
        let started = WatchStarted::plain(watch(kind), group, resource);
        push(log, take, started.into(), at);
        let mut places: Vec<usize> = (0..pace.living)
            .filter(|&place| cluster.living[place].kind == kind)
            .collect();
        // A server lists by namespace and name.
        places.sort_by_key(|&place| {
            let object = &cluster.living[place].object;
            (object.namespace.clone(), object.name.clone())
        });
        let items = places.len() as u64;
        for place in places {
            let listed = cluster.change(place, ChangeType::Added, Origin::List);
            push(log, take, listed, at);
        }
        let version = cluster.version.into();
        let complete = ListComplete {
            watch: watch(kind),
            resource_version: version,
            items,
            added: items,
            changed: 0,
            removed: 0,
        };
        push(log, take, complete.into(), at);
        let opened = StreamOpened {
            watch: watch(kind),
            stream: StreamId(kind as u64 + 20),
            request: RequestId(kind as u64 + 40),
            resource_version: Some(cluster.version.into()),
            http2_stream: None,
        };
        push(log, take, opened.into(), at);
    }
}

/// Writes a bookmark of each watch, as a server sends one about once a minute.
fn bookmarks(cluster: &Cluster, log: &mut Log, take: &mut impl FnMut(Sealed), at: Time) {
    for kind in 0..KINDS.len() {
        let bookmark = Bookmark {
            watch: watch(kind),
            stream: StreamId(kind as u64 + 20),
            resource_version: cluster.version.into(),
            initial_events_end: None,
        };
        push(log, take, bookmark.into(), at);
    }
}

/// A log that is being written: its fold, and the sealer of its records.
struct Log {
    state: State,
    sealer: Sealer,
}

/// Seals the records that are due, then appends the event.
fn push(log: &mut Log, take: &mut impl FnMut(Sealed), event: Event, at: Time) {
    if let Some(due) = log.sealer.seal_at().filter(|&due| due <= at) {
        log.sealer
            .seal(due, &log.state)
            .into_iter()
            .for_each(&mut *take);
    }
    let record = log.state.stamp(event, at);
    log.state.apply(&record);
    log.sealer
        .take(&record, &log.state)
        .into_iter()
        .for_each(take);
}
