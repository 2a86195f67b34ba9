//! The beliefs about one resource in one namespace at one record of the log: what etcd, each apiserver's watch cache,
//! each client, and watchscope's own watch hold. The table has the differences from etcd for each object.
//!
//! The table is computed from the fold, so it is right at any moment: nothing here remembers what was shown before.

use std::sync::Arc;

use watchscope_model::belief::Belief;
use watchscope_model::event::Event;
use watchscope_model::id::{Extent, Place};
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::{CachePhase, ClientPhase};
use watchscope_model::{Entry, Inside, Layers, Object, State, Text, Time, WatchName};

use crate::format::{clock_ms, count, number};
use crate::id::{LaneId, LayerId, RecordId};
use crate::levels::{Layer, namespace_of, number_of, selects};
use crate::phrases::{crowd_words, object_words};
use crate::store::{AsOf, Store};

/// Most rows of the table, objects with a difference first, so that the table stays short; further objects are only
/// counted. The number has no source.
const ROWS_MOST: usize = 40;
/// Most columns of a crowd, so that the table stays narrow. Clients of a crowd that hold the same objects at the same
/// versions share a column. The clients beyond the 3 largest such groups are only counted. The number has no source.
const ALIKE_MOST: usize = 3;
/// Most objects that a sentence names, so that it stays short; further objects are only counted. The number has no
/// source.
const NAMES_MOST: usize = 3;

/// The beliefs of all sides about one resource. The sides are etcd, the watch caches, watchscope's own watch and the
/// clients. The clients of a crowd that hold the same share a column, and a crowd has at most 3 columns. Any other side
/// has one column, but a client that reports its belief in parts has one for each part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BeliefTable {
    /// The resource and namespace: `configmaps in shop`; without `in …` for all namespaces. Hostile: show as text.
    pub of: String,
    /// The UTC time of day that the table is for, that of the record, of the log's head, or of the requested moment:
    /// `09:35:28.911`.
    pub at: String,
    /// One sentence for each column, in the order of the columns; etcd, the truth, is first. After these, one sentence
    /// for each crowd with more than 3 different beliefs counts the clients without a column.
    pub sentences: Vec<Sentence>,
    /// The names of the columns' sides: etcd first, then watch caches by apiserver, watchscope's watch, and clients by
    /// name. Crowds follow in the order in which the store met them, the largest group of clients of each crowd first.
    /// Hostile: show as text.
    pub columns: Vec<String>,
    /// The objects, at most 40: those with a difference by namespace and name, then the others by namespace and name.
    /// Empty if no side holds an object.
    pub rows: Vec<BeliefRow>,
    /// How many objects beyond the 40 rows are left out; 0 if none.
    pub more: u64,
}

/// A sentence about a side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The side, as in [`BeliefTable::columns`]; or the name of a crowd. Hostile: show as text.
    pub side: String,
    /// What the side holds, as a sentence. Hostile: show as text.
    pub words: String,
    /// Whether the side differs from etcd; `false` for etcd itself, for an ended process, and if a difference cannot be
    /// known. Always `true` for a crowd's clients without a column.
    pub differs: bool,
}

/// The beliefs of all sides about one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeliefRow {
    /// The object's name, with its namespace if it has one: `shop/web-0`. Hostile: show as text.
    pub name: String,
    /// What each side holds of the object: one cell for each column, in the order of the columns.
    pub cells: Vec<SideCell>,
}

/// The belief of one side about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideCell {
    /// The resourceVersion at which the side holds the object; hostile: show as text. If the side does not hold it:
    /// `gone` for etcd, `ended` for a client whose process has ended, `not watched` for an object outside the side's
    /// namespace, and `–` otherwise.
    pub words: String,
    /// How the side differs from etcd about the object; `None` for etcd itself, if the side does not differ, or if a
    /// difference cannot be known.
    pub difference: Option<Difference>,
}

/// The kinds of differences between a belief and the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The side holds an object that does not exist, or that was replaced by another object of the same name.
    Ghost,
    /// The side lacks an object that exists.
    Missing,
    /// The side holds the object at another resourceVersion than etcd.
    Stale,
}

impl Difference {
    /// Returns the word for the difference: `ghost`, `missing` or `stale`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ghost => "ghost",
            Self::Missing => "missing",
            Self::Stale => "stale",
        }
    }
}

/// One side of the comparison.
struct BeliefColumn {
    name: String,
    /// The begin of the side's sentence, before the differences: what the side is and reports about itself.
    intro: String,
    held: BTreeMap<Place, Text>,
    /// The namespace that the side watches; empty: all.
    namespace: Text,
    /// Whether an object that the side does not hold counts as missing. It does not count as missing if the side has a
    /// selector, or did not report the names of all its objects.
    is_whole: bool,
    /// Whether the side's process has ended, so that it holds nothing and lacks nothing.
    has_ended: bool,
}

/// Returns the beliefs of each side about the resource of a record, or else of the lane, at the record or at the head.
/// If neither names a resource, it takes that of the first client by name that reports one. `record` is `None` for the
/// head. Returns `None` for a cluster that reports nothing of its inside, or without any resource. Also returns `None`
/// if the record is not loaded, and at the head before the first segment. Panics as [`Store::lane_names`] does.
#[must_use]
pub fn belief_table(store: &Store, lane: LaneId, record: Option<RecordId>) -> Option<BeliefTable> {
    // A real cluster has no inside. Its fold at a record took 8 ms of each click.
    store.layer_names().find(&Layer::Etcd)?;
    let entry = record.and_then(|id| store.entry(id));
    let (state, layers) = match record {
        Some(id) => store.fold_at(id)?,
        None => store.live_fold()?,
    };
    let at = record.and(entry.as_ref()).map_or(state.at, Entry::at);
    table_of(store, lane, entry.as_ref(), at, (&state, &layers))
}

/// Returns the beliefs of each side about the resource of a lane as of a moment. If the lane names no resource, the
/// table is about that of the first client by name that reports a resource. Returns `None` for a cluster that reports
/// nothing of its inside, or if no resource is known. Panics as [`Store::lane_names`] does.
#[must_use]
pub fn belief_table_as_of(store: &Store, lane: LaneId, as_of: &AsOf) -> Option<BeliefTable> {
    let folds = (as_of.state(), as_of.layers());
    table_of(store, lane, None, as_of.at, folds)
}

fn table_of(
    store: &Store,
    lane: LaneId,
    entry: Option<&Entry>,
    at: Time,
    (state, layers): (&State, &Layers),
) -> Option<BeliefTable> {
    let etcd = layers.etcd.as_ref()?;
    let (resource, namespace) = topic(store, lane, entry, layers)?;
    let is_meant =
        |object: &Object| namespace.is_empty() || object.namespace.as_deref() == Some(&*namespace);
    let stock = etcd.objects.get(&resource);
    let versions = |held: &mut dyn Iterator<Item = (&Arc<Object>, u64)>| {
        let held = held.filter(|(object, _)| is_meant(object));
        let versions = held.map(|(object, revision)| {
            let revision: Text = revision.to_string().as_str().into();
            (Place(object.clone()), revision)
        });
        versions.collect::<BTreeMap<Place, Text>>()
    };
    let truth = stock.map_or_else(BTreeMap::new, |stock| versions(&mut stock.iter()));
    let mut sides = Vec::new();
    for (id, server) in &layers.servers {
        let Some(cache) = server.caches.get(&resource) else {
            continue;
        };
        let doing = match cache.phase {
            CachePhase::Ready => format!("is at revision {}", number(cache.revision)),
            CachePhase::Listing => "is initializing, and answers nobody".to_owned(),
            CachePhase::Failed | CachePhase::Unknown => "has lost etcd".to_owned(),
        };
        sides.push(BeliefColumn {
            name: format!("apiserver {id}"),
            intro: format!("The watch cache of apiserver {id} {doing}"),
            held: versions(&mut cache.objects.iter()),
            namespace: "".into(),
            is_whole: cache.objects.unnamed() == 0,
            has_ended: false,
        });
    }
    sides.extend(ours(state, &resource, &namespace));
    let mut crowds: BTreeMap<LayerId, Vec<(Text, BeliefColumn)>> = BTreeMap::new();
    for (name, client) in &layers.clients {
        let beliefs = client.belief.as_deref().map(Belief::read);
        for belief in beliefs.unwrap_or_default() {
            if belief.resource == resource {
                let side = client_side(name, client, &belief, &is_meant);
                match store.layer_names().crowd(name) {
                    Some(crowd) => crowds.entry(crowd).or_default().push((name.clone(), side)),
                    None => sides.push(side),
                }
            }
        }
    }
    let mut others = Vec::new();
    for members in crowds.into_values() {
        let (as_one, more) = crowd_sides(members);
        sides.extend(as_one);
        others.extend(more);
    }
    let in_namespace = if namespace.is_empty() {
        String::new()
    } else {
        format!(" in {namespace}")
    };
    let mut table = BeliefTable {
        of: format!("{resource}{in_namespace}"),
        at: clock_ms(at),
        columns: vec!["etcd".to_owned()],
        ..BeliefTable::default()
    };
    let objects = count(truth.len() as u64, "object");
    table.sentences.push(Sentence {
        side: "etcd".to_owned(),
        words: format!(
            "etcd is at revision {} and holds {objects}.",
            number(etcd.revision)
        ),
        differs: false,
    });
    for side in &sides {
        table.columns.push(side.name.clone());
        table.sentences.push(side.sentence(&truth, &namespace));
    }
    table.sentences.extend(others);
    table.fill_rows(&truth, &sides);
    Some(table)
}

/// Groups the clients of a crowd: clients that hold the same objects share a column. Returns the 3 largest groups, and
/// a sentence that counts the clients of all other groups.
fn crowd_sides(mut members: Vec<(Text, BeliefColumn)>) -> (Vec<BeliefColumn>, Option<Sentence>) {
    tree::sort_by_key(&mut members, |(name, _)| number_of(name));
    let all = crowd_words(members.iter().map(|(name, _)| name)).unwrap_or_default();
    let of = members.len();
    let mut alike: Vec<(BeliefColumn, usize)> = Vec::new();
    for (_, side) in members {
        match alike.iter_mut().find(|(first, _)| first.is_like(&side)) {
            Some((_, count)) => *count += 1,
            None => alike.push((side, 1)),
        }
    }
    tree::sort_by_key(&mut alike, |&(_, count)| std::cmp::Reverse(count));
    let others: usize = alike.iter().skip(ALIKE_MOST).map(|(_, count)| count).sum();
    alike.truncate(ALIKE_MOST);
    let sides = alike.into_iter().map(|(side, alike)| match alike {
        1 => side,
        alike => BeliefColumn {
            name: if alike == of {
                all.clone()
            } else {
                format!("{alike} of {all}")
            },
            intro: format!("{} of {all}", count(alike as u64, "client")),
            ..side
        },
    });
    let more = (others > 0).then(|| Sentence {
        side: all.clone(),
        words: format!(
            "{} of {all} hold something else.",
            count(others as u64, "client")
        ),
        differs: true,
    });
    (sides.collect(), more)
}

/// Returns the resource and namespace that a selected record or lane is about; if it is about none, those that the
/// first client program reads.
fn topic(
    store: &Store,
    lane: LaneId,
    entry: Option<&Entry>,
    layers: &Layers,
) -> Option<(Text, Text)> {
    let of_watch = |name: &WatchName| {
        let namespace = match name.extent() {
            Extent::All | Extent::Cluster => "",
            Extent::One(namespace) => namespace,
        };
        let resource = name.resource().split('?').next().unwrap_or_default();
        (Text::from(resource), Text::from(namespace))
    };
    let of_client = |name: &Text| {
        let client = layers.clients.get(name)?;
        let beliefs = Belief::read(client.belief.as_deref()?);
        let namespace = namespace_of(client.request.as_deref().unwrap_or_default());
        Some((beliefs.first()?.resource.clone(), Text::from(namespace)))
    };
    let of_object = |resource: &Text, object: &Object| {
        let namespace = object.namespace.clone().unwrap_or_else(|| "".into());
        (resource.clone(), namespace)
    };
    // A resource that a program reads is shown for the namespace that the program reads.
    let as_looked_at = |resource: &Text| {
        let looks = layers.clients.keys().filter_map(&of_client);
        let mut looks = looks.filter(|(of, _)| of == resource);
        looks.next().or_else(|| Some((resource.clone(), "".into())))
    };
    let of_entry = match entry {
        Some(Entry::Inside(record)) => match &record.inside {
            Inside::InsideWrite(write) => Some(of_object(&write.resource, &write.object)),
            Inside::InsideHeld(held) => Some(of_object(&held.resource, &held.object)),
            Inside::InsideCache(cache) => as_looked_at(&cache.resource),
            Inside::InsideWatcher(watcher) => as_looked_at(&watcher.resource),
            _ => None,
        },
        Some(Entry::Record(record)) => match &record.event {
            Event::ClientReport(report) => of_client(&report.client),
            Event::ClientRequest(sent) => of_client(&sent.client),
            event => event.watch().map(of_watch),
        },
        None => None,
    };
    let of_lane = || match lane {
        LaneId::Layer(id) => match store.layer_names().layer(id)? {
            Layer::Cache(_, resource) => as_looked_at(resource),
            Layer::Client(name) | Layer::Connections(name) => of_client(name),
            _ => None,
        },
        lane => store.lane_names(lane).0.map(of_watch),
    };
    of_entry
        .or_else(of_lane)
        .or_else(|| layers.clients.keys().find_map(of_client))
}

/// Returns the belief of watchscope's own watch.
fn ours(state: &State, resource: &Text, namespace: &Text) -> Option<BeliefColumn> {
    let wanted = if namespace.is_empty() { "*" } else { namespace };
    let name = WatchName::from(format!("{wanted}/{resource}").as_str());
    let watch = state.watches.get(&name)?;
    let held = watch.objects.iter();
    Some(BeliefColumn {
        name: "watchscope".to_owned(),
        intro: format!("watchscope's watch {name}"),
        held: held
            .map(|held| {
                let version = held.resource_version.to_string();
                (Place(held.object.clone()), version.as_str().into())
            })
            .collect(),
        namespace: namespace.clone(),
        is_whole: true,
        has_ended: false,
    })
}

fn client_side(
    name: &Text,
    client: &watchscope_model::layers::ClientLayer,
    belief: &Belief,
    is_meant: &dyn Fn(&Object) -> bool,
) -> BeliefColumn {
    let program = match &client.version {
        Some(version) => format!("{} {version}", client.program),
        None => client.program.to_string(),
    };
    let part = if belief.part.is_empty() {
        String::new()
    } else {
        format!(", its {},", belief.part)
    };
    let phase = ClientPhase::of(&client.phase);
    let has_ended = phase.has_ended();
    let does = match phase {
        ClientPhase::Failed => "has failed".to_owned(),
        _ => format!("is {}", client.phase),
    };
    let request = client.request.as_deref().unwrap_or_default();
    BeliefColumn {
        name: if belief.part.is_empty() {
            name.to_string()
        } else {
            format!("{name} {}", belief.part)
        },
        intro: format!("{name} ({program}){part} {does}"),
        held: belief
            .held
            .iter()
            .filter(|held| !has_ended && is_meant(&held.object))
            .map(|held| (Place(held.object.clone()), held.version.clone()))
            .collect(),
        namespace: namespace_of(request).into(),
        is_whole: !has_ended && !selects(request) && belief.names_all(),
        has_ended,
    }
}

impl BeliefColumn {
    /// Whether the side holds the same objects as another side, and both watch the same namespace.
    fn is_like(&self, other: &Self) -> bool {
        let parts = |side: &Self| (side.namespace.clone(), side.has_ended);
        self.held == other.held && parts(self) == parts(other)
    }

    /// Whether the side watches the namespace of an object.
    fn watches(&self, place: &Place) -> bool {
        self.namespace.is_empty() || place.0.namespace.as_ref() == Some(&self.namespace)
    }

    /// Returns how the side differs from etcd about an object; `there` is etcd's. A side cannot lack an object that it
    /// does not watch.
    fn difference(&self, place: &Place, there: Option<(&Place, &Text)>) -> Option<Difference> {
        match (self.held.get_key_value(place), there) {
            (None, Some(_)) if self.is_whole && self.watches(place) => Some(Difference::Missing),
            (None, _) => None,
            (Some(_), None) => Some(Difference::Ghost),
            // Another object of that name.
            (Some((held, _)), Some((there, _))) if held.0.uid != there.0.uid => {
                Some(Difference::Ghost)
            }
            (Some((_, held)), Some((_, there))) => (held != there).then_some(Difference::Stale),
        }
    }

    /// Returns a sentence about the side's objects and their differences in a namespace; in all namespaces if
    /// `namespace` is empty.
    fn sentence(&self, truth: &BTreeMap<Place, Text>, namespace: &Text) -> Sentence {
        if self.has_ended {
            return Sentence {
                side: self.name.clone(),
                words: format!("{}: its process has ended and holds nothing.", self.intro),
                differs: false,
            };
        }
        let is_elsewhere = !self.namespace.is_empty() && self.namespace != *namespace;
        if is_elsewhere && !namespace.is_empty() && self.held.is_empty() {
            return Sentence {
                side: self.name.clone(),
                words: format!("{}, and watches {} only.", self.intro, self.namespace),
                differs: false,
            };
        }
        let mut found: [Vec<String>; 3] = Default::default();
        let places = truth
            .keys()
            .chain(self.held.keys().filter(|place| !truth.contains_key(*place)));
        for place in places {
            if let Some(difference) = self.difference(place, truth.get_key_value(place)) {
                found[difference as usize].push(place.0.name.to_string());
            }
        }
        let [ghosts, missing, stale] = &found;
        let mut parts = Vec::new();
        if !ghosts.is_empty() {
            let is = if ghosts.len() == 1 { "is" } else { "are" };
            parts.push(format!(
                "{} of them {is} no longer in etcd ({})",
                ghosts.len(),
                names(ghosts)
            ));
        }
        if !missing.is_empty() {
            parts.push(format!("it lacks {} ({})", missing.len(), names(missing)));
        }
        if !stale.is_empty() {
            let is = if stale.len() == 1 { "is" } else { "are" };
            parts.push(format!("{} {is} behind ({})", stale.len(), names(stale)));
        }
        let differs = !parts.is_empty();
        let held = count(self.held.len() as u64, "object");
        let and = if differs {
            parts.join("; ")
        } else {
            "all as in etcd".to_owned()
        };
        let held = if is_elsewhere {
            format!("{held} of {}, which is all that it watches", self.namespace)
        } else {
            held
        };
        Sentence {
            side: self.name.clone(),
            words: format!("{}, with {held}: {and}.", self.intro),
            differs,
        }
    }
}

impl BeliefTable {
    fn fill_rows(&mut self, truth: &BTreeMap<Place, Text>, sides: &[BeliefColumn]) {
        let mut places: BTreeMap<&Place, bool> = BTreeMap::new();
        for place in truth
            .keys()
            .chain(sides.iter().flat_map(|side| side.held.keys()))
        {
            places.entry(place).or_insert_with(|| {
                let there = truth.get_key_value(place);
                sides
                    .iter()
                    .any(|side| side.difference(place, there).is_some())
            });
        }
        let (differing, agreeing): (Vec<_>, Vec<_>) =
            places.into_iter().partition(|&(_, differs)| differs);
        let all = differing.len() + agreeing.len();
        self.more = all.saturating_sub(ROWS_MOST) as u64;
        for (place, _) in differing.into_iter().chain(agreeing).take(ROWS_MOST) {
            let there = truth.get_key_value(place);
            let mut cells = vec![SideCell {
                words: there.map_or("gone".to_owned(), |(_, version)| version.to_string()),
                difference: None,
            }];
            for side in sides {
                cells.push(SideCell {
                    words: match side.held.get(place) {
                        Some(version) => version.to_string(),
                        None if side.has_ended => "ended".to_owned(),
                        None if side.watches(place) => "–".to_owned(),
                        None => "not watched".to_owned(),
                    },
                    difference: side.difference(place, there),
                });
            }
            self.rows.push(BeliefRow {
                name: object_words(&place.0),
                cells,
            });
        }
    }
}

/// Returns the first [`NAMES_MOST`] names, and the number of further names.
fn names(all: &[String]) -> String {
    let shown = all.iter().take(NAMES_MOST).cloned().collect::<Vec<_>>();
    match all.len().saturating_sub(NAMES_MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
