//! Compares the folds of two moments.

use std::sync::Arc;

use watchscope_model::fold::{Held, Watch};
use watchscope_model::id::Place;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::Divergence;
use watchscope_model::{Object, ResourceVersion, WatchName};

use super::folds::{Folds, divergence, has_listed};
use super::sides::{Holding, Side, holding, sides_of};

/// How an object differs between two moments, A and B. The kinds are in order, the worst first. An object of kind
/// [`Self::Parted`] has no other kind, though it may also have come, gone or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// A confirmed verdict says that the watch differs from etcd at B, and at A no confirmed verdict of this kind was
    /// open.
    Parted,
    /// The watch held the object at A, and not at B.
    Went,
    /// The watch held the object at B, and not at A.
    Came,
    /// The watch held the object at another resourceVersion at B than at A, or another object of the same name.
    Changed,
}

/// An object that differs between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// How the object differs.
    pub kind: DifferenceKind,
    /// The confirmed divergence at B; `None` unless the kind is [`DifferenceKind::Parted`].
    pub divergence: Option<Divergence>,
    /// The watch that held the object at A or B, or that lacks it.
    pub watch: WatchName,
    /// The object as held at B; if it was not held at B, as held at A. For an object held at neither, that of the
    /// verdict.
    pub object: Arc<Object>,
    /// The object's resourceVersion in the watch at A, then at B; `None` for a moment at which the watch did not hold
    /// the object.
    pub versions: [Option<ResourceVersion>; 2],
    /// What each side held at A, then at B: one pair for each of [`Differences::sides`], in the same order.
    pub held: Vec<[Holding; 2]>,
}

/// The differences between two moments. The watches, objects and verdicts of both folds bound their number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// The sides that know something of at least one row's object, at A or at B: etcd, watch caches, the watch, and
    /// clients. Caches are sorted by their server's number, those that exist at B before others. Clients are the first
    /// 4 by name of those that exist at B ([`CLIENTS_MOST`](super::CLIENTS_MOST)); others are left out. Without rows,
    /// no side is listed.
    pub sides: Vec<Side>,
    /// The objects that differ, sorted by kind, divergence, watch, namespace and name; an object of two watches has two
    /// rows. Empty if no object differs.
    pub rows: Vec<Difference>,
    /// The number of objects that a watch held at A or at B, counting only watches whose objects are known at both A
    /// and B. An object of two watches counts twice.
    pub objects: u64,
    /// The watches whose objects are unknown at A or at B, sorted by name: at that moment they did not exist, or had no
    /// list yet. The objects of these watches are left out.
    pub unlisted: Vec<WatchName>,
}

impl Differences {
    /// Returns the number of rows of a kind.
    #[must_use]
    pub fn count(&self, kind: DifferenceKind) -> usize {
        self.rows.iter().filter(|row| row.kind == kind).count()
    }
}

/// Returns the differences between the folds at A and at B. The function compares each object of each watch once. A may
/// be later than B.
#[must_use]
pub fn differences(a: Folds<'_>, b: Folds<'_>) -> Differences {
    let mut found = Differences::default();
    let mut names: Vec<&WatchName> = a.state.watches.keys().collect();
    names.extend(
        b.state
            .watches
            .keys()
            .filter(|name| !a.state.watches.contains_key(*name)),
    );
    tree::sort_by(&mut names, |one, other| one.cmp(other));
    for name in names {
        let watches = [a.state.watches.get(name), b.state.watches.get(name)];
        match watches.map(|watch| watch.filter(|watch| has_listed(watch))) {
            [Some(at_a), Some(at_b)] => of_watch(name, at_a, at_b, &mut found),
            _ => found.unlisted.push(name.clone()),
        }
    }
    tree::sort_by_key(&mut found.rows, |row| (row.kind, row.divergence));
    let sides = sides_of(a, b);
    for row in &mut found.rows {
        let held = sides
            .iter()
            .map(|side| [a, b].map(|folds| holding(side, folds, &row.watch, &row.object)));
        row.held = held.collect();
    }
    let is_known = |place: &usize| {
        let mut cells = found.rows.iter().flat_map(|row| &row.held[*place]);
        cells.any(|held| !matches!(held, Holding::Unknown | Holding::NotWatched))
    };
    let known: Vec<usize> = (0..sides.len()).filter(is_known).collect();
    for row in &mut found.rows {
        row.held = known.iter().map(|&place| row.held[place]).collect();
    }
    found.sides = known.iter().map(|&place| sides[place].clone()).collect();
    found
}

fn of_watch(name: &WatchName, a: &Watch, b: &Watch, found: &mut Differences) {
    let mut places: BTreeMap<Place, [Option<&Held>; 2]> = BTreeMap::new();
    for (side, watch) in [a, b].into_iter().enumerate() {
        for held in watch.objects.iter() {
            let place = Place(held.object.clone());
            places.entry(place).or_insert([None, None])[side] = Some(held);
        }
    }
    // A missing object is held at neither.
    for open in b.verdicts.values() {
        let place = Place(open.verdict.object.clone());
        places.entry(place).or_insert([None, None]);
    }
    for (place, [at_a, at_b]) in places {
        let (then, now) = (divergence(a, &place.0), divergence(b, &place.0));
        let parted = now.filter(|now| then != Some(*now));
        if at_a.is_some() || at_b.is_some() {
            found.objects += 1;
        }
        let kind = match (at_a, at_b) {
            _ if parted.is_some() => DifferenceKind::Parted,
            (Some(_), None) => DifferenceKind::Went,
            (None, Some(_)) => DifferenceKind::Came,
            (Some(a), Some(b))
                if a.object.uid != b.object.uid || a.resource_version != b.resource_version =>
            {
                DifferenceKind::Changed
            }
            _ => continue,
        };
        let object = at_b.or(at_a).map_or(&place.0, |held| &held.object);
        found.rows.push(Difference {
            kind,
            divergence: parted,
            watch: name.clone(),
            object: object.clone(),
            versions: [at_a, at_b].map(|held| held.map(|held| held.resource_version.clone())),
            held: Vec::new(),
        });
    }
}
