//! The order of watches, and the sections in which they and their objects stand.
//!
//! An order that follows the log changes at most once a second, or when a new watch comes. It changes only at a moment
//! at which rows may be sorted; at any other moment a new watch stands after all others. The time in view is no input.

use watchscope_model::fold::Watch;
use watchscope_model::id::Extent;
use watchscope_model::{Seq, State, Text, Time, WatchName, tree};

use super::kept::{Moment, keep_order};
use super::objects::VisibleObject;
use super::setup::{Grouping, Setup, Sorting};
use super::trouble::Trouble;
use crate::id::WatchId;
use crate::store::Store;

/// Least log time in µs, forward or back, between two orders that follow the log, so that rows do not move all the
/// time. The same time must lie between two openings of watches for trouble. The number has no source.
const ORDER_US: i64 = 1_000_000;

/// The name of a section. Sections named after something in the cluster come before the section of the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Section {
    /// Whether the section holds the lanes to which no named section applies, such as `no owner`.
    pub(super) is_rest: bool,
    /// The section's name; empty if lanes are not grouped.
    pub(super) name: Text,
}

impl Section {
    /// Returns a section named after something in the cluster, such as a namespace.
    pub(super) fn named(name: &str) -> Self {
        Self {
            is_rest: false,
            name: name.into(),
        }
    }

    fn rest(name: &str) -> Self {
        Self {
            is_rest: true,
            name: name.into(),
        }
    }
}

/// The sort key of a watch, an object or a section: the greatest comes first. The second number decides between equal
/// first numbers.
type Weight = (u64, u64);

/// When something was computed from the log: time and seq of the log's last record then, and the store's version.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Made {
    at: Time,
    seq: Seq,
    version: u64,
}

impl Made {
    /// Returns the store's present: its last record and its version.
    pub(super) fn now(store: &Store) -> Self {
        let head = store.state().map(|state| (state.at, state.seq));
        let (at, seq) = head.unwrap_or_default();
        Self {
            at,
            seq,
            version: store.version(),
        }
    }

    /// Whether the store has changed since, and the log's time has moved by at least 1 s.
    pub(super) fn is_due(self, store: &Store) -> bool {
        let now = Self::now(store);
        (self.version, self.seq) != (now.version, now.seq)
            && now.at.micros_since(self.at).abs() >= ORDER_US
    }
}

/// The order of watches, and their sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Order {
    /// All watches, in the order of their rows.
    pub(super) watches: Vec<WatchId>,
    /// The section of each watch, by the watch's number.
    section_of: Vec<Section>,
    /// The weight (sort key) of each watch, by the watch's number.
    weights: Vec<Weight>,
    /// All sections of the last built rows, in their order.
    sections: Vec<Section>,
    /// The grouping and sorting that the order was made for; `None` before the first order.
    made_for: Option<(Grouping, Sorting)>,
    /// When the order was made.
    made: Made,
    /// Whether the sections may be sorted anew when the next rows are built.
    may_sort_sections: bool,
}

impl Order {
    /// Updates the order if the viewer asked for another one, if a new watch came, or if an order that follows the log
    /// is due.
    pub(super) fn update(
        &mut self,
        store: &Store,
        state: &State,
        setup: &Setup,
        moment: Moment,
        found: &dyn Fn() -> Vec<Trouble>,
    ) {
        let names = store.names();
        let by = (setup.grouping, setup.sorting);
        let is_asked = self.made_for != Some(by);
        let has_more = self.watches.len() != names.watches_by_name().len();
        let may_sort = is_asked || moment.may_sort;
        let follows_log = setup.sorting != Sorting::Name || setup.grouping == Grouping::Server;
        let is_due = follows_log && may_sort && self.made.is_due(store);
        self.may_sort_sections = is_asked || is_due;
        if !is_asked && !has_more && !is_due {
            return;
        }
        self.made_for = Some(by);
        self.made = Made::now(store);
        let known = |watch| state.watches.get(names.watch_name(watch));
        let count = names.watches_by_name().len();
        if is_asked {
            self.section_of.clear();
        }
        self.section_of.resize_with(count, Section::default);
        for &watch in names.watches_by_name() {
            let section = &mut self.section_of[watch.0 as usize];
            let name = names.watch_name(watch);
            *section = section_of(name, known(watch), state, setup.grouping, section);
        }
        let weight =
            |watch| known(watch).map_or((0, 0), |known| weight(known, setup.sorting, state.at));
        let mut weights = vec![(0, 0); count];
        match setup.sorting {
            Sorting::Trouble => weights = found().into_iter().map(Trouble::weight).collect(),
            _ => {
                for &watch in names.watches_by_name() {
                    weights[watch.0 as usize] = weight(watch);
                }
            }
        }
        let mut came = names.watches_by_name().to_vec();
        if setup.sorting != Sorting::Name {
            tree::sort_by(&mut came, |a, b| {
                weights[b.0 as usize].cmp(&weights[a.0 as usize])
            });
        }
        self.weights = weights;
        self.watches = if may_sort || setup.sorting == Sorting::Name {
            came
        } else {
            keep_order(&self.watches, came)
        };
    }

    /// Returns the section of a watch.
    pub(super) fn section_of(&self, watch: WatchId) -> Section {
        let section = self.section_of.get(watch.0 as usize);
        section.cloned().unwrap_or_default()
    }

    /// Returns the weight (sort key) of a watch.
    pub(super) fn weight_of(&self, watch: WatchId) -> Weight {
        let weight = self.weights.get(watch.0 as usize);
        weight.copied().unwrap_or_default()
    }

    /// Puts the sections of the next rows in order; `came` has each section with its weight. Returns the indexes of
    /// `came` in that order.
    pub(super) fn place_sections(
        &mut self,
        came: &[(Section, Weight)],
        sorting: Sorting,
    ) -> Vec<usize> {
        let mut places: Vec<usize> = (0..came.len()).collect();
        tree::sort_by(&mut places, |&a, &b| {
            let by_weight = came[b].1.cmp(&came[a].1);
            let by_weight = match sorting {
                Sorting::Name => std::cmp::Ordering::Equal,
                _ => by_weight,
            };
            by_weight.then_with(|| came[a].0.cmp(&came[b].0))
        });
        if !self.may_sort_sections && sorting != Sorting::Name {
            let names = places.iter().map(|&at| came[at].0.clone()).collect();
            let kept = keep_order(&self.sections, names);
            let place = |section: &Section| came.iter().position(|(other, _)| other == section);
            places = kept.iter().filter_map(place).collect();
        }
        self.may_sort_sections = false;
        self.sections = places.iter().map(|&at| came[at].0.clone()).collect();
        places
    }
}

/// Adds the weight of a watch or object to its section's weight: rates add up; of other weights the section has the
/// greatest.
pub(super) fn add_weight(sum: &mut Weight, part: Weight, sorting: Sorting) {
    *sum = match sorting {
        Sorting::Rate => (sum.0.saturating_add(part.0), 0),
        _ => (*sum).max(part),
    };
}

/// Returns the weight that an object adds to the section in which it stands.
pub(super) fn weight_of_object(object: &VisibleObject, sorting: Sorting) -> Weight {
    match sorting {
        Sorting::Name => (0, 0),
        Sorting::Trouble => (
            u64::from(object.mark.is_some()),
            object.last.0.max(0) as u64,
        ),
        Sorting::LastChange => (object.last.0.max(0) as u64, 0),
        Sorting::Rate => (object.count, 0),
    }
}

fn weight(known: &Watch, sorting: Sorting, now: Time) -> Weight {
    match sorting {
        Sorting::Name | Sorting::Trouble => (0, 0),
        Sorting::LastChange => (
            known.last_change.map_or(0, |last| last.at.0.max(0) as u64),
            0,
        ),
        Sorting::Rate => {
            let changes = known.added + known.modified + known.deleted;
            let age_us = now.micros_since(known.since.at).max(1_000_000) as u64;
            // Changes an hour; u128 for the product of a long run.
            let hourly = u128::from(changes) * 3_600_000_000 / u128::from(age_us);
            (u64::try_from(hourly).unwrap_or(u64::MAX), 0)
        }
    }
}

/// Returns the section of a watch. A watch that lost its connection stays in the section `before`.
fn section_of(
    name: &WatchName,
    known: Option<&Watch>,
    state: &State,
    grouping: Grouping,
    before: &Section,
) -> Section {
    match grouping {
        Grouping::None => Section::default(),
        Grouping::Namespace => match name.extent() {
            Extent::One(namespace) => Section::named(namespace),
            Extent::All => Section::rest("all namespaces"),
            Extent::Cluster => Section::rest("no namespace"),
        },
        Grouping::Kind => {
            let resource = name.resource();
            Section::named(resource.split(['?', '#']).next().unwrap_or(resource))
        }
        Grouping::Server => {
            let connection = known.and_then(|known| state.connections.get(&known.connection?));
            let pinned = known.and_then(|known| known.server.as_ref());
            let server = pinned.or(connection.map(|connection| &connection.remote));
            match server {
                Some(server) => Section::named(server),
                None if before.name.is_empty() => Section::rest("no connection"),
                None => before.clone(),
            }
        }
        Grouping::Owner => Section::rest("no owner"),
        Grouping::Client => match name.is_aside() {
            false => Section::named("watchscope"),
            true => Section::rest("watchscope, beside its watches"),
        },
    }
}
